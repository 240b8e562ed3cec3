"""States of numbers as columns of a table: a column for each field."""

# ruff: noqa: D102  # what the methods do is said on Part

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.aggregations.count import Count
from windrow.aggregations.sums import Sum
from windrow.kernels.compiled_states import Monoid, compiled_state
from windrow.kernels.generate import dtype_of
from windrow.kernels.states import States, merge, merged_states, states_of
from windrow.kernels.whole_means import rounded_mean
from windrow.tables.columns import as_arrow, from_numbers, numbers
from windrow.tables.decimals import exact_mean, exact_sum
from windrow.tables.result_columns import restored
from windrow.tables.results import Values, WindowResults, numbered
from windrow.tables.types import COMPILED, MOST_DIGITS, compiled_type, is_number


class Part(ABC):
    """How one aggregation, over columns of `types`, travels as columns of a table."""

    def __init__(self, name: str, aggregation: Aggregation, types: Sequence[pa.DataType]) -> None:
        self.name, self.aggregation, self.types = name, aggregation, list(types)
        self.fields = self.schema()
        self.names = [field.name for field in self.fields]

    @abstractmethod
    def schema(self) -> list[pa.Field]:
        """The columns, known from the types alone."""

    @abstractmethod
    def make(self, over: WindowResults) -> list[pa.Array]:
        """The columns for windows over rows."""

    @abstractmethod
    def merge(self, over: WindowResults) -> list[pa.Array]:
        """The columns for windows over rows of such columns."""

    @abstractmethod
    def results(self, over: WindowResults, kind: Any) -> pa.Array:
        """The results, of type `kind`, for windows over rows of such columns."""

    def native(self) -> dict[str, str] | None:
        """An expression of Spark's SQL that makes each column; None if one of them has none."""
        known, kind = self.aggregation.spark_fields, (self.types or [pa.int64()])[0]
        added = self.aggregation.takes in ("number", "summable")
        if added and not (is_number(kind) or pt.is_decimal(kind) or pt.is_duration(kind)):
            return None
        column = (
            "`{}`".format(self.aggregation.columns[0].replace("`", "``")) if self.types else "1"
        )
        column = f"cast({column} as long)" if pt.is_boolean(kind) else column
        home = len("partial:") + len(self.aggregation.state_names)
        fields = {name: name[home:].partition(":")[0] for name in self.names}
        if not all(field in known for field in fields.values()):
            return None
        return {name: known[field].format(column) for name, field in fields.items()}

    def own(self, field: str, kind: pa.DataType) -> pa.Field:
        """A column that no other aggregation can use."""
        return pa.field(f"partial::{self.name}:{field}", kind)

    def shared(self, field: str, kind: pa.DataType, columns: Sequence[str] = ()) -> pa.Field:
        """A column that every aggregation of the same columns that needs it can use."""
        of = columns or self.aggregation.columns[: self.aggregation.inputs]
        return pa.field(f"partial:{self.aggregation.state_names}{field}:{':'.join(of)}", kind)


def bound_to(aggregation: Aggregation, *columns: str) -> Aggregation:
    """The same aggregation of other columns.

    >>> from windrow import Max
    >>> bound_to(Max("load"), "peak")
    Max('peak')
    """
    other = copy.copy(aggregation)
    other.columns = columns
    return other


# -- tuples of numbers --------------------------------------------------------------------------


class Picked(Part):
    """Max, Min, First, Last: the value itself, and the same again over what was picked."""

    def schema(self) -> list[pa.Field]:
        algebra = self.aggregation.algebra("int64")
        assert algebra is not None
        return [self.shared(algebra.fields[0][0], self.types[0])]

    def make(self, over: WindowResults) -> list[pa.Array]:
        return [over.result(self.aggregation, self.types[0])]

    def merge(self, over: WindowResults) -> list[pa.Array]:
        return [self.results(over, self.types[0])]

    def results(self, over: WindowResults, kind: Any) -> pa.Array:
        return over.result(bound_to(self.aggregation, *self.names), kind)


