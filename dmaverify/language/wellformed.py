"""What is wrong with a mapping that could be read: cuts that do not divide, sizes that are none, names nobody declared.

Knows: the preconditions of each constructor, what a reader probably meant instead.
Does not know: how the text was read, what a mapping is used for, which of its findings a caller counts as errors.
Law: a tree without a fatal problem has positive sizes below 2^64 in every node, and `meaning` gives every position of
it a cell; each problem is reported once, at its own span, and never again by the nodes around it.

    code            fatal  what
    unknown-axis    yes    an axis that nobody declared
    indivisible     yes    `/ k` or `% k` where k does not divide the size
    zero-divisor    yes    `/ 0`, `% 0`
    size-zero       yes    a mapping without positions: `0`, `A = 0`, `A # 0`, an axis of size 0
    drop-beyond     yes    `@ k` that drops every position, or more
    zero-weight     yes    a part of a window that moves no position
    overflow        yes    a size of 2^64 or more
    truncated       no     `#` below the size: it cuts positions off
    out-of-bounds   no     `=` beyond the size: it adds positions without a cell
    recombined      no     (a warning) a cut inside a term of a compound, or inside its padding: put together again with
                           its other half, the vendor's `map` and its closed `index` may differ

Source: docs/machines/rngd.md 1.3 (items 3, 4 and 8) and 1.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from math import prod

from dmaverify.errors import Span, nearest
from dmaverify.language.compound import CompoundDigit, Form, boundaries, coarse, cuts_clean, joined, kept, leaf, widened
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
    children,
    walk,
)
from dmaverify.language.notation import clip
from dmaverify.values import dataclass

SIZE_LIMIT = 2**64
_LARGE = 200  # nodes or characters that a message prints at most, before it is cut to one line
_SEARCH = 4096  # how far a hint looks for a divisor


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a mapping. `fatal`: its meaning is undefined or useless. `warning`: it may well be meant."""

    code: str
    message: str
    span: Span | None
    hint: str
    fatal: bool
    warning: bool = False


def problems(expr: Expr, axes: Mapping[str, int] | None = None) -> tuple[Problem, ...]:
    """Everything wrong with `expr`, in the order of the text.

    `axes` are the declared axes, for suggestions; without them, the known axes of `expr` are suggested.
    """
    known = {name: size for name, size in _axes(expr).items() if size > 0} if axes is None else dict(axes)
    found: list[Problem] = []
    facts: dict[int, _Facts] = {}
    same: dict[object, _Facts] = {}
    for node in _bottom_up(expr):
        inner = tuple(facts[id(child)] for child in children(node))
        key = _identity(node)
        if key not in same:
            same[key] = _judge(node, inner, known, found)
        facts[id(node)] = same[key]
    return tuple(sorted(found, key=lambda problem: problem.span.start if problem.span else -1))


