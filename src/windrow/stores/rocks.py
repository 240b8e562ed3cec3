"""RocksDB, by rocksdict: on a local disk, for one process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from windrow.stores.base import Pairs, Store, extra
from windrow.stores.encoding import decode, encode
from windrow.stores.errors import CorruptValue, StoreError, WindowInUse

_MEMTABLE = 4 << 20
_CACHE = 8 << 20
_CONFIRMED = "windrow-confirmed"  # a file beside those of RocksDB


class RocksStore(Store):
    """A RocksDB database in the directory `path`; one process at a time has it.

    A batch is in the write-ahead log when it returns, which outlives the process; `flush` brings
    the log to the disk, which outlives the machine. A damaged log is read up to the damage, and
    RocksDB says nothing: so `flush` notes how far it has come, and a store that has lost some of
    that is refused when it is opened. RocksDB itself takes about 20 MB of memory, whatever the
    windows hold: small write buffers, and a cache for its indexes as well.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as path, RocksStore(path) as store:
    ...     store.put(b"a", b"1"); store.get(b"a")
    b'1'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self._rocks = extra("rocksdict", "rocksdb")
        self.path = os.fspath(path)
        os.makedirs(self.path, exist_ok=True)
        try:
            self._db = self._rocks.Rdict(self.path, self._options())
        except Exception as error:  # rocksdict has no class for it
            if "lock" in str(error).lower():
                raise WindowInUse(f"{self!r} is open already, here or elsewhere: {error}") from None
            raise StoreError(f"{self!r} cannot be opened: {error}") from error
        path = os.path.join(self.path, _CONFIRMED)
        self._confirmed = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0))
        try:
            self._check_confirmed(path)
        except BaseException:
            self._close()
            raise

    def _check_confirmed(self, path: str) -> None:
        """Raise if the database ends before the last change that `flush` has confirmed.

        The file that tells it never changes its length, so that a write to it is there or is not.
        It needs no sync: after a crash of the machine it tells of an earlier change at worst.
        """
        text = os.read(self._confirmed, 1 << 10)
        if not text:
            self._confirm(0)
            os.fsync(self._confirmed)
        elif self._db.latest_sequence_number() < int(decode(text, path)):
            raise CorruptValue(
                f"{self!r} has lost changes that were confirmed: its log is damaged, or files of "
                f"it are missing; bring back a copy, or delete {path} to go on without them"
            )

    def _confirm(self, number: int) -> None:
        os.lseek(self._confirmed, 0, os.SEEK_SET)
        os.write(self._confirmed, encode(f"{number:020}"))

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
        found: bytes | None = self._db.get(key)
        return found

    def get_many(self, wanted: Sequence[bytes]) -> list[bytes | None]:
        self._check_open()
        return list(self._db.get(list(wanted)))

    def batch(self, puts: Pairs, deletes: Iterable[bytes] = (), window: str | None = None) -> None:
        self._check_held(window)
        changes = self._rocks.WriteBatch(raw_mode=True)
        for key, value in puts:
            changes.put(key, value)
        for key in deletes:
            changes.delete(key)
        self._writing(self._db.write, changes)

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        self._check_open()
        entries = self._db.items(from_key=prefix)
        yield from takewhile(lambda entry: entry[0].startswith(prefix), entries)

    def flush(self) -> None:
        self._check_open()
        number = self._db.latest_sequence_number()
        self._writing(self._db.flush_wal, True)
        self._writing(self._confirm, number)

    def _writing(self, call: Any, argument: Any) -> None:
        """Make a call that writes; what it raises becomes a `StoreError`."""
        try:
            call(argument)
        except Exception as error:  # a full disk, say
            raise StoreError(f"{self!r} cannot be written: {error}") from error

    def _close(self) -> None:
        self._db.close()
        os.close(self._confirmed)

    def __repr__(self) -> str:
        return f"RocksStore({self.path!r})"
