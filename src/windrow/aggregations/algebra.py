"""What an aggregation says of its states, so that it runs compiled and travels between engines.

A state is one of three things, and an aggregation's class says which:

    Algebra        a tuple of numbers, with functions that run in the interpreter and compile
    RowAlgebra     a row of an array that is combined in place: the sketches
    Listing        a list of the values themselves

A number in a state, or in a result, is of one of these kinds:

    "int64", "float64", "boolean"     a number of that type, whatever the values are
    "value"                           one of the values: as the column has them
    "argument"                        the argument that came with a value: any type at all. Compiled
                                      functions see its position and can only pass it on
    "difference", "total", "mean"     results of values: what subtracting, adding them gives
    "span"                            how far the argument `end` of a result is from its `start`
    "text", "bytes", "list"           results that are no numbers; "list of float64" likewise
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

Function = Callable[..., Any]
# A kind, or those of the named parts of a result.
Result = str | Mapping[str, str]

_OF_VALUES = ("value", "difference", "total")
# Numbers of 64 bits before those of a sketch's row: a cache line that says what the row holds.
HEAD = 8


@dataclass(frozen=True)
class Algebra:
    """A state that is a tuple of numbers, and the functions on it.

    `fields` has the name and the kind of each number. A name says what the number is: two
    aggregations of one column that name a field alike keep the same number in it.

    `unit(*values)` makes the state of one value, `plus(a, b)` joins those of two adjacent parts,
    the older first, `minus(total, old)` takes the oldest part away, and `answer(state)` makes the
    numbers of the kinds `outputs`. They are plain functions of numbers and tuples: no state is
    empty, no value null. `constants` follow the arguments of `answer`.
    """

    fields: tuple[tuple[str, str], ...]
    outputs: tuple[str, ...]
    unit: Function
    plus: Function
    answer: Function
    minus: Function | None = None
    constants: tuple[Any, ...] = ()

    @property
    def positioned(self) -> bool:
        """Whether `unit` takes a value's argument after the value."""
        return any(kind == "argument" for _, kind in self.fields)

    def types(self, dtype: str) -> tuple[str, ...]:
        """The types of the fields for values of type `dtype`."""
        return tuple(number_type(kind, dtype) for _, kind in self.fields)


@dataclass(frozen=True)
class RowAlgebra:
    """A state that is a row of `width` numbers of `dtype`, and the compiled functions on it.

    They are names in `source`, a line that imports them, and take the `constants`
    behind their arguments: `unit(x, null, into)`, `plus(a, b, into)`, `minus(total, old, into)` and
    `answer(state, into)`, which tells whether there is a result. `copy(state, into)` takes none,
    nor does `read`, which turns a value into the `unit`'s x. What `answer` writes is a row of
    `out_width` numbers of `out_dtype`. It is the result if that is an int64; otherwise the
    aggregation's `from_row` makes a state of it, and `lower` the result. With a `head`, a row of a
    single value has no more than so many bytes that mean something.
    """

    source: str
    dtype: str
    width: int
    read: str
    unit: str
    plus: str
    answer: str
    copy: str
    out_dtype: str
    out_width: int
    outputs: tuple[str, ...]
    constants: tuple[int, ...] = ()
    minus: str = ""
    head: int = 0


@dataclass(frozen=True)
class Listing:
    """A state that is a list of values: all of them, the first or the last n, or the distinct."""

    first: int | None = None
    last: int | None = None
    distinct: bool = False
    separator: str | None = None  # joins strings to one
    counted: bool = False  # the result is how many there are

    @property
    def field(self) -> str:
        """What the list holds, in a word."""
        if self.distinct:
            return "distinct"
        if self.first is not None:
            return f"first{self.first}"
        return "list" if self.last is None else f"last{self.last}"


class SqlName(NamedTuple):
    """Another name of an aggregation in SQL, for calls with some parameters fixed.

    `parameters` names those that a call may give after the columns, None all of them; `turned`
    says that the argument stands before the measure.
    """

    fixed: Mapping[str, Any] = MappingProxyType({})
    parameters: tuple[str, ...] | None = None
    turned: bool = False


def number_type(kind: str, dtype: str) -> str:
    """The type of a number of such a kind, for values of type `dtype`.

    >>> number_type("value", "float64"), number_type("argument", "float64")
    ('float64', 'int64')
    """
    if kind in _OF_VALUES:
        return dtype
    return {"argument": "int64", "mean": "float64"}.get(kind, kind)


def output_kinds(result: Result) -> tuple[str, ...]:
    """The kinds of the numbers that `answer` gives for such a result; a span follows from others.

    >>> output_kinds("total"), output_kinds({"start": "argument", "n": "int64", "s": "span"})
    (('total',), ('argument', 'int64'))
    """
    kinds = (result,) if isinstance(result, str) else tuple(result.values())
    return tuple(kind for kind in kinds if kind != "span")
