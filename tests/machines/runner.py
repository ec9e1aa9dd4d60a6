"""A runner: `talktree serve` on a root of its own, which stands for a machine with its disk."""

import base64
import http.client
import json
import os
import pathlib
import shutil
import subprocess
from typing import Any


class Runner:
    """One machine."""

    def __init__(self, disk: pathlib.Path) -> None:
        self.root = disk / "data"
        self.log = disk / "log.txt"
        disk.mkdir()
        command = [os.environ["TALKTREE"], "serve", "--root", str(self.root), "--listen", "127.0.0.1:0", "--rate", "0"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("listening on "), self.log.read_text()
        self.address = line.strip().removeprefix("listening on http://")

    def client(self) -> "Client":
        return Client(self.address)

    def is_lost(self) -> None:
        """The power goes, and the disk with it."""
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.root)

    def restore(self, tenant: str, copy: pathlib.Path) -> subprocess.CompletedProcess[str]:
        """Takes a copy as a tenant of this machine, while it serves others."""
        command = [os.environ["TALKTREE"], "restore", "--root", str(self.root), "--tenant", tenant, str(copy)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=40)


class Client:
    """A connection to one runner."""

    def __init__(self, address: str) -> None:
        self.connection = http.client.HTTPConnection(address, timeout=60)

    def call(self, method: str, **params: Any) -> Any:
        """The result of a method; an error of the network is one of `OSError` or `http.client.HTTPException`."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, ensure_ascii=False)
        self.connection.request("POST", "/rpc", body.encode(), {"content-type": "application/json"})
        answer = json.loads(self.connection.getresponse().read())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]

    def history(self, tenant: str) -> list[dict[str, Any]]:
        """All messages of the path, read page by page."""
        messages, cursor = [], None
        while True:
            page = self.call("readHistory", tenant=tenant, cursor=cursor)
            messages += page["messages"]
            cursor = page.get("cursor")
            if cursor is None:
                return messages

    def copy(self, tenant: str, to: pathlib.Path) -> int:
        """Writes a consistent copy of the tenant, whole or not at all. Answers its bytes."""
        part = to.with_suffix(".part")
        cursor = None
        with part.open("wb") as file:
            while True:
                page = self.call("snapshot", tenant=tenant, cursor=cursor, maxBytes=4 << 20)
                file.write(base64.b64decode(page["base64"]))
                cursor = page.get("cursor")
                if cursor is None:
                    break
            file.flush()
            os.fsync(file.fileno())
        part.rename(to)
        return to.stat().st_size


def says(id_: str, text: str) -> dict[str, Any]:
    """A message that is one text."""
    return {"id": id_, "role": "user", "parts": [{"type": "text", "text": text}]}
