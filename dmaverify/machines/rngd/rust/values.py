"""What an expression of a kernel is, as far as transfers care: tensors with mappings and windows, numbers, records.

Knows: the kinds of tensors, the window that views look through, progressions of numbers.
Does not know: Rust text, machines, how a value came about.
Law: what is not known is an `Unknown` with its reason, never a guess. References are transparent: `&T` is T.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from math import gcd
from typing import TYPE_CHECKING, Any, Union

from dmaverify.errors import Span
from dmaverify.language.expr import Expr
from dmaverify.program.access import PlanProblem
from dmaverify.values import dataclass, field, replace

if TYPE_CHECKING:
    from dmaverify.machines.rngd.rust.module import Item


PLACES = {"hbm": ("chip", "element"), "dm": ("chip", "cluster", "slice", "element"), "host": ("element",)}
"""The mappings that the type of a tensor of each tier names, in the order of its generic arguments."""


@dataclass(frozen=True)
class Unknown:
    """Not known, and why; an empty reason is an inference hole (`_`) that the context may fill."""

    reason: str = ""
    span: Span | None = field(default=None, compare=False, repr=False)
    hint: str = field(default="", compare=False, repr=False)  # what to write instead, where that is known


@dataclass(frozen=True)
class Dtype:
    """The type of an element or a number. `inside`: perhaps of one in an option or behind a reference, which has
    another size.
    """

    name: str
    inside: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True)
class Map:
    """A mapping as a type: `m![A, B]`, or an axis by its name."""

    expr: Expr


@dataclass(frozen=True)
class Numbers:
    """The values that a number can have: low, low + step, ..., high; step 0 for a single one.

    `exact` where every one of them occurs (and not only lies in the range); `loops` are the loops that move it,
    negative where it falls while the loop goes on; 0 is among them where it is no progression of its loop. `ends` where
    the first and the last one occur, and perhaps not all between. `form` is how a number that is no progression of its
    loop was made. `type` is its type where that is known (`integers`), else `held` are the literals that it has, `seen`
    what was computed in it.
    """

    low: int
    high: int
    step: int = 0
    exact: bool = True
    loops: frozenset[int] = field(default=frozenset(), compare=False, repr=False)
    ends: bool = field(default=False, compare=False, repr=False)
    form: Hashable = field(default_factory=object, compare=False, repr=False)
    type: str = field(default="", compare=False, repr=False)
    held: tuple[int, int] | None = field(default=None, compare=False, repr=False)
    seen: tuple[int, int] | None = field(default=None, compare=False, repr=False)

    @property
    def shape(self) -> Hashable:
        """What numbers that are alike in every turn share: a progression its ends, all else how it was made."""
        return self.low, self.high, self.step, self.loops, self.form if 0 in self.loops else None

    @property
    def reached(self) -> bool:
        return self.exact or self.ends

    @property
    def single(self) -> int | None:
        return self.low if self.low == self.high else None

    @property
    def count(self) -> int:
        return (self.high - self.low) // self.step + 1 if self.step else 1

    def plus(self, other: Numbers) -> Numbers:
        low, high = self.low + other.low, self.high + other.high
        exact = self.exact and other.exact
        one_loop = self.step and self.loops == other.loops and len(self.loops) == 1 and 0 not in self.loops
        if one_loop and self.count == other.count:
            return Numbers(low, high, self.step + other.step, exact, self.loops)
        step = gcd(self.step, other.step)
        wide = max(self.step, other.step) if self.step and other.step else 0
        inner = next((n for n in (self, other) if n.step == step), None)
        theirs = set(map(abs, other.loops))
        apart = bool(self.loops and theirs) and not theirs & set(map(abs, self.loops))  # else they may move together
        whole = not wide or (apart and inner is not None and inner.high - inner.low + step >= wide)
        loops = self.loops | other.loops | (frozenset((0,)) if wide else frozenset())
        ends = self.reached and other.reached and (apart or not wide)
        return Numbers(low, high, step, exact and whole, loops, ends, ("+", self.shape, other.shape))

    def times(self, factor: int) -> Numbers:
        if not factor:
            return Numbers.of(0)  # no loop moves it
        ends = sorted((self.low * factor, self.high * factor))
        loops = self.loops if factor >= 0 else frozenset(-loop for loop in self.loops)
        form = factor, self.shape
        return Numbers(ends[0], ends[1], self.step * abs(factor), self.exact, loops, self.ends, form)

    @staticmethod
    def of(value: int) -> Numbers:
        return Numbers(value, value)


@dataclass(frozen=True)
class Buffer:
    """An allocation: `name` as the source calls it, `serial` in the order of reading; `fresh` when made by `new()`."""

    serial: int
    name: str
    fresh: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class ViewWindow:
    """Where a view starts in its buffer: positions of each class of place; `open` where not all were known, `given`
    what they must keep then.
    """

    at: Mapping[str, Numbers] = field(default_factory=dict)
    open: bool = False
    given: tuple[str, ...] = ()
    tiled: bool = False
    parts: tuple[tuple[str, Numbers], ...] = ()  # what each tile adds, place by place

    def moved(self, place: str, by: Numbers, *, open: bool = False, given: str = "") -> ViewWindow:
        at = {**self.at, place: self.at[place].plus(by) if place in self.at else by}
        told = (*self.given, given) if given else self.given
        return ViewWindow(at, self.open or open, told, True, (*self.parts, (place, by)))


@dataclass(frozen=True)
class Held:
    """What is known of the numbers that the text put into a tensor: `values`, which are all of a list or the ends and
    the step of a progression, whether one `repeats` (None: not known), how many there are (`count`, None: not known).
    `lost`: the text makes them in a way that is not followed, or something was written over them since.
    """

    values: tuple[int, ...]
    repeats: bool | None = False
    span: Span | None = field(default=None, compare=False, repr=False)
    count: int | None = None
    lost: bool = False


def forgotten(holds: Held | None) -> Held | None:
    """What is left of numbers of the text where something else may stand in their place."""
    return Held((), None, holds.span, None, True) if holds is not None else None


@dataclass(frozen=True)
class RustTensor:
    """A tensor, or a view of one: tier, element type, a mapping for every class of place of its tier.

    `view` is "", "view" or "view_mut". `problems` were found on the way here (a tile that does not fit) and belong to
    the transfer that uses the value. `sources` are the transfers that its content depends on.
    """

    tier: str
    dtype: Dtype | Unknown
    fields: Mapping[str, Map | Unknown]
    view: str = ""
    window: ViewWindow = field(default_factory=ViewWindow)
    buffer: Buffer | None = field(default=None, compare=False)
    problems: tuple[PlanProblem, ...] = field(default=(), compare=False)
    sources: frozenset[int] = field(default=frozenset(), compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)
    holds: Held | None = field(default=None, compare=False, repr=False)  # what the host wrote into it

    @property
    def missing(self) -> Unknown | None:
        """The first part that is not known."""
        parts = (self.dtype, *(self.fields[place] for place in PLACES[self.tier]))
        return next((part for part in parts if isinstance(part, Unknown)), None)

    def expr(self, place: str) -> Expr:
        part = self.fields[place]
        assert isinstance(part, Map)
        return part.expr

    def with_field(self, place: str, part: Map | Unknown) -> RustTensor:
        return replace(self, fields={**self.fields, place: part})

    def filled(self, other: RustTensor) -> RustTensor:
        """This tensor with what it does not know taken from `other`, of the same tier."""
        fields = {p: other.fields[p] if isinstance(part, Unknown) else part for p, part in self.fields.items()}
        dtype = other.dtype if isinstance(self.dtype, Unknown) else self.dtype
        return replace(self, dtype=dtype, fields=fields)


@dataclass(frozen=True)
class Tuple:
    parts: tuple[Value, ...]


@dataclass(frozen=True)
class Sequence:
    """An array, slice or vector: all its elements are of one type."""

    part: Value
    count: int | None = None
    items: tuple[Value, ...] | None = None  # one by one, where they are known and differ
    falling: bool = False  # of a range without items: from its last number on


@dataclass(frozen=True)
class Record:
    """A struct with its generic arguments; `parts` holds fields whose values are known better than their types."""

    item: Item
    arguments: Mapping[str, Value] = field(default_factory=dict)
    parts: Mapping[str, Value] = field(default_factory=dict, compare=False)
    serial: int = field(default=0, compare=False)  # which instance it is, where that is known


@dataclass(frozen=True)
class Pending:
    """The result of a transfer whose destination only a later use will name; `site` is its number."""

    site: int


@dataclass(frozen=True)
class Opaque:
    """Something that is no tensor: a context, a pipeline, `()`. Its content depends on `sources`."""

    what: str = ""
    sources: frozenset[int] = field(default=frozenset(), compare=False)


@dataclass(frozen=True)
class Configuration(Opaque):
    """How a switch is told what it does: a variant of the library's, with its numbers."""

    numbers: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Pipeline:
    """A stream on its way through the Tensor Unit, or in its registers: what a commit without a type will leave, as far
    as it is known. `stream` is what flows (`stages`), `made` how it comes about, where that is asked for (`terms`).
    """

    tensor: RustTensor
    stream: Any = field(compare=False, repr=False)
    sources: frozenset[int] = field(default=frozenset(), compare=False)
    made: Any = field(default=None, compare=False, repr=False)


