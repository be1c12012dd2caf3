"""Ports of a simulation by the names of their signals: one AXI port, and OBI ports for reads and writes.

Knows: how engines, and those who write test benches, spell the signals of a port. Does not know: values, beats.
Law: the port of each protocol that has all the handshakes that are asked for, or what there is in its place is told.

    ar_valid, ar_ready, ar_addr, ..., clk            AXI, flat; axi_req_o.ar_valid, axi_rsp_i.r.data in structures;
                                                     axi_read_* and axi_write_* are one port
    obi_req, obi_gnt, obi_addr, obi_rvalid, ...      OBI, flat; obi_write_req_o.a_req, obi_write_rsp_i.r_valid;
                                                     obi_read_* and obi_write_*, or one port of which `we` says which

Source: AMBA AXI, issue H.c, A2 (signals); OpenHW Open Bus Interface, version 1.6, 3 (signals).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from dmaverify.errors import InputError
from dmaverify.values import dataclass

AXI_CHANNELS = ("ar", "r", "aw", "w", "b")
OBI_CHANNELS = ("a_read", "r_read", "a_write", "r_write")
CHANNELS = (*AXI_CHANNELS, *OBI_CHANNELS)
FIELDS = ("addr", "len", "size", "burst", "strb", "last", "data", "resp", "we")
_SIGNAL = re.compile(rf"(?:^|(?<=[_.]))(ar|aw|r|w|b)[_.]?(valid|ready|{'|'.join(FIELDS)})(?:_[io])?$")
_OBI = re.compile(
    r"(?:^|(?<=[_.]))(?:(?:a[_.]?)?(req|gnt|addr|we|be|wdata)|r[_.]?r?(valid|ready|data)|(?:r[_.]?)?(err))(?:_[io])?$"
)
_OBI_FIELDS = {"req": "valid", "gnt": "ready", "be": "strb", "wdata": "data", "err": "resp"}
_OBI_NEEDS = frozenset({("a", "valid"), ("a", "ready"), ("r", "valid")})
_STRUCTURE = re.compile(r"_?(?:req|resp|rsp)(?:_[io])?[._]$")
_CLOCK = re.compile(r"(?:^|[_.])(?:a?clk|clock)(?:_?i)?$")

Signals = dict[tuple[str, str], str]
"""Codes of signals by (channel, name)."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The signals of a trace: of AXI, of OBI ports by their direction (`read`, `write`, or `both`), and the clock."""

    axi: Signals
    obi: Mapping[str, Signals]
    clock: str


def ports_of(
    file: str, names: Mapping[str, list[str]], scope: str, channels: Collection[str], narrow: Collection[str]
) -> Ports:
    """The ports of a dump that have `channels`; `narrow` are codes of signals of one bit. Raises InputError where there
    is none, or more than one.
    """
    axi: dict[str, Signals] = {}
    obi: dict[str, Signals] = {}
    clocks: dict[str, str] = {}
    for code, own in names.items():
        for name in own:
            low = name.lower()
            if _CLOCK.search(low):
                clocks[name] = code
            if (found := _SIGNAL.search(low)) is not None:
                axi.setdefault(_STRUCTURE.sub("_", name[: found.start()]), {})[(found[1], found[2])] = code
            if (found := _OBI.search(low)) is not None and (code in narrow or found[1] != "req"):  # else a structure
                key = ("a", found[1]) if found[1] else ("r", found[2] or found[3])
                prefix = _STRUCTURE.sub("_", name[: found.start()])
                obi.setdefault(prefix, {})[key[0], _OBI_FIELDS.get(key[1], key[1])] = code
    if not clocks:
        raise InputError(f"{file} has no clock", None, "a signal clk, clk_i or aclk")
    needed = {(channel, wire) for channel in channels if channel in AXI_CHANNELS for wire in ("valid", "ready")}
    prefix, own_axi = _axi(file, axi, scope, needed) if needed else ("", dict[tuple[str, str], str]())
    own_obi: dict[str, Signals] = {}
    for way in [way for way in ("read", "write") if f"a_{way}" in channels]:
        prefix, port, whole = _obi(file, obi, scope, way)
        own_obi["both" if whole else way] = port
    near = max(sorted(clocks), key=lambda name: _shared(name, prefix))
    return Ports(own_axi, own_obi, clocks[near])


def _axi(
    file: str, ports: Mapping[str, Signals], scope: str, needed: Collection[tuple[str, str]]
) -> tuple[str, Signals]:  # fmt: skip
    every = {prefix: port for prefix, port in ports.items() if set(needed) <= set(port)}
    whole = {prefix: port for prefix, port in _joined(every).items() if prefix.startswith(scope)}
    whole = whole or {prefix: port for prefix, port in every.items() if prefix.startswith(scope)}
    count = "all five" if len(needed) == 2 * len(AXI_CHANNELS) else ", ".join(sorted({one for one, _ in needed}))
    return _one(file, whole, f"AXI ports with {count} handshakes",
                "signals such as axi_ar_valid, axi_ar_ready, axi_ar_addr")  # fmt: skip


def _obi(file: str, ports: Mapping[str, Signals], scope: str, way: str) -> tuple[str, Signals, bool]:
    """The OBI port of a direction, and whether it is one for both."""
    every = {prefix: port for prefix, port in ports.items() if set(port) >= _OBI_NEEDS and prefix.startswith(scope)}
    own = {prefix: port for prefix, port in every.items() if prefix.rstrip("._").lower().endswith(way)}
    other = "write" if way == "read" else "read"
    shared = {
        p: port for p, port in every.items() if not p.rstrip("._").lower().endswith(other) and ("a", "we") in port
    }
    prefix, found = _one(file, own or shared, f"OBI ports to {way} with request, grant and response",
                         f"signals such as obi_{way}_req, obi_{way}_gnt, obi_{way}_rvalid")  # fmt: skip
    return prefix, found, not own


def _one(file: str, found: Mapping[str, Signals], what: str, such: str) -> tuple[str, Signals]:
    distinct = {tuple(sorted(port.items())): prefix for prefix, port in found.items()}
    if len(distinct) != 1:
        seen = ", ".join(f"{file}::{prefix}" for prefix in sorted(distinct.values())) or "none"
        raise InputError(f"{file} has {len(distinct)} {what}", None, f"{such}; name one: {seen}")
    prefix = next(iter(distinct.values()))
    return prefix, found[prefix]


def _joined(ports: Mapping[str, Signals]) -> dict[str, Signals]:
    """Ports, where one for reads and one for writes are one: each of them shows the channels of the other, unused."""
    out = dict(ports)
    for prefix in ports:
        other = prefix[: -len("read_")] + "write_"
        if prefix.endswith("read_") and other in ports:
            own = {key: code for key, code in out.pop(prefix).items() if key[0] in ("ar", "r")}
            out[prefix[: -len("read_")]] = own | {k: c for k, c in out.pop(other).items() if k[0] in ("aw", "w", "b")}
    return out


def _shared(name: str, prefix: str) -> int:
    """Scopes that two names have in common."""
    pairs = zip(name.split(".")[:-1], prefix.split("."), strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), 99)
