"""Streams to commands: the worked examples of "DMA Engine", both sides of every refusal, and small moves unit by unit.

Where the document misprints a number, the number that keeps the promise stands here and the printed one beside it.
"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab.meaning import live_index

import dmaverify as dv
from dmaverify.language.expr import Pair, axes_of
from dmaverify.language.parse import parse
from dmaverify.language.wellformed import problems
from dmaverify.lower.derive import Derivation, derive, label_of
from dmaverify.lower.pairing import Trouble
from dmaverify.lower.text import number_text, sequencer_text
from dmaverify.program.command import Command, Engine, Entry, Sequencer, coalesce
from dmaverify.program.move import Stream
from dmaverify.program.space import SPAN, Space, global_address, unit_bits_of
from dmaverify.program.tensor import Tensor
from dmaverify.verdict import Status

SLICE, DMN = 4 << 20, 128 << 20
HBM = Space("hbm", ("chip", "element"))
DM = Space("dm", ("chip", "cluster", "slice", "element"), (("slice", SLICE),))
MEM = Space("mem", ("element",))
SPACES = {"hbm": HBM, "dm": DM, "mem": MEM}


def tensor(tier: str, axes: dict[str, int], base: int = 0, **fields: str) -> Tensor:
    return Tensor(tier, base=base, **{name: parse(text, axes) for name, text in fields.items()})


def stream(axes: dict[str, int], **fields: str) -> Stream:
    return Stream(**{name: parse(text, axes) for name, text in fields.items()})


def derived(source: Tensor, dest: Tensor, how: Stream, bits: int = 8, engine: Engine | None = None) -> Derivation:
    found = derive(source, dest, (SPACES[source.tier], SPACES[dest.tier]), bits, how, engine)
    assert isinstance(found, Derivation), found
    return found


def refused(source: Tensor, dest: Tensor, how: Stream, bits: int = 8) -> Trouble:
    found = derive(source, dest, (SPACES[source.tier], SPACES[dest.tier]), bits, how)
    assert isinstance(found, Trouble)
    return found


def entries(command: Command, side: str) -> list[tuple[str, int, int]]:
    text = command.read_text if side == "read" else command.write_text
    assert text is not None
    return [(e.label, e.count, e.stride) for e in text.entries]


def plain(command: Command, side: str) -> list[tuple[int, int]]:
    return [(count, stride) for _, count, stride in entries(command, side)]


# ---------------------------------------------------------------- "DMA Engine", worked examples


def test_the_basic_hbm_to_hbm_example():
    axes = {"N": 4, "C": 3, "H": 8, "W": 8}
    found = derived(
        tensor("hbm", axes, 1024, element="N, C, H, W"),
        tensor("hbm", axes, 2048, element="H, C, N, W"),
        stream(axes, time="H, C, N", packet="W"),
    )
    (command,) = found.commands
    assert entries(command, "read") == [("H", 8, 8), ("C", 3, 64), ("N", 4, 192), ("W", 8, 1)]  # prints N=3
    # the document prints H=8:192, C=8, N=3
    assert entries(command, "write") == [("H", 8, 96), ("C", 3, 32), ("N", 4, 8), ("W", 8, 1)]
    assert (command.read.base, command.write.base, command.packet, command.burst) == (1024, 2048, 8, 8)
    assert [(x.count, x.read, x.write) for x in command.loops] == [(8, 8, 96), (3, 64, 32), (4, 192, 8)]


def test_example_1_hbm_to_hbm():
    axes = {"A": 8, "B": 8, "C": 256}
    found = derived(
        tensor("hbm", axes, element="A, B, C"),
        tensor("hbm", axes, 16384, element="B, A, C"),
        stream(axes, time="A, B", packet="C"),
    )
    (command,) = found.commands
    assert entries(command, "read") == [("A", 8, 2048), ("B", 8, 256), ("C", 256, 1)]
    assert entries(command, "write") == [("A", 8, 256), ("B", 8, 2048), ("C", 256, 1)]
    assert (command.write.base, command.packet, command.engine) == (16384, 256, None)


TIME = "B, A % 4, A / 4 % 32, A / 128"
LABELS = ["B", "A%4", "A/4%32", "A/128", "C"]


def test_example_2_hbm_to_dm():
    axes = {"A": 256, "B": 256, "C": 256}
    (command,) = derived(
        tensor("hbm", axes, element="B, A, C"),
        tensor("dm", axes, slice="A / 4", element="A % 4, B, C"),
        stream(axes, time=TIME, packet="C"),
    ).commands
    assert plain(command, "read") == [(256, 65536), (4, 256), (32, 1024), (2, 32768), (256, 1)]
    assert plain(command, "write") == [(256, 256), (4, 65536), (32, SLICE), (2, DMN), (256, 1)]
    assert [label for label, _, _ in entries(command, "read")] == LABELS
    assert command.packet == 256


def test_example_3_dm_to_dm():
    axes = {"A": 256, "B": 256, "C": 256}
    (command,) = derived(
        tensor("dm", axes, slice="A / 4", element="A % 4, B, C"),
        tensor("dm", axes, 4 * 256 * 256, slice="A / 4", element="B, A % 4, C"),
        stream(axes, time=TIME, packet="C"),
    ).commands
    assert plain(command, "read") == [(256, 256), (4, 65536), (32, SLICE), (2, DMN), (256, 1)]  # prints B=256:1
    assert plain(command, "write") == [(256, 1024), (4, 256), (32, SLICE), (2, DMN), (256, 1)]
    assert command.write.base == 4 * 256 * 256


def test_example_4_one_engine_per_cluster_and_dmn_pair():
    # the document swaps the mappings of source and destination; its sequencers are those of HBM to DM
    axes = {"A": 64, "B": 2048, "C": 1024}
    found = derived(
        tensor("hbm", axes, element="A, B, C"),
        tensor("dm", axes, cluster="B / 1024", slice="B / 256 % 4, A", element="B % 256, C"),
        stream(
            axes, cluster="B / 1024", slice="B / 256 % 4", time="B % 256, C / 256, A % 32, A / 32", packet="C % 256"
        ),
    )
    assert [c.engine for c in found.commands] == [Engine(0, i, j) for i in range(2) for j in range(4)]
    for command in found.commands:
        assert command.engine is not None
        i, j = command.engine.cluster, command.engine.dmn
        assert plain(command, "read") == [(256, 1024), (4, 256), (32, 1 << 21), (2, 1 << 26), (256, 1)]
        assert plain(command, "write") == [(256, 1024), (4, 256), (32, SLICE), (2, DMN), (256, 1)]
        assert command.read.base == i * (1024 * 1024) + j * (256 * 1024)
        assert (command.write.cluster, command.write.base) == (i, j * 64 * SLICE)


def test_example_5_base_addresses_come_from_the_engine():
    axes = {"A": 8, "B": 64, "C": 8, "D": 512}
    found = derived(
        tensor("hbm", axes, element="A, B, C, D"),
        tensor("dm", axes, cluster="A / 4", slice="A % 4, B", element="C, D % 256"),
        stream(axes, cluster="A / 4", slice="A % 4", time="C, B % 32, B / 32", packet="D % 256"),
    )
    assert len(found.commands) == 8
    for command in found.commands:
        assert command.engine is not None
        i, j = command.engine.cluster, command.engine.dmn
        assert plain(command, "read") == [(8, 512), (32, 4096), (2, 131072), (256, 1)]
        assert plain(command, "write") == [(8, 256), (32, SLICE), (2, DMN), (256, 1)]
        assert command.read.base == i * 2**20 + j * 2**18
        assert (command.write.chip, command.write.cluster, command.write.base) == (0, i, j * 64 * SLICE)


EXAMPLE_6 = {"A": 15, "B": 32, "C": 256, "D": 8}
SIX = (
    tensor(
        "dm", EXAMPLE_6, chip="D / 2", cluster="D % 2", slice="A # 16 / 4, A # 16 / 2 % 2, B", element="A # 16 % 2, C"
    ),
    tensor("hbm", EXAMPLE_6, chip="D / 2", element="D % 2, B, A, C"),
)


def six(slice_: str, time: str, chip: str = "D / 2", cluster: str = "D % 2") -> Stream:
    return stream(EXAMPLE_6, chip=chip, cluster=cluster, slice=slice_, time=time, packet="C")


def test_example_6_the_first_three_engines_take_one_command_each():
    found = derived(*SIX, six("A # 16 / 4 = 3", "A # 16 % 2, B, A # 16 / 2 % 2"))
    assert [c.engine for c in found.commands] == [Engine(i, j, k) for i in range(4) for j in range(2) for k in range(3)]
    for command in found.commands:
        assert command.engine is not None
        i, j, k = command.engine.chip, command.engine.cluster, command.engine.dmn
        assert plain(command, "read") == [(2, 256), (32, SLICE), (2, 32 * SLICE), (256, 1)]
        assert plain(command, "write") == [(2, 256), (32, 15 * 256), (2, 512), (256, 1)]
        assert (command.read.chip, command.read.cluster, command.read.base) == (i, j, k * 64 * SLICE)
        # the printed base adds the chip's share to the address; an HBM address is counted within its chip
        assert (command.write.chip, command.write.base) == (i, j * 15 * 32 * 256 + k * 4 * 256)


def test_example_6_the_last_engine_takes_two_commands():
    first = derived(*SIX, six("A # 16 / 4 @ 3 = 1", "A # 16 % 2, B, A # 16 / 2 % 2 = 1")).commands
    second = derived(*SIX, six("A # 16 / 4 @ 3 = 1", "A # 16 % 2 = 1, B, A # 16 / 2 % 2 @ 1")).commands
    for at, command in enumerate(first):
        i, j = divmod(at, 2)
        assert plain(command, "write") == [(2, 256), (32, 15 * 256), (256, 1)]
        assert (command.write.chip, command.write.base) == (i, j * 15 * 32 * 256 + 3 * 4 * 256)
    for at, command in enumerate(second):
        i, j = divmod(at, 2)
        assert plain(command, "write") == [(32, 15 * 256), (256, 1)]
        assert command.write.base == j * 15 * 32 * 256 + 3 * 4 * 256 + 512
        assert command.read.base == 3 * 64 * SLICE + 32 * SLICE  # the printed read base leaves the second half out


def test_the_heterogeneous_syntax_example():
    axes = {"A": 4, "B": 256, "C": 256, "D": 256}
    found = derived(
        tensor("hbm", axes, chip="A", element="B, C, D"),
        tensor("dm", axes, chip="A", cluster="B / 128", slice="C", element="B % 128, D"),
        stream(axes, chip="A", cluster="B / 128", slice="C / 64", time="C % 32, B % 128, C / 32 % 2", packet="D"),
    )
    assert len(found.commands) == 4 * 2 * 4
    last = found.commands[-1]
    assert last.engine == Engine(3, 1, 3)
    assert plain(last, "read") == [(32, 256), (128, 65536), (2, 32 * 256), (256, 1)]  # prints C=32:32 * 256
    assert plain(last, "write") == [(32, SLICE), (128, 256), (2, 32 * SLICE), (256, 1)]
    assert (last.read.chip, last.read.base) == (3, 128 * 65536 + 3 * 64 * 256)
    assert (last.write.chip, last.write.cluster, last.write.base) == (3, 1, 3 * 64 * SLICE)


def test_the_sequencer_internals_example_is_one_packet_of_256_a_row():
    axes = {"A": 256, "B": 256, "C": 256}
    (command,) = derived(
        tensor("hbm", axes, element="A, B, C"),
        tensor("hbm", axes, 256**3, element="B, A, C"),
        stream(axes, time="A, B", packet="C"),
    ).commands
    assert [(x.count, x.read, x.write) for x in command.loops] == [(256, 65536, 256), (256, 256, 65536)]
    assert (command.burst, command.read.base, command.write.base) == (256, 0, 256**3)


# ---------------------------------------------------------------- refusals, with the other side of each edge


def mem(axes: dict[str, int], element: str) -> Tensor:
    return tensor("mem", axes, element=element)


def test_cuts_without_a_common_refinement_are_refused_with_both_cuts():
    axes = {"A": 15}
    how = stream(axes, time="1", packet="A % 3, A / 3")
    problem = refused(mem(axes, "A % 5, A / 5"), mem(axes, "A % 3, A / 3"), how)
    assert (problem.axis, problem.cuts) == ("A", (3, 5))
    assert "neither divides the other" in problem.message
    derived(mem(axes, "A % 5, A / 5"), mem(axes, "A / 5, A % 5"), stream(axes, time="A / 5", packet="A % 5"))


def test_an_uneven_axis_stops_no_single_nest():
    axes = {"A": 15}
    sides = mem(axes, "A # 16 % 2, A # 16 / 2"), mem(axes, "A")
    problem = refused(*sides, stream(axes, time="A", packet="1"))
    assert (problem.axis, problem.cuts) == ("A", (15, 2))
    assert "A # 16" in problem.hint
    derived(*sides, stream(axes, time="A # 16", packet="1"))  # walks the padding: whether it may is judged elsewhere


def test_time_over_clusters_and_chips_is_refused_and_the_place_is_named():
    axes = {"A": 2, "B": 4}
    dest = tensor("hbm", axes, element="A, B")
    for place in ("cluster", "chip"):
        source = tensor("dm", axes, **{place: "A"}, element="B")
        assert f"`{place}` field" in refused(source, dest, stream(axes, time="A", packet="B")).hint
    found = derived(tensor("dm", axes, cluster="A", element="B"), dest, stream(axes, cluster="A", time="1", packet="B"))
    assert [(c.read.cluster, c.write.base) for c in found.commands] == [(0, 0), (1, 4)]


def test_time_over_slices_is_what_a_command_may_do():
    axes = {"A": 2, "B": 4}
    (command,) = derived(
        tensor("dm", axes, slice="A", element="B"), tensor("hbm", axes, element="A, B"),
        stream(axes, time="A", packet="B"),
    ).commands  # fmt: skip
    assert [(x.count, x.read, x.write) for x in command.loops] == [(2, SLICE, 4)]


def test_a_side_without_digits_is_a_problem_and_no_exception():
    axes = {"A": 2, "B": 3}
    assert (
        "cannot be walked"
        in refused(mem(axes, "[A, B] / 2"), mem(axes, "A, B"), stream(axes, time="A", packet="B")).message
    )


def test_a_term_without_digits_is_a_problem_and_no_exception():
    axes = {"A": 2, "B": 3}
    how = stream(axes, time="[A, B] / 2", packet="1")
    assert "cannot be walked" in refused(mem(axes, "A, B"), mem(axes, "A, B"), how).message


def test_a_term_that_is_no_box_is_refused():
    axes = {"A": 2, "B": 3}
    sides = mem(axes, "A, B"), mem(axes, "A, B")
    assert "box of loops" in refused(*sides, stream(axes, time="[A, B] = 4", packet="1")).message
    derived(*sides, stream(axes, time="[A, B] = 3", packet="1"))


def test_a_stream_whose_places_are_all_padding_has_no_command():
    axes = {"A": 2}
    how = stream(axes, cluster="A # 4 @ 2 = 2", time="1", packet="1")
    assert "no engine has work" in refused(mem(axes, "A"), mem(axes, "A"), how).message


def test_engines_in_padding_have_no_work():
    axes = {"A": 3, "B": 4}
    found = derived(mem(axes, "A, B"), mem(axes, "A, B"), stream(axes, slice="A # 4", time="1", packet="B"))
    assert [c.engine for c in found.commands] == [Engine(0, 0, k) for k in range(3)]
    assert [c.read.base for c in found.commands] == [0, 4, 8]


def test_an_engine_beyond_what_a_side_holds_starts_there_anew():
    axes = {"A": 8}
    found = derived(mem(axes, "A % 4"), mem(axes, "A"), stream(axes, slice="A / 4", time="1", packet="A % 4"))
    assert [(c.read.base, c.write.base) for c in found.commands] == [(0, 0), (0, 4)]


def test_a_nameless_engine_takes_the_name_it_is_given():
    axes = {"A": 3}
    sides = mem(axes, "A"), mem(axes, "A")
    assert derived(*sides, stream(axes, time="1", packet="A")).commands[0].engine is None
    given_name = derived(*sides, stream(axes, time="1", packet="A"), engine=Engine(1, 1, 3)).commands
    assert given_name[0].engine == Engine(1, 1, 3)


# ---------------------------------------------------------------- broadcasts, widths, bursts


def test_a_broadcast_axis_reads_the_same_and_writes_apart():
    axes = {"A": 16, "T": 4}
    (command,) = derived(mem(axes, "A"), mem(axes, "T, A"), stream(axes, time="T", packet="A")).commands
    assert [(x.label, x.count, x.read, x.write) for x in command.loops] == [("T", 4, 0, 16)]
    assert command.burst == 16


def test_an_axis_that_no_side_holds_stays_on_both():
    axes = {"A": 16, "T": 4}
    (command,) = derived(mem(axes, "A"), mem(axes, "A"), stream(axes, time="T", packet="A")).commands
    assert [(x.count, x.read, x.write) for x in command.loops] == [(4, 0, 0)]


@pytest.mark.parametrize(
    ("dest", "time", "writes"),
    [
        ("4, A", "4", [8]),
        ("4, A", "5", [0]),
        ("2, 3, A", "2, 3", [24, 8]),  # replicas side by side are one digit of six values
        ("2, A, 3", "2, 3", [24, 1]),
        ("6, A", "2, 3", [24, 8]),
        ("6, A", "3, 2", [16, 8]),
        ("1 # 4, 4, A", "4", [8]),  # padding is left for last
    ],
)
def test_a_bare_number_walks_the_replicas_of_the_destination_once_each(dest, time, writes):
    axes = {"A": 8}
    (command,) = derived(mem(axes, "A"), mem(axes, dest), stream(axes, time=time, packet="A")).commands
    assert [x.write for x in command.loops][: len(writes)] == writes
    assert {x.read for x in command.loops[: len(writes)]} == {0}


def test_wide_elements_count_in_bytes_and_bursts_reach_over_entries():
    axes = {"A": 4, "B": 8}
    (command,) = derived(
        mem(axes, "A, B"), mem(axes, "A, B"), stream(axes, time="1", packet="A, B"), 16
    ).commands  # fmt: skip
    assert (command.unit_bits, command.packet, command.burst, command.loops) == (8, 64, 64, ())
    assert plain(command, "read") == [(64, 1)]  # one run is one entry: the packet must divide its count


def test_wide_elements_moved_one_by_one_have_an_entry_for_their_bytes():
    axes = {"A": 4, "B": 8}
    (command,) = derived(mem(axes, "A, B"), mem(axes, "B, A"), stream(axes, time="A, B", packet="1"), 16).commands
    assert plain(command, "read") == [(4, 16), (16, 1)]
    assert plain(command, "write") == [(4, 2), (8, 8), (2, 1)]
    assert (command.burst, command.packet) == (2, 2)


def test_four_bit_elements_count_in_half_bytes():
    axes = {"A": 4, "B": 8}
    (command,) = derived(mem(axes, "A, B"), mem(axes, "A, B # 16"), stream(axes, time="A", packet="B"), 4).commands
    assert (command.unit_bits, command.packet, command.burst) == (4, 8, 8)
    assert [(x.count, x.read, x.write) for x in command.loops] == [(4, 8, 16)]
    base = derived(tensor("mem", axes, 3, element="A, B"), mem(axes, "A, B"), stream(axes, time="A", packet="B"), 4)
    assert base.commands[0].read.base == 6


def test_a_burst_stops_where_one_side_is_not_contiguous():
    axes = {"A": 4, "B": 8}
    (command,) = derived(mem(axes, "A, B"), mem(axes, "A, B # 9"), stream(axes, time="1", packet="A, B")).commands
    assert (command.burst, command.packet) == (8, 32)
    assert [(x.count, x.read, x.write) for x in command.loops] == [(4, 8, 9)]


def test_labels_name_the_piece_of_the_axis():
    assert label_of("A", 1, 16, 16) == "A"
    assert label_of("A", 4, 4, 16) == "A/4"
    assert label_of("A", 1, 4, 16) == "A%4"
    assert label_of("A", 4, 2, 16) == "A/4%2"
    assert label_of(None, 0, 3, 0) == "3"


WALKED = {
    (16, "A"): ("A", "A % 4 = 3", "A = 5", "A / 4 = 3", "A / 2 % 4 = 3", "A @ 4 = 8"),
    (15, "A # 16"): ("A # 16 % 4", "A # 16 / 4", "A # 16 / 2 % 2", "A # 16"),
    (15, "A # 16 / 2, A # 16 % 2"): ("A # 16",),
    (12, "A / 2, A % 2"): ("A = 6",),
    (12, "A / 4, A % 4"): ("A = 8",),
}


@pytest.mark.parametrize(("axis", "memory", "term"), [(*held, term) for held in WALKED for term in WALKED[held]])
def test_labels_read_back_as_the_digits_that_their_entries_walk(axis: int, memory: str, term: str):
    axes = {"A": axis, "B": 4}
    held = mem(axes, f"{memory}, B")
    (command,) = derived(held, held, stream(axes, time=term, packet="B")).commands
    for entry in command.read_text.entries:
        label = parse(entry.label, axes)
        assert label.size == entry.count
        assert not [p for p in problems(label, axes) if p.fatal], entry.label
    walked = parse(", ".join(entry.label for entry in command.read_text.entries), axes)
    asked = parse(f"{term}, B", axes)
    for position in range(asked.size):
        assert live_index(walked, position, axes) == live_index(asked, position, axes)


def test_coalescing_merges_only_what_steps_as_one_on_every_side():
    assert coalesce([(4, 8), (8, 1)]) == [(32, 1)]
    assert coalesce([(4, 8, 9), (8, 1, 1)]) == [(4, 8, 9), (8, 1, 1)]
    assert coalesce([(4, 8, 8), (1, 5, 7), (8, 1, 1)]) == [(32, 1, 1)]
    assert coalesce([(2, 0), (3, 0)]) == [(6, 0)]
    assert coalesce([(1, 3)]) == []


def test_a_space_keeps_chips_and_clusters_beyond_any_local_address():
    assert SPAN["chip"] > SPAN["cluster"] > 64 * 1024 * DMN


# ---------------------------------------------------------------- unit by unit


def cells_of(side: Tensor, space: Space, bits: int) -> dict[int, tuple[tuple[tuple[str, int], ...], int] | None]:
    """Global address -> (coordinates, unit within the element), None for padding: from `meaning`, without digits."""
    unit = unit_bits_of(bits)
    width = bits // unit
    fields = [place for place in ("chip", "cluster", "slice", "element") if place in space.places]
    mapping = [side.field(place) for place in fields]
    steps = [width if place == "element" else space.stride(place, unit) for place in fields]
    out: dict[int, tuple[tuple[tuple[str, int], ...], int] | None] = {}
    whole = mapping[0]
    for part in mapping[1:]:
        whole = Pair(whole, part)
    sizes = axes_of(whole)
    for position, places in enumerate(itertools.product(*(range(m.size) for m in mapping))):
        index = live_index(whole, position, sizes)
        address = side.base * 8 // unit + sum(p * s for p, s in zip(places, steps, strict=True))
        for byte in range(width):
            out[address + byte] = None if index is None else (tuple(sorted(index.items())), byte)
    return out


def units_of(command: Command) -> list[tuple[int, int]]:
    read, write = (global_address(port, port.base) for port in (command.read, command.write))
    out = []
    for counters in itertools.product(*(range(x.count) for x in command.loops), range(command.burst)):
        at = (*zip(command.loops, counters, strict=False),)
        out.append(
            (
                read + sum(x.read * c for x, c in at) + counters[-1],
                write + sum(x.write * c for x, c in at) + counters[-1],
            )
        )
    return out


SMALL = {"A": 6, "B": 4, "C": 5}
TERMS = {
    "A": ["A", "A / 2, A % 2", "A % 2, A / 2", "A / 3, A % 3", "A / 3, A % 3 # 6", "A / 2, A % 2 # 3"],
    "B": ["B", "B / 2, B % 2", "B # 6", "B / 2, B % 2 # 8"],
    "C": ["C", "C # 8"],
}
PLAIN = {"A": ["A", "A / 2, A % 2"], "B": ["B", "B / 2, B % 2"], "C": ["C"]}


@st.composite
def moves(draw: st.DrawFn) -> tuple[Tensor, Tensor, Stream, int]:
    def terms(choice: dict[str, list[str]]) -> list[str]:
        texts = [part for axis in SMALL for part in draw(st.sampled_from(choice[axis])).split(", ")]
        return list(draw(st.permutations(texts)))

    def side(tier: str) -> Tensor:
        parts = terms(TERMS)
        at = draw(st.integers(0, len(parts) - 1)) if tier == "dm" else 0
        element = Pair(parse(", ".join(parts[at:]), SMALL), parse("1", SMALL))
        place = parse(", ".join(parts[:at]) or "1", SMALL)
        return Tensor(tier, element, slice=place, base=draw(st.sampled_from([0, 64])))

    how = terms(PLAIN)
    at = draw(st.integers(0, len(how)))
    engines = draw(st.booleans()) and at > 0
    place = how.pop(0) if engines else "1"
    at -= engines
    walked = stream(SMALL, slice=place, time=", ".join(how[:at]) or "1", packet=", ".join(how[at:]) or "1")
    return (
        side(draw(st.sampled_from(["mem", "dm"]))),
        side(draw(st.sampled_from(["mem", "dm"]))),
        walked,
        draw(st.sampled_from([4, 8, 16])),
    )


@settings(max_examples=settings.default.max_examples * 3 // 4)
@given(moves())
def test_every_derived_unit_lands_on_its_own_element_exactly_once(move):
    source, dest, how, bits = move
    spaces = (SPACES[source.tier], SPACES[dest.tier])
    found = derive(source, dest, spaces, bits, how)
    if isinstance(found, Trouble):
        assert found.cuts, found
        assert found.cuts[0] % found.cuts[1], found
        return
    held, wanted = cells_of(source, spaces[0], bits), cells_of(dest, spaces[1], bits)
    units = [unit for command in found.commands for unit in units_of(command)]
    assert all(held[read] == wanted[write] for read, write in units if wanted[write] is not None)
    written = sorted(write for _, write in units)
    assert written == sorted(address for address, cell in wanted.items() if cell is not None)


def test_the_moves_above_are_mostly_derivable():
    found = 0
    for a, b, time in itertools.product(TERMS["A"][:3], TERMS["B"][:2], ("A, B, C", "C, B, A / 2, A % 2")):
        source, dest = mem(SMALL, f"{a}, C, {b}"), mem(SMALL, f"C, {b}, {a}")
        found += isinstance(derive(source, dest, (MEM, MEM), 8, stream(SMALL, time=time, packet="1")), Derivation)
    assert found == 12


def test_fragments_multiply_to_the_size_of_their_term():
    axes = {"A": 12, "B": 4}
    found = derived(mem(axes, "A % 2, B, A / 2"), mem(axes, "A / 6, A % 6, B"), stream(axes, time="A", packet="B"))
    for index, term in enumerate(found.terms):
        product = 1
        for fragment in found.fragments:
            product *= fragment.count if fragment.term == index else 1
        assert product == term.size


def test_a_stream_over_more_engines_than_any_machine_has_is_refused_at_once():
    axes = {"A": 1 << 22, "B": 64}
    found = derive(
        mem(axes, "A, B"), mem(axes, "A, B"), (MEM, MEM), 8, stream(axes, chip="A", time="1", packet="B")
    )  # fmt: skip
    assert isinstance(found, Trouble)
    assert "4,194,304 engines" in found.message


@pytest.mark.parametrize(("walked", "strides"), [("A # 16", (4, 8)), ("A", (3, 8))])
def test_padding_of_the_stream_is_walked_above_a_cut_where_the_memory_ends(walked: str, strides: tuple[int, int]):
    """12 elements in rows of 4, a stream of 16: a fourth row, three of which the memory has."""
    axes = {"A": 12, "B": 2}
    held = tensor("mem", axes, element="A / 4, B, A % 4")
    dest = tensor("mem", axes, 64, element="A / 4, B, A % 4")
    (command,) = derived(held, dest, stream(axes, time="B", packet=walked)).commands
    assert [(loop.count, loop.read) for loop in command.loops[1:]] == [strides]


@pytest.mark.parametrize(("cut", "step"), [(4, 2), (2, 1)])
def test_a_digit_that_ends_before_the_next_one_begins_is_walked_to_its_end(cut: int, step: int):
    """Every other of three, 0 and 2, and behind them A = 3 that another digit steps over."""
    axes = {"A": 9}
    digit = f"[A % 3 #{{!}} 6, 2] / {cut}"
    held, dest = tensor("mem", axes, element="A"), tensor("mem", axes, 64, element=f"A / 3, {digit}")
    (command,) = derived(held, dest, stream(axes, time=f"A / 3, {digit}", packet="1")).commands
    assert [loop.read for loop in command.loops] == [3, step]


@pytest.mark.parametrize(("source", "dest", "walked", "steps"), [
    ("H, C # 16", "H, C # 8", "C # 8", (1, 1)), ("H, C # 8", "H, C # 16", "C # 8", (1, 1)),
    ("H, C # 8", "H, C # 8", "C # 8", (1, 1)), ("H, C # 12", "H, C # 20", "C # 8", (1, 1)),
    ("H, C # 4", "H, C # 8", "C # 8", (0, 1)),
])  # fmt: skip
def test_padding_of_an_axis_of_size_one_is_walked_from_its_first_position(
    source: str, dest: str, walked: str, steps: tuple[int, int]
):
    """As it is of an axis of any size: whatever the sides have behind it."""
    axes = {"H": 4, "C": 1}
    sides = tensor("mem", axes, element=source), tensor("mem", axes, 256, element=dest)
    (command,) = derived(*sides, stream(axes, time="H", packet=walked)).commands
    read, write = plain(command, "read")[-1], plain(command, "write")[-1]
    assert (read, write) == ((8, steps[0]), (8, steps[1]))


@pytest.mark.parametrize("padded", ["source", "dest"])
def test_the_padding_of_an_inner_digit_is_no_value_of_the_outer_one(padded: str) -> None:
    source, dest = ("P / 32, P % 32 # 64, C" if side == padded else "P, C" for side in ("source", "dest"))
    (verdict,) = dv.check(f"""
