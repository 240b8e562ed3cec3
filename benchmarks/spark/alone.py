"""A measurement in a process of its own: other cores, less memory; JSON on stdout.

    python -m benchmarks.spark.alone --what "no key" --cores 1 --rows 10000000

`--what "one key"` gives all rows one key, uncached, and tells the memory of all processes together:
Java, the driver and its workers, each page counted once.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.spark.session import data, seconds, session
from windrow import Max, sliding

WHAT = ("no key", "one key")


def measured(**given: Any) -> dict[str, Any]:
    """What a new process measures."""
    arguments = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.spark.alone", *arguments],
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    made: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return made


class Memory:
    """The most memory of this process and all below it, in bytes; looked at 5 times a second."""

    def __init__(self) -> None:
        self.most = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            self.most = max(self.most, sum(map(_bytes, _family())))


def _family() -> Iterator[int]:
    """This process and all below it."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended
                continue
            children.setdefault(parent, []).append(int(path.name))
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, [])


def _bytes(pid: int) -> int:
    """What a process has in memory; pages that it shares count in part."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def main() -> int:
    """Measure once, after a smaller run to warm up."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark.alone", description=__doc__)
    parser.add_argument("--what", choices=WHAT, required=True)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--range", default="1 hour", help="of all rows' ten hours")
    parser.add_argument("--memory", default="4g")
    given = parser.parse_args()
    one_key = given.what == "one key"
    with Memory() as memory:
        spark = session(given.cores, given.memory)
        keys = {"partition_by": "key"} if one_key else {}
        query = sliding(**keys, order_by="ts", range=given.range, m=Max("v"))
        seconds(data(spark, 200_000, 1).transform(query))
        frame = data(spark, given.rows, 1)
        if not one_key:
            frame = frame.cache()
            frame.count()
            seconds(frame.transform(query))
        took = _whole(frame, query)
    report = {**vars(given), "seconds": took, "megabytes": memory.most >> 20}
    print(json.dumps(report))
    spark.stop()
    return 0


def _whole(frame: Any, query: Any) -> float:
    """How long it takes with what runs when the query meets the frame."""
    import time

    start = time.perf_counter()
    seconds(frame.transform(query))
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
