"""Put the tables of `windrow bench peers` into README.md: `python -m benchmarks.readme FOLDER`.

The folder is that of the run; each of its readme-*.md goes between the marks of its name, where
README has them.
"""

from __future__ import annotations

import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
BEGIN = "<!-- benchmark {}: begin (written by `make bench`) -->\n"
END = "<!-- benchmark {}: end -->\n"
PLACES = {
    "arrays": "table",
    "tables": "of tables",
    "spark": "of spark",
    "streaming": "of streaming",
}


def placed(text: str, kind: str, table: str) -> str:
    """README with the table in its place; as it was where there is none."""
    begin, end = (mark.format(PLACES[kind]) for mark in (BEGIN, END))
    before, mark, rest = text.partition(begin)
    return f"{before}{begin}{table}{end}{rest.split(end)[1]}" if mark else text


def main(folder: str) -> int:
    text = README.read_text(encoding="utf-8")
    for kind in PLACES:
        made = Path(folder) / f"readme-{kind}.md"
        if made.exists():
            text = placed(text, kind, made.read_text(encoding="utf-8"))
    README.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
