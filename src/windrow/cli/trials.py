"""What `windrow doctor` tries: `windrow run` over a few rows, in one process and on Spark.

Each command is a process of its own, so that one that hangs or crashes is reported as well.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 180.0  # seconds for all of them; a slow machine needs 60
_ROWS = [{"k": i % 2, "ts": f"2026-01-05T10:00:0{i}Z", "v": i} for i in range(6)]
_QUERY = "SELECT MAX(v) AS peak FROM rows [PARTITION BY k ORDER BY ts ROWS 2 LATENESS 1 SECOND]"
_PEAKS = [0, 1, 2, 3, 4, 5]  # the largest of each key's last two rows
# The options of each, and its results; a stream's are those that its watermark has passed.
_LOCAL = {"local": (["--local"], _PEAKS)}
_SPARK = {
    "spark batch": (["--master", "local[1]"], _PEAKS),
    "spark stream": (["--master", "local[1]", "--stream", "--once"], _PEAKS[:-2]),
}


def results(spark: bool, verbose: bool) -> Iterator[tuple[str, str | None, str]]:
    """Yield each trial's name, what went wrong (None: nothing) and what it did.

    All is over after `PATIENCE` seconds.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="windrow-doctor-") as place:
        rows = Path(place) / "rows"
        rows.mkdir()
        (rows / "rows.json").write_text("".join(f"{json.dumps(row)}\n" for row in _ROWS), "utf-8")
        for name, (options, wanted) in {**_LOCAL, **(_SPARK if spark else {})}.items():
            command = ["run", _QUERY, "-i", str(rows), "--json", *options]
            left = PATIENCE - (time.monotonic() - started)
            # an empty cache, so that something is compiled
            yield name, *_tried(command, wanted, left, f"{place}/cache", verbose)


def _tried(
    command: list[str], wanted: list[int], left: float, cache: str, verbose: bool
) -> tuple[str | None, str]:
    """Run a command of windrow's: return what went wrong, and what it did."""
    if left <= 0:
        return "the one before did not end", ""
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "windrow.cli", *command, *["--verbose"] * verbose],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "WINDROW_CACHE_DIR": cache},
    )
    try:
        out, log = process.communicate(timeout=left)
    except subprocess.TimeoutExpired:
        kill_session(process)
        process.communicate()
        return f"it had not ended after {PATIENCE:.0f} s", ""
    except BaseException:
        kill_session(process)
        raise
    if verbose:
        sys.stderr.write(log)
    errors = [json.loads(line)["error"] for line in log.splitlines() if line.startswith('{"error"')]
    if errors or process.returncode:
        return errors[0]["message"] if errors else f"it ended with {process.returncode}", ""
    rows = sorted(map(json.loads, out.splitlines()), key=lambda row: str(row["ts"]))
    peaks = [row["peak"] for row in rows]
    if peaks != wanted:
        return f"the results are {peaks}, and should be {wanted}", ""
    return None, f"{len(_ROWS)} rows had their results in {time.monotonic() - started:.1f} s"


def kill_session(process: subprocess.Popen[str]) -> None:
    """End a process that was started here in a session of its own, and the Java that it started."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