def _axes(expr: Expr) -> dict[str, int]:
    """The axes of `expr`; each shared part is visited once."""
    return {node.name: node.size for node in _bottom_up(expr) if isinstance(node, Symbol)}


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the nodes around need: the size (None once something below is fatal) and the digits."""

    size: int | None
    form: Form = None


_FATAL = _Facts(None)


def _bottom_up(expr: Expr) -> Iterator[Expr]:
    """Every node after its children; each object once."""
    seen: set[int] = set()
    stack = [(expr, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children(node)))


def _identity(node: Expr) -> object:
    """Two uses of one name share all but the top node: its parts tell that it is the same definition."""
    inner = tuple(id(child) for child in children(node))
    if not inner:
        return id(node)
    match node:
        case Stride(_, number) | Modulo(_, number) | Resize(_, number) | Drop(_, number):
            return type(node), inner, number
        case Padding(_, number, kind):
            return type(node), inner, number, kind
        case Window(terms):
            return type(node), inner, tuple(weight for _, weight in terms)
        case _:
            return type(node), inner


def _judge(node: Expr, inner: tuple[_Facts, ...], known: Mapping[str, int], found: list[Problem]) -> _Facts:
    """The facts of `node`; what is wrong with it goes to `found`."""
    match node:
        case Symbol():
            return _symbol(node, known, found)
        case Broadcast(size):
            return _sized(node, size, leaf(None, size), "write `1` for the mapping with a single position", found)
        case Stride(_, by) | Modulo(_, by):
            return _cut(node, by, inner[0], found)
        case Resize(_, to):
            return _resized(node, to, inner[0], found)
        case Padding(_, to):
            return _padded(node, to, inner[0], found)
        case Pair():
            return _paired(node, inner[0], inner[1], found)
        case Drop(_, first):
            return _dropped(node, first, inner[0], found)
        case Window(terms):
            return _window(node, tuple(weight for _, weight in terms), inner, found)


# -- constructors


def _symbol(node: Symbol, known: Mapping[str, int], found: list[Problem]) -> _Facts:
    if node.size > 0:
        return _sized(node, node.size, leaf(node.name, node.size), "", found)
    if node.name in known:
        message = f"the axis {clip(node.name)} has size {known[node.name]}"
        found.append(_fatal("size-zero", message, node, "sizes start at 1"))
    else:
        message = f"the axis {clip(node.name)} is not declared"
        found.append(_fatal("unknown-axis", message, node, _suggest(node.name, known)))
    return _FATAL


def _sized(node: Expr, size: int, form: Form, hint: str, found: list[Problem]) -> _Facts:
    """Facts of a node with this size, unless the size is 0 or does not fit 64 bits."""
    if size <= 0:
        found.append(_fatal("size-zero", f"{_show(node)} has no positions", node, hint))
        return _FATAL
    if size >= SIZE_LIMIT:
        count = str(size) if size < 10**30 else "more than 10^30"
        message = f"{_show(node)} has {count} positions, more than 64 bits can count"
        found.append(_fatal("overflow", message, node, "make an axis smaller, or keep fewer positions of a term"))
        return _FATAL
    return _Facts(size, form)


def _cut(node: Stride | Modulo, by: int, inner: _Facts, found: list[Problem]) -> _Facts:
    sign = "/" if isinstance(node, Stride) else "%"
    if by == 0:
        found.append(_fatal("zero-divisor", f"{_show(node)} divides by 0", node, f"write `{sign} 1` or more"))
        return _FATAL
    if inner.size is None:
        return _Facts(by) if sign == "%" else _FATAL
    if inner.size % by:
        message = f"{_show(node)}: {by} does not divide {inner.size}, the size of {_show(node.inner)}"
        found.append(_fatal("indivisible", message, node, _divisor_hint(node, sign, by, inner.size)))
        return _FATAL
    clean = inner.form is None or by == inner.size or cuts_clean(inner.form, by)
    if not clean and inner.form is not None:
        found.append(_recombined(node, sign, by, inner.size, inner.form))
    if sign == "%":
        return _Facts(by, kept(inner.form, by))
    if by == inner.size:
        return _Facts(1, ())
    return _Facts(inner.size // by, coarse(inner.form, by) if clean else None)


def _resized(node: Resize, to: int, inner: _Facts, found: list[Problem]) -> _Facts:
    if to > 0 and inner.size is not None and to > inner.size:
        message = (
            f"{_show(node)} asks for {_count(to)} of {_show(node.inner)}, which has {inner.size}: "
            f"the last {to - inner.size} are out of bounds"
        )
        found.append(Problem("out-of-bounds", message, node.span, f"to pad, write `# {to}`", fatal=False))
        return _sized(node, to, widened(inner.form, inner.size, to, Kind.TOP), "", found)
    return _sized(node, to, kept(inner.form, to), "keep at least one position: `= 1`", found)


def _padded(node: Padding, to: int, inner: _Facts, found: list[Problem]) -> _Facts:
    if to > 0 and inner.size is not None and to < inner.size:
        message = f"{_show(node)} cuts {_show(node.inner)}, which has {_count(inner.size)}, to its first {to}"
        hint = f"to pad, write `# {inner.size}` or more; to keep the first {to}, write `= {to}`"
        found.append(Problem("truncated", message, node.span, hint, fatal=False))
        return _sized(node, to, kept(inner.form, to), "", found)
    hint = f"write the size with its padding: `# {inner.size}` or more" if inner.size else "write `# 1` or more"
    return _sized(node, to, widened(inner.form, inner.size, to, node.kind), hint, found)


def _paired(node: Pair, left: _Facts, right: _Facts, found: list[Problem]) -> _Facts:
    if left.size is None or right.size is None:
        return _FATAL
    form: Form = None
    if left.form is not None and right.form is not None and prod(step.slots for step in right.form) == right.size:
        form = joined(right.form, left.form)
    return _sized(node, left.size * right.size, form, "", found)


def _dropped(node: Drop, first: int, inner: _Facts, found: list[Problem]) -> _Facts:
    if inner.size is None:
        return _FATAL
    if first >= inner.size:
        message = f"{_show(node)} drops {_count(first)}, and {_show(node.inner)} has only {_count(inner.size)}"
        hint = f"drop at most {inner.size - 1}: `@ {inner.size - 1}`" if inner.size > 1 else "leave the `@` out"
        found.append(_fatal("drop-beyond", message, node, hint))
        return _FATAL
    return _Facts(inner.size - first, inner.form if first == 0 else None)


def _window(node: Window, weights: tuple[int, ...], inner: tuple[_Facts, ...], found: list[Problem]) -> _Facts:
    size = 1
    for weight, part in zip(weights, inner, strict=True):
        if part.size is None:
            return _FATAL
        if weight == 0 and part.size > 1:
            message = f"{_show(node)} gives a part of {_count(part.size)} the weight 0"
            found.append(_fatal("zero-weight", message, node, "write a weight of 1 or more, or leave the part out"))
            return _FATAL
        size += (part.size - 1) * weight
    return _sized(node, size, None, "", found)


# -- words


def _fatal(code: str, message: str, node: Expr, hint: str) -> Problem:
    return Problem(code, message, node.span, hint, fatal=True)


def _show(node: Expr) -> str:
    return clip(_brief(node))


def _brief(node: Expr) -> str:
    """The printed form; for a large tree both ends of its text, so that many findings about large trees stay cheap."""
    if sum(1 for _ in islice(walk(node), _LARGE + 1)) <= _LARGE:
        return str(node)
    text = node.span.text if node.span else "this mapping"
    return text if len(text) <= 2 * _LARGE else f"{text[:_LARGE]} ... {text[-_LARGE:]}"


def _count(positions: int) -> str:
    return "1 position" if positions == 1 else f"{positions} positions"


def _recombined(node: Stride | Modulo, sign: str, by: int, size: int, form: tuple[CompoundDigit, ...]) -> Problem:
    message = (
        f"{_show(node)} cuts inside a term of {_show(node.inner)}: put together again from its halves `/ {by}` and "
        f"`% {by}`, the vendor's cell map and its closed index need not agree"
    )
    cuts = [cut for cut in boundaries(form) if size % cut == 0 and 1 < cut < size]
    near = sorted(cuts, key=lambda cut: (abs(cut - by), cut))[:2]
    choices = " or ".join(f"`{sign} {cut}`" for cut in sorted(near))
    hint = f"cut where a term ends: {choices}" if near else "cut the terms themselves"
    return Problem("recombined", message, node.span, hint, fatal=False, warning=True)


def _divisor_hint(node: Stride | Modulo, sign: str, by: int, size: int) -> str:
    below = next((k for k in range(min(by - 1, size), max(0, by - _SEARCH), -1) if size % k == 0), None)
    above = next((k for k in range(by + 1, min(size, by + _SEARCH) + 1) if size % k == 0), None)
    near = [f"`{sign} {k}`" for k in (below, above) if k is not None]
    inner = f"[{_brief(node.inner)}]" if isinstance(node.inner, Pair) else _brief(node.inner)
    padded = f"{inner} # {-(-size // by) * by} {sign} {by}"
    pad = f"pad first: {clip(padded)}"
    return f"write {' or '.join(near)}, or {pad}" if near else pad


def _suggest(name: str, known: Mapping[str, int]) -> str:
    if not known:
        return "declare it with its size"
    folded = {other.lower(): other for other in known}
    near = folded.get(name.lower()) or nearest(name, known)
    if near is not None and near != name:
        return f"did you mean `{near}`?"
    names = ", ".join(f"`{other}`" for other in list(known)[:8])
    return f"declare it with its size; the axes here are {names}{', ...' if len(known) > 8 else ''}"
