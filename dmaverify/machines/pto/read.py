"""PTO kernels: operations of MLIR text become statements; what concerns DMA is read whole or reported.

Knows: the operand lists of both surfaces, pointer types, arith, scf and func as far as kernels use them.
Does not know: values, what a copy means, rules.
Law: every operation becomes a statement, a counted passer-by, or a `UnreadOp` at its place; none disappears.

Source: "DMA Copy" (vector instruction set); PTO v0.6 operand lists; MLIR dialects arith, scf, func.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dmaverify.errors import InputError, Source, Span, did_you_mean
from dmaverify.machines.pto.buffers import LOADS
from dmaverify.machines.pto.control import DMA
from dmaverify.machines.pto.cube import CROSS, TILE_PIPE, CubeReader
from dmaverify.machines.pto.functions import FoundFunction, functions_in
from dmaverify.machines.pto.generic import PREDICATES, attributes, foreign_attributes, is_generic
from dmaverify.machines.pto.limits import shipped
from dmaverify.machines.pto.mlir import MlirFile, Op, read_mlir, walk
from dmaverify.machines.pto.ops import (
    OTHER,
    AccessOp,
    Arith,
    Assumed,
    Block,
    Const,
    CrossCore,
    KernelFunction,
    Mask,
    OpaqueOp,
    Operand,
    Stmt,
    UnreadOp,
    ValueType,
    VectorOp,
    deep,
)
from dmaverify.machines.pto.rank_reader import RankReader
from dmaverify.machines.pto.roles import COPY_ROLES, INLINE_ROLES
from dmaverify.machines.pto.tile_reader import TileReader
from dmaverify.machines.pto.tiles import QUIET, TileOp, is_tile_op, untold
from dmaverify.machines.pto.types import CUBE_SPACES, TokenCursor, float_bits, integer_of
from dmaverify.machines.pto.vector import VectorReader
from dmaverify.targets.target import Target
from dmaverify.values import replace

_ARITH = frozenset((
    "addi", "subi", "muli", "divui", "divsi", "ceildivui", "ceildivsi", "floordivsi", "remui", "remsi", "shli",
    "shrui", "shrsi", "andi", "ori", "xori", "cmpi", "select", "minui", "minsi", "maxui", "maxsi", "index_cast",
    "index_castui", "extui", "extsi", "trunci",
))  # fmt: skip
_SPEAKS = re.compile(
    r"(arith|math|index|builtin|ub)\..*|cf\.assert"
    r"|memref\.(dim|rank|dealloc|alloc\w*|assume_alignment|extract_\w+|get_global)"
    r"|pto\.(get_\w+|declare_tile|set_ffts|(ai[cv]_)?initialize_(\w+_)?pipe)|" + TILE_PIPE.pattern
)
"""Operations that at most speak of a buffer; what else names one may read and write it."""
_NO_EFFECT = re.compile(
    r"(scf|affine)\.(yield|condition|for|if|parallel|apply|min|max)|scf\.(while|execute_region|index_switch|forall|reduce)"
    r"|(func\.)?(func|return|call|constant)|module|llvm\.(mlir\.(constant|undef|poison|zero)|return)"
    r"|pto\.(init_align|import_reserved_buffer|tfree)|" + CROSS.pattern
)
"""Operations beside those that, where they name no memory, are known to change no register and to order nothing."""
_ORDERS = re.compile(r"pto\.\w*(event|barrier|fence|sync|semaphore|signal|notify|wait|flag|lock|buf(?!fer))\w*(\.\w+)*")
"""Operations that may order others."""
_BY_FLAGS = "use pto.set_flag, pto.wait_flag and pto.barrier"
_NO_NUMBERS = ("dense", "dense_resource", "sparse", "array", "unit", "opaque")  # attributes of other constants
_TILE = re.compile(r"pto\.t(load|store|prefetch)\w*")
_WORK = (AccessOp, Mask, VectorOp, TileOp)  # of which a run that follows contents reads the text
_CUBE = ("_l1", "_l0", "l0c", "_fb", "cbuf", "_fix", "_bt")


def _moves(name: str) -> bool:
    """Whether an operation moves data between memories."""
    named = any(word in name for word in ("mte_", "copy_", "dma_"))
    return name.startswith("pto.") and (named or _TILE.fullmatch(name) is not None)


def _cube_tile(op: Op) -> bool:
    """Whether a tile of a cube memory is moved."""
    words = {t.text for t in op.tokens if t.kind == "word"}
    return _TILE.fullmatch(op.name) is not None and bool(words & set(CUBE_SPACES)) and "vec" not in words


def read_kernels(source: Source, target: Target | None = None) -> tuple[MlirFile, tuple[KernelFunction, ...]]:
    """The functions of a text in order, for a machine (None: the one that ships); operations outside of any function
    are one fragment. Raises InputError.
    """
    text, target = read_mlir(source), target or shipped()
    found, known, loose = functions_in(text.ops)
    functions = [_FunctionReader(text, known, target).function(one) for one in found]
    if loose:
        reader, ops = _FunctionReader(text, known, target), tuple(one.op for one in loose)
        reader.roles_in(ops)
        body, said = reader.whole(reader.block(ops)), tuple(dict.fromkeys(at for one in loose for at in one.machines))
        span = ops[0].span.to(ops[-1].span)
        functions.append(
            KernelFunction(
                "", (), body, ops[0].name_span, target, span, reader.counted(), texts=reader.texts, machines=said
            )
        )
    return text, tuple(functions)


def _in_tiles(ops: tuple[Op, ...]) -> bool:
    """Whether operations work on tiles, which the assembler lowers."""
    return any(map(is_tile_op, walk(ops)))


class _FunctionReader(VectorReader, CubeReader, TileReader, RankReader):
    """Statements of one function. `types` holds the type of every value so far."""

    def __init__(self, text: MlirFile, functions: Mapping[str, Op], target: Target) -> None:
        super().__init__(text, target)
        self.functions = dict(functions)
        self.texts: dict[int, tuple[Stmt, tuple[str, ...]]] = {}

    def counted(self) -> tuple[tuple[str, int], ...]:
        return tuple(sorted(self.passed.items()))

    def function(self, found: FoundFunction) -> KernelFunction:
        op = found.op
        self.roles_in(op.regions[0] if op.regions else ())
        parameters, ops = self.parameters(op)
        places = {t.text: op.at(t) for t in reversed(op.tokens) if t.kind == "value"}
        args = [
            (n, k if k.space or k.kind != "pointer" else replace(k, space=self.roles.get(n, "gm")))
            for n, k in parameters
        ]
        self.types |= dict(args)
        self.own = found.name
        body = tuple(self.on_cube(ops)) if found.cube and not _in_tiles(ops) else self.whole(self.block(ops))
        given = tuple((name, kind, places.get(name, op.name_span)) for name, kind in args)
        return KernelFunction(
            found.name, given, body, op.name_span, self.target, op.span, self.counted(), found.called, self.texts,
            found.machines,
        )  # fmt: skip

    def whole(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """The statements of a function, with what was left out on the cube side said in front."""
        body = (*self._unpaired(), *body)
        count = sum(self.cube_copies.values())
        if not count:
            return body
        names = ", ".join(sorted(self.cube_copies))
        said = f"{count} {'copies' if count > 1 else 'copy'} of the cube side not judged: {names}"
        return (Assumed(Span(self.text.source, 0, 0), said), *body)

    def block(self, ops: tuple[Op, ...]) -> tuple[Stmt, ...]:
        if any(op.name.startswith("^") for op in ops):
            return self.graph(ops)
        out: list[Stmt] = []
        for op in ops:
            out += [self.foreign_effects(op, f"the attribute `{one}` of {op.name}") for one in foreign_attributes(op)]
            try:
                found = self._stmt(op)
            except InputError as error:
                orders = _ORDERS.fullmatch(op.name) is not None
                if self.cube and not orders and not _moves(op.name):
                    self.passed[op.name] += 1
                    self._unknown(op)
                    out.append(self.foreign_effects(op, op.name))
                    continue
                found = UnreadOp(error.span or op.name_span, error.message, error.hint or "", orders=orders)
                self._unknown(op)
            if found is None:
                self.passed[op.name] += 1
                continue
            made = found if isinstance(found, list) else [found]
            out += made
            if any(isinstance(stmt, _WORK) for stmt in made):
                said = (op.name, f"{len(op.results)} results", *(token.text for token in op.tokens))
                self.texts |= {id(stmt): (stmt, said) for stmt in made if isinstance(stmt, _WORK)}
        return tuple(out)

    def _unknown(self, op: Op) -> None:
        for result in op.results:
            self.types.setdefault(result, OTHER)

    # ------------------------------------------------------------ one operation

    def _stmt(self, op: Op) -> Stmt | list[Stmt] | None:
        name = op.name
        if name in ("arith.constant", "pto.castptr", "pto.addptr") and len(op.results) != 1:
            raise InputError(f"{name} gives one value, not {len(op.results)}", op.name_span, "write `%name = ...`")
        if name == "arith.constant":
            return self._constant(op)
        if name.startswith("arith.") and name[6:] in _ARITH:
            return self._arith(op)
        if name in COPY_ROLES:
            return self._register_copy(op)
        if name in INLINE_ROLES:
            return self._inline_copy(op)
        handler = _HANDLERS.get(name)
        if handler is None and LOADS.fullmatch(name) and op.results:
            handler = "_loaded"
        if handler is not None:
            made: Stmt | list[Stmt] | None = getattr(self, handler)(op)
            return made
        if name.startswith("pto.set_loop"):
            return self._set_loop(op)
        if name.startswith("pto.set_atomic"):
            return self._atomic(op)
        if is_tile_op(op):
            return self.tile_op(op)
        vector = self.vector(op)
        if vector is not None:
            self.passed[name] += 1
        return self._other(op) if vector is None else vector

    def _constant(self, op: Op) -> Stmt:
        cursor = TokenCursor(op, attributes(op).get("value", ())) if is_generic(op) else TokenCursor(op)
        cursor.braces()
        token = cursor.peek()
        if token is None:
            raise InputError(f"{op.results[0]} has no value", op.name_span, "write `arith.constant 0 : index`")
        if token.kind != "number" and token.text not in ("true", "false"):
            if token.kind == "word" and token.text not in _NO_NUMBERS:
                cursor.at += 1
                self.types[op.results[0]] = self._type(cursor) if cursor.take(":") else OTHER
                raise InputError(f"{op.results[0]} has no value: `{token.text[:40]}` is no number", op.at(token))
            return self._results_of(op)
        cursor.at += 1
        untyped = OTHER if token.kind == "number" else ValueType("int", "i1", 1)
        kind = self._type(cursor) if cursor.take(":") else untyped
        if kind.kind not in ("int", "float"):
            raise InputError(f"{op.results[0] if op.results else op.name} has no type of a number", op.at(token))
        value = float_bits(token.text, kind.name, kind.bits) if kind.kind == "float" else integer_of(token.text)
        if kind.kind == "int" and kind.bits and not -(1 << kind.bits - 1) <= value < 1 << kind.bits:
            raise InputError(f"{token.text} does not fit {kind.name}", op.at(token))
        self.types[op.results[0]] = kind
        self.numbers[op.results[0]] = value
        return Const(op.span, op.results[0], value, kind)

    def _arith(self, op: Op) -> Stmt:
        cursor = TokenCursor(op)
        cursor.take("(")
        predicate = ""
        token = cursor.peek()
        if op.name == "arith.cmpi" and token is not None and token.kind in ("word", "string"):
            predicate = token.text.strip('"')
            cursor.at += 1
            cursor.take(",")
        args = cursor.operands()
        number = attributes(op).get("predicate", ()) if op.name == "arith.cmpi" else ()
        if number and number[0].text.isdecimal() and int(number[0].text) < len(PREDICATES):
            predicate = PREDICATES[int(number[0].text)]
        types = self._typed_cast(cursor)
        what = op.name[6:]
        wanted = 3 if what == "select" else 1 if what.startswith(("index_", "ext", "trunc")) else 2
        if len(args) != wanted or len(op.results) != 1:
            raise InputError(f"{op.name} takes {wanted} operands, not {len(args)}", op.name_span)
        result = ValueType("int", "i1", 1) if what == "cmpi" else types[-1] if types else self._of(args[-1])
        if types and what != "select" and result.kind != "int":
            raise InputError(f"{op.name} gives an integer, which `{result.name}` is not", op.name_span)
        bits = self._of(args[1 if what == "select" else 0]).bits or (types[0].bits if types and what != "select" else 0)
        one_bit = self._of(args[0]).bits == 1 if what == "extsi" else result.bits == 1 and what == "trunci"
        if one_bit:  # the sign of true is -1; what is left of a number is its last bit
            what, args = {
                "extsi": ("subi", [Operand("", op.span, 0), args[0]]),
                "trunci": ("andi", [args[0], Operand("", op.span, 1)]),
            }[what]
        self.types[op.results[0]] = result
        return Arith(op.span, op.results[0], what, tuple(args), predicate, result, bits or result.bits or 64)

    # ------------------------------------------------------------ the rest

    def _other(self, op: Op) -> Stmt | list[Stmt] | None:
        name = op.name
        if name.startswith(("cf.", "^")) and name != "cf.assert":
            raise InputError(f"{name} stands where no block ends", op.name_span, "use scf.for and scf.if")
        inside = [s for region in op.regions for s in self.block(region)]
        if self.cube and name.startswith("pto.mad"):
            return self._product(op)
        if _moves(name):
            if self.cube or any(c in name for c in _CUBE) or _cube_tile(op):
                return self._cube_copy(op)
            if _TILE.fullmatch(name):
                said = f"{name} moves a tile: which bytes, and by which copies, is decided later"
                raise InputError(said, op.name_span, "lower it to pto.mte_gm_ub or pto.mte_ub_gm")
            known = [*COPY_ROLES, *INLINE_ROLES]
            hint = did_you_mean(name, known) or f"known: {', '.join(known[:6])}"
            raise InputError(f"{name} is not understood", op.name_span, hint)
        out: list[Stmt] = []
        if not _SPEAKS.fullmatch(name):
            touched = self.open_accesses(op)
            out += touched
            if (touched or self.names_memory(op)) and not self.cube:
                where = " of UB" if touched else ""
                said = f"{name} is not known: which bytes{where} it reads and writes is open"
                out.append(UnreadOp(op.name_span, said, "what it may touch begins at the pointers that it names"))
            elif _ORDERS.fullmatch(name) and not CROSS.fullmatch(name):
                out.append(UnreadOp(op.name_span, f"{name} is not known: it may order others", _BY_FLAGS, orders=True))
            elif not _NO_EFFECT.fullmatch(name):
                out.append(self.foreign_effects(op, name))
        out += self.uses(op)
        if held := [s for s in deep(inside) if not isinstance(s, QUIET)]:
            said = f"{name}: its region holds {_kind_of(held)}, and how often it runs is not known"
            out.append(UnreadOp(op.name_span, said, "use scf.for and scf.if"))
        elif inside:
            out.append(Block(op.span, tuple(inside), name))
        self.passed[name] += 1
        out += self._cross(op)
        if (given := self.handed(op) if TILE_PIPE.fullmatch(name) else None) is not None:
            return [*out, given]
        if op.results:
            out.append(self._results_of(op))
        return out

    def _alloc_memref(self, op: Op) -> Stmt | None:
        return self.alloc_memref(op) or self._results_of(op)

    def in_tiles(self, op: Op) -> bool:
        return any(_in_tiles(region) for region in op.regions)

    def _alloc_tile(self, op: Op) -> Stmt | list[Stmt] | None:
        made = self.alloc(op)
        if made is None or made.type is None:
            other = self._tile(op)
            return replace(other, why=untold(op.tokens)) if isinstance(other, OpaqueOp) else other
        space = {"vec": "ub"}.get(made.type.loc, made.type.loc)
        if made.address is not None:
            self.types[made.result] = ValueType("pointer", f"i{made.type.bits}", made.type.bits, space)
        return made

    def _read_of(self, op: Op) -> list[Stmt]:
        """What a scalar load reads; nothing where it names no buffer."""
        kinds = [self.types.get(t.text, OTHER) for t in op.tokens if t.kind == "value"]
        if not any(kind.kind == "pointer" for kind in kinds):
            return []
        return [s for s in self.scalar_read(op) if isinstance(s, AccessOp)]

    def _stored(self, op: Op) -> list[Stmt]:
        """One element of a memref, written by the scalar unit."""
        return self._known_access(op, self._parts(op), "w", "scalar")

    def _printed(self, op: Op) -> Stmt:
        self.passed[op.name] += 1
        return Assumed(op.span, f"what {op.name} prints is written by then; it changes nothing", unsaid=True)


def _kind_of(held: Sequence[Stmt]) -> str:
    if any(isinstance(s, DMA) for s in held):
        return "DMA operations"
    return "flags of the other core" if all(isinstance(s, CrossCore) for s in held) else "accesses"


_NAMES = {
    "_cast_pointer": "pto.castptr pto.tile_buf_addr",
    "_add_pointer": "pto.addptr",
    "_set_pad": "pto.set_mov_pad_val",
    "_flag": "pto.set_flag pto.wait_flag pto.set_flag_dyn pto.wait_flag_dyn",
    "_barrier": "pto.barrier pto.pipe_barrier pto.barrier_sync",
    "_event": "pto.record_event pto.wait_event",
    "_buffer": "pto.get_buf pto.rls_buf pto.get_buf_dyn pto.rls_buf_dyn",
    "_for": "scf.for",
    "_if": "scf.if",
    "_yield": "scf.yield pto.yield",
    "_while": "scf.while",
    "_scope": "pto.vecscope pto.strict_vecscope pto.fusion_region pto.section.vector scf.execute_region",
    "_cube_section": "pto.section.cube",
    "_return": "func.return return",
    "_call": "func.call call",
    "_buffer_at": "pto.pointer_cast",
    "_view": "pto.bind_tile memref.cast memref.memory_space_cast memref.collapse_shape memref.expand_shape "
    "memref.reinterpret_cast memref.subview",
    "_alloc_tile": "pto.alloc_tile",
    "_alloc_memref": "memref.alloc",
    "_stored": "memref.store affine.store llvm.store",
    "tensor_view": "pto.make_tensor_view",
    "part_view": "pto.partition_view",
    "valid_shape": "pto.set_validshape",
    "_memory_barrier": "pto.mem_bar",
    "element": "pto.tgetval pto.tsetval",
    "reshaped": "pto.treshape",
    "tile_part": "pto.subview pto.subset",
    "reserved": "pto.reserve_buffer",
    "_printed": "pto.tprint",
    "cache": "pto.cmo.cacheinvalid",
    "fence": "pto.fence.barrier_all",
    "signalled": "pto.comm.tnotify pto.comm.twait pto.comm.ttest",
    "exchanged": "pto.comm.tput pto.comm.tget",
}
_HANDLERS = {name: handler for handler, names in _NAMES.items() for name in names.split()}
