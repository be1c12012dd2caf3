"""Mid-ends: the pieces are exactly the whole, each in its region, each with its back-end; periods that can be kept."""

import random
import re
from itertools import product
from pathlib import Path

import pytest
from lab.idma_oracles import distributed_by_tree, launches, tensor_2d, tensor_nd

import dmaverify as dv
from dmaverify import api
from dmaverify.cli.idma import bursts_shown
from dmaverify.errors import InputError
from dmaverify.machines.idma.engine import Request
from dmaverify.machines.idma.midends import (
    Event,
    StripedRegion,
    distributed,
    event_facts,
    mp_dist,
    mp_split,
    worst_case,
)  # fmt: skip
from dmaverify.machines.idma.nd import Dim
from dmaverify.machines.idma.path import held_bytes, piece_count, pieces
from dmaverify.machines.idma.price import price
from dmaverify.machines.idma.setup import setup_of
from dmaverify.targets.target import load_target

L1 = StripedRegion(0x10000, 0x20000, 256)


def copied(request: Request) -> list[tuple[int, int]]:
    return [(request.src + i, request.dst + i) for i in range(request.length)]


def key_of(request: Request) -> int:
    return request.src if L1.start <= request.src < L1.end else request.dst


def test_split_pieces_are_the_whole_in_order_and_cross_no_boundary_on_all_small_requests() -> None:
    region, count = StripedRegion(32, 64, 4), 0
    for src, dst, length in product(range(28, 40), (0, 1, 33, 34), range(1, 12)):
        request = Request(src, dst, length)
        pieces = mp_split(request, region)
        assert [byte for piece in pieces for byte in copied(piece)] == copied(request)
        for piece in pieces:
            key = piece.src if region.start <= src < region.end else piece.dst
            assert key // 4 == (key + piece.length - 1) // 4
        assert [piece.last for piece in pieces] == [False] * (len(pieces) - 1) + [True]
        count += 1
    assert count == 12 * 4 * 11


def test_each_back_end_gets_the_bytes_of_its_own_strips_once() -> None:
    rng = random.Random(6)
    for _ in range(200):
        backends = rng.choice((1, 2, 4, 8))
        inside = rng.random() < 0.5
        src = rng.randrange(0x10000, 0x11000) if inside else rng.randrange(0x1000)
        dst = rng.randrange(0x1000) if inside else rng.randrange(0x10000, 0x11000)
        request = Request(src, dst, rng.randrange(1, 5000))
        own = distributed(request, L1, backends)
        assert own == distributed_by_tree(request, L1, backends)
        assert sorted(b for parts in own for part in parts for b in copied(part)) == copied(request)
        for number, parts in enumerate(own):
            assert [part.src for part in parts] == sorted(part.src for part in parts)
            for part in parts:
                first, last = key_of(part) // 256, (key_of(part) + part.length - 1) // 256
                assert {strip % backends for strip in range(first, last + 1)} == {number}


def test_a_distributor_needs_its_request_in_one_row() -> None:
    assert mp_dist(Request(0x10000, 0, 512), L1, 2) == [
        Request(0x10000, 0, 256), Request(0x10100, 256, 256),
    ]  # fmt: skip
    assert mp_dist(Request(0x10180, 0, 128), L1, 2)[0] is None
    with pytest.raises(InputError, match="beyond the row"):
        mp_dist(Request(0x10000, 0, 513), L1, 2)
    with pytest.raises(InputError, match="3 back-ends"):
        distributed(Request(0x10000, 0, 512), L1, 3)
    with pytest.raises(InputError, match="regions of 48 bytes"):
        StripedRegion(0, 64, 48)
    assert mp_split(Request(0, 0, 0), L1) == [Request(0, 0, 0)]


def test_2d_rows_are_the_total() -> None:
    two = tensor_2d(Request(0, 0x1000, 64), 80, 64, 640)
    assert two.dims == (Dim(10, 80, 64),)
    assert [r.src for r in tensor_nd(two, 32)] == [80 * k for k in range(10)]
    with pytest.raises(InputError, match="no whole number of rows"):
        tensor_2d(Request(0, 0x1000, 64), 80, 64, 650)


def test_mid_ends_chain_as_in_mempool() -> None:
    """tensor, then split, then distribution: every byte of the tensor arrives once, at the back-end of its strip."""
    rows = tensor_2d(Request(0x40000, 0x10080, 200), 256, 200, 2000)
    wanted = [byte for row in tensor_nd(rows, 32) for byte in copied(row)]
    got = [
        byte for row in tensor_nd(rows, 32) for parts in distributed(row, L1, 4) for p in parts for byte in copied(p)
    ]
    assert sorted(got) == sorted(wanted)


# ---------------------------------------------------------------- rt_3D


