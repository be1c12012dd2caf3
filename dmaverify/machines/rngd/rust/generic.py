"""Generic kernels that nobody calls: judged for every size of their axes and constants, or with the sizes they need.

Knows: at which sizes a function is read first, what its calls are judged by at any others.
Does not know: how sizes are searched (`prove.sizes`), how a call with known sizes is judged (`verdicts`).
Law: a proof rests on a condition that names sizes, and each of them was proved: by a run whose region it lies in, in
which the function itself was read with symbols, or by the ordinary verdict at that size. Refuted only where every size
is, and the ordinary verdict has the witness; never for a type, which may be an axis that the kernel has already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dmaverify.errors import Disagreement
from dmaverify.language.numbers import Symbolic
from dmaverify.machines.rngd.rust.kernel import KernelFile
from dmaverify.machines.rngd.rust.moves import GATHERS, SCATTERS, KernelMove, Site, Supposed
from dmaverify.machines.rngd.rust.plans import KernelPlan, plan_of, transfer_of
from dmaverify.plan.plan import PlanTransfer
from dmaverify.program.access import PlanProblem
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.conditions import around, conditions
from dmaverify.prove.sizes.facts import SizedEntry, SizeSymbol, Template, with_floors
from dmaverify.prove.sizes.trace import Stuck
from dmaverify.values import dataclass, replace
from dmaverify.verdict import Finding, Severity, Status, Verdict

LADDER = (64, 128, 256, 512, 1024, 32, 16, 8, 4, 2, 1)
"""Sizes at which a function is read first: places of a device, lines, words."""
MOST_NAMES = 3  # axes and constants around which other sizes are searched: more cost twice as much each
Judge = Callable[[KernelPlan], Verdict]
Beside = Callable[[Site, PlanTransfer, KernelMove], tuple[Iterable[Finding], Iterable[str]]]
Tried = list[tuple[dict[str, int], Verdict]]


@dataclass(frozen=True)
class GenericCall:
    """A call in a generic function that nobody calls. `judge` gives the verdict on a plan of that call at known sizes,
    `beside` what is wrong with it besides what rules say of a transfer, and what could not be judged.
    """

    plan: KernelPlan
    site: Site
    supposed: Supposed
    options: Options
    judge: Judge
    beside: Beside

    @property
    def key(self) -> str:
        return next(iter(self.plan.targets))

    @property
    def _alone(self) -> bool:
        """Whether sizes that were tried stand for themselves only: no others are searched."""
        return len(self.supposed.names) > MOST_NAMES or self.site.method in (*GATHERS, *SCATTERS)

    def verdict(self) -> Verdict | None:
        """None where its sizes do not tell enough."""
        tried: Tried = []
        for values in _ladder(self.supposed.names):
            made = self.supposed.read(values)
            if made is not None and made.moves and not made.reasons:
                own = plan_of(KernelFile(self.site.span.source, (made,), self.plan.library), self.key)
                tried.append((values, self.judge(own)))
        proved = [(values, verdict) for values, verdict in tried if verdict.status is Status.PROVED]
        return self._proved(proved, tried) if proved else self._never(tried)

    def _never(self, tried: Tried) -> Verdict | None:
        base = next((verdict for _, verdict in tried if verdict.status is Status.REFUTED), None)
        if base is None or "type" in self.supposed.kinds or self._alone:
            return None
        found = conditions(self.template, self.options)
        claim = f"for no {' and '.join(self.supposed.names)}"
        return replace(base, claim=claim) if found.status == "exact" and not found.any else None

    def _proved(self, proved: Tried, tried: Tried) -> Verdict:
        base, every = proved[0][1], " and ".join(self.supposed.names)
        if self._alone or any(verdict.conditions for _, verdict in proved):
            texts = [" and ".join(f"{name} == {size}" for name, size in values.items()) for values, _ in proved]
        else:
            texts = self._around([values for values, _ in proved], tried)
        told = [note for note in base.assumptions if not note.startswith("for ")]
        claim = f"all bytes, as a move, for every {every}"
        if not all(texts):
            return replace(base, assumptions=tuple(told), claim=claim)
        said = f"`{self.site.function}` is generic, nobody calls it: other values of {every} may do as well"
        return replace(
            base, conditions=(" or ".join(texts), *base.conditions), assumptions=(said, *told),
            claim=f"{claim} that the condition admits",
        )  # fmt: skip

    def _around(self, known: list[dict[str, int]], tried: Tried) -> list[str]:
        """Conjunctions that admit the sizes that are known, and whatever runs as they do. Raises Disagreement."""
        found = around(self.template, self.options, known)
        for values, verdict in tried:
            whole = with_floors(values, found.floors)
            if verdict.status is Status.REFUTED and any(all(f.holds(whole) for f in facts) for facts in found.any):
                raise Disagreement(f"{self.site.function}: a condition holds at {values}, which is refuted")
        return [" and ".join(fact.text for fact in facts) for facts in found.any]

    @property
    def template(self) -> Template:
        symbols = tuple(SizeSymbol(name, 1, None) for name in self.supposed.names)
        return Template(
            "transfer", self.site.function, self.plan.path, self.site.span.line, self.key, None, symbols, (), (),
            self._entry, self.plan.targets[self.key],
        )  # fmt: skip

    def _entry(self, values: Mapping[str, Any]) -> SizedEntry:
        """The call at sizes. With symbols every decision is recorded, and what is wrong is so without them too. Raises
        Stuck where it is not known what the call moves.
        """
        trace: Any = next((getattr(one, "trace", None) for one in values.values() if isinstance(one, Symbolic)), None)
        if trace is None:
            return self._read(values)
        generic, trace.generic = trace.generic, False  # nobody judges again what reading comes to
        try:
            found = self._read(values)
        finally:
            trace.generic = generic
        if bool(found.problems) != bool(self._read({name: trace.values[name] for name in values}).problems):
            raise Stuck("symbols do not go through what a kernel must keep")
        return found

    def _read(self, values: Mapping[str, Any]) -> SizedEntry:
        """The call at sizes, with all that is wrong beside the machine's rules for a transfer. Raises Stuck."""
        made = self.supposed.read(values)
        if made is None or len(made.moves) != 1 or made.reasons or made.open:
            raise Stuck("the call is not read as one move at these sizes")
        move = made.moves[0]
        item = transfer_of(self.site.function, made, move, self.plan.targets[self.key], self.key, self.plan.library)
        if isinstance(item, str) or move.dead or move.source.window.open or move.dest.window.open:
            raise Stuck("the call is not read as one move at these sizes")
        found, opened = self.beside(made, item, move)
        if any(True for _ in opened):
            raise Stuck("a mapping is judged at single sizes only")
        wrong = [
            PlanProblem(one.message, one.span or self.site.span, one.hint, False)
            for one in found if one.severity is Severity.ERROR
        ]  # fmt: skip
        return SizedEntry(item.transfer, (*item.problems, *wrong), {})


def _ladder(names: tuple[str, ...]) -> Iterator[dict[str, int]]:
    yield from (dict.fromkeys(names, size) for size in LADDER)
    for shift in range(1, len(LADDER)) if len(names) > 1 else ():
        yield {name: LADDER[number * shift % len(LADDER)] for number, name in enumerate(names)}
