"""What a C file says beside its statements: pragmas, attributes and names for the assembler, which may change what
these do.

Knows: those of layout (read where they matter), of places, warnings and optimization. Does not know: where one stands.
Law: any other one is named, as a condition of what is said of the file.

Source: GCC manual (pragmas, attributes).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_PRAGMA = re.compile(
    r"^[ \t]*#[ \t]*pragma[ \t]+"
    r"(?!(?:once|pack|GCC|clang|STDC|(?:no)?unroll|(?:push|pop)_macro|(?:end)?region|message)\b)(\S[^\n]*?)[ \t\r]*$",
    re.MULTILINE,
)
_NESTED = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"
_ATTRIBUTES = re.compile(rf"__attribute(?:__)?\s*\(\(({_NESTED})\)\)")
_BRACKETS = re.compile(r"\[\[([^\[\]]*)\]\]")
_LABEL = re.compile(r'\)\s*(?:__asm__|__asm|asm)\s*\(\s*("[^"\n]*")\s*\)')
_CALLED = re.compile(r"\b(?!__|(?:if|for|while|switch)\b)(\w+)\s*\(")
_ATTRIBUTE = re.compile(rf"(?:\w+\s*::\s*)?(\w+)\s*(?:\({_NESTED}\))?")
_QUIET = frozenset((
    "access", "aligned", "alloc_size", "always_inline", "artificial", "cold", "const", "constructor", "deprecated",
    "destructor", "externally_visible", "fallthrough", "flatten", "format", "gnu_inline", "hot", "interrupt", "leaf",
    "likely", "malloc", "may_alias", "maybe_unused", "no_instrument_function", "noclone", "nocommon", "nodiscard",
    "noinline", "nonnull", "nonstring", "noreturn", "nothrow", "optimize", "optnone", "packed", "pure", "retain",
    "returns_nonnull", "section", "sentinel", "tiny", "unlikely", "unused", "used", "vector_size", "visibility",
    "warn_unused_result",
))  # fmt: skip


def said_beside(text: str) -> Iterator[str]:
    """That each pragma (`omp parallel`), attribute (`weak`) and name for the assembler that may do something changes
    nothing.
    """
    for pragma in _PRAGMA.findall(text):
        yield f"`#pragma {pragma}` changes nothing of what is launched"
    for label in _LABEL.finditer(text):
        begins = max(text.rfind(mark, 0, label.start()) for mark in ";{}") + 1
        named = _CALLED.search(text, begins, label.start())
        if named is not None:
            yield f"`{named[1]}`, which is {label[1]} for the assembler, is what its name says"
    for written, lists in (("__attribute__((%s))", _ATTRIBUTES), ("[[%s]]", _BRACKETS)):
        for found in (one for several in lists.findall(text) for one in _ATTRIBUTE.finditer(several)):
            name = found[1].strip("_")
            if name not in _QUIET and not name.startswith("no_sanitize"):
                yield f"`{written % ' '.join(found[0].split())}` changes nothing of what is launched"
