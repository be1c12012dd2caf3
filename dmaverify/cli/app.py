"""The command line: arguments, files, exit codes; the only place that prints.

Knows: the surfaces: commands, options, `--stdin` lines, exit codes.
Does not know: how anything is decided.
Law: exit codes are 0 as expected, 1 violated, 2 unreadable, empty or misused, 3 inconclusive, 4 internal; precedence
4, 2, 1, 3, 0. Output goes to stdout, errors of use and progress to stderr; a traceback is never shown.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from dmaverify import __version__
from dmaverify.cli.check import CommandOutcome, Terminal
from dmaverify.cli.options import MEMORY, OPTIONS, TIME, options
from dmaverify.cli.rust import extract_command
from dmaverify.errors import InputError, errors_of
from dmaverify.jobs.judge import is_copy_text, readings_of
from dmaverify.language.files import write_text

COMMAND_SECONDS = 24 * 3600.0  # of a whole command that was given no limit; `check` bounds each verdict
COMMAND_BYTES = 8 << 30


class Stop(Exception):
    """The end of a command with its exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def say(text: str = "", *, error: bool = False) -> None:
    stream = sys.stderr if error else sys.stdout
    stream.write(text if text.endswith("\n") else text + "\n")


def fail(errors: Iterable[InputError], code: int = 2) -> Stop:
    from dmaverify.report.text import render_error

    for error in errors:
        say(render_error(error, width=_width(), colour=_colour(sys.stderr)), error=True)
    return Stop(code)


def _colour(stream: Any) -> bool:
    """NO_COLOR wins over FORCE_COLOR, that over a dumb terminal, that over whether it is a terminal at all."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"


def _width() -> int:
    if not sys.stdout.isatty():
        return 100
    try:
        return max(60, os.get_terminal_size().columns)
    except OSError:
        return 100


class Commands(click.Group):
    """A group of which some commands are imported only when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *LATE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in LATE:
            return _with_limits(super().get_command(ctx, cmd_name))
        from importlib import import_module

        return _with_limits(getattr(import_module(f"dmaverify.{LATE[cmd_name]}"), cmd_name))


def _with_limits(command: click.Command | None) -> click.Command | None:
    """The command with --timeout and --memory for all that it does; `check` and its kin bound each verdict."""
    from dmaverify.prove.limits import set_limits

    def bound(context: click.Context, option: click.Parameter, value: Any) -> None:
        if value is not None:
            set_limits(**{"timeout": None, "memory": None, str(option.name): value})

    taken = {option for one in command.params for option in one.opts} if command is not None else set()
    if command is not None and "--config" not in taken:
        for name, kind, said in (("timeout", TIME, "Time"), ("memory", MEMORY, "Memory")):
            if f"--{name}" in taken:
                continue  # the command means something else by it, or has it already
            command.params.append(
                click.Option(
                    (f"--{name}",), type=kind, metavar=said.upper(), expose_value=False, callback=bound,
                    help=f"{said} that all this may take; `none` for any.",
                )
            )  # fmt: skip
    return command


LATE = {
    "address": "cli.address",
    "bursts": "cli.bursts",
    "cache": "cli.tools",
    "cells": "cli.mappings",
    "conditions": "cli.sizes",
    "certificate": "cli.certificate",
    "derive": "cli.mappings",
    "diff": "cli.diff",
    "doctor": "cli.reference",
    "examples": "cli.start",
    "explain": "cli.reference",
    "init": "cli.start",
    "new": "cli.start",
    "rules": "cli.reference",
    "schema": "cli.reference",
    "targets": "cli.reference",
    "completions": "cli.tools",
    "lsp": "cli.lsp",
    "man": "cli.tools",
    "sweep": "cli.sweep",
    "merge": "cli.sweep",
    "utilization": "cli.bursts",
    "viz": "cli.trace",
    "trace": "cli.trace",
}
"""Commands by name, with the module that holds each under that name."""


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="dmaverify")
def cli() -> None:
    """Proof for tensor DMA: check, explain and derive the loop nests that move tensors.

    Begin with `dmaverify new tile` and `dmaverify check tile.toml`; `dmaverify examples` lists more.

    Exit codes: 0 as expected, 1 violated, 2 unreadable or empty input, 3 inconclusive, 4 internal error.
    """


# ---------------------------------------------------------------- check


