"""`windrow algorithms`: the fourteen side by side, and the card of each."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import click

from windrow.algorithms import ALGORITHMS
from windrow.cli.failures import Failed, Usage
from windrow.cli.terminal import console, table
from windrow.errors import did_you_mean

# In an installed package the cards lie beside this file, in a checkout where they are written.
_HOMES = (Path(__file__).parent / "cards", Path(__file__).parents[3] / "docs" / "algorithms")
_SHOWN = ("algorithm", "ordering", "needs", "insert", "evict", "query", "space", "paper")


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="The facts as JSON.")
def algorithms(name: str | None, as_json: bool) -> None:
    """The algorithms side by side, or the card of one of them.

    A card tells how the algorithm works, what it needs of an aggregation, what it costs in
    combines, and when to choose it.

    \b
    windrow algorithms
    windrow algorithms daba
    """
    if name is None:
        facts = [card_facts(each) for each in ALGORITHMS] if as_json else []
        click.echo(json.dumps(facts, ensure_ascii=False, indent=2) if as_json else _listed())
        return
    if name not in ALGORITHMS:
        raise Usage(f"there is no algorithm {name!r}; {did_you_mean(name, ALGORITHMS)}")
    if as_json:
        told = {**card_facts(name), "card": card(name)}
        click.echo(json.dumps(told, ensure_ascii=False, indent=2))
    elif sys.stdout.isatty():
        from rich.markdown import Markdown

        console(stdout=True).print(Markdown(card(name)))
    else:
        click.echo(card(name).rstrip())


def card(name: str) -> str:
    """The card of an algorithm, as Markdown."""
    for home in _HOMES:
        path = home / f"{name}.md"
        if path.is_file():
            return path.read_text("utf-8")
    raise Failed(f"the card of {name} is not part of this installation")


def card_facts(name: str) -> dict[str, str]:
    """What the table at the top of a card says, with the title and its first sentence."""
    text = card(name)
    title, _, summary, *_ = text.splitlines()
    rows = re.findall(r"^\| (?!\|)(\S.*?) \| (.*?) \|$", text.partition("## ")[0], re.MULTILINE)
    facts = {key.strip("`=").lower().replace(" ", "_"): value for key, value in rows}
    return {**facts, "algorithm": name, "title": title.removeprefix("# "), "says": summary}


def _listed() -> str:
    """The comparison that stands before the cards, without its links."""
    lines = [line for line in card("README").splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    (header, *rest) = rows[: len(ALGORITHMS) + 1]
    kept = [header.index(word) for word in _SHOWN]
    plain = [[re.sub(r"\[(.*?)\]\(.*?\)", r"\1", row[i]) for i in kept] for row in [header, *rest]]
    return table(plain[0], plain[1:])
