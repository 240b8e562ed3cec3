"""Rows within a range of the current one: `range=` and `delta=`, with a result a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from windrow.errors import InvalidArgument, InvalidValue, did_you_mean
from windrow.windows.base import Kept, Window
from windrow.windows.sizes import NOW, UNBOUNDED, Axis, in_cql, is_number, measure

if TYPE_CHECKING:
    from windrow.windows.arrays import Positions
    from windrow.windows.positions import Bounds, SortedRows

CLOSED = ("both", "right", "left", "neither")
_CLOSED_AT_START = {"right": "both", "neither": "left"}


@dataclass(frozen=True)
class Measured(Window):
    """Windows of a size along the order: one of `range`, a duration or a number, and `delta`."""

    range: Any = None
    delta: Any = None

    def __post_init__(self) -> None:
        if self.delta is not None and not is_number(self.delta):
            raise InvalidArgument(
                f"delta={self.delta!r} must be a number; for a duration give range="
            )

    @property
    def measured(self) -> str:  # type: ignore[override]
        """The argument that gives the size."""
        return "range" if self.delta is None else "delta"

    @property
    def size(self) -> Any:
        """The size as it was written."""
        return self.range if self.delta is None else self.delta

    def measure(self) -> int | float:
        """The size: a duration in nanoseconds, or the number that it is."""
        return measure(self.measured, self.size)

    def check_like(self, name: str, value: Any) -> None:
        """Refuse another argument that is a number where the size is one of time, or reversed."""
        self.measure()
        if value is not None and is_number(value) != is_number(self.size):
            kind = "a number" if is_number(self.size) else "a duration"
            raise InvalidArgument(
                f"{name}={value!r} must be {kind}, as {self.measured}={self.size!r} is"
            )

    def check_axis(self, axis: Axis) -> None:
        if self.delta is not None and axis.tick is not None:
            raise InvalidValue(
                f"delta={self.delta!r} measures along numbers, and {axis.name!r} is of type "
                f'{axis.type}; give range="1 hour" or the like'
            )
        for argument, value in self.arguments().items():
            if argument in ("range", "delta", "slide", "offset"):
                for size in value if isinstance(value, tuple) else (value,):
                    axis.check(argument, size)

    def resized(self, change: Callable[[Any], Any]) -> Measured:
        """The same window with its sizes changed, where they are numbers."""
        ends = self.size if isinstance(self.size, tuple) else (self.size,)
        made = tuple(change(end) if is_number(end) else end for end in ends)
        return replace(self, **{self.measured: made if len(made) > 1 else made[0]})


@dataclass(frozen=True)
class Span(Measured):
    """The rows whose order lies within a size of the current row's, up to and with it.

    `range` may be "unbounded" (all rows so far, those of equal order with them) or "now" (the rows
    of equal order).
    """

    closed: str = "both"

    takes: ClassVar[tuple[str, ...]] = (
        *("range", "delta", "closed", "slide", "offset", "gaps", "exclude"),
    )
    in_ranges: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.closed not in CLOSED:
            raise InvalidArgument(
                f"closed={self.closed!r} is unknown; {did_you_mean(str(self.closed), CLOSED)}"
            )
        super().__post_init__()
        if self.bounded:
            self.measure()
        elif self.closed != "both":
            raise InvalidArgument(f"range={self.range!r} goes with neither closed= nor slide=")

    def bounds(self, rows: SortedRows) -> Bounds:
        """The rows within the size before each row; those of equal order see each other."""
        import numpy as np

        from windrow.windows.bounds import segment_bounds

        assert rows.at is not None and rows.axis is not None
        size, rest = self._units(rows.axis)
        # between two ticks there is nothing: a size of one and a half is one, its end included
        closed = _CLOSED_AT_START.get(self.closed, self.closed) if rest else self.closed
        lo, hi = segment_bounds(rows.at, rows.starts, size, closed, threads=rows.threads)
        if self.range == UNBOUNDED:
            lo = np.repeat(rows.keys[:-1], np.diff(rows.keys))
        beside = rows.settled() if self.includes_now else rows.fresh
        return rows.windows(lo[beside], hi[beside], beside)

    def keeps(self, rows: SortedRows, bounds: Bounds) -> Positions:
        """The rows that lie within the size before all rows to come."""
        import numpy as np

        assert rows.axis is not None
        size = self.reach(rows.axis)
        if size is None:  # rows without an order are in the window, too
            return np.repeat(rows.keys[:-1], rows.places)
        return rows.since(None if rows.now is None else rows.now - size)

    @property
    def bounded(self) -> bool:
        """Whether the size is one, not "unbounded" or "now"."""
        return self.size not in (UNBOUNDED, NOW)

    @property
    def by_peers(self) -> bool:  # type: ignore[override]
        return not self.bounded

    @property
    def includes_now(self) -> bool:
        """Whether rows of the current row's order are in its window."""
        return self.closed in ("both", "right")

    @property
    def kept(self) -> Kept:  # type: ignore[override]
        """Chunks of rows, or an aggregate of all so far."""
        return "aggregate" if self.range == UNBOUNDED else "chunks"

    def reach(self, axis: Axis) -> int | float | None:
        return None if self.range == UNBOUNDED else self._units(axis)[0]

    def _units(self, axis: Axis) -> tuple[int | float, int | float]:
        return axis.units(self.measure() if self.bounded else 0)

    def cql(self) -> list[str]:
        if self.range == NOW:
            return ["NOW"]
        size = "UNBOUNDED" if self.range == UNBOUNDED else in_cql(self.size)
        words = [f"{self.measured.upper()} {size}"]
        return words if self.closed == "both" else [*words, f"CLOSED {self.closed.upper()}"]

    def __str__(self) -> str:
        if self.range == UNBOUNDED:
            return "all rows so far and those of equal order, an answer a row"
        if self.range == NOW:
            return "the rows of equal order, an answer a row"
        left = "[" if self.closed in ("both", "left") else "("
        return f"{left}t − {self.size}, t{']' if self.includes_now else ')'}, an answer a row"
