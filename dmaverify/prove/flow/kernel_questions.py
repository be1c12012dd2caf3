"""A kernel of copy instructions that holds, asked once more from definitions; what has no question is said in words.

Knows: the rules that held with the terms of their ports, the copies whose operands are numbers, the moves claimed.
Does not know: machines by name, text syntax, how scripts are asked.
Law: `z3` is the label of a rule only if its predicate was asked of every term at which it was judged, and of an
obligation only if every copy and every claimed move has a question of it. An order that the questions do not state is
followed path by path and has no question: it is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from dmaverify.language.affine import Cond, Lin, compare
from dmaverify.lower.programs import space_of
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.instructions import Copy, CopyTouch, KernelLoop, Use, accumulate
from dmaverify.program.rewrite import with_loops
from dmaverify.program.sticky import reads
from dmaverify.prove.flow.claims import ClaimResult, placed_copies
from dmaverify.prove.flow.initialization.definite_questions import DEFINITE, definite_script
from dmaverify.prove.flow.initialization.padding_questions import padding_script
from dmaverify.prove.flow.instruction_rules import HeldRule, RuleJudge
from dmaverify.prove.flow.kernels import JudgedKernel, KernelProgram
from dmaverify.prove.flow.order.flag_questions import FLAGS
from dmaverify.prove.flow.order.order_questions import order_scripts
from dmaverify.prove.flow.order.pipe_state import HAZARDS
from dmaverify.prove.flow.order.stretches import Instant, Instants, script_of
from dmaverify.prove.flow.register_questions import MOST_READS, REGISTERS, register_script
from dmaverify.prove.move.defined import NotCovered
from dmaverify.prove.move.full import FROM_DEFINITIONS, NOT_ASKED, ask, definitions, predicates_script
from dmaverify.prove.move.questions import QuestionSubject, address_by_steps, once_script, questions_of
from dmaverify.prove.move.script import Script, ScriptWriter, conjunction, disjunction, text_of
from dmaverify.prove.options import Options
from dmaverify.targets.rule import Rule
from dmaverify.targets.target import Target
from dmaverify.values import replace

if TYPE_CHECKING:
    from dmaverify.program.access import PlanMove

MOST_COPIES = 100
BOUNDS, ONCE = "core/in-bounds", "core/writes-once"
ORDER = {*HAZARDS, FLAGS}
NOTHING = ("no two accesses need an order", "no flag is set or waited for")
NO_READS = "no copy takes anything from a register"
HOW = {"": "read from the text", "numbers": "judged at its numbers", "for all values": "judged for all values"}


def ask_kernel(
    program: KernelProgram, judged: JudgedKernel, claims: Sequence[tuple[PlanMove, ClaimResult]],
    extents: Mapping[str, int | Lin], target: Target, options: Options,
) -> None:  # fmt: skip
    """Asks what can be asked, puts down labels, and says of the rest that it was not asked. Tensors whose extents
    nobody declares are as long as the verdict supposes. Raises Disagreement.
    """
    assert judged.judge is not None
    proved = {name for name, (status, _, _) in judged.obligations.items() if status == "proved"}
    rules = predicates_script([_at(one, judged.judge) for one in judged.judge.held])
    scripts = [rules] if rules.steps else []
    extents = {**_supposed(judged.judge), **extents}
    copies = list(placed_copies(program.events, ()))
    uses = [(use, loops) for use, loops in with_loops(program.events) if isinstance(use, Use) and _is_bound(use)]
    missing = {rule for _, rule in judged.judge.assumed} | ({BOUNDS} if program.needs else set())
    missing |= {BOUNDS, ONCE} if len(copies) + len(uses) > MOST_COPIES else set()
    instants = Instants(judged.judge.asker)
    for use, loops in uses if len(uses) <= MOST_COPIES else ():
        script, lost = _in_tensors(f"access {use.number} in its tensors", use, loops, extents, instants)
        scripts += [script] if script is not None and script.obligations <= proved else []
        missing |= lost
    for copy, loops in copies if len(copies) <= MOST_COPIES else ():
        for script, lost in _of_copy(copy, loops, extents, instants):
            scripts += [script] if script is not None and script.obligations <= proved else []
            missing |= lost
    for number, (move, result) in enumerate(claims):
        made, lost = _of_claim(move, result, f"move {number + 1}, ", target, options)
        scripts += made
        missing |= lost
    order, why = _order(judged, options)
    scripts += [script for script in order if script.obligations <= proved]
    taken = reads(program.kept)
    scripts += [register_script(program.kept, program.world)] if 0 < taken <= MOST_READS else []
    proved.add(REGISTERS)  # else there would be an error
    left: list[str] = []
    missing |= ask(scripts, options.rlimit, judged.asked, left)
    missing |= set(HAZARDS) if FLAGS in missing else set()  # waits are taken to be in turn with sets
    spoken = {name for script in scripts for name in script.obligations}
    for name in (spoken & proved) - missing:
        judged.obligations[name] = ("proved", FROM_DEFINITIONS, "")
    for name in (ORDER & proved) - spoken - why.keys():
        judged.obligations[name] = ("proved", NOTHING[name == FLAGS], "")
    if taken == 0:
        judged.obligations[REGISTERS] = ("proved", NO_READS, "")
    elif taken > MOST_READS:
        left.append(f"{REGISTERS}: more than {MOST_READS} reads of registers")
    judged.assumptions += [NOT_ASKED + what for what in (*left, *_unasked(judged, why))]


def _supposed(judge: RuleJudge) -> dict[str, int | Lin]:
    """How many bytes tensors have that nobody declares, as the conditions of the verdict say it."""
    found: dict[str, int | Lin] = {}
    for root, ends in judge.reached.items():
        most = [judge.world.interval(end)[1] for end in ends]
        if None not in most:
            found[root] = max(high for high in most if high is not None)
    return found


def _order(judged: JudgedKernel, options: Options) -> tuple[list[Script], dict[str, str]]:
    """The scripts of hazards, flags and what is read; and why there are none, by obligation."""
    assert judged.judge is not None
    if judged.order is None:
        return [], dict.fromkeys((*ORDER, DEFINITE), "another core")
    asker, scripts = judged.judge.asker, []
    why: dict[str, str] = {} if judged.read else {DEFINITE: "bytes of several memories, or that come and go"}
    try:
        scripts += order_scripts(*judged.order, asker, options.rlimit)
        scripts += [definite_script(*judged.order, asker, judged.read)] if judged.read else []
    except NotCovered as reason:
        why |= dict.fromkeys((DEFINITE,) if scripts else (*ORDER, DEFINITE), str(reason))
    return scripts, why


def _unasked(judged: JudgedKernel, why: Mapping[str, str]) -> Iterator[str]:
    """What holds without a question, by what decided it, and `why` by obligation."""
    by: dict[str, list[str]] = {}
    for name, (status, how, _) in sorted(judged.obligations.items()):
        if status == "proved" and how not in (FROM_DEFINITIONS, *NOTHING, NO_READS):
            said = f"{how} ({why[name]})" if name in why else how
            by.setdefault(said, []).append(name)
    yield from (f"{', '.join(names)}: {HOW.get(how, how)}" for how, names in by.items())


# ---------------------------------------------------------------- rules


def _at(held: HeldRule, judge: RuleJudge) -> tuple[Rule, tuple[str, ...], tuple[str, ...], str]:
    """The ports of a rule as text, with all that is known of their symbols."""
    world, terms = judge.world, [held.terms[port] for port in held.rule.ports]
    names = {name for term in terms for name, _ in term.terms} | {n for one in held.when for n in one.symbols()}
    given: list[str] = []
    if names:
        needs = judge.asker.needed(names)
        names |= {name for one in needs for name in one.symbols()}
        variables, facts = world.context(names)
        given += [f"(declare-const {name} Int)" for name, _, _ in variables]
        given += [f"(assert (<= {world.text(Lin(low))} {name}))" for name, low, _ in variables if low is not None]
        given += [f"(assert (< {name} {world.text(Lin(end))}))" for name, _, end in variables if end is not None]
        given += [f"(assert {fact})" for fact in (*facts, *map(world.cond_text, (*held.when, *needs)))]
    return held.rule, tuple(map(world.text, terms)), tuple(given), held.place


# ---------------------------------------------------------------- copies


def _is_bound(use: Use) -> bool:
    """Whether bounds are claimed of an access that is no copy: it touches a tensor."""
    return use.inferred != "bytes" and any(touch.place.root for touch in use.touches)


def _of_copy(
    copy: Copy, loops: Sequence[KernelLoop], extents: Mapping[str, int | Lin], instants: Instants
) -> Iterator[tuple[Script | None, set[str]]]:
    """Every byte that a copy touches lies in its tensor, and no byte is changed by two rows; what has no question."""
    yield _in_tensors(f"copy {copy.order} in its tensors", copy, loops, extents, instants)
    row = _row(copy)
    if row is None or copy.when:
        yield _rows_apart(copy, loops, instants)
    else:
        yield once_script(ScriptWriter(f"copy {copy.order} twice", definitions()), row), set()


def _in_tensors(
    name: str, event: Copy | Use, loops: Sequence[KernelLoop], extents: Mapping[str, int | Lin], instants: Instants
) -> tuple[Script | None, set[str]]:
    """Every byte of an access lies in its tensor; what has no question. Numbers are stated as they are, terms with all
    that is known of their symbols in the iterations that there are.
    """
    lost: set[str] = set()
    writer, terms = ScriptWriter(name, definitions()), False
    node = _anywhere(event, loops, instants)
    for index, touch in enumerate(event.touches):
        if not touch.place.root:
            continue
        extent = extents.get(touch.place.root)
        size = extent.const if isinstance(extent, Lin) and extent.is_const else extent
        said = f"{touch.kind} of %{touch.place.root}"
        nest = None if event.when else _nest(touch, loops)
        if size is None or touch.open:
            lost.add(BOUNDS)
        elif nest is not None and isinstance(size, int):
            counters = [writer.counter(f"t{index}.c{i}", count) for i, (count, _) in enumerate(nest)]
            base = touch.place.address.const + touch.offset.const
            at = address_by_steps(writer, f"t{index}.address", base, counters, [stride for _, stride in nest])
            writer.claim(said, BOUNDS, f"(not (core/in-range {text_of(at)} {size}))")
        else:
            end = Lin(size) if isinstance(size, int) else size
            try:
                byte, given = instants.byte(writer.lines, node, touch, f"t{index}.")
            except NotCovered:
                lost.add(BOUNDS)
                continue
            terms = True
            given += instants.facts(writer.lines, [end], [node])
            wrong = f"(not (core/in-range {byte} {instants.world.text(end)}))"
            writer.claim(said, BOUNDS, conjunction([*dict.fromkeys(given), wrong]))
    if not writer.steps:
        return None, lost
    return (script_of(writer) if terms else writer.script()), lost


def _anywhere(event: Copy | Use, loops: Sequence[KernelLoop], instants: Instants) -> Instant:
    """An access in any iteration of the loops around it."""
    counters: dict[str, Lin] = {}
    when: list[Cond] = []
    for loop in loops:
        turn = instants.world.free("turn", 0, None)
        counters[loop.counter] = turn
        when.append(compare("lt", turn - instants.world.put(loop.trip, counters)))
    return Instant(event, counters, tuple(when))


def _rows_apart(copy: Copy, loops: Sequence[KernelLoop], instants: Instants) -> tuple[Script | None, set[str]]:
    """No byte is changed by two rows of a copy whose operands are terms; None where that is not claimed or stated."""
    writer = ScriptWriter(f"copy {copy.order} twice", definitions())
    node = _anywhere(copy, loops, instants)
    writes = [touch for touch in copy.touches if touch.writes]
    try:
        for i, one in enumerate(writes):
            for other in writes[: i + 1]:
                a, given = instants.byte(writer.lines, node, one, "a")
                b, more = instants.byte(writer.lines, node, other, "b")
                names = [*(str(n) for n in range(len(one.steps))), ".byte"]
                differ = [disjunction([f"(not (= a{n} b{n}))" for n in names])] if one is other else []
                writer.claim("rows", ONCE, conjunction([f"(= {a} {b})", *dict.fromkeys((*given, *more)), *differ]))
    except NotCovered:
        return None, {ONCE}
    if accumulate(copy, copy) or not writer.steps:
        return None, {ONCE}
    return script_of(writer), set()


def _nest(touch: CopyTouch, loops: Sequence[KernelLoop]) -> list[tuple[int, int]] | None:
    """Count and stride of the loops around a touch, its own levels and its bytes; None where they are no numbers."""
    terms = dict(touch.place.address.terms)
    numbers = [touch.offset, touch.length, *(loop.trip for loop in loops), *(n for step in touch.steps for n in step)]
    if touch.open or not all(one.is_const for one in numbers):
        return None
    nest = [(loop.trip.const, terms.pop(loop.counter, 0)) for loop in loops]
    nest += [(count.const, stride.const) for count, stride in reversed(touch.steps)]
    nest.append((touch.length.const, 1))
    return None if terms or any(count < 1 for count, _ in nest) else nest


def _row(copy: Copy) -> Command | None:
    """What a copy changes as one command, where each row is one run of bytes; else None."""
    writes = sorted((t for t in copy.touches if t.writes), key=lambda t: t.offset.const)
    if accumulate(copy, copy) or not writes or any(t.steps != writes[0].steps for t in writes):
        return None
    still = [replace(t, place=replace(t.place, address=Lin(0))) for t in writes]  # rows of one run are compared
    ends = [t.offset.const + t.length.const for t in writes]
    if any(_nest(touch, ()) is None for touch in still) or ends[:-1] != [t.offset.const for t in writes[1:]]:
        return None
    whole = tuple(Loop(count.const, 0, stride.const) for count, stride in reversed(writes[0].steps))
    port = Port(copy.write.space, 0)
    length = ends[-1] - writes[0].offset.const
    return Command(port, port, whole, length, length)


# ---------------------------------------------------------------- moves


def _of_claim(
    move: PlanMove, result: ClaimResult, name: str, target: Target, options: Options
) -> tuple[list[Script], set[str]]:
    """The scripts of a claimed move; obligations that they do not say all of."""
    if result.dest is None:
        return [], set(result.status)
    spaces = (space_of(target, move.source.tier), space_of(target, move.dest.tier))
    bits = target.dtypes[move.dtype]
    subject = QuestionSubject(
        move.source, result.dest, spaces, bits, result.commands, options.readings, definitions(), result.status, name,
    )  # fmt: skip
    found = questions_of(subject)
    spoken = {one for script in found.scripts for one in script.obligations}
    lost = {one for one, status in result.status.items() if status == "proved"} - spoken
    scripts = list(found.scripts)
    if result.padded:
        try:
            scripts.append(padding_script(move, result.copies, spaces[1], bits, name))
        except NotCovered:
            lost.add("core/padding")
    return scripts, lost
