"""Calls of Spark's state that a worker sends without waiting for each answer.

    worker    put  put  remove  timer  get ──────── waits ──┐
    Spark          done done    done   done  value ◀────────┘

Spark's client waits after every call, and a step of a stream makes some 18. Most answers say only
that it was done: those are read before the next answer that counts, and all of them before the
state is closed. So Spark works on the calls while the worker goes on, and a call that failed still
fails the task, before anything is committed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from pyspark.errors import PySparkRuntimeError
from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorHandleState

_RECEIVE = "_receive_proto_message"
# Calls of Spark's client whose answer says that they are done, and nothing else.
_WITHOUT_VALUE = (
    "get_map_state",
    "set_implicit_key",
    "remove_implicit_key",
    "register_timer",
    "delete_timer",
    "set_handle_state",
)
_DONE = (0, "", b"")
# So many answers are left unread at most: where a socket is full of them, Spark would wait for the
# worker, which waits for Spark to take its next call.
_MOST = 64


class StateCalls:
    """The answers of one task's client that are still to be read."""

    def __init__(self, client: Any) -> None:
        """Let the client's calls without a value be sent ahead; with no client, none are."""
        self._unread, self._ahead = 0, False
        if client is None:
            return
        self._receive: Callable[[], Any] = getattr(client, _RECEIVE)
        for name in dir(client):
            if name.startswith(_RECEIVE):
                setattr(client, name, self._after_unread(getattr(client, name)))
        for name in _WITHOUT_VALUE:
            setattr(client, name, self.ahead(getattr(client, name)))

    def ahead(self, call: Callable[..., None]) -> Callable[..., None]:
        """Return a call without a value, for whose answer nobody waits."""

        @wraps(call)
        def send(*arguments: Any) -> None:
            self._ahead = StatefulProcessorHandleState.CLOSED not in arguments
            try:
                call(*arguments)
            finally:
                self._ahead = False

        return send

    def _after_unread(self, receive: Callable[[], Any]) -> Callable[[], Any]:
        """Return what reads an answer behind those that are unread, if it is waited for."""

        def read() -> Any:
            if not self._ahead:
                self._read_all()
                return receive()
            self._unread += 1
            if self._unread == _MOST:
                self._read_all()
            return _DONE

        return read

    def _read_all(self) -> None:
        """Read what is unread, and raise an error if a call failed."""
        while self._unread:
            self._unread -= 1
            status, problem, _ = self._receive()
            if status != 0:
                raise PySparkRuntimeError(f"Spark could not change the state: {problem}")
