"""`windrow explain`, `algorithms`, `functions` and `completion`, which describe windrow itself."""

from __future__ import annotations

import inspect
import os
import re
import sys
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from windrow.algorithms import ALGORITHMS
from windrow.cli.failures import Failed, Usage
from windrow.cli.query import read_query
from windrow.cli.terminal import coloured, console, json_option, show_json, table
from windrow.errors import Unsupported, did_you_mean
from windrow.queries.explain import entries
from windrow.queries.plan import plan_of
from windrow.queries.query import Query

# In an installed package the cards lie beside this file, in a checkout where they are written.
_FOLDERS = (Path(__file__).parent / "cards", Path(__file__).parents[3] / "docs" / "algorithms")
_SHOWN = ("algorithm", "ordering", "needs", "insert", "evict", "query", "space", "paper")
_SHELLS = {
    "bash": 'eval "$(windrow completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(windrow completion zsh)"    # in ~/.zshrc, after compinit',
    "fish": "windrow completion fish > ~/.config/fish/completions/windrow.fish",
}


@click.command()
@click.argument("query", metavar="QUERY|FILE")
@json_option("The plan as JSON.")
def explain(query: str, as_json: bool) -> None:
    """Tell what a query will run, and why.

    QUERY is CQL or standard SQL, or a file with it (.cql, .sql) or with the arguments of a query
    (.toml) in it. Nothing is read and nothing runs: windows, slices, the plan on Spark, and for
    each aggregation its algorithm, the number of combines and the state.

    \b
    windrow explain 'SELECT MAX(load) AS peak FROM plugs [PARTITION BY plug RANGE 1 HOUR]'
    """
    parsed = read_query(query)
    if not as_json:
        click.echo(parsed.explain())
    elif isinstance(parsed, Query):
        show_json({"query": repr(parsed), "sql": _sql(parsed), "plan": _plan(parsed)})
    else:
        stages = [[_plan(query) for query in stage.queries] for stage in parsed.steps().stages]
        show_json({"query": repr(parsed), "sql": parsed.text, "stages": stages})


def _plan(query: Query) -> list[dict[str, Any]]:
    return [{"name": name, "says": says} for name, says in entries(plan_of(query)).items()]


def _sql(query: Query) -> str | None:
    """Return the query as CQL, None where CQL has no words for it."""
    try:
        return query.sql()
    except Unsupported:
        return None


# -- algorithms --------------------------------------------------------------------------------


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
        show_json([card_facts(algorithm) for algorithm in ALGORITHMS])
    elif name is None:
        click.echo(_comparison())
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


def _comparison() -> str:
    """Return the comparison that stands before the cards, without its links."""
    text = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", _card("README"))
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    header, *rows = [[cell.strip() for cell in line] for line in lines[: len(ALGORITHMS) + 1]]
    shown = [header.index(name) for name in _SHOWN]
    return table(_SHOWN, [[row[i] for i in shown] for row in rows])


# -- functions ---------------------------------------------------------------------------------


@click.command()
@click.argument("name", required=False)
@json_option("The list as JSON.")
def functions(name: str | None, as_json: bool) -> None:
    """The aggregations that a query may name, or all about one of them.

    The names are those of CQL; upper and lower case are the same. In Python each is a class of
    windrow.

    \b
    windrow functions
    windrow functions argmax
    """
    from windrow.queries.cql.functions import FUNCTIONS

    known = {name: _facts(name, function) for name, function in FUNCTIONS.items()}
    if name is None:
        if as_json:
            show_json([*known.values()])
        else:
            click.echo(_list([*known.values()]))
        return
    if name.upper() not in known:
        raise Usage(f"there is no function {name!r}; {did_you_mean(name.upper(), known)}")
    facts = known[name.upper()]
    if as_json:
        show_json(facts)
        return
    fixed = "".join(f" with {name}={value}" for name, value in facts["fixed"].items())
    click.echo(
        f"{coloured(facts['call'], 'bold', sys.stdout)}\n\n"
        f"In Python windrow.{facts['aggregation']}{fixed}.\n\n{facts['document']}"
    )


def _facts(name: str, function: Any) -> dict[str, Any]:
    """Return the name, the call, the class and the document of a function."""
    columns = list(getattr(function.make, "column_names", ("column",)))
    if function.turned:
        columns.reverse()
    parameters = [parameter.upper() for parameter in function.parameters]
    document = inspect.getdoc(function.make) or ""
    return {
        "name": name,
        "call": f"{name}({', '.join([*columns, *parameters])})",
        "aggregation": function.make.__name__,
        "fixed": function.fixed,
        "says": document.partition("\n")[0],
        "document": document,
    }


def _list(functions: list[dict[str, Any]]) -> str:
    """Return a line for each aggregation, with the other names that it goes by."""
    by_class: dict[str, list[dict[str, Any]]] = {}
    for facts in functions:
        by_class.setdefault(facts["aggregation"], []).append(facts)
    lines = []
    for aggregation, names in by_class.items():
        first, *others = sorted(names, key=lambda facts: facts["name"] != aggregation.upper())
        lines.append(f"{coloured(first['call'], 'bold', sys.stdout)}\n    {first['says']}")
        if others:
            lines.append(f"    also {', '.join(facts['call'] for facts in others)}")
    return "\n".join(lines)


# -- completion --------------------------------------------------------------------------------


@click.command(epilog="\b\n" + "\n".join(_SHELLS.values()))
@click.argument("shell", type=click.Choice(list(_SHELLS)), required=False)
def completion(shell: str | None) -> None:
    """Completion for a shell: print the script that turns it on.

    Without a name it is for the shell in $SHELL.
    """
    shell = shell or Path(os.environ.get("SHELL", "")).name
    if shell not in _SHELLS:
        raise Usage(f"which shell? Name one of {', '.join(_SHELLS)}")
    kind = get_completion_class(shell)
    assert kind is not None
    app = click.get_current_context().find_root().command
    click.echo(f"# {_SHELLS[shell]}\n{kind(app, {}, 'windrow', '_WINDROW_COMPLETE').source()}")
