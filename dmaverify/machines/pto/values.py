"""Values of a kernel: every SSA name as a linear term, a pointer or a condition.

Knows: pointers in elements, names that fragments leave open, what had to be assumed.
Does not know: arithmetic, copies, registers, control flow.
Law: a value is exactly what the program gives it, or it is opaque and says so where it is needed.

Source: PTO castptr (bytes) and addptr (elements).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dmaverify.errors import Span, did_you_mean
from dmaverify.language.affine import ONE, ZERO, Cond, Lin, World, compare
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.limits import block_bytes
from dmaverify.machines.pto.moves import reading_of
from dmaverify.machines.pto.ops import Operand, ValueType
from dmaverify.machines.pto.stated import PLAIN, Register, Setting
from dmaverify.machines.pto.tiles import Reserved, TileType
from dmaverify.program.instructions import Copy, Event, Fit, Loose, NumberNeed, OperationFact, Place, Remark
from dmaverify.program.sticky import RegisterEvent
from dmaverify.prove.flow.accesses.ask import term_text
from dmaverify.values import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Lanes:
    """A mask: no lane from `count` on is active; `sure` says that all before it are. A lane has `lane_bytes`."""

    count: Lin
    lane_bytes: int
    sure: bool


@dataclass(frozen=True, slots=True)
class TileValue:
    """A tile: where it begins, its type, how many of its rows and columns are valid, elements from row to row."""

    place: Place
    kind: TileType
    rows: Lin
    cols: Lin
    pitch: int
    name: str = field(default="", compare=False)
    addressed: bool = False
    made: object = field(default=None, compare=False)  # the statement that makes it
    inside: tuple[str, ...] = field(default=(), compare=False)  # counters of the loops around that
    first: Lin = ZERO  # of its elements among those of the tile that it is a part of
    whole: TileValue | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TensorPart:
    """A tensor, or a part of one: sizes and strides of its dimensions in elements."""

    place: Place
    shape: tuple[Lin, ...]
    strides: tuple[Lin, ...]


Value = Lin | Place | Cond | Lanes | TileValue | TensorPart | None
_WORDS = frozenset(("true", "false", "not", "and", "or", "xor", "distinct", "as", "let", "forall", "exists", "par"))
_NAMED = re.compile(r"%c(_?)(\d+)(?:_(?:i\d+|index))?(?:_\d+)?")


@dataclass
class Kernel:
    """A function as events, with all that was found and assumed on the way."""

    name: str
    span: Span
    world: World
    events: tuple[Event, ...] = ()
    copies: list[Copy] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    assumptions: dict[str, None] = field(default_factory=dict)
    conditions: dict[str, None] = field(default_factory=dict)
    """What is taken of values and memory that nobody states: the verdict holds only if it is so."""
    roots: dict[str, ValueType] = field(default_factory=dict)
    passed: tuple[tuple[str, int], ...] = ()
    fits: list[Fit] = field(default_factory=list)
    needs: list[NumberNeed] = field(default_factory=list)
    facts: list[OperationFact] = field(default_factory=list)
    rooms: dict[tuple[str, int], Loose] = field(default_factory=dict)
    """Tiles without an address, by where they lie in a memory of their own."""
    tile_moves: int = 0
    """Loads and stores of tiles."""
    signals: int = 0
    """What other ranks are told or asked, and fences that make accesses seen."""
    alike: dict[object, dict[str, bool]] = field(default_factory=dict)
    """Names of tiles of as many elements at one address; `one_tile`: they are taken as one."""
    one_tile: bool = False
    idle: dict[int, Span] = field(default_factory=dict)
    """Copies of the text that no run reaches, by their order."""
    cube: tuple[Event, ...] = ()
    """What the text says of the cube core, beside the events of the vector core."""
    ranged: set[str] = field(default_factory=set)
    """Names whose values take a range that somebody states."""
    cores: tuple[str, ...] = ()
    """Symbols that are the number of a core; `same`: those of values that all cores of a launch are given."""
    same: frozenset[str] = frozenset()
    scopes: list[Sequence[Event]] = field(default_factory=list)
    """What stands in each vector scope, with its barriers of memory."""
    kept: Sequence[RegisterEvent] = ()
    """What is written into registers that keep it, and what copies take from them."""
    lost: list[Span] = field(default_factory=list)  # what values that are not followed decide, or what may order others
    kinds: frozenset[type[ops.Stmt]] = frozenset()  # of statements that the text has, whether they run or not
    fences: list[Span] = field(default_factory=list)  # which may order more than their pipes
    dropped: bool = False  # a copy that may run is no event: what it takes from registers is not known


def copies_in(body: Sequence[ops.Stmt]) -> Iterator[ops.CopyOp]:
    """The copies of the text, in its order, those that never run included."""
    return (stmt for stmt in ops.deep(body) if isinstance(stmt, ops.CopyOp))


def signed(value: int, bits: int) -> int:
    """What so many bits say with a sign; one bit has none."""
    half = 1 << max(0, bits - 1)
    return (value + half) % (2 * half) - half if bits > 1 else value % 2


def name_of(text: str) -> str:
    """The symbol of a value: a name that SMT-LIB has for nothing else."""
    plain = re.sub(r"\W", "_", text.lstrip("%"))
    return plain if plain[:1].isalpha() and plain not in _WORDS else f"v{plain}"


class Values:
    """What is known so far; the other parts of the walk build on it."""

    def __init__(self, function: ops.KernelFunction, setting: Setting) -> None:
        self.setting, self.target, self.block_bytes = setting, function.target, block_bytes(function.target)
        self.world = World()
        self.kernel = Kernel(function.name, function.span, self.world, one_tile=setting.one_tile)
        self.fragment = not function.name
        self.values: dict[str, Value] = {}
        self.constants: dict[str, tuple[int, ValueType]] = {}  # their bits, as written
        self.opaque: set[str] = set()
        self.unsure: set[str] = set()  # values that loops of unknown length carry: not every one is reached
        self.undefined: set[str] = set()
        self.registers: dict[str, Register] = {"atomic": PLAIN}
        self.kept: list[RegisterEvent] = []
        self.modes: dict[str, int] = {}  # store modes by their number
        self.consumed: dict[str, Span] = {}
        self.when: tuple[Cond, ...] = ()
        self.sides: tuple[Cond, ...] = ()  # of it, those of branches
        self.running: tuple[Cond, ...] = ()  # that the loops around have an iteration
        self.dry = self.number = self.counters = self.tile_end = 0
        self.order_of = {id(stmt): index for index, stmt in enumerate(copies_in(function.body), 1)}
        self.reached: set[int] = set()  # copies that some run may reach, by their order
        self.never_met: dict[object, bool] = {}  # of conditions that were asked for, whether no numbers meet them
        self.waiting: dict[str, tuple[str, Span, bool]] = {}  # loops set for copies that have not come yet
        self.trips: dict[str, str] = {}  # for counters of loops that nobody bounds, how often they run
        self.held_in: dict[str, Cond] = {}  # for those counters, the condition under which a round goes on
        self.reasons: dict[str, str] = {}
        self.machine: dict[str, str] = {}  # symbols of what the machine gives, by its operation
        self.cube: list[Event] = []
        self.tile_bytes: dict[object, int] = {}  # where tiles without an address lie, by their statement
        self.misplaced: set[str] = set()
        self.reserved: list[Reserved] = []  # for tiles of the other core
        self.popped: list[tuple[str, TileValue, object]] = []  # of the other core: which, in which loops and branches
        self.lying: dict[int, tuple[Place, int, bool]] = {}  # tiles with an address, by tile_bytes: where, size, boxes
        self.around: list[str] = []  # counters of the loops around, outside in
        self.arguments = {a[0]: f"arg{i}" for i, a in enumerate(function.args)} if setting.canonical else {}
        for name, kind, span in function.args:
            self.argument(name, kind, span)

    # ------------------------------------------------------------ values

    def argument(self, name: str, kind: ValueType, span: Span) -> Value:
        if kind.kind == "pointer":
            space = kind.space or "gm"
            root = self.arguments.get(name, name.lstrip("%"))
            value: Value = Place(space, root, ZERO, kind.item_bytes, kind.name)
            self.kernel.roots[root] = kind
            if space == "ub":
                self.suppose(f"{name} is a multiple of 32 and its buffer lies in UB")
        elif kind.kind == "other" and kind.name.startswith("memref"):
            value = None
        else:
            plain = name.lstrip("%")
            stated = self.ranges_of(name)
            low, high = stated or ((0, 1) if kind.bits == 1 else (None, None))
            called = self.arguments.get(name, plain if self.setting.canonical and self.fragment else name)
            known = low is not None
            value = self.world.free(name_of(called), low, high, stated=known, shown=called, alone=True)
            if stated:
                self.assume(f"{name} in {stated[0]:,}..{stated[1]:,}")
                if kind.kind == "int" and any(signed(end, kind.bits) != end for end in stated):
                    said = f"{kind.name} does not hold all of {stated[0]:,}..{stated[1]:,}, which is stated of {name}"
                    self.remark("ill", said, span, "state values that it can have, with a sign")
        self.values[name] = value
        return value

    def ranges_of(self, name: str) -> tuple[int, int] | None:
        """The range that somebody states of a value that this kernel is given."""
        plain = name.lstrip("%")
        self.kernel.ranged.add(plain)
        return self.setting.ranges.get(plain)

    def reading(self, name: str) -> str:
        return reading_of(self.setting.readings, name, self.target)

    def assume(self, text: str) -> None:
        if not self.dry:
            self.kernel.assumptions[text] = None

    def suppose(self, text: str) -> None:
        """Something that neither the text nor anybody else says."""
        if not self.dry:
            self.kernel.conditions[text] = None

    def remark(
        self,
        kind: str,
        message: str,
        span: Span,
        hint: str = "",
        labels: Sequence[tuple[Span, str]] = (),
        *,
        always: bool = True,
    ) -> None:
        if not self.dry:
            self.kernel.remarks.append(Remark(kind, message, span, hint, tuple(labels), always))

    def value(self, operand: Operand, kind: ValueType | None = None) -> Value:
        if operand.value is not None:
            return Lin(operand.value)
        if operand.name in self.values:
            found = self.values[operand.name]
            pointer = isinstance(found, TileValue) and found.addressed and kind is not None and kind.kind == "pointer"
            return found.place if pointer and isinstance(found, TileValue) else found
        if self.fragment:
            if kind is not None and kind.kind == "pointer":
                return self.argument(operand.name, kind, operand.span)
            named = _NAMED.fullmatch(operand.name)
            if named or operand.name in ("%true", "%false"):
                self.suppose("constants that are not defined have the value in their name")
                number = int(operand.name == "%true") if named is None else int(named[2]) * (-1 if named[1] else 1)
                return Lin(number)
            return self.argument(operand.name, ops.INDEX, operand.span)
        hint = did_you_mean(operand.name, [name for name, value in self.values.items() if value is not None])
        self.remark("unresolved", f"`{operand.name}` is not defined before its use", operand.span, hint or "")
        self.values[operand.name] = None
        self.undefined.add(operand.name)
        return None

    def number_of(self, operand: Operand, what: str) -> Lin | None:
        """An integer operand, or None with a remark at its place."""
        value = self.value(operand)
        if isinstance(value, Cond):
            value = self.as_number(value)
        if isinstance(value, Lin) and not (self.world.roots(value) & self.opaque):
            return value
        if operand.name in self.undefined:
            return None  # said where it was first used
        self.remark(
            "unresolved",
            f"{what} `{operand.name}` cannot be resolved",
            operand.span,
            "make it a constant, an argument, a loop counter, or arithmetic of those",
        )
        return None

    def said(self, value: Lin) -> str:
        """A term in the names of the text."""
        return value.shown() if value.is_const else term_text(value, self.world)

    def as_number(self, when: Cond) -> Lin:
        if when.known is not None:
            return Lin(int(when.known))
        return self.world.choose(when, ONE, ZERO)

    def as_condition(self, value: Value) -> Cond | None:
        if isinstance(value, Lin):
            return compare("ne", value)
        return value if isinstance(value, Cond) else None

    def fresh_opaque(self, name: str, low: int | None = None, *, fixed: bool = False) -> Lin:
        """A value that nothing defines; in a loop it may be another one each time, unless it is `fixed`."""
        varies = () if fixed else tuple(self.around)
        return self.world.free(name_of(name), low, None, stated=False, shown=name, varies=varies)

    def unfollowed(self, name: str, low: int | None = None) -> Lin:
        """A number that is not followed: what needs it is unresolved."""
        value = self.fresh_opaque(name, low)
        self.opaque.add(value.terms[0][0])
        return value

    def from_memory(self, name: str, kind: ValueType = ops.INDEX) -> Lin:
        """A value that memory gives: any value, another one each time."""
        stated, inside = self.ranges_of(name), tuple(self.around)
        ends = stated or ((0, 1) if kind.bits == 1 else (None, None))
        return self.world.free(
            name_of(name), *ends, stated=stated is not None, shown=name, loaded=True, varies=inside, alone=True
        )

    def because(self, operand: Operand) -> str:
        """Why a pointer is not known, where that was said."""
        why = self.reasons.get(operand.name, "")
        return f": {why}" if why else ""

    def _const(self, stmt: ops.Const) -> None:
        self.constants[stmt.result] = stmt.value, stmt.type
        self.values[stmt.result] = Lin(signed(stmt.value, stmt.type.bits)) if stmt.type.kind == "int" else None

    def gives(self, names: Sequence[str], values: Sequence[Value] = ()) -> None:
        """Gives names the values that a region or an operation makes: what another region called so is no constant
        here.
        """
        for name in names:
            self.constants.pop(name, None)
        self.values |= dict(zip(names, values, strict=False))

    def _opaqueop(self, stmt: ops.OpaqueOp) -> None:
        self.gives(stmt.results)
        for name, kind in zip(stmt.results, stmt.types, strict=True):
            if stmt.loaded and kind.kind == "int":
                self.values[name] = self.from_memory(name, kind)
            elif stmt.least is not None:
                self.values[name] = self.machine_value(stmt.what, stmt.least, name)
            elif kind.kind == "int":
                self.values[name] = self.unfollowed(name)
            else:
                self.values[name] = None
                self.reasons |= {name: stmt.why} if stmt.why else {}

    def _bind(self, stmt: ops.Bind) -> None:
        name = stmt.source.name
        self._same_reason(stmt.result, stmt.source)
        self.values[stmt.result] = self.value(stmt.source, stmt.type)
        if name in self.constants:
            self.constants[stmt.result] = self.constants[name]

    def _assumed(self, stmt: ops.Assumed) -> None:
        if stmt.note:
            self.remark("note", stmt.text, stmt.span, always=False)
        else:
            (self.suppose if stmt.unsaid else self.assume)(stmt.text)

    def machine_value(self, what: str, least: int, name: str = "") -> Lin:
        """A value that the machine gives, the same wherever a kernel asks for it; an index is less than its count."""
        if what not in self.machine:
            plain = self.setting.canonical or not name
            value = self.world.free(
                name_of(what if plain else name), least, None, stated=False, shown=what if plain else name
            )
            called = self.machine[what] = value.terms[0][0]
            self.world.symbols[called] = replace(self.world.symbols[called], surely=least)
        symbol = self.world.symbols[self.machine[what]]
        stated = None if self.setting.canonical else self.ranges_of(name)
        if stated:
            self.world.symbols[symbol.name] = replace(symbol, low=stated[0], high=stated[1], stated=True)
            self.assume(f"{name} in {stated[0]:,}..{stated[1]:,}")
        self._index_and_count(what[:-3])
        return Lin(0, ((symbol.name, 1),))

    def _index_and_count(self, what: str) -> None:
        """A core's number is less than how many there are, and in any range if their count is."""
        if f"{what}idx" not in self.machine or f"{what}num" not in self.machine:
            return
        index, count = (self.world.symbols[self.machine[f"{what}{end}"]] for end in ("idx", "num"))
        self.assume(f"{what}idx is less than {what}num")
        side = compare("lt", Lin(0, ((index.name, 1),)) - Lin(0, ((count.name, 1),)))
        stated = index.stated or count.stated
        self.world.symbols[index.name] = replace(index, side=(side,), stated=stated)

    def roots_lost(self, *terms: Lin) -> bool:
        """Whether a term depends on a value that cannot be followed."""
        return any(self.world.roots(term) & self.opaque for term in terms)

    def _castptr(self, stmt: ops.CastPtr) -> None:
        source, kind = self.value(stmt.source), stmt.type
        if isinstance(source, Place):
            made: Value = replace(source, item_bytes=kind.item_bytes, dtype=kind.name)
        elif isinstance(source, Lin):
            root = "global memory" if kind.space == "gm" else ""  # of which nobody says how far it reaches
            made = Place(kind.space or "ub", root, source, kind.item_bytes, kind.name)
        else:
            made = None
            self._same_reason(stmt.result, stmt.source)
        self.values[stmt.result] = made

    def _same_reason(self, result: str, source: Operand) -> None:
        if source.name in self.reasons:
            self.reasons[result] = self.reasons[source.name]

    def _addptr(self, stmt: ops.AddPtr) -> None:
        base, offset = self.value(stmt.base, stmt.type), self.value(stmt.offset)
        if isinstance(offset, Cond):
            offset = self.as_number(offset)
        if isinstance(base, Place) and isinstance(offset, Lin):
            self.values[stmt.result] = replace(base, address=base.address + offset * base.item_bytes)
        else:
            self.values[stmt.result] = None
            self._same_reason(stmt.result, stmt.base)
