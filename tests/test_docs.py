"""The documents say what the code does: their tables are compared with it, their examples run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from tests.catalogue import CLASSES
from windrow import Count, LongestRun, Max
from windrow.aggregations.base import Aggregation
from windrow.algorithms import ALGORITHMS, algorithm_class

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CARDS = DOCS / "algorithms"

ROWS = [
    "`algorithm=`",
    "Ordering of the window",
    "Requires of the aggregation",
    "Insert",
    "Evict",
    "Evict k at once",
    "Query",
    "Space",
    "First appeared",
]
PARTS = ["How it works", "When to choose it", "Where it differs from the paper", "Try it"]
OPTIONAL = "Where it differs from the paper"
YES = {True: "yes", False: "no"}

every_algorithm = pytest.mark.parametrize("name", ALGORITHMS)


def tables(text: str) -> list[list[list[str]]]:
    """The tables of a document: rows of cells, the header first."""
    found: list[list[list[str]]] = []
    inside = False
    for line in text.splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        if not inside:
            found.append([])
            inside = True
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            found[-1].append(cells)
    return found


def table(path: Path, first: str) -> dict[str, dict[str, str]]:
    """The table whose first header is `first`, by its first column and by header."""
    for header, *rows in tables(path.read_text("utf-8")):
        if header[0] == first:
            return {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    raise AssertionError(f"{path} has no table that begins with {first!r}")


def card(name: str) -> str:
    return (CARDS / f"{name}.md").read_text("utf-8")


def facts(name: str) -> dict[str, str]:
    """The table at the top of a card."""
    return {row[0]: row[1] for row in tables(card(name))[0] if row[0]}


def needs(name: str) -> tuple[bool, bool, bool]:
    """What an algorithm supports: an inverse, a selective ⊕, or neither."""
    supports = algorithm_class(name).supports
    return supports(Count()), supports(Max()), supports(LongestRun())


# -- the cards -------------------------------------------------------------------------------


@every_algorithm
def test_every_algorithm_has_a_card_with_all_parts(name: str) -> None:
    text = card(name)
    title, blank, summary, *_ = text.splitlines()
    assert title.startswith(f"# {algorithm_class(name).full_name}"), title
    assert blank == ""
    assert re.fullmatch(r"[^|].*\.", summary), "one sentence comes before the table"
    assert list(facts(name)) == ROWS
    assert all(facts(name).values())
    parts = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert parts == [part for part in PARTS if part != OPTIONAL or OPTIONAL in parts]
    assert "\n```\n" in text.partition("## How it works")[2].partition("## ")[0], "a drawing"
    assert ">>> " in text.partition("## Try it")[2]


@every_algorithm
def test_a_card_states_what_its_class_does(name: str) -> None:
    cls = algorithm_class(name)
    fact = facts(name)
    assert fact["`algorithm=`"] == f'`"{name}"`'
    assert fact["Ordering of the window"] == ("any" if cls.out_of_order else "FIFO")
    assert ("whatever k" in fact["Evict k at once"]) == cls.bulk_evict
    assert bool(re.search(r"query\(last=|queries\(", card(name))) == cls.several_ranges
    wanted = {
        (True, True, True): "an associative ⊕",
        (True, False, False): "an inverse",
        (True, True, False): "a selective ⊕, or an inverse",
    }
    assert fact["Requires of the aggregation"].startswith(wanted[needs(name)])


def test_there_are_no_other_cards() -> None:
    assert {path.stem for path in CARDS.glob("*.md")} == {*ALGORITHMS, "README"}


# -- the comparison --------------------------------------------------------------------------


@every_algorithm
def test_the_comparison_agrees_with_the_classes(name: str) -> None:
    cls = algorithm_class(name)
    rows = table(CARDS / "README.md", "algorithm")
    assert list(rows) == [f"[{other}]({other}.md)" for other in ALGORITHMS]
    row = rows[f"[{name}]({name}.md)"]
    assert row["several ranges"] == YES[cls.several_ranges]
    assert row["bulk evict"] == YES[cls.bulk_evict]
    assert row["out of order"] == YES[cls.out_of_order]
    assert row["ordering"] == ("any" if cls.out_of_order else "FIFO")
    wanted = {
        (True, True, True): "⊕",
        (True, False, False): "inverse",
        (True, True, False): "selective or inverse",
    }
    assert row["needs"] == wanted[needs(name)]


@pytest.mark.parametrize(
    "flag",
    [
        "needs_inverse",
        "out_of_order",
        "keeps_times",
        "bulk_evict",
        "several_ranges",
    ],
)
def test_the_capability_words_are_explained(flag: str) -> None:
    assert f"- `{flag}`: " in (CARDS / "README.md").read_text("utf-8")


# -- the aggregations ------------------------------------------------------------------------


def aggregation_rows() -> dict[str, dict[str, str]]:
    """The rows of the table of aggregations, by the class's name."""
    rows = table(DOCS / "aggregations.md", "aggregation")
    return {first.strip("`").partition("(")[0]: row for first, row in rows.items()}


def test_the_aggregations_are_all_there() -> None:
    assert sorted(aggregation_rows()) == sorted(cls.__name__ for cls in CLASSES)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_the_algebra_agrees_with_the_instances(cls: type[Aggregation]) -> None:
    row = aggregation_rows()[cls.__name__]
    for example in cls.examples():
        stated = {
            "commutative": example.commutative,
            "invertible": example.invertible,
            "selective": example.selective,
            "exact": example.exact,
            "exact on integers": example.exact_on_integers,
            "bounded": example.bounded,
        }
        assert {word: row[word] for word in stated} == {w: YES[f] for w, f in stated.items()}


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_what_it_takes_agrees_with_the_class(cls: type[Aggregation]) -> None:
    words = {
        "any": "anything",
        "hashable": "hashable values",
        "number": "numbers",
        "integer": "integers",
        "boolean": "booleans",
        "summable": "numbers",
        "measurable": "ordered values with a difference",
        "ordered": "ordered values",
        "text": "strings",
        "number or text": "numbers or text",
        "timed": "pairs (",
        "ordered pair": "pairs (",
        "number pair": "pairs (",
    }
    assert aggregation_rows()[cls.__name__]["takes"].startswith(words[cls.takes])


# -- examples and links ----------------------------------------------------------------------

DOCUMENTS = [*sorted(DOCS.rglob("*.md")), *sorted(ROOT.glob("*.md"))]
every_document = pytest.mark.parametrize(
    "path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT))
)


@every_document
def test_the_examples_run(path: Path) -> None:
    """Each ```python block with a prompt, on its own: a reader may copy any of them."""
    text = path.read_text("utf-8")
    blocks = [
        block
        for block in re.finditer(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
        if ">>> " in block[1]
    ]
    if not blocks:
        pytest.skip("it has no examples")
    for block in blocks:
        line = text.count("\n", 0, block.start(1))
        name = f"{path.relative_to(ROOT)}:{line + 1}"
        example = doctest.DocTestParser().get_doctest(block[1], {}, name, str(path), line)
        report: list[str] = []
        doctest.DocTestRunner().run(example, out=report.append)
        assert not report, "".join(report)


@every_document
def test_the_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text("utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target
