"""A wrong text of a form in the form's own words: which word is wrong, and what it must be.

Knows: the words of a text, what they make (relative strides!), candidates for each word from the move's layouts.
Does not know: how a move is judged (it asks `emit.judged`), how a finding is shown.
Law: a proposal is words changed in the text, the changed text read again, and that text proved; a proposal that was
not proved is never made. Fewer changed words come first.

Strides are jumps from the start of the last 1D transfer: to get the pitches P, `s_k = P_k - sum of (r_j - 1) P_j`
(proofs/idma-stride-round.smt2). One wrong word of an inner dimension therefore moves all outer pitches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from dmaverify.errors import InputError
from dmaverify.language.expr import axes_of
from dmaverify.layout.addresses import Layout
from dmaverify.lower.programs import given_program, space_of
from dmaverify.machines.idma.emit import judged
from dmaverify.program.command import Command, GivenCommand
from dmaverify.program.form import Form, Word
from dmaverify.program.move import Transfer
from dmaverify.program.space import layout_of, unit_bits_of
from dmaverify.prove.move.repair import base_asked, translated
from dmaverify.prove.options import Options
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace
from dmaverify.verdict import Edit, Finding, Label, Severity, Status, Verdict

MOST_TRIALS = 60
"""Changed texts that are judged for one wrong one."""
MOST_COMMANDS = 64

Change = tuple[tuple[int, str, int], ...]
"""(command, part, new value) of each part that changes."""


@dataclass(frozen=True, slots=True)
class Reworded:
    """Words with what they must be, and the text that they make."""

    words: tuple[tuple[Word, int], ...]
    text: str


def in_words(transfer: Transfer, target: Target, axes: Mapping[str, int], verdict: Verdict) -> Verdict:
    """The verdict with its findings at the words of the form that are wrong, where the text has words."""
    form = transfer.form
    if form is None or verdict.status is not Status.REFUTED or not any(form.commands):
        return verdict
    found = proposal(transfer, target, axes)
    if found is None:
        return replace(verdict, findings=tuple(_bare(f) for f in verdict.findings))
    return replace(verdict, findings=tuple(_worded(f, found, form) for f in verdict.findings))


def _bare(finding: Finding) -> Finding:
    """Without proposals of absolute numbers, which no word of a form holds."""
    if not finding.rule.startswith("core/") or "(checked" not in finding.hint:
        return finding
    return finding.bare


def _worded(finding: Finding, found: Reworded, form: Form) -> Finding:
    if finding.severity is not Severity.ERROR or not finding.rule.startswith("core/"):
        return finding
    placed = [(word, new) for word, new in found.words if word.span is not None]
    if not placed:
        return finding
    labels = [label for label in finding.labels if "must be" not in label.text]
    said = [Label(word.span, f"{word.name} = {shown(word, word.value)}, must be {shown(word, new)}{_why(word)}")
            for word, new in placed if word.span is not None]  # fmt: skip
    edits = tuple(Edit(word.span, _spelled(form, word, new)) for word, new in placed if word.span is not None)
    return replace(
        finding, span=placed[0][0].span, labels=(*said, *labels), hint=help_of(found), edits=edits,
    )  # fmt: skip


def help_of(found: Reworded) -> str:
    """`write 72 into 0xF0, ...`, with what was done to be sure of it."""
    parts = " and ".join(f"{shown(word, new)} into {word.name}" for word, new in found.words)
    before = " and ".join(shown(word, word.value) for word, _ in found.words)
    return f"write {parts}, instead of {before} (checked: the changed text was read again and is proved)"


def shown(word: Word, value: int) -> str:
    """A number as people say it: addresses and flags in hexadecimal, strides with their sign."""
    if word.part in ("src", "dst", "flags", "next", "conf"):
        return f"0x{value:x}"
    if "stride" in word.part and value >> (word.bits - 1) and not word.shift:
        return str(value - (1 << word.bits))
    return str(value)


def _why(word: Word) -> str:
    return " (relative: what is added after the last row)" if "stride" in word.part and word.part[-1] != "0" else ""


def _spelled(form: Form, word: Word, value: int) -> str:
    """A number as the text writes such: bare digits of a memory image, else hexadecimal where the old one was."""
    if form.hexadecimal:
        return f"{value:08x}"
    return f"0x{value:x}" if "x" in form.text[word.start : word.end].lower() else shown(word, value)


# ---------------------------------------------------------------- proposals


def proposal(transfer: Transfer, target: Target, axes: Mapping[str, int]) -> Reworded | None:
    """The fewest words that mend the text, proved; None where none of the candidates does."""
    form = transfer.form
    assert form is not None
    seen: set[str] = set()
    for change in _changes(transfer, target):
        found = changed(form, change)
        if found is None or found.text in seen:
            continue
        seen.add(found.text)
        if len(seen) > MOST_TRIALS:
            return None
        try:
            if judged(transfer, target, axes, found.text, _QUICK).status is Status.PROVED:
                return found
        except InputError:
            continue
    return None


_QUICK = Options(repair=False, rlimit=2_000_000)


def changed(form: Form, change: Change) -> Reworded | None:
    """The text with other values in the words of some parts; None where a part has no word, or too small a one."""
    words: dict[tuple[int, int], tuple[Word, int]] = {}
    for command, part, value in change:
        own = [word for word in form.commands[command] if word.part == part]
        wide = sum(word.bits for word in own)
        if not own or not -(1 << (wide - 1)) <= value < 1 << wide:
            return None
        for word in own:
            new = value >> word.shift & ((1 << word.bits) - 1)
            if new != word.value:
                words[word.start, word.end] = (word, new)
    if not words:
        return None
    text = form.text
    for (start, end), (word, new) in sorted(words.items(), key=lambda item: item[0], reverse=True):
        text = text[:start] + _spelled(form, word, new) + text[end:]
    return Reworded(tuple(words[key] for key in sorted(words)), text)


def _changes(transfer: Transfer, target: Target) -> Iterator[Change]:
    """Candidates: single parts of each command first, then all strides of a side, then pairs."""
    form = transfer.form
    assert form is not None
    bits = target.dtypes[transfer.dtype]
    if unit_bits_of(bits) != 8:
        return
    sides = (transfer.source, transfer.dest)
    (source, _), (dest, _) = (layout_of(side, space_of(target, side.tier), bits) for side in sides)
    given = transfer.given[:MOST_COMMANDS]
    commands = given_program(given, *sides, bits, target)
    if isinstance(commands, list) or len(form.commands) < len(commands):
        return
    live = prod(axes_of(transfer.dest.mapping).values())
    totals = [n * bits // 8 for n in dict.fromkeys((live, transfer.dest.mapping.size))]
    for number in range(len(given)):
        yield from _single(number, given, commands[number], source, dest, totals)
    for number in range(len(given)):
        yield from _flags(number, form)
        yield from _several(number, given[number], source, dest)


@dataclass(frozen=True, slots=True)
class _Nest:
    """A command of a form as the form counts: repetitions and pitches of each dimension, inner first."""

    src: int
    dst: int
    length: int
    reps: tuple[int, ...]
    pitches: Mapping[str, tuple[int, ...]]
    parts: tuple[int, ...]  # the number of each dimension in the form

    def stride(self, k: int, pitches: Sequence[int]) -> int:
        """What the form holds for pitch `k`, given those inside."""
        return pitches[k] - sum((self.reps[j] - 1) * pitches[j] for j in range(k))


def _nest(given: GivenCommand) -> _Nest:
    pairs = list(zip(given.read.entries[-2::-1], given.write.entries[-2::-1], strict=True))
    return _Nest(
        given.read.base or 0, given.write.base or 0, given.read.packet, tuple(r.count for r, _ in pairs),
        {"src": tuple(r.stride for r, _ in pairs), "dst": tuple(w.stride for _, w in pairs)},
        tuple(int(r.label.split()[-1]) for r, _ in pairs),
    )  # fmt: skip


def _single(
    number: int, givens: Sequence[GivenCommand], command: Command, source: Layout, dest: Layout, totals: Sequence[int]
) -> Iterator[Change]:
    nest = _nest(givens[number])
    for way, side in (("read", "src"), ("write", "dst")):
        base = base_asked(command, source, dest, way)
        if base is not None:
            yield ((number, side, base),)
    for k in range(len(nest.reps)):
        for side, pitch in _pitches(nest, k, source, dest):
            inner = [*nest.pitches[side][:k], pitch]
            yield ((number, f"{side}_stride{nest.parts[k]}", nest.stride(k, inner)),)
    yield from _counts(number, givens, nest, totals)


def _pitches(nest: _Nest, k: int, source: Layout, dest: Layout) -> Iterator[tuple[str, int]]:
    """(side, pitch) that one side's layout asks for, given the pitch of the other."""
    for side, other, layouts in (("src", "dst", (dest, source)), ("dst", "src", (source, dest))):
        found = translated(nest.pitches[other][k], *layouts)
        if found is not None:
            yield side, found


