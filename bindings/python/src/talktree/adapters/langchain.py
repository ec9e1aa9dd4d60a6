"""A LangChain chat history in a store, for ``RunnableWithMessageHistory`` and whatever else takes one.

>>> history = TalktreeChatMessageHistory(store.session("user-1"))  # doctest: +SKIP

Messages come back as they were added: class, id, calls of tools and their results, usage, content blocks, members of providers.
Messages that others wrote into the session, or a compaction made, are read as messages with their text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)

from .._json import dump
from .._session import Session
from ..types import Message
from ._items import Item, ItemLog, Packed, parts_of_type, unpack

#: The member of a message that holds its item.
KIND = "langchain"

_ROLES = {
    "human": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "SystemMessageChunk": "system",
    "tool": "tool",
    "ToolMessageChunk": "tool",
    "function": "tool",
    "FunctionMessageChunk": "tool",
}


class TalktreeChatMessageHistory(BaseChatMessageHistory):
    """The messages of a session. Any number of these may stand for one session, in any threads and processes."""

    def __init__(self, session: Session) -> None:
        """Takes the session of a store."""
        super().__init__()
        self._log = ItemLog(session, KIND)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """All messages, oldest first. This is a new list: to add to the history, use :meth:`add_messages`."""
        return [read for message in self._log.history() for read in messages_of(message)]

    async def aget_messages(self) -> list[BaseMessage]:
        """The same, without holding up the event loop."""
        return await asyncio.to_thread(lambda: self.messages)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Appends messages, whole or not at all, behind those that are there already because this is a retry."""
        self._log.append([pack(message) for message in messages])

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """The same, without holding up the event loop."""
        await asyncio.to_thread(self.add_messages, messages)

    def clear(self) -> None:
        """Deletes all messages of the session."""
        self._log.session.clear_messages()

    async def aclear(self) -> None:
        """The same, without holding up the event loop."""
        await asyncio.to_thread(self.clear)


def pack(message: BaseMessage) -> Packed:
    """A message of LangChain as one of ours."""
    item: Item = message_to_dict(message)
    calls = item["data"].get("tool_calls") or []
    is_marked = bool(message.id) or isinstance(message, ToolMessage) or any(call.get("id") for call in calls)
    packed = Packed(item, _role(message), is_marked)
    data = packed.item["data"]
    if isinstance(message, ToolMessage):
        packed.part({"type": "tool-result", "toolCallId": message.tool_call_id}, "output", ["data", "content"])
        return packed
    _pack_content(packed, data["content"])
    for index, call in enumerate(calls):
        if isinstance(call.get("id"), str):
            part = {"type": "tool-call", "toolCallId": call["id"], "toolName": str(call.get("name"))}
            packed.part(part, "input", ["data", "tool_calls", index, "args"])
    return packed


def _role(message: BaseMessage) -> str:
    role = getattr(message, "role", None)
    return role if isinstance(role, str) and role else _ROLES.get(message.type, message.type)


def _pack_content(packed: Packed, content: Any) -> None:
    if isinstance(content, str):
        packed.part({"type": "text"}, "text", ["data", "content"])
        return
    for index, block in enumerate(content):
        if isinstance(block, str):
            packed.part({"type": "text"}, "text", ["data", "content", index])
        elif isinstance(block, dict):
            _pack_block(packed, block, ["data", "content", index])


def _pack_block(packed: Packed, block: dict[str, Any], path: list[str | int]) -> None:
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        packed.part({"type": "text"}, "text", [*path, "text"])
    elif kind == "reasoning" and isinstance(block.get("reasoning"), str):
        packed.part({"type": "reasoning"}, "text", [*path, "reasoning"])
    elif kind == "image_url" and isinstance(block.get("image_url"), dict) and "url" in block["image_url"]:
        packed.part({"type": "file", "mediaType": "image/*"}, "url", [*path, "image_url", "url"])
    elif kind in ("image", "audio", "file", "video") and isinstance(block.get("base64"), str):
        media_type = str(block.get("mime_type", ""))
        packed.part({"type": "file", "mediaType": media_type}, "data", [*path, "base64"])


def messages_of(message: Message) -> list[BaseMessage]:
    """A message of ours as those of LangChain; at least one."""
    value = message.parse()
    item = unpack(value, KIND)
    if item is not None:
        return messages_from_dict([item])
    texts = [part["text"] for part in parts_of_type(value, "text") if isinstance(part.get("text"), str)]
    text = "\n".join(texts)
    if message.role == "system":
        return [SystemMessage(text, id=message.id)]
    if message.role == "assistant":
        return _assistant(message.id, text, value["parts"])
    results = [_result(part) for part in parts_of_type(value, "tool-result")]
    return results or [HumanMessage(text, id=message.id)]  # type: ignore[return-value]


def _assistant(message_id: str, text: str, parts: list[Any]) -> list[BaseMessage]:
    """An answer of the AI SDK, whose calls may have their results within them."""
    calls: list[dict[str, Any]] = []
    results: list[BaseMessage] = []
    for part in parts:
        kind = str(part.get("type", "")) if isinstance(part, dict) else ""
        if not isinstance(part, dict) or not isinstance(part.get("toolCallId"), str):
            continue
        if kind != "tool-result" and (kind == "dynamic-tool" or kind.startswith("tool-")):
            name = part.get("toolName") or kind.removeprefix("tool-")
            given = part.get("input")
            calls.append({"name": name, "args": given if isinstance(given, dict) else {}, "id": part["toolCallId"]})
        if part.get("output") is not None or part.get("errorText") is not None:
            results.append(_result(part))
    return [AIMessage(text, id=message_id, tool_calls=calls), *results]


def _result(part: dict[str, Any]) -> ToolMessage:
    output = part.get("output", part.get("errorText"))
    status: Any = "error" if part.get("output") is None else "success"
    text = output if isinstance(output, str) else dump(output)
    return ToolMessage(text, tool_call_id=str(part.get("toolCallId", "")), status=status)
