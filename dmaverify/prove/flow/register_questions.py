"""Registers of a kernel from definitions: what a copy takes from one is what the last write before it put there.

Knows: writes and reads in order of the text, loops and branches, the terms that were taken.
Does not know: machines, what a register is for, how scripts are asked.
Law: behind a write a register is what was written. What it is taken to hold where an iteration begins is asked before
the loop and behind an iteration that begins so, the rest is induction; behind a loop or a branch it is asked of every
way that leads there, and what a branch leaves different depends on its condition. Nothing is supposed of counters and
arguments but the conditions of the branches around, and that a bit is 0 or 1: what holds, holds of all their values.

Source: docs/machines/pto.md (registers keep their value).
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.language.affine import Cond, Lin, World
from dmaverify.language.linear import names_in
from dmaverify.program.sticky import (
    Held,
    RegisterBranch,
    RegisterEvent,
    RegisterLoop,
    RegisterRead,
    RegisterWrite,
    written,
)
from dmaverify.prove.move.full import definitions
from dmaverify.prove.move.script import Script, ScriptWriter, conjunction
from dmaverify.values import dataclass, field

REGISTERS = "core/registers"
MOST_READS = 1000
CHOICES = {"ite": "", "min": "<=", "max": ">="}  # of terms, by a condition or by how they compare
MOST_TEXT = 2_000  # letters of what a register holds by conditions
State = dict[str, tuple[str, ...]]


def register_script(events: Sequence[RegisterEvent], world: World) -> Script:
    """The script of all registers of a kernel."""
    walk = _RegisterWalk(ScriptWriter("registers", definitions()), world)
    walk.block(events)
    return walk.writer.script()


@dataclass
class _RegisterWalk:
    """What registers hold, as text, while the events are gone through."""

    writer: ScriptWriter
    world: World
    state: State = field(default_factory=dict)
    fresh: int = 0
    declared: set[str] = field(default_factory=set)
    around: tuple[str, ...] = ()  # conditions of the branches around

    def block(self, events: Sequence[RegisterEvent]) -> None:
        for event in events:
            if isinstance(event, RegisterWrite):
                self._put(event.register, event.values)
            elif isinstance(event, RegisterRead):
                outside = self.around
                if event.when.known is None:
                    self.around = (*outside, self._sides(event.when)[0])
                self._claim(f"{event.by} takes {event.register}", self.state, event.register, event.values)
                self.around = outside
            elif isinstance(event, RegisterLoop):
                self._loop(event)
            else:
                self._branch(event)

    def _loop(self, loop: RegisterLoop) -> None:
        changed, before, where = written(loop.body), dict(self.state), f"the loop at line {loop.line}"
        for name in changed:
            self._met(f"{name} before {where}", before, name, loop.head.get(name))
        outside, (ran, never) = self.around, self._sides(loop.when)
        self.around = (*outside, ran)
        self.block(loop.body)
        end = dict(self.state)
        for name in changed:
            self.around = (*outside, ran)
            if name in loop.head:
                self._claim(f"{name} behind an iteration of {where}", end, name, loop.head[name])
            told = name not in loop.after and name in loop.last
            self._met(f"{name} behind {where}", end, name, (loop.last if told else loop.after).get(name))
            self.around = (*outside, never)
            if told and not loop.runs:
                self._either(name, ran, [self.state, before])
            elif not loop.runs:
                self._met(f"{name} behind {where}", before, name, loop.after.get(name))
        self.around = outside

    def _branch(self, branch: RegisterBranch) -> None:
        before, outside, ends = dict(self.state), self.around, list[State]()
        sides = self._sides(branch.when)
        names = list(dict.fromkeys(name for arm in branch.arms for name in written(arm)))
        for arm, side in zip(branch.arms, sides, strict=True):
            self.state, self.around = dict(before), (*outside, side)
            self.block(arm)
            ends.append(dict(self.state))
            for name in names:
                where = f"{name} behind the branch at line {branch.line}"
                self._met(where, ends[-1], name, branch.after.get(name))
        self.state, self.around = before, outside
        for name in names:
            self._put(name, branch.after.get(name))
            if name not in branch.after:
                self._either(name, sides[0], ends)

    # ------------------------------------------------------------ values

    def _sides(self, when: Cond) -> list[str]:
        """A condition and its opposite."""
        for symbol in when.symbols():
            self._declare(symbol)
        return [self.world.cond_text(side) for side in (when, when.negated())]

    def _either(self, name: str, when: str, ends: Sequence[State]) -> None:
        """A register is what it was at the first end where `when` holds, at the second where it does not."""
        size = max(len(end.get(name, ())) for end in ends)
        held = [end.get(name) or self._text((None,) * size) for end in ends]
        either = tuple(f"(ite {when} {a} {b})" for a, b in zip(*held, strict=True))
        self.state.pop(name, None)
        if sum(map(len, either)) <= MOST_TEXT:
            self.state[name] = either

    def _met(self, said: str, way: State, name: str, taken: Held | None) -> None:
        """Where ways meet a register holds what is taken if it does on each; of others nothing is known."""
        if taken is not None:
            self._claim(said, way, name, taken)
        self._put(name, taken)

    def _put(self, name: str, values: Held | None) -> None:
        self.state.pop(name, None)
        if values is not None:
            self.state[name] = self._text(values)

    def _claim(self, said: str, state: State, name: str, values: Held) -> None:
        """That a register holds these values; of those that are not known nothing is asked."""
        held = state.get(name) or self._text((None,) * len(values))
        same = [
            f"(= {a} {b})" for a, b, value in zip(held, self._text(values), values, strict=True) if value is not None
        ]
        if same:
            self.writer.claim(said, REGISTERS, conjunction([*self.around, f"(not {conjunction(same)})"]))

    def _text(self, values: Held) -> tuple[str, ...]:
        out = []
        for value in values:
            if value is None:
                self.fresh += 1
                self._declare(f"unknown{self.fresh}")
                out.append(f"unknown{self.fresh}")
            else:
                for name, _ in value.terms:
                    self._declare(name)
                out.append(self.world.text(value))
        return tuple(out)

    def _declare(self, name: str) -> None:
        if name in self.declared:
            return
        self.declared.add(name)
        made, names = chosen(name, self.world)
        for one in names:
            self._declare(one)
        self.writer.lines.append(f"(define-fun {name} () Int {made})" if made else f"(declare-const {name} Int)")
        if name in self.world.symbols and is_bit(name, self.world):
            self.writer.lines.append(f"(assert (<= 0 {name} 1))")


def chosen(name: str, world: World) -> tuple[str, list[str]]:
    """What a symbol is where a condition chooses its value, and the symbols in that; empty for all others."""
    what, *parts = (world.symbols[name].definition if name in world.symbols else ()) or ("",)
    if what not in CHOICES:
        return "", []
    texts = (world.cond_text(p) if isinstance(p, Cond) else world.text(p) for p in parts if isinstance(p, Cond | Lin))
    *when, left, right = texts
    test = when[0] if when else f"({CHOICES[what]} {left} {right})"
    return f"(ite {test} {left} {right})", [one for part in parts for one in names_in(part)]


def is_bit(name: str, world: World) -> bool:
    """Whether a symbol is 0 or 1, whatever else is known of it."""
    symbol = world.symbols[name]
    return (symbol.low, symbol.high) == (0, 1) and not symbol.definition
