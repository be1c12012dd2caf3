"""The state of a kernel's pipes between two events.

Knows: flags and what they carry, accesses and who knows them.
Does not know: events, loops, how a state comes about, machines.
Law: states with the same key behave alike from there on; where two accesses become one, it is known only to those who
knew both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dmaverify.language.affine import Cond, World, compare
from dmaverify.program.instructions import OTHER_CORE, Copy, CopyTouch, Use
from dmaverify.prove.flow.accesses.loops import At
from dmaverify.values import dataclass
from dmaverify.verdict import Finding, Label, Severity

Ages = tuple[tuple[str, str, int], ...]  # (loop, "now" | "end", age); OLD means OLD or more; -n: n, or n and some turns
Instance = tuple[int, Ages]
Flagged = tuple[str, str, int]
HAZARDS = ("core/hazard-raw", "core/hazard-war", "core/hazard-waw")
OLD = 6  # ages from this on are one: "at least so many iterations ago"


@dataclass(frozen=True, slots=True)
class Encounter:
    """Touches of two accesses that nothing orders, one of them writing: `kind` is raw, war or waw, `instance` the
    instant of the earlier access, `at` that of the later one, where `facts` hold; `known` are pipes that know the
    earlier one.
    """

    kind: str
    instance: Instance
    earlier: Copy | Use
    theirs: CopyTouch
    later: Copy | Use
    mine: CopyTouch
    facts: tuple[Cond, ...]
    at: At
    known: frozenset[str] = frozenset()

    @property
    def sides(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Number of the access and of its touch, earlier and later."""
        one, two = self.earlier.touches.index(self.theirs), self.later.touches.index(self.mine)
        return (self.earlier.number, one), (self.later.number, two)

    @property
    def steps(self) -> tuple[int, int]:
        one, two = (event.step if isinstance(event, Use) else -1 for event in (self.earlier, self.later))
        return one, two

    @property
    def doubtful(self) -> bool:
        """Whether no text tells that these two need an order at all."""
        if isinstance(self.earlier, Use) and self.earlier.inferred in ("bytes", "order"):
            return True
        return isinstance(self.later, Use) and self.later.inferred == "bytes"

    @property
    def anywhere(self) -> bool:
        """Whether where one of them begins, or which bytes of a place it touches, is not known."""
        unknown = ("place", "layout")
        return any(isinstance(event, Use) and event.inferred in unknown for event in (self.earlier, self.later))


_MORE = frozenset({"what no pipe is called"})


def running(at: At, world: World) -> list[Cond]:
    """That every loop around is inside its range."""
    out = []
    for loop in at.loops:
        claim = compare("lt", at.counters[loop.counter] - world.put(loop.trip, at.counters))
        if claim.known is None:
            out.append(claim)
    return out


@dataclass(frozen=True)
class State:
    """What is outstanding and known; `pending` maps an access to the pipes that know it, `facts` hold on this path."""

    flags: Mapping[Flagged, tuple[frozenset[Instance], int]]
    pending: Mapping[Instance, frozenset[str]]
    tokens: Mapping[int, tuple[frozenset[Instance], frozenset[str]]]  # what releases hand on, who holds it
    facts: tuple[Cond, ...] = ()

    def key(self) -> Any:
        return (
            frozenset((k, v[0]) for k, v in self.flags.items()),
            frozenset(self.pending.items()),
            frozenset(self.tokens.items()),
            frozenset(self.facts),
        )

    def covers(self, other: State) -> bool:
        """Whether all that can go wrong from the other state on goes wrong from this one: it knows no more of what is
        outstanding there, and holds on every path that the other holds on.
        """
        if self.flags.keys() != other.flags.keys() or self.tokens.keys() != other.tokens.keys():
            return False
        if any(self.pending.get(i, _MORE) - known for i, known in other.pending.items()):
            return False
        if any(held != other.tokens[k][1] for k, (_, held) in self.tokens.items()):
            return False
        handed = [(self.flags[k][0], other.flags[k][0]) for k in self.flags]
        handed += [(self.tokens[k][0], other.tokens[k][0]) for k in self.tokens]
        if any(i in other.pending and i not in theirs for mine, theirs in handed for i in mine):
            return False
        return set(self.facts) <= set(other.facts)

    def under(self, facts: tuple[Cond, ...]) -> State:
        return State(self.flags, self.pending, self.tokens, facts)


EMPTY = State({}, {}, {})


