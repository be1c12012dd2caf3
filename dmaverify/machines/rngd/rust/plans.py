"""Kernels as plans: every move of a file as a transfer, under a name of its own, with spans into the Rust text.

Knows: how windows become bases, what a gather or scatter moves for one index value, how names and axes are made unique.
Does not know: how a transfer is judged.
Law: a move gives one transfer, whose source and destination have exactly the cells of the kernel's types. The compiler
places tensors, so bases are what the kernel fixes: the window within the buffer; two tensors of one memory lie behind
one another. Two declarations of an axis stay two axes.

Source: docs/machines/rngd.md 3.4 (base addresses), 5 (gather, scatter), 7.2 (views).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from pathlib import Path
from types import MappingProxyType

from dmaverify.errors import InputError, Span
from dmaverify.language.expr import ONE, Expr, Kind, Padding, Symbol, axes_of, pair, rebuilt, terms_of
from dmaverify.language.served import TooManyCells, count_of
from dmaverify.machines.rngd.rust.index_numbers import counts_rows, told_numbers
from dmaverify.machines.rngd.rust.kernel import KernelFile, read_kernel, read_kernel_text
from dmaverify.machines.rngd.rust.library import NEWEST, Library
from dmaverify.machines.rngd.rust.moves import GATHERS, SCATTERS, KernelMove, Site
from dmaverify.machines.rngd.rust.tile_shapes import form_of
from dmaverify.machines.rngd.rust.values import Dtype, Map, Numbers
from dmaverify.machines.rngd.rust.values import RustTensor as Value
from dmaverify.machines.rngd.rust.views import kept_whole, plain
from dmaverify.plan.plan import Plan, PlanTransfer
from dmaverify.program.access import PlanProblem
from dmaverify.program.indirect import IndexList, Indirect, first_axis, rows_of
from dmaverify.program.move import Transfer
from dmaverify.program.tensor import Tensor
from dmaverify.program.views import ViewError
from dmaverify.targets.target import Target, load_target
from dmaverify.values import dataclass, field, replace

_TARGET = "rngd"


@dataclass(frozen=True)
class SiteTransfers:
    """One call of a transfer with the transfers that it stands for, and why there are none of its other instances. Its
    `name` is its own in the file, whether or not it was resolved.
    """

    site: Site
    names: tuple[str, ...]
    name: str
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class KernelPlan(Plan):
    """The plan of a Rust file. `sites` are its calls, in order; a call without names was not resolved. `every` are
    those of the whole file, where `sites` are a selection.
    """

    sites: tuple[SiteTransfers, ...] = ()
    every: tuple[SiteTransfers, ...] = ()
    moves: Mapping[str, KernelMove] = field(default_factory=dict)
    library: Library = NEWEST

    @property
    def is_kernel(self) -> bool:
        return True


def read_kernel_plan(path: str | Path, *, target: str | None = None) -> KernelPlan:
    """The plan of a Rust file. Raises InputError where it cannot be read."""
    return plan_of(read_kernel(path), target)


def read_kernel_plan_text(
    text: str, name: str = "<kernel>", *, target: str | None = None, library: Library = NEWEST
) -> KernelPlan:
    """The plan of Rust text that belongs to no crate. Raises InputError."""
    return plan_of(read_kernel_text(text, name, library), target)


def plan_of(kernel: KernelFile, target: str | None = None) -> KernelPlan:
    """Every move as a transfer. Raises InputError for a machine that has no such tensors."""
    machine = load_target(target or _TARGET)
    lacks = {"hbm", "dm"} - set(machine.tiers)
    if lacks:
        raise InputError(f"{machine.name} has no {' and no '.join(sorted(lacks))}", None, f"kernels are for {_TARGET}")
    used: set[str] = set()
    transfers: list[PlanTransfer] = []
    sites: list[SiteTransfers] = []
    moves: dict[str, KernelMove] = {}
    for site in kernel.sites:
        names, missing = [], []
        for move in site.moves:
            name = _name(site, used)
            made = transfer_of(name, site, move, machine, target or _TARGET, kernel.library)
            if isinstance(made, str):
                missing.append(made)
                used.discard(name)
                continue
            transfers.append(made)
            names.append(name)
            moves[name] = move
        name = names[0] if names else _name(site, used)
        sites.append(SiteTransfers(site, tuple(names), name, tuple(dict.fromkeys(missing))))
    axes: dict[str, int] = {}
    for item in transfers:
        for tensor in (item.transfer.source, item.transfer.dest):
            axes.update(axes_of(tensor.mapping))
    return KernelPlan(
        kernel.source.name, kernel.source, "", MappingProxyType(axes), MappingProxyType({}),
        MappingProxyType({target or _TARGET: machine}), tuple(transfers), (), sites=tuple(sites), every=tuple(sites),
        moves=MappingProxyType(moves), library=kernel.library,
    )  # fmt: skip


def _name(site: Site, used: set[str]) -> str:
    """`function-variable` or `function-method`, with a number where that is taken."""
    stem = re.sub(r"[^A-Za-z0-9_-]", "_", f"{site.function or 'file'}-{site.let or site.method}")
    name, number = stem, 2
    while name in used:
        name, number = f"{stem}-{number}", number + 1
    used.add(name)
    return name


def select_kernel(plan: KernelPlan, name: str) -> KernelPlan:
    """The plan with the transfers of that name, or of the function of that name. Raises InputError for another."""
    kept = tuple(one for one in plan.sites if name in (*one.names, one.name, one.site.function))
    if not kept:
        functions = dict.fromkeys(one.site.function for one in plan.sites if one.site.function)
        known = ", ".join(list(functions)[:12]) or "none"
        raise InputError(
            f"{plan.path} has no function or transfer `{name}`", None, f"functions with transfers: {known}"
        )
    exact = [one for one in kept if name in one.names]
    if exact:
        kept = tuple(replace(one, names=(name,), name=name) for one in exact)
    names = {own for one in kept for own in one.names}
    return replace(plan, sites=kept, transfers=tuple(t for t in plan.transfers if t.name in names))


def by_index(plan: Plan, name: str) -> str:
    """`gather` or `scatter` where a transfer of a kernel is one; its plan then holds the move of one index value."""
    method = plan.moves[name].method if isinstance(plan, KernelPlan) and name in plan.moves else ""
    return "gather" if method in GATHERS else "scatter" if method in SCATTERS else ""


# ---------------------------------------------------------------- one move


def transfer_of(
    name: str, site: Site, move: KernelMove, machine: Target, key: str, library: Library
) -> PlanTransfer | str:
    """The transfer of a move, or why there is none."""
    dtype = move.source.dtype
    assert isinstance(dtype, Dtype)
    problems = [*move.problems, *_types(move, site.span)]
    for one in (dtype, move.dest.dtype):
        if isinstance(one, Dtype) and one.name not in machine.dtypes:
            known = ", ".join(machine.dtypes)
            return f"`{one.name}` is no element type of {machine.name}'s memory (known: {known})"
    bits, listed = machine.dtypes[dtype.name], None if move.index is None else move.index.dtype
    if isinstance(listed, Dtype) and listed.name not in machine.dtypes:
        said = f"the index holds {listed.name}, which no memory of {machine.name} does"
        problems.append(PlanProblem(said, site.span, "an index is a tensor of i32", fatal=False))
    source, dest = _fields(move.source), _fields(move.dest)
    start: Mapping[str, Numbers] = move.source.window.at
    if move.method in GATHERS or move.method in SCATTERS:
        made = _indirect(move, source, dest)
        if isinstance(made, str):
            return made
        source, dest, row = made
        if move.method in GATHERS:
            start = {**start, "element": Numbers(row, row, 0).plus(start.get("element", Numbers.of(0)))}
    if library.keeps_compounds:
        both = kept_whole((*source.values(), *dest.values()))
        source, dest = dict(zip(source, both, strict=False)), dict(zip(dest, both[len(source) :], strict=True))
    names = _display(source, dest)
    read = _tensor(move.source, source, names, start, machine, 0)
    behind = 0
    if move.source.tier == move.dest.tier and not _apart(move):
        behind = -(-(read.base + source["element"].size * bits // 8 + 1) // 4096) * 4096
    write = _tensor(move.dest, dest, names, move.dest.window.at, machine, behind)
    transfer = Transfer(name, key, dtype.name, read, write, span=site.span)
    spans = {f"source.{p}": e.span for p, e in source.items() if e.span}
    spans |= {f"dest.{p}": e.span for p, e in dest.items() if e.span}
    return PlanTransfer(transfer, spans, tuple(dict.fromkeys(problems)), site.span.line)


def _types(move: KernelMove, span: Span) -> list[PlanProblem]:
    """Element types that differ."""
    a, b = move.source.dtype, move.dest.dtype
    if a == b or not isinstance(a, Dtype) or not isinstance(b, Dtype):
        return []
    return [PlanProblem(f"the source holds {a.name}, the destination {b.name}", span,
                        "a transfer moves bytes: convert in the Tensor Unit", fatal=False)]  # fmt: skip


def _apart(move: KernelMove) -> bool:
    """Whether both are windows of one tensor, which their places keep apart; two tensors lie behind one another."""
    if move.source.buffer is None or move.dest.buffer is None or move.source.buffer != move.dest.buffer:
        return False
    return any(place in move.source.window.at or place in move.dest.window.at for place in ("chip", "cluster", "slice"))


def _fields(value: Value) -> dict[str, Expr]:
    return {place: part.expr for place, part in value.fields.items() if isinstance(part, Map)}


def _tensor(
    value: Value, fields: Mapping[str, Expr], names: Mapping[str, str], start: Mapping[str, Numbers], machine: Target,
    behind: int,
) -> Tensor:  # fmt: skip
    assert isinstance(value.dtype, Dtype)
    bits = machine.dtypes[value.dtype.name]
    made = {place: renamed(expr, names) for place, expr in fields.items()}
    at = {place: start[place].low for place in ("chip", "cluster", "slice") if place in start}
    tier = machine.tiers.get(value.tier)
    room = tier.capacity_bytes if tier is not None else None
    base = _base(start.get("element", Numbers.of(0)), fields["element"].size, bits, room, widest(machine))
    return Tensor(
        value.tier, made["element"], made.get("chip", ONE), made.get("cluster", ONE), made.get("slice", ONE),
        behind + base, at.get("chip", 0), at.get("cluster", 0), at.get("slice", 0), value.span,
    )  # fmt: skip


def widest(machine: Target) -> int:
    """Bytes: alignment beyond what memory is asked for at once makes no difference to any rule or cost."""
    return max(machine.geometry.get(name, 1) for name in ("request_bytes", "hbm_access_bytes"))


def _base(start: Numbers, size: int, bits: int, room: int | None, most: int) -> int:
    """The byte at which a window starts; for one that moves, the least aligned of all its starts."""
    low, step = start.low * bits, start.step * bits
    if start.single is not None and low % 8 == 0 and (room is None or low // 8 + size * bits // 8 <= room):
        return low // 8
    unit = most
    while unit > 1 and (low % (unit * 8) or step % (unit * 8)):
        unit //= 2
    return 0 if unit == most else unit


# ---------------------------------------------------------------- axes


def _display(*fields: Mapping[str, Expr]) -> dict[str, str]:
    """A name for every axis of one transfer: its own, with ' where two declarations share it."""
    names: dict[str, str] = {}
    for expr in (one for each in fields for one in each.values()):
        for name in axes_of(expr):
            if name not in names:
                base = name.split("~")[0]
                while base in names.values():
                    base += "'"
                names[name] = base
    return names


