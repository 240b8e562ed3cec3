"""The statements of a text of standard SQL: those in FROM and WITH come before what reads them.

WITH a AS (SELECT … FROM t) SELECT … FROM (SELECT … FROM a) AS b
           ~~~~~~~~~~~~~~~                 ~~~~~~~~~~~~~~~
           1st                             2nd, and the whole is the 3rd
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from windrow.queries.cql.errors import INNER
from windrow.queries.cql.grouped import has_windows_over_groups, taken_apart
from windrow.queries.cql.parser import Parsed
from windrow.queries.syntax import wrong


def statements(parts: Parsed) -> list[Any]:
    """Return the statements, each of which reads the results of the one before it by a name."""
    chain: list[Any] = []
    named: dict[str, Any] = {}  # the statements of WITH that nothing reads yet
    node = parts.tree
    while isinstance(node, exp.Select):
        chain.append(node)
        named |= _named(node, parts)
        if has_windows_over_groups(node) and node.args.get("from_"):
            node = taken_apart(node, parts.text)
            continue
        source = node.args["from_"].this if node.args.get("from_") else None
        if isinstance(source, exp.Subquery):
            node = source.unnest()
            name = exp.to_identifier(source.alias or "(SELECT …)", quoted=True)
            source.replace(exp.Table(this=name))
        elif isinstance(source, exp.Table) and source.name.lower() in named:
            node = named.pop(source.name.lower())
        else:
            break
    else:
        raise wrong(parts.text, node, f"{node.key.upper()} is not supported here", INNER)
    for unread in named.values():
        hint = "FROM takes one frame, or one statement; leave the others out"
        raise wrong(parts.text, unread, "nothing reads this statement", hint)
    return chain[::-1]


def _named(node: Any, parts: Parsed) -> dict[str, Any]:
    """Return the statements of WITH by their names, and take them off the node."""
    clause = node.args.get("with_")
    if clause is None:
        return {}
    if clause.args.get("recursive"):
        raise wrong(parts.text, clause, "WITH RECURSIVE is not supported", INNER)
    for each in clause.expressions:
        if each.args["alias"].columns:
            raise wrong(parts.text, each, "WITH takes a name alone", "name columns by AS inside")
    node.set("with_", None)
    return {each.alias.lower(): each.this for each in clause.expressions}
