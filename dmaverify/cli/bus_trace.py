"""`check --trace`: what a file, a transfer or a program of a plan launches, held against beats of a bus.

Knows: which transfers a path names, in which order they are launched and what they wait for.
Does not know: how a trace is read (`beats`), judged (`scoreboard`) or told (`told`); the terminal.
Law: nothing that orders the launches is passed over: what has no one order on a port is refused, and the order that was
taken stands in the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dmaverify.cli.idma import bus_of, image_at
from dmaverify.errors import InputError, typed
from dmaverify.machines.idma.engine import AXI, NAMES, Request
from dmaverify.machines.idma.legalizer import MOST_LISTED
from dmaverify.machines.idma.setup import Setup, engine_options
from dmaverify.values import dataclass, field, replace

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan, PlanTransfer
    from dmaverify.program.command import Command
    from dmaverify.program.move import Transfer
    from dmaverify.program.schedule import Program
    from dmaverify.verdict import Verdict

Options = Mapping[str, int | str]
ALONE = "transfers in the order of the file, which wait where their texts say so; of programs nothing is looked at"


@dataclass(slots=True)
class _Launches:
    """1D transfers as they are launched. `waits`: before this one is shown, all below the other number are complete."""

    setups: list[Setup] = field(default_factory=list)
    names: list[tuple[str, int]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    waits: dict[int, int] = field(default_factory=dict)
    tensors: dict[str, tuple[Transfer, int]] = field(default_factory=dict)
    order: str = ALONE

    def add(self, name: str, setup: Setup, requests: Sequence[Request], waits: Sequence[int], behind: int = 0) -> None:
        """More 1D transfers, in front of some of which (`waits`) all before are complete, and all below `behind` in
        front of the first. Raises InputError for too many.
        """
        start = len(self.requests)
        if start + len(requests) > MOST_LISTED:
            raise InputError("too many 1D transfers for a trace", None, f"up to {MOST_LISTED:,}")
        self.setups.append(setup)
        self.names.append((name, len(requests)))
        self.requests += requests
        for at, before in ((start, behind), *((start + number, start + number) for number in waits)):
            self.waits[at] = max(before, self.waits.get(at, 0))


def traced(paths: Sequence[str], trace: str, engine: Sequence[str] | None, dims: int | None) -> Verdict:
    """The verdict on a bus trace: the launches of one file, in order, beat by beat. Raises InputError."""
    from dmaverify.machines.idma.bus.beats import read_trace
    from dmaverify.machines.idma.bus.scoreboard import channels_of, judged
    from dmaverify.machines.idma.bus.told import verdict_of_trace

    if len(paths) != 1 or Path(paths[0]).is_dir():
        raise InputError("--trace is held against one file", None, "check PLAN.toml[::NAME] --trace FILE.vcd")
    launches = _launches(paths[0], engine_options(engine or ()), dims)
    if not launches.requests:
        raise InputError(f"{paths[0]} has no transfer for a trace", None, "a plan with target idma, or a job file")
    setup = _one_back_end(launches.setups)
    shown = read_trace(trace, channels_of(launches.requests), setup.backend.word)
    beats = shown.beats
    found = judged(setup.backend, launches.requests, beats, launches.waits)
    cycles = beats[-1].cycle - beats[0].cycle + 1 if beats else 0
    law = _law_of(setup, launches)
    return verdict_of_trace(
        trace, found, launches.names, launches.tensors, cycles, law, shown.clock,
        order=launches.order, aside=_aside(setup, launches.requests) if shown.clock else "",
    )  # fmt: skip


def _aside(setup: Setup, requests: Sequence[Request]) -> str:
    """The ports of an engine whose beats a dump was not asked for, in words: no transfer uses them."""
    used = {side for one in requests for side in (("read", one.src_protocol), ("write", one.dst_protocol))}
    used |= {(way, AXI) for way in ("read", "write")} if AXI in {protocol for _, protocol in used} else set()
    variant = setup.backend.variant
    every = [(way, p) for way, own in (("read", variant.reads), ("write", variant.writes)) for p in sorted(own)]
    return ", ".join(f"{NAMES[p]} {way}" for way, p in every if (way, p) not in used)


def _one_back_end(setups: Sequence[Setup]) -> Setup:
    """The engine of all launches. Raises InputError where a port shows what no one back-end does."""
    first = setups[0]
    if any(one.backend != first.backend or one.region is not None or one.unordered for one in setups):
        raise InputError("a trace is that of one back-end", None, "name one transfer: PATH::NAME")
    for one in setups:
        if one.src_burst != 1 or one.dst_burst != 1:
            raise InputError("the back-end makes bursts INCR alone", None, "src_burst = 1, dst_burst = 1")
        if one.request.compute:
            raise InputError("what an accelerator makes of bytes is not modelled", None, "a transfer without compute")
    return first


def _law_of(setup: Setup, launches: _Launches) -> str:
    """The cycles that the law has for 1D transfers back to back, in words."""
    from dmaverify.machines.idma.price import memory_of, of_pieces

    if any(before for at, before in launches.waits.items() if at < len(launches.requests)):
        return "the law has no cycles of software that waits between launches"
    memory = memory_of(setup)
    cycles = of_pieces(setup, launches.requests, memory)
    if cycles is None:
        return "the law was not gone through"
    return f"the law has {cycles:,} with a memory that answers after {memory.latency} ({memory.name})"


def _launches(path: str, options: Options, dims: int | None) -> _Launches:
    file, _, name = path.partition("::")
    if file.endswith(".toml"):
        if dims is not None:
            raise InputError(f"--dims is for job files: {file} is a plan", None, "leave it out")
        return _of_plan(file, name, options)
    if file.endswith((".c", ".h", ".csv", ".jsonl")):
        raise InputError(
            f"{file} is nothing that a trace is held against", None, "a plan, a job file or a text of launches"
        )
    if name:
        raise InputError(
            f"`::{name}` names nothing: {file} is judged as a whole", None, f"dmaverify check {typed(file)}"
        )
    return _of_image(file, options, dims)


def _of_image(file: str, options: Options, dims: int | None) -> _Launches:
    from dmaverify.machines.idma.bus.launches import text_waits
    from dmaverify.machines.idma.nd import requests

    image, descriptors = image_at(file, options, dims)
    text_waits(image)  # what has no one order
    out = _Launches()
    for number, (told, setup) in enumerate(descriptors):
        if told.descriptor.transfers > MOST_LISTED:
            raise InputError("too many 1D transfers for a trace", told.span, f"up to {MOST_LISTED:,}")
        waits = [0] if number in image.waits else []
        own = list(requests(told.descriptor, setup.backend.address_width))
        out.add(f"descriptor {number}", setup, own, waits)
    return out


# ---------------------------------------------------------------- plans


def _of_plan(path: str, name: str, options: Options) -> _Launches:
    from dmaverify import api

    plan = api.load(path, name or None)
    program = next(iter(plan.programs), None) if name else _covering(plan)
    transfers, out = plan.transfers, _Launches()
    if program is not None:
        _of_program(plan, program, options, out)
    elif not transfers:
        said = f"{path} has no transfer {f'`{name}` ' if name else ''}for a trace"
        raise InputError(said, None, "name a transfer or a program: PATH::NAME")
    else:
        made = [_Repeated.of(plan, item, options) for item in transfers]
        _in_one_queue(plan, transfers, [one.setup for one in made])
        for one in made:
            for iteration in range(one.iterations):
                one.launch(iteration, out)
    return out


def _covering(plan: Plan) -> Program | None:
    """The program that has all the transfers of a plan; None where a plan has none. Raises InputError where it is not
    said what was run.
    """
    others = [one for one in plan.entries if one not in plan.transfers and one not in plan.programs]
    names = ", ".join(one.name for one in (*plan.programs, *(others if plan.programs else ()), *plan.transfers))
    if others and not plan.programs:
        raise InputError(
            f"{plan.path} has `{others[0].name}`, which has no bursts", None, "name a transfer: PATH::NAME"
        )
    if not plan.programs:
        return None
    steps = {id(step.transfer) for step in plan.programs[0].steps}
    left = [item.name for item in plan.transfers if id(item.transfer) not in steps]
    if len(plan.programs) == 1 and not left:
        return plan.programs[0]
    many = len(plan.programs)
    said = f"{plan.path} has {many} programs" if many > 1 else f"`{left[0]}` is in no program of {plan.path}"
    raise InputError(f"{said}: what the trace ran, and in which order, is not said", None,
                     f"name what was run, PATH::NAME: {names}")  # fmt: skip


def _in_one_queue(plan: Plan, items: Sequence[PlanTransfer], setups: Sequence[Setup]) -> None:
    """Raises InputError for transfers of several queues, which no program orders."""
    from dmaverify.targets.modules import queue_of

    queues = {queue_of(plan.targets[item.transfer.target], item.transfer) for item in items}
    if len(queues) > 1 or None in queues or any(one.channel < 0 for one in setups):
        raise InputError(
            "the transfers are launched on several channels or engines: in which order one port shows them is not said",
            items[-1].transfer.span, "name one transfer, PATH::NAME, or a program that orders them",
        )  # fmt: skip


def _of_program(plan: Plan, program: Program, options: Options, out: _Launches) -> None:
    from dmaverify.machines.idma.bus.launches import launches_of
    from dmaverify.plan.plan import PlanTransfer
    from dmaverify.prove.flow.accesses.touches import unnamed_lane
    from dmaverify.targets.modules import queue_of

    made, lanes = [], list[str]()
    for step in program.steps:
        if step.transfer is None or step.indirect is not None:
            raise InputError(f"step {step.name} of `{program.name}` is no transfer: it has no bursts", step.span,
                             "name a transfer: PATH::NAME")  # fmt: skip
        one = _Repeated.of(plan, PlanTransfer(step.transfer, {}, step.problems), options, step.name)
        target = plan.targets[step.transfer.target]
        if queue_of(target, step.transfer) is None or one.setup.channel < 0:
            raise InputError(f"step {step.name} of `{program.name}` is shared out: one port does not show all of it",
                             step.span, "channels = 1, or arbitration = \"software\" with one channel")  # fmt: skip
        lanes.append(unnamed_lane(len(lanes), step, step.transfer, target))
        made.append(one)
    order = launches_of(program, lanes)
    ends = [0]
    for launch in order:
        made[launch.step].launch(launch.iteration, out, ends[launch.behind])
        ends.append(len(out.requests))
    waits = sum(launch.behind > 0 for launch in order)
    out.order = f"launches in the order of program `{program.name}`"
    if waits:
        out.order += f"; {waits:,} of {len(order):,} wait, and are shown behind the last answer to what they wait for"
    if len(set(lanes)) > 1:
        out.order += f"; its {len(set(lanes))} queues are one port"


@dataclass(frozen=True, slots=True)
class _Repeated:
    """A transfer as commands, in each iteration of the loops around it; `waits` are commands behind a wait."""

    name: str
    transfer: Transfer
    setup: Setup
    commands: Sequence[Command]
    waits: Sequence[int]
    bits: int
    counters: Sequence[tuple[int, ...]]
    plan: Plan

    @staticmethod
    def of(plan: Plan, item: PlanTransfer, options: Options, name: str = "") -> _Repeated:
        """Raises InputError for a transfer that has no trace."""
        from dmaverify import api
        from dmaverify.machines.idma.bus.launches import MOST_LAUNCHES, text_waits
        from dmaverify.machines.idma.forms import read_image
        from dmaverify.program.turns import every, iterations

        transfer = item.transfer
        target = plan.targets[transfer.target]
        setup = bus_of(item, target, options)
        commands = api.program_of(replace(plan, transfers=(item,)), item.name)
        waits: tuple[int, ...] = ()
        if transfer.form is not None:
            image = read_image(transfer.form.text, None, 0, setup.backend.address_width, setup.fetch_said)
            waits = text_waits(image)
            if sum(bool(one.descriptor.bytes) for one in image.told) != len(commands):
                raise InputError(f"`{item.name}` has launches that move nothing", transfer.span, "leave them out")
        turns = () if transfer.views is None else transfer.views.turns
        if iterations(turns) > MOST_LAUNCHES:
            raise InputError(
                f"`{item.name}` has too many iterations for a trace", transfer.span, f"up to {MOST_LAUNCHES:,}"
            )
        bits = target.dtypes.get(transfer.dtype, 8)
        return _Repeated(name or item.name, transfer, setup, commands, waits, bits, list(every(turns)), plan)

    @property
    def iterations(self) -> int:
        return len(self.counters)

    def launch(self, iteration: int, out: _Launches, behind: int = 0) -> None:
        """The 1D transfers of an iteration, as they follow those before. Raises InputError for too many."""
        from dmaverify.machines.idma.price import Requests
        from dmaverify.prove.move.views import moved_commands

        commands, name = self.commands, self.name
        if self.transfer.views is not None:
            target = self.plan.targets[self.transfer.target]
            at = self.counters[iteration if self.iterations > 1 else 0]
            commands = moved_commands(commands, self.transfer.views, at, target)
            name += f", iteration {iteration}" if self.iterations > 1 else ""
        if iteration == 0:
            out.tensors[name] = self.transfer, self.bits
        waits = [Requests(self.setup, commands[:number]).count for number in self.waits]
        found = Requests(self.setup, commands)
        if found.count > MOST_LISTED:
            raise InputError("too many 1D transfers for a trace", self.transfer.span, f"up to {MOST_LISTED:,}")
        out.add(name, self.setup, list(_not_last(found.requests())), waits, behind)


def _not_last(requests: Iterator[Request]) -> Iterator[Request]:
    return (replace(one, last=False) for one in requests)
