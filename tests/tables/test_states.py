"""Partial aggregates as columns: made of slices, sent through Arrow, merged, and still the same."""

from __future__ import annotations

import datetime as dt
import io
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalogue import CLASSES, closeness, identified, same
from tests.examples import examples
from windrow import (
    EWM,
    HLL,
    KLL,
    R2,
    ArgMax,
    ArgMin,
    BitAnd,
    BitOr,
    BitXor,
    Bloom,
    BottomK,
    Collect,
    CollectDistinct,
    Concat,
    Corr,
    Count,
    CountDistinct,
    CountMin,
    Covariance,
    Delta,
    EWMByTime,
    First,
    FirstN,
    GeometricMean,
    Histogram,
    HyperLogLog,
    Increase,
    Intercept,
    Kurtosis,
    Last,
    LastN,
    LongestRun,
    Max,
    MaxCount,
    Mean,
    Median,
    Min,
    MinCount,
    Mode,
    MomentSketch,
    Nth,
    PercentRank,
    Product,
    Quantile,
    Range,
    Rank,
    Rate,
    Skewness,
    Slope,
    StdDev,
    Sum,
    TDigest,
    Theta,
    Together,
    TopK,
    Variance,
    WeightedMean,
    aggregation,
)
from windrow.aggregations.base import Aggregation
from windrow.aggregations.custom import Custom
from windrow.aggregations.logic import All
from windrow.aggregations.logic import Any as AnyTrue
from windrow.errors import Unsupported
from windrow.kernels.sort import Order
from windrow.tables.results import SortedColumns, WindowResults
from windrow.tables.sort import TableRows
from windrow.tables.states import StateColumns, part_of
from windrow.tables.types import result_type
from windrow.windows.positions import Windows

Array = np.ndarray[Any, Any]

AFFINE = aggregation(  # x ↦ ax + b, one map after the other: order matters
    lift=lambda v: (v % 7 + 1, v % 5),
    combine=lambda f, g: (f[0] * g[0] % 101, (g[0] * f[1] + g[1]) % 101),
    lower=lambda f: f[1],
    exact=True,
)
SHARE = aggregation(  # two columns
    lift=lambda v, w: (v * w, w),
    combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
    lower=lambda s: s[0] / (s[1] + 100.0),
)
WORDS = aggregation(  # states that only the interpreter has
    lift=lambda word: {word: 1},
    combine=lambda a, b: {k: a.get(k, 0) + b.get(k, 0) for k in a | b},
    lower=lambda counts: max(counts, key=lambda k: (counts[k], k)),
    exact=True,
)

_small = st.integers(-3, 4)
_day = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "real": (
        pa.float64(),
        st.one_of(_small.map(float), st.floats(-1e3, 1e3), st.just(math.nan)),
    ),
    "whole": (pa.int64(), _small),
    "short": (pa.int16(), _small),
    "flag": (pa.bool_(), st.booleans()),
    "word": (pa.string(), st.sampled_from(["", "a", "b", "ba", "ß"])),
    "price": (pa.decimal128(10, 2), _small.map(lambda v: Decimal(v) / 4)),
    "mass": (pa.decimal128(30, 5), _small.map(lambda v: Decimal(10) ** 20 * v)),
    "at": (pa.timestamp("us", "UTC"), _small.map(lambda v: _day + dt.timedelta(hours=v))),
    "date": (pa.date32(), _small.map(lambda v: dt.date(2026, 3, 4) + dt.timedelta(days=v))),
    "wait": (pa.duration("ms"), _small.map(lambda v: dt.timedelta(seconds=v))),
}
TYPES = {name: kind for name, (kind, _) in COLUMNS.items()}

