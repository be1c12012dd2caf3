"""One address sequence has one price, however its loops are written: every profile, both evaluators."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from cost_programs import command, dm, engines, hbm
from lab.draws import counted
from lab.rewritings import rewritten, run

from dmaverify.cost.model import cost
from dmaverify.cost.simulate import simulate
from dmaverify.program.command import Command, Engine, Loop

SLICE = 1 << 22


def drawn(seed: int) -> list[Command]:
    """A few commands of engines side by side: loads, replicated loads, stores, copies; runs of many sizes."""
    draw = random.Random(seed)
    packet = draw.choice((8, 64, 128, 256, 512, 1024))
    burst = packet * draw.choice((1, 1, 2, 6))
    kind = draw.choice(("load", "load", "store", "copy", "reread"))
    counts = [draw.choice((2, 4, 6, 15, 30)) for _ in range(draw.randint(1, 3))]
    far, loops, step = [draw.choice((burst, burst + 256, 4096, 1 << 16)) for _ in counts], [], burst
    for count, stride in zip(counts, far, strict=True):
        read = max(step, stride)
        loops.insert(0, Loop(count, 0 if kind == "reread" and draw.random() < 0.5 else read, step))
        step *= count
    if kind != "copy":
        loops.insert(draw.randint(0, len(loops)), Loop(draw.choice((2, 4, 8)), step if kind != "reread" else 0, SLICE))
    out = []
    for engine in engines()[: draw.choice((1, 2, 4))]:
        base = draw.choice((0, 256, 64)) + (engine.dmn << 24)
        near, place = hbm(base), dm(engine.dmn * 64 * SLICE, engine.cluster)
        ports = {"store": (place, near), "copy": (near, hbm(base + (1 << 32)))}.get(kind, (near, place))
        nest = [Loop(x.count, x.write, x.read) for x in loops] if kind == "store" else loops
        out.append(Command(*ports, tuple(nest), burst, packet, engine))
    return out


@pytest.mark.parametrize("profile", ["book", "measured", "silicon"])
@pytest.mark.parametrize("count", counted(40, 150))
def test_rewriting_the_loops_of_a_program_changes_no_price(profile: str, count: int) -> None:
    for seed in range(count):
        commands = drawn(seed)
        draw = random.Random(seed)
        again = [rewritten(c, draw) for c in commands]
        first, second = cost(commands, profile=profile), cost(again, profile=profile)
        assert (first.cycles, first.exact, first.terms) == (second.cycles, second.exact, second.terms), seed
        if seed % 10 == 0:
            played = simulate(commands, profile=profile), simulate(again, profile=profile)
            assert played[0].cycles == played[1].cycles, seed


def test_a_loop_of_thirty_is_a_loop_of_fifteen_around_one_of_two() -> None:
    plain = Command(hbm(), dm(), (Loop(30, 256, 256), Loop(64, 0, SLICE)), 256, 256)
    loops = (Loop(15, 512, 512), Loop(2, 256, 256), Loop(2, 0, 32 * SLICE), Loop(32, 0, SLICE))
    split = Command(hbm(), dm(), loops, 256, 256)
    assert split.normal == plain
    assert cost([plain], profile="measured").cycles == cost([split], profile="measured").cycles


def test_engines_that_read_one_region_in_packets_of_other_sizes_take_turns_at_it() -> None:
    """172,073 cycles, and 89,472 where one of four engines wrote the same reads in packets of 512 bytes."""
    for profile in ("schedule", "silicon"):
        loops = (Loop(24, 256, SLICE), Loop(32, 0, 2048))
        alike = [Command(hbm(), dm(e.dmn * 64 * SLICE), loops, 2048, 2048, e) for e in engines()[:4]]
        other = [replace(alike[0], packet=512), *alike[1:]]
        assert cost(alike, profile=profile).cycles == cost(other, profile=profile).cycles
        assert all(simulate(one, profile=profile).cycles >= cost(one, profile=profile).cycles for one in (alike, other))
        short = [replace(alike[0], burst=256, packet=256), *alike[1:]]  # what it reads is not what the others read
        assert cost(short, profile=profile).cycles < cost(alike, profile=profile).cycles


def test_engines_that_read_one_region_in_other_orders_take_turns_at_it() -> None:
    """30,614 cycles, and 21,230 where each of four engines had loops of its own; what is read beside it is not it."""
    for profile in ("schedule", "silicon"):
        loops = (Loop(8, 128, 64), Loop(2, 64, 512), Loop(64, 0, SLICE))
        alike = [Command(hbm(), dm(e.dmn * 64 * SLICE), loops, 64, 64, e) for e in engines()[:4]]
        turned = [replace(one, loops=loops[n % 3 :] + loops[: n % 3]) for n, one in enumerate(alike)]
        first = Loop(4, 256, 128), Loop(2, 128, 64), *loops[1:]
        prices = [cost(some, profile=profile) for some in (alike, turned, [replace(alike[0], loops=first), *alike[1:]])]
        assert len({price.terms[1].why for price in prices}) == 1
        assert "4 engines read the same windows in turn" in prices[0].terms[1].why
        other = [replace(alike[0], read=hbm(1024)), *alike[1:]]
        assert "4 engines" not in cost(other, profile=profile).terms[1].why


@pytest.mark.parametrize("count", counted(40, 160))
def test_no_rewriting_of_an_adversarial_program_changes_a_price(count: int) -> None:
    assert run(0, count, ["book", "schedule", "silicon"]) == []


@pytest.mark.parametrize("base", [0, 8, 64])
@pytest.mark.parametrize("run", [64, 256])
def test_a_row_more_is_never_cheaper(run: int, base: int) -> None:
    """Nor where the number of rows is no power of two: bank groups are counted for any loops, and a window is read
    many times by its bytes, not by where it begins. The simulator is the bound of each.
    """
    for profile in ("book", "schedule-older"):
        before = 0.0
        for rows in range(1, 18):
            one = command(hbm(base), dm(), [(8, 0, SLICE), (rows, run, run)], run)
            alone = command(hbm(base), dm(), [(rows, run, run)], run)
            both = cost([one], profile=profile).cycles + cost([alone], profile=profile).cycles
            assert before <= both, (profile, rows)
            before = both


def test_packets_that_begin_inside_of_windows_are_not_read_again() -> None:
    """From byte 8 on every fourth packet of 64 B touches a second window; of 48 B five and more begin in each."""
    for size, again in ((64, False), (48, True)):
        one = [command(hbm(8), dm(), [(44, size, size)], size)]
        price, played = cost(one, profile="schedule"), simulate(one, profile="schedule")
        assert ("each window is read many times" in price.terms[1].why) == again
        assert price.cycles <= played.cycles < price.cycles + 40


def test_bank_groups_of_engines_add_up_and_of_one_engine_follow_the_example() -> None:
    """Nine rows of a window that eight slices read: 32 requests of one bank group at half the rate, of two engines 64.
    Commands one after the other are no lower bound of it by themselves ("DMA Engine", Example 6), together they are.
    """
    first, second = (
        command(hbm(), dm(k * 64 * SLICE), [(8, 0, SLICE), (9, 64, 64)], 64, Engine(0, 0, k)) for k in (0, 1)
    )
    alone, beside = cost([first]), cost([first, second])
    assert alone.cycles > 800
    assert beside.cycles - alone.cycles == pytest.approx(32 * 32 / 3, abs=1)
    after = cost([first, replace(second, engine=first.engine)])
    assert {t.name for t in after.terms} >= {"bank groups, all engines"}
    assert "bank groups" not in {t.name for t in after.terms}
