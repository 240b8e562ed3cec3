"""`windrow explain`: the plan of a query."""

from __future__ import annotations

import click

from windrow.cli.query import read_query
from windrow.cli.terminal import json_option, show_json
from windrow.errors import Unsupported
from windrow.queries.explain import entries
from windrow.queries.plan import plan_of
from windrow.queries.query import Query


@click.command()
@click.argument("query", metavar="QUERY|FILE")
@json_option("The plan as JSON.")
def explain(query: str, as_json: bool) -> None:
    """Tell what a query will run, and why.

    QUERY is CQL, or a file with CQL (.cql, .sql) or with the arguments of a query (.toml) in it.
    Nothing is read and nothing runs: windows, slices, the plan on Spark, and for each aggregation
    its algorithm, the number of combines and the state.

    \b
    windrow explain 'SELECT MAX(load) AS peak FROM plugs [PARTITION BY plug RANGE 1 HOUR]'
    """
    parsed = read_query(query)
    if as_json:
        plan = [{"name": name, "says": says} for name, says in entries(plan_of(parsed)).items()]
        show_json({"query": repr(parsed), "sql": _sql(parsed), "plan": plan})
    else:
        click.echo(parsed.explain())


def _sql(query: Query) -> str | None:
    """Return the query as CQL, None where CQL has no words for it."""
    try:
        return query.sql()
    except Unsupported:
        return None
