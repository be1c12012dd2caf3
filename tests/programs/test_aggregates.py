"""Aggregates: a stream for each engine, both command syntaxes, and segments of shapes that do not divide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from lab.draws import rest

from dmaverify import api
from dmaverify.errors import InputError
from dmaverify.jobs.derivation import derivation_json
from dmaverify.language.expr import ONE
from dmaverify.language.parse import parse
from dmaverify.lower.pairing import Trouble
from dmaverify.lower.segments import needs_segments, propose_segments
from dmaverify.plan.commands import (
    Homogeneous,
    parse_command,
)
from dmaverify.plan.read import InputErrors, read_plan_text
from dmaverify.program.command import Entry
from dmaverify.program.move import GivenCommand, Stream
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.verdict import Status

_PRINTED = {"chip": "Chip", "cluster": "Cluster", "slice": "Slice", "element": "Element"}
AXES = {"A": 15, "B": 32, "C": 256, "D": 8}

UNEVEN = """\
schema = 1
target = "rngd"
[axes]
A = {a}
B = 32
C = 256
D = 8
[let]
"A'" = "A # 16"
[transfer.uneven]
dtype  = "i8"
source = {{ tier = "dm", chip = "D / 2", cluster = "D % 2", slice = "A' / 4, A' / 2 % 2, B", element = "A' % 2, C" }}
dest   = {{ tier = "hbm", chip = "D / 2", element = "D % 2, B, A, C" }}
stream = {{ chip = "D / 2", cluster = "D % 2", slice = "A' / 4", time = "A' % 2, B, A' / 2 % 2", packet = "C" }}
"""


def print_heterogeneous(commands: Sequence[GivenCommand], unit_bits: int = 8) -> str:
    """The commands as `HashMap(...)`, one engine a line. Raises ValueError where the syntax cannot say them."""
    scale = 8 // unit_bits
    lines = []
    for one in commands:
        sides = (one.read, one.write)
        if one.engine is None or any(s.tier is None or s.base is None or not s.place for s in sides):
            raise ValueError("every command names its engine, media and bases")
        if [e.count for e in one.read.entries] != [e.count for e in one.write.entries]:
            raise ValueError("both sides of a descriptor have one list of limits")
        last = len(one.read.entries) - 1
        entries = [
            f"({a.count // (scale if i == last else 1)}, {_bytes(a, i == last, scale)}, {_bytes(b, i == last, scale)})"
            for i, (a, b) in enumerate(zip(one.read.entries, one.write.entries, strict=True))
        ]
        bases = ", ".join(str((s.base or 0) // scale) for s in sides)
        media = [f"{str(s.tier).upper()}({', '.join(map(str, s.place))})" for s in sides]
        lines.append(f"  {one.engine}: ({', '.join([*entries, f'({bases})', str(one.read.packet // scale), *media])}),")
    return "\n".join(["HashMap(", *lines, ")"])


def print_homogeneous(command: Homogeneous, axes: Mapping[str, int]) -> str:
    """The command in the document's form, one engine a line."""
    shape = ", ".join(f"{name} = {size}" for name, size in axes.items())
    tensors = [_tensor_text(tensor, shape, command.dtype) for tensor in (command.source, command.dest)]
    lines = [f"    {engine}: [{expr}]," for engine, expr in command.shapes]
    return "\n".join(["(", *(f"  {text}," for text in tensors), "  HashMap(", *lines, "  )", ")"])


def _bytes(entry: Entry, last: bool, scale: int) -> int:
    return entry.stride if last and entry.stride == 1 else entry.stride // scale


def _tensor_text(tensor: Tensor, shape: str, dtype: str) -> str:
    classes = [
        f"{_PRINTED[place]}: [{tensor.field(place)}]"
        for place in PLACES
        if tensor.field(place) != ONE or place == "element"
    ]
    return f"([{shape}], [{', '.join(classes)}], {tensor.tier.upper()}, {tensor.base}, {dtype})"


def stream(size: int, *, time: str = "[A # 16] % 2, B, [A # 16] / 2 % 2") -> Stream:
    axes = {**AXES, "A": size}
    parts = {"time": time, "packet": "C", "chip": "D / 2", "cluster": "D % 2", "slice": "[A # 16] / 4"}
    return Stream(**{name: parse(text, axes) for name, text in parts.items()})


