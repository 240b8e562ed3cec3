"""Rows with a head: Bloom, HyperLogLog and CountMin.

A row begins with a head of `HEAD` numbers, and the first of them says what the row holds:

    NOTHING   nulls only; the other numbers mean nothing
    SINGLE    one value, by its hash in the head; the numbers behind it mean nothing
    FULL      all the bits, registers or counters, behind the head

So a value is lifted, and added to a sketch, without touching the thousands of numbers that it
leaves as they are; a row of single values is the commonest there is in a ring.
"""

# What Numba compiles has no annotations: its types come from the arrays.

from __future__ import annotations

import numpy as np

from windrow.aggregations import hyperloglog
from windrow.aggregations.algebra import HEAD
from windrow.kernels.hashing import hash_float64, hash_int64, mix64, small  # noqa: F401

BYTE_HEAD = 8 * HEAD
NOTHING, SINGLE, FULL = 0, 1, 2
KIND, HASH, COUNT = 0, 1, 2  # places in the head; HyperLogLog has its own for a single value


@small
def is_same(a, b):
    """Whether two rows are one and the same.

    `joining` has a loop for an `into` that is one of its operands, and one for three rows: a single
    loop took 2 (words) to 20 times (bytes) as long where rows coincide, since LLVM vectorises it
    for rows apart only. One that begins behind the head instead of at 0 took 2 to 25 times as long,
    which is why it cuts off the heads.
    """
    return a.ctypes.data == b.ctypes.data


@small
def row_copy(s, into):
    """All numbers of a row."""
    if not is_same(s, into):
        for k in range(into.size):
            into[k] = s[k]


@small
def head_copy(s, into):
    """A row, as far as it means something."""
    if not is_same(s, into):
        head = BYTE_HEAD if s.itemsize == 1 else HEAD
        for k in range(into.size if s[KIND] == FULL else head):
            into[k] = s[k]


def joining(joined):
    """A function that joins the numbers from `start` on of two full rows, pair by pair."""
    joined = small(joined)

    @small
    def join(a, b, into, start):
        if is_same(b, into):
            a, b = b, a
        x, y, z = a[start:], b[start:], into[start:]
        if is_same(x, z):
            for k in range(z.size):
                z[k] = joined(z[k], y[k])
        else:
            into[KIND] = FULL
            for k in range(z.size):
                z[k] = joined(x[k], y[k])

    return join


unite = joining(lambda a, b: a | b)
take_larger = joining(lambda a, b: a if a > b else b)
add = joining(lambda a, b: a + b)


@small
def clear(row, head):
    """A full row that holds nothing yet."""
    for k in range(row.size):
        row[k] = 0
    if head:
        row[KIND] = FULL


# -- Bloom: 64 bits a word, united ----------------------------------------------------------------


@small
def set_bits(row, start, hashed, bits, hashes):
    """Set the bits of one value in the words from `start` on."""
    place = hashed
    step = (hashed >> np.uint64(32)) | np.uint64(1)
    for _ in range(hashes):
        bit = place & np.uint64(bits - 1)
        row[start + np.int64(bit >> np.uint64(6))] |= np.uint64(1) << (bit & np.uint64(63))
        place += step


@small
def bloom_unit(hashed, null, into, bits, hashes):
    """One value, or a null."""
    into[KIND] = NOTHING if null else SINGLE
    into[HASH] = hashed


@small
def bloom_plus(a, b, into, bits, hashes):
    """a ∪ b."""
    if a[KIND] < b[KIND]:
        a, b = b, a
    if b[KIND] == NOTHING:
        head_copy(a, into)
    elif b[KIND] == SINGLE:
        first, second = a[HASH], b[HASH]
        if a[KIND] == FULL:
            head_copy(a, into)
        else:
            clear(into, True)
            set_bits(into, HEAD, first, bits, hashes)
        set_bits(into, HEAD, second, bits, hashes)
    else:
        unite(a, b, into, HEAD)


@small
def bloom_answer(s, out, bits, hashes):
    """The words."""
    if s[KIND] == SINGLE:
        clear(out, False)
        set_bits(out, 0, s[HASH], bits, hashes)
    elif s[KIND] == FULL:
        for k in range(out.size):
            out[k] = s[HEAD + k]
    return s[KIND] != NOTHING


# -- HyperLogLog: a byte a register, the larger one -----------------------------------------------

