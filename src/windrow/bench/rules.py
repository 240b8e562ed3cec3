"""The shapes of lines, as rules on points: how they grow, who is ahead, and from where on.

Growth is told by the exponent b of the best power law y = a·x^b, the slope of a straight line
through the points where both axes are logarithmic: about 0 is flat, 1 is linear, and what grows as
a logarithm lies between.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from windrow.bench.experiment import Rule, Verdict
from windrow.bench.points import Points

FLAT = 0.12
LOGARITHMIC = 0.4
LINEAR = 0.7
MOST = 0.8  # of the places: "ahead" allows for a disturbance
TOO_FEW = Verdict("too few points were measured", None)


def exponent(line: Sequence[tuple[float, float]]) -> float | None:
    """The exponent of the best power law; None with fewer than three points.

    >>> round(exponent([(1, 2.0), (2, 4.0), (4, 8.0)]), 6)
    1.0
    """
    line = [(x, y) for x, y in line if x > 0 and y > 0]
    if len(line) < 3:
        return None
    xs, ys = [math.log(x) for x, _ in line], [math.log(y) for _, y in line]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread


def grows(
    figure: str,
    series: str,
    shape: str,
    *,
    since: float = 0,
    otherwise: str = "",
) -> Rule:
    """A line that is `flat`, `logarithmic` or `linear` from x = `since` on."""
    low, high = {
        "flat": (-math.inf, FLAT),
        "logarithmic": (0.0, LOGARITHMIC),
        "linear": (LINEAR, math.inf),
    }[shape]
    bounds = {
        "flat": f"at most {FLAT}",
        "logarithmic": f"from 0 to {LOGARITHMIC}",
        "linear": f"{LINEAR} or more",
    }[shape]
    where = f" from {since:,.0f} on" if since else ""

    def check(points: Points) -> Verdict:
        line = [(x, y) for x, y in points.costs(figure, series) if x >= since]
        found = exponent(line)
        if found is None:
            return TOO_FEW
        return Verdict(
            f"exponent {found:.2f} over {line[0][0]:,.0f} … {line[-1][0]:,.0f}",
            low <= found <= high,
        )

    states = f"{figure}: {series} is {shape}{where}: its exponent is {bounds}"
    return Rule(states, check, otherwise)


def ahead(
    figure: str,
    winner: str,
    loser: str,
    *,
    since: float = 0,
    until: float = math.inf,
    by: float = 1.0,
    otherwise: str = "",
) -> Rule:
    """Whose time is the smaller one, at most of the places from `since` to `until`.

    With `by` above 1 it is so many times smaller, below 1 it may be larger by as much.
    """
    where = f" from {since:,.0f} on" if since else ""
    where += f" up to {until:,.0f}" if until < math.inf else ""
    is_so = f"is ahead of {loser}"
    if by > 1:
        is_so += f" by {by:g} times or more"
    elif by < 1:
        is_so = f"costs at most {1 / by:g} times {loser}"

    def check(points: Points) -> Verdict:
        theirs = dict(points.costs(figure, loser))
        ratios = [
            theirs[x] / y
            for x, y in points.costs(figure, winner)
            if x in theirs and since <= x <= until
        ]
        if not ratios:
            return TOO_FEW
        won = sum(ratio >= by for ratio in ratios)
        shown = " to ".join(f"{r:.2f}×" for r in sorted({min(ratios), max(ratios)}))
        return Verdict(
            f"{loser} / {winner}: {shown}; so at {won} of {len(ratios)} places",
            won >= MOST * len(ratios),
        )

    share = f"{MOST:.0%} of the places"
    states = f"{figure}: {winner} {is_so}{where}, at {share}"
    return Rule(states, check, otherwise)


def widens(figure: str, winner: str, loser: str, otherwise: str = "") -> Rule:
    """The ratio of two lines rises from the first place to the last."""

    def check(points: Points) -> Verdict:
        theirs = dict(points.costs(figure, loser))
        ratios = [(x, theirs[x] / y) for x, y in points.costs(figure, winner) if x in theirs]
        if len(ratios) < 2:
            return TOO_FEW
        (x0, first), (x1, last) = ratios[0], ratios[-1]
        return Verdict(
            f"{loser} / {winner}: {first:.2f} at {x0:,.0f}, {last:.2f} at {x1:,.0f}", last > first
        )

    return Rule(f"{figure}: the gap of {loser} to {winner} grows with x", check, otherwise)


def crossing(
    winner: Sequence[tuple[float, float]], loser: Sequence[tuple[float, float]], by: float = 1.0
) -> float | None:
    """From where on the winner's time is `by` times smaller; between two places by a straight line
    where both axes are logarithmic. None if it is not at the last common place.

    >>> crossing([(1, 4.0), (4, 4.0)], [(1, 2.0), (4, 8.0)])
    2.0
    """
    theirs = dict(loser)
    gaps = [(x, math.log(theirs[x] / (by * y))) for x, y in winner if x in theirs]
    if not gaps or gaps[-1][1] < 0:
        return None
    found = gaps[0][0]
    for (x0, g0), (x1, g1) in itertools.pairwise(gaps):
        if g0 < 0 <= g1:
            found = math.exp(math.log(x0) + (math.log(x1) - math.log(x0)) * g0 / (g0 - g1))
    return round(found, 6)
