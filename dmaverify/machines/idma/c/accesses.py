"""Registers of an engine as a driver accesses them: writes are held, a read of `next_id` launches what they hold.

Knows: addresses, pages of registers, widths of accesses. Does not know: calls, descriptors in memory, rules.
Law: a read that launches, or may launch, is a launch or is told; registers that may hold something else launch nothing
that is known.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from dmaverify.errors import InputError
from dmaverify.machines.idma import registers
from dmaverify.machines.idma.c.arguments import Misaligned, polynomial
from dmaverify.machines.idma.c.code import Part
from dmaverify.machines.idma.c.doubts import Doubted
from dmaverify.machines.idma.c.effects import target_of
from dmaverify.machines.idma.c.numbers import UINT, Value, converted, unknown
from dmaverify.machines.idma.c.run import Runner
from dmaverify.machines.idma.text import ToldDescriptor, reserved
from dmaverify.targets.modules import Derived
from dmaverify.values import replace

PAGE, REGISTER = 0x1000, 4


class RegisterReader(Runner):
    """Follows accesses to registers; what a launch becomes is `added`."""

    map: registers.RegisterMap | None = None
    pages: dict[int, dict[int, Value]]
    facts: list[Derived]
    blurred: str
    stored: Part | None = None  # some write to registers

    @abstractmethod
    def added(self, told: ToldDescriptor, at: Part) -> Value:
        """The id of a launch, as a value."""

    def doubted(self, call: Part, why: str) -> Value:
        self.doubts.append(Doubted(call, why))
        return unknown(why)

    def outside(self, part: Part, why: str) -> None:
        self.doubted(part, why)

    def _field_expression(self, part: Part) -> Value:
        if self.map is not None and "next_id" in str(part.field("field")):
            return self.doubted(part, "registers as a structure are not read: write them by their addresses")
        return super()._field_expression(part)

    def accessed(self, access: Part, address: Value, written: Value | None) -> Value:
        written = None if written is None else self.plain(written, access)
        if self.map is None:
            return super().accessed(access, address, written)
        if address.number is None:
            if written is not None:
                self.blurred = self.blurred or f"`{access}` is written, and {address.why}"
            elif self.blurred or "volatile" in str(access):
                return self.doubted(access, f"it may launch: {address.why}")
            return super().accessed(access, address, written)
        page, register = _split(address.number)
        if address.type.step != REGISTER and (written is not None or page in self.pages):
            self.blurred = self.blurred or f"`{access}` is an access of another width than a register's"
            return super().accessed(access, address, written)
        if written is not None:
            self.stored = access
            self.pages.setdefault(page, {})[register] = converted(written, UINT)
        elif _launching(register) and page in self.pages:
            return self._read(access, self.pages[page], register)
        return super().accessed(access, address, written)

    def _read(self, access: Part, page: Mapping[int, Value], register: int) -> Value:
        """A read of next_id launches what the registers hold."""
        assert self.map is not None
        if self.blurred:
            return self.doubted(access, self.blurred)
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
        try:
            told = registers.launched(self.map, numbers, access.span)
        except InputError as error:
            return self.doubted(access, error.message)
        conf = numbers.get(registers.CONF, 0)
        self.facts.append(reserved(conf, self.map.conf_mask, "conf", access.span))
        return self.added(replace(told, channel=(register - registers.NEXT_ID) // 4), access)

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
            if access.type == "pointer_expression" and str(access).startswith("*"):
                at = self.value(access.field("argument"))
            elif access.type == "subscript_expression":
                at = self.element(access)
            else:
                continue
            if access not in written and (at.number is None or _launching(_split(at.number)[1])):
                self.doubts.append(Doubted(access, "it may launch, or not"))
            elif "volatile" in str(access):
                self.blurred = self.blurred or f"`{access}` may run, or not"


def _launching(register: int) -> bool:
    """Whether a read of a register launches."""
    return bool(registers.NEXT_ID <= register < registers.NEXT_ID + 4 * registers.STREAMS)


def _split(address: int) -> tuple[int, int]:
    """The page of registers that an address is in, and the register; the base of an argument begins a page."""
    poly = polynomial(address)
    register = (address if poly is None else poly.terms.get((), 0)) % PAGE
    page = address - register
    if page % PAGE != 0:
        raise Misaligned(min(poly.symbols) if poly is not None else "")
    return page, register
