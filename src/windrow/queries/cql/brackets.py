"""The grammar of the window in brackets, and the clauses that it is read into.

    [ PARTITION BY a, b   ORDER BY ts   RANGE 24 HOURS   SLIDE 1 MINUTE   OFFSET 15 SECONDS ]
      ROWS n | ROWS UNBOUNDED             CLOSED LEFT | RIGHT | BOTH | NEITHER
      RANGE size | RANGE UNBOUNDED        LATENESS interval    MIN_ROWS n
      DELTA number | UNBOUNDED | NOW      WITH GAPS      (a SLIDE larger than the window)
      TIME ZONE 'Europe/Berlin'           ON condition | UNTIL condition   (to the end)
      SESSION interval                    SESSION GAP expression           (to the end)
      ROWS | RANGE | DELTA | GROUPS BETWEEN end AND end   EXCLUDE CURRENT ROW | GROUP | TIES
      end: size PRECEDING | size FOLLOWING | UNBOUNDED PRECEDING | UNBOUNDED FOLLOWING | CURRENT ROW

The clauses come in any order, those with a condition last. A size is a number, or an interval as
people write it.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

import lark

from windrow.errors import InvalidArgument, QuerySyntaxError, did_you_mean
from windrow.queries.cql.frames import check_unbounded, excluded
from windrow.queries.syntax import wrong
from windrow.windows.sizes import UNBOUNDED

_GRAMMAR = r"""
bracket: clause+
?clause: _PARTITION _BY names    -> partition
       | _ORDER _BY names        -> order
       | _ROWS rows              -> rows
       | _RANGE range            -> range
       | _DELTA delta            -> delta
       | _GROUPS rows            -> groups
       | _EXCLUDE WITHOUT        -> exclude
       | UNBOUNDED               -> unbounded
       | NOW                     -> now
       | _SLIDE size             -> slide
       | _OFFSET size            -> offset
       | _CLOSED SIDE            -> closed
       | _LATENESS size          -> lateness
       | _WITH GAPS              -> gaps
       | _TIME _ZONE STRING      -> timezone
       | _TIMEZONE STRING        -> timezone
       | _MIN_ROWS size          -> min_rows
       | _SESSION size           -> session
       | _SESSION _GAP CONDITION -> gap
       | _ON CONDITION           -> on
       | _UNTIL CONDITION        -> until
names: NAME ("," NAME)*
?rows: size | UNBOUNDED | frame
?range: size | UNBOUNDED | NOW | frame
?delta: size | frame
frame: _BETWEEN end _AND end
end: size SIDE_OF | UNBOUNDED SIDE_OF | CURRENT
size: [SIGN] _INTERVAL? part+
part: (NUMBER | STRING) UNIT?

