"""Beats of an AXI port against the bursts of some 1D transfers.

Knows: which bursts the engine makes, what each beat of them must be, in which order. Does not know: files, plans.
Law: all beats are as the transfers ask for, or the first one in time that is not is told. A field that the trace does
not have is not judged, and that is said; a beat that is missing is wrong at the end of the trace.

Source: AMBA AXI, issue H.c, A3.3 (dependencies between channels), A3.4 (bursts, strobes); `legalizer`, `wire`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

from dmaverify.errors import InputError
from dmaverify.machines.idma.bus.beats import CHANNELS, Beat
from dmaverify.machines.idma.engine import AXI, Backend, Request, refusal
from dmaverify.machines.idma.legalizer import burst_count, legalize
from dmaverify.machines.idma.wire import byte_enables, on_the_wire
from dmaverify.values import dataclass

MOST_BEATS = 1 << 21
INCR = 1


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a beat must be; `transfer` and `byte` say what it carries: bytes of this 1D transfer from `byte` on."""

    fields: dict[str, int]
    transfer: int
    byte: int
    address: int


@dataclass(frozen=True, slots=True)
class Wrong:
    """The first wrong beat: what, when, where in the transfers."""

    message: str
    time: int
    beat: Beat | None
    wanted: Wanted | None


@dataclass(frozen=True, slots=True)
class JudgedTrace:
    """The first wrong beat or None; beats looked at; fields that the trace lacks; cycles stay with the caller."""

    wrong: Wrong | None
    beats: int
    missing: tuple[str, ...]
    bytes: int


