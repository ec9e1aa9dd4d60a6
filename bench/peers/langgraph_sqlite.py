"""`SqliteSaver` of LangGraph below a graph over messages, in a file, as its documentation has it.

A message is appended by `update_state`: one checkpoint a message, which is the least that a graph writes for one.
"""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drive
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

THREAD = {"configurable": {"thread_id": "peer"}}


class LangGraph:
    def __init__(self, directory: Path) -> None:
        # A branch begins at a checkpoint; which one has which message last is known to the program.
        self.checkpoints = directory.parent / f"{directory.name}-checkpoints.json"
        self.connection = sqlite3.connect(directory / "checkpoints.db", check_same_thread=False)
        graph = StateGraph(MessagesState)
        graph.add_node("say", lambda state: state)
        graph.add_edge(START, "say")
        graph.add_edge("say", END)
        self.graph = graph.compile(checkpointer=SqliteSaver(self.connection))

    def fill(self, messages: list[dict[str, Any]], last: int) -> None:
        config = self.graph.update_state(THREAD, {"messages": [message_of(one) for one in messages]}, as_node="say")
        known = json.loads(self.checkpoints.read_text()) if self.checkpoints.exists() else {}
        self.checkpoints.write_text(json.dumps(known | {str(last): config["configurable"]}))

    def append(self, message: dict[str, Any]) -> None:
        self.graph.update_state(THREAD, {"messages": [message_of(message)]}, as_node="say")

    def messages(self, config: Any = THREAD) -> list[AnyMessage]:
        return self.graph.get_state(config).values.get("messages", [])

    def history(self) -> int:
        return len(self.messages())

    def recent(self, bytes_: int) -> int:
        return drive.newest(
            self.messages(), bytes_, lambda one: len(json.dumps(one.content, ensure_ascii=False).encode())
        )

    def search(self, query: str) -> int:
        # There is no search in messages: by hand over everything.
        return sum(query in drive.text_of(one.content).lower() for one in self.messages())

    def hits(self, query: str) -> int:
        return self.search(query)

    def first(self) -> int:
        return min(1, len(self.messages()))

    def fork(self, under: int, parent: str, message: dict[str, Any]) -> Callable[[], int]:
        base = {"configurable": json.loads(self.checkpoints.read_text())[str(under)]}
        forked = self.graph.update_state(base, {"messages": [message_of(message)]}, as_node="say")
        return lambda: len(self.messages(forked))

    def close(self) -> None:
        self.connection.close()


def message_of(message: dict[str, Any]) -> AnyMessage:
    """The same content as a message of LangChain."""
    kind = HumanMessage if message["role"] == "user" else AIMessage
    return kind(id=message["id"], content=message["parts"])


if __name__ == "__main__":
    drive.run(LangGraph)