CURRENT: /CURRENT\s+ROW\b/i
SIDE_OF: /(PRECEDING|FOLLOWING)\b/i
WITHOUT: /(CURRENT\s+ROW|GROUP|TIES|NO\s+OTHERS)\b/i
SIDE: /(LEFT|RIGHT|BOTH|NEITHER)\b/i
CONDITION: /[\s\S]+/
NAME: /[^\W\d]\w*/ | /"(?:[^"]|"")*"/
NUMBER: /(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?/i
STRING: /'(?:[^']|'')*'/
UNIT: /(?!(KEYWORDS)\b)[a-zµ]+/i
SIGN: "-"
%ignore /\s+/
%ignore /--[^\n]*/
%ignore /\/\*[\s\S]*?\*\//
"""
CONDITIONS = ("on", "until", "gap")
_SIZES = ("rows", "range", "delta", "groups", "session", "unbounded", "now", *CONDITIONS)
_WORDS = (
    *("PARTITION BY", "ORDER BY", "ROWS", "RANGE", "DELTA", "GROUPS", "UNBOUNDED", "NOW", "ON"),
    *("UNTIL", "SESSION", "SLIDE", "OFFSET", "CLOSED", "LATENESS", "WITH GAPS", "EXCLUDE"),
    *("MIN_ROWS", "TIME ZONE", "TIMEZONE"),
)
_KEPT = ("UNBOUNDED", "NOW", "GAPS")  # the words that are values
# What is meant where a terminal of the grammar is expected.
_EXPECTED = {
    "SIDE": "CLOSED is one of LEFT, RIGHT, BOTH and NEITHER",
    "WITHOUT": "EXCLUDE is one of CURRENT ROW, GROUP, TIES and NO OTHERS",
    "SIDE_OF": "an end is 3 PRECEDING, 3 FOLLOWING, CURRENT ROW or UNBOUNDED PRECEDING, FOLLOWING",
}
_IN_FRAMES = ("BETWEEN", "AND")
_NO_UNITS = ("PRECEDING", "FOLLOWING", "CURRENT")
_FORMS = "a window is written [RANGE 1 HOUR], [ROWS 100 SLIDE 10], [PARTITION BY a RANGE 1 DAY]"


@dataclass(frozen=True)
class Clause:
    """One clause of a bracket: its value, and where it stands in the whole text."""

    value: Any
    place: tuple[int, int]


def read(text: str, start: int, stop: int) -> dict[str, Clause]:
    """Return the clauses of the bracket whose inside is ``text[start:stop]``, by their names.

    >>> {name: clause.value for name, clause in read("ROWS 10 SLIDE 5", 0, 15).items()}
    {'rows': 10, 'slide': 5}
    """
    inside = text[start:stop]
    if not inside.strip():
        raise wrong(text, (start - 1, stop + 1), "the window is empty", _FORMS)
    try:
        tree: Any = _parser().parse(inside)
    except lark.UnexpectedInput as error:
        raise _explained(error, text, start, stop) from None
    clauses: dict[str, Clause] = {}
    for node in tree.children:
        at = (start + node.meta.start_pos, start + node.meta.end_pos)
        if node.data in clauses:
            raise wrong(text, at, f"{node.data.upper()} stands twice in the window")
        clauses[str(node.data)] = Clause(_value(node, text, at), at)
    sizes = [name for name in clauses if name in _SIZES]
    if len(sizes) > 1:
        raise wrong(text, clauses[sizes[1]].place, "a window has one size, and this is a second")
    if not sizes:
        raise wrong(text, (start - 1, stop + 1), "the window has no size", _FORMS)
    return clauses


@functools.cache
def _parser() -> lark.Lark:
    keywords = "|".join(words.split()[0] for words in _WORDS)
    grammar = _GRAMMAR.replace("KEYWORDS", "|".join([keywords, *_IN_FRAMES, *_NO_UNITS]))
    for word in (*keywords.split("|"), *_IN_FRAMES, "BY", "INTERVAL", "GAP", "GAPS", "ZONE"):
        silent = "" if word in _KEPT else "_"  # lark leaves such words out
        grammar += f"{silent}{word}: /{word}\\b/i\n"
    return lark.Lark(grammar, start="bracket", parser="lalr", propagate_positions=True)


def _value(node: Any, text: str, at: tuple[int, int]) -> Any:
    """Return the value of a clause: names, a size, a word, or the place of a condition."""
    if node.data in ("partition", "order"):
        names = tuple(_unquoted(str(name)) for name in node.children[0].children)
        if len(set(names)) < len(names):
            raise wrong(text, at, f"{node.data.upper()} BY names a column twice")
        return names
    if node.data in CONDITIONS:
        condition = node.children[0]
        return at[1] - len(condition), at[1]
    (value,) = node.children
    if node.data == "gaps":
        return True
    if node.data == "timezone":
        return _string(value)
    if not isinstance(value, lark.Token) and value.data == "frame":
        first, last = (_end(end, text, at) for end in value.children)
        sides = [str(end.children[-1]).upper() for end in value.children]
        try:
            check_unbounded((first, last), sides)
        except InvalidArgument as error:
            raise wrong(text, at, str(error)) from None
        return first, last
    if node.data == "exclude":
        return excluded(str(value))
    return str(value).lower() if isinstance(value, lark.Token) else _size(value, text, at)


def _end(node: Any, text: str, at: tuple[int, int]) -> Any:
    """Return an end of a frame relative to the current row: negative before it."""
    size, *side = node.children
    if not side:  # CURRENT ROW
        return 0
    if isinstance(size, lark.Token):
        return UNBOUNDED
    end = _size(size, text, at)
    if side[0].upper() == "FOLLOWING":
        return end
    return f"-{end}" if isinstance(end, str) else -end


def _size(node: Any, text: str, at: tuple[int, int]) -> int | float | str:
    """Return a number, or the text of an interval; a string alone is kept as it is."""
    sign, *parts = node.children
    minus = "-" if sign else ""
    first, *unit = parts[0].children
    if len(parts) == 1 and not unit:
        if first.type == "STRING":
            return minus + _string(first)
        number = float(first) if re.search(r"[.eE]", first) else int(first)
        return -number if minus else number
    words = []
    for part in parts:
        amount, *unit = part.children
        if not unit and amount.type == "NUMBER":
            raise wrong(text, at, f"{amount} has no unit", "write 1 HOUR 30 MINUTES")
        words += [_string(amount) if amount.type == "STRING" else str(amount)]
        words += [str(word).lower() for word in unit]
    return minus + " ".join(words)


def _string(token: Any) -> str:
    """Return the text of a string in single quotes."""
    return str(token)[1:-1].replace("''", "'")


def _unquoted(name: str) -> str:
    """Return a name without its double quotes, if it has any."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _explained(error: Any, text: str, start: int, stop: int) -> QuerySyntaxError:
    """Return the error that lark raised in plain words."""
    at = getattr(error, "pos_in_stream", None)
    ended = isinstance(error, lark.UnexpectedToken) and error.token.type == "$END"
    if at is None or ended:
        return wrong(text, (stop, stop + 1), "the window ends too early", _FORMS)
    match = re.match(r"\w+|\S", text[start + at :])
    word = match[0] if match else ""
    hint = did_you_mean(word.upper(), _WORDS)
    accepted = getattr(error, "accepts", None) or getattr(error, "allowed", None) or ()
    hint = next((words for terminal, words in _EXPECTED.items() if terminal in accepted), hint)
    hint = "write TIME ZONE 'Europe/Berlin'" if set(accepted) == {"STRING"} else hint
    problem = f"{word!r} is not expected in a window"
    return wrong(text, (start + at, start + at + len(word)), problem, hint)
