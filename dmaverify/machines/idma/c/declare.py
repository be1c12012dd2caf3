"""What a file of C declares: functions, macros, types, constants, variables; `#if` as far as it is decided.

Knows: declarations, scopes, what may change a variable. Does not know: statements, launches.
Law: a variable that something unknown may change has no value; of an `#if` the compiler's side is read, with names
that nothing defines as 0.
"""

from __future__ import annotations

from collections.abc import Iterable

from dmaverify.machines.idma.c.code import Part, declared, macro_of
from dmaverify.machines.idma.c.evaluate import Evaluator
from dmaverify.machines.idma.c.numbers import INT, CType, Value, binary, unknown
from dmaverify.values import replace


class Declarer(Evaluator):
    """Collects what stands outside of functions, and holds variables."""

    stack = 0
    exposed: frozenset[str] = frozenset()
    """Variables whose address is taken in the function that runs."""

    # ------------------------------------------------------------ the file

    def collect(self, parts: Iterable[Part]) -> None:
        """Declarations outside of functions; `#if` by what is defined."""
        for part in parts:
            if part.type in ("preproc_def", "preproc_function_def"):
                macro = macro_of(part)
                if macro is not None:
                    self.file.define(macro)
            elif part.type == "preproc_call" and str(part).lstrip("# ").startswith("undef"):
                self.file.ambiguous.add(str(part).split()[-1])
            elif part.type in ("preproc_if", "preproc_ifdef", "preproc_elif"):
                self.collect(self._taken(part))
            elif part.type in ("preproc_else", "linkage_specification", "declaration_list"):
                self.collect(part.parts())
            elif part.type == "function_definition":
                declarator = part.field("declarator")
                if declarator is not None:
                    self.file.functions[declared(declarator)[0]] = part
            elif part.type == "type_definition":
                declarator = part.field("declarator")
                if declarator is not None:
                    self.file.typedefs[declared(declarator)[0]] = part
                self._enumerators(part)
            elif part.type == "declaration":
                self._enumerators(part)
                self._global(part)
            elif part.type == "enum_specifier":
                self._enumerators(part)
            else:
                self.file.outside.append(part)

    def _taken(self, part: Part) -> list[Part]:
        """The parts of an `#if` that the compiler sees."""
        alternative = part.field("alternative")
        own = [p for p in part.parts() if p.node not in (
            alternative.node if alternative else None, (part.field("name") or part).node,
            (part.field("condition") or part).node)]  # fmt: skip
        if part.type == "preproc_ifdef":
            name = str(part.field("name"))
            holds = (name in self.file.macros or name in self.defines) == (part.node.children[0].type == "#ifdef")
            if name not in self.file.macros and name not in self.defines:
                self.file.undefined.add(name)
        else:
            holds = bool(self._condition(part.field("condition")))
        return own if holds else [alternative] if alternative else []

    def _condition(self, part: Part | None) -> int:
        """The value of an `#if`: names that nothing defines are 0."""
        if part is None:
            return 0
        if part.type in ("preproc_defined", "identifier"):
            name = str(next(iter(part.parts()), part))
            known = name in self.file.macros or name in self.defines
            if not known:
                self.file.undefined.add(name)
            return 0 if not known else 1 if part.type == "preproc_defined" else (self.value(part).number or 0)
        if part.type == "unary_expression" and str(part).startswith("!"):
            return int(not self._condition(part.field("argument")))
        if part.type == "parenthesized_expression":
            return self._condition(next(iter(part.parts()), None))
        if part.type == "binary_expression":
            op = part.node.child_by_field_name("operator")
            sides = [Value(self._condition(part.field(side))) for side in ("left", "right")]
            return binary(op.type if op else "", *sides).number or 0
        return self.value(part).number or 0

    def _enumerators(self, part: Part) -> None:
        for inner in part.every():
            if inner.type != "enumerator_list":
                continue
            last = Value(-1)
            for one in inner.parts():
                if one.type == "enumerator":
                    given = one.field("value")
                    last = self.value(given) if given else binary("+", last, Value(1))
                    self.constants[str(one.field("name"))] = replace(last, type=INT)

    def _global(self, part: Part) -> None:
        fixed = any(str(p) == "const" for p in part.parts() if p.type == "type_qualifier")
        self.declare(part, keep=fixed)

    # ------------------------------------------------------------ variables

    def declare(self, part: Part, *, keep: bool = True) -> None:
        """The variables of a declaration; without `keep`, what they hold is not known."""
        type_part = part.field("type")
        for child in part.node.children_by_field_name("declarator"):
            one = Part(child, part.text)
            initial = one.field("value") if one.type == "init_declarator" else None
            inner = one.field("declarator") if one.type == "init_declarator" else one
            name, shape, pointers, array = declared(inner or one)
            type_ = self.type_of(type_part, pointers)
            if shape == "function_declarator":
                continue
            if shape == "array_declarator":
                self._array(name, type_, array, str(type_part))
                continue
            value = self.value(initial) if initial else unknown(f"`{name}` has no value here: --define {name}=...")
            value = self.converted_to(value, type_, "pointer" if pointers else str(type_part))
            words = {str(p) for p in part.parts() if p.type in ("type_qualifier", "storage_class_specifier")}
            moving = ("volatile" in words and not pointers) or ("static" in words and "const" not in words)
            fixed = keep and name not in self.exposed and not (moving and self.stack)
            if fixed and self.stack and initial is not None and value.number is None and value.launch is None:
                value = self.given(one, name, type_, value.why)
            if not fixed:
                value = unknown(f"`{name}` may be changed elsewhere: --define {name}=...", type_ or INT)
            self.scopes[-1][name] = value

    def _array(self, name: str, type_: CType | None, array: Part | None, said: str) -> None:
        size = self.value(array.field("size")) if array is not None and array.field("size") else unknown("")
        step = type_.size if type_ is not None and not type_.pointer else 0
        own = unknown(f"where `{name}` lies is known to the linker alone: --define {name}=ADDRESS",
                      CType(self.word, pointer=True, step=step))  # fmt: skip
        self.scopes[-1][name] = own
        self.arrays[name] = f"the {size.number * step:,} bytes of " if size.number is not None and step else ""
        if size.number is not None and step:
            self.scopes[-1][f"sizeof {name}"] = Value(size.number * step, CType(self.word))

    def assign(self, name: str, value: Value) -> None:
        for scope in reversed(self.scopes):
            if name in scope:
                old = scope[name].type
                if name in self.exposed or scope is self.scopes[0]:
                    scope[name] = unknown(f"`{name}` may be changed elsewhere: --define {name}=...", old)
                elif value.number is None:
                    scope[name] = replace(value, type=old)
                else:
                    scope[name] = self.converted_to(value, old, "")
                return
