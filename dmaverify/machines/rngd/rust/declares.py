"""Names of the library and the language that the input declares: methods, constants, types of numbers. What has one of
these need not be what the library makes of it.

Knows: traits, impls, items and macros in all files to which names, `use` and `mod` lead.
Does not know: which type a method is called on.
Law: it errs towards declared. Where a macro writes `fn` before a name that it is given, every name that macros are
given is one; where a macro is not known, or a file included, every name is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.code import above, root_of
from dmaverify.machines.rngd.rust.integers import INTEGERS
from dmaverify.machines.rngd.rust.module import NameScope
from dmaverify.machines.rngd.rust.uses import STANDARD
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_MODULES = 2_000
_FN = re.compile(rb"\bfn\b")
_NEXT = re.compile(rb"(?:\s|//[^\n]*\n|/\*.*?\*/)*(?:r#)?(\w+|\(|.|$)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBERS = frozenset((*INTEGERS, "bool", "f32", "f64", "char"))
_IN_BRACKETS = re.compile(rf"[<,]\s*(?:r#)?({'|'.join(sorted(_NUMBERS))})\s*[,:=>]".encode())
STOPS = {"panic", "unreachable", "todo", "unimplemented"}
PRINTS = {*STOPS, "format", "print", "println", "eprint", "eprintln"}
ASSERTS = {"assert": "", "assert_eq": "==", "assert_ne": "!="}
"""Macros that stop, that print what they are given, and that ask (of two values, how they compare)."""
KNOWN_MACROS = {*PRINTS, *ASSERTS, *(f"debug_{name}" for name in ASSERTS), "vec", "axes", "m", "matches"}
"""Macros of the standard library and the vendor's: they declare no function, and read what they are given."""
LEAVES_NOTHING = {"cfg", "concat", "dbg", "env", "format_args", "line", "module_path", "stringify", "write", "writeln"}
"""Other macros of the standard library: what is behind them runs."""
_NO_ITEMS = {*KNOWN_MACROS, "thread_local", "compile_error", "macro_rules"}


@dataclass(frozen=True)
class _Names:
    """What one text declares: methods of traits, methods of anything, macros, and what macros may make of names."""

    of_traits: frozenset[str]
    every: frozenset[str]
    macros: frozenset[str]
    given: frozenset[str]  # names that macros are given
    called: frozenset[str]  # macros that are called where items stand
    writes: bool  # whether a macro writes `fn` before a name that it is given


def declares_method(scope: NameScope, name: str, *, of_integers: bool = False) -> bool:
    """Whether the input may declare a method of that name; `of_integers`: one that an integer has, so of a trait."""
    known = _names_of_all(scope.module, not of_integers)
    for one in _blocks(scope):
        for path in _leads(one):
            target = one.scope_at(path)
            known += _names_of_all(target, not of_integers) if target is not None else ()
    macros = frozenset(chain.from_iterable(one.macros for one in known)) | _NO_ITEMS
    if any(name in (one.of_traits if of_integers else one.every) or not one.called <= macros for one in known):
        return True
    return any(one.writes for one in known) and any(name in one.given for one in known)


def declares_constant(scope: NameScope, name: str) -> bool:
    """Whether the crate may declare a constant of that name, in a trait or anywhere, or call another crate by it."""
    sought = re.compile(rf"\b(?:const|extern\s+crate\s+\w+\s+as)\s+(?:r#)?(?:{re.escape(name)}\b|\$)".encode())
    codes = dict.fromkeys(code for one in modules_of(scope.module, True) for code in one.texts)
    return any(sought.search(code.data) for code in codes)


def renames_number(scope: NameScope, blocks: Iterable[NameScope] = ()) -> str:
    """A type of numbers or truths, as `u8`, that the crate, or a block of it, may declare anew; empty where it declares
    none. A module of the name is none: it takes no type from the language.
    """
    modules = modules_of(scope.module, True)
    for one in (*modules, *blocks):
        found = {*one.types, *one.twins, *(use.name for use in one.uses if not _of_language(use.path, use.name))}
        if names := found & _NUMBERS:
            return min(names)
    declared = (_generic_number(code) for code in dict.fromkeys(code for one in modules for code in one.texts))
    return next(filter(None, declared), "")


