"""How functions are compiled, one process at a time, and arrays over memory that the caller keeps alive.

Knows: numba, without which functions are plain Python; files as locks.
Does not know: what the memory holds.
Law: an array has the shape it is given, of 64-bit integers in C order, and owns nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    Table = np.ndarray[Any, np.dtype[np.int64]]

    def jit(function: Callable[..., Any]) -> Callable[..., Any]: ...

    def jit_cached(function: Callable[..., Any]) -> Any: ...

    COMPILED = True

else:
    Table = np.ndarray
    try:
        from numba import config, njit

        bare = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # called by compiled code alone
        jit = njit(nogil=True, error_model="numpy", forceinline=True, **bare)
        jit_cached = njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)
        COMPILED = not config.DISABLE_JIT
    except ImportError:
        COMPILED = False

        def jit(function):
            return function

        jit_cached = jit


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


@contextmanager
def compiling_alone() -> Iterator[None]:
    """Whoever would compile the same meanwhile waits, and finds it kept on disk."""
    try:
        from fcntl import LOCK_EX, flock
    except ImportError:  # a system without such locks
        yield
        return
    with open(__file__, "rb") as file:
        flock(file, LOCK_EX)
        yield
