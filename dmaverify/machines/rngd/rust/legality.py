"""What a kernel's move must keep beside the machine's rules: nothing dropped, nothing claimed that is not moved, an
index that can be addressed, places that the device has.

Knows: the library's law of consumption, the kinds of padding on either side, gathers and scatters, the values that the
host wrote into an index, `#[device(...)]`.
Does not know: rules of machines (`prove` judges them), how findings are shown.
Law: every finding is a fact of the two mappings; what is dropped is decided by `prove.move.unread`, and where that has
no answer it is "not judged", never a pass.

Source: docs/machines/rngd.md 2.2 (devices), 5 (gather, scatter), 7.1 (coverage), 9 (what went silently wrong).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from math import prod

from dmaverify.language.expr import Expr, Kind, axes_of, pair, terms_of
from dmaverify.language.served import TooManyCells
from dmaverify.machines.rngd.rust.library import NEWEST, Library
from dmaverify.machines.rngd.rust.moves import GATHERS, SCATTERS, KernelMove, Site
from dmaverify.machines.rngd.rust.plans import key_axes, table_axis
from dmaverify.machines.rngd.rust.tile_shapes import form_of, padding_kinds
from dmaverify.machines.rngd.rust.values import Dtype, Held, Map
from dmaverify.machines.rngd.rust.values import RustTensor as Value
from dmaverify.machines.rngd.rust.views import plain
from dmaverify.program.move import Transfer
from dmaverify.program.space import Space, layout_of
from dmaverify.program.tensor import PLACES
from dmaverify.prove.move.index_keys import Lack, key_fault
from dmaverify.prove.move.unread import UnreadElement, unread
from dmaverify.targets.parts import Engines
from dmaverify.targets.target import Target
from dmaverify.values import dataclass
from dmaverify.verdict import Finding, Label, Severity

_LIBRARY = "furiosa-opt v0.6.0, coverage of a read (every live cell of the source is consumed)"
_DEVICES = "furiosa-opt v0.6.0, device configurations (pe_count.rs)"
_MEASURED = "published measurements of kernel writers (gathers over clusters and slices)"


@dataclass(frozen=True)
class LegalityFindings:
    """Findings, and what could not be judged, in words."""

    findings: tuple[Finding, ...] = ()
    open: tuple[str, ...] = ()


def judge(
    site: Site, move: KernelMove, transfer: Transfer, machine: Target, spaces: tuple[Space, Space],
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
    if move.method in GATHERS or move.method in SCATTERS:
        found += _indirect(site, move, machine.limits)
        found += wrong_values(move, bits)
        keyed = _keyed(site, move)
        found += [keyed] if isinstance(keyed, Finding) else []
        open_ += [keyed] if isinstance(keyed, str) else []
    return LegalityFindings(tuple(found), tuple(open_))


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


def _indirect(site: Site, move: KernelMove, limits: Mapping[str, int]) -> Iterator[Finding]:
    assert move.index is not None
    index, most, each = move.index, limits["index_list_bytes_max"], limits["index_number_bits"] // 8
    if index.dtype != Dtype(f"i{each * 8}"):
        yield _refused(
            site, f"the index holds {getattr(index.dtype, 'name', '?')}", f"an index is a tensor of i{each * 8}", index
        )
    if move.method == "dma_gather_unscaled":
        entries = _entries(index)
        if index.tier != "dm":
            yield _refused(
                site, f"the index of an unscaled gather lies in {index.tier}", "stage it with `to_dm`", index
            )
        if entries * each > most:
            yield _refused(
                site,
                f"the index has {entries:,} entries, {entries * each:,} bytes; one engine's scratchpad holds {most:,}",
                "use `dma_gather_scaled` with byte offsets in HBM, or split the index into chunks of at most "
                f"{most // each:,} entries",
                index,
            )
    elif index.tier != "hbm":
        yield _refused(
            site, f"the index of `{move.method}` lies in {index.tier}", "byte offsets are read from HBM", index
        )
    if move.method in SCATTERS:
        if move.source.tier != "dm":
            yield _refused(
                site, f"the rows of a scatter lie in {move.source.tier}",
                "stage them with `to_dm`: it writes from data memory to HBM", move.source,
            )  # fmt: skip
        yield from _key(site, move)
    else:
        yield from _replicated(site, move)


def _keyed(site: Site, move: KernelMove) -> Finding | str | None:
    """What parts the index from the keys of the rows that are moved; or why that is not known."""
    assert move.index is not None
    keys, index = key_axes(move), {p: part.expr for p, part in move.index.fields.items() if isinstance(part, Map)}
    wanted = pair(*(move.dest.expr(place) for place in move.dest.fields)) if move.key is None else move.key.expr
    try:
        fault = key_fault([expr for place, expr in index.items() if place != "element"], index["element"], wanted, keys)
    except TooManyCells:
        return "the index has too many cells to be held against its keys"
    if fault is None:
        return None
    if fault.lack is Lack.NONE and move.key is None and _copied_within(move.dest.expr("element"), index, keys):
        return f"{fault.told}, and no source says whether a gather fills the elements that share a number"
    hint = "give the index the mapping of the key: one number for each, and no other axis"
    return _refused(site, fault.told, hint, move.index)


def _copied_within(element: Expr, index: Mapping[str, Expr], keys: Iterable[str]) -> bool:
    """Whether the lowest digits of some key, which the index lacks, all lie in the element mapping of the rows."""
    held, listed = form_of(element), form_of(pair(*index.values()))
    if held is None or listed is None:
        return False
    for key in keys:
        lowest = min([d.weight for d in listed.digits if d.axis == key] or [1])
        if 1 < lowest == prod(d.live for d in held.digits if d.axis == key and d.weight < lowest):
            return True
    return False


def _live_axes(tensor: Value) -> dict[str, int]:
    return {
        a: n for part in tensor.fields.values() if isinstance(part, Map) for a, n in axes_of(part.expr).items() if n > 1
    }


def _entries(tensor: Value) -> int:
    """Elements of a tensor, each once however often it is replicated."""
    forms = [form_of(part.expr) for part in tensor.fields.values() if isinstance(part, Map)]
    return prod(d.live for form in forms if form is not None for d in form.digits if d.axis is not None)


def _key(site: Site, move: KernelMove) -> Iterator[Finding]:
    """The key must lie wholly in slice and element."""
    assert move.key is not None
    for axis in key_axes(move):
        size = axes_of(move.key.expr)[axis]
        held = 1
        for place in ("slice", "element"):
            form = form_of(move.source.expr(place)) if place in move.source.fields else None
            held *= prod(d.live for d in form.digits if d.axis == axis) if form is not None else 1
        if size > 1 and held < size:
            yield _refused(
                site, f"the key {axis.split('~')[0]} lies only in part in the slices and elements of the source",
                "an axis that is split over chip or cluster cannot be addressed: gather it in one place first",
                move.source,
            )  # fmt: skip


def _replicated(site: Site, move: KernelMove) -> Iterator[Finding]:
    """Places of the destination that neither index nor table name: a gather does not replicate over them."""
    assert move.index is not None
    known = {**_live_axes(move.index), **_live_axes(move.source)}
    for place in ("cluster", "slice"):
        if place not in move.dest.fields:
            continue
        expr = move.dest.expr(place)
        lacking = [a for a, n in axes_of(expr).items() if n > 1 and a not in known]
        copies = [t for t in terms_of(expr) if not axes_of(t) and t.size > 1 and _all_live(t)]
        if lacking or copies:
            name = lacking[0].split("~")[0] if lacking else plain(copies[0])
            yield Finding(
                "core/covers", Severity.ERROR,
                f"the gather does not replicate over `{name}` of the destination's {place}: its other places stay "
                "unwritten",
                "dest", expr.span or site.span, source=_MEASURED, basis="measured",
                hint="gather into one place and replicate with a second move, or give the index that axis",
            )  # fmt: skip


def _all_live(expr: Expr) -> bool:
    form = form_of(expr)
    return form is not None and not form.guards


def _refused(site: Site, message: str, hint: str, tensor: Value) -> Finding:
    labels = (Label(tensor.span, "declared here"),) if tensor.span is not None else ()
    return Finding(
        "core/indirect", Severity.ERROR, message, site.method, site.span,
        source="furiosa-opt v0.6.0, furiosa-opt-std/src/tensor/memory.rs (gather and scatter)", hint=hint,
        labels=labels,
    )  # fmt: skip


_SOURCE = "furiosa-opt v0.6.0, furiosa-opt-std/src/tensor/memory.rs (scaled and unscaled gather and scatter)"


def wrong_values(move: KernelMove, bits: int) -> Iterator[Finding]:
    """Values of the index that are no place of the table."""
    assert move.index is not None
    found, holds = table_axis(move), move.index.holds
    if isinstance(found, str) or holds is None:
        return
    axis, step = found
    table = move.dest if move.method in SCATTERS else move.source
    rows = axes_of(table.expr("element")).get(axis, 0)
    unit = 1 if move.method.endswith("_unscaled") else step * bits // 8
    word = "row numbers" if unit == 1 else f"byte offsets, multiples of {unit:,} (one row)"
    off = next((value for value in holds.values if value % unit), None)
    if off is not None:
        yield _finding(
            holds, f"the index holds {off:,}; its values are {word}", {"value": off, "row": unit},
            f"scale the row numbers: multiply by {unit:,}, the bytes of one row",
        )  # fmt: skip
    out = next((value for value in holds.values if not 0 <= value < rows * unit), None)
    if out is not None and off is None:
        yield _finding(
            holds, f"the index holds {out:,}, beyond the {rows:,} rows of the table (values below {rows * unit:,})",
            {"value": out, "rows": rows}, "let every value name a row of the table"
            + (", by its number: this method scales by itself" if unit == 1 and out % (step * bits // 8) == 0 else ""),
        )  # fmt: skip
    if holds.repeats and move.method in SCATTERS and off is None and out is None:
        yield _finding(
            holds, "the index names one row of the table more than once: which of the rows stays is not defined", {},
            "scatter each row once, or in kernels that follow one another",
        )  # fmt: skip


def _finding(holds: Held, message: str, values: dict[str, int], hint: str) -> Finding:
    labels = (Label(holds.span, "the values are written here"),) if holds.span is not None else ()
    return Finding(
        "core/indirect", Severity.ERROR, message, "index", holds.span, values, source=_SOURCE, hint=hint, labels=labels
    )


def index_note(move: KernelMove, bits: int) -> tuple[str, bool]:
    """What the values of the index must be, and whether they are known to be."""
    found = table_axis(move)
    if isinstance(found, str) or move.index is None:
        return "", True
    row = found[1] * bits // 8
    word = "row numbers" if move.method.endswith("_unscaled") else f"byte offsets, multiples of {row:,} (one row),"
    once = ", each once" if move.method in SCATTERS else ""
    return f"the values of the index are {word} within the table{once}", move.index.holds is not None
