"""Sorted rows in batches cut anywhere give what the whole table gives."""

from __future__ import annotations

import itertools
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from tests.examples import examples
from tests.tables.oracle import same
from tests.tables.test_tables import ALL, ROWS, WINDOWS, label, table_of
from windrow import Collect, Max, Sum, aggregation, sliding
from windrow.tables.bind import bind
from windrow.tables.walk import Walk

HOPS: list[dict[str, Any]] = [
    {"range": 6, "slide": 2}, {"range": 5, "slide": 3, "offset": 1}, {"range": 4, "slide": 4},
    {"range": 2, "slide": 5, "gaps": True}, {"rows": 2, "slide": 5, "gaps": True},
]  # fmt: skip
# windows with rows behind the current one, or that end before it
FRAMES: list[dict[str, Any]] = [
    {"rows": (-2, 2)}, {"rows": (1, 3)}, {"rows": (-4, -2)}, {"rows": ("unbounded", 1)},
    {"rows": (0, "unbounded")}, {"range": (-3, 4)}, {"range": (2, 5)}, {"range": (-6, -2)},
    {"range": (-3, 4), "closed": "left"}, {"range": (-3, 4), "closed": "right"},
    {"range": ("unbounded", 2)}, {"range": (-1, "unbounded")},
    {"groups": (-1, 1)}, {"groups": (1, 2)}, {"groups": (-2, -1)}, {"groups": ("unbounded", 1)},
    {"rows": (-2, 2), "exclude": "current row"}, {"range": (-3, 4), "exclude": "ties"},
    {"groups": (-1, 1), "exclude": "group"}, {"rows": (-2, 2), "min_rows": 3},
]  # fmt: skip


def sorted_table(rows: list[Any], value: pa.DataType) -> pa.Table:
    """The rows as Spark would hand them over: by key, then time, nulls first."""
    ordered = sorted(rows, key=lambda r: (r[0] is not None, r[0] or "", r[1]))
    return table_of(ordered, value)


def check(query: Any, table: pa.Table, cuts: list[int], piece: int) -> None:
    """Feeding the pieces between the cuts gives the rows of one call."""
    edges = [0, *sorted(c % (table.num_rows + 1) for c in cuts), table.num_rows]
    pieces = [table.slice(a, b - a) for a, b in itertools.pairwise(edges)]
    walk = Walk(bind(query, table.schema), piece=piece)
    made = [result for result in walk.run(iter(pieces)) if result.num_rows]
    whole = query(table).to_pylist()
    walked = pa.concat_tables(made).to_pylist() if made else []
    assert len(walked) == len(whole)
    for got, want in zip(walked, whole, strict=True):
        assert all(same(got[name], want[name]) for name in want), (got, want)


@pytest.mark.parametrize("window", [*WINDOWS, *HOPS, *FRAMES], ids=label)
@examples(30)
@given(rows=ROWS, cuts=st.lists(st.integers(0, 40), max_size=8), piece=st.sampled_from([1, 3, 9]))
def test_cut_anywhere(window: dict[str, Any], rows: Any, cuts: list[int], piece: int) -> None:
    some = {n: ALL[n] for n in ("n", "total", "high", "where", "all", "names", "deviation")}
    query = sliding(some, partition_by="key", order_by="t", **window)
    check(query, sorted_table(rows, pa.int64()), cuts, piece)


@pytest.mark.parametrize("window", FRAMES[5:16], ids=label)
@examples(20)
@given(rows=ROWS, cuts=st.lists(st.integers(0, 40), max_size=8), piece=st.sampled_from([1, 3, 9]))
def test_rows_without_an_order(window: dict[str, Any], rows: Any, cuts: Any, piece: int) -> None:
    ordered = sorted(rows, key=lambda r: (r[0] is not None, r[0] or "", r[1]))
    table = table_of(ordered, pa.int64())
    times = [
        None if t < 4 else float("nan") if t > 26 else float(t) for t in table["t"].to_pylist()
    ]
    table = table.set_column(1, "t", pa.array(times, pa.float64()))
    some = {n: ALL[n] for n in ("n", "total", "all")}
    check(sliding(some, partition_by="key", order_by="t", **window), table, cuts, piece)


@examples(50)
@given(rows=ROWS, cuts=st.lists(st.integers(0, 40), max_size=8), limit=st.integers(0, 12))
def test_policies_go_on(rows: Any, cuts: list[int], limit: int) -> None:
    size = aggregation("v", lift=abs, combine=lambda a, b: a + b, lower=lambda s: s)
    query = sliding(
        partition_by="key", order_by="t", size=size, all=Collect("v"),
        until=lambda total, old: (total.size or 0) - (old.size or 0) >= limit,
    )  # fmt: skip
    check(query, sorted_table(rows, pa.int64()), cuts, 1)


@pytest.mark.parametrize("window", [{"rows": 3}, {"range": 4}, {"range": 4, "slide": 2}], ids=str)
@pytest.mark.parametrize("having", [None, "high > 2"])
@examples(50)
@given(rows=ROWS, cuts=st.lists(st.integers(0, 40), max_size=8))
def test_istream_and_having_go_on(
    window: dict[str, Any], having: str | None, rows: Any, cuts: list[int]
) -> None:
    query = sliding(
        partition_by="key", order_by="t", having=having, emit="istream", high=Max("v"), **window
    )
    check(query, sorted_table(rows, pa.int64()), cuts, 1)


def test_a_tail_holds_no_more_than_the_window() -> None:
    rows = pa.table({"t": np.arange(10_000), "v": np.arange(10_000) % 7})
    walk = Walk(bind(sliding(order_by="t", range=50, s=Sum("v")), rows.schema), piece=100)
    for start in range(0, 10_000, 100):
        list(walk.feed(rows.slice(start, 100)))
        assert walk._tail is None or walk._tail.num_rows <= 52
