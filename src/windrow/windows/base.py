"""What a kind of window is: a value that says over which rows each result goes.

A kind checks its arguments when it is made and knows nothing of the data. Engines ask it two things
of rows that are sorted by key and order (`SortedRows`), all of them at once, batch by batch, or as
a watermark passes them:

    bounds(rows)          which positions each result covers, and beside which row it stands
    keeps(rows, bounds)   from which position on a window of rows to come may reach back

The rest is what a plan is chosen by: how far windows reach, whether they are cut into slices, and
what a stream keeps of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from windrow.errors import InvalidArgument, Unsupported
from windrow.identity import named
from windrow.windows.sizes import Axis

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from windrow.windows.sketch import Sketch
    from windrow.windows.slicing import Slicing
    from windrow.windows.sorted_rows import Bounds, SortedRows

# What a stream keeps of a key for windows to come: an aggregate of each slice; one aggregate of all
# rows so far; an aggregate of each session that is open; chunks of rows and their aggregates; the
# rows that windows to come may hold; these and whole rows that wait for others to follow; or the
# rows of the window that a policy left.
Kept = Literal["slices", "aggregate", "sessions", "chunks", "rows", "followed", "window"]


@dataclass(frozen=True)
class Window:
    """Base of the kinds of windows: what they are, as plans ask for it, and their methods."""

    takes: ClassVar[tuple[str, ...]] = ()  # the arguments of `sliding` that it has
    # the columns with the ends of windows, if results are rows of their own
    columns: ClassVar[tuple[str, ...]] = ()
    measured: ClassVar[str] = ""  # the argument that measures along the order column, if one does
    counts_rows: ClassVar[bool] = False  # whether the order only says which rows are the last
    # whether windows only depend on which rows are equal in the order, not on how far apart they
    # are: the order may then be several columns, of any type
    by_peers: ClassVar[bool] = False
    reads_rows: ClassVar[bool] = False  # whether a function of the user's looks at whole rows
    asks_values: ClassVar[bool] = False  # whether values of rows decide where windows begin or end
    per_row: ClassVar[bool] = True  # whether every row has a result
    by_rows: ClassVar[bool] = False  # whether each row has a window of so many rows
    # (rows, ahead) if a window is the last `rows` rows up to the row that is `ahead` rows ahead
    shift: ClassVar[tuple[int, int] | None] = None
    # how many rows a window holds at most up to the current one, and behind it; None: no bound
    reach_rows: ClassVar[int | None] = None
    ahead_rows: ClassVar[int | None] = 0
    ends_now: ClassVar[bool] = True  # whether windows go up to the current row, and end there
    # whether a window may begin or end before that of an earlier row, as months are not alike
    go_back: ClassVar[bool] = False
    from_first: ClassVar[bool] = False  # whether they begin with the first row
    endless: ClassVar[bool] = False  # whether they go on to the last row
    in_ranges: ClassVar[bool] = False  # whether the order can be cut into ranges that run apart
    kept: ClassVar[Kept] = "rows"
    reads: ClassVar[tuple[Any, ...]] = ()  # columns that a policy reads; None for one without name
    row_size: ClassVar[str | None] = None  # the expression that gives each row a size of its own
    policy: ClassVar[Any] = None  # the function that says which of the oldest rows go, if one does
    sliced_by_rule: ClassVar[bool] = True  # whether Spark can tell where the slice of a row begins
    # what the slices are where `slicing` has no rule for them
    slices_in_words: ClassVar[str] = "1 a row: a window may begin at any of them"

    # -- over which rows --------------------------------------------------------------------

    def bounds(self, rows: SortedRows) -> Bounds:
        """Return the windows of the rows in `rows.fresh` that no row to come can change."""
        raise NotImplementedError

    def keeps(self, rows: SortedRows, bounds: Bounds) -> NDArray[np.int64]:
        """Return for each segment the first position that windows of rows to come may hold."""
        raise NotImplementedError

    # -- what plans are chosen by -----------------------------------------------------------

    def reach(self, axis: Axis) -> int | float | None:
        """Return how far windows reach back along the order at most; None if nothing bounds it."""
        return None

    def sure_reach(self, axis: Axis) -> int | float | None:
        """Return how far back all windows reach, which is `reach` unless their sizes differ."""
        return self.reach(axis)

    def ahead(self, axis: Axis) -> int | float | None:
        """Return how far windows reach ahead along the order at most; None: to the last row."""
        return 0

    def last_times(self, at: NDArray[np.int64], axis: Axis) -> NDArray[np.int64]:
        """Return where the windows of rows at such times end along the order."""
        ends: NDArray[np.int64] = at + int(self.ahead(axis) or 0)
        return ends

    def slicing(self) -> Slicing | None:
        """Return where rows are cut, so that overlapping windows share what they aggregate."""
        return None

    def conditions(self) -> dict[str, str]:
        """Return the expressions over rows that decide about windows, by their arguments."""
        return {}

    def start_axis(self, axis: Axis) -> Axis:
        """Return the axis to measure windows in: the column's own, or one in a finer unit."""
        return axis

    def check_axis(self, axis: Axis) -> None:
        """Refuse an order column that the window cannot be measured along."""

    def check_room(self) -> None:
        """Refuse windows so many of which hold a single row that memory has no room for them."""

    def resized(self, change: Callable[[Any], Any]) -> Window:
        """Return the same window with its sizes along the order changed, where they are numbers."""
        return self

    def with_row_size(self, text: str) -> Window:
        """Return the same window with another expression for each row's size, if it has one."""
        return self

    # -- how it prints ----------------------------------------------------------------------

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of `sliding` that differ from the defaults."""
        return {f.name: v for f in fields(self) if (v := getattr(self, f.name)) != f.default}

    def sketch(self) -> Sketch | None:
        """Some rows and the windows over them, to be drawn; None if there is nothing to draw."""
        return None

    def cql(self) -> list[str]:
        """Return the clauses of CQL that say the same; an `Unsupported` error if there are none."""
        name, function = next(item for item in self.arguments().items() if callable(item[1]))
        raise Unsupported(f"{name}={named(function)} is a function, which CQL has no words for")


def written(arguments: Mapping[str, Any]) -> list[str]:
    """Return keyword arguments as a call has them, functions by their names."""
    return [f"{k}={named(v) if callable(v) else repr(v)}" for k, v in arguments.items()]


def results_in_words(slide: int | None = None) -> str:
    """Return in words how often a window has a result."""
    return "a result for each row" if slide is None else f"a result after every {slide} rows"


def check_gaps(gaps: Any, slide: Any, large: bool, argument: str, size: Any) -> None:
    """Refuse a slide that leaves rows between windows out, unless that is asked for."""
    if not isinstance(gaps, bool):
        raise InvalidArgument(f"gaps={gaps!r} must be True or False")
    if large and not gaps:
        raise InvalidArgument(
            f"slide={slide!r} is larger than {argument}={size!r}, so rows between the windows "
            f"would be lost; take a slide of at most {size!r}, or say gaps=True (in CQL: WITH "
            f"GAPS) if that is meant"
        )
