"""Servers of the tests' own: started, stopped and killed by them, on loopback."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any


def free_port() -> int:
    """A port that nothing listens to."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


class RedisServer:
    """A server whose data lie in `folder`; every acknowledged write is on the disk."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("redis-server")
        assert program, "these tests need redis-server: tools/redis installs it"
        self.port = free_port()
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


class PostgresServer:
    """A server whose data lie in `folder`, which is made its user's: it does not run as root."""

    def __init__(self, folder: Path) -> None:
        found = self.programs()
        assert found, "these tests need PostgreSQL: apt-get install postgresql"
        self.folder, self.port, self._programs = folder, free_port(), found
        self._process: subprocess.Popen[bytes] | None = None
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            user = pwd.getpwnam("nobody")
            os.chown(folder, user.pw_uid, user.pw_gid)
            self._user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    @staticmethod
    def programs() -> Path | None:
        """Where the server and its tools are: in Debian's folders, or on PATH; None without."""
        places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)
        on_path = shutil.which("postgres")
        if on_path:
            places.append(Path(on_path).resolve().parent)
        return next((place for place in places if (place / "initdb").exists()), None)

    @property
    def url(self) -> str:
        return f"postgresql://windrow@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        data = self.folder / "data"
        make = ["initdb", "-D", data, "-U", "windrow", "-A", "trust", "-E", "UTF8", "--no-sync"]
        done = self._run(*make, "--locale=C")
        assert done.wait(timeout=120) == 0, self._log()
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "fsync": "off",
            "timezone": "Asia/Tokyo",  # not the tests': what has no zone would be seen
        }
        given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._process = self._run("postgres", "-D", data, "-p", self.port, *given)
        for _ in range(600):
            assert self._process.poll() is None, self._log()
            if self._run("pg_isready", "-h", "127.0.0.1", "-p", self.port).wait(timeout=20) == 0:
                return
            time.sleep(0.1)
        raise AssertionError(self._log())

    def stop(self) -> None:
        """At once, rolling back what is not committed."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=60)
            self._process = None

    def _run(self, program: str, *arguments: Any) -> subprocess.Popen[bytes]:
        command = [str(self._programs / program), *map(str, arguments)]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **self._user)

    def _log(self) -> str:
        return (self.folder / "log").read_text()


def _version(place: Path) -> int:
    name = place.parent.name
    return int(name) if name.isdecimal() else 0
