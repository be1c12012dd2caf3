"""Rust kernels that write a tensor behind pairs of decisions, drawn in many forms, and whether each run writes it.

Knows: conditions, matches with patterns and guards, negations, shadowed names, helpers, constants, fields that change.
Does not know: how a kernel is judged.
Law: the same seed gives the same kernel; its truth is found by running it for every value of its parameters, in builds
with assertions and without, by nothing else.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product

Env = dict[str, int]
ALL = "x.view().to_hbm_view(&mut ctx.tdma, y.view_mut());"
HEAD = """use furiosa_opt_std::prelude::*;
axes![A = 256, B = 64];
type Chip = m![1];
type T = HbmTensor<i8, Chip, m![A, B]>;
const K: usize = 3;
struct S { n: usize }
"""
PARAMETERS = {"c": (0, 1), "b": (0, 1), "n": tuple(range(9)), "m": tuple(range(9)), "debug": (0, 1)}


class Panicked(Exception):
    """A run that an assertion ended."""


@dataclass(frozen=True)
class DrawnDecisions:
    """A kernel, and whether every run that comes to its end has written the tensor."""

    text: str
    right: bool


@dataclass(frozen=True)
class Term:
    """An expression as text, and its value in a run."""

    rust: str
    of: Callable[[Env], int]


@dataclass
class Step:
    """A statement as text, and what it does: whether it writes the tensor."""

    rust: str
    run: Callable[[Env], bool]


@dataclass
class Drawing:
    """A kernel that is being drawn, with the functions that it calls."""

    rng: random.Random
    before: list[str] = field(default_factory=list)

    def steps(self, deep: int = 0) -> list[Step]:
        """Two decisions over the same names, often opposite, with something between."""
        if self.rng.random() < 0.6:
            return self.pair()
        condition = self.condition()
        other = condition if self.rng.random() < 0.75 else self.condition()
        out = [self.decided(condition, deep), *self.between(), self.decided(negated(other), deep), *self.between()]
        if self.rng.random() < 0.25:
            out.insert(self.rng.randrange(len(out)), self.decided(self.condition(), deep))
        return out

    def pair(self) -> list[Step]:
        """Two decisions of one form, the second the opposite of the first, of what may be another value by then."""
        rng = self.rng
        kind, same = rng.choice(("truth", "arms", "constants", "field")), rng.random() < 0.5
        if kind == "field":
            return [self.of_field()]
        if kind == "constants":
            low, high = (3, 3) if same else (rng.choice((2, 3)), rng.choice((3, 4)))
            return [self.bounded("<", low), self.bounded(">=", high)]
        if kind == "truth":
            name = rng.choice(("c", "b"))
            changes = [] if same and rng.random() < 0.3 else [rng.choice(self.changes(name, "n"))]
            asked = self.term(name) if rng.random() < 0.5 else negated(self.term(name))
            second = self.term(name) if rng.random() < 0.5 else negated(self.term(name))
            steps = (Step(f"if {one.rust} {{ {ALL} }}", lambda e, one=one: bool(one.of(e))) for one in (asked, second))
            return [next(steps), *changes, next(steps)]
        first, other = self.pattern(), self.pattern()
        second = first if same else other
        changes = [] if rng.random() < 0.7 else [rng.choice(self.changes("c", "n"))]
        return [
            Step(f"match n {{ {first.rust} => {{ {ALL} }} _ => {{}} }}", lambda e: bool(first.of({"v": e["n"]}))),
            *changes,
            Step(f"match n {{ {second.rust} => {{}} _ => {{ {ALL} }} }}", lambda e: not second.of({"v": e["n"]})),
        ]

    def bounded(self, sign: str, at: int) -> Step:
        """A function that writes where a number is below, or not below, a constant of its own."""
        number = len(self.before)
        of_module = self.rng.random() < 0.5
        generic, name = ("", "K") if of_module else ("<const W: usize>", "W")
        body = f"if n {sign} {name} {{ {ALL} }}"
        made = f"fn h{number}{generic}(ctx: &mut Context, x: &T, y: &mut T, n: usize) {{ {body} }}"
        module = f"mod q{number} {{ use super::*; const K: usize = {at}; pub {made} }}"
        self.before.append(module if of_module else made)
        call = f"q{number}::h{number}" if of_module else f"h{number}::<{at}>"
        return Step(f"{call}(ctx, x, &mut y, n);", lambda e: (e["n"] < at) is (sign == "<"))

    def condition(self) -> Term:
        rng, at = self.rng, self.rng.choice(("0", "1", "2", "3", "K"))
        number = 3 if at == "K" else int(at)
        name = rng.choice(("n", "n", "m"))
        sign = rng.choice(("<", "<=", "==", "!=", ">", ">="))
        compared = {
            "<": lambda e: int(e[name] < number), "<=": lambda e: int(e[name] <= number),
            "==": lambda e: int(e[name] == number), "!=": lambda e: int(e[name] != number),
            ">": lambda e: int(e[name] > number), ">=": lambda e: int(e[name] >= number),
        }  # fmt: skip
        known = [self.term(one) for one in ("c", "c", "b")]
        made = [
            Term("(n % 2 == 1)", lambda e: int(e["n"] % 2 == 1)), Term("(n & 3 < 2)", lambda e: int((e["n"] & 3) < 2)),
            Term("(n < m)", lambda e: int(e["n"] < e["m"])),
            Term(f"(m / 2 == {number})", lambda e: int(e["m"] // 2 == number)),
        ]  # fmt: skip
        return rng.choice([*known, rng.choice(made), *[Term(f"{name} {sign} {at}", compared[sign])] * 3])

    def term(self, name: str) -> Term:
        return Term(name, lambda e: e[name])

    def decided(self, condition: Term, deep: int) -> Step:
        """A statement that writes the tensor where a condition holds, in one of many forms."""
        rng, body = self.rng, Step(ALL, lambda e: True)
        if deep == 0 and rng.random() < 0.15:
            inner = self.steps(1)
            body = Step("{ " + " ".join(one.rust for one in inner) + " }", lambda e: ran(inner, dict(e)))
        forms = ["if", "else", "match", "turned", "named", "helper", "both", "field"]
        how, own = rng.choice(forms), condition
        then = lambda e: bool(own.of(e)) and body.run(dict(e))  # noqa: E731
        if how == "else":
            return Step(f"if {negated(own).rust} {{ }} else {{ {body.rust} }}", then)
        if how in ("match", "turned") and own.rust.startswith(("n", "m")):
            return self.matched(own.rust[0], body)
        if how == "match":
            return Step(f"match {own.rust} {{ true => {{ {body.rust} }} false => {{}} }}", then)
        if how == "turned":
            return Step(f"match {own.rust} {{ false => {{}} _ => {{ {body.rust} }} }}", then)
        if how == "named":
            name = rng.choice(("d", "c", "b"))
            return Step(f"{{ let {name} = {own.rust}; if {name} {{ {body.rust} }} }}",
                        lambda e: bool(own.of(e)) and body.run({**e, name: own.of(e)}))  # fmt: skip
        if how == "helper" and body.rust == ALL:
            return self.helped(own)
        if how == "both" and own.rust in ("c", "b"):
            return Step(f"if {own.rust} == true {{ {body.rust} }}", then)
        if how == "field" and body.rust == ALL:
            return self.of_field()
        return Step(f"if {own.rust} {{ {body.rust} }}", then)

    def matched(self, name: str, body: Step) -> Step:
        """A match on a number, of which one arm writes."""
        rng = self.rng
        arms = [self.pattern() for _ in range(rng.randint(1, 2))] + [Term("_", lambda e: 1)]
        guard = self.condition() if rng.random() < 0.25 else None
        writes = rng.choice((0, len(arms) - 1, rng.randrange(len(arms))))
        text = []
        for number, arm in enumerate(arms):
            asked = f" if {guard.rust}" if guard is not None and number == 0 else ""
            text.append(f"{arm.rust}{asked} => {{ {body.rust if number == writes else ''} }}")

        def run(e: Env) -> bool:
            for number, arm in enumerate(arms):
                if arm.of({"v": e[name]}) and (guard is None or number > 0 or guard.of(e)):
                    return number == writes and body.run(dict(e))
            return False

        return Step(f"match {name} {{ {' '.join(text)} }}", run)

    def pattern(self) -> Term:
        a, b = self.rng.randrange(4), self.rng.randrange(4)
        return self.rng.choice([
            Term(f"{a}", lambda e: e["v"] == a), Term(f"{a} | {b}", lambda e: e["v"] in (a, b)),
            Term("K", lambda e: e["v"] == 3), Term(f"0..={a}", lambda e: e["v"] <= a),
            Term(f"{a}..", lambda e: e["v"] >= a), Term(f"{a}..{a + 2}", lambda e: a <= e["v"] < a + 2),
        ])  # fmt: skip

    def helped(self, own: Term) -> Step:
        """A function that writes where what it is given holds, or below a constant of its own."""
        rng, number = self.rng, len(self.before)
        head = f"fn h{number}%s(ctx: &mut Context, x: &T, y: &mut T, %s) {{ %s }}"
        if rng.random() < 0.6:
            return self.bounded(rng.choice(("<", ">=")), rng.choice((2, 3)))
        name, turned = rng.choice(("c", "b", "d")), rng.random() < 0.5
        self.before.append(head % ("", f"{name}: bool", f"if {'!' if turned else ''}{name} {{ {ALL} }}"))
        given = negated(own) if turned else own
        return Step(f"h{number}(ctx, x, &mut y, {given.rust});", lambda e: bool(own.of(e)))

    def of_field(self) -> Step:
        """A method that asks a field twice, and may write it between."""
        rng, number = self.rng, len(self.before)
        change, at = rng.choice((0, 0, 1, 2)), rng.choice((2, 3))
        me = "&self" if not change and rng.random() < 0.5 else "mut self"
        changed = f"self.n += {change};" if change else ""
        asks = f"if self.n < {at} {{ {ALL} }} {changed} if self.n >= {at} {{ {ALL} }}"
        self.before.append(f"impl S {{ fn s{number}({me}, ctx: &mut Context, x: &T, y: &mut T) {{ {asks} }} }}")
        low = rng.random() < 0.5  # for some values it is not called at all
        call = f"S {{ n: n }}.s{number}(ctx, x, &mut y);"
        return Step(f"if n < 3 {{ {call} }}" if low else call,
                    lambda e: (not low or e["n"] < 3) and (e["n"] < at or e["n"] + change >= at))  # fmt: skip

    def between(self) -> Iterator[Step]:
        """What may change what a name means."""
        rng = self.rng
        if rng.random() < 0.6:
            return
        yield rng.choice(self.changes(rng.choice(("c", "b")), rng.choice(("n", "m"))))

    def changes(self, name: str, whole: str) -> list[Step]:
        rng = self.rng
        shadowed = {"c": "b", "b": "c"}[name]
        asserted = self.condition()
        kind, at = rng.choice(("assert", "debug_assert")), rng.randrange(3)
        return [
            self.let(name, f"!{name}", lambda e: 1 - e[name]), self.let(name, shadowed, lambda e: e[shadowed]),
            self.let(name, f"(!{name}, 0).0", lambda e: 1 - e[name]),
            self.let(name, f"{{ {name} }}", lambda e: e[name]),
            self.let(whole, f"{whole} / 2", lambda e: e[whole] // 2), self.let(whole, f"({whole})", lambda e: e[whole]),
            self.let(whole, "{ let n = m; n }", lambda e: e["m"]), self.let(name, f"!(!{name})", lambda e: e[name]),
            Step(f"{{ let {name} = !{name}; }}", lambda e: False),
            Step(f"let q = 7 / ({whole} % 3);", lambda e: stopped(e[whole] % 3 == 0)),
            Step(f"let q = [7, 5, 3][{whole}];", lambda e: stopped(e[whole] > 2)),
            Step(f"let q = vec![7; {whole} % 4][{at}];", lambda e: stopped(e[whole] % 4 <= at)),
            Step(f"let s = &[7, 5, 3][..{whole} % 4]; let q = s[{at}];", lambda e: stopped(e[whole] % 4 <= at)),
            Step(f"let s = S {{ n: {whole} % 3 }}; let q = 7 / s.n;", lambda e: stopped(e[whole] % 3 == 0)),
            Step(f"let s = ({whole}, {whole} % 3); let q = 7 / s.1;", lambda e: stopped(e[whole] % 3 == 0)),
            Step(f"{kind}!({asserted.rust});",
                 lambda e: stopped(not asserted.of(e) and (kind == "assert" or e["debug"]))),
        ]  # fmt: skip

    def let(self, name: str, text: str, of: Callable[[Env], int]) -> Step:
        def run(e: Env) -> bool:
            e[name] = of(e)
            return False

        return Step(f"let {name} = {text};", run)


def negated(one: Term) -> Term:
    simple = one.rust.isidentifier()
    return Term(f"!{one.rust}" if simple else f"!({one.rust})", lambda e: 1 - one.of(e))


def stopped(stops: object) -> bool:
    if stops:
        raise Panicked
    return False


def ran(steps: list[Step], env: Env) -> bool:
    """Whether a run of these statements writes the tensor."""
    wrote = [one.run(env) for one in steps]
    return any(wrote)


def in_files(seed: int) -> dict[str, str]:
    """The same kernel with its types and the functions that it calls in files of their own, by their paths."""
    drawing = Drawing(random.Random(seed))
    kernel = _kernel(drawing.steps())
    use, *types = HEAD.splitlines()
    shared = "\n".join(f"pub {one}" if one.startswith(("type", "const", "struct")) else one for one in types)
    public = re.compile(r"^(?=fn|mod)|(?<=\{ )(?=fn s\d)", re.MULTILINE)
    aid = public.sub("pub ", "\n".join(drawing.before))
    return {
        "Cargo.toml": '[package]\nname = "drawn"\n',
        "src/lib.rs": "pub mod shared;\npub mod aid;\npub mod kernel;\n",
        "src/shared.rs": f"{use}\n{shared}\n".replace("{ n:", "{ pub n:"),
        "src/aid.rs": f"{use}\nuse crate::shared::*;\n{aid}\n",
        "src/kernel.rs": f"{use}\nuse crate::{{aid::*, shared::*}};\n{kernel}",
    }


def _kernel(steps: list[Step]) -> str:
    lines = "\n    ".join(one.rust for one in steps)
    head = "#[device(chip = 1)]\npub fn f(ctx: &mut Context, x: &T, c: bool, b: bool, n: usize, m: usize) -> T {\n"
    return f"{head}    let mut y = T::new();\n    {lines}\n    y\n}}\n"


def drawn_decisions(seed: int) -> DrawnDecisions:
    """A kernel that writes its tensor behind drawn decisions."""
    drawing = Drawing(random.Random(seed))
    steps = drawing.steps()
    text = HEAD + "\n".join(drawing.before) + "\n" + _kernel(steps)
    right = True
    for values in product(*PARAMETERS.values()):
        try:
            right = ran(steps, dict(zip(PARAMETERS, values, strict=True))) and right
        except Panicked:
            continue
    return DrawnDecisions(text, right)
