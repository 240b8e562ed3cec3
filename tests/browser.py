"""A browser that tests look at pages with: found, started, asked by its DevTools protocol."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--enable-logging=stderr")  # fmt: skip


def browser_path() -> str:
    """Where a browser is; without one, a test is skipped."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no browser to look at a page with: apt-get install chromium")
    return found


class Browser:
    """A page in a browser, and what it asked of the network and wrote to the console."""

    def __init__(self, folder: Path, width: int = 1280, dark: bool = False) -> None:
        ask, self._out = os.pipe()
        self._in, answer = os.pipe()
        self._profile = tempfile.mkdtemp(dir=folder)
        options = [*QUIET, f"--user-data-dir={self._profile}", "--remote-debugging-pipe"]
        # the browser listens at 3, and answers at 4
        shell = f'exec "$0" "$@" 3<&{ask} 4>&{answer}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, browser_path(), *options, "about:blank"],
            pass_fds=(ask, answer), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(ask)
        os.close(answer)
        self._number, self._held, self._session = 0, b"", None
        self.requests: list[str] = []
        self.console: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol; what is told in the meantime is noted."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self._number:
                assert "error" not in told, told
                return told["result"]
            self._note(told)

    def open(self, url: str) -> None:
        """Go to a page, and wait until its elements are there."""
        self.call("Page.navigate", url=url)
        self.until("location.href !== 'about:blank' && document.readyState !== 'loading'")

    def resize(self, width: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=False)  # fmt: skip

    def run(self, script: str) -> Any:
        """The value of a script."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def until(self, script: str, seconds: float = 60) -> Any:
        """The value of a script once it is true."""
        deadline = time.monotonic() + seconds
        while not (value := self.run(script)):
            assert time.monotonic() < deadline, script
            time.sleep(0.05)
        return value

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def shot(self, path: Path) -> Path:
        """The whole page as a picture."""
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(taken["data"]))
        return path

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._held:
            more = os.read(self._in, 1 << 16)
            assert more, "the browser has ended"
            self._held += more
        message, _, self._held = self._held.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def _note(self, told: dict[str, Any]) -> None:
        if told["method"] == "Network.requestWillBeSent":
            self.requests.append(told["params"]["request"]["url"])
        if told["method"] in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.console.append(json.dumps(told["params"]))
