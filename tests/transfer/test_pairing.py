"""A read and a write sequencer as one command: the same addresses in the same order, or the reason why not."""

from __future__ import annotations

import itertools
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmaverify.errors import Source, Span
from dmaverify.language.expr import ONE
from dmaverify.lower.pairing import PortRule, Trouble, pair, split_burst
from dmaverify.program.command import Command, Engine, Entry, GivenCommand, Loop, Port, Sequencer
from dmaverify.program.tensor import Tensor

SLICE = 4 << 20
HBM = PortRule(("chip",), {})
DM = PortRule(("chip", "cluster", "dmn"), {"dmn": 64 * SLICE})
RULES = {"hbm": HBM, "dm": DM}
TEXT = Source("<test>", " " * 400)


def seq(entries: list[tuple[int, int]], packet: int = 1, labels: str = "", **more: object) -> Sequencer:
    """Each number of the text has a span of its own, so that a test can say which one is blamed."""
    made = []
    for index, (count, stride) in enumerate(entries):
        at = 10 * index
        spans = (Span(TEXT, at, at + 8), Span(TEXT, at, at + 3), Span(TEXT, at + 4, at + 8))
        made.append(Entry(count, stride, labels[index : index + 1], *spans))
    return Sequencer(tuple(made), packet, **more)  # type: ignore[arg-type]


def pair_of(
    read: Sequencer, write: Sequencer, engine: Engine | None = None, source: Tensor | None = None,
    dest: Tensor | None = None, unit_bits: int = 8,
) -> Command | list[Trouble]:  # fmt: skip
    a, b = source or Tensor("hbm", ONE), dest or Tensor("dm", ONE)
    return pair(GivenCommand(engine, read, write), a, b, (RULES[a.tier], RULES[b.tier]), unit_bits)


def at(span: Span | None) -> tuple[int, int] | None:
    return None if span is None else (span.start, span.end)


def paired(*args: object, **more: object) -> Command:
    found = pair_of(*args, **more)  # type: ignore[arg-type]
    assert isinstance(found, Command), found
    return found


def mismatches(*args: object, **more: object) -> list[Trouble]:
    found = pair_of(*args, **more)  # type: ignore[arg-type]
    assert isinstance(found, list)
    return found


def loops(command: Command) -> list[tuple[int, int, int]]:
    return [(x.count, x.read, x.write) for x in command.loops]


# ---------------------------------------------------------------- loops


def test_equal_counts_pair_entry_by_entry():
    # "DMA Engine", Example 1
    command = paired(seq([(8, 2048), (8, 256), (256, 1)], 256, "ABC"), seq([(8, 256), (8, 2048), (256, 1)], 256, "ABC"))
    assert loops(command) == [(8, 2048, 256), (8, 256, 2048)]
    assert (command.burst, command.packet) == (256, 256)
    assert [x.label for x in command.loops] == ["A", "B"]
    assert at(command.loops[1].read_span) == (10, 18)


def test_different_counts_are_cut_where_they_refine():
    assert loops(paired(seq([(8, 10)]), seq([(2, 100), (4, 7)]))) == [(2, 40, 100), (4, 10, 7)]
    assert loops(paired(seq([(4, 100), (6, 1)]), seq([(24, 3)]))) == [(4, 100, 18), (6, 1, 3)]


def test_entries_of_one_iteration_are_no_loops():
    assert loops(paired(seq([(1, 99), (4, 10), (1, 5)]), seq([(4, 7)]))) == [(4, 10, 7)]
    assert loops(paired(seq([(1, 99)]), seq([(1, 7), (1, 1)]))) == []


def test_labels_that_differ_are_shown_both():
    assert [x.label for x in paired(seq([(4, 10)], 1, "A"), seq([(4, 7)], 1, "B")).loops] == ["A|B"]
    assert [x.label for x in paired(seq([(4, 10)]), seq([(4, 7)], 1, "B")).loops] == ["B"]


def test_counts_without_a_common_refinement_are_a_mismatch_that_names_the_entries():
    (problem,) = mismatches(seq([(2, 100), (6, 1)]), seq([(3, 100), (4, 7)]))
    assert "neither 6 nor 4 divides the other" in problem.message
    assert at(problem.span) == (10, 18)


def test_neighbours_that_step_as_one_are_no_cut():
    # 2:6, 6:1 walks 12:1, which the write's 4 divides
    assert loops(paired(seq([(2, 6), (6, 1)]), seq([(3, 100), (4, 7)]))) == [(3, 4, 100), (4, 1, 7)]
    assert loops(paired(seq([(3, 100), (4, 7)]), seq([(2, 6), (6, 1)]))) == [(3, 100, 4), (4, 7, 1)]


# ---------------------------------------------------------------- what makes no sense


def test_amounts_that_differ_name_the_first_entry_that_does():
    # "DMA Engine", Implementation Details: read and write amounts must match; the basic example prints C=8, N=3
    (problem,) = mismatches(seq([(8, 8), (3, 64), (3, 192), (8, 1)], 8), seq([(8, 192), (8, 32), (3, 8), (8, 1)], 8))
    assert "576" in problem.message
    assert "1536" in problem.message
    assert at(problem.span) == at(problem.other) == (10, 13)


