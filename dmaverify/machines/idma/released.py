"""What a release of the RTL is known to do otherwise than its specification, held against one descriptor.

Knows: the known defects that the machine's data names, what shows each of them. Does not know: rules, how it is told.
Law: a defect is told only with what shows it: bursts, pieces or words of this very descriptor, on the release that
the options name.

Source: `encodings/idma/target.toml`, `[machine.defect]`, each with its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice

from dmaverify.machines.idma.engine import TILELINK, Request
from dmaverify.machines.idma.legalizer import legalize, shown_bursts
from dmaverify.machines.idma.midends import StripedRegion, mp_split
from dmaverify.machines.idma.nd import Descriptor, requests
from dmaverify.machines.idma.setup import Setup
from dmaverify.machines.idma.wire import on_the_wire
from dmaverify.targets.modules import Derived
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace

MOST_LOOKED = 4096
"""1D transfers of a descriptor that are looked at for what shows a defect; that there are more is told."""


@dataclass(frozen=True, slots=True)
class ReleaseCase:
    """A descriptor on an engine, with the words of its form that matter."""

    setup: Setup
    descriptor: Descriptor
    flags: int | None = None  # of a descriptor in memory
    periodic: bool = False

    @property
    def looked(self) -> int:
        """1D transfers that are looked at: more where a release is named, as what it does is part of the verdict."""
        return MOST_LOOKED << 4 if self.setup.version_given else MOST_LOOKED

    def first(self) -> Iterator[Request]:
        return islice(requests(self.descriptor, self.setup.backend.address_width), self.looked)

    def pieces(self) -> Iterator[Request]:
        """What mp_split makes of the first 1D transfers."""
        for request in self.first():
            yield from mp_split(request, self.row) if "mp_split" in self.setup.midends else (request,)

    @property
    def row(self) -> StripedRegion:
        """Where mp_split cuts: at the row of all back-ends' strips where mp_dist is behind it, else at one strip."""
        assert self.setup.region is not None
        shared = self.setup.backends if "mp_dist" in self.setup.midends else 1
        return replace(self.setup.region, width=self.setup.region.width * shared)


def _tilelink_sides(case: ReleaseCase) -> Iterator[tuple[str, Request]]:
    if TILELINK not in (case.setup.request.src_protocol, case.setup.request.dst_protocol) or not (
        case.setup.backend.legalizer
    ):
        return
    for request in case.first():
        for side, protocol in (("read", request.src_protocol), ("write", request.dst_protocol)):
            if protocol == TILELINK:
                yield side, request


def _tilelink_bursts(case: ReleaseCase) -> Iterator[tuple[str, int, int, int]]:
    """(side, address, bytes, bytes left) of bursts that stand for all."""
    for side, request in _tilelink_sides(case):
        base = request.src if side == "read" else request.dst
        for _, done, count in shown_bursts(case.setup.backend, request, side) if request.length else ():
            yield side, (base + done) % case.setup.space, count, request.length - done


def _misaligned(case: ReleaseCase) -> str:
    for side, address, count, _ in _tilelink_bursts(case):
        if count and address % count:
            return f"{side} burst of {count} B at 0x{address:x}, no multiple of {count}"
    return ""


def _stuck(case: ReleaseCase) -> str:
    for side, address, count, left in _tilelink_bursts(case):
        if count == 0:
            return f"{side} stands still at 0x{address:x}, {left:,} B left"
    return ""


def _size_zero(case: ReleaseCase) -> str:
    for side, address, count, _ in _tilelink_bursts(case):
        sent = on_the_wire(case.setup.backend, TILELINK, address, count, write=side == "write")
        if count > 1 and sent.field == 0:
            return f"{side} burst of {count} B at 0x{address:x} has size field 0"
    return ""


def _split(case: ReleaseCase) -> str:
    if "mp_split" not in case.setup.midends or case.setup.region is None:
        return ""
    for request in case.first():
        parts = mp_split(request, case.row)
        if len(parts) > 1:
            said = f"{request.length:,} B from 0x{request.src:x} in {len(parts)} pieces"
            return f"{said}; a stall at the first is taken for its acceptance"
    return ""


