"""Partial aggregates that are states: of numbers, of sketches, of a user's own functions."""

# ruff: noqa: D102  # what a part's methods do is said on Part

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from windrow.aggregations.custom import Custom
from windrow.aggregations.extrema import Max, Min
from windrow.aggregations.hashing import hash64
from windrow.aggregations.sums import Sum
from windrow.compiled.answers import Answers
from windrow.compiled.generate import dtype_of
from windrow.compiled.headed import HEAD, SINGLE
from windrow.compiled.partials import Partials, merge, merge_partials, partials, states_of
from windrow.compiled.rows import Rows
from windrow.compiled.segmentation import Windows
from windrow.engines.answers import Answerer, Values, _array
from windrow.engines.columns import from_numbers, nulls_of, numbers, ranks
from windrow.engines.parts import Part, shared
from windrow.engines.types import is_number
from windrow.stores.encoding import decode, encode

_ARROW = {"float64": pa.float64(), "int64": pa.int64(), "boolean": pa.bool_()}
_SUM = ("sum", "rest", "count")
# what the fields of a compiled state hold, for those that other aggregations need as well
_FIELDS = {
    **dict.fromkeys(("Variance", "StdDev"), ("count", "centre", "squares")),
    "GeometricMean": ("log", "logrest", "count"),
    "Product": ("factor", "exponent"),
}
_BLOCK = 1 << 22  # bytes of sketches that lie open at a time
_HEAD_BYTES = 8 * HEAD


def compiled_type(kind: pa.DataType) -> str:
    """The type that the compiled path takes a column as."""
    return "float64" if pt.is_floating(kind) else "int64"


def _given(values: Values) -> NDArray[Any]:
    """Numbers in a type that the compiled path knows."""
    return values.data.astype(np.float64 if values.data.dtype.kind == "f" else np.int64, copy=False)


def _back(data: NDArray[Any], levels: pa.Array | None, missing: Any, kind: pa.DataType) -> pa.Array:
    """Numbers, or ranks among `levels`, as values of type `kind`."""
    if levels is None:
        return from_numbers(data, missing, kind)
    return levels.take(pa.array(data, mask=missing))


class Numbers(Part):
    """Sum, Mean, Variance and the like, and a user's own that compiles: the fields of its state."""

    def schema(self) -> list[pa.Field]:
        self.dtypes = tuple(map(compiled_type, self.types))
        compiled = states_of(self.aggregation, self.dtypes)
        assert not isinstance(compiled, Rows)
        self.dtypes_of_fields = [dtype_of(field) for field in compiled.fields]
        kinds = [_ARROW[field] for field in compiled.fields]
        kind, columns = type(self.aggregation).__name__, self.aggregation.columns
        if isinstance(self.aggregation, Custom):
            return [self.own(str(i), each) for i, each in enumerate(kinds)]
        names = _FIELDS.get(kind)
        if names is None:  # Sum, Mean: whole numbers leave no rest
            names = _SUM if self.dtypes[0] == "float64" else ("sum", "count")
        return [shared(name, columns[0], each) for name, each in zip(names, kinds, strict=False)]

    def make(self, answerer: Answerer) -> list[pa.Array]:
        given = [answerer.values(text) for text in self.aggregation.columns]
        values = [each for each in given if each is not None]
        made = partials(
            self.aggregation,
            [_given(v) for v in values],
            answerer.windows,
            nulls=[v.nulls for v in values],
            threads=answerer.laid.threads,
        )
        return self._arrays(made)

    def _arrays(self, made: Partials) -> list[pa.Array]:
        """Null where there is no value; a count is 0 there."""
        counts = [name.startswith("partial:count:") for name in self.names]
        return [
            pa.array(field, mask=None if count else made.missing)
            for field, count in zip(made.fields, counts, strict=True)
        ]

    def _sent(self, answerer: Answerer) -> Partials:
        columns = [answerer.values(name) for name in self.names]
        fields = tuple(
            c.data.astype(dtype, copy=False)
            for c, dtype in zip(columns, self.dtypes_of_fields, strict=True)
            if c is not None
        )
        gone = [c.nulls for c in columns if c is not None and c.nulls is not None]
        return Partials(fields, np.logical_or.reduce(gone) if gone else None)

    def merge(self, answerer: Answerer) -> list[pa.Array]:
        sent, threads = self._sent(answerer), answerer.laid.threads
        made = merge_partials(
            self.aggregation, self.dtypes, sent, answerer.windows, threads=threads
        )
        return self._arrays(made)

    def answer(self, answerer: Answerer, kind: Any) -> pa.Array:
        sent, threads = self._sent(answerer), answerer.laid.threads
        made = merge(self.aggregation, self.dtypes, sent, answerer.windows, threads=threads)
        ddof = getattr(self.aggregation, "ddof", 0)
        if ddof and np.isnan(made.values).any():  # too few values have no variance: null
            counts = pc.fill_null(answerer.answer(Sum(self.names[0]), pa.int64()), 0)
            made = Answers(made.values, counts.to_numpy() <= ddof)
        return _array(made, kind)


