from __future__ import annotations

import base64
import hashlib
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

import talktree
from conftest import say
from talktree import errors
from talktree.types import ImportItem

EXACT = [
    '{"id":"m","role":"user","parts":[],"n":18446744073709551616,"z":-0,"f":1.0,"e":1e3,"E":1E+3,"big":1e400}',
    r'{"id":"m","role":"user","parts":[{"type":"text","text":"\ud83d alone, \ude00 too, \u0000, \/"}]}',
    r'{"parts":[{"type":"text","text":"\u00e9 é \\u0000"}],"role":"user","id":"m"}',
    '{"id":"m","role":"user","parts":[{"a":1,"a":2}],"nested":{"b":[[[[]]]],"c":null,"d":true}}',
    '{"id":"m","role":"user","parts":[{"type":"text","text":"\u2028\u2029\x85\ufeff👩‍👩‍👧‍👦 שלום e\u0301 部署"}]}',
    '{"id":"m","role":"user","parts":[{"type":"reasoning","text":"x","providerMetadata":{"signature":"Er/+=="}}]}',
]


@pytest.mark.parametrize("text", EXACT)
def test_a_message_comes_back_byte_for_byte(session: talktree.Session, text: str) -> None:
    assert session.append_message(text).inserted
    found = session.get_message("m")
    assert found is not None
    assert found.json == text
    assert [message.json for message in session.history()] == [text]


def test_numbers_of_any_size_and_lone_surrogates_survive_as_python_values(session: talktree.Session) -> None:
    value = say("m", "half \ud83d and \udc00 of a pair")
    value["n"] = 2**200 + 1
    session.append_message(value)
    found = session.get_message("m")
    assert found is not None
    assert found.parse() == value
    assert '"half \\ud83d and \\udc00 of a pair"' in found.json


def test_a_message_tells_what_it_is_beside_its_text(session: talktree.Session) -> None:
    session.append_message(say("q", "Which port?"))
    session.append_message(say("a", "8080.", "assistant"))
    leaf = session.get_latest_leaf()
    assert leaf is not None
    assert (leaf.id, leaf.role, leaf.parent_id, leaf.seq, leaf.text) == ("a", "assistant", "q", 2, "8080.")
    assert leaf.bytes == len(leaf.json.encode())
    assert abs((datetime.now(timezone.utc) - leaf.created).total_seconds()) < 60
    assert not leaf.is_summary


def test_a_retry_writes_nothing_twice_and_tells_another_text(session: talktree.Session) -> None:
    assert session.append_message(say("m", "one")).inserted
    again = session.append_message(say("m", "one"))
    assert (again.inserted, again.conflict) == (False, False)
    other = session.append_message(say("m", "two"))
    assert (other.inserted, other.conflict) == (False, True)
    assert [message.text for message in session.history()] == ["one"]


def test_a_message_can_be_answered_twice_and_every_branch_stays(session: talktree.Session) -> None:
    session.append_message(say("q", "Which port?"))
    session.append_message(say("a1", "8080.", "assistant"))
    session.append_message(say("a2", "8443.", "assistant"), parent="q")
    session.append_message(say("r", "Another root."), parent=None)
    assert [message.id for message in session.branches("q")] == ["a1", "a2"]
    assert [message.id for message in session.branches(None)] == ["q", "r"]
    assert [message.id for message in session.history(leaf_id="a1")] == ["q", "a1"]
    assert session.set_leaf("a1") == "a1"
    assert [message.id for message in session.history()] == ["q", "a1"]
    assert [(node.id, node.children) for node in session.nodes()] == [("q", 2), ("a1", 0), ("a2", 0), ("r", 0)]
    assert [row.id for row in session.row_stats(leaf_id="a2")] == ["q", "a2"]


def test_a_chain_is_written_whole_or_not_at_all(session: talktree.Session) -> None:
    with pytest.raises(errors.InvalidMessageError):
        session.append_messages([say("a", "fine"), {"id": "b"}])
    assert session.get_latest_leaf() is None
    done = session.append_messages([say("a", "1"), say("b", "2"), say("c", "3")])
    assert [(item.id, item.inserted, item.conflict) for item in done.items] == [
        ("a", True, False),
        ("b", True, False),
        ("c", True, False),
    ]
    assert [message.parent_id for message in session.history()] == [None, "a", "b"]


def test_messages_are_updated_upserted_and_deleted(session: talktree.Session) -> None:
    session.append_messages([say("a", "1"), say("b", "2"), say("c", "3")])
    assert session.update_message(say("b", "two")) is not None
    assert session.update_message(say("nobody", "x")) is None
    assert not session.upsert_message(say("c", "three")).inserted
    assert session.upsert_message(say("d", "4")).inserted
    assert session.delete_messages(["b"], dry_run=True).deleted == 1
    assert session.delete_messages(["b", "nobody"]).deleted == 1
    assert [(m.id, m.parent_id, m.text) for m in session.history()] == [
        ("a", None, "1"),
        ("c", "a", "three"),
        ("d", "c", "4"),
    ]
    assert session.delete_messages(["a"], subtree=True).deleted == 3
    session.append_message(say("e", "5"))
    assert session.clear_messages() == 1


