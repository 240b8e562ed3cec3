"""Work in a forked process, which may hang."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable


def in_a_child(work: Callable[[], Iterable[str]], seconds: float = 30) -> list[str]:
    """Return the lines that `work` yields in a forked process, which must end in time."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            lines = "\n".join(work())
        except BaseException as error:
            lines = f"raised {error!r}"
        os.write(write, lines.encode())
        os._exit(0)
    os.close(write)
    deadline = time.monotonic() + seconds
    try:
        while not os.waitpid(child, os.WNOHANG)[0]:
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                raise AssertionError("the forked process hangs")
            time.sleep(0.01)
        with os.fdopen(read, closefd=False) as lines:
            return lines.read().split("\n")
    finally:
        os.close(read)