CASES: list[Aggregation] = [
    *(Count(), Count("word")),
    *(agg(c) for agg in (Max, Min) for c in ("real", "word", "mass", "flag", "date")),
    *(First("word"), First("real"), Last("at"), Last("flag")),
    *(ArgMax("real", "word"), ArgMin("word", "at"), ArgMax("price", "price")),
    *(MaxCount("real"), MinCount("word"), MaxCount("mass")),
    *(Range("real"), Range("short"), Range("at"), Range("mass"), Range("flag")),
    *(Sum("real"), Sum("whole"), Sum("flag"), Sum("price"), Sum("mass"), Sum("wait")),
    *(Mean("real"), Mean("whole"), Mean("price"), Mean("mass"), Mean("wait")),
    *(GeometricMean("real"), Variance("real"), StdDev("whole", ddof=0), Product("real")),
    *(Corr("real", "short"), Covariance("whole", "flag", ddof=0), Slope("real", "whole")),
    *(Intercept("whole", "real"), R2("real", "real"), WeightedMean("real", "flag")),
    *(Skewness("real"), Kurtosis("whole", bias=True)),
    *(AnyTrue("flag"), All("flag"), BitAnd("whole"), BitOr("short"), BitXor("short")),
    *(Delta("real"), Delta("short"), Delta("at"), Delta("date"), Delta("mass")),
    *(Increase("real"), Increase("short")),
    *(EWM("real", halflife=2), EWM("short", halflife=0.5)),
    *(Rate("real", "at"), Rate("short", "date"), Rate("whole", "short")),
    *(EWMByTime("real", "at", halflife=3600), EWMByTime("short", "whole", halflife=2)),
    *(LongestRun("real", "at"), LongestRun("word", "whole")),
    *(Collect("word"), Collect("real"), Concat("word", separator="-")),
    *(FirstN("word", n=2), LastN("real", n=3), Nth("word", n=2), Nth("real", n=-3)),
    *(CollectDistinct("real"), CollectDistinct("word")),
    *(CountDistinct("real"), CountDistinct("word")),
    *(Bloom("whole", bits=128, hashes=3), Bloom("word", bits=128, hashes=3)),
    *(CountMin("at", epsilon=0.2, delta=0.1), HyperLogLog("word", precision=5)),
    *(HyperLogLog("real", precision=5), MomentSketch("real", order=3, quantiles=(0.0, 1.0))),
    *(KLL("real", q=(0.1, 0.9)), TDigest("short", q=0.5), HLL("word"), Theta("whole")),
    *(Median("real"), Quantile("whole", q=(0.1, 0.9)), TopK("real", k=3), BottomK("word", k=2)),
    *(Quantile(c, q=0.3, interpolation="inverted_cdf") for c in ("mass", "at", "flag")),
    *(Mode("real"), Mode("word"), Rank("real"), Rank("date", method="average")),
    *(PercentRank("price"), Histogram("real", edges=(-3, 0, 2.5)), TopK("date", k=2)),
    *(
        Quantile("word", q=(0.3, 0.9), interpolation="lower"),
        Histogram("short", bins=3, low=-3, high=3),
    ),
    *(AFFINE("whole"), SHARE("whole", "short"), WORDS("word")),
]
# The same states as those of other cases, of other types or lowered otherwise: compiled anew.
REPEATED = [
    *(Covariance("whole", "flag", ddof=0), Slope("real", "whole"), R2("real", "real")),
    *(EWM("short", halflife=0.5), EWMByTime("short", "whole", halflife=2)),
    *(Delta("short"), Delta("date"), Histogram("short", bins=3, low=-3, high=3)),
    *(StdDev("whole", ddof=0), Range("short"), MinCount("word")),
]
every_case = pytest.mark.parametrize(
    "agg",
    [pytest.param(agg, marks=[pytest.mark.slow] * (agg in REPEATED)) for agg in CASES],
    ids=identified,
)


def test_every_aggregation_is_among_the_cases() -> None:
    assert {type(agg) for agg in CASES} >= set(CLASSES) - {Custom}


