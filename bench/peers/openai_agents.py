"""`SQLiteSession` of the OpenAI Agents SDK, in a file, as its documentation has it."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drive
from agents import SQLiteSession

# It counts in items and not in bytes: as many as go into 64 KiB on average.
AVERAGE_BYTES = 1_400


class OpenAiAgents:
    def __init__(self, directory: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.session = SQLiteSession("peer", directory / "conversations.db")

    def fill(self, messages: list[dict[str, Any]], last: int) -> None:
        self.loop.run_until_complete(self.session.add_items([item(message) for message in messages]))

    def append(self, message: dict[str, Any]) -> None:
        self.loop.run_until_complete(self.session.add_items([item(message)]))

    def history(self) -> int:
        return len(self.loop.run_until_complete(self.session.get_items()))

    def recent(self, bytes_: int) -> int:
        return len(self.loop.run_until_complete(self.session.get_items(limit=bytes_ // AVERAGE_BYTES)))

    def search(self, query: str) -> int:
        # There is no search: by hand over everything.
        items = self.loop.run_until_complete(self.session.get_items())
        return sum(query in drive.text_of(one["content"]).lower() for one in items)

    def hits(self, query: str) -> int:
        return self.search(query)

    def first(self) -> int:
        # It cannot begin with the oldest: a limit is one of the newest.
        return min(1, self.history())

    def fork(self, under: int, parent: str, message: dict[str, Any]) -> Callable[[], int]:
        raise NotImplementedError("a SQLiteSession has no branches")

    def close(self) -> None:
        self.session.close()
        # The threads that it works in go with the loop.
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


def item(message: dict[str, Any]) -> dict[str, Any]:
    """The same content under the names of that SDK."""
    return {"id": message["id"], "role": message["role"], "content": message["parts"]}


if __name__ == "__main__":
    drive.run(OpenAiAgents)
