"""The site's pages: complete, and true of the code. `make docs` builds it and checks its links."""

from __future__ import annotations

import ast
import importlib.util
import pkgutil
import re
import tomllib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import windrow
from tests.test_docs import CARDS, DOCS, ROOT, tables
from windrow.aggregations import MODULES
from windrow.aggregations.base import Aggregation
from windrow.errors import WindrowError

NAV = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
CODE = re.compile(r"`([^`]+)`")


def tool(name: str) -> ModuleType:
    """A program of tools/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- navigation and reference ----------------------------------------------------------------


def test_every_page_is_in_the_navigation() -> None:
    named = set(re.findall(r"[\w/]+\.md", NAV))
    folders = re.findall(r"(\w+)/\*", NAV)
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    pages |= {f"notebooks/{path.stem}.md" for path in (DOCS / "notebooks").glob("*.ipynb")}
    listed = {page for page in pages if page.split("/")[0] in folders}
    elsewhere = {"index.md", "contributing.md", "changelog.md", "security.md"}
    assert named - elsewhere <= pages
    assert pages == (named | listed) - elsewhere


def test_every_public_name_is_in_the_reference() -> None:
    text = "\n".join(path.read_text("utf-8") for path in (DOCS / "reference").glob("*.md"))
    there = set(re.findall(r"^::: windrow\.(\w+)$", text, flags=re.MULTILINE))
    there |= set(re.findall(r"heading: (\w+)", text))
    assert "<!-- every aggregation: written by tools/site/pages.py -->" in text
    there |= {name for names in MODULES.values() for name in names}
    assert set(windrow.__all__) <= there
    for path in re.findall(r"^::: ([\w.]+)$", text, flags=re.MULTILINE):
        home, _, name = path.rpartition(".")
        assert getattr(importlib.import_module(home), name).__doc__, path


@pytest.mark.parametrize(
    "path", [*sorted(DOCS.glob("*.md")), CARDS / "README.md"], ids=lambda p: p.name
)
def test_the_operator_is_defined_where_it_is_first_used(path: Path) -> None:
    paragraphs = path.read_text("utf-8").split("\n\n")
    first = next((text for text in paragraphs if "⊕" in text), "`combine`")
    assert "`combine`" in first


def test_the_walk_of_a_row_goes_through_modules_that_are_there() -> None:
    text = (DOCS / "architecture.md").read_text("utf-8").partition("## The walk of a row")[2]
    named = set(re.findall(r"^ +([a-z]+/[a-z_]+)\b", text, flags=re.MULTILINE))
    package = Path(windrow.__file__).parent
    assert len(named) > 20
    gone = [n for n in named if not any((package / f"{n}{end}").exists() for end in ("", ".py"))]
    assert gone == []


# -- what other libraries call it ------------------------------------------------------------


def cells() -> list[tuple[str, str]]:
    """The code in the last column of tables that end with windrow's words, with its page."""
    found = []
    for path in sorted((DOCS / "coming_from").glob("*.md")):
        for header, *rows in tables(path.read_text("utf-8")):
            if header[-1] == "windrow":
                codes = [CODE.search(row[-1]) for row in rows]
                found += [(path.stem, code[1]) for code in codes if code]
    return found


@pytest.mark.parametrize(("page", "code"), cells(), ids=lambda text: text)
def test_what_stands_beside_another_library_s_words_is_taken(page: str, code: str) -> None:
    names: dict[str, Any] = {name: getattr(windrow, name) for name in windrow.__all__}
    names |= {"query": windrow.sliding(order_by="ts", range=1, peak=windrow.Max("load"))}
    try:
        call = ast.parse(f"dict({code})", mode="eval").body
        arguments = isinstance(call, ast.Call) and bool(call.keywords) and not call.args
    except SyntaxError:
        arguments = False
    if not arguments:
        if "/" in code:  # what is computed with results
            return
        assert eval(code, names) is not None
        return
    given: dict[str, Any] = eval(f"dict({code})", names)
    results = any(isinstance(value, Aggregation) for value in given.values())
    more = {"order_by": "ts"} | ({} if results else {"peak": windrow.Max("load")})
    assert windrow.sliding(**(more | given)).explain()


# -- troubleshooting -------------------------------------------------------------------------

TROUBLES = (DOCS / "troubleshooting.md").read_text("utf-8")


