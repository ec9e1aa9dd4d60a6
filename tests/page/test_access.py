"""The page with the keyboard alone, and for those who hear it instead of seeing it."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from conftest import says
from test_page import ADDRESS, TENANT, fill, message, until

#: What is checked: the guidelines, and what is held to be good practice.
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}

PARTS = [
    {"type": "reasoning", "text": "The table is in the manual."},
    {"type": "tool-tides", "toolCallId": "t", "state": "output-available", "input": {"day": 1}, "output": "low at nine"},
    {"type": "text", "text": "# Tides\n\n`low` at *nine*, see <https://example.org>\n\n```\nlow 9:00\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n\n- one"},
]


def scene(server):
    """A conversation with everything: a fork, a summary, parts of all kinds, blocks of memory."""
    fill(server)
    server.call("appendMessage", tenant=TENANT, session="", message={"id": "p", "role": "assistant", "parts": PARTS})
    server.call("appendMessage", tenant=TENANT, session="", message=says("b", "assistant", "Otherwise"), parentId="m4")
    server.call("setLeaf", tenant=TENANT, session="", id="p")
    server.call("addCompaction", tenant=TENANT, session="", summary="They spoke.", firstId="m0", lastId="m1")
    server.call("defineBlock", tenant=TENANT, session="", label="facts", description="What holds", content="one", maxTokens=50)
    server.call("writeBlock", tenant=TENANT, session="", label="facts", content="two")
    server.call("defineBlock", tenant=TENANT, session="", label="notes", kind="searchable")
    server.call("writeBlock", tenant=TENANT, session="", label="notes", key="k", title="A note", content="text")


def check(page):
    """Has axe look at the page, and fails with what it has to complain of."""
    found = Axe().run(page, options=RULES).response["violations"]
    nodes = [f"{one['impact']} {one['id']}: {one['help']}: {node['html'][:200]}" for one in found for node in one["nodes"]]
    assert nodes == [], "\n".join(nodes)


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_view(server, open_page, scheme, width):
    scene(server)
    page = open_page(ADDRESS, color_scheme=scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 800})
    message(page, "Tides").wait_for()
    page.get_by_label("Branch", exact=True).wait_for()
    for summary in message(page, "Tides").locator("summary").all():
        summary.click()
    check(page)
    page.get_by_role("tab", name="Tree").click()
    page.get_by_role("application").wait_for()
    check(page)
    page.get_by_role("tab", name="Memory").click()
    page.get_by_text("Earlier versions").first.click()
    page.get_by_role("button", name="Restore version 1").wait_for()
    check(page)
    if width == 360:
        page.get_by_role("button", name="Sessions").click()
    page.locator("#files").set_input_files({"name": "a.json", "mimeType": "application/json", "buffer": b"{]"})
    page.get_by_role("dialog").get_by_role("alert").wait_for()
    page.get_by_label("Search").fill("harbour")
    page.locator("#found mark").first.wait_for()
    check(page)


def test_every_control_is_reached_by_tab_and_shows_the_focus(server, open_page):
    scene(server)
    page = open_page(ADDRESS)
    message(page, "Tides").locator(".text").wait_for()
    seen = []
    rounds = 0
    for _ in range(160):
        page.keyboard.press("Tab")
        name, ring = page.evaluate(
            """() => {
                const at = document.activeElement;
                const ring = (one) => one && getComputedStyle(one);
                const boxes = [at, at.closest(".button"), at.closest(".box")].map(ring).filter(Boolean);
                const shown = boxes.some((box) => (box.outlineStyle !== "none" && box.outlineWidth !== "0px") || box.boxShadow !== "none");
                return [`${at.tagName} ${at.id || at.dataset.name || at.ariaLabel || at.textContent.trim().slice(0, 30)}`, shown];
            }"""
        )
        if name.startswith("BODY"):
            # Where the first round begins is the browser's choice: what was drawn anew meanwhile is left out.
            rounds += 1
            if rounds == 2:
                break
            continue
        assert ring, f"nothing shows that {name} has the focus"
        seen.append(name)
    for wanted in ["A Skip to the conversation", "INPUT tenant", "INPUT query", "BUTTON new-session", "INPUT files",
                   "BUTTON tab-conversation", "BUTTON Export", "SELECT branches", "BUTTON edit", "BUTTON answer", "TEXTAREA text"]:
        assert wanted in seen, f"{wanted} is not among {seen}"


def test_escape_leaves_what_was_begun(server, open_page):
    scene(server)
    page = open_page(ADDRESS)
    message(page, "Message 4 about").get_by_role("button", name="Edit as a new branch").press("Enter")
    page.get_by_label("Edited message").press("Escape")
    page.get_by_label("New message").wait_for()
    search = page.get_by_label("Search")
    search.fill("harbour")
    page.locator("#found a").first.wait_for()
    search.press("Escape")
    page.locator("#session-list a").first.wait_for()
    assert search.input_value() == ""
    page.locator("#files").set_input_files({"name": "a.json", "mimeType": "application/json", "buffer": b"{]"})
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")


def test_a_branch_is_switched_and_switched_back_without_losing_the_focus(server, open_page):
    scene(server)
    page = open_page(ADDRESS)
    message(page, "Message 5 about").get_by_role("button", name="Answer after this one").press("Enter")
    message(page, "Otherwise").locator(".text").wait_for()
    until(page, "document.activeElement.closest('article')?.textContent.includes('Otherwise')")
    message(page, "Otherwise").get_by_role("button", name="Answer before this one").press("Enter")
    message(page, "Message 5 about").locator(".text").wait_for()
    until(page, "document.activeElement.closest('article')?.textContent.includes('Message 5 about')")


def test_the_tabs_and_the_tree_go_by_arrows(server, open_page):
    scene(server)
    page = open_page(ADDRESS)
    message(page, "Tides").locator(".text").wait_for()
    page.get_by_role("tab", name="Conversation").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("tab", name="Tree").get_attribute("aria-selected") == "true"
    page.get_by_role("application").focus()
    said = page.locator(".tree-said")
    page.keyboard.press("End")
    assert "a leaf" in said.inner_text()
    page.keyboard.press("PageUp")
    assert said.inner_text().startswith("user, 1 answer: Message 0")
    page.keyboard.press("PageDown")
    assert "a leaf" in said.inner_text()
    page.keyboard.press("-")
    page.keyboard.press("+")
    page.keyboard.press("Enter")
    until(page, "document.activeElement.textContent.includes('Tides')")
