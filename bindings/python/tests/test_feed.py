from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path

import pytest

import talktree
from conftest import say
from talktree import errors


def test_changes_come_in_order_without_gaps_and_over_restarts(tmp_path: Path) -> None:
    with talktree.open(tmp_path) as store:
        chat = store.session("a")
        chat.append_messages([say("1", "x"), say("2", "y")])
        chat.update_message(say("1", "z"))
        chat.delete_messages(["2"])
        store.session("b").append_message(say("3", "w"))
        page = store.changes(limit=2)
    with talktree.open(tmp_path) as store:
        rest = store.changes(cursor=page.cursor)
        assert [(event.kind, event.ids) for event in page.events + rest.events] == [
            ("appended", ["1"]),
            ("appended", ["2"]),
            ("updated", ["1"]),
            ("deleted", ["2"]),
            ("appended", ["3"]),
        ]
        only = store.changes(session="b")
        assert [event.ids for event in only.events] == [["3"]]
        assert [event.ids for event in store.changes(kinds=["deleted"]).events] == [["2"]]
        assert store.changes(cursor="of another life").reset
        with pytest.raises(errors.StaleCursorError) as caught:
            next(store.follow(cursor="of another life"))
        assert store.changes(cursor=caught.value.subject).events == []


def test_following_gives_what_was_and_what_comes_until_it_is_stopped(store: talktree.Store) -> None:
    chat = store.session()
    chat.append_message(say("0", "before"))
    stop = threading.Event()
    seen: list[str] = []

    def follow() -> None:
        for event in store.follow(poll=30, stop=stop):
            seen.extend(event.ids)

    follower = threading.Thread(target=follow)
    follower.start()
    for number in range(1, 30):
        chat.append_message(say(str(number), "x"))
    deadline = time.monotonic() + 20
    while len(seen) < 30 and time.monotonic() < deadline:
        time.sleep(0.01)
    stop.set()
    follower.join(5)
    assert not follower.is_alive()
    assert seen == [str(number) for number in range(30)]


def test_following_sees_what_another_instance_writes(store: talktree.Store) -> None:
    events = store.follow(poll=0.05)
    with talktree.open(store.directory) as other:
        other.session().append_message(say("1", "from elsewhere"))
        assert next(events).ids == ["1"]
        timer = threading.Timer(0.3, other.session().append_message, [say("2", "later")])
        timer.start()
        assert next(events).ids == ["2"]
        timer.join()


def test_an_export_comes_back_as_it_was(store: talktree.Store, tmp_path: Path) -> None:
    chat = store.session("a")
    chat.append_messages([say(str(number), "x" * 100) for number in range(50)])
    chat.append_message(say("other", "branch"), parent="3")
    chat.define_block("memory", content="kept")
    pieces = list(store.export_lines(max_bytes=2000))
    assert len(pieces) > 3
    with talktree.open(tmp_path / "copy") as copy:
        reports = list(itertools.chain.from_iterable(copy.import_lines(piece) for piece in pieces))
        assert sum(report.imported for report in reports) == 51
        assert all(report.failed == [] for report in reports)
        assert list(copy.export_lines(max_bytes=2000)) == pieces
        [bad] = copy.import_lines("this is no line of an export\n")
        assert bad.failed[0].line == 1


def test_a_snapshot_is_a_store(store: talktree.Store, tmp_path: Path) -> None:
    chat = store.session()
    chat.append_messages([say(str(number), "x" * 5000) for number in range(500)])
    (tmp_path / "copy").mkdir()
    length = store.snapshot(tmp_path / "copy" / "talktree.db")
    assert length == (tmp_path / "copy" / "talktree.db").stat().st_size
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["talktree.db"]
    with talktree.open(tmp_path / "copy") as copy:
        assert list(copy.session().history()) == list(chat.history())
        assert copy.check().sound
    chat.clear_messages()
    report = store.vacuum()
    assert report.after < report.before
