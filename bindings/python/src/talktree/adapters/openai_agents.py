"""A session of the OpenAI Agents SDK in a store.

>>> session = TalktreeSession("user-1", store)  # doctest: +SKIP
>>> await Runner.run(agent, "Which port?", session=session)  # doctest: +SKIP

Every item comes back as it was added: ids, calls and their outputs, reasoning, members that the SDK does not know. Messages that
others wrote into the session, or a compaction made, are read as messages with their text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

from agents.memory import SessionABC
from agents.memory.session_settings import SessionSettings, coerce_session_settings, resolve_session_limit

from .._json import dump
from .._store import Store
from ..types import Message
from ._items import Item, ItemLog, Packed, parts_of_type, unpack

if TYPE_CHECKING:
    from agents import TResponseInputItem

_T = TypeVar("_T")

#: The member of a message that holds its item.
KIND = "openaiAgents"

#: What the SDK gives as an id where the provider gave none.
_NO_IDS = (None, "", "__fake_id__")

_TEXTS = frozenset({"input_text", "output_text", "text"})


class TalktreeSession(SessionABC):
    """The session ``session_id`` of a store, with the SDK's protocol.

    Any number of these may stand for one session, in any tasks, threads and processes. A batch of items is stored whole or not
    at all, and nobody else's item comes between. Once :meth:`add_items` or :meth:`pop_item` has begun, cancelling its task
    does not cut it short: it is over when the cancellation is seen.
    """

    session_settings: SessionSettings | None

    def __init__(
        self, session_id: str, store: Store, *, session_settings: SessionSettings | dict[str, Any] | None = None
    ) -> None:
        """``session_settings.limit``: how many items :meth:`get_items` gives where it is not told."""
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or SessionSettings())
        self._log = ItemLog(store.session(session_id), KIND)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items from the oldest to the newest; with a limit, exactly the newest so many."""
        items = await _finished(self._read, resolve_session_limit(limit, self.session_settings))
        return cast("list[TResponseInputItem]", items)

    async def get_recent_items(self, max_bytes: int) -> list[TResponseInputItem]:
        """The newest items whose messages fit into ``max_bytes``, and at least the newest, for a model's window.

        Unlike a limit it never parts what belongs together: a call stands with all its outputs, and with the reasoning
        that led to it, even where that takes more bytes.
        """
        return cast("list[TResponseInputItem]", await _finished(self._recent, max_bytes))

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Appends items, behind those that are there already because this is a retry."""
        packed = [pack(cast(Item, item)) for item in items]
        await _finished(self._log.append, packed)

    async def pop_item(self) -> TResponseInputItem | None:
        """Takes the newest item away and answers it.

        A message that another program wrote may be read as several items: it goes as a whole, and its last item is answered.
        """
        message = await _finished(self._log.pop)
        return None if message is None else cast("TResponseInputItem", items_of(message)[-1])

    async def clear_session(self) -> None:
        """Deletes all items of the session."""
        await _finished(self._log.session.clear_messages)

    def _recent(self, max_bytes: int) -> list[Item]:
        session = self._log.session
        messages = session.get_recent_history(max_bytes).messages
        while messages and messages[0].parent_id is not None and _needs_reasoning(messages[0]):
            before = session.get_message(messages[0].parent_id)
            if before is None or items_of(before)[-1].get("type") != "reasoning":
                break
            messages.insert(0, before)
        return [item for message in messages for item in items_of(message)]

    def _read(self, limit: int | None) -> list[Item]:
        if limit is None:
            return [item for message in self._log.history() for item in items_of(message)]
        newest = (item for message in self._log.newest() for item in reversed(items_of(message)))
        return list(islice(newest, max(limit, 0)))[::-1]


async def _finished(call: Callable[..., _T], *arguments: Any) -> _T:
    """Carries a call out in a thread, to its end even if the task is cancelled meanwhile."""
    running = asyncio.ensure_future(asyncio.to_thread(call, *arguments))
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait({running})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        # What became of the call is nobody's to ask any more.
        running.exception()
        raise cancelled
    return running.result()


def _needs_reasoning(message: Message) -> bool:
    """Whether what stands before it may be the reasoning that led to it."""
    kind = items_of(message)[0].get("type", "message")
    return kind == "reasoning" or (
        isinstance(kind, str) and not kind.endswith("_output") and message.role == "assistant"
    )


def pack(item: Item) -> Packed:
    """An item as a message."""
    kind = item.get("type", "message")
    call_id = item.get("call_id")
    is_marked = bool(call_id) or item.get("id") not in _NO_IDS
    packed = Packed(item, _role(item), is_marked)
    if kind == "message":
        _pack_content(packed)
    elif kind == "reasoning":
        _pack_reasoning(packed)
    elif isinstance(call_id, str) and isinstance(kind, str):
        if kind.endswith("_output"):
            part = {"type": "tool-result", "toolCallId": call_id}
            packed.part(part, "output", ["output"]) if "output" in item else packed.parts.append(part)
        elif kind.endswith("_call"):
            part = {"type": "tool-call", "toolCallId": call_id, "toolName": str(item.get("name", kind))}
            member = next((name for name in ("arguments", "input", "action") if name in item), None)
            packed.part(part, "input", [member]) if member else packed.parts.append(part)
    return packed


def _role(item: Item) -> str:
    role = item.get("role")
    if isinstance(role, str) and role:
        return role
    return "tool" if str(item.get("type", "")).endswith("_output") else "assistant"


def _pack_content(packed: Packed) -> None:
    content = packed.item.get("content")
    if isinstance(content, str):
        packed.part({"type": "text"}, "text", ["content"])
    if not isinstance(content, list):
        return
    for index, entry in enumerate(content):
        if not isinstance(entry, dict):
            continue
        kind = entry.get("type")
        if kind in _TEXTS and isinstance(entry.get("text"), str):
            packed.part({"type": "text"}, "text", ["content", index, "text"])
        elif kind == "input_image" and isinstance(entry.get("image_url"), str):
            packed.part({"type": "file", "mediaType": "image/*"}, "url", ["content", index, "image_url"])
        elif kind == "input_file" and isinstance(entry.get("file_data"), str):
            packed.part({"type": "file", "mediaType": ""}, "url", ["content", index, "file_data"])


def _pack_reasoning(packed: Packed) -> None:
    summary = packed.item.get("summary")
    for index, entry in enumerate(summary if isinstance(summary, list) else []):
        if isinstance(entry, dict) and isinstance(entry.get("text"), str):
            packed.part({"type": "reasoning"}, "text", ["summary", index, "text"])


def items_of(message: Message) -> list[Item]:
    """The items of a message; at least one."""
    value = message.parse()
    item = unpack(value, KIND)
    if item is not None:
        return [item]
    texts = [part["text"] for part in parts_of_type(value, "text") if isinstance(part.get("text"), str)]
    items: list[Item] = []
    for part in value["parts"]:
        if isinstance(part, dict):
            items += _tool_items(part)
    if texts or not items:
        role = message.role if message.role in ("user", "assistant", "system", "developer") else "user"
        items.insert(0, {"role": role, "content": "\n".join(texts)})
    return items


def _tool_items(part: dict[str, Any]) -> list[Item]:
    """A part of the AI SDK that is a call, its result or both, as items."""
    kind = str(part.get("type", ""))
    call_id = part.get("toolCallId")
    if not isinstance(call_id, str) or not (kind == "dynamic-tool" or kind.startswith("tool-")):
        return []
    items: list[Item] = []
    if kind != "tool-result":
        name = part.get("toolName") or kind.removeprefix("tool-")
        arguments = part.get("input", {})
        text = arguments if isinstance(arguments, str) else dump(arguments)
        items.append({"type": "function_call", "call_id": call_id, "name": name, "arguments": text})
    output = part.get("output", part.get("errorText"))
    if output is not None:
        text = output if isinstance(output, str) else dump(output)
        items.append({"type": "function_call_output", "call_id": call_id, "output": text})
    return items
