"""The questions about arrays, and how each library asks them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.results import OURS
from windrow import (
    Aggregation,
    ArgMax,
    Corr,
    Count,
    Max,
    Mean,
    Median,
    Min,
    StdDev,
    Sum,
    TopK,
    rolling,
)

Call = Callable[["Data", int], Any]
RIVER_SHARE = 20  # of the values: river takes one at a time, microseconds each


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C in a query of DuckDB be a KeyboardInterrupt, and not a RuntimeError."""
    try:
        yield
    except RuntimeError as error:
        if "interrupted" in str(error):
            raise KeyboardInterrupt from error
        raise


class Data:
    """One array in the forms in which the peers take it; making these is not timed."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self.values = values

    @cached_property
    def series(self) -> Any:
        return import_module("pandas").Series(self.values)

    @cached_property
    def column(self) -> Any:
        return import_module("polars").Series(self.values)

    @cached_property
    def beside(self) -> Data:
        """Other values, which go with these in part."""
        noise = np.random.default_rng(3).standard_normal(self.values.size)
        return Data(self.values + noise * self.values.std())

    @cached_property
    def connection(self) -> Any:
        """A DuckDB connection with the values in a table."""
        connection = import_module("duckdb").connect(config={"threads": 1})
        columns = {"i": np.arange(self.values.size), "v": self.values}
        connection.register("columns", columns)
        connection.execute("CREATE TABLE t AS SELECT i, v FROM columns")
        connection.unregister("columns")
        return connection

    @cached_property
    def few(self) -> list[float]:
        """The first values, as a stream takes them."""
        few: list[float] = self.values[: max(1, self.values.size // RIVER_SHARE)].tolist()
        return few

    def pandas(self, w: int) -> Any:
        """Rolling windows of pandas."""
        return self.series.rolling(w, min_periods=1)

    def duckdb(self, call: str, w: int, lists: bool = False) -> Any:
        """Return the results of a query of DuckDB, lists as a column of Arrow."""
        frame = f"ORDER BY i ROWS BETWEEN {w - 1} PRECEDING AND CURRENT ROW"
        query = f"SELECT {call} OVER ({frame}) AS a FROM t"
        with interruptible():
            if lists:
                return self.connection.sql(query).to_arrow_table()["a"]
            return self.connection.execute(query).fetchnumpy()["a"]


def function(module: str, name: str) -> Any:
    """Return a function of a library; importing it again costs nothing."""
    return getattr(import_module(module), name)


def argmax_position(d: Data, w: int) -> Any:
    """Bottleneck counts from the window's end."""
    return np.arange(d.values.size) - function("bottleneck", "move_argmax")(
        d.values, w, min_count=1
    )


def scipy_filter(name: str, outside: float) -> Call:
    """Return a filter whose window ends at the value instead of being centred on it."""

    def call(d: Data, w: int) -> Any:
        run = function("scipy.ndimage", name)
        return run(d.values, w, mode="constant", cval=outside, origin=(w - 1) // 2)

    return call


def river(module: str, name: str, windowed: bool) -> Call:
    """River's statistic, an update and a read for each of the first values.

    Some know windows themselves; the others are updated and reverted by `utils.Rolling`.
    """

    def call(d: Data, w: int) -> Any:
        make = function(module, name)
        rolling_of = function("river.utils", "Rolling")
        one = make(window_size=w) if windowed else rolling_of(make, window_size=w)
        results = np.empty(len(d.few))
        for i, value in enumerate(d.few):
            one.update(value)
            results[i] = one.get()
        return results

    return call


def ours(make: Callable[[], Aggregation]) -> Call:
    return lambda d, w: rolling(d.values, make(), rows=w)


def extreme(make: Callable[[], Aggregation], name: str, outside: float) -> dict[str, Call]:
    """Return how each library asks for the `max` or the `min`."""
    move, filter1d = f"move_{name}", f"{name}imum_filter1d"
    return {
        OURS: ours(make),
        "bottleneck": lambda d, w: function("bottleneck", move)(d.values, w, min_count=1),
        "pandas": lambda d, w: getattr(d.pandas(w), name)().to_numpy(),
        "polars": lambda d, w: polars(d, f"rolling_{name}", w),
        "scipy": scipy_filter(filter1d, outside),
        "duckdb": lambda d, w: d.duckdb(f"{name}(v)", w),
        "river": river("river.stats", f"Rolling{name.title()}", True),
    }


def moment(make: Callable[[], Aggregation], name: str, sql: str, **options: Any) -> dict[str, Call]:
    """Return how each library asks for the `sum`, the `mean` or the `std`."""
    move = f"move_{name}"
    return {
        OURS: ours(make),
        "bottleneck": lambda d, w: function("bottleneck", move)(
            d.values, w, min_count=1, **options
        ),
        "numbagg": lambda d, w: function("numbagg", move)(d.values, window=w, min_count=1),
        "pandas": lambda d, w: getattr(d.pandas(w), name)().to_numpy(),
        "polars": lambda d, w: polars(d, f"rolling_{name}", w),
        "duckdb": lambda d, w: d.duckdb(f"{sql}(v)", w),
    }


def polars(d: Data, function: str, w: int) -> Any:
    """Return the results of a rolling function of Polars."""
    return getattr(d.column, function)(w, min_samples=1).to_numpy()


# The question, and how each library asks it; one that is not named has no such function.
COMPARISONS: dict[str, dict[str, Call]] = {
    "max": extreme(Max, "max", -math.inf),
    "min": extreme(Min, "min", math.inf),
    "argmax": {
        OURS: ours(ArgMax),
        "bottleneck": argmax_position,
        "duckdb": lambda d, w: d.duckdb("arg_max(i, v)", w),
    },
    "stddev": moment(StdDev, "std", "stddev_samp", ddof=1),
    "mean": {**moment(Mean, "mean", "avg"), "river": river("river.stats", "Mean", False)},
    "sum": {**moment(Sum, "sum", "sum"), "river": river("river.stats", "Sum", False)},
    "median": {
        OURS: ours(Median),
        "bottleneck": lambda d, w: function("bottleneck", "move_median")(d.values, w, min_count=1),
        "pandas": lambda d, w: d.pandas(w).median().to_numpy(),
        "polars": lambda d, w: polars(d, "rolling_median", w),
        "duckdb": lambda d, w: d.duckdb("median(v)", w),
    },
    "count": {
        OURS: ours(Count),
        "pandas": lambda d, w: d.pandas(w).count().to_numpy(),
        "duckdb": lambda d, w: d.duckdb("count(v)", w),
    },
}
# Questions of one window each: how long it is, what part of the values is asked about, and how.
STATISTICS: dict[str, tuple[int, int, dict[str, Call]]] = {
    "median": (10_000, 1, {n: c for n, c in COMPARISONS["median"].items() if n != "duckdb"}),
    "corr": (
        1024,
        1,
        {
            OURS: lambda d, w: rolling((d.values, d.beside.values), Corr(), rows=w),
            "pandas": lambda d, w: d.pandas(w).corr(d.beside.series).to_numpy(),
        },
    ),
    "the 10 largest": (
        1024,
        20,
        {
            OURS: ours(lambda: TopK(k=10)),
            "duckdb": lambda d, w: d.duckdb("max(v, 10)", w, lists=True),
        },
    ),
}
PEERS = ("bottleneck", "numbagg", "pandas", "polars", "scipy", "duckdb", "river")
