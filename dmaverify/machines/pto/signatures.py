"""Operands that an operation takes: how many of each kind, of which types, masks of which width.

Knows: the part `operands` of encodings/pto/target.toml. Does not know: text, values, the rules that look at this.
Law: an operation that the data does not name takes anything, and of an operand whose type is not known nothing is said.

Source: encodings/pto/target.toml, [operands].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from dmaverify.machines.pto.typed import KINDS, MASK, SCALAR, TILE, TypedOperand, TypedUse
from dmaverify.machines.pto.types import bits_of
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Seen:
    """What rules look at: ports, and of what in words. `unlisted`: no document gives the operation this type."""

    what: str
    ports: Mapping[str, int] = field(default_factory=dict)
    unlisted: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """What an operation takes and makes, each as the data writes it; see there."""

    takes: tuple[str, ...]
    makes: tuple[str, ...]
    of: Mapping[str, Sequence[str]]
    follows: Mapping[str, Mapping[str, str]]
    within: Sequence[str]


@lru_cache(maxsize=4)
def signatures(target: Target) -> Mapping[str, Sequence[Signature]]:
    """Name of an operation, without its dialect -> what it takes in each of its forms."""
    out: dict[str, list[Signature]] = {}
    for entry in target.raw["operands"].values():
        parts = (tuple(entry["takes"]), tuple(entry["makes"]), entry.get("of", {}), entry.get("follows", {}))
        for name in entry["names"]:
            out.setdefault(name, []).append(Signature(*parts, entry.get("within", ())))
    return out


def seen_of(use: TypedUse, target: Target) -> Iterator[Seen]:
    """What rules look at of one operation, in the form that takes as many operands; else in the first."""
    name = use.name
    every = signatures(target).get(name.removeprefix("pto."), ())
    forms = [one for one in every if not one.within or use.memories in one.within]
    if not forms:
        return
    found = next((one for one in forms if _takes(one, use)), forms[0])
    named: dict[str, dict[str, str]] = {}  # for each letter, its types and an operand of each
    masks: list[TypedOperand] = []
    for side, kind, wanted, have in _groups(found, use):
        least = sum(not word.endswith("?") for word in wanted)
        ports = {"operands": len(have), "operands_least": least, "operands_most": len(wanted)}
        yield Seen(f"{name}, {kind} among its {side}", ports)
        masks += have if kind == MASK else []
        for word, one in zip(wanted, have, strict=False):
            letter = word.rstrip("?")[-1]
            if kind != MASK and letter.isupper() and one.type:
                called = _called(one.type, found.of.get(letter, ()))
                named.setdefault(letter, {}).setdefault(called, one.name)
    for letter, types in named.items():
        yield from _typed(name, letter, types, found, named)
    widths = {bits_of(kind): one for kind, one in named.get("T", {}).items()}
    for mask in masks:
        for bits in widths if len(widths) == 1 and mask.bits else ():
            yield Seen(f"{name}, mask `{mask.name}`", {"item_bits": bits, "mask_bits": mask.bits})


def _groups(form: Signature, use: TypedUse) -> Iterator[tuple[str, str, list[str], list[TypedOperand]]]:
    """For each side and kind, what a form wants of it and what an operation has."""
    for words, given, side in ((form.takes, use.ins, "operands"), (form.makes, use.outs, "results")):
        for kind in KINDS:
            yield side, kind, [w for w in words if _kind(w) == kind], [one for one in given if one.kind == kind]


def _takes(form: Signature, use: TypedUse) -> bool:
    groups = ((wanted, have) for _, _, wanted, have in _groups(form, use))
    return all(sum(w[-1] != "?" for w in wanted) <= len(have) <= len(wanted) for wanted, have in groups)


def _typed(
    name: str, letter: str, types: Mapping[str, str], found: Signature, named: Mapping[str, Mapping[str, str]]
) -> Iterator[Seen]:
    """How many types there are where one is taken, and types that no document lists."""
    follows = found.follows.get(letter, {})
    led = {follows[one]: "what it makes of them" for one in named.get(follows.get("of", ""), ()) if one in follows}
    every = {**led, **types}
    said = ", ".join(f"`{one}` {kind}" if one in types.values() else f"{kind} is {one}" for kind, one in every.items())
    yield Seen(f"{name}: {said}", {"types": len(every)})
    listed = [one for one in found.of.get(letter, ()) if one != "bits"]
    for kind, one in types.items():
        if listed and kind not in listed:
            yield Seen(f"{name}: `{one}` has elements of {kind}; documented are {', '.join(listed)}", unlisted=True)


def _kind(word: str) -> str:
    return {"s": SCALAR, "m": MASK}.get(word[0], TILE)


def _called(kind: str, listed: Sequence[str]) -> str:
    """A type by the name that counts: no sign of integers, one name for the 8-bit floats."""
    plain = kind.removeprefix("!pto.")
    plain = plain[1:] if plain[:2] in ("si", "ui") else plain
    plain = "f8" if plain.lower().startswith("f8") else plain
    return f"{bits_of(kind)} bits" if "bits" in listed else plain
