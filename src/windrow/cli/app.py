"""The commands by name. One is imported when it is called, so that `--help` starts at once."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import click

from windrow.cli.failures import exit_code
from windrow.cli.terminal import VERSION
from windrow.errors import did_you_mean

# Where each command lives, and its line in the help.
COMMANDS = {
    "demo": ("windrow.cli.demo.command:demo", "Spark batch and Spark streaming, the same results."),
    "run": ("windrow.cli.run:run", "Run a query over files, on Spark or in this process."),
    "explain": ("windrow.cli.about:explain", "Tell what a query will run, and why."),
    "algorithms": ("windrow.cli.about:algorithms", "The algorithms, and the card of each."),
    "functions": ("windrow.cli.about:functions", "The aggregations that a query may name."),
    "bench": ("windrow.cli.bench:bench", "The papers' experiments and the peers, measured."),
    "watch": ("windrow.cli.watch:watch", "Show the streams of a program on a live page."),
    "state": ("windrow.cli.state:state", "What the checkpoint of a stream holds."),
    "warm": ("windrow.cli.warm:warm", "Compile ahead, as for a container image."),
    "doctor": ("windrow.cli.doctor:doctor", "What is installed, what works, what is missing."),
    "completion": ("windrow.cli.about:completion", "Completion for a shell."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported on their first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, imported now; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command as click does; suggest the nearest name if there is none."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0]!r}; {did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list in the help, without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Begin with `windrow demo`; `windrow doctor` tells what this machine lacks for it.",
)
@click.version_option(VERSION, message="windrow %(version)s")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Sliding-window aggregation for Python and Spark."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code; what went wrong has been told on stderr."""
    return exit_code(lambda: _call(arguments), arguments)


def _call(arguments: list[str]) -> Any:
    """Call a command; click's own `main` has other exit codes for Ctrl-C and closed pipes."""
    if "_WINDROW_COMPLETE" in os.environ:
        return app.main(arguments, prog_name="windrow", standalone_mode=False)
    with app.make_context("windrow", [*arguments]) as context:
        return app.invoke(context)
