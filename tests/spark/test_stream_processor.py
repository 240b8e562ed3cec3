"""What a worker remembers of the streams that it has steps of."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from windrow.spark import stream_processor


def test_what_a_process_remembers_of_checked_partitions_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker that lives for many runs of many queries."""
    numbers = itertools.count()
    task = SimpleNamespace(getLocalProperty=lambda _: "run", partitionId=lambda: next(numbers))
    client = SimpleNamespace(
        handle_state=stream_processor.StatefulProcessorHandleState.CREATED,
        remove_implicit_key=lambda: None,
    )
    handle: Any = SimpleNamespace(_statefulProcessorApiClient=client)
    processor = object.__new__(stream_processor.WindowProcessor)
    processor._identity, processor._labels = b"a query", ()
    monkeypatch.setattr(stream_processor, "_CHECKED", OrderedDict())
    monkeypatch.setattr(stream_processor, "_MOST_CHECKED", 3)
    monkeypatch.setattr(stream_processor, "TaskContext", SimpleNamespace(get=lambda: task))
    for _ in range(10):
        processor._check_partition(handle)
    assert [partition for _, partition, _ in stream_processor._CHECKED] == [7, 8, 9]
