"""The windows that streams are tried with, and what they give as text that can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tests.streams.feeding import Stream, plan_of, readings
from windrow import ArgMax, Collect, Count, Max, Mean, Query, StdDev, Sum, sliding

LATENESS = 30_000_000
ORDERED = {"a": Max("x"), "b": Sum("x"), "c": Collect("id"), "e": Count(), "f": ArgMax("x", "id")}
COMMUTATIVE = {"a": Max("x"), "b": Sum("x"), "d": Mean("y"), "e": Count(), "g": StdDev("x")}
KINDS: dict[str, dict[str, Any]] = {
    "rows": {"rows": 3},
    "one row": {"rows": 1},
    "many rows": {"rows": 50},
    "every second of five": {"rows": 5, "slide": 2},
    "all rows": {"rows": "unbounded"},
    "every third of all": {"rows": "unbounded", "slide": 3},
    "two of every five": {"rows": 2, "slide": 5, "gaps": True},
    "hopping with gaps": {"range": "6 seconds", "slide": "20 seconds", "gaps": True},
    "range": {"range": "20 seconds"},
    "range to the left": {"range": "20 seconds", "closed": "left"},
    "range to the right": {"range": "20 seconds", "closed": "right"},
    "now": {"range": "now"},
    "unbounded": {"range": "unbounded"},
    "before": {"range": ("-20 seconds", "-5 seconds")},
    "around": {"range": ("-10 seconds", "10 seconds")},
    "around, to the left": {"range": ("-10 seconds", "10 seconds"), "closed": "left"},
    "behind": {"range": ("2 seconds", "10 seconds"), "min_rows": 2},
    "all and a bit more": {"range": ("unbounded", "5 seconds")},
    "rows before": {"rows": (-5, -2)},
    "rows without this one": {"rows": (-5, 0), "exclude": "current row"},
    "enough rows": {"rows": 4, "min_rows": 3},
    "enough of a range": {"range": "20 seconds", "min_rows": 3},
    "enough of all rows": {"rows": "unbounded", "min_rows": 3},
    "groups before": {"groups": (-2, 0)},
    "enough in a hop": {"range": "20 seconds", "slide": "6 seconds", "min_rows": 2},
    "policy": {"until": lambda total, old: total.e - old.e >= 4},
    "policy that leaves nothing": {"until": lambda total, old: total.e > 4},
    "punctuation": {"on": "x > 40"},
    "hopping": {"range": "20 seconds", "slide": "6 seconds"},
    "hopping far": {"range": "5 minutes", "slide": "1 second"},
    "tumbling": {"range": "10 seconds", "slide": "10 seconds"},
    "sessions": {"gap": "3 seconds"},
    "enough in a session": {"gap": "9 seconds", "min_rows": 2},
}


def asked(kind: str, key: str | None = "key", parts: Any = ORDERED, **more: Any) -> Query:
    return sliding(
        partition_by=key, order_by="ts", lateness="30 seconds", **KINDS[kind], **parts, **more
    )


def streamed(
    query: Query, rows: pa.Table, seed: int, most: int = 40, restarts: float = 0.3, **options: Any
) -> Stream:
    """The rows in batches of any size, with restarts between them."""
    random = np.random.default_rng(seed)
    stream = Stream(plan_of(query, schema=rows.schema, **options), LATENESS)
    at = 0
    while at < rows.num_rows:
        n = int(random.integers(1, most))
        stream.push(rows.slice(at, n))
        at += n
        if random.random() < restarts:
            stream.restart(cold=random.random() < 0.5)
    return stream


def with_late(seed: int) -> tuple[pa.Table, np.ndarray[Any, Any]]:
    """Rows of which some come long after their turn, and the time of each."""
    rows = readings(150, 3, seed, spread=2000)
    random = np.random.default_rng(seed)
    at = rows.column("ts").cast(pa.int64()).to_numpy()
    came = at + random.integers(0, LATENESS, at.size)
    came[random.random(at.size) < 0.2] += 500_000_000
    rows = rows.take(pa.array(np.argsort(came, kind="stable")))
    return rows, rows.column("ts").cast(pa.int64()).to_numpy()


def told(table: pa.Table) -> list[str]:
    """Rows in any order, floats to the digits that the order of a sum leaves alone."""
    return sorted(map(row_text, table.to_pylist()))


def row_text(row: dict[str, Any]) -> str:
    return repr({n: round(v, 6) if isinstance(v, float) else v for n, v in row.items()})
