"""The recipes for streams: each program runs as it is in the document, with a restart.

A restart finds the last micro-batch not committed, as if the program had been killed behind its
results and before Spark's commit: Spark runs it again, and no result may be there twice.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: windrow[spark]")

from tests.stores.servers import PostgresServer, RedisServer, free_port

pytestmark = pytest.mark.xdist_group("streams")
PAGE = Path(__file__).parents[2] / "docs" / "stream_recipes.md"
NOT_RUN = "**Not run by the tests**"
PATIENCE = 300.0
DAY = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
END = {"plug_id": -1, "ts": DAY + dt.timedelta(days=30), "load": 0.0}  # the watermark passes all
MEANS = """
    SELECT plug_id, ts, load, avg(load) OVER (
        PARTITION BY plug_id ORDER BY ts RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND CURRENT ROW
    ) AS mean FROM rows ORDER BY plug_id, ts
"""
PEAKS = """
    SELECT plug_id, epoch_us(start) AS start, max(load) AS peak, count(*) AS n
    FROM rows, generate_series(
        time_bucket(INTERVAL 15 MINUTES, ts) - INTERVAL 45 MINUTES,
        time_bucket(INTERVAL 15 MINUTES, ts), INTERVAL 15 MINUTES
    ) AS starts(start) GROUP BY ALL ORDER BY plug_id, start
"""


def sections() -> dict[str, str]:
    parts = re.split(r"^## (.+)\n", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def program(name: str) -> str:
    (found,) = re.findall(r"^```python\n(.*?)^```$", sections()[name], re.MULTILINE | re.DOTALL)
    return str(found)


RUN = {  # each has its test below
    "Files", "Rate", "Socket", "PostgreSQL, a row for each window",
    "PostgreSQL, a row for each result", "Redis streams", "Delta, appended", "Delta, merged",
}  # fmt: skip


def test_every_recipe_is_run_or_says_that_it_is_not() -> None:
    not_run = {name for name, text in sections().items() if text.lstrip().startswith(NOT_RUN)}
    assert not_run == {"Kafka", "Iceberg"}
    assert set(sections()) == RUN | not_run
    for name in sections():
        compile(program(name), name, "exec")


def readings(count: int = 60, plugs: int = 3) -> list[dict[str, Any]]:
    """Readings of some hours in disorder, no two of them at the same time."""
    chance = np.random.default_rng(5)
    seconds = np.sort(chance.choice(4 * 3600, count, replace=False))
    moved = np.argsort(seconds + chance.integers(0, 500, count), kind="stable")
    return [
        {
            "plug_id": int(chance.integers(plugs)),
            "ts": DAY + dt.timedelta(seconds=int(seconds[i])),
            "load": int(chance.integers(1000)) / 8,
        }
        for i in moved
    ]


def oracle(question: str, rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What DuckDB says of the rows."""
    table = pa.Table.from_pylist(rows)
    table = table.set_column(1, "ts", table["ts"].cast(pa.timestamp("us")))
    with duckdb.connect() as database:
        database.register("rows", table)
        return database.execute(question).fetchall()


class Recipe:
    """A program of the document, with its folder in the place of /data."""

    def __init__(self, name: str, folder: Path) -> None:
        self.text, self.folder = program(name).replace("/data/", f"{folder}/"), folder
        (folder / "incoming").mkdir()

    def add(self, name: str, rows: list[dict[str, Any]]) -> None:
        """A file of lines of JSON, whole from the start."""
        lines = [json.dumps(row | {"ts": row["ts"].isoformat()}) for row in rows]
        (self.folder / f"{name}.json").write_text("\n".join(lines))
        (self.folder / f"{name}.json").rename(self.folder / "incoming" / f"{name}.json")

    def run(self) -> Any:
        """Run it to its end; return its stream."""
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(self.text, "recipe", "exec"), names)
        return names["query"]

    def uncommit(self) -> int:
        """Take the last commit back, and return the number of its micro-batch."""
        (commits,) = self.folder.glob("checkpoints/*/commits")
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdecimal())
        for path in (commits / str(last), commits / f".{last}.crc"):
            path.unlink(missing_ok=True)
        return last

    def run_with_a_restart(self, rows: list[dict[str, Any]]) -> None:
        """Half of the rows, a micro-batch that is run again, and the other half."""
        half = len(rows) // 2
        self.add("first", rows[:half])
        self.run()
        last = self.uncommit()
        self.add("second", [*rows[half:], END])
        again = self.run().recentProgress
        assert again[0].batchId == last and again[-1].batchId > last


