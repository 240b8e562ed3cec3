"""A push that fails, wherever on its way, leaves the window as it was and can be repeated."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fuse import Blown, Fuse, algebras
from windrow.algorithms import ALGORITHMS, algorithm_class
from windrow.windows.base import written
from windrow.windows.push import Window, window

IN_ORDER = [0, 1, 1, 2, 3, 4, 4, 4, 5, 9, 10, 10, 11, 30, 31, 31]
LATE = [5, 6, 4, 6, 9, 7, 3, 8, 9, 10, 9, 10, 20, 15, 12, 21]
EXTENTS: list[dict[str, Any]] = [
    {"rows": 1},
    {"rows": 4},
    *({"range": 3, "closed": closed} for closed in ("both", "right", "left", "neither")),
    {"rows": 4, "lateness": 4},
    *({"range": 3, "lateness": 5, "closed": closed} for closed in ("both", "left")),
    {"until": lambda total, old: len(total) - len(old) >= 3},
    {"on": lambda value: value % 5 == 4},
]


def cases() -> Iterator[Any]:
    """Yield every extent with every algorithm, by one algebra each; the others are slow."""
    for (i, extent), (j, algorithm) in itertools.product(enumerate(EXTENTS), enumerate(ALGORITHMS)):
        cls, known = algorithm_class(algorithm), algebras(algorithm)
        if ("lateness" in extent and not cls.out_of_order) or (
            "until" in extent and not cls.prefix_search
        ):
            continue
        for k, algebra in enumerate(known):
            marks = [] if k == (i + j) % len(known) else [pytest.mark.slow]
            yield pytest.param(extent, algorithm, algebra, marks=marks)


def times(extent: dict[str, Any]) -> list[dict[str, int]]:
    """Return the time of each push, as an argument of it."""
    if "until" in extent or "on" in extent:
        return [{}] * len(IN_ORDER)
    return [{"at": t} for t in (LATE if "lateness" in extent else IN_ORDER)]


def told(w: Window) -> tuple[Any, int, int]:
    w._check()
    return w.query(), len(w), w.late


@pytest.mark.parametrize(
    ("extent", "algorithm", "algebra"),
    list(cases()),
    ids=lambda part: "-".join(written(part)) if isinstance(part, dict) else part,
)
def test_a_push_that_fails_is_not_done(
    extent: dict[str, Any], algorithm: str, algebra: str
) -> None:
    pushes = list(enumerate(times(extent)))

    def filled(number: int) -> tuple[Fuse, Window]:
        fuse = Fuse()
        w = window(fuse.aggregations()[algebra], algorithm=algorithm, **extent)
        for value, at in pushes[:number]:
            w.push(value, **at)
        return fuse, w

    _, twin = filled(0)
    answers = [(twin.push(value, **at), told(twin)) for value, at in pushes]
    for number, (value, at) in enumerate(pushes):
        for burns in itertools.count(1):
            fuse, w = filled(number)
            before = told(w)
            fuse.left = burns
            try:
                w.push(value, **at)
                break
            except Blown:
                assert told(w) == before
                for (again, its_time), answer in zip(
                    pushes[number:], answers[number:], strict=True
                ):
                    assert (w.push(again, **its_time), told(w)) == answer