schema = 1
target = "rngd"
[axes]
P = 128
C = 64
[transfer.x]
dtype = "i8"
source = {{ tier = "hbm", base = 0, element = "{source}" }}
dest = {{ tier = "dm", base = 0, slice = "1 # 64", element = "{dest}" }}
stream = {{ time = "P", packet = "C" }}
""")
    assert verdict.status is Status.PROVED, verdict.findings


@pytest.mark.parametrize(("size", "told"), [(0, "4096"), (1024, "4 * pitch"), (1000, "4096")])
def test_a_number_is_told_by_a_constant_that_divides_it(size: int, told: str) -> None:
    assert number_text(4096, {"pitch": size}, 8) == told


@pytest.mark.parametrize(
    ("entries", "packet", "told"),
    [
        ([(4, 16), (16, 1)], 16, "[4:8, 8:1]:8"),
        ([(4, 16), (5, 1)], 5, "[4:8, (20/8):1]:(20/8)"),
        ([(4, 1), (16, 4)], 1, "[4:(4/8), 16:2]:(4/8)"),
    ],
)
def test_halves_of_bytes_are_printed_as_what_they_are(entries: list[tuple[int, int]], packet: int, told: str) -> None:
    nest = tuple(Entry(count, stride) for count, stride in entries)
    assert sequencer_text(Sequencer(nest, packet), {}, 4) == told
