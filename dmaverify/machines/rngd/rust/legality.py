"""What a kernel's move must keep beside the rules of its rows: nothing dropped, nothing claimed that is not moved, an
index that names rows, places that the device has.

Knows: the library's law of consumption, the kinds of padding on either side, `#[device(...)]`.
Does not know: rules of machines and of indices (`prove` judges them), how findings are shown.
Law: every finding is a fact of the two mappings; what is dropped is decided by `prove.move.unread`, and where that has
no answer it is "not judged", never a pass.

Source: docs/machines/rngd.md 2.2 (devices), 5 (gather, scatter), 7.1 (coverage), 9 (what went silently wrong).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from dmaverify.language.expr import Kind
from dmaverify.machines.rngd.rust.library import NEWEST, Library
from dmaverify.machines.rngd.rust.moves import SCATTERS, KernelMove, Site
from dmaverify.machines.rngd.rust.plans import indirect_of
from dmaverify.machines.rngd.rust.tile_shapes import padding_kinds
from dmaverify.machines.rngd.rust.values import Dtype, RustTensor
from dmaverify.program.move import Transfer
from dmaverify.program.space import Space, layout_of
from dmaverify.program.tensor import PLACES
from dmaverify.prove.move.index_case import RUN_TIME, IndexCase
from dmaverify.prove.move.unread import UnreadElement, unread
from dmaverify.prove.options import Options
from dmaverify.targets.parts import Engines
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace
from dmaverify.verdict import Finding, Label, Severity

_LIBRARY = "furiosa-opt v0.6.0, coverage of a read (every live cell of the source is consumed)"
_DEVICES = "furiosa-opt v0.6.0, device configurations (pe_count.rs)"


@dataclass(frozen=True)
class LegalityFindings:
    """Findings; what could not be judged, and what a proof rests on, in words."""

    findings: tuple[Finding, ...] = ()
    open: tuple[str, ...] = ()
    given: tuple[str, ...] = ()


def judge(
    site: Site, move: KernelMove, transfer: Transfer, machine: Target, spaces: tuple[Space, Space], options: Options,
    library: Library = NEWEST,
) -> LegalityFindings:  # fmt: skip
    """What is wrong with a move beyond the machine's rules. Assumes that both mappings make sense."""
    bits = machine.dtypes[transfer.dtype]
    source, source_opaque = layout_of(transfer.source, spaces[0], bits)
    dest, dest_opaque = layout_of(transfer.dest, spaces[1], bits)
    found: list[Finding] = []
    open_: list[str] = []
    dropped = unread(transfer, source, dest, opaque=source_opaque or dest_opaque)
    if dropped is None:
        open_.append("a mapping cuts inside its parts and is too large to be enumerated")
    found += [_unread(transfer, one) for one in dropped or ()]
    found += _padding(move, transfer)
    found += _places(site, move, machine.limits) if library.asserts_layouts else ()
    found += _device(site, move, machine.engines)
    index = LegalityFindings() if move.index is None else _indexed(site, move, machine, options)
    return LegalityFindings((*found, *index.findings), (*open_, *index.open), index.given)


# ---------------------------------------------------------------- consumption


def _unread(transfer: Transfer, one: UnreadElement) -> Finding:
    into = transfer.dest.element.span
    return Finding(
        "core/consumes", Severity.ERROR, one.told, "source", transfer.span, {"axis": one.axis},
        {"coordinates": {one.axis: one.coordinate}}, _LIBRARY,
        hint=f"drop the rest through a view: `.view().tile::<m![{one.axis}], LEN, ..>(start)`, or give it a place",
        labels=(Label(into, "the destination"),) if into is not None else (),
    )  # fmt: skip


# ---------------------------------------------------------------- padding


