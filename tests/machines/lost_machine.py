"""What is lost when a machine dies, with two runners here that stand for two machines.

One is written to and copied to the other. Then it is killed and its disk deleted. Run by `cargo xtask test`; with
`TALKTREE` as the program: `pytest -s tests/machines/lost_machine.py`, which prints the figures of docs/scale.md.
"""

import http.client
import random
import statistics
import threading
import time

from copier import Copier
from runner import Client, says

# Seconds between two copies of each tenant.
TENANTS = {"easy:a": 0.0, "easy:b": 0.5, "hard:c": 2.0}
WORDS = "部署 rollback queue latency 迁移 schema replica 服务 retry backoff".split()


class Writer(threading.Thread):
    """Appends to one tenant, and knows what was acknowledged, and when."""

    def __init__(self, address: str, tenant: str) -> None:
        super().__init__(daemon=True)
        self.client = Client(address)
        self.tenant = tenant
        self.acknowledged: list[tuple[str, float]] = []

    def run(self) -> None:
        source = random.Random(self.tenant)
        for number in range(1_000_000):
            message = says(f"{self.tenant}-{number}", " ".join(source.choices(WORDS, k=150)))
            try:
                self.client.call("appendMessage", tenant=self.tenant, message=message)
            except (OSError, http.client.HTTPException):
                return
            self.acknowledged.append((message["id"], time.monotonic()))
            # About the pace of a person and a model that are quick.
            time.sleep(0.02)


def test_what_was_acknowledged_before_the_last_copy_began_is_there_and_the_rest_is_lost(runners, tmp_path):
    first, second = runners
    copies = tmp_path / "second" / "copies"
    copies.mkdir()
    # The second machine has tenants of its own and serves them all the while.
    second.client().call("appendMessage", tenant="own", message=says("m1", "Hello"))
    writers = [Writer(first.address, tenant) for tenant in TENANTS]
    copiers = [Copier(first.address, tenant, copies, pause) for tenant, pause in TENANTS.items()]
    for thread in writers + copiers:
        thread.start()
    # What is copied grows, and the machine dies at no time in particular.
    time.sleep(6 + random.random())
    lost_at = time.monotonic()
    first.is_lost()
    for thread in writers + copiers:
        thread.join(timeout=30)

    client = second.client()
    for writer, copier in zip(writers, copiers, strict=True):
        tenant, newest = writer.tenant, copier.copies[-1]
        restored = second.restore(tenant, copier.file)
        assert restored.returncode == 0, restored.stderr
        assert client.call("check", tenant=tenant)["sound"]
        there = [message["id"] for message in client.history(tenant)]
        written = [id_ for id_, _ in writer.acknowledged]
        # Exactly the first ones, without a gap. One may be there whose acknowledgement was still under way.
        kept = len(there)
        assert there == (written + [f"{tenant}-{len(written)}"])[:kept]
        # Nothing is lost that was acknowledged before the last copy began ...
        assert all(id_ in set(there) for id_, at in writer.acknowledged if at < newest.began)
        # ... and what is lost was acknowledged after that.
        lost = [at for _, at in writer.acknowledged[kept:]]
        assert all(at >= newest.began for at in lost)
        took = statistics.median(copy.ended - copy.began for copy in copier.copies)
        print(
            f"\n{tenant}, a copy every {copier.pause} s: {len(written)} acknowledged, {len(lost)} lost, {lost_at - newest.began:.3f} s after the last "
            f"copy began; {len(copier.copies)} copies, {took * 1e3:.0f} ms each, the last of {newest.bytes} bytes"
        )
        # It goes on where it is, and finds what it has. The client sends again what is not there: the same ids.
        for id_ in written[kept:] + [f"{tenant}-more"]:
            client.call("appendMessage", tenant=tenant, message=says(id_, "It goes on: 部署"))
        assert len(client.history(tenant)) == max(kept, len(written)) + 1
        assert client.call("search", tenant=tenant, query="部署")["results"]
    assert set(client.call("listTenants")["tenants"]) == {"own", *TENANTS}
    assert [message["id"] for message in client.history("own")] == ["m1"]


def test_a_reader_of_the_feed_learns_that_it_has_to_read_anew(runners, tmp_path):
    first, second = runners
    client = first.client()
    for number in range(10):
        client.call("appendMessage", tenant="t", message=says(f"m{number}", "before"))
    client.copy("t", tmp_path / "t.talktree")
    client.call("appendMessage", tenant="t", message=says("lost", "after the copy"))
    seen = client.call("changes", tenant="t")["cursor"]
    first.is_lost()
    assert second.restore("t", tmp_path / "t.talktree").returncode == 0
    client = second.client()
    client.call("appendMessage", tenant="t", message=says("new", "on the other machine"))
    news = client.call("changes", tenant="t", cursor=seen)
    # Its cursor may be ahead of the copy, so that what came since then could bear the same numbers.
    assert news["reset"] and news["events"] == []
    # It reads anew, and goes on from the new cursor.
    assert [message["id"] for message in client.history("t")] == [f"m{number}" for number in range(10)] + ["new"]
    client.call("appendMessage", tenant="t", message=says("next", "and goes on"))
    news = client.call("changes", tenant="t", cursor=news["cursor"])
    assert [event["ids"] for event in news["events"]] == [["next"]]


def test_a_tenant_that_is_moved_in_good_order_loses_nothing(runners, tmp_path):
    first, second = runners
    client = first.client()
    for number in range(200):
        client.call("appendMessage", tenant="t", message=says(f"m{number}", "部署 " * number))
    client.call("appendMessage", tenant="t", message=says("branch", "another answer"), parentId="m100")
    before, tree = client.history("t"), client.call("exportLines", tenant="t")["jsonl"]
    began = time.monotonic()
    # Who places tenants sends no more calls here from now on.
    client.copy("t", tmp_path / "t.talktree")
    assert second.restore("t", tmp_path / "t.talktree").returncode == 0
    client.call("deleteTenant", tenant="t")
    print(f"\nmoved in {(time.monotonic() - began) * 1e3:.0f} ms")
    there = second.client()
    assert there.history("t") == before
    assert there.call("exportLines", tenant="t")["jsonl"] == tree
    assert "t" not in client.call("listTenants")["tenants"]


def test_half_a_copy_is_refused_and_so_is_one_over_a_tenant_that_is_there(runners, tmp_path):
    first, second = runners
    client = first.client()
    for number in range(200):
        client.call("appendMessage", tenant="t", message=says(f"m{number}", "部署 " * 200))
    whole, half = tmp_path / "whole.talktree", tmp_path / "half.talktree"
    client.copy("t", whole)
    half.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    refused = second.restore("t", half)
    assert refused.returncode == 1 and refused.stderr
    assert second.client().call("listTenants")["tenants"] == []
    assert second.restore("t", whole).returncode == 0
    assert second.restore("t", whole).returncode == 1
    assert len(second.client().history("t")) == 200
