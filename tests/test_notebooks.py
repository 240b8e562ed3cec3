"""The notebooks of docs/notebooks: each is run, and gives the outputs that are kept in it.

What it prints and what its last lines show must be the same, tables and drawings included; what
Spark writes to the standard error is left out. To renew them, after a look at what has changed, run

    WINDROW_RENEW=1 pytest tests/test_notebooks.py
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.test_docs import DOCS

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
RENEW = "WINDROW_RENEW"
ON_SPARK = ("features", "smart_plugs")  # half a minute each
KEPT = ("text/plain", "text/html")
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def shown(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell shows: texts that it prints as one, and the value of its last line."""
    printed, values = "", []
    for output in cell.get("outputs", ()):
        if output["output_type"] == "stream":
            printed += "".join(output["text"]) if output["name"] == "stdout" else ""
        else:
            data = {k: "".join(v) for k, v in output["data"].items() if k in KEPT}
            values.append({"output_type": output["output_type"], "data": data})
    first = [{"output_type": "stream", "name": "stdout", "text": printed}] if printed else []
    return [*first, *values]


def read(path: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return notebook


def write(path: Path, notebook: dict[str, Any], outputs: list[list[dict[str, Any]]]) -> None:
    """Put outputs into the cells of code of a notebook, as they are kept in git."""
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell, found in zip(code, outputs, strict=True):
        more: dict[str, Any] = {"metadata": {}, "execution_count": None}
        kept = [o | more if o["output_type"] == "execute_result" else o for o in found]
        cell |= {"outputs": kept, "execution_count": None}
    path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", "utf-8")


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} == {"features", "flights", "smart_plugs"}


@each
def test_a_notebook_is_small_and_names_no_place_of_a_machine(path: Path) -> None:
    notebook = read(path)
    text = path.read_text("utf-8")
    assert path.stat().st_size < 100_000
    assert not re.search(r"/home/|/Users/|/tmp/\w|site-packages", text)
    assert all(cell["execution_count"] is None for cell in notebook["cells"] if "outputs" in cell)
    assert notebook["cells"][0]["source"][0].startswith("# ")
    assert '"output_type": "error"' not in text


@pytest.mark.filterwarnings("default")  # those of Jupyter's own packages
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in ON_SPARK else [])
        for path in NOTEBOOKS
    ],
)
def test_a_notebook_gives_the_outputs_that_it_shows(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient = "spark.python.authenticate.socketTimeout=120s"  # a busy machine starts workers slowly
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--conf {patient} pyspark-shell")
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(path, as_version=4)
    wanted = [shown(cell) for cell in notebook.cells if cell.cell_type == "code"]
    client = nbclient.NotebookClient(
        notebook, timeout=900, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    found = [shown(cell) for cell in notebook.cells if cell.cell_type == "code"]
    if os.environ.get(RENEW):
        write(path, read(path), found)
        return
    assert found == wanted
