"""The nodes of one window in a store: a write buffer, a cache, and the removal of old ones.

    put ──▶ buffer ──commit──▶ sealed ──background──▶ ┌───────┐
                                                      │ store │
    get ◀── buffer, sealed, cache ◀───background───── └───────┘

A node, the ⊕ of the positions [m·2^level, (m+1)·2^level), is written once and never changed.
`commit` seals the buffer together with the window's record, as it is after an operation; one batch
writes sealed nodes and the last of their records, all or nothing. So what a store holds is always
the window after some operation.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from windrow.errors import InvalidArgument, whole_number
from windrow.stores import keys
from windrow.stores.base import Store
from windrow.stores.encoding import decode, encode
from windrow.stores.errors import CorruptValue, StoreError

MISSING: Any = object()
Node = tuple[int, int]  # level, m
_AHEAD = 8  # buffers that may wait for the store; then the window waits
_LEVELS = 64
TIMES = 255  # a level of its own, of the values' times: its node m is that of position m
_BATCH = 1 << 17  # nodes that may be written in one batch; a server takes no commands of any size
_SWEEP = 2048  # positions whose nodes are removed in one batch


class _Sealed(NamedTuple):
    nodes: dict[Node, Any]
    record: Any
    head: int  # nodes that begin before it are not needed any more


class StoredNodes:
    """Nodes by level and position, of which O(log n) are in this process.

    `buffer` nodes are written at once, in the background; `cache` nodes of each level are read
    ahead. What fails in the background is raised by the next call, and tried again by the one
    after it.
    """

    def __init__(self, store: Store, window: str, buffer: int = 512, cache: int = 512) -> None:
        if not isinstance(store, Store):
            raise InvalidArgument(f"store must be a store such as RocksStore, got {store!r}")
        self._buffer_size = whole_number("buffer", buffer, least=1)
        self._cache_size = whole_number("cache", cache, least=2)
        name = keys.name_of(window)
        self._store, self.window = store, window
        self._record_key, self._garbage_key = keys.RECORD + name, keys.GARBAGE + name
        self._prefix = keys.nodes_of(name)
        self._buffer: dict[Node, Any] = {}
        self.head = self._durable_head = 0
        self._evicted = 0  # since the last commit
        self._caches: dict[int, LevelCache] = {}
        self._stored: dict[int, int] = {}  # by level, where the nodes in the store end
        self._arrived: deque[tuple[int, int, Any]] = deque()
        self._sealed: list[_Sealed] = []
        self._change = threading.Condition()  # of what follows, and of _sealed
        self._working = False
        self._failure: BaseException | None = None
        self.closed = False
        store.acquire(window)
        try:
            store.finish_removing(window)
            self.record = self._read(self._record_key, "the record")
            swept = self._read(self._garbage_key, "the mark of what was removed")
            if swept is not MISSING and (not isinstance(swept, int) or swept < 0):
                raise CorruptValue(
                    f"window {window!r} of {store!r}: the mark of what was removed is no position"
                )
        except BaseException:
            store.release(window)
            raise
        self._swept = 0 if swept is MISSING else swept

    # -- nodes --------------------------------------------------------------------------------

    def put(self, level: int, m: int, state: Any) -> None:
        """Write a node, with the next commit. O(1)."""
        self._buffer[level, m] = state

    def get(self, level: int, m: int) -> Any:
        """Return a node that was put: from this process, or from one entry of the store. O(1)."""
        cache = self._caches.get(level)
        if cache is None:
            cache = self._caches[level] = LevelCache(self._cache_size)
        while self._arrived:
            self._keep(*self._arrived.popleft())
        state = cache.nodes.get(m, MISSING)
        if state is MISSING:
            state = self._find(level, m)
        wanted = cache.follow(m, self._stored.get(level, 0))
        if wanted:
            self._store.later(self._read_ahead, level, wanted)
        return state

    def _find(self, level: int, m: int) -> Any:
        where = level, m
        if where in self._buffer:
            return self._buffer[where]
        for sealed in tuple(self._sealed):  # it leaves this list when it is in the store
            if where in sealed.nodes:
                return sealed.nodes[where]
        what = f"node {m} of level {level}"
        state = self._read(self._prefix + keys.node(level, m), what)
        if state is MISSING:
            raise CorruptValue(f"window {self.window!r} of {self._store!r}: {what} is missing")
        self._keep(level, m, state)
        return state

    def _keep(self, level: int, m: int, state: Any) -> None:
        self._caches[level].add(m, state, -(-self.head >> _height(level)))

    def _read_ahead(self, level: int, wanted: range) -> None:
        """Read nodes into the cache, in the background, but for those that have left by now."""
        left = [m for m in wanted if m << _height(level) >= self.head]
        try:
            values = self._store.get_many([self._prefix + keys.node(level, m) for m in left])
            for m, value in zip(left, values, strict=True):
                if value is not None:
                    self._arrived.append((level, m, decode(value)))
        except StoreError:
            pass  # a read that is waited for will raise it

    def _read(self, key: bytes, what: str) -> Any:
        value = self._store.get(key)
        if value is None:
            return MISSING
        return decode(value, f"window {self.window!r} of {self._store!r}: {what}")

    # -- commits ------------------------------------------------------------------------------

    def resume(self, head: int, stored: dict[int, int]) -> None:
        """Set where the window begins, and where each level's nodes end, as its record says."""
        self.head = self._durable_head = head
        self._stored = stored

    def evicted(self, head: int) -> None:
        """Note that the window begins at `head` now."""
        self._evicted += head - self.head
        self.head = head

    def mark(self) -> Callable[[], None]:
        """Return a function that takes back what is put and evicted until the next commit."""
        return partial(self._return, len(self._buffer), self.head, self._evicted)

    def _return(self, size: int, head: int, evicted: int) -> None:
        while len(self._buffer) > size:
            self._buffer.popitem()
        self.head, self._evicted = head, evicted

    @property
    def full(self) -> bool:
        """Return whether it is time for a commit."""
        return len(self._buffer) >= self._buffer_size or self._evicted >= self._buffer_size

    @property
    def waits(self) -> bool:
        """Return whether a commit would have to wait for the store."""
        return len(self._sealed) >= _AHEAD

    def check(self) -> None:
        """Raise what went wrong in the background, once."""
        if self._store.forked:
            self._store.check_process()
        if self.closed:
            raise StoreError(f"window {self.window!r} of {self._store!r} is closed")
        if self._failure is not None:
            self._raise_failure()

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def commit(self, record: Any) -> None:
        """Seal what was put and start writing it; wait only while too many batches are pending."""
        with self._change:
            self._wait(_AHEAD - 1)
            self._sealed.append(_Sealed(self._buffer, record, self.head))
            self._buffer, self._evicted = {}, 0
            self._work()

    def flush(self) -> None:
        """Return when every commit before is in the store, and safe there."""
        with self._change:
            self._failure = None  # it is tried again
            self._wait(0)
        self._store.flush()

    def _wait(self, most: int) -> None:
        """Wait until at most so many buffers are sealed; the caller holds `_change`."""
        while len(self._sealed) > most:
            self._work()
            self._change.wait()
            self._raise_failure()

    def close(self) -> None:
        """Stop the work in the background and let others have the window."""
        with self._change:
            self.closed = True
            while self._working:
                self._change.wait()
        self._store.release(self.window)

    def _work(self) -> None:
        """Start the background work, unless it runs; the caller holds `_change`."""
        if not self._working and not self.closed:
            self._store.later(self._step)
            self._working = True

    def _step(self) -> None:
        """Write one batch, in the background, and start another step if there is more to do."""
        try:
            with self._change:
                sealed = self._next_batch()
            self._write(sealed)
            failure = None
        except BaseException as error:
            failure = error
        with self._change:
            self._working, self._failure = False, failure
            if failure is None:
                del self._sealed[: len(sealed)]
                if self._sealed or self._swept < self._durable_head:
                    with suppress(StoreError):  # the store is being closed
                        self._work()
            self._change.notify_all()

    def _next_batch(self) -> tuple[_Sealed, ...]:
        """Return the oldest sealed buffers, as many as go into one batch, but one at least."""
        count = nodes = 0
        for sealed in self._sealed:
            nodes += len(sealed.nodes)
            if count and nodes > _BATCH:
                break
            count += 1
        return tuple(self._sealed[:count])

    def _write(self, sealed: tuple[_Sealed, ...]) -> None:
        head = sealed[-1].head if sealed else self._durable_head
        puts = [
            (self._prefix + keys.node(level, m), encode(state))
            for nodes, _, _ in sealed
            for (level, m), state in nodes.items()
            if m << _height(level) >= head
        ]
        swept = min(head, self._swept + max(_SWEEP, len(puts)))
        deletes = []
        if swept > self._swept:
            gone = between(self._swept, swept)
            if TIMES in self._stored:
                gone += [(TIMES, m) for m in range(self._swept, swept)]
            deletes = [self._prefix + keys.node(*node) for node in gone]
            puts.append((self._garbage_key, encode(swept)))
        if sealed:
            puts.append((self._record_key, encode(sealed[-1].record)))
        self._store.batch(puts, deletes, self.window)
        for nodes, _, _ in sealed:
            for level, m in nodes:
                self._stored[level] = max(m + 1, self._stored.get(level, 0))
        self._swept, self._durable_head = swept, head


