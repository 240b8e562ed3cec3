"""Streams watched from a terminal: a table that renews itself, or plain lines where there is none.

with progress_view(spark):
    query.awaitTermination()
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from windrow.errors import extra
from windrow.spark.progress import Ended, Progress, ProgressListener, listening

HEADS = (
    "query",
    "batch",
    "rows/s in",
    "rows/s done",
    "rows/s out",
    "state rows",
    "state bytes",
    "watermark",
    "late rows",
    "batch time",
)


@contextmanager
def progress_view(spark: Any, file: TextIO | None = None) -> Iterator[ProgressListener]:
    """Show the streams of a session while the block runs, on `file` (the standard error)."""
    file = file or sys.stderr
    feed: Table | Lines = Table(file) if file.isatty() else Lines(file)
    with feed, listening(spark, feed) as listener:
        yield listener


class Shown:
    """The newest figures of each query, with the late rows of all its batches."""

    def __init__(self) -> None:
        self.rows: dict[str, list[str]] = {}
        self._late: Counter[str] = Counter()
        self._partly: Counter[str] = Counter()
        self._ahead: Counter[str] = Counter()
        self._ended = Ended(self._forget)

    def ended(self, query: str, error: str | None) -> None:
        """The last figures stay for a while."""
        self._ended.add(query)

    def _forget(self, query: str) -> None:
        for held in (self.rows, self._late, self._partly, self._ahead):
            held.pop(query, None)

    def progress(self, news: Progress) -> None:
        """Take a batch in."""
        self._ended.discard(news.query)
        self._late[news.query] += news.too_late
        self._partly[news.query] += news.partly_late
        self._ahead[news.query] += news.ahead
        self.rows[news.query] = [
            news.query,
            str(news.batch),
            _number(news.in_per_second),
            _number(news.done_per_second),
            _number(news.out_per_second),
            _number(news.state_rows),
            size(news.state_bytes),
            "–" if news.watermark is None else f"{news.watermark:%Y-%m-%d %H:%M:%S}",
            self._late_rows(news.query),
            f"{news.seconds:.2f} s",
        ]

    def _late_rows(self, query: str) -> str:
        text = _number(self._late[query])
        for count, how in ((self._partly[query], "partly"), (self._ahead[query], "ahead")):
            text += f" + {_number(count)} {how}" if count else ""
        return text


class Lines(Shown):
    """A line a batch, for logs and pipes."""

    def __init__(self, file: TextIO) -> None:
        super().__init__()
        self.file = file

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.flush()

    def progress(self, news: Progress) -> None:
        """Write the line."""
        super().progress(news)
        query, *cells = self.rows[news.query]
        figures = (f"{head} {cell}" for head, cell in zip(HEADS[1:], cells, strict=True))
        print(f"{query}: {', '.join(figures)}", file=self.file, flush=True)

    def ended(self, query: str, error: str | None) -> None:
        """Write the end, with the first line of an error."""
        super().ended(query, error)
        print(f"{query}: {_end(error)}", file=self.file, flush=True)


class Table(Shown):
    """A live table, a row a query."""

    def __init__(self, file: TextIO) -> None:
        super().__init__()
        extra("a live view", "rich", "cli")
        from rich.console import Console
        from rich.live import Live

        self.live = Live(console=Console(file=file), get_renderable=self._drawn)

    def __enter__(self) -> Table:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()  # draws once more

    def ended(self, query: str, error: str | None) -> None:
        """Say it above the table, where it stays."""
        super().ended(query, error)
        self.live.console.print(f"{query}: {_end(error)}", markup=False, highlight=False)

    def _drawn(self) -> Any:
        from rich.table import Table as Grid

        grid = Grid()
        for head in HEADS:
            grid.add_column(head, justify="left" if head == "query" else "right")
        self._ended.expire()
        for cells in list(self.rows.values()):
            grid.add_row(*cells)
        return grid


def size(count: float) -> str:
    """A number of bytes as people read it.

    >>> size(1536), size(3_000_000)
    ('1.5 KiB', '2.9 MiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _end(error: str | None) -> str:
    return "ended" if error is None else f"failed: {error.strip().splitlines()[0]}"
