"""From the parts of a text to the query that it asks."""

from __future__ import annotations

import difflib
import functools
import re
from typing import Any

from sqlglot import exp

from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument, QuerySyntaxError, did_you_mean
from windrow.queries.cql.errors import (
    AROUND,
    CLAUSES,
    INNER,
    INSIDE,
    NO_WINDOW,
    OF_RESULTS,
    wrong,
)
from windrow.queries.cql.functions import FILTERED, FUNCTIONS, REFUSED, Filtered, Function
from windrow.queries.cql.parser import MARK, Parsed, parsed
from windrow.queries.expressions import FUNCTIONS as SCALARS
from windrow.queries.expressions import canonical, check, is_expression, normal, parse
from windrow.queries.policies import TextPolicy, check_policy
from windrow.queries.query import Query
from windrow.queries.syntax import identifier, tree
from windrow.windows.base import Window
from windrow.windows.kinds import window_of
from windrow.windows.sizes import NOW, UNBOUNDED

_BESIDE = ("slide", "offset", "closed", "gaps", "exclude")  # what a window may say besides its size
_UNDERSTOOD = ("expressions", "from_", "where", "group", "having")


def compiled(text: str) -> Query:
    """The query that a text of CQL asks."""
    parts = parsed(text)
    try:
        return _Compiler(parts).query()
    except QuerySyntaxError:
        raise
    except InvalidArgument as error:
        raise wrong(text, parts.bracket, str(error)) from None


