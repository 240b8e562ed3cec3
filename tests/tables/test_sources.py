"""Frames that come as Arrow, DuckDB's relations and narwhals' wrappers; and what is refused."""

from __future__ import annotations

import re
from typing import Any

import duckdb
import narwhals as nw
import narwhals.stable.v1 as nw_v1
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from windrow import Count, Max, Mean, shared, sliding, sql
from windrow.errors import InvalidArgument, Unsupported

RNG = np.random.default_rng(3)
TABLE = pa.table(
    {
        "plug": RNG.choice(["a", "b", "c"], 300),
        "ts": np.datetime64("2026-01-05", "us") + RNG.integers(0, 600, 300).astype("m8[m]"),
        "load": pa.array(RNG.normal(size=300), mask=RNG.random(300) < 0.1),
        "note": [f"n{i}" for i in range(300)],
    }
)
BESIDE = sliding(
    partition_by="plug", order_by="ts", range="1 hour", peak=Max("load"), mean=Mean("load")
)
HOPPING = sliding(partition_by="plug", order_by="ts", range="1 hour", slide="1 hour", n=Count())
SIZES = sliding(partition_by="plug", order_by="ts", rows=[2, 5], peak=Max("load"))
STATEMENT = sql(
    "SELECT note, COUNT(*) OVER (ORDER BY ts RANGE INTERVAL 1 HOUR PRECEDING) AS n FROM t"
)
every_query = pytest.mark.parametrize(
    "query", [BESIDE, HOPPING, SIZES, STATEMENT], ids=["beside", "hopping", "sizes", "statement"]
)


class Capsule:
    """A frame of a library that windrow does not know, with Arrow's interface."""

    def __init__(self, table: pa.Table) -> None:
        self.table, self.read = table, 0

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        self.read += 1
        assert self.read == 1, "a stream is read once"
        return self.table.__arrow_c_stream__(requested_schema)


class Rebuilt(Capsule):
    """One that can be made of Arrow again."""

    @classmethod
    def from_arrow(cls, table: Any) -> Rebuilt:
        return cls(pa.table(table))


@every_query
def test_a_capsule_gives_a_table_or_its_own_kind(query: Any) -> None:
    assert query(Capsule(TABLE)).equals(query(TABLE))
    made = query(Rebuilt(TABLE))
    assert type(made) is Rebuilt
    assert made.table.equals(query(TABLE))


@every_query
def test_a_reader_gives_a_reader(query: Any) -> None:
    made = query(TABLE.to_reader(max_chunksize=70))
    assert isinstance(made, pa.RecordBatchReader)
    assert made.read_all().equals(query(TABLE))


def test_a_query_meets_the_schema_before_a_row_is_read() -> None:
    def batches() -> Any:
        raise AssertionError("a row was read")
        yield

    reader = pa.RecordBatchReader.from_batches(TABLE.schema, batches())
    with pytest.raises(InvalidArgument, match="'lod'"):
        sliding(rows=2, peak=Max("lod"))(reader)


@every_query
def test_a_relation_gives_a_relation(query: Any) -> None:
    connection = duckdb.connect()
    connection.register("plugs", TABLE)
    relation = connection.sql("SELECT * FROM plugs")
    made = query(relation)
    assert type(made) is type(relation)
    wanted = query(TABLE)
    assert made.columns == wanted.column_names
    assert made.to_arrow_table().cast(wanted.schema).equals(wanted)
    count = made.aggregate("count(*) AS n").fetchall()
    assert count == [(wanted.num_rows,)]


def test_a_result_goes_on_in_the_connection_of_its_relation() -> None:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE plugs AS SELECT i % 3 AS k, i AS t, i * 2 AS v FROM range(9) r(i)"
    )
    connection.execute("CREATE TABLE names AS SELECT i AS k, 'p' || i AS name FROM range(3) r(i)")
    peaks = sliding(partition_by="k", order_by="t", rows=2, peak=Max("v"))(
        connection.table("plugs")
    )
    joined = peaks.join(connection.table("names"), "k").order("t")
    assert joined.select("name", "peak").fetchall()[:4] == [
        ("p0", 0),
        ("p1", 2),
        ("p2", 4),
        ("p0", 6),
    ]


