"""Tensors of a Rust kernel as types that may change, and the kernel's text with other types in it.

Knows: where the type of a tensor stands, its generic arguments as text, what else a variable is used for.
Does not know: which layouts are better, Rust beyond that.
Law: tensors are one where their type stands at one place of the file. A type is changed only where its mapping stands
in it (or an alias of one), and where the variables that have it are used by transfers alone; what is passed on,
computed with, viewed in part, gathered or generic is withheld. The kernel itself is never written: a copy of its crate
is read and judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from dmaverify.jobs.fix_kernels import judged_copy
from dmaverify.jobs.layout_plans import priced_machine
from dmaverify.machines.rngd.rust.moves import GATHERS, SCATTERS, KernelMove, Site
from dmaverify.machines.rngd.rust.plans import KernelPlan
from dmaverify.machines.rngd.rust.values import PLACES, RustTensor
from dmaverify.program.tensor import Tensor
from dmaverify.synth.kernel import KernelMoves, TensorUses
from dmaverify.values import dataclass
from dmaverify.verdict import Edit, Status

if TYPE_CHECKING:
    from dmaverify.errors import Span
    from dmaverify.program.move import Transfer
    from dmaverify.synth.result import Synthesis

_RECEIVER = re.compile(r"\s*(?:\.\s*view(?:_mut)?\(\)\s*)?\.\s*(?:to_dm|to_hbm|to_dm_view|to_hbm_view)\b")
_BOUND = re.compile(r"\blet\s+(?:mut\s+)?$")
_INTO = re.compile(r"\.\s*to_(?:hbm|dm)_view(?:::<[^;]*>)?\s*\([^;()]*,\s*$")


@dataclass(frozen=True)
class _Use:
    """One side of a move, with what the text says of it."""

    index: int
    role: str
    value: RustTensor
    site: Site
    move: KernelMove
    tensor: Tensor


class KernelGround:
    """The tensors of a Rust kernel."""

    notes: tuple[str, ...] = ("every transfer counts once: how often a loop or a caller runs it is not known",)

    def __init__(self, path: str, plan: KernelPlan, target: str | None) -> None:
        from dmaverify.targets.address_maps import hbm_map

        self.path, self.plan, self.target, self.text = path, plan, target, plan.source.text
        sites = {name: one.site for one in plan.sites for name in one.names}
        items = [t for t in plan.transfers if t.name in sites and not any(p.fatal for p in t.problems)]
        items = [t for t in items if not plan.moves[t.name].dead]
        moves = tuple(one.transfer for one in items)
        self.sites = [sites[one.name] for one in items]
        uses: dict[tuple[str, int], list[_Use]] = {}
        for index, one in enumerate(items):
            move = plan.moves[one.name]
            for role in ("source", "dest"):
                value: RustTensor = getattr(move, role)
                place = (value.span.source.name, value.span.start) if value.span is not None else ("", -len(uses) - 1)
                own = _Use(index, role, value, sites[one.name], move, getattr(one.transfer, role))
                uses.setdefault(place, []).append(own)
        self.spans: list[Span | None] = [own[0].value.span for own in uses.values()]
        machine = priced_machine([plan.targets[one.target] for one in moves])
        tensors = tuple(self._held(own) for own in uses.values())
        self.scene = KernelMoves(moves, (1,) * len(moves), tensors, machine, hbm_map(None, machine.raw).window)

    def rewritten(self, chosen: Mapping[int, Tensor], answers: Mapping[int, Synthesis]) -> str | None:
        from dmaverify.report.edits import Overlap, applied

        edits: list[Edit] = []
        for number, tensor in chosen.items():
            made = self._edits(number, tensor)
            if made is None:
                return None
            edits += made
        try:
            return applied(self.text, edits)
        except Overlap:
            return None

    def judged(self, text: str) -> tuple[Mapping[str, Transfer], Mapping[str, Status]]:
        plan, verdicts = judged_copy(self.path, text, self.target, {})
        return {one.name: one.transfer for one in plan.transfers}, {v.name: v.status for v in verdicts}

    def elsewhere(self, number: int) -> Sequence[str]:
        held = self.scene.tensors[number]
        if held.free:
            return ()
        who = "whoever reads it" if held.made else "whoever fills it"
        return (f"{held.name} is {'an output' if held.made else 'an input'} of the kernel: {who} has to use this type",)

    # ------------------------------------------------------------ what may change

    def _held(self, uses: Sequence[_Use]) -> TensorUses:
        first = uses[0]
        bits = self.plan.targets[next(iter(self.plan.targets))].dtypes[str(getattr(first.value.dtype, "name", ""))]
        names = dict.fromkeys(f"{u.site.function}.{u.value.buffer.name if u.value.buffer else '?'}" for u in uses)
        tier = first.tensor.tier
        buffers = {u.value.buffer.serial for u in uses if u.value.buffer is not None}
        made = {u.value.buffer.serial for u in uses if u.role == "dest" and u.value.buffer is not None}
        read = {u.value.buffer.serial for u in uses if u.role == "source" and u.value.buffer is not None}
        free = buffers == made == read and all(u.value.buffer is not None and u.value.buffer.fresh for u in uses)
        why = next(iter(self._reasons(uses, free)), "")
        shown = ", ".join(list(names)[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        sides, lives = tuple((u.index, u.role) for u in uses), None if free else self._lives(uses)
        return TensorUses(f"{tier} {shown}", first.tensor, bits, sides, free, why, lives)

    def _lives(self, uses: Sequence[_Use]) -> tuple[int, int]:
        """All moves of the functions in which a tensor is used: it may be there from the first to the last."""
        functions = {u.site.function for u in uses}
        numbers = [index for index, site in enumerate(self.sites) if site.function in functions]
        return min(numbers), max(numbers)

    def _reasons(self, uses: Sequence[_Use], free: bool) -> Iterator[str]:
        """Why a tensor is not changed."""
        first = uses[0]
        span = first.value.span
        if span is None or span.source.name != self.plan.source.name:
            yield "its type stands in another file" if span is not None else "its type is inferred"
            return
        if any(u.value.window.at or u.value.window.tiled for u in uses):
            yield "a part of it is viewed"
        if any(u.move.method in GATHERS or u.move.method in SCATTERS for u in uses):
            yield "it is gathered or scattered by an index"
        if len({(str(u.tensor.mapping), u.tensor.tier) for u in uses}) > 1 or any(u.move.generics for u in uses):
            yield "its type is generic"
        if first.tensor.tier == "dm" and not free:
            yield "what computes with it is not in view"
        arguments = self._arguments(span)
        if arguments is None or not self._writable(*arguments[-1]):
            yield "its mapping does not stand in its type"
        for one in {u.site.function: u for u in uses}.values():
            yield from self._passed_on(one, [u for u in uses if u.site.function == one.site.function])

    def _passed_on(self, one: _Use, uses: Sequence[_Use]) -> Iterator[str]:
        """Whether a variable of this type is used by something that is no transfer, or its function is called."""
        start, end = self._body(one.site)
        for name in dict.fromkeys(u.value.buffer.name for u in uses if u.value.buffer is not None):
            if name == one.site.method and not one.site.let:
                continue
            for found in re.finditer(rf"\b{re.escape(name)}\b", self.text[start:end]):
                before, after = self.text[start : start + found.start()], self.text[start + found.end() : end]
                last = before.rpartition("\n")[2]
                fine = _BOUND.search(before) or _INTO.search(before) or _RECEIVER.match(after) or "//" in last
                if not fine:
                    line = self.plan.source.line_of(start + found.start())
                    yield f"`{name}` is used in line {line} by something that is no transfer"
        if not self._is_device(one.site) and not all(u.value.buffer is not None and self._local(u) for u in uses):
            yield f"it is part of the signature of `{one.site.function}`, which others call"

    def _local(self, use: _Use) -> bool:
        """Whether the type stands within the body of the function."""
        start, end = self._body(use.site)
        return use.value.span is not None and start <= use.value.span.start < end

    def _is_device(self, site: Site) -> bool:
        return any("device" in one for one in site.attributes)

    def _body(self, site: Site) -> tuple[int, int]:
        """The characters of a function's body."""
        text, starts = self.text, self.plan.source.line_starts
        at = text.find("{", starts[max(0, site.function_line - 1)])
        depth, start = 0, at
        while 0 <= at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            if depth == 0:
                return start, at
            at += 1
        return 0, len(text)

    # ------------------------------------------------------------ types as text

    def _arguments(self, span: Span) -> list[tuple[int, int]] | None:
        """Where the generic arguments behind a type's name or a method's name stand."""
        text, at = self.text, span.end
        opened = re.compile(r"\s*(?:::)?\s*<").match(text, at)
        if opened is None:
            return None
        depth, at = 0, opened.end()
        out, start = [], at
        while at < len(text):
            sign = text[at]
            if sign == ">" and depth == 0:
                if text[start:at].strip():
                    out.append((start, at))
                break
            depth += (sign in "<([{") - (sign in ">)]}")
            if sign == "," and depth == 0:
                out.append((start, at))
                start = at + 1
            at += 1
        trimmed = []
        for begin, end in out:
            part = text[begin:end]
            trimmed.append((begin + len(part) - len(part.lstrip()), begin + len(part.rstrip())))
        return trimmed or None

    def _writable(self, start: int, end: int) -> bool:
        """Whether an argument is a mapping, or an alias of one in this file."""
        part = self.text[start:end]
        if part.startswith("m!["):
            return True
        return bool(re.fullmatch(r"\w+", part) and re.search(rf"\btype\s+{part}\s*=\s*m!\[", self.text))

    def _edits(self, number: int, tensor: Tensor) -> list[Edit] | None:
        """The edits of the type that give a tensor its layout; None where it cannot be written."""
        from dmaverify.errors import Span as TextSpan

        span, old = self.spans[number], self.scene.tensors[number].tensor
        arguments = self._arguments(span) if span is not None else None
        if arguments is None:
            return None
        places = PLACES[old.tier]
        out = []
        for back, place in enumerate(reversed(places)):
            new = tensor.field(place)
            if new == old.field(place):
                continue
            if back >= len(arguments) or "'" in str(new) or not self._writable(*arguments[-1 - back]):
                return None
            out.append(Edit(TextSpan(self.plan.source, *arguments[-1 - back]), f"m![{new}]"))
        return out
