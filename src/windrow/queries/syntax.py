"""From text of SQL to sqlglot's tree, with errors that show the place.

Tokens and trees are sqlglot's own; nothing of it is subclassed. It is imported on first use.
"""

from __future__ import annotations

import difflib
import functools
import re
from typing import Any

from windrow.errors import QuerySyntaxError

_KEYWORDS = ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "BETWEEN", "LIKE", "AND", "NOT")
NAME = re.compile(r"[^\W\d]\w*")  # what is a name without quotes
_WHOLE = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)


def library() -> Any:
    """Return the module sqlglot; an error says how to install it."""
    try:
        import sqlglot
    except ModuleNotFoundError as error:
        raise missing(error) from None
    return sqlglot


def missing(error: ModuleNotFoundError) -> ImportError:
    """Return the error for a package of the extra that is not installed."""
    return ImportError(f'expressions and CQL need {error.name}: pip install "windrow[sql]"')


def tokens(text: str, prefix: str = "") -> list[Any]:
    """Return the tokens of `text` with their places; `prefix` begins the message of an error."""
    sqlglot = library()
    try:
        # with a word before it, as a first word such as `load` would begin a command
        words: list[Any] = sqlglot.tokenize(f"({text}")[1:]
    except sqlglot.TokenError:
        rest = _WHOLE.sub(lambda part: " " * len(part[0]), text)
        start = next((i for i, c in enumerate(rest) if c in "'\"/"), len(text) - 1)
        what = "comment" if rest[start] == "/" else "quote"
        problem = f"{prefix}this {what} has no end"
        raise QuerySyntaxError.at(text, start, len(text), problem) from None
    for word in words:
        word.start, word.end, word.col = word.start - 1, word.end - 1, word.col - (word.line == 1)
    while words and words[-1].token_type == sqlglot.TokenType.SEMICOLON:
        words.pop()
    return words


def tree(words: list[Any], text: str, prefix: str = "", statement: bool = False) -> Any:
    """Return the tree of the tokens of `text`: of an expression, or of a statement."""
    sqlglot = library()
    for word in words:
        if word.token_type == sqlglot.TokenType.SEMICOLON:
            raise wrong(text, word, f"{prefix}one statement is expected, and here it ends")
    # An error of sqlglot tells its place only by the text before it, so it gets all of it.
    parser = sqlglot.Dialect.get_or_raise(None).parser(error_message_context=len(text) + 1)
    try:
        if statement:
            trees = parser.parse(words, text)
        else:
            trees = parser.parse_into(sqlglot.exp.Condition, words, text)
    except sqlglot.ParseError as error:
        raise _explained(error.errors[0], text, prefix) from None
    if not trees or trees[0] is None:
        where = words[0] if words else (0, len(text))
        raise wrong(text, where, f"{prefix}an expression is expected here")
    return _with_plain_nodes(trees[0])


def _with_plain_nodes(node: Any) -> Any:
    """Return the tree with other words for what has several.

    NOT x LIKE y for x NOT LIKE y, CAST(x AS DATE) for DATE(x), EXTRACT(EPOCH FROM x) for EPOCH(x).
    """
    exp = library().exp
    whole = exp.Paren(this=node)
    for call in list(whole.find_all(exp.Date, exp.Anonymous)):
        if isinstance(call, exp.Date) and [name for name, v in call.args.items() if v] == ["this"]:
            call.replace(exp.cast(call.this, "DATE"))
        elif call.name.upper() == "EPOCH" and len(call.expressions) == 1:
            call.replace(exp.Extract(this=exp.var("EPOCH"), expression=call.expressions[0]))
    for like in list(whole.find_all(exp.Like, exp.ILike)):
        if like.args.get("negate"):
            operand = isinstance(like.parent, exp.Binary) and like.parent.key not in ("and", "or")
            like.set("negate", None)
            inner = exp.Not(this=like.copy())
            like.replace(exp.Paren(this=inner) if operand else inner)
    return whole.this.pop()


def _explained(error: dict[str, Any], text: str, prefix: str) -> QuerySyntaxError:
    """Return the error that sqlglot raised in plain words."""
    word, what = error["highlight"], error["description"]
    start = len(error["start_context"])
    hint = 'names in quotes are written "so"' if "`" in text else ""
    if what.startswith("Expecting"):
        problem = f"{what.removeprefix('Expecting ').strip()} is expected here"
    elif what.startswith(("Required", "Expected")):
        problem = "something is missing here"
    else:
        problem = f"{word!r} is not expected here"
        before = re.search(r"\w*$", text[:start].rstrip())
        for candidate in (word, before[0] if before else ""):
            keyword = _misspelt(candidate)
            if keyword is not None:
                hint = f"did you mean {keyword} for {candidate}?"
                break
    return QuerySyntaxError.at(text, start, start + len(word), f"{prefix}{problem}", hint)


def _misspelt(word: str) -> str | None:
    """Return the keyword that a word is nearly, but not quite."""
    near = difflib.get_close_matches(word.upper(), _KEYWORDS, n=1, cutoff=0.75)
    return near[0] if near and near[0] != word.upper() else None


@functools.cache
def identifier(name: str) -> str:
    """Return a name as SQL writes it: in double quotes where it would mean something else.

    >>> identifier("load"), identifier("my load"), identifier("from")
    ('load', '"my load"', '"from"')
    """
    quoted = '"' + name.replace('"', '""') + '"'
    if not NAME.fullmatch(name):
        return quoted
    forms = [
        f"SELECT {one}, F({one}) AS {one} FROM {one} WHERE {one} > F(1, {one}) HAVING {one} > 3"
        for one in (name, quoted)
    ]
    try:
        bare, sure = (tree(tokens(form), form, statement=True) for form in forms)
    except QuerySyntaxError:
        return quoted
    for node in sure.walk():
        if node.key == "identifier":
            node.set("quoted", False)
    return name if bare.sql() == sure.sql() and repr(bare) == repr(sure) else quoted


def place(node: Any) -> tuple[int, int]:
    """Return where a node stands in its text: the start of its first word, the end of its last.

    Only names, functions and literals know their places. If there is none of them it is the place
    of what the node is a part of; (0, 0) if that has none, either.
    """
    places = [part.meta for part in node.walk() if "start" in part.meta]
    if not places:
        return (0, 0) if node.parent is None else place(node.parent)
    return min(meta["start"] for meta in places), max(meta["end"] for meta in places) + 1


def wrong(text: str, where: Any, problem: str, hint: str = "") -> QuerySyntaxError:
    """Return the error for a place in `text`: a token, a node of the tree, or (start, stop)."""
    if isinstance(where, tuple):
        start, stop = where
    elif hasattr(where, "token_type"):
        start, stop = where.start, where.end + 1
    else:
        start, stop = place(where)
    return QuerySyntaxError.at(text, start, stop, problem, hint)
