"""Whether an engine reads a text as it is written, and which form its front-end reads.

Knows: forms, engines, images. Does not know: how a form is read, plan files.
Law: a text for another front-end than that of the engine is told, and so is what of it the engine reads otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

from dmaverify.errors import Span
from dmaverify.machines.idma import registers
from dmaverify.machines.idma.front_ends import PAPER
from dmaverify.machines.idma.setup import Setup
from dmaverify.machines.idma.text import Image
from dmaverify.targets.modules import Derived


def front_form(setup: Setup) -> str:
    """The form of an engine's own front-end; the bypass of a real-time front-end takes what the plain one does."""
    return setup.front_end.replace("_rt", "")


def front_end_facts(setup: Setup, form: str | None) -> list[Derived]:
    """The instance of scope `front_end`: a text for another front-end than that which the engine was said to have."""
    own = PAPER.get(setup.front_end, setup.front_end)
    if form in (None, "nd", "job") or own == "nd" or form in (own, front_form(setup)):
        return []
    return [Derived("front_end", {"foreign": 1}, f"{form}, the engine has {setup.front_end}")]


def misfits(form: str | None, setup: Setup, image: Image) -> Iterator[tuple[str, Span | None, str]]:
    """What of a text the engine reads otherwise: descriptors for another fetch bus, registers that have no high bits of
    its addresses.
    """
    width, span = setup.backend.address_width, image.told[0].span
    if form == "desc64" and setup.fetch_given and image.fetch != setup.fetch_width:
        what = f"the image is laid out for a fetch bus of {image.fetch} bits, the engine has {setup.fetch_width}"
        yield what, span, "the order of the words depends on it"
    if form in registers.MAPS and registers.MAPS[form].width < width:
        what = f"{form} has addresses of {registers.MAPS[form].width} bits, the engine {width}"
        yield what, span, "use a map of 64 bits, or say address_width = 32"
