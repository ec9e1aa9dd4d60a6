"""LangChain: its chat history, and its real runnable with a model that follows a script."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory

import talktree
from conftest import say
from talktree.adapters.langchain import TalktreeChatMessageHistory

# LangChain marks its chat histories as to be replaced by its own agents' memory; they are still there and in use.
pytestmark = pytest.mark.filterwarnings("ignore::langchain_core._api.deprecation.LangChainDeprecationWarning")

MESSAGES: list[BaseMessage] = [
    SystemMessage("Be kind."),
    HumanMessage("Which port? 部署 👩‍👩‍👧‍👦 \ud83d \u0000 \u2028", name="easy", additional_kwargs={"mine": [1, {"x": None}]}),
    AIMessage(
        "",
        id="run-1",
        tool_calls=[
            {"name": "look", "args": {"a": 1, "n": 2**70}, "id": "call_1", "type": "tool_call"},
            {"name": "look", "args": {}, "id": "call_2", "type": "tool_call"},
        ],
        invalid_tool_calls=[{"name": "bad", "args": "{", "id": "call_3", "error": "no JSON", "type": "invalid_tool_call"}],
        usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        response_metadata={"model": "x", "logprobs": None, "score": 1e-7},
    ),
    ToolMessage("42", tool_call_id="call_1", artifact={"raw": [1, 2]}, status="error"),
    ToolMessage([{"type": "text", "text": "a"}, "b"], tool_call_id="call_2", name="look"),
    AIMessage(
        [
            {"type": "reasoning", "reasoning": "Thinking.", "id": "rs_1", "extras": {"signature": "Er/+=="}},
            {"type": "text", "text": "8080."},
            "and plain text",
            {"type": "of_next_year", "payload": {"deep": True}},
        ],
        id="run-2",
    ),
    HumanMessage(
        [
            {"type": "text", "text": "What is it?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "QUJD" * 1000, "detail": "low"}},
            {"type": "image", "base64": "QUJD" * 1000, "mime_type": "image/png"},
        ]
    ),
    ChatMessage(content="hello", role="pirate"),
    FunctionMessage(content="42", name="look"),
    AIMessageChunk(content="in pieces", id="run-3", chunk_position="last"),
    HumanMessage(""),
]  # fmt: skip


@pytest.fixture
def history(store: talktree.Store) -> TalktreeChatMessageHistory:
    return TalktreeChatMessageHistory(store.session("chat"))


def test_every_kind_of_message_comes_back_exactly(history: TalktreeChatMessageHistory) -> None:
    history.add_messages(MESSAGES)
    found = history.messages
    assert [type(message) for message in found] == [type(message) for message in MESSAGES]
    assert [message_to_dict(message) for message in found] == [message_to_dict(message) for message in MESSAGES]
    assert found == MESSAGES


def test_it_is_a_chat_history(history: TalktreeChatMessageHistory) -> None:
    assert isinstance(history, BaseChatMessageHistory)
    history.add_user_message("hi")
    history.add_ai_message("hello")
    assert str(history) == "Human: hi\nAI: hello"
    history.messages.append(HumanMessage("into a list of one's own"))
    assert len(history.messages) == 2
    history.clear()
    assert history.messages == []


def test_messages_survive_the_end_of_the_process_and_sessions_are_apart(tmp_path: Path) -> None:
    with talktree.open(tmp_path) as store:
        TalktreeChatMessageHistory(store.session("user1")).add_messages(MESSAGES)
        TalktreeChatMessageHistory(store.session("user10")).add_user_message("other")
    with talktree.open(tmp_path) as store:
        assert TalktreeChatMessageHistory(store.session("user1")).messages == MESSAGES
        assert [m.content for m in TalktreeChatMessageHistory(store.session("user10")).messages] == ["other"]


def test_what_is_added_again_by_a_retry_is_stored_once_and_what_is_said_twice_twice(
    history: TalktreeChatMessageHistory,
) -> None:
    turn = [HumanMessage("hi"), AIMessage("hello", id="run-1")]
    history.add_messages(turn)
    history.add_messages(turn)
    assert history.messages == turn
    history.add_messages([HumanMessage("yes")])
    history.add_messages([HumanMessage("yes")])
    assert history.messages == [*turn, HumanMessage("yes"), HumanMessage("yes")]


def test_a_message_that_is_no_json_stores_nothing_of_its_batch(history: TalktreeChatMessageHistory) -> None:
    with pytest.raises(talktree.errors.InvalidMessageError):
        history.add_messages([HumanMessage("fine"), ToolMessage("x", tool_call_id="1", artifact=object())])
    assert history.messages == []


def test_batches_of_many_threads_are_whole_and_in_order(store: talktree.Store) -> None:
    def add(thread: int) -> None:
        mine = TalktreeChatMessageHistory(store.session("chat"))
        for number in range(5):
            name = f"{thread}-{number}"
            asked = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": name}])
            mine.add_messages([HumanMessage(name), asked, ToolMessage(name, tool_call_id=name)])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(8)))
    found = TalktreeChatMessageHistory(store.session("chat")).messages
    assert len(found) == 120
    for start in range(0, 120, 3):
        result = found[start + 2]
        assert isinstance(result, ToolMessage)
        assert result.tool_call_id == found[start].content == result.content


def test_words_are_found_and_calls_stay_with_their_results(store: talktree.Store) -> None:
    TalktreeChatMessageHistory(store.session("chat")).add_messages(MESSAGES[:5])
    chat = store.session("chat")
    assert len(chat.search("部署")) == 1
    recent = chat.get_recent_history(1)
    assert [message.role for message in recent.messages] == ["assistant", "tool", "tool"]


def test_messages_of_other_programs_are_read_too(store: talktree.Store) -> None:
    chat = store.session("chat")
    chat.append_message(say("s", "Be kind.", "system"))
    chat.append_message(say("q", "Which port?"))
    part = {"type": "tool-look", "toolCallId": "1", "state": "output-available", "input": {"a": 1}, "output": {"n": 42}}
    chat.append_message({"id": "a", "role": "assistant", "parts": [{"type": "text", "text": "Let me look."}, part]})
    result = {"type": "tool-result", "toolCallId": "2", "output": "43"}
    chat.append_message({"id": "t", "role": "tool", "parts": [result]})
    assert TalktreeChatMessageHistory(chat).messages == [
        SystemMessage("Be kind.", id="s"),
        HumanMessage("Which port?", id="q"),
        AIMessage("Let me look.", id="a", tool_calls=[{"name": "look", "args": {"a": 1}, "id": "1"}]),
        ToolMessage('{"n":42}', tool_call_id="1"),
        ToolMessage("43", tool_call_id="2"),
    ]


# With the real runnable


def runnable(store: talktree.Store, answers: list[str]) -> RunnableWithMessageHistory:
    def script() -> Iterator[AIMessage]:
        for number, answer in enumerate(answers):
            yield AIMessage(answer, id=f"run-{number}")

    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{input}")])
    return RunnableWithMessageHistory(
        prompt | GenericFakeChatModel(messages=script()),
        lambda session_id: TalktreeChatMessageHistory(store.session(session_id)),
        input_messages_key="input",
        history_messages_key="history",
    )


def config(session_id: str) -> Any:
    return {"configurable": {"session_id": session_id}}


def test_the_runnable_remembers_each_session_by_itself(store: talktree.Store) -> None:
    chain = runnable(store, ["one", "two", "three"])
    assert chain.invoke({"input": "a"}, config("x")).content == "one"
    assert chain.invoke({"input": "b"}, config("y")).content == "two"
    assert chain.invoke({"input": "c"}, config("x")).content == "three"
    found = TalktreeChatMessageHistory(store.session("x")).messages
    assert [(message.type, message.content) for message in found] == [
        ("human", "a"),
        ("ai", "one"),
        ("human", "c"),
        ("ai", "three"),
    ]


def test_the_runnable_works_with_asyncio_and_streams(store: talktree.Store) -> None:
    async def main() -> list[BaseMessage]:
        chain = runnable(store, ["hello there friend", "two"])
        pieces = [piece.content async for piece in chain.astream({"input": "a"}, config("x"))]
        assert "".join(pieces) == "hello there friend"
        await chain.ainvoke({"input": "b"}, config("x"))
        return await TalktreeChatMessageHistory(store.session("x")).aget_messages()

    found = asyncio.run(main())
    assert [message.content for message in found] == ["a", "hello there friend", "b", "two"]


def test_messages_in_and_messages_out_are_not_doubled(store: talktree.Store) -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("one"), AIMessage("two")]))
    chain = RunnableWithMessageHistory(model, lambda session_id: TalktreeChatMessageHistory(store.session(session_id)))
    chain.invoke([HumanMessage("a")], config("x"))
    chain.invoke([HumanMessage("b")], config("x"))
    found = TalktreeChatMessageHistory(store.session("x")).messages
    assert [message.content for message in found] == ["a", "one", "b", "two"]
