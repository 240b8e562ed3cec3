"""A policy as machine code: the tree of `windrow.windows.policy_tree` over states of numbers.

What compiles is a function that reads results of numbers, each by its name, and computes with them
as `user_functions` knows it. Everything else runs in the interpreter, and so does what compiled
code cannot say: a result that is null, a sum that no int64 holds, an error of the policy's own.
"""

from __future__ import annotations

import functools
import inspect
import types as python_types
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from keyword import iskeyword
from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.compiled import INNER, own_engine, run_of
from windrow.kernels.columns import NO_NULLS, Column
from windrow.kernels.compiled_states import COMPILER, Monoid, compiled_state, meaning, returned
from windrow.kernels.functions import NotCompilable, embed, first_line
from windrow.kernels.generate import dtype_of, function_text, state_fields, tuple_functions
from windrow.kernels.user_functions import user_function
from windrow.windows import policy_tree
from windrow.windows.adwin import Adwin
from windrow.windows.arrays import Positions, in_threads, ordinary, stretches
from windrow.windows.policy_tree import EDGES, LEVELS
from windrow.windows.until import KNOWN, UNKNOWN, Policy, PolicyProgress, takes_window

ONLY = ""  # the name of a result that is the only one, and that the policy sees without a name
_NUMBERS = ("int64", "float64")
_INSTANTS = (*_NUMBERS, "time")  # the kinds of columns that are nanoseconds in compiled code
_BUT = "; where a result that it reads is null, interpreted"


@dataclass(frozen=True)
class PolicyPart:
    """A result that a policy reads, and its states."""

    name: str
    aggregation: Aggregation
    dtypes: tuple[str, ...]
    monoid: Monoid

    @property
    def output(self) -> str:
        """The type of the result; an argument is of its column's."""
        return self.dtypes[1] if self.monoid.positioned else self.monoid.outputs[0]


@dataclass(frozen=True)
class PolicyPlan:
    """How a policy runs: compiled over the states of `parts`, or interpreted, and why."""

    parts: tuple[PolicyPart, ...] = ()
    text: str = ""
    why_not: str = ""
    knows_nulls: bool = False  # whether compiled code is told which results are null

    def __str__(self) -> str:
        if self.why_not:
            return f"interpreted: {self.why_not}"
        return f"compiled{_BUT if self.parts and not self.knows_nulls else ''}"


def policy_plan(
    policy: Policy, results: Mapping[str, Aggregation], kinds: Mapping[str, str]
) -> PolicyPlan:
    """How a policy over such results runs, where columns are of these kinds.

    >>> from windrow import Collect, Sum
    >>> results = {"s": Sum("v"), "all": Collect("v")}
    >>> str(policy_plan(lambda total, old: total.s > 3, results, {"v": "float64"}))
    'compiled; where a result that it reads is null, interpreted'
    >>> str(policy_plan(lambda total, old: total.all is None, results, {"v": "float64"}))
    "interpreted: it reads all=Collect('v'), which is not a number"
    """
    if isinstance(policy, Adwin):
        return PolicyPlan()
    try:
        written = getattr(policy, "compilable", None)  # of one that is written as text
        function: Any = written or getattr(policy, "function", policy)
        text = embed({"user_policy": function}, COMPILER)
        parts = _parts_of(function, results, kinds)
        if not text.rstrip().endswith("CACHEABLE = True"):
            raise NotCompilable("a function calls itself, and compiled code has no limit to that")
        seen = _seen(parts, written is not None)
        problem = _problem(text, seen, takes_window(policy))
        if problem:
            raise NotCompilable(problem)
    except NotCompilable as reason:
        return PolicyPlan(why_not=str(reason))
    except Exception as error:  # of a function that is like no other
        return PolicyPlan(why_not=first_line(error))
    return PolicyPlan(parts, text, knows_nulls=written is not None)


def _seen(parts: Sequence[PolicyPart], knows_nulls: bool) -> tuple[tuple[str, str], ...]:
    """The names of what a policy sees, and their types."""
    known = ((f"{part.name}{KNOWN}", "boolean") for part in parts if knows_nulls)
    return (*((part.name, part.output) for part in parts), *known)


