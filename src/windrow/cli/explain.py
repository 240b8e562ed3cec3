"""`windrow explain`: the plan of a query."""

from __future__ import annotations

import json

import click

from windrow.cli.query import as_sql, read_query


@click.command()
@click.argument("query", metavar="QUERY|FILE")
@click.option("--json", "as_json", is_flag=True, help="The plan as JSON.")
def explain(query: str, as_json: bool) -> None:
    """Tell what a query will run, and why.

    QUERY is CQL, or a file with CQL (.cql, .sql) or with the arguments of a query (.toml) in it.
    Nothing is read and nothing runs: windows, slices, the plan on Spark, and for each aggregation
    its algorithm, the number of combines and the state.

    \b
    windrow explain 'SELECT MAX(load) AS peak FROM plugs [PARTITION BY plug RANGE 1 HOUR]'
    """
    asked = read_query(query)
    plan = asked.explain()
    if not as_json:
        click.echo(plan)
        return
    told = {"query": repr(asked), "sql": as_sql(asked), "plan": _entries(plan)}
    click.echo(json.dumps(told, ensure_ascii=False, indent=2))


def _entries(plan: str) -> list[dict[str, object]]:
    """The plan as a list of what is told of each name."""
    entries: list[dict[str, object]] = []
    first = plan.splitlines()[0]
    width = len(first) - len(first.removeprefix("windows").lstrip())
    for line in plan.splitlines():
        name, text = line[:width].strip(), line[width:]
        if name:
            entries.append({"name": name, "says": [text]})
        else:
            says = entries[-1]["says"]
            assert isinstance(says, list)
            says.append(text)
    return entries
