"""What is wrong with the data of a plan file, all of it, in words.

Knows: the types of the plan file's tables, as data; how a person would say what a value is and what is asked.
Does not know: spans, and what a valid plan means.
Law: it is asked only about data that the types refuse, and then says at least one thing. It walks the same types that
refuse, so that a key or a limit is written once.

Source: the plan file format, `schema = 1`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from msgspec import inspect as kinds

from dmaverify.errors import did_you_mean, nearest
from dmaverify.plan.schema import Complaint, Path, PlanFileTable, PlanTable, TensorTable, TransferTable


def complaints_of(data: Mapping[str, Any], otherwise: str) -> list[Complaint]:
    """Everything wrong with the data, in the order of the tables' keys; `otherwise` is said where nothing is found."""
    return list(_complaints(data, _format(), ())) or [Complaint((), otherwise, None)]


@cache
def _format() -> kinds.Type:
    return kinds.type_info(PlanTable)


def _complaints(value: Any, kind: kinds.Type, path: Path) -> Iterator[Complaint]:
    """What keeps `value` from being of this kind."""
    kind = _alternative(value, kind)
    if isinstance(kind, kinds.StructType) and isinstance(value, dict):
        yield from _in_table(value, kind, path)
    elif isinstance(kind, kinds.DictType) and isinstance(value, dict):
        for key, inside in value.items():
            if _broken_pattern(key, kind.key_type):
                what, instead = _NAMES.get(str(path[-1]), ("one", "write letters, digits and _"))
                instead = _home(key) or instead
                yield Complaint((*path, key), f"`{_name((*path, key))}` cannot be the name of {what}", instead, True)
                if _home(key):
                    continue
            yield from _complaints(inside, kind.value_type, (*path, key))
    elif isinstance(kind, kinds.ListType) and isinstance(value, list):
        if len(value) < (kind.min_length or 0) and not value:
            yield Complaint(path, f"`{_name(path)}` is empty", "leave it out, or write at least one")
        elif len(value) < (kind.min_length or 0) or (kind.max_length is not None and len(value) > kind.max_length):
            message = f"`{_name(path)}` must have {kind.min_length} items, not {len(value)}"
            yield Complaint(path, message, _EXAMPLES.get(_name(path)))
        for index, inside in enumerate(value):
            yield from _complaints(inside, kind.item_type, (*path, index))
    else:
        yield from _in_leaf(value, kind, path)


def _alternative(value: Any, kind: kinds.Type) -> kinds.Type:
    """The alternative that a value of this type is most likely meant to be; documentation around a type is dropped."""
    while isinstance(kind, kinds.Metadata):
        kind = kind.type
    if not isinstance(kind, kinds.UnionType):
        return kind
    options = [_alternative(value, option) for option in kind.types if not isinstance(option, kinds.NoneType)]
    wanted: tuple[type[kinds.Type], ...] = {
        dict: (kinds.StructType, kinds.DictType),
        list: (kinds.ListType,),
        str: (kinds.StrType, kinds.LiteralType),
        int: (kinds.IntType,),
    }.get(type(value), ())
    return next((option for option in options if isinstance(option, wanted)), options[0])


def _in_table(value: Mapping[str, Any], kind: kinds.StructType, path: Path) -> Iterator[Complaint]:
    fields = {field.encode_name: field for field in kind.fields}
    for name, field in fields.items():
        at = (*path, name)
        if name in value:
            yield from _complaints(value[name], field.type, at)
        elif field.required and nearest(name, [key for key in value if key not in fields]) is None:
            yield Complaint(at, f"`{name}` is missing", _EXAMPLES.get(name, f"add `{name} = ...`"), True)
    for name in value:
        if name not in fields:
            at = (*path, name)
            yield Complaint(at, f"unknown key `{_name(at)}`", _instead(at, kind.cls), True)


