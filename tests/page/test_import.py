"""Transcripts of other programs, dropped on the page: archives, several files, large ones, damaged ones."""

import io
import json
import struct
import time
import zipfile

import pytest

from test_page import ADDRESS, TENANT, message


def claude(count: int, text: str = "Words of Claude") -> bytes:
    """An export of so many conversations."""
    return json.dumps([
        {
            "uuid": f"c{at}",
            "name": f"Conversation {at}",
            "created_at": "2026-01-02T03:04:05Z",
            "updated_at": "2026-01-02T03:04:05Z",
            "chat_messages": [
                {"uuid": f"c{at}-1", "sender": "human", "text": f"{text} {at} [{{\\\"", "created_at": "2026-01-02T03:04:05Z"},
                {"uuid": f"c{at}-2", "sender": "assistant", "text": "An answer", "created_at": "2026-01-02T03:04:06Z"},
            ],
        }
        for at in range(count)
    ]).encode()


def chatgpt() -> bytes:
    """An export with one conversation."""
    said = {"id": "g1", "author": {"role": "user"}, "create_time": 1.0, "content": {"content_type": "text", "parts": ["Words of ChatGPT"]}}
    mapping = {
        "root": {"id": "root", "message": None, "parent": None, "children": ["g1"]},
        "g1": {"id": "g1", "message": said, "parent": "root", "children": []},
    }
    return json.dumps([{"title": "Asked once", "create_time": 1.0, "mapping": mapping, "current_node": "g1", "conversation_id": "g"}]).encode()


def archive(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return out.getvalue()


def large_archive(name: bytes, content: bytes) -> bytes:
    """A zip archive whose numbers stand where those of very large ones do."""
    most = 0xFFFFFFFF
    local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 0, 0, 0, zipfile.crc32(content), len(content), len(content), len(name), 0)
    extra = struct.pack("<HHQQQ", 1, 24, len(content), len(content), 0)
    entry = struct.pack(
        "<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 0, 0, 0, zipfile.crc32(content), most, most, len(name), len(extra), 0, 0, 0, 0, most
    ) + name + extra
    begin = local + name + content
    end = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 1, 1, len(entry), len(begin))
    locator = struct.pack("<IIQI", 0x07064B50, 0, len(begin) + len(entry), 1)
    last = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, most, most, 0)
    return begin + entry + end + locator + last


def drop(page, files: dict[str, bytes]):
    """Drops files on the page, as a hand does."""
    page.evaluate(
        """(files) => {
            const data = new DataTransfer();
            for (const [name, bytes] of files) data.items.add(new File([new Uint8Array(bytes)], name));
            for (const type of ["dragover", "drop"]) {
                document.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
            }
        }""",
        [[name, list(content)] for name, content in files.items()],
    )


def give(page, name: str, content: bytes):
    """Gives a file by the button."""
    page.locator("#files").set_input_files({"name": name, "mimeType": "", "buffer": content})


def taken(page, name: str):
    """What the page says of a file."""
    return page.get_by_role("dialog", name=f"Import into {TENANT}").locator(".taken").filter(has_text=name)


@pytest.fixture
def page(open_page):
    """The page, at a tenant without anything."""
    page = open_page(ADDRESS)
    page.get_by_text("Nothing has been said here yet.").wait_for()
    return page


def test_archives_and_several_files_are_dropped_and_opened(server, page):
    drop(page, {
        "claude.zip": archive({"users.json": b'[{"uuid":"u"}]', "projects.json": b"[]", "conversations.json": claude(3)}),
        "chatgpt.zip": archive({"x/conversations.json": chatgpt(), "chat.html": b"<html>"}, zipfile.ZIP_STORED),
        "notes.json": b'[{"id":"n1","role":"user","parts":[{"type":"text","text":"Words of a file"}]}]',
    })
    taken(page, "claude.zip").get_by_text("6 messages in 3 sessions, 1 other file left out").wait_for()
    taken(page, "chatgpt.zip").get_by_text("1 message in 1 session").wait_for()
    taken(page, "notes.json").get_by_text("1 message in 1 session").wait_for()
    titles = {session["title"] or session["id"] for session in server.call("listSessions", tenant=TENANT)["sessions"]}
    assert titles == {"Conversation 0", "Conversation 1", "Conversation 2", "Asked once", "notes"}
    page.locator("#session-list").get_by_text("Asked once").wait_for()
    taken(page, "chatgpt.zip").get_by_role("button", name="Open").click()
    message(page, "Words of ChatGPT").wait_for()
    # Once more: nothing is there twice.
    drop(page, {"claude.zip": archive({"conversations.json": claude(3)})})
    taken(page, "claude.zip").get_by_text("0 messages in 3 sessions, 6 were there already").wait_for()


