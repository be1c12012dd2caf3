"""Plan files of kernels in PTO text: what each copy moves, written as a claim that a person can correct.

Knows: how the loops of a copy become axes and padding on both sides.
Does not know: what a copy should move; whether anything holds.
Law: a claimed move is exactly what its copy does, read from its operands; a copy that no nest of padded axes says, or
whose operands are no numbers, is a comment with its reason.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from dmaverify.errors import InputError
from dmaverify.language.expr import Expr, Padding, Symbol, pair
from dmaverify.machines.pto.check import slice_of
from dmaverify.machines.pto.named import NamedFunction, functions_of
from dmaverify.machines.pto.values import Kernel
from dmaverify.program.instructions import Copy

Level = tuple[str, int, int]  # axis, count, stride in elements
LEVELS = ("R", "I", "J", "K")


def plan_of_kernels(path: str, folder: str | None = None) -> str:
    """A plan file in `folder` (beside the kernel) with every function of `FILE[::NAME]` that copies. Raises InputError
    where none does.
    """
    axes: dict[str, int] = {}
    tables: list[str] = []
    for number, named in enumerate(functions_of(path)):
        kernel = named.kernel()
        if kernel.copies:
            file = Path(named.source.name)
            called = file.name if folder is None else Path(os.path.relpath(os.path.realpath(file), folder)).as_posix()
            tables.append("\n".join(_kernel(named, kernel, axes, f"{number or ''}", called)))
    if not tables:
        raise InputError(f"{path.partition('::')[0]} holds no copy", None, "nothing to extract")
    head = ["schema = 1", 'target = "pto"', "", "[axes]", *(f"{name} = {size}" for name, size in axes.items())]
    return "\n".join([*head, "", "\n\n".join(tables)]) + "\n"


def _kernel(named: NamedFunction, kernel: Kernel, axes: dict[str, int], mark: str, called: str) -> Iterator[str]:
    name = "".join(c if c.isalnum() else "-" for c in named.name).strip("-") or "kernel"
    yield f"[kernel.{name}]"
    yield f"file = {json.dumps(called, ensure_ascii=False)}"  # a text of JSON is one of TOML
    if named.function.name:
        yield f'function = "{named.name}"'
    stated = [(argument, size) for argument, size in named.notes.extents.items() if isinstance(size, int)]
    extents = [f'{argument} = "{size} bytes"' for argument, size in stated]
    ranges = [f'{argument} = "{low}..{high}"' for argument, (low, high) in named.notes.ranges.items()]
    for key, values in (("gm", extents), ("assume", ranges)):
        if values:
            yield f"{key} = {{ {', '.join(values)} }}"
    for copy in kernel.copies:
        yield ""
        yield f"# {slice_of(copy, kernel.world)}"
        yield from _move(copy, name, axes, mark)


def _move(copy: Copy, name: str, axes: dict[str, int], mark: str) -> Iterator[str]:
    item = copy.write.item_bytes
    if not copy.is_const:
        yield "# not claimed: its operands are no numbers, or change from round to round"
        return
    if any(n.const % item for n in (copy.row, *(x for s in copy.steps for x in (s.read, s.write)))):
        yield f"# not claimed: it does not move whole elements of {item} bytes"
        return
    if copy.atomic:
        yield f"# not claimed: the store accumulates ({copy.atomic})"
        return
    steps = [s for s in copy.steps if s.count.const > 1]
    names = [f"{letter}{mark}_{copy.number}" for letter in LEVELS]
    row = Symbol(f"C{mark}_{copy.number}", copy.row.const // item)
    sides = []
    for side in ("read", "write"):
        levels = [(n, s.count.const, getattr(s, side).const // item) for n, s in zip(names, steps, strict=False)]
        sides.append(_nest(row, levels))
    if len(steps) > len(names) or sides[0] is None or sides[1] is None:
        yield "# not claimed: rows that overlap, or lie between each other, are no nest of axes"
        return
    axes |= {row.name: row.size, **{n: s.count.const for n, s in zip(names, steps, strict=False)}}
    yield f"[[kernel.{name}.move]]"
    yield f"copies = [{copy.number}]"
    yield f'dtype = "{copy.write.dtype or "i8"}"'
    for key, place, expr in (("source", copy.read, sides[0]), ("dest", copy.write, sides[1])):
        yield f'{key} = {{ tier = "{place.space}", base = {place.address.const}, element = "{expr}" }}'


def _nest(row: Symbol, levels: Sequence[Level]) -> Expr | None:
    """One side as axes, the widest step outermost, each padded to the next; None where levels overlap."""
    inner: Expr = row
    for name, count, stride in sorted(levels, key=lambda level: level[2]):
        if stride < inner.size:
            return None
        inner = pair(Symbol(name, count), Padding(inner, stride) if stride > inner.size else inner)
    return inner