class _Board:
    """What is still to come on each channel."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.queues: dict[str, list[Wanted]] = {channel: [] for channel in CHANNELS}
        self.sources: list[tuple[int, int, int]] = []  # (first, count, shift) of the data of each read beat
        self.stream: list[list[tuple[int, int]]] = [[], []]  # bytes of read and write beats: (beat, lane)

    def add(self, number: int, request: Request) -> None:
        """The beats of one 1D transfer. Raises InputError."""
        backend, word = self.backend, self.backend.word
        if (request.src_protocol, request.dst_protocol) != (AXI, AXI):
            raise InputError("a trace is judged of AXI to AXI transfers alone", None, "--engine rw_axi")
        refused = refusal(backend, request)
        if refused is not None:
            raise refused
        if request.length and sum(burst_count(backend, request)) > MOST_BEATS:
            raise InputError("the transfers have too many bursts for a trace", None, f"up to {MOST_BEATS:,}")
        bursts = legalize(backend, request)
        for side, ask, data in (("read", "ar", "r"), ("write", "aw", "w")):
            done = 0
            for address, count in bursts.pairs(side):
                sent = on_the_wire(backend, AXI, address, count, write=side == "write")
                fields = {"addr": sent.address, "len": sent.field, "size": sent.size, "burst": INCR}
                # AxADDR of the engine is word aligned: the bytes of an unaligned head are those of the strobes.
                self.queues[ask].append(Wanted(fields, number, done, address))
                for k, mask in enumerate(byte_enables(address, count, word)):
                    beat = {"last": int(k == sent.beats - 1)} | ({"strb": mask} if side == "write" else {"resp": 0})
                    queue = self.queues[data]
                    first = max(0, k * word - address % word)
                    own = self.stream[side == "write"]
                    own += [(len(queue), lane) for lane in range(word) if mask >> lane & 1]
                    queue.append(Wanted(beat, number, done + first, address + first))
                if side == "write":
                    self.queues["b"].append(Wanted({"resp": 0}, number, done, address))
                done += count
        if sum(map(len, self.queues.values())) > MOST_BEATS:
            raise InputError("the transfers have too many beats for a trace", None, f"up to {MOST_BEATS:,}")


def judged(backend: Backend, requests: Iterable[Request], beats: Sequence[Beat]) -> JudgedTrace:
    """The trace against the transfers, in order. Raises InputError where these have no AXI bursts."""
    board = _Board(backend)
    for number, request in enumerate(requests):
        board.add(number, request)
    seen: Counter[str] = Counter()
    lacking: dict[str, None] = {}
    asked = [0, *accumulate(one.fields["len"] + 1 for one in board.queues["ar"])]
    ended = [0, *accumulate(one.fields["last"] for one in board.queues["w"])]
    for beat in beats:
        wrong = _wrong(board, beat, seen, lacking) or _early(board, beat, seen, asked, ended)
        if wrong is not None:
            return JudgedTrace(wrong, sum(seen.values()), tuple(lacking), len(board.stream[1]))
        seen[beat.channel] += 1
    end = beats[-1].time if beats else 0
    for channel in CHANNELS:
        queue, number = board.queues[channel], seen[channel]
        if number < len(queue):
            left = f"{len(queue) - number:,} of {len(queue):,} are missing"
            message = f"{channel.upper()} beat {number} never comes: {left}"
            return JudgedTrace(
                Wrong(message, end, None, queue[number]), len(beats), tuple(lacking), len(board.stream[1])
            )
    return JudgedTrace(_data(board, beats, lacking), len(beats), tuple(lacking), len(board.stream[1]))


def _wrong(board: _Board, beat: Beat, seen: Counter[str], lacking: dict[str, None]) -> Wrong | None:
    """What is wrong with a beat, given all before it."""
    channel, number = beat.channel, seen[beat.channel]
    queue = board.queues[channel]
    name = f"{channel.upper()} beat {number}"
    if number >= len(queue):
        return Wrong(f"{name} is one too many: {len(queue):,} are asked for", beat.time, beat, None)
    wanted = queue[number]
    for field, value in wanted.fields.items():
        if field not in beat.fields:
            lacking[f"{channel}_{field}"] = None
            continue
        found = beat.fields[field]
        if found is None:
            return Wrong(f"{name}: {field} is undefined", beat.time, beat, wanted)
        if found != value:
            return Wrong(f"{name}: {field} is {_shown(field, found)}, must be {_shown(field, value)}", beat.time, beat,
                         wanted)  # fmt: skip
    return None


def _early(board: _Board, beat: Beat, seen: Counter[str], asked: Sequence[int], ended: Sequence[int]) -> Wrong | None:
    """A beat that comes before what it depends on: `asked` read beats by so many AR, `ended` writes by so many W."""
    number = seen[beat.channel]
    name, wanted = f"{beat.channel.upper()} beat {number}", board.queues[beat.channel][number]
    if beat.channel == "r" and number >= asked[seen["ar"]]:
        return Wrong(f"{name} comes before the read that asks for it", beat.time, beat, wanted)
    if beat.channel == "b" and (number >= ended[seen["w"]] or number >= seen["aw"]):
        return Wrong(f"{name} answers a write that is not complete", beat.time, beat, wanted)
    return None


def _data(board: _Board, beats: Sequence[Beat], lacking: dict[str, None]) -> Wrong | None:
    """The bytes written are the bytes read, in order, and none is written before it is read."""
    read, write = ([b for b in beats if b.channel == channel] for channel in ("r", "w"))
    for (a, _), (b, to) in zip(*board.stream, strict=True):
        if write[b].time < read[a].time:
            message = f"W beat {b}: byte {to} is written before R beat {a} brings it"
            return Wrong(message, write[b].time, write[b], board.queues["w"][b])
    if any("data" not in beat.fields for beat in (*read, *write)):
        lacking["data"] = None
        return None
    for (a, lane), (b, to) in zip(*board.stream, strict=True):
        src, dst = _byte(read[a], lane), _byte(write[b], to)
        if src is None:
            lacking["data"] = None  # of a byte that memory does not know
        elif src != dst:
            found = "undefined" if dst is None else f"0x{dst:02x}"
            message = f"W beat {b}: byte {to} is {found}, read as 0x{src:02x}"
            return Wrong(message, write[b].time, write[b], board.queues["w"][b])
    return None


def _byte(beat: Beat, lane: int) -> int | None:
    """The byte of the data in a lane; None where a bit of it is undefined."""
    data = beat.fields["data"]
    return None if data is None or beat.undefined >> 8 * lane & 255 else data >> 8 * lane & 255


def _shown(field: str, value: int) -> str:
    return f"0x{value:x}" if field in ("addr", "strb") else str(value)
