"""Who may use a directory beside us.

The component takes turns with other instances by marks in the directory. The program ``talktree`` holds a lock of the operating
system instead and looks at no marks. So whoever takes turns holds that lock too, shared: the program then finds the
store busy, and we find it busy while the program has it. A store that is opened as the only one holds it alone.

A lock dies with its holder. Windows has no such locks in Python's library: there nothing keeps the program out.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from .errors import BusyError

#: The name that the program gives to it.
LOCK_FILE = "lock"


class DirectoryLock:
    """A held lock, or none in a directory where nothing can be written."""

    def __init__(self, directory: Path, *, alone: bool) -> None:
        """Takes the lock at once, or raises :class:`BusyError`."""
        self._file: int | None = None
        if sys.platform == "win32":
            return
        import fcntl

        path = directory / LOCK_FILE
        while self._file is None:
            try:
                file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            except (PermissionError, OSError) as error:
                if isinstance(error, PermissionError) or error.errno == _READ_ONLY_FILE_SYSTEM:
                    return
                raise
            try:
                fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except BlockingIOError as error:
                os.close(file)
                raise BusyError(f"another process has {directory} for itself: end it, or try again later") from error
            # Its last holder may have removed the file between the two steps: then this lock means nothing.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file), os.stat(path, follow_symlinks=False)):
                    self._file = file
                    return
            os.close(file)

    def release(self) -> None:
        """Lets go."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


_READ_ONLY_FILE_SYSTEM = 30
