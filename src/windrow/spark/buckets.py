"""Buckets of keys: what is one group for Spark, which works on the groups of a partition in turn.

What Spark does for a group costs milliseconds in every micro-batch, however few rows it has. So if
nothing is said there is one bucket for each partition of the state, with a label that Spark's hash
puts there; and no more than 16, so that a state of 200 partitions has no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from pyspark.sql import functions as sf

from windrow.queries.streaming import BUCKETS
from windrow.spark.columns import column

_WORD = (1 << 32) - 1


def bucket_labels(buckets: int | None, keys: Sequence[str], partitions: int) -> Sequence[int]:
    """The labels of as many buckets as were asked for; a range, unless each has its partition."""
    if not keys:
        return range(1)
    if buckets is not None or partitions >= BUCKETS:
        return range(buckets or BUCKETS)
    return partition_labels(partitions)


def partition_labels(partitions: int) -> list[int]:
    """The least label of each partition.

    >>> partition_labels(3)
    [0, 1, 11]
    """
    labels: dict[int, int] = {}
    numbers = count()
    while len(labels) < partitions:
        label = next(numbers)
        labels.setdefault(murmur3(label) % partitions, label)
    return sorted(labels.values())


def bucket_of(keys: Sequence[str], labels: Sequence[int], frame: Any) -> Any:
    """The label of the bucket that a row's key is in, as a column."""
    if not keys:
        return sf.lit(0)
    hashed = sf.xxhash64(*[_hashed(name, frame) for name in keys])
    number = sf.pmod(hashed, sf.lit(len(labels))).cast("int")
    if isinstance(labels, range):
        return number
    return sf.element_at(sf.array(*map(sf.lit, labels)), number + 1)


def _hashed(name: str, frame: Any) -> Any:
    """A key column as it is hashed: −0.0 is the key that 0.0 is."""
    if frame.schema[name].dataType.typeName() in ("float", "double"):
        return column(name) + sf.lit(0.0)
    return column(name)


def murmur3(number: int) -> int:
    """Spark's hash of an INT, which tells the partition of a row.

    >>> murmur3(0), murmur3(1)
    (933211791, -559580957)
    """
    mixed = _rotated(number * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD
    hashed = (_rotated(42 ^ mixed, 13) * 5 + 0xE6546B64 & _WORD) ^ 4
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & _WORD
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & _WORD
    hashed ^= hashed >> 16
    return hashed - (hashed >> 31 << 32)


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & _WORD
