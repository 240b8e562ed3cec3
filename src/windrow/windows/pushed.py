"""What every window has that values are pushed through."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from windrow.algorithms import aggregator
from windrow.algorithms.base import Aggregator, times_of
from windrow.windows import base
from windrow.windows.numbers import loops


def emptied(swag: Aggregator) -> Aggregator:
    """Return an empty window of the same aggregation and algorithm."""
    new = aggregator(swag.aggregation, swag.algorithm)
    new.why = swag.why
    return new


class Window(ABC):
    """A window that values are pushed through; `windrow.window` makes one."""

    def __init__(self, extent: base.Window, swag: Aggregator) -> None:
        self.extent = extent
        self.late = 0  # how many values came too late and were dropped
        self._swag = swag

    @abstractmethod
    def push(self, value: Any, at: Any = None) -> Any:
        """Insert `value`, slide, and return the result."""

    def push_many(self, values: Any, at: Any = None) -> Any:
        """Push each of `values`, with its time in `at`; return an array of the results.

        What has no result is NaN, NaT, None or masked there, as in `rolling`; several aggregations
        give a dict of arrays.

        >>> from windrow import Max, window
        >>> window(Max(), rows=2).push_many([5, 3, 1])
        array([5, 5, 3])
        """
        values = loops().values_of(values)
        if at is None:
            results = [self.push(value) for value in values]
        else:
            times = times_of(len(values), at, "push_many")
            results = [self.push(v, at=t) for v, t in zip(values, times, strict=True)]
        return loops().result_array(self._swag.aggregation, results)

    def query(self) -> Any:
        """Return the aggregate of the window as it is; costs what the algorithm's query costs."""
        return self._swag.query()

    def __len__(self) -> int:
        return len(self._swag)

    def explain(self) -> str:
        """Return what the window holds, what runs, and why.

        >>> from windrow import Max, window
        >>> print(window(Max(), rows=3).explain())
        the last 3 rows, an answer a row; late values are refused
        slick_deque: SlickDeque
        of Max(): commutative, selective, exact
        because its answer is always one of the values: fewer than 2 ⊕ a value
        """
        return f"{self.extent}\n{self._swag.explain()}"

    def __repr__(self) -> str:
        return (
            f"<window of {self._swag.aggregation!r}, {', '.join(base.written(self._arguments()))}, "
            f"by {self._swag.algorithm}: {len(self)} value(s)>"
        )

    def _arguments(self) -> dict[str, Any]:
        return self.extent.arguments()

    def _check(self) -> None:
        self._swag._check()
