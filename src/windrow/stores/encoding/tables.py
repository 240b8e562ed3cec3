"""Arrow tables as bytes: each table's one batch in Arrow's own layout, without its schema.

The body of the frame is the tag `W`, five zeros so that batches begin at a multiple of eight, and
the batches. Readers know the schemas, so a chunk of a few rows is hardly longer than its values.
Large batches have their columns compressed, and say so themselves: what they are sent through
costs more than LZ4 does.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyarrow.ipc import IpcWriteOptions, new_stream, read_message, read_record_batch

from windrow.stores.encoding.frame import CHECKSUM_SIZE, HEADER, check_frame, joined
from windrow.stores.errors import CorruptValue

_START = (HEADER + b"W").ljust(8, b"\0")
# Batches of so many bytes are compressed.
_LARGE = 1 << 16
_COMPRESSED = IpcWriteOptions(compression="lz4", use_threads=False)


def encode(*tables: pa.Table) -> bytes:
    """Return tables as bytes. O(their size).

    >>> data = encode(pa.table({"x": [1, 2]}))
    >>> decode(data, [pa.schema({"x": pa.int64()})], "a chunk")[0].to_pydict()
    {'x': [1, 2]}
    """
    return joined(_START, *map(_serialized, tables))


def decode(data: bytes, schemas: Sequence[pa.Schema], what: str) -> list[pa.Table]:
    """Return the tables that `encode` was given; an error names `what`. O(their size)."""
    check_frame(data, what)
    if not data.startswith(_START):
        raise CorruptValue(f"{what} does not hold tables")
    reader = pa.BufferReader(pa.py_buffer(data).slice(len(_START)))
    try:
        batches = [read_record_batch(read_message(reader), schema) for schema in schemas]
    except (pa.ArrowException, OSError, EOFError) as error:
        raise CorruptValue(f"{what} does not hold what this query keeps: {error}") from error
    if reader.tell() != len(data) - len(_START) - CHECKSUM_SIZE:
        raise CorruptValue(f"{what} does not hold what this query keeps: it holds more tables")
    return [pa.Table.from_batches([batch]) for batch in batches]


def _serialized(table: pa.Table) -> pa.Buffer:
    """Return the message that a batch of all rows is in a stream of Arrow's."""
    batch = _one_batch(table)
    if batch.nbytes < _LARGE:
        return batch.serialize()
    sink = pa.BufferOutputStream()
    new_stream(sink, batch.schema, options=_COMPRESSED).write_batch(batch)
    return sink.getvalue().slice(batch.schema.serialize().size)


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    """Return all rows of a table as one batch."""
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
