"""Names of paper 000 for aggregations that have another name here."""

from __future__ import annotations

from windrow.aggregations.sums import Mean
from windrow.aggregations.variance import StdDev

ArithmeticMean = Mean
SampleStdDev = StdDev


def PopulationStdDev(*columns: str) -> StdDev:  # noqa: N802
    """Return ``StdDev(ddof=0)``, the standard deviation of a population.

    >>> PopulationStdDev("load")
    StdDev('load', ddof=0)
    """
    return StdDev(*columns, ddof=0)
