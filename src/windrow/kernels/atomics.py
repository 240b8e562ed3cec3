"""How compiled code in two threads agrees: by numbers that one publishes, or one of them claims."""

from __future__ import annotations

import sys
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def published(typing_context: Any, array: Any, index: Any) -> Any:
    """The number at `array[index]`, and with it all that was written before it was published."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        return builder.load_atomic(pointer, "acquire", 8)

    return types.int64(array, index), generate


@intrinsic
def publish(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Set `array[index]` so that the other thread sees it after all that was written before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        number = context.cast(builder, arguments[2], signature.args[2], types.int64)
        builder.store_atomic(number, pointer, "release", 8)
        return context.get_dummy_value()

    return types.void(array, index, value), generate


@intrinsic
def claimed(typing_context: Any, array: Any, index: Any, number: Any) -> Any:
    """Whether `array[index]` was `number` still, and is one more now: for one thread only."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        was = context.cast(builder, arguments[2], signature.args[2], types.int64)
        more = builder.add(was, ir.Constant(was.type, 1))
        swapped = builder.cmpxchg(pointer, was, more, "acq_rel", "acquire")
        return builder.extract_value(swapped, 1)

    return types.boolean(array, index, number), generate


@intrinsic
def let_others_run(typing_context: Any) -> Any:
    """Give the processor away for a moment, to whoever is being waited for."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if sys.platform != "win32":
            function_type = ir.FunctionType(ir.IntType(32), [])
            builder.call(
                cgutils.get_or_insert_function(builder.module, function_type, "sched_yield"), []
            )
        return context.get_dummy_value()

    return types.void(), generate


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    index = context.cast(builder, arguments[1], signature.args[1], types.intp)
    return builder.gep(array.data, [index])
