"""The steps of a statement of SQL over a table in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.queries.select import SortKey, Steps
from windrow.tables.bind import bind
from windrow.tables.columns import decoded, nulls_of, ranks, rows_at
from windrow.tables.filters import columns_of, satisfies
from windrow.tables.keys import oldest
from windrow.tables.run import run_queries

Chosen = NDArray[Any] | None


def run_steps(steps: Steps, table: pa.Table, names: Sequence[str]) -> tuple[Chosen, dict[str, Any]]:
    """The rows of a frame that come out (None: all), and the columns by their names.

    `table` has those of the frame's columns `names` that are computed with. A column that comes out
    as it is in the frame is told by its name there, others are arrays.
    """
    chosen: Chosen = None
    if steps.where is not None:
        chosen, table = _kept(np.flatnonzero(satisfies(steps.where, table)), chosen, table)
    for stage in steps.stages:
        for name, text in stage.computed:
            table = table.append_column(name, columns_of(table)(text))
        bounds = [bind(query, table.schema) for query in stage.queries]
        for result in run_queries(bounds, table):
            for name, array in result.arrays.items():
                table = table.append_column(name, array)
    if steps.qualify is not None:
        chosen, table = _kept(np.flatnonzero(satisfies(steps.qualify, table)), chosen, table)
    if steps.distinct:
        columns = [columns_of(table)(text) for text in steps.distinct]
        chosen, table = _kept(np.flatnonzero(oldest(columns, table.num_rows)), chosen, table)
    if steps.order:
        chosen, table = _kept(_sorted(steps.order, table), chosen, table)
    if steps.limit is not None or steps.offset:
        stop = table.num_rows if steps.limit is None else steps.offset + steps.limit
        first = np.arange(min(steps.offset, table.num_rows), min(stop, table.num_rows))
        chosen, table = _kept(first, chosen, table)
    column = columns_of(table)
    return chosen, {
        name: text if text in names else decoded(column(text)) for name, text in steps.results
    }


def _kept(places: NDArray[Any], chosen: Chosen, table: pa.Table) -> tuple[Chosen, pa.Table]:
    """Some rows of the table, and which of the frame's they are."""
    return (places if chosen is None else chosen[places]), rows_at(table, places)


def _sorted(keys: Sequence[SortKey], table: pa.Table) -> NDArray[np.int64]:
    """The places of rows in the order of the keys; rows that are equal stay as they are.

    NaN is larger than any number.
    """
    places = []
    for key in keys:
        array = decoded(columns_of(table)(key.text))
        place, nulls = ranks(array)[0] + 1, nulls_of(array)
        if key.descending:
            place = -place
        if nulls is not None:
            least, most = place.min(initial=0), place.max(initial=0)
            place = np.where(nulls, least - 1 if key.nulls_first else most + 1, place)
        places.append(place)
    return np.lexsort(places[::-1])
