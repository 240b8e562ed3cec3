"""Every operator of expressions over operands of every type, found in the list of what is known."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from windrow.queries import expressions

# What no operand is: parts of others, and flags.
_LEAVES = {"column", "boolean", "null", "var", "identifier", "literal", "interval"}
_PARTS = {"datatype", "datatypeparam"}
_FLAGS = {"ignore_nulls", "safe", "coalesce", "typed", "quoted"}
_CLASSES = {
    cls.key: cls
    for cls in vars(exp).values()
    if isinstance(cls, type) and issubclass(cls, exp.Expression)
}


def operators() -> list[str]:
    """The keys of all operators and functions that expressions know."""
    return sorted(set(expressions._NODES) - _LEAVES - _PARTS)


def over(key: str, operands: list[str]) -> Iterator[str]:
    """The texts of an operator over all choices of these operands, of any types."""
    slots = [name for name in expressions._NODES[key] if name not in _FLAGS]
    choices = [_choices(key, slot, operands) for slot in slots]
    for chosen in itertools.product(*choices):
        arguments = {slot: value() for slot, value in zip(slots, chosen, strict=True)}
        yield _CLASSES[key](**arguments).sql()


def _choices(key: str, slot: str, operands: list[str]) -> list[Any]:
    """What may stand in a place of an operator, each as a function that makes it anew."""

    def parsed(text: str) -> Any:
        return lambda: (
            exp.paren(expressions.parse(text)) if " " in text else expressions.parse(text)
        )

    each = [parsed(text) for text in operands]
    fixed: dict[tuple[str, str], list[Any]] = {
        ("like", "expression"): [lambda: exp.Literal.string("a%")],
        ("ilike", "expression"): [lambda: exp.Literal.string("A%")],
        ("datetrunc", "unit"): [lambda u=u: exp.Literal.string(u) for u in expressions.UNITS],
        ("substring", "start"): [lambda: exp.Literal.number(2)],
        ("substring", "length"): [lambda: exp.Literal.number(1), lambda: None],
        ("replace", "expression"): [lambda: exp.Literal.string("b")],
        ("replace", "replacement"): [lambda: exp.Literal.string("xy")],
        ("is", "expression"): [exp.Null, lambda: exp.Boolean(this=True)],
        ("extract", "this"): [lambda: exp.var("YEAR"), lambda: exp.var("EPOCH")],
        ("round", "decimals"): [
            lambda: exp.Literal.number(1),
            lambda: exp.Literal.number(-1),
        ],
        ("if", "this"): [parsed("flag")],
        ("between", "low"): each[:2],
        ("case", "this"): [lambda: None, parsed("i64")],
        ("cast", "to"): [lambda t=t: exp.DataType.build(t) for t in expressions.TYPES],
    }
    if (key, slot) in fixed:
        return fixed[key, slot]
    if slot == "ifs":
        return [
            lambda one=one, two=two: [exp.If(this=one(), true=two())]
            for one, two in itertools.product([parsed("flag"), parsed("i8")], each)
        ]
    if slot == "expressions":
        return [lambda one=one: [one()] for one in each]
    return each