@pytest.mark.parametrize(
    ("size", "commands", "last"),
    [(16, 32, 1), (15, 40, 2), (14, 32, 1), (13, 32, 1), (12, 24, 0), (9, 24, 0), (3, 16, 0), (1, 8, 0)],
)
def test_an_uneven_axis_over_four_engines_has_the_fewest_boxes(size: int, commands: int, last: int) -> None:
    found = propose_segments(stream(size))
    assert not isinstance(found, Trouble)
    assert len(found) == commands
    assert sum(one.engine.chip == one.engine.cluster == 0 and one.engine.dmn == 3 for one in found) == last
    assert needs_segments(stream(size)) == (size % 4 != 0)


@pytest.mark.parametrize("size", [3, 4, 15, *rest((1, 5, 13, 16))])
def test_the_segments_of_every_size_are_proved(size: int) -> None:
    plan = read_plan_text(UNEVEN.format(a=size))
    alone = api.check(plan)[0].status
    assert (alone is Status.PROVED) == (size % 4 == 0)  # whole engines of padding have no work
    proposed = derivation_json(plan, "uneven", False).get("segments")
    assert (proposed is None) == (size % 4 == 0)
    if proposed is not None:
        assert proposed["status"] == "proved"


def test_the_proposed_text_is_a_plan_that_is_proved() -> None:
    plan = read_plan_text(UNEVEN.format(a=15))
    text = derivation_json(plan, "uneven", False)["segments"]["plan"]
    head = "\n".join(line for line in UNEVEN.format(a=15).splitlines() if not line.startswith("stream"))
    assert [v.status for v in api.check(f"{head}\n{text}\n")] == [Status.PROVED]


def test_a_time_that_leaves_a_gap_is_not_segmented() -> None:
    assert isinstance(propose_segments(stream(15, time="B, [A # 16] / 2 % 2")), tuple)
    assert isinstance(propose_segments(stream(15, time="[A # 16] % 4, B")), tuple)
    gap = Stream(parse("[A # 16] / 8, [A # 16] % 2", {**AXES, "A": 9}), parse("C", AXES))
    assert isinstance(propose_segments(gap), Trouble)


CASES = """\
schema = 1
target = "rngd"
[axes]
K = 8
L = 64
M = 8
[transfer.t]
dtype  = "i8"
source = { tier = "hbm", element = "K, L, M" }
dest   = { tier = "dm", cluster = "K / 4", slice = "K % 4, L", element = "M" }
stream = [
  { when = { cluster = "0..1", dmn = [0, 1] }, cluster = "K / 4 @ j = 1", slice = "K % 4 @ k = 1", time = "L", packet = "M" },
  { when = { cluster = "0..1", dmn = [2, 3] }, cluster = "K / 4 @ j = 1", slice = "K % 4 @ k = 1", time = "L % 2, L / 2", packet = "M" },
]
"""  # noqa: E501


def one_line(text: str) -> str:
    """TOML 1.0 keeps inline tables on a line."""
    return text.replace("stream = [\n", "stream = [").replace(" },\n  {", " }, {").replace(" },\n]", " }]")


def test_cases_give_every_engine_its_own_stream() -> None:
    plan = read_plan_text(one_line(CASES))
    streams = plan.transfers[0].transfer.streams
    assert [str(s.engine) for s in streams] == [f"(0, {j}, {k})" for j in range(2) for k in range(4)]
    assert str(streams[3].stream.time) == "L % 2, L / 2"
    assert api.check(plan)[0].status is Status.PROVED


def test_an_engine_that_is_left_out_leaves_its_part_unwritten() -> None:
    verdict = api.check(one_line(CASES).replace("[2, 3]", "[2]"))[0]
    assert {f.rule for f in verdict.errors} == {"core/covers"}


