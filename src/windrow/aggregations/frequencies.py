"""Mode and Histogram: how often values occur."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

from windrow.aggregations.algebra import Listing, RowAlgebra
from windrow.aggregations.base import Aggregation
from windrow.aggregations.kinds import Numeric
from windrow.aggregations.ordering import plain, real
from windrow.aggregations.quantiles import OrderedValues
from windrow.errors import InvalidArgument, whole_number


class Mode(OrderedValues):
    """The value that occurs most often, the smallest of several; NaN equals itself.

    >>> from windrow import aggregator
    >>> swag = aggregator(Mode())
    >>> swag.extend([3, 1, 3, 2, 1])
    >>> swag.query()
    1
    """

    result = "value"
    listing = Listing(ordered=True)
    kernel = "windrow.kernels.ranked:modes"

    def lower(self, state: Any) -> Any:
        runs = (list(run) for _, run in itertools.groupby(state, key=_one_nan))
        return max(runs, key=len, default=[None])[0]


def _one_nan(value: Any) -> Any:
    return value if value == value else math.nan


class Histogram(Numeric):
    """How many values lie in each bin, as a list of counts.

    Bins are given by their `edges`, or are `bins` equal ones from `low` to `high`. A bin includes
    its lower edge, the last one also its upper edge, as NumPy has it; what lies outside of all, and
    NaN, is in none. A window without values has no histogram: null.

    >>> from windrow import aggregator
    >>> swag = aggregator(Histogram(edges=(0, 10, 100)))
    >>> swag.extend([3, 10, 12, 500])
    >>> swag.query()
    [1, 2]
    """

    commutative = True
    invertible = True
    result = "list of int64"
    kernel = "windrow.kernels.ranked:histograms"

    def __init__(
        self,
        *columns: str,
        edges: Sequence[float] | None = None,
        bins: int | None = None,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        super().__init__(*columns)
        if edges is not None and not isinstance(edges, Iterable):
            raise InvalidArgument(f"Histogram: edges must be several numbers, got {edges!r}")
        self.edges = None if edges is None else tuple(map(self._edge, edges))
        self.bins = None if bins is None else whole_number("bins", bins, least=1)
        self.low, self.high = (None if end is None else self._edge(end) for end in (low, high))
        equal = (self.bins, self.low, self.high)
        if (edges is None) == (None in equal) or (edges is not None and equal != (None,) * 3):
            raise InvalidArgument("Histogram: give edges=, or bins=, low= and high=")
        self.limits = self._equal() if self.edges is None else self.edges
        rising = all(a < b for a, b in itertools.pairwise(self.limits))
        if len(self.limits) < 2 or not rising:
            raise InvalidArgument(
                f"Histogram: edges must rise, two of them at least, got {self.limits!r}"
            )

    def _edge(self, edge: Any) -> float:
        edge = plain(edge)
        if isinstance(edge, bool) or not isinstance(edge, int | float) or edge != edge:
            raise InvalidArgument(f"Histogram: an edge must be a number, got {edge!r}")
        return float(edge)

    def _equal(self) -> tuple[float, ...]:
        """Return the edges of equal bins."""
        assert self.bins is not None and self.low is not None and self.high is not None
        width = (self.high - self.low) / self.bins
        return *(self.low + i * width for i in range(self.bins)), self.high

    def checked(self, value: Any) -> Any:
        return real(value, self)

    def unit(self, value: float) -> tuple[int, ...]:
        """Return how many values there are, and how many of them in each bin."""
        place = bisect.bisect_right(self.limits, value) - 1
        last = len(self.limits) - 1
        if value == self.limits[-1]:
            place = last - 1
        here = place if value == value and place < last else -1
        return 1, *(int(i == here) for i in range(last))

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        return tuple(x + y for x, y in zip(a, b, strict=True))

    @staticmethod
    def minus(a: Any, b: Any) -> Any:
        return tuple(x - y for x, y in zip(a, b, strict=True))

    def is_empty(self, state: Any) -> bool:
        return bool(state[0] == 0)

    @staticmethod
    def answer(state: Any) -> Any:
        return list(state[1:])

    def rows(self, dtype: str) -> RowAlgebra:
        width = len(self.limits)
        return RowAlgebra(
            source=(
                "from windrow.kernels.histograms import *\n"
                f"EDGES = np.array({[*map(float, self.limits)]!r}).astype(np.float64)\n"
                "@inner\ndef histogram_unit(x, null, into):\n"
                "    count_in_bin(EDGES, x, null, into)"
            ),
            dtype="int64",
            width=width,
            read="float64",
            unit="histogram_unit",
            plus="histogram_plus",
            minus="histogram_minus",
            answer="histogram_answer",
            copy="row_copy",
            out_dtype="int64",
            out_width=width,
            outputs=("object",),
            answer_is_row=True,
        )

    def from_row(self, row: Any) -> tuple[int, ...]:
        return tuple(row.tolist())

    @classmethod
    def examples(cls) -> list[Aggregation]:
        return [cls(edges=(-2, 0, 1.5, 900))]
