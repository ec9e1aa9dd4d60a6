from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import talktree
from conftest import say
from talktree import Summary, SummaryRequest, errors


def fill(session: talktree.Session, count: int = 20) -> None:
    session.append_messages([say(f"m{number}", f"Number {number}. " * 20) for number in range(count)])
    session.configure(keep_recent_tokens=100, protect_head=1, min_tail=2)


def test_a_summary_by_a_python_callable_stands_for_old_messages_which_stay(tmp_path: Path) -> None:
    asked: list[SummaryRequest] = []

    def summarizer(request: SummaryRequest) -> Summary:
        asked.append(request)
        return Summary("They counted.", input_tokens=1234, output_tokens=3)

    with talktree.open(tmp_path, summarizer=summarizer) as store:
        chat = store.session()
        fill(chat)
        made = chat.compact()
        assert made is not None
        assert (made.summary, made.input_tokens, made.output_tokens) == ("They counted.", 1234, 3)
        assert asked[0].purpose == "compaction"
        assert "Number 7." in asked[0].prompt
        history = list(chat.history())
        assert len(history) < 20
        [summary] = [message for message in history if message.is_summary]
        assert (summary.id, summary.text) == (f"compaction_{made.id}", "They counted.")
        assert len(list(chat.history(overlays=False))) == 20
        assert chat.get_compactions() == [made]
        assert chat.compact() is None
        assert chat.remove_compaction(made.id)
        assert len(list(chat.history())) == 20


def test_the_component_itself_asks_the_callable_within_an_append(tmp_path: Path) -> None:
    asked: list[SummaryRequest] = []

    def summarizer(request: SummaryRequest) -> str:
        asked.append(request)
        return "They counted."

    with talktree.open(tmp_path, summarizer=summarizer) as store:
        chat = store.session()
        fill(chat)
        chat.configure(compact_after=200, auto_compact="inline")
        assert chat.append_message(say("next", "one more")).inserted
        assert asked[0].max_tokens > 0
        [made] = [made for made in chat.get_compactions() if made.replaced_by is None]
        assert made.summary == "They counted."


FAILURES: list[Callable[[SummaryRequest], object]] = [
    lambda _: (_ for _ in ()).throw(RuntimeError("no model")),
    lambda _: (_ for _ in ()).throw(talktree.SummarizeError("rate-limited", "later")),
    lambda _: None,
    lambda _: Summary("x", input_tokens=-1),
    lambda _: (_ for _ in ()).throw(KeyboardInterrupt),
]


@pytest.mark.parametrize("summarizer", FAILURES)
def test_a_failing_summarizer_changes_nothing_and_never_fails_an_append(
    tmp_path: Path, summarizer: Callable[[SummaryRequest], str]
) -> None:
    with talktree.open(tmp_path, summarizer=summarizer) as store:
        chat = store.session()
        fill(chat)
        with pytest.raises((errors.SummarizerFailedError, errors.InvalidArgumentError, KeyboardInterrupt)):
            chat.compact()
        chat.configure(compact_after=200, auto_compact="inline")
        assert chat.append_message(say("next", "one more " * 500)).inserted
        assert chat.get_compactions() == []
        assert len(list(chat.history())) == 21


def test_a_bad_summary_is_refused(tmp_path: Path) -> None:
    answers: list[Summary | str] = [Summary("half of a s", truncated=True), "", "x" * 1_000_000]

    def summarizer(_: SummaryRequest) -> Summary | str:
        return answers.pop()

    with talktree.open(tmp_path, summarizer=summarizer) as store:
        chat = store.session()
        fill(chat)
        while answers:
            with pytest.raises(errors.NoProgressError):
                chat.compact()
        assert chat.get_compactions() == []


def test_the_store_is_free_for_others_while_the_model_works(tmp_path: Path) -> None:
    working, appended = threading.Event(), threading.Event()

    def summarizer(_: SummaryRequest) -> str:
        working.set()
        assert appended.wait(30)
        return "They counted."

    with talktree.open(tmp_path, summarizer=summarizer) as store:
        chat = store.session()
        fill(chat)
        thread = threading.Thread(target=chat.compact)
        thread.start()
        assert working.wait(30)
        assert chat.append_message(say("meanwhile", "hello")).inserted
        appended.set()
        thread.join()
        assert chat.get_compactions()[0].summary == "They counted."


def test_a_summarizer_that_calls_the_store_that_waits_for_it_is_told_so(tmp_path: Path) -> None:
    said: list[str] = []

    def summarizer(_: SummaryRequest) -> str:
        with pytest.raises(errors.OtherError, match="waits for it") as caught:
            chat.get_latest_leaf()
        said.append(caught.value.message)
        return "They counted."

    with talktree.open(tmp_path, summarizer=summarizer) as store:
        chat = store.session()
        fill(chat)
        chat.configure(compact_after=200, auto_compact="inline")
        chat.append_message(say("next", "one more"))
        assert said
        assert chat.get_compactions()


def test_configuration_is_kept_reset_and_inherited(store: talktree.Store) -> None:
    assert store.configure(compact_after=5000, token_factor=1.5).compact_after == 5000
    chat = store.session("a")
    assert chat.configure().compact_after == 5000
    changed = chat.configure(compact_after=None, auto_compact="off", reserved_metadata_keys=["k"])
    assert (changed.compact_after, changed.auto_compact, changed.reserved_metadata_keys) == (5000, "off", ["k"])
    assert chat.configure(compact_after=7).compact_after == 7
    assert store.configure(compact_after=None).compact_after is None
    assert chat.configure().token_factor == 1.5
