"""Tensors of a plan file as values that may change, and the file with other tensors in it.

Knows: transfers, programs, accesses and gathers of a plan, the tables of a TOML text.
Does not know: which layouts are better.
Law: tensors are one where memory, base and mappings agree. A tensor is withheld where another that holds elements at
the same time may be a view of its bytes, or where anything but a plain transfer touches them; one that takes other
places or bytes lies behind all others. Only the tables of the moves that change are written anew; all else stays as it
is, character by character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dmaverify.errors import InputError
from dmaverify.program.regions import Box, box_of
from dmaverify.program.tensor import Tensor
from dmaverify.synth.kernel import ALIGNED, KernelMoves, TensorUses

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan, PlanTransfer
    from dmaverify.program.move import Transfer
    from dmaverify.synth.result import Synthesis
    from dmaverify.targets.target import Target
    from dmaverify.verdict import Status

_HEADER = re.compile(r"^[ \t]*\[{1,2}[ \t]*[A-Za-z_][^\[\]{}=]*\]{1,2}[ \t]*(?:#.*)?$", re.MULTILINE)


class Ground(Protocol):
    """A text whose tensors may change: a plan file, or a kernel."""

    path: str
    text: str
    scene: KernelMoves
    notes: tuple[str, ...]

    def rewritten(self, chosen: Mapping[int, Tensor], answers: Mapping[int, Synthesis]) -> str | None:
        """The text with these tensors; None where it cannot be written."""

    def judged(self, text: str) -> tuple[Mapping[str, Transfer], Mapping[str, Status]]:
        """The moves of a text, by name, and the statuses of all its verdicts. Raises InputError."""

    def elsewhere(self, number: int) -> Sequence[str]:
        """What a change of a tensor leaves to others."""


class PlanGround:
    """The tensors of a plan file."""

    notes: tuple[str, ...] = ()

    def __init__(self, path: str, plan: Plan, target: str | None) -> None:
        from dmaverify.targets.address_maps import hbm_map

        self.path, self.plan, self.target, self.text = path, plan, target, plan.source.text
        items = [one for one in plan.transfers if _plain(one)]
        moves = tuple(one.transfer for one in items)
        machine = priced_machine([plan.targets[one.transfer.target] for one in plan.transfers])
        times = tuple(_times(plan, one.name) for one in moves)
        tensors = tuple(_tensors(plan, moves))
        behind: dict[str, int] = {}
        for box in (*(box_of(t.tensor, t.bits) for t in tensors), *(box for _, box in _strangers(plan, moves))):
            behind[box.tier] = max(behind.get(box.tier, 0), -(-box.end // ALIGNED) * ALIGNED)
        self.scene = KernelMoves(moves, times, tensors, machine, hbm_map(None, machine.raw).window, behind)
        kept = [box_of(one.tensor, one.bits) for one in tensors if not one.withheld]
        if not plan.programs and any(a.meets(b) for at, a in enumerate(kept) for b in kept[:at]):
            self.notes = ("tensors in the same bytes are taken to follow each other as the file has their moves",)

    def rewritten(self, chosen: Mapping[int, Tensor], answers: Mapping[int, Synthesis]) -> str | None:
        from dmaverify.synth.result import tables_text

        text = self.text
        for answer in answers.values():
            new = _replaced(text, answer.transfer.name, tables_text(answer))
            if new is None:
                return None
            text = new
        return text

    def judged(self, text: str) -> tuple[Mapping[str, Transfer], Mapping[str, Status]]:
        from dmaverify.jobs.verdicts import verdicts_of
        from dmaverify.plan.read import read_plan_text

        plan = read_plan_text(text, self.path, target=self.target, folder=Path(self.path).parent)
        return {one.name: one.transfer for one in plan.transfers}, {v.name: v.status for v in verdicts_of(plan)}

    def elsewhere(self, number: int) -> Sequence[str]:
        held = self.scene.tensors[number]
        if held.free:
            return ()
        what, who = ("an output", "what reads it later") if held.made else ("an input", "what fills it before")
        return (f"{held.name} is {what}: {who} has to lay it out so, at its own cost",)


def priced_machine(machines: Sequence[Target]) -> Target:
    """The one machine of all moves, if its model compares cycles. Raises InputError."""
    from dmaverify.cost.sides import SERVICES

    names = {one.name for one in machines}
    if not machines:
        raise InputError("no transfer whose tensors are known", None, "`dmaverify check` says why")
    if len(names) > 1:
        raise InputError(f"the moves are for {', '.join(sorted(names))}: one machine at a time", None, "PATH::NAME")
    if not set(machines[0].tiers) <= set(SERVICES):
        hint = "layouts are compared by the common cost model, which has hbm, dm, spm and host"
        raise InputError(f"{names.pop()} has no such model", None, hint)
    return machines[0]


def _plain(item: PlanTransfer) -> bool:
    """Whether a transfer is a move of two whole tensors that is meant to hold."""
    move = item.transfer
    fatal = any(problem.fatal for problem in item.problems)
    return not fatal and move.views is None and move.form is None and not (move.expect or ())


def _times(plan: Plan, name: str) -> int:
    """How often the programs of the plan run a move: once where none names it."""
    steps = [step for program in plan.programs for step in program.steps]
    runs = [prod(turns for _, turns in one.loops) for one in steps if one.transfer and one.transfer.name == name]
    return max(1, sum(runs))


def _tensors(plan: Plan, moves: Sequence[Transfer]) -> Iterator[TensorUses]:
    """The tensors of the moves, one for each place and mapping."""
    uses: dict[str, list[tuple[int, str]]] = {}
    for index, move in enumerate(moves):
        for role in ("source", "dest"):
            uses.setdefault(_key(getattr(move, role), move), []).append((index, role))
    bits = {key: plan.targets[moves[own[0][0]].target].dtypes[moves[own[0][0]].dtype] for key, own in uses.items()}
    boxes = {key: box_of(getattr(moves[own[0][0]], own[0][1]), bits[key]) for key, own in uses.items()}
    strangers, orders = list(_strangers(plan, moves)), _orders(plan, moves)
    for key, own in uses.items():
        tensor: Tensor = getattr(moves[own[0][0]], own[0][1])
        roles = {role for _, role in own}
        free = roles == {"source", "dest"}
        met = [other for other in boxes if other != key and boxes[other].meets(boxes[key])]
        views = [other for other in met if any(_at_once(own, uses[other], order) for order in orders)]
        held = [what for what, box in strangers if box.meets(boxes[key])]
        why = f"{views[0].partition('|')[2]} may be another view of its bytes" if views else ""
        why = f"{held[0]} touches its bytes" if held else why
        if not why and not free and plan.targets[moves[own[0][0]].target].tiers[tensor.tier].is_sliced:
            why = "what computes with it is not in view"
        first, last = _life(own, orders[0])
        lives = max(0, first), min(len(moves) - 1, last)
        yield TensorUses(_name(moves, own), tensor, bits[key], tuple(own), free, why, lives)


_Order = Sequence[int]
"""Which move is made when; a move may be made more than once."""


def _orders(plan: Plan, moves: Sequence[Transfer]) -> list[_Order]:
    """The orders in which moves are made: that of the file, and that of each program."""
    number = {move.name: index for index, move in enumerate(moves)}
    named = [[s.transfer.name for s in program.steps if s.transfer is not None] for program in plan.programs]
    return [range(len(moves)), *([number[name] for name in steps if name in number] for steps in named)]


def _life(uses: Sequence[tuple[int, str]], order: _Order) -> tuple[int, int]:
    """From when to when a tensor holds its elements: from before the first move where none writes it, to behind the
    last one where none reads it.
    """
    made, read = ({index for index, one in uses if one == role} for role in ("dest", "source"))
    first = next((at for at, index in enumerate(order) if index in made), -1)
    return first, max((at for at, index in enumerate(order) if index in read), default=len(order))


def _at_once(one: Sequence[tuple[int, str]], other: Sequence[tuple[int, str]], order: _Order) -> bool:
    """Whether two tensors hold elements at once, so that one may be another view of the other's bytes."""
    (a, b), (c, d) = _life(one, order), _life(other, order)
    return a < d and c < b


