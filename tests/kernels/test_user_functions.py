"""A user's functions mean the same compiled and interpreted, or an error or a warning says so."""

from __future__ import annotations

import inspect
import itertools
import math
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pytest

from windrow import aggregation, aggregator, rolling, sliding
from windrow.aggregations.custom import Custom
from windrow.kernels import checked
from windrow.kernels.compiled_states import compiled_state
from windrow.kernels.functions import NotCompilable, embed
from windrow.kernels.routes import NotCompiledWarning
from windrow.kernels.user_functions import user_function

BIG = 2**62
INTEGERS = [0, 1, -1, 2, 3, -3, 7, 10, 62, 63, 64, 2**31, 2**53, 2**53 + 1, -(2**53) - 1, BIG,
            BIG + 1, 2**63 - 1, -(2**63)]  # fmt: skip
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.0, 0.1, 1e-300, 2.0**53, 2.0**62, 2.0**63, 1e200,
          1e308, math.inf, -math.inf, math.nan]  # fmt: skip
SCALE = 3


def helper(x):
    return x * SCALE


# -- the catalogue: a function of the state, which is the sum of the window ----------------------


def early(s):
    if s > 3:
        return 1
    return 0


def loop(s):
    total = 0
    for i in range(5):
        total += i * s
    return total


def halves(s):
    total = 0
    for _ in range(3):
        total += 0.5
    return total + s


def unbound(s):
    if s > 3:
        found = 1
    return found


def mixed(s):
    return s if s > 3 else 0.5


def importing(s):
    import math as mathematics

    return mathematics.floor(s)


def catching(s):
    try:
        return 1 / s
    except ZeroDivisionError as error:
        return float(len(error.args))


def catching_all(s):
    try:
        return 1 / s
    except Exception:
        return 0.0


def starred(s):
    first, *rest = (s, s, s)
    return first + len(rest)


def matching(s):
    match s:
        case 3:
            return 1
        case _:
            return 0


def deleting(s):
    table = {1: 2, 3: 4}
    del table[1]
    return len(table)


def formatting(s):
    return float(f"{s:.2f}")


def raising(s):
    if s > 1e9:
        raise ValueError("too large")
    return s


def recursive(n):
    return 0 if n <= 0 else 1 + recursive(n - 1)


def asserting(s):
    assert s < 1e9
    return s


def walrus(s):
    return (y := s + 1) * y


def with_list(s):
    values = [s, 1, 2]
    values.append(3)
    return values[-1] + len(values)


def generating(s):
    return sum(x for x in (s, 1, 2))


