"""What a driver launches: calls of the runtimes, register accesses, descriptors that are initialized.

Knows: the functions of the Snitch and Cheshire runtimes and the order of their arguments, counters of the PULP runtime;
a launching read of a register front-end. Does not know: rules, verdicts.
Law: every call that may launch becomes a descriptor, or is told with the reason why it was not read.

Source: snitch_cluster, `sw/snRuntime/src/dma.h`; cheshire, `sw/include/dif/dma.h`; registers: `registers`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from dmaverify.errors import did_you_mean
from dmaverify.machines.idma import registers
from dmaverify.machines.idma.c.accesses import BESIDE, FILLS, PAGE
from dmaverify.machines.idma.c.aggregates import KnownPointer, MemoryObject, Shape, WholeObject
from dmaverify.machines.idma.c.arguments import GivenMember, polynomial
from dmaverify.machines.idma.c.chains import ChainReader
from dmaverify.machines.idma.c.code import File, Part
from dmaverify.machines.idma.c.descriptors import field_of
from dmaverify.machines.idma.c.doubts import Doubted
from dmaverify.machines.idma.c.effects import called_name, is_no_value, macro_at, reaches, spreads, target_of
from dmaverify.machines.idma.c.in_flight import FlyingDescriptor
from dmaverify.machines.idma.c.names import (
    ASSERTIONS,
    CALLS,
    NO_LAUNCH,
    OF_C,
    TRACKING,
    UNREAD,
    WAITS,
    RuntimeCall,
)
from dmaverify.machines.idma.c.numbers import LLONG, UINT, ULLONG, WORD, CType, Value, converted, unknown
from dmaverify.machines.idma.c.pulp import (
    OWN_COUNTER,
    PULP_ALLOCATES,
    PULP_CALLS,
    PULP_CONSTANTS,
    PULP_FREES,
    PULP_WAITS,
    UnreadCall,
    pulp_descriptor,
)
from dmaverify.machines.idma.c.tiles import made_of
from dmaverify.machines.idma.engine import Request
from dmaverify.machines.idma.nd import Descriptor, Dim, signed
from dmaverify.machines.idma.text import Image, ToldDescriptor
from dmaverify.prove.sizes.trace import Stuck
from dmaverify.targets.modules import Derived
from dmaverify.values import dataclass, field

MOST_LAUNCHES = 10_000
MOST_SYMBOLIC, MOST_PLAIN = 64, 1000  # with arguments that are not known, and of such a function on plain numbers
MOST_CHANNELS = 8
"""Bits 4:2 of a dmcpy."""


_IDLE = re.compile(
    r'^(__)?asm(__)? *((__)?volatile(__)?)? *\( *"(fence|fence\.i|nop|pause)[ \w,]*"( *: *: *(: *"memory")?)? *\)$'
)
"""Assembly that orders accesses of a core, or does nothing: it launches nothing, and waits for nothing."""
_INSTRUCTION = re.compile(r"\bdm(src|dst|cpyi?|str|rep|user|init)\b|\.(word|4byte|long|int|insn|macro|include|inst)\b")
"""Assembly that is, or may be, an instruction of inst_64."""
NAMES = ("dst", "src", "length", "dst_stride", "src_stride", "reps")


@dataclass(frozen=True, slots=True)
class FunctionLaunches:
    """What one function launches when somebody calls it."""

    name: str
    told: tuple[ToldDescriptor, ...]
    waits: tuple[int, ...]
    doubts: tuple[Doubted, ...]
    foreign: str = ""  # what else may wait for launches, where something may
    partly: tuple[tuple[int, int], ...] = ()
    facts: tuple[Derived, ...] = ()
    until: tuple[tuple[int, int], ...] = ()
    supposed: tuple[str, ...] = ()  # what was taken to be so on the way, and nobody said
    assumed: tuple[str, ...] = ()
    members: tuple[GivenMember, ...] = ()
    pointees: Mapping[tuple[int, str], Shape] = field(default_factory=dict)  # what sides point at, by their types

    @property
    def image(self) -> Image:
        loose = any(one.channel < 0 for one in self.told)
        return Image(self.told, self.facts, waits=self.waits, partly=self.partly, until=self.until, loose=loose)


@lru_cache(maxsize=64)
def _meant(name: str) -> str | None:
    return did_you_mean(name, (*CALLS, *WAITS))


class Launcher(ChainReader):
    launching = frozenset((*CALLS, *PULP_CALLS))
    calls_read = frozenset((*CALLS, *PULP_CALLS, *ASSERTIONS, *PULP_ALLOCATES, *PULP_WAITS, *PULP_FREES, *WAITS))
    since: int | None = None
    """In a round that stands for others: the objects that were there before."""

    def __init__(self, file: File, defines: Mapping[str, str], word: int, map_: registers.RegisterMap | None) -> None:
        super().__init__(file, defines, word)
        self.map = map_
        self.shared, self.wrote = {}, set()
        self.tables: list[MemoryObject] = []  # of the file: structures that may be descriptors
        self.fresh()

    def fresh(self) -> None:
        """Nothing launched, nothing written."""
        self.told: list[ToldDescriptor] = []
        self.roles = self.unguarded = False
        self.waits: list[int] = []
        self.partly: list[tuple[int, int]] = []
        self.objects: dict[str, dict[str, Value]] = {}
        self.written: dict[str, Part] = {}
        self.engines: dict[str, int] = {}
        self.flying: list[FlyingDescriptor] = []
        self.homes: dict[str, int] = {}
        self.rested: dict[str, dict[str, Value]] = {}
        self.lifted: set[tuple[MemoryObject, int]] = set()
        self.handed = set()
        self.loosed: set[tuple[MemoryObject, tuple[int, int] | None]] = set()
        self.members: dict[str, GivenMember] = {}
        self.pointees: dict[tuple[int, str], Shape] = {}
        self.until: list[tuple[int, int]] = []
        self.asked: set[int] = set()
        self.stand = set()
        self.idle: set[str] = set()
        self.begin()
        self.foreign = ""
        self.doubts = []
        self.log.clear()
        self.pages: dict[int, dict[int, Value]] = {}
        self.facts: list[Derived] = []
        self.counters: list[list[int]] = []  # of the PULP runtime: the channels of their transfers
        self.blurred = ""
        self.by_call = False
        self.smeared = []

    # ------------------------------------------------------------ calls

    def called(self, call: Part, name: str, arguments: list[Part]) -> Value:
        here = name in self.file.functions
        own = here and name not in self.launching
        if name in ASSERTIONS and len(arguments) == 1 and not here:
            return self._asserted(call, arguments[0], self.truth(arguments[0]))
        if name in TRACKING and not own and not arguments:
            return Value(0)
        values = self._arguments(call, arguments, own)
        self.steps += 10 * (name in self.launching)  # its arguments are expressions
        if here and not own:
            return self.doubted(call, f"`{name}` is a function of this file, not the runtime's")
        found = self.entered(name, values, call) if here else self._of_runtime(call, name, values)
        return self._outside_call(call, name, arguments, values) if found is None else found

    def _arguments(self, call: Part, arguments: list[Part], own: bool) -> list[Value]:
        """What a call hands on; of a function that is followed, objects as they are."""
        marks, values = list[tuple[int, int]](), list[Value]()
        for one in arguments:
            marks.append(self.mark())
            values.append(self.tracked(one) if own else self._handed(one))
        if any(spreads(self.file, one) for one in arguments):
            values = [self.plain(value, call) for value in values]
            why = next((one.why for one in values if one.number is None and one.why), "")
            values = [unknown(why or f"how many arguments `{call}` has is not known", one.type) for one in values]
        if len(values) > 1 and self.open_in(call, [*arguments], marks):
            values = [unknown(f"the order within `{call}` is the compiler's", value.type) for value in values]
        return values

    def _of_runtime(self, call: Part, name: str, values: list[Value]) -> Value | None:
        """What a function of a runtime gives that launches, waits or is known by its name; None for any other."""
        if name in self.launching:
            return self._launched(call, CALLS[name], values) if name in CALLS else self._pulp(call, name, values)
        if name in PULP_ALLOCATES:
            return self._counter()
        if name in (*PULP_WAITS, *PULP_FREES):
            return self._completed(call, values) if name in PULP_WAITS else Value(0)
        if name in WAITS:
            self._waited(call, name, values)
            return Value(0)
        if name.startswith(UNREAD):
            self.steps += 10
            tile = made_of(call, name, len(values))
            if tile is not None:
                return self.entered(f"{name}/{len(values)}", values, call, tile)
            near = _meant(name)
            return self.doubted(call, f"`{name}` is not read{f'; {near}' if near else ''}")
        return None

    def _outside_call(self, call: Part, name: str, arguments: list[Part], values: list[Value]) -> Value:
        """A call of a function that is in no file here."""
        if not name.isidentifier() or any(name in scope for scope in self.scopes):
            return self.doubted(call, "a call through a pointer to a function, which is not read")
        if self.told and name not in NO_LAUNCH:  # those wait for nothing, either
            self.foreign = self.foreign or f"{name}()"
        self._outside(name)
        if self.chained:
            self.lent(call, values)
        elif self.map is not None and values:
            plain = name.removeprefix("__builtin_")
            size = values[-1].number if len(values) == FILLS.get(plain) else None
            if plain in FILLS:
                self.lent(call, values[1:-1], PAGE if size is None or polynomial(size) is not None else size)
                self.filled(call, values[0], size)
            else:
                self.lent(call, values)
        return super().called(call, name, arguments)

    def _handed(self, argument: Part) -> Value:
        """What a function of another file is given."""
        found = self.tracked(argument)
        place = found.place if isinstance(found, (KnownPointer, WholeObject)) else None
        known = place is not None and (not place.whole.lost or place.whole in self.handed)
        value = self.plain(found, argument)
        if known and place is not None and place.whole.lost:
            self.handed.add(place.whole)
        return value

    def hidden(self, use: Part) -> None:
        name = macro_at(self.file, use) if self.map is not None or self.chained else None
        if name is not None and reaches(self.file, name):
            self.doubts.append(Doubted(use, "a macro that is not read, which may launch"))

    def may_wait(self, part: Part, what: str = "") -> None:
        if self.told:
            condition = part.field("condition")
            loop = f"the loop {f'over {condition}' if condition else 'without a condition'}"
            self.foreign = self.foreign or what or loop

    def _asserted(self, call: Part, condition: Part, value: Value) -> Value:
        if self.arguments is not None:
            self.arguments.holds(f"{call}", value, call.span.line)
        elif value.number == 0:
            self.doubted(call, f"`{condition}` does not hold here")
        return Value(0)

    def _outside(self, name: str) -> None:
        """A function that another file has: what it launches is not known."""
        if name not in NO_LAUNCH:
            more = " and writes no registers" if self.map is not None else ""
            self.conditions[f"{name}() launches nothing{more}"] = None
            self.foreign_writes()

    def foreign_name(self, part: Part) -> Value:
        """A name that nothing in the file declares may be a macro of another file, which does anything."""
        known = str(part) in self.known or str(part) in NO_LAUNCH or OF_C.fullmatch(str(part))
        if self.stack and not self.file.declares(str(part)) and not known:
            self.conditions[f"`{part}` launches nothing"] = None
        return super().foreign_name(part)

    def foreign_statement(self, part: Part) -> None:
        if part.type == "identifier" and not self.file.declares(str(part)):
            self.foreign_name(part)
            self.foreign = self.foreign or (f"`{part}`" if self.told else "")

    def name(self, part: Part) -> Value:
        found, known = super().name(part), PULP_CONSTANTS.get(str(part))
        if found.number is not None or known is None:
            return found
        self.conditions[f"{part} is {known}, as in the PULP runtime"] = None
        return Value(known)

    def _counter(self) -> Value:
        self.counters.append([])
        return Value(None, UINT, "the number of a counter", -1 - len(self.counters))

    def _pulp(self, call: Part, name: str, values: list[Value]) -> Value:
        """A transfer of the PULP runtime: several run at a time, and its counter says when it is complete."""
        try:
            descriptor = pulp_descriptor(name, values)
        except UnreadCall as error:
            return self.doubted(call, str(error))
        given = name == "mchan_transfer" and len(values) != OWN_COUNTER
        if given and not self.counters:
            return self.doubted(call, "no counter is allocated before")
        counter = Value(0) if given else self._counter()
        channel = MOST_CHANNELS + len(self.told)
        self.counters[-1].append(channel)
        self.added(ToldDescriptor(descriptor, {}, call.span, channel=channel), call)
        return counter

    def _completed(self, call: Part, values: list[Value]) -> Value:
        """A wait for one counter, or for all there are."""
        known = -2 - (values[0].launch or 0) if values and values[0].launch is not None else -1
        if not values:
            self.waits.append(len(self.told))
        elif 0 <= known < len(self.counters):
            self.partly += [(len(self.told), channel) for channel in self.counters[known]]
        else:
            self.foreign = f"{call}, which may wait for some launches," if self.told else self.foreign
        return Value(0)

    def _waited(self, call: Part, name: str, values: list[Value]) -> None:
        numbers = [value.number for value in values]
        numbers += [0] if name == "snrt_dma_wait" and len(values) == 1 else []
        asked = values[0].launch if values and name in ("snrt_dma_wait", "snrt_dma_wait_channel") else None
        if name in ("snrt_dma_wait_all_channels", "snrt_dma_wait_all_channel") and numbers[:1] != [None] and numbers:
            most = numbers[0] or 0
            channels = list(range(most)) if name.endswith("s") else [most]
        elif name == "snrt_dma_wait_all" and (not values or numbers[0] is not None):
            channels = [numbers[0] or 0 if values else 0]
        elif asked is not None and asked >= 0 and self.told[asked].channel == numbers[-1]:
            self.settled(asked)
            return
        else:
            channels = []
            self.foreign = f"{call}, which may wait for some launches," if self.told else self.foreign
        self.partly += [(len(self.told), one) for one in channels if (len(self.told), one) not in self.partly]

    def _launched(self, call: Part, kind: RuntimeCall, values: list[Value]) -> Value:
        wanted = 3 + 3 * kind.dims + kind.channel
        chosen = kind.channel or (kind.address == WORD and len(values) == wanted + 1)  # a parameter with a default
        if len(values) != wanted + (chosen and not kind.channel):
            return self.doubted(call, f"it has {len(values)} arguments, not {wanted}")
        if self.map is not None and (self.wrote or self.ever):
            return self.doubted(call, BESIDE)
        self.by_call = True
        channel = values.pop() if chosen else Value(0)
        if channel.number is None or not 0 <= channel.number < MOST_CHANNELS:
            return self.doubted(call, f"channel: {channel.why or channel.number}")
        address = CType(kind.address, pointer=kind.address == WORD)
        given: list[int] = []
        for name, value in zip(NAMES, values, strict=False):
            own = self.taken(value, LLONG if "stride" in name else address if name in ("dst", "src") else ULLONG)
            if own.number is None:
                return self.doubted(call, f"{name}: {own.why}")
            low = -(1 << (kind.width - 1)) if "stride" in name else 0
            if name not in ("dst", "src") and not low <= own.number < 1 << kind.width:
                return self.doubted(call, f"{name} is {own.number}: a register of {kind.width} bits cuts it")
            given.append(own.number)
        strides = given[3:]
        dims = (Dim(strides[2], *(signed(s, kind.width) for s in (strides[1], strides[0]))),) if strides else ()
        descriptor = Descriptor(Request(given[1], given[0], given[2]), dims)
        found = self.added(ToldDescriptor(descriptor, {}, call.span, channel=int(channel.number)), call)
        if kind.waits:
            self.waits.append(len(self.told))
        return found

    def taken(self, value: Value, type_: CType) -> Value:
        """A value as a parameter of a runtime's function has it; a stride as it is."""
        return value if type_ == LLONG else converted(value, type_)

    def added(self, told: ToldDescriptor, at: Part) -> Value:
        most = 0 if self.arguments is None else MOST_PLAIN if self.arguments.trace is None else MOST_SYMBOLIC
        if most and len(self.told) >= most:
            raise Stuck(f"more than {most} launches")
        if len(self.told) >= MOST_LAUNCHES:
            if not any(d.part.span == at.span for d in self.doubts):
                self.doubts.append(Doubted(at, f"it is launched more than {MOST_LAUNCHES:,} times"))
            self.steps += 100  # the answer is UNKNOWN: a loop without an end need not be followed as far as others
            return unknown("too many launches")
        self.told.append(told)
        self.unguarded |= not self.guards
        return Value(None, UINT, "the id of a launch", len(self.told) - 1)

    def completed_now(self) -> frozenset[int]:
        """The launches that are complete where the function is now."""
        everything, until = max(self.waits, default=0), dict[int, int]()
        for channel, end in (
            *((channel, before) for before, channel in self.partly),
            *((self.told[last].channel, last + 1) for _, last in self.until),
        ):
            until[channel] = max(end, until.get(channel, 0))
        return frozenset(n for n, one in enumerate(self.told) if n < max(everything, until.get(one.channel, 0)))

    def disturbed(self, part: Part) -> None:
        known = {"", *self.launching, *WAITS, *PULP_WAITS, *PULP_ALLOCATES, *self.file.functions, *self.file.macros}
        for inner in part.every():
            if inner.type == "expression_statement":
                self.foreign_statement(next(iter(inner.parts()), inner))
            held = inner.type != "identifier" or str(inner) in self.defines or any(str(inner) in s for s in self.scopes)
            if not held and not is_no_value(inner):
                self.foreign_name(inner)
            name = called_name(self.file, inner) if inner.type == "call_expression" else ""
            if name not in known:
                self._outside(name)
            elif inner.type == "gnu_asm_expression" and not _IDLE.search(f"{inner}"):
                if self.map is None and not self.chained and _INSTRUCTION.search(f"{inner}"):
                    self.doubts.append(Doubted(inner, "assembly, which may launch"))
                self.conditions["assembly launches nothing"] = None
            left = target_of(self.file, inner)
            if left is None or left.type != "field_expression" or self.private(left):
                continue
            if field_of(left) in ("src", "dst"):
                self.doubts.append(Doubted(inner, "it may be written, or not"))
        kinds = ("call_expression", "gnu_asm_expression")
        waits = next((p for p in part.every() if p.type in kinds and not _IDLE.search(f"{p}")), None)
        if waits is not None and self.told:
            self.foreign = self.foreign or f"{waits}"
        for loop in (p for p in part.every() if p.type in ("while_statement", "do_statement")):
            self.may_wait(loop)
        if self.map is not None:
            self.maybe_accessed(part)
        if self.chained:
            self.maybe_launched(part)
        self.followed(part, self.disturbed)
