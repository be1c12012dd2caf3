"""Conditions as assertions that a launcher runs: Rust, C, MLIR, Python.

Knows: how each language writes products, remainders and assertions in 128 bits.
Does not know: how a condition was found.
Law: an assertion that passes implies the condition: it states the range of every size first, with an upper end so that
no product leaves 128 bits, then the relations that the plan assumes, then the clauses as they were proved. Where a size
has no upper end, the guard states one of its own and is so much the stricter.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from math import prod

from dmaverify.errors import InputError
from dmaverify.language.numbers import Poly
from dmaverify.prove.sizes.bounds import Ends, least_of
from dmaverify.prove.sizes.conditions import Condition
from dmaverify.prove.sizes.facts import FloorQuotient, SizeFact, Template
from dmaverify.report.snippet import visible
from dmaverify.values import dataclass

OWN_MOST = (1 << 31) - 1
_WIDE = 1 << 126
RUST_WORDS = (
    "abstract as become box const crate do dyn enum extern false final fn gen impl let loop macro match mod move mut "
    "override priv pub ref self static struct super trait true try type typeof unsafe unsized use virtual where"
)
"""Words of Rust, besides those of Python, that name nothing. No size is a word of C: it begins with a capital."""


def guards_text(conditions: Sequence[Condition], language: str) -> str:
    """The assertions of several plans. Raises InputError where two would be one function, or as `guard`."""
    named: dict[str, str] = {}
    for one in conditions:
        own = _function(one).lower() if language == "rust" else _function(one)
        if (other := named.setdefault(own, one.name)) != one.name:
            said = f"the guards of `{other}` and `{one.name}` would both be `{own}`"
            raise InputError(said, None, f"ask for one of them: {one.path}::{one.name}")
    return "\n".join(guard(one, language) for one in conditions).rstrip("\n")


def guard(condition: Condition, language: str) -> str:
    """The assertion. Raises InputError where there is no condition, or a product could leave 128 bits."""
    template = condition.template
    if not condition.any or template is None:
        raise InputError(f"no sizes are known at which `{condition.name}` holds", None, "so there is nothing to assert")
    _check_width(condition, template)
    made = _MAKERS[language]
    return made(condition, template)


def _ranges(template: Template) -> list[tuple[str, int, int, int]]:
    return [(one.name, one.first, OWN_MOST if one.last is None else one.last, one.multiple) for one in template.symbols]


def _check_width(condition: Condition, template: Template) -> None:
    box, tops = _box(condition, template), [(one.top, one.name) for one in _floors(condition, template)]
    facts = [
        (poly, fact.text)
        for fact in _every_fact(condition, template)
        for poly in (fact.poly, fact.by)
        if poly is not None
    ]
    for poly, text in (*tops, *facts):
        if _most(poly, box) >= _WIDE:
            hint = "give the sizes smaller upper ends (`max`)"
            raise InputError(f"`{text}` may leave 128 bits", None, hint)


def _box(condition: Condition, template: Template) -> Ends:
    """Between which ends sizes and quotients lie. Raises InputError for a quotient by what may be 0, or less."""
    box: Ends = {n: (low, high) for n, low, high, _ in _ranges(template)}
    for one in _floors(condition, template):
        bottom, most = least_of(one.bottom, box), _most(one.bottom, box)
        if bottom is None or bottom < 1:
            raise InputError(f"`{one.name}` has no guard: a quotient by a number that may be 0, or less")
        ends = []
        for sign, poly in ((1, one.top), (-1, -one.top)):
            end = least_of(poly, box)
            end = -_most(poly, box) if end is None else end
            ends.append(sign * end // (bottom if end < 0 else most))
        box[one.name] = (ends[0], ends[1])
    return box


def _divisors(condition: Condition, template: Template) -> list[SizeFact]:
    """That what divides is not 0, where the ranges alone do not say so: no remainder by 0 is ever computed."""
    box = _box(condition, template)
    found = dict.fromkeys(fact.by for fact in _every_fact(condition, template) if fact.by is not None)
    return [SizeFact("ne", by) for by in found if (least_of(by, box) or 0) < 1]


def _most(poly: Poly, box: Ends) -> int:
    """What the products of a polynomial come to at most, without their signs."""
    return sum(
        abs(c) * prod(max(abs(end or 0) for end in box[name]) for name in mono) for mono, c in poly.terms.items()
    )


def _every_fact(condition: Condition, template: Template) -> list[SizeFact]:
    return [*template.assume, *(fact for facts in condition.any for fact in facts)]


def _floors(condition: Condition, template: Template) -> list[FloorQuotient]:
    facts = _every_fact(condition, template)
    names = {n for f in facts for n in (*f.poly.symbols, *(f.by.symbols if f.by else ()))}
    known = {one.name: one for one in (*template.floors, *condition.floors)}
    out: list[FloorQuotient] = []
    todo = [known[n] for n in known if n in names]
    while todo:
        one = todo.pop()
        out = [one, *(o for o in out if o != one)]
        todo += [known[n] for n in (*one.top.symbols, *one.bottom.symbols) if n in known]
    return out


def _names(condition: Condition, template: Template, lower: bool) -> dict[str, str]:
    """Identifiers of symbols and quotients: each its own, also with a line behind it, and no word of a language."""
    out: dict[str, str] = {}
    taken = {*keyword.kwlist, *RUST_WORDS.split()}

    def named(name: str) -> str:
        while not taken.isdisjoint((name, f"{name}_")):
            name += "_0"
        taken.update((name, f"{name}_"))
        return name

    for one in template.symbols:
        name = one.name.replace("'", "_prime")
        out[one.name] = named(name.lower() if lower else name)
    for index, one_floor in enumerate(_floors(condition, template)):
        out[one_floor.name] = named(f"q{index}")
    return out


def _function(condition: Condition) -> str:
    return re.sub(r"\W", "_", f"check_sizes_of_{condition.name}")


def _about(condition: Condition) -> str:
    """One line that ends no comment and no string of any of the languages."""
    place = re.sub(r'[\\"]', "'", visible(f"{condition.path}::{condition.name}")).replace("*/", "* /")
    return f"{place}: the sizes for which the plan is proved ({condition.status})"


# ---------------------------------------------------------------- text languages


def _text(poly: Poly, names: Mapping[str, str]) -> str:
    parts = []
    for mono, c in sorted(poly.terms.items(), key=lambda item: (-len(item[0]), item[0])):
        factors = [names[name] for name in mono]
        if abs(c) != 1 or not factors:
            factors.insert(0, str(abs(c)))
        parts.append((c < 0, " * ".join(factors)))
    if not parts:
        return "0"
    out = f"-({parts[0][1]})" if parts[0][0] else parts[0][1]
    for negative, text in parts[1:]:
        out += f" {'-' if negative else '+'} {text}"
    return out


def _sides(fact: SizeFact) -> tuple[Poly, str, Poly]:
    left = Poly({m: c for m, c in fact.poly.terms.items() if c > 0})
    right = Poly({m: -c for m, c in fact.poly.terms.items() if c < 0})
    if left.constant is not None and fact.op == "ge":
        return right, "<=", left
    return left, {"ge": ">=", "eq": "==", "ne": "!="}[fact.op], right


def _clause(fact: SizeFact, names: Mapping[str, str]) -> str:
    if fact.by is not None:
        return f"({_text(fact.poly, names)}) % ({_text(fact.by, names)}) {'==' if fact.op == 'div' else '!='} 0"
    left, sign, right = _sides(fact)
    return f"{_text(left, names)} {sign} {_text(right, names)}"


def _conjunctions(condition: Condition, names: Mapping[str, str], both: str, either: str) -> str:
    groups = [both.join(_clause(f, names) for f in facts) for facts in condition.any]
    if any(not group for group in groups):
        return ""
    return either.join(f"({group})" if len(groups) > 1 else group for group in groups)


def _checks(
    condition: Condition, template: Template, names: Mapping[str, str], signs: tuple[str, str]
) -> Iterator[str]:
    """Ranges first, then relations, then the clauses."""
    for name, low, high, multiple in _ranges(template):
        text = f"{low} <= {names[name]}{signs[0]}{names[name]} <= {high}"
        yield text + (f"{signs[0]}{names[name]} % {multiple} == 0" if multiple > 1 else "")
    for fact in (*_divisors(condition, template), *template.assume):
        yield _clause(fact, names)
    groups = _conjunctions(condition, names, *signs)
    if groups:
        yield groups


@dataclass(frozen=True, slots=True)
class _Language:
    """How a language writes a guard: `{0}` is the text, or the name and what it is."""

    head: str  # with NAME, ARGUMENTS and ABOUT
    argument: str
    cast: str
    claim: str
    quotient: str  # {1} by {2}, which is above 0, rounded down
    signs: tuple[str, str]
    end: str = ""
    lower: bool = False
    number: Callable[[str], str] = str

    def guard(self, condition: Condition, template: Template) -> str:
        names = _names(condition, template, lower=self.lower)
        own = [names[one.name] for one in template.symbols]
        name = _function(condition).lower() if self.lower else _function(condition)
        said = (("NAME", name), ("ARGUMENTS", ", ".join(map(self.argument.format, own))), ("ABOUT", _about(condition)))
        head = self.head
        for mark, text in said:
            head = head.replace(mark, text)
        claims = [self.claim.format(self.number(text)) for text in _checks(condition, template, names, self.signs)]
        floors = [
            self.quotient.format(names[f.name], *(self.number(_text(poly, names)) for poly in (f.top, f.bottom)))
            for f in _floors(condition, template)
        ]
        casts = [self.cast.format(one) for one in own if self.cast]
        return "\n".join([head, *casts, *claims[: len(own)], *floors, *claims[len(own) :]]) + f"\n{self.end}"


def _long(text: str) -> str:
    """Numbers of C code as 128-bit ones; C writes none of more than 64 bits, so those are put together."""

    def wide(found: re.Match[str]) -> str:
        high, low = divmod(int(found[0]), 1 << 62)
        return f"(((__int128){high}LL << 62) + (__int128){low}LL)" if high else f"(__int128){low}LL"

    return re.sub(r"(?<![\w.])\d+", wide, text)


_PYTHON = _Language(
    'def NAME(ARGUMENTS):\n    """ABOUT."""', "{0}", "", "    assert {0}", "    {0} = ({1}) // ({2})", (" and ", " or ")
)
_RUST = _Language(
    "/// ABOUT.\npub fn NAME(ARGUMENTS) {", "{0}: u64", "    let {0} = i128::from({0});", "    assert!({0});",
    "    let {0} = ({1}).div_euclid({2});", (" && ", " || "), "}\n", lower=True,
)  # fmt: skip
_C = _Language(
    "#include <assert.h>\n#include <stdint.h>\n\n/* ABOUT. */\nstatic void NAME(ARGUMENTS) {", "uint64_t {0}_",
    "    const __int128 {0} = {0}_;", "    assert({0});",
    "    const __int128 {0} = ({1}) / ({2}) - (({1}) % ({2}) < 0);", (" && ", " || "), "}\n", number=_long,
)  # fmt: skip


# ---------------------------------------------------------------- MLIR


def _mlir(condition: Condition, template: Template) -> str:
    names = _names(condition, template, lower=False)
    arguments = ", ".join(f"%{names[one.name]}_: i64" for one in template.symbols)
    lines = [f"// {_about(condition)}.", f"func.func @{_function(condition)}({arguments}) {{"]
    writer = _MlirWriter(lines, names)
    lines += [f"  %{names[one.name]} = arith.extui %{names[one.name]}_ : i64 to i128" for one in template.symbols]
    for name, low, high, multiple in _ranges(template):
        size = Poly.symbol(name)
        facts = [SizeFact("ge", size - Poly.of(low)), SizeFact("ge", Poly.of(high) - size)]
        facts += [SizeFact("div", size, Poly.of(multiple))] if multiple > 1 else []
        writer.check([facts], f"{name} in {low}..{high}" + (f" in steps of {multiple}" if multiple > 1 else ""))
    for one_floor in _floors(condition, template):
        top, bottom = writer.poly(one_floor.top), writer.poly(one_floor.bottom)
        lines.append(f"  %{names[one_floor.name]} = arith.floordivsi {top}, {bottom} : i128")
    for fact in (*_divisors(condition, template), *template.assume):
        writer.check([[fact]], fact.text)
    if all(condition.any):
        writer.check([list(facts) for facts in condition.any], "the plan is proved for these sizes")
    return "\n".join([*lines, "  return", "}"]) + "\n"


class _MlirWriter:
    """Lines of MLIR with fresh names."""

    def __init__(self, lines: list[str], names: Mapping[str, str]) -> None:
        self.lines = lines
        self.names = names
        self.fresh = count()

    def _new(self, text: str) -> str:
        name = f"%v{next(self.fresh)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def poly(self, poly: Poly) -> str:
        total = ""
        for mono, c in sorted(poly.terms.items(), key=lambda item: (-len(item[0]), item[0])):
            part = self._new(f"arith.constant {c} : i128")
            for name in mono:
                part = self._new(f"arith.muli {part}, %{self.names[name]} : i128")
            total = part if not total else self._new(f"arith.addi {total}, {part} : i128")
        return total or self._new("arith.constant 0 : i128")

    def fact(self, fact: SizeFact) -> str:
        if fact.by is not None:
            rest = self._new(f"arith.remsi {self.poly(fact.poly)}, {self.poly(fact.by)} : i128")
            zero = self._new("arith.constant 0 : i128")
            return self._new(f"arith.cmpi {'eq' if fact.op == 'div' else 'ne'}, {rest}, {zero} : i128")
        left, sign, right = _sides(fact)
        word = {">=": "sge", "<=": "sle", "==": "eq", "!=": "ne"}[sign]
        return self._new(f"arith.cmpi {word}, {self.poly(left)}, {self.poly(right)} : i128")

    def check(self, groups: Sequence[Sequence[SizeFact]], said: str) -> None:
        either = [self._joined([self.fact(f) for f in facts], "arith.andi") for facts in groups]
        self.lines.append(f'  cf.assert {self._joined(either, "arith.ori")}, "{said}"')

    def _joined(self, parts: Sequence[str], op: str) -> str:
        out = parts[0]
        for part in parts[1:]:
            out = self._new(f"{op} {out}, {part} : i1")
        return out


_MAKERS: Mapping[str, Callable[[Condition, Template], str]] = {
    "python": _PYTHON.guard, "rust": _RUST.guard, "c": _C.guard, "mlir": _mlir
}  # fmt: skip
