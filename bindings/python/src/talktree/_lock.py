"""Who may use a directory beside us.

The component takes turns with other instances by marks in the directory. The program ``talktree`` holds a lock of the operating
system instead and looks at no marks. So whoever takes turns holds that lock too, shared: the program then finds the
store busy, and we find it busy while the program has it. A store that is opened as the only one holds it alone.

A lock dies with its holder. Windows has no such locks in Python's library: there nothing keeps the program out.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path

from .errors import BusyError, NotConfiguredError

#: The name that the program gives to it.
LOCK_FILE = "lock"


class DirectoryLock:
    """A held lock, or none in a directory where nothing can be written."""

    def __init__(self, directory: Path, *, alone: bool, read_only: bool) -> None:
        """Takes the lock at once, or raises :class:`BusyError`. To read only, no file is made for it."""
        self._file: int | None = None
        if sys.platform == "win32":
            return
        import fcntl

        path = directory / LOCK_FILE
        while self._file is None:
            try:
                file = os.open(path, _FLAGS | (os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT), 0o666)
            except FileNotFoundError:
                return
            except OSError as error:
                if error.errno in (errno.EACCES, errno.EROFS):
                    return
                raise NotConfiguredError(f"{path} cannot be locked: {error.strerror}", subject=str(path)) from error
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


_FLAGS = 0 if sys.platform == "win32" else os.O_NOFOLLOW | os.O_CLOEXEC
