"""Partial aggregates as columns of a table: what a slice of rows sends in place of its rows.

    rows of a slice ──make──▶ partial columns ──(a shuffle, a file, a state store)──▶ windows over
                                                                   slices ──answer──▶ answers

How an aggregation travels follows from what it is. One that picks a value sends the value, and
merging is the aggregation itself over what was sent. Lists are sent as lists, and merged by taking
the window over their values. Numbers send the fields of their compiled states, sketches the bytes
of theirs, and a user's own that does not compile sends its encoded state (`engines.states`).

A column is named by what it holds, so aggregations that need the same (a mean, a sum and a count of
one column) send it once.
"""

# ruff: noqa: D102  # what a part's methods do is said on Part

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from windrow.aggregations.base import Aggregation
from windrow.aggregations.collections import Collect, CollectDistinct
from windrow.aggregations.count import Count
from windrow.aggregations.custom import Custom
from windrow.aggregations.extrema import Max, Min
from windrow.aggregations.sums import Sum
from windrow.compiled.custom import NotCompilable, custom_monoid
from windrow.compiled.segmentation import Windows
from windrow.engines.answers import Answerer, SortedColumns
from windrow.engines.columns import from_numbers, numbers
from windrow.engines.decimals import exact_mean, exact_sum
from windrow.engines.layout import Layout
from windrow.engines.parts import Part, bound_to, shared
from windrow.engines.states import Encoded, Numbers, Runs, Sketch, Tally, compiled_type
from windrow.engines.types import is_number, plain
from windrow.errors import Unsupported

_MOST_DIGITS = 38


class PartialColumns:
    """The partial aggregates of named aggregations; `types` has the type of each column they read.

    >>> from windrow import Mean, Sum
    >>> parts = PartialColumns([("a", Mean("x")), ("b", Sum("x"))], {"x": pa.int64()})
    >>> [f"{field.name} {field.type}" for field in parts.fields]
    ['partial:sum:x int64', 'partial:count:x int64']
    """

    def __init__(
        self, aggregations: Iterable[tuple[str, Aggregation]], types: Mapping[str, pa.DataType]
    ) -> None:
        self.parts = {
            name: part_of(name, each, [plain(types[text]) for text in each.columns])
            for name, each in aggregations
        }
        # a part with more columns may make those of one with fewer
        self._order = sorted(self.parts.values(), key=lambda part: -len(part.fields))

    @property
    def fields(self) -> list[pa.Field]:
        """The columns that travel, each once."""
        return list({f.name: f for part in self.parts.values() for f in part.fields}.values())

    def make(self, answerer: Answerer) -> dict[str, pa.Array]:
        """The columns for windows over rows, in the order of the windows."""
        return self._columns(answerer, merging=False)

    def lift(self, column: Callable[[str], Any], n: int) -> dict[str, pa.Array]:
        """The columns for n rows, each travelling by itself."""
        ends, alone = np.array([0, n], np.int64), np.arange(n)
        columns = SortedColumns(column, Layout(None, ends, ends, None))
        return self.make(Answerer(columns, Windows(ends, lo=alone, hi=alone + 1)))

    def merge(self, answerer: Answerer) -> dict[str, pa.Array]:
        """The same columns for windows over rows of partial columns, which the answerer reads."""
        return self._columns(answerer, merging=True)

    def answer(
        self, answerer: Answerer, kinds: Mapping[str, pa.DataType | None]
    ) -> dict[str, pa.Array]:
        """The answers, of the types `kinds`, for windows over rows of partial columns."""
        return {name: part.answer(answerer, kinds[name]) for name, part in self.parts.items()}

    def _columns(self, answerer: Answerer, merging: bool) -> dict[str, pa.Array]:
        made: dict[str, pa.Array] = {}
        for part in self._order:
            if any(f.name not in made for f in part.fields):
                arrays = part.merge(answerer) if merging else part.make(answerer)
                made.update(zip(part.names, arrays, strict=True))
        return {field.name: made[field.name] for field in self.fields}


