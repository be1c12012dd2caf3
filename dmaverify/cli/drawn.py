"""`viz` without any library: memory, request order, counterexample, load over time and lifetimes as one SVG or page.

Knows: which pictures a transfer and a program have. Does not know: how they are drawn, files.
Law: one file that names no other file and no host; what has no price or cannot be played is left out, never made up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError
from dmaverify.report.drawing import XMLNS, asset
from dmaverify.report.lifetimes import LIFE_STYLE, lifetimes_svg
from dmaverify.report.load import LOAD_STYLE, bounds_svg, load_svg
from dmaverify.report.memory import memory_figure, memory_svg
from dmaverify.values import replace

if TYPE_CHECKING:
    from dmaverify.jobs.kernel_runs import RanKernel
    from dmaverify.plan.plan import Plan, PlanTransfer
    from dmaverify.program.schedule import Program

ALONE = "a kernel in PTO text is drawn alone, as .svg or .html"
RECORDED = 1 << 16  # requests of which the load is drawn
Drawn = Sequence[tuple["Plan", "PlanTransfer"]]
Alone = Sequence[tuple["Plan", "Program"]]


def drawn_page(items: Drawn, programs: Alone, profile: str) -> str:
    """A page of its own, with steps by the arrow keys."""
    names = [item.name for _, item in items] or [program.name for _, program in programs]
    title = escape(" / ".join(names))
    parts = [f"<h1>{title}</h1>"]
    for plan, item in items:
        picture, load, terms = _seen(plan, item, profile)
        parts += [memory_figure(picture, item.name), load, terms]
    parts += [lifetimes_svg(*_lives(plan, program)) for plan, program in programs]
    return _page(title, "\n".join(parts) + f"<script>{asset('memory.js')}</script>")


def _page(title: str, body: str) -> str:
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{asset('drawn.css')}{_looks()}</style></head><body>"
    )
    return f"{head}{body}</body></html>\n"


def _looks() -> str:
    return f"{asset('memory.css')}{LOAD_STYLE}{LIFE_STYLE}"


def drawn_svg(items: Drawn, programs: Alone, profile: str) -> str:
    """The same pictures below each other in one SVG."""
    texts = []
    for plan, item in items:
        picture, load, _ = _seen(plan, item, profile)
        texts += [memory_svg(picture), load]
    texts += [lifetimes_svg(*_lives(plan, program)) for plan, program in programs]
    parts, y, wide = [], 0, 400
    for text in filter(None, texts):
        box = re.search(r'viewBox="0 0 (\d+) (\d+)"', text)
        assert box is not None
        parts.append(text.replace("<svg ", f'<svg x="0" y="{y}" width="{box[1]}" height="{box[2]}" ', 1))
        y += int(box[2]) + 12
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {y}" width="{2 * wide}" height="{2 * y}">'
    return f"{head}<style>{_looks()}</style>{''.join(parts)}</svg>\n"


def kernels_drawn(paths: Sequence[str], kind: str) -> str:
    """The picture of the one kernel in PTO text that the paths mean."""
    from dmaverify.jobs.kernel_runs import ran_kernel

    if len(paths) != 1:
        raise InputError(ALONE, None, "--output copies.svg")
    return run_drawn(ran_kernel(paths[0]), kind)


def run_drawn(done: RanKernel, kind: str) -> str:
    """Every copy of a kernel in PTO text where it first runs, as the document on DMA copies draws it."""
    from dmaverify.report.kernel_picture import copies_svg

    if kind == ".png":
        raise InputError(ALONE, None, "--output copies.svg")
    assert done.run is not None
    given = ", ".join(f"{name} = {value:,}" for name, value in done.values.items())
    picture = copies_svg(f"{done.named.name}{' with ' if given else ''}{given}", done.run.copies)
    title = escape(done.named.name)
    return picture if kind == ".svg" else _page(title, f"<h1>{title}</h1>{picture.replace(XMLNS, '')}")


def _seen(plan: Plan, item: PlanTransfer, profile: str) -> tuple[Any, str, str]:
    """The picture of a transfer with its counterexample, its load drawn, and its cost as a table."""
    from dmaverify import api
    from dmaverify.jobs.load import selected
    from dmaverify.jobs.pictures import picture_of
    from dmaverify.jobs.verdicts import verdicts_of
    from dmaverify.prove.options import Options

    commands = api.program_of(plan, item.name)
    (verdict,) = verdicts_of(selected(replace(plan, programs=()), item.name), Options(cross_check=0, repair=False))
    picture = picture_of(plan, item.transfer, commands, verdict)
    return picture, _load(plan, item, commands, profile), _terms(plan, item, commands, profile)


def _load(plan: Plan, item: PlanTransfer, commands: Any, profile: str) -> str:
    """The requests in time where the machine is simulated, else the bounds of its own price, back-end by back-end."""
    from dmaverify.cost.prices import data_of, has_profiles, price_of
    from dmaverify.cost.simulate import simulate

    target = plan.targets[item.transfer.target]
    try:
        if has_profiles(target):
            result = simulate(commands, data_of(target, profile), record=RECORDED)
            return load_svg(result.trace, float(result.cycles))
        found = price_of(item.transfer, target, commands)
        return bounds_svg([(term.name, term.cycles) for term in found.terms])
    except (InputError, ValueError, ArithmeticError):
        return ""


def _terms(plan: Plan, item: PlanTransfer, commands: Any, profile: str) -> str:
    from dmaverify.cost.explain import explain
    from dmaverify.cost.prices import data_of, has_profiles
    from dmaverify.report.cost import sections

    target = plan.targets[item.transfer.target]
    if not has_profiles(target):
        return ""
    try:
        return "\n".join(sections(explain(commands, data_of(target, profile))))
    except (InputError, ValueError, ArithmeticError):
        return ""


def _lives(plan: Plan, program: Program) -> tuple[Any, Any, int]:
    from dmaverify.jobs.pictures import lifetimes_of

    return lifetimes_of(plan, program)
