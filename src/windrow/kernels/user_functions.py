"""A user's functions as machine code that means what Python means, or none.

Numba compiles more than it computes as Python does: integers wrap, `str` of a number has other
letters, `int` of NaN is some number. So a user's functions are compiled by a pipeline of their own:

    before types are known   arithmetic and calls are replaced by `checked`'s; a call of anything
                             that is not known to mean the same is refused
    when they are            so is a value that is no number, tuple, list or array of numbers

What is refused runs in the interpreter.
"""

# What Numba's types have is not annotated.
# mypy: disable-error-code="attr-defined"

from __future__ import annotations

from types import ModuleType
from typing import Any

import numba
from numba.core import ir, ir_utils, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.typed_passes import NopythonTypeInference
from numba.core.untyped_passes import LiteralUnroll

from windrow.kernels import checked
from windrow.kernels.functions import NotCompilable

_OF_ARRAYS = ("size", "shape", "ndim")
# Functions of as many arguments as one likes, which are made of those of two.
_CHAINED = (min, max)
_OTHERWISE = "which means something else in compiled code"
_RECORDS = (types.NamedTuple, types.NamedUniTuple)


def user_function(function: Any, **options: Any) -> Any:
    """A user's function, compiled so that it means what Python means; NotCompilable if it cannot.

    `options` are those of `numba.njit`.

    >>> user_function(lambda a, b: a + b)(2, 3)
    5
    """
    options.update(boundscheck=True, pipeline_class=_Pipeline)
    return numba.njit(**options)(function)


