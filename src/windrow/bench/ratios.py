"""Ours against the fastest peer, with the spread over the rounds; a peer that wins is named."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from windrow.bench.points import Point, Points

OURS = "windrow"


@dataclass(frozen=True)
class Ratio:
    """The fastest peer's time by ours: above 1 we win."""

    figure: str
    x: float | str
    ours: str
    peer: str
    median: float
    low: float
    high: float

    def __str__(self) -> str:
        shown = f"{self.median:.1f}" if self.median >= 1 else f"{self.median:.2f}"
        return shown if self.median >= 1 else f"{shown} ({self.peer})"


def is_ours(series: str) -> bool:
    """Whether a line is windrow's: its name begins so."""
    return series.partition(",")[0] == OURS


def ratios(points: Points, figure: str) -> Iterator[Ratio]:
    """For each place and each of our lines, the fastest peer that ran and agreed.

    >>> some = Points([
    ...     Point("max", "windrow", 8, "ms", (1.0, 2.0)),
    ...     Point("max", "pandas", 8, "ms", (4.0, 6.0)),
    ... ])
    >>> [(r.peer, r.median, r.low, r.high) for r in ratios(some, "max")]
    [('pandas', 3.3333333333333335, 3.0, 4.0)]
    """
    for x in points.places(figure):
        here = [p for p in points.of(figure) if p.x == x and p.measured]
        peers = [p for p in here if not is_ours(p.series)]
        if not peers:
            continue
        peer = min(peers, key=lambda p: p.median)
        for mine in (p for p in here if is_ours(p.series)):
            rounds = _by_round(mine, peer)
            yield Ratio(
                figure, x, mine.series, peer.series, peer.median / mine.median,
                min(rounds), max(rounds),
            )  # fmt: skip


def _by_round(mine: Point, peer: Point) -> list[float]:
    """Ratios within a round, where both ran in it; who ran once is compared by that."""
    if len(mine.runs) == len(peer.runs):
        return [theirs / own for own, theirs in zip(mine.runs, peer.runs, strict=True)]
    return [statistics.median(peer.runs) / own for own in mine.runs]
