"""embed: the text behaves as the functions do, is the same everywhere, and is cached by Numba."""

from __future__ import annotations

import functools
import math
import operator
import os
import subprocess
import sys
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow
from windrow.kernels.functions import NotEmbeddable, embed

SCALE = 2.5
PAIR = (3, -0.0)
KIND = np.float32
TABLE = {"a": 1}
GREATER = max


def embedded(function: Callable[..., Any]) -> Any:
    """`function`, by way of its text, run as a module."""
    module = ModuleType("embedded_for_test")
    module.__file__ = "embedded_for_test.py"
    sys.modules[module.__name__] = module
    exec(embed({"function": function}), vars(module))
    return module.function


def run(program: str, *, folder: Path, seed: int = 0) -> str:
    """What a new process prints that runs `program` in `folder`."""
    paths = [str(folder), str(Path(windrow.__file__).parents[1])]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    environment |= {"PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def gcd(a, b):
    return a if b == 0 else gcd(b, a % b)


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


def scaled(x):
    return x * SCALE


@numba.njit(error_model="numpy")
def ratio(a, b):
    return a / b


def closing(weight, helper):
    return lambda a, b: helper(a) + weight * b


def countdown():
    def down(n):
        return 0 if n == 0 else down(n - 1)

    return down


def looping(x, times=3, step=2):
    """A loop, a branch, a docstring and defaults."""
    total = 0.0
    for i in range(times):
        if i % 2:
            total += x * step
    return total


def many(*values):
    return values[0] + values[-1]


def comprehended(x):
    return sum([x * SCALE * i for i in range(4)])


# Several lambdas on one line, and in one call, on purpose: their sources cannot be told apart.
one, two = (lambda x: x + 1), (lambda x: x + 2)

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "first lambda of a line": (one, (5,)),
    "second lambda of a line": (two, (5,)),
    "tuples": (lambda a, b: (min(a[0], b[0]), a[1] + b[1]), ((1, 2.0), (0, 3.0))),
    "global constant": (lambda x: x * SCALE, (4.0,)),
    "global tuple": (lambda x: x * PAIR[0] + PAIR[1], (4.0,)),
    "global type": (lambda x: KIND(x), (0.1,)),
    "global name of a built-in": (lambda a, b: GREATER(a, b), (1, 2)),
    "math": (lambda x: math.sqrt(x) + math.inf, (2.0,)),
    "function of math": (lambda x: sqrt(x), (2.0,)),
    "numpy": (lambda a, b: np.maximum(a, b) + np.pi, (1.0, 2.0)),
    "closure": (closing(0.25, scaled), (1.0, 2.0)),
    "closure of a lambda": (closing(0.25, lambda x: x - SCALE), (1.0, 2.0)),
    "helper": (lambda a, b: scaled(a) + scaled(b), (1.0, 2.0)),
    "compiled helper, its options": (lambda a, b: ratio(a, b), (1.0, 0.0)),
    "compiled function": (numba.njit(scaled), (3.0,)),
    "recursion": (gcd, (48, 36)),
    "recursion of a helper": (lambda a, b: gcd(a, b), (48, 36)),
    "mutual recursion": (lambda n: even(n), (7,)),
    "recursion by a closure": (countdown(), (4,)),
    "defaults": (looping, (1.5,)),
    "star arguments": (many, (1, 2, 3)),
    "comprehension": (comprehended, (2.0,)),
    "max": (max, (2, 3)),
    "min": (min, (2, 3)),
    "float": (float, (2,)),
    "abs": (abs, (-2.0,)),
    "operator.add": (operator.add, (2, 3)),
    "math.gcd": (math.gcd, (4, 6)),
    "math.log": (math.log, (4.0,)),
    "np.float32": (np.float32, (0.1,)),
    "np.maximum": (np.maximum, (4.0, 6.0)),
}


@pytest.mark.parametrize("case", CASES)
def test_an_embedded_function_answers_as_the_original(case: str) -> None:
    function, arguments = CASES[case]
    expected = function(*arguments)
    assert embedded(function)(*arguments) == expected


@pytest.mark.parametrize("case", CASES)
def test_an_embedded_function_answers_as_the_original_once_compiled(case: str) -> None:
    function, arguments = CASES[case]
    compiled = numba.njit(embedded(function))
    assert compiled(*arguments) == function(*arguments)
    assert compiled.nopython_signatures


