"""Calls and expressions in a text: what becomes an aggregation, a column, a condition."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

from sqlglot import exp

from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument, QuerySyntaxError, did_you_mean
from windrow.queries.cql.errors import INSIDE, OF_RESULTS, wrong
from windrow.queries.cql.functions import FUNCTIONS, Function
from windrow.queries.cql.parser import MARK
from windrow.queries.expressions import FUNCTIONS as SCALARS
from windrow.queries.expressions import canonical, check, is_expression, parse


class Calls:
    """Reads the nodes of one text, in which the stream goes by the names given."""

    def __init__(self, text: str, stream: Iterable[str]) -> None:
        self.text = text
        self.stream = tuple(stream)

    def wrong(self, where: Any, problem: str, hint: str = "") -> QuerySyntaxError:
        """The error for a place in the text."""
        return wrong(self.text, where, problem, hint)

    # -- expressions ------------------------------------------------------------------------

    def own(self, node: Any) -> Any:
        """The node, the name of the stream taken from before its columns."""
        known = [name.lower() for name in self.stream]
        for column in node.find_all(exp.Column):
            if column.table and column.table.lower() not in known:
                hint = f"the stream is {self.stream[-1]}"
                raise self.wrong(column, f"{column.table} is not the stream", hint)
            column.set("table", None)
        return node

    def expression(self, node: Any) -> str:
        """The canonical text of a node that engines know."""
        return canonical(check(self.own(node), self.text))

    def column(self, node: Any) -> str:
        """The text of what is aggregated: a column by its bare name, if that means nothing else."""
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
        """The aggregation that a call asks for, and the name of its results if it has no other."""
        if not is_call(node):
            if any(is_call(below) for below in node.walk()):
                raise self.wrong(node, "a result is one aggregation, alone", OF_RESULTS)
            raise self.wrong(node, "this is not an aggregation", "write SELECT MAX(load) AS peak")
        written = node.name.removeprefix(MARK)
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
        return [self.column(column) for column in columns], constants

    def _constant(self, node: Any) -> Any:
        """The value of Python that a constant stands for."""
        if isinstance(node, exp.Array | exp.Tuple):
            return tuple(self._constant(part) for part in node.expressions)
        if isinstance(node, exp.Paren):
            return self._constant(node.this)
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
            return -self._constant(node.this)
        if not isinstance(node, exp.Literal):
            raise self.wrong(node, "a constant is expected here")
        if node.is_string:
            return node.this
        return int(node.this) if node.this.isdecimal() else float(node.this)


def _instead(name: str) -> str:
    """What may have been meant by a name that is no aggregation's."""
    near = difflib.get_close_matches(name, FUNCTIONS, n=1, cutoff=0.75)
    if near:
        return f"did you mean {near[0]}?"
    if name in SCALARS:
        return f"it goes into an aggregation, as in MAX({name}(load)), or to the answers"
    return f"known: {', '.join(sorted(FUNCTIONS))}"


def is_call(node: Any) -> bool:
    """Whether a node is a call of what may be an aggregation."""
    return isinstance(node, exp.Anonymous) and node.name.startswith(MARK)
