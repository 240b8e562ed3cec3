"""The algorithms by name over the batches of a stream: a compiled loop, or the interpreter."""

from __future__ import annotations

from collections import deque
from typing import Any

from windrow.aggregations.base import Aggregation
from windrow.algorithms import algorithm_class
from windrow.errors import Unsupported
from windrow.kernels.columns import Column
from windrow.kernels.compiled_states import Compiled, compiled_state
from windrow.kernels.functions import NotCompilable
from windrow.kernels.interpreted import objects, packed
from windrow.kernels.results import ResultArray
from windrow.kernels.routes import check_types, hashes_times, warn_interpreted
from windrow.kernels.stream_loop import Batch, Loop, Pba, loop_name


def roller(
    aggregation: Aggregation,
    columns: list[Column | None],
    arrays: list[Any],
    rows: int | None,
    algorithm: str,
    nulls: bool,
) -> Loop | Interpreted:
    """What runs `algorithm` over batches of such columns; None stands for one of objects."""
    refusal = algorithm_class(algorithm).refuses(aggregation)
    if refusal:
        raise Unsupported(refusal)
    measured = columns[:1] if aggregation.takes == "ordered pair" else columns
    known = [c for c in measured if c is not None]
    compiled = None
    if len(known) == len(measured):
        check_types(aggregation, known[0])
        compiled = _compiled(aggregation, known, algorithm)
    if compiled is None:
        return Interpreted(aggregation, rows, algorithm)
    nulls = nulls or any(c.nulls is not None for c in known)
    kind: type[Loop] = Loop
    if algorithm == "pba":
        kind, algorithm = (Loop, "sba") if _alone(compiled, rows) else (Pba, algorithm)
    return kind(aggregation, compiled, known, arrays, rows, algorithm, nulls)


def _alone(compiled: Compiled, rows: int | None) -> bool:
    """Whether PBA runs as SBA, the same idea in one thread: by time, and for sketches."""
    return rows is None or not hasattr(compiled, "fields")


def _compiled(aggregation: Aggregation, columns: list[Column], algorithm: str) -> Compiled | None:
    if hashes_times(aggregation, columns[0]):
        return None
    subtracting = loop_name(aggregation, algorithm, None) == "subtract_on_evict"
    try:
        return compiled_state(aggregation, [str(c.data.dtype) for c in columns], subtracting)
    except NotCompilable as error:
        warn_interpreted(aggregation, error)
        return None


class Interpreted:
    """The algorithm in the interpreter: for strings, lists, and functions that do not compile."""

    def __init__(self, aggregation: Aggregation, rows: int | None, algorithm: str) -> None:
        self.aggregation, self.rows = aggregation, rows
        self.swag = algorithm_class(algorithm).make(aggregation)
        self.waiting: deque[Any] = deque()
        self.head = 0

    def roll(self, batch: Batch) -> ResultArray:
        """The answers of the rows that the batch asks for."""
        nulls = [None if c is None else c.nulls for c in batch.columns]
        self.waiting.extend(objects(batch.arrays, nulls))
        answers = []
        for row in range(batch.row, batch.stop):
            if batch.lo is None or batch.hi is None:
                first, past = max(0, row + 1 - (self.rows or 0)), row + 1
            else:
                first, past = int(batch.lo[row - batch.row]), int(batch.hi[row - batch.row])
            while self.head + len(self.swag) < past:
                self.swag.insert(self.waiting.popleft())
            gone = min(first, past) - self.head
            self.swag.evict(gone)
            self.head += gone
            answers.append(self.swag.query())
        return packed(self.aggregation, answers)
