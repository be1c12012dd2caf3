"""What the bytes of a kernel's memories hold in one run: where each came from, and what was computed of what.

Knows: terms, each an operation with all that it was given; copies and whole registers move them; operations of which
the text says that they work lane by lane, or element by element, make one of each.
Does not know: what an operation computes, order, proofs.
Law: that of `execute_terms`. What adds to memory is the collection of what was added, and `reordered` says where it
came in two orders (of numbers that are rounded, the last bits may differ). What is not followed (values that memory
gives, masks from memory, the other core, operations that are passed over) ends the run.

Source: as `execute_vector` and `execute_tiles`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dmaverify.execute.hazards import Touched
from dmaverify.execute.outcome import Beyond
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.execute import KernelMachine
from dmaverify.machines.pto.execute_cells import CellTile, ElementView
from dmaverify.machines.pto.execute_terms import CONSTANT, PART, Terms, tensor_bytes
from dmaverify.machines.pto.execute_vector import LANEWISE, RegisterBytes
from dmaverify.machines.pto.ranks import RankCopy, RankSignal
from dmaverify.machines.pto.running import NEVER, KernelRun, Memory, Over, place_of
from dmaverify.machines.pto.tiles import AllocTile, HandedTile, TileElement, TileOp, TileWork
from dmaverify.values import dataclass, field

_PURE = re.compile(r"(arith|index|math|scf|affine|memref|builtin|cf)\..*|(func\.)?(return|func)|module|pto\.get_\w+")
"""Operations beside accesses and registers of which a run may pass: they give values and do nothing else."""


COMPUTED, FILLED, UNWRITTEN = -1, -2, -3  # of bytes that lay nowhere before
_MOVING = ("pto.tmov", "pto.textract", "pto.trowexpand", "pto.tcolexpand")
_SUMS = ("pto.trowsum", "pto.tcolsum")
_ALONG = {f"pto.t{way}{name}" for way in ("row", "col") for name in ("sum", "max", "min", "argmax", "argmin")}
"""Reductions that make of each row, or column, something of its own."""


@dataclass
class _HeldRegisters(RegisterBytes):
    """`holds`: of registers the number of every byte; of masks, one number."""

    holds: dict[str, np.ndarray] = field(default_factory=dict)

    def rename(self, names: Mapping[str, str]) -> None:
        super().rename(names)
        moved = {new: self.holds.get(old) for new, old in names.items()}
        for new, held in moved.items():
            self.holds.pop(new, None)
            if held is not None:
                self.holds[new] = held


def passed_over(function: ops.KernelFunction) -> str:
    """An operation of which nobody knows what it does; empty where there is none."""
    known = {said[0] for _, said in function.texts.values()}
    return next((name for name, _ in function.passed if not _PURE.fullmatch(name) and name not in known), "")


class _NumberedRun(KernelMachine):
    """A run whose memories hold numbers for bytes: those of tensors by their order."""

    def _begin(self, tensors: Sequence[str]) -> None:
        for name, memory in self.run.memory.items():
            size = len(memory.state)
            memory.held = tensor_bytes(tensors.index(name), size) if name in tensors else self._room(size).held


class OriginRun(_NumberedRun):
    """A run that follows where each byte lay before, in the tensors by their order, or why it lay nowhere."""

    def go(self) -> KernelRun:
        self._begin([name for name in self.run.memory if name != "ub"])
        return super().go()

    def _room(self, size: int) -> Memory:
        return Memory(np.full(size, UNWRITTEN), np.full(size, NEVER, np.int8))

    def _constant(self, values: np.ndarray) -> np.ndarray:
        return np.full(len(values), FILLED)

    def _lost(self, held: np.ndarray) -> np.ndarray:
        return np.full(len(held), FILLED)

    def _added(self, atomic: tuple[Any, ...], into: Memory, at: np.ndarray, given: np.ndarray, item: int) -> None:
        into.held[at] = COMPUTED

    def _happened(self, pipe: str, touched: Sequence[tuple[str, bool, np.ndarray]], *about: Any) -> None:
        super()._happened(pipe, touched, *about)
        if self.events[-1].copy is None:
            for place, writes, at in touched:
                memory = self.run.memory[place]
                memory.held[at[memory.has(at)] if writes else []] = COMPUTED


class ContentRun(_NumberedRun):
    """A run that follows contents; `terms` are shared with the runs that it is held against."""

    def follow(
        self, terms: Terms, tensors: Sequence[str], any_value: Collection[str] = (), most: int | None = None
    ) -> tuple[KernelRun, dict[str, np.ndarray]]:
        """Runs `most` statements (None: as many as any run does); what the tensors hold then, in the order in which
        they are named. An argument of `any_value` is a term as other contents are, and no number. Raises Beyond.
        """
        self.most_followed = most
        for name in any_value:
            del self.values[f"%{name}"]
        self.terms = terms
        self.registers_of = held = _HeldRegisters(self.registers_of.size)
        self.holds = held.holds
        places = [place_of(name) for name in tensors]
        self._begin(places)
        self.begun = {place: memory.held.copy() for place, memory in self.run.memory.items()}
        if name := passed_over(self.function):
            raise Beyond(f"what {name} does")
        self.texts = {number: said for number, (_, said) in self.function.texts.items()}
        run = self.go()
        terms.followed += len(self.events)
        return run, {name: run.memory[place].held for name, place in zip(tensors, places, strict=True)}

    # ------------------------------------------------------------ what bytes hold: the number of a term each

    def _room(self, size: int) -> Memory:
        return Memory(np.full(size, self.terms.fresh()), np.full(size, NEVER, np.int8))

    def _constant(self, values: np.ndarray) -> np.ndarray:
        return CONSTANT + values.astype(np.int64)

    def _lost(self, held: np.ndarray) -> np.ndarray:
        return np.full(len(held), self.terms.fresh())

    def _added(self, atomic: tuple[Any, ...], into: Memory, at: np.ndarray, given: np.ndarray, item: int) -> None:
        self._goes_on()
        if not atomic[-1]:
            raise Beyond("a copy that adds in parts of elements")
        for where, new in zip(at.reshape(-1, item), given.reshape(-1, item), strict=True):
            into.held[where] = self.terms.added(atomic, into.held[where], new)

    # ------------------------------------------------------------ statements

    def _block(self, body: Sequence[ops.Stmt]) -> Sequence[ops.Operand]:
        if self.most_followed is not None and self.followed > self.most_followed:
            raise Beyond(f"more than {self.most_followed:,} statements")
        return super()._block(body)

    def _statement(self, stmt: ops.Stmt) -> None:
        if isinstance(stmt, (ops.CrossCore, HandedTile, TileElement, RankSignal, RankCopy)) or (
            isinstance(stmt, AllocTile) and stmt.given
        ):
            raise Beyond("what the other core, other ranks or the scalar unit do with memory")
        pad = stmt.pad.value if isinstance(stmt, ops.CopyOp) and stmt.pad else None
        pad = stmt.value if isinstance(stmt, ops.SetPad) else pad
        if pad is not None and pad.name and not isinstance(self._scalar(pad.name), int):
            raise Beyond("a value to pad with that nobody states")
        super()._statement(stmt)
        self._goes_on()
        match stmt:
            case ops.VectorOp():
                self._made(stmt)
            case ops.Mask():
                lanes = self.registers_of.masks.get(stmt.result)
                said, given = self._said(stmt) if lanes is None else (("lanes", lanes.tobytes()), [])
                if stmt.op == "plds":
                    raise Beyond("a mask that memory gives")
                self.holds[stmt.result] = self.terms.parts(self.terms.term(said, given), 1)
            case ops.AccessOp():
                self._accessed(stmt)

    def _goes_on(self) -> None:
        """Ends the run at the first trouble: behind it nothing has contents."""
        if self.run.wrong:
            raise Over

    def _said(self, stmt: ops.Stmt, without: Sequence[str] = ()) -> tuple[tuple[Any, ...], list[np.ndarray]]:
        """An operation as it is written, numbers in it by their values, and what its registers hold; values that it is
        said `without` say nothing.
        """
        out: list[Any] = []
        given: list[np.ndarray] = []
        for text in self.texts[id(stmt)]:
            if not text.startswith("%"):
                out.append(text)
            elif text in self.holds:
                out.append("%")
                given.append(self.holds[text])
            elif text not in without:
                out.append(self._scalar(text))
        return tuple(out), given

    def _scalar(self, name: str) -> Any:
        """A number, by its value; an argument that is none by its position."""
        for at, (given, kind, _) in enumerate(self.function.args):
            if given == name and (kind.kind == "float" or name not in self.values):
                return "argument", at
        value = self.values.get(name)
        if not isinstance(value, int):
            raise Beyond(name)
        return value

    # ------------------------------------------------------------ registers

    def _made(self, stmt: ops.VectorOp) -> None:
        if not stmt.results:
            if self.texts[id(stmt)][1] == "0 results":
                raise Beyond(f"what {stmt.name} does")
            return  # a mask
        width = max(stmt.lane_bytes, default=0)
        lanes = self.registers_of.on(stmt.mask)
        alike = len(stmt.results) == 1 and len(set(stmt.lane_bytes) - {0}) == 1
        if LANEWISE.fullmatch(stmt.name) and alike and not stmt.part and self.registers_of.known(stmt.masks):
            sides = [self._register(o) for o in stmt.args]
            names = [o.name for o in (*stmt.args, *stmt.masks)]
            said = tuple(text for text in self.texts[id(stmt)] if text not in names)
            key = tuple(self._scalar(text) if text.startswith("%") else text for text in said)
            order = tuple(i for i, text in enumerate(self.texts[id(stmt)]) if text in names[: len(stmt.args)])
            rows = np.stack([*(side.reshape(-1, width) for side in sides), lanes.reshape(-1, width)], axis=1)
            made = self.terms.each((key, order), rows.reshape(len(rows), -1), width)
            self.holds[stmt.results[0]] = made.ravel()
            return
        said, given = self._said(stmt)
        for index, result in enumerate(stmt.results):
            self.holds[result] = self.terms.parts(self.terms.term((said, index), given), self.registers_of.size)

    def _register(self, operand: ops.Operand) -> np.ndarray:
        held = self.holds.get(operand.name)
        if held is None or len(held) != self.registers_of.size:
            raise Beyond(operand.name)
        return held

    def _accessed(self, stmt: ops.AccessOp) -> None:
        event = self.events[-1]
        if stmt.form == "open" or stmt.way == "rw" or (stmt.form == "whole" and not stmt.results):
            raise Beyond(f"what {stmt.what} moves")
        places = [stmt.pointer.name, *(o.name for o, _ in stmt.offsets)]
        places += [] if stmt.stride is None else [stmt.stride.name]
        if stmt.way == "w":
            self._stored(stmt, places, event.touched[0])
            return
        if stmt.form == "scalar" or not stmt.results:
            for result in stmt.results:  # no number is known of it
                self.values.pop(result, None)
            return
        said, given = self._said(stmt, places)
        for index, (result, load) in enumerate(
            zip(stmt.results, self.registers_of.loads[-len(stmt.results) :], strict=True)
        ):
            memory = self.run.memory[load.place].held
            inside = load.source[(load.source >= 0) & (load.source < len(memory))]
            if inside.size != load.source.size:
                raise Beyond(f"what {stmt.what} loads from outside of its memory")
            plain = stmt.form == "vector" and stmt.dist.split("_")[0] in ("", "NORM") and not stmt.masks
            if plain:
                width = load.source.shape[1]
                at = load.source.reshape(-1, width, width)[:, 0, :].ravel()
                self.holds[result] = memory[at]
                continue
            term = self.terms.term((said, index, load.source.shape), [*given, memory[load.source]])
            self.holds[result] = self.terms.parts(term, self.registers_of.size)

    def _stored(self, stmt: ops.AccessOp, places: Sequence[str], written: Touched) -> None:
        at = written.maybe
        memory, kind = self.run.memory[written.tier].held, stmt.dist.split("_")[0]
        known = len(stmt.values) == 1 and self.registers_of.known(stmt.masks)
        if stmt.form == "vector" and known and kind in ("", "NORM"):
            made = self._register(stmt.values[0])[np.flatnonzero(self.registers_of.on(stmt.mask))]
        elif stmt.form == "vector" and known and kind in ("1PT", "ONEPT"):
            made = self._register(stmt.values[0])[: len(at)]
        else:
            said, given = self._said(stmt, places)
            if stmt.masks and stmt.form != "predicate":  # where the mask leaves lanes out, what was there stays
                given.append(memory[at])
            made = self.terms.parts(self.terms.term((said, len(at)), given), len(at))
        if len(made) != len(at):
            raise Beyond(f"what {stmt.what} stores outside of its memory")
        memory[at] = made

    # ------------------------------------------------------------ tiles

    def _operate(self, stmt: TileOp) -> None:
        said = self.texts[id(stmt)]
        names = [o.name for o in (*stmt.ins, *stmt.outs)]
        if any(text.startswith("%") and text not in names for text in said):
            raise Beyond(f"an operand of {stmt.name}")
        self.said = tuple(text for text in said if not text.startswith("%"))
        self.attributes = tuple(_attributes(said))
        scalars = tuple((stmt.scalars[n], self._scalar(n)) if n in stmt.scalars else "tile" for n in names)
        self.operation = (stmt.name, self.attributes, scalars)
        super()._operate(stmt)

    def _by_indices(self, stmt: TileOp) -> None:
        raise Beyond(f"which elements the indices of {stmt.name} name")

    def _arrives(
        self, view: ElementView, tile: CellTile, there: np.ndarray, cells: np.ndarray, *, loads: bool, adds: bool
    ) -> None:
        self._goes_on()
        ends = [(self.run.memory[view.place], there), (self.run.memory[tile.place], cells)]
        (out_of, given), (into, taken) = ends if loads else ends[::-1]
        made = out_of.held[given]
        converts = given.shape != taken.shape or (tile.kind.loc == "acc" and view.dtype != tile.kind.dtype)
        kinds = (tile.kind.dtype, view.dtype or self.said, view.item)
        if made.size and (converts or (self.attributes and not adds)):
            made = self.terms.each((self.operation, kinds), made, taken.shape[1])
        if adds:
            kind = (self.attributes, view.dtype, *self.events[-1].atomic)
            self._added(kind, into, taken.ravel(), made.ravel(), view.item)
        else:
            into.held[taken] = made

    def _computes(
        self, stmt: TileOp, tiles: Sequence[CellTile], out: CellTile,
        inputs: Sequence[tuple[CellTile, np.ndarray | None]], into: np.ndarray,
    ) -> None:  # fmt: skip
        self._goes_on()
        given = [self.run.memory[tile.place].held[cells] for tile, cells in inputs if cells is not None]
        kinds = tuple((tile.kind.dtype, tile.kind.bits) for tile in (*tiles, out))
        key: Any = (self.operation, kinds)
        made = into
        rows = None if stmt.work.windows else _rows(stmt.work, stmt.name, tiles, out, given)
        if into.size and stmt.name in _MOVING and len(given) == len(set(kinds)) == 1 and not self.attributes:
            made = np.broadcast_to(given[0], into.shape)
        elif into.size and rows is not None:
            made = self.terms.each(key, rows, into.shape[2])
            if stmt.name in _SUMS and out.kind.dtype.startswith(("f", "bf")):
                self.terms.summed(key, rows)
        elif into.size:
            shapes = tuple((tile.rows, tile.cols) for tile in (*tiles, out))
            term = self.terms.term((key, self.said, shapes), given)
            whole = np.full(into.shape[0] * into.shape[1], -term * PART)
            made = self.terms.each("element", np.stack([whole, np.arange(len(whole))], axis=1), into.shape[2])
        self.run.memory[out.place].held[into] = made.reshape(into.shape)
        for tile, cells in inputs:
            if cells is None:  # scratch
                room = self._cells(tile, 0, 0, tile.kind.rows, tile.kind.cols)
                self.run.memory[tile.place].held[room] = self.terms.fresh()


def _rows(
    work: TileWork, name: str, tiles: Sequence[CellTile], out: CellTile, given: Sequence[np.ndarray]
) -> np.ndarray | None:
    """Of each element of the result the bytes that it is made of, where these are not all that an operation reads."""
    first = tiles[0] if tiles else out
    if name in _ALONG:
        across = work.writes == "row"
        if (first.cols, 1) != (out.cols, out.rows) if across else (first.rows, 1) != (out.rows, out.cols):
            return None
        return (given[0].swapaxes(0, 1) if across else given[0]).reshape(out.cols if across else out.rows, -1)
    words = [work.reads[min(i, len(work.reads) - 1)] for i in range(len(tiles))]
    narrow = all({"column": t.cols, "row": t.rows}.get(word, 1) == 1 for word, t in zip(words, tiles, strict=True))
    if len({tile.kind.values for tile in (*tiles, out)}) > 1:
        return None  # an element is made of several, or several of one
    if not given or not {*words} <= {"each", "column", "row", "scratch"} or work.writes != "each" or not narrow:
        return None
    wide = [np.broadcast_to(one, (out.rows, out.cols, one.shape[2])) for one in given]
    return np.concatenate(wide, axis=2).reshape(out.rows * out.cols, -1)


def _attributes(said: Sequence[str]) -> Iterator[str]:
    """What an operation says beside its operands and their types."""
    operands = deep = 0
    for text in said[2:]:
        if not deep and text in ("(", ")"):
            operands += 1 if text == "(" else -1
        elif not operands:
            if not deep and text in (":", "->"):
                return
            deep += (text in ("{", "<", "[", "(")) - (text in ("}", ">", "]", ")"))
            if text not in ("ins", "outs"):
                yield text
