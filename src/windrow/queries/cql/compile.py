"""From the parts of a text to the query that it asks."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument, QuerySyntaxError
from windrow.queries.cql.calls import Calls, is_call
from windrow.queries.cql.errors import AROUND, CLAUSES, INNER, NO_WINDOW, wrong
from windrow.queries.cql.parser import MARK, Parsed, parsed
from windrow.queries.query import Query
from windrow.queries.syntax import identifier, tree
from windrow.windows.base import Window
from windrow.windows.kinds import window_of
from windrow.windows.sizes import NOW, UNBOUNDED

_UNDERSTOOD = ("expressions", "from_", "where", "group", "having")
# What an answer of hopping windows has beside its results and keys.


def compiled(text: str) -> Query:
    """The query that a text of CQL asks."""
    return _Compiler(parsed(text)).query()


class _Compiler:
    """One text on its way to a query."""

    def __init__(self, parts: Parsed) -> None:
        self.parts = parts
        self.select = parts.tree
        self.source, *alias = self._stream()
        self._check_clauses()
        self.calls = Calls(parts.text, [self.source, *alias])
        self.said = {name: clause.value for name, clause in parts.window.items()}
        self.order: tuple[str, ...] = self.said.get("order", ())

    def query(self) -> Query:
        """The query, its parts checked one after the other."""
        window = self._window()
        partition = self._partition(window)
        results = self._results(window, partition)
        where, having = (self.select.args.get(name) for name in ("where", "having"))
        try:
            return Query(
                window,
                tuple(results.items()),
                partition,
                self.order,
                None if where is None else self.calls.expression(where.this),
                None if having is None else self._having(having, results),
                self.parts.emit,
                self.said.get("lateness"),
                self.source,
            )
        except QuerySyntaxError:
            raise
        except InvalidArgument as error:
            raise self._wrong(self.parts.bracket, str(error)) from None

    def _wrong(self, where: Any, problem: str, hint: str = "") -> QuerySyntaxError:
        return wrong(self.parts.text, where, problem, hint)

    # -- what is left out of SQL ------------------------------------------------------------

    def _stream(self) -> list[str]:
        """The name after FROM, and its other name if it has one."""
        if not isinstance(self.select, exp.Select):
            word = self.select.key.upper()
            raise self._wrong(self._word(word), f"{word} is not supported", INNER)
        begin = self.select.args.get("from_")
        if begin is None:
            hint = "write FROM calls [RANGE 1 HOUR]"
            raise self._wrong(self.parts.words[-1], "FROM is missing", hint)
        table = begin.this
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            raise self._wrong(table, "FROM takes the name of a stream", INNER)
        if not {name for name, value in table.args.items() if value} <= {"this", "alias"}:
            raise self._wrong(table, "FROM takes one name, and nothing after it but the window")
        if not self.parts.window:
            raise self._wrong(table, "the stream has no window", NO_WINDOW)
        return [table.name, table.alias] if table.alias else [table.name]

    def _check_clauses(self) -> None:
        for name, value in self.select.args.items():
            if value and name not in _UNDERSTOOD:
                word, hint = CLAUSES.get(name, (name.strip("_").upper(), ""))
                raise self._wrong(self._word(word.split()[0]), f"{word} is not supported", hint)

    def _word(self, word: str) -> Any:
        """The token of a word; a comma between streams is a join as well."""
        words = self.parts.words
        if word == "JOIN":
            texts = [w.text.upper() for w in words]
            words, word = words[texts.index("FROM") :], "JOIN" if "JOIN" in texts else ","
        return next((w for w in words if w.text.upper().split()[:1] == [word]), words[0])

    # -- the window -------------------------------------------------------------------------

    def _window(self) -> Window:
        said = self.said
        beside = {name: said[name] for name in ("slide", "offset", "closed") if name in said}
        counts = "rows" in said or (UNBOUNDED in said and len(self.order) != 1)
        takes = () if "on" in said else ("slide",) if counts else tuple(beside)
        for name in beside:
            if name not in takes:
                place = self.parts.window[name].place
                raise self._wrong(place, f"{name.upper()} means nothing in such a window")
        try:
            if "on" in said:
                condition = tree(self.parts.condition, self.parts.text)
                return window_of("CQL", on=self.calls.expression(condition))
            if counts:
                return window_of("CQL", rows=said.get("rows", UNBOUNDED), **beside)
            if "delta" in said:
                return window_of("CQL", delta=said["delta"], **beside)
            size = next((word for word in (UNBOUNDED, NOW) if word in said), said.get("range"))
            return window_of("CQL", range=size, **beside)
        except QuerySyntaxError:
            raise
        except InvalidArgument as error:
            raise self._wrong(self.parts.bracket, str(error)) from None

    def _partition(self, window: Window) -> tuple[str, ...]:
        """The columns of PARTITION BY; GROUP BY says the same where a window is a range."""
        keys: tuple[str, ...] = self.said.get("partition", ())
        group = self.select.args.get("group")
        if group is None:
            return keys
        grouped = []
        for node in group.expressions:
            if not isinstance(node, exp.Column):
                raise self._wrong(node, "GROUP BY takes columns", "compute the column first")
            grouped.append(self.calls.own(node).name)
        if not grouped:
            raise self._wrong(self._word("GROUP"), "GROUP BY takes columns")
        if keys and set(keys) != set(grouped):
            hint = "leave GROUP BY out: the answers are those of each partition"
            raise self._wrong(group, "GROUP BY differs from PARTITION BY", hint)
        if not keys and (window.conditions() or window.reach_rows is not None):
            hint = f"write [PARTITION BY {', '.join(grouped)} …] for a window in each group"
            raise self._wrong(group, "GROUP BY goes with RANGE windows only", hint)
        return keys or tuple(dict.fromkeys(grouped))

    # -- results ----------------------------------------------------------------------------

    def _results(self, window: Window, partition: tuple[str, ...]) -> dict[str, Aggregation]:
        results: dict[str, Aggregation] = {}
        for item in self.select.expressions:
            node, alias = (item.this, item.alias) if isinstance(item, exp.Alias) else (item, "")
            if node.key in AROUND:
                word, hint = AROUND[node.key]
                raise self._wrong(self._word(word.split()[0]), f"{word} is not supported", hint)
            if node.is_star:
                hint = "name the aggregations that are asked for"
                raise self._wrong(node, "* is not supported", hint)
            if isinstance(node, exp.Column):
                self._check_key(self.calls.own(node).name, alias, item, window, partition)
                continue
            part, name = self.calls.aggregation(node)
            name = alias or name
            if name in results:
                problem = f"the name {name!r} is given to 2 results"
                raise self._wrong(item, problem, "name it with AS")
            if name in partition:
                raise self._wrong(item, f"the result {name!r} has the name of a partition column")
            results[name] = part
        if not results:
            hint = "write SELECT MAX(load) AS peak"
            raise self._wrong(self.parts.words[0], "SELECT needs an aggregation", hint)
        return results

    def _check_key(
        self, name: str, alias: str, item: Any, window: Window, partition: tuple[str, ...]
    ) -> None:
        """Refuse a plain column that the answers do not have."""
        if name in partition or name in window.columns:
            if alias and alias != name:
                raise self._wrong(item, f"{name} keeps its name", "rename it in the answers")
            return
        hint = f"aggregate it, as in LAST({name}), or PARTITION BY it"
        if window.per_row:
            hint = "leave it out: every row keeps its columns"
        raise self._wrong(item, f"{name} is neither an aggregation nor a partition column", hint)

    def _having(self, clause: Any, results: dict[str, Aggregation]) -> str:
        """The condition over answers, each aggregation in it replaced by the name of its result."""
        for node in [below for below in clause.walk() if is_call(below)]:
            part, _ = self.calls.aggregation(node)
            name = next((name for name, other in results.items() if other == part), None)
            if name is None:
                problem = f"{node.sql().replace(MARK, '')} is not among the results"
                raise self._wrong(node, problem, "HAVING speaks of the answers: add it to SELECT")
            node.replace(exp.column(exp.to_identifier(name, quoted=identifier(name) != name)))
        return self.calls.expression(clause.this)
