"""Random statements of standard SQL that DuckDB answers as well, and tables to ask them of.

Where a result depends on the order of rows that are equal in ORDER BY, the row's number `u` is
added to it: SQL leaves the rest open.
"""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa

AGGREGATES = [
    *("MAX({x})", "MIN({x})", "SUM({i})", "SUM({x})", "AVG({i})", "COUNT(*)", "COUNT({x})"),
    *("COUNT({s})", "COUNT(DISTINCT {i})", "COUNT(DISTINCT {s})", "STDDEV({i})", "MAX({s})"),
    *("VAR_POP({i})", "MEDIAN({i})", "BOOL_OR({b})", "SUM({i} * 2 + 1)", "MIN({t})"),
]
RANKS = [
    *("ROW_NUMBER()", "RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()"),
    *("NTILE(1)", "NTILE(3)", "NTILE(40)"),
]
SHIFTS = [
    *("LAG({v})", "LEAD({v})", "LAG({v}, 2)", "LEAD({v}, 3)", "LAG({i}, 1, -7)", "LEAD({i}, 2, i)"),
    *("LAG({v} IGNORE NULLS)", "LEAD({v}, 2 IGNORE NULLS)", "LAG({i}, 3, 0 IGNORE NULLS)"),
]
ENDS = [
    *("FIRST_VALUE({v})", "LAST_VALUE({v})", "NTH_VALUE({v}, 2)", "NTH_VALUE({i}, 4)"),
    *("FIRST_VALUE({v} IGNORE NULLS)", "LAST_VALUE({v} IGNORE NULLS)"),
    "NTH_VALUE({v}, 2 IGNORE NULLS)",
]
AROUND = [
    *("{} ", "{}", "{}", "COALESCE({}, NULL)", "CASE WHEN u % 2 = 0 THEN {} END"),
]
NUMERIC = ["{} + 1", "CAST({} AS DOUBLE)", "ABS({})", "{} * 2 - i", "COALESCE({}, -1)"]


def table(seed: int, rows: int = 40) -> pa.Table:
    """Rows in no order: keys with ties and nulls, times with gaps, numbers with nulls and NaN."""
    chance = random.Random(seed)

    def some(values: list[Any], null: float = 0.15) -> list[Any]:
        return [None if chance.random() < null else chance.choice(values) for _ in range(rows)]

    numbers = list(range(rows))
    chance.shuffle(numbers)
    return pa.table(
        {
            "g": pa.array(some(["a", "b", "c"], 0.1), pa.string()),
            "h": pa.array(some([1, 2], 0), pa.int64()),
            "t": pa.array(some([0, 1, 2, 5, 6, 7, 12, 20, 21]), pa.int64()),
            "d": pa.array([None if t is None else t * 60_000_000 for t in some([0, 1, 2, 9, 10])])
            .cast(pa.int64())
            .cast(pa.timestamp("us")),
            "u": pa.array(numbers, pa.int64()),
            "x": pa.array(some([-2.5, -1.0, 0.0, 0.25, 3.0, math.nan, 7.5]), pa.float64()),
            "i": pa.array(some([-3, -1, 0, 1, 2, 9]), pa.int64()),
            "s": pa.array(some(["", "p", "q", "rr"]), pa.string()),
            "b": pa.array(some([True, False]), pa.bool_()),
        }
    )


