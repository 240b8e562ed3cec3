"""LMDB: on a local disk, for several processes, each with windows of its own."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import IO

from windrow.errors import whole_number
from windrow.stores.base import Pairs, Store, extra
from windrow.stores.errors import StoreError, WindowInUse

if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[str]) -> None:
        file.seek(1 << 20)  # far behind the text: what is locked cannot be read there
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class LmdbStore(Store):
    """An LMDB environment in the directory `path`, that may grow to `map_size` bytes.

    Processes share it; a window belongs to one of them, by a lock file that the operating system
    frees when the process ends in any way. Every batch is on the disk when it returns but for the
    pointer to it, which `flush` writes as well: a crash of the machine may lose the last batch
    before a `flush`, and never damages the others. The file does not shrink; room is used again.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as path, LmdbStore(path) as store:
    ...     store.put(b"a", b"1"); store.get(b"a")
    b'1'
    """

    def __init__(self, path: str | os.PathLike[str], map_size: int = 1 << 36) -> None:
        super().__init__()
        self._lmdb = extra("lmdb", "lmdb")
        self.path = os.fspath(path)
        self.map_size = whole_number("map_size", map_size, least=1 << 16)
        self._locks: dict[str, FileLock] = {}
        os.makedirs(self.path, exist_ok=True)
        try:
            self._env = self._lmdb.open(self.path, map_size=self.map_size, metasync=False)
        except self._lmdb.Error as error:
            if "already open" in str(error):  # LMDB's rule: once in a process
                raise WindowInUse(f"{self!r} is already open in this process") from None
            raise StoreError(f"{self!r} cannot be opened: {error}") from error

    def get(self, key: bytes) -> bytes | None:
        self._check_open()
        with self._env.begin() as reading:
            found: bytes | None = reading.get(key)
        return found

    def get_many(self, wanted: Sequence[bytes]) -> list[bytes | None]:
        self._check_open()
        with self._env.begin() as reading:
            return [reading.get(key) for key in wanted]

    def batch(self, puts: Pairs, deletes: Iterable[bytes] = (), window: str | None = None) -> None:
        self._check_held(window)
        try:
            with self._env.begin(write=True) as writing:
                for key, value in puts:
                    writing.put(key, value)
                for key in deletes:
                    writing.delete(key)
        except self._lmdb.MapFullError:
            raise StoreError(
                f"{self!r} is full: open it with a map_size of more than {self.map_size} bytes"
            ) from None
        except self._lmdb.Error as error:
            raise StoreError(f"{self!r} cannot be written: {error}") from error

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        self._check_open()
        with self._env.begin() as reading, reading.cursor() as cursor:
            if cursor.set_range(prefix):
                yield from takewhile(lambda entry: entry[0].startswith(prefix), cursor)

    def flush(self) -> None:
        self._check_open()
        self._env.sync(True)

    def _lock(self, window: str) -> None:
        name = hashlib.sha256(window.encode()).hexdigest()[:32]  # a file's name is short
        path = os.path.join(self.path, f"window-{name}.lock")
        self._locks[window] = FileLock(path, f"window {window!r} of {self!r}")

    def _unlock(self, window: str) -> None:
        self._locks.pop(window).release()

    def _close(self) -> None:
        self._env.close()

    def __repr__(self) -> str:
        return f"LmdbStore({self.path!r})"


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
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()

    def release(self) -> None:
        """Let others hold it. The file stays: removing it would race with one who opens it."""
        self._file.close()