def _counts(number: int, givens: Sequence[GivenCommand], nest: _Nest, totals: Sequence[int]) -> Iterator[Change]:
    """Lengths and repetitions that move as much as the destination holds, or as much as the other commands move."""
    others = sum(g.read.amount for n, g in enumerate(givens) if n != number)
    rests = [total - others for total in totals if total > others]
    wanted = dict.fromkeys((*rests, *(g.read.packet for g in givens if len(givens) > 1)))
    rows = 1
    for count in nest.reps:
        rows *= count
    for amount in wanted:
        if amount % rows == 0:
            yield ((number, "length", amount // rows),)
    yield from (((number, "length", g.read.packet),) for g in givens[:3] if g.read.packet != nest.length)
    for k, count in enumerate(nest.reps):
        each = nest.length * rows // count
        yield from (((number, f"reps{nest.parts[k]}", rest // each),) for rest in rests if rest % each == 0)


def _flags(number: int, form: Form) -> Iterator[Change]:
    for word in form.commands[number]:
        if word.part == "flags":
            yield ((number, "flags", 0x0A | word.value & 1),)
        elif word.part == "next" and word.shift == 0 and number + 1 < len(form.commands):
            follow = min((w.name for w in form.commands[number + 1]), key=lambda n: int(n.split()[0], 16))
            yield ((number, "next", int(follow.split()[0], 16)),)


def _several(number: int, given: GivenCommand, source: Layout, dest: Layout) -> Iterator[Change]:
    """All strides of a side at once, as the other side has them."""
    nest = _nest(given)
    for side in ("src", "dst"):
        pitches = [p for k in range(len(nest.reps)) for s, p in _pitches(nest, k, source, dest) if s == side]
        if len(pitches) < max(2, len(nest.reps)):
            continue
        yield tuple((number, f"{side}_stride{nest.parts[k]}", nest.stride(k, pitches)) for k in range(len(pitches)))
