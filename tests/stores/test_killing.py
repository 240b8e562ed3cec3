"""A process that is killed at any moment: its window is then one that it had.

None of what was confirmed is lost, and no operation is there by half.
"""

from __future__ import annotations

import multiprocessing
import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.stores.servers import RedisServer
from tests.stores.stream import Model, main, open_store, open_window
from windrow.algorithms.stored import Stored
from windrow.stores import RedisStore, keys

KINDS = ["rocks", "lmdb", "redis"]
ALGORITHMS = ["amta", "log_mta"]

# Writers are forked from a process that has imported all they need, and opened nothing.
WRITERS = multiprocessing.get_context("forkserver")
WRITERS.set_forkserver_preload(["pytest", "tests.stores.stream"])


class Killing:
    """A window of one store, whose writers are killed again and again."""

    def __init__(self, folder: Path, kind: str, algorithm: str) -> None:
        self.folder, self.kind, self.algorithm = folder, kind, algorithm
        self.chance, self.model = random.Random(f"{kind} {algorithm}"), Model()
        self.kills = self.changed = 0
        self.where = str(folder / "state")
        self.server = RedisServer(folder) if kind == "redis" else None
        if self.server is not None:
            self.server.start()
            self.where = self.server.url

    def run(self, times: int) -> None:
        """Kill so many writers; check the window after each."""
        for _ in range(times):
            confirmed = self._kill_a_writer(self.chance.random() * 0.15)
            with self._copy() as swag:
                before = self.model.done
                while self.model.head + self.model.end < swag._head + swag._end:
                    self.model.step()
                assert self.model.done >= confirmed
                self.model.check(swag)
            self.kills += 1
            self.changed += self.model.done > before
        assert self.changed > times / 3, "the processes were killed before they did anything"

    def _kill_a_writer(self, seconds: float) -> int:
        """Let a process write, kill it; how many operations were confirmed at last."""
        log, start = self.folder / "log", self.model.done
        log.write_bytes(b"")
        arguments = self.kind, self.where, self.algorithm, str(start), str(log)
        process = WRITERS.Process(target=main, args=arguments)
        process.start()
        try:
            while not log.read_bytes():
                assert process.is_alive(), process.exitcode
                time.sleep(0.002)
            time.sleep(seconds)
        finally:
            process.kill()
            process.join()
            process.close()
        return max((int(line) for line in log.read_text().split()[1:]), default=start)

    @contextmanager
    def _copy(self) -> Iterator[Stored]:
        """The window in a copy of the store, since checking changes it."""
        if self.kind == "redis":
            with RedisStore(self.where) as store, RedisStore(self.where, prefix="copy:") as copy:
                copy.batch([], [key for key, _ in copy.scan(b"")])
                entries = store.scan(b"")
                copy.batch((key, value) for key, value in entries if key[:1] != keys.LOCK)
                yield open_window(copy, self.algorithm)
        else:
            folder = self.folder / "copy"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(self.where, folder)
            with open_store(self.kind, str(folder)) as store:
                yield open_window(store, self.algorithm)

    def close(self) -> None:
        if self.server is not None:
            self.server.stop()


@pytest.fixture
def killing(tmp_path: Path) -> Iterator[Callable[[str, str], Killing]]:
    begun: list[Killing] = []

    def begin(kind: str, algorithm: str) -> Killing:
        folder = tmp_path / algorithm
        folder.mkdir()
        begun.append(Killing(folder, kind, algorithm))
        return begun[-1]

    yield begin
    for each in begun:
        each.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("algorithm", "times"), [("amta", 8), ("log_mta", 4)])
def test_killed_at_any_moment(
    killing: Callable[[str, str], Killing], kind: str, algorithm: str, times: int
) -> None:
    killing(kind, algorithm).run(times if kind != "redis" else 2)


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("kind", KINDS)
def test_writers_killed_sixty_times(
    killing: Callable[[str, str], Killing],
    kind: str,
    record_property: Callable[[str, object], None],
) -> None:
    """Writers of a window are killed by SIGKILL at any moment; it is opened and compared."""
    each = [killing(kind, algorithm) for algorithm in ALGORITHMS]
    for one in each:
        one.run(30)
    record_property("writers killed", sum(one.kills for one in each))
    record_property("of them in the midst of writing", sum(one.changed for one in each))
    record_property("operations compared", sum(one.model.done for one in each))
    record_property("confirmed operations lost", 0)  # else it has failed
