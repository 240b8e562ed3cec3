"""Columns of types that Arrow, NumPy or pandas have in several forms: the same results in each."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from windrow import (
    ArgMax,
    Collect,
    CollectDistinct,
    Count,
    CountDistinct,
    First,
    LongestRun,
    Max,
    Mean,
    Min,
    Mode,
    Query,
    Sum,
    TopK,
    rolling,
    sliding,
)
from windrow.errors import InvalidValue

TEXTS = ["b", None, "a", "b", "", "longer than a view holds in place", "a"]
DECIMALS = [None if t is None else Decimal(len(t)) / 2 for t in TEXTS]
NUMBERS = [None if t is None else float(len(t)) for t in TEXTS]


def run_ends(values: pa.Array) -> pa.Array:
    return pc.run_end_encode(values)


FORMS: dict[str, tuple[pa.Array, Callable[[pa.Array], pa.Array]]] = {
    "views of strings": (pa.array(TEXTS), lambda a: a.cast(pa.string_view())),
    "views of bytes": (pa.array(TEXTS).cast(pa.binary()), lambda a: a.cast(pa.binary_view())),
    "run ends": (pa.array(NUMBERS), run_ends),
    "run ends of strings": (pa.array(TEXTS), run_ends),
    "half floats": (pa.array(NUMBERS), lambda a: a.cast(pa.float16())),
}
if hasattr(pa, "decimal32"):
    FORMS["short decimals"] = (
        pa.array(DECIMALS, pa.decimal128(5, 1)),
        lambda a: pa.array(a.to_pylist(), pa.decimal32(5, 1)),
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rows", [7, 0])
def test_some_rows_of_a_column_in_another_form(form: str, rows: int) -> None:
    plain, change = FORMS[form]
    whole = pa.table({"t": range(len(plain)), "v": plain})
    other = whole.set_column(1, "v", change(plain)).slice(0, rows)
    for query in (
        sliding(order_by="t", rows=3, slide=2, n=Count()),
        sliding(order_by="t", rows=3, where="t > 2", n=Count()),
        sliding(order_by="t", rows=3, having="n > 2", n=Count()),
        sliding(partition_by="v", order_by="t", range=3, slide=3, n=Count()),
    ):
        result = query(other)
        assert result.schema.field("v").type == other.schema.field("v").type
        assert result.to_pylist() == query(whole.slice(0, rows)).to_pylist()


def test_a_condition_over_a_dictionary_of_times_with_a_zone() -> None:
    times = pa.array([3, 1, 2], pa.timestamp("us", "Europe/Berlin"))
    table = pa.table({"on": [True, False, True], "v": times.dictionary_encode()})
    assert sliding(rows=3, m=Min("v").where('"on"'))(table)["m"].cast("int64").to_pylist() == [
        3,
        3,
        2,
    ]


ARGUMENTS = {
    "int8": [-100, 100],
    "uint8": [200, 100],
    "uint64": [200, 100],
    "bool": [True, False],
    "float": [1.5, 1.25],
    "decimal128(38, 2)": [Decimal("1.00"), Decimal("3.50")],
}


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_the_span_of_a_run_does_not_wrap_around(kind: str) -> None:
    start, end = ARGUMENTS[kind]
    types: dict[str, Any] = {"decimal128(38, 2)": pa.decimal128(38, 2)}
    at = pa.array([start, end], types.get(kind, kind))
    found = sliding(rows=2, run=LongestRun("v", "at"))(pa.table({"v": [1.0, 2.0], "at": at}))
    assert found["run"][1].as_py()["span"] == end - start
    if kind not in types:
        runs = rolling(
            (np.array([1.0, 2.0]), at.to_numpy(zero_copy_only=False)), LongestRun(), rows=2
        )
        assert runs["span"][1] == end - start


def test_a_span_that_no_int64_holds_is_refused() -> None:
    at = np.array([-(2**62) - 1, 2**62])
    with pytest.raises(OverflowError, match="exceeds int64"):
        rolling((np.array([1.0, 2.0]), at), LongestRun(), rows=2)
    with pytest.raises(OverflowError, match="exceeds int64"):
        sliding(rows=2, run=LongestRun("v", "at"))(pa.table({"v": [1.0, 2.0], "at": at}))


def test_types_of_polars_that_arrow_has_not() -> None:
    large = pl.Series("large", [2**100, None], dtype=pl.Int128)
    frame = pl.DataFrame({"large": large, "o": pl.Series([{1}, {2}], dtype=pl.Object), "v": [1, 2]})
    for each in (frame, frame.lazy()):
        beside = sliding(rows=2, m=Max("v"))(each).lazy().collect()
        assert beside["large"].to_list() == [2**100, None] and beside["m"].to_list() == [1, 2]
        for column in ("large", "o"):
            with pytest.raises(InvalidValue, match=f"'{column}' is of type"):
                sliding(rows=2, first=First(column))(each)


@pytest.mark.parametrize("form", FORMS)
def test_a_column_in_another_form(form: str) -> None:
    plain, change = FORMS[form]
    whole = pa.table({"t": range(len(plain)), "v": plain})
    other = whole.set_column(1, "v", change(plain))
    values = sliding(
        order_by="t", rows=3, a=Max("v"), b=Min("v"), c=First("v"), d=Collect("v"),
        e=CollectDistinct("v"), f=CountDistinct("v"), g=Mode("v"), h=TopK("v", k=2),
    )  # fmt: skip
    keys = sliding(partition_by="v", order_by="t", rows=2, a=Collect("t"))
    orders = [
        sliding(order_by="v", a=Collect("t"), **window)
        for window in ({"rows": 3}, {"groups": (-1, 0)}, {"range": "unbounded"})
    ]
    for query in (values, keys, *orders):
        names = list(query.parts)
        assert query(other).select(names).to_pylist() == query(whole).select(names).to_pylist()


@pytest.mark.parametrize(
    "keys", [[2**64 - 1, None, 2**64 - 3], [2**63 + 1, 2**63 - 3, None], [2**64 - 1, 0, None]]
)
def test_keys_past_int64(keys: list[int | None]) -> None:
    table = pa.table({"k": pa.array([*keys, *keys[::-1]], pa.uint64()), "v": range(6)})
    made = sliding(partition_by="k", rows=2, w=Collect("v"))(table)["w"].to_pylist()
    assert made == [[0], [1], [2], [2, 3], [1, 4], [0, 5]]


@pytest.mark.parametrize("window", [{"rows": 3}, {"groups": (-1, 0)}, {"range": "unbounded"}])
def test_lists_are_no_order(window: dict[str, Any]) -> None:
    table = pa.table({"at": [[1], [2]], "v": [1, 2]})
    with pytest.raises(InvalidValue, match=r"order_by='at' is of type list<.*cannot be ordered by"):
        sliding(order_by="at", s=Sum("v"), **window)(table)


def test_intervals_of_pandas_are_no_order() -> None:
    frame = pd.DataFrame({"at": pd.interval_range(0, 2), "v": [1, 2]})
    with pytest.raises(InvalidValue, match=r"order_by='at' is of type .*interval"):
        sliding(order_by="at", rows=2, s=Sum("v"))(frame)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u4", "M8[ns]", "M8[s]", "m8[us]"])
def test_bytes_the_other_way_round(dtype: str) -> None:
    values = np.random.default_rng(3).integers(0, 100, 200).astype(dtype)
    swapped = values.astype(values.dtype.newbyteorder(">"))
    calls: list[dict[str, Any]] = [
        {"rows": 7}, {"rows": 7, "algorithm": "daba"}, {"rows": (-2, 2)}, {"rows": "unbounded"},
    ]  # fmt: skip
    aggregations = [Max(), Min(), First(), Mode(), CountDistinct()]
    if values.dtype.kind != "M":
        aggregations.append(Sum())
    for aggregation in aggregations:
        for call in calls:
            made, wanted = (
                rolling(swapped, aggregation, **call),
                rolling(values, aggregation, **call),
            )
            np.testing.assert_array_equal(made, wanted)
    at = np.sort(swapped)
    size = {"M": "3 s", "m": "3 s"}.get(values.dtype.kind, 3)
    made = rolling(np.arange(200), Sum(), range=size, at=at)
    wanted = rolling(np.arange(200), Sum(), range=size, at=np.sort(values))
    np.testing.assert_array_equal(made, wanted)
    query = sliding(partition_by="k", order_by="v", rows=5, a=Max("v"), b=CountDistinct("v"))
    frames = [pd.DataFrame({"v": each, "k": each}) for each in (swapped, values)]
    made, wanted = (query(frame)[["a", "b"]] for frame in frames)
    pd.testing.assert_frame_equal(made, wanted)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (np.array([1, 2], np.longdouble), "the type float128"),
        (np.array([1, 2], np.complex128), "the type complex128"),
        (pd.array([2**70, 1], dtype=object), "values of no one type"),
    ],
)
def test_columns_that_arrow_has_no_type_for(values: Any, problem: str) -> None:
    frame = pd.DataFrame({"t": [0, 1], "v": values})
    with pytest.raises(InvalidValue, match=f"the column 'v' has {problem}"):
        sliding(order_by="t", rows=2, s=Max("v"))(frame)
    assert "v" in sliding(order_by="t", rows=2, s=Sum("t"))(frame)


READINGS = {
    "near": np.array([2, 1, 2, 2, 1, 2, 1, 1]),
    "far": np.array([2, -(2**62), 2, 2, -(2**62), 2, 2**62, 2**62]),
    "half": np.array([0.5, -0.0, 0.5, 0.5, 0.0, 0.5, 0.0, 0.0]),
    "t": np.array([5, 1, 2, 9, 4, 4, 7, 8], np.int32),
    "above": np.array([5, 1, 2, 9, 4, 4, 7, 8], np.uint64) + np.uint64(2**63),
    "at": np.array([5, 1, 2, 9, 4, 4, 7, 8]).astype("M8[s]").astype("M8[us]"),
    "v": np.array([3.0, -1.0, 4.0, 1.0, np.inf, 9.0, 2.0, 6.0], np.float32),
    "n": np.array([3, -1, 4, 1, 5, 9, 2, 6], np.int8),
}
QUERIES: list[Query] = [
    sliding(partition_by="near", order_by="t", rows=2, high=Max("v"), when=ArgMax("v", "at")),
    sliding(partition_by="far", order_by="at", range="2 s", low=Min("n"), total=Sum("n")),
    sliding(partition_by="half", order_by="above", rows=3, total=Sum("n"), again=Sum("n")),
    sliding(order_by="t", range=3, where="n > 0", having="total < 12", total=Sum("n")),
    sliding(order_by="t", rows=(-1, 1), exclude="current row", total=Sum("2 * n"), all=Mean("v")),
    sliding(order_by="t", rows=3, min_rows=2, high=Max("n"), ts=Collect("t"), top=TopK("n", k=2)),
    sliding(order_by="t", on="n > 3", high=Max("v"), count=Count()),
    sliding(order_by="t", until=lambda record: record["high"] > 4, high=Max("v")),
    sliding(
        partition_by="near", order_by="at", gap="2 s", high=Max("at"), run=LongestRun("n > 1", "at")
    ),
    sliding(order_by="t", gap="n", low=Min("v")),
    sliding(rows=2, count=Count()),
]


@pytest.mark.parametrize("number", range(len(QUERIES)))
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_numbers_of_frames_have_the_results_of_tables(number: int, frame: Any) -> None:
    query, frame = QUERIES[number], frame(READINGS)
    results = query(frame)
    expected = query(pa.table(READINGS))
    names = [*query.parts]
    arrow = pa.table(results) if isinstance(frame, pd.DataFrame) else results.to_arrow()
    assert [arrow.column(n).to_pylist() for n in names] == [
        expected.column(n).to_pylist() for n in names
    ]
    for name in names:  # results are nobody else's: a change of one is seen nowhere else
        if isinstance(frame, pd.DataFrame) and results[name].dtype.kind in "if":
            before = results.drop(columns=name).copy()
            results[name].to_numpy()[:] = 0
            pd.testing.assert_frame_equal(results.drop(columns=name), before)
    assert all((np.asarray(frame[name]) == values).all() for name, values in READINGS.items())
