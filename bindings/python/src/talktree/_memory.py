"""What an agent remembers in a session: blocks, the system prompt that shows them, and the tools that edit them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._json import dump
from ._sandbox import CONTEXT
from .types import Block, BlockKind, BlockScope, BlockVersion, Tool, ToolAnswer, WhenChanged, WriteAction

if TYPE_CHECKING:
    from ._store import Store


class Memory:
    """The part of a session that is not messages."""

    store: Store
    id: str

    def define_block(
        self,
        label: str,
        *,
        description: str | None = None,
        max_tokens: int | None = None,
        kind: BlockKind = "writable",
        scope: BlockScope = "session",
        when_changed: WhenChanged = "wait",
        content: str | None = None,
    ) -> Block:
        """Declares a block, at every start: declaring again changes nothing of what it holds.

        Errors: :class:`InvalidArgumentError` for another kind or scope than it has, :class:`OverLimitError`.
        """
        definition = {
            "description": description,
            "max_tokens": max_tokens,
            "kind": kind,
            "scope": scope,
            "when_changed": when_changed,
            "content": content,
        }
        return self.store._call(Block, "define-block", self.id, label, definition, interface=CONTEXT)

    def remove_block(self, label: str) -> bool:
        """Removes a block with its versions. Answers whether there was one."""
        return self.store._call(bool, "remove-block", self.id, label, interface=CONTEXT)

    def get_block(self, label: str) -> Block:
        """One block, or :class:`UnknownBlockError`."""
        return self.store._call(Block, "get-block", self.id, label, interface=CONTEXT)

    def list_blocks(self) -> list[Block]:
        """The blocks that the session sees, in the order of declaration."""
        return self.store._call(list[Block], "list-blocks", self.id, interface=CONTEXT)

    def write_block(
        self,
        label: str,
        content: str,
        *,
        action: WriteAction = "replace",
        key: str | None = None,
        title: str | None = None,
        version: int | None = None,
    ) -> Block:
        """Writes a block, of any kind. Nothing is ever cut.

        Errors: :class:`UnknownBlockError`, :class:`VersionMismatchError` if it is not at ``version``, :class:`OverLimitError`.
        """
        write = {"content": content, "action": action, "key": key, "title": title, "version": version}
        return self.store._call(Block, "write-block", self.id, label, write, interface=CONTEXT)

    def block_history(self, label: str) -> list[BlockVersion]:
        """What a block held, newest version first: the last 20."""
        return self.store._call(list[BlockVersion], "block-history", self.id, label, interface=CONTEXT)

    def restore_block(self, label: str, version: int) -> Block:
        """Makes what a block held at a version its newest version."""
        return self.store._call(Block, "restore-block", self.id, label, version, interface=CONTEXT)

    def system_prompt(self) -> str:
        """The system prompt; the same, byte for byte, until it is refreshed, so that the provider's cache of it holds."""
        return self.store._call(str, "system-prompt", self.id, interface=CONTEXT)

    def refresh_system_prompt(self) -> str:
        """Makes the system prompt anew, and answers it."""
        return self.store._call(str, "refresh-system-prompt", self.id, interface=CONTEXT)

    def reminder(self) -> str | None:
        """The blocks to be reminded of that have changed since the prompt was frozen, as text for the model."""
        return self.store._call(str, "reminder", self.id, interface=CONTEXT)

    def tools(self) -> list[Tool]:
        """The tools that the blocks need, and the search of past messages."""
        return self.store._call(list[Tool], "tools", self.id, interface=CONTEXT)

    def call_tool(self, name: str, arguments: str | Mapping[str, Any]) -> ToolAnswer:
        """Carries out a tool call of a model. What a model may get wrong is an answer, never an error."""
        text = arguments if isinstance(arguments, str) else dump(dict(arguments))
        return self.store._call(ToolAnswer, "call-tool", self.id, name, text, interface=CONTEXT)
