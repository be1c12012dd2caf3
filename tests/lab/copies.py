"""The fewest copies of a move, for tests that look at single values of the answer."""

from __future__ import annotations

from typing import Any

from dmaverify.jobs.synthesis import SynthSettings, answer_of
from dmaverify.plan.plan import Plan
from dmaverify.synth.result import Synthesis


def answer_for(plan: Plan, name: str) -> Synthesis:
    return answer_of(plan, name, SynthSettings())


def synthesize_copies(plan: Plan, name: str) -> dict[str, Any]:
    return answer_for(plan, name).as_data()
