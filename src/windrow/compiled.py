"""Functions compiled to machine code when first called, and kept on disk for the next process.

All that windrow compiles goes through here, so one place decides where machine code lies and whom
it is trusted from:

    <cache>/<digest>.code    a checksum, and the machine code of one function for one signature
    <cache>/<digest>.lock    held by the process that compiles it, while others wait for it

The digest covers all that the code depends on: the function and what it calls, the signature, the
versions, the processor. So a directory may be copied to another user, or into an image. It belongs
to one user, who alone may write to it: machine code is run as it is.

What lies there is only a copy. A file that is missing or damaged is made anew, and where nothing
can be written functions are compiled in every process, with one warning.

LLVM's engine (MCJIT) frees nothing before it is freed itself, and Numba has one for the process. So
whatever is compiled, and every loop of an aggregation, has an engine of its own, and is compiled in
the form that leaves least behind. Of an aggregation of the user's own there stays

                                                       compiled here    loaded from disk
    at first                                                 22.8 MB              2.7 MB
    with the pass managers freed                              5.1 MB              0.8 MB
    without wrappers for Python around inner functions        2.4 MB              0.5 MB
    with modules emptied, so that Numba can free them         1.0 MB              0.1 MB
    with an engine for each, and no passes over declarations  0.2 MB              0.05 MB

once its loop is let go of; before, a loop has 0.4 MB, and had 3. The last 0.2 MB are 1.5 kB for
each of the 80 runs of LLVM's passes, which llvmlite never frees.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import sys
import tempfile
import threading
import time
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakSet, WeakValueDictionary

import llvmlite
import numba
from llvmlite.binding import ffi, newpassmanagers
from numba._dynfunc import make_function
from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler, CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment
from numba.core.registry import cpu_target
from numba.core.serialize import dumps
from numba.core.types import Dispatcher, unliteral

from windrow.identity import digest_of

# Options for a function that only compiled code calls. Python must not: it would crash.
INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
SILENT = 2.0  # seconds of compiling after which the user is told
PATIENCE = 120.0  # seconds to wait for another process that compiles the same
_CHECKSUM = hashlib.sha256().digest_size
_loading = threading.Lock()
# The functions `run` of generated modules that somebody keeps, by the names of their modules.
loaded: WeakValueDictionary[str, Any] = WeakValueDictionary()
# The engines whose functions somebody keeps.
engines: WeakSet[Any] = WeakSet()


def compiled(function: Any = None, *, cached: bool = True, **options: Any) -> Any:
    """Return a function that is compiled for the types that it is called with.

    It runs in any thread, without Python's lock. `options` are those of `numba.njit`.

    >>> compiled(lambda a, b: a + b)(1, 2)
    3
    """
    if function is None:
        return functools.partial(compiled, cached=cached, **options)
    dispatcher = numba.njit(**{"nogil": True, "no_cfunc_wrapper": True, **options})(function)
    dispatcher.compiled_with = repr(sorted(options.items()))
    dispatcher.get_call_template = functools.partial(_call_template, dispatcher.get_call_template)
    if cached:  # compiled code must not call it: its copy has the names of another process
        dispatcher._cache = _Copies(function, options)
        dispatcher.compile = functools.partial(_compile, dispatcher, dispatcher.compile)
    return dispatcher


def inner(function: Any = None, *, apart: bool = False, **options: Any) -> Any:
    """Return a function that only compiled functions call, and that becomes part of them.

    It is optimised within the functions that call it, where the compiler knows what it is called
    with. One that is faster without this knowledge is optimised `apart`, before that.
    """
    part = _PartApart if apart else _Part
    return compiled(function, cached=False, pipeline_class=part, **INNER, **options)


def _compile(dispatcher: Any, original: Any, signature: Any) -> Any:
    """Compile or load a function, and return its entry point; then let waiting processes go on.

    What was compiled gives way to a copy of its machine code, without all that the compiler needed
    on the way to it: 0.4 MB instead of 3 for a loop.
    """
    copies, context = dispatcher._cache, dispatcher.targetctx
    with global_compiler_lock:
        try:
            entry = original(signature)
        finally:
            copies.release()
        copy = copies.last_compiled(context)
        if copy is None:
            return entry
        context.remove_user_function(entry)
        context.insert_user_function(copy.entry_point, copy.fndesc, [copy.library])
        others = [o for o in dispatcher.overloads.values() if o.entry_point is not entry]
        dispatcher.overloads.clear()
        dispatcher._clear()
        for overload in (*others, copy):
            dispatcher.add_overload(overload)
        return copy.entry_point


def _call_template(original: Any, arguments: Any, keywords: Any) -> Any:
    """Return what compiled code calls: a constant argument does not make another function."""
    plain: Any = unliteral
    kinds = {name: plain(kind) for name, kind in keywords.items()}
    return original(tuple(map(plain, arguments)), kinds)


def run_of(text: str) -> Any:
    """Return the compiled function `run` of a generated module whose source is `text`.

    Whoever asks for the same text gets the same function, as long as somebody keeps it; then it is
    freed, and the module with it.
    """
    name = f"windrow_generated_{_digest(text)}"
    with _loading:
        run = loaded.get(name)
        if run is None:
            run = loaded[name] = _built(name, text)
        return run


def _built(name: str, text: str) -> Any:
    """Return the function `run` of a new module, compiled, and without the module.

    Numba asks `sys.modules` for the module while it compiles. It keeps what a compiled function's
    globals hold for as long as these hold the function itself: for ever, if they are not emptied.
    """
    module = types.ModuleType(name)
    module.__file__ = f"<{name}>"
    sys.modules[name] = module
    try:
        with own_engine():
            exec(compile(text, module.__file__, "exec"), vars(module))
        return module.run
    finally:
        del sys.modules[name]
        vars(module).clear()


# -- engines -------------------------------------------------------------------------------------


class _Library(JITCodeLibrary):
    """The code of one function, in an engine that is not Numba's own."""

    _codegen: Any

    def _optimize_functions(self, module: Any) -> None:
        """Optimize what is defined. Numba makes a pass manager for each declaration too."""
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                manager, builder = self._codegen._function_pass_manager()
                manager.run(function, builder)

    def _finalize_specific(self) -> None:
        """Give functions of other engines that became part of this one their environments."""
        super()._finalize_specific()
        names = [variable.name for variable in self._final_module.global_variables]
        known = [lookup_environment(name) for name in names if name.startswith("_ZN08NumbaEnv")]
        self._environments = [e for e in known if e is not None]  # the code points to them
        for environment in self._environments:
            self._codegen.set_env(environment.env_name, environment)


