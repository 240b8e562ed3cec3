"""What a store is: bytes under keys, written in batches that are done whole or not at all."""

from __future__ import annotations

import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from windrow.stores import keys
from windrow.stores.errors import StoreError, WindowInUse

Pairs = Iterable[tuple[bytes, bytes]]


class Closing(ABC):
    """Base of objects that a `with` block closes at its end."""

    @abstractmethod
    def close(self) -> None:
        """Close it; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Store(Closing):
    """Bytes under keys, outside the process; many windows may lie in one.

    A new store needs `get`, `batch`, `scan` and, if it keeps anything, `flush` and `_close`.
    Calls may come from two threads at once. A batch may come twice, when nobody knows whether the
    first one arrived: so it puts values in their place and never adds to them.

    >>> from windrow import Max, aggregator
    >>> from windrow.stores import MemoryStore
    >>> store = MemoryStore()
    >>> with aggregator(Max(), algorithm="amta", store=store, window="plug 7") as swag:
    ...     swag.extend([3, 5, 4])
    >>> with aggregator(Max(), algorithm="amta", store=store, window="plug 7") as swag:
    ...     swag.evict(2); swag.query()
    4
    >>> store.windows()
    ['plug 7']
    """

    def __init__(self) -> None:
        self._held: set[str] = set()
        self._guard = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._closed = False
        self.forked = False  # whether this process has it from its parent, and cannot use it
        _stores.add(self)

    # -- what a store implements --------------------------------------------------------------

    @abstractmethod
    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key`; None if there is none."""

    def get_many(self, wanted: Sequence[bytes]) -> list[bytes | None]:
        """Return the value of each key: by one request, where the store is a server."""
        return [self.get(key) for key in wanted]

    @abstractmethod
    def batch(self, puts: Pairs, deletes: Iterable[bytes] = (), window: str | None = None) -> None:
        """Put and delete: all of it, or nothing if anything fails.

        With `window`, raise `WindowInUse` unless this store still holds that window.
        """

    @abstractmethod
    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield every key that begins with `prefix`, and its value; in any order."""

    def flush(self) -> None:
        """Return when every batch before is as safe as this store can make it."""

    def _close(self) -> None:
        """Close what the store has open."""

    def _forget(self) -> None:
        """Let go of what the parent of this process has open, without closing it."""

    def _lock(self, window: str) -> None:
        """Keep other processes from `window`, or raise `WindowInUse`."""

    def _unlock(self, window: str) -> None:
        """Let other processes have `window`."""

    # -- what follows from it -----------------------------------------------------------------

    def put(self, key: bytes, value: bytes) -> None:
        """Put one value."""
        self.batch([(key, value)])

    def delete(self, key: bytes) -> None:
        """Delete one value; it need not be there."""
        self.batch([], [key])

    def windows(self) -> list[str]:
        """Return the names of the stored windows. O(number of windows)."""
        return sorted(key[1:].decode() for key, _ in self.scan(keys.RECORD))

    def remove(self, window: str) -> None:
        """Delete a window that nobody has open, and all its entries. O(number of entries).

        The window is gone with the first batch. If the rest is interrupted, it is done when the
        name is opened or removed again.
        """
        name = keys.name_of(window)
        self.acquire(window)
        try:
            record = [keys.RECORD + name, keys.GARBAGE + name]
            self.batch([(keys.REMOVED + name, b"1")], record, window)
            self.finish_removing(window)
        finally:
            self.release(window)

    def finish_removing(self, window: str) -> None:
        """Delete the nodes that `remove` has left behind, if any; the caller holds the window."""
        name = keys.name_of(window)
        if self.get(keys.REMOVED + name) is None:
            return
        nodes = [key for key, _ in self.scan(keys.nodes_of(name))]
        for start in range(0, len(nodes), _CHUNK):
            self.batch([], nodes[start : start + _CHUNK], window)
        self.batch([], [keys.REMOVED + name], window)

    def acquire(self, window: str) -> None:
        """Hold `window` until `release`: nobody else can open it meanwhile."""
        self._check_open()
        with self._guard:
            if window in self._held:
                raise WindowInUse(f"window {window!r} of {self!r} is already open in this process")
            self._lock(window)
            self._held.add(window)

    def release(self, window: str) -> None:
        """Let others have `window`."""
        if self.forked:
            return  # it is the parent's
        with self._guard:
            if window in self._held:
                self._held.discard(window)
                self._unlock(window)

    def later(self, call: Callable[..., None], *arguments: Any) -> None:
        """Have the store's one background thread make a call, after all earlier ones."""
        self._check_open()
        with self._guard:
            self._check_open()
            if self._executor is None:
                self._executor = ThreadPoolExecutor(1, thread_name_prefix="windrow-store")
            try:
                self._executor.submit(call, *arguments)
            except RuntimeError:  # it, or the interpreter, is about to end
                raise StoreError(f"{self!r} is being closed") from None

    def close(self) -> None:
        """Close the store. Close its windows first, or they lose what was not flushed."""
        if self._closed or self.forked:
            return
        if self._executor is not None:
            self._executor.shutdown()
        for window in sorted(self._held):
            self.release(window)
        self._closed = True
        self._close()

    def check_process(self) -> None:
        """Raise if this process was forked from the one that opened the store."""
        if self.forked:
            raise StoreError(
                f"{self!r} was opened before this process was forked, and belongs to its parent: "
                f"open a store after the fork"
            )

    def _check_open(self) -> None:
        self.check_process()
        if self._closed:
            raise StoreError(f"{self!r} is closed")

    def _check_held(self, window: str | None) -> None:
        self._check_open()
        if window is not None and window not in self._held:
            raise WindowInUse(f"window {window!r} of {self!r} is not held by this process")


_CHUNK = 4096  # keys that are deleted in one batch
_stores: weakref.WeakSet[Store] = weakref.WeakSet()


def _forget_stores() -> None:
    """Mark the stores that a forked process has from its parent.

    Neither their threads nor their locks came along, so that a call would wait for ever, or write
    into what the parent writes.
    """
    for store in tuple(_stores):
        store.forked = True
        if not store._closed:
            store._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_stores)
