"""Functions of a PTO text by name, with what the comments around each say.

Knows: how a function is named (FILE or FILE::FUNCTION), which notes are whose.
Does not know: how copies are judged, the command line.
Law: a function whose operations cannot all be resolved is no kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

from dmaverify.errors import InputError, Source
from dmaverify.language.files import named
from dmaverify.language.toml_spans import read_source
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.limits import must_read
from dmaverify.machines.pto.meaning import meaning_of
from dmaverify.machines.pto.read import read_kernels
from dmaverify.machines.pto.stated import Setting
from dmaverify.machines.pto.values import Kernel
from dmaverify.plan.kernels import PlanKernel
from dmaverify.plan.notes import Notes, read_notes
from dmaverify.targets.target import Target
from dmaverify.values import dataclass


@dataclass(frozen=True)
class NamedFunction:
    """A function of a file, with what the comments around it say."""

    source: Source
    function: ops.KernelFunction
    notes: Notes
    label: str = ""  # what a plan, or the file, calls it

    def kernel(self, *, canonical: bool = False, readings: Mapping[str, str] | None = None) -> Kernel:
        """What it does. Raises InputError for what cannot be resolved."""
        setting = Setting(self.notes.ranges, self.notes.extents, readings or {}, self.notes.relations, canonical)
        kernel = meaning_of(self.function, setting)
        lost = [r for r in kernel.remarks if r.always and r.kind in ("unresolved", "state", "ill")]
        if lost:
            raise InputError(lost[0].message, lost[0].span, lost[0].hint)
        return kernel

    @property
    def on_cube(self) -> bool:
        """Whether all of the function runs on the cube core."""
        acts = [stmt for stmt in self.function.body if not isinstance(stmt, (ops.Assumed, ops.UnreadOp))]
        return [isinstance(stmt, ops.Block) and stmt.what == ops.CUBE for stmt in acts] == [True]

    @property
    def names(self) -> tuple[str, str]:
        """What means it: its own name, and its symbol, which may be that of another module's, too."""
        return self.name, _called(self.source, self.function)

    @property
    def name(self) -> str:
        return self.label or _called(self.source, self.function)


def functions_of(path: str) -> list[NamedFunction]:
    """The functions of a file that hold something, or the one behind `::`. Raises InputError."""
    file, name = named(path)
    return [
        one
        for one in named_in(read_source(file, toml=False))
        if (name in one.names if name else not one.function.called)
    ]


def _called(source: Source, function: ops.KernelFunction) -> str:
    return function.name or Path(source.name).stem


def labels_of(source: Source, functions: Sequence[ops.KernelFunction]) -> list[str]:
    """The names of the functions of a text, each of one alone: `k-2` is the second `@k`, of another module."""
    symbols = [_called(source, function) for function in functions]
    out: list[str] = []
    for symbol in symbols:
        more = (f"{symbol}-{number}" for number in count(2))
        taken = {*symbols, *out}
        out.append(symbol if symbol not in out else next(name for name in more if name not in taken))
    return out


def named_in(source: Source) -> list[NamedFunction]:
    """The functions of a text, each with its own notes."""
    whole, functions = read_kernels(source)
    out, previous = [], 0
    for function, label in zip(functions, labels_of(source, functions), strict=True):
        end = function.whole.end if function.whole else len(source.text)
        end = len(source.text) if function is functions[-1] else end
        out.append(NamedFunction(source, function, read_notes(source, whole.comments, previous, end), label))
        previous = previous if function.called else end  # what stands there is for its caller
    return out


def function_in_plan(entry: PlanKernel, target: Target) -> NamedFunction:
    """The function that an entry of a plan means for its machine, with what text and plan state of it. Raises
    InputError.
    """
    must_read(target, entry.span)
    whole, functions = read_kernels(entry.source, target)
    labels = labels_of(entry.source, functions)
    each = list(zip(functions, labels, strict=True))
    wanted = [f for f, label in each if (not f.called if entry.function is None else label == entry.function)]
    if len(wanted) != 1:
        names = ", ".join(labels) or "none"
        said = f"{entry.source.name} has {len(wanted)} functions to check"
        said = f"{entry.source.name} has no function `{entry.function}`" if entry.function else said
        raise InputError(said, entry.span, f"name one by `function`: it has {names}")
    if not wanted[0].body:
        raise InputError(f"{entry.source.name} holds no DMA operation", entry.span, "nothing was checked")
    notes = read_notes(entry.source, whole.comments, 0, len(entry.source.text))
    notes.extents |= entry.extents
    notes.ranges |= entry.ranges
    notes.spans |= {("gm", n): entry.span for n in entry.extents} | {("assume", n): entry.span for n in entry.ranges}
    notes.expect = entry.expect
    return NamedFunction(entry.source, wanted[0], notes, entry.name)


def function_at(path: str) -> NamedFunction:
    """The one function that a path means. Raises InputError."""
    found = functions_of(path)
    if len(found) != 1:
        names = ", ".join(one.name for one in functions_of(path.partition("::")[0])) or "none"
        raise InputError(
            f"{path} names {len(found)} functions", None, f"write {path.partition('::')[0]}::NAME with one of {names}"
        )
    return found[0]


def kernel_at(
    path: str, readings: Mapping[str, str] | None = None, *, canonical: bool = False
) -> tuple[Source, ops.KernelFunction, Kernel]:
    """The one function that a path means. Raises InputError."""
    named = function_at(path)
    return named.source, named.function, named.kernel(canonical=canonical, readings=readings)
