"""Whether two accesses of a kernel can touch one byte: by their first and last bytes, their rows, else the solver.

Knows: touches as nests of rows over terms, the instants of earlier accesses, what holds on a path.
Does not know: flags, fences, which pipe knows what, machines.
Law: `False` is said only where no values of the symbols make two rows share a byte, `True` only where some do; what
neither is shown of is None, or `LOADED` where a value that memory gives decides. Such a value may be another one in
each iteration: an earlier access has its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dmaverify.language.affine import Cond, Lin, World, compare
from dmaverify.program.instructions import Copy, CopyTouch, KernelLoop, Use
from dmaverify.prove.flow.accesses.ask import Asker, Reply
from dmaverify.prove.flow.accesses.lifted import ends_of, walk_of
from dmaverify.prove.flow.accesses.loops import At
from dmaverify.prove.flow.accesses.reached import placed, reach_of, solid
from dmaverify.prove.flow.order.pipe_state import OLD, Encounter, Instance, running
from dmaverify.prove.meet import decided, difference, question
from dmaverify.values import dataclass, field

LOADED = "loaded"  # the answer where a value that memory gives decides

Extent = tuple[tuple[str, str], bool, int | None, int | None, CopyTouch]
"""Memory, whether it writes, first byte and first byte behind (None: open), the touch."""


@dataclass
class Meetings:
    """Answers for the accesses of one kernel. `loops_of` are the loops around each access, by its number."""

    asker: Asker
    loops_of: dict[int, tuple[KernelLoop, ...]] = field(default_factory=dict)
    turns: dict[str, int] = field(default_factory=dict)  # of a loop: an age of -n is n iterations, or n and some turns
    _turns_ago: dict[str, Lin] = field(default_factory=dict)
    _extents: dict[int, tuple[Extent, ...]] = field(default_factory=dict)
    _answers: dict[Any, bool | str | None] = field(default_factory=dict)
    _anew: dict[frozenset[str], Mapping[str, Lin]] = field(default_factory=dict)
    _kinds: dict[Any, int] = field(default_factory=dict)
    _kind_of: dict[int, int] = field(default_factory=dict)
    _fresh: int = 0
    _small: dict[str, int] | None = None  # values that a positive answer holds at, while they are asked for

    @property
    def world(self) -> World:
        return self.asker.world

    def extents(self, event: Copy | Use) -> tuple[Extent, ...]:
        """What an access touches, as far as order matters, with the bytes that it can reach at most."""
        found = self._extents.get(event.number)
        if found is None:
            touches = [t for t in event.touches if t.kind != "surplus"]
            found = tuple((t.place.memory, t.writes, *ends_of(t, self.world), t) for t in touches)
            self._extents[event.number] = found
        return found

    def kind(self, event: Copy | Use) -> int:
        """A number that two accesses share only if they touch the same bytes, in the same loops and conditions."""
        found = self._kind_of.get(event.number)
        if found is None:
            loops = tuple(id(loop) for loop in self.loops_of.get(event.number, ()))
            found = self._kinds.setdefault((*_said_of(event), loops), len(self._kinds))
            self._kind_of[event.number] = found
        return found

    def meet(self, two: Encounter) -> bool | str | None:
        """Whether both can touch one byte, the earlier one in its iteration; None or LOADED where that is open."""
        kinds, (first, second) = (self.kind(two.earlier), self.kind(two.later)), two.sides
        instance, at = two.instance, two.at
        key = (kinds, first[1], second[1], instance[1], tuple(sorted(at.counters.items())), two.facts)
        if key not in self._answers:
            counters, conditions, sides = self._both(two)
            shared: bool | str | None = self.share(*sides, conditions)
            if shared is not False and self._loaded(placed(two.theirs, self.world, self._renamed(instance)), two.mine):
                shared = LOADED
            elif shared and not self._soon(two, counters, conditions):
                shared = None
            self._answers[key] = shared
        return self._answers[key]

    def where(self, two: Encounter) -> Mapping[str, int]:
        """Small values of symbols at which two touches that can meet do meet; of what does not matter, none."""
        _, conditions, sides = self._both(two)
        return self.values(*sides, conditions)

    def values(self, one: CopyTouch, two: CopyTouch, conditions: Sequence[Cond]) -> Mapping[str, int]:
        """Small values of symbols at which two touches that can share a byte do."""
        self._small = {}
        self.share(one, two, conditions)
        found, self._small = self._small, None
        return found

    def _both(self, two: Encounter) -> tuple[Mapping[str, Lin], list[Cond], tuple[CopyTouch, CopyTouch]]:
        """The counters of the earlier access, all that holds where both happen, and both touches with their places."""
        counters, known = self._instant(two.instance, two.at)
        conditions = [
            *known,
            *two.facts,
            *running(two.at, self.world),
            *(self.world.put_cond(c, counters) for c in two.earlier.when),
            *(self.world.put_cond(c, two.at.counters) for c in two.later.when),
        ]
        sides = placed(two.theirs, self.world, counters), placed(two.mine, self.world, two.at.counters)
        return counters, conditions, sides

    def _soon(self, two: Encounter, counters: Mapping[str, Lin], conditions: Sequence[Cond]) -> bool:
        """Whether two touches meet also in the first rounds of loops whose number of rounds memory gives."""
        around = [*self.loops_of[two.instance[0]], *two.at.loops]
        open_ = {loop.counter for loop in around if self.world.loaded(loop.trip)}
        if not open_:
            return True
        ages = {name: age for name, kind, age in two.instance[1] if kind == "now"}
        first = {**counters, **dict.fromkeys(open_, Lin(0))}
        second = {**two.at.counters, **{name: Lin(abs(ages.get(name, 0))) for name in open_}}
        return bool(self.share(placed(two.theirs, self.world, first), placed(two.mine, self.world, second), conditions))

    def _loaded(self, one: CopyTouch, two: CopyTouch) -> bool:
        """Whether a value from memory decides how far two touches lie apart, or how much they touch."""
        gap = two.place.address + two.offset - one.place.address - one.offset
        sizes = [n for t in (one, two) for n in (t.length, *(x for step in t.steps for x in step))]
        return any(self.world.loaded(term) for term in (gap, *sizes))

    def _renamed(self, instance: Instance) -> Mapping[str, Lin]:
        """Values that vary with loops which have gone on since an earlier access: other symbols stand for them."""
        moved = frozenset(name for name, kind, age in instance[1] if kind != "now" or age)
        if moved not in self._anew:
            self._anew[moved] = self.world.anew(moved)
        return self._anew[moved]

    def _instant(self, instance: Instance, at: At) -> tuple[dict[str, Lin], list[Cond]]:
        """The counters of an earlier access: those of loops still running by age, of ended loops from their end."""
        number, ages = instance
        counters: dict[str, Lin] = dict(self._renamed(instance))
        facts: list[Cond] = []
        if counters:
            again = [self.world.put_cond(n, counters) for n in self.asker.needs]
            facts += [n for n, old in zip(again, self.asker.needs, strict=True) if n != old]
        for loop, (name, kind, age) in zip(self.loops_of[number], ages, strict=True):
            trip = self.world.put(loop.trip, {**at.counters, **counters})
            top = at.counters[name] if kind == "now" and name in at.counters else trip
            if 0 <= age < OLD:
                counters[name] = top - age
            elif age < 0:
                if name not in self._turns_ago:
                    self._turns_ago[name] = self.world.free(f"before_{name}", 0, None, shown=f"turns before {name}")
                counters[name] = top + age - self._turns_ago[name] * self.turns.get(name, 1)
            else:
                self._fresh += 1
                counters[name] = self.world.free(f"before{self._fresh}", 0, None, shown=f"earlier {name}")
                facts.append(compare("le", counters[name] - top + age))
            for bound in (compare("le", -counters[name]), compare("lt", counters[name] - trip)):
                facts += [bound] if bound.known is None else []
        return counters, facts

    # ------------------------------------------------------------ two touches

    def share(self, one: CopyTouch, two: CopyTouch, conditions: Sequence[Cond]) -> bool | None:
        world = self.world
        if one.open or two.open:
            return self._unknown_extent(one, two, conditions)
        touched = [compare("lt", -t.length) for t in (one, two)]
        if any(claim.known is False for claim in touched):
            return False
        conditions = [*conditions, *(claim for claim in touched if claim.known is None)]
        gap = world.expanded(two.place.address + two.offset - one.place.address - one.offset)
        walks = walk_of(one, 0), walk_of(two, gap.const)
        if gap.is_const and walks[0] is not None and walks[1] is not None:
            apart_by = difference(walks[0], walks[1])
            met = decided(apart_by)
            if met == "unknown":
                met = self.asker.session.ask(question(apart_by), "hazard").status
            if met != "unknown":
                return self._yes(conditions) if met == "sat" else False
        ends = [reach_of(t, world) for t in (one, two)]
        apart = [compare("le", ends[0][1] - gap - ends[1][0]), compare("le", gap + ends[1][1] - ends[0][0])]
        if any(world.decide(claim) for claim in apart):
            return False
        flat = not any(t.steps for t in (one, two)) or (gap.is_const and solid(one) and solid(two))
        claims = [claim.negated() for claim in apart]
        if flat:
            return self._yes([*claims, *conditions])
        if self.asker.plainly_never([*claims, *conditions]):
            return False  # not even between their first and last bytes
        return self._rows(one, two, gap, conditions)

    def _yes(self, conditions: Sequence[Cond]) -> bool | None:
        if all(c.known for c in conditions):
            return True
        return self._answered(self.asker.possible(conditions, small=self._small is not None))

    def _answered(self, reply: Reply) -> bool | None:
        if self._small is not None and reply.status == "refuted":
            self._small |= {name: value for name, value in reply.values.items() if isinstance(value, int)}
        return {"proved": False, "refuted": True}.get(reply.status)

    def _unknown_extent(self, one: CopyTouch, two: CopyTouch, conditions: Sequence[Cond]) -> bool | None:
        """An access whose extent is not known touches the buffer that it names: whatever begins at its address."""
        open_, other = (one, two) if one.open else (two, one)
        gap = open_.place.address - other.place.address - other.offset
        low, high = reach_of(other, self.world)
        high = Lin(1) if other.open else high  # both begin at their address, whatever else they touch
        return self._yes([compare("le", low - gap), compare("lt", gap - high), *conditions])

    def _rows(self, one: CopyTouch, two: CopyTouch, gap: Lin, conditions: Sequence[Cond]) -> bool | None:
        """Whether any two rows share a byte: counters of both nests as unknowns."""
        variables: list[tuple[str, int | None, int | None]] = []
        texts: list[str] = []
        names: list[str] = []
        sums: list[str] = [self.world.text(gap)]
        names += [n for n, _ in gap.terms]
        for prefix, touch, sign in (("a", one, "-"), ("b", two, "+")):
            for index, (count, stride) in enumerate(touch.steps):
                if count == Lin(1):
                    continue
                name = f"${prefix}{index}"  # no symbol of a text begins with a dollar sign
                variables.append((name, 0, None))
                texts.append(f"(< {name} {self.world.text(count)})")
                product = f"(* {self.world.text(stride)} {name})"
                sums.append(product if sign == "+" else f"(- {product})")
                names += [n for term in (count, stride) for n, _ in term.terms]
        total = f"(+ {' '.join(sums)} 0)"
        names += [n for t in (one, two) for n, _ in t.length.terms]
        texts.append(f"(and (< {total} {self.world.text(one.length)}) (< (- {total}) {self.world.text(two.length)}))")
        return self._answered(
            self.asker.possible(list(conditions), variables, texts, names, small=self._small is not None)
        )


def _said_of(event: Copy | Use) -> tuple[Any, ...]:
    own: Any = (event.inferred, event.foreign, event.step) if isinstance(event, Use) else ()
    if isinstance(event, Copy):
        own = (event.atomic, event.write, event.row, tuple((s.count, s.read, s.write) for s in event.steps))
    return event.pipe, type(event), event.touches, event.when, own
