"""`viz` and `trace`: pictures and timelines of transfers; of whole programs, their steps priced and laid out in time.

Knows: which rooms answer which question.
Does not know: how a step is priced and laid out (`priced`), how a trace is written.
Law: a transfer costs what the cost model says for each of its engines; an access is shown with one cycle a packet, the
least it can take, and says so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dmaverify.cli.options import PROFILE
from dmaverify.language.files import must_spare, write_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dmaverify.jobs.kernel_runs import RanKernel
    from dmaverify.plan.plan import Plan
    from dmaverify.report.timeline import Slot


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH::NAME [PATH::NAME]")
@click.option("--output", metavar="FILE", help="A .svg, .png or .html file.")
@click.option("--html", is_flag=True, help="As --output NAME.html: a page to step through with the arrow keys.")
@PROFILE
def viz(paths: tuple[str, ...], output: str | None, html: bool, profile: str) -> None:
    """Draw the order of accesses and the load of memories.

    Load over channels, banks, DMNs and slices; two plans side by side.
    """
    from dmaverify.cli.screen import told
    from dmaverify.cli.synth import draw_plans

    if (output is None) is not html:
        raise click.UsageError("one of --html and --output FILE (.svg, .png or .html) says where the picture goes")
    named = [Path(name or file).stem for file, _, name in (path.partition("::") for path in paths)]
    output = output or f"{'-'.join(named)}.html"
    raise told(draw_plans(paths, output, profile))


@click.command()
@click.argument("path", metavar="PATH::NAME")
@click.option("--output", required=True, metavar="FILE", help="A JSON file for a trace viewer, or .sqlite.")
@PROFILE
def trace(path: str, output: str, profile: str) -> None:
    """Requests, steps or pipes over time, for Chrome and Perfetto.

    A transfer request by request, a program step by step, the pipes of a kernel.
    """
    from dmaverify import api
    from dmaverify.cli.screen import told
    from dmaverify.cli.synth import without_profile, write_traces
    from dmaverify.jobs.kernel_runs import ran_kernel, run_in
    from dmaverify.jobs.walk import is_copy_text

    must_spare([output], [path])
    if is_copy_text(path):
        without_profile(profile)
        raise told(_write_kernel_trace(ran_kernel(path), output))
    plan = api.load(path)
    if len(plan.kernels) == 1 and not (plan.transfers or plan.programs):
        without_profile(profile)
        raise told(_write_kernel_trace(run_in(plan), output))
    if len(plan.programs) == 1 and not plan.transfers:
        raise told(write_program_trace(plan, output, profile))
    raise told(write_traces(path, output, profile))


def _write_kernel_trace(done: RanKernel, output: str) -> str:
    """One run of a kernel as a timeline of its pipes. The text that says so. Raises InputError."""
    from dmaverify.jobs.kernel_prices import parameters_of
    from dmaverify.jobs.kernel_runs import slots_of_run

    return _write_slots(done.named.name, slots_of_run(done), output, parameters_of(done.machine))


def write_program_trace(plan: Plan, output: str, profile: str) -> str:
    """The timeline of the one program of `plan`, as a file. The text that says so. Raises InputError."""
    from dmaverify.cli.timelines import laid_out

    (program,) = plan.programs
    return _write_slots(program.name, laid_out(plan, program, profile), output, profile)


def _write_slots(name: str, slots: Sequence[Slot], output: str, profile: str) -> str:
    from dmaverify.report.timeline import critical_path, path_text, program_trace

    data = program_trace(name, slots, profile)
    write_text(output, json.dumps(data, separators=(",", ":")) + "\n")
    path = path_text(critical_path(slots))
    return f"wrote {output}: {len(slots)} pieces of work, {data['otherData']['cycles']:,.1f} cycles, bound by {path}"
