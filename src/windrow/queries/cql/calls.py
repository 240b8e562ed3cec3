"""What CQL and standard SQL write alike, FROM, expressions and calls, on the way to a query."""

from __future__ import annotations

import copy
import difflib
import functools
import re
from collections.abc import Collection, Iterable
from typing import Any

from sqlglot import exp

from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument, did_you_mean
from windrow.queries.cql.errors import CLAUSES, INNER, INSIDE, OF_RESULTS
from windrow.queries.cql.functions import FILTERED, FUNCTIONS, REFUSED, Filtered, Function
from windrow.queries.cql.parser import MARK, SESSIONS, Parsed
from windrow.queries.expressions import FUNCTIONS as SCALARS
from windrow.queries.expressions import canonical, check, is_expression, normal, parse
from windrow.queries.syntax import wrong


class Calls:
    """A text over one frame, whose expressions become text and whose calls aggregations."""

    understood: tuple[str, ...] = ()  # the clauses that there may be, by their names in the tree

    def __init__(self, parts: Parsed, select: Any) -> None:
        self.parts = parts
        self.wrong = functools.partial(wrong, parts.text)
        self.select = select
        self.names = self._source()

    # -- what is left out of SQL ------------------------------------------------------------

    def _source(self) -> list[str]:
        """Return the name after FROM, and its alias if it has one."""
        if not isinstance(self.select, exp.Select):
            word = self.select.key.upper()
            raise self.wrong(self.word(word), f"{word} is not supported", INNER)
        begin = self.select.args.get("from_")
        if begin is None:
            hint = "write FROM calls [RANGE 1 HOUR]"
            raise self.wrong(self.parts.words[-1], "FROM is missing", hint)
        table = begin.this
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            raise self.wrong(table, "FROM takes the name of a stream", INNER)
        if not {name for name, value in table.args.items() if value} <= {"this", "alias"}:
            raise self.wrong(table, "FROM takes one name, and nothing after it but the window")
        return [table.name, table.alias] if table.alias else [table.name]

    def check_clauses(self) -> None:
        """Refuse a clause that is not understood."""
        for name, value in self.select.args.items():
            if value and name not in self.understood:
                word, hint = CLAUSES.get(name, (name.strip("_").upper(), ""))
                raise self.wrong(self.word(word.split()[0]), f"{word} is not supported", hint)

    def word(self, word: str) -> Any:
        """Return the token of a word; a comma between streams counts as a JOIN."""
        words = self.parts.words
        if word == "JOIN":
            texts = [w.text.upper() for w in words]
            words, word = words[texts.index("FROM") :], "JOIN" if "JOIN" in texts else ","
        return next((w for w in words if w.text.upper().split()[:1] == [word]), words[0])

    def check_new(self, name: str, results: Collection[str], item: Any) -> None:
        """Refuse a second result of the same name."""
        if name in results:
            raise self.wrong(item, f"the name {name!r} is given to 2 results", "name it with AS")

    # -- expressions ------------------------------------------------------------------------

    def own(self, node: Any) -> Any:
        """Return the node, with the stream's name removed from before its columns."""
        known = [name.lower() for name in self.names]
        for column in node.find_all(exp.Column):
            if column.table and column.table.lower() not in known:
                hint = f"the stream is {self.names[-1]}"
                raise self.wrong(column, f"{column.table} is not the stream", hint)
            column.set("table", None)
        return node

    def expression(self, node: Any) -> str:
        """Return the canonical text of a node, if engines know all of it."""
        return canonical(check(self.own(node), self.parts.text))

    def column(self, node: Any) -> str:
        """Return the text of what is aggregated, a column by its bare name where that is clear."""
        text = self.expression(node)
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

    def aggregation(self, node: Any) -> tuple[Aggregation, str]:
        """Return the aggregation that a call means, and the name of its result without AS."""
        if isinstance(node, exp.Filter):
            part, name = self.aggregation(node.this)
            return narrowed(part, self.expression(node.expression.this)), name
        if not is_call(node):
            if any(is_call(below) for below in node.walk()):
                raise self.wrong(node, "a result is one aggregation, alone", OF_RESULTS)
            raise self.wrong(node, "this is not an aggregation", "write SELECT MAX(load) AS peak")
        node = self._ungrouped(node)
        written = called(node)
        if written.upper() in FILTERED:
            return self._filtered(node, written, FILTERED[written.upper()])
        function = FUNCTIONS.get(written.upper())
        if function is None:
            raise self.wrong(node, f"{written} is no aggregation", instead(written.upper()))
        function, arguments = self._counted(written, function, node.expressions)
        columns, constants = self._arguments(node, written, function, arguments)
        ordered = reversed(columns) if function.turned else columns
        try:
            part = function.make(*ordered, **constants)
        except InvalidArgument as error:
            raise self.wrong(node, str(error)) from None
        return part, result_name(written, columns)

    def _filtered(self, node: Any, written: str, filtered: Filtered) -> tuple[Aggregation, str]:
        """Return COUNT_IF(load > 3) as COUNT(*) FILTER (WHERE load > 3), and the like."""
        nodes = node.expressions
        if len(nodes) != filtered.arity or any(argument.key in INSIDE for argument in nodes):
            words = ["condition"] if filtered.column is None else ["column"] * filtered.arity
            raise self.wrong(node, f"{written} takes ({', '.join(words)})")
        columns = [] if filtered.column is None else [self.column(nodes[filtered.column])]
        texts = [self.expression(argument) for argument in nodes]
        pairs = zip(nodes, texts, strict=True)
        plain = [t if isinstance(a, exp.Column | exp.Predicate) else f"({t})" for a, t in pairs]
        condition = normal(filtered.condition.format(*plain), "where")
        part = FUNCTIONS[filtered.name.upper()].make(*columns)
        return part.where(condition), result_name(written, texts)

    def _ungrouped(self, node: Any) -> Any:
        """Return MODE() WITHIN GROUP (ORDER BY x) as MODE(x), and any other call as it is."""
        if not isinstance(node, exp.WithinGroup):
            return node
        ordered = node.expression.expressions
        if len(ordered) != 1 or ordered[0].args.get("desc"):
            raise self.wrong(node, "WITHIN GROUP takes (ORDER BY column), one column, ascending")
        node.this.set("expressions", [ordered[0].this, *node.this.expressions])
        return node.this

    def _counted(self, written: str, function: Function, arguments: Any) -> tuple[Function, Any]:
        """Return the function and its arguments: without any for COUNT(*), others for DISTINCT."""
        if written.upper() == "COUNT" and len(arguments) == 1:
            if isinstance(arguments[0], exp.Star | exp.Literal):
                return Function(function.make, 0, ()), []
            if isinstance(arguments[0], exp.Distinct):
                return FUNCTIONS["COUNTDISTINCT"], arguments[0].expressions
        return function, arguments

    def _arguments(
        self, node: Any, written: str, function: Function, arguments: Any
    ) -> tuple[list[str], dict[str, Any]]:
        """Return the columns of a call, and its constants by name."""
        named = [argument for argument in arguments if isinstance(argument, exp.Kwarg)]
        plain = [argument for argument in arguments if not isinstance(argument, exp.Kwarg)]
        columns, rest = plain[: function.arity], plain[function.arity :]
        self.check_inside(written, plain)
        constants = dict(function.fixed)
        for word, value in zip(function.parameters, rest, strict=False):
            constants[word] = self.constant(value)
        for argument in named:
            word = argument.this.name.lower()
            if word not in function.parameters:
                hint = did_you_mean(word, function.parameters) if function.parameters else ""
                raise self.wrong(node, f"{written} has no parameter {word!r}", hint)
            constants[word] = self.constant(argument.expression)
        enough = len(columns) == function.arity and function.needed <= set(constants)
        if not enough or len(rest) > len(function.parameters):
            words = ["column"] * function.arity + [word.upper() for word in function.parameters]
            raise self.wrong(node, f"{written} takes ({', '.join(words)})")
        return [self.column(column) for column in columns], constants

    def check_inside(self, written: str, arguments: Iterable[Any]) -> None:
        """Refuse DISTINCT, ORDER BY and * among the arguments of a call."""
        for argument in arguments:
            if argument.key in INSIDE:
                word, hint = INSIDE[argument.key]
                raise self.wrong(argument, f"{word} is not supported in {written}(…)", hint)

    def constant(self, node: Any) -> Any:
        """Return the value of Python that a constant stands for."""
        if isinstance(node, exp.Array | exp.Tuple):
            return tuple(self.constant(part) for part in node.expressions)
        if isinstance(node, exp.Paren):
            return self.constant(node.this)
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
            return -self.constant(node.this)
        if isinstance(node, exp.Boolean):
            return bool(node.this)
        if not isinstance(node, exp.Literal):
            raise self.wrong(node, "a constant is expected here")
        if node.is_string:
            return node.this
        return int(node.this) if node.this.isdecimal() else float(node.this)


