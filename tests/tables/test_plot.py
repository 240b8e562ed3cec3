"""Figures of queries: what is drawn where, and what cannot be."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import duckdb
import matplotlib as mpl
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from windrow import ArgMax, Count, Max, Mean, Min, Sum, sliding
from windrow.errors import InvalidArgument, Unsupported

RNG = np.random.default_rng(2)
N = 60
PLUGS = pd.DataFrame(
    {
        "plug": np.repeat(["a", "b"], N // 2),
        "house": np.tile([1, 2], N // 2),
        "ts": pd.Timestamp("2026-01-05") + pd.to_timedelta(RNG.permutation(N), unit="min"),
        "load": RNG.normal(50, 10, N),
    }
)
HOURLY = sliding(
    partition_by="plug", order_by="ts", range="10 min", peak=Max("load"), mean=Mean("load"),
    n=Count(), total=Sum("load"), worst=ArgMax("load", "ts"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _figures() -> Iterator[None]:
    mpl.use("agg")
    yield
    pyplot.close("all")


def lines(figure: Figure) -> list[dict[str, Any]]:
    """The lines of each panel by their labels."""
    return [{str(line.get_label()): line for line in panel.lines} for panel in figure.axes]


@pytest.mark.parametrize(
    "kind", [lambda f: f, pl.from_pandas, lambda f: pl.from_pandas(f).lazy(), pa.Table.from_pandas,
             lambda f: f.set_index(["plug", "ts"])],
    ids=["pandas", "polars", "lazy", "arrow", "index"],
)  # fmt: skip
def test_a_column_and_its_results_are_lines_over_time(kind: Any) -> None:
    figure = HOURLY.plot(kind(PLUGS), key="a")
    assert isinstance(figure, Figure)
    above, counted, summed = lines(figure)
    assert list(above) == ["load", "peak", "mean"]
    assert list(counted) == ["n"]
    assert list(summed) == ["total"]
    wanted = HOURLY(PLUGS[PLUGS["plug"] == "a"]).sort_values("ts")
    for name, line in {**above, **counted, **summed}.items():
        np.testing.assert_allclose(line.get_ydata(), wanted[name])
        assert (np.asarray(line.get_xdata()).astype("M8[ns]") == wanted["ts"].to_numpy()).all()
    assert figure.axes[-1].get_xlabel() == "ts"
    assert figure.get_suptitle() == "plug = a"
    figure.canvas.draw()


def test_windows_with_rows_of_their_own_are_drawn_where_they_end() -> None:
    query = sliding(order_by="ts", range="10 min", slide="10 min", low=Min("load"))
    (panel,) = lines(query.plot(PLUGS))
    made = query(PLUGS)
    np.testing.assert_allclose(panel["low"].get_ydata(), made["low"])
    ends = np.asarray(panel["low"].get_xdata()).astype("M8[ns]")
    assert (ends == made["window_end"].to_numpy()).all()
    assert len(panel["load"].get_ydata()) == N


def test_all_sizes_share_a_panel() -> None:
    query: Any = sliding(
        partition_by=["plug", "house"], order_by="ts", rows=[2, 5], peak=Max("load")
    )
    (panel,) = lines(query.plot(PLUGS, key=("a", 1)))
    assert list(panel) == ["load", "peak_2", "peak_5"]
    (panel,) = lines(query.plot(PLUGS, key={"house": 1, "plug": "a"}))
    assert len(panel["load"].get_ydata()) == N // 4


def test_rows_without_an_order_are_numbered_and_where_leaves_rows_out() -> None:
    figure = sliding(rows=3, where="load > 50", peak=Max("load * 2")).plot(PLUGS)
    (panel,) = lines(figure)
    kept = PLUGS["load"][PLUGS["load"] > 50] * 2
    np.testing.assert_allclose(panel["load * 2"].get_ydata(), kept)
    assert np.asarray(panel["peak"].get_xdata()).tolist() == list(range(len(kept)))
    assert figure.axes[0].get_xlabel() == "row"


def test_nulls_decimals_durations_and_other_axes() -> None:
    table = pa.table(
        {
            "t": pa.array([3, 1, 2], pa.duration("ms")),
            "price": pa.array([1, None, 3], pa.decimal128(5, 2)),
            "took": pa.array([1500, 2500, None], pa.duration("ms")),
        }
    )
    prices, times = lines(
        sliding(order_by="t", rows=1, high=Max("price"), long=Max("took")).plot(table)
    )
    np.testing.assert_array_equal(prices["high"].get_ydata(), [np.nan, 3, 1])
    np.testing.assert_allclose(times["long"].get_ydata(), [2.5, np.nan, 1.5])
    np.testing.assert_allclose(times["long"].get_xdata(), [0.001, 0.002, 0.003])


@pytest.mark.parametrize(
    ("query", "key", "message"),
    [
        (HOURLY, None, r"2 keys of plug, and a figure is of one: say key='a'"),
        (HOURLY, "c", r"key='c' is none of the 2 keys of the frame: 'a', 'b'"),
        (HOURLY, 3, r"key=3: the column 'plug' is of type string"),
        (HOURLY.replace(partition_by=()), "a", r"key='a': the query has no keys"),
        (HOURLY.replace(partition_by=("plug", "house")), "a", r"for each of plug, house, as a"),
        (sliding(rows=2, who=Max("plug")), None, r"no result is one: who \(string\)"),
        (sliding(rows=2, who=Max("plugg")), None, r"did you mean 'plug'"),
    ],
    ids=["no key", "unknown key", "wrong type", "needless key", "half a key", "text", "column"],
)  # fmt: skip
def test_what_cannot_be_drawn_is_said(query: Any, key: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        query.plot(PLUGS, key=key)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(Unsupported, match=r"plot needs matplotlib: pip install 'windrow\[plot\]'"):
        HOURLY.plot(PLUGS, key="a")


def test_rows_that_are_not_in_memory_are_not_drawn() -> None:
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})()
    with pytest.raises(Unsupported, match=r"in memory: give it frame\.toArrow\(\)"):
        HOURLY.plot(frame, key="a")


def test_relations_and_wrapped_frames_are_drawn() -> None:
    table = pa.Table.from_pandas(PLUGS)
    for frame in (nw.from_native(table), duckdb.from_arrow(table), table.to_reader()):
        assert len(lines(HOURLY.plot(frame, key="a"))) == 3
