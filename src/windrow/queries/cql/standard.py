"""From a text of standard SQL to the steps that it consists of.

Every OVER becomes a column of a query over one of windrow's own windows, which the expressions
around it then read: ``MAX(x) OVER w - MIN(x) OVER w`` is ``__windrow_0 - __windrow_1``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument, InvalidValue, QuerySyntaxError
from windrow.queries.cql.calls import (
    Calls,
    aliased,
    called,
    instead,
    is_call,
    narrowed,
    result_name,
)
from windrow.queries.cql.functions import FILTERED
from windrow.queries.cql.functions import FUNCTIONS as AGGREGATIONS
from windrow.queries.cql.nested import statements
from windrow.queries.cql.over import Overs
from windrow.queries.cql.parser import Parsed, parsed
from windrow.queries.cql.window_functions import FUNCTIONS, Over, WindowFunction
from windrow.queries.query import Query
from windrow.queries.select import Columns, Select, SortKey, Stage, Steps
from windrow.queries.syntax import tokens, tree, wrong
from windrow.windows.base import Window
from windrow.windows.kinds import window_of
from windrow.windows.sizes import UNBOUNDED

_WHOLE = window_of("SQL", rows=(UNBOUNDED, UNBOUNDED))


@dataclass(frozen=True)
class _Results:
    """The columns that a statement gives, before their types are known."""

    names: Sequence[str]

    def family(self, text: str) -> str:
        return "number"  # any could be one

    def check(self, part: Aggregation) -> None:
        """Take any, as nothing is known of the columns."""


def select_of(parts: Parsed) -> Select:
    """Return the statement of a text, checked as far as it can be without a frame."""
    if parts.emit != "rstream":
        hint = "write FROM calls [ROWS 100], and no OVER"
        problem = f"{parts.emit.upper()} goes with a window in brackets"
        raise wrong(parts.text, parts.words[0], problem, hint)
    nested = statements(parts)
    columns: Columns | None = None
    sources = []
    for each in nested:
        steps, source = _steps(parts, each, columns)
        sources.append(source)
        names = [name for name, _ in steps.results]
        columns = None if "*" in names else _Results(names)
    return Select(parts.text, sources[0], len(nested) - 1)


def steps_of(text: str, inside: int, columns: Columns | None) -> Steps:
    """Return what a statement with so many `inside` it does to a frame of these columns.

    None for any columns that it names.
    """
    parts = parsed(text)
    return _steps(parts, statements(parts)[inside], columns)[0]


def _steps(parts: Parsed, select: Any, columns: Columns | None) -> tuple[Steps, str]:
    compiler = _Compiler(parts, select, columns)
    try:
        return compiler.steps(), compiler.names[0]
    except QuerySyntaxError:
        raise
    except InvalidArgument as error:
        raise wrong(parts.text, compiler.at, str(error)) from None


class _Compiler(Overs):
    """One statement on its way to its steps."""

    def __init__(self, parts: Parsed, select: Any, columns: Columns | None) -> None:
        super().__init__(parts, select, columns)
        self.at: Any = self.select.args["from_"].this  # what errors without a place are about
        self._aliases: dict[str, Any] = {}
        self.groups = self._groups()

    def steps(self) -> Steps:
        """Return the steps, one clause after the other."""
        distinct = self.select.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            hint = "QUALIFY ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) = 1 keeps one row of each"
            raise self.wrong(self.word("DISTINCT"), "DISTINCT ON is not supported", hint)
        clauses = ("where", "having" if self.groups else "qualify", "order")
        where, chooses, order = (self.select.args.get(name) for name in clauses)
        where_text = None if where is None else self._condition(where)
        results = self._results()
        chosen = None if chooses is None else self._result(chooses.this)
        sorting = () if order is None else order.expressions
        keys = [self._sort_key(node, results) for node in sorting]
        limit, offset = (self._number(self.select.args.get(n)) for n in ("limit", "offset"))
        return Steps(
            where_text,
            self._stages(),
            chosen,
            tuple(keys),
            offset or 0,
            limit,
            tuple(results.items()),
            tuple(results.values() if distinct is not None else self._group_keys()),
        )

    # -- GROUP BY ---------------------------------------------------------------------------

    def _groups(self) -> list[Any]:
        """Return what GROUP BY names: columns, expressions, and results by names or numbers."""
        clause = self.select.args.get("group")
        if clause is None:
            self._refuse("having", "QUALIFY chooses among the results of windows")
            return []
        self._refuse("qualify", "HAVING chooses among groups")
        if any(value for name, value in clause.args.items() if name not in ("expressions", "all")):
            raise self.wrong(clause, "GROUP BY takes columns and expressions")
        items = [aliased(item) for item in self.select.expressions]
        if clause.args.get("all"):
            return [node for node, _ in items if not any(map(is_call, node.walk()))]
        known = () if self.columns is None else map(str.lower, self.columns.names)
        named = {alias.lower(): node for node, alias in items if alias}
        named = {alias: node for alias, node in named.items() if alias not in set(known)}
        groups = []
        for node in clause.expressions:
            if isinstance(node, exp.Literal) and not node.is_string:
                groups.append(items[self._numbered(node, len(items))][0])
            else:
                groups.append(named.get(node.name.lower(), node) if node.key == "column" else node)
        return groups

    def _refuse(self, clause: str, hint: str) -> None:
        if self.select.args.get(clause) is not None:
            raise self.wrong(self.word(clause.upper()), f"{clause.upper()} is not supported", hint)

    def _group_keys(self) -> list[str]:
        return [self.column(node.copy()) for node in self.groups]

    def _grouped(self, node: Any, keys: Sequence[str]) -> Any:
        """Return the node with each aggregation over the rows of its group."""
        if is_call(node.this if isinstance(node, exp.Filter) else node):
            return exp.Window(this=node.copy(), partition_by=[each.copy() for each in self.groups])
        if not any(map(is_call, node.walk())) and self.column(node.copy()) in keys:
            return node
        if isinstance(node, exp.Column) and self.columns is not None:
            hint = f"group by it, or write ANY_VALUE({node.name})"
            raise self.wrong(node, f"{node.name} is neither in GROUP BY nor aggregated", hint)
        for child in list(node.iter_expressions()):
            grouped = self._grouped(child, keys)
            if grouped is not child:
                child.replace(grouped)
        return node

    # -- clauses ----------------------------------------------------------------------------

    def _condition(self, where: Any) -> str:
        inner = where.find(exp.Window)
        if inner is not None:
            hint = "QUALIFY chooses among the results"
            raise self.wrong(inner, "WHERE comes before all windows", hint)
        self.check_over(where)
        return self.expression(where.this)

    def _results(self) -> dict[str, str]:
        """Return the columns that come out, by their names."""
        results: dict[str, str] = {}
        for item in self.select.expressions:
            node, alias = aliased(item)
            if node.is_star:
                if self.groups:
                    raise self.wrong(node, "* does not go with GROUP BY", "name what is grouped by")
                texts = self._starred(node)
            else:
                texts = {alias or self._name_of(node): self._result(node)}
            for name, text in texts.items():
                self.check_new(name, results, item)
                results[name] = text
            if alias:
                self._aliases[alias.lower()] = self._expanded(node)
        return results

    def _starred(self, node: Any) -> dict[str, str]:
        """Return the columns of *, those of EXCEPT left out and those of REPLACE computed."""
        star = node.this if isinstance(node, exp.Column) else node
        if any(star.args.get(name) for name in ("rename", "ilike")):
            raise self.wrong(node, "* goes with EXCEPT and REPLACE", "or list the columns")
        if isinstance(node, exp.Column):
            Calls.own(self, exp.column("*", table=node.args["table"].copy()))
        without = [str(self.own(each.copy()).name) for each in star.args.get("except_") or ()]
        names = ["*"] if self.columns is None else self.columns.names
        texts = {name: name for name in names if name not in without}
        for item in star.args.get("replace") or ():
            value, name = aliased(item)
            texts[str(self.own(exp.column(name)).name)] = self._result(value)
        return texts

    def _name_of(self, node: Any) -> str:
        """Return the name of a result without AS: a column's, or that of a call and its columns."""
        if isinstance(node, exp.Column):
            return str(self.own(node.copy()).name)
        call = node.this if node.key == "window" else node
        while isinstance(call, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
            call = call.this
        if not is_call(call):
            raise self.wrong(node, "a result that is computed needs a name", "write … AS name")
        arguments = call.args.get("expressions") or ()
        return result_name(called(call), [a.sql() for a in arguments if a.find(exp.Column)])

    def _sort_key(self, node: Any, results: dict[str, str]) -> SortKey:
        """Return a key of ORDER BY: a result by its name or number, or an expression."""
        key = node.this
        named = {name.lower(): text for name, text in results.items()}
        if isinstance(key, exp.Literal) and not key.is_string:
            text = list(results.values())[self._numbered(key, len(results))]
        elif isinstance(key, exp.Column) and not key.table and key.name.lower() in named:
            text = named[key.name.lower()]
        else:
            text = self._result(key)
        if self.select.args.get("distinct") and text not in results.values():
            raise self.wrong(key, "SELECT DISTINCT is put in order by its results alone")
        return SortKey(text, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))

    def _numbered(self, node: Any, count: int) -> int:
        """Return the place of the result that ORDER BY 1 or GROUP BY 1 means."""
        number = self.constant(node)
        if not isinstance(number, int) or not 0 < number <= count:
            raise self.wrong(node, f"there are {count} columns, and no {number}th")
        return number - 1

    def _number(self, clause: Any) -> int | None:
        """Return the number of LIMIT or OFFSET."""
        if clause is None:
            return None
        value = self.constant(clause.expression) if clause.args.get("expression") else None
        if not isinstance(value, int) or value < 0:
            word = clause.key.upper()
            raise self.wrong(self.word(word), f"{word} takes a whole number of 0 or more")
        return value

    # -- expressions ------------------------------------------------------------------------

    def _result(self, node: Any) -> str:
        """Return the text of an expression over columns, aliases and windows."""
        whole = exp.Paren(this=self._expanded(node))
        if self.groups:
            whole.set("this", self._grouped(whole.this, self._group_keys()))
        for over in list(whole.find_all(exp.Window)):
            inner = next((node for node in over.find_all(exp.Window) if node is not over), None)
            if inner is not None:
                hint = "give the inner result a name in a statement of its own, and read that"
                raise self.wrong(inner, "a window over another's result is not supported", hint)
            self.at = over
            text = self._over(over)
            result = tree(tokens(text), text)
            for part in result.walk():
                part.meta.clear()  # its places are not those of the statement
            over.replace(result if isinstance(result, exp.Column) else exp.Paren(this=result))
        self.check_over(whole)
        self.at = node
        return self.column(whole.this)

    def _expanded(self, node: Any) -> Any:
        """Return a copy of the node in which names of earlier results are what they stand for.

        A column of the frame comes first; where it is not known, every name may be one.
        """
        whole = exp.Paren(this=node.copy())
        if self.columns is None:
            return whole.this
        known = {name.lower() for name in self.columns.names}
        for column in list(whole.find_all(exp.Column)):
            name = column.name.lower()
            if not column.table and name in self._aliases and name not in known:
                column.replace(exp.Paren(this=self._aliases[name].copy()))
        return whole.this

    # -- windows ----------------------------------------------------------------------------

    def _over(self, node: Any) -> str:
        """Return the expression over results that a call with OVER stands for."""
        rows, frame = self.rows_and_frame(node)
        call, arguments, condition, ignores_nulls = self._call(node.this)
        name = called(call).upper() if is_call(call) else ""
        function = FUNCTIONS.get(name)
        at_end = function is not None and function.values and function.most == 1
        if at_end and len(arguments) == 2:  # FIRST_VALUE(x, true)
            ignores_nulls = bool(self.constant(arguments.pop())) or ignores_nulls
        if function is not None and function.least <= len(arguments) <= function.most:
            if condition is not None:
                hint = f"write {name}(CASE WHEN … THEN x END)"
                raise self.wrong(call, f"FILTER goes with aggregations, and {name} is none", hint)
            if ignores_nulls and not function.values:
                raise self.wrong(call, f"{name} looks at no values", "leave IGNORE NULLS out")
            over = Over(self, rows, frame, bool(ignores_nulls))
            self.check_inside(name, arguments)
            return function.make(over, *self._arguments_of(function, arguments))
        if name and name not in AGGREGATIONS and name not in FILTERED:
            raise self.wrong(call, f"{name} is no function over windows", instead(name, *FUNCTIONS))
        if ignores_nulls is not None:
            hint = "aggregations skip nulls; leave it out"
            raise self.wrong(call, "IGNORE and RESPECT NULLS go with values of single rows", hint)
        if isinstance(call, exp.Anonymous):
            call.set("expressions", arguments)
        part = self.aggregation(call)[0]
        if self.columns is not None:
            try:
                self.columns.check(part if condition is None else narrowed(part, condition))
            except InvalidValue as error:
                raise self.wrong(call, str(error)) from None
        return self.use(rows, frame, part, condition)

    def _call(self, node: Any) -> tuple[Any, list[Any], str | None, bool | None]:
        """Return the call before OVER, its arguments, its FILTER, and whether it ignores nulls.

        The last is None where neither IGNORE nor RESPECT NULLS is written.
        """
        condition, ignores = None, None
        while isinstance(node, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
            if isinstance(node, exp.Filter):
                condition = self.expression(node.expression.this)
            else:
                ignores = isinstance(node, exp.IgnoreNulls)
            node = node.this
        arguments = list(node.args.get("expressions") or ())
        for i, argument in enumerate(arguments):  # LAG(x IGNORE NULLS)
            if isinstance(argument, exp.IgnoreNulls | exp.RespectNulls):
                arguments[i], ignores = argument.this, isinstance(argument, exp.IgnoreNulls)
        return node, arguments, condition, ignores

    def _arguments_of(self, function: WindowFunction, nodes: Sequence[Any]) -> list[Any]:
        """Return the arguments of a window function: a column, constants, and an expression."""
        values = [self.column(nodes[0])] if function.values and nodes else []
        constants = nodes[len(values) : len(values) + 1]
        rest = nodes[len(values) + 1 :]
        return [*values, *map(self.constant, constants), *map(self.expression, rest)]

    def _stages(self) -> tuple[Stage, ...]:
        """Return the stages: each has the windows that look at the same rows in the same order."""
        windows_of: dict[Any, dict[Window, list[tuple[str, Aggregation]]]] = {}
        for use, name in sorted(self.uses.items(), key=lambda item: not item[0].order):
            rows = use.level, use.partition, use.order
            if not use.order and use.window == _WHOLE and use.part.commutative:  # in any order
                rows = next((key for key in windows_of if key[:2] == rows[:2]), rows)
            windows_of.setdefault(rows, {}).setdefault(use.window, []).append((name, use.part))
        stages: list[Stage] = []
        started = set()  # the first stage of a level computes the columns for all of the level
        for level, partition, order in sorted(windows_of, key=lambda rows: rows[0]):
            columns = [] if level in started else list(self.keys.items())
            computed = [(name, text) for (at, text), name in columns if at == level]
            started.add(level)
            windows = windows_of[level, partition, order].items()
            queries = [Query(w, tuple(parts), partition, order) for w, parts in windows]
            stages.append(Stage(tuple(computed), tuple(queries)))
        return tuple(stages)
