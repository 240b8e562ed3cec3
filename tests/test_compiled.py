"""Machine code on disk: found by other processes, made anew when damaged, trusted from no other."""

from __future__ import annotations

import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError

import windrow
from windrow import Max, compiled, rolling
from windrow.identity import digest_of, globals_of

PROGRAM = """
import warnings, sys
import numpy as np
from windrow import aggregation, rolling, Max
SCALE = {scale}
spread = aggregation(
    lift=lambda v: (v * SCALE, v * SCALE),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
)
values = np.random.default_rng(0).normal(size=2000)
results = [rolling(values, spread, rows=50), rolling(values, Max(), rows=50)]
print(*(repr(float(each.sum())) for each in results))
from windrow.compiled import loaded
from windrow.kernels.special.segmented import short_segment_extremes as kernel
print(*(sum(run.stats.cache_hits.values()) for run in (*loaded.values(), kernel)))
"""


def start(cache: Path, first: str = "", scale: int = 3) -> subprocess.Popen[str]:
    environment = {**os.environ, "WINDROW_CACHE_DIR": str(cache), "PYTHONHASHSEED": "random"}
    return subprocess.Popen(
        [sys.executable, "-c", f"{first}\n{PROGRAM.format(scale=scale)}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def finish(process: subprocess.Popen[str]) -> tuple[str, list[int], str]:
    """The results, whether each function came from the disk, and what was told."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    results, hits = out.splitlines()
    return results, [int(hit) for hit in hits.split()], err


def copies(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*.code"))


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A cache that two processes filled at once, and the results."""
    cache = tmp_path_factory.mktemp("cache")
    both = [finish(process) for process in [start(cache), start(cache)]]
    assert len({results for results, _, _ in both}) == 1
    assert sum(sum(hits) for _, hits, _ in both) == 2, "one of them waited for the other's"
    return cache, both[0][0]


def test_the_next_process_compiles_nothing(warm: tuple[Path, str], tmp_path: Path) -> None:
    """Not even in a copy of the directory."""
    cache, expected = warm
    shutil.copytree(cache, tmp_path, dirs_exist_ok=True)
    results, hits, told = finish(start(tmp_path))
    assert (results, hits) == (expected, [1, 1])
    assert [p.name for p in copies(tmp_path)] == [p.name for p in copies(cache)]
    assert not list(cache.rglob("*.lock")) and not list(cache.rglob("*.tmp"))
    assert "compiling" not in told


def test_a_changed_function_is_another_one(warm: tuple[Path, str]) -> None:
    results, hits, _ = finish(start(warm[0], scale=5))
    assert sorted(hits) == [0, 1]
    assert results != warm[1]


def test_a_function_inside_that_is_compiled_otherwise_makes_another_one() -> None:
    def double(x):
        return x + x

    digests = set()
    for inside in compiled.inner(double), compiled.inner(double, apart=True):
        digests.add(digest_of(lambda x, inside=inside: inside(x), into="windrow"))
    assert len(digests) == 2
    assert digest_of(compiled.inner(double)) == digest_of(double)


FACTORY = """
import sys
import numpy as np
from windrow.compiled import compiled, inner

def part_of(step):
    @inner(apart=True)
    def part(values, out):
        for i in range(values.size):
            each = values[i]
            for _ in range(step):
                each = each * 3 + i if each % 2 else each // 2 + step
            out[i] = each
    return part

one, other = part_of(1), part_of(7)

@compiled
def forward(values, out):
    one(values, out)
    other(out, out)

@compiled
def backward(values, out):
    other(values, out)
    one(out, out)

for name in sys.argv[1:]:
    out = np.zeros(9, int)
    globals()[name](np.arange(9), out)
    print(name, *out, sum(globals()[name].stats.cache_hits.values()))
"""


def test_what_processes_compiled_by_themselves_goes_together(tmp_path: Path) -> None:
    """Numba gives functions of one name the same number in each, whichever comes first."""

    def lines(*names: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", FACTORY, *names],
            env={**os.environ, "WINDROW_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    compiled_apart = [line.rsplit(" ", 1)[0] for line in (*lines("forward"), *lines("backward"))]
    loaded_together = [f"{line} 1" for line in compiled_apart]
    assert lines("forward", "backward") == loaded_together
    assert lines("backward", "forward") == loaded_together[::-1]


def test_machine_code_goes_by_what_the_processor_can() -> None:
    """Not by its name alone: a virtual machine may hide instructions."""
    program = "from windrow.compiled import environment; print(environment())"
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": features},
            capture_output=True,
            check=True,
        ).stdout
        for features in ("", "+avx2")
    }
    assert len(told) == 2


def test_nothing_kept_on_disk_is_called_by_what_is_compiled() -> None:
    functions = {}
    for about in pkgutil.walk_packages(windrow.__path__, "windrow."):
        if about.name.startswith(("windrow.kernels", "windrow.windows")):
            module = importlib.import_module(about.name)
            functions |= {id(f): f for f in vars(module).values() if isinstance(f, Dispatcher)}
    assert len(functions) > 200
    for function in functions.values():
        cells = [cell.cell_contents for cell in function.py_func.__closure__ or ()]
        used = cells + [value for _, value in globals_of(function.py_func, "windrow")]
        kept = [f.py_func for f in used if isinstance(getattr(f, "_cache", None), compiled._Copies)]
        assert not kept, f"{function.py_func} calls {kept}, which inner functions may be"


def test_what_is_damaged_is_made_anew_and_told(warm: tuple[Path, str], tmp_path: Path) -> None:
    cache, expected = warm
    copied = tmp_path / "copied"
    for i, path in enumerate(copies(cache)):
        at = copied / path.relative_to(cache)
        at.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        at.write_bytes(b"x" * 40 if i % 2 else path.read_bytes()[:-1])
    results, hits, told = finish(start(copied, "import windrow.compiled as c; c.SILENT = 0.0"))
    assert (results, hits) == (expected, [0, 0])
    assert [p.name for p in copies(copied)] == [p.name for p in copies(cache)]
    assert told.count("windrow: compiling") == 1


def test_where_nothing_can_be_written_it_runs_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(blocked))
    functions = [compiled.compiled(lambda x: x + 1), compiled.compiled(lambda x: x * 3)]
    with pytest.warns(RuntimeWarning, match="cannot be written to.*WINDROW_CACHE_DIR") as caught:
        assert [function(2) for function in functions] == [3, 6]
    assert len(caught) == 1
    assert not any(sum(function.stats.cache_hits.values()) for function in functions)


def test_what_cannot_be_compiled_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path))
    wrong = compiled.compiled(lambda value: value.nothing)
    for _ in range(2):
        with pytest.raises(TypingError):
            wrong(1)
    assert not list(tmp_path.rglob("*.lock"))


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_a_directory_that_others_can_write_to_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path / "private"))
    own = compiled.cache_dir()
    assert own is not None and own.stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path / "shared"))
    shared = tmp_path / "shared" / own.name
    shared.mkdir(parents=True)
    shared.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="others may write to"):
        assert compiled.cache_dir() is None
    assert rolling(np.array([1.0, 2.0]), Max(), rows=2).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("variable", ["WINDROW_CACHE_DIR", "XDG_CACHE_HOME"])
def test_where_the_cache_is(variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WINDROW_CACHE_DIR", raising=False)
    monkeypatch.setenv(variable, str(tmp_path / "here"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        where = compiled.cache_dir()
    assert where is not None and where.is_dir() and where.parent == tmp_path / "here"
