"""Queries as they are typed or kept in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow import ArgMax, Count, Max, Mean, Quantile, sliding, sql
from windrow.aggregations.base import Aggregation
from windrow.cli.failures import Usage
from windrow.cli.query import KEYS, from_toml, read_query
from windrow.errors import InvalidArgument

QUERY = "SELECT MAX(load) AS peak FROM plugs [PARTITION BY plug ORDER BY ts RANGE 1 HOUR]"
RESULTS: dict[str, tuple[str, Aggregation]] = {
    "peak": ("MAX(load)", Max("load")),
    "mean": ("avg(load)", Mean("load")),
    "worst": ("ARGMAX(load, ts)", ArgMax("load", "ts")),
    "n": ("COUNT(*)", Count()),
    "p": ("PERCENTILE(load, (0.5, 0.9))", Quantile("load", q=(0.5, 0.9))),
    "my name": ("MAX(load * 2)", Max("load * 2")),
}
WINDOWS: list[dict[str, Any]] = [
    {"rows": 100},
    {"rows": 100, "slide": 10},
    {"rows": "unbounded"},
    {"range": "1 hour", "order_by": "ts"},
    {"range": "90s", "order_by": "ts", "closed": "right"},
    {"range": "1 hour", "slide": "1 minute", "order_by": "ts", "offset": "5 seconds"},
    {"range": 60, "slide": 5, "order_by": ["t"]},
    {"delta": 2.5, "order_by": "load"},
    {"on": "kind = 'end'"},
]


def toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


@given(
    window=st.sampled_from(WINDOWS),
    others=st.fixed_dictionaries(
        {},
        optional={
            "partition_by": st.sampled_from(["a", ["a", "b"]]),
            "lateness": st.just("10 minutes"),
            "where": st.just("load > 0"),
            "emit": st.sampled_from(["istream", "rstream"]),
        },
    ),
    names=st.sets(st.sampled_from(sorted(RESULTS)), min_size=1),
    source=st.none() | st.just("plugs"),
)
def test_toml_holds_the_arguments_of_sliding(
    window: dict[str, Any], others: dict[str, Any], names: set[str], source: str | None
) -> None:
    given = {**window, **others}
    text = "\n".join(f"{name} = {toml(value)}" for name, value in given.items())
    head = "" if source is None else f'from = "{source}"\n'
    results = "\n".join(f'"{name}" = "{RESULTS[name][0]}"' for name in sorted(names))
    query = from_toml(f"{head}{text}\n[results]\n{results}\n")
    assert query == sliding({name: RESULTS[name][1] for name in sorted(names)}, **given)
    assert query.source == source


def test_cql_and_files_give_the_same_query(tmp_path: Path) -> None:
    assert read_query(QUERY) == sql(QUERY)
    for name in ("q.cql", "q.sql", "anything"):
        (tmp_path / name).write_text(QUERY)
        assert read_query(str(tmp_path / name)) == sql(QUERY)
    (tmp_path / "q.toml").write_text(
        'from="plugs"\npartition_by="plug"\norder_by="ts"\nrange="1 hour"\n'
        '[results]\npeak="MAX(load)"'
    )
    assert read_query(str(tmp_path / "q.toml")) == sql(QUERY)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('rnge = "1 hour"', "'rnge' is no argument of a query; did you mean 'range'?"),
        ("rows = 3", "needs [results]"),
        ("rows = 3\nresults = 3", "needs [results]"),
        ("rows = 3\n[results]\npeak = 3", "results.peak=3 must be a call"),
        ('rows = 3\n[results]\npeak = "MAXX(load)"', "did you mean MAX?"),
        ('rows = 3\n[results]\npeak = "MAX(a), MIN(b)"', "results.peak"),
        ('until = "x"\n[results]\npeak = "MAX(load)"', "a function of Python"),
        ('from = 3\nrows = 3\n[results]\npeak = "MAX(load)"', "from=3"),
        ('rows = 0\n[results]\npeak = "MAX(load)"', "rows"),
    ],
)
def test_mistakes_in_a_file_name_the_argument(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidArgument) as told:
        from_toml(text)
    assert message in str(told.value)
    path = tmp_path / "q.toml"
    path.write_text(text)
    with pytest.raises(Usage) as usage:
        read_query(str(path))
    assert str(usage.value).startswith(f"{path}: ") and message in str(usage.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hourly.toml", "there is no file 'hourly.toml'"),
        ("some/where", "there is no file 'some/where'"),
        ("MAX(load)", "a query begins with SELECT"),
        ("", "must be a query"),
    ],
)
def test_what_is_neither_a_query_nor_a_file(text: str, message: str) -> None:
    with pytest.raises(Usage) as told:
        read_query(text)
    assert message in str(told.value)


def test_files_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "q.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(Usage, match="UTF-8"):
        read_query(str(tmp_path / "q.toml"))
    (tmp_path / "q.toml").write_text("rows = = 3")
    with pytest.raises(Usage, match=r"q\.toml: "):
        read_query(str(tmp_path / "q.toml"))


def test_the_example_is_a_query() -> None:
    query = read_query(str(Path(__file__).parents[2] / "examples" / "hourly.toml"))
    assert query.source == "plugs" and query.lateness == "10 minutes"


def test_the_keys_are_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
    section = text.partition("### A query in a file")[2].partition("\n## ")[0]
    for key in KEYS:
        if key != "until":
            assert f"`{key}`" in section or f"[{key}]" in section or f"\n{key} =" in section
