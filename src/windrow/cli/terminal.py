"""What commands write: JSON and tables to stdout; messages and progress for people to stderr.

Colours are used only on a terminal that wants them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

VERSION: str = import_module("windrow").__version__
_CODES = {"red": "31", "green": "32", "cyan": "36", "dim": "2", "bold": "1"}

verbose_option = click.option("--verbose", is_flag=True, help="Show Spark's log.")


def json_option(text: str) -> Callable[[Any], Any]:
    """Return the option --json, which a command takes as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=text)


def show_json(value: Any, indent: int | None = 2, err: bool = False) -> None:
    """Write a value as JSON to stdout, or to stderr."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=indent), err=err)


def say(text: str) -> None:
    """Write a message to stderr."""
    click.echo(text, err=True)


def coloured(text: str, colour: str, stream: IO[Any] | None = None) -> str:
    """Return `text` in a colour, if stderr (or `stream`) is a terminal that shows colours."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain or not (stream or sys.stderr).isatty():
        return text
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"


def console(stdout: bool = False) -> Console:
    """Return rich's console for stderr, or for stdout; it heeds NO_COLOR."""
    from rich.console import Console

    return Console(stderr=not stdout, highlight=False, soft_wrap=False)


class Steps:
    """Show each step with a clock while it lasts; a line a step where there is no terminal.

    >>> with Steps(quiet=True) as steps, steps.step("reading") as note:
    ...     note("1,000 rows")
    """

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._live: Any = None

    def __enter__(self) -> Steps:
        if not self._quiet and sys.stderr.isatty():
            from rich import progress

            self._live = progress.Progress(
                progress.SpinnerColumn(finished_text="✓"),
                progress.TextColumn("{task.description:<34}"),
                progress.BarColumn(bar_width=24),
                progress.TimeElapsedColumn(),
                progress.TextColumn("{task.fields[note]}", style="dim"),
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
        """Show a step; the function it gives takes a note, and the share that is done if known."""
        task = self._live.add_task(what, total=None, note="") if self._live is not None else None
        last = ""

        def note(text: str = "", done: float | None = None) -> None:
            nonlocal last
            last = text
            if task is not None:
                share = {} if done is None else {"total": 1.0, "completed": done}
                self._live.update(task, note=text, **share)

        yield note
        if task is not None:
            self._live.update(task, total=1.0, completed=1.0)
        elif not self._quiet:
            say(f"{what}: {last}" if last else what)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return plain text in columns; those in `right` are aligned to the right.

    >>> print(table(["name", "n"], [["a", "10"], ["long", "2"]], right=[1]))
    name   n
    a     10
    long   2
    """
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    return "\n".join(line(row) for row in [header, *rows])
