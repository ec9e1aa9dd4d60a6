"""The checks of the tutorial, against the running program."""

import json
import socket
import time
import urllib.error

import pytest

from conftest import Server, says, text_of


def test_two_messages_are_remembered_and_another_user_knows_nothing(server):
    server.chat("easy", "test1", "My name is Ada.")
    assert "My name is Ada." in text_of(server.chat("easy", "test1", "What is my name?"))
    assert "Ada" not in text_of(server.chat("other", "test1", "What is my name?"))
    assert "Ada" not in text_of(server.chat("easy", "test2", "What is my name?"))
    assert set(server.call("listTenants")["tenants"]) == {"easy:test1", "easy:test2", "other:test1"}


def test_a_colon_in_a_user_is_refused_since_two_users_could_meet(server):
    with pytest.raises(urllib.error.HTTPError) as refused:
        server.chat("easy:a", "b", "Hello")
    assert refused.value.code == 400


def test_the_answer_is_a_stream_that_the_ai_sdk_reads_and_is_stored_as_it_was_sent(server):
    message = says("u1", "user", "Hello")
    events = server.chat("easy", "c", {"message": message})
    types = [event["type"] for event in events]
    assert types[:3] == ["start", "start-step", "text-start"] and types[-2:] == ["finish-step", "finish"]
    stored = server.call("getLatestLeaf", tenant="easy:c")["message"]
    assert stored["id"] == events[0]["messageId"]
    assert stored["parts"] == [{"type": "text", "text": text_of(events)}]
    assert server.call("getMessage", tenant="easy:c", id="u1")["message"] == message


def test_a_retry_tells_the_same_answer_and_stores_nothing_twice(server):
    message = {"message": says("u1", "user", "Hello")}
    first = server.chat("easy", "c", message)
    again = server.chat("easy", "c", message)
    assert (text_of(again), again[0]["messageId"]) == (text_of(first), first[0]["messageId"])
    assert len(server.call("getHistory", tenant="easy:c")["messages"]) == 2


def test_any_message_can_be_answered_again_and_the_branch_gone_on_with(server):
    server.chat("easy", "c", {"message": says("u1", "user", "First")})
    first = server.chat("easy", "c", {"message": says("u2", "user", "Second")})[0]["messageId"]
    second = server.chat("easy", "c", {"trigger": "regenerate-message", "messageId": first})[0]["messageId"]
    branches = server.call("getBranches", tenant="easy:c", id="u2")["messages"]
    assert [branch["id"] for branch in branches] == [first, second]
    # Edited: another message in the place of the second.
    server.chat("easy", "c", {"message": says("u2b", "user", "Other"), "parentId": branches and
                              server.call("getMessage", tenant="easy:c", id="u2")["parentId"]})
    server.call("setLeaf", tenant="easy:c", id=first)
    text = text_of(server.chat("easy", "c", "Third"))
    assert "Second" in text and "Other" not in text


def test_memory_and_notes_are_written_by_the_model_and_found(server):
    server.chat("easy", "c", "remember: deploys happen on Fridays")
    server.chat("easy", "c", "note: harbour | The ferry leaves at nine.")
    found = server.chat("easy", "c", "look up: ferry")
    assert any("ferry" in event.get("output", "") for event in found), found
    blocks = {block["label"]: block for block in server.call("listBlocks", tenant="easy:c")["blocks"]}
    assert "deploys happen on Fridays" in blocks["memory"]["content"]
    assert [entry["key"] for entry in blocks["notes"]["entries"]] == ["harbour"]
    prompt = server.call("refreshSystemPrompt", tenant="easy:c")["prompt"]
    assert "deploys happen on Fridays" in prompt


def test_chinese_is_found(server):
    server.chat("easy", "c", "请写一个教程")
    server.chat("easy", "c", "Something else")
    results = server.call("search", tenant="easy:c", query="教程")["results"]
    assert any("教程" in result["content"] for result in results)


def test_long_conversations_are_compacted_by_themselves_with_lines_in_the_log(tmp_path):
    server = Server(tmp_path, "--chat-model", "scripted", "--chat-compact-after", "2000")
    server.call("configure", tenant="easy:c", session="", keepRecentTokens=300)
    for number in range(12):
        server.chat("easy", "c", f"Message {number} about " + "the harbour and the ferry " * 8)
    deadline = time.monotonic() + 20
    while not server.call("getCompactions", tenant="easy:c")["compactions"]:
        assert time.monotonic() < deadline, "nothing was compacted"
        time.sleep(0.1)
    read = server.call("getHistory", tenant="easy:c")["messages"]
    assert any(message["id"].startswith("compaction_") for message in read)
    assert len(server.call("getHistory", tenant="easy:c", overlays=False)["messages"]) == 24
    assert server.stop() == 0
    assert "compacted" in server.log.read_text()


def test_an_answer_whose_client_goes_away_is_kept_and_marked(tmp_path):
    # A model that says something, and then nothing for a long time.
    with socket.create_server(("127.0.0.1", 0)) as model:
        address = f"openai:http://127.0.0.1:{model.getsockname()[1]}/v1#m"
        server = Server(tmp_path, "--chat-model", address)
        body = json.dumps({"message": says("u1", "user", "Hello")})
        client = socket.create_connection(("127.0.0.1", int(server.url.rsplit(":", 1)[1])))
        client.sendall(
            f"POST /api/chat?user=easy&conversation=c HTTP/1.1\r\nhost: 127.0.0.1\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()
        )
        asked, _ = model.accept()
        delta = json.dumps({"choices": [{"delta": {"content": "It begins"}}]})
        asked.recv(1 << 16)
        asked.sendall(f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {delta}\n\n".encode())
        seen = b""
        while b"It begins" not in seen:
            seen += client.recv(4096)
        client.close()
        deadline = time.monotonic() + 20
        while (leaf := server.call("getLatestLeaf", tenant="easy:c")["message"])["role"] != "assistant":
            assert time.monotonic() < deadline, "the partial answer was not stored"
            time.sleep(0.1)
        asked.close()
    assert leaf["parts"] == [{"type": "text", "text": "It begins"}]
    assert leaf["metadata"] == {"partial": True}
    assert server.stop() == 0


def test_a_model_that_fails_is_said_without_its_words(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    server = Server(tmp_path, "--chat-model", f"openai:http://127.0.0.1:{port}/v1#m")
    events = server.chat("easy", "c", "Hello")
    assert events[-1] == {"type": "error", "errorText": "the model's server cannot be reached"}
    # The user's message is there, and can be answered again.
    assert server.call("getLatestLeaf", tenant="easy:c")["message"]["role"] == "user"
    assert server.stop() == 0


def test_without_a_model_the_address_says_so(tmp_path):
    server = Server(tmp_path)
    with pytest.raises(urllib.error.HTTPError) as refused:
        server.chat("easy", "c", "Hello")
    assert refused.value.code == 404 and "--chat-model" in refused.value.read().decode()
    assert server.stop() == 0
