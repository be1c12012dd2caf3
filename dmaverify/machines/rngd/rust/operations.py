"""Operations of a kernel as terms: transfers, pipelines of the Tensor Unit, what the library makes of plain values.

Knows: which words of a text decide what an operation is: its method, its generic arguments, its operands, the type that
is written beside its result. Does not know: what an operation computes, which kernels are compared.
Law: what may decide and is not known leaves the kernel open. What inference finds in a pipeline is decided within it:
what it begins with, what its stages say and where it ends are all in its term.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.bodies import Bodies
from dmaverify.machines.rngd.rust.code import child, named, parts_of
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.library import Library
from dmaverify.machines.rngd.rust.module import Item
from dmaverify.machines.rngd.rust.moves import Site
from dmaverify.machines.rngd.rust.outside import imported, is_own_method, is_own_stage, may_be_own
from dmaverify.machines.rngd.rust.terms import KernelTerms, Made, number_key
from dmaverify.machines.rngd.rust.values import Numbers, Opaque, Pipeline, RustTensor, Value
from dmaverify.values import replace

if TYPE_CHECKING:
    from tree_sitter import Node

_LITERALS = ("float_literal", "string_literal", "char_literal", "integer_literal", "boolean_literal")
_COMPOUND = (
    "array_expression", "tuple_expression", "parenthesized_expression", "unary_expression", "binary_expression",
    "unit_expression",
)  # fmt: skip
_PLAIN = (*_LITERALS, *_COMPOUND, "struct_expression", "call_expression", "scoped_identifier")
_ENDS = ("commit", "commit_view", "to_trf", "to_vrf")
_MOVING = ("fetch", "switch", "collect", "transpose", "commit_trim", "commit", "commit_view")
"""Stages that leave every element what it is (without a type that they give it), wherever they put it."""


class Operations(Bodies):
    """The part of following a kernel that enters what each operation makes."""

    leave_open: Callable[[Code, Node, str], None]
    moved: Callable[[Site, RustTensor, RustTensor], None]
    go_beyond: Callable[[Code, Node, str], None]
    number_at: Callable[[Value], int | None]

    def __init__(self, library: Library) -> None:
        super().__init__(library)
        self.terms = KernelTerms()
        self.plain: dict[int, Hashable] = {}  # what the library makes of literals and constants, by its identity
        self.taken: list[tuple[Hashable, Made | None, Value]] = []  # the operands of the stage that is read
        self.hushed = 0

    @contextmanager
    def hush(self) -> Iterator[None]:
        """What is read within is a term already."""
        self.hushed += 1
        try:
            yield
        finally:
            self.hushed -= 1

    # ------------------------------------------------------------ plain values

    def key_of(self, code: Code, node: Node, frame: Frame, uses: list[Made] | None = None) -> Hashable:
        """An expression as the words that decide its value; None where that is not known. Contents among its parts
        are entered in `uses`, where there may be some.
        """
        kind = node.type
        if kind == "identifier" and code.text(node) in frame.locals:
            return self._local(frame.locals[code.text(node)], uses)
        if kind in ("integer_literal", "scoped_identifier", "binary_expression", "identifier"):
            number = self.types.number(code, node, frame)
            if number is not None and number.single is not None:
                return number_key(number)
        if kind in _LITERALS:
            return "literal", code.text(node)
        if kind == "reference_expression" and child(node, "mutable_specifier") is None:
            return self.key_of(code, named(node)[-1], frame, uses)
        if kind in ("identifier", "scoped_identifier"):
            return self._library_name(code, node, frame)
        if kind in _COMPOUND:
            signs = (one.type for one in node.children if not one.is_named)
            return self._words_of((kind, *signs), code, named(node), frame, uses)
        if kind == "struct_expression":
            return self._fields(code, node, frame, uses)
        function = node.child_by_field_name("function") if kind == "call_expression" else None
        arguments = node.child_by_field_name("arguments") if function is not None else None
        if function is None or arguments is None:
            return None
        if function.type == "field_expression":  # a method of such a value
            name, of = function.child_by_field_name("field"), function.child_by_field_name("value")
            if name is None or of is None or is_own_method(frame.scope, code.text(name)):
                return None
            receiver = self.key_of(code, of, frame, uses if of.type in _PLAIN else None)
            if receiver is None:
                return None
            return self._words_of((receiver, code.text(name)), code, named(arguments), frame, uses)
        called = self._library_name(code, function, frame) if function.type == "scoped_identifier" else None
        if called is None or not parts_of(code.text(function))[-2][:1].isupper():
            return None
        return self._words_of((called,), code, named(arguments), frame, uses)

    def _words_of(
        self, head: tuple[Hashable, ...], code: Code, nodes: Sequence[Node], frame: Frame, uses: list[Made] | None
    ) -> Hashable:  # fmt: skip
        parts = [self.key_of(code, one, frame, uses) for one in nodes]
        return None if None in parts else (*head, *parts)

    def _fields(self, code: Code, node: Node, frame: Frame, uses: list[Made] | None) -> Hashable:
        """A struct of the library with all of its fields."""
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        parts = named(body) if body is not None else []
        if name is None or any(one.type != "field_initializer" for one in parts):
            return None
        names = tuple(code.text(one).split(":")[0].strip() for one in parts)
        called = self._library_name(code, name, frame)
        values = [one.child_by_field_name("value") for one in parts]
        known = [one for one in values if one is not None]
        if called is None or len(known) < len(values):
            return None
        return self._words_of((called, names), code, known, frame, uses)

    def _local(self, value: Value, uses: list[Made] | None) -> Hashable:
        place = self.number_at(value)
        if place is not None:
            return "given", place
        if isinstance(value, Numbers) and value.single is not None:
            return number_key(value)
        made = self.content_of(value) if uses is not None else None
        if made is not None and uses is not None:
            uses.append(made)
            return "content", len(uses)
        return self.plain.get(id(value))

    def content_of(self, value: Value) -> Made | None:
        """The content of a pipeline, or of a view whose place is known."""
        if isinstance(value, Pipeline):
            return value.made if isinstance(value.made, Made) else None
        if not isinstance(value, RustTensor) or value.buffer is None or value.missing is not None:
            return None
        known = not value.window.open and all(at.single is not None for at in value.window.at.values())
        self.terms.given |= dict.fromkeys(value.window.given)
        return self.terms.read(value) if known and not value.problems else None

    def _library_name(self, code: Code, node: Node, frame: Frame) -> Hashable:
        """What a name of the library is, or a constant of the crate."""
        parts = parts_of(code.text(node))
        if not parts or "<" in code.text(node) or parts[0] in frame.generics or parts[0] == "Self":
            return None
        item = frame.scope.path(parts, values=True)
        value = item.node.child_by_field_name("value") if item is not None and item.kind == "const" else None
        if item is not None and value is not None:
            frame = Frame(item.scope)
            declared, key = item.node.child_by_field_name("type"), self.key_of(item.code, value, frame)
            return self._as(key, item.code, declared, frame) if key is not None else None
        words = imported(frame.scope, parts) if item is None and not may_be_own(frame.scope, parts) else None
        return ("path", words) if words is not None else None

    def _value(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        if node.type not in _PLAIN or self.hushed:
            return super()._value(code, node, frame, expected)
        key = self.key_of(code, node, frame)
        if key is None or (isinstance(key, tuple) and key[0] == "number"):
            return super()._value(code, node, frame, expected)
        with self.hush():
            found = super()._value(code, node, frame, expected)
        if not isinstance(found, (Numbers, RustTensor, Pipeline)):
            self._called(node, key)
            self.plain[id(found)] = key
            self.kept.append(found)
        return found

    def _called(self, node: Node, key: Hashable) -> None:
        """Enters that the library is called, which may stop a run whatever becomes of what it gives."""
        if not (self.dead or self.walk.dead) and any(one.type == "call_expression" for one in walk(node)):
            self.terms.calls.add(key)

    def merged(self, value: Value, wanted: Value | None) -> Value:
        kept = id(value) in self.plain or (isinstance(value, Pipeline) and value.made is not None)
        return value if kept and isinstance(wanted, Opaque) else super().merged(value, wanted)

    def anew(self, value: Value) -> Value:
        made = super().anew(value)
        if id(value) in self.plain:
            self.plain[id(made)] = self.plain[id(value)]
            self.kept.append(made)
        return made

    def _as(self, key: Hashable, code: Code, declared: Node | None, frame: Frame) -> Hashable:
        """A value's words with the type beside it, which may decide what a call gives; None where it is not known."""
        while declared is not None and declared.type == "reference_type":
            declared = declared.child_by_field_name("type")
        if declared is None or code.text(declared) == "_" or (isinstance(key, tuple) and key[0] == "number"):
            return key
        known = self._type_key(code, declared, frame)
        known = known if known is not None else self._library_name(code, declared, frame)
        if known is None or (isinstance(key, tuple) and key[0] == "as" and key[1] == known):
            return key if known is not None else None
        return "as", known, key

    def _told(self, value: Value | None, code: Code, declared: Node | None, frame: Frame) -> None:
        """Enters the type that is written beside a value."""
        if value is not None and id(value) in self.plain:
            key = self._as(self.plain.pop(id(value)), code, declared, frame)
            self.plain |= {id(value): key} if key is not None else {}

    def _given_by(self, item: Item, body: Node, frame: Frame, instance: str) -> Value:
        found = super()._given_by(item, body, frame, instance)
        self._told(found, item.code, item.node.child_by_field_name("return_type"), frame)
        return found

    def bind(self, code: Code, pattern: Node | None, value: Value, frame: Frame) -> None:
        super().bind(code, pattern, value, frame)
        if pattern is not None and pattern.type == "mut_pattern":
            self.plain.pop(id(frame.locals.get(code.text(named(pattern)[-1]))), None)

    def passed(self, item: Item, node: Node, name: str, value: Value, made: Value, declared: Value) -> Value:
        found = super().passed(item, node, name, value, made, declared)
        self._told(found, item.code, node.child_by_field_name("type"), Frame(item.scope))
        if child(node, "mutable_specifier") is not None:
            self.plain.pop(id(found), None)
        return found

    def _let_declaration(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        found = super()._let_declaration(code, node, frame, expected)
        pattern = node.child_by_field_name("pattern")
        bound = frame.locals.get(code.text(pattern)) if pattern is not None else None
        if child(node, "mutable_specifier") is not None:  # its methods may change it
            self.plain.pop(id(bound), None)
        self._told(bound, code, node.child_by_field_name("type"), frame)
        return found

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
            self.taken += [(key, one, value) for one in uses or (None,)]
            return value
        value = super().operand(code, node, frame)
        made = self.content_of(value)
        if made is None:
            self.leave_open(code, node, "an operand of the Tensor Unit that is not followed")
        self.taken.append(("content", made, value))
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
        moves = line.made.moves if name in _MOVING and _no_type_in(key) else None
        if moves is None and line.made.moves is not None:
            self.go_beyond(code, node, f"`.{name}()` computes")
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
        return Pipeline(line.tensor, line.sources, made)

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

    def _type_key(self, code: Code, node: Node, frame: Frame) -> Hashable:
        found = self.types.read(code, node, frame)
        if not isinstance(found, Opaque):
            return self.terms.value_key(found)
        if node.type == "type_identifier":
            item = frame.scope.find(code.text(node))
            own = item.node.child_by_field_name("type") if item is not None and not item.generics else None
            return self._type_key(item.code, own, Frame(item.scope)) if item is not None and own is not None else None
        name, given = node.child_by_field_name("type"), node.child_by_field_name("type_arguments")
        if node.type != "generic_type" or name is None or frame.scope.find(code.text(name)) is not None:
            return None
        keys = tuple(self.terms.value_key(one) for one in self.types.arguments(code, given, frame))
        return None if None in keys else (code.text(name), *keys)

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