def test_a_relation_is_read_only_as_far_as_needed() -> None:
    connection = duckdb.connect()
    connection.execute(
        'CREATE TABLE plugs AS SELECT i AS t, i AS "v ""x", i AS w FROM range(9) r(i)'
    )
    told: list[Any] = []
    query = sliding(order_by="t", range=3, slide=3, peak=Max('"v ""x"'))

    class Seen:
        """A relation that notes what is selected."""

        def __init__(self, relation: Any) -> None:
            self.relation = relation

        def __getattr__(self, name: str) -> Any:
            return getattr(self.relation, name)

        def select(self, *names: str) -> Any:
            told.extend(names)
            return self.relation.select(*names)

    Seen.__module__ = "duckdb"
    made = query(Seen(connection.table("plugs")))
    assert told == ['"t"', '"v ""x"']
    assert made.fetchall() == [(0, 3, 2), (3, 6, 5), (6, 9, 8)]


def test_shared_queries_over_a_relation() -> None:
    connection = duckdb.connect()
    connection.register("plugs", TABLE)
    first, second = shared(BESIDE, HOPPING)(connection.sql("FROM plugs"))
    assert first.columns == BESIDE(TABLE).column_names
    assert len(second) == HOPPING(TABLE).num_rows


NATIVE = {
    "pandas": TABLE.to_pandas(),
    "polars": pl.from_arrow(TABLE),
    "lazy": pl.from_arrow(TABLE).lazy(),
    "arrow": TABLE,
}


@pytest.mark.parametrize("api", [nw, nw_v1], ids=["main", "stable"])
@pytest.mark.parametrize("kind", NATIVE)
@every_query
def test_narwhals_frames_stay_what_they_are(query: Any, kind: str, api: Any) -> None:
    frame = api.from_native(NATIVE[kind])
    made = query(frame)
    assert type(made) is type(frame)
    ours, wanted = made.to_native(), query(NATIVE[kind])
    if kind == "lazy":
        ours, wanted = ours.collect(), wanted.collect()
    assert ours.equals(wanted)


@pytest.mark.parametrize(
    "frame", [TABLE, Rebuilt(TABLE), nw.from_native(TABLE)], ids=["table", "capsule", "narwhals"]
)
def test_plans_are_explained(frame: Any) -> None:
    assert "maxima" in BESIDE.explain(frame)


def foreign(module: str, name: str, *bases: type) -> Any:
    """An object of a class that a library would have."""
    return type(name, bases, {"__module__": module})()


REFUSED = {
    "modin": (
        foreign("modin.pandas.dataframe", "DataFrame"),
        "modin.DataFrame",
        "frame.modin.to_pandas()",
    ),
    "cudf": (foreign("cudf.core.dataframe", "DataFrame"), "cudf.DataFrame", "frame.to_arrow()"),
    "dask": (foreign("dask.dataframe.dask_expr", "DataFrame"), "dask.DataFrame", "frame.compute()"),
    "array": (np.arange(3), "numpy.ndarray", "rolling(frame, Max(), rows=3)"),
    "dict": ({"load": [1]}, "dict", "pyarrow.table(frame)"),
    "list": ([{"load": 1}], "list", "pyarrow.Table.from_pylist(frame)"),
    "series": (pd.Series([1]), "pandas.Series", "frame.to_frame('load')"),
    "groups": (
        pd.DataFrame({"load": [1]}).groupby("load"),
        "pandas.DataFrameGroupBy",
        "partition_by=",
    ),
    "polars series": (pl.Series([1]), "polars.Series", "frame.to_frame('load')"),
    "polars groups": (
        pl.DataFrame({"load": [1]}).group_by("load"),
        "polars.GroupBy",
        "partition_by=",
    ),
    "narwhals series": (
        nw.from_native(pl.Series([1]), series_only=True),
        "narwhals.Series",
        "frame.to_frame()",
    ),
    "chunks": (pa.chunked_array([[1]]), "pyarrow.ChunkedArray", "pyarrow.table({'load': frame})"),
    "arrow array": (pa.array([1]), "pyarrow.Int64Array", "pyarrow.table({'load': frame})"),
    "dataset": (ds.dataset(TABLE), "pyarrow.InMemoryDataset", "frame.to_table()"),
    "none": (None, "NoneType", "pyarrow.table(…)"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_frame_is_refused_with_the_line_that_makes_one(kind: str) -> None:
    given, name, line = REFUSED[kind]
    with pytest.raises(TypeError, match=re.escape(f"not {name}; give it ")) as told:
        BESIDE(given)
    assert isinstance(told.value, Unsupported)
    assert line in str(told.value)


def test_a_connection_is_no_relation() -> None:
    with duckdb.connect() as connection, pytest.raises(TypeError, match="FROM plugs") as told:
        BESIDE(connection)
    assert "not duckdb.DuckDBPyConnection; give it frame.sql(" in str(told.value)
