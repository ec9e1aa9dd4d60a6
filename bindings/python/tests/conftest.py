"""What tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import talktree


def say(message_id: str, text: str, role: str = "user") -> dict[str, Any]:
    """A message with one text."""
    return {"id": message_id, "role": role, "parts": [{"type": "text", "text": text}]}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[talktree.Store]:
    """An empty store."""
    with talktree.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def session(store: talktree.Store) -> talktree.Session:
    """A session that was never written."""
    return store.session("chat")
