"""Longest runs against enumeration, the limit at both edges, the document's sums, padded rows.

Knows: an oracle that walks every access and looks at every byte. Does not know: summaries, residues.
Law: the oracle shares no code with the module; every count of cases is asserted.
"""

import itertools
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmaverify.errors import InputError
from dmaverify.program.command import Entry, Sequencer
from dmaverify.prove.flow.starvation.bank_runs import (
    AccessNest,
    BankRun,
    Banks,
    Runs,
    bank_runs,
    layout_proposals,
    longest_run,
    nest_of,
    padded,
    summaries,
)
from dmaverify.prove.flow.starvation.starvation_limit import banks_from, cumulative, first_late, limit_from, limits_from

DATA = tomllib.loads((Path(__file__).resolve().parents[2] / "encodings" / "rngd" / "target.toml").read_text())
SECTION = DATA["starvation"]
BANKS = Banks(16, 8)
LIMIT = limit_from(SECTION)


# ---------------------------------------------------------------- the oracle


def walked(nest: AccessNest, count: int = 16, width: int = 8) -> list[tuple[int, tuple[int, ...], int]]:
    """For each bank: length, start and base of its longest run; lowest base first, then the earliest."""
    bases = [nest.base] if nest.base is not None else [b for b in range(count * width) if b % nest.align_bytes == 0]
    best: list[tuple[int, tuple[int, ...], int]] = [(-1, (), 0)] * count
    for base in bases:
        runs = [(0, ())] * count
        for counters in itertools.product(*(range(n) for n, _ in nest.loops)):
            address = base + sum(c * s for c, (_, s) in zip(counters, nest.loops, strict=True))
            touched = {byte // width % count for byte in range(address, address + nest.width_bytes)}
            for bank, (length, start) in enumerate(runs):
                length, start = (length + 1, start if length else counters) if bank in touched else (0, ())
                runs[bank] = length, start
                if length > best[bank][0]:
                    best[bank] = (length, start or (0,) * len(nest.loops), base)
    return best


def computed(nest: AccessNest, banks: Banks = BANKS) -> list[tuple[int, tuple[int, ...], int]]:
    return [(run.length, run.start, run.base) for run in bank_runs(nest, banks).per_bank]


def small_nests() -> Iterator[AccessNest]:
    """Two loops of up to 3 iterations, strides around every boundary of a bank and of the period, five bases."""
    strides = (0, 1, 4, 8, -8, 24, 64, 120, 128, -136)
    for loops in itertools.product(itertools.product((1, 2, 3), strides), repeat=2):
        for width, base in ((8, 0), (4, 6), (32, 121), (1, 127), (130, 5)):
            yield AccessNest(loops, width, base)


def test_every_small_nest_agrees_with_enumeration() -> None:
    seen = 0
    for nest in small_nests():
        assert computed(nest) == walked(nest), nest
        seen += 1
    assert seen == (3 * 10) ** 2 * 5 == 4500


def test_every_small_nest_of_a_small_memory_agrees_for_every_alignment() -> None:
    """3 banks of 2 bytes: a period that is no power of two, all strides, all alignments that matter."""
    banks, seen = Banks(3, 2), 0
    for counts in itertools.product((1, 2, 5, 7, 13), (1, 3, 8)):
        for strides in itertools.product(range(-3, 7), (-2, 0, 1, 3, 6)):
            for width, align in ((1, 1), (2, 2), (3, 3), (1, 6)):
                nest = AccessNest(tuple(zip(counts, strides, strict=True)), width, None, align)
                assert computed(nest, banks) == walked(nest, 3, 2), nest
                seen += 1
    assert seen == 15 * 50 * 4 == 3000


LOOPS = st.lists(
    st.tuples(st.integers(1, 40), st.one_of(st.sampled_from([0, 1, 8, 64, 128, -8, 4096]), st.integers(-5000, 5000))),
    max_size=5,
).filter(lambda loops: AccessNest(tuple(loops), 1).accesses <= 1500)


@settings(max_examples=60)
@given(LOOPS, st.sampled_from([1, 2, 4, 8, 16, 24, 32, 128]), st.integers(0, 1000))
def test_a_nest_with_a_known_base_agrees_with_enumeration(loops: list[tuple[int, int]], width: int, base: int) -> None:
    nest = AccessNest(tuple(loops), width, base)
    assert computed(nest) == walked(nest)


@settings(max_examples=60)
@given(LOOPS, st.sampled_from([1, 8, 24, 32]), st.sampled_from([8, 16, 32, 64, 128]))
def test_an_unknown_base_is_the_worst_of_all_bases(loops: list[tuple[int, int]], width: int, align: int) -> None:
    nest = AccessNest(tuple(loops), width, None, align)
    worst = [bank_runs(replace(nest, base=base), BANKS).lengths for base in range(0, 128, align)]
    assert bank_runs(nest, BANKS).lengths == tuple(max(column) for column in zip(*worst, strict=True))
    found = longest_run(nest, BANKS)
    assert found == longest_run(replace(nest, base=found.base), BANKS)
    assert found.base == align * [max(one) for one in worst].index(found.length)


# ---------------------------------------------------------------- single cases


def test_a_column_of_rows_of_128_bytes_stays_on_one_bank_and_136_rotate() -> None:
    assert longest_run(AccessNest(((64, 128),), 8, 40), BANKS) == BankRun(64, 5, (0,), 40)
    assert longest_run(AccessNest(((64, 136),), 8, 40), BANKS).length == 1


def test_a_loop_of_stride_0_counts_each_time_and_joins_its_neighbours() -> None:
    """The last of the first row and the first of the next are apart; eight repeats of one address are not."""
    assert longest_run(AccessNest(((4, 8), (8, 0)), 8, 0), BANKS).length == 8
    assert longest_run(AccessNest(((4, 128), (8, 0)), 8, 0), BANKS).length == 32


def test_a_run_crosses_the_seam_between_two_iterations() -> None:
    """0, 8, ..., 120 back to 0: bank 15 then bank 0; backwards and forwards by turns: bank 0 twice."""
    assert longest_run(AccessNest(((2, 0), (16, 8)), 8, 0), BANKS).length == 1
    assert longest_run(AccessNest(((2, 128), (2, 120)), 16, 0), BANKS) == BankRun(4, 0, (0, 0), 0)
    assert longest_run(AccessNest(((2, 120), (2, 8)), 8, 0), BANKS).length == 1
    assert longest_run(AccessNest(((2, 8), (2, 8)), 8, 0), BANKS) == BankRun(2, 1, (0, 1), 0)


def test_negative_strides_walk_banks_backwards() -> None:
    assert longest_run(AccessNest(((70, -128),), 8, 8), BANKS) == BankRun(70, 1, (0,), 8)
    assert [run.start for run in bank_runs(AccessNest(((16, -8),), 8, 0), BANKS).per_bank] == [
        (-bank % 16,) for bank in range(16)
    ]


@pytest.mark.parametrize(
    ("width", "address", "banks"),
    [(8, 0, 1), (8, 1, 2), (32, 0, 4), (32, 4, 5), (1, 7, 1), (2, 7, 2), (128, 0, 16), (128, 3, 16), (120, 0, 15)],
)
def test_an_access_touches_its_banks_and_one_more_where_it_is_misaligned(width: int, address: int, banks: int) -> None:
    assert len(BANKS.touched(address, width)) == banks
    assert sum(bank_runs(AccessNest((), width, address), BANKS).lengths) == banks


def test_a_bank_that_is_never_touched_has_a_run_of_0() -> None:
    assert bank_runs(AccessNest(((9, 128),), 8, 0), BANKS).lengths == (9, *(0,) * 15)


def test_counts_beyond_enumeration_are_exact() -> None:
    """2^40 accesses and more, where the answer is plain."""
    loops = ((1 << 20, 128), (1 << 20, 0))
    assert longest_run(AccessNest(loops, 8, 0), BANKS) == BankRun(1 << 40, 0, (0, 0), 0)
    turning = AccessNest(((1 << 30, 8), (1 << 10, 4096)), 8, 0)
    assert longest_run(turning, BANKS) == BankRun(1 << 10, 0, (0, 0), 0)
    nested = AccessNest(((1 << 16, 128), (1 << 16, 0), (256, 128), (3, 8)), 8, 0)
    assert nested.accesses > 1 << 41
    assert longest_run(nested, BANKS).length == 1
    assert longest_run(replace(nested, width_bytes=24), BANKS) == BankRun(3 << 40, 2, (0, 0, 0, 0), 0)


def test_counters_and_position_are_inverse() -> None:
    nest = AccessNest(((3, 1), (4, 2), (5, 3)), 1, 0)
    assert [nest.position(nest.counters(n)) for n in range(60)] == list(range(60))
    assert nest.counters(59) == (2, 3, 4)


def test_the_cost_grows_with_loops_not_with_counts() -> None:
    """The tables have one row per residue and one table per loop, whatever the counts."""
    for count in (2, 1 << 16, 1 << 40):
        found = summaries(AccessNest(((count, 3), (count, 5)), 8, 0), BANKS)
        assert [len(level.best) for level in found.levels] == [128] * 3
    assert summaries(AccessNest(((9, 24),), 8, 0), BANKS).size == 16


@pytest.mark.parametrize("wrong", [(((0, 8),), 8, 0, 1), (((1, 8),), 0, 0, 1), (((1, 8),), 8, None, 0)])
def test_a_nest_without_accesses_is_refused(wrong: tuple[tuple[tuple[int, int], ...], int, int | None, int]) -> None:
    with pytest.raises(ValueError, match="at least"):
        AccessNest(*wrong)
    with pytest.raises(ValueError, match="at least"):
        Banks(0, 8)


# ---------------------------------------------------------------- sequencers


def sequencer(*entries: tuple[int, int], packet: int, base: int | None = None) -> Sequencer:
    return Sequencer(tuple(Entry(*entry) for entry in entries), packet, "dm", base)


def test_a_sequencer_becomes_its_accesses() -> None:
    assert nest_of(sequencer((4, 256), (64, 1), packet=32, base=8), 8) == AccessNest(((4, 256), (8, 8)), 8, 8)
    assert nest_of(sequencer((64, 1), packet=64), 32, base=16) == AccessNest(((2, 32),), 32, 16)
    repeated = nest_of(sequencer((4, 256), (64, 0), packet=32), 32, align_bytes=8)
    assert repeated == AccessNest(((4, 256), (2, 0)), 1, None, 8)
    assert nest_of(sequencer((64, 128), packet=1), 1) == AccessNest(((64, 128),), 1)


@pytest.mark.parametrize(
    ("entries", "packet", "access"), [((64, 1), 24, 8), ((64, 1), 32, 24), ((64, 2), 8, 8), ((64, 1), 32, 0)]
)
def test_an_access_that_does_not_fit_is_refused(entries: tuple[int, int], packet: int, access: int) -> None:
    with pytest.raises(ValueError, match="access"):
        nest_of(sequencer(entries, packet=packet), access)


# ---------------------------------------------------------------- the limit


def test_the_limit_follows_from_the_data_of_the_machine() -> None:
    assert (LIMIT.allowed, LIMIT.first_late, LIMIT.dma) == (63, 64, 1)
    assert LIMIT.priority == ("main fetch", "main commit", "sub fetch", "sub commit", "dma")
    assert set(LIMIT.sources) == {"noc_timeout_cycles", "engine_bytes", "port_bytes", "slices"}
    assert set(LIMIT.bases.values()) == {"documented"}
    assert banks_from({name: figure["value"] for name, figure in DATA["geometry"].items()}) == BANKS


@pytest.mark.parametrize("timeout", range(4000, 4200))
def test_the_first_late_number_is_the_first_whose_answer_is_not_in_time(timeout: int) -> None:
    late = first_late(timeout, 256, 128, 32)
    assert 256 * (late - 1) * 32 < timeout * 128 <= 256 * late * 32


def test_readings_move_the_threshold_and_the_count_of_dma() -> None:
    assert limit_from(SECTION, {"threshold": "more-than-64"}).allowed == 64
    assert limit_from(SECTION, {"dma-request": "not-counted"}).dma == 0
    every = limits_from(SECTION)
    assert every[0] == LIMIT
    assert {(limit.allowed, limit.dma) for limit in every} == {(63, 1), (63, 0), (64, 1), (64, 0)}
    assert len(every) == 4


@pytest.mark.parametrize(
    ("section", "readings", "says"),
    [
        (SECTION, {"threshold": "lax"}, "no reading 'lax'"),
        (SECTION, {"treshold": "strict"}, "no reading 'treshold'"),
        ({key: value for key, value in SECTION.items() if key != "slices"}, {}, "lacks `slices`"),
        ({**SECTION, "slices": {"value": 32}}, {}, "lacks `source`"),
    ],
)
def test_a_section_or_reading_that_is_not_whole_is_refused(
    section: dict[str, object], readings: dict[str, str], says: str
) -> None:
    with pytest.raises(InputError) as error:
        limit_from(section, readings)
    assert says in str(error.value)
    with pytest.raises(InputError, match="bank_width_bytes"):
        banks_from({"banks_per_slice": 16})


# ---------------------------------------------------------------- sums


def repeats(count: int, bank: int = 0) -> Runs:
    return bank_runs(AccessNest(((count, 0),), 8, 8 * bank), BANKS)


@pytest.mark.parametrize(
    ("main", "sub", "total", "safe"), [(30, 20, 51, True), (30, 35, 66, False), (35, 20, 56, True)]
)
def test_the_documents_sums_only_the_sum_decides(main: int, sub: int, total: int, safe: bool) -> None:
    """30 + 20 + 1 is safe; "either reaches 35" is not the criterion: 35 + 20 + 1 is safe too, 30 + 35 + 1 is not."""
    found = cumulative({"main fetch": repeats(main), "sub fetch": repeats(sub)}, LIMIT.dma)
    assert (found.total, found.bank, found.dma) == (total, 0, 1)
    assert found.within(LIMIT) is safe
    assert [run.length for _, run in found.parts] == sorted((main, sub), reverse=True)


@pytest.mark.parametrize(("threshold", "last_ok"), [("strict", 63), ("more-than-64", 64)])
@pytest.mark.parametrize(("request_", "dma"), [("counted", 1), ("not-counted", 0)])
def test_both_edges_of_the_limit_under_every_reading(threshold: str, last_ok: int, request_: str, dma: int) -> None:
    limit = limit_from(SECTION, {"threshold": threshold, "dma-request": request_})
    for accesses in range(55, 70):
        found = cumulative({"main fetch": repeats(accesses)}, limit.dma)
        assert found.total == accesses + dma
        assert found.within(limit) == (found.total <= last_ok)


def test_runs_on_different_banks_do_not_add_up_and_dma_counts_on_each() -> None:
    found = cumulative({"a": repeats(40, 3), "b": repeats(50, 4)})
    assert (found.total, found.bank) == (51, 4)
    assert [name for name, _ in found.parts] == ["b"]
    assert found.per_bank == tuple({3: 41, 4: 51}.get(bank, 1) for bank in range(16))


def test_unknown_bases_meet_on_one_bank() -> None:
    a = bank_runs(AccessNest(((40, 128),), 8, None, 8), BANKS)
    b = bank_runs(AccessNest(((30, 128),), 8, None, 8), BANKS)
    assert cumulative({"a": a, "b": b}).per_bank == (71,) * 16
    even = bank_runs(AccessNest(((40, 128),), 8, None, 16), BANKS)
    assert cumulative({"even": even, "odd": repeats(30, 5)}).total == 41


def test_no_access_has_no_sum() -> None:
    with pytest.raises(ValueError, match="no access"):
        cumulative({})


# ---------------------------------------------------------------- layouts


def smallest_by_hand(rows: int, row: int, element: int, allowed: int) -> int | None:
    """Try every row size: a column of `rows` accesses of 8 bytes, a multiple of 8 bytes apart."""
    for size in range(row + 1, row + 200):
        if size * element % 8 == 0:
            nest = AccessNest(((rows, size * element),), 8, 0)
            if max(length for length, _, _ in walked(nest)) <= allowed:
                return size
    return None


@pytest.mark.parametrize("row", [32, 64, 128])
@pytest.mark.parametrize("element", [1, 2, 4])
@pytest.mark.parametrize("allowed", [1, 3, 9])
def test_the_smallest_padding_is_proposed(row: int, element: int, allowed: int) -> None:
    nest = AccessNest(((70, row * element),), 8, 0)
    (found,) = layout_proposals(nest, BANKS, [row], element, allowed)
    assert found.padded_elements == smallest_by_hand(70, row, element, allowed)
    assert found.runs == bank_runs(found.nest, BANKS)
    assert found.total == max(found.runs.lengths) <= allowed
    assert found.nest.loops == ((70, found.padded_elements * element),)


def test_what_runs_beside_makes_a_padding_insufficient() -> None:
    nest = AccessNest(((4, 512), (64, 128)), 8, 0)
    alone = layout_proposals(nest, BANKS, [128], 1, 63, (1,) * 16)
    assert [proposal.padded_elements for proposal in alone] == [136]
    assert layout_proposals(nest, BANKS, [128], 1, 63, (63,) * 16) == ()


def test_padding_cannot_help_a_loop_of_stride_0_or_rows_that_are_walked_through() -> None:
    assert layout_proposals(AccessNest(((64, 0),), 8, 0), BANKS, [128], 1, 63) == ()
    through = AccessNest(((64, 128), (17, 8)), 8, 0)
    assert padded(through, 128, 136) is None
    assert layout_proposals(through, BANKS, [128], 1, 1) == ()
    assert padded(AccessNest(((64, 256), (16, 8)), 8, 0), 128, 136) == AccessNest(((64, 272), (16, 8)), 8, 0)


def test_every_row_size_gets_its_own_proposal() -> None:
    """A, B, C bytes with C = 128, B = 8: a column over A and B is mended by C # 136; over A alone by either."""
    column = AccessNest(((70, 1024),), 8, None, 8)
    found = layout_proposals(column, BANKS, [128, 1024], 1, 63)
    assert [(one.row_elements, one.padded_elements) for one in found] == [(128, 136), (1024, 1032)]
    assert all(one.total <= 63 for one in found)
