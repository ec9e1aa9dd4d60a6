"""Summaries by a model: any callable that takes a :class:`SummaryRequest` and answers a :class:`Summary` or plain text.

It may take minutes. What it raises never harms a store: nothing is committed, and an append never fails because of it. To
say why there is no answer, raise :class:`SummarizeError`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from .types import Summary, SummaryRequest

#: Asks a model.
Summarizer = Callable[[SummaryRequest], "Summary | str"]

#: Why there is no answer.
Reason = Literal["unavailable", "rate-limited", "too-long", "other"]


class SummarizeError(Exception):
    """There is no summary."""

    def __init__(self, reason: Reason, message: str) -> None:
        """Takes the reason, and a sentence for the log."""
        super().__init__(message)
        self.reason: Reason = reason


def checked(answer: object) -> Summary:
    """What a summarizer answered, as a summary."""
    if isinstance(answer, str):
        return Summary(answer)
    if isinstance(answer, Summary):
        return answer
    raise TypeError(f"a summarizer answers a Summary or text, not {type(answer).__name__}")


def imported(summarizer: Summarizer | None, request: SummaryRequest) -> tuple[bool, Any]:
    """A summarizer as the component imports it: ``(True, the summary's fields)`` or ``(False, (reason, text))``."""
    if summarizer is None:
        return False, ("unavailable", "no summarizer was given: talktree.open(..., summarizer=...)")
    try:
        summary = checked(summarizer(request))
    except SummarizeError as error:
        return False, (error.reason, str(error))
    except Exception as error:  # noqa: BLE001 (a model's failure, whatever it is, is an answer)
        return False, ("other", f"{type(error).__name__}: {error}")
    return True, {
        "text": summary.text,
        "truncated": summary.truncated,
        "input_tokens": summary.input_tokens,
        "output_tokens": summary.output_tokens,
    }
