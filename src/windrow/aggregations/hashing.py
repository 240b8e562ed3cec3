"""A 64-bit hash that is the same in every process, for the sketches.

Python's own `hash` of strings changes with every start of the interpreter, so sketches made by
two processes could not be merged. Here equal values hash equally, wherever they are hashed:

- a number that fits a signed 64-bit integer by `mix64` of its two's complement bits;
- any other number that a float holds exactly by `mix64` of its IEEE-754 bits ^ `FLOAT_SALT`;
- everything else by BLAKE2b of its kind and its content.

The first two are plain arithmetic on 64-bit words and can be compiled.
"""

from __future__ import annotations

import datetime
import hashlib
import numbers
import struct
from typing import Any

from windrow.aggregations.ordering import is_nan, plain
from windrow.errors import InvalidValue

MASK = 0xFFFF_FFFF_FFFF_FFFF
GAMMA = 0x9E37_79B9_7F4A_7C15  # 2⁶⁴ / the golden ratio, odd
FACTORS = (0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB)  # of splitmix64, odd
_INVERSES = tuple(pow(factor, -1, MASK + 1) for factor in FACTORS)
FLOAT_SALT = 0xA5C3_1F69_D27E_84B1  # keeps 5e-324, whose bits are 1, apart from the integer 1
NAN_BITS = 0x7FF8_0000_0000_0000


def mix64(bits: int) -> int:
    """Return a bijection of 64-bit words in which every input bit moves every output bit.

    The first output of splitmix64 seeded with `bits`; unlike its finaliser alone, which leaves 0
    as it is, it gives the commonest value of all a hash that looks like any other.

    >>> hex(mix64(0))
    '0xe220a8397b1dcdaf'
    """
    bits = (bits + GAMMA) & MASK
    bits = ((bits ^ (bits >> 30)) * FACTORS[0]) & MASK
    bits = ((bits ^ (bits >> 27)) * FACTORS[1]) & MASK
    return bits ^ (bits >> 31)


def unmix64(bits: int) -> int:
    """Return what `mix64` makes these bits of.

    >>> unmix64(mix64(36)), mix64(unmix64(MASK)) == MASK
    (36, True)
    """
    bits ^= bits >> 31 ^ bits >> 62
    bits = bits * _INVERSES[1] & MASK
    bits ^= bits >> 27 ^ bits >> 54
    bits = bits * _INVERSES[0] & MASK
    bits ^= bits >> 30 ^ bits >> 60
    return (bits - GAMMA) & MASK


def hash64(value: Any, asker: object = None) -> int:
    """Return the hash of any hashable value, from 0 to 2⁶⁴ - 1; an error names `asker`.

    Besides numbers, strings, bytes, dates and times, tuples and frozen sets it takes whatever
    has a `repr` that says all that makes it equal to others. O(1) for numbers, else O(size).

    >>> hash64(1) == hash64(1.0) == hash64(True)
    True
    >>> hash64("1") == hash64(1)
    False
    >>> hash64(("Ada", 36))
    11937335361066512431
    """
    kind = type(value)
    if kind is int:
        return mix64(value & MASK) if _fits(value) else _hash_number(value)
    if kind is float:
        return _hash_float(value)
    if kind is not str:
        try:
            hash(value)
        except TypeError:
            raise InvalidValue(
                f"{_name(asker)} takes values that can be hashed, not {kind.__name__} {value!r}"
            ) from None
        value = plain(value)
        if isinstance(value, numbers.Number):
            return _hash_number(value)
    return _digest(_encoded(value, asker))


def _fits(value: int) -> bool:
    return -(1 << 63) <= value < 1 << 63


def _hash_float(value: float) -> int:
    if value != value:
        return mix64(NAN_BITS ^ FLOAT_SALT)
    if -(2.0**63) <= value < 2.0**63 and value.is_integer():
        return mix64(int(value) & MASK)
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return mix64(bits ^ FLOAT_SALT)


def _hash_number(value: Any) -> int:
    """Any number: as the float or the 64-bit integer that equals it, if one does."""
    if is_nan(value):
        return _hash_float(float("nan"))
    try:
        near = float(value.real if value.imag == 0 else value)
    except (OverflowError, TypeError):  # past the largest float; complex
        near = float("inf")
    if near == value:
        return _hash_float(near)
    if abs(near) <= 2.0**63 and (whole := int(value)) == value and _fits(whole):
        return mix64(whole & MASK)
    # Python defines its hash of numbers alike for all types and processes (modulo 2⁶¹ - 1),
    # and finds that of Decimal("1e999999999") without writing out its digits.
    return _digest(b"number" + hash(value).to_bytes(8, "little", signed=True))


def _encoded(value: Any, asker: object) -> bytes:
    """Kind and content of `value`: different bytes for different values."""
    if isinstance(value, str):
        return b"str" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"bytes" + value
    if isinstance(value, tuple):
        return b"tuple" + b"".join(_word(hash64(part, asker)) for part in value)
    if isinstance(value, frozenset):
        return b"set" + b"".join(_word(h) for h in sorted(hash64(part, asker) for part in value))
    if isinstance(value, datetime.datetime):
        return _encoded_datetime(value)
    if isinstance(value, datetime.timedelta):
        return b"timedelta" + _encoded_span(value, getattr(value, "nanoseconds", 0))
    text = repr(value)
    if hex(id(value)) in text:
        raise InvalidValue(
            f"{_name(asker)} takes values with a repr that is the same in every process, not "
            f"{type(value).__name__} {text}; define __repr__, or insert a key of it instead"
        )
    kind = type(value)
    return f"object{kind.__module__}.{kind.__qualname__}\0{text}".encode("utf-8", "surrogatepass")


def _encoded_datetime(value: datetime.datetime) -> bytes:
    """By the instant, so that the same one in two time zones hashes equally, as it compares."""
    since = datetime.timedelta(
        days=value.toordinal(),
        hours=value.hour,
        minutes=value.minute,
        seconds=value.second,
        microseconds=value.microsecond,
    )
    nanoseconds = getattr(value, "nanosecond", 0)  # of pandas' Timestamp
    offset = value.utcoffset()
    if offset is None:
        return b"datetime" + _encoded_span(since, nanoseconds)
    return b"instant" + _encoded_span(since - offset, nanoseconds)


def _encoded_span(span: datetime.timedelta, nanoseconds: int) -> bytes:
    return struct.pack("<qqqq", span.days, span.seconds, span.microseconds, nanoseconds)


def _word(bits: int) -> bytes:
    return bits.to_bytes(8, "little")


def _digest(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def _name(asker: object) -> str:
    return "hash64" if asker is None else repr(asker)
