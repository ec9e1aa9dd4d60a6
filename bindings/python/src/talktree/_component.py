"""The component as machine code, once a process.

Compiling takes seconds, so the result is kept in the user's cache directory, named by what it was made of: the component's
bytes, wasmtime's version and the machine. wasmtime itself looks whether the code fits this machine and version, and it is
made anew where it does not.

What lies there is run as machine code. So the directory must belong to this user and be writable by nobody else, else it is
left unused.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import stat
import sys
import tempfile
import threading
from importlib import metadata
from importlib.resources import as_file, files
from pathlib import Path

from wasmtime import Config, Engine, WasmtimeError
from wasmtime.component import Component

from .errors import NotConfiguredError

_log = logging.getLogger("talktree")
_lock = threading.Lock()
_engine: Engine | None = None
_components: dict[Path | None, Compiled] = {}

#: The user who may do anything anyway.
_ROOT = 0


class Compiled:
    """A component that can be instantiated, and the engine that it belongs to."""

    def __init__(self, engine: Engine, component: Component) -> None:
        """Takes both."""
        self.engine = engine
        self.component = component


def compiled(path: Path | None) -> Compiled:
    """The component of the package, or the one at ``path``: from memory, from the cache, or compiled now."""
    global _engine
    with _lock:
        found = _components.get(path)
        if found is None:
            if _engine is None:
                _engine = Engine(Config())
            found = _components[path] = Compiled(_engine, _load(_engine, path))
        return found


def _load(engine: Engine, path: Path | None) -> Component:
    wasm = _read(path)
    kept = _kept_at(wasm)
    if kept is not None and kept.exists():
        try:
            return Component.deserialize_file(engine, str(kept))
        except WasmtimeError as error:
            _log.info("compiled code is made anew: %s", error)
    _log.info("compiling the component: this takes seconds, once")
    component = Component(engine, wasm)
    if kept is not None:
        _keep(kept, component.serialize())
    return component


def _read(path: Path | None) -> bytes:
    if path is not None:
        return path.read_bytes()
    try:
        with as_file(files("talktree") / "sessions.wasm") as packaged:
            return packaged.read_bytes()
    except FileNotFoundError as error:
        raise NotConfiguredError(
            "this copy of the package has no component in it: install its wheel, or name one with component=..."
        ) from error


def _kept_at(wasm: bytes) -> Path | None:
    directory = _cache_directory()
    if directory is None:
        return None
    made_of = hashlib.sha256(wasm)
    made_of.update(f"\0{metadata.version('wasmtime')}\0{sys.platform}\0{platform.machine()}".encode())
    return directory / f"{made_of.hexdigest()}.cwasm"


def _cache_directory() -> Path | None:
    """Where compiled code is kept, made if need be; none if that is not safe, or turned off by ``TALKTREE_CODE_CACHE=off``."""
    named = os.environ.get("TALKTREE_CODE_CACHE")
    if named == "off":
        return None
    directory = Path(named) if named else _user_caches() / "talktree" / "python"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory = directory.resolve(strict=True)
        others = os.name == "posix" and _others_can_write(directory)
    except OSError as error:
        _log.warning("compiled code is not kept, so every process compiles for seconds: %s", error)
        return None
    if others:
        _log.warning("compiled code is not kept in %s: others than this user can write there", directory)
        return None
    return directory


def _others_can_write(directory: Path) -> bool:
    """Whether others can write into a directory, or put another one in its place."""
    found = directory.stat()
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return True
    for parent in directory.parents:
        found = parent.stat()
        is_open = found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX
        if is_open or found.st_uid not in (os.geteuid(), _ROOT):
            return True
    return False


def _user_caches() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local")
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _keep(place: Path, code: bytes | bytearray) -> None:
    """Whole or not at all: the name appears when everything is on the disk."""
    try:
        with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
            file.write(code)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, place)
    except OSError as error:
        _log.warning("compiled code could not be kept in %s: %s", place.parent, error)
