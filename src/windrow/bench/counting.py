"""The number of ⊕, exactly: an aggregation that counts its combines, by thread."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

from windrow.aggregations.custom import Custom, aggregation
from windrow.algorithms import aggregator
from windrow.algorithms.base import Aggregator


class Counting:
    """A maximum that counts its ⊕.

    >>> counting = Counting()
    >>> swag = counting.window("recalculate", 5)
    >>> swag.query(), counting.total
    (4, 4)
    """

    def __init__(self) -> None:
        self.by_thread: Counter[int] = Counter()

    @property
    def total(self) -> int:
        """All ⊕ so far, whoever made them."""
        return sum(self.by_thread.values())

    @property
    def here(self) -> int:
        """The ⊕ that this thread waited for."""
        return self.by_thread[threading.get_ident()]

    def _combine(self, a: Any, b: Any) -> Any:
        self.by_thread[threading.get_ident()] += 1
        return a if a >= b else b

    @property
    def max(self) -> Custom:
        """The aggregation."""
        return aggregation(lift=int, combine=self._combine, lower=int, selective=True)

    def window(self, algorithm: str, n: int) -> Aggregator:
        """A window of n values that is full; filling it has been counted."""
        swag = aggregator(self.max, algorithm)
        for i in range(n):
            swag.insert(i)
        return swag
