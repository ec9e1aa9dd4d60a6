"""One instance of the component over one directory.

It sees that directory, a clock, random numbers and its settings; no other file, no network, no streams, nothing of this
process's environment. One call at a time is carried out in it, whatever threads ask.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wasmtime import Store, WasiConfig, WasmtimeError
from wasmtime import _ffi as ffi
from wasmtime.component import Linker

from ._codec import Function, Lower, Value, lift_of, lower_of
from ._component import Compiled
from .errors import ClosedError, CrashedError, OtherError, ReadOnlyError
from .types import SummaryRequest

#: What the component exports and imports.
STORE = "talktree:sessions/store@0.1.0"
CONTEXT = "talktree:sessions/context@0.1.0"
SUMMARIZER = "talktree:sessions/summarizer@0.1.0"

#: Answers ``(True, fields of a summary)``, or ``(False, (kind, text))``; never raises.
Summarize = Callable[[SummaryRequest], tuple[bool, Any]]

#: How much of what a dying component says is kept for the error.
_LAST_WORDS = 4096

_log = logging.getLogger("talktree")
_functions: dict[tuple[int, str, str], Function] = {}


class Sandbox:
    """The instance, made at the first call and again after a crash."""

    def __init__(
        self,
        compiled: Compiled,
        directory: Path,
        *,
        read_only: bool,
        settings: dict[str, str],
        memory_limit: int,
        summarize: Summarize,
    ) -> None:
        """Only takes note: nothing is opened yet."""
        self._compiled = compiled
        self._directory = directory
        self._read_only = read_only
        self._settings = settings
        self._memory_limit = memory_limit
        self._summarize = summarize
        self._lock = threading.Lock()
        self._caller: int | None = None
        self._process = os.getpid()
        self._instance: _Instance | None = None
        self._closed = False

    def call(self, interface: str, name: str, *arguments: Any) -> Any:
        """Calls a function of the component and answers what it answers, or raises its error."""
        if os.getpid() != self._process:
            raise ClosedError(
                "this store was opened in the process that this one was forked from: start processes with `spawn` or "
                "`forkserver`, and open the store in each"
            )
        if self._caller == threading.get_ident():
            raise OtherError("a summarizer cannot call the store that waits for it")
        with self._lock:
            if self._closed:
                raise ClosedError("the store was closed: open it again")
            self._caller = threading.get_ident()
            try:
                return self._call(interface, name, arguments)
            finally:
                self._caller = None

    def _call(self, interface: str, name: str, arguments: tuple[Any, ...]) -> Any:
        if self._instance is None:
            self._instance = self._start()
        instance = self._instance
        try:
            return instance.call(interface, name, arguments)
        except WasmtimeError as error:
            # What trapped cannot be entered again.
            self._instance = None
            said = str(instance.last_words)
            # As text: a log that kept the error would keep the instance.
            _log.error("the component ended in %s: %s %s", name, str(error), said)
            raise CrashedError(
                f"the component ended within {name}; whether it was done is unknown. Do it again with the same message id. "
                f"{said or str(error)}"
            ) from error

    def _start(self) -> _Instance:
        return _Instance(
            self._compiled, self._directory, self._read_only, self._settings, self._memory_limit, self._summarize
        )

    def close(self) -> None:
        """Has the component write its log back into the file, and lets go of everything. Again: nothing."""
        if os.getpid() != self._process:
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            instance, self._instance = self._instance, None
            if instance is not None:
                # Where nothing can be written, there is no log to write back.
                with contextlib.suppress(ReadOnlyError):
                    instance.call(STORE, "close", ())


class _LastWords:
    """What the component says. The engine holds it for as long as the instance lives, so it must not hold the instance."""

    def __init__(self) -> None:
        self._said = bytearray()

    def hear(self, data: bytes) -> None:
        self._said += data
        del self._said[:-_LAST_WORDS]

    def __str__(self) -> str:
        return self._said.decode(errors="replace").strip()


class _Instance:
    """A live instance."""

    def __init__(
        self,
        compiled: Compiled,
        directory: Path,
        read_only: bool,
        settings: dict[str, str],
        memory_limit: int,
        summarize: Summarize,
    ) -> None:
        self._compiled = compiled
        self.last_words = _LastWords()
        linker = Linker(compiled.engine)
        linker.add_wasip2()
        # The engine calls back into this object: it has to live as long as the linker and the instance.
        self._callback = _callback(compiled, summarize)
        with linker.root() as root, root.add_instance(SUMMARIZER) as instance:
            _add_function(instance, "summarize", self._callback)
        wasi = WasiConfig()
        wasi.preopen_dir(str(directory), "/data", not read_only)
        wasi.env = list(settings.items())
        wasi.stderr_custom = self.last_words.hear
        self._store = Store(compiled.engine)
        self._store.set_limits(memory_size=memory_limit)
        self._store.set_wasi(wasi)
        self._linker = linker
        self._instance = linker.instantiate(self._store, compiled.component)
        self._raw: dict[tuple[str, str], tuple[Function, Any]] = {}

    def call(self, interface: str, name: str, arguments: tuple[Any, ...]) -> Any:
        function, raw = self._find(interface, name)
        count = len(arguments)
        values = (Value * count)()
        result = Value()
        try:
            function.lower(arguments, values)
            error = ffi.wasmtime_component_func_call(
                ctypes.byref(raw), self._store._context(), values, count, ctypes.byref(result), 1
            )
            if error:
                raise WasmtimeError._from_ptr(error)
            return function.lift(result)
        finally:
            ffi.wasmtime_component_val_delete(ctypes.byref(result))
            for value in values:
                ffi.wasmtime_component_val_delete(ctypes.byref(value))

    def _find(self, interface: str, name: str) -> tuple[Function, Any]:
        found = self._raw.get((interface, name))
        if found is None:
            outer = self._instance.get_export_index(self._store, interface)
            index = outer and self._instance.get_export_index(self._store, name, outer)
            exported = self._instance.get_func(self._store, index) if index else None
            if exported is None:
                raise OtherError(f"the component has no {interface}#{name}: it is of another version")
            key = (id(self._compiled), interface, name)
            function = _functions.get(key)
            if function is None:
                function = _functions[key] = Function(exported.type(self._store), name)
            found = self._raw[interface, name] = (function, exported._func)
        return found


def _callback(compiled: Compiled, summarize: Summarize) -> Any:
    """``summarize`` as the engine calls it. Nothing that Python raises may reach the engine."""
    ask, answer = _summarizer_types(compiled)

    @ffi.wasmtime_component_func_callback_t  # type: ignore[untyped-decorator]
    def callback(
        _data: Any, _context: Any, _type: Any, arguments: Any, _count: int, results: Any, _results: int
    ) -> int:
        place = results[0]
        try:
            answer(place, summarize(ask(arguments[0])))
        except BaseException as error:  # noqa: BLE001 (the engine knows no exceptions)
            ffi.wasmtime_component_val_delete(ctypes.byref(place))
            ctypes.memset(ctypes.byref(place), 0, ctypes.sizeof(Value))
            answer(place, (False, ("other", f"{type(error).__name__}: {error}")))
        return 0

    return callback


def _summarizer_types(compiled: Compiled) -> tuple[Callable[[Any], SummaryRequest], Lower]:
    imported: Any = compiled.component.type.imports(compiled.engine)[SUMMARIZER].ty
    func_type = imported.exports(compiled.engine)["summarize"].ty
    [(_, request)] = func_type.params
    return lift_of(request), lower_of(func_type.result, "summary")


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # type: ignore[untyped-decorator]
def _nothing_to_free(_data: Any) -> None:
    return


def _add_function(instance: Any, name: str, callback: Any) -> None:
    encoded = name.encode()
    error = ffi.wasmtime_component_linker_instance_add_func(
        instance.ptr(), ctypes.create_string_buffer(encoded), len(encoded), callback, None, _nothing_to_free
    )
    if error:
        raise WasmtimeError._from_ptr(error)
