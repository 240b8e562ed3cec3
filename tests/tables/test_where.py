"""`Max("load").where(…)`: an aggregation of the rows that satisfy a condition, as SQL's FILTER."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from typing import Any

import duckdb
import hypothesis.strategies as st
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given

from tests.examples import examples
from tests.tables.oracle import same
from tests.tables.test_tables import ALL, ROWS, table_of
from windrow import Collect, Count, Max, Sum, aggregation, aggregator, rolling, sliding, sql, window
from windrow.errors import WindrowError

CONDITIONS = ("name = 'x'", "v > 0 OR name IS NULL", "t % 2 = 0")


@pytest.mark.parametrize(
    "size", [{"rows": 4}, {"range": (-3, 3)}, {"range": 6, "slide": 2}], ids=str
)
@examples(15)
@given(rows=ROWS, condition=st.sampled_from(CONDITIONS))
def test_rows_that_do_not_satisfy_it_are_null(size: Any, rows: Any, condition: str) -> None:
    """Each aggregation gives what it gives over a column that has null in the other rows."""
    table = table_of(rows, pa.int64())
    holds = asked_of_duckdb(table, f"coalesce({condition}, false)")
    nulled = table
    for name in ("v", "name"):
        kept = [v if ok else None for v, (ok,) in zip(table[name].to_pylist(), holds, strict=True)]
        column = pa.array(kept, table.schema.field(name).type)
        nulled = nulled.append_column(f"{name}_", column)
    asked = {"partition_by": "key", "order_by": "t", **size}
    some = {name: part for name, part in ALL.items() if part.columns}
    made = sliding({n: part.where(condition) for n, part in some.items()}, **asked)(table)
    over = {n: _over(part) for n, part in some.items()}
    want = sliding(over, **asked)(nulled)
    for name in some:
        for got, right in zip(made[name].to_pylist(), want[name].to_pylist(), strict=True):
            assert same(got, right), (name, got, right)


def asked_of_duckdb(given: pa.Table, text: str) -> list[Any]:
    """What DuckDB selects, row by row."""
    with duckdb.connect() as connection:
        numbered = given.append_column("place", pa.array(range(given.num_rows)))
        connection.register("given", numbered)
        return connection.sql(f"SELECT {text} FROM given ORDER BY place").fetchall()


def _over(part: Any) -> Any:
    import copy

    made = copy.copy(part)
    made.columns = (f"{part.columns[0]}_", *part.columns[1:])
    return made


def test_filter_of_duckdb() -> None:
    loads = [3, 1, 4, 1, 5, 9, 2, 6]
    table = pa.table({"t": range(8), "kind": list("abcabcab"), "load": loads})
    text = (
        "max(load) FILTER (WHERE kind = 'a') {over} AS a, "
        "count(*) FILTER (WHERE load > 2) {over} AS n"
    )
    over = "OVER (ORDER BY t ROWS 3 PRECEDING)"
    theirs = asked_of_duckdb(table, text.format(over=over))
    ours = sql(f"SELECT {text.format(over='')} FROM plugs [ROWS 4 ORDER BY t]", plugs=table)
    assert list(zip(ours["a"].to_pylist(), ours["n"].to_pylist(), strict=True)) == theirs


def test_having_may_speak_of_it() -> None:
    table = pa.table({"v": [1, 5, 2], "kind": ["a", "b", "a"]})
    text = (
        "SELECT MAX(v) AS m, MAX(v) FILTER (WHERE kind = 'a') AS a FROM s [ROWS 2] "
        "HAVING MAX(v) FILTER (WHERE kind = 'a') > 1"
    )
    assert sql(text, s=table).to_pylist() == [{"v": 2, "kind": "a", "m": 5, "a": 2}]


def test_every_type() -> None:
    day = datetime.date(2026, 1, 1)
    table = pa.table({
        "ok": [True, False, None],
        "text": ["a", "b", "c"],
        "bytes": [b"a", b"b", b"c"],
        "when": pa.array([1, 2, 3], pa.timestamp("ns", "UTC")),
        "day": [day, day, day],
        "for": pa.array([1, 2, 3], pa.duration("ms")),
        "money": pa.array([Decimal("1.10"), Decimal("2.20"), None], pa.decimal128(9, 2)),
        "small": pa.array([1, 2, 3], pa.int8()),
        "real": pa.array([1.5, 2.5, 3.5], pa.float32()),
        "yes": [True, True, False],
        "kind": pa.array(["x", "y", "x"]).dictionary_encode(),
        "list": [[1], [2, 3], None],
    })  # fmt: skip
    for name in table.column_names:
        part = Collect(name)
        made = sliding(rows="unbounded", r=part.where("ok"), n=Count(name).where("ok"))(table)
        plain = sliding(rows="unbounded", r=part)(table)
        assert made.schema.field("r").type == plain.schema.field("r").type, name
        assert made["r"].to_pylist() == [table[name].to_pylist()[:1]] * 3, name


def test_a_value_of_python() -> None:
    own = aggregation(lift=lambda v: v, combine=lambda a, b: a + b, lower=lambda s: s)
    query = sliding(
        rows=3, a=Max("load").where("kind='a'"), n=Count().where("load>2"),
        q=Sum("load*2").where('"my kind" = 1'), o=own("load").where("kind = 'a'"),
    )  # fmt: skip
    assert "a=Max('load').where(\"kind = 'a'\")" in repr(query)
    assert "n=Count().where('load > 2')" in repr(query)
    some = query.replace(aggregations=query.aggregations[:3])
    assert pickle.loads(pickle.dumps(some)) == some != query
    text = some.sql()
    assert "MAX(load) FILTER (WHERE kind = 'a') AS a" in text
    assert "COUNT(*) FILTER (WHERE load > 2) AS n" in text
    frame = pd.DataFrame({"load": [1, 3, 5], "kind": ["a", "b", "a"], "my kind": [1, 1, 2]})
    again = sql(text, stream=frame)
    assert again.equals(query(frame)[again.columns])
    assert query(frame)["q"].tolist() == [2, 8, 8]
    assert query(frame)["o"].tolist() == [1, 1, 6]
    assert "where" in query.explain() and "where" in query.explain(frame)


TABLE = pa.table({"v": [1, 2, 3]})
ON_ROWS = "where() is for rows that have columns"
SHIFTED = "SELECT MAX(v) FILTER (WHERE v >> 3) FROM s [ROWS 2]"


def asked(part: Any) -> Any:
    return sliding(rows=3, m=part)(TABLE)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Max("v").where(""), "takes text of SQL"),
        (lambda: Max("v").where(3), "takes text of SQL"),
        (lambda: Max("v").where("a").where("b"), "has a condition already"),
        (lambda: sliding(rows=3, m=Max("v").where("v >> 3")), "m, where"),
        (lambda: sliding(rows=3, m=Max().where("v > 3")), "names no column"),
        (lambda: rolling([1], Max().where("v > 3"), rows=2), ON_ROWS),
        (lambda: window(Max("v").where("v > 3"), rows=2), ON_ROWS),
        (lambda: aggregator(Max("v").where("v > 3")), ON_ROWS),
        (lambda: asked(Max("v").where("w > 3")), "names 'w', which is not in the frame"),
        (lambda: asked(Max("v").where("v + 1")), "is true or false; this one is of type int64"),
        (lambda: sql(SHIFTED, s=TABLE), "is not known in expressions"),
    ],
)  # fmt: skip
def test_mistakes_are_told(make: Any, words: str) -> None:
    with pytest.raises(WindrowError) as told:
        make()
    assert words in str(told.value), told.value
