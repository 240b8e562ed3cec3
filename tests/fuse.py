"""Aggregations whose functions fail at a chosen call."""

from __future__ import annotations

import math
import threading
from typing import Any

from windrow import aggregation
from windrow.aggregations.base import Aggregation
from windrow.algorithms import algorithm_class

State = tuple[int, ...]


class Blown(Exception):
    """What the fuse raises."""


class Fuse:
    """Blows at the `left`-th call from now on of any function of its aggregations, once.

    Only in the thread that made it: what fails in the background is another thread's affair.
    """

    def __init__(self) -> None:
        self.left = math.inf
        self._thread = threading.get_ident()

    def burn(self) -> None:
        if threading.get_ident() == self._thread:
            self.left -= 1
            if self.left == 0:
                raise Blown

    def aggregations(self) -> dict[str, Aggregation]:
        """Every algebra that an algorithm may ask for; the order of the values shows in each."""
        functions: dict[str, Any] = {"lift": self._lift, "lower": self._lower}
        return {
            "associative": aggregation(**functions, combine=self._joined),
            "invertible": aggregation(**functions, combine=self._joined, inverse=self._without),
            "infinite": aggregation(
                lift=self._lift_with_infinity,
                combine=self._joined,
                lower=self._lower_every_second,
                inverse=self._without,
            ),
            "selective": aggregation(**functions, combine=self._larger, selective=True),
        }

    def _lift(self, value: int) -> State:
        self.burn()
        return (value,)

    def _lift_with_infinity(self, value: int) -> tuple[Any, ...]:
        """Nothing can be subtracted from infinity, so whoever subtracts has to do without."""
        self.burn()
        return value, math.inf

    def _lower_every_second(self, state: tuple[Any, ...]) -> list[int]:
        self.burn()
        return list(state[::2])

    def _lower(self, state: State) -> list[int]:
        self.burn()
        return list(state)

    def _joined(self, a: State, b: State) -> State:
        self.burn()
        return a + b

    def _without(self, total: State, old: State) -> State:
        self.burn()
        return total[len(old) :]

    def _larger(self, a: State, b: State) -> State:
        self.burn()
        return max(a, b)


def algebras(algorithm: str) -> list[str]:
    """Return those that an algorithm can run; infinity is for the ones that subtract."""
    known, cls = Fuse().aggregations(), algorithm_class(algorithm)
    subtracts = not cls.supports(known["associative"])
    return [
        name
        for name, agg in known.items()
        if cls.supports(agg) and (subtracts or name != "infinite")
    ]


def expected(algebra: str, values: list[int]) -> list[int]:
    """What a window of these values answers."""
    return [max(values)] if algebra == "selective" and values else values
