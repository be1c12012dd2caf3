"""Packets: the run that both sides share, its legal divisors, and runs cut into whole packets and a rest.

Knows: boxes, contiguous digits, whole bytes, the limit of a packet.
Does not know: engines, order, cost, other rules.
Law: a packet divides a run that is contiguous on both sides; `segmented` covers exactly what its cover does.

Source: "DMA Engine", Structural Requirements and Performance (Packet size; 4,099 elements).
"""

from __future__ import annotations

from functools import lru_cache

from dmaverify.synth.atoms import Atom
from dmaverify.synth.regions import AtomNest, Cover
from dmaverify.values import replace


@lru_cache(maxsize=4096)
def packets_of(run: int, unit_bits: int, packet_max: int, width: int, window: int) -> tuple[int, ...]:
    """Packets in units that divide a run, whole bytes and elements, at most the limit: fewest requests of `window`
    units first, then the largest.
    """
    limit = packet_max * 8 // unit_bits
    found = {p for d in range(1, min(run, limit, int(run**0.5) + 1) + 1) if run % d == 0 for p in (d, run // d)}
    fitting = [p for p in found if p <= limit and p % width == 0]
    legal = [p for p in fitting if p * unit_bits % 8 == 0] or fitting  # where none is whole bytes, the rules say so

    def requests(p: int) -> int:
        return run // p * -(-p // window)

    return tuple(sorted(legal, key=lambda p: (requests(p), -p)))


def segmented(cover: Cover, packet_max: int, unit_bits: int, width: int, window: int) -> Cover | None:
    """Runs that no large packet divides, as a head of whole packets and a tail: one command more; None where nothing
    is gained.
    """
    limit = packet_max * 8 // unit_bits
    boxes: list[AtomNest] = []
    for box in cover.boxes:
        run, chain = box.chain
        best = packets_of(run, unit_bits, packet_max, width, window)
        ideal = -(-run // window)
        if not chain or (best and run // best[0] * -(-best[0] // window) <= ideal) or len(chain) > 2:
            boxes.append(box)
            continue
        top = chain[-1]
        packet = min(limit, run)
        many = run // packet * packet // top.write
        if many in (0, top.count) or packet % top.write:
            boxes.append(box)
            continue
        boxes += [
            _with(box, top, 0, many), _with(box, top, many, top.count - many),
        ]  # fmt: skip
    return (
        Cover(tuple(boxes), f"{cover.how}, cut into whole packets and a rest")
        if len(boxes) > len(cover.boxes)
        else None
    )


def _with(box: AtomNest, atom: Atom, start: int, count: int) -> AtomNest:
    atoms = tuple(replace(a, count=count) if a == atom else a for a in box.atoms)
    return AtomNest(
        box.read + start * atom.read, box.write + start * atom.write, tuple(a for a in atoms if a.count > 1)
    )
