"""The settings of a session that the command line starts."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("click")

from windrow.cli import session


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_workers_of_a_local_master_start_with_windrow_loaded(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    module, sockets = "spark.python.daemon.module", "spark.python.unix.domain.socket.enabled"
    found = session._defaults("local[2]", "/nowhere", verbose=False)
    there = system == "linux"
    assert found.get(module) == ("windrow.spark.daemon" if there else None)
    assert found.get(sockets) == ("true" if there else None)
    elsewhere = session._defaults("spark://host:7077", "/nowhere", verbose=False)
    assert module not in elsewhere
    assert sockets not in elsewhere
