"""PySpark's daemon with workers that record where the time of each task goes, as lines of JSON.

A session with `spark.python.daemon.module=bench.worker_times` runs it, and the variable
WINDROW_TIMES names the folder into which each worker writes a file. Parts are exclusive: while an
inner part runs, the outer one stands still.
"""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pyspark import daemon

FOLDER = "WINDROW_TIMES"
START, WAIT, CALLS, CODE, STEP, PACK, CLEAN, OTHER = (
    "start of a task",
    "waiting for rows",
    "calls of the state",
    "encoding and decoding",
    "the step",
    "packing",
    "collecting garbage",
    "the rest",
)
_CALLS = ("_send_proto_message", "_receive_proto_message", "_receive_proto_message_with_long_value",
          "_receive_proto_message_with_timers")  # fmt: skip
_CODERS = ("windrow.spark.stream_processor", "windrow.streams.log", "windrow.streams.waiting")
_SIZES = 2  # digits of milliseconds that are kept


class Parts:
    """Seconds by part, and how often each was entered."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.entered: dict[str, int] = {}
        self._open = [OTHER]
        self._since = self.begun = time.perf_counter()
        self.processor = time.process_time()

    def enter(self, part: str) -> None:
        """Let another part run."""
        self._settle()
        self._open.append(part)
        self.entered[part] = self.entered.get(part, 0) + 1

    def leave(self) -> None:
        """Go on with the part before."""
        self._settle()
        self._open.pop()

    def _settle(self) -> None:
        now, part = time.perf_counter(), self._open[-1]
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self._since
        self._since = now

    def record(self, stage: str) -> dict[str, Any]:
        """Return the task as it is kept, in milliseconds."""
        self._settle()
        return {
            "stage": stage,
            "wall": round(1e3 * (self._since - self.begun), _SIZES),
            "processor": round(1e3 * (time.process_time() - self.processor), _SIZES),
            "parts": {name: round(1e3 * s, _SIZES) for name, s in self.seconds.items()},
            "entered": self.entered,
        }


class Worker:
    """What a worker measures of the task that it runs."""

    def __init__(self) -> None:
        self.parts = Parts()
        self.stage = OTHER
        self.file = Path(os.environ[FOLDER]) / f"{os.getpid()}.jsonl"

    def begin(self) -> None:
        """Begin to measure a task: its first bytes are here."""
        self.parts, self.stage = Parts(), OTHER
        self.parts.enter(START)

    def end(self) -> None:
        """Write what was measured of a task that has ended."""
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self.parts.record(self.stage)) + "\n")

    def timed(self, part: str, function: Callable[..., Any], stage: str = "") -> Any:
        """Return the function, whose time counts for the part."""

        @functools.wraps(function)
        def run(*arguments: Any, **options: Any) -> Any:
            self.stage = stage or self.stage
            self.parts.enter(part)
            try:
                return function(*arguments, **options)
            finally:
                self.parts.leave()

        return run

    def waits(self, function: Callable[..., Iterator[Any]]) -> Any:
        """Return the generator, the time of whose steps counts as waiting for rows."""

        @functools.wraps(function)
        def run(*arguments: Any) -> Iterator[Any]:
            items = function(*arguments)
            while True:
                self.parts.enter(WAIT)
                try:
                    item = next(items)
                except StopIteration:
                    return
                finally:
                    self.parts.leave()
                yield item

        return run

    def install(self) -> None:
        """Measure what the worker calls from now on."""
        worker: Any = import_module("pyspark.worker")
        client: Any = import_module("pyspark.sql.streaming.stateful_processor_api_client")
        rows: Any = import_module("pyspark.sql.pandas.serializers").ArrowStreamSerializer
        begins = worker.WorkerInitInfo.from_stream
        reads = worker.read_udfs

        def first(*arguments: Any) -> Any:
            self.begin()
            return begins(*arguments)

        def read(*arguments: Any) -> Any:
            functions = reads(*arguments)
            self.parts.leave()  # the start
            return functions

        worker.WorkerInitInfo.from_stream = first
        worker.read_udfs = read
        rows.load_stream = self.waits(rows.load_stream)
        for name in _CALLS:
            method = getattr(client.StatefulProcessorApiClient, name)
            setattr(client.StatefulProcessorApiClient, name, self.timed(CALLS, method))
        for name in _CODERS:
            module: Any = import_module(name)
            for function in ("encode", "decode"):
                if hasattr(module, function):
                    setattr(module, function, self.timed(CODE, getattr(module, function)))
        bucket: Any = import_module("windrow.streams.bucket").Bucket
        bucket.step = self.timed(STEP, bucket.step)
        packets: Any = import_module("windrow.spark.packets")
        packets.Packed._packets = self.timed(PACK, packets.Packed._packets, "pack")
        processor: Any = import_module("windrow.spark.stream_processor").WindowProcessor
        processor.init = self.timed(OTHER, processor.init, "step")
        packets.Unpacked.__call__ = self.timed(OTHER, packets.Unpacked.__call__, "unpack")


_measured: list[Worker] = []
_run_task = daemon.worker


def _run_measured(sock: Any, authenticated: bool) -> int:
    if not _measured:
        _measured.append(Worker())
        _measured[0].install()
    return _run_task(sock, authenticated)


def _collect() -> None:
    import gc

    _measured[0].parts.enter(CLEAN)
    gc.collect()
    _measured[0].parts.leave()
    _measured[0].end()


if __name__ == "__main__":
    daemon.worker = _run_measured
    daemon.__dict__["gc"] = SimpleNamespace(collect=_collect)
    daemon.manager()
