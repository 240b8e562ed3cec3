"""Which way an aggregation is rolled: by a kernel of its own, a compiled loop, or interpreted."""

from __future__ import annotations

from typing import Any

from windrow.aggregations.base import Aggregation
from windrow.aggregations.custom import Custom
from windrow.algorithms import algorithm_class
from windrow.compiled.batch import Roller
from windrow.compiled.columns import Column
from windrow.compiled.custom import NotCompilable, custom_monoid
from windrow.compiled.interpreted import Interpreted
from windrow.compiled.loop import Loop, Pba, loop_name
from windrow.compiled.monoids import Monoid, monoid
from windrow.compiled.sketches import sketched
from windrow.compiled.specialised import specialised
from windrow.errors import InvalidArgument, InvalidValue, Unsupported


def roller(
    aggregation: Aggregation,
    columns: list[Column | None],
    arrays: list[Any],
    rows: int | None,
    algorithm: str,
    threads: int,
    nulls: bool,
) -> Roller:
    """The roller for an aggregation of such columns."""
    name = type(aggregation).__name__
    if len(columns) != 1 and name not in ("ArgMax", "ArgMin", "LongestRun", "Custom"):
        raise InvalidArgument(f"{aggregation!r} takes one array of values, got {len(columns)}")
    if algorithm != "auto":
        refusal = algorithm_class(algorithm).refuses(aggregation)
        if refusal:
            raise Unsupported(refusal)
    if any(c is None for c in columns[: None if name == "Custom" else 1]):
        return Interpreted(aggregation, rows, algorithm, "")
    present = [c for c in columns if c is not None]
    _check_types(aggregation, present[0])
    nulls = nulls or any(c.nulls is not None for c in present)
    if algorithm == "auto" and rows is not None:
        special = specialised(aggregation, present[0], rows, threads, nulls)
        if special is not None:
            return special
    sketch = sketched(aggregation, present[0], rows, algorithm, nulls)
    if sketch is not None:
        return sketch
    try:
        compiled = _monoid(aggregation, present, algorithm)
    except NotCompilable as error:
        return Interpreted(aggregation, rows, algorithm, str(error))
    if compiled is None:
        return Interpreted(aggregation, rows, algorithm, "")
    kind = Pba if algorithm == "pba" and rows is not None else Loop
    return kind(aggregation, compiled, present, arrays, rows, algorithm, threads, nulls)


def _check_types(aggregation: Aggregation, first: Column) -> None:
    """Refuse times where numbers are asked for."""
    kind, name = first.dtype.kind, type(aggregation).__name__
    if aggregation.takes == "number" and (
        kind == "M" or (kind == "m" and name not in ("Sum", "Mean"))
    ):
        raise InvalidValue(f"{aggregation!r} takes numbers, not {first.dtype}")


def _monoid(aggregation: Aggregation, columns: list[Column], algorithm: str) -> Monoid | None:
    dtypes = tuple(str(c.data.dtype) for c in columns)
    if isinstance(aggregation, Custom):
        return custom_monoid(aggregation, dtypes)
    subtracting = loop_name(aggregation, algorithm, None) == "subtract_on_evict"
    return monoid(aggregation, dtypes[0], subtracting)
