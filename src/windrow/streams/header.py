"""The head of a bucket's state: small, and written anew by every step.

It tells what the chunks in the store are without reading them, and which query they are of. Its
stamp is drawn at random by every step, so that what a worker remembers of a bucket is trusted only
if it is the state that the store has.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from windrow.errors import InvalidArgument
from windrow.streams.encoding import checked, framed
from windrow.streams.log import Chunk
from windrow.streams.waiting import WaitingChunk

_FIXED = struct.Struct("<16s16sqqII")
_NONE = -(2**63)
NEVER = -(2**62)  # a watermark before all times


@dataclass
class Header:
    """What is known of a bucket."""

    identity: bytes
    stamp: bytes = bytes(16)
    done: int | None = None  # windows up to here are answered; None before the first step
    timer: int | None = None  # when the store calls again
    waiting: list[WaitingChunk] = field(default_factory=list)
    logs: list[list[Chunk]] = field(default_factory=list)

    def encode(self) -> bytes:
        """The head as bytes."""
        pieces = [(p.number, p.rows, p.gone, p.next, p.last, 0, 0, 0) for p in self.waiting]
        chunks = [
            (i, c.number, c.rows, c.newest, c.stamp, c.keys, c.low, c.high)
            for i, log in enumerate(self.logs)
            for c in log
        ]
        table = np.array([*pieces, *chunks], np.int64).reshape(-1, 8)
        fixed = _FIXED.pack(
            self.identity,
            self.stamp,
            _NONE if self.done is None else self.done,
            _NONE if self.timer is None else self.timer,
            len(pieces),
            len(chunks),
        )
        return framed(fixed + table.tobytes())

    @classmethod
    def decode(cls, data: bytes, logs: int) -> Header:
        """The head that these bytes are of."""
        body = checked(data, "the head of the stream's state")
        identity, stamp, done, timer, pieces, chunks = _FIXED.unpack_from(body)
        table = np.frombuffer(body[_FIXED.size :], np.int64).reshape(-1, 8).tolist()
        made: list[list[Chunk]] = [[] for _ in range(logs)]
        for log, *chunk in table[pieces : pieces + chunks]:
            if log >= logs:
                break  # another query's: the identity tells
            made[log].append(Chunk(*chunk))
        waiting = [WaitingChunk(*row[:5]) for row in table[:pieces]]
        done, timer = (None if time == _NONE else time for time in (done, timer))
        return cls(identity, stamp, done, timer, waiting, made)


def check_identity(header: Header, identity: bytes, now: str, then: str) -> None:
    """An error if the state was made by another query than the one that reads it."""
    if header.identity != identity:
        raise InvalidArgument(
            f"the checkpoint holds the state of another query, or of the same over other columns. "
            f"It was made by\n{then}\nand this is\n{now}\nStart with a new checkpoint, or run the "
            f"query that made it"
        )
