"""FOA, the Functional Okasaki Aggregator (section 3.1 of paper 003): a persistent window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms import lazy_lists
from windrow.algorithms.base import NOTHING, Aggregator
from windrow.algorithms.lazy_lists import NO_LISTS, Lists, Packed
from windrow.errors import EmptyWindow


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One state of a window, for ever: operations return new versions and change nothing."""

    aggregation: Aggregation
    lists: Lists = NO_LISTS
    size: int = 0

    def insert(self, value: Any) -> Version:
        """Return the version that has `value` as its newest. At most 4 ⊕."""
        return self.with_state(self.aggregation.lift(value))

    def with_state(self, state: State) -> Version:
        """Return the version that has `state` as its newest."""
        lists = lazy_lists.inserted(self.aggregation.combine, self.lists, state)
        return Version(self.aggregation, lists, self.size + 1)

    def evict(self) -> Version:
        """Return the version without the oldest value. At most 3 ⊕."""
        if not self.size:
            raise EmptyWindow("evict: this version of the window is empty")
        lists = lazy_lists.evicted(self.aggregation.combine, self.lists)
        return Version(self.aggregation, lists, self.size - 1)

    def query(self) -> Any:
        """Return the aggregate of this version. At most 1 ⊕."""
        state = self.total()
        return self.aggregation.lower(self.aggregation.identity if state is NOTHING else state)

    def total(self) -> State:
        """Return the state of all values, NOTHING for none."""
        return lazy_lists.total(self.aggregation.combine, self.lists)

    def __len__(self) -> int:
        return self.size

    def __reduce__(self) -> tuple[Any, ...]:
        return _version, (self.aggregation, lazy_lists.packed(self.lists), self.size)


def _version(aggregation: Aggregation, cells: Packed, size: int) -> Version:
    """Return the version that `Version.__reduce__` took apart."""
    return Version(aggregation, lazy_lists.unpacked(aggregation.combine, cells), size)


class Foa(Aggregator):
    """At most 4 ⊕ an insert, 3 an evict, 1 a query; every earlier version stays valid.

    >>> from windrow import Max, aggregator
    >>> swag = aggregator(Max(), algorithm="foa")
    >>> for v in (5, 2): swag.insert(v)
    >>> before = swag.snapshot()
    >>> swag.evict()
    >>> swag.query(), before.query()
    (2, 5)
    """

    algorithm = "foa"
    full_name = "Functional Okasaki Aggregator"

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._version = Version(aggregation)

    def snapshot(self) -> Version:
        """Return the window as it is now, for ever. O(1)."""
        return self._version

    def __len__(self) -> int:
        return self._version.size

    def _insert(self, state: State) -> None:
        self._version = self._version.with_state(state)

    def _evict(self, k: int) -> None:
        version = self._version
        for _ in range(k):
            version = version.evict()
        self._version = version

    def _query(self) -> State:
        return self._version.total()

    def _check(self) -> None:
        lazy_lists.check_lists(self._version.lists, self._version.size)
