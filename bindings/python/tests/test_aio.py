from __future__ import annotations

import asyncio
import inspect
import time
from pathlib import Path

import pytest

import talktree
from conftest import say
from talktree import SummaryRequest, aio, errors


def test_the_front_for_asyncio_has_everything() -> None:
    for here, there in ((aio.Store, talktree.Store), (aio.Session, talktree.Session)):
        public = {name for name in dir(there) if not name.startswith("_")} - {"directory", "summarizer", "store", "id"}
        assert public - set(dir(here)) == set()
    plain = inspect.signature(talktree.Session.append_message)
    front = inspect.signature(aio.Session.append_message)
    assert list(plain.parameters) == list(front.parameters)


def test_calls_keep_their_order_and_the_loop_goes_on(tmp_path: Path) -> None:
    async def main() -> None:
        async with await aio.open(tmp_path) as store:
            chat = store.session("chat")
            ticks = 0

            async def tick() -> None:
                nonlocal ticks
                while True:
                    ticks += 1
                    await asyncio.sleep(0.001)

            ticking = asyncio.create_task(tick())
            await asyncio.gather(*(chat.append_message(say(str(number), "x")) for number in range(50)))
            ticking.cancel()
            assert ticks > 5
            assert [message.id async for message in chat.history(batch_size=7)] == [str(n) for n in range(50)]
            assert [message.id async for message in chat.branches("0")] == ["1"]
            assert len([node async for node in chat.nodes()]) == 50
            assert len([row async for row in chat.row_stats()]) == 50
            assert [entry.id async for entry in store.sessions()] == ["chat"]
            assert len([piece async for piece in store.export_lines()]) == 1
            fork = await chat.fork("other", leaf_id="3")
            assert [message.id async for message in fork.history()] == ["0", "1", "2", "3"]
            with pytest.raises(errors.UnknownMessageError):
                _ = [message async for message in chat.history(leaf_id="nobody")]
            assert (await chat.define_block("memory")).version == 0
        await store.close()
        with pytest.raises(errors.ClosedError):
            await chat.get_latest_leaf()
        with pytest.raises(errors.NotConfiguredError):
            await aio.open(tmp_path / "nowhere", read_only=True)

    asyncio.run(main())


def test_a_coroutine_function_summarizes_beside_appends_and_within_them(tmp_path: Path) -> None:
    asked: list[SummaryRequest] = []

    async def summarizer(request: SummaryRequest) -> str:
        await asyncio.sleep(0.01)
        asked.append(request)
        return "They counted."

    async def main() -> None:
        async with await aio.open(tmp_path, summarizer=summarizer) as store:
            chat = store.session()
            await chat.append_messages([say(f"m{n}", f"Number {n}. " * 20) for n in range(20)])
            await chat.configure(keep_recent_tokens=100, protect_head=1)
            made, appended = await asyncio.gather(chat.compact(), chat.append_message(say("meanwhile", "x")))
            assert made is not None
            assert appended.inserted
            await chat.configure(compact_after=100, auto_compact="inline")
            await chat.append_message(say("next", "Another number. " * 200))
            assert len(asked) > 1

    asyncio.run(main())


def test_a_cancelled_compaction_gives_up_its_plan(tmp_path: Path) -> None:
    async def never(_: SummaryRequest) -> str:
        await asyncio.sleep(1000)
        return ""

    async def main() -> None:
        async with await aio.open(tmp_path, summarizer=never) as store:
            chat = store.session()
            await chat.append_messages([say(f"m{n}", f"Number {n}. " * 20) for n in range(20)])
            await chat.configure(keep_recent_tokens=100, protect_head=1)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(chat.compact(), 0.2)
            assert await chat.get_compactions() == []
            assert (await chat.append_message(say("next", "x"))).inserted

    asyncio.run(main())


def test_following_gives_what_comes_until_its_task_is_cancelled(tmp_path: Path) -> None:
    async def main() -> None:
        async with await aio.open(tmp_path) as store:
            chat = store.session()
            seen: list[str] = []

            async def follow() -> None:
                async for event in store.follow(poll=0.01):
                    seen.extend(event.ids)

            following = asyncio.create_task(follow())
            for number in range(10):
                await chat.append_message(say(str(number), "x"))
            deadline = time.monotonic() + 10
            while len(seen) < 10 and time.monotonic() < deadline:
                await asyncio.sleep(0.01)
            following.cancel()
            with pytest.raises(asyncio.CancelledError):
                await following
            assert seen == [str(number) for number in range(10)]

    asyncio.run(main())
