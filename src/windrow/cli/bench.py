"""`windrow bench`: the commands of the package `bench`, which a checkout has beside windrow."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import click

from windrow.cli.failures import Usage

NOT_HERE = (
    "the benchmarks are not part of the installed package: run `windrow bench` or "
    "`python -m bench` in a checkout of windrow's repository, with windrow[bench,cli] installed"
)


def _commands() -> click.Group:
    """Return the commands, from a checkout in the current directory or from what is installed."""
    checkout = Path.cwd()
    if (checkout / "bench" / "command.py").exists() and (checkout / "src" / "windrow").is_dir():
        sys.path.insert(0, str(checkout))
    try:
        commands = getattr(import_module("bench.command"), "bench", None)
    except ModuleNotFoundError as missing:
        if missing.name not in ("bench", "bench.command"):
            raise
        commands = None
    if not isinstance(commands, click.Group):
        raise Usage(NOT_HERE)
    return commands


bench = _commands()  # an import of this module fails where there are none
