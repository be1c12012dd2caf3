"""Planted faults of every kind: the sound kernel passes, the broken one is refuted for the reason planted."""

import pytest
from kernels import plan, verdicts
from lab.draws import counted
from planted import KINDS, planted

from dmaverify.verdict import Severity, Status


@pytest.mark.parametrize("each", counted(3, 15))
@pytest.mark.parametrize("kind", [kind.__name__ for kind in KINDS])
def test_every_planted_fault_is_refuted_for_its_reason_and_the_sound_kernel_is_not(kind: str, each: int) -> None:
    for name, seed, (good, bad, rules) in planted(each):
        if name != kind:
            continue
        for text, sound in ((good, True), (bad, False)):
            found = verdicts(plan(text, head=""))
            errors = {f.rule for v in found for f in v.findings if f.severity is Severity.ERROR}
            assert found, (kind, seed)
            if sound:
                assert {v.status for v in found} == {Status.PROVED}, (kind, seed, errors, text)
            else:
                assert errors & rules, (kind, seed, errors, text)


def test_there_are_at_least_two_hundred_faults_of_twelve_kinds() -> None:
    made = list(planted(15))
    assert len(made) >= 200
    assert len({kind for kind, *_ in made}) >= 12
    assert len({bad for _, _, (_, bad, _) in made}) > 100
