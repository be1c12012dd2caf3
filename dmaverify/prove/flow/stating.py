"""Assumptions of a proof about values that nobody states, as notes to paste into the kernel.

Knows: conditions that had to be assumed, symbols by the names of the text.
Does not know: machines, how claims are proved.
Law: with the notes stated, every condition that they speak of holds; a condition in plainer words is the same one,
wherever all that was assumed holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dmaverify.language.affine import Cond, Lin, World, both, compare
from dmaverify.language.linear import names_in
from dmaverify.prove.flow.accesses.ask import Asker, shown, term_text

MOST_CHOICES = 8
_NAME = re.compile(r"%[A-Za-z_]\w*")


def notes_to_paste(needs: Sequence[Cond], world: World) -> Iterator[str]:
    """`// dmaverify: assume %n in 1..64`, for every symbol that conditions bound from above."""
    ranges: dict[str, list[int | None]] = {}
    related: dict[str, None] = {}
    for need in _parts(needs):
        need = _whole(need, world)
        derived = any(world.symbols[name].definition for name in need.symbols())
        if (derived or len(world.roots(need)) > 1) and _sayable(need, world):
            related[f"// dmaverify: assume {shown(need, world).replace(',', '').replace(' = ', ' == ')}"] = None
        if need.op not in ("le", "lt", "eq") or len(need.left.terms) != 1:
            continue
        ((name, factor),) = need.left.terms
        symbol = world.symbols[name]
        if symbol.definition or symbol.loaded or symbol.varies or not symbol.shown.startswith("%"):
            continue
        bounds = ranges.setdefault(symbol.shown, [symbol.low, symbol.high])
        edge = -need.left.const - (1 if need.op == "lt" else 0)
        if factor > 0:
            bounds[1] = edge // factor if bounds[1] is None else min(bounds[1], edge // factor)
        if factor < 0 or need.op == "eq":
            low = -(edge // -factor) if factor < 0 else -(-edge // factor)
            bounds[0] = low if bounds[0] is None else max(bounds[0], low)
    for name, (least, most) in sorted(ranges.items()):
        if most is not None and (least or 0) <= most:
            yield f"// dmaverify: assume {name} in {least or 0}..{most}"
    yield from related


def _whole(need: Cond, world: World) -> Cond:
    """A condition from which this one follows, with what a quotient is at most in its place."""
    left = need.left
    for name, factor in need.left.terms if need.op in ("le", "lt") else ():
        what, *args = world.symbols[name].definition or ("",)
        if what == "div" and factor > 0 and isinstance(args[0], Lin) and factor % int(str(args[1])) == 0:
            left = left - Lin(0, ((name, factor),)) + args[0] * (factor // int(str(args[1])))
    return need if left is need.left else compare(need.op, world.expanded(left))


def _sayable(need: Cond, world: World) -> bool:
    """Whether a condition is one of sums and products of arguments."""
    todo, seen = list(need.symbols()), set()
    top = world.symbols[todo[0]].definition if len(todo) == 1 and need.op == "eq" and not need.left.const else ()
    if top[:1] == ("mod",):
        todo = [n for part in top[1:] for n in names_in(part)]
    while todo and need.op in ("le", "lt", "eq"):
        symbol = world.symbols[todo.pop()]
        seen.add(symbol.name)
        if symbol.loaded or symbol.varies or symbol.side or (symbol.definition[:1] not in ((), ("mul",))):
            return False
        if not symbol.definition and not _NAME.fullmatch(symbol.shown):
            return False
        todo += [n for part in symbol.definition[1:] for n in names_in(part)]
    return bool(seen)


def shown_sum(term: Lin, world: World) -> str:
    """A sum of products of arguments as a note says it; nothing where it is none."""
    return term_text(term, world).replace(",", "") if _sayable(compare("le", term), world) else ""


def grounds(asker: Asker) -> Asker:
    """One that relies on what is stated, and on conditions of single values, which are told as they are."""
    out = Asker(asker.world, asker.session.rlimit)
    simple = [n for n in _parts(asker.needs) if n in asker.needs and n.op in ("le", "lt", "eq")]
    out.needs += [n for n in simple if not any(asker.world.symbols[name].definition for name in n.symbols())]
    return out


def plainer(need: Cond, ground: Asker) -> Cond:
    """The same condition, on its grounds: see `plainer_term`; and what is rounded up without the rounding."""
    world = ground.world
    if need.op in ("and", "or"):
        return both([plainer(part, ground) for part in need.parts], need.op)
    if need.op not in ("le", "lt", "eq"):
        return need
    left = plainer_term(need.left, ground)
    whole = [(world.symbols[n].definition, f) for n, f in left.terms if world.symbols[n].definition[:1] == ("div",)]
    if len(left.terms) == 1 and need.op == "le" and whole and whole[0][0][2] == whole[0][1]:
        (_, inner, unit), _ = whole[0]  # unit * (inner // unit) <= -const
        assert isinstance(inner, Lin)
        assert isinstance(unit, int)
        left = world.expanded(inner) - (-left.const // unit * unit + unit - 1)
    return compare(need.op, left)


def plainer_term(term: Lin, ground: Asker) -> Lin:
    """Without a choice between two of which one is never taken, products multiplied out."""
    world = ground.world
    for _ in range(MOST_CHOICES):
        found = next((n for n, _ in term.terms if world.symbols[n].definition[:1] in (("max",), ("min",))), None)
        if found is None:
            break
        what, one, other = world.symbols[found].definition
        assert isinstance(one, Lin)
        assert isinstance(other, Lin)
        above = one - other if what == "min" else other - one  # at most 0: the first is taken
        if ground.surely(compare("le", above)):
            term = world.put(term, {found: one})
        elif ground.surely(compare("le", -above)):
            term = world.put(term, {found: other})
        else:
            return term
    return world.expanded(term)


def _parts(needs: Sequence[Cond]) -> Iterator[Cond]:
    """Conditions without alternatives from which all of these follow."""
    for need in needs:
        if need.op == "and":
            yield from _parts(need.parts)
        elif need.op == "or":  # one of them is enough
            yield from _parts(need.parts[-1:])
        else:
            yield need
