"""Values of Python as bytes: compact, and nothing but data.

A value is a tag and what it needs; a size is seven bits a byte, the lowest first.

    0x80 … 0xff   the integers 0 to 127, which are most of them
    N T F         None, True, False
    i             any other integer: size, then two's complement, the low byte first
    d             a float: 8 bytes
    s b           text as UTF-8, bytes: size, then they
    t l S Z m     tuple, list, set, frozenset, dict: the number of items, then each
    D q c         Decimal, Fraction, complex: the same, as all below
    Y H y e       date, time, datetime, timedelta
    A a           NumPy array, NumPy number
    R             a record: its registered name and its fields

Reading never runs code: only the types of this list and the records that `register` was given are
made. Values lie at most 100 deep in one another, so that one that was made to do harm cannot fill
the stack of the process that reads it.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from operator import index
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from windrow.aggregations.runs import Run
from windrow.errors import InvalidArgument, InvalidValue
from windrow.stores.encoding.frame import CHECKSUM_SIZE, HEADER, check_frame, joined
from windrow.stores.errors import CorruptValue

Record = TypeVar("Record", bound=type)
Writer = Callable[[Any, bytearray, int], None]  # the value, to where, and how deep it lies
Reader = Callable[[bytes, int, int], tuple[Any, int]]  # the bytes, where, and how deep that lies

_WRITERS: dict[type, Writer] = {}
_READERS: dict[int, Reader] = {}
_RECORDS: dict[str, Callable[[list[Any]], Any]] = {}
_FLAT = frozenset({type(None), bool, int, float, str, bytes})
_FLOAT = struct.Struct("<cd")  # its tag, and the float
_SMALL = 0x80  # the tag of the integer 0
_DEEPEST = 100
_TOO_DEEP = f"a store holds no value that is nested more than {_DEEPEST} deep"


def encode(value: Any) -> bytes:
    """Return `value` as bytes. O(its size).

    >>> encode((1, -300, 2.5)).hex(" ", 1)
    'f7 02 74 03 81 69 02 d4 fe 64 00 00 00 00 00 00 04 40 52 81 3d f6'
    """
    out = bytearray(HEADER)
    _write(value, out, 0)
    return joined(out)


def decode(data: bytes, what: object = "the value") -> Any:
    """Return the value that `encode` was given; an error names `what`. O(its size).

    >>> decode(encode({"a": [1, None]}))
    {'a': [1, None]}
    >>> decode(b"{'a': 1}", "the record of window 'x'")
    Traceback (most recent call last):
    windrow.stores.errors.CorruptValue: the record of window 'x' was not written by windrow: ...
    """
    check_frame(data, what)
    try:
        value, at = _read(data, len(HEADER), 0)
    except CorruptValue:
        raise
    except Exception as error:  # whatever makes a value of the items that it finds
        raise CorruptValue(f"{what} cannot be read: {error}") from error
    end = len(data) - CHECKSUM_SIZE
    if at != end:
        raise CorruptValue(f"{what} is damaged: it ends at byte {at} of {end}")
    return value


def check_storable(state: Any) -> None:
    """Raise `InvalidValue` if `state` cannot be stored. O(its size), little for flat tuples.

    >>> check_storable((1, 2j, range(3)))
    Traceback (most recent call last):
    windrow.errors.InvalidValue: a store cannot hold range range(0, 3); it holds None, ...
    """
    kind = type(state)
    if kind not in _FLAT and not (kind is tuple and _FLAT.issuperset(map(type, state))):
        _write(state, bytearray(), 0)


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
    if _RECORDS.setdefault(name, make) != make:
        raise InvalidArgument(f"register: there is another record {name!r}; give this one a name=")
    _WRITERS[record] = _items_writer("R", lambda value: (name, *value))
    return record


# -- one value ---------------------------------------------------------------------------------


def _write(value: Any, out: bytearray, depth: int) -> None:
    """Append `value`, which lies so deep in others, or raise why it cannot be stored."""
    writer = _WRITERS.get(type(value)) or _numpy_writer(value)
    writer(value, out, depth)


def _read(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    """Return the value at `at`, which lies so deep in others, and where the next one begins."""
    tag = data[at]
    if tag >= _SMALL:
        return tag & 0x7F, at + 1
    reader = _READERS.get(tag)
    if reader is None:
        raise CorruptValue(f"a stored value has the unknown tag {tag:#x}")
    return reader(data, at + 1, depth)


def _write_size(size: int, out: bytearray) -> None:
    while size > 0x7F:
        out.append(size & 0x7F | 0x80)  # 128 is added to all bytes but the last
        size >>= 7
    out.append(size)


def _read_size(data: bytes, at: int) -> tuple[int, int]:
    size = shift = 0
    while (byte := data[at]) > 0x7F:
        size |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
    return size | byte << shift, at + 1


# -- None, truth, numbers, text, bytes -----------------------------------------------------------


def _write_int(value: int, out: bytearray, depth: int) -> None:
    if 0 <= value < 0x80:
        out.append(_SMALL | value)
        return
    size = value.bit_length() // 8 + 1
    out += b"i"
    _write_size(size, out)
    out += value.to_bytes(size, "little", signed=True)


def _read_int(data: bytes, at: int, depth: int) -> tuple[int, int]:
    size, at = _read_size(data, at)
    return int.from_bytes(data[at : at + size], "little", signed=True), at + size


def _read_float(data: bytes, at: int, depth: int) -> tuple[float, int]:
    _, value = _FLOAT.unpack_from(data, at - 1)
    return (value if value == value else math.nan), at + 8  # as a key, NaN is found by identity


def _write_bytes(value: bytes, out: bytearray, depth: int, tag: bytes = b"b") -> None:
    out += tag
    _write_size(len(value), out)
    out += value


def _read_bytes(data: bytes, at: int, depth: int) -> tuple[bytes, int]:
    size, at = _read_size(data, at)
    return data[at : at + size], at + size


def _read_text(data: bytes, at: int, depth: int) -> tuple[str, int]:
    value, at = _read_bytes(data, at, depth)
    return value.decode("utf-8", "surrogatepass"), at


_WRITERS[type(None)] = lambda value, out, depth: out.append(0x4E)
_WRITERS[bool] = lambda value, out, depth: out.append(0x54 if value else 0x46)
_WRITERS[int] = _write_int
_WRITERS[float] = lambda value, out, depth: out.extend(_FLOAT.pack(b"d", value))
# half a surrogate pair, which is no UTF-8, is kept as it is
_WRITERS[str] = lambda v, out, depth: _write_bytes(
    v.encode("utf-8", "surrogatepass"), out, depth, b"s"
)
_WRITERS[bytes] = _write_bytes
_READERS[ord("N")] = lambda data, at, depth: (None, at)
_READERS[ord("T")] = lambda data, at, depth: (True, at)
_READERS[ord("F")] = lambda data, at, depth: (False, at)
_READERS[ord("i")] = _read_int
_READERS[ord("d")] = _read_float
_READERS[ord("s")] = _read_text
_READERS[ord("b")] = _read_bytes

# -- types that are stored as their items --------------------------------------------------------


def _sequence_writer(tag: str) -> Writer:
    """Return the writer of values that are sequences of their items."""
    code = ord(tag)

    def write_items(values: Any, out: bytearray, depth: int) -> None:
        if depth >= _DEEPEST:
            raise InvalidValue(_TOO_DEEP)
        out.append(code)
        _write_size(len(values), out)
        for value in values:
            writer = _WRITERS.get(type(value)) or _numpy_writer(value)
            writer(value, out, depth + 1)

    return write_items


def _items_writer(tag: str, items: Callable[[Any], Any]) -> Writer:
    """Return the writer of values that `items` takes apart."""
    write_items = _sequence_writer(tag)
    return lambda value, out, depth: write_items(items(value), out, depth)


def _items_reader(make: Callable[[list[Any]], Any]) -> Reader:
    """Return the reader of values that `make` makes of a list of their items."""

    def read_items(data: bytes, at: int, depth: int) -> tuple[Any, int]:
        if depth >= _DEEPEST:
            raise CorruptValue(_TOO_DEEP)
        size, at = _read_size(data, at)
        values = []
        for _ in range(size):
            value, at = _read(data, at, depth + 1)
            values.append(value)
        return make(values), at

    return read_items


def _add(kind: type, tag: str, items: Any, make: Callable[..., Any]) -> None:
    """Add a type: `items` takes a value apart, and ``make(*items)`` puts it together."""
    _WRITERS[kind] = _items_writer(tag, items)
    _READERS[ord(tag)] = _items_reader(lambda values: make(*values))


def _set_writer(tag: str) -> Writer:
    """Return a writer that gives equal sets equal bytes, whatever order Python has them in."""

    def write_set(values: Any, out: bytearray, depth: int) -> None:
        if depth >= _DEEPEST:
            raise InvalidValue(_TOO_DEEP)
        items = []
        for value in values:
            item = bytearray()
            _write(value, item, depth + 1)
            items.append(bytes(item))
        out += tag.encode()
        _write_size(len(items), out)
        out += b"".join(sorted(items))

    return write_set


_WRITERS[tuple], _READERS[ord("t")] = _sequence_writer("t"), _items_reader(tuple)
_WRITERS[list], _READERS[ord("l")] = _sequence_writer("l"), _items_reader(list)
_WRITERS[set], _READERS[ord("S")] = _set_writer("S"), _items_reader(set)
_WRITERS[frozenset], _READERS[ord("Z")] = _set_writer("Z"), _items_reader(frozenset)
_WRITERS[dict] = _items_writer("m", lambda pairs: list(chain.from_iterable(pairs.items())))
_READERS[ord("m")] = _items_reader(lambda i: dict(zip(i[::2], i[1::2], strict=True)))

_add(Decimal, "D", lambda value: (str(value),), Decimal)
_add(
    Fraction, "q", lambda v: (v.numerator, v.denominator), lambda n, d: Fraction(index(n), index(d))
)
_add(complex, "c", lambda value: (value.real, value.imag), complex)

# -- dates and times -----------------------------------------------------------------------------


def _zone_item(zone: dt.tzinfo | None) -> Any:
    """Return a time zone as something storable: None, its name, or its distance from UTC."""
    if zone is None:
        return None
    if isinstance(zone, ZoneInfo) and zone.key:
        return zone.key
    if isinstance(zone, dt.timezone):
        return zone.utcoffset(None)
    raise InvalidValue(
        f"a store cannot hold the time zone {zone!r}; take a ZoneInfo or a dt.timezone"
    )


def _zoned(kind: Any) -> Callable[..., Any]:
    """Return what makes a time, or a date and time, of its fields, its fold and its zone."""

    def make(*items: Any) -> Any:
        *fields, fold, zone = items
        if zone is not None:
            zone = ZoneInfo(zone) if isinstance(zone, str) else dt.timezone(zone)
        return kind(*fields, zone, fold=fold)

    return make


def _date_items(value: Any) -> tuple[int, ...]:
    return value.year, value.month, value.day


def _time_items(value: Any) -> tuple[Any, ...]:
    clock = value.hour, value.minute, value.second, value.microsecond
    return *clock, value.fold, _zone_item(value.tzinfo)


_add(dt.date, "Y", _date_items, dt.date)
_add(dt.time, "H", _time_items, _zoned(dt.time))
_add(dt.datetime, "y", lambda v: (*_date_items(v), *_time_items(v)), _zoned(dt.datetime))
_add(dt.timedelta, "e", lambda v: (v.days, v.seconds, v.microseconds), dt.timedelta)

# -- NumPy, which is imported only where there is an array or number of it -----------------------


def _array_of(items: list[Any]) -> Any:
    """Return the array of a dtype, a shape and bytes; it is read-only, as states are."""
    import numpy as np

    dtype, shape, data = items
    return np.frombuffer(data, dtype).reshape(shape)


def _number_of(items: list[Any]) -> Any:
    """Return the NumPy number of a dtype and bytes; text may be empty and has none then."""
    import numpy as np

    dtype, data = items
    kind = np.dtype(dtype)
    return np.frombuffer(data, kind)[0] if kind.itemsize else kind.type()


_write_array = _items_writer("A", lambda value: (value.dtype.str, value.shape, value.tobytes()))
_write_number = _items_writer("a", lambda value: (value.dtype.str, value.tobytes()))
_READERS[ord("A")], _READERS[ord("a")] = _items_reader(_array_of), _items_reader(_number_of)


def _numpy_writer(value: Any) -> Writer:
    """Return the writer of a NumPy array or number; anything else cannot be stored."""
    kind = type(value)
    if kind.__module__ == "numpy" and value.dtype.kind in "biufcmMSU":
        return _write_array if kind.__name__ == "ndarray" else _write_number
    hint = (
        "register its class with windrow.stores.register"
        if isinstance(value, tuple)
        else "it holds None, numbers, text, bytes, dates and times, tuples, lists, sets and dicts "
        "of them, and NumPy's arrays and numbers"
    )
    raise InvalidValue(f"a store cannot hold {kind.__name__} {value!r}; {hint}")


# -- records -------------------------------------------------------------------------------------


def _record_of(items: list[Any]) -> Any:
    name, *values = items
    if name not in _RECORDS:
        raise CorruptValue(
            f"a stored value is a record {name!r}, which is unknown here; register its class "
            f"with windrow.stores.register before the window is opened"
        )
    return _RECORDS[name](values)


_READERS[ord("R")] = _items_reader(_record_of)
register(Run, "windrow.Run")
