"""Proofs as scripts: constants with definitions, lemmas asked before they are used, claims; plain SMT-LIB 2.

Knows: named quotients and remainders, sums that they are proposed to be, the order of definitions and lemmas.
Does not know: mappings, commands, what a claim is about, how a solver is called.
Law: a script proves its claims only if every answer is the expected one. A definition adds a constant that exists and
is unique for all values of the others (Euclid), so it takes no case away; a lemma is asserted only behind the question
of its negation; nothing is left out because it looks true.

Proposals (what a quotient is in terms of counters) come from the arithmetic here, which needs no trust: a wrong one is
refused by the solver, a missing one leaves the solver to find out.

Relied on (proofs/): euclid-existence, euclid-uniqueness, loop-cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

from dmaverify.language.affine import Lin
from dmaverify.language.numbers import Symbolic
from dmaverify.prove.smt import linear, number
from dmaverify.values import dataclass, field

LOGIC = "QF_LIA"
THE_PLAN = "; the plan"  # between theorems and what is said of a plan
STEP = (
    "low step counter count",
    """(=> (and (core/in-range low step) (core/in-range counter count))
  (core/in-range (core/loop-step low counter step) (* count step)))""",
)
UNIQUE = (
    "position size major minor other rest",
    """(=> (and (core/splits position size major minor)
  (core/splits position size other rest)) (and (= major other) (= minor rest)))""",
)
CUT = (
    "position size major minor parts",
    """(=> (and (core/splits position size major minor)
  (core/in-range position (* parts size))) (core/in-range major parts))""",
)
"""Theorems on products of unknowns, parameters and body."""


@dataclass(frozen=True, slots=True)
class ScriptQuestion:
    """One question of a script: its name, the core obligation it is about (empty for a lemma), the expected answer."""

    name: str
    obligation: str = ""
    expected: str = "unsat"
    stronger: bool = False  # more is asked than has to hold


@dataclass(frozen=True, slots=True)
class Script:
    """A whole proof as text, with its questions in order of their `(check-sat)`."""

    name: str
    text: str
    steps: tuple[ScriptQuestion, ...]

    @property
    def obligations(self) -> frozenset[str]:
        return frozenset(step.obligation for step in self.steps if step.obligation)


def name_of(term: str) -> Lin:
    return Lin(0, ((term, 1),))


def text_of(term: Lin) -> str:
    return linear(term.const, ((k, n) for n, k in term.terms))


@dataclass(frozen=True, slots=True)
class SizesAsked:
    """Of sizes with symbols: what stands around proposals, which decide nothing, and sizes that exist, as text."""

    guessing: Callable[[], AbstractContextManager[object]] = nullcontext
    sample: str = ""


PLAIN = SizesAsked()


@dataclass
class ScriptWriter:
    """Writes one script. `counts` bounds the constants whose values are 0 .. count - 1; `values` are proved sums."""

    name: str
    definitions: str
    sizes: SizesAsked = PLAIN
    counts: dict[str, int] = field(default_factory=dict)
    values: dict[str, Lin] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    steps: list[ScriptQuestion] = field(default_factory=list)
    known: dict[tuple[Lin, int], tuple[Lin, Lin]] = field(default_factory=dict)
    fresh: int = 0
    theorems: dict[str, tuple[str, str]] = field(default_factory=dict)

    # ------------------------------------------------------------ constants

    def counter(self, name: str, count: int) -> Lin:
        """A constant of 0 .. count - 1."""
        self.lines += [f"(declare-const {name} Int)", f"(assert (core/in-range {name} {number(count)}))"]
        self.counts[name] = count
        return name_of(name)

    def integer(self, name: str, text: str, value: Lin) -> Lin:
        """A name for an integer term."""
        self.lines.append(f"(define-fun {name} () Int {text})")
        self.values[name] = value
        return name_of(name)

    def truth(self, name: str, text: str) -> str:
        """A name for a condition."""
        self.lines.append(f"(define-fun {name} () Bool {text})")
        return name

    def split(self, name: str, at: Lin, size: int) -> tuple[Lin, Lin]:
        """Quotient and remainder of a term, named; with the lemma that they are sums of counters, if they are."""
        known = self.known.get((at, size))
        if known is not None:
            return known
        high, low = f"{name}.q", f"{name}.r"
        self.known[at, size] = name_of(high), name_of(low)
        self._named_parts(high, low, text_of(at), size)
        with self.sizes.guessing():
            proposed = self._divided(self.value(at), size)
        self.counts[low] = size
        if proposed is not None:
            quotient, rest = proposed
            self.bounded(rest)
            if isinstance(size, Symbolic):
                terms = (text_of(self.value(at)), number(size), high, low, text_of(quotient), text_of(rest))
                self.instance("theorem/unique", UNIQUE, terms)
            told = f"(and (= {high} {text_of(quotient)}) (= {low} {text_of(rest)}))"
            self.lemma(f"{name} in digits", told)
            self.values[high], self.values[low] = quotient, rest
        return name_of(high), name_of(low)

    def _named_parts(self, high: str, low: str, of: str, size: int) -> None:
        """Quotient and remainder as constants; that there are any is asked where the size has symbols."""
        if isinstance(size, Symbolic):
            self.lemma(f"{high}: by more than 0", f"(< 0 {number(size)})")
        self.lines += [f"(declare-const {high} Int)", f"(declare-const {low} Int)"]
        self.lines.append(f"(assert (core/splits {of} {number(size)} {high} {low}))")

    # ------------------------------------------------------------ questions

    def lemma(self, name: str, text: str) -> None:
        """Asked, then used."""
        self._ask(ScriptQuestion(name), f"(not {text})")
        self.lines.append(f"(assert {text})")

    def claim(self, name: str, obligation: str, violation: str) -> None:
        """The negated claim, whose only good answer is `unsat`."""
        self._ask(ScriptQuestion(name, obligation), violation)

    def possible(self, name: str, obligation: str, text: str) -> None:
        """What can be, whose only good answer is `sat`."""
        at = self.sizes.sample
        self._ask(ScriptQuestion(name, obligation, "sat"), f"(and {at} {text})" if at else text)

    def instance(self, name: str, theorem: tuple[str, str], terms: Sequence[str]) -> None:
        """A theorem at terms. It stands at the head of the script, where it is asked of all numbers."""
        self.theorems[name] = theorem
        self.lines.append(f"(assert ({name} {' '.join(terms)}))")

    def bounded(self, term: Lin) -> None:
        """Loops of a sum with symbols, from the shortest step on: each stays below its count times its step."""
        term, low = self.value(term), Lin(0)
        with self.sizes.guessing():
            steps = [(n, k) for n, k in sorted(term.terms, key=lambda one: one[1]) if k > 0 and n in self.counts]
        for name, k in steps if any(isinstance(k, Symbolic) for _, k in steps) else ():
            self.instance("theorem/step", STEP, (text_of(low), number(k), name, number(self.counts[name])))
            low = low + name_of(name) * k

    def _ask(self, step: ScriptQuestion, text: str) -> None:
        said = f"; {len(self.steps)}: {step.obligation + ': ' if step.obligation else ''}{step.name}: {step.expected}"
        self.lines += [said, "(push 1)", f"(assert {text})", "(check-sat)", "(pop 1)"]
        self.steps.append(step)

    def script(self) -> Script:
        head = f"(set-info :smt-lib-version 2.6)\n(set-logic {LOGIC})\n"
        proved = ScriptWriter("", "")
        for name, (parameters, body) in self.theorems.items():
            names = parameters.split()
            proved.lines.append(f"(define-fun {name} ({' '.join(f'({p} Int)' for p in names)}) Bool {body})")
            proved.lines += ["(push 1)", *(f"(declare-const any.{p} Int)" for p in names)]
            proved._ask(ScriptQuestion(name), f"(not ({name} {' '.join(f'any.{p}' for p in names)}))")
            proved.lines.append("(pop 1)")
        lines = [*proved.lines, *([THE_PLAN] if self.theorems else []), *self.lines]
        return Script(self.name, head + self.definitions + "\n".join(lines) + "\n", (*proved.steps, *self.steps))

    # ------------------------------------------------------------ proposals

    def value(self, term: Lin) -> Lin:
        """The term over counters alone, by what was proved so far."""
        while any(name in self.values for name, _ in term.terms):
            out = Lin(term.const)
            for name, k in term.terms:
                out = out + self.values.get(name, name_of(name)) * k
            term = out
        return term

    def _divided(self, term: Lin, size: int) -> tuple[Lin, Lin] | None:
        """Quotient and remainder by `size` as sums of counters; counters are cut where that is needed. None: no such
        sums.
        """
        for _ in range(64):
            term = self.value(term)
            parts = [(n, k, *divmod(k, size)) for n, k in term.terms]
            constant = divmod(term.const, size)
            whole = Lin(constant[0], tuple((n, q) for n, _, q, r in parts if r == 0))
            rest = Lin(constant[1], tuple((n, k) for n, k, _, r in parts if r != 0))
            bounds = self.bounds(rest)
            if bounds is not None and bounds[0] >= 0 and bounds[1] < size:
                return whole, rest
            cut = next((self._cut_for(n, abs(k), size) for n, k in rest.terms if self._cut_for(n, abs(k), size)), None)
            if cut is None:
                return None
            self._cut(*cut)
        return None

    def _cut_for(self, name: str, step: int, size: int) -> tuple[str, int] | None:
        count = self.counts.get(name)
        parts, rest = divmod(size, step)
        fits = count is None or rest != 0 or step >= size or (count - 1) * step < size
        return None if fits else (name, parts)

    def _cut(self, name: str, at: int) -> None:
        """A counter as `at * high + low`."""
        self.fresh += 1
        high, low = f"{name}.{self.fresh}h", f"{name}.{self.fresh}l"
        self._named_parts(high, low, name, at)
        count = -divmod(-self.counts[name], at)[0]
        if isinstance(at, Symbolic):
            self.instance("theorem/cut", CUT, (name, number(at), high, low, number(count)))
        self.lemma(f"{name} cut at {at}", f"(core/in-range {high} {number(count)})")
        self.counts |= {high: count, low: at}
        self.values[name] = name_of(high) * at + name_of(low)

    def bounds(self, term: Lin) -> tuple[int, int] | None:
        """Least and greatest value of a sum of counters; None where one has no known count."""
        low = high = term.const
        for name, k in term.terms:
            if name not in self.counts:
                return None
            reach = k * (self.counts[name] - 1)
            low, high = low + min(0, reach), high + max(0, reach)
        return low, high


def conjunction(parts: Iterable[str]) -> str:
    """`and` of conditions as written: nothing folds."""
    found = list(parts)
    return found[0] if len(found) == 1 else f"(and {' '.join(found)})" if found else "true"


def disjunction(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"(or {' '.join(parts)})" if parts else "false"
