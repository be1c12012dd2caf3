"""Notes to dmaverify in the comments of a kernel: extents, ranges, expectations, suppressions.

Knows: the four notes and how they are written. Does not know: kernels, rules.
Law: a comment that begins with `dmaverify:` is understood whole or refused at its place.

    // dmaverify: gm %arg0 = 1024x512xf16        or  = 4096 bytes: what the tensor behind an argument holds
    // dmaverify: gm %arg0 = %n x %p x f32        or  = 4 * %n * %p bytes
    // dmaverify: assume %n in 1..64
    // dmaverify: assume %n * %p <= 262144 and 64 | %n
    // dmaverify: expect proved                  or the ids of the errors, with commas
    // dmaverify: other core writes ub 0..1023   (or reads; or `%arg0 0..63`, or `%arg0`) what another core does:
                                                 `after 4`: only once this kernel has set flag 4; `before 3`: it is done
                                                 where the kernel waits for flag 3; without them every set, every wait
    // dmaverify: other core touches nothing     of what this kernel touches
    // dmaverify: allow(pto/tail-block) reason
"""

from __future__ import annotations

import re
from math import prod

from dmaverify.errors import InputError, Source, Span
from dmaverify.language.numbers import Poly
from dmaverify.plan.relations import relations_in, sum_in
from dmaverify.program.instructions import Shared
from dmaverify.prove.sizes.facts import SizeFact
from dmaverify.values import dataclass, field

_GM = re.compile(r"gm\s+%([\w$.-]+)\s*=\s*(.+)")
_SHAPE = re.compile(r"(?:\d+x)*(?:\d*x)?[a-z]+\d+\w*")
_CROSS = re.compile(r"\s+x\s+")
_ASSUME = re.compile(r"assume\s+%([\w$.-]+)\s+in\s+(-?\d+)\s*\.\.\s*(-?\d+)\s*")
_RELATES = re.compile(r"<|>|==|\|")
_ALLOW = re.compile(r"allow\(\s*([a-z0-9-]+/[a-z0-9-]+(?:\s*,\s*[a-z0-9-]+/[a-z0-9-]+)*)\s*\)\s*(.*)")
_CORE = re.compile(
    r"other core (writes|reads)\s+(?:(ub)|%([\w$.-]+))(?:\s+(\d+)\s*\.\.\s*(\d+))?((?:\s+(?:before|after)\s+\d+)*)\s*"
)
_NO_CORE = re.compile(r"other core touches nothing\s*")
_EXPECT = re.compile(r"expect\s+(.+)")
_ID = re.compile(r"[a-z0-9-]+/[a-z0-9-]+")


@dataclass
class Notes:
    """What the comments of one function say. `allow` maps a rule to (line, reason), `spans` a name to its notes; `core`
    is what the other core does."""

    extents: dict[str, int | Poly] = field(default_factory=dict)
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    relations: list[tuple[SizeFact, Span]] = field(default_factory=list)
    expect: tuple[str, ...] | None = None
    allow: dict[str, tuple[Span, str]] = field(default_factory=dict)
    core: list[Shared] = field(default_factory=list)
    spans: dict[tuple[str, str], Span] = field(default_factory=dict)


def read_notes(source: Source, comments: tuple[tuple[int, str], ...], start: int, end: int) -> Notes:
    """The notes between two offsets. Raises InputError for one that is not understood."""
    notes = Notes()
    for at, text in comments:
        if start <= at < end and text.startswith("dmaverify:"):
            span = Span(source, at, at + 2 + len(text) + 1)
            _note(notes, text.removeprefix("dmaverify:").strip(), span)
    return notes


