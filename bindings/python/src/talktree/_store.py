"""A store: one directory with one file, and all sessions in it."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from ._component import compiled
from ._lock import DirectoryLock
from ._sandbox import STORE, Sandbox
from ._session import Session
from ._settings import changes_of, configure_arguments, stale
from ._time import Time, milliseconds
from .errors import InvalidArgumentError, NotConfiguredError
from .summarizer import Summarizer, imported
from .types import (
    KEEP,
    AutoCompact,
    Change,
    ChangePage,
    CheckReport,
    Configuration,
    Default,
    EventKind,
    LinePage,
    LinesReport,
    SearchField,
    SearchPage,
    SearchResult,
    SessionEntry,
    SessionPage,
    SnapshotPiece,
    StoreStats,
    SummaryRequest,
    VacuumReport,
)

if TYPE_CHECKING:
    from typing_extensions import Self

_T = TypeVar("_T")
_log = logging.getLogger("talktree")

#: What a write in this process wakes.
_READS = frozenset(
    {
        "get-message", "get-latest-leaf", "get-media", "get-history", "read-history", "get-recent-history",
        "get-history-row-stats", "get-branches", "list-messages", "get-compactions", "search", "list-sessions",
        "session-info", "changes", "export-lines", "snapshot", "stats", "check", "get-block", "list-blocks",
        "block-history", "reminder", "tools",
    }
)  # fmt: skip


def open(
    directory: str | os.PathLike[str],
    *,
    summarizer: Summarizer | None = None,
    read_only: bool = False,
    exclusive: bool = False,
    durability: Literal["full", "normal"] = "full",
    busy_timeout: float = 10.0,
    inline_compaction: bool = True,
    reserved_metadata_keys: Collection[str] = (),
    memory_limit: int = 1 << 30,
    component: str | os.PathLike[str] | None = None,
) -> Store:
    """Opens the store in a directory, which is made if it is not there. Its file comes into being with the first write.

    - ``summarizer`` writes summaries for compactions; see :mod:`talktree.summarizer`.
    - ``read_only``: the component cannot write; a directory that is not there is an error.
    - ``exclusive``: keep all other processes out instead of taking turns with them: faster, and they find it busy.
    - ``durability``: ``full``: an acknowledged write survives loss of power; ``normal``: it survives the death of the process.
    - ``busy_timeout``: how long a call waits for another process's turn to end, in seconds; then :class:`BusyError`.
    - ``inline_compaction``: whether sessions with ``auto_compact="inline"`` are compacted within an append.
    - ``reserved_metadata_keys``: keys of a message's ``metadata`` that ``source="client"`` cannot write.
    - ``memory_limit``: how much memory the component may use, in bytes.
    - ``component``: a ``sessions.wasm`` other than the one in the package.
    """
    place = Path(directory).absolute()
    if not _is_utf8(str(place)):
        raise NotConfiguredError(
            f"the component cannot be given a path that is not UTF-8: {place!r}", subject=repr(place)
        )
    if not read_only:
        place.mkdir(parents=True, exist_ok=True)
    elif not place.is_dir():
        raise NotConfiguredError(f"{place} is no directory", subject=str(place))
    bad = [key for key in reserved_metadata_keys if not key or "," in key]
    if bad or isinstance(reserved_metadata_keys, str):
        raise InvalidArgumentError("reserved_metadata_keys are a list of texts without commas", subject=", ".join(bad))
    settings = {
        "TALKTREE_DURABILITY": durability,
        "TALKTREE_LOCKING": "host" if exclusive else "marks",
        "TALKTREE_INLINE_COMPACTION": "on" if inline_compaction else "off",
        "TALKTREE_RESERVED_METADATA_KEYS": ",".join(reserved_metadata_keys),
        "TALKTREE_BUSY_TIMEOUT_MS": str(int(busy_timeout * 1000)),
    }

    def summarize(request: SummaryRequest) -> tuple[bool, Any]:
        return imported(summarizer, request)

    lock = DirectoryLock(place, alone=exclusive, read_only=read_only)
    try:
        sandbox = Sandbox(
            compiled(None if component is None else Path(component).absolute()),
            place,
            read_only=read_only,
            settings=settings,
            memory_limit=memory_limit,
            summarize=summarize,
        )
        return Store(place, sandbox, lock, summarizer)
    except BaseException:
        lock.release()
        raise


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class Store:
    """An open store. Any thread may use it; calls are carried out one at a time.

    Close it, best with ``with``. What was acknowledged is on the disk whether it is closed or not.
    """

    def __init__(self, directory: Path, sandbox: Sandbox, lock: DirectoryLock, summarizer: Summarizer | None) -> None:
        """Use :func:`talktree.open`."""
        self.directory = directory
        self.summarizer = summarizer
        self._sandbox = sandbox
        self._lock = lock
        self._written = threading.Condition()
        self._writes = 0

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it."""
        self.close()

    def __repr__(self) -> str:
        """Which directory."""
        return f"<talktree.Store {str(self.directory)!r}>"

    def close(self) -> None:
        """Writes the log back into the file and lets go of it. Closing again does nothing."""
        try:
            self._sandbox.close()
        finally:
            self._lock.release()

    def _call(self, _answers: type[_T], name: str, *arguments: Any, interface: str = STORE) -> _T:
        """Calls the component. The type says what it answers; the component's own types are checked when it is loaded."""
        answer = self._sandbox.call(interface, name, *arguments)
        if name not in _READS:
            with self._written:
                self._writes += 1
                self._written.notify_all()
        return cast(_T, answer)

    def session(self, session_id: str = "") -> Session:
        """A session; it comes into being with its first write."""
        return Session(self, session_id)

    # Sessions

    def sessions(self) -> Iterator[SessionEntry]:
        """All sessions, newest activity first, without reading any message."""
        cursor = None
        while True:
            page = self.list_sessions(cursor=cursor)
            yield from page.sessions
            cursor = page.cursor
            if cursor is None:
                return

    def list_sessions(self, *, cursor: str | None = None, limit: int | None = None) -> SessionPage:
        """A page of the sessions: 1 to 1,000, by default 100."""
        return self._call(SessionPage, "list-sessions", cursor, limit)

    # Search

    def search(
        self,
        query: str,
        *,
        limit: int = 20,
        session: str | None = None,
        role: str | None = None,
        after: Time | None = None,
        before: Time | None = None,
        fields: Collection[SearchField] = (),
    ) -> list[SearchResult]:
        """The best ``limit`` messages with these words, of one session or of all. Any text is a query."""
        found = self.search_page(
            query, limit=limit, session=session, role=role, after=after, before=before, fields=fields
        )
        return found.results

    def search_page(
        self,
        query: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        session: str | None = None,
        role: str | None = None,
        after: Time | None = None,
        before: Time | None = None,
        fields: Collection[SearchField] = (),
    ) -> SearchPage:
        """The same in pages of 1 to 1,000. ``after`` and ``before`` are inclusive; ``fields`` by default text."""
        options = {
            "session": session,
            "limit": limit,
            "cursor": cursor,
            "role": role,
            "after": milliseconds(after),
            "before": milliseconds(before),
            "fields": fields,
        }
        return self._call(SearchPage, "search", query, options)

    def update_index(self) -> bool:
        """Catches the search index up by one step, and answers whether more is left. :meth:`search` does so by itself."""
        return self._call(bool, "update-index")

    # Changes

    def changes(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        session: str | None = None,
        kinds: Collection[EventKind] = (),
    ) -> ChangePage:
        """What happened after a cursor (by default: from the oldest that is kept), in order and without gaps."""
        options = {"cursor": cursor, "limit": limit, "session": session, "kinds": kinds}
        return self._call(ChangePage, "changes", options)

    def follow(
        self,
        *,
        cursor: str | None = None,
        session: str | None = None,
        kinds: Collection[EventKind] = (),
        poll: float = 0.5,
        stop: threading.Event | None = None,
    ) -> Iterator[Change]:
        """Every change after a cursor, and then each as it comes, until ``stop`` is set.

        Writes of this process are told at once, those of others are looked for every ``poll`` seconds. Where events were
        missed (:class:`ChangePage` says when), :class:`StaleCursorError` is raised with the present end as ``subject``.
        """
        while stop is None or not stop.is_set():
            with self._written:
                seen = self._writes
            page = self.changes(cursor=cursor, session=session, kinds=kinds)
            if page.reset:
                raise stale(page)
            yield from page.events
            moved = page.cursor != cursor
            cursor = page.cursor
            if not moved or not page.events:
                self._wait(seen, poll, stop)

    def _wait(self, seen: int, poll: float, stop: threading.Event | None) -> None:
        """Until something is written here, or the time is over, or it is stopped."""
        deadline = time.monotonic() + poll
        with self._written:
            while self._writes == seen and not (stop and stop.is_set()):
                left = deadline - time.monotonic()
                if left <= 0:
                    return
                self._written.wait(min(left, 0.05) if stop else left)

    # The whole store

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
        """Changes the defaults of all sessions and answers them; ``None`` is back to the product's."""
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
        return self._call(Configuration, "configure", *configure_arguments(None, changes))

    def export_lines(self, *, session: str | None = None, max_bytes: int | None = None) -> Iterator[str]:
        """One session, or the whole store, as JSON Lines: pieces of whole lines, at most ``max_bytes`` (16 MiB) each."""
        cursor = None
        while True:
            page = self._call(LinePage, "export-lines", session, cursor, max_bytes)
            if page.lines:
                yield page.lines
            cursor = page.cursor
            if cursor is None:
                return

    def import_lines(self, lines: str, *, session: str | None = None) -> list[LinesReport]:
        """Takes whole lines of an export, piece after piece in order, each all or none; what is there already is skipped."""
        return self._call(list[LinesReport], "import-lines", session, lines)

    def snapshot(self, file: str | os.PathLike[str], *, piece_bytes: int = 1 << 20) -> int:
        """Writes a consistent copy of the store's file, while it is in use, and answers its length.

        The copy appears under its name when it is whole.
        """
        place = Path(file)
        part = place.with_name(place.name + ".part")
        cursor = None
        try:
            with part.open("wb") as out:
                while True:
                    piece = self._call(SnapshotPiece, "snapshot", cursor, piece_bytes)
                    out.write(piece.data)
                    cursor = piece.cursor
                    if cursor is None:
                        break
                out.flush()
                os.fsync(out.fileno())
            os.replace(part, place)
        finally:
            part.unlink(missing_ok=True)
        return piece.bytes

    def vacuum(self) -> VacuumReport:
        """Rewrites the file without free pages; needs up to twice its size in free room."""
        return self._call(VacuumReport, "vacuum")

    def stats(self) -> StoreStats:
        """What fills the store."""
        return self._call(StoreStats, "stats")

    def check(self) -> CheckReport:
        """Looks for damage in the file: reads all of it."""
        return self._call(CheckReport, "check")