class Tally(Part):
    """MaxCount, MinCount: the extreme value, and how often it occurs."""

    def schema(self) -> list[pa.Field]:
        return [self.own("value", self.types[0]), self.own("count", pa.int64())]

    def make(self, answerer: Answerer) -> list[pa.Array]:
        (text,) = self.aggregation.columns
        extreme = Max(text) if type(self.aggregation).__name__ == "MaxCount" else Min(text)
        return [
            answerer.answer(extreme, self.types[0]),
            answerer.answer(self.aggregation, pa.int64()),
        ]

    def _sent(self, answerer: Answerer) -> tuple[str, Partials, pa.Array | None]:
        values = answerer.values(self.names[0], ranked=True)
        counts = answerer.values(self.names[1])
        assert values is not None and counts is not None
        data = _given(values)
        return str(data.dtype), Partials((data, counts.data), values.nulls), values.ranked

    def merge(self, answerer: Answerer) -> list[pa.Array]:
        dtype, sent, levels = self._sent(answerer)
        made = merge_partials(
            self.aggregation, [dtype], sent, answerer.windows, threads=answerer.laid.threads
        )
        value = _back(made.fields[0], levels, made.missing, self.types[0])
        return [value, pa.array(made.fields[1], mask=made.missing)]

    def answer(self, answerer: Answerer, kind: Any) -> pa.Array:
        dtype, sent, _ = self._sent(answerer)
        made = merge(
            self.aggregation, [dtype], sent, answerer.windows, threads=answerer.laid.threads
        )
        return _array(made, kind)


# the fields of a compiled run: what is a number, a value, and a position
_RUN_NUMBERS = {"size": 0, "head": 3, "longest": 6, "tail": 9}
_RUN_VALUES = {"first": 1, "last": 2}
_RUN_ENDS = {
    "head_start": 4,
    "head_end": 5,
    "longest_start": 7,
    "longest_end": 8,
    "tail_start": 10,
    "tail_end": 11,
}


class Runs(Part):
    """LongestRun: the runs at both ends and the longest, with what `at` says where they end."""

    def schema(self) -> list[pa.Field]:
        value, at = self.types
        return [
            *(self.own(field, pa.int64()) for field in _RUN_NUMBERS),
            *(self.own(field, value) for field in _RUN_VALUES),
            *(self.own(field, at) for field in _RUN_ENDS),
        ]

    def make(self, answerer: Answerer) -> list[pa.Array]:
        measure, at = self.aggregation.columns
        values = answerer.values(measure, ranked=True)
        assert values is not None
        made = partials(
            self.aggregation,
            [_given(values)],
            answerer.windows,
            nulls=[values.nulls],
            threads=answerer.laid.threads,
        )
        ends = answerer.array(at)
        return self._arrays(made, values.ranked, lambda where: answerer.laid.rows(where), ends)

    def _arrays(
        self, made: Partials, levels: pa.Array | None, rows: Any, ends: pa.Array
    ) -> list[pa.Array]:
        gone = made.missing
        return [
            *(pa.array(made.fields[i], mask=gone) for i in _RUN_NUMBERS.values()),
            *(_back(made.fields[i], levels, gone, self.types[0]) for i in _RUN_VALUES.values()),
            *(ends.take(pa.array(rows(made.fields[i]), mask=gone)) for i in _RUN_ENDS.values()),
        ]

    def _sent(self, answerer: Answerer) -> tuple[str, Partials, pa.Array | None, pa.Array]:
        """The states; a position in them is one in the ends of all columns, which come last."""
        laid, n = answerer.laid, answerer.laid.size
        columns = dict(zip(self.names, map(answerer.array, self.names), strict=True))
        by_field = {name.rpartition(":")[2]: array for name, array in columns.items()}
        edges = pa.concat_arrays([by_field[field] for field in _RUN_VALUES])
        data, levels = numbers(edges), None
        if data is None:
            data, levels = ranks(edges)
        data = _given(Values(data, None))
        rows = laid.rows(np.arange(n))
        fields: dict[int, NDArray[Any]] = {}
        for field, i in _RUN_NUMBERS.items():
            fields[i] = laid.sorted(np.asarray(numbers(by_field[field])))
        for k, i in enumerate(_RUN_VALUES.values()):
            fields[i] = laid.sorted(np.ascontiguousarray(data[k * n : (k + 1) * n]))
        for k, i in enumerate(_RUN_ENDS.values()):
            fields[i] = rows + np.int64(k * n)
        nulls = nulls_of(by_field["size"])
        sent = Partials(
            tuple(fields[i] for i in sorted(fields)), None if nulls is None else laid.sorted(nulls)
        )
        ends = pa.concat_arrays([by_field[field] for field in _RUN_ENDS])
        return str(data.dtype), sent, levels, ends

    def merge(self, answerer: Answerer) -> list[pa.Array]:
        dtype, sent, levels, ends = self._sent(answerer)
        made = merge_partials(
            self.aggregation, [dtype], sent, answerer.windows, threads=answerer.laid.threads
        )
        return self._arrays(made, levels, lambda where: where, ends)

    def answer(self, answerer: Answerer, kind: Any) -> pa.Array:
        dtype, sent, _, ends = self._sent(answerer)
        made = merge(
            self.aggregation, [dtype], sent, answerer.windows, threads=answerer.laid.threads
        )
        start, end = (
            ends.take(pa.array(np.ascontiguousarray(made.values[edge]), mask=made.missing))
            for edge in ("start", "end")
        )
        length = pa.array(np.ascontiguousarray(made.values["length"]), mask=made.missing)
        span = pc.subtract(end, start).cast(kind.field("span").type)
        null = None if made.missing is None else pa.array(made.missing)
        return pa.StructArray.from_arrays([start, end, length, span], fields=list(kind), mask=null)


