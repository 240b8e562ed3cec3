"""The workers' Python is asked, once, before a job would fail in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windrow import Max, sliding
from windrow.spark import interpreter

if sys.platform == "win32":
    pytest.skip("the interpreters are shell scripts", allow_module_level=True)


def python(folder: Path, hidden: str = "", version: str = "") -> str:
    """A Python that lacks a module, or says that it is of another version."""
    before = [f"import sys; sys.modules[{hidden!r}] = None"] if hidden else []
    if version:
        before.append(f"import sys; sys.version_info = {version}")
    code = "; ".join(before)
    path = folder / "python"
    path.write_text(
        f"#!{sys.executable}\nimport sys\nsys.argv = sys.argv[2:]\n{code}\nexec(sys.argv[0])\n"
    )
    path.chmod(0o755)
    return str(path)


def frame(python: str, master: str = "local[2]", streaming: bool = False, **more: Any) -> Any:
    """What the check looks at."""
    fields = {"_python_includes": [], "environment": {}, **more}
    context = SimpleNamespace(pythonExec=python, master=master, **fields)
    return SimpleNamespace(sparkSession=SimpleNamespace(_sc=context), isStreaming=streaming)


def here() -> dict[str, Any]:
    """Where this process finds windrow."""
    return {"environment": {"PYTHONPATH": str(Path(interpreter.__file__).parents[2])}}


def test_a_python_without_windrow_is_refused_with_the_line_to_type(tmp_path: Path) -> None:
    other = python(tmp_path, hidden="windrow")
    with pytest.raises(ImportError, match="which has no windrow: export PYSPARK_PYTHON=") as told:
        interpreter.check_workers(frame(other))
    assert other in str(told.value) and sys.executable in str(told.value)
    with pytest.raises(ImportError, match=r"run 'no-python', and there is none: export PYSPARK"):
        interpreter.check_workers(frame("no-python"))


def test_another_version_of_python_is_refused(tmp_path: Path) -> None:
    other = python(tmp_path, version="(3, 1, 0)")
    with pytest.raises(ImportError, match=r"Python 3\.1 and not 3\.\d+: export PYSPARK_PYTHON="):
        interpreter.check_workers(frame(other))


def test_streams_need_protobuf(tmp_path: Path) -> None:
    other = python(tmp_path, hidden="google")
    interpreter.check_workers(frame(other, **here()))
    with pytest.raises(ImportError, match=r"no protobuf: .*python -m pip install 'windrow\[spark"):
        interpreter.check_workers(frame(other, streaming=True, **here()))


def test_what_cannot_be_known_is_let_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for master in ("spark://host:7077", "yarn", "k8s://host", "local-cluster[2,1,1024]"):
        interpreter.check_workers(frame("no-python", master))
    interpreter.check_workers(frame("no-python", _python_includes=["windrow.zip"]))
    interpreter.check_workers(SimpleNamespace(sparkSession=SimpleNamespace(), isStreaming=False))
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    interpreter.check_workers(frame(str(broken)))
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "17")
    interpreter.check_workers(frame("no-python"))


def test_it_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "_fit", set())
    interpreter.check_workers(frame(sys.executable, **here()))

    def again(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(subprocess, "run", again)
    interpreter.check_workers(frame(sys.executable, **here()))


def test_transform_asks_before_the_job(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", python(tmp_path, hidden="windrow"))
    query = sliding(order_by="id", rows=2, lateness="1 minute", peak=Max("id"))
    rows = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "id")
    for frame_ in (spark.range(3), rows.drop("value")):
        with pytest.raises(ImportError, match="export PYSPARK_PYTHON="):
            frame_.transform(query)
