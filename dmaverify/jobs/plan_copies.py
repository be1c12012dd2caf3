"""Moves of a plan by copy instructions: the kernel that makes them, and what its copies cost.

Knows: the commands of a move, the loop that it stands in, how a kernel is written.
Does not know: the text's syntax, prices, the terminal.
Law: a text that is handed out was read again: its copies have the rows and loops of the plan's commands, they are
allowed, and the plan's own verdict is PROVED.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dmaverify.cost.copy_figures import states_copies
from dmaverify.errors import InputError, Source
from dmaverify.jobs.load import run_of
from dmaverify.lower.plan_text import plan_head
from dmaverify.machines.pto.named import named_in
from dmaverify.machines.pto.write import copy_text
from dmaverify.plan.plan import select
from dmaverify.program.command import Command, Loop
from dmaverify.program.instructions import Copy, Event, KernelLoop
from dmaverify.program.sums import linear_in
from dmaverify.prove.move.copy_ports import rows_of
from dmaverify.prove.move.views import looped
from dmaverify.synth.copies import CopyPlan
from dmaverify.synth.nests import RowNest
from dmaverify.verdict import Severity, Status

if TYPE_CHECKING:
    from dmaverify.language.affine import Lin, World
    from dmaverify.plan.plan import Plan
    from dmaverify.program.move import Transfer
    from dmaverify.targets.parts import Route
    from dmaverify.targets.target import Target

FORMS = ("inline", "registers", "words")


def goes_by_copies(transfer: Transfer, target: Target) -> bool:
    """Whether a move goes by copy instructions of its machine, whose data states what they cost."""
    route = target.copies_of(transfer.source.tier, transfer.dest.tier)
    return route is not None and states_copies(target)


def kernel_head(move: Transfer, target: Target, axes: Mapping[str, int]) -> list[str]:
    """How a plan file begins that holds a kernel of copies: its axes, and what its tensors in gm are."""
    seen = (move.views.source, move.views.dest) if move.views is not None else (None, None)
    both = zip((move.source, move.dest), seen, strict=True)
    whole = [tensor if view is None else view.base for tensor, view in both]
    ends = [t.base + t.element.size * target.dtypes[move.dtype] // 8 for t in whole if t.tier == "gm"]
    lines = [f'gm = {{ tensor = "{end} bytes" }}' for end in ends]
    return [*plan_head([move], axes), "", f"[kernel.{move.name}]", *lines]


# ---------------------------------------------------------------- from commands to text


def text_of(transfer: Transfer, commands: Sequence[Command], target: Target) -> str:
    """The kernel of a move, in all iterations of its loop. Raises InputError where no text can say it."""
    route = target.copies_of(transfer.source.tier, transfer.dest.tier)
    assert route is not None
    item, block = target.dtypes[transfer.dtype] // 8, target.limits["ub_line_bytes"]
    wanted, plans = [], []
    for command in commands:
        row, own = rows_of(command)
        loops = [*own, *_turns(command, transfer, target)]
        read, write = (port.base * command.unit_bits // 8 for port in (command.read, command.write))
        wanted.append(RowNest(read, write, row, tuple(loops)))
        plans.append(_copy(wanted[-1], min(route.levels, len(own)), route, item, block, transfer))
    text = copy_text(transfer.name, transfer.dtype, route.engine, plans, block)
    (named,) = named_in(Source(transfer.name, text))
    kernel = named.kernel()
    if list(_rows(kernel.events, kernel.world, ())) != wanted:
        said = f"the copies of `{transfer.name}`, read again, are not its commands"
        raise InputError(said, transfer.span, "please report this: the plan and the text")
    return text


def _turns(command: Command, transfer: Transfer, target: Target) -> list[Loop]:
    """The loops that a move stands in, inner to outer, in bytes. Each iteration is instructions of its own."""
    if transfer.views is None:
        return []
    around = looped(command, transfer.views, target).loops[: len(transfer.views.turns)]
    bits = command.unit_bits
    return [Loop(x.count, x.read * bits // 8, x.write * bits // 8) for x in reversed(around) if x.count != 1]


def _copy(rows: RowNest, held: int, route: Route, item: int, block: int, transfer: Transfer) -> CopyPlan:
    """The instruction of a command: it holds that many of the loops, the others are of software. Raises InputError."""
    numbers = [rows.read, rows.write, rows.row, *(step for x in rows.levels for step in (x.read, x.write))]
    if any(number % item for number in numbers):
        raise InputError(
            f"a row of `{transfer.name}` begins or ends within an element of {item} bytes", transfer.span,
            "addresses of the text count elements",
        )  # fmt: skip
    hardware, software = rows.levels[:held], rows.levels[held:]
    whole = -(-rows.row // block) * block
    tiers = (transfer.source.tier, transfer.dest.tier)
    read, write = (whole if tier == "ub" else rows.row for tier in tiers)
    inside = hardware or (Loop(1, read, write),)
    gaps = [getattr(level, side) - rows.row for level in inside for side in ("read", "write")]
    if route.block and (rows.row % block or any(gap % block or gap < 0 for gap in gaps)):
        raise InputError(
            f"a copy from {tiers[0]} to {tiers[1]} moves and skips whole blocks of {block} bytes", transfer.span,
            "take rows and steps that are multiples of it",
        )  # fmt: skip
    return CopyPlan(rows.read, rows.write, rows.row, inside, software[::-1], None, item)


def _rows(events: Sequence[Event], world: World, loops: tuple[KernelLoop, ...]) -> Iterator[RowNest]:
    """What the copies of a kernel move, as their text says."""
    for event in events:
        if isinstance(event, KernelLoop):
            yield from _rows(event.body, world, (*loops, event))
        elif isinstance(event, Copy):
            yield _row(event, world, loops)


def _row(copy: Copy, world: World, loops: tuple[KernelLoop, ...]) -> RowNest:
    starts: list[int] = []
    steps: list[list[int]] = []
    for place in (copy.read, copy.write):
        address, own = place.address, list[int]()
        for loop in loops:
            found = linear_in(world, address, loop.counter)
            assert found is not None
            address, step = found
            own.append(_number(step))
        starts.append(_number(address))
        steps.append(own)
    outer = [Loop(_number(loop.trip), read, write) for loop, read, write in zip(loops, *steps, strict=True)]
    inner = [Loop(_number(x.count), _number(x.read), _number(x.write)) for x in copy.steps]
    levels = tuple(each for each in (*inner, *reversed(outer)) if each.count != 1)
    return RowNest(starts[0], starts[1], _number(copy.row), levels)


def _number(term: Lin) -> int:
    assert term.is_const, "a plan's numbers are numbers"
    return term.const


# ---------------------------------------------------------------- emit

_ALONE = "`{}` as a kernel of its own, without the flags of a program,"


def emitted_copies(plan: Plan, name: str, form: str) -> str:
    """The kernel of a transfer that is proved, in a surface or as words. Raises InputError."""
    from dmaverify.jobs.kernels import words_text
    from dmaverify.machines.pto.surfaces import in_surface

    if form not in FORMS:
        raise InputError(f"copies have no form {form!r}", None, f"one of {', '.join(FORMS)}")
    transfer = next(item for item in plan.transfers if item.name == name).transfer
    text = text_of(transfer, run_of(plan, name), plan.targets[transfer.target])
    _proved(plan, transfer, text)
    (named,) = named_in(Source(name, text))
    if form == "words":
        return words_text(named.kernel(canonical=True))
    return text if form == "inline" else in_surface([named], form)


def _proved(plan: Plan, transfer: Transfer, text: str) -> None:
    """Raises InputError where the move is not proved, or its text is not allowed."""
    from dmaverify.jobs.load import check
    from dmaverify.jobs.verdicts import verdicts_of

    name, target = transfer.name, plan.targets[transfer.target]
    claim = "\n".join([*kernel_head(transfer, target, plan.axes), f"text = '''\n{text}'''", ""])
    for who, verdicts in ((f"`{name}`", verdicts_of(select(plan, name))), (_ALONE.format(name), check(claim))):
        for verdict in verdicts:
            if verdict.status is not Status.PROVED:
                wrong = next((f for f in verdict.findings if f.severity is Severity.ERROR), None)
                said = f"{wrong.rule}: {wrong.message}" if wrong else verdict.status.value
                hint = wrong.hint if wrong else "check the plan first"
                raise InputError(f"{who} is not proved: {said}", transfer.span, hint)


# ---------------------------------------------------------------- cost


def priced_copies(
    transfer: Transfer, commands: Sequence[Command], target: Target, *, explain: bool = False
) -> dict[str, Any]:
    """What the copies of a move cost, in all iterations of its loop. Keys as of a kernel's cost, and `iterations`.
    Raises InputError where no text can say them.
    """
    from dmaverify.jobs.kernel_prices import kernel_cost

    (named,) = named_in(Source(transfer.name, text_of(transfer, commands, target)))
    lines: dict[str, int] = {}
    data = kernel_cost(named, {}, explain=explain, machine=target)
    for term in data["terms"]:
        _, line, term["name"] = term["name"].split()
        term["copy"] = lines.setdefault(line, len(lines) + 1)
    for term in data["terms"]:
        number = term.pop("copy")
        term["name"] = f"copy {number} {term['name']}" if len(lines) > 1 else term["name"]
    for one in data.get("advice", ()):
        one["line"] = transfer.span.line if transfer.span is not None else 0
    turns = transfer.views.count if transfer.views is not None else 1
    return {**data, "name": transfer.name, "path": "", **({"iterations": turns} if turns > 1 else {})}
