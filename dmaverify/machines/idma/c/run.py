"""Statements of a driver in order: constants, conditions, loops with constant bounds, calls of functions of the file.

Knows: what runs, what may run, what a variable holds. Does not know: what a launch is (`launches`).
Law: a launch that runs whenever the function runs is told with its arguments; one that may run is told as not read,
with the condition. A variable that something unknown may change has no value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dmaverify.machines.idma.c.aggregates import ObjectPlace, WholeObject
from dmaverify.machines.idma.c.cases import CaseReader, Left, LoopSoFar
from dmaverify.machines.idma.c.code import File, Part, declared, expanded, no_c, returns
from dmaverify.machines.idma.c.doubts import MOST_CALLS, Doubted
from dmaverify.machines.idma.c.effects import (
    DOES,
    ELEMENTS,
    called_name,
    deep,
    exposures,
    jumps,
    splits,
    target_of,
    variable,
)
from dmaverify.machines.idma.c.names import ROLE
from dmaverify.machines.idma.c.numbers import WORD, Value, binary, unknown

MOST_STEPS = 150_000
RESULT = "a result"
_LEAVES = re.compile(r"\b(return|break|continue|goto)\b")


class Runner(CaseReader):
    """Runs functions of a file with what is constant in them."""

    most_steps = MOST_STEPS
    asks = 0
    """Conditions so far that the engine decides."""

    def __init__(self, file: File, defines: Mapping[str, str], word: int = WORD) -> None:
        super().__init__(file, defines, word)
        self.stack, self.early = 0, set()
        self.assumed: dict[str, None] = {}
        self.conditions: dict[str, None] = {}
        self.guards = 0  # how many conditions say that what runs here runs on the core that moves data
        self.roles = self.unguarded = False
        self.ran: set[str] = set()
        self._addressed: dict[str, tuple[frozenset[str], frozenset[str]]] = {}

    # ------------------------------------------------------------ assignments

    def _assignment_expression(self, part: Part) -> Value:
        op = part.node.child_by_field_name("operator")
        sign = op.type.removesuffix("=") if op else ""
        left = target_of(self.file, part)
        if left is not None and self.designates(left):
            return self._set_part(part, left, sign)
        right = part.field("right")
        whole = left is not None and left.type in ("identifier", *ELEMENTS) and not sign
        value = self.tracked(right) if whole else self.value(right)
        if left is not None and sign and left.type == "identifier":
            value = binary(sign, self.value(left), value)
        return self._stored(part, left, value, in_place=bool(sign))

    def _set_part(self, part: Part, left: Part, sign: str) -> Value:
        """A part of an object is set."""
        marks, right = [self.mark()], part.field("right")
        place = self.designated(left)
        marks.append(self.mark())
        value = self.tracked(right)
        if self.open_in(part, [left, right], marks):
            value = unknown(f"the order within `{part}` is the compiler's")
        if sign:
            value = binary(sign, self.plain(self.load(place, left), left), self.plain(value, part))
        return self._kept_in(place, left, value)

    def _kept_in(self, place: ObjectPlace, left: Part, value: Value) -> Value:
        found = self.store(place, value, left)
        if place.whole.escaped and left.type == "field_expression":
            self.placed(left, self.plain(value, left))
        return found

    def _stored(self, part: Part, left: Part | None, value: Value, *, in_place: bool) -> Value:
        """What an assignment of `value` is, once it is done."""
        if left is None:
            return value
        if left.type == "identifier":
            self.assign(str(left), value)
            return self.name(left) if value.number is not None or value.report is not None else value
        self.unfollowed(left, f"`{part}`, which is not followed")
        if left.type == "field_expression":
            address = self.member_address(left)
            if address is not None:
                return self.accessed(left, address, unknown("a register is changed in place") if in_place else value)
            self.placed(left, unknown(f"`{part}` changes it in place") if in_place else self.plain(value, part))
        if left.type in ("pointer_expression", "subscript_expression"):
            address = self.element(left) if left.type[0] == "s" else self.value(left.field("argument"))
            return self.accessed(left, address, unknown("a register is changed in place") if in_place else value)
        return self.plain(value, part)

    def member_address(self, part: Part) -> Value | None:
        """Where a member lies that is a register; None of others."""
        return None

    def _update_expression(self, part: Part) -> Value:
        target, op = target_of(self.file, part), part.node.child_by_field_name("operator")
        place = self.designated(target) if self.designates(target) else None
        old = self.value(target) if place is None or target is None else self.plain(self.load(place, target), target)
        new = binary("+" if op is not None and op.type == "++" else "-", old, Value(1))
        if place is not None and target is not None:
            kept = self._kept_in(place, target, new)
        else:
            kept = self._stored(part, target, new, in_place=True)
        return kept if part.node.children[0].type in ("++", "--") else old

    # ------------------------------------------------------------ statements

    def run(self, part: Part) -> None:
        self.steps += 1
        if self.steps > self.most_steps:
            raise Left("doubt", why=f"more than {self.most_steps:,} steps")
        handler = getattr(self, f"_run_{part.type}", None)
        other = part.field("alternative")
        if self._is_odd(part):
            self.doubt(part, no_c(part))
        elif any(splits(self.file, body, other) for body in (part.field("consequence"), part.field("body"))) or (
            other is not None and splits(self.file, next(iter(other.parts()), None), None)
        ):
            why = "a macro of several statements, of which one is the body here"
            self.doubt(part, why)
            self.may_leave(part, why)
        elif handler is not None:
            handler(part)
        elif part.type == "declaration":
            self.declare(part)
        elif part.type.startswith("preproc_if") or part.type in ("preproc_elif", "preproc_else"):
            self.block(self._taken(part) if part.type != "preproc_else" else part.parts())
        elif part.type in ("preproc_def", "preproc_function_def", "preproc_call"):
            self.collect([part])
        elif part.type == "goto_statement":
            raise Left("goto", why="a goto")
        elif part.type == "type_definition":
            self.local_type(part)
        elif part.type in ("enum_specifier", "struct_specifier", "union_specifier"):
            self._enumerators(part)
        else:
            why = f"a {part.type.replace('_', ' ')}, which is not read"
            self.doubt(part, why)
            self.may_leave(part, why)

    def block(self, parts: list[Part]) -> None:
        """Statements in order; one behind text that is not read may be its body, as that of a macro that is a loop."""
        head: Part | None = None
        for part in parts:
            odd, why = self._is_odd(part), f"`{head}` before it, which is not read" if head else ""
            if why:
                self.doubt(part, why)
            else:
                self.run(part)
            said = set(_LEAVES.findall(str(part))) if odd or why else set()
            if said:
                how = "goto" if said & {"return", "goto"} else "doubt"
                raise Left(how, why=why or f"`{part}`, which is not read")
            head = part if odd else None

    def _run_compound_statement(self, part: Part) -> None:
        self.scopes.append({})
        try:
            self.block(part.parts())
        finally:
            self.closes(self.scopes.pop())

    def _run_expression_statement(self, part: Part) -> None:
        for inner in part.parts():
            macro = self._macro_statement(inner)
            if macro is not None:
                self.run(macro)
            else:
                self.tracked(inner)
                self.foreign_statement(inner)

    def _macro_statement(self, part: Part) -> Part | None:
        """The statements that a macro becomes, where it is not an expression."""
        name = called_name(self.file, part) if part.type == "call_expression" else str(part)
        macro = self.file.macros.get(name)
        if macro is None or name in self.file.ambiguous:
            return None
        arguments = part.field("arguments")
        given = [str(x) for x in arguments.parts()] if arguments else None
        if expanded(macro, given, part) is not None:
            return None
        found = expanded(macro, given, part, statement=True)
        if found is None and self._may(name):
            self.doubt(part, f"the macro `{name}`, which is not read")
        return found

    def _run_if_statement(self, part: Part) -> None:
        condition, yes, other = part.field("condition"), part.field("consequence"), part.field("alternative")
        no = next(iter(other.parts()), None) if other else None
        value = self.truth(condition)
        both = [b for b in (yes, no) if b is not None]
        role = self._role(condition) if value.number is None else None
        test = bool(value.number) if value.number is not None else role
        test = self.decided(condition, value, both) if test is None else test
        if test is not None:
            branch, other_ = (yes, no) if test else (no, yes)
            if other_ is not None and role is not None and self.launches(other_):
                self.doubt(other_, f"the condition {condition}")  # of a core that is not meant
            guards = self.guards
            self.guards += role is not None
            try:
                if branch is not None:
                    self.unguarded |= role is not None and bool(jumps(self.file, branch))  # others go on behind it
                    self.run(branch)
            finally:
                self.guards = guards
            self.guards += role is not None and other_ is not None and returns(other_)
            return
        why = f"the condition {condition}"
        for branch in both:
            self.doubt(branch, why)
        for branch in both:
            self.may_leave(branch, why)
            if condition is not None and value.report and "return" in jumps(self.file, branch):
                self.doubts.append(Doubted(condition, "the engine decides what is behind it"))

    def decided(self, condition: Part | None, value: Value, branches: list[Part]) -> bool | None:
        """Which way a condition without a value goes in this run; None where both are looked through."""
        return None

    def _run_labeled_statement(self, part: Part) -> None:
        label, *inner = part.parts()
        branch = inner[0].field("consequence") if inner and inner[0].field("alternative") is None else None
        own = branch.parts() if branch is not None and branch.type == "compound_statement" else [branch]
        if len(own) == 1 and own[0] is not None and f"{own[0]}".split() == ["goto", f"{label};"]:
            self._loop(part, inner[0].field("condition"), None, None)  # `again: if (busy) goto again;`
        else:
            self.block(inner)

    def _role(self, part: Part | None) -> bool | None:
        text = str(part).strip("()").replace(" ", "").lstrip("!").rstrip("(") + "()"
        if text == f"{ROLE}()":
            self.roles = True
            return not str(part).lstrip("( ").startswith("!")
        return None

    def _run_return_statement(self, part: Part) -> None:
        inner = next(iter(part.parts()), None)
        value = self.tracked(inner) if inner else None
        if inner is not None and value is not None:
            held = self.copied(value, RESULT, inner)
            value = held if held is not value else self.plain(value, inner)
        raise Left("return", value)

    def _run_break_statement(self, part: Part) -> None:
        raise Left(part.type.removesuffix("_statement"))

    _run_continue_statement = _run_break_statement

    def _run_for_statement(self, part: Part) -> None:
        initial = part.field("initializer")
        self.scopes.append({})
        try:
            if initial is not None:
                if initial.type == "declaration":
                    self.declare(initial)
                else:
                    self.tracked(initial)
            self._loop(part, part.field("condition"), part.field("body"), part.field("update"))
        finally:
            self.closes(self.scopes.pop())

    def _run_while_statement(self, part: Part) -> None:
        self._loop(part, part.field("condition"), part.field("body"), None)

    def _run_do_statement(self, part: Part) -> None:
        if self._round(part.field("body"), part):
            self._loop(part, part.field("condition"), part.field("body"), None)

    def _loop(self, whole: Part, condition: Part | None, body: Part | None, update: Part | None) -> None:
        loop = LoopSoFar(whole, condition, body, update, self.steps, len(self.told), len(self.log), self.serial)
        while True:
            asks = self.asks
            test = self.truth(condition) if condition is not None else Value(1)
            if test.number is None and self.polled(condition, body, update):
                return
            if test.number is None:
                self.may_wait(whole)
                self.doubt(whole, f"the bound of a loop, {condition}")
                self.may_leave(whole, f"the bound of a loop, {condition}", f"the loop over {condition}")
                self.ended(condition, body)
                return
            if test.number and update is None and self._idles(condition, body):
                self.may_wait(whole)
                self.doubt(whole, f"a loop that does not end, {condition}")
                self.never_ends(body)
                return
            if not test.number or not self._round(body, whole):
                return
            if update is not None:
                self.tracked(update)
            elif self.asks > asks:
                self.begins_again(whole, condition, body)
            if self.given_up(loop):
                return

    def given_up(self, loop: LoopSoFar) -> bool:
        """Whether a loop of which a round is over goes on for so long that it is looked through instead."""
        return False

    def _idles(self, condition: Part | None, body: Part | None) -> bool:
        """Whether a loop whose condition holds launches nothing and never ends."""
        return self.goes_on(condition, body, None) and (body is None or not self.launches(body))

    def goes_on(self, condition: Part | None, body: Part | None, update: Part | None) -> bool:
        """Whether no round of a loop changes what its condition reads, or leaves it."""
        read = list(condition.every()) if condition is not None else []
        done = [one for part in (body, update) if part is not None for one in deep(self.file, part)]
        names = {str(one) for one in read if one.type == "identifier"}
        if any(one.type in (*DOES, *ELEMENTS) for one in read) or names & self.exposed:
            return False
        changed = names & {variable(self.file, one) for one in done}
        return not changed and (body is None or not jumps(self.file, body) - {"continue"})

    def never_ends(self, body: Part | None) -> None:
        """What is behind a loop never runs."""

    def begins_again(self, whole: Part, condition: Part | None, body: Part | None) -> None:
        """A round in which the engine was asked is over, and another follows."""

    def ended(self, condition: Part | None, body: Part | None) -> None:
        """A loop is left, and it is not known behind which of its rounds."""

    def polled(self, condition: Part | None, body: Part | None, update: Part | None) -> bool:
        """Whether a loop does nothing but to wait for what is launched, which is complete behind it."""
        return False

    def _round(self, body: Part | None, whole: Part) -> bool:
        """One round of a loop; whether another may follow."""
        self.steps += 1
        if self.steps > self.most_steps:
            raise Left("doubt", why=f"more than {self.most_steps:,} steps")
        depth = len(self.scopes)
        try:
            if body is not None:
                self.run(body)
        except Left as left:
            del self.scopes[depth:]
            if left.how == "doubt" and self.steps <= self.most_steps:
                self.may_wait(whole)
                self.doubt(whole, left.why)
                return False
            if left.how in ("return", "goto", "doubt"):
                raise
            return left.how == "continue"
        return True

    # ------------------------------------------------------------ calls

    def entered(
        self, name: str, arguments: list[Value] | None, at: Part | None = None, function: Part | None = None
    ) -> Value:
        """Runs a function, of the file where no other is given; without `arguments`, with none known."""
        self.ran.add(name)
        function = function or self.file.functions[name]
        declarator, body = function.field("declarator"), function.field("body")
        if self.stack >= MOST_CALLS or body is None or declarator is None:
            self.doubt(at or function, f"calls of `{name}` deeper than {MOST_CALLS}")
            return unknown(f"`{name}` is called too deeply")
        shape = declared(declarator)[3]
        outer, exposed, hidden, guards = self.scopes, self.exposed, self.unseen, self.guards
        if name not in self._addressed:
            self._addressed[name] = exposures(self.file, function)
        self.exposed, self.unseen = self._addressed[name]
        self.scopes = [outer[0], self._parameters(shape.field("parameters") if shape else None, arguments)]
        if arguments is None and self.arguments is not None and self.arguments.symbols.parameters is None:
            self.arguments.symbols.parameters = frozenset(self.arguments.symbols.known)
        self.stack += 1
        self.early.discard(self.stack)
        try:
            self.run(body)
        except Left as left:
            if left.how in ("doubt", "goto"):
                self.doubt(body, left.why)
            if left.value is not None and self.stack not in self.early:
                said = "pointer" if declared(declarator)[2] else str(function.field("type"))
                type_ = self.type_of(function.field("type"), declared(declarator)[2])
                if isinstance(left.value, WholeObject) and left.value.place is not None:
                    same = self.shape_of(function.field("type")) == left.value.place.shape
                    return left.value if same and said != "pointer" else unknown(f"`{name}` is of another type")
                return self.converted_to(left.value, type_, said)
        finally:
            self.closes(self.scopes[1])
            self.scopes, self.exposed, self.unseen, self.guards = outer, exposed, hidden, guards
            self.stack -= 1
        return unknown(f"what `{name}` returns is not known")
