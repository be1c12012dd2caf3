"""What is told of a command: texts, errors, progress, and the exit code it ends with.

Knows: the terminal, exit codes, which error ends with which.
Does not know: arguments, commands, the library that reads them: a plain `check` runs without it.
Law: output goes to stdout, errors of use and progress to stderr; a traceback is never shown.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from dmaverify.cli.request import CommandOutcome, Terminal
from dmaverify.errors import InputError, errors_of, too_long

COMMAND_SECONDS = 24 * 3600.0  # of a whole command that was given no limit; `check` bounds each verdict
COMMAND_BYTES = 8 << 30


class Stop(Exception):
    """The end of a command with its exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def say(text: str = "", *, error: bool = False) -> None:
    stream = sys.stderr if error else sys.stdout
    try:
        stream.write(text if text.endswith("\n") else text + "\n")
    except OSError as reason:
        told = _untold(stream, reason)
        if not error:  # what stderr does not take costs neither the answer nor its exit code
            raise told from None


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


def terminal() -> Terminal:
    return Terminal(_width(), _colour(sys.stdout), sys.stdout.isatty())


def show(outcome: CommandOutcome) -> int:
    """Prints an outcome; its exit code, whether or not somebody read to the end."""
    try:
        for text in filter(None, outcome.out):
            say(text)
        for text in outcome.err:
            say(text, error=True)
    except BrokenPipeError:
        pass
    return _flushed(outcome.code)


def progress(total: int) -> Callable[[int], None]:
    """Says on stderr how far it is, on a terminal and once it takes more than a second."""
    started = time.monotonic()

    def tick(done: int) -> None:
        if sys.stderr.isatty() and time.monotonic() - started > 1:
            sys.stderr.write(f"\r{done} of {total} files" + ("\n" if done == total else ""))
            sys.stderr.flush()

    return tick


def told(answer: Any, code: int = 0) -> Stop:
    """Says a text as it is, data as JSON; the end of a command."""
    from dmaverify.report.data import dumps

    say(answer if isinstance(answer, str) else dumps(answer))
    return Stop(code)


def check_plainly(given: Mapping[str, Any]) -> None:
    """`check` with these options and no others."""
    from dmaverify.cli.check import check_once
    from dmaverify.cli.request import request_of

    raise Stop(show(check_once(request_of(given), terminal(), progress)))


def ended(command: Callable[[], object]) -> int:
    """Runs a command; every outcome as an exit code."""
    from dmaverify.prove.limits import Exhausted, Limits, bounded

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that has not all characters shows escapes
            stream.reconfigure(errors="backslashreplace")
    try:
        with bounded(Limits(COMMAND_SECONDS, COMMAND_BYTES)):
            command()
    except Exhausted as error:
        say(f"no answer: {error.said} (--timeout and --memory raise the limits)", error=True)
        return 3
    except Stop as stop:
        return _flushed(stop.code)
    except KeyboardInterrupt:
        say("interrupted", error=True)
        return 2
    except BrokenPipeError:
        return 3  # nobody read to the end, and how it would have ended is not known
    except InputError as error:
        return fail(errors_of(error)).code
    except OSError as error:
        return fail([InputError(f"{error.filename or _no_name()}: {error.strerror or error}")]).code
    except Exception as error:
        refused = too_long(error)
        return _internal(error) if refused is None else fail([refused]).code
    return 0


def _no_name() -> str:
    """What an error of the system without a name most likely speaks of."""
    try:
        os.getcwd()
    except OSError:
        return "the folder that this was started in"
    return "a file"


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError as reason:
        _untold(sys.stdout, reason)
    except OSError as reason:
        reason = _untold(sys.stdout, reason)
        return fail([InputError(f"{reason.filename}: {reason.strerror}")]).code
    return code


def _untold(stream: TextIO, reason: OSError) -> OSError:
    """Why an output took no more, by name; what is left to say to it goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return reason if isinstance(reason, BrokenPipeError) else OSError(reason.errno, reason.strerror, "the output")


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
