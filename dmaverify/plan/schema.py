"""The plan file, `schema = 1`, as types: which keys exist, of what kind, and what to say where they are not met.

Knows: keys, their types, defaults and documentation; the JSON Schema.
Does not know: spans, mappings, targets, what a plan means.
Law: what these models accept has exactly the shape that `plan` reads; nothing is converted, no bool is a number.

Steps of one context run one after the other: `main` and `sub` for accesses, the engine for a transfer, `tdma` for a
transfer without engine; `context` names another. All else may run at once.

A tensor may be seen through a view, moved by the loops around the move (transfer.views):

    loop = { t = 16 }                       # of a transfer, access or step; steps in a row with one loop are its body
    dest = { tier = "hbm", element = "A, C", view = { tile = "A", length = 4, start = "4 * t" } }

A stream by engine is a list of cases: `stream = [{ when = { chip = "0..3", dmn = [0, 1, 2] }, chip = "D / 2 @ i = 1",
time = ..., packet = ... }, ...]`; i, j and k are the engine's chip, cluster and dmn. Cases of one engine are commands
of it, in order.

Source: the plan file format, `schema = 1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta, Struct

from dmaverify.language.notation import MAX_NUMBER

Path: TypeAlias = tuple[str | int, ...]


class Complaint(NamedTuple):
    """One thing that a plan's data gets wrong: where (`path`, of the key itself if `at_key`), what, and what to do."""

    path: Path
    message: str
    hint: str | None
    at_key: bool = False


# A pattern ends in `$(?!\n)`: `$` alone would let a name end in a line break.
Natural = Annotated[int, Meta(ge=0, le=MAX_NUMBER)]
Positive = Annotated[int, Meta(ge=1, le=MAX_NUMBER)]
Turns = Annotated[int, Meta(ge=1, le=64)]
Address = Annotated[int, Meta(ge=0)]  # below 2^64: the reader says so, a schema of 63 bits cannot
LoopName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*$(?!\n)")]
AxisName = Annotated[str, Meta(pattern=r"^[A-Z][A-Za-z0-9_']*$(?!\n)")]
MoveName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]+$(?!\n)")]
CheckId = Annotated[str, Meta(pattern=r"^[a-z0-9-]+/[a-z0-9-]+$(?!\n)")]
Mapped = Annotated[str, Meta(description="a mapping, such as `A / 4, B % 8 # 16`")]
Configuration = Annotated[str, Meta(description="a sequencer, such as `[A=8:256, C=256:1]:256 HBM/D@0`")]


class PlanFileTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a plan file. Keys that it does not name are errors."""


Arithmetic = Annotated[str, Meta(description="arithmetic over the sizes of the plan, such as `4 * N`")]
Number = Natural | Arithmetic
Count = Positive | Arithmetic


class SymbolTable(PlanFileTable, frozen=True):
    """A size that is any of a range: the plan is one claim about all of them."""

    min: Annotated[Natural | None, Meta(description="the least; for an axis at least 1, the default")] = None
    max: Annotated[Natural | None, Meta(description="the greatest; without it there is none")] = None
    multiple_of: Annotated[Positive, Meta(description="a number that divides every one of them")] = 1


class Base(PlanFileTable, frozen=True):
    """Offsets of a tensor per class of place."""

    chip: Number = 0
    cluster: Number = 0
    slice: Number = 0
    element: Annotated[Number, Meta(description="byte address within the place")] = 0


class ViewTable(PlanFileTable, frozen=True):
    """One step of a view: a tile of a digit, or padding of the outermost factor, put on or taken off."""

    tile: Annotated[str | None, Meta(description="the digit to cut, a term of the mapping or a part of one")] = None
    length: Annotated[Count, Meta(description="how many positions of the digit")] = 1
    start: Annotated[
        Natural | str, Meta(description="the first position, in positions of the digit: a number, or such as `4 * t`")
    ] = 0
    place: Annotated[Literal["chip", "cluster", "slice", "element"], Meta(description="the mapping that is cut")] = (
        "element"
    )
    partial: Annotated[bool, Meta(description="the rest of the tensor stays unwritten on purpose")] = False
    pad: Annotated[Count | None, Meta(description="positions of the outermost factor, Top beyond its own")] = None
    unpad: Annotated[bool, Meta(description="take the Top padding of the outermost factor off")] = False


Loops = Annotated[
    dict[LoopName, Count],
    Meta(description="loops around it, outer to inner, with their iterations: `{ t = 16 }`"),
]


class MemoryTable(PlanFileTable, frozen=True):
    """A tensor in memory, whole. Which places a tier has is the target's business: all keys can be read."""

    tier: Annotated[str, Meta(description="hbm, dm, spm, host, gm, ub, mem, or another tier of the target")]
    base: Annotated[Address | str | Base, Meta(description="byte address, arithmetic, or a record of offsets")] = 0
    chip: Mapped = "1"
    cluster: Mapped = "1"
    slice: Mapped = "1"
    element: Mapped = "1"


