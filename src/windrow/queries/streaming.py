"""A query over a stream: what only a stream needs to know."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from typing import Any

from windrow.errors import InvalidArgument
from windrow.queries.query import Query
from windrow.queries.shared import Shared
from windrow.windows.durations import nanoseconds

BUCKETS = 16


@dataclass(frozen=True)
class Streaming:
    """A query with what only a stream needs to know, for ``df.transform``.

    - `mode`: "append" tells a window once, when it is final; "update" tells hopping windows in
      every batch that changes them.
    - `late`: the name of a column that is true for rows that came too late. They then come out
      too, without answers, to be put where they belong.
    - `idle`: after how long without rows a key is forgotten ("7 days").
    - `buckets`: how many groups the keys are put into, which is how many tasks can work at a time.
      It belongs to the checkpoint.

    >>> from windrow import Max, sliding
    >>> streaming(sliding(order_by="ts", range="1 hour", peak=Max("load")), idle="7 days").idle
    '7 days'
    """

    query: Query | Shared
    _: KW_ONLY
    mode: str = "append"
    late: str | None = None
    idle: Any = None
    buckets: int = BUCKETS

    def __post_init__(self) -> None:
        if self.mode not in ("append", "update"):
            raise InvalidArgument(f"mode={self.mode!r} must be 'append' or 'update'")
        if not isinstance(self.buckets, int) or not 0 < self.buckets <= 4096:
            raise InvalidArgument(f"buckets={self.buckets!r} must be a number from 1 to 4096")
        if self.idle is not None:
            nanoseconds(self.idle, "idle")

    def __call__(self, frame: Any) -> Any:
        """The answers over a streaming DataFrame."""
        if not getattr(frame, "isStreaming", False):
            raise InvalidArgument(
                "streaming(…) is for streaming DataFrames; apply the query itself to this one"
            )
        return import_module("windrow.spark").run_stream(self, frame)


streaming = Streaming