def test_a_large_archive_goes_in_pieces_with_progress(server, page):
    posts, steps = [], []
    page.on("request", lambda request: posts.append(request) if "importData" in (request.post_data or "") else None)
    page.expose_function("step", lambda value: steps.append(value))
    page.evaluate(
        """() => new MutationObserver(() => {
            const bar = document.querySelector(".taken progress");
            if (bar) step(bar.value);
        }).observe(document.querySelector("#import-report"), { subtree: true, childList: true, characterData: true })"""
    )
    give(page, "large.zip", archive({"conversations.json": claude(40, "word " * 30_000)}))
    taken(page, "large.zip").get_by_text("80 messages in 40 sessions").wait_for()
    assert len(posts) >= 5, "it was sent at once"
    assert len({step for step in steps if 0 < step < 1}) >= 3, steps
    found = server.call("getMessage", tenant=TENANT, session="c39", id="c39-1")["message"]["parts"][0]["text"]
    assert found.endswith(' 39 [{\\"')


def test_an_archive_of_the_largest_kind_is_read(page):
    give(page, "largest.zip", large_archive(b"conversations.json", claude(1)))
    taken(page, "largest.zip").get_by_text("2 messages in 1 session").wait_for()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (archive({"conversations.json": claude(3)})[:-30], "its end is missing"),
        (archive({"conversations.json": claude(1)})[:200] + b"x" * 40 + archive({"conversations.json": claude(1)})[240:], ""),
        (archive({"picture.png": b"x"}), "there is no .json or .jsonl file in this archive"),
        (b"{]", "looks like none of the formats"),
        (b"", "there is nothing in this file"),
    ],
)
def test_what_cannot_be_taken_is_said(page, content, complaint):
    give(page, "wrong.bin", content)
    alert = taken(page, "wrong.bin").get_by_role("alert")
    alert.wait_for()
    assert complaint in alert.inner_text()


def test_an_import_is_stopped_and_what_was_taken_stays(server, page):
    def slow(route):
        if "importData" in (route.request.post_data or "") and route.request.post_data.count("c20") == 0:
            route.fallback()
        elif "importData" not in (route.request.post_data or ""):
            route.fallback()

    page.route("**/rpc", slow)
    give(page, "large.json", claude(40, "word " * 30_000))
    taken(page, "large.json").get_by_text(" % ").or_(taken(page, "large.json").get_by_text("%,")).first.wait_for()
    page.get_by_role("button", name="Stop").click()
    taken(page, "large.json").get_by_text("stopped; what was taken stays").wait_for()
    # The server may be busy with the last piece still; the list comes to what it has.
    deadline = time.monotonic() + 15
    while (kept := len(server.call("listSessions", tenant=TENANT)["sessions"])) != page.locator("#session-list a").count():
        assert time.monotonic() < deadline, f"{kept} sessions were kept"
        page.wait_for_timeout(100)
    assert 0 < kept < 40


def test_dragging_something_else_than_files_does_nothing(page):
    page.evaluate(
        """() => {
            const data = new DataTransfer();
            data.setData("text/plain", "words");
            document.dispatchEvent(new DragEvent("dragover", { dataTransfer: data, bubbles: true, cancelable: true }));
            document.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        }"""
    )
    assert not page.locator("#import-dialog").is_visible()
    assert page.locator("body.dropping").count() == 0
