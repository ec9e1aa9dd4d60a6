"""Other processes and threads: killed, beside this one, forked off."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import talktree
from conftest import say
from talktree import errors

WRITER = textwrap.dedent(
    """
    import sys, talktree
    directory, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with talktree.open(directory, busy_timeout=60) as store:
        chat = store.session("chat")
        for number in range(count):
            text = f"text of {name} " * 20
            chat.append_message({"id": f"{name}-{number}", "role": "user", "parts": [{"type": "text", "text": text}]})
            print(number, flush=True)
    """
)


def writer(place: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(place), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def acknowledged(process: subprocess.Popen[str]) -> list[int]:
    out, _ = process.communicate()
    return [int(line) for line in out.split("\n")[:-1]]


def test_sigkill_while_writing_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    acked: list[str] = []
    for attempt in range(3):
        process = writer(tmp_path, f"w{attempt}", 100_000)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.15 + 0.1 * attempt)
        process.send_signal(signal.SIGKILL)
        last = acknowledged(process)[-1]
        acked += [f"w{attempt}-{number}" for number in range(last + 1)]
    with talktree.open(tmp_path) as store:
        stored = [message.id for message in store.session("chat").history()]
        assert store.check().sound
    # What was written without being acknowledged any more is one message for each kill, at most.
    assert set(acked) <= set(stored)
    assert len(stored) - len(acked) <= 3
    assert [message_id for message_id in stored if message_id in set(acked)] == acked


def test_two_processes_on_one_directory_take_turns(tmp_path: Path) -> None:
    processes = [writer(tmp_path, name, 60) for name in ("a", "b")]
    assert [acknowledged(process) for process in processes] == [list(range(60))] * 2
    assert [process.returncode for process in processes] == [0, 0]
    with talktree.open(tmp_path) as store:
        messages = list(store.session("chat").history())
        assert store.check().sound
    assert [message.seq for message in messages] == list(range(1, 121))
    for name in ("a", "b"):
        assert [m.id for m in messages if m.id.startswith(name)] == [f"{name}-{number}" for number in range(60)]
    assert all(later.parent_id == earlier.id for earlier, later in itertools.pairwise(messages))


def test_threads_share_a_store_and_nothing_is_lost_or_mixed_up(store: talktree.Store) -> None:
    def write(thread: int) -> None:
        chat = store.session(f"s{thread % 3}")
        for number in range(20):
            chat.append_message(say(f"{thread}-{number}", f"text {thread} {number}"))
            assert chat.get_message(f"{thread}-{number}") is not None
            assert sum(1 for _ in chat.history()) > number

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    for name in range(3):
        messages = list(store.session(f"s{name}").history())
        for thread in range(name, 8, 3):
            mine = [message.id for message in messages if message.id.startswith(f"{thread}-")]
            assert mine == [f"{thread}-{number}" for number in range(20)]
    assert store.check().sound


def test_many_stores_in_many_threads_do_not_disturb_each_other(tmp_path: Path) -> None:
    def use(number: int) -> None:
        with talktree.open(
            tmp_path / str(number), summarizer=lambda request: f"sum {len(request.prompt) * 0}"
        ) as store:
            chat = store.session()
            for index in range(30):
                chat.append_message(say(str(index), f"store {number} " * 40))
            chat.configure(keep_recent_tokens=50, protect_head=1, compact_after=10, auto_compact="inline")
            chat.append_message(say("last", "x"))
            assert chat.get_compactions()[0].summary == "sum 0"
            assert len(list(chat.history(overlays=False))) == 31

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(use, range(6)))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks in Python's library there")
def test_an_exclusive_store_keeps_others_out_and_its_lock_dies_with_it(tmp_path: Path) -> None:
    with talktree.open(tmp_path, exclusive=True) as store:
        store.session().append_message(say("m", "x"))
        for alone in (True, False):
            with pytest.raises(errors.BusyError):
                talktree.open(tmp_path, exclusive=alone)
    with talktree.open(tmp_path) as one, talktree.open(tmp_path) as two:
        one.session().append_message(say("n", "x"))
        assert [message.id for message in two.session().history()] == ["m", "n"]
        with pytest.raises(errors.BusyError):
            talktree.open(tmp_path, exclusive=True)


@pytest.mark.skipif("TALKTREE_PROGRAM" not in os.environ, reason="TALKTREE_PROGRAM names no talktree program")
def test_the_program_and_a_store_here_never_have_one_directory_at_the_same_time(tmp_path: Path) -> None:
    program = os.environ["TALKTREE_PROGRAM"]
    history = [program, "history", "--root", str(tmp_path), "--tenant", "easy", "--session", "chat"]
    with talktree.open(tmp_path / "easy") as store:
        store.session("chat").append_message(say("m", "from Python"))
        busy = subprocess.run(history, capture_output=True, text=True, check=False)
        assert busy.returncode == 1
        assert "another process" in busy.stderr
    read = subprocess.run(history, capture_output=True, text=True, check=True)
    assert "from Python" in read.stdout
    serving = subprocess.Popen(
        [program, "rpc", "--root", str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert serving.stdin is not None
    assert serving.stdout is not None
    serving.stdin.write('{"jsonrpc":"2.0","id":1,"method":"stats","params":{"tenant":"easy"}}\n')
    serving.stdin.flush()
    assert '"messages":1' in serving.stdout.readline()
    with pytest.raises(errors.BusyError):
        talktree.open(tmp_path / "easy")
    serving.communicate()
    with talktree.open(tmp_path / "easy") as store:
        assert [message.text for message in store.session("chat").history()] == ["from Python"]


FORK = textwrap.dedent(
    """
    import os, sys, talktree
    store = talktree.open(sys.argv[1])
    store.session().append_message({"id": "m", "role": "user", "parts": []})
    child = os.fork()
    if child == 0:
        try:
            store.session().append_message({"id": "n", "role": "user", "parts": []})
        except talktree.errors.ClosedError:
            store.close()
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert [message.id for message in store.session().history()] == ["m"]
    store.close()
    """
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_is_told_to_open_the_store_itself(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORK, str(tmp_path)], check=True, timeout=60)


def test_an_interpreter_that_ends_without_closing_ends(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import sys, threading, talktree
        store = talktree.open(sys.argv[1])
        store.session().append_message({"id": "m", "role": "user", "parts": []})
        threading.Thread(target=lambda: list(store.follow(poll=1000)), daemon=True).start()
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], check=True, timeout=60, capture_output=True, text=True
    )
    assert done.stderr == ""
    with talktree.open(tmp_path) as store:
        assert store.session().get_message("m") is not None


def test_waiting_for_a_turn_ends_in_busy(tmp_path: Path) -> None:
    holding, release = threading.Event(), threading.Event()

    with talktree.open(tmp_path) as store:
        store.session().append_message(say("m", "x"))
    # A mark of somebody who is at work: newer than ours, and not given back.
    [mark] = tmp_path.glob("owner.*")
    number = int(mark.suffix[1:]) + 1
    other = tmp_path / f"owner.{number}"

    def keep_alive() -> None:
        while not release.is_set():
            other.write_text(f"busy {time.time_ns() // 1_000_000} somebody")
            holding.set()
            time.sleep(0.2)

    thread = threading.Thread(target=keep_alive)
    thread.start()
    try:
        assert holding.wait(5)
        with talktree.open(tmp_path, busy_timeout=0.3) as store, pytest.raises(errors.BusyError):
            store.session().append_message(say("n", "x"))
    finally:
        release.set()
        thread.join()