def _parts_of(
    policy: Policy, results: Mapping[str, Aggregation], kinds: Mapping[str, str]
) -> tuple[PolicyPart, ...]:
    """The results that a policy reads, with their compiled states."""
    read = {name.removesuffix(KNOWN) for name in _names_read(policy)}
    if "len" in read:  # Numba takes the length of results for a constant before it is asked
        raise NotCompilable("it calls len, which of results means something else in compiled code")
    parts = []
    for name, aggregation in results.items():
        if name != ONLY and name not in read:
            continue
        dtypes = tuple(
            "int64" if takes == "instant" and kinds[text] in _INSTANTS else kinds[text]
            for text, takes in columns_of(aggregation)
        )
        state: Any = None
        if all(dtype in _NUMBERS for dtype in dtypes):
            state = compiled_state(aggregation, dtypes or ("int64",))
        known = isinstance(state, Monoid) and len(state.outputs) == 1
        if known and state.positioned:
            known = len(dtypes) == 2
        if not known or isinstance(aggregation.result, Mapping):
            raise NotCompilable(f"it reads {name}={aggregation!r}, which is not a number")
        if dtypes[:1] == ("int64",) and _rounds(aggregation, state):
            raise NotCompilable(f"it reads {name}={aggregation!r}, which compiled code rounds")
        if state.defined:
            raise NotCompilable(f"it reads {name}={aggregation!r}, which may have no result")
        if name.startswith("_") or iskeyword(name):
            raise NotCompilable(f"it reads {name}, which is no name for compiled code")
        parts.append(PolicyPart(name, aggregation, dtypes, state))
    if not parts:
        raise NotCompilable("it reads none of the results by its name")
    return tuple(parts)


def columns_of(aggregation: Aggregation) -> list[tuple[str, str]]:
    """The columns of an aggregation, and as what each is read: an "instant" is in nanoseconds."""
    texts = aggregation.columns
    timed = aggregation.takes == "timed"
    return [(text, "instant" if timed and i else "number") for i, text in enumerate(texts)]


def _rounds(aggregation: Aggregation, state: Monoid) -> bool:
    """Whether integers, exact in the interpreter, are floats in compiled code: as in a product."""
    known = aggregation.functions is None and aggregation.exact_on_integers
    return known and not aggregation.exact and "float64" in state.fields


def _names_read(policy: Any) -> set[str]:
    """The names in the code of a function, and of the functions that it may call."""
    names: set[str] = set()
    todo, known = [policy], set()
    while todo:
        function = todo.pop()
        function = getattr(function, "py_func", function)
        if not isinstance(function, python_types.FunctionType) or function in known:
            continue
        known.add(function)
        own = set(_names_in(function.__code__))
        names |= own
        todo += [function.__globals__.get(name) for name in sorted(own)]
        todo += [cell.cell_contents for cell in function.__closure__ or ()]
    return names


def _names_in(code: Any) -> list[str]:
    inner = [c for c in code.co_consts if isinstance(c, python_types.CodeType)]
    return [*code.co_names, *(name for each in inner for name in _names_in(each))]


@functools.cache
def record_class(names: tuple[str, ...]) -> Any:
    """The type of what a compiled policy sees: a tuple with a field for each name."""
    record = namedtuple("Record", names)  # type: ignore[misc]
    record.windrow_identity = f"windrow record {names!r}"  # type: ignore[attr-defined]
    return record


@functools.lru_cache(maxsize=256)  # asking Numba takes a tenth of a second
def _problem(text: str, seen: tuple[tuple[str, str], ...], of_window: bool) -> str:
    """Why a policy that `text` defines does not compile for such results; nothing if it does."""
    names, kinds = zip(*seen, strict=True)
    numbers = [getattr(types, kind) for kind in kinds]
    shown: Any = numbers[0]
    if names != (ONLY,):
        shown = types.BaseTuple.from_types(numbers, record_class(names))
    arguments = (shown,) if of_window else (shown, shown)
    scope = python_types.ModuleType("windrow_policy")
    scope.__dict__["__file__"] = __file__
    try:
        with own_engine():
            exec(text, scope.__dict__)
            function = user_function(scope.__dict__["user_policy"], **INNER)
            answer = returned(function, arguments)
    except Exception as error:  # Numba raises what it likes on what it does not know
        return str(error) if isinstance(error, NotCompilable) else first_line(error)
    if isinstance(answer, types.Boolean | types.Integer | types.Float):
        return ""
    return f"it returns {answer}, and neither a bool nor a number"


# -- running it ------------------------------------------------------------------------------


