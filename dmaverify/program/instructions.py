"""Kernels as trees of events: copy instructions with their loops, flags, fences, accesses, loops and branches.

Knows: what is touched, by which pipe, in which order of issue; numbers are linear terms over symbols.
Does not know: any machine, any text syntax, how anything is proved.
Law: a copy moves, for every counter in the box of its levels, `row` bytes from `read.address + sum(c * level.read)` to
`write.address + sum(c * level.write)`; levels are inner to outer. Touches say every byte that it reads or changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.errors import Span
from dmaverify.language.affine import Cond, Lin
from dmaverify.values import dataclass, field

OTHER_CORE = "the other core"
"""The pipe of everything that another core does."""
NO_FLAG = -1
MIXED = "mixed"
"""The mode of a copy that writes on one path and accumulates on another."""
UNSAID = "unsaid"
"""The mode of stores of which a type was set, but not what they do: neither plain nor known to commute."""


@dataclass(frozen=True, slots=True)
class Place:
    """An address: `root` names what it counts from (an argument; empty: the memory itself), `address` is in bytes."""

    space: str
    root: str
    address: Lin
    item_bytes: int = 1
    dtype: str = ""

    @property
    def memory(self) -> tuple[str, str]:
        return self.space, self.root


@dataclass(frozen=True, slots=True)
class CopyStep:
    """One level of a copy, inner to outer: how often, and how far both sides go each time, in bytes."""

    count: Lin
    read: Lin
    write: Lin
    label: str = ""
    spans: tuple[Span | None, Span | None, Span | None] = field(default=(None, None, None), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Fill:
    """Padding asked for: the raw value (None: not known), its width, the counts before and behind as written, and
    whether the instruction takes a value of that type.
    """

    value: int | None
    value_bytes: int
    left: Lin
    right: Lin
    listed: bool = True


@dataclass(frozen=True, slots=True)
class CopyTouch:
    """Bytes of one side: for every counter of `steps` (count, bytes), `length` bytes from the place plus `offset`.

    `kind` is read, data, fill (with `pattern`, the bytes that repeat, or None), unknown (changed, content not known),
    maybe (each byte is written or stays as it is) or surplus (read, never used). `open`: how many bytes from there on
    is not known. `why` says what is not known of a touch that perhaps writes, and what would settle it.
    """

    kind: str
    place: Place
    offset: Lin
    length: Lin
    steps: tuple[tuple[Lin, Lin], ...]
    pattern: bytes | None = None
    open: bool = False
    why: str = field(default="", compare=False)

    @property
    def writes(self) -> bool:
        return self.kind in ("data", "fill", "unknown", "maybe")


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """A copy instruction with every operand resolved. `ports` are facts for rules, each with its place in the text."""

    number: int
    kind: str
    pipe: str
    read: Place
    write: Place
    row: Lin
    steps: tuple[CopyStep, ...]
    fill: Fill | None
    ports: Mapping[str, Lin]
    spans: Mapping[str, Span]
    span: Span
    when: tuple[Cond, ...] = ()
    inline: bool = True
    setup: tuple[Span, ...] = ()  # where the registers that it depends on were set
    touches: tuple[CopyTouch, ...] = ()
    order: int = 0  # which copy of the text it is, from 1
    atomic: str = ""  # what it does instead of writing; MIXED where the path decides it

    @property
    def is_const(self) -> bool:
        """Whether everything that says what it moves is a number."""
        numbers = (self.row, self.read.address, self.write.address)
        return all(n.is_const for n in (*numbers, *(n for s in self.steps for n in (s.count, s.read, s.write))))


@dataclass(frozen=True, slots=True)
class StoredSource:
    """A load that bytes which are stored come from, by its number; -1: something unknown made them.

    A register byte depends on those of its group of `unit` bytes (0: on the whole load), of which the load fills `per`
    from `bytes` of memory; none from `limit` on depends on it (None: all may). `plain`: where some of a group is
    garbage, so is what is stored. `past`: the load of any iteration so far. Of a whole load, bytes up to `limit` count;
    if one is garbage, so are the `first` bytes of the register.
    """

    load: int
    unit: int = 1
    bytes: int = 1
    per: int = 1
    limit: Lin | None = None
    plain: bool = True
    past: bool = False
    first: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """An access of memory by a pipe that is no copy. `inferred` names what no text tells of it: in which `order`
    other pipes come behind it (what its pipe does later waits as any other), whether it touches these `bytes`, or by
    which `layout` those that it does touch lie among them.
    `gives` are the values that it reads, where later numbers depend on them. `load` is the number of a load of
    registers, `sources` say where the bytes that it stores come from; of `per` bytes of a register it stores `bytes`.
    `foreign`: somebody else (the pipe OTHER_CORE) makes it, as a statement about that core says. Without a `pipe` it is
    no access: it says from where on bytes hold nothing that is known. Parts of one `step` (none: -1) in one iteration
    are judged where the step is; touches that are made `at_once` are compared, too.
    """

    number: int
    pipe: str
    touches: tuple[CopyTouch, ...]
    span: Span
    what: str
    when: tuple[Cond, ...] = ()
    inferred: str = ""
    gives: tuple[Lin, ...] = ()
    load: int = 0
    sources: tuple[StoredSource, ...] = ()
    bytes: int = 1
    per: int = 1
    foreign: bool = False
    needs: str = ""  # what must have been written of what it reads: stored (else an error), computed (else open), made
    step: int = -1
    at_once: bool = False
    atomic: str = ""  # what it does to elements of memory instead of writing them


@dataclass(frozen=True, slots=True, eq=False)
class Signal:
    """`set` or `wait` of a flag from one pipe to another."""

    action: str
    source: str
    dest: str
    event: Lin
    span: Span
    when: tuple[Cond, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Fence:
    """What `pipe` was given before is done before what it is given next; `ALL` speaks of all pipes."""

    pipe: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """A wait for somebody else (another core), who may have written shared memory before. It holds later work of its
    pipe, or all that is issued later where it names none. `flag` is its number, None where the text gives none;
    `share` says which of several cores beside it has this flag.
    """

    what: str
    span: Span
    pipe: str = ""
    flag: int | None = None
    share: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Lets somebody else (another core) go on once the work that `pipe` was given before is done; the text names no
    pipe where it is empty. `flag` and `share` as of an arrival.
    """

    what: str
    span: Span
    pipe: str = ""
    flag: int | None = None
    share: int = 0


