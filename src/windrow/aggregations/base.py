"""What an aggregation is: lift, combine, lower, an identity, and its algebra.

A window's values v₀ … vₙ₋₁ become ``lower(lift(v₀) ⊕ … ⊕ lift(vₙ₋₁))``, where ⊕ is `combine`.
States are values: `combine` never changes an operand, because the algorithms share them.

Two things are the same for every aggregation and live here, so that a subclass says only what
it computes. *Columns*: ``Max("load")`` takes rows and picks its column, ``Max()`` takes plain
values. *Nulls*: a null lifts to the identity, so it takes a place in the window and changes no
result.

A class says everything about itself, and no engine asks what it is called. Where its state is a
tuple of numbers it names the `fields`, the kind of the `result`, and three plain functions, which
then run in the interpreter and compiled, on every engine:

    class Spread(Aggregation):
        takes = "number"
        fields = {"low": "value", "high": "value"}
        result = "difference"

        @staticmethod
        def unit(x):            # the state of one value
            return x, x

        @staticmethod
        def plus(a, b):         # ⊕, the older part first
            return min(a[0], b[0]), max(a[1], b[1])

        @staticmethod
        def answer(state):
            return state[1] - state[0]
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from windrow.aggregations.algebra import (
    Algebra,
    Listing,
    Result,
    RowAlgebra,
    SqlName,
    output_kinds,
)
from windrow.errors import InvalidArgument, InvalidValue, Unsupported, did_you_mean

State = Any
Takes = Literal[
    "any",  # anything at all
    "hashable",
    "number",
    "summable",  # numbers, decimals, durations
    "ordered",
    "measurable",  # what has an order and can be subtracted: numbers, decimals, times, durations
    "text",
    "ordered pair",  # a measure with an order, and an argument that rides along
]

_NOTHING_NAMED: Mapping[str, Any] = MappingProxyType({})
# A subclass that changes one of these has other states, or other results, than its base.
_FUNCTIONS = frozenset(
    {"lift", "checked", "unit", "plus", "minus", "answer", "combine", "lower", "skips"}
)
# What says of the states how they are made outside of the interpreter.
_STATEMENTS = frozenset({"fields", "algebra", "rows", "listing", "kernel", "spark_fields"})

_NULL_TYPES = frozenset({"NAType", "NaTType"})


def check_aggregation(value: object, asker: str) -> Aggregation:
    """`value`, if it is an aggregation; an error that begins with `asker` otherwise."""
    if isinstance(value, Aggregation):
        return value
    hint = "; write Max(), not Max" if isinstance(value, type) else ""
    raise InvalidArgument(f"{asker}: {value!r} is not an aggregation{hint}")


def is_null(value: object) -> bool:
    """Whether `value` is SQL's null: None, or the missing-value marks of pandas. NaN is not."""
    return value is None or type(value).__name__ in _NULL_TYPES


