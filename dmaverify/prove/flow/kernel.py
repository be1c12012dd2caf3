"""One program of a plan, judged: its steps, hazards between them, regions, starvation, routes; one verdict.

Knows: the order of judgement and what each answer means for the verdict.
Does not know: how plans are read, how verdicts are shown.
Law: errors decide the verdict, what could not be decided is UNKNOWN, a program whose steps are not all proved is not
proved. Steps that wait for each other, or make no command, end the judgement where it has no meaning, and say so.

Source: docs/design.md; "DMA Engine", "Memory Performance" as the parts name them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dmaverify.errors import many
from dmaverify.program.access import Access
from dmaverify.program.move import Transfer
from dmaverify.program.schedule import Circle, Order, Program, Step, order_of, torn_body
from dmaverify.prove.flow.accesses.declarations import may_share, read_otherwise, written_over
from dmaverify.prove.flow.accesses.index_lists import shared_lists
from dmaverify.prove.flow.accesses.touches import StepWork, work_of
from dmaverify.prove.flow.coverage.steps_told import step_findings
from dmaverify.prove.flow.coverage.tile_outputs import Output, outputs
from dmaverify.prove.flow.coverage.tiles import Together, worse
from dmaverify.prove.flow.coverage.tiles import judge as judge_tiles
from dmaverify.prove.flow.coverage.tiles_elsewhere import OtherDeclarations
from dmaverify.prove.flow.coverage.tiles_told import tile_findings, undecided_tiles
from dmaverify.prove.flow.initialization.begun import there_at_start
from dmaverify.prove.flow.initialization.written_since import written_since
from dmaverify.prove.flow.order.hazards import Hazards, hazards
from dmaverify.prove.flow.order.hazards_told import (
    CONTEXTS_IN_ORDER,
    ONE_ENGINE,
    contexts_apart,
    engines_apart,
    hazard_finding,
    order_rests_on,
)
from dmaverify.prove.flow.order.hops import hop_findings
from dmaverify.prove.flow.order.pipe_state import HAZARDS
from dmaverify.prove.flow.order.regions import REGIONS, region_findings
from dmaverify.prove.flow.starvation.concurrency import Starvation, starvation
from dmaverify.prove.flow.starvation.starving_told import starving_finding
from dmaverify.prove.judgement import Judgement
from dmaverify.prove.meet import Walk, shared
from dmaverify.prove.move.check import Options, check_access, check_transfer
from dmaverify.prove.move.full import FROM_DEFINITIONS
from dmaverify.prove.move.in_place import BETWEEN, SWAPPED, between_iterations
from dmaverify.prove.move.index_case import RUN_TIME
from dmaverify.prove.move.indirect import check_indirect
from dmaverify.prove.move.preconditions import meaningless
from dmaverify.prove.smt import Session
from dmaverify.targets.modules import kept_memory
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field
from dmaverify.verdict import Finding, Severity, Status, Verdict

TILES = ("core/tiles-once", "core/tiles-cover")


@dataclass
class _Case(Judgement):
    """A program on its way to a verdict."""

    program: Program
    session: Session
    starved: Starvation | None = None
    steady: list[int] = field(default_factory=list)  # steps of which core/overlap is proved
    later: list[tuple[int, Transfer | Access, Verdict, bool]] = field(default_factory=list)  # see `replaced`

    # ------------------------------------------------------------ steps

    def ill(self, message: str, hint: str, finding: Finding | None = None) -> None:
        self.status["core/well-formed"] = "refuted"
        self.findings.append(
            finding
            or Finding(
                "core/well-formed",
                Severity.ERROR,
                message,
                "program",
                self.program.span,
                hint=hint,
            )
        )

    def steps(self, known: Mapping[str, Verdict], path: str) -> None:
        """Every step by itself: the moves and accesses that it names, each once."""
        worst = "proved"
        seen: set[tuple[str, Any]] = set()
        for index, step in enumerate(self.program.steps):
            for work in (step.transfer, *step.accesses):
                if work is None or (not step.inline and (work.name, step.around and step.loops) in seen):
                    continue
                seen.add((work.name, step.around and step.loops))
                verdict = None if step.inline else known.get(work.name)
                alone = step.inline or (step.around and (verdict is None or verdict.status is Status.PROVED))
                if verdict is None or alone:
                    verdict = self._judge(work, index, path)
                if step.indirect is not None:  # what a plan promises of an index is assumed here, too
                    self.assumptions += [f"`{work.name}`: {a}" for a in verdict.assumptions if a.endswith(RUN_TIME)]
                self.conditions += [one for one in verdict.conditions if one not in self.conditions]
                overlap = [one.status for one in verdict.obligations if one.id == "core/overlap"]
                same = (i for i, s in enumerate(self.program.steps) if s.transfer == work and not s.indirect)
                self.steady += same if overlap == ["proved"] else ()
                if verdict.errors and between_iterations(verdict) <= {BETWEEN, SWAPPED}:
                    self.later.append((index, work, verdict, alone))
                    if worst == "proved" and any(one.status == "unknown" for one in verdict.obligations):
                        worst = "unknown"
                elif verdict.status is Status.REFUTED:
                    worst = "refuted"
                    self.findings += step_findings(step, work.name, verdict, alone=alone)
                elif verdict.status is not Status.PROVED and worst == "proved":
                    worst = "unknown"
        self.status["core/steps"] = worst
        said = "1 move or access" if len(seen) == 1 else f"{len(seen)} moves and accesses"
        self.by["core/steps"] = f"{many(len(self.program.steps), 'step')}, {said}, each by itself"

    def replaced(self, works: Sequence[StepWork], order: Order | None) -> None:
        """Steps of which an iteration writes what a later one reads (`later`), which is refuted unless other steps of
        the loop write it again before; what iterations decide that swap, hazards have judged.
        """
        later, self.later = self.later, []
        for index, work, verdict, alone in later:
            step, status = self.program.steps[index], {"none": "refuted", "all": "proved", "some": "unknown"}
            found = "none" if order is None else "all"
            if order is not None and between_iterations(verdict) != {SWAPPED}:
                found = written_since(index, self.program.steps, works, order)
            self.status["core/steps"] = worse(self.status["core/steps"], status[found])
            if found == "none":
                self.findings += step_findings(step, work.name, verdict, alone=alone)
            if found == "some":
                said = f"whether others write all that `{step.name}` reads anew in each iteration"
                self.assumptions.append(f"not decided: {said}")

    def _judge(self, work: Transfer | Access, index: int, path: str) -> Verdict:
        indirect = self.program.steps[index].indirect
        given: Any = {"axes": self.axes, "target": self.target, "options": self.options, "path": path}
        if indirect is not None:
            return check_indirect(indirect, keep=self.session.asked, **given)
        if isinstance(work, Access):
            return check_access(work, keep=self.session.asked, **given)
        problems = self.program.steps[index].problems
        return check_transfer(work, problems=problems, keep=self.session.asked, **given)

    # ------------------------------------------------------------ hazards

    def hazards(self, works: list[StepWork], order: Order) -> None:
        limit = self.options.rlimit
        steady = frozenset(self.steady if self.target.engines.launched else ())
        result = hazards(self.program, works, order, limit, launched=self.target.engines.launched, steady=steady)
        self.session.asked += result.asked
        for kind in HAZARDS:
            self.status[kind], self.by[kind] = result.status(kind), result.by
        self.findings += [hazard_finding(hazard, self.program, self.target) for hazard in result.found]
        self._untold(result)
        self.findings += [finding for index in range(len(works)) for finding in self._kept(index, works)]
        self.conditions += order_rests_on(self.program, works, result, limit, self.target)
        self.conditions += read_otherwise(self.program.steps, works, order, may_share, self.target)
        self.conditions += written_over(self.program.steps, works, order, may_share, self.target)
        for step, work in zip(self.program.steps, works, strict=True):
            if step.indirect is not None:
                index = step.indirect.index
                said = "of its table" if index.low is None else "that its index is promised to name"
                self.assumptions += [] if index.known else [f"`{step.name}` may touch every row {said}"]
            elif work.whole:
                self.assumptions.append(f"`{step.name}` has no stream and no commands: it may touch its tensors whole")

    def lists(self, works: list[StepWork], order: Order) -> None:
        found = list(shared_lists(self.program.steps, works, order, self.target))
        self.conditions += [one for one in found if isinstance(one, str)]
        wrong = [one for one in found if isinstance(one, Finding)]
        self.findings += wrong
        self.status |= dict.fromkeys((one.rule for one in wrong), "refuted")

    def ask(self, works: list[StepWork], order: Order) -> None:
        """What was proved of the steps together once more, from definitions."""
        from dmaverify.prove.flow.program_questions import ask_program

        if not self.options.full or {"unknown", "refuted"} & set(self.status.values()):
            return
        whole, left = ask_program(
            self.program, works, order, list(self.status), self.options.rlimit, self.session.asked,
            target=self.target, starved=self.starved,
        )  # fmt: skip
        self.assumptions += left
        self.by |= dict.fromkeys(whole, FROM_DEFINITIONS)

    def _kept(self, index: int, works: Sequence[StepWork]) -> Iterator[Finding]:
        """Memory that a step needs besides its tensors, and another one touches, before it or behind it."""
        step = self.program.steps[index]
        for rule, memory, low, end in () if step.transfer is None else kept_memory(self.target, step.transfer):
            others = [(n, t) for n, work in enumerate(works) for t in work.touches if n != index]
            for number, touch in others:
                unit = 8 // touch.unit_bits
                own = Walk(low * unit, (((end - low) * unit, 1),))
                met = shared(touch.walk, own, self.session, "hazard") if touch.memory[0] == memory else "unsat"
                if met == "unsat":
                    continue
                other, known = self.program.steps[number].name, self.target.rules[rule]
                does = "writes" if touch.writes else "reads"
                said = f"`{other}` {does} bytes of {low}..{end - 1}, which `{step.name}` needs for itself"
                if met == "unknown" or not touch.sure:
                    self.status["core/hazard-waw"] = "unknown"
                    self.assumptions.append(f"not decided: {said}")
                    continue
                yield Finding(rule, known.severity or Severity.ERROR, said, f"step {step.name}", step.span,
                              {"first": other, "second": step.name}, source=known.source, hint=known.hint)  # fmt: skip
                break

    def _untold(self, result: Hazards) -> None:
        if result.why:
            self.assumptions.append(result.why)
        for kind, first, second in result.unknown:
            names = [self.program.steps[t.step].name for t in (first, second)]
            loose = [name for name, touch in zip(names, (first, second), strict=True) if not touch.sure]
            said = f"`{loose[0]}` may touch bytes of the other, or may not: no command says it" if loose else ""
            self.assumptions.append(
                f"{kind} of `{names[0]}` and `{names[1]}` could not be decided" + (f" ({said})" if said else "")
            )

    def at_start(self, works: list[StepWork], order: Order) -> None:
        found = there_at_start(self.program, works, order, self.target)
        self.assumptions += found.stated
        self.conditions += found.supposed
        if found.denied:
            self.status["core/definite"] = "unknown"
            self.by["core/definite"] = found.denied[0]

    # ------------------------------------------------------------ tiles

    def tiles(self, works: list[StepWork], order: Order) -> None:
        """What views make together of the tensors that they write."""
        steps = self.program.steps
        found = outputs(steps, self.target)
        touches = [touch for work in works for touch in work.touches]
        for output in found:
            if not isinstance(output, Output):
                self.status.update({rule: worse(self.status.get(rule), "unknown") for rule in TILES})
                self.assumptions.append(
                    f"{output.tier} {output.element}: steps cut it into tiles that cannot be compared"
                )
                continue
            elsewhere = OtherDeclarations(steps, touches, self.target)
            result = judge_tiles(output, order, self.session, elsewhere)
            self._written_again(result)
            if not output.tiles:
                continue
            for rule, status in zip(TILES, (result.once, result.covers), strict=True):
                self.status[rule] = worse(self.status.get(rule), status)
                self.by[rule] = f"{len(found)} outputs, over all iterations"
            self.findings += tile_findings(result, steps)
            self.assumptions += [f"core/tiles-once: {why}" for why in undecided_tiles(result, steps)]
            if result.why:
                self.assumptions.append(
                    f"core/tiles-cover of {output.tensor.tier} {output.tensor.element}: {result.why}"
                )
            if result.on_purpose:
                self.assumptions.append(f"{output.tensor.tier} {output.tensor.element}: partly unwritten on purpose")

    def _written_again(self, result: Together) -> None:
        """What a tensor held may be written again unread where one of the two writes is of the whole tensor: a
        condition, which nobody states.
        """
        tensor = result.output.tensor
        for first, second in dict.fromkeys(result.again):
            names = [self.program.steps[step].name for step in (first, second)]
            what = f"{tensor.tier} {tensor.element}"
            self.conditions.append(f"`{names[1]}` may write {what} again before all that `{names[0]}` wrote is read")

    # ------------------------------------------------------------ regions, starvation, hops

    def bare(self, works: list[StepWork]) -> None:
        """What besides hazards differs where nothing says that transfers which name no engine share one, and where
        nothing says in which order an engine is given the work of contexts.
        """
        known = self
        for loose, supposed in (
            (engines_apart(self.program, works), ONE_ENGINE),
            (contexts_apart(self.program, works), CONTEXTS_IN_ORDER),
        ):
            if loose is None:
                continue
            case = _Case(
                self.program, Session(self.options.rlimit), target=self.target, options=self.options, axes=self.axes
            )
            for part in (case.lists, case.at_start, case.tiles, case.regions, case.starvation):
                part(*loose)
            other = any(status != known.status.get(rule) for rule, status in case.status.items())
            other = other or not {*case.conditions} <= {*known.conditions}
            if other or not {*case.assumptions} <= {*known.assumptions}:
                self.conditions += [supposed] if supposed not in self.conditions else []
            known = case

    def regions(self, works: list[StepWork], order: Order) -> None:
        if not self.program.regions:
            return
        open_: list[str] = []
        found = list(region_findings(self.program, works, order, self.target, self.session, open_))
        self.findings += found
        self.assumptions += open_
        lives = any(region.lifetime for region in self.program.regions)
        for rule in REGIONS if lives else REGIONS[:2]:
            left = "unknown" if open_ and rule != "core/region-capacity" else "proved"
            self.status[rule] = "refuted" if any(f.rule == rule for f in found) else left
            self.by[rule] = f"{len(self.program.regions)} regions, by arithmetic"

    def starvation(self, works: list[StepWork], order: Order) -> None:
        readings, full = self.options.readings, self.options.full
        result = starvation(self.program.steps, works, order, self.target, readings, self.session, every=full)
        if result is None or result.limit is None:
            return
        self.starved = result
        rule = result.limit.rule
        self.status[rule] = result.status
        self.by[rule] = (
            f"at most {result.worst} of {result.limit.allowed} beside DMA, {result.proved} longest runs proved"
        )
        self.findings += [starving_finding(one, result, self.program, self.target) for one in result.found]
        said = "a change of operation within a context ends a run of accesses to a bank (no document says so"
        if result.chained:
            many = f"up to {result.chained:,}" if result.chained > 0 else "more than were counted"
            self.conditions.append(f"{said}; if not, {many} follow each other, {result.limit.allowed} are allowed)")
        self.assumptions += [*([] if result.chained else [f"{said})"]), *(f"{rule}: {why}" for why in result.open_)]
        self.assumptions += [f"{rule}: the verdict differs under {other}" for other in result.differs]
        self.assumptions += result.unfit


def check_program(
    program: Program,
    *,
    axes: Mapping[str, int],
    target: Target,
    options: Options,
    path: str = "",
    known: Mapping[str, Verdict] | None = None,
    keep: list[tuple[str, str, str]] | None = None,
) -> Verdict:
    """The verdict on one program. `known` has verdicts of named transfers and accesses, which are not judged again.

    `keep` receives the solver's questions (name, SMT-LIB text, answer). Raises Disagreement as `check_transfer`.
    """
    case = _Case(program, Session(options.rlimit), target=target, options=options, axes=axes)
    for problem in program.problems:
        case.ill(problem.message, problem.hint)
    if not program.problems:
        case.steps(known or {}, path)
        lost = [step.name for step in program.steps if _meaningless(step, case)]
        if lost:
            named = ", ".join(f"`{name}`" for name in lost)
            case.assumptions.append(f"nothing else was judged: {named} has no meaning")
            case.status["core/steps"] = worse(case.status.get("core/steps"), "unknown")
        else:
            _judge(case)
        case.replaced((), None)
    if keep is not None:
        keep += case.session.asked
    case.status.setdefault("core/well-formed", "proved")
    first = ("core/well-formed", "core/steps", *HAZARDS, *TILES, *REGIONS)
    names = (*first, *(name for name in case.status if name not in first))
    return case.concluded(program.name, names, path, program.line, program.expect, many(len(program.steps), "step"))


def _meaningless(step: Step, case: _Case) -> bool:
    """Whether a step has no defined meaning, so that nothing can be said of what it touches."""
    if step.indirect is not None:
        return meaningless(step.indirect, case.axes, case.target, step.indirect.problems)
    if step.transfer is not None and meaningless(step.transfer, case.axes, case.target, step.problems):
        return True
    return any(meaningless(access, case.axes, case.target, access.problems) for access in step.accesses)


def _judge(case: _Case) -> None:
    program = case.program
    works = [work_of(index, step, case.target) for index, step in enumerate(program.steps)]
    for step, work in zip(program.steps, works, strict=True):
        for trouble in work.troubles:
            case.ill(f"step `{step.name}` makes no command: {trouble.message}", trouble.hint)
    order = order_of(program, [work.lanes for work in works])
    if isinstance(order, Circle):
        names = ", ".join(f"`{name}`" for name in order.steps)
        case.ill(f"{names} wait for each other", "take one `after` out of the circle")
        case.assumptions.append("nothing else was judged: the program never ends")
        return
    torn = torn_body(program, order)
    if torn is not None:
        case.ill(
            f"`{torn[0]}` must run between the steps of a loop that it is not in: `{torn[1]}` waits for it",
            "write it into the loop, or give the steps loops of their own",
        )
        return
    for part in (case.replaced, case.hazards, case.lists, case.at_start, case.tiles, case.regions, case.starvation):
        part(works, order)
    case.bare(works)
    case.ask(works, order)
    if not any(work.troubles for work in works):
        case.findings += hop_findings(program, order, case.target, case.axes, case.options)
