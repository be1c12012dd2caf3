"""Pipelines of the Tensor Unit: what begins one, what its stages keep, what a commit leaves.

Knows: which stages say another type or other places. Does not know: what a stage computes.
Law: stages keep type and places of what was begun with, but for those that say otherwise; where they leave these open,
they are not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.accesses import Effect
from dmaverify.machines.rngd.rust.assignments import Assignments
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.moves import SCATTERS, Site
from dmaverify.machines.rngd.rust.values import (
    Dtype,
    Map,
    Opaque,
    Pipeline,
    RustTensor,
    Unknown,
    Value,
    ViewWindow,
    forgotten,
    sources_of,
)
from dmaverify.values import replace

if TYPE_CHECKING:
    from tree_sitter import Node

BEGINS = ("begin", "begin_interleaved")
_CASTS = {"fetch_cast", "cast", "commit_cast", "commit_cast_relu", "fetch_table_lookup"}


class Pipelines(Assignments):
    """The part of reading that knows stages."""

    def begun(
        self, code: Code, node: Node, name: str, generics: Node | None, values: Sequence[Value], frame: Frame
    ) -> Pipeline:
        """What `begin(view)` makes of tensors, the first of `values` at least."""
        first = values[0]
        assert isinstance(first, RustTensor)
        first = first.with_field("element", Unknown("")) if first.tier == "dm" else first
        first = replace(first, holds=forgotten(first.holds))  # what is computed of them is not followed
        return Pipeline(first, frozenset().union(*map(sources_of, values)))

    def operand(self, code: Code, node: Node, frame: Frame) -> Value:
        """What a stage is given."""
        return self.value(code, node, frame, None)

    def stage(
        self, code: Code, node: Node, name: str, line: Pipeline, generics: Node | None, arguments: list[Node],
        frame: Frame, expected: Value | None,
    ) -> Value:  # fmt: skip
        """What a method of a pipeline gives; a commit makes a tensor of it."""
        telling = name in ("commit", "switch") or name in _CASTS
        given = self.types.arguments(code, generics, frame) if telling else ()
        values = [self.operand(code, one, frame) for one in arguments]
        deps = line.sources.union(*map(sources_of, values))
        tensor = replace(line.tensor, window=ViewWindow(), problems=(), view="")
        first = given[0] if given else Unknown("")
        if name == "commit":
            if isinstance(first, Map):
                tensor = tensor.with_field("element", first)
            if isinstance(expected, RustTensor) and expected.tier == "dm":
                tensor = replace(expected.filled(tensor), holds=tensor.holds)
            tensor = replace(self.fresh(tensor, deps), holds=tensor.holds)
            self.ledger.make(tensor)
            return tensor
        if name == "commit_view" and values and isinstance(values[0], RustTensor):
            self.written(Site(-1, name, code.span(arguments[0])), values[0], deps)  # all that the view names
        if name in ("to_trf", "to_vrf", "commit_view"):
            return Opaque(name, deps)
        if name in _CASTS:
            tensor = replace(tensor, dtype=first if isinstance(first, Dtype) else Unknown(""))
        elif name == "switch":
            tensor = tensor.with_field("slice", first if isinstance(first, Map) else Unknown(""))
        elif name.startswith("contract"):
            tensor = replace(tensor, dtype=Unknown("the type that a contraction gives is not annotated"))
        return Pipeline(tensor, deps)

    def written(self, site: Site, into: RustTensor, sources: frozenset[int]) -> None:
        """Enters that a view is written; of a scatter nobody knows where."""
        self.ledger.effects.append(Effect(site, True, into, sources, self.walk.when))
        if into.buffer is not None and site.method not in SCATTERS:
            self.ledger.borrowed[into.buffer.serial] = self.ledger.borrowed.get(into.buffer.serial, 0) - 1
