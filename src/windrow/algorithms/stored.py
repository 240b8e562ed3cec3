"""AMTA and Log MTA whose nodes lie in a store (sections 4.1.5 and 4.2 of paper 001)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property, partial
from operator import index
from typing import Any, NoReturn, cast

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.amta import Amta
from windrow.algorithms.base import NOTHING, Result
from windrow.algorithms.chunked_queue import ChunkedQueue
from windrow.algorithms.levels import LevelledTree
from windrow.algorithms.log_mta import LogMta
from windrow.errors import InvalidArgument, Unsupported
from windrow.stores.base import Closing, Store
from windrow.stores.encoding import check_storable
from windrow.stores.errors import CorruptValue, StoreError
from windrow.stores.nodes import MISSING, TIMES, StoredNodes

_MOST = 1 << 16  # values of one `extend`: they and the nodes above them are one batch of the store


class StoredLevel(ChunkedQueue):
    """A level whose middle lies in a store.

         first        the store, by `StoredNodes`          tail
        ┌─────┐  ┌──────────────────────────────────┐    ┌─────┐
        │ 5   │  │ 6    7    8    …    40    41     │    │ 42  │
        └─────┘  └──────────────────────────────────┘    └─────┘
         ↑ head                                                 ↑ end = 43

    The ends are in this process, because Log MTA changes them. A tail goes to the store when
    another one takes its place, and is never changed again. The one before the tail is remembered,
    since Log MTA's inserts read it.
    """

    __slots__ = ("_before", "_first", "_level", "_nodes", "_tail")

    def __init__(self, nodes: StoredNodes, level: int, start: int) -> None:
        super().__init__(start)
        self._nodes, self._level = nodes, level
        self._first: State = NOTHING
        self._tail: State = NOTHING
        self._before: State = NOTHING  # the node before the tail, if it is known

    def __getitem__(self, position: int) -> Any:
        if position == self.end - 1:
            return self._tail
        if position == self.head and self._first is not NOTHING:
            return self._first
        if position == self.end - 2 and self._before is not NOTHING:
            return self._before
        return self._nodes.get(self._level, position)

    def __setitem__(self, position: int, value: Any) -> None:
        if position == self.end - 1:
            self._tail = value
        else:
            self._first = value  # nobody changes what lies between

    def append(self, value: Any) -> None:
        """Put another tail behind the present one. O(1)."""
        if self.end > self.head:
            if self.end - 1 == self.head:
                self._first = self._tail
            self._nodes.put(self._level, self.end - 1, self._tail)
        self._before, self._tail = self._tail, value
        self.end += 1

    def drop(self, k: int) -> None:
        """Remove the k oldest. O(1): the store's old nodes go in the background."""
        if k:
            self.head += k
            self._first = NOTHING

    def mark(self, position: int | None = None) -> Callable[[], None]:
        """Return a function that sets the ends back; no node between them is ever changed."""
        return partial(self._set, self.head, self.end, self._first, self._before, self._tail)

    def _set(self, head: int, end: int, first: State, before: State, tail: State) -> None:
        self.head, self.end = head, end
        self._first, self._before, self._tail = first, before, tail

    def save(self) -> tuple[Any, ...]:
        """Return the ends, as a store can hold them."""
        return self.head, self.end, *_optional(self._first), *_optional(self._tail)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Set the ends to what `save` returned."""
        self.head, self.end, *ends = saved
        self._first, self._tail = _state(ends[:2]), _state(ends[2:])

    def _check(self) -> None:
        assert self.head <= self.end
        assert not self._chunks


class Stored(LevelledTree, Closing):
    """Base of both: the window's record, commits, `flush` and `close`.

    An operation returns when it has changed the window in this process; it is written to the store
    in the background, whole or not at all. What `flush` has confirmed outlives the process, however
    it ends, and the window is opened again by its name.
    """

    def __init__(
        self,
        aggregation: Aggregation,
        *,
        store: Store,
        window: str = "main",
        buffer: int = 512,
        cache: int = 512,
    ) -> None:
        self.store, self.window = store, window
        self.beside: Any = None  # what its owner knows of the window, and has stored with it
        self._nodes = StoredNodes(store, window, buffer, cache)
        try:
            super().__init__(aggregation)
            if self._nodes.record is not MISSING:
                self._load(self._nodes.record)
        except BaseException:
            self._nodes.close()
            raise
        self._nodes.record = None

    # -- operations ---------------------------------------------------------------------------

    def insert(self, value: Any, at: Any = None) -> None:
        """Add `value` as the newest; `at` is its time, which lies in the store as well."""
        check_storable(at)
        super().insert(value, at)

    def _insert(self, state: State) -> None:
        self._settle()
        check_storable(state)
        super()._insert(state)  # type: ignore[safe-super]  # the algorithm stands behind

    def extend(self, values: Iterable[Any], at: Iterable[Any] | None = None) -> None:
        """Insert all of `values`, in order, and write them together; if one cannot be, none is."""
        together = list(itertools.islice(values, _MOST + 1))
        if len(together) > _MOST:
            raise InvalidArgument(
                f"extend: window {self.window!r} lies in {self.store!r} and takes at most {_MOST} "
                f"values in one operation; give them in parts"
            )
        super().extend(together, at)

    def _evict(self, k: int) -> None:
        self._settle()
        super()._evict(k)  # type: ignore[safe-super]
        self._nodes.evicted(self._head)
        if self._undo is None:
            self._begin_removing()

    def atomically(self, steps: Callable[..., Result], *arguments: Any) -> Result:
        """`Aggregator.atomically`; the steps are written to the store together, too."""
        if self._undo is not None:
            return steps(*arguments)
        self._settle()
        result = super().atomically(steps, *arguments)
        self._begin_removing()
        return result

    def _query(self) -> State:
        self._nodes.check()
        return super()._query()  # type: ignore[safe-super]

    def _query_last(self, last: int) -> State:
        self._nodes.check()
        return super()._query_last(last)

    def _settle(self) -> None:
        """Raise what failed in the background, and commit if the buffer is full.

        Between the steps of `atomically` nothing is committed: they may have to be taken back.
        """
        self._nodes.check()
        if self._undo is not None:
            if not self._undo:
                self._undo.append(self._nodes.mark())
        elif self._nodes.full:
            self._nodes.commit(self._save())

    def _begin_removing(self) -> None:
        """Commit if the buffer is full, so that old nodes go even if no operation follows."""
        if self._nodes.full and not self._nodes.waits:
            with suppress(StoreError):  # the store is being closed; the next operation tells
                self._nodes.commit(self._save())

    def count_older(self, goes: Callable[[Any], object]) -> int:
        """Return how many of the oldest values have times that satisfy `goes`: O(log k) reads."""
        self._nodes.check()
        return super().count_older(goes)

    def _queue(self, level: int, start: int) -> ChunkedQueue:
        return StoredLevel(self._nodes, level, start)

    def _times_queue(self, start: int) -> ChunkedQueue:
        return StoredLevel(self._nodes, TIMES, start)

    def flush(self) -> None:
        """Return when the window, as it is now, is safe in its store; raise if it cannot be."""
        self._settle()
        self._nodes.commit(self._save())
        self._nodes.flush()

    def close(self) -> None:
        """`flush`, and let others open the window. If that fails, it stays open.

        In a process that was forked since it was opened, this does nothing: it is the parent's.
        """
        if not self._nodes.closed and not self.store.forked:
            self.flush()
            self._nodes.close()

    def __reduce__(self) -> NoReturn:
        raise Unsupported(
            f"window {self.window!r} lies in {self.store!r} and cannot be copied; close it, and "
            f"open it where it is needed"
        )

    def explain(self) -> str:
        """Return what runs, where it lies, and why."""
        return f"{super().explain()}\nin window {self.window!r} of {self.store!r}"

    @property
    def used(self) -> bool:
        """Return whether there ever was a value in the window."""
        return self._end > 0

    @cached_property
    def _fingerprint(self) -> str:
        return self.aggregation.fingerprint

    # -- the record ---------------------------------------------------------------------------

    def _save(self) -> tuple[Any, ...]:
        """Return the window without its nodes: O(log n) states, as a store can hold them."""
        levels = tuple(level.save() for level in self._levels if isinstance(level, StoredLevel))
        about = self.algorithm, self._fingerprint, self._families
        times = None if self._times is None else cast(StoredLevel, self._times).save()
        results = tuple(self._save_results())
        return *about, self._head, self._end, levels, results, times, self.beside

    def _load(self, record: tuple[Any, ...]) -> None:
        try:
            algorithm, aggregation, families, head, end, levels, results, *more = record
        except (TypeError, ValueError) as error:
            raise self.foreign_record() from error
        wanted = self.algorithm, self._fingerprint
        if (algorithm, aggregation) != wanted:
            raise InvalidArgument(
                f"window {self.window!r} of {self.store!r} holds {algorithm} of {aggregation}, so "
                f"it cannot be opened as {wanted[0]} of {wanted[1]}"
            )
        try:
            if not 0 <= index(head) <= index(end):
                raise ValueError("it ends before it begins")
            self._families, self._head, self._end = families, head, end
            self._levels = [self._loaded(number, saved) for number, saved in enumerate(levels)]
            stored = {number: level.end - 1 for number, level in enumerate(self._levels)}
            more += [None] * (2 - len(more))  # older ones have less
            times, self.beside = more
            if times is not None:
                self._times = self._loaded(TIMES, times)
                stored[TIMES] = self._times.end - 1
            self._load_results(results)
        except (TypeError, ValueError) as error:
            raise self.foreign_record() from error
        self._nodes.resume(head, stored)

    def _loaded(self, number: int, saved: tuple[Any, ...]) -> ChunkedQueue:
        level = StoredLevel(self._nodes, number, 0)
        level.load(saved)
        return level

    def foreign_record(self) -> CorruptValue:
        """Return the error for a record that nothing here has written."""
        return CorruptValue(
            f"window {self.window!r} of {self.store!r}: its record is not one of windrow's"
        )

    def _save_results(self) -> Iterator[Any]:
        """Yield what the algorithm keeps beside its levels."""
        raise NotImplementedError

    def _load_results(self, saved: tuple[Any, ...]) -> None:
        """Take back what `_save_results` gave."""
        raise NotImplementedError


class StoredAmta(Stored, Amta):
    """AMTA with its forest in a store: tails, stack and result pair are here.

    >>> from windrow import Sum, aggregator
    >>> from windrow.stores import MemoryStore
    >>> store = MemoryStore()
    >>> swag = aggregator(Sum(), algorithm="amta", store=store)
    >>> swag.extend(range(1000)); swag.evict(990); swag.close()
    >>> aggregator(Sum(), algorithm="amta", store=store).query() == sum(range(990, 1000))
    True
    """

    full_name = "Amortized Monoid Tree Aggregator, in a store"

    def _save_results(self) -> Iterator[Any]:
        yield from (self._split, _optional(self._r0), _optional(self._r1), tuple(self._stack))

    def _load_results(self, saved: tuple[Any, ...]) -> None:
        self._split, r0, r1, stack = saved
        self._r0, self._r1, self._stack = _state(r0), _state(r1), list(stack)


class StoredLogMta(Stored, LogMta):
    """Log MTA with its tree in a store: both sides of it and the result are here."""

    full_name = "Logarithmic Monoid Tree Aggregator, in a store"

    def _save_results(self) -> Iterator[Any]:
        yield _optional(self._total)

    def _load_results(self, saved: tuple[Any, ...]) -> None:
        (total,) = saved
        self._total = _state(total)


def _optional(state: State) -> tuple[bool, Any]:
    """Return a state, which may be NOTHING, as a store can hold it."""
    return (False, None) if state is NOTHING else (True, state)


def _state(saved: Any) -> State:
    """Return the state that `_optional` was given."""
    there, state = saved
    return state if there else NOTHING
