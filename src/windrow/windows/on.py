"""Punctuation: `on=`, a window closes at each row that satisfies a condition.

With a slide there are results before that, too: after every `slide` rows of the window.

    on="kind = 'end'", slide=2      [ a   b   c   d   e   end ]  [ f   end ]
                                          ×       ×        ×           ×
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from windrow.errors import InvalidArgument, accepts, whole_number
from windrow.identity import named
from windrow.windows.base import Kept, Window
from windrow.windows.sketch import Sketch, counted

if TYPE_CHECKING:
    from windrow.windows.arrays import Positions
    from windrow.windows.sorted_rows import Bounds, SortedRows


@dataclass(frozen=True)
class On(Window):
    """The rows since the last punctuation; each row that satisfies `on` closes a window."""

    on: Callable[[Any], bool] | str
    slide: int | None = None

    takes: ClassVar[tuple[str, ...]] = ("on", "slide")
    asks_values: ClassVar[bool] = True
    per_row: ClassVar[bool] = False
    kept: ClassVar[Kept] = "aggregate"
    slices_in_words: ClassVar[str] = "1 a window: a window begins where the one before ends"

    def __post_init__(self) -> None:
        text = isinstance(self.on, str) and self.on.strip()
        if not (text or (callable(self.on) and accepts(self.on, 1))):
            raise InvalidArgument(
                f"on={self.on!r} must be a condition such as \"kind = 'end'\", the name of a "
                f"column of booleans, or a function of a row"
            )
        if self.slide is not None:
            whole_number("slide", self.slide, least=1)

    def bounds(self, rows: SortedRows) -> Bounds:
        """The rows from behind the last punctuation of the same key up to the next, or a slide."""
        import numpy as np

        assert rows.values is not None
        closes = rows.values.satisfying(self.on)
        behind = np.append(np.flatnonzero(closes) + 1, 0)  # where windows begin; the first at 0

        def begins(at: Positions) -> Positions:
            number = np.searchsorted(behind[:-1], at, side="right")
            lo: Positions = np.maximum(behind[number - 1], rows.begins(at))
            return lo

        last = rows.positions(rows.fresh)
        if self.slide is None:
            last = last[closes[last]]
            return rows.windows(begins(last), last + 1, last)
        every = np.arange(rows.size)
        lo = begins(every)
        due = last[closes[last] | (rows.count(lo[last], last + 1) % self.slide == 0)]
        left = np.where(closes, 0, every + 1 - lo)
        return rows.windows(lo[due], due + 1, due, left)

    def keeps(self, rows: SortedRows, bounds: Bounds) -> Positions:
        """The rows behind the last punctuation."""
        if bounds.left is not None:
            return rows.without(bounds.left)
        return rows.behind(rows.positions(bounds.beside) + 1)

    @property
    def reads_rows(self) -> bool:  # type: ignore[override]
        return callable(self.on)

    def conditions(self) -> dict[str, str]:
        return {"on": self.on} if isinstance(self.on, str) else {}

    def sketch(self) -> Sketch:
        """Windows that some rows close, for instance."""
        every = self.slide or 0
        closes = (every + 3, every + 6)
        windows, begin = [], 1
        for row in range(1, closes[-1] + 1):
            if row in closes or (every and (row - begin + 1) % every == 0):
                windows.append((begin, row, row))
            if row in closes:
                begin = row + 1
        return counted(windows, example=True)

    def cql(self) -> list[str]:
        words = [] if self.slide is None else [f"SLIDE {self.slide}"]
        return words if isinstance(self.on, str) else super().cql()

    def __str__(self) -> str:
        every = "" if self.slide is None else f", and up to every {self.slide} rows of them"
        return f"the rows up to each that satisfies {named(self.on)}{every}"
