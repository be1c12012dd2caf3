"""The plan file, `schema = 1`, as types: which keys exist, of what kind, and what to say where they are not met.

Knows: keys, their types, defaults and documentation; the JSON Schema.
Does not know: spans, mappings, targets, what a plan means.
Law: what these models accept has exactly the shape that `plan` reads; nothing is converted, no bool is a number.

Programs, beside transfers and accesses:

    [region.acts]                           # memory with a name: bytes base..base+size of each place of a box of places
    tier = "dm"
    extent = { cluster = 2, slice = 256 }   # how many places; `place = {...}` is the first
    base = 4096
    size = 65536
    lifetime = ["load", "use"]              # first and last step, of the programs that name the region

    [program.layer]
    regions = ["acts"]
    order = "contexts"                      # default; or "written" (each step after the one above), or "none"
    expect = "proved"
    [[program.layer.step]]
    transfer = "load"                       # the name of a transfer, or a table that is one
    writes = "acts"
    [[program.layer.step]]
    name = "use"
    access = ["fetch0", "commit0"]          # a name, several that run together, or a table
    after = ["load"]                        # an explicit sync: `load` ends before `use` begins

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
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Discriminator, Field, StringConstraints, Tag, ValidationError
from pydantic.config import JsonDict

from dmaverify.inputs.schema_views import Loops, Mapped, Natural, ViewTable, _Table, _view_kind
from dmaverify.language.notation import MAX_NUMBER

Path: TypeAlias = tuple[str | int, ...]

AxisName = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Za-z0-9_']*$")]
MoveName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$")]
CheckId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+/[a-z0-9-]+$")]
Configuration = Annotated[str, Field(description="a sequencer, such as `[A=8:256, C=256:1]:256 HBM/D@0`")]


def _base_kind(value: object) -> str:
    return "record" if isinstance(value, dict | Base) else "number"


def _expect_kind(value: object) -> str:
    return "list" if isinstance(value, list) else "word"


def _work_kind(value: object) -> str:
    if isinstance(value, list):
        return "list"
    return "name" if isinstance(value, str) else "table"


def _stream_kind(value: object) -> str:
    return "cases" if isinstance(value, list) else "one"


class Base(_Table):
    """Offsets of a tensor per class of place."""

    chip: Natural = 0
    cluster: Natural = 0
    slice: Natural = 0
    element: Natural = Field(default=0, description="byte address within the place")


class TensorTable(_Table):
    """A tensor in memory. Which places a tier has is the target's business: all keys can be read."""

    tier: str = Field(description="hbm, dm, spm, host, gm, ub, mem, or another tier of the target")
    base: Annotated[Annotated[Natural, Tag("number")] | Annotated[Base, Tag("record")], Discriminator(_base_kind)] = (
        Field(default=0, description="byte address, or a record of offsets")
    )
    chip: Mapped = "1"
    cluster: Mapped = "1"
    slice: Mapped = "1"
    element: Mapped = "1"
    view: (
        Annotated[
            Annotated[ViewTable, Tag("one")] | Annotated[list[ViewTable], Tag("several"), Field(min_length=1)],
            Discriminator(_view_kind),
        ]
        | None
    ) = Field(default=None, description="the part that is moved: one table, or several from the first to the last")


class StreamTable(_Table):
    """Who moves what in which order, in which packets."""

    time: Mapped = "1"
    packet: Mapped
    chip: Mapped = "1"
    cluster: Mapped = "1"
    slice: Mapped = "1"


Places = Annotated[
    Annotated[list[Natural], Tag("list"), Field(min_length=1)] | Annotated[str, Tag("word")],
    Discriminator(_expect_kind),
]


class WhenTable(_Table):
    """The engines of a case, each class a list or a range such as "0..3"; k counts the engines of a cluster."""

    chip: Places = "0..0"
    cluster: Places = "0..0"
    dmn: Places = "0..0"


class CaseTable(StreamTable):
    """The stream of the engines of one case; its mappings may use i, j and k (chip, cluster and dmn) as numbers."""

    when: WhenTable = Field(default_factory=WhenTable)


class EngineTable(_Table):
    """Which DMA engine; dmn counts the engines of a cluster."""

    chip: Natural = 0
    cluster: Natural = 0
    dmn: Natural = 0


