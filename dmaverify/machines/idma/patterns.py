"""Texts that fill memory, and the protocols that an instruction cannot mean: what is wrong with them.

Knows: constant patterns, what a 1D transfer of Init takes its value from, protocols by address map.
Does not know: how forms are read or written, verdicts.
Law: each 1D transfer of Init fills with the low byte of its own source address, so that rows fill alike only where
their sources lie multiples of 256 apart.

Source: iDMA v0.7.0, Init (the configuration word is the base of the transfer) and `inst64` (DMINIT alone is Init; the
protocols of DMCPY follow from the address map: OBI or AXI).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dmaverify.errors import InputError, Span
from dmaverify.machines.idma.engine import AXI, INIT, NAMES, OBI
from dmaverify.machines.idma.nd import Descriptor, Dim, placed, relative
from dmaverify.machines.idma.setup import Setup
from dmaverify.machines.idma.text import Image
from dmaverify.values import replace

Problem = tuple[str, Span | None, str]
VALUES = 256
"""Values of a byte."""


def filling(setup: Setup, image: Image) -> Iterator[Problem]:
    """What is wrong with transfers that fill memory with a promised pattern.

    Raises InputError where it is not documented what a transfer leaves behind.
    """
    for one in image.told:
        if one.descriptor.request.src_protocol != INIT or setup.pattern == "none":
            continue
        value = one.descriptor.request.src % VALUES
        if setup.pattern == "constant" and value != setup.value:
            what = f"this fills with 0x{value:02X}, promised is 0x{setup.value:02X}"
            yield what, one.span, "the value is the low byte of the source, or what dminit asks for"
        dims = placed(one.descriptor, setup.backend.address_width)
        turned = next((d.src_stride for d in dims if d.reps > 1 and d.src_stride % VALUES), None)
        if setup.pattern == "constant" and turned is not None:
            what = f"rows fill with other values: their sources, which hold the value, lie {turned} apart"
            yield what, one.span, "a source stride of 0"
        if setup.pattern != "constant" and (len(image.told) > 1 or one.descriptor.transfers > 1):
            raise InputError(
                f"where a pattern that is {setup.pattern} goes on behind a 1D transfer is not documented", one.span,
                "one 1D transfer, or a constant pattern",
            )  # fmt: skip


def unmapped(form: str | None, setup: Setup, image: Image) -> Iterator[Problem]:
    """Instructions on an engine of which the options name a protocol that no address maps to."""
    request = setup.request
    for one in image.told if form == "inst64" else ():
        made = one.descriptor.request.src_protocol == INIT
        for side, protocol in (("src", INIT if made else request.src_protocol), ("dst", request.dst_protocol)):
            if protocol not in (AXI, OBI) and not (made and side == "src"):
                what = f"option `{side}_protocol` is {NAMES[protocol]}, which no instruction asks for here"
                yield what, one.span, "dminit fills; copies read and write by OBI or AXI, as the address map says"


def with_value(setup: Setup, descriptor: Descriptor, dims: Sequence[Dim]) -> Descriptor:
    """A descriptor that fills with a constant, told its value in place of a source; others as they are. `dims` have
    strides per index.
    """
    if descriptor.request.src_protocol != INIT or setup.pattern != "constant":
        return descriptor
    still = relative([replace(dim, src_stride=0) for dim in dims])
    return Descriptor(replace(descriptor.request, src=setup.value), still)
