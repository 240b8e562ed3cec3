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


def commands() -> click.Group:
    """Return the commands, from a checkout in the current directory or from what is installed."""
    here = Path.cwd()
    if (here / "bench" / "command.py").exists() and (here / "src" / "windrow").is_dir():
        sys.path.insert(0, str(here))
    try:
        found = getattr(import_module("bench.command"), "bench", None)
    except ModuleNotFoundError as missing:
        if missing.name not in ("bench", "bench.command"):
            raise
        found = None
    if not isinstance(found, click.Group):
        raise Usage(NOT_HERE)
    return found


class Checkout(click.Group):
    """A group whose commands are those of the package `bench`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return their names."""
        return commands().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name; None if there is none."""
        return commands().get_command(ctx, cmd_name)


@click.command(cls=Checkout)
def bench() -> None:
    """Measure windrow: the papers' experiments, the peers, and two checkouts."""