def _of_language(path: tuple[str, ...], name: str) -> bool:
    """Whether a `use` imports what has its name in the language anyway: `std::u8`, `core::primitive::u8`."""
    return path[-1] == name and path[0] in STANDARD


@lru_cache(maxsize=512)
def _generic_number(code: Code) -> str:
    """A type of numbers that is the name of a generic parameter in a text."""
    root = root_of(code.data)
    for found in _IN_BRACKETS.finditer(code.data):
        node = root.descendant_for_byte_range(found.start(1), found.end(1))
        around = node.parent if node is not None else None
        if around is not None and around.type == "type_parameter" and node == around.child_by_field_name("name"):
            return found[1].decode()
    return ""


def _leads(scope: NameScope) -> list[tuple[str, ...]]:
    """The modules that `use` names, each once."""
    paths = dict.fromkeys(use.path if use.name == "*" else use.path[:-1] for use in scope.uses)
    return [path for path in paths if path]


def _blocks(scope: NameScope) -> Iterator[NameScope]:
    while scope.kind == "block" and scope.around is not None:
        yield scope
        scope = scope.around


@lru_cache(maxsize=64)
def _names_of_all(module: NameScope, all_files: bool) -> tuple[_Names, ...]:
    """What the texts of all modules declare that a module names, or (`all_files`) that the crate has."""
    return tuple(
        _names(code) for code in dict.fromkeys(code for one in modules_of(module, all_files) for code in one.texts)
    )


@lru_cache(maxsize=64)
def modules_of(module: NameScope, all_files: bool) -> tuple[NameScope, ...]:
    """The modules that a module names, and those that they name; or (`all_files`) all that the crate has, and its
    libraries by a path where a name leads into them.
    """
    waits, met = [module.top, module], dict[NameScope, None]()
    while waits and len(met) < MOST_MODULES:
        scope = waits.pop()
        if scope in met:
            continue
        met[scope] = None
        found = [scope.scope_at(path) for path in _leads(scope)]
        found += [one.top for one in found if one is not None and all_files]
        found += [scope._submodule(name) for name in scope.elsewhere] if all_files else []
        waits += [one for one in (*found, *scope.modules.values(), *scope.inline) if one is not None]
    return tuple(met)


@lru_cache(maxsize=512)
def _names(code: Code) -> _Names:
    root, of_traits, every, writes = root_of(code.data), set[str](), set[str](), False
    for found in _FN.finditer(code.data):
        node = root.descendant_for_byte_range(found.start(), found.end())
        around = [] if node is None else [one.type for one in above(root, node)]
        if node is None or node.type in ("line_comment", "block_comment", "string_content", "doc_comment"):
            continue
        after = _NEXT.match(code.data, found.end())
        name = after[1].decode("utf-8", "replace") if after is not None else ""
        if any(kind.startswith(("token_", "macro_")) or kind == "ERROR" for kind in around):
            of_traits.add(name)
            every.add(name)
            writes = writes or not (name == "(" or _WORD.fullmatch(name))
        elif "declaration_list" in around[-2:-1] and around[-3:-2] in (["trait_item"], ["impl_item"]):
            every.add(name)
            of_traits.update({name} if around[-3] == "trait_item" else ())
    if b"!" not in code.data:
        none = frozenset[str]()
        return _Names(frozenset(of_traits), frozenset(every), none, none, none, writes)
    macros, given, called = set[str](), set[str](), set[str]()
    for node in walk(root):
        name = _called(code, node)
        if node.type == "macro_definition" or (name and name not in KNOWN_MACROS):
            given.update(_WORD.findall(code.text(node)))
        if node.type == "macro_definition" and (own := node.child_by_field_name("name")) is not None:
            macros.add(code.text(own))
        if name and node.parent is not None and _holds_items(node.parent):
            called.add(name)
    told = frozenset(of_traits), frozenset(every), frozenset(macros)
    return _Names(*told, frozenset(given), frozenset(called), writes)


def _called(code: Code, node: Node) -> str:
    name = node.child_by_field_name("macro") if node.type == "macro_invocation" else None
    return code.text(name).split("::")[-1].strip() if name is not None else ""


def _holds_items(node: Node) -> bool:
    """Whether what stands in a node is an item."""
    if node.type == "expression_statement" and node.parent is not None:
        node = node.parent
    return node.type in ("source_file", "declaration_list")
