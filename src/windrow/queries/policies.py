"""Policies as text: ``until="s > 10"``, a condition over the results of the window.

While it is true of the window, the oldest row goes. Where it speaks of ``total.s`` and ``old.s`` it
is the policy of paper 001 instead: the longest oldest part goes for which it is true.

A text means what it means in `having`: a comparison with a null is neither true nor false, NaN is
larger than any number, and what is divided by 0 is null. It becomes a function of Python, which is
compiled like any other policy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from windrow.errors import QuerySyntaxError, did_you_mean
from windrow.queries.expressions import canonical
from windrow.queries.syntax import NAME, place, tokens, tree

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
        node = parse(self.text)
        names = WINDOW if self.of_window else ", ".join(PARTS)
        scope: dict[str, Any] = {"__name__": __name__}
        exec(f"def policy({names}):\n    return {_true(node, self.text)}", scope)
        made: Callable[..., Any] = scope["policy"]
        return made

    @cached_property
    def of_window(self) -> bool:
        """Whether it speaks of the window, and not of the whole and an oldest part of it."""
        return not any(node.table for node in columns_in(parse(self.text)))

    @property
    def windrow_identity(self) -> str:
        """What it is known by in the state of a stream."""
        return f"until {self.text}"

    def __reduce__(self) -> Any:
        return TextPolicy, (self.text,)


def text_policy(text: str, results: Collection[str]) -> TextPolicy:
    """The policy that a text means for a window of these results; errors show the place."""
    node = parse(text)
    check_policy(node, text, results)
    return TextPolicy(canonical(node))


def parse(text: str) -> Any:
    """The tree of a policy."""
    return tree(tokens(text, "until: "), text, "until: ")


def columns_in(node: Any) -> list[Any]:
    """The results that a tree speaks of, in the order in which they appear."""
    found = [each for each in node.walk() if each.key == "column"]
    return sorted(found, key=lambda each: place(each)[0])


def check_policy(node: Any, text: str, results: Collection[str]) -> None:
    """Refuse names that are no results, a mixture of both kinds of policies, what is unknown."""
    _true(node, text)
    found = columns_in(node)
    for each in found:
        if each.table and each.table.lower() not in PARTS:
            hint = "a policy speaks of total.… and old.…, or of the window without a name"
            raise _wrong(text, each, f"{each.table} is neither total nor old", hint)
        if each.name not in results:
            hint = did_you_mean(each.name, results)
            raise _wrong(text, each, f"{each.name} is not among the results", hint)
        if bool(each.table) != bool(found[0].table):
            hint = "write all names with total. or old., or none of them"
            raise _wrong(text, each, "total and old do not go with the window itself", hint)


def _wrong(text: str, node: Any, problem: str, hint: str = "") -> QuerySyntaxError:
    return QuerySyntaxError.at(text, *place(node), problem, hint)


# -- as a function of Python -----------------------------------------------------------------


def _true(node: Any, text: str, wanted: bool = True) -> str:
    """An expression of Python that is true where a condition is true, or, if that is wanted, false.

    Where it is null, neither is.
    """
    key = node.key
    if key == "paren":
        return _true(node.this, text, wanted)
    if key == "not":
        return _true(node.this, text, not wanted)
    if key in ("and", "or"):
        word = "and" if (key == "and") == wanted else "or"
        parts = [_true(part, text, wanted) for part in (node.this, node.expression)]
        return f"({f' {word} '.join(parts)})"
    if key == "boolean":
        return str(node.this == wanted)
    if key == "between":
        low, high = node.args["low"], node.args["high"]
        above, below = ((node.this, low), (high, node.this))
        word = "and" if wanted else "or"
        parts = [_compared("gte", *pair, text, wanted) for pair in (above, below)]
        return f"({f' {word} '.join(parts)})"
    if key == "is" and node.expression.key == "null":
        value = _value(node.this, text)
        return f"({value} is {'' if wanted else 'not '}None)"
    if key == "neq":
        return _compared("eq", node.this, node.expression, text, not wanted)
    if key in _TURNED:
        return _compared(_TURNED[key], node.expression, node.this, text, wanted)
    if key in _COMPARED:
        return _compared(key, node.this, node.expression, text, wanted)
    hint = "compare results with numbers, and join comparisons by AND, OR and NOT"
    raise _wrong(text, node, f"{key.upper()} is no condition of a policy", hint)


def _compared(key: str, a: Any, b: Any, text: str, wanted: bool) -> str:
    """A comparison of values that are both known."""
    known = [each for side in (a, b) for each in _needs(side, text)]
    compared = _COMPARED[key].format(_value(a, text), _value(b, text))
    return f"({' and '.join([*dict.fromkeys(known), compared if wanted else f'not {compared}'])})"


def _needs(node: Any, text: str) -> list[str]:
    """What must hold so that a value is not null."""
    found = []
    for each in node.walk():
        if each.key == "column":
            found.append(f"{_value(each, text)} is not None")
        elif each.key == "div":
            found.append(f"{_value(each.expression, text)} != 0")
    return sorted(found, key=lambda each: not each.endswith("None"))


def _value(node: Any, text: str) -> str:
    """An expression of Python for a value."""
    key = node.key
    if key == "column":
        part = node.table.lower() or WINDOW
        return f"{part}.{node.name}" if NAME.fullmatch(node.name) else f"{part}[{node.name!r}]"
    if key == "paren":
        return f"({_value(node.this, text)})"
    if key == "neg":
        return f"(-{_value(node.this, text)})"
    if key == "abs":
        return f"abs({_value(node.this, text)})"
    if key == "literal" and not node.is_string:
        return str(int(node.this)) if node.this.isdecimal() else repr(float(node.this))
    if key == "literal":
        return repr(node.this)
    if key in _ARITHMETIC:
        a, b = (_value(side, text) for side in (node.this, node.expression))
        return f"({a} {_ARITHMETIC[key]} {b})"
    hint = "a policy computes with results and numbers by +, -, *, / and ABS"
    raise _wrong(text, node, f"{key.upper()} is not known in a policy", hint)
