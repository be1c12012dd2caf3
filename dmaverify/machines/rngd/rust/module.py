"""Items and the names they have: modules, blocks, `use`, `axes!`, type aliases, structs, functions, macros.

Knows: Rust's scopes: items of a block are visible in all of it and shadow those around it; a module sees its own items
and what it imports; glob imports come last.
Does not know: files (`crate` opens them), what a type or a function body means.
Law: a name means what rustc would make it mean, or nothing; private or public makes no difference here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from dmaverify.errors import Span
from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.cfg import built, configured
from dmaverify.machines.rngd.rust.code import child, in_build
from dmaverify.machines.rngd.rust.macros import Rules, expand, read_rules
from dmaverify.machines.rngd.rust.uses import UsePath, imports, uses_of
from dmaverify.values import dataclass, field, replace

if TYPE_CHECKING:
    from tree_sitter import Node

T = TypeVar("T")
Found = Callable[[tuple[str, ...]], T | None]
_AXIS = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*([^,]+?)\s*(?:,|$)")
_CALLABLE = re.compile(r"\b([A-Z]\w*)\s*:[\s\w+']*\b(?:Fn|FnMut|FnOnce|AsyncFn\w*)\s*\(")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
MAX_EXPANSIONS = 400  # macro invocations that one module expands, nested ones included
MAX_NESTED = 24  # macros within the expansions of macros
_KINDS = {
    "type_item": "type", "struct_item": "struct", "enum_item": "enum", "union_item": "enum", "trait_item": "trait",
    "function_item": "fn", "const_item": "const", "static_item": "const", "mod_item": "mod",
}  # fmt: skip
_PATH = re.compile(r'#\[\s*path\s*=\s*"([^"]*)"\s*\]')


@dataclass(eq=False)
class Item:
    """A named thing of a scope. `text` is the size of an axis; `attributes` are those above it, as text."""

    kind: str
    name: str
    code: Code
    node: Node
    scope: NameScope
    text: str = ""
    attributes: tuple[str, ...] = ()
    left_out: str = ""  # the condition that leaves a function out of the build

    @property
    def head(self) -> str:
        """The text of a function before its body."""
        body = self.node.child_by_field_name("body")
        end = body.start_byte if body is not None else self.node.end_byte
        return self.code.data[self.node.start_byte : end].decode("utf-8", "replace")

    @property
    def parameters(self) -> list[Node]:
        """Those of a function that the build has."""
        found = self.node.child_by_field_name("parameters")
        told = in_build(self.code, found.named_children if found is not None else (), self.scope.module.features)
        return [one for one, _, there in told if there is not False]

    @property
    def callables(self) -> frozenset[str]:
        """The generic parameters that are functions or closures: no type of a tensor depends on them."""
        return frozenset(_CALLABLE.findall(self.head))

    @property
    def generics(self) -> list[tuple[str, str]]:
        """(name, kind) of those of its generic parameters that the build has, without lifetimes; kind is `type` or
        `const`. What stands behind one of which only the compiler knows has no place that is known: no argument in
        order gets to it.
        """
        found = self.node.child_by_field_name("type_parameters")
        told = in_build(self.code, found.named_children if found is not None else (), self.scope.module.features)
        out: list[tuple[str, str]] = []
        for one, _, there in told:
            name = one.child_by_field_name("name") or (one if one.type == "type_identifier" else None)
            if name is None or there is False or one.type in ("lifetime_parameter", "lifetime"):
                continue
            if there is None and ("?", "const") not in out:
                out += [("?", "const")] * len(told)
            out.append((self.code.text(name), "const" if one.type == "const_parameter" else "type"))
        return out


@dataclass(eq=False)
class NameScope:
    """A module or a block. `around` is the scope around a block, or around the module (for `super`)."""

    kind: str
    name: str
    around: NameScope | None
    types: dict[str, Item] = field(default_factory=dict)
    values: dict[str, Item] = field(default_factory=dict)
    macros: dict[str, Rules] = field(default_factory=dict)
    uses: list[UsePath] = field(default_factory=list)
    impls: list[tuple[Code, Node, NameScope]] = field(default_factory=list)  # those that the build has
    met: list[str] = field(default_factory=list)  # every name that is declared or imported, in order
    twins: set[str] = field(default_factory=set)  # names of which only the compiler knows what they mean
    paths: dict[str, str] = field(default_factory=dict)  # the files that `#[path = ..]` gives modules
    modules: dict[str, NameScope] = field(default_factory=dict)
    opens: Callable[[str], NameScope | None] | None = None  # a module by its name, from a file
    root: NameScope | None = None
    extern: Callable[[str], NameScope | None] | None = None
    expanded: list[tuple[Code, Node]] = field(default_factory=list)
    inline: list[NameScope] = field(default_factory=list)
    functions: list[Item] = field(default_factory=list)
    texts: set[Code] = field(default_factory=set)  # those that a module was read from
    elsewhere: list[str] = field(default_factory=list)  # modules that have files of their own
    tried: set[tuple[str, str]] = field(default_factory=set)
    nested: int = 0
    known: dict[tuple[tuple[str, ...], bool], Item | None] = field(default_factory=dict)  # what names meant so far
    features: frozenset[str] = frozenset()  # of the crate, at its root and its files

    @property
    def module(self) -> NameScope:
        scope = self
        while scope.kind == "block" and scope.around is not None:
            scope = scope.around
        return scope

    @property
    def top(self) -> NameScope:
        return self.module.root or self.module

    # ------------------------------------------------------------ names

    def find(self, name: str, values: bool = False) -> Item | None:
        """What a bare name means here."""
        key = ((name,), values)
        if key not in self.known:
            own = self._inside(name, values)
            ends = own is not None or name in self.twins or self.kind != "block" or imports(self.uses, name, values)
            outer = None if ends else self.around
            self.known[key] = outer.find(name, values) if outer is not None else own
        return self.known[key]

    def path(self, parts: tuple[str, ...], values: bool = False) -> Item | None:
        """What `a::b::c` means here."""
        if len(parts) < 2:
            return self.find(parts[0], values) if parts else None
        key = (parts, values)
        if key not in self.known:
            scope = self.scope_at(parts[:-1])
            self.known[key] = scope._inside(parts[-1], values) if scope is not None else None
        return self.known[key]

    def _inside(self, name: str, values: bool) -> Item | None:
        """An item of this scope by itself: its own, else one it imports by name, else by `*`."""
        own = (self.values if values else self.types).get(name)
        if own is not None or name in self.twins:
            return own

        def inside(path: tuple[str, ...], name: str) -> Item | None:
            scope = self.scope_at(path)
            return scope._inside(name, values) if scope is not None else None

        named = lambda path: inside(path[:-1], path[-1]) if len(path) > 1 else None  # noqa: E731
        return self._used(name, "value" if values else "type", named, lambda path: inside(path, name))

    def _used(
        self, name: str, kind: str, named: Found[T], starred: Found[T], first: Callable[[], T | None] = lambda: None
    ) -> T | None:
        """What `first` gives, else a `use` of the name, else one of `*`; nothing while that is sought already, nor
        where it hangs on the build which of several `*` gives it.
        """
        if (name, kind) in self.tried:
            return None
        self.tried.add((name, kind))
        try:
            if (own := first()) is not None:
                return own
            for word, found in ((name, named), ("*", starred)):
                uses = {use.path: use for use in self.uses if use.name == word}
                made = [(one, use) for use in uses.values() if (one := found(use.path)) is not None]
                if made:
                    others = any(one is not made[0][0] for one, _ in made)
                    return None if others and not all(use.sure for _, use in made) else made[0][0]
        finally:
            self.tried.discard((name, kind))
        return None

    def scope_at(self, path: tuple[str, ...]) -> NameScope | None:
        if not path:
            return self.top
        scope = self._module_of(path[0])
        for part in path[1:]:
            scope = scope._submodule(part) if scope is not None else None
        return scope

    def _module_of(self, name: str) -> NameScope | None:
        """The module that the first part of a path names."""
        if name == "crate" or name == "$crate":
            return self.top
        if name == "self":
            return self.module
        if name == "super":
            return self.module.around.module if self.module.around is not None else None
        scope: NameScope | None = self
        while scope is not None:
            found = scope._submodule(name)
            if found is not None:
                return found
            scope = scope.around if scope.kind == "block" else None
        return self.module.extern(name) if self.module.extern is not None else None

    def _submodule(self, name: str) -> NameScope | None:
        if name == "super":
            return self.module.around.module if self.module.around is not None else None
        if name == "self":
            return self
        if name in self.modules or name in self.twins:
            return self.modules.get(name)

        def opened() -> NameScope | None:
            at = getattr(self.opens, "at", None) if name in self.paths else self.opens
            made = at(*((name, self.paths[name]) if name in self.paths else (name,))) if at is not None else None
            if made is not None:
                self.modules[name] = made
            return made

        def starred(path: tuple[str, ...]) -> NameScope | None:
            around = self.scope_at(path)
            return around._submodule(name) if around is not None and around is not self else None

        return self._used(name, "module", self.scope_at, starred, opened)

    def macro(self, name: str, call: Span | None = None) -> Rules | None:
        """A `macro_rules!` by its name, as textual scope has it where a `call` stands, or last here or around; one
        without arms where only the compiler knows which it is.
        """
        last = Rules(name) if name in self.twins else self.macros.get(name)
        found = last.seen_from(call) if last is not None else None
        return found or (self.around.macro(name, call) if self.around is not None else None)


# ---------------------------------------------------------------- reading items


def fill(scope: NameScope, code: Code, nodes: Iterable[Node]) -> None:
    """Puts the items among `nodes` into the scope, those of its inline modules into theirs.

    Items that a `#[cfg(...)]` leaves out come last: a name means the one that is there, and the other is read as well.
    A name of several items of which only the compiler knows which are there means nothing, nor one that is half typed.
    """
    left: list[tuple[Node, tuple[str, ...]]] = []
    names: Counter[str] = Counter()
    features = scope.module.features
    scope.texts.add(code)
    for node, above, there in in_build(code, nodes, features):
        if there is False:
            left.append((node, above))
            continue
        met, uses = len(scope.met), len(scope.uses)
        _take(scope, code, node, above)
        broken = node.has_error and node.type in ("const_item", "static_item", "type_item")
        broken |= there is None and node.type == "macro_definition"  # another of its name, earlier or around, is seen
        if there is None or broken:
            names.update([*{*scope.met[met:]}] * (1 + broken))
            scope.uses[uses:] = [replace(use, sure=False) for use in scope.uses[uses:]]
    every: tuple[dict[str, Any], ...] = (scope.types, scope.values, scope.modules, scope.macros)
    known = [dict(own) for own in every]
    for node, above in left:
        before = len(scope.functions), len(scope.inline), len(scope.impls)
        if node.type not in ("use_declaration", "macro_definition"):
            _take(scope, code, node, above)
        condition = next((text for text in above if not configured(text, features)), "")
        if condition:
            _leave_out(scope.functions[before[0] :], scope.inline[before[1] :], condition)
            del scope.impls[before[2] :]
    for own, was in zip(every, known, strict=True):
        own.update(was)
    for twin in (name for name, count in names.items() if count > 1):
        scope.twins.add(twin)
        for own in every:
            own.pop(twin, None)


def _leave_out(functions: Iterable[Item], scopes: Iterable[NameScope], condition: str) -> None:
    """Marks functions, and those of modules, as no part of this build."""
    for item in functions:
        item.left_out = condition
    for scope in scopes:
        _leave_out(scope.functions, scope.inline, condition)


def _take(scope: NameScope, code: Code, node: Node, attributes: tuple[str, ...]) -> None:
    if node.type in _KINDS:
        _declare(scope, code, node, attributes)
    elif node.type == "use_declaration":
        argument = node.child_by_field_name("argument")
        uses = list(uses_of(code, argument, ())) if argument is not None else []
        scope.uses += uses
        scope.met += [use.name for use in uses if use.name not in ("*", "_")]
    elif node.type == "impl_item":
        scope.impls.append((code, node, scope))
        _methods(scope, code, node)
    elif node.type == "macro_definition":
        name = node.child_by_field_name("name")
        if name is not None:
            scope.macros[code.text(name)] = read_rules(code, node, scope.macros.get(code.text(name)))
            scope.met.append(code.text(name))
    elif node.type in ("macro_invocation", "expression_statement"):
        made = node if node.type == "macro_invocation" else child(node, "macro_invocation")
        if made is not None:
            _invoke(scope, code, made)


def _declare(scope: NameScope, code: Code, node: Node, attributes: tuple[str, ...]) -> None:
    name_node = node.child_by_field_name("name")
    if name_node is None:
        return
    kind, name = _KINDS[node.type], code.text(name_node)
    if node.type == "static_item" and child(node, "mutable_specifier") is not None:
        kind = "variable"
    scope.met.append(name)
    item = Item(kind, name, code, node, scope, attributes=attributes)
    if kind in ("fn", "const", "variable"):
        scope.values.setdefault(name, item)
    if kind == "fn":
        scope.functions.append(item)
    elif kind == "mod":
        body = node.child_by_field_name("body")
        if body is not None:
            around = scope.module
            inner = NameScope("module", name, scope, root=scope.top, extern=around.extern, features=around.features)
            inner.opens = _below(scope.opens, name)
            scope.modules[name] = inner
            scope.inline.append(inner)
            fill(inner, code, body.children)
            if any("macro_use" in text for text in attributes):
                scope.twins |= inner.macros.keys() & scope.macros.keys()
        else:
            scope.elsewhere.append(name)
        for text in attributes if body is None else ():
            if (found := _PATH.fullmatch(text)) is not None:
                scope.paths.setdefault(name, found[1])
            elif "cfg_attr" in text and "path" in text:
                scope.twins.add(name)
    elif kind == "trait":
        scope.types.setdefault(name, item)
        _methods(scope, code, node)
    elif kind not in ("const", "variable"):
        scope.types.setdefault(name, item)


def _below(opens: Callable[[str], NameScope | None] | None, name: str) -> Callable[[str], NameScope | None] | None:
    """The files of an inline module's own modules, where the opener knows folders."""
    nested = getattr(opens, "below", None)
    return None if nested is None else nested(name)