def _silent(case: ReleaseCase) -> str:
    return "no response" if "mp_split" in case.setup.midends and case.setup.region is not None else ""


def _partner(case: ReleaseCase) -> str:
    region = case.setup.region
    if "mp_dist" not in case.setup.midends or region is None:
        return ""
    for request in case.pieces():
        side, key = region.key(request)
        row = key % (region.width * case.setup.backends)
        if row >= region.width and row % region.width + request.length > region.width:
            partner = "dst" if side == "src" else "src"
            strip = row // region.width + 1
            right = getattr(request, partner) + strip * region.width - row
            return f"{partner} of back-end {strip} is 0x{right + row - row % region.width:x}, not 0x{right:x}"
    return ""


def _ignored(case: ReleaseCase) -> str:
    dims = case.descriptor.dims
    alike = len(dims) > 1 and dims[1] == dims[0]
    if not case.periodic or not dims or alike or (len(dims) == 1 and dims[0].reps < 2):
        return ""
    said = "becomes" if len(dims) > 1 else "is none, and becomes"
    return f"the outer dimension {said} {dims[0].reps}, {dims[0].src_stride}, {dims[0].dst_stride} as the inner one"


def _fixed(case: ReleaseCase) -> str:
    word = case.setup.backend.word
    for request in case.first() if case.periodic else ():
        for side in ("read", "write"):
            for address, count in legalize(case.setup.backend, request).pairs(side):
                if address % word + count > word:
                    return f"{side} burst of {count} B at 0x{address:x} stays at one word"
    return ""


def _undriven(case: ReleaseCase) -> str:
    return "" if case.setup.backend.legalizer else "every burst"


def _flags(case: ReleaseCase) -> str:
    return "flags 0" if case.flags == 0 else ""


SHOWN: dict[str, Callable[[ReleaseCase], str]] = {
    "tilelink-unaligned": _misaligned, "tilelink-livelock": _stuck, "tilelink-size-zero": _size_zero,
    "mp-split-stalled": _split, "mp-split-silent": _silent, "mp-dist-partner": _partner, "rt-ignored": _ignored,
    "rt-fixed": _fixed, "no-legalizer-undriven": _undriven, "desc-flags-zero": _flags,
}  # fmt: skip


OF_TEXTS = ("rt-ignored", "rt-fixed", "desc-flags-zero")
"""Those that a text shows, and the commands that it means do not."""


def release_facts(
    target: Target, cases: Sequence[ReleaseCase], place: str = "", names: Collection[str] = tuple(SHOWN)
) -> Iterator[Derived]:
    """The instances of scope `release`: the known defects that the cases show on their release, those apart that are
    certain on a release that was named; none without.
    """
    if not any(_suspect(case) for case in cases):
        return
    told: dict[bool, list[str]] = {False: [], True: []}
    table = target.raw["machine"]["defect"]
    for name, defect in ((name, one) for name, one in table.items() if name in names):
        shown = next(
            (found for case in cases if case.setup.version in defect["versions"] and (found := SHOWN[name](case))), ""
        )
        if shown:
            certain = defect.get("certain", False) and cases[0].setup.version_given
            told[certain].append(f"{defect['says']}: {shown} ({defect['source']})")
    most = max(case.descriptor.transfers for case in cases if _suspect(case))
    looked = cases[0].looked
    if most > looked and any(cases[0].setup.version in defect["versions"] for defect in table.values()):
        told[False].append(f"only {looked:,} of {most:,} 1D transfers were looked at")
    for certain, defects in told.items():
        if defects:
            where = f"{cases[0].setup.version}: {'; '.join(defects)}"
            ports = {"known": int(not certain), "certain": int(certain)}
            yield Derived("release", ports, f"{place}, {where}" if place else where)


def _suspect(case: ReleaseCase) -> bool:
    """Whether anything that has known defects is in use."""
    protocols = case.setup.request.src_protocol, case.setup.request.dst_protocol
    shown = case.setup.region is not None or not case.setup.backend.legalizer or case.flags == 0 or case.periodic
    return shown or TILELINK in protocols
