"""Two sets of answers, row for row: the same keys, and the same values beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from windrow.windows.durations import nanoseconds

_HOUR = nanoseconds("1 hour", "range") // 1000


@dataclass(frozen=True)
class Agreement:
    """How many rows were compared, how many differ, and by how much at most (relatively)."""

    rows: int
    differing: int
    furthest: float

    @property
    def holds(self) -> bool:
        """Whether every row has the same answers."""
        return self.differing == 0

    def __str__(self) -> str:
        if not self.holds:
            return f"{self.differing:,} of {self.rows:,} differ"
        return "exactly" if self.furthest == 0 else f"within {self.furthest:.0e}"


def compare(
    a: pa.Table, b: pa.Table, keys: tuple[str, ...], answers: tuple[str, ...], close: float = 1e-9
) -> Agreement:
    """Sort both by their keys, and compare: floats within `close` of each other, others exactly.

    >>> a = pa.table({"k": [2, 1], "v": [0.5, 1.0]})
    >>> b = pa.table({"k": [1, 2], "v": [1.0, 0.5 + 1e-12]})
    >>> compare(a, b, ("k",), ("v",)).holds
    True
    """
    order = [(key, "ascending") for key in keys]
    a, b = (table.select([*keys, *answers]).sort_by(order) for table in (a, b))
    if a.num_rows != b.num_rows:
        missing = abs(a.num_rows - b.num_rows)
        return Agreement(max(a.num_rows, b.num_rows), missing, float("inf"))
    differs = np.zeros(a.num_rows, bool)
    furthest = 0.0
    for key in keys:
        differs |= _numbers(a.column(key)) != _numbers(b.column(key))
    for name in answers:
        apart = _apart(a.column(name), b.column(name))
        differs |= apart > close
        furthest = max(furthest, float(apart.max(initial=0)))
    return Agreement(a.num_rows, int(differs.sum()), furthest)


def _apart(a: pa.ChunkedArray, b: pa.ChunkedArray) -> Any:
    """How far the values of two columns are apart: 0 where they are equal or both null."""
    if pt.is_list(a.type) or pt.is_large_list(a.type):
        rows = [np.array(c.to_pylist(), float) for c in (a, b)]
        return _relative(*rows).max(axis=1, initial=0)
    if pt.is_floating(a.type):
        return _relative(*(_numbers(column) for column in (a, b)))
    return np.where(_numbers(a) == _numbers(b), 0, np.inf)


def _relative(a: Any, b: Any) -> Any:
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.abs(a - b) / np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-300)
    return np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.nan_to_num(apart, nan=np.inf))


def _numbers(column: pa.ChunkedArray) -> Any:
    if pt.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    return column.to_numpy()


def rank_errors(
    rows: pa.Table, answers: pa.Table, quantiles: tuple[float, ...], name: str = "percentiles"
) -> Any:
    """How far each estimated quantile is from its rank among the loads of its house and hour.

    0.01 means that the estimate stands where 1 % more, or fewer, of the values are below it.
    """
    rows = rows.select(["house_id", "ts", "load"]).sort_by(
        [("house_id", "ascending"), ("ts", "ascending")]
    )
    house, time, load = (_numbers(rows.column(n)) for n in ("house_id", "ts", "load"))
    begin = _numbers(answers.column("window_start"))
    wanted = np.array(quantiles)
    errors = np.zeros((answers.num_rows, len(wanted)))
    starts = {h: np.searchsorted(house, [h, h + 1]) for h in np.unique(house)}
    for i, (h, t, estimates) in enumerate(
        zip(
            _numbers(answers.column("house_id")),
            begin,
            answers.column(name).to_pylist(),
            strict=True,
        )
    ):
        first, last = starts[h]
        inside = first + np.searchsorted(time[first:last], [t, t + _HOUR])
        values = np.sort(load[inside[0] : inside[1]])
        below = np.searchsorted(values, estimates, side="left") / len(values)
        upto = np.searchsorted(values, estimates, side="right") / len(values)
        errors[i] = np.maximum(0, np.maximum(below - wanted, wanted - upto))
    return errors
