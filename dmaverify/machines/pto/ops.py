"""The operations of a PTO kernel that concern DMA, as frozen statements: what was written, with places.

Knows: copies of both surfaces, registers, flags, barriers, buffers, vector accesses, arithmetic around them.
Does not know: text syntax, values, what a copy touches.
Law: a statement holds operands as written, in their roles; the proof and the executor each give it a meaning.
Source: "DMA Copy" of the vector instruction set (set_loop_*, copy_*), PTO v0.6 (mte_*).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dmaverify.errors import Span
from dmaverify.machines.pto.typed import TypedUse
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field

LOAD, STORE, LOCAL = "load", "store", "local"
CUBE = "the cube side"  # what a block is that the other core runs


@dataclass(frozen=True, slots=True)
class ValueType:
    """`kind` is int, float, pointer or other; `bits` of a number or of the element pointed to (0: not known)."""

    kind: str
    name: str
    bits: int = 0
    space: str = ""
    bytes: int = field(default=0, compare=False)  # that a buffer of a static contiguous shape holds
    strides: tuple[int, ...] | None = field(default=None, compare=False)  # in elements, where they are numbers

    @property
    def item_bytes(self) -> int:
        return max(1, self.bits // 8)


OTHER = ValueType("other", "")
INDEX = ValueType("int", "index", 64)


@dataclass(frozen=True, slots=True)
class Operand:
    """An SSA name (`%x`), or a number written in its place."""

    name: str
    span: Span = field(compare=False, repr=False)
    value: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Stmt:
    """What every statement has."""

    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Const(Stmt):
    """A constant: `value` is the number, or the raw bits of a float."""

    result: str = ""
    value: int = 0
    type: ValueType = INDEX


@dataclass(frozen=True, slots=True, eq=False)
class Arith(Stmt):
    """`op` is the name behind `arith.`; casts have one operand; `predicate` belongs to cmpi; `bits` of the operands."""

    result: str = ""
    op: str = ""
    args: tuple[Operand, ...] = ()
    predicate: str = ""
    type: ValueType = INDEX
    bits: int = 64


@dataclass(frozen=True, slots=True, eq=False)
class CastPtr(Stmt):
    """A byte address, or a pointer, as a pointer of another type."""

    result: str = ""
    source: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    type: ValueType = OTHER


@dataclass(frozen=True, slots=True, eq=False)
class AddPtr(Stmt):
    """`offset` counts elements of the pointer's type."""

    result: str = ""
    base: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    offset: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    type: ValueType = OTHER


@dataclass(frozen=True, slots=True, eq=False)
class OpaqueOp(Stmt):
    """Results whose values nothing here defines; `least` where one is known (block indices start at 0)."""

    results: tuple[str, ...] = ()
    types: tuple[ValueType, ...] = ()
    least: int | None = None
    what: str = ""
    loaded: bool = False  # memory gives them: any values, others each time
    why: str = ""  # a pointer or tile among them is not known, in words


@dataclass(frozen=True, slots=True, eq=False)
class CopyLevel:
    """A loop of a copy as written: count and the two strides (or gaps)."""

    count: Operand
    src: Operand
    dst: Operand
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class CopyPad:
    """Padding of an inline copy: the value and its type, the counts where written."""

    value: Operand
    type: ValueType
    left: Operand | None = None
    right: Operand | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CopyOp(Stmt):
    """A copy. `inline` ones carry their loops (`levels`, inner to outer, nburst first), others use registers."""

    kind: str = LOAD
    inline: bool = True
    roles: Mapping[str, Operand] = field(default_factory=dict)
    levels: tuple[CopyLevel, ...] = ()
    pad: CopyPad | None = None
    types: tuple[ValueType, ValueType] = (OTHER, OTHER)
    name_span: Span = field(default=None, compare=False, repr=False)  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False)
class SetLoop(Stmt):
    """A loop register of one direction: `what` is size, loop1 or loop2; operands in the order of the text."""

    kind: str = LOAD
    what: str = "size"
    first: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    second: Operand = field(default=None, compare=False)  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False)
class SetPad(Stmt):
    """The padding value, with the type it was set by."""

    value: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    type: ValueType = OTHER


@dataclass(frozen=True, slots=True, eq=False)
class SetAtomic(Stmt):
    """The mode of stores: empty for none, else what they do instead of writing; None where only `dtype` is set."""

    mode: str | None = ""
    dtype: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Flag(Stmt):
    """`set` or `wait` of a flag from one pipe to another."""

    action: str = "set"
    source: str = ""
    dest: str = ""
    event: Operand = field(default=None, compare=False)  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False)
class Barrier(Stmt):
    """All that one pipe (or ALL) was given before is done before what it is given next."""

    pipe: str = "ALL"


@dataclass(frozen=True, slots=True, eq=False)
class BufferOp(Stmt):
    """`get` or `rls` of a buffer token by a pipe."""

    action: str = "get"
    pipe: str = ""
    token: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    mode: Operand = field(default=None, compare=False)  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False)
class AccessOp(Stmt):
    """An access of memory that is no copy, as it was written.

    `form` is vector, pair (of registers), blocks, whole (a logical register), scalar, predicate or open (its extent is
    not told); `way` is r, w or rw. `offsets` are indices with the elements that each counts. `lane_bytes` times `lanes`
    is the register. `values` are registers stored, `results` registers loaded, `stride` the distance of blocks.
    `moved` says that the pointer moves on behind the access.
    """

    pointer: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    offsets: tuple[tuple[Operand, int], ...] = ()
    way: str = "r"
    what: str = ""
    form: str = "open"
    dist: str = ""
    lanes: int = 0
    lane_bytes: int = 0
    item_bytes: int = 0  # of an element of the memory; 0: as the pointer has it
    mask: Operand | None = None
    values: tuple[Operand, ...] = ()
    results: tuple[str, ...] = ()
    stride: Operand | None = None
    moved: bool = False
    masks: tuple[Operand, ...] = ()  # every mask that it names


