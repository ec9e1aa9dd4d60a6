"""Times: milliseconds since 1970 UTC in the store, ``datetime`` in Python."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import overload

from .errors import InvalidArgumentError

#: A time to be given: milliseconds since 1970 UTC, or a ``datetime`` with a time zone.
Time = int | datetime

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def from_milliseconds(number: int) -> datetime:
    """A stored time, in UTC."""
    return _EPOCH + timedelta(milliseconds=number)


@overload
def milliseconds(time: Time) -> int: ...
@overload
def milliseconds(time: None) -> None: ...
def milliseconds(time: Time | None) -> int | None:
    """A time as it is stored. What is smaller than a millisecond is cut off."""
    if not isinstance(time, datetime):
        return time
    if time.tzinfo is None:
        raise InvalidArgumentError(f"{time} has no time zone: give it one, datetime.timezone.utc for instance")
    return (time - _EPOCH) // timedelta(milliseconds=1)
