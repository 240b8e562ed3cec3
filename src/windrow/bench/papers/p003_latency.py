"""Table 2 and the top of Figure 13 of paper 003: latency at a window of 2^14."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from windrow.aggregations import (
    ArgMax,
    Bloom,
    GeometricMean,
    Max,
    Mean,
    MinCount,
    StdDev,
    Sum,
)
from windrow.aggregations.base import Aggregation
from windrow.algorithms import aggregator
from windrow.bench.clock import Clock
from windrow.bench.experiment import Experiment, Figure, Rule, Verdict
from windrow.bench.feeds import whole_numbers
from windrow.bench.latencies import TYPICAL, UNIT, Step, latencies
from windrow.bench.points import Point, Points
from windrow.bench.rules import TOO_FEW
from windrow.bench.settings import Settings

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
DRAWN = ("Sum", "GeoMean", "Bloom")


def table(operator: str) -> str:
    """The name of an operator's figure."""
    return f"Table 2, {operator}"


def top(operator: str) -> str:
    """The name of the figure of its events in the order of time."""
    return f"Figure 13, top, {operator}"


def sliding(algorithm: str, make: Any, values: Sequence[Any], n: int) -> Callable[[], Step]:
    """Makes a full window, and gives its step."""

    def begin() -> Step:
        swag = aggregator(make(), algorithm)
        swag.extend(itertools.islice(itertools.cycle(values), n))
        evict, insert, query = swag.evict, swag.insert, swag.query

        def step(value: Any) -> None:
            evict()
            insert(value)
            query()

        return step

    return begin


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Each operator by each algorithm, for two windows' worth of events or more."""
    n = settings.size(1 << 14, 1 << 12)
    events = settings.size(1 << 17, 1 << 13)
    whole = (whole_numbers(settings.values(events)) + 1).tolist()
    for i, (name, make) in enumerate(OPERATORS.items()):
        share = clock.share(1, of=len(OPERATORS) - i)
        values: list[Any] = (
            list(zip(whole, range(events), strict=True)) if name == "ArgMax" else whole
        )
        if name == "Bloom":
            values = values[: min(events, 4 * n)]
        contenders = {a: sliding(a, make, values, n) for a in ALGORITHMS}
        drawn = top(name) if name in DRAWN else ""
        yield from latencies(
            table(name), contenders, values, settings.repeats, share, series_of=drawn
        )


def _spikes(points: Points) -> Verdict:
    """The longest event by the mean one, the system's disturbances taken out by medians."""
    found = {}
    for name in ALGORITHMS:
        ratios = [
            longest / mean
            for operator in OPERATORS
            if (longest := points.value(table(operator), name, TYPICAL)) is not None
            and (mean := points.value(table(operator), name, "mean")) is not None
        ]
        if ratios:
            found[name] = sorted(ratios)[len(ratios) // 2]
    if not {"two_stacks", "daba"} <= set(found):
        return TOO_FEW
    text = ", ".join(f"{name} {ratio:,.0f}" for name, ratio in found.items())
    return Verdict(f"median over the operators: {text}", found["two_stacks"] > 5 * found["daba"])


def _order(statistic: str, better: str, worse: str, why: str = "") -> Rule:
    def check(points: Points) -> Verdict:
        ratios = [
            b / a
            for operator in OPERATORS
            if (a := points.value(table(operator), better, statistic)) is not None
            and (b := points.value(table(operator), worse, statistic)) is not None
        ]
        if not ratios:
            return TOO_FEW
        return Verdict(
            f"{worse} takes {min(ratios):.2f}× to {max(ratios):.2f}× of {better}'s",
            sum(r > 1 for r in ratios) >= 0.8 * len(ratios),
        )

    return Rule(f"Table 2: {better} has a smaller {statistic} than {worse}, for 80% of the "
                "operators", check, why)  # fmt: skip


EXPERIMENT = Experiment(
    "003 latency",
    "Two-Stacks is fastest on average and has spikes, DABA has none",
    "Interpreted windows of 2^14 values (2^12 in a quick run), evict, insert and query, each event "
    "timed; the collector of garbage is off. “max, medians” is the longest of each event's median "
    "over the rounds: what the operating system does to one round is not in it.",
    tuple(
        figure
        for operator in OPERATORS
        for figure in (
            Figure(table(operator), f"latency of {operator}", "statistic", UNIT),
            *(
                [
                    Figure(
                        top(operator),
                        f"{operator} event by event, the longest of each stretch",
                        "event",
                        UNIT,
                        (False, True),
                    )
                ]
                if operator in DRAWN
                else []
            ),
        )
    ),
    run,
    source="Table 2 and Figure 13, top",
    finding="Two-Stacks has the lowest mean for every operator but deviations 12 to 54 times the "
    "mean; DABA's mean is 20 to 60% higher and its deviation below the mean; FOA and IOA are "
    "behind, for their garbage and their cells.",
    rules=(
        _order("mean", "two_stacks", "daba"),
        _order(
            "mean",
            "daba",
            "ioa",
            "IOA's cells cost an allocation in C++; in Python every value is one, DABA's too",
        ),
        _order("mean", "daba", "foa"),
        _order(TYPICAL, "daba", "two_stacks"),
        Rule("Table 2: Two-Stacks' longest event by its mean is more than 5 times DABA's", _spikes),
    ),
    weight=1.5,
)
