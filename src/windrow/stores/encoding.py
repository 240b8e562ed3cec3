"""States as bytes: compact, versioned, checked, and nothing but data.

    ┌───────┬─────────┬───────────────────────────┬──────────┐
    │ magic │ version │ one value:                │ checksum │
    │ 1     │ 1       │ a tag, then what it needs │ 4        │
    └───────┴─────────┴───────────────────────────┴──────────┘

A value that windrow did not write, a damaged one and one of a later version are told apart, and
each is an error. Reading never runs code: there are the tags of `primitives` and `richer`, and
records that `register` made known.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, TypeVar

from windrow.aggregations.runs import Run
from windrow.errors import InvalidArgument
from windrow.stores import primitives, richer
from windrow.stores.errors import CorruptValue
from windrow.stores.primitives import FLAT, Out, read, write

MAGIC, VERSION = 0xF7, 1
_HEADER = bytes((MAGIC, VERSION))
_CHECKSUM = struct.Struct("<I")
_LEAST = len(_HEADER) + 1 + _CHECKSUM.size

Record = TypeVar("Record", bound=type)


def encode(value: Any) -> bytes:
    """`value` as bytes. O(its size).

    >>> encode((1, -300, 2.5)).hex(" ", 1)
    'f7 01 74 03 81 69 02 d4 fe 64 00 00 00 00 00 00 04 40 d6 da a7 a5'
    """
    out = bytearray(_HEADER)
    write(value, out)
    out += _CHECKSUM.pack(zlib.crc32(out))
    return bytes(out)


def decode(data: bytes, what: object = "the value") -> Any:
    """The value that `encode` made these bytes of; `what` is named if they are none. O(its size).

    >>> decode(encode({"a": [1, None]}))
    {'a': [1, None]}
    >>> decode(b"{'a': 1}", "the record of window 'x'")
    Traceback (most recent call last):
    windrow.stores.errors.CorruptValue: the record of window 'x' was not written by windrow: ...
    """
    if len(data) < _LEAST or data[0] != MAGIC:
        raise CorruptValue(f"{what} was not written by windrow: {data[:20]!r}")
    end = len(data) - _CHECKSUM.size
    if _CHECKSUM.unpack_from(data, end)[0] != zlib.crc32(memoryview(data)[:end]):
        raise CorruptValue(f"{what} is damaged: its checksum is wrong")
    if data[1] != VERSION:
        raise CorruptValue(
            f"{what} is of version {data[1]}, and this windrow reads version {VERSION}"
        )
    try:
        value, at = read(data, len(_HEADER))
    except CorruptValue:
        raise
    except (LookupError, ValueError, TypeError, ArithmeticError, struct.error) as error:
        raise CorruptValue(f"{what} cannot be read: {error}") from error
    if at != end:
        raise CorruptValue(f"{what} is damaged: it ends at byte {at} of {end}")
    return value


def check_storable(state: Any) -> None:
    """An error if `state` cannot be stored. O(its size), little for numbers and tuples of them.

    >>> check_storable((1, 2j, range(3)))
    Traceback (most recent call last):
    windrow.errors.InvalidValue: a store cannot hold range range(0, 3); it holds None, ...
    """
    kind = type(state)
    if kind not in FLAT and not (kind is tuple and FLAT.issuperset(map(type, state))):
        write(state, bytearray())


def register(record: Record, name: str | None = None) -> Record:
    """Let a NamedTuple of your own be stored; needed in every process that writes or reads one.

    >>> from typing import NamedTuple
    >>> @register
    ... class Place(NamedTuple):
    ...     north: float
    ...     east: float
    >>> decode(encode(Place(52.5, 13.4)))
    Place(north=52.5, east=13.4)
    """
    make = getattr(record, "_make", None)
    if make is None or not issubclass(record, tuple):
        raise InvalidArgument(f"register: {record!r} is not a NamedTuple")
    name = name or record.__qualname__
    if richer.RECORDS.setdefault(name, make) != make:
        raise InvalidArgument(f"register: there is another record {name!r}; give this one a name=")

    def write_record(value: Any, out: Out) -> None:
        out += b"R"
        primitives.write_text(name, out)
        primitives.write_items(value, out)

    primitives.WRITERS[record] = write_record
    return record


register(Run, "windrow.Run")
