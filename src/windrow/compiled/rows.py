"""Aggregations whose state is a row of numbers: the sketches, combined in place.

A row of Bloom, HyperLogLog or CountMin begins with a head of `HEAD` numbers, and the first of
them says what the row holds:

    NOTHING   nulls only; the other numbers mean nothing
    SINGLE    one value, by its hash in the head; the numbers behind it mean nothing
    FULL      all the bits, registers or counters, behind the head

So a value is lifted, and added to a sketch, without touching the thousands of numbers that it
leaves as they are; a row of single values is the commonest there is in a ring.

A row of MomentSketch is the centre and the sums of the interpreted state, one after the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from windrow.aggregations import hashing
from windrow.aggregations.base import Aggregation
from windrow.aggregations.bloom import Bloom
from windrow.aggregations.countmin import CountMin
from windrow.aggregations.hyperloglog import HyperLogLog
from windrow.aggregations.momentsketch import MomentSketch

# A compiled function is called from generated modules only, and optimised into them there.
small = njit(error_model="numpy")


@dataclass(frozen=True)
class Rows:
    """What the generator needs to know of an aggregation with rows for states.

    A state is a row of `width` numbers of `dtype`. These are names in `source`, and `constants`
    follow their arguments: `unit(x, null, into)`, `plus(a, b, into)`, `minus(total, old, into)`
    and `answer(state, into)`, which tells whether there is one. `copy(state, into)` takes none,
    nor does `read`, which turns a value into the `unit`'s x. An answer is a row of `out_width`
    numbers of `out_dtype`, and becomes values of the types `outputs`.
    """

    dtype: str
    width: int
    read: str
    unit: str
    plus: str
    answer: str
    copy: str
    out_dtype: str
    out_width: int
    outputs: tuple[str, ...]
    constants: tuple[int, ...] = ()
    minus: str = ""
    unit_columns: int = 1
    source: str = "from windrow.compiled.rows import *"


def rows_monoid(aggregation: Aggregation, dtype: str) -> Rows | None:
    """The functions of a sketch of int64 or float64 values; None for other aggregations.

    A subclass may have other functions, so it is none of them.

    >>> rows_monoid(Bloom(bits=1024), "int64").width
    24
    """
    read = f"hash_{dtype}"
    if type(aggregation) is Bloom:
        words = aggregation.bits // 64
        return Rows(
            dtype="uint64",
            width=HEAD + words,
            read=read,
            unit="bloom_unit",
            plus="bloom_plus",
            answer="bloom_answer",
            copy="head_copy",
            out_dtype="uint64",
            out_width=words,
            outputs=("object",),
            constants=(aggregation.bits, aggregation.hashes),
        )
    if type(aggregation) is HyperLogLog:
        return Rows(
            dtype="uint8",
            width=BYTE_HEAD + (1 << aggregation.precision),
            read=read,
            unit="hll_unit",
            plus="hll_plus",
            answer="hll_answer",
            copy="byte_copy",
            out_dtype="int64",
            out_width=1,
            outputs=("int64",),
            constants=(aggregation.precision,),
        )
    if type(aggregation) is CountMin:
        counters = aggregation.width * aggregation.depth
        return Rows(
            dtype="int64",
            width=HEAD + counters,
            read=read,
            unit="count_unit",
            plus="count_plus",
            minus="count_minus",
            answer="count_answer",
            copy="head_copy",
            out_dtype="int64",
            out_width=counters,
            outputs=("object",),
            constants=(aggregation.width, aggregation.depth),
        )
    if type(aggregation) is MomentSketch:
        width = SUMS + 2 * aggregation.order
        return Rows(
            dtype="float64",
            width=width,
            read="float64",
            unit="moment_unit",
            plus="moment_plus",
            answer="moment_answer",
            copy="row_copy",
            out_dtype="float64",
            out_width=width,
            outputs=_quantile_types(aggregation),
            constants=(aggregation.order,),
        )
    return None


def _quantile_types(aggregation: MomentSketch) -> tuple[str, ...]:
    """A number, or several; `Moments`, and tuples of fewer than two, are objects."""
    if isinstance(aggregation.quantiles, float):
        return ("float64",)
    several = aggregation.quantiles is not None and len(aggregation.quantiles) > 1
    return ("float64",) * len(aggregation.quantiles or ()) if several else ("object",)


# -- hashes: those of `windrow.aggregations.hashing`, bit for bit ---------------------------------

GAMMA = np.uint64(hashing.GAMMA)
FLOAT_SALT = np.uint64(hashing.FLOAT_SALT)
NAN_BITS = np.uint64(hashing.NAN_BITS)
FACTOR_1 = np.uint64(0xBF58_476D_1CE4_E5B9)
FACTOR_2 = np.uint64(0x94D0_49BB_1331_11EB)
LOWEST = -(2.0**63)


@small
def mix64(bits):
    """The first output of splitmix64 seeded with `bits`."""
    bits = np.uint64(bits) + GAMMA
    bits = (bits ^ (bits >> np.uint64(30))) * FACTOR_1
    bits = (bits ^ (bits >> np.uint64(27))) * FACTOR_2
    return bits ^ (bits >> np.uint64(31))


@small
def hash_int64(x):
    """`hash64` of an integer."""
    return mix64(np.uint64(x))


@small
def hash_float64(x):
    """`hash64` of a float: that of the integer, where it is one."""
    if x != x:
        return mix64(NAN_BITS ^ FLOAT_SALT)
    if LOWEST <= x < -LOWEST and x == math.floor(x):
        return mix64(np.uint64(np.int64(x)))
    return mix64(np.float64(x).view(np.uint64) ^ FLOAT_SALT)


# -- rows with a head -----------------------------------------------------------------------------

HEAD = 8  # numbers of 64 bits: a cache line
BYTE_HEAD = 64
NOTHING, SINGLE, FULL = 0, 1, 2
KIND, HASH, COUNT = 0, 1, 2  # places in the head; HyperLogLog has its own for a single value


@small
def is_same(a, b):
    """Whether two rows are one and the same.

    ⊕ has a loop for an `into` that is one of its operands, and one for three rows: a single loop
    took 2 (words) to 20 times (bytes) as long where rows coincide, since LLVM vectorises it for
    rows apart only. One that begins behind the head instead of at 0 took 2 to 25 times as long,
    which is why ⊕ cuts off the heads.
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
        for k in range(into.size if s[KIND] == FULL else HEAD):
            into[k] = s[k]


