"""A session: one conversation, a tree of messages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ._json import MessageInput, message_text
from ._memory import Memory
from ._settings import changes_of, configure_arguments
from ._time import Time, milliseconds
from .errors import SummarizerFailedError
from .summarizer import checked
from .types import (
    ANY,
    KEEP,
    LATEST,
    AppendResult,
    AutoCompact,
    ChainResult,
    Compaction,
    CompactionPlan,
    Configuration,
    Default,
    DeleteResult,
    ImportItem,
    MediaMode,
    MediaRange,
    Message,
    MessagePage,
    Node,
    NodePage,
    RecentHistory,
    RowStats,
    RowStatsPage,
    SearchField,
    SearchResult,
    SessionEntry,
    Source,
    Summary,
    SummaryRequest,
    UpsertResult,
)

if TYPE_CHECKING:
    from ._store import Store

#: How much of a payload crosses in one call.
_MEDIA_PIECE = 1 << 20


class Session(Memory):
    """A handle on a session. It is cheap, and holds nothing: a session comes into being with its first write.

    A message is given as its JSON text, which is kept byte for byte, or as a mapping. It has ``id``, ``role`` and ``parts``
    like a ``UIMessage`` of the AI SDK. The id makes a retry safe: a stored id is never written again.
    """

    def __init__(self, store: Store, session_id: str) -> None:
        """Use :meth:`Store.session`."""
        self.store = store
        self.id = session_id

    def __repr__(self) -> str:
        """Which session."""
        return f"<talktree.Session {self.id!r} of {str(self.store.directory)!r}>"

    # Writing

    def append_message(
        self,
        message: MessageInput,
        *,
        parent: str | Default | None = LATEST,
        source: Source = "server",
        expected_leaf: str | Default | None = ANY,
    ) -> AppendResult:
        """Appends a message: to the present leaf, to the message ``parent``, or (``None``) as a new root.

        A stored id answers ``inserted=False`` whatever else is asked, with ``conflict=True`` if its text is another. With
        ``expected_leaf`` (``None``: the session must be empty) nothing is written if the present leaf is another:
        :class:`LeafMovedError`. Also: :class:`InvalidMessageError`, :class:`UnknownParentError`.
        """
        options = _append_options(parent, source, expected_leaf)
        return self.store._call(AppendResult, "append-message", self.id, message_text(message), options)

    def append_messages(
        self,
        messages: Iterable[MessageInput],
        *,
        parent: str | Default | None = LATEST,
        source: Source = "server",
        expected_leaf: str | Default | None = ANY,
    ) -> ChainResult:
        """Appends a chain, each message answering the one before: all or none, at most 10,000."""
        texts = [message_text(message) for message in messages]
        options = _append_options(parent, source, expected_leaf)
        return self.store._call(ChainResult, "append-messages", self.id, texts, options)

    def update_message(self, message: MessageInput, *, source: Source = "server") -> str | None:
        """Replaces role and content of a message in place; answers its text as stored, or ``None`` for an unknown id."""
        return self.store._call(str, "update-message", self.id, message_text(message), source)

    def upsert_message(
        self, message: MessageInput, *, parent: str | Default | None = LATEST, source: Source = "server"
    ) -> UpsertResult:
        """Updates the message if it is there (the parent is ignored), else appends it."""
        text = message_text(message)
        return self.store._call(UpsertResult, "upsert-message", self.id, text, _parent(parent), source)

    def import_message(self, message: MessageInput, *, parent: str | None, created_at: Time) -> bool:
        """Stores a message from elsewhere verbatim, with its parent (``None``: a root) and its time."""
        time = milliseconds(created_at)
        return self.store._call(bool, "import-message", self.id, message_text(message), parent, time)

    def import_messages(self, items: Iterable[ImportItem]) -> list[bool]:
        """Stores messages from elsewhere verbatim, in order and all or none; answers which were inserted."""
        records = [
            {"message": item.message, "parent_id": item.parent_id, "created_at": milliseconds(item.created_at)}
            for item in items
        ]
        return self.store._call(list[bool], "import-messages", self.id, records)

    def delete_messages(self, ids: Collection[str], *, subtree: bool = False, dry_run: bool = False) -> DeleteResult:
        """Deletes messages. Children move to the nearest ancestor that stays; with ``subtree`` they go, too."""
        mode = "subtree" if subtree else "splice"
        return self.store._call(DeleteResult, "delete-messages", self.id, ids, mode, dry_run)

    def clear_messages(self) -> int:
        """Deletes all messages; configuration and blocks stay. Answers how many."""
        return self.store._call(int, "clear-messages", self.id)

    def set_leaf(self, message_id: str | None) -> str | None:
        """Chooses the present leaf, for reads and for the next append; ``None``: the newest message again."""
        return self.store._call(str, "set-leaf", self.id, message_id)

    # Reading

    def get_message(self, message_id: str, *, media: MediaMode = "inline") -> Message | None:
        """One message, or ``None``."""
        return self.store._call(Message, "get-message", self.id, message_id, media)

    def get_latest_leaf(self, *, media: MediaMode = "inline") -> Message | None:
        """The present leaf, or ``None`` in an empty session."""
        return self.store._call(Message, "get-latest-leaf", self.id, media)

    def history(
        self,
        *,
        leaf_id: str | None = None,
        newest_first: bool = False,
        overlays: bool = True,
        media: MediaMode = "inline",
        batch_size: int | None = None,
        max_batch_bytes: int | None = None,
    ) -> Iterator[Message]:
        """The path from the root to a leaf (by default the present one), read page by page as it is consumed.

        It holds what the path held at the first page, however long it takes. A message that is deleted meanwhile ends it
        with :class:`StaleCursorError`. ``overlays=False``: the messages themselves instead of summaries.
        """
        cursor = None
        while True:
            page = self.read_history(
                cursor=cursor,
                leaf_id=leaf_id,
                newest_first=newest_first,
                overlays=overlays,
                media=media,
                batch_size=batch_size,
                max_batch_bytes=max_batch_bytes,
            )
            yield from page.messages
            cursor = page.cursor
            if cursor is None:
                return

    def read_history(
        self,
        *,
        cursor: str | None = None,
        leaf_id: str | None = None,
        newest_first: bool = False,
        overlays: bool = True,
        media: MediaMode = "inline",
        batch_size: int | None = None,
        max_batch_bytes: int | None = None,
    ) -> MessagePage:
        """One page of it: 1 to 1,000 messages (50), at most ``max_batch_bytes`` (4 MiB); one above that stands alone."""
        options = {
            "view": _view(leaf_id, newest_first, overlays, media),
            "batch_size": batch_size,
            "max_batch_bytes": max_batch_bytes,
        }
        return self.store._call(MessagePage, "read-history", self.id, options, cursor)

    def get_history(
        self,
        *,
        leaf_id: str | None = None,
        newest_first: bool = False,
        overlays: bool = True,
        media: MediaMode = "inline",
    ) -> list[Message]:
        """The whole path in one call, for short sessions: above 64 MiB :class:`OverLimitError`."""
        view = _view(leaf_id, newest_first, overlays, media)
        return self.store._call(list[Message], "get-history", self.id, view)

    def get_recent_history(
        self, max_bytes: int, *, leaf_id: str | None = None, overlays: bool = True, media: MediaMode = "inline"
    ) -> RecentHistory:
        """The newest messages that fit into ``max_bytes``, tool calls with their results; at least the newest."""
        options = {"max_bytes": max_bytes, "leaf_id": leaf_id, "overlays": overlays, "media": media}
        return self.store._call(RecentHistory, "get-recent-history", self.id, options)

    def row_stats(self, *, leaf_id: str | None = None) -> Iterator[RowStats]:
        """Sizes and token estimates along the path, without content."""
        cursor = None
        while True:
            page = self.store._call(RowStatsPage, "get-history-row-stats", self.id, leaf_id, cursor, None)
            yield from page.rows
            cursor = page.cursor
            if cursor is None:
                return

    def branches(self, message_id: str | None) -> Iterator[Message]:
        """The answers to a message, or (``None``) the roots, in the order of writing."""
        point = "root" if message_id is None else ("id", message_id)
        cursor = None
        while True:
            page = self.store._call(MessagePage, "get-branches", self.id, point, cursor, None)
            yield from page.messages
            cursor = page.cursor
            if cursor is None:
                return

    def nodes(self) -> Iterator[Node]:
        """Every message of the tree in the order of writing, as its place and a preview."""
        cursor = None
        while True:
            page = self.store._call(NodePage, "list-messages", self.id, cursor, None)
            yield from page.nodes
            cursor = page.cursor
            if cursor is None:
                return

    def get_media(self, message_id: str, index: int, *, offset: int = 0, length: int | None = None) -> MediaRange:
        """Bytes of a payload of a message; ``index`` as ``media`` of a message read by reference says. At most 16 MiB."""
        return self.store._call(MediaRange, "get-media", self.id, message_id, index, offset, length)

    def media(self, message_id: str, index: int) -> Iterator[bytes]:
        """A whole payload, in pieces of a mebibyte."""
        offset = 0
        while True:
            piece = self.get_media(message_id, index, offset=offset, length=_MEDIA_PIECE)
            yield piece.data
            offset += len(piece.data)
            if offset >= piece.bytes:
                return

    def search(
        self,
        query: str,
        *,
        limit: int = 20,
        role: str | None = None,
        after: Time | None = None,
        before: Time | None = None,
        fields: Collection[SearchField] = (),
    ) -> list[SearchResult]:
        """The best ``limit`` messages of this session with these words."""
        return self.store.search(
            query, limit=limit, session=self.id, role=role, after=after, before=before, fields=fields
        )

    # The session as a whole

    def info(self) -> SessionEntry:
        """The session without its messages; :class:`UnknownSessionError` if it was never written."""
        return self.store._call(SessionEntry, "session-info", self.id)

    def set_title(self, title: str | None, *, automatic: bool = False) -> SessionEntry:
        """Gives it a title, or takes it away. An automatic one never takes the place of a user's."""
        return self.store._call(SessionEntry, "set-title", self.id, title, automatic)

    def delete(self) -> int:
        """Deletes the session with all that belongs to it, and answers how many messages that were."""
        return self.store._call(int, "delete-session", self.id)

    def fork(self, new_session_id: str, *, leaf_id: str | None = None) -> Session:
        """Copies the path to a leaf (by default the present one) into a new session, and answers that."""
        self.store._call(int, "fork-session", self.id, leaf_id, new_session_id)
        return self.store.session(new_session_id)

    def configure(
        self,
        *,
        compact_after: int | Default | None = KEEP,
        keep_recent_tokens: int | Default | None = KEEP,
        protect_head: int | Default | None = KEEP,
        min_tail: int | Default | None = KEEP,
        max_prompt_tokens: int | Default | None = KEEP,
        token_factor: float | Default | None = KEEP,
        auto_compact: AutoCompact | Default | None = KEEP,
        reserved_metadata_keys: Collection[str] | Default | None = KEEP,
    ) -> Configuration:
        """Changes the configuration of this session and answers what is in force; ``None`` is back to the store's."""
        changes = changes_of(
            compact_after=compact_after,
            keep_recent_tokens=keep_recent_tokens,
            protect_head=protect_head,
            min_tail=min_tail,
            max_prompt_tokens=max_prompt_tokens,
            token_factor=token_factor,
            auto_compact=auto_compact,
            reserved_metadata_keys=reserved_metadata_keys,
        )
        return self.store._call(Configuration, "configure", *configure_arguments(self.id, changes))

    # Compaction

    def compact(self, *, leaf_id: str | None = None) -> Compaction | None:
        """Replaces what is old on the path by summaries, step by step until nothing is left to cover.

        The store's summarizer writes them, while others go on using the store. Answers the last compaction that was made, or
        ``None``. Errors: :class:`SummarizerFailedError`, :class:`NoProgressError`, :class:`PlanOutdatedError`.
        """
        last = None
        while (plan := self.prepare_compaction(leaf_id=leaf_id)) is not None:
            summary = self._ask(plan)
            last = self.commit_compaction(plan.token, summary)
        return last

    def _ask(self, plan: CompactionPlan) -> Summary:
        """Has the summarizer answer a plan; if it does not, the plan is given up."""
        summarizer = self.store.summarizer
        try:
            if summarizer is None:
                raise SummarizerFailedError("no summarizer was given: talktree.open(..., summarizer=...)")
            return checked(summarizer(summary_request(plan)))
        except BaseException as error:
            self.abandon_compaction(plan.token)
            raise failed(error) from error

    def prepare_compaction(self, *, leaf_id: str | None = None) -> CompactionPlan | None:
        """What a compaction would cover now, and the prompt for its summary; ``None``: nothing."""
        return self.store._call(CompactionPlan, "prepare-compaction", self.id, leaf_id)

    def commit_compaction(self, token: str, summary: Summary | str) -> Compaction:
        """Puts a summary in the place of what a plan covers."""
        given = checked(summary)
        details = {
            "truncated": given.truncated,
            "input_tokens": given.input_tokens,
            "output_tokens": given.output_tokens,
        }
        return self.store._call(Compaction, "commit-compaction", self.id, token, given.text, details)

    def abandon_compaction(self, token: str) -> None:
        """Says that no summary came for a plan, so that automatic attempts wait."""
        self.store._call(type(None), "abandon-compaction", self.id, token)

    def add_compaction(self, summary: str, *, first_id: str, last_id: str) -> Compaction:
        """Puts a summary of one's own in the place of the messages from one to another."""
        return self.store._call(Compaction, "add-compaction", self.id, summary, first_id, last_id)

    def get_compactions(self) -> list[Compaction]:
        """All compactions, oldest first, replaced ones too."""
        return self.store._call(list[Compaction], "get-compactions", self.id)

    def remove_compaction(self, compaction_id: str) -> bool:
        """Removes a compaction: what it replaced shows again. Answers whether there was one of that id."""
        return self.store._call(bool, "remove-compaction", self.id, compaction_id)


def summary_request(plan: CompactionPlan) -> SummaryRequest:
    """What a summarizer is asked for a plan."""
    return SummaryRequest(plan.prompt, plan.max_tokens, "compaction")


def failed(error: BaseException) -> BaseException:
    """What a failing summarizer makes of a compaction; an interrupt stays one."""
    if isinstance(error, SummarizerFailedError) or not isinstance(error, Exception):
        return error
    return SummarizerFailedError(f"the summarizer failed: {type(error).__name__}: {error}")


def _append_options(parent: str | Default | None, source: Source, expected: str | Default | None) -> dict[str, Any]:
    if expected is ANY:
        leaf: Any = "any"
    else:
        leaf = "empty" if expected is None else ("id", expected)
    return {"parent": _parent(parent), "source": source, "expected_leaf": leaf}


def _parent(parent: str | Default | None) -> Any:
    if parent is LATEST:
        return "latest"
    return "root" if parent is None else ("id", parent)


def _view(leaf_id: str | None, newest_first: bool, overlays: bool, media: MediaMode) -> dict[str, Any]:
    return {"leaf_id": leaf_id, "newest_first": newest_first, "overlays": overlays, "media": media}
