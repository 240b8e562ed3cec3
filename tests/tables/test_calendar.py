"""Windows by the calendar over tables: against DuckDB, in batches, and over a stream."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.streams.feeding import Stream, plan_of
from tests.windows.test_calendar import instants
from windrow import ArgMax, Collect, Count, Max, Mean, Sum, Variance, shared, sliding, sql
from windrow.tables.bind import bind
from windrow.tables.walk import Walk

BERLIN = "Europe/Berlin"


def rows(n: int, seed: int, years: tuple[int, int] = (2025, 2027), keys: int = 3) -> pa.Table:
    """Rows in no order, around changes of clocks and ends of months."""
    rng = np.random.default_rng(seed)
    # not in the hour that clocks show twice, of which DuckDB takes another than Spark
    at = instants(n, seed, years)
    minutes = pd.Series(at.view("M8[us]")).dt.tz_localize("UTC").dt.tz_convert(BERLIN)
    at = np.where(minutes.dt.hour == 2, at + 3_600_000_000, at)
    return pa.table(
        {
            "id": np.arange(n),
            "key": pa.array([f"k{k}" for k in rng.integers(0, keys, n)]),
            "t": pa.array(at, pa.timestamp("us", "UTC")),
            "v": pa.array(rng.integers(-50, 50, n), mask=rng.random(n) < 0.1),
            "f": rng.normal(size=n),
        }
    )


def asked(text: str, zone: str = BERLIN, **tables: Any) -> list[dict[str, Any]]:
    """The rows that DuckDB answers with."""
    con = duckdb.connect()
    con.execute("SET threads = 1")
    con.execute(f"SET TimeZone = '{zone}'")
    for name, table in tables.items():
        con.register(name, table)
    found: list[dict[str, Any]] = con.sql(text).to_arrow_table().to_pylist()
    return found


TRAILING = ["1 month", "1 day", "1 year", "3 months", "1 week"]


@pytest.mark.parametrize("size", TRAILING)
@pytest.mark.parametrize("zone", [BERLIN, "UTC"])
def test_trailing_windows_are_those_of_sql(size: str, zone: str) -> None:
    table = rows(500, seed=len(size))
    query = sliding(
        partition_by="key", order_by="t", range=size, timezone=zone, n=Count(), total=Sum("v"),
        top=Max("v"), mean=Mean("f"), all=Collect("id"),
    )  # fmt: skip
    made = query(table)
    expected = asked(
        f"""SELECT a.id, count(*) AS n, sum(b.v)::BIGINT AS total, max(b.v) AS top,
            avg(b.f) AS mean, list(b.id ORDER BY b.t, b.id) AS "all"
            FROM rows a JOIN rows b ON a.key = b.key AND b.t <= a.t AND b.t >= a.t - INTERVAL {size}
            GROUP BY a.id ORDER BY a.id""",
        zone,
        rows=table,
    )
    for got, want in zip(made.to_pylist(), expected, strict=True):
        assert sorted(got["all"]) == sorted(want["all"]), (got, want)
        assert (got["n"], got["total"], got["top"]) == (want["n"], want["total"], want["top"])
        assert got["mean"] == pytest.approx(want["mean"])
    over = asked(
        f"""SELECT sum(v) OVER (PARTITION BY key ORDER BY t
            RANGE BETWEEN INTERVAL {size} PRECEDING AND CURRENT ROW)::BIGINT AS total
            FROM rows ORDER BY id""",
        zone,
        rows=table,
    )
    assert made.column("total").to_pylist() == [row["total"] for row in over]


@pytest.mark.parametrize(
    ("ends", "low", "high"),
    [
        (("-1 year", "-1 month"), "- INTERVAL 1 year", "- INTERVAL 1 month"),
        (("-1 month", "1 hour"), "- INTERVAL 1 month", "+ INTERVAL 1 hour"),
        ((0, "1 month"), "- INTERVAL 0 days", "+ INTERVAL 1 month"),
        (("1 day", "1 month"), "+ INTERVAL 1 day", "+ INTERVAL 1 month"),
    ],
)
def test_frames_with_two_ends(ends: Any, low: str, high: str) -> None:
    table = rows(400, seed=4)
    query = sliding(
        partition_by="key", order_by="t", range=ends, timezone=BERLIN, n=Count("id"),
        total=Sum("v"), spread=Variance("f"),
    )  # fmt: skip
    made = query(table)
    expected = asked(
        f"""SELECT a.id, count(b.id) AS n, sum(b.v)::BIGINT AS total, var_samp(b.f) AS spread
            FROM rows a LEFT JOIN rows b
            ON a.key = b.key AND b.t >= a.t {low} AND b.t <= a.t {high}
            GROUP BY a.id ORDER BY a.id""",
        rows=table,
    )
    for got, want in zip(made.to_pylist(), expected, strict=True):
        assert (got["n"], got["total"]) == (want["n"], want["total"])
        assert got["spread"] == (
            None if want["spread"] is None else pytest.approx(want["spread"], abs=1e-9)
        )


@pytest.mark.parametrize("zone", [BERLIN, "America/New_York", "UTC"])
@pytest.mark.parametrize("unit", ["month", "day", "week", "quarter", "year"])
def test_tumbling_windows_are_those_of_date_trunc(unit: str, zone: str) -> None:
    table = rows(600, seed=9, years=(2024, 2028))
    size = f"1 {unit}"
    query = sliding(
        partition_by="key", order_by="t", range=size, slide=size, timezone=zone, n=Count(),
        total=Sum("v"),
    )  # fmt: skip
    made = query(table).sort_by([("key", "ascending"), ("window_start", "ascending")])
    expected = asked(
        f"""SELECT key, date_trunc('{unit}', t) AS window_start,
            date_trunc('{unit}', t) + INTERVAL {size} AS window_end,
            count(*) AS n, sum(v)::BIGINT AS total FROM rows GROUP BY ALL ORDER BY 1, 2""",
        zone,
        rows=table,
    )
    assert made.to_pylist() == expected


HOPPING: list[dict[str, Any]] = [
    {"range": "3 months", "slide": "1 month"},
    {"range": "1 month", "slide": "10 days"},
    {"range": "1 week", "slide": "1 month", "gaps": True},
    {"range": "5 months", "slide": "2 months"},
    {"range": "36 hours", "slide": "1 day"},
    {"range": "1 day", "slide": "1 day", "offset": "6 hours"},
    {"range": "1 year", "slide": "1 year", "offset": "3 months"},
    {"range": "8 hours", "slide": "1 day", "gaps": True},
]


@pytest.mark.parametrize("hop", HOPPING, ids=str)
def test_hopping_windows_hold_what_lies_in_them(hop: dict[str, Any]) -> None:
    """The starts are DuckDB's series of local days or months; each window is counted by itself."""
    table = rows(300, seed=5)
    query = sliding(partition_by="key", order_by="t", timezone=BERLIN, n=Count(), s=Sum("v"), **hop)
    made = query(table).sort_by([("key", "ascending"), ("window_start", "ascending")])
    first = "1960-01-01" if "month" in hop["slide"] or "year" in hop["slide"] else "1970-01-01"
    offset = f"+ INTERVAL {hop.get('offset', '0 days')}"
    expected = asked(
        f"""WITH starts AS (SELECT (day {offset})::TIMESTAMPTZ AS s FROM (
                SELECT unnest(generate_series(TIMESTAMP '{first}', TIMESTAMP '2029-01-01',
                INTERVAL {hop["slide"]})) AS day))
            SELECT key, s AS window_start, s + INTERVAL {hop["range"]} AS window_end, count(*) AS n,
            sum(v)::BIGINT AS s FROM starts JOIN rows ON t >= starts.s
            AND t < starts.s + INTERVAL {hop["range"]}
            GROUP BY key, starts.s ORDER BY 1, 2""",
        rows=table,
    )
    assert made.to_pylist() == expected


