"""States as columns of a table: what a slice of rows sends in place of its rows.

    rows of a slice ──make──▶ state columns ──(a shuffle, a file, a state store)──▶ windows over
                                                                   slices ──answer──▶ results

An aggregation says what its states are, and how they travel follows. A tuple of numbers is a column
a field, of the types that the fields mean: values as the values that they are, arguments as what
stands there. Sketches send the bytes of their rows, lists are sent as lists, and a state that only
the interpreter knows is encoded.

A column is named by what it holds, so aggregations that need the same (a mean, a sum and a count of
one column) send it once.
"""

# ruff: noqa: D102  # what the methods do is said on Part

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.aggregations.collections import Collect, CollectDistinct
from windrow.aggregations.count import Count
from windrow.aggregations.custom import Custom
from windrow.aggregations.hashing import hash64
from windrow.aggregations.sums import Sum
from windrow.errors import Unsupported
from windrow.kernels.generate import dtype_of
from windrow.kernels.headed import SINGLE
from windrow.kernels.monoids import Monoid, compiled_state
from windrow.kernels.states import Partials, merge, merge_partials, partials
from windrow.queries.plan import form_of
from windrow.stores.encoding import decode, encode
from windrow.tables.columns import from_numbers, nulls_of
from windrow.tables.decimals import exact_mean, exact_sum
from windrow.tables.results import (
    SortedColumns,
    Values,
    WindowResults,
    array_of,
    numbered,
    restored,
)
from windrow.tables.sort import TableRows, rows_in_place
from windrow.tables.types import compiled_type, is_number, kind_of, plain
from windrow.windows.positions import Windows

_MOST_DIGITS = 38
_ARROW = {"float64": pa.float64(), "int64": pa.int64(), "boolean": pa.bool_()}
_BLOCK = 1 << 22  # bytes of sketches that lie open at a time


class StateColumns:
    """The partial aggregates of named aggregations; `types` has the type of each column they read.

    >>> from windrow import Mean, Sum
    >>> parts = StateColumns([("a", Mean("x")), ("b", Sum("x"))], {"x": pa.int64()})
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

    def native(self) -> dict[str, str] | None:
        """An expression of Spark's SQL that makes each column; None if one of them has none."""
        made: dict[str, str] = {}
        for part in self.parts.values():
            found = part.native()
            if found is None:
                return None
            made.update(found)
        return made

    def make(self, over: WindowResults) -> dict[str, pa.Array]:
        """The columns for windows over rows, in the order of the windows."""
        return self._columns(over, merging=False)

    def lift(self, column: Callable[[str], Any], n: int) -> dict[str, pa.Array]:
        """The columns for n rows, each travelling by itself."""
        rows, alone = rows_in_place(n), np.arange(n)
        windows = Windows(rows.starts, lo=alone, hi=alone + 1)
        return self.make(WindowResults(SortedColumns(column, rows), windows))

    def merge(self, over: WindowResults) -> dict[str, pa.Array]:
        """The same columns for windows over rows of partial columns, which `over` reads."""
        return self._columns(over, merging=True)

    def results(
        self, over: WindowResults, kinds: Mapping[str, pa.DataType | None]
    ) -> dict[str, pa.Array]:
        """The answers, of the types `kinds`, for windows over rows of partial columns."""
        return {name: part.results(over, kinds[name]) for name, part in self.parts.items()}

    def _columns(self, over: WindowResults, merging: bool) -> dict[str, pa.Array]:
        made: dict[str, pa.Array] = {}
        for part in self._order:
            if any(f.name not in made for f in part.fields):
                arrays = part.merge(over) if merging else part.make(over)
                made.update(zip(part.names, arrays, strict=True))
        return {field.name: made[field.name] for field in self.fields}


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
        if added and not (is_number(kind) or pt.is_decimal(kind)):
            return None
        column = (
            "`{}`".format(self.aggregation.columns[0].replace("`", "``")) if self.types else "1"
        )
        column = f"cast({column} as long)" if pt.is_boolean(kind) else column
        home = len("partial:") + len(self.aggregation.state_names)
        found = {name: name[home:].partition(":")[0] for name in self.names}
        if not all(field in known for field in found.values()):
            return None
        return {name: known[field].format(column) for name, field in found.items()}

    def own(self, field: str, kind: pa.DataType) -> pa.Field:
        """A column that no other aggregation can use."""
        return pa.field(f"partial::{self.name}:{field}", kind)

    def shared(self, field: str, kind: pa.DataType, columns: Sequence[str] = ()) -> pa.Field:
        """A column that every aggregation of the same columns that needs it can use."""
        of = columns or self.aggregation.columns[:1]
        return pa.field(f"partial:{self.aggregation.state_names}{field}:{':'.join(of)}", kind)


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
    if aggregation.takes == "summable" and types and pt.is_decimal(types[0]):
        return DecimalSum(name, aggregation, types)
    objects = form_of(aggregation, list(map(kind_of, types))) == "objects"
    if aggregation.functions is not None:
        return (Encoded if objects else Numbers)(name, aggregation, types)
    if aggregation.algebra("int64") is not None and objects:
        return Encoded(name, aggregation, types)
    if aggregation.algebra("int64") is not None:
        return (Picked if _is_own_state(aggregation) else Numbers)(name, aggregation, types)
    if aggregation.rows("int64") is not None:
        return Sketch(name, aggregation, types)
    return (Encoded if aggregation.listing is None else Listed)(name, aggregation, types)


