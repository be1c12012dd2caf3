"""What the interpreter runs: moves, accesses, gathers and programs as a plan writes them, and the machine's numbers.

Knows: mappings as trees, tiles with their starts as written, streams, printed loop nests, steps and their order.
Does not know: files, digits, commands that something derived, solvers.
Law: nothing here is computed from anything else than the text: a view is its tiles, a start is its text, a stream its
mappings, a configuration its counts and strides.

Source: the plan file format, `schema = 1`.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Mapping
from itertools import product
from math import prod

from dmaverify.execute.outcome import ONE_BY_ONE, Beyond, OverLimit
from dmaverify.language.expr import Expr
from dmaverify.program.space import SPAN
from dmaverify.values import dataclass, field

Loops = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class RunTier:
    """A memory: its places outer to inner, `element` left out; bytes between neighbours where addresses reach them."""

    places: tuple[str, ...]
    strides: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunMachine:
    """`request` is the bytes that move as one, 0 where nothing says so. `banks` and `width` are those of a slice;
    `allowed` is the greatest sum of a bank beside DMA (-1: no such limit), DMA's own request counting `own`, by the
    rule `rule`. `most` is the units of a tensor, of a stream or of all that moves that are still run.
    """

    tiers: Mapping[str, RunTier]
    request: int = 0
    banks: int = 0
    width: int = 0
    allowed: int = -1
    own: int = 1
    rule: str = ""
    most: int = ONE_BY_ONE
    launched: bool = False  # a move may begin before what one before it in its queue writes has arrived
    swaps: bool = False  # moves of one queue that touch the same bytes may swap
    queues: Mapping[tuple[str, str], str] = field(default_factory=dict)  # of moves, by their tiers
    context_is_engine: bool = False  # a context of a step names its engine; else it is a queue before its engines
    unordered: Container[tuple[str, str]] = ()  # moves, by their tiers, that promise no order of what they move

    def cuts_of(self, source: str, dest: str) -> tuple[str, ...]:
        """How moves between two tiers may be cut into what is read as a whole before it is written."""
        if (source, dest) in self.unordered:
            return ("none",)
        return ("first", "windows") if self.request else ("units", "packets")

    def allow(self, units: int) -> None:
        """Raises OverLimit where these are too many to be run."""
        if units > self.most:
            raise OverLimit(f"more than {self.most:,} units")

    def iterations_of(self, loops: Loops) -> int:
        """How many there are together. Raises OverLimit where one unit in each is too many."""
        many = prod(count for _, count in loops)
        self.allow(many)
        return many

    def stride(self, tier: str, place: str, unit_bits: int) -> int:
        """Units from one place to the next."""
        return (SPAN[place] if place in SPAN else self.tiers[tier].strides[place]) * 8 // unit_bits


@dataclass(frozen=True, slots=True)
class RunTile:
    """`length` positions of a digit from `start` on: a number, or a text over loops."""

    digit: Expr
    length: int
    start: int | str = 0
    place: str = "element"
    partial: bool = False


@dataclass(frozen=True, slots=True)
class HeldTensor:
    """A tensor in memory: one mapping for each place of its tier and `element`, the first place, a base in bytes."""

    tier: str
    fields: tuple[tuple[str, Expr], ...]
    first: tuple[tuple[str, int], ...] = ()
    base: int = 0
    tiles: tuple[RunTile, ...] = ()

    def at(self, place: str) -> Expr | None:
        return dict(self.fields).get(place)


@dataclass(frozen=True, slots=True)
class RunWalk:
    """One side of a printed command: loops outer to inner, in units, from an address on; `packet` units at once."""

    start: int
    loops: tuple[tuple[int, int], ...]
    packet: int

    @property
    def amount(self) -> int:
        return prod(count for count, _ in self.loops)


@dataclass(frozen=True, slots=True)
class RunNest:
    """A printed command. `engine` "": nothing names one. `windows`: as of a move."""

    read: RunWalk
    write: RunWalk
    engine: str = ""
    windows: tuple[int, ...] | None = ()


@dataclass(frozen=True, slots=True)
class Flow:
    """A stream: engines by chip, cluster and slice, then time, then packet (`open_packet`: some run of time)."""

    chip: Expr
    cluster: Expr
    slice: Expr
    time: Expr
    packet: Expr
    engine: str = ""
    open_packet: bool = False


@dataclass(frozen=True, slots=True)
class RunMove:
    """A transfer. Both `flows` and `nests` may be given; each is then a claim of its own."""

    name: str
    bits: int
    source: HeldTensor
    dest: HeldTensor
    flows: tuple[Flow, ...] = ()
    nests: tuple[RunNest, ...] = ()
    loops: Loops = ()
    missing_is_broadcast: bool = False
    word: int = 0  # bytes of the words in which it is streamed, on a machine without requests
    windows: tuple[int, ...] | None = ()  # bytes, where both sides are cut together; None: unknown
    engine: str = ""  # of a move that nothing says how to do


@dataclass(frozen=True, slots=True)
class Reach:
    """An access: `reads` a tensor into a stream, or writes it from one. `config` is its printed side, if any."""

    name: str
    bits: int
    reads: bool
    context: str
    memory: HeldTensor
    flow: Flow
    config: RunWalk | None = None
    loops: Loops = ()


@dataclass(frozen=True, slots=True)
class RunPrintedRows:
    """Printed commands of one row, in units: from key to key the side with the key moves by `step`, the table's side
    is moved by `offsets` (None: by what the index says).
    """

    nest: RunNest
    step: int
    offsets: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class RunRows:
    """A gather (`scatter` False) or scatter: `values` as written, or the rows that the plan promises."""

    name: str
    bits: int
    scatter: bool
    source: HeldTensor
    dest: HeldTensor
    index: HeldTensor
    index_bits: int
    axis: str
    key: str
    keys: int
    rows: int
    scaled: bool
    values: tuple[int, ...] | None
    promised: tuple[int, int] | None
    distinct: bool
    flow: Flow | None = None
    printed: RunPrintedRows | None = None
    loops: Loops = ()


@dataclass(frozen=True, slots=True)
class RunStep:
    """One step of a program: a move, accesses that run together, or rows."""

    name: str
    work: tuple[RunMove | Reach | RunRows, ...]
    context: str = ""
    after: tuple[str, ...] = ()
    loops: Loops = ()
    earlier: tuple[tuple[str, int], ...] = ()  # (step of the same loop, iterations before)


@dataclass(frozen=True, slots=True)
class RunProgram:
    """Steps in the written order. `order`: contexts, written or none."""

    name: str
    steps: tuple[RunStep, ...]
    order: str = "contexts"


# ---------------------------------------------------------------- iterations and starts


def loops_of(table: Mapping[str, int | str]) -> Loops:
    return tuple((name, int(count)) for name, count in table.items())


def iterations(loops: Loops) -> Iterator[dict[str, int]]:
    """The values of all loops, the last one fastest."""
    names = [name for name, _ in loops]
    for values in product(*(range(count) for _, count in loops)):
        yield dict(zip(names, values, strict=True))


def start_at(start: int | str, values: Mapping[str, int]) -> int:
    """The number that a start is at these values of loops; `/` cuts, as it does in the text."""
    if isinstance(start, int):
        return start
    try:
        return _value(ast.parse(start.strip(), mode="eval").body, values)
    except (SyntaxError, KeyError) as error:
        raise Beyond(f"`{start}` has no value") from error


def _value(node: ast.expr, values: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return values[name]
        case ast.BinOp(left=left, op=op, right=right):
            one, other = _value(left, values), _value(right, values)
            match op:
                case ast.Add():
                    return one + other
                case ast.Sub():
                    return one - other
                case ast.Mult():
                    return one * other
                case ast.Div() if other:
                    return one // other
                case ast.Mod() if other:
                    return one % other
    raise Beyond("a start is numbers, loops and + - * / %")
