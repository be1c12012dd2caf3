"""Requests as named columns: the rows of tables of bursts, ND requests and cycles, and the lines of `--stdin`.

Knows: the columns, their defaults, how numbers may be written. Does not know: bursts, cycles.
Law: a row is a request that the back-end accepts, or an InputError that names the column.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from dmaverify.errors import InputError, Span, did_you_mean
from dmaverify.machines.idma.engine import FLAGS, Backend, Request, protocol_named, refusal, variant_named
from dmaverify.machines.idma.law import MemorySystem
from dmaverify.machines.idma.nd import Descriptor, Dim

NEEDED = ("src_addr", "dst_addr", "length")
_FLAGS = (*FLAGS, "compute", "reject_zero")
DEFAULTS: Mapping[str, Any] = {
    "variant": "rw_axi", "data_width": 32, "burst_len_param": 8, "src_protocol": 0, "dst_protocol": 0,
    "decouple_rw": 0, "decouple_aw": 0, "src_reduce_len": 0, "src_max_llen": 0, "dst_reduce_len": 0, "dst_max_llen": 0,
    "address_width": 32, "reject_zero": 0, "compute": 0,
}  # fmt: skip
"""Columns that may be left out. `reject_zero` 0 is how the legalizer was measured: a request of no length makes one
burst of 0 bytes a side."""
_ORDER: tuple[tuple[str, Any], ...] = tuple(
    (name, DEFAULTS.get(name))
    for name in (
        *NEEDED, "src_protocol", "dst_protocol", "decouple_rw", "decouple_aw", "src_reduce_len", "src_max_llen",
        "dst_reduce_len", "dst_max_llen", "compute", "reject_zero", "data_width", "burst_len_param", "address_width",
    )
)  # fmt: skip
_KNOWN = frozenset(DEFAULTS) | frozenset(NEEDED)


def number(name: str, value: Any) -> int:
    """A whole number: a number, or text as tables have it, decimal or 0x. Raises InputError."""
    if type(value) is int:
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        try:
            return int(value.strip(), 16 if value.strip().lower().startswith("0x") else 10)
        except ValueError:
            pass
    raise InputError(f"`{name}` is {value!r}, not a whole number", None, "write 4096 or 0x1000")


def flag(name: str, value: Any) -> bool:
    found = number(name, value)
    if found not in (0, 1):
        raise InputError(f"`{name}` is {value!r}", None, "0 or 1")
    return bool(found)


@lru_cache(maxsize=1024)
def _backend(variant: str, data_width: int, burst_len: int, address_width: int, reject_zero: bool) -> Backend:
    return Backend(
        variant_named(variant),
        data_width,
        address_width,
        burst_len,
        length_width=address_width,
        reject_zero=reject_zero,
    )


def request_of(row: Mapping[str, Any]) -> tuple[Backend, Request]:
    """The back-end and the request of one row. Raises InputError for what is missing, unknown or out of range."""
    if not _KNOWN.issuperset(row):  # a table has many rows
        _only(row, _KNOWN)
    for name in NEEDED:
        if name not in row:
            raise InputError(f"`{name}` is missing", None, f"a request has {', '.join(NEEDED)}")
    values = [row.get(name, default) for name, default in _ORDER]
    if {*map(type, values)} != {int}:
        values = [
            protocol_named(v) if "protocol" in name else number(name, v)
            for (name, _), v in zip(_ORDER, values, strict=True)
        ]
    variant = row.get("variant", DEFAULTS["variant"])
    if not isinstance(variant, str):
        raise InputError(f"`variant` is {variant!r}", None, 'a name such as "rw_axi"')
    src, dst, length, src_protocol, dst_protocol, rw, aw, sr, sl, dr, dl, compute, zero, data, beats, address = values
    if (rw | aw | sr | dr | compute | zero) >> 1:
        for (name, _), value in zip(_ORDER, values, strict=True):
            if name in _FLAGS:
                flag(name, value)
    backend = _backend(variant, data, beats, address, bool(zero))
    request = Request(
        src, dst, length, src_protocol, dst_protocol, rw == 1, aw == 1, sr == 1, sl, dr == 1, dl, compute == 1
    )
    refused = refusal(backend, request)
    if refused is not None:
        raise refused
    return backend, request


def cells_in(line: str, span: Span | None = None) -> list[str]:
    """The values between the commas of one line of a table. Raises InputError."""
    import csv

    try:
        return next(csv.reader([line]), [])
    except csv.Error as error:
        raise InputError(f"no row of a table: {error}", span, "values between commas") from None


# ---------------------------------------------------------------- ND requests and copies

MOST_DIMS = 16
MOST_TRANSFERS = 1 << 22


def descriptor_of_row(row: Mapping[str, Any]) -> tuple[Descriptor, int]:
    """An ND request of `length`, `src`, `dst` and `dim0`, `dim1`, ... as `reps:src_stride:dst_stride`, inner first, and
    its address width. Raises InputError.
    """
    dims = [name for name in (f"dim{k}" for k in range(MOST_DIMS)) if name in row]
    known = {"length", "src", "dst", "address_width", *dims}
    _only(row, known)
    for name in ("length", "src", "dst"):
        if name not in row:
            raise InputError(f"`{name}` is missing", None, "a request has length, src, dst and dim0, dim1, ...")
    made = []
    for name in dims:
        parts = str(row[name]).split(":")
        if len(parts) != 3:
            raise InputError(f"`{name}` is {row[name]!r}", None, "reps:src_stride:dst_stride")
        made.append(Dim(*(number(name, part) for part in parts)))
        if made[-1].reps < 0:
            raise InputError(f"`{name}` has {made[-1].reps} repetitions", None, "0 or more")
    width = number("address_width", row.get("address_width", 32))
    if not 12 <= width <= 64:
        raise InputError(f"`address_width` is {width}", None, "12 to 64 bits")
    request = Request(number("src", row["src"]), number("dst", row["dst"]), number("length", row["length"]))
    for name in ("src", "dst"):
        if not 0 <= getattr(request, name) < 1 << width:
            raise InputError(f"`{name}` is {getattr(request, name)}", None, f"0 to 2^{width} - 1")
    found = Descriptor(request, tuple(made))
    if found.transfers > MOST_TRANSFERS:
        raise InputError(f"{found.transfers:,} transfers", None, f"at most {MOST_TRANSFERS:,} are listed")
    return found, width


def copy_of_row(row: Mapping[str, Any]) -> tuple[Backend, MemorySystem, int, int, int, int]:
    """A copy of `total` bytes in fragments of `frag`: back-end, memory, source, destination (text: hexadecimal), total,
    fragment. Raises InputError.
    """
    _only(row, {"data_width", "num_ax_in_flight", "mem", "total", "frag", "src", "dst", "mem_latency",
                "mem_outstanding", "decouple_aw", "buffer_depth", "system_depth"})  # fmt: skip
    values = {"data_width": 32, "num_ax_in_flight": 2, "mem_latency": 3, "mem_outstanding": 8, "decouple_aw": 0,
              "buffer_depth": 3, "system_depth": 0, "total": 65536, **row}  # fmt: skip
    values.pop("mem", None)
    ends = {name: values.pop(name, 0) for name in ("src", "dst")}
    src, dst = (int(str(v), 16) if isinstance(v, str) else number(name, v) for name, v in ends.items())
    whole = {name: number(name, value) for name, value in values.items()}
    for name in ("total", "frag", "num_ax_in_flight", "mem_outstanding", "mem_latency"):
        if whole[name] < (0 if name == "mem_latency" else 1):
            raise InputError(f"`{name}` is {whole[name]}", None, "a number above 0")
    if max(src, dst) + whole["total"] > 1 << 64 or min(src, dst) < 0:
        raise InputError("the copy leaves the address space", None, "addresses of 64 bits")
    backend = Backend(
        variant_named("rw_axi"), whole["data_width"], 64, ax_in_flight=whole["num_ax_in_flight"],
        buffer_depth=whole["buffer_depth"], system_depth=whole["system_depth"],
    )  # fmt: skip
    memory = MemorySystem(str(row.get("mem", "memory")), whole["mem_latency"], whole["mem_outstanding"])
    return backend, memory, src, dst, whole["total"], whole["frag"]


def _only(row: Mapping[str, Any], known: Collection[str]) -> None:
    for key in row:
        if key not in known:
            raise InputError(f"unknown key `{key}`", None, did_you_mean(key, known) or ", ".join(sorted(known)))
