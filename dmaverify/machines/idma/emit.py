"""Commands in a form of the machine's, read back and proved before anybody sees them.

Knows: forms, what an engine's front-end reads, where a chain of descriptors lies.
Does not know: how commands were found, the terminal.
Law: a text that is returned was parsed again, and what it says was proved against the move by `check_transfer`; where
the form cannot say the commands, the refusal names the forms that can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.errors import InputError, Source, Span
from dmaverify.machines.idma.c.write import driver_of, read_again
from dmaverify.machines.idma.derive import descriptor_of, dims_of
from dmaverify.machines.idma.desc64 import SIZE
from dmaverify.machines.idma.engine import INIT
from dmaverify.machines.idma.fits import front_form
from dmaverify.machines.idma.forms import one_d, read_commands, write_image
from dmaverify.machines.idma.front_ends import NAMES, PAPER
from dmaverify.machines.idma.jobs import request_options
from dmaverify.machines.idma.patterns import with_value
from dmaverify.machines.idma.registers import MAPS
from dmaverify.machines.idma.setup import STANDARD_HEAD, Setup, setup_of_commands
from dmaverify.machines.idma.text import ToldDescriptor
from dmaverify.plan.machine_forms import merged_options
from dmaverify.program.access import PlanProblem
from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.program.space import unit_bits_of
from dmaverify.prove.move.check import Options, check_transfer
from dmaverify.targets.target import Target
from dmaverify.values import replace
from dmaverify.verdict import Severity, Status, Verdict

WRITTEN = (*(name for name in NAMES if name != "rt3d"), "c")


def emitted(transfer: Transfer, target: Target, axes: Mapping[str, int], commands: Sequence[Command], form: str) -> str:
    """The commands of a transfer in a form; `auto` is what the engine's front-end reads. Raises InputError, of a
    transfer in a loop too.
    """
    if transfer.views is not None and transfer.views.count > 1:
        said = f"the transfer stands in a loop of {transfer.views.count:,} iterations, and a text holds one of them"
        raise InputError(said, transfer.span, "emit one without `loop`, or write the loop in C and check the driver")
    setup = setup_of_commands(target, transfer)
    name = front_form(setup) if form == "auto" else PAPER.get(form, form)
    try:
        text = _written(setup if setup.head_given else replace(setup, chain_head=_apart(commands)), commands, name)
    except InputError as error:
        others = [other for other in WRITTEN if other != name and _can(setup, commands, other)]
        hint = f"{error.hint}; forms that can say it: {', '.join(others) or 'none'}" if error.hint else None
        raise InputError(error.message, error.span, hint) from None
    said = text
    if name == "c":  # what the calls launch, read from the text
        said = write_image("nd", read_again(setup, text))
    verdict = judged(transfer, target, axes, said)
    if verdict.status is not Status.PROVED:
        wrong = next((f for f in verdict.findings if f.severity is Severity.ERROR), None)
        why = f"{wrong.rule}: {wrong.message}" if wrong else verdict.status.value
        raise InputError(
            f"the commands in {name}, read again, are not proved: {why}", None,
            (wrong.hint if wrong else "") or "check the plan first",
        )  # fmt: skip
    return text


def _apart(commands: Sequence[Command]) -> int:
    """A place for descriptors that no source and no destination covers: 0x8000, or behind all of them."""
    reached = [command.reach(writes=writes) for command in commands for writes in (False, True)]
    ends = [(low, last + 1) for low, last in reached]
    most = sum(max(1, c.amount // c.burst) for c in commands) * SIZE
    here = STANDARD_HEAD
    if all(end <= here or here + most <= low for low, end in ends):
        return here
    return -(-max((end for _, end in ends), default=0) // SIZE) * SIZE


def _written(setup: Setup, commands: Sequence[Command], name: str) -> str:
    if name in MAPS and MAPS[name].width < setup.backend.address_width:
        raise InputError(
            f"addresses of {setup.backend.address_width} bits in {name}", None, f"it has {MAPS[name].width} bits"
        )
    made = (
        with_value(setup, descriptor_of(setup.own(number), command), dims_of(command))
        for number, command in enumerate(commands)
    )
    told = [ToldDescriptor(d, request_options(d.request), channel=max(0, setup.channel)) for d in made]
    if name == "inst64":  # a dminit has no rows
        told = [x for each in told for x in (one_d(each) if each.descriptor.request.src_protocol == INIT else [each])]
    if name == "c":
        one = [x for each in told for x in one_d(each)] if setup.front_end == "desc64" else told
        return driver_of(setup, one)
    return write_image(
        name, told, width=setup.backend.address_width, head=setup.chain_head, fetch=setup.fetch_width
    )  # fmt: skip


def _can(setup: Setup, commands: Sequence[Command], name: str) -> bool:
    try:
        return bool(_written(setup, commands, name))
    except InputError:
        return False


def retold(transfer: Transfer, target: Target, text: str) -> tuple[Transfer, tuple[PlanProblem, ...]]:
    """The transfer with the commands of another text, as a plan file with that text would have it. Raises
    InputError.
    """
    source = Source("<commands>", text)
    own = transfer.options if transfer.form is None else transfer.form.options
    formed = read_commands(text, target, unit_bits_of(target.dtypes[transfer.dtype]), source, 0, dict(own))
    if formed is None:
        raise InputError("the text is in no form", None, f"one of {', '.join(NAMES)}")
    nowhere = Span(source, 0, len(text))
    options, differ = merged_options(dict(own), formed.options, nowhere)
    problems = [PlanProblem(what, at or nowhere, hint, False) for what, at, hint in formed.problems]
    facts = tuple((one.scope, tuple(one.values.items()), one.place, one.spans) for one in formed.facts)
    told = replace(
        transfer, given=formed.given, options=tuple(options.items()), facts=facts, stream=None, streams=(), expect=None,
        form=formed.form,
    )  # fmt: skip
    return told, (*problems, *differ)


def judged(
    transfer: Transfer, target: Target, axes: Mapping[str, int], text: str, options: Options | None = None
) -> Verdict:
    """The verdict on a move that is told as `text`. Raises InputError where the text cannot be read."""
    told, problems = retold(transfer, target, text)
    return check_transfer(told, axes=axes, target=target, problems=problems, options=options or Options(repair=False))