def _in_leaf(value: Any, kind: kinds.Type, path: Path) -> Iterator[Complaint]:
    name, given = _name(path), _shown(value)
    if isinstance(kind, kinds.LiteralType):
        if isinstance(value, bool | float) or value not in kind.values:
            options = [str(option) for option in kind.values]
            close = did_you_mean(value, options) if isinstance(value, str) and value not in options else None
            hint = close or _EXAMPLES.get(name, f"write {' or '.join(map(_shown, options))}")
            yield Complaint(path, f"`{name}` must be {' or '.join(options)}, not {given}", hint)
    elif _wrong_type(value, kind):
        what, how = _WHAT[type(kind)]
        if name == "engine" and type(value) is int:
            how = f"write `engine = {{ chip = 0, cluster = 0, dmn = {value} }}`: engines are counted within a cluster"
            yield Complaint(path, f"`engine` must be {what}, not {given}", how)
            return
        yield Complaint(path, f"`{name}` must be {what}, not {given}", _EXAMPLES.get(name, how))
    elif isinstance(kind, kinds.IntType):
        yield from _out_of_range(value, kind, path)
    elif _broken_pattern(value, kind):
        in_ids = "expect" in path
        message, hint = (
            (f"{given} is no check id", 'ids look like "core/same-element"')
            if in_ids
            else (f"{given} cannot be a name", "write letters, digits, _ and -")
        )
        yield Complaint(path, message, hint)


def _wrong_type(value: Any, kind: kinds.Type) -> bool:
    if isinstance(kind, kinds.IntType):
        return isinstance(value, bool) or not isinstance(value, int)
    if isinstance(kind, kinds.BoolType):
        return not isinstance(value, bool)
    return not (isinstance(kind, kinds.StrType) and isinstance(value, str))


def _out_of_range(value: int, kind: kinds.IntType, path: Path) -> Iterator[Complaint]:
    name, given, example = _name(path), _shown(value), _EXAMPLES.get(_name(path))
    if kind.ge == 1 and value < 1:
        yield Complaint(path, f"`{name}` must be at least 1, not {given}", example or "write 1 or more")
    elif kind.ge is not None and value < kind.ge:
        yield Complaint(path, f"`{name}` cannot be negative: {given}", "sizes, addresses and places count from 0")
    elif kind.le is not None and value > kind.le:
        yield Complaint(path, f"`{name}` is too large: {given}", "numbers go up to 10^18")


def _broken_pattern(value: Any, kind: kinds.Type) -> bool:
    kind = _alternative(value, kind)
    return isinstance(kind, kinds.StrType) and kind.pattern is not None and not re.search(kind.pattern, value)


def _name(path: Path) -> str:
    """How a message calls what is at `path`: the last key on it."""
    name = next((part for part in reversed(path) if isinstance(part, str)), "plan")
    return name if name.isprintable() and len(name) <= 60 else ascii(name[:60])


def keys_of(table: type[PlanFileTable]) -> list[str]:
    """The keys of a table, as they are written."""
    return list(table.__struct_encode_fields__)


def _instead(path: Path, table: type) -> str:
    """What to write instead of an unknown key: its nearest neighbour, or where the key belongs, or all keys."""
    name, keys = str(path[-1]), keys_of(table)
    home, known = _home(name, table), f"known here: {', '.join(keys)}"
    return f"{home}; {known}" if home else did_you_mean(name.lower(), keys) or known


def _home(name: str, here: type | None = None) -> str:
    """Where a key belongs that stands elsewhere; empty for one that no table of these has."""
    where = next((where for table, where in _HOMES if name in keys_of(table) and table is not here), "")
    return f"`{name}` belongs {where}" if where else ""


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

_A_TABLE = ("a table", "write a [table] with its name in brackets, or { key = value, ... }")
_WHAT: Mapping[type[kinds.Type], tuple[str, str]] = {
    kinds.IntType: ("an integer", "write decimal digits, without quotes and without a point"),
    kinds.BoolType: ("true or false", "write true or false, without quotes"),
    kinds.StrType: ("text in quotes", 'put it in quotes: "..."'),
    kinds.StructType: _A_TABLE,
    kinds.DictType: _A_TABLE,
    kinds.ListType: ("a list", 'write ["...", "..."]'),
}

_AXIS_HINT = "a capital letter, then letters, digits, _ and '; with ' the key needs quotes: \"A'\" = 16"

_NAMES = {
    "axes": ("an axis", _AXIS_HINT),
    "free": ("a symbol", _AXIS_HINT),
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
