"""Compiled code that leaves little memory behind.

LLVM's engine (MCJIT) keeps the machine code of a function for as long as the process runs, so
functions are compiled in the form that leaves least behind, and what need not stay is freed.
Of an aggregation of the user's own there stays, once its loop is let go of,

                                                       compiled here    loaded from disk
    at first                                                 22.8 MB              2.7 MB
    with the pass managers freed                              5.1 MB              0.8 MB
    without wrappers for Python around inner functions        2.4 MB              0.5 MB
    with modules emptied, so that Numba can free them         0.9 MB              0.1 MB
"""

from __future__ import annotations

from typing import Any

from llvmlite.binding import ffi, newpassmanagers

# Options of `njit` for a function that only compiled code calls. Python must not: it would crash.
INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def free_pass_managers() -> None:
    """Let llvmlite free the pass managers that each compilation makes.

    Its two classes inherit from `ObjectRef`, whose `_dispose` does nothing,
    before they inherit from `NewPassManager`, whose `_dispose` frees them, and so never do. Nothing
    is changed where a class has a `_dispose` that does something.
    """
    for manager in (newpassmanagers.ModulePassManager, newpassmanagers.FunctionPassManager):
        if manager._dispose is ffi.ObjectRef._dispose:
            manager._dispose = newpassmanagers.NewPassManager._dispose


free_pass_managers()