Value = Union[Unknown, Dtype, Map, Numbers, RustTensor, Tuple, Sequence, Record, Pending, Opaque, Pipeline]


NUMERIC = (Numbers, Configuration)
"""Values that are another one where they are assigned anew; tensors are followed by their buffers."""


def parts_in(value: Value | None) -> tuple[Value, ...]:
    """The parts of a tuple, a struct or a list: any element, where they are not told one by one."""
    match value:
        case Tuple(parts):
            return parts
        case Record():
            return tuple(value.parts.values())
        case Sequence(part, _, items):
            return items if items is not None else (part,)
        case _:
            return ()


def over_parts(value: Value, change: Callable[[Value], Value]) -> Value:
    """A value with each of its parts changed."""
    match value:
        case Tuple(parts):
            return Tuple(tuple(map(change, parts)))
        case Record():
            return replace(value, parts={name: change(part) for name, part in value.parts.items()})
        case Sequence(part, _, items):
            return replace(value, part=change(part), items=tuple(map(change, items)) if items is not None else None)
        case _:
            return value


def sources_of(value: Value | None) -> frozenset[int]:
    """The transfers that a value's content depends on."""
    match value:
        case RustTensor() | Opaque() | Pipeline():
            return value.sources
        case Pending(site):
            return frozenset((site,))
        case Tuple() | Record():
            return frozenset().union(*map(sources_of, parts_in(value)))
        case Sequence(part):
            return sources_of(part)
        case _:
            return frozenset()


