"""What a window takes of memory: a process of its own forks, fills it and tells.

    python -m windrow.bench.filling SECONDS KIND:ALGORITHM,… SIZE …

KIND is compiled, process or rocksdb; a window may take so many seconds.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from windrow.bench.clock import TIME_IS_UP, Clock
from windrow.bench.points import Point, missing

UNIT = "MB"
PIECE = 1 << 14


def memory() -> dict[str, int]:
    """Bytes: `private` is this process's own, `resident` has the pages of mapped files as well.

    Only Linux tells.
    """
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    status = dict(line.split(":", 1) for line in lines if ":" in line)
    sizes = {"private": "RssAnon", "resident": "VmRSS"}
    return {name: int(status[field].split()[0]) * 1024 for name, field in sizes.items()}


def grown(
    figure: str, contenders: dict[str, tuple[str, str]], sizes: Sequence[int], clock: Clock
) -> Iterator[Point]:
    """The memory of windows of the sizes; a contender is (kind, algorithm)."""
    found: dict[tuple[str, int], float] = {}
    why = TIME_IS_UP
    seconds = max(1, round(clock.left / 3))
    names = ",".join(":".join(contender) for contender in contenders.values())
    command = [sys.executable, "-m", "windrow.bench.filling", str(seconds), names]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        try:
            done = subprocess.run(
                [*command, *map(str, sizes)], stdout=output, stderr=subprocess.PIPE, text=True,
                check=False, timeout=max(1.0, clock.left),
            )  # fmt: skip
            if done.returncode:
                why = (done.stderr.strip().splitlines() or ["failed"])[-1][:120]
        except subprocess.TimeoutExpired:
            pass
        output.seek(0)
        for line in output:
            name, size, megabytes = json.loads(line)
            found[name, size] = megabytes
    for name, contender in contenders.items():
        for size in sizes:
            megabytes = found.get((":".join(contender), size))
            if megabytes is None:
                yield missing(figure, name, size, UNIT, why)
            else:
                yield Point(figure, name, size, UNIT, (max(megabytes, 1e-3),))


def tell(seconds: int, contenders: Sequence[str], sizes: Sequence[int]) -> None:
    """What the process does: print by how much each window makes a fork of it grow, in MB.

    Each is filled in a fork: memory that an earlier window gave back would be found again. Who
    takes too long is ended by an alarm, and is left out of the larger sizes.
    """
    for name in contenders:  # loads and compiles; not RocksDB, whose threads a fork loses
        kind, _, algorithm = name.partition(":")
        with ExitStack() as stack:
            _fill("process" if kind == "rocksdb" else kind, algorithm, stack)(1)()
    gone = set()
    for size in sizes:
        for name in contenders:
            if name in gone:
                continue
            child = os.fork()
            if not child:
                signal.alarm(seconds)
                _print_growth(name, size)
                os._exit(0)
            if os.waitpid(child, 0)[1]:
                gone.add(name)


def _print_growth(name: str, size: int) -> None:
    kind, _, algorithm = name.partition(":")
    with ExitStack() as stack:
        before = memory()["private"]
        window = _fill(kind, algorithm, stack)(size)
        window()
        print(json.dumps([name, size, (memory()["private"] - before) / 2**20]), flush=True)


def _fill(kind: str, algorithm: str, stack: ExitStack) -> Callable[[int], Callable[[], Any]]:
    """For a size, what fills a window of it and holds it."""
    from windrow.aggregations.extrema import Max
    from windrow.algorithms import aggregator
    from windrow.algorithms.base import Aggregator

    if kind == "compiled":
        import numpy as np

        from windrow.kernels.rolling import RollingState, rolling

        def stream(size: int, state: RollingState) -> None:
            values = np.random.default_rng(1).random(PIECE)
            for start in range(0, size + 1, PIECE):
                piece = values[: min(PIECE, size + 1 - start)]
                rolling(piece, Max(), rows=size, algorithm=algorithm, state=state)

        return lambda size: partial(stream, size, RollingState())

    def extend(size: int, swag: Aggregator) -> None:
        swag.extend(i * 7919 % 1_000_003 for i in range(size))

    def window(size: int) -> Callable[[], Any]:
        options: dict[str, Any] = {}
        if kind == "rocksdb":
            from windrow.stores.rocks import RocksStore

            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="windrow-bench-"))
            options["store"] = stack.enter_context(RocksStore(folder))
        return partial(extend, size, aggregator(Max(), algorithm, **options))

    return window


if __name__ == "__main__":
    tell(int(sys.argv[1]), sys.argv[2].split(","), [int(size) for size in sys.argv[3:]])
