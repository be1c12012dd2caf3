"""What a C file says beside its statements: pragmas and attributes, which may change what these do.

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
_ATTRIBUTE = re.compile(rf"(\w+)\s*(?:\({_NESTED}\))?")
_QUIET = frozenset((
    "access", "aligned", "alloc_size", "always_inline", "artificial", "cold", "const", "constructor", "deprecated",
    "destructor", "externally_visible", "fallthrough", "flatten", "format", "gnu_inline", "hot", "interrupt", "leaf",
    "malloc", "may_alias", "no_instrument_function", "noclone", "nocommon", "noinline", "nonnull", "nonstring",
    "noreturn", "nothrow", "optimize", "optnone", "packed", "pure", "retain", "returns_nonnull", "section", "sentinel",
    "tiny", "unused", "used", "vector_size", "visibility", "warn_unused_result",
))  # fmt: skip


def said_beside(text: str) -> Iterator[str]:
    """That each pragma (`omp parallel`) and attribute (`weak`, `cleanup`) which may do something changes nothing."""
    for pragma in _PRAGMA.findall(text):
        yield f"`#pragma {pragma}` changes nothing of what is launched"
    for several in _ATTRIBUTES.findall(text):
        for found in _ATTRIBUTE.finditer(several):
            name = found[1].strip("_")
            if name not in _QUIET and not name.startswith("no_sanitize"):
                yield f"`__attribute__(({' '.join(found[0].split())}))` changes nothing of what is launched"
