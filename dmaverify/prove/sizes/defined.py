"""The questions from definitions with symbols for sizes: one set of scripts for all sizes of a region.

Knows: what a run at one size asks, the sizes that it asks of, what cannot be asked.
Does not know: how regions are searched, how scripts are written or asked.
Law: a script states which sizes are admitted and which facts it speaks under, and asks everything else; sizes are
constants in it. Decisions of the run that shaped a script are facts of its region, so that a region whose scripts are
answered as expected is proved from definitions at every size. What has no script is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.program.space import Space
from dmaverify.prove.move.defined import NotCovered
from dmaverify.prove.move.full import definitions, rules_script
from dmaverify.prove.move.outcome import OBLIGATIONS
from dmaverify.prove.move.part_questions import view_scripts
from dmaverify.prove.move.questions import QuestionSubject, questions_of
from dmaverify.prove.move.script import THE_PLAN, Script, SizesAsked
from dmaverify.prove.sizes.complete import admitted, fact_text
from dmaverify.prove.sizes.facts import SizeFact, SizeRegion, Template
from dmaverify.prove.sizes.trace import Trace
from dmaverify.prove.smt import polynomial, size_name
from dmaverify.targets.rule import Rule
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field

LOGIC = "QF_NIA"
_HEAD = re.compile(r"\A[^\n]*\n\(set-logic \w+\)\n")


@dataclass
class SizedQuestions:
    """What a run asks. `held` are rules that hold, with their ports; `left` what has no script, in words."""

    scripts: list[Script] = field(default_factory=list)
    held: list[tuple[Rule, tuple[int, ...], str]] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    moves: int = 0

    def ask_move(
        self, trace: Trace, transfer: Transfer, spaces: tuple[Space, Space], target: Target,
        commands: Sequence[Command], readings: dict[str, str],
    ) -> None:  # fmt: skip
        """The move that commands make, and the tiles of its views."""
        self.moves += 1
        tiers = (transfer.source.tier, transfer.dest.tier)
        asked = [name for name in OBLIGATIONS if name != "core/consumes" or readings.get(name) == "strict"]
        asked += ["core/overlap"] if len({target.memory_of(tier) for tier in tiers}) == 1 else []
        sizes = SizesAsked(lambda: loosely(trace), _sample(trace))
        bits, name = target.dtypes[transfer.dtype], f"move {self.moves}, "
        subject = QuestionSubject(
            transfer.source, transfer.dest, spaces, bits, commands, readings, definitions(),
            dict.fromkeys(asked, "proved"), name, sizes, transfer.buffers,
        )  # fmt: skip
        found = questions_of(subject)
        self.scripts += found.scripts
        self.left += found.left
        if transfer.views is not None:
            try:
                self.scripts += view_scripts(transfer.views, spaces, bits, target, definitions(), sizes)
            except NotCovered as why:
                self.left.append(f"the iterations of views but the first: {why}")

    def scripts_at(self, template: Template, trace: Trace) -> tuple[list[Script], SizeRegion]:
        """All scripts, each with what it says of sizes in front, and the region that they speak of."""
        texts = [*self.scripts, *self._rules()]
        region, core = trace.region(), definitions()
        front = _front(template, trace, region, "".join(script.text for script in texts))
        head = f"(set-info :smt-lib-version 2.6)\n(set-logic {LOGIC})\n{core}"
        bodies = [_HEAD.sub("", script.text, 1).replace(core, "").rpartition(f"{THE_PLAN}\n") for script in texts]
        told = zip(texts, bodies, strict=True)
        return [Script(s.name, head + theorems + front + own, s.steps) for s, (theorems, _, own) in told], region

    def _rules(self) -> list[Script]:
        told = []
        for one in self.held:
            try:
                rules_script([one])
                told.append(one)
            except TypeError:
                self.left.append(f"{one[0].id}, of a common divisor or a bound")
        return [rules_script(told)] if told else []


@contextmanager
def loosely(trace: Trace) -> Iterator[None]:
    """Comparisons are answered and not recorded."""
    before, trace.loose = trace.loose, True
    try:
        yield
    finally:
        trace.loose = before


def _sample(trace: Trace) -> str:
    """The sizes of the run, which are of its region."""
    return " ".join(
        f"(= {size_name(name)} {value})" for name, value in trace.values.items() if name not in trace.floors
    )


def _front(template: Template, trace: Trace, region: SizeRegion, texts: str) -> str:
    """The sizes as constants: which are admitted, and the facts of the region. A size with a divisor is that times its
    quotient: that it has one is a fact of the region, which the sizes asked of have all.
    """
    floors = dict.fromkeys((*template.floors, *region.floors, *trace.floors.values()))
    names = {name: size_name(name) for name in (*(s.name for s in template.symbols), *(f.name for f in floors))}
    wholes = "".join(polynomial(poly) for poly in trace.whole.values())
    kept = {*template.floors, *region.floors, *(one for one in floors if names[one.name] in texts + wholes)}
    exact = {one for one in kept if trace.is_exact(one.name)}
    used = [*(one.name for one in template.symbols), *(one.name for one in floors if one in kept)]
    lines = [f"(declare-const {names[name]} Int)" for name in used if name not in trace.whole]
    lines += [f"(define-fun {names[name]} () Int {polynomial(poly)})" for name, poly in trace.whole.items()]
    for one in template.symbols:
        lines.append(f"(assert (<= {one.first} {names[one.name]}))")
        lines += [] if one.last is None else [f"(assert (<= {names[one.name]} {one.last}))"]
    known = {SizeFact("div", one.top, one.bottom) for one in exact}
    said = admitted(template, [one for one in floors if one in kept - exact], names)
    said += [fact_text(fact, names) for fact in region.facts if fact not in known]
    return "\n".join([*lines, *(f"(assert {text})" for text in said)]) + "\n"
