"""Patterns of a `match`: which of them take what others take, as sets over a partition of the values.

Knows: integers and their ranges, `true` and `false`, `Some` and `None`, variants of enums, constants by their numbers.
Does not know: what is matched (`questions`), what arms do (`flow`).
Law: an arm is what its pattern takes and no arm before it took; it is called the one that is taken only where its
number is known. Patterns that cannot be compared are told apart by their texts where these mean the same at two places,
and by nothing where they do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.code import child, named, parts_of, sides_of
from dmaverify.machines.rngd.rust.escapes import clip
from dmaverify.machines.rngd.rust.impls import imports_in_block, in_prelude
from dmaverify.machines.rngd.rust.module import Item, NameScope
from dmaverify.machines.rngd.rust.numbers import Look, number_of, truth_at
from dmaverify.machines.rngd.rust.values import Numbers, Tuple, Value
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_SHARED = 8  # ranges of a text that are compared with those of each match in it
_END = 1 << 200  # beyond every integer
_TAKES_ALL = {"_", "ref_pattern", "mut_pattern"}
_NAME = re.compile(r"_?[a-z]\w*")
_PATTERN = re.compile(rb"[\s{|,](\d[\d_]*(?:\s*\.\.=?\s*\d[\d_]*)?)(?=\s*(?:=>|\||if\b))")  # a literal of a pattern
_SAFE = re.compile(r"[\w\s:|,.()=&\"'-]+")

Ranges = tuple[tuple[int, int], ...]
"""Integers, from the first of each pair to before the second."""


@dataclass(frozen=True)
class Partition:
    """The values of a type in parts that no pattern divides: a name for the whole, and how a finding tells each."""

    key: str
    parts: tuple[str, ...]
    arms: tuple[frozenset[int], ...]  # what each pattern takes
    values: tuple[Ranges, ...] = ()  # the integers of each part


def partition(
    code: Code, arms: list[Node], look: Look, scope: NameScope, generics: set[str], within: tuple[int, int] | None
) -> Partition | None:
    """The parts of what is matched; `within` are the values of its type where that is an integer that is known. None
    where patterns cannot be compared with those of another match.
    """
    patterns = [_inner(arm) for arm in arms]
    if any(one is None for one in patterns):
        return None
    whole = [one for one in patterns if one is not None]
    ranges = [_ranges(code, one, look, scope) for one in whole]
    if all(one is not None for one in ranges):
        return _of_numbers(code, [one for one in ranges if one is not None], within)
    found = [_variants(code, one, scope) for one in whole]
    known = [one for one in found if one is not None]
    domains = {own for own, _ in known if own}
    if len(known) == len(whole) and len(domains) == 1:
        ((_, *names),) = domains
        every = frozenset(range(len(names)))
        taken = tuple(frozenset(map(names.index, chosen)) if own else every for own, chosen in known)
        return Partition(f"one of {domains}", tuple(f"`{name}`" for name in names), taken)
    return _by_texts(code, whole, scope, generics)


def of_truths(code: Code, arms: list[Node], scope: NameScope) -> tuple[frozenset[int], ...] | None:
    """Which of `true` and `false` arms take, where all of them speak of these."""
    out = []
    for arm in arms:
        pattern = _inner(arm)
        own = [code.text(one) for one in _alternatives(pattern)] if pattern is not None else []
        some = [one for one in _alternatives(pattern) if takes_all(code, one, scope)] if pattern is not None else []
        if not own or not (some or all(one in ("true", "false") for one in own)):
            return None
        out.append(frozenset((0, 1)) if some else frozenset(int(one == "false") for one in own))
    return tuple(out) if any(len(one) == 1 for one in out) else None


def chosen_arm(code: Code, arms: list[Node], value: Value, look: Look, scope: NameScope) -> int | None:
    """The arm that a known number, or a tuple of them, takes; None where that cannot be said."""
    for arm in arms:
        whole, pattern = arm.child_by_field_name("pattern"), _inner(arm)
        taken = _takes(code, pattern, value, look, scope) if pattern is not None else None
        guard = whole.child_by_field_name("condition") if whole is not None else None
        if taken and guard is not None and pattern is not None:
            taken = _guarded(code, guard, pattern, value, look)
        if taken is None:
            return None
        if taken:
            return arm.id
    return None


def _guarded(code: Code, guard: Node, pattern: Node, value: Value, look: Look) -> bool | None:
    """Whether the guard of an arm holds of a number that its pattern takes, as a whole or without a name."""
    if any(one.type == "identifier" and _NAME.fullmatch(code.text(one)) for one in walk(pattern) if one != pattern):
        return None
    bound = code.text(pattern) if pattern.type == "identifier" else ""
    number = value if isinstance(value, Numbers) else None
    return truth_at(code, guard, lambda kind, text: number if (kind, text) == ("path", bound) else look(kind, text))


def _takes(code: Code, pattern: Node, value: Value, look: Look, scope: NameScope) -> bool | None:
    """Whether a pattern takes a value."""
    if takes_all(code, pattern, scope):
        return True
    if isinstance(value, Tuple):
        parts = [one for one in pattern.children if one.is_named or one.type == "_"]
        if pattern.type != "tuple_pattern" or len(parts) != len(value.parts):
            return None
        told = [_takes(code, *pair, look, scope) for pair in zip(parts, value.parts, strict=True)]
        return False if False in told else None if None in told else True
    number = value.single if isinstance(value, Numbers) else None
    if number is None:
        return None
    truths = [code.text(one) for one in _alternatives(pattern)]
    if all(one in ("true", "false") for one in truths):
        return ("true" if number else "false") in truths
    ranges = _ranges(code, pattern, look, scope)
    if ranges is None and pattern.type == "identifier":
        own = _number(code.text(pattern), look)
        return own == number if own is not None else None
    return any(first <= number < end for first, end in ranges) if ranges is not None else None


def takes_all(code: Code, pattern: Node, scope: NameScope) -> bool:
    """Whether a pattern takes every value: `_`, or a name that it binds."""
    if pattern.type in _TAKES_ALL:
        return True
    text = code.text(pattern)
    item = scope.find(text, values=True)
    return pattern.type == "identifier" and bool(_NAME.fullmatch(text)) and (item is None or item.kind == "fn")


def _inner(arm: Node) -> Node | None:
    """The pattern of an arm without its guard."""
    whole = arm.child_by_field_name("pattern")
    return next((one for one in whole.children if one.is_named or one.type == "_"), None) if whole is not None else None


def told_pattern(code: Code, arm: Node) -> str:
    """How a finding names the arm of a `match` by its pattern."""
    pattern = _inner(arm)
    text = " ".join(code.text(pattern).split()) if pattern is not None else "_"
    return "none of the others" if text == "_" else f"`{clip(text)}`"


def _alternatives(pattern: Node) -> Iterator[Node]:
    if pattern.type == "captured_pattern":  # `x @ pattern` takes what the pattern takes
        pattern = next(one for one in reversed(pattern.children) if one.is_named or one.type == "_")
    if pattern.type != "or_pattern":
        yield pattern
        return
    for one in pattern.children:
        if one.is_named or one.type == "_":
            yield from _alternatives(one)


# ---------------------------------------------------------------- integers


def _ranges(code: Code, pattern: Node, look: Look, scope: NameScope) -> Ranges | None:
    out: list[tuple[int, int]] = []
    for one in _alternatives(pattern):
        if one.type == "reference_pattern" and len(named(one)) == 1:
            one = named(one)[0]
        if takes_all(code, one, scope):
            out.append((-_END, _END))
            continue
        if one.type == "boolean_literal" or not re.fullmatch(r"[\w:\s.=-]+", code.text(one)):
            return None
        ends = _ends(code, one, look)
        if ends is None:
            return None
        out.append(ends)
    return tuple(out)


def _ends(code: Code, pattern: Node, look: Look) -> tuple[int, int] | None:
    text = code.text(pattern)
    if _NAME.fullmatch(text):
        return None  # a constant that may be hidden by a variable
    if pattern.type != "range_pattern":
        own = _number(text, look)
        return None if own is None else (own, own + 1)
    low, high = sides_of(pattern)
    first = _number(code.text(low), look) if low is not None else -_END
    last = _number(code.text(high), look) if high is not None else _END
    if first is None or last is None:
        return None
    return first, last + (child(pattern, "..=") is not None)


def _number(text: str, look: Look) -> int | None:
    found = number_of(text, look)
    return found.single if found is not None else None


@lru_cache(maxsize=64)
def _shared(code: Code) -> frozenset[tuple[int, int]]:
    """The ranges of literals in all patterns of a text, where they are few."""
    found: set[tuple[int, int]] = set()
    for text in _PATTERN.findall(code.data):
        numbers = [int(one) for one in re.findall(r"\d+", text.decode().replace("_", ""))]
        found.add((numbers[0], numbers[-1] + (b"..=" in text or b".." not in text)))
    return frozenset(found) if len(found) <= MOST_SHARED else frozenset()


def _of_numbers(code: Code, arms: list[Ranges], within: tuple[int, int] | None) -> Partition:
    """Classes of integers that the ranges of these arms, and of all patterns of the text, take alike."""
    low, high = within or (-_END, _END)
    own = {one for arm in arms for one in arm if one != (-_END, _END)}
    every = sorted(own | _shared(code))
    cuts = sorted({low, high, *(end for one in every for end in one if low < end < high)})
    classes: dict[tuple[bool, ...], list[int]] = {}
    for start in cuts[:-1]:
        classes.setdefault(tuple(first <= start < last for first, last in every), []).append(start)
    told = tuple(_told([one for one, has in zip(every, sign, strict=True) if has], own) for sign in classes)
    taken = [
        frozenset(n for n, at in enumerate(classes.values()) if any(a <= at[0] < b for a, b in arm)) for arm in arms
    ]
    parts = [[(at, cuts[cuts.index(at) + 1]) for at in starts] for starts in classes.values()]
    return Partition(f"one of {_joined(parts)}", told, tuple(taken), tuple(map(tuple, parts)))


def _joined(parts: list[list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    """Classes without the cuts within them: what they are called does not hang on how they were found."""
    out: list[list[tuple[int, int]]] = []
    for part in parts:
        whole: list[tuple[int, int]] = []
        for first, last in part:
            if whole and whole[-1][1] == first:
                whole[-1] = whole[-1][0], last
            else:
                whole.append((first, last))
        out.append(whole)
    return out


def _told(ranges: list[tuple[int, int]], own: set[tuple[int, int]]) -> str:
    """How a class of integers is called: by the least range that takes it."""
    if not any(one in own for one in ranges):
        return "none of the others"
    first, last = min(ranges, key=lambda one: one[1] - one[0])
    return f"`{first}`" if last == first + 1 else f"`{first}..={last - 1}`"


# ---------------------------------------------------------------- variants


def _variants(code: Code, pattern: Node, scope: NameScope) -> tuple[tuple[str, ...], set[str]] | None:
    """What an enum is called with all of its variants, and those that a pattern takes; none where it takes all."""
    domain: tuple[str, ...] = ()
    taken: set[str] = set()
    for one in _alternatives(pattern):
        if takes_all(code, one, scope):
            return (), set()
        found = _variant(code, one, scope)
        if found is None or (domain and domain != found[0]):
            return None
        domain = found[0]
        taken.add(found[1])
    return domain, taken


def _variant(code: Code, one: Node, scope: NameScope) -> tuple[tuple[str, ...], str] | None:
    if one.type == "reference_pattern" and len(named(one)) == 1:
        one = named(one)[0]
    head = one.child_by_field_name("type") if one.type in ("tuple_struct_pattern", "struct_pattern") else one
    if head is None:
        return None
    inner = (
        [part for part in one.children if part != head and (part.is_named or part.type == "_")] if head != one else []
    )
    if not all(part.type == "remaining_field_pattern" or takes_all(code, part, scope) or _field(code, part, scope)
               for part in inner):  # fmt: skip
        return None
    path = parts_of(code.text(head))
    if len(path) == 1:
        names = ("", "None", "Some") if path[0] in ("None", "Some") else ("", "Ok", "Err")
        return (names, path[0]) if path[0] in names[1:] and in_prelude(scope, path[0]) else None
    item = scope.path(path[:-1])
    listed = _listed(item) if item is not None and item.kind == "enum" else ()
    return ((f"{id(item)}", *listed), path[-1]) if path[-1] in listed else None


def _field(code: Code, part: Node, scope: NameScope) -> bool:
    """Whether a field of a struct pattern takes everything: `a`, `a: _`."""
    pattern = part.child_by_field_name("pattern")
    return part.type == "field_pattern" and (pattern is None or takes_all(code, pattern, scope))


def _listed(item: Item) -> tuple[str, ...]:
    """The variants of an enum; none where some builds have others."""
    body = item.node.child_by_field_name("body")
    if body is None or child(body, "attribute_item") is not None:
        return ()
    names = [one.child_by_field_name("name") for one in named(body) if one.type == "enum_variant"]
    return tuple(item.code.text(one) for one in names if one is not None)


# ---------------------------------------------------------------- anything else


def _by_texts(code: Code, patterns: list[Node], scope: NameScope, generics: set[str]) -> Partition | None:
    """Arms by their texts in this order, where every name in them means the same in all of the module."""
    texts = [" ".join(code.text(one).split()) for one in patterns]
    words = {part.split("::")[0].strip() for text in texts for part in re.findall(r"[A-Za-z_]\w*(?:\s*::)?", text)}
    if not all(map(_SAFE.fullmatch, texts)) or "Self" in words or words & generics or imports_in_block(scope):
        return None
    items = [scope.find(word, values=True) for word in words]
    if code.at is not None or any(one is not None and one.scope.kind == "block" for one in items):
        return None
    arms = tuple(frozenset((number,)) for number in range(len(texts)))
    told = tuple("none of the others" if text == "_" else f"`{text}`" for text in texts)
    return Partition(f"{texts} in {id(scope.module)}", told, arms)
