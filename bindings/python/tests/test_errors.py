from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import talktree
from conftest import say
from talktree import errors
from talktree._component import compiled

WIT = Path(__file__).resolve().parents[3] / "wit" / "types.wit"


def test_every_case_of_the_component_has_a_class_of_its_own() -> None:
    wit = WIT.read_text()
    cases = re.findall(r"^    ([a-z-]+)\(error-info\),$", wit, re.MULTILINE)
    assert len(cases) > 20
    assert sorted(cases) == sorted(errors.BY_KIND)
    assert len(set(errors.BY_KIND.values())) == len(cases)
    assert all(errors.BY_KIND[case].kind == case for case in cases)


def test_every_function_of_the_component_is_understood() -> None:
    from talktree._codec import Function

    found = compiled(None)
    names = 0
    for interface in ("store", "context"):
        exported = found.component.type.exports(found.engine)[f"talktree:sessions/{interface}@0.1.0"].ty
        for name, item in exported.exports(found.engine).items():  # type: ignore[union-attr]
            if type(item.ty).__name__ == "FuncType":
                Function(item.ty, name)
                names += 1
    assert names > 50


CASES: list[tuple[type[errors.TalktreeError], Callable[[talktree.Session], object], str | None]] = [
    (errors.InvalidMessageError, lambda s: s.append_message("{}"), None),
    (errors.InvalidMessageError, lambda s: s.append_message(say("compaction_x", "no")), "compaction_x"),
    (
        errors.InvalidMessageError,
        lambda s: s.append_message({"id": "x", "role": "user", "parts": [float("nan")]}),
        None,
    ),
    (errors.InvalidMessageError, lambda s: s.append_message({"id": "x", "role": "user", "parts": [object()]}), None),
    (errors.InvalidArgumentError, lambda s: s.store.list_sessions(limit=1001), "limit"),
    (errors.InvalidArgumentError, lambda s: s.store.list_sessions(limit=2**32 + 5), "list-sessions: limit"),
    (errors.InvalidArgumentError, lambda s: s.store.list_sessions(limit=-1), "list-sessions: limit"),
    (errors.InvalidRangeError, lambda s: s.add_compaction("sum", first_id="b", last_id="a"), None),
    (errors.UnknownParentError, lambda s: s.append_message(say("x", "?"), parent="nobody"), "nobody"),
    (errors.UnknownMessageError, lambda s: list(s.branches("nobody")), "nobody"),
    (errors.UnknownSessionError, lambda s: s.store.session("nobody").info(), "nobody"),
    (errors.UnknownBlockError, lambda s: s.get_block("nobody"), "nobody"),
    (errors.LeafMovedError, lambda s: s.append_message(say("x", "?"), expected_leaf="a"), "b"),
    (errors.LeafMovedError, lambda s: s.append_message(say("x", "?"), expected_leaf=None), "b"),
    (errors.StaleCursorError, lambda s: s.read_history(cursor="made up"), None),
    (errors.PlanOutdatedError, lambda s: s.commit_compaction("made up", "sum"), None),
    (errors.SummarizerFailedError, lambda s: s.compact(), None),
]


@pytest.mark.parametrize(("cls", "call", "subject"), CASES)
def test_an_error_is_of_the_class_of_its_case_and_says_what_it_is_about(
    session: talktree.Session, cls: type[errors.TalktreeError], call: Callable[[talktree.Session], object], subject: str
) -> None:
    session.append_messages([say("a", "one " * 50), say("b", "two " * 50)])
    session.configure(keep_recent_tokens=1, protect_head=0, min_tail=1)
    with pytest.raises(errors.TalktreeError) as caught:
        call(session)
    assert type(caught.value) is cls
    assert len(caught.value.message) > 10
    if subject is not None:
        assert caught.value.subject == subject
    assert [message.id for message in session.history()] == ["a", "b"]


def test_numbers_of_an_error_say_how_much_and_how_much_is_allowed(session: talktree.Session) -> None:
    session.define_block("memory", max_tokens=10)
    with pytest.raises(errors.OverLimitError) as caught:
        session.write_block("memory", "word " * 100)
    assert caught.value.limit == 10
    assert caught.value.subject == "memory"
    session.write_block("memory", "short")
    with pytest.raises(errors.VersionMismatchError) as moved:
        session.write_block("memory", "other", version=0)
    assert moved.value.current == 1


def test_errors_are_lookup_and_value_errors_where_python_has_such() -> None:
    assert issubclass(errors.UnknownMessageError, LookupError)
    assert issubclass(errors.InvalidMessageError, ValueError)


def test_an_error_crosses_processes_whole() -> None:
    error = errors.OverLimitError("too much", subject="x", current=3, limit=2)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.message, again.subject, again.current, again.limit) == (
        errors.OverLimitError,
        "too much",
        "x",
        3,
        2,
    )


def test_a_file_that_is_no_store_is_left_alone(tmp_path: Path) -> None:
    for content, cls in ((b"hello, I am no database" * 100, errors.NotAStoreError),):
        file = tmp_path / "talktree.db"
        file.write_bytes(content)
        with talktree.open(tmp_path) as store, pytest.raises(cls):
            store.session().append_message(say("m", "x"))
        assert file.read_bytes() == content


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = talktree.open(tmp_path)
    store.session().append_message(say("m", "x"))
    store.close()
    store.close()
    with pytest.raises(errors.ClosedError):
        store.session().get_latest_leaf()
