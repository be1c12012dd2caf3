"""Sections of a machine's data that other rooms read, held to the kinds of values that the shipped machines have there.

Knows: kinds of TOML values. Does not know: what a section means, which machines ship.
Law: a value in the place of a shipped one is of its kind, and a number is one that can be counted with; what no shipped
machine has is left to its reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from dmaverify.errors import InputError
from dmaverify.targets.table import Table

MOST = 1 << 53  # what a float counts up to
BITS = 64  # lists of numbers are bits of addresses


class Lacking(InputError, KeyError):
    """A key that a machine's data lack; who knows better what it is for catches it and says so."""


class Section(dict[str, Any]):
    """A table of a machine's own data, and the tables in it: a key that it lacks is refused, wherever it is read."""

    def __init__(self, data: Mapping[str, Any], called: str) -> None:
        super().__init__(
            {name: _section(value, f"{called}.{name}" if called else name) for name, value in data.items()}
        )
        self.called = called

    def __missing__(self, key: str) -> Any:
        raise Lacking(f"the machine's data lack `{f'{self.called}.{key}' if self.called else key}`", None,
                         "the machines that ship have it, with its source")  # fmt: skip


def _section(value: Any, called: str) -> Any:
    if isinstance(value, list):
        return [_section(one, called) for one in value]
    return Section(value, called) if isinstance(value, Mapping) else value


def held_to(table: Table, key: str, models: Sequence[Any]) -> None:
    """Raises InputError at the first value below `key` that is of no kind that the models have in its place."""
    value = table.data[key]
    kinds = dict.fromkeys(_kind(model) for model in models)
    if models and not any(_fits(value, model) for model in models):
        table.refuse(f"`{key}` must be {' or '.join(kinds)}", key)
    _inside(table, key, value, models)


def _inside(table: Table, key: str, value: Any, models: Sequence[Any]) -> None:
    if isinstance(value, Mapping):
        inner = Table(table.source, value, (*table.path, key))
        for name in value:
            held_to(inner, name, [one[name] for one in models if isinstance(one, Mapping) and name in one])
    elif isinstance(value, list):
        known = [part for one in models if isinstance(one, list) for part in one]
        for part in value:
            if known and not any(_fits(part, one, BITS) for one in known):
                kinds = dict.fromkeys(_kind(one) + (f" below {BITS}" if type(one) is int else "") for one in known)
                table.refuse(f"an item of `{key}` must be {' or '.join(kinds)}", key)
            _inside(table, key, part, known)


def _kind(value: Any) -> str:
    names = {dict: "a table", list: "a list", str: "a text", bool: "true or false", int: "a whole number"}
    return names.get(type(value), "a number")


def _fits(value: Any, model: Any, most: int = MOST) -> bool:
    """Whether a value may stand where the model does."""
    if type(model) is int:
        return type(value) is int and (-MOST < value < MOST if most == MOST else 0 <= value < most)
    if type(model) is float:
        return type(value) in (int, float) and isfinite(value) and abs(value) < MOST
    return type(value) is type(model)
