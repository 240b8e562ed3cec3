"""Policies as text: ``until="s > 10"``, a condition over the results of the window.

While it is true of the window, the oldest row goes. Where it speaks of ``total.s`` and ``old.s`` it
is the policy of paper 001 instead: the longest oldest part goes for which it is true.

A text means what it means in `having`: a comparison with a null is neither true nor false, NaN is
larger than any number, and what is divided by 0 is null. It becomes a function of Python, which is
compiled like any other policy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from windrow.errors import did_you_mean
from windrow.queries.expressions import canonical
from windrow.queries.syntax import NAME, place, tokens, tree, wrong
from windrow.windows.until import KNOWN

WINDOW, PARTS = "window", ("total", "old")  # what the functions call their arguments
_COMPARED = {
    "gt": "({0} > {1} or ({0} != {0} and {1} == {1}))",
    "gte": "({0} >= {1} or {0} != {0})",
    "eq": "({0} == {1} or ({0} != {0} and {1} != {1}))",
}
_TURNED = {"lt": "gt", "lte": "gte"}
_ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


@dataclass(frozen=True)
class TextPolicy:
    """A policy that is written as text over the names of results.

    >>> policy = TextPolicy("s > 10 AND n > 1")
    >>> from windrow.aggregations.together import Record
    >>> policy(Record(s=12, n=2)), policy(Record(s=12, n=1)), policy(Record(s=None, n=2))
    (True, False, False)
    """

    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "__qualname__", self.text)  # how queries print it

    def __call__(self, *seen: Any) -> bool:
        """Whether it is true of the results of a window, or of the whole and an oldest part."""
        return bool(self.function(*seen))

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The function that the text means: of the window, or of the whole and an oldest part."""
        return self._function(_Writer(self.text, marked=False))

    @cached_property
    def compilable(self) -> Callable[..., Any] | None:
        """The same function for results with a mark each, s and s__known; None if names forbid."""
        plain = all(NAME.fullmatch(column.name) for column in columns_in(parse(self.text)))
        return self._function(_Writer(self.text, marked=True)) if plain else None

    def _function(self, writer: _Writer) -> Callable[..., Any]:
        names = WINDOW if self.of_window else ", ".join(PARTS)
        scope: dict[str, Any] = {"__name__": __name__}
        exec(f"def policy({names}):\n    return {writer.true(parse(self.text))}", scope)
        policy: Callable[..., Any] = scope["policy"]
        return policy

    @cached_property
    def of_window(self) -> bool:
        """Whether it speaks of the window, and not of the whole and an oldest part of it."""
        return not any(column.table for column in columns_in(parse(self.text)))

    @property
    def windrow_identity(self) -> str:
        """What it is known by in the state of a stream."""
        return f"until {self.text}"

    def __reduce__(self) -> Any:
        return TextPolicy, (self.text,)


def text_policy(text: str, results: Collection[str]) -> TextPolicy:
    """Return the policy that a text means for a window of these results; errors show the place."""
    node = parse(text)
    check_policy(node, text, results)
    return TextPolicy(canonical(node))


def parse(text: str) -> Any:
    """Return the tree of a policy."""
    return tree(tokens(text, "until: "), text, "until: ")


def columns_in(node: Any) -> list[Any]:
    """Return the columns that a tree speaks of, in the order in which they appear."""
    columns = [part for part in node.walk() if part.key == "column"]
    return sorted(columns, key=lambda column: place(column)[0])


def check_policy(node: Any, text: str, results: Collection[str]) -> None:
    """Refuse names that are no results, a mixture of both kinds of policies, what is unknown."""
    _Writer(text, marked=False).true(node)
    columns = columns_in(node)
    for column in columns:
        if column.table and column.table.lower() not in PARTS:
            hint = "a policy speaks of total.… and old.…, or of the window without a name"
            raise wrong(text, column, f"{column.table} is neither total nor old", hint)
        if column.name not in results:
            hint = did_you_mean(column.name, results)
            raise wrong(text, column, f"{column.name} is not among the results", hint)
        if bool(column.table) != bool(columns[0].table):
            hint = "write all names with total. or old., or none of them"
            raise wrong(text, column, "total and old do not go with the window itself", hint)


