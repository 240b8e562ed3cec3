"""What an aggregation states about its states, so that every engine can make and merge them.

A state has one of four forms, and an aggregation's class states which:

    Algebra        a tuple of numbers, with functions that run in the interpreter and compile
    RowAlgebra     a row of an array that is combined in place: the sketches
    Listing        a list of the values themselves
    BulkAlgebra    bytes of another library, which takes many values at once

A number in a state, or in a result, is of one of these kinds:

    "int64", "float64", "boolean"     a number of that type, whatever the values are
    "value"                           one of the values: as the column has them
    "argument"                        the argument of a pair, of any type. Compiled functions get
                                      its position instead and can only pass it on
    "difference", "total", "mean"     results only: of the type that subtracting, adding or
                                      averaging values gives; a difference is not negative,
    "change"                          a change may be
    "span"                            results only: the argument `end` minus the argument `start`
    "text", "bytes", "list"           results that are not numbers; "list of float64" and
                                      "list of int64" likewise
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

Function = Callable[..., Any]
# The kind of a result, or the kinds of its named parts.
Result = str | Mapping[str, str]

_OF_VALUES = ("value", "difference", "change", "total")
# Numbers of 64 bits at the head of a sketch's row: a cache line that says what the row holds.
HEAD = 8


@dataclass(frozen=True)
class Algebra:
    """A state that is a tuple of numbers, and the functions on it.

    `fields` has the name and the kind of each number. A name says what the number is: where two
    aggregations of one column have a field of the same name, it must be the same number.

    `unit(*values)` makes the state of one value, `plus(a, b)` joins those of two adjacent parts,
    the older first, `minus(total, old)` takes the oldest part away, and `answer(state)` makes the
    numbers of the kinds `outputs`. They are plain functions of numbers and tuples: no state is
    empty, no value null. `defined(state)` tells whether there is a result; without it there always
    is. `constants` follow the arguments of `answer` and `defined`.
    """

    fields: tuple[tuple[str, str], ...]
    outputs: tuple[str, ...]
    unit: Function
    plus: Function
    answer: Function
    minus: Function | None = None
    constants: tuple[Any, ...] = ()
    defined: Function | None = None

    @property
    def positioned(self) -> bool:
        """Return whether `unit` takes a value's argument after the value."""
        return any(kind == "argument" for _, kind in self.fields)

    def types(self, dtype: str) -> tuple[str, ...]:
        """Return the types of the fields for values of type `dtype`."""
        return tuple(number_type(kind, dtype) for _, kind in self.fields)


@dataclass(frozen=True)
class RowAlgebra:
    """A state that is a row of `width` numbers of `dtype`, and the compiled functions on it.

    The functions are given by name; `source` is the line that imports them:

    - `unit(x, null, into)`, `plus(a, b, into)` and `minus(total, old, into)` write a row;
    - `answer(state, into)` writes `out_width` numbers of `out_dtype` and returns whether there is a
      result. If `out_dtype` is int64 they are the result; otherwise the aggregation's `from_row`
      makes a state of them, and `lower` the result;
    - `copy(state, into)` copies a row, and `read` turns a value into the x of `unit`.

    All but `copy` and `read` take the `constants` after their arguments. If `head` is not 0, only
    the first `head` bytes of a row mean something while it holds a single value. `answer_is_row`
    says that `answer` writes the row as it is.
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
    answer_is_row: bool = False

    @classmethod
    def with_head(
        cls, name: str, dtype: str, size: int, read: str, constants: tuple[int, ...], **other: Any
    ) -> RowAlgebra:
        """Return the rows of a sketch of `kernels.sketch_rows`: a head and `size` numbers.

        These are what `answer` writes, unless an `other` field says so.
        """
        fields: dict[str, Any] = {
            **{each: f"{name}_{each}" for each in ("unit", "plus", "answer")},
            "source": "from windrow.kernels.sketch_rows import *",
            "width": size + (8 * HEAD if dtype == "uint8" else HEAD),
            "copy": "head_copy",
            "out_dtype": dtype,
            "out_width": size,
            "outputs": ("object",),
            "head": 8 * HEAD,
        }
        return cls(dtype=dtype, read=read, constants=constants, **{**fields, **other})


@dataclass(frozen=True)
class Listing:
    """A state that is a list of values: all of them, the first or the last n, or the distinct.

    `ordered` are all of them in the order of their values, `top` the n largest, or for −n the n
    smallest.
    """

    first: int | None = None
    last: int | None = None
    distinct: bool = False
    ordered: bool = False
    top: int = 0
    separator: str | None = None  # joins strings to one
    counted: bool = False  # the result is how many there are

    @property
    def field(self) -> str:
        """Return the name of what the list holds."""
        if self.distinct or self.ordered:
            return "distinct" if self.distinct else "ordered"
        if self.top:
            return f"top{self.top}"
        if self.first is not None:
            return f"first{self.first}"
        return "list" if self.last is None else f"last{self.last}"


@dataclass(frozen=True)
class BulkAlgebra:
    """A state that another library keeps, and its functions for many values at once.

    `start()` makes a builder, which `add(builder, values)` and `join(builder, sketch)` change;
    `done(builder)` makes a sketch of it that nothing changes any more, and `answer(sketch)` the
    result. `read(array)` makes of an array without nulls what `add` takes slices of, and `block` is
    how many values are worth a sketch of their own.

    `field` names the state, and `variant(merge, sketch)` is the same aggregation with states for
    values, for results, or for both. Spark makes such states of columns of the kinds `spark_kinds`.
    """

    field: str
    block: int
    read: Function
    start: Function
    add: Function
    join: Function
    done: Function
    answer: Function
    variant: Function
    spark_kinds: tuple[str, ...] = ()


class SqlName(NamedTuple):
    """Another name of an aggregation in SQL, for calls with some parameters fixed.

    `fixed` has the fixed parameters. `parameters` names those that a call may give after the
    columns; None stands for all. `turned` means that the argument stands before the measure.
    """

    fixed: Mapping[str, Any] = MappingProxyType({})
    parameters: tuple[str, ...] | None = None
    turned: bool = False


def number_type(kind: str, dtype: str) -> str:
    """Return the type of a number of this kind, for values of type `dtype`.

    >>> number_type("value", "float64"), number_type("argument", "float64")
    ('float64', 'int64')
    """
    if kind in _OF_VALUES:
        return dtype
    return {"argument": "int64", "mean": "float64"}.get(kind, kind)


def output_kinds(result: Result) -> tuple[str, ...]:
    """Return the kinds of the numbers that `answer` returns for a result; a span is computed later.

    >>> output_kinds("total"), output_kinds({"start": "argument", "n": "int64", "s": "span"})
    (('total',), ('argument', 'int64'))
    """
    kinds = (result,) if isinstance(result, str) else tuple(result.values())
    return tuple(kind for kind in kinds if kind != "span")
