"""IOA, the Imperative Okasaki Aggregator (section 3.2 of paper 003): FOA without its versions."""

from __future__ import annotations

from typing import Any

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms import lazy_lists
from windrow.algorithms.base import Aggregator
from windrow.algorithms.lazy_lists import NO_LISTS


class Ioa(Aggregator):
    """At most 4 ⊕ an insert, 3 an evict, 1 a query.

        front ─→ [v₀] ─→ [v₁] ─→ [v₂ · suspended: left, right, acc]      back ─→ [vₙ₋₁] ─→ …
                                  ↑ ahead

    A suspended cell is forced in place, one at each operation; there is at most one of them
    (Lemma 3.1), and the cells before it are an ordinary list.
    """

    algorithm = "ioa"
    full_name = "Imperative Okasaki Aggregator"

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._lists = NO_LISTS
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def _insert(self, state: State) -> None:
        self._lists = lazy_lists.inserted(self._combine, self._lists, state)
        self._size += 1

    def _evict(self, k: int) -> None:
        lists = self._lists
        for _ in range(k):
            lists = lazy_lists.evicted(self._combine, lists)
        self._lists = lists
        self._size -= k

    def _query(self) -> State:
        return lazy_lists.total(self._combine, self._lists)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_lists": lazy_lists.packed(self._lists)}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        vars(self).update(saved)
        self._lists = lazy_lists.unpacked(self._combine, saved["_lists"])

    def _check(self) -> None:
        lazy_lists.check_lists(self._lists, self._size)