def _note(notes: Notes, text: str, span: Span) -> None:
    if found := _GM.fullmatch(text):
        notes.spans["gm", found[1]] = span
        extent = notes.extents[found[1]] = extent_of(found[2].strip(), span)
        if isinstance(extent, int) and extent > 1 << 64:
            said = f"%{found[1]} would hold {extent:,} bytes, more than 64 bits can address"
            raise InputError(said, span, "state what the tensor holds")
    elif found := _ASSUME.fullmatch(text):
        low, high = int(found[2]), int(found[3])
        if low > high:
            raise InputError(f"the range {low}..{high} is empty", span, "the smaller number comes first: 1..64")
        notes.ranges[found[1]] = (low, high)
        notes.spans["assume", found[1]] = span
    elif text.startswith("assume ") and _RELATES.search(text):
        at = text.index("assume ") + len("assume ")
        start = span.start + span.source.text[span.start : span.end].find(text[at:])
        notes.relations += [(fact, span) for fact in relations_in(text[at:], span.source, start)]
    elif found := _CORE.fullmatch(text):
        notes.core.append(_shared(found, span))
        notes.spans["core", f"{len(notes.core)}"] = span
    elif _NO_CORE.fullmatch(text):
        notes.core.append(Shared("r", "ub", "", 0, 0))
        notes.spans["core", f"{len(notes.core)}"] = span
    elif found := _ALLOW.fullmatch(text):
        if not found[2].strip():
            raise InputError(f"allow({found[1]}) without a reason", span, "write why behind it")
        notes.allow |= {rule.strip(): (span, found[2].strip()) for rule in found[1].split(",")}
    elif found := _EXPECT.fullmatch(text):
        words = [w.strip() for w in found[1].split(",")]
        if words != ["proved"] and not all(_ID.fullmatch(w) for w in words):
            raise InputError("expect takes `proved` or ids such as core/in-bounds", span)
        notes.expect = () if words == ["proved"] else tuple(words)
    else:
        hint = "gm %arg = 32x32xf32, assume %n in 1..64, assume %n * %p <= 4096, expect proved, allow(rule) why"
        raise InputError("this note is not understood", span, hint)


def _shared(found: re.Match[str], span: Span) -> Shared:
    """What a note states of the other core."""
    if found[2] and not found[4]:
        raise InputError("which bytes of ub is not said", span, "first..last, as in ub 0..1023")
    if found[4] and int(found[4]) > int(found[5]):
        raise InputError(f"the bytes {found[4]}..{found[5]} are none", span, "first..last, as in 0..1023")
    words = found[6].split()
    flags = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    if len(flags) * 2 != len(words):
        raise InputError("`before` or `after` stands twice", span, "write one note for each flag")
    start, end = (int(found[4]), int(found[5]) + 1) if found[4] else (0, None)
    space, root = ("ub", "") if found[2] else ("gm", found[3])
    return Shared(found[1][0], space, root, start, end, flags.get("before"), flags.get("after"))


def extent_of(text: str, span: Span) -> int | Poly:
    """Bytes of `4096 bytes`, of a shape such as `32x32xf32`, or of both with marked numbers: `%n x %p x f32`."""
    if "%" in text:
        return _symbolic_extent(text, span)
    if found := re.fullmatch(r"(\d+)\s+bytes", text):
        return int(found[1])
    parts = text.split("x")
    digits = re.search(r"\d+", parts[-1])
    if not _SHAPE.fullmatch(text) or digits is None or not all(p.isdecimal() for p in parts[:-1]):
        raise InputError(f"`{text}` is no extent", span, "write 4096 bytes, or a shape such as 32x32xf32")
    return prod(int(part) for part in parts[:-1]) * _item_bits(parts[-1]) // 8


def _item_bits(name: str) -> int:
    found = re.search(r"\d+", name)
    return 8 if name.startswith("f8") or found is None else int(found[0])


def _symbolic_extent(text: str, span: Span) -> Poly:
    if text.endswith(" bytes"):
        return sum_in(text.removesuffix("bytes"), span.source, span.start)
    *sizes, kind = _CROSS.split(text)
    if not sizes or not re.fullmatch(r"[a-z]+\d+\w*", kind):
        raise InputError(f"`{text}` is no extent", span, "write %n x %p x f32, or 4 * %n * %p bytes")
    whole = sum_in(" * ".join(f"({size})" for size in sizes), span.source, span.start).scaled(_item_bits(kind))
    if any(factor % 8 for factor in whole.terms.values()):
        raise InputError(f"`{text}` is no whole number of bytes", span, "state the bytes: %n bytes")
    return Poly({mono: factor // 8 for mono, factor in whole.terms.items()})
