"""One process, one window: filled step by step, then emptied. Prints a line of JSON a step.

python -m benchmarks.stores.filling CONTENDER SMALLEST LARGEST
"""

from __future__ import annotations

import json
import sys
import time

from benchmarks.stores.contenders import contender
from windrow.bench.filling import memory


def tell(**what: object) -> None:
    print(json.dumps(what), flush=True)


def main(name: str, smallest: int, largest: int) -> None:
    empty = memory()
    tell(step="empty", **empty)
    with contender(name) as swag:
        filled = 0
        for n in [1 << e for e in range(smallest, largest + 1, 2)]:
            start = time.perf_counter()
            swag.extend(i * 7919 % 1_000_003 for i in range(filled, n))
            seconds = time.perf_counter() - start
            used = memory()
            above = {f"{kind}_above": used[kind] - empty[kind] for kind in used}
            tell(step="filled", n=n, seconds_each=seconds / (n - filled), **above)
            filled = n
        half = filled // 2
        start = time.perf_counter()
        swag.evict(half)
        at_once = time.perf_counter() - start
        start = time.perf_counter()
        for _ in range(half):
            swag.evict()
        one_by_one = time.perf_counter() - start
        tell(step="emptied", n=filled, half=half, at_once_s=at_once, one_by_one_s=one_by_one)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
