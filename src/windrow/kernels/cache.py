"""Where generated modules live, so that a second process need not compile.

Numba keeps compiled functions beside the file they come from, under the file's name and time
stamp. So a generated module is written once, under a name made of its content, to a directory of
the user's (`WINDROW_CACHE_DIR`, else the platform's cache directory). It is written under a
private name and renamed: another process sees it whole or not at all. And each of its compiled
functions has exactly one signature: processes that compile it at the same time write the same
thing to the same place, which is why they cannot disturb each other.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import platform
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

_loading = threading.Lock()
# The functions `run` that somebody keeps, by the names of their modules.
loaded: WeakValueDictionary[str, Any] = WeakValueDictionary()


def cache_dir() -> Path:
    """The directory of the generated modules; made if it is not there."""
    chosen = os.environ.get("WINDROW_CACHE_DIR")
    if chosen:
        path = Path(chosen)
    elif sys.platform == "win32":
        path = Path(os.environ.get("LOCALAPPDATA", Path.home())) / "windrow" / "cache"
    else:
        path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "windrow"
    try:
        path.mkdir(parents=True, exist_ok=True)
        if os.access(path, os.W_OK):
            return path
    except OSError:
        pass
    return _fallback()


@functools.cache
def _fallback() -> Path:
    """A directory of this process' own, where the user's cannot be written."""
    return Path(tempfile.mkdtemp(prefix="windrow-"))


@functools.cache
def _environment() -> str:
    """What else the machine code depends on: versions, processor, and the functions it uses."""
    import llvmlite
    import numba
    from llvmlite.binding import get_host_cpu_name

    package = Path(__file__).parent.parent
    used = (  # what generated modules import, and what that takes its constants from
        "kernels/sketch_rows.py", "kernels/moments.py", "kernels/hashing.py", "kernels/atomics.py",
        "aggregations/hashing.py", "aggregations/algebra.py", "aggregations/hyperloglog.py",
        "aggregations/momentsketch.py",
    )  # fmt: skip
    text = "".join((package / name).read_text(encoding="utf-8") for name in used)
    parts = (
        numba.__version__,
        llvmlite.__version__,
        sys.version,
        platform.machine(),
        os.environ.get("NUMBA_CPU_NAME") or get_host_cpu_name(),
        hashlib.sha256(text.encode()).hexdigest(),
    )
    return "\n".join(map(str, parts))


def load(text: str) -> Any:
    """The compiled function `run` of the module whose source is `text`.

    The source is written to the cache if it is not there. Whoever asks for the same text gets the
    same function, as long as somebody keeps it; then it is freed, and the module with it.
    """
    key = hashlib.sha256((_environment() + text).encode()).hexdigest()[:24]
    name = f"windrow_generated_{key}"
    with _loading:
        run = loaded.get(name)
        if run is None:
            path = cache_dir() / f"{name}.py"
            if not path.exists():
                _write(path, text)
            run = loaded[name] = _run_of(name, path)
        return run


def _run_of(name: str, path: Path) -> Any:
    """The function `run` of the module in that file, compiled, and without the module.

    Numba asks `sys.modules` for the module while it compiles. It keeps what a compiled function's
    globals hold for as long as these hold the function itself: for ever, if they are not emptied.
    """
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        return module.run
    finally:
        del sys.modules[name]
        vars(module).clear()


def _write(path: Path, text: str) -> None:
    """Write under a private name, then rename. The time stamp is fixed: Numba's cache asks for it,
    and two processes that write the same text must agree on it."""
    descriptor, private = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    os.utime(private, (1_600_000_000, 1_600_000_000))
    os.replace(private, path)
