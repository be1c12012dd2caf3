"""Calls that move data: which method of which tensor makes which transfer, and what it still needs to be known.

Knows: the transfer methods of the vendor's tensors, the order of their generic arguments, what their results are.
Does not know: Rust syntax, plan files, rules.
Law: every call of a transfer leaves a `KernelMove` or a reason at its `Site`; a destination that only a later use
names is `Pending` until then.

Source: docs/machines/rngd.md 5 and 7.2 (furiosa-opt v0.6.0, furiosa-opt-std: tensor/memory.rs).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dmaverify.errors import Span
from dmaverify.language.expr import ONE, Kind, Padding
from dmaverify.machines.rngd.rust.escapes import as_map
from dmaverify.machines.rngd.rust.values import (
    PLACES,
    Buffer,
    Dtype,
    Map,
    Numbers,
    Opaque,
    Pending,
    RustTensor,
    Sequence,
    Unknown,
    Value,
    sources_of,
)
from dmaverify.program.access import PlanProblem
from dmaverify.values import dataclass, field, replace
from dmaverify.verdict import Finding, Severity

SIMPLE = ("to_dm", "to_hbm", "to_host")
VIEWS = ("to_dm_view", "to_hbm_view")
GATHERS = ("dma_gather_scaled", "dma_gather_unscaled", "dma_gather")
SCATTERS = ("dma_scatter", "dma_scatter_unscaled", "dma_scatter_scaled")
SHUFFLES = {"dm_chip_shuffle": "chip", "hbm_chip_shuffle": "chip", "dm_cluster_shuffle": "cluster"}
NOT_YET = {"hbm_cluster_shuffle": "HBM has no cluster dimension; the library has no such move yet"}
TRANSFERS = frozenset((*SIMPLE, *VIEWS, *GATHERS, *SCATTERS, *SHUFFLES, *NOT_YET))
"""Methods that make the DMA engines move data. Parallel copies (`*_pcopy`) run in the sub-context: none of them."""


@dataclass(frozen=True)
class KernelMove:
    """One transfer with both tensors known. `index` and `key` are those of a gather or scatter.

    `generics` are the arguments of the generic function that it stands in, as text.
    """

    method: str
    source: RustTensor
    dest: RustTensor
    index: RustTensor | None = None
    key: Map | None = None
    generics: str = ""
    problems: tuple[PlanProblem, ...] = ()
    dead: str = ""  # why it does not run as the constants are


@dataclass(frozen=True)
class Supposed:
    """A generic function that nobody calls: the parameters that are sizes, and the call read again with these."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]  # type or const
    read: Callable[[Mapping[str, Any]], Site | None]


@dataclass
class Site:
    """One call of a transfer in the text. `span` is the name of the method, `let` the variable that takes the result.

    `moves` holds one for each set of generic arguments; `reasons` why others could not be resolved.
    """

    number: int
    method: str
    span: Span
    function: str = ""
    let: str = ""
    attributes: tuple[str, ...] = ()
    expression: Span | None = None
    statement: Span | None = None
    function_line: int = 0
    moves: list[KernelMove] = field(default_factory=list)
    reasons: list[Unknown] = field(default_factory=list)
    pending: list[KernelMove] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    remarks: list[Finding] = field(default_factory=list)
    alone: list[tuple[Any, Any]] = field(default_factory=list)  # of helpers that were read by themselves
    ledgers: list[tuple[str, Any]] = field(default_factory=list)  # what functions make and need
    open: list[Any] = field(default_factory=list)  # what could not be said of the buffer that it writes
    dead: str = ""  # why the call that is being read does not run
    passed: bool = False  # nothing gets to it in this turn
    runs: list[tuple[str, int]] = field(default_factory=list)  # generics of each visit, and turns around it, 0 unknown

    @property
    def turns(self) -> int:
        """How often the call runs, in the instance of its function in which it runs most; 0 where that is not known."""
        if any(count == 0 for _, count in self.runs):
            return 0
        every = Counter[str]()
        for instance, count in self.runs:
            every[instance] += count
        return max(every.values(), default=1)

    unbuilt: str = ""  # the condition that leaves it out of the build
    build: str = ""  # the build that it was read in, where that is another one
    hangs: frozenset[str] = frozenset()  # features without which, or with which, something else is read
    hangs_on: str = ""  # the same as words
    supposed: Supposed | None = None  # where nobody calls the function that it stands in

    def remark(self, finding: Finding) -> None:
        """Adds what is said of this call beside its verdict, once."""
        same = next((other for other in self.remarks if finding.message == other.message), None)
        if same is not None and same.severity is not finding.severity and finding.severity is Severity.ERROR:
            self.remarks.remove(same)
        elif same is not None:
            return
        self.remarks.append(finding)

    def leave_open(self, one: Any) -> None:
        """Adds what could not be said of a buffer, once."""
        if one not in self.open:
            self.open.append(one)

    def settle(self, move: KernelMove) -> None:
        """Adds a move, once for each set of mappings."""
        index = _key(move.index) if move.index is not None else ()
        move = replace(move, dead=self.dead)
        key = repr((move.dead, move.generics, move.method, _key(move.source), _key(move.dest), index))
        if key not in self.seen and not (self.passed and self.moves):
            self.seen.add(key)
            self.moves.append(move)

    def refuse(self, why: Unknown) -> None:
        if why.reason and all(why.reason != other.reason for other in self.reasons):
            self.reasons.append(why)


