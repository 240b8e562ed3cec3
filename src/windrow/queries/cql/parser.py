"""From text to its parts: the stream operator, the window in brackets, and a tree of plain SQL.

A text without such a window is standard SQL if it has OVER, GROUP BY or SELECT DISTINCT.

What SQL does not know is taken out of the tokens before sqlglot sees them, so every token keeps
its place in the text:

    Select IStream(Max(len)) as mxl From Calls [Range 24 Hours Slide 1 Minute]
           ~~~~~~~~        ~                   ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from sqlglot import Token, TokenType

from windrow.errors import InvalidArgument
from windrow.queries.cql.brackets import CONDITIONS, Clause, read
from windrow.queries.cql.errors import ONE_STREAM
from windrow.queries.cql.functions import FILTERED, FUNCTIONS
from windrow.queries.syntax import NAME, tokens, tree, wrong

Words = list[Any]

# A name with it before is no function of SQL, so sqlglot leaves the call as it is written.
MARK = "@"
SESSIONS = ("SESSION", "SESSION_WINDOW")  # calls that ask for windows, in GROUP BY
_STREAMS = ("ISTREAM", "RSTREAM", "DSTREAM")
_PAIRS = {TokenType.L_PAREN: TokenType.R_PAREN, TokenType.L_BRACKET: TokenType.R_BRACKET}
_OPENING, _CLOSING = tuple(_PAIRS), tuple(_PAIRS.values())
_AFTER_FROM = (TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING)


@dataclass(frozen=True)
class Parsed:
    """A text taken apart."""

    text: str
    words: Words  # of plain SQL
    tree: Any
    emit: str
    window: dict[str, Clause]  # empty if there is none
    bracket: tuple[int, int]
    condition: Words  # of the window's ON or UNTIL
    standard: bool = False  # whether windows are those of OVER


def parsed(text: str) -> Parsed:
    """Return a text taken apart; mistakes of grammar are errors that show the place."""
    words = tokens(text) if isinstance(text, str) else []
    if not words:
        raise InvalidArgument(f"sql: {text!r} must be a query, as in SELECT … FROM …")
    _check_closed(words, text)
    words, emit = _without_streams(words, text)
    if words[0].token_type not in (TokenType.SELECT, TokenType.WITH):
        raise wrong(text, words[0], "a query begins with SELECT")
    if _is_standard(words):
        statement = tree(_marked_over(words), text, statement=True)
        return Parsed(text, words, statement, emit, {}, (0, 0), [], standard=True)
    words, inside = _without_bracket(words, text)
    statement = tree(_marked(words), text, statement=True)
    if inside is None:
        return Parsed(text, words, statement, emit, {}, (0, 0), [])
    start, stop = inside[0].end + 1, inside[-1].start
    window = read(text, start, stop)
    condition = []
    for name in CONDITIONS:
        if name in window:
            begin = window[name].value[0]
            condition = [word for word in inside[1:-1] if word.start >= begin]
    if "until" in window:  # which speaks of results
        condition = [_mark(w) if _is_call(condition, i) else w for i, w in enumerate(condition)]
    return Parsed(text, words, statement, emit, window, (start - 1, stop + 1), condition)


def _check_closed(words: Words, text: str) -> None:
    """Refuse a parenthesis or a bracket without its other half."""
    opened: Words = []
    for word in words:
        if word.token_type in _OPENING:
            opened.append(word)
        elif word.token_type in _CLOSING:
            if not opened or _PAIRS[opened[-1].token_type] != word.token_type:
                raise wrong(text, word, f"{word.text!r} closes nothing")
            opened.pop()
    if opened:
        raise wrong(text, opened[-1], f"{opened[-1].text!r} is never closed")


def _depths(words: Words) -> list[int]:
    """Return how many parentheses and brackets are open behind each word."""
    kinds = (word.token_type for word in words)
    return list(accumulate((kind in _OPENING) - (kind in _CLOSING) for kind in kinds))


def _closing(words: Words, opening: int) -> int:
    """Return the index of what closes the parenthesis or bracket at `opening`."""
    return opening + _depths(words[opening:]).index(0)


def _clause(words: Words, kinds: tuple[TokenType, ...]) -> int:
    """Return the index of the first token of these kinds outside of parentheses, or the length."""
    for i, (word, depth) in enumerate(zip(words, _depths(words), strict=True)):
        if not depth and word.token_type in kinds:
            return i
    return len(words)


# -- ISTREAM, RSTREAM ------------------------------------------------------------------------


def _without_streams(words: Words, text: str) -> tuple[Words, str]:
    """Return the words without stream operators, and the operator in small letters."""
    operators: dict[str, Any] = {}
    removed: set[int] = set()
    listed = range(_clause(words, (TokenType.FROM,)))
    for i, word in enumerate(words[:-1]):
        name = word.text.upper()
        if name not in _STREAMS or words[i + 1].token_type != TokenType.L_PAREN:
            continue
        if name == "DSTREAM":
            hint = "ISTREAM(…) gives what is new or changed, RSTREAM(…) every result"
            raise wrong(text, word, "DSTREAM is not supported", hint)
        end = _closing(words, i + 1)
        if i == 0:
            outside = words[end + 1 : end + 2]
            if outside:
                raise wrong(text, outside[0], f"{outside[0].text!r} is not expected here")
        elif i not in listed or words[i - 1].token_type not in (TokenType.SELECT, TokenType.COMMA):
            hint = "write SELECT ISTREAM(…) or ISTREAM(SELECT …)"
            raise wrong(text, word, f"{name} stands around results, or around the query", hint)
        else:
            _check_one_name(words, i + 1, end, text)
        operators[name] = word
        removed |= {i, i + 1, end}
    if len(operators) > 1:
        raise wrong(text, list(operators.values())[1], "a query is one of ISTREAM and RSTREAM")
    rest = [word for i, word in enumerate(words) if i not in removed]
    if not rest:
        raise wrong(text, words[0], "a query begins with SELECT")
    return rest, next(iter(operators), "RSTREAM").lower()


def _check_one_name(words: Words, start: int, end: int, text: str) -> None:
    """Refuse ``ISTREAM(a, b) AS c``."""
    inside = words[start + 1 : end]
    after = words[end + 1 : end + 2]
    several = _clause(inside, (TokenType.COMMA,)) < len(inside)
    if several and after and after[0].token_type == TokenType.ALIAS:
        raise wrong(text, after[0], "one name for several results", "name each of them inside")


# -- the bracket -----------------------------------------------------------------------------


def _without_bracket(words: Words, text: str) -> tuple[Words, Words | None]:
    """Return the words without the window, and those of the window, with its brackets."""
    start, stop = _clause(words, (TokenType.FROM,)), _clause(words, _AFTER_FROM)
    bracket: tuple[int, int] | None = None
    for i, word in enumerate(words):
        if word.token_type != TokenType.L_BRACKET or (bracket and i < bracket[1]):
            continue
        if i < start and words[i - 1].token_type == TokenType.COMMA:
            continue  # a list of constants
        if not start + 1 < i < stop:
            hint = "the window goes after the name of the stream: FROM calls [RANGE 1 HOUR]"
            raise wrong(text, word, "a bracket is not expected here", hint)
        if bracket:
            raise wrong(text, word, "a second window is not supported", ONE_STREAM)
        bracket = i, _closing(words, i) + 1
    if bracket is None:
        return words, None
    begin, end = bracket
    return words[:begin] + words[end:], words[begin:end]


# -- calls -----------------------------------------------------------------------------------


def _marked(words: Words) -> Words:
    """Return the words with a mark on the names of aggregations, so that calls stay as written.

    sqlglot would make one node of ARGMAX(len, who) and of ARG_MAX(who, len), which differ.
    """
    start, stop = _clause(words, (TokenType.FROM,)), _clause(words, (TokenType.HAVING,))
    grouped_from = _clause(words, (TokenType.GROUP_BY,))
    marked = []
    for i, (word, depth) in enumerate(zip(words, _depths(words), strict=True)):
        grouped = word.text.upper() == "GROUP"  # of WITHIN GROUP (…)
        plain = word.token_type == TokenType.VAR and not grouped and _opens(words, i + 1)
        listed = i < start and not depth and (plain or _is_call(words, i, among=FUNCTIONS))
        window = grouped_from < i < stop and not depth and _is_call(words, i, among=SESSIONS)
        named = listed or window or (i > stop and _is_call(words, i))
        marked.append(_mark(word) if named else word)
    return marked


def _is_standard(words: Words) -> bool:
    """Whether windows stand behind OVER, if any, and not in brackets behind a stream's name."""
    start, stop = _clause(words, (TokenType.FROM,)), _clause(words, _AFTER_FROM)
    behind = words[start + 1 : stop]
    opened = (w for w, depth in zip(behind, _depths(behind), strict=True) if depth == 1)
    kinds = [word.token_type for word in words]
    if any(word.token_type == TokenType.L_BRACKET for word in opened):
        return False
    sessions = any(_is_call(words, i, among=SESSIONS) for i in range(len(words)))
    grouped = TokenType.GROUP_BY in kinds and not sessions
    distinct = (TokenType.SELECT, TokenType.DISTINCT) in pairwise(kinds)
    return TokenType.OVER in kinds or grouped or distinct


