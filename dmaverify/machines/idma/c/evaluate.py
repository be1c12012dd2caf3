"""Constant expressions of C: the value of an expression where it has one, else the reason why not.

Knows: names, macros, casts, `sizeof`, operators; names and texts that the user gave a value (`--define`).
Does not know: statements, launches; calls and accesses to memory go to `called` and `accessed`.
Law: an expression whose value depends on anything that was not read has none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod

from dmaverify.machines.idma.c.arguments import Arguments
from dmaverify.machines.idma.c.code import File, Part, declared, expanded
from dmaverify.machines.idma.c.effects import ELEMENTS, bare, called_name
from dmaverify.machines.idma.c.numbers import (
    INT,
    UNREAD,
    WORD,
    CType,
    Value,
    binary,
    blurred,
    chosen,
    converted,
    is_real,
    literal,
    types,
    unary,
    unknown,
)

MOST_DEPTH = 60
_STARS = r"\*(\s*(\*|const|volatile|restrict))*"
_PRIMARY = ("parenthesized_expression", "number_literal", "char_literal", "identifier", "call_expression",
            "sizeof_expression", "subscript_expression", "string_literal")  # fmt: skip
_APART = ("argument_list", "parenthesized_expression", "init_declarator", "assignment_expression", "return_statement",
          "expression_statement", "subscript_expression", "comma_expression")  # fmt: skip
_DOES = ("call_expression", "assignment_expression", "update_expression", "gnu_asm_expression", "pointer_expression",
         "subscript_expression", "field_expression")  # fmt: skip


class Evaluator:
    """Values of expressions over the constants of a file and the variables of a call."""

    arguments: Arguments | None = None
    """What stands for values that the file does not give; None: they have none."""

    def __init__(self, file: File, defines: Mapping[str, str], word: int = WORD) -> None:
        self.file, self.word = file, word
        self.known = types(word)
        self.constants: dict[str, Value] = {}
        self.scopes: list[dict[str, Value]] = [{}]
        self.depth = 0
        self.defines = {" ".join(name.split()): literal(text, word) for name, text in defines.items()}
        self.seen: set[str] = set()
        self.results: dict[str, CType | None] = {}  # of functions that the text declares

    # ------------------------------------------------------------ hooks

    def called(self, call: Part, name: str, arguments: list[Part]) -> Value:
        return unknown(f"`{call}` is a call of a function that is not in this file")

    def accessed(self, access: Part, address: Value, written: Value | None) -> Value:
        return unknown(f"`{access}` is read from memory")

    def foreign_name(self, part: Part) -> Value:
        """A name that nothing in the file declares."""
        return unknown(f"`{part}` has no value in this file: --define {part}=...")

    def unread(self, part: Part, why: str) -> None:
        """A part that may run, or that is not read."""

    def unread_macro(self, use: Part) -> None:
        """A macro of which the text is not read."""

    def ambiguous(self, use: Part, name: str) -> Value:
        """A macro of several meanings."""
        return unknown(f"the macro `{name}` is defined in more than one way")

    def open_order(self, whole: Part, parts: list[Part | None]) -> bool:
        """Whether C leaves open what of some parts is done first, and that matters."""
        return False

    def mark(self) -> tuple[int, int]:
        """Where the log of what objects are used for stands."""
        return 0, 0

    def open_in(self, whole: Part, parts: Sequence[Part | None], marks: Sequence[tuple[int, int]]) -> bool:
        """The same of parts that have run."""
        return self.open_order(whole, [*parts])

    def disturbed(self, part: Part) -> None:
        """Something that may write memory or registers was not followed."""

    def placed(self, field: Part, value: Value) -> None:
        """A field of a structure is written."""

    def truth(self, part: Part | None) -> Value:
        """The value of a condition."""
        return self.value(part)

    def plain(self, value: Value, part: Part) -> Value:
        """A value for what does not follow objects."""
        return value

    def static_type(self, part: Part) -> CType | None:
        """The type of a part of an object."""
        return None

    def struct_size(self, part: Part) -> int:
        """In bytes; 0 of what is no structure that is read."""
        return 0

    def given(self, part: Part | None, name: str, type_: CType | None, why: str) -> Value:
        """A variable, or the value of an expression, of which nothing but its type is known."""
        if self.arguments is None or type_ is None or name in self.defines or is_real(type_):
            return unknown(why, type_ or UNREAD)
        return self.arguments.fresh(name, type_, -1 if part is None else part.raw.start)

    # ------------------------------------------------------------ types

    def type_of(self, part: Part | None, pointers: int = 0) -> CType | None:
        """The type that a type node and the stars behind it name; None for one that is not read."""
        if part is None:
            return None
        if part.type == "type_descriptor":
            inner = part.field("declarator")
            if inner is not None and set(str(inner)) - {"*", " "} and not re.fullmatch(_STARS, str(inner)):
                return None
            own = str(inner).count("*") if inner else 0
            return self.type_of(part.field("type"), pointers + own)
        name = re.sub(r"\b(const|volatile|static|register|inline)\b", "", str(part)).strip()
        base = self.known.get(" ".join(sorted(name.split()))) if name not in self.file.macros else None
        definition = self.file.type_named(part, name) if base is None else None
        if definition is not None:
            given = [Part(node, definition.text) for node in definition.node.children_by_field_name("declarator")]
            declarator = next((one for one in given if declared(one)[0] == name), None)
            stars = declared(declarator)[2] if declarator else 0
            if declarator is None or declared(declarator)[1]:
                return None
            if name != str(definition.field("type")):
                base = self.type_of(definition.field("type"), stars)
        if not pointers:
            return base
        step = 1 if name == "void" else (base.size if base and not base.pointer else 0)
        step = self.struct_size(part) if base is None and not step and pointers == 1 else step
        return CType(self.word, pointer=True, step=step if pointers == 1 else 0)

    def converted_to(self, value: Value, type_: CType | None, name: str) -> Value:
        if type_ is None:
            return unknown(f"the type `{name}` is not known") if value.number is not None else value
        return converted(value, type_)

    # ------------------------------------------------------------ names

    def name(self, part: Part) -> Value:
        name = str(part)
        if name in self.file.ambiguous:
            return self.ambiguous(part, name)
        if name in self.file.macros and self.file.macros[name].params is None:
            return self.expansion(part, name, None)
        for scope in reversed(self.scopes[1:]):
            if name in scope:
                found = scope[name]
                if found.number is None and name in self.defines:
                    return self.defined(name, found.type)
                return found
        if name in self.constants:
            return self.constants[name]
        if not self._is_value(name) and self.file.type_named(part, name) is not None:
            return unknown(f"`{name}` is a type: the cast around it is not read")
        if name in self.defines:
            return self.defined(name, self.scopes[0][name].type if name in self.scopes[0] else None)
        if name in self.scopes[0]:
            return self.scopes[0][name]
        if name in ("true", "false", "NULL"):
            return Value(int(name == "true"), INT)
        return self.foreign_name(part)

    def defined(self, name: str, type_: CType | None) -> Value:
        self.seen.add(name)
        value = self.defines[name]
        return value if type_ is None or type_ == UNREAD else converted(value, type_)

    def expansion(self, use: Part, name: str, arguments: list[str] | None) -> Value:
        part = expanded(self.file.macros[name], arguments, use)
        if part is None:
            self.unread_macro(use)
            return unknown(f"the macro `{name}` is no expression that is read")
        above = use.node.parent
        if part.type not in _PRIMARY and (above is None or above.type not in _APART):
            self.unread(part, f"the macro `{name}`, which needs parentheses")
            return unknown(f"the macro `{name}` needs parentheses around its text")
        return self.tracked(part)

    # ------------------------------------------------------------ expressions

    def value(self, part: Part | None) -> Value:
        found = self.tracked(part)
        return found if part is None or type(found) is Value else self.plain(found, part)

    def tracked(self, part: Part | None) -> Value:
        """The value of an expression for what follows objects and pointers to them."""
        if part is None:
            return unknown("an expression is missing")
        if self.depth >= MOST_DEPTH:
            self.unread(part, "an expression that is nested too deeply")
            return unknown(f"`{str(part)[:40]}...` is nested too deeply")
        if part.type not in ("identifier", "number_literal") and self.defines and str(part) in self.defines:
            return self.defined(str(part), None)
        self.depth += 1
        try:
            handler = getattr(self, f"_{part.type}", None)
            if handler is None:
                self.unread(part, f"`{part}`, which is not read")
                return unknown(f"`{part}` is no integer constant")
            found: Value = handler(part)
            return found
        finally:
            self.depth -= 1

    def _number_literal(self, part: Part) -> Value:
        return literal(str(part), self.word)

    def _true(self, part: Part) -> Value:
        return self.name(part) if str(part) in self.file.macros else Value(1)

    def _false(self, part: Part) -> Value:
        return self.name(part) if str(part) in self.file.macros else Value(0)

    def _null(self, part: Part) -> Value:
        known = str(part) not in self.file.macros
        return Value(0, CType(self.word, pointer=True, step=1)) if known else self.name(part)

    def _char_literal(self, part: Part) -> Value:
        text = str(part)[1:-1]
        return Value(ord(text)) if len(text) == 1 and text.isascii() else unknown(f"`{part}`")

    def _identifier(self, part: Part) -> Value:
        return self.name(part)

    def _parenthesized_expression(self, part: Part) -> Value:
        return self.tracked(next(iter(part.parts()), None))

    def _binary_expression(self, part: Part) -> Value:
        op = part.node.child_by_field_name("operator")
        sign = op.type if op else ""
        truth = sign in ("&&", "||")
        marks, left = [self.mark()], self.truth(part.field("left")) if truth else self.value(part.field("left"))
        if sign in ("&&", "||") and left.number is not None and bool(left.number) == (sign == "||"):
            return Value(int(sign == "||"))
        if sign in ("&&", "||") and left.number is None:
            right = part.field("right")
            if right is not None:
                self.unread(right, f"the condition {part.field('left')}")
            return blurred(left)
        marks.append(self.mark())
        other = self.truth(part.field("right")) if truth else self.value(part.field("right"))
        if sign not in ("&&", "||") and self.open_in(part, [part.field("left"), part.field("right")], marks):
            return unknown(f"the order within `{part}` is the compiler's")
        return binary(sign, left, other)

    def _unary_expression(self, part: Part) -> Value:
        op = part.node.child_by_field_name("operator")
        return unary(op.type if op else "", self.value(part.field("argument")))

    def _conditional_expression(self, part: Part) -> Value:
        test = self.truth(part.field("condition"))
        yes, no = part.field("consequence"), part.field("alternative")
        if test.number is None:
            for branch in (yes, no):
                if branch is not None:
                    self.unread(branch, f"the condition {part.field('condition')}")
            return blurred(test)
        taken, other = (yes, no) if test.number else (no, yes)
        return chosen(self.value(taken), self.typed(other))

    def typed(self, part: Part | None) -> CType | None:
        """The type of an expression that does not run; None where it is not known."""
        part = bare(part)
        if part is None:
            return None
        op = part.node.child_by_field_name("operator")
        name = called_name(self.file, part) if part.type == "call_expression" else ""
        if part.type == "binary_expression" and op is not None:
            if op.type not in "+-*/%&|^":
                shifted = self.typed(part.field("left")) if op.type in ("<<", ">>") else INT
                return shifted and binary("+", Value(0, shifted), Value(0)).type
            left, right = self.typed(part.field("left")), self.typed(part.field("right"))
            plain = left is not None and right is not None and not (left.pointer or right.pointer)
            return binary("+", Value(0, left), Value(0, right)).type if plain and left and right else None
        if part.type == "call_expression" and name in self.file.functions:
            function = self.file.functions[name]
            declarator = function.field("declarator")
            return self.type_of(function.field("type"), declared(declarator)[2] if declarator else 0)
        macro = self.file.macros.get(name) if part.type == "call_expression" else None
        arguments = part.field("arguments")
        if macro is not None and macro.params is not None and arguments is not None:
            return self.typed(expanded(macro, [str(x) for x in arguments.parts()], part))
        if part.type in ELEMENTS:
            return self.static_type(part)
        if any(one.type in _DOES for one in part.every()):
            return None
        found = self.value(part)
        return found.type if found.number is not None else None

    def _comma_expression(self, part: Part) -> Value:
        self.tracked(part.field("left"))
        return self.value(part.field("right"))

    def _cast_expression(self, part: Part) -> Value:
        type_ = part.field("type")
        name = str(type_.field("type")) if type_ and not type_.field("declarator") else "pointer"
        return self.converted_to(self.value(part.field("value")), self.type_of(type_), name)

    def _sizeof_expression(self, part: Part) -> Value:
        type_ = self.type_of(part.field("type")) if part.field("type") else None
        if type_ is None and part.field("type") is not None:
            return self._array_size(part, part.field("type"))
        value = part.field("value")
        if value is not None:
            inner = value.parts()[0] if value.type == "parenthesized_expression" and value.parts() else value
            name = str(inner)
            for scope in reversed(self.scopes):
                size = scope.get(f"sizeof {name}")
                if size is not None:
                    return size
                if name in scope:
                    type_ = scope[name].type if name not in self.file.macros else None
                    break
            else:
                type_ = self.known.get(name)
        if type_ is None or type_.bits <= WORD:
            return unknown(f"`{part}` is not known")
        return Value(type_.size, CType(self.word))

    def _array_size(self, part: Part, type_: Part | None) -> Value:
        """`sizeof` of an array type."""
        inner = type_.field("declarator") if type_ is not None else None
        total = self.array_of(inner, type_.field("type"))[0] if type_ is not None and inner is not None else None
        return unknown(f"`{part}` is not known") if not total else Value(total, CType(self.word))

    def array_of(self, declarator: Part, type_: Part | None) -> tuple[int, int]:
        """(bytes of an array, bytes of one of its elements, or rows) by its declarator; 0 for what is not known."""
        sizes: list[int] = []
        node: Part | None = declarator
        while node is not None and node.type.endswith("array_declarator"):
            size = self.value(node.field("size")).number if node.field("size") is not None else None
            sizes.append(size if isinstance(size, int) and size > 0 else 0)
            node = node.field("declarator")
        stars = 0
        while node is not None and node.type.endswith("pointer_declarator"):
            stars, node = stars + 1, node.field("declarator") or next(iter(node.parts()), None)
        own = self.type_of(type_, stars)
        if own is None or own.bits <= WORD or not sizes or (node is not None and node.type != "identifier"):
            return 0, 0
        row = prod(sizes[:-1]) * own.size  # the last of the list is the outermost
        return row * sizes[-1], row

    def _pointer_expression(self, part: Part) -> Value:
        op, argument = part.node.child_by_field_name("operator"), part.field("argument")
        if op is not None and op.type == "*":
            return self.accessed(part, self.value(argument), None)
        if argument is not None and argument.type == "subscript_expression":
            return self.element(argument)
        why = f"the address `{part}` is known to the linker alone: --define '{part}=...'"
        return unknown(why, CType(self.word, pointer=True))

    def _subscript_expression(self, part: Part) -> Value:
        return self.accessed(part, self.element(part), None)

    def element(self, part: Part) -> Value:
        """The address of an element of an array."""
        array, index = self.value(part.field("argument")), self.value(part.field("index"))
        return binary("+", array, index) if array.type.pointer else unknown(f"`{part}` is an address")

    def _field_expression(self, part: Part) -> Value:
        self.value(part.field("argument"))
        return unknown(f"`{part}` is read from memory")

    def _call_expression(self, part: Part) -> Value:
        arguments = part.field("arguments")
        name, given = called_name(self.file, part), arguments.parts() if arguments else []
        if name in self.file.ambiguous:
            return self.ambiguous(part, name)
        macro = self.file.macros.get(name)
        if macro is not None and macro.params is not None:
            return self.expansion(part, name, [str(x) for x in given])
        function = part.field("function")
        if function is not None and function.type == "parenthesized_expression" and len(given) == 1:
            named = bare(function)  # `(T)(x)`, which the grammar takes for a call
            if named is not None and not self._is_value(name) and self.file.type_named(named, name) is not None:
                return self.converted_to(self.value(given[0]), self.type_of(named), name)
        return self.called(part, name, given)

    def _is_value(self, name: str) -> bool:
        return name in self.file.functions or any(name in scope for scope in self.scopes)