def _key(tensor: RustTensor) -> tuple[str, ...]:
    parts = (tensor.dtype, *(tensor.fields[p] for p in PLACES[tensor.tier]), sorted(tensor.window.at.items()))
    holds = [] if tensor.holds is None else [tensor.holds.values, tensor.holds.repeats]
    told = [one.message for one in tensor.problems]  # of a turn whose window falls on that of another
    return tuple(str(part) for part in (*parts, *holds, *told))


@dataclass(frozen=True)
class Call:
    """A transfer call with its parts evaluated: the receiver, the generic arguments, the arguments."""

    site: Site
    method: str
    receiver: Value
    generics: tuple[Value, ...]
    arguments: tuple[Value, ...]
    expected: Value | None
    instance: str
    serial: int


def transfer(call: Call) -> Value:
    """What the call gives; the move or the reason is left at its site."""
    if call.method in NOT_YET:
        call.site.refuse(Unknown(NOT_YET[call.method], call.site.span))
        return call.expected or Unknown("")
    receiver = call.receiver
    if not isinstance(receiver, RustTensor):
        call.site.refuse(_no_receiver(receiver, call))
        return call.expected or Unknown("")
    if receiver.missing is not None:
        call.site.refuse(_because(receiver.missing, "the source", call.site.span))
        return call.expected or Unknown("")
    if call.method in VIEWS:
        return _into_view(call, receiver)
    if call.method in SCATTERS:
        return _scatter(call, receiver)
    if call.method in SHUFFLES:
        return _shuffle(call, receiver)
    if call.method in GATHERS:
        return _gather(call, receiver)
    return _fresh(call, receiver)


def _no_receiver(value: Value, call: Call) -> Unknown:
    if isinstance(value, Unknown) and value.reason:
        return Unknown(value.reason, value.span or call.site.span, value.hint)
    if isinstance(value, Pending):
        return Unknown("the source is the result of a transfer whose type nothing names", call.site.span)
    what = f" (it is {value.what})" if isinstance(value, Opaque) and value.what else ""
    return Unknown(f"the source is no tensor whose type is known here{what}", call.site.span)


def _because(part: Unknown, what: str, span: Span) -> Unknown:
    return Unknown(part.reason or f"a part of {what} is left to inference (`_`)", part.span or span, part.hint)


# ---------------------------------------------------------------- results


def _fresh(call: Call, source: RustTensor) -> Value:
    """`to_dm`, `to_hbm`, `to_host`: the result is a new tensor."""
    tier = call.method.removeprefix("to_")
    names = list(PLACES[tier])
    if source.tier != "host":
        names.remove("chip") if "chip" in names else None
    if tier == "dm" and source.tier == "dm":
        names.remove("cluster")
    generics = [value for value in call.generics if not isinstance(value, (Opaque, Numbers))]
    if tier == "hbm" and source.tier == "hbm" and len(generics) > 1:
        generics = generics[-1:]  # the context comes first
    given = dict(zip(names, generics, strict=False))
    fields: dict[str, Map | Unknown] = {}
    for place in PLACES[tier]:
        fields[place] = as_map(given.get(place, Unknown(""))) if place in names else source.fields[place]
    dest = RustTensor(tier, source.dtype, fields, span=call.site.span, holds=source.holds)
    return _complete(call, KernelMove(call.method, source, dest, generics=call.instance, problems=source.problems))


