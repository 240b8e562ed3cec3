"""Variance and StdDev from (n, mean, M2), which keeps its digits when the mean is large.

Two parts are combined by the parallel formula of Chan, Golub and LeVeque:

    δ = mean_b − mean_a      mean = mean_a + δ·n_b/n      M2 = M2_a + M2_b + δ²·n_a·n_b/n
"""

from __future__ import annotations

import math
from typing import Any

from windrow.aggregations.base import Aggregation
from windrow.aggregations.kinds import Numeric
from windrow.aggregations.ordering import number
from windrow.errors import InvalidArgument

_MEANING = {0: "population", 1: "sample"}


class Variance(Numeric):
    """The variance: of a sample (`ddof=1`, the default) or of a population (`ddof=0`).

    A sample of one has none: null.

    >>> from windrow import aggregator
    >>> swag = aggregator(Variance(ddof=0))
    >>> for v in (1e9 + 1, 1e9 + 3): swag.insert(v)
    >>> swag.query()
    1.0
    """

    commutative = True
    invertible = True
    exact = False
    exact_on_integers = False

    def __init__(self, *columns: str, ddof: int = 1) -> None:
        super().__init__(*columns)
        if ddof not in _MEANING:
            raise InvalidArgument(
                f"{type(self).__name__}: ddof must be 1 (sample) or 0 (population), got {ddof!r}"
            )
        self.ddof = ddof

    def parameters(self) -> dict[str, Any]:
        return {} if self.ddof == 1 else {"ddof": self.ddof}

    @classmethod
    def _examples(cls) -> list[Aggregation]:
        return [cls(ddof=0), cls(ddof=1)]

    def unit(self, value: Any) -> Any:
        try:
            value = float(number(value, self))
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):  # no distance from it is a number
            return 1, 0.0, 0.0, 1
        return 1, value, 0.0, 0

    def combine(self, a: Any, b: Any) -> Any:
        if a is None:
            return b
        if b is None:
            return a
        n_a, mean_a, m2_a, odd_a = a
        n_b, mean_b, m2_b, odd_b = b
        odd = odd_a + odd_b
        regular_a, regular_b = n_a - odd_a, n_b - odd_b
        if not regular_a or not regular_b:
            mean, m2 = (mean_b, m2_b) if regular_b else (mean_a, m2_a)
            return n_a + n_b, mean, m2, odd
        n = regular_a + regular_b
        delta = mean_b - mean_a
        mean = mean_a + delta * (regular_b / n)
        m2 = m2_a + m2_b + delta * delta * (regular_a * regular_b / n)
        return n_a + n_b, mean, m2, odd

    def inverse(self, total: Any, old: Any) -> Any:
        if old is None:
            return total
        n_all, mean_all, m2_all, odd_all = total
        n_old, mean_old, m2_old, odd_old = old
        n, odd = n_all - n_old, odd_all - odd_old
        if not n:
            return None
        regular, regular_old = n - odd, n_old - odd_old
        if not regular:
            return n, 0.0, 0.0, odd
        if not regular_old:
            return n, mean_all, m2_all, odd
        mean = mean_all + (mean_all - mean_old) * (regular_old / regular)
        delta = mean - mean_old
        shift = delta * delta * (regular * regular_old / (regular + regular_old))
        return n, mean, max(0.0, m2_all - m2_old - shift) if regular > 1 else 0.0, odd

    def lower(self, state: Any) -> Any:
        if state is None or state[0] <= self.ddof:
            return None
        n, _, m2, odd = state
        return math.nan if odd else m2 / (n - self.ddof)


class StdDev(Variance):
    """The standard deviation: of a sample (`ddof=1`, the default) or of a population (`ddof=0`)."""

    def lower(self, state: Any) -> Any:
        variance = super().lower(state)
        return None if variance is None else math.sqrt(variance)
