"""Streams watched on a page of this machine: rates, times, state, and the newest results of keys.

    from windrow.spark import live_results, live_view

    view = live_view(spark)                  # port=None: 4141, or the next free one; 0: any
    view.url                                 # http://127.0.0.1:4141/; a notebook shows `view`
    results = plugs.transform(query).transform(
        live_results, values=["peak"], partition_by="plug_id", keys=[3, 7], order_by="ts"
    )                                        # optional: the newest results of two plugs, as lines
    results.writeStream.queryName("peaks").….start().awaitTermination()
    view.close()                             # or: with live_view(spark) as view: …

All streams of the session are on the page, each under its `queryName`.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from windrow.errors import InvalidArgument
from windrow.spark.local_server import LOCAL, LocalServer
from windrow.spark.progress import listening
from windrow.spark.progress_history import History

PORT, PORTS = 4141, 10  # the first that is tried, and how many
ABOUT = b"windrow streams"  # by which a page is known
READERS = 16  # each page that is open is one
LOCAL_NAMES = (LOCAL, "localhost", "::1")
_IN_NOTEBOOK = 240  # batches in all, so that a notebook stays small
_ONLY_HERE = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'"
)


def live_view(spark: Any, *, port: int | None = None) -> LiveView:
    """Show all streams of a session on a page of this machine, until the view is closed.

    The page is at `LiveView.url`, and only this machine can read it. `port` 0 takes any free one;
    if none is given, it is 4141 or the next that is free. In a notebook, the view shows itself.
    """
    view = LiveView(port)
    try:
        return view.listen(spark)
    except BaseException:
        view.close()
        raise


class LiveView:
    """A page that shows streams while they run; `with` closes it."""

    def __init__(self, port: int | None = None) -> None:
        self._history = History()
        self._sessions = ExitStack()
        self._server = self._serve(port)
        self._closed = False

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{LOCAL}:{self._server.port}/"

    def listen(self, spark: Any) -> LiveView:
        """Show the streams of this session too."""
        if not hasattr(spark, "streams"):
            raise InvalidArgument(f"spark={spark!r} is no SparkSession")
        self._sessions.enter_context(listening(spark, self._history))
        return self

    def snapshot(self) -> dict[str, Any]:
        """Return what the page shows: the charts, and the figures of each query's batches."""
        return self._history.snapshot()

    def close(self) -> None:
        """Give the port back; a page that is open keeps what it shows."""
        if self._closed:
            return
        self._closed = True
        with suppress(Exception):  # a session that has ended has forgotten its listeners
            self._sessions.close()
        self._history.close()
        self._server.close()

    def __enter__(self) -> LiveView:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<streams at {self.url}{', closed' if self._closed else ''}>"

    def _repr_html_(self) -> str:
        """Return the page as it is now, which updates itself if the browser is on this machine."""
        queries = max(1, len(self.snapshot()["queries"]))
        start = {
            "state": self._history.snapshot(most=max(10, _IN_NOTEBOOK // queries)),
            "events": None if self._closed else f"{self.url}events",
        }
        page = html.escape(page_text(start))
        return (
            f'<iframe srcdoc="{page}" title="Streams" width="100%" height="640" '
            f'style="border: 0"></iframe>'
        )

    def _serve(self, port: int | None) -> LocalServer:
        """Return the server at this port, or at the first free one of those that are tried."""
        if port is not None:
            return LocalServer(self._answer, port, readers=READERS)
        for next_port in range(PORT, PORT + PORTS - 1):
            with suppress(InvalidArgument):
                return LocalServer(self._answer, next_port, readers=READERS)
        return LocalServer(self._answer, PORT + PORTS - 1, readers=READERS)

    def _answer(self, environment: Any, respond: Any) -> Iterable[bytes]:
        """Answer a browser: the page, what it shows, or what comes."""
        # another host's page must not read this one by a name of its own for this machine
        host = urlsplit(f"//{environment.get('HTTP_HOST', '')}").hostname
        origin = environment.get("HTTP_ORIGIN", "")
        headers = [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")]
        if urlsplit(origin).hostname in LOCAL_NAMES:  # a notebook
            headers.append(("Access-Control-Allow-Origin", origin))
        path = environment["PATH_INFO"]
        if host not in LOCAL_NAMES or environment["REQUEST_METHOD"] != "GET":
            respond("403 Forbidden", [*headers, ("Content-Type", "text/plain")])
            return [b"This page is for the machine that it is on."]
        if path == "/":
            page = page_text({"state": None, "events": "events"})
            headers.append(("Content-Security-Policy", _ONLY_HERE))
            respond("200 OK", [*headers, ("Content-Type", "text/html; charset=utf-8")])
            return [page.encode()]
        if path == "/state.json":
            respond("200 OK", [*headers, ("Content-Type", "application/json")])
            return [_json(self.snapshot())]
        if path == "/about":
            respond("200 OK", [*headers, ("Content-Type", "text/plain")])
            return [ABOUT]
        if path == "/events":
            respond("200 OK", [*headers, ("Content-Type", "text/event-stream")])
            return self._events()
        respond("404 Not Found", [*headers, ("Content-Type", "text/plain")])
        return [b"There is /, /state.json, /events and /about."]

    def _events(self) -> Iterator[bytes]:
        """Yield what there is and what comes as server-sent events; a comment if nothing does."""
        for news in self._history.follow():
            yield b":\n\n" if news is None else b"data: " + _json(news) + b"\n\n"


def page_text(start: dict[str, Any]) -> str:
    """Return the page, with what it shows at first and where it gets more."""
    page = _asset("live.html")
    parts = {"style": style(), "script": _asset("live.js"), "start": _json(start).decode()}
    for name, text in parts.items():
        page = page.replace(f"<!-- {name} -->", text)
    return page


def style() -> str:
    """Return the style sheet that the pages of windrow share."""
    return _asset("style.css")


def _asset(name: str) -> str:
    return resources.files("windrow.spark").joinpath("page", name).read_text("utf-8")


def _json(value: Any) -> bytes:
    """Return JSON that may stand in a script of a page as well."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c").encode()
