"""Each aggregation over the windows of sorted rows, as a column of the type that was promised.

The compiled path knows numbers. Everything else is brought to it as numbers: what has an order as
its rank, what is only picked (First, ArgMax, …) as its position, lists as stretches of positions,
decimals as counts of their last digit. Only what is left goes to the interpreter as objects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.aggregations.count import Count
from windrow.aggregations.custom import Custom
from windrow.aggregations.sums import Sum
from windrow.algorithms.two_stacks import TwoStacks
from windrow.compiled.custom import NotCompilable
from windrow.compiled.segments import Answers, Windows, aggregate
from windrow.engines.binding import compiled_outputs
from windrow.engines.columns import (
    decoded,
    from_numbers,
    nulls_of,
    numbers,
    objects,
    ranks,
)
from windrow.engines.decimals import exact_mean, exact_sum
from windrow.engines.layout import Layout
from windrow.engines.lists import stretches
from windrow.engines.types import is_number

_RANKED = ("Max", "Min", "MaxCount", "MinCount", "CountDistinct", "ArgMax", "ArgMin", "LongestRun")
_HASHED = ("Bloom", "CountMin", "HyperLogLog")


@dataclass(frozen=True)
class Values:
    """A column in sorted order: numbers, which are null, and the values that ranks stand for."""

    data: NDArray[Any]
    nulls: NDArray[np.bool_] | None
    ranked: pa.Array | None = None


class SortedColumns:
    """The columns of a table, each brought to numbers and into sorted order once."""

    def __init__(
        self, column: Callable[[str], Any], laid: Layout, identity: Sequence[str] = ()
    ) -> None:
        self._column, self.laid = column, laid
        self._identity = identity  # the columns that tell a user which row it is
        self._arrays: dict[str, pa.Array] = {}
        self._values: dict[tuple[str, bool], Values | None] = {}
        self._nulls: dict[str, NDArray[np.bool_] | None] = {}

    def array(self, text: str) -> pa.Array:
        """A column of the table, or an expression's values, in the table's order."""
        if text not in self._arrays:
            self._arrays[text] = decoded(self._column(text))
        return self._arrays[text]

    def described(self, position: int, *texts: str) -> dict[str, Any]:
        """The row at a sorted position by what tells which it is, and by these columns."""
        row = int(self.laid.rows(np.array([position]))[0])
        names = dict.fromkeys((*self._identity, *texts))
        return {name: self.array(name)[row].as_py() for name in names}

    def nulls(self, text: str) -> NDArray[np.bool_] | None:
        """Which values are null, in sorted order; None if none is."""
        if text not in self._nulls:
            found = nulls_of(self.array(text))
            self._nulls[text] = None if found is None else self.laid.sorted(found)
        return self._nulls[text]

    def values(self, text: str, ranked: bool = False) -> Values | None:
        """A column as numbers in sorted order; by rank if it must be; None if it is no number."""
        key = text, ranked
        if key not in self._values:
            data, levels = numbers(self.array(text)), None
            if data is None and ranked:
                data, levels = ranks(self.array(text))
            made = None
            if data is not None:
                made = Values(self.laid.sorted(data), self.nulls(text), levels)
            self._values[key] = made
        return self._values[key]


Aggregate = Callable[..., Answers]


class Answerer:
    """Answers one aggregation after the other over the same windows."""

    def __init__(
        self, columns: SortedColumns, windows: Windows, aggregate: Aggregate = aggregate
    ) -> None:
        self.columns, self.laid, self.windows = columns, columns.laid, windows
        self.array, self.values = columns.array, columns.values
        self._call = aggregate

    def answer(self, aggregation: Aggregation, kind: pa.DataType | None) -> pa.Array:
        """The answers in the order of the windows."""
        name = type(aggregation).__name__
        if isinstance(aggregation, Custom):
            return self._own(aggregation, kind)
        if name == "Count":
            return self._count(aggregation)
        first = aggregation.columns[0]
        source = self.array(first).type
        if name in ("Collect", "FirstN", "LastN", "Concat"):
            return self._listed(aggregation)
        if pt.is_decimal(source) and name in ("Sum", "Mean"):
            return self._decimal(name, first, kind)
        if name in ("ArgMax", "ArgMin", "LongestRun"):
            return self._located(aggregation, kind)
        values = self.values(first, ranked=name in _RANKED)
        if name in ("First", "Last") and values is None:
            return self._end(aggregation, first)
        hashed_as_itself = name in _HASHED and not is_number(source)
        if values is None or hashed_as_itself or name == "CollectDistinct":
            return self._interpreted(aggregation, kind)
        made = self._aggregate(aggregation, values)
        if values.ranked is not None and name in ("Max", "Min"):
            return values.ranked.take(pa.array(made.values, mask=made.missing))
        if name == "Range" and pt.is_date32(source):
            made = Answers(made.values.astype(np.int64) * 86400, made.missing)  # days in seconds
        return _array(made, kind)

    def _picked(self, text: str, found: Answers) -> pa.Array:
        """The values of a column at sorted positions."""
        rows = self.laid.rows(found.values)
        return self.array(text).take(pa.array(rows, mask=found.missing))

    def _aggregate(self, aggregation: Aggregation, *values: Values) -> Answers:
        return self._call(
            aggregation,
            [v.data for v in values],
            self.windows,
            nulls=[v.nulls for v in values],
            threads=self.laid.threads,
        )

    # -- kinds of answers -------------------------------------------------------------------

    def _count(self, aggregation: Aggregation) -> pa.Array:
        nulls = None
        if aggregation.columns:
            found = nulls_of(self.array(aggregation.columns[0]))
            nulls = None if found is None else self.laid.sorted(found)
        counted: Aggregation = Count("x") if nulls is not None else Count()
        anything = np.zeros(self.laid.size, np.int64)
        made = aggregate(
            counted, [anything], self.windows, nulls=[nulls], threads=self.laid.threads
        )
        return pa.array(made.values)

    def _end(self, aggregation: Aggregation, text: str) -> pa.Array:
        """First and Last of anything: by position."""
        where = Values(np.arange(self.laid.size), self.columns.nulls(text))
        return self._picked(text, self._aggregate(aggregation, where))

    def _located(self, aggregation: Aggregation, kind: Any) -> pa.Array:
        """Where the answer lies: ArgMax and ArgMin pick there, a run has two ends."""
        measure, argument = aggregation.columns
        values = self.values(measure, ranked=True)
        assert values is not None
        made = self._aggregate(aggregation, values)
        if type(aggregation).__name__ != "LongestRun":
            return self._picked(argument, made)
        ends = [
            self._picked(argument, Answers(made.values[name], made.missing))
            for name in ("start", "end")
        ]
        length = pa.array(made.values["length"], mask=made.missing)
        span = pc.subtract(ends[1], ends[0])
        parts = [*ends, length, span.cast(kind.field("span").type)]
        null = None if made.missing is None else pa.array(made.missing)
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=null)

    def _decimal(self, name: str, text: str, kind: pa.DataType) -> pa.Array:
        array = self.array(text)
        nulls = self.columns.nulls(text)

        def total(limb: NDArray[np.int64]) -> NDArray[np.int64]:
            return self._aggregate(Sum(), Values(self.laid.sorted(limb), nulls)).values

        sums = exact_sum(array, total)
        counts = self._count(Count(text)).to_numpy()
        if name == "Mean":
            sums = exact_mean(sums, counts, kind.scale - array.type.scale)
        return from_numbers(sums, counts == 0 if (counts == 0).any() else None, kind)

    def _listed(self, aggregation: Aggregation) -> pa.Array:
        array = self.array(aggregation.columns[0])
        rows = self.laid.rows(np.arange(self.laid.size))
        nulls = self.columns.nulls(aggregation.columns[0])
        return stretches(array, rows, nulls, self.windows, aggregation)

    def _interpreted(self, aggregation: Aggregation, kind: Any) -> pa.Array:
        lists = [self.laid.sorted(objects(self.array(text))) for text in aggregation.columns]
        made = self._call(aggregation, lists, self.windows, nulls=None, threads=1)
        return _array(made, kind)

    def _own(self, aggregation: Custom, kind: Any) -> pa.Array:
        try:
            return self._run_own(aggregation, kind)
        except Exception as error:
            row = self._failing(aggregation, type(error))
            where = "" if row is None else f", at the row {row!r}"
            error.add_note(f"in {aggregation!r}{where}")
            raise

    def _run_own(self, aggregation: Custom, kind: Any) -> pa.Array:
        try:
            compiled_outputs(aggregation, [self.array(text).type for text in aggregation.columns])
        except NotCompilable:
            return self._interpreted(aggregation, kind)
        values = [self.values(text) for text in aggregation.columns]
        return _array(self._aggregate(aggregation, *[v for v in values if v is not None]), kind)

    def _failing(self, aggregation: Custom, kind: type[Exception]) -> dict[str, Any] | None:
        """The row at which the user's functions fail: run again, one by one. O(1) ⊕ a row."""
        swag = TwoStacks(aggregation)
        lists = [self.laid.sorted(objects(self.array(text))) for text in aggregation.columns]
        rows = [
            dict(zip(aggregation.columns, row, strict=True)) for row in zip(*lists, strict=True)
        ]
        head = tail = 0
        for lo, hi in zip(*(ends.tolist() for ends in self.windows.bounds()), strict=True):
            try:
                while tail < hi:
                    tail += 1
                    swag.insert(rows[tail - 1])
                gone = min(lo, tail) - head
                swag.evict(gone)
                head += gone
                swag.query()
            except Exception as again:  # another kind of error would name the wrong row
                found = self.columns.described(max(tail - 1, 0), *aggregation.columns)
                return found if isinstance(again, kind) else None
        return None


