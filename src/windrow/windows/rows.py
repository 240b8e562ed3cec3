"""The last rows: `rows=`, with a result a row or after every `slide` rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from windrow.errors import whole_number
from windrow.windows.base import Kept, Window, check_gaps, results_in_words
from windrow.windows.sizes import UNBOUNDED
from windrow.windows.sketch import Sketch, counted
from windrow.windows.slicing import Slicing, slices

if TYPE_CHECKING:
    from windrow.windows.arrays import Positions
    from windrow.windows.sorted_rows import Bounds, SortedRows


@dataclass(frozen=True)
class Rows(Window):
    """The last `rows` rows of the partition, the current one included; None: all so far."""

    rows: int | None
    slide: int | None = None
    gaps: bool = False  # whether the slide may be larger than the window

    takes: ClassVar[tuple[str, ...]] = ("rows", "slide", "gaps", "exclude")
    counts_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.rows is not None:
            whole_number("rows", self.rows, least=1)
        if self.slide is None:
            return
        whole_number("slide", self.slide, least=1)
        large = self.rows is not None and self.slide > self.rows
        check_gaps(self.gaps, self.slide, large, "rows", self.rows)

    def bounds(self, rows: SortedRows) -> Bounds:
        """The last rows up to each row, or up to each that completes a slide."""
        if self.slide is None and isinstance(rows.fresh, slice) and rows.weights is None:
            return rows.windows_of_rows(self.rows, rows.fresh)
        last = rows.positions(rows.fresh) if self.slide is None else rows.completing(self.slide)
        return rows.windows(rows.last_rows(last, self.rows), last + 1, last)

    def keeps(self, rows: SortedRows, bounds: Bounds) -> Positions:
        """All but one of the last rows, as the next row is the first of the next window."""
        import numpy as np

        if self.rows is None:
            return rows.starts[:-1]
        return np.maximum(rows.starts[:-1], rows.last_rows(rows.starts[1:] - 1, self.rows - 1))

    @property
    def per_row(self) -> bool:  # type: ignore[override]
        return self.slide is None

    @property
    def by_rows(self) -> bool:  # type: ignore[override]
        return self.per_row

    @property
    def from_first(self) -> bool:  # type: ignore[override]
        return self.rows is None

    @property
    def in_ranges(self) -> bool:  # type: ignore[override]
        return self.per_row

    @property
    def kept(self) -> Kept:  # type: ignore[override]
        """Chunks where every row has a result; the rows themselves where they are counted."""
        if self.rows is None:
            return "aggregate"
        return "chunks" if self.per_row else "rows"

    @property
    def reach_rows(self) -> int | None:  # type: ignore[override]
        return self.rows

    def slicing(self) -> Slicing | None:
        return None if self.rows is None else slices(self.rows, self.slide or 1)

    @property
    def slices_in_words(self) -> str:  # type: ignore[override]
        if self.per_row:
            return Window.slices_in_words
        return f"of {self.slide} rows; a window is all of them so far"

    def arguments(self) -> dict[str, Any]:
        return {**super().arguments(), "rows": UNBOUNDED if self.rows is None else self.rows}

    def sketch(self) -> Sketch:
        """Three windows that are full, or the first three where they hold all rows so far."""
        size, slide = self.rows or 1, self.slide or 1
        first = -(-size // slide) if self.rows or self.slide else 3
        last = [(first + i) * slide for i in range(3)]
        windows = [(1 if self.rows is None else n - size + 1, n, n) for n in last]
        return counted(windows)

    def cql(self) -> list[str]:
        size = "UNBOUNDED" if self.rows is None else str(self.rows)
        slide = [] if self.slide is None else [f"SLIDE {self.slide}"]
        return [f"ROWS {size}", *slide, *(["WITH GAPS"] if self.gaps else [])]

    def __str__(self) -> str:
        every = results_in_words(self.slide)
        if self.rows is None:
            return f"all rows so far, {every}"
        return f"the last {self.rows} row{'s' if self.rows > 1 else ''}, {every}"
