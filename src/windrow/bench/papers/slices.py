"""Windows of slices: s values become one partial aggregate, and an algorithm merges those."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations import Max
from windrow.bench.feeds import Compiled
from windrow.kernels.rolling import rolling


class Sliced(Compiled):
    """Max over slices: an event is a value, and every slide of them gives an answer.

    `starts` are where the slices of `values` begin; a window is `w` slices.
    """

    def __init__(
        self,
        algorithm: str,
        values: NDArray[np.float64],
        starts: NDArray[np.int64],
        w: int,
        seconds: float,
    ) -> None:
        self.starts = starts
        super().__init__(algorithm, Max(), values, w, seconds)
        self.least = max(self.least, values.size)

    def run(self, events: int) -> Any:
        """Slice and merge, the whole array each time."""
        for _ in range(max(1, events // self.values.size)):
            rolling(
                np.maximum.reduceat(self.values, self.starts),
                self.aggregation,
                rows=self.w,
                algorithm=self.algorithm,
                threads=self.threads,
                state=self.state,
            )
