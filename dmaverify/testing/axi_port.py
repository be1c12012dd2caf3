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
from collections.abc import Awaitable, Callable
from typing import Any

CHANNELS = ("ar", "r", "aw", "w", "b")
FIELDS = ("addr", "len", "size", "burst", "strb", "last", "data", "resp")


class AxiPort:
    """The handshakes of the port of `dut` whose signals are PREFIX + channel + "_" + name, or without the last "_"."""

    def __init__(self, dut: Any, prefix: str = "") -> None:
        self.lines: list[str] = []
        self._wires: dict[tuple[str, str], Any] = {}
        for channel in CHANNELS:
            for name in ("valid", "ready", *FIELDS):
                spelled = (f"{prefix}{channel}_{name}", f"{prefix}{channel}{name}")
                found = next((one for one in spelled if hasattr(dut, one)), "")
                if found:
                    self._wires[channel, name] = getattr(dut, found)
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
