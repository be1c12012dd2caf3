"""Loops of `scf.while` that count: a carried value grows or falls by a constant up to a bound from outside of it.

Knows: the statements of such a loop. Does not know: values, what the body does.
Law: a loop counts only if its condition is one comparison of that value with the bound, which nothing in it makes, and
every round hands on the value that the condition saw plus a constant, towards the bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dmaverify.machines.pto import ops

_TURNED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "ne": "ne"}


class Counted(NamedTuple):
    """First value, bound, what each round adds (or, `falls`, takes away); the comparison under which a round runs, with
    the value on the left, and whether it has no signs; the statements in the loop that make the bound.
    """

    first: ops.Operand
    bound: ops.Operand
    step: ops.Operand
    falls: bool
    runs: str
    unsigned: bool
    making: tuple[ops.Stmt, ...]


def counted(stmt: ops.While) -> Counted | None:
    """How a loop counts; None for one that does not, or not in a way that is seen here."""
    made = {one.result: one for one in stmt.before if isinstance(one, (ops.Arith, ops.Const))}
    test = made.get(stmt.condition.name)
    if not isinstance(test, ops.Arith) or test.op != "cmpi" or len(test.args) != 2:
        return None
    names = [name for name, _ in stmt.carried]
    runs, (value, bound) = test.predicate.lstrip("su"), test.args
    if value.name not in names:
        runs, value, bound = _TURNED.get(runs, ""), bound, value
    needed = _needed(bound.name, made)
    if runs not in _TURNED or value.name not in names or needed & set(names) or not by_sums(stmt, bound.name):
        return None
    index = names.index(value.name)
    inside = {name for (name, _), given in zip(stmt.inside, stmt.passed, strict=False) if given.name == value.name}
    last = stmt.body[-1] if stmt.body else None
    if not isinstance(last, ops.Yield) or index >= len(last.args):
        return None
    step = _step(stmt, last.args[index].name, inside | {value.name})
    making = tuple(one for name, one in made.items() if name in needed)
    return step and Counted(stmt.carried[index][1], bound, *step, runs, test.predicate.startswith("u"), making)


def by_sums(stmt: ops.While, name: str) -> bool:
    """Whether nothing but sums in front of the condition makes a value there."""
    sums = {one.result: one for one in stmt.before if isinstance(one, (ops.Arith, ops.Const))}
    others = (one for one in stmt.before if not isinstance(one, (ops.Arith, ops.Const)))
    made = {name for one in others for name in (getattr(one, "result", ""), *getattr(one, "results", ()))}
    return made.isdisjoint(_needed(name, sums))


def _needed(name: str, made: Mapping[str, ops.Stmt]) -> set[str]:
    """A value with those that it is made of."""
    found = made.get(name)
    inner = found.args if isinstance(found, ops.Arith) else ()
    return {name}.union(*(_needed(arg.name, made) for arg in inner))


def _step(stmt: ops.While, name: str, counter: set[str]) -> tuple[ops.Operand, bool] | None:
    """What the next value differs by, and whether that is taken away; None where each round may differ by another."""
    top = {one.result: one for one in (*stmt.before, *stmt.body) if isinstance(one, (ops.Arith, ops.Const))}
    added = top.get(name)
    if not isinstance(added, ops.Arith) or added.op not in ("addi", "subi") or len(added.args) != 2:
        return None
    orders = (added.args, added.args[::-1]) if added.op == "addi" else (added.args,)
    for value, more in orders:
        if value.name in counter:
            found = top.get(more.name)
            if isinstance(found, ops.Const):
                more = ops.Operand("", more.span, found.value)
            inner = found is None and more.name in _made_in(stmt)
            return None if inner or isinstance(found, ops.Arith) else (more, added.op == "subi")
    return None


def _made_in(stmt: ops.While) -> set[str]:
    """Names that a loop gives to values anywhere in it: another value has that name outside."""
    found = {name for name, _ in (*stmt.carried, *stmt.inside)}
    return found.union(*((getattr(s, "result", ""), *getattr(s, "results", ())) for s in ops.deep((stmt,))))
