"""Talktree's Python package, as a program in Python has it: the component in this process."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drive
import talktree


class Talktree:
    def __init__(self, directory: Path) -> None:
        # Alone on the directory, as the crate is.
        self.store = talktree.open(directory, exclusive=True, component=os.environ["TALKTREE_COMPONENT"])
        self.session = self.store.session("")

    def fill(self, messages: list[dict[str, Any]], last: int) -> None:
        for first in range(0, len(messages), 2_000):
            self.session.append_messages(messages[first : first + 2_000])

    def append(self, message: dict[str, Any]) -> None:
        self.session.append_message(message)

    def history(self) -> int:
        return sum(1 for message in self.session.history() if parsed(message))

    def recent(self, bytes_: int) -> int:
        return sum(1 for message in self.session.get_recent_history(bytes_).messages if parsed(message))

    def search(self, query: str) -> int:
        return len(self.session.search(query))

    def hits(self, query: str) -> int:
        count, cursor = 0, None
        while True:
            page = self.store.search_page(query, session="", limit=100, cursor=cursor)
            count, cursor = count + len(page.results), page.cursor
            if cursor is None:
                return count

    def first(self) -> int:
        return sum(1 for message in self.session.read_history(batch_size=1).messages if parsed(message))

    def fork(self, under: int, parent: str, message: dict[str, Any]) -> Callable[[], int]:
        self.session.append_message(message, parent=parent)
        return lambda: sum(1 for one in self.session.history(leaf_id=message["id"]) if parsed(one))

    def close(self) -> None:
        self.store.close()


def parsed(message: talktree.Message) -> bool:
    """The others hand out objects."""
    return bool(message.parse()["id"])


if __name__ == "__main__":
    drive.run(Talktree)