def _height(level: int) -> int:
    """Return the level of the tree on which nodes are as long as those of `level`."""
    return 0 if level == TIMES else level


def between(start: int, end: int) -> list[Node]:
    """Return the nodes, of all levels, that begin at positions in [start, end). O(end − start).

    Position 0 begins a node of every level there may be.

    >>> between(5, 9)
    [(0, 5), (0, 6), (0, 7), (0, 8), (1, 3), (1, 4), (2, 2), (3, 1)]
    """
    nodes = []
    level, first, last = 0, start, end
    while first < last and level < _LEVELS:
        nodes += [(level, m) for m in range(first, last)]
        level += 1
        first, last = -(-start >> level), -(-end >> level)
    return nodes


class LevelCache:
    """Nodes by position, at most about twice `capacity`, and which ones to read ahead.

    When values leave one by one, the nodes of a level are read in order, each or every second one.
    Such a run reads ahead 2 more nodes, then 4, 8, … up to `capacity`, each time that half of the
    last ones are used up. A read elsewhere, as by an eviction of many, starts a new run and reads
    nothing ahead. So a run costs one read a node, and a jump one read. What is not in the store yet
    is not read ahead.

    >>> cache = LevelCache(512)
    >>> [cache.follow(m, stored=17) for m in (10, 11, 12, 13, 14)]
    [range(0, 0), range(12, 14), range(0, 0), range(14, 17), range(0, 0)]
    """

    __slots__ = ("_last", "_size", "_wanted", "capacity", "nodes")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.nodes: dict[int, Any] = {}
        self._last = -3  # the last position read
        self._size = 1  # how many were wanted last
        self._wanted = 0  # up to which position they were

    def follow(self, m: int, stored: int) -> range:
        """Note that position m is read; return those before `stored` to read ahead now. O(1)."""
        step = m - self._last
        if not step:
            return range(0)
        self._last = m
        if not 0 < step <= 2:
            self._size, self._wanted = 1, m
            return range(0)
        if 2 * (self._wanted - m) > self._size * step:
            return range(0)
        start = max(self._wanted, m + step)
        if start >= stored:
            return range(0)
        self._size = min(self.capacity, 2 * self._size)
        wanted = range(start, min(stored, start + self._size * step), step)
        self._wanted = start + len(wanted) * step
        return wanted

    def add(self, m: int, state: Any, first: int) -> None:
        """Keep a node; those before `first`, which left the window, make room. Amortised O(1)."""
        self.nodes[m] = state
        if len(self.nodes) > 2 * self.capacity:
            self.nodes = {k: node for k, node in self.nodes.items() if k >= first}
            if 4 * len(self.nodes) > 7 * self.capacity:
                self.nodes = {m: state}  # single reads far from the head, which are rare