Unit = Annotated[Literal["bytes", "elements"], Field(description="what the numbers of configurations count")]
Expect = Annotated[
    Annotated[Literal["proved"], Tag("word")] | Annotated[list[CheckId], Tag("list")],
    Discriminator(_expect_kind),
    Field(description='"proved", or the exact ids of the errors'),
]
_SIDES: JsonDict = {"dependentRequired": {"read": ["write"], "write": ["read"]}}


class CommandTable(_Table):
    """One of several commands of a move."""

    model_config = ConfigDict(json_schema_extra=_SIDES)

    engine: EngineTable | None = None
    read: Configuration | None = None
    write: Configuration | None = None
    sequencer: Configuration | None = None
    unit: Unit | None = None


class TransferTable(_Table):
    """One move, and whatever the plan says of how it is made."""

    model_config = ConfigDict(json_schema_extra=_SIDES)

    dtype: str
    source: TensorTable
    dest: TensorTable
    stream: (
        Annotated[
            Annotated[StreamTable, Tag("one")] | Annotated[list[CaseTable], Tag("cases"), Field(min_length=1)],
            Discriminator(_stream_kind),
        ]
        | None
    ) = Field(default=None, description="one stream, or for each engine its own: a list of cases")
    unit: Unit = "bytes"
    read: Configuration | None = None
    write: Configuration | None = None
    sequencer: Configuration | None = Field(default=None, description="read and write in one paired configuration")
    engine: EngineTable | None = None
    command: Annotated[list[CommandTable], Field(min_length=1)] | None = None
    commands: str | None = Field(
        default=None, description="all commands as HashMap(...), in either command syntax of the DMA Engine document"
    )
    limits: dict[str, Natural] = Field(default_factory=dict, description="overrides of the target's limits")
    loop: Loops = Field(default_factory=dict)
    expect: Expect | None = None
    target: str | None = None


class AccessTable(_Table):
    """One Fetch or Commit access."""

    engine: Literal["fetch", "commit"]
    context: Literal["main", "sub"] = "main"
    dtype: str
    memory: TensorTable
    stream: StreamTable
    unit: Unit = "bytes"
    config: Configuration | None = None
    limits: dict[str, Natural] = Field(default_factory=dict, description="overrides of the target's limits")
    loop: Loops = Field(default_factory=dict)
    expect: Expect | None = None
    target: str | None = None


class IndexTable(TensorTable):
    """The list of rows that a gather or scatter reads: where it lies, and what is known of its numbers."""

    dtype: str = "i32"
    scaled: bool = Field(default=True, description="numbers are byte offsets (row number * row bytes), not row numbers")
    values: Annotated[list[Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)]], Field(min_length=1)] | None = Field(
        default=None, description="the numbers, where they are known"
    )
    rows: Annotated[list[Natural], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="a promise: the first and last row that the numbers name at run time"
    )
    distinct: bool = Field(default=False, description="a promise: no row is named twice at run time")


class IndirectTable(_Table):
    """A gather (out[k] = table[index[k]]) or a scatter (table[index[k]] = in[k])."""

    model_config = ConfigDict(json_schema_extra=_SIDES)

    dtype: str
    source: TensorTable
    dest: TensorTable
    index: IndexTable
    axis: str | None = Field(default=None, description="the axis of the table that the index picks")
    key: str | None = Field(default=None, description="the axis that the index runs over; default: that of the index")
    stream: StreamTable | None = None
    unit: Unit = "bytes"
    read: Configuration | None = None
    write: Configuration | None = None
    limits: dict[str, Natural] = Field(default_factory=dict, description="overrides of the target's limits")
    expect: Expect | None = None
    target: str | None = None


class PlaceTable(_Table):
    """A place of a tier."""

    chip: Natural = 0
    cluster: Natural = 0
    slice: Natural = 0


class ExtentTable(_Table):
    """How many neighbouring places, of each class."""

    chip: Annotated[int, Field(ge=1, le=MAX_NUMBER)] = 1
    cluster: Annotated[int, Field(ge=1, le=MAX_NUMBER)] = 1
    slice: Annotated[int, Field(ge=1, le=MAX_NUMBER)] = 1


class RegionTable(_Table):
    """A part of memory with a name: the same bytes of every place of a box of places."""

    tier: str
    place: PlaceTable = Field(default_factory=PlaceTable, description="the first place")
    extent: ExtentTable = Field(default_factory=ExtentTable, description="how many places from there on")
    base: Natural = Field(default=0, description="byte address within the place")
    size: Annotated[int, Field(ge=1, le=MAX_NUMBER)] = Field(description="bytes in each place")
    lifetime: Annotated[list[str], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="first and last step that use it; without: the whole program"
    )
    target: str | None = None


