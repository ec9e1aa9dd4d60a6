from __future__ import annotations

import itertools

import pytest

import talktree
from conftest import say
from talktree import errors


@pytest.fixture
def long(session: talktree.Session) -> talktree.Session:
    session.append_messages([say(f"m{number}", f"text {number}") for number in range(500)])
    return session


def test_history_streams_every_message_in_order(long: talktree.Session) -> None:
    ids = [f"m{number}" for number in range(500)]
    assert [message.id for message in long.history()] == ids
    assert [message.id for message in long.history(batch_size=7)] == ids
    assert [message.id for message in long.history(max_batch_bytes=1)] == ids
    assert [message.id for message in long.history(newest_first=True)] == ids[::-1]
    assert [message.id for message in long.get_history()] == ids


def test_history_is_read_as_it_is_consumed_and_holds_what_the_first_page_saw(long: talktree.Session) -> None:
    history = long.history(batch_size=10)
    first = list(itertools.islice(history, 10))
    long.append_message(say("later", "not in there"))
    assert len(first) + sum(1 for _ in history) == 500


def test_history_ends_with_an_error_when_its_messages_go(long: talktree.Session) -> None:
    history = long.history(batch_size=10)
    next(history)
    long.delete_messages(["m400"])
    with pytest.raises(errors.StaleCursorError):
        list(history)


def test_the_newest_messages_that_fit_are_given_with_calls_and_results_together(session: talktree.Session) -> None:
    call = {"id": "c", "role": "assistant", "parts": [{"type": "tool-call", "toolCallId": "1", "toolName": "x"}]}
    result = {"id": "r", "role": "tool", "parts": [{"type": "tool-result", "toolCallId": "1", "output": "y" * 100}]}
    session.append_messages([say("q", "?"), call, result])
    recent = session.get_recent_history(1)
    assert [message.id for message in recent.messages] == ["c", "r"]
    assert recent.truncated
    assert recent.total_content_bytes == sum(message.bytes for message in session.history())
    assert not session.get_recent_history(1_000_000).truncated


def test_a_session_that_was_never_written_is_empty_and_nothing_comes_into_being(store: talktree.Store) -> None:
    nobody = store.session("nobody")
    assert list(nobody.history()) == []
    assert nobody.get_latest_leaf() is None
    assert list(store.sessions()) == []
    assert not (store.directory / "talktree.db").exists()
    with pytest.raises(errors.UnknownSessionError):
        nobody.info()


def test_sessions_are_listed_titled_forked_and_deleted(store: talktree.Store) -> None:
    for name in ("a", "b", "c"):
        store.session(name).append_messages([say("1", name), say("2", name)])
    assert [entry.id for entry in store.sessions()] == ["c", "b", "a"]
    page = store.list_sessions(limit=2)
    assert [entry.id for entry in store.list_sessions(cursor=page.cursor).sessions] == ["a"]
    assert store.session("a").set_title("Mine").title == "Mine"
    assert store.session("a").set_title("Made up", automatic=True).title == "Mine"
    fork = store.session("a").fork("d", leaf_id="1")
    assert [message.id for message in fork.history()] == ["1"]
    with pytest.raises(errors.InvalidArgumentError):
        store.session("a").fork("d")
    assert store.session("b").delete() == 2
    info = store.session("a").info()
    assert (info.messages, info.leaf_id, info.title_automatic) == (2, "2", False)
    assert info.last_activity >= info.created


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("部署", ["zh"]),
        ("窗口", ["zh"]),
        ("重跑", ["mix"]),
        ("gen", ["mix"]),
        ("deploy", ["en"]),
        ("cafe", ["fr"]),
        ('"red green"', ["rgb"]),
        ("blue red", ["rgb"]),
        ("gre*", ["rgb"]),
        ("NOT", []),
        ('"', []),
        ("%", []),
        ("NEAR(", []),
        ("\0", []),
        ("ask-codex", ["hy"]),
    ],
)
def test_words_of_every_script_are_found_and_any_text_is_a_query(
    session: talktree.Session, query: str, ids: list[str]
) -> None:
    texts = {
        "zh": "讨论了部署窗口",
        "mix": "重跑gen后50条悬空引用",
        "en": "It was deployed on Friday",
        "fr": "Un café",
        "rgb": "red green blue",
        "hy": "use ask-codex here",
    }
    session.append_messages([say(name, text) for name, text in texts.items()])
    assert [found.id for found in session.search(query)] == ids


def test_search_has_pages_filters_and_snippets(store: talktree.Store) -> None:
    for name in ("a", "b"):
        store.session(name).append_messages([say(f"{name}{number}", "needle here") for number in range(30)])
    assert len(store.search("needle")) == 20
    assert len(store.search("needle", limit=100)) == 60
    assert {found.session_id for found in store.search("needle", session="b")} == {"b"}
    page = store.search_page("needle", limit=50)
    rest = store.search_page("needle", limit=50, cursor=page.cursor)
    assert len(rest.results) == 10
    assert rest.cursor is None
    assert page.results[0].snippet == "[needle] here"
    assert store.search("needle", role="assistant") == []
    assert store.search("needle", before=1) == []
    assert store.search("needle", fields=["tools"]) == []
    assert not store.update_index()