def _is_own_state(aggregation: Aggregation) -> bool:
    """Whether a result stands for its window: the largest value, the first one."""
    algebra = aggregation.algebra("int64")
    assert algebra is not None
    kinds = [kind for _, kind in algebra.fields]
    return bool(aggregation.kernel) and kinds == ["value"] and aggregation.result == "value"


def bound_to(aggregation: Aggregation, *columns: str) -> Aggregation:
    """The same aggregation of other columns.

    >>> from windrow import Max
    >>> bound_to(Max("load"), "peak")
    Max('peak')
    """
    made = copy.copy(aggregation)
    made.columns = columns
    return made


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
        algebra = self.aggregation.algebra(self.dtypes[0])
        if algebra is None:  # a user's own functions
            compiled = compiled_state(self.aggregation, self.dtypes)
            assert isinstance(compiled, Monoid)
            self.kinds = list(compiled.fields)
            return [self.own(str(i), _ARROW[kind]) for i, kind in enumerate(self.kinds)]
        self.kinds = [kind for _, kind in algebra.fields]
        made = []
        for name, kind in algebra.fields:
            if kind == "value":
                made.append(self.shared(name, of[0]))
            elif kind == "argument":
                made.append(self.shared(name, of[-1], self.aggregation.columns))
            else:
                made.append(self.shared(name, _ARROW[kind]))
        return made

    def make(self, over: WindowResults) -> list[pa.Array]:
        columns = self.aggregation.columns
        if self.aggregation.functions is not None:
            given = [over.values(text) for text in columns]
        elif columns:
            given = [over.values_for(self.aggregation)]
        else:
            given = [Values(np.zeros(over.laid.size, np.int64), None)]
        values = [each for each in given if each is not None]
        made = partials(
            self.aggregation,
            [_machine_numbers(v.data) for v in values],
            over.windows,
            nulls=[v.nulls for v in values],
            threads=over.laid.threads,
        )
        return self._arrays(
            made, values[0].back, lambda at, gone: over.picked(columns[-1], at, gone)
        )

    def _arrays(self, made: Partials, back: Any, picked: Any) -> list[pa.Array]:
        """Null where there is no value; a count is 0 there."""
        arrays = []
        for field, kind, values in zip(self.fields, self.kinds, made.fields, strict=True):
            if kind == "argument":
                arrays.append(picked(values, made.missing))
            elif kind == "value" and back is not None:
                arrays.append(back(values, made.missing))
            else:
                counts = field.name.startswith("partial:count:")
                arrays.append(from_numbers(values, None if counts else made.missing, field.type))
        return arrays

    def _sent(self, over: WindowResults) -> tuple[str, Partials, Any, Any]:
        """The states, and what gives the values and the arguments that their numbers stand for.

        A number that stands for an argument is a position in all columns of arguments, one after
        the other; values of several columns are ranked together.
        """
        laid, n = over.laid, over.laid.size
        rows = laid.rows(np.arange(n))
        arrays = [over.array(name) for name in self.names]
        measured = [a for a, kind in zip(arrays, self.kinds, strict=True) if kind == "value"]
        argued = [a for a, kind in zip(arrays, self.kinds, strict=True) if kind == "argument"]
        found = numbered(_joined(measured), self.aggregation.takes) if measured else None
        dtype = self.dtypes[0] if found is None else str(_machine_numbers(found.data).dtype)
        fields: list[NDArray[Any]] = []
        values = arguments = 0
        for name, kind in zip(self.names, self.kinds, strict=True):
            if kind == "argument":
                fields.append(rows + np.int64(arguments * n))
                arguments += 1
            elif kind == "value":
                assert found is not None
                data = _machine_numbers(found.data[values * n : (values + 1) * n])
                fields.append(laid.sorted(data))
                values += 1
            else:
                given = over.values(name)
                assert given is not None
                fields.append(given.data.astype(dtype_of(kind), copy=False))
        gone = [
            nulls
            for name, kind in zip(self.names, self.kinds, strict=True)
            if kind != "argument" and (nulls := over.columns.nulls(name)) is not None
        ]
        states = Partials(tuple(fields), np.logical_or.reduce(gone) if gone else None)
        everything: Any = _joined(argued) if argued else None
        return (
            dtype,
            states,
            None if found is None else found.back,
            lambda at, gone: everything.take(pa.array(at, mask=gone)),
        )

    def merge(self, over: WindowResults) -> list[pa.Array]:
        dtype, states, back, picked = self._sent(over)
        made = merge_partials(
            self.aggregation, [dtype, *self.dtypes[1:]], states, over.windows,
            threads=over.laid.threads,
        )  # fmt: skip
        return self._arrays(made, back, picked)

    def results(self, over: WindowResults, kind: Any) -> pa.Array:
        dtype, states, back, picked = self._sent(over)
        made = merge(
            self.aggregation, [dtype, *self.dtypes[1:]], states, over.windows,
            threads=over.laid.threads,
        )  # fmt: skip
        if self.aggregation.least > 1:  # too few values have no result: null
            counts = pc.fill_null(over.result(Sum(self.names[0]), pa.int64()), 0)
            made = type(made)(made.values, counts.to_numpy() < self.aggregation.least)
        source = self.types[0] if self.types else pa.int64()
        return restored(self.aggregation, made, kind, source, back, picked)


