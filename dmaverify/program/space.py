"""Tensors as address layouts: where every position of a move lies, in one line of numbers.

Knows: which places of a tier an address reaches and which are chosen by the port; units.
Does not know: a particular machine (a tier's distances come from its data), solvers.
Law: two positions share a global address exactly when they are the same memory cell. Places chosen by the port (chip,
cluster) lie `SPAN` units apart, further than any local address reaches, so a nest can never walk from one into the
next unseen.
"""

from __future__ import annotations

from functools import lru_cache

from dmaverify.language.expr import Expr, axes_of
from dmaverify.language.numbers import moves
from dmaverify.layout.addresses import Layout, Room, lay_out
from dmaverify.layout.digits import Digit, DigitForm, NotDigits, compile_digits
from dmaverify.layout.refine import Nest
from dmaverify.program.command import Command, Port
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.values import dataclass

SPAN = {"chip": 1 << 56, "cluster": 1 << 52}
LOCAL_LIMIT = SPAN["cluster"]


@dataclass(frozen=True, slots=True)
class Space:
    """A tier: the classes of place it has (outer to inner, `element` last) and the byte distance of those that
    addresses reach.
    """

    tier: str
    places: tuple[str, ...]
    stride_bytes: tuple[tuple[str, int], ...] = ()
    slice_word: str = "slice"  # what the place called slice counts

    def stride(self, place: str, unit_bits: int) -> int:
        if place in SPAN:
            return SPAN[place]
        return dict(self.stride_bytes)[place] * 8 // unit_bits


def unit_bits_of(dtype_bits: int) -> int:
    """Bits of the unit of a move: a byte, or half a byte for 4-bit elements."""
    return 4 if dtype_bits == 4 else 8


def divisor_bytes(bits: int) -> int:
    """A divisor in bits as one in bytes: 0 stays 0, what does not divide into bytes is 1."""
    return bits // 8 if bits % 8 == 0 else 1


def has_ports(space: Space) -> bool:
    """Whether a port chooses among places of a tier, so that global addresses hold more than local ones."""
    return bool(SPAN.keys() & set(space.places))


def local_address(space: Space, address: int) -> int:
    """What of a global address is local."""
    return address % LOCAL_LIMIT if has_ports(space) else address


def global_address(port: Port, local: int) -> int:
    return port.chip * SPAN["chip"] + port.cluster * SPAN["cluster"] + local


def port_at(tier: str, address: int, space: Space) -> Port:
    """The port of a global address, which holds the local part; below 0 lies no place."""
    if address < 0:  # of a view that starts before its tensor
        return Port(tier, address)
    chip, rest = divmod(address, SPAN["chip"]) if "chip" in space.places else (0, address)
    cluster, rest = divmod(rest, SPAN["cluster"]) if "cluster" in space.places else (0, rest)
    return Port(tier, rest, chip, cluster)


def opaque_axis(place: str) -> str:
    """Pseudo axis that carries the bare position of a room whose mapping has no digits."""
    return f"<{place}>"


def rooms_of(tensor: Tensor, space: Space, dtype_bits: int, *, opaque: bool) -> tuple[list[Room], dict[str, int]]:
    """The rooms of a tensor and the sizes of its axes. Raises NotDigits unless `opaque`."""
    unit_bits = unit_bits_of(dtype_bits)
    width = dtype_bits // unit_bits
    starts = {"chip": tensor.at_chip, "cluster": tensor.at_cluster, "slice": tensor.at_slice, "element": 0}
    rooms: list[Room] = []
    sizes: dict[str, int] = {}
    outer: int | None = None
    running = _running_on(tensor, space, dtype_bits)
    for place in PLACES:
        if place not in space.places:
            continue
        expr = tensor.field(place)
        form = _opaque(place, expr) if opaque else compile_digits(expr)
        sizes.update({opaque_axis(place): expr.size} if opaque else axes_of(expr))
        stride = width if place == "element" else space.stride(place, unit_bits)
        ends = place not in running
        rooms.append(Room(place, form, stride, starts[place], None if outer is None else outer // stride, ends))
        outer = stride if ends else outer
    return rooms, sizes


def _running_on(tensor: Tensor, space: Space, dtype_bits: int) -> frozenset[str]:
    """Places with a single position that is longer than the distance to the next one (capacity rules speak of it)."""
    unit_bits = unit_bits_of(dtype_bits)
    extent, found = tensor.element.size * dtype_bits // unit_bits, set()
    for place in reversed(PLACES[:-1]):
        if place in space.places:
            stride, size = space.stride(place, unit_bits), tensor.field(place).size
            if size == 1 and extent > stride:
                found.add(place)
            extent += stride * (size - 1)
    return frozenset(found)


def aliased_place(tensor: Tensor, space: Space, dtype_bits: int) -> str | None:
    """The place whose neighbours overlap because what lies in one is longer than the distance between them; None if
    none do.
    """
    unit_bits = unit_bits_of(dtype_bits)
    extent = 0
    for place in reversed(PLACES):
        if place not in space.places:
            continue
        stride = dtype_bits // unit_bits if place == "element" else space.stride(place, unit_bits)
        size = tensor.field(place).size
        if extent > stride and size > 1:
            return place
        extent = stride * size if place == "element" else stride * (size - 1) + extent
    return None


def beyond_every_memory(tensor: Tensor, space: Space, dtype_bits: int) -> bool:
    """Whether the region of one chip and cluster ends where global addresses of the next begin; where there is one
    place alone, its addresses end nowhere.
    """
    if not has_ports(space):
        return False
    unit_bits = unit_bits_of(dtype_bits)
    end = tensor.base * 8 // unit_bits + tensor.element.size * dtype_bits // unit_bits
    if "slice" in space.places:
        end += (tensor.at_slice + tensor.slice.size - 1) * space.stride("slice", unit_bits)
    return end >= LOCAL_LIMIT


def _opaque(place: str, expr: Expr) -> DigitForm:
    size = expr.size
    return DigitForm(size, (Digit(opaque_axis(place), 1, 1, size, size),) if size > 1 else ())


@lru_cache(maxsize=2048)
def layout_of(tensor: Tensor, space: Space, dtype_bits: int) -> tuple[Layout, bool]:
    """The layout, and whether it is opaque: digits of positions only, because the mapping itself has none."""
    unit_bits = unit_bits_of(dtype_bits)
    try:
        rooms, sizes = rooms_of(tensor, space, dtype_bits, opaque=False)
        opaque = False
    except NotDigits:
        rooms, sizes = rooms_of(tensor, space, dtype_bits, opaque=True)
        opaque = True
    base = tensor.base * 8 // unit_bits
    return lay_out(rooms, dtype_bits // unit_bits, base, sizes), opaque


def nest_of(command: Command) -> Nest:
    """The loops of a command, its burst innermost, at global addresses."""
    loops = [(loop.count, loop.read, loop.write) for loop in command.loops]
    if moves(command.burst):
        loops.append((command.burst, 1, 1))
    return Nest.of(
        global_address(command.read, command.read.base), global_address(command.write, command.write.base), loops
    )