def _complete(call: Call, move: KernelMove) -> Value:
    """The destination with what the context expects; pending where that is still not all."""
    dest = _fill(move.dest, call.expected)
    buffer = Buffer(call.serial, call.site.let or call.method, True, call.site.span)
    read = (move.source, *([move.index] if move.index is not None else []))
    sources = frozenset((call.site.number,)).union(*(one.sources for one in read))
    dest = replace(dest, buffer=buffer, sources=sources)
    move = replace(move, dest=dest, problems=(*move.problems, *_cast(call, move.source)))
    lack = dest.missing
    if lack is None:
        call.site.settle(move)
        return dest
    if lack.reason:
        call.site.refuse(_because(lack, "the destination", call.site.span))
        return dest
    call.site.pending.append(move)
    return Pending(call.site.number)


def _cast(call: Call, source: RustTensor) -> tuple[PlanProblem, ...]:
    """A result that is annotated with another element type than the source has."""
    wanted = call.expected.dtype if isinstance(call.expected, RustTensor) else None
    if not isinstance(wanted, Dtype) or not isinstance(source.dtype, Dtype) or wanted == source.dtype:
        return ()
    return (PlanProblem(
        f"the source holds {source.dtype.name}, the result {wanted.name}: a DMA moves bytes and casts nothing",
        call.expected.span if isinstance(call.expected, RustTensor) and call.expected.span else call.site.span,
        f"load it as {source.dtype.name} and cast it on its way through the Tensor Unit (`fetch_cast`)", fatal=False,
    ),)  # fmt: skip


def _fill(dest: RustTensor, expected: Value | None) -> RustTensor:
    """The destination as far as its own type says it, the rest as annotated; what is annotated wins on the chip."""
    if not isinstance(expected, RustTensor) or expected.tier != dest.tier:
        return dest
    made = dest.filled(expected)
    chip = expected.fields.get("chip")
    if isinstance(chip, Map):
        made = made.with_field("chip", chip)
    return replace(made, span=expected.span or dest.span)


def resolve(site: Site, expected: RustTensor) -> RustTensor | None:
    """Completes the last pending move of a site with the type that a later use names."""
    if not site.pending:
        return None
    move = site.pending[-1]
    dest = _fill(move.dest, expected)
    if dest.missing is not None:
        return None
    site.pending.pop()
    site.settle(replace(move, dest=dest))
    return dest


# ---------------------------------------------------------------- views


def _into_view(call: Call, source: RustTensor) -> Value:
    tier = "dm" if call.method == "to_dm_view" else "hbm"
    dest = next((value for value in reversed(call.arguments) if isinstance(value, RustTensor)), None)
    done = Opaque("()", sources_of(source) | {call.site.number})
    if dest is None:
        why = next((v for v in reversed(call.arguments[1:]) if isinstance(v, Unknown) and v.reason), None)
        said = "the destination is no tensor whose type is known here"
        call.site.refuse(why or Unknown(said, call.site.span, "let a variable hold its view, with the type annotated"))
        return done
    if dest.missing is not None:
        call.site.refuse(_because(dest.missing, "the destination", call.site.span))
        return done
    problems = (*source.problems, *dest.problems)
    if dest.tier != tier:
        problems += (PlanProblem(f"`{call.method}` into a tensor of {dest.tier}", call.site.span, "", fatal=False),)
    move = KernelMove(call.method, source, dest, generics=call.instance, problems=problems)
    call.site.settle(move)
    return done