class Aggregation:
    """Base of all aggregations; see the module's text for the contract.

    Subclasses state their algebra, which decides which algorithms may run them:

    - `commutative`: a ⊕ b = b ⊕ a;
    - `invertible`: `inverse(a ⊕ b, a) = b`, so the oldest part can be subtracted;
    - `selective`: a ⊕ b is always a or b;
    - `exact`: combining in any grouping gives the same state, bit for bit. A sum of floats is
      not exact, a sum of integers is (`exact_on_integers`);
    - `bounded`: a state's size does not grow with the window;

    what they take and give, in the kinds of `windrow.aggregations.algebra`:

    - `takes`, and how many columns (`arity`; `column_names` says what they are);
    - `result`: its kind, or the kinds of its named parts; `empty`: that of no value at all;
    - `least`: how many values a window needs for a result;

    and their states:

    - `fields`: the numbers of a state, if it is a tuple of them. Then `unit`, `plus` and `answer`
      are static functions, and `minus` if it is invertible (`algebra` for more than one form);
    - `rows`, `listing`: for states that are rows of an array, or lists;
    - `kernel`: "module:function" that answers all windows at once, where speed pays for it;
    - `spark_fields`: an expression of Spark's SQL for each field, `{0}` being the column;
    - `functions`: plain functions of the user's, for which compiling finds out the rest;
    - `summed`: whether the first field is a sum that an int64 may not hold.
    """

    takes: ClassVar[Takes] = "any"
    arity: ClassVar[int] = 1
    column_names: ClassVar[tuple[str, ...]] = ("column",)
    column_optional: ClassVar[bool] = False
    commutative: bool = False
    invertible: bool = False
    selective: bool = False
    exact: bool = True
    exact_on_integers: bool = True
    bounded: bool = True
    identity: State = None

    result: Result | None = None  # None: only running tells
    empty: Any = None
    least: int = 1
    sql_names: ClassVar[Mapping[str, SqlName]] = _NOTHING_NAMED

    fields: ClassVar[Mapping[str, str]] = _NOTHING_NAMED
    kernel: ClassVar[str] = ""
    spark_fields: ClassVar[Mapping[str, str]] = _NOTHING_NAMED
    listing: Listing | None = None
    functions: Mapping[str, Callable[..., Any]] | None = None  # whose types only compiling tells
    unary_inverse: bool = False  # among them, an inverse of one state alone
    summed: ClassVar[bool] = False
    parts: Mapping[str, Aggregation] | None = None  # of several that share one window
    plus: ClassVar[Any]
    answer: ClassVar[Any]
    minus: ClassVar[Any] = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Let a class that changes a function state anew how its states are made."""
        super().__init_subclass__(**options)
        own = cls.__dict__.keys()
        if own & _FUNCTIONS:
            for name in _STATEMENTS - own:
                setattr(cls, name, Aggregation.__dict__[name])

    def __init__(self, *columns: str) -> None:
        if any(not isinstance(column, str) for column in columns):
            raise InvalidArgument(f"{type(self).__name__}: columns must be names, got {columns!r}")
        if columns and len(columns) != self.arity:
            raise InvalidArgument(
                f"{type(self).__name__} takes {self.arity} column name(s) or none, "
                f"got {len(columns)}: {', '.join(columns)}"
            )
        self.columns = columns

    # -- the monoid -------------------------------------------------------------------------

    def lift(self, value: Any) -> State:
        """The state of a window that holds `value` alone; a null gives the identity."""
        if self.columns:
            value = self.pick(value)
        if self.skips(value):
            return self.identity
        value = self.checked(value)
        return self.unit(*value) if self.arity > 1 else self.unit(value)

    def checked(self, value: Any) -> Any:
        """A value that is not null as `unit` takes it, or an error that says what is wrong."""
        return value

    def unit(self, *values: Any) -> State:
        """The state of a value that is not null; of a pair's two parts."""
        raise NotImplementedError(f"{type(self).__name__} has no unit")

    def combine(self, a: State, b: State) -> State:
        """⊕: the state of two adjacent parts of a window, `a` the older."""
        if a is None:
            return b
        if b is None:
            return a
        return self.plus(a, b)

    def lower(self, state: State) -> Any:
        """The result that a state stands for; `empty` for the identity."""
        return self.empty if state is None else self.answer(state, *self.constants)

    def inverse(self, total: State, old: State) -> State:
        """`total` without its oldest part `old`: the b of ``total = old ⊕ b``."""
        if self.minus is None:
            raise Unsupported(
                f"{self!r} is not invertible: nothing can be subtracted from its state"
            )
        if old is None:
            return total
        left = self.minus(total, old)
        return None if self.is_empty(left) else left

    def is_empty(self, state: State) -> bool:
        """Whether nothing is left in a state that was subtracted from."""
        return False

    def fold(self, states: Iterable[State]) -> State:
        """The ⊕ of many states, oldest first: n−1 combines."""
        rest = iter(states)
        first = next(rest, self.identity)
        return functools.reduce(self.combine, rest, first)

    # -- states outside of the interpreter --------------------------------------------------

    @property
    def constants(self) -> tuple[Any, ...]:
        """What `answer` takes besides the state."""
        return ()

    @property
    def counts_nulls(self) -> bool:
        """Whether a null is a value like any other."""
        return False

    def algebra(self, dtype: str, subtracting: bool = False) -> Algebra | None:
        """States of numbers for values of a `dtype`, "int64" or "float64"; None if there are none.

        `subtracting` asks for states that can be subtracted from without a trace.
        """
        if not self.fields or self.result is None:
            return None
        return Algebra(
            tuple(self.fields.items()),
            output_kinds(self.result),
            type(self).unit,
            type(self).plus,
            type(self).answer,
            type(self).minus,
            self.constants,
        )

    def rows(self, dtype: str) -> RowAlgebra | None:
        """States that are rows of an array, for values of type `dtype`; None if there are none."""
        return None

    def from_row(self, row: Any) -> State:
        """The interpreter's state that a row stands for, which `RowAlgebra.answer` wrote."""
        raise NotImplementedError(f"{type(self).__name__} has no rows")

    @property
    def state_names(self) -> str:
        """What goes before the names of fields: aggregations of other origin share no numbers."""
        cls = type(self)
        return "" if self._is_built_in() else f"{cls.__module__}.{cls.__qualname__} "

    @property
    def sql_name(self) -> str | None:
        """The name in SQL; None for an aggregation of the user's own."""
        return type(self).__name__.upper() if self._is_built_in() else None

    def _is_built_in(self) -> bool:
        return type(self).__module__.startswith("windrow.aggregations.")

    # -- values -----------------------------------------------------------------------------

    def skips(self, value: Any) -> bool:
        """Whether `value` counts as null here."""
        return is_null(value)

    def pick(self, row: Any) -> Any:
        """The bound column's value in `row`, or the tuple of the bound columns' values."""
        if not isinstance(row, Mapping):
            raise InvalidValue(
                f"{self!r} reads columns, so it takes rows such as "
                f"{{{self.columns[0]!r}: …}}, not {type(row).__name__} {row!r}"
            )
        try:
            picked = tuple(row[column] for column in self.columns)
        except KeyError as missing:
            name = missing.args[0]
            raise InvalidValue(
                f"{self!r}: the row has no column {name!r}; {did_you_mean(name, map(str, row))}"
            ) from None
        return picked if self.arity > 1 else picked[0]

    def families(self, value: Any) -> tuple[Hashable, ...]:
        """What must stay the same from value to value, so that `combine` cannot fail on types.

        One entry for each elementary aggregation; None asks nothing.
        """
        return (None,)

    # -- values of Python -------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        """The keyword arguments that differ from the defaults: for repr, equality and hash."""
        return {}

    @classmethod
    def _examples(cls) -> list[Aggregation]:
        """Instances that the tests check; more than one where parameters change the algebra."""
        return [cls()]

    def __repr__(self) -> str:
        given = [repr(column) for column in self.columns]
        given += [f"{name}={value!r}" for name, value in self.parameters().items()]
        return f"{type(self).__name__}({', '.join(given)})"

    def _key(self) -> Hashable:
        return type(self), self.columns, tuple(self.parameters().items())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Aggregation):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())
