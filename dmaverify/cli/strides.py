"""Where a stride comes from, for hovers: the printed number beside the distance that the layout gives one step.

Knows: entries of printed configurations, terms of streams, digits of mappings.
Does not know: the protocol, whether the move is right (the verdict says).
Law: what is said of a layout is said by its digits; where a label is no single digit, nothing is said of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dmaverify.errors import InputError, Span

if TYPE_CHECKING:
    from dmaverify.cli.opened import Opened
    from dmaverify.plan.plan import PlanTransfer
    from dmaverify.program.command import Entry
    from dmaverify.program.tensor import Tensor

_LABEL = re.compile(r"([A-Z]\w*'*)(?: ?/ ?(\d+))?(?: ?% ?\d+)?")


def stride_at(opened: Opened, offset: int) -> str | None:
    """What the entry of a printed configuration, or the term of a stream, at a place means in bytes."""
    if opened.plan is None or opened.plan.is_kernel:
        return None
    for item in opened.plan.transfers:
        for side, tensor, entry in _entries(item):
            if _holds(entry.span, offset, opened):
                return _of_entry(opened, item, side, tensor, entry)
        span = item.key_spans.get("stream.time")
        if span is not None and _holds(span, offset, opened):
            return _of_term(opened, item, span, offset)
    return None


def _entries(item: PlanTransfer) -> Iterator[tuple[str, Tensor, Entry]]:
    for command in item.transfer.given:
        for entry in command.read.entries:
            yield "read", item.transfer.source, entry
        for entry in command.write.entries:
            yield "write", item.transfer.dest, entry


def _holds(span: Span | None, offset: int, opened: Opened) -> bool:
    return span is not None and span.source.name == opened.source.name and span.start <= offset < span.end


def _of_entry(opened: Opened, item: PlanTransfer, side: str, tensor: Tensor, entry: Entry) -> str:
    named = f" of `{entry.label}`" if entry.label else ""
    lines = [f"**{side} stride{named}**: {entry.stride:,} B, {entry.count:,} times"]
    asked = _asked(opened, item, tensor, entry.label)
    if asked is not None:
        said = "as here" if asked == entry.stride else f"not {entry.stride:,} B"
        step = f"one step of `{entry.label}` lies {asked:,} B apart"
        lines.append(f"- {step} in `{tensor.element}`, {tensor.tier}: {said}")
    if entry.count > 1 and entry.stride:
        lines.append(f"- the last step begins {(entry.count - 1) * entry.stride:,} B behind the first")
    return "\n".join(lines)


def _asked(opened: Opened, item: PlanTransfer, tensor: Tensor, label: str) -> int | None:
    """The distance in bytes of one step of a label in the element mapping; None for what is no digit of it."""
    from dmaverify.layout.digits import NotDigits, digits_of

    found = _LABEL.fullmatch(label.strip())
    if found is None or opened.plan is None:
        return None
    weight = int(found[2] or 1)
    bits = opened.plan.targets[item.transfer.target].dtypes[item.transfer.dtype]
    try:
        digits = digits_of(tensor.element).digits
    except NotDigits:
        return None
    for one in digits:
        if one.axis == found[1] and one.weight <= weight < one.weight * one.slots and weight % one.weight == 0:
            return one.step * (weight // one.weight) * bits // 8
    return None


def _of_term(opened: Opened, item: PlanTransfer, span: Span, offset: int) -> str | None:
    """The loop that a term of `time` becomes."""
    from dmaverify.jobs.derivation import commands_of

    at = offset - span.start
    before = span.text.rfind(",", 0, at) + 1
    after = span.text.find(",", at)
    term = span.text[before : after if after >= 0 else None].strip()
    assert opened.plan is not None
    try:
        _, commands, _ = commands_of(opened.plan, item.name)
    except InputError:
        return None
    for loop in commands[0].loops if commands else ():
        if term in (loop.label, *loop.label.split("|"), *loop.label.split(" x ")):
            lines = [f"**loop `{term}`**: {loop.count:,} times, read + {loop.read:,} B, write + {loop.write:,} B"]
            for side, tensor in (("read", item.transfer.source), ("write", item.transfer.dest)):
                asked = _asked(opened, item, tensor, term)
                lines += [f"- {side}: from `{tensor.element}` in {tensor.tier}"] if asked is not None else []
            return "\n".join(lines)
    return None