def test_amounts_that_differ_with_different_entries_name_no_entry():
    (problem,) = mismatches(seq([(8, 8), (3, 64)]), seq([(8, 192)]))
    assert "entry" not in problem.message


def test_one_packet_crosses_both_sides():
    (problem,) = mismatches(seq([(16, 1)], 8), seq([(16, 1)], 16))
    assert "the read packet is 8, the write packet 16" in problem.message


@pytest.mark.parametrize("count", [0, -1])
def test_a_loop_runs_at_least_once(count):
    (problem,) = mismatches(seq([(count, 8), (4, 1)]), seq([(4, 1)]))
    assert f"runs {count} times" in problem.message
    assert at(problem.span) == (0, 3)


def test_everything_wrong_is_said_at_once():
    assert len(mismatches(seq([(0, 1), (0, 2)]), seq([(0, 1)]))) == 3
    assert len(mismatches(seq([(4, 1)], 2), seq([(8, 1)], 4))) == 2


# ---------------------------------------------------------------- bases


def test_a_printed_base_takes_its_leading_parts_from_the_engine():
    engine = Engine(2, 1, 3)
    command = paired(seq([(4, 1)], base=1024), seq([(4, 1)], base=8), engine)
    assert command.read == Port("hbm", 1024, 2, 0)
    assert command.write == Port("dm", 3 * 64 * SLICE + 8, 2, 1)


def test_printed_parts_count_from_the_right_and_go_before_the_engine():
    engine = Engine(2, 1, 3)
    assert paired(seq([(4, 1)]), seq([(4, 1)], base=8, place=(0,)), engine).write == Port("dm", 8, 2, 1)
    assert paired(seq([(4, 1)]), seq([(4, 1)], base=8, place=(0, 1, 2)), engine).write == Port(
        "dm", 2 * 64 * SLICE + 8, 0, 1
    )


def test_without_a_base_the_tensor_lies_where_the_plan_says():
    source, dest = Tensor("hbm", ONE, base=64, at_chip=1), Tensor("dm", ONE, base=32, at_chip=1, at_cluster=1)
    command = paired(seq([(4, 1)]), seq([(4, 1)]), None, source, dest)
    assert (command.read, command.write) == (Port("hbm", 64, 1, 0), Port("dm", 32, 1, 1))
    half = paired(seq([(4, 1)]), seq([(4, 1)]), None, source, dest, 4)
    assert (half.read.base, half.write.base) == (128, 64)


# ---------------------------------------------------------------- bursts


@pytest.mark.parametrize(
    ("nest", "packet", "outer", "burst"),
    [
        ([(8, 1, 1)], 8, [], 8),
        ([(8, 1, 1)], 1, [(8, 1, 1)], 1),
        ([(8, 1, 1)], 4, [(2, 4, 4)], 4),
        ([(2, 8, 8), (8, 1, 1)], 16, [], 16),
        ([(2, 9, 8), (8, 1, 1)], 16, [(2, 9, 8)], 8),
        ([(16, 1, 1)], 24, [(2, 8, 8)], 8),
        ([(8, 0, 1)], 8, [(8, 0, 1)], 1),
        ([(8, 2, 2)], 8, [(8, 2, 2)], 1),
        ([], 1, [], 1),
    ],
)
def test_the_burst_is_what_both_sides_hold_in_a_row_within_the_packet(nest, packet, outer, burst):
    found, size = split_burst([Loop(*loop) for loop in nest], packet)
    assert ([(x.count, x.read, x.write) for x in found], size) == (outer, burst)


# ---------------------------------------------------------------- the law


def walked(entries: list[tuple[int, int]]) -> list[int]:
    return [
        sum(s * c for (_, s), c in zip(entries, counters, strict=True))
        for counters in itertools.product(*(range(n) for n, _ in entries))
    ]


def command_walk(command: Command) -> list[tuple[int, int]]:
    nest = [*((x.count, x.read, x.write) for x in command.loops), (command.burst, 1, 1)]
    return [
        (
            sum(r * c for (_, r, _), c in zip(nest, cs, strict=True)),
            sum(w * c for (_, _, w), c in zip(nest, cs, strict=True)),
        )
        for cs in itertools.product(*(range(n) for n, _, _ in nest))
    ]


@st.composite
def nests(draw: st.DrawFn, total: int) -> list[tuple[int, int]]:
    """Counts that multiply to `total`, with any strides; some chain."""
    out: list[tuple[int, int]] = []
    left = total
    inside = 1
    while left > 1:
        count = draw(st.sampled_from([d for d in range(2, left + 1) if left % d == 0]))
        stride = draw(st.sampled_from([inside, inside, 0, 5, 24, -3]))
        out.insert(0, (count, stride))
        inside, left = count * stride, left // count
    return out


@settings(max_examples=60)
@given(st.sampled_from([12, 24, 36]).flatmap(lambda n: st.tuples(nests(n), nests(n))), st.sampled_from([1, 2, 6, 12]))
def test_the_command_walks_what_both_texts_walk_in_their_order(sides, packet):
    read, write = sides
    total = prod(count for count, _ in read)
    found = pair_of(seq(read, packet), seq(write, packet))
    if isinstance(found, list):
        assert "divides the other" in found[0].message
        return
    assert command_walk(found) == list(zip(walked(read), walked(write), strict=True))
    assert found.amount == total
