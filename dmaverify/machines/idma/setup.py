"""Which engine a plan means, and how it asks for its transfers: presets and options.

Knows: the `[machine]` tables of the target, names and values of options. Does not know: plan files, commands.
Law: a parameter comes from the options, else from the preset, else from `[machine.default]`; nothing else is read.

Source: `encodings/idma/target.toml`; iDMA paper, 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from dmaverify.errors import InputError
from dmaverify.machines.idma.engine import AXI, AXIS, INIT, Backend, Request, protocol_named, variant_named
from dmaverify.targets.target import Target

ENGINE = (
    "variant", "data_width", "address_width", "length_width", "burst_len_param", "ax_in_flight", "buffer_depth",
    "system_depth", "reject_zero", "dims", "front_end", "memory",
)  # fmt: skip
FLAGS = ("decouple_rw", "decouple_aw", "src_reduce_len", "dst_reduce_len", "compute")
NUMBERS = ("src_max_llen", "dst_max_llen", "src_burst", "dst_burst")
PROTOCOLS = ("src_protocol", "dst_protocol")
ACTIONS = ("none", "continue", "abort", "replay")
KNOWN = ("preset", "on_error", *ENGINE, *FLAGS, *NUMBERS, *PROTOCOLS)


@dataclass(frozen=True, slots=True)
class Setup:
    """An engine and the options of its requests. `dims` counts the 1D transfer as one; `request` has no addresses."""

    backend: Backend
    request: Request
    dims: int
    front_end: str
    memory: str
    preset: str = ""
    on_error: int = 0
    src_burst: int = 1
    dst_burst: int = 1
    midends: tuple[str, ...] = ()

    @property
    def outer(self) -> int:
        """Loops that the mid-end has around a 1D transfer."""
        return self.dims - 1

    @property
    def length_max(self) -> int:
        return (1 << self.backend.length_width) - 1

    @property
    def space(self) -> int:
        return 1 << self.backend.address_width

    def at(self, src: int, dst: int, length: int) -> Request:
        return replace(self.request, src=src, dst=dst, length=length)


def presets(target: Target) -> Mapping[str, Mapping[str, Any]]:
    """The engines of published systems, by name."""
    found: Mapping[str, Mapping[str, Any]] = target.raw["machine"]["preset"]
    return found


def setup_of(target: Target, options: Mapping[str, int | str] | tuple[tuple[str, int | str], ...] = ()) -> Setup:
    """The engine that options mean. Raises InputError for unknown names and values out of range."""
    given = dict(options)
    for name in given:
        if name not in KNOWN:
            near = get_close_matches(name, KNOWN, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(KNOWN)}"
            raise InputError(f"unknown option `{name}`", None, hint)
    preset = _text(given, "preset", "")
    known = presets(target)
    if preset and preset not in known:
        raise InputError(f"no preset {preset!r}", None, f"known: {', '.join(known)}")
    full: dict[str, Any] = {**target.raw["machine"]["default"], **(known[preset] if preset else {}), **given}
    if "length_width" not in given and isinstance(full["address_width"], int):
        full["length_width"] = min(full["length_width"], full["address_width"])
    backend = Backend(
        variant_named(_text(full, "variant")),
        data_width=_number(full, "data_width"),
        address_width=_number(full, "address_width"),
        burst_len=_number(full, "burst_len_param"),
        length_width=_number(full, "length_width"),
        ax_in_flight=_number(full, "ax_in_flight", 1),
        buffer_depth=_number(full, "buffer_depth", 1),
        system_depth=_number(full, "system_depth"),
        reject_zero=_flag(full, "reject_zero"),
    )
    request = Request(
        0, 0, 1, _protocol(full, "src_protocol", backend.variant.reads),
        _protocol(full, "dst_protocol", backend.variant.writes), _flag(full, "decouple_rw"), _flag(full, "decouple_aw"),
        _flag(full, "src_reduce_len"), _number(full, "src_max_llen", 0, 7), _flag(full, "dst_reduce_len"),
        _number(full, "dst_max_llen", 0, 7), _flag(full, "compute"),
    )  # fmt: skip
    action = _text(full, "on_error", "none")
    if action not in ACTIONS:
        raise InputError(f"`on_error` is {action!r}", None, f"one of {', '.join(ACTIONS)}")
    types = {"src_burst": 1, "dst_burst": 1, **full}
    return Setup(
        backend,
        request,
        dims=_number(full, "dims", 1, 64),
        front_end=_text(full, "front_end"),
        memory=_text(full, "memory"),
        preset=preset,
        on_error=ACTIONS.index(action),
        src_burst=_number(types, "src_burst", 0, 2),
        dst_burst=_number(types, "dst_burst", 0, 2),
        midends=tuple(full["midends"]),
    )


def _text(full: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = full.get(name, default)
    if not isinstance(value, str):
        raise InputError(f"option `{name}` is {value!r}", None, "a text")
    return value


def _number(full: Mapping[str, Any], name: str, least: int = 0, most: int | None = None) -> int:
    value = full.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool) or value < least or (most is not None and value > most):
        hint = f"a whole number from {least}" + (f" to {most}" if most is not None else "")
        raise InputError(f"option `{name}` is {value!r}", None, hint)
    return value


def _flag(full: Mapping[str, Any], name: str) -> bool:
    value = full.get(name, 0)
    if value not in (0, 1):
        raise InputError(f"option `{name}` is {value!r}", None, "0 or 1")
    return bool(value)


def _protocol(full: Mapping[str, Any], name: str, have: frozenset[int]) -> int:
    """Without a word for it: AXI where there is AXI, else the first protocol of the side that is memory."""
    if name in full:
        return protocol_named(full[name])
    memory = sorted(have - {INIT, AXIS})
    return AXI if AXI in have or not memory else memory[0]
