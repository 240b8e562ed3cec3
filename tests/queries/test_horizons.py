"""Several sizes at once: the results of a query for each of them, beside the rows of one frame."""

from __future__ import annotations

import datetime
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.streams.feeding import Stream, disordered, plan_of, readings
from windrow import Collect, Count, Max, Mean, Sum, sliding
from windrow.errors import InvalidArgument
from windrow.kernels import sort

SIZES = ["1 second", "20 seconds", "5 minutes", "unbounded"]


def asked(**size: Any) -> Any:
    return sliding(
        partition_by="key", order_by="ts", **size, a=Max("x"), c=Collect("id"), n=Count()
    )


@pytest.mark.parametrize(
    "library", [pd.DataFrame, pl.DataFrame, pa.Table], ids=lambda c: c.__module__
)
@pytest.mark.parametrize(
    ("size", "names"),
    [
        ({"range": SIZES}, ["1s", "20s", "5min", "unbounded"]),
        ({"rows": [1, 10, 100]}, ["1", "10", "100"]),
        ({"rows": [2, (-3, 3)], "names": ["two", "around"]}, ["two", "around"]),
        ({"range": [datetime.timedelta(hours=1), "1h 30min"]}, ["1h", "1h30min"]),
    ],
)
def test_as_a_query_for_each(library: Any, size: Any, names: list[str]) -> None:
    table = readings(80, 3, seed=1)
    frame = {"pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table)}.get(
        library.__module__.split(".")[0], lambda: table
    )()
    query = asked(**size)
    made = query(frame)
    assert isinstance(made, type(frame))
    ((name, sizes),) = ((n, s) for n, s in size.items() if n != "names")
    for each, suffix in zip(sizes, names, strict=True):
        alone = asked(**{name: each})(frame)
        for part in "acn":
            got, want = made[f"{part}_{suffix}"], alone[part]
            assert str(list(got)) == str(list(want))
    assert eval(repr(query), {"sliding": sliding, "Max": Max, "Collect": Collect, "Count": Count,
                              "datetime": datetime}) == query  # fmt: skip
    assert pickle.loads(pickle.dumps(query)) == query


def test_rows_are_sorted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from windrow.tables import sort as tables_sort

    calls = []
    monkeypatch.setattr(
        tables_sort, "order_rows", lambda *a, **k: calls.append(1) or sort.order_rows(*a, **k)
    )
    table = pa.table({"t": np.arange(9)[::-1], "v": np.arange(9)})
    made = sliding(order_by="t", range=[1, 3, 9], m=Mean("v"), where="v > 1")(table)
    assert made.column_names == ["t", "v", "m_1", "m_3", "m_9"] and made.num_rows == 7
    assert calls == [1]


def test_on_a_stream_rows_are_kept_once() -> None:
    came = disordered(readings(120, 3, 5, spread=200), 30_000_000, 5)
    query = sliding(
        partition_by="key", order_by="ts", lateness="30 seconds", range=SIZES[:3],
        a=Max("x"), s=Sum("x"),
    )  # fmt: skip
    plan = plan_of(*query, schema=came.schema)
    assert len(plan.families) == 1
    stream = Stream(plan, 30_000_000)
    for at in range(0, came.num_rows, 17):
        stream.push(came.slice(at, 17))
    made = stream.finish().sort_by("id")
    assert made.equals(query(came).sort_by("id").select(made.column_names))


def test_explain_tells_of_each() -> None:
    text = asked(range=["1 hour", "7 days"]).explain()
    assert "a_1h" in text and "a_7d" in text


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ({"range": []}, "range=[] has no size in it"),
        ({"range": ["1 hour", "60 minutes"], "names": ["a"]}, "a name for each of the 2 sizes"),
        ({"rows": [3, 3]}, "are called '3'"),
        ({"rows": [3, (-1, 1)]}, "give names="),
        ({"rows": [3, 5], "slide": 2}, "without slide="),
        ({"rows": [3, 5], "having": "a > 1"}, "without slide="),
        ({"rows": [3, 5], "range": "1 hour"}, "give one of"),
        ({"rows": 3, "names": ["a"]}, "goes with several sizes"),
        ({"rows": [3, 0]}, "rows must be 1 or more"),
    ],
    ids=str,
)
def test_mistakes_are_told(size: Any, words: str) -> None:
    with pytest.raises(InvalidArgument) as told:
        asked(**size)
    assert words in str(told.value), told.value
