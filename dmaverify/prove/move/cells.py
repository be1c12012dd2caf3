"""Cells as solver text: when is a position live, which padding is it, what are its coordinates.

Knows: layouts (digits and guards) and, where a mapping has no digits, its tree, one case per constructor.
Does not know: commands, obligations.
Law: for digit terms that are in range and violate no void guard, the text says exactly what `meaning` says of the cell
there, finalized: an index whose sum on an axis reaches the axis size is Top.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.language.expr import (
    Broadcast,
    Drop,
    Expr,
    Kind,
    Modulo,
    Padding,
    Pair,
    Resize,
    Stride,
    Symbol,
    Window,
    axes_of,
)
from dmaverify.layout.addresses import BYTE, Layout
from dmaverify.layout.digits import Gap, Guard
from dmaverify.program.space import opaque_axis
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.prove.smt import all_of, any_of, linear, negation, number
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class CellText:
    """Text over digit terms. `variables` and `constraints` are what the text needs besides (quotients of a tree)."""

    live: str
    bottom: str
    zero: str
    coordinates: dict[str, str]
    outside: str = "false"  # `=` beyond the size: Top where it is read, Bottom where it is written
    variables: tuple[tuple[str, int | None, int | None], ...] = ()
    constraints: tuple[str, ...] = ()


def cell_text(layout: Layout, terms: Sequence[str], tensor: Tensor, opaque: bool, prefix: str) -> CellText:
    """`terms[j]` is the text of digit j."""
    return _from_tree(layout, terms, tensor, prefix) if opaque else _from_digits(layout, terms)


def guard_text(layout: Layout, index: int, terms: Sequence[str]) -> str:
    guard = layout.guards[index]
    value = linear(guard.constant, ((k, terms[i]) for i, k in guard.terms))
    return f"(>= {value} {number(guard.bound)})"


def void_text(layout: Layout, terms: Sequence[str], first: int = 0) -> str:
    """The digits stand for no position, by a guard that asks one of those from `first` on."""
    asked = (i for i, guard in enumerate(layout.guards) if guard.kind is Gap.VOID and _asks_from(guard, first))
    return any_of([guard_text(layout, i, terms) for i in asked])


def _asks_from(guard: Guard, first: int) -> bool:
    return not first or any(index >= first for index, _ in guard.terms)


def _kinds(ordered: Sequence[tuple[str, Kind | Gap]]) -> tuple[str, str, str, str]:
    """live, bottom, zero, outside from conditions in order of precedence."""
    live = all_of([negation(text) for text, _ in ordered])
    found: dict[Kind | Gap, list[str]] = {Kind.BOTTOM: [], Kind.ZERO: [], Gap.OUT: []}
    before: list[str] = []
    for text, kind in ordered:
        if kind in found:
            found[kind].append(all_of([*(negation(b) for b in before), text]))
        before.append(text)
    return live, any_of(found[Kind.BOTTOM]), any_of(found[Kind.ZERO]), any_of(found[Gap.OUT])


def _from_digits(layout: Layout, terms: Sequence[str]) -> CellText:
    ordered = [(guard_text(layout, i, terms), g.kind) for i, g in enumerate(layout.guards) if g.kind is not Gap.VOID]
    live, bottom, zero, outside = _kinds(ordered)
    sums: dict[str, list[tuple[int, str]]] = {axis: [] for axis, _ in layout.sizes}
    for digit, term in zip(layout.digits, terms, strict=True):
        if digit.axis is not None:
            sums.setdefault(digit.axis, []).append((digit.weight, term))
    constants = dict(layout.offsets)
    coordinates = {axis: linear(constants.get(axis, 0), parts) for axis, parts in sums.items()}
    return CellText(live, bottom, zero, coordinates, outside)


class Quotients:
    """Variables for quotients and remainders. The same text divided by the same number is the same pair (Euclid)."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.variables: list[tuple[str, int | None, int | None]] = []
        self.constraints: list[str] = []
        self.known: dict[tuple[str, int], tuple[str, str]] = {}

    def divided(self, at: str, by: int) -> tuple[str, str]:
        """`at = by * high + low`, for a text that is at least 0."""
        found = self.known.get((at, by))
        if found is None:
            found = self.known[at, by] = self._fresh(None), self._fresh(by)
            high, low = found
            self.constraints.append(f"(= {at} {linear(0, [(by, high), (1, low)])})")
        return found

    def _fresh(self, bound: int | None) -> str:
        name = f"{self.prefix}q{len(self.variables)}"
        self.variables.append((name, 0, bound))
        return name


