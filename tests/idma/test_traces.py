"""Traces of an AXI port against plans and jobs: right ones pass, each planted fault is the first wrong beat told."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import vcd

from dmaverify.cli.idma import traced
from dmaverify.errors import InputError
from dmaverify.machines.idma.bus.beats import Beat, read_beats
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
    seen = read_beats(str(dumped(beats, tmp_path / "t.vcd")))
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
    "early": (lambda beats: [beats[1], beats[0], *beats[2:]], "R beat 0 comes before the read"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_the_beat_that_is_told(fault: str, tmp_path: Path) -> None:
    requests = [Request(0x1003, 0x20001, 1100)]
    plant, says = FAULTS[fault]
    beats = [replace(b, time=n + 1) for n, b in enumerate(plant(simulated(requests)))]
    found = judged(BACKEND, requests, read_beats(str(dumped(beats, tmp_path / "t.vcd"))))
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
    flat = read_beats(str(dumped(beats, tmp_path / "flat.vcd")))
    assert read_beats(str(dumped(beats, tmp_path / "t.vcd", style=style))) == flat


def test_traces_that_cannot_be_judged_are_refused(tmp_path: Path) -> None:
    beats = simulated(ROWS)
    path = dumped(beats, tmp_path / "t.vcd", two=True)
    with pytest.raises(InputError, match="2 AXI ports"):
        read_beats(str(path))
    assert len(read_beats(f"{path}::tb.dut")) == len(beats)
    (tmp_path / "bad.vcd").write_bytes(b"\x00\xff garbage")
    (tmp_path / "bad.csv").write_text("time,channel\n1,q\n")
    for name in ("bad.vcd", "bad.csv", "none.vcd"):
        with pytest.raises(InputError):
            read_beats(str(tmp_path / name))
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
    found = judged(BACKEND, requests, read_beats(str(table)))
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
    assert [beat.cycle for beat in read_beats(str(table))] == [0, 1, 4]
