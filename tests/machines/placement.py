"""Tenants placed by name over two runners, with nginx and the configuration of bindings/kubernetes."""

import http.client
import json
import pathlib
import shutil
import socket
import subprocess
import time
import urllib.parse
from typing import Any

import pytest

from runner import Runner, says

CONFIGURATION = pathlib.Path(__file__).parents[2] / "bindings/kubernetes"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="no nginx here")
TENANTS = [f"user{number}:chat" for number in range(20)]


class Front:
    """nginx before the runners."""

    def __init__(self, directory: pathlib.Path, runners: list[Runner]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.places = directory / "conf.d"
        self.places.mkdir(parents=True)
        placement = (CONFIGURATION / "placement.conf").read_text()
        (self.places / "placement.conf").write_text(placement.replace("listen 7411", f"listen 127.0.0.1:{self.port}"))
        replicas = (CONFIGURATION / "replicas.conf").read_text()
        for number, runner in enumerate(runners):
            replicas = replicas.replace(f"talktree-{number}.talktree:7411", runner.address)
        (self.places / "replicas.conf").write_text(replicas)
        paths = "\n".join(
            f"{kind}_temp_path {directory}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (directory / "nginx.conf").write_text(
            f"daemon off; pid {directory}/pid; events {{}} http {{ access_log off; {paths} include conf.d/*.conf; }}"
        )
        self.command = [NGINX, "-p", str(directory), "-c", "nginx.conf", "-e", str(directory / "error.log")]
        self.process = subprocess.Popen(self.command)
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            except OSError:
                time.sleep(0.05)

    def move(self, tenant: str, replica: int | str) -> None:
        """Says where a tenant is now; `none`: nowhere for a while."""
        (self.places / "moved.map").write_text(f'"{tenant}" {replica};\n')
        subprocess.run([*self.command, "-s", "reload"], check=True)
        time.sleep(0.5)

    def ask(self, path: str, method: str, **params: Any) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        connection.request("POST", path, body, {"content-type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text.startswith(b"{") else text

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=20)


@pytest.fixture
def front(tmp_path: pathlib.Path, runners: list[Runner]):
    front = Front(tmp_path / "front", runners)
    yield front
    front.stop()


def tenants_of(runner: Runner) -> set[str]:
    return set(runner.client().call("listTenants")["tenants"])


def test_each_tenant_is_on_one_runner_however_its_name_is_spelt(front, runners):
    for tenant in TENANTS:
        for number, spelt in enumerate([tenant, urllib.parse.quote(tenant), tenant.replace("u", "%75")]):
            status, answer = front.ask(f"/t/{spelt}/rpc", "appendMessage", message=says(f"m{number}", "Hello"))
            assert status == 200 and answer["result"]["inserted"], answer
    first, second = map(tenants_of, runners)
    assert first | second == set(TENANTS) and not first & second
    # Halves, about: 20 names are few.
    assert len(first) > 3 and len(second) > 3


def test_nobody_reaches_a_tenant_by_the_place_of_another_one(front, runners):
    for path in ["/t/a/rpc?tenant=b", "/t/a/rpc?%74enant=b", "/t/a/rpc?user=b&conversation=c"]:
        assert front.ask(path, "listSessions")[0] == 400, path
    assert "error" in front.ask("/t/a/rpc", "listSessions", tenant="b")[1]
    for path in ["/rpc", "/t//rpc", "/t/a%26tenant=b/rpc", "/t/a b/rpc".replace(" ", "%20")]:
        assert front.ask(path, "listSessions")[0] in (400, 404), path
    assert not tenants_of(runners[0]) and not tenants_of(runners[1])


def test_a_tenant_that_moved_is_asked_for_where_it_is(front, runners, tmp_path):
    front.ask("/t/easy:a/rpc", "appendMessage", message=says("m1", "Hello"))
    number = next(number for number, runner in enumerate(runners) if "easy:a" in tenants_of(runner))
    here, there = runners[number], runners[1 - number]
    front.move("easy:a", "none")
    assert front.ask("/t/easy:a/rpc", "getLatestLeaf")[0] == 502
    here.client().copy("easy:a", tmp_path / "copy.talktree")
    assert there.restore("easy:a", tmp_path / "copy.talktree").returncode == 0
    front.move("easy:a", 1 - number)
    here.client().call("deleteTenant", tenant="easy:a")
    front.ask("/t/easy:a/rpc", "appendMessage", message=says("m2", "Hello again"))
    assert [message["id"] for message in there.client().history("easy:a")] == ["m1", "m2"]
    assert not tenants_of(here)
