"""Sets of small whole numbers: a bit each, in words of 64 bits.

Places are unsigned, as an index that may be negative takes longer. The k-th number is found from
one near it:

    numbers     0                       64                      128
    words       ·1··11·1·······1··1···  1····1··11·······1···   ···1·1······11···
                                                 ↑ place: the k-th bit, `below` it k bits
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from windrow.compiled import inner
from windrow.kernels.special import Array

ONE, ALL = np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
_SIX, _LOW = np.uint64(6), np.uint64(63)


def _of_word(name: str, *flags: int) -> Any:
    """An intrinsic for a word of 64 bits: the result of an instruction."""

    @intrinsic
    def operation(typing_context: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            given = [ir.Constant(ir.IntType(1), flag) for flag in flags]
            return getattr(builder, name)(arguments[0], *given)

        return types.uint64(types.uint64), generate

    return operation


# How many bits are set; and how many zeros stand below the lowest that is, and above the highest.
bit_count, zeros_below, zeros_above = _of_word("ctpop"), _of_word("cttz", 1), _of_word("ctlz", 1)


@inner
def sought(words: Array, place: Any, below: int, k: int) -> Any:
    """Return the k-th number of a set (from 0), of which `below` are below `place`.

    It is mostly the bit there, or the next to either side in the same word: found without a branch
    that depends on which, as the processor guesses it wrong every other time.
    """
    word = place >> _SIX
    further = k - below
    from_here = ALL << (place & _LOW)
    above, under = words[word] & from_here, words[word] & ~from_here
    rest = above if further == 0 else above & (above - ONE)
    rest = under if further < 0 else rest
    near = _LOW - zeros_above(rest) if further < 0 else zeros_below(rest)
    if rest != 0 and -2 < further < 2:
        return (word << _SIX) | near
    if further >= 0:
        rest, missing = above, np.uint64(further)
        here = bit_count(rest)
        while missing >= here:
            missing -= here
            word += ONE
            rest = words[word]
            here = bit_count(rest)
    else:
        rest, missing = under, np.uint64(-further)
        here = bit_count(rest)
        while missing > here:
            missing -= here
            word -= ONE
            rest = words[word]
            here = bit_count(rest)
        missing = here - missing
    while missing > 0:
        rest &= rest - ONE
        missing -= ONE
    return (word << _SIX) | zeros_below(rest)


@inner
def following(words: Array, place: Any) -> Any:
    """Return the next number of a set above one that is not its largest."""
    word = place >> _SIX
    rest = words[word] & ((ALL << (place & _LOW)) << ONE)
    while rest == 0:
        word += ONE
        rest = words[word]
    return (word << _SIX) | zeros_below(rest)


@inner
def turn(words: Array, number: int) -> None:
    """Put a number into a set, or take it out if it is there."""
    words[number >> np.uint32(6)] ^= ONE << (np.uint64(number) & _LOW)


@inner
def counted_below(words: Array, tree: Array, place: int) -> Any:
    """Return how many numbers are below `place`; `tree` counts the bits of words (Fenwick's)."""
    at = np.uint64(place)
    word = np.int64(at >> _SIX)
    found = np.int64(bit_count(words[word] & ~(ALL << (at & _LOW))))
    while word > 0:
        found += tree[word]
        word &= word - 1
    return found


@inner
def add_to_counts(tree: Array, word: int, change: int) -> None:
    """Change the count of a word's bits."""
    word += 1
    while word < tree.size:
        tree[word] += change
        word += word & -word
