"""What may run, or not: which launches are not known then, which variables lose their value.

Knows: calls and macros that launch, through functions of the file. Does not know: the order of statements, loops.
Law: all that a part may do, itself and in what it calls, is doubted or forgotten; nothing of it is taken to be done.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from dmaverify.machines.idma.c.code import File, Part, declared, expanded
from dmaverify.machines.idma.c.declare import Declarer
from dmaverify.machines.idma.c.effects import SETS, acts, called_name, deep, variable
from dmaverify.machines.idma.c.numbers import WORD, Value, unknown
from dmaverify.values import dataclass

MOST_CALLS = 24
_DOES = {"call_expression", "assignment_expression", "update_expression", "gnu_asm_expression"}
_RUNTIMES = ("snrt_dma_", "plp_dma_", "mchan_", "sys_dma_")
_ODD, _PLAIN = ("ERROR", "type_identifier", "function_definition"), ("expression_statement", "declaration")
_STATEMENT = re.compile(r"^(?!\s*(struct|union|enum)\b).*[;}]\s*$", re.DOTALL)
_MACRO = "macro_type_specifier"


@dataclass(frozen=True, slots=True)
class Doubted:
    """A launch that was not read: where, what, and why."""

    part: Part
    why: str


class Doubter(Declarer):
    """Looks through what may run."""

    launching: frozenset[str] = frozenset()

    def __init__(self, file: File, defines: Mapping[str, str], word: int = WORD) -> None:
        super().__init__(file, defines, word)
        self.steps, self.deep = 0, 0
        self.doubts: list[Doubted] = []
        self.following: dict[str, None] = {}
        self.looked: set[str] = set()  # functions that may run, in what did not
        self._launches: dict[str, bool] = {}
        self._open_order: dict[tuple[object, int, int], tuple[bool, list[Part]]] = {}

    def foreign_statement(self, part: Part) -> None:
        """A name alone is a statement: where nobody in the file says what it is, it is a macro of another file."""

    def open_order(self, whole: Part, parts: list[Part | None]) -> bool:
        """Two parts that launch, or one that sets what another uses: what is told of them is not known."""
        key = whole.text, whole.node.start_byte, whole.node.end_byte
        if key not in self._open_order:
            every = [list(deep(self.file, part)) if part is not None else [] for part in parts]
            does = [any(p.type in SETS or p.type == "call_expression" for p in one) for one in every]
            sets = [{name for p in one if (name := variable(self.file, p))} for one in every]
            uses = [{str(p) for p in one if p.type == "identifier"} for one in every]
            ends = range(len(every))
            met = any(sets[i] & uses[j] for i in ends for j in ends if i != j)
            found = [self.launches(part) for part, one in zip(parts, does, strict=True) if part is not None and one]
            launch = [one for one in found if one]
            self._open_order[key] = met, [p for one in launch for p in one] if len(launch) > 1 else []
        met, launched = self._open_order[key]
        self.doubts += [Doubted(p, "C leaves the order open") for p in launched]
        for part in parts if met or launched else ():
            if part is not None:
                self.forgotten(part, "an order that C leaves open")
                if met:
                    self.disturbed(part)
        return met or bool(launched)

    # ------------------------------------------------------------ what is not known to run

    def launches(self, part: Part) -> list[Part]:
        """The calls and macros below a part that launch something, themselves or through functions and macros."""
        return [p for p in part.every() if self._launches_here(p)]

    def _is_odd(self, part: Part) -> bool:
        """Whether a statement is no C; what reads as a declaration may be a macro, or one before a call or a jump."""
        if part.type != "compound_statement" and any(one.type == "ERROR" for one in part.node.children):
            return True
        if part.type != "declaration" or part.node.has_error:
            return part.type in _ODD or (part.node.has_error and part.type in _PLAIN)
        named = [p for p in part.every() if p.type in ("type_identifier", "function_declarator", _MACRO)]
        return any(p.type == _MACRO or self._runs(str(p.field("declarator") or p)) for p in named)

    def _runs(self, name: str) -> bool:
        """Whether a name in a declaration is a macro that is a statement, or one that launches."""
        macro = self.file.macros.get(name)
        if macro is None and name in self.known:
            return False
        return self._may(name) or (macro is not None and _STATEMENT.search(macro.text) is not None)

    def _launches_here(self, part: Part) -> bool:
        if part.type == "call_expression":
            return self._may(called_name(self.file, part))
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
            target = variable(self.file, inner)
            if target:
                self.assign(target, unknown(f"`{target}` depends on {why}"))
        self.mentions(part, why)

    def ambiguous(self, use: Part, name: str) -> Value:
        found = super().ambiguous(use, name)
        self.doubts += [Doubted(use, found.why)] if acts(self.file, name) else []
        return found

    def unread_macro(self, use: Part) -> None:
        super().unread_macro(use)
        self.hidden(use)
        given = use.field("arguments")
        for one in given.parts() if given is not None else ():
            self.doubt(one, f"`{use}`, a macro that is not read")

    def hidden(self, use: Part) -> None:
        """A macro that is not read may run; what its arguments do is looked for elsewhere."""

    unread = doubt

    def followed(self, part: Part, what: Callable[[Part], None]) -> None:
        """Does `what` with the text of every function and macro that a part uses, wherever it may run."""
        if self.deep >= MOST_CALLS:
            self.doubts.append(Doubted(part, f"calls deeper than {MOST_CALLS} in what may run"))
            return
        written = {p.field(SETS[p.type]) for p in part.every() if p.type in SETS}
        outer = self.scopes
        for inner in part.every():
            called = inner.field("function") if inner.type == "call_expression" else None
            name, given = called_name(self.file, inner) if called else str(inner), inner.field("arguments")
            arguments = given.parts() if given is not None else []
            whole: Part | None = None
            if called is not None and name in self.file.functions and name not in self.launching:
                whole = self.file.functions[name]
                self.looked.add(name)
                self.scopes = [outer[0], self._may_hold(whole, arguments)]
            elif (called is not None or inner.type in ("identifier", "type_identifier")) and name in self.file.macros:
                texts = [str(one) for one in arguments] if called is not None else None
                macro = self.file.macros[name]
                whole = None if inner in written else expanded(macro, texts, inner, statement=True)
                if whole is not None:
                    self.forgotten(whole, f"`{inner}`")
                elif inner not in written:
                    self.hidden(inner)
            key = "" if whole is None else f"{name} {whole} {[v.number for v in self.scopes[-1].values()]}"
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
