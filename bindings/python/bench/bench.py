"""This package beside the program `talktree`, in one run: `python bench/bench.py path/to/talktree`.

The program is spoken to by JSON-RPC through pipes, one request at a time, as a runtime in Python would.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import talktree

APPENDS = 300
HISTORY = 10_000
PAGE = 500
Durability = Literal["full", "normal"]


def message(number: int) -> str:
    """About 250 bytes."""
    text = f"Message {number}: " + "what was said about the port and the deployment. " * 4
    return json.dumps({"id": f"m{number}", "role": "user", "parts": [{"type": "text", "text": text}]})


class Program:
    """`talktree rpc` on a directory."""

    def __init__(self, program: str, root: Path, durability: Durability) -> None:
        """Starts it."""
        command = [program, "rpc", "--root", str(root), "--durability", durability]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def call(self, method: str, params: str) -> Any:
        """Asks, and waits for the answer."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}\n'.encode())
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]

    def close(self) -> None:
        """Ends it."""
        self._process.communicate()


def microseconds(call: Callable[[int], object], times: int) -> float:
    """The median time of a call."""
    taken = []
    for number in range(times):
        began = time.perf_counter()
        call(number)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1e6


def python_appends(place: Path, durability: Durability, *, exclusive: bool = False) -> float:
    """Appends by this package."""
    with talktree.open(place, durability=durability, exclusive=exclusive) as store:
        chat = store.session()
        return microseconds(lambda number: chat.append_message(message(number)), APPENDS)


def program_appends(program: str, root: Path, durability: Durability) -> float:
    """Appends by the program."""
    served = Program(program, root, durability)
    try:
        return microseconds(
            lambda number: served.call("appendMessage", f'{{"tenant":"t","message":{message(number)}}}'), APPENDS
        )
    finally:
        served.close()


def opened(place: Path) -> float:
    """Opening a store that is there and reading its leaf, in a process that has opened one."""

    def once(_: int) -> None:
        with talktree.open(place) as store:
            assert store.session().get_latest_leaf() is not None

    once(0)
    return microseconds(once, 20)


def started(command: list[str]) -> float:
    """A whole process that reads the leaf, in ms."""
    return microseconds(lambda _: subprocess.run(command, check=True, capture_output=True), 5) / 1e3


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="a talktree program")
    program: str = parser.parse_args().program
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        print(f"{'':44}{'Python':>12}{'program':>12}")
        for durability in ("full", "normal"):
            ours = python_appends(root / f"p-{durability}", durability)
            theirs = program_appends(program, root / f"r-{durability}", durability)
            print(f"{f'append, durability {durability}, us':44}{ours:12.0f}{theirs:12.0f}")
        ours = python_appends(root / "x", "normal", exclusive=True)
        print(f"{'the same, exclusive, us':44}{ours:12.0f}{'':>12}")
        with talktree.open(root / "h" / "t") as store:
            chat = store.session()
            for first in range(0, HISTORY, 1000):
                chat.append_messages(message(number) for number in range(first, first + 1000))
            began = time.perf_counter()
            assert sum(1 for _ in chat.history(batch_size=PAGE)) == HISTORY
            ours = (time.perf_counter() - began) / HISTORY * 1e6
        served = Program(program, root / "h", "full")
        began = time.perf_counter()
        cursor, read = None, 0
        while read < HISTORY:
            asked = {"tenant": "t", "batchSize": PAGE, "cursor": cursor}
            page = served.call("readHistory", json.dumps(asked))
            read, cursor = read + len(page["messages"]), page["cursor"]
        theirs = (time.perf_counter() - began) / HISTORY * 1e6
        served.close()
        print(f"{f'history of {HISTORY} in pages of {PAGE}, us a message':44}{ours:12.1f}{theirs:12.1f}")
        print(f"{'open and read the leaf, same process, us':44}{opened(root / 'h' / 't'):12.0f}{'':>12}")
        script = "import sys, talktree; print(talktree.open(sys.argv[1]).session().get_latest_leaf())"
        ours = started([sys.executable, "-c", script, str(root / "h" / "t")])
        theirs = started([program, "history", "--root", str(root / "h"), "--tenant", "t", "--recent", "1"])
        print(f"{'a process that reads the leaf, ms':44}{ours:12.0f}{theirs:12.0f}")


if __name__ == "__main__":
    main()
