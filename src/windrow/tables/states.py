"""States as columns of a table: what a slice of rows sends in place of its rows.

    rows of a slice ──make──▶ state columns ──(a shuffle, a file, a state store)──▶ windows over
                                                                   slices ──answer──▶ results

An aggregation says what its states are, and how they travel follows. A tuple of numbers is a column
a field, of the types that the fields mean: values as the values that they are, arguments as what
stands there. Sketches send the bytes of their rows, those of another library its own; lists are
sent as lists, and a state that only the interpreter knows is encoded.

A column is named by what it holds, so aggregations that need the same (a mean, a sum and a count of
one column) send it once.
"""

# what the methods do is said on Part

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from windrow.aggregations.base import Aggregation
from windrow.aggregations.count import Count
from windrow.aggregations.custom import aggregation as aggregation_of
from windrow.errors import Unsupported
from windrow.queries.plan import form_of
from windrow.tables.bind import Bound
from windrow.tables.columns import null_where
from windrow.tables.results import SortedColumns, WindowResults, in_layers
from windrow.tables.sort import rows_in_place
from windrow.tables.state_bytes import Encoded, Foreign, Listed, SketchBytes
from windrow.tables.state_numbers import ExactSum, Numbers, Part, Picked
from windrow.tables.types import kind_of, plain
from windrow.windows.positions import Windows

_NONE: Mapping[str, int | None] = MappingProxyType({})


class StateColumns:
    """The partial aggregates of named aggregations; `types` has the type of each column they read.

    >>> from windrow import Mean, Sum
    >>> parts = StateColumns([("a", Mean("x")), ("b", Sum("x"))], {"x": pa.float64()})
    >>> [f"{field.name} {field.type}" for field in parts.fields]
    ['partial:sum:x double', 'partial:rest:x double', 'partial:count:x int64']
    """

    def __init__(
        self,
        aggregations: Iterable[tuple[str, Aggregation]],
        types: Mapping[str, pa.DataType],
        least: Mapping[str, int | None] = _NONE,  # how many values a result needs
    ) -> None:
        self._least: dict[str, tuple[str, int]] = {}  # what counts them, and how many
        counted: dict[str, Aggregation] = {}
        every = list(aggregations)
        for name, each in every:
            wanted = least.get(name)
            if wanted is not None:
                self._least[name] = f"{name} has values", wanted
                counted[f"{name} has values"] = _counter(each)
        self.parts = {
            name: part_of(name, each, [plain(types[text]) for text in each.columns])
            for name, each in (*every, *counted.items())
        }
        # a part with more columns may make those of one with fewer
        self._order = sorted(self.parts.values(), key=lambda part: -len(part.fields))

    @property
    def fields(self) -> list[pa.Field]:
        """The columns that travel, each once."""
        return list({f.name: f for part in self.parts.values() for f in part.fields}.values())

    def native(self) -> dict[str, str] | None:
        """An expression of Spark's SQL that makes each column; None if one of them has none."""
        expressions: dict[str, str] = {}
        for part in self.parts.values():
            own = part.native()
            if own is None:
                return None
            expressions.update(own)
        return expressions

    def make(self, over: WindowResults) -> dict[str, pa.Array]:
        """The columns for windows over rows, in the order of the windows."""
        return in_layers(over, lambda each: self._columns(each, merging=False))

    def lift(self, column: Callable[[str], Any], n: int) -> dict[str, pa.Array]:
        """The columns for n rows, each travelling by itself."""
        rows, alone = rows_in_place(n), np.arange(n)
        windows = Windows(rows.starts, lo=alone, hi=alone + 1)
        return self.make(WindowResults(SortedColumns(column, rows), windows))

    def merge(self, over: WindowResults) -> dict[str, pa.Array]:
        """The same columns for windows over rows of partial columns, which `over` reads."""
        return in_layers(over, lambda each: self._columns(each, merging=True))

    def results(
        self, over: WindowResults, kinds: Mapping[str, pa.DataType | None]
    ) -> dict[str, pa.Array]:
        """The results that `kinds` has the types of, for windows over rows of partial columns."""
        return in_layers(
            over, lambda each: {name: self._result(name, each, kinds[name]) for name in kinds}
        )

    def _result(self, name: str, over: WindowResults, kind: pa.DataType | None) -> pa.Array:
        results = self.parts[name].results(over, kind)
        if name not in self._least:
            return results
        counter, least = self._least[name]
        counts = pc.fill_null(self.parts[counter].results(over, pa.int64()), 0).to_numpy()
        return null_where(results, counts < least)

    def _columns(self, over: WindowResults, merging: bool) -> dict[str, pa.Array]:
        columns: dict[str, pa.Array] = {}
        for part in self._order:
            if any(f.name not in columns for f in part.fields):
                arrays = part.merge(over) if merging else part.make(over)
                columns.update(zip(part.names, arrays, strict=True))
        return {field.name: columns[field.name] for field in self.fields}