class Sketch(Part):
    """Bloom, CountMin, HyperLogLog, MomentSketch: the bytes of its row.

    Of a slice with a single value only the head is sent, so small slices stay small.
    """

    def schema(self) -> list[pa.Field]:
        self.dtype = compiled_type(self.types[0])
        self.by_hash = self.aggregation.takes == "hashable" and not is_number(self.types[0])
        compiled = states_of(self.aggregation, (self.dtype,))
        assert isinstance(compiled, Rows)
        self.compiled = compiled
        self.row_bytes = compiled.width * np.dtype(compiled.dtype).itemsize
        return [self.own("sketch", pa.binary())]

    def make(self, answerer: Answerer) -> list[pa.Array]:
        (text,) = self.aggregation.columns
        array = answerer.array(text)
        if self.by_hash:
            nulls = nulls_of(array)
            data = answerer.laid.sorted(_hashes(array, self.aggregation))
            values = Values(data, None if nulls is None else answerer.laid.sorted(nulls))
        else:
            found = answerer.values(text)
            assert found is not None
            values = Values(_given(found), found.nulls)
        made = [
            self._bytes(
                partials(
                    self.aggregation,
                    [values.data],
                    block,
                    nulls=[values.nulls],
                    threads=answerer.laid.threads,
                    hashed=self.by_hash,
                )
            )
            for block in self._blocks(answerer.windows)
        ]
        return [pa.concat_arrays(made)]

    def merge(self, answerer: Answerer) -> list[pa.Array]:
        made = [
            self._bytes(merge_partials(self.aggregation, [self.dtype], rows, block))
            for rows, block in self._sent(answerer)
        ]
        return [pa.concat_arrays(made)]

    def answer(self, answerer: Answerer, kind: Any) -> pa.Array:
        made = [
            _array(merge(self.aggregation, [self.dtype], rows, block), kind)
            for rows, block in self._sent(answerer)
        ]
        return pa.concat_arrays(made)

    def _blocks(self, windows: Windows) -> Iterator[Windows]:
        """Some windows after the other, so that not all rows lie open at once; at least once."""
        lo, hi = windows.bounds()
        step = max(64, _BLOCK // self.row_bytes)
        for a in range(0, max(1, lo.size), step):
            yield Windows(windows.starts, lo=lo[a : a + step], hi=hi[a : a + step])

    def _sent(self, answerer: Answerer) -> Iterator[tuple[Partials, Windows]]:
        """The rows that a block of windows needs, and the windows over them."""
        array = answerer.array(self.names[0])
        if answerer.laid.order is not None:
            array = array.take(pa.array(answerer.laid.order))
        for block in self._blocks(answerer.windows):
            lo, hi = block.bounds()
            first, past = (int(lo[0]), int(hi[-1])) if lo.size else (0, 0)
            rows = self._rows(array.slice(first, past - first))
            ends = np.array([0, past - first])
            yield Partials((rows,)), Windows(ends, lo=lo - first, hi=hi - first)

    def _bytes(self, made: Partials) -> pa.Array:
        rows = np.ascontiguousarray(made.fields[0])
        raw = rows.view(np.uint8).reshape(len(rows), self.row_bytes)
        sizes = np.full(len(rows), self.row_bytes)
        if type(self.aggregation).__name__ != "MomentSketch":
            sizes[rows[:, 0] == SINGLE] = _HEAD_BYTES
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
    """A user's own that does not compile: its states, encoded."""

    def schema(self) -> list[pa.Field]:
        return [self.own("state", pa.binary())]

    def make(self, answerer: Answerer) -> list[pa.Array]:
        lift = self.aggregation.parameters()["lift"]
        return [self._answer(answerer, self.aggregation.columns, lift, encode).cast(pa.binary())]

    def merge(self, answerer: Answerer) -> list[pa.Array]:
        return [self._answer(answerer, self.names, decode, encode).cast(pa.binary())]

    def answer(self, answerer: Answerer, kind: Any) -> pa.Array:
        lower = self.aggregation.parameters()["lower"]
        return self._answer(answerer, self.names, decode, lower, kind)

    def _answer(
        self, answerer: Answerer, columns: Any, lift: Any, lower: Any, kind: Any = None
    ) -> pa.Array:
        given = {**self.aggregation.parameters(), "lift": lift, "lower": lower}
        given.pop("inverse", None)
        return answerer.answer(Custom(*columns, **given), kind)