def compiled_starts(
    plan: PolicyPlan,
    column: Callable[[str, str], Column],
    progress: PolicyProgress,
    threads: int = 1,
) -> Positions | None:
    """Where the windows begin of the rows a policy decides about; None if the interpreter must.

    `column(text, takes)` has the sorted values of a column that the parts read, numbers or in
    nanoseconds. Each thread has some of the stretches.
    """
    if plan.why_not:
        return None
    read = [columns_of(part.aggregation) for part in plan.parts]
    columns = {each: column(*each) for own in read for each in own}
    given = [[columns[each] for each in own] for own in read]
    nulls = [_nulls_of(own) for own in given]
    for part, own, mask in zip(plan.parts, given, nulls, strict=True):
        if mask is not None and (part.aggregation.functions is not None or part.monoid.positioned):
            return None  # an identity of the user's own, or a null that is an argument
        if own and not _fits(part, own[0].data, mask):
            return None
    n = int(progress.starts[-1])
    counted = tuple(mask is not None for mask in nulls)
    fields = [
        f for p, c in zip(plan.parts, counted, strict=True) for f in state_fields(p.monoid, c)
    ]
    nodes = _states(fields, n)
    first = np.full(n, UNKNOWN)
    data = tuple(c.data for own in given for c in own) or (np.zeros(n, np.int64),)
    masks = tuple(NO_NULLS if mask is None else ordinary(mask) for mask in nulls)
    starts = ordinary(progress.starts)
    at = [ordinary(a) for a in (progress.fresh, progress.origins, progress.heads)]

    def work(piece: tuple[int, int]) -> None:
        a, b = piece
        edges, null = np.zeros(EDGES, np.int64), np.zeros(1, np.int64)
        room = _states(fields, LEVELS), _states(fields, LEVELS)
        some = (each[a:b] for each in at)
        run(starts[a : b + 1], *some, data, masks, null, nodes, *room, edges, first)

    try:
        run = _loop(plan, counted, progress.of_window)
        ends = np.searchsorted(starts, [end for _, end in stretches(n, threads)])
        in_threads(work, list(pairwise(dict.fromkeys([0, *ends[:-1].tolist(), starts.size - 1]))))
    except Exception:
        return None  # the interpreter tells what is wrong, or finds that nothing is
    return first


def _states(fields: Sequence[str], n: int) -> tuple[NDArray[Any], ...]:
    """Room for n states."""
    return tuple(np.zeros(n, dtype_of(field)) for field in fields)


def way_of(first: Positions | None, progress: PolicyProgress) -> str:
    """How a policy ran: "compiled", "interpreted", or for some stretches the one or the other."""
    if first is None:
        return "interpreted"
    decided = progress.fresh[progress.fresh < progress.starts[1:]]
    unknown = np.count_nonzero(first[decided] == UNKNOWN)
    if not unknown:
        return "compiled"
    return "interpreted" if unknown == decided.size else "compiled and interpreted"


def _nulls_of(columns: Sequence[Column]) -> NDArray[np.uint8] | None:
    """Which values an aggregation skips; None if none."""
    masks = [c.nulls for c in columns if c.nulls is not None and c.nulls.any()]
    return np.bitwise_or.reduce(masks) if masks else None


def _fits(part: PolicyPart, data: NDArray[Any], nulls: NDArray[np.uint8] | None) -> bool:
    """Whether no sum or difference of the values is one that compiled code cannot hold, or rounds.

    Any other of whole numbers is one of them, a count, or a float in the interpreter, too.
    """
    result = part.aggregation.result
    if data.dtype != np.int64 or not data.size or result not in ("total", "mean", "difference"):
        return True
    values = data if nulls is None else np.where(nulls, 0, data)
    count = 2 if result == "difference" else values.size
    largest = max(abs(int(values.max())), abs(int(values.min()))) * count
    return largest < (2**63 if part.output == "int64" else 2**53)


