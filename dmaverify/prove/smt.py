"""The only door to z3: SMT-LIB 2 text in, an answer out.

Knows: solver contexts, resource limits, models, minimising a model, text of linear terms.
Does not know: what a question is about.
Law: every question is text that any SMT-LIB 2 solver can read again; `unknown` is an answer of its own, never a no.
Limits are z3 resource units, which do not depend on the clock; the random seed is fixed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from dmaverify.language.numbers import Poly, Symbolic, same
from dmaverify.prove import limits
from dmaverify.prove.limits import RLIMIT
from dmaverify.values import dataclass, field

ANSWERS = ("sat", "unsat", "unknown")
_PLANS_PER_CONTEXT = 500
_SMALLER = 2_000_000  # units that a smaller counterexample is worth
_ONE_SMALLER = 500_000  # units that one question of up to 64 variables on the way to it is worth
_SHARED_RLIMIT = 200_000  # of one question to the shared solver; what takes more is asked in a context of its own
_SHARED_PRICE = 4  # units charged per character: what the shared solver really spends depends on the plans before


@dataclass(frozen=True, slots=True)
class Answer:
    """`unsat`, `sat` with a model over the variables asked for, or `unknown` with the solver's reason."""

    status: str
    model: Mapping[str, int] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """Variables with their half-open ranges (None: no bound), constraints over them, as text."""

    variables: tuple[tuple[str, int | None, int | None], ...]
    constraints: tuple[str, ...] = ()

    def text(self) -> str:
        lines = [f"(declare-const {name} Int)" for name, _, _ in self.variables]
        for name, low, high in self.variables:
            if low is not None and high is not None:
                lines.append(f"(assert (<= {number(low)} {name} {number(high - 1)}))")
            elif low is not None:
                lines.append(f"(assert (<= {number(low)} {name}))")
            elif high is not None:
                lines.append(f"(assert (< {name} {number(high)}))")
        lines.extend(f"(assert {c})" for c in self.constraints)
        return "\n".join(lines)

    def with_constraints(self, *more: str) -> Query:
        return Query(self.variables, self.constraints + more)


# ---------------------------------------------------------------- text of terms


def number(value: int) -> str:
    """A number as text; of a symbolic one its polynomial over the sizes."""
    if isinstance(value, Symbolic):
        return value.term()
    return str(value) if value >= 0 else f"(- {-value})"


def size_name(name: str) -> str:
    """The constant that stands for a size."""
    return f"|size {name}|"


def polynomial(poly: Poly, named: Callable[[str], str] = size_name) -> str:
    """A polynomial over constants."""
    products = ((c, [named(name) for name in mono]) for mono, c in poly.terms.items() if mono)
    told = ((c, names[0] if len(names) == 1 else f"(* {' '.join(names)})") for c, names in products)
    return linear(poly.terms.get((), 0), told)


def linear(constant: int, terms: Iterable[tuple[int, str]]) -> str:
    """`constant + sum(coefficient * term)`, without zero parts."""
    parts = [] if same(constant, 0) else [number(constant)]
    for coefficient, term in terms:
        if term == "0":
            continue
        if same(coefficient, 1):
            parts.append(term)
        elif not same(coefficient, 0):
            parts.append(f"(* {number(coefficient)} {term})")
    if not parts:
        return "0"
    return parts[0] if len(parts) == 1 else f"(+ {' '.join(parts)})"


def any_of(parts: Sequence[str]) -> str:
    kept = [p for p in parts if p != "false"]
    if "true" in kept:
        return "true"
    if not kept:
        return "false"
    return kept[0] if len(kept) == 1 else f"(or {' '.join(kept)})"


def all_of(parts: Sequence[str]) -> str:
    kept = [p for p in parts if p != "true"]
    if "false" in kept:
        return "false"
    if not kept:
        return "true"
    return kept[0] if len(kept) == 1 else f"(and {' '.join(kept)})"


def negation(part: str) -> str:
    return {"true": "false", "false": "true"}.get(part, f"(not {part})")


# ---------------------------------------------------------------- the solver