# -- every kind of frame -------------------------------------------------------------------------

LIKE = sliding(
    partition_by="key", order_by="t", range=["1 hour", "1 month"], timezone=BERLIN, n=Count(),
    top=ArgMax("f", "id"),
)  # fmt: skip


def test_every_kind_of_frame_and_many_horizons() -> None:
    table = rows(300, seed=1)
    made = LIKE(table)
    assert made.column_names[-4:] == ["n_1h", "top_1h", "n_1mo", "top_1mo"]
    pandas = LIKE(table.to_pandas())
    assert pandas["n_1mo"].tolist() == made.column("n_1mo").to_pylist()
    polars = pl.from_arrow(table)
    assert isinstance(polars, pl.DataFrame)
    assert LIKE(polars)["top_1mo"].to_list() == made.column("top_1mo").to_pylist()
    assert LIKE(polars.lazy()).collect()["n_1mo"].to_list() == made.column("n_1mo").to_pylist()
    zoned = table.set_column(2, "t", table.column("t").cast(pa.timestamp("ns", "Asia/Tokyo")))
    assert LIKE(zoned).column("n_1mo").to_pylist() == made.column("n_1mo").to_pylist()


def test_times_without_a_zone_and_dates_are_local() -> None:
    table = rows(300, seed=6)
    local = table.set_column(2, "t", table.column("t").cast(pa.timestamp("us")))
    for given in ({"range": "1 month"}, {"range": "1 month", "slide": "1 month"}):
        plain = sliding(partition_by="key", order_by="t", n=Count(), s=Sum("v"), **given)
        zoned = sliding(
            partition_by="key", order_by="t", n=Count(), s=Sum("v"), timezone=BERLIN, **given
        )
        assert plain(local).column("n").to_pylist() == plain(table).column("n").to_pylist()
        assert zoned(local).to_pylist() == plain(local).to_pylist()
    days = table.set_column(
        2, "t", table.column("t").cast(pa.timestamp("us")).cast(pa.date32(), safe=False)
    )
    made = sliding(order_by="t", range="1 month", n=Count())(days)
    expected = asked(
        """SELECT count(*) OVER (ORDER BY t RANGE BETWEEN INTERVAL 1 MONTH PRECEDING
           AND CURRENT ROW) AS n FROM rows ORDER BY id""",
        rows=days,
    )
    assert made.column("n").to_pylist() == [row["n"] for row in expected]


