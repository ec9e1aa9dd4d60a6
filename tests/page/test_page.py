"""The page, in a real browser: everything that a person can do with it, and everything that a message can try."""

import json
import re
import time

import pytest

from conftest import Server, says

TENANT = "easy:test1"
ADDRESS = "#easy%3Atest1/"


def fill(server, count=6, session="", tenant=TENANT):
    """A conversation of so many messages."""
    messages = [says(f"m{at}", "assistant" if at % 2 else "user", f"Message {at} about the harbour") for at in range(count)]
    for at in range(0, count, 500):
        server.call("appendMessages", tenant=tenant, session=session, messages=messages[at:at + 500])


def until(page, expression):
    """Waits until this is true. Asked from outside, since the page's policy lets nothing be evaluated inside."""
    deadline = time.monotonic() + 15
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, expression
        page.wait_for_timeout(50)


def say(page, text):
    """Types a message and sends it."""
    box = page.get_by_label("New message")
    box.fill(text)
    box.press("Enter")


def told(page, text):
    """Says something, and waits for the whole answer."""
    say(page, text)
    message(page, f"You said: {text}").wait_for()
    until(page, "document.querySelector('#messages').ariaBusy === 'false'")


def message(page, text):
    """The element of the message that says this."""
    return page.get_by_role("article").filter(has_text=text)


def test_a_conversation_is_shown_from_its_end_with_its_sessions_and_tokens(server, open_page):
    fill(server)
    server.call("setTitle", tenant=TENANT, session="", title="The harbour")
    page = open_page(ADDRESS)
    message(page, "Message 5 about").wait_for()
    assert page.get_by_role("heading", name="The harbour").is_visible()
    assert page.locator("#session-list").get_by_text("The harbour").is_visible()
    assert "6 messages" in page.locator("#window").inner_text()
    assert page.get_by_role("meter").is_visible()
    assert message(page, "Message 5 about").get_by_text("tokens").is_visible()


@pytest.fixture
def compacting(tmp_path):
    """A server whose conversations are summarised soon."""
    server = Server(tmp_path, "--chat-model", "scripted", "--chat-compact-after", "1500")
    yield server
    server.stop()


def test_the_tutorial_two_messages_remembered_and_another_user_knows_nothing(server, open_page):
    page = open_page("#easy%3Atutorial/")
    told(page, "My name is Ada.")
    say(page, "What is my name?")
    message(page, "Before that you have told me").get_by_text("My name is Ada.").wait_for()
    other = open_page("#other%3Atutorial/")
    other.get_by_text("Nothing has been said here yet.").wait_for()
    told(other, "What is my name?")
    assert other.locator(".text", has_text="Ada").count() == 0
    other.get_by_label("Search").fill("Ada")
    other.get_by_text("Nothing was found").wait_for()


def test_the_tutorial_fork_retry_and_the_next_message_goes_on_from_the_branch(server, open_page):
    page = open_page("#easy%3Atutorial/")
    for text in ["My name is Ada.", "What is my name?"]:
        told(page, text)
    # Another answer, and back to the first.
    message(page, "You said: What is").get_by_role("button", name="Regenerate").click()
    menu = page.get_by_label("Branch", exact=True)
    menu.wait_for()
    first, second = menu.locator("option").evaluate_all("options => options.map(option => option.value)")
    assert menu.input_value() == second
    menu.select_option(first)
    until(page, f"document.querySelector('.fork select')?.value === {json.dumps(first)}")
    assert server.call("getLatestLeaf", tenant="easy:tutorial")["message"]["id"] == first
    # The next message goes on from there.
    told(page, "Thank you.")
    history = server.call("getHistory", tenant="easy:tutorial")["messages"]
    assert first in [one["id"] for one in history] and second not in [one["id"] for one in history]
    # The first question as another one: a branch from the root, with its own menu.
    message(page, "My name is Ada.").first.get_by_role("button", name="Edit as a new branch").click()
    page.get_by_label("Edited message").fill("My name is Grace.")
    page.keyboard.press("Enter")
    message(page, "You said: My name is Grace.").wait_for()
    assert page.locator(".text", has_text="Ada").count() == 0
    assert len(server.call("getBranches", tenant="easy:tutorial", id=None)["messages"]) == 2


def test_the_tutorial_search_finds_chinese(server, open_page):
    page = open_page("#easy%3Atutorial/")
    told(page, "请写一个教程")
    page.get_by_label("Search").fill("教程")
    page.locator("#found mark").first.wait_for()
    assert set(page.locator("#found mark").all_inner_texts()) == {"教程"}
    page.locator("#found a").first.click()
    until(page, "document.activeElement.textContent.includes('教程') && document.activeElement.role === 'article' || "
                "document.activeElement.tagName === 'ARTICLE'")