def instead(name: str, *more: str) -> str:
    """Return what to write instead of a name that is no aggregation's, nor one of `more`."""
    if name in SESSIONS:
        return "the result has session_start and session_end, and GROUP BY names the window"
    if name in REFUSED:
        return REFUSED[name]
    known = sorted({*FUNCTIONS, *FILTERED, *more})
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    if near:
        return f"did you mean {near[0]}?"
    if name in SCALARS:
        return f"it goes into an aggregation, as in MAX({name}(load)), or to the results"
    return f"known: {', '.join(known)}"


def narrowed(part: Aggregation, condition: str) -> Aggregation:
    """Return the aggregation of those of its rows that satisfy a condition as well.

    >>> from windrow import Count
    >>> narrowed(Count().where("a > 1"), "b OR c").condition
    '(a > 1) AND (b OR c)'
    """
    if part.condition is not None:
        condition = f"({part.condition}) AND ({condition})"
        part = copy.copy(part)
        part.condition = None
    return part.where(condition)


def is_call(node: Any) -> bool:
    """Whether a node is a call of what may be an aggregation."""
    if isinstance(node, exp.WithinGroup):
        return is_call(node.this)
    return isinstance(node, exp.Anonymous) and node.name.startswith(MARK)


def called(call: Any) -> str:
    """Return the name that a call has in the text."""
    return str(call.name).removeprefix(MARK)


def aliased(item: Any) -> tuple[Any, str]:
    """Return an item of SELECT without AS, and the name that AS gives it: "" if none."""
    return (item.this, item.alias) if isinstance(item, exp.Alias) else (item, "")


def result_name(function: str, columns: Iterable[str]) -> str:
    """Return the name of a result without AS: the function's and those of its columns.

    >>> result_name("MAX", ["load * 2"])
    'max_load_2'
    """
    names = [re.sub(r"\W+", "_", text).strip("_") for text in columns]
    return "_".join([function, *names]).lower()
