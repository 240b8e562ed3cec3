"""HyperLogLog over windows: of each register, the ranks that may yet be its largest.

The register of a window is the largest rank among its values. A rank that a later one reaches will
never be that again, so of each register a list remains, whose ranks fall from the oldest on; the
first is the largest. A value enters one list behind and leaves it in front, and how many registers
have which rank changes by one: O(1) a row, where merging sketches takes all registers.

        register 7        rank 5 ──▶ rank 3 ──▶ rank 1          a value of rank 3 comes:
                          rank 5 ──▶ rank 3                     the newer 3 stays
"""

from __future__ import annotations

import numpy as np

from windrow.compiled import compiled
from windrow.kernels.hashing import hash_float64, hash_int64
from windrow.kernels.sketch_rows import estimate, placed
from windrow.kernels.special import Array

_RANK = 63  # a code is a register, and behind it six bits for a rank


@compiled(error_model="numpy")
def register_codes(bits: Array, nulls: Array, floating: bool, precision: int, codes: Array) -> None:
    """The register and the rank of each value as one number; −1 for nulls."""
    for i in range(bits.size):
        if nulls.size > 0 and nulls[i] != 0:
            codes[i] = -1
            continue
        value = np.int64(bits[i])
        hashed = hash_float64(value.view(np.float64)) if floating else hash_int64(value)
        register, rank = placed(hashed, precision)
        codes[i] = register << 6 | rank


@compiled(error_model="numpy")
def window_estimates(
    codes: Array,
    lo: Array,
    hi: Array,
    ends: Array,
    links: Array,
    histogram: Array,
    cursors: Array,
    out: Array,
) -> None:
    """out[i] is about how many distinct values codes[lo[i]:hi[i]] stand for.

    lo and hi never fall. The lists are linked: `ends` has the oldest and the newest position of
    each register, −1 for none, and `links` those before and behind a position, modulo its length,
    a power of two that no window exceeds. `histogram` counts the registers of each rank. All of
    them, and two `cursors`, are left there for the next call.
    """
    oldest, newest = ends[0], ends[1]
    before, behind = links[0], links[1]
    ring = np.int64(before.size - 1)
    head, end, result = cursors[0], cursors[1], cursors[2]
    changed = True
    for i in range(out.size):
        while head < min(lo[i], end):
            code = codes[head]
            register = code >> 6
            if code >= 0 and oldest[register] == head:
                follower = behind[head & ring]
                oldest[register] = follower
                histogram[code & _RANK] -= 1
                if follower < 0:
                    newest[register] = -1
                    histogram[0] += 1
                else:
                    before[follower & ring] = -1
                    histogram[codes[follower] & _RANK] += 1
                changed = True
            head += 1
        if end < lo[i]:
            head = end = lo[i]
        while end < hi[i]:
            code = codes[end]
            if code >= 0:
                register, rank = code >> 6, code & _RANK
                last = newest[register]
                while last >= 0 and codes[last] & _RANK <= rank:
                    last = before[last & ring]
                if last < 0:
                    first = oldest[register]
                    histogram[codes[first] & _RANK if first >= 0 else 0] -= 1
                    histogram[rank] += 1
                    oldest[register] = end
                    changed = True
                else:
                    behind[last & ring] = end
                before[end & ring] = last
                behind[end & ring] = -1
                newest[register] = end
            end += 1
        if changed:
            used = oldest.size - histogram[0]
            result = used if used < 2 else np.int64(np.rint(estimate(histogram)))
            changed = False
        out[i] = result
    cursors[0], cursors[1], cursors[2] = head, end, result
