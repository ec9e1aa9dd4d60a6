"""Values of the component model, as Python's.

wasmtime-py converts arguments and results by itself, but asks the engine for the type of everything anew in every call (450 µs
for one message of a page, measured), shares a set between threads while it does so, and cuts numbers that are too large. So
the types are asked once for each function here, and become closures that read and write the structures of wasmtime's C API.

Records come back as the dataclass of the same fields, in the same order; a record that is none of ours fails when the
function is first looked up, not later. Records are given as a ``dict`` with the fields' names in snake case, enums as ``str``,
variants as their name or as ``(name, payload)``, flags as a collection of names.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, NoReturn

from wasmtime import _ffi as ffi
from wasmtime import component as wasm

from . import types
from .errors import BY_KIND, InvalidArgumentError, OtherError

#: Writes a value into a zeroed structure.
Lower = Callable[[Any, Any], None]
#: Reads a value from a structure, which stays as it is.
Lift = Callable[[Any], Any]

Value = ffi.wasmtime_component_val_t
_SIZE = ctypes.sizeof(Value)
_PAYLOAD = Value.of.offset


def snake(name: str) -> str:
    """A name of WIT as Python writes it."""
    return name.replace("-", "_")


def _records() -> dict[tuple[str, ...], type]:
    found = {}
    for value in vars(types).values():
        if isinstance(value, type) and hasattr(value, "__dataclass_fields__"):
            found[tuple(field.name for field in fields(value))] = value
    return found


_RECORDS = _records()

_NUMBERS: dict[type, tuple[str, str, int, int]] = {
    wasm.U8: ("U8", "u8", 0, 2**8 - 1),
    wasm.U32: ("U32", "u32", 0, 2**32 - 1),
    wasm.U64: ("U64", "u64", 0, 2**64 - 1),
    wasm.S64: ("S64", "s64", -(2**63), 2**63 - 1),
}


def _kind(name: str) -> int:
    value: int = getattr(ffi, f"WASMTIME_COMPONENT_{name}").value
    return value


def _string(vector: Any) -> str:
    return ctypes.string_at(vector.data, vector.size).decode()


def _put_string(vector: Any, value: str) -> None:
    try:
        data = value.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(
            "text with a lone surrogate has no UTF-8: write it as a \\u escape of JSON, or leave it out",
            subject=value[:80],
        ) from error
    ffi.wasm_byte_vec_new_uninitialized(ctypes.byref(vector), len(data))
    ctypes.memmove(vector.data, data, len(data))


class Function:
    """How one function of the component is called."""

    def __init__(self, func_type: Any, name: str) -> None:
        """Looks at the type of the function, once."""
        self.name = name
        self.parameters: list[Lower] = [lower_of(ty, f"{name}: {label}") for label, ty in func_type.params]
        result = func_type.result
        if not isinstance(result, wasm.ResultType):
            raise TypeError(f"{name} gives no result: this component is of another version")
        self._ok = None if result.ok is None else lift_of(result.ok)
        self._err = lift_of(result.err)

    def lower(self, values: tuple[Any, ...], place: Any) -> None:
        """Writes the arguments. Whatever happens, ``place`` can be deleted afterwards."""
        for index, (lower, value) in enumerate(zip(self.parameters, values, strict=True)):
            lower(place[index], value)

    def lift(self, value: Any) -> Any:
        """Reads the result: what the call answers, or its error, raised."""
        result = value.of.result
        if result.is_ok:
            return None if self._ok is None else self._ok(result.val.contents)
        raise_error(*self._err(result.val.contents))


def raise_error(kind: str, info: types.ErrorInfo) -> NoReturn:
    """Raises an error of the component as its class."""
    cls = BY_KIND.get(kind, OtherError)
    raise cls(info.message, subject=info.subject, current=info.current, limit=info.limit)


def lift_of(ty: Any) -> Lift:
    """How values of a type are read."""
    if isinstance(ty, wasm.String):
        return lambda value: _string(value.of.string)
    if isinstance(ty, wasm.Bool):
        return lambda value: value.of.boolean
    if isinstance(ty, wasm.F64):
        return lambda value: value.of.f64
    if type(ty) in _NUMBERS:
        return _lift_number(_NUMBERS[type(ty)][1])
    if isinstance(ty, wasm.EnumType):
        return lambda value: _string(value.of.enumeration)
    if isinstance(ty, wasm.OptionType):
        return _lift_option(lift_of(ty.payload))
    if isinstance(ty, wasm.ListType):
        return _lift_bytes if isinstance(ty.element, wasm.U8) else _lift_list(lift_of(ty.element))
    if isinstance(ty, wasm.RecordType):
        return _lift_record(ty.fields)
    if isinstance(ty, wasm.VariantType):
        return _lift_variant(ty.cases)
    raise TypeError(f"{type(ty).__name__}: no result of this component has such a type")


def _lift_number(member: str) -> Lift:
    return lambda value: getattr(value.of, member)


def _lift_option(lift: Lift) -> Lift:
    def option(value: Any) -> Any:
        some = value.of.option
        return lift(some.contents) if some else None

    return option


def _lift_bytes(value: Any) -> bytes:
    # Each byte stands in a structure of its own: one copy of all of them, and every nth byte of it.
    values = value.of.list
    return ctypes.string_at(values.data, values.size * _SIZE)[_PAYLOAD::_SIZE]


def _lift_list(lift: Lift) -> Lift:
    def values(value: Any) -> list[Any]:
        given = value.of.list
        data = given.data
        return [lift(data[index]) for index in range(given.size)]

    return values


def _lift_record(members: list[tuple[str, Any]]) -> Lift:
    names = tuple(snake(name) for name, _ in members)
    cls = _RECORDS.get(names)
    if cls is None:
        raise TypeError(f"a record of {', '.join(names)}: this component is of another version")
    lifts = list(enumerate(lift_of(ty) for _, ty in members))

    def record(value: Any) -> Any:
        data = value.of.record.data
        return cls(*[lift(data[index].val) for index, lift in lifts])

    return record


def _lift_variant(cases: list[tuple[str, Any]]) -> Lift:
    lifts = {name: None if ty is None else lift_of(ty) for name, ty in cases}

    def variant(value: Any) -> tuple[str, Any]:
        given = value.of.variant
        name = _string(given.discriminant)
        lift = lifts[name]
        return name, None if lift is None else lift(given.val.contents)

    return variant


def lower_of(ty: Any, subject: str) -> Lower:
    """How values of a type are written. ``subject`` names the argument in errors."""
    if isinstance(ty, wasm.String):
        return _lower_string(subject)
    if isinstance(ty, wasm.Bool):
        return _lower_bool
    if isinstance(ty, wasm.F64):
        return _lower_float(subject)
    if type(ty) in _NUMBERS:
        return _lower_number(*_NUMBERS[type(ty)], subject)
    if isinstance(ty, wasm.EnumType):
        return _lower_enum(ty.names, subject)
    if isinstance(ty, wasm.OptionType):
        return _lower_option(lower_of(ty.payload, subject))
    if isinstance(ty, wasm.ListType):
        return _lower_list(lower_of(ty.element, subject), subject)
    if isinstance(ty, wasm.RecordType):
        return _lower_record([(name, lower_of(member, f"{subject}.{name}")) for name, member in ty.fields])
    if isinstance(ty, wasm.VariantType):
        return _lower_variant(
            {name: lower_of(member, f"{subject}.{name}") if member else None for name, member in ty.cases}, subject
        )
    if isinstance(ty, wasm.FlagsType):
        return _lower_flags(ty.names, subject)
    if isinstance(ty, wasm.ResultType):
        return _lower_result(lower_of(ty.ok, subject), lower_of(ty.err, subject))
    raise TypeError(f"{subject}: no argument of this component is a {type(ty).__name__}")


def _wrong(subject: str, wanted: str, value: object) -> InvalidArgumentError:
    return InvalidArgumentError(f"{subject} must be {wanted}, not {value!r:.80}", subject=subject)


def _lower_string(subject: str) -> Lower:
    kind = _kind("STRING")

    def string(place: Any, value: Any) -> None:
        if not isinstance(value, str):
            raise _wrong(subject, "text", value)
        _put_string(place.of.string, value)
        place.kind = kind

    return string


def _lower_bool(place: Any, value: Any) -> None:
    place.of.boolean = bool(value)
    place.kind = _BOOL


_BOOL = _kind("BOOL")


def _lower_float(subject: str) -> Lower:
    kind = _kind("F64")

    def number(place: Any, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _wrong(subject, "a number", value)
        place.of.f64 = float(value)
        place.kind = kind

    return number


def _lower_number(kind_name: str, member: str, least: int, most: int, subject: str) -> Lower:
    kind = _kind(kind_name)

    def number(place: Any, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise _wrong(subject, f"a whole number from {least} to {most}", value)
        setattr(place.of, member, value)
        place.kind = kind

    return number


def _lower_enum(names: list[str], subject: str) -> Lower:
    kind = _kind("ENUM")

    def enum(place: Any, value: Any) -> None:
        if value not in names:
            raise _wrong(subject, f"one of {', '.join(names)}", value)
        _put_string(place.of.enumeration, value)
        place.kind = kind

    return enum


def _boxed(lower: Lower, value: Any) -> Any:
    """A value in memory of its own, which the structure that points to it owns."""
    place = Value()
    try:
        lower(place, value)
        return ffi.wasmtime_component_val_new(ctypes.byref(place))
    except BaseException:
        ffi.wasmtime_component_val_delete(ctypes.byref(place))
        raise


def _lower_option(lower: Lower) -> Lower:
    kind = _kind("OPTION")

    def option(place: Any, value: Any) -> None:
        if value is not None:
            place.of.option = _boxed(lower, value)
        place.kind = kind

    return option


def _lower_list(lower: Lower, subject: str) -> Lower:
    kind = _kind("LIST")

    def values(place: Any, value: Any) -> None:
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise _wrong(subject, "a list", value)
        items = list(value)
        given = place.of.list
        ffi.wasmtime_component_vallist_new_uninit(ctypes.byref(given), len(items))
        ctypes.memset(given.data, 0, len(items) * _SIZE)
        place.kind = kind
        data = given.data
        for index, item in enumerate(items):
            lower(data[index], item)

    return values


def _lower_record(members: list[tuple[str, Lower]]) -> Lower:
    kind = _kind("RECORD")
    size = ctypes.sizeof(ffi.wasmtime_component_valrecord_entry)
    plan = [(index, name, snake(name), lower) for index, (name, lower) in enumerate(members)]

    def record(place: Any, value: Any) -> None:
        given = place.of.record
        ffi.wasmtime_component_valrecord_new_uninit(ctypes.byref(given), len(plan))
        ctypes.memset(given.data, 0, len(plan) * size)
        place.kind = kind
        data = given.data
        for index, name, key, lower in plan:
            entry = data[index]
            _put_string(entry.name, name)
            lower(entry.val, value[key])

    return record


def _lower_variant(cases: dict[str, Lower | None], subject: str) -> Lower:
    kind = _kind("VARIANT")

    def variant(place: Any, value: Any) -> None:
        name, payload = value if isinstance(value, tuple) else (value, None)
        if name not in cases:
            raise _wrong(subject, f"one of {', '.join(cases)}", value)
        given = place.of.variant
        _put_string(given.discriminant, name)
        place.kind = kind
        lower = cases[name]
        if lower is not None:
            given.val = _boxed(lower, payload)

    return variant


def _lower_flags(names: list[str], subject: str) -> Lower:
    kind = _kind("FLAGS")
    size = ctypes.sizeof(ffi.wasm_name_t)

    def flags(place: Any, value: Any) -> None:
        chosen = [value] if isinstance(value, str) else list(value)
        for name in chosen:
            if name not in names:
                raise _wrong(subject, f"among {', '.join(names)}", name)
        given = place.of.flags
        ffi.wasmtime_component_valflags_new_uninit(ctypes.byref(given), len(chosen))
        ctypes.memset(given.data, 0, len(chosen) * size)
        place.kind = kind
        for index, name in enumerate(chosen):
            _put_string(given.data[index], name)

    return flags


def _lower_result(ok: Lower, err: Lower) -> Lower:
    kind = _kind("RESULT")

    def result(place: Any, value: Any) -> None:
        is_ok, payload = value
        place.of.result.is_ok = is_ok
        place.of.result.val = _boxed(ok if is_ok else err, payload)
        place.kind = kind

    return result
