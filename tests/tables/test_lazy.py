"""LazyFrames of Polars: planned without a run, and nothing is read that is not needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.io.plugins import register_io_source

import windrow.polars  # noqa: F401 (it gives frames `frame.windrow`)
from windrow import ArgMax, Collect, Count, Max, Mean, aggregation, sliding, sql
from windrow.errors import InvalidArgument, Unsupported

RNG = np.random.default_rng(11)
ROWS = 300
FRAME = pl.DataFrame(
    {
        "key": RNG.choice(["a", "b", "c"], ROWS),
        "t": RNG.integers(0, 500, ROWS),
        "v": pl.Series(RNG.normal(size=ROWS)).set(pl.Series(RNG.random(ROWS) < 0.1), None),
        "w": RNG.integers(0, 9, ROWS),
        "note": [f"n{i}" for i in range(ROWS)],
    }
)
WINDOWS: dict[str, dict[str, Any]] = {
    "rows": {"rows": 5},
    "around": {"rows": (-2, 2)},
    "range": {"range": 20},
    "several": {"rows": [3, 9]},
    "where": {"rows": 5, "where": "w > 3"},
    "having": {"rows": 5, "having": "n > 3"},
    "istream": {"range": 20, "emit": "istream"},
    "counted": {"rows": 6, "slide": 3},
    "on": {"on": "w = 0"},
    "hopping": {"range": 20, "slide": 10},
    "sessions": {"gap": 5},
}
PARTS = {"n": Count(), "m": Max("v"), "mean": Mean("v"), "at": ArgMax("v", "t"), "l": Collect("w")}


class Recorded:
    """A source of rows that notes which columns are read, and how often."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame, self.reads = frame, list[set[str]]()
        self.lazy = register_io_source(self._rows, schema=frame.schema)

    def _rows(
        self, columns: list[str] | None, predicate: Any, rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        self.reads.append(set(self.frame.columns if columns is None else columns))
        made = self.frame.lazy()
        if predicate is not None:
            made = made.filter(predicate)
        if rows is not None:
            made = made.head(rows)
        yield made.select(columns or pl.all()).collect()


@pytest.mark.parametrize("window", WINDOWS)
def test_a_plan_knows_its_schema_without_a_run_and_gives_what_a_frame_gives(window: str) -> None:
    query = sliding(PARTS, partition_by="key", order_by="t", **WINDOWS[window])
    source, wanted = Recorded(FRAME), query(FRAME)
    later = source.lazy.pipe(query)
    assert isinstance(later, pl.LazyFrame)
    assert later.collect_schema() == wanted.schema
    assert not source.reads
    assert later.collect().equals(wanted)
    assert later.collect(engine="streaming").equals(wanted)


@pytest.mark.parametrize("window", WINDOWS)
def test_later_steps_see_the_results_of_all_rows(window: str) -> None:
    query = sliding(PARTS, partition_by="key", order_by="t", **WINDOWS[window])
    later, wanted = query(FRAME.lazy()), query(FRAME)
    number = pl.col("window_start" if "window_start" in wanted.columns else wanted.columns[1])
    assert later.filter(number > 100).head(3).collect().equals(wanted.filter(number > 100).head(3))
    assert later.head(4).collect().equals(wanted.head(4))
    assert (
        later.group_by("key")
        .len()
        .sort("key")
        .collect()
        .equals(wanted.group_by("key").len().sort("key"))
    )


def test_columns_that_are_not_needed_are_not_read() -> None:
    source = Recorded(FRAME)
    query = sliding(partition_by="key", order_by="t", rows=5, m=Max("v"))
    made = query(source.lazy)
    assert made.select("m").collect().equals(query(FRAME).select("m"))
    assert made.select("m", "note").collect().equals(query(FRAME).select("m", "note"))
    assert source.reads == [{"key", "t", "v"}, {"key", "t", "v", "note"}]


def test_a_query_whose_results_are_not_asked_for_does_not_run() -> None:
    source = Recorded(FRAME)
    made = sliding(partition_by="key", order_by="t", rows=5, m=Max("v"))(source.lazy)
    assert made.select("note").collect().equals(FRAME.select("note"))
    assert source.reads == [{"note"}]


def test_hopping_windows_read_only_what_they_need() -> None:
    source = Recorded(FRAME)
    query = sliding(partition_by="key", order_by="t", range=20, slide=10, m=Max("v"))
    assert query(source.lazy).collect().equals(query(FRAME))
    assert source.reads == [{"key", "t", "v"}]


def test_a_statement_reads_only_what_it_uses() -> None:
    source = Recorded(FRAME)
    statement = sql(
        "SELECT note, MAX(v) OVER (PARTITION BY key ORDER BY t ROWS 4 PRECEDING) AS m FROM plugs"
    )
    assert statement(source.lazy).collect().equals(statement(FRAME))
    assert source.reads == [{"key", "t", "v", "note"}]


def test_rows_can_be_counted_without_a_column() -> None:
    source, query = Recorded(FRAME), sliding(rows=3, n=Count())
    assert query(source.lazy).collect().equals(query(FRAME))


def test_files_are_read_by_column(tmp_path: Any) -> None:
    FRAME.write_parquet(tmp_path / "plugs.parquet")
    query = sliding(partition_by="key", order_by="t", rows=5, m=Max("v"))
    made = query(pl.scan_parquet(tmp_path / "plugs.parquet")).select("m")
    assert "PROJECT 3/5 COLUMNS" in made.explain()
    assert made.collect().equals(query(FRAME).select("m"))


def test_what_only_running_tells_the_type_of_stays_lazy() -> None:
    join = aggregation(
        "key", lift=lambda v: v, combine=lambda a, b: max(a, b), lower=lambda s: s + "!"
    )
    query = sliding(order_by="t", rows=3, j=join)
    assert query(FRAME.lazy()).collect().equals(query(FRAME))


def test_mistakes_are_told_before_a_row_is_read() -> None:
    source = Recorded(FRAME)
    with pytest.raises(InvalidArgument, match="the frame has no column 'vv'"):
        sliding(rows=2, m=Max("vv"))(source.lazy)
    assert not source.reads


def test_several_frames_are_not_one_plan() -> None:
    from windrow import shared

    query = sliding(rows=2, m=Max("v"))
    with pytest.raises(Unsupported, match=r"frame\.collect\(\)"):
        shared(query, query)(FRAME.lazy())


@pytest.mark.parametrize("frame", [FRAME, FRAME.lazy()], ids=["eager", "lazy"])
def test_the_namespace_is_the_plain_call(frame: Any) -> None:
    arguments: dict[str, Any] = {"partition_by": "key", "order_by": "t", "range": 20}
    made = frame.windrow.sliding({"the max": Max("v")}, **arguments, n=Count())
    assert type(made) is type(frame)
    wanted = sliding({"the max": Max("v")}, **arguments, n=Count())(FRAME)
    assert made.lazy().collect().equals(wanted)
