"""The newest results of a few keys of a stream, observed as they pass: what `live_view` draws.

One `max` a key in Spark's `observe`, of the order with the results behind it: no second pass, no
shuffle, nothing kept. It takes some 40 ns of a core for each key and row (`max_by` takes 70).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from pyspark.sql import functions as sf
from pyspark.sql.types import NumericType, StringType

from windrow.errors import InvalidArgument, did_you_mean
from windrow.spark.columns import column, unused
from windrow.spark.progress import results_name

MOST_LINES = 12


def live_results(
    frame: Any,
    *,
    values: str | Sequence[str],
    order_by: str,
    partition_by: str | Sequence[str] | None = None,
    keys: Sequence[Any] = (),
) -> Any:
    """Return the streaming `frame`, with the newest of its results told to `live_view`.

    For each of the `keys` of `partition_by`, the row of a micro-batch with the greatest `order_by`
    (of several, the one with the greatest values) is a point of a line for each of `values`. With
    several columns in `partition_by`, a key is a tuple. Without them, there is one line for all
    rows. There may be 12 lines.

        plugs.transform(query).transform(
            live_results, values=["peak"], partition_by="plug_id", keys=[3, 7], order_by="ts"
        )
    """
    values, by = _names(values), _names(partition_by or ())
    _check(frame, values, by, order_by, keys)
    numbers = [column(name).cast("double").alias(name) for name in values]
    picked = []
    for key in keys if by else [()]:
        newest = sf.struct(column(order_by).alias(unused("at", values)), *numbers)
        for name, value in zip(by, _key(key), strict=True):
            is_key = column(name).isNull() if value is None else column(name) == sf.lit(value)
            newest = sf.when(is_key, newest)
        label = ", ".join(f"{n} {v}" for n, v in zip(by, _key(key), strict=True))
        picked.append(sf.max(newest).alias(label or " "))
    text = repr((values, by, order_by, keys))
    return frame.observe(results_name(hashlib.sha256(text.encode()).digest()), *picked)


def _names(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _key(key: Any) -> tuple[Any, ...]:
    return tuple(key) if isinstance(key, tuple | list) else (key,)


def _check(
    frame: Any, values: list[str], by: list[str], order_by: str, keys: Sequence[Any]
) -> None:
    if not getattr(frame, "isStreaming", False):
        raise InvalidArgument("live_results is for a streaming DataFrame, and this one is none")
    for argument, names in (("values", values), ("partition_by", by), ("order_by", [order_by])):
        for name in names:
            if name not in frame.columns:
                raise InvalidArgument(
                    f"{argument}: there is no column {name!r}; {did_you_mean(name, frame.columns)}"
                )
    if not values:
        raise InvalidArgument("values=[]: name a column of results, as in values=['peak']")
    for name in values:
        kind = frame.schema[name].dataType
        if not isinstance(kind, NumericType):
            raise InvalidArgument(
                f"values: {name!r} is of type {kind.simpleString()}, and a line is of numbers"
            )
    if bool(by) != bool(keys):
        raise InvalidArgument(
            f"partition_by={by} and keys={list(keys)}: give both, as in partition_by='plug_id', "
            f"keys=[3, 7], or neither for one line of all rows"
        )
    for key in keys:
        _check_key(frame, by, _key(key))
    lines = len(values) * max(1, len(keys))
    if lines > MOST_LINES:
        raise InvalidArgument(
            f"{lines} lines, and {MOST_LINES} can be told apart: name fewer keys or values"
        )


def _check_key(frame: Any, by: list[str], key: tuple[Any, ...]) -> None:
    """Refuse a key that cannot be in its columns: Spark would, after the stream has begun."""
    if len(key) != len(by):
        raise InvalidArgument(f"keys: {key!r} is not one value for each of {by}")
    for name, value in zip(by, key, strict=True):
        kind = frame.schema[name].dataType
        if value is not None and isinstance(value, str) != isinstance(kind, StringType):
            raise InvalidArgument(
                f"keys: {value!r} is none of the values of {name!r}, which are of type "
                f"{kind.simpleString()}"
            )
