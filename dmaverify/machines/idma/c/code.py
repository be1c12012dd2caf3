"""C text as a syntax tree: functions, macros, typedefs and constants of a file, with the place of every node.

Knows: tree-sitter's C grammar, `#define`, `#if`. Does not know: values, what a call means.
Law: a span points into the file that the user wrote; what a macro made points at its use. What the grammar cannot read
is an ERROR node, never an exception; a macro with two meanings has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from dmaverify.errors import InputError, Source, Span
from dmaverify.language.trees import Code, parser_of, walk
from dmaverify.machines.idma.c.headers import JoinedSource
from dmaverify.values import dataclass, field

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_BYTES = 2_000_000
MOST_SHOWN = 60  # characters of a line that is not read
_LITERAL = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
_APART = re.compile(rf"{_LITERAL}|/\*.*?\*/|//[^\n]*", re.DOTALL)
_TEXT = re.compile(
    rf"{_LITERAL}|/\*.*?\*/|//[^\n]*|^[ \t\f\v]*#(?:{_LITERAL}|/\*.*?\*/|\\[ \t\r]*\n|[^\n])*\n?",
    re.DOTALL | re.MULTILINE,
)
_SAYS = re.compile(r"\s*#\s*(?:[a-z_]+\s*\S|else|endif)")
_PLACE = rb"(?:__)?(?:aligned(?:__)?(?:\s*\(\s*\w+\s*\))?|section(?:__)?\s*\(\s*\"[^\"\n]*\"\s*\)|(?:un)?used(?:__)?)"
_PLACES = re.compile(rb"\s*__attribute__\s*\(\(\s*%b(?:\s*,\s*%b)*\s*\)\)" % (_PLACE, _PLACE))
_CHOSEN = ("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif")
_WORD = re.compile(r"[A-Za-z_]\w*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\d\w*")


@dataclass(frozen=True, slots=True)
class Macro:
    """A `#define`: parameters (None for a name alone), its text, and where it stands."""

    name: str
    params: tuple[str, ...] | None
    text: str
    part: Part = field(compare=False)


def tree_of(text: Code) -> Node:
    """The tree of a text."""
    return parser_of("c", "'dmaverify[c]'").parse(text.data).root_node


@dataclass(frozen=True, slots=True)
class Part:
    """A node with the text that it is part of."""

    node: Node
    text: Code

    def __str__(self) -> str:
        return " ".join(self.text.text(self.node).split())

    @property
    def type(self) -> str:
        return self.node.type

    @property
    def raw(self) -> Span:
        """Its place in the whole text, headers with it: what stands before what."""
        return self.text.span(self.node)

    @property
    def span(self) -> Span:
        """Its place in the file where it stands."""
        source = self.text.source
        return source.original(self.raw) if isinstance(source, JoinedSource) else self.raw

    def field(self, name: str) -> Part | None:
        found = self.node.child_by_field_name(name)
        return None if found is None else Part(found, self.text)

    def parts(self) -> list[Part]:
        """The named nodes below, without comments."""
        return [Part(n, self.text) for n in self.node.named_children if n.type != "comment"]

    def every(self) -> Iterator[Part]:
        """This node and all below."""
        return (Part(node, self.text) for node in walk(self.node))


@dataclass
class File:
    """What a file declares. `ambiguous` are macros with more than one meaning; `undefined` is what an `#if` asked for
    and nothing defines.
    """

    functions: dict[str, Part] = field(default_factory=dict)
    macros: dict[str, Macro] = field(default_factory=dict)
    ambiguous: set[str] = field(default_factory=set)
    meanings: dict[str, list[str]] = field(default_factory=dict)  # of macros, every text that they are given
    typedefs: dict[str, Part] = field(default_factory=dict)
    outside: list[Part] = field(default_factory=list)
    undefined: set[str] = field(default_factory=set)
    within: dict[str, list[Part]] = field(default_factory=dict)  # types that functions name for themselves, in order
    structs: dict[str, list[Part]] = field(default_factory=dict)  # all that the text defines, by their tags
    names: frozenset[str] = frozenset()  # of variables, functions, members, enumerators, wherever they are declared
    volatiles: frozenset[str] = frozenset()  # what is read through these names may be a register
    others: bool = False  # it includes what is not read: that may give names
    packs: bool = False  # a pragma says how structures are laid out
    steps: list[tuple[int, str, bool]] = field(default_factory=list)  # where macros begin and end to be defined

    def type_named(self, part: Part, name: str) -> Part | None:
        """The `typedef` that a name stands for where it is used; None where that is not known."""
        inner = self.typedefs.get(name)
        for one in self.within.get(name, ()):
            block: Node | None = one.node
            while block is not None and block.type not in ("compound_statement", *_CHOSEN):
                block = block.parent
            if one.text.at is not None or block is None or block.type in _CHOSEN:
                return None
            if one.raw.end <= part.raw.start < Part(block, one.text).raw.end:  # of a macro, where it is used
                inner = one
        return inner

    def struct_named(self, part: Part, tag: str) -> Part | None:
        """The structure that `struct tag` means where it is used; None where that is not known."""
        found = self.structs.get(tag, [])
        block: Node | None = found[0].node if len(found) == 1 else None
        while block is not None and block.type not in ("compound_statement", "translation_unit"):
            block = block.parent if block.type not in _CHOSEN else None
        if block is None or (part.text is found[0].text and part.node.start_byte < found[0].node.start_byte):
            return None
        inside = part.text is found[0].text and part.node.start_byte < block.end_byte
        return found[0] if inside or block.type == "translation_unit" else None

    def owns(self, part: Part) -> bool:
        """Whether a part stands in the file itself, and in no header of it."""
        return part.span.source.name == part.text.source.name

    def declares(self, name: str) -> bool:
        """Whether anything in the file says what a name is."""
        return name in self.names or name in self.macros

    def is_defined(self, name: str, at: int) -> bool | None:
        """Whether a macro is defined at a place of the text; None where nothing before it says."""
        before = [holds for place, one, holds in self.steps if one == name and place <= at]
        return before[-1] if before else None

    def define(self, macro: Macro) -> None:
        self.steps.append((macro.part.raw.start, macro.name, True))
        known = self.macros.get(macro.name)
        if known is not None and known != macro:
            self.ambiguous.add(macro.name)
        self.macros[macro.name] = macro
        self.meanings.setdefault(macro.name, []).append(macro.text)


def read_c(source: Source) -> tuple[Code, Part]:
    """The tree of a file. Raises InputError for a file that is too long."""
    data = ended_directives(source.text).encode()
    if len(data) > MAX_BYTES:
        raise InputError(f"{source.name} has {len(data):,} bytes", None, f"C files up to {MAX_BYTES:,} bytes are read")
    text = Code(source, data)
    root = tree_of(text)
    while (placed := _without_places(text, root)) != text.data:
        text = Code(source, placed)
        root = tree_of(text)
    return text, Part(root, text)


def _without_places(text: Code, root: Node) -> bytes:
    """The text with blanks for attributes behind a declarator that say where a variable lies, which the grammar does
    not know there: it takes the declaration to end before them.
    """
    data, left = text.data, [root]
    while left:
        node = left.pop()
        found = _PLACES.match(data, node.start_byte) if node.is_missing and node.type == ";" else None
        if found is not None:
            data = data[: found.start()] + re.sub(rb"[^\n]", b" ", found[0]) + data[found.end() :]
        left += node.children if node.has_error or node.is_missing else []
    return data


def ended_directives(text: str) -> str:
    """The text with every directive ended by its line break, and every token where it was: comments in directives and
    directives that say nothing are blank, and blanks before a line break stand behind it (the grammar reads on there).
    """
    return _TEXT.sub(lambda match: _ended(match[0]) if match[0].lstrip().startswith("#") else match[0], text)


def _ended(line: str) -> str:
    bare = _APART.sub(lambda m: m[0] if m[0][0] in "\"'" else re.sub(r"[^\n]", " ", m[0]), line)
    if not _SAYS.match(bare):
        return re.sub(r"[^\n]", " ", bare)
    return re.sub(r"([ \t\r\f\v]+)\n", r"\n\1", bare)


def no_c(part: Part) -> str:
    """Why a part is not read, with the first line in it that is no C."""
    span = next((one for one in part.every() if one.type == "ERROR" or one.node.is_missing), part).span
    first = span.source.text.split("\n")[span.line - 1].strip()
    return f"line {span.line} is not read as C: `{first if len(first) <= MOST_SHOWN else f'{first[:MOST_SHOWN]}...'}`"


def macro_of(part: Part) -> Macro | None:
    """The macro that a `#define` makes."""
    name, value, params = part.field("name"), part.field("value"), part.field("parameters")
    if name is None:
        return None
    body = re.sub(r"\\\r?\n", " ", value.text.text(value.node)) if value else ""
    body = re.sub(r"/\*.*?\*/|//[^\n]*", " ", body, flags=re.DOTALL)
    names = None if params is None else tuple(str(p) for p in params.parts())
    return Macro(str(name), names, body.strip(), name)


def expanded(macro: Macro, arguments: list[str] | None, use: Part, *, statement: bool = False) -> Part | None:
    """What a use of a macro becomes: an expression or a statement; None where it is neither.

    `#` and `##` are not read.
    """
    body = macro.text
    if "#" in body:
        return None
    if macro.params is not None:
        if arguments is None or len(arguments) != len(macro.params):
            return None
        given = dict(zip(macro.params, arguments, strict=True))
        body = _WORD.sub(lambda m: f" {given[m[0]]} " if m[0] in given else m[0], body)
    text, root = _in_function(use.text.source, body, use.raw.start, use.raw.end)
    if root.has_error or not root.named_children:
        return None
    block = root.named_children[0].child_by_field_name("body")
    inside = [n for n in block.named_children if n.type != "comment"] if block else []
    if statement:
        return Part(block, text) if block is not None else None
    if len(inside) != 1 or inside[0].type != "expression_statement" or not inside[0].named_children:
        return None
    return Part(inside[0].named_children[0], text)


@lru_cache(maxsize=512)  # a loop uses a macro again and again
def _in_function(source: Source, body: str, start: int, end: int) -> tuple[Code, Node]:
    text = Code(source, f"void f(void){{ {body}; }}".encode(), at=Span(source, start, end))
    return text, tree_of(text)


def declared(part: Part) -> tuple[str, str, int, Part | None]:
    """(name, kind of the outermost declarator, pointers, its array or function declarator) of a declarator."""
    pointers, outer, node = 0, "", part
    shape: Part | None = None
    while True:
        if node.type in ("identifier", "type_identifier", "field_identifier"):
            return str(node), outer, pointers, shape
        if "pointer" in node.type:
            pointers += 1
        elif node.type in ("array_declarator", "function_declarator"):
            outer, shape = node.type, node
        inner = node.field("declarator") or next(iter(node.parts()), None)
        if inner is None:
            return "", outer, pointers, shape
        node = inner


def returns(part: Part) -> bool:
    """Whether a statement ends the function, seen from its last one alone."""
    if part.type == "compound_statement":
        return bool(part.parts()) and returns(part.parts()[-1])
    return part.type == "return_statement"
