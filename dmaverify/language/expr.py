"""Mapping expressions as trees: `A`, `4`, `e / k`, `e % k`, `e = n`, `e # n`, `l, r`, `e @ k`, `$(e:n, ...)`.

Knows: the constructors, their sizes, their printed form.
Does not know: how text is read (`parse`), what a cell is (`meaning`), whether a tree makes sense (`wellformed`).
Law: `parse(str(e), axes) == e` for every tree that `parse` can build; spans take no part in equality.

Source: docs/machines/rngd.md 1.1, 1.2 and 1.6 (furiosa-mapping-macro and furiosa-mapping-types of furiosa-opt v0.6.0;
book notation of the documents "DMA Engine" and "Sequencer").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Union

from dmaverify.errors import Span
from dmaverify.values import dataclass, field, replace


class Kind(Enum):
    """What a padding cell holds; strictness grows from BOTTOM to TOP (docs/machines/rngd.md 1.2)."""

    BOTTOM = "bottom"  # not accessible: a read is undefined, a write must not touch it
    ZERO = "zero"  # accessible, known to be zero
    TOP = "top"  # accessible, holds anything


MARK = {Kind.TOP: "#", Kind.ZERO: "#{0}", Kind.BOTTOM: "#{!}"}


@dataclass(frozen=True, slots=True)
class Symbol:
    """An axis. `size` 0 stands for an axis that was not declared (`wellformed` reports it)."""

    name: str
    size: int
    span: Span | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Broadcast:
    """`n`: n live cells without a coordinate; `1` is the identity of pairing."""

    size: int
    span: Span | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return str(self.size)


@dataclass(frozen=True, slots=True)
class Stride:
    """`e / k`: every k-th position of e, from the first. Needs k to divide the size of e."""

    inner: Expr
    by: int
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def size(self) -> int:
        return self.inner.size // self.by if self.by else 0

    def __str__(self) -> str:
        return f"{_postfix(self.inner)} / {self.by}"


@dataclass(frozen=True, slots=True)
class Modulo:
    """`e % k`: the first k positions of e. Needs k to divide the size of e."""

    inner: Expr
    by: int
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def size(self) -> int:
        return self.by

    def __str__(self) -> str:
        return f"{_postfix(self.inner)} % {self.by}"


@dataclass(frozen=True, slots=True)
class Resize:
    """`e = n` (book: also `e ! n`): the first n positions of e; beyond the size of e the cells are out of bounds."""

    inner: Expr
    to: int
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def size(self) -> int:
        return self.to

    def __str__(self) -> str:
        return f"{_postfix(self.inner)} = {self.to}"


@dataclass(frozen=True, slots=True)
class Padding:
    """`e # n`: e, then cells of `kind` up to n positions. (Below the size of e it truncates; see `wellformed`.)"""

    inner: Expr
    to: int
    kind: Kind = Kind.TOP
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def size(self) -> int:
        return self.to

    def __str__(self) -> str:
        return f"{_postfix(self.inner)} {MARK[self.kind]} {self.to}"


@dataclass(frozen=True, slots=True)
class Pair:
    """`l, r`: l outside (major), r inside (minor); coordinates of one axis add up."""

    left: Expr
    right: Expr
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def size(self) -> int:
        return self.left.size * self.right.size

    def __str__(self) -> str:
        left = f"[{self.left}]" if isinstance(self.left, Pair) else str(self.left)
        return f"{left}, {self.right}"


@dataclass(frozen=True, slots=True)
class Drop:
    """`e @ k` (book): e without its first k positions."""

    inner: Expr
    first: int
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def size(self) -> int:
        return self.inner.size - self.first

    def __str__(self) -> str:
        return f"{_postfix(self.inner)} @ {self.first}"


@dataclass(frozen=True, slots=True)
class Window:
    """`$(e1:n1, ..., ed:nd)` (book): position s stands for every index sum t with s = sum(sk * nk): a relation."""

    terms: tuple[tuple[Expr, int], ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def size(self) -> int:
        return 1 + sum((term.size - 1) * weight for term, weight in self.terms)

    def __str__(self) -> str:
        terms = ", ".join(f"[{e}]:{n}" if isinstance(e, Pair) else f"{e}:{n}" for e, n in self.terms)
        return f"$({terms})"


Expr = Union[Symbol, Broadcast, Stride, Modulo, Resize, Padding, Pair, Drop, Window]

ONE = Broadcast(1)


def _postfix(inner: Expr) -> str:
    """Text of an operand of `/ % = # @`; only a pair needs brackets, all postfix forms associate to the left."""
    return f"[{inner}]" if isinstance(inner, Pair) else str(inner)


def children(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Symbol() | Broadcast():
            return ()
        case Pair(left, right):
            return (left, right)
        case Window(terms):
            return tuple(term for term, _ in terms)
        case _:
            return (expr.inner,)


def walk(expr: Expr) -> Iterator[Expr]:
    """Every node, parents before children, left before right; without recursion, so that depth costs no stack."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def rebuilt(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """The tree with every outermost part for which `change` gives another replaced by that."""
    made = change(expr)
    if made is not None:
        return made
    if isinstance(expr, Pair):
        return replace(expr, left=rebuilt(expr.left, change), right=rebuilt(expr.right, change))
    if isinstance(expr, (Symbol, Broadcast, Window)):
        return expr
    return replace(expr, inner=rebuilt(expr.inner, change))


def axes_of(expr: Expr) -> dict[str, int]:
    """The axes that `expr` names and their sizes, in order of appearance."""
    return {node.name: node.size for node in walk(expr) if isinstance(node, Symbol)}


def pair(*parts: Expr) -> Expr:
    """The parts as one mapping, outermost first, associated to the right; no part at all is `1`."""
    if not parts:
        return ONE
    result = parts[-1]
    for part in reversed(parts[:-1]):
        result = Pair(part, result)
    return result


def terms_of(expr: Expr) -> tuple[Expr, ...]:
    """The parts of nested pairs, outermost first: the terms of a stream as the documents read them."""
    out: list[Expr] = []
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Pair):
            stack.extend((node.right, node.left))
        else:
            out.append(node)
    return tuple(out)
