"""The readings as a stream delivers them: files one by one, some rows late, a few too late."""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from windrow.cli.demo.agreement import HOUR, numbers
from windrow.samples.plugs import in_arrival_order
from windrow.windows.durations import nanoseconds

CLOSING = -1  # the house, household and plug of the row that comes after all others


@dataclass(frozen=True)
class Arrivals:
    """A directory of files in their order, and what a stream over them must make of the rows."""

    folder: Path
    files: int
    kept: pa.Table
    late: int


def arrive(table: pa.Table, folder: Path, *, files: int, lateness: str) -> Arrivals:
    """Write the rows in the order of their arrival to that many files, and to one that closes them.

    A micro-batch takes one file. The watermark in it is the newest time of all files before, less
    the lateness, in milliseconds as Spark keeps it; a row that is older is too late. Rows that are
    too late are so by more than a window and two files: no window is open any more that one of
    them could still go into (hopping windows go by the watermark of the micro-batch before). The
    closing row lies hours beyond the others: every window ends before it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    allowed = nanoseconds(lateness, "lateness") // 1000
    span = int(np.ptp(numbers(table.column("ts"))))
    least = HOUR + 2 * allowed + span * 5 // (2 * files)
    delays = (dt.timedelta(microseconds=least), dt.timedelta(microseconds=2 * least))
    arrived = in_arrival_order(table, lateness=lateness, lost=0.002, lost_by=delays)
    times = numbers(arrived.column("ts"))
    edges = np.linspace(0, len(times), files + 1).astype(int)
    keeps = np.ones(len(times), bool)
    for i, (start, stop) in enumerate(pairwise(edges)):
        if start:
            watermark = (times[:start].max() - allowed) // 1000 * 1000
            keeps[start:stop] = times[start:stop] >= watermark
        _write(arrived.slice(start, stop - start), folder, i)
    closing = {field.name: [CLOSING] for field in arrived.schema}
    closing["ts"] = [int(times.max()) + allowed + 3 * HOUR]
    _write(pa.table(closing).cast(arrived.schema), folder, files)
    return Arrivals(folder, files + 1, arrived.filter(pa.array(keeps)), int((~keeps).sum()))


def without_closing(table: pa.Table) -> pa.Table:
    """Return the results without those of the closing row."""
    key = "plug_id" if "plug_id" in table.column_names else "house_id"
    return table.filter(pa.array(table.column(key).to_numpy() != CLOSING))


def _write(table: pa.Table, folder: Path, i: int) -> None:
    """Write a file whose time stamp tells Spark its place among the others."""
    path = folder / f"{i:04}.parquet"
    parquet.write_table(table, path)
    stamp = 1_700_000_000 + i
    os.utime(path, (stamp, stamp))