def test_messages_from_elsewhere_keep_their_parents_and_times(session: talktree.Session) -> None:
    assert session.import_message(say("a", "1"), parent=None, created_at=1_000)
    texts = [talktree._json.dump(say("b", "2")), talktree._json.dump(say("c", "3"))]
    assert session.import_messages([ImportItem(texts[0], "a", 2_000), ImportItem(texts[1], "a", 500)]) == [True, True]
    assert [(m.id, m.parent_id, m.created_at) for m in session.branches("a")] == [("b", "a", 2_000), ("c", "a", 500)]
    assert not session.import_message(say("a", "other"), parent=None, created_at=9)
    moment = datetime(2024, 2, 29, 12, 0, 0, 5000, tzinfo=timezone(timedelta(hours=8)))
    session.import_message(say("d", "4"), parent="a", created_at=moment)
    found = session.get_message("d")
    assert found is not None
    assert found.created == moment
    assert [hit.id for hit in session.search("4", after=moment, before=moment)] == ["d"]
    with pytest.raises(errors.InvalidArgumentError, match="time zone"):
        session.search("4", after=moment.replace(tzinfo=None))


@pytest.mark.parametrize(
    "odd",
    [
        "../../../etc/passwd", "a/b", "C:\\x", "nul\0inside", "'; DROP TABLE messages; --", " ", "\u202eabc", "部署",
        "👩‍👩‍👧‍👦", "A", "a", "é", "e\u0301", "x" * 1024, "%2e%2e", "\n", ".",
    ],
)  # fmt: skip
def test_ids_are_data_whatever_they_say(store: talktree.Store, odd: str) -> None:
    before = sorted(path.name for path in store.directory.parent.iterdir())
    chat = store.session(odd)
    chat.append_message(say(odd, "hello"))
    found = chat.get_message(odd)
    assert found is not None
    assert found.id == odd
    assert [entry.id for entry in store.sessions()] == [odd]
    assert store.session(odd + "x" if len(odd) < 1024 else "y").get_latest_leaf() is None
    assert sorted(path.name for path in store.directory.parent.iterdir()) == before
    assert {path.name.split(".")[0] for path in store.directory.iterdir()} <= {"talktree", "owner", "lock"}


def test_an_id_too_long_or_without_utf8_is_refused(store: talktree.Store, session: talktree.Session) -> None:
    with pytest.raises(errors.InvalidMessageError):
        session.append_message(say("x" * 1025, "hello"))
    with pytest.raises(errors.InvalidArgumentError):
        store.session("x" * 1025).append_message(say("m", "hello"))
    with pytest.raises(errors.InvalidArgumentError, match="surrogate"):
        session.get_message("\ud800")
    with pytest.raises(errors.InvalidArgumentError, match="surrogate"):
        session.append_message('{"id":"m","role":"user","parts":[],"x":"\ud800"}')


def test_a_large_message_comes_back_whole(session: talktree.Session) -> None:
    text = '部署 deploy \\ " ' * (20 * 1024 * 1024 // 18)
    session.append_message(say("m", text))
    found = session.get_message("m")
    assert found is not None
    assert found.bytes > 20 * 1024 * 1024
    assert found.text == text


def test_media_is_kept_once_and_read_in_pieces(store: talktree.Store, session: talktree.Session) -> None:
    data = bytes(range(256)) * 12_000
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    for number in range(3):
        part = {"type": "file", "mediaType": "image/png", "url": url}
        session.append_message({"id": f"m{number}", "role": "user", "parts": [part]})
    assert store.stats().bytes.media_bytes == len(data)
    whole = session.get_message("m0")
    assert whole is not None
    assert whole.parse()["parts"][0]["url"] == url
    bare = session.get_message("m1", media="reference")
    assert bare is not None
    assert bare.bytes < 200
    [reference] = bare.media
    assert (reference.index, reference.media_type, reference.bytes) == (0, "image/png", len(data))
    pieces = list(session.media("m1", 0))
    assert len(pieces) == 3
    assert hashlib.sha256(b"".join(pieces)).digest() == hashlib.sha256(data).digest()
    some = session.get_media("m2", 0, offset=255, length=3)
    assert (some.data, some.bytes, some.media_type) == (b"\xff\x00\x01", len(data), "image/png")


def test_reserved_metadata_is_not_a_clients_to_write(tmp_path: Path) -> None:
    with talktree.open(tmp_path, reserved_metadata_keys=["verified"]) as store:
        chat = store.session()
        message = say("m", "hello") | {"metadata": {"verified": True, "mine": 1}}
        done = chat.append_message(message, source="client")
        assert done.message is not None
        found = chat.get_message("m")
        assert found is not None
        assert found.parse()["metadata"] == {"mine": 1}
