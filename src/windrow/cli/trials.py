"""What `windrow doctor` runs: one compilation, one batch and one stream, on Spark if it is there.

They run in a process of their own, ``python -m windrow.cli.trials``, which writes a line of JSON
for each as it ends: one that hangs, or that takes the process with it, is told as well.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 180.0  # seconds for all of them; a slow machine needs 60
_ROWS = [{"k": i % 2, "ts": f"2026-01-05T10:00:0{i}Z", "v": i} for i in range(6)]
_PEAKS = [0, 1, 2, 3, 4, 5]  # the largest of each key's last two rows
_SCHEMA = "k INT, ts TIMESTAMP, v INT"


def names(spark: bool) -> tuple[str, ...]:
    """Return what is tried, in order."""
    return ("compile", "spark batch", "spark stream") if spark else ("compile", "batch", "stream")


def results(spark: bool, verbose: bool) -> Iterator[tuple[str, str | None, str]]:
    """Give each trial's name, what went wrong (None: nothing) and what it did.

    All is over after `PATIENCE` seconds.
    """
    wanted = [*names(spark)]
    command = [sys.executable, "-m", "windrow.cli.trials", *wanted, *["--verbose"] * verbose]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=None if verbose else subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        written, ended = process.communicate(timeout=PATIENCE)[0], ""
    except subprocess.TimeoutExpired:
        kill_session(process)
        written, ended = process.communicate()[0], f"it had not ended after {PATIENCE:.0f} s"
    except BaseException:
        kill_session(process)
        raise
    for line in written.splitlines():
        name, problem, says = json.loads(line)
        wanted.remove(name)
        yield name, problem, says
    for name in wanted:
        yield name, ended or f"the process ended with {process.returncode}", ""
        ended = "the one before did not end"


def kill_session(process: subprocess.Popen[str]) -> None:
    """End a process that was started here in a session of its own, and the Java that it started."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


# -- in the process of its own -------------------------------------------------------------------


def main(arguments: Sequence[str]) -> None:
    """Try what the arguments name."""
    wanted = [name for name in arguments if name != "--verbose"]
    trials: dict[str, Callable[[], str]] = {
        "compile": _compile,
        "batch": _batch,
        "stream": _stream,
    }
    for name in wanted:
        if name in trials:
            _tell(name, trials[name])
    if "spark batch" in wanted:
        _try_spark("--verbose" in arguments)


def _try_spark(verbose: bool) -> None:
    from windrow.cli.session import spark_session

    try:
        with spark_session("local[1]", verbose=verbose) as spark:
            _tell("spark batch", lambda: _spark_batch(spark))
            _tell("spark stream", lambda: _spark_stream(spark))
    except Exception as error:
        _told("spark batch", error, "")
        _told("spark stream", error, "")


def _tell(name: str, trial: Callable[[], str]) -> None:
    """Run a trial and write what came of it."""
    start = time.perf_counter()
    try:
        says = trial()
    except Exception as error:
        _told(name, error, "")
    else:
        _told(name, None, f"{says} in {time.perf_counter() - start:.1f} s")


def _told(name: str, error: Exception | None, says: str) -> None:
    from windrow.cli.failures import failure_of

    print(json.dumps([name, error and failure_of(error).message, says]), flush=True)


def _compile() -> str:
    import numpy as np

    from windrow.compiled import compiled

    def total(values: Any) -> Any:
        sum_ = 0
        for value in values:
            sum_ += value
        return sum_

    given = os.environ.get("WINDROW_CACHE_DIR")
    with tempfile.TemporaryDirectory(prefix="windrow-doctor-") as place:
        os.environ["WINDROW_CACHE_DIR"] = place
        _check([compiled(total)(np.arange(6))], [15])
    del os.environ["WINDROW_CACHE_DIR"]
    if given is not None:
        os.environ["WINDROW_CACHE_DIR"] = given
    return "a loop was compiled, with an empty cache,"


def _batch() -> str:
    import pyarrow as pa

    _check(_query()(pa.Table.from_pylist(_ROWS))["peak"].to_pylist(), _PEAKS)
    return f"{len(_ROWS)} rows of a table had their results"


def _stream() -> str:
    from windrow.aggregations.extrema import Max
    from windrow.windows.push import window

    pushed = window(Max(), rows=2)
    _check([pushed.push(row["v"]) for row in _ROWS], _PEAKS)
    return f"{len(_ROWS)} values had their results one by one"


def _spark_batch(spark: Any) -> str:
    with _files() as place:
        frame = spark.read.schema(_SCHEMA).json(place)
        _check([row.peak for row in frame.transform(_query()).orderBy("ts").collect()], _PEAKS)
    return f"{len(_ROWS)} rows went through a worker"


def _spark_stream(spark: Any) -> str:
    with _files() as place:
        frame = spark.readStream.schema(_SCHEMA).json(place)
        writer = frame.transform(_query()).writeStream.format("memory").queryName("doctor")
        writer = writer.trigger(availableNow=True).option("checkpointLocation", f"{place}/.state")
        query = writer.start()
        query.awaitTermination()
        peaks = [row.peak for row in spark.table("doctor").orderBy("ts").collect()]
        _check(peaks, _PEAKS[:-2])  # those that the watermark, a second behind, has passed
    return f"{len(_ROWS)} rows went through a stream"


def _query() -> Any:
    from windrow.aggregations.extrema import Max
    from windrow.queries.query import sliding

    return sliding(partition_by="k", order_by="ts", rows=2, lateness="1 second", peak=Max("v"))


@contextmanager
def _files() -> Iterator[str]:
    """Give a directory with the rows in it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        text = "".join(f"{json.dumps(row)}\n" for row in _ROWS)
        (Path(place) / "rows.json").write_text(text, "utf-8")
        yield place


def _check(found: list[Any], wanted: list[Any]) -> None:
    """Raise an error unless the results are those that are known."""
    from windrow.cli.failures import Failed

    if found != wanted:
        raise Failed(f"the results are {found}, and should be {wanted}")


if __name__ == "__main__":
    main(sys.argv[1:])
