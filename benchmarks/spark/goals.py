"""What the results are held against: a ratio for each aim, from the rows a second of one run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.spark.cases import HOPPING, LONG, NO_KEY, SEVERAL

Results = list[dict[str, Any]]


def goals(report: dict[str, Any]) -> Iterator[tuple[str, str, float]]:
    """Each aim, what is asked, and what was measured; aims without their cases are left out."""
    speed = {(r["comparison"], r["case"]): r["krows_per_s"] for r in report["results"]}

    def ratio(question: str, peer: str) -> list[float]:
        ours, theirs = speed.get((question, "windrow")), speed.get((question, peer))
        return [] if ours is None or theirs is None else [ours / theirs]

    sizes = sorted(
        int(question.split()[1])
        for question, case in speed
        if case == "windrow" and question.startswith("max, ") and question.endswith(" rows")
        and question.split()[1].isdigit()
    )  # fmt: skip
    ours = [speed[f"max, {w} rows", "windrow"] for w in sizes]
    trees = [r for w in sizes for r in ratio(f"max, {w} rows", "segment tree")]
    defaults = [r for w in sizes if w >= 8192 for r in ratio(f"max, {w} rows", "default")]
    sort = speed.get(("sort", "shuffle and sort"))
    sorting = [sort / min(ours)] if sort and ours else []
    both = [r for peer in ("segment tree", "default") for r in ratio("max, 8 rows", peer)]
    one, several = speed.get(("max, 1024 rows", "windrow")), speed.get((SEVERAL, "windrow"))
    lines: list[tuple[str, str, list[float]]] = [
        ("rows, the segment tree, the least over all sizes", "≥ 3", [min(trees)] if trees else []),
        ("rows, the default from 8192 rows, the least", "≥ 100", defaults and [min(defaults)]),
        ("8 rows, the faster of the two", "≥ 1", both and [min(both)]),
        ("the fastest size against the slowest", "flat", [max(ours) / min(ours)] if ours else []),
        ("shuffle and sort against the slowest size", "≤ 2.2", sorting),
        ("one aggregation against three", "< 1.5", [one / several] if one and several else []),
        ("three aggregations, the segment tree", "≥ 5", ratio(SEVERAL, "segment tree")),
        ("stddev, the segment tree", "≥ 2.5", ratio("stddev, 1024 rows", "segment tree")),
        ("argmax, the segment tree", "≥ 50", ratio("argmax, 1024 rows", "segment tree")),
        ("no key, an hour, the segment tree", "≥ 3", ratio(NO_KEY, "segment tree")),
        ("no key, ten hours, the segment tree", "≥ 3", ratio(LONG, "segment tree")),
        ("no key, from one core to two", "≥ 1.6", report.get("cores_ratio", [])),
        ("hopping windows, window()", "≥ 20", ratio(HOPPING, "window()")),
        *(
            (f"one key, {size}: gigabytes of all processes", "≤ 2", [made["megabytes"] / 1024])
            for size, made in report.get("one_key", {}).items()
        ),
    ]  # fmt: skip
    for what, asked, found in lines:
        for each in found:
            yield what, asked, each
