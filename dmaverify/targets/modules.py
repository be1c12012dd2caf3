"""Machines that compute something themselves: their module, by the name that the target's data gives it.

Knows: `[machine] module` of a target, the functions that such a module has. Does not know: any machine.
Law: a target without a module derives nothing; whatever a module derives belongs to a scope that its target declares.

A machine's folder is a package of the room `machines`. Its `derive.py` has `check_options(target, options)`, which
raises InputError for options of a transfer that mean nothing, and `derived(transfer, target, commands)`, which gives
what the rules of the target's own scopes look at. `forms.py`, `reword.py`, `price.py` and `search.py`, where it has
them, read its texts, word findings as these have it, price commands and search plans; else the target's data says it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError
from dmaverify.values import dataclass, field

if TYPE_CHECKING:
    from dmaverify.errors import Span
    from dmaverify.program.command import Command
    from dmaverify.program.move import Transfer
    from dmaverify.targets.target import Target


class LaterPorts(Mapping[str, int]):
    """Ports some of which are worked out when they are asked; `raw` has these as functions."""

    def __init__(self, raw: Mapping[str, int | Callable[[], int]]) -> None:
        self.raw = raw

    def __getitem__(self, port: str) -> int:
        value = self.raw[port]
        return value() if callable(value) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)

    def __len__(self) -> int:
        return len(self.raw)


@dataclass(frozen=True, slots=True)
class Derived:
    """One thing that rules of a target's own scope look at: the scope's ports, where it is in words, which side.

    `spans` are the characters that single ports come from.
    """

    scope: str
    values: Mapping[str, int]
    place: str
    side: str = ""
    spans: tuple[tuple[str, Span], ...] = field(default=(), compare=False, repr=False)


def module_name(target: Target) -> str | None:
    """The name of the machine's module; None for a machine that is data alone."""
    name = target.raw.get("machine", {}).get("module")
    return str(name) if name else None


def part_of(target: Target, part: str) -> Any:
    """Module `part` of the machine's folder under `machines/`; None where the target names no folder, or the folder has
    no such module. Raises InputError where there is no such folder, or no `derive` in it.
    """
    name = module_name(target)
    if name is None:
        return None
    path = f"dmaverify.machines.{name}.{part}"
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not path.startswith(error.name):
            raise
        if error.name == path and part != "derive":
            return None
        raise InputError(f"{target.name} has no {part} of its own") from None


def _own(target: Target, name: str) -> Any:
    """A function that the machine's `derive` may have; None where it has not."""
    return getattr(part_of(target, "derive"), name, None)


def check_options(target: Target, options: Mapping[str, int | str]) -> None:
    """Raises InputError unless the options of a transfer are ones that the machine reads."""
    module = part_of(target, "derive")
    if module is not None:
        module.check_options(target, options)
    elif options:
        raise InputError(f"{target.name} reads no options", None, "leave `options` out")


def described_engine(target: Target, word: str) -> Mapping[str, int | str]:
    """The options of an engine that a file describes. Raises InputError."""
    own = _own(target, "described_engine")
    if own is None:
        raise InputError(f"{target.name} reads no files of engines", None, "write the options themselves")
    found: Mapping[str, int | str] = own(word)
    return found


def derived(transfer: Transfer, target: Target, commands: Sequence[Command]) -> Sequence[Derived]:
    """What the rules of the target's own scopes look at in a transfer."""
    module = part_of(target, "derive")
    found: list[Derived] = [] if module is None else list(module.derived(transfer, target, commands))
    found += [Derived(scope, dict(values), place, "", spans) for scope, values, place, spans in transfer.facts]
    assert all(one.scope in target.scopes for one in found)
    return found


def queue_of(target: Target, transfer: Transfer) -> str | None:
    """Which of the machine's queues a transfer without a named engine waits in, "" where there is one for all; None
    where an arbiter, or several engines at once, carry it out: then nothing orders it.
    """
    own = _own(target, "queue_of")
    if own is not None:
        found: str | None = own(target, transfer)
        return found
    route = target.routes.get((transfer.source.tier, transfer.dest.tier))
    return "" if route is None else route.queue


def kept_memory(target: Target, transfer: Transfer) -> Sequence[tuple[str, str, int, int]]:
    """(rule, memory, first byte, end) of what a transfer needs besides its tensors: no other step may touch it."""
    own = _own(target, "kept_memory")
    return () if own is None else tuple(own(target, transfer))


def write_port(target: Target, transfer: Transfer) -> str:
    """The port through which a transfer writes, where writes through two ports may overtake each other."""
    own = _own(target, "write_port")
    return "" if own is None else str(own(target, transfer))


def word_bytes(target: Target, options: Mapping[str, int | str]) -> int:
    """Bytes of the words in which a machine without requests streams what it moves; 0 where its data does not say."""
    own = _own(target, "word_bytes")
    return 0 if own is None else int(own(target, options))


def address_space(target: Target, transfer: Transfer, *, reads: bool) -> int | None:
    """Bytes that addresses of a side name, where rules of the machine's own hold commands within them; 0 where the side
    has no addresses.
    """
    own = _own(target, "address_space")
    return None if own is None else int(own(target, transfer, reads=reads))


def burst_windows(target: Target, options: Mapping[str, int | str]) -> tuple[int, ...] | None:
    """Bytes of the windows that the bursts of each side keep within, where both sides are cut at the places where one
    begins another; none where each is cut for itself, between words. None where that is not known.
    """
    own = _own(target, "burst_windows")
    found: tuple[int, ...] | None = None if own is None else own(target, options)
    return found


def what_decides(target: Target, transfer: Transfer, commands: Sequence[Command]) -> Mapping[str, object]:
    """What decides the bytes that a transfer leaves, besides which units its commands copy: all of its options, but
    those of which its machine says that they do not.
    """
    own = _own(target, "what_decides")
    return dict(transfer.options) if own is None else dict(own(target, transfer, commands))


def atom_bytes(target: Target, transfer: Transfer) -> int | None:
    """Bytes that the machine reads, then writes, at once; None where its data does not say."""
    own = _own(target, "atom_bytes")
    if own is not None:
        return int(own(target, transfer))
    geometry: Mapping[str, Mapping[str, int]] = target.raw.get("geometry", {})
    found = geometry.get("request_bytes")
    return None if found is None else int(found["value"])
