"""The operators of paper 003, cheap ones and dear ones, and the values that they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.experiment import Settings
from windrow import (
    Aggregation,
    ArgMax,
    Bloom,
    GeometricMean,
    Max,
    Mean,
    MinCount,
    StdDev,
    Sum,
)

ALGORITHMS = ("two_stacks", "foa", "ioa", "daba")
# cheap, medium and dear first, should the time be short
OPERATORS: dict[str, Callable[[], Aggregation]] = {
    "Sum": Sum,
    "Bloom": lambda: Bloom(bits=16384),
    "GeoMean": GeometricMean,
    "Max": Max,
    "StdDev": StdDev,
    "ArithMean": Mean,
    "MinCount": MinCount,
    "ArgMax": ArgMax,
}


def values_of(operator: str, settings: Settings, n: int) -> list[Any]:
    """Return n values from 1 on; of ArgMax each with its position."""
    whole = (settings.whole_numbers(n) + 1).tolist()
    return list(zip(whole, range(n), strict=True)) if operator == "ArgMax" else whole