def renamed(expr: Expr, names: Mapping[str, str]) -> Expr:
    """The mapping with its axes under other names."""

    def own(one: Expr) -> Expr | None:
        return replace(one, name=names.get(one.name, one.name)) if isinstance(one, Symbol) else None

    return rebuilt(expr, own)


def substituted(expr: Expr, axis: str, kind: Kind) -> Expr:
    """The mapping with one position of an axis instead of all: the row that one index value names."""

    def row(one: Expr) -> Expr | None:
        named = isinstance(one, Symbol) and one.name == axis and one.size > 1
        return Padding(ONE, one.size, kind, one.span) if named else None

    return rebuilt(expr, row)


# ---------------------------------------------------------------- gather and scatter


def _indirect(
    move: KernelMove, source: dict[str, Expr], dest: dict[str, Expr]
) -> tuple[dict[str, Expr], dict[str, Expr], int] | str:
    """Both sides for one index value, and the row's size in elements; or why that cannot be said."""
    found = table_axis(move)
    if isinstance(found, str):
        return found
    table = source if move.method in GATHERS else dest
    axis, step = found
    if move.method in GATHERS:
        return {p: substituted(e, axis, Kind.TOP) for p, e in table.items()}, dest, step
    out = {p: substituted(e, axis, Kind.BOTTOM) for p, e in dest.items()}
    data = source
    for key in key_axes(move):
        data = {p: substituted(e, key, Kind.TOP) for p, e in data.items()}
    return data, out, step


