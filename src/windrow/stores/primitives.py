"""The encoding's words: None, truth, numbers, text, bytes, and what holds them.

A value is a tag and what it needs; `write` appends one, `read` takes one off.

    0x80 … 0xff   the integers 0 to 127, which are most of them
    N T F         None, True, False
    i size bytes  any other integer, two's complement, the low byte first
    d 8 bytes     a float
    s b           text as UTF-8, bytes: their size, then they
    t l S Z m     tuple, list, set, frozenset, dict: how many, then each
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from windrow.errors import InvalidValue
from windrow.stores.errors import CorruptValue

Out = bytearray
Writer = Callable[[Any, Out], None]
Reader = Callable[[bytes, int], tuple[Any, int]]

WRITERS: dict[type, Writer] = {}
READERS: dict[int, Reader] = {}
NUMPY: dict[str, Writer] = {}  # the writers of "ndarray" and of "generic", NumPy's numbers
FLAT = frozenset({type(None), bool, int, float, str, bytes})
_FLOAT = struct.Struct("<d")
_SMALL = 0x80


def write(value: Any, out: Out) -> None:
    """Append `value`, or say why it cannot be."""
    writer = WRITERS.get(type(value))
    if writer is None:
        writer = _unusual(value)
    writer(value, out)


def read(data: bytes, at: int) -> tuple[Any, int]:
    """The value at `at`, and where the next one begins."""
    tag = data[at]
    if tag >= _SMALL:
        return tag & 0x7F, at + 1
    reader = READERS.get(tag)
    if reader is None:
        raise CorruptValue(f"a stored value has the unknown tag {tag:#x}")
    return reader(data, at + 1)


def word(kind: type, tag: str, writer: Writer, reader: Reader) -> None:
    """Add a type to the encoding: `writer` and `reader` are for what follows the tag."""
    code = ord(tag)

    def write_tagged(value: Any, out: Out) -> None:
        out.append(code)
        writer(value, out)

    WRITERS[kind] = write_tagged
    READERS[code] = reader


def _unusual(value: Any) -> Writer:
    """The writer of a NumPy array or number; anything else cannot be stored."""
    kind = type(value)
    if kind.__module__ == "numpy":  # not imported here: a state without arrays needs no NumPy
        array = "ndarray" if kind.__name__ == "ndarray" else "generic"
        if value.dtype.kind in "biufcmMSU":
            return NUMPY[array]
    hint = (
        "register its class with windrow.stores.register"
        if isinstance(value, tuple)
        else "it holds None, numbers, text, bytes, dates and times, tuples, lists, sets and dicts "
        "of them, and NumPy's arrays and numbers"
    )
    raise InvalidValue(f"a store cannot hold {kind.__name__} {value!r}; {hint}")


# -- sizes, bytes and text -------------------------------------------------------------------


def write_size(size: int, out: Out) -> None:
    """A size: seven bits a byte, the lowest first; 128 is added to all bytes but the last."""
    while size > 0x7F:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)


def read_size(data: bytes, at: int) -> tuple[int, int]:
    """A size, and where what has that size begins."""
    size = shift = 0
    while (byte := data[at]) > 0x7F:
        size |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
    return size | byte << shift, at + 1


def write_bytes(value: bytes, out: Out) -> None:
    """A size and that many bytes."""
    write_size(len(value), out)
    out += value


def read_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    """What `write_bytes` wrote."""
    size, at = read_size(data, at)
    return data[at : at + size], at + size


def write_text(value: str, out: Out) -> None:
    """UTF-8; half a surrogate pair, which is none, is kept as it is."""
    write_bytes(value.encode("utf-8", "surrogatepass"), out)


def read_text(data: bytes, at: int) -> tuple[str, int]:
    """What `write_text` wrote."""
    value, at = read_bytes(data, at)
    return value.decode("utf-8", "surrogatepass"), at


# -- numbers ---------------------------------------------------------------------------------


def _write_int(value: int, out: Out) -> None:
    if 0 <= value < 0x80:
        out.append(_SMALL | value)
        return
    size = value.bit_length() // 8 + 1
    out += b"i"
    write_size(size, out)
    out += value.to_bytes(size, "little", signed=True)


def _read_int(data: bytes, at: int) -> tuple[int, int]:
    size, at = read_size(data, at)
    return int.from_bytes(data[at : at + size], "little", signed=True), at + size


def _write_float(value: float, out: Out) -> None:
    out += _FLOAT.pack(value)


def _read_float(data: bytes, at: int) -> tuple[float, int]:
    (value,) = _FLOAT.unpack_from(data, at)
    return (value if value == value else math.nan), at + 8  # as a key, NaN is found by identity


# -- what holds others -----------------------------------------------------------------------


def write_items(values: Any, out: Out) -> None:
    """How many there are, and each."""
    write_size(len(values), out)
    for value in values:
        write(value, out)


def read_items(data: bytes, at: int) -> tuple[list[Any], int]:
    """What `write_items` wrote."""
    size, at = read_size(data, at)
    values = []
    for _ in range(size):
        value, at = read(data, at)
        values.append(value)
    return values, at


def _write_set(values: Any, out: Out) -> None:
    """Equal sets give equal bytes, whatever order Python has them in."""
    parts = []
    for value in values:
        part = bytearray()
        write(value, part)
        parts.append(bytes(part))
    write_size(len(parts), out)
    out += b"".join(sorted(parts))


def _write_dict(values: dict[Any, Any], out: Out) -> None:
    write_size(len(values), out)
    for key, value in values.items():
        write(key, out)
        write(value, out)


def _read_dict(data: bytes, at: int) -> tuple[dict[Any, Any], int]:
    size, at = read_size(data, at)
    values = {}
    for _ in range(size):
        key, at = read(data, at)
        values[key], at = read(data, at)
    return values, at


def _read_as(kind: Callable[[list[Any]], Any]) -> Reader:
    def read_one(data: bytes, at: int) -> tuple[Any, int]:
        values, at = read_items(data, at)
        return kind(values), at

    return read_one


WRITERS[type(None)] = lambda value, out: out.append(0x4E)
WRITERS[bool] = lambda value, out: out.append(0x54 if value else 0x46)
WRITERS[int] = _write_int
READERS[ord("N")] = lambda data, at: (None, at)
READERS[ord("T")] = lambda data, at: (True, at)
READERS[ord("F")] = lambda data, at: (False, at)
READERS[ord("i")] = _read_int
word(float, "d", _write_float, _read_float)
word(str, "s", write_text, read_text)
word(bytes, "b", write_bytes, read_bytes)
word(tuple, "t", write_items, _read_as(tuple))
word(list, "l", write_items, read_items)
word(set, "S", _write_set, _read_as(set))
word(frozenset, "Z", _write_set, _read_as(frozenset))
word(dict, "m", _write_dict, _read_dict)
