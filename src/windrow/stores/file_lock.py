"""A lock between processes: a file that the operating system frees when its holder ends."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import IO

from windrow.stores.errors import WindowInUse

if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[str]) -> None:
        file.seek(1 << 20)  # far behind the text: what is locked cannot be read there
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class FileLock:
    """A lock that the operating system takes back when its owner dies, however it dies.

    It holds the file `path` until `release`; an error names `what` if another process has it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lock = FileLock(folder + "/lock", "the door")
    ...     try: FileLock(folder + "/lock", "the door")
    ...     except WindowInUse as error: print(str(error).split(":")[0])
    ...     lock.release()
    the door is in use
    """

    def __init__(self, path: str, what: str) -> None:
        self._file = open(path, "a+", encoding="utf-8")  # noqa: SIM115  # held until release
        try:
            _lock(self._file)
        except OSError:
            self._file.seek(0)
            owner = self._file.read().strip() or "unknown"
            self._file.close()
            raise WindowInUse(f"{what} is in use: process {owner} has it") from None
        with suppress(OSError):  # a full disk: then it is held without a name
            self._file.truncate(0)
            os.write(self._file.fileno(), f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Let others hold it. The file stays: removing it would race with one who opens it."""
        self._file.close()