def test_keyword_defaults_are_kept() -> None:
    def keyword(x, *, step=2, times=(1, 2)):
        return x * step + times[1]

    assert embedded(keyword)(3) == 8
    assert embedded(keyword)(3, step=1, times=(0, 0)) == 3


def test_functions_that_mean_different_things_by_one_name_do_not_meet() -> None:
    made: dict[str, Any] = {}
    for name, scale in (("lift", 2), ("lower", 3)):
        made[name] = eval("lambda x: x * SCALE + helper(x)", {"SCALE": scale, "helper": one})
        made[name].__globals__["helper"] = eval("lambda x: x + SCALE", {"SCALE": 10 * scale})
    names: dict[str, Any] = {"__name__": "generated", "__file__": "generated.py"}
    exec(embed(made), names)
    assert [names["lift"](1), names["lower"](1)] == [2 + 21, 3 + 31]


def test_an_embedded_function_is_of_the_generated_file() -> None:
    function = embedded(comprehended)
    codes = [c for c in function.__code__.co_consts if hasattr(c, "co_code")]
    for code in (function.__code__, *codes):
        assert code.co_filename == "embedded_for_test.py"
        assert {line for _, _, line in code.co_lines()} == {1}


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.complex_numbers(),
    st.integers(-128, 127).map(np.int8),
    st.integers(0, 2**64 - 1).map(np.uint64),
    st.floats(width=32).map(np.float32),
    st.floats().map(np.float64),
    st.booleans().map(np.bool),
    st.sampled_from([np.float64, np.dtype("f4"), float, math, np.linalg, math.sqrt, np.hypot]),
)


@given(st.recursive(scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6))
def test_a_captured_constant_comes_back_as_it_was(constant: Any) -> None:
    returned = embedded(lambda: constant)()
    assert repr(returned) == repr(constant)  # tells -0.0 from 0.0, and nan is nan
    assert type(returned) is type(constant)


def test_a_constant_that_changes_changes_the_text() -> None:
    values = (0, 1, 1.0, True, "1", -0.0, 0.0, math.nan, math.inf, None, (1,), np.int64(1))
    assert len({embed({"lift": lambda x, v=value: (x, v)}) for value in values}) == len(values)
    assert len({embed({"lift": lambda x: (x, value)}) for value in values}) == len(values)  # noqa: B023
    bodies = [f"lambda x: x + {constant}" for constant in (1, 2, 1.0)]
    assert len({embed({"lift": eval(body)}) for body in bodies}) == len(bodies)


def test_the_place_of_a_function_does_not_change_the_text() -> None:
    body = "lambda x: [x + i for i in (1, 2)]"
    sources = [body, f"(\n\n        {body})"]
    texts = {embed({"lift": eval(compile(s, f"{len(s)}.py", "eval"))}) for s in sources}
    assert len(texts) == 1


USER_MODULE = """
import math
import numpy as np

NAMES = ("count", "mean", np.float32(0.1))

def least(a, b):
    return a if a < b else b

def closing(weight, helper):
    return lambda a, b: helper(a, 6) + weight * b

FUNCTIONS = {
    "lift": lambda x: x + 1, "lower": lambda x: x + 2,
    "combine": closing(2, least),
    "spelt": lambda x: x in {"one", "two", "three", "four"} or NAMES[0] == x or math.nan,
    "widest": max,
}
"""


def user_functions() -> dict[str, Callable[..., Any]]:
    names: dict[str, Any] = {}
    exec(compile(USER_MODULE, "mine.py", "exec", dont_inherit=True), names)
    return names["FUNCTIONS"]


def test_the_text_is_the_same_in_every_process(tmp_path: Path) -> None:
    program = "import mine, windrow.kernels.functions as f; print(f.embed(mine.FUNCTIONS), end='')"
    texts = []
    for seed, name in enumerate(("here", "elsewhere", "here")):  # the last one reads mine's .pyc
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "mine.py").write_text(USER_MODULE)
        texts.append(run(program, folder=folder, seed=seed))
    assert texts[0] == texts[1] == texts[2]
    assert str(tmp_path) not in texts[0]
    assert embed(user_functions()) == texts[0]


KERNEL = """
import numba

lift = numba.njit(cache=CACHEABLE)(lift)
lower = numba.njit(cache=CACHEABLE)(lower)
combine = numba.njit(combine)


@numba.njit(cache=CACHEABLE)
def total(values):
    state = lift(values[0])
    for value in values[1:]:
        state = combine(state, lift(value))
    return lower(state)
"""


