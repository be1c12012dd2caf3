"""Configuration texts: every printed form, exact spans, units, and a round trip for whatever can be printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lab import config_text
from lab.config_text import format_sequencer

from dmaverify.errors import InputError, Source
from dmaverify.plan.config import parse_config, parse_paired
from dmaverify.plan.media import MEDIA, Medium
from dmaverify.program.command import Entry, Sequencer

SLICE, DMN = 4 << 20, 128 << 20
CONSTANTS = {"slice_stride": SLICE, "DMN_stride": DMN}


def format_paired(
    read: Sequencer,
    write: Sequencer,
    *,
    element_units: int = 1,
    constants: Mapping[str, int] | None = None,
    unit: str = "bytes",
    byte_units: int = 1,
    media: Mapping[str, Medium] = MEDIA,
) -> str:
    """The text of two sequencers with the same counts and packet as one. Raises ValueError where there is none."""
    scale = element_units if unit == "elements" else byte_units
    if [e.count for e in read.entries] != [e.count for e in write.entries] or read.packet != write.packet:
        raise ValueError("only sequencers with equal counts and packets have one paired text")
    if (read.base is None) != (write.base is None) or (read.tier is None) != (write.tier is None):
        raise ValueError("a paired text names the medium and base of both sides or of none")
    if read.tier is not None and read.base is None:
        raise ValueError("a medium without a base has no text")
    names = [(constants or {}) if seq.tier in (None, "dm") else {} for seq in (read, write)]
    pairs = zip(read.entries, write.entries, strict=True)
    lines = config_text._shrunk([(r.label or w.label, r.count, (r.stride, w.stride)) for r, w in pairs], scale)
    entries = ", ".join(
        f"{config_text._label(label)}{count}:"
        f"({', '.join(config_text._distance(s, scale, n) for s, n in zip(strides, names, strict=True))})"
        for label, count, strides in lines
    )
    text = f"[{entries}]:{config_text._whole(read.packet, scale)}"
    if read.base is not None:
        bases = (config_text._base(side, scale, n) for side, n in zip((read, write), names, strict=True))
        text += f", base=({', '.join(bases)})"
    if read.tier is not None and write.tier is not None:
        media_names = [config_text._medium_name(tier, media) for tier in (read.tier, write.tier)]
        text += f", media_source = {media_names[0]}, media_dest = {media_names[1]}"
    return text


def read(text: str, **options: object) -> Sequencer:
    return parse_config(text, source=Source("<text>", text), constants=CONSTANTS, **options)  # type: ignore[arg-type]


def paired(text: str, **options: object) -> tuple[Sequencer, Sequencer]:
    return parse_paired(text, source=Source("<text>", text), constants=CONSTANTS, **options)  # type: ignore[arg-type]


def nest(seq: Sequencer) -> list[tuple[int, int]]:
    return [(entry.count, entry.stride) for entry in seq.entries]


# --- what the documents print ("DMA Engine", "Sequencer")


@pytest.mark.parametrize(
    ("text", "expected", "packet", "tier", "place", "base"),
    [
        (
            "[H=8:8, C=3:64, N=3:192, W=8:1]:8 HBM/D@1024",
            [(8, 8), (3, 64), (3, 192), (8, 1)],
            8, "hbm", (), 1024,
        ),
        (
            "[B=256:256, A%4=4:65536, A/4%32=32:slice_stride, A/128=2:DMN_stride, C=256:1]:256 DM/D@0",
            [(256, 256), (4, 65536), (32, SLICE), (2, DMN), (256, 1)],
            256, "dm", (), 0,
        ),
        (
            "[B=256:1024, C=256:1]:256 DM/D@(4 * 256 * 256)",
            [(256, 1024), (256, 1)],
            256, "dm", (), 262144,
        ),
        (
            "[B%256=256:1024, A%32=32:2^21, A/32=2:2^26, C%256=256:1]:256 HBM/D@(1 * (1024 * 1024) + 3 * (256 * 1024))",
            [(256, 1024), (32, 1 << 21), (2, 1 << 26), (256, 1)],
            256, "hbm", (), 1835008,
        ),
        ("[C=256:1]:256 DM/D@(1, 3, 0)", [(256, 1)], 256, "dm", (1, 3), 0),
        ("[C=256:1]:256 DM/D@(2, 1, 3, 64)", [(256, 1)], 256, "dm", (2, 1, 3), 64),
        (
            "[A'%2=2:256, B=32:15 * 256, A'/2%2=2:512, C=256:1]:256 HBM/D@(0 + 2 * (15 * 32 * 256))",
            [(2, 256), (32, 3840), (2, 512), (256, 1)],
            256, "hbm", (), 245760,
        ),
        ("[8 : 1, 8 : 8, 3 : 64, 4 : 192] : 1", [(8, 1), (8, 8), (3, 64), (4, 192)], 1, None, (), None),
        (
            "[\n    B -> 8 : 32,\n    A -> 8 : 256,\n    C # 16 -> 16 : 1,\n] : 16",
            [(8, 32), (8, 256), (16, 1)],
            16, None, (), None,
        ),
        ("[W=8:1]:8 HBM @ 1024", [(8, 1)], 8, "hbm", (), 1024),
        ("[W=8:1]:8 @ (1, 64)", [(8, 1)], 8, None, (1,), 64),
        ("[W=8:-1, A=4:0]:1 spm@0x40", [(8, -1), (4, 0)], 1, "spm", (), 64),
        ("[]:8", [(8, 1)], 8, None, (), None),
        ("[ ]:1 DM/D@7", [(1, 1)], 1, "dm", (), 7),
    ],
)  # fmt: skip
def test_every_printed_form_is_read(
    text: str,
    expected: list[tuple[int, int]],
    packet: int,
    tier: str | None,
    place: tuple[int, ...],
    base: int | None,
) -> None:
    seq = read(text)
    assert (nest(seq), seq.packet, seq.tier, seq.place, seq.base) == (expected, packet, tier, place, base)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("[A=8:1]:8", "A"),
        ("[A/4 % 32=8:1]:8", "A/4 % 32"),
        ("[A'%2=8:1]:8", "A'%2"),
        ("[A % 4 = 3=8:1]:8", "A % 4 = 3"),
        ("[C#16=8:1]:8", "C#16"),
        ("[[A, B] / 2=8:1]:8", "[A, B] / 2"),
        ("[$(N:1, F:2)=8:1]:8", "$(N:1, F:2)"),
        ("[A = 3 -> 8:1]:8", "A = 3"),
        ("[A\n  %  2=8:1]:8", "A % 2"),
        ("[größe=8:1]:8", "größe"),
        ("[8:1]:8", ""),
    ],
)
def test_a_label_is_all_up_to_the_last_sign_before_the_colon(text: str, label: str) -> None:
    assert read(text).entries[0].label == label


def test_labels_and_spans_take_no_part_in_equality() -> None:
    assert read("[A=8:1]:8 HBM/D@0") == read("[ 8 : 1 ] : 8  HBM @ 0")
    assert read("[A=8:1]:8") != read("[A=8:2]:8")


def test_spans_point_into_the_file() -> None:
    text = "[B=256 : 2 * slice_stride, C=(255+1):1]:256 DM/D@(1, 3, 64)"
    source = Source("plan.toml", f"read = '{text}'")
    seq = parse_config(text, source=source, offset=8, constants=CONSTANTS)
    first, last = seq.entries
    spans = [first.span, first.count_span, first.stride_span, last.span, last.count_span, last.stride_span]
    spans += [seq.span, seq.packet_span, seq.medium_span, seq.base_span]
    assert [span.text if span else None for span in spans] == [
        "B=256 : 2 * slice_stride", "256", "2 * slice_stride", "C=(255+1):1", "(255+1)", "1",
        text, "256", "DM/D@(1, 3, 64)", "64",
    ]  # fmt: skip
    assert all(span is not None and span.source is source for span in spans)


# --- arithmetic


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("1_024", 1024),
        ("0x4_00", 1024),
        ("2^10", 1024),
        ("2^2^3", 256),
        ("-2^2", -4),
        ("2*-3", -6),
        ("--3", 3),
        ("+3 - -4", 7),
        ("2+3*4^2", 50),
        ("(2+3)*4", 20),
        ("10-2-3", 5),
        ("256^3", 16777216),
        ("0^0", 1),
        ("(-1)^99999", -1),
        ("-DMN_stride", -DMN),
        ("2 * slice_stride + 256", 2 * SLICE + 256),
        ("(DMN_stride - slice_stride) * 2", 2 * (DMN - SLICE)),
        ("2^80", 2**80),
        ("-2^80", -(2**80)),
        ("1^99999999999999999999", 1),
        ("(" * 64 + "7" + ")" * 64, 7),
    ],
)
def test_arithmetic_is_exact(number: str, value: int) -> None:
    assert read(f"[8:{number}]:8").entries[0].stride == value


@pytest.mark.parametrize(
    ("text", "message", "at", "hint"),
    [
        ("[8:2^80+1]:8", "larger than 2^80", "2^80+1", "2^62"),
        ("[8:2^81]:8", "larger than 2^80", "2^81", "2^62"),
        ("[8:2^100000000]:8", "larger than 2^80", "2^100000000", "2^62"),
        ("[8:2^2^2^2^2]:8", "larger than 2^80", "2^2^2^2^2", "2^62"),
        ("[8:" + "9" * 5000 + "]:8", "larger than 2^80", "9" * 5000, "2^62"),
        ("[8:99999999999*99999999999*99999999999]:8", "larger", "99999999999*99999999999*99999999999", "2^62"),
        ("[8:" + "(" * 65 + "7" + ")" * 65 + "]:8", "nested", "7", "itself"),
        ("[8:" + "2^" * 100 + "1]:8", "nested", None, "itself"),
        ("[8:6/2]:8", "division", "/", "quotient"),
        ("[8:2**3]:8", "`**`", "**", "2^21"),
        ("[8:1.5]:8", "integers", ".", "point"),
        ("[8:2^-1]:8", "negative exponent", "-1", "integers"),
        ("[8:slice_stride^2]:8", "no power", "slice_stride^2", "plain"),
        ("[8:2^slice_stride]:8", "no power", "2^slice_stride", "plain"),
        ("[8:slice_stride*DMN_stride]:8", "multiplied", "slice_stride*DMN_stride", "plain"),
        ("[8:slice_strid]:8", "`slice_strid` is no number", "slice_strid", "did you mean `slice_stride`?"),
        ("[8:dmn_stride]:8", "`dmn_stride` is no number", "dmn_stride", "did you mean `DMN_stride`?"),
        ("[8:i * 4]:8", "`i` is no number", "i", "one command per engine"),
        ("[8:1__0]:8", "`1__0` is no integer", "1__0", "1_024"),
        ("[8:12abc]:8", "`12abc` is no integer", "12abc", "1_024"),
        ("[8:٣]:8", "where the stride should be", "٣", "integer"),
        ("[8:(1+2]:8", "`]` closes no bracket", "]", "brackets"),
        ("[8:()]:8", "where the stride should be", ")", "integer"),
        ("[8:1 2]:8", "`2` after the stride", "2", "operator"),
        ("[8:1+]:8", "the stride is missing", "", "integer"),
    ],
)
def test_arithmetic_that_has_no_number_is_refused_at_its_place(
    text: str, message: str, at: str | None, hint: str
) -> None:
    check_refused(read, text, message, at, hint)


def check_refused(reader: object, text: str, message: str, at: str | None, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        reader(text)  # type: ignore[operator]
    error = caught.value
    assert message in error.message
    assert error.span is not None
    assert at is None or error.span.text == at
    assert hint in (error.hint or "")


# --- what cannot be read


@pytest.mark.parametrize(
    ("text", "message", "at", "hint"),
    [
        ("", "starts with `[`", "", "outermost entry first"),
        ("garbage", "starts with `[`", "garbage", "outermost entry first"),
        ("[A=8:1]", "the packet is missing", "", "]:packet"),
        ("[A=8:1]:", "the packet is missing", "", "]:packet"),
        ("[A=8:1] HBM/D@0", "the packet is missing", "HBM", "]:packet"),
        ("[A=8:1]:HBM/D@0", "the packet is missing", "HBM", "]:packet"),
        ("[A=8:1]:@0", "the packet is missing", "@", "]:packet"),
        ("[A=8:1]:0", "a packet of 0", "0", "at least 1"),
        ("[A=8:1]:-8", "a packet of -8", "-8", "at least 1"),
        ("[A=8:1]:slice_stride", "address constant", "slice_stride", "strides and bases"),
        ("[A=slice_stride:1]:8", "address constant", "slice_stride", "strides and bases"),
        ("[A=8:1,,B=8:1]:8", "an entry is missing", ",", "one comma"),
        ("[,]:8", "an entry is missing", ",", "one comma"),
        ("[A=1,024:1]:8", "no `:`", "A=1", "1_024"),
        ("[A=8]:8", "no `:`", "A=8", "count:stride"),
        ("[A=8:1 B=8:1]:8", "second `:`", ":", "comma"),
        ("[A=8:]:8", "the stride is missing", "", "integer"),
        ("[A=:1]:8", "the count is missing", "", "integer"),
        ("[A=8:(1,2)]:8", "one stride", "(1,2)", "sequencer"),
        ("[A=8:1:8", "`[` is not closed", "[", "add `]`"),
        ("[A(=8:1]:8", "`]` closes no bracket", "]", "brackets"),
        ("[A)=8:1]:8", "`)` closes no bracket", ")", "brackets"),
        ("[A=8:1]:8 HBM", "no base", "", "HBM/D@0"),
        ("[A=8:1]:8 HBN/D@0", "no medium `HBN`", "HBN", "did you mean HBM?"),
        ("[A=8:1]:8 tape@0", "no medium `tape`", "tape", "known: HBM"),
        ("[A=8:1]:8 HBM/i8@0", "`D` is missing", "i8", "HBM/D@0"),
        ("[A=8:1]:8 HBM/D@", "the base is missing", "", "integer"),
        ("[A=8:1]:8 HBM/D@(0, 0, 0)", "3 parts", "HBM/D@(0, 0, 0)", "(chip, offset)"),
        ("[A=8:1]:8 DM/D@(0, 0, 0, 0, 0)", "5 parts", None, "(chip, cluster, dmn, offset)"),
        ("[A=8:1]:8 GM@(0, 0)", "2 parts", "GM@(0, 0)", "one number"),
        ("[A=8:1]:8 @(0, 0, 0, 0, 0)", "5 parts", None, "(chip, cluster, dmn, offset)"),
        ("[A=8:1]:8 DM/D@(-1, 0)", "not negative", "-1", "from 0"),
        ("[A=8:1]:8 DM/D@(slice_stride, 0)", "address constant", "slice_stride", "strides and bases"),
        ("[A=8:1]:8 DM/D@(1, 0) * 2", "`*` after the base", "*", ""),
        ("[A=8:1]:8 DM/D@0 7", "`7` after the base", "7", "operator"),
        ("[A=8:1]:8 8", "`8` after the packet", "8", "operator"),
        ("[A=8:1]:8\x00", "`\\x00` after the packet", "\x00", ""),
    ],
)
def test_text_that_is_no_configuration_is_refused_at_its_place(
    text: str, message: str, at: str | None, hint: str
) -> None:
    check_refused(read, text, message, at, hint)


def test_counts_that_make_no_sense_are_read_and_left_to_the_judge() -> None:
    assert nest(read("[A=0:1, B=-4:2]:1")) == [(0, 1), (-4, 2)]


def test_parts_of_a_base_are_read_up_to_the_tiers_own() -> None:
    assert read("[8:1]:8 HBM/D@(3, 0)").place == (3,)
    assert read("[8:1]:8 SPM@(3, 1, 2, 0)").place == (3, 1, 2)


def test_a_target_may_name_its_own_memories() -> None:
    media = {"FAR": Medium("far", ("island",))}
    seq = read("[8:1]:8 far@(2, 5)", media=media)
    assert (seq.tier, seq.place, seq.base) == ("far", (2,), 5)
    assert format_sequencer(seq, media=media) == "[8:1]:8 FAR/D@(2, 5)"
    with pytest.raises(InputError, match="no medium"):
        read("[8:1]:8 HBM@0", media=media)
    with pytest.raises(ValueError, match="far"):
        format_sequencer(seq)


def refusal(reader: Callable[[str], object], text: str) -> InputError | None:
    try:
        reader(text)
    except InputError as error:
        return error
    return None


@given(st.text(alphabet="[]()=:,@-+*^/>_ \n'#$19ABhbmdD", max_size=40) | st.text(max_size=20))
def test_no_text_does_more_than_refuse(text: str) -> None:
    for reader in (read, paired):
        error = refusal(reader, text)
        assert error is None or (error.span is not None and 0 <= error.span.start <= error.span.end <= len(text))


# --- units


@pytest.mark.parametrize(
    ("text", "expected", "packet", "base"),
    [
        ("[B=8:32, C#16=16:1]:16 DM/D@4", [(8, 64), (32, 1)], 32, 8),
        ("[8:1, 4:192]:1", [(8, 2), (4, 384), (2, 1)], 2, None),
        ("[8:1, 4:0]:1", [(8, 2), (4, 0), (2, 1)], 2, None),
        ("[8:1, 4:-1]:1", [(8, 2), (4, -2), (2, 1)], 2, None),
        ("[4:slice_stride, 8:1]:8 DM/D@slice_stride", [(4, SLICE), (16, 1)], 16, SLICE),
        ("[4:slice_stride + 8, 8:1]:8", [(4, SLICE + 16), (16, 1)], 16, None),
        ("[]:8", [(16, 1)], 16, None),
        ("[3:1 + 0 * slice_stride]:3", [(6, 1)], 6, None),
    ],
)
def test_elements_of_two_bytes_become_bytes(
    text: str, expected: list[tuple[int, int]], packet: int, base: int | None
) -> None:
    seq = read(text, element_units=2, unit_is_elements=True)
    assert (nest(seq), seq.packet, seq.base) == (expected, packet, base)


def test_a_constant_of_one_unit_is_no_element() -> None:
    seq = parse_config(
        "[8:one]:1", source=Source("", "[8:one]:1"), constants={"one": 1}, element_units=2, unit_is_elements=True
    )
    assert nest(seq) == [(8, 1), (2, 1)]


def test_bytes_of_half_byte_elements_become_half_bytes_and_elements_stay() -> None:
    text = "[B=8:32, C=16:1]:16 DM/D@4"
    in_bytes = read(text, element_units=1, byte_units=2)
    in_elements = read(text, element_units=1, byte_units=2, unit_is_elements=True)
    assert (nest(in_bytes), in_bytes.packet, in_bytes.base) == ([(8, 64), (32, 1)], 32, 8)
    assert (nest(in_elements), in_elements.packet, in_elements.base) == ([(8, 32), (16, 1)], 16, 4)


def test_places_have_no_unit() -> None:
    assert read("[8:1]:8 DM/D@(1, 2, 3)", element_units=4, unit_is_elements=True).place == (1, 2)


# --- the paired form


def test_the_descriptor_of_the_document_is_read_as_both_sides() -> None:
    """ "DMA Engine", DMA Sequencer Internals: one descriptor, and the two sequencers it stands for."""
    text = "[A=256:(65536, 256), B=256:(256, 65536), C=256:(1, 1)], base=(0, 256^3), stride0 = 256"
    source, dest = paired(text)
    assert source == read("[A=256:65536, B=256:256, C=256:1]:256 @0")
    assert dest == read("[A=256:256, B=256:65536, C=256:1]:256 @(256^3)")
    spans = (dest.entries[0].stride_span, dest.base_span, dest.packet_span, dest.entries[1].count_span)
    assert [span.text for span in spans if span] == ["256", "256^3", "256", "256"]
    assert source.entries[0].stride_span is not None
    assert source.entries[0].stride_span.text == "65536"


def test_a_factor_behind_a_pair_multiplies_both_strides() -> None:
    """ "DMA Engine", Example of heterogeneous mapping, prints `(32 * 256, 32) * slice_stride`."""
    source, dest = paired("[C/32=2:(32 * 256, 32) * slice_stride, D=256:(1, 1)]:256")
    assert (nest(source)[0], nest(dest)[0]) == ((2, 8192 * SLICE), (2, 32 * SLICE))


def test_bases_of_both_sides_may_be_places_or_four_pairs() -> None:
    text = "[D=256:(1, 1)]:256, base=(64, (1, 2, 5)), media_source = HBM, media_dest = DM"
    source, dest = paired(text)
    assert (source.tier, source.place, source.base) == ("hbm", (), 64)
    assert (dest.tier, dest.place, dest.base) == ("dm", (1, 2), 5)
    source, dest = paired("[D=256:(1, 1)]:256, base: ((0, 3), (1, 1), (2, 2), (7, 8))")
    assert (source.place, source.base, dest.place, dest.base) == ((0, 1, 2), 7, (3, 1, 2), 8)


def test_paired_elements_are_widened_only_where_both_sides_are_runs() -> None:
    both = paired("[C=8:(1, 1)]:8", element_units=2, unit_is_elements=True)
    one = paired("[C=8:(1, 64)]:1", element_units=2, unit_is_elements=True)
    assert [nest(side) for side in both] == [[(16, 1)], [(16, 1)]]
    assert [nest(side) for side in one] == [[(8, 2), (2, 1)], [(8, 128), (2, 1)]]


@pytest.mark.parametrize(
    ("text", "message", "at", "hint"),
    [
        ("[C=8:1]:8", "two strides", "1", "read stride"),
        ("[C=8:]:8", "two strides", "]", "read stride"),
        ("[C=8:(1)]:8", "two strides", "(1)", "read stride"),
        ("[C=8:(1,2,3)]:8", "two strides", "(1,2,3)", "read stride"),
        ("[C=8:(1,)]:8", "the write stride is missing", "", "integer"),
        ("[C=8:(1,2)+1]:8", "`+` after the strides", "+", ""),
        ("[C=8:(1,2)]", "the packet is missing", "", "stride0"),
        ("[C=8:(1,2)], stride0 = 0", "a packet of 0", "0", "at least 1"),
        ("[C=8:(1,2)], stride0 =", "the packet is missing", "", "integer"),
        ("[C=8:(1,2)]:8, stride0 = 8", "given twice", "stride0 = 8", "the same"),
        ("[C=8:(1,2)]:8, base=(0,0), base=(0,0)", "`base` is given twice", "base", "one"),
        ("[C=8:(1,2)]:8, bas=(0,0)", "`bas` is no setting", "bas", "did you mean `base`?"),
        ("[C=8:(1,2)]:8, DmnIndex=(0,0,0)", "`DmnIndex` is no setting", "DmnIndex", "engine = {"),
        ("[C=8:(1,2)]:8,", "a setting is missing", "", "base"),
        ("[C=8:(1,2)]:8, base", "`=` is missing", "", "base=(0"),
        ("[C=8:(1,2)]:8, base=", "two sides", "=", "read base"),
        ("[C=8:(1,2)]:8, base=0", "two sides", "0", "read base"),
        ("[C=8:(1,2)]:8, base=(1,2,3)", "two sides", "(1,2,3)", "read base"),
        ("[C=8:(1,2)]:8, base=((0,0),(0,0),(-1,0),(0,0))", "from 0", "-1", "from 0"),
        ("[C=8:(1,2)]:8, media_source=HBM", "without a base", "media_source=HBM", "base=("),
        ("[C=8:(1,2)]:8, base=(0,0), media_dest=HBN", "no medium", "HBN", "did you mean HBM?"),
        ("[C=8:(1,2)]:8, base=((0,0,0),0), media_source=HBM", "3 parts", "(0,0,0)", "(chip, offset)"),
        ("[C=8:(1,2)]:8 HBM/D@0", "`HBM` after the list", "HBM", "operator"),
    ],
)
def test_text_that_is_no_paired_configuration_is_refused(text: str, message: str, at: str, hint: str) -> None:
    check_refused(paired, text, message, at, hint)


# --- printing


def test_strides_are_printed_as_multiples_of_the_largest_constant() -> None:
    text = "[A=2:slice_stride, B=2:DMN_stride, C=2:3 * slice_stride, D=2:-2 * DMN_stride, E=2:-slice_stride, F=2:0]:1"
    assert format_sequencer(read(text), constants=CONSTANTS) == text
    assert "slice" not in format_sequencer(read(text))


def test_a_stride_on_hbm_is_never_printed_as_one_of_dm() -> None:
    seq = read("[A=2:4194304, G=8:1]:8 HBM/D@4194304")
    assert format_sequencer(seq, constants=CONSTANTS) == "[A=2:4194304, G=8:1]:8 HBM/D@4194304"
    seq = read("[A=2:4194304, G=8:1]:8 DM/D@(1, 8388608)")
    assert format_sequencer(seq, constants=CONSTANTS) == "[A=2:slice_stride, G=8:1]:8 DM/D@(1, 2 * slice_stride)"


@pytest.mark.parametrize(
    ("label", "printed"),
    [
        ("A, B", "[A, B]="),
        ("N:1", "[N:1]="),
        ("[A, B] / 2", "[A, B] / 2="),
        ("A = 3", "A = 3="),
        ("A (", ""),
        ("A )(", ""),
        (" \n", ""),
        ("A\n%  2", "A % 2="),
    ],
)
def test_labels_are_printed_so_that_the_text_can_be_read(label: str, printed: str) -> None:
    seq = Sequencer((Entry(8, 1, label),), 8)
    text = format_sequencer(seq)
    assert text == f"[{printed}8:1]:8"
    assert read(text) == seq


def test_what_a_unit_cannot_say_is_a_value_error() -> None:
    odd = Sequencer((Entry(4, 3), Entry(2, 1)), 2)
    assert format_sequencer(odd) == "[4:3, 2:1]:2"
    for options in ({"element_units": 2, "unit": "elements"}, {"byte_units": 2, "unit": "bytes"}):
        with pytest.raises(ValueError, match="whole number"):
            format_sequencer(odd, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="innermost"):
        format_sequencer(Sequencer((Entry(4, 2),), 2), element_units=2, unit="elements")
    with pytest.raises(ValueError, match="medium"):
        format_sequencer(Sequencer((Entry(4, 1),), 4, tier="dm"))


@pytest.mark.parametrize("text", ["[8:1, 4:192]:1", "[8:2, 1:1]:1", "[1:1]:1", "[A=8:2, B=1:1]:1", "[8:1, 1:1]:1"])
def test_a_text_in_elements_comes_back_as_it_was(text: str) -> None:
    seq = read(text, element_units=4, unit_is_elements=True)
    printed = format_sequencer(seq, element_units=4, unit="elements")
    assert read(printed, element_units=4, unit_is_elements=True) == seq


numbers = (
    st.integers(-(2**40), 2**40) | st.integers(-4, 4).map(lambda n: n * SLICE) | st.sampled_from([0, 1, DMN, -DMN])
)
counts = st.integers(0, 2**20) | st.integers(-3, 3)
labels = st.sampled_from(["", "A", "A'%2", "A, B", "[A, B] / 4", "x = 3", "a->b", "$(N:1)", "(", "é"]) | st.text(
    max_size=5
)
scales = st.sampled_from([("bytes", 1, 1), ("bytes", 2, 1), ("bytes", 1, 2), ("elements", 1, 2), ("elements", 4, 1)])


@st.composite
def mediums(draw: st.DrawFn, address: int) -> tuple[str | None, tuple[int, ...], int | None]:
    if not draw(st.booleans()):
        return None, (), None
    medium = draw(st.sampled_from([None, *MEDIA.values()]))
    parts = 3 if medium is None else len(medium.parts)
    return medium and medium.tier, tuple(draw(st.lists(st.integers(0, 9), max_size=parts))), address


@st.composite
def sequencers(draw: st.DrawFn, scale: int) -> Sequencer:
    """A sequencer that a text in numbers of `scale` units can say."""
    entries = [Entry(draw(counts), draw(numbers) * scale, draw(labels)) for _ in range(draw(st.integers(0, 4)))]
    entries.append(Entry(draw(counts) * scale, 1, draw(labels)))
    if scale == 1 and draw(st.booleans()):
        entries.append(Entry(draw(counts), draw(numbers), draw(labels)))
    tier, place, base = draw(mediums(draw(numbers) * scale))
    return Sequencer(tuple(entries), draw(st.integers(1, 5000)) * scale, tier, base, place)


def options_of(scale: tuple[str, int, int]) -> tuple[dict[str, int], int]:
    unit, element_units, byte_units = scale
    constants = {name: size * byte_units for name, size in CONSTANTS.items()}
    options = {"element_units": element_units, "byte_units": byte_units, "constants": constants}
    return options, element_units if unit == "elements" else byte_units  # type: ignore[return-value]


@given(st.data(), scales)
def test_whatever_is_printed_is_read_back(data: st.DataObject, scale: tuple[str, int, int]) -> None:
    options, size = options_of(scale)
    seq = data.draw(sequencers(size))
    text = format_sequencer(seq, unit=scale[0], **options)  # type: ignore[arg-type]
    again = parse_config(
        text,
        source=Source("", text),
        unit_is_elements=scale[0] == "elements",
        **options,  # type: ignore[arg-type]
    )
    assert again == seq


@given(st.data(), scales)
def test_whatever_pair_is_printed_is_read_back(data: st.DataObject, scale: tuple[str, int, int]) -> None:
    options, size = options_of(scale)
    read_side = data.draw(sequencers(size))
    strides = data.draw(st.lists(numbers, min_size=len(read_side.entries), max_size=len(read_side.entries)))
    write_entries = [Entry(e.count, s * size, e.label) for e, s in zip(read_side.entries, strides, strict=True)]
    if size > 1:
        write_entries[-1] = read_side.entries[-1]
    tier, place, base = data.draw(mediums(data.draw(numbers) * size))
    write_side = Sequencer(tuple(write_entries), read_side.packet, tier, base, place)
    assume((tier is None) == (read_side.tier is None) and (base is None) == (read_side.base is None))
    text = format_paired(read_side, write_side, unit=scale[0], **options)  # type: ignore[arg-type]
    again = parse_paired(
        text,
        source=Source("", text),
        unit_is_elements=scale[0] == "elements",
        **options,  # type: ignore[arg-type]
    )
    assert again == (read_side, write_side)


def test_sides_that_are_no_pair_have_no_paired_text() -> None:
    one, two = read("[8:1]:8 @0"), read("[4:1]:4 @0")
    for read_side, write_side in [(one, two), (one, read("[8:1]:8")), (one, read("[8:1]:8 HBM@0"))]:
        with pytest.raises(ValueError, match="paired text"):
            format_paired(read_side, write_side)


# --- a list of offsets in place of a stride ("Sequencer", Indirect Access)


@given(st.lists(st.tuples(st.integers(2, 4), st.integers(-3, 9)), min_size=1, max_size=4), st.integers(0, 64))
def test_a_list_of_offsets_is_walked_in_its_order_from_its_first(loops: list[tuple[int, int]], first: int):
    offsets = [first]
    for count, stride in loops:
        offsets = [at + k * stride for at in offsets for k in range(count)]
    sequencer = read(f"[{len(offsets)}:{offsets}, 8:1]:8 @100")
    entries = nest(sequencer)[:-1]
    assert sequencer.base == 100 + first
    walked = [first]
    for count, stride in entries:
        walked = [at + k * stride for at in walked for k in range(count)]
    assert walked == offsets
    assert len(entries) <= len(loops)


@pytest.mark.parametrize(
    ("offsets", "said"),
    [
        ("0, 512, 256, 1024", "no loops with strides walk these offsets"),
        ("0, 8, 24", "no loops with strides walk these offsets"),
        ("8, 16, 32", "no loops with strides walk these offsets"),
        ("0, 8", "the list has 2 offsets for"),
    ],
)
def test_offsets_that_no_loops_walk_are_refused_where_they_stand(offsets: str, said: str):
    count = max(3, offsets.count(",") + 1)
    with pytest.raises(InputError) as caught:
        read(f"[{count}:[{offsets}], 8:1]:8")
    assert said in caught.value.message
    assert caught.value.span.text == f"[{offsets}]"


def test_offsets_from_elsewhere_than_0_need_the_base_that_they_count_from():
    with pytest.raises(InputError) as caught:
        read("[3:[8, 16, 24], 8:1]:8")
    assert "counted from a base" in caught.value.message
    assert caught.value.span.text == "8"
