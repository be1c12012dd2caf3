"""Dumps of a simulated engine: tests/idma/rtl/copy.v, run by Icarus Verilog, with bus faults planted in it."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from dmaverify.cli.bus_trace import traced
from dmaverify.errors import InputError
from dmaverify.machines.idma.bus.beats import read_trace
from dmaverify.testing.axi_port import FIELDS, AxiPort
from dmaverify.verdict import Status

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data"
PLAN = """
schema = 1
target = "idma"
[axes]
A = 48
[transfer.copy]
dtype = "i8"
source = { tier = "mem", base = 4080, element = "A" }
dest = { tier = "mem", base = 8192, element = "A" }
read = "[A=48:1]:48 @4080"
write = "[A=48:1]:48 @8192"
"""


def _plan(tmp_path: Path) -> str:
    file = tmp_path / "copy.toml"
    file.write_text(PLAN, encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (0, ""),
        (1, "AW beat 1: addr is 0x2014, must be 0x2010"),
        (2, "W beat 6: strb is 0xb, must be 0xf"),
        (3, "W beat 9: byte 0 is 0x15, read as 0x14"),
    ],
)
def test_a_simulated_engine_is_judged_beat_by_beat(tmp_path: Path, fault: int, says: str) -> None:
    dump = DATA / f"idma_copy_fault{fault}.vcd"
    verdict = traced([_plan(tmp_path)], str(dump), None, None)
    assert verdict.status is (Status.REFUTED if says else Status.PROVED)
    assert [finding.message for finding in verdict.errors] == ([says] if says else [])
    assert any(
        "cycles from the first address to the last answer; the law has" in a for a in verdict.assumptions
    ) != bool(says)
    simulator = shutil.which("iverilog")
    if simulator is not None:  # where there is one, the dumps are what it makes
        program, again = tmp_path / "copy.vvp", tmp_path / "again.vcd"
        subprocess.run([simulator, "-g2005", "-o", str(program), str(HERE / "rtl" / "copy.v")], check=True)
        subprocess.run(["vvp", str(program), f"+fault={fault}", f"+dump={again}"], check=True, capture_output=True)
        assert read_trace(str(again)).beats == read_trace(str(dump)).beats
        packed = tmp_path / "again.fst"
        more = [str(program), "-fst", f"+fault={fault}", f"+dump={packed}"]
        subprocess.run(["vvp", *more], check=True, capture_output=True)
        assert read_trace(str(packed)).beats == read_trace(str(dump)).beats
        for number in range(0, 1000, 97):  # damaged anywhere, it is refused or has other beats: no traceback
            data = bytearray(packed.read_bytes())
            data[number % len(data)] ^= 0x5A
            packed.with_name("bad.fst").write_bytes(data[: len(data) - number // 2])
            with contextlib.suppress(InputError):
                read_trace(str(packed.with_name("bad.fst")))


def in_structures(wires: dict[tuple[str, str], SimpleNamespace]) -> SimpleNamespace:
    """The wires as an engine hands them out: requests in one structure, responses in another, channels in both."""
    sides = {"axi_req_o": SimpleNamespace(), "axi_rsp_i": SimpleNamespace()}
    for (channel, name), wire in wires.items():
        asked = (channel in ("ar", "aw", "w")) != (name == "ready")
        side = sides["axi_req_o" if asked else "axi_rsp_i"]
        if name in ("valid", "ready"):
            setattr(side, f"{channel}_{name}", wire)
        else:
            setattr(side, channel, getattr(side, channel, SimpleNamespace()))
            setattr(getattr(side, channel), name, wire)
    return SimpleNamespace(**sides)


PORTS: dict[str, Callable[[dict[tuple[str, str], SimpleNamespace]], SimpleNamespace]] = {
    "axi_ar_valid": lambda wires: SimpleNamespace(**{f"axi_{c}_{n}": wire for (c, n), wire in wires.items()}),
    "axi_ar_valid_o": lambda wires: SimpleNamespace(
        **{
            f"axi_{c}_{n}_{'o' if (c in ('ar', 'aw', 'w')) != (n == 'ready') else 'i'}": w
            for (c, n), w in wires.items()
        }
    ),
    "axi_arvalid": lambda wires: SimpleNamespace(**{f"axi_{c}{n}": wire for (c, n), wire in wires.items()}),
    "axi_req_o.ar_valid": in_structures,
}


@pytest.mark.parametrize("spelled", PORTS)
def test_a_recorded_port_is_the_trace_of_its_dump(spelled: str, tmp_path: Path) -> None:
    beats = read_trace(str(DATA / "idma_copy_fault0.vcd")).beats
    names = [(c, n) for c in ("ar", "r", "aw", "w", "b") for n in ("valid", "ready", *FIELDS)]
    wires = {name: SimpleNamespace(value=0) for name in names}
    port = AxiPort(PORTS[spelled](wires), "axi_")
    for beat in beats:
        for wire in wires.values():
            wire.value = 0
        for name, value in {"valid": 1, "ready": 1, **beat.fields}.items():
            wires[beat.channel, name].value = "x" if value is None else value
        port.sample(beat.time)
    port.save(str(tmp_path / "run.csv"))
    assert traced([_plan(tmp_path)], str(tmp_path / "run.csv"), None, None).status is Status.PROVED
    with pytest.raises(ValueError, match="the port has no ar_valid"):
        AxiPort(PORTS[spelled](wires), "other_")
