"""Which engine a plan means, and how it asks for its transfers: presets and options.

Knows: the `[machine]` tables of the target, names and values of options. Does not know: plan files, commands.
Law: a parameter comes from the options, else from the preset, else from `[machine.default]`; nothing else is read.

Source: `encodings/idma/target.toml`; iDMA paper, 3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dmaverify.errors import InputError, did_you_mean
from dmaverify.machines.idma.built import built_options, is_built
from dmaverify.machines.idma.engine import AXI, AXIS, FLAGS, INIT, Backend, Request, protocol_named, variant_named
from dmaverify.machines.idma.front_ends import front_end_named
from dmaverify.machines.idma.midends import StripedRegion
from dmaverify.machines.idma.registers import OTHER_ENGINES, STREAMS
from dmaverify.program.move import Transfer
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace

ENGINE = (
    "variant", "data_width", "address_width", "length_width", "burst_len_param", "ax_in_flight", "buffer_depth",
    "system_depth", "reject_zero", "page_bytes", "dims", "front_end", "memory", "fetch_width", "chain_head",
    "region_start", "region_end", "region_width", "backends", "legalizer", "tilelink_ul", "channels", "arbitration",
    "version", "nd_latency", "memory_latency", "memory_outstanding", "error_handler", "midends", "events",
)  # fmt: skip
OF_ENGINE = tuple(
    name for name in ENGINE if name not in ("memory", "memory_latency", "memory_outstanding", "version", "chain_head")
)
"""What makes two engines of two transfers, if it differs."""
OF_BURSTS = (*FLAGS, "src_max_llen", "dst_max_llen")
"""What each descriptor of a transfer asks for on its own."""
NUMBERS = ("src_max_llen", "dst_max_llen", "src_burst", "dst_burst")
PROTOCOLS = ("src_protocol", "dst_protocol")
ACTIONS = ("none", "continue", "abort", "replay")
FETCH_WIDTHS = (64, 128, 256)
"""Widths of the fetch bus for which v0.7.0 has a consistent order of a descriptor's words."""
STANDARD_HEAD = 0x8000
"""Where a chain of descriptors is written, where nothing else is said and nothing else lies there."""
PATTERNS = ("none", "constant", "incrementing", "random")
MIDENDS = ("rt_3d", "tensor_2d", "tensor_nd", "mp_split", "mp_dist")
"""In the order in which a request passes them."""
SPECIFICATION = "spec"
"""A version that does what is specified: no known defect."""
ARBITRATIONS = ("software", "round-robin", "address")
KNOWN = ("preset", "on_error", "channel", "pattern", "value", *ENGINE, *FLAGS, "compute", *NUMBERS, *PROTOCOLS)


@dataclass(frozen=True, slots=True)
class Setup:
    """An engine and the options of its requests. `dims` counts the 1D transfer as one; `request` has no addresses.
    `each` are the requests of single commands of a text, where they ask for their own bursts; `launched` their rounds
    and lanes, as a form has them.
    """

    backend: Backend
    request: Request
    dims: int
    front_end: str
    memory: str
    on_error: int = 0
    src_burst: int = 1
    dst_burst: int = 1
    midends: tuple[str, ...] = ()
    fetch_width: int = 256
    fetch_given: bool = False  # else the layout follows the text
    chain_head: int = STANDARD_HEAD
    head_given: bool = False
    region: StripedRegion | None = None  # that the back-ends share, where the engine has mp_split or mp_dist
    backends: int = 1
    channels: int = 1
    channels_given: bool = False  # else launches name as many as there are
    arbitration: str = "software"  # who chooses the channel of a launch
    channel: int = 0  # that software chose; -1: several
    pattern: str = "none"  # what an Init source is promised to give
    memory_latency: int = -1  # cycles, instead of those of the named memory
    memory_outstanding: int = 0
    nd_latency: int = 0  # of tensor_ND, which can be built with 0 or 1
    version: str = "0.7.0"  # of the RTL whose known defects are told
    version_given: bool = False
    value: int = 0  # the byte of a constant pattern
    events: int = 0  # of a real-time mid-end; 0 where nothing says how many
    error_handler: bool = True  # where the engine can have one: AXI to AXI without compute
    each: tuple[Request, ...] = ()
    launched: tuple[tuple[int, int], ...] = ()

    @property
    def outer(self) -> int:
        """Loops that the mid-end has around a 1D transfer."""
        return self.dims - 1

    @property
    def fetch_said(self) -> int:
        """The width of the fetch bus where somebody says it, else 0."""
        return self.fetch_width if self.fetch_given else 0

    @property
    def stages(self) -> int:
        """Mid-ends that take a cycle each before the first burst; tensor_ND takes `nd_latency`."""
        return sum(self.nd_latency if name == "tensor_nd" else 1 for name in self.midends)

    @property
    def shown_stages(self) -> int:
        """The cycles that mid-ends take on the release: v0.7.0 hands pieces on in the cycle that accepts them, and its
        tensor_2D is a tensor_ND.
        """
        if self.version != "0.7.0":
            return self.stages
        own = {"tensor_nd": self.nd_latency, "tensor_2d": self.nd_latency, "rt_3d": 1}
        return sum(own.get(name, 0) for name in self.midends)

    @property
    def unordered(self) -> bool:
        """Whether launches of one channel may be carried out by several back-ends."""
        return (self.channels > 1 and self.arbitration != "software") or (self.backends > 1 and self.region is not None)

    @property
    def length_max(self) -> int:
        return (1 << self.backend.length_width) - 1

    @property
    def space(self) -> int:
        return 1 << self.backend.address_width

    def missing_channel(self, channel: int) -> str:
        """What is said of a launch on a channel that the engine does not have; empty where it has it."""
        channel = channel % STREAMS if channel >= OTHER_ENGINES else channel
        if not self.channels_given or channel < self.channels:
            return ""
        has = "one channel, 0" if self.channels == 1 else f"{self.channels} channels, 0 to {self.channels - 1}"
        return f"channel {channel}: the engine has {has}"

    def own(self, number: int) -> Setup:
        """The engine for one command of a text."""
        return replace(self, request=self.each[number], each=()) if self.each else self

    def at(self, src: int, dst: int, length: int) -> Request:
        return replace(self.request, src=src, dst=dst, length=length)


