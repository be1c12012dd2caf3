"""A kernel in Rust as a program of a plan: a step for each transfer, behind those that the scheduler puts it behind.

Knows: where tensors of a kernel may be put, which windows share cells. Does not know: Rust, what a program leaves.
Law: the compiler places tensors, so each lies where nothing else does: those that the kernel is given first, in their
order, then those that it gives, then its own, behind which nobody sees what is left. A step waits for those that wrote
cells which it reads, and for no others (docs/machines/rngd.md 7.4). What has no such form is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from dmaverify.errors import InputError
from dmaverify.language.expr import axes_of
from dmaverify.machines.rngd.rust.cells import share_cells
from dmaverify.machines.rngd.rust.extract import transfer_lines_of
from dmaverify.machines.rngd.rust.followed import FollowedKernel, FollowedMove
from dmaverify.machines.rngd.rust.moves import KernelMove
from dmaverify.machines.rngd.rust.plans import transfer_of
from dmaverify.machines.rngd.rust.values import PLACES, Dtype, RustTensor
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace

NAME = "kernel"
ALIGNED = {"hbm": 4096, "dm": 256}
"""Bytes at whose multiples tensors are put: no start within one is better aligned than what it adds."""


@dataclass(frozen=True)
class LoweredKernel:
    """The text of a plan with the program `NAME`. `seen` says where each tensor that others see begins in HBM, by what
    it is called; from `own` on lies what nobody sees.
    """

    text: str
    seen: Mapping[str, int]
    own: int


def signature(kernel: FollowedKernel) -> tuple[list[str], list[str]]:
    """What a kernel is given and what it gives, as types: two that differ are no two kernels for one caller."""
    numbers = [kind for _, kind in kernel.numbers]
    return [*(_type(one) for _, one in kernel.given), *numbers], [_type(one) for one in kernel.gives]


def _type(tensor: RustTensor) -> str:
    fields = [tensor.expr(place) for place in PLACES[tensor.tier]]
    sizes = sorted({(name.split("~")[0], size) for expr in fields for name, size in axes_of(expr).items()})
    dtype = tensor.dtype.name if isinstance(tensor.dtype, Dtype) else ""
    said = ", ".join(re.sub(r"~\w*", "", f"m![{expr}]") for expr in fields)
    tier = f"{tensor.tier} {tensor.view}".rstrip()
    return f"{tier} {dtype} {said} with {', '.join(f'{name} = {size}' for name, size in sizes)}"


def serial_of(tensor: RustTensor) -> int:
    assert tensor.buffer is not None
    return tensor.buffer.serial


def lowered_kernel(
    kernel: FollowedKernel, machine: Target, at: Mapping[int, int] | None = None, end: int = 0
) -> LoweredKernel:
    """The program of a kernel. `at` says where tensors of HBM begin, by the number of their buffer, instead of where
    they are put else, which is behind `end`. Raises InputError.
    """
    given = [serial_of(one) for _, one in kernel.given]
    gives = [serial_of(one) for one in kernel.gives]
    if len({*given, *gives}) < len(given) + len(gives):
        raise InputError("it gives back a tensor that it was given, or one twice", None)
    if any(one.tier != "hbm" for one in (*(tensor for _, tensor in kernel.given), *kernel.gives)):
        raise InputError("it is given, or gives, a tensor that is not in HBM", None)
    bases, own, clash = _placed(kernel, machine, given, gives, at or {}, end)
    if clash:
        raise InputError("for its first transfers to be the same, tensors would share bytes", None)
    names: dict[tuple[str, int], str] = {}
    tables: list[str] = []
    steps: list[str] = []
    called = _names(kernel)
    for number, move in enumerate(kernel.moves):
        tables += ["", f"[transfer.{called[number]}]"]
        tables += _table(called[number], move, kernel, machine, bases, names)
        behind = [called[n] for n in range(number) if _feeds(kernel.moves[n], move)]
        after = f", after = [{', '.join(f'{chr(34)}{name}{chr(34)}' for name in behind)}]" if behind else ""
        steps.append(f'  {{ transfer = "{called[number]}"{after} }},')
    axes = [f"{name} = {size}" for (_, size), name in names.items()]
    head = ["schema = 1", f'target = "{machine.name}"', "", "[axes]", *axes]
    program = ["", f"[program.{NAME}]", 'order = "none"', 'empty = ["dm"]', "step = [", *steps, "]", ""]
    seen = {name: bases[serial_of(one)] for name, one in kernel.given}
    many = len(gives) > 1
    seen |= {f"result {number}" if many else "its result": bases[one] for number, one in enumerate(gives)}
    return LoweredKernel("\n".join([*head, *tables, *program]), seen, own)


def _names(kernel: FollowedKernel) -> list[str]:
    out: list[str] = []
    for move in kernel.moves:
        stem = f"line-{move.site.span.line}"
        again = sum(name == stem or name.startswith(f"{stem}-") for name in out)
        out.append(f"{stem}-{again + 1}" if again else stem)
    return out


def _placed(
    kernel: FollowedKernel, machine: Target, given: list[int], gives: list[int], at: Mapping[int, int], end: int
) -> tuple[dict[int, int], int, bool]:
    """Where each tensor begins, where those begin in HBM that nobody else sees, and whether two share bytes."""
    sizes: dict[int, tuple[str, int]] = {}
    for tensor in [*(one for _, one in kernel.given), *kernel.gives, *_sides(kernel)]:
        assert isinstance(tensor.dtype, Dtype)
        size = -(-tensor.expr("element").size * machine.dtypes[tensor.dtype.name] // 8)
        before = sizes.get(serial_of(tensor), (tensor.tier, 0))
        sizes[serial_of(tensor)] = tensor.tier, max(size, before[1])
    order = [*given, *gives, *(serial for serial in sizes if serial not in {*given, *gives})]
    ends = dict.fromkeys(ALIGNED, 0)
    ends["hbm"] = max((end, *(at[s] + sizes[s][1] for s in order if s in at)))
    bases, own = dict[int, int](), 0
    for number, serial in enumerate(order):
        tier, size = sizes[serial]
        ends[tier] = -(-ends[tier] // ALIGNED[tier]) * ALIGNED[tier]
        if number == len(given) + len(gives):
            own = -(-ends["hbm"] // ALIGNED["hbm"]) * ALIGNED["hbm"]
        bases[serial] = at[serial] if serial in at else ends[tier]
        ends[tier] += 0 if serial in at else size
    fixed = sorted((at[s], at[s] + sizes[s][1]) for s in order if s in at)
    clash = any(one[1] > other[0] for one, other in pairwise(fixed))
    return bases, own or -(-ends["hbm"] // ALIGNED["hbm"]) * ALIGNED["hbm"], clash


def _sides(kernel: FollowedKernel) -> Iterator[RustTensor]:
    for move in kernel.moves:
        yield from (move.source, move.dest)


def _table(
    name: str, move: FollowedMove, kernel: FollowedKernel, machine: Target, bases: Mapping[int, int],
    names: dict[tuple[str, int], str],
) -> Iterator[str]:  # fmt: skip
    """The table of a transfer between tensors that lie there. Raises InputError."""
    for side in (move.source, move.dest):
        if side.tier not in ALIGNED or not isinstance(side.dtype, Dtype) or side.dtype.name not in machine.dtypes:
            raise InputError(f"a tensor of {side.tier} is not compared", move.site.span)
    plain = KernelMove(move.site.method, move.source, move.dest)
    made = transfer_of(name, move.site, plain, machine, machine.name, kernel.library)
    if isinstance(made, str):
        raise InputError(made, move.site.span)
    if made.problems:
        raise InputError(made.problems[0].message, move.site.span)
    source, dest = (
        replace(tensor, base=bases[serial_of(side)] + _start(side, machine, move))
        for tensor, side in ((made.transfer.source, move.source), (made.transfer.dest, move.dest))
    )
    yield from transfer_lines_of(replace(made.transfer, source=source, dest=dest), names)


def _start(side: RustTensor, machine: Target, move: FollowedMove) -> int:
    """The byte of a window in its buffer."""
    assert isinstance(side.dtype, Dtype)
    bits = machine.dtypes[side.dtype.name]
    starts = side.window.at.get("element")
    single = 0 if starts is None else starts.single
    if single is None or single * bits % 8 or any(one.single is None for one in side.window.at.values()):
        raise InputError("a window that starts in the middle of a byte, or at several places", move.site.span)
    return single * bits // 8


def _feeds(earlier: FollowedMove, later: FollowedMove) -> bool:
    """Whether an earlier transfer writes cells that a later one reads. Raises InputError where that is not known."""
    one, other = earlier.dest, later.source
    if serial_of(one) != serial_of(other):
        return False
    found = share_cells(one, other)
    if found is None:
        raise InputError("whether two windows share cells is not known", later.site.span)
    return found
