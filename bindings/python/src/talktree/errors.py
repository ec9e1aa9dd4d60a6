"""What can go wrong, one class for each case.

Every error says in ``message`` what is wrong and what to do. ``subject`` names the thing that it is about (an id, a label,
an argument), ``current`` and ``limit`` the numbers, where numbers are concerned. ``kind`` is the name of the case in the
component's WIT. Whatever the case, nothing was written; except :class:`CrashedError`, whose outcome is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar


class TalktreeError(Exception):
    """The class of all errors of a store."""

    kind: ClassVar[str] = "other"

    def __init__(
        self, message: str, *, subject: str | None = None, current: int | None = None, limit: int | None = None
    ) -> None:
        """Takes the sentence and what it is about."""
        super().__init__(message)
        self.message = message
        self.subject = subject
        self.current = current
        self.limit = limit

    def __reduce__(self) -> tuple[Callable[..., TalktreeError], tuple[object, ...]]:
        """Errors cross processes, as of a pool, whole."""
        return _restore, (type(self), self.message, self.subject, self.current, self.limit)


def _restore(
    cls: type[TalktreeError], message: str, subject: str | None, current: int | None, limit: int | None
) -> TalktreeError:
    return cls(message, subject=subject, current=current, limit=limit)


class InvalidMessageError(TalktreeError, ValueError):
    """The message is not JSON, not an object, or a member of it is missing, of the wrong type, empty or too long."""

    kind = "invalid-message"


class InvalidArgumentError(TalktreeError, ValueError):
    """An argument is out of its range."""

    kind = "invalid-argument"


class InvalidRangeError(TalktreeError, ValueError):
    """The two ids are not on one path in that order, or the run cannot be covered by a summary."""

    kind = "invalid-range"


class UnknownParentError(TalktreeError, LookupError):
    """No message of that id in this session to be the parent."""

    kind = "unknown-parent"


class UnknownMessageError(TalktreeError, LookupError):
    """No message of that id in this session."""

    kind = "unknown-message"


class UnknownSessionError(TalktreeError, LookupError):
    """No session of that id."""

    kind = "unknown-session"


class UnknownBlockError(TalktreeError, LookupError):
    """No context block of that label."""

    kind = "unknown-block"


class LeafMovedError(TalktreeError):
    """The present leaf is not the expected one: read again and decide."""

    kind = "leaf-moved"


class VersionMismatchError(TalktreeError):
    """The block was written since that version."""

    kind = "version-mismatch"


class PlanOutdatedError(TalktreeError):
    """What the plan covers has changed: prepare again."""

    kind = "plan-outdated"


class NoProgressError(TalktreeError):
    """The summary is not smaller than what it would replace."""

    kind = "no-progress"


class StaleCursorError(TalktreeError):
    """The cursor is not one of this call's, or what it stands on has gone: begin again without one."""

    kind = "stale-cursor"


class OverLimitError(TalktreeError):
    """More than a limit allows; ``limit`` says which number."""

    kind = "over-limit"


class SummarizerFailedError(TalktreeError):
    """The summarizer gave no usable answer."""

    kind = "summarizer-failed"


class NotConfiguredError(TalktreeError):
    """The component was not given what it needs."""

    kind = "not-configured"


class BusyError(TalktreeError):
    """Another process owns the store: try again."""

    kind = "busy"


class StorageFullError(TalktreeError):
    """No room on the disk. The store can still be read."""

    kind = "storage-full"


class ReadOnlyError(TalktreeError):
    """The directory or the file cannot be written. Reads work."""

    kind = "read-only"


class SchemaTooNewError(TalktreeError):
    """The file was written by a newer version, which has to be used."""

    kind = "schema-too-new"


class NotAStoreError(TalktreeError):
    """The file is none of ours; it was left alone."""

    kind = "not-a-store"


class CorruptError(TalktreeError):
    """The file is damaged there. What can be read is still read."""

    kind = "corrupt"


class OtherError(TalktreeError):
    """Anything else."""

    kind = "other"


class CrashedError(TalktreeError):
    """The sandbox ended within the call. Whether a write was done is unknown: do it again with the same message id.

    The next call starts a new sandbox, which finds every acknowledged write.
    """

    kind = "crashed"


class ClosedError(TalktreeError):
    """The store was closed, or it was opened in another process: open it again."""

    kind = "closed"


#: The cases of the component's ``error`` variant.
BY_KIND: dict[str, type[TalktreeError]] = {
    cls.kind: cls
    for cls in (
        InvalidMessageError,
        InvalidArgumentError,
        InvalidRangeError,
        UnknownParentError,
        UnknownMessageError,
        UnknownSessionError,
        UnknownBlockError,
        LeafMovedError,
        VersionMismatchError,
        PlanOutdatedError,
        NoProgressError,
        StaleCursorError,
        OverLimitError,
        SummarizerFailedError,
        NotConfiguredError,
        BusyError,
        StorageFullError,
        ReadOnlyError,
        SchemaTooNewError,
        NotAStoreError,
        CorruptError,
        OtherError,
    )
}
