"""What the rollers take: a batch of a stream, and the rows to be answered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.compiled.answers import Answers
from windrow.compiled.columns import Column


@dataclass
class Batch:
    """Values that came, and the rows that are to be answered now.

    `base` is the position in the stream of the first value; rows `row` … `stop` − 1 are asked for,
    and by time, row r has the window [lo, hi) of positions. Nothing comes after the `last` batch.
    """

    columns: list[Column | None]
    base: int
    arrays: list[Any]
    last: bool
    row: int = 0
    stop: int = 0
    lo: NDArray[np.int64] | None = None
    hi: NDArray[np.int64] | None = None


class Roller(ABC):
    """One aggregation over one stream."""

    @abstractmethod
    def roll(self, batch: Batch) -> Answers:
        """The answers of the rows that the batch asks for."""
