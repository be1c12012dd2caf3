"""Statements of a driver in order: constants, conditions, loops with constant bounds, calls of functions of the file.

Knows: what runs, what may run, what a variable holds. Does not know: what a launch is (`launches`).
Law: a launch that runs whenever the function runs is told with its arguments; one that may run is told as not read,
with the condition. A variable that something unknown may change has no value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from dmaverify.machines.idma.c.code import File, Part, declared, expanded
from dmaverify.machines.idma.c.declare import Declarer
from dmaverify.machines.idma.c.numbers import INT, WORD, Value, binary, unknown
from dmaverify.values import dataclass

MOST_STEPS = 150_000
MOST_CALLS = 24
_DOES = {"call_expression", "assignment_expression", "update_expression", "gnu_asm_expression"}
_JUMPS = ("break_statement", "continue_statement", "goto_statement")
_RUNTIMES = ("snrt_dma_", "plp_dma_", "mchan_", "sys_dma_")
_ODD, _PLAIN = ("ERROR", "type_identifier", "function_definition"), ("expression_statement", "declaration")
_MACRO = "macro_type_specifier"
_LEAVES = re.compile(r"\b(return|break|continue|goto)\b")
_ROLES = ("snrt_is_dm_core()",)
"""Conditions that say which core runs the driver: the one that launches is meant."""


class _Left(Exception):
    """A statement leaves what is around it: `break`, `continue` or `return`; or `doubt`, and nobody knows."""

    def __init__(self, how: str, value: Value | None = None, why: str = "") -> None:
        super().__init__(how)
        self.how, self.value, self.why = how, value, why


@dataclass(frozen=True, slots=True)
class Doubted:
    """A launch that was not read: where, what, and why."""

    part: Part
    why: str


class Runner(Declarer):
    """Runs functions of a file with what is constant in them."""

    launching: frozenset[str] = frozenset()
    most_steps = MOST_STEPS

    def __init__(self, file: File, defines: Mapping[str, str], word: int = WORD) -> None:
        super().__init__(file, defines, word)
        self.steps, self.stack = 0, 0
        self.doubts: list[Doubted] = []
        self.assumed: dict[str, None] = {}
        self.conditions: dict[str, None] = {}
        self._launches: dict[str, bool] = {}
        self.following: dict[str, None] = {}
        self.deep = 0

    # ------------------------------------------------------------ assignments

    def _assignment_expression(self, part: Part) -> Value:
        left, op = part.field("left"), part.node.child_by_field_name("operator")
        value = self.value(part.field("right"))
        sign = op.type.removesuffix("=") if op else ""
        while left is not None and left.type == "parenthesized_expression":
            left = next(iter(left.parts()), None)
        if left is not None and (left.type == "call_expression" or str(left) in self.file.macros):
            macro = self.file.macros.get(str(left.field("function") or left))
            arguments = left.field("arguments")
            given = [str(x) for x in arguments.parts()] if arguments else None if left.type == "identifier" else []
            inner = expanded(macro, given, left) if macro is not None else None
            while inner is not None and inner.type == "parenthesized_expression":
                inner = next(iter(inner.parts()), None)
            left = inner
        if left is None:
            return value
        if left.type == "identifier":
            new = binary(sign, self.name(left), value) if sign else value
            self.assign(str(left), new)
            return self.name(left) if new.number is not None else new
        if left.type == "field_expression":
            self.placed(left, unknown(f"`{part}` changes it in place") if sign else value)
        if left.type in ("pointer_expression", "subscript_expression"):
            address = self.element(left) if left.type[0] == "s" else self.value(left.field("argument"))
            return self.accessed(left, address, unknown("a register is changed in place") if sign else value)
        return value

    def _update_expression(self, part: Part) -> Value:
        argument = part.field("argument")
        op = part.node.child_by_field_name("operator")
        old = self.value(argument)
        new = binary("+" if op is not None and op.type == "++" else "-", old, Value(1))
        if argument is not None and argument.type == "identifier":
            self.assign(str(argument), new)
        return old if str(part)[:2] not in ("++", "--") else new

    # ------------------------------------------------------------ what is not known to run

    def launches(self, part: Part) -> list[Part]:
        """The calls and macros below a part that launch something, themselves or through functions and macros."""
        return [p for p in part.every() if self._launches_here(p)]

    def _is_odd(self, part: Part) -> bool:
        """Whether a statement is no C; what reads as a declaration may be a macro, or one before a call or a jump."""
        if part.type != "declaration" or part.node.has_error:
            return part.type in _ODD or (part.node.has_error and part.type in _PLAIN)
        named = [p for p in part.every() if p.type in ("type_identifier", "function_declarator", _MACRO)]
        return any(p.type == _MACRO or self._may(str(p.field("declarator") or p)) for p in named)

    def _launches_here(self, part: Part) -> bool:
        if part.type == "call_expression":
            return self._may(str(part.field("function")))
        if part.type in ("identifier", "type_identifier"):
            above = part.node.parent
            by = above.type if above is not None else ""
            odd = str(part) in self.file.macros or by in ("ERROR", "function_declarator")
            return by != "call_expression" and odd and self._may(str(part))
        if part.type != "ERROR" or not any(name in str(part) for name in self.launching):
            return False
        return not any(p.type != "ERROR" and self._launches_here(p) for p in part.every())

    def _may(self, name: str) -> bool:
        if name in self.launching or name.startswith(_RUNTIMES):
            return True
        if name not in self._launches:
            self._launches[name] = False
            function, macro = self.file.functions.get(name), self.file.macros.get(name)
            self._launches[name] = (function is not None and bool(self.launches(function))) or (
                macro is not None and any(self._may(word) for word in re.findall(r"\w+", macro.text))
            )
        return self._launches[name]

    def doubt(self, part: Part, why: str) -> None:
        """A part may run, or run any number of times: its launches are not read, what it sets is not known."""
        self.steps += 200  # all that the part may call is looked through
        self.doubts += [Doubted(p, why) for p in self.launches(part)]
        self.forgotten(part, why)
        self.disturbed(part)

    def forgotten(self, part: Part, why: str) -> None:
        """What a part may set is not known behind it."""
        for inner in part.every():
            if inner.type == "gnu_asm_expression":
                for one in inner.every():
                    if one.type == "identifier":
                        self.assign(str(one), unknown(f"`{one}` is given to assembly"))
            target = inner.field("left") if inner.type == "assignment_expression" else None
            target = inner.field("argument") if inner.type == "update_expression" else target
            if target is not None and target.type == "identifier":
                self.assign(str(target), unknown(f"`{target}` depends on {why}"))

    unread = doubt

    def followed(self, part: Part, what: Callable[[Part], None]) -> None:
        """Does `what` with the text of every function and macro that a part uses, wherever it may run."""
        if self.deep >= MOST_CALLS:
            self.doubts.append(Doubted(part, f"calls deeper than {MOST_CALLS} in what may run"))
            return
        written = {p.field("left") for p in part.every() if p.type == "assignment_expression"}
        outer = self.scopes
        for inner in part.every():
            called = inner.field("function") if inner.type == "call_expression" else None
            name, given = str(called or inner), inner.field("arguments")
            arguments = given.parts() if given is not None else []
            whole: Part | None = None
            if called is not None and name in self.file.functions and name not in self.launching:
                whole = self.file.functions[name]
                self.scopes = [outer[0], self._may_hold(whole, arguments)]
            elif (called is not None or inner.type == "identifier") and name in self.file.macros:
                texts = [str(one) for one in arguments] if called is not None else None
                macro = self.file.macros[name]
                whole = None if inner in written else expanded(macro, texts, inner, statement=True)
                if whole is not None:
                    self.forgotten(whole, f"`{inner}`")
            key = f"{name} {whole} {[v.number for v in self.scopes[-1].values()]}"
            if whole is not None and key not in self.following:
                self.following[key] = None
                self.deep += 1
                what(whole.field("body") or whole)
                self.deep -= 1
            self.scopes = outer
        if not self.deep:
            self.following.clear()

    def _may_hold(self, function: Part, given: list[Part]) -> dict[str, Value]:
        """The variables of a function that may run: arguments that are plain have values, where nothing is assigned."""
        shape = declared(function.field("declarator") or function)[3]
        plain = [not {p.type for p in one.every()} & _DOES for one in given]
        values = [self.value(p) if ok else unknown(f"`{p}`") for p, ok in zip(given, plain, strict=True)]
        above = [(str(p), p.node.parent.type) for p in function.every() if p.type == "identifier" and p.node.parent]
        declares = {name: unknown(f"`{name}`") for name, by in above if by.endswith(("declarator", "declaration"))}
        changed = {name: unknown(f"`{name}`") for name, by in above if by in _DOES}
        return declares | self._parameters(shape.field("parameters") if shape else None, values) | changed

    # ------------------------------------------------------------ statements

    def run(self, part: Part) -> None:
        self.steps += 1
        if self.steps > self.most_steps:
            raise _Left("doubt", why=f"more than {self.most_steps:,} steps")
        handler = getattr(self, f"_run_{part.type}", None)
        if self._is_odd(part):
            self.doubt(part, "text that is not read as C")
        elif handler is not None:
            handler(part)
        elif part.type == "declaration":
            self.declare(part)
        elif part.type.startswith("preproc_if") or part.type == "preproc_else":
            self.block(self._taken(part) if part.type != "preproc_else" else part.parts())
        elif part.type in ("preproc_def", "preproc_function_def", "preproc_call"):
            self.collect([part])
        elif part.type == "goto_statement":
            raise _Left("doubt", why="a goto")
        else:
            self.doubt(part, f"a {part.type.replace('_', ' ')}, which is not read")

    def block(self, parts: list[Part]) -> None:
        """Statements in order; one behind text that is not read may be its body, as that of a macro that is a loop."""
        head: Part | None = None
        for part in parts:
            odd, why = self._is_odd(part), f"`{head}` before it, which is not read" if head else ""
            if why:
                self.doubt(part, why)
            else:
                self.run(part)
            if (odd or why) and _LEAVES.search(str(part)):
                raise _Left("doubt", why=why or f"`{part}`, which is not read")
            head = part if odd else None

    def _run_compound_statement(self, part: Part) -> None:
        self.scopes.append({})
        try:
            self.block(part.parts())
        finally:
            self.scopes.pop()

    def _run_expression_statement(self, part: Part) -> None:
        for inner in part.parts():
            macro = self._macro_statement(inner)
            if macro is not None:
                self.run(macro)
            else:
                self.value(inner)

    def _macro_statement(self, part: Part) -> Part | None:
        """The statements that a macro becomes, where it is not an expression."""
        name = str(part.field("function") or part)
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
        test = self._test(condition)
        if test is not None:
            branch, other_ = (yes, no) if test else (no, yes)
            if other_ is not None and self.value(condition).number is None and self.launches(other_):
                self.doubt(other_, f"the condition {condition}")  # of a core that is not meant
            if branch is not None:
                self.run(branch)
            return
        why = f"the condition {condition}"
        both = [b for b in (yes, no) if b is not None]
        jumps = {p.type for b in both for p in b.every()}
        for branch in both:
            self.doubt(branch, why)
        if jumps & set(_JUMPS):
            raise _Left("doubt", why=why)
        if "return_statement" in jumps:
            self.conditions[f"{why} does not end the function"] = None

    def _test(self, part: Part | None) -> bool | None:
        value = self.value(part)
        if value.number is not None:
            return bool(value.number)
        text = str(part).strip("()").replace(" ", "").lstrip("!").rstrip("(") + "()"
        if text in _ROLES:
            self.assumed[f"{text} holds: the core that moves data is meant"] = None
            return not str(part).lstrip("( ").startswith("!")
        return None

    def _run_return_statement(self, part: Part) -> None:
        inner = next(iter(part.parts()), None)
        raise _Left("return", self.value(inner) if inner else None)

    def _run_break_statement(self, part: Part) -> None:
        raise _Left(part.type.removesuffix("_statement"))

    _run_continue_statement = _run_break_statement

    def _run_for_statement(self, part: Part) -> None:
        initial = part.field("initializer")
        self.scopes.append({})
        try:
            if initial is not None:
                if initial.type == "declaration":
                    self.declare(initial)
                else:
                    self.value(initial)
            self._loop(part, part.field("condition"), part.field("body"), part.field("update"))
        finally:
            self.scopes.pop()

    def _run_while_statement(self, part: Part) -> None:
        self._loop(part, part.field("condition"), part.field("body"), None)

    def _run_do_statement(self, part: Part) -> None:
        if self._round(part.field("body"), part):
            self._loop(part, part.field("condition"), part.field("body"), None)

    def _loop(self, whole: Part, condition: Part | None, body: Part | None, update: Part | None) -> None:
        while True:
            test = self.value(condition) if condition is not None else Value(1)
            if test.number is None:
                self.doubt(whole, f"the bound of a loop, {condition}")
                if "return_statement" in {p.type for p in whole.every()}:
                    self.conditions[f"the loop over {condition} does not end the function"] = None
                return
            if not test.number or not self._round(body, whole):
                return
            if update is not None:
                self.value(update)

    def _round(self, body: Part | None, whole: Part) -> bool:
        """One round of a loop; whether another may follow."""
        self.steps += 1
        if self.steps > self.most_steps:
            raise _Left("doubt", why=f"more than {self.most_steps:,} steps")
        depth = len(self.scopes)
        try:
            if body is not None:
                self.run(body)
        except _Left as left:
            del self.scopes[depth:]
            if left.how == "doubt" and self.steps <= self.most_steps:
                self.doubt(whole, left.why)
                return False
            if left.how in ("return", "doubt"):
                raise
            return left.how == "continue"
        return True

    # ------------------------------------------------------------ calls

    def entered(self, name: str, arguments: list[Value] | None, at: Part | None = None) -> Value:
        """Runs a function of the file; without `arguments`, with none known."""
        function = self.file.functions[name]
        declarator, body = function.field("declarator"), function.field("body")
        if self.stack >= MOST_CALLS or body is None or declarator is None:
            self.doubt(at or function, f"calls of `{name}` deeper than {MOST_CALLS}")
            return unknown(f"`{name}` is called too deeply")
        shape = declared(declarator)[3]
        taken = (p for p in function.every() if p.type == "pointer_expression" and str(p).startswith("&"))
        outer, exposed = self.scopes, self.exposed
        self.exposed = frozenset(str(p.field("argument")) for p in taken)
        self.scopes = [outer[0], self._parameters(shape.field("parameters") if shape else None, arguments)]
        self.stack += 1
        try:
            self.run(body)
        except _Left as left:
            if left.how == "doubt":
                self.doubt(body, left.why)
            if left.value is not None:
                said = "pointer" if declared(declarator)[2] else str(function.field("type"))
                type_ = self.type_of(function.field("type"), declared(declarator)[2])
                return self.converted_to(left.value, type_, said)
        finally:
            self.scopes, self.exposed = outer, exposed
            self.stack -= 1
        return unknown(f"`{name}` returns nothing")

    def _parameters(self, part: Part | None, arguments: list[Value] | None) -> dict[str, Value]:
        scope: dict[str, Value] = {}
        for number, one in enumerate(part.parts() if part else []):
            declarator = one.field("declarator")
            if one.type != "parameter_declaration" or declarator is None:
                continue
            name, shape, pointers, _ = declared(declarator)
            type_ = self.type_of(one.field("type"), pointers + (shape == "array_declarator"))
            why = f"`{name}` is a parameter: --define {name}=..."
            if arguments is None and name not in self.exposed:
                scope[name] = self.given(one, name, type_, why)
            elif arguments is None or number >= len(arguments) or name in self.exposed:
                scope[name] = unknown(why, type_ or INT)
            else:
                said = "pointer" if pointers else str(one.field("type"))
                scope[name] = self.converted_to(arguments[number], type_, said)
        return scope