def presets(target: Target) -> Mapping[str, Mapping[str, Any]]:
    """The engines of published systems, by name."""
    found: Mapping[str, Mapping[str, Any]] = target.raw["machine"]["preset"]
    return found


def engine_options(words: Sequence[str], of: str = "") -> dict[str, int | str]:
    """Options of an engine as a command line names it: `NAME=VALUE`, a preset, a variant, or a file of the generator;
    `of` is the file that is checked. Raises InputError.
    """
    out: dict[str, int | str] = {}
    for word in words:
        if is_built(word):
            out.update(built_options(word, of))
            continue
        name, equals, value = (part.strip() for part in word.partition("="))
        if not equals:
            out["variant" if re.match(r"(rw|r|w)_", name) else "preset"] = name
        elif not name or not value:
            raise InputError(f"`--engine {word}` is not NAME=VALUE", None, "cheshire, rw_axi, or data_width=64")
        else:
            out[name.replace("-", "_")] = _written(value)
    return out


def _written(value: str) -> int | str:
    """A number, decimal or hexadecimal; else the word."""
    if re.fullmatch(r"0[xX][0-9a-fA-F]+", value):
        return int(value, 16)
    return int(value) if value.isdecimal() else value


def agree(name: str, one: int | str, other: int | str) -> bool:
    """Whether two values of an option are one: a protocol has several names, and a code."""
    return one == other or (name in PROTOCOLS and protocol_named(one) == protocol_named(other))


def full_options(target: Target, given: Mapping[str, int | str]) -> dict[str, Any]:
    """What was given over its preset, over the default. Raises InputError for an unknown preset."""
    preset = _text(given, "preset", "")
    known = presets(target)
    if preset and preset not in known:
        raise InputError(f"no preset {preset!r}", None, did_you_mean(preset, known) or f"known: {', '.join(known)}")
    return {**target.raw["machine"]["default"], **(known[preset] if preset else {}), **given}


