"""The header of a bucket's state: small, and written anew by every step.

It says what the chunks in the store are without reading them, and which query they belong to. Its
stamp is drawn at random by every step, so that what a worker remembers of a bucket is trusted only
if it is the state that the store has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from windrow.errors import InvalidArgument
from windrow.stores.encoding import decode, encode
from windrow.streams.log import Chunk
from windrow.streams.waiting import WaitingChunk


@dataclass
class Header:
    """What is known of a bucket."""

    identity: bytes
    stamp: bytes = bytes(16)
    done: int | None = None  # windows up to here are answered; None before the first step
    timer: int | None = None  # when the store calls again
    # the watermark when a row came last, the clock at that time, and a number of the run
    quiet: tuple[int, int, int] | None = None
    waiting: list[WaitingChunk] = field(default_factory=list)
    logs: list[list[Chunk]] = field(default_factory=list)

    @property
    def stamps(self) -> set[int]:
        """The stamps of all chunks."""
        logs = {chunk.stamp for log in self.logs for chunk in log}
        return logs | {chunk.stamp for chunk in self.waiting}

    def encode(self) -> bytes:
        """Return the header as bytes."""
        waiting, logs = _numbers(self.waiting), [_numbers(log) for log in self.logs]
        parts = (self.identity, self.stamp, self.done, self.timer, waiting, logs, self.quiet)
        return encode(parts)

    @classmethod
    def decode(cls, data: bytes) -> Header:
        """Return the header that `encode` made these bytes of."""
        what = "the header of the stream's state"
        fields = decode(bytes(data), what)  # Spark hands out a bytearray
        identity, stamp, done, timer, waiting, logs, *quiet = fields
        pieces = [WaitingChunk(*row) for row in waiting.tolist()]
        chunks = [[Chunk(*row) for row in log.tolist()] for log in logs]
        return cls(identity, stamp, done, timer, quiet[0] if quiet else None, pieces, chunks)


def _numbers(chunks: Sequence[WaitingChunk] | Sequence[Chunk]) -> NDArray[np.int64]:
    """Return a row for each chunk with the numbers that its fields are."""
    return np.array([tuple(vars(chunk).values()) for chunk in chunks], np.int64)


def check_identity(header: Header, identity: bytes, both: str) -> None:
    """Raise an error if the state was made by another query than the one that reads it.

    `both` shows the two.
    """
    if header.identity != identity:
        raise InvalidArgument(
            f"the checkpoint holds the state of another query, or of the same over other columns."
            f"\n{both}\nRun the query that made it, start with a new checkpoint, or take the state "
            f"to one for this query: `windrow state export` and `windrow state import`"
        )
