"""Copies of chunks: what a process decoded, and what the processes of a machine share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.streams.feeding import Stream, plan_of
from windrow import Max, Mean, sliding
from windrow.errors import InvalidArgument
from windrow.streams import cache
from windrow.streams.cache import DECODED, SHARED, Recent, SharedFiles, chunk_memory
from windrow.streams.header import Header
from windrow.streams.waiting import WaitingChunk

WINDOWS: list[dict[str, Any]] = [
    {"rows": 100},
    {"range": "3 seconds"},
    {"range": "3 seconds", "slide": "1 second"},
    {"on": "x < 0.2"},
]


def batches(count: int) -> list[pa.Table]:
    """Rows of 20 keys, some of them late."""
    random = np.random.default_rng(1)
    found = []
    for i in range(count):
        n = int(random.integers(0, 700))
        at = np.sort(random.integers(0, 2_000_000, n)) + i * 1_000_000 + 10**15
        found.append(
            pa.table(
                {
                    "key": random.integers(0, 20, n),
                    "ts": pa.array(at, pa.timestamp("us", "UTC")),
                    "x": random.random(n),
                }
            )
        )
    return found


def results(window: dict[str, Any], feed: list[pa.Table]) -> tuple[Stream, list[Any]]:
    """A stream of which another process has every step."""
    query = sliding(
        {"m": Max("x"), "a": Mean("x")},
        partition_by="key", order_by="ts", lateness="1 second", **window,
    )  # fmt: skip
    stream = Stream(plan_of(query, schema=feed[0].schema), 10**6)
    for rows in feed:
        stream.push(rows)
        stream.restart()
    return stream, stream.finish().to_pylist()


@pytest.fixture
def shared(tmp_path: Path) -> Any:
    """The files of a machine, in a folder that is not there yet."""
    SHARED.use(tmp_path / "shared")
    yield tmp_path / "shared"
    SHARED.use(None)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_processes_that_share_files_read_nothing_from_the_store(
    window: dict[str, Any], shared: Path
) -> None:
    feed = batches(30)
    stream, found = results(window, feed)
    left = {path.name for path in shared.iterdir()}
    assert stream.store.read == 0
    assert stream.store.written > 0
    SHARED.use(None)
    alone, wanted = results(window, feed)
    assert alone.store.read > 0
    assert found == wanted
    known = stream.bucket.header.stamps
    both = known | {~stamp for stamp in known}
    assert left <= {f"{stamp % 2**64:016x}" for stamp in both}, "files leave with their chunks"


def test_files_that_are_gone_are_read_from_the_store(shared: Path) -> None:
    feed = batches(20)
    wanted = results({"rows": 100}, feed)[1]
    query = sliding(
        {"m": Max("x"), "a": Mean("x")},
        partition_by="key", order_by="ts", lateness="1 second", rows=100,
    )  # fmt: skip
    stream = Stream(plan_of(query, schema=feed[0].schema), 10**6)
    for i, rows in enumerate(feed):
        stream.push(rows)
        stream.restart()
        for path in shared.iterdir():
            if i % 3 == 0:
                path.unlink()
    assert stream.finish().to_pylist() == wanted
    assert stream.store.read > 0


def test_a_process_deletes_the_oldest_of_its_files(tmp_path: Path) -> None:
    files, others = SharedFiles(most=100), SharedFiles(most=100)
    for each in (files, others):
        each.use(tmp_path)
    others.put(9, b"z" * 90)
    for stamp in (1, ~1, 2):
        files.put(stamp, b"x" * 40)
    assert (files.get(1), files.get(~1), files.size) == (None, b"x" * 40, 80)
    assert files.get(9) == b"z" * 90, "another's do not count"
    files.drop(1)
    files.drop(9)
    assert (files.get(~1), others.get(9), files.size) == (None, None, 40)


def test_old_files_are_deleted_when_a_process_begins(tmp_path: Path) -> None:
    before = SharedFiles()
    before.use(tmp_path)
    before.put(1, b"old")
    before.put(2, b"new")
    old = tmp_path / f"{1:016x}"
    long_ago = old.stat().st_mtime - cache._FORGOTTEN - 1
    os.utime(old, (long_ago, long_ago))
    files = SharedFiles()
    files.use(tmp_path)
    assert (files.get(1), files.get(2)) == (None, b"new")


def test_a_folder_that_cannot_be_used_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    files = SharedFiles()
    files.use(tmp_path / "file")
    files.put(1, b"x")
    assert files.get(1) is None
    files.use(tmp_path / "folder")
    (tmp_path / "folder").rmdir()
    files.put(1, b"x")
    assert (files.get(1), files.size) == (None, 0)


def test_a_waiting_chunk_of_an_earlier_version_has_no_copies(shared: Path) -> None:
    header = Header(b"query", waiting=[WaitingChunk(0, 3, 0, 10, 30)])
    SHARED.put(0, b"not this chunk")
    feed = batches(5)
    stream, _ = results({"rows": 3}, feed)
    for piece in stream.bucket._waiting.pieces:
        piece.stamp = 0
    DECODED.clear()
    assert Header.decode(header.encode()).waiting[0].stamp == 0
    stream.push(batches(6)[5])
    assert stream.finish().num_rows > 0


def test_decoded_chunks_are_forgotten_beyond_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    recent = Recent(lambda: 100)
    for stamp in (1, 2, 2):
        recent.put(stamp, pa.table({"x": range(6)}))
    assert (recent.stamps, recent.size) == ({1, 2}, 96)
    assert recent.get(1) is not None
    recent.put(3, pa.table({"x": range(6)}))
    assert (recent.stamps, recent.size) == ({1, 3}, 96)
    monkeypatch.setenv("WINDROW_CHUNK_MEMORY", "0.5")
    assert chunk_memory() == 1 << 19
    monkeypatch.setenv("WINDROW_CHUNK_MEMORY", "1 GB")
    with pytest.raises(InvalidArgument, match=r"WINDROW_CHUNK_MEMORY='1 GB': .* MB"):
        chunk_memory()