def test_no_schedule_is_later_than_the_worst_case_and_some_reach_it() -> None:
    rng = random.Random(7)
    reached = 0
    for _ in range(150):
        bypass = rng.choice((0, 0, 7))
        events = [Event(rng.randrange(60, 200), rng.randrange(1, 20)) for _ in range(rng.randrange(1, 5))]
        late = [0] * len(events)
        for number, expiry, start, end in launches(events, 5000, bypass):
            assert end - start == events[number].cycles
            late[number] = max(late[number], end - expiry)
        worst = [worst_case(events, n, bypass) for n in range(len(events))]
        assert all(a <= b for a, b in zip(late, worst, strict=True)), (events, bypass)
        reached += any(a == b for a, b in zip(late, worst, strict=True))
    assert reached > 0


def test_a_period_is_kept_exactly_where_the_rule_says_so() -> None:
    from dmaverify.targets.target import load_target

    rule = load_target("idma").rules["idma/event-period"]
    good, bad = event_facts([Event(100, 60), Event(100, 40)]), event_facts([Event(100, 60), Event(100, 41)])
    assert all(rule.holds(fact.values) for fact in good)
    assert not any(rule.holds(fact.values) for fact in bad)
    served = launches([Event(100, 60), Event(100, 40)], 3000)
    assert all(end - expiry <= 100 for _, expiry, _, end in served)


EVENTS = """rt3d
bypass = 200
event = {first}
src = 0x1000
dst = 0x20000
length = 64
dim = 8, 256, 64
launch
event = 5000
src = 0x8000
dst = 0x30000
length = 4
dim = 16, 64, 4
launch
"""


def test_periods_of_a_file_are_held_against_the_cycles_of_its_transfers(tmp_path: Path) -> None:
    from dmaverify.machines.idma.check import verdict_of_file
    from dmaverify.machines.idma.forms import read_image
    from dmaverify.machines.idma.price import descriptor_cycles
    from dmaverify.machines.idma.setup import setup_of
    from dmaverify.targets.target import load_target

    image = read_image(EVENTS.format(first=1000))
    assert (image.periods, image.bypass) == (((0, 1000), (1, 5000)), 200)
    setup = setup_of(load_target("idma"))
    worst = sum(descriptor_cycles(setup, told.descriptor) for told in image.told) + 2 * 200
    for period, rules in ((worst, set()), (worst - 1, {"idma/event-period"})):
        file = tmp_path / f"{period}.idma"
        file.write_text(EVENTS.format(first=period), encoding="utf-8")
        verdict = verdict_of_file(str(file))
        assert verdict is not None
        assert {f.rule for f in verdict.errors} == rules
        assert verdict.claim == "all 2 descriptors"


def test_periods_of_a_file_are_those_of_the_engine_that_is_named_for_it(tmp_path: Path) -> None:
    from dmaverify.machines.idma.check import verdict_of_file

    file = tmp_path / "one.idma"
    file.write_text("rt3d\nevent = 60\nsrc = 0x1000\ndst = 0x20000\nlength = 64\nlaunch\n", encoding="utf-8")
    for memory, rules in (("sram", set()), ("hbm", {"idma/event-period"})):
        verdict = verdict_of_file(str(file), engine=[f"memory={memory}"])
        assert verdict is not None
        assert {f.rule for f in verdict.errors} == rules, memory


# ---------------------------------------------------------------- of an engine's description


@pytest.mark.parametrize(
    ("options", "midends", "dims"),
    [
        ({}, ("tensor_nd",), 4),
        ({"midends": "none"}, (), 1),
        ({"midends": "mp_dist, mp_split"}, ("mp_split", "mp_dist"), 1),
        ({"midends": "tensor_2d"}, ("tensor_2d",), 2),
        ({"midends": "tensor_2d", "dims": 1}, ("tensor_2d",), 1),
        ({"midends": "tensor_nd+mp_split", "dims": 3}, ("tensor_nd", "mp_split"), 3),
        ({"preset": "cheshire"}, (), 1),
        ({"preset": "cheshire", "dims": 3}, ("tensor_nd",), 3),
        ({"preset": "mempool"}, ("mp_split", "mp_dist"), 1),
    ],
)
def test_mid_ends_are_part_of_an_engine(options: dict[str, int | str], midends: tuple[str, ...], dims: int) -> None:
    setup = setup_of(load_target("idma"), options)
    assert (setup.midends, setup.dims) == (midends, dims)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"midends": "mp_splt"}, "`mp_splt` is no mid-end"),
        ({"midends": "mp_split, mp_split"}, "`mp_split` is named twice"),
        ({"midends": "tensor_2d, tensor_nd"}, "tensor_2d and tensor_nd"),
        ({"midends": "tensor_2d", "dims": 3}, "3 dimensions behind mid-ends tensor_2d"),
        ({"midends": "mp_split", "dims": 2}, "2 dimensions behind mid-ends mp_split"),
        ({"midends": "none", "region_width": 64, "region_end": 256}, "mp_split or mp_dist"),
        ({"midends": 3}, "option `midends` is 3"),
    ],
)
def test_mid_ends_that_are_none_are_refused(options: dict[str, int | str], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        setup_of(load_target("idma"), options)


@pytest.mark.parametrize(("version", "cycles"), [("spec", 1), ("0.7.0", 0)])
def test_a_2d_mid_end_takes_the_cycle_of_the_paper_where_the_release_has_none(version: str, cycles: int) -> None:
    setup = setup_of(load_target("idma"), {"midends": "tensor_2d", "version": version})
    assert (setup.stages, setup.shown_stages) == (1, cycles)


MOVE = """
schema = 1
target = "idma"
[axes]
A = 8
B = 16
[transfer.p]
dtype = "i8"
source = {{ tier = "mem", base = 4096, element = "A, B # 64" }}
dest = {{ tier = "mem", base = 16384, element = "A, B" }}
options = {{ {options} }}
read = "[A=8:64, B=16:1]:16 @4096"
write = "[A=8:16, B=16:1]:16 @16384"
"""


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ('midends = "tensor_2d"', ""),
        ('midends = "none"', "idma/dims-max"),
        ('midends = "tensor_2d, mp_split"', "idma/no-region"),
        (
            'midends = "tensor_2d, mp_split", region_start = 0, region_end = 8192, region_width = 64, version = "spec"',
            "",
        ),
    ],
)
def test_a_move_goes_through_the_mid_ends_that_its_engine_has(tmp_path: Path, options: str, rule: str) -> None:
    (tmp_path / "p.toml").write_text(MOVE.format(options=options))
    (verdict,) = dv.check(str(tmp_path / "p.toml"))
    assert [finding.rule for finding in verdict.findings] == ([rule] if rule else [])