def _array(made: Answers, kind: Any) -> pa.Array:
    """Answers of the compiled path as an array of type `kind`; None lets the values tell."""
    values, missing = made.values, made.missing
    if values.dtype.names and (kind is None or pt.is_struct(kind) or pt.is_list(kind)):
        return _fields(values, missing, kind)
    if values.dtype != object:
        return (
            pa.array(values, mask=missing) if kind is None else from_numbers(values, missing, kind)
        )
    listed = values.tolist()
    if kind is not None and pt.is_binary(kind):
        listed = [None if v is None else bytes(v) for v in listed]
    if missing is not None:
        listed = [None if gone else v for v, gone in zip(listed, missing.tolist(), strict=True)]
    return pa.array(listed, kind)


def _fields(values: NDArray[Any], missing: NDArray[np.bool_] | None, kind: Any) -> pa.Array:
    """Answers of several numbers: a struct, or a list of as many."""
    names = values.dtype.names or ()
    if kind is not None and pt.is_list(kind):
        flat = np.stack([values[name] for name in names], axis=1)
        offsets = np.arange(0, flat.size + 1, len(names), dtype=np.int32)
        mask = None if missing is None else pa.array(missing)
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat.ravel()), mask=mask)
    parts = [pa.array(np.ascontiguousarray(values[name])) for name in names]
    mask = None if missing is None else pa.array(missing)
    return pa.StructArray.from_arrays(parts, names=list(names), mask=mask)
