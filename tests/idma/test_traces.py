"""Traces of an AXI port against plans and jobs: right ones pass, each planted fault is the first wrong beat told."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import vcd

from dmaverify.cli.bus_trace import traced
from dmaverify.errors import InputError
from dmaverify.machines.idma.bus.beats import Beat, read_trace
from dmaverify.machines.idma.bus.scoreboard import judged
from dmaverify.machines.idma.engine import AXI, TILELINK, Backend, Request, variant_named
from dmaverify.machines.idma.legalizer import legalize
from dmaverify.machines.idma.wire import beats_of
from dmaverify.verdict import Status, Verdict

WIDTHS = {"addr": 32, "len": 8, "size": 3, "burst": 2, "strb": 4, "last": 1, "data": 32, "resp": 2}
HAS = {"ar": ("addr", "len", "size", "burst"), "r": ("data", "resp", "last"), "b": ("resp",)}
HAS |= {"aw": HAS["ar"], "w": ("data", "strb", "last")}
BACKEND = Backend(variant_named("rw_axi"), 32)


def simulated(requests: list[Request], backend: Backend = BACKEND, seed: int = 0) -> list[Beat]:
    """Beats of an engine that stores a transfer before it writes it, with gaps; memory holds a hash of its address."""
    word, draw, now = backend.word, random.Random(seed), 0
    out: list[Beat] = []

    def beat(channel: str, **fields: int) -> None:
        nonlocal now
        now += draw.randint(1, 3)
        out.append(Beat(now, channel, fields))

    def byte(address: int) -> int:
        return address * 37 + 11 & 255

    for request in requests:
        bursts = legalize(backend, request)
        for address, count in bursts.pairs("read"):
            low, beats = address - address % word, beats_of(address, count, word)
            beat("ar", addr=low, len=beats - 1, size=word.bit_length() - 1, burst=1)
            for k in range(beats):
                data = sum(byte(low + k * word + lane) << 8 * lane for lane in range(word))
                beat("r", data=data, resp=0, last=int(k == beats - 1))
        done = 0
        for address, count in bursts.pairs("write"):
            low, beats = address - address % word, beats_of(address, count, word)
            beat("aw", addr=low, len=beats - 1, size=word.bit_length() - 1, burst=1)
            for k in range(beats):
                strb = data = 0
                for lane in range(word):
                    if address <= low + k * word + lane < address + count:
                        strb |= 1 << lane
                        data |= byte(request.src + done) << 8 * lane
                        done += 1
                beat("w", data=data, strb=strb, last=int(k == beats - 1))
            beat("b", resp=0)
    return out


def named(style: str, channel: str, wire: str) -> tuple[str, str]:
    """Scope and name of a wire in a dump: flat, in structures, or in structures of a port a direction."""
    if style == "flat":
        return "", f"axi_{channel}_{wire}"
    way = {"structures": "", "ways": "_read" if channel in ("ar", "r") else "_write"}[style]
    side = "req_o" if (channel in ("ar", "aw", "w")) != (wire == "ready") else "rsp_i"
    own = f".axi{way}_{side}"
    return (own, f"{channel}_{wire}") if wire in ("valid", "ready") else (f"{own}.{channel}", wire)


def dumped(beats: list[Beat], path: Path, *, two: bool = False, style: str = "flat") -> Path:
    """The beats as a value change dump: a cycle is 10 units, the clock rises in its middle."""
    with path.open("w") as file, vcd.VCDWriter(file, timescale="1 ns", date="") as writer:
        clock = writer.register_var("tb", "clk_i", "wire", 1, init=0)
        scopes = ["tb.dut", "tb.other"] if two else ["tb.dut"]
        wires = {
            (scope, channel, wire): writer.register_var(
                scope + named(style, channel, wire)[0], named(style, channel, wire)[1], "wire", width, init=0
            )
            for scope in scopes for channel, own in HAS.items()
            for wire, width in (("valid", 1), ("ready", 1), *((name, WIDTHS[name]) for name in own))
        }  # fmt: skip
        for channel, wire in product(HAS, ("valid", "ready")) if style == "ways" else ():  # what no engine uses
            way = "write" if channel in ("ar", "r") else "read"
            side = named("structures", channel, wire)[0].replace("axi", f"axi_{way}")
            writer.register_var(f"tb.dut{side}", f"{channel}_{wire}", "wire", 1, init=0)
        by = {one.time: one for one in beats}
        for cycle in range(1, max(by, default=0) + 2):
            writer.change(clock, 10 * cycle, 0)
            for channel in HAS:
                here = by.get(cycle)
                on = int(here is not None and here.channel == channel)
                for wire in ("valid", "ready"):
                    writer.change(wires["tb.dut", channel, wire], 10 * cycle, on)
                for name in HAS[channel] if on and here is not None else ():
                    writer.change(wires["tb.dut", channel, name], 10 * cycle, here.fields[name] or 0)
            writer.change(clock, 10 * cycle + 5, 1)
    return path


MOVES = [
    [Request(0x1000, 0x20000, 64)], [Request(0x1003, 0x20001, 100)],
    [Request(0xFF8, 0x20000, 3000), Request(5, 0x9001, 3)],
    [Request(0x1001, 0x2000, 1)], [Request(0x3FD, 0x7FE, 2049, decouple_rw=True)],
]  # fmt: skip


@pytest.mark.parametrize("requests", MOVES)
def test_a_right_trace_passes(requests: list[Request], tmp_path: Path) -> None:
    beats = simulated(requests)
    assert judged(BACKEND, requests, beats).wrong is None
    seen = read_trace(str(dumped(beats, tmp_path / "t.vcd"))).beats
    assert [(b.channel, b.fields) for b in seen] == [(b.channel, b.fields) for b in beats]
    assert [b.time for b in seen] == [10 * b.time + 5 for b in beats]


def changed(channel: str, number: int, **fields: int) -> Callable[[list[Beat]], list[Beat]]:
    def change(beats: list[Beat]) -> list[Beat]:
        at = [i for i, b in enumerate(beats) if b.channel == channel][number]
        return [*beats[:at], replace(beats[at], fields={**beats[at].fields, **fields}), *beats[at + 1 :]]

    return change


FAULTS: dict[str, tuple[Callable[[list[Beat]], list[Beat]], str]] = {
    "address": (changed("ar", 1, addr=0x1004), "AR beat 1: addr is 0x1004, must be 0x1400"),
    "strobe": (changed("w", 0, strb=15), "W beat 0: strb is 0xf, must be 0xe"),
    "data": (changed("w", 3, data=0), "W beat 3: byte"),
    "length": (changed("aw", 0, len=3), "AW beat 0: len is 3"),
    "error": (changed("b", 0, resp=2), "B beat 0: resp is 2, must be 0"),
    "last": (changed("r", 2, last=1), "R beat 2: last is 1"),
    "lost": (lambda beats: [b for b in beats if b.channel != "b"], "B beat 0 never comes"),
    "twice": (lambda beats: [*beats, beats[-1]], "is one too many"),
    "early": (lambda beats: [beats[1], beats[0], *beats[2:]], "R beat 0 does not come after the read"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_the_beat_that_is_told(fault: str, tmp_path: Path) -> None:
    requests = [Request(0x1003, 0x20001, 1100)]
    plant, says = FAULTS[fault]
    beats = [replace(b, time=n + 1) for n, b in enumerate(plant(simulated(requests)))]
    found = judged(BACKEND, requests, read_trace(str(dumped(beats, tmp_path / "t.vcd"))).beats)
    assert found.wrong is not None
    assert says in found.wrong.message


PLAN = """schema = 1
target = "idma"
[axes]
A = 4
B = 16
[transfer.t]
dtype = "i8"
source = { tier = "mem", base = 4096, element = "A, B # 32" }
dest = { tier = "mem", base = 131072, element = "A, B" }
commands = '''
nd
src = 0x1000
dst = 0x20000
length = 16
dim = 4, 32, 16
'''
"""
ROWS = [Request(0x1000 + 32 * i, 0x20000 + 16 * i, 16) for i in range(4)]


def verdict(beats: list[Beat], folder: Path) -> Verdict:
    (folder / "p.toml").write_text(PLAN)
    rows = ["time,channel,addr,len,size,burst,strb,last,resp,data"]
    for b in beats:
        own = [str(b.fields.get(name, "")) for name in ("addr", "len", "size", "burst", "strb", "last", "resp", "data")]
        rows.append(f"{b.time},{b.channel},{','.join(own)}")
    (folder / "t.csv").write_text("\n".join(rows) + "\n")
    return traced([str(folder / "p.toml")], str(folder / "t.csv"), None, None)


def test_a_wrong_beat_of_a_plan_is_shown_in_its_tensor(tmp_path: Path) -> None:
    beats = simulated(ROWS)
    assert verdict(beats, tmp_path).status is Status.PROVED
    wrong = verdict(changed("ar", 2, addr=0x1000)(beats), tmp_path)
    assert wrong.status is Status.REFUTED
    where, element = "`t`, 1D transfer 2, byte 0, address 0x1040", "source element 64: Index[A = 2, B = 0]"
    assert wrong.errors[0].notes[1:] == (where, element)
    assert wrong.errors[0].span is not None


def test_what_the_trace_does_not_show_is_said(tmp_path: Path) -> None:
    beats = [replace(b, fields={k: v for k, v in b.fields.items() if k != "data"}) for b in simulated(ROWS)]
    assert "data not shown and not judged" in verdict(beats, tmp_path).claim
    blind = [replace(b, fields={k: v for k, v in b.fields.items() if k != "strb"}) for b in beats]
    assert verdict(blind, tmp_path).status is Status.UNKNOWN
    assert verdict([], tmp_path).status is Status.REFUTED


@pytest.mark.parametrize("style", ["structures", "ways"])
def test_a_port_in_structures_is_read_as_a_flat_one(style: str, tmp_path: Path) -> None:
    beats = simulated(ROWS)
    flat = read_trace(str(dumped(beats, tmp_path / "flat.vcd"))).beats
    assert read_trace(str(dumped(beats, tmp_path / "t.vcd", style=style))).beats == flat


def test_traces_that_cannot_be_judged_are_refused(tmp_path: Path) -> None:
    beats = simulated(ROWS)
    path = dumped(beats, tmp_path / "t.vcd", two=True)
    with pytest.raises(InputError, match="2 AXI ports"):
        read_trace(str(path))
    assert len(read_trace(f"{path}::tb.dut").beats) == len(beats)
    (tmp_path / "bad.vcd").write_bytes(b"\x00\xff garbage")
    (tmp_path / "bad.csv").write_text("time,channel\n1,q\n")
    for name in ("bad.vcd", "bad.csv", "none.vcd"):
        with pytest.raises(InputError):
            read_trace(str(tmp_path / name))
    with pytest.raises(InputError, match="AXI and OBI"):
        judged(BACKEND, [Request(0, 64, 4, TILELINK, AXI)], [])


def test_no_byte_is_written_before_it_is_read_and_undefined_reads_are_told() -> None:
    requests = [Request(0x1000, 0x2000, 24)]
    beats = simulated(requests)
    first = min(beat.time for beat in beats)
    ahead = sorted(
        (replace(beat, time=beat.time - 1000) if beat.channel in ("aw", "w") else beat for beat in beats),
        key=lambda beat: beat.time,
    )
    wrong = judged(BACKEND, requests, ahead).wrong
    assert wrong is not None
    assert (wrong.message, wrong.time < first) == ("W beat 0: byte 0 is written before R beat 0 brings it", True)
    blurred = [replace(b, fields={**b.fields, "data": None}) if b.channel == "r" else b for b in beats]
    found = judged(BACKEND, requests, blurred)
    assert (found.wrong, found.missing) == (None, ("data",))


@pytest.mark.parametrize(
    ("read", "write", "wrong", "missing"),
    [
        ("0x12345678", "0x5678xxxx", "", ()),  # lanes without a strobe carry nothing
        ("0xxxxx5678", "0b0101011001111000zzzzzzzzzzzzzzzz", "", ()),
        ("0xxxxx5678", "0x0078xxxx", "W beat 0: byte 3 is 0x00, read as 0x56", ()),
        ("0x12345678", "0xx678xxxx", "W beat 0: byte 3 is undefined, read as 0x56", ()),
        ("0x12345678", "0xx000", "W beat 0: byte 2 is undefined, read as 0x78", ()),  # x stands for all before it
        ("0x1234xx78", "0xxx78xxxx", "", ("data",)),
        ("x", "0x5678xxxx", "", ("data",)),
    ],
)
def test_data_is_judged_byte_by_byte(
    tmp_path: Path, read: str, write: str, wrong: str, missing: tuple[str, ...]
) -> None:
    requests = [Request(0x1000, 0x2002, 2)]
    table = tmp_path / "t.csv"
    table.write_text(
        "time,channel,addr,len,size,burst,strb,last,data,resp\n0,ar,0x1000,0,2,1,,,,\n"
        f"1,r,,,,,,1,{read},0\n2,aw,0x2000,0,2,1,,,,\n3,w,,,,,0xc,1,{write},\n4,b,,,,,,,,0\n"
    )
    found = judged(BACKEND, requests, read_trace(str(table)).beats)
    assert (found.wrong.message if found.wrong else "", found.missing) == (wrong, missing)


def test_a_job_that_plants_errors_has_no_one_right_trace(tmp_path: Path) -> None:
    job, table = tmp_path / "a.txt", tmp_path / "t.csv"
    job.write_text("64\n0x1000\n0x20000\n0\n0\n256\n256\n0\n0\n1\nrc0x1008\n")
    table.write_text("time,channel,addr,len\n0,ar,0x1000,15\n")
    with pytest.raises(InputError, match="no one right trace"):
        traced([str(job)], str(table), ["rw_axi"], 0)


def test_the_cycles_of_a_table_are_its_times_in_the_greatest_period_they_keep(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("time,channel,addr,len\n100,ar,0,0\n110,ar,0,0\n140,ar,0,0\n")
    assert [beat.cycle for beat in read_trace(str(table)).beats] == [0, 1, 4]


# ---------------------------------------------------------------- dumps, signal by signal

WORD = [Request(0x1000, 0x2000, 4)]
ASKS = {"len": 0, "size": 2, "burst": 1}
TAKEN = {"valid": 1, "ready": 1}
RIGHT: tuple[dict[str, dict[str, int | str]], ...] = (
    {"ar": {**TAKEN, **ASKS, "addr": 0x1000}},
    {"r": {**TAKEN, "data": 0x12345678, "last": 1}},
    {"aw": {**TAKEN, **ASKS, "addr": 0x2000}},
    {"w": {**TAKEN, "data": 0x12345678, "strb": 15, "last": 1}},
    {"b": TAKEN},
)
"""One word, a channel a cycle."""
Cycle = dict[str, dict[str, int | str]]


def waved(
    path: Path, cycles: Sequence[Cycle] = RIGHT, clocks: Mapping[str, int] = {"tb.dut.clk_i": 1},
    more: Sequence[str] = (), also: Mapping[int, str] = {}, width: int = 32,
) -> str:  # fmt: skip
    """A dump, digit by digit: what is not said is 0. `clocks` rise in the middle of so many cycles; `more` are
    variables of tb.dut, `also` lines of the dump by cycle.
    """
    wires = {f"{c}_{w}": {**WIDTHS, "data": width, "valid": 1, "ready": 1}[w] for c, own in HAS.items()
             for w in ("valid", "ready", *own)}  # fmt: skip
    scopes: dict[str, list[str]] = {"tb.dut": [f"$var wire {n} {w} axi_{w} $end" for w, n in wires.items()]}
    scopes["tb.dut"] += more
    for name in clocks:
        scope, _, own = name.rpartition(".")
        scopes.setdefault(scope, []).append(f"$var wire 1 {name} {own} $end")
    lines = ["$timescale 1ns $end"]
    for scope, own in scopes.items():
        names = scope.split(".")
        lines += [f"$scope module {name} $end" for name in names] + own + ["$upscope $end"] * len(names)
    lines += ["$enddefinitions $end"]
    for number, cycle in enumerate(({}, *cycles, {})):
        lines.append(f"#{10 * number}")
        lines += [f"0{name}" for name, rate in clocks.items() if number % rate == 0]
        for wire in wires:
            channel, _, name = wire.partition("_")
            value = cycle.get(channel, {}).get(name, 0)
            lines.append(f"b{value if isinstance(value, str) else format(value, 'b')} {wire}")
        lines += [also[number]] if number in also else []
        lines += [f"#{10 * number + 5}", *(f"1{name}" for name, rate in clocks.items() if number % rate == 0)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def wrong(file: str, word: int | None = None) -> str:
    found = judged(BACKEND, WORD, read_trace(file, word=word).beats).wrong
    return "" if found is None else found.message


def but(number: int, channel: str, **fields: int | str) -> tuple[Cycle, ...]:
    """The right trace, but for fields of one channel in one cycle."""
    changed = {**RIGHT[number], channel: {**RIGHT[number].get(channel, {}), **fields}}
    return (*RIGHT[:number], changed, *RIGHT[number + 1 :])


@pytest.mark.parametrize(
    ("digits", "says"),
    [
        ("00010010001101000101011001111000", ""),
        ("lllhllhlllhhlhlllhlhlhhllhhhhlll", ""),  # weak values are values
        ("xx010010001101000101011001111000", "byte 3 is undefined, read as 0x12"),
        ("xx111111111111111111111111111111", "byte 0 is 0xff, read as 0x78"),
        ("x", "byte 0 is undefined"),  # it stands for all digits before it
        ("z01111000", "byte 1 is undefined"),
        ("0x010010001101000101011001111000", "byte 3 is undefined"),  # no hexadecimal number
        ("u" * 32, "byte 0 is undefined"),
        ("-" * 32, "byte 0 is undefined"),
        ("w0010010001101000101011001111000", "byte 3 is undefined"),
        ("h" * 32, "byte 0 is 0xff"),
    ],
)
def test_every_digit_of_a_dump_is_read_for_itself(tmp_path: Path, digits: str, says: str) -> None:
    found = wrong(waved(tmp_path / "t.vcd", but(3, "w", data=digits)))
    assert found.startswith(f"W beat 0: {says}") if says else not found
    strobes = wrong(waved(tmp_path / "t.vcd", but(3, "w", strb="1x11")))
    assert strobes == "W beat 0: strb is undefined"


@pytest.mark.parametrize(
    ("clocks", "port", "used"),
    [
        ({"tb.dut.clk_i": 1}, "", "tb.dut.clk_i"),
        ({"tb.clk": 1}, "", "tb.clk"),
        ({"tb.apb.clk": 1}, "", "tb.apb.clk"),  # the only one
        ({"tb.dut.clk_i": 1, "tb.apb_clk": 2}, "", "tb.dut.clk_i"),  # that of the port's own scope
        ({"tb.apb_clk": 2, "tb.dut.clk_i": 1, "tb.dut.gate.clk_i": 2}, "", "tb.dut.clk_i"),
        ({"tb.clk": 1, "tb.apb_clk": 2}, "", ""),
        ({"tb.dut.clk_i": 1, "tb.dut.apb_clk": 2}, "", ""),
        ({"tb.a.clk": 1, "tb.b.clk": 2}, "", ""),
        ({"tb.clk": 1, "tb.apb_clk": 2}, "::tb.dut.axi_@tb.clk", "tb.clk"),
        ({"tb.clk": 1, "tb.tick": 1}, "::@tb.tick", "tb.tick"),
    ],
)
def test_the_clock_is_the_nearest_one_or_named(tmp_path: Path, clocks: dict[str, int], port: str, used: str) -> None:
    file = waved(tmp_path / "t.vcd", clocks=clocks)
    if used:
        trace = read_trace(file + port)
        assert (trace.clock, judged(BACKEND, WORD, trace.beats).wrong) == (used, None)
        return
    with pytest.raises(InputError, match="2 clocks that are equally near") as told:
        read_trace(file)
    assert all(f"::tb.dut.axi_@{name}" in str(told.value.hint) for name in clocks)


def test_the_clock_and_what_is_not_judged_are_named_in_the_verdict(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(PLAN.replace("A = 4\nB = 16", "A = 1\nB = 4").replace("A, B # 32", "A, B"))
    text = (tmp_path / "p.toml").read_text().replace("length = 16\ndim = 4, 32, 16", "length = 4")
    (tmp_path / "p.toml").write_text(text.replace("131072", "8192").replace("0x20000", "0x2000"))
    file = waved(tmp_path / "t.vcd")
    found = traced([str(tmp_path / "p.toml")], file, None, None)
    assert found.status is Status.PROVED
    assert any("rising edges of tb.dut.clk_i" in one for one in found.assumptions)
    assert any("not judged: ids" in one for one in found.assumptions)
    table = verdict(simulated(ROWS), tmp_path)
    assert any("whether it stays until ready answers it, is not shown" in one for one in table.assumptions)
    with pytest.raises(InputError, match="has 32 bits, on the bus of this engine it has 64"):
        traced([str(tmp_path / "p.toml")], file, ["data_width=64"], None)


@pytest.mark.parametrize("second", ["axi_w_data", "axi_w_data_o", "axi_wdata", "axi_W_data"])
def test_a_signal_that_may_be_one_of_two_is_refused(tmp_path: Path, second: str) -> None:
    file = waved(tmp_path / "t.vcd", more=[f"$var wire 32 Z {second} $end"], also={4: "b1 Z"})
    both = ", or ".join(f"tb.dut.{name}" for name in sorted(("axi_w_data", second)))
    with pytest.raises(InputError, match=f"w_data may be {both}"):
        read_trace(file)
    assert not wrong(waved(tmp_path / "t.vcd", more=[f"$var wire 32 w_data {second} $end"]))  # one and the same
    assert not wrong(waved(tmp_path / "t.vcd", more=["$var wire 32 Z axi_w_data_q $end"]))
    assert not wrong(waved(tmp_path / "t.vcd", more=["$var real 64 Z axi_wdata $end", "$var real 64 Y clk $end"]))


WAITS: tuple[Cycle, ...] = ({"ar": {**ASKS, "valid": 1, "addr": 0x1000}},)


@pytest.mark.parametrize(
    ("cycles", "says"),
    [
        ((*RIGHT[:2], {"aw": {**ASKS, "valid": 1, "addr": 0x2000}}, *RIGHT[2:]), ""),  # ready lets it wait
        ((*RIGHT[:2], {"aw": {**ASKS, "valid": 1, "addr": 0x2000}}, {}, *RIGHT[2:]), "AW beat 0: valid falls"),
        ((*RIGHT[:2], {"aw": {**ASKS, "valid": 1, "addr": 0x2004}}, *RIGHT[2:]), "AW beat 0: addr changes"),
        ((*RIGHT[:3], {"w": {**RIGHT[3]["w"], "ready": 0, "data": 0x12345679}}, *RIGHT[3:]), "W beat 0: data changes"),
        ((*RIGHT[:3], {"w": {**RIGHT[3]["w"], "ready": "x"}}, *RIGHT[3:]), "W beat 0: ready is undefined while"),
        ((*RIGHT[:3], {"w": {**RIGHT[3]["w"], "valid": "x"}}, *RIGHT[3:]), "W beat 0: valid is undefined"),
        ((*RIGHT[:3], {"w": {"valid": "x", "ready": 0}}, *RIGHT[3:]), ""),  # no handshake
        ((*RIGHT[:3], {"w": {"valid": 0, "ready": "x"}}, *RIGHT[3:]), ""),
        ((*WAITS, {}, *RIGHT), ""),  # before the first beat a reset may have ended it
        ((*RIGHT, {"aw": {**ASKS, "valid": 1}}, {}), "AW beat 1: valid falls"),
    ],
)
def test_valid_and_what_it_shows_stay_until_ready_answers(tmp_path: Path, cycles: tuple[Cycle, ...], says: str) -> None:
    found = wrong(waved(tmp_path / "t.vcd", cycles))
    assert found.startswith(says) if says else not found


def test_a_lane_without_a_strobe_may_change_and_a_reset_ends_what_waits(tmp_path: Path) -> None:
    requests = [Request(0x1000, 0x2000, 2)]
    half: Cycle = {"w": {**RIGHT[3]["w"], "strb": 3}}
    for data, says in ((0xFFFF5678, None), (0x12345677, "W beat 0: data changes before ready has answered valid")):
        stalled: Cycle = {"w": {**half["w"], "ready": 0, "data": data}}
        file = waved(tmp_path / "t.vcd", (*RIGHT[:3], stalled, half, RIGHT[4]))
        found = judged(BACKEND, requests, read_trace(file).beats).wrong
        assert (found.message if found else None) == says
    for name, level in (("rst_ni", 0), ("arst", 1), ("reset", 1), ("aresetn", 0)):
        reset = f"$var wire 1 R {name} $end"
        for at in (level, 1 - level):
            file = waved(tmp_path / "t.vcd", (*WAITS, {}, *RIGHT), more=[reset], also={0: f"{at}R", 2: f"{1 - level}R"})
            assert wrong(file) == ("" if at == level else "AR beat 0: valid falls before ready has answered it")


@pytest.mark.parametrize(
    ("early", "says"),
    [
        ((0, 1), "R beat 0 does not come after the read that asks for it"),
        ((3, 4), "B beat 0 does not come after the write that it answers"),
        ((2, 3), ""),  # data may come with its address
    ],
)
def test_an_answer_comes_at_a_later_edge_than_what_it_answers(
    tmp_path: Path, early: tuple[int, int], says: str
) -> None:
    first, second = early
    together = (*RIGHT[:first], RIGHT[first] | RIGHT[second], *RIGHT[second + 1 :])
    assert wrong(waved(tmp_path / "t.vcd", together)) == says
    swapped = (*RIGHT[:2], RIGHT[3], RIGHT[2], RIGHT[4])  # data before its address
    assert wrong(waved(tmp_path / "t.vcd", swapped)) == ""
    late = (*RIGHT[:2], RIGHT[3], RIGHT[2] | RIGHT[4])
    assert wrong(waved(tmp_path / "t.vcd", late)) == "B beat 0 does not come after the write that it answers"


def test_a_dump_that_was_off_in_between_is_refused(tmp_path: Path) -> None:
    gap = {2: "$dumpoff\nxtb.dut.clk_i\n$end", 3: "$dumpon\n0tb.dut.clk_i\n$end"}
    with pytest.raises(InputError, match=r"tb\.dut\.clk_i is undefined before time 35"):
        read_trace(waved(tmp_path / "t.vcd", also=gap))
    file = waved(tmp_path / "t.vcd", ({}, *RIGHT), also={0: "xtb.dut.clk_i"})
    assert not wrong(file)  # before the first edge
    Path(file).write_text(Path(file).read_text().replace("0tb.dut.clk_i", "ztb.dut.clk_i"))
    with pytest.raises(InputError, match=r"tb\.dut\.clk_i never rises"):
        read_trace(file)


@pytest.mark.parametrize(("width", "word", "fits"), [(32, 4, True), (64, 4, False), (32, 8, False), (64, None, True)])
def test_signals_are_as_wide_as_the_bus(tmp_path: Path, width: int, word: int | None, fits: bool) -> None:
    file = waved(tmp_path / "t.vcd", width=width)
    if fits:
        assert not wrong(file, word)
        more = wrong(waved(tmp_path / "t.vcd", but(3, "w", data=1 << 32 | 0x12345678), width=64))
        assert more == "W beat 0: data is wider than the bus of 32 bits"
        return
    with pytest.raises(InputError, match=r"(data|strb) has \d+ bits, on the bus of this engine it has \d+"):
        read_trace(file, word=word)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("x01", "byte 0 is undefined"), ("1x01", "byte 0 is undefined"), ("0x12345678", ""), ("305419896", ""),
        ("0b00010010001101000101011001111000", ""), ("0b" + "h" * 32, "byte 0 is 0xff"), ("0bu", "byte 0 is undefined"),
        ("0x112345678", "data is wider than the bus of 32 bits"), ("-1", "no number"), ("0o7", "no number"),
        ("1_0", "no number"), ("0x1g", "no number"), ("0b12", "no number"),
    ],
)  # fmt: skip
def test_numbers_of_a_table_are_read_digit_by_digit(tmp_path: Path, data: str, says: str) -> None:
    table = tmp_path / "t.csv"
    head = "time,channel,addr,len,size,burst,strb,last,data,resp\n"
    table.write_text(
        f"{head}0,ar,0x1000,0,2,1,,,,\n1,r,,,,,,1,0x12345678,0\n2,aw,0x2000,0,2,1,,,,\n3,w,,,,,0xf,1,{data},\n4,b,,,,,,,,0\n"
    )
    if says == "no number":
        with pytest.raises(InputError, match="no number"):
            read_trace(str(table))
        return
    found = wrong(str(table))
    assert found.startswith(f"W beat 0: {says}") if says else not found
    table.write_text(table.read_text().replace("addr,len", "addr,addr"))
    with pytest.raises(InputError, match="two columns addr"):
        read_trace(str(table))
