"""Writes vector instructions, for loops that the compiler does not vectorise by itself.

They are LLVM's own, which every processor has in some form: a vector that is longer than those of
the processor becomes several.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

INT32, INT64, DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()
BYTES = 8  # of an item


class Vectors:
    """Code that is being written, on vectors of so many numbers of a type.

    `given` is what a function is called with: numbers, and where the items of arrays lie.
    """

    def __init__(
        self, context: Any, builder: Any, signature: Any, arguments: Any, lanes: int, item: ir.Type
    ) -> None:
        self.builder, self.lanes, self.type = builder, lanes, ir.VectorType(item, lanes)
        self.zero = ir.Constant(self.type, None)
        self.given = [
            context.make_array(kind)(context, builder, value).data
            if hasattr(kind, "ndim")
            else value
            for kind, value in zip(signature.args, arguments, strict=True)
        ]

    def load(self, data: ir.Value, index: int | ir.Value) -> ir.Value:
        """Return the numbers from an index on, as a vector."""
        return self.builder.load(self.place(data, index, self.type), align=8)

    def store(self, vector: ir.Value, data: ir.Value, index: int | ir.Value) -> None:
        """Write the numbers from an index on."""
        self.builder.store(vector, self.place(data, index, vector.type), align=8)

    def store_past_cache(self, vector: ir.Value, data: ir.Value, index: int) -> None:
        """The same past the caches; the vector has to lie at a multiple of its size."""
        size = self.lanes * BYTES
        stored = self.builder.store(vector, self.place(data, index, vector.type), align=size)
        mark = self.builder.module.add_metadata([ir.Constant(INT32, 1)])
        stored.set_metadata("nontemporal", mark)

    def place(self, data: ir.Value, index: int | ir.Value, kind: ir.Type) -> ir.Value:
        """Return the address of a vector of a type, from an index on."""
        index = ir.Constant(INT64, index) if isinstance(index, int) else index
        return self.builder.bitcast(self.builder.gep(data, [index]), kind.as_pointer())

    def moved(self, vector: ir.Value, lanes: list[int] | tuple[int, ...]) -> ir.Value:
        """Return the vector's numbers at these places; 0 for the place behind the last."""
        mask = ir.Constant(ir.VectorType(INT32, len(lanes)), list(lanes))
        return self.builder.shuffle_vector(vector, ir.Constant(vector.type, None), mask)

    def spread(self, number: ir.Value) -> ir.Value:
        """Return a vector that has one number in all places."""
        vector = ir.Constant(ir.VectorType(number.type, self.lanes), ir.Undefined)
        vector = self.builder.insert_element(vector, number, ir.Constant(INT32, 0))
        return self.moved(vector, [0] * self.lanes)

    def number(self, vector: ir.Value, lane: int) -> ir.Value:
        """Return one of the vector's numbers."""
        return self.builder.extract_element(vector, ir.Constant(INT32, lane))
