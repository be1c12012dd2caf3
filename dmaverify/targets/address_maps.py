"""RNGD's address maps: which stack, channel, bank and row an HBM address is, which DMN, slice and bank a DM address
is.

Knows: how a map is made of sets of address bits, the rule of the contiguous 48 GiB, and both maps backwards.
Does not know: which bits (they are data: `encodings/rngd/target.toml`), commands, costs, solvers.
Law: on legal addresses `place` is a bijection and `address` its inverse (proofs/hbm-map-bijective,
proofs/dm-map-bijective); bits 34 and 35 of a legal HBM address are never both 1 (proofs/hbm-48gb).

Source: "Memory Performance" (Address Space in a Chip, Address Space in a Slice), "DMA Engine" (Example 2),
docs/machines/rngd.md 2.1, 2.3.

Relied on (proofs/): dm-map-bijective, hbm-48gb, hbm-map-bijective.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from dmaverify.errors import InputError
from dmaverify.language.files import shipped
from dmaverify.targets.table import shipped_toml
from dmaverify.values import dataclass


def data_file(name: str) -> Path:
    """A file of `encodings/rngd`, in an installed package or in the source tree."""
    for root in shipped("encodings"):
        if (root / "rngd" / name).is_file():
            return root / "rngd" / name
    raise InputError(f"the data of target rngd has no file {name}")


@lru_cache(maxsize=4)
def data(path: Path | None = None) -> Mapping[str, Any]:
    """`target.toml`, of which the sections `memory` and `cost` are asked for; or another file that has them."""
    text = (path or data_file("target.toml")).read_text(encoding="utf-8")
    return tomllib.loads(text) if path else shipped_toml(data_file("target.toml"), text)


def parity(value: int) -> int:
    """XOR of the bits of a number >= 0."""
    return value.bit_count() & 1


def mask_of(bits: Sequence[int]) -> int:
    """The number with exactly these bits set."""
    return sum(1 << bit for bit in bits)


def take(address: int, bits: Sequence[int]) -> int:
    """The number whose bit i is bit `bits[i]` of the address."""
    return sum((address >> bit & 1) << index for index, bit in enumerate(bits))


def put(value: int, bits: Sequence[int]) -> int:
    """The address whose bit `bits[i]` is bit i of the value; `take` undoes it."""
    return sum((value >> index & 1) << bit for index, bit in enumerate(bits))


@dataclass(frozen=True, slots=True)
class HbmPlace:
    """Where a byte of HBM lies: `byte` counts within the row of 2 KiB."""

    stack: int
    channel: int
    slice: int
    bank_group: int
    bank: int
    row: int
    byte: int


@dataclass(frozen=True)
class HbmMap:
    """The HBM address map of a chip; every field is a set of address bits, `channel` one set per bit of the channel."""

    size: int
    window: int
    byte: tuple[int, ...]
    stack: tuple[int, ...]
    channel: tuple[tuple[int, ...], ...]
    bank_group: tuple[int, ...]
    bank: tuple[int, ...]
    row: tuple[int, ...]
    top_slice: int
    top_high: int
    top_row: int

    def legal(self, address: int) -> bool:
        return 0 <= address < self.size

    def place(self, address: int) -> HbmPlace:
        """Where the byte lies. Raises ValueError beyond the chip's memory."""
        if not self.legal(address):
            raise ValueError(f"address {address} is outside of HBM (0 .. {self.size - 1})")
        low, high, top = (address >> bit & 1 for bit in (self.top_slice, self.top_high, self.top_row))
        return HbmPlace(
            stack=take(address, self.stack),
            channel=sum(parity(address & mask_of(bits)) << index for index, bits in enumerate(self.channel)),
            slice=2 if high else low,
            bank_group=take(address, self.bank_group),
            bank=take(address, self.bank),
            row=take(address, self.row) | (low if high else top) << len(self.row),
            byte=take(address, self.byte),
        )

    def address(self, place: HbmPlace) -> int:
        """The address of a place; the inverse of `place`."""
        top = place.row >> len(self.row)
        high = place.slice == 2
        address = put(place.byte, self.byte) | put(place.stack, self.stack) | put(place.bank_group, self.bank_group)
        address |= put(place.bank, self.bank) | put(place.row & ((1 << len(self.row)) - 1), self.row)
        address |= high << self.top_high | (0 if high else top) << self.top_row
        address |= (top if high else place.slice) << self.top_slice
        for index, bits in enumerate(self.channel):
            address |= ((place.channel >> index & 1) ^ parity(address & mask_of(bits[1:]))) << bits[0]
        return address

    @cached_property
    def channel_masks(self) -> tuple[int, ...]:
        """Masks whose parities are the bits of the chip-wide channel number, stack * channels per stack + channel."""
        return tuple(mask_of(bits) for bits in self.channel) + tuple(1 << bit for bit in self.stack)

    def bank_masks(self, high: bool) -> tuple[int, ...]:
        """Masks of bank, bank group and slice within a channel, where bit `top_high` is known to be `high`."""
        fixed = (*self.bank_group, *self.bank) if high else (*self.bank_group, *self.bank, self.top_slice)
        return tuple(1 << bit for bit in fixed)

    def bank_group_masks(self, high: bool) -> tuple[int, ...]:
        """Masks of bank group and slice within a channel, where bit `top_high` is known to be `high`."""
        fixed = self.bank_group if high else (*self.bank_group, self.top_slice)
        return tuple(1 << bit for bit in fixed)

    def row_masks(self, high: bool) -> tuple[int, ...]:
        """Masks of the row within a bank, where bit `top_high` is known to be `high`."""
        return tuple(1 << bit for bit in (*self.row, self.top_slice if high else self.top_row))

    def feeds(self, bit: int) -> tuple[str, ...]:
        """What an address bit selects, the component it belongs to first."""
        names = ("byte", "stack", "bank_group", "bank", "row")
        found = [name.replace("_", " ") for name in names if bit in getattr(self, name)]
        tops = {self.top_slice: ("slice",), self.top_high: ("slice", "row"), self.top_row: ("row",)}
        found += tops.get(bit, ())
        if any(bit in bits for bits in self.channel):
            found = ["channel", *found] if not found else [*found, "channel"]
        return tuple(found)


