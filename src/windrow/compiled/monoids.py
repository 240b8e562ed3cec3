"""The aggregations as Numba compiles them: tuples of numbers, and functions on them.

They are the same monoids as in `windrow.aggregations`, without what arrays do not need: there are
no nulls in here (the generator adds a count of values where there may be some) and no other types
than float64 and int64. `monoid` tells which functions belong to an aggregation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from numba import njit

from windrow.aggregations.base import Aggregation

# A compiled function is called from generated modules only, and optimised into them there.
small = njit(inline="never", error_model="numpy")


@dataclass(frozen=True)
class Monoid:
    """What the generator needs to know of an aggregation.

    `unit`, `plus`, `answer` and `minus` are names in `source`, a module or a text to embed;
    `fields` the types of a state's fields and `outputs` those of the answer.
    """

    fields: tuple[str, ...]
    outputs: tuple[str, ...]
    unit: str
    plus: str
    answer: str
    minus: str = ""
    constants: tuple[tuple[str, Any], ...] = ()
    unit_columns: int = 1
    error_model: str = "numpy"  # what a division by zero does: "python" raises
    source: str = "from windrow.compiled.monoids import *"


# -- extremes --------------------------------------------------------------------------------


@small
def value_unit(position, x):
    return (x,)


@small
def max_plus(a, b):
    return b if a[0] < b[0] or b[0] != b[0] else a


@small
def min_plus(a, b):
    return b if b[0] < a[0] or a[0] != a[0] else a


@small
def value_answer(s):
    return s[0]


@small
def range_unit(position, x):
    return x, x


@small
def range_plus(a, b):
    low = b[0] if b[0] < a[0] or a[0] != a[0] else a[0]
    high = b[1] if a[1] < b[1] or b[1] != b[1] else a[1]
    return low, high


@small
def range_answer(s):
    return s[1] - s[0]


@small
def tally_unit(position, x):
    return x, 1


@small
def max_tally_plus(a, b):
    if a[0] == b[0] or (a[0] != a[0] and b[0] != b[0]):
        return a[0], a[1] + b[1]
    return b if a[0] < b[0] or b[0] != b[0] else a


@small
def min_tally_plus(a, b):
    if a[0] == b[0] or (a[0] != a[0] and b[0] != b[0]):
        return a[0], a[1] + b[1]
    return b if b[0] < a[0] or a[0] != a[0] else a


@small
def second_answer(s):
    return s[1]


@small
def place_unit(position, x):
    return x, position


@small
def argmax_plus(a, b):
    return b if a[0] < b[0] or (b[0] != b[0] and a[0] == a[0]) else a


@small
def argmin_plus(a, b):
    return b if b[0] < a[0] or (a[0] != a[0] and b[0] == b[0]) else a


@small
def first_plus(a, b):
    return a


@small
def last_plus(a, b):
    return b


# -- sums ------------------------------------------------------------------------------------


@small
def count_unit(position, x):
    return (1,)


@small
def whole_sum_plus(a, b):
    return (a[0] + b[0],)


@small
def whole_sum_minus(total, old):
    return (total[0] - old[0],)


@small
def two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@small
def sum_unit(position, x):
    return x, 0.0


@small
def sum_plus(a, b):
    s, error = two_sum(a[0], b[0])
    return s, a[1] + b[1] + error


@small
def sum_minus(total, old):
    s, error = two_sum(total[0], -old[0])
    return s, total[1] - old[1] + error


@small
def sum_answer(s):
    """hi + lo; an infinite hi has no lo."""
    total = s[0] + s[1]
    return total if total == total else s[0]


@small
def mean_unit(position, x):
    return x, 0.0, 1


@small
def mean_plus(a, b):
    s, error = two_sum(a[0], b[0])
    return s, a[1] + b[1] + error, a[2] + b[2]


@small
def mean_minus(total, old):
    s, error = two_sum(total[0], -old[0])
    return s, total[1] - old[1] + error, total[2] - old[2]


@small
def mean_answer(s):
    total = s[0] + s[1]
    return (total if total == total else s[0]) / s[2]


@small
def whole_mean_plus(a, b):
    return a[0] + b[0], a[1] + b[1]


@small
def whole_mean_minus(total, old):
    return total[0] - old[0], total[1] - old[1]


@small
def whole_mean_answer(s):
    return s[0] / s[1]


@small
def log_unit(position, x):
    if x > 0:
        return math.log(x), 0.0, 1
    return (-math.inf if x == 0 else math.nan), 0.0, 1


@small
def log_answer(s):
    total = s[0] + s[1]
    return math.exp((total if total == total else s[0]) / s[2])


# -- sums that can be subtracted from: what is not finite is counted apart ------------------


@small
def apart_unit(position, x):
    if x - x == 0:
        return x, 0.0, 1, 0, 0, 0
    return 0.0, 0.0, 1, int(x != x), int(x > 0), int(x < 0)


@small
def apart_log_unit(position, x):
    if x > 0 and x - x == 0:
        return math.log(x), 0.0, 1, 0, 0, 0
    return 0.0, 0.0, 1, int(x != x or x < 0), int(x > 0), int(x == 0)


@small
def apart_plus(a, b):
    s, error = two_sum(a[0], b[0])
    lo = a[1] + b[1] + error
    return s, lo, a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


@small
def apart_minus(a, b):
    s, error = two_sum(a[0], -b[0])
    lo = a[1] - b[1] + error
    return s, lo, a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5]


@small
def apart_sum_answer(s):
    if s[3] or (s[4] and s[5]):
        return math.nan
    if s[4]:
        return math.inf
    return -math.inf if s[5] else s[0] + s[1]


@small
def apart_mean_answer(s):
    return apart_sum_answer(s) / s[2]


@small
def apart_log_answer(s):
    return math.exp(apart_sum_answer(s) / s[2])


# -- variance --------------------------------------------------------------------------------


@small
def variance_unit(position, x):
    return 1, float(x), x - float(x)  # an infinite x makes M2 NaN


@small
def variance_plus(a, b):
    n = a[0] + b[0]
    delta = b[1] - a[1]
    mean = a[1] + delta * (b[0] / n)
    return n, mean, a[2] + b[2] + delta * delta * (a[0] * b[0] / n)


@small
def variance_minus(total, old):
    n = total[0] - old[0]
    if n <= 0:
        return 0, 0.0, 0.0
    mean = total[1] + (total[1] - old[1]) * (old[0] / n)
    delta = mean - old[1]
    m2 = total[2] - old[2] - delta * delta * (n * old[0] / total[0])
    return n, mean, (max(m2, 0.0) if n > 1 else 0.0)


@small
def variance_answer(s, ddof):
    return s[2] / (s[0] - ddof) if s[0] > ddof else math.nan


@small
def deviation_answer(s, ddof):
    return math.sqrt(s[2] / (s[0] - ddof)) if s[0] > ddof else math.nan


# -- products and runs -----------------------------------------------------------------------


@small
def product_unit(position, x):
    return math.frexp(x)


@small
def product_plus(a, b):
    factor, shift = math.frexp(a[0] * b[0])
    return factor, a[1] + b[1] + shift


@small
def product_answer(s):
    exponent = min(max(s[1], -2200), 2200)
    return math.ldexp(math.ldexp(s[0], exponent // 2), exponent - exponent // 2)


@small
def run_unit(position, x):
    # size, first, last, then (length, start, end) of the runs head, longest and tail
    p = position
    return 1, x, x, 1, p, p, 1, p, p, 1, p, p


@small
def run_plus(a, b):
    rises = a[2] < b[1] or (b[1] != b[1] and a[2] == a[2])
    head = (a[3], a[4], a[5])
    tail = (b[9], b[10], b[11])
    longest = (b[6], b[7], b[8]) if b[6] > a[6] else (a[6], a[7], a[8])
    if rises:
        across = (a[9] + b[3], a[10], b[5])
        if a[3] == a[0]:
            head = across
        if b[9] == b[0]:
            tail = across
        if across[0] > a[6] and across[0] >= b[6]:
            longest = across
    return (
        a[0] + b[0], a[1], b[2],
        head[0], head[1], head[2],
        longest[0], longest[1], longest[2],
        tail[0], tail[1], tail[2],
    )  # fmt: skip


@small
def run_answer(s):
    return s[7], s[8], s[6]


# -- which belongs to what -------------------------------------------------------------------


def monoid(aggregation: Aggregation, dtype: str, subtracting: bool) -> Monoid | None:
    """The compiled form of a built-in aggregation on values of `dtype`; None if it has none.

    `subtracting` asks for states that can be subtracted from without a trace.
    """
    name = type(aggregation).__name__
    whole = dtype == "int64"
    x, n, real = dtype, "int64", "float64"
    simple = {
        "Max": ((x,), (x,), "value_unit", "max_plus", "value_answer"),
        "Min": ((x,), (x,), "value_unit", "min_plus", "value_answer"),
        "Range": ((x, x), (x,), "range_unit", "range_plus", "range_answer"),
        "MaxCount": ((x, n), (n,), "tally_unit", "max_tally_plus", "second_answer"),
        "MinCount": ((x, n), (n,), "tally_unit", "min_tally_plus", "second_answer"),
        "ArgMax": ((x, n), (n,), "place_unit", "argmax_plus", "second_answer"),
        "ArgMin": ((x, n), (n,), "place_unit", "argmin_plus", "second_answer"),
        "First": ((x,), (x,), "value_unit", "first_plus", "value_answer"),
        "Last": ((x,), (x,), "value_unit", "last_plus", "value_answer"),
        "Product": ((real, n), (real,), "product_unit", "product_plus", "product_answer"),
        "LongestRun": (
            (n, x, x, *(n,) * 9), (n, n, n), "run_unit", "run_plus", "run_answer",
        ),
    }  # fmt: skip
    if name in simple:
        fields, outputs, unit, plus, answer = simple[name]
        return Monoid(fields, outputs, unit, plus, answer)
    if name == "Count":
        return Monoid((n,), (n,), "count_unit", "whole_sum_plus", "value_answer", "whole_sum_minus")
    if name == "Sum" and whole:
        return Monoid((n,), (n,), "value_unit", "whole_sum_plus", "value_answer", "whole_sum_minus")
    if name == "Mean" and whole:
        return Monoid(
            (n, n),
            (real,),
            "tally_unit",
            "whole_mean_plus",
            "whole_mean_answer",
            "whole_mean_minus",
        )
    if name in ("Sum", "Mean", "GeometricMean"):
        return _float_sum(name, subtracting)
    if name in ("Variance", "StdDev"):
        answer = "variance_answer" if name == "Variance" else "deviation_answer"
        ddof = (("ddof", aggregation.ddof),)  # type: ignore[attr-defined]
        return Monoid(
            (n, real, real),
            (real,),
            "variance_unit",
            "variance_plus",
            answer,
            "variance_minus",
            ddof,
        )
    return None


def _float_sum(name: str, subtracting: bool) -> Monoid:
    real, n = "float64", "int64"
    unit = "log_unit" if name == "GeometricMean" else "mean_unit"
    answer = "log_answer" if name == "GeometricMean" else "mean_answer"
    if subtracting:
        unit = "apart_log_unit" if name == "GeometricMean" else "apart_unit"
        answer = {"Sum": "apart_sum_answer", "Mean": "apart_mean_answer"}.get(
            name, "apart_log_answer"
        )
        return Monoid((real, real, n, n, n, n), (real,), unit, "apart_plus", answer, "apart_minus")
    if name == "Sum":
        return Monoid((real, real), (real,), "sum_unit", "sum_plus", "sum_answer", "sum_minus")
    return Monoid((real, real, n), (real,), unit, "mean_plus", answer, "mean_minus")
