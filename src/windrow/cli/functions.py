"""`windrow functions`: the aggregations that a query may name, from the code itself."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import click

from windrow.cli.failures import Usage
from windrow.cli.terminal import coloured, json_option, show_json
from windrow.errors import did_you_mean


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
    if name is not None and name.upper() not in known:
        raise Usage(f"there is no function {name!r}; {did_you_mean(name.upper(), known)}")
    if as_json:
        show_json(list(known.values()) if name is None else known[name.upper()])
    elif name is None:
        click.echo(_list(list(known.values())))
    else:
        click.echo(_page(known[name.upper()]))


def _facts(name: str, function: Any) -> dict[str, Any]:
    """Return what is told of a function."""
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


def _page(facts: dict[str, Any]) -> str:
    """Return all about one function."""
    fixed = "".join(f" with {name}={value}" for name, value in facts["fixed"].items())
    return (
        f"{coloured(facts['call'], 'bold', sys.stdout)}\n\n"
        f"In Python windrow.{facts['aggregation']}{fixed}.\n\n{facts['document']}"
    )