@small
def byte_copy(s, into):
    """A row of bytes, as far as it means something."""
    if not is_same(s, into):
        for k in range(into.size if s[KIND] == FULL else BYTE_HEAD):
            into[k] = s[k]


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
        if is_same(b, into):
            a, b = b, a
        x, y, z = a[HEAD:], b[HEAD:], into[HEAD:]
        if is_same(x, z):
            for k in range(z.size):
                z[k] |= y[k]
        else:
            into[KIND] = FULL
            for k in range(z.size):
                z[k] = x[k] | y[k]


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

RANK, REGISTER = 1, 2  # places in the head; the register takes three bytes


@small
def register_of(s):
    """The one register of a single value."""
    return np.int64(s[REGISTER]) | np.int64(s[REGISTER + 1]) << 8 | np.int64(s[REGISTER + 2]) << 16


@small
def hll_unit(hashed, null, into, precision):
    """One value, or a null."""
    into[KIND] = NOTHING if null else SINGLE
    width = 64 - precision
    rank = 1
    while rank <= width and (hashed >> np.uint64(width - rank)) & np.uint64(1) == 0:
        rank += 1
    register = np.int64(hashed >> np.uint64(width))
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
        byte_copy(a, into)
    elif b[KIND] == SINGLE:
        first, second = register_of(a), register_of(b)
        rank, newer = a[RANK], b[RANK]
        if a[KIND] == FULL:
            byte_copy(a, into)
        elif first == second:
            byte_copy(a if rank >= newer else b, into)
            return
        else:
            clear(into, True)
            raise_register(into, first, rank)
        raise_register(into, second, newer)
    else:
        if is_same(b, into):
            a, b = b, a
        x, y, z = a[BYTE_HEAD:], b[BYTE_HEAD:], into[BYTE_HEAD:]
        if is_same(x, z):
            for k in range(z.size):
                one, other = z[k], y[k]
                z[k] = one if one > other else other
        else:
            into[KIND] = FULL
            for k in range(z.size):
                one, other = x[k], y[k]
                z[k] = one if one > other else other


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


