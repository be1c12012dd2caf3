"""A function of a driver followed for all that it does: what it launches, what is complete then, what else it calls.

Knows: what of a run a caller, another core or another file may see. Does not know: whether two runs do the same.
Law: whatever a function does besides launches, waits and arithmetic on its own variables is an act, in order, or leaves
the run `open`. Each act holds which launches are known to be complete when it begins, so that two ways to wait for the
same are one. Nothing is guessed of a value that is not read: it is a symbol where both of two functions mean the same
by it (a parameter by its place, what a function of the runtime gives by how often it was called), else the run is open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dmaverify.errors import Span
from dmaverify.machines.idma.c.accesses import apart
from dmaverify.machines.idma.c.aggregates import ObjectPlace, WholeObject
from dmaverify.machines.idma.c.arguments import Arguments, Stopped
from dmaverify.machines.idma.c.code import Part, declared
from dmaverify.machines.idma.c.driver import FunctionOfFile, entry_of
from dmaverify.machines.idma.c.foreign import Ranges
from dmaverify.machines.idma.c.loops import LoopRunner
from dmaverify.machines.idma.c.names import OF_A_CORE, OTHER_ROLE, ROLE, UNREAD
from dmaverify.machines.idma.c.numbers import CType, Value
from dmaverify.machines.idma.text import Image, ToldDescriptor
from dmaverify.prove.sizes.rounds import LoopCut, LoopRounds
from dmaverify.values import dataclass, field

_PARAMETER, _RESULT = -1000, -500
"""Where symbols are met that two functions share: parameters, by their place, and results, by how often."""
_QUERIES = frozenset((*OF_A_CORE, ROLE, OTHER_ROLE))
"""They do nothing, and give the same each time that a core asks."""
ROUND = "a round"
_ONE_LAUNCH = ("snrt_dma_wait", "snrt_dma_wait_channel")


@dataclass(frozen=True, slots=True)
class DriverAct:
    """A launch (its number), or a call of what is not read: its name with the values that it is given.

    `complete` are the launches that are known to be complete when it begins, `before` the channels (None: all) whose
    launches by callers are.
    """

    launch: int | None
    called: str = ""
    given: tuple[object, ...] = ()
    complete: frozenset[int] = frozenset()
    before: frozenset[int | None] = frozenset()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DriverRun:
    """A run of a function: its acts, the last one being its end; `open` says why these are not all that it does."""

    name: str
    image: Image
    acts: tuple[DriverAct, ...]
    open: str = ""
    span: Span | None = field(default=None, compare=False)
    conditions: tuple[str, ...] = ()
    loops: tuple[LoopRounds, ...] = ()  # parts of loops of which two rounds stand for all
    stopped: bool = False


class _ByOrder(dict[tuple[int, int], LoopCut]):
    """How loops are looked at, by the order in which they are met: that of the one function is that of the other."""

    def __init__(self, cuts: Mapping[tuple[int, int], LoopCut]) -> None:
        super().__init__(cuts)
        self.met: dict[tuple[int, int], tuple[int, int]] = {}

    def get(self, key: tuple[int, int], default: object = None) -> LoopCut:
        own = self.met.setdefault(key, (-1, len(self.met)))
        return super().get(own, LoopCut(own))


@dataclass
class SharedArguments(Arguments):
    """The symbols of one of two functions that are compared; `lost` is told of each that only this one can mean."""

    lost: Callable[[str], None] = field(default=lambda name: None)

    def _alike(self, name: str, type_: CType, at: int) -> bool:
        """Whether a symbol that both mean is of one type in both."""
        kind = type_.bits, type_.signed, type_.pointer
        return self.symbols.kinds.setdefault((name, at), kind) == kind

    def fresh(self, name: str, type_: CType, at: int) -> Value:
        if at > _RESULT or not self._alike(name, type_, at):
            self.lost(name)
        return super().fresh(name, type_, at)

    def same(
        self, name: str, type_: CType, key: str = "", least: int | None = None, *, each: bool = False, long: int = 0
    ) -> Value:
        if "->" in name and key:  # memory behind a pointer: what is read there, whatever the pointer is called
            taken = {other for own, other in self.symbols.behind.items() if own != key}
            while name in taken:
                name += "'"
            name = self.symbols.behind.setdefault(key, name)
        elif name.removesuffix("()") not in _QUERIES:
            self.lost(name)
        if not self._alike(name, type_, 0):
            self.lost(name)
        return super().same(name, type_, key, least, each=each, long=long)


class FollowedDriver(LoopRunner):
    """A launcher that puts down what else a function does, or why that is not known."""

    named_there: Sequence[str] = ()
    """What the parameters of the function are called in the other one."""

    def fresh(self) -> None:
        super().fresh()
        self.acts: list[DriverAct] = []
        self.opened: tuple[str, Span | None] | None = None
        self.calling: list[tuple[str, list[object]]] = []
        self.gives: Value | None = None
        self.served: set[int] = set()  # pages of registers that launched

    def leave_open(self, part: Part | None, why: str) -> None:
        """Says why what the function does is not all known, once."""
        if self.opened is None:
            self.opened = why, None if part is None else part.span

    def lost(self, name: str) -> None:
        self.leave_open(None, f"`{name}` has a value that this file does not give")

    # ------------------------------------------------------------ acts

    def _act(self, launch: int | None, part: Part | None, called: str = "", given: Sequence[object] = ()) -> None:
        behind = frozenset([None] if self.waits else (channel for _, channel in self.partly))
        span = None if part is None else part.span
        self.acts.append(DriverAct(launch, called, tuple(given), self.completed_now(), behind, span))

    def added(self, told: ToldDescriptor, at: Part) -> Value:
        many = len(self.told)
        found = super().added(told, at)
        if len(self.told) > many:
            self._act(many, at)
        return found

    def called(self, call: Part, name: str, arguments: list[Part]) -> Value:
        if name in self.calls_read or name in self.file.functions or name in _QUERIES or name.startswith(UNREAD):
            return super().called(call, name, arguments)
        self.calling.append((name, []))
        found = super().called(call, name, arguments)
        _, given = self.calling.pop()
        self._act(None, call, f"{name}()", given)
        return found

    def _handed(self, argument: Part) -> Value:
        found = super()._handed(argument)
        if self.calling:
            self.calling[-1][1].append(self._told_value(argument, found))
        return found

    def _told_value(self, part: Part, value: Value) -> object:
        if part.type == "string_literal":
            return f"{part}"
        if value.launch is not None:
            return f"launch {value.launch}"
        if value.number is None:
            self.leave_open(part, f"the value of `{part}` is not known: {value.why}")
        return value.number

    def foreign_name(self, part: Part) -> Value:
        if self.stack:
            self._act(None, part, f"`{part}`")
        return super().foreign_name(part)

    def entered(
        self, name: str, arguments: list[Value] | None, at: Part | None = None, function: Part | None = None
    ) -> Value:
        found = super().entered(name, arguments, at, function)
        if not self.stack:
            self.gives = found
        return found

    def ends(self, function: Part) -> None:
        """The function returns: the last act, with what it gives and what it leaves in registers."""
        given: list[object] = []
        type_, declarator = function.field("type"), function.field("declarator")
        nothing = str(type_) == "void" and declarator is not None and not declared(declarator)[2]
        if not nothing and self.gives is not None:
            given.append(self._told_value(type_ or function, self.gives))
        for page, registers in sorted(self.pages.items()):
            if page not in self.served:
                self.leave_open(function, f"it writes to 0x{page:X}, and launches nothing there")
            given += [(page, at, self._told_value(function, value)) for at, value in sorted(registers.items())]
        self._act(None, None, "return", given)

    # ------------------------------------------------------------ symbols

    def given(self, part: Part | None, name: str, type_: CType | None, why: str) -> Value:
        real = type_ is not None and bool(type_.step) and not type_.pointer
        if self.arguments is None or type_ is None or real or name in self.defines:
            return super().given(part, name, type_, why)
        if self.calling and name == f"{self.calling[-1][0]}()":
            return self.arguments.fresh(name, type_, _RESULT)
        above = part.node.parent if part is not None and not self.stack else None
        every = [one.id for one in above.named_children if one.type == "parameter_declaration"] if above else []
        if part is None or part.node.id not in every:
            return super().given(part, name, type_, why)
        declarator = part.field("declarator")
        if declarator is None or declared(declarator)[0] != name:
            self.leave_open(part, f"`{name}` is a part of a structure that is passed")
        at = every.index(part.node.id)
        shown = self.named_there[at] if at < len(self.named_there) else name
        return self.arguments.fresh(shown, type_, _PARAMETER - at)

    # ------------------------------------------------------------ what is not followed

    lays_out = False

    def accessed(self, access: Part, address: Value, written: Value | None) -> Value:
        many = len(self.told)
        found = super().accessed(access, address, written)
        page, register = apart(address.number) if address.number is not None else (0, -1)
        if self.map is not None and len(self.told) > many:
            self.served.add(page)
        elif found.report is None and not (self.map is not None and written is not None and register in self.map.parts):
            self.leave_open(access, f"`{access}` is an access to memory by the core itself")
        return found

    def placed(self, field: Part, value: Value) -> None:
        self.leave_open(field, f"`{field}` is written by the core itself")
        super().placed(field, value)

    def _field_expression(self, part: Part) -> Value:
        self.brought = 0
        found = super()._field_expression(part)
        if not self.designates(part) and (found.number is None or self.epoch or self.brought):
            self.leave_open(part, f"`{part}` is read from memory")
        return found

    def _loads(self, place: Ranges) -> int:
        self.brought = super()._loads(place)
        return self.brought

    def _one_round(self, whole: Part, body: Part, number: Any, first: Mapping[str, tuple[Value, Any]]) -> None:
        stands = self.arguments is not None and self.arguments.rounds  # for others
        if stands:
            self._act(None, None, ROUND, ["begins"])
        super()._one_round(whole, body, number, first)
        if stands:
            self._act(None, None, ROUND, ["ends"])

    def _stored(self, part: Part, left: Part | None, value: Value, *, in_place: bool) -> Value:
        name = str(left) if left is not None and left.type == "identifier" else ""
        scope = next((one for one in reversed(self.scopes) if name in one), None)
        if name and (scope is None or scope is self.scopes[0] or f"moving {name}" in scope):
            self.leave_open(part, f"`{name}` is set, which lives on when the function ends")
        return super()._stored(part, left, value, in_place=in_place)

    def store(self, place: ObjectPlace, value: Value, part: Part) -> Value:
        of_file = any(isinstance(one, WholeObject) and one.place is not None and one.place.whole is place.whole
                      for one in self.scopes[0].values())  # fmt: skip
        if of_file or place.whole.escaped or place.whole.constant:
            self.leave_open(part, f"`{part}` is written by the core itself")
        return super().store(place, value, part)

    def doubt(self, part: Part, why: str) -> None:
        self.leave_open(part, why)
        super().doubt(part, why)

    unread = doubt

    def disturbed(self, part: Part) -> None:
        if "".join(f"{part}".split()) not in (";", "{}", "{;}"):
            self.leave_open(part, f"`{part}` may run, or not")
        super().disturbed(part)

    def ambiguous(self, use: Part, name: str) -> Value:
        self.leave_open(use, f"the macro `{name}` is defined in more than one way")
        return super().ambiguous(use, name)

    def hidden(self, use: Part) -> None:
        self.leave_open(use, f"the macro `{use}`, which is not read")
        super().hidden(use)

    def may_leave(self, part: Part, why: str, ends: str = "") -> None:
        self.leave_open(part, why)
        super().may_leave(part, why, ends)

    def may_wait(self, part: Part, what: str = "") -> None:
        self.leave_open(part, f"{what or 'a loop'} that may wait for launches")
        super().may_wait(part, what)

    def tracked(self, part: Part | None) -> Value:
        if part is not None and part.type == "gnu_asm_expression":
            self.leave_open(part, "assembly")
        return super().tracked(part)

    def _waited(self, call: Part, name: str, values: list[Value]) -> None:
        before, self.foreign = self.foreign, ""
        super()._waited(call, name, values)
        one = name in _ONE_LAUNCH and not (values and values[0].launch is not None)
        self._surely(call, values, before, sure=not one)

    def _completed(self, call: Part, values: list[Value]) -> Value:
        before, self.foreign = self.foreign, ""
        found = super()._completed(call, values)
        self._surely(call, values, before)
        return found

    def _surely(self, call: Part, values: Sequence[Value], before: str, *, sure: bool = True) -> None:
        """Leaves open a wait of which it is not known what it waits for."""
        if self.foreign or not sure or any(one.number is None and one.launch is None for one in values):
            self.leave_open(call, f"`{call}`: which launches it waits for is not known")
        self.foreign = before or self.foreign


def followed(function: FunctionOfFile, arguments: Arguments, names: Sequence[str] = ()) -> DriverRun:
    """What a function does with arguments; `names` is what the other function calls its parameters."""
    launcher = function.launcher(FollowedDriver)
    assert isinstance(launcher, FollowedDriver)
    launcher.named_there, body, stopped = names, launcher.file.functions[function.name], False
    own = SharedArguments(
        arguments.symbols, arguments.values, arguments.trace, generic=arguments.generic, loops=arguments.loops,
        cuts=_ByOrder(arguments.cuts), lost=launcher.lost,
    )  # fmt: skip
    launcher.arguments = own
    launcher.entry, launcher.conditions = function.name, {}
    launcher.fresh()
    try:
        launcher.entered(function.name, None)
        launcher.ends(body)
    except Stopped:
        stopped = launcher.opened is None
    finally:
        function.steps += launcher.steps
    found = entry_of(launcher, function.name)
    why, span = launcher.opened or ("", None)
    if not why and found.doubts:
        why, span = f"`{found.doubts[0].part}`: {found.doubts[0].why}", found.doubts[0].part.span
    if not why and (found.image.loose or launcher.chained):
        why = "descriptors in memory, which are launched at some time"
    arguments.stated.update(own.stated)
    names = sorted(launcher.file.undefined - launcher.file.macros.keys())
    undefined = (f"{name} is {'0' if name.startswith('`') else 'not defined'}" for name in names)
    supposed = (*launcher.conditions, *undefined)
    acts, loops = tuple(launcher.acts), tuple(own.loops)
    return DriverRun(function.name, found.image, acts, why, span, supposed, loops, stopped)


def parameters_of(function: FunctionOfFile) -> list[tuple[str, str, CType | None]]:
    """The parameters of a function: name, type as it is written, and as it is read."""
    launcher = function.launcher(FollowedDriver)
    out = []
    shape = declared(launcher.file.functions[function.name].field("declarator") or Part)[3]  # type: ignore[arg-type]
    given = shape.field("parameters") if shape is not None else None
    for one in given.parts() if given is not None else ():
        declarator = one.field("declarator")
        name, kind, stars, _ = declared(declarator) if declarator is not None else ("", "", 0, None)
        pointers = stars + (kind == "array_declarator")
        said = f"{one.field('type') or one}{'*' * pointers}"
        if one.type == "parameter_declaration" and (name or said != "void"):
            out.append((name, said, launcher.type_of(one.field("type"), pointers)))
        elif one.type != "parameter_declaration":
            out.append(("", f"{one}", None))
    return out