def _key(tensor: Tensor, move: Transfer) -> str:
    at = (tensor.at_chip, tensor.at_cluster, tensor.at_slice)
    where = f"{tensor.tier}@{tensor.base}"
    return f"{move.dtype} {at} {tensor.mapping} {tensor.element}|{where}"


def _name(moves: Sequence[Transfer], uses: Sequence[tuple[int, str]]) -> str:
    """`a:dest, b:source`: the sides of moves that a tensor is."""
    sides = [f"{moves[index].name}.{role}" for index, role in uses]
    more = f" and {len(sides) - 3} more" if len(sides) > 3 else ""
    return " = ".join(sides[:3]) + more


def _strangers(plan: Plan, moves: Sequence[Transfer]) -> Iterator[tuple[str, Box]]:
    """Bytes that something touches which is no plain transfer of the plan."""
    known = {one.name for one in moves}
    for access in plan.accesses:
        yield f"access {access.name}", box_of(access.memory, plan.targets[access.target].dtypes[access.dtype])
    inline = [s.transfer for p in plan.programs for s in p.steps if s.transfer is not None and s.inline]
    steps = [a for p in plan.programs for s in p.steps for a in s.accesses]
    tables = [s.transfer for p in plan.programs for s in p.steps if s.indirect is not None and s.transfer is not None]
    others = [one.transfer for one in plan.transfers if one.name not in known]
    for access in steps:
        yield f"access {access.name}", box_of(access.memory, plan.targets[access.target].dtypes[access.dtype])
    for move in (*inline, *tables, *others):
        bits = plan.targets[move.target].dtypes[move.dtype]
        for tensor in (move.source, move.dest):
            yield f"{move.name}", box_of(tensor, bits)


def _replaced(text: str, name: str, tables: str) -> str | None:
    """The text with the tables of one transfer in place of its own; None where it has none of its own."""
    own = re.compile(rf"[ \t]*\[{{1,2}}[ \t]*transfer[ \t]*\.[ \t]*(\"?){re.escape(name)}\1[ \t]*(\.[^\]]*)?\]")
    heads = [found.start() for found in _HEADER.finditer(text)]
    parts = [(start, end) for start, end in zip(heads, [*heads[1:], len(text)], strict=True)]
    mine = [(start, end) for start, end in parts if own.match(text, start)]
    if not mine:
        return None
    out, at = [], 0
    for number, (start, end) in enumerate(mine):
        body = text[start:end]
        kept = body[len(_without_tail(body)) :]
        out += [text[at:start], tables if number == 0 else "", kept]
        at = end
    return "".join([*out, text[at:]])


def _without_tail(body: str) -> str:
    """A table without the blank lines and comments behind its last line: they belong to the next."""
    lines = body.splitlines(keepends=True)
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return "".join(lines)
