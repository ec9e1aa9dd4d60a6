"""The OpenAI Agents SDK: its protocol, and its real runner with a model that follows a script."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from agents import Agent, ModelSettings, RunConfig, Runner, SQLiteSession, function_tool
from agents.items import TResponseInputItem
from agents.memory import Session, SessionSettings
from agents.testing import ScriptedModel, assistant_message, function_call

import talktree
from conftest import say
from talktree.adapters.openai_agents import TalktreeSession

T = TypeVar("T")

QUIET = RunConfig(tracing_disabled=True)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


def items(*given: dict[str, Any]) -> list[TResponseInputItem]:
    return cast(list[TResponseInputItem], list(given))


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def call(call_id: str, number: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "arguments": f'{{"a": {number}}}',
        "call_id": call_id,
        "name": "look",
        "type": "function_call",
        "id": f"fc_{number}",
    } | more


def output(call_id: str, text: str = "42") -> dict[str, Any]:
    return {"call_id": call_id, "output": text, "type": "function_call_output"}


THOUGHT: dict[str, Any] = {
    "id": "rs_1",
    "summary": [{"text": "Thinking.", "type": "summary_text"}],
    "type": "reasoning",
    "encrypted_content": "gA==",
}
ANSWER: dict[str, Any] = {
    "id": "msg_1",
    "content": [
        {"annotations": [], "text": "8080.", "type": "output_text", "logprobs": []},
        {"type": "refusal", "refusal": "no"},
    ],
    "role": "assistant",
    "status": "completed",
    "type": "message",
}

ITEMS: list[dict[str, Any]] = [
    user("Which port? 部署 👩‍👩‍👧‍👦 \ud83d \u0000 \u2028"),
    {"type": "message", "role": "system", "content": "Be kind."},
    {"role": "developer", "content": [{"type": "input_text", "text": "Hm."}], "unknown": {"deep": [1, None, {"x": 1.5}]}},
    THOUGHT,
    {"id": "rs_2", "summary": [], "type": "reasoning"},
    call("call_1"),
    call("call_2", 2, status="completed", namespace=None),
    output("call_1"),
    output("call_2", ""),
    {"type": "function_call_output", "call_id": "call_1", "output": [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
    {"type": "computer_call", "id": "cu_1", "call_id": "call_3", "action": {"type": "click", "x": 1}, "pending_safety_checks": []},
    {"type": "computer_call_output", "call_id": "call_3", "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,BBBB"}},
    {"type": "custom_tool_call", "id": "ct_1", "call_id": "call_4", "name": "raw", "input": "anything at all"},
    {"type": "custom_tool_call_output", "call_id": "call_4"},
    {"type": "mcp_call", "id": "mcp_1", "server_label": "s", "name": "n", "arguments": "{}", "output": "o", "error": None},
    {"type": "item_reference", "id": "msg_0"},
    {"__enc__": 1, "v": 1, "kid": "hkdf-v1", "payload": "gAAAAA=="},
    {"type": "of_next_year", "payload": {"n": 2**70, "f": 1e-7, "b": False}},
    ANSWER,
    {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64," + "QUJD" * 1000, "detail": "auto"}, {"type": "input_file", "file_data": "data:application/pdf;base64," + "JVBE" * 1000, "filename": "a.pdf"}, {"type": "input_text", "text": "What is it?"}]},
    {"role": "user", "content": ""},
    {"role": "user", "content": [], "id": ""},
    {"role": "assistant", "content": "without a type", "id": "__fake_id__"},
]  # fmt: skip


def test_it_is_a_session_of_the_sdk(store: talktree.Store) -> None:
    assert isinstance(TalktreeSession("a", store), Session)


def test_every_kind_of_item_comes_back_exactly_with_its_members_in_order(store: talktree.Store) -> None:
    given = items(*ITEMS)
    before = copy.deepcopy(given)
    run(TalktreeSession("a", store).add_items(given))
    assert given == before
    found = run(TalktreeSession("a", store).get_items())
    assert found == given
    assert [list(item) for item in found] == [list(item) for item in given]
    for limit in range(len(given) + 2):
        assert run(TalktreeSession("a", store).get_items(limit)) == given[max(len(given) - limit, 0) :]


def test_items_survive_the_end_of_the_process_and_sessions_are_apart(tmp_path: Path) -> None:
    with talktree.open(tmp_path) as store:
        run(TalktreeSession("../user1", store).add_items(items(*ITEMS)))
        run(TalktreeSession("../user10", store).add_items(items(user("other"))))
    with talktree.open(tmp_path) as store:
        assert run(TalktreeSession("../user1", store).get_items()) == ITEMS
        assert run(TalktreeSession("../user10", store).get_items()) == [user("other")]
        assert run(TalktreeSession("../user", store).get_items()) == []


def test_pop_gives_the_newest_item_and_then_the_one_before(store: talktree.Store) -> None:
    session = TalktreeSession("a", store)
    run(session.add_items(items(*ITEMS)))
    for item in reversed(ITEMS):
        assert run(session.pop_item()) == item
    assert run(session.pop_item()) is None
    run(session.add_items(items(user("again"))))
    assert run(session.get_items()) == [user("again")]


def test_pop_stays_on_its_branch(store: talktree.Store) -> None:
    session = TalktreeSession("a", store)
    run(session.add_items(items(user("q"), user("r"))))
    chat = store.session("a")
    root = next(chat.history()).id
    chat.append_message(say("elsewhere", "on another branch"), parent=root)
    chat.set_leaf(next(chat.branches(root)).id)
    run(session.add_items(items(user("s"))))
    chat.append_message(say("newest", "on another branch"), parent=root)
    chat.set_leaf([node.id for node in chat.nodes()][3])
    assert run(session.pop_item()) == user("s")
    assert run(session.pop_item()) == user("r")
    assert run(session.get_items()) == [user("q")]


def test_clear_leaves_nothing(store: talktree.Store) -> None:
    session = TalktreeSession("a", store)
    run(session.add_items(items(*ITEMS)))
    run(session.clear_session())
    assert run(session.get_items()) == []
    assert run(session.pop_item()) is None


def test_a_limit_is_the_newest_so_many_exactly(store: talktree.Store) -> None:
    session = TalktreeSession("a", store, session_settings=SessionSettings(limit=2))
    run(session.add_items(items(user("1"), user("2"), user("3"))))
    assert run(session.get_items()) == [user("2"), user("3")]
    assert run(session.get_items(1)) == [user("3")]
    assert run(session.get_items(0)) == []


def test_a_batch_that_is_added_again_is_stored_once(store: talktree.Store) -> None:
    session = TalktreeSession("a", store)
    turn = [user("hi"), THOUGHT, call("call_0"), output("call_0")]
    run(session.add_items(items(*turn)))
    run(session.add_items(items(*turn)))
    assert run(session.get_items()) == turn
    run(session.add_items(items(*turn[2:], ANSWER)))
    assert run(session.get_items()) == [*turn, ANSWER]
    # Somebody who saves the history with what is new.
    run(session.add_items(items(*turn, ANSWER, user("next"))))
    assert run(session.get_items()) == [*turn, ANSWER, user("next")]


def test_what_is_said_twice_is_stored_twice(store: talktree.Store) -> None:
    session = TalktreeSession("a", store)
    run(session.add_items(items(user("yes"))))
    run(session.add_items(items(user("yes"), user("yes"))))
    assert run(session.get_items()) == [user("yes")] * 3


def test_ids_of_calls_that_a_provider_uses_again_lose_nothing(store: talktree.Store) -> None:
    session = TalktreeSession("a", store)
    turns = []
    for text in ("one", "two"):
        turn = [user(text), call("call_0", id="__fake_id__"), output("call_0")]
        run(session.add_items(items(*turn)))
        turns += turn
    assert run(session.get_items()) == turns


def test_batches_of_many_tasks_are_whole_and_in_order(store: talktree.Store) -> None:
    async def add(task: int) -> None:
        session = TalktreeSession("a", store)
        for batch in range(5):
            name = f"{task}-{batch}"
            await session.add_items(items(user(name), call(name, task), output(name)))

    async def main() -> list[TResponseInputItem]:
        await asyncio.gather(*(add(task) for task in range(10)))
        return await TalktreeSession("a", store).get_items()

    found: list[Any] = run(main())
    assert len(found) == 150
    for start in range(0, 150, 3):
        name = found[start]["content"]
        assert [found[start + 1]["call_id"], found[start + 2]["call_id"]] == [name, name]
    for task in range(10):
        mine = [item["content"] for item in found if str(item.get("content", "")).startswith(f"{task}-")]
        assert mine == [f"{task}-{batch}" for batch in range(5)]


def test_two_stores_on_one_directory_add_to_one_session_without_forking_it(store: talktree.Store) -> None:
    async def main() -> list[TResponseInputItem]:
        with talktree.open(store.directory) as other:
            for_each = [TalktreeSession("a", store), TalktreeSession("a", other)]
            await asyncio.gather(*(s.add_items(items(user(f"{n}"))) for n in range(10) for s in for_each))
            return await for_each[0].get_items()

    assert len(run(main())) == 20
    assert all(node.children <= 1 for node in store.session("a").nodes())


def test_a_cancelled_add_is_whole_when_the_cancellation_is_seen(store: talktree.Store) -> None:
    async def main() -> None:
        session = TalktreeSession("a", store)
        adding = asyncio.create_task(session.add_items(items(*(user(str(number)) for number in range(500)))))
        await asyncio.sleep(0.001)
        adding.cancel()
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        assert len(await session.get_items()) == 500

    run(main())


def test_an_item_that_is_no_json_stores_nothing_of_its_batch(store: talktree.Store) -> None:
    session = TalktreeSession("a", store)
    with pytest.raises(talktree.errors.InvalidMessageError):
        run(session.add_items(items(user("fine"), {"role": "user", "content": object()})))
    assert run(session.get_items()) == []


def test_a_large_item_comes_back(store: talktree.Store) -> None:
    session = TalktreeSession("a", store)
    large = output("call_1", "部署 " * 1_000_000)
    run(session.add_items(items(large)))
    assert run(session.get_items()) == [large]
    # What is moved into a part is stored once.
    assert store.stats().bytes.messages < len(large["output"].encode()) * 1.1


def test_words_of_items_are_found_and_calls_stay_with_their_results(store: talktree.Store) -> None:
    session = TalktreeSession("a", store)
    run(session.add_items(items(user("Which port for 部署?"), *(call(f"c{n}", n) for n in range(3)))))
    run(session.add_items(items(*(output(f"c{n}", f"needle {n}") for n in range(3)), user("thanks"))))
    chat = store.session("a")
    assert len(chat.search("部署")) == 1
    assert len(chat.search("needle", fields=["tools"])) == 3
    # Parallel calls and their results are one unit, wherever the budget ends.
    for budget in range(1, 2000, 50):
        parsed = [message.parse()["parts"][0] for message in chat.get_recent_history(budget).messages]
        made = {part["toolCallId"] for part in parsed if part["type"] == "tool-call"}
        answered = {part["toolCallId"] for part in parsed if part["type"] == "tool-result"}
        assert answered <= made


def test_a_compacted_session_gives_its_summary_in_place_of_what_it_covers(tmp_path: Path) -> None:
    with talktree.open(tmp_path, summarizer=lambda _: "They counted.") as store:
        session = TalktreeSession("a", store)
        run(session.add_items(items(*(user(f"Number {n}. " * 20) for n in range(20)))))
        chat = store.session("a")
        chat.configure(keep_recent_tokens=100, protect_head=1)
        chat.compact()
        found = run(session.get_items())
        assert len(found) < 20
        assert {"role": "assistant", "content": "They counted."} in found
        run(session.add_items(items(user("next"))))
        assert run(session.get_items(1)) == [user("next")]
        assert run(session.pop_item()) == user("next")


def test_messages_of_other_programs_are_read_as_items(store: talktree.Store) -> None:
    chat = store.session("a")
    chat.append_message(say("q", "Which port?"))
    part = {"type": "tool-look", "toolCallId": "1", "state": "output-available", "input": {"a": 1}, "output": {"n": 42}}
    chat.append_message({"id": "a", "role": "assistant", "parts": [{"type": "text", "text": "Let me look."}, part]})
    assert run(TalktreeSession("a", store).get_items()) == [
        {"role": "user", "content": "Which port?"},
        {"role": "assistant", "content": "Let me look."},
        {"type": "function_call", "call_id": "1", "name": "look", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "1", "output": '{"n":42}'},
    ]


def test_recent_items_never_part_a_call_from_its_outputs_or_its_reasoning(store: talktree.Store) -> None:
    session = TalktreeSession("a", store)
    turns: list[dict[str, Any]] = []
    for turn in range(4):
        calls = [call(f"c{turn}{n}", n, id=f"fc_{turn}{n}") for n in range(3)]
        thought = THOUGHT | {"id": f"rs_{turn}"}
        answer = ANSWER | {"id": f"msg_{turn}"}
        turns += [user(f"go {turn}"), thought, *calls, *(output(f"c{turn}{n}") for n in range(3)), answer]
    run(session.add_items(items(*turns)))
    lengths = set()
    for budget in range(1, 12_000, 150):
        found: list[Any] = run(session.get_recent_items(budget))
        assert found == turns[len(turns) - len(found) :]
        lengths.add(len(found))
        first = turns.index(found[0])
        assert found[0].get("type") not in ("function_call", "function_call_output")
        assert first == 0 or turns[first - 1].get("type") != "reasoning"
    assert len(turns) in lengths
    assert len(lengths) > 6


# With the real runner


@function_tool
def look(a: int) -> str:
    """Looks something up."""
    return f"answer {a}"


def agent(model: ScriptedModel) -> Agent[None]:
    return Agent(name="helper", model=model, tools=[look], model_settings=ModelSettings())


def said(model: ScriptedModel) -> list[Any]:
    last = model.last_call
    assert last is not None
    return cast(list[Any], last.input)


def test_the_runner_goes_on_where_it_ended_after_a_restart(tmp_path: Path) -> None:
    async def turn(text: str, model: ScriptedModel) -> str:
        with talktree.open(tmp_path) as store:
            done = await Runner.run(agent(model), text, session=TalktreeSession("a", store), run_config=QUIET)
            return str(done.final_output)

    first = ScriptedModel(
        [[function_call("look", {"a": 7}, call_id="call_1")], [assistant_message("It is 7.", item_id="m1")]]
    )
    assert run(turn("Which one?", first)) == "It is 7."
    second = ScriptedModel([[assistant_message("As I said.", item_id="m2")]])
    assert run(turn("Really?", second)) == "As I said."
    kinds = [(item.get("type"), item.get("role"), item.get("call_id")) for item in said(second)]
    assert kinds == [
        (None, "user", None),
        ("function_call", None, "call_1"),
        ("function_call_output", None, "call_1"),
        ("message", "assistant", None),
        (None, "user", None),
    ]
    assert "answer 7" in str(said(second)[2])


def test_the_runner_finds_the_same_in_it_as_in_the_sdks_own_session(store: talktree.Store) -> None:
    async def talk(session: Session) -> list[TResponseInputItem]:
        for number in range(4):
            script = [
                [function_call("look", {"a": number}, call_id=f"c{number}a"), function_call("look", {"a": 9}, call_id=f"c{number}b")],
                [assistant_message(f"Done {number}.", item_id=f"m{number}")],
            ]  # fmt: skip
            result = Runner.run_streamed(
                agent(ScriptedModel(script)), f"Go {number}", session=session, run_config=QUIET
            )
            async for _ in result.stream_events():
                pass
        return await session.get_items()

    ours = run(talk(TalktreeSession("a", store)))
    of_the_sdk = SQLiteSession("a")
    theirs = run(talk(of_the_sdk))
    of_the_sdk.close()
    assert len(ours) == 24
    assert ours == theirs


@pytest.mark.parametrize("limit", range(1, 8))
def test_no_limit_makes_the_runner_send_half_of_a_call(store: talktree.Store, limit: int) -> None:
    async def main() -> list[Any]:
        session = TalktreeSession("a", store)
        both = [call("c1", 1), call("c2", 2), output("c1"), output("c2")]
        await session.add_items(items(user("one"), *both, ANSWER))
        model = ScriptedModel([[assistant_message("Fine.")]])
        config = RunConfig(tracing_disabled=True, session_settings=SessionSettings(limit=limit))
        await Runner.run(agent(model), "two", session=session, run_config=config)
        return said(model)

    sent = run(main())
    made = [item["call_id"] for item in sent if item.get("type") == "function_call"]
    answered = [item["call_id"] for item in sent if item.get("type") == "function_call_output"]
    assert sorted(made) == sorted(answered)


def test_a_run_that_fails_leaves_a_history_that_goes_on(store: talktree.Store) -> None:
    async def main() -> list[Any]:
        session = TalktreeSession("a", store)
        broken = ScriptedModel([[function_call("look", {"a": 1}, call_id="c1")], RuntimeError("no model")])
        with pytest.raises(RuntimeError):
            await Runner.run(agent(broken), "one", session=session, run_config=QUIET)
        model = ScriptedModel([[assistant_message("Fine.")]])
        await Runner.run(agent(model), "two", session=session, run_config=QUIET)
        return said(model)

    sent = run(main())
    assert [item.get("type") for item in sent] == [None, "function_call", "function_call_output", None]
