"""Bloom: which values the window may hold, and surely those that it does hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from windrow.aggregations.algebra import RowAlgebra
from windrow.aggregations.base import Aggregation
from windrow.aggregations.hashing import hash64
from windrow.errors import InvalidArgument, whole_number


def bit_set(value: Any, bits: int, hashes: int, asker: object) -> int:
    """Return the bits of one value: `hashes` of `bits`, as the ones of an integer.

    Double hashing: the low half of one hash says where to start, the high half how far to step.
    The step is odd and `bits` a power of two, so no bit is met twice.

    >>> bin(bit_set("a", 64, 3, asker=None)).count("1")
    3
    """
    place = hash64(value, asker)
    step = (place >> 32) | 1
    ones = 0
    for _ in range(hashes):
        ones |= 1 << (place & (bits - 1))
        place += step
    return ones


@dataclass(frozen=True, slots=True, repr=False)
class BloomFilter:
    """What `Bloom` answers: ``value in filter`` is True for all values of the window.

    It is also True for a few others: for about (1 - e^(-hashes·n/bits))^hashes of them when the
    window holds n distinct values, which is 1 in 800 for n = 1000 and the defaults.
    """

    ones: int
    bits: int
    hashes: int

    def __contains__(self, value: Any) -> bool:
        wanted = bit_set(value, self.bits, self.hashes, self)
        return self.ones & wanted == wanted

    def approximate_count(self) -> float:
        """Return how many distinct values set these bits, most likely; infinite when all are set.

        >>> bloom = Bloom()
        >>> seen = bloom.lower(bloom.fold(map(bloom.lift, ["Ada", "Bob", "Ada"])))
        >>> round(seen.approximate_count())
        2
        """
        free = self.bits - self.ones.bit_count()
        return -self.bits / self.hashes * math.log(free / self.bits) if free else math.inf

    def __bytes__(self) -> bytes:
        """Return the number of hashes and the bits, lowest first: the filter in a table's column.

        >>> bloom = Bloom()
        >>> "Ada" in BloomFilter.from_bytes(bytes(bloom.lower(bloom.lift("Ada"))))
        True
        """
        return bytes([self.hashes]) + self.ones.to_bytes(self.bits // 8, "little")

    @classmethod
    def from_bytes(cls, data: bytes) -> BloomFilter:
        """Return the filter that `bytes` was made of."""
        return cls(int.from_bytes(data[1:], "little"), 8 * (len(data) - 1), data[0])

    def __repr__(self) -> str:
        filled = self.ones.bit_count()
        return f"<BloomFilter of {self.bits} bits, {filled} set, {self.hashes} hashes>"


class Bloom(Aggregation):
    """A Bloom filter of the values: a `BloomFilter`, that answers ``value in filter``.

    `bits` is its size, a power of two; `hashes` how many of them each value sets. The state is
    the set of bits, as one integer, and ⊕ is the union.

    >>> bloom = Bloom()
    >>> seen = bloom.lower(bloom.combine(bloom.lift("Ada"), bloom.lift("Bob")))
    >>> "Ada" in seen, "Eve" in seen
    (True, False)
    """

    takes = "hashable"
    commutative = True
    result = "bytes"
    identity = 0  # a value sets at least one bit, so this is the empty window and no other

    def __init__(self, *columns: str, bits: int = 16384, hashes: int = 5) -> None:
        super().__init__(*columns)
        whole = isinstance(bits, int) and not isinstance(bits, bool)
        if not whole or bits.bit_count() != 1 or not 64 <= bits <= 1 << 32:
            raise InvalidArgument(f"Bloom: bits must be a power of two, 64 to 2**32, got {bits!r}")
        self.bits, self.hashes = bits, whole_number("Bloom: hashes", hashes, 1, 16)

    def unit(self, value: Any) -> int:
        return bit_set(value, self.bits, self.hashes, self)

    def combine(self, a: int, b: int) -> int:
        return a | b

    def lower(self, state: int) -> BloomFilter | None:
        return BloomFilter(state, self.bits, self.hashes) if state else None

    def rows(self, dtype: str) -> RowAlgebra:
        constants = (self.bits, self.hashes)
        return RowAlgebra.with_head("bloom", "uint64", self.bits // 64, f"hash_{dtype}", constants)

    def from_row(self, row: Any) -> int:
        return int.from_bytes(row.astype("<u8").tobytes(), "little")