@st.composite
def tables(draw: st.DrawFn, names: list[str]) -> pa.Table:
    n = draw(st.integers(0, 25))
    made = {}
    for name in names or ["whole"]:
        kind, values = COLUMNS[name]
        made[name] = pa.array(draw(st.lists(st.none() | values, min_size=n, max_size=n)), kind)
    return pa.table(made)


def edges_of(draw: Any, n: int) -> Array:
    """The edges of adjacent slices of n rows, some of them empty."""
    return np.sort(np.array([0, *draw(st.lists(st.integers(0, n), max_size=6)), n], np.int64))


@st.composite
def windows_over(draw: st.DrawFn, n: int) -> Windows:
    size = draw(st.integers(0, 8))
    a, b = (np.sort(draw(st.lists(st.integers(0, n), min_size=size, max_size=size))) for _ in "ab")
    lo, hi = (np.asarray(e, np.int64) for e in (np.minimum(a, b), np.maximum(a, b)))
    return Windows(np.array([0, n]), lo=lo, hi=hi)


def between(edges: Array) -> Windows:
    return Windows(edges[[0, -1]], lo=edges[:-1], hi=edges[1:])


def answerer(draw: Any, table: pa.Table, windows: Windows) -> WindowResults:
    """The table with its rows in any order, and the order that sorts them again."""
    n = table.num_rows
    order = np.array(draw(st.permutations(range(n))), np.int64)
    if not n or draw(st.booleans()):
        return reading(table, windows)
    mixed = np.empty(n, np.int64)
    mixed[order] = np.arange(n)
    return reading(table.take(pa.array(mixed)), windows, Order(rows=order))


def reading(table: pa.Table, windows: Windows, order: Order | None = None) -> WindowResults:
    ends = np.array([0, table.num_rows])
    return WindowResults(SortedColumns(table.column, TableRows(ends, ends, order=order)), windows)


def sent(fields: list[pa.Field], columns: dict[str, pa.Array]) -> pa.Table:
    """Written to a stream and read again; the schema is the one that was promised."""
    table = pa.table(columns)
    assert list(table.schema) == fields
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(stream.getvalue()).read_all()


def kind_of(agg: Aggregation) -> Any:
    if agg.columns == ("whole",) and isinstance(agg, Custom):
        return pa.int64()
    if isinstance(agg, Custom):
        return pa.float64() if agg.columns == ("whole", "short") else None
    return result_type("x", agg, [TYPES[c] for c in agg.columns])


def assert_same(agg: Aggregation, got: pa.Array, expected: pa.Array) -> None:
    assert got.type == expected.type or pa.types.is_null(expected.type)
    a, b = got.to_pylist(), expected.to_pylist()
    numeric = [TYPES[c] for c in agg.columns]
    rounded = isinstance(agg, StdDev) or not agg.exact_on_integers
    floating = rounded or any(pa.types.is_floating(kind) for kind in numeric)
    close = closeness(agg, 1e3) if floating or isinstance(agg, Custom) else None
    assert same(a, b, close), (a, b)


@every_case
@examples(12)
@given(data=st.data())
def test_slices_merged_answer_as_rows(agg: Aggregation, data: st.DataObject) -> None:
    table = data.draw(tables(list(dict.fromkeys(agg.columns))))
    parts = StateColumns([("x", agg)], TYPES)
    edges = edges_of(data.draw, table.num_rows)
    first = sent(parts.fields, parts.make(answerer(data.draw, table, between(edges))))
    over = data.draw(windows_over(edges.size - 1))
    check(agg, parts, first, over, table, edges, data.draw)

    again = edges_of(data.draw, first.num_rows)
    merged = parts.merge(answerer(data.draw, first, between(again)))
    second = sent(parts.fields, merged)
    over = data.draw(windows_over(again.size - 1))
    check(agg, parts, second, over, table, edges[again], data.draw)


