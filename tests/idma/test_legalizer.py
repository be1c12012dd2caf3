"""The legalizer against RTL, against itself step by step, and at its edges."""

import json
import random
from dataclasses import replace
from itertools import pairwise

import pytest

from dmaverify.cli import app as cli
from dmaverify.errors import InputError
from dmaverify.machines.idma.columns import request_of
from dmaverify.machines.idma.engine import (
    AXI,
    AXILITE,
    INIT,
    NAMES,
    OBI,
    TILELINK,
    Backend,
    Request,
    protocol_named,
    refusal,
    variant_named,
)  # fmt: skip
from dmaverify.machines.idma.legalizer import (
    Bursts,
    _step,
    is_coupled,
    legalize,
    shown_bursts,
    tilelink_page_bits,
    window_bits,
    window_count,
)  # fmt: skip
from dmaverify.machines.idma.wire import beats_of, byte_enables, on_the_wire
from dmaverify.report.idma import bursts_json

COLUMNS_OF_LISTS = ("r_bursts", "w_bursts")
ANY_BACKEND = Backend(variant_named("rw_axi"), 64)


def columns(row: dict[str, str]) -> dict[str, object]:
    return {k: v if k == "variant" else int(v) for k, v in row.items() if k not in COLUMNS_OF_LISTS}


def listed(text: str) -> list[list[int]]:
    """[address, bytes, bus address, length field] of every burst of a cell."""
    out = []
    for burst in text.split():
        address, count, bus, field = burst.split(":")
        out.append([int(address, 16), int(count), int(bus, 16), int(field)])
    return out


# ---------------------------------------------------------------- RTL


def test_every_burst_list_of_the_rtl_sample_is_reproduced(burst_rows: list[dict[str, str]]) -> None:
    bursts = 0
    for row in burst_rows:
        found = legalize(*request_of(columns(row)))
        for side, cell in zip(("read", "write"), COLUMNS_OF_LISTS, strict=True):
            wanted = [(a, n) for a, n, _, _ in listed(row[cell])]
            assert found.pairs(side) == wanted, (side, columns(row))
            assert [tuple(map(int, pair)) for pair in found.array(side)] == wanted
            bursts += len(wanted)
    assert (len(burst_rows), bursts) == (320, 23_528)
    assert len({row["variant"] for row in burst_rows}) == 17


def test_every_field_on_the_wire_is_reproduced(burst_rows: list[dict[str, str]]) -> None:
    for row in burst_rows:
        backend, request = request_of(columns(row))
        for side, protocol, cell in (
            ("read", request.src_protocol, "r_bursts"),
            ("write", request.dst_protocol, "w_bursts"),
        ):
            for address, count, bus, field in listed(row[cell]):
                wire = on_the_wire(backend, protocol, address, count, write=side == "write")
                assert (wire.address, wire.field) == (bus, field), (side, row["variant"], hex(address), count)


