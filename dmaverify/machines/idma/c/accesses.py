"""Registers of an engine as a driver accesses them: writes are held, a read of `next_id` launches what they hold.

Knows: addresses, pages of registers, widths of accesses. Does not know: calls, descriptors in memory, rules.
Law: a read that launches, or may launch, is a launch or is told; registers that may hold something else launch nothing
that is known.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

from dmaverify.errors import InputError
from dmaverify.machines.idma import registers
from dmaverify.machines.idma.c.aggregates import KnownPointer, MemoryObject, StructType, WholeObject
from dmaverify.machines.idma.c.arguments import Misaligned, polynomial
from dmaverify.machines.idma.c.code import Part
from dmaverify.machines.idma.c.doubts import Doubted
from dmaverify.machines.idma.c.effects import DOES, bare, called_name, is_volatile, root_of, target_of
from dmaverify.machines.idma.c.numbers import UINT, ULLONG, Value, binary, converted, unknown
from dmaverify.machines.idma.c.pointers import PointerRunner
from dmaverify.machines.idma.c.reports import BusyFlags, CompletedId, Report
from dmaverify.machines.idma.text import ToldDescriptor, reserved
from dmaverify.targets.modules import Derived
from dmaverify.values import replace

PAGE, REGISTER = 0x1000, 4
FILLS = {"memset": 3, "bzero": 2, "memcpy": 3, "memmove": 3}
"""Functions of C that write memory from their first argument on, as many bytes as the last of so many says."""

BESIDE = "launches by calls and by registers: whether they are of one engine, in order, is not known"


class RegisterReader(PointerRunner):
    """Follows accesses to registers; what a launch becomes is `added`."""

    map: registers.RegisterMap | None = None
    pages: dict[int, dict[int, Value]]
    facts: list[Derived]
    told: list[ToldDescriptor]
    blurred: str
    stored: Part | None = None  # some write to registers
    entry: str = ""  # the function that begins
    sole: bool = False  # one function, `main`, is all that runs
    ever: frozenset[tuple[int, int]] = frozenset()  # (page, register) that functions of the file write, some time
    bank: MemoryObject | None = None  # stands for all registers where C leaves an order open
    by_call: bool  # a function of a runtime launched something
    first_page: int | None = None  # of the engine that is met first in the file
    wrote: set[tuple[int, int]]  # that the runs so far wrote
    smeared: list[tuple[int, int | None, Part]]  # first byte, bytes: memory that is written in one go

    @abstractmethod
    def added(self, told: ToldDescriptor, at: Part) -> Value:
        """The id of a launch, as a value."""

    def doubted(self, call: Part, why: str) -> Value:
        self.doubts.append(Doubted(call, why))
        return unknown(why)

    def outside(self, part: Part, why: str) -> None:
        self.doubted(part, why)

    def accessed(self, access: Part, address: Value, written: Value | None) -> Value:
        written = None if written is None else self.plain(written, access)
        if self.map is None:
            return super().accessed(access, address, written)
        if address.number is None:
            if written is not None:
                self.blurred = self.blurred or f"`{access}` is written, and {address.why}"
            elif self.blurred or self.may_be_register(access):
                return self.doubted(access, f"it may launch: {address.why}")
            else:
                self.no_register(access)
            return super().accessed(access, address, written)
        page, register = _split(address.number)
        if written is not None and address.type.step == 2 * REGISTER and self._is_wide(register):
            low = replace(address, type=replace(address.type, step=REGISTER))
            wide = converted(written, ULLONG)
            self.accessed(access, low, converted(wide, UINT))
            return self.accessed(access, binary("+", low, Value(1)), binary(">>", wide, Value(32)))
        if address.type.step != REGISTER and (written is not None or page in self.pages):
            self.blurred = self.blurred or f"`{access}` is an access of another width than a register's"
            if written is None and _launching(register, address.type.step):
                return self.doubted(access, self.blurred)
            return super().accessed(access, address, written)
        if written is not None:
            self.stored = access
            self.as_written(access)
            self.in_order(access)
            self.wrote.add((page if polynomial(page) is None else -1, register))
            self.pages.setdefault(page, {})[register] = converted(written, UINT)
        elif page in self.pages:
            if _launching(register):
                self.as_written(access)
                self.in_order(access)
                return self._read(access, page, register)
            if register % REGISTER == 0 and (report := self._reported(page, register)):
                self.as_written(access)
                return Value(None, UINT, f"`{access}` is what the engine says of itself", report=report)
        elif (launching := _launching(register, address.type.step)) or (register == 0 and polynomial(page) is not None):
            volatile = polynomial(page) is not None and self.may_be_register(access)
            if launching and (volatile or page in {at for at, _ in self.ever}):
                return self.doubted(access, f"what its registers hold where {self.entry}() begins is not known")
            if launching or volatile:
                self.conditions[f"`{access}` is no read of `next_id`"] = None
        return super().accessed(access, address, written)

    def as_written(self, access: Part) -> None:
        """What is not volatile, a compiler may leave out, repeat or move (C11, 5.1.2.3): that it does not is a
        condition.
        """
        if not is_volatile(self.file, access):
            self.conditions["accesses to the engine that are not volatile are compiled as they are written"] = None

    def in_order(self, access: Part) -> None:
        """Something is done that others of its kind must not be done before, or behind."""
        if self.bank is None:
            self.bank = MemoryObject("the registers", StructType("the registers", ()), access, 0)
        self.log.append((self.bank, True))

    def lose(self, whole: MemoryObject, why: str) -> None:
        if whole is not self.bank:
            super().lose(whole, why)
        else:
            self.blurred = self.blurred or why

    def _is_wide(self, register: int) -> bool:
        """Whether a register is the lower half of a value of 64 bits."""
        parts = self.map.parts if self.map is not None else {}
        low, high = parts.get(register), parts.get(register + REGISTER)
        return register % (2 * REGISTER) == 0 and low is not None and high is not None and low[0] == high[0]

    def may_be_register(self, access: Part) -> bool:
        """Whether an access is to what changes by itself, or is named as the register that launches."""
        return is_volatile(self.file, access) or "next_id" in str(access)

    def no_register(self, access: Part) -> None:
        """An access to memory that the file does not declare: that it is none to registers is a condition."""
        root = root_of(access)
        while root.type in ("cast_expression", "pointer_expression"):
            inner = bare(root.field("value") or root.field("argument"))
            root = root if inner is None else root_of(inner)
            if inner is None:
                break
        found = self.lookup(root) if root.type == "identifier" else None
        if isinstance(found, (WholeObject, KnownPointer)) or str(root) in self.arrays:
            return
        named = f"`{root}` points at" if root.type == "identifier" else f"`{access}` is an access to"
        self.conditions[f"{named} no registers"] = None

    def filled(self, call: Part, to: Value, size: int | None = None) -> None:
        """Memory that a function of C writes: registers that lie there hold what is not followed."""
        given = call.field("arguments")
        if given is None or not given.parts():
            return
        if to.number is None:
            self.no_register(given.parts()[0])
        else:
            self.smeared.append((to.number, None if size is None or polynomial(size) else size, call))

    def lent(self, call: Part, addresses: Sequence[Value], size: int = REGISTER) -> None:
        """A function of another file may read as many bytes from each of some addresses on."""
        for number in (one.number for one in addresses if one.number is not None):
            page, register = apart(number)
            if page in self.pages and size > 0 and _launching(register, size):
                self.doubted(call, "it may read `next_id`, which launches")
                return

    def _smears(self, page: int) -> Part | None:
        """What may have written a page of registers in one go."""
        for first, size, call in self.smeared:
            if polynomial(first) is not None or polynomial(page) is not None:
                if _split(first)[0] == page:
                    return call
                self.conditions[f"`{call}` writes no registers"] = None
            elif first < page + PAGE and (size is None or first + size > page):
                return call
        return None

    def _begins(self, numbers: Mapping[int, int]) -> str:
        """Why it is not known what a launch looks at: a register that the function does not write, and another one may
        have written before. That options are then as behind a reset is a condition.
        """
        assert self.map is not None
        for at, (part, shift) in registers.looked_at(self.map, numbers.get(registers.CONF, 0)).items():
            if at in numbers:
                continue
            if part in ("conf", "compute") or shift:
                named = f"the upper half of {part}" if shift else part
                self.conditions[f"{named} is 0 where {self.entry}() begins"] = None
            else:
                return f"0x{at:X}: what {part} holds where {self.entry}() begins is not known"
        return ""

    def _read(self, access: Part, base: int, register: int) -> Value:
        """A read of next_id launches what the registers hold."""
        assert self.map is not None
        page, call = self.pages[base], self._smears(base)
        if call is not None:
            return self.doubted(access, f"`{call}` may write its registers")
        if self.blurred or self.by_call:
            return self.doubted(access, self.blurred or BESIDE)
        if len(self.pages) > 1 and any(polynomial(base) is not None for base in self.pages):
            return self.doubted(access, "two addresses of registers may be the same")
        numbers = {}
        for at, value in sorted(page.items()):
            if value.number is None:
                return self.doubted(access, f"0x{at:X}: {value.why}")
            if at not in self.map.parts:
                return self.doubted(access, f"{self.map.name} has no register 0x{at:X} to write")
            numbers[at] = value.number
        if register % 4:
            return self.doubted(access, f"0x{register:X} is no register to read")
        if not self.sole and (why := self._begins(numbers)):
            return self.doubted(access, why)
        try:
            told = registers.launched(self.map, numbers, access.span)
        except InputError as error:
            return self.doubted(access, error.message)
        conf = numbers.get(registers.CONF, 0)
        self.facts.append(reserved(conf, self.map.conf_mask, "conf", access.span))
        return self.added(replace(told, channel=self._channel(base, register - registers.NEXT_ID)), access)

    def _channel(self, page: int, offset: int) -> int:
        """The channel of a copy of a register: engines at other addresses than the first one have their own."""
        stream = offset // REGISTER
        if polynomial(page) is not None:
            return stream
        self.first_page = page if self.first_page is None else self.first_page
        return stream if page == self.first_page else registers.OTHER_ENGINES + registers.STREAMS * page + stream

    def _reported(self, page: int, register: int) -> Report | None:
        """What a read of a register that launches nothing says of launches."""
        if registers.STATUS <= register < registers.NEXT_ID:
            return BusyFlags(self._channel(page, register - registers.STATUS), len(self.told))
        if registers.DONE_ID <= register < registers.DONE_ID + REGISTER * registers.STREAMS:
            return CompletedId(self._channel(page, register - registers.DONE_ID))
        return None

    def maybe_accessed(self, part: Part) -> None:
        """Registers in what may run or not: a read that launches, or may, is told; writes leave nothing known."""
        targets = (target_of(self.file, p) for p in part.every())
        written = [target for target in targets if target is not None]
        for target in written:
            if (target.type != "identifier" or str(target) in self.file.macros) and not self.designates(target):
                self.blurred = f"`{target}` may be written, or not"
        for access in part.every():
            if self.designates(access):
                continue
            if access.type == "call_expression" and called_name(self.file, access) in FILLS:
                to = next(iter(access.field("arguments").parts()), None)  # type: ignore[union-attr]
                plain = to is not None and not any(one.type in DOES for one in to.every())
                self.filled(access, self.value(to) if plain else unknown("an address that is not followed"))
            if access.type == "pointer_expression" and str(access).startswith("*"):
                at = self.value(access.field("argument"))
            elif access.type == "subscript_expression":
                at = self.element(access)
            elif access.type == "field_expression":
                at = self.member_address(access) or Value(0)
            else:
                continue
            if access not in written and (at.number is None or _launching(_split(at.number)[1])):
                self.doubts.append(Doubted(access, "it may launch, or not"))
            elif "volatile" in str(access):
                self.blurred = self.blurred or f"`{access}` may run, or not"


def _launching(register: int, width: int = REGISTER) -> bool:
    """Whether a read of so many bytes launches; where their number is not known, of a long one."""
    end = registers.NEXT_ID + 4 * registers.STREAMS
    return bool(register < end and register + (width or 2 * REGISTER) > registers.NEXT_ID)


def _split(address: int) -> tuple[int, int]:
    """The page of registers that an address is in, and the register; the base of an argument begins a page."""
    page, register = apart(address)
    if page % PAGE != 0:
        poly = polynomial(address)
        raise Misaligned(min(poly.symbols) if poly is not None else "")
    return page, register


def apart(address: int) -> tuple[int, int]:
    """An address as that of a page and what is added: in the page, or to the base of an argument."""
    poly = polynomial(address)
    register = (address if poly is None else poly.terms.get((), 0)) % PAGE
    return address - register, register