class _Pipeline(CompilerBase):
    """Numba's, with a pass before types are known and one after."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_CheckedOperations, LiteralUnroll)
        passes.add_pass_after(_KnownTypes, NopythonTypeInference)
        passes.finalize()
        return [passes]


@register_pass(mutates_CFG=False, analysis_only=False)
class _CheckedOperations(FunctionPass):
    """Replaces arithmetic and calls by functions that mean what Python means."""

    _name = "windrow_checked_operations"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        if state.func_id.func.__code__.co_exceptiontable:
            raise NotCompilable("it handles exceptions, which compiled code does in its own way")
        for block in state.func_ir.blocks.values():
            body: list[Any] = []
            for statement in block.body:
                if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Expr):
                    body += _replaced(state.func_ir, statement)
                else:
                    body.append(statement)
            block.body = body
        return True


def _replaced(func_ir: Any, statement: Any) -> list[Any]:
    """The statements that do what an assignment of an expression does."""
    expr = statement.value
    if expr.op in ("binop", "inplace_binop", "unary"):
        operator = expr.immutable_fn if expr.op == "inplace_binop" else expr.fn
        if operator in checked.REPLACED:
            operands = [expr.value] if expr.op == "unary" else [expr.lhs, expr.rhs]
            return _call(statement, checked.REPLACED[operator], operands)
    if expr.op != "call":
        return [statement]
    called = _meaning(func_ir, expr.func)
    if isinstance(called, Dispatcher) or _is_in(called, checked.SAME):
        return [statement]
    if not _is_in(called, checked.REPLACED):
        name = getattr(called, "__name__", None) or str(expr.func)
        raise NotCompilable(f"it calls {name.lstrip('$')}, {_OTHERWISE}, or may")
    if expr.kws or expr.vararg is not None:
        raise NotCompilable(f"it calls {called.__name__} by keywords or *, {_OTHERWISE}")
    if called not in _CHAINED or len(expr.args) == 2:
        return _call(statement, checked.REPLACED[called], list(expr.args))
    if len(expr.args) < 2:
        raise NotCompilable(f"it calls {called.__name__} of one argument, {_OTHERWISE}")
    statements, left = [], expr.args[0]
    for right in expr.args[1:]:
        into = ir.Var(statement.target.scope, ir_utils.mk_unique_var("$checked"), statement.loc)
        part = ir.Assign(expr, into, statement.loc)
        statements += _call(part, checked.REPLACED[called], [left, right])
        left = into
    return [*statements, ir.Assign(left, statement.target, statement.loc)]


def _call(statement: Any, function: Any, arguments: list[Any]) -> list[Any]:
    """The statements that assign a call of `function` instead."""
    target, loc = statement.target, statement.loc
    name = ir.Var(target.scope, ir_utils.mk_unique_var("$checked"), loc)
    return [
        ir.Assign(ir.Global(function.__name__, function, loc), name, loc),
        ir.Assign(ir.Expr.call(name, arguments, (), loc), target, loc),
    ]


def _meaning(func_ir: Any, name: Any) -> Any:
    """The function that a name stands for; None if that is not known."""
    found = ir_utils.guard(ir_utils.get_definition, func_ir, name)
    if isinstance(found, ir.Global | ir.FreeVar):
        return found.value
    if isinstance(found, ir.Expr) and found.op == "getattr":
        home = _meaning(func_ir, found.value)
        return getattr(home, found.attr, None) if isinstance(home, ModuleType) else None
    return None


def _is_in(value: Any, known: Any) -> bool:
    try:
        return value is not None and value in known
    except TypeError:  # it cannot be hashed
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _KnownTypes(FunctionPass):
    """Refuses values that compiled code treats otherwise than Python does."""

    _name = "windrow_known_types"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        typed, func_ir = state.typemap, state.func_ir
        for name, kind in typed.items():
            if not _is_known(kind):
                where = "" if name.startswith("$") else f" ({name.partition('.')[0]})"
                raise NotCompilable(f"it computes with a {kind}{where}, {_OTHERWISE}, or may")
        for block in func_ir.blocks.values():
            for statement in block.body:
                if isinstance(statement, ir.Assign):
                    _check_assignment(func_ir, typed, statement)
        return False


def _check_assignment(func_ir: Any, typed: Any, statement: Any) -> None:
    value, target = statement.value, typed[statement.target.name]
    sources: list[Any] = [value] if isinstance(value, ir.Var) else []
    if isinstance(value, ir.Expr):
        if value.op == "phi":
            sources = list(value.incoming_values)
        elif value.op == "cast":
            sources = [value.value]
        elif value.op == "getattr" and isinstance(typed[value.value.name], types.Array):
            if value.attr not in _OF_ARRAYS:
                raise NotCompilable(f"it asks an array for its {value.attr}, {_OTHERWISE}, or may")
        elif value.op in ("binop", "inplace_binop", "unary"):
            _check_operator(typed, value)
        if value.op not in ("phi", "cast", "getattr"):
            _check_records(typed, value)
    for source in sources:
        if source is ir.UNDEFINED:
            raise NotCompilable("a name may have no value yet, which compiled code does not notice")
        if _widens(typed[source.name], target) and not _is_constant(func_ir, source):
            raise NotCompilable("a name holds integers here and floats there")


def _check_operator(typed: Any, expr: Any) -> None:
    """Of operators that are not replaced: & | ^ of numbers, `is None`, `in` a tuple, `not`."""
    operands = [typed[var.name] for var in expr.list_vars()]
    identity = expr.fn.__name__ in ("is_", "is_not")
    if identity and not any(isinstance(kind, types.NoneType) for kind in operands):
        raise NotCompilable(f"it asks whether two numbers are the same object, {_OTHERWISE}")
    if any(isinstance(kind, types.Array) for kind in operands):
        raise NotCompilable(f"it computes with whole arrays, {_OTHERWISE}, or may")


def _check_records(typed: Any, expr: Any) -> None:
    """Of the results that a policy sees: they are asked for by their names, or handed on."""
    handed = expr.op == "call" and isinstance(typed[expr.func.name], types.Dispatcher)
    if not handed and any(isinstance(typed[v.name], _RECORDS) for v in expr.list_vars()):
        raise NotCompilable(f"it does more with results than to ask one by its name, {_OTHERWISE}")


def _is_constant(func_ir: Any, name: Any) -> bool:
    found = ir_utils.guard(ir_utils.get_definition, func_ir, name)
    return isinstance(found, ir.Const | ir.Global | ir.FreeVar)


def _widens(source: Any, target: Any) -> bool:
    """Whether integers become floats, which may lose digits."""
    if isinstance(source, types.BaseTuple) and isinstance(target, types.BaseTuple):
        pairs = zip(source.types, target.types, strict=False)
        return any(_widens(a, b) for a, b in pairs)
    literal = isinstance(source, types.IntegerLiteral)
    return isinstance(source, types.Integer) and not literal and isinstance(target, types.Float)


_AS_THEY_ARE = (
    types.Boolean, types.NoneType, types.Omitted, types.RangeType, types.IteratorType, types.Module,
    types.Function, types.Dispatcher, types.NumberClass, types.ExceptionClass, types.SliceType,
    types.ExceptionInstance, types.StringLiteral, types.DType,
)  # fmt: skip


def _is_known(kind: Any) -> bool:
    """Whether Python and compiled code agree on values of a type."""
    if isinstance(kind, types.Integer):
        return kind.bitwidth == 64 and kind.signed
    if isinstance(kind, types.Float):
        return bool(kind.bitwidth == 64)
    if isinstance(kind, types.BaseTuple):
        return all(map(_is_known, kind.types))
    if isinstance(kind, types.Pair):
        return _is_known(kind.first_type) and _is_known(kind.second_type)
    if isinstance(kind, types.Optional):
        return _is_known(kind.type)
    if isinstance(kind, types.List | types.Array):
        return _is_known(kind.dtype)
    return isinstance(kind, _AS_THEY_ARE)
