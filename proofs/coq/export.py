#!/usr/bin/env python3
"""Plans as Coq terms: one certificate a move, and the theorem that `accepts` accepts it.

    python proofs/coq/export.py PLAN.toml... > Examples.v

Needs dmaverify, which reads the plans, and the cuts of proofs/checker.py. It is trusted for one thing only: that the
terms it prints (mappings, places, loops, bases) are those of the plan. Cuts and wanted counters are proposals, which
`accepts` checks. Commands that differ by their bases alone are one nest with loops over commands.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from dmaverify.errors import InputError
from dmaverify.jobs.certify import independent_checker
from dmaverify.jobs.load import check, load, program_of
from dmaverify.language.expr import Broadcast, Drop, Expr, Modulo, Padding, Pair, Resize, Stride, Symbol
from dmaverify.lower.adapters import derived_access, given_access, slice_move
from dmaverify.lower.programs import space_of
from dmaverify.program.command import Command
from dmaverify.program.space import SPAN, Space, unit_bits_of
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.prove.move.fold import fold

CHECKER = independent_checker()
BYTE = 0  # the axis of bytes within an element


class NoTerm(Exception):
    """Nothing that the terms of Move.v can say."""


def tree(expr: Expr) -> tuple[Any, ...]:
    """A mapping as the checker has it."""
    match expr:
        case Symbol(name, size):
            return ("axis", size, name)
        case Broadcast(size):
            return ("copies", size)
        case Stride(inner, by):
            return ("div", expr.size, tree(inner), by)
        case Modulo(inner, to):
            return ("mod", to, tree(inner))
        case Resize(inner, to):
            if to > inner.size:
                raise NoTerm("a resize beyond the size")
            return ("mod", to, tree(inner))
        case Padding(inner, to, kind):
            return ("pad", to, tree(inner), kind.value)
        case Pair(left, right):
            return ("pair", expr.size, tree(left), tree(right))
        case Drop():
            raise NoTerm("a drop")
        case _:
            raise NoTerm("a window")


def number(value: int) -> str:
    return str(value) if value >= 0 else f"({value})"


def coq_tree(found: tuple[Any, ...], ids: dict[str, int]) -> str:
    what, size = found[0], found[1]
    if what == "axis":
        return f"(Axis {ids.setdefault(found[2], len(ids) + 1)} {size})"
    if what == "copies":
        return f"(Copies {size})"
    if what == "div":
        return f"(Stride {coq_tree(found[2], ids)} {found[3]})"
    if what == "mod":
        return f"(First {coq_tree(found[2], ids)} {size})"
    if what == "pad":
        return f"(Padded {coq_tree(found[2], ids)} {size})"
    return f"(Pair {coq_tree(found[2], ids)} {coq_tree(found[3], ids)})"


def rooms(tensor: Tensor, space: Space, bits: int) -> tuple[list[tuple[tuple[Any, ...], int]], int]:
    """(mapping, distance) of every place with more than one position, the element and the byte; the base address."""
    unit = unit_bits_of(bits)
    width = bits // unit
    out, base = [], tensor.base * 8 // unit
    for place in PLACES:
        if place not in space.places:
            continue
        if place == "element":
            out.append((tree(tensor.element), width))
            continue
        step = SPAN[place] if place in SPAN else space.stride(place, unit)
        base += getattr(tensor, f"at_{place}") * step
        if tensor.field(place).size > 1:
            out.append((tree(tensor.field(place)), step))
    if width > 1:
        out.append((("axis", width, None), 1))
    return out, base


def coq_list(parts: Iterator[str] | Sequence[str]) -> str:
    return f"[{'; '.join(parts)}]"


def coq_rooms(found: list[tuple[tuple[Any, ...], int]], ids: dict[str, int]) -> str:
    named = [(f"(Axis {BYTE} {t[1]})" if t[0] == "axis" and t[2] is None else coq_tree(t, ids), s) for t, s in found]
    return coq_list([f"({text}, {step})" for text, step in named])


def digits(box: Any, name: Any, count: int) -> list[tuple[Any, int]]:
    """The counters that one was cut into, outermost first."""
    if name in box.cuts:
        high, low, at = box.cuts[name]
        return [*digits(box, high, count // at), *digits(box, low, at)]
    return [(name, count)]


def coq_form(box: Any, form: Any, order: list[Any]) -> str:
    constant, terms = box.full(form)
    return f"({number(constant)}, {coq_list([number(terms.get(name, 0)) for name in order])})"


def locate(box: Any, form: Any, found: list[tuple[tuple[Any, ...], int]], base: int) -> None:
    """Cuts the counters until every position and every cell is a sum of them."""
    rest = CHECKER.add(form, (-base, {}))
    for room, step in found:
        position, rest = box.divide(rest, step)
        walk(box, room, position)


def walk(box: Any, found: tuple[Any, ...], at: Any) -> None:
    if found[0] == "pair":
        high, low = box.divide(at, found[3][1])
        walk(box, found[2], high)
        walk(box, found[3], low)
    elif found[0] in ("div", "mod", "pad"):
        walk(box, found[2], CHECKER.times(at, found[3]) if found[0] == "div" else at)


def certificate(name: str, tensors: Any, spaces: Any, bits: int, commands: Sequence[Command]) -> str:
    """The Coq text of one move. Raises NoTerm, or Outside of the checker."""
    families = fold(commands)
    if len(families) != 1:
        raise NoTerm(f"{len(families)} nests")
    nest = families[0].nest
    loops = [(p.count, p.read, p.write) for p in nest.pieces]
    sides = [rooms(t, s, bits) for t, s in zip(tensors, spaces, strict=True)]
    box = CHECKER.Box([n for n, _, _ in loops])
    for k, (found, base) in enumerate(sides):
        start = (nest.read_base, nest.write_base)[k]
        locate(box, (start, {i: p[1 + k] for i, p in enumerate(loops) if p[0] > 1}), found, base)
    cuts = [[n for _, n in digits(box, i, p[0])] for i, p in enumerate(loops)]
    found, base = sides[1]
    sizes = [room[1] for room, _ in found]
    places = CHECKER.Box(sizes)
    here = (base, {i: step for i, (_, step) in enumerate(found) if sizes[i] > 1})
    wanted = wanted_counters(places, loops, nest.write_base, here)
    cut_places = [digits(places, i, n) for i, n in enumerate(sizes)]
    order = [key for place in cut_places for key, _ in place]
    most = {key: n - 1 for place in cut_places for key, n in place}
    for (count, _, _), form in zip(loops, wanted, strict=True):
        constant, terms = places.full(form)
        if constant + sum(max(0, step * most[key]) for key, step in terms.items()) >= count:
            raise NoTerm("padding that no write reaches")
    ids: dict[str, int] = {}
    source, dest = coq_rooms(sides[0][0], ids), coq_rooms(found, ids)
    named = sorted({ids[a] for room, _ in sides[0][0] for a in axes_in(room)})
    if any(room == ("axis", room[1], None) for room, _ in found):
        named.insert(0, BYTE)
    key = re.sub(r"\W", "_", name)
    walked = coq_list([f"({n}, {number(r)}, {number(w)})" for n, r, w in loops])
    return (
        f"(* {name} *)\nDefinition c_{key} : certificate := {{|\n"
        f"  source := {source}; source_base := {sides[0][1]};\n  dest := {dest}; dest_base := {base};\n"
        f"  axes := {coq_list([str(a) for a in named])};\n"
        f"  what := {{| loops := {walked}; read_base := {number(nest.read_base)}; "
        f"write_base := {number(nest.write_base)} |}};\n"
        f"  cuts := {coq_list([coq_list([str(n) for n in fs]) for fs in cuts])};\n"
        f"  places := {coq_list([coq_list([str(n) for _, n in place]) for place in cut_places])};\n"
        f"  wanted := {coq_list([coq_form(places, f, order) for f in wanted])} |}}.\n"
        f"Theorem t_{key} : accepts c_{key} = true. Proof. vm_compute. reflexivity. Qed.\n"
    )


def axes_in(found: tuple[Any, ...]) -> Iterator[str]:
    if found[0] == "axis":
        if found[2] is not None:
            yield found[2]
        return
    for part in found[2:]:
        if isinstance(part, tuple):
            yield from axes_in(part)


def wanted_counters(box: Any, loops: Sequence[tuple[int, int, int]], base: int, here: Any) -> list[Any]:
    """For each loop the counter that an address names, from the longest stride on."""
    rest = CHECKER.add(here, (-base - sum(w * (n - 1) for n, _, w in loops if w < 0), {}))
    out: list[Any] = [(0, {}) for _ in loops]
    for i in sorted(range(len(loops)), key=lambda i: -abs(loops[i][2])):
        count, _, step = loops[i]
        if count > 1 and step == 0:
            raise NoTerm("a loop that writes the same again")
        if count > 1:
            digit, rest = box.divide(rest, abs(step))
            out[i] = digit if step > 0 else CHECKER.add((count - 1, {}), digit, -1)
    return out


def moves_of(path: str) -> Iterator[tuple[str, Any, Any, int, Sequence[Command]]]:
    """Every transfer and access of a plan with commands: name, tensors, spaces, bits, commands."""
    plan = load(path)
    for item in plan.transfers:
        one, target = item.transfer, plan.targets[item.transfer.target]
        spaces = (space_of(target, one.source.tier), space_of(target, one.dest.tier))
        try:
            commands = program_of(plan, item.name)
        except InputError:  # no commands, or none that can be paired: such a move is not proved
            continue
        yield item.name, (one.source, one.dest), spaces, target.dtypes[one.dtype], commands
    for access in plan.accesses:
        target = plan.targets[access.target]
        bits = target.dtypes[access.dtype]
        tensors = slice_move(access)
        spaces = (space_of(target, tensors[0].tier), space_of(target, tensors[1].tier))
        made: Any = given_access(access, bits) if access.config else None
        if made is None:
            made = derived_access(access, space_of(target, access.memory.tier), bits)
        if isinstance(made, Command):
            yield access.name, tensors, spaces, bits, (made,)


def exported(paths: Sequence[str]) -> tuple[str, list[str]]:
    """The text of a Coq file, and what has no term, with the reason."""
    parts, left = [], []
    for path in paths:
        proved = {v.name for v in check(path) if v.status.value == "proved"}
        for name, *move in moves_of(path):
            try:
                parts += [certificate(name, *move)] if name in proved else []
            except (NoTerm, CHECKER.Outside) as why:
                left.append(f"{name}: {why}")
    head = "(* Written by proofs/coq/export.py. *)\nRequire Import ZArith List. Import ListNotations.\n"
    return f"{head}Require Import Dmaverify.Move.\nOpen Scope Z_scope.\n\n" + "\n".join(parts), left


def main() -> int:
    text, left = exported(sys.argv[1:])
    sys.stdout.write(text)
    sys.stderr.write("".join(f"no term: {line}\n" for line in left))
    return 0


if __name__ == "__main__":
    sys.exit(main())