class TensorTable(MemoryTable, frozen=True):
    """A tensor in memory, or a part of it."""

    view: Annotated[
        ViewTable | Annotated[list[ViewTable], Meta(min_length=1)] | None,
        Meta(description="the part that is moved: one table, or several from the first to the last"),
    ] = None


class StreamTable(PlanFileTable, frozen=True, kw_only=True):
    """Who moves what in which order, in which packets."""

    time: Mapped = "1"
    packet: Annotated[
        Mapped | None, Meta(description="what is moved at once; a transfer without it takes the longest run of time")
    ] = None
    chip: Mapped = "1"
    cluster: Mapped = "1"
    slice: Mapped = "1"


Places = Annotated[list[Natural], Meta(min_length=1)] | str


class WhenTable(PlanFileTable, frozen=True):
    """The engines of a case, each class a list or a range such as "0..3"; k counts the engines of a cluster."""

    chip: Places = "0..0"
    cluster: Places = "0..0"
    dmn: Places = "0..0"


class CaseTable(StreamTable, frozen=True):
    """The stream of the engines of one case; its mappings may use i, j and k (chip, cluster and dmn) as numbers."""

    when: WhenTable = WhenTable()


class EngineTable(PlanFileTable, frozen=True):
    """Which DMA engine; dmn counts the engines of a cluster."""

    chip: Number = 0
    cluster: Number = 0
    dmn: Number = 0


Unit = Annotated[Literal["bytes", "elements"], Meta(description="what the numbers of configurations count")]
Expect = Annotated[Literal["proved"] | list[CheckId], Meta(description='"proved", or the exact ids of the errors')]
Limits = Annotated[dict[str, Natural], Meta(description="overrides of the target's limits")]


class CommandTable(PlanFileTable, frozen=True):
    """One of several commands of a move."""

    engine: EngineTable | None = None
    read: Configuration | None = None
    write: Configuration | None = None
    sequencer: Configuration | None = None
    unit: Unit | None = None


class TransferTable(PlanFileTable, frozen=True):
    """One move, and whatever the plan says of how it is made."""

    dtype: str
    source: TensorTable
    dest: TensorTable
    stream: Annotated[
        StreamTable | Annotated[list[CaseTable], Meta(min_length=1)] | None,
        Meta(description="one stream, or for each engine its own: a list of cases"),
    ] = None
    unit: Unit = "bytes"
    read: Configuration | None = None
    write: Configuration | None = None
    sequencer: Annotated[str | None, Meta(description="read and write in one paired configuration")] = None
    engine: EngineTable | None = None
    command: Annotated[list[CommandTable], Meta(min_length=1)] | None = None
    commands: Annotated[
        str | None,
        Meta(description="all commands as HashMap(...), in either command syntax of the DMA Engine document"),
    ] = None
    limits: Limits = {}
    options: Annotated[
        dict[str, int | str], Meta(description="settings of the machine's own; `engine`: a file that describes one")
    ] = {}
    loop: Loops = {}
    expect: Expect | None = None
    target: str | None = None


