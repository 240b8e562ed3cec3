"""Hooks of MkDocs: pages from elsewhere, folders in the navigation, the list of aggregations.

Notebooks become pages with the outputs that are kept in them. README.md, CONTRIBUTING.md,
CHANGELOG.md and SECURITY.md are written for a checkout. Here they are pages of the site: links to
`docs/x.md` lead to `x.md`, links to other files to a copy of them.
"""

from __future__ import annotations

import ast
import html
import json
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
ASSETS = ("iframe-worker.js", "site.css")
AGGREGATIONS = "<!-- every aggregation: written by tools/site/pages.py -->"
NOTEBOOKS = "notebooks"
STYLES = re.compile(r"<style.*?</style>", re.DOTALL)  # pandas' own, for Jupyter's tables
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")


def on_config(config: Any) -> Any:
    """Put every file of a folder in the place of `folder/*` in the navigation."""
    config["nav"] = _listed(config["nav"], Path(config["docs_dir"]))
    return config


def _listed(entries: list[Any], docs: Path) -> list[Any]:
    listed: list[Any] = []
    for entry in entries:
        if isinstance(entry, dict):
            listed += [
                {title: _listed(inner, docs) if isinstance(inner, list) else inner}
                for title, inner in entry.items()
            ]
        elif entry.endswith("/*"):
            folder = entry.removesuffix("/*")
            files = [path.name for path in sorted((docs / folder).glob("*.md"))]
            listed += [f"{folder}/{name}" for name in files if f"{folder}/{name}" not in entries]
        else:
            listed.append(entry)
    return listed


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the checkout, the files that they link to, and what lies beside this."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, page, content=_moved(text, "", files, config)))
    for path in sorted(Path(config["docs_dir"], NOTEBOOKS).glob("*.ipynb")):
        content = _notebook(json.loads(path.read_text("utf-8")), path.name)
        files.append(File.generated(config, _page_of(f"{NOTEBOOKS}/{path.name}"), content=content))
    for name in ASSETS:
        text = (Path(__file__).parent / name).read_text("utf-8")
        files.append(File.generated(config, f"assets/{name}", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Let links of a document that leave docs/ lead to their copies; list the aggregations."""
    if page.file.src_uri in PAGES.values():
        return markdown
    if AGGREGATIONS in markdown:
        markdown = markdown.replace(AGGREGATIONS, _entries(set(re.findall(r"::: (\S+)", markdown))))
    folder = posixpath.dirname(page.file.src_uri)
    return _moved(markdown, f"docs/{folder}" if folder else "docs", files, config)


def _page_of(path: str) -> str:
    """Return the page that a notebook becomes; another path as it is."""
    return re.sub(r"\.ipynb$", ".md", path)


def _notebook(notebook: dict[str, Any], name: str) -> str:
    """Return the cells of a notebook as Markdown, with their outputs, and a link to it."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [_output(output) for output in cell.get("outputs", ())]
    parts.insert(1, f'<p><a href="{name}" download>This page as a notebook</a></p>')
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    """Return an output as a block of HTML: what it shows, or else its text."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    shown = STYLES.sub("", "".join(data.get("text/html", ())))
    if not shown:
        shown = f"<pre>{html.escape(''.join(data['text/plain']))}</pre>"
    # a blank line would end the block
    return '<div class="output">' + re.sub(r"\n\s*\n+", "\n", shown).strip() + "</div>"


def _entries(there: set[str]) -> str:
    """Return an entry of the reference for each aggregation that is not there yet."""
    source = ROOT / "src" / "windrow" / "aggregations" / "__init__.py"
    (modules,) = (
        ast.literal_eval(node.value)
        for node in ast.parse(source.read_text("utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MODULES"
    )
    names = sorted(f"windrow.aggregations.{name}" for module in modules.values() for name in module)
    entry = "::: {}\n    options: {{members: false}}\n"
    return "\n".join(entry.format(name) for name in names if name not in there)


def _moved(text: str, folder: str, files: Files, config: Any) -> str:
    """Return a text of `folder` of the checkout with links as the site has them."""
    here = folder.removeprefix("docs").strip("/")

    def place(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[1]))
        if target in PAGES:
            found = PAGES[target]
        elif target.startswith("docs/"):
            found = _page_of(target.removeprefix("docs/"))
        elif (ROOT / target).is_file():
            found = f"files/{target}"
            if files.get_file_from_path(found) is None:
                content = (ROOT / target).read_text("utf-8")
                files.append(File.generated(config, found, content=content))
        else:
            return match[1]  # strict building says that it leads nowhere
        return posixpath.relpath(found, here or ".")

    return LINK.sub(place, text)
