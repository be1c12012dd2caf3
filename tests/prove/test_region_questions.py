"""Regions of programs: held against every step and iteration written out, and asked from definitions."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from functools import cache

import pytest
from lab.draws import counted, rest

from dmaverify.errors import Disagreement
from dmaverify.plan.read import read_plan_text
from dmaverify.program.schedule import Program
from dmaverify.prove.flow import kernel
from dmaverify.prove.flow.kernel import check_program
from dmaverify.prove.flow.order.regions import REGIONS
from dmaverify.prove.options import Options
from dmaverify.verdict import Verdict

TURNS = 3
BASES = (0, 0, 0, 64, 64, 128, 192, 32)


@cache
def fast(text: str) -> Verdict:
    return judged(text, "fast")


def judged(text: str, prove: str = "full") -> Verdict:
    plan = read_plan_text(text)
    options = Options(prove=prove, cross_check=0, repair=False)
    return check_program(plan.programs[0], axes=plan.axes, target=plan.targets["rngd"], options=options)


def drawn(draw: random.Random) -> str:
    """A program of a few loads and stores of 64 rows in DM, some of them in a loop, with regions around them."""
    steps = draw.randint(1, 4)
    inside = range(*sorted((draw.randint(0, steps), draw.randint(0, steps))))
    lines = ["schema = 1", 'target = "rngd"', "axes = { A = 64, C = 64 }"]
    bases, places = [draw.choice(BASES) for _ in range(steps)], {}
    for number in range(draw.randint(1, 3)):
        base, names = draw.choice(BASES), [draw.randrange(steps) for _ in range(2)]
        first, last = names if draw.random() < 0.2 else sorted(names)
        places[f"r{number}"] = base
        lines += [f"[region.r{number}]", 'tier = "dm"', f"base = {base}", f"size = {draw.choice((64, 64, 64, 96))}"]
        lines += [f"extent = {{ slice = {draw.choice((64, 64, 64, 63))} }}"]
        lines += [f'lifetime = ["t{first}", "t{last}"]'] if draw.random() < 0.8 else []
    names = ", ".join(f'"{name}"' for name in places)
    body = []
    for number, base in enumerate(bases):
        near = f'{{ tier = "dm", base = {base}, slice = "A", element = "C" }}'
        far = f'{{ tier = "hbm", base = {65536 * number}, element = "A, C" }}'
        loads = draw.random() < 0.6
        lines += [f"[transfer.t{number}]", 'dtype = "i8"', *([f"loop = {{ t = {TURNS} }}"] if number in inside else [])]
        lines += [f"source = {far if loads else near}", f"dest = {near if loads else far}"]
        lines += ['stream = { time = "A", packet = "C" }']
        body += ["[[program.p.step]]", f'transfer = "t{number}"', f'context = "{draw.choice("aab")}"']
        named = [name for name, at in places.items() if at == base]
        if named and draw.random() < 0.5:
            body += [f'{"writes" if loads else "reads"} = "{draw.choice(named)}"']
        body += [f'after = ["t{draw.randint(0, number - 1)}"]'] if number and draw.random() < 0.4 else []
    order = draw.choice(("contexts", "written", "written", "none"))
    return "\n".join([*lines, "[program.p]", f"regions = [{names}]", f'order = "{order}"', *body])


def drawn_programs(seeds: Iterable[int]) -> Iterator[str]:
    yield from (drawn(random.Random(f"regions {seed}")) for seed in seeds)


# ---------------------------------------------------------------- written out


class WrittenOut:
    """Every step in each of its iterations, with all that must end before it begins."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.names = [step.name for step in program.steps]
        self.items = [(s, i) for s, step in enumerate(program.steps) for i in range(TURNS if step.loops else 1)]
        self.before = {item: {other for other in self.items if self._waits(item, other)} for item in self.items}
        for _ in self.items:
            for found in self.before.values():
                found |= {far for near in list(found) for far in self.before[near]}

    def _waits(self, late: tuple[int, int], early: tuple[int, int]) -> bool:
        """What is stated of two steps: `after`, one context, the written order; iterations of a body follow."""
        steps = self.program.steps
        (b, j), (a, i) = late, early
        both = self._body(a) == self._body(b) is not None
        if a == b:
            return i < j
        asked = steps[a].name in steps[b].after
        asked |= self.program.order == "contexts" and steps[a].context == steps[b].context and (both or a < b)
        asked |= self.program.order == "written" and (both or a < b)
        return asked and ((i, a) < (j, b) if both and steps[a].name not in steps[b].after else i == j or not both)

    def _body(self, step: int) -> int | None:
        """Steps of a loop that follow each other are its body; here all of a loop do."""
        return 0 if self.program.steps[step].loops else None

    def wrong(self) -> bool:
        regions, steps = self.program.regions, self.program.steps
        lives = {region.name: self._lives(region) for region in regions}
        for number, one in enumerate(regions):
            for other in regions[:number]:
                pairs = [(a, b) for a in lives[one.name] for b in lives[other.name]]
                if one.box.meets(other.box) and any(not self._apart(a, b) for a, b in pairs):
                    return True
            if one.lifetime and not all(a == b or a in self.before[b] for a, b in self._ends(*one.lifetime)):
                return True
        return any(self._badly_used(s, region, lives[region.name]) for s in range(len(steps)) for region in regions)

    def _ends(self, *lifetime: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """All that a region begins to live with, before all that it ends with; of one body in each iteration."""
        first, last = (self.names.index(name) for name in lifetime)
        both = self._body(first) == self._body(last) is not None
        pairs = ((a, b) for a in self.items if a[0] == first for b in self.items if b[0] == last)
        return [(a, b) for a, b in pairs if not both or a[1] == b[1]]

    def _lives(self, region):  # type: ignore[no-untyped-def]
        """(first item, last item) of every life of a region; None for the whole program."""
        if region.lifetime is None:
            return [None]
        first, last = (self.names.index(name) for name in region.lifetime)
        if self._body(first) == self._body(last) is not None:
            return [((first, i), (last, i)) for i in range(TURNS)]
        return [((first, 0), max(item for item in self.items if item[0] == last))]

    def _apart(self, a, b) -> bool:  # type: ignore[no-untyped-def]
        return a is not None and b is not None and (a[1] in self.before[b[0]] or b[1] in self.before[a[0]])

    def _badly_used(self, step, region, lives) -> bool:  # type: ignore[no-untyped-def]
        move = self.program.steps[step].transfer
        loads = move.dest.tier == "dm"
        tensor = move.dest if loads else move.source
        named = (self.program.steps[step].writes if loads else self.program.steps[step].reads) == region.name
        low, high = tensor.base, tensor.base + 64
        inside = region.box.base <= low and high <= region.box.end and region.box.last[2] >= 64
        meets = low < region.box.end and region.box.base < high
        lasts, free = inside, not named
        for item in [one for one in self.items if one[0] == step]:  # all of a step within the life, or all apart
            own = [life for life in lives if life is None or self._in_body_with(item, life)] or lives
            lasts = lasts and any(life is None or self._within(item, life) for life in own)
            free = free and all(life is not None and self._apart((item, item), life) for life in lives)
        return (named or meets) and not lasts and not free

    def _in_body_with(self, item, life) -> bool:  # type: ignore[no-untyped-def]
        (first, i), (last, j) = life
        return self._body(first) == self._body(last) == self._body(item[0]) is not None and i == j == item[1]

    def _within(self, item, life) -> bool:  # type: ignore[no-untyped-def]
        return all(a == b or a in self.before[b] for a, b in ((life[0], item), (item, life[1])))


def of_regions(verdict: Verdict) -> set[str]:
    return {one.status for one in verdict.obligations if one.id in REGIONS}


def one_fault(verdict: Verdict) -> bool:
    """Whether one thing is wrong with a program, and that in its regions."""
    return len(verdict.errors) == 1 and verdict.errors[0].rule in REGIONS


WORDS = ("across", "share", "and may run", "but nothing puts")


def told(verdict: Verdict) -> list[str]:
    message = verdict.errors[0].message
    return [words for words in WORDS if words in message]


@pytest.mark.slow
@pytest.mark.parametrize("count", counted(30, 3000))
def test_regions_are_judged_as_every_iteration_written_out_says(count: int) -> None:
    seen = {True: 0, False: 0}
    for text in drawn_programs(range(count)):
        found, wrong = of_regions(fast(text)), WrittenOut(read_plan_text(text).programs[0]).wrong()
        if not found:
            continue
        assert ("refuted" in found) == wrong, text
        seen[wrong] += 1
    assert min(seen.values()) > count // 30


@pytest.mark.parametrize("count", counted(9, 3000))
def test_what_is_proved_of_regions_is_proved_from_definitions(count: int) -> None:
    proved = 0
    for text in drawn_programs(range(count)):
        if "unknown" in of_regions(fast(text)) or fast(text).errors:
            continue
        full = judged(text)
        assert full.status is fast(text).status, text
        assert {one.by for one in full.obligations if one.id in REGIONS} == {"z3"}, text
        proved += 1
    assert proved > count // 6


WRONG = (0, 3, 9, 21, 25, 30, 135, 163)
"""Of the programs, two for each of WORDS."""


@pytest.mark.parametrize("seeds", [WRONG, *rest([range(300)])], ids=len)
def test_a_region_that_the_fast_path_passed_over_is_never_confirmed(
    seeds: Iterable[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [text for text in drawn_programs(seeds) if one_fault(fast(text))]
    words = {word: [text for text in found if word in told(fast(text))] for word in WORDS}
    assert all(words.values())
    wrong = dict.fromkeys(text for texts in words.values() for text in texts[:4])
    monkeypatch.setattr(kernel, "region_findings", lambda *given: iter(()))
    for text in wrong:
        with pytest.raises(Disagreement):
            judged(text)