def hbm_map(reading: str | None = None, tables: Mapping[str, Any] | None = None) -> HbmMap:
    """The map under a reading of the channel XOR (`table`, the default, or `prose`). Raises InputError for another
    name.
    """
    memory = (tables or data())["memory"]["hbm"]
    bits, channel, top = memory["bits"], memory["channel"], memory["top"]
    name = reading or channel["default"]
    if name not in channel or not isinstance(channel[name], list):
        known = ", ".join(sorted(key for key, value in channel.items() if isinstance(value, list)))
        raise InputError(f"no reading `{name}` of the channel map", hint=f"one of {known}")
    return HbmMap(
        memory["size"],
        memory["window"],
        tuple(bits["byte"]),
        tuple(bits["stack"]),
        tuple(tuple(one) for one in channel[name]),
        tuple(bits["bank_group"]),
        tuple(bits["bank"]),
        tuple(bits["row"]),
        top["slice"],
        top["high"],
        top["row"],
    )


@dataclass(frozen=True, slots=True)
class DmPlace:
    """Where a byte of a cluster's data memory lies; `slice` counts within the DMN."""

    dmn: int
    slice: int
    bank: int
    row: int
    byte: int


@dataclass(frozen=True)
class DmMap:
    """The DM address map of a cluster: slice * 4 MiB + byte in the slice, of which the first 512 KiB exist."""

    slice_stride: int
    slice_bytes: int
    slices: int
    dmn_slices: int
    byte: tuple[int, ...]
    bank: tuple[int, ...]
    row: tuple[int, ...]
    slice: tuple[int, ...]
    dmn: tuple[int, ...]

    def legal(self, address: int) -> bool:
        return 0 <= address < self.slices * self.slice_stride and address % self.slice_stride < self.slice_bytes

    def place(self, address: int) -> DmPlace:
        """Where the byte lies. Raises ValueError for an address that does not exist."""
        if not self.legal(address):
            raise ValueError(f"address {address} does not exist in a cluster's DM")
        return DmPlace(*(take(address, bits) for bits in (self.dmn, self.slice, self.bank, self.row, self.byte)))

    def address(self, place: DmPlace) -> int:
        """The address of a place; the inverse of `place`."""
        pairs = ((place.dmn, self.dmn), (place.slice, self.slice), (place.bank, self.bank), (place.row, self.row))
        return sum(put(value, bits) for value, bits in pairs) + put(place.byte, self.byte)

    @cached_property
    def dmn_masks(self) -> tuple[int, ...]:
        """Masks of the DMN within the cluster."""
        return tuple(1 << bit for bit in self.dmn)


def dm_map(tables: Mapping[str, Any] | None = None) -> DmMap:
    """The map of data memory."""
    memory = (tables or data())["memory"]["dm"]
    bits = memory["bits"]
    sets = (tuple(bits[name]) for name in ("byte", "bank", "row", "slice", "dmn"))
    return DmMap(memory["slice_stride"], memory["slice_bytes"], memory["slices"], memory["dmn_slices"], *sets)
