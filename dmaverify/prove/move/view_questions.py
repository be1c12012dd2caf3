"""Views from definitions: what a view shows in every iteration is what its tensor holds there.

Knows: the tensor that a view shows, where it lies at each turn, the coordinates that its tiles begin at.
Does not know: commands, the folding analysis of `views`, solvers.
Law: for every position that the view shows and every count of the turns, the same address in the tensor itself is
inside, live where the view is, and holds the element at the view's coordinates plus the tiles' starts. With
proofs/view-shift.smt2 the obligations of the first iteration then hold of all.

Relied on (proofs/): view-shift.
"""

from __future__ import annotations

from collections.abc import Iterator

from dmaverify.language.affine import Lin
from dmaverify.program.space import Space
from dmaverify.program.views import Affine, View, Views
from dmaverify.prove.move.defined import NotCovered, address_of, cell_at, position_of
from dmaverify.prove.move.questions import any_position
from dmaverify.prove.move.script import Script, ScriptWriter, disjunction, text_of
from dmaverify.prove.move.views import offsets_of, shift_units
from dmaverify.prove.smt import number
from dmaverify.targets.target import Target

ONE_TURN = ("chip", "cluster")


def view_scripts(
    views: Views, spaces: tuple[Space, Space], dtype_bits: int, target: Target, definitions: str, name: str = ""
) -> Iterator[Script]:
    """A script for each side that is a view, and one that both begin alike. Raises NotCovered."""
    for side, view, space in (("source", views.source, spaces[0]), ("dest", views.dest, spaces[1])):
        if view is not None:
            writer = ScriptWriter(f"{name}view of the {side}", definitions)
            yield _one_side(writer, side, view, views, space, dtype_bits, target)
    if views.source is not None and views.dest is not None:
        yield _alike(ScriptWriter(f"{name}views alike", definitions), views, views.source, views.dest)


def _turns(writer: ScriptWriter, views: Views) -> list[Lin]:
    return [writer.counter(f"turn{i}", turn.count) for i, turn in enumerate(views.turns)]


def _at(writer: ScriptWriter, name: str, base: Lin, amount: Affine, turns: list[Lin]) -> Lin:
    """`base` moved by an amount that is affine in the turns, by core/loop-step, as a named number."""
    text, value = text_of(base + amount.constant), base + amount.constant
    for turn, step in zip(turns, amount.steps, strict=True):
        text = f"(core/loop-step {text} {text_of(turn)} {number(step)})"
        value = value + turn * step
    return writer.integer(name, text, value)


def _one_side(
    writer: ScriptWriter, side: str, view: View, views: Views, space: Space, dtype_bits: int, target: Target
) -> Script:
    if space.places == ():
        raise NotCovered("a view of a stream")
    turns = _turns(writer, views)
    at = any_position(writer, view.shown, space, dtype_bits, "at")
    shown = cell_at(writer, "shown", view.shown, at)
    unit_bits = 8 if dtype_bits >= 8 else dtype_bits
    here = address_of(view.shown, space, dtype_bits, at)
    here = _at(writer, "address", here, shift_units(view, views, target, unit_bits), turns)
    port = tuple(
        at.places[place] + getattr(view.shown, f"at_{place}") if place in at.places else Lin(0) for place in ONE_TURN
    )
    there = position_of(writer, "base", view.base, space, dtype_bits, (port[0], port[1]), here)
    base = cell_at(writer, "base", view.base, there)
    writer.possible("a live position", "core/not-vacuous", shown.live)
    writer.claim("tiles in bounds", "core/in-bounds", f"(and {shown.live} (not (and {there.inside} {base.live})))")
    differ = [f"(not (= {shown.byte} {base.byte}))"]
    for axis in sorted({*shown.coordinates, *base.coordinates}):
        start = _at(writer, f"start.{axis}", Lin(0), offsets_of(view, axis, views.turns), turns)
        want = f"(+ {shown.coordinates.get(axis, '0')} {text_of(start)})"
        differ.append(f"(not (= {base.coordinates.get(axis, '0')} {want}))")
    writer.claim("the tile's elements", "core/same-element", f"(and {shown.live} {there.inside} {disjunction(differ)})")
    if side == "source":
        writer.claim("zero is zero", "core/padding", f"(and {shown.zero} (not (and {there.inside} {base.zero})))")
    else:
        seen = f"(not (or {shown.zero} {shown.bottom} {shown.out}))"
        writer.claim("zero is asked for", "core/padding", f"(and {there.inside} {base.zero} {seen})")
    return writer.script()


def _alike(writer: ScriptWriter, views: Views, source: View, dest: View) -> Script:
    """Tiles of one axis on both sides begin at the same coordinate in every iteration."""
    turns = _turns(writer, views)
    for axis in sorted(str(a) for a in {w.axis for w in source.windows} & {w.axis for w in dest.windows} - {None}):
        ends = [_at(writer, f"{side}.{axis}", Lin(0), offsets_of(view, axis, views.turns), turns)
                for side, view in (("source", source), ("dest", dest))]  # fmt: skip
        writer.claim(f"starts on {axis}", "core/same-element", f"(not (= {text_of(ends[0])} {text_of(ends[1])}))")
    return writer.script()
