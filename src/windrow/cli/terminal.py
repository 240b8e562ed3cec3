"""Messages and progress for people, on stderr; colours only on a terminal that wants them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

_CODES = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "dim": "2", "bold": "1"}


def wants_colour(stream: IO[Any]) -> bool:
    """Whether `stream` is a terminal that shows colours, and NO_COLOR does not forbid them."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(text: str, colour: str, stream: IO[Any] | None = None) -> str:
    """`text` in a colour, if stderr (or `stream`) shows any."""
    if not wants_colour(stream or sys.stderr):
        return text
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"


def say(text: str) -> None:
    """A message: one line on stderr."""
    click.echo(text, err=True)


def console(stdout: bool = False) -> Console:
    """rich's console for stderr, or for stdout; it knows NO_COLOR and what a terminal is."""
    from rich.console import Console

    return Console(stderr=not stdout, highlight=False, soft_wrap=False)


class Steps:
    """What is being done, with a clock, while it lasts; a line a step where there is no terminal.

    >>> with Steps(quiet=True) as steps, steps.step("reading") as note:
    ...     note("1,000 rows")
    """

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._live: Any = None

    def __enter__(self) -> Steps:
        if not self._quiet and sys.stderr.isatty():
            from rich.progress import (
                BarColumn,
                Progress,
                SpinnerColumn,
                TextColumn,
                TimeElapsedColumn,
            )

            self._live = Progress(
                SpinnerColumn(finished_text="✓"),
                TextColumn("{task.description:<34}"),
                BarColumn(bar_width=24),
                TimeElapsedColumn(),
                TextColumn("{task.fields[note]}", style="dim"),
                console=console(),
                redirect_stdout=False,  # results go there untouched
            )
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    @contextmanager
    def step(self, what: str) -> Iterator[Any]:
        """One step; the function it gives takes a note, and the share that is done if known."""
        task = self._live.add_task(what, total=None, note="") if self._live is not None else None
        last = ""

        def note(text: str = "", done: float | None = None) -> None:
            nonlocal last
            last = text
            if task is not None:
                given = {} if done is None else {"total": 1.0, "completed": done}
                self._live.update(task, note=text, **given)

        yield note
        if task is not None:
            self._live.update(task, total=1.0, completed=1.0)
        elif not self._quiet:
            say(f"{what}: {last}" if last else what)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Plain text in columns; those in `right` are aligned to the right.

    >>> print(table(["name", "n"], [["a", "10"], ["long", "2"]], right=[1]))
    name   n
    a     10
    long   2
    """
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        made = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(made).rstrip()

    return "\n".join(line(row) for row in [header, *rows])