@pytest.mark.parametrize("midends", ["mp_split, mp_dist", "mp_dist, mp_split", "mp_split"])
def test_bytes_and_pieces_of_back_ends_are_counted_without_a_list(midends: str) -> None:
    draw = random.Random(midends)
    options: dict[str, int | str] = {"midends": midends, "region_start": 4096, "region_end": 65536, "region_width": 64}
    setup = setup_of(load_target("idma"), {**options, "backends": 4})
    for _ in range(200):
        request = Request(draw.randrange(1 << 16), draw.randrange(1 << 16), draw.randrange(1, 2000))
        try:
            counted = held_bytes(setup, request)
        except InputError:
            continue
        found = pieces(setup, request)
        held = [sum(one.length for owner, one in found if owner == n) for n in range(4)]
        assert counted == (held if "mp_dist" in midends else [request.length])
        assert len(found) <= piece_count(setup, request)


def test_millions_of_pieces_are_counted_and_their_bytes_priced(tmp_path: Path) -> None:
    options = 'preset = "mempool", dst_protocol = "obi", region_start = 0, region_end = 1073741824, region_width = 64'
    options += ", backends = 4"
    size = 1 << 28
    text = (
        MOVE.format(options=options + ', version = "spec"').replace("A = 8\n", f"A = {size}\n").replace("B = 16\n", "")
    )
    text = text.replace("A, B # 64", "A").replace("A, B", "A").replace("base = 4096", "base = 1073741824")
    text = re.sub(r"read = .*", f'read = "[A={size}:1]:{size} @1073741824"', text)
    text = re.sub(r"write = .*", f'write = "[A={size}:1]:{size} @16384"', text)
    (tmp_path / "p.toml").write_text(text)
    (item,) = api.load(str(tmp_path / "p.toml")).transfers
    commands = api.program_of(api.load(str(tmp_path / "p.toml")), "p")
    found = price(item.transfer, load_target("idma"), commands)
    assert not found.exact
    assert found.cycles >= size // 4 // 64
    shown = bursts_shown(str(tmp_path / "p.toml"), (), None, 16, False, False)
    assert "4,194,288 more pieces of back-ends" in str(shown)
    assert bursts_shown(str(tmp_path / "p.toml"), (), None, 16, False, True)[-1] == {"more_pieces": 4194288}


@pytest.mark.parametrize(
    ("count", "engine", "rules"),
    [
        (8, ("controlpulp",), set()), (9, ("controlpulp",), {"idma/events-max"}),
        (9, ("controlpulp", "events=9"), set()), (9, ("rw_axi",), set()),
    ],
)  # fmt: skip
def test_a_mid_end_has_as_many_events_as_it_has_counters(
    tmp_path: Path, count: int, engine: tuple[str, ...], rules: set[str]
) -> None:
    from dmaverify.machines.idma.check import verdict_of_file

    each = "event = 100000\nsrc = 0x{0}000\ndst = 0x{0}0000\nlength = 4\nlaunch\n"
    file = tmp_path / "events.idma"
    file.write_text("rt3d\n" + "".join(each.format(n + 1) for n in range(count)), encoding="utf-8")
    verdict = verdict_of_file(str(file), engine=engine)
    assert verdict is not None
    assert {finding.rule for finding in verdict.errors} == rules
