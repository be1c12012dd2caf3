"""Where two mappings differ, in words: by their trees and by their digits.

Knows: trees, digits and guards as text. Does not know: how the difference was found. Nothing rests on it.
Law: what is named differs as text; whether the meanings differ was decided before.
"""

from __future__ import annotations

from functools import reduce

from dmaverify.language.expr import Expr, Kind, Pair, terms_of
from dmaverify.layout.digits import Digit, DigitForm, Gap, NotDigits, digits_of
from dmaverify.prove.move.cells import TreeText
from dmaverify.prove.smt import all_of, any_of


def _left(expr: Expr) -> Expr:
    """Nested pairs with the inner part alone on the right, so that equal inner parts divide a position alike."""
    return reduce(Pair, terms_of(expr))


def _moved(one: TreeText, other: TreeText) -> str:
    """Live in one alone, or another element."""
    axes = dict.fromkeys((*one.coordinates, *other.coordinates))
    parts = [
        f"(not (= {one.coordinates.get(axis, '0')} {other.coordinates.get(axis, '0')}))"
        for axis in axes
        if one.coordinates.get(axis, "0") != other.coordinates.get(axis, "0")
    ]
    return any_of([_unlike(one.live, other.live), all_of([one.live, other.live, any_of(parts)])])


def _other_kind(one: TreeText, other: TreeText) -> str:
    kinds: tuple[Kind | Gap, ...] = (Kind.TOP, Kind.ZERO, Kind.BOTTOM, Gap.OUT)
    return any_of([_unlike(one.kinds.get(kind, "false"), other.kinds.get(kind, "false")) for kind in kinds])


def _unlike(one: str, other: str) -> str:
    return "false" if one == other else f"(not (= {one} {other}))"


def explanation(first: Expr, second: Expr) -> str:
    """The first digit that one mapping has and the other has not, or has elsewhere; empty where digits do not tell."""
    try:
        forms = (digits_of(first), digits_of(second))
    except NotDigits:
        return ""
    places = [{_key(digit): digit.step for digit in form.digits} for form in forms]
    for mine, theirs, swap in ((places[0], places[1], False), (places[1], places[0], True)):
        for key, step in mine.items():
            if theirs.get(key) != step:
                found = theirs.get(key)
                texts = [f"at step {step:,}", f"at step {found:,}" if found is not None else "not as one digit"]
                one, other = reversed(texts) if swap else texts
                return f"{_digit_text(key)} lies {one} in the first, {other} in the second"
    return _guards_text(forms)


def _key(digit: Digit) -> tuple[str, int, int]:
    return digit.axis or "", digit.weight, digit.slots


def _digit_text(key: tuple[str, int, int]) -> str:
    axis, weight, slots = key
    if not axis:
        return f"a broadcast of {slots:,}"
    return f"{axis}{f' / {weight}' if weight > 1 else ''} % {slots}"


def _guards_text(forms: tuple[DigitForm, DigitForm]) -> str:
    counts = [sorted(str(guard.kind.value) for guard in form.guards) for form in forms]
    if counts[0] != counts[1]:
        texts = [", ".join(found) or "none" for found in counts]
        return f"padding: {texts[0]} in the first, {texts[1]} in the second"
    return ""