def _shuffle(call: Call, source: RustTensor) -> Value:
    """`pattern[target] = source`: a tile copy for each entry; one stands for all, which differ in places alone. That
    the pattern names places is a condition where its values are not known.
    """
    place = SHUFFLES[call.method]
    size = source.expr(place).size if place in source.fields else 0
    dest = _fill(RustTensor(source.tier, source.dtype, dict(source.fields), span=call.site.span), call.expected)
    dest = replace(dest, sources=source.sources | {call.site.number},
                   buffer=Buffer(call.serial, call.method, True, call.site.span))  # fmt: skip
    one = source.with_field(place, Map(Padding(ONE, size, Kind.TOP)))
    into = source.with_field(place, Map(Padding(ONE, size, Kind.BOTTOM)))
    problems = source.problems
    wrong = _pattern(call, size)
    if isinstance(wrong, PlanProblem):
        problems += (wrong,)
    elif wrong:
        one = replace(one, window=replace(one.window, given=(*one.window.given, wrong)))
    if size < 2:
        problems += (PlanProblem(
            f"a shuffle of {size} {place}", call.site.span, f"the {place} mapping must have at least two positions",
            fatal=False,
        ),)  # fmt: skip
    call.site.settle(KernelMove(call.method, one, into, generics=call.instance, problems=problems))
    return dest


def _pattern(call: Call, size: int) -> PlanProblem | str:
    """What is wrong with the pattern of a shuffle over `size` places; the condition that it must keep, if any."""
    given = call.arguments[-1] if call.arguments else Unknown("")
    hint = f"one source for each of the {size} places, each below {size}"
    told = given.items if isinstance(given, Sequence) and given.items is not None else ()
    count = given.count if isinstance(given, Sequence) else None
    every = [one for one in told if isinstance(one, Numbers)]
    off = next((one for one in every if one.single is not None and not 0 <= one.low < size), None)
    if count is not None and count != size:
        return PlanProblem(
            f"the pattern has {count} entries, the shuffle {size} places", call.site.span, hint, fatal=False
        )
    if off is not None:
        return PlanProblem(f"the pattern names the place {off.low} of {size}", call.site.span, hint, fatal=False)
    sure = count == size and len(every) == size and all(one.low >= 0 and one.high < size for one in every)
    return "" if sure else f"the pattern of the shuffle in line {call.site.span.line} is {hint}"


# ---------------------------------------------------------------- indirect


def _tensor_of(values: Iterable[Value], last: bool = False) -> RustTensor | None:
    found = [value for value in values if isinstance(value, RustTensor)]
    return (found[-1] if last else found[0]) if found else None


def _gather(call: Call, table: RustTensor) -> Value:
    """The result's chip is the table's; cluster, slice and element are named by turbofish or context."""
    index = _tensor_of(call.arguments)
    if index is None or index.missing is not None:
        call.site.refuse(Unknown("the index of the gather has no type that is known here", call.site.span))
        return call.expected or Unknown("")
    names = ("cluster", "slice", "element")
    skipped = 3 if call.method == "dma_gather_unscaled" and len(call.generics) == 6 else 0
    given = dict(zip(names, call.generics[skipped:], strict=False))
    fields: dict[str, Map | Unknown] = {"chip": table.fields["chip"]}
    for place in names:
        value = given.get(place, Unknown(""))
        fields[place] = value if isinstance(value, (Map, Unknown)) else Unknown("")
    dest = RustTensor("dm", table.dtype, fields, span=call.site.span)
    move = KernelMove(call.method, table, dest, index, None, call.instance, (*table.problems, *index.problems))
    return _complete(call, move)


def _scatter(call: Call, data: RustTensor) -> Value:
    index, dest = _tensor_of(call.arguments), _tensor_of(call.arguments, last=True)
    done = Opaque("()", data.sources | {call.site.number})
    if index is None or dest is None or index is dest or index.missing is not None or dest.missing is not None:
        call.site.refuse(Unknown("index or destination of the scatter have no known type", call.site.span))
        return done
    key = next((value for value in call.generics if isinstance(value, Map)), None)
    if key is None:
        call.site.refuse(Unknown("the scatter names no key: `dma_scatter::<m![K], _, _>`", call.site.span))
        return done
    problems = (*data.problems, *index.problems, *dest.problems)
    call.site.settle(KernelMove(call.method, data, dest, index, key, call.instance, problems))
    return done
