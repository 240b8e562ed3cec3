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
    module = "spark.python.daemon.module"
    wanted = "windrow.spark.daemon" if system == "linux" else None
    assert session._defaults("local[2]", "/nowhere", verbose=False).get(module) == wanted
    assert module not in session._defaults("spark://host:7077", "/nowhere", verbose=False)
