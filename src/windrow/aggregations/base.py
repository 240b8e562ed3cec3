"""What an aggregation is: lift, combine, lower, an identity, and its algebra.

A window's values v₀ … vₙ₋₁ become ``lower(lift(v₀) ⊕ … ⊕ lift(vₙ₋₁))``, where ⊕ is `combine`.
States are values: `combine` never changes an operand, because the algorithms share them.

Two things are the same for every aggregation and live here, so that a subclass says only what
it computes. *Columns*: ``Max("load")`` takes rows and picks its column, ``Max()`` takes plain
values. *Nulls*: a null lifts to the identity, so it takes a place in the window and changes no
result.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, ClassVar, Literal

from windrow.errors import InvalidArgument, InvalidValue, Unsupported, did_you_mean

State = Any
Takes = Literal["any", "hashable", "number", "ordered", "text", "pair", "ordered pair"]

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


class Aggregation(ABC):
    """Base of all aggregations; see the module's text for the contract.

    Subclasses state their algebra, which decides which algorithms may run them:

    - `commutative`: a ⊕ b = b ⊕ a;
    - `invertible`: `inverse(a ⊕ b, a) = b`, so the oldest part can be subtracted;
    - `selective`: a ⊕ b is always a or b;
    - `exact`: combining in any grouping gives the same state, bit for bit. A sum of floats is
      not exact, a sum of integers is (`exact_on_integers`);
    - `bounded`: a state's size does not grow with the window.
    """

    takes: ClassVar[Takes] = "any"
    arity: ClassVar[int] = 1
    commutative: bool = False
    invertible: bool = False
    selective: bool = False
    exact: bool = True
    exact_on_integers: bool = True
    bounded: bool = True
    identity: State = None

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
        return self.identity if self.skips(value) else self.unit(value)

    @abstractmethod
    def unit(self, value: Any) -> State:
        """`lift` for a plain value that is not null."""

    @abstractmethod
    def combine(self, a: State, b: State) -> State:
        """⊕: the state of two adjacent parts of a window, `a` the older."""

    @abstractmethod
    def lower(self, state: State) -> Any:
        """The answer that a state stands for; null (None) for the identity, unless it counts."""

    def inverse(self, total: State, old: State) -> State:
        """`total` without its oldest part `old`: the b of ``total = old ⊕ b``."""
        raise Unsupported(f"{self!r} is not invertible: nothing can be subtracted from its state")

    def fold(self, states: Iterable[State]) -> State:
        """The ⊕ of many states, oldest first: n−1 combines."""
        rest = iter(states)
        first = next(rest, self.identity)
        return functools.reduce(self.combine, rest, first)

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
