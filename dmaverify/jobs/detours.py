"""What works instead of a move whose elements are too narrow for the machine: two hops, or blocks that stay together.

Knows: the layouts of a transfer as text, plans that are written from them.
Does not know: rules, limits, whether a proposal holds (the caller's judge says).
Law: only what was judged on a whole plan and proved is told; the layouts change, so nothing is ever written by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from dmaverify.jobs.propose import size_of_term, terms_of
from dmaverify.plan.plan import PlanTransfer
from dmaverify.verdict import Edit

WORD_BITS = 64
"""Blocks of this many bits are tried: the word of the memories that refuse narrower elements."""

Proved = Callable[[tuple[Edit, ...]], bool]
Judged = Callable[[str, str], bool]


def detours(item: PlanTransfer, axes: Mapping[str, int], bits: int, proved: Proved, judged: Judged) -> str:
    """The ways that were proved, in words; empty where none was. `proved` tries edits of the plan, `judged` a text and
    the name of a transfer in it.
    """
    if item.transfer.given or item.transfer.streams or "dest.chip" in item.key_spans or bits >= WORD_BITS:
        return ""
    source, dest = item.key_spans.get("source.element"), item.key_spans.get("dest.element")
    if source is None or dest is None or terms_of(source.text)[-1] == terms_of(dest.text)[-1]:
        return ""
    ways = [*_hops(item, bits, judged), *_blocks(item, axes, bits, proved)]
    return "; or ".join(ways)


def _blocks(item: PlanTransfer, axes: Mapping[str, int], bits: int, proved: Proved) -> Iterator[str]:
    """The innermost term of the source cut so that a block of it stays together in the destination."""
    dest, inner = item.key_spans["dest.element"], terms_of(item.key_spans["source.element"].text)[-1]
    block = WORD_BITS // bits
    terms = terms_of(dest.text)
    if inner not in terms or "#" in inner or size_of_term(inner, axes) % block:
        return
    outer = [f"{term} / {block}" if term == inner else term for term in terms]
    element = ", ".join([*outer, f"{inner} % {block}"])
    edits = [Edit(dest, element)]
    time, packet = item.key_spans.get("stream.time"), item.key_spans.get("stream.packet")
    if time is not None and packet is not None:
        edits += [Edit(time, ", ".join([*_places(item), *outer])), Edit(packet, f"{inner} % {block}")]
    if proved(tuple(edits)):
        yield f'keep blocks of {WORD_BITS // 8} bytes together: dest element = "{element}" (checked)'


def _hops(item: PlanTransfer, bits: int, judged: Judged) -> Iterator[str]:
    """The new order made inside the source's own memory, element by element, then carried over in long packets."""
    move, spans = item.transfer, item.key_spans
    whole = spans.get("source"), spans.get("dest")
    if move.source.tier == move.dest.tier or None in whole or not all(s and s.text.startswith("{") for s in whole):
        return
    order = [*_places(item), *terms_of(spans["dest.element"].text)]
    size = move.source.element.size * bits // 8
    base = -(-(move.source.base + size) // 4096) * 4096
    between = f'{{ tier = "{move.source.tier}", base = {base}, element = "{", ".join(order)}" }}'
    source, dest = (span.text for span in whole if span is not None)
    first, second = f"{move.name}-first", f"{move.name}-second"
    text = "\n".join([
        spans["source"].source.text, "",
        f"[transfer.{first}]", f'dtype = "{move.dtype}"', f"source = {source}", f"dest = {between}",
        f'stream = {{ time = "{", ".join(order)}", packet = "1" }}', "",
        f"[transfer.{second}]", f'dtype = "{move.dtype}"', f"source = {between}", f"dest = {dest}",
        f'stream = {{ time = "{", ".join(order[:-1]) or "1"}", packet = "{order[-1]}" }}', "",
    ])  # fmt: skip
    if judged(text, first) and judged(text, second):
        tier, width = move.source.tier, bits // 8
        yield (
            f"go in two hops: reorder inside {tier} with packets of {width} B (dest = {between}), then carry that to "
            f"{move.dest.tier} (both checked; `dmaverify synth` writes and prices routes)"
        )


def _places(item: PlanTransfer) -> list[str]:
    """The terms of the destination's places, outer to inner."""
    found = [item.key_spans.get(f"dest.{place}") for place in ("cluster", "slice")]
    return [term for span in found if span is not None for term in terms_of(span.text) if term != "1"]