def part_of(name: str, aggregation: Aggregation, types: Sequence[pa.DataType]) -> Part:
    """How one aggregation of columns of such types travels.

    >>> from windrow import ArgMax
    >>> part_of("worst", ArgMax("load", "ts"), [pa.float64(), pa.timestamp("us")]).names
    ['partial::worst:measure', 'partial::worst:argument']
    """
    kind = type(aggregation).__name__
    if isinstance(aggregation, Custom):
        return (Numbers if _compiles(aggregation, types) else Encoded)(name, aggregation, types)
    if kind in ("Sum", "Mean") and pt.is_decimal(types[0]):
        return DecimalSum(name, aggregation, types)
    try:
        return _PARTS[kind](name, aggregation, types)
    except KeyError:
        raise Unsupported(
            f"{name}={aggregation!r}: this aggregation has no partial aggregate that could be sent"
        ) from None


def _compiles(aggregation: Custom, types: Sequence[pa.DataType]) -> bool:
    if not all(is_number(t) for t in types):
        return False
    try:
        custom_monoid(aggregation, tuple(map(compiled_type, types)))
    except NotCompilable:
        return False
    return True


# -- what is picked, counted, or summed exactly -------------------------------------------------


class Picked(Part):
    """Max, Min, First, Last: the value itself, and the same again over what was picked."""

    def schema(self) -> list[pa.Field]:
        kind = type(self.aggregation).__name__.lower()
        return [shared(kind, self.aggregation.columns[0], self.types[0])]

    def make(self, answerer: Answerer) -> list[pa.Array]:
        return [answerer.answer(self.aggregation, self.types[0])]

    def merge(self, answerer: Answerer) -> list[pa.Array]:
        return [self.answer(answerer, self.types[0])]

    def answer(self, answerer: Answerer, kind: Any) -> pa.Array:
        return answerer.answer(bound_to(self.aggregation, *self.names), kind)


class Argued(Picked):
    """ArgMax, ArgMin: the extreme measure and its argument, which may be null."""

    def schema(self) -> list[pa.Field]:
        fields = zip(("measure", "argument"), self.types, strict=True)
        return [self.own(field, kind) for field, kind in fields]

    def make(self, answerer: Answerer) -> list[pa.Array]:
        return self._both(answerer, *self.aggregation.columns)

    def merge(self, answerer: Answerer) -> list[pa.Array]:
        return self._both(answerer, *self.names)

    def _both(self, answerer: Answerer, measure: str, argument: str) -> list[pa.Array]:
        return [
            answerer.answer(bound_to(self.aggregation, measure, text), kind)
            for text, kind in zip((measure, argument), self.types, strict=True)
        ]


class Counted(Part):
    """Count: a number, 0 for none."""

    def schema(self) -> list[pa.Field]:
        if not self.aggregation.columns:
            return [shared("rows", "", pa.int64())]
        return [shared("count", self.aggregation.columns[0], pa.int64())]

    def make(self, answerer: Answerer) -> list[pa.Array]:
        return [answerer.answer(self.aggregation, pa.int64())]

    def merge(self, answerer: Answerer) -> list[pa.Array]:
        return [self.answer(answerer, pa.int64())]

    def answer(self, answerer: Answerer, kind: Any) -> pa.Array:
        return pc.fill_null(answerer.answer(Sum(self.names[0]), kind), 0)


class DecimalSum(Part):
    """Sum and Mean of decimals: the exact sum, and for a mean the count."""

    def schema(self) -> list[pa.Field]:
        text, wide = self.aggregation.columns[0], self._wide()
        fields = [shared("sum", text, wide), shared("count", text, pa.int64())]
        return fields if type(self.aggregation).__name__ == "Mean" else fields[:1]

    def _wide(self) -> pa.DataType:
        return pa.decimal128(_MOST_DIGITS, self.types[0].scale)

    def make(self, answerer: Answerer) -> list[pa.Array]:
        text = self.aggregation.columns[0]
        total = answerer.answer(Sum(text), self._wide())
        return [total, answerer.answer(Count(text), pa.int64())][: len(self.fields)]

    def merge(self, answerer: Answerer) -> list[pa.Array]:
        total = answerer.answer(Sum(self.names[0]), self._wide())
        return [total, *(self._counts(answerer, name) for name in self.names[1:])]

    def answer(self, answerer: Answerer, kind: Any) -> pa.Array:
        if len(self.fields) == 1:
            return answerer.answer(Sum(self.names[0]), kind)
        total, counts = self.merge(answerer)
        sums = exact_sum(total, lambda limb: limb)  # every sum in units of its last digit
        means = exact_mean(sums, counts.to_numpy(), kind.scale - self.types[0].scale)
        means[counts.to_numpy() == 0] = None
        return from_numbers(means, None, kind)

    @staticmethod
    def _counts(answerer: Answerer, name: str) -> pa.Array:
        return pc.fill_null(answerer.answer(Sum(name), pa.int64()), 0)