class StepTable(_Table):
    """One operation of a program: a transfer, or an access (several: those that run together)."""

    name: MoveName | None = Field(default=None, description="how `after` and `lifetime` call it; default: what it does")
    transfer: (
        Annotated[Annotated[str, Tag("name")] | Annotated[TransferTable, Tag("table")], Discriminator(_work_kind)]
        | None
    ) = Field(default=None, description="the name of a transfer of the plan, or a transfer written here")
    access: (
        Annotated[
            Annotated[str, Tag("name")]
            | Annotated[list[str], Tag("list"), Field(min_length=1)]
            | Annotated[AccessTable, Tag("table")],
            Discriminator(_work_kind),
        ]
        | None
    ) = Field(default=None, description="the name of an access, several names, or an access written here")
    gather: str | None = Field(default=None, description="the name of a gather of the plan")
    scatter: str | None = Field(default=None, description="the name of a scatter of the plan")
    context: MoveName | None = Field(
        default=None, description="where it runs; default: its engines, `tdma` without engines, an access's own context"
    )
    loop: Loops = Field(default_factory=dict)
    after: list[str] = Field(default_factory=list, description="steps that end before this one begins (a sync)")
    reads: str | None = Field(default=None, description="the region that holds what it reads")
    writes: str | None = Field(default=None, description="the region that holds what it writes")


class ProgramTable(_Table):
    """Steps, in the written order; what is not ordered may run at once."""

    step: Annotated[list[StepTable], Field(min_length=1)]
    regions: list[str] = Field(default_factory=list, description="regions that the program uses")
    order: Literal["contexts", "written", "none"] = Field(
        default="contexts",
        description="contexts: steps of one context one after the other; written: all steps; none: only by `after`",
    )
    expect: Expect | None = None
    target: str | None = None


class PlanTable(_Table):
    """A plan file."""

    model_config = ConfigDict(title="dmaverify plan, schema 1")

    schema_: int = Field(alias="schema", ge=1, le=1, json_schema_extra={"const": 1})
    target: str | None = Field(default=None, description="a target's name or folder; or give one per transfer")
    name: str = ""
    axes: dict[AxisName, Natural]
    let: dict[AxisName, Mapped] = Field(default_factory=dict)
    transfer: dict[MoveName, TransferTable] = Field(default_factory=dict)
    access: dict[MoveName, AccessTable] = Field(default_factory=dict)
    region: dict[MoveName, RegionTable] = Field(default_factory=dict)
    gather: dict[MoveName, IndirectTable] = Field(default_factory=dict)
    scatter: dict[MoveName, IndirectTable] = Field(default_factory=dict)
    program: dict[MoveName, ProgramTable] = Field(default_factory=dict)


_TABLES: Mapping[str, type[_Table]] = {
    "source": TensorTable,
    "dest": TensorTable,
    "memory": TensorTable,
    "view": ViewTable,
    "stream": StreamTable,
    "engine": EngineTable,
    "base": Base,
    "command": CommandTable,
    "when": WhenTable,
    "place": PlaceTable,
    "extent": ExtentTable,
    "step": StepTable,
    "transfer": TransferTable,
    "access": AccessTable,
    "index": IndexTable,
}


_MOVES: Mapping[str, type[_Table]] = {
    "transfer": TransferTable,
    "access": AccessTable,
    "region": RegionTable,
    "program": ProgramTable,
    "gather": IndirectTable,
    "scatter": IndirectTable,
}
_MARKS = {
    "transfer": "dtype", "access": "dtype", "region": "tier", "program": "step", "gather": "dtype", "scatter": "dtype",
}  # fmt: skip


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a plan file (draft 2020-12)."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **PlanTable.model_json_schema(by_alias=True)}


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that a plan's data gets wrong: where (`path`, of the key itself if `at_key`), what, and what to do."""

    path: Path
    message: str
    hint: str | None
    at_key: bool = False


