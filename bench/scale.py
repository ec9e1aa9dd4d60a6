"""What one machine holds: tenants, messages, bytes and calls per second of one `talktree serve`, over HTTP.

`cargo xtask scale` builds what this needs and starts it. The clients run on the same machine and take their share of it.
docs/scale.md says what came of it.
"""

import argparse
import http.client
import json
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from typing import Any

RECENT_BYTES = 64 * 1024


class Server:
    def __init__(self, program: str, scratch: pathlib.Path) -> None:
        command = [program, "serve", "--root", str(scratch / "data"), "--listen", "127.0.0.1:0", "--rate", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip().removeprefix("listening on http://")

    def memory(self) -> float:
        """Memory of the process now, in MiB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


class Client:
    def __init__(self, address: str) -> None:
        self.connection = http.client.HTTPConnection(address, timeout=120)

    def send(self, method: str, params: str) -> bytes:
        """One call with params that are text already; the answer, in which nothing may have failed."""
        body = f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}'
        self.connection.request("POST", "/rpc", body.encode(), {"content-type": "application/json"})
        answer = self.connection.getresponse().read()
        if b'"error":{' in answer[:200]:
            raise RuntimeError(answer[:500])
        return answer

    def append(self, tenant: str, messages: list[str]) -> None:
        self.send("appendMessages", f'{{"tenant":"{tenant}","messages":[{",".join(messages)}]}}')

    def append_one(self, tenant: str, message: str) -> None:
        self.send("appendMessage", f'{{"tenant":"{tenant}","message":{message}}}')

    def recent(self, tenant: str) -> None:
        self.send("getRecentHistory", f'{{"tenant":"{tenant}","maxBytes":{RECENT_BYTES}}}')


def message(number: int, lines: list[str]) -> str:
    """A message of the workload with an id of its own."""
    return re.sub(r'^{"id":"[^"]*"', f'{{"id":"n{number}"', lines[number % len(lines)])


def took(work: Any) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def shown(times: list[float]) -> str:
    ordered = sorted(times)
    return f"median {statistics.median(ordered):.2f} ms, 99th percentile {ordered[int(len(ordered) * 0.99) - 1]:.2f} ms"


def disk(directory: pathlib.Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in directory.rglob("*") if file.is_file())


def caller(address: str, what: str, tenants: list[str], seconds: float, seed: int, lines: list[str]) -> list[float]:
    client, source, times = Client(address), random.Random(seed), []
    end = time.perf_counter() + seconds
    number = 0
    while time.perf_counter() < end:
        tenant = source.choice(tenants)
        if what == "append":
            number += 1
            text = message(10_000_000 * (seed + 1) + number, lines)
            times.append(took(lambda: client.append_one(tenant, text)))  # noqa: B023
        else:
            times.append(took(lambda: client.recent(tenant)))  # noqa: B023
    return times


def calls(server: Server, title: str, what: str, tenants: list[str], arguments: argparse.Namespace, seed: int) -> None:
    """Many clients at once."""
    lines = arguments.lines[:200]
    jobs = [
        (server.address, what, tenants, arguments.seconds, seed + number, lines) for number in range(arguments.clients)
    ]
    with multiprocessing.Pool(arguments.clients) as pool:
        times = [one for some in pool.starmap(caller, jobs) for one in some]
    print(f"{title}: {len(times) / arguments.seconds:,.0f} calls a second, {shown(times)}", flush=True)


def many_tenants(server: Server, data: pathlib.Path, arguments: argparse.Namespace) -> None:
    client, lines = Client(server.address), arguments.lines
    tenants = [f"user{number}:chat" for number in range(arguments.tenants)]
    batch = [message(number, lines) for number in range(arguments.messages)]
    text = sum(len(one.encode()) for one in batch)
    spent = took(lambda: [client.append(tenant, batch) for tenant in tenants]) / 1e3
    count = len(tenants) * len(batch)
    print(f"{len(tenants):,} tenants of {len(batch)} messages written: {count / spent:,.0f} messages a second")
    print(f"memory of the server with 256 of them live: {server.memory():.0f} MiB")
    print(f"disk: {disk(data) / count:,.0f} bytes a message of {text / len(batch):,.0f}, all files", flush=True)
    source = random.Random(1)
    chosen = source.sample(tenants, min(300, len(tenants)))
    print(
        f"newest 64 KiB of a tenant, nearly always one that is not live: {shown([took(lambda: client.recent(t)) for t in chosen])}"
    )
    live = tenants[: min(100, len(tenants))]
    for tenant in live:
        client.recent(tenant)
    print(f"newest 64 KiB of one that is live: {shown([took(lambda: client.recent(t)) for t in live * 3])}", flush=True)
    title = f"{arguments.clients} clients, {len(live)} tenants"
    calls(server, f"{title}, append one message, synced", "append", live, arguments, 0)
    calls(server, f"{title}, newest 64 KiB", "recent", live, arguments, 100)
    calls(
        server,
        f"{arguments.clients} clients, one tenant, append one message, synced",
        "append",
        live[:1],
        arguments,
        200,
    )


def large_tenant(server: Server, data: pathlib.Path, arguments: argparse.Namespace) -> None:
    client, lines, tenant = Client(server.address), arguments.lines, "large"
    before = disk(data)
    start = time.perf_counter()
    for first in range(0, arguments.large, 2_000):
        client.append(tenant, [message(number, lines) for number in range(first, min(first + 2_000, arguments.large))])
    spent = time.perf_counter() - start
    print(f"one tenant of {arguments.large:,} messages written: {arguments.large / spent:,.0f} messages a second")
    print(f"its disk: {(disk(data) - before) / arguments.large:,.0f} bytes a message")
    ones = [message(100_000_000 + number, lines) for number in range(300)]
    print(f"append one message to it: {shown([took(lambda: client.append_one(tenant, one)) for one in ones])}")
    print(f"its newest 64 KiB: {shown([took(lambda: client.recent(tenant)) for _ in range(300)])}")
    first = f'{{"tenant":"{tenant}"}}'
    print(f"its first page of 50: {shown([took(lambda: client.send('readHistory', first)) for _ in range(300)])}")
    client.send("close", first)
    print(f"first call after it was closed: {took(lambda: client.recent(tenant)):.1f} ms")
    print(f"a copy of it, all pieces: {took(lambda: copy(client, tenant)) / 1e3:.1f} s", flush=True)


def copy(client: Client, tenant: str) -> None:
    cursor = "null"
    while True:
        answer = client.send("snapshot", f'{{"tenant":"{tenant}","cursor":{cursor},"maxBytes":{4 << 20}}}')
        found = json.loads(answer)["result"].get("cursor")
        if found is None:
            return
        cursor = json.dumps(found)


def main() -> None:
    parser = argparse.ArgumentParser(prog="cargo xtask scale", description=__doc__.splitlines()[0])
    parser.add_argument("--tenants", type=int, default=2_000)
    parser.add_argument("--messages", type=int, default=100, help="of each tenant")
    parser.add_argument("--large", type=int, default=300_000, help="messages of the largest tenant; 0: none")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement with many clients")
    parser.add_argument("--scratch", type=pathlib.Path, help="a directory on the disk to measure")
    parser.add_argument("--talktree", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--peer", required=True, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    arguments.lines = subprocess.run(
        [arguments.peer, "messages", "10000"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="talktree-scale-", dir=arguments.scratch))
    server = Server(arguments.talktree, scratch)
    try:
        many_tenants(server, scratch / "data", arguments)
        if arguments.large:
            large_tenant(server, scratch / "data", arguments)
        print(f"memory of the server at the end: {server.memory():.0f} MiB")
    finally:
        server.stop()
        shutil.rmtree(scratch)
    print(f"{os.cpu_count()} processors, which the clients share.")
    if load > os.cpu_count() / 2:
        print(f"The machine was busy when this began (load {load:.1f}): measure again.")


if __name__ == "__main__":
    main()
