"""The results of a step of a stream, and which of them come out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.tables.bind import Bound
from windrow.tables.columns import whole
from windrow.tables.filters import news, satisfies
from windrow.tables.keys import codes, newest

_TOLD = "windrow:told"


@dataclass(frozen=True)
class NewResults:
    """ResultArray by key and, within a key, in order; `rows` has each one's row of `table`."""

    table: pa.Table
    rows: NDArray[Any]
    made: dict[str, pa.Array]
    by_row: bool = True  # whether the answers come out in the order of the rows

    def chosen(self, mask: NDArray[np.bool_]) -> NewResults:
        """Some of the answers."""
        made = {name: array.filter(pa.array(mask)) for name, array in self.made.items()}
        return replace(self, rows=self.rows[mask], made=made)

    def result(self, names: list[str]) -> pa.Table:
        """The answers beside columns of their rows."""
        rows, made = self.rows, self.made
        if self.by_row and (rows[1:] < rows[:-1]).any():
            order = np.argsort(rows, kind="stable")
            rows = rows[order]
            made = {name: array.take(pa.array(order)) for name, array in made.items()}
        beside = {name: self.table.column(name) for name in names}
        if rows.size != self.table.num_rows or (rows != np.arange(rows.size)).any():
            taken = pa.array(rows)
            beside = {name: column.take(taken) for name, column in beside.items()}
        return pa.table({**beside, **made})


def passing(bound: Bound, results: NewResults) -> NDArray[np.bool_]:
    """Which answers satisfy the query's `having`."""
    if bound.query.having is None:
        return np.ones(results.rows.size, np.bool_)
    table = results.table.take(pa.array(results.rows))
    for name, array in results.made.items():
        table = table.append_column(name, array)
    return satisfies(bound.query.having, table)


class Latest:
    """The last answer of each key, for queries that tell only what is new (istream).

    An answer that follows one that `having` held back is new, so such a key holds none.
    """

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self._keys = list(bound.query.partition_by)
        self._told = pa.schema([pa.field(n, bound.types[n]) for n in bound.query.parts])
        self.schema = self._told.append(pa.field(_TOLD, pa.bool_()))

    def live(self, held: pa.Table, now: int | None) -> NDArray[np.bool_]:
        """Which of the answers in the store count: the newest of each key."""
        return newest([held.column(name) for name in self._keys], held.num_rows)

    def news(
        self, held: pa.Table, results: NewResults
    ) -> tuple[NewResults, NDArray[Any], pa.Table]:
        """What is new, and what is held from now on: rows of `held` that stay, and new ones."""
        n, names = held.num_rows, held.column_names
        came = passing(self.bound, results)
        told = {name: results.made[name] for name in self._told.names}
        given = replace(results, made={**told, _TOLD: pa.array(came)}, by_row=False)
        both = pa.concat_tables([held, given.result(self._keys).select(names)]).combine_chunks()
        key = codes([both.column(name) for name in self._keys])[0]
        key = np.zeros(both.num_rows, np.int64) if key is None else key
        passed = whole(both.column(_TOLD)).to_numpy(zero_copy_only=False)
        order = np.argsort(key, kind="stable")
        made = {name: whole(both.column(name)).take(pa.array(order)) for name in self._told.names}
        new = np.empty(both.num_rows, np.bool_)
        new[order] = news(key[order], passed[order], made)
        last = np.flatnonzero(newest([both.column(name) for name in self._keys], both.num_rows))
        kept = last[last < n]
        return results.chosen(new[n:] & came), kept, both.take(pa.array(last[kept.size :]))
