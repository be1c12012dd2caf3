"""Atoms: the loops that plans are made of, and the pieces of axes that they step over.

Knows: fused axes as the pieces of plain ones.
Does not know: moves, machines.
Law: the pieces of an atom have its values in its order; None where it cuts one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from dmaverify.layout.addresses import BYTE
from dmaverify.layout.fuse import parts_of
from dmaverify.lower.derive import label_of
from dmaverify.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Atom:
    """One loop: `count` values of a piece of an axis, `read` and `write` units apart. `axis` None: replicas."""

    axis: str | None
    weight: int
    count: int
    read: int
    write: int
    size: int = 0  # of the axis

    @property
    def label(self) -> str:
        """The piece as plans write it, without blanks; pieces of fused axes one after the other."""
        return _label(self.axis, self.weight, self.count, self.size)

    @property
    def pieces(self) -> tuple[tuple[str | None, int, int, int], ...] | None:
        """(axis, weight, count, size) of the plain axes that it steps over, outer to inner; None where it cuts one."""
        return _pieces(self.axis, self.weight, self.count, self.size)

    def cut(self, at: int) -> tuple[Atom, Atom]:
        """(high, low) with `at` values in the low part. `at` divides the count."""
        high = replace(
            self, weight=self.weight * at, count=self.count // at, read=self.read * at, write=self.write * at
        )
        return high, replace(self, count=at)


@lru_cache(maxsize=4096)
def _label(axis: str | None, weight: int, count: int, size: int) -> str:
    if axis == BYTE:
        return ""
    pieces = _pieces(axis, weight, count, size)
    if pieces is not None:
        return " x ".join(label_of(*piece) for piece in pieces)
    names = " x ".join(dict.fromkeys(name.split("|")[0] for name, _ in parts_of(axis or "")))
    return label_of(names, weight, count, size)


@lru_cache(maxsize=4096)
def _pieces(
    axis: str | None, weight: int, count: int, whole: int
) -> tuple[tuple[str | None, int, int, int], ...] | None:
    parts = parts_of(axis or "")
    if not parts:
        return ((axis, weight, count, whole),)
    out: list[tuple[str | None, int, int, int]] = []
    base, left = 1, count
    for name, size in reversed(parts):
        if left > 1 and weight < base * size:
            own, rest = divmod(weight, base)
            if rest or size % own or (left > size // own and left % (size // own)):
                return None
            take = min(left, size // own)
            out.append(_piece_of(name, own, take, size))
            left, weight = left // take, weight * take
        base *= size
    return tuple(_one_piece(out[::-1])) if left == 1 else None


def _piece_of(name: str, own: int, take: int, size: int) -> tuple[str | None, int, int, int]:
    """(axis, weight, count, size of the axis) of `take` values; `H|2|8` is the piece of H = 8 with weight 2."""
    axis, weight, whole = (*name.split("|"), "1", str(size))[:3] if "|" in name else (name, "1", str(size))
    return axis, own * int(weight), take, int(whole)


def _one_piece(pieces: Sequence[tuple[str | None, int, int, int]]) -> Iterator[tuple[str | None, int, int, int]]:
    """Neighbours that are one piece of their axis, as one."""
    held: tuple[str | None, int, int, int] | None = None
    for axis, weight, count, size in pieces:
        if held is not None and held[0] == axis and held[1] == weight * count:
            held = (axis, weight, held[2] * count, size)
            continue
        if held is not None:
            yield held
        held = (axis, weight, count, size)
    if held is not None:
        yield held


def joined(atoms: Sequence[Atom]) -> list[Atom]:
    """Neighbours of one axis that step as one on both sides are one digit."""
    out: list[Atom] = []
    for atom in reversed(atoms):
        low = out[-1] if out else None
        if (
            low is not None
            and low.axis == atom.axis
            and atom.axis is not None
            and atom.weight == low.count * low.weight
            and atom.read == low.count * low.read
            and atom.write == low.count * low.write
        ):
            out[-1] = replace(low, count=low.count * atom.count)
        else:
            out.append(atom)
    return out[::-1]


def run_on(atoms: Sequence[Atom]) -> list[Atom]:
    """Loops of different pieces that step as one on both sides, as one loop: the normal form of a box.

    A box is a product of its loops, so that its addresses do not change; moves that are the same copy under other names
    (`H % 2, H / 2, D` on both sides, and `H, D`) get the same box.
    """
    out: list[Atom] = []
    for atom in reversed(atoms):
        low = out[-1] if out else None
        named = low is not None and {atom.axis, low.axis}.isdisjoint({None, BYTE})
        if (
            low is not None
            and named
            and atom.read == low.count * low.read
            and atom.write == low.count * low.write
            and (both := _as_parts(atom)) is not None
            and (under := _as_parts(low)) is not None
        ):
            count = low.count * atom.count
            out[-1] = Atom(f"{both}*{under}", 1, count, low.read, low.write, count)
        else:
            out.append(atom)
    return out[::-1]


def _as_parts(atom: Atom) -> str | None:
    """The loop as part of a name of several: `H|2|8@4`; None where it cuts a fused axis."""
    pieces = atom.pieces
    if pieces is None:
        return None
    return "*".join(f"{axis}|{weight}|{size}@{count}" for axis, weight, count, size in pieces)
