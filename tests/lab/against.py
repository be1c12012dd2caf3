"""Plan files judged twice, by proof and by the interpreter; what they say differently, shrunk.

Knows: how to put an entry through both, what counts as a disagreement, how a text is made smaller.
Does not know: how a text was drawn, why either side says what it says.
Law: a disagreement is a plan that is proved and that some execution breaks, or that is refuted by the core while every
execution keeps every promise. What only a machine's own rules forbid is no disagreement; what the interpreter leaves
unsaid is none either.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lab.twins import LARGE, SMALL, grown
from lab.written import WrittenPlan

from dmaverify.execute.interpret import interpret
from dmaverify.execute.outcome import Beyond, Outcome
from dmaverify.plan.execution import PlanExecution
from dmaverify.verdict import Status

STARVING = "/bank-starvation"
NOT_RUN = {"core/well-formed", "core/not-vacuous", "core/consumes"}


@dataclass(frozen=True)
class BothAnswers:
    """Both answers for one entry. `run` is wrong, right, unsaid or beyond; `against` says what disagrees, or ""."""

    proof: str
    rules: tuple[str, ...]
    run: str
    outcome: Outcome
    against: str
    seconds: float
    conditions: tuple[str, ...] = ()


def judged_twice(text: str, name: str, target: str | None = None) -> BothAnswers:
    """The answers of proof and interpreter. Raises what either side raises, but Beyond."""
    from dmaverify.jobs.retold import rules_of
    from dmaverify.jobs.verdicts import verdicts_of

    outcome, word = Outcome(), "beyond"
    try:
        outcome = interpret(*PlanExecution(text, target=target).work(name))
        word = "wrong" if outcome.wrong else "unsaid" if outcome.unsaid else "right"
    except Beyond as error:
        outcome.leave("beyond", str(error))
    from dmaverify.plan.read import read_plan_text
    from dmaverify.prove.options import Options

    started = time.perf_counter()
    found = verdicts_of(read_plan_text(text, target=target), Options(repair=False))
    verdict = next(one for one in found if one.name == name)
    seconds = time.perf_counter() - started
    rules = tuple(sorted({rule for finding in verdict.errors for rule in rules_of(finding)}))
    against = _against(verdict.status, rules, word, outcome)
    if outcome.lost and verdict.status is Status.PROVED and not verdict.conditions:
        against = against or f"proved without a condition, but {next(iter(outcome.lost.values()))}"
    return BothAnswers(verdict.status.value, rules, word, outcome, against, seconds, verdict.conditions)


def _against(status: Status, rules: tuple[str, ...], word: str, outcome: Outcome) -> str:
    if status is Status.PROVED and word == "wrong":
        rule, sight = next(iter(outcome.wrong.items()))
        return f"proved, but {rule}: {sight}"
    own = [rule for rule in rules if not rule.startswith("core/") and not rule.endswith(STARVING)]
    if set(rules) <= NOT_RUN:
        return ""  # whether a sequencer can do it, or it promises anything, is another question than what is done
    if status is Status.REFUTED and word == "right" and not own:
        return f"refuted by {', '.join(rules)}, but every execution keeps every promise"
    return ""


def complaint(drawn: WrittenPlan, target: str | None = None) -> tuple[str, BothAnswers | None]:
    """What is wrong with the answers on a drawn plan, "" where nothing is.

    It is a disagreement, a crash, or a plan that holds by construction and that either side denies.
    """
    try:
        both = judged_twice(drawn.text, drawn.name, target)
    except Exception as error:  # a crash of either side is what the search is for
        return f"{type(error).__name__}: {error}", None
    if both.against:
        return both.against, both
    if drawn.holds and both.run == "wrong":
        return f"the generator's plan does not hold: {both.outcome.wrong}", both
    own = [rule for rule in both.rules if not rule.startswith("core/")]
    if drawn.holds and both.proof == "refuted" and not own:
        return f"refuted by {', '.join(both.rules)}, but right by construction", both
    return "", both


def twin_complaint(drawn: WrittenPlan, target: str | None = None) -> tuple[str, str]:
    """What is wrong with the answers on the plan grown twice and grown beyond any run, "" where nothing is; the answer
    on the large one, "" where the plan cannot be grown.
    """
    texts = [grown(drawn.text, times) for times in (SMALL, LARGE)]
    if texts[0] is None or texts[1] is None:
        return "", ""
    try:
        small, large = (judged_twice(text, drawn.name, target) for text in texts if text is not None)
    except Exception as error:
        return f"grown: {type(error).__name__}: {error}", ""
    if small.against:
        return f"grown: {small.against}", large.proof
    if "unknown" not in (small.proof, large.proof) and small.proof != large.proof:
        return f"{small.proof} twice over, {large.proof} {LARGE:,} times over", large.proof
    return "", large.proof


# ---------------------------------------------------------------- shrinking

_AXIS = re.compile(r"^([A-Z][A-Za-z0-9_']*) = ([0-9]+)$", re.MULTILINE)
_NUMBER = re.compile(r"(?<![A-Za-z0-9_])[0-9]+(?![A-Za-z0-9_])")


def shrunk(text: str, still: Callable[[str], bool], rounds: int = 200) -> str:
    """A smaller text for which `still` holds: fewer lines, smaller axes, smaller numbers."""
    left = rounds
    changed = True
    while changed and left > 0:
        changed = False
        for smaller in _smaller(text):
            left -= 1
            if left <= 0:
                break
            if still(smaller):
                text, changed = smaller, True
                break
    return text


def _smaller(text: str) -> Iterator[str]:
    lines = text.splitlines()
    heads = [at for at, line in enumerate(lines) if line.startswith("[")] + [len(lines)]
    for start, end in itertools.pairwise(heads):
        if lines[start] != "[axes]":
            yield "\n".join([*lines[:start], *lines[end:]]) + "\n"
    for found in _AXIS.finditer(text):
        size = int(found[2])
        for smaller in sorted({1, 2, size // 2, size - 1} - {0, size}):
            if smaller < size:
                yield text[: found.start(2)] + str(smaller) + text[found.end(2) :]
    for at, line in enumerate(lines):
        if line.startswith(("stream", "read", "write", "loop", "expect")):
            yield "\n".join([*lines[:at], *lines[at + 1 :]]) + "\n"
    for found in _NUMBER.finditer(text):
        number = int(found[0])
        if number > 4096:
            yield text[: found.start()] + "0" + text[found.end() :]
