"""Descriptors of an image as items with facts: the engine of each, what its rules look at, what earlier ones still do.

Knows: images, the engines that options name. Does not know: files, C, how items are judged.
Law: an engine that a text states is the one that is judged; where an option says otherwise, that is a problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dmaverify.errors import InputError
from dmaverify.machines.idma.derive import descriptor_facts
from dmaverify.machines.idma.engine import AXI, NAMES
from dmaverify.machines.idma.forms import period_facts
from dmaverify.machines.idma.nd import placed
from dmaverify.machines.idma.order import OrderInstances, itself, meetings, rows_twice
from dmaverify.machines.idma.planted import planted_facts
from dmaverify.machines.idma.released import ReleaseCase, release_facts
from dmaverify.machines.idma.setup import Setup, agree, setup_of
from dmaverify.machines.idma.text import Image, ToldDescriptor
from dmaverify.prove.flow.listed import ListedItem
from dmaverify.targets.target import Target

NO_MOVE = "no move is given: rules of the engine and its protocols alone were judged"

_TESTS = frozenset({"idma/zero-length"})
"""What the jobs of test benches do on purpose, and a back-end that rejects it answers with an error."""


def setup_for(told: ToldDescriptor, target: Target, given: Mapping[str, int | str] | None = None) -> Setup:
    """The engine for a descriptor: as given, else the base engine with its protocols and enough dimensions."""
    options: dict[str, int | str] = {**told.options, **(given or {})}
    if "variant" not in options and "preset" not in options:
        request = told.descriptor.request
        src, dst = NAMES[request.src_protocol], NAMES[request.dst_protocol]
        options["variant"] = f"rw_{src}" if src == dst else f"r_{src}_w_{dst}"
    if not {"preset", "address_width"} & options.keys() and wide(told):
        options["address_width"] = 64
    if "preset" not in options:
        options.setdefault("dims", max(4, len(told.descriptor.dims) + 1))
    return setup_of(target, options)


def supposed(every: Iterable[ToldDescriptor], given: Mapping[str, int | str] | None = None) -> tuple[str, ...]:
    """What descriptors are taken to say of an engine of which the options do not: its ports, the width of addresses."""
    out = dict[str, None]()
    for one in every:
        named, request = {*one.options, *(given or ())}, one.descriptor.request
        src, dst = request.src_protocol, request.dst_protocol
        if not {"variant", "preset"} & named and (src, dst) != (AXI, AXI):
            out[f"the engine reads with {NAMES[src]} and writes with {NAMES[dst]}"] = None
        if not {"address_width", "preset"} & named and wide(one):
            out["addresses have 64 bits"] = None
    return tuple(out)


def _setups(image: Image, target: Target, given: Mapping[str, int | str] | None) -> list[Setup]:
    """The engine of every descriptor; equal ones are one."""
    known: dict[tuple[object, ...], Setup] = {}
    out = []
    for told in image.told:
        d = told.descriptor
        key = (*told.options.items(), wide(told), len(d.dims), d.request.src_protocol, d.request.dst_protocol)
        out.append(known[key] if key in known else known.setdefault(key, setup_for(told, target, given)))
    return out


def items_of(
    image: Image, target: Target, given: Mapping[str, int | str] | None = None
) -> Iterator[ListedItem | InputError]:
    """Each descriptor of an image with what rules look at, also of what earlier ones still do."""
    if image.ordered:  # jobs of test benches fail on purpose
        yield from (InputError(*problem) for problem in image.problems)
    setups = _setups(image, target, given)
    others = meetings(image, setups) if image.ordered else [OrderInstances()] * len(setups)
    for number, (told, setup, other) in enumerate(zip(image.told, setups, others, strict=True)):
        for name, value in told.options.items():
            if given and name in given and not agree(name, given[name], value):
                said = f"option `{name}` is {given[name]}, but this descriptor says {value}"
                yield InputError(said, told.span, "leave the option out: the text says it")
        if said := setup.missing_channel(told.channel):
            yield InputError(said, told.span, "launch it on a channel that there is, or say how many: channels=N")
        d = told.descriptor
        dims = placed(d, setup.backend.address_width)
        if d.empty:  # judged as what it is: a transfer of nothing
            facts = list(descriptor_facts(setup, 0, 0, 0, (), "all repetitions are 0", promised=False))[:1]
        else:
            request = d.request
            facts = list(descriptor_facts(setup, request.src, request.dst, request.length, dims, "", promised=False))
        facts += planted_facts(told, setup)
        if not d.empty:
            word, periodic = told.word("flags"), number in dict(image.periods)
            facts += release_facts(target, [ReleaseCase(setup, d, None if word is None else word.value, periodic)])
        own, rows = itself(d, setup), OrderInstances() if d.empty else rows_twice(d, setup)
        facts += [*told.facts, *own.facts, *rows.facts, *other.facts]
        mild = _TESTS if not image.ordered and setup.backend.reject_zero else frozenset()
        yield ListedItem(
            f"descriptor {number}", told.span, facts, ("mem", "mem"), open=own.open or rows.open or other.open,
            mild=mild | (own.mild if not image.ordered else frozenset()),
        )  # fmt: skip
    if image.periods:
        setup = setup_for(image.told[0], target, given)
        yield ListedItem("events", image.told[0].span, period_facts(image, setup), counted=False)
    if image.facts:
        yield ListedItem("chain", image.told[0].span, image.facts, counted=False)


def wide(told: ToldDescriptor) -> bool:
    """Whether a descriptor has addresses that 32 bits do not hold."""
    return any(address >= 1 << 32 for address in (told.descriptor.request.src, told.descriptor.request.dst))
