"""Tables as bytes for a state store: Arrow's own layout in a frame that is versioned and checked.

    ┌───────┬─────────┬────────┬──────────┬─────────────────┬─────────────────────────┐
    │ magic │ version │ tables │ checksum │ length of each  │ each table's one batch, │
    │ 4     │ 2       │ 2      │ 4 + 4    │ 8 × tables      │ without its schema      │
    └───────┴─────────┴────────┴──────────┴─────────────────┴─────────────────────────┘

Readers know the schemas, so a chunk of a few rows is hardly longer than its values.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import pyarrow as pa

from windrow.stores.errors import CorruptValue

VERSION = 1
_MAGIC = b"WRWS"
_FRAME = struct.Struct("<4sHHII")
_LENGTH = struct.Struct("<Q")


def encode(*tables: pa.Table) -> bytes:
    """Tables as bytes. O(their size).

    >>> data = encode(pa.table({"x": [1, 2]}))
    >>> decode(data, [pa.schema({"x": pa.int64()})], "a chunk")[0].to_pydict()
    {'x': [1, 2]}
    """
    parts = [_one_batch(table).serialize() for table in tables]
    body = b"".join(
        [*(_LENGTH.pack(part.size) for part in parts), *(memoryview(part) for part in parts)]
    )
    return _FRAME.pack(_MAGIC, VERSION, len(parts), zlib.crc32(body), 0) + body


def decode(data: bytes, schemas: Sequence[pa.Schema], what: str) -> list[pa.Table]:
    """The tables that `encode` made these bytes of; `what` is named if they are none."""
    body = checked(data, what, len(schemas))
    at = _LENGTH.size * len(schemas)
    tables = []
    for i, schema in enumerate(schemas):
        (length,) = _LENGTH.unpack_from(body, i * _LENGTH.size)
        try:
            batch = pa.ipc.read_record_batch(pa.py_buffer(body[at : at + length]), schema)
        except (pa.ArrowInvalid, OSError) as error:
            raise CorruptValue(f"{what} does not hold what this query keeps: {error}") from error
        tables.append(pa.Table.from_batches([batch]))
        at += length
    return tables


def framed(body: bytes) -> bytes:
    """Other bytes in the same frame."""
    return _FRAME.pack(_MAGIC, VERSION, 0, zlib.crc32(body), 0) + body


def checked(data: bytes, what: str, tables: int = 0) -> memoryview:
    """The body of a frame, or an error that tells what is wrong with it."""
    if len(data) < _FRAME.size or data[:4] != _MAGIC:
        raise CorruptValue(f"{what} was not written by windrow: {bytes(data[:20])!r}")
    _, version, count, checksum, _ = _FRAME.unpack_from(data)
    if version != VERSION:
        raise CorruptValue(
            f"{what} was written by another version of windrow (its format is {version}, and this "
            f"one reads {VERSION}): start with a new checkpoint"
        )
    body = memoryview(data)[_FRAME.size :]
    if zlib.crc32(body) != checksum or count != tables:
        raise CorruptValue(f"{what} is damaged: its checksum is wrong")
    return body


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
