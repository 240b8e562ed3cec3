"""The chunked-array queue of paper 003, section 4.1: a FIFO that never moves what it holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

_BITS = 8
CHUNK = 1 << _BITS
_MASK = CHUNK - 1


class ChunkedQueue:
    """A queue in chunks of fixed size, addressed by positions that never change.

        chunk 3             chunk 4             chunk 5
        ┌───┬───┬───┬───┐   ┌───┬───┬───┬───┐   ┌───┬───┬───┬───┐
        │   │   │ a │ b │   │ c │ d │ e │ f │   │ g │ h │   │   │
        └───┴───┴───┴───┘   └───┴───┴───┴───┘   └───┴───┴───┴───┘
                  ↑ head                                  ↑ end

    The element at position p lies in chunk p // CHUNK for as long as it is queued: growing
    allocates one chunk and shrinking frees one, and no element is ever copied. A position is the
    paper's queue pointer; p + 1 and p − 1 are its neighbours.

    >>> queue = ChunkedQueue()
    >>> for letter in "abc": queue.append(letter)
    >>> queue.drop(1)
    >>> queue.head, queue.end, queue[1]
    (1, 3, 'b')
    """

    __slots__ = ("_chunks", "_freed", "end", "head", "noted")

    def __init__(self, start: int = 0) -> None:
        self.head = self.end = start
        self._chunks: dict[int, list[Any]] = {}
        self.noted = -1  # in which operation of an aggregator its ends were noted
        self._freed = start >> _BITS  # chunks before this number are gone

    def __len__(self) -> int:
        return self.end - self.head

    def __getitem__(self, position: int) -> Any:
        return self._chunks[position >> _BITS][position & _MASK]

    def __setitem__(self, position: int, value: Any) -> None:
        self._chunks[position >> _BITS][position & _MASK] = value

    def append(self, value: Any) -> None:
        """Add at the end. O(1); at most two chunks that `drop` left behind are freed."""
        self._free(2)
        number = self.end >> _BITS
        chunk = self._chunks.get(number)
        if chunk is None:
            chunk = self._chunks[number] = [None] * CHUNK
        chunk[self.end & _MASK] = value
        self.end += 1

    def drop(self, k: int) -> None:
        """Remove the k oldest. O(1) whatever k is: their chunks are freed by later operations."""
        self._free(1)
        self.head += k

    def release(self) -> bool:
        """Free one chunk that `drop` left behind; return whether there are more of them. O(1)."""
        self._free(1)
        return self._freed < self.head >> _BITS

    def mark(self, position: int | None = None) -> Callable[[], None]:
        """Return a function that sets the ends, and what lies at `position`, back to what they are.

        It can be used while no operation after the next `drop` has freed a chunk.
        """
        old = None if position is None else self[position]
        return partial(self._return, self.head, self.end, position, old)

    def _return(self, head: int, end: int, position: int | None, old: Any) -> None:
        self.head, self.end = head, end
        for number in range((end >> _BITS) + 1, max(self._chunks, default=0) + 1):
            self._chunks.pop(number, None)
        if position is not None:
            self[position] = old

    def _free(self, most: int) -> None:
        first = self.head >> _BITS
        while self._freed < first and most:
            self._chunks.pop(self._freed, None)
            self._freed += 1
            most -= 1

    def _check(self) -> None:
        assert self.head <= self.end
        live = range(self.head >> _BITS, ((self.end - 1) >> _BITS) + 1) if len(self) else ()
        assert all(number in self._chunks for number in live), (self.head, self.end)
        assert all(self._freed <= number <= self.end >> _BITS for number in self._chunks)
