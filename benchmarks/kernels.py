"""The specialised kernels beside the libraries that offer the same: speed and error.

    python benchmarks/kernels.py [speed] [error] [max] [sum] [var]

Speed: medians of interleaved repeats on 4·10⁶ normal values, the allocation of the output
included. Error: against exact arithmetic, on a sample of rows of 1.5·10⁶ values.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from typing import Any

import bottleneck as bn
import numbagg
import numpy as np
import pandas as pd
import polars as pl
from scipy.ndimage import maximum_filter1d

from windrow.compiled.kernels.minmax import rolling_max_f64
from windrow.compiled.kernels.sums import rolling_sum_f64
from windrow.compiled.kernels.variance import rolling_var_f64

Array = np.ndarray[Any, Any]

LENGTH = 4_000_000
REPEATS = 7
WINDOWS = [8, 64, 1000, 1024, 16_384, 2**20]
ERROR_LENGTH = 1_500_000
ERROR_WINDOWS = [8, 64, 1024, 16_384, 2**20]
OURS = "windrow"


def ours_max(x: Array, w: int) -> Array:
    out = np.empty(x.size)
    rolling_max_f64(x, w, 0, x.size, out)
    return out


def ours_sum(x: Array, w: int) -> Array:
    out = np.empty(x.size)
    rolling_sum_f64(x, w, 0, x.size, out)
    return out


def ours_var(x: Array, w: int) -> Array:
    out = np.empty(x.size)
    rolling_var_f64(x, w, 1, 0, x.size, out)
    return out


def scipy_max(x: Array, w: int) -> Array:
    return maximum_filter1d(x, w, origin=(w - 1) // 2)


CONTESTANTS: dict[str, dict[str, Callable[[Array, int], Any]]] = {
    "max": {
        OURS: ours_max,
        "bottleneck": lambda x, w: bn.move_max(x, w, min_count=1),
        "pandas": lambda x, w: pd.Series(x).rolling(w, min_periods=1).max().to_numpy(),
        "polars": lambda x, w: pl.Series(x).rolling_max(w, min_samples=1).to_numpy(),
        "scipy": scipy_max,
    },
    "sum": {
        OURS: ours_sum,
        "bottleneck": lambda x, w: bn.move_sum(x, w, min_count=1),
        "numbagg": lambda x, w: numbagg.move_sum(x, window=w, min_count=1),
        "pandas": lambda x, w: pd.Series(x).rolling(w, min_periods=1).sum().to_numpy(),
        "polars": lambda x, w: pl.Series(x).rolling_sum(w, min_samples=1).to_numpy(),
    },
    "var": {
        OURS: ours_var,
        "bottleneck": lambda x, w: bn.move_var(x, w, min_count=1, ddof=1),
        "numbagg": lambda x, w: numbagg.move_var(x, window=w, min_count=2),
        "pandas": lambda x, w: pd.Series(x).rolling(w, min_periods=1).var().to_numpy(),
        "polars": lambda x, w: pl.Series(x).rolling_var(w, min_samples=2).to_numpy(),
    },
}


def medians(contestants: dict[str, Callable[[Array, int], Any]], x: Array, w: int) -> Any:
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run(x[:1000], 10)
    for _ in range(REPEATS):
        for name, run in contestants.items():
            begin = time.perf_counter()
            run(x, w)
            times[name].append(time.perf_counter() - begin)
    return {name: float(np.median(t)) for name, t in times.items()}


def speed(kind: str) -> None:
    contestants = CONTESTANTS[kind]
    x = np.random.default_rng(0).normal(size=LENGTH)
    print(f"\n{kind}: 10⁶ values a second, and ours to the fastest other")
    print(f"{'w':>8}" + "".join(f"{name:>12}" for name in contestants) + f"{'ratio':>8}")
    for w in WINDOWS:
        t = medians(contestants, x, w)
        fastest = min(seconds for name, seconds in t.items() if name != OURS)
        figures = "".join(f"{LENGTH / t[name] / 1e6:12.0f}" for name in contestants)
        print(f"{w:8d}{figures}{fastest / t[OURS]:8.2f}", flush=True)


def data_sets(kind: str) -> dict[str, Array]:
    random = np.random.default_rng(1)
    normal = random.normal(size=ERROR_LENGTH)
    sets = {"N(0,1)": normal, "1e8 + N(0,1)": 1e8 + normal}
    if kind == "sum":
        signs = random.choice([-1.0, 1.0], ERROR_LENGTH)
        sets["mixed signs, 1e-6 to 1e10"] = signs * 10 ** random.uniform(-6, 10, ERROR_LENGTH)
        sets["constant 0.1"] = np.full(ERROR_LENGTH, 0.1)
    else:
        jump = normal.copy()
        jump[ERROR_LENGTH // 2 :] += 1e9
        sets["1e9 jump"] = jump
        outlier = normal.copy()
        outlier[ERROR_LENGTH // 4] = 1e12
        sets["1e12 outlier"] = outlier
        sets["constant 0.1"] = np.full(ERROR_LENGTH, 0.1)
    return sets


class Exact:
    """Sums of the values and of their squares in integers, of any window in O(1)."""

    def __init__(self, x: Array) -> None:
        mantissas, exponents = np.frexp(x)
        self.shift = int(53 - exponents.min())
        shifts = (exponents - 53 + self.shift).tolist()
        numbers = (mantissas * 2.0**53).astype(np.int64).tolist()
        integers = [number << shift for number, shift in zip(numbers, shifts, strict=True)]
        self.ones = list(accumulate(integers, initial=0))
        self.squares = list(accumulate((number * number for number in integers), initial=0))

    def sum(self, lo: int, hi: int) -> float:
        return float(Fraction(self.ones[hi] - self.ones[lo], 1 << self.shift))

    def var(self, lo: int, hi: int) -> float:
        n = hi - lo
        one = self.ones[hi] - self.ones[lo]
        square = self.squares[hi] - self.squares[lo]
        return float(Fraction(n * square - one * one, (n * (n - 1)) << (2 * self.shift)))


def error(kind: str) -> None:
    contestants = CONTESTANTS[kind]
    relative = kind == "var"
    print(f"\n{kind}: {'relative' if relative else 'absolute'} error, max / root mean square")
    print(f"{'':26}{'w':>8}" + "".join(f"{name:>19}" for name in contestants))
    for title, x in data_sets(kind).items():
        exact = Exact(x)
        for w in ERROR_WINDOWS:
            rows = np.unique(np.random.default_rng(w).integers(1, x.size, 2000))
            oracle = getattr(exact, kind)
            truth = np.array([oracle(max(0, int(i) - w + 1), int(i) + 1) for i in rows])
            figures = ""
            for run in contestants.values():
                difference = np.abs(np.asarray(run(x, w), float)[rows] - truth)
                if relative and truth.any():
                    difference /= truth
                worst = difference.max()
                rms = np.sqrt((difference**2).mean())
                figures += f"{f'{worst:.1e} / {rms:.1e}':>19}"
            print(f"{title:26}{w:8d}{figures}", flush=True)


def main(words: list[str]) -> None:
    kinds = [kind for kind in CONTESTANTS if kind in words] or list(CONTESTANTS)
    for kind in kinds:
        if "error" not in words or "speed" in words:
            speed(kind)
    for kind in kinds:
        if kind != "max" and ("speed" not in words or "error" in words):
            error(kind)


if __name__ == "__main__":
    main(sys.argv[1:])
