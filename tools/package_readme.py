"""A hook of hatchling: the README as the page of the package has it, with absolute links.

In a checkout its links are relative; where the repository lies is said by `[project.urls]` alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)(\[[^\]]*\]\()(?![a-z]+:|#)([^)\s]+)")


class PackageReadme(MetadataHookInterface):
    """Gives the project its readme."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the readme to the project's metadata."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        repository = metadata["urls"]["Repository"]
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute(text, repository),
        }


def absolute(text: str, repository: str) -> str:
    """Return a text whose links to files lead to the repository, those of pictures to the file."""

    def link(match: re.Match[str]) -> str:
        view = "raw" if match[1] else "blob"
        return f"{match[1]}{match[2]}{repository}/{view}/main/{match[3]}"

    return LINK.sub(link, text)