def _machine_numbers(data: NDArray[Any]) -> NDArray[Any]:
    """Numbers in a type that the compiled functions know."""
    return data.astype(np.float64 if data.dtype.kind == "f" else np.int64, copy=False)


def _joined(arrays: list[pa.Array]) -> pa.Array:
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


class DecimalSum(Part):
    """Sum and Mean of decimals: the exact sum, and for a mean the count."""

    def schema(self) -> list[pa.Field]:
        fields = [self.shared("sum", self._wide()), self.shared("count", pa.int64())]
        return fields if self.aggregation.result == "mean" else fields[:1]

    def _wide(self) -> pa.DataType:
        return pa.decimal128(_MOST_DIGITS, self.types[0].scale)

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
        sums = exact_sum(total, lambda limb: limb)  # every sum in units of its last digit
        means = exact_mean(sums, counts.to_numpy(), kind.scale - self.types[0].scale)
        means[counts.to_numpy() == 0] = None
        return from_numbers(means, None, kind)


# -- lists --------------------------------------------------------------------------------------


class Listed(Part):
    """A list of values; windows over slices are windows over the values of their lists."""

    def schema(self) -> list[pa.Field]:
        listing = self.aggregation.listing
        assert listing is not None
        return [self.shared(listing.field, pa.list_(self.types[0]))]

    def _collected(self, text: str) -> Aggregation:
        """The aggregation that makes the lists."""
        listing = self.aggregation.listing
        assert listing is not None
        if listing.distinct:
            return CollectDistinct(text)
        whole = listing.first is None and listing.last is None
        return Collect(text) if whole else bound_to(self.aggregation, text)

    def make(self, over: WindowResults) -> list[pa.Array]:
        kind = self.fields[0].type
        made = over.result(self._collected(self.aggregation.columns[0]), kind)
        return [made.cast(kind)]

    def merge(self, over: WindowResults) -> list[pa.Array]:
        kind = self.fields[0].type
        inner = _flattened(over, self.names[0])
        return [inner.result(self._collected(self.names[0]), kind).cast(kind)]

    def results(self, over: WindowResults, kind: Any) -> pa.Array:
        inner = _flattened(over, self.names[0])
        return inner.result(bound_to(self.aggregation, self.names[0]), kind)


def _flattened(over: WindowResults, name: str) -> WindowResults:
    """The values of a column of lists, and windows over them in place of windows over the lists."""
    lists = over.array(name)
    laid = over.laid
    if laid.order is not None:
        lists = lists.take(pa.array(laid.order))
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    lo, hi = over.windows.bounds()
    ends = offsets[[0, -1]]
    values = lists.flatten()
    inside = Windows(ends, lo=offsets[lo], hi=offsets[hi])
    flat = TableRows(ends, ends, threads=laid.threads)
    return WindowResults(SortedColumns(lambda _: values, flat), inside)


# -- what is sent as bytes ----------------------------------------------------------------------