@dataclass(frozen=True, slots=True)
class Mask(Stmt):
    """A mask of lanes: by a `pattern`, the first `count` lanes (`rest` is what is left over), or from other masks;
    `lane_bits` is 8, 16 or 32 (0: not told); `op` is pset, pge, plt, pand or what makes it.
    """

    result: str = ""
    op: str = ""
    lane_bits: int = 0
    pattern: str = ""
    count: Operand | None = None
    rest: str = ""
    args: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class VectorOp(Stmt):
    """An operation on registers: `part` is what it names of them (EVEN), `lane_bytes` of operands, then of results."""

    name: str = ""
    results: tuple[str, ...] = ()
    args: tuple[Operand, ...] = ()
    mask: Operand | None = None
    part: str = ""
    lane_bytes: tuple[int, ...] = ()
    masks: tuple[Operand, ...] = ()  # where it takes several
    typed: TypedUse | None = None  # where the text tells of all operands


@dataclass(frozen=True, slots=True, eq=False)
class Yield(Stmt):
    """What a region gives back."""

    args: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class For(Stmt):
    """`scf.for`: the counter, its bounds, carried values as (name inside, first value), results."""

    counter: str = ""
    low: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    high: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    step: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    carried: tuple[tuple[str, Operand], ...] = ()
    results: tuple[str, ...] = ()
    types: tuple[ValueType, ...] = ()
    body: tuple[Stmt, ...] = ()
    unbounded: bool = False  # how often it runs is not known; the bounds say nothing


@dataclass(frozen=True, slots=True)
class While(Stmt):
    """`scf.while`: carried values as (name, first value), statements that decide, what is handed to the body."""

    carried: tuple[tuple[str, Operand], ...] = ()
    before: tuple[Stmt, ...] = ()
    condition: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    passed: tuple[Operand, ...] = ()
    inside: tuple[tuple[str, ValueType], ...] = ()
    body: tuple[Stmt, ...] = ()
    results: tuple[str, ...] = ()
    types: tuple[ValueType, ...] = ()


@dataclass(frozen=True, slots=True)
class Given(Stmt):
    """What follows in this region runs only where the condition holds."""

    condition: Operand = field(default=None, compare=False)  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False)
class If(Stmt):
    """`scf.if` with its two regions; the second may be empty."""

    condition: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    results: tuple[str, ...] = ()
    types: tuple[ValueType, ...] = ()
    then: tuple[Stmt, ...] = ()
    other: tuple[Stmt, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Block(Stmt):
    """A region that runs once, in place (a vector scope, a function that is called), with what it gives back."""

    body: tuple[Stmt, ...] = ()
    what: str = ""
    results: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bind(Stmt):
    """Another name for a value: an argument of a block or of a function that is called."""

    result: str = ""
    source: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    type: ValueType = OTHER


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of elements, with how many parts share the rows and the columns."""

    count: Operand
    columns: Operand
    stride: Operand
    share: tuple[int, int] = (1, 1)


@dataclass(frozen=True, slots=True)
class Foreign(Stmt):
    """An access by a pipe that is no copy and no vector access; `size` in bytes (0: not known); `rows` it writes."""

    pointer: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    offset: Operand | None = None
    size: int = 0
    way: str = "rw"
    pipe: str = "S"
    what: str = ""
    rows: Rows | None = None


@dataclass(frozen=True, slots=True)
class Assumed(Stmt):
    """What reading the text took for granted, in words; with `note`, what it left alone here; `unsaid` by anybody."""

    text: str = ""
    note: bool = False
    unsaid: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class UnreadOp(Stmt):
    """An operation that concerns DMA and cannot be read: never skipped. `kind` as of a remark; `orders`: it may."""

    message: str = ""
    hint: str = ""
    kind: str = "unresolved"
    orders: bool = False


@dataclass(frozen=True, slots=True)
class CrossCore(Stmt):
    """A flag of the other core, `set` or `wait`; its number, if the text gives one; the `pipe` that alone is held."""

    action: str = "wait"
    number: int | None = None
    what: str = ""
    pipe: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class KernelFunction:
    """One `func.func` (or a fragment without one, `name` empty) with its arguments and statements."""

    name: str
    args: tuple[tuple[str, ValueType, Span], ...]
    body: tuple[Stmt, ...]
    span: Span = field(compare=False, repr=False)
    target: Target = field(compare=False, repr=False)  # the machine that it is read for
    whole: Span | None = field(default=None, compare=False, repr=False)
    passed: tuple[tuple[str, int], ...] = ()  # operations that do not concern DMA, with how many there are
    called: bool = False  # by another function of the file, in which it is judged
    texts: Mapping[int, tuple[Stmt, tuple[str, ...]]] = field(default_factory=dict, compare=False)  # by id, as written
    machines: tuple[tuple[str, Span], ...] = field(default=(), compare=False)  # that modules say it is for


PARTS = ("before", "body", "then", "other")


def deep(body: Iterable[Stmt]) -> Iterator[Stmt]:
    """Statements with those inside of them, in the order of the text."""
    for stmt in body:
        yield stmt
        for part in PARTS:
            yield from deep(getattr(stmt, part, ()))
