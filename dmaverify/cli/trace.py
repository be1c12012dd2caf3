"""`viz` and `trace`: pictures and timelines of transfers; of whole programs, their steps priced and laid out in time.

Knows: which rooms answer which question.
Does not know: how a step is priced, how a trace is written.
Law: a transfer costs what the cost model says for each of its engines; an access is shown with one cycle a packet, the
least it can take, and says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dmaverify.errors import InputError

if TYPE_CHECKING:
    from dmaverify.plan.read import Plan
    from dmaverify.prove.flow.touches import Work
    from dmaverify.report.timeline import Duration


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH::NAME [PATH::NAME]")
@click.option("--output", required=True, metavar="FILE", help="A .svg, .png or .html file.")
@click.option("--profile", default="book", show_default=True, help="Constants of the model.")
def viz(paths: tuple[str, ...], output: str, profile: str) -> None:
    """Draw the access order and the load over channels, banks, DMNs and slices; two plans side by side."""
    from dmaverify.cli.app import Stop, say
    from dmaverify.cli.synth import draw_plans

    draw_plans(paths, output, profile)
    say(f"wrote {output}")
    raise Stop(0)


@click.command()
@click.argument("path", metavar="PATH::NAME")
@click.option("--output", required=True, metavar="FILE", help="A JSON file for a trace viewer, or .sqlite.")
@click.option("--profile", default="book", show_default=True, help="Constants of the model.")
def trace(path: str, output: str, profile: str) -> None:
    """A transfer request by request, or a program step by step, as a timeline for Chrome's or Perfetto's viewer."""
    from dmaverify import api
    from dmaverify.cli.app import Stop, say
    from dmaverify.cli.synth import write_traces

    plan = api.load(path)
    if len(plan.programs) == 1 and not plan.transfers:
        say(write_program_trace(plan, output, profile))
        raise Stop(0)
    say(f"wrote {output}: {write_traces(path, output, profile):,} requests")
    raise Stop(0)


def write_program_trace(plan: Plan, output: str, profile: str) -> str:
    """The timeline of the one program of `plan`, as a file; what to say of it. Raises InputError."""
    from dmaverify.program.schedule import Circle, order_of
    from dmaverify.prove.flow.touches import work_of
    from dmaverify.report.timeline import critical_path, program_trace, slots_of

    (program,) = plan.programs
    target = plan.targets[program.target]
    works = [work_of(index, step, target) for index, step in enumerate(program.steps)]
    for step, work in zip(program.steps, works, strict=True):
        if work.troubles:
            raise InputError(f"step `{step.name}` makes no command: {work.troubles[0].message}", work.troubles[0].span)
        if work.whole:
            hint = "give its transfer a stream or commands"
            raise InputError(f"nothing says how step `{step.name}` moves its tensor", step.span, hint)
    order = order_of(program, [work.lanes for work in works])
    if isinstance(order, Circle):
        raise InputError(f"{', '.join(order.steps)} wait for each other", program.span, "take one `after` away")
    durations = {key: value for n, work in enumerate(works) for key, value in _durations(n, work, profile).items()}
    slots = slots_of(program, order, durations)
    data = program_trace(program, slots, profile)
    Path(output).write_text(json.dumps(data, separators=(",", ":")) + "\n", encoding="utf-8")
    path = " -> ".join(critical_path(slots))
    return f"wrote {output}: {len(slots)} pieces of work, {data['otherData']['cycles']:,.1f} cycles, bound by {path}"


def _durations(index: int, work: Work, profile: str) -> Mapping[tuple[int, str], Duration]:
    """How long each lane works on a step."""
    from dmaverify.cost.model import cost
    from dmaverify.prove.flow.touches import lane_of
    from dmaverify.report.timeline import Duration

    if work.accesses:
        packets = sum(command.amount // max(1, command.packet) for _, command in work.accesses)
        about: dict[str, Any] = {"packets": packets, "cycles": "one a packet: the least it can take"}
        return {(index, lane): Duration(float(packets), about) for lane in work.lanes}
    found = {}
    for lane in work.lanes:
        own = [command for command in work.commands if len(work.lanes) == 1 or lane_of(command) == lane]
        price = cost(own, "rngd", profile)
        about = {"bytes": sum(c.amount * c.unit_bits // 8 for c in own), "commands": len(own)}
        about |= {"binding": price.binding, "exact": price.exact}
        found[index, lane] = Duration(price.cycles, about)
    return found
