"""The questions, and how each library asks them.

A contender takes the frames, the window and whether the argmax is wanted too. It returns what
its library gives, in the library's own order; `answers_of` brings that to columns in the table's
order, untimed, so the peers are spared what a user would often have to do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.peers.libraries import interruptible
from windrow import Aggregation, ArgMax, Max, Mean, Query, sliding

# -- the table -------------------------------------------------------------------------------------

HOUR = 3_600_000_000  # microseconds
AN_HOUR_OF_ONE = 1000  # rows
AN_HOUR_OF_MANY = 200  # rows of each key


def readings(n: int, keys: int) -> pa.Table:
    """Return n readings, of which an hour has some hundred for each key."""
    rng = np.random.default_rng(1)
    an_hour = AN_HOUR_OF_ONE if keys == 1 else AN_HOUR_OF_MANY * keys
    gaps = rng.integers(1, 2 * HOUR // an_hour, n)
    return pa.table(
        {
            "i": np.arange(n),
            "key": rng.integers(0, keys, n),
            "ts": np.cumsum(gaps).astype("M8[us]"),
            "load": rng.normal(100.0, 20.0, n),
        }
    )


def own_readings(table: pa.Table) -> pa.Table:
    """Return a user's own table (key, ts, load) as the benchmark takes it: keys from 0 on."""
    keys = np.unique(table["key"].to_numpy(), return_inverse=True)[1]
    return pa.table(
        {
            "i": np.arange(table.num_rows),
            "key": keys.astype(np.int64),
            "ts": table["ts"].cast(pa.timestamp("us")),
            "load": table["load"],
        }
    )


