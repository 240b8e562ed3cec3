"""What all tests share."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.examples import PROFILE, share

# Generated modules go where a second run of the tests finds them, and not to the user's own cache.
os.environ.setdefault("WINDROW_CACHE_DIR", str(Path(tempfile.gettempdir()) / "windrow-tests"))

# So does Python's bytecode: tests start many processes, which would compile every source again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A test's Spark runs for seconds: too short for the second of Java's compilers to pay.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# The first example of a test may compile, which takes seconds: no example is timed. A run draws the
# same examples as the last one, so that what fails does so for a change's sake and not by luck;
# `make explore` draws new ones.
settings.register_profile(
    "windrow",
    deadline=None,
    derandomize=True,
    max_examples=share(100),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("all", settings.get_profile("windrow"))
settings.register_profile("explore", settings.get_profile("windrow"), derandomize=False)
settings.load_profile(PROFILE)


@pytest.hookimpl(trylast=True)  # when Spark's tests have their groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spark's groups go first: nothing else takes as long."""
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let a property begin with its own settings.

    Hypothesis wraps them once more for each case of a parametrized test, and asks all of the layers
    for their database: after 900 cases in one process that is too deep.
    """
    function = getattr(item, "obj", None)
    held = getattr(function, "_hypothesis_internal_use_settings", None)
    if held is not None:
        own = vars(function).setdefault("own_settings", held)
        function._hypothesis_internal_use_settings = own


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of a group run in one process, and those of a file, which load once what they share."""
    from xdist.scheduler import LoadGroupScheduling

    class ByFile(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            scope: str = super()._split_scope(nodeid)
            return nodeid.partition("::")[0] if scope == nodeid else scope

    return ByFile(config, log)
