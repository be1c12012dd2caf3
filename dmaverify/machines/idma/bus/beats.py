"""Beats of an AXI port from a trace: the dump of a simulator or a table.

Knows: names of signals, handshakes at the rising edge of a clock. Does not know: which beats are right.
Law: a beat is a rising edge at which valid and ready were 1 just before; a field that was not 0 or 1 in all its bits
has no value, and of data each bit is told for itself.

    time,channel,addr,len,size,strb,last,data        a table: one beat a line, channel ar, r, aw, w or b
    ar_valid, ar_ready, ar_addr, ..., clk            a dump: signals of one port, `FILE::SCOPE` where there are more
    axi_req_o.ar_valid, axi_rsp_i.r.data, ...        the same in structures; axi_read_* and axi_write_* are one port

Source: AMBA AXI, issue H.c, A3.2 (handshake), A2 (signals); IEEE 1364, 18 (value change dump); pywellen (FST, GHW).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import gcd
from pathlib import Path
from typing import Any

from dmaverify.errors import InputError, Source, Span
from dmaverify.language.files import read_bytes
from dmaverify.language.toml_spans import read_source
from dmaverify.machines.idma.columns import cells_in
from dmaverify.values import dataclass, replace

CHANNELS = ("ar", "r", "aw", "w", "b")
FIELDS = ("addr", "len", "size", "burst", "strb", "last", "data", "resp")
DUMPS = (".vcd", ".fst", ".ghw")
MOST_BYTES, MOST_BITS = 1 << 28, 1 << 16
_WIDTH = re.compile(rb"\$var\s+\w+\s+(\d{1,20})\s")
_SIGNAL = re.compile(rf"(?:^|(?<=[_.]))(ar|aw|r|w|b)[_.]?(valid|ready|{'|'.join(FIELDS)})(?:_[io])?$")
_STRUCTURE = re.compile(r"_?(?:req|resp|rsp)(?:_[io])?[._]$")
_CLOCK = re.compile(r"(?:^|[_.])(?:a?clk|clock)(?:_?i)?$")


@dataclass(frozen=True, slots=True)
class Beat:
    """One handshake: when, on which channel, the fields that the trace has; `undefined` are bits of `data`, 0 there.
    `cycle` counts edges of the clock; a table's clock is the greatest period that all its times keep.
    """

    time: int
    channel: str
    fields: Mapping[str, int | None]
    span: Span | None = None
    undefined: int = 0
    cycle: int = 0


def read_beats(path: str) -> list[Beat]:
    """The beats of a trace in order of time. Raises InputError."""
    file, _, scope = path.partition("::")
    if not Path(file).is_file():
        raise InputError(f"{file} is no file", None, "a trace: FILE.vcd, FILE.fst, FILE.csv, or FILE.vcd::SCOPE")
    if file.endswith(".csv"):
        return _table(read_source(file))
    if file.endswith(DUMPS):
        return _dump(file, scope)
    raise InputError(f"{file} is no trace that is read", None, f"a table .csv, or a dump {', '.join(DUMPS)}")


# ---------------------------------------------------------------- tables


def _table(source: Source) -> list[Beat]:
    lines = source.text.split("\n")
    header = [name.strip().lower() for name in cells_in(lines[0], Span(source, 0, len(lines[0])))]
    if not {"time", "channel"} <= set(header):
        raise InputError(f"{source.name} is no table of beats", None, f"columns time, channel, {', '.join(FIELDS)}")
    out: list[Beat] = []
    for number, line in enumerate(lines[1:], 1):
        if not line.strip():
            continue
        span = Span(source, source.line_starts[number], source.line_starts[number] + len(line))
        cells = cells_in(line, span)
        if len(cells) != len(header):
            raise InputError(f"{len(cells)} columns, the header has {len(header)}", span, "one value a column")
        row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
        channel = row["channel"].lower()
        if channel not in CHANNELS:
            raise InputError(f"`{row['channel']}` is no channel", span, ", ".join(CHANNELS))
        data, undefined = _bits(row.get("data", ""))
        numbers = {name: row[name] for name in FIELDS if row.get(name) and (name != "data" or not undefined)}
        fields = {name: _number(text, name, span) for name, text in numbers.items()}
        fields |= {"data": data} if undefined else {}
        time = _number(row["time"], "time", span)
        if time is None or (out and time < out[-1].time):
            raise InputError("the times of a table do not fall", span, "sort it by time")
        out.append(Beat(time, channel, fields, span, undefined))
    period = gcd(*(beat.time - out[0].time for beat in out)) or 1
    return [replace(beat, cycle=(beat.time - out[0].time) // period) for beat in out]


def _bits(text: str) -> tuple[int, int]:
    """The value of data with digits x or z, and which bits these are; (0, 0) for other text. Binary without 0x."""
    if not re.fullmatch(r"0[xX][0-9a-fA-FxXzZ]+|(0[bB])?[01xXzZ]+", text) or not re.search(r"[xXzZ]", text[2:] or text):
        return 0, 0
    base, digits = (16, text[2:]) if text[:2] in ("0x", "0X") else (2, text[2:] if text[:2] in ("0b", "0B") else text)
    unknown = [digit in "xXzZ" for digit in digits]
    if all(unknown):
        return 0, -1
    value = "".join("0" if x else digit for x, digit in zip(unknown, digits, strict=True))
    mask = "".join(("f" if base == 16 else "1") if x else "0" for x in unknown)
    return int(value, base), int(mask, base)


def _number(text: str, name: str, span: Span) -> int | None:
    if re.fullmatch(r"(0[xX])?[xXzZ]+", text):
        return None
    try:
        return int(text, 0)
    except ValueError:
        raise InputError(f"{name} is `{text}`, no number", span, "decimal, or 0x and hexadecimal digits") from None


# ---------------------------------------------------------------- dumps


def _dump(file: str, scope: str) -> list[Beat]:
    try:
        from pywellen import Waveform
    except ImportError:
        raise InputError("reading a simulator's dump needs pywellen", None, "pip install 'dmaverify[trace]'") from None
    if Path(file).stat().st_size > MOST_BYTES:
        raise InputError(f"{file} is longer than {MOST_BYTES >> 20} MiB", None, "dump the port alone")
    if file.endswith(".vcd"):
        wide = next(
            (int(bits[1]) for bits in _WIDTH.finditer(read_bytes(file, MOST_BYTES)) if int(bits[1]) > MOST_BITS), 0
        )
        if wide:
            raise InputError(f"{file} has a signal of {wide:,} bits", None, f"at most {MOST_BITS:,}")
    names: dict[str, list[str]] = {}
    signals: dict[str, Any] = {}
    try:
        with _hushed():
            for one in Waveform(file).all_vars():
                names.setdefault(str(one.signal_id), []).append(one.full_name)
                signals[str(one.signal_id)] = one
            port, clock = _port(file, names, scope)
            changes: dict[int, dict[str, int | str]] = {}
            for code in {*port.values(), clock}:
                for time, value in signals[code].tv:
                    changes.setdefault(time, {})[code] = value if isinstance(value, int) else str(value)
    except (KeyboardInterrupt, SystemExit, InputError):
        raise
    except BaseException as error:  # the library panics at damaged files, which is no Exception
        raise InputError(f"{file} is no dump: {error}", None, "a .vcd, .fst or .ghw that a simulator wrote") from None
    return list(_sampled(changes, port, clock))


@contextmanager
def _hushed() -> Iterator[None]:
    """What the library itself prints at a damaged file, line after line, goes nowhere: it would stand in the answer."""
    kept, nowhere = (os.dup(1), os.dup(2)), os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            os.dup2(nowhere, number)
        yield
    finally:
        for number, own in enumerate(kept, 1):
            os.dup2(own, number)
            os.close(own)
        os.close(nowhere)


def _port(file: str, names: Mapping[str, list[str]], scope: str) -> tuple[dict[tuple[str, str], str], str]:
    """Codes of the signals of the one port that has all handshakes, and of the clock."""
    ports: dict[str, dict[tuple[str, str], str]] = {}
    clocks: dict[str, str] = {}
    for code, own in names.items():
        for name in own:
            found = _SIGNAL.search(name.lower())
            if found is not None:
                prefix = _STRUCTURE.sub("_", name[: found.start()])
                ports.setdefault(prefix, {})[(found[1], found[2])] = code
            elif _CLOCK.search(name.lower()):
                clocks[name] = code
    needed = {(channel, wire) for channel in CHANNELS for wire in ("valid", "ready")}
    every = {prefix: port for prefix, port in ports.items() if needed <= set(port)}
    whole = {prefix: port for prefix, port in _joined(every).items() if prefix.startswith(scope)}
    whole = whole or {prefix: port for prefix, port in every.items() if prefix.startswith(scope)}
    distinct = {tuple(sorted(port.items())): prefix for prefix, port in whole.items()}
    if len(distinct) != 1:
        seen = ", ".join(f"{file}::{prefix}" for prefix in sorted(distinct.values())) or "none"
        raise InputError(
            f"{file} has {len(distinct)} AXI ports with all five handshakes", None,
            f"signals such as axi_ar_valid, axi_ar_ready, axi_ar_addr; name one: {seen}",
        )  # fmt: skip
    prefix = next(iter(distinct.values()))
    if not clocks:
        raise InputError(f"{file} has no clock", None, "a signal clk, clk_i or aclk")
    near = max(sorted(clocks), key=lambda name: _shared(name, prefix))
    return whole[prefix], clocks[near]


def _joined(ports: Mapping[str, dict[tuple[str, str], str]]) -> dict[str, dict[tuple[str, str], str]]:
    """Ports, where one for reads and one for writes are one: each of them shows the channels of the other, unused."""
    out = dict(ports)
    for prefix in ports:
        other = prefix[: -len("read_")] + "write_"
        if prefix.endswith("read_") and other in ports:
            own = {key: code for key, code in out.pop(prefix).items() if key[0] in ("ar", "r")}
            out[prefix[: -len("read_")]] = own | {k: c for k, c in out.pop(other).items() if k[0] in ("aw", "w", "b")}
    return out


def _shared(name: str, prefix: str) -> int:
    """Scopes that two names have in common."""
    pairs = zip(name.split(".")[:-1], prefix.split("."), strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), 99)


def _sampled(
    changes: Mapping[int, Mapping[str, int | str]], port: Mapping[tuple[str, str], str], clock: str
) -> Iterator[Beat]:
    """Handshakes at rising edges, by the values just before each."""
    held: dict[str, int | str] = {}
    cycle = 0
    for time, after in sorted(changes.items()):
        if after.get(clock) == 1 and held.get(clock) == 0:
            cycle += 1
            for channel in CHANNELS:
                if held.get(port[channel, "valid"]) == 1 and held.get(port[channel, "ready"]) == 1:
                    shown = {name: held.get(port[channel, name]) for name in FIELDS if (channel, name) in port}
                    fields = {name: value if isinstance(value, int) else None for name, value in shown.items()}
                    data, undefined = shown.get("data"), 0
                    if isinstance(data, str):
                        fields["data"], undefined = _bits(data)
                    yield Beat(time, channel, fields, undefined=undefined, cycle=cycle)
        held.update(after)
