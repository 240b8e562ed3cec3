"""What a process that opens damaged stores gets: ``python -m tests.stores.damage KIND DONE``.

For each folder that it reads from the standard input it prints one line: ``whole`` if the window in
it is the one after DONE operations of `stream`, ``told`` and the error if windrow refused it, else
``raw`` and the error, or ``wrong``. A library may also end the process, which only another one can
tell: `Opener` starts it, and again when it is gone.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.stores.stream import Model, open_window, step
from windrow.stores import LmdbStore, RocksStore, StoreError

ROOT = Path(__file__).parents[2]
STORES: dict[str, Any] = {"rocks": RocksStore, "lmdb": LmdbStore}
DONE = 3000
WAYS = ["flip", "truncate", "zero", "noise", "remove"]
NOTES = (
    "LOG",
    "LOCK",
    "lock.mdb",
    "window-",
    "windrow-lock",
)  # files that hold nothing of the windows


def written_store(folder: Path, kind: str) -> None:
    """Write the windows of both algorithms after `DONE` operations: most of it in sorted files,
    the end in the log, where a store has them."""
    with STORES[kind](folder) as store:
        swag, model = open_window(store, "amta"), Model()
        while model.done < DONE:
            step(swag, model.done)
            model.step()
            if model.done == DONE - 500:
                swag.flush()
                if kind == "rocks":
                    store._db.flush()
        swag.flush()
        shutil.copytree(folder, folder.with_name("killed"))  # as if it ended here
        swag.close()
    shutil.rmtree(folder)
    folder.with_name("killed").rename(folder)


def damaged_copies(folder: Path, count: int, seed: str) -> Iterator[tuple[str, Path]]:
    """Yield so many copies of a store, with one file of each damaged, and what was done to it."""
    chance = random.Random(seed)
    names = sorted(p.name for p in folder.iterdir() if not p.name.startswith(NOTES))
    copy = folder.with_name("damaged")
    for number in range(count):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        file, way = copy / names[number % len(names)], WAYS[number // len(names) % len(WAYS)]
        content = bytearray(file.read_bytes())
        at = chance.randrange(len(content)) if content else 0
        if way == "flip" and content:
            content[at] ^= 1 << chance.randrange(8)
        elif way == "truncate":
            del content[at:]
        elif way == "zero":
            content[at : at + 4096] = bytes(len(content[at : at + 4096]))
        elif way == "noise":
            content[at : at + 256] = chance.randbytes(len(content[at : at + 256]))
        file.write_bytes(content)
        if way == "remove":
            file.unlink()
        yield f"{way} {file.name} at {at}", copy


class Opener:
    """The process that opens the damaged stores, and the outcomes by their first word."""

    def __init__(self, kind: str) -> None:
        self._command = [sys.executable, "-m", "tests.stores.damage", kind, str(DONE)]
        self._process: subprocess.Popen[str] | None = None
        self.outcomes: Counter[str] = Counter()
        self.lines: list[str] = []

    def open(self, what: str, folder: Path) -> None:
        if self._process is None:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                self._command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, bufsize=1
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{folder}\n")
        line = self._process.stdout.readline().strip()
        if not line:
            line = f"died of {-self._process.wait()}"
            self.close()
        self.outcomes[line.split()[0]] += 1
        self.lines.append(f"{what}: {line}")

    def close(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None and self._process.stdout is not None
            self._process.stdin.close()
            self._process.wait(timeout=30)
            self._process.stdout.close()
            self._process = None


def outcome(kind: str, folder: str, done: int) -> str:
    model = Model()
    while model.done < done:
        model.step()
    try:
        with STORES[kind](folder) as store:
            store.windows()
            swag = open_window(store, "amta")
            if (swag._head, swag._end) != (model.head, model.end):
                return f"wrong {swag._head, swag._end} is not {model.head, model.end}"
            model.check(swag)
            swag.close()
    except StoreError as error:
        return f"told {type(error).__name__}: {str(error)!r}"
    except AssertionError as error:
        return f"wrong {str(error)!r}"
    except BaseException as error:
        return f"raw {type(error).__name__}: {str(error)!r}"
    return "whole"


if __name__ == "__main__":
    for line in sys.stdin:
        print(outcome(sys.argv[1], line.strip(), int(sys.argv[2])), flush=True)
