"""Synthetic events, each a pure function of a seed and its position in the stream.

A row at position i arrives at `clock(i)` and carries a time that lies at or before it:

    clock   ──●──●──●──●──●──●──●──▶   even, or in bursts
    ts      ●─────●●───●─────────●     at most `disorder` behind, a share `late` of them farther

Random numbers are made from counters (splitmix64), so any cut of the positions, in any process and
in any order, gives the same rows. Values are multiples of 1/64: their sums are exact, whatever the
order in which they are added.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregations.hashing import GAMMA, mix64

Longs = np.ndarray[Any, np.dtype[np.int64]]
Bits = np.ndarray[Any, np.dtype[np.uint64]]

SECOND = 1_000_000  # times are whole microseconds, as Spark's are
BATCH = 1 << 16
FURTHEST = (2**63 - 1) // SECOND  # a position times a second still fits a long
WAVE = 60 * SECOND


@dataclass(frozen=True)
class Recipe:
    """What the events are like; times and durations in microseconds.

    >>> recipe = Recipe(rate=2, keys=3, seed=7)
    >>> recipe.batch(10, 13).column("ts").cast("int64").to_pylist()
    [5000000, 5500000, 6000000]
    >>> recipe.batch(10, 13).slice(1) == recipe.batch(11, 13)
    True
    """

    rate: int = 1000
    keys: int = 100
    start: int = 0
    seed: int = 0
    disorder: int = 0
    late: float = 0.0
    late_by: int = 60 * SECOND
    bursts: int = 0  # how far apart they are
    burst_share: float = 0.9  # of a period's rows, in its first tenth

    def clock(self, positions: Longs) -> Longs:
        """When each row arrives, in microseconds from the first; O(rows)."""
        even = positions * SECOND // self.rate
        if not self.bursts:
            return even
        phase = even % self.bursts
        knee = [0.0, self.bursts * self.burst_share, float(self.bursts)]
        warped = np.interp(phase, knee, [0.0, self.bursts / 10, float(self.bursts)])
        times: Longs = even - phase + warped.astype(np.int64)
        return times

    def rows_before(self, elapsed: int) -> int:
        """Return how many rows arrive before `elapsed`; O(log rows).

        >>> Recipe(rate=2).rows_before(SECOND)
        2
        """
        low, high = 0, FURTHEST
        while low < high:
            middle = (low + high) // 2
            if int(self.clock(np.array([middle]))[0]) < elapsed:
                low = middle + 1
            else:
                high = middle
        return low

    def batch(self, first: int, last: int, schema: pa.Schema | None = None) -> pa.RecordBatch:
        """Return the rows at positions [first, last), with the columns of `schema`; O(rows)."""
        schema = schema or SCHEMA
        positions = np.arange(first, last, dtype=np.int64)
        draw = self._bits(0, positions)
        keys = ((draw >> np.uint64(32)) * np.uint64(self.keys) >> np.uint64(32)).view(np.int64)
        ts = self.start + self.clock(positions) - self._behind(positions)
        values: dict[str, Any] = {"key": keys, "ts": ts, "id": positions}
        if "value" in schema.names:
            values["value"] = _values(draw, keys, ts)
        columns = [_column(values[field.name], field.type) for field in schema]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def batches(
        self, first: int, last: int, schema: pa.Schema | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows at positions [first, last), in batches that fit a processor's cache."""
        for at in range(first, last, BATCH):
            yield self.batch(at, min(at + BATCH, last), schema)

    def fingerprint(self) -> str:
        """Return a short text that differs for events that differ; the same in every process."""
        return hashlib.sha256(repr(dataclasses.astuple(self)).encode()).hexdigest()[:16]

    def _behind(self, positions: Longs) -> Longs | int:
        """Return how far each row's time lies behind its arrival."""
        if not self.disorder and not self.late:
            return 0
        share = _unit(self._bits(1, positions))
        behind: Longs = (share * (self.disorder + 1)).astype(np.int64)
        if self.late:
            late = _unit(self._bits(2, positions)) < self.late
            beyond = self.disorder + 1 + (share * self.late_by).astype(np.int64)
            behind = np.where(late, beyond, behind)
        return behind

    def _bits(self, stream: int, positions: Longs) -> Bits:
        """Return 64 random bits for each position, by splitmix64; other bits for other streams."""
        begin = np.uint64(mix64(mix64(self.seed) ^ stream))
        bits = begin + positions.view(np.uint64) * np.uint64(GAMMA)
        bits ^= bits >> np.uint64(30)
        bits *= np.uint64(0xBF58_476D_1CE4_E5B9)
        bits ^= bits >> np.uint64(27)
        bits *= np.uint64(0x94D0_49BB_1331_11EB)
        bits ^= bits >> np.uint64(31)
        return bits


SCHEMA = pa.schema(
    {
        "key": pa.int64(),
        "ts": pa.timestamp("us", "UTC"),
        "value": pa.float64(),
        "id": pa.int64(),
    }
)


def _unit(bits: Bits) -> Any:
    """Numbers in [0, 1)."""
    return (bits >> np.uint64(11)) * 2.0**-53


def _values(draw: Bits, keys: Longs, ts: Longs) -> Any:
    """Return a wave a minute that is shifted for each key, and as much noise; in [0, 100)."""
    place = (ts + keys * (7 * SECOND)) % WAVE
    wave = np.abs(place - WAVE // 2) // (WAVE // 2 // 3199)
    noise = ((draw & np.uint64(0xFFFF)) * np.uint64(3200) >> np.uint64(16)).view(np.int64)
    return (wave + noise) / 64.0


def _column(values: Any, kind: pa.DataType) -> pa.Array:
    column = pa.array(values)
    if pa.types.is_timestamp(kind):
        return column.view(kind)
    if pa.types.is_string(kind):
        return pc.binary_join_element_wise("key-", column.cast(pa.string()), "")
    return column
