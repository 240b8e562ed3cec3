"""Mistakes are found before any row is read, and their messages help."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from windrow import (
    EWM,
    ArgMax,
    Concat,
    FirstN,
    Histogram,
    LastN,
    Max,
    Mean,
    MomentSketch,
    Nth,
    Query,
    Range,
    StdDev,
    Sum,
    aggregation,
    rolling,
    sliding,
)  # fmt: skip
from windrow.errors import InvalidArgument, InvalidValue, WindrowError
from windrow.tables.bind import bind

FRAME = pa.table(
    {
        "key": ["a"],
        "ts": pa.array([1], pa.timestamp("us")),
        "n": [1],
        "load": [1.5],
        "tags": pa.array([[1]]),
    }
)


def refused(error: type[WindrowError], match: str, frame: Any = FRAME, **query: Any) -> None:
    """Asking such a thing of the frame is refused."""
    with pytest.raises(error, match=match):
        sliding(**query)(frame)


def test_unknown_columns_with_the_nearest_known() -> None:
    refused(InvalidArgument, "no column 'laod'; did you mean 'load'", rows=2, x=Max("laod"))
    refused(InvalidArgument, "did you mean 'key'", rows=2, partition_by="kye", x=Max("load"))
    refused(InvalidArgument, "did you mean 'ts'", range="1 s", order_by="tss", x=Max("load"))
    refused(
        InvalidArgument,
        "'lod', which is not in the frame; did you mean 'load'",
        rows=2,
        where="lod > 3",
        x=Max("load"),
    )
    refused(InvalidArgument, "did you mean 'peak'", rows=2, having="pek > 3", peak=Max("load"))


@pytest.mark.parametrize(
    "part",
    [
        Sum("key"), Mean("ts"), StdDev("key"), Range("key"), Max("tags"), Concat("n"),
        ArgMax("tags", "n"),
    ],
)  # fmt: skip
def test_types_that_an_aggregation_does_not_take(part: Any) -> None:
    refused(InvalidValue, f"takes a column .* and {part.columns[0]!r} is of type", rows=2, x=part)


def test_sizes_that_do_not_fit_the_order() -> None:
    refused(InvalidValue, "give a duration", range=5, order_by="ts", x=Max("n"))
    refused(InvalidValue, "give a number", range="5 s", order_by="n", x=Max("n"))
    refused(InvalidValue, "measures along numbers", delta=5, order_by="ts", x=Max("n"))
    refused(InvalidValue, "measures along times or numbers", range=5, order_by="key", x=Max("n"))


def test_names_that_are_taken() -> None:
    refused(InvalidArgument, "already has a column 'load'", rows=2, load=Max("load"))
    refused(
        InvalidArgument, "already has a column 'window_start'",
        range="2 s", slide="1 s", order_by="ts", window_start=Max("load"),
    )  # fmt: skip
    two = FRAME.append_column("load", FRAME.column("n"))
    refused(InvalidArgument, "2 columns named 'load'", frame=two, rows=2, x=Max("load"))


def test_sketches_that_are_no_column() -> None:
    refused(InvalidValue, "give quantiles", rows=2, x=MomentSketch("load"))


@pytest.mark.parametrize(
    ("message", "given"),
    [
        ("rows must be 1 or more", {"rows": 0}),
        ("rows must be a whole number", {"rows": 2.5}),
        ("slide must be 1 or more", {"rows": 3, "slide": 0}),
        ("slide=4 is larger than rows=3", {"rows": 3, "slide": 4}),
        (
            "slide='2 h' is larger than range='1 h'",
            {"range": "1 h", "slide": "2 h", "order_by": "t"},
        ),
        ("no unit of time", {"range": "1 fortnight", "order_by": "t"}),
        ("months and years differ", {"rows": 2, "lateness": "1 month", "order_by": "t"}),
        ("longer than nothing", {"range": "0 s", "order_by": "t"}),
        ("larger than 0", {"delta": -1, "order_by": "t"}),
        ("must be a number", {"delta": "1 h", "order_by": "t"}),
        ("give one of", {}),
        ("give one of", {"rows": 1, "range": 2}),
        ("did you mean 'both'", {"range": 2, "closed": "boht", "order_by": "t"}),
        ("closed='left' means nothing with rows=", {"rows": 2, "closed": "left"}),
        ("a result for each row", {"range": 2, "slide": 1, "closed": "left", "order_by": "t"}),
        ("must be a duration, as", {"range": "1 h", "slide": 5, "order_by": "t"}),
        ("goes with slide= only", {"range": 2, "offset": 1, "order_by": "t"}),
        ("a function of", {"until": 5}),
        ("must be a condition", {"on": 5}),
        ("did you mean 'rows'", {"row": 5}),
        ("names 't' 2 times", {"rows": 2, "order_by": ["t", "t"]}),
        ("measures along one column", {"range": 2, "order_by": ["t", "u"]}),
        ("did you mean 'istream'", {"rows": 2, "emit": "istrem"}),
        ("lateness='soon'", {"rows": 2, "lateness": "soon"}),
    ],
)
def test_a_query_that_cannot_be(message: str, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=message):
        sliding(**given, x=Max("v"))


def test_results_need_names_and_columns() -> None:
    with pytest.raises(InvalidArgument, match="at least one named aggregation"):
        sliding(rows=2)
    with pytest.raises(InvalidArgument, match="write Max\\('load'\\)"):
        sliding(rows=2, x=Max())
    with pytest.raises(InvalidArgument, match="write Max\\(…\\)"):
        sliding(rows=2, x=Max)
    with pytest.raises(InvalidArgument, match="given to 2 results"):
        sliding({"x": Max("v")}, rows=2, x=Max("v"))
    own = aggregation(lift=abs, combine=max, lower=abs)
    with pytest.raises(InvalidArgument, match="names no column"):
        sliding(rows=2, x=own)


def test_a_query_is_a_value() -> None:
    import pickle

    query = sliding(partition_by=["a", "b"], order_by="t", range="1 h", x=Max("v"), y=Mean("v"))
    again = sliding(partition_by=["a", "b"], order_by="t", range="1 h", x=Max("v"), y=Mean("v"))
    assert query == again and hash(query) == hash(again)
    assert pickle.loads(pickle.dumps(query)) == query
    assert eval(repr(query), {"sliding": sliding, "Max": Max, "Mean": Mean}) == query
    assert query != again.replace(emit="istream")
    with pytest.raises(AttributeError):
        query.emit = "istream"  # type: ignore[misc]
    assert isinstance(query, Query)


@pytest.mark.parametrize("window", [{}, {"closed": "right"}, {"slide": "1 day"}])
def test_a_size_beyond_64_bits_is_refused(window: dict[str, Any]) -> None:
    given = {"order_by": "ts", "range": "999999999 days", "a": Max("load"), **window}
    refused(InvalidValue, r"range='999999999 days' along 'ts': .*\"unbounded\"", **given)
    given = {"order_by": "n", "range": 2**63, "a": Max("load")}
    refused(InvalidValue, "range=9223372036854775808 along 'n': a size of", **given)
    refused(
        InvalidValue, "delta=1e[+]19 along 'n': a size of", order_by="n", delta=1e19, a=Max("n")
    )
    with pytest.raises(InvalidValue, match="a size of"):
        rolling(np.array([1.0]), Max(), range="999999999 days", at=np.array([1], "M8[us]"))


def test_an_offset_of_nothing_is_none() -> None:
    given: dict[str, Any] = {"order_by": "ts", "range": "4 s", "slide": "2 s", "a": Max("load")}
    assert sliding(**given, offset="0 s")(FRAME) == sliding(**given)(FRAME)
    assert sliding(**given, offset=timedelta(0))(FRAME) == sliding(**given)(FRAME)


class Counted(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


class CountedSchema:
    """A schema of n columns of numbers that counts each name it gives."""

    def __init__(self, n: int) -> None:
        self._schema = pa.schema({f"c{i}": pa.float64() for i in range(n)})

    @property
    def names(self) -> list[Counted]:
        Counted.compared += len(self._schema)
        return [Counted(name) for name in self._schema.names]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._schema, name)

    def __iter__(self) -> Any:
        Counted.compared += len(self._schema)
        return iter(self._schema)


def comparisons(n: int) -> int:
    """How many names are met when a query of n aggregations is bound to n columns."""
    Counted.compared = 0
    results = {Counted(f"r{i}"): Max(f"c{i}") for i in range(n - 1)}
    expression = {"last": Sum("c0 + c1")}
    bind(sliding(rows=2, where="c0 > c1", **results, **expression), CountedSchema(n))  # type: ignore[arg-type]
    return Counted.compared


def test_binding_is_linear_in_columns() -> None:
    few, many = comparisons(100), comparisons(800)
    assert few > 100 and many < 9 * few


def test_conditions_that_are_not_true_or_false() -> None:
    match = "a condition is true or false; this one is of type double"
    refused(InvalidValue, f"where='load': {match}", rows=2, where="load", x=Max("n"))
    refused(InvalidValue, f"on='load': {match}", on="load", x=Max("n"))
    refused(InvalidValue, match, rows=2, having="load + x", x=Max("n"))
    refused(InvalidValue, match, rows=2, x=Max("n").where("load"))
    # also where the same text is the gap of a session, which is no condition
    refused(InvalidValue, "where='n': a condition", order_by="n", gap="n", where="n", x=Max("load"))


def test_arguments_of_the_wrong_kind() -> None:
    refused(InvalidArgument, "order_by=5 must be the name", rows=2, order_by=5, x=Max("n"))
    refused(InvalidArgument, "until=.* must be a function of", until=lambda: True, x=Max("n"))
    refused(InvalidArgument, "on=.* must be a condition", on=lambda a, b: True, x=Max("n"))
    for named in (5, {5: Max("n")}):
        with pytest.raises(InvalidArgument, match="takes results by their names"):
            sliding(named, rows=2)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="edges must be several numbers, got 5"):
        Histogram("n", edges=5)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="separator must be a text, got 5"):
        Concat("key", separator=5)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="state=5 must be a RollingState"):
        rolling(np.arange(3), Max(), rows=2, state=5)  # type: ignore[call-overload]


def test_parameters_take_the_numbers_of_numpy() -> None:
    assert Nth("n", n=np.int64(-2)) == Nth("n", n=-2)
    assert EWM("n", halflife=np.float32(2)) == EWM("n", halflife=2.0)
    with pytest.raises(InvalidArgument, match="Nth: n must be a whole number"):
        Nth("n", n=2.0)  # type: ignore[arg-type]


def test_more_values_than_there_can_be() -> None:
    many = 2**70
    query = sliding(
        rows=2, a=FirstN("n", n=many), b=LastN("n", n=many), c=Nth("n", n=many), d=Nth("n", n=-many)
    )
    results = query(FRAME).select(["a", "b", "c", "d"]).to_pylist()
    assert results == [{"a": [1], "b": [1], "c": None, "d": None}]


@pytest.mark.parametrize(("function", "takes"), [("lift", 1), ("combine", 2), ("lower", 1)])
def test_functions_of_another_number_of_values(function: str, takes: int) -> None:
    functions: dict[str, Any] = {"lift": float, "combine": max, "lower": abs}
    with pytest.raises(InvalidArgument, match=rf"{function} must take {takes} value\(s\), and"):
        aggregation("n", **{**functions, function: lambda a, b, c: a})


@pytest.mark.parametrize("result", [object(), {"a": object()}])
def test_results_that_no_column_holds(result: Any) -> None:
    own = aggregation("key", lift=str, combine=str.__add__, lower=lambda text: result)
    refused(InvalidValue, "its results are of no one type of a column", rows=2, x=own)
