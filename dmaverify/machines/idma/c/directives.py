"""What a file of C says outside of functions: functions, macros, types, enumerators; `#if` as far as it is decided.

Knows: directives, and which parts of a file the compiler sees. Does not know: variables, statements, launches.
Law: of an `#if` the compiler's side is read, with names that nothing defines as 0.
"""

from __future__ import annotations

from collections.abc import Iterable

from dmaverify.machines.idma.c.code import Part, declared, macro_of
from dmaverify.machines.idma.c.effects import bare, becomes
from dmaverify.machines.idma.c.evaluate import MOST_DEPTH
from dmaverify.machines.idma.c.initial import InitialReader
from dmaverify.machines.idma.c.numbers import INT, LLONG, ULLONG, Value, binary, chosen, converted, unary, unknown
from dmaverify.values import replace


class FileReader(InitialReader):
    """Collects what stands outside of functions."""

    def declare(self, part: Part, *, keep: bool = True) -> None:
        """The variables of a declaration; without `keep`, what they hold is known of constants alone."""

    def collect(self, parts: Iterable[Part]) -> None:
        """Declarations outside of functions; `#if` by what is defined."""
        for part in parts:
            if part.type.startswith("preproc_"):
                self._directive(part)
            elif part.type in ("linkage_specification", "declaration_list"):
                self.collect(part.parts())
            elif part.type == "function_definition":
                self._entered(self.file.functions, part)
                if b"typedef" in (part.node.text or b""):
                    for inner in part.every():
                        if inner.type == "type_definition":
                            self.local_type(inner)
            elif part.type == "type_definition":
                self._entered(self.file.typedefs, part)
                self._enumerators(part)
            elif part.type == "declaration":
                self._enumerators(part)
                self.declare(part, keep=False)
            elif part.type == "enum_specifier":
                self._enumerators(part)
            else:
                self.file.outside.append(part)

    def _directive(self, part: Part) -> None:
        """A line of the preprocessor, with what stands below it."""
        if part.type in ("preproc_def", "preproc_function_def"):
            macro = macro_of(part)
            if macro is not None:
                self.file.define(macro)
        elif part.type == "preproc_call" and str(part).lstrip("# ").startswith("undef"):
            name = str(part).split()[-1]
            self.file.ambiguous.add(name)
            self.file.steps.append((part.raw.start, name, False))
        elif part.type in ("preproc_if", "preproc_ifdef", "preproc_elif"):
            self.collect(self._taken(part))
        elif part.type == "preproc_else":
            self.collect(part.parts())
        else:
            self.file.outside.append(part)

    @staticmethod
    def _entered(table: dict[str, Part], part: Part) -> None:
        declarator = part.field("declarator")
        if declarator is not None:
            table[declared(declarator)[0]] = part

    def _taken(self, part: Part) -> list[Part]:
        """The parts of an `#if` that the compiler sees."""
        alternative = part.field("alternative")
        own = [p for p in part.parts() if p.node not in (
            alternative.node if alternative else None, (part.field("name") or part).node,
            (part.field("condition") or part).node)]  # fmt: skip
        if part.type == "preproc_ifdef":
            known = self._is_defined(part.field("name") or part)
            holds = known == (part.node.children[0].type == "#ifdef")
        else:
            holds = bool(self._condition(part.field("condition")).number)
        return own if holds else [alternative] if alternative else []

    def _is_defined(self, part: Part) -> bool:
        """Whether a name is a macro where it stands; of what nothing says, that it is none is a condition."""
        name = str(part)
        known = self.file.is_defined(name, part.raw.start)
        if known is None and name not in self.defines:
            self.file.undefined.add(name)
        return name in self.defines if known is None else known

    def _condition(self, part: Part | None) -> Value:
        """The value of an `#if`, in the widest integers (C11, 6.10.1): names that nothing defines are 0, and so is
        what is not read, which is a condition.
        """
        found = self._widest(part)
        if found.number is None:
            self.file.undefined.add(f"`{part}`")
        return found if found.number is not None else Value(0, LLONG)

    def _widest(self, part: Part | None) -> Value:
        part = bare(part)
        if part is None:
            return Value(None)
        if part.type == "preproc_defined":
            return Value(int(self._is_defined(next(iter(part.parts()), part))), LLONG)
        if part.type in ("identifier", "call_expression", "preproc_call_expression"):
            return self._expanded(part)
        if part.type == "unary_expression":
            op = part.node.child_by_field_name("operator")
            return _wide(unary(op.type if op else "", self._widest(part.field("argument"))))
        if part.type == "binary_expression":
            op = part.node.child_by_field_name("operator")
            sign, left = op.type if op else "", self._widest(part.field("left"))
            if sign in ("&&", "||") and left.number is not None and bool(left.number) == (sign == "||"):
                return Value(int(sign == "||"), LLONG)
            return _wide(binary(sign, left, self._widest(part.field("right"))))
        if part.type == "conditional_expression":
            test = self._widest(part.field("condition"))
            sides = [self._widest(part.field(side)) for side in ("consequence", "alternative")]
            return test if test.number is None else _wide(chosen(sides[not test.number], sides[bool(test.number)].type))
        if part.type in ("number_literal", "char_literal"):
            return _wide(self.value(part), "u" in str(part).lower().removeprefix("0x"))
        return Value(None)

    def _expanded(self, part: Part) -> Value:
        """What a name of an `#if` is: the text of its macro, 0 where it is none."""
        name = part.field("function") or part
        if not self._is_defined(name):
            return Value(0 if part.type == "identifier" else None, LLONG)
        if str(name) not in self.file.macros:
            return _wide(self.defines.get(str(name), Value(None)))
        found = becomes(self.file, part)
        return Value(None) if found is None or self.depth > MOST_DEPTH else self._deeper(found)

    def _deeper(self, part: Part) -> Value:
        self.depth += 1
        try:
            return self._widest(part)
        finally:
            self.depth -= 1

    def _enumerators(self, part: Part) -> None:
        for inner in part.every():
            if inner.type != "enumerator_list":
                continue
            last = Value(-1)
            for one in inner.parts():
                if one.type == "enumerator":
                    given = one.field("value")
                    last = self.value(given) if given else binary("+", last, Value(1))
                    held, name = self.scopes[-1] if self.stack else self.constants, str(one.field("name"))
                    fits = last.number is None or -(1 << 31) <= last.number < 1 << 31
                    held[name] = replace(last, type=INT) if fits else unknown(f"the type of `{name}` is not int")

    def local_type(self, part: Part) -> None:
        """A type that a function names for itself: the name means it from there to the end of the block."""
        for child in part.node.children_by_field_name("declarator"):
            named = self.file.within.setdefault(declared(Part(child, part.text))[0], [])
            if part not in named:
                named.append(part)


def _wide(value: Value, unsigned: bool = False) -> Value:
    """A value of an `#if`: signed ones, and those that fit, are of the widest signed type."""
    if value.number is None:
        return value
    type_ = ULLONG if unsigned or value.number >= 1 << 63 or value.type == ULLONG else LLONG
    return converted(value, type_)
