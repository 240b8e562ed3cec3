"""An HTTP server in a thread of this process, for the live page and for Prometheus."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from windrow.errors import InvalidArgument, whole_number

LOCAL = "127.0.0.1"
SLOWEST = 5.0  # seconds that a reader may take to say what it wants, or to take what it gets


class LocalServer:
    """Serves a WSGI application until it is closed; port 0 takes any free one.

    As many as `readers` are served at a time; others are turned away.
    """

    def __init__(
        self,
        application: Callable[[Any, Any], Iterable[bytes]],
        port: int,
        address: str = LOCAL,
        readers: int = 4,
    ) -> None:
        try:
            self._server = _Server(address, whole_number("port", port, least=0), readers)
        except (OSError, OverflowError) as refused:
            raise InvalidArgument(
                f"cannot serve at {address}:{port}: {refused}; another port may be free, and "
                f"port 0 takes any that is"
            ) from refused
        self._server.set_app(application)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.port: int = self._server.server_port

    def close(self) -> None:
        """Give the port back."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(WSGIRequestHandler):
    """Serves one reader, and writes no log."""

    timeout = SLOWEST

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""


class _Server(ThreadingMixIn, WSGIServer):
    """Serves a few readers at a time, and turns others away."""

    daemon_threads = True

    def __init__(self, address: str, port: int, readers: int) -> None:
        self._free = threading.BoundedSemaphore(readers)
        self.address_family = socket.getaddrinfo(address, None)[0][0]
        super().__init__((address, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(timeout=0.2):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Write nothing, if the reader has gone or sleeps."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)