class Statements:
    """Statements one after the other, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def next(self) -> tuple[str, bool]:
        """A statement over the table `data`, and whether it puts its results in order.

        The first result tells the rows apart.
        """
        pick = self.chance.choice
        items = [f"{self._item()} AS r{n}" for n in range(self.chance.randint(1, 4))]
        text = f"SELECT u, {', '.join(items)} FROM data"
        if self.chance.random() < 0.3:
            text += pick([" WHERE i > -2", " WHERE g IS NOT NULL AND x < 7", " WHERE u % 3 <> 0"])
        if self.chance.random() < 0.3:
            text += " QUALIFY " + pick(
                ["r0 IS NOT NULL", f"ROW_NUMBER() OVER ({self._rows(True)}) <= 5", "NOT r0 IS NULL"]
            )
        ordered = self.chance.random() < 0.3
        if ordered:
            orders = ["r0, u", "x DESC, u", "g DESC NULLS FIRST, u DESC", "2, u"]
            text += f" ORDER BY {pick(orders)}{pick(['', ' LIMIT 7', ' LIMIT 5 OFFSET 3'])}"
        return text, ordered

    def _item(self) -> str:
        pick = self.chance.choice
        kind = pick(["aggregate", "aggregate", "rank", "shift", "end", "twice"])
        if kind == "rank":
            return f"{pick(RANKS)} OVER ({self._rows(True)})"
        if kind == "shift":
            return f"{self._call(SHIFTS)} OVER ({self._rows(True)})"
        if kind == "end":
            return pick(AROUND).format(f"{self._call(ENDS)} OVER ({self._framed(True)})")
        if kind == "twice":
            over = f"OVER ({self._framed(False)})"
            return f"MAX(i) {over} - MIN(i) {over} + COUNT(*) {over}"
        call = self._call(AGGREGATES)
        where = pick(["", "", " FILTER (WHERE i > 0)", " FILTER (WHERE s = 'p' OR b)"])
        over = f"{call}{where} OVER ({self._framed(False)})"
        number = call.startswith(("SUM", "AVG", "COUNT"))
        return pick(NUMERIC if number and self.chance.random() < 0.3 else AROUND).format(over)

    def _call(self, calls: list[str]) -> str:
        pick = self.chance.choice
        value = pick(["x", "i", "s", "b"])
        return pick(calls).format(v=value, **{name: name for name in "xisbt"})

    def _partition(self) -> str:
        return self.chance.choice(
            ["", "PARTITION BY g ", "PARTITION BY g, h ", "PARTITION BY i % 2 "]
        )

    def _order(self, unique: bool) -> str:
        pick = self.chance.choice
        turn = pick(["", " DESC", "", " NULLS LAST", " DESC NULLS FIRST"])
        first = f"{pick(['t', 'x', 's', 'i', 'd', 'x + t', 'b'])}{turn}"
        more = pick(["", ", i", ", x DESC", ", t"])
        return f"ORDER BY {first}{more}" + (pick([", u", ", u DESC"]) if unique else "")

    def _rows(self, unique: bool) -> str:
        return self._partition() + self._order(unique)

    def _framed(self, unique: bool) -> str:
        """A window with a frame, or the one that there is if nothing is said."""
        pick = self.chance.choice
        kind = pick(["none", "default", "rows", "range", "groups", "peers"])
        if kind == "none" and not unique:
            return self._partition()
        if kind in ("none", "default"):
            return self._rows(unique)
        exclude = pick(["", "", " EXCLUDE CURRENT ROW", " EXCLUDE TIES", " EXCLUDE GROUP"])
        if kind == "rows":
            exclude = pick(["", " EXCLUDE CURRENT ROW"])
            return f"{self._rows(True)} ROWS {self._ends()}{exclude}"
        if kind == "groups":
            return f"{self._rows(unique)} GROUPS {self._ends()}{exclude}"
        if kind == "peers":
            ends = pick(["CURRENT ROW AND UNBOUNDED FOLLOWING", "CURRENT ROW AND CURRENT ROW"])
            return f"{self._rows(unique)} RANGE BETWEEN {ends}{exclude}"
        if unique:
            return f"{self._partition()}ORDER BY u{pick(['', ' DESC'])} RANGE {self._ends()}"
        order, unit = pick([("t", "{}"), ("i", "{}"), ("d", "INTERVAL '{}' MINUTE")])
        along = f"ORDER BY {order}{pick(['', ' DESC'])}"
        return f"{self._partition()}{along} RANGE {self._ends(unit)}{exclude}"

    def _ends(self, unit: str = "{}") -> str:
        """Two ends in the order that they have."""
        places = sorted(self.chance.sample(range(-4, 5), 2))
        low, high = (self._end(place, unit) for place in places)
        if self.chance.random() < 0.2:
            low = "UNBOUNDED PRECEDING"
        if self.chance.random() < 0.2:
            high = "UNBOUNDED FOLLOWING"
        if places[1] == 0 and high == "CURRENT ROW" and self.chance.random() < 0.5:
            return low if "FOLLOWING" not in low else f"BETWEEN {low} AND {high}"
        return f"BETWEEN {low} AND {high}"

    def _end(self, place: int, unit: str) -> str:
        if place == 0:
            return "CURRENT ROW"
        return f"{unit.format(abs(place))} {'PRECEDING' if place < 0 else 'FOLLOWING'}"
