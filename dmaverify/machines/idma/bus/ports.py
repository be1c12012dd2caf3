"""Ports of a simulation by the names of their signals: one AXI port, and OBI ports for reads and writes.

Knows: how engines, and those who write test benches, spell the signals of a port. Does not know: values, beats.
Law: the port of each protocol that has all the handshakes that are asked for, each signal of it once and of the bus's
width, and the one clock that is nearest to it; where there are several, these are told, and nothing is chosen.

    ar_valid, ar_ready, ar_addr, ..., clk            AXI, flat; axi_req_o.ar_valid, axi_rsp_i.r.data in structures;
                                                     axi_read_* and axi_write_* are one port
    obi_req, obi_gnt, obi_addr, obi_rvalid, ...      OBI, flat; obi_write_req_o.a_req, obi_write_rsp_i.r_valid;
                                                     obi_read_* and obi_write_*, or one port of which `we` says which

Source: AMBA AXI, issue H.c, A2 (signals); OpenHW Open Bus Interface, version 1.6, 3 (signals).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from dmaverify.errors import InputError
from dmaverify.values import dataclass, field

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
_RESET = re.compile(r"(?:^|[_.])a?(?:rst|reset)(_?n)?(?:_?i)?$")

Signals = dict[tuple[str, str], str]
"""Codes of signals by (channel, name)."""
Named = tuple[str, str]
"""The name of a signal, and its code."""
Placed = dict[str, dict[tuple[str, str], dict[str, str]]]
"""By the prefix of a port and what a signal is there, all signals that it may be: names by codes."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The signals of a trace: of AXI, of OBI ports by their direction (`read`, `write`, or `both`), the clock and its
    name, the reset (empty where none, or more than one, is near) and its level outside of a reset.
    """

    axi: Signals
    obi: Mapping[str, Signals]
    clock: str
    clock_name: str
    reset: str = ""
    running: int = 1
    reset_name: str = ""


def ports_of(
    file: str, names: Mapping[str, list[str]], scope: str, channels: Collection[str], widths: Mapping[str, int],
    word: int | None,
) -> Ports:  # fmt: skip
    """The ports of a dump that have `channels`, of a bus of `word` bytes; `widths` are bits of signals by code, `scope`
    is PREFIX, or PREFIX@CLOCK; of several ports PREFIX,PREFIX. A port's whole prefix goes before others that begin with
    it, and a scope is all that lies in it. Raises InputError where there is none, or more than one.
    """
    scope, _, asked = scope.partition("@")
    said = _Said(file, [one.strip() for one in scope.split(",") if one.strip()])
    placed = _placed(names, widths)
    axi, obi = ({prefix: {key: min(own) for key, own in port.items()} for prefix, port in kind.items()}
                for kind in placed)  # fmt: skip
    needed = {(channel, wire) for channel in channels if channel in AXI_CHANNELS for wire in ("valid", "ready")}
    ways = [way for way in ("read", "write") if f"a_{way}" in channels]
    said.know((*axi, *_joined(axi)) if needed else (), obi if ways else ())
    prefixes, own_axi = _axi(said, axi, needed) if needed else ([], {})
    own_obi: dict[str, Signals] = {}
    around = list(prefixes)
    _check(file, own_axi, placed[0], prefixes, widths, word)
    for way in ways:
        prefixes, port, whole = _obi(said, obi, way)
        around += prefixes
        own_obi["both" if whole else way] = port
        _check(file, port, placed[1], prefixes, widths, word)
    said.all_used()
    bits = [(name, code) for code, own in names.items() for name in own if widths[code] == 1]
    clock_name, clock = _clock(file, bits, around, asked)
    near = _nearest([one for one in bits if _RESET.search(one[0].lower())], around)
    if len({code for _, code in near}) != 1:
        return Ports(own_axi, own_obi, clock, clock_name)
    found = _RESET.search(near[0][0].lower())
    running = int(found is not None and found[1] is not None)
    return Ports(own_axi, own_obi, clock, clock_name, near[0][1], running, near[0][0])


def _placed(names: Mapping[str, list[str]], widths: Mapping[str, int]) -> tuple[Placed, Placed]:
    """The signals that may be those of AXI ports and of OBI ports."""
    axi: Placed = {}
    obi: Placed = {}
    for code, name in ((code, name) for code, own in names.items() for name in own):
        for ports, found in ((axi, _SIGNAL.search(name.lower())), (obi, _OBI.search(name.lower()))):
            if found is None:
                continue
            key = found[1], found[2]
            if ports is obi:
                channel, wire = ("a", found[1]) if found[1] else ("r", found[2] or found[3])
                key = channel, _OBI_FIELDS.get(wire, wire)
            if key[1] not in ("valid", "ready") or widths[code] == 1:  # else a structure, or several handshakes in one
                prefix = _STRUCTURE.sub("_", name[: found.start()])
                ports.setdefault(prefix, {}).setdefault(key, {})[code] = name
    return axi, obi


def _check(
    file: str, port: Signals, placed: Placed, prefixes: Sequence[str], widths: Mapping[str, int], word: int | None
) -> None:
    """Raises InputError for a signal of a port that may be another one, or is not as wide as the bus."""
    bare = set(prefixes)
    for key, code in port.items():
        wire = "_".join(key)
        for prefix, own in placed.items():
            rivals = own.get(key, {}) if re.sub(r"(read|write)_$", "", prefix) in bare or prefix in bare else {}
            if code in rivals and len(rivals) > 1:
                said = f"{file}: {wire} may be {', or '.join(sorted(rivals.values()))}"
                raise InputError(said, None, "dump one of them alone")
        wide = {"data": 8 * (word or 0), "strb": word}.get(key[1])
        if wide and widths[code] != wide:
            said = f"{file}: {wire} has {widths[code]} bits, on the bus of this engine it has {wide}"
            raise InputError(said, None, "name the engine that was simulated: --engine data_width=BITS")


def _clock(file: str, bits: Sequence[Named], prefixes: Sequence[str], asked: str) -> Named:
    """The one clock that is asked for, or nearest to the ports. Raises InputError."""
    such = f"name it: {file}::PREFIX@CLOCK"
    if asked:
        near = [one for one in bits if one[0] == asked]
        if not near:
            raise InputError(f"{file} has no signal {asked} of one bit", None, f"by its full name, {such}")
        if len({code for _, code in near}) != 1:
            raise InputError(f"{file} has {len(near)} signals {asked}", None, "dump one of them alone")
    else:
        clocks = [one for one in bits if _CLOCK.search(one[0].lower())]
        if not clocks:
            raise InputError(f"{file} has no clock", None, f"a signal clk, clk_i or aclk, or {such}")
        near = _nearest(clocks, prefixes)
    if len({code for _, code in near}) != 1:
        named = ", ".join(f"{file}::{prefixes[0]}@{name}" for name, _ in sorted(near))
        raise InputError(f"{file} has {len(near)} clocks that are equally near to the port", None, f"name one: {named}")
    return min(near)


def _nearest(signals: Sequence[Named], prefixes: Sequence[str]) -> list[Named]:
    """Those in the innermost scope around each port that has some; all, where no scope around it has one."""
    out: list[Named] = []
    for prefix in prefixes:
        scope = prefix.lower().split(".")[:-1]
        depth = {name: name.lower().split(".")[:-1] for name, _ in signals}
        around = [one for one in signals if depth[one[0]] == scope[: len(depth[one[0]])]]
        most = max((len(depth[name]) for name, _ in around), default=0)
        out += [one for one in around if len(depth[one[0]]) == most] or signals
    return list(dict.fromkeys(out))


@dataclass(slots=True)
class _Said:
    """The names that a path gives ports by: whole prefixes, or scopes that hold them."""

    file: str
    names: Sequence[str]
    whole: frozenset[str] = frozenset()
    """Those that are the prefix of some port."""
    used: set[str] = field(default_factory=set)

    def know(self, *kinds: Collection[str]) -> None:
        """Sorts names by the prefixes that there are, of all kinds. Raises InputError for one that names nothing."""
        every = [prefix for kind in kinds for prefix in kind]
        self.whole = frozenset(name for name in self.names if any(_bare(name) == _bare(prefix) for prefix in every))
        for name in self.names:
            if name not in self.whole and not any(_holds(name, prefix) for prefix in every):
                there = ", ".join(f"{self.file}::{prefix}" for prefix in sorted(set(every))) or "none"
                raise InputError(f"{self.file} has no port, and no scope with one, {name}", None, f"there are: {there}")

    def chosen(self, *groups: Mapping[str, Signals]) -> Mapping[str, Signals]:
        """The ports that names allow, of the first group that has some: a port by its whole name before all, then
        those in the scopes that are named, where there are such.
        """
        bare = {_bare(name) for name in self.whole}
        scopes = [name for name in self.names if name not in self.whole]
        by_name = [{p: port for p, port in group.items() if _bare(p) in bare} for group in groups]
        by_scope = [{p: port for p, port in group.items() if not scopes or any(_holds(one, p) for one in scopes)}
                    for group in groups]  # fmt: skip
        found = next((group for group in (*by_name, *by_scope) if group), {})
        self.used |= {name for name in self.names for p in found if _bare(name) == _bare(p) or _holds(name, p)}
        return found

    def all_used(self) -> None:
        """Raises InputError where a name had no part in what was chosen."""
        for name in self.names:
            if name not in self.used:
                said = f"{self.file}::{name} is no port that these transfers use"
                raise InputError(said, None, "a port with all the handshakes of their channels, or leave it out")


def _bare(prefix: str) -> str:
    return prefix.rstrip("._")


def _holds(scope: str, prefix: str) -> bool:
    return prefix.startswith(scope.rstrip(".") + ".")


def _axi(said: _Said, ports: Mapping[str, Signals], needed: Collection[tuple[str, str]]) -> tuple[list[str], Signals]:
    every = {prefix: port for prefix, port in ports.items() if set(needed) <= set(port)}
    whole = said.chosen(_joined(every), every)
    count = "all five" if len(needed) == 2 * len(AXI_CHANNELS) else ", ".join(sorted({one for one, _ in needed}))
    return _one(said.file, whole, f"AXI ports with {count} handshakes",
                "signals such as axi_ar_valid, axi_ar_ready, axi_ar_addr")  # fmt: skip


def _obi(said: _Said, ports: Mapping[str, Signals], way: str) -> tuple[list[str], Signals, bool]:
    """The OBI port of a direction, and whether it is one for both."""
    every = {prefix: port for prefix, port in ports.items() if set(port) >= _OBI_NEEDS}
    own = {prefix: port for prefix, port in every.items() if _bare(prefix).lower().endswith(way)}
    other = "write" if way == "read" else "read"
    shared = {p: port for p, port in every.items() if not _bare(p).lower().endswith(other) and ("a", "we") in port}
    chosen = said.chosen(own, {p: port for p, port in shared.items() if p not in own})
    prefixes, found = _one(said.file, chosen, f"OBI ports to {way} with request, grant and response",
                         f"signals such as obi_{way}_req, obi_{way}_gnt, obi_{way}_rvalid")  # fmt: skip
    return prefixes, found, not any(prefix in own for prefix in prefixes)


def _one(file: str, found: Mapping[str, Signals], what: str, such: str) -> tuple[list[str], Signals]:
    """The one port, and all prefixes that its signals have."""
    distinct = {tuple(sorted(port.items())): prefix for prefix, port in found.items()}
    if len(distinct) != 1:
        seen = ", ".join(f"{file}::{prefix}" for prefix in sorted(distinct.values())) or "none"
        raise InputError(f"{file} has {len(distinct)} {what}", None,
                         f"{such}; name one (of each kind, with a comma between): {seen}")  # fmt: skip
    return sorted(found), next(iter(found.values()))


def _joined(ports: Mapping[str, Signals]) -> dict[str, Signals]:
    """Ports, where one for reads and one for writes are one: each of them shows the channels of the other, unused."""
    out = dict(ports)
    for prefix in ports:
        other = prefix[: -len("read_")] + "write_"
        if prefix.endswith("read_") and other in ports:
            own = {key: code for key, code in out.pop(prefix).items() if key[0] in ("ar", "r")}
            out[prefix[: -len("read_")]] = own | {k: c for k, c in out.pop(other).items() if k[0] in ("aw", "w", "b")}
    return out
