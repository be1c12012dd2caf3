"""The search against all members of its space, its bounds against every member and the simulator, and its edges."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest
from brute import members, price
from lab.draws import rest
from moves import drawn, move

from dmaverify.cost.constants import cost_data
from dmaverify.cost.model import cost
from dmaverify.cost.simulate import simulate
from dmaverify.errors import InputError
from dmaverify.plan.read import read_plan_text
from dmaverify.program.command import Command, Engine, Port
from dmaverify.prove.move.check import Options
from dmaverify.report.synth import synth_text
from dmaverify.synth import regions, search, shares
from dmaverify.synth.shares import within_shared
from dmaverify.synth.spans import low_first, ranges
from dmaverify.synth.synthesize import covers_of, machine_of, synthesize
from dmaverify.targets.target import load_target
from dmaverify.values import replace

RNGD = load_target("rngd")
DATA = cost_data("book")


# in 21 and 97 the closed form leaves out what decides; all 300: tests/bench/synth_exhaustive.py
SAMPLE = (3, 7, 21, 58, 97)


@cache
def programs(seed: int, fitted: bool) -> tuple[Sequence[Command], ...]:
    data = cost_data("schedule" if fitted else "book")
    return tuple(program for _, program in members(drawn(seed)[1], RNGD, 2, data))


@pytest.mark.parametrize(
    ("seed", "profile"),
    [
        *((seed, "book") for seed in SAMPLE),
        *((seed, profile) for seed in (3, 97) for profile in ("schedule", "silicon")),
        *rest([(seed, profile) for seed in (7, 21, 58) for profile in ("schedule", "silicon")]),
    ],
)
def test_the_search_finds_the_least_cost_of_the_whole_space_and_its_bound_holds(seed, profile):
    axes, moved = drawn(seed)
    found = synthesize(moved, RNGD, axes=axes, profile=profile, engines=2, evaluations=100_000, advise=False)
    costs = [price(program, cost_data(profile)) for program in programs(seed, profile != "book")]
    assert found.found == bool(costs)
    if costs:
        assert found.optimal
        assert found.cycles == pytest.approx(min(costs))
        assert found.bound <= min(costs) + 1e-6


@pytest.mark.parametrize(("room", "limit"), [(regions, "MOST_BOXES"), (shares, "MOST_LANES")])
def test_nothing_is_optimal_that_a_plan_left_out_for_its_boxes_beats(room, limit, monkeypatch):
    axes = {"H": 300, "G": 4, "C": 8}
    source = {"tier": "hbm", "element": "G, H # 384, C"}
    moved = move(axes, source, {"tier": "dm", "element": "H # 384 / 128, G, H # 384 % 128, C"})
    least = synthesize(moved, RNGD, axes=axes, engines=2, advise=False).cycles
    for owner in {room, search} if hasattr(search, limit) else {room}:
        monkeypatch.setattr(owner, limit, 1)
    found = synthesize(moved, RNGD, axes=axes, engines=2, evaluations=100_000, advise=False)
    assert found.cycles > least
    assert found.bound <= least + 1e-6
    assert not found.optimal
    assert "are left" in " ".join(found.evidence)


def test_a_move_all_of_whose_covers_are_left_out_has_no_plan_and_says_why(monkeypatch):
    axes = {"A": 4, "C": 64}
    moved = move(axes, {"tier": "hbm", "element": "A, C"}, {"tier": "dm", "slice": "A", "element": "C"})
    monkeypatch.setattr(shares, "MOST_LANES", 0)
    found = synthesize(moved, RNGD, axes=axes, advise=False)
    assert not found.found
    assert "no plan was found (covers of more than" in found.evidence[0]


@pytest.mark.parametrize("padded", ["A % 3", "A % 3 # 9"])
def test_padding_between_two_parts_of_an_axis_in_the_source_cuts_no_run(padded):
    """With a cut at 9 of A, the four outer values would come as 3 and 1, in packets of 12 and 4 bytes."""
    axes = {"A": 12, "B": 32}
    source = {"tier": "hbm", "element": f"B, {padded}, A / 3"}
    moved = move(axes, source, {"tier": "hbm", "base": 1 << 20, "element": "A % 3, B, A / 3"}, "f32")
    found = synthesize(moved, RNGD, axes=axes, engines=1, advise=False)
    assert found.optimal
    assert {one.packet for one in found.commands} == {16}


def test_slices_are_set_up_while_what_one_of_them_is_sent_waits_for_it():
    """Two packets of five requests into a slice: with both times added nothing would be below 1,313.2 cycles."""
    axes = {"A": 30, "B": 3, "C": 24}
    source = {"tier": "hbm", "element": "C / 3, B, C % 3, A"}
    moved = move(axes, source, {"tier": "dm", "base": 256, "slice": "C / 3 # 64", "element": "B, C % 3, A"}, "f32")
    found = synthesize(moved, RNGD, axes=axes, profile="silicon", packet=1080, advise=False)
    assert found.bound <= cost(found.commands, profile="silicon").cycles == found.cycles < 1303


@pytest.mark.parametrize(("shared", "kept"), [(True, True), (False, False)])
def test_a_slice_of_a_shared_region_is_one_engines_in_a_profile_whose_rows_have_it_so(shared, kept):
    """Published schedules of one region: 10,069 and 5,308 cycles; parts of it by several engines were never timed."""
    axes = {"R": 64, "H": 2048}
    source = {"tier": "hbm", "element": "H" if shared else "R, H"}
    moved = move(axes, source, {"tier": "dm", "slice": "R", "element": "H"}, "bf16")
    for profile, own in (("schedule", kept), ("book", False)):
        machine = machine_of(moved, RNGD, None, cost_data(profile))
        within = [within_shared(box, machine.apart) for box in covers_of(moved, RNGD, machine).each[0].boxes]
        assert any(within) == own
    found = synthesize(moved, RNGD, axes=axes, profile="schedule", engines=2, advise=False)
    assert found.band is not None
    assert found.band.modelled


UNEVEN = """schema = 1
target = "rngd"
[axes]
H = 17640
[transfer.padded]
dtype = "i8"
source = { tier = "hbm", base = 0, element = "H # 20160 / 5040, H # 20160 % 5040" }
dest = { tier = "hbm", base = 65536, element = "H # 20160 / 5040, H # 20160 % 5040 # 5120" }
"""


def test_choices_of_packets_that_are_left_out_are_said_and_nothing_is_optimal_above_their_floor(monkeypatch):
    plan = read_plan_text(UNEVEN)
    moved = plan.transfers[0].transfer
    monkeypatch.setattr(search, "MOST_PACKETS", 3)
    found = synthesize(moved, RNGD, axes=plan.axes, engines=1, evaluations=200_000, advise=False)
    assert found.found
    assert not found.optimal
    assert "choices of more than 3 packets are left" in " ".join(found.evidence)


@pytest.mark.parametrize(("seed", "window"), [(0, 1024), (3, 1024), (14, 512), (3, 64)])
def test_bounds_hold_for_machines_of_other_requests(seed, window, monkeypatch):
    data = replace(DATA, hbm=replace(DATA.hbm, window=window))
    monkeypatch.setattr("dmaverify.synth.synthesize.cost_data", lambda *_: data)
    axes, moved = drawn(seed)
    least = min(cost(program, data).cycles for _, program in members(moved, RNGD, 2))
    found = synthesize(moved, RNGD, axes=axes, engines=2, evaluations=100_000, advise=False)
    assert found.bound <= least + 1e-6


@pytest.mark.slow
def test_the_result_is_the_same_each_time_and_within_a_small_budget_the_gap_is_said():
    axes, moved = drawn(7)
    first, again = (synthesize(moved, RNGD, axes=axes, advise=False) for _ in range(2))
    assert first.plan == again.plan
    assert first.evidence == again.evidence
    axes = {"O": 3840, "I": 3840}
    spread = {"tier": "dm", "slice": "O / 15", "element": "O % 15, I"}
    hard = move(axes, {"tier": "hbm", "element": "O, I"}, spread, "i4")
    short = synthesize(hard, RNGD, axes=axes, profile="measured", evaluations=20, advise=False)
    assert short.found
    assert not short.optimal
    assert short.gap > 0
    assert short.bound < short.cycles


@pytest.mark.parametrize("seed", [4, *rest((1, 9))])
def test_the_winner_in_the_simulator_needs_at_least_the_bound(seed):
    axes, moved = drawn(seed)
    found = synthesize(moved, RNGD, axes=axes, advise=False)
    assert found.found
    assert simulate(found.commands, DATA).cycles >= found.bound - 1e-6


# ---------------------------------------------------------------- no legal plan, by rule


@pytest.mark.parametrize(
    ("axes", "source", "dest", "dtype", "rule"),
    [
        ({"A": 4099}, {"tier": "hbm", "element": "A"}, {"tier": "dm", "slice": "1 # 64", "element": "A"},
         "i8", "rngd/"),
        ({"A": 8}, {"tier": "hbm", "element": "A"}, {"tier": "dm", "slice": "1 # 64", "element": "A # 1048576"},
         "i8", "rngd/slice-capacity"),
        ({"A": 8, "D": 512}, {"tier": "hbm", "element": "A, D % 256"},
         {"tier": "hbm", "base": 65536, "element": "A, D"}, "i8", "core/same-element"),
        ({"A": 6, "B": 5}, {"tier": "hbm", "element": "A, B"}, {"tier": "hbm", "base": 64, "element": "B, A"}, "i4",
         "rngd/command-whole-bytes"),
    ],
)  # fmt: skip
def test_where_no_plan_is_legal_the_rule_is_named(axes, source, dest, dtype, rule):
    found = synthesize(move(axes, source, dest, dtype), RNGD, axes=axes)
    assert not found.found
    assert not found.optimal
    assert rule in " ".join(found.refused[0])


def test_cuts_without_a_common_refinement_become_several_proved_commands():
    axes = {"A": 15}
    moved = move(
        axes, {"tier": "hbm", "element": "A % 5, A / 5"}, {"tier": "hbm", "base": 64, "element": "A % 3, A / 3"}
    )
    found = synthesize(moved, RNGD, axes=axes, advise=False)
    assert found.found
    assert len(found.commands) > 1
    assert found.transfer.stream is None


def test_rows_that_only_some_packets_keep_aligned_get_such_a_packet():
    axes = {"A": 16, "C": 120}
    moved = move(axes, {"tier": "hbm", "element": "A, C"}, {"tier": "dm", "slice": "A # 64", "element": "C # 128"})
    found = synthesize(moved, RNGD, axes=axes, advise=False)
    assert found.found
    assert all(c.packet % 8 == 0 for c in found.commands)


def test_a_limit_of_entries_is_kept_by_the_orders_that_merge_and_named_where_none_does():
    axes = {"A": 4, "B": 4, "C": 4, "D": 256}
    moved = move(
        axes, {"tier": "hbm", "element": "A, B, C, D"}, {"tier": "hbm", "base": 1 << 20, "element": "C, A, B, D"}
    )
    found = synthesize(moved, RNGD, axes=axes, entries=3, engines=1, advise=False)
    assert found.found
    assert max(len(c.read_text.entries) for c in found.commands if c.read_text) <= 3
    none = synthesize(moved, RNGD, axes=axes, entries=1, engines=1, packet=256, advise=False)
    assert not none.found
    assert none.refused[0][0] == "rngd/entries-max"


def test_a_loop_longer_than_a_sequencer_counts_is_cut_and_one_that_just_fits_is_not():
    for rows, loops in ((65_536, 2), (131_072, 3)):
        axes = {"A": rows, "B": 2, "C": 8}
        there = {"tier": "hbm", "base": 1 << 24, "element": "B, A, C"}
        moved = move(axes, {"tier": "hbm", "element": "A, B, C"}, there)
        found = synthesize(moved, RNGD, axes=axes, engines=1, advise=False)
        (one,) = found.commands
        assert len(one.loops) == loops
        assert max(loop.count for loop in one.loops) <= 65_536


def test_equal_parts_are_preferred_to_fewer_commands():
    axes = {"A": 64, "B": 8, "C": 256}
    moved = move(axes, {"tier": "hbm", "element": "A, B, C"}, {"tier": "dm", "slice": "A", "element": "B, C"})
    found = synthesize(moved, RNGD, axes=axes, advise=False)
    assert len({one.loops for one in found.commands}) == 1


@pytest.mark.slow
def test_a_time_budget_that_ends_says_so_and_leaves_a_plan_with_its_gap():
    axes = {"O": 3840, "I": 3840}
    spread = {"tier": "dm", "slice": "O / 15", "element": "O % 15, I"}
    moved = move(axes, {"tier": "hbm", "element": "O, I"}, spread, "i4")
    found = synthesize(moved, RNGD, axes=axes, profile="measured", budget_seconds=1e-3, advise=False)
    assert found.found
    assert found.gap > 0
    assert any("the time ended" in line for line in found.evidence)


def test_fixed_parts_are_kept():
    axes = {"A": 8, "B": 8, "C": 256}
    moved = move(axes, {"tier": "hbm", "element": "A, B, C"}, {"tier": "hbm", "base": 1 << 16, "element": "B, A, C"})
    found = synthesize(moved, RNGD, axes=axes, engines=1, packet=128, order_prefix=("B",), advise=False)
    assert len(found.commands) == 1
    assert found.commands[0].packet == 128
    assert found.commands[0].loops[0].label == "B"
    with pytest.raises(InputError):
        synthesize(moved, RNGD, axes=axes, engines=9)


def test_readings_reach_the_rules():
    axes = {"A": 16, "C": 12}
    moved = move(axes, {"tier": "dm", "slice": "A # 64", "element": "C # 16"}, {"tier": "hbm", "element": "A, C"})
    assert synthesize(moved, RNGD, axes=axes, advise=False).found
    strict = Options(readings={"rngd/dm-hbm-align": "both-ways"})
    assert synthesize(moved, RNGD, axes=axes, options=strict).refused[0][0] == "rngd/dm-hbm-align"


# ---------------------------------------------------------------- uneven ranges


@pytest.mark.parametrize("limit", range(1, 25))
def test_boxes_of_uneven_ranges_hold_each_value_once(limit):
    digits = ((6, 4), (2, 3), (1, 2))

    def values(boxes):
        out = []
        for start, shape in boxes:
            found = [start]
            for weight, count in shape:
                found = [x + weight * v for x in found for v in range(count)]
            out += found
        return sorted(out)

    assert values(ranges(digits, 0, limit)) == list(range(limit))
    assert values(low_first(digits, limit)) == list(range(limit))
    assert values(ranges(digits, limit // 2, limit)) == list(range(limit // 2, limit))


# ---------------------------------------------------------------- padding that both sides share

SHARED = """
schema = 1
target = "rngd"
[axes]
E = 64
F = 250
[transfer.t]
dtype = "i8"
source = {{ tier = "{tier}", base = 0, {slice}element = "{e}F # {source}" }}
dest = {{ tier = "hbm", base = 1048576, element = "E, F # {dest}" }}
read = "[64:{step}, {both}:1]:{both} {tier_of}/D@0"
write = "[64:{dest}, {both}:1]:{both} HBM/D@1048576"
"""


def shared(tier: str, source: int, dest: int) -> str:
    inside = tier == "dm"
    return SHARED.format(
        tier=tier, tier_of=tier.upper(), source=source, dest=dest, both=min(source, dest), e="" if inside else "E, ",
        slice='slice = "E", ' if inside else "", step="slice_stride" if inside else source,
    )  # fmt: skip


@pytest.mark.parametrize("tier", ["hbm", "dm"])
@pytest.mark.parametrize(("source", "dest"), [(256, 256), (512, 256), (256, 512), (256, 264)])
def test_packets_run_on_through_padding_that_both_sides_share(tier: str, source: int, dest: int) -> None:
    """The row of 250 bytes goes as whole windows; that the destination is padded further changes nothing."""
    plan = read_plan_text(shared(tier, source, dest))
    (item,) = plan.transfers
    found = synthesize(item.transfer, RNGD, axes=plan.axes, advise=False)
    assert found.optimal
    assert found.before is not None
    assert found.cycles <= found.before.cycles + 1e-6
    assert found.bound <= found.before.cycles + 1e-6


def test_a_program_that_is_none_of_the_space_is_kept_and_nothing_is_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "_places", lambda layout, axis: 1 << 40)
    plan = read_plan_text(shared("dm", 256, 512))
    (item,) = plan.transfers
    found = synthesize(item.transfer, RNGD, axes=plan.axes, advise=False)
    assert found.before is not None
    assert (found.cycles, found.optimal, found.bound) == (found.before.cycles, False, 0.0)
    assert "NO BOUND" in synth_text(found)


@pytest.mark.parametrize("profile", ["schedule", "silicon"])
@pytest.mark.parametrize("size", [1024, 4099])
def test_stores_set_up_no_slices_so_that_no_bound_is_above_its_plan(size: int, profile: str) -> None:
    axes = {"A": size}
    stored = move(
        axes, {"tier": "dm", "slice": "1 # 64", "element": "A"}, {"tier": "hbm", "base": 8, "element": "A"}, "bf16"
    )
    found = synthesize(stored, RNGD, axes=axes, profile=profile, advise=False)
    assert found.cycles == pytest.approx(cost(found.commands, cost_data(profile)).cycles)
    assert found.bound <= found.cycles + 1e-6


@pytest.mark.parametrize(
    ("tier", "profile", "said"),
    [("dm", "schedule", "within "), ("hbm", "schedule", "profile schedule has 0 rows of moves within HBM"),
     ("dm", "silicon", "predicts  nothing"), ("dm", "book", "")],
)  # fmt: skip
def test_an_answer_says_how_far_its_profile_may_be_off(tier: str, profile: str, said: str) -> None:
    plan = read_plan_text(shared(tier, 256, 256))
    (item,) = plan.transfers
    found = synthesize(item.transfer, RNGD, axes=plan.axes, profile=profile, engines=1, advise=False)
    assert said in synth_text(found)
    assert ("band" in found.as_data()) == (profile != "book")


@pytest.mark.parametrize(("source", "dest"), [("host", "hbm"), ("hbm", "host")])
def test_what_engines_share_over_a_link_is_priced_as_the_plan_that_is_printed(source: str, dest: str) -> None:
    axes = {"A": 2, "C": 32, "B": 8}
    into = {"tier": dest, "base": 1 << 20, "element": "A, C, B"}
    moved = move(axes, {"tier": source, "element": "A, C, B"}, into, "i8")
    found = synthesize(moved, RNGD, axes=axes, advise=False)
    assert found.cycles == pytest.approx(cost(found.commands, DATA).cycles)
    assert found.bound <= found.cycles + 1e-6
    assert found.cycles < 517  # one engine takes the start-up and 512 bytes at 30 a cycle


@pytest.mark.parametrize(
    ("source", "cycles", "optimal"),
    [
        ("A / 64, A % 64", 623.7, True),  # every element at one place
        ("A / 64, A % 256", 623.7, False),  # runs of 64 where the largest digit counts: 9,199.7 cycles
        ("2, A", 581.0, False),
    ],
)
def test_a_source_that_holds_elements_twice_is_read_where_it_is_cheapest_and_nothing_is_optimal_of_it(
    source: str, cycles: float, optimal: bool
) -> None:
    axes = {"A": 1 << 16}
    moved = move(axes, {"tier": "hbm", "element": source}, {"tier": "hbm", "base": 1 << 20, "element": "A"})
    found = synthesize(moved, RNGD, axes=axes, advise=False)
    assert found.cycles <= cycles + 0.05
    assert found.optimal == optimal, found.evidence
    assert found.optimal or found.bound == pytest.approx(564.0)
    assert optimal or "now at one of their places in the source, now at another, are left" in " ".join(found.evidence)


def test_copies_in_the_source_are_runs_with_copies_in_the_destination() -> None:
    axes = {"A": 128}
    both = [{"tier": "hbm", "base": base, "element": "2, A"} for base in (0, 1 << 20)]
    found = synthesize(move(axes, *both), RNGD, axes=axes, advise=False)
    assert [one.packet for one in found.commands] == [256]


@pytest.mark.parametrize(("rows", "word"), [(5, "among the shares of engines that are tried"), (8, "")])
def test_optimal_names_the_shares_where_the_floor_of_the_resources_is_not_met(rows: int, word: str) -> None:
    axes = {"A": rows, "B": rows, "E": 256}
    moved = move(axes, {"tier": "hbm", "element": "A, B, E"}, {"tier": "hbm", "base": 1 << 20, "element": "B, A, E"})
    found = synthesize(moved, RNGD, axes=axes, advise=False)
    assert found.optimal
    assert found.claim == f"OPTIMAL for this model {word}".strip() + (" (no share can beat 507.0 cycles)" * bool(word))
    assert f"certificate   {found.claim}, profile book" in synth_text(found)
    assert found.as_data()["claim"] == found.claim


@pytest.mark.parametrize(("source", "dest", "falling"), [(0, 512, True), (512, 0, False), (0, 1 << 20, False)])
def test_a_move_up_within_one_memory_begins_at_its_end(source: int, dest: int, falling: bool) -> None:
    axes = {"R": 4, "C": 256}
    sides = [{"tier": "hbm", "base": base, "element": "R, C # 512"} for base in (source, dest)]
    found = synthesize(move(axes, *sides), RNGD, axes=axes, advise=False)
    assert found.found
    assert found.cycles <= 516.0
    apart = [
        Command(Port("hbm", source + 512 * row), Port("hbm", dest + 512 * row), (), 256, 256, Engine(0, 0, row))
        for row in range(4)
    ]
    assert (
        found.bound <= cost(apart).cycles <= simulate(apart).cycles
    )  # what several engines could reach is not left out
    steps = [loop.read for one in found.commands for loop in one.loops if abs(loop.read) >= 512]
    assert all((step < 0) == falling for step in steps)
    assert bool(steps) or not falling


def test_a_runner_up_is_as_cheap_only_where_it_costs_as_much() -> None:
    axes = {"A": 4, "C": 256}
    moved = move(axes, {"tier": "hbm", "element": "A, C"}, {"tier": "hbm", "base": 65536, "element": "A, C"})
    found = synthesize(moved, RNGD, axes=axes, advise=False)
    costs = ((f"{found.cycles:,.1f}", found.cycles), (f"{found.cycles + 0.1:,.1f}", found.cycles + 0.1))
    others = replace(found, runners_up=tuple(("other", cycles, None) for _, cycles in costs))
    said = [line for line in synth_text(others).split("\n") if line.endswith(", other")]
    assert said == [f"as cheap      {costs[0][0]}, other", f"dearer        {costs[1][0]}, other"]


@pytest.mark.parametrize(("live", "clusters", "cycles"), [("S", {0}, 26475), ("S % 256", {0, 1}, 13512)])
def test_a_fitted_profile_prices_a_cluster_by_its_own_engines(live: str, clusters: set[int], cycles: int) -> None:
    """Rows K01 and K03: 15.7 MB into one cluster, and into two. All engines of the chip would take 22,076 for K01."""
    axes = {"S": 256 * len(clusters), "C": 61440 // len(clusters)}
    place = {"cluster": "S / 256"} if len(clusters) > 1 else {}
    moved = move(axes, {"tier": "hbm", "element": "S, C"}, {"tier": "dm", "slice": live, "element": "C", **place})
    found = synthesize(moved, RNGD, axes=axes, profile="schedule", advise=False)
    assert {one.engine.cluster for one in found.commands if one.engine} == clusters
    ends = found.band.as_data(found.cycles) if found.band else {}
    assert ends["low"] <= cycles <= ends["high"]
    assert {one.engine.cluster for one in synthesize(moved, RNGD, axes=axes, advise=False).commands if one.engine} == {
        0, 1,
    }  # fmt: skip
