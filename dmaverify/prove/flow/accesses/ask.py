"""Conditions over symbols, decided: by ranges where they suffice, else by the solver.

Knows: how a claim is posed, what is assumed of values nobody bounded.
Does not know: machines, kernels, how an answer is told.
Law: `proved` means that no values of the symbols within all that is known of them violate the claim; a refutation
carries values; what the solver leaves open is `unknown`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import gcd

from dmaverify.language.affine import TRUE, Cond, Lin, World, both, compare
from dmaverify.prove.flow.accesses.ranges import NEVER, settled
from dmaverify.prove.smt import Query, Session
from dmaverify.values import dataclass, field

BEYOND = (1, 0, 2, 3, 7, 32)
"""How far above their least values symbols are tried."""


@dataclass(frozen=True, slots=True)
class Reply:
    """`proved`, `refuted` with values of symbols, or `unknown`; `by` says what decided it."""

    status: str
    values: Mapping[str, int] = field(default_factory=dict)
    by: str = "ranges"
    assumed: tuple[Cond, ...] = ()


class Asker:
    """Answers for one kernel. `needs` are conditions that had to be assumed of values without a stated range."""

    def __init__(self, world: World, rlimit: int) -> None:
        self.world = world
        self.session = Session(min(rlimit, 2_000_000))
        self.needs: list[Cond] = list(world.given)
        self.held_back: dict[str, None] = {}  # numbers that loops carry, of which something would have been supposed
        self._asked: dict[Query, Reply] = {}
        self._known: dict[tuple[Cond, tuple[Cond, ...], int], Reply] = {}
        self._possible: dict[tuple[tuple[Cond, ...], int, bool], Reply] = {}
        self._outside: dict[tuple[Cond, frozenset[str]], Cond] = {}

    def needed(self, names: Iterable[str]) -> list[Cond]:
        """The needs, for a question about these symbols.

        A need of each iteration of a loop says nothing of a loop that does not run: for a question that is not about
        an iteration it is what the last one needs, if there is one.
        """
        stated, assumed = self.world.given, self.needs[len(self.world.given) :]
        scopes = [frozenset(n for n in self.world.roots(need) if self._within(n)) for need in assumed]
        if not stated and not any(scopes):
            return self.needs
        known = {root for name in names for root in self.world.roots(Lin(0, ((name, 1),)))}
        about = [self._about(need, scope - known) for need, scope in zip(assumed, scopes, strict=True)]
        return [*self._related(known), *about]

    def _related(self, known: set[str]) -> list[Cond]:
        """What is stated of the symbols of a question and of what is assumed: the rest can hold beside any of it."""
        todo = list(self.world.given)
        reached = known.union(*map(self.world.roots, self.needs[len(todo) :]))
        out: list[Cond] = []
        while near := [one for one in todo if self.world.roots(one) & reached]:
            out += near
            todo = [one for one in todo if one not in near]
            reached = reached.union(*map(self.world.roots, near))
        return out

    def met_together(self) -> str:
        """Whether some values meet all that is needed and supposed: `refuted` means yes, `proved` that none do."""
        around = [one for one in self.world.supposed if not any(map(self._within, self.world.roots(one)))]
        names = {n for need in self.needs for n in self.world.roots(need) if not self._within(n)}
        return self.possible(around, names=names).status if names or around else "refuted"

    def _within(self, name: str) -> bool:
        """Whether a symbol is there in an iteration only."""
        return bool(self.world.symbols[name].side or self.world.symbols[name].varies)

    def _about(self, need: Cond, gone: frozenset[str]) -> Cond:
        """A need without the symbols of iterations that a question is not about: it holds at the last ones."""
        if not gone:
            return need
        key = (need, gone)
        if key not in self._outside:
            out, left = need, sorted(gone)
            while left and out.known is None:
                name = next((n for n in left if not any(self._bounds(m, n) for m in left)), "")
                last = self._last(name) if name else None
                if last is None:
                    out = TRUE
                    break
                left.remove(name)
                out = both([compare("lt", last), self.world.put_cond(out, {name: last})], "or")
            self._outside[key] = out
        return self._outside[key]

    def _bounds(self, inner: str, name: str) -> bool:
        return inner != name and name in self.world.roots(Lin(0, ((inner, 1),)))

    def _last(self, name: str) -> Lin | None:
        """The greatest value of a counter."""
        symbol, own = self.world.symbols[name], Lin(0, ((name, 1),))
        if symbol.varies or symbol.low != 0 or len(symbol.side) != 1:
            return None
        (side,) = symbol.side
        step = dict(side.left.terms).get(name, 0)
        if side.op not in ("lt", "le") or step < 1:
            return None
        room = own * step - side.left - (1 if side.op == "lt" else 0)
        return None if name in self.world.roots(room) else self.world.divide(room, step)

    def holds(self, claim: Cond, when: Sequence[Cond] = ()) -> Reply:
        """Whether the claim holds wherever `when` does."""
        decided = self.world.decide(claim)
        if decided:
            return Reply("proved")
        if decided is False and not when and not self.needs:
            return Reply("refuted", {})
        key = (claim, tuple(when), len(self.needs))
        found = self._known.get(key)
        if found is None:
            found = self._solved(claim, when)
            self._known[key] = found
        return found

    def surely(self, claim: Cond, when: Sequence[Cond] = ()) -> bool:
        """Whether the claim is proved wherever `when` holds; where it is not, no values are looked for."""
        return bool(self.world.decide(claim)) or self.possible([*when, claim.negated()]).status == "proved"

    def possible(
        self,
        conditions: Sequence[Cond],
        extra: Iterable[tuple[str, int | None, int | None]] = (),
        texts: Sequence[str] = (),
        names: Iterable[str] = (),
        *,
        small: bool = False,
    ) -> Reply:
        """Whether all can hold at once: `refuted` means yes, with values (small ones if asked for), `proved` never."""
        key = (tuple(conditions), len(self.needs), small)
        plain = not (extra or texts or names)
        if plain and key in self._possible:
            return self._possible[key]
        reply = self._decided(conditions, extra, texts, names, small=small)
        if plain:
            self._possible[key] = reply
        return reply

    def _decided(
        self,
        conditions: Sequence[Cond],
        extra: Iterable[tuple[str, int | None, int | None]],
        texts: Sequence[str],
        names: Iterable[str],
        *,
        small: bool,
    ) -> Reply:
        if any(self.world.decide(c) is False for c in conditions):
            return Reply("proved")
        names = {*names, *(n for c in conditions for n in c.symbols())}
        needs = self.needed(names)
        found = settled(self.world, [*conditions, *needs], least=small or bool(texts))
        if found == NEVER:
            return Reply("proved")
        if isinstance(found, Mapping) and not texts:
            return Reply("refuted", found)
        names |= {n for c in needs for n in c.symbols()}
        variables, facts = self.world.context(names)
        constraints = [*facts, *(self.world.cond_text(c) for c in (*conditions, *needs)), *texts]
        query = Query(tuple(variables) + tuple(extra), tuple(constraints))
        reply = self._asked.get(query)
        if reply is None:
            answer = self.session.ask(query, "claim")
            reply = Reply({"unsat": "proved", "sat": "refuted"}.get(answer.status, "unknown"), answer.model, "z3")
            if reply.status == "unknown":
                reply = self._tried(query) or reply
            self._asked[query] = reply
        if small and reply.status == "refuted":
            return Reply("refuted", self._small(query, reply.values, variables), "z3")
        return reply

    def _tried(self, query: Query) -> Reply | None:
        """Values with which all holds, where the solver found none by itself: it is asked at some of them."""
        known = [n for n, _, _ in query.variables if n in self.world.symbols]
        free = [n for n in known if not self.world.symbols[n].definition]
        for number in range(len(BEYOND)):
            chosen = {
                n: Lin((self.world.symbols[n].low or 0) + BEYOND[(number + i) % len(BEYOND)])
                for i, n in enumerate(free)
            }
            values = [(n, self.world.put(Lin(0, ((n, 1),)), chosen)) for n in known]
            pins = [f"(= {n} {self.world.text(v)})" for n, v in values if v.is_const]
            answer = self.session.ask(Query(query.variables, (*query.constraints, *pins)), "claim")
            if answer.status == "sat":
                return Reply("refuted", answer.model, "z3")
        return None

    def plainly_never(self, conditions: Sequence[Cond]) -> bool:
        """Whether ranges alone show that these cannot hold at once."""
        needs = self.needed(n for c in conditions for n in c.symbols())
        return settled(self.world, [*conditions, *needs]) == NEVER

    def _small(
        self, query: Query, model: Mapping[str, int], variables: Sequence[tuple[str, int | None, int | None]]
    ) -> Mapping[str, int]:
        """A small counterexample: the free symbols as small as they get."""
        from dmaverify.prove.smt import Answer

        order = [n for n, low, _ in variables if not n.startswith("$") and low is not None][:4]
        return self.session.smallest(query, order, Answer("sat", model)).model

    def _solved(self, claim: Cond, when: Sequence[Cond]) -> Reply:
        """As `possible` says of the opposite; values at which the text has no meaning are no counterexample."""
        fails = [*when, claim.negated()]
        reply = self.possible(fails, small=True)
        supposed = self.supposed_of({n for one in fails for n in self.world.roots(one)})
        return self.possible([*fails, *supposed], small=True) if reply.status == "refuted" and supposed else reply

    def supposed_of(self, roots: Collection[str]) -> list[Cond]:
        """What the text has to meet to have a meaning, of these symbols and of others that are not one iteration's."""
        known = [(one, self.world.roots(one)) for one in self.world.supposed]
        return [one for one, of in known if of & {*roots} and not any(map(self._within, of - {*roots}))]

    def required(self, claim: Cond, when: Sequence[Cond] = ()) -> Reply:
        """As `holds`; but where the claim depends on values whose range nobody stated and can be met, it is assumed.

        The reply is then `assumed`, and everything later may rely on it.
        """
        assumed: list[Cond] = []
        for part in claim.parts if claim.op == "and" else (claim,):
            reply = self.holds(part, when)
            if reply.status == "proved":
                continue
            if not self.supposable(part):
                return Reply("unknown")
            if not self.is_open(part) or self.possible([*when, part]).status != "refuted":
                return reply
            fails = self._surely_fails(part, when)
            if fails is not None:
                return fails
            assumed.append(part)
            self.needs.append(both([*(w.negated() for w in when), part], "or") if when else part)
        return Reply("assumed", {}, "", tuple(assumed)) if assumed else Reply("proved")

    def _surely_fails(self, claim: Cond, when: Sequence[Cond]) -> Reply | None:
        """A counterexample that no assumption can rule out: at values that occur in any case, on the first core."""
        roots = [self.world.symbols[n] for n in sorted(self.world.roots(claim))]
        if any(s.surely is None for s in roots if not s.stated):
            return None
        first = [compare("eq", Lin(-(s.surely or 0), ((s.name, 1),))) for s in roots if not s.stated]
        reply = self.possible([*when, *first, claim.negated()], small=True)
        return reply if reply.status == "refuted" else None

    def supposable(self, claim: Cond) -> bool:
        """Whether it may hold of the values that loops carry."""
        roots = [self.world.symbols[n] for n in self.world.roots(claim)]
        begins = {one.name: one.first for one in roots if one.first is not None}
        fails = bool(begins) and self.world.decide(self.world.put_cond(claim, begins)) is False
        held = [one for one in roots if one.lost or (fails and one.first is not None)]
        self.held_back |= {one.shown: None for one in held if one.shown[:1] == "%"}
        return not held

    def is_open(self, claim: Cond) -> bool:
        """Whether a claim depends on a value whose range nobody stated."""
        return any(not self.world.symbols[n].stated for n in self.world.roots(claim))

    def at(self, term: Lin, values: Mapping[str, int]) -> int | None:
        """The value of a term under values of symbols, where they give one."""
        put = self.world.put(term, {n: Lin(v) for n, v in values.items()})
        if put.is_const:
            return put.const
        low, high = self.world.interval(put)
        return low if low is not None else high


