"""GROUP BY and OVER in one SELECT, taken apart: the groups, and the windows over them.

SELECT day, SUM(SUM(x)) OVER (ORDER BY day) AS total FROM t GROUP BY day

SELECT day, SUM(g_1)    OVER (ORDER BY day) AS total
FROM (SELECT day, SUM(x) AS g_1 FROM t GROUP BY day)
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from windrow.queries.cql.calls import aliased, is_call
from windrow.queries.select import OWN
from windrow.queries.syntax import wrong

_OF_GROUPS = ("where", "group", "having")
_OVER_GROUPS = ("qualify", "order")
_BEFORE_OVER = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)  # around the call itself


def has_windows_over_groups(select: Any) -> bool:
    """Whether a statement has GROUP BY, and windows over the groups."""
    later = [*select.expressions, *(select.args.get(name) for name in _OVER_GROUPS)]
    return bool(select.args.get("group")) and any(
        n is not None and n.find(exp.Window) for n in later
    )


def taken_apart(select: Any, text: str) -> Any:
    """Return the statement of the groups; `select` becomes that of the windows, which reads it."""
    parts = _Parts(select, text)
    source = select.args["from_"]
    name = source.this.alias_or_name or "(SELECT …)"
    inner = exp.Select(expressions=parts.items, from_=source)
    for clause in _OF_GROUPS:
        inner.set(clause, select.args.get(clause))
        select.set(clause, None)
    select.set("from_", exp.From(this=exp.Table(this=exp.to_identifier(name, quoted=True))))
    return inner


class _Parts:
    """What the groups have, each by a name: keys, and aggregations."""

    def __init__(self, select: Any, text: str) -> None:
        self.text = text
        self.items: list[Any] = []
        self.names: dict[str, str] = {}  # by what they are
        self._name_numbers(select)
        for item in select.expressions:
            value, alias = aliased(item)
            if not alias and not isinstance(value, exp.Column):
                hint = "write … AS name"
                raise wrong(text, item, "a result that is computed needs a name", hint)
            computed = value.find(exp.Window) or any(map(is_call, value.walk()))
            if value.find(exp.Column) and not computed:
                self._column(value, alias or value.name)
        listed = {name.lower() for name in self.names.values()}
        for key in select.args["group"].expressions:
            if key.name.lower() not in listed:
                self._column(key, key.name if isinstance(key, exp.Column) else "")
        later = [select.args.get(name) for name in _OVER_GROUPS]
        for node in [*select.expressions, *later, *(select.args.get("windows") or ())]:
            if node is not None:
                self._over_groups(node)

    def _name_numbers(self, select: Any) -> None:
        """Put the results themselves for their numbers in GROUP BY."""
        results = [aliased(item)[0] for item in select.expressions]
        for key in list(select.args["group"].expressions):
            if isinstance(key, exp.Literal) and not key.is_string:
                number = int(key.this) if key.this.isdecimal() else 0
                if not 0 < number <= len(results):
                    problem = f"there are {len(results)} columns, and no {key.this}th"
                    raise wrong(self.text, key, problem)
                key.replace(results[number - 1].copy())

    def _column(self, node: Any, name: str = "") -> Any:
        """Return the column of a group that a key or an aggregation is."""
        what = _bare(node)
        if what not in self.names:
            self.names[what] = name or f"{OWN}group_{len(self.names)}"
            self.items.append(exp.alias_(node.copy(), self.names[what], quoted=True))
        column = exp.column(self.names[what], quoted=True)
        column.this.meta.update(next((n.meta for n in node.walk() if n.meta), {}))
        return column

    def _over_groups(self, node: Any, windowed: bool = False) -> None:
        """Put columns of the groups for what they have, but not for a call before OVER."""
        call = node.this if isinstance(node, exp.Filter) else node
        known = isinstance(node, exp.Condition) and _bare(node) in self.names
        if not windowed and (known or is_call(call)):
            node.replace(self._column(node))
            return
        around = node.key == "window" or (windowed and isinstance(node, _BEFORE_OVER))
        for child in list(node.iter_expressions()):
            self._over_groups(child, windowed=around and child is node.this)


def _bare(node: Any) -> str:
    """Return what a node says, without the names of tables."""
    node = node.copy()
    for column in node.find_all(exp.Column):
        column.set("table", None)
    return str(node.sql(comments=False))