class Sketch(Part):
    """A sketch: the bytes of its row.

    Of a slice with a single value only the head is sent, so small slices stay small.
    """

    def schema(self) -> list[pa.Field]:
        self.dtype = compiled_type(self.types[0])
        self.by_hash = self.aggregation.takes == "hashable" and not is_number(self.types[0])
        compiled = self.aggregation.rows(self.dtype)
        assert compiled is not None
        self.compiled = compiled
        self.row_bytes = compiled.width * np.dtype(compiled.dtype).itemsize
        return [self.own("sketch", pa.binary())]

    def make(self, over: WindowResults) -> list[pa.Array]:
        (text,) = self.aggregation.columns
        array = over.array(text)
        if self.by_hash:
            nulls = nulls_of(array)
            data = over.laid.sorted(_hashes(array, self.aggregation))
            values = Values(data, None if nulls is None else over.laid.sorted(nulls))
        else:
            found = over.values(text)
            assert found is not None
            values = Values(_machine_numbers(found.data), found.nulls)
        made = [
            self._bytes(
                partials(
                    self.aggregation,
                    [values.data],
                    block,
                    nulls=[values.nulls],
                    threads=over.laid.threads,
                    hashed=self.by_hash,
                )
            )
            for block in self._blocks(over.windows)
        ]
        return [pa.concat_arrays(made)]

    def merge(self, over: WindowResults) -> list[pa.Array]:
        made = [
            self._bytes(merge_partials(self.aggregation, [self.dtype], rows, block))
            for rows, block in self._sent(over)
        ]
        return [pa.concat_arrays(made)]

    def results(self, over: WindowResults, kind: Any) -> pa.Array:
        made = [
            array_of(merge(self.aggregation, [self.dtype], rows, block), kind)
            for rows, block in self._sent(over)
        ]
        return pa.concat_arrays(made)

    def _blocks(self, windows: Windows) -> Iterator[Windows]:
        """Some windows after the other, so that not all rows lie open at once; at least once."""
        lo, hi = windows.bounds()
        step = max(64, _BLOCK // self.row_bytes)
        for a in range(0, max(1, lo.size), step):
            yield Windows(windows.starts, lo=lo[a : a + step], hi=hi[a : a + step])

    def _sent(self, over: WindowResults) -> Iterator[tuple[Partials, Windows]]:
        """The rows that a block of windows needs, and the windows over them."""
        array = over.array(self.names[0])
        if over.laid.order is not None:
            array = array.take(pa.array(over.laid.order))
        for block in self._blocks(over.windows):
            lo, hi = block.bounds()
            first, past = (int(lo[0]), int(hi[-1])) if lo.size else (0, 0)
            rows = self._rows(array.slice(first, past - first))
            ends = np.array([0, past - first])
            yield Partials((rows,)), Windows(ends, lo=lo - first, hi=hi - first)

    def _bytes(self, made: Partials) -> pa.Array:
        rows = np.ascontiguousarray(made.fields[0])
        raw = rows.view(np.uint8).reshape(len(rows), self.row_bytes)
        sizes = np.full(len(rows), self.row_bytes)
        if self.compiled.head:
            sizes[rows[:, 0] == SINGLE] = self.compiled.head
        if made.missing is not None:
            sizes[made.missing] = 0
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        data = raw[np.arange(self.row_bytes) < sizes[:, None]]
        gone = pa.array(sizes > 0).buffers()[1]
        buffers = [gone, pa.py_buffer(offsets), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.binary(), len(rows), buffers)

    def _rows(self, array: pa.Array) -> NDArray[Any]:
        """The way back; a row of zeros for a null."""
        array = pc.fill_null(array.cast(pa.binary()), b"")
        raw = np.zeros((len(array), self.row_bytes), np.uint8)
        if len(array):
            _, ends, data = array.buffers()
            offsets = np.frombuffer(ends, np.int32)[array.offset : array.offset + len(array) + 1]
            sizes = np.diff(offsets)
            sent = np.frombuffer(data or b"", np.uint8)[offsets[0] : offsets[-1]]
            raw[np.arange(self.row_bytes) < sizes[:, None]] = sent
        return raw.view(self.compiled.dtype)


def _hashes(array: pa.Array, asker: object) -> NDArray[np.int64]:
    """The hash of each value; each distinct one is hashed once."""
    encoded = array.dictionary_encode()
    known = [hash64(value, asker) for value in encoded.dictionary.to_pylist()]
    codes = pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False)
    made: NDArray[np.int64] = np.array([*known, 0], np.uint64).view(np.int64)[codes]
    return made


class Encoded(Part):
    """A state that only the interpreter knows, encoded."""

    def schema(self) -> list[pa.Field]:
        return [self.own("state", pa.binary())]

    def make(self, over: WindowResults) -> list[pa.Array]:
        unit = self.aggregation.unit
        return [self._result(over, self.aggregation.columns, unit, encode).cast(pa.binary())]

    def merge(self, over: WindowResults) -> list[pa.Array]:
        return [self._result(over, self.names, decode, encode).cast(pa.binary())]

    def results(self, over: WindowResults, kind: Any) -> pa.Array:
        return self._result(over, self.names, decode, self.aggregation.lower, kind)

    def _result(
        self, over: WindowResults, columns: Any, lift: Any, lower: Any, kind: Any = None
    ) -> pa.Array:
        given = {"lift": lift, "combine": self.aggregation.combine, "lower": lower}
        if self.aggregation.identity is not None:
            given["identity"] = self.aggregation.identity
        return over.result(Custom(*columns, **given), kind)