def test_the_tutorial_compaction_with_its_lines_in_the_log(compacting, open_page_of):
    compacting.call("configure", tenant="easy:tutorial", session="", keepRecentTokens=300)
    page = open_page_of(compacting, "#easy%3Atutorial/")
    for number in range(8):
        told(page, f"Message {number} about " + "the harbour and the ferry " * 9 + "again")
    fold = page.get_by_role("article", name="Summary of").first
    until(page, "[...document.querySelectorAll('article')].some(one => one.ariaLabel?.startsWith('Summary of')) || "
                "(document.querySelector('#messages').scrollTop = 0, false)")
    fold.get_by_role("button", name="original messages").click()
    message(page, "Message 0 about").first.wait_for()
    deadline = time.monotonic() + 10
    while "compacted" not in compacting.log.read_text():
        assert time.monotonic() < deadline, compacting.log.read_text()
        time.sleep(0.1)


def test_a_fork_has_a_menu_that_switches_the_branch_for_the_next_message_too(server, open_page):
    fill(server)
    server.call("appendMessage", tenant=TENANT, session="", message=says("b", "assistant", "Another answer"), parentId="m0")
    server.call("setLeaf", tenant=TENANT, session="", id="m5")
    page = open_page(ADDRESS)
    menu = page.get_by_label("Branch", exact=True)
    menu.wait_for()
    assert menu.locator("option").all_inner_texts() == ["1 of 2: Message 1 about the harbour", "2 of 2: Another answer"]
    menu.select_option("b")
    message(page, "Another answer").locator(".text").wait_for()
    message(page, "Message 5 about").wait_for(state="detached")
    assert server.call("getLatestLeaf", tenant=TENANT, session="")["message"]["id"] == "b"


def test_a_message_is_edited_as_a_new_branch(server, open_page):
    fill(server, 3)
    page = open_page(ADDRESS)
    message(page, "Message 2 about").get_by_role("button", name="Edit as a new branch").click()
    box = page.get_by_label("Edited message")
    assert box.input_value() == "Message 2 about the harbour"
    box.fill("Message 2, edited")
    page.get_by_role("button", name="Send").click()
    message(page, "You said: Message 2, edited").wait_for()
    branches = server.call("getBranches", tenant=TENANT, session="", id="m1")["messages"]
    assert [branch["parts"][0]["text"] for branch in branches] == ["Message 2 about the harbour", "Message 2, edited"]


def test_a_summary_is_a_folded_stretch_that_opens_to_the_originals(server, open_page):
    fill(server)
    server.call("addCompaction", tenant=TENANT, session="", summary="They spoke about **ferries**.", firstId="m1", lastId="m3")
    page = open_page(ADDRESS)
    fold = page.get_by_label("Summary of 3 messages")
    fold.get_by_text("ferries").wait_for()
    assert message(page, "Message 2 about").count() == 0
    fold.get_by_role("button", name="Show 3 original messages").click()
    message(page, "Message 2 about").wait_for()
    page.get_by_label("Summary of 3 messages").get_by_role("button", name="Hide the originals").click()
    message(page, "Message 2 about").wait_for(state="detached")


def test_the_tree_is_a_picture_that_the_keyboard_walks(server, open_page):
    fill(server)
    server.call("appendMessage", tenant=TENANT, session="", message=says("b", "assistant", "Another answer"), parentId="m0")
    page = open_page(ADDRESS)
    message(page, "Another answer").wait_for()
    page.get_by_role("tab", name="Tree").click()
    tree = page.get_by_role("application")
    tree.focus()
    said = page.locator(".tree-said")
    page.keyboard.press("Home")
    assert said.inner_text().startswith("user, 2 answers: Message 0")
    page.keyboard.press("ArrowDown")
    assert "answer 2 of 2, a leaf: Another answer" in said.inner_text()
    page.keyboard.press("ArrowLeft")
    assert "answer 1 of 2, 1 answer: Message 1" in said.inner_text()
    page.keyboard.press("Enter")
    message(page, "Message 1 about").wait_for()


