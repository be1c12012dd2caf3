"""Bus errors that a job says will come: whether anything of its descriptor is there to fail.

Knows: walks of both sides in bus words. Does not know: what the engine does then, rules, files.
Law: an error comes where, and only where, its side touches the bus word of its address.

Source: iDMA paper, 2.3 (Error Handler); iDMA v0.7.0, `jobs/`, `idma_error_handler` (reports name the bus word).
"""

from __future__ import annotations

from collections.abc import Iterator

from dmaverify.errors import Span
from dmaverify.machines.idma.engine import NO_ADDRESS
from dmaverify.machines.idma.nd import Descriptor
from dmaverify.machines.idma.order import RLIMIT, command_of
from dmaverify.machines.idma.setup import Setup
from dmaverify.machines.idma.text import PlantedError, ToldDescriptor
from dmaverify.prove.meet import Walk, shared, side_of
from dmaverify.prove.smt import Session
from dmaverify.targets.modules import Derived

LEFT = {"continue": "what arrives there is undefined", "abort": "what is behind it is not moved"}


def comes(descriptor: Descriptor, error: PlantedError, setup: Setup) -> bool:
    """Whether the descriptor touches the bus word of the error; where that is not decided, it is taken to."""
    request, word = descriptor.request, setup.backend.word
    protocol = request.src_protocol if error.side == "read" else request.dst_protocol
    if not descriptor.bytes or protocol in NO_ADDRESS:
        return False
    walk = side_of(command_of(descriptor, setup.backend.address_width), writes=error.side == "write")
    touched = Walk(error.address - error.address % word, ((word, 1),))
    return shared(walk, touched, Session(RLIMIT), "idma/error-address") != "unsat"


def planted_facts(told: ToldDescriptor, setup: Setup) -> Iterator[Derived]:
    """The instances of scope `planted` of one descriptor."""
    for number, error in enumerate(told.errors):
        hit = int(comes(told.descriptor, error, setup))
        yield Derived("planted", {"hit": hit}, f"{error.side} error {number} at 0x{error.address:x}", error.side)


def failing(told: ToldDescriptor, setup: Setup) -> Iterator[tuple[str, Span | None]]:
    """What the errors that come leave of the bytes of a descriptor, and where they are written."""
    for error in told.errors:
        if comes(told.descriptor, error, setup):
            said = f"the {error.side} at 0x{error.address:x} fails, answered by {error.action}: {LEFT[error.action]}"
            yield said, error.span
