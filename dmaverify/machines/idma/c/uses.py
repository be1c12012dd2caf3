"""What may be done to objects where a driver is looked through, not run: which are read there, set, or given away.

Knows: names in expressions, through macros. Does not know: values, what runs.
Law: an object that is named where no number of it, nor its size, is read may be set or given away there: it has no
values behind that; of a macro that is not read, this is so of every name in it.
"""

from __future__ import annotations

from dmaverify.machines.idma.c.aggregates import KnownPointer, WholeObject
from dmaverify.machines.idma.c.code import Part
from dmaverify.machines.idma.c.effects import ELEMENTS, SETS, becomes, deep, macro_at, names_in, root_of
from dmaverify.machines.idma.c.numbers import CType, Value
from dmaverify.machines.idma.c.objects import ObjectReader

_READS = ("binary_expression", "argument_list", "init_declarator", "assignment_expression", "return_statement",
          "expression_statement", "conditional_expression", "unary_expression", "cast_expression", "comma_expression",
          "subscript_expression", "initializer_list", "initializer_pair", "if_statement", "while_statement",
          "do_statement", "for_statement", "switch_statement", "sizeof_expression")  # fmt: skip


class ObjectUses(ObjectReader):
    """Looks for objects in what may run."""

    def mentions(self, part: Part, why: str, *, all_: bool = False, inside: frozenset[str] = frozenset()) -> None:
        """Objects that a part may set, or whose address it takes, have no values behind it."""
        if not any(type(value) is not Value for scope in self.scopes for value in scope.values()):
            return
        for one in part.every():
            found = self.lookup(one) if one.type == "identifier" else None
            if isinstance(found, (WholeObject, KnownPointer)) and found.place is not None:
                whole, use = found.place.whole, "" if all_ else self._use(one)
                if use == "set" and not whole.constant:
                    self.touched(whole)
                    self.forget(whole, (), whole.shape, f"`{whole.name}` depends on {why}")
                elif use != "read":
                    self.lose(whole, f"`{whole.name}` depends on {why}")
            name = macro_at(self.file, one)
            if name is not None and name not in inside:
                text = becomes(self.file, one, statement=True)
                for word in names_in(self.file, name) if text is None else ():
                    self._named_in_text(word, why)
                if text is not None:
                    self.mentions(text, why, all_=all_ or not _is_plain(one), inside=inside | {name})

    def _named_in_text(self, name: str, why: str) -> None:
        """An object whose name stands in the text of a macro that is not read."""
        found = next((scope[name] for scope in reversed(self.scopes) if name in scope), None)
        if isinstance(found, (WholeObject, KnownPointer)) and found.place is not None:
            self.lose(found.place.whole, f"`{name}` depends on {why}")

    def unread_macro(self, use: Part) -> None:
        self.mentions(use, f"`{use}`, a macro that is not read")

    def unfollowed(self, target: Part, why: str) -> None:
        """The target of an assignment that is not followed: what it is reached through is lost."""
        root = root_of(target)
        self.mentions(target, why)
        if macro_at(self.file, root) is not None:
            self.mentions(root, why, all_=True)

    def _use(self, name: Part) -> str:
        """What is done with an object where its name stands: a number of it, or its size, is `read`, or it is `set`."""
        held, node, above = self.lookup(name), name.node, name.node.parent
        follows = isinstance(held, WholeObject) and held.place is not None and isinstance(held.place.shape, CType)
        while above is not None:
            if above.type in ELEMENTS and above.child_by_field_name("argument") == node:
                if str(Part(above, name.text)).startswith("&"):
                    return ""
                follows = True
            elif above.type != "parenthesized_expression":
                break
            node, above = above, above.parent
        if above is not None and above.type == "sizeof_expression":
            return "read"
        whole = Part(node, name.text)
        if not follows or not isinstance(self.static_shape(whole), CType):
            return ""
        target = above is not None and above.child_by_field_name(SETS.get(above.type, "-")) == node
        return "set" if target else "read" if _is_plain(whole) else ""

    def only_read(self, name: str, declaration: Part) -> bool:
        """Whether the function around a declaration does nothing with a variable but to read numbers of it: what a
        static one holds is then what it began with, in every call.
        """
        node = declaration.node
        while node.parent is not None and node.type != "function_definition":
            node = node.parent
        return node.type == "function_definition" and all(
            self._reads_only(one, name, declaration) for one in deep(self.file, Part(node, declaration.text))
        )

    def _reads_only(self, one: Part, name: str, declaration: Part) -> bool:
        macro, above = macro_at(self.file, one), one.node.parent
        if macro is not None and (becomes(self.file, one, statement=True) is None or not _is_plain(one)):
            named = names_in(self.file, macro)
            return name not in (named if _is_plain(one) else {*named, *map(str, one.every())})
        if one.type != "identifier" or str(one) != name:
            return True
        if above is not None and above.child_by_field_name("declarator") == one.node:
            return declaration.raw.start <= one.raw.start < declaration.raw.end
        return self._use(one) == "read" if isinstance(self.lookup(one), WholeObject) else _is_plain(one)

    def private(self, part: Part) -> bool:
        """Whether an expression is a part of an object whose address is nowhere else."""
        root = self.operand(root_of(part))
        found = self.lookup(root) if root is not None and root.type == "identifier" else None
        known = isinstance(found, (WholeObject, KnownPointer)) and found.place is not None
        return known and self.designates(part) and not found.place.whole.escaped  # type: ignore[union-attr]


def _is_plain(part: Part) -> bool:
    """Whether the value of an expression is used where it stands, and nothing else of it."""
    node, above = part.node, part.node.parent
    while above is not None and above.type == "parenthesized_expression":
        node, above = above, above.parent
    if above is None or above.type not in _READS:
        return False
    other = {"subscript_expression": "argument", "assignment_expression": "left"}.get(above.type, "-")
    return above.child_by_field_name(other) != node