estimate = small(hyperloglog.estimate)
RANK, REGISTER = 1, 2  # places in the head; the register takes three bytes


@small
def register_of(s):
    """The one register of a single value."""
    return np.int64(s[REGISTER]) | np.int64(s[REGISTER + 1]) << 8 | np.int64(s[REGISTER + 2]) << 16


@small
def placed(hashed, precision):
    """The register of a value and its rank there."""
    width = 64 - precision
    rank = 1
    while rank <= width and (hashed >> np.uint64(width - rank)) & np.uint64(1) == 0:
        rank += 1
    return np.int64(hashed >> np.uint64(width)), rank


@small
def hll_unit(hashed, null, into, precision):
    """One value, or a null."""
    into[KIND] = NOTHING if null else SINGLE
    register, rank = placed(hashed, precision)
    into[RANK] = rank
    into[REGISTER] = register & 255
    into[REGISTER + 1] = register >> 8 & 255
    into[REGISTER + 2] = register >> 16


@small
def raise_register(row, register, rank):
    """Add one value to a full row."""
    if row[BYTE_HEAD + register] < rank:
        row[BYTE_HEAD + register] = rank


@small
def hll_plus(a, b, into, precision):
    """The larger rank of each register."""
    if a[KIND] < b[KIND]:
        a, b = b, a
    if b[KIND] == NOTHING:
        head_copy(a, into)
    elif b[KIND] == SINGLE:
        first, second = register_of(a), register_of(b)
        rank, newer = a[RANK], b[RANK]
        if a[KIND] == FULL:
            head_copy(a, into)
        elif first == second:
            head_copy(a if rank >= newer else b, into)
            return
        else:
            clear(into, True)
            raise_register(into, first, rank)
        raise_register(into, second, newer)
    else:
        take_larger(a, b, into, BYTE_HEAD)


@small
def hll_answer(s, out, precision):
    """About how many distinct values; 0 for none."""
    if s[KIND] == FULL:
        counts = np.zeros((4, 66 - precision), np.int64)  # four, so that no count waits for itself
        for k in range(BYTE_HEAD, s.size, 4):
            for lane in range(4):
                counts[lane, s[k + lane]] += 1
        out[0] = np.int64(np.rint(estimate(counts[0] + counts[1] + counts[2] + counts[3])))
    else:
        out[0] = 1 if s[KIND] == SINGLE else 0
    return True


# -- CountMin: an integer a counter, added --------------------------------------------------------


@small
def count_value(row, start, hashed, times, width, depth):
    """Count one value in the counters from `start` on."""
    for line in range(depth):
        place = np.int64(mix64(hashed + np.uint64(line)) & np.uint64(width - 1))
        row[start + line * width + place] += times


@small
def count_unit(hashed, null, into, width, depth):
    """One value, or a null."""
    into[KIND] = NOTHING if null else SINGLE
    into[HASH] = np.int64(hashed)
    into[COUNT] = 1


@small
def count_plus(a, b, into, width, depth):
    """The counts of both."""
    if a[KIND] < b[KIND]:
        a, b = b, a
    if b[KIND] == NOTHING:
        head_copy(a, into)
    elif b[KIND] == SINGLE:
        first, second, count = np.uint64(a[HASH]), np.uint64(b[HASH]), a[COUNT] + b[COUNT]
        if a[KIND] == FULL:
            head_copy(a, into)
        else:
            clear(into, True)
            count_value(into, HEAD, first, 1, width, depth)
        count_value(into, HEAD, second, 1, width, depth)
        into[COUNT] = count
    else:
        add(a, b, into, COUNT)


@small
def count_minus(total, old, into, width, depth):
    """The counts of `total` without those of `old`, a single value or a null."""
    if old[KIND] == NOTHING:
        head_copy(total, into)
    elif total[COUNT] == 1:
        into[KIND] = NOTHING
    else:
        head_copy(total, into)
        count_value(into, HEAD, np.uint64(old[HASH]), -1, width, depth)
        into[COUNT] -= 1


@small
def count_answer(s, out, width, depth):
    """The counters."""
    if s[KIND] == SINGLE:
        clear(out, False)
        count_value(out, 0, np.uint64(s[HASH]), 1, width, depth)
    elif s[KIND] == FULL:
        for k in range(out.size):
            out[k] = s[HEAD + k]
    return s[KIND] != NOTHING
