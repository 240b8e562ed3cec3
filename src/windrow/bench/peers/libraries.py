"""The questions about arrays, and how each library asks them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations import Aggregation, ArgMax, Count, Max, Mean, Min, StdDev, Sum
from windrow.bench.ratios import OURS
from windrow.kernels.rolling import rolling

Call = Callable[["Data", int], Any]
RIVER_SHARE = 20  # of the values: river takes one at a time, microseconds each


class Data:
    """One array in the forms in which the peers take it; making these is not timed."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self.values = values

    @cached_property
    def bottleneck(self) -> Any:
        """The module."""
        return import_module("bottleneck")

    @cached_property
    def numbagg(self) -> Any:
        """The module."""
        return import_module("numbagg")

    @cached_property
    def ndimage(self) -> Any:
        """SciPy's module of filters."""
        return import_module("scipy.ndimage")

    @cached_property
    def series(self) -> Any:
        """A pandas series."""
        return import_module("pandas").Series(self.values)

    @cached_property
    def column(self) -> Any:
        """A Polars series."""
        return import_module("polars").Series(self.values)

    @cached_property
    def connection(self) -> Any:
        """A DuckDB connection with the values in a table."""
        made = import_module("duckdb").connect(config={"threads": 1})
        given = {"i": np.arange(self.values.size), "v": self.values}
        made.register("given", given)
        made.execute("CREATE TABLE t AS SELECT i, v FROM given")
        made.unregister("given")
        return made

    @cached_property
    def few(self) -> list[float]:
        """The first values, as a stream takes them."""
        few: list[float] = self.values[: max(1, self.values.size // RIVER_SHARE)].tolist()
        return few

    def pandas(self, w: int) -> Any:
        """Rolling windows of pandas."""
        return self.series.rolling(w, min_periods=1)

    def duckdb(self, call: str, w: int) -> Any:
        """The answers of a query of DuckDB."""
        frame = f"ORDER BY i ROWS BETWEEN {w - 1} PRECEDING AND CURRENT ROW"
        query = f"SELECT {call} OVER ({frame}) AS a FROM t"
        try:
            return self.connection.execute(query).fetchnumpy()["a"]
        except RuntimeError as error:  # what becomes of Ctrl-C in a query
            if "interrupted" in str(error):
                raise KeyboardInterrupt from error
            raise


def argmax_position(d: Data, w: int) -> Any:
    """Bottleneck counts from the window's end."""
    return np.arange(d.values.size) - d.bottleneck.move_argmax(d.values, w, min_count=1)


def scipy_filter(name: str, outside: float) -> Call:
    """A filter whose window ends at the value instead of being centred on it."""

    def call(d: Data, w: int) -> Any:
        run = getattr(d.ndimage, name)
        return run(d.values, w, mode="constant", cval=outside, origin=(w - 1) // 2)

    return call


def river(module: str, name: str, windowed: bool) -> Call:
    """River's statistic, an update and a read for each of the first values.

    Some know windows themselves; the others are updated and reverted by `utils.Rolling`.
    """

    def call(d: Data, w: int) -> Any:
        make = getattr(import_module(module), name)
        rolling_of = import_module("river.utils").Rolling
        one = make(window_size=w) if windowed else rolling_of(make, window_size=w)
        made = np.empty(len(d.few))
        for i, value in enumerate(d.few):
            one.update(value)
            made[i] = one.get()
        return made

    return call


def ours(make: Callable[[], Aggregation]) -> Call:
    """Our own call."""
    return lambda d, w: rolling(d.values, make(), rows=w)


# The question, and how each library asks it; one that is not named has no such function.
COMPARISONS: dict[str, dict[str, Call]] = {
    "max": {
        OURS: ours(Max),
        "bottleneck": lambda d, w: d.bottleneck.move_max(d.values, w, min_count=1),
        "pandas": lambda d, w: d.pandas(w).max().to_numpy(),
        "polars": lambda d, w: d.column.rolling_max(w, min_samples=1).to_numpy(),
        "scipy": scipy_filter("maximum_filter1d", -math.inf),
        "duckdb": lambda d, w: d.duckdb("max(v)", w),
        "river": river("river.stats", "RollingMax", True),
    },
    "min": {
        OURS: ours(Min),
        "bottleneck": lambda d, w: d.bottleneck.move_min(d.values, w, min_count=1),
        "pandas": lambda d, w: d.pandas(w).min().to_numpy(),
        "polars": lambda d, w: d.column.rolling_min(w, min_samples=1).to_numpy(),
        "scipy": scipy_filter("minimum_filter1d", math.inf),
        "duckdb": lambda d, w: d.duckdb("min(v)", w),
        "river": river("river.stats", "RollingMin", True),
    },
    "argmax": {
        OURS: ours(ArgMax),
        "bottleneck": argmax_position,
        "duckdb": lambda d, w: d.duckdb("arg_max(i, v)", w),
    },
    "stddev": {
        OURS: ours(StdDev),
        "bottleneck": lambda d, w: d.bottleneck.move_std(d.values, w, min_count=1, ddof=1),
        "numbagg": lambda d, w: d.numbagg.move_std(d.values, window=w, min_count=1),
        "pandas": lambda d, w: d.pandas(w).std().to_numpy(),
        "polars": lambda d, w: d.column.rolling_std(w, min_samples=1).to_numpy(),
        "duckdb": lambda d, w: d.duckdb("stddev_samp(v)", w),
    },
    "mean": {
        OURS: ours(Mean),
        "bottleneck": lambda d, w: d.bottleneck.move_mean(d.values, w, min_count=1),
        "numbagg": lambda d, w: d.numbagg.move_mean(d.values, window=w, min_count=1),
        "pandas": lambda d, w: d.pandas(w).mean().to_numpy(),
        "polars": lambda d, w: d.column.rolling_mean(w, min_samples=1).to_numpy(),
        "duckdb": lambda d, w: d.duckdb("avg(v)", w),
        "river": river("river.stats", "Mean", False),
    },
    "sum": {
        OURS: ours(Sum),
        "bottleneck": lambda d, w: d.bottleneck.move_sum(d.values, w, min_count=1),
        "numbagg": lambda d, w: d.numbagg.move_sum(d.values, window=w, min_count=1),
        "pandas": lambda d, w: d.pandas(w).sum().to_numpy(),
        "polars": lambda d, w: d.column.rolling_sum(w, min_samples=1).to_numpy(),
        "duckdb": lambda d, w: d.duckdb("sum(v)", w),
        "river": river("river.stats", "Sum", False),
    },
    "count": {
        OURS: ours(Count),
        "pandas": lambda d, w: d.pandas(w).count().to_numpy(),
        "duckdb": lambda d, w: d.duckdb("count(v)", w),
    },
}
PEERS = ("bottleneck", "numbagg", "pandas", "polars", "scipy", "duckdb", "river")
PACKAGES = ("numpy", "numba", "llvmlite", *PEERS)
