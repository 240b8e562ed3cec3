"""Results that are written past the caches, and a stack that begins with a line of the cache.

The caches cannot hold many results until they are read. What is written past them pushes nothing
out that is still needed, and the processor need not read first what is overwritten: a third of the
memory traffic of a kernel that reads and writes as much.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from windrow.compiled import inner
from windrow.kernels.special import Array
from windrow.kernels.special.scans import BLOCK
from windrow.vectors import BYTES, Vectors

# So many results go past the caches.
MANY = 1 << 21
LANES = 4
_WIDTH = BYTES * LANES  # bytes of a vector, at a multiple of which it has to lie

_LINE = 64  # bytes of a line of the cache

written: Any = intrinsic  # mypy would have functions called with the typing context


@inner
def past_cache_pays(out: Array) -> bool:
    """Whether these results are many, and lie where vectors can be written past the caches."""
    return out.size >= MANY and out.ctypes.data % _WIDTH == 0


@written
def copy_past_cache(typing_context: Any, source: Any, source_at: Any, out: Any, out_at: Any) -> Any:
    """Write a block of numbers past the caches."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        item = context.get_data_type(signature.args[0].dtype)
        code = Vectors(context, builder, signature, arguments, LANES, item)
        source, source_at, target, target_at = code.given
        source, target = builder.gep(source, [source_at]), builder.gep(target, [target_at])
        for i in range(0, BLOCK, LANES):
            code.store_past_cache(code.load(source, i), target, i)
        return context.get_dummy_value()

    return types.void(source, types.int64, out, types.int64), generate


@written
def end_of_stores(typing_context: Any) -> Any:
    """Let every thread see what went past the cache before it sees what is written later."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


@written
def align_stack(typing_context: Any) -> Any:
    """Have the frame of the function that becomes of this begin where a line of the cache does.

    Vectors that do not fit into registers are put by on the stack. It begins at any multiple of 16
    bytes, as it happens with the calls on the way here, and what then lies across two lines takes
    twice the time of a sum.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        with builder.goto_entry_block():
            place = builder.alloca(ir.IntType(8))
        place.align = _LINE
        kind = ir.FunctionType(ir.VoidType(), [place.type])
        builder.asm(kind, "", "r", [place], side_effect=True)  # or it would be left out
        return context.get_dummy_value()

    return types.void(), generate
