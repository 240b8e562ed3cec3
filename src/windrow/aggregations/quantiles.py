"""Median, Quantile, TopK and BottomK: exact results of what stands where in the order of values.

A state of the first two is all values of a part in their order, so it grows with the window;
`MomentSketch` estimates quantiles from a few numbers. A state of TopK is its k values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from windrow.aggregations.algebra import Listing, SqlName
from windrow.aggregations.base import Aggregation, Takes
from windrow.aggregations.kinds import Ordered
from windrow.aggregations.ordering import in_order, plain, real
from windrow.errors import InvalidArgument, choice, whole_number

# What a quantile is whose place lies between two values, as NumPy names them.
INTERPOLATIONS = ("linear", "midpoint", "lower", "higher", "nearest", "inverted_cdf")
_LINEAR, _MIDPOINT, _LOWER, _HIGHER, _NEAREST, _CDF = range(6)
# Those of them that need not be one of the values.
CONTINUOUS = (_LINEAR, _MIDPOINT)


def place_of(n: int, share: float, how: int) -> tuple[int, float]:
    """Return which of n values, from 0, is the quantile, and how far it lies towards the next.

    `how` is an index of `INTERPOLATIONS`; `windrow.kernels.special.ranked` compiles this.

    >>> place_of(4, 0.5, INTERPOLATIONS.index("linear"))
    (1, 0.5)
    """
    if how == _CDF:  # the first value that a share of them do not exceed
        return max(1, n - math.floor(n - share * n)) - 1, 0.0
    exact = share * (n - 1)
    k = math.floor(exact)
    further = exact - k
    if how == _LINEAR:
        return k, further
    if how == _MIDPOINT:
        return k, 0.5 if further > 0 else 0.0
    if how == _HIGHER and further > 0:
        return k + 1, 0.0
    if how == _NEAREST and (further > 0.5 or (further == 0.5 and k % 2 == 1)):
        return k + 1, 0.0
    return k, 0.0


def between(a: float, b: float, share: float) -> float:
    """Return what lies so far from a to b, which is not smaller.

    >>> between(1.0, 2.0, 0.25), between(-1.5e308, 1.5e308, 0.5), between(math.inf, math.inf, 0.5)
    (1.25, 0.0, inf)
    """
    apart = b - a
    if a == b:
        return a
    if apart - apart == 0:
        return a + apart * share
    return a * (1 - share) + b * share


def share_of(q: Any, what: str) -> float:
    """Return a share of 0 to 1 as a float; an error speaks of `what`."""
    q = plain(q)
    if isinstance(q, bool) or not isinstance(q, int | float) or not 0 <= q <= 1:
        raise InvalidArgument(f"{what} must be from 0 to 1, got {q!r}")
    return float(q)


def shares_of(q: Any, what: str) -> float | tuple[float, ...]:
    """Return a share, or a tuple of several, one at least.

    >>> shares_of([0, 0.5], "q"), shares_of(1, "q")
    ((0.0, 0.5), 1.0)
    """
    if isinstance(q, str) or not isinstance(q, Sequence):
        return share_of(q, what)
    if not q:
        raise InvalidArgument(f"{what} must have a share at least, got {q!r}")
    return tuple(share_of(share, what) for share in q)


class OrderedValues(Ordered):
    """Base of results that follow from all values in their order: these are the state."""

    commutative = True
    bounded = False
    identity: Any = ()

    def unit(self, value: Any) -> Any:
        return (value,)

    def combine(self, a: Any, b: Any) -> Any:
        return self.fold((a, b))

    def fold(self, states: Iterable[Any]) -> Any:
        """By one sort, which is linear where parts are in order already."""
        return tuple(in_order(itertools.chain.from_iterable(states)))


class Quantile(OrderedValues):
    """The exact quantile at the share `q` of 0 to 1; for a list of shares, a list of quantiles.

    `interpolation` says what it is where its place q·(n − 1) lies between two values: "linear"
    between them, their "midpoint", the "lower", the "higher", the "nearest" (the one at the even
    place if both are as near); or "inverted_cdf", the first value that a share q of all do not
    exceed, SQL's PERCENTILE_DISC. The first two take numbers and answer floats, the others take
    anything with an order and answer one of the values. A NaN is larger than any number.

    >>> from windrow import aggregator
    >>> swag = aggregator(Quantile(q=(0.5, 0.75)))
    >>> swag.extend([1, 2, 3, 11])
    >>> swag.query()
    [2.5, 5.0]
    """

    takes: Takes = "number"
    sql_names = {
        **dict.fromkeys(("QUANTILE_CONT", "PERCENTILE", "PERCENTILE_CONT"), SqlName({}, ("q",))),
        **dict.fromkeys(
            ("QUANTILE_DISC", "PERCENTILE_DISC"),
            SqlName({"interpolation": "inverted_cdf"}, ("q",)),
        ),
    }
    listing = Listing(ordered=True)
    kernel = "windrow.kernels.ranked:quantiles"

    def __init__(
        self, *columns: str, q: float | Sequence[float], interpolation: str = "linear"
    ) -> None:
        super().__init__(*columns)
        name = type(self).__name__
        self.interpolation = choice(f"{name}: interpolation", interpolation, INTERPOLATIONS)
        self.q = shares_of(q, f"{name}: q")
        self.how = INTERPOLATIONS.index(interpolation)
        self.takes = "number" if self.how in CONTINUOUS else "ordered"
        one = "float64" if self.how in CONTINUOUS else "value"
        lists = {"float64": "list of float64", "value": "list"}
        self.result = lists[one] if isinstance(self.q, tuple) else one

    @property
    def shares(self) -> tuple[float, ...]:
        """Return the shares, one or several."""
        return self.q if isinstance(self.q, tuple) else (self.q,)

    def checked(self, value: Any) -> Any:
        return real(value, self) if self.takes == "number" else plain(value)

    def families(self, value: Any) -> tuple[Hashable, ...]:
        return (None,) if self.takes == "number" else super().families(value)

    def lower(self, state: Any) -> Any:
        if not state:
            return None
        quantiles = [self._at(state, share) for share in self.shares]
        return quantiles if isinstance(self.q, tuple) else quantiles[0]

    def _at(self, state: Any, share: float) -> Any:
        k, further = place_of(len(state), share, self.how)
        return between(state[k], state[k + 1], further) if further > 0 else state[k]

    @classmethod
    def examples(cls) -> list[Aggregation]:
        return [cls(q=(0.25, 0.9)), cls(q=0.5, interpolation="inverted_cdf")]


class Median(Quantile):
    """The exact median of numbers: the middle one, or the mean of the two in the middle.

    >>> from windrow import aggregator
    >>> swag = aggregator(Median())
    >>> swag.extend([5, 1, 2, 100])
    >>> swag.query()
    3.5
    """

    sql_names = {}

    def __init__(self, *columns: str) -> None:
        super().__init__(*columns, q=0.5)

    @classmethod
    def examples(cls) -> list[Aggregation]:
        return [cls()]


class TopK(OrderedValues):
    """The k largest values, the largest first, as a list; equal ones as often as they occur.

    >>> from windrow import aggregator
    >>> swag = aggregator(TopK(k=2))
    >>> swag.extend([3, 9, 4, 9])
    >>> swag.query()
    [9, 9]
    """

    bounded = True
    result = "list"
    sql_names = {"TOP_K": SqlName()}
    kernel = "windrow.kernels.ranked:largest"
    largest = True

    def __init__(self, *columns: str, k: int) -> None:
        super().__init__(*columns)
        self.k = whole_number("k", k, least=1)

    @property
    def listing(self) -> Listing | None:  # type: ignore[override]
        return Listing(top=self.k if self.largest else -self.k)

    @property
    def spark_fields(self) -> Mapping[str, str]:  # type: ignore[override]
        rising = str(not self.largest).lower()
        kept = f"slice(sort_array(collect_list({{0}}), {rising}), 1, {self.k})"
        return {self.listing.field: kept} if self.listing else {}

    def fold(self, states: Iterable[Any]) -> Any:
        ordered = super().fold(states)
        return ordered[: -self.k - 1 : -1] if self.largest else ordered[: self.k]

    def lower(self, state: Any) -> Any:
        return list(state) or None

    @classmethod
    def examples(cls) -> list[Aggregation]:
        return [cls(k=3)]


class BottomK(TopK):
    """The k smallest values, the smallest first, as a list; equal ones as often as they occur."""

    sql_names = {"BOTTOM_K": SqlName()}
    kernel = "windrow.kernels.ranked:smallest"
    largest = False
