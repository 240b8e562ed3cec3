"""Each extra by itself: installed from the wheel into a new environment, it runs its documents.

`make test-extras` runs this alone; it takes minutes, most of them for installing.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.spark.conftest import SETTINGS
from tests.stores.servers import RedisServer

ROOT = Path(__file__).parent.parent
EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))[
    "project"
]["optional-dependencies"]
NONE = "none"
# A small and patient Spark: a busy machine starts workers slowly.
PATIENT = " ".join(f"--conf {name}={value}" for name, value in SETTINGS.items()) + " pyspark-shell"
# What a document asks for beside the extra: metrics are those of a stream on Spark, and the
# benchmarks are a command.
BESIDE = {"metrics": ("spark",), "bench": ("cli",)}

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("extras")]


# -- what the documents show ---------------------------------------------------------------------


def blocks(document: str, kind: str = "python", *, having: str = "") -> list[str]:
    """The blocks of a kind in a document that have a word in them."""
    text = (ROOT / document).read_text("utf-8")
    found = re.findall(rf"^```{kind}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [block for block in found if having in block]


def without(block: str, *names: str) -> str:
    """A block of examples less those that name one of these."""
    examples = re.split(r"^(?=>>> )", block, flags=re.MULTILINE)
    return "".join(each for each in examples if not any(name in each for name in names))


FRAMES = {"polars": ("polars", "pl."), "pandas": ("pandas", "pd."), "arrow": ("pyarrow", "pa.")}


def frames(kind: str) -> list[str]:
    """The README's example for one library of frames."""
    others = [word for other, words in FRAMES.items() if other != kind for word in words]
    return [without(block, *others) for block in blocks("README.md", having="hourly(pl.")]


def stores(kind: str) -> list[str]:
    """The example of the stores with another one: they are exchanged by their names."""
    return [
        block.replace("RocksStore(folder)", kind).replace("RocksStore", kind.partition("(")[0])
        for block in blocks("docs/stores.md", having="RocksStore(folder)")
    ]


def on_spark(meanwhile: str = "query.processAllAvailable()\nquery.stop()") -> str:
    """A program of the README's examples on Spark, with data where they look for it."""
    batch, stream = blocks("README.md", having="spark")
    (shown,) = blocks("README.md", "text", having="|plug|load|")
    return f"""
import contextlib, io, os
with contextlib.redirect_stdout(io.StringIO()) as told:
    exec({batch!r}, globals())
assert told.getvalue().strip() == {shown.strip()!r}, told.getvalue()
if "SPARK_REMOTE" not in os.environ:  # the server of a test would have a folder of its own
    plugs.write.parquet("plugs/")
    exec({stream!r}, globals())
    exec({meanwhile!r}, globals())
    assert spark.read.parquet("peaks/").count() == 3  # the watermark has not passed the newest
spark.stop()
"""


# -- environments --------------------------------------------------------------------------------


class Environment:
    """A new environment with windrow and some of its extras."""

    def __init__(self, folder: Path, wheel: Path, extras: list[str]) -> None:
        self.folder, self.bin = folder, folder / "environment" / "bin"
        self.python = self.bin / "python"
        run([sys.executable, "-m", "venv", "--without-pip", folder / "environment"], folder)
        wanted = f"windrow[{','.join(extras)}] @ {wheel.as_uri()}"
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            self.python,
            "install",
            "-q",
            "--no-compile",
        ]
        run([*pip, "--disable-pip-version-check", wanted], folder)

    def examples(self, *texts: str) -> None:
        """Run examples with prompts."""
        for text in texts:
            assert ">>> " in text
            self.program(
                "import doctest, sys\n"
                f"test = doctest.DocTestParser().get_doctest({text!r}, {{}}, 'example', None, 0)\n"
                "sys.exit(doctest.DocTestRunner().run(test).failed)"
            )

    def program(self, text: str, **environment: str) -> None:
        """Run a program away from the checkout, so that only what is installed is found."""
        run([self.python, "-I", "-c", text], self.folder, **environment)

    def command(self, line: str) -> str:
        """Run a command of the shell."""
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        return run(["bash", "-ec", line], self.folder, PATH=path)


