"""One window of smart-plug readings, all algorithms: the same answers, different work.

Makes a day of readings, slides a window of the last 1,000 over it with each algorithm, checks
that all agree, and prints how many ⊕ (combines) each needed.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Iterator

from windrow import aggregation, aggregator
from windrow.algorithms import ALGORITHMS, algorithm_class

WINDOW, READINGS = 1000, 6000


def loads(n: int) -> Iterator[float]:
    """A plug's load in watts: a daily rhythm, noise, and now and then a kettle."""
    source = random.Random(7)
    for i in range(n):
        rhythm = 60 + 40 * math.sin(2 * math.pi * i / n)
        kettle = 1800 if source.random() < 0.002 else 0
        yield round(rhythm + source.gauss(0, 8) + kettle, 1)


def main() -> int:
    """Run all of them; 0 if they agree."""
    stream = list(loads(READINGS))
    combines = 0

    def higher(a: float, b: float) -> float:
        nonlocal combines
        combines += 1
        return a if a >= b else b

    peak = aggregation(lift=float, combine=higher, lower=float, selective=True)
    print(f"max over the last {WINDOW:,} of {READINGS:,} readings\n")
    print(f"{'algorithm':<18} {'⊕ a slide':>10} {'most':>6} {'slides/s':>10}")
    print("-" * 47)
    answers: dict[str, list[float]] = {}
    for name in ALGORITHMS:
        if not algorithm_class(name).supports(peak):
            print(f"{name:<18} needs an inverse, which max does not have")
            continue
        swag = aggregator(peak, algorithm=name)
        swag.extend(stream[:WINDOW])
        combines = most = 0
        out = answers[name] = []
        started = time.perf_counter()
        for value in stream[WINDOW:]:
            before = combines
            swag.evict()
            swag.insert(value)
            out.append(swag.query())
            most = max(most, combines - before)
        seconds = time.perf_counter() - started
        slides = len(out)
        print(f"{name:<18} {combines / slides:>10.2f} {most:>6} {slides / seconds:>10,.0f}")
    agree = all(out == answers["recalculate"] for out in answers.values())
    print(f"\n{len(answers)} algorithms, {len(answers['daba']):,} answers each:", end=" ")
    print("all agree" if agree else "THEY DISAGREE")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
