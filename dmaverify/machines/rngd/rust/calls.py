"""Methods: views and transfers of tensors, methods of records and sequences.

Knows: which methods are views or transfers, and what they leave.
Does not know: calls by path (`functions`), statements (`bodies`), rules.
Law: a method that is not understood gives what its place expects, never more.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from math import prod
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.accesses import Effect
from dmaverify.machines.rngd.rust.code import asked_type, named
from dmaverify.machines.rngd.rust.declares import declares_method
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.impls import method_of, methods_named
from dmaverify.machines.rngd.rust.integers import INTEGERS, called, typed
from dmaverify.machines.rngd.rust.lists import element, elements, in_loop, lacking, listed, loose, mapped, reshaped_list
from dmaverify.machines.rngd.rust.moves import GATHERS, SCATTERS, TRANSFERS, VIEWS, Call, Site, transfer
from dmaverify.machines.rngd.rust.pipelines import BEGINS, Pipelines
from dmaverify.machines.rngd.rust.sites import GROWN
from dmaverify.machines.rngd.rust.values import (
    Held,
    Map,
    Numbers,
    Opaque,
    Pending,
    Pipeline,
    Record,
    RustTensor,
    Sequence,
    Tuple,
    Unknown,
    Value,
    known,
    sources_of,
)
from dmaverify.machines.rngd.rust.views import TileCall, padded, reshaped, tiled
from dmaverify.values import replace

if TYPE_CHECKING:
    from tree_sitter import Node

TILES = {"tile": "element", "chip_tile": "chip", "cluster_tile": "cluster", "slice_tile": "slice"}
_SAME = {
    "as_ref", "as_mut", "borrow", "borrow_mut", "clone", "to_owned", "into", "unwrap", "expect", "by_ref", "reborrow",
    "unwrap_or_default", "ok", "lock", "get_mut", "as_deref", "cloned", "copied", "await", "take",
}  # fmt: skip
_WHOLE = ("view", "view_mut")
_ITERATES = {
    "iter", "iter_mut", "into_iter", "rev", "skip", "take", "step_by", "chunks", "windows", "drain", "peekable",
}  # fmt: skip
_PICKS = {"get", "first", "last", "next", "pop", "nth", "remove", "swap_remove", "get_unchecked"}
_ADDS = {"push", "push_back", "insert", "fill", "resize"}
_APPLIES = {
    "map", "for_each", "then", "map_err", "and_then", "flat_map", "filter_map", "fold", "inspect", "unwrap_or_else",
}  # fmt: skip
_CONSUMES = {"collect", "for_each", "count", "sum", "product", "fold", "last", "unzip", "max", "min"}
_TAKES_ALL = re.compile(
    r"(?:(?:std|alloc)::(?:\w+::)*)?(Vec|VecDeque|HashMap|BTreeMap|HashSet|BTreeSet|String|[iu](?:8|16|32|64|128|size)|f32|f64)\b"
)
_ASKS = {"len", "is_empty", "iter", "contains", "get", "first", "last"}
_OF_OPTION = {
    "unwrap_or", "or", "xor", "and", "replace", "insert", "get_or_insert", "zip", "map_or", "filter", "or_else",
    "into_inner", "swap", "update", "get_or_init", "get_or_insert_with", "replace_with", "take_mut", "leak",
}  # fmt: skip
MOVES = re.compile(rb"\b(?:to_|dma_|tile|view)\w*|\w\s*\(\s*(?:&mut\s*\*?\s*)?ctx\b|\w+!")  # in a text
MAX_EACH = 512  # elements that a closure is read for


class Calls(Pipelines):
    """The part of reading that knows methods; `Bodies` adds statements."""

    def _call_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        arguments, open_ = self.listed_here(code, given, frame) if given is not None else ([], None)
        if open_ is not None:
            self.handed(code, arguments, frame)
            return open_
        generics = None
        if function is not None and function.type == "generic_function":
            generics = function.child_by_field_name("type_arguments")
            function = function.child_by_field_name("function")
        if function is None:
            return Unknown("a call of nothing", code.span(node))
        if function.type == "field_expression":
            return self._method(code, node, function, generics, arguments, frame, expected)
        if function.type == "scoped_identifier" and code.text(function).split("::")[0] in INTEGERS:
            number = self.types.number(code, node, frame)  # `usize::from(n)`
            if number is not None:
                return number
            if code.text(function).endswith("::from"):
                self.handed(code, arguments, frame)
                return Unknown("a number that may leave its type", code.span(node))
        if function.type in ("identifier", "scoped_identifier"):
            return self._path_call(code, node, function, generics, arguments, frame, expected)
        called = self.value(code, function, frame, None)
        values = self.handed(code, arguments, frame)
        self.unread_call(frame.scope, "")
        self.ledger.leave(values)
        return self.expected(expected, sources_of(called).union(*map(sources_of, values)), here=True)

    def _method(
        self, code: Code, node: Node, function: Node, generics: Node | None, arguments: list[Node], frame: Frame,
        expected: Value | None,
    ) -> Value:  # fmt: skip
        target, name_node = function.child_by_field_name("value"), function.child_by_field_name("field")
        if target is None or name_node is None:
            return Unknown("a method of nothing", code.span(node))
        name = code.text(name_node)
        before, self.let = self.let, self.let if name in TRANSFERS else ""
        receiver = self.value(code, target, frame, expected if name in _SAME or name in _WHOLE else None)
        self.let = before
        if name in ("unwrap", "expect"):
            receiver = self.unwrapped(receiver, emptied=self._emptied(code, target))
        if name in TRANSFERS:
            given = self.types.arguments(code, generics, frame)
            return self.transfer_call(code, node, name_node, receiver, given, arguments, frame, expected)
        if isinstance(receiver, Pending) and isinstance(expected, RustTensor) and (name in _SAME or name in _WHOLE):
            made_of = self.settled(receiver, expected)
            return replace(made_of, view=name) if isinstance(made_of, RustTensor) and name in _WHOLE else made_of
        if isinstance(receiver, RustTensor):
            given = self.types.arguments(code, generics, frame)
            made = self._of_tensor(code, node, name, receiver, given, arguments, frame, expected)
            if made is not None:
                return made
        return self._other(code, node, name, receiver, generics, arguments, frame, expected)

    def _emptied(self, code: Code, target: Node) -> bool:
        """Whether the function that is read may take away what a name holds, or lend it to somebody who does."""
        name, text = code.text(target), self.item.code.text(self.item.node) if self.item is not None else ""
        taken = rf"\b{re.escape(name)}\s*\.\s*take\b|&\s*mut\s+{re.escape(name)}\b"
        return target.type == "identifier" and re.search(taken, text) is not None

    def transfer_call(
        self, code: Code, node: Node, name: Node, receiver: Value, generics: tuple[Value, ...], arguments: list[Node],
        frame: Frame, expected: Value | None,
    ) -> Value:  # fmt: skip
        site = self.site(code, name)
        self.later_uses.touched(site)
        site.let = site.let or self.let
        site.expression = code.span(node)
        if self.item is not None and not site.function:
            site.function, site.attributes = self.item.name, self.attributes_of(self.item)
        before, self.let = self.let, ""
        values = tuple(self.value(code, one, frame, None) for one in arguments)
        self.let = before
        self.serial += 1
        wanted = expected if isinstance(expected, RustTensor) else None
        site.dead, site.passed = self.dead, self.walk.dead
        if not (self.dead or self.walk.dead):
            site.runs.append((self.instance, prod(self.walk.turns.values())))
        self._effects(site, receiver, values)
        now, *given = self.ledger.as_here((receiver, *values))
        made = transfer(Call(site, code.text(name), now, generics, tuple(given), wanted, self.instance, self.serial))
        if isinstance(made, RustTensor):
            self.ledger.make(made)
        return made

    def _effects(self, site: Site, receiver: Value, values: tuple[Value, ...]) -> None:
        """Enters what a transfer reads and writes."""
        if not isinstance(receiver, RustTensor):
            return
        tensors = [value for value in values if isinstance(value, RustTensor)]
        index = tensors[:1] if site.method in (*GATHERS, *SCATTERS) else []
        self.ledger.effects += [Effect(site, False, one, when=self.walk.when) for one in (receiver, *index)]
        for into in tensors[-1:] if site.method in (*VIEWS, *SCATTERS) else ():
            self.written(site, into, receiver.sources.union(*(one.sources for one in index)))
            if into.buffer is not None and isinstance(receiver.holds, Held) and site.method in VIEWS:
                self.ledger.listed.add(into.buffer.serial)

    def _of_tensor(
        self, code: Code, node: Node, name: str, tensor: RustTensor, generics: tuple[Value, ...], arguments: list[Node],
        frame: Frame, expected: Value | None,
    ) -> Value | None:  # fmt: skip
        if name in ("view", "view_mut"):
            if name == "view_mut" and tensor.buffer is not None and not tensor.view:
                serial = tensor.buffer.serial
                self.ledger.whole[serial] = tensor
                self.ledger.borrowed[serial] = self.ledger.borrowed.get(serial, 0) + 1
            return replace(tensor, view=name)
        if name in _SAME:
            return tensor
        if name in TILES:
            return self._tile(code, node, name, tensor, generics, arguments, frame, expected)
        wanted = expected if isinstance(expected, RustTensor) and expected.tier == tensor.tier else None
        if name in ("pad", "unpad"):
            new = next((value for value in generics if isinstance(value, (Map, Unknown))), Unknown(""))
            if isinstance(new, Unknown) and not new.reason and wanted is not None:
                new = wanted.fields["element"]
            return padded(tensor, new, code.span(node), back=name == "unpad")
        if name == "reshape":
            return self._reshape(code, node, tensor, generics, wanted)
        self.ledger.lose(tensor)
        if name != "memset":
            return None
        for one in arguments:
            self.value(code, one, frame, None)
        return Opaque("()", tensor.sources)

    def _tile(
        self, code: Code, node: Node, name: str, tensor: RustTensor, generics: tuple[Value, ...], arguments: list[Node],
        frame: Frame, expected: Value | None,
    ) -> Value:  # fmt: skip
        place = TILES[name]
        self.types.left, before, exits = "", (self.walk.when, self.walk.dead), list(self.walk.exits)
        values = [self.value(code, one, frame, None) for one in arguments]
        doubt = self.types.doubt(code.text(arguments[0]) if arguments else "", frame)
        if place not in tensor.fields:
            return tensor.with_field("element", Unknown(f"{tensor.tier} has no {place} to tile", code.span(node)))
        index, length, new = (*generics, Unknown(""), Unknown(""), Unknown(""))[:3]
        if (
            isinstance(new, Unknown)
            and not new.reason
            and isinstance(expected, RustTensor)
            and place in expected.fields
        ):
            new = expected.fields[place]
        start = typed(values[0], "usize") if values and isinstance(values[0], Numbers) else None
        as_map = [v if isinstance(v, (Map, Unknown)) else Unknown("no mapping", code.span(node)) for v in (index, new)]
        if isinstance(as_map[1], Unknown) and not as_map[1].reason:
            as_map[1] = Unknown("the mapping of the tile is left to inference", code.span(node))
        size = length.single if isinstance(length, Numbers) else None
        at = code.span(arguments[0]) if arguments else code.span(node)
        stops = lacking(values[0]) if arguments and arguments[0].type == "index_expression" else ""
        self.walk.exits = exits if stops else self.walk.exits  # it is told as a start that does not exist
        made, when = (as_map[0], size, as_map[1], start), (*before, doubt, stops)
        return tiled(tensor, TileCall(place, *made, code.span(node), at, self.library, *when))

    def _reshape(
        self, code: Code, node: Node, tensor: RustTensor, generics: tuple[Value, ...], wanted: RustTensor | None
    ) -> Value:
        places = list(tensor.fields)
        fields: dict[str, Map | Unknown] = {}
        for number, place in enumerate(places):
            value = generics[number] if number < len(generics) else Unknown("")
            if isinstance(value, Unknown) and not value.reason and wanted is not None:
                value = wanted.fields[place]
            fields[place] = value if isinstance(value, Map) else Unknown(
                (value.reason if isinstance(value, Unknown) else "")
                or "the reshape names no mapping here: annotate its result", code.span(node)
            )  # fmt: skip
        target = RustTensor(tensor.tier, tensor.dtype, fields, span=code.span(node))
        return reshaped(tensor, target, code.span(node))

    def _other(
        self, code: Code, node: Node, name: str, receiver: Value, generics: Node | None, arguments: list[Node],
        frame: Frame, expected: Value | None,
    ) -> Value:  # fmt: skip
        """Methods of records, sequences and pipelines."""
        if isinstance(receiver, Pipeline):
            return self.stage(code, node, name, receiver, generics, arguments, frame, expected)
        if isinstance(receiver, Record):
            method = method_of(receiver, name)
            if method is not None:
                target = named(node.children[0])[0]
                own = self.known_as(code, target, receiver, frame)
                return self._function(method, code, generics, arguments, frame, expected, own)
        number = self.types.number(code, node, frame) if isinstance(receiver, Numbers) else None
        if number is not None:
            return number
        given: list[Value] | None = None
        ours = isinstance(receiver, (Numbers, Sequence)) and declares_method(frame.scope, name, of_integers=True)
        if isinstance(receiver, Sequence) and not ours:
            made, given = self._of_sequence(code, name, receiver, arguments, frame, expected)
            if made is not None:
                return made
        adds = name in _ADDS and (isinstance(receiver, Sequence) or receiver == Opaque(GROWN))
        if given is None:
            values = self._of_method(code, name, receiver, arguments, frame, adds)
        else:
            values = given if adds else self.handed(code, arguments, frame, given)
        if isinstance(receiver, Numbers) and (ours or name == "into"):
            why = f"what `{name}` of this crate gives" if ours else "a number that may leave its type"
            return (None if ours else called(name, [receiver])) or Unknown(why, code.span(node))
        if name in _SAME and known(receiver) and not ours:
            return receiver
        if ours or name not in _ASKS:
            self.ledger.lose(receiver)
            if isinstance(receiver, (Sequence, Tuple)):
                self.ledger.leave([receiver])  # a method of the standard library: it moves elements, and writes none
                self.unsettled(code, node, frame)
        here = name in _OF_OPTION or adds or bool(methods_named(frame.scope, name))
        if here:
            self.ledger.leave([receiver, *values])
        for value in values:
            self.ledger.give(value, self.walk.when, soft=adds)  # what a list holds may be written in it
        if name in BEGINS and values and isinstance(values[0], RustTensor):
            return self.begun(code, node, name, generics, values, frame)
        return self.expected(expected, sources_of(receiver).union(*map(sources_of, values)), here=here)

    def _of_method(
        self, code: Code, name: str, receiver: Value, arguments: list[Node], frame: Frame, adds: bool
    ) -> list[Value]:
        """What a method takes, of which nothing was read before; a closure is run on some element."""
        values: list[Value] = []
        for one in arguments:
            if one.type == "closure_expression" and name in _APPLIES:
                with self.walk.perhaps():
                    values.append(self.closure(code, one, frame, receiver, None))
            else:
                kept = name in BEGINS or adds
                values += [self.value(code, one, frame, None)] if kept else self.handed(code, [one], frame)
        return values

    def _of_sequence(
        self, code: Code, name: str, receiver: Sequence, arguments: list[Node], frame: Frame, expected: Value | None
    ) -> tuple[Value | None, list[Value] | None]:
        """What the method gives, and its arguments where they were read: nothing is read twice."""
        if name in _APPLIES:
            closure = next((one for one in arguments if one.type == "closure_expression"), None)
            if closure is not None:
                wanted = expected.part if isinstance(expected, Sequence) else None
                if name == "fold" and len(arguments) == 2:
                    return self._folded(
                        code, closure, receiver, self.value(code, arguments[0], frame, None), frame
                    ), None
                return self._applied(code, name, closure, receiver, frame, wanted), None
        asked = receiver.part if name in _ADDS else None
        values = [self.merged(self.value(code, one, frame, asked), asked) for one in arguments]
        if name in _PICKS:
            at = values[0].single if name in ("get", "nth") and values and isinstance(values[0], Numbers) else None
            return self.one_of(receiver, {"first": 0, "last": -1}.get(name, at)), values
        made = reshaped_list(name, receiver, values)
        if made is None and (name in _ITERATES or name in _SAME or name in ("collect", "to_vec")):
            made = receiver
        return made, values

    def _applied(
        self, code: Code, name: str, closure: Node, receiver: Sequence, frame: Frame, wanted: Value | None
    ) -> Value:
        """What a closure makes of every element; one by one where the elements are known and differ."""
        plain = name != "map" or MOVES.search(closure.text or b"") is not None
        turns = receiver.items if plain else elements(receiver)
        turns = self.one_by_one(code, closure, receiver, frame) if name == "for_each" else turns
        each = name == "for_each" or (name == "map" and _consumed(code, closure, frame))
        with nullcontext() if receiver.count and each else self.walk.perhaps():
            if turns is not None and len(turns) <= MAX_EACH:
                return listed([self.closure(code, closure, frame, one, wanted) for one in turns])
            part = self.moving(receiver)
            loop = self.serial
            made = mapped(self.closure(code, closure, frame, part, wanted), loop, receiver.count)
            return made if name in ("map", "for_each") else loose(made)

    def _folded(self, code: Code, closure: Node, receiver: Sequence, begin: Value, frame: Frame) -> Value:
        """What a closure makes of all elements, one after the other, with what it made before."""
        turns, made = elements(receiver), begin
        if turns is None or len(turns) > MAX_EACH:
            turns, made = (), Unknown("what a fold has come to", code.span(closure))
            with self.walk.perhaps():
                self.closure(code, closure, frame, [made, self.moving(receiver)], None)
        for one in turns:
            made = self.closure(code, closure, frame, [made, one], None)
        return made

    def one_of(self, value: Sequence, at: int | None) -> Value:
        """An element of a list; any of them where the place is not known."""
        own = elements(value)
        if at is None or own is None:
            self.ledger.any_of(value, self.walk.when)
        return self.taken_out(element(value, at))

    def moving(self, value: Value) -> Value:
        """The values of a loop variable, told from those of other loops."""
        self.serial += 1
        if not isinstance(value, Sequence):
            return value
        self.ledger.any_of(value, self.walk.when)
        return self.taken_out(in_loop(value.part, -self.serial if value.falling else self.serial))


def _consumed(code: Code, closure: Node, frame: Frame) -> bool:
    """Whether an adapter with this closure stands before a method that takes every element; alone it runs nothing."""
    call = closure.parent.parent if closure.parent is not None else None
    outer = call.parent if call is not None else None
    field = outer.child_by_field_name("field") if outer is not None and outer.type == "field_expression" else None
    if outer is None or field is None or code.text(field) not in _CONSUMES:
        return False
    if code.text(field) not in ("collect", "sum", "product"):
        return True
    into = asked_type(outer)  # an `Option` or a `Result` ends with the first element that is none
    found = _TAKES_ALL.match(code.text(into)) if into is not None else None
    return found is not None and frame.scope.find(found[1]) is None
