"""What the drivers in Python share: commands on stdin, a line of figures for each on stdout.

bench/peers/README.md describes the commands. A peer is an object with a method for each of them.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol


class Peer(Protocol):
    """An open store with one conversation."""

    def fill(self, messages: list[dict[str, Any]], last: int) -> None: ...

    def append(self, message: dict[str, Any]) -> None: ...

    def history(self) -> int: ...

    def recent(self, bytes_: int) -> int: ...

    def search(self, query: str) -> int: ...

    def first(self) -> int: ...

    def hits(self, query: str) -> int: ...

    def fork(self, under: int, parent: str, message: dict[str, Any]) -> Callable[[], int]:
        """Appends below an old message, given by number and by id, and answers what reads that path."""

    def close(self) -> None: ...


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return (time.perf_counter() - start) * 1e3, result


def peak() -> float:
    """The most memory that this process has had, in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the system does not tell the peak")


def run(open_store: Callable[[Path], Peer]) -> None:
    """Carries out what stdin says, on the store in the directory that the command line names."""
    directory, messages_file = Path(sys.argv[1]), Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    lines = messages_file.read_text().splitlines()
    peer = open_store(directory)
    for line in sys.stdin:
        command = json.loads(line)
        match command["do"]:
            case "fill":
                some = lines[command["from"] : command["from"] + command["count"]]
                peer.fill([json.loads(message) for message in some], command["from"] + command["count"] - 1)
                answer: dict[str, Any] = {}
            case "append":
                some = lines[command["from"] : command["from"] + command["count"]]
                messages = [json.loads(message) for message in some]
                answer = appends(peer, messages, command["max_ms"])
            case "fork":
                under, message = command["under"], json.loads(lines[command["message"]])
                parent = json.loads(lines[under])["id"]
                append_ms, read = timed(lambda: peer.fork(under, parent, message))
                read_ms, count = timed(read)
                answer = {"append_ms": append_ms, "read_ms": read_ms, "count": count}
            case "reopen":
                message = json.loads(lines[command["from"]]) if "from" in command else {}
                peer.close()

                def again() -> int:
                    nonlocal peer
                    peer = open_store(directory)
                    return work(peer, command["then"], command, message)

                ms, count = timed(again)
                answer = {"ms": ms, "count": count}
            case "close":
                peer.close()
                answer = {}
            case "peak":
                answer = {"mib": peak()}
            case what:
                ms, count = timed(lambda: work(peer, what, command, {}))
                answer = {"ms": ms, "count": count}
        print(json.dumps(answer), flush=True)


def work(peer: Peer, what: str, command: dict[str, Any], message: dict[str, Any]) -> int:
    match what:
        case "first":
            return peer.first()
        case "history":
            return peer.history()
        case "recent":
            return peer.recent(command["bytes"])
        case "search":
            return peer.search(command["query"])
        case "hits":
            return peer.hits(command["query"])
        case "append":
            peer.append(message)
            return 1
    raise ValueError(f"no command {what}")


def appends(peer: Peer, messages: list[dict[str, Any]], max_ms: float) -> dict[str, Any]:
    start = time.perf_counter()
    done = 0
    for message in messages:
        peer.append(message)
        done += 1
        if (time.perf_counter() - start) * 1e3 >= max_ms:
            break
    return {"ms": (time.perf_counter() - start) * 1e3, "count": done}


def text_of(parts: list[dict[str, Any]]) -> str:
    """What a person reads of a message, to look for words by hand."""
    return " ".join(part["text"] for part in parts if part["type"] == "text")


def newest(messages: list[Any], bytes_: int, size: Callable[[Any], int]) -> int:
    """How many of the newest messages go into so many bytes, by hand."""
    left, count = bytes_, 0
    for message in reversed(messages):
        left -= size(message)
        if left < 0:
            break
        count += 1
    return count
