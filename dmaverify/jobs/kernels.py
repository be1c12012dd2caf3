"""Kernels that the command line names, read with their notes; whether two of them, or a kernel and words, are equal.

Knows: how a kernel is named (FILE or FILE::FUNCTION), what two files have to pair, what an answer says.
Does not know: how copies are judged, how sameness is proved.
Law: a kernel with an operation that could not be resolved is no kernel to compare; `proved` is said of nothing less
than every copy, flag, barrier and vector access of both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dmaverify.errors import InputError
from dmaverify.jobs.same_kernels import copies_of, only_gm, same_functions, same_left, told_left
from dmaverify.language.files import read_text
from dmaverify.machines.pto.emit import canonical, fields_of, words_of_copy
from dmaverify.machines.pto.named import NamedFunction, functions_of, kernel_at
from dmaverify.machines.pto.values import Kernel
from dmaverify.machines.pto.words import GM_WORDS, LOCAL_WORDS, misfits, unpack
from dmaverify.prove.sameness import KERNELS, Sameness, worst_of
from dmaverify.values import replace


def slices_of(path: str) -> list[str]:
    """What every copy of a kernel moves, inferred from its operands."""
    from dmaverify.machines.pto.check import slice_of

    _, _, kernel = kernel_at(path)
    return [slice_of(copy, kernel.world) for copy in kernel.copies]


def written(path: str, form: str, *, as_json: bool) -> Any:
    """What `emit` says: a text, or with `as_json` the words as data."""
    from dmaverify.machines.pto.surfaces import emitted

    if form == "words":
        return words_json(path) if as_json else words_text(kernel_at(path, canonical=True)[2])
    return "\n".join(slices_of(path)) if form == "slices" else emitted(path, form)


# ------------------------------------------------------------------------------------------ words


def words_json(path: str) -> list[dict[str, Any]]:
    """The words of the kernel that a path means: the JSON that `equiv` reads again."""
    return words_of(_that_fits(kernel_at(path, canonical=True)[2]))


def _that_fits(kernel: Kernel) -> Kernel:
    """The kernel, whose copies have words that say what they do. Raises InputError for a number that its field does not
    hold: packed, it is part of the fields beside it.
    """
    for copy in kernel.copies:
        fields = fields_of(copy)
        idle = _idle(fields, fields)
        for found in misfits(copy.kind, fields):
            if {found.field, *(name for name, _, _ in found.changes)} <= idle:
                continue
            beside = "".join(f"; packed, {name} is {now} instead of {was}" for name, was, now in found.changes)
            said = f"{found.field} is {found.value}, which {found.bits} bits do not hold{beside}"
            raise InputError(said, copy.span, "a copy in parts; `check` says which operands do not fit")
    return kernel


def words_of(kernel: Kernel) -> list[dict[str, Any]]:
    """The words of every copy, with what they move between."""
    out = []
    for copy in kernel.copies:
        words = {word: f"{value:#018x}" for word, value in words_of_copy(copy).items()}
        ends = {side: _place(place) for side, place in (("src", copy.read), ("dst", copy.write))}
        pad = None if copy.fill is None else {"value": copy.fill.value}
        out.append({"kind": copy.kind, "line": copy.span.line, **ends, "words": words, **({"pad": pad} if pad else {})})
    return out


def _place(place: Any) -> dict[str, Any]:
    if not place.address.is_const:
        raise InputError("the address of a copy is no number, so it has no words", None)
    return {"memory": place.root or place.space, "address": place.address.const}


def words_text(kernel: Kernel) -> str:
    """The words with their fields, for people."""
    lines = []
    for one in words_of(_that_fits(kernel)):
        lines.append(f"line {one['line']}  {one['kind']}  {_end(one['src'])} -> {_end(one['dst'])}")
        layout = LOCAL_WORDS if one["kind"] == "local" else GM_WORDS
        fields = unpack(one["kind"], {word: int(value, 16) for word, value in one["words"].items()})
        for word, value in one["words"].items():
            parts = ", ".join(f"{name} {fields[name]:,}" for name, _, _ in layout[word] if fields[name])
            lines.append(f"  {word:<10}{value}   {parts or '0'}")
        if "pad" in one:
            value = one["pad"]["value"]
            lines.append(f"  MOV_PAD_VAL {'not known' if value is None else f'{value:#018x}'}")
    return "\n".join(lines)


def _end(place: Mapping[str, Any]) -> str:
    return f"{place['memory']}+{place['address']:,}"


# ------------------------------------------------------------------------------------------ equal


def same_kernels(a: str, b: str, tiers: Sequence[str] = ()) -> tuple[Sameness, str]:
    """Whether kernels do the same, or a kernel and the words in a JSON file; with the answer in words. With `tiers`,
    whether they leave the same there (in `gm`).
    """
    only_gm(tiers)
    if b.endswith(".json"):
        if tiers:
            raise InputError("words leave nothing in a memory", None, "leave --tier out, or name two kernels")
        found = _same_words(a, b)
        return found, found.text(a, b)
    answers = []
    pairs = _pairs(a, b)
    for one, other in pairs:
        found = same_left(one, other) if tiers else same_functions(one, other)
        names = {f"arg{i}": name for i, (name, _, _) in enumerate(one.function.args)}
        witness = {names.get(n, n): v for n, v in (found.witness or {}).items()} or None
        found = replace(found, kind=KERNELS, witness=witness)
        if found.status == "proved":
            whole = f"{copies_of(found)}, every byte, same order and synchronisation{_ranges(one, other)}"
            found = replace(found, why=told_left(found) if tiers else whole)
        elif not tiers:
            found = replace(
                found, notes=(*found.notes, "with `--tier gm`: whether both leave the same in global memory")
            )
        shown = (f"{a}::{one.name}", f"{b}::{other.name}") if len(pairs) > 1 else (a, b)
        answers.append((found, found.text(*shown)))
    return worst_of([found for found, _ in answers]), "\n".join(said for _, said in answers)


def _pairs(a: str, b: str) -> list[tuple[NamedFunction, NamedFunction]]:
    """The functions to compare: of the same name where both files have several, else in their order."""
    one, other = ([f for f in functions_of(p) if f.function.body] for p in (a, b))
    if not one or not other:
        raise InputError(f"{b if one else a} holds no function to compare")
    if len(one) != len(other):
        raise InputError(
            f"{a} names {len(one)} functions, {b} names {len(other)}", None, "write FILE::NAME on both sides"
        )
    names = {f.name: f for f in other}
    if len(one) > 1 and {f.name for f in one} == set(names):
        return [(f, names[f.name]) for f in one]
    return list(zip(one, other, strict=True))


def _ranges(one: NamedFunction, other: NamedFunction) -> str:
    given = [f"%{n} in {low}..{high}" for n, (low, high) in {**other.notes.ranges, **one.notes.ranges}.items()]
    return f", for {', '.join(given)}" if given else ""


def _same_words(a: str, b: str) -> Sameness:
    """Unpacks every word and compares its fields with what the copy says: both halves, counts and strides."""
    _, _, kernel = kernel_at(a, canonical=True)
    try:
        given = json.loads(read_text(b))
        entries = [(g["kind"], {w: int(v, 16) for w, v in g["words"].items()}, g["src"], g["dst"]) for g in given]
        strange = sorted({key for g in given for key in g} - {"kind", "line", "words", "src", "dst", "pad"})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{b} holds no words: {error}", None, "dmaverify emit PATH --as words --json") from error
    if strange:
        raise InputError(f"{b}: `{strange[0]}` is no part of words", None, "dmaverify emit PATH --as words --json")
    if len(entries) != len(kernel.copies):
        why = f"{len(kernel.copies)} copies against {len(entries)} entries"
        return Sameness("refuted", why, kind=KERNELS)
    pads = [(own.get("pad"), entry.get("pad")) for own, entry in zip(words_of(kernel), given, strict=True)]
    for number, (copy, (kind, words, src, dst)) in enumerate(zip(kernel.copies, entries, strict=True), 1):
        wanted = canonical(fields_of(copy))
        found = canonical(unpack(kind, words)) if kind == copy.kind else {}
        idle = _idle(wanted, found)
        wrong = [
            f"{n} is {found.get(n)}, must be {v}" for n, v in wanted.items() if found.get(n) != v and n not in idle
        ]
        wrong += [f"{n} is {v}, must be 0" for n, v in found.items() if n not in wanted and v and n not in idle]
        wrong += [
            f"{word}: {_end(have)}, must be {_end(_place(place))}"
            for word, have, place in (("source", src, copy.read), ("destination", dst, copy.write))
            if have != _place(place)
        ]
        own, other = pads[number - 1]
        wrong += [f"padding: {other}, must be {own}"] if own != other else []
        if wrong:
            why = f"copy {number}: {'; '.join(wrong)}"
            return Sameness("refuted", why, kind=KERNELS, copies=number - 1, places=(copy.span,))
    same = Sameness("proved", kind=KERNELS, conditions=tuple(kernel.conditions), copies=len(entries))
    return replace(same, why=f"{copies_of(same)}, every field of every word")


def _idle(wanted: Mapping[str, int], found: Mapping[str, int]) -> set[str]:
    """Strides of loops that run once on both sides: they move nothing."""
    strides = {
        "n_burst": ("gm_stride", "ub_stride"),
        "loop1": ("loop1_gm", "loop1_ub"),
        "loop2": ("loop2_gm", "loop2_ub"),
    }
    return {s for count, pair in strides.items() if wanted.get(count) == found.get(count) == 1 for s in pair}
