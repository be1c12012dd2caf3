"""Changes of a plan that might mend a broken rule of the machine: shorter packets, longer rows.

Knows: streams and mappings as text, their last terms, divisors and multiples.
Does not know: rules, whether a proposal helps (`fix` tries it on the whole plan).
Law: a proposal of a packet leaves the move as it is; one that pads changes both layouts, so it is only ever told,
never written into a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from dmaverify.errors import InputError, Span
from dmaverify.language.expr import axes_of
from dmaverify.language.numbers import largest_divisor
from dmaverify.language.parse import parse
from dmaverify.plan.plan import PlanTransfer
from dmaverify.verdict import Edit

MOST = 6
_ROOM = re.compile(r"#[ ]*[0-9]+$")
_AXIS = re.compile(r"[A-Z][A-Za-z0-9_]*'*")


def shorter_packets(item: PlanTransfer, axes: Mapping[str, int]) -> Iterator[tuple[Edit, ...]]:
    """The stream with a divisor of the packet's last term as packet, the longest first; the rest goes to time."""
    packet, time = item.key_spans.get("stream.packet"), item.key_spans.get("stream.time")
    if packet is None or time is None:
        return
    start, term = _last_term(packet.text)
    size = size_of_term(term, axes)
    at = Span(packet.source, packet.start + start, packet.end)
    for part in [k for k in range(size // 2, 0, -1) if size % k == 0][:MOST] if size <= 1 << 20 else ():
        yield Edit(at, f"{term} % {part}"), Edit(time, f"{time.text}, {term} / {part}")


def several_packets(item: PlanTransfer, axes: Mapping[str, int], most: int) -> Iterator[tuple[Edit, ...]]:
    """The stream in two commands: whole packets of `most` elements of the packet's one term, and the rest of it."""
    whole, packet = item.key_spans.get("stream"), item.key_spans.get("stream.packet")
    stream = item.transfer.stream
    if whole is None or packet is None or stream is None or not whole.text.lstrip().startswith("{"):
        return
    term, size = packet.text.strip(), size_of_term(packet.text.strip(), axes)
    full, rest = divmod(size, most)
    if "," in term or not full or not rest:
        return
    fields = [(f, item.key_spans[f"stream.{f}"].text) for f in ("chip", "cluster", "slice", "time")
              if f"stream.{f}" in item.key_spans]  # fmt: skip
    kept = f"{term} = {full * most}"
    first, second = dict(fields), {**dict(fields), "packet": f"{term} @ {full * most} = {rest}"}
    if full > 1:
        first["time"] = f"{first.get('time', '1')}, {kept} / {most}"
    first["packet"] = f"{kept} % {most}" if full > 1 else kept
    yield (Edit(whole, f"[{_table(first)}, {_table(second)}]"),)


def _table(fields: Mapping[str, str]) -> str:
    inside = ", ".join(f'{key} = "{text}"' for key, text in fields.items())
    return f"{{ {inside} }}"


def longer_rows(item: PlanTransfer, axes: Mapping[str, int], bits: int) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    """(words, edits): the last term of both tensors and of the packet, padded to the next multiples of 8 bytes."""
    spans = [item.key_spans.get(key) for key in ("source.element", "dest.element", "stream.packet")]
    found = [(span, *_last_term(span.text)) for span in spans if span is not None]
    terms = {_ROOM.sub("", term).strip() for _, _, term in found}
    if len(found) != 3 or len(terms) != 1 or "#" in min(terms):
        return
    (term,) = terms
    size, most = size_of_term(term, axes), max(size_of_term(whole, axes) for _, _, whole in found)
    step = max(1, 64 // bits)
    first = most if most > size and most % step == 0 else (most // step + 1) * step
    for padded in range(first, max(size * 2, most) + step, step) if size else ():
        words = f"`{term} # {padded}` instead of `{term}` in source, destination and packet"
        yield words, tuple(Edit(Span(s.source, s.start + at, s.end), f"{term} # {padded}") for s, at, _ in found)


def longer_and_split(
    item: PlanTransfer, axes: Mapping[str, int], bits: int, most: int
) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    """(words, edits): the last term of both tensors padded, and moved in packets of at most `most` elements that divide
    it: for rows that no packet holds and whose size has no fitting divisor.
    """
    spans = [item.key_spans.get(key) for key in ("source.element", "dest.element", "stream.packet", "stream.time")]
    if any(span is None for span in spans):
        return
    source, dest, packet, time = (span for span in spans if span is not None)
    found = [(span, *_last_term(span.text)) for span in (source, dest, packet)]
    terms = {term for _, _, term in found}
    size = size_of_term(min(terms), axes) if len(terms) == 1 else 0
    step = max(1, 64 // bits)
    if size <= most or "#" in min(terms):
        return
    (term,) = terms
    sizes = ((size // k + 1) * k for k in (step, max(1, 2048 // bits)))
    for padded in dict.fromkeys(sizes):
        part = largest_divisor(padded, most, step)
        if part * 8 < most:
            continue  # so many packets would be no help
        row = f"{term} # {padded}"
        words = f"`{row}` instead of `{term}` in source and destination, in packets of `{row} % {part}`"
        edits = [Edit(Span(s.source, s.start + at, s.end), row) for s, at, _ in found[:2]]
        edits += [Edit(Span(packet.source, packet.start + found[2][1], packet.end), f"{row} % {part}")]
        yield words, (*edits, Edit(time, f"{time.text}, {row} / {part}"))


def unwalked(item: PlanTransfer) -> Iterator[tuple[Edit, ...]]:
    """The stream with the destination's terms of which it names no axis, as outermost loops."""
    time, new = item.key_spans.get("stream.time"), _not_walked(item)
    if time is not None and new:
        yield (Edit(time, ", ".join([*new, *([time.text] if time.text.strip() != "1" else [])])),)


def walked_twice(item: PlanTransfer) -> Iterator[tuple[Edit, ...]]:
    """The stream without the terms that stand in its time and in its packet too, and with those that it misses."""
    time, packet = item.key_spans.get("stream.time"), item.key_spans.get("stream.packet")
    if time is None or packet is None:
        return
    loops, inner, missed = terms_of(time.text), terms_of(packet.text), _not_walked(item)
    twice = {term for term in loops if term in inner and _AXIS.search(term)}
    kept = [[term for term in terms if term not in twice] for terms in (loops, inner)]
    for outer, packed in ((loops, kept[1]), (kept[0], inner)) if twice else ():
        every = [*outer, *missed, *packed]
        cut = len(every) - (len(packed) or 1)
        yield Edit(packet, ", ".join(every[cut:])), Edit(time, ", ".join(every[:cut]) or "1")


def _not_walked(item: PlanTransfer) -> list[str]:
    """The destination's terms of which the stream names no axis."""
    stream = item.transfer.stream
    if stream is None:
        return []
    own = (stream.chip, stream.cluster, stream.slice, stream.time, stream.packet)
    named = {name for expr in own for name in axes_of(expr)}
    spans = [item.key_spans.get(f"dest.{place}") for place in ("chip", "cluster", "slice", "element")]
    terms = [term for span in spans if span is not None for term in terms_of(span.text)]
    return [term for term in terms if (found := set(_AXIS.findall(term))) and not found & named]


def _last_term(text: str) -> tuple[int, str]:
    """Where the last term of a mapping's text begins, and the term without blanks around it."""
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        depth += (text[index] in ")]}") - (text[index] in "([{")
        if text[index] == "," and depth == 0:
            rest = text[index + 1 :]
            return index + 1 + len(rest) - len(rest.lstrip()), rest.strip()
    return len(text) - len(text.lstrip()), text.strip()


def terms_of(text: str) -> list[str]:
    """The terms of a mapping's text, outer to inner."""
    out: list[str] = []
    left = text
    while left.strip():
        at, term = _last_term(left)
        out.insert(0, term)
        left = left[:at].rstrip().removesuffix(",")
    return out


def size_of_term(term: str, axes: Mapping[str, int]) -> int:
    """How many positions a term has; 0 for what cannot be read alone."""
    try:
        return parse(term, axes).size
    except InputError:
        return 0