class Session:
    """A solver for the questions of one plan. `asked` keeps their texts, for certificates.

    `rlimit` bounds one question; `total`, if set, all of them together, and the limits of the verdict
    (`verdict_limits`) those of all its sessions: what is asked beyond them is `unknown` at once, so that a plan of
    many hard questions ends. All count z3's resource units.

    Contexts cost more than most proofs, so plans share one for their first questions, whose good answer is `unsat`. Any
    other answer is asked again in a context of the plan's own, and from then on everything is, as in a session made
    `private`: no model and no `unknown` depends on the plans before.
    """

    _shared: Any = None  # a solver, and with it its context
    _used = 0

    def __init__(self, rlimit: int = RLIMIT) -> None:
        self.rlimit = rlimit
        self.total: int | None = None
        self.spent = 0
        self.private = False
        self.asked: list[tuple[str, str, str]] = []
        self._known: dict[str, Answer] = {}
        self._own: Any = None

    @classmethod
    def _shared_solver(cls) -> Any:
        import z3

        if cls._shared is None or cls._used >= _PLANS_PER_CONTEXT:
            cls._shared, cls._used = z3.SimpleSolver(ctx=z3.Context()), 0
        cls._used += 1
        return cls._shared

    def _own_context(self) -> Any:
        import z3

        if self._own is None:
            self._own = z3.Context()
        return self._own

    def ask(self, query: Query, name: str = "") -> Answer:
        """Is there an assignment? `unsat` is the proof that there is none."""
        text = query.text()
        with limits.solver_at_work():
            return self._asked(query, text, name)

    def _asked(self, query: Query, text: str, name: str) -> Answer:
        answer = self._known.get(text)
        if answer is None:
            if self.private or not self._refuted_by_the_shared(text):
                self.private = True
                answer = self._answer(self._own_context(), text, query)
            else:
                answer = Answer("unsat")
            if answer.status != "unknown":  # another time more may be left
                self._known[text] = answer
        self.asked.append((name, text, answer.status))
        return answer

    def _left(self) -> int:
        left = self.rlimit if self.total is None else min(self.rlimit, self.total - self.spent)
        whole = limits.resources_left()
        return left if whole is None else min(left, whole)

    def _spend(self, units: int) -> None:
        self.spent += units
        limits.spend(units)

    def _refuted_by_the_shared(self, text: str) -> bool:
        """Whether the shared solver says `unsat`, in a scope of its own; a scope costs less than a solver."""
        import z3

        if self._left() <= 0:
            return False
        limits.spend(_SHARED_PRICE * len(text))
        solver = self._shared_solver()
        try:
            context = solver.ctx.ref()
            solver.set(rlimit=min(max(1, self._left()), _SHARED_RLIMIT), random_seed=7)
            solver.push()
            asserted = z3.Z3_parse_smtlib2_string(context, text, 0, None, None, 0, None, None)
            z3.Z3_ast_vector_inc_ref(context, asserted)
            for index in range(z3.Z3_ast_vector_size(context, asserted)):
                z3.Z3_solver_assert(context, solver.solver, z3.Z3_ast_vector_get(context, asserted, index))
            z3.Z3_ast_vector_dec_ref(context, asserted)
            refuted = _checked(solver) == "unsat"
            solver.pop()
            return refuted
        except BaseException:
            Session._shared = None  # stopped on the way: its state is not known
            raise

    def _answer(self, context: Any, text: str, query: Query) -> Answer:
        import z3

        left = self._left()
        if left <= 0:
            return Answer("unknown", {}, "the solver resources of the verdict are used up (--rlimit)")
        solver = z3.SimpleSolver(ctx=context)
        solver.set(rlimit=left, random_seed=7)
        solver.from_string(text)
        before = _resources(solver)
        outcome = _checked(solver)
        self._spend(_resources(solver) - before)
        if outcome == "sat":
            return Answer("sat", _model(solver, query))
        return Answer(outcome, {}, solver.reason_unknown() if outcome == "unknown" else "")

    def _within(self, until: int, query: Query) -> Answer:
        """The answer, where it takes no more than what is left until so much is spent."""
        most = _ONE_SMALLER * 64**3 // max(64, len(query.variables)) ** 3  # a unit takes longer among more variables
        whole, self.rlimit = self.rlimit, max(1, min(self.rlimit, most, until - self.spent))
        try:
            return self.ask(query)
        finally:
            self.rlimit = whole

    def smallest(self, query: Query, order: Sequence[str], first: Answer | None = None) -> Answer:
        """The model that is smallest in the values of `order`, compared from left to right; bisection per variable.

        If the solver gives up on the way, or all of it takes more than _SMALLER units, the best model found so far is
        returned: still a true counterexample.
        """
        best = first if first is not None and first.status == "sat" else self.ask(query)
        if best.status != "sat":
            return best
        lows = {name: low for name, low, _ in query.variables}
        fixed: list[str] = []
        until = self.spent + _SMALLER
        for name in order:
            low = lows.get(name)
            while low is not None and best.model[name] > low:
                if self.spent > until:
                    return best
                last = self.asked[-1][1] if self.asked else ""
                until -= len(last) ** 2 >> 12  # a long question costs more than its units tell
                # The least value is by far the most likely one: ask for it first, then bisect.
                middle = low if low == lows[name] else (low + best.model[name] - 1) // 2
                trial = self._within(until, query.with_constraints(*fixed, f"(<= {name} {number(middle)})"))
                if trial.status == "sat":
                    best = trial
                elif trial.status == "unsat":
                    low = middle + 1
                else:
                    return best
            fixed.append(f"(= {name} {number(best.model[name])})")
        return best


