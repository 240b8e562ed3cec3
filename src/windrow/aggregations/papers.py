"""The names that paper 000 gives to what is here by another name."""

from __future__ import annotations

from windrow.aggregations.sums import Mean
from windrow.aggregations.variance import StdDev

ArithmeticMean = Mean
SampleStdDev = StdDev


def PopulationStdDev(*columns: str) -> StdDev:  # noqa: N802
    """``StdDev(ddof=0)``.

    >>> PopulationStdDev("load")
    StdDev('load', ddof=0)
    """
    return StdDev(*columns, ddof=0)