def states_of(bounds: Sequence[Bound]) -> StateColumns:
    """The partial aggregates of queries over the same frame."""
    types = {field.name: field.type for bound in bounds for field in bound.schema}
    least = {name: b.query.min_rows for b in bounds for name in b.query.parts}
    return StateColumns([each for b in bounds for each in b.query.aggregations], types, least)


# Rows of several columns are counted where none of them is null.
_ONE: dict[int, Callable[..., int]] = {
    2: lambda a, b: 1, 3: lambda a, b, c: 1, 4: lambda a, b, c, d: 1,
}  # fmt: skip


def _counter(aggregation: Aggregation) -> Aggregation:
    """What counts the values that an aggregation takes."""
    columns = aggregation.measures
    if len(columns) < 2:
        return Count(*columns)
    if len(columns) not in _ONE:
        raise Unsupported(f"min_rows= counts the values of up to 4 columns, not of {aggregation!r}")
    return aggregation_of(
        *columns, lift=_ONE[len(columns)], combine=operator.add, lower=int, commutative=True
    )


def part_of(name: str, aggregation: Aggregation, types: Sequence[pa.DataType]) -> Part:
    """How one aggregation of columns of such types travels.

    >>> from windrow import ArgMax
    >>> part_of("worst", ArgMax("load", "ts"), [pa.float64(), pa.timestamp("us")]).names
    ['partial:max:load', 'partial:argmax:load:ts']
    """
    if aggregation.parts is not None:
        raise Unsupported(
            f"{name}={aggregation!r}: this aggregation has no partial aggregate that could be sent"
        )
    if aggregation.takes == "summable" and types and _is_exact(types[0]):
        return ExactSum(name, aggregation, types)
    objects = form_of(aggregation, list(map(kind_of, types))) == "objects"
    if aggregation.functions is not None:
        return (Encoded if objects else Numbers)(name, aggregation, types)
    if aggregation.algebra("int64") is not None and objects:
        return Encoded(name, aggregation, types)
    if aggregation.algebra("int64") is not None:
        return (Picked if _is_own_state(aggregation) else Numbers)(name, aggregation, types)
    if aggregation.bulk() is not None:
        return Foreign(name, aggregation, types)
    if aggregation.rows("int64") is not None:
        return SketchBytes(name, aggregation, types)
    return (Encoded if aggregation.listing is None else Listed)(name, aggregation, types)


def _is_exact(kind: pa.DataType) -> bool:
    """Whether values are added up as whole numbers of a digit, or of a unit of time."""
    return bool(pt.is_decimal(kind) or pt.is_duration(kind))


def _is_own_state(aggregation: Aggregation) -> bool:
    """Whether a result stands for its window: the largest value, the first one."""
    algebra = aggregation.algebra("int64")
    assert algebra is not None
    kinds = [kind for _, kind in algebra.fields]
    return bool(aggregation.kernel) and kinds == ["value"] and aggregation.result == "value"
