"""Windows that only running a user's function tells: `until=` policies and `on=` predicates.

The functions see values of Python, so the rows they decide about go through the interpreter, one
by one; the answers over the windows that they leave are compiled like any others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.aggregations.together import Record, Together
from windrow.algorithms.amta import Amta
from windrow.errors import WindrowError
from windrow.queries.query import Query
from windrow.tables.columns import decoded
from windrow.tables.sort import Asked, Layout
from windrow.windows.kinds import On, named
from windrow.windows.policy import leaving
from windrow.windows.positions import Windows

Columns = Callable[[str], Any]


class Policed:
    """The windows that a policy leaves, one for each row: O(log n) ⊕ each, by AMTA's search.

    It can go on with more rows of the last key, so that they may come in pieces.
    """

    def __init__(self, query: Query, policy: Callable[[Any, Any], object]) -> None:
        self._together = Together(**query.parts)
        self._policy = policy
        self._names = list(dict.fromkeys(n for p in query.parts.values() for n in p.columns))
        self._identity = (*query.partition_by, *query.order_by)
        self._swag = Amta(self._together)

    def windows(
        self,
        laid: Layout,
        column: Columns,
        first: int = 0,
        held: NDArray[np.int64] | None = None,
    ) -> Asked:
        """The windows of the rows from position `first` on; those before are the window so far.

        Where `held` is not negative, the policy was asked already: the row is in its key's window,
        or if it is 0, the policy left nothing up to here.
        """
        rows = _rows(self._names, laid, column)
        lo = np.empty(laid.size - first, np.int64)
        begins = set(laid.starts.tolist())
        head = first - len(self._swag)
        for position in range(first, laid.size):
            if position in begins and position:
                self._swag, head = Amta(self._together), position
            if held is not None and held[position] > 0:
                self._swag.insert(rows(position))
            elif held is not None and held[position] == 0:
                head = position + 1
            else:
                head += self._slide(rows(position), laid, column, position)
            lo[position - first] = head
        hi = np.arange(first + 1, laid.size + 1)
        return Asked(Windows(laid.starts, lo=lo, hi=hi))

    def _slide(self, row: Record, laid: Layout, column: Columns, position: int) -> int:
        """Take the row at a position in, let the oldest go, and say how many went."""
        try:
            gone = leaving(self._swag, self._policy, row)
        except WindrowError:
            raise
        except Exception as error:
            at = int(laid.rows(np.array([position]))[0])
            known = {name: decoded(column(name))[at].as_py() for name in self._identity}
            error.add_note(f"in until={named(self._policy)}, at the row {known | row!r}")
            raise
        self._swag.insert(row)
        self._swag.evict(gone)
        return gone


def closing_rows(window: On, names: list[str], laid: Layout, column: Columns) -> NDArray[np.bool_]:
    """Which rows, in sorted order, satisfy the predicate."""
    if isinstance(window.on, str):
        mask = pc.fill_null(decoded(column(window.on)), False)
        return laid.sorted(np.asarray(mask.to_numpy(zero_copy_only=False)))
    rows = _rows(names, laid, column)
    made = np.empty(laid.size, np.bool_)
    for position in range(laid.size):
        row = rows(position)
        try:
            made[position] = bool(window.on(row))
        except Exception as error:
            error.add_note(f"in on={named(window.on)}, at the row {dict(row)!r}")
            raise
    return made


def _rows(names: list[str], laid: Layout, column: Columns) -> Callable[[int], Record]:
    """The row at a sorted position, as the functions see it."""
    table = pa.table({name: decoded(column(name)) for name in names})
    lists = [table.column(name).to_pylist() for name in names]
    order = laid.rows(np.arange(laid.size)).tolist()

    def row(position: int) -> Record:
        at = order[position]
        return Record((name, values[at]) for name, values in zip(names, lists, strict=True))

    return row