_NAME = re.compile(r"[A-Za-z_$~!@%^&*?.][\w$~!@%^&*?.]*")


def apart(query: Query) -> list[Query]:
    """The parts of a question that share no variable, each with constraints and with names of its own: the question
    can be met if and only if each part can. Equal parts have equal names; variables that nothing constrains are left.
    """
    ranges = {name: (low, high) for name, low, high in query.variables}
    leader: dict[str, str] = {}

    def root(name: str) -> str:
        while leader.setdefault(name, name) != name:
            leader[name] = name = leader[leader[name]]
        return name

    used = [[n for n in dict.fromkeys(_NAME.findall(text)) if n in ranges] for text in query.constraints]
    for names in used:
        for name in names[1:]:
            leader[root(name)] = root(names[0])
    groups: dict[str, list[int]] = {}
    for index, names in enumerate(used):
        groups.setdefault(root(names[0]) if names else "", []).append(index)
    return [_renamed(ranges, [(query.constraints[i], used[i]) for i in group]) for group in groups.values()]


def _renamed(ranges: dict[str, tuple[int | None, int | None]], parts: list[tuple[str, list[str]]]) -> Query:
    """Constraints with the variables that they name, these called after the order in which they come."""
    new = {name: f"v!{i}" for i, name in enumerate(dict.fromkeys(n for _, names in parts for n in names))}
    texts = (_NAME.sub(lambda found: new.get(found[0], found[0]), text) for text, _ in parts)
    return Query(tuple((new[name], *ranges[name]) for name in new), tuple(texts))


def answers_to(scripts: Iterable[str], rlimit: int = RLIMIT) -> Iterator[list[str]]:
    """What z3 says to every `(check-sat)` of each script, in order; where z3 fails at one (a limit that runs out
    within a scope, a text that it cannot read), a last `error: ...` in place of that answer and all that follow.

    Each script has a context of its own: its answers depend on no script, and no plan, that was asked before.
    """
    import z3

    for script in scripts:
        limited = f"(set-option :rlimit {rlimit})\n{script}(set-option :rlimit 0)"  # it outlives its context
        context = z3.Context()
        try:
            said = z3.Z3_eval_smtlib2_string(context.ref(), limited)
        except z3.Z3Exception as error:
            said = _said_before(error)
            context = z3.Context()
            z3.Z3_eval_smtlib2_string(context.ref(), "(set-option :rlimit 0)")
        yield _answers(said)


def _said_before(error: Exception) -> str:
    """What z3 had said until an error, and the error, one a line."""
    told = error.args[0] if error.args else ""
    return told.decode(errors="replace") if isinstance(told, bytes) else str(told)


def _answers(said: str) -> list[str]:
    """The answers of z3 up to the first line that is none, and that as an error."""
    answers: list[str] = []
    for line in filter(None, map(str.strip, said.splitlines())):
        if line not in ANSWERS:
            return [*answers, f"error: {line}"]
        answers.append(line)
    return answers


def _checked(solver: Any) -> str:
    """The solver's answer. A limit that runs out meanwhile, or Ctrl-C, stops it. Raises KeyboardInterrupt."""
    with limits.stoppable(solver.ctx.interrupt):
        outcome = str(solver.check())
    if outcome == "unknown" and "keyboard" in solver.reason_unknown():
        raise KeyboardInterrupt
    return outcome


def _resources(solver: Any) -> int:
    """What the solver's context has used so far."""
    import z3

    statistics = solver.statistics()
    context, held = statistics.ctx.ref(), statistics.stats
    for index in reversed(range(z3.Z3_stats_size(context, held))):  # among the last: each name costs a call
        if z3.Z3_stats_get_key(context, held, index) == "rlimit count":
            return int(z3.Z3_stats_get_uint_value(context, held, index))
    return 0


def _model(solver: Any, query: Query) -> dict[str, int]:
    import z3

    model = solver.model()
    context = solver.ctx
    return {name: model.eval(z3.Int(name, context), model_completion=True).as_long() for name, _, _ in query.variables}


def solver_version() -> str:
    """As the library says; where nothing loaded it, as the folder of its metadata is called."""
    told = None if "z3" in sys.modules else _packaged()
    if told is None:
        import z3

        told = z3.get_version_string()
    return f"z3 {told}"


@lru_cache(maxsize=1)
def _packaged() -> str | None:
    names = (name for folder in filter(os.path.isdir, sys.path) for name in os.listdir(folder))
    found = (re.fullmatch(r"z3_solver-(\d+\.\d+\.\d+)[.\d]*\.dist-info", name) for name in names)
    return next((one[1] for one in found if one), None)