def test_what_stands_for_no_end_costs_nothing() -> None:
    table = rows(50, seed=2)
    far = pa.array(
        np.append(table.column("t").cast(pa.int64()).to_numpy()[:-1], 253_402_214_400_000_000),
        pa.timestamp("us", "UTC"),
    )
    table = table.set_column(2, "t", far)
    for given in ({"range": "1 day", "slide": "1 day"}, {"range": "1 month"}):
        made = sliding(order_by="t", timezone=BERLIN, n=Count(), **given)(table)
        assert made.column("n").to_pylist()[-1] == 1


# -- said and read back --------------------------------------------------------------------------


def test_cql_says_and_reads_the_calendar() -> None:
    text = "SELECT COUNT(*) AS n FROM rows [ORDER BY t RANGE 1 MONTH SLIDE 1 MONTH TIME ZONE '%s']"
    query = sql(text % BERLIN)
    by_hand = sliding(order_by="t", range="1 month", slide="1 month", timezone=BERLIN, n=Count())
    assert query == by_hand
    assert sql(query.sql()) == query
    assert eval(repr(query)) == query
    assert sql(text.replace("TIME ZONE", "timezone") % BERLIN) == query
    frame = sliding(order_by="t", range=("-1 year", "-1 month"), timezone=BERLIN, n=Count())
    assert sql(frame.sql()) == frame
    assert eval(repr(frame)) == frame
    made = sql(text % BERLIN, rows=rows(100, seed=3))
    assert made.to_pylist() == by_hand(rows(100, seed=3)).to_pylist()
    assert "a start every 1 month, on the first at midnight in Europe/Berlin" in query.explain()
    assert "[t − 1 year, t − 1 month] by the calendar of Europe/Berlin" in frame.explain()
    assert "passes     one over the rows, and some more" in frame.explain()
    assert "passes" not in query.explain()
    with pytest.raises(Exception, match="write TIME ZONE 'Europe/Berlin'"):
        sql("SELECT COUNT(*) AS n FROM rows [RANGE 1 MONTH TIME ZONE Berlin]")


# -- piece by piece ------------------------------------------------------------------------------

