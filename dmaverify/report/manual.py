"""The manual page, made of the commands themselves.

Knows: click's commands, roff.
Does not know: where the page goes.
Law: every command and every option is on the page, in the words of its own help; the same commands, the same page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

FILES = (
    (
        "dmaverify.toml, pyproject.toml, Cargo.toml",
        "Settings: all of it, [tool.dmaverify], or [package.metadata.dmaverify]. The nearest folder wins.",
    ),
    ("~/.cache/dmaverify/", "What was proved before, and the key that signs it. Safe to delete."),
)
EXITS = (
    ("0", "everything proved, or refuted exactly as the plan expects"),
    ("1", "a rule or an obligation is violated, or an expectation is not met"),
    ("2", "input that cannot be read, or nothing to check"),
    ("3", "inconclusive"),
    ("4", "internal error, and any disagreement between proof and execution"),
)
VARIABLES = (
    ("NO_COLOR", "If set and not empty, no colours; it wins over FORCE_COLOR."),
    ("FORCE_COLOR", "If set and neither empty nor 0, colours into a pipe and a dumb terminal too."),
    ("TERM", "If dumb, no colours unless FORCE_COLOR asks for them. Else a terminal has colours and a pipe has none."),
    ("DMAVERIFY_CACHE_DIR", "The folder of the cache."),
    ("DMAVERIFY_NO_CACHE", "If set, nothing is taken from a cache."),
    ("DMAVERIFY_TRACEBACK", "If set, an internal error shows where it happened."),
    ("GITHUB_ACTIONS, GITHUB_STEP_SUMMARY", "In a workflow, check adds annotations and the summary of the step."),
)


def manual(group: click.Group, context: click.Context, version: str) -> str:
    """The page in roff, section 1."""
    lines = [f'.TH DMAVERIFY 1 "" "dmaverify {version}" "User Commands"', ".SH NAME"]
    lines += [r"dmaverify \- proof for tensor DMA", ".SH SYNOPSIS", ".B dmaverify", ".I COMMAND", "[OPTIONS] [ARGS]"]
    lines += [".SH DESCRIPTION", *_prose(group.help or ""), ".SH COMMANDS"]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None and not command.hidden:
            lines += _command(name, command, context)
    for title, rows in (("EXIT STATUS", EXITS), ("FILES", FILES), ("ENVIRONMENT", VARIABLES)):
        lines += [f".SH {title}", *(line for term, text in rows for line in _entry(term, text))]
    return "\n".join(lines) + "\n"


def _command(name: str, command: click.Command, context: click.Context) -> Iterator[str]:
    import click

    inner = click.Context(command, info_name=name, parent=context)
    usage = " ".join(command.collect_usage_pieces(inner))
    yield from (f".SS {_safe(name)}", f".B dmaverify {_safe(name)}", _safe(usage), ".PP", *_prose(command.help or ""))
    for parameter in command.get_params(inner):
        record = parameter.get_help_record(inner)
        if record is not None:
            yield from _entry(record[0], record[1])


def _entry(term: str, text: str) -> list[str]:
    return [".TP", f".B {_safe(term)}", *_prose(text)]


def _prose(text: str) -> list[str]:
    return [_safe(line.strip()) or ".PP" for line in text.strip().splitlines()] or [""]


def _safe(text: str) -> str:
    """Text that roff prints as it is."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("…", "...")
    return f"\\&{plain}" if plain[:1] in (".", "'") else plain
