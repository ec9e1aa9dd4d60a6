from __future__ import annotations

import json
from pathlib import Path

import talktree


def test_an_agent_edits_its_memory_with_tools(session: talktree.Session) -> None:
    session.define_block("memory", description="What to remember", max_tokens=100)
    session.define_block("soul", kind="read-only", content="You are kind.")
    tools = {tool.name: tool for tool in session.tools()}
    assert {"set_context", "session_search"} <= set(tools)
    assert tools["set_context"].schema()["properties"]["label"]["enum"] == ["memory"]
    answer = session.call_tool("set_context", {"label": "memory", "content": "Likes 部署 on Fridays."})
    assert not answer.is_error
    assert session.get_block("memory").content == "Likes 部署 on Fridays."
    again = session.call_tool("set_context", json.dumps({"label": "memory", "content": "More.", "action": "append"}))
    assert not again.is_error
    wrong = session.call_tool("set_context", "this is no JSON")
    assert wrong.is_error
    assert wrong.content.startswith("Error: ")
    assert session.call_tool("no_such_tool", {}).is_error


def test_the_prompt_stays_byte_for_byte_until_it_is_refreshed(tmp_path: Path) -> None:
    with talktree.open(tmp_path) as store:
        chat = store.session()
        chat.define_block("memory", when_changed="remind", content="one")
        frozen = chat.system_prompt()
        assert "MEMORY" in frozen
        chat.write_block("memory", "two")
        assert chat.system_prompt() == frozen
        reminder = chat.reminder()
        assert reminder is not None
        assert "two" in reminder
    with talktree.open(tmp_path) as store:
        chat = store.session()
        assert chat.system_prompt() == frozen
        assert "two" in chat.refresh_system_prompt()
        assert chat.reminder() is None


def test_blocks_have_versions_entries_and_scopes(store: talktree.Store) -> None:
    chat = store.session("a")
    chat.define_block("shared", scope="store", content="for all")
    assert [block.label for block in store.session("b").list_blocks()] == ["shared"]
    chat.define_block("notes", kind="loadable")
    noted = chat.write_block("notes", "The door is blue.", key="door", title="Door")
    assert [(entry.key, entry.title, entry.loaded) for entry in noted.entries] == [("door", "Door", False)]
    chat.define_block("plan")
    for text in ("1", "2", "3"):
        chat.write_block("plan", text)
    assert [version.content for version in chat.block_history("plan")][:3] == ["3", "2", "1"]
    assert chat.restore_block("plan", 1).content == "1"
    assert chat.remove_block("plan")
    assert not chat.remove_block("plan")
