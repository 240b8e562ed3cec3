"""The demo's page: one HTML file with everything in it, that needs no network."""

from __future__ import annotations

from importlib import resources
from typing import Any


def render(**parts: Any) -> str:
    """The page from the template beside this module; every text in `parts` is escaped."""
    from jinja2 import Environment, StrictUndefined

    template = resources.files("windrow.cli.demo").joinpath("page.html.j2").read_text("utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(template).render(**parts) + "\n"
