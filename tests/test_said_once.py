"""Each idea is said once: what engines may not ask, looked for in the source itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import windrow.aggregations
from windrow.aggregations.base import Aggregation
from windrow.aggregations.custom import Custom
from windrow.aggregations.kinds import Numeric, Ordered, OrderedPairs
from windrow.windows.base import Window
from windrow.windows.kinds import KINDS, Hopping

SOURCE = Path(windrow.__file__).parent
CLASSES = {
    value.__name__
    for name in windrow.aggregations.__all__
    if isinstance(value := getattr(windrow.aggregations, name), type) and value is not Aggregation
} | {cls.__name__ for cls in (Custom, Numeric, Ordered, OrderedPairs)}


# Files that reach into another library, and say why.
OTHERS = ("compiled.py",)
WINDOWS = {cls.__name__ for cls in {*KINDS.values(), Hopping, Window}}


def outside(*folders: str) -> Iterator[tuple[Path, ast.AST]]:
    """The nodes of all modules that lie in none of these folders."""
    for path in sorted(SOURCE.rglob("*.py")):
        if path.relative_to(SOURCE).parts[0] not in folders:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                yield path, node


def names_in(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | {
        n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)
    }


def asks_for(node: ast.AST, classes: set[str]) -> bool:
    """Whether a node is an `isinstance` or `issubclass` of one of these classes."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("isinstance", "issubclass")
        and bool(names_in(node.args[1]) & classes)
    )


def test_no_code_outside_aggregations_asks_for_an_aggregation_s_class() -> None:
    found = []
    for path, node in outside("aggregations"):
        if asks_for(node, CLASSES):
            found.append((path, node.lineno))
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            classes = any(isinstance(s, ast.Name) and s.id in CLASSES for s in sides)
            texts = {c.value for s in sides for c in ast.walk(s) if isinstance(c, ast.Constant)}
            if (classes and "type" in names_in(node)) or (
                texts & CLASSES and {"__name__", "__qualname__"} & names_in(node)
            ):
                found.append((path, node.lineno))
    assert not found


def test_no_code_outside_aggregations_knows_aggregations_by_their_names() -> None:
    """Neither a dict nor a collection of their names, which is a table of what they are."""
    found = []
    for path, node in outside("aggregations"):
        items = getattr(node, "keys" if isinstance(node, ast.Dict) else "elts", None)
        if items is None or path.name == "__init__.py":
            continue
        texts = {i.value for i in items if isinstance(i, ast.Constant)}
        if len(texts & CLASSES) > 1:
            found.append((path, getattr(node, "lineno", 0)))
    assert not found


def test_no_code_outside_windows_asks_for_the_kind_of_a_window() -> None:
    assert not [(path, node.lineno) for path, node in outside("windows") if asks_for(node, WINDOWS)]


def test_private_names_stay_in_their_modules() -> None:
    """What begins with an underscore is only used where it is defined, by `self` or by name."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = list(ast.walk(tree))
        own = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        own |= {n.attr for n in nodes if isinstance(n, ast.Attribute) and is_self(n.value)}
        own |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for node in nodes:
            names: list[str] = []
            if isinstance(node, ast.Attribute) and not is_self(node.value):
                names = [node.attr]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("windrow"):
                names = [alias.name for alias in node.names]
            found += [
                (path.relative_to(SOURCE), node.lineno, name)
                for name in names
                if name.startswith("_")
                and not name.startswith("__")
                and name not in own
                and path.name not in OTHERS
            ]
    assert not found


def is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")
