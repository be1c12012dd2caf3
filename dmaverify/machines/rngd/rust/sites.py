"""Where transfers stand, and what every evaluation shares: sites, buffers, functions met, fields of values.

Knows: the sites of all transfers of the files that were read, which functions wait to be visited.
Does not know: calls (`functions`, `calls`), statements (`bodies`), rules.
Law: a call of a transfer in the text has one site, whether or not anything leads to it; in a macro's tokens too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dmaverify.errors import Span
from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.buffers import EffectLedger
from dmaverify.machines.rngd.rust.cfg import built
from dmaverify.machines.rngd.rust.code import in_build, named
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.impls import parameters_around
from dmaverify.machines.rngd.rust.in_text import TRANSFER_NAME, statement_around, transfers_called
from dmaverify.machines.rngd.rust.later import Later
from dmaverify.machines.rngd.rust.library import NEWEST, Library
from dmaverify.machines.rngd.rust.module import Item, NameScope
from dmaverify.machines.rngd.rust.moves import Site, resolve
from dmaverify.machines.rngd.rust.numbers import number_of
from dmaverify.machines.rngd.rust.paths import WayWalk
from dmaverify.machines.rngd.rust.types import Types
from dmaverify.machines.rngd.rust.values import (
    Buffer,
    Numbers,
    Opaque,
    Pending,
    Record,
    RustTensor,
    Sequence,
    Tuple,
    Unknown,
    Value,
    known,
    sources_of,
)
from dmaverify.program.ways import OnWay
from dmaverify.values import replace

if TYPE_CHECKING:
    from tree_sitter import Node

GROWN = "a list that begins without elements"
_DEVICE = re.compile(r"#\[\s*(?:\w+::)*device\b")
_DEVICE_SIZES = re.compile(r"\b(chip|pe)\s*=\s*([^,()]+)")


_TEST = re.compile(r"#\[\s*(?:(?:\w+::)*(?:\w*_|rs)?test(?:_\w+)?\s*[\](]|cfg\b.*\btest\b)", re.DOTALL)
_NUMBERS = {"usize", "u8", "u16", "u32", "u64", "u128", "isize", "i8", "i16", "i32", "i64", "i128", "bool"}


_OF_NUMBERS = re.compile(
    rf"(?:&\s*(?:'\w+\s*)?(?:mut\s)?|[\s\[(])*(?:(?:\w+::)*(?:Vec|Option|Range|RangeInclusive)\s*<\s*)?(?:{'|'.join(_NUMBERS)})"
    rf"(?:\s*[,;>\])]\s*(?:\d+|{'|'.join(_NUMBERS)})?)*"
)
"""A number, or a tuple, a list or a range of numbers."""


def is_kernel(item: Item) -> bool:
    """Whether a function is started by the host: `#[device(...)]`."""
    return any(_DEVICE.match(text) for text in item.attributes)


def is_host(item: Item) -> bool:
    """Whether a function runs on the host: it is `async`, a test, or `main`."""
    head = item.code.data[item.node.start_byte : item.node.start_byte + 80].split(b"fn ", 1)[0]
    return b"async" in head or item.name == "main" or any(_TEST.match(text) for text in item.attributes)


def open_device(attributes: tuple[str, ...]) -> str:
    """The size of a kernel's device that is no number."""
    every = (found for text in attributes if _DEVICE.match(text) for found in _DEVICE_SIZES.finditer(text))
    return next((found[0].strip() for found in every if not found[2].strip().isdecimal()), "")


def takes_numbers(item: Item) -> bool:
    parameters = item.node.child_by_field_name("parameters")
    types = [one.child_by_field_name("type") for one in parameters.named_children] if parameters is not None else []
    return any(one is not None and _OF_NUMBERS.fullmatch(item.code.text(one)) is not None for one in types)


def moves(item: Item) -> bool:
    """Whether a transfer stands in the text of a function."""
    return TRANSFER_NAME.search(item.code.data[item.node.start_byte : item.node.end_byte]) is not None


def told_by_calls(item: Item) -> list[str]:
    """The generic parameters that a call must tell before the function can be read."""
    names = [name for name, _ in item.generics]
    callables = item.callables if names else ()
    return [name for name in names if name not in callables]


def waits_for_a_caller(item: Item) -> bool:
    """Whether what a function does is known only where somebody calls it: it is generic, or a helper with numbers or
    in a generic `impl`.
    """
    return bool(item.generics) or (not is_kernel(item) and (takes_numbers(item) or bool(parameters_around(item))))


