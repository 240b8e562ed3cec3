"""Windows along the order without their current row.

One pass over whole windows finds their sums and extremes, and takes the row out of each as it goes
(`special.bounded`). Where too many windows have to be looked at for that, the rows before the
current one and behind it are parts, and what is found for these is joined. Whole numbers are summed
exactly, so the row's is subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.kernels.columns import Column
from windrow.kernels.compiled_states import Compiled
from windrow.kernels.named import Common, Find, Question
from windrow.kernels.parts import LOOKED, PartsQuestion, few_filled, looped
from windrow.kernels.special.bounded import bounded_extremes_without, bounded_sums_without
from windrow.kernels.special.joined import divide_by_others, join_extremes, join_sums
from windrow.kernels.special.minmax import Order
from windrow.kernels.window_loop import run_loop
from windrow.windows.arrays import Positions, empty, in_threads, stretches
from windrow.windows.exclude import Around
from windrow.windows.positions import Piece, Windows


class WithoutRow(PartsQuestion):
    """A question about windows by their bounds, of which the current row alone is left out."""

    def __init__(
        self,
        aggregation: Aggregation,
        column: Column,
        around: Around,
        threads: int,
        common: Common | None = None,
        others: Sequence[Column] = (),
    ) -> None:
        super().__init__(
            aggregation, column, around, threads, common, others, windows=around.windows
        )
        self.around, self.left_out = around, around.first

    def whole_windows(self) -> Windows:
        """The windows as if nothing were left out of them."""
        return self.around.windows

    @cached_property
    def longest(self) -> int:
        """A number of rows that no window exceeds."""
        return self.around.windows.longest

    def shorter_than(self, length: int) -> NDArray[np.bool_] | None:
        """Which windows have fewer rows; None if none has."""
        return self.around.windows.shorter_than(length + 1)

    def few_shorter_than(self, length: int) -> Positions | None:
        """The numbers of the windows with fewer rows, in no order; None if they are many."""
        return self.around.windows.few_shorter_than(length + 1)

    def by_states(
        self,
        compiled: Compiled,
        data: tuple[NDArray[Any], ...],
        nulls: NDArray[np.uint8] | None,
    ) -> tuple[tuple[NDArray[Any], ...], NDArray[np.uint8]]:
        """The results of windows by the states of their parts, and which of them have one."""
        aggregation, threads = self.aggregation, self.threads
        sides = self._sides(1)
        some = None if sides is None else few_filled(sides[1])
        if sides is None or some is None:
            return looped(aggregation, compiled, data, nulls, self.by_bounds(), threads)
        out, valid = run_loop(aggregation, compiled, data, nulls, sides[0], threads)
        parts = self.by_bounds(some)
        few, valid[some] = looped(aggregation, compiled, data, nulls, parts, threads)
        for into, found in zip(out, few, strict=True):
            into[some] = found
        return out, valid

    def sums(self, find: Find, values: NDArray[Any], mean: bool) -> NDArray[Any]:
        """The sums of windows, or the means; `find` finds sums of parts, of these values."""
        if values.dtype != np.float64:
            return super().sums(find, values, mean)
        results = self._without_row(bounded_sums_without, values, mean, anywhere=False)
        if results is not None:
            return results
        sums = self.by_parts(find, join_sums)
        lo, hi = self.around.windows.bounds()
        in_threads(
            lambda p: divide_by_others(sums[slice(*p)], lo[slice(*p)], hi[slice(*p)]),
            stretches(sums.size, self.threads) if mean else [],
        )
        return sums

    def extremes(self, find: Find, bits: NDArray[np.int64], order: Order) -> NDArray[np.int64]:
        """The extremes of windows, the same bits whichever way finds them."""
        results = self._without_row(bounded_extremes_without, bits, order, anywhere=True)
        if results is not None:
            return results
        return self.by_parts(find, lambda a, b, out: join_extremes(a, b, order, out))

    def _without_row(
        self, kernel: Callable[..., int], values: NDArray[Any], more: Any, anywhere: bool
    ) -> NDArray[Any] | None:
        """What a kernel of `special.bounded` finds for windows without their rows.

        None if it would have to look at too many rows one by one.
        """
        windows, first = self.around.windows, self.around.first
        out, looked = empty(len(windows), values.dtype), [0]
        pieces = windows.pieces(self.threads, anywhere=anywhere)
        most = LOOKED * (values.size + out.size) // len(pieces)

        def fill(piece: Piece) -> None:
            here, scratch = slice(piece.begin, piece.stop), self.scratch(2).view(values.dtype)
            lo, hi = windows.bounds_of(piece.begin, piece.stop)
            end, row = windows.end_before(piece.begin), first + piece.begin
            looked.append(kernel(values, lo, hi, end, more, row, most, scratch, out[here]))

        in_threads(fill, pieces)
        return out if max(looked) <= most else None

    def _sides(self, rows: int) -> tuple[Windows, Windows] | None:
        """The part of windows that may be long, and one of fewer rows on average, if one is so.

        As that of rows of equal order behind the current one.
        """
        if not self.one_sided(rows):
            return None
        older, newer = self.parts
        before, behind = self.around.beside
        return (older, newer) if behind <= before else (newer, older)

    def one_sided(self, rows: int) -> bool:
        """Whether windows have fewer rows, on average, before their own or behind it."""
        return min(self.around.beside) < rows * len(self.windows)


def question_about(
    windows: Windows | Sequence[Windows], aggregation: Aggregation, column: Column, *more: Any
) -> Question:
    """A question about windows, or about those that have such parts."""
    if isinstance(windows, Windows):
        return Question(aggregation, column, windows, *more)
    kind = WithoutRow if isinstance(windows, Around) else PartsQuestion
    return kind(aggregation, column, windows, *more)  # type: ignore[arg-type]
