"""How much time there is: a run is bounded by the clock, and not by sizes alone."""

from __future__ import annotations

import time

TIME_IS_UP = "the time of this run was up"


class Clock:
    """Seconds that may be spent; what is left over goes to whoever comes later.

    >>> clock = Clock(100.0)
    >>> part = clock.share(1, of=4)
    >>> 24 < part.left <= 25
    True
    """

    def __init__(self, seconds: float) -> None:
        self._deadline = time.perf_counter() + seconds

    @property
    def left(self) -> float:
        """Seconds until the end, never less than none."""
        return max(0.0, self._deadline - time.perf_counter())

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0.0

    def share(self, weight: float, of: float) -> Clock:
        """A part of what is left."""
        return Clock(self.left * weight / of)
