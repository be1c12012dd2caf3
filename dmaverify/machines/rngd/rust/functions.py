"""Calls by path: functions of the crate with their generic parameters, constructors of tensors, `launch`.

Knows: how generic parameters follow from turbofish, arguments and expected result; what a constructor makes.
Does not know: methods (`calls`), statements (`bodies`).
Law: a generic function is visited once for each set of arguments that a call gives it; the result of a call that is
not understood is what its place expects, never more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.buffers import tensors_in
from dmaverify.machines.rngd.rust.code import child, parts_of
from dmaverify.machines.rngd.rust.endings import Endings
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.impls import is_standard, method_of, methods_named, parameters_around, standard_path
from dmaverify.machines.rngd.rust.lookups import SCALARS
from dmaverify.machines.rngd.rust.module import Item, NameScope
from dmaverify.machines.rngd.rust.moves import TRANSFERS
from dmaverify.machines.rngd.rust.sites import GROWN, is_kernel, takes_numbers, told_by_calls
from dmaverify.machines.rngd.rust.stoppers import ENDS, may_stop, stops_when_called, stops_when_named
from dmaverify.machines.rngd.rust.types import LISTS, TENSORS, WRAPPERS
from dmaverify.machines.rngd.rust.unify import unify
from dmaverify.machines.rngd.rust.values import (
    Held,
    Map,
    Numbers,
    Opaque,
    Pipeline,
    Record,
    RustTensor,
    Sequence,
    Tuple,
    Unknown,
    Value,
    changing,
    held,
    known,
    may_index,
    sources_of,
)
from dmaverify.machines.rngd.rust.views import told_value
from dmaverify.values import replace

if TYPE_CHECKING:
    from tree_sitter import Node


CELLS = re.compile(rb"\bmut\b|Cell|Atomic|Mutex|Lock|static")
MAX_CLOSURES = 8  # within one another
_HOLDERS = {*WRAPPERS, *LISTS, "Cell", "RefCell", "UnsafeCell", "OnceCell", "Mutex", "RwLock", "Pin"}
_BEGIN_LIST = ("new", "with_capacity", "default")
_ZEROS = ("zero", "zeros")
EMPTY = ("new", "uninit", "new_uninit", "empty")
MAX_INSTANCES = 64  # sets of generic arguments for which one function is visited


class Functions(Endings):
    """The part of reading that knows calls by path."""

    def _path_call(
        self, code: Code, node: Node, function: Node, generics: Node | None, arguments: list[Node], frame: Frame,
        expected: Value | None,
    ) -> Value:  # fmt: skip
        name_node = function.child_by_field_name("name") if function.type == "scoped_identifier" else function
        name = code.text(name_node) if name_node is not None else ""
        path = function.child_by_field_name("path") if function.type == "scoped_identifier" else None
        if name in TRANSFERS and name_node is not None and path is not None and arguments:
            receiver = self.value(code, arguments[0], frame, None)
            given = self.types.arguments(code, generics, frame)
            return self.transfer_call(code, node, name_node, receiver, given, arguments[1:], frame, expected)
        parts = parts_of(code.text(function))
        hidden = path is None and name in frame.locals
        item = None if "<" in code.text(function) or hidden else frame.scope.path(parts, values=True)
        if name == "launch" and arguments:
            launched = self._launch(code, arguments, frame, expected)
            if launched is not None:
                return launched
        if item is not None and item.kind == "fn":
            return self._function(item, code, generics, arguments, frame, expected, None)
        if path is not None:
            made = self._associated(code, path, name, generics, arguments, frame, expected)
            if made is not None:
                return made
        named_type = frame.scope.find(name) if path is None and name[:1].isupper() else None
        if named_type is not None and named_type.kind == "struct":
            made_here = expected if isinstance(expected, Record) and expected.item is named_type else None
            return self._built(made_here or Record(named_type, {}), arguments, code, frame)
        holder = code.text(path).split("<")[0] if path is not None else ""
        if path is not None and name in _BEGIN_LIST and parts_of(holder)[-1:] and parts_of(holder)[-1] in LISTS:
            self.makes_room(next(iter(self.handed(code, arguments, frame)), None))
            return self.filled_list(expected)
        if len(arguments) == 1 and _holds_its_argument(frame.scope, parts_of(holder), name):
            inner = self.another(self.value(code, arguments[0], frame, expected))
            shared = path is not None and CELLS.search(code.text(path).encode()) is not None
            return changing(inner, Unknown("a number in a cell", code.span(node))) if shared else inner
        value = frame.locals.get(name) if path is None else None
        closure = self.closures.get(id(value)) if value is not None else None
        if closure is not None and len(self.closing) < MAX_CLOSURES:
            lent = set(self.ledger.escaped)
            passed = [self.known_as(code, one, self.value(code, one, frame, None), frame) for one in arguments]
            self.ledger.escaped = lent  # what the call does is read
            self.closing.append(name)
            try:
                return self.closure(closure[0], closure[1], closure[2], passed, expected)
            finally:
                self.closing.pop()
        values = self.handed(code, arguments, frame)
        full = standard_path(frame.scope, parts) if item is None else ()
        standard = "mem" in parts[-2:-1] or bool(full)
        of_crate = path is not None and bool(methods_named(frame.scope, name))
        here = standard or hidden or of_crate or closure is not None
        held = hidden and closure is None and self.stopper_handed_on  # in a variable
        if held or (item is not None and stops_when_called(item)):
            self.perhaps_ends()
        if here:
            self.ledger.leave(values)  # a swap is of tensors that are known here, and the standard library writes none
        if parts[-2:] in ENDS or full[-2:] in ENDS:
            self.stop()
        if path is None and name == "Err":
            return self.literally_nothing(node, name, frame.scope)
        made = self.expected(expected, sources_of(value).union(*map(sources_of, values)), here=here)
        return self.comes_back(code, node, name, made, frame)

    def handed(self, code: Code, arguments: list[Node], frame: Frame, values: list[Value] | None = None) -> list[Value]:
        """What goes to code that is not followed, read before or not: it may write whatever it gets, but for `&x`."""
        if values is None:
            values = [self.value(code, one, frame, None) for one in arguments]
        several = sum(child(one, "mutable_specifier") is not None for one in arguments) > 1
        for one, value in zip(arguments, values, strict=True):
            if child(one, "mutable_specifier") is None or several:
                self.ledger.give(value, self.walk.when, soft=True)  # it may be what comes back, or is swapped
            if one.type != "reference_expression" and not (isinstance(value, RustTensor) and value.view == "view"):
                self.ledger.lose(value)
        return values

    def _launch(self, code: Code, arguments: list[Node], frame: Frame, expected: Value | None) -> Value | None:
        """`launch(kernel, (&mut ctx, &a, &b))`: a call of the kernel, whose parameters say what the arguments are."""
        head, generics = arguments[0], None
        if head.type == "generic_function":
            generics = head.child_by_field_name("type_arguments")
            head = head.child_by_field_name("function") or head
        text = code.text(head)
        item = frame.scope.path(parts_of(text), values=True) if "<" not in text else None
        if item is None or item.kind != "fn" or len(arguments) < 2:
            return None
        if (head := arguments[1]).type == "tuple_expression":
            return self._function(item, code, generics, self.listed_here(code, head, frame)[0], frame, expected, None)
        packed = self.value(code, arguments[1], frame, None)
        if isinstance(packed, Tuple) and not item.generics:
            return self._unpacked(item, packed)
        return self._function(item, code, generics, arguments[1:], frame, expected, None)

    def _unpacked(self, item: Item, packed: Tuple) -> Value:
        """`let args = (&mut ctx, &a); launch(kernel, args)`: the parameters say what the parts are."""
        inside = Frame(item.scope, {}, {}, None)
        parameters = item.parameters
        types = [one.child_by_field_name("type") for one in parameters if one.type == "parameter"]
        deps: frozenset[int] = frozenset()
        for part, declared in zip(packed.parts, types, strict=False):
            wanted = self.types.read(item.code, declared, inside) if declared is not None else None
            deps |= sources_of(self.settled(part, wanted))
        parts = self.ledger.as_here(packed.parts)
        if len(parts) == len(types) and any(one.holds is not None for part in parts for one in tensors_in(part)):
            return self.inlined(item, {}, None, parts, "")
        result = item.node.child_by_field_name("return_type")
        made = self.types.read(item.code, result, inside) if result is not None else Opaque("()")
        self.ledger.give(packed, self.walk.when, soft=True)
        return self._result(made, None, deps, told=is_kernel(item))

    def _associated(
        self, code: Code, path: Node, name: str, generics: Node | None, arguments: list[Node], frame: Frame,
        expected: Value | None,
    ) -> Value | None:  # fmt: skip
        """`Type::name(...)`: constructors of tensors, functions of impls."""
        bare = code.text(path).split("::")[-1].strip()
        if bare == "Default" and isinstance(expected, RustTensor):
            return self.received(expected, frozenset(), here=bool(methods_named(frame.scope, name)))
        if path.type == "identifier" and bare[:1].islower():
            return None
        own = self.types.read(code, path, frame)
        if bare in TENSORS and isinstance(own, Unknown):
            own = RustTensor(TENSORS[bare][0], Unknown(""), {}, TENSORS[bare][1])
        given = (
            [] if name in (*_ZEROS, "new", "from_vec") else methods_named(frame.scope, name)
        )  # the library's come first
        given = [item for item in given if not isinstance(self._self_of(item), Record)]
        if isinstance(own, RustTensor) and (name == "default" or given):
            return self._of_impl(code, own, given, generics, arguments, frame, expected)
        if isinstance(own, RustTensor):
            values = [self.value(code, one, frame, None) for one in arguments]
            made = own.filled(expected) if isinstance(expected, RustTensor) and expected.tier == own.tier else own
            made = self.fresh(made, frozenset().union(*map(sources_of, values)))
            if name == "from_vec" and values:
                numbers = held(self.merged(values[0], Sequence(made.dtype)), code.span(arguments[0]))
                made = replace(made, holds=numbers if may_index(made) else None)
            elif name in _ZEROS and may_index(made):
                made = replace(made, holds=Held((0,), None, code.span(path)))
            self.ledger.make(made, empty=name in EMPTY)
            return made
        made_of = self.types.variant(frame.scope.path(parts_of(code.text(path))), name)
        if made_of is not None:
            return self._built(Record(made_of, {}), arguments, code, frame)
        if isinstance(own, Record):
            method = method_of(own, name)
            if method is not None:
                return self._function(method, code, generics, arguments, frame, expected, own)
        return None

    def _of_impl(
        self, code: Code, own: RustTensor, found: list[Item], generics: Node | None, arguments: list[Node],
        frame: Frame, expected: Value | None,
    ) -> Value:  # fmt: skip
        """`T::name(..)` where an impl of the crate may have the name: read where one alone has it."""
        bodies = [item for item in found if item.node.child_by_field_name("body") is not None]
        if len(bodies) == 1 and self._self_of(bodies[0]) == own:
            return self._function(bodies[0], code, generics, arguments, frame, expected, own)
        values = self.handed(code, arguments, frame)
        self.ledger.leave(values)
        made = own.filled(expected) if isinstance(expected, RustTensor) and expected.tier == own.tier else own
        return self.received(made, frozenset().union(*map(sources_of, values)), here=bool(found))

    def _built(self, record: Record, arguments: list[Node], code: Code, frame: Frame) -> Record:
        """`Pair(a, b)`: a struct or a variant with fields by their place."""
        parts: dict[str, Value] = {}
        for number, one in enumerate(arguments):
            wanted = self.part(record, str(number), code, one)
            asked = wanted if known(wanted) else None
            parts[str(number)] = self.merged(self.value(code, one, frame, asked), asked)
        return replace(record, parts=parts)

    def _function(
        self, item: Item, code: Code, generics: Node | None, arguments: list[Node], frame: Frame,
        expected: Value | None, own: Value | None,
    ) -> Value:  # fmt: skip
        """The result of calling a function of the crate; a generic one will be visited for these arguments."""
        names = item.generics
        bound: dict[str, Value] = dict(zip((n for n, _ in names), self.types.arguments(code, generics, frame),
                                           strict=False))  # fmt: skip
        bound = {n: v for n, v in bound.items() if not (isinstance(v, Unknown) and not v.reason)}
        outer = parameters_around(item, own)
        inside = Frame(item.scope, {**outer, **{n: Unknown("") for n, _ in names}, **bound}, {}, own)
        parameters = item.parameters
        types = [one.child_by_field_name("type") for one in parameters if one.type == "parameter"]
        has_self = any(one.type == "self_parameter" for one in parameters)
        given = arguments[1:] if has_self and len(arguments) == len(types) + 1 else arguments
        result = item.node.child_by_field_name("return_type")
        if isinstance(expected, (RustTensor, Tuple, Sequence, Record)) and result is not None:
            unify(item.code, result, expected, bound, dict(names), inside)
        deps: frozenset[int] = frozenset()
        values: list[Value] = []
        lent = set(self.ledger.escaped)
        if has_self and len(given) < len(arguments):
            own = self.known_as(code, arguments[0], self.merged(self.value(code, arguments[0], frame, own), own), frame)
        for number, one in enumerate(given):
            declared = types[number] if number < len(types) else None
            wanted = self.types.read(item.code, declared, inside) if declared is not None else None
            value = self.known_as(code, one, self.settled(self.value(code, one, frame, wanted), wanted), frame)
            values.append(value)
            if isinstance(value, Numbers):
                self.fitted(value, wanted)
            deps |= sources_of(value)
            if declared is not None and child(declared, "mutable_specifier") is not None:
                self.ledger.lose(value)
            if declared is not None and names:
                unify(item.code, declared, value, bound, dict(names), inside)
        every = {**outer, **bound}
        made: Value = Opaque("()")
        if result is not None:
            made = self.types.read(item.code, result, Frame(item.scope, {**inside.generics, **bound}, {}, own))
        losses, self.ledger.escaped = self.ledger.escaped, lent
        values, self.ledger.escaped = self.ledger.as_here(values), losses
        counted = self.number_given(item, every, own, values, made) if len(values) == len(types) else None
        if counted is not None:
            return counted
        passed = [own if own is not None else Opaque("()"), *values, made]
        if len(values) == len(types) and self.inlines(item, every, passed):
            self.later.setdefault(item, item)
            self.ledger.escaped = lent  # what the call does is read
            text = ", ".join(f"{n} = {told_value(every[n])}" for n, _ in names if n in every)
            outside, self.nothing = self.nothing, []
            found = self.inlined(item, every, own, values, text)
            self.never_back(item)
            found = self._result(made, expected, deps | sources_of(found), found) if result is not None else found
            found = self.perhaps_nothing(item, found)
            self.nothing = outside
            return found
        self.never_back(item)
        alone, here = self.judged_alone(item, passed[:-1]), item.node.child_by_field_name("body") is not None
        if not alone and (item in self.stack or may_stop(item.scope, item.name)):
            self.perhaps_ends()
        if here and not is_kernel(item):
            self.ledger.leave(values)
        for value in () if alone and not is_kernel(item) else values:
            self.ledger.give(value, self.walk.when, soft=True)  # it may read it, or give it back
        self._ask(item, names, every, own)
        self.relied |= {item} if alone else set()
        told = alone or is_kernel(item)
        return self._result(made, expected, deps, told=told, here=here) if result is not None else Opaque("()", deps)

    def mentioned(self, code: Code, function: Node, generics: Node | None, frame: Frame) -> None:
        """Enters that a function is handed on as a value: it may be called with whatever its parameters take."""
        parts = parts_of(code.text(function))
        hidden = len(parts) == 1 and parts[0] in frame.locals
        item = frame.scope.path(parts, values=True) if parts and not hidden else None
        if item is not None and stops_when_named(item):
            self.perhaps_ends()
        if item is None or item.kind != "fn":
            return
        self.stopper_handed_on |= may_stop(item.scope, item.name)
        names = [name for name, _ in item.generics]
        given = dict(zip(names, self.types.arguments(code, generics, frame), strict=False))
        if names:
            self._ask(item, item.generics, given, None)
        elif takes_numbers(item):
            self.later_uses.lacking[item, ""] = item, {}, self._self_of(item), ""

    def _result(
        self, made: Value, expected: Value | None, deps: frozenset[int], found: Value | None = None, *,
        told: bool = False, here: bool = True,
    ) -> Value:  # fmt: skip
        """The result of a call by its type; `found` is what the body gives, where that was read. `told`: verdicts of
        its own say that what the function makes is written; `here`: the input has its body.
        """
        if isinstance(made, RustTensor):
            if isinstance(found, RustTensor) and found.tier == made.tier and found.buffer is not None:
                fields = {p: own if isinstance(own, Map) else found.fields[p] for p, own in made.fields.items()}
                return replace(found, fields=fields, sources=deps)
            if isinstance(expected, RustTensor) and expected.tier == made.tier:
                made = made.filled(expected)
            return self.fresh(made, deps) if told else self.received(made, deps, here=here)
        if isinstance(made, Tuple):
            wanted = expected.parts if isinstance(expected, Tuple) else (None,) * len(made.parts)
            given = found.parts if isinstance(found, Tuple) else (None,) * len(made.parts)
            parts = zip(made.parts, wanted, given, strict=False)
            return Tuple(tuple(self._result(a, b, deps, c, told=told, here=here) for a, b, c in parts))
        if isinstance(made, Record) and isinstance(found, Record) and found.item is made.item:
            return found
        if isinstance(made, Sequence) and isinstance(found, Sequence):
            return found
        if isinstance(made, Sequence) and found == Opaque(GROWN):
            return self.filled_list(made)
        if isinstance(made, Sequence) and isinstance(made.part, (RustTensor, Record, Tuple, Sequence)):
            return self.any_element(made, self._result(made.part, None, deps, told=told, here=here))
        if isinstance(made, Opaque):
            kept = isinstance(found, (Pipeline, Record, RustTensor, Tuple, Sequence))
            return found if kept and found is not None else Opaque(made.what, deps)
        if isinstance(made, Record):
            return self.instance_of(made, foreign=not told)
        if isinstance(found, Numbers):
            return self.merged(found, made)
        if known(made):
            return made
        if found is not None and known(found):
            return found
        if isinstance(expected, (RustTensor, Tuple, Sequence, Record)):
            return self._result(expected, None, deps, told=told, here=here)
        return self.expected(expected, deps)

    def _ask(self, item: Item, names: list[tuple[str, str]], bound: dict[str, Value], own: Value | None) -> None:
        """Queues a generic function for these arguments, once; one whose arguments are not all known comes last."""
        if not names:
            self.found(item)
            return
        self.later.setdefault(item, item)
        lacks = [n for n in told_by_calls(item) if n not in bound or not known(bound[n])]
        if lacks:
            self.later_uses.unlearned = True
        if sum(1 for own, _ in self.asked if own == item) >= MAX_INSTANCES:
            self.crowded.add(item.name)
            return
        text = ", ".join(f"{n} = {told_value(bound[n])}" for n in told_by_calls(item) if n not in lacks)
        key = (item, repr(sorted((n, told_value(v, True)) for n, v in bound.items() if n not in lacks)))
        if lacks:
            caller = self.item.name if self.item is not None else "somebody"
            why = f"`{caller}` calls `{item.name}` with a `{'`, `'.join(lacks)}` that is not known"
            every = {**bound, **{n: Unknown(why, item.code.span(item.node)) for n in lacks}}
            self.later_uses.lacking[key] = item, every, own or self._self_of(item), text
            return
        if key not in self.asked:
            self.asked.add(key)
            self.waiting.append((item, dict(bound), own or self._self_of(item), text))


def _holds_its_argument(scope: NameScope, path: tuple[str, ...], name: str) -> bool:
    """Whether `path::name(x)` is `x` in a box, an option, a cell or the like of the standard library."""
    if not path:
        return name in ("Some", "Ok")
    made = name in ("new", "from") and (path[-1] in _HOLDERS or path[-1] in SCALARS)
    wraps = (path[-1], name) in (("Option", "Some"), ("Result", "Ok"))
    if not (made or wraps) or scope.path(path) is not None:
        return False
    plain = len(path) == 1 and not any(use.name == path[0] for use in scope.module.uses)
    return plain or is_standard(scope, path)
