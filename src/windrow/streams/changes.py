"""From the state of one query to that of a changed one: what may change, and what is refused.

Both are descriptions. Of a change that is allowed, all that the new query needs is in the old one's
state: the same columns by what they mean, of rows or of states that reach at least as far back.
"""

from __future__ import annotations

import pyarrow as pa

from windrow.errors import InvalidArgument
from windrow.streams.description import Description, Question

_SIZES = ("rows", "range", "delta")
_RESIZED = ("chunks", "rows", "slices")  # of which the state is the same for windows of any size


def check_change(then: Description, now: Description, fill: bool = False) -> None:
    """Raise an error that shows both unless `now` can go on with the state of `then`.

    With `fill`, windows may become longer: they hold what is kept, and fill up from now on.
    """
    if why := _why_not(then, now, fill):
        raise InvalidArgument(
            f"this query cannot go on with the state of the checkpoint: {why}.\n"
            f"{side_by_side(then, now)}"
        )


def side_by_side(then: Description, now: Description) -> str:
    """Both queries, an argument a line, with a mark where they differ."""
    lines = [("", "the checkpoint's query", "", "this query")]
    told, asked = _told(then), _told(now)
    for name in dict.fromkeys([*told, *asked]):
        a, b = told.get(name, "–"), asked.get(name, "–")
        lines.append((name, a, "" if a == b else "≠", b))
    widths = [max(len(line[i]) for line in lines) for i in range(3)]
    padded = [[f"{line[i]:<{widths[i]}}" for i in range(3)] + [line[3]] for line in lines]
    return "\n".join("  ".join(parts) for parts in padded)


def _told(about: Description) -> dict[str, str]:
    """Everything that was asked, by name."""
    found: dict[str, str] = {}
    for i, question in enumerate(about.questions):
        mark = f"{i}: " if len(about.questions) > 1 else ""
        both = {**question.arguments, **question.results}
        found |= {f"{mark}{name}": _short(text) for name, text in both.items()}
    found |= {**about.options, "buckets": str(about.buckets)}
    return found | {f"column {name}": kind for name, kind in about.columns.items()}


def _short(text: str) -> str:
    """A text of one line; the digest of a function is as good by its first digits."""
    words = [w[:8] if len(w) == 64 else w for w in text.split()]
    return " ".join(words)


def _why_not(then: Description, now: Description, fill: bool) -> str:
    """Why `now` cannot go on with the state of `then`; nothing if it can."""
    if len(then.questions) != len(now.questions):
        return f"it is of {len(then.questions)} queries, and these are {len(now.questions)}"
    for a, b in ((then.columns, now.columns), (then.options, now.options)):
        if changed := _changed(a, b):
            return f"{', '.join(changed)} cannot change"
    for was, asked in zip(then.questions, now.questions, strict=True):
        changed = [n for n in _changed(was.arguments, asked.arguments) if n != "lateness"]
        if other := [name for name in changed if name not in _SIZES]:
            return f"{', '.join(other)} cannot change"
        if changed and (why := _why_not_resized(was, asked, changed[0], fill)):
            return why
        if lost := [name for name, r in was.results.items() if asked.results.get(name) != r]:
            return f"{', '.join(lost)} cannot change or go; results may be added"
    if then.at_once != now.at_once:
        return "what is added depends on the order of rows, and these are aggregated as they come"
    if len(then.logs) != len(now.logs):
        return "what is kept of rows is laid out otherwise"
    return _why_not_kept(then, now)


def _changed(then: dict[str, str], now: dict[str, str]) -> list[str]:
    names = dict.fromkeys([*then, *now])
    return [name for name in names if then.get(name) != now.get(name)]


def _why_not_resized(was: Question, asked: Question, name: str, fill: bool) -> str:
    """Why windows of another size cannot go on with what is kept."""
    if name not in was.arguments or name not in asked.arguments or was.kept not in _RESIZED:
        return f"{name} cannot change for such windows"
    if was.kept == "slices":
        if was.slices is None or was.slices != asked.slices:
            return f"{name} cannot change for windows that go by the calendar"
        assert was.reach is not None and asked.reach is not None
        if (was.reach - asked.reach) % was.slices[0]:
            return (
                f"{name} can change by a multiple of the slide only, as slices are kept which "
                f"windows of another {name} cut"
            )
    sizes = [(q.reach if q.rows is None else q.rows) for q in (was, asked)]
    if sizes[0] is None or sizes[1] is None:
        return f"{name} cannot change for such windows"
    if sizes[1] > sizes[0] and not fill:
        return (
            f"{name} is longer, and what the longer windows hold is not kept; if they may fill up "
            f"from now on, say so (--fill, fill=True)"
        )
    return ""


def moved_columns(
    then: Description, had: pa.Schema, now: Description, needs: pa.Schema
) -> dict[str, str]:
    """The columns of a log that the new query needs and the old one has, by their new names."""
    kept = {then.meaning(each.name): each.name for each in had}
    wanted = {each.name: now.meaning(each.name) for each in needs}
    return {name: kept[meaning] for name, meaning in wanted.items() if meaning in kept}


def _why_not_kept(then: Description, now: Description) -> str:
    """Why a column that the new query needs is not in the state."""
    pairs = [(a.columns, b.columns) for a, b in zip(then.logs, now.logs, strict=True)]
    for had, needs in [(then.waits, now.waits), *pairs]:
        kept = {then.meaning(each.name): each.type for each in had}
        kept |= {name: then.waits.field(name).type for name in then.keys}
        for each in needs:
            meaning = now.meaning(each.name)
            if meaning not in kept and not set(now.reads.get(each.name, [""])) <= set(kept):
                return f"{meaning} is needed for what is added, and not kept"
            if kept.get(meaning, each.type) != each.type:
                return f"{meaning} is kept as {kept[meaning]}, and {each.type} is needed"
    return ""
