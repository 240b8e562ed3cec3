"""`streaming(query, …)`: a query with the options that only a stream has."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from importlib import import_module
from typing import Any

from windrow.errors import InvalidArgument, choice, whole_number
from windrow.queries.query import Query
from windrow.queries.shared import Shared
from windrow.windows.durations import nanoseconds

BUCKETS = 16  # of keys, at most, if nothing is said
# What each option means, in words.
_MEANS = {
    "mode": "{}: results come out at once, and again whenever they change",
    "late": "{}: the column that marks rows that came too late, which come out too",
    "idle": "{}: a key without rows for longer is forgotten",
    "flush": "{}: without rows for so long, time goes on with the clock",
    "final": "{}: whether all that waits comes out in this run, the last one",
    "future": "{}: rows further ahead of the clock are counted and set aside",
    "buckets": "{}: how many groups the keys are put into",
}


@dataclass(frozen=True)
class Streaming:
    """A query with the options that only a stream has, for ``df.transform``.

    - `mode`: "append" gives a result once, when it is final; "update" gives it at once, and again
      in every batch that changes it. A result beside a row then has a `revision`: 0, and one more
      each time. A session that is no more, since an earlier row came or another session took it
      in, comes out with its start and nothing else.
    - `late`: the name of a column that is true for rows that came too late. They then come out
      too, without results, to be put where they belong.
    - `idle`: after how long without rows a key is forgotten ("7 days").
    - `flush`: after how long without rows the results come out that wait for later ones
      ("10 minutes"), by the clock. A row that comes then and is earlier than they are is too late.
    - `final`: True in the last run of a stream, when all rows are read: all that waits comes out.
      False in the runs before it.
    - `future`: how far ahead of the clock a row's time may be ("1 hour"). A row further ahead is
      counted and set aside: it is in no result, and the watermark does not follow it.
    - `buckets`: how many groups the keys are put into, which is how many tasks can work at a time.
      It belongs to the checkpoint. Without it there are as many as the state has partitions, and
      16 at most.

    >>> from windrow import Max, sliding
    >>> streaming(sliding(order_by="ts", range="1 hour", peak=Max("load")), idle="7 days").idle
    '7 days'
    """

    query: Query | Shared
    _: KW_ONLY
    mode: str = "append"
    late: str | None = None
    idle: Any = None
    flush: Any = None
    final: bool | None = None
    future: Any = None
    buckets: int | None = None

    def __post_init__(self) -> None:
        choice("mode", self.mode, ("append", "update"))
        if self.buckets is not None:
            object.__setattr__(self, "buckets", whole_number("buckets", self.buckets, 1, 4096))
        for name in ("idle", "flush", "future"):
            if getattr(self, name) is not None:
                nanoseconds(getattr(self, name), name)
        if self.final not in (None, True, False):
            raise InvalidArgument(f"final={self.final!r} must be True, False or left out")
        for name in ("flush", "final"):
            if getattr(self, name) is not None and not self.waits:
                raise InvalidArgument(
                    f'{name}={getattr(self, name)!r} does not go with mode="update", in which '
                    f"results do not wait: leave it out"
                )

    @property
    def waits(self) -> bool:
        """Whether results wait for the watermark.

        With "update" those do whose aggregations depend on the order of rows, in windows that have
        rows of their own.
        """
        ordered = any(q.window.columns and not q.commutative for q in self.queries)
        return self.mode == "append" or ordered

    @property
    def queries(self) -> tuple[Query, ...]:
        """The queries, one or several."""
        return self.query.queries if isinstance(self.query, Shared) else (self.query,)

    def arguments(self) -> dict[str, Any]:
        """Return the options that were set, without those that have their defaults."""
        defaults = {field.name: field.default for field in fields(self) if field.name != "query"}
        options = {name: getattr(self, name) for name in defaults}
        return {name: value for name, value in options.items() if value != defaults[name]}

    def explain(self, frame: Any = None) -> str:
        """Return what will run: the query's own explanation, and a line for each option.

        With a frame, it is the plan over its columns.

        >>> from windrow import Max, sliding
        >>> late = sliding(order_by="ts", rows=9, lateness="1 hour", peak=Max("load"))
        >>> print(streaming(late, future="5 minutes").explain().splitlines()[-1])
        future     5 minutes: rows further ahead of the clock are counted and set aside
        """
        lines = [f"{name:<10} {_MEANS[name].format(v)}" for name, v in self.arguments().items()]
        return "\n".join([self.query.explain(frame), *lines])

    def _repr_html_(self) -> str:
        """Return what notebooks show: the query, and what the options add."""
        from windrow.queries.diagram import line

        options = [f"{name}={_MEANS[name].format(v)}" for name, v in self.arguments().items()]
        return self.query._repr_html_() + "".join(map(line, options))

    def __call__(self, frame: Any) -> Any:
        """Return the results over a streaming DataFrame."""
        if not getattr(frame, "isStreaming", False):
            raise InvalidArgument(
                "streaming(…) is for streaming DataFrames; apply the query itself to this one"
            )
        return import_module("windrow.spark").run_stream(self, frame)


streaming = Streaming
