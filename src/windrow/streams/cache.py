"""Copies of chunks, so that a worker need not read them from the store.

    DECODED    the tables that this process met last, in memory
    SHARED     encoded chunks that processes of this machine wrote, as files

Spark hands a bucket from worker to worker, and its store gives a megabyte back in 17 ms; a file of
the same bytes is there in one. A copy is known by the stamp of its chunk, which is drawn at random
whenever the chunk is written, and that of a chunk's summary by the stamp's complement. So a copy is
what the store has, or is never asked for; and whatever is missing is read from the store.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from windrow.errors import InvalidArgument

LIMIT = "WINDROW_CHUNK_MEMORY"
_MOST_SHARED = 1 << 26  # bytes in files that one process wrote
_FORGOTTEN = 3600.0  # seconds after which a file of a process that has ended is deleted


def new_stamp() -> int:
    """Return a random number of 63 bits."""
    return int.from_bytes(os.urandom(8)) >> 1


class Recent:
    """The tables of chunks and summaries that this process met last, up to so many bytes."""

    def __init__(self, most: Callable[[], int]) -> None:
        self._most, self.size = most, 0
        self._held: OrderedDict[int, pa.Table] = OrderedDict()

    @property
    def stamps(self) -> set[int]:
        """The stamps of what is held."""
        return set(self._held)

    def get(self, stamp: int) -> pa.Table | None:
        """Return the rows of a chunk, or None if they are not held."""
        rows = self._held.get(stamp)
        if rows is not None:
            self._held.move_to_end(stamp)
        return rows

    def put(self, stamp: int, rows: pa.Table) -> None:
        """Remember the rows of a chunk."""
        self._pop(stamp)
        self._held[stamp] = rows
        self.size += rows.nbytes
        while self.size > self._most():
            self._pop(next(iter(self._held)))

    def drop(self, stamp: int) -> None:
        """Forget a chunk and its summary."""
        self._pop(stamp)
        self._pop(~stamp)

    def clear(self) -> None:
        """Forget all."""
        self._held.clear()
        self.size = 0

    def _pop(self, stamp: int) -> None:
        rows = self._held.pop(stamp, None)
        self.size -= 0 if rows is None else rows.nbytes


class SharedFiles:
    """Encoded chunks in a folder; in none, nothing is kept.

    A process deletes the oldest of its own files beyond `most` bytes. Disks that are full or that
    may not be written to cost time only.
    """

    def __init__(self, most: int = _MOST_SHARED) -> None:
        self._folder: Path | None = None
        self._most, self.size = most, 0
        self._own: OrderedDict[int, int] = OrderedDict()  # bytes by stamp

    def use(self, folder: Path | None) -> None:
        """Keep files in `folder` from now on, which is made if it is not there."""
        if folder == self._folder:
            return
        self._own.clear()
        self.size, self._folder = 0, None
        if folder is not None:
            with contextlib.suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                self._folder = folder
                self._delete_forgotten(folder)

    def get(self, stamp: int) -> bytes | None:
        """Return the bytes of a chunk, or None if no file has them."""
        if self._folder is None:
            return None
        try:
            return self._path(self._folder, stamp).read_bytes()
        except OSError:
            return None

    def put(self, stamp: int, data: bytes) -> None:
        """Write the bytes of a chunk to a file, which others see when it is whole."""
        if self._folder is None:
            return
        path = self._path(self._folder, stamp)
        part = path.with_suffix(".part")
        try:
            part.write_bytes(data)
            part.rename(path)
        except OSError:
            _delete(part)
            return
        self._own[stamp] = len(data)
        self.size += len(data)
        while self.size > self._most:
            self._delete(next(iter(self._own)))

    def drop(self, stamp: int) -> None:
        """Delete the files of a chunk and its summary, whoever wrote them."""
        self._delete(stamp)
        self._delete(~stamp)

    def _delete(self, stamp: int) -> None:
        self.size -= self._own.pop(stamp, 0)
        if self._folder is not None:
            _delete(self._path(self._folder, stamp))

    @staticmethod
    def _path(folder: Path, stamp: int) -> Path:
        return folder / f"{stamp & (1 << 64) - 1:016x}"

    @staticmethod
    def _delete_forgotten(folder: Path) -> None:
        """Delete old files: what they are copies of is gone, or is read from the store again."""
        oldest = time.time() - _FORGOTTEN
        for path in folder.iterdir():
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()


def _delete(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def chunk_memory() -> int:
    """Return how many bytes of decoded chunks a process keeps: WINDROW_CHUNK_MEMORY, in MB."""
    text = os.environ.get(LIMIT, "128")
    try:
        return max(0, int(float(text) * 2**20))
    except (ValueError, OverflowError):
        raise InvalidArgument(
            f"{LIMIT}={text!r}: how many MB of decoded chunks a worker keeps, such as 128"
        ) from None


DECODED, SHARED = Recent(chunk_memory), SharedFiles()
