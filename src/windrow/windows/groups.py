"""Frames of groups: the rows of equal order are one group, and groups are counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from windrow.windows.ends import Ends, counted_in_words
from windrow.windows.frames import Frame
from windrow.windows.sizes import UNBOUNDED
from windrow.windows.sketch import Sketch, between, grouped

if TYPE_CHECKING:
    from windrow.windows.arrays import Positions
    from windrow.windows.sorted_rows import Bounds, SortedRows


@dataclass(frozen=True)
class GroupFrame(Frame):
    """The rows of groups of equal order, counted from the current row's group."""

    groups: Ends

    takes: ClassVar[tuple[str, ...]] = ("groups", "exclude")
    sizes: ClassVar[tuple[str, ...]] = ("groups",)
    measured: ClassVar[str] = "groups"
    by_peers: ClassVar[bool] = True
    in_ranges: ClassVar[bool] = False

    @property
    def ends(self) -> Ends:
        return self.groups

    def bounds(self, rows: SortedRows) -> Bounds:
        """The rows of the groups between both ends; those without an order are a group, too."""
        import numpy as np

        from windrow.windows.bounds import frame_of_groups

        first = _groups(rows)
        lo, hi = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64)
        frame_of_groups(first, rows.keys, *self._counts, lo, hi)
        waiting = np.repeat(self._waiting(rows, first), rows.places)
        beside = rows.ready(np.maximum(waiting, rows.starts[:-1]), whole_keys=True)
        return self._bounds(rows, lo, hi, beside)

    def _waiting(self, rows: SortedRows, first: Positions) -> Positions:
        """Return each key's first position that waits for groups to come or to be complete."""
        import numpy as np

        if rows.over is None:
            return rows.keys[1:]
        end = self.groups[1]
        if end == UNBOUNDED:
            return rows.keys[:-1]
        past = np.searchsorted(first, rows.keys[1:])
        # rows to come may be of the last group, unless it is before all of them
        last = np.maximum(rows.keys[1:] - 1, 0)
        grows = np.ones(past.size, np.bool_)
        if rows.now is not None and rows.at is not None and rows.size:
            grows = (rows.at[last] >= rows.now) | (rows.places > 1)
        waiting = np.clip(past - grows - end, np.searchsorted(first, rows.keys[:-1]), past)
        positions: Positions = first[waiting]
        return positions

    def keeps(self, rows: SortedRows, bounds: Bounds) -> Positions:
        """The groups that wait, and those that they and rows to come reach back to."""
        import numpy as np

        key_first = rows.keys[:-1]
        if UNBOUNDED not in self.groups:
            start, end = self.groups
            first = _groups(rows)
            past = np.searchsorted(first, rows.keys[1:])
            reach = past - 1 - max(end, 0) + min(start, 0)
            key_first = first[np.clip(reach, np.searchsorted(first, key_first), past)]
        kept: Positions = np.repeat(key_first, rows.places)
        return kept

    def sketch(self) -> Sketch:
        return grouped(between(*self.groups), self.exclude)

    def __str__(self) -> str:
        return (
            f"the groups of equal order from {counted_in_words(*self.groups)}{self._and_without()}"
        )


def _groups(rows: SortedRows) -> Positions:
    """Return the first position of each group of equal order, and the end."""
    import numpy as np

    assert rows.at is not None
    begins = np.ones(rows.size + 1, np.bool_)
    begins[1:-1] = rows.at[1:] != rows.at[:-1]
    begins[rows.starts] = True
    return np.flatnonzero(begins)