def indirect_of(site: Site, move: KernelMove, machine: Target) -> Indirect | str:
    """A gather or scatter with its index, whose numbers are promised to name rows where they are not known; or why
    there is none.
    """
    found, index, dtype = table_axis(move), move.index, move.source.dtype
    assert index is not None
    assert isinstance(dtype, Dtype)
    listed_as, scatter, holds = getattr(index.dtype, "name", ""), move.method in SCATTERS, index.holds
    fields = [_fields(value) for value in (move.source, move.dest, index)]
    form = form_of(fields[scatter]["element"])
    if isinstance(found, str) or form is None or listed_as not in machine.dtypes:
        return "the rows of the table or the numbers of the index have no form that is known"
    try:
        entries = count_of(pair(*fields[2].values()), key_axes(move))
    except TooManyCells:
        return "the index has too many cells to be held against its keys"
    own = [digit for digit in form.digits if digit.axis == found[0]]
    rows = prod(digit.live for digit in own)
    if not counts_rows(own):
        axis = found[0].split("~")[0]
        return (
            f"no source says which row a number names where the table holds a part of `{axis}` without its low digits"
        )
    keyed = pair(*fields[1].values()) if move.key is None else move.key.expr
    names = _display(*fields, {"key": keyed})
    at = [one.window.at for one in (move.source, move.dest, index)]
    source, dest, listed = (
        _tensor(one, own, names, start, machine, 0)
        for one, own, start in zip((move.source, move.dest, index), fields, at, strict=True)
    )
    told, spans, count, unread = told_numbers(holds, entries, fields[2])
    numbers = IndexList(
        listed, listed_as, not move.method.endswith("_unscaled"), entries, None, 0, rows - 1, scatter,
        value_spans=spans, told=told, repeats=holds is not None and holds.repeats, count=count, unread=unread,
    )  # fmt: skip
    made = Indirect(
        site.method, machine.name, scatter, dtype.name, source, dest, names[found[0]],
        tuple(names[axis] for axis in key_axes(move)), renamed(keyed, names), rows, numbers, span=site.span,
        key_said=move.key is not None,
        row_counts=_row_counts(fields[not scatter], key_axes(move), machine.dtypes[dtype.name]),
    )  # fmt: skip
    try:
        held = rows_of(made.table, made.axis, rows, written=scatter).digits
    except ViewError as error:
        return error.message
    if len(held) > 1 or any(digit.place != "element" for digit in held):
        return (
            f"no source says which row a number names where the table holds `{made.axis}` in several digits or places"
        )
    return made