@dataclass(frozen=True, slots=True)
class Shared:
    """What another core does to bytes (`start` to `end`, None: all) of a memory: `way` is r or w.

    It does so only behind a release of the flag `after`, and is done before an arrival of the flag `before`: None
    speaks of every flag, NO_FLAG of none (it may do so from the start). It surely does where `when` holds.
    """

    way: str
    space: str
    root: str = ""
    start: int = 0
    end: int | None = None
    before: int | None = None
    after: int | None = None
    when: tuple[Cond, ...] = ()

    @property
    def shown(self) -> str:
        where = f"`{self.root}`" if self.root else self.space.upper()
        return where if self.end is None else f"bytes {self.start:,} to {self.end - 1:,} of {where}"


@dataclass(frozen=True, slots=True, eq=False)
class BufferToken:
    """`get` or `rls` of a buffer token by a pipe, in a mode."""

    action: str
    pipe: str
    token: Lin
    mode: Lin
    span: Span
    when: tuple[Cond, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class KernelLoop:
    """`trip` iterations of `body`; `counter` is the symbol that counts them from 0."""

    counter: str
    trip: Lin
    body: tuple[Event, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """`then` where the condition holds, else `other`."""

    when: Cond
    then: tuple[Event, ...]
    other: tuple[Event, ...]
    span: Span


Event = Copy | Use | Signal | Fence | Arrival | Release | BufferToken | KernelLoop | Branch


def accumulate(one: Event, two: Event) -> bool:
    """Whether both add to (or take the most or least of) what is there, in the same way and in whole elements."""
    if isinstance(one, Use) and isinstance(two, Use) and one.atomic:
        ends = [[t.place for t in event.touches if t.writes] for event in (one, two)]
        alike = one.atomic == two.atomic and all(len(places) == 1 for places in ends)
        return alike and _whole(ends[0][0], ends[1][0], ())
    if not isinstance(one, Copy) or not isinstance(two, Copy) or one.atomic != two.atomic:
        return False
    if one.atomic in ("", MIXED) or one.atomic.startswith(UNSAID):
        return False
    strides = [step.write for copy in (one, two) for step in copy.steps]
    return _whole(one.write, two.write, (one.row, two.row, *strides))


def _whole(one: Place, two: Place, numbers: Sequence[Lin]) -> bool:
    """Whether two places have one type, of which these numbers and the distance of the places are whole elements."""
    item = one.item_bytes
    alike = (one.dtype, item) == (two.dtype, two.item_bytes)
    return alike and not any(n.is_const and n.const % item for n in (two.address - one.address, *numbers))


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """That a value fits its type, wherever `when` holds; all that is said of the kernel takes it for granted."""

    claim: Cond
    when: tuple[Cond, ...]
    span: Span
    value: Lin
    type: str


@dataclass(frozen=True, slots=True, eq=False)
class NumberNeed:
    """A claim that the text makes of its numbers where `when` holds: `says` what is given, `value` what is asked.
    `enough`: it is more than must hold, so that nothing is known where it fails. `runs`: that the loops around do.
    """

    claim: Cond
    when: tuple[Cond, ...]
    span: Span
    value: Lin
    says: str
    enough: bool = False
    runs: tuple[Cond, ...] = ()


@dataclass(frozen=True, slots=True)
class Loose:
    """A buffer without an address: its name, its bytes in whole blocks, its memory with the capacity of that; the first
    `taken` bytes of the memory hold other buffers.
    """

    name: str
    bytes: int
    memory: str
    capacity: int
    taken: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class OperationFact:
    """What rules look at of an operation that is no copy: `ports`, and `what` they speak of, in words."""

    ports: Mapping[str, Lin]
    what: str
    span: Span
    when: tuple[Cond, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Remark:
    """Something that reading a kernel found: `kind` is unresolved, state, ill or note."""

    kind: str
    message: str
    span: Span
    hint: str = ""
    labels: tuple[tuple[Span, str], ...] = ()
    always: bool = True  # False: only a warning