def test_memory_is_shown_changed_and_restored(server, open_page):
    fill(server)
    server.call("defineBlock", tenant=TENANT, session="", label="facts", description="What holds", content="one")
    server.call("writeBlock", tenant=TENANT, session="", label="facts", content="two")
    page = open_page(ADDRESS)
    page.get_by_role("tab", name="Memory").click()
    content = page.get_by_label("Content of facts")
    assert content.input_value() == "two"
    content.fill("three")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("version 3").wait_for()
    page.get_by_text("Earlier versions").click()
    page.get_by_role("button", name="Restore version 1").click()
    page.get_by_text("version 4").wait_for()
    assert server.call("getBlock", tenant=TENANT, session="", label="facts")["block"]["content"] == "one"


def test_what_somebody_writes_into_memory_is_not_written_over(server, open_page):
    fill(server)
    server.call("defineBlock", tenant=TENANT, session="", label="facts", content="one")
    page = open_page(ADDRESS)
    page.get_by_role("tab", name="Memory").click()
    content = page.get_by_label("Content of facts")
    content.fill("mine")
    server.call("writeBlock", tenant=TENANT, session="", label="facts", content="theirs")
    page.get_by_text("Memory was changed elsewhere.").wait_for()
    assert content.input_value() == "mine"
    # Nor is theirs.
    page.get_by_role("button", name="Save").click()
    page.get_by_role("alert").filter(has_text="version").wait_for()
    assert server.call("getBlock", tenant=TENANT, session="", label="facts")["block"]["content"] == "theirs"
    page.get_by_role("button", name="Discard").click()
    until(page, "document.querySelector('#memory textarea').value === 'theirs'")


def test_notes_of_a_block_are_listed_with_their_size(server, open_page):
    fill(server)
    server.call("defineBlock", tenant=TENANT, session="", label="notes", kind="loadable")
    page = open_page(ADDRESS)
    page.get_by_role("tab", name="Memory").click()
    page.get_by_text("There are no entries yet.").wait_for()
    # What an agent writes is seen without a click.
    server.call("writeBlock", tenant=TENANT, session="", label="notes", key="k", title="The ferry", content="It leaves at nine.")
    page.get_by_role("listitem").filter(has_text="The ferry").get_by_text("tokens").wait_for()


def test_two_tabs_are_in_step(server, open_page):
    fill(server, 2)
    one, two = open_page(ADDRESS), open_page(ADDRESS)
    message(two, "Message 1 about").wait_for()
    message(one, "Message 1 about").wait_for()
    one.get_by_label("New message").fill("Said in the first tab")
    one.get_by_role("button", name="Send").click()
    message(two, "You said: Said in the first tab").wait_for()
    server.call("setTitle", tenant=TENANT, session="", title="Renamed elsewhere")
    two.get_by_role("heading", name="Renamed elsewhere").wait_for()
    server.call("updateMessage", tenant=TENANT, session="", message=says("m1", "assistant", "Edited elsewhere"))
    message(one, "Edited elsewhere").wait_for()


def test_ten_thousand_messages_scroll_as_ten(server, open_page):
    fill(server, 10_000)
    began = time.monotonic()
    page = open_page(ADDRESS)
    message(page, "Message 9999 about").wait_for()
    assert time.monotonic() - began < 10, "the end of a long conversation was long in coming"
    assert page.get_by_role("article").count() < 60
    # Reading pages in the background does not keep the first message away.
    page.locator("#messages").evaluate("view => view.scrollTo(0, 0)")
    message(page, "Message 0 about").wait_for()
    message(page, "Message 0 about").focus()
    page.keyboard.press("PageDown")
    until(page, "document.activeElement.getAttribute('aria-posinset') === '2'")
    page.keyboard.press("Control+End")
    until(page, "document.activeElement.getAttribute('aria-posinset') === '10000'")
    page.get_by_role("tab", name="Tree").click()
    until(page, "document.querySelector('.space').offsetHeight > 100000")
    view = page.get_by_role("application")
    took = view.evaluate(
        """async (view) => {
            const began = performance.now();
            for (let step = 0; step < 60; step += 1) {
                view.scrollTop = step * 2000;
                await new Promise(requestAnimationFrame);
            }
            return (performance.now() - began) / 60;
        }"""
    )
    assert took < 100, f"a step of scrolling takes {took} ms"


HOSTILE = [
    "<script>document.title = 'owned'</script>",
    "<img src=x onerror=\"document.title = 'owned'\">",
    "<style>body { display: none }</style><iframe src='javascript:alert(1)'></iframe>",
    "[click](javascript:document.title='owned') [data](data:text/html,<script>1</script>) ![x](http://127.0.0.1:9/x.png)",
    "</div></article><h1 onclick=alert(1)>out</h1>",
    "\u202etxet desrever \u2066 \u0000 مرحبا",
    "`" * 20_000,
    "[" * 20_000,
    "*" * 20_000,
    "> " * 5_000 + "deep",
    "- " * 5_000 + "deep",
    "x" * 300_000,
    "| a " * 5_000 + "\n" + "|---" * 5_000,
]


