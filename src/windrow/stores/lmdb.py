"""LMDB: on a local disk, for several processes, each with windows of its own."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence

from windrow.errors import whole_number
from windrow.stores.base import Pairs, Store, extra
from windrow.stores.errors import StoreError, WindowInUse
from windrow.stores.filelock import FileLock


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

    def get(self, key: bytes) -> bytes | None:  # noqa: D102
        self._check_open()
        with self._env.begin() as reading:
            found: bytes | None = reading.get(key)
        return found

    def get_many(self, wanted: Sequence[bytes]) -> list[bytes | None]:  # noqa: D102
        self._check_open()
        with self._env.begin() as reading:
            return [reading.get(key) for key in wanted]

    def batch(  # noqa: D102
        self, puts: Pairs, deletes: Iterable[bytes] = (), window: str | None = None
    ) -> None:
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

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:  # noqa: D102
        self._check_open()
        with self._env.begin() as reading, reading.cursor() as cursor:
            if not cursor.set_range(prefix):
                return
            for key, value in cursor:
                if not key.startswith(prefix):
                    return
                yield key, value

    def flush(self) -> None:  # noqa: D102
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
