"""`windrow completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from windrow.cli.failures import Usage

_USES = {
    "bash": 'eval "$(windrow completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(windrow completion zsh)"    # in ~/.zshrc, after compinit',
    "fish": "windrow completion fish > ~/.config/fish/completions/windrow.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(list(_USES)), required=False)
def completion(shell: str | None) -> None:
    """Completion for a shell: print the script that turns it on.

    Without a name it is for the shell in $SHELL.

    \b
    eval "$(windrow completion bash)"       # in ~/.bashrc
    eval "$(windrow completion zsh)"        # in ~/.zshrc, after compinit
    windrow completion fish > ~/.config/fish/completions/windrow.fish
    """
    shell = shell or Path(os.environ.get("SHELL", "")).name
    if shell not in _USES:
        raise Usage(f"which shell? Name one of {', '.join(_USES)}")
    kind = get_completion_class(shell)
    assert kind is not None
    app = click.get_current_context().find_root().command
    click.echo(f"# {_USES[shell]}\n{kind(app, {}, 'windrow', '_WINDROW_COMPLETE').source()}")