LOWERS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda s: s,
    "double": lambda s: s + s,
    "square": lambda s: s * s,
    "cube": lambda s: s**3,
    "power of a negative": lambda s: s**-1,
    "root": lambda s: s**0.5,
    "power": lambda s: 2**s,
    "shift": lambda s: s << 3,
    "shift back": lambda s: s >> 70,
    "invert": lambda s: ~s,
    "negative": lambda s: -s,
    "negated comparison": lambda s: -(s > 3),
    "inverted comparison": lambda s: ~(s > 3),
    "int": lambda s: int(s),
    "float": lambda s: float(s),
    "round": lambda s: round(s),
    "round to digits": lambda s: round(s / 7, 2),
    "floor": lambda s: math.floor(s),
    "sqrt": lambda s: math.sqrt(s),
    "divide": lambda s: s / 3,
    "divide by": lambda s: 1 / s,
    "floor divide": lambda s: s // 7,
    "floor divide by": lambda s: 7 // s,
    "modulo": lambda s: s % 7,
    "modulo of a negative": lambda s: s % -7,
    "divmod": lambda s: divmod(s, 7),
    "compare with a float": lambda s: s == float(s),
    "less than a float": lambda s: s < 9007199254740993.5,
    "chain": lambda s: 0 < s < 10,
    "min": lambda s: min(s, 3),
    "max of three": lambda s: max(s, 2, 3.5),
    "min of a tuple": lambda s: min((s, 3)),
    "max with a key": lambda s: max(s, 3, key=lambda x: -x),
    "sum of a tuple": lambda s: sum((s, 1, 2)),
    "sorted": lambda s: sorted((s, 1, 2))[0],
    "len of str": lambda s: len(str(s)),
    "repr": lambda s: repr(s),
    "hash": lambda s: hash(s),
    "type": lambda s: type(s).__name__,
    "isinstance": lambda s: isinstance(s, int),
    "is": lambda s: s is SCALE,
    "is none": lambda s: s is None,
    "none": lambda s: None if s > 3 else s,
    "in": lambda s: s in (1, 2, 3),
    "set": lambda s: len({s, 1, 2}),
    "dict": lambda s: {1: 2}.get(s, 0),
    "bounds": lambda s: np.arange(3)[int(s)],
    "bounds of a tuple": lambda s: (1, 2, 3)[int(s)],
    "array": lambda s: np.zeros(3)[0] + s,
    "array sum": lambda s: np.array([s, 1, 2]).sum(),
    "array arithmetic": lambda s: (np.arange(3) + s)[0],
    "float32": lambda s: np.float32(s) + 0.1,
    "int8": lambda s: np.int8(3) + s,
    "int64": lambda s: np.int64(s),
    "numpy sqrt": lambda s: np.sqrt(s),
    "numpy maximum": lambda s: np.maximum(s, 3),
    "large constant": lambda s: s + 2**63,
    "complex": lambda s: abs(complex(s, 1)),
    "string": lambda s: "a" * 3 == "aaa",
    "early": early,
    "loop": loop,
    "halves": halves,
    "unbound": unbound,
    "mixed": mixed,
    "import": importing,
    "except as": catching,
    "except": catching_all,
    "starred": starred,
    "match": matching,
    "del": deleting,
    "format": formatting,
    "raise": raising,
    "recursion": recursive,
    "assert": asserting,
    "walrus": walrus,
    "list": with_list,
    "comprehension": lambda s: [s + i for i in range(3)][1],
    "generator": generating,
    "helper": lambda s: helper(s) + 1,
    "closure": (lambda k: lambda s: s * k)(5),
    "operator": operator.neg,
    "builtin": float,
    "several": lambda s: (s, s / 2),
    "random": lambda s: s + len(set("ab")),
    "eval": lambda s: eval("s + 1"),
    "print": lambda s: print(end="") or s,
    "lambda inside": lambda s: (lambda x: x + 1)(s),
    "star arguments": lambda s: max(*(s, 3)),
    "method": lambda s: s.bit_length(),
    "is_integer": lambda s: float(s).is_integer(),
}  # fmt: skip
COMBINES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "operator": operator.add,
    "multiply": lambda a, b: a * b,
    "max": max,
    "min": min,
    "float max": lambda a, b: max(a, b, 0.5),
    "numpy": np.maximum,
    "numpy add": np.add,
    "mean of floats": lambda a, b: (a + b) / 2,
    "last": lambda a, b: b,
    "gcd": lambda a, b: math.gcd(int(a), int(b)),
    "hypot": math.hypot,
    "or": lambda a, b: a or b,
    "bits": lambda a, b: int(a) | int(b),
}
COLUMNS = {
    "large": np.array([BIG, BIG, 1, 2**53 + 1, -3, 0]),
    "odd": np.array([2.5, 1e308, 1e308, math.nan, math.inf, -math.inf, 2.0]),
}


def of(**functions: Any) -> Custom:
    """The sum, with other functions for some of its own."""
    given: Any = {"lift": lambda v: v, "combine": lambda a, b: a + b, "lower": lambda s: s}
    return aggregation(**{**given, **functions})


def interpreted(agg: Custom, values: np.ndarray[Any, Any]) -> list[Any] | None:
    """What Python answers for windows of two rows; None if it raises."""
    swag = aggregator(agg, algorithm="two_stacks")
    made = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of NumPy's own numbers
            for value in values.tolist():
                if len(swag) == 2:
                    swag.evict()
                swag.insert(value)
                made.append(swag.query())
    except Exception:
        return None
    return made


