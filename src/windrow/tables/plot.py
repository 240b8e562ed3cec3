"""A column over time, and the results of queries beside it, drawn by Matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from windrow.errors import InvalidArgument, Unsupported, extra
from windrow.queries.frames import engine_of
from windrow.queries.query import Query
from windrow.tables.arrow import run
from windrow.tables.bind import Bound
from windrow.tables.columns import decoded
from windrow.tables.filters import columns_of, satisfies
from windrow.tables.types import UNITS, is_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHOWN = 5  # keys that an error names
_VALUES = "0.6"  # the colour of the column itself, behind its results
_PANEL = 2.6  # the height of a panel, in inches
# A line: its label, where its points lie, how high they are, and whether they are values.
_Line = tuple[str, NDArray[Any], NDArray[np.float64], bool]


def plot(queries: Sequence[Query], frame: Any, key: Any = None) -> Figure:
    """A figure of the results for one key: a panel for each column that they are made of.

    A result that does not lie among the values of its column has a panel of its own.
    """
    extra("plot", "matplotlib", "plot")
    from matplotlib import pyplot

    engine = engine_of(frame)
    if not hasattr(engine, "read"):
        raise Unsupported("plot draws rows that are in memory: give it frame.toArrow()")
    bounds, table = engine.read(queries, frame)
    table = _of_key(table, bounds[0].query.partition_by, key)
    panels: dict[str, list[_Line]] = {}
    for bound in bounds:
        _add_lines(panels, bound, table)
    if not panels:
        kinds = [f"{n} ({kind})" for bound in bounds for n, kind in bound.types.items()]
        raise InvalidArgument(f"plot draws numbers, and no result is one: {', '.join(kinds)}")
    size = (9, 0.6 + _PANEL * len(panels))
    figure, axes = pyplot.subplots(
        len(panels), 1, sharex=True, squeeze=False, figsize=size, layout="constrained"
    )
    for panel, (name, lines) in zip(axes[:, 0], panels.items(), strict=True):
        _draw(panel, name, lines)
    axes[-1, 0].set_xlabel(bounds[0].order or "row")
    if key is not None:
        figure.suptitle(f"{', '.join(bounds[0].query.partition_by)} = {_text(key)}")
    return figure


def _draw(panel: Any, name: str, lines: Sequence[_Line]) -> None:
    for label, at, values, of_column in lines:
        style = {"color": _VALUES, "lw": 1.0} if of_column else {"lw": 1.6}
        mark = "." if at.size < 2 else ""
        panel.plot(at, values, label=label, marker=mark, **style)
    panel.set_ylabel(name)
    panel.grid(alpha=0.3)
    panel.margins(x=0)
    panel.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=8, frameon=False, fontsize="small")
    if lines[0][1].dtype.kind == "M":
        dates: Any = import_module("matplotlib.dates")
        locator = dates.AutoDateLocator()
        panel.xaxis.set_major_locator(locator)
        panel.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))


def _add_lines(panels: dict[str, list[_Line]], bound: Bound, table: pa.Table) -> None:
    """Put the lines of a query's column and results on their panels."""
    query, order = bound.query, bound.order
    results = run(query, table)
    rows = table
    if query.where is not None:
        rows = table.filter(pa.array(satisfies(query.where, table)))
    along = order if not bound.own_rows else bound.own_rows[-1]  # where a window ends
    at, turn = _axis(results, along)
    own_at, own_turn = _axis(rows, order)
    for name, part in query.aggregations:
        drawn = _heights(results.column(name))
        if drawn is None:
            continue
        values = _heights(columns_of(rows)(part.columns[0])) if part.columns else None
        panel = name
        if values is not None and part.result != "int64" and _lies_among(drawn, values):
            panel = part.columns[0]
            panels.setdefault(panel, [(panel, own_at, values[own_turn], True)])
        panels.setdefault(panel, []).append((name, at, drawn[turn], False))