class _Compiler:
    """One text on its way to a query."""

    def __init__(self, parts: Parsed) -> None:
        self.parts = parts
        self.wrong = functools.partial(wrong, parts.text)
        self.select = parts.tree
        self.names = self._stream()  # of the stream
        self._check_clauses()
        self.said = {name: clause.value for name, clause in parts.window.items()}
        self.order: tuple[str, ...] = self.said.get("order", ())

    def query(self) -> Query:
        """The query, its parts checked one after the other."""
        self.window = self._window()
        self.partition = self._partition()
        results = self._results()
        if "until" in self.said:
            self.window = window_of(
                "CQL", until=self._policy(results), slide=self.said.get("slide")
            )
        where, having = (self.select.args.get(name) for name in ("where", "having"))
        return Query(
            self.window,
            tuple(results.items()),
            self.partition,
            self.order,
            None if where is None else self._expression(where.this),
            None if having is None else self._having(having, results),
            self.parts.emit,
            self.said.get("lateness"),
            self.names[0],
            self.said.get("min_rows"),
        )

    # -- what is left out of SQL ------------------------------------------------------------

    def _stream(self) -> list[str]:
        """The name after FROM, and its other name if it has one."""
        if not isinstance(self.select, exp.Select):
            word = self.select.key.upper()
            raise self.wrong(self._word(word), f"{word} is not supported", INNER)
        begin = self.select.args.get("from_")
        if begin is None:
            hint = "write FROM calls [RANGE 1 HOUR]"
            raise self.wrong(self.parts.words[-1], "FROM is missing", hint)
        table = begin.this
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            raise self.wrong(table, "FROM takes the name of a stream", INNER)
        if not {name for name, value in table.args.items() if value} <= {"this", "alias"}:
            raise self.wrong(table, "FROM takes one name, and nothing after it but the window")
        if not self.parts.window:
            raise self.wrong(table, "the stream has no window", NO_WINDOW)
        return [table.name, table.alias] if table.alias else [table.name]

    def _check_clauses(self) -> None:
        for name, value in self.select.args.items():
            if value and name not in _UNDERSTOOD:
                word, hint = CLAUSES.get(name, (name.strip("_").upper(), ""))
                raise self.wrong(self._word(word.split()[0]), f"{word} is not supported", hint)

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
        beside = {name: said[name] for name in _BESIDE if name in said}
        if beside.get("exclude") == "no others":
            del beside["exclude"]
        counts = "rows" in said or (UNBOUNDED in said and len(self.order) != 1)
        takes = tuple(beside)
        if "on" in said or "until" in said:
            takes = ("slide",)
        elif counts:
            takes = ("slide", "gaps", "exclude")
        for name in beside:
            if name not in takes:
                place = self.parts.window[name].place
                raise self.wrong(place, f"{name.upper()} means nothing in such a window")
        if "on" in said:
            condition = tree(self.parts.condition, self.parts.text)
            return window_of("CQL", on=self._expression(condition), **beside)
        if "until" in said:  # the policy speaks of results, which follow
            return window_of("CQL", until=bool, **beside)
        if counts:
            return window_of("CQL", rows=said.get("rows", UNBOUNDED), **beside)
        for name in ("delta", "groups"):
            if name in said:
                return window_of("CQL", **{name: said[name]}, **beside)
        size = next((word for word in (UNBOUNDED, NOW) if word in said), said.get("range"))
        return window_of("CQL", range=size, **beside)

    def _partition(self) -> tuple[str, ...]:
        """The columns of PARTITION BY; GROUP BY says the same where a window is a range."""
        keys: tuple[str, ...] = self.said.get("partition", ())
        group = self.select.args.get("group")
        if group is None:
            return keys
        grouped = []
        for node in group.expressions:
            if not isinstance(node, exp.Column):
                raise self.wrong(node, "GROUP BY takes columns", "compute the column first")
            grouped.append(self._own(node).name)
        if not grouped:
            raise self.wrong(self._word("GROUP"), "GROUP BY takes columns")
        if keys and set(keys) != set(grouped):
            hint = "leave GROUP BY out: the results are those of each partition"
            raise self.wrong(group, "GROUP BY differs from PARTITION BY", hint)
        decides = self.window.conditions() or self.window.policy is not None
        if not keys and (decides or self.window.reach_rows is not None):
            hint = f"write [PARTITION BY {', '.join(grouped)} …] for a window in each group"
            raise self.wrong(group, "GROUP BY goes with RANGE windows only", hint)
        return keys or tuple(dict.fromkeys(grouped))

    # -- results ----------------------------------------------------------------------------

    def _results(self) -> dict[str, Aggregation]:
        results: dict[str, Aggregation] = {}
        for item in self.select.expressions:
            node, alias = (item.this, item.alias) if isinstance(item, exp.Alias) else (item, "")
            if node.key in AROUND:
                word, hint = AROUND[node.key]
                raise self.wrong(self._word(word.split()[0]), f"{word} is not supported", hint)
            if node.is_star:
                hint = "name the aggregations that are asked for"
                raise self.wrong(node, "* is not supported", hint)
            if isinstance(node, exp.Column):
                self._check_key(self._own(node).name, alias, item)
                continue
            part, name = self._aggregation(node)
            name = alias or name
            if name in results:
                problem = f"the name {name!r} is given to 2 results"
                raise self.wrong(item, problem, "name it with AS")
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

    def _having(self, clause: Any, results: dict[str, Aggregation]) -> str:
        """The condition over results, each aggregation in it replaced by the name of its result."""
        self._name_results(clause, results, "HAVING")
        return self._expression(clause.this)

    def _policy(self, results: dict[str, Aggregation]) -> TextPolicy:
        """The policy of UNTIL, a condition over results."""
        clause = exp.Where(this=tree(self.parts.condition, self.parts.text))
        self._name_results(clause, results, "UNTIL")
        check_policy(clause.this, self.parts.text, results)
        return TextPolicy(canonical(clause.this))

    def _name_results(self, clause: Any, results: dict[str, Aggregation], word: str) -> None:
        """Put the name of its result in the place of each aggregation."""
        calls = [below for below in clause.walk() if _is_call(below)]
        asked = [call for call in calls if not isinstance(call.parent, exp.WithinGroup)]
        for node in [n.parent if isinstance(n.parent, exp.Filter) else n for n in asked]:
            part, _ = self._aggregation(node)
            name = next((name for name, other in results.items() if other == part), None)
            if name is None:
                problem = f"{node.sql().replace(MARK, '')} is not among the results"
                raise self.wrong(node, problem, f"{word} speaks of the results: add it to SELECT")
            node.replace(exp.column(exp.to_identifier(name, quoted=identifier(name) != name)))

    # -- expressions ------------------------------------------------------------------------

    def _own(self, node: Any) -> Any:
        """The node, the name of the stream taken from before its columns."""
        known = [name.lower() for name in self.names]
        for column in node.find_all(exp.Column):
            if column.table and column.table.lower() not in known:
                hint = f"the stream is {self.names[-1]}"
                raise self.wrong(column, f"{column.table} is not the stream", hint)
            column.set("table", None)
        return node

    def _expression(self, node: Any) -> str:
        """The canonical text of a node that engines know."""
        return canonical(check(self._own(node), self.parts.text))

    def _column(self, node: Any) -> str:
        """The text of what is aggregated: a column by its bare name, if that means nothing else."""
        text = self._expression(node)
        if not isinstance(node, exp.Column):
            return text
        name = str(node.name)
        if not is_expression(name):
            return name
        try:
            parse(name)
        except InvalidArgument:
            return name
        return text

    # -- calls ------------------------------------------------------------------------------

    def _aggregation(self, node: Any) -> tuple[Aggregation, str]:
        """The aggregation that a call asks for, and the name of its results if it has no other."""
        if isinstance(node, exp.Filter):
            part, name = self._aggregation(node.this)
            return part.where(self._expression(node.expression.this)), name
        if not _is_call(node):
            if any(_is_call(below) for below in node.walk()):
                raise self.wrong(node, "a result is one aggregation, alone", OF_RESULTS)
            raise self.wrong(node, "this is not an aggregation", "write SELECT MAX(load) AS peak")
        node = self._ungrouped(node)
        written = node.name.removeprefix(MARK)
        if written.upper() in FILTERED:
            return self._filtered(node, written, FILTERED[written.upper()])
        function = FUNCTIONS.get(written.upper())
        if function is None:
            raise self.wrong(node, f"{written} is no aggregation", _instead(written.upper()))
        function, given = self._counted(written, function, node.expressions)
        columns, constants = self._arguments(node, written, function, given)
        names = [re.sub(r"\W+", "_", text).strip("_") for text in columns]
        ordered = reversed(columns) if function.turned else columns
        try:
            made = function.make(*ordered, **constants)
        except InvalidArgument as error:
            raise self.wrong(node, str(error)) from None
        return made, "_".join([written, *names]).lower()

    def _filtered(self, node: Any, written: str, filtered: Filtered) -> tuple[Aggregation, str]:
        """COUNT_IF(load > 3) as COUNT(*) FILTER (WHERE load > 3), and the like."""
        given = node.expressions
        if len(given) != filtered.arity or any(argument.key in INSIDE for argument in given):
            words = ["condition"] if filtered.column is None else ["column"] * filtered.arity
            raise self.wrong(node, f"{written} takes ({', '.join(words)})")
        columns = [] if filtered.column is None else [self._column(given[filtered.column])]
        texts = [self._expression(argument) for argument in given]
        pairs = zip(given, texts, strict=True)
        plain = [t if isinstance(a, exp.Column | exp.Predicate) else f"({t})" for a, t in pairs]
        condition = normal(filtered.condition.format(*plain), "where")
        names = [re.sub(r"\W+", "_", text).strip("_") for text in texts]
        made = FUNCTIONS[filtered.name.upper()].make(*columns)
        return made.where(condition), "_".join([written, *names]).lower()

    def _ungrouped(self, node: Any) -> Any:
        """MODE() WITHIN GROUP (ORDER BY x) as MODE(x); any other call as it is."""
        if not isinstance(node, exp.WithinGroup):
            return node
        ordered = node.expression.expressions
        if len(ordered) != 1 or ordered[0].args.get("desc"):
            raise self.wrong(node, "WITHIN GROUP takes (ORDER BY column), one column, ascending")
        node.this.set("expressions", [ordered[0].this, *node.this.expressions])
        return node.this

    def _counted(self, written: str, function: Function, given: Any) -> tuple[Function, Any]:
        """COUNT(*) reads no column, COUNT(DISTINCT x) is another aggregation."""
        if written.upper() == "COUNT" and len(given) == 1:
            if isinstance(given[0], exp.Star | exp.Literal):
                return Function(function.make, 0, ()), []
            if isinstance(given[0], exp.Distinct):
                return FUNCTIONS["COUNTDISTINCT"], given[0].expressions
        return function, given

    def _arguments(
        self, node: Any, written: str, function: Function, given: Any
    ) -> tuple[list[str], dict[str, Any]]:
        """The columns of a call, and its constants by name."""
        named = [argument for argument in given if isinstance(argument, exp.Kwarg)]
        plain = [argument for argument in given if not isinstance(argument, exp.Kwarg)]
        columns, rest = plain[: function.arity], plain[function.arity :]
        for argument in plain:
            if argument.key in INSIDE:
                word, hint = INSIDE[argument.key]
                raise self.wrong(argument, f"{word} is not supported in {written}(…)", hint)
        constants = dict(function.fixed)
        for word, value in zip(function.parameters, rest, strict=False):
            constants[word] = self._constant(value)
        for argument in named:
            word = argument.this.name.lower()
            if word not in function.parameters:
                hint = did_you_mean(word, function.parameters) if function.parameters else ""
                raise self.wrong(node, f"{written} has no parameter {word!r}", hint)
            constants[word] = self._constant(argument.expression)
        enough = len(columns) == function.arity and function.needed <= set(constants)
        if not enough or len(rest) > len(function.parameters):
            words = ["column"] * function.arity + [word.upper() for word in function.parameters]
            raise self.wrong(node, f"{written} takes ({', '.join(words)})")
        return [self._column(column) for column in columns], constants

    def _constant(self, node: Any) -> Any:
        """The value of Python that a constant stands for."""
        if isinstance(node, exp.Array | exp.Tuple):
            return tuple(self._constant(part) for part in node.expressions)
        if isinstance(node, exp.Paren):
            return self._constant(node.this)
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
            return -self._constant(node.this)
        if isinstance(node, exp.Boolean):
            return bool(node.this)
        if not isinstance(node, exp.Literal):
            raise self.wrong(node, "a constant is expected here")
        if node.is_string:
            return node.this
        return int(node.this) if node.this.isdecimal() else float(node.this)


def _instead(name: str) -> str:
    """What may have been meant by a name that is no aggregation's."""
    if name in REFUSED:
        return REFUSED[name]
    known = sorted([*FUNCTIONS, *FILTERED])
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    if near:
        return f"did you mean {near[0]}?"
    if name in SCALARS:
        return f"it goes into an aggregation, as in MAX({name}(load)), or to the results"
    return f"known: {', '.join(known)}"


def _is_call(node: Any) -> bool:
    """Whether a node is a call of what may be an aggregation."""
    if isinstance(node, exp.WithinGroup):
        return _is_call(node.this)
    return isinstance(node, exp.Anonymous) and node.name.startswith(MARK)