class AccessTable(PlanFileTable, frozen=True, kw_only=True):
    """One Fetch or Commit access."""

    engine: Literal["fetch", "commit"]
    context: Literal["main", "sub"] = "main"
    dtype: str
    memory: TensorTable
    stream: StreamTable
    unit: Unit = "bytes"
    config: Configuration | None = None
    limits: Limits = {}
    loop: Loops = {}
    expect: Expect | None = None
    target: str | None = None


class IndexTable(MemoryTable, frozen=True, kw_only=True):
    """The list of rows that a gather or scatter reads: where it lies, and what is known of its numbers."""

    dtype: str = "i32"
    scaled: Annotated[bool, Meta(description="numbers are byte offsets (row number * row bytes), not row numbers")] = (
        True
    )
    values: Annotated[
        Annotated[list[Annotated[int, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]], Meta(min_length=1)] | None,
        Meta(description="the numbers, where they are known"),
    ] = None
    rows: Annotated[
        Annotated[list[Natural], Meta(min_length=2, max_length=2)] | None,
        Meta(description="a promise: the first and last row that the numbers name at run time"),
    ] = None
    distinct: Annotated[bool, Meta(description="a promise: no row is named twice at run time")] = False


class IndirectTable(PlanFileTable, frozen=True):
    """A gather (out[k] = table[index[k]]) or a scatter (table[index[k]] = in[k])."""

    dtype: str
    source: TensorTable
    dest: TensorTable
    index: IndexTable
    axis: Annotated[str | None, Meta(description="the axis of the table that the index picks")] = None
    key: Annotated[str | None, Meta(description="the axis that the index runs over; default: that of the index")] = None
    stream: StreamTable | None = None
    unit: Unit = "bytes"
    read: Configuration | None = None
    write: Configuration | None = None
    limits: Limits = {}
    expect: Expect | None = None
    target: str | None = None


class PlaceTable(PlanFileTable, frozen=True):
    """A place of a tier."""

    chip: Natural = 0
    cluster: Natural = 0
    slice: Natural = 0


class ExtentTable(PlanFileTable, frozen=True):
    """How many neighbouring places, of each class."""

    chip: Positive = 1
    cluster: Positive = 1
    slice: Positive = 1


class RegionTable(PlanFileTable, frozen=True, kw_only=True):
    """A part of memory with a name: the same bytes of every place of a box of places."""

    tier: str
    place: Annotated[PlaceTable, Meta(description="the first place")] = PlaceTable()
    extent: Annotated[ExtentTable, Meta(description="how many places from there on")] = ExtentTable()
    base: Annotated[Natural, Meta(description="byte address within the place")] = 0
    size: Annotated[Positive, Meta(description="bytes in each place")]
    lifetime: Annotated[
        Annotated[list[str], Meta(min_length=2, max_length=2)] | None,
        Meta(description="first and last step that use it; without: the whole program"),
    ] = None
    target: str | None = None


class StepTable(PlanFileTable, frozen=True):
    """One operation of a program: a transfer, or an access (several: those that run together)."""

    name: Annotated[MoveName | None, Meta(description="its name in `after` and others; default: what it does")] = None
    transfer: Annotated[
        str | TransferTable | None, Meta(description="the name of a transfer of the plan, or a transfer written here")
    ] = None
    access: Annotated[
        str | Annotated[list[str], Meta(min_length=1)] | AccessTable | None,
        Meta(description="the name of an access, several names, or an access written here"),
    ] = None
    context: Annotated[
        MoveName | None,
        Meta(description="the queue it waits in, besides its engines' (`tdma` without); on iDMA, the engine itself"),
    ] = None
    gather: Annotated[str | None, Meta(description="the name of a gather of the plan")] = None
    scatter: Annotated[str | None, Meta(description="the name of a scatter of the plan")] = None
    loop: Loops = {}
    after: Annotated[list[str], Meta(description="steps that end before this one begins (a sync)")] = []
    earlier: Annotated[dict[str, Turns], Meta(description="`after`, of steps of its loop so many turns before")] = {}
    reads: Annotated[str | None, Meta(description="the region that holds what it reads, its index aside")] = None
    writes: Annotated[str | None, Meta(description="the region that holds what it writes")] = None


