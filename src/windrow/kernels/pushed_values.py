"""The values of a window that is pushed through, with their times, in one array.

    ┌────────┬─────┬──────────────────────┬───────┬───────┬───────┐
    │ header │ old │   window's values    │ spare │ times │ nulls │      times and nulls likewise
    └────────┴─────┴──────────────────────┴───────┴───────┴───────┘
                   ↑ first                ↑ past

Compiled code slides the window in there: one array is cheap to hand over. The interpreter could go
on with what is kept. What a step drops stays until there is no room, so that it can be undone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.compiled import inner

# The header: how many values came; where the window begins and ends here, and where before the last
# step; for how many values there is room; how many rows or how far it reaches, and whether what is
# just so far away has left; the window's positions and its row in the stream; room for a result.
END, FIRST, PAST, BEFORE, PAST_BEFORE, ROOM, SIZE, OPEN, LO, HI, ROW, OUT, VALID = range(13)
HEADER = 13
PUSH, ADVANCE, FOLLOW = range(3)  # the steps; the last one is that of a further aggregation


class PushedValues:
    """The values of a window, of one type, and their times, int64 unless they are floats."""

    def __init__(self, dtype: str, times: str, size: Any, is_open: bool) -> None:
        self.dtype, self.time_dtype = dtype, times
        self.array = np.zeros(HEADER, np.int64)
        self.array[SIZE : SIZE + 1].view(times)[0] = size
        self.array[OPEN] = is_open
        self._lay_out(16)

    def _lay_out(self, room: int) -> None:
        """Let there be room for so many values, a multiple of 8, and none yet."""
        header = self.array[:HEADER]
        self.array = np.zeros(HEADER + 2 * room + room // 8, np.int64)
        self.array[:HEADER] = header
        self.array[[FIRST, PAST, ROOM]] = 0, 0, room
        self._find()

    def _find(self) -> None:
        """Find the parts of the array."""
        begin, half, end = HEADER, HEADER + self.room, HEADER + 2 * self.room
        self.values = self.array[begin:half].view(self.dtype)
        self.times = self.array[half:end].view(self.time_dtype)
        self.nulls = self.array[end:].view(np.uint8)

    def __len__(self) -> int:
        return self.array.item(PAST) - self.array.item(FIRST)

    @property
    def room(self) -> int:
        """How many values there is room for, old ones included."""
        return self.array.item(ROOM)

    @property
    def spare(self) -> int:
        """How many more values there is room for."""
        return self.room - self.array.item(PAST)

    def make_room(self, n: int) -> None:
        """Let there be room for n values more, without the old ones. Amortised O(1) a value."""
        window, size = self.window(), len(self)
        self._lay_out(max(16, -(-2 * (size + n) // 8) * 8))
        self.extend(*window)

    def extend(self, values: Any, nulls: Any, times: Any) -> None:
        """Keep the values of arrays, for which there must be room."""
        past = self.array.item(PAST)
        here = slice(past, past + values.size)
        self.values[here], self.nulls[here] = values, nulls
        if times is not None:
            self.times[here] = times
        self.array[PAST] = here.stop

    def window(self) -> tuple[NDArray[Any], NDArray[np.uint8], NDArray[Any]]:
        """What is in the window: values, which of them are null, and times."""
        here = slice(self.array.item(FIRST), self.array.item(PAST))
        return self.values[here], self.nulls[here], self.times[here]

    def __getstate__(self) -> dict[str, Any]:
        return {"dtype": self.dtype, "time_dtype": self.time_dtype, "array": self.array}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._find()


# -- in compiled code ------------------------------------------------------------------------------


@inner
def _leaves_by_rows(times: Any, first: int, past: int, t: Any, size: int, is_open: bool) -> bool:
    """Whether the oldest value leaves a window of so many rows."""
    return past - first > size


@inner
def _leaves_by_integers(
    times: Any, first: int, past: int, t: int, size: int, is_open: bool
) -> bool:
    """Whether the oldest value is before a window that ends at t."""
    distance = t - times[first]
    return distance > size or (is_open and distance == size)


@inner
def _leaves_by_floats(
    times: Any, first: int, past: int, t: float, size: float, is_open: bool
) -> bool:
    """Whether the oldest value is before a window that ends at t, rounded as `rolling` does."""
    oldest = t - size
    return times[first] < oldest or (is_open and times[first] == oldest)


def _slide_by(leaves: Any) -> Any:
    """The function that takes a step of a window: what `leaves` it is dropped."""

    @inner
    def slide(kept: Any, held: Any, size: Any, value: Any, null: Any, t: Any, step: int) -> None:
        """Keep a value, if it is pushed, and drop what leaves: O(1) amortised.

        `held` are the values, nulls and times, `size` is of the type of the times.
        """
        values, nulls, times = held
        first, past, end, is_open = kept[FIRST], kept[PAST], kept[END], kept[OPEN] != 0
        kept[BEFORE], kept[PAST_BEFORE], kept[ROW] = first, past, end
        if step == PUSH:
            values[past], nulls[past], times[past] = value, null, t
            past += 1
            end += 1
        while first < past and leaves(times, first, past, t, size, is_open):
            first += 1
        kept[END], kept[FIRST], kept[PAST] = end, first, past
        kept[LO], kept[HI] = end - (past - first), end

    return slide


slide_by_rows = _slide_by(_leaves_by_rows)
slide_by_int64 = _slide_by(_leaves_by_integers)
slide_by_float64 = _slide_by(_leaves_by_floats)
