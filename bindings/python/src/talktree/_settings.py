"""Settings of a store or a session as the component takes them."""

from __future__ import annotations

from typing import Any

from .errors import StaleCursorError
from .types import KEEP, ChangePage


def changes_of(**settings: Any) -> dict[str, Any]:
    """What to change: kept, reset by ``None``, or a value."""
    return {name: _change(value) for name, value in settings.items()}


def _change(value: Any) -> Any:
    if value is KEEP:
        return "keep"
    return "reset" if value is None else ("value", value)


def configure_arguments(session: str | None, changes: dict[str, Any]) -> tuple[Any, Any]:
    """The arguments of ``configure``, for a session or for the store."""
    return ("store" if session is None else ("session", session)), changes


def stale(page: ChangePage) -> StaleCursorError:
    """The error for a feed that was told to begin anew."""
    return StaleCursorError(
        "events were missed: read what is needed anew, and go on from the cursor in `subject`", subject=page.cursor
    )
