"""Messages as text and as Python values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .errors import InvalidMessageError

#: A message to be written: its JSON text, which is kept byte for byte, or a mapping that is made into one.
MessageInput = str | Mapping[str, Any]

_SURROGATE = re.compile("[\ud800-\udfff]")


def dump(value: object) -> str:
    """JSON text without white space outside strings. A lone surrogate in a ``str`` becomes its escape.

    Raises :class:`InvalidMessageError` for what JSON cannot say: other objects, ``nan``, infinities.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidMessageError(f"this cannot be written as JSON: {error}") from error
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def message_text(message: MessageInput) -> str:
    """The JSON text of a message in either form."""
    if isinstance(message, str):
        return message
    if isinstance(message, Mapping):
        return dump(dict(message))
    raise InvalidMessageError(f"a message is its JSON text or a mapping, not {type(message).__name__}")
