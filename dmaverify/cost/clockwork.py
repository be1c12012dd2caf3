"""The simulator's event loop over the tables of cost.kernel: who may issue when, which channel chooses when, what
time is next.

Knows: the order of things within one instant, ports, commands of an engine in sequence.
Does not know: what a request does to its memory (cost.kernel), commands as objects.
Law: within an instant channels whose transfer ended choose first, then engines issue in turns, then idle channels
choose; the next instant is the earliest at which any of this can change.

Source: "DMA Engine" (DMA Sequencer Internals, Examples 2 to 4), "Memory Performance" (Peak Bandwidth, Bank Conflict).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dmaverify.cost import kernel as q
from dmaverify.cost.compiled import COMPILED, Table, array_maker, compiling_alone, jit, jit_cached

from dmaverify.cost.kernel import (  # isort: skip
    _account, _begin, _best_hit, _complete, _enqueue, _fifo_serve, _fifo_time, _is_full, _leave,
    _move_to, _next_packet, _open_rows, _partial_ticks, _port_row, _record, _request_bytes, _server, _slice_row,
    _transfer,
)  # fmt: skip

array_at: Any = array_maker() if COMPILED else None


@jit
def _serve_channels(
    now: int, queue: Table, waits: Table, channels: Table, wakes: Table, rows: Table, groups: Table, commands: Table,
    packets: Table, fifo: Table, sums: Table, trace: Table, traced: Table, k: Table, links: int, woken: Table,
) -> None:  # fmt: skip
    """Every channel that is woken, from the lowest on, opens rows and, if its bus is free, transfers one hit."""
    for index in range(1, woken[0] + 1):
        channel = woken[index]
        wake = _open_rows(channel, now, queue, waits, channels, rows, k)
        if channels[channel, q.H_BUSY] <= now:
            place = _best_hit(channel, now, queue, waits, channels, rows, groups, k)
            if place >= 0:
                entry = queue[channel, waits[channel, q.W_AGE, place]]
                end = _transfer(channel, entry, now, channels, rows, groups, k)
                command, packet, address = entry[q.Q_COMMAND], entry[q.Q_PACKET], entry[q.Q_ADDRESS]
                write, size = entry[q.Q_WRITE], entry[q.Q_BYTES]
                _leave(channel, place, waits, channels)
                _account(sums, 2 * command + write, address, size)
                _record(trace, traced, 0, channel, now, end, commands[command, q.C_ENGINE], write, address)
                end += _partial_ticks(command, write, address, size, commands, k)
                _complete(command, packet, write, size, end, commands, packets, fifo, k, links)
        if channels[channel, q.H_BUSY] > now:
            wake = min(wake, channels[channel, q.H_BUSY])
        wakes[channel] = wake if channels[channel, q.H_WAITING] > 0 else q.FAR
    woken[0] = 0
    woken[-1] = 1


@jit
def _wake_due(now: int, wakes: Table, woken: Table) -> None:
    """Notes the channels that are due."""
    for channel in range(wakes.shape[0]):
        if wakes[channel] <= now:
            woken[0] += 1
            woken[woken[0]] = channel


@jit
def _sort_woken(woken: Table) -> None:
    for index in range(2, woken[0] + 1):
        channel, at = woken[index], index
        while at > 1 and woken[at - 1] > channel:
            woken[at] = woken[at - 1]
            at -= 1
        woken[at] = channel


@jit
def _advance(
    engine: int, role: int, size: int, command: int, commands: Table, counts: Table, strides: Table, sides: Table,
    cursors: Table, counters: Table, maps: Table, k: Table,
) -> None:  # fmt: skip
    """Moves a cursor past the request just issued."""
    cursor = cursors[2 * engine + role]
    cursor[q.U_LEFT] -= size
    address = cursor[q.U_ADDRESS] + size
    if cursor[q.U_LEFT] == 0:
        address -= commands[command, q.C_SIZE]
        cursor[q.U_PACKET] += 1
        cursor[q.U_LEFT] = commands[command, q.C_SIZE]
        if cursor[q.U_PACKET] == commands[command, q.C_PACKETS]:
            return
        address = _next_packet(
            2 * engine + role, 2 * command + role, command, commands, counts, strides, counters, address
        )
    _move_to(engine, role, address, command, sides, cursors, maps, k)


@jit
def _issue(
    engine: int, role: int, now: int, queue: Table, waits: Table, channels: Table, wakes: Table, rows: Table,
    woken: Table, maps: Table,
    commands: Table, counts: Table, strides: Table, sides: Table, cursors: Table, counters: Table, engines: Table,
    packets: Table,
    fifo: Table, slices: Table, sums: Table, trace: Table, traced: Table, k: Table, spms: int, links: int,
) -> int:  # fmt: skip
    """Tries to issue the next request of one side: minus the ticks it keeps the port when done, otherwise the
    earliest time to try again (q.FAR: wait).
    """
    command = engines[engine, q.E_COMMAND]
    cursor = cursors[2 * engine + role]
    if cursor[q.U_PACKET] >= commands[command, q.C_PACKETS]:
        return q.FAR
    slot = commands[command, q.C_FIRST] + cursor[q.U_PACKET]
    if role == 1:
        state = packets[slot]
        if state & q.LEFT:
            return q.FAR
        if state >> q.LEFT_BITS > now:
            return int(state >> q.LEFT_BITS)
    side = 2 * command + role
    address, packet = cursor[q.U_ADDRESS], cursor[q.U_PACKET]
    size = _request_bytes(address, cursor[q.U_LEFT], k[q.K_WINDOW], sides[side, q.S_SPLIT])
    if sides[side, q.S_TIER] == q.HBM:
        place, channel = cursor[q.U_CHANNEL] >> q.CHANNEL_BITS, cursor[q.U_CHANNEL] & q.CHANNEL
        if _is_full(channel, now, channels, k):
            return q.FAR
        port = _port_row(side, channel, sides, k)
        if port >= 0:
            if fifo[port, q.F_FREE] > now:
                return int(fifo[port, q.F_FREE])
            fifo[port, q.F_FREE] = now + k[q.K_PORT]
        _enqueue(
            channel, place, address, size, role, command, packet, now, queue, waits, channels, wakes, rows, woken, k
        )  # fmt: skip
    else:
        where = _slice_row(side, address, sides, k)
        when = _fifo_time(side, where, sides, slices, now)
        if when > now:
            return int(when)
        server = _server(side, where, sides, k, spms)
        start = address - commands[command, q.C_SIZE] + cursor[q.U_LEFT]
        whole = role == 0 or (start | commands[command, q.C_SIZE]) & 7 == 0
        end = _fifo_serve(side, where, fifo[server], sides, slices, k, now, whole)
        _account(sums, side, address, size)
        _record(trace, traced, sides[side, q.S_TIER], server, now, end, engine, role, address)
        _complete(command, packet, role, size, end, commands, packets, fifo, k, links)
    _advance(engine, role, size, command, commands, counts, strides, sides, cursors, counters, maps, k)
    extra = _partial_ticks(command, role, address, size, commands, k) if sides[side, q.S_TIER] == q.HBM else 0
    return -int(commands[command, q.C_ISSUE] + extra)


@jit
def _next_command(
    now: int, engine: int, engines: Table, commands: Table, sides: Table, cursors: Table, counters: Table, maps: Table,
    k: Table,
) -> bool:  # fmt: skip
    """Begins the engine's first command (`now` below 0), or the one after the command that has ended; whether there was
    none left.
    """
    command, before = engines[engine, q.E_COMMAND], 0
    if now >= 0:
        before = commands[command, q.C_END]
        command += 1
    if command == engines[engine, q.E_LAST]:
        engines[engine, q.E_DONE] = 1
        return True
    commands[command, q.C_START] = before
    first = max(before, before + commands[command, q.C_STARTUP] - commands[command, q.C_LEAD])
    engines[engine, q.E_COMMAND] = command
    engines[engine, q.E_READ_FREE] = first
    engines[engine, q.E_WRITE_FREE] = first
    _begin(engine, command, commands, sides, cursors, counters, maps, k)
    return False


@jit
def _issue_both(
    engine: int, command: int, now: int, queue: Table, waits: Table, channels: Table, wakes: Table, rows: Table,
    woken: Table, maps: Table, commands: Table, counts: Table, strides: Table, sides: Table, cursors: Table,
    counters: Table, engines: Table, packets: Table, fifo: Table, slices: Table, sums: Table, trace: Table,
    traced: Table, k: Table, spms: int, links: int,
) -> int:  # fmt: skip
    """What an engine writes and then reads at a tick; the soonest tick at which it can again."""
    soonest = q.FAR
    same = commands[command, q.C_SAME] == 1
    for step in range(2):
        role = 1 - step
        free = q.E_READ_FREE if role == 0 or same else q.E_WRITE_FREE
        if engines[engine, free] > now:
            soonest = min(soonest, engines[engine, free])
            continue
        when = _issue(
            engine, role, now, queue, waits, channels, wakes, rows, woken, maps, commands, counts,
            strides, sides, cursors, counters, engines, packets,
            fifo, slices, sums, trace, traced, k, spms, links,
        )  # fmt: skip
        if when < 0:
            engines[engine, free] = now - when
            soonest = min(soonest, engines[engine, free])
        else:
            soonest = min(soonest, when)
            engines[engine, q.E_STALL] += 1
    return int(soonest)


@jit
def play(
    queue: Table, waits: Table, channels: Table, wakes: Table, rows: Table, groups: Table, woken: Table, maps: Table,
    commands: Table, counts: Table, strides: Table, sides: Table, cursors: Table, counters: Table,
    engines: Table, packets: Table, fifo: Table, slices: Table, sums: Table, trace: Table, traced: Table, k: Table,
    spms: int, links: int,
) -> int:  # fmt: skip
    """Plays all commands; the tick at which the last ends. -1 where nothing can move any more (never, unless the
    tables lie). Every function is called at one place only, because it is compiled there.
    """
    active = engines.shape[0]
    now, due, turn = -1, q.FAR, 0
    while active > 0:
        soonest = q.FAR
        for phase in range(3):
            if phase != 1:
                if phase == 0 and now >= due:
                    _wake_due(now, wakes, woken)
                if woken[0] > 0:
                    _sort_woken(woken)
                    _serve_channels(
                        now, queue, waits, channels, wakes, rows, groups, commands, packets, fifo, sums, trace, traced,
                        k, links, woken,
                    )  # fmt: skip
                continue
            engine = turn - 1
            for _ in range(engines.shape[0]):
                engine = engine + 1 if engine + 1 < engines.shape[0] else 0
                if engines[engine, q.E_DONE] == 1:
                    continue
                command = engines[engine, q.E_COMMAND]
                if now < 0 or cursors[2 * engine + 1, q.U_PACKET] >= commands[command, q.C_PACKETS]:
                    if now >= 0 and commands[command, q.C_PENDING] > 0:
                        continue
                    if now >= 0 and commands[command, q.C_END] > now:
                        soonest = min(soonest, commands[command, q.C_END])
                        continue
                    if _next_command(now, engine, engines, commands, sides, cursors, counters, maps, k):
                        active -= 1
                        continue
                    command = engines[engine, q.E_COMMAND]
                soonest = min(soonest, _issue_both(
                    engine, command, now, queue, waits, channels, wakes, rows, woken, maps, commands, counts, strides,
                    sides, cursors, counters, engines, packets, fifo, slices, sums, trace, traced, k, spms, links,
                ))  # fmt: skip
        if woken[-1] == 1:
            due = q.FAR
            for channel in range(wakes.shape[0]):
                due = min(due, wakes[channel])
            woken[-1] = 0
        soonest = min(soonest, due)
        turn = turn + 1 if turn + 1 < engines.shape[0] else 0
        if active > 0 and soonest >= q.FAR:
            return -1
        now = max(now, soonest) if soonest < q.FAR else now
    return int(commands[:, q.C_END].max())


@lru_cache(maxsize=1)
def event_loop(stamp: int) -> Callable[[Sequence[Table], int, int], int]:
    """`play` over tables, `spms` and `links`: compiled where numba is there. `stamp` names the source of what it calls:
    a compiled loop kept on disk is used for the same source only.

    The compiled loop takes addresses and shapes, and makes arrays of them that nobody owns: of arrays that Python owns
    it would count references in every step, which takes longer than the steps.
    """
    if not COMPILED:

        def plain(tables: Sequence[Table], spms: int, links: int) -> int:
            with np.errstate(over="ignore"):
                return int(play(*tables, spms, links))

        return plain

    @jit_cached
    def run(at: Table, of: Table, spms: int, links: int) -> int:
        """`at` holds the addresses of the tables in the order of `play`, `of` their shapes."""
        return play(  # type: ignore[no-any-return]
            array_at(at[0], (of[0, 0], of[0, 1], of[0, 2])), array_at(at[1], (of[1, 0], of[1, 1], of[1, 2])),
            array_at(at[2], (of[2, 0], of[2, 1])), array_at(at[3], (of[3, 0],)),
            array_at(at[4], (of[4, 0], of[4, 1], of[4, 2])), array_at(at[5], (of[5, 0], of[5, 1])),
            array_at(at[6], (of[6, 0],)), array_at(at[7], (of[7, 0], of[7, 1])),
            array_at(at[8], (of[8, 0], of[8, 1])), array_at(at[9], (of[9, 0], of[9, 1])),
            array_at(at[10], (of[10, 0], of[10, 1])), array_at(at[11], (of[11, 0], of[11, 1])),
            array_at(at[12], (of[12, 0], of[12, 1])), array_at(at[13], (of[13, 0], of[13, 1])),
            array_at(at[14], (of[14, 0], of[14, 1])), array_at(at[15], (of[15, 0],)),
            array_at(at[16], (of[16, 0], of[16, 1])), array_at(at[17], (of[17, 0], of[17, 1])),
            array_at(at[18], (of[18, 0], of[18, 1])), array_at(at[19], (of[19, 0], of[19, 1])),
            array_at(at[20], (of[20, 0],)), array_at(at[21], (of[21, 0],)),
            spms, links + 0 * stamp,
        )  # fmt: skip

    def compiled(tables: Sequence[Table], spms: int, links: int) -> int:
        at = np.array([table.ctypes.data for table in tables], dtype=np.int64)
        of = np.array([(*table.shape, 1, 1)[:3] for table in tables], dtype=np.int64)
        with nullcontext() if run.signatures else compiling_alone():
            return int(run(at, of, spms, links))

    return compiled


def source_stamp() -> int:
    """A number of the text of this module, of cost.kernel and of cost.compiled."""
    here = Path(__file__)
    text = b"".join(path.read_bytes() for path in (here, here.with_name("kernel.py"), here.with_name("compiled.py")))
    return zlib.crc32(text)
