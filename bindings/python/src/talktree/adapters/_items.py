"""Items of another framework as messages, and back, exactly.

An item (a ``dict`` of JSON) becomes one message. What Talktree understands stands in ``parts``: text, calls of tools, their
results, media; so the item can be searched, compacted with its result, and read by others. The rest of the item, with
the moved values taken out, stands in the member ``item`` beside them, and ``moved`` says where each value belongs. Nothing
is stored twice, and the item comes back with every member, in order.

What a retry adds again is not stored twice: where the path ends with what a batch begins with, only the rest of the batch is
appended. Something in there must tell that it is the same, the id of a message or of a call, since a user may well say "yes" twice.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from .._json import dump
from .._session import Session
from ..errors import LeafMovedError, UnknownMessageError
from ..types import Message

#: An item of a framework.
Item = dict[str, Any]

#: How many messages one call of the component takes.
_MOST = 10_000


@dataclass
class Packed:
    """An item on its way into a message."""

    item: Item
    role: str
    #: It bears an id, of its own or of a call, that a provider gave it.
    is_marked: bool
    parts: list[dict[str, Any]] = field(default_factory=list)
    moved: list[list[Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """The item belongs to the caller: it is never changed."""
        text = dump(self.item)
        self.text = text
        self.item = json.loads(text)

    def part(self, part: dict[str, Any], member: str, path: Sequence[str | int]) -> None:
        """Adds a part, whose ``member`` is the item's value at ``path``, moved there."""
        holder: Any = self.item
        for key in path[:-1]:
            holder = holder[key]
        part[member] = holder[path[-1]]
        holder[path[-1]] = None
        self.moved.append([list(path), len(self.parts), member])
        self.parts.append(part)

    def message(self, message_id: str, kind: str) -> str:
        """The JSON text of its message."""
        return dump(
            {"id": message_id, "role": self.role, "parts": self.parts, kind: {"item": self.item, "moved": self.moved}}
        )


def unpack(message: dict[str, Any], kind: str) -> Item | None:
    """The item of a message; ``None`` if it was not made of one of this kind."""
    stored = message.get(kind)
    if not isinstance(stored, dict) or not isinstance(stored.get("item"), dict):
        return None
    item: Item = stored["item"]
    for path, index, member in stored.get("moved", []):
        holder: Any = item
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = message["parts"][index][member]
    return item


def parts_of_type(message: dict[str, Any], kind: str) -> Iterator[dict[str, Any]]:
    """The parts of a message that are of this type."""
    for part in message["parts"]:
        if isinstance(part, dict) and part.get("type") == kind:
            yield part


class ItemLog:
    """The items of one session, as a list that grows and shrinks at its end."""

    def __init__(self, session: Session, kind: str) -> None:
        """``kind`` is the member of a message that holds its item."""
        self.session = session
        self.kind = kind

    def append(self, items: Iterable[Packed]) -> None:
        """Appends items, each behind the one before.

        All of a call or nothing, up to 10,000; between them nobody else's item comes to stand.
        """
        packed = list(items)
        while packed:
            batch, packed = packed[:_MOST], packed[_MOST:]
            while not self._append(batch):
                pass

    def _append(self, batch: list[Packed]) -> bool:
        """Appends a batch, unless somebody else appends meanwhile, perhaps these very items."""
        tail = list(islice(self.newest(overlays=False), len(batch)))
        new = batch[self._overlap(tail, batch) :]
        if not new:
            return True
        texts = [packed.message(f"item_{uuid.uuid4().hex}", self.kind) for packed in new]
        try:
            self.session.append_messages(texts, expected_leaf=tail[0].id if tail else None)
        except LeafMovedError:
            return False
        return True

    def _overlap(self, newest_first: list[Message], batch: list[Packed]) -> int:
        """How many items the batch begins with that are there already."""
        if not any(packed.is_marked for packed in batch):
            return 0
        there = [unpack(message.parse(), self.kind) for message in reversed(newest_first)]
        path = [None if item is None else dump(item) for item in there]
        given = [packed.text for packed in batch]
        for count in range(len(path), 0, -1):
            if path[-count:] == given[:count] and any(packed.is_marked for packed in batch[:count]):
                return count
        return 0

    def history(self) -> Iterator[Message]:
        """The path, oldest first; what was compacted as its summary."""
        return self.session.history()

    def newest(self, *, overlays: bool = True) -> Iterator[Message]:
        """The path, newest first."""
        return self.session.history(newest_first=True, overlays=overlays, batch_size=20)

    def pop(self) -> Message | None:
        """Takes the newest message of the path away. Other branches stay, and its path stays the present one."""
        while (leaf := self.session.get_latest_leaf()) is not None:
            try:
                # Chosen first, so that what is left of this path is the present one even where another is newer.
                self.session.set_leaf(leaf.id)
            except UnknownMessageError:
                continue
            if self.session.delete_messages([leaf.id]).deleted:
                return leaf
        return None
