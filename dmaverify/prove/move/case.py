"""A transfer on its way to a verdict: what was found, what was judged by what, what was assumed.

Knows: one transfer, its machine and spaces; how a program of it is judged, repaired, executed beside the proof, ruled.
Does not know: in which order all that happens (`check`), how plans are read, how verdicts are shown.
Law: a status only ever gets worse; whatever is not proved stays in the verdict under its own name.

Source: docs/design.md; the plan file format (What is judged).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dmaverify.errors import Disagreement, Span
from dmaverify.layout.digits import NotDigits
from dmaverify.lower.pairing import Trouble
from dmaverify.lower.programs import first_difference, same_nests
from dmaverify.program.access import PlanProblem
from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.program.space import Space, layout_of, local_address, unit_bits_of
from dmaverify.program.tensor import Tensor
from dmaverify.prove.judgement import Judgement
from dmaverify.prove.move.core import judge_core
from dmaverify.prove.move.names import other_size, wrong_numbers
from dmaverify.prove.move.obligations import Subject
from dmaverify.prove.move.outcome import OBLIGATIONS, CoreResult
from dmaverify.prove.move.preconditions import Work, unmet
from dmaverify.prove.move.repair import Repair, repairs
from dmaverify.prove.move.scene import Scene, Side
from dmaverify.prove.move.static import Instance, RuleReport, Ruling, transfer_instances
from dmaverify.prove.move.witness import finding_of
from dmaverify.prove.options import Options as Options
from dmaverify.prove.smt import Session
from dmaverify.targets.modules import derived
from dmaverify.targets.rule import Rule
from dmaverify.values import dataclass, field, replace
from dmaverify.verdict import Edit, Finding, Label, Severity, Verdict

if TYPE_CHECKING:
    from dmaverify.prove.move.units import Comparison

CELLS_BESIDE = 16  # a run numbers every position of both tensors: that many times as many as units that it may move
REPAIR_UNITS = 1 << 16  # proposals that only an enumeration beyond this could prove are not made
MOST_TOLD = 6  # wrong numbers that one message lists
REPAIR_COMMANDS = 48  # commands judged to prove proposals: a single number rarely mends a move of many commands


@dataclass
class Case(Judgement):
    """A transfer on its way to a verdict."""

    transfer: Transfer
    spaces: tuple[Space, Space]
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    units: int = 0
    differs: tuple[str, ...] = ()
    programs: list[tuple[str, tuple[Command, ...]]] = field(default_factory=list)  # what was judged, by name
    held: list[tuple[Rule, tuple[int, ...], str]] = field(default_factory=list)
    not_asked: tuple[str, ...] = ()  # what the questions from definitions leave out
    iterations: int = 1

    # ------------------------------------------------------------ well-formed

    def well_formed(self, extra: Iterable[PlanProblem], work: Work | None = None) -> bool:
        """Reports what makes no sense; whether the meaning is defined, so that judging can go on.

        `work` is what the transfer stands for, where that is something else.
        """
        going = True
        for one in unmet(work or self.transfer, self.axes, self.target, extra):
            self.ill(one.message, one.span, one.hint, Severity.WARNING if one.warning else Severity.ERROR)
            going = going and not one.fatal
        return going

    def ill(
        self,
        message: str,
        span: Span | None,
        hint: str,
        severity: Severity = Severity.ERROR,
        labels: tuple[Label, ...] = (),
        notes: tuple[str, ...] = (),
    ) -> None:
        self.findings.append(
            Finding(
                "core/well-formed",
                severity,
                message,
                "plan",
                span,
                hint=hint,
                labels=labels,
                notes=notes,
            )
        )
        if severity is Severity.ERROR:
            self.status["core/well-formed"] = "refuted"

    def trouble(self, trouble: Trouble, notes: tuple[str, ...] = ()) -> None:
        labels = (Label(trouble.other, trouble.other_text),) if trouble.other is not None else ()
        self.ill(trouble.message, trouble.span, trouble.hint, labels=labels, notes=notes)

    # ------------------------------------------------------------ programs

    @property
    def bits(self) -> int:
        return self.target.dtypes[self.transfer.dtype]

    def judge(self, commands: Sequence[Command], what: str) -> CoreResult:
        """The core obligations of one program; findings added, `what` names the program in notes."""
        transfer = self.transfer
        self.programs.append((what, tuple(commands)))
        session = Session(self.options.rlimit)
        result = judge_core(
            transfer.source, transfer.dest, self.spaces, self.bits, commands, self.options.readings, session
        )
        self.asked += [(f"{what}: {name}", text, status) for name, text, status in session.asked]
        self.units = max(self.units, result.units)
        for name, status in result.status.items():
            if name == "core/consumes" and status == "refuted" and not self.strict_consumes:
                status = "reported"
            if _worse(status, self.status.get(name)):
                self.status[name] = status
                self.by[name] = result.by_of(name)
        scene = Scene(
            Side(transfer.source, self.spaces[0], self.bits), Side(transfer.dest, self.spaces[1], self.bits), commands
        )
        proposals = self._proposals(commands, result) if result.broken and self.options.repair else []
        self._report(result, scene, what, proposals)
        self._cross_check(result, commands)
        return result

    @property
    def strict_consumes(self) -> bool:
        return self.options.readings.get("core/consumes") == "strict"

    def _report(self, result: CoreResult, scene: Scene, what: str, proposals: Sequence[Repair]) -> None:
        for broken in result.broken:
            finding = finding_of(broken, scene)
            if finding.rule == "core/consumes" and self.strict_consumes:
                finding = replace(finding, severity=Severity.ERROR)
            notes = finding.notes
            if what:
                notes = (*notes, what)
            hint, span, labels = finding.hint, finding.span, finding.labels
            edits: tuple[Edit, ...] = ()
            if proposals and finding.severity is Severity.ERROR:
                hint = "; or ".join(one.text for one in proposals)
                changes = proposals[0].changes
                at = [one.span for one in changes if one.span is not None]
                edits = tuple(Edit(one.span, str(one.right)) for one in changes if one.span is not None)
                edits = edits if len(at) == len(changes) else ()
                if at:
                    span = at[0]
                    others = tuple(x for x in labels if x.span not in (finding.span, *at))
                    told = [(one.span, f"{one.printed}, must be {one.right}") for one in changes[:MOST_TOLD]]
                    labels = (*(Label(where, said) for where, said in told if where is not None), *others)
            self.findings.append(
                replace(
                    finding,
                    notes=notes,
                    hint=hint,
                    span=span,
                    labels=labels,
                    edits=edits,
                )
            )

    def _proposals(self, commands: Sequence[Command], result: CoreResult) -> list[Repair]:
        if all(b.obligation == "core/consumes" for b in result.broken) or result.why:
            return []
        source, dest = self.transfer.source, self.transfer.dest
        try:
            layouts = (layout_of(source, self.spaces[0], self.bits)[0], layout_of(dest, self.spaces[1], self.bits)[0])
        except NotDigits:
            return []
        if result.joint is not None:
            layouts = (result.joint.source, result.joint.dest)

        named = {b.command for b in result.broken if b.command is not None}
        if len(named) < 2:
            first = min(named, default=0)
            named = {0} if named else set()
            commands = [commands[first], *commands[:first], *commands[first + 1 :]]
        left = max(1, REPAIR_COMMANDS // len(commands))

        def holds(changed: Sequence[Command]) -> bool:
            nonlocal left
            left -= 1
            return left >= 0 and self._would_hold((source, dest), changed)

        return repairs(commands, named, layouts[0], layouts[1], holds)

    def _would_hold(self, tensors: tuple[Tensor, Tensor], commands: Sequence[Command]) -> bool:
        """Whether commands are proved for a move, quickly: what takes long counts as no."""
        again = judge_core(
            *tensors,
            self.spaces,
            self.bits,
            commands,
            self.options.readings,
            Session(self.options.rlimit // 10),
            REPAIR_UNITS,
            whole=False,
        )
        return _keeps(again)

    def ask_for_sizes(self, commands: Sequence[Command]) -> None:
        """Where no number of the commands mends them, says which axis would have to be of another size."""
        broken = [f for f in self.findings if f.rule in OBLIGATIONS and f.severity is Severity.ERROR]
        if not broken or any(f.hint for f in broken) or not self.options.repair:
            return
        tensors = (self.transfer.source, self.transfer.dest)
        moved = sum(command.amount for command in commands)
        whole = tensors[1].mapping.size * self.bits // unit_bits_of(self.bits)
        found = other_size(tensors, moved, whole, self.axes, lambda changed: self._would_hold(changed, commands))
        if found is not None:
            axis, size = found
            hint = f"{axis} is {self.axes[axis]}; with {axis} = {size} the printed commands are proved (checked)"
            self.findings = [replace(f, hint=hint) if f in broken else f for f in self.findings]

    def _cross_check(self, result: CoreResult, commands: Sequence[Command]) -> None:
        most = self.options.run_units
        cells = max(self.transfer.source.mapping.size, self.transfer.dest.mapping.size)
        if not most or result.units > most or cells > CELLS_BESIDE * most or "enumeration" in result.by:
            return
        from dmaverify.execute.beside import broken_by

        broken = broken_by(
            self.transfer.source, self.transfer.dest, self.spaces, self.bits, commands, self.options.readings
        )
        if broken is None:
            return
        for name in OBLIGATIONS:
            status = result.status[name]
            if status in ("proved", "refuted") and (name in broken) != (status == "refuted"):
                raise Disagreement(f"{name}: the proof says {status}, executing every unit says otherwise")
        self.confirmed = f"a run: numpy agrees on all {result.units:,} units"

    def same_program(
        self, derived: Sequence[Command], given: Sequence[Command], results: tuple[CoreResult, CoreResult]
    ) -> None:
        """The printed program against the stream's."""
        right = [_keeps(r) for r in results]
        if same_nests(derived, given) or all(right):
            self.status["core/same-program"], self.by["core/same-program"] = (
                "proved",
                "equal nests or both keep the promise",
            )
            return
        from dmaverify.prove.move.units import Comparison

        wrong = [any(b.obligation != "core/consumes" for b in r.broken) for r in results]
        # one keeps the promise and the other breaks it, with a witness: they differ. Not proved is not different
        found = Comparison("refuted", "one keeps the promise, the other does not")
        if not (right[0] and wrong[1]) and not (right[1] and wrong[0]):
            found = self._compared(derived, given)
            if found.status == "refuted" and not all(a or b for a, b in zip(right, wrong, strict=True)):
                found = Comparison("unknown", "z3", "one moves units that the other leaves, padding perhaps")
        self.status["core/same-program"], self.by["core/same-program"] = found.status, found.by
        if found.status == "unknown":
            self.by["core/same-program"] = f"not both are proved, and {found.why}"
        elif found.status == "refuted":
            self.differ(derived, given, stream_is_wrong=right[1], found=found)

    def _compared(self, derived: Sequence[Command], given: Sequence[Command]) -> Comparison:
        """Whether both copy the same units, as for two plans."""
        from dmaverify.prove.move.units import compare

        session = Session(self.options.rlimit)
        tensors = self.transfer.source, self.transfer.dest
        source, dest = (layout_of(t, s, self.bits) for t, s in zip(tensors, self.spaces, strict=True))
        subject = Subject(*tensors, source[1], dest[1])
        found = compare(derived, given, subject, (source[0], dest[0]), session)
        self.asked += [(f"core/same-program: {name}", text, status) for name, text, status in session.asked]
        return found

    def differ(
        self, derived: Sequence[Command], given: Sequence[Command], *, stream_is_wrong: bool = False,
        found: Comparison | None = None,
    ) -> None:  # fmt: skip
        """`found` is a unit that one of the two copies alone."""
        witness: dict[str, object] | None = None
        if found is not None and found.copy is not None:
            ends = {"read_address": found.copy.read, "write_address": found.copy.write}
            ends = {name: local_address(space, at) for (name, at), space in zip(ends.items(), self.spaces, strict=True)}
            witness = {"only_in": "the printed commands" if found.only_in else "the stream", **ends}
        message, span, values, hint = "the printed commands do not do what the stream says", None, {}, ""
        stream = self.transfer.stream
        labels: tuple[Label, ...] = ()
        edits: tuple[Edit, ...] = ()
        if stream is not None and stream.span is not None:
            labels = (Label(stream.span, "the stream"),)
        if not given:
            message += ": they make no command at all"
            both = zip(self.transfer.given, derived, strict=False)
            wrong = [number for one, other in both for number in wrong_numbers(one, other)]
            if wrong:
                said = [f"{what} is {have}, the stream asks for {want}" for what, _, have, want in wrong[:MOST_TOLD]]
                message += "; " + "; ".join(said)
                span = wrong[0][1]
                labels += tuple(Label(at, f"{have}, must be {want}") for _, at, have, want in wrong[:MOST_TOLD] if at)
                edits = tuple(Edit(at, str(want)) for _, at, _, want in wrong if at)
        elif len(derived) != len(given):
            message += f": {len(given)} commands against {len(derived)}"
        for index, (one, other) in enumerate(zip(given, derived, strict=False)):
            other_number = first_difference(one, other)
            if other_number is not None:
                what, span, have, want = other_number
                word = f" of command {index}" if len(given) > 1 else ""
                message += f": {what}{word} is {have}, the stream asks for {want}"
                values = {"printed": have, "stream": want}
                hint = f"write {want} there, or change the stream"
                if stream_is_wrong:
                    hint = "the printed commands keep the promise, the stream does not: change the stream"
                labels += (Label(span, f"{have}, the stream asks for {want}"),) if span is not None else ()
                edits = (Edit(span, str(want)),) if span is not None and not stream_is_wrong else ()
                break
        self.findings.append(
            Finding(
                "core/same-program",
                Severity.ERROR,
                message,
                "commands",
                span or self.transfer.span,
                values,
                witness,
                hint=hint,
                labels=labels,
                edits=edits,
            )
        )

    def rules_on(self, commands: Sequence[Command]) -> RuleReport:
        transfer, target = self.transfer, self.target
        ruling = Ruling.of_move(target, transfer, self.options.readings)
        instances = transfer_instances(
            transfer.source, transfer.dest, transfer.stream, transfer.dtype, target, commands, ruling.limits,
            transfer.span, transfer.buffers, readings=self.options.readings,
        )  # fmt: skip
        span = next((c.span for c in commands if c.span is not None), None) or transfer.span
        instances += [
            Instance(one.scope, one.values, one.place, span, one.side, spans=one.spans)
            for one in derived(transfer, target, commands)
        ]
        return ruling.judge(instances)

    def take(self, report: RuleReport, without: frozenset[str] = frozenset()) -> None:
        self.findings += [f for f in report.findings if f.rule not in without]
        self.rules, self.differs = report.evaluated, report.differs
        self.held += report.held

    def leave_open(self, rules: Iterable[str], why: str) -> None:
        """Rules that were not asked everywhere, and why; the first tells of all."""
        broken = {finding.rule for finding in self.findings}
        first, *others = [rule for rule in rules if rule not in broken] or [""]
        if first:
            more = f", and {len(others)} more rules" if others else ""
            self.status[first], self.by[first] = "unknown", f"{why}{more}"

    # ------------------------------------------------------------ verdict

    def verdict(self, path: str, line: int) -> Verdict:
        own = (name for name in self.status if not name.startswith("core/"))
        order = ("core/well-formed", *OBLIGATIONS, "core/overlap", "core/same-program", *own)
        self.assumptions += [
            f"{finding.rule}: {finding.severity.value} (basis: {finding.basis})"
            for finding in self.findings
            if finding.severity is not Severity.ERROR and finding.basis not in ("documented", "")
        ]
        self.assumptions += [f"{rule}: the verdict differs under another reading" for rule in self.differs]
        word = "half bytes" if unit_bits_of(self.bits) == 4 else "bytes"
        return self.concluded(self.transfer.name, order, path, line, self.transfer.expect, self._claim(word))

    def _claim(self, word: str) -> str:
        each = f", in each of {self.iterations:,} iterations" if self.iterations > 1 else ""
        alone = MOVE_ALONE if any(one.startswith("no command was checked") for one in self.assumptions) else ""
        return f"all {self.units:,} {word}{each}" if self.units else alone


MOVE_ALONE = "the move alone; no command was checked"
"""The claim where a plan gives neither a stream nor commands: `synth` finds some."""

_RANK = {None: 0, "proved": 1, "not judged": 2, "reported": 3, "unknown": 4, "refuted": 5}


def _worse(status: str, than: str | None) -> bool:
    return _RANK.get(status, 0) > _RANK[than]


def _keeps(result: CoreResult) -> bool:
    return all(v == "proved" for k, v in result.status.items() if k != "core/consumes")