def test_numba_finds_embedded_functions_in_its_cache(tmp_path: Path) -> None:
    functions = user_functions()
    functions = {name: functions[name] for name in ("lift", "combine", "lower")}
    (tmp_path / "generated.py").write_text(embed(functions) + KERNEL)
    program = """if True:
        import generated as g, numpy as np
        print(g.total(np.arange(4)), g.lift(1), g.lower(1))
        print(*(sum(f.stats.cache_hits.values()) for f in (g.total, g.lift, g.lower)))
        print(len(g.combine.signatures))
    """
    answers, hits, _ = run(program, folder=tmp_path).splitlines()
    assert answers.split()[1:] == ["2", "3"]  # equal bytecode, other constants
    assert hits == "0 0 0"
    assert list((tmp_path / "__pycache__").glob("generated.total-*.nbc"))
    assert run(program, folder=tmp_path).splitlines() == [answers, "1 1 1", "0"]


@pytest.mark.parametrize(
    ("case", "cacheable"),
    [
        ("helper", True),
        ("compiled helper, its options", True),
        ("recursion", False),
        ("recursion of a helper", False),
        ("mutual recursion", False),
        ("recursion by a closure", False),
    ],
)
def test_the_text_says_that_calls_of_recursive_functions_cannot_be_cached(
    case: str, cacheable: bool
) -> None:
    function, _ = CASES[case]
    assert embed({"first": scaled, "combine": function}).endswith(f"\nCACHEABLE = {cacheable}\n")


def generator(x):
    yield x


async def coroutine(x):
    return x


async def asynchronous(x):
    yield x


def keywords(x, **rest):
    return x


def counting(x):
    global SCALE
    SCALE = x
    return x


def looked_up(x):
    return TABLE[x]


def unset():
    def inner(x):
        return x + later

    if unset is None:
        later = 1
    return inner


class Instance:
    def __call__(self, x: Any) -> Any:
        return x

    def method(self, x: Any) -> Any:
        return x


END = ", which cannot become part of compiled code"
REFUSED: list[tuple[Any, str]] = [
    (lambda a, b: TABLE[a], f"combine refers to 'TABLE', a dict{END}"),
    (lambda a, b: looked_up(a), f"combine's helper looked_up refers to 'TABLE', a dict{END}"),
    (closing([1], scaled), f"combine refers to 'weight', a list{END}"),
    (closing((1, [2]), scaled), f"combine refers to 'weight', a list{END}"),
    (closing(np.ones(2), scaled), f"combine refers to 'weight', a ndarray{END}"),
    (closing(1, functools.partial(gcd, 1)), f"combine refers to 'helper', a partial{END}"),
    (closing(1, generator), f"combine's helper helper is a generator function{END}"),
    (closing(1, Instance), f"combine refers to 'helper', a class{END}"),
    (closing(1, Instance()), f"combine refers to 'helper', an Instance{END}"),
    (
        lambda a, b: windrow.Sum,
        f"combine refers to 'windrow', a module{END} (import by name what is used of it)",
    ),
    (lambda a, b: absent, "combine refers to 'absent', which is not defined"),  # noqa: F821
    (unset(), "combine refers to 'later', which is not defined"),
    (lambda a, b=[]: a, f"combine's parameter 'b' defaults to a list{END}"),
    (lambda a, *, b=TABLE: a, f"combine's parameter 'b' defaults to a dict{END}"),
    (lambda a, b=gcd: a, f"combine's parameter 'b' defaults to a function{END}"),
    (generator, f"combine is a generator function{END}"),
    (coroutine, f"combine is a coroutine function{END}"),
    (asynchronous, f"combine is an asynchronous generator function{END}"),
    (keywords, f"combine takes any keyword arguments (**){END}"),
    (counting, "combine changes the global 'SCALE', which compiled code cannot do"),
    (functools.partial(gcd, 1), f"combine is a partial{END}"),
    (Instance(), f"combine is an Instance{END}"),
    (Instance, f"combine is a class{END}"),
    (Instance().method, f"combine is a method{END}"),
    (
        getattr,
        (
            "combine is getattr, which does not say how many arguments it takes: "
            "write a function that calls getattr"
        ),
    ),
]


@pytest.mark.parametrize(("function", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_what_cannot_be_embedded_is_refused_by_name(function: Any, reason: str) -> None:
    with pytest.raises(NotEmbeddable) as refusal:
        embed({"combine": function})
    assert str(refusal.value) == reason
