"""The package as a whole: what importing it costs, and that its parts look one way."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import windrow

ROOT = Path(windrow.__file__).parent
LAYERS = [
    "errors",
    "identity",
    "compiled",
    "vectors",
    "aggregations",
    "stores",
    "algorithms",
    "windows",
    "kernels",
    "queries",
    "tables",
    "pandas",
    "polars",
    "streams",
    "spark",
    "samples",
    "cli",
]


def test_importing_windrow_imports_nothing_heavy() -> None:
    code = (
        "import sys; import windrow; windrow.Max; windrow.aggregator(windrow.Max());"
        "print([m for m in ('numpy', 'numba', 'pandas', 'polars', 'pyarrow', 'pyspark')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


FRAMES = {
    "pandas": "import pandas; frame = pandas.DataFrame(columns)",
    "polars": "import polars; frame = polars.DataFrame(columns)",
    "pyarrow": "import pyarrow; frame = pyarrow.table(columns)",
}


@pytest.mark.parametrize("library", FRAMES)
def test_a_frame_of_one_library_needs_no_other(library: str) -> None:
    """The others cannot be imported; that Arrow looks for pandas by itself does no harm."""
    others = [name for name in ("pandas", "polars", "pyspark", "duckdb") if name != library]
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name in {others}: raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from windrow import ArgMax, Max, Mean, sliding\n"
        "columns = {'key': ['a', 'b', 'a'], 't': [1, 2, 3], 'v': [1.5, None, 2.5]}\n"
        f"{FRAMES[library]}\n"
        "asked = {'high': Max('v'), 'mean': Mean('v'), 'when': ArgMax('v', 't')}\n"
        "for more in ({'rows': 2}, {'range': 2, 'slide': 1}):\n"
        "    made = sliding(asked, partition_by='key', order_by='t', **more)(frame)\n"
        "    assert type(made) is type(frame)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def layer_of(module: str) -> int | None:
    """Where a module stands; None for the package itself."""
    parts = module.split(".")
    return LAYERS.index(parts[1]) if len(parts) > 1 and parts[1] in LAYERS else None


MODULES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_look_down_only(path: Path) -> None:
    """aggregations → algorithms → windows → queries → engines: a module never looks back up."""
    name = ".".join(("windrow", *path.relative_to(ROOT).with_suffix("").parts))
    own = layer_of(name)
    if own is None:
        pytest.skip("the package's front door looks at everything")
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        for imported in names:
            if imported.split(".")[0] == "windrow":
                seen = layer_of(imported)
                assert seen is not None, f"{name} imports {imported}: import from its home"
                assert seen <= own, f"{name} imports {imported}"


def test_every_layer_is_known() -> None:
    inside = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in MODULES}
    assert inside - {"__init__", "__main__"} <= set(LAYERS)


@pytest.mark.parametrize("name", windrow.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(windrow, name).__doc__


def test_unknown_names_are_errors() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Maximum'"):
        windrow.Maximum  # noqa: B018


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_method_of_frames_says_what_is_missing(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"windrow.{library}", raising=False)
    with pytest.raises(TypeError, match=rf"frame.windrow needs {library}: pip install 'windrow\["):
        __import__(f"windrow.{library}")
