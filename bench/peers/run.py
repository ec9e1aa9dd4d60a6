"""Talktree beside others that store conversations: the same messages, in turns, round by round, one run.

`cargo xtask peers` builds what this needs and starts it. A figure is the median of the rounds.
"""

import argparse
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SYNCED = "synced"
UNSYNCED = "not synced"
RECENT_BYTES = 64 * 1024
QUERIES = {"english": "rollback", "chinese": "部署"}
# What one command may take; LangGraph writes everything anew at each append.
APPEND_MS = 4_000
# Messages that are written one by one to see what they take on the disk, as far as that goes in this time.
SINGLE = 1_000
SINGLE_MS = 15_000

# Each row: its key, what it says, its unit, and the group by which it is asked for.
ROWS = [
    ("append_empty", "append one message, empty store", "ms", "append"),
    ("append_large", "append one message, N before", "ms", "append"),
    ("open_append", "first append after opening", "ms", "open"),
    ("open_first", "open and read the oldest message", "ms", "open"),
    ("open_recent", "open and read the newest 64 KiB", "ms", "recent"),
    ("recent", "newest 64 KiB, open already", "ms", "recent"),
    ("open_history", "open and read all N", "ms", "history"),
    ("history", "read all N, open already", "ms", "history"),
    ("fork_append", "append under message N/2", "ms", "fork"),
    ("fork_read", "read that path", "ms", "fork"),
    ("search_english", "search `rollback`", "ms", "search"),
    ("search_chinese", "search `部署`", "ms", "search"),
    ("hits_english", "... messages found with `rollback`", "", "search"),
    ("hits_chinese", "... messages found with `部署`", "", "search"),
    ("bytes_filled", "bytes on disk per message, N written in batches", "B", "disk"),
    ("bytes_single", "bytes on disk per message, written one by one", "B", "disk"),
    ("peak", "peak memory of the process, reading all N", "MiB", "memory"),
]
GROUPS = sorted({group for *_, group in ROWS})
# These are not better or worse.
FACTS = {"hits_english", "hits_chinese"}


@dataclass
class Peer:
    key: str
    name: str
    durability: str
    command: list[str]
    branches: bool = True
    # Whose search is a loop over all messages.
    by_hand: bool = False
    # The next message that it has not got.
    next: int = 0
    figures: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def ours(self) -> bool:
        return self.key.startswith("talktree")