def _axis(table: pa.Table, name: str | None) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Where rows lie along the axis, and the order in which they do."""
    if name is None:
        return np.arange(table.num_rows), np.arange(table.num_rows)
    column = decoded(table.column(name))
    kind = column.type
    if pt.is_timestamp(kind) and kind.tz is not None:
        column = pc.local_timestamp(column)
    if pt.is_timestamp(kind) or pt.is_date(kind):
        values = column.to_numpy(zero_copy_only=False).astype("datetime64[us]")
    else:
        found = _heights(column)
        values = np.arange(table.num_rows) if found is None else found
    turn = np.argsort(values, kind="stable")
    return values[turn], turn


def _heights(column: Any) -> NDArray[np.float64] | None:
    """The values of a column as floats, NaN for null; None if they are no numbers."""
    array = decoded(column)
    if pt.is_duration(array.type):
        seconds = UNITS[array.type.unit] / UNITS["s"]
        array = pc.multiply(array.cast(pa.int64()).cast(pa.float64(), safe=False), seconds)
    elif pt.is_decimal(array.type) or pt.is_boolean(array.type) or is_number(array.type):
        array = array.cast(pa.float64(), safe=False)
    else:
        return None
    return np.asarray(array.to_numpy(zero_copy_only=False), np.float64)


def _lies_among(results: NDArray[np.float64], values: NDArray[np.float64]) -> bool:
    """Whether results are between the least and the largest value."""
    some, known = results[np.isfinite(results)], values[np.isfinite(values)]
    if not some.size or not known.size:
        return True
    slack = 1e-9 * max(1.0, float(np.abs(known).max()))
    return bool(known.min() - slack <= some.min() and some.max() <= known.max() + slack)


# -- the rows of a key ---------------------------------------------------------------------------


def _of_key(table: pa.Table, names: Sequence[str], key: Any) -> pa.Table:
    if not names:
        if key is not None:
            raise InvalidArgument(f"key={key!r}: the query has no keys; it names no partition_by")
        return table
    columns = pa.table({name: decoded(table.column(name)) for name in names})
    keys = columns.group_by(list(names), use_threads=False).aggregate([])
    if key is None:
        if keys.num_rows > 1:
            raise InvalidArgument(
                f"the frame has {keys.num_rows} keys of {', '.join(names)}, and a figure is of "
                f"one: say key={_key_of(keys, 0)!r}"
            )
        return table
    wanted = tuple(key[n] for n in names) if isinstance(key, Mapping) else key
    parts = wanted if isinstance(wanted, tuple) and len(names) > 1 else (wanted,)
    if len(parts) != len(names):
        raise InvalidArgument(
            f"key={key!r} must have a value for each of {', '.join(names)}, as a tuple"
        )
    mask = pa.array(np.ones(table.num_rows, np.bool_))
    for name, value in zip(names, parts, strict=True):
        mask = pc.and_(mask, _equal(decoded(columns.column(name)), value, name, key))
    found = table.filter(mask)
    if not found.num_rows:
        some = [_key_of(keys, i) for i in range(min(_SHOWN, keys.num_rows))]
        more = ", …" if keys.num_rows > _SHOWN else ""
        raise InvalidArgument(
            f"key={key!r} is none of the {keys.num_rows} keys of the frame: "
            f"{', '.join(map(repr, some))}{more}"
        )
    return found


def _equal(column: pa.Array, value: Any, name: str, key: Any) -> pa.Array:
    """Which values of a key column are this one; null is a key as well."""
    if value is None:
        return pc.is_null(column)
    try:
        scalar = pa.scalar(value, column.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InvalidArgument(
            f"key={key!r}: the column {name!r} is of type {column.type}: {error}"
        ) from None
    return pc.fill_null(pc.equal(column, scalar), False)


def _key_of(keys: pa.Table, i: int) -> Any:
    values = tuple(column[i].as_py() for column in keys.columns)
    return values[0] if len(values) == 1 else values


def _text(key: Any) -> str:
    parts = key.values() if isinstance(key, Mapping) else key if isinstance(key, tuple) else (key,)
    return ", ".join(map(str, parts))
