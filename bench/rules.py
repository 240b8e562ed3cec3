"""Rules on points: how lines grow, who is ahead, and by how much.

Growth is the exponent b of the best power law y = a·x^b, the slope of a straight line through the
points where both axes are logarithmic: about 0 is flat, 1 is linear, and what grows as a logarithm
lies between.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence

from bench.experiment import Rule, Verdict
from bench.points import Figure, Place, Points

FLAT = 0.12
LOGARITHMIC = 0.4
LINEAR = 0.7
MOST = 0.8  # of the places: "ahead" allows for a disturbance
TOO_FEW = Verdict("too few points were measured", None)
SHAPES = {
    "flat": (-math.inf, FLAT, f"at most {FLAT}"),
    "logarithmic": (0.0, LOGARITHMIC, f"from 0 to {LOGARITHMIC}"),
    "linear": (LINEAR, math.inf, f"{LINEAR} or more"),
}


def exponent(line: Sequence[tuple[float, float]]) -> float | None:
    """Return the exponent of the best power law; None with fewer than three points.

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


def middle(values: Collection[float]) -> float:
    """Return the upper median.

    >>> middle([4, 1, 2, 3])
    3
    """
    return sorted(values)[len(values) // 2]


def grows(figure: Figure, series: str, shape: str, *, since: float = 0) -> Rule:
    """Return the rule that a line is `flat`, `logarithmic` or `linear` from x = `since` on."""
    low, high, bounds = SHAPES[shape]
    where = f" from {since:,.0f} on" if since else ""

    def check(points: Points) -> Verdict:
        costs = points.costs(figure, series).items()
        line = sorted((x, y) for x, y in costs if not isinstance(x, str) and x >= since)
        slope = exponent(line)
        if slope is None:
            return TOO_FEW
        return Verdict(
            f"exponent {slope:.2f} over {line[0][0]:,.0f} … {line[-1][0]:,.0f}",
            low <= slope <= high,
        )

    states = f"{figure.name}: {series} is {shape}{where}: its exponent is {bounds}"
    return Rule(states, check)


def ahead(
    figure: Figure,
    winner: str,
    loser: str,
    *,
    since: float = 0,
    until: float = math.inf,
    at: Place | None = None,
    by: float = 1.0,
) -> Rule:
    """Return the rule that the winner costs less, at most of the places from `since` to `until`.

    With `by` above 1 it is so many times smaller, below 1 it may be larger by as much. With `at`
    it is so at that place.
    """
    where = f" from {since:,.0f} on" if since else ""
    where += f" up to {until:,.0f}" if until < math.inf else ""
    where += f" at {at}" if at is not None else f", at {MOST:.0%} of the places"
    is_so = f"is ahead of {loser}"
    if by > 1:
        is_so += f" by {by:g} times or more"
    elif by < 1:
        is_so = f"costs at most {1 / by:g} times {loser}"

    def counts(x: Place) -> bool:
        if at is not None:
            return x == at
        return isinstance(x, str) or since <= x <= until

    def check(points: Points) -> Verdict:
        by_place = points.ratios(figure, winner, loser)
        ratios = [ratio for x, ratio in by_place.items() if counts(x)]
        if not ratios:
            return TOO_FEW
        won = sum(ratio >= by for ratio in ratios)
        shown = " to ".join(f"{r:.2f}×" for r in sorted({min(ratios), max(ratios)}))
        return Verdict(
            f"{loser} / {winner}: {shown}; so at {won} of {len(ratios)} places",
            won >= MOST * len(ratios),
        )

    return Rule(f"{figure.name}: {winner} {is_so}{where}", check)


def widens(figure: Figure, winner: str, loser: str) -> Rule:
    """Return the rule that the ratio of two lines rises from the first place to the last."""

    def check(points: Points) -> Verdict:
        ratios = sorted(points.ratios(figure, winner, loser).items(), key=lambda item: item[0])
        if len(ratios) < 2:
            return TOO_FEW
        (x0, first), (x1, last) = ratios[0], ratios[-1]
        text = f"{loser} / {winner}: {first:.2f} at {x0:,.0f}, {last:.2f} at {x1:,.0f}"
        return Verdict(text, last > first)

    return Rule(f"{figure.name}: the gap of {loser} to {winner} grows with x", check)


def at_most(figure: Figure, bound: float, series: str | None = None) -> Rule:
    """Return the rule that no value of a line, or of the whole figure, is above the bound."""

    def check(points: Points) -> Verdict:
        measured = [p for p in points.of(figure, series) if p.measured]
        if not measured:
            return TOO_FEW
        worst = max(measured, key=lambda p: p.median)
        x = worst.x if isinstance(worst.x, str) else f"{worst.x:,.0f}"
        who = "" if series else f" ({worst.series})"
        return Verdict(f"{worst.median:.2f} at most, at {x}{who}", worst.median <= bound)

    states = f"{figure.name}: {series or 'each'} takes at most {bound:g} {figure.unit}"
    return Rule(states, check)


def spread(figure: Figure, bound: float, line: str = "", *, ends: bool = False) -> Rule:
    """Return the rule that the largest value of a line is at most `bound` times the smallest.

    Without a `line` it is about every line of the figure.

    With `ends`, the last value is compared with the first.
    """
    what = "the last to the first" if ends else "the largest to the smallest"

    def check(points: Points) -> Verdict:
        ratios = {}
        for series in [line] if line else points.series(figure):
            values = [y for _, y in points.line(figure, series)]
            if len(values) > 1:
                ratio = values[-1] / values[0] if ends else max(values) / min(values)
                ratios[series] = ratio
        if not ratios:
            return TOO_FEW
        text = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
        return Verdict(text, max(ratios.values()) <= bound)

    of = f" of {line}" if line else ""
    return Rule(f"{figure.name}: the ratio of {what}{of} is at most {bound:g}", check)


def scales(figure: Figure, series: str, factor: float) -> Rule:
    """Return the rule that the last place costs `factor` times less than the first, or less."""

    def check(points: Points) -> Verdict:
        costs = points.costs(figure, series)
        places = sorted(x for x in costs if not isinstance(x, str))
        if len(places) < 2:
            return TOO_FEW
        first, last = places[0], places[-1]
        ratio = costs[first] / costs[last]
        text = f"{ratio:.2f} times as fast with {last:,.0f} as with {first:,.0f}"
        return Verdict(text, ratio >= factor)

    states = f"{figure.name}: {series} is {factor:g} times as fast at the last place, or more"
    return Rule(states, check)


def crossing(
    winner: Sequence[tuple[float, float]], loser: Sequence[tuple[float, float]], by: float = 1.0
) -> float | None:
    """Return from where on the winner's time is `by` times smaller.

    Between two places it lies on a straight line where both axes are logarithmic. None if the
    winner is not ahead at the last common place.

    >>> crossing([(1, 4.0), (4, 4.0)], [(1, 2.0), (4, 8.0)])
    2.0
    """
    theirs = dict(loser)
    gaps = [(x, math.log(theirs[x] / (by * y))) for x, y in winner if x in theirs]
    if not gaps or gaps[-1][1] < 0:
        return None
    place = gaps[0][0]
    for (x0, g0), (x1, g1) in itertools.pairwise(gaps):
        if g0 < 0 <= g1:
            place = math.exp(math.log(x0) + (math.log(x1) - math.log(x0)) * g0 / (g0 - g1))
    return round(place, 6)
