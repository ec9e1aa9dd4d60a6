"""The same store for asyncio: ``async with await talktree.aio.open(...) as store``.

Every store has a thread of its own, in which its calls are carried out in the order in which they were made. So the event loop
never waits for a disk, and calls that were not awaited yet keep their order. A call whose task is cancelled is carried
out all the same, if it had begun: whether a write was done is then unknown, and it can be done again with the same id.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar

from . import _session, _store
from ._settings import stale
from .errors import ClosedError, SummarizerFailedError
from .summarizer import Summarizer, checked
from .types import (
    Change,
    Compaction,
    CompactionPlan,
    EventKind,
    MediaMode,
    Message,
    Node,
    RowStats,
    SessionEntry,
    Summary,
    SummaryRequest,
)

if TYPE_CHECKING:
    from typing_extensions import Self

_P = ParamSpec("_P")
_R = TypeVar("_R")

#: Asks a model; a coroutine function runs in the event loop, another callable in a thread of its own.
AnySummarizer = Summarizer | Callable[[SummaryRequest], Awaitable["Summary | str"]]


async def open(
    directory: str | os.PathLike[str],
    *,
    summarizer: AnySummarizer | None = None,
    read_only: bool = False,
    exclusive: bool = False,
    durability: Literal["full", "normal"] = "full",
    busy_timeout: float = 10.0,
    inline_compaction: bool = True,
    reserved_metadata_keys: Collection[str] = (),
    memory_limit: int = 1 << 30,
    component: str | os.PathLike[str] | None = None,
) -> Store:
    """Opens a store as :func:`talktree.open` does. The summarizer may be a coroutine function."""
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="talktree")
    opening = functools.partial(
        _store.open,
        directory,
        summarizer=None if summarizer is None else _from_thread(summarizer, loop),
        read_only=read_only,
        exclusive=exclusive,
        durability=durability,
        busy_timeout=busy_timeout,
        inline_compaction=inline_compaction,
        reserved_metadata_keys=reserved_metadata_keys,
        memory_limit=memory_limit,
        component=component,
    )
    try:
        return Store(await loop.run_in_executor(thread, opening), thread, summarizer)
    except BaseException:
        thread.shutdown(wait=False)
        raise


def _from_thread(summarizer: AnySummarizer, loop: asyncio.AbstractEventLoop) -> Summarizer:
    """For a compaction within an append: the thread of the store waits for what runs in the loop."""

    def summarize(request: SummaryRequest) -> Summary | str:
        answer = summarizer(request)
        if inspect.isawaitable(answer):
            return asyncio.run_coroutine_threadsafe(_awaited(answer), loop).result()
        return answer

    return summarize


async def _awaited(answer: Awaitable[Summary | str]) -> Summary | str:
    return await answer


def _store_call(
    method: Callable[Concatenate[_store.Store, _P], _R],
) -> Callable[Concatenate[Store, _P], Coroutine[Any, Any, _R]]:
    @functools.wraps(method)
    async def call(self: Store, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await self._run(method, self.sync, *args, **kwargs)

    return call


def _session_call(
    method: Callable[Concatenate[_session.Session, _P], _R],
) -> Callable[Concatenate[Session, _P], Coroutine[Any, Any, _R]]:
    @functools.wraps(method)
    async def call(self: Session, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await self.store._run(method, self.sync, *args, **kwargs)

    return call


class Store:
    """An open store. ``sync`` is the one that it stands for; it may be used in any thread, too."""

    def __init__(self, sync: _store.Store, thread: ThreadPoolExecutor, summarizer: AnySummarizer | None) -> None:
        """Use :func:`open`."""
        self.sync = sync
        self.summarizer = summarizer
        self._thread = thread
        self._closed = False

    async def __aenter__(self) -> Self:
        """The store itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it."""
        await self.close()

    async def _run(self, call: Callable[..., _R], *args: Any, **kwargs: Any) -> _R:
        if self._closed:
            raise ClosedError("the store was closed: open it again")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, functools.partial(call, *args, **kwargs))

    async def close(self) -> None:
        """Closes it, after the calls that were made. Closing again does nothing."""
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(None, self._finish)

    def _finish(self) -> None:
        self._thread.shutdown()
        self.sync.close()

    def session(self, session_id: str = "") -> Session:
        """A session; it comes into being with its first write."""
        return Session(self, session_id)

    list_sessions = _store_call(_store.Store.list_sessions)
    search = _store_call(_store.Store.search)
    search_page = _store_call(_store.Store.search_page)
    update_index = _store_call(_store.Store.update_index)
    changes = _store_call(_store.Store.changes)
    configure = _store_call(_store.Store.configure)
    import_lines = _store_call(_store.Store.import_lines)
    snapshot = _store_call(_store.Store.snapshot)
    vacuum = _store_call(_store.Store.vacuum)
    stats = _store_call(_store.Store.stats)
    check = _store_call(_store.Store.check)

    async def sessions(self) -> AsyncIterator[SessionEntry]:
        """All sessions, newest activity first, without reading any message."""
        cursor = None
        while True:
            page = await self.list_sessions(cursor=cursor)
            for entry in page.sessions:
                yield entry
            cursor = page.cursor
            if cursor is None:
                return

    async def export_lines(self, *, session: str | None = None, max_bytes: int | None = None) -> AsyncIterator[str]:
        """One session, or the whole store, as JSON Lines: pieces of whole lines."""
        pieces = self.sync.export_lines(session=session, max_bytes=max_bytes)
        while (piece := await self._run(next, pieces, None)) is not None:
            yield piece

    async def follow(
        self,
        *,
        cursor: str | None = None,
        session: str | None = None,
        kinds: Collection[EventKind] = (),
        poll: float = 0.25,
    ) -> AsyncIterator[Change]:
        """Every change after a cursor, and then each as it comes, looked for every ``poll`` seconds; cancel it to end it."""
        while True:
            page = await self.changes(cursor=cursor, session=session, kinds=kinds)
            if page.reset:
                raise stale(page)
            for event in page.events:
                yield event
            cursor = page.cursor
            if not page.events:
                await asyncio.sleep(poll)


class Session:
    """A handle on a session, as :class:`talktree.Session`."""

    def __init__(self, store: Store, session_id: str) -> None:
        """Use :meth:`Store.session`."""
        self.store = store
        self.id = session_id
        self.sync = store.sync.session(session_id)

    append_message = _session_call(_session.Session.append_message)
    append_messages = _session_call(_session.Session.append_messages)
    update_message = _session_call(_session.Session.update_message)
    upsert_message = _session_call(_session.Session.upsert_message)
    import_message = _session_call(_session.Session.import_message)
    import_messages = _session_call(_session.Session.import_messages)
    delete_messages = _session_call(_session.Session.delete_messages)
    clear_messages = _session_call(_session.Session.clear_messages)
    set_leaf = _session_call(_session.Session.set_leaf)
    get_message = _session_call(_session.Session.get_message)
    get_latest_leaf = _session_call(_session.Session.get_latest_leaf)
    read_history = _session_call(_session.Session.read_history)
    get_history = _session_call(_session.Session.get_history)
    get_recent_history = _session_call(_session.Session.get_recent_history)
    get_media = _session_call(_session.Session.get_media)
    search = _session_call(_session.Session.search)
    info = _session_call(_session.Session.info)
    set_title = _session_call(_session.Session.set_title)
    delete = _session_call(_session.Session.delete)
    configure = _session_call(_session.Session.configure)
    prepare_compaction = _session_call(_session.Session.prepare_compaction)
    commit_compaction = _session_call(_session.Session.commit_compaction)
    abandon_compaction = _session_call(_session.Session.abandon_compaction)
    add_compaction = _session_call(_session.Session.add_compaction)
    get_compactions = _session_call(_session.Session.get_compactions)
    remove_compaction = _session_call(_session.Session.remove_compaction)
    define_block = _session_call(_session.Session.define_block)
    remove_block = _session_call(_session.Session.remove_block)
    get_block = _session_call(_session.Session.get_block)
    list_blocks = _session_call(_session.Session.list_blocks)
    write_block = _session_call(_session.Session.write_block)
    block_history = _session_call(_session.Session.block_history)
    restore_block = _session_call(_session.Session.restore_block)
    system_prompt = _session_call(_session.Session.system_prompt)
    refresh_system_prompt = _session_call(_session.Session.refresh_system_prompt)
    reminder = _session_call(_session.Session.reminder)
    tools = _session_call(_session.Session.tools)
    call_tool = _session_call(_session.Session.call_tool)

    async def history(
        self,
        *,
        leaf_id: str | None = None,
        newest_first: bool = False,
        overlays: bool = True,
        media: MediaMode = "inline",
        batch_size: int | None = None,
        max_batch_bytes: int | None = None,
    ) -> AsyncIterator[Message]:
        """The path from the root to a leaf, read page by page as it is consumed; see :meth:`talktree.Session.history`."""
        cursor = None
        while True:
            page = await self.read_history(
                cursor=cursor,
                leaf_id=leaf_id,
                newest_first=newest_first,
                overlays=overlays,
                media=media,
                batch_size=batch_size,
                max_batch_bytes=max_batch_bytes,
            )
            for message in page.messages:
                yield message
            cursor = page.cursor
            if cursor is None:
                return

    async def branches(self, message_id: str | None) -> AsyncIterator[Message]:
        """The answers to a message, or (``None``) the roots, in the order of writing."""
        found = self.sync.branches(message_id)
        while (message := await self.store._run(next, found, None)) is not None:
            yield message

    async def nodes(self) -> AsyncIterator[Node]:
        """Every message of the tree in the order of writing, as its place and a preview."""
        found = self.sync.nodes()
        while (node := await self.store._run(next, found, None)) is not None:
            yield node

    async def row_stats(self, *, leaf_id: str | None = None) -> AsyncIterator[RowStats]:
        """Sizes and token estimates along the path, without content."""
        found = self.sync.row_stats(leaf_id=leaf_id)
        while (row := await self.store._run(next, found, None)) is not None:
            yield row

    async def media(self, message_id: str, index: int) -> AsyncIterator[bytes]:
        """A whole payload, in pieces of a mebibyte."""
        pieces = self.sync.media(message_id, index)
        while (piece := await self.store._run(next, pieces, None)) is not None:
            yield piece

    async def fork(self, new_session_id: str, *, leaf_id: str | None = None) -> Session:
        """Copies the path to a leaf (by default the present one) into a new session, and answers that."""
        await self.store._run(self.sync.fork, new_session_id, leaf_id=leaf_id)
        return self.store.session(new_session_id)

    async def compact(self, *, leaf_id: str | None = None) -> Compaction | None:
        """Replaces what is old on the path by summaries; see :meth:`talktree.Session.compact`.

        While the model works, the store is free for other calls. Cancelled, it gives up the step that it is at.
        """
        last = None
        while (plan := await self.prepare_compaction(leaf_id=leaf_id)) is not None:
            summary = await self._ask(plan)
            last = await self.commit_compaction(plan.token, summary)
        return last

    async def _ask(self, plan: CompactionPlan) -> Summary:
        summarizer = self.store.summarizer
        request = _session.summary_request(plan)
        try:
            if summarizer is None:
                raise SummarizerFailedError("no summarizer was given: talktree.aio.open(..., summarizer=...)")
            if inspect.iscoroutinefunction(summarizer):
                return checked(await summarizer(request))
            answer = await asyncio.to_thread(summarizer, request)
            return checked(await answer if inspect.isawaitable(answer) else answer)
        except BaseException as error:
            await asyncio.shield(self.abandon_compaction(plan.token))
            raise _session.failed(error) from error
