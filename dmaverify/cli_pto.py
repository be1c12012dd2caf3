"""Commands of the command line that speak of kernels: another surface, configuration words, whether two are equal.

Knows: how texts are rewritten copy by copy, the JSON of words.
Does not know: how copies are judged.
Law: what is not a copy stays as it was written; what cannot be written in the wanted form is refused at its line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dmaverify.errors import InputError, Source
from dmaverify.inputs.pto_meaning import meaning_of
from dmaverify.inputs.pto_read import read_kernels
from dmaverify.inputs.pto_values import Kernel, Setting
from dmaverify.machines import pto_ops as ops
from dmaverify.machines.pto_emit import SURFACES, fields_of, words_of_copy
from dmaverify.machines.pto_words import GM_WORDS, LOCAL_WORDS, unpack
from dmaverify.prove.ask import term_text
from dmaverify.prove.same_kernel import Sameness, compare_kernels
from dmaverify.transfer.affine import Lin
from dmaverify.transfer.instructions import Copy


def _function(path: str) -> tuple[Source, ops.Function]:
    file, _, name = path.partition("::")
    try:
        source = Source(file, Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read") from error
    _, functions = read_kernels(source)
    wanted = [f for f in functions if not name or f.name == name]
    if len(wanted) != 1:
        raise InputError(
            f"{path} names {len(wanted)} functions",
            None,
            f"write {file}::NAME with one of {', '.join(f.name for f in functions)}",
        )
    return source, wanted[0]


def kernel_at(
    path: str, readings: Mapping[str, str] | None = None, *, canonical: bool = False
) -> tuple[Source, ops.Function, Kernel]:
    """The one function that a path means. Raises InputError."""
    source, function = _function(path)
    kernel = meaning_of(function, Setting(readings=readings or {}, canonical=canonical))
    lost = [r for r in kernel.remarks if r.kind == "unresolved" and r.always]
    if lost:
        raise InputError(lost[0].message, lost[0].span, lost[0].hint)
    return source, function, kernel


def emitted(path: str, surface: str) -> str:
    """The function's text with every copy in another surface."""
    source, function, kernel = kernel_at(path)
    statements = [s for s in _deep(function.body) if isinstance(s, ops.Copy)]
    copies = {copy.span.start: copy for copy in kernel.copies}
    text, edits = source.text, []
    names = _Names(next(p for p in ("dv", *(f"dv{n}" for n in range(2, 1000))) if f"%{p}_" not in text))
    for stmt in statements:
        copy = copies.get(stmt.name_span.start)
        if copy is None:
            raise InputError("this copy is never reached, so it has no operands", stmt.name_span)
        column = stmt.span.start - (text.rfind("\n", 0, stmt.span.start) + 1)
        sides = [stmt.roles[r].name for r in ("src", "dst")]
        value = stmt.pad.value.name if stmt.pad is not None else names.pad(copy)
        lines = SURFACES[surface](copy, *sides, names.of(kernel), value, names.prefix)
        edits.append((stmt.span.start, stmt.span.end, ("\n" + " " * column).join(lines)))
    if surface == "inline":
        edits += [(s.span.start, s.span.end, "") for s in _deep(function.body) if isinstance(s, ops.SetLoop)]
    for start, end, new in sorted(edits, reverse=True):
        if not new:  # a register that is no longer needed goes with its line
            start = (
                text.rfind("\n", 0, start) + 1 if not text[text.rfind("\n", 0, start) + 1 : start].strip() else start
            )
            line = text.find("\n", end)
            end = line + 1 if line >= 0 and not text[end:line].split("//")[0].strip() else end
        text = text[:start] + new + text[end:]
    opened = text.index("{\n", function.span.start) + 2
    while text[:opened].rstrip().endswith("attributes {"):
        opened = text.index("{\n", opened) + 2
    return text[:opened] + "".join(f"  {line}\n" for line in names.lines()) + text[opened:]


