"""Functions of basic blocks as loops and branches.

Knows: loops by their back edges, where paths meet again; loops that decide at their head, and loops that count up and
decide at their end.
Does not know: what a statement inside means, values.
Law: the statements run as the blocks do, each as often and in the same order; a graph of which that is not known is
refused by name. Only statements without an effect are written twice.

Source: MLIR dialects cf and scf: loops as `scf` is lowered to them, and turned round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.errors import InputError, Span
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.jumps import OUT, BasicBlock, Jump
from dmaverify.machines.pto.ops import Operand, Stmt, ValueType
from dmaverify.values import dataclass, field, replace

MOST_BLOCKS = 200
_PURE = (ops.Const, ops.Arith, ops.CastPtr, ops.AddPtr, ops.Bind)
_READS = (ops.AccessOp, ops.OpaqueOp)  # of a value that decides
_UPWARDS = {"slt": 0, "ult": 0, "sle": 1, "ule": 1}
_TURNED = {"sgt": "slt", "ugt": "ult", "sge": "sle", "uge": "ule"}
_OPPOSITES = (("slt", "sge"), ("sle", "sgt"), ("ult", "uge"), ("ule", "ugt"))
_OPPOSITE = {a: b for pair in _OPPOSITES for a, b in (pair, pair[::-1])}


@dataclass
class Structure:
    """The blocks of one region as statements. `types` are those of all values, which grow."""

    blocks: Mapping[str, BasicBlock]
    types: dict[str, ValueType]
    span: Span
    loops: dict[str, frozenset[str]] = field(default_factory=dict)
    exits: dict[str, tuple[str, Jump]] = field(default_factory=dict)
    made: int = 0

    def statements(self, entry: str) -> tuple[list[Stmt], tuple[Operand, ...]]:
        """The statements of the whole region, and what it gives back. Raises InputError."""
        if len(self.blocks) > MOST_BLOCKS:
            raise self.refused(f"more than {MOST_BLOCKS} blocks are not followed")
        for block in self.blocks.values():
            for jump in block.jumps:
                taken = len(self.blocks[jump.to].args) if jump.to in self.blocks else 0 if jump.to == OUT else -1
                if taken < 0 or (jump.to != OUT and taken != len(jump.given)):
                    said = "which is none of this region" if taken < 0 else f"which takes {taken} values"
                    raise self.refused(f"`{block.label}` goes on at `{jump.to}` with {len(jump.given)} values, {said}")
        self._find_loops(entry)
        found, given = self._from(entry, OUT)
        dead = [s for label, b in self.blocks.items() if label not in self._reached(entry) for s in b.body]
        never = [ops.If(self.span, Operand("", self.span, 0), (), (), tuple(dead))] if dead else []
        return [*found, *never], given

    def refused(self, said: str) -> InputError:
        return InputError(said, self.span, "use scf.for, scf.while and scf.if")

    # ------------------------------------------------------------ the graph

    def _next(self, label: str) -> list[str]:
        return [] if label == OUT else [jump.to for jump in self.blocks[label].jumps]

    def _reached(self, entry: str, without: str = "") -> set[str]:
        found: set[str] = set()
        todo = [entry] if entry != without else []
        while todo:
            label = todo.pop()
            if label not in found:
                found.add(label)
                todo += [n for n in self._next(label) if n != without]
        return found

    def _find_loops(self, entry: str) -> None:
        """Loops by their heads: the blocks that reach a back edge without passing the head."""
        reached = self._reached(entry) - {OUT}
        for head in reached:
            beyond = reached - self._reached(entry, head)  # the head is on every path to these
            backs = [b for b in reached if head in self._next(b) and b in beyond]
            if not backs:
                continue
            inside, todo = {head}, list(backs)
            while todo:
                label = todo.pop()
                if label not in inside:
                    inside.add(label)
                    todo += [b for b in reached if label in self._next(b)]
            leaving = [(b, j) for b in inside for j in self.blocks[b].jumps if j.to not in inside]
            if len(leaving) != 1:
                how = "never ends" if not leaving else "can be left at several places"
                raise self.refused(f"the loop of blocks at `{head}` {how}: that is not followed")
            self.loops[head], self.exits[head] = frozenset(inside), leaving[0]

    def _after(self, label: str, stop: str, path: tuple[str, ...]) -> list[str]:
        """The blocks that every path from here on passes, in order, up to `stop`."""
        if label == stop:
            return [label]
        if label == OUT or label in path:
            raise self.refused(f"the blocks around `{label.lstrip('^')}` jump into each other: that is not followed")
        following = [self.exits[label][1].to] if label in self.loops else list(dict.fromkeys(self._next(label)))
        first, *others = (self._after(n, stop, (*path, label)) for n in following)
        return [label, *(n for n in first if all(n in other for other in others))]

    # ------------------------------------------------------------ statements

    def _from(self, label: str, stop: str, given: Sequence[Operand] = ()) -> tuple[list[Stmt], tuple[Operand, ...]]:
        """From the start of a block to where `stop` begins: statements, and what that is given."""
        out: list[Stmt] = []
        while True:
            if label in self.loops:
                found, jump = self._loop(label, given)
                out += found
            else:
                found, jump = self._block(self.blocks[label], stop)
                out += [*self.bound(label, given), *found]
            if jump.to == stop:
                return out, jump.given
            label, given = jump.to, jump.given

    def _block(self, block: BasicBlock, stop: str) -> tuple[list[Stmt], Jump]:
        """The statements of a block and of its ways up to where they meet, and the jump from there."""
        if len(block.jumps) == 1:
            return list(block.body), block.jumps[0]
        chains = [self._after(j.to, stop, (block.label,)) for j in block.jumps]
        meeting = next(n for n in chains[0] if all(n in chain for chain in chains))
        made, given = self._branch(block, block.jumps, meeting)
        return [*block.body, *made], Jump(None, meeting, given)

    def _branch(self, block: BasicBlock, jumps: Sequence[Jump], meeting: str) -> tuple[list[Stmt], tuple[Operand, ...]]:
        """The ways from a block to where they meet, as branches one in the other; and what is handed to the meeting."""
        assert block.decides is not None
        first, *others = jumps
        then, given = self.way(first, meeting)
        if not others:
            return then, given
        other, handed = self._branch(block, others, meeting)
        out: list[Stmt] = []
        when = block.decides
        kind = self.types.get(when.name, ops.OTHER)
        if kind.bits != 1:
            name, one = self.name(), ValueType("int", "i1", 1)
            args = (when, Operand("", when.span, first.case))
            out.append(ops.Arith(when.span, name, "cmpi", args, "eq", one, kind.bits or 64))
            when = Operand(name, when.span)
        results = tuple(self.name() for _ in given)
        types = tuple(self.types.get(o.name, ops.OTHER) for o in given)
        self.types |= dict(zip(results, types, strict=True))
        ways = [(*body, ops.Yield(self.span, values)) for body, values in ((then, given), (other, handed))]
        if kind.bits == 1 and first.case == 0:
            ways.reverse()
        out.append(ops.If(when.span, when, results, types, ways[0], ways[1]))
        return out, tuple(Operand(r, when.span) for r in results)

    def way(self, jump: Jump, stop: str) -> tuple[list[Stmt], tuple[Operand, ...]]:
        """From a jump to where `stop` begins."""
        return ([], jump.given) if jump.to == stop else self._from(jump.to, stop, jump.given)

    def bound(self, label: str, given: Sequence[Operand]) -> list[Stmt]:
        """The arguments of a block with what a jump gives them."""
        names = self.blocks[label].args
        if len(names) != len(given):
            raise self.refused(f"`{label.lstrip('^')}` takes {len(names)} values and is given {len(given)}")
        return [
            ops.Bind(o.span, name, o, self.types.get(name, ops.OTHER)) for name, o in zip(names, given, strict=True)
        ]

    def begun(self, head: BasicBlock, stop: str) -> tuple[list[Stmt], tuple[Operand, ...]]:
        """From behind the arguments of a block to where `stop` begins."""
        found, jump = self._block(head, stop)
        rest, given = self.way(jump, stop)
        return [*found, *rest], given

    def name(self) -> str:
        """A name that no text can have."""
        self.made += 1
        return f"%{self.span.start}:{self.made}"

    # ------------------------------------------------------------ loops

    def _loop(self, head: str, given: Sequence[Operand]) -> tuple[list[Stmt], Jump]:
        """A loop whose head is given these values first, and the jump out of it."""
        first, (leaver, out) = self.blocks[head], self.exits[head]
        last = self.blocks[leaver]
        stays = next(j for j in last.jumps if j is not out) if len(last.jumps) == 2 else out
        inside = self.loops.pop(head)
        try:
            loop = _BlockLoop(self, first, last, stays, out, given, inside)
            return loop.statements(), out
        finally:
            self.loops[head] = inside


@dataclass
class _BlockLoop:
    """A loop of blocks that is left at one place: at its head, or where it goes back to its head."""

    graph: Structure
    head: BasicBlock
    last: BasicBlock
    stays: Jump
    out: Jump
    given: Sequence[Operand]
    inside: frozenset[str]
    defined: dict[str, Stmt | None] = field(default_factory=dict)

    def statements(self) -> list[Stmt]:
        for label in self.inside:
            block = self.graph.blocks[label]
            self.defined |= dict.fromkeys(block.args)
            for stmt in ops.deep(block.body):
                names = (getattr(stmt, "result", ""), *getattr(stmt, "results", ()))
                self.defined |= dict.fromkeys((n for n in names if n), stmt)
        decides = self.last.decides
        if (
            decides is not None
            and self.graph.types.get(decides.name, ops.OTHER).bits == 1
            and self.stays is not self.out
        ):
            if self.head is self.last and all(isinstance(s, (*_PURE, *_READS)) for s in self.head.body):
                tail, back = self.graph.way(self.stays, self.head.label)
                return [*self._while(decides, tail, back), *map(_again, self.head.body)]
            if self.stays.to == self.head.label and (made := self._ending()) is not None:
                return made
        said = f"how often the loop of blocks at `{self.head.label}` runs is not followed: it is no loop that decides "
        raise self.graph.refused(f"{said}before its work, nor one that counts up to a number")

    @property
    def ends_where_true(self) -> bool:
        """Whether the bit that decides ends the loop where it is 1, else where it is 0."""
        return self.out.case == 1 or (self.out.case is None and self.stays.case == 0)

    def _while(self, decides: Operand, tail: Sequence[Stmt], back: tuple[Operand, ...]) -> list[Stmt]:
        span = decides.span
        before = list(self.head.body)
        if self.ends_where_true:
            name = self.graph.name()
            one = ValueType("int", "i1", 1)
            before.append(ops.Arith(span, name, "xori", (decides, Operand("", span, 1)), "", one, 1))
            decides = Operand(name, span)
        args = self.head.args
        types = tuple(self.graph.types.get(a, ops.OTHER) for a in args)
        carried = tuple(zip(args, self.given, strict=True))
        passed = tuple(Operand(a, span) for a in args)
        kinds = tuple(zip(args, types, strict=True))
        body = (*tail, ops.Yield(span, back))
        return [ops.While(span, carried, tuple(before), decides, passed, kinds, body, args, types)]

    def _ending(self) -> list[Stmt] | None:
        """As a loop that counts and runs once at least, where it compares the counter of the next round."""
        back = self.stays.given
        found = self._bound(back)
        if found is None:
            return None
        index, step, bound, more = found
        kind = self.graph.types.get(self.head.args[index], ops.INDEX)
        limit = self._sum(bound, more, index)
        once = self._sum(self.given[index], 1, index)
        most = "maxui" if str(self._compares()[0]).startswith("u") else "maxsi"
        both = (Operand(limit.result, bound.span), Operand(once.result, bound.span))
        high = ops.Arith(bound.span, self.graph.name(), most, both, "", kind, kind.bits or 64)
        body = list(self.head.body)
        if self.last is not self.head:
            body, given = self.graph.begun(self.head, self.last.label)
            body += [*self.graph.bound(self.last.label, given), *self.last.body]
        ends = [o.name if o.name in self.defined else self.graph.name() for o in back]
        loop = self._for(index, Operand(high.result, bound.span), step, body, back, ends)
        return [limit, once, high, loop]

    def _for(
        self,
        index: int,
        high: Operand,
        step: Operand,
        body: Sequence[Stmt],
        back: Sequence[Operand],
        ends: Sequence[str],
    ) -> Stmt:
        args = [f"{a}.round" if i == index else a for i, a in enumerate(self.head.args)]
        types = tuple(self.graph.types.get(a, ops.OTHER) for a in self.head.args)
        whole = (*body, ops.Yield(high.span, tuple(back)))
        carried = tuple(zip(args, self.given, strict=True))
        counter, low = self.head.args[index], self.given[index]
        return ops.For(high.span, counter, low, high, step, carried, tuple(ends), types, whole)

    def _sum(self, operand: Operand, more: int, index: int) -> ops.Arith:
        kind = self.graph.types.get(self.head.args[index], ops.INDEX)
        args = (operand, Operand("", operand.span, more))
        return ops.Arith(operand.span, self.graph.name(), "addi", args, "", kind, kind.bits or 64)

    def _compares(self) -> tuple[str, Operand, Operand] | tuple[None, None, None]:
        """The comparison that keeps the loop going: its name, its sides."""
        made = self.defined.get(self.last.decides.name) if self.last.decides is not None else None
        if not isinstance(made, ops.Arith) or made.op != "cmpi":
            return None, None, None
        name = _OPPOSITE.get(made.predicate, "") if self.ends_where_true else made.predicate
        left, right = made.args
        return (_TURNED[name], right, left) if name in _TURNED else (name, left, right)

    def _bound(self, back: Sequence[Operand]) -> tuple[int, Operand, Operand, int] | None:
        """Which argument counts, by which step, up to which bound, and how much more than that."""
        name, left, right = self._compares()
        if name not in _UPWARDS or left is None or right is None:
            return None
        for index, (arg, given) in enumerate(zip(self.head.args, back, strict=True)):
            grown = self.defined.get(given.name)
            bound = self._outside(right)
            if left.name != given.name or bound is None:
                continue
            if isinstance(grown, ops.Arith) and grown.op == "addi" and arg in (names := [a.name for a in grown.args]):
                step = self._outside(grown.args[1 - names.index(arg)])
                if step is not None:
                    return index, step, bound, _UPWARDS[name]
        return None

    def _outside(self, operand: Operand) -> Operand | None:
        """An operand as it stands before the loop; None where the loop makes it."""
        if operand.name not in self.defined:
            return operand
        made = self.defined[operand.name]
        return Operand("", operand.span, made.value) if isinstance(made, ops.Const) else None


def _again(stmt: Stmt) -> Stmt:
    """A statement without effect, once more."""
    return replace(stmt)
