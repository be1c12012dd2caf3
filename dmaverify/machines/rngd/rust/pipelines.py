"""Pipelines of the Tensor Unit: what begins one, what its stages keep, what a commit leaves.

Knows: which stages say another type or other places, what the text says of each. Does not know: what a stage
computes, which stages the library takes (`stages`).
Law: stages keep type and places of what was begun with, but for those that say otherwise; where they leave these open,
they are not known. Nothing is judged of a function that has a stage which the library refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.accesses import Effect, Unjudged
from dmaverify.machines.rngd.rust.assignments import Assignments
from dmaverify.machines.rngd.rust.code import named, parts_of
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.impls import methods_named
from dmaverify.machines.rngd.rust.moves import SCATTERS, Site
from dmaverify.machines.rngd.rust.outside import is_own_stage, may_be_own
from dmaverify.machines.rngd.rust.stage_laws import StageStream, StageWords
from dmaverify.machines.rngd.rust.stages import behind, stream_of
from dmaverify.machines.rngd.rust.values import (
    Configuration,
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
from dmaverify.targets.target import load_target
from dmaverify.values import replace
from dmaverify.verdict import Finding, Severity

if TYPE_CHECKING:
    from tree_sitter import Node

BEGINS = ("begin", "begin_interleaved")
_CASTS = {"fetch_cast", "cast", "commit_cast", "commit_cast_relu", "fetch_table_lookup"}


class Pipelines(Assignments):
    """The part of reading that knows stages."""

    flows: StageStream  # behind the stage that was read last

    @cached_property
    def bits(self) -> Mapping[str, int]:
        """Bits of each type of elements."""
        return load_target("rngd").dtypes

    @cached_property
    def behind(self) -> Callable[..., StageStream]:
        """What flows behind a stage, judged once: each turn of a loop has the same ones."""
        return lru_cache(maxsize=512)(behind)

    def begun(
        self, code: Code, node: Node, name: str, generics: Node | None, values: Sequence[Value], frame: Frame
    ) -> Pipeline:
        """What `begin(view)` makes of tensors, the first of `values` at least."""
        first = values[0]
        assert isinstance(first, RustTensor)
        bits = self._bits(first.dtype)
        if (
            name != "begin"
            or not bits
            or first.tier != "dm"
            or first.missing is not None
            or methods_named(frame.scope, name)
        ):
            stream = StageStream(
                name, bits, open=f"what `.{name}()` takes is not one tensor that is known", typed=False
            )
        else:
            stream = stream_of(first.expr("slice"), first.expr("element"), bits)
        first = first.with_field("element", Unknown("")) if first.tier == "dm" else first
        first = replace(first, holds=forgotten(first.holds))  # what is computed of them is not followed
        return Pipeline(first, stream, frozenset().union(*map(sources_of, values)))

    def operand(self, code: Code, node: Node, frame: Frame) -> Value:
        """What a stage is given."""
        return self.value(code, node, frame, None)

    def stage(
        self, code: Code, node: Node, name: str, line: Pipeline, generics: Node | None, arguments: list[Node],
        frame: Frame, expected: Value | None,
    ) -> Value:  # fmt: skip
        """What a method of a pipeline gives; a commit makes a tensor of it. `flows` is what is then behind it."""
        given = self.types.arguments(code, generics, frame)
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
            self._flow(code, node, name, line.stream, given, tensor, frame)
            return tensor
        taken = values[0] if values else None
        into = taken if name == "commit_view" else None
        self._flow(code, node, name, line.stream, given, taken, frame)
        if isinstance(into, RustTensor):
            self.written(Site(-1, name, code.span(arguments[0])), into, deps)  # all that the view names
        if name in ("to_trf", "to_vrf", "commit_view"):
            return Opaque(name, deps)
        if name in _CASTS:
            tensor = replace(tensor, dtype=first if isinstance(first, Dtype) else Unknown(""))
        elif name == "switch":
            tensor = tensor.with_field("slice", first if isinstance(first, Map) else Unknown(""))
        elif name.startswith("contract"):
            tensor = replace(tensor, dtype=Unknown("the type that a contraction gives is not annotated"))
        return Pipeline(tensor, self.flows, deps)

    def _flow(
        self, code: Code, node: Node, name: str, before: StageStream, given: Sequence[Value], taken: Value | None,
        frame: Frame,
    ) -> None:  # fmt: skip
        """Enters what flows behind a stage, and that the library refuses it. `taken`: its operand, or what a commit
        makes.
        """
        mappings = tuple(one.expr if isinstance(one, Map) else None for one in given)
        bits = next((bits for one in given if (bits := self._bits(one))), 0)
        config = taken if isinstance(taken, Configuration) else Configuration()
        commits = name in ("commit", "commit_view")
        element = taken.fields.get("element") if commits and isinstance(taken, RustTensor) else None
        whole = element.expr if isinstance(element, Map) else None
        words = StageWords(name, mappings, whole, bits, config.what, config.numbers)
        self.flows = self.behind(before, words, ordered=self.library.orders_stages)
        if is_own_stage(frame.scope, name):
            self.flows = replace(self.flows, refused="", open=f"`.{name}()` may be one of this crate", typed=False)
        later = "" if self.library.orders_stages else self.behind(before, words, ordered=True).refused
        if self.walk.dead or is_own_stage(frame.scope, name):
            return
        stage = node.child_by_field_name("function") or node
        span = code.span(stage.child_by_field_name("field") or stage)
        if self.flows.refused:
            why = f"in line {span.line} the library refuses {self.flows.refused}; nothing is judged of what is written"
            self.ledger.refused.append(Unjudged("core/definite", why, True, span=span))
        elif later.startswith(f"`.{name}()`:") and not before.open:  # which stage follows which is no law of these
            own = ".".join(map(str, self.library.version))
            said = f"v0.6.0 of the library refuses {later}; stages of v{own} are not judged"
            self.ledger.refused.append(Finding("core/definite", Severity.WARNING, said, span=span))

    def _bits(self, dtype: Value) -> int:
        """Bits of a type of elements; 0 of what is none."""
        return self.bits.get(dtype.name, 0) if isinstance(dtype, Dtype) else 0

    def configured(self, code: Code, node: Node, frame: Frame) -> Configuration | None:
        """The configuration that a struct of the library is, where all its numbers are known."""
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        parts = parts_of(code.text(name)) if name is not None else ()
        if body is None or len(parts) < 2 or may_be_own(frame.scope, parts):
            return None
        numbers = dict[str, int]()
        for one in named(body):
            short = one.type == "shorthand_field_initializer"
            key, value = (one, named(one)[-1]) if short else map(one.child_by_field_name, ("field", "value"))
            number = self.types.number(code, value, frame) if value is not None else None
            if key is None or number is None or number.single is None:
                return None
            numbers[code.text(key)] = number.single
        return Configuration(parts[-1], numbers=tuple(sorted(numbers.items())))

    def written(self, site: Site, into: RustTensor, sources: frozenset[int]) -> None:
        """Enters that a view is written; of a scatter nobody knows where."""
        self.ledger.effects.append(Effect(site, True, into, sources, self.walk.when))
        if into.buffer is not None and site.method not in SCATTERS:
            self.ledger.borrowed[into.buffer.serial] = self.ledger.borrowed.get(into.buffer.serial, 0) - 1
