"""What is decided without a solver, against all values: conditions by ranges, rows by numbers, lifted loops."""

from __future__ import annotations

import random
from itertools import product

import pytest
from lab.draws import counted

from dmaverify.language.affine import ONE, Cond, Lin, World, both, compare
from dmaverify.program.instructions import CopyTouch, KernelLoop, Place, Use
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.lifted import flattened
from dmaverify.prove.flow.accesses.loops import At
from dmaverify.prove.flow.accesses.ranges import NEVER, as_narrow_as, settled
from dmaverify.prove.flow.order.pipe_meets import Meetings
from dmaverify.prove.flow.order.pipe_state import Encounter

NAMES = ("x", "y", "z")
NOWHERE = None


def worlds(rng: random.Random) -> World:
    world = World()
    for name in NAMES:
        low = rng.randint(-3, 3)
        world.free(name, low, low + rng.randint(0, 5))
    return world


def condition(rng: random.Random, world: World) -> Cond:
    term = Lin(rng.randint(-8, 8))
    for name in rng.sample(NAMES, rng.randint(1, 3)):
        term = term + Lin(0, ((name, 1),)) * rng.choice([-4, -2, -1, 1, 1, 2, 3])
    kind = rng.random()
    if kind < 0.2:
        term = world.modulo(term, rng.choice([2, 3])) + rng.randint(-2, 1)
    elif kind < 0.3:
        term = world.least(term, Lin(0, (("x", 1),)), most=rng.random() < 0.5)
    made = compare(rng.choice(["le", "le", "lt", "eq", "ne"]), term)
    return both([made, compare("le", term - 2)], rng.choice(["and", "or"])) if rng.random() < 0.2 else made


@pytest.mark.parametrize("least", [True, False])
@pytest.mark.parametrize("count", counted(150, 500))
def test_ranges_say_never_and_give_values_only_where_that_is_so(least: bool, count: int) -> None:
    rng = random.Random(7)
    decided = 0
    for _ in range(count):
        world = worlds(rng)
        conditions = [condition(rng, world) for _ in range(rng.randint(1, 4))]
        found = settled(world, conditions, least=least)
        boxes = [range(world.symbols[n].low or 0, (world.symbols[n].high or 0) + 1) for n in NAMES]
        held = [
            values
            for values in product(*boxes)
            if all(world.put_cond(c, {n: Lin(v) for n, v in zip(NAMES, values, strict=True)}).known for c in conditions)
        ]
        decided += found is not None
        if found == NEVER:
            assert not held
        elif found is not None:
            assert not isinstance(found, str)
            point = {n: Lin(v) for n, v in found.items()}
            assert all(world.put_cond(c, point).known for c in conditions)
            assert all((world.symbols[n].low or 0) <= v <= (world.symbols[n].high or 0) for n, v in found.items())
    assert decided > count * 33 // 50  # most of what kernels ask is as simple as this


def rows(touch: CopyTouch, at: int) -> set[int]:
    starts = [touch.place.address.const + dict(touch.place.address.terms).get("i", 0) * at]
    for count, stride in touch.steps:
        starts = [s + stride.const * i for i in range(count.const) for s in starts]
    return {s + k for s in starts for k in range(touch.length.const)}


def touch_of(rng: random.Random, kind: str, factor: int = 0) -> CopyTouch:
    steps = tuple((Lin(rng.randint(1, 3)), Lin(rng.choice([0, 4, 6, 8, 16]))) for _ in range(rng.randint(0, 2)))
    address = Lin(rng.randint(0, 40), (("i", factor),) if factor else ())
    return CopyTouch(kind, Place("ub", "", address), Lin(0), Lin(rng.randint(1, 8)), steps)


def use(number: int, touches: tuple[CopyTouch, ...], when: tuple[Cond, ...] = ()) -> Use:
    return Use(number, "V", touches, NOWHERE, "", when)  # type: ignore[arg-type]


def test_rows_of_numbers_meet_exactly_where_they_share_a_byte() -> None:
    rng = random.Random(11)
    met = 0
    for _ in range(500):
        one, two = touch_of(rng, "data"), touch_of(rng, "read")
        judge = Meetings(Asker(World(), 1000))
        judge.loops_of[1] = ()
        found = judge.meet(Encounter("raw", (1, ()), use(1, (one,)), one, use(2, (two,)), two, (), At({})))
        assert found == bool(rows(one, 0) & rows(two, 0))
        met += bool(found)
    assert 70 < met < 460


def test_a_lifted_loop_touches_what_its_iterations_touch() -> None:
    rng = random.Random(13)
    for _ in range(100):
        world = World()
        trip = rng.randint(1, 5)
        world.free("i", 0, trip - 1)
        touches = tuple(touch_of(rng, "data", rng.choice([0, 4, 8, 32])) for _ in range(2))
        loop = KernelLoop("i", Lin(trip), (use(1, touches),), NOWHERE)  # type: ignore[arg-type]
        made = flattened(loop, world)
        assert made is not None
        for before, after in zip(touches, made[0].touches, strict=True):
            assert set().union(*(rows(before, at) for at in range(trip))) == rows(after, 0)


def test_what_is_not_the_same_in_every_iteration_stays_a_loop() -> None:
    world = World()
    counter = world.free("i", 0, 7)
    other = world.free("n", 0, 9)
    place = Place("ub", "", counter * 4)
    for touch in (
        CopyTouch("data", place, counter, ONE, ()),  # the offset moves too
        CopyTouch("data", place, Lin(0), counter, ()),  # so does the length
        CopyTouch("data", Place("ub", "", world.modulo(counter, 2)), Lin(0), ONE, ()),  # the parity is no constant step
        CopyTouch("data", place, Lin(0), Lin(0), (), None, True),  # an extent that is not known
    ):
        loop = KernelLoop("i", Lin(8), (use(1, (touch,)),), NOWHERE)  # type: ignore[arg-type]
        assert flattened(loop, world) is None
    plain = CopyTouch("data", place, Lin(0), ONE, ())
    (made,) = flattened(KernelLoop("i", other, (use(1, (plain,)),), NOWHERE), world) or []  # type: ignore[arg-type]
    assert made.touches[0].steps == ((other, Lin(4)),)  # as often as the loop runs


def test_what_is_assumed_of_a_symbol_by_itself_bounds_it_for_a_while() -> None:
    world = World()
    for name in ("n", "m"):
        world.free(name, None, None)
    world.free("i", 0, None, varies=("j",))
    n, m, i = (Lin(0, ((name, 1),)) for name in ("n", "m", "i"))
    before = dict(world.symbols)
    bounds = [compare("le", n * 3 - 64), compare("le", Lin(4) - n * 3), compare("lt", m - n), compare("le", i - 8)]
    with as_narrow_as(world, [*bounds, both([compare("le", m - 5), compare("le", n - 2)], "or")]):
        assert world.interval(n) == (2, 21)
        assert world.interval(m) == (None, None)  # a sum of two, and one of two conditions
        assert world.interval(i) == (0, None)  # another value in each iteration
    assert world.symbols == before
    with as_narrow_as(world, [compare("le", n - 1), compare("le", Lin(2) - n)]):  # no value meets both
        assert world.interval(n) == (None, 1)
