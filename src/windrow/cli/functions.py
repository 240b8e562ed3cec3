"""`windrow functions`: the aggregations that a query may name, from the code itself."""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any

import click

from windrow.cli.failures import Usage
from windrow.cli.terminal import coloured
from windrow.errors import did_you_mean


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="The list as JSON.")
def functions(name: str | None, as_json: bool) -> None:
    """The aggregations that a query may name, or all about one of them.

    The names are those of CQL; upper and lower case are the same. In Python each is a class of
    windrow.

    \b
    windrow functions
    windrow functions argmax
    """
    from windrow.queries.cql.functions import FUNCTIONS

    if name is not None:
        found = name.upper() if name.upper() in FUNCTIONS else None
        if found is None:
            raise Usage(f"there is no function {name!r}; {did_you_mean(name.upper(), FUNCTIONS)}")
        told = _told(found)
        click.echo(json.dumps(told, ensure_ascii=False, indent=2) if as_json else _all_about(told))
        return
    every = [_told(function) for function in FUNCTIONS]
    if as_json:
        click.echo(json.dumps(every, ensure_ascii=False, indent=2))
        return
    click.echo(_listed(every))


def _told(name: str) -> dict[str, Any]:
    from windrow.queries.cql.functions import FUNCTIONS

    function = FUNCTIONS[name]
    made = function.make.__name__
    columns = list(getattr(function.make, "column_names", ("column",)))
    if function.turned:
        columns.reverse()
    words = [*columns, *(word.upper() for word in function.parameters)]
    document = inspect.getdoc(function.make) or ""
    return {
        "name": name,
        "call": f"{name}({', '.join(words)})",
        "aggregation": made,
        "fixed": function.fixed,
        "says": document.partition("\n")[0],
        "document": document,
    }


def _listed(every: list[dict[str, Any]]) -> str:
    """A line for each aggregation, with the other names that it goes by."""
    by_class: dict[str, list[dict[str, Any]]] = {}
    for told in every:
        by_class.setdefault(told["aggregation"], []).append(told)
    lines = []
    for names in by_class.values():
        first, *others = sorted(names, key=lambda told: told["name"] != told["aggregation"].upper())
        lines.append(f"{coloured(first['call'], 'bold', sys.stdout)}\n    {first['says']}")
        if others:
            lines.append(f"    also {', '.join(told['call'] for told in others)}")
    return "\n".join(lines)


def _all_about(told: dict[str, Any]) -> str:
    fixed = "".join(f" with {name}={value}" for name, value in told["fixed"].items())
    return (
        f"{coloured(told['call'], 'bold', sys.stdout)}\n\n"
        f"In Python windrow.{told['aggregation']}{fixed}.\n\n{told['document']}"
    )