class Sites:
    """The part of reading that all others share."""

    def __init__(self, library: Library = NEWEST) -> None:
        self.library = library
        self.types = Types()
        self.sites: list[Site] = []
        self.by_place: dict[tuple[Any, ...], Site] = {}
        self.waiting: list[tuple[Item, dict[str, Value], Value | None, str]] = []
        self.asked: set[tuple[Item, str]] = set()
        self.lacking: dict[Any, tuple[Item, dict[str, Value], Value | None, str]] = {}  # calls with unknown arguments
        self.later: dict[Item, Item] = {}
        self.visited: set[Item] = set()
        self.blocks: dict[tuple[Code, int, int, NameScope], NameScope] = {}
        self.depth = self.serial = self.expansions = self.spent = 0
        self.stack: list[Item] = []  # functions that are being read, the innermost last
        self.nothing: list[OnWay] = []  # on which ways the function that is being read gives `None` or an error
        self.absent: dict[int, tuple[Value, tuple[OnWay, ...]]] = {}  # values that are that, and on which ways
        self.perhaps_none: dict[int, Value] = {}  # what calls gave, and parts of what is not followed
        self.followed = False  # whether what a function gave is among them
        self.stopper_handed_on = False  # whether a function that may stop was named as a value
        self.entered: set[Item] = set()  # functions that were read with the arguments of a call
        self.result: Value | None = None
        self.returned: list[Value] = []  # by `return`, of the function that is being read
        self.instance, self.let = "", ""
        self.item: Item | None = None
        self.left: dict[Item, Item] = {}  # functions that this build does not have
        self.unbuilt: list[tuple[Span, str]] = []  # statements that it does not have, and the condition
        self.unrolled = self.unrolling = 0
        self.counters: dict[int, Any] = {}  # where variables that change begin
        self.declared: dict[Item, dict[str, list[Any]]] = {}  # of functions in which conditions were met
        self.closures: dict[int, tuple[Code, Node, Frame]] = {}
        self.decided: dict[str, tuple[str, int]] = {}  # the first decision with a text, and where it stands
        self.closing: list[str] = []  # closures that are being read
        self.kept: list[Value] = []  # what `counters` and `closures` know by its identity
        self.structs: dict[tuple[int, Item, str], int] = {}  # buffers of fields, by the instance of their struct
        self.foreign: set[int] = set()  # instances of structs that something gives which is not followed
        self.elements: set[int] = set()  # and those that stand for every element of a list
        self.relied: set[Item] = set()  # functions whose own verdicts callers rely on
        self.crowded: set[str] = set()  # functions called with more sets of arguments than are visited
        self.ledger = EffectLedger()
        self.walk = WayWalk()
        self.free: dict[int, Value] = {}  # parameters that may have any value of their type
        self.scalars: dict[int, str] = {}  # numbers and truths of parameters: the type of each
        self.meant: dict[int, Any] = {}  # what a value is by a question over others
        self.roots: dict[int, Frame] = {}  # the readings of functions that questions name
        self.counts: dict[int, Any] = {}  # how many elements lists have, as terms, by their identity
        self.live: dict[str, Numbers | None] = {}  # numbers that the loop that is read turn by turn changes
        self.dead = ""  # why what is read does not run
        self.later_uses = Later()  # of the function that is being visited

    # what the parts that stand on this one add
    value: Callable[[Code, Node, Frame, Value | None], Value]
    closure: Callable[[Code, Node, Frame, Value | list[Value], Value | None], Value]
    known_as: Callable[[Code, Node, Value, Frame], Value]
    merged: Callable[[Value, Value | None], Value]
    fitted: Callable[[Numbers, Value | None], Value]
    built: Callable[[Code, Node, Frame], list[tuple[Node, str]]]
    inlines: Callable[[Item, Mapping[str, Value], list[Value]], bool]
    judged_alone: Callable[[Item, list[Value]], bool]
    number_given: Callable[[Item, Mapping[str, Value], Value | None, list[Value], Value], Value | None]
    inlined: Callable[[Item, dict[str, Value], Value | None, list[Value], str], Value]
    transfer_call: Callable[..., Value]
    one_by_one: Callable[..., tuple[Value, ...] | None]

    def _rest(self, code: Code, node: Node, frame: Frame) -> Value:
        """Anything else: its parts are visited."""
        deps: frozenset[int] = frozenset()
        for one in named(node):
            deps |= sources_of(self.value(code, one, frame, None))
        return Opaque("", deps)

    def discover(self, code: Code, tree: Node) -> None:
        """Makes a site of every transfer call in the text, in macros too (but not in their definitions)."""
        for node, around in transfers_called(code, tree):
            self.site(code, node, around)

    def site(self, code: Code, name: Node, around: tuple[Span, int] | None = None) -> Site:
        """The site of a call, by the place of the method's name; `around` is its statement and where its function
        begins, where that is known already.
        """
        span = code.span(name)
        key = (span.source.name, span.start) if code.at is None else (code.origin, code.character(name.start_byte))
        if key not in self.by_place:
            made = self.enter(key, Site(len(self.sites), code.text(name), span))
            made.statement, made.function_line = around or statement_around(code, name, None)
        return self.by_place[key]

    def enter(self, key: tuple[Any, ...], site: Site) -> Site:
        self.by_place[key] = site
        self.sites.append(site)
        return site

    def attributes_of(self, item: Item) -> tuple[str, ...]:
        """The attributes of a function; the sizes of its device as numbers, where they are known."""

        def told(found: re.Match[str]) -> str:
            value = number_of(found[2], self.types.look(Frame(item.scope)))
            return f"{found[1]} = {value.low}" if value is not None and value.single is not None else found[0]

        return tuple(_DEVICE_SIZES.sub(told, text) if _DEVICE.match(text) else text for text in item.attributes)

    def leave_unbuilt(self, span: Span, condition: str) -> None:
        """Enters code that this build does not have: it says nothing of what this build does."""
        self.unbuilt.append((span, condition))

    def listed_here(self, code: Code, node: Node, frame: Frame) -> tuple[list[Node], Unknown | None]:
        """The parts of a list (elements, arguments) that this build has; not known where only the compiler tells."""
        told = in_build(code, node.named_children, frame.scope.module.features)
        for one, attributes, there in told:
            if there is False:
                features = frame.scope.module.features
                self.leave_unbuilt(code.span(one), next(text for text in attributes if built(text, features) is False))
        lone = next((one for one, _, there in told if there is None), None)
        open_ = Unknown("only the compiler knows whether the build has this", code.span(lone)) if lone else None
        return [one for one, _, there in told if there is not False], open_

    def found(self, item: Item) -> None:
        """A function that was met: to be visited now or, where it is generic, when somebody calls it."""
        if item.left_out:
            self.left[item] = item
            return
        if item in self.visited or item in self.later:
            return
        self.later[item] = item
        if not waits_for_a_caller(item):
            self.waiting.append((item, {}, self._self_of(item), ""))

    def _self_of(self, item: Item) -> Value | None:
        """The struct whose method a function is."""
        node = item.node.parent
        while node is not None and node.type not in ("impl_item", "trait_item", "mod_item", "function_item"):
            node = node.parent
        if node is None or node.type != "impl_item":
            return None
        frame = Frame(item.scope, parameters_around(item))
        made = self.types.read(item.code, node.child_by_field_name("type"), frame)
        return made if isinstance(made, (Record, RustTensor)) else None

    def fresh(self, wanted: RustTensor, sources: frozenset[int], name: str = "") -> RustTensor:
        """A new tensor of a type."""
        self.serial += 1
        made = Buffer(self.serial, name or self.let, True, wanted.span)
        return replace(wanted, sources=sources, buffer=made, holds=None)

    def received(self, wanted: RustTensor, sources: frozenset[int], *, here: bool) -> RustTensor:
        """A tensor of a type that something gives which is not followed: it may be one that nobody wrote."""
        made = self.fresh(wanted, sources)
        self.ledger.receive(made, here=here)
        return made

    def unfollowed(self, wanted: Value) -> Value:
        """What is known by its type alone: its tensors are received."""
        match wanted:
            case RustTensor():
                return self.received(wanted, frozenset(), here=True)
            case Tuple(parts):
                return Tuple(tuple(map(self.unfollowed, parts)))
            case Sequence(part):
                return self.any_element(wanted, self.unfollowed(part))
            case Record():
                return self.instance_of(wanted, foreign=True)
            case _:
                return wanted

    def any_element(self, whole: Sequence, one: Value) -> Sequence:
        """A list of which each element is like `one`, but one of its own: what is written of one is not of another."""
        self.ledger.lose(one)
        self.elements |= {one.serial} if isinstance(one, Record) else set()
        return replace(whole, part=one)

    def filled_list(self, wanted: Value | None) -> Value:
        """A list that begins without elements: whatever is put into it is asked to be written where that happens."""
        if not isinstance(wanted, Sequence):
            return Opaque(GROWN)
        one = wanted.part
        made = self.fresh(one, frozenset()) if isinstance(one, RustTensor) else self.unfollowed(one)
        return self.any_element(wanted, made)

    def perhaps_something(self, value: Value) -> Value:
        """A value that is not followed, and may be `None` or an error."""
        self.perhaps_none[id(value)] = value
        return value

    def taken_out(self, value: Value) -> Value:
        """A part of a list, a struct or a tuple: where nothing is known of it, it may be `None`."""
        known_as = (self.absent, self.meant, self.scalars, self.free)
        open_ = isinstance(value, (Unknown, Opaque)) and not any(id(value) in one for one in known_as)
        return self.perhaps_something(value) if open_ else value

    def settled(self, value: Value, expected: Value | None) -> Value:
        """A pending transfer with the type that its place expects."""
        if isinstance(value, Pending) and isinstance(expected, RustTensor):
            site = self.sites[value.site]
            made = resolve(site, expected)
            return made if made is not None else value
        if isinstance(value, Tuple) and isinstance(expected, Tuple) and len(value.parts) == len(expected.parts):
            return Tuple(tuple(self.settled(a, b) for a, b in zip(value.parts, expected.parts, strict=True)))
        return value

    def part(self, value: Value, name: str, code: Code, node: Node) -> Value:
        """A field of a tuple or struct."""
        if isinstance(value, Tuple) and name.isdecimal() and int(name) < len(value.parts):
            return value.parts[int(name)]
        if isinstance(value, Record):
            if name in value.parts:
                return value.parts[name]
            return self._field(value, name, code, node)
        if isinstance(value, Opaque):
            return self.perhaps_something(Opaque("", value.sources))
        if isinstance(value, Unknown) and value.reason:
            return self.taken_out(value)
        return self.perhaps_something(Unknown(f"nothing is known of the field `{name}`", code.span(node)))

    def _field(self, record: Record, name: str, code: Code, node: Node) -> Value:
        item = record.item
        body = item.node.child_by_field_name("body")
        told = in_build(item.code, body.children if body is not None else (), item.scope.module.features)
        fields = [
            (one, sure)
            for one, _, sure in told
            if sure is not False and one.is_named and one.type != "visibility_modifier"
        ]
        if body is not None and body.type == "ordered_field_declaration_list":
            at = int(name) if name.isdecimal() else len(fields)
            found = [] if None in [sure for _, sure in fields] else [one for one, _ in fields[at : at + 1]]
        else:
            with_names = [(one, one.child_by_field_name("name")) for one, _ in fields]
            found = [one for one, own in with_names if own is not None and item.code.text(own) == name]
        if len(found) != 1:
            why = "whose type hangs on the build" if found or None in [sure for _, sure in fields] else ""
            return Unknown(f"`{item.name}` has {'a' if why else 'no'} field `{name}` {why}".rstrip(), code.span(node))
        declared = found[0].child_by_field_name("type") if found[0].type == "field_declaration" else found[0]
        return self._owned(record, name, self.types.read(item.code, declared, Frame(item.scope, record.arguments)))

    def _owned(self, record: Record, name: str, value: Value) -> Value:
        """A field that is a tensor is one buffer of its own, however often it is named; of an instance that is not
        followed somebody else may write it.
        """
        if not isinstance(value, (RustTensor, Record)):
            return value
        key = (record.serial, record.item, name)
        number = self.structs.setdefault(key, -1 - len(self.structs))
        if isinstance(value, Record):
            for kind in (self.foreign, self.elements):
                kind |= {number} if record.serial in kind else set()
            return replace(value, serial=number if record.serial else 0)
        made = replace(value, buffer=Buffer(number, name))
        if not record.serial or record.serial in self.elements:
            self.ledger.lose(made)
        if record.serial in self.foreign:
            self.ledger.receive(made, here=True)
        return made

    def expected(self, expected: Value | None, sources: frozenset[int], *, here: bool = False) -> Value:
        """The result of something that is not understood: what its place expects; `here`: nothing foreign gives it."""
        if isinstance(expected, RustTensor):
            return self.received(expected, sources, here=here)
        if isinstance(expected, Tuple):
            return Tuple(tuple(self.expected(part, sources, here=here) for part in expected.parts))
        if isinstance(expected, Opaque) or not known(expected) or expected is None:
            return Opaque(expected.what if isinstance(expected, Opaque) else "", sources)
        return self.unfollowed(expected)

    def instance_of(self, record: Record, *, foreign: bool = False) -> Record:
        """A struct with buffers of its own; `foreign`: of something that is not followed."""
        self.serial += 1
        self.foreign |= {self.serial} if foreign else set()
        return replace(record, serial=self.serial)
