"""Judges of kernels that find nothing, so that only questions from definitions can tell what does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest import mock

from dmaverify.program.instructions import Event
from dmaverify.prove.flow import kernels
from dmaverify.prove.flow.initialization.definite import DefiniteJudge
from dmaverify.prove.flow.order.pipes import PipeJudge
from dmaverify.verdict import Verdict

ORDER = ("core/flags", "core/hazard-raw", "core/hazard-war", "core/hazard-waw")
DEFINITE = "core/definite"


def _orderly(*given: Any, **_: object) -> PipeJudge:
    found = PipeJudge(*given[1:])
    found.status = dict.fromkeys(ORDER, "proved")
    return found


class _Credulous(DefiniteJudge):
    def judge(self, events: Sequence[Event]) -> None:
        self.reads = 1


def blind() -> Any:
    """Within it the order of pipes and what is read are taken to be right."""
    return mock.patch.multiple(kernels, _order=_orderly, DefiniteJudge=_Credulous)


def confirmed(verdict: Verdict) -> set[str]:
    """What of both has been asked, or needs no question."""
    asked = (*ORDER, DEFINITE)
    return {o.id for o in verdict.obligations if o.id in asked and (o.by == "z3" or o.by.startswith("no "))}
