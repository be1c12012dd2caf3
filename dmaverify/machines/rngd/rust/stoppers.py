"""Functions of the crate that may stop a run, by their names: what is asked where one of them is called and not read.

Knows: panics, arithmetic, indices, `unwrap` and loops in bodies, what bodies call; impls of traits that the language
runs where no call is written (`Drop`, `Add`, `Index`, `Deref`).
Does not know: values, which of several functions of a name is called.
Law: it errs towards stopping. A function of which every part is followed is never asked about.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.code import child
from dmaverify.machines.rngd.rust.declares import ASSERTS, KNOWN_MACROS, LEAVES_NOTHING, STOPS, modules_of
from dmaverify.machines.rngd.rust.module import Item, NameScope
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

_NONE: dict[str, list[Item]] = {}
_SIGNS = ("+", "-", "*", "/", "%", "<<", ">>")
_STOPS = {*STOPS, *ASSERTS, *(f"debug_{name}" for name in ASSERTS)}
_SILENT = {*KNOWN_MACROS, *LEAVES_NOTHING, "i"} - _STOPS
_WORD = re.compile(rb"[A-Za-z_]\w*")
ENDS = {
    ("process", "exit"), ("process", "abort"), ("panic", "panic_any"), ("panic", "resume_unwind"),
    ("intrinsics", "abort"), ("hint", "unreachable_unchecked"),
}  # fmt: skip
"""Functions of the standard library that nothing comes back from."""
_OF_LISTS = re.compile(
    r"(?:split_at|rotate|select_nth|copy|clone|swap)_\w+|split_at|split_off|remove|insert|swap|drain|splice|windows"
    r"|r?chunks(?:_exact)?(?:_mut)?|step_by|ilog|(?:unwrap|expect)_err|borrow(?:_mut)?|extend_from_within"
    r"|insert_str|replace_range|truncate"
)
_OF_TEXT = re.compile(
    r"from_(?:digit|str_radix|secs_f32|secs_f64)|to_digit|clamp|(?:overflowing|strict)_(?:div|rem)\w*|strict_\w+"
)
"""Methods and functions of the standard library that stop for some of what they are given, in every build."""
_ASKING = {"unwrap", "expect", "pow", "abs", "div_ceil", "next_power_of_two", "ilog2", "ilog10", "sum", "product"}
"""Others, of which is asked where they stand if that is read."""
_IN_TOKENS = re.compile(rb"\w\s*[\[!]|[-+*/%]|<<|>>|\.\s*(?:unwrap|expect)\b|panic")


def may_stop(scope: NameScope, name: str) -> bool:
    """Whether a function of the crate with that name may stop a run, or what it calls by any name may."""
    index = _by_name(modules_of(scope.module, True))
    return name in index.functions and any(map(_stops, _reached(index, [name], _NONE)))


def hidden_stop(item: Item) -> bool:
    """Whether a run of a function may stop in what the language calls by itself, as `drop` or `add`: in an impl of a
    type that the function names, or what it calls.
    """
    index = _by_name(modules_of(item.scope.module, True))
    words = _words(item.code, item.node) if index.hidden else set[str]()
    words = words.union(*(_words(one.code, one.node) for one in _reached(index, words, index.types)))
    hidden = [one for of in index.hidden.keys() & words for one in index.hidden[of]]
    return any(_stops(own) for one in hidden for own in (one, *_reached(index, _words(one.code, one.node), _NONE)))


def stops_when_named(item: Item) -> bool:
    """Whether a constant runs something when it is used that may stop: a closure of its own."""
    value = item.node.child_by_field_name("value") if item.kind in ("const", "variable") else None
    closures = [] if value is None else [one for one in walk(value) if one.type == "closure_expression"]
    return any(_stop_in(item.code, one) for closure in closures for one in walk(closure))


def stops_when_called(item: Item) -> bool:
    """Whether what a constant holds may stop a run where it is called: a function that it names, or a closure."""
    value = item.node.child_by_field_name("value")
    names = _words(item.code, value) if value is not None else set[str]()
    return stops_when_named(item) or any(may_stop(item.scope, name) for name in names)


@dataclass(frozen=True)
class _Index:
    """Functions and types of a crate by their names, and by its type what an impl has of a trait from elsewhere."""

    functions: Mapping[str, list[Item]]
    types: Mapping[str, list[Item]]
    hidden: Mapping[str, list[Item]]


@lru_cache(maxsize=16)
def _by_name(modules: tuple[NameScope, ...]) -> _Index:
    functions, types, hidden = (defaultdict[str, list[Item]](list) for _ in range(3))
    for one in (one for module in modules for one in module.types.values() if one.kind != "axis"):
        types[one.name].append(one)
    for one in (one for module in modules for one in module.functions if not one.left_out):
        functions[one.name].append(one)
        around = one.node.parent.parent if one.kind == "method" and one.node.parent is not None else None
        of, trait = (around.child_by_field_name(field) if around is not None else None for field in ("type", "trait"))
        known = one.scope.find(_last(one.code, trait)) if trait is not None else None
        if of is not None and trait is not None and (known is None or known.kind != "trait"):
            hidden[_last(one.code, of)].append(one)
    return _Index(functions, types, hidden)


def _reached(index: _Index, words: Iterable[str], types: Mapping[str, list[Item]]) -> Iterator[Item]:
    """The functions, and perhaps types, that words name, and those that these name."""
    met, todo = set[str](), [*words]
    while todo:
        word = todo.pop()
        if word in met:
            continue
        met.add(word)
        for one in (*index.functions.get(word, ()), *types.get(word, ())):
            yield one
            todo += _words(one.code, one.node)


def _words(code: Code, node: Node) -> set[str]:
    return {one.decode() for one in _WORD.findall(code.data[node.start_byte : node.end_byte])}


def _last(code: Code, node: Node) -> str:
    """The last name of a type or a trait, without generic arguments."""
    return code.text(node).split("<")[0].split("::")[-1].strip("&' ")


def _stops(item: Item) -> bool:
    body = item.node.child_by_field_name("body")
    return body is not None and any(_stop_in(item.code, one) for one in walk(body))


def _stop_in(code: Code, node: Node) -> bool:
    """Whether a node by itself may stop a run, or keep it from going on."""
    kind = node.type
    if kind in ("index_expression", "loop_expression", "while_expression", "compound_assignment_expr"):
        return True
    if kind in ("binary_expression", "unary_expression"):
        sign = node.child_by_field_name("operator") or node.children[0]
        literal = kind == "unary_expression" and node.children[-1].type.endswith("literal")
        return sign.type in _SIGNS and not literal and not (kind == "unary_expression" and sign.type == "*")
    if kind == "macro_invocation":
        name, tokens = node.child_by_field_name("macro"), child(node, "token_tree")
        macro = code.text(name).split("::")[-1] if name is not None else ""
        if macro in ("m", "i", "axes"):
            return False
        inner = b"" if tokens is None else code.data[tokens.start_byte : tokens.end_byte]
        return macro not in _SILENT or _IN_TOKENS.search(_without_texts(inner)) is not None
    called = _called(code, node)
    ends = called in _ASKING or called in {one for _, one in ENDS}
    return bool(called) and (ends or library_stops(code, node, called))


def _without_texts(tokens: bytes) -> bytes:
    return re.sub(rb'"(?:[^"\\]|\\.)*"', b"", tokens, flags=re.DOTALL)


def _called(code: Code, node: Node) -> str:
    """The name of what a call calls."""
    function = node.child_by_field_name("function") if node.type == "call_expression" else None
    if function is not None and function.type == "generic_function":
        function = function.child_by_field_name("function")
    if function is None:
        return ""
    return code.text(function.child_by_field_name("field") or function.child_by_field_name("name") or function)


def library_stops(code: Code, node: Node, name: str) -> bool:
    """Whether a call of the standard library may stop a run, whatever numbers the run is given."""
    function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    method = function is not None and function.type == "field_expression"
    whole = given is not None and code.text(given) == "(..)"
    return _OF_TEXT.fullmatch(name) is not None or (method and not whole and _OF_LISTS.fullmatch(name) is not None)
