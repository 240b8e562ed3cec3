"""A Redis server of the tests' own: started, stopped and killed by them, on loopback."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path


class RedisServer:
    """A server whose data lie in `folder`; every acknowledged write is on the disk."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("redis-server")
        assert program, "these tests need redis-server: tools/redis installs it"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = folder
        options = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(folder),
            "save": "",
            "appendonly": "yes",
            "appendfsync": "always",
        }
        self._command = [program]
        for name, value in options.items():
            self._command += [f"--{name}", value]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        for _ in range(500):
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1) as line:
                    line.sendall(b"PING\r\n")
                    if line.recv(16).startswith(b"+PONG"):
                        return
            except OSError:
                assert self._process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.02)
        raise AssertionError((self.folder / "log").read_text())

    def stop(self) -> None:
        """In order: it finishes what it has begun."""
        self._end("terminate")

    def kill(self) -> None:
        """At once, whatever it does."""
        self._end("kill")

    def _end(self, how: str) -> None:
        if self._process is not None:
            getattr(self._process, how)()
            self._process.wait(timeout=20)
            self._process = None
