"""`address`: where a byte of memory lies, and back.

Knows: the address maps of memories, their readings, how people write addresses.
Does not know: plans, commands, costs.
Law: an address that does not exist is refused; the address of a printed place is the address that was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from dmaverify.cli.options import AS_JSON, WordChoice
from dmaverify.errors import InputError
from dmaverify.values import asdict, fields

MEMORIES = ("hbm", "dm")


@click.command()
@click.argument("numbers", nargs=-1, metavar="[ADDRESS]...")
@click.option("--memory", type=WordChoice(MEMORIES), required=True, help="hbm of a chip, or dm of a cluster.")
@click.option("--place", metavar="NAME=N,...", help="The way back: `channel=3, row=5`, others 0.")
@click.option("--reading", metavar="NAME", help="Reading of the channel bits: table (the default) or prose.")
@AS_JSON
def address(numbers: tuple[str, ...], memory: str, place: str | None, reading: str | None, as_json: bool) -> None:
    """Where a byte of HBM or DM lies, and back.

    Stack, channel, bank group, bank and row of HBM; DMN, slice, bank and row of DM.
    """
    from dmaverify.cli.screen import told

    if bool(numbers) == (place is not None):
        raise InputError("give addresses, or a place", None, "dmaverify address 0x1200 --memory hbm")
    asked = [_number(text) for text in numbers] if place is None else [address_of(memory, place, reading)]
    found = [place_of(number, memory, reading) for number in asked]
    raise told(found if as_json else "\n".join(map(_text, found)))


def _number(text: str) -> int:
    """A whole number of bytes: 4096, 0x1000, 2^20 + 256, 3 * slice_stride. Raises InputError."""
    from dmaverify.errors import Source
    from dmaverify.plan.arithmetic import Cursor
    from dmaverify.targets.target import load_target

    cursor = Cursor(text, Source("the address", text), 0, load_target("rngd").constants)
    found = cursor.number("the address")
    if cursor.peek() is not None:
        cursor.fail_here(f"`{text}` is no address", "a number: 4096, 0x1000, 2^20 + 256")
    return found.plain + found.fixed


def place_of(number: int, memory: str, reading: str | None = None) -> dict[str, Any]:
    """The place of an address as data, with what another reading of the channel bits would say. Raises InputError."""
    from dmaverify.targets.address_maps import data, dm_map, hbm_map

    try:
        if memory == "dm":
            if reading is not None:
                raise InputError("DM has no contested address bits", None, "leave --reading out")
            return {"memory": memory, "address": number, **asdict(dm_map().place(number))}
        channel = data()["memory"]["hbm"]["channel"]
        names = [name for name, bits in channel.items() if isinstance(bits, list)]
        chosen = reading or channel["default"]
        found = asdict(hbm_map(chosen).place(number))
        others = {n: hbm_map(n).place(number).channel for n in names if n != chosen}
    except ValueError as error:
        raise InputError(str(error)) from None
    differing = {name: value for name, value in others.items() if value != found["channel"]}
    return {"memory": memory, "address": number, "reading": chosen, **found, "other_readings": differing}


def address_of(memory: str, place: str, reading: str | None = None) -> int:
    """The address of a place such as `channel=3, row=5`; what is not named is 0. Raises InputError."""
    from dmaverify.targets.address_maps import DmPlace, HbmPlace, dm_map, hbm_map

    kind: Any = DmPlace if memory == "dm" else HbmPlace
    names = [field.name for field in fields(kind)]
    values = dict.fromkeys(names, 0)
    for part in filter(None, (text.strip() for text in place.split(","))):
        name, equals, value = (text.strip() for text in part.partition("="))
        if not equals or name.replace(" ", "_") not in values:
            hint = f"NAME=N with one of {', '.join(names)}"
            raise InputError(f"`{part}` names no part of a place in {memory}", None, hint)
        values[name.replace(" ", "_")] = _number(value)
    try:
        number = dm_map().address(kind(**values)) if memory == "dm" else hbm_map(reading).address(kind(**values))
        back = {name: value for name, value in place_of(number, memory, reading).items() if name in values}
    except (ValueError, OverflowError):
        raise InputError(f"there is no such place in {memory}: {place}") from None
    wrong = [name for name in names if back[name] != values[name]]
    if wrong:
        raise InputError(f"there is no {wrong[0].replace('_', ' ')} {values[wrong[0]]} in {memory}")
    return number


def _text(found: Mapping[str, Any]) -> str:
    left = ("memory", "address", "reading", "other_readings")
    parts = [f"{name.replace('_', ' ')} {value}" for name, value in found.items() if name not in left]
    line = f"{found['memory']} {found['address']:#x}   {', '.join(parts)}"
    told = [f"channel {value} under the reading {name}" for name, value in found.get("other_readings", {}).items()]
    return line + (f"   ({'; '.join(told)})" if told else "")
