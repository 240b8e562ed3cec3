"""What the algorithms share that keep values in the order of their times, whenever they come."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from windrow.aggregations.base import State
from windrow.algorithms.base import NOTHING, Aggregator, no_time, no_times, times_of
from windrow.errors import InvalidArgument


class TimedAggregator(Aggregator):
    """A window in the order of its values' times; those of equal time in that of their arrival."""

    out_of_order = True
    keeps_times = True
    several_ranges = True

    def insert(self, value: Any, at: Any = None) -> None:
        """Add `value` as the newest, or at the place that its time `at` gives it (after equals)."""
        families = self.families_with(value, self._families if len(self) else None)
        state = self.aggregation.lift(value)
        if at is None:
            at = self._newest_time()
        else:
            self._check_time("insert", at)
        self._put(state, at)
        self._families = families

    def extend(self, values: Iterable[Any], at: Iterable[Any] | None = None) -> None:
        """Insert all of `values`; with `at`, a time for each, at their places, whatever the order.

        What changes is aggregated once: with fiba O(m + m·log(n/m)) ⊕ for m values, with flatfat at
        most n + m, as its slots must move.
        """
        states, families = self._lifted(values)
        if at is None:
            self._put_all([(state, self._newest_time()) for state in states])
        else:
            times = times_of(len(states), at)
            for time in times:
                self._check_time("extend", time)
            order = sorted(range(len(times)), key=times.__getitem__)
            self._put_all([(states[i], times[i]) for i in order])
        if states:
            self._families = families

    def evict(self, k: int = 1, *, at: Any = None) -> None:
        """Remove the `k` oldest values; with `at`, the oldest value of that time.

        `at` may be a list or an array of times: as if they were evicted one by one, but all or
        none of them, and what changes is aggregated once.
        """
        if at is None:
            super().evict(k)
            return
        times = list(at) if isinstance(at, list) or getattr(at, "ndim", 0) == 1 else [at]
        for time in times:
            self._check_time("evict", time)
        self._remove_all(sorted(times))

    def query_between(self, start: Any = None, end: Any = None) -> Any:
        """Return the aggregate of the values whose times lie in [start, end]; None is no limit.

        O(log n) ⊕.

        >>> from windrow import Concat, aggregator
        >>> swag = aggregator(Concat(), algorithm="fiba")
        >>> swag.extend("acdb", at=[1, 3, 4, 2])
        >>> swag.query_between(2, 3), swag.query_between(start=3)
        ('bc', 'cd')
        """
        for limit in (start, end):
            if limit is not None:
                self._check_time("query_between", limit)
        state = self._query_between(start, end)
        return self.aggregation.lower(self.aggregation.identity if state is NOTHING else state)

    def count_older(self, goes: Callable[[Any], object]) -> int:
        """Return how many of the oldest values have times that satisfy `goes`: one look at each."""
        return sum(1 for _ in itertools.takewhile(goes, self.times()))

    def _check_time(self, operation: str, at: Any) -> None:
        """Raise if a time has no place among those of the window."""
        if at is None or at != at:  # as NaN and NaT
            raise no_time(operation, at)
        if len(self) and self._newest_time() is None:
            if operation in ("insert", "extend"):
                raise no_times(operation, at)
            raise InvalidArgument(
                f"{operation}: the window's values have no times, so none is at {at!r}"
            )

    def _insert(self, state: State) -> None:
        self._put(state, self._newest_time())

    # -- what an algorithm implements -------------------------------------------------------

    @abstractmethod
    def times(self) -> Iterator[Any]:
        """Yield the times of the values, oldest first; the window must not change meanwhile."""

    @abstractmethod
    def _newest_time(self) -> Any:
        """Return the newest value's time; None if there is none."""

    @abstractmethod
    def _put(self, state: State, at: Any) -> None:
        """Insert a state behind all whose times are not after `at`; None is as new as any."""

    @abstractmethod
    def _put_all(self, entries: list[tuple[State, Any]]) -> None:
        """Insert states with their times, which are in order, each as `_put` does."""

    @abstractmethod
    def _remove_all(self, times: list[Any]) -> None:
        """Remove the oldest value of each of these times, which are in order."""

    @abstractmethod
    def _query_between(self, start: Any, end: Any) -> State:
        """Return the ⊕ of the states whose times lie in [start, end]; None is no limit."""


def no_such_time(at: Any) -> InvalidArgument:
    """Return the error for a time to evict that no value has."""
    return InvalidArgument(f"evict: no value in the window has the time {at!r}")
