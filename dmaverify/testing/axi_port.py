"""AXI and OBI ports of a simulation recorded as the table that `check --trace` reads, for cocotb test benches.

Knows: names of the signals of a port, handshakes. Does not know: a simulator; what of it is needed is handed in.
Law: one line a handshake, in order of time; a field with bits that are not 0 or 1 is written as x, data bit by bit.

    port = AxiPort(dut, "axi_")
    cocotb.start_soon(port.watch(RisingEdge(dut.clk_i), lambda: get_sim_time("ns")))
    ...
    port.save("run.csv")        then    dmaverify check plan.toml --trace run.csv

An engine that reads AXI and writes OBI has two: `reads = AxiPort(dut, "axi_", ("ar", "r"))` and
`writes = ObiPort(dut, "obi_write_", "write")`, both watched; `reads.save("run.csv", writes)` puts them in one table.

Source: AMBA AXI, issue H.c, A3.2 (handshake), A2 (signals); OpenHW Open Bus Interface, version 1.6, 3 and 4.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

CHANNELS = ("ar", "r", "aw", "w", "b")
FIELDS = ("addr", "len", "size", "burst", "strb", "last", "data", "resp", "we")
_OBI: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "a": {"valid": ("req",), "ready": ("gnt",), "addr": ("addr",), "we": ("we",), "strb": ("be",), "data": ("wdata",)},
    "r": {"valid": ("rvalid", "valid"), "ready": ("rready", "ready"), "data": ("rdata", "data"), "resp": ("err",)},
}
"""Signals of an OBI port by the names that a table has."""


class AxiPort:
    """The handshakes of the port of `dut` whose signals are PREFIX + channel + "_" + name, or without the last "_",
    with or without "_i" or "_o" behind; or members of its structures, as in axi_req_o.ar.addr and axi_rsp_i.r_valid.
    """

    def __init__(self, dut: Any, prefix: str = "", channels: Sequence[str] = CHANNELS) -> None:
        wires = {(c, n): list(_spellings(prefix, c, n)) for c in channels for n in ("valid", "ready", *FIELDS)}
        needed = [(c, n) for c in channels for n in ("valid", "ready")]
        self._found(dut, wires, needed)

    def _found(
        self, dut: Any, wires: Mapping[tuple[str, str], Sequence[str]], needed: Sequence[tuple[str, str]]
    ) -> None:  # fmt: skip
        self.lines: list[str] = []
        self._wires: dict[tuple[str, str], Any] = {}
        for key, spelled in wires.items():
            own = {name: wire for name in spelled if (wire := _member(dut, name)) is not None}
            if any(wire is not found for wire in own.values() for found in own.values()):
                raise ValueError(f"{'_'.join(key)} may be {', or '.join(own)}: give a prefix that only one of them has")
            self._wires.update((key, wire) for wire in own.values())
        missing = [f"{c}_{n}" for c, n in needed if (c, n) not in self._wires]
        if missing:
            raise ValueError(f"the port has no {', '.join(missing)}: give the prefix of its signals")

    def sample(self, time: int) -> None:
        """What the port shows at a rising edge, before the edge takes effect."""
        for channel in dict.fromkeys(channel for channel, _ in self._wires):
            ready = (channel, "ready") not in self._wires or self._value(channel, "ready") == "1"
            if self._value(channel, "valid") == "1" and ready:
                cells = (self._value(channel, name) for name in FIELDS)
                self.lines.append(",".join((str(time), channel, *cells)))

    async def watch(self, edge: Awaitable[Any], now: Callable[[], float]) -> None:
        """Samples at every `edge`, a trigger that can be awaited again and again, for ever. Raises ValueError where two
        edges have one time.
        """
        before = -1
        while True:
            await edge
            time = int(now())
            if time <= before:
                raise ValueError(f"two edges at time {time}: say `now` in finer steps")
            before = time
            self.sample(time)

    def save(self, path: str, *others: AxiPort) -> None:
        """Writes the table, with what other ports recorded."""
        header = ",".join(("time", "channel", *FIELDS))
        from dmaverify.language.files import write_text

        lines = sorted(
            (line for port in (self, *others) for line in port.lines), key=lambda one: int(one.split(",")[0])
        )
        write_text(path, "\n".join((header, *lines)) + "\n")

    def _value(self, channel: str, name: str) -> str:
        wire = self._wires.get((channel, name))
        if wire is None:
            return ""
        try:
            return str(int(wire.value))
        except ValueError:
            bits = str(wire.value).lower() if name == "data" else ""
            return f"0b{bits}" if re.fullmatch("[01xz]+", bits) else "x"


class ObiPort(AxiPort):
    """The handshakes of an OBI port that reads or writes (`way`): signals PREFIX + "req", "gnt", "addr", "we", "be",
    "wdata", "rvalid", "rready", "rdata", "err", or those of v0.7.0, as in obi_write_req_a_addr_o and
    obi_write_rsp_r_valid_i; or members of structures. A port without `rready` takes every response.
    """

    def __init__(self, dut: Any, prefix: str = "", way: str = "write") -> None:
        wires = {
            (f"{channel}_{way}", name): [spelled for own in names for spelled in _obi_spellings(prefix, channel, own)]
            for channel, fields in _OBI.items() for name, names in fields.items()
        }  # fmt: skip
        self._found(dut, wires, [(f"a_{way}", "valid"), (f"a_{way}", "ready"), (f"r_{way}", "valid")])


def _obi_spellings(prefix: str, channel: str, name: str) -> Iterator[str]:
    bare = name.removeprefix("r") if channel == "r" and name != "rready" else name
    for end in ("", "_i", "_o"):
        yield f"{prefix}{name}{end}"
    for structure, end in product(("req", "rsp", "resp"), ("", "_i", "_o")):
        for own in (name, bare):
            yield f"{prefix}{structure}_{channel}_{own}{end}"
            yield from (
                f"{prefix}{structure}{end}.{dotted}" for dotted in (own, f"{channel}.{own}", f"{channel}_{own}")
            )


def _spellings(prefix: str, channel: str, name: str) -> Iterator[str]:
    """The names that a signal may have, dots between structure and member."""
    for end, wire in product(("", "_i", "_o"), (f"{prefix}{channel}_{name}", f"{prefix}{channel}{name}")):
        yield wire + end
    for structure, end in product(("req", "rsp", "resp"), ("_o", "_i", "")):
        yield from (f"{prefix}{structure}{end}.{channel}{dot}{name}" for dot in "_.")


def _member(dut: Any, path: str) -> Any:
    """The signal at a path; None where there is none."""
    for name in path.split("."):
        dut = getattr(dut, name, None)
    return dut
