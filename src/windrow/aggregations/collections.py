"""Collect, CollectDistinct, CountDistinct, Concat: states that grow with the window."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any

from windrow.aggregations.algebra import Listing, SqlName
from windrow.aggregations.base import Aggregation
from windrow.aggregations.ordering import is_nan, plain
from windrow.errors import InvalidArgument, InvalidValue


class Collect(Aggregation):
    """All values, oldest first, as a list.

    Invertible although not commutative: the oldest part of a list is its beginning.
    """

    invertible = True
    bounded = False
    identity: Any = ()
    result = "list"
    sql_names = dict.fromkeys(("COLLECT_LIST", "ARRAY_AGG", "LIST"), SqlName())
    listing = Listing()

    def unit(self, value: Any) -> Any:
        return (value,)

    def combine(self, a: Any, b: Any) -> Any:
        return a + b

    def inverse(self, total: Any, old: Any) -> Any:
        return total[len(old) :]

    def fold(self, states: Iterable[Any]) -> Any:
        """In time linear in the result, where combining one by one is quadratic."""
        return tuple(itertools.chain.from_iterable(states))

    def lower(self, state: Any) -> Any:
        return list(state) or None


class Concat(Collect):
    """The strings in order, joined by `separator`.

    >>> from windrow import aggregator
    >>> swag = aggregator(Concat(separator="-"))
    >>> for v in "abc": swag.insert(v)
    >>> swag.query()
    'a-b-c'
    """

    takes = "text"
    result = "text"
    sql_names = {
        **dict.fromkeys(("STRING_AGG", "LISTAGG"), SqlName()),
        "GROUP_CONCAT": SqlName({"separator": ","}),
    }

    def __init__(self, *columns: str, separator: str = "") -> None:
        super().__init__(*columns)
        if not isinstance(separator, str):
            raise InvalidArgument(f"Concat: separator must be a text, got {separator!r}")
        self.separator = separator

    @property
    def listing(self) -> Listing | None:  # type: ignore[override]
        return Listing(separator=self.separator)

    def checked(self, value: Any) -> Any:
        if not isinstance(value, str):
            raise InvalidValue(f"{self!r} takes strings, not {type(value).__name__} {value!r}")
        return value

    def lower(self, state: Any) -> Any:
        return self.separator.join(state) if state else None


class CollectDistinct(Aggregation):
    """The distinct values in the order of their first occurrence, as a list."""

    takes = "hashable"
    bounded = False
    identity: Any = {}  # a state, and no state is ever changed
    result = "list"
    sql_names = {"COLLECT_SET": SqlName()}
    listing = Listing(distinct=True)

    def unit(self, value: Any) -> Any:
        value = plain(value)
        try:
            return {math.nan if is_nan(value) else value: None}  # one NaN for all
        except TypeError:
            raise InvalidValue(
                f"{self!r} takes values that can be hashed, not {type(value).__name__} {value!r}"
            ) from None

    def combine(self, a: Any, b: Any) -> Any:
        return a | b

    def fold(self, states: Iterable[Any]) -> Any:
        """In time linear in the input, where combining one by one copies every union."""
        return dict.fromkeys(itertools.chain.from_iterable(states))

    def lower(self, state: Any) -> Any:
        return list(state) or None


class CountDistinct(CollectDistinct):
    """How many distinct values; exact, so its state is all of them. HyperLogLog estimates it."""

    commutative = True
    result = "int64"
    empty = 0
    sql_names = {}
    listing = Listing(distinct=True, counted=True)
    kernel = "windrow.kernels.distinct:distinct_counts"

    def lower(self, state: Any) -> Any:
        return len(state)
