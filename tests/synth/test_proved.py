"""From proposals to an answer: the first that is proved and accepted, else what refuses the first."""

from functools import cache

import pytest
from moves import move

from dmaverify.program.move import Transfer
from dmaverify.synth.proved import DEFAULTS, first_proved
from dmaverify.synth.regions import NoPlan
from dmaverify.synth.result import Synthesis
from dmaverify.synth.synthesize import synthesize
from dmaverify.targets.target import load_target
from dmaverify.values import replace

AXES = {"A": 4, "B": 64}


@cache
def right() -> Synthesis:
    source, dest = {"tier": "hbm", "element": "A, B"}, {"tier": "dm", "slice": "A", "element": "B"}
    return synthesize(move(AXES, source, dest), load_target("rngd"), axes=AXES, advise=False)


def wrong() -> Synthesis:
    """The same commands, said to make a move to another place."""
    moved: Transfer = right().transfer
    return replace(right(), transfer=replace(moved, dest=replace(moved.dest, base=moved.dest.base + 64)), cycles=1.0)


def test_a_proposal_that_is_not_proved_is_no_answer_however_cheap() -> None:
    found = first_proved([wrong(), right()], DEFAULTS, None)
    assert (found.cycles, found.transfer) == (right().cycles, right().transfer)
    assert found.verdict is not None
    assert found.verdict.claim == "all 256 bytes"


def test_a_proposal_that_is_not_accepted_is_dropped() -> None:
    found = first_proved([right(), replace(right(), split="second")], DEFAULTS, lambda one: one.split == "second")
    assert found.split == "second"


@pytest.mark.parametrize(
    ("proposals", "why"),
    [
        ((wrong,), "core/"),
        ((wrong, right), "core/"),
        ((right,), "core/well-formed: its printed text is not proved"),
        ((), "core/well-formed: nothing that was tried is legal and proved"),
    ],
)
def test_without_an_answer_what_refuses_the_first_proposal_is_named(proposals: tuple, why: str) -> None:
    with pytest.raises(NoPlan) as refused:
        first_proved([one() for one in proposals], DEFAULTS, lambda found: False)
    assert str(refused.value).startswith(why)
    assert ("printed text" in str(refused.value)) == (proposals[:1] == (right,))
