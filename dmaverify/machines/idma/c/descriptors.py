"""Descriptors in memory: structures of a driver that are initialized, or written field by field.

Knows: names of the fields of a descriptor, flags and links of desc_64. Does not know: calls, registers, rules.
Law: a structure with a source, a destination and a length is a descriptor that somebody launches, some time. On an
engine that is fed with chains its flags and what it leads to are part of it: what they are not known to be is said.

Source: iDMA v0.7.0, `idma_desc64_synth_pkg`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dmaverify.machines.idma.c.aggregates import (
    MOST_CELLS,
    MemoryObject,
    Path,
    WholeObject,
    cells_of,
    count_of,
    first_cells,
)
from dmaverify.machines.idma.c.code import Part, declared
from dmaverify.machines.idma.c.numbers import UINT, ULLONG, Value, converted
from dmaverify.machines.idma.c.polls import PollReader
from dmaverify.machines.idma.desc64 import END, KNOWN_FLAGS, DescriptorWords, request_of
from dmaverify.machines.idma.engine import Request
from dmaverify.machines.idma.jobs import request_options
from dmaverify.machines.idma.nd import Descriptor
from dmaverify.machines.idma.text import ToldDescriptor, bits, reserved
from dmaverify.prove.sizes.trace import Stuck
from dmaverify.values import replace

FIELDS = {
    "dst": ("dst", "dest", "dst_addr", "dest_addr", "destination"), "src": ("src", "source", "src_addr"),
    "length": ("length", "len", "size"),
}  # fmt: skip
OF_CHAINS = {
    "flags": ("flags", "config", "conf", "cfg"),
    "next": ("next", "next_desc", "next_descriptor", "next_addr"),
}
"""What desc_64 has besides."""


class DescriptorReader(PollReader):
    """Follows structures; a descriptor becomes what is `added`, on no channel that is known."""

    told: list[ToldDescriptor]
    objects: dict[str, dict[str, Value]]  # that are written field by field
    written: dict[str, Part]  # where last
    tables: list[MemoryObject]  # of the file: structures that may be descriptors
    since: int | None

    def declare(self, part: Part, *, keep: bool = True) -> None:
        super().declare(part, keep=keep)
        for child in part.node.children_by_field_name("declarator"):
            initial = Part(child, part.text).field("value")
            if initial is None or initial.type != "initializer_list":
                continue
            found = self.scopes[-1].get(declared(Part(child, part.text))[0])
            if not isinstance(found, WholeObject) or found.place is None:
                self._initialized(initial)
            elif not self.stack and any(field_of_name(str(path[-1])) for path, _ in first_cells(found.place.shape)):
                self.tables.append(found.place.whole)

    def escapes(self, whole: MemoryObject) -> None:
        """An object whose address goes where it is not followed: what is named as descriptors are named, is one."""
        owners = {path[:-1] for path in whole.named if field_of_name(str(path[-1]))}
        for owner in sorted(owners, key=str):
            if self.gone(whole, owner):
                continue
            given = {
                own: whole.cell(path, ULLONG)
                for path in whole.named if path[:-1] == owner and (own := field_of_name(str(path[-1])))
            }  # fmt: skip
            if set(given) == set(FIELDS):
                every = cells_of(whole.shape) if count_of(whole.shape) <= MOST_CELLS else ()
                more = {own: whole.cell(path, ULLONG) for path, _ in every
                        if path[:-1] == owner and (own := of_chain(str(path[-1])))}  # fmt: skip
                self._in_memory(whole.part, {**given, **more})
                self._flagged(whole.name, more)
            elif {"src", "dst"} & given.keys():
                missing = " and ".join(name for name in FIELDS if name not in given)
                self.conditions[f"`{whole.name}` without {missing} is no descriptor"] = None

    def gone(self, whole: MemoryObject, owner: Path) -> bool:
        """Whether a descriptor of an object was launched where that was read."""
        return False

    def _initialized(self, part: Part) -> None:
        """A structure with a source, a destination and a length, named as descriptors name them."""
        given: dict[str, Part] = {}
        for pair in part.parts():
            if pair.type == "initializer_list":
                self._initialized(pair)
            names, value = pair.field("designator"), pair.field("value")
            if pair.type == "initializer_pair" and names is not None and value is not None:
                name = str(names).lstrip(".")
                if found := field_of_name(name) or of_chain(name):
                    given[found] = value
        if given.keys() >= FIELDS.keys():
            self._in_memory(part, {name: self.value(one) for name, one in given.items()})
            self._flagged(str(part), given)

    def placed(self, field: Part, value: Value) -> None:
        name = field_of(field) or of_chain(str(field.field("field")))
        if not name or (name in OF_CHAINS and not self.chained):
            return
        if self.since is not None:
            raise Stuck("descriptors that a loop writes")
        owner = self.owner_of(field)
        held = self.objects.setdefault(owner, {})
        if name in held:
            self.again(owner, field)
        held[name] = self.as_laid(field, name, value)
        self.written[owner] = field

    def owner_of(self, field: Part) -> str:
        """The structure that a member belongs to, as it is written."""
        owner, index = str(field.field("argument")), field.field("argument")
        while index is not None and index.type == "subscript_expression":
            at = self.value(index.field("index"))
            owner = f"{owner} at {at.number}" if at.number is not None else owner
            if at.number is None:
                self.doubted(field, f"`{owner}`: {at.why}")
            index = index.field("argument")
        return owner

    def again(self, owner: str, field: Part) -> None:
        """A member that is written already is written once more."""
        self.doubted(field, f"`{field}` is written again: which value is launched is not read")

    def as_laid(self, field: Part, name: str, value: Value) -> Value:
        """What the engine finds where a member lies."""
        return value

    def assign(self, name: str, value: Value) -> None:
        super().assign(name, value)
        gone = [owner for owner in self.objects if re.search(rf"\b{re.escape(name)}\b", owner.partition(" at ")[0])]
        for owner in gone:
            self.unfinished(owner)

    def finish(self) -> None:
        """The function ends: what was written and nobody launched here, somebody launches some time."""
        for owner in list(self.objects):
            self.unfinished(owner)

    def unfinished(self, owner: str) -> None:
        """A structure of which no more is written."""
        held, part = self.objects.pop(owner), self.written.pop(owner)
        missing = [name for name in FIELDS if name not in held]
        if not missing:
            self._in_memory(part, held)
            self._flagged(owner, held)
        elif {"src", "dst"} & held.keys():
            self.conditions[f"`{owner}` without {' and '.join(missing)} is no descriptor"] = None

    def _in_memory(self, part: Part, given: Mapping[str, Value]) -> None:
        """A descriptor in memory: somebody launches it, some time."""
        if self.since is not None:
            raise Stuck("descriptors that a loop writes")
        values = {name: converted(given[name], ULLONG) for name in FIELDS}
        unread = next((f"{name}: {v.why}" for name, v in values.items() if v.number is None), None)
        if unread is not None:
            self.doubted(part, unread)
            return
        numbers = {name: value.number or 0 for name, value in values.items()}
        descriptor = Descriptor(Request(numbers["src"], numbers["dst"], numbers["length"]))
        told = ToldDescriptor(descriptor, {}, part.span, channel=-1 - len(self.told))
        self.added(self._in_chain(told, given, part), part)

    def _in_chain(self, told: ToldDescriptor, given: Mapping[str, Value], part: Part) -> ToldDescriptor:
        """The descriptor with what its flags ask for; a link that leads to no descriptor that is read is told."""
        if not self.chained:
            return told
        if "next" in given and (after := converted(given["next"], ULLONG).number) not in (None, END):
            self.doubted(part, f"its chain goes on at 0x{after:x}, and what lies there is not read")
        if "flags" not in given:
            return told
        flags, r = converted(given["flags"], UINT), told.descriptor.request
        if flags.number is None:
            self.doubted(part, f"flags: {flags.why}")
            return told
        asked = request_of(DescriptorWords(0, r.length, int(flags.number), END, r.src, r.dst))
        types = {f"{side}_burst": min(2, bits(int(flags.number), high, high - 1)) for side, high in
                 (("src", 2), ("dst", 4))}  # fmt: skip
        self.facts.append(reserved(int(flags.number), KNOWN_FLAGS, "flags of a descriptor", part.span))
        return replace(told, descriptor=Descriptor(asked), options={**request_options(asked), **types})

    def _flagged(self, name: str, given: Mapping[str, object]) -> None:
        """Says of a descriptor without flags what they are taken to be."""
        if self.chained and "flags" not in given:
            shown = name if len(name) <= 40 else f"{name[:37]}..."
            self.conditions[f"the flags of `{shown}` ask for INCR bursts"] = None


def field_of(part: Part) -> str:
    """What a field is in a descriptor, "" where it is nothing of it."""
    return field_of_name(str(part.field("field")))


def field_of_name(name: str) -> str:
    return next((own for own, known in FIELDS.items() if name in known), "")


def of_chain(name: str) -> str:
    """The same of what only a chain has."""
    return next((own for own, known in OF_CHAINS.items() if name in known), "")