def validate(data: Mapping[str, Any]) -> tuple[PlanTable | None, list[Complaint]]:
    """The plan's data as typed tables, and all complaints. Named tables with complaints are left out.

    None instead of tables where anything outside of the named tables is wrong.
    """
    nameless = [Complaint((kind,), f"the {kind} has no name", f"write [{kind}.NAME]", True) for kind in _nameless(data)]
    if nameless:
        return None, nameless
    try:
        return PlanTable.model_validate(dict(data)), []
    except ValidationError as error:
        complaints = [_complaint(data, dict(item)) for item in error.errors(include_url=False)]
    bad = {complaint.path[:2] for complaint in complaints}
    if any(len(path) < 2 or path[0] not in _MOVES for path in bad):
        return None, complaints
    kept = dict(data)
    for kind in _MOVES:
        kept[kind] = {name: table for name, table in data.get(kind, {}).items() if (kind, name) not in bad}
    return PlanTable.model_validate(kept), complaints


def _nameless(data: Mapping[str, Any]) -> list[str]:
    """Kinds of tables that were opened as `[transfer]` instead of `[transfer.NAME]`."""
    tables = {kind: data.get(kind) for kind in _MOVES}
    marked = {kind: table.get(_MARKS[kind]) for kind, table in tables.items() if isinstance(table, dict)}
    return [kind for kind, mark in marked.items() if isinstance(mark, list if kind == "program" else str)]


def _complaint(data: Mapping[str, Any], item: Mapping[str, Any]) -> Complaint:
    path, is_key = _path(data, item["loc"], item["type"])
    kind = str(item["type"])
    name = next((part for part in reversed(path) if isinstance(part, str)), "plan")
    shown = name if name.isprintable() and len(name) <= 60 else ascii(name[:60])
    if kind == "extra_forbidden":
        return Complaint(path, f"unknown key `{shown}`", _instead(path), at_key=True)
    if kind == "missing":
        return Complaint(path, f"`{shown}` is missing", _wanted(path), at_key=True)
    if is_key:
        what, instead = _NAMES[str(path[-2])]
        return Complaint(path, f"`{shown}` cannot be the name of {what}", instead, at_key=True)
    message, hint = _reason(kind, shown, item)
    return Complaint(path, message, hint)


def _path(data: Mapping[str, Any], loc: Path, kind: str) -> tuple[Path, bool]:
    """The path in the data that a location of the validator means; its tags of alternatives are left out."""
    path: Path = ()
    here: Any = data
    for part in loc:
        if part == "[key]":
            return path, True
        inside = isinstance(here, dict) and part in here
        if inside or (isinstance(here, list) and isinstance(part, int) and part < len(here)):
            here = here[part]
        elif kind != "missing" or part != loc[-1]:
            continue
        path = (*path, part)
    return path, False


def table_at(path: Path) -> type[_Table] | None:
    """The type of the table at `path`; None for tables with free keys."""
    if not path:
        return PlanTable
    names = [part for part in path if isinstance(part, str)]
    if len(names) == 2:
        return _MOVES.get(names[0])
    return _TABLES.get(names[-1])


def keys_of(table: type[_Table]) -> list[str]:
    return [field.alias or name for name, field in table.model_fields.items()]


def _instead(path: Path) -> str:
    """What to write instead of an unknown key: its nearest neighbour, or where the key belongs, or all keys."""
    table, name = table_at(path[:-1]), str(path[-1])
    keys = keys_of(table) if table else []
    for other, where in _HOMES:
        if name in keys_of(other) and other is not table:
            return f"`{name}` belongs {where}; known here: {', '.join(keys)}"
    close = get_close_matches(name.lower(), keys, n=1, cutoff=0.6)
    if close:
        return f"did you mean `{close[0]}`?"
    return f"known here: {', '.join(keys)}"


def _wanted(path: Path) -> str:
    return _EXAMPLES.get(str(path[-1]), f"add `{path[-1]} = ...`")


def _reason(kind: str, name: str, item: Mapping[str, Any]) -> tuple[str, str | None]:
    given, context = _shown(item["input"]), item.get("ctx", {})
    if name == "schema":
        return f"`schema` must be 1, not {given}", _EXAMPLES[name]
    if kind in _KINDS:
        what, how = _KINDS[kind]
        return f"`{name}` must be {what}, not {given}", _EXAMPLES.get(name, how)
    if kind == "literal_error":
        options = [option.strip("'") for option in context["expected"].replace(" or ", ", ").split(", ")]
        close = get_close_matches(str(item["input"]), options, n=1)
        hint = f"did you mean `{close[0]}`?" if close else _EXAMPLES.get(name)
        return f"`{name}` must be {' or '.join(options)}, not {given}", hint
    if kind == "greater_than_equal" and context.get("ge") == 1:
        return f"`{name}` must be at least 1, not {given}", _EXAMPLES.get(name)
    if kind == "greater_than_equal":
        return f"`{name}` cannot be negative: {given}", "sizes, addresses and places count from 0"
    if kind == "less_than_equal":
        return f"`{name}` is too large: {given}", "numbers go up to 10^18"
    if kind == "string_pattern_mismatch":
        return f"{given} is no check id", 'ids look like "core/same-element"'
    if kind == "too_short":
        return f"`{name}` is empty", "leave it out, or write at least one"
    return f"`{name}`: {item['msg']}", None


