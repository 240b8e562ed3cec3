"""From a text of CQL to its query, and from one of standard SQL to its statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument, QuerySyntaxError
from windrow.queries.cql.calls import Calls, aliased, called, is_call
from windrow.queries.cql.errors import AROUND, NO_WINDOW
from windrow.queries.cql.parser import MARK, Parsed, parsed
from windrow.queries.cql.standard import select_of
from windrow.queries.expressions import canonical, interval_text
from windrow.queries.policies import TextPolicy, check_policy
from windrow.queries.query import Query
from windrow.queries.select import Select
from windrow.queries.syntax import identifier, tree, wrong
from windrow.windows.base import Window
from windrow.windows.durations import is_duration
from windrow.windows.kinds import window_of
from windrow.windows.sizes import NOW, UNBOUNDED

# What a window may say besides its size.
_BESIDE = ("slide", "offset", "closed", "gaps", "exclude", "timezone")


def compiled(text: str) -> Query | Select:
    """Return the query of a text of CQL, or the statement of a text of standard SQL."""
    parts = parsed(text)
    if parts.standard:
        return select_of(parts)
    try:
        return _Compiler(parts).query()
    except QuerySyntaxError:
        raise
    except InvalidArgument as error:
        raise wrong(text, parts.bracket, str(error)) from None


class _Compiler(Calls):
    """One text on its way to a query."""

    understood = ("expressions", "from_", "where", "group", "having")

    def __init__(self, parts: Parsed) -> None:
        super().__init__(parts, parts.tree)
        self.session = self._session()  # a call in GROUP BY
        if not parts.window and self.session is None:
            raise self.wrong(
                self.select.args["from_"].this, "the statement has no window", NO_WINDOW
            )
        self.check_clauses()
        self.said = {name: clause.value for name, clause in parts.window.items()}
        if self.session is not None:
            self.said |= self._session_said(self.session)
        self.order: tuple[str, ...] = self.said.get("order", ())

    def query(self) -> Query:
        """Return the query; its parts are checked one after the other."""
        self.window = self._window()
        self.partition = self._partition()
        results = self._results()
        if "until" in self.said:
            self.window = window_of(
                "CQL", until=self._policy(results), slide=self.said.get("slide")
            )
        where, having = (self.select.args.get(name) for name in ("where", "having"))
        having_text = None
        if having is not None:
            self._name_results(having, results, "HAVING")
            having_text = self.expression(having.this)
        return Query(
            self.window,
            tuple(results.items()),
            self.partition,
            self.order,
            None if where is None else self.expression(where.this),
            having_text,
            self.parts.emit,
            self.said.get("lateness"),
            self.names[0],
            self.said.get("min_rows"),
        )

    # -- the window -------------------------------------------------------------------------

    def _window(self) -> Window:
        (name, size), takes = self._size()
        # EXCLUDE NO OTHERS, whose value is None, may stand in any window
        said = {clause: self.said.get(clause) for clause in _BESIDE}
        beside = {clause: value for clause, value in said.items() if value is not None}
        for clause in beside:
            if clause not in takes:
                place = self.parts.window[clause].place
                raise self.wrong(place, f"{clause.upper()} means nothing in such a window")
        return window_of("CQL", **{name: size}, **beside)

    def _size(self) -> tuple[tuple[str, Any], Sequence[str]]:
        """Return the size as an argument of `window_of`, and the clauses that go with it."""
        said = self.said
        if "session" in said:
            return ("gap", said["session"]), ("timezone",)
        if self.session is not None:
            return ("gap", said["gap"]), ()
        for name, takes in (("gap", ()), ("on", ("slide",))):
            if name in said:
                condition = tree(self.parts.condition, self.parts.text)
                return (name, self.expression(condition)), takes
        if "until" in said:  # the policy speaks of results, which follow
            return ("until", bool), ("slide",)
        if "rows" in said or (UNBOUNDED in said and len(self.order) != 1):
            return ("rows", said.get("rows", UNBOUNDED)), ("slide", "gaps", "exclude")
        for name in ("range", "delta", "groups"):
            if name in said:
                return (name, said[name]), _BESIDE
        return ("range", next(word for word in (UNBOUNDED, NOW) if word in said)), _BESIDE

    def _session(self) -> Any:
        """Return the call in GROUP BY that makes sessions, as Spark and Flink write it, or None."""
        group = self.select.args.get("group")
        grouped = [] if group is None else group.expressions
        call = next((node for node in grouped if is_call(node)), None)
        if call is not None and self.parts.window:
            hint = "leave the bracket out, or write [SESSION 30 MINUTES] and GROUP BY without it"
            raise self.wrong(call, "a second window is not supported", hint)
        return call

    def _session_said(self, call: Any) -> dict[str, Any]:
        """Return what a call of SESSION_WINDOW says: the order column and the gap."""
        if len(call.expressions) != 2 or not isinstance(call.expressions[0], exp.Column):
            hint = "write SESSION_WINDOW(ts, '30 minutes')"
            raise self.wrong(call, f"{called(call)} takes (column, gap)", hint)
        column, node = call.expressions
        gap: Any
        if isinstance(node, exp.Literal):
            gap = self.constant(node)
            if node.is_string and not is_duration(gap):
                raise self.wrong(node, f"{gap!r} is not a duration", "write '30 minutes'")
        else:
            gap = interval_text(node) if node.key == "interval" else self.expression(node)
        return {"order": (self.own(column).name,), "gap": gap}

    def _partition(self) -> tuple[str, ...]:
        """Return the columns of PARTITION BY, or of GROUP BY where a window is a range."""
        keys: tuple[str, ...] = self.said.get("partition", ())
        group = self.select.args.get("group")
        if group is None:
            return keys
        grouped = []
        for node in group.expressions:
            if node is self.session:
                continue
            if not isinstance(node, exp.Column):
                raise self.wrong(node, "GROUP BY takes columns", "compute the column first")
            grouped.append(self.own(node).name)
        if not grouped and self.session is None:
            raise self.wrong(self.word("GROUP"), "GROUP BY takes columns")
        if keys and set(keys) != set(grouped):
            hint = "leave GROUP BY out: the results are those of each partition"
            raise self.wrong(group, "GROUP BY differs from PARTITION BY", hint)
        window = self.window
        decides = not window.measured and (window.conditions() or window.policy is not None)
        if not keys and (decides or window.reach_rows is not None):
            hint = f"write [PARTITION BY {', '.join(grouped)} …] for a window in each group"
            raise self.wrong(group, "GROUP BY goes with RANGE windows only", hint)
        return keys or tuple(dict.fromkeys(grouped))

    # -- results ----------------------------------------------------------------------------

    def _results(self) -> dict[str, Aggregation]:
        results: dict[str, Aggregation] = {}
        for item in self.select.expressions:
            node, alias = aliased(item)
            if node.key in AROUND:
                word, hint = AROUND[node.key]
                raise self.wrong(self.word(word.split()[0]), f"{word} is not supported", hint)
            if node.is_star:
                hint = "name the aggregations that are asked for"
                raise self.wrong(node, "* is not supported", hint)
            if isinstance(node, exp.Column):
                self._check_key(self.own(node).name, alias, item)
                continue
            part, name = self.aggregation(node)
            name = alias or name
            self.check_new(name, results, item)
            if name in self.partition:
                raise self.wrong(item, f"the result {name!r} has the name of a partition column")
            results[name] = part
        if not results:
            hint = "write SELECT MAX(load) AS peak"
            raise self.wrong(self.parts.words[0], "SELECT needs an aggregation", hint)
        return results

    def _check_key(self, name: str, alias: str, item: Any) -> None:
        """Refuse a plain column that the results do not have."""
        if name in self.partition or name in self.window.columns:
            if alias and alias != name:
                raise self.wrong(item, f"{name} keeps its name", "rename it in the result")
            return
        hint = f"aggregate it, as in LAST({name}), or PARTITION BY it"
        if self.window.per_row:
            hint = "leave it out: every row keeps its columns"
        raise self.wrong(item, f"{name} is neither an aggregation nor a partition column", hint)

    def _policy(self, results: dict[str, Aggregation]) -> TextPolicy:
        """Return the policy of UNTIL, a condition over results."""
        clause = exp.Where(this=tree(self.parts.condition, self.parts.text))
        self._name_results(clause, results, "UNTIL")
        check_policy(clause.this, self.parts.text, results)
        return TextPolicy(canonical(clause.this))

    def _name_results(self, clause: Any, results: dict[str, Aggregation], word: str) -> None:
        """Put the name of its result in the place of each aggregation."""
        calls = [below for below in clause.walk() if is_call(below)]
        outer = [call for call in calls if not isinstance(call.parent, exp.WithinGroup)]
        for node in [n.parent if isinstance(n.parent, exp.Filter) else n for n in outer]:
            part, _ = self.aggregation(node)
            name = next((name for name, other in results.items() if other == part), None)
            if name is None:
                problem = f"{node.sql().replace(MARK, '')} is not among the results"
                raise self.wrong(node, problem, f"{word} speaks of the results: add it to SELECT")
            node.replace(exp.column(exp.to_identifier(name, quoted=identifier(name) != name)))
