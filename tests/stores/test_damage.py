"""What was confirmed and is lost is noticed when the store is opened."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stores.damage import Opener, damaged_copies, written_store
from tests.stores.stream import Model, open_window, step
from windrow.stores import CorruptValue, LmdbStore, RocksStore


def flipped(folder: Path, copy: Path, share: float) -> Path:
    """Return a copy of a database with one bit of its log flipped, at a share of its length."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    log = max(copy.glob("*.log"), key=lambda path: path.stat().st_size)
    content = bytearray(log.read_bytes())
    content[int(share * (len(content) - 1))] ^= 4
    log.write_bytes(content)
    return copy


def test_a_flipped_bit_in_the_log_of_rocks(tmp_path: Path) -> None:
    model = Model()
    with RocksStore(tmp_path / "state") as store:
        swag = open_window(store, "amta")
        for _ in range(20):
            for _ in range(100):
                step(swag, model.done)
                model.step()
            swag.flush()
        shutil.copytree(tmp_path / "state", tmp_path / "killed")
        swag.close()
    for part in range(13):
        folder = flipped(tmp_path / "killed", tmp_path / "copy", part / 12)
        for _ in range(2):
            with pytest.raises(CorruptValue, match="has lost changes that were confirmed"):
                RocksStore(folder)
    shutil.copytree(tmp_path / "killed", tmp_path / "whole")
    with RocksStore(tmp_path / "whole") as store:
        model.check(open_window(store, "amta"))


def test_a_damaged_note_of_what_was_confirmed(tmp_path: Path) -> None:
    with RocksStore(tmp_path) as store:
        store.put(b"a", b"1")
        store.flush()
    note = tmp_path / "windrow-confirmed"
    content = bytearray(note.read_bytes())
    content[-6] ^= 1
    note.write_bytes(content)
    with pytest.raises(CorruptValue, match="windrow-confirmed is damaged"):
        RocksStore(tmp_path)
    note.unlink()
    with RocksStore(tmp_path) as store:
        assert store.get(b"a") == b"1"


def outcomes_of_damage(folder: Path, kind: str, count: int) -> Opener:
    """Return what came of so many damaged copies of a store, which is never a raw error."""
    written_store(folder / "state", kind)
    opener = Opener(kind)
    try:
        for what, copy in damaged_copies(folder / "state", count, kind):
            opener.open(what, copy)
    finally:
        opener.close()
    unnoticed = [line for line in opener.lines if ": told" not in line and ": whole" not in line]
    assert not opener.outcomes["raw"], unnoticed
    if kind == "lmdb":  # its pages have no checksums; but what is cut off or gone is noticed
        assert len(unnoticed) < 0.05 * count, unnoticed
        unnoticed = [line for line in unnoticed if line.startswith(("truncate", "remove"))]
    assert not unnoticed
    return opener


@pytest.mark.parametrize("kind", ["rocks", "lmdb"])
def test_damaged_files(tmp_path: Path, kind: str) -> None:
    assert outcomes_of_damage(tmp_path, kind, 30).outcomes["told"] > 5


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("kind", ["rocks", "lmdb"])
def test_hundreds_of_damaged_files(
    tmp_path: Path, kind: str, record_property: Callable[[str, object], None]
) -> None:
    """One file of a store is cut off, removed, or changed in places; it is opened and compared."""
    outcomes = outcomes_of_damage(tmp_path, kind, 360).outcomes
    record_property("damaged files", outcomes.total())
    record_property("told as an error", outcomes["told"])
    record_property("harmless, the window whole", outcomes["whole"])
    record_property("not noticed, the window wrong", outcomes["wrong"])
    record_property("ended the process", outcomes["died"])


def test_zeros_over_the_names_of_windows(tmp_path: Path) -> None:
    """LMDB finds entries without a key there, and the window would look as if it were new."""
    written_store(tmp_path / "state", "lmdb")
    whole = (tmp_path / "state/data.mdb").read_bytes()
    named = [at for at in range(8192, len(whole), 4096) if b"gw" in whole[at : at + 4096]]
    found = []
    for at in named:  # one of them is in use
        content = bytearray(whole)
        content[at + 1024 : at + 4096] = bytes(3072)
        (tmp_path / "state/data.mdb").write_bytes(content)
        try:
            with LmdbStore(tmp_path / "state") as store:
                found.append(store.windows())
        except CorruptValue:
            found.append(["told"])
    assert sorted(found) == [["told"], *[["w"]] * (len(named) - 1)]


def test_a_file_of_lmdb_that_ends_early(tmp_path: Path) -> None:
    """It is told, and does not end the process, wherever the end is."""
    with LmdbStore(tmp_path / "state") as store:
        store.batch((b"%06d" % i, b"x" * 100) for i in range(2000))
        store.batch((b"big %d" % i, b"x" * 20_000) for i in range(10))
    size = (tmp_path / "state/data.mdb").stat().st_size
    for pages in range(1, size // 4096, 7):
        copy = tmp_path / str(pages)
        shutil.copytree(tmp_path / "state", copy)
        os.truncate(copy / "data.mdb", pages * 4096)
        with pytest.raises(CorruptValue, match=r"damaged: data\.mdb ends after|it is damaged"):
            LmdbStore(copy)


def test_a_file_of_lmdb_without_free_pages_at_its_end_is_whole(tmp_path: Path) -> None:
    """LMDB does not write a page that was taken and given back at once: nothing is missing."""
    with LmdbStore(tmp_path) as store:
        store.batch((b"%06d" % i, b"x" * 100) for i in range(2000))
        store.batch([], (b"%06d" % i for i in range(100, 2000)))
        for i in range(20):  # what is in use moves to the free pages before it
            store.put(b"%06d" % i, b"1")
    whole = (tmp_path / "data.mdb").read_bytes()
    ends = 0
    for pages in range(len(whole) // 4096 - 1, 2, -1):
        os.truncate(tmp_path / "data.mdb", pages * 4096)
        try:
            store = LmdbStore(tmp_path)
        except CorruptValue:
            break
        ends += 1
        with store:
            assert len(list(store.scan(b""))) == 100
            store.batch((b"new %d" % i, b"x" * 100) for i in range(1000))
        (tmp_path / "data.mdb").write_bytes(whole)
    assert ends > 0


@pytest.mark.parametrize("how", ["missing", "empty"])
def test_a_file_of_lmdb_that_is_gone(tmp_path: Path, how: str) -> None:
    with LmdbStore(tmp_path) as store:
        open_window(store, "amta").close()
    file = tmp_path / "data.mdb"
    file.unlink() if how == "missing" else os.truncate(file, 0)
    with pytest.raises(CorruptValue, match=r"data\.mdb is missing or empty"):
        LmdbStore(tmp_path)
