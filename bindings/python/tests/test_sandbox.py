from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pytest
from wasmtime import wat2wasm

import talktree
from conftest import say
from talktree import errors


def test_the_component_sees_only_its_directory(tmp_path: Path) -> None:
    outside = tmp_path / "outside.db"
    inside = tmp_path / "store"
    inside.mkdir()
    with talktree.open(tmp_path / "other") as other:
        other.session().append_message(say("secret", "x"))
    os.replace(tmp_path / "other" / "talktree.db", outside)
    # A link out of the directory leads nowhere, neither for reading nor for writing.
    (inside / "talktree.db").symlink_to(outside)
    before = outside.read_bytes()
    with talktree.open(inside) as store:
        with pytest.raises(errors.TalktreeError):
            store.session().get_message("secret")
        with pytest.raises(errors.TalktreeError):
            store.session().append_message(say("m", "x"))
    assert outside.read_bytes() == before


def test_what_the_component_cannot_bear_ends_it_and_the_next_call_finds_every_acknowledged_write(
    tmp_path: Path,
) -> None:
    with talktree.open(tmp_path, memory_limit=16 << 20) as store:
        chat = store.session()
        chat.append_message(say("m1", "kept"))
        with pytest.raises(errors.CrashedError, match="append-message"):
            chat.append_message(say("m2", "x" * (32 << 20)))
        assert [message.id for message in chat.history()] == ["m1"]
        assert chat.append_message(say("m2", "smaller")).inserted
        assert store.check().sound


def test_a_store_that_is_only_read_is_not_written(tmp_path: Path) -> None:
    place = tmp_path / "store"
    with pytest.raises(errors.NotConfiguredError):
        talktree.open(place, read_only=True)
    with talktree.open(place) as store:
        store.session().append_message(say("m", "hello"))
    before = {path.name: path.stat().st_mtime_ns for path in place.iterdir()}
    with talktree.open(place, read_only=True) as store:
        assert [message.id for message in store.session().history()] == ["m"]
        assert [found.id for found in store.search("hello")] == ["m"]
        with pytest.raises(errors.ReadOnlyError):
            store.session().append_message(say("n", "x"))
    assert {path.name: path.stat().st_mtime_ns for path in place.iterdir()} == before


def test_to_read_leaves_nothing_behind_in_a_directory(tmp_path: Path) -> None:
    with talktree.open(tmp_path, read_only=True) as store:
        assert list(store.session().history()) == []
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_was_closed_or_has_crashed_leaves_no_memory_behind(tmp_path: Path) -> None:
    store = talktree.open(tmp_path, memory_limit=16 << 20)
    instances = []
    for number in range(2):
        store.session().append_message(say(str(number), "x"))
        instances.append(weakref.ref(store._sandbox._instance))
        with pytest.raises(errors.CrashedError):
            store.session().append_message(say("large", "x" * (32 << 20)))
    store.session().get_latest_leaf()
    instances.append(weakref.ref(store._sandbox._instance))
    store.close()
    gc.collect()
    assert [instance() for instance in instances] == [None] * 3


COMPILE = "import sys, pathlib; from talktree._component import compiled; compiled(pathlib.Path(sys.argv[1]))"


def compile_in_another_process(component: Path, cache: Path) -> None:
    environment = os.environ | {"TALKTREE_CODE_CACHE": str(cache)}
    subprocess.run([sys.executable, "-c", COMPILE, str(component)], check=True, env=environment)


@pytest.fixture
def component(tmp_path: Path) -> Path:
    """One that takes no time to compile."""
    file = tmp_path / "empty.wasm"
    file.write_bytes(wat2wasm("(component)"))
    return file


def test_the_component_is_compiled_once_and_again_when_what_is_kept_is_damaged(component: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    compile_in_another_process(component, cache)
    [kept] = cache.iterdir()
    code, made = kept.read_bytes(), kept.stat().st_mtime_ns
    compile_in_another_process(component, cache)
    assert kept.stat().st_mtime_ns == made
    kept.write_bytes(code[: len(code) // 2])
    compile_in_another_process(component, cache)
    assert [path.read_bytes() for path in cache.iterdir()] == [code]


@pytest.mark.skipif(os.name != "posix", reason="owners and modes of files are of POSIX")
def test_code_is_not_taken_from_where_others_can_write(component: Path, tmp_path: Path) -> None:
    for open_to_all, cache in (("cache", "cache"), ("parent", "parent/cache")):
        (tmp_path / cache).mkdir(parents=True)
        (tmp_path / open_to_all).chmod(0o777)
        compile_in_another_process(component, tmp_path / cache)
        assert list((tmp_path / cache).iterdir()) == []


def test_opening_again_takes_no_time(tmp_path: Path) -> None:
    with talktree.open(tmp_path):
        pass
    began = time.monotonic()
    with talktree.open(tmp_path) as store:
        store.session().get_latest_leaf()
    assert time.monotonic() - began < 0.5


def test_reserved_keys_that_cannot_be_told_to_the_component_are_refused(tmp_path: Path) -> None:
    for keys in (["a,b"], [""], "text"):
        with pytest.raises(errors.InvalidArgumentError):
            talktree.open(tmp_path, reserved_metadata_keys=keys)