KINDS: list[dict[str, Any]] = [
    {"range": "1 month"},
    {"range": "1 month", "closed": "left"},
    {"range": "1 day"},
    {"range": ("-1 year", "-1 month")},
    {"range": ("-1 day", "1 month")},
    {"range": "1 month", "slide": "1 month"},
    {"range": "1 month", "slide": "10 days"},
    {"range": "1 week", "slide": "1 month", "gaps": True},
]
PARTS = {
    "n": Count(),
    "s": Sum("v"),
    "m": Mean("f"),
    "top": ArgMax("f", "id"),
    "all": Collect("id"),
}


@pytest.mark.parametrize("given", KINDS, ids=str)
def test_batches_cut_anywhere_give_what_the_table_gives(given: dict[str, Any]) -> None:
    table = rows(400, seed=8).sort_by(
        [("key", "ascending"), ("t", "ascending"), ("id", "ascending")]
    )
    query = sliding(PARTS, partition_by="key", order_by="t", timezone=BERLIN, **given)
    whole = query(table)
    walk = Walk(bind(query, table.schema), piece=7)
    pieces = [table.slice(a, 13) for a in range(0, table.num_rows, 13)]
    made = pa.concat_tables([each for each in walk.run(iter(pieces)) if each.num_rows])
    close = [name for name in whole.column_names if name != "m"]
    assert made.select(close).to_pylist() == whole.select(close).to_pylist()
    means = [made.column("m").to_pylist(), whole.column("m").to_pylist()]
    assert means[0] == [None if m is None else pytest.approx(m) for m in means[1]]


@pytest.mark.parametrize("given", KINDS, ids=str)
def test_a_stream_answers_as_the_table_does(given: dict[str, Any]) -> None:
    table = rows(500, seed=8, years=(2025, 2027)).sort_by("t")
    parts = {name: part for name, part in PARTS.items() if name != "all"}
    query = sliding(
        parts, partition_by="key", order_by="t", timezone=BERLIN, lateness="1 hour", **given
    )
    stream = Stream(plan_of(query, schema=table.schema))
    for a in range(0, table.num_rows, 37):
        stream.push(table.slice(a, 37))
        stream.restart()
    made, whole = stream.finish(), query(table)
    assert stream.late == 0
    order = [(name, "ascending") for name in ("key", "window_start") if name in whole.column_names]
    order = order if len(order) > 1 else [("id", "ascending")]
    made, whole = (each.select(whole.column_names).sort_by(order) for each in (made, whole))
    for got, want in zip(made.to_pylist(), whole.to_pylist(), strict=True):
        mean = want.pop("m")
        assert got.pop("m") == (None if mean is None else pytest.approx(mean))
        assert got == want


def test_a_long_stream_forgets_what_no_window_reaches() -> None:
    n = 4000
    at = 1_700_000_000_000_000 + np.arange(n) * 3_600_000_000
    table = pa.table(
        {"key": ["a"] * n, "t": pa.array(at, pa.timestamp("us", "UTC")), "v": np.arange(n)}
    )
    query = sliding(
        partition_by="key", order_by="t", range="1 month", timezone=BERLIN, lateness="1 hour",
        s=Sum("v"), all=Count(),
    )  # fmt: skip
    stream = Stream(plan_of(query, schema=table.schema))
    sizes = []
    for a in range(0, n, 250):
        stream.push(table.slice(a, 250))
        sizes.append(stream.store.size)
    made = stream.finish().sort_by("t")
    assert made.column("s").to_pylist() == query(table).column("s").to_pylist()
    assert max(sizes[8:]) < 2.5 * max(sizes[3:6])


def test_queries_together() -> None:
    table = rows(200, seed=12)
    queries = [
        sliding(order_by="t", range="1 month", slide="1 month", timezone=BERLIN, n=Count()),
        sliding(order_by="t", range="3 hours", slide="1 hour", k=Count()),
        sliding(order_by="t", range="1 day", slide="1 day", timezone=BERLIN, s=Sum("v")),
    ]
    for made, query in zip(shared(*queries)(table), queries, strict=True):
        assert made.to_pylist() == query(table).to_pylist()
    with pytest.raises(Exception, match="no slices of a fixed length"):
        queries[0].stream()
