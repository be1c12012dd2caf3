"""The commands `run`, `equiv`, `emit`, `synth`, `cost` and `extract`.

Knows: their arguments, which text is a plan and which a kernel.
Does not know: how a move is executed, compared, written, searched or priced.
Law: an answer that cannot be given is an error of use (exit 2), never an empty output.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from dmaverify.cli.app import lines
from dmaverify.cli.options import AS_JSON, MACHINE, PROFILE, options
from dmaverify.cli.screen import Stop, fail, say, told
from dmaverify.errors import InputError, typed
from dmaverify.execute.outcome import AT_ONCE, ONE_BY_ONE
from dmaverify.jobs.judge import readings_of
from dmaverify.jobs.walk import is_copy_text
from dmaverify.language.files import must_spare, write_text
from dmaverify.prove.limits import RLIMIT
from dmaverify.verdict import worst_code

# ---------------------------------------------------------------- run


@click.command()
@click.argument("path", metavar="PATH::NAME")
@click.option(
    "--limit",
    type=click.IntRange(1),
    help=f"Most units to execute.  [default: {AT_ONCE:,} of a move alone, {ONE_BY_ONE:,} where each is run by itself]",
)
@click.option("--set", "values", multiple=True, metavar="n=64,m=3", help="Arguments of a kernel in PTO text.")
@AS_JSON
def run(path: str, limit: int | None, values: tuple[str, ...], as_json: bool) -> None:
    """Execute moves, programs and kernels byte by byte. Says what arrived, and what breaks."""
    from dmaverify.cli.run import executed

    ran = executed(path, limit, values)
    answer = [data for _, data, _ in ran] if as_json else "\n".join(text for text, _, _ in ran)
    raise told(answer, worst_code(code for _, _, code in ran))


# ---------------------------------------------------------------- equiv


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--axes", default="", metavar="A=8,B=3", help="Axis sizes, when A and B are mappings.")
@click.option("--rlimit", type=click.IntRange(1), default=RLIMIT, help="Solver resource units a question.")
@click.option("--tier", "tiers", multiple=True, help="Of programs, kernels: compare what is left in this tier alone.")
@click.option("--engine", multiple=True, metavar="NAME=VALUE", help="Of drivers in C: a preset or option; repeatable.")
@click.option("--define", "defines", multiple=True, metavar="NAME=VALUE|n=1..8", help="Of drivers: a name of C.")
@AS_JSON
def equiv(
    a: str, b: str, axes: str, rlimit: int, tiers: tuple[str, ...], engine: tuple[str, ...], defines: tuple[str, ...],
    as_json: bool,
) -> None:  # fmt: skip
    """Whether two mappings, plans, kernels or drivers do the same.

    Mappings with --axes; transfers, programs, kernels and drivers by PATH::NAME.
    """
    from dmaverify import api
    from dmaverify.jobs.same_named import of_copies, same_named

    copies = of_copies((a, b))
    if axes.strip():
        from dmaverify.language.parse import parse_axes
        from dmaverify.prove.move.equiv import equivalent_mappings

        if copies or tiers or engine or defines:
            other = "kernels" if copies else "--tier, which is for programs" if tiers else "drivers in C"
            raise InputError(f"--axes is for two mappings, not for {other}", None, "leave one of them out")
        sizes = parse_axes(axes)
        answer = equivalent_mappings(api.mapping(a, sizes), api.mapping(b, sizes), rlimit=rlimit)
        said = answer.text(a, b)
    else:
        answer, said = same_named(
            (a, b), lambda at: api.load((a, b)[at], symbols=True), rlimit=rlimit, tiers=tiers, engine=engine,
            defines=defines,
        )  # fmt: skip
    raise told(answer.as_json() if as_json else said, answer.exit_code)


@click.command()
@click.argument("path", metavar="PATH[::NAME]")
@click.option(
    "--as", "form", required=True, help="Copies: inline, registers, words, slices; iDMA: auto, reg32_3d, nd, ..."
)
@click.option("--json", "as_json", is_flag=True, help="Words as JSON, which `equiv` reads.")
def emit(path: str, form: str, as_json: bool) -> None:
    """A kernel or a plan in another form of its machine.

    The copies of a kernel in the other surface, as words, or what they move; the commands of a plan in a form of the
    machine's own, read back and proved.
    """
    plan = path.partition("::")[0].endswith(".toml")
    if as_json and (plan or form != "words"):
        raise InputError("--json is for the words of a kernel", None, "emit KERNEL --as words --json")
    if plan:
        from dmaverify.cli.idma import emitted_plan

        raise told(emitted_plan(path, form))
    from dmaverify.jobs.kernels import written

    if not is_copy_text(path):
        raise InputError(f"{path} has no copies to emit", None, "name PTO text (*.mlir, *.pto) or a plan file")
    if form not in ("inline", "registers", "words", "slices"):
        raise InputError(f"a kernel has no form {form!r}", None, "one of inline, registers, words, slices")
    raise told(written(path, form, as_json=as_json))


# ---------------------------------------------------------------- synth, cost


@click.command()
@click.argument("paths", nargs=-1, metavar="PATH[::NAME]...")
@PROFILE
@click.option("--packet", type=click.IntRange(1), help="Packets of this many bytes.")
@click.option("--engines", type=click.IntRange(1), help="At most this many engines of a chip.")
@click.option("--entries", type=click.IntRange(1), help="At most this many loop entries a side, without exception.")
@click.option("--commands", type=click.IntRange(1), help="At most this many commands.")
@click.option("--prefix", default="", metavar="A/4,B", help="The outermost loops, by their labels.")
@click.option("--budget", type=float, metavar="SECONDS", help="Stop with the gap reached by then (not deterministic).")
@click.option("--evaluations", type=click.IntRange(1), help="Stop after this many priced commands (deterministic).")
@click.option("--routes/--no-routes", default=True, help="Try hops through other memories: the default.")
@click.option("--simulate/--no-simulate", default=True, help="Play winner and runners-up: the default.")
@click.option("--layouts", is_flag=True, help="Search the layouts of tensors, over all moves of a file, instead.")
@click.option("--certificate", type=click.Path(file_okay=False), metavar="DIR", help="Write plan, bound and questions.")
@click.option("--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the plan.")
@click.option("--emit", metavar="FORM", help="Only the commands, in a form of the machine's own, or `auto` (iDMA).")
@click.option("-j", "workers", type=click.IntRange(1, 256), default=1, show_default=True, help="Processes.")
@options("reading")
@options("timings")
@AS_JSON
@options("stdin")
def synth(
    paths: tuple[str, ...], simulate: bool, certificate: str | None, output: str | None, workers: int,
    reading: tuple[str, ...], timings: bool, as_json: bool, stdin: bool, prefix: str, emit: str | None, layouts: bool,
    **fixed: Any
) -> None:  # fmt: skip
    """The cheapest legal plan of a move, proved.

    With a bound, and why nothing is better.
    """
    from dmaverify.cli.synth import (
        code_of_reply,
        layouts_shown,
        synth_answers,
        synth_request,
        synth_shown,
        write_certificate,
    )
    from dmaverify.jobs.many_moves import code_of
    from dmaverify.jobs.synthesis import SynthSettings, settings_of

    settings = settings_of({"prefix": prefix, **fixed}, SynthSettings(simulate=simulate, reading=readings_of(reading)))
    if stdin:
        beside = {
            "a path": paths, "--output": output, "--certificate": certificate, "--emit": emit, "-j": workers > 1,
            "--timings": timings, "--layouts": layouts,
        }  # fmt: skip
        return lines(lambda request: synth_request(request, settings), code_of_reply, 10, beside)
    if not paths:
        raise InputError("nothing to synthesize", None, "dmaverify synth PATH::NAME")
    must_spare([output], paths)
    if layouts:
        for name, value in (("--certificate", certificate), ("--emit", emit), ("--timings", timings)):
            if value:
                raise InputError(f"`{name}` is of one plan, not of layouts", None, f"leave out {name}")
        raise told(*layouts_shown(paths, settings, workers, as_json, output))
    if certificate is not None:
        from dmaverify.jobs.sealed import must_be_own

        must_be_own(Path(certificate))
    answers, stopped = synth_answers(paths, settings, workers, timings=timings, whole=emit is not None)
    if stopped:
        if answers:
            say(synth_shown(answers, as_json, emit))
        say(stopped, error=True)
        raise Stop(3)
    if (output or certificate) and len(answers) != 1:
        raise InputError(f"{len(answers)} transfers, but one plan to write", None, "name one: PATH::NAME")
    say(synth_shown(answers, as_json, emit))
    if answers[0].code == 0 and output is not None:
        write_text(output, answers[0].whole.plan)
    if answers[0].code == 0 and certificate is not None:
        written = write_certificate(Path(certificate), answers[0].whole, settings)
        asks = f"dmaverify certificate check {typed(certificate)}"
        say(f"certificate: {len(written)} files in {certificate}; {asks}", error=True)
    raise Stop(code_of(answers))


@click.command()
@click.argument("path", required=False, metavar="PATH[::NAME]")
@PROFILE
@click.option("--simulate", is_flag=True, help="Play every request as well.")
@click.option("--explain", is_flag=True, help="Reasons, sources, the facts of both sides, what would help.")
@click.option("--formula", is_flag=True, help="The closed form in the symbols of the loops, or of a kernel.")
@click.option("--set", "values", multiple=True, metavar="NAME=NUMBER", help="The value of a kernel's argument.")
@click.option("--reading", multiple=True, metavar="POINT=NAME", help="Read a contested point of memory otherwise.")
@AS_JSON
@options("stdin")
def cost(
    path: str | None, profile: str, simulate: bool, explain: bool, formula: bool, values: tuple[str, ...],
    reading: tuple[str, ...], as_json: bool, stdin: bool
) -> None:  # fmt: skip
    """What a plan costs, or a kernel in its symbols, as terms."""
    from dmaverify.cli.entries import Chosen
    from dmaverify.cli.priced import cost_request, costs_of

    chosen = Chosen(profile, simulate, explain, formula, readings_of(reading))
    kernel = path is not None and is_copy_text(path)
    if values and not kernel:
        raise InputError("--set is for the arguments of kernels in PTO text", None, "leave it out")
    if stdin:
        return lines(lambda request: cost_request(request, chosen), beside={"a path": path, "--formula": formula})
    if path is None:
        raise InputError("nothing to price", None, "dmaverify cost PATH::NAME")
    if kernel:
        from dmaverify.jobs.kernel_prices import priced

        strange = "--simulate" if simulate else "--reading" if reading else "--profile" if profile != "book" else ""
        if strange:
            hint = "copies have one model, that of their machine; `run` shows pipes over time"
            raise InputError(f"{strange} is for moves of plans, not for kernels in PTO text", None, hint)
        raise told(priced(path, as_json=as_json, values=values, formula=formula, explain=explain))
    text, errors, stopped = costs_of(path, chosen, as_json)
    if text:
        say(text)
    code = fail(errors).code if errors else 0
    if stopped:
        say(stopped, error=True)
    raise Stop(code or (3 if stopped else 0))


# ---------------------------------------------------------------- extract


@click.command()
@click.argument("path", metavar="PATH[::FUNCTION]")
@click.option("--target", type=MACHINE, metavar="TEXT", help="The machine of the plan.")
@click.option("--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the plan file.")
def extract(path: str, target: str | None, output: str | None) -> None:
    """A plan file of what a kernel moves.

    The transfers of a Rust kernel, or what the copies of a PTO kernel move.
    """
    from dmaverify.cli.rust import extract_text

    must_spare([output], [path])
    folder = None if output is None else os.path.dirname(os.path.abspath(output))
    text = extract_text(path, target, folder and os.path.realpath(folder))
    if output is not None:
        write_text(output, text)
        text = f"wrote {output}"
    raise told(text)
