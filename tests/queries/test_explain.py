"""Plans in words, one a kind of query, as they are kept in snapshots/explain_*.txt.

To renew them, after a look at what has changed, run

    WINDROW_RENEW=1 pytest tests/queries/test_explain.py
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from windrow import (
    ArgMax,
    Collect,
    CollectDistinct,
    Count,
    CountDistinct,
    CountMin,
    HyperLogLog,
    LongestRun,
    Max,
    Mean,
    MomentSketch,
    StdDev,
    Sum,
    aggregation,
    shared,
    sliding,
)

SNAPSHOTS = Path(__file__).parent / "snapshots"
RENEW = "WINDROW_RENEW"


def above_ten(total: Any, old: Any) -> bool:
    """Keep what adds up to at most 10."""
    return bool(total.total - old.total > 10)


SPREAD = aggregation("load", lift=abs, combine=max, lower=float)
PANES = sliding(order_by="ts", range="1 hour", slide="10 minutes", peak=Max("load"))
QUERIES: dict[str, Any] = {
    "rows": sliding(
        rows=1000, n=Count(), peak=Max("load"), mean=Mean("load"), deviation=StdDev("load"),
        kinds=CountDistinct("kind"), when=ArgMax("load", "ts"),
    ),
    "range": sliding(
        partition_by=["house", "plug"], order_by="ts", range="1 hour", closed="right",
        peak=Max("load"), when=ArgMax("load", "ts"), run=LongestRun("load", "ts"),
    ),
    "delta": sliding(order_by="km", delta=2.5, mean=Mean("load")),
    "unbounded": sliding(rows="unbounded", total=Sum("load")),
    "now": sliding(order_by="ts", range="now", total=Sum("load")),
    "hopping": PANES,
    "hopping_uneven": sliding(
        order_by="ts", range="1 hour", slide="7 minutes", offset="1 minute", total=Sum("load")
    ),
    "count_windows": sliding(rows=5, slide=3, total=Sum("load"), all=Collect("load")),
    "policy": sliding(until=above_ten, total=Sum("load")),
    "punctuation": sliding(on="kind = 'end'", total=Sum("load")),
    "sketches": sliding(
        order_by="ts", range="1 day", shares=MomentSketch("load"), often=CountMin("kind"),
        about=HyperLogLog("kind"), kinds=CollectDistinct("kind"), own=SPREAD,
    ),
    "filters": sliding(
        partition_by="plug", order_by="ts", range="1 hour", lateness="10 minutes",
        where="load > 0", having="peak > 3", emit="istream", peak=Max("load"),
    ),
    "shared": shared(
        sliding(rows=6, slide=2, peak=Max("load")),
        sliding(rows=8, slide=4, mean=Mean("load"), total=Sum("load")),
    ),
    "shared_by_key": shared(PANES.replace(partition_by=("plug",)), PANES),
}  # fmt: skip


@pytest.mark.parametrize("name", QUERIES)
def test_the_plan_is_the_one_that_is_kept(name: str) -> None:
    path = SNAPSHOTS / f"explain_{name}.txt"
    query = QUERIES[name]
    text = f"{query!r}\n\n{query.explain()}\n"
    if os.environ.get(RENEW):
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"no plan is kept for {name}: set {RENEW}=1 to keep this one"
    assert text == path.read_text("utf-8"), f"set {RENEW}=1 to keep the new plan"


def test_there_are_no_other_snapshots() -> None:
    kept = {path.stem.removeprefix("explain_") for path in SNAPSHOTS.glob("explain_*.txt")}
    assert kept == set(QUERIES)


@pytest.mark.parametrize("name", QUERIES)
def test_a_plan_speaks_of_every_result(name: str) -> None:
    for query in QUERIES[name] if name.startswith("shared") else [QUERIES[name]]:
        lines = QUERIES[name].explain().splitlines()
        for result, part in query.aggregations:
            assert [line for line in lines if line.split() == [result, *repr(part).split()]]