def renamed(state: State, change: Any, blurred: set[Instance]) -> State:
    """Instances under new names. Where several become one, a pipe or flag knows the one only if it knew them all; those
    of which it knew some are `blurred`: what they are found to be is no witness.
    """
    groups: dict[Instance, list[Instance]] = {}
    for instance in state.pending:
        groups.setdefault(change(instance), []).append(instance)
    handed = [done for done, _ in (*state.flags.values(), *state.tokens.values())]
    for new, old in groups.items():
        shares = {len(done.intersection(old)) for done in handed}
        if len({state.pending[i] for i in old}) > 1 or shares - {0, len(old)} or not blurred.isdisjoint(old):
            blurred.add(new)

    def known(done: frozenset[Instance]) -> frozenset[Instance]:
        return frozenset(new for new, old in groups.items() if all(i in done for i in old))

    pending = {new: frozenset.intersection(*(state.pending[i] for i in old)) for new, old in groups.items()}
    flags = {k: (known(v[0]), v[1]) for k, v in state.flags.items()}
    return State(flags, pending, {k: (known(v[0]), v[1]) for k, v in state.tokens.items()}, state.facts)


def gathered(states: Sequence[State], facts: tuple[Cond, ...], blurred: set[Instance]) -> State:
    """Sides of a branch in which nothing is ordered as one state: each access that is outstanding on one of them.

    It holds what `facts` say, and nothing of the branch: that is what the accesses on its sides say themselves.
    """

    def known(handed: Sequence[frozenset[Instance]]) -> frozenset[Instance]:
        sides = list(zip(states, handed, strict=True))
        every = frozenset().union(*handed)
        surely = frozenset(i for i in every if all(i in done or i not in state.pending for state, done in sides))
        blurred.update(every - surely)
        return surely

    pending: dict[Instance, frozenset[str]] = {}
    for state in states:
        for instance, pipes in state.pending.items():
            before = pending.setdefault(instance, pipes)
            if before != pipes:
                pending[instance] = before & pipes
                blurred.add(instance)
    first = states[0]
    flags = {k: (known([s.flags[k][0] for s in states]), at) for k, (_, at) in first.flags.items()}
    tokens = {k: (known([s.tokens[k][0] for s in states]), holders) for k, (_, holders) in first.tokens.items()}
    return State(flags, pending, tokens, facts)


def shown_flag(flag: Flagged) -> str:
    return f"[{flag[0]}, {flag[1]}, {flag[2]}]"


def hazard(met: Encounter) -> Finding:
    """The finding on two accesses of the same bytes that nothing orders; a warning where no text tells the order."""
    kind, earlier, later, doubtful = met.kind, met.earlier, met.later, met.doubtful
    space, told = met.mine.place.space, met.known - {OTHER_CORE}
    one, two = earlier.pipe, later.pipe
    verbs = {"raw": ("writes", "reads"), "war": ("reads", "overwrites"), "waw": ("writes", "overwrites")}[kind]
    when = " in an earlier iteration" if any(age for _, how, age in met.instance[1] if how == "now") else ""
    if one == two:
        hint = f"a barrier of {one} between them, or a round trip of flags through another pipe"
    else:
        hint = f'set_flag["PIPE_{one}", "PIPE_{two}", ...] behind the first, wait_flag with the same before the second'
    said = f"{two} {verbs[1]} bytes of {space.upper()} that {one} {verbs[0]}{when}, and nothing orders them"
    label = f"{one} {verbs[0]} them here"
    if isinstance(earlier, Use) and earlier.foreign:
        does = "writes" if verbs[0] == "writes" else "reads"
        held = " and ".join(sorted(told))
        waits = f"only {held} waits for it" if held else "nothing waits for it"
        said = f"{two} {verbs[1]} bytes of {space.upper()} that the other core {does}, and {waits}"
        label = f"only {held} is held here" if held else f"the other core {does} them from here on"
        hint = f"let {two} wait for the other core, or hand a flag to {two} from the pipe that waits"
    elif isinstance(later, Use) and later.foreign:
        said = f"{OTHER_CORE} {verbs[1]} bytes of {space.upper()} that {one} {verbs[0]}{when}"
        said += f", and no release comes behind that: it is let go before {one} is done"
        hint = f"set its flag by {one}, behind that work, or hand a flag from {one} to the pipe that sets it"
    return Finding(
        f"core/hazard-{kind}",
        Severity.WARNING if doubtful else Severity.ERROR,
        said,
        f"{two} after {one}",
        later.span,
        {"pipes": [one, two]},
        None,
        "",
        "inferred" if doubtful else "documented",
        hint,
        (),
        (Label(earlier.span, label),),
    )
