"""Policies on a stream: the windows of a table, however it is cut, at the cost of what is new."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.kernels.test_policies import Hidden
from tests.streams.feeding import Stream, plan_of
from windrow import Adwin, Collect, Count, Sum, sliding
from windrow.queries.query import Query
from windrow.tables.bind import bind
from windrow.tables.rows import RowValues
from windrow.tables.walk import Walk


def _apart(total: Any, old: Any) -> bool:
    """The means of the oldest part and of the rest differ: not monotone."""
    rest = total.n - old.n
    return rest > 1 and abs((total.s - old.s) / rest - old.s / old.n) > 4


def _heavy(window: Any) -> bool:
    return window.n % 4 == 3 and window.s > 9


POLICIES: dict[str, Callable[..., Any]] = {
    "monotone": lambda total, old: total.s - old.s >= 30,
    "not monotone": _apart,
    "interpreted": Hidden(_apart),
    "of the window": _heavy,
    "of the window, interpreted": Hidden(_heavy),
    "adwin": Adwin("v", delta=0.3, buckets=2),
}


def asked(policy: Any, **more: Any) -> Query:
    return sliding(
        partition_by="k", order_by="ts", until=policy, n=Count(), s=Sum("v"), all=Collect("i"),
        **more,
    )  # fmt: skip


def rows_of(keys: list[int], values: list[float]) -> pa.Table:
    n = len(keys)
    return pa.table(
        {
            "i": pa.array(np.arange(n)),
            "k": pa.array(keys, pa.int64()),
            "ts": pa.array(10**15 + np.arange(n) * 10**6, pa.timestamp("us", "UTC")),
            "v": pa.array(values, pa.float64()),
        }
    )


@pytest.mark.parametrize(
    ("policy", "slide"),
    [(policy, 3 if policy in ("of the window", "adwin") else None) for policy in POLICIES],
)
def test_a_stream_cut_anywhere_is_the_whole(policy: str, slide: int | None) -> None:
    query = asked(POLICIES[policy], **({} if slide is None else {"slide": slide}))

    @examples(12)
    @given(
        rows=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=50),
        levels=st.lists(st.integers(-6, 6), min_size=1, max_size=4),
        cuts=st.lists(st.integers(0, 50), max_size=5),
        colds=st.sets(st.integers(0, 5)),
    )
    def check(rows: Any, levels: list[int], cuts: list[int], colds: set[int]) -> None:
        n = len(rows)
        values = [v / 4 + levels[i * len(levels) // n] for i, (_, v) in enumerate(rows)]
        table = rows_of([k for k, _ in rows], values)
        stream = Stream(plan_of(query, schema=table.schema))
        edges = [0, *sorted(min(c, n) for c in cuts), n]
        for step, (begin, end) in enumerate(pairwise(edges)):
            stream.push(table.slice(begin, end - begin))
            if step in colds:
                stream.restart()
        wanted = query(table).column("all").to_pylist()
        assert stream.finish().sort_by("i").column("all").to_pylist() == wanted
        ordered = table.sort_by([("k", "ascending"), ("ts", "ascending")])
        pieces = [ordered.slice(begin, end - begin) for begin, end in pairwise(edges)]
        walked = pa.concat_tables(Walk(bind(query, table.schema), piece=1).run(iter(pieces)))
        assert walked.sort_by("i").column("all").to_pylist() == wanted, "as Spark's batches are"

    check()


def test_the_changing_mean_of_the_documents_is_the_same_in_batches() -> None:
    query = asked(_apart)
    for seed in range(6):
        random = np.random.default_rng(seed)
        levels = np.repeat(random.integers(-9, 9, 6), 20)
        table = rows_of([0] * 120, (levels + random.integers(-2, 3, 120)).tolist())
        stream = Stream(plan_of(query, schema=table.schema))
        for begin in range(0, 120, 7):
            stream.push(table.slice(begin, 7))
        made = stream.finish()
        assert made.column("n").to_pylist() == query(table).column("n").to_pylist()


@pytest.mark.parametrize("held", [300, 3000])
def test_a_step_costs_its_own_rows(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy in the interpreter: the rows of the window are neither read nor asked of again."""
    asked_of, read = [0], [0]
    records = RowValues.records

    def policy(total: Any, old: Any) -> bool:
        asked_of[0] += 1
        return bool(total.n - old.n >= held)

    def counted(self: Any, begin: int, stop: int) -> Any:
        read[0] += stop - begin
        return records(self, begin, stop)

    monkeypatch.setattr(RowValues, "records", counted)
    query = sliding(order_by="ts", until=Hidden(policy), n=Count(), s=Sum("v"))
    rows = rows_of([0] * 4000, [1.0] * 4000)
    stream = Stream(plan_of(query, schema=rows.schema))
    stream.push(rows.slice(0, 3500))
    asked_of[0] = read[0] = 0
    for begin in range(3500, 4000, 100):
        stream.push(rows.slice(begin, 100))
    assert read[0] == 500
    assert asked_of[0] <= 5 * 500


@pytest.mark.parametrize("cold", [pytest.param(True, marks=pytest.mark.slow), False])
def test_a_restart_reads_few_rows_of_the_window(
    cold: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy in the interpreter: the tree lies in the store, and is read where it is needed."""
    lifted, records = [0], RowValues.records

    def counted(self: Any, begin: int, stop: int) -> Any:
        lifted[0] += stop - begin
        return records(self, begin, stop)

    policy = Hidden(lambda total, old: bool(total.n - old.n >= 1500))
    query = sliding(
        partition_by="k", order_by="ts", until=policy, n=Count(), s=Sum("v"), all=Collect("i")
    )
    table = rows_of([0, 1] * 2000, [float(i % 13) for i in range(4000)])
    stream = Stream(plan_of(query, schema=table.schema))
    stream.push(table.slice(0, 3500))
    stream.restart(cold)
    monkeypatch.setattr(RowValues, "records", counted)
    stream.push(table.slice(3500, 100))
    assert lifted[0] < 1000, "of 3,000 rows"
    monkeypatch.undo()
    stream.push(table.slice(3600))
    made = stream.finish().sort_by("i").column("all").to_pylist()
    assert made[3400:] == query(table).column("all").to_pylist()[3400:]