@dataclass
class Frames:
    """One table as each library takes it; making these is not timed."""

    table: pa.Table
    keys: int

    @cached_property
    def arrow(self) -> pa.Table:
        return self.table.select(["key", "ts", "load"])

    @cached_property
    def pandas(self) -> Any:
        """The same for pandas."""
        return self.arrow.to_pandas()

    @cached_property
    def polars(self) -> Any:
        """The same for Polars."""
        return import_module("polars").from_arrow(self.arrow)

    @cached_property
    def duckdb(self) -> Any:
        """A DuckDB connection with all columns in a table."""
        connection = import_module("duckdb").connect()  # as many threads as there are cores
        connection.register("frame", self.table)
        connection.execute("CREATE TABLE readings AS SELECT * FROM frame")
        connection.unregister("frame")
        return connection

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    def part(self, share: int) -> Frames:
        """Return a part of the rows with windows as long: some of the keys, or the first hours."""
        if self.keys == 1:
            return Frames(self.table.slice(0, max(1, self.rows // share)), 1)
        kept = np.flatnonzero(self.table["key"].to_numpy() < max(1, self.keys // share))
        part = self.table.take(pa.array(kept))
        return Frames(part.set_column(0, "i", pa.array(np.arange(kept.size))), self.keys)


@dataclass(frozen=True)
class Window:
    """The last rows, or the last hour, its ends included."""

    rows: int | None = None

    def __str__(self) -> str:
        return 'range="1 hour"' if self.rows is None else f"rows={self.rows}"


@cache
def query(keys: int, window: Window, located: bool) -> Query:
    """Return our own query: max, mean, and where the maximum is. It is made once, as users do."""
    extent: dict[str, Any] = {"range": "1 hour"} if window.rows is None else {"rows": window.rows}
    wanted: dict[str, Aggregation] = {"peak": Max("load"), "mean": Mean("load")}
    if located:
        wanted["worst"] = ArgMax("load", "ts")
    return sliding(wanted, partition_by="key" if keys > 1 else None, order_by="ts", **extent)


# -- peers --------------------------------------------------------------------------------------


def pandas(frames: Frames, window: Window, located: bool) -> Any:
    """Return the results of pandas; the position of the maximum is found by `apply`."""
    pd = import_module("pandas")
    frame = frames.pandas
    if window.rows is None:
        frame = frame.set_index("ts")
    loads = frame.groupby("key")["load"] if frames.keys > 1 else frame["load"]
    if window.rows is None:
        rolled = loads.rolling("1h", closed="both", min_periods=1)
    else:
        rolled = loads.rolling(window.rows, min_periods=1)
    results = {"peak": rolled.max().to_numpy(), "mean": rolled.mean().to_numpy()}
    if located:
        within = rolled.apply(np.argmax, raw=True).to_numpy().astype(np.int64)
        first = np.arange(within.size) - rolled.count().to_numpy().astype(np.int64) + 1
        times = frames.pandas["ts"].to_numpy()
        if frames.keys > 1:
            times = times[grouped(frames)]
        results["worst"] = times[first + within]
    return pd.DataFrame(results)


def polars(frames: Frames, window: Window, located: bool) -> Any:
    """Return the results of Polars, an expression a column: `rolling_max` …, `over` the keys."""
    pl = import_module("polars")
    load, ts, frame = pl.col("load"), pl.col("ts"), frames.polars

    def over(expression: Any) -> Any:
        return expression.over("key") if frames.keys > 1 else expression

    if window.rows is None:
        columns = {
            "peak": load.rolling_max_by("ts", "1h", closed="both"),
            "mean": load.rolling_mean_by("ts", "1h", closed="both"),
            "worst": ts.max_by("load").rolling("ts", period="1h", closed="both"),
        }
    else:
        columns = {
            "peak": load.rolling_max(window.rows, min_samples=1),
            "mean": load.rolling_mean(window.rows, min_samples=1),
            "worst": ts.max_by("load").rolling("place", period=f"{window.rows}i"),
        }
        if located:
            frame = frame.with_columns(over(pl.int_range(pl.len())).alias("place"))
    wanted = ("peak", "mean", "worst") if located else ("peak", "mean")
    return frame.with_columns(**{name: over(columns[name]) for name in wanted})


def polars_rolling(frames: Frames, window: Window, located: bool) -> Any:
    """Return the results of Polars in its other form: all of them in `rolling(…).agg(…)`."""
    pl = import_module("polars")
    columns = [pl.col("load").max().alias("peak"), pl.col("load").mean().alias("mean")]
    if located:
        columns.append(pl.col("ts").max_by("load").alias("worst"))
    by = {"group_by": "key"} if frames.keys > 1 else {}
    if window.rows is None:
        return frames.polars.rolling("ts", period="1h", closed="both", **by).agg(columns)
    place = pl.int_range(pl.len())
    placed = frames.polars.with_columns(place=place.over("key") if frames.keys > 1 else place)
    return placed.rolling("place", period=f"{window.rows}i", **by).agg(columns)


def duckdb(frames: Frames, window: Window, located: bool) -> Any:
    """Return the results of DuckDB, in SQL with all calls over one window."""
    calls = ["max(load) OVER w AS peak", "avg(load) OVER w AS mean"]
    if located:
        calls.append("arg_max(ts, load) OVER w AS worst")
    partition = "PARTITION BY key " if frames.keys > 1 else ""
    extent = (
        "RANGE BETWEEN INTERVAL 1 HOUR"
        if window.rows is None
        else f"ROWS BETWEEN {window.rows - 1}"
    )
    text = (
        f"SELECT i, {', '.join(calls)} FROM readings "
        f"WINDOW w AS ({partition}ORDER BY ts {extent} PRECEDING AND CURRENT ROW)"
    )
    with interruptible():
        return frames.duckdb.sql(text).to_arrow_table()


def grouped(frames: Frames) -> NDArray[np.int64]:
    """Return the rows by key, as the results of a grouped frame come."""
    return np.argsort(frames.table["key"].to_numpy(), kind="stable")


# -- all of them --------------------------------------------------------------------------------

Contender = Callable[[Frames, Window, bool], Any]


def ours(kind: str) -> Contender:
    """Return our query on one kind of frame."""
    return lambda frames, window, located: query(frames.keys, window, located)(
        getattr(frames, kind)
    )


OURS: dict[str, Contender] = {
    "windrow, Arrow": ours("arrow"),
    "windrow, Polars": ours("polars"),
    "windrow, pandas": ours("pandas"),
}
PEERS: dict[str, Contender] = {
    "pandas": pandas,
    "polars": polars,
    "polars, rolling": polars_rolling,
    "duckdb": duckdb,
}


def answers_of(name: str, result: Any, frames: Frames) -> dict[str, NDArray[Any]]:
    """Return the results in the order of the table."""
    columns = result.column_names if hasattr(result, "column_names") else list(result.columns)
    arrays = {c: result[c].to_numpy() for c in columns}
    order = None
    if name == "duckdb":
        order = arrays["i"]
    elif name in ("pandas", "polars, rolling") and frames.keys > 1:
        order = grouped(frames)
        if name == "polars, rolling":  # its keys come as they are first seen
            seen = np.argsort(arrays["key"], kind="stable")
            arrays = {c: values[seen] for c, values in arrays.items()}
    answers = {c: arrays[c] for c in ("peak", "mean", "worst") if c in arrays}
    if order is None:
        return answers
    placed = {c: np.empty_like(values) for c, values in answers.items()}
    for c, values in answers.items():
        placed[c][order] = values
    return placed
