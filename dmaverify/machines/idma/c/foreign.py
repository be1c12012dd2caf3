"""Values that other files and memory give to a driver, as numbers of which nothing but the type is known.

Knows: results of functions of other files, what lies behind pointers that are arguments, addresses of the file's own
arrays, conditions that nobody can decide. Does not know: launches, rules, how a run is judged (`symbolic`).
Law: a value that is not read is one symbol, with all values of its type, wherever a type is known for it; two reads are
one symbol only where nothing can have changed in between, or where that nothing does is a condition that is said. With
registers in memory, or descriptors, reads of memory stay unread.

Source: snitch_cluster, `sw/runtime/src` (which core a function runs on does not change).
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.language.numbers import Poly
from dmaverify.machines.idma.c.accesses import FILLS
from dmaverify.machines.idma.c.aggregates import (
    ArrayType,
    KnownPointer,
    MemoryObject,
    ObjectPlace,
    StructType,
    WholeObject,
    member_around,
    offset_of,
    place_in,
    size_of,
)
from dmaverify.machines.idma.c.arguments import GivenMember, GoneArray, polynomial
from dmaverify.machines.idma.c.arrays import whole
from dmaverify.machines.idma.c.code import Part
from dmaverify.machines.idma.c.effects import DOES, bare, root_of, target_of
from dmaverify.machines.idma.c.members import MemberReader
from dmaverify.machines.idma.c.names import CLUSTER, NO_LAUNCH, OF_A_CORE, OTHER_ROLE, PLACES, ROLE
from dmaverify.machines.idma.c.numbers import BOOL, UINT, UNREAD, CType, Value, is_real, literal, unknown
from dmaverify.machines.idma.c.run import RESULT
from dmaverify.machines.idma.c.shapes import STATIC
from dmaverify.machines.idma.nd import Descriptor, absolute, signed
from dmaverify.machines.idma.text import ToldDescriptor
from dmaverify.prove.sizes.bounds import Ends, least_of
from dmaverify.prove.sizes.shadow import poly_of
from dmaverify.prove.sizes.trace import Stuck, Trace
from dmaverify.values import replace

Ranges = tuple[tuple[int, int], ...]
"""Where something lies, and how many bytes: each of them holds it. Of no bytes: nobody knows how many."""


class ForeignReader(MemberReader):
    """A launcher to which what it does not read is given as symbols, in runs with arguments."""

    epoch = 0
    """How often the file itself has written memory that is not followed."""
    lent_out = False
    """Whether a function of another file ran, which may write what a caller gave."""

    def fresh(self) -> None:
        super().fresh()
        self.static: set[MemoryObject] = set()
        self.sizes: dict[int, tuple[int, StructType]] = {}  # symbols of structures that are laid out somehow
        self.extents: dict[int, tuple[ToldDescriptor, tuple[Poly, Poly] | None]] = {}
        self.counted: dict[tuple[Poly, ...], tuple[int, ToldDescriptor | None, int]] = {}
        self.held: list[Ranges] = []  # of numbers of memory that are read

    # ------------------------------------------------------------ functions of other files

    def called(self, call: Part, name: str, arguments: list[Part]) -> Value:
        found = super().called(call, name, arguments)
        foreign = self._is_foreign(name)
        self.epoch += foreign and name.removeprefix("__builtin_") in FILLS
        self.lent_out |= foreign and name not in NO_LAUNCH
        if self.arguments is None or not self.stack or not foreign or found.number is not None:
            return found
        symbols = self.arguments.symbols
        if name in OF_A_CORE:
            symbols.cores |= {f"{name}()"} if name == CLUSTER else set()
            return self.arguments.same(f"{name}()", UINT)
        if name in (ROLE, OTHER_ROLE):
            symbols.chosen.add(f"{ROLE}()")
            role = self.arguments.same(f"{ROLE}()", BOOL)
            return role if name == ROLE or role.number is None else replace(role, number=1 - role.number)
        pointer = CType(self.word, pointer=True, step=1)
        type_ = self.results.get(name) or (pointer if name in PLACES else None)
        if type_ is None:
            return replace(found, origin=f"{name}()")
        given = self.given(call, f"{name}()", type_, found.why)
        symbols.places |= names_in(given.number) if name in PLACES else set()
        return given

    def _is_foreign(self, name: str) -> bool:
        known = name in self.file.functions or name in self.file.macros or any(name in scope for scope in self.scopes)
        return name.isidentifier() and not known and name not in self.calls_read

    def foreign_name(self, part: Part) -> Value:
        found = super().foreign_name(part)
        return replace(found, origin=str(part)) if found.number is None and self.file.others else found

    def _sizeof_expression(self, part: Part) -> Value:
        found = super()._sizeof_expression(part)
        value = bare(part.field("value"))
        named = value is not None and value.type == "identifier" and not self._is_value(str(value))
        if found.number is not None or self.arguments is None or not self.stack:
            return found
        if part.field("type") is None and not named:
            return found
        size = self.arguments.same(f"{part}", CType(self.word), least=1)
        shape = self.sized_shape(part)
        if isinstance(shape, StructType) and shape.laid and size.number is not None:
            self.sizes[id(shape)] = size.number, shape
        return size

    # ------------------------------------------------------------ what gets a type

    def given(self, part: Part | None, name: str, type_: CType | None, why: str) -> Value:
        if part is not None and part.type == "init_declarator" and self._of_reals(part):
            return unknown(why, type_ or UNREAD)
        return super().given(part, name, type_, why)

    def _of_reals(self, part: Part) -> bool:
        """Whether floating point decides a value, which the text computes: no value that somebody chooses."""
        for one in part.every():
            held = self.lookup(one) if one.type == "identifier" else None
            if (held is not None and is_real(held.type)) or (
                one.type == "number_literal" and literal(str(one), self.word).number is None
            ):
                return True
        return False

    def converted_to(self, value: Value, type_: CType | None, name: str) -> Value:
        if value.number is None and value.origin and type_ is not None and self.arguments is not None and self.stack:
            return self.given(None, value.origin, type_, value.why)
        return super().converted_to(value, type_, name)

    def taken(self, value: Value, type_: CType) -> Value:
        return self.converted_to(value, type_, "") if value.origin else super().taken(value, type_)

    def _stored(self, part: Part, left: Part | None, value: Value, *, in_place: bool) -> Value:
        plain = type(value) is Value and value.number is None and value.launch is None and value.report is None
        if left is not None and self._lies_in_memory(left):
            self.epoch += 1
        elif left is not None and plain and not in_place and self.arguments is not None and self.stack:
            held = self.lookup(left)
            if held is not None and type(held) is Value and held.type != UNREAD and not self._of_reals(part):
                value = self.given(left, str(left), held.type, value.why)
        return super()._stored(part, left, value, in_place=in_place)

    def _kept_in(self, place: ObjectPlace, left: Part, value: Value) -> Value:
        self.epoch += place.whole.escaped
        return super()._kept_in(place, left, value)

    def disturbed(self, part: Part) -> None:
        targets = [target_of(self.file, one) for one in part.every()]
        self.epoch += any(one is not None and self._lies_in_memory(one) for one in targets)
        super().disturbed(part)

    def _lies_in_memory(self, target: Part) -> bool:
        """Whether what is set lies in memory: it is no variable, or a structure of the file as a whole."""
        held = self.lookup(target) if target.type == "identifier" else None
        inner = any(str(target) in scope for scope in self.scopes[1:])
        return target.type != "identifier" or (not inner and (held is None or held.type == UNREAD))

    # ------------------------------------------------------------ memory

    def _field_expression(self, part: Part) -> Value:
        return self._member(part, super()._field_expression(part))

    def _member(self, part: Part, found: Value) -> Value:
        """A member of what a pointer points at that somebody else gives: what memory holds there."""
        op = part.node.child_by_field_name("operator")
        if found.number is not None or type(found) is not Value or op is None or not self._reads():
            return found
        type_, at = self.static_type(part), part.field("argument")
        real = type_ is not None and is_real(type_)
        base = (
            unknown("it does more")
            if at is None or any(p.type in DOES for p in at.every())
            else self._around(at, in_it=op.type == ".")
        )
        if type_ is None or real or base.number is None or self.arguments is None:
            return found
        place = self._within(base, str(part.field("field")))
        loads = self._loads(place)
        self.held.append(place)
        key = f"{base.number} {self.epoch} {loads} {part.field('field')} {base.type.target}"
        root = root_of(part)
        where = "holds" if self.laid_at(root) is not None else "points at"
        self.conditions[f"what `{root}` {where} does not change while {self.entry}() runs"] = None
        name = f"{part}'" if self.epoch or loads else f"{part}"  # what is stated is stated of what the caller gives
        of, symbols = names_in(base.number), self.arguments.symbols
        moves = bool(self.epoch or loads or of & symbols.each or of - symbols.known.keys())  # `of` a round, the last
        each = self.arguments.rounds > 0 and moves
        value = self.arguments.same(name, type_, key, each=each)
        symbols.each |= names_in(value.number) if each else set()
        if self.epoch or loads or self.lent_out:
            return value
        if of <= symbols.chosen | (symbols.parameters or frozenset()):
            symbols.chosen |= names_in(value.number)
        return value

    def _around(self, at: Part, *, in_it: bool) -> Value:
        """A pointer to the structure of which a member is named: what points at it, or itself."""
        if not in_it:
            return self.value(at)
        place = self._place_of(at)
        return unknown(f"where `{at}` lies is not known") if place is None else self._pointing(*place)

    def _within(self, base: Value, name: str) -> Ranges:
        """Where a member of what a pointer points at lies, and all of that."""
        shape = base.type.target
        inner = offset_of(shape, (name,), self.word) if isinstance(shape, StructType) else None
        size = size_of(shape.member(name), self.word) if isinstance(shape, StructType) and inner is not None else 0
        assert base.number is not None
        around = base.number, base.type.step or self.sizes.get(id(shape), (0,))[0]
        return ((base.number + (inner or 0), size), around) if size else (around,)

    def _loads(self, place: Ranges) -> int:
        """How many launches so far may write to what lies somewhere, as what goes with that address."""
        key = tuple(poly_of(number) for span in place for number in span)
        seen, last, found = self.counted.get(key, (0, None, 0))
        if seen and (len(self.told) < seen or self.told[seen - 1] is not last):  # some were taken back
            seen, found = 0, 0
        found += sum(all(self._may_write(one, *span) for span in place) for one in self.told[seen:])
        self.counted[key] = len(self.told), self.told[-1] if self.told else None, found
        return found

    def changes_what_is_held(self, launches: int, reads: int) -> bool:
        """Whether launches, from one on, may write what is read, from one read on, in whatever order."""
        return any(
            all(self._may_write(one, *span) for span in place)
            for one in self.told[launches:]
            for place in self.held[reads:]
        )

    def _may_write(self, one: ToldDescriptor, at: int, size: int) -> bool:
        """Whether a launch that begins at the address of something, or so far from it, is not plain to lie beside its
        `size` bytes. What begins elsewhere, or only reaches it where addresses begin again at 0, is taken to lie apart,
        on the condition that nothing changes what is read.
        """
        dst, trace = one.descriptor.request.dst, self.arguments.trace if self.arguments is not None else None
        if id(one) not in self.extents:
            self.extents[id(one)] = one, self._extent(one.descriptor, trace)
        extent = self.extents[id(one)][1]
        if trace is None and extent is not None:
            low, end = (dst - at + (side.constant or 0) for side in extent)
            return low < (size or 1 << 64) and end > 0
        begin, place = poly_of(dst), poly_of(at)
        apart = whole(begin - place, trace.floors if trace is not None else {})
        with_it = any(begin.terms.get(mono) == 1 == place.terms[mono] for mono in place.terms if len(mono) == 1)
        if apart.constant is None and not with_it:
            return False
        box = _box(trace)
        return extent is None or not (
            _holds(apart + extent[0] - poly_of(size or 1 << 64), box) or _holds(-apart - extent[1], box)
        )

    def _extent(self, descriptor: Descriptor, trace: Trace | None) -> tuple[Poly, Poly] | None:
        """From where on and up to where a launch writes at most, from the address on at which it begins; None where
        that is not plain.
        """
        low, end, dims = Poly.of(0), poly_of(descriptor.request.length), descriptor.dims
        if any(polynomial(number) is not None for dim in dims for number in (dim.reps, dim.dst_stride)):
            box, floors = _box(trace), trace.floors if trace is not None else {}
            many, by = poly_of(dims[0].reps), whole(poly_of(dims[0].dst_stride), floors)
            if len(dims) > 1 or not _holds(many, box):
                return None
            up, down = _holds(by, box), _holds(-by, box)
            return (low, end + many * by) if up else (low + many * by, end) if down else None
        for dim in absolute(dims):
            if not self.word and abs(dim.dst_stride) >= 1 << 31:  # below 0 in 32 bits, or far above
                return None
            jump = (dim.reps - 1) * (signed(dim.dst_stride, self.word) if self.word else dim.dst_stride)
            low, end = low + Poly.of(min(0, jump)), end + Poly.of(max(0, jump))
        return low, end

    def name(self, part: Part) -> Value:
        found = super().name(part)
        if found.number is None and found.origin.startswith("&") and self._reads() and self.arguments is not None:
            name = str(part)
            scope = next((one for one in reversed(self.scopes) if name in one), {})
            size = scope.get(f"sizeof {name}") if name not in self.elsewhere else None
            long = size.number if size is not None else None
            return self.begin_of(name, found.type, found.origin, long or 0)
        return found

    def plain(self, value: Value, part: Part) -> Value:
        """An address that goes where objects are not followed: where its object lies, and how far into it."""
        found = super().plain(value, part)
        place = value.place if isinstance(value, (WholeObject, KnownPointer)) else None
        held = isinstance(value, KnownPointer) or (place is not None and isinstance(place.shape, ArrayType))
        if found.number is not None or place is None or not held or not self.lays_out or not self._reads():
            return found
        whole, at = place.whole, place_in(place, self.word)
        if at is None:
            return found
        each = self.since is not None and whole.born > self.since
        name = whole.name if isinstance(whole.shape, ArrayType) else f"&{whole.name}"
        long = size_of(whole.shape, self.word)
        base = self.begin_of(name, found.type, _address_of(whole), long, each=each)
        if base.number is None:
            return base
        member, shape, path = member_around(place)
        if (own := size_of(shape, self.word)) != long:  # that no launch leaves the whole is asked of every launch
            begin, first = offset_of(whole.shape, path, self.word), bool(path) and isinstance(path[-1], str)
            first = first and offset_of(whole.shape, path[:-1], self.word) == begin
            long = own if begin is not None else 0
            array = isinstance(shape, ArrayType)
            self._member_at(GivenMember(base.number + (begin or 0), long, member, shape, array, first))
        return replace(base, number=base.number + at)

    def _pointer_expression(self, part: Part) -> Value:
        """`&name` of what lies outside of functions, and is not followed: where it lies, the linker says."""
        found, of = super()._pointer_expression(part), self.operand(part.field("argument"))
        named = str(part).startswith("&") and of is not None and of.type == "identifier"
        if not str(part).startswith("&"):
            return self._decayed(part, found)
        if found.number is None and type(found) is Value and (place := self._place_of(of)) is not None:
            if of is not None and not named:
                self._given_out(of, *place)
            return self._pointing(*place)
        if found.number is not None or type(found) is not Value or not named or of is None or not self._reads():
            return found
        if f"{part}" in self.defines or any(str(of) in scope for scope in self.scopes[1:]):
            return found
        if not self.file.declares(str(of)):
            self.foreign_name(of)
        return self.begin_of(f"&{of}", found.type, f"&{of}", 0)

    def _object(self, part: Part, declarator: Part, name: str, initial: Part | None) -> bool:
        made, held = super()._object(part, declarator, name, initial), self.scopes[-1].get(name)
        if isinstance(held, WholeObject) and held.place and any(str(one) == "static" for one in part.parts()):
            self.static.add(held.place.whole)
        return made

    def closes(self, scope: Mapping[str, Value]) -> None:
        for name, held in scope.items() if self.arguments is not None and self._reads() else ():
            key = "" if STATIC in held.origin else held.origin
            if isinstance(held, WholeObject) and held.place is not None:
                key = "" if held.place.whole in self.static else _address_of(held.place.whole)
            if key.startswith("&") and self.arguments is not None:
                running = frozenset(range(len(self.told))) - self.completed_now()
                self.arguments.gone.append(GoneArray(name, key, len(self.told), running))

    def literal_object(self, part: Part) -> MemoryObject:
        return self._passing(super().literal_object(part))

    def copied(self, value: Value, name: str, part: Part) -> Value:
        found = super().copied(value, name, part)
        if name == RESULT and isinstance(found, WholeObject) and found.place is not None:
            self._passing(found.place.whole)
        return found

    def _passing(self, whole: MemoryObject) -> MemoryObject:
        """An object without a name, which is taken to be gone at once."""
        if self.arguments is not None:
            self.arguments.gone.append(GoneArray(whole.name, _address_of(whole), 0))
        return whole

    # ------------------------------------------------------------ conditions

    def run(self, part: Part) -> None:
        if self.doubts and self.arguments is not None and self.arguments.trace is not None:
            raise Stuck(f"`{self.doubts[0].part}`: {self.doubts[0].why}")  # whatever follows, the run is open
        super().run(part)


def _address_of(whole: MemoryObject) -> str:
    """By what the address of an object is kept."""
    return f"&{whole.name} object {whole.born}"


def names_in(number: int | None) -> set[str]:
    """The symbols of a number."""
    poly = None if number is None else polynomial(number)
    return set() if poly is None else set(poly.symbols)


def _box(trace: Trace | None) -> Ends:
    """The ranges of symbols, and of quotients of what is not negative."""
    box = Ends() if trace is None else dict(trace.ends)
    for one in trace.floors.values() if trace is not None else ():
        if one.name not in box and _holds(one.top, box) and _holds(one.bottom, box):
            box[one.name] = (0, None)
    return box


def _holds(poly: Poly, box: Ends) -> bool:
    """Whether a number is never below 0 where symbols have these ranges."""
    least = least_of(poly, box)
    return least is not None and least >= 0