def check(
    agg: Aggregation,
    parts: StateColumns,
    partial: pa.Table,
    over: Windows,
    table: pa.Table,
    edges: Array,
    draw: Any,
) -> None:
    """Windows over slices against the same windows over rows."""
    kind = kind_of(agg)
    got = parts.results(answerer(draw, partial, over), {"x": kind})["x"]
    lo, hi = over.bounds()
    of_rows = Windows(np.array([0, table.num_rows]), lo=edges[lo], hi=edges[hi])
    expected = answerer(draw, table, of_rows).result(agg, kind)
    assert_same(agg, got, expected)


def test_aggregations_share_what_they_send() -> None:
    aggregations = [
        ("n", Count("real")),
        ("total", Sum("real")),
        ("mean", Mean("real")),
        ("spread", Range("real")),
        ("peak", Max("real")),
        ("deviation", StdDev("real")),
        ("variance", Variance("real")),
        ("distinct", CountDistinct("word")),
        ("words", CollectDistinct("word")),
    ]
    parts = StateColumns(aggregations, TYPES)
    assert [field.name for field in parts.fields] == [
        "partial:count:real",
        "partial:sum:real",
        "partial:rest:real",
        "partial:min:real",
        "partial:max:real",
        "partial:centre:real",
        "partial:centrerest:real",
        "partial:squares:real",
        "partial:distinct:word",
    ]
    table = pa.table(
        {"real": [1.0, None, 4.0, math.nan], "word": ["a", "b", None, "a"]},
        pa.schema([("real", pa.float64()), ("word", pa.string())]),
    )
    made = parts.make(reading(table, between(np.array([0, 1, 2, 4]))))
    partial = sent(parts.fields, made)
    assert partial.column("partial:count:real").to_pylist() == [1, 0, 2]
    kinds = {name: kind_of(agg) for name, agg in aggregations}
    reader = reading(partial, between(np.array([0, 3])))
    got = parts.results(reader, kinds)
    direct = reading(table, between(np.array([0, 4])))
    for name, agg in aggregations:
        assert_same(agg, got[name], direct.result(agg, kinds[name]))
    merged = parts.merge(reader)
    assert list(merged) == [field.name for field in parts.fields]


def test_a_sketch_of_one_value_sends_its_head_only() -> None:
    part = part_of("x", HyperLogLog("word"), [pa.string()])
    table = pa.table({"word": ["a", None, "b", "c"]})
    (made,) = part.make(reading(table, between(np.array([0, 1, 2, 4]))))
    assert [None if v is None else len(v) for v in made.to_pylist()] == [64, None, 64 + 4096]


def test_blocks_of_sketches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"whole": np.arange(300) % 50})
    part = part_of("x", Bloom("whole", bits=128), [pa.int64()])
    monkeypatch.setattr("windrow.tables.state_bytes._BLOCK", 1)  # 64 windows at a time
    (made,) = part.make(reading(table, between(np.arange(301))))
    partial = pa.table({part.names[0]: made})
    rows = Windows(np.array([0, 300]), rows=7)
    got = part.results(reading(partial, rows), pa.binary())
    assert got.equals(reading(table, rows).result(part.aggregation, pa.binary()))


def test_what_cannot_be_sent_is_named() -> None:
    with pytest.raises(Unsupported, match=r"both=Together\(.*no partial aggregate"):
        part_of("both", Together(a=Max()), [])


def test_a_function_that_fails_names_the_row() -> None:
    inverse = aggregation("real", lift=lambda v: 1 / v, combine=max, lower=lambda s: s)
    parts = StateColumns([("y", inverse)], TYPES)
    table = pa.table({"real": [1.0, 0.0, 2.0]})
    with pytest.raises(ZeroDivisionError) as caught:
        parts.make(reading(table, between(np.array([0, 1, 3]))))
    assert caught.value.__notes__ == [f"in {inverse!r}, at the row {{'real': 0.0}}"]
