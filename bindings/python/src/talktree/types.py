"""What a store answers: one frozen dataclass for each record of the component's WIT, with the same fields in the same order.

Times are milliseconds since 1970 UTC, as stored; where a record has one, a property beside it gives it as ``datetime``.
Sizes are bytes of UTF-8. Cursors are opaque and survive restarts.
"""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from ._time import Time, from_milliseconds

#: ``bytes``, where a field has that name.
Bytes = bytes
#: On whose word a message is written: a ``client`` cannot write reserved metadata keys.
Source = Literal["server", "client"]
#: Where inline media goes on reading: inside the JSON, or described beside it.
MediaMode = Literal["inline", "reference"]
#: When a path above its threshold is compacted.
AutoCompact = Literal["host", "inline", "off"]
#: What a search looks at.
SearchField = Literal["text", "tools", "reasoning", "summaries"]
#: What happened.
EventKind = Literal[
    "appended",
    "updated",
    "deleted",
    "cleared",
    "compacted",
    "compaction-changed",
    "imported",
    "context-changed",
    "session-changed",
]
#: What a block is for.
BlockKind = Literal["read-only", "writable", "searchable", "loadable"]
#: Who sees a block: one session, or all of the store.
BlockScope = Literal["session", "store"]
#: What happens when a block changes while the prompt is frozen.
WhenChanged = Literal["wait", "remind"]
#: What a write does with what a block holds.
WriteAction = Literal["replace", "append"]
#: What a summary is for.
Purpose = Literal["compaction", "title"]


class Default(enum.Enum):
    """What an argument is when it is not given, where ``None`` means something else."""

    #: Of a parent: the present leaf; in an empty session, nothing.
    LATEST = "latest"
    #: Of an expected leaf: whatever it is.
    ANY = "any"
    #: Of a setting: as it is.
    KEEP = "keep"


LATEST = Default.LATEST
ANY = Default.ANY
KEEP = Default.KEEP


@dataclass(frozen=True, slots=True)
class MediaReference:
    """One payload of a message that was read by reference."""

    index: int
    pointer: str
    hash: str
    media_type: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it is read. ``json`` is its text, byte for byte as it was written."""

    id: str
    role: str
    parent_id: str | None
    seq: int
    created_at: int
    bytes: int
    token_estimate: int
    json: str
    media: list[MediaReference]

    @property
    def created(self) -> datetime:
        """When it was written."""
        return from_milliseconds(self.created_at)

    def parse(self) -> dict[str, Any]:
        """The message as a new ``dict``; ``json`` keeps what Python's values do not, such as how numbers are spelled."""
        value: dict[str, Any] = json.loads(self.json)
        return value

    @property
    def text(self) -> str:
        """Its text parts, joined by newlines."""
        parts = [part for part in self.parse()["parts"] if isinstance(part, dict) and part.get("type") == "text"]
        return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))

    @property
    def is_summary(self) -> bool:
        """Whether it stands for a run of messages that was compacted."""
        return self.id.startswith("compaction_")


@dataclass(frozen=True, slots=True)
class MessagePage:
    """A page of messages. No cursor: it is the last one."""

    messages: list[Message]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class AppendResult:
    """What an append did. ``message`` is the message as stored, where it differs from the one that was sent."""

    inserted: bool
    conflict: bool
    message: str | None
    compaction_due: bool


@dataclass(frozen=True, slots=True)
class ChainItem:
    """What became of one message of a chain."""

    id: str
    inserted: bool
    conflict: bool


@dataclass(frozen=True, slots=True)
class ChainResult:
    """What appending a chain did, one item for each message."""

    items: list[ChainItem]
    compaction_due: bool


@dataclass(frozen=True, slots=True)
class UpsertResult:
    """What an upsert did: appended, or updated."""

    inserted: bool
    message: str | None


@dataclass(frozen=True, slots=True)
class ImportItem:
    """One message to be stored as it was elsewhere, with its parent (none: a root) and its time."""

    message: str
    parent_id: str | None
    created_at: Time


@dataclass(frozen=True, slots=True)
class DeleteResult:
    """What a delete did, or would do; ``summaries`` are the compactions that covered some of them."""

    deleted: int
    summaries: list[str]


@dataclass(frozen=True, slots=True)
class RecentHistory:
    """The newest part of a path."""

    messages: list[Message]
    truncated: bool
    total_content_bytes: int


@dataclass(frozen=True, slots=True)
class RowStats:
    """One message of a path, without its content."""

    id: str
    role: str
    parent_id: str | None
    seq: int
    created_at: int
    bytes: int
    token_estimate: int


@dataclass(frozen=True, slots=True)
class RowStatsPage:
    """A page of row stats."""

    rows: list[RowStats]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Node:
    """One message of the tree, with the first 120 characters of its text."""

    id: str
    parent_id: str | None
    role: str
    seq: int
    children: int
    preview: str


@dataclass(frozen=True, slots=True)
class NodePage:
    """A page of the tree."""

    nodes: list[Node]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Configuration:
    """The configuration in force."""

    compact_after: int | None
    keep_recent_tokens: int
    protect_head: int
    min_tail: int
    max_prompt_tokens: int
    token_factor: float
    auto_compact: AutoCompact
    reserved_metadata_keys: list[str]