def run(command: list[str | Path], folder: Path, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    # Spark's workers run `python3` from PATH unless told otherwise.
    here = {"PYSPARK_PYTHON": str(command[0]), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=kept | here | environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    run([*pip, "--disable-pip-version-check", "-w", folder, ROOT], folder)
    (made,) = folder.glob("*.whl")
    return made


# -- the tests -----------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", [NONE, *EXTRAS])
def test_an_extra_brings_all_that_its_documents_use(
    extra: str, wheel: Path, tmp_path: Path
) -> None:
    beside = BESIDE.get(extra, ())
    environment = Environment(tmp_path, wheel, [e for e in (extra, *beside) if e != NONE])
    RUN[extra](environment)


def run_arrays(environment: Environment) -> None:
    for word in ("rolling(", "window(", "aggregator("):
        environment.examples(*blocks("README.md", having=word))


def run_sql(environment: Environment) -> None:
    environment.examples(*blocks("README.md", having="import sql"))


def run_redis(environment: Environment) -> None:
    server = RedisServer(environment.folder)
    server.start()
    try:
        environment.examples(*stores(f'RedisStore("{server.url}")'))
    finally:
        server.stop()


def run_metrics(environment: Environment) -> None:
    """The example of the metrics, with a look at them while they are served."""
    (shown,) = blocks("docs/streaming.md", having="prometheus_metrics")
    look = (
        "query.processAllAvailable()\n"
        "    told = __import__('urllib.request').request.urlopen('http://127.0.0.1:9108/metrics')\n"
        "    assert b'windrow' in told.read()\n"
        "query.stop()"
    )
    served = shown.replace("query.awaitTermination()", look)
    environment.program(on_spark(served), PYSPARK_SUBMIT_ARGS=PATIENT)


def run_cli(environment: Environment) -> None:
    """The README's query, in one process: Spark is another extra."""
    (environment.folder / "plugs.csv").write_text(
        "plug,ts,load\na,2026-01-05T10:00:00,3.0\na,2026-01-05T10:40:00,2.0\n", "utf-8"
    )
    (shown,) = blocks("README.md", "console", having="windrow run")
    command = shown.replace("\\\n", " ").splitlines()[0].removeprefix("$ ")
    environment.command(f"{command} --local")
    assert (environment.folder / "peaks.parquet").exists()
    told = json.loads(environment.command("windrow algorithms --json"))
    assert told, "the cards are in the wheel"


def run_all(environment: Environment) -> None:
    """What each of the other extras shows, those that need a server left out."""
    run_arrays(environment)
    run_sql(environment)
    run_cli(environment)
    environment.examples(*blocks("README.md", having="hourly(pl."))
    environment.examples(*stores("RocksStore(folder)"), *stores("LmdbStore(folder)"))
    environment.program("import prometheus_client, redis, pyspark.sql.connect.session")


def run_test(environment: Environment) -> None:
    """Every test can be collected, and some of them run."""
    pytest_ = f"cd {ROOT} && {environment.python} -m pytest -q -p no:cacheprovider"
    environment.command(f"{pytest_} --collect-only tests bench >/dev/null")
    environment.command(f"{pytest_} tests/test_identity.py tests/windows/test_push_refusals.py")


def run_bench(environment: Environment) -> None:
    where = environment.folder / "report"
    environment.command(
        f"cd {ROOT} && {environment.python} -m bench peers --only arrays --quick --seconds 20 "
        f"--largest 1024 --output {where}"
    )
    report = (where / "report.md").read_text("utf-8")
    assert "not installed" not in report


RUN = {
    NONE: run_arrays,
    "arrow": lambda environment: environment.examples(*frames("arrow")),
    "pandas": lambda environment: environment.examples(*frames("pandas")),
    "polars": lambda environment: environment.examples(*frames("polars")),
    "spark": lambda environment: environment.program(on_spark(), PYSPARK_SUBMIT_ARGS=PATIENT),
    "spark-connect": lambda environment: environment.program(on_spark(), SPARK_REMOTE="local[2]"),
    "sql": run_sql,
    "rocksdb": lambda environment: environment.examples(*stores("RocksStore(folder)")),
    "lmdb": lambda environment: environment.examples(*stores("LmdbStore(folder)")),
    "redis": run_redis,
    "sketches": lambda environment: environment.examples(
        *blocks("docs/aggregations.md", having="import KLL")
    ),
    "metrics": run_metrics,
    "plot": lambda environment: environment.examples(
        *[
            b.replace("pd.DataFrame", "pa.table").replace("pandas as pd", "pyarrow as pa")
            for b in blocks("docs/tables.md", having="hourly.plot(")
        ]
    ),
    "cli": run_cli,
    "all": run_all,
    "test": run_test,
    "bench": run_bench,
}
