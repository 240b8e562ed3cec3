"""Calls of Spark's state that are not waited for: which answers are read when."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("google.protobuf")

from pyspark.errors import PySparkRuntimeError
from pyspark.sql.streaming.stateful_processor_api_client import (
    StatefulProcessorApiClient,
    StatefulProcessorHandleState,
)
from pyspark.sql.types import IntegerType, StructField, StructType

from windrow.spark.state_calls import StateCalls


class Client(StatefulProcessorApiClient):
    """Spark's client, which answers itself: each call in turn, and the one numbered `fails` not."""

    def __init__(self, fails: int = -1) -> None:
        self.key_schema = StructType([StructField("bucket", IntegerType())])
        self.handle_state = StatefulProcessorHandleState.CREATED
        self.fails, self.sent, self.read = fails, 0, 0
        self._watermark_timestamp = self._batch_timestamp = -1

    def _serialize_to_bytes(self, schema: StructType, data: Any) -> bytes:
        return b""

    def _send_proto_message(self, message: bytes) -> None:
        self.sent += 1

    def _receive_proto_message(self) -> Any:
        self.read += 1
        return (1, "no space", b"") if self.read == self.fails else (0, "", b"value")

    def _receive_proto_message_with_long_value(self) -> Any:
        self.read += 1
        return 0, "", self.read


def test_answers_without_a_value_are_read_before_the_next_one_that_counts() -> None:
    client = Client()
    put = StateCalls(client).ahead(lambda: StatefulProcessorApiClient.remove_implicit_key(client))
    client.set_implicit_key((1,))
    client.register_timer(1000)
    put()
    client.delete_timer(1000)
    assert (client.sent, client.read) == (4, 0)
    assert client._get_watermark_timestamp() == 5, "the fifth answer is that of the fifth call"
    client.set_handle_state(StatefulProcessorHandleState.DATA_PROCESSED)
    assert (client.sent, client.read) == (6, 5)
    assert client.handle_state == StatefulProcessorHandleState.DATA_PROCESSED
    client.set_handle_state(StatefulProcessorHandleState.CLOSED)
    assert (client.sent, client.read) == (7, 7), "all is answered before Spark commits"


@pytest.mark.parametrize("fails", [1, 2, 3])
def test_a_call_that_failed_fails_the_task_before_the_state_is_closed(fails: int) -> None:
    client = Client(fails)
    StateCalls(client)
    client.set_implicit_key((1,))
    client.register_timer(1000)
    with pytest.raises(PySparkRuntimeError, match="no space"):
        client.set_handle_state(StatefulProcessorHandleState.CLOSED)
    assert client.handle_state == StatefulProcessorHandleState.CREATED


def test_no_more_answers_are_left_unread_than_a_socket_holds() -> None:
    """Else Spark and the worker would wait for each other."""
    client = Client()
    StateCalls(client)
    for time in range(1000):
        client.register_timer(time)
        assert client.sent - client.read < 64
