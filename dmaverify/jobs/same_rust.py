"""Kernels in Rust, compared with each other or with a plan by what they leave in the tensors that others see.

Knows: which tensors of two kernels are one, where those of a kernel would have to lie to be those of a plan.
Does not know: Rust, how a program is followed or judged.
Law: both kernels are proved, as programs of their transfers, so that no order and nothing unwritten decides what stays.
Tensors and numbers are matched by their place among arguments and results, and have to be of one type. Of all numbers
is said what is said way by way, each of which decides every condition; a difference is shown at numbers that meet them.
Beside a plan, a proof is one of the places that it names as conditions, and a difference is one wherever tensors lie.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from dmaverify.errors import InputError
from dmaverify.jobs.same_programs import MOST_LOWERED, program_for, program_of_plan, same_programs
from dmaverify.jobs.same_runs import BY_RUNS, left_behind_run
from dmaverify.language.files import named
from dmaverify.machines.rngd.rust.asked_terms import RANGES, equal, of_number
from dmaverify.machines.rngd.rust.constant_runs import left_by
from dmaverify.machines.rngd.rust.followed import FollowedKernel, followed_kernel
from dmaverify.machines.rngd.rust.lowered import NAME, LoweredKernel, lowered_kernel, serial_of, signature
from dmaverify.machines.rngd.rust.plans import read_kernel_plan
from dmaverify.machines.rngd.rust.verdicts import kernel_verdicts
from dmaverify.plan.plan import Plan, select
from dmaverify.plan.read import read_plan_text
from dmaverify.program.ways import ANY, WayTerm
from dmaverify.prove.flow.accesses.way_conditions import impossible, numbers_of
from dmaverify.prove.flow.equality import same as home
from dmaverify.prove.flow.equality.same_contents import NOTHING_OF_PADDING
from dmaverify.prove.options import Options
from dmaverify.prove.sameness import WORDS, Sameness, unread, worst_of
from dmaverify.targets.target import load_target
from dmaverify.values import replace
from dmaverify.verdict import Severity, Status

MACHINE, SEEN = "rngd", "hbm"
MOST_UNITS = 1 << 21  # that a plan or a kernel moves, with padding, where places of tensors are sought
MOST_LAID = 500  # tensors of a kernel that are laid somewhere, until no more places are sought
BOTH_SEEN = "both leave the same in the tensors that they are given and give"
ALIKE = "each operation gives what its operands decide"
MOST_WAYS = 64
"""Ways by their conditions on which two kernels are compared."""


def same_rust(names: Sequence[str], *, rlimit: int) -> Sameness:
    """Whether two kernels leave the same in the tensors that others see, whatever numbers both are given. Raises
    InputError, Disagreement.
    """
    parts = [named(text) for text in names]
    todo: list[tuple[WayTerm, ...]] = [()]  # what is supposed of the numbers on ways that are not compared yet
    answers: list[Sameness] = []
    while todo:
        supposed = todo.pop()
        kernels = [followed_kernel(*part, (), supposed) for part in parts]
        kinds = [[kind for _, kind in kernel.numbers] for kernel in kernels]
        asked = next((kernel.asked for kernel in kernels if kernel.asked is not None), None)
        if asked is not None and kinds[0] == kinds[1] and len(todo) + len(answers) < MOST_WAYS:
            ways = [(*supposed, asked), (*supposed, asked.negated())]
            todo += [way for way in ways if not impossible(way)]
            continue
        found = _same(kernels, rlimit)
        if kinds[0] and kinds[0] == kinds[1] and found.status != "proved":
            found = _at_numbers(parts, kernels[0].numbers, supposed, rlimit) or (
                found if found.status == "unknown" else replace(found, status="unknown", by="", witness=None)
            )
        if found.status == "refuted":
            return found
        answers.append(found)
    return worst_of(answers)


def _at_numbers(
    parts: Sequence[tuple[str, str]], numbers: Sequence[tuple[str, str]], supposed: tuple[WayTerm, ...], rlimit: int
) -> Sameness | None:
    """A difference at a few numbers that are as supposed."""
    inputs = [WayTerm(ANY, (), RANGES[kind], at) for at, (_, kind) in enumerate(numbers)]
    tried: list[list[int]] = []
    for more in (None, 1, 2):
        like = [equal(one, of_number(more)) for one in inputs] if more is not None else []
        values = numbers_of((*supposed, *like))
        own = [(values or {}).get(at, one.ends[0] if one.ends else 0) for at, one in enumerate(inputs)]
        if values is None or own in tried:
            continue
        tried.append(own)
        found = _same([followed_kernel(*part, own) for part in parts], rlimit)
        if found.status == "refuted":
            said = ", ".join(f"{name} = {value:,}" for (name, _), value in zip(numbers, own, strict=True))
            return replace(found, witness={**(found.witness or {}), "where": said})
    return None


def _same(kernels: Sequence[FollowedKernel], rlimit: int) -> Sameness:
    """The same of kernels with the numbers that they are followed for. Raises InputError, Disagreement."""
    opened = next((one for one in map(_opened, kernels) if one is not None), None)
    if opened is not None:
        return opened
    types = [(*signature(kernel), kernel.device) for kernel in kernels]
    for word, first, second in zip(("arguments", "results", "devices"), *types, strict=True):
        if first != second:
            apart = next(((a, b) for a, b in zip(first, second, strict=False) if a != b), None)
            said = f"{apart[0]} against {apart[1]}" if apart else f"{len(first)} against {len(second)}"
            return Sameness("unknown", f"their {word} differ: {said}")
    if any(kernel.beyond for kernel in kernels):
        return _by_terms(kernels)
    try:
        found = _by_transfers(kernels, rlimit)
    except InputError as error:
        found = Sameness("unknown", error.message, places=(error.span,) if error.span else ())
    alike = _by_terms(kernels) if found.status == "unknown" else found
    return alike if alike.status == "proved" else found


def _by_transfers(kernels: Sequence[FollowedKernel], rlimit: int) -> Sameness:
    """Whether two kernels that move, and do nothing else, leave the same, as programs of their transfers. Raises
    InputError, Disagreement.
    """
    sides = []
    for word, kernel in zip(WORDS, kernels, strict=True):
        side = _lowered(kernel, {})
        if isinstance(side, Sameness):
            return replace(side, why=f"the {word}: {side.why}")
        sides.append(side)
    (one, lowered, first), (other, beside, second) = sides
    if lowered.own != beside.own:
        return Sameness("unknown", "their tensors are not placed alike")
    found = same_programs(one, other, rlimit=rlimit, tiers=[SEEN], ends={SEEN: lowered.own}, live=(True, True))
    return _told(found, lowered.seen, (*first, *second))


def _by_terms(kernels: Sequence[FollowedKernel]) -> Sameness:
    """Whether two kernels, one of which computes, leave the same terms in the tensors that others see."""
    if len({kernel.library for kernel in kernels}) > 1:
        return Sameness("unknown", "they are written for two versions of the library")
    ends = [[serial_of(one) for one in (*(one for _, one in kernel.given), *kernel.gives)] for kernel in kernels]
    conditions: dict[str, None] = {}
    for word, kernel, own in zip(WORDS, kernels, ends, strict=True):
        why, span = kernel.terms.doubt(own)
        if why:
            return Sameness("unknown", f"the {word}: {kernel.item.name}: {why}", places=(span,) if span else ())
        why, held = _judged(kernel)
        if why:
            return Sameness("unknown", f"the {word}: {kernel.item.name} is not proved (`check` says why): {why}")
        conditions |= dict.fromkeys((*held, *kernel.terms.given))
    world: dict[tuple[object, ...], int] = {}
    (first, _), (second, other) = (kernel.terms.told(own, world) for kernel, own in zip(kernels, ends, strict=True))
    if first != second or kernels[0].terms.calls != kernels[1].terms.calls:
        shown = _by_constants(kernels, ends) if not conditions else None
        if shown is not None:
            return shown
        said = next((kernel for kernel in kernels if kernel.beyond), kernels[0])
        why = f"`.{other}()` of the second is none of the first" if other else "the second makes something else of them"
        why = f"they are not the same operations: {why}" + (f" ({said.beyond})" if said.beyond else "")
        return Sameness("unknown", why, places=(said.span,) if said.span else ())
    held = (*conditions, ALIKE, NOTHING_OF_PADDING) if any(kernel.beyond for kernel in kernels) else (*conditions,)
    return Sameness("proved", BOTH_SEEN, by="the same operations of the same contents", kind="kernels", conditions=held)


def _by_constants(kernels: Sequence[FollowedKernel], ends: Sequence[Sequence[int]]) -> Sameness | None:
    """A difference that shows where each tensor that both are given holds one number everywhere."""
    given = kernels[0].given
    gives = [f"result {number}" for number, _ in enumerate(kernels[0].gives, 1)]
    called = [*(f"`{name}`" for name, _ in given), *(gives if len(gives) != 1 else ["its result"])]
    for start, step in ((3, 2), (1, 5), (2, 3), (7, 4)):
        numbers = [(start + step * at - 1) % 7 + 1 for at in range(len(given))]
        first, second = (left_by(kernel.terms, own, numbers) for kernel, own in zip(kernels, ends, strict=True))
        for name, one, other in zip(called, first, second, strict=True):
            if one is not None and other is not None and one != other:
                held = ", ".join(f"{own} holds {number}" for (own, _), number in zip(given, numbers, strict=True))
                shown = dict(zip(("where", *WORDS), (f"{held}, everywhere", str(one), str(other)), strict=True))
                why = f"what {name} holds in the end differs"
                return Sameness("refuted", why, shown, "a run of both, by the operations of the library", "kernels")
    return None


def same_rust_and_plan(plan: Plan, name: str, *, rlimit: int, plan_first: bool = True) -> Sameness:
    """Whether a plan's one entry leaves in HBM what a kernel leaves there; `plan_first`: it is the first of the two.
    Raises InputError, Disagreement.
    """
    program = program_for(plan, MACHINE)
    kernel = followed_kernel(*named(name))
    opened = _opened(kernel)
    if opened is None and kernel.beyond:
        opened = Sameness(
            "unknown", f"{kernel.item.name}: {kernel.beyond}", places=(kernel.span,) if kernel.span else ()
        )
    if opened is None and kernel.numbers:
        opened = Sameness("unknown", f"`{kernel.numbers[0][0]}` is a number, which no plan is given")
    if opened is not None:
        return opened
    taken = home.side_of(program, plan.axes, plan.targets[program.target])
    touched = [touch for work in taken.works for touch in work.touches if touch.memory[0] == SEEN]
    end = max((touch.walk.high * touch.unit_bits // 8 + 1 for touch in touched), default=0)
    side = _lowered(kernel, _places(plan, kernel), end)
    if isinstance(side, Sameness):
        return side
    made, lowered, conditions = side
    sides = (plan, made) if plan_first else (made, plan)
    found = same_programs(
        sides[0], sides[1], rlimit=rlimit, tiers=[SEEN], ends={SEEN: lowered.own}, live=(not plan_first, plan_first)
    )
    lying = [f"{called} lies at {SEEN}, byte {base:,}" for called, base in lowered.seen.items()]
    if found.status == "proved":
        held = tuple(dict.fromkeys((*found.conditions, *conditions, *lying)))
        return replace(found, why=f"both leave the same in {SEEN}", conditions=held, kind="kernels")
    notes = tuple(f"where {one}" for one in lying)
    unit_bits = min(home.side_of(program_of_plan(one), one.axes, one.targets[MACHINE]).unit_bits for one in sides)
    apart = found.status == "refuted" and not _hidden(kernel)  # what nobody sees may lie where the plan keeps something
    why = _wherever(plan, made, lowered, unit_bits) if apart else ""
    if why:
        return replace(found, why=why, by=BY_RUNS, witness=None, notes=(f"{found.why}, {notes[0]}", *notes[1:]))
    return replace(found, status="unknown", by="", notes=notes)  # another place of them may be no difference


def _hidden(kernel: FollowedKernel) -> bool:
    """Whether a kernel moves through tensors in HBM that nobody else sees."""
    seen = {serial_of(tensor) for tensor in (*(one for _, one in kernel.given), *kernel.gives)}
    sides = [side for move in kernel.moves for side in (move.source, move.dest)]
    return any(side.tier == SEEN and serial_of(side) not in seen for side in sides)


def _wherever(plan: Plan, made: Plan, lowered: LoweredKernel, unit_bits: int) -> str:
    """Why a kernel leaves something else than a plan wherever its tensors lie, as runs of both texts have it; nothing
    where some places may be no difference. Each tensor lies in one piece, and no two share a byte.
    """
    ran = [_changed(left_behind_run(one, unit_bits, MOST_UNITS)) for one in (plan, made)]
    if ran[0] is None or ran[1] is None:
        return ""
    bases = sorted(base * 8 // unit_bits for base in lowered.seen.values())
    kernel = {_within(bases, at): _within(bases, of) for at, of in ran[1].items()}
    if len(kernel) != len(ran[0]):
        many = [f"{count * unit_bits // 8:,}" for count in (len(ran[0]), len(kernel))]
        return f"wherever its tensors lie: the plan changes {many[0]} bytes of {SEEN}, the kernel {many[1]}"
    changed: dict[int, list[int]] = {}
    for tensor, at in sorted(kernel):
        changed.setdefault(tensor, []).append(at)
    if _may_lie(changed, kernel, ran[0]):
        return ""
    return f"no places of its tensors make what it leaves in {SEEN} what the plan leaves"


def _changed(left: Mapping[tuple[str, int], object] | None) -> dict[int, int] | None:
    """The units of HBM that hold something else in the end, and where it lay; None where it lay nowhere."""
    out: dict[int, int] = {}
    for (tier, at), origin in (left or {}).items():
        if tier == SEEN and origin != (tier, at):
            if not isinstance(origin, tuple) or origin[0] != SEEN:
                return None
            out[at] = origin[1]
    return out if left is not None else None


def _within(bases: Sequence[int], at: int) -> tuple[int, int]:
    """Which tensor a unit is of, and where in it."""
    tensor = bisect_right(bases, at) - 1
    return tensor, at - bases[tensor]


def _may_lie(
    changed: Mapping[int, Sequence[int]], kernel: Mapping[tuple[int, int], tuple[int, int]], plan: Mapping[int, int]
) -> bool:
    """Whether tensors may lie so that a plan leaves in them what a kernel does, or nobody knows: they are laid one
    behind another, as far as each of them has what the plan leaves there.
    """
    places, tried = sorted(plan), 0
    todo: list[tuple[int, frozenset[int], dict[int, int]]] = [(0, frozenset(changed), {})]
    while todo:
        at, left, lie = todo.pop()
        if not left:
            return True
        for tensor in left:
            own = changed[tensor]
            there = places[at : at + len(own)]
            base = there[0] - own[0] if len(there) == len(own) else 0
            if [place - base for place in there] != [*own] or lie.get(tensor, base) != base:
                continue
            tried += 1
            if tried > MOST_LAID:
                return True
            made = {**lie, tensor: base}
            for to in own:
                other, of = kernel[tensor, to]
                if made.setdefault(other, plan[base + to] - of) != plan[base + to] - of:
                    break
            else:
                todo.append((at + len(own), left - {tensor}, made))
    return False


def _opened(kernel: FollowedKernel) -> Sameness | None:
    if kernel.open:
        return Sameness("unknown", f"{kernel.item.name}: {kernel.open}", places=(kernel.span,) if kernel.span else ())
    if not kernel.sites and not kernel.beyond:
        return Sameness("unknown", f"{kernel.item.name} moves nothing")
    if len(kernel.moves) > MOST_LOWERED:
        return Sameness("unknown", f"{kernel.item.name} makes {len(kernel.moves)} transfers, more than are compared")
    return None


def _lowered(
    kernel: FollowedKernel, at: Mapping[int, int], end: int = 0
) -> tuple[Plan, LoweredKernel, tuple[str, ...]] | Sameness:
    """A kernel as a program, with the conditions of its proof; or the answer that says why there is none. What nobody
    else sees of its HBM lies behind `end`.
    """
    try:
        lowered = lowered_kernel(kernel, load_target(MACHINE), at, end)
    except InputError as error:
        return unread(error, f"{kernel.item.name}: ")
    why, conditions = _judged(kernel)
    if why:
        return Sameness("unknown", f"{kernel.item.name} is not proved (`check` says why): {why}")
    return select(read_plan_text(lowered.text), NAME), lowered, conditions


def _judged(kernel: FollowedKernel) -> tuple[str, tuple[str, ...]]:
    """Why a kernel is not proved, and what its proof rests on: of each file, the verdicts on the transfers that run."""
    conditions: dict[str, None] = {}
    spans = {(span.source.name, span.start) for span in (site.span for site in kernel.sites)}
    for path in dict.fromkeys(name for name, _ in spans):
        plan = read_kernel_plan(path)
        own = tuple(one for one in plan.sites if (one.site.span.source.name, one.site.span.start) in spans)
        if len(own) != sum(name == path for name, _ in spans):
            return f"not all of its transfers were found in {path}", ()
        for verdict in kernel_verdicts(replace(plan, sites=own), Options(repair=False)):
            if verdict.status is not Status.PROVED:
                open_ = (o.why for o in verdict.obligations if o.status == "unknown")
                said = [f.message for f in verdict.findings if f.severity is Severity.ERROR]
                return next(iter((*said, *open_)), verdict.status.value), ()
            conditions |= dict.fromkeys(verdict.conditions)
    return "", tuple(conditions)


def _told(found: Sameness, seen: Mapping[str, int], conditions: Sequence[str]) -> Sameness:
    """The answer, of the tensors of a kernel, with what both proofs rest on."""
    held = tuple(dict.fromkeys((*found.conditions, *conditions)))
    lying = tuple(f"{called} begins at {SEEN}, byte {base}, here" for called, base in seen.items())
    if found.status == "proved":
        return replace(found, why=BOTH_SEEN, conditions=held, kind="kernels")
    return replace(found, notes=(*found.notes, *lying), kind="kernels")


def _places(plan: Plan, kernel: FollowedKernel) -> dict[int, int]:
    """Where the tensors of a kernel would have to begin for its first transfers to be those of a plan."""
    machine, out = load_target(MACHINE), dict[int, int]()
    for word in ("source", "dest"):
        theirs = [getattr(s.transfer, word) for s in program_of_plan(plan).steps if s.transfer is not None]
        bases = [one.base for one in theirs if one.tier == SEEN]
        mine = [side for move in kernel.moves if (side := getattr(move, word)).tier == SEEN]
        for base, side in zip(bases, mine, strict=False):
            starts = side.window.at.get("element")
            start = (0 if starts is None else starts.low) * machine.dtypes[side.dtype.name] // 8
            if base >= start:
                out.setdefault(serial_of(side), base - start)
    return out
