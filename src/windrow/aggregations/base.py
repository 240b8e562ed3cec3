"""What an aggregation is: lift, combine, lower, an identity, and its algebra.

A window's values v₀ … vₙ₋₁ become ``lower(lift(v₀) ⊕ … ⊕ lift(vₙ₋₁))``, where ⊕ is `combine`.
States are values: `combine` never changes an operand, because the algorithms share them.

Two things are the same for every aggregation and live here, so that a subclass says only what
it computes. *Columns*: ``Max("load")`` takes rows and picks its column, ``Max()`` takes plain
values. *Nulls*: a null lifts to the identity, so it takes a place in the window and changes no
result.

A class states everything about itself, and no engine asks for its name. If its state is a tuple of
numbers, it states the `fields`, the kind of the `result`, and three plain functions. They run in
the interpreter, and compiled on every engine:

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

import copy
import functools
import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

from windrow.aggregations.algebra import (
    Algebra,
    BulkAlgebra,
    Listing,
    Result,
    RowAlgebra,
    SqlName,
    output_kinds,
)
from windrow.errors import InvalidArgument, InvalidValue, Unsupported, did_you_mean
from windrow.identity import digest_of

State = Any
Takes = Literal[
    "any",  # anything at all
    "hashable",
    "number",
    "integer",
    "boolean",
    "summable",  # numbers, decimals, durations
    "ordered",
    "measurable",  # what has an order and can be subtracted: numbers, decimals, times, durations
    "text",
    "number or text",
    "sketch",  # the bytes of a sketch of another library
    "timed",  # a number, and a second column of times or seconds: both are numbers in a state
    "ordered pair",  # a measure with an order, and an argument that rides along
    "number pair",  # two numbers
]

_EMPTY: Mapping[str, Any] = MappingProxyType({})
# A subclass that changes one of these has other states, or other results, than its base.
_FUNCTIONS = frozenset(
    {"lift", "checked", "unit", "plus", "minus", "answer", "defined", "combine", "lower", "skips"}
)
# What a class states about its states for engines other than the interpreter.
_STATEMENTS = frozenset({"fields", "algebra", "rows", "listing", "bulk", "kernel", "spark_fields"})

_HERE = "windrow.aggregations."
# Known by their names, so that neither pandas nor NumPy is imported to ask.
_TIMES = frozenset({"datetime64", "timedelta64"})
_NULL_TYPES = frozenset({"NAType", "NaTType", "MaskedConstant", *_TIMES})


@functools.cache
def _options(init: Callable[..., None]) -> dict[str, Any]:
    """Return the keyword arguments of a built-in `__init__` with their defaults."""
    if not init.__module__.startswith(_HERE):
        return {}
    parameters = inspect.signature(init).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def check_aggregation(value: object, asker: str) -> Aggregation:
    """Return `value` if it is an aggregation; otherwise raise an error that begins with `asker`."""
    if isinstance(value, Aggregation):
        if value.condition is not None and value.written is None:
            raise InvalidArgument(
                f"{asker}: {value!r}: where() is for rows that have columns, as sliding(…) takes"
            )
        return value
    hint = "; write Max(), not Max" if isinstance(value, type) else ""
    raise InvalidArgument(f"{asker}: {value!r} is not an aggregation{hint}")


def is_null(value: object) -> bool:
    """Return whether `value` is SQL's null: None, or NA, NaT or masked. NaN is not."""
    if value is None:
        return True
    name = type(value).__name__
    if name not in _NULL_TYPES:
        return False
    return name not in _TIMES or value != value  # a NaT of NumPy differs from itself


