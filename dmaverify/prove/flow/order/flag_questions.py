"""Flags of a kernel from definitions: each is set and waited for in turns.

Knows: sets and waits in the order of the text, ids that depend on the iteration.
Does not know: when anything is done (`pipe_clock`), machines, how scripts are asked.
Law: a flag holds 0 or 1; a set finds 0, a wait finds 1, in the end all hold 0. What flags hold before an iteration is
what they hold behind the lines before the loop: that one iteration leaves what it found is asked, the rest is
induction.

Source: docs/machines/pto.md (flags).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.language.affine import World
from dmaverify.program.instructions import Signal
from dmaverify.prove.flow.order.pipe_clock import flag_of
from dmaverify.prove.flow.order.stretches import Instant, Instants, Stretch, script_of
from dmaverify.prove.move.defined import NotCovered
from dmaverify.prove.move.full import definitions
from dmaverify.prove.move.script import Script, ScriptWriter, conjunction, disjunction
from dmaverify.values import dataclass

FLAGS = "core/flags"
MOST_IDS = 16
Flag = tuple[str, str, int]


@dataclass(frozen=True)
class FlagQuestions:
    """What is asked of the flags of one kernel."""

    instants: Instants
    parts: Sequence[Stretch]

    @property
    def world(self) -> World:
        return self.instants.world

    def script(self) -> Script:
        """Raises NotCovered where an id may be many numbers."""
        writer = ScriptWriter("flags", definitions())
        ids = self._flags()
        state = dict.fromkeys(ids, "0")
        for index, part in enumerate(self.parts):
            before = dict(state)
            node = self.instants.generic(part, f"turn{index}")
            for at, event in enumerate(part.events):
                if isinstance(event, Signal):
                    now = Instant(event, node.counters, node.when)
                    state = self._signalled(writer, now, state, f"{index}.{at}")
            if part.loop is not None:
                for flag, count in before.items():
                    given = [f"(not (= {state[flag]} {count}))", *self.instants.facts(writer.lines, [], [node])]
                    writer.claim(f"{_told(flag)} behind an iteration", FLAGS, conjunction(given))
                state = before
        for flag, count in state.items():
            writer.claim(f"{_told(flag)} in the end", FLAGS, f"(not (= {count} 0))")
        return script_of(writer, stronger=len(self.parts) > 1)

    def _flags(self) -> list[Flag]:
        found: dict[Flag, None] = {}
        for event in (e for part in self.parts for e in part.events if isinstance(e, Signal)):
            low, high = self.world.interval(event.event)
            if low is None or high is None or high - low >= MOST_IDS:
                raise NotCovered("an id of a flag that may be many")
            found |= dict.fromkeys((*flag_of(event), number) for number in range(low, high + 1))
        return list(found)

    def _signalled(self, writer: ScriptWriter, node: Instant, state: Mapping[Flag, str], name: str) -> dict[Flag, str]:
        """What flags hold behind a set or a wait, and the claim that it comes in turn."""
        event = node.event
        assert isinstance(event, Signal)
        number = self.world.put(event.event, node.counters)
        facts = self.instants.facts(writer.lines, [number], [node])
        text, least = self.world.text(number), 0 if event.action == "set" else 1
        after = dict(state)
        wrong = []
        for flag, count in state.items():
            if flag[:2] == flag_of(event):
                here = f"(= {text} {flag[2]})"
                wrong.append(f"(and {here} (not (= {count} {least})))")
                changed = f"(ite {here} {1 - least} {count})"
                writer.lines.append(f"(define-fun flag.{name}.{flag[2]} () Int {changed})")
                after[flag] = f"flag.{name}.{flag[2]}"
        writer.claim(f"{event.action} at line {event.span.line}", FLAGS, conjunction([disjunction(wrong), *facts]))
        return after


def _told(flag: Flag) -> str:
    return f"{flag[0]} to {flag[1]}, {flag[2]}"
