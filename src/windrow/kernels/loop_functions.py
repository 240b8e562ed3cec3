"""The functions of `loops.protocol`, defined for one aggregation, as the text of a module."""

from __future__ import annotations

from windrow.aggregations.algebra import RowAlgebra
from windrow.kernels.compiled_states import Monoid


def tuple_functions(monoid: Monoid, nulls: bool) -> str:
    """The functions for a state that is a tuple of numbers.

    With nulls it has one more field, the number of values in it: none makes it neutral.
    """
    k = len(monoid.fields)
    size = k + nulls
    values = [f"columns[{i}][j]" for i in range(monoid.columns)]
    values += ["position"] * monoid.positioned
    unit = f"typed({monoid.unit}({', '.join(values)}))"
    functions = [
        _function("slot(buffer, i)", "return 0"),
        _function("load(buffer, i)", f"return {_tuple('buffer[{i}][i]', size)}"),
        _function("store(buffer, i, s)", *(f"buffer[{i}][i] = s[{i}]" for i in range(size))),
        "keep = store",
        _function(
            "typed(s)",
            f"return ({', '.join(f'{f}(s[{i}])' for i, f in enumerate(monoid.fields))},)",
        ),
        _function("same(a, b)", f"return {_equal(k, nulls)}"),
    ]
    head = "lift(columns, nulls, j, position, into)"
    if nulls:
        functions += [
            _function("counted(s, n)", f"return {_tuple('s[{i}]', k)} + (n,)"),
            _function("plain(s)", f"return {_tuple('s[{i}]', k)}"),
            _function(head, f"return counted({unit}, int64(0) if nulls[j] else int64(1))"),
            _function(
                "combine(a, b, into)",
                f"if a[{k}] == 0:\n        return b",
                f"if b[{k}] == 0:\n        return a",
                f"return counted(typed({monoid.plus}(plain(a), plain(b))), a[{k}] + b[{k}])",
            ),
            *_inverses(
                monoid,
                f"if b[{k}] == 0:\n        return a",
                f"return counted(typed({monoid.minus}(plain(a), plain(b))), a[{k}] - b[{k}])",
            ),
            _emit(monoid, "plain(s)", f"if s[{k}] == 0:\n        valid[i] = 0\n        return"),
        ]
    else:
        functions += [
            _function(head, f"return {unit}"),
            _function("combine(a, b, into)", f"return typed({monoid.plus}(a, b))"),
            *_inverses(monoid, f"return typed({monoid.minus}(a, b))"),
            _emit(monoid, "s"),
        ]
    return "\n".join([*functions, _function("emit_nothing(out, valid, i)", "valid[i] = 0")])


def row_functions(monoid: RowAlgebra) -> str:
    """The functions for a state that is a row of a 2-D array, combined in place."""
    more = "".join(f", {value!r}" for value in monoid.constants)
    value = f"{monoid.read}(columns[0][j])"
    functions = [
        _function("slot(buffer, i)", "return buffer[i]"),
        "load = slot",
        _function("store(buffer, i, s)", f"{monoid.copy}(s, buffer[i])"),
        _function("keep(buffer, i, s)", "pass"),
        _function(
            "lift(columns, nulls, j, position, into)",
            "null = nulls.size > 0 and nulls[j] != 0",
            f"{monoid.unit}({value}, null, into{more})",
            "return into",
        ),
        _function("combine(a, b, into)", f"{monoid.plus}(a, b, into{more})", "return into"),
        *_inverses(monoid, f"{monoid.minus}(a, b, into{more})", "return into"),
        _function(
            "emit(out, valid, i, s)", f"valid[i] = 1 if {monoid.answer}(s, out[i]{more}) else 0"
        ),
        _function("emit_nothing(out, valid, i)", "valid[i] = 0"),
    ]
    return "\n".join(functions)


def _function(head: str, *body: str) -> str:
    return "\n    ".join((f"@inner\ndef {head}:", *body))


def _tuple(item: str, size: int) -> str:
    """A tuple of `size` items; {i} in the item is its number."""
    return f"({', '.join(item.format(i=i) for i in range(size))},)"


def _equal(k: int, nulls: bool) -> str:
    """Whether the fields of two states are equal, NaN to itself; or none of them has a value."""
    fields = [f"(a[{i}] == b[{i}] or (a[{i}] != a[{i}] and b[{i}] != b[{i}]))" for i in range(k)]
    return " and ".join([*fields, f"(a[{k}] > 0) == (b[{k}] > 0)"] if nulls else fields)


def _inverses(monoid: Monoid | RowAlgebra, *body: str) -> list[str]:
    return [_function("invert(a, b, into)", *body)] if monoid.minus else []


def _emit(monoid: Monoid, state: str, *before: str) -> str:
    """Write an answer of one number, or of several."""
    more = "".join(f", {value!r}" for value in monoid.constants)
    n = len(monoid.outputs)
    writes = [f"out[{i}][i] = answer_{'' if n == 1 else f'[{i}]'}" for i in range(n)]
    answer = f"answer_ = {monoid.answer}({state}{more})"
    return _function("emit(out, valid, i, s)", *before, answer, *writes)
