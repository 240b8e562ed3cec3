"""The first query of all: processor seconds of new processes that find nothing compiled.

    python -m bench cold

Seconds are user and system time from the start of the process, imports and all, so that a busy
machine changes little.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from bench.alone import alone, tell

FURTHER = ("Mean", "Sum", "StdDev", "ArgMax", "Count", "Product")


def array() -> None:
    """The imports, and the maximum of an array."""
    import numpy as np

    from windrow import Max, rolling

    rolling(np.arange(5.0), Max(), rows=2)


def table() -> None:
    """The imports, and a query over a frame of pandas."""
    import pandas as pd

    from windrow import Max, Mean, sliding

    plugs = {"plug": ["a", "b", "a", "b"], "minute": [1, 1, 2, 3], "load": [1.0, 2.0, 3.0, 4.0]}
    query = sliding(
        partition_by="plug", order_by="minute", rows=2, peak=Max("load"), mean=Mean("load")
    )
    query(pd.DataFrame(plugs))


CASES: dict[str, Callable[[], None]] = {
    "rolling(Max)": array,
    "pandas, Max and Mean": table,
}


def measure_case(name: str) -> None:
    """Tell the seconds of a case, and then those of further aggregations of an array."""
    CASES[name]()
    tell([name, time.process_time()])
    if CASES[name] is not array:
        return
    import numpy as np

    import windrow

    for further in FURTHER:
        aggregation: Any = getattr(windrow, further, None)
        if aggregation is not None:
            before = time.process_time()
            windrow.rolling(np.arange(5.0), aggregation(), rows=2)
            tell([f"  and {further}", time.process_time() - before])


def cold_starts(rounds: int) -> Iterator[str]:
    """Yield the lines of a table: the least seconds of so many rounds, compiling and from disk."""
    yield f"{'processor seconds':28} {'compiling':>10} {'from disk':>10}"
    for case in CASES:
        runs: dict[str, tuple[list[float], list[float]]] = {}
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                for turn in (0, 1):
                    for name, seconds in alone(measure_case, case, WINDROW_CACHE_DIR=folder):
                        runs.setdefault(name, ([], []))[turn].append(seconds)
        for name, (compiling, loading) in runs.items():
            yield f"{name:28} {min(compiling):10.2f} {min(loading):10.2f}"
