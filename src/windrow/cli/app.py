"""The commands by name. One is imported when it is called, so that `--help` starts at once."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from windrow.cli.failures import explained
from windrow.errors import did_you_mean

# Where each command lives, and its line in the help.
COMMANDS = {
    "demo": ("windrow.cli.demo.command:demo", "Spark batch and Spark streaming, the same answers."),
    "run": ("windrow.cli.run:run", "Run a query over files, on Spark or in this process."),
    "explain": ("windrow.cli.explain:explain", "Tell what a query will run, and why."),
    "algorithms": ("windrow.cli.algorithms:algorithms", "The algorithms, and the card of each."),
    "functions": ("windrow.cli.functions:functions", "The aggregations that a query may name."),
    "bench": ("windrow.cli.bench:bench", "The papers' experiments and the peers, measured."),
    "doctor": ("windrow.cli.doctor:doctor", "What is installed, what is missing, how to get it."),
    "completion": ("windrow.cli.completion:completion", "Completion for a shell."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported on their first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name where there is none."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0]!r}; {did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in the help, without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"windrow {import_module('windrow').__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Begin with `windrow demo`; `windrow doctor` tells what this machine lacks for it.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and exit.",
)
@click.pass_context
def app(ctx: click.Context) -> None:
    """Sliding-window aggregation for Python and Spark."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: list[str]) -> int:
    """Run a command; the exit code, all that went wrong having been told on stderr."""
    with explained(arguments) as outcome:
        returned: Any = app.main(arguments, prog_name="windrow", standalone_mode=False)
        outcome.code = returned if isinstance(returned, int) else 0
    return outcome.code