def setup_of(target: Target, options: Mapping[str, int | str] | tuple[tuple[str, int | str], ...] = ()) -> Setup:
    """The engine that options mean. Raises InputError for unknown names and values out of range."""
    given = dict(options)
    for name in given:
        if name not in KNOWN:
            hint = did_you_mean(name, KNOWN) or f"known: {', '.join(KNOWN)}"
            raise InputError(f"unknown option `{name}`", None, hint)
    full = full_options(target, given)
    if "length_width" not in given and isinstance(full["address_width"], int):
        full["length_width"] = min(full["length_width"], full["address_width"])
    backend = Backend(
        variant_named(_text(full, "variant")),
        data_width=_number(full, "data_width"),
        address_width=_number(full, "address_width"),
        burst_len=_number(full, "burst_len_param"),
        length_width=_number(full, "length_width"),
        ax_in_flight=_number(full, "ax_in_flight", 2),
        buffer_depth=_number(full, "buffer_depth", 2),
        system_depth=_number(full, "system_depth"),
        reject_zero=_flag(full, "reject_zero"),
        page_bytes=_number({"page_bytes": target.limits["page_bytes"], **full}, "page_bytes", 1),
        legalizer=_flag({"legalizer": 1, **full}, "legalizer"),
        tilelink_ul=_flag(full, "tilelink_ul"),
        specified=full.get("version") == SPECIFICATION,
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
    midends, dims = _midends(full, given)
    return Setup(
        backend,
        request,
        dims=dims,
        front_end=front_end_named(_text(full, "front_end")),
        memory=_text(full, "memory"),
        on_error=ACTIONS.index(action),
        src_burst=_number(types, "src_burst", 0, 2),
        dst_burst=_number(types, "dst_burst", 0, 2),
        midends=midends,
        fetch_width=_fetch(full, backend.data_width),
        fetch_given="fetch_width" in full,
        chain_head=_number(full, "chain_head") if "chain_head" in full else STANDARD_HEAD,
        head_given="chain_head" in full,
        region=_region(full, midends),
        backends=_number(full, "backends", 1) if "backends" in full else 2,
        channels=_number({"channels": 1, **full}, "channels", 1, 16),
        channels_given="channels" in full,
        error_handler=_flag({"error_handler": 1, **full}, "error_handler"),
        events=_number({"events": 0, **full}, "events", 0, 1 << 10),
        arbitration=_one_of(full, "arbitration", ARBITRATIONS),
        channel=_number(full, "channel", -1, 15),
        pattern=_one_of(full, "pattern", PATTERNS),
        memory_latency=_number({"memory_latency": -1, **full}, "memory_latency", -1, 1 << 20),
        memory_outstanding=_number({"memory_outstanding": 0, **full}, "memory_outstanding", 0, 1 << 20),
        version=_version(full, target),
        version_given="version" in full,
        nd_latency=_number(full, "nd_latency", 0, 1),
        value=_number(full, "value", 0, 255),
    )


def setup_of_commands(target: Target, transfer: Transfer, more: Mapping[str, int | str] | None = None) -> Setup:
    """The engine of a transfer, with what single commands of its text ask for; `more` options go before. Raises
    InputError.
    """
    options = {**dict(transfer.options), **(more or {})}
    form = transfer.form
    requests = tuple(setup_of(target, {**dict(own), **options}).request for own in (form.each if form else ()))
    return replace(setup_of(target, options), each=requests, launched=form.launched if form else ())


def _midends(full: Mapping[str, Any], given: Mapping[str, int | str]) -> tuple[tuple[str, ...], int]:
    """The mid-ends in the order of requests, and the dimensions that they have, the 1D transfer being one."""
    words = full["midends"]
    if isinstance(words, str):
        words = [] if words.strip() in ("none", "") else re.split(r"[\s,+]+", words.strip().lower())
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(f"option `midends` is {full['midends']!r}", None, f"none, or some of {', '.join(MIDENDS)}")
    for word in words:
        if word not in MIDENDS or words.count(word) > 1:
            said = "is named twice" if word in MIDENDS else "is no mid-end"
            hint = did_you_mean(word, MIDENDS) or ", ".join(MIDENDS)
            raise InputError(f"option `midends`: `{word}` {said}", None, hint)
    tensor = {"tensor_2d", "tensor_nd"} & set(words)
    if len(tensor) > 1:
        raise InputError("option `midends`: tensor_2d and tensor_nd", None, "one of them")
    dims = _number(full, "dims", 1, 64)
    if "midends" in given:
        most = 2 if "tensor_2d" in tensor else 64 if tensor else 1
        if "dims" in given and dims > most:
            said = f"{dims} dimensions behind mid-ends {', '.join(words) or 'none'}"
            raise InputError(said, None, f"dims = {most}, or midends = tensor_nd")
        dims = dims if most > 2 or "dims" in given else most
    elif dims > 1 and not tensor:
        words = [*words, "tensor_nd"]
    return tuple(sorted(words, key=MIDENDS.index)), dims


def _region(full: Mapping[str, Any], midends: Sequence[str]) -> StripedRegion | None:
    """The memory that back-ends share out; None for engines without such mid-ends, or without a word about it."""
    given = [name for name in ("region_start", "region_end", "region_width") if name in full]
    if not given:
        return None
    if not {"mp_split", "mp_dist"} & set(midends):
        said = f"option `{given[0]}` is for an engine with mp_split or mp_dist, and this one has neither"
        raise InputError(said, None, "leave it out, or name an engine that has: midends = mp_split, mp_dist")
    shared = _number(full, "backends", 1) if "backends" in full else 2
    if shared & (shared - 1):
        raise InputError(f"{shared} back-ends share a region", None, "a power of two, so that rows are aligned")
    if "region_width" not in full or "region_end" not in full:
        raise InputError(f"option `{given[0]}` alone makes no region", None, "region_start, region_end, region_width")
    return StripedRegion(
        _number(full, "region_start"), _number(full, "region_end", 1), _number(full, "region_width", 1)
    )


def _fetch(full: Mapping[str, Any], data_width: int) -> int:
    """Bits of the bus over which descriptors are fetched: as said, else the data width where it has a layout."""
    if "fetch_width" not in full:
        return data_width if data_width in FETCH_WIDTHS else FETCH_WIDTHS[-1]
    width = _number(full, "fetch_width")
    if width not in FETCH_WIDTHS:
        raise InputError(f"option `fetch_width` is {width}", None, f"one of {', '.join(map(str, FETCH_WIDTHS))}")
    return width


def _version(full: Mapping[str, Any], target: Target) -> str:
    known = sorted({v for one in target.raw["machine"]["defect"].values() for v in one["versions"]})
    return _one_of({"version": known[-1], **full}, "version", (*known, SPECIFICATION))


def _one_of(full: Mapping[str, Any], name: str, known: Sequence[str]) -> str:
    value = _text(full, name, known[0])
    if value not in known:
        raise InputError(f"`{name}` is {value!r}", None, f"one of {', '.join(known)}")
    return value


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