class _Names:
    """SSA names for numbers, and the constants that define them."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.numbers: dict[int, None] = {}
        self.pads: dict[tuple[int, str], None] = {}

    def of(self, kernel: Kernel):  # type: ignore[no-untyped-def]
        def name(term: Lin) -> str:
            if term.is_const:
                self.numbers[term.const] = None
                return self.constant(term.const)
            if len(term.terms) == 1 and term.const == 0 and term.terms[0][1] == 1:
                shown = kernel.world.symbols[term.terms[0][0]].shown
                if shown.startswith("%"):
                    return shown
            raise InputError(
                f"the operand {term_text(term, kernel.world)} is no number and no argument",
                None,
                "only those are written again",
            )

        return name

    def constant(self, number: int) -> str:
        return f"%{self.prefix}_{number}" if number >= 0 else f"%{self.prefix}_m{-number}"

    def pad(self, copy: Copy) -> str:
        if copy.fill is None:
            return ""
        if copy.fill.value is None:
            raise InputError("the padding value of this copy is not known", copy.span)
        kind = copy.write.dtype or "i8"
        self.pads[copy.fill.value, kind] = None
        return f"%{self.prefix}_pad_{copy.fill.value}_{kind}"

    def lines(self) -> Iterator[str]:
        for number in sorted(self.numbers):
            yield f"{self.constant(number)} = arith.constant {number} : i64"
        for value, kind in self.pads:
            yield f"%{self.prefix}_pad_{value}_{kind} = arith.constant {value:#x} : {kind}"
        yield f"%{self.prefix}_on = arith.constant true"
        yield f"%{self.prefix}_off = arith.constant false"


def _deep(body: tuple[ops.Stmt, ...]) -> Iterator[ops.Stmt]:
    for stmt in body:
        yield stmt
        for part in ("body", "then", "other"):
            yield from _deep(getattr(stmt, part, ()))


# ------------------------------------------------------------------------------------------ words


def words_json(path: str) -> list[dict[str, Any]]:
    """The words of every copy, with what they move between: the JSON that `equiv` reads again."""
    _, _, kernel = kernel_at(path, canonical=True)
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


def words_text(path: str) -> str:
    """The words with their fields, for people."""
    lines = []
    for one in words_json(path):
        lines.append(f"line {one['line']}  {one['kind']}  {_end(one['src'])} -> {_end(one['dst'])}")
        layout = LOCAL_WORDS if one["kind"] == "local" else GM_WORDS
        fields = unpack(one["kind"], {word: int(value, 16) for word, value in one["words"].items()})
        for word, value in one["words"].items():
            parts = ", ".join(f"{name} {fields[name]:,}" for name, _, _ in layout[word] if fields[name])
            lines.append(f"  {word:<10}{value}   {parts or '0'}")
    return "\n".join(lines)


def _end(place: Mapping[str, Any]) -> str:
    return f"{place['memory']}+{place['address']:,}"


# ------------------------------------------------------------------------------------------ equal


def same_kernels(a: str, b: str) -> tuple[Sameness, str]:
    """Whether two kernels do the same, or a kernel and the words in a JSON file; with the answer in words."""
    if b.endswith(".json"):
        return _same_words(a, b)
    _, _, one = kernel_at(a, canonical=True)
    _, _, two = kernel_at(b, canonical=True)
    found = compare_kernels(one.events, one.world, two.events, two.world)
    where = "".join(f"\n  at {span}" for span in found.places)
    if found.status == "same":
        return found, f"EQUAL   {a} and {b}: {found.copies} copies, every byte, same order and synchronisation"
    word = "DIFFERENT" if found.status == "different" else "UNKNOWN"
    return found, f"{word}   {a} and {b}: {found.why}{where}"


def _same_words(a: str, b: str) -> tuple[Sameness, str]:
    """Unpacks every word and compares its fields with what the copy says: both halves, counts and strides."""
    _, _, kernel = kernel_at(a, canonical=True)
    try:
        given = json.loads(Path(b).read_text(encoding="utf-8"))
        entries = [(g["kind"], {w: int(v, 16) for w, v in g["words"].items()}, g["src"], g["dst"]) for g in given]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{b} holds no words: {error}", None, "dmaverify emit PATH --as words --json") from error
    if len(entries) != len(kernel.copies):
        why = f"{len(kernel.copies)} copies against {len(entries)} entries"
        return Sameness("different", 0, why), f"DIFFERENT   {a} and {b}: {why}"
    for number, (copy, (kind, words, src, dst)) in enumerate(zip(kernel.copies, entries, strict=True), 1):
        wanted = fields_of(copy)
        found = unpack(kind, words) if kind == copy.kind else {}
        wrong = [f"{n} is {found.get(n)}, must be {v}" for n, v in wanted.items() if found.get(n) != v]
        wrong += [f"{n} is {v}, must be 0" for n, v in found.items() if n not in wanted and v]
        wrong += [
            f"{word}: {_end(have)}, must be {_end(_place(place))}"
            for word, have, place in (("source", src, copy.read), ("destination", dst, copy.write))
            if have != _place(place)
        ]
        if wrong:
            why = f"copy {number}: {'; '.join(wrong)}"
            return Sameness(
                "different", number - 1, why, (copy.span,)
            ), f"DIFFERENT   {a} and {b}: {why}\n  at {copy.span}"
    return Sameness("same", len(entries)), f"EQUAL   {a} and {b}: {len(entries)} copies, every field of every word"


def same_json(found: Sameness) -> dict[str, Any]:
    return {"status": found.status, "copies": found.copies, "why": found.why, "places": [str(s) for s in found.places]}


__all__ = ["emitted", "kernel_at", "same_json", "same_kernels", "words_json", "words_text"]
