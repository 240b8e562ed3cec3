"""States that are lists or bytes as columns of a table: lists, sketches, encoded values."""

# ruff: noqa: D102  # what the methods do is said on Part

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.aggregations.algebra import BulkAlgebra
from windrow.aggregations.base import Aggregation
from windrow.aggregations.collections import Collect, CollectDistinct
from windrow.aggregations.custom import Custom
from windrow.aggregations.ends import FirstN, LastN
from windrow.aggregations.hashing import hash64
from windrow.kernels.sketch_rows import SINGLE
from windrow.kernels.states import States, merge, merged_states, states_of
from windrow.stores.encoding import decode, encode
from windrow.tables.columns import as_arrow, nulls_of
from windrow.tables.result_columns import result_column
from windrow.tables.results import SortedColumns, Values, WindowResults
from windrow.tables.sort import TableRows
from windrow.tables.state_numbers import Part, bound_to, machine_numbers
from windrow.tables.types import compiled_type, is_number, kind_of
from windrow.windows.positions import Windows

_BLOCK = 1 << 22  # bytes of sketches that lie open at a time


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
        if listing.first is not None:
            return FirstN(text, n=listing.first)
        if listing.last is not None:
            return LastN(text, n=listing.last)
        return bound_to(self.aggregation, text) if listing.top else Collect(text)

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
    sorted_rows = over.sorted_rows
    if sorted_rows.order is not None:
        lists = lists.take(pa.array(sorted_rows.order.rows))
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    lo, hi = over.windows.bounds()
    ends = offsets[[0, -1]]
    values = lists.flatten()
    inside = Windows(ends, lo=offsets[lo], hi=offsets[hi])
    flat = TableRows(ends, ends, threads=sorted_rows.threads)
    return WindowResults(SortedColumns(lambda _: values, flat), inside)


# -- what is sent as bytes ----------------------------------------------------------------------


class SketchBytes(Part):
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
            data = over.sorted_rows.sorted(_hashes(array, self.aggregation))
            values = Values(data, None if nulls is None else over.sorted_rows.sorted(nulls))
        else:
            found = over.values(text)
            assert found is not None
            values = Values(machine_numbers(found.data), found.nulls)
        made = [
            self._bytes(
                states_of(
                    self.aggregation,
                    [values.data],
                    block,
                    nulls=[values.nulls],
                    threads=over.sorted_rows.threads,
                    hashed=self.by_hash,
                )
            )
            for block in self._blocks(over.windows)
        ]
        return [pa.concat_arrays(made)]

    def merge(self, over: WindowResults) -> list[pa.Array]:
        made = [
            self._bytes(merged_states(self.aggregation, [self.dtype], rows, block))
            for rows, block in self._sent(over)
        ]
        return [pa.concat_arrays(made)]

    def results(self, over: WindowResults, kind: Any) -> pa.Array:
        made = [
            as_arrow(result_column(merge(self.aggregation, [self.dtype], rows, block), kind))
            for rows, block in self._sent(over)
        ]
        return pa.concat_arrays(made)

    def _blocks(self, windows: Windows) -> Iterator[Windows]:
        """Some windows after the other, so that not all rows lie open at once; at least once."""
        lo, hi = windows.bounds()
        step = max(64, _BLOCK // self.row_bytes)
        for a in range(0, max(1, lo.size), step):
            yield Windows(windows.starts, lo=lo[a : a + step], hi=hi[a : a + step])

    def _sent(self, over: WindowResults) -> Iterator[tuple[States, Windows]]:
        """The rows that a block of windows needs, and the windows over them."""
        array = over.array(self.names[0])
        if over.sorted_rows.order is not None:
            array = array.take(pa.array(over.sorted_rows.order.rows))
        for block in self._blocks(over.windows):
            lo, hi = block.bounds()
            first, past = (int(lo[0]), int(hi[-1])) if lo.size else (0, 0)
            rows = self._rows(array.slice(first, past - first))
            ends = np.array([0, past - first])
            yield States((rows,)), Windows(ends, lo=lo - first, hi=hi - first)

    def _bytes(self, made: States) -> pa.Array:
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


class Foreign(Part):
    """A sketch of another library: its own bytes, which Spark may know how to make."""

    def schema(self) -> list[pa.Field]:
        return [self.shared(self._bulk.field, pa.binary())]

    @property
    def _bulk(self) -> BulkAlgebra:
        bulk = self.aggregation.bulk()
        assert bulk is not None
        return bulk

    def make(self, over: WindowResults) -> list[pa.Array]:
        merge = self.aggregation.takes == "sketch"
        return [over.result(self._bulk.variant(merge=merge, sketch=True), pa.binary())]

    def merge(self, over: WindowResults) -> list[pa.Array]:
        joined = self._bulk.variant(merge=True, sketch=True)
        return [over.result(bound_to(joined, *self.names), pa.binary())]

    def results(self, over: WindowResults, kind: Any) -> pa.Array:
        joined = self._bulk.variant(merge=True, sketch=self.aggregation.result == "bytes")
        return over.result(bound_to(joined, *self.names), kind)

    def native(self) -> dict[str, str] | None:
        return super().native() if kind_of(self.types[0]) in self._bulk.spark_kinds else None


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