@cli.command()
@options(*OPTIONS)
def check(**given: Any) -> None:
    """Prove every transfer and access of plan files and Rust kernels, or refute it with the smallest counterexample."""
    from dmaverify.cli.check import check_once, options_of, request_of, shown_files, shown_settings, watched

    if given["stdin"]:
        from dmaverify.jobs.requests import check_request, code_of

        asked = given["target"], given["select"], given["ignore"]
        return lines(lambda request: check_request(request, options_of(given), *asked), code_of)
    request = request_of(given)
    if given["show_settings"]:
        raise told(shown_settings(request))
    if given["show_files"]:
        raise told(shown_files(request))
    if given["watch"]:
        for outcome in watched(request, terminal(), progress, lambda: time.sleep(0.2)):
            show(outcome)
            say("watching; Ctrl-C ends", error=True)
    raise Stop(show(check_once(request, terminal(), progress)))


def terminal() -> Terminal:
    return Terminal(_width(), _colour(sys.stdout), sys.stdout.isatty())


def show(outcome: CommandOutcome) -> int:
    """Prints an outcome; its exit code."""
    for text in filter(None, outcome.out):
        say(text)
    for text in outcome.err:
        say(text, error=True)
    sys.stdout.flush()
    return outcome.code


def progress(total: int) -> Callable[[int], None]:
    """Says on stderr how far it is, on a terminal and once it takes more than a second."""
    started = time.monotonic()

    def tick(done: int) -> None:
        if sys.stderr.isatty() and time.monotonic() - started > 1:
            sys.stderr.write(f"\r{done} of {total} files" + ("\n" if done == total else ""))
            sys.stderr.flush()

    return tick


def lines(
    answer: Callable[[dict[str, Any]], Any], code_of: Callable[[Any], int] = lambda reply: 0, patience: int = 1
) -> None:
    """One JSON object a line in, one out, in order; a bad line answers `{"error", "where"}` and the rest go on.

    The exit code follows: that of the answers (`code_of`), 2 for a bad line, 4 for a mistake of our own. A line takes
    at most `patience` times what a verdict may.
    """
    codes = {0}
    try:
        for number, line in enumerate(_lines_of(sys.stdin), 1):
            if line.strip():
                reply, code = _answered(line, number, answer, code_of, patience)
                codes.add(code)
                say(reply)
                sys.stdout.flush()
    except KeyboardInterrupt:
        say("interrupted; the lines before were answered", error=True)
        codes.add(3)
    raise Stop(max(codes, key=(0, 3, 1, 2, 4).index))


def _lines_of(stream: Any) -> Iterator[str]:
    """The lines of a text stream; bytes that are no UTF-8 spoil their line alone."""
    raw = getattr(stream, "buffer", None)
    if raw is None:
        yield from stream
        return
    for line in raw:
        yield line.decode("utf-8", "surrogateescape")


def _answered(
    line: str, number: int, answer: Callable[[dict[str, Any]], Any], code_of: Callable[[Any], int], patience: int
) -> tuple[str, int]:
    """The answer to one line as text, and its exit code."""
    from dmaverify.jobs.requests import decoded
    from dmaverify.prove.boundary import internal_text
    from dmaverify.prove.limits import MEMORY, TIMEOUT, Exhausted, Limits, bounded
    from dmaverify.report.data import dumps

    try:
        request = decoded(line)
        if not isinstance(request, dict):
            raise InputError("a line is one JSON object")
        with bounded(Limits(patience * TIMEOUT, MEMORY)):
            reply = answer(request)
        return (reply if isinstance(reply, str) else dumps(reply)), code_of(reply)
    except InputError as error:
        place = f"line {number}" + (f", {error.span}" if error.span else "")
        return dumps({"error": error.message, "where": place, **({"hint": error.hint} if error.hint else {})}), 2
    except (json.JSONDecodeError, UnicodeError, RecursionError) as error:
        return dumps({"error": f"not JSON: {error}", "where": f"line {number}"}), 2
    except Exhausted as error:
        return dumps({"error": f"no answer: {error.said}", "where": f"line {number}"}), 3
    except OSError as error:
        said = f"{error.filename or 'a file'}: {error.strerror or error}"
        return dumps({"error": said, "where": f"line {number}"}), 2
    except (TypeError, ValueError, OverflowError) as error:
        return dumps({"error": f"cannot be read: {error}", "where": f"line {number}"}), 2
    except Exception as error:
        return dumps({"error": f"internal error: {internal_text(error)}", "where": f"line {number}"}), 4


