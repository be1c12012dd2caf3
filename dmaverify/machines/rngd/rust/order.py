"""What the transfers of one function do to tensors in HBM, as events: each transfer is a pipe of its own.

Knows: accesses in the order of the text, what written data comes from, cells of windows.
Does not know: Rust text, how order is followed (`prove.flow.pipes`, as for programs and kernels), findings.
Law: a transfer waits for those that its data comes from, and a read for what the text wrote before into its cells; of
a scatter it does not. The scheduler ignores the order of the text else. A window whose cells are not known is all of
its tensor, which errs to the side of telling.

Source: docs/machines/rngd.md 7.4; furiosa-opt v0.6.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from dmaverify.language.affine import Lin, World
from dmaverify.machines.rngd.rust.accesses import Effect
from dmaverify.machines.rngd.rust.cells import cover_of, sizes_of
from dmaverify.machines.rngd.rust.moves import SCATTERS
from dmaverify.machines.rngd.rust.values import RustTensor
from dmaverify.program.instructions import Event, Place, Use
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.step_events import NOWHERE, hand, touch_of
from dmaverify.prove.flow.order.hazards import StepJudge
from dmaverify.prove.flow.order.pipe_state import Encounter
from dmaverify.prove.meet import Walk, decided, difference
from dmaverify.values import dataclass, field

RLIMIT = 1_000_000
ALL = 1 << 62  # cells of a tensor of unknown size


def unordered_effects(effects: Sequence[Effect]) -> list[tuple[Effect, Effect]]:
    """Accesses of shared cells that nothing orders: a read and the write that may overtake it, a scatter and a read."""
    effects = _with_next_turns(effects)
    walks = _walks(effects)
    if not walks:
        return []
    told: dict[int, Effect] = {}
    events = tuple(_events(effects, walks, told))
    judge = EffectJudge(Asker(World(), RLIMIT), most_steps=len(events), effects=told)
    judge.judge(events)
    hits = {(hit.later.number, hit.earlier.number) for hit in (*judge.met.values(), *judge.open_.values())}
    if judge.why:  # not followed to its end: what is not known to be ordered or apart is told
        hits |= {(two, one) for two, others in judge.near.items() for one in others if judge.asks(one, two)}
    pairs = [(told[first], told[second]) for second, first in sorted(hits)]
    return list({(id(one), id(two)): (one, two) for one, two in pairs}.values())


def _with_next_turns(effects: Sequence[Effect]) -> list[Effect]:
    """The accesses; behind those of a loop that is read once its writes again, and its reads of what is scattered into,
    as of the next turn, where the loop does not move them.
    """
    out = list(effects)
    scattered = {_serial(one) for one in effects if one.writes and one.site.method in SCATTERS} - {-1}
    for loop in dict.fromkeys(loop for one in effects for loop, count in one.when.turns.items() if count != 1):
        inside = [number for number, one in enumerate(out) if loop in one.when.turns]
        kept = [out[n] for n in inside if out[n].tensor.tier == "hbm" and _stays(out[n].tensor, loop)]
        again = [one for one in kept if one.writes or _serial(one) in scattered]
        out[inside[-1] + 1 : inside[-1] + 1] = again
    return out


def _serial(effect: Effect) -> int:
    return -1 if effect.tensor.buffer is None else effect.tensor.buffer.serial


def _stays(tensor: RustTensor, loop: int) -> bool:
    """Whether every turn of a loop has the same window of a tensor."""
    moved = {abs(one) for number in tensor.window.at.values() for one in number.loops}
    return not tensor.window.open and not moved & {0, loop}


@dataclass
class EffectJudge(StepJudge):
    """Of writes behind writes the coverage of tiles speaks, of reads behind writes the scheduler takes care."""

    effects: Mapping[int, Effect] = field(default_factory=dict)  # by the number of their access

    def _told(self, both: Encounter) -> bool:
        return not self.asks(both.earlier.number, both.later.number) or super()._told(both)

    def asks(self, earlier: int, later: int) -> bool:
        """Whether a pair of accesses is one to tell: a write behind a read, or a read behind a scatter."""
        if earlier >= later:
            return False
        one, two = self.effects[earlier], self.effects[later]
        return two.writes if not one.writes else not two.writes and one.site.method in SCATTERS


def _walks(effects: Sequence[Effect]) -> dict[int, tuple[str, Walk]]:
    """Buffer and cells of each access of HBM; none where no tensor is read and written behind that, or scattered into,
    so that there is nothing to ask.
    """
    out: dict[int, tuple[str, Walk]] = {}
    read: set[str] = set()
    scattered: set[str] = set()
    found = False
    for number, effect in enumerate(effects):
        if effect.tensor.tier == "hbm" and effect.tensor.buffer is not None:
            serial = str(effect.tensor.buffer.serial)
            out[number] = serial, _walk(effect.tensor)
            found = found or serial in (read if effect.writes else scattered)
            if not effect.writes:
                read.add(serial)
            elif effect.site.method in SCATTERS:
                scattered.add(serial)
    return out if found else {}


def _walk(tensor: RustTensor) -> Walk:
    sizes = sizes_of(tensor)
    cover = cover_of(tensor, sizes) if tensor.window.tiled else None
    return Walk(0, ((prod(sizes) or ALL, 1),)) if cover is None else cover.cells


def _events(effects: Sequence[Effect], walks: dict[int, tuple[str, Walk]], told: dict[int, Effect]) -> Iterator[Event]:
    """Only transfers that know of some access hand on what they know."""
    knowing: set[int] = set()
    writers: dict[str, list[int]] = {}
    for number, effect in enumerate(effects):
        own = effect.site.number
        before = dict.fromkeys(effect.depends)
        if number in walks:
            serial, walk = walks[number]
            same = writers.setdefault(serial, [])
            if not effect.writes:
                before |= {
                    effects[n].site.number: None for n in same if decided(difference(walks[n][1], walk)) != "unsat"
                }
            elif effect.site.method not in SCATTERS:
                same.append(number)
        for site in before:
            if site in knowing and site != own:
                yield from hand(f"transfer {site}", f"transfer {own}")
                knowing.add(own)
        if number in walks:
            told[len(told) + 1] = effect
            knowing.add(own)
            touch = touch_of(Place("hbm", serial, Lin(walk.base)), walk.loops, writes=effect.writes)
            yield Use(len(told), f"transfer {own}", (touch,), NOWHERE, effect.site.method, step=own)
