"""Beats of AXI and OBI ports from a trace: the dump of a simulator or a table.

Knows: handshakes at the rising edge of a clock. Does not know: names of signals (`ports`), which beats are right.
Law: a beat is a rising edge at which valid and ready were 1 just before; a field that was not 0 or 1 in all its bits
has no value, and of data each bit is told for itself.

    time,channel,addr,len,size,strb,last,data        a table: one beat a line, channel ar, r, aw, w or b, and of OBI
                                                     a_read, r_read, a_write, r_write
    ar_valid, ar_ready, ar_addr, ..., clk            a dump: signals of the ports, `FILE::SCOPE` where there are more

Source: AMBA AXI, issue H.c, A3.2 (handshake); OpenHW Open Bus Interface, version 1.6, 4 (request, grant, response);
IEEE 1364, 18 (value change dump); pywellen (FST, GHW).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from math import gcd
from pathlib import Path
from typing import Any

from dmaverify.errors import InputError, Source, Span
from dmaverify.language.files import read_bytes
from dmaverify.language.toml_spans import read_source
from dmaverify.machines.idma.bus.ports import AXI_CHANNELS, CHANNELS, FIELDS, Ports, ports_of
from dmaverify.machines.idma.columns import cells_in
from dmaverify.values import dataclass, replace

DUMPS = (".vcd", ".fst", ".ghw")
MOST_BYTES, MOST_BITS = 1 << 28, 1 << 16
_WIDTH = re.compile(rb"\$var\s+\w+\s+(\d{1,20})\s")


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


def read_beats(path: str, channels: Collection[str] = AXI_CHANNELS) -> list[Beat]:
    """The beats of a trace that has `channels`, in order of time. Raises InputError."""
    file, _, scope = path.partition("::")
    if not Path(file).is_file():
        raise InputError(f"{file} is no file", None, "a trace: FILE.vcd, FILE.fst, FILE.csv, or FILE.vcd::SCOPE")
    if file.endswith(".csv"):
        return _table(read_source(file))
    if file.endswith(DUMPS):
        return _dump(file, scope, channels)
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


def _dump(file: str, scope: str, channels: Collection[str]) -> list[Beat]:
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
            narrow = {code for code, one in signals.items() if one.is_1bit}
            ports = ports_of(file, names, scope, channels, narrow)
            changes: dict[int, dict[str, int | str]] = {}
            for code in {*ports.axi.values(), *(c for own in ports.obi.values() for c in own.values()), ports.clock}:
                for time, value in signals[code].tv:
                    changes.setdefault(time, {})[code] = value if isinstance(value, int) else str(value)
    except (KeyboardInterrupt, SystemExit, InputError):
        raise
    except BaseException as error:  # the library panics at damaged files, which is no Exception
        raise InputError(f"{file} is no dump: {error}", None, "a .vcd, .fst or .ghw that a simulator wrote") from None
    return list(_sampled(changes, ports))


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


def _sampled(changes: Mapping[int, Mapping[str, int | str]], ports: Ports) -> Iterator[Beat]:
    """Handshakes at rising edges, by the values just before each."""
    held: dict[str, int | str] = {}
    asked: list[str] = []  # directions of what one OBI port for both was asked and has not answered
    cycle = 0
    for time, after in sorted(changes.items()):
        if after.get(ports.clock) == 1 and held.get(ports.clock) == 0:
            cycle += 1
            for channel in AXI_CHANNELS:
                if (channel, "valid") in ports.axi and (channel, "ready") in ports.axi and all(
                    held.get(ports.axi[channel, wire]) == 1 for wire in ("valid", "ready")
                ):  # fmt: skip
                    yield _beat(time, channel, channel, ports.axi, held, cycle)
            for way, port in ports.obi.items():
                for channel in ("a", "r"):
                    ready = port.get((channel, "ready"))
                    if held.get(port[channel, "valid"]) != 1 or (ready is not None and held.get(ready) != 1):
                        continue
                    own = way
                    if way == "both" and channel == "a":
                        own = "write" if held.get(port["a", "we"]) == 1 else "read"
                        asked.append(own)
                    elif way == "both":
                        own = asked.pop(0) if asked else "read"
                    yield _beat(time, f"{channel}_{own}", channel, port, held, cycle)
        held.update(after)


def _beat(
    time: int, channel: str, wires: str, port: Mapping[tuple[str, str], str], held: Mapping[str, int | str], cycle: int
) -> Beat:
    shown = {name: held.get(port[wires, name]) for name in FIELDS if (wires, name) in port}
    fields = {name: value if isinstance(value, int) else None for name, value in shown.items()}
    data, undefined = shown.get("data"), 0
    if isinstance(data, str):
        fields["data"], undefined = _bits(data)
    return Beat(time, channel, fields, undefined=undefined, cycle=cycle)
