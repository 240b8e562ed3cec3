"""Hopping windows [start, start + size), a start every slide: `range=` with a `slide=`.

range=4, slide=2             ├───────┤       ├───────┤     windows overlap
                                 ├───────┤       ├───────┤
range=2, slide=5, gaps=True  ├───┤     ├───┤     ├───┤     rows between them are in none
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from windrow.errors import InvalidArgument
from windrow.windows.base import Kept, check_gaps, written
from windrow.windows.room import check_room
from windrow.windows.sizes import NOW, UNBOUNDED, Axis, in_cql, measure, signed
from windrow.windows.slicing import Slicing, slices
from windrow.windows.span import Measured

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from windrow.windows.arrays import Positions
    from windrow.windows.positions import Bounds, SortedRows


@dataclass(frozen=True)
class Hopping(Measured):
    """Windows [start, start + size) for every start that is a multiple of the slide."""

    slide: Any = None
    offset: Any = None
    gaps: bool = False  # whether the slide may be larger than the size

    columns: ClassVar[tuple[str, ...]] = ("window_start", "window_end")
    kept: ClassVar[Kept] = "slices"
    per_row: ClassVar[bool] = False
    slices_in_words: ClassVar[str] = "cut where windows begin and end"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size in (UNBOUNDED, NOW):
            raise InvalidArgument(f"range={self.range!r} goes with neither closed= nor slide=")
        self.check_like("slide", self.slide)
        self.check_like("offset", self.offset)
        large = measure("slide", self.slide) > self.measure()
        check_gaps(self.gaps, self.slide, large, self.measured, self.size)
        signed("offset", self.offset)

    def bounds(self, rows: SortedRows) -> Bounds:
        """The windows that hold a row, of rows that have an order."""
        from windrow.windows.bounds import Asked, hop_bounds
        from windrow.windows.positions import PLACED, Bounds, Windows

        assert rows.at is not None and rows.axis is not None
        size, slide, offset = self.sizes(rows.axis)
        placed = PLACED if rows.places > 1 else 0  # some rows have no order
        asked = Asked(rows.now, rows.open, rows.done, rows.told, rows.places, placed)
        lo, hi, opens, stretch = hop_bounds(
            rows.at, rows.starts, size, slide, offset, asked, self._named
        )
        ends = opens + opens.dtype.type(size)
        key = stretch if rows.places == 1 else stretch // rows.places
        return Bounds(Windows(rows.starts, lo=lo, hi=hi), ends=(opens, ends), key=key)

    def keeps(self, rows: SortedRows, bounds: Bounds) -> Positions:
        """The rows of windows that end behind `now`: none of them begins a size before it."""
        assert rows.axis is not None
        return rows.since(None if rows.now is None else rows.now - self.reach(rows.axis))

    # -- slices -----------------------------------------------------------------------------

    def slice_starts(self, at: NDArray[Any], axis: Axis) -> NDArray[Any]:
        """Where the slice of each row starts: at the last start or end of a window before it.

        Windows begin and end at the edges of slices only (pairs, paper 002).
        """
        import numpy as np

        size, slide, offset = self.sizes(axis)
        into, rest = (at - offset) % slide, size % slide
        return np.asarray(at - into + np.where(into >= rest, rest, 0) if rest else at - into)

    def last_end(self, at: NDArray[np.int64], axis: Axis) -> NDArray[np.int64]:
        """The end of the last window that begins at or before each time."""
        size, slide, offset = self.sizes(axis)
        end: NDArray[np.int64] = at - (at - offset) % slide + size
        return end

    def first_end(self, at: NDArray[np.int64], axis: Axis) -> NDArray[np.int64]:
        """The end of the first window that ends behind each time."""
        size, slide, offset = self.sizes(axis)
        end: NDArray[np.int64] = at + slide - (at - offset - size) % slide
        return end

    def slicing(self) -> Slicing | None:
        size, slide, offset = map(int, self._sizes())
        if (size, slide, offset) != self._sizes():
            return None  # fractions have no greatest common divisor
        return slices(size, slide, offset=(size + offset) % slide)

    # -- sizes ------------------------------------------------------------------------------

    def reach(self, axis: Axis) -> int | float | None:
        size: int | float = self.sizes(axis)[0]
        return size

    def check_room(self) -> None:
        size, slide, _ = self._sizes()
        check_room(int(size / slide), self._named)

    @property
    def _named(self) -> str:
        return ", ".join(written(self.arguments()))

    def sizes(self, axis: Axis) -> tuple[Any, Any, Any]:
        """Size, slide and offset in the unit of `axis`, which `start_axis` gave."""
        size, slide, offset = (axis.units(each)[0] for each in self._sizes())
        return size, slide, offset

    def _sizes(self) -> tuple[int | float, int | float, int | float]:
        """Size, slide and offset in nanoseconds, or as the numbers that they are."""
        slide, offset = measure("slide", self.slide), signed("offset", self.offset)
        return self.measure(), slide, offset

    def start_axis(self, axis: Axis) -> Axis:
        return axis.holding(self._sizes())

    # -- how it prints ----------------------------------------------------------------------

    def cql(self) -> list[str]:
        words = [f"{self.measured.upper()} {in_cql(self.size)}", f"SLIDE {in_cql(self.slide)}"]
        words += [] if self.offset is None else [f"OFFSET {in_cql(self.offset)}"]
        return [*words, "WITH GAPS"] if self.gaps else words

    def __str__(self) -> str:
        shifted = "" if self.offset is None else f", shifted by {self.offset}"
        between = "; rows between them are in none" if self._leaves_gaps else ""
        return (
            f"[start, start + {self.size}) for every start that is a multiple of "
            f"{self.slide}{shifted}{between}"
        )

    @property
    def _leaves_gaps(self) -> bool:
        size, slide, _ = self._sizes()
        return slide > size
