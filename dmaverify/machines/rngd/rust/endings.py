"""Where a run ends early: what stops the program, what is nothing, and where `unwrap` asks that it is something.

Knows: stops of every build and of those that check, `None` and `Err` by the ways on which a value is one of them.
Does not know: which text stops (the readers of expressions, macros and loops say so), what ways decide.
Law: nothing behind a stop runs on its way. What may be nothing and is not followed leaves on a way that nobody knows,
and so may a call that is not followed, by the numbers of a run that it is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.code import asked_type, is_given, named
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.impls import imports_in_block, in_prelude, methods_named
from dmaverify.machines.rngd.rust.module import Item, NameScope
from dmaverify.machines.rngd.rust.sites import Sites, is_kernel
from dmaverify.machines.rngd.rust.stoppers import hidden_stop, library_stops, may_stop
from dmaverify.machines.rngd.rust.values import Numbers, Opaque, RustTensor, Value, parts_in
from dmaverify.program.ways import OnWay, WayChoice
from dmaverify.values import replace

if TYPE_CHECKING:
    from tree_sitter import Node

ASSERTIONS, OVERFLOWS = "debug_assertions", "overflow_checks"
"""What a build of a kernel may check: `debug_assert!`, and whether a number leaves its type."""


def build_choice(text: str, arm: int = 0) -> WayChoice:
    """That a build has a setting, or (1) has it not."""
    return WayChoice(f"cfg!({text})", arm, 2, (f"`{text}` is set", f"`{text}` is not set"))


CHECKED = OnWay((build_choice(ASSERTIONS), build_choice(OVERFLOWS)))
"""A build that checks all that it can."""


_COMES_BACK = re.compile(
    r"[A-Z]\w*|(?:checked|is|as|to|leading|trailing|count|unwrap_or|try|from|map|filter|skip|take|for|sort|flat)_\w+"
    r"|(?:wrapping|saturating|overflowing)_(?:add|sub|mul|neg|shl|shr|pow|abs)|and_then|next_power_of_two"
    r"|min|max|abs|abs_diff|unsigned_abs|signum|pow|midpoint|cmp|partial_cmp|eq|ne|lt|le|gt|ge|not"
    r"|then|then_some|clone|cloned|copied|into|from|default|borrow|len|iter|iter_mut|into_iter|contains|get|get_mut"
    r"|first|last|next|nth|rev|skip|take|map|filter|fold|each|enumerate|zip|chain|sum|product|count|any|all|find"
    r"|position|collect|inspect|peekable|by_ref|unwrap_or|ok|err|ok_or|or|and|xor|push|push_back|extend|new"
    r"|with_capacity|set|get_or_insert|swap_bytes|reverse_bits|size_of|drop|replace|unwrap|expect"
)
"""Functions and methods of the standard library that give something whatever they are given, in builds that check no
numbers; of `unwrap` that is asked where it stands.
"""


def _of_floats(code: Code, call: Node) -> bool:
    """Whether what a call gives is asked to be a float, which leaves no type."""
    function = call.child_by_field_name("function")
    method = function.child_by_field_name("function") if function is not None else None
    into = asked_type(method or function) if function is not None else None
    return into is not None and code.text(into) in ("f32", "f64")


_MAKES_ROOM = {"with_capacity", "reserve", "reserve_exact", "repeat", "resize"}
MAX_ROOM = 1 << 32
"""Elements for which there is room in every memory."""


class Endings(Sites):
    """The part of reading that knows where runs end."""

    def stop(self, when: OnWay | WayChoice | None = None) -> None:
        """The program ends here, or where a way is taken."""
        with self.walk.chosen(when or OnWay()):
            self.walk.leave("program")

    def never_back(self, item: Item) -> None:
        """Nothing runs behind a function that is declared `-> !`."""
        result = item.node.child_by_field_name("return_type")
        if result is not None and result.type == "never_type":
            self.stop()

    def hangs(self, code: Code, node: Node, frame: Frame) -> bool:
        """Whether an expression names a number that a run is given, or what holds one."""
        names = {code.text(one) for one in walk(node) if one.type in ("identifier", "self")}
        return any(self._given(frame.locals[name]) for name in names & frame.locals.keys())

    def _given(self, value: Value) -> bool:
        told = id(value) in self.scalars or id(value) in self.meant
        open_ = isinstance(value, Numbers) and value.single is None and not value.reached
        return told or open_ or any(map(self._given, parts_in(value)))

    def comes_back(self, code: Code, node: Node, name: str, value: Value, frame: Frame) -> Value:
        """What a call gives that is not followed: numbers that it is given may decide whether it gives something, or
        comes back. That it does for some is a condition; where no run gives it others, it does for all or none.
        """
        hangs, own = self.hangs(code, node, frame), bool(methods_named(frame.scope, name))
        given = node.child_by_field_name("arguments")
        if name in _MAKES_ROOM and given is not None and named(given):
            self.makes_room(self.types.number(code, named(given)[0], frame))
        if own or (given is not None and self._hands_on(code, given, frame.scope)):
            self.unread_call(frame.scope, name if own else "")
        if (own or _COMES_BACK.fullmatch(name) is None) if hangs else (not own and library_stops(code, node, name)):
            self.perhaps_ends()
        elif not hangs and name in ("sum", "product") and not isinstance(value, Numbers) and not _of_floats(code, node):
            with self.walk.chosen(build_choice(OVERFLOWS)):
                self.perhaps_ends()
        if id(value) in self.scalars or id(value) in self.meant or (isinstance(value, RustTensor) and not hangs):
            return value
        return self.perhaps_something(replace(value))

    def unread_call(self, scope: NameScope, name: str) -> None:
        """A function of the crate is called, and not read: what may stop a run in it is a condition. Without a name it
        is whichever function was handed on as a value.
        """
        if may_stop(scope, name) if name else self.stopper_handed_on:
            self.perhaps_ends()

    def _hands_on(self, code: Code, given: Node, scope: NameScope) -> bool:
        """Whether a call may be given a function that stops."""
        names = (code.text(one) for one in walk(given) if one.type == "identifier")
        self.stopper_handed_on |= any(may_stop(scope, name) for name in names)
        return self.stopper_handed_on

    def hidden_ends(self, item: Item) -> None:
        """What stops a run of a kernel where no call is written is a condition."""
        if is_kernel(item) and hidden_stop(item):
            self.perhaps_ends()

    def makes_room(self, many: Value | None) -> None:
        """That there is room for very many elements is a condition."""
        if isinstance(many, Numbers) and many.low > MAX_ROOM:
            self.perhaps_ends()

    def perhaps_ends(self) -> None:
        """A run may end here, which is not known: that some run does not is a condition."""
        with self.walk.chosen(self.walk.unsaid()):
            self.walk.leave("program")

    def unwrapped(self, value: Value, *, emptied: bool = False) -> Value:
        """What `unwrap` and `expect` ask of that it is something; `emptied`: what may have been changed before."""
        if (emptied or id(value) in self.perhaps_none) and id(value) not in self.absent:
            self.perhaps_ends()
        return self.something(value, "program")

    def nothing_at_all(self, what: str) -> Opaque:
        """`None` or an error as a value, wherever it goes from here."""
        made = Opaque(what)
        self.absent[id(made)] = made, (OnWay(self.walk.path),)
        return made

    def nothing_where(self, value: Value, way: OnWay) -> Value:
        """A value that is `None` or an error where a way is taken from here on."""
        made = replace(value)  # another one than all that are something
        self.absent[id(made)] = made, (OnWay((*self.walk.path, *way.path)),)
        return made

    def literally_nothing(self, node: Node, name: str, scope: NameScope) -> Value:
        """`None` or `Err(..)` as it is written: of a type of the crate where that has the name."""
        if in_prelude(scope, name):
            return self.nothing_at_all(name)
        self.gives_nothing(node, [self.walk.when])
        made = Opaque(name)
        return self.perhaps_something(made) if imports_in_block(scope) else made

    def another(self, value: Value) -> Value:
        """The same value where it is something: `Some(None)`."""
        return replace(value) if id(value) in self.absent else value

    def gives_nothing(self, node: Node, ways: Iterable[OnWay]) -> None:
        """Enters on which ways an expression is `None` or an error, where it is what the function gives."""
        if is_given(node):
            self.nothing += ways

    def perhaps_nothing(self, item: Item, value: Value) -> Value:
        """What a function gave that was read, with the ways on which that is nothing: a `Result` or an `Option`."""
        result = item.node.child_by_field_name("return_type")
        kind = item.code.text(result).split("<")[0] if result is not None else ""
        if self.nothing and kind in ("Option", "Result") and item.scope.find(kind) is None:
            value = replace(value)  # another one than all that are something
            self.absent[id(value)], self.followed = (value, tuple(self.nothing)), True
        return value

    def something(self, value: Value, scope: str) -> Value:
        """A value of which `unwrap`, `expect` or `?` asks that it is something; where it is not, a scope is left. When
        that is so of one that may be made of what is nothing, nobody knows.
        """
        if not self.followed and id(value) not in self.absent:
            return value
        _, ways = self.absent.get(id(value), (None, (self.walk.unsaid(),)))
        for way in ways:
            self.leaves_on(way, scope)
        return self.another(value)

    def leaves_on(self, way: OnWay, scope: str) -> None:
        """Nothing of a scope runs from here on where a way is taken; of a function, which then gives nothing."""
        with self.walk.chosen(way):
            self.walk.leave(scope)
        self.nothing += [way] if scope == "function" else []