def test_an_engine_that_is_named_twice_writes_twice() -> None:
    verdict = api.check(one_line(CASES).replace("[2, 3]", "[1, 2, 3]"))[0]
    assert "core/writes-once" in {f.rule for f in verdict.errors}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("dmn = [0, 1]", 'dmn = "3..0"', "no range of engines"),
        ("slice = \"K % 4 @ k = 1\", time = \"L\"", "slice = \"K % 4\", time = \"L\"", "4 positions"),
        ("dmn = [0, 1]", "dnm = [0, 1]", "unknown key `dnm`"),
    ],
)  # fmt: skip
def test_cases_that_mean_nothing_are_refused(old: str, new: str, says: str) -> None:
    assert old in one_line(CASES)
    with pytest.raises(InputErrors) as caught:
        read_plan_text(one_line(CASES).replace(old, new))
    assert any(says in e.message for e in caught.value.errors), [e.message for e in caught.value.errors]


# ---------------------------------------------------------------- both syntaxes

DESCRIPTOR = "HashMap((0, 1, 2): ((8, 64, 8), (8, 1, 1), (0, 4096), 8, HBM(0), DM(0, 1, 2)), (0, 1, 3): ((8, 1, 1), (0, 0), 8, HBM(0), DM(0, 1, 3)))"  # noqa: E501


def test_a_descriptor_is_read_and_printed() -> None:
    found = parse_command(DESCRIPTOR, {})
    assert isinstance(found, tuple)
    assert found[0].read.place == (0,)
    assert found[0].write.place == (0, 1, 2)
    assert found[0].write.base == 4096
    assert [e.stride for e in found[0].read.entries] == [64, 1]
    assert parse_command(print_heterogeneous(found), {}) == found


def test_a_descriptor_of_4_bit_data_counts_bytes() -> None:
    found = parse_command(DESCRIPTOR, {}, unit_bits=4)
    assert isinstance(found, tuple)
    assert [(e.count, e.stride) for e in found[0].read.entries] == [(8, 128), (16, 1)]
    assert (found[0].read.packet, found[0].write.base) == (16, 8192)
    assert parse_command(print_heterogeneous(found, 4), {}, unit_bits=4) == found


SHAPES = """(
 ([P = 4, Q = 8], [Chip: [P], Dram: [Q]], HBM, 64, i8),
 ([P = 4, Q = 8], [Chip: [P], Partitioning: [1], InSlice: [Q]], DM, 0, i8),
 HashMap((0, 0, 0): [P @ i % 1 * Q], (3, 0, 1): [P @ i % 1 * Q]))"""


def test_stream_shapes_are_read_and_printed() -> None:
    axes = {"P": 4, "Q": 8}
    found = parse_command(SHAPES, axes)
    assert isinstance(found, Homogeneous)
    assert str(found.shapes[1][1]) == "P @ 3 % 1, Q"
    assert found.source.base == 64
    assert parse_command(print_homogeneous(found, axes), axes) == found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("HashMap((0, 0): ())", "an engine is"),
        ("HashMap((0, 0, 0): ((8, 1), 8, HBM(0), HBM(0), 1))", "where `)` should be"),
        ("HashMap((0, 0, 0): ((8, 1, 1, 1), (0, 0), 8, HBM(0), HBM(0)))", "an entry is"),
        ("HashMap((0, 0, 0): ((8, 1, 1), (0, 0), 8, HBM(0, 1), HBM(0)))", "HBM is at a chip"),
        ("HashMap((0, 0, 0): ((8, 1, 1), (0, 0), 8, L2(0), HBM(0)))", "`L2` where"),
        ("HashMap((0, 0, 0): ((8, 1, 1), (0, 0), 8, HBM(0), HBM(0))) more", "behind the command"),
        (SHAPES.replace("P = 4", "P = 5"), "axis `P` has size 4, not 5"),
        (SHAPES.replace("Chip: [P], Dram", "Chp: [P], Dram"), "no class of place"),
        (SHAPES.replace("DM, 0, i8", "DM, 0, bf16"), "the source holds i8, the destination bf16"),
        ("HashMap((0, 0, 0): ((8, 1, 1), (0, 0), 8, HBM(0), HBM(0)), (0, 0, 0): ((8, 1, 1), (0, 0), 8, HBM(0)))",
         "has two descriptors"),
        ("", "should be"),
    ],
)  # fmt: skip
def test_what_neither_syntax_has_is_refused_at_its_place(text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_command(text, {"P": 4, "Q": 8})
    assert says in caught.value.message
    assert caught.value.span is not None