def equal(a: Any, b: Any) -> bool:
    """Whether two results are equal; functions of the C library may differ in the last digit."""
    if isinstance(a, type | str) or isinstance(b, str):
        return bool(a == b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, float) and isinstance(b, float | np.floating):
        return a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=4e-16)
    return bool(a == b)


def embedded(function: Callable[..., Any]) -> Any:
    """A function of the user's as the compiled loops have it; not compiled yet."""
    scope = {"__name__": "embedded", "__file__": "embedded.py"}
    exec(embed({"function": function}, f"{user_function.__module__}.user_function"), scope)
    return user_function(scope["function"])


FUNCTIONS = {
    **{f"lower: {name}": (function, 1) for name, function in LOWERS.items()},
    **{f"combine: {name}": (function, 2) for name, function in COMBINES.items()},
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_pythons_or_raises_or_is_refused(name: str) -> None:
    function, arity = FUNCTIONS[name]
    for kind, values in ((numba.int64, INTEGERS), (numba.float64, FLOATS)):
        try:
            machine = embedded(function)
            machine.compile((kind,) * arity)
        except Exception:  # it runs in the interpreter
            continue
        for arguments in itertools.product(values, repeat=arity):
            got = outcome(machine, arguments)
            if not isinstance(got, type):
                expected = outcome(function, arguments)
                assert equal(expected, got), f"{arguments!r}: {got!r} for {expected!r}"


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("name", ["add", "float max", "gcd"])
def test_rolling_is_interpreted_or_an_error(name: str, column: str) -> None:
    agg, values = of(combine=COMBINES[name]), COLUMNS[column]
    expected, failed = interpreted(agg, values), None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            got = rolling(values, agg, rows=2).tolist()
        except Exception as error:
            failed = error
    told = [each.category for each in caught if each.category is not RuntimeWarning]
    assert told in ([], [NotCompiledWarning])
    if failed is not None:
        assert repr(agg) in failed.__notes__[0]
        return
    assert expected is not None, f"Python raises, and compiled it gave {got}"
    assert len(got) == len(expected) and all(map(equal, expected, got)), (got, expected)


@pytest.mark.parametrize(
    "name",
    ["import", "except as", "except", "starred", "format", "del", "eval", "generator", "dict",
     "recursion", "len of str", "method", "print", "float32", "large constant"],
)  # fmt: skip
def test_what_does_not_compile_warns_once_and_runs(name: str) -> None:
    agg, values = of(lower=LOWERS[name]), np.array([3, 1, 4])
    with pytest.warns(NotCompiledWarning, match="runs in the interpreter") as caught:
        assert rolling(values, agg, rows=2).tolist() == interpreted(agg, values)
    assert len(caught) == 1
    assert caught[0].filename == __file__, "the warning points at the user's line"


@pytest.mark.parametrize(
    "name", ["itself", "square", "cube", "early", "loop", "helper", "closure", "sqrt", "divide",
             "max of three", "bounds", "match", "several", "int", "halves", "raise"],
)  # fmt: skip
def test_ordinary_functions_stay_compiled(name: str) -> None:
    for dtype in ("int64", "float64"):
        assert compiled_state(of(lower=LOWERS[name]), [dtype]) is not None


def test_integers_do_not_wrap() -> None:
    with pytest.raises(OverflowError, match="exceeds int64") as caught:
        rolling(np.array([BIG, BIG, BIG]), of(), rows=3)
    assert "at row 1, whose value is 4611686018427387904" in caught.value.__notes__[0]


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """What a function returns, or the type of what it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return function(*arguments)
    except Exception as error:
        return type(error)


OF_TWO = (
    min, max, pow, divmod, math.gcd, math.atan2, math.hypot, math.copysign, math.fmod, math.pow,
    operator.and_, operator.or_, operator.xor,
)  # fmt: skip


def scalar_functions() -> dict[str, tuple[Any, int]]:
    """Every function that compiled code may call, with how many numbers it takes."""
    found = {}
    for function in (*checked.REPLACED, *checked.SAME):
        name = f"{getattr(function, '__module__', '')}.{function.__name__}"
        if isinstance(function, np.ufunc):
            found[name] = function, function.nin
        elif function in OF_TWO or (
            function.__module__ == "_operator"
            and len(inspect.signature(function).parameters) == 2
            and function is not operator.getitem
        ):
            found[name] = function, 2
        elif function in checked.REPLACED or function in (bool, float, np.float64, math.isnan):
            found[name] = function, 1
    return found


def known_functions() -> Iterator[Any]:
    """Yield them with the values of their arguments; those of two types are slow to compile."""
    for name, (function, arity) in sorted(scalar_functions().items()):
        alike = [(kind,) * arity for kind in (INTEGERS, FLOATS)]
        yield pytest.param(function, alike, id=name)
        if arity == 2:
            mixed = [(INTEGERS, FLOATS), (FLOATS, INTEGERS)]
            yield pytest.param(function, mixed, id=f"{name}, mixed", marks=pytest.mark.slow)


@pytest.mark.parametrize(("function", "kinds"), list(known_functions()))
def test_every_known_function_is_pythons_or_raises(function: Any, kinds: list[Any]) -> None:
    one = len(kinds[0]) == 1
    compiled_ = user_function((lambda a: function(a)) if one else (lambda a, b: function(a, b)))
    for values in kinds:
        for arguments in itertools.product(*values):
            got = outcome(compiled_, arguments)
            if isinstance(got, type):
                if issubclass(got, TypeError | NotCompilable):  # no function of such types
                    break
                continue
            expected = outcome(function, arguments)
            if isinstance(expected, tuple):
                assert equal(expected, got), (arguments, got, expected)
            elif isinstance(expected, float | np.floating):
                assert equal(float(expected), float(got)), (arguments, got, expected)
                assert (
                    isinstance(function, np.ufunc)
                    or math.copysign(1, got) == math.copysign(1, expected)
                    or got != got
                ), arguments
            else:
                assert expected == got, (arguments, got, expected)


# -- nothing is substituted silently -------------------------------------------------------------

TABLE = pa.table({"key": ["a", "a", "b"], "t": [1, 2, 3], "x": [1, 0, 2]})


def test_tables_warn_as_arrays_do() -> None:
    texts = of(lower=lambda s: len(str(s)))
    query = sliding(partition_by="key", order_by="t", rows=2, n=texts("x"))
    with pytest.warns(NotCompiledWarning, match="it calls str") as caught:
        assert query(TABLE)["n"].to_pylist() == [1, 1, 1]
    assert [str(each.category.__name__) for each in caught] == ["NotCompiledWarning"]
    assert caught[0].filename == __file__
    assert "interpreted" in query.explain(TABLE)


@pytest.mark.parametrize("lower", [lambda s: 1 / s, lambda s: 1 / int(str(s))])
@pytest.mark.filterwarnings("ignore::windrow.kernels.routes.NotCompiledWarning")
def test_an_error_names_the_aggregation_the_row_and_the_key(lower: Any) -> None:
    inverse = of(lower=lower)
    query = sliding(partition_by="key", order_by="t", rows=1, y=inverse("x"))
    with pytest.raises(ZeroDivisionError) as caught:
        query(TABLE)
    (note,) = caught.value.__notes__
    assert repr(inverse("x")) in note
    assert note.endswith("at the row {'key': 'a', 't': 2, 'x': 0}")
    for algorithm in ("auto", "daba"):
        with pytest.raises(ZeroDivisionError) as caught:
            rolling(np.array([1, 0, 2]), inverse, rows=1, algorithm=algorithm)
        (note,) = caught.value.__notes__
        assert repr(inverse) in note and "at row 1" in note
