"""The tables of the "Sequencer" document, row for row, and their strides against those of `derive`."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmaverify.language.expr import Expr, axes_of, terms_of
from dmaverify.language.parse import parse
from dmaverify.lower.derive import derive
from dmaverify.lower.pairing import Trouble
from dmaverify.lower.table_text import render_merged, render_table, table_json
from dmaverify.lower.tables import DerivationTable, access_bytes_of, contiguous_run, fetch_size, merged, table_of
from dmaverify.program.command import coalesce
from dmaverify.program.move import Stream
from dmaverify.program.space import Space
from dmaverify.program.tensor import Tensor

MEMORY = Space("mem", ("element",))


def stream_of(time: str, packet: str, axes: dict[str, int]) -> Stream:
    return Stream(parse(time, axes), parse(packet, axes))


def table(buffer: str, time: str, packet: str, **axes: int) -> DerivationTable:
    return table_of(parse(buffer, axes), stream_of(time, packet, axes))


def full_rows(found: DerivationTable) -> list[tuple[str, str, str, str]]:
    assert found.problem is None
    return [(row.term, row.entry, row.source, row.after) for row in found.rows]


REARRANGING = ("A, B, C # 32", "B, A", "C # 16", {"A": 8, "B": 8, "C": 8})
SPLITTING = ("A, B, C # 8", "A % 2, B % 4, A / 2, B / 4", "C # 32", {"A": 8, "B": 8, "C": 4})
SLICING = ("A, B, C", "A / 4, A % 4 = 3, B / 4, B % 4 = 2", "C", {"A": 16, "B": 8, "C": 8})
BROADCASTING = ("A", "T, A", "P", {"A": 16, "T": 4, "P": 4})
MERGING = (
    "N, C, H, W",
    "W / 16, H % 2, H / 2, C / 2, C % 2, N / 2, N % 2, W / 8 % 2",
    "W % 8",
    {"N": 8, "C": 8, "H": 8, "W": 32},
)
NCHW = ("N, C, H, W", "W, H, C, N", "1", {"N": 4, "C": 3, "H": 8, "W": 8})
STRIDED = ("A, B", "A, B / 32", "B % 32", {"A": 8, "B": 512})
INSUFFICIENT = ("N % 512", "N / 512", "N % 512", {"N": 2048})
INCOMPATIBLE = ("A % 5, A / 5", "1", "A % 3, A / 3", {"A": 15})
EXAMPLES = [REARRANGING, SPLITTING, SLICING, BROADCASTING, MERGING, NCHW, STRIDED, INSUFFICIENT]


# ---------------------------------------------------------------- "Sequencer", Configuration Examples


def test_rearranging_axes_gives_the_printed_table():
    assert full_rows(table(*REARRANGING[:3], **REARRANGING[3])) == [
        ("B", "8 : 32", "m![C # 32]::SIZE", "m![A, 1 # 8, C # 32]"),
        ("A", "8 : 256", "m![1 # 8, C # 32]::SIZE", "m![1 # 64, C # 32]"),
        ("C # 16", "16 : 1", "contiguous (Packet dimension)", "1 # 2048"),
    ]


def test_splitting_axes_gives_the_printed_table():
    assert full_rows(table(*SPLITTING[:3], **SPLITTING[3])) == [
        ("A % 2", "2 : 64", "m![B, C # 8]::SIZE", "m![A / 2, 1 # 2, B, C # 8]"),
        ("B % 4", "4 : 8", "m![C # 8]::SIZE", "m![A / 2, 1 # 2, B / 4, 1 # 4, C # 8]"),
        ("A / 2", "4 : 128", "m![1 # 2, B / 4, 1 # 4, C # 8]::SIZE", "m![1 # 8, B / 4, 1 # 4, C # 8]"),
        ("B / 4", "2 : 32", "m![1 # 4, C # 8]::SIZE", "m![1 # 64, C # 8]"),
        ("C # 32", "32 : 1", "contiguous (Packet dimension)", "1 # 512"),
    ]


def test_slicing_axes_gives_the_printed_table():
    assert full_rows(table(*SLICING[:3], **SLICING[3])) == [
        ("A / 4", "4 : 256", "m![A % 4, B, C]::SIZE", "m![1 # 4, A % 4, B, C]"),
        ("A % 4 = 3", "3 : 64", "m![B, C]::SIZE (sliced to 3)", "m![1 # 16, B, C]"),
        ("B / 4", "2 : 32", "m![B % 4, C]::SIZE", "m![1 # 32, B % 4, C]"),
        ("B % 4 = 2", "2 : 8", "m![C]::SIZE (sliced to 2)", "m![1 # 128, C]"),
        ("C", "8 : 1", "contiguous (Packet dimension)", "1 # 1024"),
    ]


def test_broadcasting_axes_gives_the_printed_table():
    assert full_rows(table(*BROADCASTING[:3], **BROADCASTING[3])) == [
        ("T", "4 : 0", "not in Buf (broadcast)", "m![A]"),
        ("A", "16 : 1", "A in m![A]", "1 # 16"),
        ("P", "4 : 0", "not in Buf (broadcast)", "1 # 16"),
    ]


def test_merging_entries_gives_the_printed_table_of_nine_entries():
    # this table speaks of the buffer as declared; the document writes its last row with a small p
    found = table(*MERGING[:3], **MERGING[3])
    assert [(r.term, r.entry, r.source_declared) for r in found.rows] == [
        ("W / 16", "2 : 16", "m![W % 16]::SIZE"),
        ("H % 2", "2 : 32", "m![W]::SIZE"),
        ("H / 2", "4 : 64", "m![H % 2, W]::SIZE"),
        ("C / 2", "4 : 512", "m![C % 2, H, W]::SIZE"),
        ("C % 2", "2 : 256", "m![H, W]::SIZE"),
        ("N / 2", "4 : 4096", "m![N % 2, C, H, W]::SIZE"),
        ("N % 2", "2 : 2048", "m![C, H, W]::SIZE"),
        ("W / 8 % 2", "2 : 8", "m![W % 8]::SIZE"),
        ("W % 8", "8 : 1", "contiguous (Packet dimension)"),
    ]
    assert found.rows[3].source == "m![C % 2, 1 # 16, W % 16]::SIZE"  # what is left of the buffer by then
    assert found.rows[-1].after == "1 # 16384"


def test_merging_entries_gives_the_printed_table_of_six_entries_and_the_grown_packet():
    found = merged(table(*MERGING[:3], **MERGING[3]))
    assert [(r.term, r.entry, [(p.term, p.entry) for p in r.parts if len(r.parts) > 1]) for r in found.rows] == [
        ("W / 16", "2 : 16", []),
        ("H % 2", "2 : 32", []),
        ("H / 2", "4 : 64", []),
        ("C", "8 : 256", [("C / 2", "4 : 512"), ("C % 2", "2 : 256")]),
        ("N", "8 : 2048", [("N / 2", "4 : 4096"), ("N % 2", "2 : 2048")]),
        ("W % 16", "16 : 1", [("W / 8 % 2", "2 : 8"), ("W % 8", "8 : 1")]),
    ]
    assert found.packet_size == 16
    lines = render_merged(found).splitlines()
    assert lines[0].split("|")[1:4] == [" Term   ", " Entry    ", " Merged Entries                     "]
    assert "| C      | 8 : 256  | C / 2 (4 : 512), C % 2 (2 : 256)   |" in lines


def test_the_nchw_example_has_the_printed_configuration():
    found = table(*NCHW[:3], **NCHW[3])
    assert (found.entries, found.packet_size) == (((8, 1), (8, 8), (3, 64), (4, 192)), 1)
    assert found.rows[0].source == "W in m![N, C, H, W]"


@pytest.mark.parametrize(
    ("example", "size"), [(REARRANGING, 16), (SPLITTING, 32), (SLICING, 8), (BROADCASTING, 4)], ids=str
)
def test_the_maximum_fetch_size_is_the_printed_one(example, size):
    found = table(*example[:3], **example[3])
    assert fetch_size(found.entries, found.packet_size) == size


# ---------------------------------------------------------------- "Sequencer", Configuration Failures


def test_insufficient_input_is_a_row_that_says_what_the_buffer_holds():
    found = table(*INSUFFICIENT[:3], **INSUFFICIENT[3])
    first = found.rows[0]
    assert (first.term, first.entry) == ("N / 512", "4 : 0")
    assert first.source == "not in Buf (insufficient input: Buf holds N % 512)"
    assert any("insufficient input" in note.lower() and "broadcast" in note for note in found.notes)
    assert not table("N", "N / 512", "N % 512", N=2048).notes  # the other side of the edge


def test_incompatible_shapes_have_a_reason_with_both_cuts_and_no_rows():
    found = table(*INCOMPATIBLE[:3], **INCOMPATIBLE[3])
    assert found.rows == ()
    assert found.problem is not None
    assert (found.problem.axis, found.problem.cuts) == ("A", (3, 5))
    assert "incompatible shapes" in render_table(found)
    assert table_json(found)["problem"] == found.problem.message


def test_the_same_cuts_in_the_other_order_are_compatible():
    found = table("A % 5, A / 5", "1", "A / 5, A % 5", A=15)
    assert found.entries == ((3, 1), (5, 3))


# ---------------------------------------------------------------- beyond the document


def test_a_term_splits_where_the_buffer_holds_its_pieces_apart():
    assert full_rows(table("A % 4, B, A / 4", "B, A", "1", A=16, B=2)) == [
        ("B", "2 : 4", "m![A / 4]::SIZE", "m![A % 4, 1 # 2, A / 4]"),
        ("A / 4", "4 : 1", "A in m![A % 4, 1 # 2, A / 4]", "m![A % 4, 1 # 8]"),
        ("A % 4", "4 : 8", "m![1 # 8]::SIZE", "1 # 32"),
    ]


def test_a_cut_of_the_buffer_that_moves_nothing_is_no_cut():
    assert full_rows(table("A / 4, A % 4", "1", "A", A=16)) == [
        ("A", "16 : 1", "contiguous (Packet dimension)", "1 # 16")
    ]


def test_an_innermost_entry_that_is_not_contiguous_keeps_its_volume_as_source():
    found = table("A, B", "1", "B, A", A=4, B=8)
    assert [(r.entry, r.source) for r in found.rows] == [
        ("8 : 1", "B in m![A, B]"),
        ("4 : 8", "m![1 # 8]::SIZE"),
    ]


def test_a_time_entry_that_is_contiguous_is_no_packet():
    found = table("A, B", "A, B", "1", A=4, B=8)
    assert found.rows[-1].source == "B in m![1 # 4, B]"


def test_padding_alone_is_not_called_a_slice_but_dropping_a_live_value_is():
    assert "sliced" not in table("C # 32, D", "C # 16", "D", C=8, D=2).rows[0].source
    assert "sliced" not in table("C # 32, D", "C", "D", C=8, D=2).rows[0].source
    assert "(sliced to 7)" in table("C # 32, D", "C = 7", "D", C=8, D=2).rows[0].source


def test_what_the_stream_does_not_take_stays_in_the_buffer_and_is_noted():
    found = table("A, B", "1", "A % 4", A=16, B=2)
    assert found.rows[-1].after == "m![A / 4, 1 # 4, B]"
    assert found.notes == ("the stream leaves A / 4, B of Buf unread",)


def test_padding_that_another_term_walks_stays_in_the_buffer_for_it():
    found = table("A # 24, B", "A # 24 % 12, A # 24 / 12", "B", A=12, B=4)
    assert [(r.entry, r.after) for r in found.rows[:2]] == [
        ("12 : 4", "m![A # 24 / 12, 1 # 12, B]"),
        ("2 : 48", "m![1 # 24, B]"),
    ]
    assert table("A # 24, B", "A # 24 % 12", "B", A=12, B=4).rows[0].after == "m![1 # 24, B]"


def test_a_piece_named_twice_has_a_reason():
    found = table("A, B", "A, A % 2", "B", A=8, B=2)
    assert found.problem is not None
    assert "add up" in found.problem.message
    assert len(found.rows) == 1


def test_a_buffer_cut_inside_a_digit_has_a_reason():
    axes = {"A": 2, "B": 3}
    found = table_of(parse("[A, B] / 2", axes), stream_of("A", "B", axes))
    assert found.problem is not None
    assert found.rows == ()


def test_entries_of_one_iteration_are_shown_and_merge_away():
    found = table("A, B", "A % 4 = 1", "B", A=8, B=4)
    assert found.entries == ((1, 4), (4, 1))
    assert merged(found).entries == ((4, 1),)


def test_a_broken_up_padding_is_explained_where_no_volume_says_the_stride():
    # A = 15 walked as 4 times 4: the buffer has 15 places, the pieces 16
    found = table("B, A", "A # 16 % 4, A # 16 / 4, B", "1", A=15, B=2)
    assert found.entries == ((4, 1), (4, 4), (2, 15))
    assert found.rows[-1].source.startswith("15 elements apart in")


def test_merging_needs_the_strides_to_chain_exactly():
    def pairs(buffer: str) -> tuple[tuple[int, int], ...]:
        return merged(table(buffer, "A", "B", A=4, B=8)).entries

    assert pairs("A, B") == ((32, 1),)
    assert pairs("A, B # 9") == ((4, 9), (8, 1))


def test_merging_different_axes_names_both():
    assert [r.term for r in merged(table("A, B", "A", "B", A=4, B=8)).rows] == ["A, B"]


def test_broadcasts_merge_with_broadcasts():
    assert merged(table("A", "T, U, A", "1", A=4, T=2, U=3)).entries == ((6, 0), (4, 1))


# ---------------------------------------------------------------- what one access can hold


@pytest.mark.parametrize(
    ("entries", "run"),
    [
        ([(8, 1)], 8),
        ([(2, 8), (8, 1)], 16),
        ([(2, 9), (8, 1)], 8),
        ([(2, 16), (8, 2)], 1),  # the printed procedure would say 16
        ([(3, 0), (4, 0)], 12),
        ([(4, 1), (4, 0)], 4),
        ([(2, 8), (8, 1), (1, 5)], 16),
        ([], 1),
    ],
)
def test_a_contiguous_run_starts_with_stride_one_or_zero(entries, run):
    assert contiguous_run(entries) == run


def test_a_fetch_goes_over_several_entries_of_a_packet():
    assert fetch_size([(4, 8), (8, 1)], 32) == 32


def test_fetch_size_counts_bytes_of_the_element():
    assert fetch_size([(16, 1)], 16, 16) == 32
    assert fetch_size([(32, 1)], 32, 16) == 32  # 64 bytes are two accesses
    assert fetch_size([(24, 1)], 24, 8) == 8
    assert fetch_size([(2, 1)], 2, 4) == 1
    assert fetch_size([(4, 192)], 1, 4) == 0  # half a byte
    assert fetch_size([(4, 192)], 1, 16) == 2


def test_access_bytes_are_the_largest_listed_divisor():
    assert [access_bytes_of(8 * n) for n in (1, 2, 3, 16, 24, 32, 33, 48, 64)] == [1, 2, 1, 16, 8, 32, 1, 16, 32]
    assert access_bytes_of(0) == access_bytes_of(4) == access_bytes_of(12) == 0


# ---------------------------------------------------------------- shown


def test_a_table_renders_with_aligned_columns():
    lines = render_table(table(*REARRANGING[:3], **REARRANGING[3])).splitlines()
    assert lines[0] == "| Term   | Entry   | Stride Source                 | Buf After            |"
    assert lines[2] == "| B      | 8 : 32  | m![C # 32]::SIZE              | m![A, 1 # 8, C # 32] |"
    assert len({len(line) for line in lines}) == 1
    declared = table(*MERGING[:3], **MERGING[3]).rows[2]
    assert (declared.term, declared.entry, declared.source_declared) == ("H / 2", "4 : 64", "m![H % 2, W]::SIZE")


def test_the_json_has_every_row_and_the_config():
    data = table_json(table(*BROADCASTING[:3], **BROADCASTING[3]))
    assert data["packet_size"] == 4
    assert data["rows"][1] == {
        "term": "A", "count": 16, "stride": 1, "source": "A in m![A]", "source_declared": "A in m![A]",
        "buf_after": "1 # 16", "packet": False,
    }  # fmt: skip


# ---------------------------------------------------------------- against derive


def derived_entries(buffer: Expr, stream: Stream) -> list[tuple[int, int]] | Trouble:
    """(count, stride) of the memory side as `derive` finds them, which knows layouts and no volumes."""
    memory = Tensor("mem", buffer)
    found = derive(memory, memory, (MEMORY, MEMORY), 8, stream)
    return found if isinstance(found, Trouble) else [(f.count, f.read) for f in found.fragments]


def assert_agrees(buffer: Expr, stream: Stream) -> bool:
    """Whether both derive something. Where a table has a problem, `derive` has one or a piece is named twice."""
    mine, other = table_of(buffer, stream), derived_entries(buffer, stream)
    if mine.problem is not None:
        assert isinstance(other, Trouble) or "add up" in mine.problem.message, (str(buffer), stream)
        return False
    assert not isinstance(other, Trouble), (str(buffer), str(stream.mapping), other.message)
    moving = [e for e in mine.entries if e[0] > 1]
    if "#" in str(buffer):  # layouts may keep a cut of padding that moves nothing: the merged entries decide
        moving, other = coalesce(moving), coalesce(other)
    assert moving == other, (str(buffer), str(stream.mapping))
    return True


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_the_strides_are_those_of_derive_on_every_example(example):
    buffer, time, packet, axes = example
    assert assert_agrees(parse(buffer, axes), stream_of(time, packet, axes))


def test_both_refuse_the_incompatible_example():
    buffer, time, packet, axes = INCOMPATIBLE
    assert isinstance(derived_entries(parse(buffer, axes), stream_of(time, packet, axes)), Trouble)
    assert not assert_agrees(parse(buffer, axes), stream_of(time, packet, axes))


SIZES = {"A": 12, "B": 4, "C": 15, "D": 2}


@st.composite
def cut_axis(draw: st.DrawFn, axis: str) -> list[str]:
    """The terms of an axis, whole, padded, or cut once or twice at divisors; in any order."""
    size = SIZES[axis]
    padded = draw(st.sampled_from([size, size, size, 16 if size == 15 else size + size]))
    base = axis if padded == size else f"{axis} # {padded}"
    divisors = [d for d in range(2, padded) if padded % d == 0 and padded in (size, 16)]
    cuts = sorted(draw(st.lists(st.sampled_from(divisors), max_size=2, unique=True))) if divisors else []
    cuts = [c for i, c in enumerate(cuts) if i == 0 or c % cuts[i - 1] == 0]
    ends = [1, *cuts, padded]
    terms = []
    for low, high in pairwise(ends):
        part = base if low == 1 else f"{base} / {low}"
        terms.append(part if high == padded else f"{part} % {high // low}")
    if draw(st.booleans()) and draw(st.booleans()):
        at = draw(st.integers(0, len(terms) - 1))
        size_of = ends[at + 1] // ends[at]
        terms[at] = f"{terms[at]} = {draw(st.integers(1, size_of))}"
    return terms


@st.composite
def accesses(draw: st.DrawFn) -> tuple[Expr, Stream]:
    def mapping(axes: list[str]) -> list[str]:
        terms = [term for axis in axes for term in draw(cut_axis(axis))]
        return list(draw(st.permutations(terms)))

    held = draw(st.lists(st.sampled_from(sorted(SIZES)), min_size=1, max_size=3, unique=True))
    walked = draw(st.lists(st.sampled_from(sorted(SIZES)), min_size=1, max_size=3, unique=True))
    buffer, terms = mapping(held), mapping(walked)
    if draw(st.booleans()):
        terms.insert(0, "3")
    at = draw(st.integers(0, len(terms)))
    time, packet = terms[:at] or ["1"], terms[at:] or ["1"]
    return parse(", ".join(buffer), SIZES), stream_of(", ".join(time), ", ".join(packet), SIZES)


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 2)
@given(accesses())
def test_the_strides_are_those_of_derive_on_random_accesses(access):
    assert_agrees(*access)


@settings(max_examples=settings.default.max_examples // 2)
@given(accesses())
def test_rows_multiply_to_their_terms_and_volumes_never_change(access):
    buffer, stream = access
    found = table_of(buffer, stream)
    if found.problem is not None:
        return
    for index, term in enumerate((*terms_of(stream.time), *terms_of(stream.packet))):
        product = 1
        for row in found.rows:
            product *= row.count if row.index == index else 1
        assert product == term.size, (str(term), found.rows)
    if "#" not in f"{buffer}{stream.mapping}" and "=" not in str(buffer):
        for row in found.rows:
            text = row.after.removeprefix("m![").removesuffix("]")
            assert parse(text, axes_of(buffer)).size == buffer.size, row


def test_axes_cut_in_two_derive_in_every_order():
    # guards the two tests above against passing on nothing but problems
    rng = random.Random(5)
    for _ in range(100):
        axes = rng.sample(sorted(SIZES), 3)
        buffer, stream = ([t for a in axes for t in halves(a, rng)] for _ in range(2))
        rng.shuffle(buffer)
        rng.shuffle(stream)
        assert assert_agrees(parse(", ".join(buffer), SIZES), stream_of(", ".join(stream), "1", SIZES))


def halves(axis: str, rng: random.Random) -> list[str]:
    """The axis whole, or cut in two at one and the same place."""
    cut = {"A": 4, "B": 2, "C": 5, "D": 1}[axis]
    return [axis] if cut == 1 or rng.random() < 0.5 else [f"{axis} / {cut}", f"{axis} % {cut}"]
