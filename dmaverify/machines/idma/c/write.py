"""Descriptors as calls of the driver that an engine's front-end has, in C.

Knows: which calls a front-end has (`launches`), register writes. Does not know: whether the descriptors are right.
Law: what is written is read again by `launches`, and makes the same descriptors; whatever a call cannot say is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dmaverify.errors import InputError, Source
from dmaverify.machines.idma import inst64, registers
from dmaverify.machines.idma.c.driver import read_driver
from dmaverify.machines.idma.engine import AXI
from dmaverify.machines.idma.setup import Setup
from dmaverify.machines.idma.text import ToldDescriptor

BASE = "dma"
"""The argument that is the address of the engine's registers."""


def driver_of(setup: Setup, told: Sequence[ToldDescriptor]) -> str:
    """A function `move` that launches the descriptors, in order. Raises InputError for what its calls cannot say."""
    front = setup.front_end
    if front in registers.MAPS:
        head, lines = f"uint32_t move(uintptr_t {BASE})", list(_accesses(registers.MAPS[front], told))
        last = lines[-1].removeprefix("(void)")
        lines[-1] = f"return {last}"
    elif front in ("inst64", "desc64"):
        head, lines = "void move(void)", [_call(front, one) for one in told]
    else:
        raise InputError(
            f"no driver is known for a front-end {front!r}", None,
            f"options = {{ front_end = ... }}: {', '.join(('inst64', 'desc64', *registers.MAPS))}",
        )  # fmt: skip
    body = "\n".join(f"    {line};" for line in lines)
    return f"#include <stdint.h>\n\n{head} {{\n{body}\n}}\n"


def read_again(setup: Setup, text: str) -> tuple[ToldDescriptor, ...]:
    """What a written driver launches. Raises InputError where anything of it was not read."""
    driver = read_driver(Source("move.c", text), {BASE: "0"}, setup.front_end)
    for entry in driver.entries:
        for doubt in entry.doubts:
            raise InputError(f"`{doubt.part}` cannot be said in C: {doubt.why}", None, "use another form")
    return tuple(one for entry in driver.entries for one in entry.told)


def _accesses(map_: registers.RegisterMap, told: Sequence[ToldDescriptor]) -> Iterator[str]:
    """The writes and launching reads of a register image."""
    for line in registers.write(map_, told).splitlines()[1:]:
        words = line.partition("#")[0].split()
        if words[0] == "read":
            yield f"(void){_register(words[1])}"
        else:
            yield f"{_register(words[0])} = {words[2]}u"


def _register(offset: str) -> str:
    return f"*(volatile uint32_t *)({BASE} + {offset})"


def _call(front: str, told: ToldDescriptor) -> str:
    """One launch as a call of the Snitch or the Cheshire runtime."""
    inst64.write([told])  # refuses what a launch of two dimensions without options cannot say
    request, dims = told.descriptor.request, told.descriptor.dims
    if {request.src_protocol, request.dst_protocol} != {AXI}:
        raise InputError("calls of the runtimes name no protocol", None, "another form says it")
    more = [str(x) for d in dims for x in (d.dst_stride, d.src_stride, d.reps)]
    if front == "desc64":
        name, wide = "sys_dma_2d_memcpy" if dims else "sys_dma_memcpy", True
    else:
        wide = max(request.src, request.dst) >> 32 > 0
        name = f"snrt_dma_start_{len(dims) + 1}d{'_channel' * (told.channel > 0)}{'_wideptr' * wide}"
        more += [str(told.channel)] * (told.channel > 0)
    ends = [f"0x{x:x}ull" if wide else f"(void *)0x{x:x}" for x in (request.dst, request.src)]
    return f"{name}({', '.join((*ends, str(request.length), *more))})"
