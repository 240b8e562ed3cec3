"""The Reactive Aggregator (section 5 of paper 000): a window on FlatFAT, in any order of time."""

from __future__ import annotations

import heapq
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING, SMALLEST, shrunk
from windrow.algorithms.flatfat import FlatFAT
from windrow.algorithms.timed import TimedAggregator, no_such_time


class ReactiveAggregator(TimedAggregator):
    """O(log n) ⊕ an operation, at most n + m for m at once; values come and go anywhere.

    The slots of a FlatFAT are a circular buffer from `_front`, `_span` slots long; an evicted
    value leaves a hole (⊥). Read in the order of the window:

        slot     0    1    2    3    4    5    6    7
               ┌────┬────┬────┬────┬────┬────┬────┬────┐
               │ v₃ │ v₄ │ ⊥  │ ⊥  │ ⊥  │ v₀ │hole│ v₂ │   inverted: suffix(5) ⊕ prefix(1)
               └────┴────┴────┴────┴────┴────┴────┴────┘
                      ↑ back              ↑ front

    Full: compacted if at most ¾ of it are values, else doubled. Below ¼: halved. So the cost of
    moving everything is paid by the events that made it necessary.

    `insert(value, at=t)` puts a late value at its place in time, `evict(at=t)` removes the oldest
    value of time t.

    >>> from windrow import Concat, aggregator
    >>> swag = aggregator(Concat(), algorithm="flatfat")
    >>> for at, v in ((1, "a"), (3, "c"), (2, "b")): swag.insert(v, at=at)
    >>> swag.query()
    'abc'
    >>> swag.evict(at=2); swag.query()
    'ac'
    """

    algorithm = "flatfat"
    full_name = "Reactive Aggregator on FlatFAT, the flat fixed-size aggregator"
    prefix_search = True

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._fat = FlatFAT([NOTHING] * SMALLEST, aggregation.combine)
        self._times: list[Any] = [None] * SMALLEST
        self._front = 0
        self._span = 0  # slots in use, holes included
        self._size = 0  # values

    def __len__(self) -> int:
        return self._size

    # -- the data type ----------------------------------------------------------------------

    @property
    def oldest_time(self) -> Any:
        """The time of the oldest value; None where values have no times."""
        return self._time(0) if self._span else None

    def times(self) -> Iterator[Any]:
        """Yield the times of the values, oldest first; the window must not change meanwhile."""
        return map(self._time, self._filled())

    def _newest_time(self) -> Any:
        return self._time(self._span - 1) if self._span else None

    def _put(self, state: State, at: Any) -> None:
        place = self._span if at is None else self._after(at)
        if place == self._span:
            self._append([(state, at)])
        else:
            self._insert_before(place, state, at)

    def _put_all(self, entries: list[tuple[State, Any]]) -> None:
        place = self._after(entries[0][1]) if entries and entries[0][1] is not None else self._span
        if place == self._span:
            self._append(entries)
            return
        later = self._entries(p for p in self._filled() if p >= place)
        merged = list(heapq.merge(later, entries, key=itemgetter(1)))
        if place + len(merged) > self._fat.size:
            self._rebuild(self._entries(p for p in self._filled() if p < place) + merged)
            return
        holes = self._span - place - len(merged)
        states = [*merged, *[(NOTHING, None)] * holes]
        self._write([(self._slot(place + i), *entry) for i, entry in enumerate(states)])
        self._span, self._size = place + len(merged), self._size + len(entries)

    def _remove_all(self, times: list[Any]) -> None:
        places: list[int] = []
        for at, group in itertools.groupby(times):
            wanted = sum(1 for _ in group)
            oldest = list(itertools.islice(self._places_of(at), wanted))
            if len(oldest) < wanted:
                raise no_such_time(at)
            places += oldest
        self._clear(places)

    def _evict(self, k: int) -> None:
        self._clear(list(itertools.islice(self._filled(), k)))

    def _count_while(self, goes: Callable[[State], bool]) -> int:
        """O(log n) ⊕; the values that go are counted one by one, since there may be holes."""
        front = self._front
        places = self._search(self._fat.node, front, front + self._span, goes) - front
        return sum(1 for _ in itertools.takewhile(lambda place: place < places, self._filled()))

    def _query(self) -> State:
        if not self._size:
            return NOTHING
        back = self._slot(self._span - 1)
        if back >= self._front:
            return self._fat.aggregate()
        return self._plus(self._fat.suffix(self._front), self._fat.prefix(back))

    def _query_last(self, last: int) -> State:
        """O(log n), or O(holes) where there are some: they take no part in the count."""
        place, left = self._span, last
        if self._size == self._span:
            place -= last
        else:
            while left:
                place -= 1
                left -= self._fat[self._slot(place)] is not NOTHING
        return self._between(place, self._span)

    def _query_between(self, start: Any, end: Any) -> State:
        first = 0 if start is None else self._from(start)
        return self._between(first, self._span if end is None else self._after(end))

    def _between(self, place: int, past: int) -> State:
        """Return the ⊕ of the places [place, past)."""
        if place >= past:
            return NOTHING
        first, back = self._slot(place), self._slot(past - 1)
        if first <= back:
            return self._fat.between(first, back)
        return self._plus(self._fat.suffix(first), self._fat.prefix(back))

    # -- the circular buffer ----------------------------------------------------------------

    def _slot(self, place: int) -> int:
        """Return the slot of the place-th value of the window, holes counted."""
        return (self._front + place) & (self._fat.size - 1)

    def _time(self, place: int) -> Any:
        return self._times[self._slot(place)]

    def _filled(self) -> Iterator[int]:
        """Yield the places that hold a value, oldest first."""
        return (p for p in range(self._span) if self._fat[self._slot(p)] is not NOTHING)

    def _write(self, entries: list[tuple[int, State, Any]]) -> None:
        """Write states and times to their slots, with one update of the tree."""
        self._update([(slot, state) for slot, state, _ in entries])
        for slot, _, at in entries:
            self._note(self._times.__setitem__, slot, self._times[slot])
            self._times[slot] = at

    def _update(self, writes: list[tuple[int, State]]) -> None:
        """Write states to their slots; the ends of the window are about to change, too."""
        nodes = self._fat.renewed(writes)
        if self._undo is not None:
            self._note(self._fat.write, self._fat.present(nodes))
        self._fat.write(nodes)

    def _clear(self, places: list[int]) -> None:
        """Make holes of places, or lay out anew what remains if it fills less than a quarter."""
        size = self._size - len(places)
        if size < self._fat.size // 4 and self._fat.size > SMALLEST:
            gone = set(places)
            self._rebuild(self._entries(p for p in self._filled() if p not in gone))
            return
        self._update([(self._slot(place), NOTHING) for place in places])
        self._size = size
        self._trim()

    def _append(self, entries: list[tuple[State, Any]]) -> None:
        if self._span + len(entries) > self._fat.size:
            self._rebuild(self._entries(self._filled()) + entries)
            return
        self._write([(self._slot(self._span + i), *entry) for i, entry in enumerate(entries)])
        self._span += len(entries)
        self._size += len(entries)

    def _insert_before(self, place: int, state: State, at: Any) -> None:
        """Shift what lies from `place` on by one slot, up to the next hole, and write there."""
        hole = place
        while hole < self._span and self._fat[self._slot(hole)] is not NOTHING:
            hole += 1
        if hole == self._span == self._fat.size:
            entries = self._entries(self._filled())
            before = sum(filled < place for filled in self._filled())
            entries.insert(before, (state, at))
            self._rebuild(entries)
            return
        moved = [(self._slot(p), self._slot(p - 1)) for p in range(hole, place, -1)]
        writes = [(slot, self._fat[older], self._times[older]) for slot, older in moved]
        self._write([*writes, (self._slot(place), state, at)])
        self._span = max(self._span, hole + 1)
        self._size += 1

    def _trim(self) -> None:
        """Forget holes at both ends."""
        while self._span and self._fat[self._front] is NOTHING:
            self._front = self._slot(1)
            self._span -= 1
        while self._span and self._fat[self._slot(self._span - 1)] is NOTHING:
            self._span -= 1

    def _entries(self, places: Iterable[int]) -> list[tuple[State, Any]]:
        """Return the values at places, and their times."""
        return [(self._fat[slot], self._times[slot]) for slot in map(self._slot, places)]

    def _rebuild(self, entries: list[tuple[State, Any]]) -> None:
        """Lay the entries out anew, without holes: as many slots if they fill at most ¾ of them."""
        size = self._fat.size
        while len(entries) > size * 3 // 4 + 1:
            size *= 2
        size = shrunk(size, len(entries))
        padding = size - len(entries)
        states = [state for state, _ in entries] + [NOTHING] * padding
        fat = FlatFAT(states, self.aggregation.combine)
        self._fat = fat
        self._times = [at for _, at in entries] + [None] * padding
        self._front, self._span, self._size = 0, len(entries), len(entries)

    def _after(self, at: Any) -> int:
        """Return the place behind all values whose time is at most `at`: binary search."""
        return bisect_right(range(self._span), at, key=self._time)

    def _from(self, at: Any) -> int:
        """Return the place before all values whose time is at least `at`: binary search."""
        return bisect_left(range(self._span), at, key=self._time)

    def _places_of(self, at: Any) -> Iterator[int]:
        """Yield the places of the values whose time is `at`, oldest first."""
        place = self._from(at)
        while place < self._span and self._time(place) == at:
            if self._fat[self._slot(place)] is not NOTHING:
                yield place
            place += 1

    def _check(self) -> None:
        values = [self._fat[self._slot(p)] is not NOTHING for p in range(self._span)]
        assert sum(values) == self._size, (values, self._size)
        assert not values or (values[0] and values[-1]), "holes at the ends are trimmed"
        size = self._fat.size
        assert self._size >= size // 4 or size == SMALLEST, (self._size, size)
        outside = range(self._span, size)
        assert all(self._fat[self._slot(p)] is NOTHING for p in outside), "empty slots hold ⊥"
        times = [self._time(p) for p in range(self._span)]
        if times and times[-1] is not None:
            assert all(not b < a for a, b in itertools.pairwise(times)), times
        if self.aggregation.exact:
            self._fat._check()
