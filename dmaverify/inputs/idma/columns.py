"""One 1D request as named columns: the rows of burst tables and the lines of `bursts --stdin`.

Knows: the columns, their defaults, how numbers may be written. Does not know: bursts.
Law: a row is a request that the back-end accepts, or an InputError that names the column.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from dmaverify.errors import InputError
from dmaverify.machines.idma.engine import Backend, Request, protocol_named, refusal, variant_named

NEEDED = ("src_addr", "dst_addr", "length")
_FLAGS = ("decouple_rw", "decouple_aw", "src_reduce_len", "dst_reduce_len", "compute", "reject_zero")
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
    if not _KNOWN.issuperset(row):
        unknown = next(key for key in row if key not in _KNOWN)
        near = get_close_matches(unknown, _KNOWN, 1)
        raise InputError(f"unknown key `{unknown}`", None, f"did you mean `{near[0]}`?" if near else "see `bursts -h`")
    for name in NEEDED:
        if name not in row:
            raise InputError(f"`{name}` is missing", None, f"a request has {', '.join(NEEDED)}")
    values = [row.get(name, default) for name, default in _ORDER]
    if {*map(type, values)} != {int}:
        values = [
            _protocol(v) if "protocol" in name else number(name, v) for (name, _), v in zip(_ORDER, values, strict=True)
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


def _protocol(value: Any) -> int:
    return protocol_named(int(value) if isinstance(value, str) and value.strip().isdecimal() else value)
