"""A kernel's text with every copy in the other surface.

Knows: which SSA values a copy can name where it stands, loops that need software around them, comments.
Does not know: operand orders of the surfaces (`emit`), how copies are judged.
Law: what is not a copy or a loop register stays as it was written, comments included; a number is written as the value
that the text already has for it, or as arithmetic on arguments; what can be written neither way is refused at its line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dmaverify.errors import InputError
from dmaverify.language.affine import Lin
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.emit import SURFACES, pointers
from dmaverify.machines.pto.named import NamedFunction, functions_of
from dmaverify.machines.pto.values import Kernel
from dmaverify.program.instructions import Copy, CopyStep
from dmaverify.prove.flow.accesses.ask import term_text
from dmaverify.values import replace

Edit = tuple[int, int, str]
IN_REGISTERS = 3
"""Levels that one instruction has: the rows and two loops around them."""


def emitted(path: str, surface: str) -> str:
    """The file's text with every copy of its functions, or of the one behind `::`, in another surface."""
    found = [one for one in functions_of(path) if one.function.body]
    if not found:
        raise InputError(f"{path} holds no function with copies", None, "name one of the file: FILE::NAME")
    return in_surface(found, surface)


def in_surface(functions: Sequence[NamedFunction], surface: str) -> str:
    """The text of these functions of one file in another surface."""
    edits: list[Edit] = []
    for named in functions:
        edits += _Writer(named, surface).edits()
    text = functions[0].source.text
    for start, end, new in sorted(edits, key=lambda e: (e[0], e[1]), reverse=True):
        text = text[:start] + new + text[end:]
    return text


