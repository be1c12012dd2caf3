"""One way from proposals to an answer, whatever the machine: the cheapest that is proved, or what refuses the move.

Knows: proposals in order of their price, the check of a move.
Does not know: where proposals come from (a space of its own for each kind of machine), settings, plan files.
Law: an answer was proved by `check_transfer` on its commands (and executed where small), and accepted by whoever asks;
a proposal that was not is dropped. Without an answer the rule or obligation that refuses is named.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from dmaverify.program.move import Transfer
from dmaverify.prove.move.check import Options, check_transfer
from dmaverify.synth.regions import NoPlan
from dmaverify.synth.result import Synthesis
from dmaverify.targets.target import Target
from dmaverify.values import replace
from dmaverify.verdict import Status, Verdict

CROSS_CHECK = 1 << 16
"""Units up to which an answer is executed byte by byte as well."""
DEFAULTS = Options(cross_check=CROSS_CHECK)
Accept = Callable[[Synthesis], bool]
"""Asked of every answer before it is handed out: whether its printed text holds."""


def answered(
    move: Transfer, target: Target, axes: Mapping[str, int], profile: str, search: Callable[[], Synthesis]
) -> Synthesis:
    """What a search answers, or what refuses the move, and how long that took."""
    started = time.perf_counter()
    try:
        found = search()
    except NoPlan as error:
        found = refused(move, target, axes, profile, error)
    return replace(found, seconds=time.perf_counter() - started)


def refused(move: Transfer, target: Target, axes: Mapping[str, int], profile: str, why: NoPlan) -> Synthesis:
    """The answer without a plan."""
    reasons = (why, *why.others)
    return Synthesis(
        move.with_given(), target, axes, profile, (), None, float("inf"), why.bound, False, tuple(map(str, reasons)),
        refused=tuple((one.rule, one.message, one.hint) for one in reasons),
    )  # fmt: skip


def first_proved(proposals: Iterable[Synthesis], options: Options, accept: Accept | None) -> Synthesis:
    """The first proposal that is proved and accepted. Raises NoPlan with what refuses the first of those that are not,
    where none is.
    """
    against: list[NoPlan] = []
    for one in proposals:
        asked: list[tuple[str, str, str]] = []
        verdict = check_transfer(one.transfer, axes=one.axes, target=one.target, options=options, keep=asked)
        made = replace(one, verdict=verdict, questions=tuple(asked))
        if verdict.status is not Status.PROVED:
            against.append(_unproved(verdict))
        elif accept is None or accept(made):
            return made
        else:
            against.append(NoPlan("core/well-formed", "its printed text is not proved"))
    raise against[0] if against else NoPlan("core/well-formed", "nothing that was tried is legal and proved")


def _unproved(verdict: Verdict) -> NoPlan:
    first = next(iter(verdict.errors), None)
    if first is None:
        return NoPlan("core/well-formed", f"what was found is {verdict.status.value}")
    return NoPlan(first.rule, first.message, first.hint)