def test_no_message_is_ever_more_than_text(server, open_page):
    for at, text in enumerate(HOSTILE):
        server.call("appendMessage", tenant=TENANT, session="", message=says(f"<b>{at}</b>\"'", "<i>role</i>", text))
    parts = [{"type": "<script>", "x": "</pre><script>document.title='owned'</script>"}, 7, None,
             {"type": "tool-<b>", "input": {"</code>": "<script>"}, "output": "<img src=x>"},
             {"type": "file", "mediaType": "text/html", "url": "data:text/html,<script>1</script>", "filename": "<b>"},
             {"type": "file", "mediaType": "image/svg+xml", "url": "data:image/svg+xml,<svg onload=alert(1)>"},
             {"type": "source-url", "url": "javascript:alert(1)", "title": "<b>"}]
    server.call("appendMessage", tenant=TENANT, session="", message={"id": "p", "role": "assistant", "parts": parts})
    server.call("setTitle", tenant=TENANT, session="", title="<img src=x onerror=alert(1)>\u202e")
    page = open_page(ADDRESS)
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    message(page, "tool-").or_(message(page, "Tool <b>")).first.wait_for()
    for summary in page.locator("details summary").all():
        summary.click()
    for at in range(len(HOSTILE)):
        page.locator("#messages").evaluate(f"view => view.scrollTo(0, view.scrollHeight * {at} / {len(HOSTILE)})")
        page.wait_for_timeout(60)
    assert "owned" not in page.title()
    for wrong in ["script", "iframe", "style", "object", "embed", "svg", "img", "[onclick]", "[onerror]", "[style*=display]"]:
        assert page.locator(f"#messages {wrong}").count() == 0, wrong
    assert all(
        address.startswith(("http:", "https:", "mailto:"))
        for address in page.locator("#messages a").evaluate_all("links => links.map(link => link.href)")
    )
    assert page.locator("body").is_visible()
    page.get_by_role("tab", name="Tree").click()
    page.get_by_role("application").wait_for()


def test_pictures_are_shown_and_come_from_the_store(server, open_page):
    dot = "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg=="
    parts = [{"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{dot}", "filename": "dot.png"}]
    server.call("appendMessage", tenant=TENANT, session="", message={"id": "p", "role": "user", "parts": parts})
    page = open_page(ADDRESS)
    picture = page.get_by_role("img", name="dot.png")
    picture.wait_for()
    until(page, "document.querySelector('.body img').naturalWidth === 5")


def test_markdown_becomes_elements(server, open_page):
    text = "# Title\n\nSome **bold** and `code`.\n\n- one\n- two\n  - inner\n\n```rust\nlet x = \"<b>\";\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    server.call("appendMessage", tenant=TENANT, session="", message=says("m", "assistant", text))
    page = open_page(ADDRESS)
    body = page.locator(".message .text")
    body.get_by_role("heading", name="Title").wait_for()
    assert body.locator("strong").inner_text() == "bold"
    assert body.locator("li li").inner_text() == "inner"
    assert body.locator("pre code").inner_text() == 'let x = "<b>";'
    assert body.locator("td").all_inner_texts() == ["1", "2"]


def test_a_session_is_exported_with_all_its_branches(server, open_page):
    fill(server, 2)
    server.call("appendMessage", tenant=TENANT, session="", message=says("b", "assistant", "Another answer"), parentId="m0")
    page = open_page(ADDRESS)
    message(page, "Another answer").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    lines = download.value.path().read_text().splitlines()
    assert sum("about the harbour" in line or "Another answer" in line for line in lines) == 3


def test_a_search_leads_to_the_message_also_on_another_branch(server, open_page):
    fill(server)
    server.call("appendMessage", tenant=TENANT, session="", message=says("b", "assistant", "A lighthouse"), parentId="m0")
    server.call("setLeaf", tenant=TENANT, session="", id="m5")
    page = open_page(ADDRESS)
    message(page, "Message 5 about").wait_for()
    page.get_by_label("Search").fill("lighthouse")
    page.locator("#found a").click()
    message(page, "A lighthouse").locator(".text").wait_for()
    until(page, "document.activeElement.textContent.includes('A lighthouse')")


