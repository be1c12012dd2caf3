"""Arrays over memory that the caller keeps alive, for compiled code.

Knows: numba (imported here; where it is missing nobody imports this module).
Does not know: what the memory holds.
Law: an array has the shape it is given, of 64-bit integers in C order, and owns nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, njit, types
from numba.extending import intrinsic


@intrinsic
def _pointer(typing: Any, address: Any) -> Any:
    """The address as a pointer."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), emit


@njit(inline="always")
def array1(address: int, shape: Any) -> Any:
    """One dimension."""
    return carray(_pointer(address), (shape[0],), np.int64)


@njit(inline="always")
def array2(address: int, shape: Any) -> Any:
    """Two dimensions."""
    return carray(_pointer(address), (shape[0], shape[1]), np.int64)


@njit(inline="always")
def array3(address: int, shape: Any) -> Any:
    """Three dimensions."""
    return carray(_pointer(address), (shape[0], shape[1], shape[2]), np.int64)