def _shown(value: object) -> str:
    """A value as a message shows it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return ascii(value[:40]) if not value.isprintable() else f'"{value[:40]}"'
    if isinstance(value, int) and abs(value) > 10**30:
        return f"a number of {value.bit_length()} bits"
    return str(value)


_HOMES = ((PlanTable, "at the top"), (TransferTable, "in [transfer.NAME]"), (TensorTable, "in source or dest"))

_KINDS = {
    "int_type": ("an integer", "write decimal digits, without quotes and without a point"),
    "string_type": ("text in quotes", 'put it in quotes: "..."'),
    "model_type": ("a table", "write a [table] with its name in brackets, or { key = value, ... }"),
    "dict_type": ("a table", "write a [table] with its name in brackets, or { key = value, ... }"),
    "list_type": ("a list", 'write ["...", "..."]'),
}

_AXIS_HINT = "a capital letter, then letters, digits, _ and '; with ' the key needs quotes: \"A'\" = 16"

_NAMES = {
    "axes": ("an axis", _AXIS_HINT),
    "let": ("a mapping", _AXIS_HINT),
    "transfer": ("a transfer", "write letters, digits, _ and -"),
    "access": ("an access", "write letters, digits, _ and -"),
    "region": ("a region", "write letters, digits, _ and -"),
    "program": ("a program", "write letters, digits, _ and -"),
    "gather": ("a gather", "write letters, digits, _ and -"),
    "scatter": ("a scatter", "write letters, digits, _ and -"),
    "loop": ("a loop", "small letters, digits and _, such as `t`"),
}

_EXAMPLES = {
    "schema": "this version reads `schema = 1`",
    "target": 'write `target = "rngd"`',
    "axes": "write [axes] and below it `A = 256`",
    "source": 'write `source = { tier = "hbm", base = 0, element = "A, B" }`',
    "dest": 'write `dest = { tier = "dm", base = 0, slice = "A / 4", element = "A % 4, B" }`',
    "memory": 'write `memory = { tier = "dm", base = 0, element = "A, B" }`',
    "stream": 'write `stream = { time = "A", packet = "B" }`',
    "packet": 'write `stream = { time = "A", packet = "B" }`',
    "tier": 'write `tier = "hbm"`, "dm", "spm", ...',
    "dtype": 'write `dtype = "i8"`',
    "engine": 'write `engine = { chip = 0, cluster = 0, dmn = 0 }`; in an access "fetch" or "commit"',
    "base": "a byte address, or { chip = 0, cluster = 0, slice = 0, element = 0 }",
    "expect": 'write `expect = "proved"`, or a list of check ids such as ["core/same-element"]',
    "unit": 'write `unit = "bytes"` or "elements"',
    "command": "write [[transfer.NAME.command]], with two brackets, once for each command",
    "transfer": "write [transfer.NAME]",
    "access": "write [access.NAME]",
    "limits": "write `limits = { entries = 8 }`",
    "region": "write [region.NAME]",
    "program": "write [program.NAME] and [[program.NAME.step]]",
    "step": "write [[program.NAME.step]], with two brackets, once for each step",
    "lifetime": 'write `lifetime = ["first step", "last step"]`',
    "size": "bytes in each place, at least 1",
    "when": 'write `when = { chip = "0..3", cluster = [0, 1], dmn = [0, 1, 2] }`',
    "index": 'write `index = { tier = "hbm", element = "K", values = [0, 512] }`',
    "gather": "write [gather.NAME], or the name of one",
    "scatter": "write [scatter.NAME], or the name of one",
    "rows": "write `rows = [0, 1023]`: the first and last row",
    "view": 'write `view = { tile = "A", length = 4, start = "4 * t" }`',
    "start": 'a number of positions, or a text such as "4 * t"',
    "loop": "write `loop = { t = 16 }`",
    "length": "positions of the digit, at least 1",
    "after": 'write `after = ["step", ...]`',
}
