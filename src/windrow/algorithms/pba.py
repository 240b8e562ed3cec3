"""PBA, the Parallel Boundary Aggregator (paper 004): the lcs come from a second thread."""

from __future__ import annotations

import functools
import os
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from windrow.aggregations.base import State
from windrow.algorithms.sba import BoundaryAggregator, Chunk


@functools.cache
def workers() -> ThreadPoolExecutor:
    """Return the threads that all windows share; started when the first chunk is closed."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="windrow-pba")


if hasattr(os, "register_at_fork"):  # threads do not come along
    os.register_at_fork(after_in_child=workers.cache_clear)


class ReversingChunk(Chunk):
    """A chunk whose states are being turned into its lcs, in place, from the right.

    `done` is the leftmost index that is an lcs already, and that lcs, so that a pass can go on
    wherever it was stopped: by a failure, or in a forked process, which has no such thread. Index 0
    is never needed: it is the chunk's aggregate.
    """

    __slots__ = ("_pending", "_process", "done")

    def __init__(self, states: list[State], aggregate: State) -> None:
        super().__init__(states, aggregate)
        self.done: tuple[int, State] = len(states) - 1, states[-1]
        self._pending: Future[None] | None = None
        self._process = 0

    def start(self, combine: Any) -> None:
        """Let another thread turn the states into lcs."""
        self._pending, self._process = workers().submit(self._reverse, combine), os.getpid()

    def finish(self, combine: Any) -> None:
        """Return when all states are lcs; raise what the other thread has raised."""
        pending = self._taken()
        if pending is None:
            self._reverse(combine)
        else:
            pending.result()

    def _taken(self) -> Future[None] | None:
        """Return what a thread of this process does or has done, once."""
        pending, self._pending = self._pending, None
        return pending if self._process == os.getpid() else None

    def _reverse(self, combine: Any) -> None:
        states = self.states
        i, suffix = self.done
        states[i] = suffix  # unless it was stopped just before this
        while i > 1:
            i -= 1
            suffix = combine(states[i], suffix)
            self.done = i, suffix
            states[i] = suffix

    def __getstate__(self) -> tuple[Any, ...]:
        pending = self._taken()
        if pending is not None:
            pending.exception()  # what failed is tried again when it is needed
        return self.states, self.aggregate, self.done

    def __setstate__(self, saved: tuple[Any, ...]) -> None:
        states, aggregate, done = saved
        self.__init__(states, aggregate)  # type: ignore[misc]
        self.done = done


class Pba(BoundaryAggregator):
    """At most 3 ⊕ a slide on the caller's thread; the lcs of a closed chunk on another.

    A chunk's lcs are started at its boundary and needed only when the oldest value gets there.
    In the interpreter the threads take turns; compiled, they run side by side.
    """

    algorithm = "pba"
    full_name = "Parallel Boundary Aggregator"
    _closes_on_entry = False

    def _closing(self, states: list[State], aggregate: State) -> Chunk:
        chunk = ReversingChunk(states.copy(), aggregate)  # it may have to be opened again
        chunk.start(self._combine)
        return chunk

    def _suffixes(self, chunks: list[Chunk], gone: int) -> tuple[list[State], list[Chunk], State]:
        chunk, *rest = chunks
        assert isinstance(chunk, ReversingChunk)
        chunk.finish(self._combine)
        return chunk.states, rest, self._total(rest)

    def _check(self) -> None:
        super()._check()
        for chunk in self._closed:
            assert isinstance(chunk, ReversingChunk)
