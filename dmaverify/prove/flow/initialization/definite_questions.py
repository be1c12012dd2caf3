"""Bytes of a kernel that are read, from definitions: something wrote each of them before, and nothing unknown is there.

Knows: accesses in the order of the text, the rows of each as terms, loops by any one iteration.
Does not know: when anything is done (`order_questions`), which registers garbage goes through: every byte that is read
counts, whatever becomes of it.
Law: a byte that an access reads lies in a row that an earlier line wrote, of the same iteration or outside of the loop;
and in no row of unknown bytes that any line left which may come before it: an earlier one, its own, or one of the same
loop. What an earlier iteration wrote is left out, and so are writes by turns with the read: then it stays open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dmaverify.language.affine import Cond, World
from dmaverify.program.instructions import Copy, CopyTouch, Event, Use
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.reached import placed
from dmaverify.prove.flow.order.stretches import Instant, Instants, Stretch, script_of, stretches_of
from dmaverify.prove.move.full import definitions
from dmaverify.prove.move.script import Script, ScriptWriter, conjunction, disjunction
from dmaverify.values import dataclass

DEFINITE = "core/definite"


def definite_script(events: Sequence[Event], ordered: Sequence[str], asker: Asker, space: str) -> Script:
    """The script of all reads of a memory. Raises NotCovered."""
    return _Reads(Instants(asker), stretches_of(events, asker.world, frozenset(ordered)), space).script()


@dataclass(frozen=True)
class _Write:
    """A touch that writes, where it is: `group` as of stretches."""

    node: Instant
    touch: CopyTouch
    group: int


@dataclass(frozen=True)
class _Reads:
    """The reads of one kernel on their way to a script."""

    instants: Instants
    parts: Sequence[Stretch]
    space: str

    @property
    def world(self) -> World:
        return self.instants.world

    def script(self) -> Script:
        writer = ScriptWriter("what is read", definitions())
        unknown = [
            ((number, index), write)
            for number, part in enumerate(self.parts)
            for index, write in self._writes(part, "unknown")
            if not _known(write.touch)
        ]
        before: list[_Write] = []
        for number, part in enumerate(self.parts):
            here: list[_Write] = []
            turn = self.instants.generic(part, f"turn{number}")
            for index, (event, group) in enumerate(zip(part.events, part.group, strict=True)):
                node = Instant(event, turn.counters, turn.when)
                left = [write for at, write in unknown if self._may_be_before(at, (number, index))]
                for touch in self._touches(event):
                    if touch.kind == "read":
                        self._read(writer, node, touch, [w for w in (*before, *here) if not group or w.group != group])
                        self._unmixed(writer, node, touch, left)
                here += [_Write(node, touch, group) for touch in self._touches(event) if _known(touch)]
            before += here if part.loop is None else []
        return script_of(writer)

    def _touches(self, event: Event) -> Iterator[CopyTouch]:
        if isinstance(event, (Copy, Use)):
            yield from (touch for touch in event.touches if touch.place.space == self.space)

    def _writes(self, part: Stretch, name: str) -> Iterator[tuple[int, _Write]]:
        """All touches of a part that write, each with the number of its event, in any iteration of their own."""
        for index, (event, group) in enumerate(zip(part.events, part.group, strict=True)):
            node = self.instants.generic(part, name, event)
            yield from ((index, _Write(node, touch, group)) for touch in self._touches(event) if touch.writes)

    def _may_be_before(self, one: tuple[int, int], two: tuple[int, int]) -> bool:
        """Whether an event (its part, its number there) may be issued before another one, or is that one."""
        part = self.parts[two[0]]
        alike = one[0] == two[0] and (part.loop is not None or 0 != part.group[one[1]] == part.group[two[1]])
        return one <= two or alike

    # ------------------------------------------------------------ one read

    def _read(self, writer: ScriptWriter, node: Instant, touch: CopyTouch, writes: Sequence[_Write]) -> None:
        byte, given = self.instants.byte(writer.lines, node, touch, "a")
        held = []
        for write in writes:
            conditions = [self.world.put_cond(c, write.node.counters) for c in getattr(write.node.event, "when", ())]
            row = self._in_rows(writer, byte, placed(write.touch, self.world, write.node.counters), conditions, given)
            held += [row] if row and write.touch.place.memory == touch.place.memory else []
        writer.claim(_told(node, "written"), DEFINITE, conjunction([*given, f"(not {disjunction(held)})"]))

    def _unmixed(self, writer: ScriptWriter, node: Instant, touch: CopyTouch, unknown: Sequence[_Write]) -> None:
        """No byte of a read is one that some access leaves unknown."""
        for other in unknown:
            if other.touch.place.memory == touch.place.memory:
                byte, given = self.instants.byte(writer.lines, node, touch, "a")
                theirs, more = self.instants.byte(writer.lines, other.node, other.touch, "b")
                line = other.node.event.span.line
                said = _told(node, f"nothing unknown of line {line}")
                writer.claim(said, DEFINITE, conjunction([*given, *more, f"(= {byte} {theirs})"]))

    def _in_rows(
        self, writer: ScriptWriter, byte: str, touch: CopyTouch, when: Sequence[Cond], given: list[str]
    ) -> str:
        """That a byte lies in a touch: its row by quotients, longest distance first; empty where one is no number."""
        text, parts = self.world.text, []
        steps = sorted(touch.steps, key=lambda step: -step[1].const if step[1].is_const else 0)
        if not all(stride.is_const and stride.const >= 0 for _, stride in steps):
            return ""
        terms = [touch.place.address, touch.offset, touch.length, *(count for count, _ in steps)]
        given += [fact for fact in self.instants.facts(writer.lines, terms, [], named=when) if fact not in given]
        parts += [self.world.cond_text(c) for c in when]
        rest = f"(- {byte} {text(touch.place.address + touch.offset)})"
        for count, stride in steps:
            if stride.const:
                parts.append(f"(core/in-range (div {rest} {stride.const}) {text(count)})")
                rest = f"(mod {rest} {stride.const})"
            else:
                parts.append(f"(< 0 {text(count)})")
        return conjunction([*parts, f"(core/in-range {rest} {text(touch.length)})"])


def _known(touch: CopyTouch) -> bool:
    """Whether what a touch writes is known to be something."""
    return touch.kind == "data" or (touch.kind == "fill" and touch.pattern is not None)


def _told(node: Instant, what: str) -> str:
    return f"line {node.event.span.line}, {what}"