@pytest.fixture
def run_aside(spark: Any) -> Iterator[Callable[[Recipe, Callable[[], bool]], None]]:
    """Run a program that goes on, until something is so."""

    def run(recipe: Recipe, until: Callable[[], bool]) -> None:
        failed: list[BaseException] = []

        def work() -> None:
            try:
                recipe.run()
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        deadline = time.monotonic() + PATIENCE
        while not until():
            assert not failed and time.monotonic() < deadline, failed
            time.sleep(0.1)
        for stream in spark.streams.active:
            stream.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive() and not failed, failed

    yield run
    for stream in spark.streams.active:
        stream.stop()


# -- Spark's own ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["json", pytest.param("parquet", marks=pytest.mark.slow)])
def test_files(spark: Any, tmp_path: Path, kind: str) -> None:
    recipe, rows = Recipe("Files", tmp_path), readings()
    if kind == "parquet":  # as the recipe says
        recipe.text = recipe.text.replace(".json(", ".parquet(")

        def add(name: str, rows: list[dict[str, Any]]) -> None:
            pq.write_table(pa.Table.from_pylist(rows), tmp_path / name)
            (tmp_path / name).rename(tmp_path / "incoming" / f"{name}.parquet")

        recipe.add = add  # type: ignore[method-assign]
    recipe.run_with_a_restart(rows)
    results = spark.read.parquet(str(tmp_path / "peaks")).orderBy("plug_id", "ts").toArrow()
    wanted = oracle(MEANS, rows)
    assert results["mean"].to_pylist() == pytest.approx([row[3] for row in wanted])
    assert results["load"].to_pylist() == [row[2] for row in wanted]


@pytest.mark.slow
def test_rate(spark: Any, tmp_path: Path) -> None:
    Recipe("Rate", tmp_path).run()
    results = spark.table("means").orderBy("ts", "load").toArrow().to_pylist()
    assert len(results) >= 20
    for row in results:
        number = round(row["load"] * 10)
        window = [n / 10 for n in (number, number - 10, number - 20) if n >= 0]
        assert (row["plug_id"], row["n"]) == (number % 10, len(window))
        assert row["mean"] == pytest.approx(sum(window) / len(window))
    spark.sql("DROP VIEW means")


