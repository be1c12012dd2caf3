"""The command line: arguments, files, exit codes; the only place that prints.

Knows: the surfaces: commands, options, `--stdin` lines, exit codes.
Does not know: how anything is decided.
Law: exit codes are 0 as expected, 1 violated, 2 unreadable, empty or misused, 3 inconclusive, 4 internal; precedence
4, 2, 1, 3, 0. Output goes to stdout, errors of use and progress to stderr; a traceback is never shown.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

import click

from dmaverify import __version__
from dmaverify.cli.options import MEMORY, OPTIONS, TIME, options
from dmaverify.cli.screen import Stop, ended, progress, say, show, terminal, told
from dmaverify.errors import InputError
from dmaverify.verdict import worst_code


class Commands(click.Group):
    """A group of which some commands are imported only when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *LATE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in LATE:
            return _with_limits(super().get_command(ctx, cmd_name))
        from importlib import import_module

        return _with_limits(getattr(import_module(f"dmaverify.cli.{LATE[cmd_name]}"), cmd_name))


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


_LATE = {
    "address": "address",
    "bursts": "bursts utilization",
    "certificate": "certificate",
    "diff": "diff",
    "lsp": "lsp",
    "mappings": "cells derive",
    "moves": "cost emit equiv extract run synth",
    "reference": "doctor explain rules schema targets",
    "sizes": "conditions",
    "start": "examples init new",
    "sweep": "merge sweep",
    "tools": "cache completions man",
    "trace": "trace viz",
}
LATE = {name: home for home, names in _LATE.items() for name in names.split()}
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
    """Prove every move of plans, kernels and drivers, or refute it.

    Plan files, Rust kernels, PTO text, texts and drivers of iDMA; a refutation comes with the smallest counterexample.
    """
    from dmaverify.cli.check import check_once
    from dmaverify.cli.request import (
        only_of_lines,
        options_of,
        request_of,
        set_features,
        shown_files,
        shown_settings,
    )

    if given["stdin"]:
        from dmaverify.jobs.requests import check_request, code_of_reply

        only_of_lines(given)
        set_features(given)
        asked = given["target"], given["select"], given["ignore"]
        return lines(lambda request: check_request(request, options_of(given), *asked), code_of_reply)
    request = request_of(given)
    if given["show_settings"]:
        raise told(shown_settings(request))
    if given["show_files"]:
        raise told(shown_files(request))
    if given["watch"]:
        from dmaverify.cli.watch import watched

        for outcome in watched(request, terminal(), progress, lambda: time.sleep(0.2)):
            show(outcome)
            say("watching; Ctrl-C ends", error=True)
    raise Stop(show(check_once(request, terminal(), progress)))


def lines(
    answer: Callable[[dict[str, Any]], Any],
    code_of: Callable[[Any], int] = lambda reply: 0,
    patience: int = 1,
    beside: Mapping[str, object] | None = None,
) -> None:
    """One JSON object a line in, one out, in order; a bad line answers `{"error", "where"}` and the rest go on.
    `beside` are the other arguments of the command, which lines have no use for.

    The exit code follows: that of the answers (`code_of`), 2 for a bad line, 4 for a mistake of our own. A line takes
    at most `patience` times what a verdict may.
    """
    if strange := next((name for name, given in (beside or {}).items() if given), None):
        raise InputError(f"{strange} beside --stdin has no meaning", None, "a line says itself what it asks")
    codes = set[int]()
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
    if not codes:
        say("no line to answer: give one JSON object a line", error=True)
    raise Stop(worst_code(codes))


def _lines_of(stream: Any) -> Iterator[str]:
    """The lines of a text stream; bytes that are no UTF-8 spoil their line alone."""
    raw = getattr(stream, "buffer", None)
    if raw is None:
        yield from stream or ()  # none: it was closed before the start
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


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point: runs a command and turns every outcome into an exit code."""
    sys.exit(invoke(arguments))


def invoke(arguments: Sequence[str] | None = None) -> int:
    return ended(lambda: _read(None if arguments is None else list(arguments)))


def _read(words: list[str] | None) -> None:
    try:
        cli.main(args=words, prog_name="dmaverify", standalone_mode=False)
    except click.exceptions.Exit as stop:
        raise Stop(stop.exit_code) from None
    except click.ClickException as error:
        said = StringIO()
        error.show(said)
        say(said.getvalue(), error=True)
        raise Stop(2) from None
    except SystemExit:  # how click ends where nobody reads any more, with the code of a violation
        raise BrokenPipeError from None
    except click.Abort:
        raise KeyboardInterrupt from None
