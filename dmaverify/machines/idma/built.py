"""Engines from the generator's own input: what a project hands to iDMA's scripts is what is checked.

Knows: `jobs.json` (parameters of an engine and its job files), protocols (`src/db/*.yml`), lists of variants and
front-ends in `idma.mk`, `idma_reg.rdl`. Does not know: what options mean (`setup`).
Law: a parameter that changes what the engine does and is not modelled is refused, never left out; names of the scripts
that change nothing that is judged (ids, user bits, shifters) are passed over.

    --engine jobs/jobs.json          the engine of the entry that lists the file that is checked
    --engine jobs/jobs.json::rw_axi  an entry by its name; idma.mk::rw_axi and idma.mk::reg32_3d likewise
    --engine src/db/idma_axi.yml     a protocol as it is described

Source: iDMA v0.7.0, `jobs/jobs.json`, `idma.mk`, `src/db`, `src/frontend/reg/idma_reg.rdl`, `util/mario`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from dmaverify.errors import InputError, did_you_mean
from dmaverify.language.files import resolved
from dmaverify.language.toml_spans import read_source

SUFFIXES = (".json", ".mk", ".yml", ".yaml", ".rdl")
Options = dict[str, int | str]

_PARAMS = {
    "DataWidth": "data_width", "AddrWidth": "address_width", "TFLenWidth": "length_width",
    "NumAxInFlight": "ax_in_flight", "BufferDepth": "buffer_depth", "MemSysDepth": "system_depth",
    "HardwareLegalizer": "legalizer", "RejectZeroTransfers": "reject_zero", "NumDim": "dims",
    "BurstLen": "burst_len_param", "ErrorHandling": "error_handler",
}  # fmt: skip
_PASSED = {"UserWidth", "AxiIdWidth", "CombinedShifter", "MaskInvalidData", "RAWCouplingAvail", "RepWidth",
           "StrideWidth", "NumEvents", "StallPct"}  # fmt: skip


def is_built(word: str) -> bool:
    """Whether an `--engine` names a file of the generator."""
    return word.partition("::")[0].endswith(SUFFIXES)


def built_options(word: str, of: str = "") -> Options:
    """The options of an engine as its generator is told, for a file that is checked. Raises InputError."""
    path, _, name = word.partition("::")
    text = read_source(path, toml=False).text
    if path.endswith(".json"):
        return _entry(path, text, name, of)
    if path.endswith(".mk"):
        return _listed(path, text, name)
    if path.endswith(".rdl"):
        return _registers(path, text)
    return _protocol(path, text)


@lru_cache(maxsize=8)
def _entries(path: str, text: str) -> Mapping[str, Mapping[str, Any]]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InputError(f"{path} is no JSON: {error}", None, "jobs.json of iDMA") from None
    if not isinstance(found, dict):
        raise InputError(f"{path} holds no entries", None, '"NAME": { "proc_id": "rw_axi", "params": {...} }')
    return {
        name: one for name, one in found.items()
        if isinstance(one, dict) and isinstance(one.get("proc_id"), str) and one["proc_id"] != "none"
    }  # fmt: skip


def _entry(path: str, text: str, name: str, of: str) -> Options:
    """The engine of an entry: by its name, else by the file that it lists."""
    entries = _entries(path, text)
    if not name:
        folder, file = resolved(path).parent, resolved(of)
        jobs = {own: [(folder / str(job)).resolve() for job in _table(path, own, one, "jobs").values()]
                for own, one in entries.items()}  # fmt: skip
        listing = [own for own, files in jobs.items() if file in files] or [
            own for own, files in jobs.items() if file.parent in {one.parent for one in files} and file.parent != folder
        ]  # what is in no list goes to the engine of those beside it
        engines = {own: _built(path, own, entries[own]) for own in listing}
        same = {tuple(v for v in one.items() if v[0] not in _TIMING) for one in engines.values()}
        if len(same) != 1:
            what = f"{', '.join(listing)} list {of}" if listing else f"no entry lists {of}" if of else "which entry"
            raise InputError(f"{path}: {what}", None, f"name one: {path}::{next(iter(entries), 'NAME')}")
        return next(iter(engines.values()))
    if name not in entries:
        raise InputError(f"{path} has no entry {name!r}", None, did_you_mean(name, entries) or ", ".join(entries))
    return _built(path, name, entries[name])


_TIMING = ("ax_in_flight", "system_depth")
"""What changes no verdict on a job."""


def _table(path: str, name: str, entry: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """What an entry has under a key. Raises InputError where that is no table."""
    found = entry.get(key, {})
    if not isinstance(found, dict):
        raise InputError(f"{path}: `{key}` of {name} is {json.dumps(found)[:40]}", None, "a table")
    return found


def _built(path: str, name: str, entry: Mapping[str, Any]) -> Options:
    out: Options = {"variant": entry["proc_id"]}
    for key, value in _table(path, name, entry, "params").items():
        if key in _PARAMS and isinstance(value, int):
            out[_PARAMS[key]] = value
        elif key not in _PASSED:
            raise InputError(
                f"{path}: {name} has `{key} = {value!r}`, which is not modelled", None,
                f"known: {', '.join((*_PARAMS, *sorted(_PASSED)))}",
            )  # fmt: skip
    return {"dims": 1, **out}


def _listed(path: str, text: str, name: str) -> Options:
    """A variant or a register front-end that a makefile builds."""
    joined = re.sub(r"\\\r?\n", " ", re.sub(r"(?m)#.*$", "", text))
    found = re.findall(r"(?m)^\s*\w*_IDS\s*[:?+]?=(.*)$", joined)
    known = [word for line in found for word in line.split() if re.fullmatch(r"\w+", word)]
    if name not in known:
        said = f"{path} does not build {name!r}" if name else f"{path} builds {len(known)} things"
        raise InputError(said, None, did_you_mean(name, known) or f"one of {', '.join(f'{path}::{x}' for x in known)}")
    return {"front_end": name} if re.fullmatch(r"reg\d+_\d+d", name) else {"variant": name}


def _registers(path: str, text: str) -> Options:
    """The register front-end whose defaults a description has."""
    found = {key: int(value) for key, value in re.findall(r"\b(SysAddrWidth|NumDims|NumProtBits)\s*=\s*(\d+)", text)}
    if not {"SysAddrWidth", "NumDims"} <= found.keys() or found.get("NumProtBits", 3) != 3:
        raise InputError(f"{path} is no idma_reg", None, "parameters SysAddrWidth and NumDims, three bits of protocol")
    return {"front_end": f"reg{found['SysAddrWidth']}_{found['NumDims']}d"}


def _number(path: str, key: str, text: str) -> int:
    try:
        return int(text.strip("'"), 0)
    except ValueError:
        raise InputError(f"{path}: `{key}` is {text}", None, "a whole number") from None


_KINDS = {"axi": "split_at_page_boundary", "tilelink": "only_pow2"}


def _protocol(path: str, text: str) -> Options:
    """What a description of a protocol changes: pages and beats of AXI; all else must be as modelled."""
    keys = dict(re.findall(r'(?m)^(\w+):[ \t]*"?([^"#\n|]*?)"?[ \t]*(?:#.*)?$', text))
    name, kind = keys.get("prefix", ""), keys.get("bursts", "")
    if not name or kind != _KINDS.get(name, "not_supported"):
        raise InputError(
            f"{path}: bursts of {name or 'no prefix'} are `{kind}`, which is not modelled", None,
            f"{name}: {_KINDS.get(name, 'not_supported')}",
        )  # fmt: skip
    if keys.get("legalizer_force_decouple", "false").strip("'").lower() != "false":
        raise InputError(f"{path}: `legalizer_force_decouple` is not modelled", None, "false")
    if name == "axi":
        out: Options = {}
        for key, option, usual in (("page_size", "page_bytes", 4096), ("max_beats_per_burst", "burst_len_param", 256)):
            value = _number(path, key, keys.get(key, str(usual)))
            if value < 1 or value & (value - 1):
                raise InputError(f"{path}: `{key}` is {value}", None, "a power of two")
            out[option] = value if key == "page_size" else value.bit_length() - 1
        return out
    if name == "tilelink":
        for key, own in (("page_size", "2048"), ("tltoaxi4_compatibility_mode", "true")):
            if keys.get(key, own) != own:
                raise InputError(f"{path}: `{key}` is {keys[key]}, which is not modelled", None, own)
    return {}
