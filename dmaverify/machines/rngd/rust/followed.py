"""A kernel in Rust followed for all that it does: its transfers in the order of the text, loops turn by turn.

Knows: which parts of Rust do no more than to name tensors, their windows and numbers; branches that are decided
by what is supposed of the numbers that it is given. Does not know: addresses, what is left in memory.
Law: what is read is exactly these parts; anything else that a function runs (a branch that is not decided, the Tensor
Unit, a call that is not followed, a macro) leaves it `open`, with its place. A tensor is the buffer that it is in and
the window that it shows; that of a transfer whose result nothing annotates is open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dmaverify.errors import InputError, Span, did_you_mean
from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.asked_terms import RANGES
from dmaverify.machines.rngd.rust.calls import TILES
from dmaverify.machines.rngd.rust.crate import Crate, crate_of
from dmaverify.machines.rngd.rust.flow import ITEMS
from dmaverify.machines.rngd.rust.followable import NAMES, adapts, is_followed
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.impls import methods_named
from dmaverify.machines.rngd.rust.library import Library
from dmaverify.machines.rngd.rust.module import Item
from dmaverify.machines.rngd.rust.moves import GATHERS, SCATTERS, SIMPLE, TRANSFERS, VIEWS, Site
from dmaverify.machines.rngd.rust.operations import Operations
from dmaverify.machines.rngd.rust.sites import is_kernel, open_device
from dmaverify.machines.rngd.rust.terms import KernelTerms
from dmaverify.machines.rngd.rust.values import (
    Dtype,
    Numbers,
    Opaque,
    Pipeline,
    RustTensor,
    Tuple,
    Unknown,
    Value,
)
from dmaverify.program.ways import ANY, SOME, OnWay, WayChoice, WayTerm
from dmaverify.prove.flow.accesses.way_conditions import impossible
from dmaverify.values import dataclass, field, replace

if TYPE_CHECKING:
    from tree_sitter import Node

_VIEWS = ("view", "view_mut", "reshape", *TILES)
_MACROS = ("m", "axes")
_MOVES = (*SIMPLE[:2], *VIEWS)
_CONTEXT = re.compile(r"\bContext$")
_CONTEXTS = re.compile(r"(?:&\s*mut\s+)?\w+(?:\.(\w+))?")
_CFG = re.compile(r"\bcfg(?:_attr)?\b(?!\s*\(\s*test\s*\))")


@dataclass(frozen=True, slots=True)
class FollowedMove:
    """One transfer: what it reads, what it writes."""

    site: Site
    source: RustTensor
    dest: RustTensor

    @property
    def name(self) -> str:
        return f"line {self.site.span.line}"


@dataclass
class FollowedKernel:
    """A kernel: tensors that it is given, transfers, tensors that it gives; `open` says why these are not all, `beyond`
    what it does besides that is no transfer of a plan. `terms` have all of it.
    """

    item: Item
    library: Library
    numbers: list[tuple[str, str]] = field(default_factory=list)  # that it is given: the name and the type of each
    asked: WayTerm | None = None  # what a branch asks of them that is not decided
    given: list[tuple[str, RustTensor]] = field(default_factory=list)
    moves: list[FollowedMove] = field(default_factory=list)
    gives: list[RustTensor] = field(default_factory=list)
    terms: KernelTerms = field(default_factory=KernelTerms)
    sites: list[Site] = field(default_factory=list)  # all transfers that run
    beyond: str = ""
    open: str = ""
    span: Span | None = None

    @property
    def device(self) -> list[str]:
        """What its attributes say of the device that it runs on."""
        return ["".join(text.split()) for text in self.item.attributes if "device" in text]


class KernelFollower(Operations):
    """Reads one function for all that it does."""

    def __init__(
        self, library: Library, kernel: FollowedKernel, numbers: Sequence[int], supposed: Sequence[WayTerm]
    ) -> None:
        super().__init__(library)
        self.kernel, self.numbers, self.supposed = kernel, numbers, supposed
        self.places: dict[int, int] = {}  # which number it is that the kernel is given, by what stands for it
        self.read_in: list[Item] = []  # functions that were read where they are called
        self.touched_now: tuple[Value, tuple[Value, ...]] = (Opaque(), ())

    def leave_open(self, code: Code, node: Node, why: str) -> None:
        """Says why what the kernel does is not all known, once."""
        if not self.kernel.open and not self.dead and not self.hushed:
            self.kernel.open, self.kernel.span = why, code.span(node)

    def number_at(self, value: Value) -> int | None:
        """Which number it is that the kernel is given."""
        return self.places.get(id(value))

    def moved(self, site: Site, source: RustTensor, dest: RustTensor) -> None:
        """Enters what the Tensor Unit moves and leaves as it is."""
        self.kernel.moves.append(FollowedMove(site, source, dest))

    def go_beyond(self, code: Code, node: Node, why: str) -> None:
        """Says what a kernel does that no transfer of a plan does, once."""
        if not self.kernel.beyond:
            self.kernel.beyond, self.kernel.span = why, code.span(node)

    # ------------------------------------------------------------ the function

    def _visit_function(self, item: Item, generics: dict[str, Value], own: Value | None, instance: str) -> None:
        self.kernel.given, self.kernel.moves, self.kernel.gives, self.kernel.numbers = [], [], [], []
        self.kernel.asked = None
        self.kernel.open, self.kernel.span, self.kernel.beyond, self.kernel.sites = "", None, "", []
        self.kernel.terms = self.terms = KernelTerms()
        super()._visit_function(item, generics, own, instance)

    def any_given(self, item: Item, node: Node, name: str, value: Value) -> Value:
        made, at = super().any_given(item, node, name, value), len(self.kernel.numbers)
        if not isinstance(value, Dtype) or value.name not in RANGES:
            return made
        self.kernel.numbers.append((name, value.name))
        if at < len(self.numbers):
            return Numbers(self.numbers[at], self.numbers[at], type=value.name)
        self.places[id(made)] = at
        return made

    def allocated(self, value: Value, name: str, code: Code, node: Node, fresh: bool = False) -> Value:
        made = super().allocated(value, name, code, node, fresh)
        if not self.stack:  # a parameter of the function, or a part of one, in their order
            declared = node.child_by_field_name("type")
            if isinstance(made, RustTensor) and made.buffer is not None and not made.missing:
                serial = made.buffer.serial
                self.terms.holds[serial] = self.terms.term("given", len(self.kernel.given))
                self.kernel.given.append((name, made))
                if made.view:
                    self.go_beyond(code, node, f"`{name}` is a view of a tensor that is not known")
            elif isinstance(made, Numbers) or id(made) in self.places:
                pass
            elif not isinstance(made, Tuple) and not (declared and _CONTEXT.search(code.text(declared))):
                self.leave_open(code, node, f"`{name}` is neither a whole tensor nor a context")
        return made

    def _given_by(self, item: Item, body: Node, frame: Frame, instance: str) -> Value:
        outermost = not self.stack
        found = super()._given_by(item, body, frame, instance)
        if outermost:
            result = item.node.child_by_field_name("return_type")
            self._result_of(item.code, body, found if result is not None else Opaque("()"))
        return found

    def _result_of(self, code: Code, body: Node, value: Value) -> None:
        for one in value.parts if isinstance(value, Tuple) else (value,):
            if isinstance(one, RustTensor) and one.buffer is not None and not one.view and not one.window.tiled:
                self.kernel.gives.append(one)
            elif not (isinstance(one, Opaque) and one.what == "()"):
                self.leave_open(code, body, "what it gives back is no tensor that is known as a whole")

    # ------------------------------------------------------------ branches

    def _arms(
        self, code: Code, arms: list[tuple[Node | None, Frame]], taken: int | None,
        choices: Sequence[WayChoice | OnWay], expected: Value | None, why: str,
    ) -> Value:  # fmt: skip
        node = next((arm for arm, _ in arms if arm is not None), None)
        if taken is None and node is not None:
            terms = [self._of_numbers(_asked_by(one)) for one in choices]
            decided = [self._decided(one) if one is not None else None for one in terms]
            taken = decided.index(True) if True in decided else None
            if taken is None:
                open_ = (one for one, told in zip(terms, decided, strict=True) if told is None)
                self.kernel.asked = self.kernel.asked or (next(open_, None) if None not in terms else None)
                self.leave_open(code, node, "a branch that is not decided")
        return super()._arms(code, arms, taken, choices, expected, why)

    def _of_numbers(self, term: WayTerm | None) -> WayTerm | None:
        """A term over the numbers that the kernel is given, by their places; None where it is of something else."""
        if term is None or term.op == SOME:
            return None
        if term.op == ANY:
            return replace(term, value=self.places[term.value]) if term.value in self.places else None
        parts = [self._of_numbers(one) for one in term.parts]
        known = tuple(one for one in parts if one is not None)
        return replace(term, parts=known) if len(known) == len(parts) else None

    def _decided(self, term: WayTerm) -> bool | None:
        """Whether a truth holds where all that is supposed does."""
        if impossible((*self.supposed, term)):
            return False
        return True if impossible((*self.supposed, term.negated())) else None

    # ------------------------------------------------------------ transfers

    def _effects(self, site: Site, receiver: Value, values: tuple[Value, ...]) -> None:
        self.touched_now = receiver, values
        super()._effects(site, receiver, values)

    def transfer_call(
        self, code: Code, node: Node, name: Node, receiver: Value, generics: tuple[Value, ...], arguments: list[Node],
        frame: Frame, expected: Value | None,
    ) -> Value:  # fmt: skip
        keys = [self.key_of(code, one, frame) for one in arguments]
        made = super().transfer_call(code, node, name, receiver, generics, arguments, frame, expected)
        site, method = self.site(code, name), code.text(name)
        if self.dead or self.walk.dead:  # nothing gets here
            return made
        given, values = self.touched_now
        tensors = [value for value in values if isinstance(value, RustTensor)]
        into = method in (*VIEWS, *SCATTERS)
        dest: Value = (tensors[-1] if tensors else Unknown("")) if into else made
        index = tensors[:1] if method in (*GATHERS, *SCATTERS) else []
        sides = [given, *index, dest]
        known = [one for one in sides if isinstance(one, RustTensor) and not one.missing]
        if not self.walk.when.always or self.walk.turns:
            self.leave_open(code, node, f"`{method}` may run, or not")
        elif len(known) < len(sides):
            why = next((w.reason for w in sides if isinstance(w, Unknown) and w.reason), "")
            self.leave_open(code, node, why or f"the tensors of `{method}` are not all known: annotate its result")
        elif problem := next((one for side in known for one in side.problems), None):
            self.leave_open(code, node, problem.message)
        elif any(side.buffer is None or side.window.open for side in known):
            self.leave_open(code, node, f"where a window of `{method}` starts is not known")
        else:
            self.kernel.sites.append(site)
            if method in _MOVES:
                self.kernel.moves.append(FollowedMove(site, known[0], known[-1]))
            else:
                self.go_beyond(code, node, f"`{method}` is not compared")
            words = [
                key or self._context(code, one, value)
                for one, key, value in zip(arguments, keys, values, strict=True)
                if not isinstance(value, RustTensor)
            ]
            self.transferred(code, node, method, known, (() if method in _MOVES else generics, words), fresh=not into)
        return made

    def _context(self, code: Code, node: Node, value: Value) -> str:
        """Which context of the kernel's an argument is."""
        found = _CONTEXTS.fullmatch(code.text(node))
        if found is None or not isinstance(value, (Opaque, Unknown)):
            self.leave_open(code, node, "an argument of a transfer that is not followed")
        return found[1] if found is not None else ""

    # ------------------------------------------------------------ what is followed

    def _value(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        if node.type == "const_block":  # the compiler has run it
            with self.hush():
                return super()._value(code, node, frame, expected)
        told = node.type in NAMES or node.type in ITEMS or self.key_of(code, node, frame) is not None
        found = super()._value(code, node, frame, expected)
        if not told and not is_followed(code, node, found, self.live):
            self.leave_open(code, node, f"code that is not followed: {node.type.replace('_', ' ')}")
        return found

    def _of_tensor(
        self, code: Code, node: Node, name: str, tensor: RustTensor, generics: tuple[Value, ...], arguments: list[Node],
        frame: Frame, expected: Value | None,
    ) -> Value | None:  # fmt: skip
        if name not in _VIEWS:
            self.leave_open(code, node, f"`.{name}()` of a tensor is not followed")
        return super()._of_tensor(code, node, name, tensor, generics, arguments, frame, expected)

    def _other(
        self, code: Code, node: Node, name: str, receiver: Value, generics: Node | None, arguments: list[Node],
        frame: Frame, expected: Value | None,
    ) -> Value:  # fmt: skip
        many = len(self.read_in)
        found = super()._other(code, node, name, receiver, generics, arguments, frame, expected)
        told = (
            isinstance(receiver, Pipeline) or isinstance(found, Pipeline) or self.key_of(code, node, frame) is not None
        )
        told = told or (isinstance(receiver, Numbers) and isinstance(found, Numbers))
        each = name != "for_each" or (arguments and arguments[0].type == "closure_expression" and self.few(receiver))
        told = told or (bool(each) and not methods_named(frame.scope, name) and adapts(name, receiver, found))
        if len(self.read_in) == many and not told:
            self.leave_open(code, node, f"`.{name}()` is not followed")
        return found

    def _path_call(
        self, code: Code, node: Node, function: Node, generics: Node | None, arguments: list[Node], frame: Frame,
        expected: Value | None,
    ) -> Value:  # fmt: skip
        many, made_before = len(self.read_in), self.ledger.empty.copy()
        found = super()._path_call(code, node, function, generics, arguments, frame, expected)
        name = code.text(function).split("::")[-1].split("<")[0].strip()
        fresh = isinstance(found, RustTensor) and found.buffer is not None and name == "new" and not arguments
        fresh = fresh and bool(self.ledger.empty - made_before)
        told = isinstance(found, Numbers) or self.key_of(code, node, frame) is not None
        if name not in TRANSFERS and not fresh and len(self.read_in) == many and not told:
            self.leave_open(code, node, f"`{code.text(function)}` is a call that is not followed")
        return found

    def inlined(
        self, item: Item, bound: dict[str, Value], own: Value | None, values: list[Value], instance: str
    ) -> Value:
        self.read_in.append(item)
        return super().inlined(item, bound, own, values, instance)

    def _macro_invocation(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        name = node.child_by_field_name("macro")
        called = code.text(name) if name is not None else ""
        if called not in _MACROS or frame.scope.macro(called) is not None:
            self.leave_open(code, node, f"the macro `{called}!`, which is not followed")
        return super()._macro_invocation(code, node, frame, expected)

    def one_by_one(
        self, code: Code, body: Node, each: Value, frame: Frame, pattern: str = ""
    ) -> tuple[Value, ...] | None:
        return self.few(each)

    def _turns(
        self, code: Code, body: Node, inside: Frame, around: Frame, label: str, runs: WayChoice | None,
        count: int = 0,
    ) -> list[OnWay]:  # fmt: skip
        self.leave_open(code, body, "a loop of many turns, or of nobody knows how many")
        return super()._turns(code, body, inside, around, label, runs, count)

    def leave_unbuilt(self, span: Span, condition: str) -> None:
        self.kernel.open = self.kernel.open or f"what the build has is a question here: {condition}"
        super().leave_unbuilt(span, condition)


def _asked_by(choice: WayChoice | OnWay) -> WayTerm | None:
    """What an arm asks of the numbers of a run; None where that is not known."""
    if isinstance(choice, WayChoice):
        return choice.asks[choice.arm] if choice.asks else None
    parts = [_asked_by(one) for one in choice.path]
    outs = [_asked_by(one) for one in choice.exits]
    if None in (*parts, *outs):
        return None
    return WayTerm("and", (*(one for one in parts if one), *(one.negated() for one in outs if one)))


def followed_kernel(
    path: str, name: str, numbers: Sequence[int] = (), supposed: Sequence[WayTerm] = ()
) -> FollowedKernel:
    """The function of a file of that name, the only kernel where none is named; with these `numbers`, or any of which
    holds what is `supposed`, each by its place among them. Raises InputError.
    """
    file = Path(path)
    root, entry = crate_of(file)
    crate = Crate(root, entry, file.is_absolute(), {file.resolve(): path})
    scope, code, tree = crate.at(file)
    inner = [scope]
    for one in inner:
        inner += one.inline
    items = [item for one in inner for item in one.functions if item.kind == "fn" and item.code is code]
    known = [item for item in items if is_kernel(item)] or items
    found = [item for item in items if item.name == name] if name else known
    if len(found) != 1:
        names = list(dict.fromkeys(item.name for item in known))
        if not names:
            raise InputError(f"{path} has no function", None, "a kernel is a function with transfers")
        near = did_you_mean(name, [item.name for item in items]) if name and not found else None
        said = f"{path} has no function `{name}`" if name and not found else f"{path} has several functions"
        raise InputError(said, None, near or f"name one: {path}::{names[0]}")
    item = found[0]
    kernel = FollowedKernel(item, crate.library)
    if item.generics:
        kernel.open = f"`{name or item.name}` is generic"
        return kernel
    reader = KernelFollower(crate.library, kernel, numbers, supposed)
    reader.discover(code, tree)
    reader.visited.add(item)
    try:
        reader.function(item, {}, None)
    except RecursionError:
        kernel.open = f"`{item.name}` nests too deep to be read"
    body = item.node.child_by_field_name("body")
    if body is None or body.has_error or tree.has_error:
        kernel.open = kernel.open or f"a part of {path} cannot be read as Rust"
    if said := open_device(tuple(item.attributes)):
        kernel.open = kernel.open or f"`{said}` of the device is no number"
    if any(_CFG.search(one.source.text) for _, one, _ in crate.read.values()):
        kernel.open = kernel.open or "what the build has is decided by `cfg`"
    return kernel