@dataclass(frozen=True, slots=True)
class TreeText:
    """The cell of a mapping at one position: a condition per kind that is no index, coordinates where none holds."""

    live: str
    kinds: dict[Kind | Gap, str]
    coordinates: dict[str, str]


def tree_text(expr: Expr, at: str, quotients: Quotients) -> TreeText:
    """The finalized cell of `expr` at position `at` (a text, at least 0), by its tree alone. Raises WindowRelation."""
    tree = _GuardedTree(quotients)
    tree.visit(expr, at)
    sizes = axes_of(expr)
    coordinates = {axis: linear(0, parts) for axis, parts in tree.sums.items()}
    tree.ordered += [(f"(>= {text} {number(sizes[axis])})", Kind.TOP) for axis, text in coordinates.items()]
    kinds: dict[Kind | Gap, list[str]] = {}
    before: list[str] = []
    for text, kind in tree.ordered:
        kinds.setdefault(kind, []).append(all_of([*(negation(b) for b in before), text]))
        before.append(text)
    live = all_of([negation(text) for text in before])
    return TreeText(live, {kind: any_of(parts) for kind, parts in kinds.items()}, coordinates)


class _GuardedTree:
    """The guarded encoding: a quotient and a remainder per pair, never `div` or `mod`."""

    def __init__(self, quotients: Quotients) -> None:
        self.quotients = quotients
        self.ordered: list[tuple[str, Kind | Gap]] = []
        self.sums: dict[str, list[tuple[int, str]]] = {}

    def visit(self, expr: Expr, at: str) -> None:
        """Adds what the cell of `expr` at position `at` is. The position is known to be at least 0."""
        match expr:
            case Symbol(name, size):
                self._beyond(at, size)
                self.sums.setdefault(name, []).append((1, at))
            case Broadcast(size):
                self._beyond(at, size)
            case Stride(inner, by):
                self._beyond(at, expr.size)
                self.visit(inner, linear(0, [(by, at)]))
            case Modulo(inner, count) | Resize(inner, count):
                self._beyond(at, count)
                self.visit(inner, at)
            case Padding(inner, to, kind):
                self._beyond(at, to)
                if to > inner.size:
                    self.ordered.append((f"(>= {at} {number(inner.size)})", kind))
                self.visit(inner, at)
            case Drop(inner, first):
                self._beyond(at, expr.size)
                self.visit(inner, linear(first, [(1, at)]))
            case Pair(left, right):
                self._beyond(at, expr.size)
                high, low = self.quotients.divided(at, right.size)
                self.visit(left, high)
                self.visit(right, low)
            case Window():
                raise WindowRelation(expr)

    def _beyond(self, at: str, size: int) -> None:
        self.ordered.append((f"(>= {at} {number(size)})", Gap.OUT))


class WindowRelation(Exception):
    """Overlapping windows are a relation, not a function: no single cell stands at a position."""

    def __init__(self, expr: Window) -> None:
        super().__init__(str(expr))
        self.expr = expr


def has_window(tensor: Tensor) -> Window | None:
    from dmaverify.language.expr import walk
    from dmaverify.layout.digits import NotDigits, compile_digits

    for place in PLACES:
        for node in walk(tensor.field(place)):
            if isinstance(node, Window):
                try:
                    compile_digits(node)
                except NotDigits as reason:
                    if isinstance(reason.expr, Window):
                        return node
    return None


def _from_tree(layout: Layout, terms: Sequence[str], tensor: Tensor, prefix: str) -> CellText:
    quotients = Quotients(prefix)
    tree = _GuardedTree(quotients)
    sizes: dict[str, int] = {}
    coordinates: dict[str, str] = {}
    for place in PLACES:
        expr = tensor.field(place)
        parts = [(d.weight, t) for d, t in zip(layout.digits, terms, strict=True) if d.axis == opaque_axis(place)]
        tree.visit(expr, linear(0, parts))
        sizes.update(axes_of(expr))
    for axis, parts in tree.sums.items():
        coordinates[axis] = linear(0, parts)
        tree.ordered.append((f"(>= {coordinates[axis]} {number(sizes[axis])})", Kind.TOP))
    parts = [(d.weight, t) for d, t in zip(layout.digits, terms, strict=True) if d.axis == BYTE]
    coordinates |= {BYTE: linear(0, parts)} if parts else {}
    live, bottom, zero, outside = _kinds(tree.ordered)
    return CellText(live, bottom, zero, coordinates, outside, tuple(quotients.variables), tuple(quotients.constraints))
