"""Texts of commands in a machine's own forms: who reads them, and what comes of them.

Knows: that a machine may have forms of its own (`machines.modules`), what a plan takes from them.
Does not know: any machine, any form.
Law: a text in no form of the machine is left to the reader of the two command syntaxes; what a form says of options
and the plan says otherwise is a problem, never a silent choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmaverify.errors import Source, Span
from dmaverify.program.access import PlanProblem
from dmaverify.program.command import GivenCommand
from dmaverify.program.form import Form
from dmaverify.targets.modules import Derived, part_of
from dmaverify.targets.target import Target
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class Formed:
    """Commands, options that the text asks for, facts for rules of the machine's own scopes, what makes no sense; what
    keeps the commands from running to their end.
    """

    given: tuple[GivenCommand, ...]
    options: Mapping[str, int | str]
    facts: tuple[Derived, ...]
    problems: tuple[tuple[str, Span | None, str], ...]
    form: Form | None = None
    failures: tuple[tuple[str, Span | None, str], ...] = ()


def formed_commands(
    text: str, target: Target, unit_bits: int, source: Source, offset: int, written: Mapping[str, int | str]
) -> Formed | None:
    """The commands of a text in one of the machine's forms, for a plan with the options `written`; None where it is in
    none. Raises InputError.
    """
    module: Any = part_of(target, "forms")
    found: Formed | None = (
        None if module is None else module.read_commands(text, target, unit_bits, source, offset, written)
    )
    return found


def merged_options(
    written: Mapping[str, int | str], asked: Mapping[str, int | str], span: Span
) -> tuple[dict[str, int | str], list[PlanProblem]]:
    """The options of the plan over those of its text; where they differ, a problem for each."""
    problems = [
        PlanProblem(
            f"option `{name}` is {written[name]}, but the commands say {asked[name]}", span, "make them agree", False
        )
        for name in asked
        if name in written and written[name] != asked[name]
    ]
    return {**asked, **written}, problems
