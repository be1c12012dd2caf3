"""Operations of the cube side, and flags between the two sides: read as far as they touch what the vector side touches.

Knows: flags between the cores, copies and products of the cube side. Does not know: values, order, rules.
Law: what is not judged of the cube side is counted and said; a flag that one side alone names is an error of the text.

Source: PTO v0.6 (flags within a block of cores, cube copies).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dmaverify.errors import Span
from dmaverify.machines.pto.control import ControlReader
from dmaverify.machines.pto.jumps import values_before_types
from dmaverify.machines.pto.mlir import MlirFile, Op
from dmaverify.machines.pto.ops import OTHER, Assumed, CrossCore, Foreign, Operand, Rows, Stmt, UnreadOp
from dmaverify.machines.pto.types import CUBE_SPACES, TokenCursor, integer_of
from dmaverify.targets.target import Target

_WAITS = r"sync\.wait|wait_(?:flag_dev|intra|inter|cross|block)\w*|tpop\w*"
CROSS = re.compile(rf"pto\.(?:({_WAITS})|sync\.set|set_(?:intra|inter|cross)\w*|tpush\w*)")
TILE_PIPE = re.compile(r"pto\.t(push|pop|free)_(to|from)_ai[cv]")
_PIPES = {"l0c_": "FIX", "_fb": "FIX", "to_fbuf": "FIX", "_gm_l1": "MTE2", "gm_to_cbuf": "MTE2", "_ub_": "MTE3"}
_PIPES["ubuf_to_"] = "MTE3"


def _cube_pipe(name: str) -> str:
    """The pipe that runs a copy of the cube side."""
    return next((pipe for part, pipe in _PIPES.items() if part in name), "MTE1")


class CubeReader(ControlReader):
    """What the other core does, and when each side waits for the other."""

    def __init__(self, text: MlirFile, target: Target) -> None:
        super().__init__(text, target)
        self.numbers: dict[str, int] = {}
        self.cross: list[tuple[bool, str, int | None, Span, str]] = []

    def _cross(self, op: Op) -> list[Stmt]:
        """A flag between the cores."""
        found = CROSS.fullmatch(op.name)
        if found is None or TILE_PIPE.fullmatch(op.name):
            return []
        end = next((i for i, t in enumerate(op.tokens) if t.text == ":"), len(op.tokens))
        last = next((t for t in reversed(op.tokens[:end]) if t.kind in ("number", "value")), None)
        number = integer_of(last.text) if last is not None and last.kind == "number" else None
        action = "wait" if found[1] else "set"
        pipes = [t.text.strip('"').removeprefix("PIPE_") for t in op.tokens[:end] if t.text.strip('"')[:5] == "PIPE_"]
        self.cross.append((bool(self.cube or self.beside), action, number, op.name_span, op.name))
        return [CrossCore(op.name_span, action, number, op.name, pipes[0] if pipes else "")]

    def _unpaired(self) -> Iterator[Stmt]:
        """Flags of the other core that the text never sets, or never waits for, where it holds both sides."""
        if {cube for cube, *_ in self.cross} | ({True} if self.cube_parts else set()) != {False, True}:
            return
        flags = self.target.limits["core_flags"]
        for cube, action, number, span, name in self.cross:
            others = [n for c, a, n, *_ in self.cross if c is not cube and a != action]
            ids = {n % flags for n in others if n is not None}  # the second vector core has ids of its own
            if number is None or None in others or number % flags in ids:
                continue
            there = "vector" if cube else "cube"
            if action == "wait":
                said = f"{name} waits for flag {number} of the other core, and the {there} part never sets it"
                yield UnreadOp(span, said, "it waits for ever", "flags")
            else:
                said = f"{name} sets flag {number}, and the {there} part never waits for it"
                yield UnreadOp(span, said, "the next kernel finds it set", "flags")

    def _cube_copy(self, op: Op) -> list[Stmt]:
        """A copy of the cube side: what it does to the buffers of UB that it names is not known further."""
        self.passed[op.name] += 1
        self.cube_copies[op.name.removeprefix("pto.")] += 1
        out: list[Stmt] = [Assumed(op.name_span, f"{op.name}: a copy of the cube side is not judged", note=True)]
        pipe = _cube_pipe(op.name)
        for index, pointer in enumerate(values_before_types(op)):
            known = self.types.get(pointer.name, OTHER)
            if known.kind != "pointer" or (not self.cube and known.space not in ("ub", *CUBE_SPACES)):
                continue
            way = "w" if index == 1 else "r"
            rows = self._result_rows(op) if way == "w" and known.space == "ub" else None
            out.append(Foreign(op.name_span, pointer, None, 0, way, pipe, op.name, rows))
        return [*out, self._results_of(op)] if op.results else out

    def _result_rows(self, op: Op) -> Rows | None:
        """The rows that `pto.mte_l0c_ub` writes in rows (nz2nd), of one result."""
        words = [t.text for t in op.tokens]
        if op.name != "pto.mte_l0c_ub" or "nz2nd" not in words:
            return None
        args = TokenCursor(op).operands()
        if len(args) < 6:
            return None
        third = words.index("loop3") if "loop3" in words else None
        if third is not None and self.numbers.get(words[third + 2]) != 1:
            return None
        share = (2, 1) if "split_m" in words else (1, 2) if "split_n" in words else (1, 1)
        return Rows(args[2], args[3], args[5], share)

    def _product(self, op: Op) -> list[Stmt]:
        """A matrix product: it reads its operands, and reads and writes its result."""
        self.passed[op.name] += 1
        named = [t for t in op.tokens if t.kind == "value" and self.types.get(t.text, OTHER).kind == "pointer"]
        out: list[Stmt] = []
        for token in dict.fromkeys(t.text for t in named):
            space = self.types[token].space
            way = "rw" if space in ("l0c", "acc") else "r"
            out.append(Foreign(op.name_span, Operand(token, op.name_span), None, 0, way, "M", op.name))
        return out
