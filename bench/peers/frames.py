"""The table of the queries: readings of plugs in the order of their times, no two at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

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


def given(table: pa.Table) -> pa.Table:
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
        """The columns that the queries are about."""
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
        connection.register("given", self.table)
        connection.execute("CREATE TABLE readings AS SELECT * FROM given")
        connection.unregister("given")
        return connection

    @property
    def rows(self) -> int:
        """How many."""
        return int(self.table.num_rows)

    def part(self, share: int) -> Frames:
        """A part of the rows whose windows are as long: some of the keys, or the first hours."""
        if self.keys == 1:
            return Frames(self.table.slice(0, max(1, self.rows // share)), 1)
        kept = np.flatnonzero(self.table["key"].to_numpy() < max(1, self.keys // share))
        part = self.table.take(pa.array(kept))
        return Frames(part.set_column(0, "i", pa.array(np.arange(kept.size))), self.keys)