class ProgramTable(PlanFileTable, frozen=True):
    """Steps, in the written order; what is not ordered may run at once."""

    step: Annotated[list[StepTable], Meta(min_length=1)]
    regions: Annotated[list[str], Meta(description="regions that the program uses")] = []
    holds: Annotated[
        list[str], Meta(description="regions and memories that hold what is read of them where the program begins")
    ] = []
    empty: Annotated[list[str], Meta(description="regions and memories that hold nothing there")] = []
    order: Annotated[
        Literal["contexts", "written", "none"],
        Meta(
            description="contexts: steps of one context one after the other; written: all steps; none: only by `after`"
        ),
    ] = "contexts"
    expect: Expect | None = None
    target: str | None = None


class MoveTable(PlanFileTable, frozen=True):
    """A move that copies of a kernel make together, by their numbers in the order of the text."""

    copies: Annotated[list[Natural], Meta(min_length=1)]
    dtype: str
    source: TensorTable
    dest: TensorTable


class KernelTable(PlanFileTable, frozen=True):
    """A kernel in text, what its tensors hold, and the moves that its copies make."""

    file: Annotated[str | None, Meta(description="the text's file, beside the plan")] = None
    text: Annotated[str | None, Meta(description="the text itself")] = None
    function: str | None = None
    gm: Annotated[dict[str, str], Meta(description='arguments: "64x100xf16" or "12800 bytes"')] = {}
    assume: Annotated[dict[str, str], Meta(description='ranges of arguments: "1..64"')] = {}
    move: list[MoveTable] = []
    expect: Expect | None = None
    under: Annotated[dict[str, Expect], Meta(description="the verdict under RULE=NAME readings")] = {}
    target: str | None = None


class PlanTable(PlanFileTable, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """A plan file."""

    schema_: Annotated[Literal[1], Meta(extra_json_schema={"const": 1})]
    target: Annotated[str | None, Meta(description="a target's name or folder; or give one per transfer")] = None
    name: str = ""
    axes: dict[AxisName, Natural | SymbolTable]
    free: Annotated[dict[AxisName, SymbolTable], Meta(description="symbols that are no axis: a base, an engine")] = {}
    assume: Annotated[
        list[str], Meta(description="relations between the sizes, such as `C * N <= 2^20` or `32 | C`")
    ] = []
    let: dict[AxisName, Mapped] = {}
    transfer: dict[MoveName, TransferTable] = {}
    access: dict[MoveName, AccessTable] = {}
    region: dict[MoveName, RegionTable] = {}
    gather: dict[MoveName, IndirectTable] = {}
    scatter: dict[MoveName, IndirectTable] = {}
    program: dict[MoveName, ProgramTable] = {}
    kernel: dict[MoveName, KernelTable] = {}


# The named tables of a plan, and the key by which one is known that was written without a name.
KINDS: Mapping[str, type[PlanFileTable]] = {
    "transfer": TransferTable,
    "access": AccessTable,
    "region": RegionTable,
    "program": ProgramTable,
    "gather": IndirectTable,
    "scatter": IndirectTable,
    "kernel": KernelTable,
}
MARKS = {
    "transfer": "dtype", "access": "dtype", "region": "tier", "program": "step", "gather": "dtype", "scatter": "dtype",
    "kernel": "file",
}  # fmt: skip


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a plan file (draft 2020-12)."""
    schema = msgspec.json.schema(PlanTable)
    tables = schema["$defs"]
    for name in ("CommandTable", "TransferTable", "IndirectTable"):  # a side alone says nothing
        tables[name]["dependentRequired"] = {"read": ["write"], "write": ["read"]}
    plan = {**tables.pop("PlanTable"), "title": "dmaverify plan, schema 1"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **plan, "$defs": tables}
