"""How many examples a property is tried on: by the run that tries it.

The default run tries a quarter of them, the same ones each time; `make test-all` tries all of them,
and `make explore` as many that no run has drawn before.
"""

from __future__ import annotations

import os

from hypothesis import settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "windrow")
_FEWEST = 6  # the first example is the simplest one that there is


def share(most: int) -> int:
    """How many of so many examples this run tries."""
    return most if PROFILE != "windrow" else max(min(most, _FEWEST), most // 4)


def examples(most: int) -> settings:
    """Settings of a property with this run's share of so many examples."""
    return settings(max_examples=share(most))
