"""RocksDB, by rocksdict: on a local disk, for one process."""

from __future__ import annotations

import ctypes
import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, takewhile
from typing import Any, TypeVar

from windrow.errors import extra
from windrow.stores.base import Pairs, Store
from windrow.stores.encoding import decode, encode
from windrow.stores.errors import CorruptValue, StoreError, WindowInUse
from windrow.stores.file_lock import FileLock

Result = TypeVar("Result")

_MEMTABLE = 4 << 20
_CACHE = 8 << 20
_PAGE = 1024  # entries that a scan reads at once
_MARGIN = 1 << 20  # what RocksDB writes beside its log when it is opened
_CONFIRMED, _LOCK = "windrow-confirmed", "windrow-lock"  # files beside those of RocksDB


class RocksStore(Store):
    """A RocksDB database in the directory `path`; one process at a time has it.

    A batch is in the write-ahead log when it returns, which outlives the process; `flush` brings
    the log to the disk, which outlives the machine. A damaged log is read up to the damage, and
    RocksDB says nothing: so `flush` notes how far it has come, and a store that has lost some of
    that is refused when it is opened. After a write that failed, on a full disk say, RocksDB takes
    none for seconds: so the database is opened anew, as soon as there is room again. RocksDB itself
    takes about 20 MB of memory, whatever the windows hold: small write buffers, and a cache for its
    indexes as well.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as path, RocksStore(path) as store:
    ...     store.put(b"a", b"1"); store.get(b"a")
    b'1'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self._rocks = extra("this store", "rocksdict", "rocksdb")
        self.path = os.fspath(path)
        self._opening = threading.Lock()
        try:
            os.makedirs(self.path, exist_ok=True)
            # RocksDB's own lock is free for a moment when the database is opened anew
            self._lock_file = FileLock(os.path.join(self.path, _LOCK), repr(self))
            path = os.path.join(self.path, _CONFIRMED)
            self._confirmed = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0))
        except StoreError:
            raise
        except OSError as error:
            raise StoreError(f"{self!r} cannot be opened: {error}") from error
        try:
            self._db = self._opened()
        except BaseException:
            self._close_files()
            raise

    def _opened(self) -> Any:
        """Return the database, opened and checked."""
        try:
            db = self._rocks.Rdict(self.path, self._options())
        except Exception as error:  # rocksdict has no class for it
            if "LOCK" in str(error):  # the file
                raise WindowInUse(f"{self!r} is open already, here or elsewhere: {error}") from None
            raise self._error("opened", error) from error
        try:
            self._check_confirmed(db, os.path.join(self.path, _CONFIRMED))
        except BaseException:
            db.close()
            raise
        return db

    def _check_confirmed(self, db: Any, path: str) -> None:
        """Raise if the database ends before the last change that `flush` has confirmed.

        The file that tells it never changes its length, so that a write to it is there or is not.
        It needs no sync: after a crash of the machine it tells of an earlier change at worst.
        """
        os.lseek(self._confirmed, 0, os.SEEK_SET)
        text = os.read(self._confirmed, 1 << 10)
        if not text:
            self._confirm(0)
            return
        number = decode(text, path)
        if not (isinstance(number, str) and number.isdecimal()):
            raise CorruptValue(f"{path} is damaged: it is no number")
        if db.latest_sequence_number() < int(number):
            raise CorruptValue(
                f"{self!r} has lost changes that were confirmed: its log is damaged, or files of "
                f"it are missing; bring back a copy, or delete {path} to go on without them"
            )

    def _confirm(self, number: int) -> None:
        try:
            os.lseek(self._confirmed, 0, os.SEEK_SET)
            os.write(self._confirmed, encode(f"{number:020}"))
            if not number:
                os.fsync(self._confirmed)
        except OSError as error:
            raise self._error("written", error) from error

    def _options(self) -> Any:
        options = self._rocks.Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_write_buffer_size(_MEMTABLE)
        options.set_max_write_buffer_number(2)
        options.set_max_total_wal_size(4 * _MEMTABLE)
        options.set_target_file_size_base(2 * _MEMTABLE)  # what builds a file grows with it
        options.set_max_bytes_for_level_base(8 * _MEMTABLE)
        options.set_max_open_files(64)
        options.set_keep_log_file_num(2)
        options.set_compression_type(self._rocks.DBCompressionType.lz4())
        tables = self._rocks.BlockBasedOptions()
        tables.set_block_cache(self._rocks.Cache(_CACHE))
        tables.set_cache_index_and_filter_blocks(True)
        tables.set_bloom_filter(10, False)
        options.set_block_based_table_factory(tables)
        return options

    def get(self, key: bytes) -> bytes | None:
        self._check_open()
        value: bytes | None = self._attempt("read", lambda db: db.get(key))
        return value

    def get_many(self, wanted: Sequence[bytes]) -> list[bytes | None]:
        self._check_open()
        return self._attempt("read", lambda db: list(db.get(list(wanted))))

    def batch(self, puts: Pairs, deletes: Iterable[bytes] = (), window: str | None = None) -> None:
        self._check_held(window)
        changes = self._rocks.WriteBatch(raw_mode=True)
        for key, value in puts:
            changes.put(key, value)
        for key in deletes:
            changes.delete(key)
        self._attempt("written", lambda db: db.write(changes))

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        start = prefix

        def page_of(db: Any) -> list[tuple[bytes, bytes]]:
            entries = takewhile(lambda e: e[0].startswith(prefix), db.items(from_key=start))
            return list(islice(entries, _PAGE))  # no iterator stays: it would keep the lock

        while True:
            self._check_open()
            page = self._attempt("read", page_of)
            yield from page
            if len(page) < _PAGE:
                return
            start = page[-1][0] + b"\0"

    def flush(self) -> None:
        self._check_open()

        def synced(db: Any) -> int:
            number: int = db.latest_sequence_number()
            db.flush_wal(True)
            return number

        self._confirm(self._attempt("written", synced))

    def _attempt(self, done: str, call: Callable[[Any], Result]) -> Result:
        """Return what `call` returns for the database, opened anew if it failed and this may help.

        A batch that failed may be made twice: it only puts values in their place.
        """
        db = self._db
        try:
            return call(db)
        except Exception as error:
            failure = self._error(done, error)
            if isinstance(failure, CorruptValue) or not self._reopened(db):
                raise failure from error
        try:
            return call(self._db)
        except Exception as error:
            raise self._error(done, error) from error

    def _reopened(self, db: Any) -> bool:
        """Return whether the database was opened anew since it was `db`; do so if there is room."""
        with self._opening:
            if self._db is not db:
                return True
            if not self._has_room():
                return False
            with suppress(Exception):  # it tells once more of the write that failed
                db.cancel_all_background(False)  # what waits for room would let `close` wait
                db.close()
            try:
                self._db = self._opened()
            except CorruptValue:
                raise
            except StoreError:
                return False
            return True

    def _has_room(self) -> bool:
        """Return whether the disk takes what RocksDB writes when it is opened: its log, sorted."""
        try:
            logs = sum(e.stat().st_size for e in os.scandir(self.path) if e.name.endswith(".log"))
            with tempfile.TemporaryFile(dir=self.path) as file:
                file.write(bytes(logs + _MARGIN))
        except OSError:
            return False
        return True

    def _error(self, done: str, error: Exception) -> StoreError:
        """Return what to raise for what RocksDB has raised; `done` is what cannot be done."""
        text = str(error)
        damaged = "Corruption" in text or "No such file" in text
        kind = CorruptValue if damaged else StoreError
        why = f"it is damaged, or files of it are missing: {text}" if damaged else text
        return kind(f"{self!r} cannot be {done}: {why}")

    def _close(self) -> None:
        try:
            self._db.close()
        except Exception as error:
            raise self._error("closed", error) from error
        finally:
            self._close_files()

    def _close_files(self) -> None:
        os.close(self._confirmed)
        self._lock_file.release()

    def _forget(self) -> None:
        if not hasattr(self, "_db"):
            return
        self._close_files()  # those of this process: the parent still has the lock
        # RocksDB ends the process when it is closed without its threads: it is never freed
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._db))

    def __repr__(self) -> str:
        return f"RocksStore({self.path!r})"
