"""Results of a sample of the keys, recalculated from their rows in plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa

from bench.soak.rows import COHORTS, SECOND, START, Workload, minute
from windrow import ArgMax, Count, Max, Sum, sliding
from windrow.queries.streaming import Streaming, streaming

ROWS, IDLE = 8, 8 * 60 * SECOND
SAMPLED = 97  # one in so many keys of a cohort
Result = tuple[int, int, int, float, float, int]  # id, key, n, total, high, worst
COLUMNS = ["id", "key", "n", "total", "high", "worst"]


def query() -> Streaming:
    """Return the query: a key's last eight rows, forgotten when it is idle for eight minutes."""
    last = sliding(
        partition_by="key", order_by="ts", rows=ROWS, lateness="30 seconds",
        n=Count(), total=Sum("value"), high=Max("value"), worst=ArgMax("value", "id"),
    )  # fmt: skip
    return streaming(last, idle="8 minutes")


def is_sampled(key: Any) -> Any:
    """Return whether a key's results are recalculated; of columns of Spark as well."""
    return key % (COHORTS * SAMPLED) < COHORTS


def expected(workload: Workload, batches: int, watermark: int) -> Iterator[Result]:
    """Yield the results of sampled keys that are final at a watermark, after so many batches."""
    rows = [row for batch in range(batches) for row in _sampled_rows(workload, batch)]
    rows.sort()
    for key, of_key in groupby(rows, itemgetter(0)):
        held: list[tuple[int, float, int]] = []
        for _, at, value, number in of_key:
            if held and at - held[-1][0] > IDLE:
                held = []
            held = [*held, (at, value, number)][-ROWS:]
            if at < watermark:
                values = [value for _, value, _ in held]
                worst = max(held, key=itemgetter(1))[2]
                yield number, key, len(held), sum(values), max(values), worst


def _sampled_rows(workload: Workload, batch: int) -> Iterator[tuple[int, int, float, int]]:
    """Yield the rows of sampled keys that are not too late: key, time, value, id."""
    rows = workload.rows_of(batch)
    key, at = rows["key"].to_numpy(), rows["ts"].cast(pa.int64()).to_numpy()
    in_time = at > START + (60 * minute(batch) - 1800) * SECOND
    chosen = rows.filter(pa.array(in_time & is_sampled(key)))
    columns = [chosen["key"], chosen["ts"].cast(pa.int64()), chosen["value"], chosen["id"]]
    yield from zip(*(column.to_pylist() for column in columns), strict=True)


def compare(tables: Iterable[pa.Table], expected: Iterable[Result]) -> tuple[int, list[str]]:
    """Return how many results were compared, and what is lost, doubled or wrong, in words."""
    results: dict[int, Result] = {}
    problems = []
    for table in tables:
        for row in zip(*(table[name].to_pylist() for name in COLUMNS), strict=True):
            if row[0] in results:
                problems.append(f"doubled: {row}")
            results[row[0]] = row
    compared = 0
    for right in expected:
        compared += 1
        result = results.pop(right[0], None)
        if result is None:
            problems.append(f"lost: {right}")
        elif result != right:
            problems.append(f"wrong: {result}, recalculated {right}")
    problems += [f"too many: {row}" for row in results.values()]
    return compared, problems