@dataclass(frozen=True, slots=True)
class Compaction:
    """A summary that stands for a run of messages on reading. The messages stay."""

    id: str
    summary: str
    first_id: str
    last_id: str
    count: int
    created_at: int
    replaced_by: str | None
    input_tokens: int | None
    output_tokens: int | None

    @property
    def created(self) -> datetime:
        """When it was made."""
        return from_milliseconds(self.created_at)


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """A compaction that was prepared: what to ask the model, and what the answer would cover."""

    token: str
    prompt: str
    max_tokens: int
    first_id: str
    last_id: str
    count: int
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One message that a search found; in ``snippet`` the matches stand between ``[`` and ``]``."""

    session_id: str
    id: str
    role: str
    seq: int
    content: str
    content_truncated: bool
    snippet: str
    score: float


@dataclass(frozen=True, slots=True)
class SearchPage:
    """A page of search results, best first."""

    results: list[SearchResult]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """A session, without its messages."""

    id: str
    title: str | None
    title_automatic: bool
    created_at: int
    last_activity_at: int
    messages: int
    tokens: int
    leaf_id: str | None

    @property
    def created(self) -> datetime:
        """When it came into being."""
        return from_milliseconds(self.created_at)

    @property
    def last_activity(self) -> datetime:
        """When a message was last appended, updated or imported."""
        return from_milliseconds(self.last_activity_at)


@dataclass(frozen=True, slots=True)
class SessionPage:
    """A page of sessions, newest activity first."""

    sessions: list[SessionEntry]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """One event of the store. ``message`` is the JSON text at reading; absent if the message has gone since."""

    cursor: str
    kind: EventKind
    session_id: str
    ids: list[str]
    parent_id: str | None
    message: str | None
    compaction: Compaction | None


@dataclass(frozen=True, slots=True)
class ChangePage:
    """A page of events. ``reset``: the cursor was of no use and events were missed; ``cursor`` is the present end."""

    events: list[Change]
    cursor: str
    reset: bool


@dataclass(frozen=True, slots=True)
class LinePage:
    """A page of an export: whole lines of JSON."""

    lines: str
    cursor: str | None


@dataclass(frozen=True, slots=True)
class LineFailure:
    """One line that could not be taken, numbered from 1 within the call."""

    line: int
    why: str


@dataclass(frozen=True, slots=True)
class LinesReport:
    """What became of the lines of one session, or of the store as a whole (no id)."""

    session_id: str | None
    imported: int
    skipped: int
    failed: list[LineFailure]


@dataclass(frozen=True, slots=True)
class SnapshotPiece:
    """A piece of a snapshot; ``bytes`` is the length of the whole file."""

    data: Bytes
    bytes: int
    cursor: str | None


@dataclass(frozen=True, slots=True)
class VacuumReport:
    """Bytes of the file before and after."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class MediaRange:
    """A piece of a payload; ``bytes`` is the length of the whole, ``hash`` its BLAKE3."""

    data: Bytes
    media_type: str
    bytes: int
    hash: str


@dataclass(frozen=True, slots=True)
class StoreBytes:
    """What fills the file, in bytes."""

    file: int
    messages: int
    media_bytes: int
    index: int
    free: int


@dataclass(frozen=True, slots=True)
class LargeMessage:
    """One large message."""

    session_id: str
    id: str
    bytes: int


@dataclass(frozen=True, slots=True)
class StoreStats:
    """The store in numbers."""

    messages: int
    sessions: int
    bytes: StoreBytes
    largest: list[LargeMessage]
    schema_version: int


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check of the file found."""

    sound: bool
    problems: list[str]


@dataclass(frozen=True, slots=True)
class BlockEntry:
    """One entry of a searchable or loadable block."""

    key: str
    title: str | None
    tokens: int
    loaded: bool


@dataclass(frozen=True, slots=True)
class Block:
    """A context block."""

    label: str
    description: str | None
    kind: BlockKind
    scope: BlockScope
    when_changed: WhenChanged
    content: str
    entries: list[BlockEntry]
    tokens: int
    max_tokens: int | None
    version: int


@dataclass(frozen=True, slots=True)
class BlockVersion:
    """What a block held at some version."""

    version: int
    content: str
    created_at: int

    @property
    def created(self) -> datetime:
        """When it was written."""
        return from_milliseconds(self.created_at)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool for the model; ``input_schema`` is JSON Schema as text."""

    name: str
    description: str
    input_schema: str

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        value: dict[str, Any] = json.loads(self.input_schema)
        return value


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool answers to the model."""

    content: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What a summarizer is asked: the whole prompt, and how many tokens the answer may have."""

    prompt: str
    max_tokens: int
    purpose: Purpose


@dataclass(frozen=True, slots=True)
class Summary:
    """What a summarizer answers. ``truncated``: the model stopped because of the length; such a summary is refused."""

    text: str
    truncated: bool = False
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """What every error of the component carries."""

    message: str
    subject: str | None
    current: int | None
    limit: int | None