@pytest.mark.slow
def test_socket(
    tmp_path: Path, run_aside: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    recipe, port, shown = Recipe("Socket", tmp_path), free_port(), ""
    recipe.text = recipe.text.replace("9999", str(port))

    def answered() -> bool:
        nonlocal shown
        shown += capsys.readouterr().out
        return len(re.findall(r"\|7 *\|2026", shown)) == 2

    with socket.create_server(("127.0.0.1", port)) as server:

        def serve() -> None:
            line, _ = server.accept()
            with line:
                line.sendall(b"7,2026-01-05 10:00:00,81.5\n7,2026-01-05 10:01:00,82.5\n")
                done.wait(PATIENCE)

        done = threading.Event()
        typing = threading.Thread(target=serve)
        typing.start()
        try:
            run_aside(recipe, answered)
        finally:
            done.set()
            typing.join(PATIENCE)
    assert re.search(r"\|81\.5 *\|81\.5 *\|1 *\|", shown)
    assert re.search(r"\|82\.5 *\|82\.0 *\|2 *\|", shown)


# -- PostgreSQL -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    pytest.importorskip("psycopg", reason="no driver for PostgreSQL: pip install 'psycopg[binary]'")
    if PostgresServer.programs() is None:
        pytest.skip("no PostgreSQL to run the recipes with: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="windrow-postgres-"))
    server = PostgresServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


def told(server: PostgresServer, question: str) -> list[tuple[Any, ...]]:
    import psycopg

    with psycopg.connect(server.url) as database:
        return database.execute(question).fetchall()


@pytest.mark.slow
def test_postgres_has_a_row_for_each_window(
    spark: Any, tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres.url)
    recipe, rows = Recipe("PostgreSQL, a row for each window", tmp_path), readings()
    recipe.run_with_a_restart(rows)
    columns = "plug_id, (extract(epoch FROM window_start) * 1000000)::bigint, peak, n"
    found = told(postgres, f"SELECT {columns} FROM peaks WHERE plug_id >= 0 ORDER BY 1, 2")
    assert found == oracle(PEAKS, rows)


def test_postgres_has_a_row_for_each_result(
    spark: Any, tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres.url)
    recipe, rows = Recipe("PostgreSQL, a row for each result", tmp_path), readings()
    recipe.run_with_a_restart(rows)
    found = told(postgres, "SELECT * FROM means ORDER BY plug_id, ts")
    assert_means(found, rows)


def assert_means(found: list[tuple[Any, ...]], rows: list[dict[str, Any]]) -> None:
    """Results beside rows, with times in whatever zone."""
    wanted = [(p, at.replace(tzinfo=dt.UTC), load, m) for p, at, load, m in oracle(MEANS, rows)]
    assert [row[:3] for row in found] == [row[:3] for row in wanted]
    assert [row[3] for row in found] == pytest.approx([row[3] for row in wanted])


# -- Redis ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_redis_streams(
    spark: Any, tmp_path: Path, run_aside: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    redis = pytest.importorskip("redis", reason="no driver for Redis: pip install 'windrow[redis]'")
    if shutil.which("redis-server") is None:
        pytest.skip("no Redis to run the recipe with: apt-get install redis-server")
    server = RedisServer(tmp_path)
    monkeypatch.setenv("REDIS_URL", server.url)
    recipe, rows = Recipe("Redis streams", tmp_path), readings()
    half = len(rows) // 2
    server.start()
    try:
        with redis.Redis.from_url(server.url, decode_responses=True) as client:

            def add(rows: list[dict[str, Any]]) -> None:
                for row in rows:
                    client.xadd("readings", row | {"ts": row["ts"].isoformat()})

            add(rows[:half])
            run_aside(recipe, lambda: client.xlen("means") > 0)
            recipe.uncommit()
            add([*rows[half:], END])
            run_aside(recipe, lambda: client.xlen("means") >= len(rows))
            entries = [entry for _, entry in client.xrange("means")]
    finally:
        server.stop()
    found = [
        (
            int(entry["plug_id"]),
            dt.datetime.fromisoformat(entry["ts"]),
            float(entry["load"]),
            float(entry["mean"]),
        )
        for entry in entries
    ]
    assert_means(sorted(found), rows)


# -- Delta ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_delta_appended(spark: Any, tmp_path: Path) -> None:
    delta = pytest.importorskip("deltalake", reason="no Delta: pip install deltalake")
    recipe, rows = Recipe("Delta, appended", tmp_path), readings()
    recipe.run_with_a_restart(rows)
    table = delta.DeltaTable(str(tmp_path / "means")).to_pyarrow_table()
    columns = [table[name].to_pylist() for name in ("plug_id", "ts", "load", "mean")]
    assert_means(sorted(zip(*columns, strict=True)), rows)


@pytest.mark.slow
def test_delta_merged(spark: Any, tmp_path: Path) -> None:
    delta = pytest.importorskip("deltalake", reason="no Delta: pip install deltalake")
    recipe, rows = Recipe("Delta, merged", tmp_path), readings()
    recipe.run_with_a_restart(rows)
    table = delta.DeltaTable(str(tmp_path / "peaks")).to_pyarrow_table()
    starts = table["window_start"].cast(pa.int64()).to_pylist()
    columns = [table["plug_id"].to_pylist(), starts, table["peak"].to_pylist()]
    found = sorted(zip(*columns, table["n"].to_pylist(), strict=True))
    assert [row for row in found if row[0] >= 0] == oracle(PEAKS, rows)