def shown(when: Cond, world: World) -> str:
    """A condition as people write it."""
    if when.op in ("and", "or"):
        return f" {when.op} ".join(f"({shown(p, world)})" if p.parts else shown(p, world) for p in when.parts)
    if when.op == "not":
        return f"not ({shown(when.parts[0], world)})"
    if when.op == "eq" and len(when.left.terms) == 1 and not when.left.const:
        what, *args = world.symbols[when.left.terms[0][0]].definition or ("",)
        if what == "mod" and isinstance(args[0], Lin):
            text = term_text(args[0], world)
            return f"{args[1]} | {text}"
    when = _reduced(when)
    positive = Lin(0, tuple((n, f) for n, f in when.left.terms if f > 0))
    negative = Lin(0, tuple((n, -f) for n, f in when.left.terms if f < 0))
    constant = when.left.const
    positive, negative = (positive + constant, negative) if constant > 0 else (positive, negative - constant)
    sign = {"eq": "=", "ne": "!=", "lt": "<", "le": "<="}.get(when.op, when.op)
    return f"{term_text(positive, world)} {sign} {term_text(negative, world)}"


def _reduced(when: Cond) -> Cond:
    """The same condition with its common factor taken out."""
    common = gcd(*(f for _, f in when.left.terms)) if when.left.terms else 1
    if common < 2 or when.op not in ("le", "lt") or any(n.startswith("$") for n, _ in when.left.terms):
        return when
    bound = -when.left.const // common if when.op == "le" else -(when.left.const // common)
    return Cond(when.op, Lin(-bound, tuple((n, f // common) for n, f in when.left.terms)))


def term_text(term: Lin, world: World) -> str:
    """A term with the names of the text; derived symbols as what they mean."""
    parts = []
    for name, factor in term.terms:
        symbol = world.symbols[name]
        what, *args = symbol.definition or ("",)
        if what:
            inner = [
                term_text(a, world) if isinstance(a, Lin) else shown(a, world) if isinstance(a, Cond) else str(a)
                for a in args
            ]
            text = f"{what}({', '.join(inner)})"
            if what == "mul":
                text = " * ".join(f"({one})" if " " in one and not one.startswith("(") else one for one in inner)
        else:
            text = symbol.shown or name
        parts.append(text if factor == 1 else f"{factor} * {text}")
    if term.const or not parts:
        parts.append(f"{term.const:,}")
    return " + ".join(parts).replace("+ -", "- ")