def _padding(move: KernelMove, transfer: Transfer) -> Iterator[Finding]:
    """Cells that may not be read, and zeros that nobody writes."""
    if move.method in SCATTERS:
        return
    for place in PLACES:
        if Kind.BOTTOM in padding_kinds(transfer.source.field(place)):
            yield Finding(
                "core/padding", Severity.ERROR, f"the source's {place} has cells that may not be read (`#{{!}}`)",
                "source", transfer.source.field(place).span or transfer.span,
                source="furiosa-opt v0.6.0, InputBottomPadding",
                hint="read through `view()`, whose tiles pad with `#`; `#{!}` belongs to views that are written",
            )  # fmt: skip
        if Kind.ZERO in padding_kinds(transfer.dest.field(place)):
            yield Finding(
                "core/padding", Severity.ERROR,
                f"the destination's {place} claims zeros (`#{{0}}`), and nobody writes them", "dest",
                transfer.dest.field(place).span or transfer.span,
                source="furiosa-opt v0.6.0, coverage of a write (no Zero padding)",
                hint="declare the padding as `#`, or set the cells to zero first (`memset`)",
            )  # fmt: skip


# ---------------------------------------------------------------- devices


def device_of(attributes: tuple[str, ...], engines: Engines) -> tuple[int, bool, int] | None:
    """Processing elements of `#[device(chip = 1, pe = 4)]` and whether they are named, all of a chip where not; chips,
    0 where these are not.
    """
    for text in attributes:
        found = re.match(r"#\[\s*(?:\w+::)*device\s*\((.*)\)\s*\]", text, re.DOTALL)
        if found is not None:
            chip, pe = (re.search(rf"\b{word}\s*=\s*(\d+)", found[1]) for word in ("chip", "pe"))
            elements = int(pe[1]) if pe is not None else engines.clusters * engines.per_cluster
            return elements, pe is not None, int(chip[1]) if chip is not None else 0
    return None


def _places(site: Site, move: KernelMove, limits: Mapping[str, int]) -> Iterator[Finding]:
    """Clusters and slices of a load that the library asserts."""
    if move.dest.tier != "dm" or move.source.tier != "hbm":
        return
    have = tuple(move.dest.expr(place).size for place in ("cluster", "slice"))
    clusters, slices = (_doubled(limits[f"{name}_least"], limits[f"{name}_max"]) for name in ("clusters", "slices"))
    if have[0] in clusters and have[1] in slices:
        return
    yield Finding(
        "rngd/spatial-sizes", Severity.ERROR,
        f"a load into {have[0]} clusters of {have[1]} slices; the library takes {_or(clusters)} of {_or(slices)}",
        "dest", move.dest.expr("slice").span or site.span, {"clusters": have[0], "slices": have[1]},
        source="furiosa-opt v0.6.0, furiosa-opt-std/src/tensor/memory.rs (places of `to_dm`)",
        hint=f"pad the mapping: `m![.. # {slices[-1]}]` for slices, `m![.. # {clusters[-1]}]` for clusters",
    )  # fmt: skip