def test_a_new_message_on_another_branch_is_told_and_does_not_move_the_reader(server, open_page):
    fill(server)
    page = open_page(ADDRESS)
    message(page, "Message 5 about").wait_for()
    server.call("appendMessage", tenant=TENANT, session="", message=says("b", "assistant", "Elsewhere"), parentId="m2")
    page.get_by_text("There is a new message on another branch.").wait_for()
    assert message(page, "Message 5 about").is_visible()
    page.get_by_role("button", name="Show it").click()
    message(page, "Elsewhere").locator(".text").wait_for()


def test_what_is_added_is_taken_from_the_feed_and_nothing_is_read_twice(server, open_page):
    fill(server, 30)
    asked = []
    page = open_page()
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: asked.append(json.loads(frame)["method"])))
    page.goto(f"{server.url}/{ADDRESS}")
    page.reload()
    message(page, "Message 29 about").locator(".tokens").wait_for()
    until(page, "document.querySelector('#export button')")
    asked.clear()
    say(page, "What comes next?")
    message(page, "You said: What comes next?").locator(".tokens").wait_for()
    server.call("appendMessage", tenant=TENANT, session="", message=says("x", "user", "From elsewhere"))
    message(page, "From elsewhere").locator(".tokens").wait_for()
    assert "getHistoryRowStats" not in asked and "listMessages" not in asked, asked
    # One reading for each of the three new messages.
    assert asked.count("getMessage") == 3, asked
    assert "33 messages" in page.locator("#window").inner_text()


def test_what_is_opened_stays_open_when_something_is_added(server, open_page):
    fill(server, 2)
    page = open_page(ADDRESS)
    message(page, "Message 1 about").get_by_text("JSON").click()
    opened = message(page, "Message 1 about").locator("details[open] pre")
    opened.wait_for()
    server.call("appendMessage", tenant=TENANT, session="", message=says("x", "user", "From elsewhere"))
    message(page, "From elsewhere").locator(".text").wait_for()
    assert opened.is_visible()


def test_a_question_without_an_answer_is_tried_again(server, open_page):
    server.call("appendMessage", tenant=TENANT, session="", message=says("q", "user", "Is anybody there?"))
    page = open_page(ADDRESS)
    message(page, "Is anybody there?").get_by_role("button", name="Retry").click()
    message(page, "You said: Is anybody there?").wait_for()
    message(page, "You said").get_by_role("button", name="Regenerate").wait_for()
    assert len(server.call("getHistory", tenant=TENANT, session="")["messages"]) == 2


def test_a_new_session_is_begun(server, open_page):
    fill(server, 2)
    page = open_page(ADDRESS)
    message(page, "Message 1 about").wait_for()
    page.get_by_role("button", name="New", exact=True).click()
    page.get_by_text("Nothing has been said here yet.").wait_for()
    told(page, "Something new")
    sessions = server.call("listSessions", tenant=TENANT)["sessions"]
    assert sorted(session["messages"] for session in sessions) == [2, 2]
    until(page, "document.querySelectorAll('#session-list a').length === 2")


def test_another_session_is_shown_and_its_keys_are_its_own(server, open_page):
    fill(server)
    fill(server, 4, session="other")
    page = open_page(ADDRESS)
    message(page, "Message 5 about").wait_for()
    page.locator("#session-list a", has_text="other").click()
    message(page, "Message 5 about").wait_for(state="detached")
    message(page, "Message 1 about").focus()
    page.keyboard.press("PageDown")
    until(page, "document.activeElement.getAttribute('aria-posinset') === '3'")


def test_the_page_goes_on_after_the_server_was_away(server, open_page):
    fill(server, 2)
    page = open_page(ADDRESS)
    message(page, "Message 1 about").wait_for()
    server.restart()
    server.call("appendMessage", tenant=TENANT, session="", message=says("late", "user", "Said meanwhile"))
    message(page, "Said meanwhile").wait_for()


@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_sticks_out_narrow_or_wide_light_or_dark(server, open_page, width, scheme):
    fill(server)
    page = open_page(ADDRESS, color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 700})
    message(page, "Message 5 about").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    back, text = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    assert (brightness(back) > brightness(text)) == (scheme == "light")
    if width == 360:
        page.get_by_role("button", name="Sessions").click()
        assert page.locator("#session-list").is_visible()


def brightness(colour: str) -> int:
    """The sum of the three colours."""
    return sum(int(number) for number in re.findall(r"\d+", colour)[:3])
