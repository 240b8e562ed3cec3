"""The experiments of paper 003: Two-Stacks, FOA, IOA and DABA, with operators cheap and dear."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from bench.experiment import Clock, Experiment, Rule, Settings, Verdict
from bench.measure import EVENT, TYPICAL, curve, latencies
from bench.papers.breaking_even import BASE, break_evens, never
from bench.points import Figure, Point, Points
from bench.rules import TOO_FEW, ahead, grows, middle
from bench.windows import Interpreted, interpreted_events
from windrow import (
    Aggregation,
    ArgMax,
    Bloom,
    Collect,
    GeometricMean,
    Max,
    Mean,
    MinCount,
    StdDev,
    Sum,
)

# -- operators -------------------------------------------------------------------------------------

ALGORITHMS = ("two_stacks", "foa", "ioa", "daba")
FIVE = ("flatfat", *ALGORITHMS)
# cheap, medium and dear first, should the time be short
OPERATORS: dict[str, Aggregation] = {
    "Sum": Sum(),
    "Bloom": Bloom(bits=16384),
    "GeoMean": GeometricMean(),
    "Max": Max(),
    "StdDev": StdDev(),
    "ArithMean": Mean(),
    "MinCount": MinCount(),
    "ArgMax": ArgMax(),
}


def values_of(operator: str, settings: Settings, n: int) -> list[Any]:
    """Return n values from 1 on; of ArgMax each with its position."""
    whole = (settings.whole_numbers(n) + 1).tolist()
    return list(zip(whole, range(n), strict=True)) if operator == "ArgMax" else whole


# -- latency ---------------------------------------------------------------------------------------

TABLES = {
    name: Figure(f"Table 2, {name}", f"latency of {name}", "statistic", EVENT) for name in OPERATORS
}
TOPS = {
    name: Figure(
        f"Figure 13, top, {name}",
        f"{name} event by event, the longest of each stretch",
        "event",
        EVENT,
        (False, True),
    )
    for name in ("Sum", "GeoMean", "Bloom")
}


def latency(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Each operator by each algorithm, for two windows' worth of events or more."""
    n = settings.size(1 << 14, 1 << 12)
    events = settings.size(1 << 17, 1 << 13)
    for share, name in clock.shares(OPERATORS):
        values = values_of(name, settings, events)
        if name == "Bloom":
            values = values[: min(events, 4 * n)]
        contenders = {a: interpreted_events(a, OPERATORS[name], values, n) for a in ALGORITHMS}
        yield from latencies(TABLES[name], contenders, values, settings, share, TOPS.get(name))


def _spikes(points: Points) -> Verdict:
    """Return whether Two-Stacks has spikes and DABA has none: the longest event by the mean one."""
    spikes = {}
    for name in ALGORITHMS:
        all_values = [points.values(table, name) for table in TABLES.values()]
        ratios = [v[TYPICAL] / v["mean"] for v in all_values if {TYPICAL, "mean"} <= set(v)]
        if ratios:
            spikes[name] = middle(ratios)
    if not {"two_stacks", "daba"} <= set(spikes):
        return TOO_FEW
    text = ", ".join(f"{name} {ratio:,.0f}" for name, ratio in spikes.items())
    return Verdict(f"median over the operators: {text}", spikes["two_stacks"] > 5 * spikes["daba"])


def _order(statistic: str, better: str, worse: str) -> Rule:
    def check(points: Points) -> Verdict:
        tables = [points.ratios(table, better, worse) for table in TABLES.values()]
        ratios = [table[statistic] for table in tables if statistic in table]
        if not ratios:
            return TOO_FEW
        return Verdict(
            f"{worse} takes {min(ratios):.2f}× to {max(ratios):.2f}× of {better}'s",
            sum(r > 1 for r in ratios) >= 0.8 * len(ratios),
        )

    states = f"Table 2: {better} has a smaller {statistic} than {worse}, for 80% of the operators"
    return Rule(states, check)


LATENCY = Experiment(
    "003 latency",
    "Two-Stacks is fastest on average and has spikes, DABA has none",
    "Interpreted windows of 2^14 values (2^12 in a quick run), evict, insert and query, each event "
    "timed; the collector of garbage is off. “max, medians” is the longest of each event's median "
    "over the rounds: what the operating system does to one round is not in it.",
    (*TABLES.values(), *TOPS.values()),
    latency,
    source="Table 2 and Figure 13, top",
    finding="Two-Stacks has the lowest mean for every operator but deviations 12 to 54 times the "
    "mean; DABA's mean is 20 to 60% higher and its deviation below the mean; FOA and IOA are "
    "behind, for their garbage and their cells.",
    rules=(
        _order("mean", "two_stacks", "daba"),
        _order("mean", "daba", "ioa").unless(
            "IOA's cells cost an allocation in C++; in Python every value is one, DABA's too"
        ),
        _order("mean", "daba", "foa"),
        _order(TYPICAL, "daba", "two_stacks"),
        Rule("Table 2: Two-Stacks' longest event by its mean is more than 5 times DABA's", _spikes),
    ),
    weight=1.5,
)


