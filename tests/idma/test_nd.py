"""ND requests: RTL, both ways of counting strides, corners."""

import io
import json
import random

import pytest

from dmaverify.cli import app as cli
from dmaverify.machines.idma.engine import Request
from dmaverify.machines.idma.nd import (
    Descriptor,
    Dim,
    absolute,
    extent,
    placed,
    relative,
    requests,
    signed,
    starts,
    walked,
)  # fmt: skip


def pairs_of(descriptor: Descriptor, width: int = 32) -> list[tuple[int, int]]:
    return [(int(src), int(dst)) for src, dst in starts(descriptor, width)]


def test_every_request_of_the_rtl_sample_is_reproduced_both_ways(nd_rows: list[dict[str, str]]) -> None:
    count = 0
    for row in nd_rows:
        dims = tuple(Dim(*map(int, row[f"dim{k}"].split(":"))) for k in range(3))
        descriptor = Descriptor(Request(int(row["src"]), int(row["dst"]), int(row["length"])), dims)
        wanted = [tuple(int(part, 16) for part in pair.split(">")) for pair in row["transfers"].split()]
        assert pairs_of(descriptor) == wanted == list(walked(descriptor, 32))
        count += len(wanted)
    assert len(nd_rows) == 60
    assert count > 900


def some_dims(rng: random.Random) -> tuple[Dim, ...]:
    return tuple(
        Dim(rng.randrange(0, 5), rng.randrange(-999, 999), rng.randrange(-999, 999)) for _ in range(rng.randrange(4))
    )


def test_programmed_and_absolute_strides_turn_into_each_other() -> None:
    rng = random.Random(1)
    for _ in range(300):
        dims = some_dims(rng)
        positive = tuple(Dim(max(1, d.reps), d.src_stride, d.dst_stride) for d in dims)
        assert absolute(relative(positive)) == positive
        assert relative(absolute(positive)) == positive


def test_the_sum_of_index_times_pitch_is_what_the_hardware_walks() -> None:
    rng = random.Random(2)
    for _ in range(300):
        descriptor = Descriptor(Request(rng.randrange(1 << 32), rng.randrange(1 << 32), 4), some_dims(rng))
        assert pairs_of(descriptor) == list(walked(descriptor, 32))
        assert len(pairs_of(descriptor)) == descriptor.transfers


def test_three_dimensions_tell_the_two_readings_apart_and_two_do_not() -> None:
    three = Descriptor(Request(0, 0, 4), (Dim(2, 0x100, 0), Dim(2, 0x1000, 0)))
    assert [src for src, _ in pairs_of(three)] == [0, 0x100, 0x1100, 0x1200]
    two = Descriptor(Request(0, 0, 4), (Dim(3, 0x100, 8),))
    assert absolute(two.dims) == two.dims


def test_zero_repetitions_count_once_unless_all_are_zero() -> None:
    request = Request(16, 32, 4)
    assert pairs_of(Descriptor(request, (Dim(0, 5, 5), Dim(2, 8, 8)))) == [(16, 32), (24, 40)]
    empty = Descriptor(request, (Dim(0, 5, 5), Dim(0, 8, 8)))
    assert (empty.empty, empty.transfers, pairs_of(empty), list(walked(empty, 32))) == (True, 0, [], [])
    assert not Descriptor(request).empty


def test_only_the_last_transfer_is_marked_last() -> None:
    made = list(requests(Descriptor(Request(0, 0, 4), (Dim(3, 8, 8),)), 32))
    assert [r.last for r in made] == [False, False, True]


def test_strides_are_twos_complement_of_the_address_width() -> None:
    assert (signed(0xFFFFFFF8, 32), signed(8, 32), signed(1 << 31, 32)) == (-8, 8, -(1 << 31))
    descriptor = Descriptor(Request(0x1000, 0, 64), (Dim(2, 0xFFFFFF00, 8),))
    assert placed(descriptor, 32) == (Dim(2, -256, 8),)
    assert pairs_of(descriptor) == [(0x1000, 0), (0xF00, 8)]
    reach = extent(descriptor, "read", 32)
    assert (reach.low, reach.end) == (0xF00, 0x1040)


@pytest.mark.parametrize(
    ("src", "reps", "stride", "width", "as_"),
    [
        (0, 2, 3 << 30, 32, 3 << 30),  # 3 GiB upwards, not 1 GiB below 0
        (1 << 30, 2, 3 << 30, 32, -(1 << 30)),
        (0x1000, 4, (1 << 48) + 64, 48, 64),  # a register of 64 bits on 48 address lines
        (0, 2, 1 << 31, 32, 1 << 31),
    ],
)
def test_strides_stay_in_the_address_space_where_they_can(
    src: int, reps: int, stride: int, width: int, as_: int
) -> None:
    descriptor = Descriptor(Request(src, 0, 1), (Dim(reps, stride, 1),))
    (dim,) = placed(descriptor, width)
    assert dim.src_stride == as_
    assert [src + k * as_ for k in range(reps)] == [a for a, _ in walked(descriptor, width)]


def test_a_line_of_stdin_answers_with_the_transfers_of_the_rtl(
    nd_rows: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [json.dumps({k: v for k, v in row.items() if k != "transfers"}) for row in nd_rows]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join([*lines, '{"dim0": "1:2"}'])))
    assert cli.invoke(["bursts", "--stdin"]) == 2
    *answers, bad = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    for row, answer in zip(nd_rows, answers, strict=True):
        assert answer["transfers"] == [[int(x, 16) for x in pair.split(">")] for pair in row["transfers"].split()]
    assert "error" in bad
