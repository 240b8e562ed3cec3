"""PBA, the Parallel Boundary Aggregator (paper 004): the lcs come from a second thread."""

from __future__ import annotations

import functools
import os
from concurrent.futures import Future, ThreadPoolExecutor

from windrow.aggregations.base import State
from windrow.algorithms.sba import BoundaryAggregator, Chunk


@functools.cache
def _workers() -> ThreadPoolExecutor:
    """The threads that all windows share; started when the first chunk is closed."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="windrow-pba")


class ReversingChunk(Chunk):
    """A chunk whose states are being turned into its lcs, in place, from the right.

    `done` is the leftmost index that is an lcs already, so a pass that failed can go on later.
    Index 0 is never needed: it is the chunk's aggregate.
    """

    __slots__ = ("done", "pending")

    def __init__(self, states: list[State], aggregate: State) -> None:
        super().__init__(states, aggregate)
        self.done = len(states) - 1
        self.pending: Future[None] | None = None


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
        chunk.pending = _workers().submit(self._reverse, chunk)
        return chunk

    def _reverse(self, chunk: ReversingChunk) -> None:
        states = chunk.states
        for i in range(chunk.done - 1, 0, -1):
            states[i] = self._combine(states[i], states[i + 1])
            chunk.done = i

    def _suffixes(self, chunks: list[Chunk], gone: int) -> tuple[list[State], list[Chunk], State]:
        chunk, *rest = chunks
        assert isinstance(chunk, ReversingChunk)
        if chunk.pending is None:  # an earlier attempt failed: go on where it stopped
            chunk.pending = _workers().submit(self._reverse, chunk)
        pending, chunk.pending = chunk.pending, None
        pending.result()
        return chunk.states, rest, self._total(rest)

    def _check(self) -> None:
        super()._check()
        for chunk in self._closed:
            assert isinstance(chunk, ReversingChunk)