def every_module() -> None:
    for module in pkgutil.walk_packages(windrow.__path__, "windrow."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def public(cls: type) -> list[type]:
    """The public classes of a tree that lie in the package."""
    below = [found for sub in cls.__subclasses__() for found in public(sub)]
    mine = cls.__module__.startswith("windrow.") and not cls.__name__.startswith("_")
    return [cls, *below] if mine else below


def test_every_error_and_warning_is_explained() -> None:
    every_module()
    internal = {"NotEmbeddable", "Usage"}  # caught before they reach a user of the library
    names = {cls.__name__ for cls in (*public(WindrowError), *public(UserWarning))} - internal
    assert names >= {"InvalidArgument", "CorruptValue", "LateWarning"}
    assert [name for name in sorted(names) if name not in TROUBLES] == []


@cache
def told() -> str:
    """All texts of the source: constants, and the parts of those with fields."""
    texts = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return "\0".join(texts)


def messages() -> list[str]:
    """What the tables of messages show of each."""
    found = []
    for header, *rows in tables(TROUBLES):
        if "message" in header[0]:
            found += [code for row in rows for code in CODE.findall(row[0])]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("message", messages())
def test_messages_are_those_of_the_code(message: str) -> None:
    if message in ("ImportError", "PYSPARK_PYTHON"):
        return
    assert message in told() or message in {cls.__name__ for cls in public(WindrowError)}


# -- the tools -------------------------------------------------------------------------------


def test_the_package_s_page_has_absolute_links() -> None:
    pytest.importorskip("hatchling")
    absolute = tool("package_readme").absolute
    text = "[a](docs/a.md#b) ![p](docs/p.svg) [c](https://c.d/e) [f](#g)"
    assert absolute(text, "https://x.y") == (
        "[a](https://x.y/blob/main/docs/a.md#b) ![p](https://x.y/raw/main/docs/p.svg) "
        "[c](https://c.d/e) [f](#g)"
    )
    readme = absolute((ROOT / "README.md").read_text("utf-8"), "https://x.y")
    assert not re.search(r"\]\((?!https?://|#)", readme)


def test_a_bad_site_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = tool("site/check")
    monkeypatch.setattr(check, "BROWSERS", ())
    (tmp_path / "search").mkdir()
    (tmp_path / "reference").mkdir()
    index = tmp_path / "search" / "search_index.json"
    index.write_text('{"docs": [{"text": "the Median of a window"}]}')
    good = '<a href="b.html#there">b</a><a href="https://else.where/">e</a>'
    (tmp_path / "a.html").write_text(good)
    (tmp_path / "b.html").write_text('<h2 id="there">b</h2>')
    assert list(check.problems(tmp_path)) == []
    (tmp_path / "a.html").write_text(
        '<script src="https://else.where/a.js"></script><a href="b.html#nowhere">b</a>'
        '<a href="gone.html">g</a>'
    )
    (tmp_path / "reference" / "c.html").write_text("<blockquote>&gt;&gt; 1</blockquote>")
    (tmp_path / "d.css").write_text("@import 'https://else.where/font.css';")
    index.write_text('{"docs": []}')
    assert list(check.problems(tmp_path)) == [
        "a.html loads https://else.where/a.js",
        "a.html: b.html#nowhere has no such place",
        "a.html: gone.html leads nowhere",
        "reference/c.html has quotations: an example of a docstring is no block of code",
        "d.css loads https://else.where/font.css",
        "the search does not know 'median'",
    ]


def test_examples_of_the_release_are_those_without_spark() -> None:
    blocks = tool("release_check").examples((ROOT / "README.md").read_text("utf-8"))
    assert len(blocks) >= 4 and not any("spark" in block for block in blocks)


# -- the package's papers --------------------------------------------------------------------


def test_all_is_every_extra_of_a_user() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(re.findall(r"[\w-]+", everything.partition("[")[2]))
    assert named == set(extras) - {"all", "test", "bench"}
    readme = (ROOT / "README.md").read_text("utf-8")
    table = readme.partition("| you use | install |")[2].partition("\n\n")[0]
    assert all(f"[{extra}]" in table for extra in (*named, "all"))


def test_the_papers_are_cited_as_the_documents_name_them() -> None:
    cited = (ROOT / "CITATION.cff").read_text("utf-8").partition("references:")[2]
    titles = re.findall(r'^    title: "(.+)"$', cited, flags=re.MULTILINE)
    names = re.findall(r"family-names: ([\w-]+)", cited)
    papers = (DOCS / "papers.md").read_text("utf-8")
    assert len(titles) == 5
    assert [text for text in (*titles, *names) if text not in papers] == []
