"""What was confirmed and is lost is noticed when the store is opened."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.stores.stream import Model, open_window, step
from windrow.stores import CorruptValue, RocksStore


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
