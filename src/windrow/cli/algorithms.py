"""`windrow algorithms`: the fourteen side by side, and the card of each."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from windrow.algorithms import ALGORITHMS
from windrow.cli.failures import Failed, Usage
from windrow.cli.terminal import console, json_option, show_json, table
from windrow.errors import did_you_mean

# In an installed package the cards lie beside this file, in a checkout where they are written.
_FOLDERS = (Path(__file__).parent / "cards", Path(__file__).parents[3] / "docs" / "algorithms")
_SHOWN = ("algorithm", "ordering", "needs", "insert", "evict", "query", "space", "paper")


@click.command()
@click.argument("name", required=False)
@json_option("The facts as JSON.")
def algorithms(name: str | None, as_json: bool) -> None:
    """The algorithms side by side, or the card of one of them.

    A card tells how the algorithm works, what it needs of an aggregation, what it costs in
    combines, and when to choose it.

    \b
    windrow algorithms
    windrow algorithms daba
    """
    if name is not None and name not in ALGORITHMS:
        raise Usage(f"there is no algorithm {name!r}; {did_you_mean(name, ALGORITHMS)}")
    if as_json and name is None:
        show_json([card_facts(each) for each in ALGORITHMS])
    elif name is None:
        click.echo(_list())
    elif as_json:
        show_json({**card_facts(name), "card": _card(name)})
    elif sys.stdout.isatty():
        from rich.markdown import Markdown

        console(stdout=True).print(Markdown(_card(name)))
    else:
        click.echo(_card(name).rstrip())


def _card(name: str) -> str:
    """Return the card of an algorithm, as Markdown."""
    for folder in _FOLDERS:
        path = folder / f"{name}.md"
        if path.is_file():
            return path.read_text("utf-8")
    raise Failed(f"the card of {name} is not part of this installation")


def card_facts(name: str) -> dict[str, str]:
    """Return what the table at the top of a card says, with the title and its first sentence."""
    text = _card(name)
    title, _, summary, *_ = text.splitlines()
    rows = re.findall(r"^\| (?!\|)(\S.*?) \| (.*?) \|$", text.partition("## ")[0], re.MULTILINE)
    facts = {key.strip("`=").lower().replace(" ", "_"): value for key, value in rows}
    return {**facts, "algorithm": name, "title": title.removeprefix("# "), "says": summary}


def _list() -> str:
    """Return the comparison that stands before the cards, without its links."""
    text = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", _card("README"))
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    header, *rows = [[cell.strip() for cell in line] for line in lines[: len(ALGORITHMS) + 1]]
    shown = [header.index(name) for name in _SHOWN]
    return table(_SHOWN, [[row[i] for i in shown] for row in rows])
