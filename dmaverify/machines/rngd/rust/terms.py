"""What the tensors of a kernel hold in the end, each as a term over what it was given: same terms, same contents.

Knows: which operation made what from which contents, which accesses nothing orders. Does not know: Rust text, what an
operation computes, addresses.
Law: an operation is a symbol: two results are the same only where one operation, in the same words of the library and
of the same types, has the same operands in the same order. A term says nothing of a result that two accesses which
nothing orders may change; nor of contents that nobody wrote. Terms that differ say nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import combinations

from dmaverify.errors import Span
from dmaverify.language.expr import axes_of
from dmaverify.machines.rngd.rust.cells import share_cells
from dmaverify.machines.rngd.rust.integers import ANY
from dmaverify.machines.rngd.rust.values import PLACES, Dtype, Map, Numbers, Opaque, RustTensor, Unknown, Value
from dmaverify.values import dataclass, field

NEW = "new"
_MARK = re.compile(r"~\w*")


@dataclass(frozen=True)
class OperationTerm:
    """One operation, with what its text says of it; `of`: its operands, by their numbers in the kernel."""

    op: str
    key: Hashable
    of: tuple[int, ...] = ()


@dataclass(frozen=True)
class Made:
    """A content on its way: its term, the views that were read for it since the last operation, and those operations
    that came before it in whatever order the machine takes. `register`: it stays in registers of the Tensor Unit.
    `moves`: the view whose elements it holds, none of them changed.
    """

    term: int
    reads: tuple[RustTensor, ...] = ()
    behind: frozenset[int] = frozenset()
    register: bool = False
    moves: RustTensor | None = None


@dataclass(frozen=True)
class TermTouch:
    """One access of an operation to a buffer."""

    operation: int
    tensor: RustTensor
    writes: bool


@dataclass
class KernelTerms:
    """The terms of one kernel, and what each buffer holds now, by its number."""

    terms: list[OperationTerm] = field(default_factory=list)
    known: dict[OperationTerm, int] = field(default_factory=dict)
    holds: dict[int, int] = field(default_factory=dict)
    parts: dict[int, RustTensor] = field(default_factory=dict)  # of a buffer that a term writes anew
    touches: dict[int, list[TermTouch]] = field(default_factory=lambda: defaultdict(list))
    before: list[frozenset[int]] = field(default_factory=list)  # of each operation, those that come before it
    spans: list[Span] = field(default_factory=list)
    calls: set[Hashable] = field(default_factory=set)  # of the library, each of which may stop a run
    given: dict[str, None] = field(default_factory=dict)  # what views that are read have to keep
    axes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # declarations, by the name they give

    def term(self, op: str, key: Hashable, *of: int) -> int:
        """The number of a term."""
        one = OperationTerm(op, key, of)
        if one not in self.known:
            self.known[one] = len(self.terms)
            self.terms.append(one)
        return self.known[one]

    def content(self, serial: int) -> int:
        """What a buffer holds now."""
        return self.holds[serial] if serial in self.holds else self.term(NEW, "")

    def read(self, tensor: RustTensor) -> Made:
        """What a view of a buffer shows now."""
        assert tensor.buffer is not None
        serial = tensor.buffer.serial
        writers = [t.operation for t in self.touches[serial] if t.writes and share_cells(t.tensor, tensor) is True]
        behind = frozenset(writers).union(*(self.before[one] for one in writers))
        return Made(self.term("read", self.type_key(tensor), self.content(serial)), (tensor,), behind)

    def done(self, made: Sequence[Made], dest: RustTensor | None, span: Span) -> int:
        """Enters an operation that takes these contents and writes all that `dest` names; its number."""
        operation = len(self.before)
        self.before.append(frozenset().union(*(one.behind for one in made)))
        self.spans.append(span)
        for tensor in (tensor for one in made for tensor in one.reads):
            assert tensor.buffer is not None
            self.touches[tensor.buffer.serial].append(TermTouch(operation, tensor, False))
        if dest is not None:
            assert dest.buffer is not None
            self.touches[dest.buffer.serial].append(TermTouch(operation, dest, True))
        return operation

    def write(self, term: int, made: Sequence[Made], dest: RustTensor, span: Span, *, fresh: bool) -> None:
        """An operation whose result `term` is all of a `fresh` tensor, or goes into a view of another."""
        assert dest.buffer is not None
        serial, key = dest.buffer.serial, self.type_key(dest)
        self.done(made, dest, span)
        if fresh or not dest.window.tiled:
            self.holds[serial] = term if fresh else self.term("over", key, term, self.content(serial))
        else:
            self.holds[serial] = self._into(dest, key, term, self.content(serial))

    def _into(self, dest: RustTensor, key: Hashable, term: int, content: int) -> int:
        """A content with a part of it written anew: of parts that share no cell, in one order whichever came first."""
        last = self.terms[content]
        before = self.parts.get(content)
        if before is not None and repr(last.key) > repr(key) and share_cells(before, dest) is False:
            made = self.term("into", last.key, last.of[0], self._into(dest, key, term, last.of[1]))
            self.parts[made] = before
        else:
            made = self.term("into", key, term, content)
            self.parts[made] = dest
        return made

    # ------------------------------------------------------------ keys

    def type_key(self, tensor: RustTensor) -> Hashable:
        """The type of a view and where it starts: what a reader of the buffer has to know of it."""
        fields = tuple(self.value_key(tensor.fields[place]) for place in PLACES[tensor.tier])
        starts = tuple(sorted((place, at.low) for place, at in tensor.window.at.items() if at.low))
        return tensor.tier, self.value_key(tensor.dtype), fields, starts

    def value_key(self, value: Value) -> Hashable:
        """A generic argument; None where it is not known, "_" where inference finds it."""
        match value:
            case Map(expr):
                text = str(expr)
                for name in axes_of(expr):
                    self.axes[_MARK.sub("", name)].add(name)
                sizes = sorted((_MARK.sub("", name), size) for name, size in axes_of(expr).items())
                return "m", _MARK.sub("", text), tuple(sizes)
            case Dtype(name):
                return name
            case Numbers() if value.single is not None:
                return value.low
            case RustTensor():
                return self.type_key(value) if value.missing is None else None
            case Unknown(""):
                return "_"
            case Opaque(what) if what in ("true", "false"):
                return what
            case _:
                return None

    # ------------------------------------------------------------ answers

    def doubt(self, ends: Sequence[int]) -> tuple[str, Span | None]:
        """Why the terms of these buffers say nothing of what they hold, and where; empty where they do."""
        twice = next((name for name, own in self.axes.items() if len(own) > 1), None)
        if twice is not None:
            return f"`{twice}` is the name of two axes", None
        for own in self.touches.values():
            for one, other in combinations(own, 2):
                if one.operation in self.before[other.operation] or one.operation == other.operation:
                    continue
                if (one.writes or other.writes) and share_cells(one.tensor, other.tensor) is not False:
                    lines = sorted({self.spans[touch.operation].line for touch in (one, other)})
                    said = " and ".join(map(str, lines))
                    return f"nothing orders what lines {said} do to one tensor", self.spans[other.operation]
        if any(self.terms[self.content(one)].op == NEW for one in ends):
            return "it gives a tensor that nobody wrote", None
        return "", None

    def told(self, ends: Sequence[int], world: dict[tuple[object, ...], int]) -> tuple[list[int], str]:
        """The contents of these buffers as numbers of a `world` that kernels share, where the same term has the same
        number, and the first operation that the world did not have.
        """
        numbers: list[int] = []
        first = ""
        for one in self.terms:
            key = (one.op, one.key, *(numbers[part] for part in one.of))
            first = first or (one.op if key not in world and one.op not in ("read", "into", "over") else "")
            numbers.append(world.setdefault(key, len(world)))
        return [numbers[self.content(one)] for one in ends], first


def number_key(number: Numbers) -> Hashable:
    """A number with its type; an integer to which nothing gives one is an `i32`."""
    return "number", number.single, "i32" if number.type in ("", ANY) else number.type


def library_name(operation: Hashable) -> tuple[str, str]:
    """The type and the variant that a path of the library ends with; of `MulF(..)` that of the call."""
    if isinstance(operation, tuple) and operation[:1] == ("as",):
        operation = operation[2]
    if isinstance(operation, tuple) and len(operation) > 1 and isinstance(operation[0], tuple):  # a call, or a method's
        operation = operation[0] if not isinstance(operation[1], str) else None
    if not isinstance(operation, tuple) or len(operation) != 2:
        return "", ""
    first, rest = operation[1]
    imported = bool(first) and isinstance(first[0], tuple)
    if imported and len(first) != 1:
        return "", ""
    parts = (*first[0], *rest) if imported else first
    return (parts[-2], parts[-1]) if len(parts) > 1 else ("", "")
