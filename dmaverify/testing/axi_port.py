"""An AXI port of a simulation recorded as the table that `check --trace` reads, for cocotb test benches.

Knows: names of the signals of a port, handshakes. Does not know: a simulator; what of it is needed is handed in.
Law: one line a handshake, in order of time; a field with bits that are not 0 or 1 is written as x, data bit by bit.

    port = AxiPort(dut, "axi_")
    cocotb.start_soon(port.watch(RisingEdge(dut.clk_i), lambda: get_sim_time("ns")))
    ...
    port.save("run.csv")        then    dmaverify check plan.toml --trace run.csv

Source: AMBA AXI, issue H.c, A3.2 (handshake), A2 (signals).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from itertools import product
from typing import Any

CHANNELS = ("ar", "r", "aw", "w", "b")
FIELDS = ("addr", "len", "size", "burst", "strb", "last", "data", "resp")


class AxiPort:
    """The handshakes of the port of `dut` whose signals are PREFIX + channel + "_" + name, or without the last "_",
    with or without "_i" or "_o" behind; or members of its structures, as in axi_req_o.ar.addr and axi_rsp_i.r_valid.
    """

    def __init__(self, dut: Any, prefix: str = "") -> None:
        self.lines: list[str] = []
        self._wires: dict[tuple[str, str], Any] = {}
        for channel in CHANNELS:
            for name in ("valid", "ready", *FIELDS):
                wires = (_member(dut, spelled) for spelled in _spellings(prefix, channel, name))
                found = next((wire for wire in wires if wire is not None), None)
                if found is not None:
                    self._wires[channel, name] = found
        missing = [f"{c}_{n}" for c in CHANNELS for n in ("valid", "ready") if (c, n) not in self._wires]
        if missing:
            raise ValueError(f"the port has no {', '.join(missing)}: give the prefix of its signals")

    def sample(self, time: int) -> None:
        """What the port shows at a rising edge, before the edge takes effect."""
        for channel in CHANNELS:
            if self._value(channel, "valid") == "1" and self._value(channel, "ready") == "1":
                cells = (self._value(channel, name) for name in FIELDS)
                self.lines.append(",".join((str(time), channel, *cells)))

    async def watch(self, edge: Awaitable[Any], now: Callable[[], float]) -> None:
        """Samples at every `edge`, a trigger that can be awaited again and again, for ever."""
        while True:
            await edge
            self.sample(int(now()))

    def save(self, path: str) -> None:
        """Writes the table."""
        header = ",".join(("time", "channel", *FIELDS))
        from dmaverify.language.files import write_text

        write_text(path, "\n".join((header, *self.lines)) + "\n")

    def _value(self, channel: str, name: str) -> str:
        wire = self._wires.get((channel, name))
        if wire is None:
            return ""
        try:
            return str(int(wire.value))
        except ValueError:
            bits = str(wire.value).lower() if name == "data" else ""
            return f"0b{bits}" if re.fullmatch("[01xz]+", bits) else "x"


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