@small
def estimate(histogram):
    """`windrow.aggregations.hyperloglog.estimate`: Ertl's improved raw estimator."""
    registers = histogram.sum()
    inner = registers * tau(1 - histogram[-1] / registers)
    for r in range(histogram.size - 2, 0, -1):
        inner = 0.5 * (inner + histogram[r])
    inner += registers * sigma(histogram[0] / registers)
    return registers * registers / (2 * math.log(2.0) * inner)


@small
def sigma(x):
    """For the share x of registers that hold nothing; it is below 1."""
    total, factor, before = x, 1.0, -1.0
    while total != before:
        before = total
        x *= x
        total += x * factor
        factor *= 2
    return total


@small
def tau(x):
    """For the share 1 - x of registers at the last rank."""
    if x == 0 or x == 1:
        return 0.0
    total, factor, before = 1 - x, 1.0, -1.0
    while total != before:
        before = total
        x = math.sqrt(x)
        factor /= 2
        total -= (1 - x) ** 2 * factor
    return total / 3


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
        if is_same(b, into):
            a, b = b, a
        x, y, z = a[COUNT:], b[COUNT:], into[COUNT:]
        if is_same(x, z):
            for k in range(z.size):
                z[k] += y[k]
        else:
            into[KIND] = FULL
            for k in range(z.size):
                z[k] = x[k] + y[k]


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


# -- MomentSketch: the centre of the finite values, then what adds up -----------------------------

SIZE, LEAST, LARGEST, MEAN, SQUARES = 0, 1, 2, 3, 4  # of the finite values
NANS, UPS, DOWNS = 5, 6, 7  # how many NaN, +inf and -inf
SUMS = 8
HUGE = 2.0**960  # larger powers become NaN, as in the interpreted unit


@small
def powers(x, order, into, start):
    """x¹ … xᵏ."""
    for k in range(order):
        power = math.pow(x, k + 1.0)
        into[start + k] = math.nan if abs(power) > HUGE else power


@small
def moment_unit(x, null, into, order):
    """One value, or a null."""
    for k in range(into.size):
        into[k] = 0.0
    into[LEAST], into[LARGEST] = math.inf, -math.inf
    if null:
        return
    if not math.isfinite(x):
        into[NANS if x != x else UPS if x > 0 else DOWNS] = 1.0
        return
    into[SIZE], into[LEAST], into[LARGEST], into[MEAN] = 1.0, x, x, x
    powers(x, order, into, SUMS)
    if x > 0:
        powers(math.log(x), order, into, SUMS + order)


@small
def is_empty(s):
    """Whether a row of moments holds nulls only."""
    return s[SIZE] + s[NANS] + s[UPS] + s[DOWNS] == 0


@small
def moment_plus(a, b, into, order):
    """The moments of both, as the interpreted ⊕ has them."""
    if is_empty(b):
        row_copy(a, into)
    elif is_empty(a):
        row_copy(b, into)
    else:
        if a[SIZE] and b[SIZE]:
            size = a[SIZE] + b[SIZE]
            apart, share = b[MEAN] - a[MEAN], b[SIZE] / size
            least = b[LEAST] if b[LEAST] < a[LEAST] else a[LEAST]
            largest = b[LARGEST] if b[LARGEST] > a[LARGEST] else a[LARGEST]
            mean = a[MEAN] + apart * share
            squares = a[SQUARES] + b[SQUARES] + apart * apart * share * a[SIZE]
        else:
            c = a if a[SIZE] else b
            size, least, largest, mean, squares = c[SIZE], c[LEAST], c[LARGEST], c[MEAN], c[SQUARES]
        into[SIZE], into[LEAST], into[LARGEST] = size, least, largest
        into[MEAN], into[SQUARES] = mean, squares
        x, y, z = a[NANS:], b[NANS:], into[NANS:]
        for k in range(z.size):
            z[k] = x[k] + y[k]


@small
def moment_answer(s, out, order):
    """The row itself."""
    row_copy(s, out)
    return not is_empty(s)