def changing(value: Value, why: Unknown) -> Value:
    """A value that is changed in place: its numbers are not known, its tensors are followed by their buffers."""
    if isinstance(value, NUMERIC):
        return why
    made = over_parts(value, lambda part: changing(part, why))
    if isinstance(made, Sequence):
        return value if made == value else Sequence(made.part)
    return made


def held(value: Value | None, span: Span | None) -> Held:
    """What a tensor holds that is made `from_vec(value)`."""
    if not isinstance(value, Sequence):
        return Held((), None, span, None, True)
    singles = [one.low for one in value.items or () if isinstance(one, Numbers) and one.single is not None]
    if value.count == 0 or (value.items is not None and len(singles) == len(value.items)):
        return Held(tuple(singles), len(set(singles)) < len(singles), span, len(singles))
    part = value.part
    if not isinstance(part, Numbers) or not part.exact:
        return Held((), None, span, None, True)  # what is not followed may drop some of them
    seen = (part.low,) if part.single is not None else (part.low, part.low + part.step, part.high)
    repeats = value.count > part.count if value.count is not None else None
    return Held(tuple(dict.fromkeys(seen)), repeats, span, value.count)


def may_index(tensor: RustTensor) -> bool:
    """Whether the type of a tensor's elements may be that of an index."""
    return not isinstance(tensor.dtype, Dtype) or tensor.dtype.name[:1] in "iu"


def known(value: Value | None) -> bool:
    """Whether a value says anything: a tensor with a hole does."""
    return value is not None and not isinstance(value, Unknown)
