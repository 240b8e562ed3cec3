"""What all tests share."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings

# Generated modules go where a second run of the tests finds them, and not to the user's own cache.
os.environ.setdefault("WINDROW_CACHE_DIR", str(Path(tempfile.gettempdir()) / "windrow-tests"))

# A test's Spark runs for seconds: too short for the second of Java's compilers to pay.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# The first example of a test may compile, which takes seconds: no example is timed. A run draws the
# same examples as the last one, so that what fails does so for a change's sake and not by luck;
# `make explore` draws new ones.
settings.register_profile(
    "windrow",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("explore", settings.get_profile("windrow"), derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "windrow"))