def load(path: str) -> Any:
    from dmaverify import api

    return api.load(path)


def told(answer: Any) -> Stop:
    """Says a text as it is, data as JSON; the end of a command that went well."""
    from dmaverify.report.data import dumps

    say(answer if isinstance(answer, str) else dumps(answer))
    return Stop(0)


# ---------------------------------------------------------------- run


@cli.command()
@click.argument("path", metavar="PATH::NAME")
@click.option("--limit", type=click.IntRange(1), default=1 << 26, show_default=True, help="Most units to execute.")
@click.option("--json", "as_json", is_flag=True)
def run(path: str, limit: int, as_json: bool) -> None:
    """Execute transfers, gathers, accesses and programs byte by byte, and compare with the literal meaning."""
    from dmaverify.cli.run import executed
    from dmaverify.report.data import dumps

    ran = executed(path, limit)
    say(dumps([data for _, data, _ in ran]) if as_json else "\n".join(text for text, _, _ in ran))
    raise Stop(max(code for _, _, code in ran))


# ---------------------------------------------------------------- equiv


@cli.command()
@click.argument("a")
@click.argument("b")
@click.option("--axes", default="", metavar="A=8,B=3", help="Axis sizes, when A and B are mappings.")
@click.option("--rlimit", type=click.IntRange(1), default=20_000_000, help="Solver resource units a question.")
@click.option("--json", "as_json", is_flag=True)
def equiv(a: str, b: str, axes: str, rlimit: int, as_json: bool) -> None:
    """Whether two mappings mean the same everywhere, or two plans or kernels (PATH::NAME) do the same."""
    if is_copy_text(a.partition("::")[0]):
        from dmaverify.jobs.kernels import compared

        said, code = compared(a, b, as_json=as_json)
        say(said)
        raise Stop(code)
    from dmaverify.cli.equiv import compared_texts
    from dmaverify.report.data import dumps

    answer = compared_texts(a, b, axes, rlimit)
    if as_json:
        say(dumps(answer.as_json()))
    else:
        say(answer.text(a, b))
    raise Stop(answer.exit_code)


@cli.command()
@click.argument("path", metavar="PATH[::NAME]")
@click.option("--as", "form", required=True, help="inline, registers, words, slices; iDMA: auto, reg32_3d, nd, ...")
@click.option("--json", "as_json", is_flag=True, help="Words as JSON, which `equiv` reads.")
def emit(path: str, form: str, as_json: bool) -> None:
    """A kernel with its copies in the other surface, their configuration words, or what they move; the commands of a
    plan in a form of the machine's own, read back and proved.
    """
    if path.partition("::")[0].endswith(".toml"):
        from dmaverify.cli.idma import emitted_plan

        raise told(emitted_plan(path, form))
    from dmaverify.jobs.kernels import written

    if form not in ("inline", "registers", "words", "slices"):
        raise InputError(f"a kernel has no form {form!r}", None, "one of inline, registers, words, slices")
    raise told(written(path, form, as_json=as_json))


# ---------------------------------------------------------------- synth, cost


@cli.command()
@click.argument("paths", nargs=-1, metavar="PATH[::NAME]...")
@click.option("--profile", default="book", show_default=True, help="Constants of the cost model.")
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
@click.option("--reading", multiple=True, metavar="RULE=NAME", help="Read a contested point otherwise; repeatable.")
@click.option("--timings", is_flag=True, help="Show times.")
@click.option("--json", "as_json", is_flag=True)
@click.option("--stdin", is_flag=True, help="Read one JSON object a line, answer one a line.")
def synth(
    paths: tuple[str, ...], simulate: bool, certificate: str | None, output: str | None, workers: int,
    reading: tuple[str, ...], timings: bool, as_json: bool, stdin: bool, prefix: str, emit: str | None, layouts: bool,
    **fixed: Any
) -> None:  # fmt: skip
    """The cheapest legal plan of a move, proved, with a bound and why nothing is better."""
    from dmaverify.cli.synth import layouts_shown, synth_request, synth_shown, write_certificate
    from dmaverify.jobs.synthesis import SynthSettings, synth_paths

    first = tuple(text.strip() for text in prefix.split(",") if text.strip())
    settings = SynthSettings(prefix=first, simulate=simulate, reading=readings_of(reading), **fixed)
    if stdin:
        return lines(lambda request: synth_request(request, settings), patience=10)
    if not paths:
        raise fail([InputError("nothing to synthesize", None, "dmaverify synth PATH::NAME")])
    if layouts:
        raise told(layouts_shown(paths, settings, workers, as_json, output))
    from dmaverify.jobs.kernel_synthesis import synthesized

    copies = synthesized(paths, output, as_json, certificate)
    if copies is not None:
        raise told(copies)
    results = synth_paths(paths, settings, workers)
    if (output or certificate) and len(results) != 1:
        raise fail([InputError(f"{len(results)} transfers, but one plan to write", None, "name one: PATH::NAME")])
    say(synth_shown(results, as_json, timings, emit))
    if results[0].found and output is not None:
        write_text(output, results[0].plan)
    if results[0].found and certificate is not None:
        written = write_certificate(Path(certificate), results[0], settings)
        asks = f"dmaverify certificate check {certificate}"
        say(f"certificate: {len(written)} files in {certificate}; {asks}", error=True)
    raise Stop(0 if all(result.found for result in results) else 1)


