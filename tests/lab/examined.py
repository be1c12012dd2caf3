"""A drawn plan put through every route of the proof, the run of its commands, and the verdict, and where they differ.

Knows: what makes a plan ill-formed, too large or broken, read off its text and run.
Does not know: how plans come about.
Law: a sentence for every difference; none means full agreement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lab.oracle import compare

from dmaverify.errors import Disagreement
from dmaverify.execute.address import TooLarge, batches, region_of
from dmaverify.execute.interpret import execute
from dmaverify.language import wellformed
from dmaverify.lower.pairing import Trouble
from dmaverify.lower.programs import derived_program, given_program, space_of
from dmaverify.plan.plan import PlanTransfer
from dmaverify.plan.read import read_plan_text
from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.program.space import Space
from dmaverify.prove.move.check import Options, check_transfer
from dmaverify.targets.target import Target
from dmaverify.testing.drawn_plan import DrawnPlan
from dmaverify.verdict import Status

ROUTES = ("default", "solver")


@dataclass(frozen=True)
class Examined:
    """What is true of a plan and where the checker says otherwise. `outcome`: proved, refuted, unknown, ill-formed,
    too-large.
    """

    fault: str
    outcome: str
    disagreements: tuple[str, ...]
    unknown: bool = False
    unread: bool = False  # core/consumes was not judged


def examine(plan: DrawnPlan, target: Target, *, folder: str, routes: Sequence[str] = ROUTES) -> Examined:
    """Reads the text of a plan again, runs its commands, and holds every route of the proof and the verdict against
    the run.

    `folder` is the target as a plan would name it. The verdict has to be refuted exactly when the text makes no
    sense, when the regions overlap, or when a run of the printed or of the derived commands breaks an obligation
    other than `core/consumes`.
    """
    loaded = read_plan_text(plan.text(target), target=folder)
    item = loaded.transfers[0]
    transfer = item.transfer
    said: list[str] = []
    programs = _programs(transfer, target)
    ill = bool(item.problems) or _ill(transfer, loaded.axes) or any(not isinstance(p, tuple) for p in programs)
    if _fatal(transfer, loaded.axes) or any(problem.fatal for problem in item.problems):
        return Examined(plan.fault, "ill-formed", tuple(_verdict(item, loaded.axes, target, Status.REFUTED)))
    bits, spaces = (
        target.dtypes[transfer.dtype],
        (space_of(target, transfer.source.tier), space_of(target, transfer.dest.tier)),
    )
    judged = [program for program in programs if isinstance(program, tuple) and program]
    broken = ill or (_overlaps(transfer, spaces, bits) and (not judged or any(map(_written_early, judged))))
    unknown = unread = False
    if plan.fault != "tier" and plan.commands(target) != _given(transfer, target):
        said.append("the text, read again, makes other commands")
    for program in judged:
        try:
            done = execute(transfer.source, transfer.dest, *spaces, bits, program)
        except TooLarge:  # a slice that reaches into the next
            return Examined(plan.fault, "too-large", tuple(_verdict(item, loaded.axes, target, None)))
        broken = broken or bool(done.broken - {"core/consumes"})
        for route in routes:
            opinion = compare(transfer.source, transfer.dest, spaces, bits, program, route=route, done=done)
            assert opinion is not None
            said += [f"{route}: {text}" for text in opinion.disagreements]
            unknown = unknown or opinion.outcome == "unknown"
            unread = unread or opinion.status["core/consumes"] == "not judged"
            if route == "default" and "unknown" in opinion.status.values():
                said.append("default: unknown, though small enough to run")
    said += _verdict(item, loaded.axes, target, Status.REFUTED if broken else Status.PROVED)
    outcome = "ill-formed" if ill else "refuted" if broken else "proved"
    return Examined(plan.fault, outcome, tuple(said), unknown, unread)


def _given(transfer: Transfer, target: Target) -> tuple[Command, ...] | None:
    found = given_program(transfer.given, transfer.source, transfer.dest, target.dtypes[transfer.dtype], target)
    return None if isinstance(found, list) else found


def _programs(transfer: Transfer, target: Target) -> list[tuple[Command, ...] | Trouble | None]:
    """The printed commands and those of the stream; what makes no commands is no tuple."""
    out: list[tuple[Command, ...] | Trouble | None] = [_given(transfer, target)] if transfer.given else []
    if transfer.stream is not None:
        bits = target.dtypes[transfer.dtype]
        out.append(
            derived_program(
                transfer.source, transfer.dest, transfer.stream, bits, target, transfer.given, transfer.engine
            )
        )
    return out


def _expressions(transfer: Transfer) -> list[wellformed.Problem]:
    tensors = (transfer.source.mapping, transfer.dest.mapping)
    stream = () if transfer.stream is None else (transfer.stream.mapping,)
    return [problem for expr in (*tensors, *stream) for problem in wellformed.problems(expr)]


def _fatal(transfer: Transfer, axes: Mapping[str, int]) -> bool:
    return any(problem.fatal for problem in _expressions(transfer))


def _ill(transfer: Transfer, axes: Mapping[str, int]) -> bool:
    return any(not problem.warning for problem in _expressions(transfer))


def _overlaps(transfer: Transfer, spaces: tuple[Space, Space], bits: int) -> bool:
    if transfer.source.tier != transfer.dest.tier:
        return False
    try:
        regions = [region_of(t, s, bits) for t, s in zip((transfer.source, transfer.dest), spaces, strict=True)]
    except TooLarge:
        return False
    units = [{region.address_of(index) for index in range(region.units)} for region in regions]
    return bool(units[0] & units[1])


def _written_early(commands: Sequence[Command]) -> bool:
    """Whether some unit is written before it is read. Within a command the bursts follow each other; commands of one
    engine do, those of several engines run at the same time.
    """
    reads: dict[int, list[tuple[int, int]]] = {}
    writes: list[tuple[int, int, int]] = []
    for batch in batches(commands):
        burst = commands[batch.command].burst
        for number, (read, write) in enumerate(
            zip(batch.read.tolist(), batch.write.tolist(), strict=True), batch.first
        ):
            reads.setdefault(read, []).append((batch.command, number // burst))
            writes.append((write, batch.command, number // burst))
    return any(
        (
            number < later
            if command == reader
            else commands[command].engine != commands[reader].engine or command < reader
        )
        for address, command, number in writes
        for reader, later in reads.get(address, ())
    )


def _verdict(item: PlanTransfer, axes: Mapping[str, int], target: Target, wanted: Status | None) -> Iterator[str]:
    """What the checker's verdict has against `wanted` (None: anything will do that does not contradict itself)."""
    try:
        found = check_transfer(
            item.transfer,
            axes=axes,
            problems=item.problems,
            target=target,
            options=Options(cross_check=1 << 20, repair=False),
        )
    except Disagreement as problem:
        yield f"verdict: {problem}"
        return
    if wanted is not None and found.status is not wanted:
        rules = sorted({finding.rule for finding in found.errors})
        yield f"verdict: {found.status.value} {rules}, should be {wanted.value}"
