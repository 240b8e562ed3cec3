"""Table 2 and the top of Figure 13 of paper 003: latency at a window of 2^14."""

from __future__ import annotations

from collections.abc import Iterator

from bench.experiment import Clock, Experiment, Rule, Settings, Verdict
from bench.measure import EVENT, TYPICAL, latencies
from bench.papers.operators import ALGORITHMS, OPERATORS, values_of
from bench.points import Figure, Point, Points
from bench.rules import TOO_FEW, middle
from bench.windows import stepping

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


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Each operator by each algorithm, for two windows' worth of events or more."""
    n = settings.size(1 << 14, 1 << 12)
    events = settings.size(1 << 17, 1 << 13)
    for share, name in clock.shares(OPERATORS):
        values = values_of(name, settings, events)
        if name == "Bloom":
            values = values[: min(events, 4 * n)]
        contenders = {a: stepping(a, OPERATORS[name], values, n) for a in ALGORITHMS}
        yield from latencies(TABLES[name], contenders, values, settings, share, TOPS.get(name))


def _spikes(points: Points) -> Verdict:
    """The longest event by the mean one, the system's disturbances taken out by medians."""
    found = {}
    for name in ALGORITHMS:
        all_values = [points.values(table, name) for table in TABLES.values()]
        ratios = [v[TYPICAL] / v["mean"] for v in all_values if {TYPICAL, "mean"} <= set(v)]
        if ratios:
            found[name] = middle(ratios)
    if not {"two_stacks", "daba"} <= set(found):
        return TOO_FEW
    text = ", ".join(f"{name} {ratio:,.0f}" for name, ratio in found.items())
    return Verdict(f"median over the operators: {text}", found["two_stacks"] > 5 * found["daba"])


def _order(statistic: str, better: str, worse: str, why: str = "") -> Rule:
    def check(points: Points) -> Verdict:
        found = [points.ratios(table, better, worse) for table in TABLES.values()]
        ratios = [each[statistic] for each in found if statistic in each]
        if not ratios:
            return TOO_FEW
        return Verdict(
            f"{worse} takes {min(ratios):.2f}× to {max(ratios):.2f}× of {better}'s",
            sum(r > 1 for r in ratios) >= 0.8 * len(ratios),
        )

    states = f"Table 2: {better} has a smaller {statistic} than {worse}, for 80% of the operators"
    return Rule(states, check, why)


EXPERIMENT = Experiment(
    "003 latency",
    "Two-Stacks is fastest on average and has spikes, DABA has none",
    "Interpreted windows of 2^14 values (2^12 in a quick run), evict, insert and query, each event "
    "timed; the collector of garbage is off. “max, medians” is the longest of each event's median "
    "over the rounds: what the operating system does to one round is not in it.",
    (*TABLES.values(), *TOPS.values()),
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
