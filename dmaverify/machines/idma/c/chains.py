"""Chains of descriptors that a driver launches: a store of an address to `desc_addr`, links, waits for marks.

Knows: registers of desc_64, when a descriptor is launched and waited for. Does not know: rules, verdicts.
Law: what is launched is what lies in memory where the engine looks for it, in the order of its stores and links. A loop
that reads marks, or the busy bit, and does nothing else, ends when they say complete, if it ends at no other value that
they can have.

Source: iDMA v0.7.0, `idma_desc64_top` (status, completion in order).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from dmaverify.machines.idma.c.accesses import PAGE, REGISTER, apart
from dmaverify.machines.idma.c.aggregates import (
    ArrayType,
    KnownPointer,
    MemoryObject,
    StructType,
    UnreadType,
    spots_of,
)
from dmaverify.machines.idma.c.arguments import Misaligned, polynomial
from dmaverify.machines.idma.c.code import Part
from dmaverify.machines.idma.c.descriptors import field_of, of_chain
from dmaverify.machines.idma.c.effects import target_of
from dmaverify.machines.idma.c.in_flight import AS_MEMBER, MARK, ONES, FlightReader, FlyingDescriptor, named
from dmaverify.machines.idma.c.numbers import UINT, ULLONG, CType, Value, converted, unknown
from dmaverify.machines.idma.c.reports import SomeReport
from dmaverify.machines.idma.desc64 import (
    END,
    KNOWN_FLAGS,
    SIZE,
    WIDTHS,
    DescriptorWords,
    Neighbours,
    layout_of,
    link_values,
    request_of,
)
from dmaverify.machines.idma.jobs import request_options
from dmaverify.machines.idma.nd import Descriptor
from dmaverify.machines.idma.text import ToldDescriptor, reserved
from dmaverify.prove.sizes.trace import Stuck
from dmaverify.targets.modules import Derived
from dmaverify.values import replace

DESC_ADDR, STATUS = 0, 8
MOST_ASKED = 3


class ChainReader(FlightReader):
    """Follows launches of chains on an engine that is fed with them."""

    engines: dict[str, int]  # pages of registers that launch, with their channel
    until: list[tuple[int, int]]
    partly: list[tuple[int, int]]
    busy: int | None = None  # the status register, where a condition is tried
    idle: set[str]

    # ------------------------------------------------------------ registers

    def member_address(self, part: Part) -> Value | None:
        name = str(part.field("field"))
        if self.map is not None:
            return self._register_address(part)
        if not self.chained or field_of(part) or of_chain(name):
            return None
        missing = unknown(f"where `{part}` lies is not known") if "desc_addr" in name else None
        return self._address_of(part) or missing

    def _address_of(self, part: Part) -> Value | None:
        """Where a member lies, as a pointer to its first number; None where that is not known."""
        (shape, at), name = self.struct_of(part), str(part.field("field"))
        own = self.member_spot(shape, (name,))
        if own is None or at.number is None or (self.map is None and own[2] != (name,)):
            return None
        return Value(at.number + own[0], CType(self.word, pointer=True, step=own[1]))

    def _register_address(self, part: Part) -> Value | None:
        """Where a member lies that may be a register; None of what is memory, as a condition says."""
        volatile, found = self.may_be_register(part), self._address_of(part)
        if volatile or (found is not None and found.number is not None and polynomial(found.number) is None):
            return found or unknown(f"where `{part}` lies is not known")
        self.no_register(part)
        return None

    def _field_expression(self, part: Part) -> Value:
        if self.map is not None and not self.designates(part):
            address = self._register_address(part)
            if address is not None and address.number is None:
                super()._field_expression(part)
            if address is not None and self._is_array(part):
                return address
            return super()._field_expression(part) if address is None else self.accessed(part, address, None)
        if self.chained and self.flying and not self.designates(part):
            address = self._address_of(part)
            if address is not None:
                return self.accessed(part, address, None)
        return super()._field_expression(part)

    def _is_array(self, part: Part) -> bool:
        """Whether a member is an array, whose name is the address of its first element."""
        shape, name = self.struct_of(part)[0], str(part.field("field"))
        own = shape.member(name) if isinstance(shape, StructType) else None
        return isinstance(own.of if isinstance(own, UnreadType) else own, ArrayType)

    def accessed(self, access: Part, address: Value, written: Value | None) -> Value:
        if not self.chained:
            return super().accessed(access, address, written)
        number, step = address.number, address.type.step
        if number is None:
            if isinstance(written, KnownPointer) or (written is not None and "desc_addr" in str(access)):
                self.doubted(access, f"it may launch: {address.why}")
            return super().accessed(access, address, written)
        if written is None and step in (4, 8):
            found = self.marked(None, number, step, CType(8 * step))
            if found is not None:
                return found
        page, register = _page(number)
        if written is None and register in (STATUS, STATUS + 4) and page in self.engines:
            self.idle.add(page)
            shown = None if self.busy is None or register != STATUS else self.busy
            said = SomeReport() if shown is None else None
            return Value(shown, CType(8 * (step or 4)), "what the engine says of itself", report=said)
        if written is not None and register == DESC_ADDR:
            return self._started(access, number, step, written)
        if written is not None and self.flying:
            self.raced(None, number, step or SIZE, access)
        return super().accessed(access, address, written)

    def _started(self, access: Part, register: int, step: int, written: Value) -> Value:
        """A store to what may be `desc_addr`."""
        page, owner = _page(register)[0], named(written.number)
        known = isinstance(written, KnownPointer) or owner in self.objects or owner in self.rested
        if step == WIDTHS["next"] and known:
            poly = polynomial(register)
            if poly is not None and register % PAGE != 0:
                raise Misaligned(min(poly.symbols))
            self._launch(access, page, written)
        elif page in self.engines or _may_be_place(written, step) or self._may_be_address(step, written):
            self.doubted(access, f"what it launches is not read: {written.why or 'no descriptor is written there'}")
        else:
            self.conditions[f"`{access}` is no `desc_addr` of the engine"] = None
        return written if type(written) is Value else unknown("an address")

    def lent(self, call: Part, addresses: Sequence[Value], size: int = REGISTER) -> None:
        if not self.chained:
            super().lent(call, addresses, size)
        elif any(_page(one.number) in [(page, DESC_ADDR) for page in self.engines] for one in addresses if one.number):
            self.doubted(call, "it may write `desc_addr`, which launches")

    def _may_be_address(self, step: int, written: Value) -> bool:
        """Whether what is stored may be where a descriptor of the function lies, in a way that is not followed."""
        whole = step != WIDTHS["next"] // 2 and (self.objects or self.rested or self.lifted)
        return isinstance(written, KnownPointer) or (written.number is None and bool(self.loosed or whole))

    def entered(
        self, name: str, arguments: list[Value] | None, at: Part | None = None, function: Part | None = None
    ) -> Value:
        before = self.serial
        found = super().entered(name, arguments, at, function)
        for one in self.flying if name != "main" else ():
            if one.whole is not None and one.whole.born > before and not one.whole.constant:
                why = f"`{one.whole.name}` ends with {name}(), and the engine may still fetch it"
                self.doubted(at or self.file.functions[name].field("declarator") or one.whole.part, why)
        return found

    # ------------------------------------------------------------ launches

    def _launch(self, access: Part, page: str, head: Value) -> None:
        """All descriptors of a chain, in order."""
        if self.since is not None:
            raise Stuck("chains that a loop launches")
        channel = self.engines.setdefault(page, len(self.engines))
        self.in_order(access)
        own: list[tuple[FlyingDescriptor, DescriptorWords]] = []
        again: set[int] = set()
        at = head
        while at.number is None or at.number != END:
            found = self._lies(at, access)
            if found is None:
                return
            whole, place, owner, words = found
            met = next((n for n, (f, _) in enumerate(own) if f.whole is whole and f.at == place), None)
            if met is not None:
                again.add(met)
                break
            if any(one.whole is whole and one.at == place for one in self.flying):
                self.doubted(access, f"it launches `{owner}` again, which may still run")
                return
            numbers = self._numbers(words, place, owner, access)
            if numbers is None:
                return
            number = len(self.told) + len(own)
            own.append((FlyingDescriptor(number, page, whole, place, owner, words, numbers), numbers))
            at = words["next"]
        if not own:
            self.doubted(access, "it launches the end of a chain")
        self._covered([numbers for one, numbers in own if one.whole is None])
        near = {whole: self._near(whole, own) for whole in {one.whole for one, _ in own}}
        for n, (one, numbers) in enumerate(own):
            where = f"descriptor at {one.owner}" if one.whole is None else f"descriptor `{one.owner}`"
            self.facts.append(Derived("chain", link_values(numbers, near[one.whole], again=n in again), where))
            self.facts.append(reserved(numbers.flags, KNOWN_FLAGS, f"flags of the {where}", access.span))
            asked = request_of(numbers)
            told = ToldDescriptor(Descriptor(asked), request_options(asked), access.span, channel=channel)
            self.added(told, access)
            self._takes_off(one)

    def _near(
        self, whole: MemoryObject | None, own: list[tuple[FlyingDescriptor, DescriptorWords]]
    ) -> Neighbours:  # fmt: skip
        """What lies around the descriptors of a chain; of an object it is only known where its own ones lie."""
        words = [numbers for one, numbers in own if one.whole is whole]
        if whole is None:
            return Neighbours.of([*words, *(one.numbers for one in self.flying if one.whole is None)])
        self.conditions[f"`{whole.name}` is aligned to {SIZE} bytes and apart from what is moved"] = None
        return replace(Neighbours(), places=Neighbours.of(words).places)

    def _covered(self, words: Sequence[DescriptorWords]) -> None:
        """Descriptors in flight that lie in what is launched now."""
        near = replace(Neighbours.of(words), places=Neighbours().places)
        for one in self.flying if words else ():
            values = link_values(one.numbers, near)
            if one.whole is None and (values["clobbered"] or values["sourced"]):
                self.facts.append(Derived("chain", values, f"descriptor at {one.owner}"))

    def _lies(
        self, at: Value, access: Part
    ) -> tuple[MemoryObject | None, int, str, Mapping[str, Value]] | None:  # fmt: skip
        """The descriptor at an address: its object, where in it, its name, its words. None where that is told."""
        if isinstance(at, KnownPointer) and at.place is not None:
            whole, spot = at.place.whole, self.spot(at.place)
            if (whole, spot) in self.loosed:  # it is told already, for any time
                if whole.constant or whole in self.handed:
                    given = f"`{whole.name}` is launched as it was when its address was given away"
                    self.conditions |= {} if whole.constant else {given: None}
                else:
                    self.doubted(access, f"what `{whole.name}` holds is not followed: {whole.lost or 'it is written'}")
                return None
            self.ready(whole)
            self.log.append((whole, False))
            whole.used = True
            if spot is None or at.place.path is None:
                self.doubted(access, at.place.why or f"how `{whole.name}` lies in memory is not known")
                return None
            owner = f"{whole.name}" + (f" + {spot[0]}" if spot[0] else "")
            return whole, spot[0], owner, self._words(whole, spot[0])
        owner = named(at.number)
        held = self.objects.get(owner) or self.rested.get(owner)
        if at.number is None or held is None or owner not in self.homes:
            why = at.why or f"no descriptor is written at {owner}"
            self.doubted(access, f"its chain goes on where nothing is read: {why}")
            return None
        words = {name: held.get(AS_MEMBER.get(name, name), unknown(f"`{owner}` has none")) for name in WIDTHS}
        return None, at.number, owner, words

    def _words(self, whole: MemoryObject, at: int) -> dict[str, Value]:
        """The words of a descriptor in an object, where the engine takes them."""
        return {name: self.word_at(whole, at + first, WIDTHS[name]) for name, first in layout_of(self.fetch).items()}

    def _numbers(self, words: Mapping[str, Value], place: int, owner: str, access: Part) -> DescriptorWords | None:
        """The words as numbers; None where one of them is not known, which is told."""
        numbers: dict[str, int] = {}
        for name, width in WIDTHS.items():
            value = converted(words[name], ULLONG if width == 8 else UINT)
            if value.number is None and not (name == "next" and isinstance(value, KnownPointer)):
                self.doubted(access, f"`{owner}`, {name}: {value.why}")
                return None
            numbers[name] = value.number if value.number is not None else END
        numbers["flags"] = int(numbers["flags"])
        return DescriptorWords(place, **numbers)

    def _takes_off(self, one: FlyingDescriptor) -> None:
        self.flying.append(one)
        if one.whole is None:
            for held in (self.objects, self.written, self.rested):
                held.pop(one.owner, None)
            return
        self.lifted.add((one.whole, one.at))
        for at, size, path, type_ in spots_of(one.whole.shape, self.word):
            if one.overlaps(one.whole, at, size, MARK):
                one.whole.cells[path] = unknown("the engine writes its mark there", type_)

    def _landed(self, one: FlyingDescriptor) -> None:
        """A descriptor is complete: its first words are ones."""
        self.flying.remove(one)
        layout = layout_of(self.fetch)
        if one.whole is None:
            held = {AS_MEMBER.get(n, n): ONES if layout[n] < MARK else value for n, value in one.words.items()}
            self.rested[one.owner] = held
            return
        for at, size, path, type_ in spots_of(one.whole.shape, self.word):
            if one.overlaps(one.whole, at, size, MARK):
                one.whole.cells[path] = converted(ONES, type_)

    # ------------------------------------------------------------ waits

    def polled(self, condition: Part | None, body: Part | None, update: Part | None) -> bool:
        if not self.chained:
            return super().polled(condition, body, update)
        if not self.flying or condition is None or update is not None or not self.waits_only(condition, body):
            return False
        if (found := self._complete_where(condition, way=False)) is None:
            return False
        self.as_written(condition)
        if body is not None:
            self.disturbed(body)
            self.forgotten(body, "a loop that waits")
        self._all_complete(*found)
        return True

    def left_by(self, condition: Part) -> None:
        if not self.chained:
            super().left_by(condition)
        elif found := self._complete_where(condition, way=False):
            self._all_complete(*found)

    def learned(self, condition: Part, value: Value, way: bool) -> bool:
        if not self.chained:
            return super().learned(condition, value, way)
        reads = bool(self.flying) and self._only_reads(condition)
        found = self._complete_where(condition, way) if reads else None
        if found is not None:
            self._all_complete(*found)
        elif not reads or self._complete_where(condition, not way) is None:
            self.may_wait(condition, f"the condition {condition}")
        return value.report is not None or found is not None or (reads and bool(self.asked or self.idle))

    def _complete_where(self, condition: Part, way: bool) -> tuple[list[int], list[str]] | None:
        """The launches, and the engines, of which all is complete wherever a condition that asks for them goes one way;
        None where it may go that way before.
        """
        before = len(self.told), len(self.doubts), len(self.objects)
        self.asked, self.idle = set(), set()
        complete = self._tried(condition, {}, 0)
        asked, pages = sorted(self.asked), sorted(self.idle)
        waits = complete is way and 0 < len(asked) + len(pages) <= MOST_ASKED
        for done in product((True, False), repeat=len(asked)) if waits else ():
            for busy in (0, 1, 3) if pages else (0,):
                if not all(done) or busy:
                    supposed = dict(zip(asked, done, strict=True))
                    waits = waits and self._tried(condition, supposed, busy) is (not way)
        if not waits or (sorted(self.asked), sorted(self.idle)) != (asked, pages) or len(pages) > 1:
            del self.doubts[before[1] :]
            return None
        if before != (len(self.told), len(self.doubts), len(self.objects)):
            raise Stuck("a condition that does more than to wait")
        return asked, pages

    def _all_complete(self, asked: Sequence[int], pages: Sequence[str]) -> None:
        for number in (*asked, *(max((f.number for f in self.flying if f.page == page), default=-1) for page in pages)):
            if any(one.number == number for one in self.flying):
                self.complete(number)

    def _tried(self, condition: Part, supposed: dict[int, bool], busy: int) -> bool | None:
        """Whether a condition holds, where launches are complete or not."""
        self.supposed, self.busy = supposed, busy
        try:
            found = self.truth(condition)
        finally:
            self.supposed = self.busy = None
        return None if found.number is None else bool(found.number)

    def complete(self, number: int) -> None:
        """A launch is complete, and with it all before it on its engine."""
        one = next(f for f in self.flying if f.number == number)
        self.settled(number)
        for other in [f for f in self.flying if f.page == one.page and f.number <= number]:
            self._landed(other)

    def maybe_launched(self, part: Part) -> None:
        """Stores in what may run, or not, that launch."""
        for inner in part.every():
            left, right = target_of(self.file, inner), inner.field("right")
            if left is None or left.type == "identifier" or self.designates(left):
                continue
            if right is not None and (self.is_address(right) or "desc_addr" in str(left)):
                self.doubted(inner, "it may launch, or not")
            elif left.type == "pointer_expression" and not self.sets(left):
                number = self.value(left.field("argument")).number
                if number is not None and _page(number)[0] in self.engines and _page(number)[1] == DESC_ADDR:
                    self.doubted(inner, "it may launch, or not")


def _may_be_place(written: Value, step: int) -> bool:
    """Whether a number that is stored is one that descriptors lie at."""
    number = written.number
    return step == WIDTHS["next"] and number is not None and polynomial(number) is None and bool(
        number and number % SIZE == 0
    )  # fmt: skip


def _page(address: int) -> tuple[str, int]:
    """The page of registers that an address is in, and the register; the base of an argument begins one."""
    page, register = apart(address)
    return named(page), register
