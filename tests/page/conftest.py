"""A running `talktree serve` with the scripted model, calls of its methods, and a browser."""

import functools
import json
import os
import pathlib
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest


class Server:
    """The real program, on a root of its own."""

    def __init__(self, root: pathlib.Path, *options: str) -> None:
        self.root = root
        self.options = options
        self.log = root / "log.txt"
        self.start("127.0.0.1:0")

    def start(self, listen: str) -> None:
        """Begins to listen."""
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [os.environ["TALKTREE"], "serve", "--root", str(self.root / "data"), "--listen", listen, *self.options],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "TALKTREE_LOG": "info"},
            )
        line = self.process.stdout.readline()
        assert line.startswith("listening on "), self.log.read_text()
        self.url = line.removeprefix("listening on ").strip()

    def restart(self) -> None:
        """Dies, and comes back at the same address."""
        self.process.kill()
        self.process.wait()
        self.start(self.url.removeprefix("http://"))

    def call(self, method: str, **params):
        """The result of a method."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = json.loads(self.post("/rpc", body).read())
        assert "error" not in answer, answer
        return answer["result"]

    def post(self, path: str, body):
        """The response to a body of JSON."""
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"content-type": "application/json"}
        )
        return urllib.request.urlopen(request, timeout=30)

    def chat(self, user: str, conversation: str, body) -> list[dict]:
        """The events of an answer; a text is a message of the user."""
        if isinstance(body, str):
            body = {"message": says(os.urandom(6).hex(), "user", body)}
        query = urllib.parse.urlencode({"user": user, "conversation": conversation})
        with self.post(f"/api/chat?{query}", body) as response:
            lines = [line.decode().strip() for line in response]
        datas = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        assert datas[-1] == "[DONE]"
        return [json.loads(data) for data in datas[:-1]]

    def stop(self) -> int:
        """Ends it in good order."""
        self.process.terminate()
        return self.process.wait(timeout=40)


def says(id: str, role: str, text: str) -> dict:
    """A message that is one text."""
    return {"id": id, "role": role, "parts": [{"type": "text", "text": text}]}


def text_of(events: list[dict]) -> str:
    """What an answer says."""
    return "".join(event["delta"] for event in events if event["type"] == "text-delta")


@pytest.fixture
def server(tmp_path):
    """With the scripted model, and summaries early."""
    server = Server(tmp_path, "--chat-model", "scripted")
    yield server
    assert server.stop() == 0


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium, without a window."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


def launch(playwright):
    """A browser of its own."""
    # Root has no sandbox of its own; the page is ours.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    # A file that comes from the test and not from an address may ask a server of this machine for something only so.
    options += ["--disable-features=LocalNetworkAccessChecks"] if "PAGE" in os.environ else []
    return playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=options)


@pytest.fixture
def open_page_of(browser):
    """Opens the page of a server at an address, and checks at the end that nothing went wrong or out."""
    wrong, contexts = [], []

    def open_page_of(server: Server, address: str = "", **options):
        context = browser.new_context(viewport={"width": 1200, "height": 800}, **options)
        contexts.append(context)
        serve_page(context, server)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("console", lambda message: wrong.append(message.text) if is_wrong(message) else None)
        page.on("request", lambda request: wrong.append(request.url) if not is_ours(request.url, server) else None)
        page.set_default_timeout(15_000)
        page.goto(f"{server.url}/{address}")
        return page

    yield open_page_of
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def open_page(server, open_page_of):
    """The same of the usual server."""
    return functools.partial(open_page_of, server)


def serve_page(context, server: Server) -> None:
    """The page's files as they lie in the directory `PAGE`, where there is one: who works on them builds nothing between looks."""
    if "PAGE" not in os.environ:
        return
    directory = pathlib.Path(os.environ["PAGE"])
    with urllib.request.urlopen(server.url) as response:
        policy = response.headers["content-security-policy"]
    kinds = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}

    def serve(route):
        path = urllib.parse.urlsplit(route.request.url).path.lstrip("/") or "index.html"
        file = directory / path
        if file.parent != directory or not file.is_file():
            route.continue_()
            return
        headers = {"content-type": kinds[file.suffix] + "; charset=utf-8", "content-security-policy": policy}
        route.fulfill(status=200, headers=headers, body=file.read_bytes())

    context.route(f"{server.url}/**", serve)


def is_wrong(message) -> bool:
    """Whether the browser complains. That a server was away is no fault of the page."""
    away = ["ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "WebSocket"]
    return message.type == "error" and not any(word in message.text for word in away)


def is_ours(url: str, server: Server) -> bool:
    """Whether a request goes to the server, or nowhere."""
    return url.startswith((server.url, server.url.replace("http", "ws"), "data:", "blob:"))
