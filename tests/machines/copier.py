"""Continuous copies off the machine: a tenant is copied again whenever its feed says that something happened."""

import http.client
import pathlib
import threading
import time
from dataclasses import dataclass

from runner import Client


@dataclass
class Copied:
    """A copy that is whole."""

    began: float
    ended: float
    bytes: int


class Copier(threading.Thread):
    """Copies one tenant into a directory of another machine until its own machine is lost, with a pause after each copy."""

    def __init__(self, address: str, tenant: str, directory: pathlib.Path, pause: float) -> None:
        super().__init__(daemon=True)
        self.client = Client(address)
        self.tenant = tenant
        self.pause = pause
        self.file = directory / f"{tenant.replace(':', '-')}.talktree"
        self.copies: list[Copied] = []

    def run(self) -> None:
        cursor = None
        try:
            while True:
                # Waits until there is something behind the cursor. A `reset` is a reason to copy, too.
                news = self.client.call("changes", tenant=self.tenant, cursor=cursor, waitMs=10_000)
                cursor = news["cursor"]
                if not news["events"] and not news.get("reset"):
                    continue
                began = time.monotonic()
                bytes_ = self.client.copy(self.tenant, self.file)
                self.copies.append(Copied(began, time.monotonic(), bytes_))
                time.sleep(self.pause)
        except (OSError, http.client.HTTPException):
            # The machine is lost.
            return
