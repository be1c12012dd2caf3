"""Two opinions on one plan: the proof and the run of every unit, and where they differ.

Knows: how an obligation of the proof is called by the executor, which routes the proof has.
Does not know: how plans come about.
Law: `compare` returns a sentence for every obligation on which the two differ, for every witness that `meaning` does
not confirm, and for every exception; no sentence means full agreement, unknown and unjudged obligations apart, which
are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from dmaverify.errors import Disagreement
from dmaverify.execute.address import TooLarge
from dmaverify.execute.interpret import execute
from dmaverify.execute.result import Execution
from dmaverify.program.command import Command
from dmaverify.program.space import Space
from dmaverify.program.tensor import Tensor
from dmaverify.prove.limits import RLIMIT
from dmaverify.prove.move import core
from dmaverify.prove.move.outcome import OBLIGATIONS, CoreResult
from dmaverify.prove.move.scene import Scene, Side
from dmaverify.prove.move.witness import finding_of
from dmaverify.prove.smt import Session
from dmaverify.values import dataclass


@contextmanager
def only_solver() -> Iterator[None]:
    """Within it, no move is enumerated straight away: what the solver says is all there is."""
    before = core.ENUMERATE_FIRST
    core.ENUMERATE_FIRST = 0
    try:
        yield
    finally:
        core.ENUMERATE_FIRST = before


@dataclass(frozen=True)
class Opinion:
    """What the proof says (`status` per obligation) and every point where the executor says otherwise."""

    status: Mapping[str, str]
    broken: frozenset[str]
    by: str
    disagreements: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """`proved`, `refuted` or `unknown`, `core/consumes` apart, which is a warning."""
        values = [v for k, v in self.status.items() if k != "core/consumes"]
        if "refuted" in values:
            return "refuted"
        return "unknown" if "unknown" in values else "proved"


def compare(
    source: Tensor,
    dest: Tensor,
    spaces: tuple[Space, Space],
    bits: int,
    commands: Sequence[Command],
    *,
    route: str = "default",
    readings: Mapping[str, str] | None = None,
    rlimit: int = RLIMIT,
    done: Execution | None = None,
) -> Opinion | None:
    """Judges a program by proof and by execution. `route` "solver" allows no enumeration. None where it is too large
    to run.
    """
    known = readings or {}
    if done is None:
        try:
            done = execute(source, dest, *spaces, bits, commands, readings=known)
        except TooLarge:
            return None
    session = Session(rlimit)
    if route == "solver":
        with only_solver():
            result = core.judge_core(source, dest, spaces, bits, commands, known, session, 0)
    else:
        result = core.judge_core(source, dest, spaces, bits, commands, known, session)
    scene = Scene(Side(source, spaces[0], bits), Side(dest, spaces[1], bits), commands)
    return Opinion(result.status, frozenset(done.broken), result.by, tuple(_differences(result, done, scene)))


def _differences(result: CoreResult, done: Execution, scene: Scene) -> Iterator[str]:
    stopped = result.status["core/in-bounds"] == "refuted"  # beyond every memory: nothing else is judged
    for name in OBLIGATIONS:
        said, broken = result.status[name], name in done.broken
        if said in ("proved", "refuted"):
            if (said == "refuted") != broken:
                yield f"{name}: the proof ({result.by}) says {said}, the run says {'broken' if broken else 'kept'}"
        elif said == "not judged" and name not in ("core/consumes", "core/not-vacuous") and not stopped:
            yield f"{name}: not judged ({result.by})"
    if result.status["core/not-vacuous"] == "not judged" and not stopped and "unknown" not in result.status.values():
        yield "core/not-vacuous: not judged, though nothing is unknown"
    parts = {
        (b.obligation, b.part) for b in result.broken if b.obligation == "core/in-bounds" or "padding" in b.obligation
    }
    for key in done.findings:
        name, _, part = key.partition(":")
        judged = result.status[f"core/{name}"] == "refuted" and "unknown" not in result.status.values()
        if part and judged and (f"core/{name}", part) not in parts and result.by != "the range of the addresses":
            yield f"core/{name}: the run also finds {part}, the proof ({result.by}) does not"
    for broken_claim in result.broken:
        try:
            finding = finding_of(broken_claim, scene)
        except Disagreement as problem:
            yield f"witness: {problem}"
            continue
        if finding.rule != broken_claim.obligation:
            yield f"witness of {broken_claim.obligation} is told as {finding.rule}"
