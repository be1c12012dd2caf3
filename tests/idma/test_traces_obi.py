"""Traces of engines with OBI sides: right ones pass, planted faults of each field are the first wrong beat told."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import vcd

from dmaverify.cli.bus_trace import traced
from dmaverify.errors import InputError
from dmaverify.machines.idma.bus.beats import Beat, read_trace
from dmaverify.machines.idma.bus.scoreboard import channels_of, judged
from dmaverify.machines.idma.engine import AXI, OBI, Backend, Request, variant_named
from dmaverify.machines.idma.legalizer import legalize
from dmaverify.testing.axi_port import AxiPort, ObiPort
from dmaverify.verdict import Status

DATA = Path(__file__).resolve().parents[1] / "data"
WAYS = {"r_axi_w_obi": (AXI, OBI), "r_obi_w_axi": (OBI, AXI), "rw_obi": (OBI, OBI)}
PAIRS = [(0x1000, 0x20000, 64), (0x1003, 0x20001, 37), (0xFFE, 0x9003, 3)]


def moves(variant: str) -> list[Request]:
    return [Request(src, dst, length, *WAYS[variant]) for src, dst, length in PAIRS]


def engine(variant: str) -> Backend:
    return Backend(variant_named(variant), 32)


def simulated(variant: str) -> list[Beat]:
    """Beats of an engine that reads a transfer before it writes it, with gaps; memory holds a hash of its address."""
    draw, now = random.Random(3), 0
    out: list[Beat] = []

    def beat(channel: str, **fields: int) -> None:
        nonlocal now
        now += draw.randint(1, 3)
        out.append(Beat(now, channel, fields))

    def word_at(low: int, first: int, end: int, shift: int) -> tuple[int, int]:
        """The bytes of [first, end) that lie in a word, and its mask."""
        lanes = [lane for lane in range(4) if first <= low + lane < end]
        data = sum(((low + lane + shift) * 37 + 11 & 255) << 8 * lane for lane in lanes)
        return data, sum(1 << lane for lane in lanes)

    for request in moves(variant):
        bursts = legalize(engine(variant), request)
        for side, protocol in (("read", request.src_protocol), ("write", request.dst_protocol)):
            shift = 0 if side == "read" else request.src - request.dst
            for address, count in bursts.pairs(side):
                words = range(address - address % 4, address + count, 4)
                if protocol == AXI:
                    beat("ar" if side == "read" else "aw", addr=words[0], len=len(words) - 1, size=2, burst=1)
                for k, low in enumerate(words):
                    data, mask = word_at(low, address, address + count, shift)
                    if protocol == AXI and side == "read":
                        beat("r", data=data, resp=0, last=int(k == len(words) - 1))
                    elif protocol == AXI:
                        beat("w", data=data, strb=mask, last=int(k == len(words) - 1))
                    elif side == "read":
                        beat("a_read", addr=low, we=0, strb=15, data=0)
                        beat("r_read", data=data, resp=0)
                    else:
                        beat("a_write", addr=low, we=1, strb=mask, data=data)
                        beat("r_write", data=0, resp=0)
                if protocol == AXI and side == "write":
                    beat("b", resp=0)
    return out


@pytest.mark.parametrize("variant", WAYS)
def test_a_right_trace_of_a_mixed_engine_passes(variant: str) -> None:
    found = judged(engine(variant), moves(variant), simulated(variant))
    assert (found.wrong, found.missing, found.bytes) == (None, (), 104)


@pytest.mark.parametrize(
    ("variant", "channel", "number", "fields", "says"),
    [
        ("r_axi_w_obi", "a_write", 3, {"addr": 0x20010}, "A (write) beat 3: addr is 0x20010, must be 0x2000c"),
        ("r_axi_w_obi", "a_write", 16, {"strb": 15}, "A (write) beat 16: strb is 0xf, must be 0xe"),
        ("r_axi_w_obi", "a_write", 2, {"we": 0}, "A (write) beat 2: we is 0, must be 1"),
        ("r_axi_w_obi", "a_write", 4, {"data": 0}, "A (write) beat 4: byte 0 is 0x00, read as 0x5b"),
        ("r_axi_w_obi", "r_write", 4, {"resp": 1}, "R (write) beat 4: resp is 1, must be 0"),
        ("r_obi_w_axi", "a_read", 17, {"addr": 0x1000}, "A (read) beat 17: addr is 0x1000, must be 0x1004"),
        ("r_obi_w_axi", "a_read", 17, {"we": 1}, "A (read) beat 17: we is 1, must be 0"),
        ("r_obi_w_axi", "r_read", 0, {"data": 0}, "W beat 0: byte 0 is 0x0b, read as 0x00"),
        ("rw_obi", "r_read", 1, {"resp": 1}, "R (read) beat 1: resp is 1, must be 0"),
    ],
)
def test_a_planted_fault_of_an_obi_side_is_the_first_wrong_beat(
    variant: str, channel: str, number: int, fields: dict[str, int], says: str
) -> None:
    beats = simulated(variant)
    at = [n for n, beat in enumerate(beats) if beat.channel == channel][number]
    beats[at] = replace(beats[at], fields={**beats[at].fields, **fields})
    found = judged(engine(variant), moves(variant), beats).wrong
    assert found is not None
    assert found.message.startswith(says), found.message


@pytest.mark.parametrize(
    ("variant", "channel", "says"),
    [
        ("r_axi_w_obi", "a_write", "A (write) beat 27 never comes: 1 of 28"),
        ("rw_obi", "a_write", "A (write) beat 27 never comes: 1 of 28"),
    ],
)
def test_what_an_obi_side_lacks_or_answers_too_early_is_told(variant: str, channel: str, says: str) -> None:
    beats, requests = simulated(variant), moves(variant)
    last = max(n for n, beat in enumerate(beats) if beat.channel == channel)
    more = [*beats, replace(beats[last], time=beats[-1].time + 1)]
    left = beats[:last] + [b for b in beats[last + 1 :] if b.channel != "r_write"]
    assert says in f"{judged(engine(variant), requests, left).wrong}"
    assert "is one too many" in f"{judged(engine(variant), requests, more).wrong}"
    first = next(n for n, beat in enumerate(beats) if beat.channel.startswith("r_"))
    early = [beats[first], *beats[:first], *beats[first + 1 :]]
    assert "answers a request that is not granted" in f"{judged(engine(variant), requests, early).wrong}"


NAMES = {
    "release": {
        "a": {"valid": "req_a_req_o", "ready": "rsp_a_gnt_i", "addr": "req_a_addr_o", "we": "req_a_we_o",
              "strb": "req_a_be_o", "data": "req_a_wdata_o"},
        "r": {"valid": "rsp_r_valid_i", "ready": "req_r_ready_o", "data": "rsp_r_rdata_i"},
    },
    "plain": {
        "a": {"valid": "req_o", "ready": "gnt_i", "addr": "addr_o", "we": "we_o", "strb": "be_o", "data": "wdata_o"},
        "r": {"valid": "rvalid_i", "data": "rdata_i", "resp": "err_i"},
    },
}  # fmt: skip


BITS = ("valid", "ready", "we")


def dumped(beats: list[Beat], path: Path, style: str, *, shared: bool = False) -> Path:
    """The beats as a dump: OBI ports for each direction, or one that is `shared`; AXI beside them."""
    with path.open("w") as file, vcd.VCDWriter(file, timescale="1 ns", date="") as writer:
        wires: dict[tuple[str, str], object] = {}
        clock = writer.register_var("tb", "clk_i", "wire", 1, init=0)

        def wire(channel: str, name: str) -> object:
            key = (channel.replace("_read", "_x").replace("_write", "_x") if shared else channel), name
            if key not in wires:
                kind, _, way = channel.partition("_")
                prefix = "obi_" if shared else f"obi_{way}_"
                spelled = prefix + NAMES[style][kind][name] if way else f"axi_{channel}_{name}"
                wires[key] = writer.register_var("tb.dut", spelled, "wire", 1 if name in BITS else 32, init=0)
            return wires[key]

        known = {beat.channel: beat.fields for beat in beats}
        for channel, fields in known.items():
            obi = NAMES[style][channel[0]] if "_" in channel else {}
            for name in ("valid", "ready", *fields):
                if not obi or name in obi:
                    wire(channel, name)
        by = {beat.time: beat for beat in beats}
        for cycle in range(1, max(by) + 2):
            writer.change(clock, 10 * cycle, 0)
            here = by.get(cycle)
            for (_, name), one in wires.items():
                if name in ("valid", "ready"):
                    writer.change(one, 10 * cycle, 0)
            for name, value in {"valid": 1, "ready": 1, **(here.fields if here else {})}.items():
                if here is not None and (name in (NAMES[style][here.channel[0]] if "_" in here.channel else {name})):
                    writer.change(wire(here.channel, name), 10 * cycle, value or 0)
            writer.change(clock, 10 * cycle + 5, 1)
    return path


@pytest.mark.parametrize("style", NAMES)
@pytest.mark.parametrize("variant", WAYS)
def test_ports_are_found_by_the_names_of_their_signals(variant: str, style: str, tmp_path: Path) -> None:
    beats = simulated(variant)
    file = str(dumped(beats, tmp_path / "t.vcd", style))
    found = judged(engine(variant), moves(variant), read_trace(file, channels_of(moves(variant))).beats)
    assert found.wrong is None
    silent = [f"r_{way}_resp" for way, own in zip(("read", "write"), WAYS[variant], strict=True) if own == OBI]
    assert found.missing == (() if style == "plain" else tuple(silent))
    missing = "a_write" if variant == "r_obi_w_axi" else "aw"
    with pytest.raises(InputError, match=f"0 {'OBI' if missing == 'a_write' else 'AXI'} ports"):
        read_trace(file, (missing,))


def test_one_obi_port_for_both_directions_is_told_apart_by_its_requests(tmp_path: Path) -> None:
    beats = simulated("rw_obi")
    file = str(dumped(beats, tmp_path / "t.vcd", "plain", shared=True))
    assert judged(engine("rw_obi"), moves("rw_obi"), read_trace(file, channels_of(moves("rw_obi"))).beats).wrong is None


PLAN = """schema = 1
target = "idma"
[axes]
A = 37
[transfer.t]
dtype = "i8"
options = {{ variant = "{variant}", ax_in_flight = 2 }}
source = {{ tier = "mem", base = 0x1003, element = "A" }}
dest = {{ tier = "mem", base = 0x20001, element = "A" }}
read = "[A=37:1]:37 @4099"
write = "[A=37:1]:37 @131073"
"""


@pytest.mark.parametrize("variant", WAYS)
def test_the_dump_of_released_rtl_is_accepted(variant: str, tmp_path: Path) -> None:
    plan = tmp_path / "t.toml"
    plan.write_text(PLAN.format(variant=variant), encoding="utf-8")
    verdict = traced([str(plan)], str(DATA / f"idma_rtl_{variant}.vcd"), None, None)
    assert verdict.status is Status.PROVED
    assert "37 bytes asked for" in verdict.obligations[0].by
    assert any("the law has" in one for one in verdict.assumptions)
    plan.write_text(
        PLAN.format(variant=variant).replace("0x20001", "0x20002").replace("131073", "131074"), encoding="utf-8"
    )
    assert traced([str(plan)], str(DATA / f"idma_rtl_{variant}.vcd"), None, None).status is Status.REFUTED


def test_recorded_ports_are_the_trace_of_their_dump(tmp_path: Path) -> None:
    plan = tmp_path / "t.toml"
    plan.write_text(PLAN.format(variant="r_axi_w_obi"), encoding="utf-8")
    beats = read_trace(str(DATA / "idma_rtl_r_axi_w_obi.vcd"), ("ar", "r", "a_write", "r_write")).beats
    wires: dict[str, SimpleNamespace] = {}
    names: dict[tuple[str, str], str] = {
        (f"{kind}_write", name): f"obi_write_{spelled}"
        for kind, own in NAMES["release"].items() for name, spelled in own.items()
    }  # fmt: skip
    fields = ("valid", "ready", "addr", "len", "size", "burst", "data", "last", "resp")
    names |= {(channel, name): f"axi_{channel}_{name}" for channel in ("ar", "r") for name in fields}
    wires = {spelled: SimpleNamespace(value=0) for spelled in names.values()}
    dut = SimpleNamespace(**wires)
    reads, writes = AxiPort(dut, "axi_", ("ar", "r")), ObiPort(dut, "obi_write_", "write")
    for beat in beats:
        for one in wires.values():
            one.value = 0
        for name, value in {"valid": 1, "ready": 1, **beat.fields}.items():
            if (beat.channel, name) in names:
                wires[names[beat.channel, name]].value = value
        reads.sample(beat.time)
        writes.sample(beat.time)
    reads.save(str(tmp_path / "run.csv"), writes)
    assert traced([str(plan)], str(tmp_path / "run.csv"), None, None).status is Status.PROVED
    with pytest.raises(ValueError, match="ar_addr may be axi_ar_addr, or axi_ar_addr_o"):
        AxiPort(SimpleNamespace(**wires, axi_ar_addr_o=SimpleNamespace(value=0)), "axi_", ("ar", "r"))
    AxiPort(SimpleNamespace(**wires, axi_ar_addr_o=wires["axi_ar_addr"]), "axi_", ("ar", "r"))  # one and the same
    with pytest.raises(InputError, match="is a table, which has no port tb"):
        read_trace(f"{tmp_path / 'run.csv'}::tb")

    class Edge:
        def __await__(self) -> Iterator[None]:
            return iter(())

    times = iter((0.5, 1.0, 1.5))  # of a clock of 2 GHz, in nanoseconds
    with pytest.raises(ValueError, match="two edges at time 1"):
        reads.watch(Edge(), lambda: next(times)).send(None)
    with pytest.raises(ValueError, match="the port has no a_read_valid"):
        ObiPort(dut, "obi_read_", "read")
