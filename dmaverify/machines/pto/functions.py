"""The functions of a text, and what the modules around them say of the core and the machine that they are for.

Knows: modules, their attributes, who calls whom. Does not know: statements.
Law: what a module says holds for every function in it, however deep, and for those that call one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from dmaverify.errors import InputError, Span
from dmaverify.machines.pto.generic import attributes, for_cube, is_generic
from dmaverify.machines.pto.mlir import Op, walk
from dmaverify.values import dataclass, replace

_CALLS = ("func.call", "call")
_MACHINE = "pto.target_arch"
Machines = tuple[tuple[str, Span], ...]


@dataclass(frozen=True)
class FoundFunction:
    """A function of a text; `cube`: for that core; `machines` as modules name those that it is for; `called` by another
    function, in which it is judged.
    """

    op: Op
    cube: bool
    machines: Machines
    called: bool = False

    @property
    def name(self) -> str:
        return symbol_of(self.op)


def functions_in(ops: Sequence[Op]) -> tuple[list[FoundFunction], dict[str, Op], list[FoundFunction]]:
    """The functions of a text in order, those whose name stands once by name (of two it is open which is meant), and
    operations outside of any, one by one. Raises InputError for a function without a name.
    """
    loose: list[FoundFunction] = []
    found = list(_within(ops, loose, False, ()))
    names = Counter(one.name for one in found)
    known = {one.name: one.op for one in found if names[one.name] == 1}
    called = _called(known)
    theirs = tuple(said for one in found if one.name in called for said in one.machines)
    every = [
        replace(one, called=one.name in called, machines=tuple(dict.fromkeys((*one.machines, *theirs))))
        for one in found
    ]
    return every, known, loose


def _within(ops: Sequence[Op], loose: list[FoundFunction], cube: bool, machines: Machines) -> Iterator[FoundFunction]:
    for op in ops:
        if op.name in ("module", "builtin.module"):
            for region in op.regions:
                yield from _within(region, loose, cube or for_cube(op), (*machines, *_machines(op)))
        elif op.name in ("func.func", "func"):
            if not op.tokens:
                raise InputError("a function without a name", op.name_span, "write `func.func @name(...) {`")
            yield FoundFunction(op, cube or for_cube(op), (*machines, *_machines(op)))
        else:
            loose.append(FoundFunction(op, cube, machines))


def _machines(op: Op) -> Machines:
    """The machine that attributes of a module or function name; by another name, that one."""
    said = attributes(op).get(_MACHINE, ())
    words = [token for token in said if token.kind in ("word", "string")] or said
    return tuple((token.text.strip('"').lower(), op.at(token)) for token in words[:1])


def symbol_of(op: Op) -> str:
    """The name of a function; empty where it has none."""
    named = attributes(op).get("sym_name", ()) if is_generic(op) else ()
    token = next((t for t in (*named, *op.tokens) if t.kind == "symbol" or t in named), None)
    return "" if token is None else token.text.lstrip("@").strip('"')


def _called(functions: Mapping[str, Op]) -> set[str]:
    """Functions that are judged where they are called: those that a function reaches which nobody calls."""
    calls: dict[str, set[str]] = {}
    for name, op in functions.items():
        tokens = [next((t.text for t in o.tokens if t.kind == "symbol"), "") for o in walk((op,)) if o.name in _CALLS]
        calls[name] = {token.lstrip("@").strip('"') for token in tokens}
    found: set[str] = set()
    reached = [n for n in functions if not any(n in c for other, c in calls.items() if other != n)]
    while reached:
        name = reached.pop()
        new = calls[name] & set(functions) - found - {name}
        found |= new
        reached += new
    return found
