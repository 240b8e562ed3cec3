"""A disk that is full, and has room again: ``python -m tests.stores.full_disk KIND FOLDER``.

FOLDER is a small disk of its own. A window is written until the disk is full, and after something
else on it was deleted, again and again, in one store that stays open. Prints counts as JSON.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.stores.stream import Model, open_window, step
from windrow.stores import LmdbStore, RocksStore, StoreError

STORES: dict[str, Any] = {"rocks": RocksStore, "lmdb": LmdbStore}
TURNS = 3


def main(kind: str, folder: str) -> None:
    counts: Counter[str] = Counter({"operations refused while it was full": 0})
    slowest, model, ballast = 0.0, Model(), Path(folder, "ballast")
    with STORES[kind](Path(folder, "state")) as store:
        swag = open_window(store, "amta")

        def run(steps: int) -> None:
            for _ in range(steps):
                try:
                    step(swag, model.done)
                except StoreError:
                    counts["operations refused while it was full"] += 1
                else:
                    model.step()

        for turn in range(TURNS):
            run(1000)
            swag.flush()
            big = bytes(1 << 20 + turn)  # no room that is used again is enough for it
            fill(ballast)
            run(1000)
            try:
                store.put(b"big", big)
            except StoreError as error:
                full = re.search("No space left on device|the disk may be full", str(error))
                counts["times full" if full else "other errors"] += 1
            run(200)
            assert swag.query() == model.answer(), "what can be read is read"
            ballast.unlink()
            freed = time.monotonic()
            while time.monotonic() < freed + 20:
                try:
                    swag.flush()
                    break
                except StoreError:  # of a write before
                    time.sleep(0.005)
            slowest = max(slowest, time.monotonic() - freed)
            store.put(b"big", big)
            store.delete(b"big")
        swag.close()
    with STORES[kind](Path(folder, "state")) as store:
        model.check(open_window(store, "amta"))
    counts["operations done"] = model.done
    print(json.dumps({**counts, "milliseconds until it went on": round(1000 * slowest)}))


def fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass


if __name__ == "__main__":
    main(*sys.argv[1:])