@functools.lru_cache(maxsize=64)
def _loop(plan: PolicyPlan, nulls: tuple[bool, ...], of_window: bool) -> Any:
    """The loop over all stretches, compiled for the parts of a plan.

    The states of the parts lie side by side in one tuple.
    """
    texts, fields, columns = [], list[str](), list[str]()
    for i, (part, counted) in enumerate(zip(plan.parts, nulls, strict=True)):
        texts.append(_part_text(i, part, counted, len(fields), len(columns), plan.knows_nulls))
        fields += state_fields(part.monoid, counted)
        columns += part.dtypes
    names = tuple(name for name, _ in _seen(plan.parts, plan.knows_nulls))
    shown = ", ".join([f"r{i}" for i in range(len(texts))])
    if plan.knows_nulls:
        shown += "".join(f", k{i}" for i in range(len(texts)))
    states = f"Tuple(({''.join(f'{f}[::1], ' for f in fields)}))"
    data = f"Tuple(({''.join(f'{d}[::1], ' for d in columns or ['int64'])}))"
    masks = f"Tuple(({'uint8[::1], ' * len(texts)}))"
    arguments = [*["int64[::1]"] * 4, data, masks, "int64[::1]", *[states] * 3, *["int64[::1]"] * 2]
    called = "user_policy(total)" if of_window else "user_policy(total, old)"
    size = len(fields)
    module = "\n".join(
        [
            f'"""A policy, generated for {names!r}."""',
            "from numba import njit",
            "from numba.core.types import *",
            "from numba.core.types import Tuple",
            "from windrow.compiled import compiled",
            f"from {__name__} import record_class",
            f"from {user_function.__module__} import {user_function.__name__}",
            _PARTS,
            *(text.functions for text in texts),
            f"# {meaning()}",
            f"(user_policy,) = _part({plan.text!r}, 'python', ('user_policy',))",
            f"user_policy = {user_function.__name__}(user_policy, **{INNER})",
            f"inner = njit(error_model='python', **{INNER})",
            "" if names == (ONLY,) else f"Record = record_class({names!r})",
            f"LEVELS = {LEVELS}",
            function_text("own(rows, i)", f"return {' + '.join(text.own for text in texts)}"),
            function_text("combine(a, b)", f"return {' + '.join(text.combined for text in texts)}"),
            function_text(
                "load(states, i)", f"return {_tuple(f'states[{k}][i]' for k in range(size))}"
            ),
            function_text(
                "store(states, i, s)", *(f"states[{k}][i] = s[{k}]" for k in range(size))
            ),
            function_text(
                "seen(rows, s, n)",
                *(line for text in texts for line in text.seen),
                f"return {shown if names == (ONLY,) else f'Record({shown})'}",
            ),
            function_text("goes(total, old)", f"return bool({called})"),
            *(f"@inner\n{inspect.getsource(each)}" for each in policy_tree.TREE),
            _RUN.format(of_window=of_window, unknown=UNKNOWN),
            "run = compiled(run, error_model='python')",
            f"run.compile(void({', '.join(arguments)}))",
            "for scope in _scopes:\n    scope.clear()",
            "",
        ]
    )
    return run_of(module)


_PARTS = f"""
_scopes = []


def _part(text, error_model, names):
    scope = {{"__name__": __name__, "__file__": __file__}}
    scope["inner"] = njit(error_model=error_model, **{INNER})
    scope["inlined"] = njit(error_model=error_model, forceinline=True, **{INNER})
    exec("from numba.core.types import *", scope)
    exec(text, scope)
    _scopes.append(scope)
    return [scope[name] for name in names]
"""
_RUN = """
def run(starts, fresh, origins, heads, columns, nulls, null, nodes, suffix, prefix, edges, first):
    for s in range(starts.size - 1):
        slide(
            (columns, nulls, null), starts[s], starts[s], fresh[s], starts[s + 1], origins[s],
            heads[s], {of_window}, nodes, suffix, prefix, edges, first,
        )
        if null[0]:
            first[fresh[s] : starts[s + 1]] = {unknown}
            null[0] = 0
"""


class _PartText(NamedTuple):
    """What a part of a policy is in the generated module."""

    functions: str  # the line that defines its functions
    own: str  # the state of row i alone
    combined: str  # that of two states
    seen: list[str]  # the lines that find its result, and whether it is known


def _part_text(
    i: int, part: PolicyPart, counted: bool, at: int, column: int, knows_nulls: bool
) -> _PartText:
    """Part i, whose fields begin at `at` and whose columns at `column`."""
    monoid, aggregation = part.monoid, part.aggregation
    k = len(monoid.fields)
    source = "\n".join([monoid.source, *tuple_functions(monoid, counted)])
    given = repr(source), repr(monoid.error_model), repr(("lift", "combine", monoid.answer))
    fields = f"{at}:{at + k + counted}"
    first = column if part.dtypes else 0  # what counts rows is given any value
    rows = f"rows[0][{first}:{first + monoid.columns}], rows[1][{i}], i, i, 0"
    more = "".join(f", {value!r}" for value in monoid.constants)
    answer = f"answer_{i}(s[{at}:{at + k}]{more})"
    if monoid.positioned:  # the state has the row of the argument
        answer = f"rows[0][{column + 1}][{answer}]"
    seen = [f"r{i}, k{i} = {part.output}({aggregation.empty or 0!r}), True"]
    if counted or aggregation.least > 1:
        count = f"s[{at + k}]" if counted else "n"
        seen += [f"if {count} >= {aggregation.least}:", f"    r{i} = {part.output}({answer})"]
        if aggregation.empty is None:
            seen += ["else:", f"    k{i} = False" if knows_nulls else "    rows[2][0] = 1"]
    else:
        seen.append(f"r{i} = {part.output}({answer})")
    return _PartText(
        f"lift_{i}, combine_{i}, answer_{i} = _part({', '.join(given)})",
        f"lift_{i}({rows})",
        f"combine_{i}(a[{fields}], b[{fields}], 0)",
        seen,
    )


def _tuple(items: Any) -> str:
    return f"({''.join(f'{item}, ' for item in items)})"
