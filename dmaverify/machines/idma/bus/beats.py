"""Beats of AXI and OBI ports from a trace: the dump of a simulator or a table.

Knows: handshakes at the rising edge of a clock. Does not know: names of signals (`ports`), which beats are right.
Law: a beat is a rising edge at which valid and ready were 1 just before; a field that was not 0 or 1 in all its bits
has no value, and of data each bit is told for itself: a digit that is not read as 0 or 1 is undefined. Where a dump
shows that a channel does not keep to its handshake, that is in the place of a beat.

    time,channel,addr,len,size,strb,last,data        a table: one beat a line, channel ar, r, aw, w or b, and of OBI
                                                     a_read, r_read, a_write, r_write
    ar_valid, ar_ready, ar_addr, ..., clk            a dump: signals of the ports, `FILE::PREFIX` where there are more,
                                                     `FILE::PREFIX@CLOCK` where there are more clocks

Source: AMBA AXI, issue H.c, A3.2 (handshake), A3.2.1 (valid stays, and what is shown with it, until ready answers);
OpenHW Open Bus Interface, version 1.6, 4 (request, grant, response); IEEE 1364, 18 (value change dump); pywellen (FST,
GHW).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby, pairwise
from math import gcd
from pathlib import Path
from typing import Any

from dmaverify.errors import InputError, Source, Span
from dmaverify.language.files import read_bytes
from dmaverify.language.toml_spans import read_source
from dmaverify.machines.idma.bus.ports import AXI_CHANNELS, CHANNELS, FIELDS, Ports, ports_of
from dmaverify.machines.idma.columns import cells_in
from dmaverify.values import dataclass, replace

Value = tuple[int, int]
"""A number, and which of its bits are undefined."""
Levels = dict[str, Value]
"""Signals by their codes."""
ZERO, ONE = (0, 0), (1, 0)

DUMPS = (".vcd", ".fst", ".ghw")
MOST_BYTES, MOST_BITS = 1 << 28, 1 << 16
_TIME = re.compile(rb"^[ \t]*#(\S*)", re.MULTILINE)
_WIDTH = re.compile(rb"\$var\s+\w+\s+(\d{1,20})\s")


@dataclass(frozen=True, slots=True)
class Beat:
    """One handshake: when, on which channel, the fields that the trace has; `undefined` are bits of `data`, 0 there.
    `cycle` counts edges of the clock; a table's clock is the greatest period that all its times keep. `broken`: it is
    none, but what the channel did in its place. `shown`: since which edge valid was up for it, -1 if that is not known.
    """

    time: int
    channel: str
    fields: Mapping[str, int | None]
    span: Span | None = None
    undefined: int = 0
    cycle: int = 0
    broken: str = ""
    shown: int = -1

    @property
    def since(self) -> int:
        """When the channel first showed it, as far as the trace tells."""
        return self.shown if self.shown >= 0 else self.time


@dataclass(frozen=True, slots=True)
class BusTrace:
    """The beats, in order of time; the clock at whose edges they are, by its name, empty of a table."""

    beats: Sequence[Beat]
    clock: str = ""


def read_trace(path: str, channels: Collection[str] = AXI_CHANNELS, word: int | None = None) -> BusTrace:
    """A trace that has `channels`, of a bus of `word` bytes. Raises InputError."""
    file, _, scope = path.partition("::")
    if not Path(file).is_file():
        raise InputError(f"{file} is no file", None, "a trace: FILE.vcd, FILE.fst, FILE.csv, or FILE.vcd::SCOPE")
    if file.endswith(".csv"):
        if scope:
            raise InputError(f"{file} is a table, which has no port {scope}", None, file)
        return BusTrace(_table(read_source(file)))
    if file.endswith(DUMPS):
        return _dump(file, scope, channels, word)
    raise InputError(f"{file} is no trace that is read", None, f"a table .csv, or a dump {', '.join(DUMPS)}")


# ---------------------------------------------------------------- tables


def _table(source: Source) -> list[Beat]:
    lines = source.text.split("\n")
    header = [name.strip().lower() for name in cells_in(lines[0], Span(source, 0, len(lines[0])))]
    if not {"time", "channel"} <= set(header):
        raise InputError(f"{source.name} is no table of beats", None, f"columns time, channel, {', '.join(FIELDS)}")
    if twice := sorted({name for name in header if name and header.count(name) > 1}):
        raise InputError(f"{source.name} has two columns {', '.join(twice)}", None, "one column a field")
    out: list[Beat] = []
    last: dict[str, int] = {}
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
        shown = {name: _number(row[name], name, span) for name in FIELDS if row.get(name)}
        time, open_ = _number(row["time"], "time", span)
        if open_ or (out and time < out[-1].time):
            raise InputError("the times of a table do not fall", span, "sort it by time")
        if time == last.get(channel):
            raise InputError(
                f"two beats of {channel} at time {time}: a channel has one an edge",
                span,
                "one line a handshake, at the time of its edge",
            )
        last[channel] = time
        out.append(_beat(time, channel, shown, span))
    period = gcd(*(beat.time - out[0].time for beat in out)) or 1
    return [replace(beat, cycle=(beat.time - out[0].time) // period) for beat in out]


def _number(text: str, name: str, span: Span) -> Value:
    """A number of a table: binary also without 0b where some digit is x or z, which stands for all digits before it."""
    found = re.fullmatch(r"0[xX]([0-9a-fA-FxXzZ]+)|0[bB]([01xXzZuUwWlLhH-]+)|([01]*[xXzZ][01xXzZ]*)|([0-9]+)", text)
    if found is None:
        hint = "decimal, or 0x and hexadecimal digits; 0b and bits, which may be x"
        raise InputError(f"{name} is `{text}`, no number", span, hint)
    if found[4]:
        return int(text), 0
    digits, bits = (found[1], 4) if found[1] else (found[2] or found[3], 1)
    value, undefined = _read(digits, bits)
    return value, undefined | (-1 << len(digits) * bits if _read(digits[0], bits)[1] else 0)


def _read(digits: str, bits: int = 1) -> Value:
    """Digits of so many bits each, one by one: what is neither 0 (or l) nor 1 (or h) is undefined."""
    known = "0123456789abcdef" if bits == 4 else "01"
    value = undefined = 0
    for digit in digits.lower():
        at = known.find(digit) if bits == 4 else known.find({"l": "0", "h": "1"}.get(digit, digit))
        value, undefined = value << bits | max(at, 0), undefined << bits | ((1 << bits) - 1 if at < 0 else 0)
    return value, undefined


# ---------------------------------------------------------------- dumps


def _dump(file: str, scope: str, channels: Collection[str], word: int | None) -> BusTrace:
    try:
        from pywellen import Waveform
    except ImportError:
        raise InputError("reading a simulator's dump needs pywellen", None, "pip install 'dmaverify[trace]'") from None
    if Path(file).stat().st_size > MOST_BYTES:
        raise InputError(f"{file} is longer than {MOST_BYTES >> 20} MiB", None, "dump the port alone")
    if file.endswith(".vcd"):
        text = read_bytes(file, MOST_BYTES)
        wide = next((int(bits[1]) for bits in _WIDTH.finditer(text) if int(bits[1]) > MOST_BITS), 0)
        if wide:
            raise InputError(f"{file} has a signal of {wide:,} bits", None, f"at most {MOST_BITS:,}")
        _rising(file, text)
    names: dict[str, list[str]] = {}
    signals: dict[str, Any] = {}
    try:
        with _hushed():
            for one in Waveform(file).all_vars():
                if one.is_real or one.is_string or not one.bitwidth:
                    continue
                names.setdefault(str(one.signal_id), []).append(one.full_name)
                signals[str(one.signal_id)] = one
            widths = {code: one.bitwidth for code, one in signals.items()}
            ports = ports_of(file, names, scope, channels, widths, word)
            changes: dict[int, Levels] = {}
            wires = {code for own in (ports.axi, *ports.obi.values()) for code in own.values()}
            for code in {*wires, ports.clock, *filter(None, [ports.reset])}:
                values = [(t, (v, 0) if isinstance(v, int) else _read(str(v))) for t, v in signals[code].tv]
                if code == ports.clock:
                    _no_hidden_edge(ports.clock_name, values)
                for time, value in values:
                    changes.setdefault(time, {})[code] = value
    except (KeyboardInterrupt, SystemExit, InputError):
        raise
    except BaseException as error:  # the library panics at damaged files, which is no Exception
        raise InputError(f"{file} is no dump: {error}", None, "a .vcd, .fst or .ghw that a simulator wrote") from None
    return BusTrace(list(_sampled(changes, ports)), ports.clock_name)


def _rising(file: str, text: bytes) -> None:
    """Raises InputError where the times of a VCD go back: the library leaves out what stands there."""
    before = -1
    for found in _TIME.finditer(text, max(0, text.find(b"$enddefinitions"))):
        if not re.fullmatch(rb"[0-9]{1,20}", found[1]):
            raise InputError(f"{file} has a time that is no number of steps", None, "a dump that a simulator wrote")
        time = int(found[1])
        if time < before:
            said = f"{file} goes from time {before} back to {time}: it is damaged, or two runs in one file"
            raise InputError(said, None, "a dump of one run")
        before = time


def _no_hidden_edge(name: str, values: Iterable[tuple[int, Value]]) -> None:
    """Raises InputError where the clock rises and falls at one time: that edge has no values before it."""
    before: Value = (0, -1)
    for time, group in groupby(values, key=lambda one: one[0]):
        levels = [before, *(level for _, level in group)]
        rises = sum(pair == (ZERO, ONE) for pair in pairwise(levels))
        if time and rises != ((before, levels[-1]) == (ZERO, ONE)):
            raise InputError(f"the clock {name} rises and falls at time {time}", None, "a dump in finer steps")
        before = levels[-1]


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


def _sampled(changes: Mapping[int, Levels], ports: Ports) -> Iterator[Beat]:
    """Handshakes at rising edges, by the values just before each. Raises InputError, also for a reset amid them: what
    comes before one and behind it is not one run.
    """
    held: Levels = {}
    port = _WatchedPorts(ports)
    cycle, stopped = 0, False
    for time, after in sorted(changes.items()):
        stopped = stopped or (cycle > 0 and after.get(ports.clock, ZERO)[1] != 0)
        if after.get(ports.clock) == ONE and held.get(ports.clock) == ZERO:
            if stopped:
                said = f"the clock {ports.clock_name} is undefined before time {time}: what happened then is not seen"
                raise InputError(said, None, "dump the whole run, without $dumpoff")
            cycle += 1
            yield from port.edge(time, cycle, held)
        held.update(after)
        port.reset(time, held)
    yield from port.pending(cycle)
    if not cycle:
        raise InputError(
            f"the clock {ports.clock_name} never rises from 0 to 1", None, "name another: FILE::PREFIX@CLOCK"
        )


class _WatchedPorts:
    """The channels of some ports from edge to edge."""

    def __init__(self, ports: Ports) -> None:
        self.ports = ports
        axi = [c for c in AXI_CHANNELS if (c, "valid") in ports.axi and (c, "ready") in ports.axi]
        self.stays = frozenset(axi)
        self.channels = [(c, c, ports.axi) for c in axi]
        self.channels += [(f"{c}_{way}", c, port) for way, port in ports.obi.items() for c in ("a", "r")]
        self.asked: list[str] = []  # directions of what one OBI port for both was asked and has not answered
        self.waiting: dict[str, Mapping[str, Value]] = {}  # what an AXI channel showed that nobody has taken
        self.seen: set[str] = set()  # their handshake was 0 or 1 once; before, an undefined valid may be an idle one
        self.up: dict[str, int] = {}  # since which edge valid is up, without a handshake
        self.begun, self.reset_at, self.last = False, -1, 0

    def edge(self, time: int, cycle: int, held: Levels) -> Iterator[Beat]:
        """What the channels do at one edge, by the levels just before it."""
        self.last = time
        level = _level(held, self.ports.reset) if self.ports.reset else None
        steady = self.begun if level is None else level == self.ports.running
        for channel, wires, port in self.channels:
            valid = _level(held, port[wires, "valid"])
            ready = _level(held, port[wires, "ready"]) if (wires, "ready") in port else 1
            shown = {name: held.get(port[wires, name], (0, -1)) for name in FIELDS if (wires, name) in port}
            before, broken = self.waiting.pop(channel, None), ""
            if steady and (channel in self.seen or valid == 1):
                broken = _broken(valid, ready, shown, before)
            if None not in (valid, ready):
                self.seen.add(channel)
            since = self.up.setdefault(channel, time) if valid == 1 and steady else time
            if valid != 1 or ready == 1 or not steady:
                self.up.pop(channel, None)
            if broken:
                yield Beat(time, channel, {}, None, 0, cycle, broken)
            elif valid == ready == 1:
                if self.reset_at >= 0 or level == 1 - self.ports.running:
                    raise self._amid(self.reset_at if self.reset_at >= 0 else time)
                self.begun = True
                both = channel.endswith("_both")
                named = f"{wires}_{_direction(wires, shown, self.asked)}" if both else channel
                yield replace(_beat(time, named, shown, None, cycle), shown=since)
            elif valid == 1 and steady and channel in self.stays:
                self.waiting[channel] = shown

    def reset(self, time: int, held: Levels) -> None:
        """Takes down the first reset behind a beat."""
        ports = self.ports
        if self.begun and self.reset_at < 0 and ports.reset and _level(held, ports.reset) == 1 - ports.running:
            self.reset_at = time

    def pending(self, cycle: int) -> Iterator[Beat]:
        """What is up at the end: either all that is asked for was taken before, or something never is."""
        for channel in self.up:
            said = "valid is up at the end, and ready has not answered it"
            yield Beat(self.last, channel, {}, None, 0, cycle, said)

    def _amid(self, time: int) -> InputError:
        level = 1 - self.ports.running
        said = f"the reset {self.ports.reset_name} is {level} at time {time}, where beats come or behind others"
        hint = "a dump of one run; leave out a signal that is no reset, or is active at the other level"
        return InputError(said, None, hint)


def _direction(wires: str, shown: Mapping[str, Value], asked: list[str]) -> str:
    """Whether a handshake of an OBI port for both reads or writes: responses come in the order of requests."""
    if wires == "r":
        return asked.pop(0) if asked else "read"
    asked.append("write" if shown.get("we") == ONE else "read")
    return asked[-1]


def _broken(
    valid: int | None, ready: int | None, shown: Mapping[str, Value], before: Mapping[str, Value] | None
) -> str:  # fmt: skip
    """What a channel does against its handshake; `before` is what it showed in vain at the edge before."""
    if valid is None and ready != 0:
        return "valid is undefined"
    if valid == 1 and ready is None:
        return "ready is undefined while valid is 1"
    if before is None:
        return ""
    if valid is None:
        return "valid is undefined before ready has answered it"
    if valid == 0:
        return "valid falls before ready has answered it"
    strobes = shown.get("strb", (-1, 0))[0]
    for name, (value, undefined) in shown.items():
        changed = (value ^ before[name][0]) | (undefined ^ before[name][1])
        if name == "data":  # of lanes without a strobe nothing is asked
            lanes = range((abs(changed).bit_length() + 7) // 8)
            changed = any(changed >> 8 * lane & 255 and strobes >> lane & 1 for lane in lanes)
        if changed:
            return f"{name} changes before ready has answered valid"
    return ""


def _level(held: Levels, code: str) -> int | None:
    """0 or 1; None where it is neither."""
    value, undefined = held.get(code, (0, -1))
    return None if undefined else value


def _beat(time: int, channel: str, shown: Mapping[str, Value], span: Span | None, cycle: int = 0) -> Beat:
    fields = {name: None if undefined else value for name, (value, undefined) in shown.items()}
    data, undefined = shown.get("data", ZERO)
    return Beat(time, channel, fields | ({"data": data} if undefined else {}), span, undefined, cycle)
