"""Two checkouts against each other: the same work, in processes that take turns.

This process never imports windrow; each of the others imports that of one checkout.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.alone import ROOT, alone
from bench.workloads import measure_area

Runs = dict[str, list[float]]  # seconds of each round, by case


def compare_checkouts(
    before: Path, after: Path, areas: Sequence[str], quick: bool, rounds: int, largest: int
) -> Iterator[str]:
    """Yield the lines of a table: medians of both, and the ratio after / before."""
    checkouts = {"before": before.resolve(), "after": after.resolve()}
    yield f"before: {checkouts['before']}, after: {checkouts['after']}; {rounds} rounds"
    ratios = []
    folders = {side: _folder(checkout) for side, checkout in checkouts.items()}
    for area in areas:
        runs: dict[str, Runs] = {side: {} for side in checkouts}
        problems: dict[str, str] = {}
        for turn in range(rounds):
            for side, checkout in checkouts.items():
                print(f"{area}, round {turn + 1}, {side}", file=sys.stderr, flush=True)
                cases = _measured(checkout, area, quick, largest, folders[side])
                for name, seconds in cases:
                    if isinstance(seconds, str):
                        problems[name] = f"{side}: {seconds}"
                    else:
                        runs[side].setdefault(name, []).append(seconds)
        yield f"\n{area:45} {'before':>10} {'after':>10} {'ratio':>7}  min–max of rounds"
        for name in dict.fromkeys([*runs["before"], *runs["after"], *problems]):
            old, new = (runs[side].get(name, []) for side in checkouts)
            if name in problems or not (old and new):
                yield f"  {name:43} {problems.get(name, 'not run by both')}"
                continue
            ratios.append(statistics.median(new) / statistics.median(old))
            by_round = [b / a for a, b in zip(old, new, strict=False)]  # one may have failed
            yield (
                f"  {name:43} {_shown(old):>10} {_shown(new):>10} {ratios[-1]:7.2f}  "
                f"{min(by_round):.2f}–{max(by_round):.2f}"
            )
    if ratios:
        mean = statistics.geometric_mean(ratios)
        worse = sum(ratio > 1.05 for ratio in ratios)
        yield (
            f"\ngeometric mean of {len(ratios)} ratios {mean:.3f}, largest {max(ratios):.2f}, "
            f"smallest {min(ratios):.2f}; {worse} above 1.05"
        )


def _measured(
    checkout: Path, area: str, quick: bool, largest: int, folder: Path
) -> Iterator[tuple[str, float | str]]:
    """Yield each case and its seconds, from a process that imports the checkout's windrow.

    Nothing is written to the checkout: caches and compiled code go to the folder.
    """
    source = checkout / "src"
    try:
        yield from alone(
            measure_area,
            area,
            str(source),
            quick,
            largest,
            cwd=folder,
            PYTHONPATH=os.pathsep.join([str(source), str(ROOT)]),
            PYTHONDONTWRITEBYTECODE="1",
            WINDROW_CACHE_DIR=str(folder / "windrow"),
            NUMBA_CACHE_DIR=str(folder / "numba"),
        )
    except RuntimeError as error:
        yield area, str(error)


def _folder(checkout: Path) -> Path:
    """Return a temporary folder for a checkout's compiled code; another code has another one."""
    digest = hashlib.sha256()
    for path in sorted((checkout / "src").rglob("*.py")):
        digest.update(str(path).encode() + path.read_bytes())
    folder = Path(tempfile.gettempdir()) / f"windrow-compare-{digest.hexdigest()[:16]}"
    folder.mkdir(exist_ok=True)
    return folder


def _shown(seconds: list[float]) -> str:
    """Return the median, in a unit that fits it.

    >>> _shown([0.0123]), _shown([2e-6]), _shown([3.0])
    ('12.3 ms', '2 µs', '3 s')
    """
    median = statistics.median(seconds)
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if median >= scale:
            return f"{median / scale:.3g} {unit}"
    return f"{median * 1e9:.3g} ns"