class Aggregation:
    """Base of all aggregations; see the module's text for the contract.

    Subclasses state their algebra, which decides which algorithms may run them:

    - `commutative`: a ⊕ b = b ⊕ a;
    - `invertible`: `inverse(a ⊕ b, a) = b`, so the oldest part can be subtracted;
    - `selective`: a ⊕ b is always a or b;
    - `exact`: combining in any grouping gives the same state, bit for bit. A sum of floats is
      not exact, a sum of integers is (`exact_on_integers`);
    - `bounded`: a state's size does not grow with the window;

    what they take and what they return, in the kinds of `windrow.aggregations.algebra`:

    - `takes`: the values; `arity`: how many columns; `column_names`: what these are;
    - `result`: its kind, or the kinds of its named parts;
    - `empty`: the result of a window without values;
    - `least`: how many values a window needs for a result;

    and their states:

    - `fields`: the numbers of a state, if it is a tuple of numbers. Then `unit`, `plus` and
      `answer` are static functions, `minus` if it is invertible, and `defined` if some states have
      no result: the window's is null then. A state whose form depends on the type of the values
      overrides `algebra` instead;
    - `rows`, `listing`, `bulk`: for states that are rows of an array, lists, or bytes of another
      library;
    - `kernel`: "module:function" that computes all windows at once, where speed pays for it;
    - `spark_fields`: an expression of Spark's SQL for each field, `{0}` being the column;
    - `functions`: plain functions of the user's, whose types are found by compiling them;
    - `summed`: whether the first field is a sum that may overflow an int64.
    """

    takes: Takes = "any"
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

    result: Result | None = None  # None: known only after running
    empty: Any = None
    least: int = 1
    sql_names: ClassVar[Mapping[str, SqlName]] = _EMPTY

    fields: ClassVar[Mapping[str, str]] = _EMPTY
    kernel: ClassVar[str] = ""
    spark_fields: ClassVar[Mapping[str, str]] = _EMPTY
    listing: Listing | None = None
    functions: Mapping[str, Callable[..., Any]] | None = None
    unary_inverse: bool = False  # whether the inverse among them takes one state only
    summed: ClassVar[bool] = False
    parts: Mapping[str, Aggregation] | None = None  # of several that share one window
    condition: str | None = None  # which rows count
    written: tuple[str, ...] | None = None  # the columns as given, where `columns` are derived
    plus: ClassVar[Any]
    answer: ClassVar[Any]
    minus: ClassVar[Any] = None
    defined: ClassVar[Any] = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Drop what a base states about its states if the class changes one of its functions."""
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

    def where(self, condition: str) -> Self:
        """Return the same aggregation of the rows that satisfy a condition, in a query.

        >>> from windrow import Max
        >>> Max("load").where("kind = 'a'")
        Max('load').where("kind = 'a'")
        """
        if not isinstance(condition, str) or not condition.strip():
            raise InvalidArgument(f"where({condition!r}) takes text of SQL, as in 'load > 3'")
        if self.condition is not None:
            raise InvalidArgument(f'{self!r} has a condition already: write where("… AND …") once')
        other = copy.copy(self)
        other.condition = condition.strip()
        return other

    def reading(self, columns: tuple[str, ...]) -> Self:
        """Return the same aggregation over other columns or expressions; it prints as it did."""
        other = copy.copy(self)
        other.written = self.columns if self.written is None else self.written
        other.columns = columns
        return other

    # -- the monoid -------------------------------------------------------------------------

    def lift(self, value: Any) -> State:
        """Return the state of a window that holds only `value`; a null gives the identity."""
        value = self.pick(value)
        if self.skips(value):
            return self.identity
        value = self.checked(value)
        return self.unit(*value) if self.arity > 1 else self.unit(value)

    def checked(self, value: Any) -> Any:
        """Return a value that is not null as `unit` takes it; raise if it is wrong."""
        return value

    def unit(self, *values: Any) -> State:
        """Return the state of a value that is not null; a pair comes as two arguments."""
        raise NotImplementedError(f"{type(self).__name__} has no unit")

    def combine(self, a: State, b: State) -> State:
        """Return a ⊕ b: the state of two adjacent parts of a window, `a` the older."""
        if a is None:
            return b
        if b is None:
            return a
        return self.plus(a, b)

    def lower(self, state: State) -> Any:
        """Return the result of a state; `empty` for the identity."""
        if state is None:
            return self.empty
        if self.defined is not None and not self.defined(state, *self.constants):
            return None
        return self.answer(state, *self.constants)

    def inverse(self, total: State, old: State) -> State:
        """Return `total` without its oldest part `old`: the b of ``total = old ⊕ b``."""
        if self.minus is None:
            raise Unsupported(
                f"{self!r} is not invertible: nothing can be subtracted from its state"
            )
        if old is None:
            return total
        left = self.minus(total, old)
        return None if self.is_empty(left) else left

    def is_empty(self, state: State) -> bool:
        """Return whether nothing is left in a state after a subtraction."""
        return False

    def fold(self, states: Iterable[State]) -> State:
        """Return the ⊕ of many states, oldest first: n−1 combines."""
        rest = iter(states)
        first = next(rest, self.identity)
        return functools.reduce(self.combine, rest, first)

    def turned(self) -> Aggregation | None:
        """Return what has the same results over rows in the opposite order; None if nothing has."""
        return self if self.commutative else None

    # -- states outside of the interpreter --------------------------------------------------

    @property
    def constants(self) -> tuple[Any, ...]:
        """Return what `answer` and `defined` take after the state."""
        return ()

    @property
    def inputs(self) -> int:
        """Return how many of the columns `unit` takes values of; an argument only rides along."""
        return 1 if self.takes == "ordered pair" else self.arity

    @property
    def measures(self) -> tuple[str, ...]:
        """Return the columns in which a null is no value."""
        return self.columns[: self.inputs]

    @property
    def counts_nulls(self) -> bool:
        """Return whether a null is a value like any other."""
        return False

    def algebra(self, dtype: str, subtracting: bool = False) -> Algebra | None:
        """Return the states as numbers for values of a `dtype`; None if they are not numbers.

        `dtype` is "int64" or "float64". With `subtracting`, NaN and infinities can be
        subtracted from the states again and leave no trace.
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
            type(self).defined,
        )

    @property
    def spark_result(self) -> str | None:
        """Return Spark's SQL for the result; None unless one function of its makes exactly that."""
        plain = self._is_built_in() and self.commutative and self.exact
        if not plain or len(self.fields) != 1 or self.result not in ("value", "int64"):
            return None
        return next(iter(self.spark_fields.values()), None)

    def rows(self, dtype: str) -> RowAlgebra | None:
        """Return the states as rows of an array for values of a `dtype`; None if they are not."""
        return None

    def bulk(self) -> BulkAlgebra | None:
        """Return the functions on states that another library keeps; None if none does."""
        return None

    def from_row(self, row: Any) -> State:
        """Return the interpreter's state for a row that `RowAlgebra.answer` wrote."""
        raise NotImplementedError(f"{type(self).__name__} has no rows")

    @property
    def state_names(self) -> str:
        """Return the prefix of field names, so that classes of other origin share no fields."""
        cls = type(self)
        return "" if self._is_built_in() else f"{cls.__module__}.{cls.__qualname__} "

    @property
    def sql_name(self) -> str | None:
        """Return the name in SQL; None for an aggregation of the user's own."""
        return type(self).__name__.upper() if self._is_built_in() else None

    def _is_built_in(self) -> bool:
        return type(self).__module__.startswith(_HERE)

    # -- values -----------------------------------------------------------------------------

    def skips(self, value: Any) -> bool:
        """Return whether `value` is a null for this aggregation."""
        return is_null(value)

    def pick(self, row: Any) -> Any:
        """Return the value of the column in `row`, or the tuple of the columns' values.

        Without columns, `row` is the value.
        """
        if not self.columns:
            return row
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
        """Return what all values of a window must have in common, so that `combine` cannot fail.

        One entry for each elementary aggregation; None goes with everything.
        """
        return (None,)

    # -- values of Python -------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        """Return the keyword arguments that differ from the defaults: for repr, == and hash.

        Those of a built-in `__init__` are kept under their names.
        """
        options = _options(type(self).__init__).items()
        values = ((name, getattr(self, name), default) for name, default in options)
        return {name: value for name, value, default in values if value != default}

    @property
    def fingerprint(self) -> str:
        """Return a text that is the same for what computes the same, in other processes too.

        It has digests of the user's own functions and classes (see `identity.digest_of`).
        """
        own = repr(self) if self._is_built_in() else f"{self!r} {digest_of(type(self))}"
        return "\n".join([own, *fingerprints(self.parts or {})])

    @classmethod
    def examples(cls) -> list[Aggregation]:
        """Return instances for tests; more than one where parameters change the algebra."""
        return [cls()]

    def written_with(self, column: str) -> str:
        """Return how it is written with a column, for messages."""
        name = "it" if self.functions is not None else type(self).__name__
        return f"{name}({column!r})"

    def __repr__(self) -> str:
        arguments = list(map(repr, self.columns if self.written is None else self.written))
        arguments += [f"{name}={value!r}" for name, value in self.parameters().items()]
        return f"{type(self).__name__}({', '.join(arguments)}){self._where()}"

    def _where(self) -> str:
        return "" if self.condition is None else f".where({self.condition!r})"

    def _key(self) -> Hashable:
        return type(self), self.columns, tuple(self.parameters().items()), self.condition

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Aggregation):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def fingerprints(parts: Mapping[str, Aggregation]) -> list[str]:
    """Return the fingerprints of named aggregations that say more than how they print."""
    texts = ((name, part.fingerprint, repr(part)) for name, part in parts.items())
    return [f"{name}: {text}" for name, text, printed in texts if text != printed]
