"""What the tests of compositions share: wasmtime's command line, a chat-completions server of a few lines, and messages."""

import json
import os
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

WASMTIME = os.environ["WASMTIME"]
"""The program."""

COMPONENTS = Path(os.environ["TALKTREE_COMPOSED"])
"""Where the compositions are."""


def environment(variables: dict[str, str]) -> list[str]:
    """The options that give a component these variables, and nothing of the machine's."""
    return [option for name, value in variables.items() for option in ("--env", f"{name}={value}")]


def invoke(component: str, directory: Path, call: str, variables: dict[str, str] | None = None) -> str:
    """One call in an instance of its own; the answer as WAVE, the text form of component values."""
    command = [WASMTIME, "run", "-C", "cache=y", "-S", "http", *environment(variables or {})]
    command += ["--dir", f"{directory}::/data", "--invoke", call, str(COMPONENTS / component)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{call[:100]}: {done.stderr}")
    return done.stdout.strip()


def quoted(text: str) -> str:
    """A text as a WAVE string; JSON's escapes are WAVE's but for the rare ones, which the tests have none of."""
    return json.dumps(text)


def message(identity: str, role: str, text: str) -> str:
    """A message as JSON."""
    return json.dumps({"id": identity, "role": role, "parts": [{"type": "text", "text": text}]})


class Model:
    """A chat-completions server on loopback that remembers what it was asked."""

    def __init__(self, text: str, status: int = 200) -> None:
        asked: list[dict[str, Any]] = []
        self.asked = asked

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                asked.append({"path": self.path, "authorization": self.headers["authorization"], **body})
                choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
                answer = {"choices": [choice], "usage": {"prompt_tokens": 70, "completion_tokens": 7}}
                sent = json.dumps(answer if status == 200 else {"error": {"message": "no"}}).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *_: object) -> None:
                """Nothing of it is of interest."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()


class Serving:
    """`wasmtime serve` with a component and a directory, until it is killed."""

    def __init__(self, component: str, directory: Path, variables: dict[str, str] | None = None) -> None:
        command = [WASMTIME, "serve", "-C", "cache=y", "-S", "cli", "--addr", "127.0.0.1:0"]
        command += [*environment(variables or {}), "--dir", f"{directory}::/data", str(COMPONENTS / component)]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.said: list[str] = []
        self.url = self._await_address()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _await_address(self) -> str:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.said.append(line)
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                return found[0]
        raise AssertionError(f"wasmtime serve ended: {''.join(self.said)}")

    def _listen(self) -> None:
        assert self._process.stderr is not None
        self.said.extend(self._process.stderr)

    def kill(self) -> None:
        """Ends it in the middle of whatever it does."""
        self._process.kill()
        self._process.wait()
        self._listener.join()
        assert self._process.stderr is not None
        self._process.stderr.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.kill()
