"""Punctuation: `on=`, a window closes at each row that satisfies a condition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from windrow.errors import InvalidArgument
from windrow.identity import named
from windrow.windows.base import Kept, Window

if TYPE_CHECKING:
    from windrow.windows.arrays import Positions
    from windrow.windows.positions import Bounds, SortedRows


@dataclass(frozen=True)
class On(Window):
    """The rows since the last punctuation; each row that satisfies `on` closes a window."""

    on: Callable[[Any], bool] | str

    takes: ClassVar[tuple[str, ...]] = ("on",)
    per_row: ClassVar[bool] = False
    kept: ClassVar[Kept] = "aggregate"
    slices_in_words: ClassVar[str] = "1 a window: a window begins where the one before ends"

    def __post_init__(self) -> None:
        if not (callable(self.on) or (isinstance(self.on, str) and self.on.strip())):
            raise InvalidArgument(
                f"on={self.on!r} must be a condition such as \"kind = 'end'\", the name of a "
                f"column of booleans, or a function of a row"
            )

    def bounds(self, rows: SortedRows) -> Bounds:
        """The rows from behind the last punctuation of the same key up to the next."""
        import numpy as np

        assert rows.values is not None
        closing = np.flatnonzero(rows.values.satisfying(self.on))
        behind = np.concatenate([[0], closing[:-1] + 1]) if closing.size else closing
        fresh = np.zeros(rows.size, np.bool_)
        fresh[rows.fresh] = True
        chosen = fresh[closing]
        lo = np.maximum(behind, rows.begins(closing))[chosen]
        closing = closing[chosen]
        return rows.windows(lo, closing + 1, closing)

    def keeps(self, rows: SortedRows, bounds: Bounds) -> Positions:
        """The rows behind the last punctuation."""
        import numpy as np

        keep = rows.starts[:-1].copy()
        closing = rows.positions(bounds.beside)
        stretch = np.searchsorted(rows.starts, closing, side="right") - 1
        np.maximum.at(keep, stretch, closing + 1)
        return keep

    @property
    def reads_rows(self) -> bool:  # type: ignore[override]
        return callable(self.on)

    def conditions(self) -> dict[str, str]:
        return {"on": self.on} if isinstance(self.on, str) else {}

    def __str__(self) -> str:
        return f"the rows up to each that satisfies {named(self.on)}"
