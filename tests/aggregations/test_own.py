"""A subclass of the user's own that states its fields and its result: every engine without Spark.

`tests/spark/test_own.py` runs another one over DataFrames.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.streams.feeding import Stream, disordered, plan_of, readings
from windrow import Aggregation, MemoryStore, RollingState, aggregator, rolling, sliding, window
from windrow.errors import Unsupported
from windrow.kernels.routes import traced

MINUTE = 60 * 10**6


class Drop(Aggregation):
    """The largest fall from a value to a later one: neither commutative nor selective."""

    takes = "number"
    fields = {"high": "value", "low": "value", "drop": "value"}
    result = "value"

    @staticmethod
    def unit(x: Any) -> Any:
        return x, x, x - x

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        drop = max(a[2], b[2])
        return max(a[0], b[0]), min(a[1], b[1]), max(drop, a[0] - b[1])

    @staticmethod
    def answer(state: Any) -> Any:
        return state[2]


def brute(values: list[Any]) -> Any:
    """By looking at all pairs."""
    known = [v for v in values if v is not None]
    falls = [a - b for i, a in enumerate(known) for b in known[i:]]
    return max(falls, default=None)


def by_rows(values: list[Any], w: int) -> list[Any]:
    return [brute(values[max(0, i + 1 - w) : i + 1]) for i in range(len(values))]


VALUES = np.random.default_rng(3).integers(-40, 40, 150)


@pytest.mark.parametrize("dtype", ["i8", "f8"])
@pytest.mark.parametrize("w", [1, 5, 64, 400])
def test_arrays(dtype: str, w: int) -> None:
    expected = by_rows(VALUES.tolist(), w)
    with traced() as ran:
        assert rolling(VALUES.astype(dtype), Drop(), rows=w).tolist() == expected
    assert ran == [("Drop()", "two_stacks")], "it is compiled"
    for algorithm in ("daba", "flatfat", "amta"):
        assert (
            rolling(VALUES.astype(dtype), Drop(), rows=w, algorithm=algorithm).tolist() == expected
        )


def test_arrays_in_batches_with_nulls() -> None:
    nulls = VALUES % 7 == 0
    whole = rolling(VALUES * 1.0, Drop(), rows=9, nulls=nulls)
    state = RollingState()
    pieces = [
        rolling(v * 1.0, Drop(), rows=9, nulls=n, state=state)
        for v, n in zip(np.split(VALUES, [4, 30, 31]), np.split(nulls, [4, 30, 31]), strict=True)
    ]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)
    expected = by_rows([None if n else v for v, n in zip(VALUES.tolist(), nulls, strict=True)], 9)
    assert [None if math.isnan(v) else v for v in whole] == expected


def of_keys(table: pa.Table, microseconds: int) -> dict[int, Any]:
    """The results of each row of a key within a range, by the row's number."""
    rows = table.to_pylist()
    found = {}
    for row in rows:
        inside = [
            r["x"]
            for r in sorted(rows, key=lambda r: (r["ts"], r["id"]))
            if r["key"] == row["key"]
            and 0 <= (row["ts"] - r["ts"]).total_seconds() * 10**6 <= microseconds
        ]
        found[row["id"]] = brute(inside)
    return found


RANGED = sliding(
    partition_by="key", order_by="ts", range="20 seconds", lateness="1 minute", fall=Drop("x")
)


def test_tables() -> None:
    table = readings(200, 4, seed=5)
    made = RANGED(table)
    assert dict(zip(*(made[c].to_pylist() for c in ("id", "fall")), strict=True)) == of_keys(
        table, 20 * 10**6
    )
    assert made.schema.field("fall").type == pa.int64()


@pytest.mark.parametrize("rows", [3, 40])
def test_streams(rows: int) -> None:
    table = readings(300, 3, seed=rows)
    for query in (RANGED, RANGED.replace(window=sliding(rows=rows, a=Drop("x")).window)):
        stream = Stream(plan_of(query, schema=table.schema), lateness=MINUTE)
        came = disordered(table, 30 * 10**6, seed=1)
        for begin in range(0, 300, 37):
            stream.push(came.slice(begin, 37))
            stream.restart()
        got = stream.finish().sort_by("id").select(["id", "fall"])
        # Rows of equal times stand in the order in which they came, and a fall depends on it.
        assert got.equals(query(came).sort_by("id").select(["id", "fall"]))


def test_streams_of_hopping_windows_keep_states() -> None:
    table = readings(300, 3, seed=9, spread=900)
    query = RANGED.replace(
        window=sliding(order_by="ts", range="2 minutes", slide="30 seconds", a=Drop("x")).window
    )
    stream = Stream(plan_of(query, schema=table.schema), lateness=MINUTE)
    for begin in range(0, 300, 50):
        stream.push(table.slice(begin, 50))
        stream.restart()
    order = [("key", "ascending"), ("window_start", "ascending")]
    assert stream.finish().sort_by(order).equals(query(table).sort_by(order))


def test_stores_and_single_events() -> None:
    swag = aggregator(Drop(), algorithm="amta", store=MemoryStore())
    for value in (7, 3, 5, 1):
        swag.insert(value)
    assert swag.query() == 6
    swag.evict(2)
    assert swag.query() == 4
    pushed = window(Drop(), rows=3)
    assert [pushed.push(v) for v in VALUES.tolist()] == by_rows(VALUES.tolist(), 3)


def test_a_class_that_changes_a_function_states_its_states_anew() -> None:
    class Doubled(Drop):
        @staticmethod
        def unit(x: Any) -> Any:
            return 2 * x, 2 * x, x - x

    with traced() as ran:
        doubled = rolling(VALUES, Doubled(), rows=4)
    assert doubled.tolist() == [2 * v for v in by_rows(VALUES.tolist(), 4)]
    assert ran == [("Doubled()", "interpreted")]


def test_functions_that_do_not_compile_are_named() -> None:
    class Sorted(Drop):
        fields = {"text": "float64"}

        @staticmethod
        def unit(x: Any) -> Any:
            return (str(x),)

    with pytest.raises(Unsupported, match=r"Sorted\(\) does not compile"):
        rolling(VALUES, Sorted(), rows=4)
