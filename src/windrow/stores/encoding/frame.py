"""The frame around everything that windrow stores.

    ┌───────┬─────────┬────────────────────────────────┬──────────┐
    │ magic │ version │ body: a tag that says what it  │ checksum │
    │ 1     │ 1       │ holds, then that               │ 4        │
    └───────┴─────────┴────────────────────────────────┴──────────┘

The magic byte stays first and the CRC-32 of all before it stays last in every version, so that
bytes that windrow did not write, damaged ones and those of another version can be told apart.
"""

from __future__ import annotations

import struct
import zlib

from windrow.stores.errors import CorruptValue

MAGIC, VERSION = 0xF7, 2
HEADER = bytes((MAGIC, VERSION))
_CHECKSUM = struct.Struct("<I")
CHECKSUM_SIZE = _CHECKSUM.size
_SHORTEST = len(HEADER) + 1 + CHECKSUM_SIZE
_INTACT = zlib.crc32(bytes(4))  # the CRC-32 of any bytes that end with their own CRC-32
_FIRST_CHUNKS = b"WRWS"  # how a stream's chunks of version 1 begin


def joined(*parts: bytes | bytearray) -> bytes:
    """Return the parts of a frame and its checksum, each copied only once. O(their size)."""
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return b"".join([*parts, _CHECKSUM.pack(checksum)])


def check_frame(data: bytes, what: object) -> None:
    """Raise `CorruptValue` unless `data` is a frame of this version; `what` names it. O(size)."""
    if len(data) < _SHORTEST or data[0] != MAGIC:
        if data[:4] == _FIRST_CHUNKS:
            raise _other_version(what, 1)
        raise CorruptValue(f"{what} was not written by windrow: {bytes(data[:20])!r}")
    if zlib.crc32(data) != _INTACT:
        raise CorruptValue(f"{what} is damaged: its checksum is wrong")
    if data[1] != VERSION:
        raise _other_version(what, data[1])


def _other_version(what: object, version: int) -> CorruptValue:
    return CorruptValue(
        f"{what} was written by another version of windrow (its format is {version}, and this one "
        f"reads {VERSION}): start with a new store or checkpoint, or read it with that version"
    )