# -- as a function of Python -----------------------------------------------------------------


@dataclass(frozen=True)
class _Writer:
    """Writes the conditions of a text as expressions of Python.

    A null is None, or, where results are `marked`, a number whose mark is false.
    """

    text: str
    marked: bool

    def true(self, node: Any, wanted: bool = True) -> str:
        """Return an expression that is true where a condition is `wanted`: true, or false.

        Where the condition is null, neither of the two is true.
        """
        key = node.key
        if key == "paren":
            return self.true(node.this, wanted)
        if key == "not":
            return self.true(node.this, not wanted)
        if key in ("and", "or"):
            parts = [self.true(part, wanted) for part in (node.this, node.expression)]
            return _joined(parts, (key == "and") == wanted)
        if key == "boolean":
            return str(node.this == wanted)
        if key == "between":
            pairs = (node.this, node.args["low"]), (node.args["high"], node.this)
            return _joined([self.compared("gte", *pair, wanted) for pair in pairs], wanted)
        if key == "is" and node.expression.key == "null" and node.this.key == "column":
            known = self.known(self.value(node.this))
            return f"(not {known})" if wanted else f"({known})"
        if key == "neq":
            return self.compared("eq", node.this, node.expression, not wanted)
        if key in _TURNED:
            return self.compared(_TURNED[key], node.expression, node.this, wanted)
        if key in _COMPARED:
            return self.compared(key, node.this, node.expression, wanted)
        hint = "compare results with numbers, and join comparisons by AND, OR and NOT"
        raise wrong(self.text, node, f"{key.upper()} is no condition of a policy", hint)

    def compared(self, key: str, a: Any, b: Any, wanted: bool) -> str:
        """Return a comparison, false where one of its two values is null."""
        needs = dict.fromkeys([*self.needs(a), *self.needs(b)])
        compared = _COMPARED[key].format(self.value(a), self.value(b))
        return _joined([*needs, compared if wanted else f"not {compared}"], True)

    def needs(self, node: Any) -> list[str]:
        """Return what must hold so that a value is not null."""
        parts = list(node.walk())
        known = [self.known(self.value(part)) for part in parts if part.key == "column"]
        divisors = [self.value(part.expression) for part in parts if part.key == "div"]
        return known + [f"{divisor} != 0" for divisor in divisors]

    def known(self, result: str) -> str:
        """Return an expression that is true where a result is not null."""
        return f"{result}{KNOWN}" if self.marked else f"{result} is not None"

    def value(self, node: Any) -> str:
        """Return the expression of a number or a text."""
        key = node.key
        if key == "column":
            part = node.table.lower() or WINDOW
            return f"{part}.{node.name}" if NAME.fullmatch(node.name) else f"{part}[{node.name!r}]"
        if key == "paren":
            return f"({self.value(node.this)})"
        if key == "neg":
            return f"(-{self.value(node.this)})"
        if key == "abs":
            return f"abs({self.value(node.this)})"
        if key == "literal" and not node.is_string:
            return str(int(node.this)) if node.this.isdecimal() else repr(float(node.this))
        if key == "literal":
            return repr(node.this)
        if key in _ARITHMETIC:
            a, b = (self.value(side) for side in (node.this, node.expression))
            return f"({a} {_ARITHMETIC[key]} {b})"
        hint = "a policy computes with results and numbers by +, -, *, / and ABS"
        raise wrong(self.text, node, f"{key.upper()} is not known in a policy", hint)


def _joined(conditions: Sequence[str], every: bool) -> str:
    return f"({(' and ' if every else ' or ').join(conditions)})"