class Numbers(Part):
    """A state of numbers: a column for each field.

    Of the fields, values go as values of the measured column, and arguments as those of the
    argument's; in between, numbers stand for them.
    """

    def schema(self) -> list[pa.Field]:
        of = self.types or [pa.int64()]
        self.dtypes = [compiled_type(t) if is_number(t) else "int64" for t in of]
        timed = self.aggregation.columns if self.aggregation.takes == "timed" else ()
        self.dtypes[1:] = ["int64" if timed else dtype for dtype in self.dtypes[1:]]
        algebra = self.aggregation.algebra(self.dtypes[0])
        if algebra is None:  # a user's own functions
            compiled = compiled_state(self.aggregation, self.dtypes)
            assert isinstance(compiled, Monoid)
            self.kinds = list(compiled.fields)
            return [self.own(str(i), COMPILED[kind]) for i, kind in enumerate(self.kinds)]
        self.kinds = [kind for _, kind in algebra.fields]
        fields = []
        for name, kind in algebra.fields:
            if kind == "value":
                fields.append(self.shared(name, of[0], timed))
            elif kind == "argument":
                fields.append(self.shared(name, of[-1], self.aggregation.columns))
            else:
                fields.append(self.shared(name, COMPILED[kind], timed))
        return fields

    def make(self, over: WindowResults) -> list[pa.Array]:
        columns = self.aggregation.columns
        if self.aggregation.functions is not None:
            inputs = [over.values(text) for text in columns]
        elif columns:
            inputs = [*over.values_for(self.aggregation)]
        else:
            inputs = [Values(np.zeros(over.sorted_rows.size, np.int64), None)]
        values = [each for each in inputs if each is not None]
        try:
            states = states_of(
                self.aggregation,
                [machine_numbers(v.data) for v in values],
                over.windows,
                nulls=[v.nulls for v in values],
                threads=over.sorted_rows.threads,
            )
        except Exception as error:
            if self.aggregation.functions is not None:
                over.name_failure(self.aggregation, error)
            raise
        return self._arrays(
            states, values[0].back, lambda at, gone: as_arrow(over.picked(columns[-1], at, gone))
        )

    def _arrays(self, states: States, back: Any, picked: Any) -> list[pa.Array]:
        """Null where there is no value; a count is 0 there."""
        arrays = []
        for field, kind, values in zip(self.fields, self.kinds, states.fields, strict=True):
            if kind == "argument":
                arrays.append(picked(values, states.missing))
            elif kind == "value" and back is not None:
                arrays.append(back(values, states.missing))
            else:
                counts = field.name.startswith("partial:count:")
                arrays.append(from_numbers(values, None if counts else states.missing, field.type))
        return arrays

    def _sent(self, over: WindowResults) -> tuple[str, States, Any, Any]:
        """The states, and what gives the values and the arguments that their numbers stand for.

        A number that stands for an argument is a position in all columns of arguments, one after
        the other; values of several columns are ranked together.
        """
        sorted_rows, n = over.sorted_rows, over.sorted_rows.size
        rows = sorted_rows.rows(np.arange(n))
        arrays = [over.array(name) for name in self.names]
        measured = [a for a, kind in zip(arrays, self.kinds, strict=True) if kind == "value"]
        argued = [a for a, kind in zip(arrays, self.kinds, strict=True) if kind == "argument"]
        measures = numbered(_joined(measured), self.aggregation.takes) if measured else None
        dtype = self.dtypes[0] if measures is None else str(machine_numbers(measures.data).dtype)
        fields: list[NDArray[Any]] = []
        values = arguments = 0
        for name, kind in zip(self.names, self.kinds, strict=True):
            if kind == "argument":
                fields.append(rows + np.int64(arguments * n))
                arguments += 1
            elif kind == "value":
                assert measures is not None
                data = machine_numbers(measures.data[values * n : (values + 1) * n])
                fields.append(sorted_rows.sorted(data))
                values += 1
            else:
                numbers = over.values(name)
                assert numbers is not None
                fields.append(numbers.data.astype(dtype_of(kind), copy=False))
        gone = [
            nulls
            for name, kind in zip(self.names, self.kinds, strict=True)
            if kind != "argument" and (nulls := over.columns.nulls(name)) is not None
        ]
        states = States(tuple(fields), np.logical_or.reduce(gone) if gone else None)
        everything: Any = _joined(argued) if argued else None
        return (
            dtype,
            states,
            None if measures is None else measures.back,
            lambda at, gone: everything.take(pa.array(at, mask=gone)),
        )

    def merge(self, over: WindowResults) -> list[pa.Array]:
        dtype, states, back, picked = self._sent(over)
        merged = merged_states(
            self.aggregation, [dtype, *self.dtypes[1:]], states, over.windows,
            threads=over.sorted_rows.threads,
        )  # fmt: skip
        return self._arrays(merged, back, picked)

    def results(self, over: WindowResults, kind: Any) -> pa.Array:
        dtype, states, back, picked = self._sent(over)
        results = merge(
            self.aggregation, [dtype, *self.dtypes[1:]], states, over.windows,
            threads=over.sorted_rows.threads,
        )  # fmt: skip
        if self.aggregation.least > 1:  # too few values have no result: null
            counts = pc.fill_null(over.result(Sum(self.names[0]), pa.int64()), 0)
            results = type(results)(results.values, counts.to_numpy() < self.aggregation.least)
        source = self.types[0] if self.types else pa.int64()
        return as_arrow(restored(self.aggregation, results, kind, source, back, picked))


def machine_numbers(data: NDArray[Any]) -> NDArray[Any]:
    """Numbers in a type that the compiled functions know."""
    return data.astype(np.float64 if data.dtype.kind == "f" else np.int64, copy=False)


def _joined(arrays: list[pa.Array]) -> pa.Array:
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


class ExactSum(Part):
    """Sum and Mean of decimals and durations: the exact sum, and for a mean the count."""

    def schema(self) -> list[pa.Field]:
        fields = [self.shared("sum", self._wide()), self.shared("count", pa.int64())]
        return fields if self.aggregation.result == "mean" else fields[:1]

    def _wide(self) -> pa.DataType:
        if pt.is_duration(self.types[0]):
            return self.types[0]
        return pa.decimal128(MOST_DIGITS, self.types[0].scale)

    def make(self, over: WindowResults) -> list[pa.Array]:
        text = self.aggregation.columns[0]
        total = over.result(Sum(text), self._wide())
        return [total, over.result(Count(text), pa.int64())][: len(self.fields)]

    def merge(self, over: WindowResults) -> list[pa.Array]:
        total = over.result(Sum(self.names[0]), self._wide())
        counts = [over.result(Sum(name), pa.int64()) for name in self.names[1:]]
        return [total, *(pc.fill_null(count, 0) for count in counts)]

    def results(self, over: WindowResults, kind: Any) -> pa.Array:
        if len(self.fields) == 1:
            return over.result(Sum(self.names[0]), kind)
        total, counts = self.merge(over)
        if pt.is_duration(kind):
            found, many = numbers(total), counts.to_numpy()
            assert found is not None
            return from_numbers(rounded_mean(found, many), many == 0, kind)
        sums = exact_sum(total, lambda limb: limb)  # every sum in units of its last digit
        means = exact_mean(sums, counts.to_numpy(), kind.scale - self.types[0].scale)
        means[counts.to_numpy() == 0] = None
        return from_numbers(means, None, kind)
