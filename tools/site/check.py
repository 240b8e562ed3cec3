"""Checks a site that was built: links lead somewhere, nothing comes from elsewhere, search works.

``python tools/site/check.py build/site`` prints what is wrong, and fails if anything is.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
NOT_FETCHED = ("canonical", "prev", "next", "alternate")  # kinds of <link> that load nothing
IN_STYLES = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")
ASKED = "median"


class Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.quotes = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element links to, loads, or is called."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.quotes += tag == "blockquote"
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        loads = tag in FETCHED and given.get("rel", "") not in NOT_FETCHED
        if loads and FETCHED[tag] in given:
            self.fetched.append(given[FETCHED[tag]])


def problems(site: Path) -> Iterator[str]:
    """Yield what is wrong with a site, each a line."""
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    if not pages:
        yield f"{site} has no pages"
        return
    for path, page in pages.items():
        here = path.relative_to(site)
        for url in page.fetched:
            if urlsplit(url).netloc:
                yield f"{here} loads {url}"
        if path.name != "404.html":  # its links begin at the root of a server
            for url in (*page.links, *page.fetched):
                yield from (f"{here}: {wrong}" for wrong in _dead(url, path, pages))
        if here.parts[0] == "reference" and page.quotes:
            yield f"{here} has quotations: an example of a docstring is no block of code"
    for path in sorted(site.rglob("*.css")):
        for url in IN_STYLES.findall(path.read_text("utf-8")):
            yield f"{path.relative_to(site)} loads {url}"
    yield from _not_found(site)


def _dead(url: str, path: Path, pages: dict[Path, Page]) -> Iterator[str]:
    parts = urlsplit(url)
    if parts.scheme or parts.netloc:
        return
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        yield f"{url} leads nowhere"
        return
    there = pages[target].anchors if target in pages else {parts.fragment}
    if parts.fragment and unquote(parts.fragment) not in there:
        yield f"{url} has no such place"


def _not_found(site: Path) -> Iterator[str]:
    """Ask the search for a word: its index, and a browser if there is one, from the files."""
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    if not any(ASKED in entry["text"].lower() for entry in index["docs"]):
        yield f"the search does not know {ASKED!r}"
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("no browser to try the search with", file=sys.stderr)
        return
    page = (site / "index.html").resolve().as_uri() + f"?q={ASKED}"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
    shown = subprocess.run(
        [browser, *options, "--dump-dom", page], capture_output=True, text=True, timeout=120
    ).stdout
    if 'class="md-search-result__item"' not in shown:
        yield f"the search shows nothing for {ASKED!r} when the site is opened as files"


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1]).resolve()))
    print(*found, sep="\n", file=sys.stderr)
    sys.exit(bool(found))
