"""Streams watched from a terminal: a live table, or a line a batch where there is no terminal.

with progress_view(spark):
    query.awaitTermination()
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from windrow.errors import extra
from windrow.spark.progress import Ended, Progress, ProgressListener, listening

# The columns of the table: of a batch, and of the rows left out so far in words.
_COLUMNS: dict[str, Callable[[Progress, str], str]] = {
    "query": lambda news, late: news.query,
    "batch": lambda news, late: str(news.batch),
    "rows/s in": lambda news, late: _number(news.in_per_second),
    "rows/s done": lambda news, late: _number(news.done_per_second),
    "rows/s out": lambda news, late: _number(news.out_per_second),
    "state rows": lambda news, late: _number(news.state_rows),
    "state bytes": lambda news, late: size(news.state_bytes),
    "watermark": lambda news, late: (
        "–" if news.watermark is None else f"{news.watermark:%Y-%m-%d %H:%M:%S}"
    ),
    "late rows": lambda news, late: late,
    "batch time": lambda news, late: f"{news.seconds:.2f} s",
}
HEADS = tuple(_COLUMNS)


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
        self._left_out: dict[str, Counter[str]] = {}  # of each query, by how rows are left out
        self._ended = Ended(self._forget)

    def ended(self, query: str, error: str | None) -> None:
        """Take note that a query has ended; its last figures stay for a while."""
        self._ended.add(query)

    def _forget(self, query: str) -> None:
        self.rows.pop(query, None)
        self._left_out.pop(query, None)

    def progress(self, news: Progress) -> None:
        """Take a batch in."""
        self._ended.discard(news.query)
        counts = self._left_out.setdefault(news.query, Counter())
        counts.update({"": news.too_late, " partly": news.partly_late, " ahead": news.ahead})
        late = " + ".join(f"{_number(n)}{how}" for how, n in counts.items() if n or not how)
        self.rows[news.query] = [cell(news, late) for cell in _COLUMNS.values()]


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
        """Write the end above the table, where it stays."""
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
    """Return a number of bytes as people read it.

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