def _methods(scope: NameScope, code: Code, node: Node) -> None:
    """The functions with a body of an `impl` or `trait`, for reading; they have no name in the scope."""
    body, features = node.child_by_field_name("body"), scope.module.features
    for one, above, _ in in_build(code, body.children if body is not None else (), features):
        if one.type == "function_item":
            name = one.child_by_field_name("name")
            item = Item("method", code.text(name) if name is not None else "", code, one, scope, attributes=above)
            item.left_out = next((text for text in above if built(text, features) is False), "")
            scope.functions.append(item)


def _invoke(scope: NameScope, code: Code, node: Node) -> None:
    """An item-level macro: `axes!` declares, a known `macro_rules!` is expanded and read."""
    name, body = node.child_by_field_name("macro"), child(node, "token_tree")
    if name is None or body is None:
        return
    called = code.text(name).split("::")[-1]
    if called == "axes" and scope.macro(called) is None:
        declare_axes(scope, code, body)
        return
    rules, module = scope.macro(called), scope.module
    if rules is None or scope.kind != "module" or len(module.expanded) >= MAX_EXPANSIONS or module.nested >= MAX_NESTED:
        return
    made = expand(rules, code, body)
    if made is not None:
        module.expanded.append((made.code, made.root))
        module.nested += 1
        fill(scope, made.code, made.root.children)
        module.nested -= 1


def declare_axes(scope: NameScope, code: Code, body: Node) -> None:
    """`A = 8, B = 2 * N`: each name an axis; its size is read where it is used."""
    text = _COMMENT.sub(lambda found: " " * len(found[0]), code.text(body))
    inner, at = text[1:-1], 0
    while at < len(inner):
        found = _AXIS.match(inner, at)
        if found is None:
            break
        scope.types[found[1]] = Item("axis", found[1], code, body, scope, found[2])
        scope.met.append(found[1])
        at = found.end()
