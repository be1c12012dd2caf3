"""Operations of a kernel as terms: transfers, pipelines of the Tensor Unit, what the library makes of plain values.

Knows: which words of a text decide what an operation is: its method, its generic arguments, its operands, the type that
is written beside its result. Does not know: what an operation computes, which kernels are compared.
Law: what may decide and is not known leaves the kernel open, and so does a stage that the library refuses. What
inference finds in a pipeline is decided within it: what it begins with, what its stages say and where it ends are all
in its term.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.code import named
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.module import Item
from dmaverify.machines.rngd.rust.moves import Site
from dmaverify.machines.rngd.rust.outside import is_own_stage
from dmaverify.machines.rngd.rust.plain_values import PlainValues
from dmaverify.machines.rngd.rust.stages import MOVING
from dmaverify.machines.rngd.rust.terms import Made, number_key
from dmaverify.machines.rngd.rust.values import Configuration, Numbers, Opaque, Pipeline, RustTensor, Value
from dmaverify.values import replace

if TYPE_CHECKING:
    from tree_sitter import Node

_ENDS = ("commit", "commit_view", "to_trf", "to_vrf")


class Operations(PlainValues):
    """The part of following a kernel that enters what each operation makes."""

    moved: Callable[[Site, RustTensor, RustTensor], None]

    # ------------------------------------------------------------ pipelines

    def inlined(
        self, item: Item, bound: dict[str, Value], own: Value | None, values: list[Value], instance: str
    ) -> Value:
        found = super().inlined(item, bound, own, values, instance)
        streams = [one for one in (found, *values) if isinstance(one, Pipeline) and one.made is not None]
        if any(not one.made.register for one in streams):  # the types of the call's parameters and result tell, too
            self.leave_open(item.code, item.node, f"`{item.name}` is a part of a pipeline")
        return found

    def begun(
        self, code: Code, node: Node, name: str, generics: Node | None, values: Sequence[Value], frame: Frame
    ) -> Pipeline:
        line = super().begun(code, node, name, generics, values, frame)
        if not self._runs(code, node, name):
            return line
        made = [self.content_of(value) for value in values]
        known = [one for one in made if one is not None]
        if len(known) < len(made):
            self.leave_open(code, node, f"where a window of `.{name}()` starts is not known")
            return line
        unit = node.child_by_field_name("function")
        of = unit.child_by_field_name("value") if unit is not None else None
        context = of.child_by_field_name("field") if of is not None else None  # of `ctx.main`, and of no name alone
        if context is None:
            self.leave_open(code, node, f"which context `.{name}()` begins on is not known")
            return line
        key = self._words(code, node, name, generics, frame, (code.text(context),))
        made_of = self._joined(self.terms.term(name, key, *(one.term for one in known)), known)
        whole = values[0] if name == "begin" and isinstance(values[0], RustTensor) else None
        if whole is None:
            self.go_beyond(code, node, f"`.{name}()` is not compared")
        return replace(line, made=replace(made_of, moves=whole))

    def operand(self, code: Code, node: Node, frame: Frame) -> Value:
        uses: list[Made] = []
        key = self.key_of(code, node, frame, uses)
        if key is not None:
            self._called(node, key)
            with self.hush():
                value = super().operand(code, node, frame)
            key = value if isinstance(value, Configuration) else key
            self.taken += [(key, one, value) for one in uses or (None,)]
            return value
        value = super().operand(code, node, frame)
        made, key = self.content_of(value), "content"
        if isinstance(value, Configuration):
            key = value
        elif isinstance(value, Numbers) and value.single is not None:
            key = number_key(value)
        elif made is None:
            self.leave_open(code, node, "an operand of the Tensor Unit that is not followed")
        self.taken.append((key, made, value))
        return value

    def stage(
        self, code: Code, node: Node, name: str, line: Pipeline, generics: Node | None, arguments: list[Node],
        frame: Frame, expected: Value | None,
    ) -> Value:  # fmt: skip
        outside, self.taken = self.taken, []
        found = super().stage(code, node, name, line, generics, arguments, frame, expected)
        taken, self.taken = self.taken, outside
        if not self._runs(code, node, name):
            return found
        if not isinstance(line.made, Made) or line.made.register or is_own_stage(frame.scope, name):
            self.leave_open(code, node, f"`.{name}()` of what is not followed")
            return found
        into = taken[0][2] if name == "commit_view" and taken else None
        of = [line.made, *(made for _, made, _ in (taken[1:] if into is not None else taken) if made is not None)]
        dest = found if isinstance(found, RustTensor) else into
        if name in ("commit", "commit_view") and (not isinstance(dest, RustTensor) or self.content_of(dest) is None):
            self.leave_open(code, node, f"the type of what `.{name}()` writes is not known: annotate it")
            return found
        told = tuple(key for key, _, _ in taken)
        key = self._words(code, node, name, generics, frame, told)
        stream = self.flows
        if stream.refused:
            self.leave_open(code, node, f"the library refuses {stream.refused}")
        moves = line.made.moves if name in MOVING and stream.known and _no_type_in(key) else None
        if moves is None and line.made.moves is not None:
            self.go_beyond(code, node, stream.open if name in MOVING else f"`.{name}()` computes")
        if isinstance(dest, RustTensor):
            term = self.terms.term(name, (key, self.terms.type_key(dest)), *(one.term for one in of))
            self.terms.write(term, of, dest, code.span(node), fresh=into is None)
            if moves is not None:
                self.moved(Site(-1, name, code.span(node)), moves, dest)
            return found
        made = replace(self._joined(self.terms.term(name, key, *(one.term for one in of)), of), moves=moves)
        if name in _ENDS:
            operation = self.terms.done(of, None, code.span(node))
            made = Made(made.term, (), made.behind | {operation}, register=True)
        return Pipeline(line.tensor, stream, line.sources, made)

    def _runs(self, code: Code, node: Node, name: str) -> bool:
        """Whether a run gets to an operation; where only some do, the kernel is open."""
        if self.dead or self.walk.dead:
            return False
        if not self.walk.when.always or self.walk.turns:
            self.leave_open(code, node, f"`.{name}()` may run, or not")
        return True

    def _joined(self, term: int, of: Sequence[Made]) -> Made:
        reads = tuple(tensor for one in of for tensor in one.reads)
        return Made(term, reads, frozenset().union(*(one.behind for one in of)))

    def _words(
        self, code: Code, node: Node, name: str, generics: Node | None, frame: Frame, operands: tuple[Hashable, ...]
    ) -> Hashable:  # fmt: skip
        """All that the text says of an operation: generic arguments, operands, the type beside its result."""
        given = tuple(self.terms.value_key(one) for one in self.types.arguments(code, generics, frame))
        beside = self._beside(code, node, frame)
        if None in given or None in operands or beside is None:
            self.leave_open(code, node, f"a type of `.{name}()` is not known")
        if name in ("to_trf", "to_vrf") and not beside and (not given or "_" in given):
            self.leave_open(code, node, f"the type of what `.{name}()` gives is not known: annotate it")
        return given, operands, beside

    def _beside(self, code: Code, node: Node, frame: Frame) -> Hashable:
        """The type that is written beside the result of an expression; empty where there is none, None where it is not
        known what it is.
        """
        around = node.parent
        if around is None or around.type not in ("let_declaration", "block"):
            return ()
        declared = around.child_by_field_name("type")
        if around.type == "block":
            if around.parent is None or around.parent.type != "function_item" or named(around)[-1] != node:
                return ()
            declared = around.parent.child_by_field_name("return_type")
        return () if declared is None else self._type_key(code, declared, frame)

    # ------------------------------------------------------------ transfers

    def transferred(
        self, code: Code, node: Node, name: str, sides: Sequence[RustTensor],
        said: tuple[Sequence[Value], Sequence[Hashable]], *, fresh: bool,
    ) -> None:  # fmt: skip
        """Enters a transfer between views whose places are known, the destination last; `said`: its generic arguments,
        and its other arguments in words.
        """
        given = tuple(self.terms.value_key(one) for one in said[0] if not isinstance(one, Opaque))
        if None in given or any(at.single is None for side in sides for at in side.window.at.values()):
            self.leave_open(code, node, f"a type or a start of `{name}` is not known")
            return
        made = [self.terms.read(one) for one in sides[:-1]]
        key = given, tuple(said[1]), self.terms.type_key(sides[-1])
        self.terms.write(
            self.terms.term(name, key, *(one.term for one in made)), made, sides[-1], code.span(node), fresh=fresh
        )


def _no_type_in(key: Hashable) -> bool:
    """Whether no generic argument of an operation is the type of elements."""
    given = key[0] if isinstance(key, tuple) else ()
    return isinstance(given, tuple) and not any(isinstance(one, str) and one != "_" for one in given)
