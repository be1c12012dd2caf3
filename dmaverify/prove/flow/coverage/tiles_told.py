"""What is wrong with the tiles of an output, as findings.

Knows: the judgement of an output, how iterations and positions are said.
Does not know: how it was judged (`tiles`).
Law: one finding for each pair of steps that share an element, one for what nobody writes; a start is proposed only
where the judgement has checked it.

Source: furiosa-opt v0.6.0 (views), docs/machines/rngd.md 7.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dmaverify.program.schedule import Step
from dmaverify.prove.flow.coverage.tile_cover import Unwritten
from dmaverify.prove.flow.coverage.tile_outputs import Tiles
from dmaverify.prove.flow.coverage.tiles import Together
from dmaverify.verdict import Edit, Finding, Label, Severity


def tile_findings(result: Together, steps: Sequence[Step]) -> Iterator[Finding]:
    tensor = result.output.tensor
    name = f"{tensor.tier} {tensor.element}"
    better = result.unwritten.better if result.unwritten else ""
    for twice in result.twice:
        first, second = (steps[t.step] for t in (twice.first, twice.second))
        ends = [_iteration(step, at) for step, at in ((first, twice.first_at), (second, twice.second_at))]
        yield Finding(
            "core/tiles-once", Severity.ERROR,
            f"{_position(twice.where)} of {name} is written by {ends[0]} and again by {ends[1]}",
            f"step {second.name}", twice.second.span or second.span, dict(twice.where),
            {"position": dict(twice.where), "first": {"step": first.name, **twice.first_at},
             "second": {"step": second.name, **twice.second_at}},
            hint=f"start the tiles at `{better}`: then they follow each other without gap (checked)" if better
            else "start the tiles their length apart, or let a step of the loop read each before it is written again",
            labels=(Label(twice.first.span, "and here"),) if first is not second and twice.first.span else (),
            edits=_start(better, twice.second),
        )  # fmt: skip
    if result.covers == "refuted" and result.unwritten is not None:
        yield _unwritten(result, result.unwritten, name, steps)


def undecided_tiles(result: Together, steps: Sequence[Step]) -> Iterator[str]:
    """Why it is open whether an element is written twice unread, and what to write."""
    name = f"{result.output.tensor.tier} {result.output.tensor.element}"
    for first, second, meet in result.undecided:
        one, other = (f"`{steps[t.step].name}`" for t in (first, second))
        who = f"{one} writes {name} again" if one == other else f"{other} and {one} write parts of {name} again"
        yield (
            f"{who}, and whether all that the earlier one wrote is read in between was not decided: let a step between "
            "the two read the same view (tile, length, start), or let the start move by the length"
            if meet
            else f"whether {who} was not decided: use fewer loops, or raise --rlimit"
        )


def _unwritten(result: Together, found: Unwritten, name: str, steps: Sequence[Step]) -> Finding:
    tiles = result.output.tiles
    what = f"{_position(found.where)} of {name}" if found.where is not None else f"a part of {name}"
    total = result.output.total
    message = f"{what} is never written"
    if found.count:
        message += f" ({found.count:,} of {total:,} positions are not)"
    hint = f"start the tiles at `{found.better}` (checked)" if found.better else "add iterations, or lengthen the tile"
    return Finding(
        "core/tiles-cover", Severity.ERROR, message, f"step {steps[tiles[0].step].name}", tiles[0].span,
        dict(found.where or {}), {"position": dict(found.where)} if found.where else None,
        hint=f"{hint}; if it is meant, say `partial = true` in the view",
        labels=tuple(Label(one.span, "and these tiles") for one in tiles[1:] if one.span),
        edits=_start(found.better, tiles[0]),
    )  # fmt: skip


def _start(better: str, tiles: Tiles) -> tuple[Edit, ...]:
    """The start of the tiles as it would be right, where the text has one: a number, or a text in quotes."""
    if not better or tiles.span is None:
        return ()
    text, before = tiles.span.text, tiles.span.source.text[max(0, tiles.span.start - 1) : tiles.span.start]
    if before in ('"', "'"):
        return (Edit(tiles.span, better),)
    return (Edit(tiles.span, f'"{better}"'),) if text[:1] in ('"', "'") or text.isdecimal() else ()


def _iteration(step: Step, at: Mapping[str, int]) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in at.items())
    return f"`{step.name}`" + (f" at {values}" if values else "")


def _position(where: Mapping[str, int] | None) -> str:
    return ", ".join(f"{label} = {value}" for label, value in (where or {}).items())
