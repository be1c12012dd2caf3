"""The facts that rules speak of, computed from tensors, commands and accesses.

Knows: every port of `encodings/core/scopes.toml`, as numbers of one transfer or access.
Does not know: rules, severities, any machine.
Law: one port has one meaning, which stands there; a gcd port is 0 only when every number it divides is 0, and is exact
for all addresses of a nest, because all of them are multiples of m exactly when base and strides are
(proofs/alignment-step.smt2).

Relied on (proofs/): alignment-step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile

from dmaverify.language.expr import Broadcast, Expr, Symbol, axes_of, children, pair, terms_of, walk
from dmaverify.language.meaning import live_indices
from dmaverify.language.numbers import Symbolic, gcd, least, most, same, step_gcd
from dmaverify.layout.digits import Digit, DigitForm, NotDigits, compile_digits, finalized
from dmaverify.layout.held import TooMany, first_absent
from dmaverify.program.command import Command, Sequencer, coalesce
from dmaverify.program.space import divisor_bytes
from dmaverify.program.tensor import Tensor
from dmaverify.targets.target import Target
from dmaverify.values import replace

MOST_PLACES = 64
"""Chips or clusters that are looked at one by one."""


def contiguous_run(command: Command) -> int:
    """Units of the innermost run that is contiguous on both sides, loops included."""
    run = command.burst
    for loop in reversed(command.loops):
        if not (same(loop.read, run) and same(loop.write, run)):
            break
        run *= loop.count
    return run if command.packet and run % command.packet == 0 else command.burst


def address_gcd(command: Command, side: str) -> int:
    """Units: divides every address at which the side starts a packet."""
    port = command.read if side == "read" else command.write
    steps = [(loop.read if side == "read" else loop.write, loop.count) for loop in command.loops]
    found: int = step_gcd(port.base, steps)
    return found


def command_facts(command: Command, same: int, only: Collection[str] | None = None) -> dict[str, int]:
    """`same`: how many commands its engine has."""
    bits = command.unit_bits
    read, write = address_gcd(command, "read") * bits, address_gcd(command, "write") * bits
    engine = command.engine
    return {
        "packet_bytes": command.packet * bits // 8,
        "packet_bits": command.packet * bits,
        "burst_bytes": contiguous_run(command) * bits // 8 if asked(only, "burst_bytes") else 1,
        "read_gcd": divisor_bytes(read),
        "write_gcd": divisor_bytes(write),
        "read_gcd_bits": read,
        "write_gcd_bits": write,
        "amount_bytes": command.amount * bits // 8,
        "chip_read": command.read.chip,
        "chip_write": command.write.chip,
        "cluster_read": command.read.cluster,
        "cluster_write": command.write.cluster,
        "engine_chip": engine.chip if engine else command.read.chip,
        "engine_cluster": engine.cluster if engine else command.read.cluster,
        "engine_dmn": engine.dmn if engine else 0,
        "commands": same,
    }


def asked(only: Collection[str] | None, *ports: str) -> bool:
    """Whether a caller that asks for `only` these ports (None: all) asks for one of `ports`."""
    return only is None or any(port in only for port in ports)


def sequencer_facts(
    text: Sequencer, command: Command, limits: Mapping[str, int], unit_bits: int, only: Collection[str] | None = None
) -> dict[str, int]:
    """One side of a command. Entries count as written where that fits the limits, else merged: either grouping is
    legal. Ports that are not asked for may be anything.
    """
    inner = text.entries[-1] if text.entries else None
    inner_count = inner.count if inner else text.packet
    inner_stride = inner.stride if inner else 1
    run = inner_count if inner_stride in (0, 1) else 1
    outer = text.entries[:-1] if inner_stride in (0, 1) or text.packet > 1 else text.entries
    strides = [(e.stride, e.count) for e in outer]
    if run > text.packet:
        strides.append((text.packet * inner_stride, 2))
    written = [e.count for e in text.entries[:-1]] + [-(-inner_count // (text.packet or 1))]
    entries, iterations = len(text.entries), most(written)
    if asked(only, "entries", "iterations"):
        over = "iterations_max" in limits and iterations > limits["iterations_max"]
        if over or entries > limits.get("entries_max", entries):
            merged = [count for count, _, _ in coalesce([(x.count, x.read, x.write) for x in command.loops])]
            within = coalesce(command.nest)
            with_packet = len(within) + (1 if command.packet > 1 and same(command.burst, 1) else 0)
            entries, iterations = max(1, min(entries, with_packet)), most([1, *merged])
    return {
        "entries": max(1, entries),
        "iterations": most([1, iterations]),
        "inner_count": inner_count,
        "inner_stride": inner_stride,
        "packet_units": text.packet,
        "packet_bytes": text.packet * unit_bits // 8,
        "packet_run_bytes": run * unit_bits // 8,
        "stride_gcd": divisor_bytes(step_gcd(0, strides) * unit_bits),
        "stride_low": least([e.stride * unit_bits // 8 for e in text.entries]) if text.entries else 0,
        "stride_high": most([e.stride * unit_bits // 8 for e in text.entries]) if text.entries else 0,
    }


def dimension_facts(text: Sequencer, unit_bits: int) -> list[dict[str, int]]:
    """The loops of one side as written, innermost first; a count of 1 is a loop too. An innermost contiguous entry
    counts bytes.
    """
    out: list[dict[str, int]] = []
    inside = 0
    for number, entry in enumerate(reversed(text.entries)):
        run = number == 0 and entry.stride in (0, 1)
        count = entry.count * unit_bits // 8 if run else entry.count
        stride = divisor_bytes(entry.stride * unit_bits)
        below = 0 if run else (inside or unit_bits // 8)
        out.append({"dimension": number, "count": count, "stride_bytes": stride, "inside_bytes": below})
        inside = count if run else below * count
    return [{**facts, "dimensions": len(out)} for facts in out]


def tensor_facts(tensor: Tensor, dtype_bits: int, only: Collection[str] | None = None) -> dict[str, int]:
    extent = -(-tensor.element.size * dtype_bits // 8)
    return {
        "chips": tensor.chip.size,
        "clusters": tensor.cluster.size,
        "slices": tensor.slice.size,
        "chip_end": tensor.at_chip + tensor.chip.size,
        "cluster_end": tensor.at_cluster + tensor.cluster.size,
        "slice_end": tensor.at_slice + tensor.slice.size,
        "base_bytes": tensor.base,
        "extent_bytes": extent,
        "end_bytes": tensor.base + extent,
        "element_count": tensor.element.size,
        "element_bits": dtype_bits,
        "total_bits": tensor.element.size * dtype_bits,
        "padded_splits": _padded_splits(tensor) if asked(only, "padded_splits") else 0,
    }


def _padded_splits(tensor: Tensor) -> int:
    """Axes of which the element mapping holds several digits, one of them padded below the top one."""
    try:
        digits = finalized(tensor.element).digits
    except NotDigits:  # what other terms pad is padded all the same
        digits = tuple(d for form in _forms(tensor.element) if form is not None for d in form.digits)
    count = 0
    for axis in axes_of(tensor.element):
        held = [d for d in digits if d.axis == axis]
        top = max((d.weight for d in held), default=0)
        count += any(d.live < d.slots and d.weight < top for d in held)
    return count


def _forms(expr: Expr) -> Iterator[DigitForm | None]:
    """The digits of each term, outer to inner; None for those without."""
    for term in terms_of(expr):
        try:
            yield finalized(term)
        except NotDigits:
            yield None


def transfer_facts(
    source: Tensor,
    dest: Tensor,
    dtype: str,
    target: Target,
    commands: Sequence[Command],
    only: Collection[str] | None = None,
    *,
    missing: bool = False,
) -> dict[str, int]:
    """`missing`: destination coordinates that the source does not hold are replicas (the reading broadcast-missing)."""
    return {
        **target.dtype_facts(dtype),
        "route": int((source.tier, dest.tier) in target.routes),
        "same_chip": _same_chip(source, dest, commands) if asked(only, "same_chip") else 1,
        "same_cluster": _same_cluster(source, dest, target, commands) if asked(only, "same_cluster") else 1,
        "same_dmn": _same_dmn(source, dest, target, commands) if asked(only, "same_dmn") else 1,
        "source_chips": source.chip.size,
        "dest_chips": dest.chip.size,
        "source_clusters": source.cluster.size,
        "dest_clusters": dest.cluster.size,
        "source_slices": source.slice.size,
        "dest_slices": dest.slice.size,
        "broadcast_axes": broadcast_axes(source, dest, missing) if asked(only, "broadcast_axes") else 0,
        **(
            tail_facts(source, dest, target.dtypes.get(dtype, 8), target.tiers[dest.tier].is_sliced)
            if asked(only, "tail_bits", "tail_stride_bits")
            else {}
        ),
    }


def _same_chip(source: Tensor, dest: Tensor, commands: Sequence[Command]) -> int:
    if commands:
        return int(all(c.read.chip == c.write.chip for c in commands))
    return int(_stays(source, dest, "chip"))


def _same_cluster(source: Tensor, dest: Tensor, target: Target, commands: Sequence[Command]) -> int:
    if any("cluster" not in target.tiers[t.tier].places for t in (source, dest)):
        return 1
    if commands:
        return int(all(c.read.cluster == c.write.cluster and c.read.chip == c.write.chip for c in commands))
    return int(_stays(source, dest, "cluster") and _same_chip(source, dest, commands))


def _stays(source: Tensor, dest: Tensor, place: str) -> bool:
    """Whether each element that the destination asks for lies on the same place of a kind as in the source: both hold
    the same coordinates there, of all axes that the destination names. Raises NotDigits where symbols say how many.
    """
    if getattr(source, f"at_{place}") != getattr(dest, f"at_{place}"):
        return False
    there, here = source.field(place), dest.field(place)
    if there == here:
        return True
    sizes = {**axes_of(source.mapping), **axes_of(dest.mapping)}
    if any(isinstance(expr.size, Symbolic) for expr in (there, here)):
        raise NotDigits(f"symbols say how many {place}s there are", here)
    if max(there.size, here.size) > MOST_PLACES:
        return False
    named = axes_of(dest.mapping).keys()
    held, asked_of = ({axis for axis, size in axes_of(expr).items() if size > 1} for expr in (there, here))
    if held & named != asked_of:
        return False
    for at in range(here.size):
        asked = live_indices(here, at, sizes)
        if asked and (at >= there.size or asked != live_indices(there, at, sizes)):
            return False
    return True


def _same_dmn(source: Tensor, dest: Tensor, target: Target, commands: Sequence[Command]) -> int:
    """0 where the first copy of a command, or the last of one of its loops, joins slices of two ports."""
    steps = [target.tiers[t.tier].slice_stride_bytes for t in (source, dest)]
    ports = target.engines.slices // max(1, target.engines.dmns)
    if not all(steps) or not ports:
        return 1
    for command in commands:
        read, write = (step * 8 // command.unit_bits * ports for step in steps if step)
        ends = [(0, 0), *((x.read * (x.count - 1), x.write * (x.count - 1)) for x in command.loops)]
        for far_read, far_write in ends:
            if (command.read.base + far_read) // read != (command.write.base + far_write) // write:
                return 0
    return 1


def broadcast_axes(source: Tensor, dest: Tensor, missing: bool = False) -> int:
    """Destination axes that take more than one value there and that the source does not name; a bare number above 1
    counts as one, unless the source has one of that size too: then every copy has a place of its own to come from.
    With `missing`, axes of which the source holds fewer values count as well.
    """
    named = axes_of(source.mapping).keys()
    varying = _varying(dest.mapping)
    fewer = [axis for axis in varying & named if _beyond(source.mapping, dest.mapping, axis)] if missing else []
    bare = Counter(bare_numbers(dest.mapping)) - Counter(bare_numbers(source.mapping))
    return len(varying - named) + len(fewer) + bare.total()


def _beyond(source: Expr, dest: Expr, axis: str) -> bool:
    """Whether the destination has a value of an axis that the source does not hold; also where they are too many."""
    try:
        sides = [[(d.weight, d.live) for d in compile_digits(one).digits if d.axis == axis] for one in (dest, source)]
        return first_absent(*sides) is not None
    except (NotDigits, TooMany):
        return True


def _varying(expr: Expr) -> set[str]:
    """The axes of a mapping without those that one position alone shows, as a tile `A = 1 # 3` does."""
    names: set[str] = set()
    stack = [expr]
    while stack:
        node = stack.pop()
        if not same(node.size, 1):
            names |= {node.name} if isinstance(node, Symbol) else set()
            stack.extend(children(node))
    return names


def bare_numbers(expr: Expr) -> list[int]:
    """How many copies each bare number above 1 makes, as cuts and paddings leave it; all of them where a term has no
    digits.
    """
    found: list[int] = []
    for term in terms_of(expr):
        bare = [node.size for node in walk(term) if isinstance(node, Broadcast) and node.size > 1]
        try:
            found += [d.live for d in compile_digits(term).digits if d.axis is None and d.live > 1] if bare else ()
        except NotDigits:
            found += bare
    return found


# ---------------------------------------------------------------- tails (level `std`)


def tail_facts(source: Tensor, dest: Tensor, dtype_bits: int, sliced: bool) -> dict[str, int]:
    """Innermost run read alike by both element mappings, and what divides the destination strides beyond it."""
    a, b = (_innermost(tensor.element) for tensor in (source, dest))
    tail = _common_run(a, b)
    if sliced:
        tail = _grown(b, tail)
    strides = [step * dtype_bits for step in _steps(dest.mapping) if step >= tail]
    return {"tail_bits": tail * dtype_bits, "tail_stride_bits": gcd(*strides) if strides else 0}


def _innermost(expr: Expr) -> DigitForm:
    """The digits of a mapping; of its innermost terms, where a term around them has none."""
    try:
        return finalized(expr)
    except NotDigits:
        forms = takewhile(
            lambda one: one[1] is not None, reversed(list(zip(terms_of(expr), _forms(expr), strict=True)))
        )
        return finalized(pair(*reversed([term for term, _ in forms])))


def _steps(expr: Expr) -> list[int]:
    """The steps of all digits of a mapping; a term without digits steps by what is inside of it."""
    try:
        return [digit.step for digit in compile_digits(expr).digits]
    except NotDigits:
        found, inside = [], 1
        for term, form in reversed(list(zip(terms_of(expr), _forms(expr), strict=True))):
            found += [inside] if form is None else [digit.step * inside for digit in form.digits]
            inside *= term.size
        return found


def _common_run(a: DigitForm, b: DigitForm) -> int:
    """Positions from 0 on where both forms hold the same live cells, or Top alike."""
    run = 1
    for x, y in zip(_outwards(a), _outwards(b), strict=False):
        if (x.axis, x.weight, x.step) != (y.axis, y.weight, y.step) or x.step != run:
            break
        if (x.slots, x.live) != (y.slots, y.live):
            return run * min(x.live, y.live)
        run *= x.slots
    return run


def _outwards(form: DigitForm) -> list[Digit]:
    """The digits from the innermost on; those that count on where the one inside of them ends are one."""
    out: list[Digit] = []
    alone = all(len(guard.terms) == 1 for guard in form.guards)  # padding of one digit, which `live` tells
    for digit in reversed(form.digits):
        inner = out[-1] if out and alone else None
        if inner is not None and inner.live == inner.slots and (digit.axis, digit.weight, digit.step) == (
            inner.axis, inner.weight * inner.slots, inner.step * inner.slots
        ):  # fmt: skip
            out[-1] = replace(inner, slots=inner.slots * digit.slots, live=inner.slots * digit.live)
        else:
            out.append(digit)
    return out


def _grown(form: DigitForm, run: int) -> int:
    """The run, with the Top padding of the digit that it ends in."""
    for digit in form.digits:
        if digit.step * digit.live == run and digit.slots > digit.live:
            return digit.step * digit.slots
    return run