class _Engine(JITCPUCodegen):
    """Numba's engine, of which there may be several."""

    _library_class = _Library


@contextlib.contextmanager
def own_engine() -> Iterator[None]:
    """Compile with an engine of its own, freed with the last function that it has made."""
    context = cpu_target.target_context
    with global_compiler_lock:
        outer = context._internal_codegen
        context._internal_codegen = _Engine("windrow")
        engines.add(context._internal_codegen)
        try:
            yield
        finally:
            context._internal_codegen = outer
            _forget_dispatchers(context)


def _forget_dispatchers(context: Any) -> None:
    """Drop what Numba remembers of functions as values, which it keeps when they are gone."""
    models = context.data_model_manager._cache.data
    for reference in [ref for ref in models if isinstance(ref(), Dispatcher)]:
        del models[reference]
    constants = context._get_constants._cache
    for key in [key for key in constants if isinstance(key[0], Dispatcher)]:
        del constants[key]


# -- functions that become part of others ---------------------------------------------------------


class _Part(Compiler):
    """Numba's compiler for a function that only compiled functions call.

    Numba makes machine code of every function, though that of an inner one is never run: whoever
    calls it takes in its LLVM module, and is optimised and made into machine code as a whole. Here
    the module is all that is made, in half the time.
    """

    apart = False

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        super().__init__(typing, target, library, *rest)
        self.state.flags.no_compile = True
        self.state.library = _Module(_parts(), self.apart)

    def compile_extra(self, function: Any) -> Any:
        """Compile, and register with Numba the object by which callers find the module."""
        result = super().compile_extra(function)
        about, module = result.fndesc, result.fndesc.lookup_module()
        key = make_function(module, about.qualname, "", 0, result.environment, (result.library,))
        result.target_context.insert_user_function(key, about, [result.library])
        return result._replace(entry_point=key)


@functools.cache
def _parts() -> Any:
    """The engine of all parts, which makes no machine code; no other is kept for their sake."""
    return _Engine("windrow parts")


class _PartApart(_Part):
    """The compiler for such a function that is optimised before it becomes part of another."""

    apart = True


class _Module(_Library):
    """A function and those that it calls, to be linked into another one's module."""

    def __init__(self, codegen: Any, optimised: bool) -> None:
        super().__init__(codegen, "part")
        self._optimised = optimised

    def finalize(self) -> None:
        """Link in what the function calls, and stop before there is machine code."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        if self._optimised:
            self._optimize_final_module()
        self._finalize_dynamic_globals()
        self._finalized = True

    def _optimize_functions(self, module: Any) -> None:
        if self._optimised:
            super()._optimize_functions(module)
        else:
            module.data_layout = self._codegen._data_layout


# -- copies on disk ------------------------------------------------------------------------------


class _Copies(NullCache):
    """The machine code of one function on disk, by signature."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self._function, self._options = function, options
        self._held = contextlib.ExitStack()  # while it is compiled
        self._compiled = b""  # what was compiled last

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return what lies on disk, once no other process is compiling it; None if nothing does."""
        directory, copy = cache_dir(), None
        if directory is not None:
            context.refresh()
            path = self._path(directory, signature)
            copy = _rebuilt(path, context)
            if copy is None:
                self._held.enter_context(_telling())
                self._held.enter_context(_locked(path.with_suffix(".lock")))
                copy = _rebuilt(path, context)  # another process may have made it by now
        if copy is None:
            self._held.enter_context(own_engine())
        return copy

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled; a disk that is full loses the copy and nothing else."""
        if result.lifted or result.library.has_dynamic_globals:
            return
        self._compiled = dumps(result._reduce())
        directory = cache_dir()
        if directory is not None:
            with contextlib.suppress(OSError):
                _write(self._path(directory, signature), self._compiled)

    def last_compiled(self, context: Any) -> Any:
        """Return a copy of what was compiled since the last call of this; None if nothing was."""
        data, self._compiled = self._compiled, b""
        return _loaded(data, context) if data else None

    def release(self) -> None:
        """Leave the engine, and let other processes go on that wait for this one to compile."""
        self._held.close()

    def _path(self, directory: Path, signature: Any) -> Path:
        function = self._function
        what = (function.__module__, function.__qualname__, self._function_digest, self._options)
        types_ = signature if isinstance(signature, tuple) else signature.args
        return directory / f"{_digest(repr((*what, types_)))}.code"

    @functools.cached_property
    def _function_digest(self) -> str:
        return digest_of(self._function, into="windrow")