# -- throughput ------------------------------------------------------------------------------------

BOTTOMS = {
    name: Figure(
        f"Figure 13, bottom, {name}", f"throughput of {name}", "window", "million values a second"
    )
    for name in ("Sum", "GeoMean", "Bloom")
}
SUM, BLOOM = BOTTOMS["Sum"], BOTTOMS["Bloom"]


def throughput(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Windows of 1 to 2^18; of Bloom, whose states are 2 KB, to 2^14."""
    for share, (name, figure) in clock.shares(BOTTOMS.items()):
        values = values_of(name, settings, 1 << 12)
        contenders = {a: partial(Interpreted, a, OPERATORS[name], values) for a in (BASE, *FIVE)}
        windows = settings.powers(0, 14 if name == "Bloom" else 18, quick=12)
        yield from curve(figure, windows, contenders, settings, share)


THROUGHPUT = Experiment(
    "003 throughput",
    "throughput by window: Two-Stacks, then DABA; FOA and IOA behind",
    "Interpreted windows, all six on equal terms: FOA and IOA are lists of linked cells, which "
    "only the interpreter has. The compiled loops of the others are in 002 and 004.",
    tuple(BOTTOMS.values()),
    throughput,
    source="Figure 13, bottom",
    finding="Two-Stacks has the best throughput, DABA the next, FOA third; all three stay flat but "
    "for cache misses; IOA is as slow as the logarithmic Reactive; recalculation falls to nothing.",
    rules=(
        ahead(SUM, "two_stacks", "daba"),
        ahead(SUM, "daba", "foa"),
        ahead(SUM, "daba", "ioa").unless(
            "IOA's cells cost an allocation in C++; in Python DABA's values do, too"
        ),
        ahead(SUM, "daba", "flatfat", since=4),
        grows(SUM, "two_stacks", "flat", since=4),
        grows(SUM, "daba", "flat", since=4),
        grows(SUM, "flatfat", "logarithmic"),
        grows(SUM, "recalculate", "linear", since=64),
        ahead(BLOOM, "two_stacks", "daba", since=4),
        ahead(BLOOM, "daba", "flatfat", since=64),
    ),
    weight=1.5,
)


# -- break-even ------------------------------------------------------------------------------------

TABLE_3 = Figure(
    "Table 3", "smallest window where it is faster than recalculation", "operator", "window"
)


def break_even(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Yield the break-even windows of all of them, an operator at a time."""
    cases = {
        name: {
            algorithm: partial(Interpreted, algorithm, operator, values_of(name, settings, 1 << 12))
            for algorithm in (BASE, *FIVE)
        }
        for name, operator in {**OPERATORS, "Collect": Collect()}.items()
    }
    windows = settings.powers(1, 10, quick=9)
    yield from break_evens(cases, windows, settings, clock, {TABLE_3: 1.0}, *FIVE)


def _first(points: Points) -> Verdict:
    medians = {}
    for algorithm in FIVE:
        windows = [w for x, w in points.values(TABLE_3, algorithm).items() if x != "Collect"]
        if windows:
            medians[algorithm] = middle(windows)
    if "two_stacks" not in medians or "flatfat" not in medians:
        return TOO_FEW
    text = ", ".join(f"{name} {value:.0f}" for name, value in medians.items())
    return Verdict(
        f"medians over the operators: {text}", min(medians.values()) == medians["two_stacks"]
    )


def _reactive(points: Points) -> Verdict:
    ratios = points.ratios(TABLE_3, "two_stacks", "flatfat").values()
    if not ratios:
        return TOO_FEW
    median = middle(ratios)
    return Verdict(f"{median:.1f} times Two-Stacks' window, median of the operators", median > 2)


BREAK_EVEN = Experiment(
    "003 break-even",
    "from which window on each algorithm pays",
    "Interpreted windows; powers of two, and between them a straight line in log–log.",
    (TABLE_3,),
    break_even,
    source="Table 3",
    finding="Two-Stacks pays from about 30 values on, DABA from 48 to 112, FOA from 64 to 128, "
    "Reactive and IOA from 512 to 1,024; for dear operators all of them from 2 to 48; for Collect "
    "none ever does.",
    rules=(
        Rule("Table 3: Two-Stacks breaks even first, by medians over the operators", _first),
        Rule(
            "Table 3: Reactive needs more than twice Two-Stacks' window, by the median", _reactive
        ),
        never(TABLE_3, "Collect").unless(
            "recalculate builds the list value by value in the interpreter, and a ⊕ that joins "
            "two halves copies them in C: most of the window then comes ready-made"
        ),
    ),
    weight=4.0,
)


EXPERIMENTS = (LATENCY, THROUGHPUT, BREAK_EVEN)