class _Writer:
    """The edits of one function."""

    def __init__(self, named: NamedFunction, surface: str) -> None:
        self.named, self.surface = named, surface
        self.text = named.source.text
        tries = ("dv", *(f"dv{n}" for n in range(2, 1000)))
        self.prefix = next(p for p in tries if f"%{p}_" not in self.text)
        self.kernel: Kernel = named.kernel()
        self.numbers: dict[int, None] = {}
        self.bounds: dict[int, None] = {}
        self.pads: dict[tuple[int, str], None] = {}
        self.loops = 0
        self.made = 0
        self.scopes = dict(_scopes(named.function.body, ()))
        self.types = {name: kind.name for name, kind, _ in named.function.args}

    def edits(self) -> list[Edit]:
        called = [s for s in ops.deep(self.named.function.body) if isinstance(s, ops.Block) and s.what.startswith("@")]
        if called:
            said = f"{called[0].what} is called: copies of several functions are not written again"
            raise InputError(said, called[0].span)
        copies = {copy.span.start: copy for copy in self.kernel.copies}
        statements = list(ops.deep(self.named.function.body))
        out: list[Edit] = []
        for stmt in statements:
            if isinstance(stmt, ops.CopyOp) and stmt.name_span.start in copies:
                lines = self.copy(stmt, copies[stmt.name_span.start])
                out.append((stmt.span.start, stmt.span.end, self.placed(stmt, lines)))
            elif isinstance(stmt, ops.SetLoop) and self.surface == "inline":
                out.append(self.without(stmt))
        if not out or not self.named.function.body:
            return out
        function = self.named.function
        opened = function.span.start if function.name else -1
        head = min(stmt.span.start for stmt in statements if stmt.span.start > opened)
        begin = self.text.rfind("\n", 0, head) + 1
        indent = self.text[begin:head] if not self.text[begin:head].strip() else "\n  "
        lines = list(self.constants())
        if indent.startswith("\n"):
            return [*out, (head, head, "".join(f"{indent}{line}" for line in lines) + indent)]
        return [*out, (begin, begin, "".join(f"{indent}{line}\n" for line in lines))]

    def placed(self, stmt: ops.CopyOp, lines: Sequence[str]) -> str:
        """The new lines in the place of a statement, comments between its operands before it."""
        column = stmt.span.start - (self.text.rfind("\n", 0, stmt.span.start) + 1)
        inside = _comments(self.text[stmt.span.start : stmt.span.end])
        return ("\n" + " " * column).join([*inside, *lines])

    def without(self, stmt: ops.SetLoop) -> Edit:
        """A register that is no longer needed goes with its line, unless something else stands there."""
        start, end = stmt.span.start, stmt.span.end
        inside = _comments(self.text[start:end])
        begin, line = self.text.rfind("\n", 0, start) + 1, self.text.find("\n", end)
        line = len(self.text) if line < 0 else line
        before, behind = self.text[begin:start], self.text[end:line].strip()
        if inside or before.strip() or behind:
            return start, end, f"\n{before}".join(inside)
        return begin, min(line + 1, len(self.text)), ""

    # ------------------------------------------------------------ one copy

    def copy(self, stmt: ops.CopyOp, copy: Copy) -> list[str]:
        known = self.known(stmt, copy)
        extra: list[str] = []

        def name(term: Lin) -> str:
            if term.is_const:
                self.numbers[term.const] = None
                return self.constant(term.const)
            found = known.get(term)
            return found if found is not None else self.arithmetic(term, copy, extra)

        sides = [stmt.roles[role].name for role in ("src", "dst")]
        value = stmt.pad.value.name if stmt.pad is not None else self.pad(copy)
        software: list[str] = []
        pad = ""
        if self.surface == "registers" and len(copy.steps) > IN_REGISTERS:
            software, sides, pad = self.around(copy, sides, name)
            copy = replace(copy, steps=copy.steps[:IN_REGISTERS])
        lines = SURFACES[self.surface](copy, *sides, name, value, self.prefix)
        ends = ["  " * depth + "}" for depth in reversed(range(len(pad) // 2))]
        return [*extra, *software, *(f"{pad}{line}" for line in lines), *ends]

    def around(self, copy: Copy, sides: list[str], name: Callable[[Lin], str]) -> tuple[list[str], list[str], str]:
        """Loops of software for the levels that no register holds: lines, the pointers inside, the indentation."""
        lines: list[str] = []
        pad = ""
        kinds = pointers(copy)
        for step in reversed(copy.steps[IN_REGISTERS:]):
            self.loops += 1
            n = f"%{self.prefix}_l{self.loops}"
            self.bounds[0] = self.bounds[1] = None
            if step.count.is_const:
                self.bounds[step.count.const] = None
                high = self.bound(step.count.const)
            else:
                high = f"{n}n"
                lines.append(f"{pad}{high} = arith.index_cast {name(step.count)} : i64 to index")
            lines.append(f"{pad}scf.for {n} = {self.bound(0)} to {high} step {self.bound(1)} {{")
            pad += "  "
            lines.append(f"{pad}{n}k = arith.index_cast {n} : index to i64")
            for index, (stride, kind) in enumerate(zip(_strides(step), kinds, strict=True)):
                new = f"{n}{'sd'[index]}"
                lines += [f"{pad}{line}" for line in self.moved(sides[index], new, f"{n}k", stride, kind, name)]
                sides = [new if i == index else s for i, s in enumerate(sides)]
        return lines, sides, pad

    def moved(
        self, pointer: str, new: str, counter: str, stride: Lin, kind: str, name: Callable[[Lin], str]
    ) -> list[str]:
        """A pointer a number of bytes further on: counted in elements of one byte."""
        space = kind.rsplit(",", 1)[1].strip(" >")
        byte = f"!pto.ptr<i8, {space}>"
        return [
            f"{new}o = arith.muli {counter}, {name(stride)} : i64",
            f"{new}b = pto.castptr {pointer} : {kind} -> {byte}",
            f"{new}m = pto.addptr {new}b, {new}o : {byte} -> {byte}",
            f"{new} = pto.castptr {new}m : {byte} -> {kind}",
        ]

    # ------------------------------------------------------------ numbers

    def known(self, stmt: ops.CopyOp, copy: Copy) -> dict[Lin, str]:
        """Values that stand in the text for the numbers of a copy, and can be named where it stands."""
        out: dict[Lin, str] = {}

        def take(term: Lin, operand: ops.Operand | None) -> None:
            if operand is not None and operand.value is None and self.visible(operand.name, stmt):
                out.setdefault(term, operand.name)

        ports = {"len": copy.ports.get("row_units", copy.row), "l2": copy.ports.get("cache_ctl")}
        ports |= {"n_burst": copy.steps[0].count, "sid": copy.ports.get("stream_id")}
        if copy.fill is not None:
            ports |= {"left": copy.fill.left, "right": copy.fill.right}
        local = copy.kind == ops.LOCAL
        first = (copy.steps[0].read, copy.steps[0].write)
        gaps = (copy.ports["read_gap"], copy.ports["write_gap"]) if local else first
        ports |= {"src_stride": gaps[0], "dst_stride": gaps[1]}
        for role, operand in stmt.roles.items():
            term = ports.get(role)
            if term is not None:
                take(term, operand)
        for level, step in zip(stmt.levels, copy.steps, strict=False):
            take(step.count, level.count)
            own = gaps if level is stmt.levels[0] else (step.read, step.write)
            take(own[0], level.src)
            take(own[1], level.dst)
        if stmt.pad is not None and copy.fill is not None:
            take(copy.fill.left, stmt.pad.left)
            take(copy.fill.right, stmt.pad.right)
        setters = {s.span.start: s for s in ops.deep(self.named.function.body) if isinstance(s, ops.SetLoop)}
        for step in copy.steps[1:]:
            for span in copy.setup:
                setter = setters.get(span.start)
                if setter is not None and setter.what == step.label:
                    take(step.read, setter.first)
                    take(step.write, setter.second)
                elif setter is not None and setter.what == "size":
                    take(step.count, setter.first if step.label == "loop1" else setter.second)
        return out

    def visible(self, value: str, stmt: ops.Stmt) -> bool:
        """Whether a value is defined where a statement stands: before it, in a region around it."""
        if value in self.types:
            return True
        defined = self.scopes.get(value)
        if defined is None:
            return not self.named.function.name  # a fragment leaves its names open
        here = self.scopes[f"@{stmt.span.start}"]
        return defined[1] < stmt.span.start and here[0][: len(defined[0])] == defined[0]

    def arithmetic(self, term: Lin, copy: Copy, extra: list[str]) -> str:
        """The lines that compute a term of arguments, and the value that has it."""
        total = ""
        for symbol, factor in term.terms:
            shown = self.kernel.world.symbols[symbol].shown
            kind = self.types.get(shown, "" if self.named.function.name else "i64")
            if not kind:
                raise InputError(
                    f"the operand {term_text(term, self.kernel.world)} has no value that can be named here",
                    copy.span,
                    "set the register beside the copy, or give it a name before the loop",
                )
            part = shown if kind == "i64" else self.line(extra, _cast(shown, kind))
            if factor != 1:
                self.numbers[factor] = None
                part = self.line(extra, f"arith.muli {part}, {self.constant(factor)} : i64")
            total = part if not total else self.line(extra, f"arith.addi {total}, {part} : i64")
        if term.const:
            self.numbers[term.const] = None
            total = self.line(extra, f"arith.addi {total}, {self.constant(term.const)} : i64")
        return total

    def line(self, extra: list[str], what: str) -> str:
        self.made += 1
        extra.append(f"%{self.prefix}_v{self.made} = {what}")
        return f"%{self.prefix}_v{self.made}"

    def constant(self, number: int) -> str:
        return f"%{self.prefix}_{number}" if number >= 0 else f"%{self.prefix}_m{-number}"

    def bound(self, number: int) -> str:
        return f"%{self.prefix}_x{number}"

    def pad(self, copy: Copy) -> str:
        if copy.fill is None:
            return ""
        kind = copy.write.dtype or "i8"
        if copy.fill.value is None:
            setters = {s.value.name for s in ops.deep(self.named.function.body) if isinstance(s, ops.SetPad)}
            if len(setters) == 1 and next(iter(setters)) in self.types:
                return next(iter(setters))
            raise InputError("the padding value of this copy is not known", copy.span, "set it to a constant")
        self.pads[copy.fill.value, kind] = None
        return f"%{self.prefix}_pad_{copy.fill.value}_{kind}"

    def constants(self) -> Iterator[str]:
        for number in sorted(self.numbers):
            yield f"{self.constant(number)} = arith.constant {number} : i64"
        for number in sorted(self.bounds):
            yield f"{self.bound(number)} = arith.constant {number} : index"
        for value, kind in self.pads:
            yield f"%{self.prefix}_pad_{value}_{kind} = arith.constant {value:#x} : {kind}"
        if self.surface == "registers":
            yield f"%{self.prefix}_on = arith.constant true"
            yield f"%{self.prefix}_off = arith.constant false"


def _strides(step: CopyStep) -> tuple[Lin, Lin]:
    return step.read, step.write


def _cast(name: str, kind: str) -> str:
    return f"arith.index_cast {name} : index to i64" if kind == "index" else f"arith.extui {name} : {kind} to i64"


def _comments(text: str) -> list[str]:
    """The comments inside of a statement, each as a line."""
    return [f"//{line.split('//', 1)[1].rstrip()}" for line in text.splitlines() if "//" in line]


Scope = tuple[tuple[int, ...], int]
"""The regions around a value, outermost first, and where it is defined."""


def _scopes(body: Sequence[ops.Stmt], regions: tuple[int, ...]) -> Iterator[tuple[str, Scope]]:
    """Where every value is defined, and of every statement (as `@START`) the regions around it."""
    for stmt in body:
        yield f"@{stmt.span.start}", (regions, stmt.span.start)
        for name in (getattr(stmt, "result", ""), *getattr(stmt, "results", ())):
            if name:
                yield name, (regions, stmt.span.start)
        for index, part in enumerate(ops.PARTS):
            inner = getattr(stmt, part, ())
            own = (*regions, stmt.span.start * 4 + index)
            if isinstance(stmt, ops.For):
                for name in (stmt.counter, *(n for n, _ in stmt.carried)):
                    yield name, (own, stmt.span.start)
            if inner:
                yield from _scopes(inner, own)