# What may stand between a call and its window.
_BEHIND = ("OVER", "FILTER", "IGNORE", "RESPECT", "WITHIN", "GROUP")


def _marked_over(words: Words) -> Words:
    """Return the words with a mark on the names of aggregations and of calls before OVER."""
    marked = []
    for i, word in enumerate(words):
        named = NAME.fullmatch(word.text) is not None and word.text.upper() not in _BEHIND
        called = named and _opens(words, i + 1)
        windowed = called and _goes_on(words, _closing(words, i + 1) + 1)
        marked.append(_mark(word) if called and (windowed or _is_call(words, i)) else word)
    return marked


def _goes_on(words: Words, i: int) -> bool:
    """Whether the i-th word goes on with the call before it.

    IGNORE NULLS does where something follows it; in LAG(LENGTH(s) IGNORE NULLS) it is LAG's.
    """
    texts = [word.text.upper() for word in words[i : i + 3]]
    if texts[:1] in (["IGNORE"], ["RESPECT"]):
        texts = texts[2:]
    return texts[:1] != [] and texts[0] in _BEHIND


# SQL's own function of this name joins two strings.
_OVER_RESULTS = (frozenset(FUNCTIONS) | frozenset(FILTERED)) - {"CONCAT"}


def _is_call(words: Words, i: int, among: Collection[str] = _OVER_RESULTS) -> bool:
    """Whether the i-th word calls one of these aggregations."""
    return words[i].text.upper() in among and _opens(words, i + 1)


def _opens(words: Words, i: int) -> bool:
    return i < len(words) and words[i].token_type == TokenType.L_PAREN


def _mark(word: Any) -> Any:
    return Token(TokenType.VAR, MARK + word.text, word.line, word.col, word.start, word.end)
