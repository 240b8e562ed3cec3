"""What a stream was asked and what it keeps, in a form that lies beside its state.

The identity of a query says whether a state is its own. If it is not, this says in what the two
differ, and what the columns of the state mean: see `changes`.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from windrow.identity import digest_of, named
from windrow.queries.query import Query
from windrow.queries.streaming import Streaming
from windrow.streams.plan import StreamPlan
from windrow.tables.bind import Bound, columns_read
from windrow.windows.base import Kept


@dataclass(frozen=True)
class Question:
    """One query: what was written, by name, and how far its windows reach."""

    arguments: dict[str, str]
    results: dict[str, str]
    kept: Kept
    reach: int | None  # along the order, in its unit
    rows: int | None  # or so many rows
    slices: list[int] | None = None  # of hopping windows: the slide, and the offset


@dataclass(frozen=True)
class KeptLog:
    """One log of a state: its columns besides the key's, and how its chunks are numbered."""

    name: str
    columns: pa.Schema
    entries: int = 1  # of the store, for each chunk


@dataclass(frozen=True)
class Description:
    """All queries of a stream, and what is kept for them."""

    questions: list[Question]
    options: dict[str, str]  # of `streaming`, and the watermark; those that were given
    buckets: int
    rows: pa.Schema  # the columns that came in
    keys: list[str]
    waits: pa.Schema  # the rows that wait
    logs: list[KeptLog]
    at_once: bool  # whether rows enter windows as they come
    delay: int | None  # of the watermark, in milliseconds
    own: bool  # whether the frame had it already
    texts: dict[str, str] = field(default_factory=dict)  # columns that stand for an expression
    reads: dict[str, list[str]] = field(default_factory=dict)  # and the columns that it reads

    def encode(self) -> str:
        """The description as text."""
        return json.dumps(asdict(self), default=_encoded)

    @classmethod
    def decode(cls, text: str) -> Description:
        """The description that `encode` made this text of."""
        fields = json.loads(text)
        fields["questions"] = [Question(**each) for each in fields["questions"]]
        fields |= {name: _decoded(fields[name]) for name in ("rows", "waits")}
        logs = [(log["name"], _decoded(log["columns"]), log["entries"]) for log in fields["logs"]]
        fields["logs"] = [KeptLog(*log) for log in logs]
        return cls(**fields)

    @property
    def columns(self) -> dict[str, str]:
        """The columns that came in, with their types."""
        return {each.name: str(each.type) for each in self.rows}

    def meaning(self, column: str) -> str:
        """What a column of the state holds: its name, with expressions in place of numbers."""
        for name, text in self.texts.items():
            column = column.replace(name, f"({text})")
        return column


def describe(
    asked: Streaming, plan: StreamPlan, buckets: int, rows: pa.Schema, delay: int | None, own: bool
) -> Description:
    """What the stream of a plan was asked; `rows` are the columns that came in.

    The watermark is `delay` milliseconds behind the newest row, by the frame's own word or not.
    """
    families = [*plan.families, *plan.latest.values()]
    aside = "buckets", "final"  # which may differ, or do from run to run
    options = {name: str(v) for name, v in asked.arguments().items() if name not in aside}
    if delay is not None:
        options["watermark"] = f"{delay} ms behind the newest row"
    texts: dict[str, str] = {}
    for query, bound in zip(asked.queries, plan.bounds, strict=True):
        for name, part in query.parts.items():
            pairs = zip(bound.query.parts[name].columns, part.columns, strict=True)
            texts |= {new: text for new, text in pairs if new != text}
    return Description(
        [_question(*each) for each in zip(asked.queries, plan.bounds, strict=True)],
        options,
        buckets,
        rows,
        list(plan.keys),
        plan.rows,
        [KeptLog(f"kept_{i}", f.schema, f.entries) for i, f in enumerate(families)],
        plan.at_once is not None,
        delay,
        own,
        texts,
        {name: columns_read(text, rows) for name, text in texts.items()},
    )


def _question(query: Query, bound: Bound) -> Question:
    window: Any = query.window
    slices = None
    if window.kept == "slices" and window.calendar is None:
        _, slide, offset = window.sizes(bound.axis)
        slices = [int(slide), int(offset)]
    reach = window.reach(bound.axis) if window.measured else None
    return Question(
        {name: _text(value) for name, value in query.arguments().items()},
        {name: part.fingerprint for name, part in query.parts.items()},
        window.kept,
        None if reach is None else int(reach),
        window.reach_rows,
        slices,
    )


def _text(value: Any) -> str:
    """An argument as it was written; a function by its name and what it does."""
    return f"{named(value)} {digest_of(value)}" if callable(value) else repr(value)


def _encoded(schema: pa.Schema) -> str:
    return b64encode(schema.serialize().to_pybytes()).decode()


def _decoded(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(b64decode(text)))
