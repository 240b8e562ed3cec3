"""Twelve digits of what is computed about a mean, far from 0, on every path of the planner.

The results are compared with whole numbers of Python: a float is one of them times a power of 2, so
sums of powers over a window are exact. ``python -m tests.aggregations.test_digits`` prints the
table of docs/aggregations.md.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from windrow import (
    R2,
    Corr,
    Covariance,
    Intercept,
    Kurtosis,
    Mean,
    Skewness,
    Slope,
    StdDev,
    Variance,
    WeightedMean,
    rolling,
    shared,
    sliding,
    window,
)
from windrow.aggregations.base import Aggregation
from windrow.kernels.states import merge, states_of
from windrow.tables.state_numbers import bound_to
from windrow.windows.positions import Windows

OFFSET, N, W = 1e8, 3000, 1000
SCALE = 2**27  # the last bit of a float below 2²⁷ is worth 2⁻²⁶
EVERY: list[Aggregation] = [
    Mean(), WeightedMean(), Variance(), Variance(ddof=0), StdDev(), Skewness(), Skewness(bias=True),
    Kurtosis(), Kurtosis(bias=True), Covariance(), Corr(), Slope(), Intercept(), R2(),
]  # fmt: skip
DOCUMENT = Path(__file__).parents[2] / "docs" / "aggregations.md"


@functools.cache
def sample(n: int = N) -> tuple[Any, Any]:
    """Two columns near 10⁸ that lean, have tails, and go together."""
    rng = np.random.default_rng(17)
    x = OFFSET + rng.exponential(size=n)
    return OFFSET + 0.5 * (x - OFFSET) + 0.3 * rng.exponential(size=n), x


class Exact:
    """Central moments of windows over rows of two columns, as fractions."""

    def __init__(self, y: Any, x: Any) -> None:
        whole = [[int(v * SCALE) for v in column.tolist()] for column in (y, x)]
        assert all(Fraction(v) * SCALE == w for v, w in zip(y.tolist(), whole[0], strict=True))
        origin = int(OFFSET) * SCALE
        ys, xs = ([v - origin for v in column] for column in whole)
        terms = {"y": ys, "x": xs, "xy": [a * b for a, b in zip(ys, xs, strict=True)]}
        terms |= {f"y{k}": [v**k for v in ys] for k in (2, 3, 4)}
        terms |= {"x2": [v * v for v in xs]}
        self.sums = {name: self._running(values) for name, values in terms.items()}

    @staticmethod
    def _running(values: list[int]) -> list[int]:
        made = [0]
        for value in values:
            made.append(made[-1] + value)
        return made

    def moments(self, lo: int, hi: int) -> dict[str, Fraction]:
        """The means, and the sums of powers and products about them, in units of the columns."""
        n = hi - lo
        s = {name: Fraction(of[hi] - of[lo]) for name, of in self.sums.items()}
        m, mx = s["y"] / n, s["x"] / n
        return {
            "n": Fraction(n),
            "my": m / SCALE + int(OFFSET),
            "mx": mx / SCALE + int(OFFSET),
            "yy": (s["y2"] - n * m * m) / SCALE**2,
            "xx": (s["x2"] - n * mx * mx) / SCALE**2,
            "xy": (s["xy"] - n * m * mx) / SCALE**2,
            "y3": (s["y3"] - 3 * m * s["y2"] + 2 * n * m**3) / SCALE**3,
            "y4": (s["y4"] - 4 * m * s["y3"] + 6 * m * m * s["y2"] - 3 * n * m**4) / SCALE**4,
        }

    def result(self, agg: Any, lo: int, hi: int) -> tuple[Decimal, Decimal]:
        """The result to 40 digits, and what its error is measured against."""
        with localcontext(prec=40):
            v = {k: Decimal(f.numerator) / f.denominator for k, f in self.moments(lo, hi).items()}
            made = _results(agg, v)
            if isinstance(agg, Intercept):  # a difference of two that are as large as the offset
                return made, abs(v["my"]) + abs(v["xy"] / v["xx"] * v["mx"])
            return made, abs(made)


def _results(agg: Any, v: dict[str, Decimal]) -> Decimal:
    n = v["n"]
    if isinstance(agg, Mean):
        return v["my"]
    if isinstance(agg, WeightedMean):  # Σ y·x / Σ x
        return v["my"] + v["xy"] / (n * v["mx"])
    if isinstance(agg, Variance):
        variance = v["yy"] / (n - agg.ddof)
        return variance.sqrt() if isinstance(agg, StdDev) else variance
    if isinstance(agg, Skewness):
        g = n.sqrt() * v["y3"] / v["yy"] / v["yy"].sqrt()
        return g if agg.bias else g * (n * (n - 1)).sqrt() / (n - 2)
    if isinstance(agg, Kurtosis):
        excess = n * v["y4"] / v["yy"] ** 2 - 3
        return excess if agg.bias else (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * excess + 6)
    if isinstance(agg, Covariance):
        return v["xy"] / (n - 1)
    if isinstance(agg, Corr):
        return v["xy"] / (v["xx"] * v["yy"]).sqrt()
    if isinstance(agg, R2):
        return v["xy"] ** 2 / (v["xx"] * v["yy"])
    slope = v["xy"] / v["xx"]
    return slope if isinstance(agg, Slope) else v["my"] - slope * v["mx"]


# -- the paths ---------------------------------------------------------------------------------

Found = tuple[Any, Any, Any]  # results, and where their windows begin and end
PATHS: dict[str, Callable[[Aggregation], Found]] = {}


def path(name: str) -> Callable[[Callable[[Aggregation], Found]], Callable[[Aggregation], Found]]:
    def keep(function: Callable[[Aggregation], Found]) -> Callable[[Aggregation], Found]:
        PATHS[name] = function
        return function

    return keep


def arrays(agg: Aggregation) -> Any:
    return sample() if agg.arity == 2 else sample()[0]


def of_columns(agg: Aggregation) -> Aggregation:
    return bound_to(agg, *("y", "x")[: agg.arity])


def frame() -> pa.Table:
    y, x = sample()
    return pa.table({"t": np.arange(N), "y": y, "x": x})


def ends(rows: int = W) -> tuple[Any, Any]:
    hi = np.arange(1, N + 1)
    return np.maximum(hi - rows, 0), hi


@path("rows")
def by_rows(agg: Aggregation) -> Found:
    return rolling(arrays(agg), agg, rows=W), *ends()


@path("time")
def by_time(agg: Aggregation) -> Found:
    return rolling(arrays(agg), agg, range=W - 1, at=np.arange(N)), *ends()


@path("frames")
def by_frames(agg: Aggregation) -> Found:
    at = np.arange(N)
    made = sliding(order_by="t", rows=(-W, W // 2), out=of_columns(agg))(frame())
    lo, hi = np.maximum(at - W, 0), np.minimum(at + W // 2 + 1, N)
    return made["out"].to_numpy(), lo, hi


@path("hopping")
def by_slices(agg: Aggregation) -> Found:
    made = sliding(order_by="t", range=W, slide=70, out=of_columns(agg))(frame())
    lo, hi = (np.clip(made[f"window_{end}"].to_numpy(), 0, N) for end in ("start", "end"))
    return made["out"].to_numpy(), lo, hi


@path("shared")
def by_shared_slices(agg: Aggregation) -> Found:
    one, two = (
        sliding(order_by="t", range=size, slide=70, out=of_columns(agg)) for size in (W, 500)
    )
    made, _ = shared(one, two)(frame())
    lo, hi = (np.clip(made[f"window_{end}"].to_numpy(), 0, N) for end in ("start", "end"))
    return made["out"].to_numpy(), lo, hi


@path("states")
def by_states(agg: Aggregation) -> Found:
    """As slices that were sent, kept or stored are merged."""
    given = arrays(agg)
    columns = list(given) if agg.arity == 2 else [given]
    edges = np.arange(0, N, 50)
    slices = Windows(np.array([0, N]), lo=edges, hi=edges + 50)
    parts = states_of(agg, columns, slices)
    merged = merge(agg, ["float64"] * agg.arity, parts, Windows(np.array([0, 60]), rows=20))
    hi = 50 * np.arange(1, 61)
    return merged.values, np.maximum(hi - W, 0), hi


@path("pushed")
def by_pushing(agg: Aggregation) -> Found:
    pushed = window(agg, rows=W)
    y, x = (column.tolist() for column in sample())
    values = zip(y, x, strict=True) if agg.arity == 2 else y
    return np.array([pushed.push(v) for v in values], float), *ends()


# -- what they lose ----------------------------------------------------------------------------


@functools.cache
def exact() -> Exact:
    return Exact(*sample())


def worst(agg: Aggregation, way: str, step: int = 37) -> float:
    """The largest relative error over windows of 100 values and more."""
    made, lo, hi = PATHS[way](agg)
    assert len(made) == len(lo)
    most = 0.0
    for i in range(0, len(made), step if len(made) > 200 else 1):
        if hi[i] - lo[i] >= 100:
            right, size = exact().result(agg, int(lo[i]), int(hi[i]))
            most = max(most, float(abs(Decimal(float(made[i])) - right) / size))
    return most


def documented() -> dict[str, dict[str, float]]:
    """The table of the document, by aggregation and path."""
    text = DOCUMENT.read_text("utf-8").partition("| relative error |")[2]
    names, _, *rows = [line for line in text.splitlines() if line.strip()][:20]
    paths = [name.strip() for name in names.strip(" |").split("|")]
    found = {}
    for row in rows:
        if not row.startswith("| `"):
            break
        first, *cells = (cell.strip() for cell in row.strip("| ").split("|"))
        errors = {
            p: float(c.replace("·10", "e").translate(_UP))
            for p, c in zip(paths, cells, strict=True)
        }
        for name in re.findall(r"`(\w+)`", first):
            found[name] = errors
    return found


_UP = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def test_the_document_promises_twelve_digits() -> None:
    told = documented()
    assert set(told) == {type(agg).__name__ for agg in EVERY}
    assert all(set(errors) == set(PATHS) for errors in told.values())
    assert all(error <= 1e-12 for errors in told.values() for error in errors.values())


@pytest.mark.parametrize("way", PATHS)
@pytest.mark.parametrize("agg", EVERY, ids=repr)
def test_digits(agg: Aggregation, way: str) -> None:
    assert worst(agg, way) <= min(1e-12, 10 * documented()[type(agg).__name__][way])


def test_a_long_window_has_them_too() -> None:
    """Windows of 50,000 rows."""
    y, x = sample(60_000)
    known = Exact(y, x)
    for agg in EVERY:
        made = rolling((y, x) if agg.arity == 2 else y, agg, rows=50_000)
        for i in (49_999, 55_555, 59_999):
            right, size = known.result(agg, i - 49_999, i + 1)
            assert abs(Decimal(float(made[i])) - right) <= size * Decimal("1e-12"), agg


def _shown(error: float) -> str:
    """A bound of one digit, twice the error: other machines add up in other orders."""
    bound = float(f"{max(2 * error, 1e-16):.0e}")
    bound += 10.0 ** math.floor(math.log10(bound)) * (bound < 2 * error)
    power = math.floor(math.log10(bound * 1.01))
    digit = round(bound / 10**power)
    text = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{digit}·10{text}"


def main() -> None:
    """Print the table."""
    groups: dict[str, list[Aggregation]] = {}
    for agg in EVERY:
        groups.setdefault(type(agg).__name__, []).append(agg)
    print(f"| relative error | {' | '.join(PATHS)} |\n|---|{'---|' * len(PATHS)}")
    for name, members in groups.items():
        cells = [_shown(max(worst(agg, way) for agg in members)) for way in PATHS]
        print(f"| `{name}` | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