class Process:
    """A driver that runs, on one store."""

    def __init__(self, peer: Peer, store: Path, messages: Path) -> None:
        self.peer = peer
        command = [*peer.command, str(store), str(messages)]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, do: str, **options: Any) -> dict[str, Any]:
        assert self.child.stdin and self.child.stdout
        self.child.stdin.write(json.dumps({"do": do, **options}) + "\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            raise SystemExit(f"{self.peer.name} ended at {do} {options}")
        return json.loads(line)

    def end(self) -> None:
        assert self.child.stdin
        self.ask("close")
        self.child.stdin.close()
        if self.child.wait(timeout=60) != 0:
            raise SystemExit(f"{self.peer.name} ended badly")


def main() -> None:
    arguments = parse()
    busy = os.getloadavg()[0]
    scratch = Path(tempfile.mkdtemp(prefix="talktree-peers-", dir=arguments.scratch))
    try:
        peers = choose(arguments)
        run = Run(arguments, scratch, peers)
        run.all()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    document = report(arguments, peers, busy)
    print(json.dumps(document, indent=2, ensure_ascii=False) if arguments.json else table(document))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cargo xtask peers", description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, help="messages in the large store, N (default: 10000)")
    parser.add_argument("--rounds", type=int, help="rounds to take the median of (default: 5)")
    parser.add_argument("--quick", action="store_true", help="1,000 messages, 2 rounds: no substitute for a full run")
    parser.add_argument("--rows", type=lambda text: text.split(","), help=f"only these: {','.join(GROUPS)}")
    parser.add_argument("--peers", type=lambda text: text.split(","), help="only these (Talktree always)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--scratch", type=Path, help="directory for the stores, on the disk to measure")
    parser.add_argument("--talktree", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--node", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--node-drivers", required=True, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.messages = arguments.messages or (1_000 if arguments.quick else 10_000)
    arguments.rounds = arguments.rounds or (2 if arguments.quick else 5)
    arguments.appends = 50 if arguments.quick else 200
    arguments.rows = arguments.rows or GROUPS
    if unknown := set(arguments.rows) - set(GROUPS):
        parser.error(f"no rows {', '.join(sorted(unknown))}")
    if arguments.messages < 100:
        parser.error("--messages: 100 at least")
    return arguments


def choose(arguments: argparse.Namespace) -> list[Peer]:
    node = [arguments.node]
    peers = [
        Peer("talktree-full", "Talktree `full`", SYNCED, [arguments.talktree, "drive", "full"]),
        Peer(
            "cloudflare",
            "Cloudflare Sessions, workerd",
            SYNCED,
            [*node, str(arguments.node_drivers / "cloudflare.mjs")],
        ),
        Peer(
            "openai-agents",
            "OpenAI Agents SQLiteSession",
            SYNCED,
            [sys.executable, str(HERE / "openai_agents.py")],
            branches=False,
            by_hand=True,
        ),
        Peer(
            "langgraph",
            "LangGraph SqliteSaver",
            SYNCED,
            [sys.executable, str(HERE / "langgraph_sqlite.py")],
            by_hand=True,
        ),
        Peer("talktree-python", "Talktree `full`, Python", SYNCED, [sys.executable, str(HERE / "talktree_python.py")]),
        Peer("talktree-normal", "Talktree `normal`", UNSYNCED, [arguments.talktree, "drive", "normal"]),
        Peer("pi", "Pi sessions", UNSYNCED, [*node, str(arguments.node_drivers / "pi.mjs")], by_hand=True),
    ]
    if arguments.peers and (unknown := set(arguments.peers) - {peer.key for peer in peers}):
        raise SystemExit(f"no peers {', '.join(sorted(unknown))}")
    return [peer for peer in peers if peer.ours or not arguments.peers or peer.key in arguments.peers]


class Run:
    def __init__(self, arguments: argparse.Namespace, scratch: Path, peers: list[Peer]) -> None:
        self.rounds, self.count, self.appends = arguments.rounds, arguments.messages, arguments.appends
        self.rows, self.peers, self.scratch = arguments.rows, peers, scratch
        self.messages = scratch / "messages.jsonl"
        # Appends and first appends of each round, and forks.
        most = self.count + self.rounds * (self.appends + 10) + 10
        with self.messages.open("w") as file:
            subprocess.run([arguments.talktree, "messages", str(most)], stdout=file, check=True)

    def all(self) -> None:
        if "append" in self.rows:
            for round_ in range(self.rounds):
                for peer in self.turn(round_, "append to an empty store"):
                    peer.figures["append_empty"].append(self.one_by_one(peer, self.appends, APPEND_MS)[0])
        if "disk" in self.rows:
            for peer in self.turn(0, "write one by one"):
                peer.figures["bytes_single"].append(self.one_by_one(peer, SINGLE, SINGLE_MS)[1])
        for peer in self.turn(0, "fill"):
            self.fill(peer)
        for round_ in range(self.rounds):
            for peer in self.turn(round_, "read, open, search, append"):
                self.round(peer)
        if "memory" in self.rows:
            for peer in self.turn(0, "memory"):
                self.memory(peer)
        if "fork" in self.rows:
            for round_ in range(self.rounds):
                for peer in self.turn(round_, "fork"):
                    if peer.branches:
                        self.fork(peer)

    def turn(self, round_: int, what: str) -> list[Peer]:
        """The peers, another one first in each round."""
        print(f"{what}, round {round_ + 1}", file=sys.stderr)
        at = round_ % len(self.peers)
        return self.peers[at:] + self.peers[:at]

    def start(self, peer: Peer, store: Path | None = None, messages: Path | None = None) -> Process:
        return Process(peer, store or self.store(peer), messages or self.messages)

    def store(self, peer: Peer) -> Path:
        return self.scratch / peer.key

    def one_by_one(self, peer: Peer, count: int, most: int) -> tuple[float, float]:
        """Milliseconds an append to a new store, and bytes a message there."""
        store = self.scratch / f"{peer.key}-new"
        process = self.start(peer, store)
        # The first one makes the files.
        process.ask("append", **{"from": 0}, count=1, max_ms=most)
        answer = process.ask("append", **{"from": 1}, count=count - 1, max_ms=most)
        process.end()
        figures = answer["ms"] / answer["count"], size_of(store) / (1 + answer["count"])
        if answer["count"] < count - 1:
            peer.notes["bytes_single"] = f"the first {1 + answer['count']}"
        shutil.rmtree(store)
        return figures

    def fill(self, peer: Peer) -> None:
        process = self.start(peer)
        middle = self.middle()
        # LangGraph has a checkpoint, at which a branch can begin, only where it was told to stop.
        process.ask("fill", **{"from": 0}, count=middle + 1)
        process.ask("fill", **{"from": middle + 1}, count=self.count - middle - 1)
        process.end()
        peer.next = self.count
        peer.figures["bytes_filled"].append(size_of(self.store(peer)) / self.count)

    def middle(self) -> int:
        return self.count // 2

    def round(self, peer: Peer) -> None:
        process = self.start(peer)
        add = peer.figures

        def median(row: str, times: int, do: str, **options: Any) -> None:
            answers = [process.ask(do, **options) for _ in range(times)]
            add[row].append(statistics.median(answer["ms"] for answer in answers))
            if row.endswith("history") and answers[0]["count"] != peer.next:
                peer.notes[row] = f"shows {answers[0]['count']} of {peer.next}"

        process.ask("history")
        if "history" in self.rows:
            median("history", 3, "history")
            median("open_history", 3, "reopen", then="history")
        if "recent" in self.rows:
            median("recent", 5, "recent", bytes=RECENT_BYTES)
            median("open_recent", 3, "reopen", then="recent", bytes=RECENT_BYTES)
        if "search" in self.rows:
            for name, query in QUERIES.items():
                # The first one makes the index, or catches up with what was written since.
                add[f"hits_{name}"].append(process.ask("hits", query=query)["count"])
                median(f"search_{name}", 3, "search", query=query)
        if "open" in self.rows:
            median("open_first", 3, "reopen", then="first")
            add["open_append"].append(process.ask("reopen", then="append", **{"from": peer.next})["ms"])
            peer.next += 1
        if "append" in self.rows:
            answer = process.ask("append", **{"from": peer.next}, count=self.appends, max_ms=APPEND_MS)
            add["append_large"].append(answer["ms"] / answer["count"])
            peer.next += answer["count"]
        process.end()

    def memory(self, peer: Peer) -> None:
        # A driver that has nothing to write holds no messages of its own.
        nothing = self.scratch / "nothing.jsonl"
        nothing.touch()
        process = self.start(peer, messages=nothing)
        process.ask("history")
        peer.figures["peak"].append(process.ask("peak")["mib"])
        process.end()

    def fork(self, peer: Peer) -> None:
        process = self.start(peer)
        process.ask("history")
        # The first write after opening has a row of its own.
        process.ask("append", **{"from": peer.next}, count=1, max_ms=APPEND_MS)
        answer = process.ask("fork", under=self.middle(), message=peer.next + 1)
        peer.next += 2
        if answer["count"] != self.middle() + 2:
            raise SystemExit(f"{peer.name}: the path has {answer['count']} messages")
        peer.figures["fork_append"].append(answer["append_ms"])
        peer.figures["fork_read"].append(answer["read_ms"])
        process.end()


def size_of(store: Path) -> int:
    """Bytes of all files, after what is in a log has gone to its database."""
    for log in store.rglob("*-wal"):
        database = sqlite3.connect(str(log).removesuffix("-wal"))
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
    return sum(file.stat().st_blocks * 512 for file in store.rglob("*") if file.is_file())


def report(arguments: argparse.Namespace, peers: list[Peer], busy: float) -> dict[str, Any]:
    rows = []
    for key, what, unit, group in ROWS:
        medians = {peer.key: statistics.median(peer.figures[key]) for peer in peers if peer.figures[key]}
        if group not in arguments.rows or not medians:
            continue
        row = {
            "row": key,
            "what": what.replace("N/2", f"{arguments.messages // 2:,}")
            .replace("all N", f"all {arguments.messages:,}")
            .replace("N ", f"{arguments.messages:,} "),
            "unit": unit,
            "medians": medians,
            "rounds": {peer.key: peer.figures[key] for peer in peers if peer.figures[key]},
            "notes": {peer.key: peer.notes[key] for peer in peers if key in peer.notes},
        }
        if key not in FACTS:
            row["behind"] = behind(peers, medians)
        rows.append(row)
    columns = [
        {"key": peer.key, "name": peer.name, "durability": peer.durability, "search_by_hand": peer.by_hand}
        for peer in peers
    ]
    return {
        "messages": arguments.messages,
        "rounds": arguments.rounds,
        "load_at_start": busy,
        "processors": os.cpu_count(),
        "columns": columns,
        "rows": rows,
    }


def behind(peers: list[Peer], medians: dict[str, float]) -> list[str]:
    """The peers of the same durability that have a lower figure than Talktree."""
    ours = {SYNCED: medians["talktree-full"], UNSYNCED: medians["talktree-normal"]}
    return [
        peer.key
        for peer in peers
        if not peer.ours and peer.key in medians and medians[peer.key] < ours[peer.durability]
    ]


def table(document: dict[str, Any]) -> str:
    columns = document["columns"]
    lines = [
        "| | " + " | ".join(column["name"] for column in columns) + " | ahead |",
        "| --- |" + " ---: |" * len(columns) + " --- |",
        "| an acknowledged append is | " + " | ".join(column["durability"] for column in columns) + " | |",
    ]
    for row in document["rows"]:
        cells = []
        for column in columns:
            value = row["medians"].get(column["key"])
            text = "none" if value is None else shown(value)
            if row["row"].startswith("search_") and column["search_by_hand"]:
                text += " by hand"
            if note := row["notes"].get(column["key"]):
                text += f" ({note})"
            cells.append(text)
        names = {column["key"]: column["name"] for column in columns}
        ahead = (
            ""
            if "behind" not in row
            else "yes"
            if not row["behind"]
            else "not of " + ", ".join(names[key] for key in row["behind"])
        )
        unit = f", {row['unit']}" if row["unit"] else ""
        lines.append(f"| {row['what']}{unit} | " + " | ".join(cells) + f" | {ahead} |")
    lines.append("")
    lines.append(f"Medians of {document['rounds']} rounds, {document['processors']} processors.")
    if document["load_at_start"] > document["processors"] / 2:
        lines.append(f"The machine was busy when this began (load {document['load_at_start']:.1f}): measure again.")
    return "\n".join(lines)


def shown(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


if __name__ == "__main__":
    main()