def _rebuilt(path: Path, context: Any) -> Any:
    """Return the compiled function in a file; None if it is not there, or damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data[_CHECKSUM:]).digest() != data[:_CHECKSUM]:
        return None
    return _loaded(data[_CHECKSUM:], context)


def _loaded(data: bytes, context: Any) -> Any:
    """Return the compiled function that such bytes hold, in an engine of its own.

    Numba tells functions of one name apart by counting them in each process. So what two processes
    compiled may have other functions by the same name, of which one engine would take the first for
    all: a maximum then came from the function for suffixes where the one for prefixes was meant.
    """
    rebuild: Any = CompileResult._rebuild
    with own_engine():
        return rebuild(context, *pickle.loads(data))


def _write(path: Path, data: bytes) -> None:
    """Write under a private name, then rename: nobody sees half a file."""
    descriptor, private = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(hashlib.sha256(data).digest() + data)
        os.replace(private, path)
    except OSError:
        os.unlink(private)
        raise


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock, which the operating system takes back when its owner dies.

    Whoever waits too long goes on without it, and compiles what the other one may never finish.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with open(path, "a") as file:
        stop = time.monotonic() + PATIENCE
        while time.monotonic() < stop:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(0.05)
        try:
            yield
        finally:  # who waits with the file open sees that the code is there, or compiles it
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def _telling() -> Iterator[None]:
    """Print what takes so long, if it does."""
    timer = threading.Timer(SILENT, _tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@functools.cache
def _tell() -> None:
    print("windrow: compiling; the next process finds it on disk", file=sys.stderr, flush=True)


# -- where, and for whom -------------------------------------------------------------------------


def cache_dir() -> Path | None:
    """Return the directory of compiled functions, made if need be; None if none can be used."""
    return _usable(_chosen_dir())


def _chosen_dir() -> Path:
    chosen = os.environ.get("WINDROW_CACHE_DIR")
    if chosen:  # it may be given to several users, and has a directory for each of them
        return Path(chosen) / (f"windrow-{os.getuid()}" if hasattr(os, "getuid") else "windrow")
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or tempfile.gettempdir()) / "windrow" / "cache"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "windrow"


@functools.cache
def _usable(path: Path) -> Path | None:
    """Return the directory, if it can be written to by this user and by no other one."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        problem = f"{path} cannot be written to ({error.strerror or error})"
    else:
        about = path.stat()
        if sys.platform == "win32" or (about.st_uid == os.getuid() and not about.st_mode & 0o022):
            return path
        problem = f"others may write to {path}, and what lies there would be run"
    warnings.warn(
        f"compiled functions are not kept, so each process compiles them again: {problem}; set "
        f"WINDROW_CACHE_DIR to a directory of your own",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


def _digest(text: str) -> str:
    return hashlib.sha256(f"{environment()}\n{text}".encode()).hexdigest()[:32]


@functools.cache
def environment() -> str:
    """What machine code depends on besides the functions: the versions, and what the processor can.

    A virtual machine may lack instructions that others with the same processor have.
    """
    versions = (numba.__version__, llvmlite.__version__, sys.version)
    return "\n".join((*versions, *cpu_target.target_context.codegen().magic_tuple()))


# -- memory --------------------------------------------------------------------------------------


def free_pass_managers() -> None:
    """Let llvmlite free the pass managers that each compilation makes.

    Its two classes inherit from `ObjectRef`, whose `_dispose` does nothing, before they inherit
    from `NewPassManager`, whose `_dispose` frees them, and so never do. Nothing is changed where a
    class has a `_dispose` that does something.
    """
    for manager in (newpassmanagers.ModulePassManager, newpassmanagers.FunctionPassManager):
        if manager._dispose is ffi.ObjectRef._dispose:
            manager._dispose = newpassmanagers.NewPassManager._dispose


free_pass_managers()