@cli.command()
@click.argument("path", required=False, metavar="PATH[::NAME]")
@click.option("--profile", default="book", show_default=True, help="Constants of the model.")
@click.option("--simulate", is_flag=True, help="Play every request as well.")
@click.option("--explain", is_flag=True, help="Reasons, sources, the facts of both sides, what would help.")
@click.option("--formula", is_flag=True, help="The closed form in the symbols of the loops, or of a kernel.")
@click.option("--set", "values", multiple=True, metavar="NAME=NUMBER", help="The value of a kernel's argument.")
@click.option("--reading", multiple=True, metavar="POINT=NAME", help="Read a contested point of memory otherwise.")
@click.option("--json", "as_json", is_flag=True)
@click.option("--stdin", is_flag=True, help="Read one JSON object a line, answer one a line.")
def cost(
    path: str | None, profile: str, simulate: bool, explain: bool, formula: bool, values: tuple[str, ...],
    reading: tuple[str, ...], as_json: bool, stdin: bool
) -> None:  # fmt: skip
    """What the program of a plan costs, or a kernel in its symbols, as named terms."""
    from dmaverify.cli.entries import Chosen
    from dmaverify.cli.priced import cost_request, costs_of

    if stdin:
        return lines(lambda request: cost_request(request, profile, simulate, explain))
    if path is None:
        raise fail([InputError("nothing to price", None, "dmaverify cost PATH::NAME")])
    if is_copy_text(path.partition("::")[0]):
        from dmaverify.jobs.kernel_prices import priced

        raise told(priced(path, as_json=as_json, values=values, formula=formula, explain=explain))
    text, errors = costs_of(path, Chosen(profile, simulate, explain, formula, readings_of(reading)), as_json)
    if text:
        say(text)
    if errors:
        raise fail(errors)
    raise Stop(0)


cli.add_command(extract_command(told))


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point: runs a command and turns every outcome into an exit code."""
    import gc

    gc.set_threshold(100_000, 50, 50)  # starting makes many objects and no garbage
    sys.exit(invoke(arguments))


def invoke(arguments: Sequence[str] | None = None) -> int:
    from dmaverify.prove.limits import Exhausted, Limits, bounded

    try:
        with bounded(Limits(COMMAND_SECONDS, COMMAND_BYTES)):
            words = None if arguments is None else list(arguments)
            cli.main(args=words, prog_name="dmaverify", standalone_mode=False)
    except Exhausted as error:
        say(f"no answer: {error.said} (--timeout and --memory raise the limits)", error=True)
        return 3
    except Stop as stop:
        return _flushed(stop.code)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        say("interrupted", error=True)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except InputError as error:
        return fail(errors_of(error)).code
    except OSError as error:
        return fail([InputError(f"{error.filename or 'a file'}: {error.strerror or error}")]).code
    except Exception as error:
        return _internal(error)
    return 0


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _internal(error: Exception) -> int:
    """Never a traceback: what happened and where, in two lines, and exit code 4."""
    import traceback

    if os.environ.get("DMAVERIFY_TRACEBACK"):
        traceback.print_exc()
    frame = traceback.extract_tb(error.__traceback__)[-1]
    say(f"internal error: {error.__class__.__name__}: {error}", error=True)
    say(
        f"  at {Path(frame.filename).name}:{frame.lineno}; please report this (DMAVERIFY_TRACEBACK=1 shows all)",
        error=True,
    )
    return 4