class Extremes(Part):
    """Range: the smallest and the largest value."""

    def schema(self) -> list[pa.Field]:
        text = self.aggregation.columns[0]
        return [shared(kind, text, self.types[0]) for kind in ("min", "max")]

    def make(self, answerer: Answerer) -> list[pa.Array]:
        text = self.aggregation.columns[0]
        return [answerer.answer(each, self.types[0]) for each in (Min(text), Max(text))]

    def merge(self, answerer: Answerer) -> list[pa.Array]:
        low, high = self.names
        return [answerer.answer(each, self.types[0]) for each in (Min(low), Max(high))]

    def answer(self, answerer: Answerer, kind: Any) -> pa.Array:
        low, high = self.merge(answerer)
        if not is_number(self.types[0]):
            return pc.subtract(high, low).cast(kind)
        a, b = (np.asarray(numbers(array)).astype(kind.to_pandas_dtype()) for array in (low, high))
        missing = np.asarray(pc.is_null(low).to_numpy(zero_copy_only=False))
        span = np.where(missing, 0, b - a)
        if span.dtype == np.int64 and (span < 0).any():
            raise OverflowError(
                f"{self.aggregation!r}: a difference exceeds int64; convert the values to float64"
            )
        return from_numbers(span, missing, kind)


# -- lists --------------------------------------------------------------------------------------


class Listed(Part):
    """Collect, Concat, FirstN, LastN: a list; windows over slices are windows over its values."""

    def schema(self) -> list[pa.Field]:
        text, kind = self.aggregation.columns[0], pa.list_(self.types[0])
        if hasattr(self.aggregation, "n"):
            return [self.own("list", kind)]
        return [shared("list", text, kind)]

    def collected(self, text: str) -> Aggregation:
        """The aggregation that makes the lists."""
        whole = not hasattr(self.aggregation, "n")
        return Collect(text) if whole else bound_to(self.aggregation, text)

    def make(self, answerer: Answerer) -> list[pa.Array]:
        made = answerer.answer(self.collected(self.aggregation.columns[0]), self.fields[0].type)
        return [made.cast(self.fields[0].type)]

    def merge(self, answerer: Answerer) -> list[pa.Array]:
        inner = _flattened(answerer, self.names[0])
        kind = self.fields[0].type
        return [inner.answer(self.collected(self.names[0]), kind).cast(kind)]

    def answer(self, answerer: Answerer, kind: Any) -> pa.Array:
        inner = _flattened(answerer, self.names[0])
        return inner.answer(bound_to(self.aggregation, self.names[0]), kind)


class Distinct(Listed):
    """CollectDistinct, CountDistinct: a list of the distinct values, in order of appearance."""

    def schema(self) -> list[pa.Field]:
        return [shared("distinct", self.aggregation.columns[0], pa.list_(self.types[0]))]

    def collected(self, text: str) -> Aggregation:
        return CollectDistinct(text)


def _flattened(answerer: Answerer, name: str) -> Answerer:
    """The values of a column of lists, and windows over them in place of windows over the lists."""
    lists = answerer.array(name)
    laid = answerer.laid
    if laid.order is not None:
        lists = lists.take(pa.array(laid.order))
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    lo, hi = answerer.windows.bounds()
    ends = offsets[[0, -1]]
    values = lists.flatten()
    inside = Windows(ends, lo=offsets[lo], hi=offsets[hi])
    flat = Layout(None, ends, ends, None, threads=laid.threads)
    return Answerer(SortedColumns(lambda _: values, flat), inside)


_PARTS: dict[str, type[Part]] = {
    **dict.fromkeys(("Max", "Min", "First", "Last"), Picked),
    **dict.fromkeys(("ArgMax", "ArgMin"), Argued),
    **dict.fromkeys(("MaxCount", "MinCount"), Tally),
    **dict.fromkeys(("Sum", "Mean", "GeometricMean", "Variance", "StdDev", "Product"), Numbers),
    **dict.fromkeys(("Collect", "Concat", "FirstN", "LastN"), Listed),
    **dict.fromkeys(("CollectDistinct", "CountDistinct"), Distinct),
    **dict.fromkeys(("Bloom", "CountMin", "HyperLogLog", "MomentSketch"), Sketch),
    "Count": Counted,
    "Range": Extremes,
    "LongestRun": Runs,
}
