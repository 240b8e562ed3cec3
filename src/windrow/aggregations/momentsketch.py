"""MomentSketch: quantiles from sums of powers (Gan et al., VLDB 2018).

The state is a handful of sums, so ⊕ adds vectors. The quantiles are those of the density that
has these moments and, among all that do, the largest entropy: it assumes nothing else.

The sums are plain ones, Σ xⁱ and Σ (log x)ⁱ. Moments about the mean would not cancel, but their
⊕ is a binomial transform, many times the work of an addition. What plain sums lose is known
when a quantile is asked for: an error bound goes with each moment, and those that it makes
useless are left out. So values far from 0 against their spread keep fewer moments, but at least
two: the mean and the squares about it are kept as well, where the transform is a line.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from windrow.aggregations.algebra import RowAlgebra
from windrow.aggregations.base import Aggregation
from windrow.aggregations.ordering import real
from windrow.aggregations.quantiles import share_of
from windrow.errors import whole_number

Floats = NDArray[np.float64]
# Of the finite values the number, the least, the largest, the mean and Σ (x - mean)². Then what
# adds up: how many values are NaN, +inf and -inf, Σ x¹ … Σ xᵏ, and of the positive ones
# Σ log(x)¹ … Σ log(x)ᵏ.
Centre = tuple[int, float, float, float, float]
State = tuple[Centre, Floats]
_NOTHING: Centre = (0, math.inf, -math.inf, 0.0, 0.0)
_COUNTS = 3
HUGE = 2.0**960  # larger powers become NaN, so that 2⁶³ smaller ones add up without overflow
_TINY = 2.0**-960  # smaller powers have lost digits
_ROUNDING = 2.0**-52

_MOST = 16  # moments
_TRUSTED = 1e-2  # a moment whose error may be larger is left out; the real one is far smaller
_FITTED = 1e-7  # how near a density's moments must come to those asked for

# Densities live on [-1, 1], cut into cells that are finer towards the ends (Fejér's first rule).
_CELLS = 512
_EDGES: Floats = -np.cos(np.arange(_CELLS + 1) * (math.pi / _CELLS))
_ANGLES = (np.arange(_CELLS) + 0.5) * (math.pi / _CELLS)
_EVEN = 2.0 * np.arange(1, _CELLS // 2 + 1)
_WAVES = np.cos(np.outer(_ANGLES, _EVEN)) / (_EVEN**2 - 1)
_WIDTHS: Floats = (1 - 2 * _WAVES.sum(axis=1)) * 2 / _CELLS
# T₀ … at the middle of each cell, and those of which a product is the mean: Tᵢ₊ⱼ and Tᵢ₋ⱼ.
_POLYNOMIALS = np.ascontiguousarray(chebyshev.chebvander(-np.cos(_ANGLES), 2 * _MOST).T)
_DEGREES = np.arange(_MOST + 1)
_SUMS, _DIFFERENCES = np.add.outer(_DEGREES, _DEGREES), abs(np.subtract.outer(_DEGREES, _DEGREES))
_IN_POWERS = np.array(  # row i: the coefficients of Tᵢ
    [np.pad(chebyshev.cheb2poly(row[: i + 1]), (0, _MOST - i)) for i, row in enumerate(np.eye(17))]
)
_BINOMIALS = np.array([[math.comb(i, j) for j in range(17)] for i in range(17)], float)


class MomentSketch(Aggregation):
    """Estimated quantiles from `order` moments of the values and of their logarithms.

    ``quantiles=0.99`` gives that quantile, a tuple or list of shares gives a tuple of quantiles,
    and without it the result is a `Moments`, which has a method `quantile`. Estimates rise with
    the share and lie between the least and the largest value. On smooth data the share of values
    below them is within 0.01 of the one asked for, within 0.03 in windows of a thousand values.
    It can be far off where no density of few moments fits: on a handful of distinct values, on
    heavy tails to both sides of 0, and on several humps at some hundred times their range from 0.

    A NaN makes all quantiles NaN. Infinities are counted apart: they are the quantiles at the
    ends, and the density is that of the finite values between.

    >>> sketch = MomentSketch(quantiles=(0.5, 0.99))
    >>> median, high = sketch.lower(sketch.fold(map(sketch.lift, range(1001))))
    >>> round(median), round(high)
    (500, 990)
    """

    takes = "number"
    commutative = True
    exact = False
    exact_on_integers = False

    def __init__(
        self,
        *columns: str,
        order: int = 10,
        quantiles: float | tuple[float, ...] | list[float] | None = None,
    ) -> None:
        super().__init__(*columns)
        self.order = whole_number("MomentSketch: order", order, 2, _MOST)
        self.quantiles: float | tuple[float, ...] | None
        if quantiles is None:
            self.quantiles = None
        elif isinstance(quantiles, tuple | list):
            self.quantiles = tuple(share_of(q, "MomentSketch: quantiles") for q in quantiles)
        else:
            self.quantiles = share_of(quantiles, "MomentSketch: quantiles")
        many = isinstance(self.quantiles, tuple)
        one = "moments" if self.quantiles is None else "float64"
        self.result = "list of float64" if many else one

    def unit(self, value: Any) -> State:
        x = real(value, self)
        sums = np.zeros(_COUNTS + 2 * self.order)
        if not math.isfinite(x):
            sums[0 if x != x else 1 if x > 0 else 2] = 1.0
            return _NOTHING, sums
        sums[_COUNTS : _COUNTS + self.order] = _powers(x, self.order)
        if x > 0:
            sums[_COUNTS + self.order :] = _powers(math.log(x), self.order)
        return (1, x, x, x, 0.0), sums

    def plus(self, a: State, b: State) -> State:
        return joined(a[0], b[0]), a[1] + b[1]

    def answer(self, state: State) -> Any:
        moments = _moments(state)
        if self.quantiles is None:
            return moments
        if isinstance(self.quantiles, tuple):
            return tuple(moments.quantile(q) for q in self.quantiles)
        return moments.quantile(self.quantiles)

    def rows(self, dtype: str) -> RowAlgebra:
        width = len(_NOTHING) + _COUNTS + 2 * self.order
        return RowAlgebra(
            source="from windrow.kernels.moments import *",
            dtype="float64",
            width=width,
            read="float64",
            unit="moment_unit",
            plus="moment_plus",
            answer="moment_answer",
            copy="row_copy",
            out_dtype="float64",
            out_width=width,
            outputs=self._output_types(),
            constants=(self.order,),
            answer_is_row=True,
        )

    def _output_types(self) -> tuple[str, ...]:
        """Return the types of results; `Moments`, and tuples of fewer than two, are objects."""
        if isinstance(self.quantiles, float):
            return ("float64",)
        several = self.quantiles is not None and len(self.quantiles) > 1
        return ("float64",) * len(self.quantiles or ()) if several else ("object",)

    def from_row(self, row: Any) -> State:
        centre = len(_NOTHING)
        return (int(row[0]), *row[1:centre].tolist()), row[centre:].copy()


@dataclass(frozen=True)
class Moments:
    """What `MomentSketch` answers: the window's extremes, its mean, and its quantiles.

    `minimum`, `maximum` and `mean` treat NaN and infinities as `Min`, `Max` and `Mean` do.
    """

    count: int
    minimum: float
    maximum: float
    mean: float
    finite: Centre = field(repr=False)
    sums: tuple[float, ...] = field(repr=False)

    def quantile(self, q: float) -> float:
        """Return the value that a share `q` of the values does not exceed, estimated.

        The first call fits the density, in about a millisecond; more cost microseconds.
        """
        q = share_of(q, "Moments.quantile: q")
        nans, ups, downs = self.sums[:3]
        finite, low, high, *_ = self.finite
        if nans:
            return math.nan
        if q == 0 or q * self.count < downs:
            return self.minimum
        if q == 1 or q * self.count > self.count - ups or not finite:
            return self.maximum
        share = (q * self.count - downs) / finite
        if low == high or share >= 1:
            return high
        below, values = self._distribution
        i = int(np.searchsorted(below, share, "right"))
        within = (share - below[i - 1]) / (below[i] - below[i - 1])
        return float(min(values[i - 1] + within * (values[i] - values[i - 1]), values[i]))

    @functools.cached_property
    def _distribution(self) -> tuple[Floats, Floats]:
        """The share of finite values below each of a rising series of values."""
        count, low, high, mean, squares = self.finite
        of_values, of_logs = np.split(np.array(self.sums[_COUNTS:]) / count, 2)
        with np.errstate(all="ignore"):  # what over- or underflows is left out
            moments = _scaled(low, high, of_values, count)
            if len(moments) < 3:
                moments = _scaled(low - mean, high - mean, np.array([0.0, squares / count]), count)
            values = _on_edges(low, high)
            if low > 0:
                log_low, log_high = math.log(low), math.log(high)
                log_moments = _scaled(log_low, log_high, of_logs, count)
                if _spread(log_moments) > _spread(moments):
                    moments, values = log_moments, np.exp(_on_edges(log_low, log_high))
            masses = _largest_entropy(moments)
        below = np.concatenate(([0.0], np.cumsum(masses)))
        return below / below[-1], np.clip(values, low, high)


def joined(a: Centre, b: Centre) -> Centre:
    """Return the centre of two parts; `windrow.kernels.moments` compiles it."""
    if not a[0] or not b[0]:
        return a if a[0] else b
    count = a[0] + b[0]
    apart, share = b[3] - a[3], b[0] / count
    return (
        count,
        min(a[1], b[1]),
        max(a[2], b[2]),
        a[3] + apart * share,
        a[4] + b[4] + apart * apart * share * a[0],
    )


def _moments(state: State) -> Moments:
    finite, low, high, mean, _ = centre = state[0]
    nans, ups, downs = (int(n) for n in state[1][:3])
    minimum = -math.inf if downs else low if finite else math.inf if ups else math.nan
    maximum = math.nan if nans else math.inf if ups else high if finite else -math.inf
    if nans or (ups and downs):
        mean = math.nan
    elif ups or downs:
        mean = maximum if ups else minimum
    count = finite + nans + ups + downs
    return Moments(count, minimum, maximum, mean, centre, tuple(state[1].tolist()))


def _powers(x: float, order: int) -> Floats:
    with np.errstate(over="ignore"):
        powers: Floats = np.power(x, np.arange(1.0, order + 1.0))
    powers[np.abs(powers) > HUGE] = np.nan
    return powers


def _on_edges(low: float, high: float) -> Floats:
    return (low / 2 + high / 2) + (high / 2 - low / 2) * _EDGES


def _scaled(low: float, high: float, means: Floats, count: float) -> Floats:
    """Return the means of T₀, T₁, … of values scaled to [-1, 1], as far as they are trusted.

    Each is a sum of terms that may cancel. Its error is that of the terms: √count roundings.
    """
    centre, radius = low / 2 + high / 2, high / 2 - low / 2
    exponents = np.arange(len(means) + 1)
    scale = radius**exponents
    powers = np.where(scale > _TINY, np.append(1.0, means) / scale, np.nan)
    shifted_by = exponents[:, None] - exponents
    shifts = (-centre / radius) ** np.maximum(shifted_by, 0)
    binomials = _BINOMIALS[: len(powers), : len(powers)]
    terms = np.where(shifted_by >= 0, binomials * powers * shifts, 0.0)
    size = _leading(np.isfinite(np.abs(terms).sum(axis=1)))
    terms, in_powers = terms[:size], _IN_POWERS[:size, :size]
    moments: Floats = in_powers @ terms.sum(axis=1)
    errors = np.abs(in_powers) @ np.abs(terms).sum(axis=1) * (_ROUNDING * math.sqrt(count))
    return moments[: _leading((errors < _TRUSTED) & (np.abs(moments) <= 1))]


def _leading(flags: NDArray[np.bool_]) -> int:
    """Return how many flags are set before the first that is not."""
    return len(flags) if flags.all() else int(np.argmin(flags))


def _spread(moments: Floats) -> float:
    """Return the standard deviation of the scaled values: small if a tail takes most room."""
    return math.sqrt(max((1 + moments[2]) / 2 - moments[1] ** 2, 0)) if len(moments) > 2 else 0.0


def _largest_entropy(moments: Floats) -> Floats:
    """Return the masses of the cells under the density of largest entropy with these moments.

    Where none is found, as for values that are all at a few points, with fewer of them.
    """
    for size in range(_possible(moments), 1, -1):
        masses = _fit(moments[:size])
        if masses is not None:
            return masses
    return _WIDTHS


def _possible(moments: Floats) -> int:
    """Return how many of the moments a density can have.

    The least and the largest value are at -1 and 1. Let c values lie between: as ∫ (1 - x²) p²
    is 0 for a p that is 0 at each of them, the matrix of ∫ (1 - x²) Tᵢ Tⱼ has c pivots that are
    not 0, and only of the degrees to 2c + 1 do densities come as near as one likes.
    """
    size = (len(moments) - 1) // 2
    if not size:
        return len(moments)
    n = np.arange(2 * size - 1)
    weighed = moments[n] / 2 - (moments[n + 2] + moments[np.abs(n - 2)]) / 4
    i = np.arange(size)
    rest = (weighed[i[:, None] + i] + weighed[np.abs(i[:, None] - i)]) / 2
    for pivot in range(size):
        if rest[pivot, pivot] < _FITTED:
            return min(2 * pivot + 2, len(moments))
        column = rest[pivot]
        rest = rest - np.outer(column, column / column[pivot])
    return len(moments)


def _fit(moments: Floats) -> Floats | None:
    """Newton's method on the dual: exp(Σ λᵢ Tᵢ), with the λ that minimise ∫ exp(…) - Σ λᵢ mᵢ.

    That is convex, with the misses of the moments as its gradient; steps are halved until they
    descend.
    """
    size = len(moments)
    polynomials = _POLYNOMIALS[:size]
    weights = np.zeros(size)
    masses: Floats = _WIDTHS
    height = float(masses.sum())
    for _ in range(60):
        means = _POLYNOMIALS[: 2 * size - 1] @ masses
        misses = means[:size] - moments
        if np.abs(misses).max() < _FITTED:
            return masses
        products = (means[_SUMS[:size, :size]] + means[_DIFFERENCES[:size, :size]]) / 2
        try:
            step = np.linalg.solve(products, misses)
        except np.linalg.LinAlgError:
            return None
        descent = float(misses @ step)
        for halvings in range(20):
            trial = weights - step * 0.5**halvings
            masses = _WIDTHS * np.exp(trial @ polynomials)
            trial_height = float(masses.sum() - trial @ moments)
            if trial_height <= height - 1e-4 * 0.5**halvings * descent + 1e-14:
                break
        else:
            return None
        weights, height = trial, trial_height
    return None
