"""Plans of every kind that can be written, as texts: views, loops, gathers, programs, moves in place, banks.

Knows: the kinds and their faults. Does not know: how a kind is drawn, what a judge says, Hypothesis.
Law: a text drawn without a fault keeps every promise of the core; one drawn with a fault says which, and breaks a
promise unless the drawn sizes make it harmless. Machines' own rules (alignment and the like) may speak of either.

Source: the plan file format, `schema = 1`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lab import drawn_moves as moves
from lab import drawn_orders as orders
from lab import drawn_programs as programs
from lab import drawn_views as views

from dmaverify.testing.draw import Draw, Seeded
from dmaverify.values import dataclass, field


@dataclass(frozen=True)
class WrittenPlan:
    """A plan file and the entry that is meant. `fault` "": right by construction."""

    kind: str
    text: str
    name: str
    fault: str = ""
    seed: str = field(default="", compare=False)

    @property
    def holds(self) -> bool:
        return not self.fault


Maker = Callable[[Draw, str], tuple[str, str]]

KINDS: Mapping[str, tuple[Maker, tuple[str, ...]]] = {
    "views": (views.viewed, ("start", "count", "length", "stream")),
    "tiles": (views.tiled_program, views.VIEW_FAULTS),
    "padded-tiles": (views.padded_tiles, ("start", "count", "stream")),
    "nested": (views.nested, ("start", "inner-start")),
    "slices": (views.slice_tiles, ("start", "beyond", "order")),
    "apart": (views.slice_apart, ("same",)),
    "stores": (programs.stores, ("again", "left-out")),
    "rows": (moves.indirect, ("key-in-table", "beyond", "twice", "own-index", "keys")),
    "in-place": (moves.in_place, ("upwards",)),
    "commands": (moves.commands, ("shifted", "short", "again")),
    "padding": (moves.padded, ("stream", "twice", "short")),
    "split-padding": (moves.split_padding, ("stream",)),
    "banks": (programs.banks, ("rows",)),
    "pipeline": (programs.pipeline, ("start", "order", "earlier")),
    "both": (views.both, ("start",)),
    "turning-slices": (views.slices_in_turn, ("again", "beyond")),
    "twin": (views.twin, ("start", "count", "twice", "stream")),
    "plain": (moves.plain, ("any",)),
    "in-parts": (moves.in_parts, ("upwards",)),
    "replicas": (moves.replicas, ("stream",)),
    "engines": (orders.engines, ("order", "apart")),
    "contexts": (orders.contexts, ("order",)),
    "lists": (orders.lists, ("order",)),
    "partly": (orders.partly, ("left-out",)),
    "sums": (orders.sums, ("rows",)),
    "turns": (orders.turns, ("rows",)),
}


def written(draw: Draw, kind: str = "", fault: str | None = None) -> WrittenPlan:
    """A plan of a kind (any), right or with a fault (None: either)."""
    name = kind or draw.choice(list(KINDS))
    make, faults = KINDS[name]
    chosen = fault if fault is not None else draw.choice(("", *faults)) if draw.chance(60) else ""
    text, entry = make(draw, chosen)
    return WrittenPlan(name, text, entry, chosen)


def seeded(seed: str, kind: str = "", fault: str | None = None) -> WrittenPlan:
    """The plan of a seed."""
    found = written(Seeded(seed), kind, fault)
    return WrittenPlan(found.kind, found.text, found.name, found.fault, seed)