def _doubled(least: int, most: int) -> list[int]:
    """least, 2 least, 4 least, .. up to most."""
    return [least << number for number in range((most // least).bit_length())] or [most]


def _or(numbers: list[int]) -> str:
    return " or ".join(part for part in (", ".join(map(str, numbers[:-1])), str(numbers[-1])) if part)


def _device(site: Site, move: KernelMove, engines: Engines) -> Iterator[Finding]:
    """Tensors of data memory that do not have the device's clusters and slices: a processing element has an engine."""
    device, some = device_of(site.attributes, engines), _doubled(1, engines.clusters * engines.per_cluster)
    if device is None:
        return
    elements, said, chips = device
    for word, tensor in (("source", move.source), ("destination", move.dest)):
        have_chips = tensor.expr("chip").size if "chip" in tensor.fields else 0
        if 0 < chips < have_chips:
            yield Finding(
                "rngd/spatial-sizes", Severity.ERROR, f"the {word} lies on {have_chips} chips, the device has {chips}",
                word, tensor.expr("chip").span or tensor.span or site.span, {"chips": have_chips},
                source=_DEVICES, basis="inferred", hint=f"name the device's chips: `chip = {have_chips}`",
            )  # fmt: skip
    if elements not in some:
        yield Finding(
            "rngd/spatial-sizes", Severity.ERROR, f"no device has `pe = {elements}`; there are {_or(some)}", "program",
            site.span, {"pe": elements}, source=_DEVICES, hint="name one of these",
        )  # fmt: skip
        return
    clusters = max(1, elements // engines.per_cluster)
    slices = min(elements, engines.per_cluster) * engines.slices
    for word, tensor in (("source", move.source), ("destination", move.dest)):
        if tensor.tier != "dm":
            continue
        have = tuple(tensor.expr(place).size for place in ("cluster", "slice"))
        if have != (clusters, slices):
            yield Finding(
                "rngd/spatial-sizes",
                Severity.ERROR if said else Severity.WARNING,
                f"the {word} has {have[0]} clusters of {have[1]} slices, the device {clusters} of {slices} "
                f"(`pe = {elements}`{'' if said else ', the default'})",
                word,
                tensor.expr("slice").span or tensor.span or site.span,
                {"clusters": have[0], "slices": have[1]},
                None,
                f"{_DEVICES}; the compiler refuses another extent",
                "documented" if said else "inferred",
                hint=f"pad the mapping to the device: `m![.. # {slices}]`, or name the device's `pe`",
            )


# ---------------------------------------------------------------- gather and scatter


def _indexed(site: Site, move: KernelMove, machine: Target, options: Options) -> LegalityFindings:
    """What is wrong with the index of a gather or scatter; what its values must be, where they are not known."""
    made = indirect_of(site, move, machine)
    if isinstance(made, str):
        return LegalityFindings((), (made,))
    case = IndexCase(made, target=machine, options=options, axes={})
    case.judge_alone()
    promised = [said for said in case.assumptions if said.endswith(RUN_TIME)]
    labels = (Label(move.index.span, "the index"),) if move.index is not None and move.index.span is not None else ()
    found = tuple(replace(one, labels=one.labels or labels) for one in case.findings)
    return LegalityFindings(found, tuple(said for said in case.assumptions if said not in promised), tuple(promised))


def idle(site: Site, machine: Target) -> bool:
    """Whether a site stands for a function whose calls are all in other files, and nothing is to be said of it."""
    told = site.moves or site.reasons or site.remarks or any(own.unknown or own.given for own in site.open)
    return site.method == "new" and not told and not any(crowded(site, machine))


def crowded(site: Site, machine: Target) -> Iterator[Finding]:
    """Tensors of data memory that a function needs at once and that no slice can hold."""
    room = machine.limits["slice_bytes_max"]

    def bytes_of(tensor: RustTensor) -> int | None:
        bits = machine.dtypes.get(tensor.dtype.name) if isinstance(tensor.dtype, Dtype) else None
        return -(-tensor.expr("element").size * bits // 8) if bits is not None else None

    for name, ledger in site.ledgers:
        total, here = ledger.crowd(bytes_of)
        if total <= room or len(here) < 2:
            continue
        here = sorted(here, key=lambda pair: -pair[1])
        spans = [(tensor.buffer.name, size, tensor.buffer.span) for tensor, size in here if tensor.buffer is not None]
        yield Finding(
            "rngd/slice-capacity", Severity.ERROR,
            f"`{name}` needs {total:,} bytes of each slice at once, in {len(here)} tensors; a slice has {room:,}",
            "program", site.span, {"bytes": total, "capacity": room, "tensors": {n: size for n, size, _ in spans}},
            source="Memory Performance, geometry; furiosa-opt book, spatial dimensions (512 KiB a slice)",
            hint="move in smaller tiles, or let go of the largest before the next is loaded",
            labels=tuple(Label(span, f"{size:,} bytes") for _, size, span in spans[:3] if span is not None),
            notes=("who lives when (`!` the fullest moment):", *ledger.picture(bytes_of)),
        )  # fmt: skip
