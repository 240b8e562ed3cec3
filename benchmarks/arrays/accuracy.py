"""How far the answers are from exact ones."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from benchmarks.arrays.measuring import Section, Settings, power, table
from windrow.bench.measuring import Row, failure
from windrow.bench.peers.libraries import COMPARISONS, OURS, Data

ACCURACY = [  # question, window, where the values lie
    (question, w, centre)
    for question in ("sum", "mean", "stddev")
    for w in (64, 1024)
    for centre in (0.0, 1e8)
]
SAMPLES = 200


def accuracy(settings: Settings) -> Iterator[Row]:
    for centre in sorted({centre for _, _, centre in ACCURACY}):
        data = Data(settings.values(centre=centre))
        for question, w, at in ACCURACY:
            if at != centre or 2 * w > data.values.size:
                continue
            rows = np.random.default_rng(2).integers(w - 1, data.values.size, SAMPLES)
            rows[-1] = data.values.size - 1
            exact = exact_answers(question, data.values, rows, w)
            errors = {}
            for name in (OURS, "pandas", "bottleneck", "numbagg", "polars"):
                try:
                    got = np.asarray(COMPARISONS[question][name](data, w))[rows]
                    errors[name] = relative_errors(got, exact)
                except Exception as error:
                    errors[name] = {"status": failure(error)}
            yield {"question": question, "window": w, "centre": centre, "n": data.values.size,
                   "errors": errors}  # fmt: skip


def exact_answers(
    question: str, values: NDArray[np.float64], rows: NDArray[np.int64], w: int
) -> list[Decimal]:
    """The answers of some rows, from sums in whole numbers: to 60 digits."""
    mantissa, exponent = np.frexp(values)
    lowest = int(exponent.min())
    whole = (np.ldexp(mantissa, 53)).astype(np.int64).tolist()
    shifts = (exponent - lowest).tolist()
    wanted = set((rows + 1).tolist()) | set((rows + 1 - w).tolist())
    before: dict[int, tuple[int, int]] = {}  # position: the sums of all values before it
    total = squares = 0
    for position, (m, shift) in enumerate(zip(whole, shifts, strict=True)):
        if position in wanted:
            before[position] = total, squares
        value = m << shift
        total += value
        squares += value * value
    before[len(whole)] = total, squares
    answers = []
    with localcontext(prec=60):
        unit = Decimal(2) ** (lowest - 53)
        for row in rows.tolist():
            (s0, q0), (s1, q1) = before[row + 1 - w], before[row + 1]
            s, q = s1 - s0, q1 - q0
            if question == "stddev":
                answers.append((Decimal(w * q - s * s) / (w * (w - 1))).sqrt() * unit)
            else:
                answers.append(Decimal(s) * unit / (w if question == "mean" else 1))
    return answers


def relative_errors(got: NDArray[np.float64], exact: list[Decimal]) -> Row:
    missing = int(np.isnan(got).sum())
    if missing:
        return {"status": f"NaN in {missing} of {len(exact)}"}
    errors = [abs(float((Decimal(g) - e) / e)) for g, e in zip(got.tolist(), exact, strict=True)]
    rms = math.sqrt(statistics.fmean(e * e for e in errors))
    return {"status": "ok", "max": max(errors), "rms": rms, "samples": len(errors)}


def show_accuracy(rows: list[Row]) -> str:
    names = list(rows[0]["errors"])
    lines = []
    for row in rows:
        errors = row["errors"]
        best = min((e["max"] for e in errors.values() if "max" in e), default=0.0)
        cells = []
        for name in names:
            e = errors[name]
            text = f"{e['max']:.1e} ({e['rms']:.1e})" if "max" in e else e["status"]
            cells.append(f"**{text}**" if e.get("max") == best else text)
        values = f"{row['centre']:.0e} + N(0, 1)" if row["centre"] else "N(0, 1)"
        lines.append([row["question"], power(row["window"]), values, *cells])
    intro = (
        f"Largest relative error (root mean square) of {SAMPLES} windows sampled from "
        f"{rows[0]['n']:,} values, against exact arithmetic."
    )
    return f"{intro}\n\n{table(['', 'w', 'values', *names], lines)}"


SECTION = Section("Accuracy", accuracy, show_accuracy, "", lambda rows: [])
