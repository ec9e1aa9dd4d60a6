"""Takes the pictures of the page that README.md shows: `python tests/page/picture.py`, with `TALKTREE`, `CHROMIUM` and the
packages of the tests, and with the Debian packages `fonts-inter` and `fonts-noto-cjk`, so that they look the same everywhere.
"""

import pathlib
import tempfile

from playwright.sync_api import sync_playwright

import conftest
from conftest import Server, says

TENANT = "ada:workshop"
SESSION = "export"
PICTURES = pathlib.Path(__file__).parents[2] / "docs" / "pictures"

FIRST = [
    ("user", "The nightly export takes four hours since last week. Where do I begin?"),
    ("assistant", "Two questions first: did the number of rows grow, and does it run beside something new?"),
    ("user", "Same number of rows, and it runs alone."),
    ("assistant", "Then it is most likely the plan of the query. Can you run `explain (analyze, buffers)` on it?"),
]
SUMMARY = "The nightly export went from 8 minutes to four hours. Rows are **the same**, nothing runs beside it; the plan of the query is suspected."
PLAN = "Here is the plan: a sequential scan on `orders`, 3 h 50 min of it."
CALL = {"sql": "select indexdef from pg_indexes where tablename = 'orders'"}
DIAGNOSIS = """The index on `exported_at` is gone. The migration of Tuesday dropped it with the old column.

| step | last week | now |
| --- | --- | --- |
| scan of `orders` | 2 s | 3 h 50 min |
| writing the file | 8 min | 8 min |

A partial one comes back while others go on writing:

```sql
create index concurrently orders_unexported
    on orders (id) where exported_at is null;
```"""
OTHERS = [
    ("Timetable of the ferry", "When does the last ferry leave on Sundays?"),
    ("Lifetimes in Rust, once more", "Why does this closure not live long enough?"),
    ("翻译教程", "请把这个教程翻译成英文。"),
    ("Dinner for eight", "Something without nuts, please."),
    ("Release notes 2.4", "Turn these commits into release notes."),
    ("Refactor the parser", "Where would you cut this module?"),
    ("Interview questions", "Five questions about databases."),
]


def converse(server: Server):
    """A conversation with a summary, a tool call and a fork, and others around it."""

    def add(id, role, parts, session=SESSION, **options):
        message = says(id, role, parts) if isinstance(parts, str) else {"id": id, "role": role, "parts": parts}
        server.call("appendMessage", tenant=TENANT, session=session, message=message, **options)

    for number, (title, text) in enumerate(reversed(OTHERS)):
        add("q", "user", text, session=f"other-{number}")
        server.call("setTitle", tenant=TENANT, session=f"other-{number}", title=title)
    for number, (role, text) in enumerate(FIRST):
        add(f"first-{number}", role, text)
    server.call("setTitle", tenant=TENANT, session=SESSION, title="The slow export")
    add("plan", "user", PLAN)
    call = {"type": "tool-query", "toolCallId": "call", "state": "output-available", "input": CALL, "output": "orders_pkey"}
    add("guess", "assistant", "Is autovacuum behind? A bloated table scans slowly.")
    add("diagnosis", "assistant", [call, {"type": "text", "text": DIAGNOSIS}], parentId="plan")
    server.call("addCompaction", tenant=TENANT, session=SESSION, summary=SUMMARY, firstId="first-0", lastId="first-3")
    server.call("configure", tenant=TENANT, session=SESSION, compactAfter=400)


def main():
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as root, sync_playwright() as playwright:
        server = Server(pathlib.Path(root), "--chat-model", "scripted")
        converse(server)
        browser = conftest.launch(playwright)
        for scheme in ["light", "dark"]:
            context = browser.new_context(viewport={"width": 1200, "height": 870}, device_scale_factor=1.35, color_scheme=scheme)
            conftest.serve_page(context, server)
            page = context.new_page()
            page.goto(f"{server.url}/#{TENANT.replace(':', '%3A')}/{SESSION}")
            page.get_by_text("A partial one").wait_for()
            page.get_by_label("Branch", exact=True).wait_for()
            page.wait_for_timeout(500)
            file = PICTURES / f"page-{scheme}.png"
            page.screenshot(path=file)
            print(file.name, file.stat().st_size)
        browser.close()
        server.stop()


if __name__ == "__main__":
    main()
