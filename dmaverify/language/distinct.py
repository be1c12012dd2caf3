"""The distinct values of an array of numbers, and those of two, by sorting.

Knows: numpy. Does not know: what the numbers are.
Law: what `numpy.unique` and `numpy.intersect1d` give, in time that does not depend on the numbers: their own table of
hashes takes half a minute for 16 million addresses that sort in a quarter of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The values without repeats, from the least on."""
    import numpy as np

    ordered = np.sort(values, axis=None)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def common(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """The values that both have, without repeats, from the least on."""
    import numpy as np

    return np.asarray(np.intersect1d(distinct(one), distinct(other), assume_unique=True))
