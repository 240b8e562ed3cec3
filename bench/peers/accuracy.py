"""How exact sums, means and deviations of arrays are: ours and those of other libraries."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from bench.experiment import Clock, Experiment, Settings
from bench.measure import failure
from bench.peers.libraries import COMPARISONS, Data
from bench.points import Figure, Point
from bench.results import OURS

UNIT = "relative error"
LARGEST = Figure("largest error", "largest relative error of 200 windows", "question", UNIT)
MEAN = Figure("mean error", "root mean square of the relative errors", "question", UNIT)
CENTRES = {"N(0, 1)": 0.0, "1e+08 + N(0, 1)": 1e8}
EXACT_PEERS = (OURS, "pandas", "bottleneck", "numbagg", "polars")
SAMPLES = 200


def accuracy(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Sums, means and deviations of values around 0, and of values far from it."""
    n = settings.size(4_000_000, 400_000)
    for values, centre in CENTRES.items():
        data = Data(centre + np.random.default_rng(1).standard_normal(n))
        for question in ("sum", "mean", "stddev"):
            for w in settings.windows((64, 1024), n):
                x = f"{question}, w = {w}, {values}"
                if clock.over:
                    yield from (f.missing(a, x) for a in EXACT_PEERS for f in (LARGEST, MEAN))
                else:
                    yield from _errors(data, question, w, x)


def _errors(data: Data, question: str, w: int, x: str) -> Iterator[Point]:
    rows = np.random.default_rng(2).integers(w - 1, data.values.size, SAMPLES)
    rows[-1] = data.values.size - 1
    exact = exact_results(question, data.values, rows, w)
    for name in EXACT_PEERS:
        try:
            results = np.asarray(COMPARISONS[question][name](data, w))[rows]
            errors = relative_errors(results, exact)
        except Exception as error:
            yield LARGEST.missing(name, x, failure(error))
            yield MEAN.missing(name, x, failure(error))
            continue
        yield LARGEST.point(name, x, max(errors), samples=SAMPLES)
        rms = math.sqrt(statistics.fmean(e * e for e in errors))
        yield MEAN.point(name, x, rms, samples=SAMPLES)


def exact_results(
    question: str, values: NDArray[np.float64], rows: NDArray[np.int64], w: int
) -> list[Decimal]:
    """Return the results of some rows to 60 digits, from sums in whole numbers."""
    mantissa, exponent = np.frexp(values)
    lowest = int(exponent.min())
    whole = (np.ldexp(mantissa, 53)).astype(np.int64).tolist()
    shifts = (exponent - lowest).tolist()
    edges = set((rows + 1).tolist()) | set((rows + 1 - w).tolist())
    before: dict[int, tuple[int, int]] = {}  # position: the sums of all values before it
    total = squares = 0
    for position, (m, shift) in enumerate(zip(whole, shifts, strict=True)):
        if position in edges:
            before[position] = total, squares
        value = m << shift
        total += value
        squares += value * value
    before[len(whole)] = total, squares
    results = []
    with localcontext(prec=60):
        unit = Decimal(2) ** (lowest - 53)
        for row in rows.tolist():
            (s0, q0), (s1, q1) = before[row + 1 - w], before[row + 1]
            s, q = s1 - s0, q1 - q0
            if question == "stddev":
                results.append((Decimal(w * q - s * s) / (w * (w - 1))).sqrt() * unit)
            else:
                results.append(Decimal(s) * unit / (w if question == "mean" else 1))
    return results


def relative_errors(results: NDArray[np.float64], exact: list[Decimal]) -> list[float]:
    """Return how far each result is from the exact one, by its size."""
    missing = int(np.isnan(results).sum())
    if missing:
        raise ArithmeticError(f"NaN in {missing} of {len(exact)}")
    pairs = zip(results.tolist(), exact, strict=True)
    return [abs(float((Decimal(result) - true) / true)) for result, true in pairs]


ACCURACY = Experiment(
    "arrays accuracy",
    "how far results are from exact ones",
    f"{SAMPLES} windows sampled from 4,000,000 values (400,000 in a quick run), against exact "
    "arithmetic: the largest relative error, and the root mean square of all.",
    (LARGEST, MEAN),
    accuracy,
    weight=0.5,
)
