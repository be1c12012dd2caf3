"""Fetch and Commit accesses as moves and commands, and the facts that rules ask of them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from lab.meaning import live_index

from dmaverify.language.parse import parse
from dmaverify.lower.adapters import (
    access_bytes,
    access_facts,
    as_move,
    derived_access,
    descriptors,
    given_access,
    live_prefix,
    memory_facts,
    slice_move,
)
from dmaverify.lower.pairing import Trouble
from dmaverify.lower.tables import fetch_size, table_of
from dmaverify.program.access import Access
from dmaverify.program.command import Command, Entry, Sequencer
from dmaverify.program.move import Stream
from dmaverify.program.space import Space
from dmaverify.program.tensor import Tensor
from dmaverify.targets.target import core_scopes

SLICE = 4 << 20
DM = Space("dm", ("chip", "cluster", "slice", "element"), (("slice", SLICE),))
LIMITS = {"access_entries_max": 8, "access_iterations_max": 65536}

REARRANGING = ("A, B, C # 32", "B, A", "C # 16", {"A": 8, "B": 8, "C": 8})
SPLITTING = ("A, B, C # 8", "A % 2, B % 4, A / 2, B / 4", "C # 32", {"A": 8, "B": 8, "C": 4})
SLICING = ("A, B, C", "A / 4, A % 4 = 3, B / 4, B % 4 = 2", "C", {"A": 16, "B": 8, "C": 8})
BROADCASTING = ("A", "T, A", "P", {"A": 16, "T": 4, "P": 4})
NCHW = ("N, C, H, W", "W, H, C, N", "1", {"N": 4, "C": 3, "H": 8, "W": 8})
MERGING = (
    "N, C, H, W",
    "W / 16, H % 2, H / 2, C / 2, C % 2, N / 2, N % 2, W / 8 % 2",
    "W % 8",
    {"N": 8, "C": 8, "H": 8, "W": 32},
)
PRINTED = {
    "rearranging": (REARRANGING, [(8, 32), (8, 256), (16, 1)], 16),
    "splitting": (SPLITTING, [(2, 64), (4, 8), (4, 128), (2, 32), (32, 1)], 32),
    "slicing": (SLICING, [(4, 256), (3, 64), (2, 32), (2, 8), (8, 1)], 8),
    "broadcasting": (BROADCASTING, [(4, 0), (16, 1), (4, 0)], 4),
    "nchw": (NCHW, [(8, 1), (8, 8), (3, 64), (4, 192)], 1),
}


def access(
    element: str, time: str, packet: str, axes: dict[str, int], engine: str = "fetch", context: str = "main",
    config: Sequencer | None = None, base: int = 0, **places: str,
) -> Access:  # fmt: skip
    memory = Tensor("dm", parse(element, axes), base=base, **{k: parse(v, axes) for k, v in places.items()})
    how = Stream(parse(time, axes), parse(packet, axes))
    return Access("a", "rngd", engine, context, "i8", memory, how, config)


def derived(one: Access, bits: int = 8) -> Command:
    found = derived_access(one, DM, bits)
    assert isinstance(found, Command), found
    return found


def sequencer(entries: list[tuple[int, int]], packet: int, **more: object) -> Sequencer:
    return Sequencer(tuple(Entry(n, s) for n, s in entries), packet, **more)  # type: ignore[arg-type]


def given(one: Access, bits: int = 8) -> Command:
    found = given_access(one, bits)
    assert isinstance(found, Command), found
    return found


def units(command: Command) -> list[tuple[int, int]]:
    out = []
    for counters in itertools.product(*(range(x.count) for x in command.loops), range(command.burst)):
        pairs = list(zip(command.loops, counters, strict=False))
        read = command.read.base + sum(x.read * c for x, c in pairs) + counters[-1]
        write = command.write.base + sum(x.write * c for x, c in pairs) + counters[-1]
        out.append((read, write))
    return out


# ---------------------------------------------------------------- as moves


def test_a_fetch_moves_memory_to_a_dense_stream_and_a_commit_the_other_way():
    fetch = access(*REARRANGING, slice="1", base=64)
    source, dest = as_move(fetch)
    assert source is fetch.memory
    assert (dest.tier, dest.base, str(dest.element)) == ("stream", 0, "[B, A], C # 16")
    source, dest = as_move(access(*REARRANGING, engine="commit"))
    assert (source.tier, dest.tier) == ("stream", "dm")


def test_the_move_of_one_slice_leaves_the_places_out_and_as_move_keeps_them():
    axes = {"A": 8, "B": 8}
    one = access("B", "1", "B", axes, slice="A", base=64)
    assert as_move(one)[0].slice.size == 8
    local, _ = slice_move(one)
    assert (local.slice.size, local.chip.size, str(local.element), local.base) == (1, 1, "B", 64)
    commit = access("B", "1", "B", axes, engine="commit", slice="A")
    assert slice_move(commit)[1].slice.size == 1


# ---------------------------------------------------------------- derived


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("engine", ["fetch", "commit"])
def test_the_derived_configuration_is_the_printed_one_in_both_directions(name, engine):
    # "Sequencer", Configuration and Configuration Examples: reads and writes have one configuration
    example, entries, packet = PRINTED[name]
    command = derived(access(*example, engine=engine))
    memory, stream = command.read_text, command.write_text
    if engine == "commit":
        memory, stream = stream, memory
    assert memory is not None
    assert stream is not None
    assert [(e.count, e.stride) for e in memory.entries] == entries
    assert (memory.packet, memory.tier, stream.tier) == (packet, "dm", "stream")
    inside = 1
    for (count, _), entry in zip(reversed(entries), reversed(stream.entries), strict=True):
        assert (entry.count, entry.stride) == (count, inside)
        inside *= count


@pytest.mark.parametrize("name", PRINTED)
def test_every_unit_of_a_fetch_is_the_element_at_its_stream_position(name):
    (element, time, packet, axes), _, _ = PRINTED[name]
    one = access(element, time, packet, axes, base=32)
    held, flow = one.memory.element, one.stream.mapping
    for read, write in units(derived(one)):
        wanted = live_index(flow, write, axes)
        if wanted is None:
            continue
        own = {axis: value for axis, value in wanted.items() if axis in element}
        assert live_index(held, read - 32, axes) == own
    assert sorted(w for _, w in units(derived(one))) == list(range(flow.size))


def test_a_stream_starts_where_it_drops_the_first_values():
    axes = {"A": 8, "B": 4}
    command = derived(access("A, B", "A @ 6", "B", axes, base=16))
    assert (command.read.base, command.write.base) == (16 + 24, 0)
    assert [(x.count, x.read, x.write) for x in command.loops] == [(2, 4, 4)]


def test_wide_and_half_byte_elements_count_in_their_units():
    axes = {"A": 4, "B": 8}
    wide = derived(access("A, B # 16", "A", "B", axes), 16)
    assert [(x.count, x.read, x.write) for x in wide.loops] == [(4, 32, 16)]
    assert (wide.burst, wide.packet) == (16, 16)
    half = derived(access("A, B # 16", "A", "B", axes, base=1), 4)
    assert [(x.count, x.read, x.write) for x in half.loops] == [(4, 16, 8)]
    assert (half.unit_bits, half.burst, half.read.base) == (4, 8, 2)


def test_a_bare_number_of_a_stream_is_walked_in_the_stream_and_stays_in_memory():
    command = derived(access("A", "2, 3", "A", {"A": 4}))
    assert [(x.count, x.read, x.write) for x in command.loops] == [(2, 0, 12), (3, 0, 4)]


def test_a_commit_walks_the_replicas_of_its_memory():
    command = derived(access("2, A", "2", "A", {"A": 4}, engine="commit"))
    assert [(x.count, x.read, x.write) for x in command.loops] == [(2, 4, 4)]
    assert [x.read for x in derived(access("2, A", "2", "A", {"A": 4})).loops] == [0]


def test_an_incompatible_stream_has_no_command():
    found = derived_access(access("A % 5, A / 5", "1", "A % 3, A / 3", {"A": 15}), DM, 8)
    assert isinstance(found, Trouble)
    assert found.axis == "A"


@pytest.mark.parametrize("place", ["chip", "cluster", "slice"])
def test_a_stream_over_what_other_places_hold_is_refused(place):
    axes = {"A": 8, "B": 4}
    found = derived_access(access("A % 4, B", "A", "B", axes, **{place: "A / 4"}), DM, 8)
    assert isinstance(found, Trouble)
    assert f"over {place}s" in found.message
    assert found.axis == "A"
    command = derived(access("A % 4, B", "A % 4", "B", axes, **{place: "A / 4"}))  # its own part
    assert command.amount == 16
    derived(access("B, A % 4", "B", "A % 4 # 8", axes, slice="A / 4"))  # padding is no other slice's part
    derived(access("A # 16 % 4, B", "A # 16 % 4", "B", {"A": 15, "B": 4}, slice="A # 16 / 4"))


def test_a_stream_that_names_another_place_is_refused():
    axes = {"A": 8, "B": 4}
    one = access("B", "1", "B", axes, slice="A")
    elsewhere = Access(
        "a", "rngd", "fetch", "main", "i8", one.memory,
        Stream(one.stream.time, one.stream.packet, slice=parse("A / 2", axes)),
    )  # fmt: skip
    same = Access(
        "a", "rngd", "fetch", "main", "i8", one.memory,
        Stream(one.stream.time, one.stream.packet, slice=parse("A", axes)),
    )  # fmt: skip
    assert isinstance(derived_access(elsewhere, DM, 8), Trouble)
    assert isinstance(derived_access(same, DM, 8), Command)


# ---------------------------------------------------------------- given


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("engine", ["fetch", "commit"])
def test_the_printed_configuration_pairs_with_the_stream_as_derived(name, engine):
    example, entries, packet = PRINTED[name]
    one = access(*example, engine=engine, config=sequencer(entries, packet), base=8)
    assert sorted(units(given(one))) == sorted(units(derived(one)))
    assert given(one).packet == packet


def test_the_merged_configuration_does_the_same_as_the_nine_entries():
    # "Sequencer", Merging Entries: six entries and a packet of 16
    six = [(2, 16), (2, 32), (4, 64), (8, 256), (8, 2048), (16, 1)]
    one = access(*MERGING, config=sequencer(six, 16))
    assert sorted(units(given(one))) == sorted(units(derived(one)))


def test_a_wrong_stride_is_taken_as_it_stands():
    one = access(*REARRANGING, config=sequencer([(8, 32), (8, 255), (16, 1)], 16))
    assert [x.read for x in given(one).loops] == [32, 255]


def test_a_configuration_of_another_size_is_a_mismatch_that_names_both():
    one = access(*REARRANGING, config=sequencer([(8, 32), (8, 256), (8, 1)], 8))
    (problem,) = given_access(one, 8)  # type: ignore[misc]
    assert "reads 512 elements" in problem.message
    assert "64 * 16" in problem.message
    commit = access(*REARRANGING, config=sequencer([(8, 32), (8, 256), (8, 1)], 8), engine="commit")
    assert "writes 512 elements" in given_access(commit, 8)[0].message  # type: ignore[index]


def test_a_base_in_the_slice_is_taken_and_a_place_is_refused():
    entries = [(8, 32), (8, 256), (16, 1)]
    assert given(access(*REARRANGING, config=sequencer(entries, 16, tier="dm", base=64))).read.base == 64
    assert given(access(*REARRANGING, config=sequencer(entries, 16), base=32)).read.base == 32
    placed = access(*REARRANGING, config=sequencer(entries, 16, tier="dm", base=64, place=(0, 1)))
    (problem,) = given_access(placed, 8)  # type: ignore[misc]
    assert "own memory" in problem.message


def test_a_configuration_without_iterations_is_a_mismatch_about_that_alone():
    found = given_access(access(*REARRANGING, config=sequencer([(0, 1)], 1)), 8)
    assert isinstance(found, list)
    assert all("runs 0 times" in problem.message for problem in found)


def test_a_configuration_that_leaves_the_slice_is_a_mismatch():
    axes = {"A": 8, "B": 4}
    one = access("A % 4, B", "A", "B", axes, slice="A / 4", config=sequencer([(8, 4), (4, 1)], 4))
    assert "over slices" in given_access(one, 8)[0].message  # type: ignore[index]


def test_an_access_without_a_configuration_cannot_be_paired():
    with pytest.raises(ValueError, match="no configuration"):
        given_access(access(*REARRANGING), 8)


# ---------------------------------------------------------------- facts


def facts(one: Access, bits: int = 8) -> dict[str, int]:
    return access_facts(given(one, bits) if one.config else derived(one, bits), one, bits)


def test_both_scopes_have_every_port_and_no_other():
    one = access(*REARRANGING)
    assert set(access_facts(derived(one), one, 8)) == set(core_scopes()["access"].ports)
    assert set(memory_facts(derived(one), one, LIMITS, 8)) == set(core_scopes()["sequencer"].ports)


def test_the_facts_of_the_rearranging_example():
    assert facts(access(*REARRANGING)) == {
        "base_bytes": 0, "access_bytes": 16, "packet_bytes": 16, "stride_gcd": 32, "entries": 3, "iterations": 16,
        "time_size": 64, "runs_per_packet": 1, "sub_context": 0, "sliced": 1,
    }  # fmt: skip


@pytest.mark.parametrize("name", [n for n in PRINTED if n != "nchw"])
def test_the_access_is_the_maximum_fetch_size_of_the_document(name):
    (element, time, packet, axes), entries, size = PRINTED[name]
    one = access(element, time, packet, axes)
    table = table_of(one.memory.element, one.stream)
    assert facts(one)["access_bytes"] == fetch_size(table.entries, table.packet_size) == size
    assert facts(access(element, time, packet, axes, config=sequencer(entries, size)))["access_bytes"] == size


def test_entries_merge_within_time_and_within_packet_and_never_across():
    # nine terms; C and N merge, W / 8 % 2 and W % 8 lie on both sides of the packet (docs/machines/rngd.md 4.2)
    found = facts(access(*MERGING))
    assert (found["entries"], found["packet_bytes"], found["access_bytes"]) == (7, 8, 8)
    six = sequencer([(2, 16), (2, 32), (4, 64), (8, 256), (8, 2048), (16, 1)], 16)
    grown = facts(access(*MERGING, config=six))  # the printed packet has grown with the merge
    assert (grown["entries"], grown["packet_bytes"], grown["access_bytes"]) == (6, 16, 16)
    assert grown["time_size"] * 16 == found["time_size"] * 8 == 8 * 8 * 8 * 32


def test_an_entry_across_the_packet_is_cut_there():
    assert descriptors([(4, 64), (16, 1)], 8) == ([(4, 64), (2, 8)], [(8, 1)])
    assert descriptors([(4, 64), (16, 1)], 16) == ([(4, 64)], [(16, 1)])
    assert descriptors([(4, 16), (16, 1)], 64) == ([], [(64, 1)])
    assert descriptors([(4, 16), (16, 1)], 16) == ([(4, 16)], [(16, 1)])
    assert descriptors([(4, 16), (3, 5)], 1) == ([(4, 16), (3, 5)], [])


def test_eight_entries_that_do_not_merge_stay_eight_and_nine_stay_nine():
    names = "ABCDEFGHI"
    for count in (8, 9):
        axes = dict.fromkeys(names[:count], 2)
        # time runs the other way round, so that nothing merges
        one = access(", ".join(axes), ", ".join(reversed(axes)), "1", axes)
        assert facts(one)["entries"] == count


def test_iterations_are_counted_after_merging():
    axes = {"A": 256, "B": 256, "C": 2}
    assert facts(access("A, B, C # 4", "A, B", "C", axes))["iterations"] == 65536
    assert facts(access("A, B # 257, C # 4", "A, B", "C", axes))["iterations"] == 256


def test_the_stride_between_packets_leaves_strides_within_a_packet_out():
    axes = {"A": 4, "B": 2, "C": 4}
    assert facts(access("A, B, C # 12", "A", "B, C", axes))["stride_gcd"] == 24
    assert facts(access("A, B, C # 12", "A, B", "C", axes))["stride_gcd"] == 12
    assert facts(access("A, B, C", "1", "A, B, C", axes))["stride_gcd"] == 0


def test_a_commit_of_rows_of_twelve_bytes_is_seen_as_such_and_of_sixteen_too():
    for row, wanted in ((12, 12), (16, 16)):
        one = access(f"A, B # {row}", "A", "B", {"A": 4, "B": 8}, engine="commit")
        assert facts(one)["stride_gcd"] == wanted


def test_a_packet_over_several_runs_takes_several_accesses():
    axes = {"A": 3, "B": 8}
    found = facts(access("A, B # 16", "1", "A, B", axes))
    assert (found["packet_bytes"], found["access_bytes"]) == (24, 8)
    assert facts(access("A, B", "1", "A, B", axes))["access_bytes"] == 8  # 24 in one run: 8 divides
    assert facts(access("B, A", "1", "A, B", axes))["access_bytes"] == 1  # not contiguous


def test_the_sub_context_moves_eight_bytes_or_nothing_fits():
    for size, wanted in ((16, 8), (8, 8), (4, 0), (12, 0)):
        one = access("A, B", "A", "B", {"A": 4, "B": size}, context="sub")
        assert facts(one)["access_bytes"] == wanted
    assert facts(access("A, B", "A", "B", {"A": 4, "B": 16}))["access_bytes"] == 16


def test_a_commit_writes_no_more_than_the_live_part_of_its_packet():
    # write_size = gcd(access_size, valid_size) (docs/machines/rngd.md 4.3)
    axes = {"A": 4, "B": 8}
    for engine, wanted in (("commit", 8), ("fetch", 16)):
        assert facts(access("A, B # 16", "A", "B # 16", axes, engine=engine))["access_bytes"] == wanted


def test_the_live_prefix_ends_at_the_first_padding():
    axes = {"A": 3, "B": 4}
    for text, wanted in (("B", 4), ("B # 8", 4), ("A, B # 8", 4), ("[A, B] # 16", 12), ("1", 1), ("A # 4, B", 12)):
        assert live_prefix(parse(text, axes)) == wanted
    assert live_prefix(parse("[A, B] / 2, A", axes)) == 18  # no digits: nothing is known to be padding


def test_bytes_follow_the_width_of_the_element():
    axes = {"A": 4, "B": 8}
    assert facts(access("A, B", "A", "B", axes), 16)["access_bytes"] == 16
    assert facts(access("A, B", "A", "B", axes), 4)["access_bytes"] == 4
    assert facts(access("B, A", "A", "B", axes), 16)["access_bytes"] == 2
    assert facts(access("B, A", "A", "B", axes), 4)["access_bytes"] == 0  # half a byte
    assert facts(access("A", "A", "P", {"A": 4, "P": 4}), 16)["access_bytes"] == 8  # one element, four times


def test_the_sequencer_scope_counts_in_elements():
    axes = {"A": 4, "B": 8}
    one = access("A, B # 16", "A", "B", axes)
    found = memory_facts(derived(one, 16), one, LIMITS, 16)
    assert (found["inner_count"], found["inner_stride"], found["packet_units"]) == (8, 1, 8)
    assert (found["packet_bytes"], found["packet_run_bytes"]) == (16, 16)
    assert (found["stride_low"], found["stride_high"]) == (2, 32)
    apart = access("B, A", "A", "B", axes)
    found = memory_facts(derived(apart, 16), apart, LIMITS, 16)
    assert (found["inner_count"], found["inner_stride"], found["packet_units"]) == (8, 4, 8)
    assert found["packet_run_bytes"] == 2
    spread = access("A", "A", "P", {"A": 4, "P": 4})
    found = memory_facts(derived(spread, 16), spread, LIMITS, 16)
    assert (found["inner_count"], found["inner_stride"], found["packet_units"]) == (4, 0, 4)


def test_the_sequencer_scope_reads_a_configuration_in_elements_too():
    # a plan's bf16 text "[8:1, 8:8, 3:64, 4:192]:1" comes with an entry for the two bytes
    text = Sequencer(tuple(Entry(n, s) for n, s in [(8, 2), (8, 16), (3, 128), (4, 384), (2, 1)]), 2)
    one = access(*NCHW, config=text)
    found = memory_facts(given(one, 16), one, LIMITS, 16)
    assert (found["entries"], found["inner_count"], found["inner_stride"], found["packet_units"]) == (4, 4, 192, 1)
    whole = Sequencer((Entry(3, 4), Entry(2, 1)), 1)  # packets of one byte are no elements
    odd = access("A # 2, B # 2", "A", "B", {"A": 1, "B": 1}, config=None)
    assert memory_facts(replace(derived(odd, 16), read_text=whole), odd, LIMITS, 16)["packet_units"] == 1


def test_entries_count_as_written_while_they_fit_the_limits():
    one = access(*MERGING)
    command = derived(one)
    assert memory_facts(command, one, LIMITS, 8)["entries"] == 7  # nine are too many: merged within time and packet
    assert memory_facts(command, one, {**LIMITS, "access_entries_max": 9}, 8)["entries"] == 9


def test_access_bytes_need_the_run_to_start_at_stride_one():
    one = access("A, B", "1", "A, B", {"A": 2, "B": 8}, config=sequencer([(2, 16), (8, 2)], 16))
    assert access_bytes(given(one), one, 8) == 1