def _row_counts(data: Mapping[str, Expr], keys: tuple[str, ...], bits: int) -> int | None:
    """The bytes that the library divides a scaled number by: those of the elements that go with one key."""
    forms = [form_of(expr) for expr in data.values()]
    if bits % 8 or None in forms:
        return None
    live = (digit.live for form in forms if form is not None for digit in form.digits if digit.axis not in keys)
    return prod(live) * bits // 8


def indirect_rows(move: KernelMove) -> tuple[int, bool] | None:
    """How many rows a gather or scatter moves, and whether it scatters; None for a plain move."""
    if move.method not in GATHERS and move.method not in SCATTERS:
        return None
    sizes: dict[str, int] = {}
    for value in (move.source, move.dest, *([move.index] if move.index is not None else [])):
        for expr in _fields(value).values():
            sizes |= axes_of(expr)
    return prod(sizes[axis] for axis in key_axes(move)), move.method in SCATTERS


def key_axes(move: KernelMove) -> tuple[str, ...]:
    """The axes of a gather's index, or of a scatter's key."""
    if move.key is not None:
        return tuple(axes_of(move.key.expr))
    assert move.index is not None
    return tuple(
        a for p in move.index.fields.values() if isinstance(p, Map) for a, n in axes_of(p.expr).items() if n > 1
    )


def table_axis(move: KernelMove) -> tuple[str, int] | str:
    """The axis of the table that the index names, and the elements of its row; or why that cannot be said."""
    gathers = move.method in GATHERS
    table, data = (move.source, move.dest) if gathers else (move.dest, move.source)
    if move.key is not None and any(not isinstance(t, Symbol) and t.size > 1 for t in terms_of(move.key.expr)):
        return f"the key `{plain(move.key.expr)}` is a part of an axis; name whole axes"
    element = table.expr("element")
    axis = first_axis(axes_of(element), (a for e in _fields(data).values() for a in axes_of(e)), key_axes(move))
    if axis is None:
        return "no axis of the table is left for the index: all of them are in the rows"
    form = form_of(element)
    steps = [d.step for d in form.digits if d.axis == axis] if form is not None else []
    return (axis, min(steps)) if steps else f"the axis `{axis.split('~')[0]}` of the table has no digit of its own"
