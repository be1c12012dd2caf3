"""Arrays over memory that the caller keeps alive, for compiled code.

Knows: numba, which it imports when called.
Does not know: what the memory holds.
Law: an array has the shape it is given, of 64-bit integers in C order, and owns nothing.
"""

from __future__ import annotations

from typing import Any

ITEM = 8


def array_maker() -> Any:
    """What compiled code calls as `array_at(address, shape)`, `shape` a tuple of integers. Raises ImportError without
    numba.
    """
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic
    from numba.np import arrayobj

    unpack: Any = cgutils.unpack_tuple
    populate: Any = arrayobj.populate_array

    def array_at(typing: Any, address: Any, shape: Any) -> Any:
        kind = types.Array(types.int64, shape.count, "C")

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(kind)(context, builder)
            item = context.get_constant(types.intp, ITEM)
            sizes = unpack(builder, arguments[1], shape.count)
            strides = [item]
            for size in reversed(sizes[1:]):
                strides.insert(0, builder.mul(strides[0], size))
            data = builder.inttoptr(arguments[0], context.get_data_type(types.int64).as_pointer())
            populate(array, data=data, shape=sizes, strides=strides, itemsize=item, meminfo=None)
            return array._getvalue()

        return kind(types.int64, shape), emit

    return intrinsic(array_at)
