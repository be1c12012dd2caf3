"""What a kernel computes between its accesses, as a list that two kernels can be compared by.

Knows: operations that move nothing and order nothing, which value each takes from which, the loops and branches around
them with what they carry and hand on, functions of the same file.
Does not know: what any of them computes.
Law: equal lists have the same operations on the same types in the same order and the same loops and branches, wired
alike: values of other operations by their place, scalars by their arithmetic, arguments by their order. Pointers, and
offsets of accesses in brackets, count as alike: accesses are compared apart. A value that nothing here makes is NOBODY.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise

from dmaverify.errors import Source, Span
from dmaverify.language.notation import Token
from dmaverify.machines.pto.functions import functions_in
from dmaverify.machines.pto.mlir import Op, read_mlir
from dmaverify.machines.pto.ops import KernelFunction
from dmaverify.machines.pto.roles import COPY_ROLES, INLINE_ROLES
from dmaverify.machines.pto.vector import ACCESSES
from dmaverify.values import dataclass

NOBODY = "a value of no operation"
_KNOWN = frozenset(["pto.barrier", "pto.pipe_barrier", *COPY_ROLES, *INLINE_ROLES])
_KINDS = (
    "pto.set_flag",
    "pto.set_loop",
    "pto.set_mov_pad",
    "pto.set_atomic",
    "pto.wait_flag",
    "pto.get_b",
    "pto.rls_b",
    "pto.get_sub",
    "pto.mte_",
    "pto.dma_",
    "pto.copy_",
)
_POINTERS = re.compile(r"pto\.(castptr|addptr)|memref\.(cast|subview|\w+_cast|\w+_shape)")
_SUMS = re.compile(r"(arith|index)\..*")
_ENDS = re.compile(r"(scf|pto)\.yield|scf\.condition|(func\.)?return|cf\..*|\^.*")
_SCOPES = re.compile(r"pto\.(\w*vecscope|fusion_region|section\.\w+)|scf\.execute_region")
_AT_OFFSETS = frozenset(("memref.load", "memref.store", "affine.load", "affine.store")).union(
    f"pto.{name}" for name, (_, form) in ACCESSES.items() if form not in ("open", "whole")
)
"""Accesses whose offsets stand in brackets, and are compared where the access is."""
_OPEN, _CLOSE = ("(", "[", "{", "<"), (")", "]", "}", ">")
_TYPE = re.compile(r"b?f\d\w*|[us]?i\d+")

Work = tuple[tuple[str, ...], Span]
"""An operation with what it takes, and where it stands."""


@dataclass(frozen=True, slots=True)
class KernelWork:
    """The operations of a kernel, and the values that it pads with."""

    listed: tuple[Work, ...]
    pads: frozenset[str]


def work_of(source: Source, function: KernelFunction, *, cube: bool = False) -> KernelWork:
    """The operations of a function (of the text outside of any where it has no name), of the `cube` core or not."""
    whole = read_mlir(source)
    found = functions_in(whole.ops)[0]
    walk = _Walk({one.name: one.op for one in found}, function.name)
    walk.cube = cube
    if function.name:
        own = next(one.op for one in found if one.op.name_span.start == function.span.start)  # others may have its name
        walk.called(own, [f"argument {i}" for i in range(len(_parameters(own)))])
    else:
        walk.block(whole.ops)
    return KernelWork(tuple(walk.out) if walk.works else (), frozenset(walk.pads))


def _parameters(op: Op) -> list[str]:
    own = [t.text for t in op.tokens if t.kind == "value"]
    first = op.regions[0][0] if op.regions and op.regions[0] else None
    return own or ([t.text for t in first.tokens if t.kind == "value"] if first and first.name.startswith("^") else [])


class _Walk:
    """Values by what they come from."""

    def __init__(self, functions: Mapping[str, Op], *within: str) -> None:
        self.functions, self.within = functions, within
        self.values: dict[str, str] = {}
        self.out: list[Work] = []
        self.given: tuple[str, ...] = ()  # what the last end of a region hands on
        self.works = 0
        self.pads: set[str] = set()
        self.pointers: dict[str, str] = {}
        self.cube = False  # what runs on the cube core is compared whole: nothing else compares it

    def block(self, ops: Sequence[Op]) -> None:
        for op in ops:
            self.operation(op)

    def operation(self, op: Op) -> None:
        name = op.name
        callee = next((t.text.lstrip("@").strip('"') for t in op.tokens if t.kind == "symbol"), "")
        if name in ("func.func", "func", "module", "builtin.module"):
            return
        if name in ("func.call", "call") and callee in self.functions and callee not in self.within:
            self.values |= dict(zip(op.results, self.inlined(op, callee), strict=False))
        elif _SCOPES.fullmatch(name):
            self.scope(op)
        elif _ENDS.fullmatch(name):
            self.end(op)
        elif op.regions:
            self.structure(op)
        elif _POINTERS.fullmatch(name):
            outside, self.cube = self.cube, True
            said = " ".join((name, *self.taken(op), *(t.text for t in op.tokens[len(_before_types(op)) :])))
            self.cube = outside
            self.pointers |= dict.fromkeys(op.results, said if len(said) < 400 else _short(said))
            self.values |= dict.fromkeys(op.results, "pointer")
        elif _SUMS.fullmatch(name):
            said = " ".join((name, *self.taken(op), *_types(op)[-1:]))
            said = said if len(said) < 400 else _short(said)
            self.values |= dict.fromkeys(op.results, said)
        elif self.cube or (name not in _KNOWN and not name.startswith(_KINDS)):
            self.values |= {result: f"value {len(self.out)}.{i}" for i, result in enumerate(op.results)}
            types = _types(op)
            self.out.append(((name, *self.taken(op), *types[:1], *types[-1:]), op.name_span))
            self.works += 1
        else:
            self.values |= dict.fromkeys(op.results, "pointer")
            at = (
                0
                if name == "pto.set_mov_pad_val"
                else next((i for i, t in enumerate(op.tokens) if t.text == "pad"), None)
            )
            values = [] if at is None else [t for t in op.tokens[at:] if t.kind == "value"]
            self.pads |= {self.value(token) for token in values[:1]}

    def called(self, op: Op, given: Sequence[str]) -> tuple[str, ...]:
        """Walks the body of a function whose parameters are these; gives what it returns."""
        outside, self.values = self.values, dict(zip(_parameters(op), given, strict=False))
        self.given = ()
        for region in op.regions:
            self.block(region[1:] if _is_entry(region) else region)
        self.values = outside
        return self.given

    def inlined(self, op: Op, callee: str) -> tuple[str, ...]:
        given = [self.value(t) for t in _before_types(op) if t.kind == "value"]
        self.within = (*self.within, callee)
        made = self.called(self.functions[callee], given)
        self.within = self.within[:-1]
        return made

    def scope(self, op: Op) -> None:
        """A region that runs once, in place."""
        given = [self.value(t) for t in _before_types(op) if t.kind == "value"]
        self.given = ()
        outside, self.cube = self.cube, self.cube or op.name == "pto.section.cube"
        if self.cube and not outside:
            self.out.append(((op.name,), op.name_span))
        for region in op.regions:
            if _is_entry(region):
                names = [t.text for t in region[0].tokens if t.kind == "value"]
                self.values |= dict(zip(names, given, strict=False))
                region = region[1:]
            self.block(region)
        self.cube = outside
        self.values |= dict(zip(op.results, self.given, strict=False))

    def end(self, op: Op) -> None:
        """What a region hands on, or where a block goes on."""
        if op.name.startswith("^"):
            names = [t.text for t in op.tokens if t.kind == "value"]
            self.values |= {name: f"{len(self.out)} block {i}" for i, name in enumerate(names)}
            self.out.append((("block",), op.name_span))
            return
        self.given = tuple(self.value(t) for t in _before_types(op) if t.kind == "value")
        if "return" not in op.name:
            self.out.append(((op.name, *self.taken(op)), op.name_span))

    def structure(self, op: Op) -> None:
        """A loop, a branch or any other region: listed where it holds work, else a value of its text."""
        number, before = len(self.out), self.works
        self.out.append(((op.name, *self.header(op, number)), op.name_span))
        for region in op.regions:
            self.out.append((("region",), op.name_span))
            self.block(region)
        self.out.append((("end",), op.name_span))
        own = f"result of {number}"
        if self.works == before:
            own = sha256(repr([said for said, _ in self.out[number:]]).encode()).hexdigest()
            del self.out[number:]
        self.values |= {name: f"{own}.{i}" for i, name in enumerate(op.results)}

    def header(self, op: Op, number: int) -> tuple[str, ...]:
        """What a loop or branch says in front of its regions; names that it defines count by their order."""
        tokens = _before_types(op)
        own = [a.text for a, b in pairwise(tokens) if a.kind == "value" and b.text == "="]
        said = tuple("" if t.text in own else self.value(t) if t.kind == "value" else t.text for t in tokens)
        self.values |= {name: f"{number} own {i}" for i, name in enumerate(own)}
        return said

    def value(self, token: Token) -> str:
        if self.cube and token.text in self.pointers:
            return self.pointers[token.text]
        return self.values.get(token.text, NOBODY if self.within[0] else token.text)

    def taken(self, op: Op) -> Iterator[str]:
        """What stands behind the name, up to the types."""
        inside, skips = 0, op.name in _AT_OFFSETS
        for token in _before_types(op):
            inside += skips * ((token.text == "[") - (token.text == "]"))
            if not inside and token.kind != "region":
                yield self.value(token) if token.kind == "value" else token.text


def _short(said: str) -> str:
    return f"long {sha256(said.encode()).hexdigest()}"


def _is_entry(region: Sequence[Op]) -> bool:
    """Whether a region is one block that names its arguments."""
    return [op.name.startswith("^") for op in region[:1]] == [True] and not any(
        o.name.startswith("^") for o in region[1:]
    )


def _before_types(op: Op) -> list[Token]:
    """The tokens in front of the colon of the types, or of an arrow."""
    depth, out = 0, []
    for token in op.tokens:
        mark = token.text if token.kind == "mark" else ""
        if depth == 0 and (mark == ":" or token.kind == "arrow"):
            break
        depth += (mark in _OPEN) - (mark in _CLOSE)
        out.append(token)
    return out


def _types(op: Op) -> list[str]:
    """Types of registers, masks and numbers, in their order; those of pointers and of memory are left out."""
    found: list[str] = []
    kinds = op.tokens[len(_before_types(op)) :]
    at, skipped = 0, 0
    while at < len(kinds):
        token = kinds[at]
        skipped += (token.text == "<") - (token.text == ">") if skipped else 0
        if token.text in ("!pto.ptr", "memref", "!llvm.ptr", "!pto.tile_buf") and not skipped:
            skipped = 1 if at + 1 < len(kinds) and kinds[at + 1].text == "<" else 0
            at += 1
        elif not skipped and token.text in ("!pto.vreg", "!pto.mask"):
            end = next((i for i in range(at, len(kinds)) if kinds[i].text == ">"), at)
            found.append("".join(t.text for t in kinds[at : end + 1]))
            at = end
        elif not skipped and _TYPE.fullmatch(token.text):
            found.append(token.text.replace("i64", "index"))
        at += 1
    return [kind for kind in found if kind != "index"]
