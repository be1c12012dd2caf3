"""Beats of AXI and OBI ports against the bursts of some 1D transfers.

Knows: which bursts the engine makes, what each beat of them must be, in which order. Does not know: files, plans.
Law: all beats are as the transfers ask for, or the first one in time that is not is told. A field that the trace does
not have is not judged, and that is said; a beat that is missing is wrong at the end of the trace. A transfer that waits
is shown at a later edge than the last answer to each that it waits for.

Source: AMBA AXI, issue H.c, A3.3 (dependencies between channels), A3.4 (bursts, strobes); OpenHW Open Bus Interface,
version 1.6, 4 (requests and responses in order); `legalizer`, `wire`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from dmaverify.errors import InputError
from dmaverify.machines.idma.bus.beats import Beat
from dmaverify.machines.idma.bus.ports import CHANNELS
from dmaverify.machines.idma.engine import AXI, OBI, Backend, Request, refusal
from dmaverify.machines.idma.legalizer import burst_count, legalize
from dmaverify.machines.idma.wire import byte_enables, on_the_wire
from dmaverify.values import dataclass

MOST_BEATS = 1 << 21
INCR = 1
JUDGED = frozenset({AXI, OBI})
BEGIN = ("ar", "aw", "w", "a_read", "a_write")
"""Channels on which an engine begins something."""
ANSWERS = ("b", "r_write")
"""Channels that say that something was written."""


def channels_of(requests: Iterable[Request]) -> tuple[str, ...]:
    """The channels that a trace of these transfers has."""
    every = {(side, protocol) for one in requests
             for side, protocol in (("read", one.src_protocol), ("write", one.dst_protocol))}  # fmt: skip
    axi = {"read": ("ar", "r"), "write": ("aw", "w", "b")}
    found = {c for side, protocol in every for c in ((f"a_{side}", f"r_{side}") if protocol == OBI else axi[side])}
    return tuple(channel for channel in CHANNELS if channel in found)


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
        self.stream: list[list[tuple[str, int, int]]] = [[], []]  # bytes read and written: (channel, beat, lane)

    def add(self, number: int, request: Request) -> None:
        """The beats of one 1D transfer. Raises InputError."""
        backend = self.backend
        if not {request.src_protocol, request.dst_protocol} <= JUDGED:
            raise InputError("a trace is judged of AXI and OBI transfers alone", None, "--engine rw_axi")
        refused = refusal(backend, request)
        if refused is not None:
            raise refused
        if request.length and sum(burst_count(backend, request)) > MOST_BEATS:
            raise InputError("the transfers have too many bursts for a trace", None, f"up to {MOST_BEATS:,}")
        bursts = legalize(backend, request)
        for side, protocol in (("read", request.src_protocol), ("write", request.dst_protocol)):
            done = 0
            for address, count in bursts.pairs(side):
                burst = self._obi_access if protocol == OBI else self._axi_burst
                burst(side, number, done, address, count)
                done += count
        if sum(map(len, self.queues.values())) > MOST_BEATS:
            raise InputError("the transfers have too many beats for a trace", None, f"up to {MOST_BEATS:,}")

    def _axi_burst(self, side: str, number: int, done: int, address: int, count: int) -> None:
        word, writes = self.backend.word, side == "write"
        ask, data = ("aw", "w") if writes else ("ar", "r")
        sent = on_the_wire(self.backend, AXI, address, count, write=writes)
        fields = {"addr": sent.address, "len": sent.field, "size": sent.size, "burst": INCR}
        # AxADDR of the engine is word aligned: the bytes of an unaligned head are those of the strobes.
        self.queues[ask].append(Wanted(fields, number, done, address))
        for k, mask in enumerate(byte_enables(address, count, word)):
            beat = {"last": int(k == sent.beats - 1)} | ({"strb": mask} if writes else {"resp": 0})
            first = max(0, k * word - address % word)
            self._data(data, mask, Wanted(beat, number, done + first, address + first))
        if writes:
            self.queues["b"].append(Wanted({"resp": 0}, number, done, address))

    def _obi_access(self, side: str, number: int, done: int, address: int, count: int) -> None:
        """One word: what is written goes with the address, what is read comes with the response."""
        writes = side == "write"
        sent = on_the_wire(self.backend, OBI, address, count, write=writes)
        (mask,) = byte_enables(address, count, self.backend.word)
        asked = {"addr": sent.address, "we": int(writes), "strb": mask if writes else (1 << self.backend.word) - 1}
        ask, answer = (Wanted(own, number, done, address) for own in (asked, {"resp": 0}))
        for channel, own, carries in ((f"a_{side}", ask, writes), (f"r_{side}", answer, not writes)):
            self._data(channel, mask if carries else 0, own)

    def _data(self, channel: str, mask: int, wanted: Wanted) -> None:
        queue = self.queues[channel]
        own = self.stream[channel in ("w", "a_write")]
        own += [(channel, len(queue), lane) for lane in range(self.backend.word) if mask >> lane & 1]
        queue.append(wanted)


def judged(
    backend: Backend, requests: Iterable[Request], beats: Sequence[Beat], waits: Mapping[int, int] | None = None
) -> JudgedTrace:
    """The trace against the transfers, in order; `waits`: before this transfer, all below the other number have their
    last answer. Raises InputError where these have no AXI bursts.
    """
    board = _Board(backend)
    for number, request in enumerate(requests):
        board.add(number, request)
    seen: Counter[str] = Counter()
    lacking: dict[str, None] = {}
    order = _Dependences(board, waits or {})
    for beat in beats:
        wrong = _wrong(board, beat, seen, lacking) or order.wrong(beat, seen[beat.channel])
        if wrong is not None:
            return JudgedTrace(wrong, sum(seen.values()), tuple(lacking), len(board.stream[1]))
        seen[beat.channel] += 1
    end = beats[-1].time if beats else 0
    for channel in CHANNELS:
        queue, number = board.queues[channel], seen[channel]
        if number < len(queue):
            left = f"{len(queue) - number:,} of {len(queue):,} are missing"
            message = f"{shown_channel(channel)} beat {number} never comes: {left}"
            return JudgedTrace(
                Wrong(message, end, None, queue[number]), len(beats), tuple(lacking), len(board.stream[1])
            )
    return JudgedTrace(_data(board, beats, lacking), len(beats), tuple(lacking), len(board.stream[1]))


def _wrong(board: _Board, beat: Beat, seen: Counter[str], lacking: dict[str, None]) -> Wrong | None:
    """What is wrong with a beat, given all before it."""
    channel, number = beat.channel, seen[beat.channel]
    name = f"{shown_channel(channel)} beat {number}"
    if beat.broken:
        return Wrong(
            f"{name}: {beat.broken}", beat.time, beat, next(iter(board.queues.get(channel, [])[number:]), None)
        )
    queue = board.queues[channel]
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
    if (beat.fields.get("data") or 0) >> 8 * board.backend.word:
        return Wrong(f"{name}: data is wider than the bus of {board.backend.data_width} bits", beat.time, beat, wanted)
    return None


class _Dependences:
    """What beats depend on, by the times of those before. On AXI an answer is shown at a later edge than the handshakes
    that it answers; of OBI it is not judged whether a response may come with its grant.
    """

    def __init__(self, board: _Board, waits: Mapping[int, int]) -> None:
        self.board = board
        self.times: dict[str, list[int]] = {channel: [] for channel in CHANNELS}
        self.asked = [0, *accumulate(one.fields["len"] + 1 for one in board.queues["ar"])]
        self.ended = [0, *accumulate(one.fields["last"] for one in board.queues["w"])]
        starts = sorted(at for at in waits if waits[at])
        self.starts = starts
        self.behind = [0, *accumulate((waits[at] for at in starts), max)]
        self.owners = {channel: [one.transfer for one in board.queues[channel]] for channel in ANSWERS}

    def wrong(self, beat: Beat, number: int) -> Wrong | None:
        """What a beat comes before that it must come behind; the beat is then one of those before."""
        channel, moment = beat.channel, beat.since
        wanted = self.board.queues[channel][number]
        said = self._early(channel, number, moment)
        if not said and channel in BEGIN:
            said = self._waited(wanted.transfer, moment)
        self.times[channel].append(beat.time)
        return Wrong(f"{shown_channel(channel)} beat {number} {said}", beat.time, beat, wanted) if said else None

    def _before(self, channel: str, moment: int) -> int:
        """Handshakes of a channel at edges before."""
        return bisect_left(self.times[channel], moment)

    def _early(self, channel: str, number: int, moment: int) -> str:
        if channel == "r" and number >= self.asked[self._before("ar", moment)]:
            return "does not come after the read that asks for it"
        begun, sent = self._before("aw", moment), self._before("w", moment)
        if channel == "b" and (number >= self.ended[sent] or number >= begun):
            return "does not come after the write that it answers"
        if channel.startswith("r_") and number >= len(self.times[f"a{channel[1:]}"]):
            return "answers a request that is not granted"
        return ""

    def _waited(self, transfer: int, moment: int) -> str:
        """Whether a transfer begins before all that it is launched behind has its last answer."""
        behind = self.behind[bisect_right(self.starts, transfer)]
        for channel in ANSWERS if behind else ():
            answers = bisect_left(self.owners[channel], behind)
            if self._before(channel, moment) < answers:
                last = f"{shown_channel(channel)} beat {answers - 1}"
                return f"does not come after {last}, the last answer to what it waits for"
        return ""


def _data(board: _Board, beats: Sequence[Beat], lacking: dict[str, None]) -> Wrong | None:
    """The bytes written are the bytes read, in order, and none is written before it is read."""
    by: dict[str, list[Beat]] = {}
    for beat in beats:
        by.setdefault(beat.channel, []).append(beat)
    pairs = [(by[c][a], lane, by[d][b], to, (c, a), (d, b))
             for (c, a, lane), (d, b, to) in zip(*board.stream, strict=True)]  # fmt: skip
    for read, _, written, to, (source, a), (dest, b) in pairs:
        if written.time < read.time:
            late = f"{shown_channel(source)} beat {a}"
            message = f"{shown_channel(dest)} beat {b}: byte {to} is written before {late} brings it"
            return Wrong(message, written.time, written, board.queues[dest][b])
    for read, lane, written, to, _, (dest, b) in pairs:
        if "data" not in read.fields or "data" not in written.fields:
            lacking["data"] = None
            continue
        src, dst = _byte(read, lane), _byte(written, to)
        if src is None:
            lacking["data"] = None  # of a byte that memory does not know
        elif src != dst:
            found = "undefined" if dst is None else f"0x{dst:02x}"
            message = f"{shown_channel(dest)} beat {b}: byte {to} is {found}, read as 0x{src:02x}"
            return Wrong(message, written.time, written, board.queues[dest][b])
    return None


def shown_channel(channel: str) -> str:
    """`AW`, and of OBI `A (write)`."""
    name, _, way = channel.partition("_")
    return f"{name.upper()} ({way})" if way else name.upper()


def _byte(beat: Beat, lane: int) -> int | None:
    """The byte of the data in a lane; None where a bit of it is undefined."""
    data = beat.fields["data"]
    return None if data is None or beat.undefined >> 8 * lane & 255 else data >> 8 * lane & 255


def _shown(field: str, value: int) -> str:
    return f"0x{value:x}" if field in ("addr", "strb") else str(value)
