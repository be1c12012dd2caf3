"""The options of `check`, which `sweep` and `merge` share.

Knows: names, types and help of options.
Does not know: what they do.
Law: an option that was not given is told apart from one that was, so that the settings of a project can fill it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from dmaverify.errors import did_you_mean
from dmaverify.jobs.judge import FORMATS
from dmaverify.prove.limits import RLIMIT, bytes_of, seconds_of


class LimitType(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A time or an amount of memory as text; `none` becomes 0, which stands for no limit."""

    name = "limit"

    def __init__(self, read: Callable[[str], float], examples: str) -> None:
        self.read = read
        self.examples = examples

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return 0 if value.strip().lower() == "none" else self.read(value)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no limit; write for example {self.examples}, or none", param, ctx)


class GivenText(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A text that is not empty: a variable of a script that has no value is no option that was left out."""

    def __init__(self, name: str = "text") -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value or self.fail("it is empty; name one, or leave the option out", param, ctx)


class NamedText(GivenText):
    """A text of which a shell completes the names: of rules, machines or readings. It takes any text."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        from dmaverify.report.rules import names_of

        return [CompletionItem(name) for name in names_of(self.name) if name.startswith(incomplete)]


class GivenPath(click.Path):
    """A path that is not empty; a shell completes it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(GIVEN.convert(value, param, ctx), param, ctx)


GIVEN = GivenText()


class WordChoice(click.Choice):  # type: ignore[type-arg,unused-ignore]
    """One of several words; a misspelt one is answered with the one that was meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        hint = None if value in self.choices else did_you_mean(str(value), map(str, self.choices))
        if hint:
            self.fail(f"{value!r} is none of them; {hint}", param, ctx)
        return super().convert(value, param, ctx)


RULE, MACHINE, READING = NamedText("rule"), NamedText("target"), NamedText("reading")
TIME = LimitType(seconds_of, "10s, 2m")
MEMORY = LimitType(bytes_of, "512MiB, 2GiB")
F = TypeVar("F", bound=Callable[..., Any])

_FILE = GivenPath(dir_okay=False)
_FOLDER = GivenPath(file_okay=False)
OPTIONS: Mapping[str, Callable[[Any], Any]] = {
    "paths": click.argument("paths", nargs=-1, metavar="PATH[::NAME]..."),
    "format_": click.option("--format", "format_", type=WordChoice(FORMATS), show_default="full"),
    "as_json": click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
    "output": click.option(
        "--output", multiple=True, metavar="FORMAT=FILE", help="Also write a report to a file; repeatable."
    ),
    "target": click.option(
        "--target", type=MACHINE, metavar="TEXT", help="Judge by this machine, whatever the file says."
    ),
    "select": click.option(
        "--select",
        type=RULE,
        multiple=True,
        metavar="RULE",
        help="Only rules that begin so (core/*); repeatable.",
    ),
    "ignore": click.option(
        "--ignore", type=RULE, multiple=True, metavar="RULE", help="Not these rules; the report says so; repeatable."
    ),
    "reading": click.option(
        "--reading",
        type=READING,
        multiple=True,
        metavar="RULE=NAME",
        help="Read a contested point otherwise; repeatable.",
    ),
    "workers": click.option("-j", "workers", type=click.IntRange(1, 256), show_default="1", help="Processes."),
    "engine": click.option(
        "--engine",
        multiple=True,
        metavar="E",
        help="iDMA files: the engine, a variant (rw_axi), a preset or NAME=VALUE; repeatable. Folders: job files too.",
    ),
    "dims": click.option(
        "--dims", type=click.IntRange(0, 8), help="iDMA job files: dimensions of a job, three lines each."
    ),
    "define": click.option(
        "--define",
        multiple=True,
        metavar="NAME=VALUE",
        help="C drivers: the value of a name, or of an expression, that the file leaves open; repeatable.",
    ),
    "trace": click.option(
        "--trace",
        type=GIVEN,
        metavar="FILE[::SCOPE]",
        help="iDMA: an AXI port in a simulation (.vcd, .fst, .ghw, .csv), held beat by beat against a plan or jobs.",
    ),
    "rlimit": click.option(
        "--rlimit", type=click.IntRange(1), show_default=str(RLIMIT), help="Solver resource units a question."
    ),
    "timeout": click.option(
        "--timeout",
        type=TIME,
        metavar="TIME",
        show_default="60s",
        help="Time of one verdict; `none` for any.",
    ),
    "memory": click.option(
        "--memory",
        type=MEMORY,
        metavar="SIZE",
        show_default="1GiB",
        help="Memory that one verdict may take; `none` for any.",
    ),
    "prove": click.option(
        "--prove",
        type=WordChoice(("fast", "full")),
        show_default="fast",
        help="full: ask the solver every claim once more, from the definitions of mapping and sequencer.",
    ),
    "certify": click.option(
        "--certify",
        type=_FOLDER,
        metavar="DIR",
        help="Prove in full and write plan, questions and answers; `certificate check DIR` checks them.",
    ),
    "playback": click.option(
        "--playback", type=_FILE, metavar="FILE", help="Write a pytest file that replays the refutations."
    ),
    "fix": click.option("--fix", is_flag=True, help="Write the fixes that were proved into the plan files."),
    "baseline": click.option(
        "--baseline", type=_FILE, metavar="FILE", help="Excuse the findings that this file knows."
    ),
    "write_baseline": click.option(
        "--write-baseline", type=_FILE, metavar="FILE", help="Write today's findings to this file; exit 0."
    ),
    "watch": click.option("--watch", is_flag=True, help="Check again whenever a file changes."),
    "no_cache": click.option("--no-cache", is_flag=True, help="Prove everything anew."),
    "locked": click.option("--locked", is_flag=True, help="Use no cache at all, whatever the settings say."),
    "allow_path": click.option(
        "--allow-path",
        type=click.Path(exists=True),
        multiple=True,
        metavar="DIR",
        help="Plans may name files below DIR, too; repeatable.",
    ),
    "config": click.option("--config", type=_FILE, metavar="FILE", help="Take the settings from this file."),
    "isolated": click.option("--isolated", is_flag=True, help="Take no settings from any file."),
    "show_settings": click.option(
        "--show-settings", is_flag=True, help="The settings in force, and where they come from."
    ),
    "show_files": click.option("--show-files", is_flag=True, help="The files that would be checked."),
    "exit_zero": click.option("--exit-zero", is_flag=True, help="Exit with 0 where the code would be 1 or 3."),
    "features": click.option(
        "--features", metavar="A,B", help="Kernels: features of the crate beside its default ones."
    ),
    "since": click.option(
        "--since", type=GIVEN, metavar="REV", help="Only transfers that are not what they were at a git revision."
    ),
    "strict": click.option("--strict", is_flag=True, help="Warnings and conditions (PROVED if ..) fail too, with 1."),
    "unknown": click.option(
        "--unknown",
        type=WordChoice(("fail", "warn")),
        default="fail",
        show_default=True,
        help="warn: exit with 0 where the code would be 3; the report still says UNKNOWN.",
    ),
    "statistics": click.option(
        "--statistics", is_flag=True, help="How often each rule was found, the commonest first."
    ),
    "no_execute": click.option("--no-execute", is_flag=True, help="Do not cross-check small moves in numpy."),
    "timings": click.option("--timings", is_flag=True, help="Show times."),
    "stdin": click.option("--stdin", is_flag=True, help="Read one JSON object a line, answer one a line."),
    "explain": click.option(
        "--explain", is_flag=True, help="Kernels: what each move could cost at best, with its stream and the reasons."
    ),
    "verbose": click.option("-v", "--verbose", is_flag=True, help="Every obligation, also of what is proved."),
}

AS_JSON = click.option("--json", "as_json", is_flag=True, help="The answer as JSON.")
PROFILE = click.option("--profile", default="book", show_default=True, help="Constants of the cost model.")


JUDGING = (
    "paths", "target", "reading", "workers", "rlimit", "timeout", "memory", "prove", "config", "isolated",
    "no_execute", "allow_path",
)  # fmt: skip
TELLING = (
    "format_", "as_json", "output", "select", "ignore", "playback", "baseline", "write_baseline", "config", "isolated",
    "exit_zero", "strict", "unknown", "statistics", "timings", "verbose",
)  # fmt: skip


def options(*names: str) -> Callable[[F], F]:
    """Some of the options of `check`, in the order named."""

    def decorated(command: F) -> F:
        for name in reversed(names):
            command = OPTIONS[name](command)
        return command

    return decorated
