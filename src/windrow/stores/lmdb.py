"""LMDB: on a local disk, for several processes, each with windows of its own."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import IO

from windrow.errors import extra, whole_number
from windrow.stores.base import Pairs, Store
from windrow.stores.errors import CorruptValue, StoreError, WindowInUse
from windrow.stores.file_lock import FileLock

_DATA = "data.mdb"  # LMDB's own name for it
_WINDOW_LOCK = "window-{}.lock"


class LmdbStore(Store):
    """An LMDB environment in the directory `path`, that may grow to `map_size` bytes.

    Processes share it; a window belongs to one of them, by a lock file that the operating system
    frees when the process ends in any way. Every batch is on the disk when it returns but for the
    pointer to it, which `flush` writes as well: a crash of the machine may lose the last batch
    before a `flush`, and never damages the others. The file does not shrink; room is used again.
    LMDB's pages have no checksums: what lies in them is checked entry by entry when it is read, and
    that no page is missing, and the first has its entries, when the store is opened.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as path, LmdbStore(path) as store:
    ...     store.put(b"a", b"1"); store.get(b"a")
    b'1'
    """

    def __init__(self, path: str | os.PathLike[str], map_size: int = 1 << 36) -> None:
        super().__init__()
        self._lmdb = extra("this store", "lmdb", "lmdb")
        self.path = os.fspath(path)
        self.map_size = whole_number("map_size", map_size, least=1 << 16)
        self._locks: dict[str, FileLock] = {}
        try:
            os.makedirs(self.path, exist_ok=True)
        except OSError as error:
            raise self._error("opened", error) from error
        self._check_there()
        with self._errors("opened"):
            self._env = self._lmdb.open(self.path, map_size=self.map_size, metasync=False)
        try:
            self._check_length()
            self._check_ends()
        except BaseException:
            self._env.close()
            raise

    @contextmanager
    def _errors(self, done: str) -> Iterator[None]:
        """Raise errors of LMDB in a block as those of a store; `done` is what cannot be done."""
        try:
            yield
        except self._lmdb.Error as error:
            raise self._error(done, error) from error

    def _error(self, done: str, error: Exception) -> StoreError:
        """Return what to raise for what LMDB has raised; `done` is what cannot be done."""
        lmdb = self._lmdb
        damages = lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.InvalidError, lmdb.PanicError
        if isinstance(error, lmdb.MapFullError):
            return StoreError(
                f"{self!r} is full: open it with a map_size of more than {self.map_size} bytes"
            )
        if "already open" in str(error):  # LMDB's rule: once in a process
            return WindowInUse(f"{self!r} is already open in this process")
        damaged = isinstance(error, damages)
        why = f"it is damaged: {error}" if damaged else str(error)
        if "Input/output error" in why:  # what LMDB calls a write that was cut short
            why += "; the disk may be full"
        return (CorruptValue if damaged else StoreError)(f"{self!r} cannot be {done}: {why}")

    def _check_there(self) -> None:
        """Raise if the file is gone, or empty, of which LMDB would make a new one."""
        file = Path(self.path, _DATA)
        used = any(Path(self.path).glob(_WINDOW_LOCK.format("*")))
        if used and not (file.exists() and file.stat().st_size):
            raise CorruptValue(
                f"{self!r} had windows, and its file {_DATA} is missing or empty: bring back a "
                f"copy, or delete the lock files beside it to begin anew"
            )

    def _check_length(self) -> None:
        """Raise if the file ends before its last page: to read what is missing ends the process."""
        page_size, last = self._env.stat()["psize"], self._env.info()["last_pgno"]
        with Path(self.path, _DATA).open("rb") as file:
            there = file.seek(0, os.SEEK_END) // page_size
            if there <= last and not _all_there(file, page_size, there):
                raise CorruptValue(
                    f"{self!r} is damaged: {_DATA} ends after {there} of {last + 1} pages"
                )

    def _check_ends(self) -> None:
        """Raise if the first or the last key is none: where a page has zeros, keys are empty.

        The first ones say which windows there are, and without them a store would look like new.
        """
        with self._errors("opened"), self._env.begin() as reading, reading.cursor() as cursor:
            there = reading.stat()["entries"] > 0
            if there and not (cursor.first() and cursor.key() and cursor.last() and cursor.key()):
                raise CorruptValue(f"{self!r} is damaged: {_DATA} has entries without a key")

    def get(self, key: bytes) -> bytes | None:
        self._check_open()
        try:  # `_errors` would take half as long again
            with self._env.begin() as reading:
                value: bytes | None = reading.get(key)
        except self._lmdb.Error as error:
            raise self._error("read", error) from error
        return value

    def get_many(self, wanted: Sequence[bytes]) -> list[bytes | None]:
        self._check_open()
        with self._errors("read"), self._env.begin() as reading:
            return [reading.get(key) for key in wanted]

    def batch(self, puts: Pairs, deletes: Iterable[bytes] = (), window: str | None = None) -> None:
        self._check_held(window)
        with self._errors("written"), self._env.begin(write=True) as writing:
            for key, value in puts:
                writing.put(key, value)
            for key in deletes:
                writing.delete(key)

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        self._check_open()
        with self._errors("read"), self._env.begin() as reading, reading.cursor() as cursor:
            if cursor.set_range(prefix):
                yield from takewhile(lambda entry: entry[0].startswith(prefix), cursor)

    def flush(self) -> None:
        self._check_open()
        with self._errors("written"):
            self._env.sync(True)

    def _lock(self, window: str) -> None:
        name = hashlib.sha256(window.encode()).hexdigest()[:32]  # a file's name is short
        path = os.path.join(self.path, _WINDOW_LOCK.format(name))
        self._locks[window] = FileLock(path, f"window {window!r} of {self!r}")

    def _unlock(self, window: str) -> None:
        self._locks.pop(window).release()

    def _close(self) -> None:
        self._env.close()

    def _forget(self) -> None:
        for lock in self._locks.values():
            lock.release()  # of this process's copy: the parent still has it

    def __repr__(self) -> str:
        return f"LmdbStore({self.path!r})"


# -- the pages of a file that is too short -------------------------------------------------------
#
# A page that was taken and given back in one transaction is never written. So a file may end before
# its last page and have all that it needs, which only a walk from its roots can tell.

_PAGE = struct.Struct("<QHHHH")  # its number, …, its flags, the end of its pointers, …
_NODE = struct.Struct("<HHHH")  # two parts of a size or of a page's number, flags, size of the key
_ROOTS = struct.Struct("<40xQ40xQQQ")  # of the free pages, of the entries; last page, transaction
_PAGE_NUMBER = struct.Struct("<Q")
_META_HEADER = _PAGE.size + 24
_BRANCH, _LEAF, _BIG = 1, 2, 1  # flags: of a page, of a page, of a node in a leaf
_NO_PAGE = (1 << 64) - 1


def _all_there(file: IO[bytes], page_size: int, there: int) -> bool:
    """Return whether all pages that are in use are among the first `there`. O(pages)."""

    def page_of(number: int) -> bytes:
        file.seek(number * page_size)
        return file.read(page_size)

    metas = [_ROOTS.unpack_from(page_of(number), _META_HEADER) for number in (0, 1)]
    *roots, _, _ = max(metas, key=lambda meta: meta[-1])
    waiting = [root for root in roots if root != _NO_PAGE]
    while waiting:
        number = waiting.pop()
        if number >= there:
            return False
        page = page_of(number)
        _, _, flags, end, _ = _PAGE.unpack_from(page)
        for (at,) in struct.iter_unpack("<H", page[_PAGE.size : end]):
            low, high, node_flags, key_size = _NODE.unpack_from(page, at)
            if flags & _BRANCH:
                waiting.append(low | high << 16 | node_flags << 32)
            elif flags & _LEAF and node_flags & _BIG:
                (first,) = _PAGE_NUMBER.unpack_from(page, at + _NODE.size + key_size)
                if first + -(-(_PAGE.size + (low | high << 16)) // page_size) > there:
                    return False
    return True