def test_a_line_of_stdin_answers_with_the_lists_of_the_rtl(
    burst_rows: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import io

    lines = [json.dumps(columns(row)) for row in burst_rows]
    lines.insert(3, '{"src_addr": 1')
    lines.insert(5, '{"src_addr": 0, "dst_addr": 0, "lenght": 4}')
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    assert cli.invoke(["bursts", "--stdin"]) == 2
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    bad = [answers.pop(5), answers.pop(3)]
    assert [sorted(b) for b in bad] == [["error", "hint", "where"], ["error", "where"]]
    assert bad[0]["hint"] == "did you mean `length`?"
    for row, answer in zip(burst_rows, answers, strict=True):
        wanted = {s: [[a, n] for a, n, _, _ in listed(row[f"{s[0]}_bursts"])] for s in ("read", "write")}
        assert answer == wanted


# ---------------------------------------------------------------- the closed form against steps


def stepped(backend: Backend, request: Request) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Both lists, one step after the other, as the hardware goes: min of what is left and of the ways to boundaries."""
    space = 1 << backend.address_width

    def room(address: int, protocol: int, reduce_len: bool, llen: int, rest: int, write: bool) -> int:
        if protocol == TILELINK:
            most = min(32 * backend.word, 2048) if write else 2048
            return _step(address, rest, tilelink_page_bits(backend), backend.word, most)
        window = 1 << window_bits(backend, protocol, reduce_len, llen)
        return min(rest, window - address % window)

    def side(write: bool, at: int, rest: int) -> int:
        r = request
        if write:
            return room(r.dst + at, r.dst_protocol, r.dst_reduce_len, r.dst_max_llen, rest, True)
        return room(r.src + at, r.src_protocol, r.src_reduce_len, r.src_max_llen, rest, False)

    lists: list[list[tuple[int, int]]] = [[], []]
    for number, base in enumerate((request.src, request.dst)):
        at = 0
        while at < request.length:
            n = side(bool(number), at, request.length - at)
            if is_coupled(request):
                n = min(n, side(not number, at, request.length - at))
            if n == 0:
                break
            lists[number].append(((base + at) % space, n))
            at += n
    return lists[0], lists[1]


def some_requests(count: int, seed: int) -> list[tuple[Backend, Request]]:
    rng = random.Random(seed)
    variants = ["rw_axi", "r_obi_w_axi", "rw_axi_rw_init_rw_obi", "r_axi_w_tilelink", "rw_axis", "rw_axil"]
    out = []
    for _ in range(count):
        variant = variant_named(rng.choice(variants))
        backend = Backend(variant, rng.choice((16, 32, 64, 128, 512, 1024)), burst_len=rng.choice((8, 8, 4, 2)))
        spot = rng.choice((0, 4096, (1 << 32) - 4096, 2048))
        near = [(spot + rng.randrange(-70, 70)) % (1 << 32) for _ in range(2)]
        request = Request(
            near[0], near[1], rng.choice((1, 2, 7, 64, 300, 5000)), rng.choice(sorted(variant.reads)),
            rng.choice(sorted(variant.writes)), rng.random() < 0.4, False, rng.random() < 0.5, rng.randrange(8),
            rng.random() < 0.5, rng.randrange(8),
        )  # fmt: skip
        out.append((backend, request))
    return out


def test_the_closed_form_is_what_the_steps_make() -> None:
    coupled = stuck = 0
    for backend, request in some_requests(1500, 7):
        found = legalize(backend, request)
        assert (found.pairs("read"), found.pairs("write")) == stepped(backend, request), (backend, request)
        coupled += found.coupled
        stuck += found.write.stuck is not None
        if not found.coupled and request.src_protocol != TILELINK:
            bits = window_bits(backend, request.src_protocol, request.src_reduce_len, request.src_max_llen)
            assert found.read.bursts == window_count(request.src, request.length, bits)
    assert coupled > 100
    assert stuck > 0


def test_the_text_of_an_answer_is_its_json() -> None:
    for backend, request in some_requests(400, 8):
        found = legalize(backend, request)
        pairs = {side: [list(p) for p in found.pairs(side)] for side in ("read", "write")}
        told = json.loads(bursts_json(found))
        assert {side: told[side] for side in pairs} == pairs
        assert ("stuck_write" in told) == (found.write.stuck is not None)


@pytest.mark.parametrize("base", [9_990, 9_999, 10_000, 19_992, 0, 2])
def test_long_lists_cross_the_blocks_of_their_text(base: int) -> None:
    backend = Backend(variant_named("rw_obi"), 16)
    found = legalize(backend, Request(base, base + 10_000, 20_011, OBI, OBI))
    assert json.loads(bursts_json(found))["write"] == [list(p) for p in found.pairs("write")]


# ---------------------------------------------------------------- the worked example, edges, findings


def both(found: Bursts) -> list[list[int]]:
    return [[n for _, n in found.pairs(side)] for side in ("read", "write")]


def test_the_worked_example_cuts_where_both_sides_do() -> None:
    request = Request(0xFF8, 0x20000, 5000)
    assert both(legalize(ANY_BACKEND, replace(request, decouple_rw=True)))[0] == [8, 2048, 2048, 896]
    assert both(legalize(ANY_BACKEND, request)) == [[8, 2040, 8, 2040, 8, 896]] * 2
    wide = replace(ANY_BACKEND, data_width=128)
    assert legalize(wide, replace(request, decouple_rw=True)).pairs("read") == [
        (0xFF8, 8),
        (0x1000, 4096),
        (0x2000, 896),
    ]


@pytest.mark.parametrize(("width", "window"), [(16, 512), (32, 1024), (64, 2048), (128, 4096), (1024, 4096)])
def test_axi_is_cut_at_the_smaller_of_256_beats_and_4_kib(width: int, window: int) -> None:
    assert 1 << window_bits(replace(ANY_BACKEND, data_width=width), AXI, False, 0) == window


def test_a_burst_limit_counts_only_where_it_is_switched_on() -> None:
    request = Request(0, 0x10000, 64, decouple_rw=True, src_max_llen=0)
    assert both(legalize(ANY_BACKEND, request))[0] == [64]
    assert both(legalize(ANY_BACKEND, replace(request, src_reduce_len=True)))[0] == [8] * 8
    assert both(legalize(ANY_BACKEND, replace(request, src_reduce_len=True, src_max_llen=2)))[0] == [32, 32]


def test_addresses_wrap_and_bursts_do_not() -> None:
    found = legalize(ANY_BACKEND, Request(0xFFFFFFF0, 0x40, 64, decouple_rw=True))
    assert found.pairs("read") == [(0xFFFFFFF0, 16), (0, 48)]


def test_zero_length_makes_nothing_or_one_empty_burst() -> None:
    request = Request(8, 16, 0)
    assert legalize(ANY_BACKEND, request).pairs("read") == []
    assert legalize(replace(ANY_BACKEND, reject_zero=False), request).pairs("write") == [(16, 0)]
    assert on_the_wire(ANY_BACKEND, AXI, 16, 0).field == 255


def test_tilelink_stands_still_where_a_page_of_axi_is_half_gone() -> None:
    backend = Backend(variant_named("r_tilelink_w_axi"), 128)
    assert tilelink_page_bits(backend) == 12
    assert _step(2048, 4096, 12, 16, 2048) == 0
    assert _step(2048 + 16, 4096, 12, 16, 2048) > 0
    found = legalize(backend, Request(2048, 0, 8192, TILELINK, AXI))
    assert (found.pairs("read"), found.read.stuck) == ([], 0)
    found = legalize(backend, Request(1024, 0, 8192, TILELINK, AXI))
    assert (found.pairs("read"), found.read.stuck) == ([(1024, 1024)], 1024)
    assert json.loads(bursts_json(found))["stuck_read"] == 1024


def test_writes_enable_their_bytes_alone() -> None:
    assert byte_enables(5, 6, 8) == [0b11100000, 0b00000111]
    assert byte_enables(8, 8, 8) == [0xFF]
    for address in range(8):
        for length in range(1, 20):
            masks = byte_enables(address, length, 8)
            assert len(masks) == beats_of(address, length, 8)
            assert sum(mask.bit_count() for mask in masks) == length


def test_variants_are_read_by_their_names() -> None:
    one = variant_named("r_obi_rw_init_w_axi")
    assert (sorted(one.reads), sorted(one.writes)) == ([OBI, INIT], [AXI, INIT])
    assert variant_named("rw_axi_rw_axis").every == {0, 5}
    for bad in ("axi", "rw_ahb", "r_axi", "", "rw_axi_"):
        with pytest.raises(InputError):
            variant_named(bad)
    assert [protocol_named(name) for name in NAMES] == list(range(6))
    assert protocol_named("AXI-Stream") == 5
    with pytest.raises(InputError, match="no protocol"):
        protocol_named("ahb")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"src": 1 << 32}, "src_addr"), ({"dst": -1}, "dst_addr"), ({"length": 1 << 32}, "length"),
        ({"src_max_llen": 8}, "src_max_llen"), ({"src_protocol": OBI}, "has not on this side"),
        ({"dst_protocol": AXILITE}, "has not on this side"),
    ],
)  # fmt: skip
def test_a_request_that_the_engine_cannot_take_is_refused(change: dict[str, int], says: str) -> None:
    request = Request(0, 0, 64)
    assert refusal(ANY_BACKEND, request) is None
    refused = refusal(ANY_BACKEND, replace(request, **change))
    assert refused is not None
    assert says in refused.message


@pytest.mark.parametrize("bad", [{"data_width": 48}, {"data_width": 2048}, {"address_width": 8}, {"burst_len": 9}])
def test_a_backend_that_cannot_be_generated_is_refused(bad: dict[str, int]) -> None:
    with pytest.raises(InputError):
        replace(ANY_BACKEND, **bad)


@pytest.mark.parametrize(
    "row",
    [
        {"src_addr": 0, "dst_addr": 0}, {"src_addr": "x", "dst_addr": 0, "length": 1},
        {"src_addr": 0, "dst_addr": 0, "length": 1, "decouple_rw": 2},
        {"src_addr": 0, "dst_addr": 0, "length": 1, "variant": 7},
        {"src_addr": 0, "dst_addr": 0, "length": 1, "src_protocol": 9},
        {"src_addr": 0.5, "dst_addr": 0, "length": 1},
        {"src_addr": 0, "dst_addr": 0, "length": None},
    ],
)  # fmt: skip
def test_a_row_that_makes_no_request_is_refused(row: dict[str, object]) -> None:
    with pytest.raises(InputError):
        request_of(row)
    assert request_of({"src_addr": "0x10", "dst_addr": "32", "length": 1, "src_protocol": "axi"})[1].src == 16


@pytest.mark.parametrize("variant", ["rw_tilelink", "r_axi_w_tilelink", "r_tilelink_w_axi", "rw_axi_rw_tilelink"])
def test_bursts_that_stand_for_all_lie_where_all_lie(variant: str) -> None:
    draw = random.Random(variant)
    for _ in range(60):
        backend = Backend(
            variant_named(variant), 8 << draw.randrange(1, 8), tilelink_ul=draw.random() < 0.1,
            specified=draw.random() < 0.3,
        )  # fmt: skip
        base = draw.choice([0, draw.randrange(1 << 13), 64 * draw.randrange(1 << 8), (1 << 32) - 5])
        length = draw.choice([draw.randint(1, 300), draw.randint(1, 70_000), 4096 * draw.randint(1, 30)])
        for side in ("read", "write"):
            protocol = "src_protocol" if side == "read" else "dst_protocol"
            if TILELINK not in (backend.variant.reads if side == "read" else backend.variant.writes):
                continue
            request = replace(Request(base, base, length), **{protocol: TILELINK})
            full = legalize(backend, request)
            cuts = full.read if side == "read" else full.write
            ends = [0, *cuts.cuts, cuts.length] if cuts.length > 0 else [0]
            every = {(n, low, high - low) for n, (low, high) in enumerate(pairwise(ends))}
            shown = shown_bursts(backend, request, side)
            going = [one for one in shown if one[2]]
            assert every.issuperset(going)
            page = 2 << tilelink_page_bits(backend)
            assert {((base + at) % page, n) for _, at, n in every} == {((base + at) % page, n) for _, at, n in going}
            assert [one[:2] for one in shown if not one[2]] == (
                [] if cuts.stuck is None else [(len(every), cuts.stuck)]
            )
            assert cuts.stuck is not None or going[-1] == max(every)
            assert len(shown) <= 8 * page // min(backend.word, 64) + 40


def test_a_move_of_4_gib_over_tilelink_is_decided_by_its_pages() -> None:
    backend = Backend(variant_named("rw_tilelink"), 32, address_width=64, length_width=40)
    request = Request(0x1000, 1 << 40, 1 << 32, TILELINK, TILELINK)
    shown = shown_bursts(backend, request, "read")
    assert len(shown) <= 16
    assert shown[-1] == ((1 << 21) - 1, (1 << 32) - 2048, 2048)
