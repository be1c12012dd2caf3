"""The simulator's inner loop: engines issue, channels schedule, DMNs serve, tick by tick but only where something
happens.

Knows: requests, queues, FR-FCFS, open rows, bank groups, DMN ports, slice queues, the PCIe link, read-modify-write.
Does not know: commands as objects, profiles by name, how results are shown.
Law: deterministic; time never runs back; a request is served exactly once, after it was issued, and a write is issued
only when its packet has been read. The same lines run compiled by numba, or as plain Python where numba cannot be
imported.

State is in integer tables (rows = commands, engines, channels, ...; columns named below), because that is what
compiles. Rules of a channel: an entry of its queue is held until its transfer ends, so behind a transfer one entry less
than the queue waits. Of the waiting requests whose row is open (hits) the one that can begin first is transferred, of
equals the oldest. The oldest request that is no hit has its row opened as soon as its bank has no hits waiting: at no
cost in a closed bank; else by replacing the row, one bank at a time, while hits of other banks are transferred. Rules
of an engine: requests are issued in order, writes before reads where they share a port; a packet's writes follow its
last read. Source: "Memory Performance" (HBM, Data Memory), "DMA Engine" (Examples).
"""

from __future__ import annotations

from dmaverify.cost.compiled import Table, jit

FAR = 1 << 62
HBM, DM, SPM, HOST = 0, 1, 2, 3

# columns of a side of a command (rows 2c and 2c + 1: read and write of command c)
S_TIER, S_PLACE, S_BASE, S_SPLIT, S_PORT, S_COLUMNS = range(6)
# columns of a command
(C_ENGINE, C_PACKETS, C_SIZE, C_LOOPS, C_SAME, C_LINK, C_INTO, C_LEAD, C_START, C_END, C_FIRST, C_PENDING,
 C_ISSUE, C_ISSUE_PARTIAL, C_ISSUE_RAGGED, C_STARTUP, C_COLUMNS) = range(17)  # fmt: skip
# columns of an engine
E_COMMAND, E_LAST, E_READY, E_READ_FREE, E_WRITE_FREE, E_DONE, E_STALL, E_COLUMNS = range(8)
# columns of a cursor (rows 2e and 2e + 1: read and write side of engine e): packet, address, bytes left and channel of
# its next request, with bank group and bank (one number) above it
U_PACKET, U_ADDRESS, U_LEFT, U_CHANNEL, U_COLUMNS = range(5)
CHANNEL_BITS = 16
CHANNEL = (1 << CHANNEL_BITS) - 1
# columns of a channel: data bus free, requests waiting, ..., row unit free, waiting hits; when to look at it next is a
# table of its own, `wakes`, FAR where nothing waits
(H_BUSY, H_WAITING, H_SLICE, H_REQUESTS, H_OPENS, H_SWITCHES, H_WORK, H_PEAK, H_PARTIAL, H_ROW, H_HITS,
 H_COLUMNS) = range(12)  # fmt: skip
# columns of a queue entry
Q_BANK, Q_GROUP, Q_SLICE, Q_COMMAND, Q_PACKET, Q_WRITE, Q_BYTES, Q_ADDRESS, Q_COLUMNS = range(9)
# what is looked through, by entry: bank and row in one number (-1: free), whether that row is open (1: a hit); and the
# entries by age, the first H_WAITING of them in use, free ones behind
W_KEY, W_HIT, W_AGE, W_COLUMNS = range(4)
# a packet: when its last byte so far was read, and in the low bits how many bytes of it are not yet read
LEFT_BITS = 17
LEFT = (1 << LEFT_BITS) - 1
# columns of a bank: bank and row that are open (-1: none), when it can be used, hits that wait
R_KEY, R_READY, R_HITS, R_COLUMNS = range(4)
# columns of a FIFO server (DMN, SPM, link)
F_FREE, F_REQUESTS, F_WORK, F_COLUMNS = range(4)
# constants
(K_HBM, K_SWITCH, K_GROUP, K_SLICE, K_PARTIAL, K_DM, K_UNALIGNED, K_SPM, K_PCIE, K_QUEUE, K_CHANNELS,
 K_WINDOW, K_TOP_SLICE, K_TOP_HIGH, K_TOP_ROW, K_SLICE_SHIFT, K_SLICES, K_DMN_SHIFT, K_ROW_SHIFT, K_ROW_BITS, K_PORT,
 K_GROUP_BITS, K_BANK_BITS, K_COLUMNS) = range(24)  # fmt: skip
# columns of the trace: resource kind, resource, start, end, engine, write, address
T_COLUMNS = 7


@jit
def _account(sums: Table, row: int, address: int, size: int) -> None:
    """Bytes, sum of addresses and sum of squares of addresses that were served, modulo 2^64 (integers wrap)."""
    pairs = size * (size - 1)
    sums[row, 0] += size
    sums[row, 1] += size * address + pairs // 2
    sums[row, 2] += size * address * address + address * pairs + pairs * (2 * size - 1) // 6


@jit
def _partial_ticks(command: int, write: int, address: int, size: int, commands: Table, k: Table) -> int:
    """What a write of part of a window adds: more where it covers part of a 64-byte block."""
    if write == 0 or size == k[K_WINDOW]:
        return 0
    ragged = (address | (address + size)) & 63 != 0
    return int(commands[command, C_ISSUE_RAGGED] if ragged else commands[command, C_ISSUE_PARTIAL])


@jit
def _record(
    trace: Table, count: Table, kind: int, which: int, start: int, end: int, engine: int, write: int, at: int
) -> None:
    index = count[0]
    if index < trace.shape[0]:
        for column, value in enumerate((kind, which, start, end, engine, write, at)):
            trace[index, column] = value
        count[0] = index + 1


@jit
def _next_packet(
    cursor: int, side: int, command: int, commands: Table, counts: Table, strides: Table, counters: Table, address: int
) -> int:
    """The address after `address` in the nest: the innermost counter goes on, full ones start over."""
    for loop in range(commands[command, C_LOOPS] - 1, -1, -1):
        counters[cursor, loop] += 1
        address += strides[side, loop]
        if counters[cursor, loop] < counts[command, loop]:
            break
        counters[cursor, loop] = 0
        address -= strides[side, loop] * counts[command, loop]
    return address


@jit
def _channel_of(side: int, address: int, sides: Table, maps: Table, k: Table) -> int:
    """The channel of an HBM address, counted over all chips, above it bank group and bank; `maps` has what each byte
    adds.
    """
    channel = 0
    for index in range(maps.shape[0]):
        channel ^= maps[index, (address >> (8 * index)) & 255]
    return int(channel + sides[side, S_PLACE] * k[K_CHANNELS])


@jit
def _move_to(
    engine: int, role: int, address: int, command: int, sides: Table, cursors: Table, maps: Table, k: Table
) -> None:
    """The cursor's next request is at this address."""
    side = 2 * command + role
    cursors[2 * engine + role, U_ADDRESS] = address
    if sides[side, S_TIER] == HBM:
        cursors[2 * engine + role, U_CHANNEL] = _channel_of(side, address, sides, maps, k)


@jit
def _begin(
    engine: int, command: int, commands: Table, sides: Table, cursors: Table, counters: Table, maps: Table, k: Table
) -> None:
    """Both cursors to the first packet."""
    for role in range(2):
        cursor = 2 * engine + role
        cursors[cursor, U_PACKET] = 0
        cursors[cursor, U_LEFT] = commands[command, C_SIZE]
        counters[cursor] = 0
        _move_to(engine, role, sides[2 * command + role, S_BASE], command, sides, cursors, maps, k)


@jit
def _request_bytes(address: int, left: int, window: int, split: int) -> int:
    """Bytes of the next request: up to the end of the aligned window (split 1), or of the part (split 0)."""
    room = window - (address & (window - 1)) if split == 1 else window
    return min(room, left)


@jit
def _is_full(channel: int, now: int, channels: Table, k: Table) -> bool:
    busy = 1 if channels[channel, H_BUSY] > now else 0
    return bool(channels[channel, H_WAITING] + busy >= k[K_QUEUE])


@jit
def _enqueue(
    channel: int, place: int, address: int, size: int, write: int, command: int, packet: int, now: int,
    queue: Table, waits: Table, channels: Table, wakes: Table, rows: Table, woken: Table, k: Table,
) -> None:  # fmt: skip
    """Puts a request into its channel, which has room."""
    many = channels[channel, H_WAITING]
    slot = waits[channel, W_AGE, many]
    entry = queue[channel, slot]
    low = (address >> k[K_TOP_SLICE]) & 1
    high = (address >> k[K_TOP_HIGH]) & 1
    top = (address >> k[K_TOP_ROW]) & 1
    part = 2 if high else low
    bank = part << (k[K_GROUP_BITS] + k[K_BANK_BITS]) | place
    row = (address >> k[K_ROW_SHIFT]) & ((1 << k[K_ROW_BITS]) - 1) | (low if high else top) << k[K_ROW_BITS]
    key = bank << (k[K_ROW_BITS] + 1) | row
    entry[Q_BANK] = bank
    entry[Q_GROUP] = bank >> k[K_BANK_BITS]
    entry[Q_SLICE] = part
    entry[Q_COMMAND] = command
    entry[Q_PACKET] = packet
    entry[Q_WRITE] = write
    entry[Q_BYTES] = size
    entry[Q_ADDRESS] = address
    hit = 1 if rows[channel, bank, R_KEY] == key else 0
    waits[channel, W_KEY, slot] = key
    waits[channel, W_HIT, slot] = hit
    rows[channel, bank, R_HITS] += hit
    channels[channel, H_HITS] += hit
    channels[channel, H_WAITING] = many + 1
    channels[channel, H_PEAK] = max(channels[channel, H_PEAK], many + 1)
    wake = max(now, min(channels[channel, H_BUSY], channels[channel, H_ROW]))
    if wake <= now < wakes[channel]:
        woken[0] += 1
        woken[woken[0]] = channel
    wakes[channel] = min(wakes[channel], wake)
    woken[-1] = 1


@jit
def _leave(channel: int, place: int, waits: Table, channels: Table) -> None:
    """Takes the entry at a place of the ages out; younger ones move up."""
    last, ages = channels[channel, H_WAITING] - 1, waits[channel, W_AGE]
    slot = ages[place]
    for index in range(place, last):
        ages[index] = ages[index + 1]
    ages[last] = slot
    waits[channel, W_KEY, slot] = -1
    channels[channel, H_WAITING] = last


@jit
def _start(channel: int, entry: Table, now: int, channels: Table, rows: Table, groups: Table, k: Table) -> int:
    """When the transfer of a hit could begin: its row open, its bank group's turn, and a change of slice."""
    last = channels[channel, H_SLICE]
    change = k[K_SLICE] if last >= 0 and last != entry[Q_SLICE] else 0
    ready = max(groups[channel, entry[Q_GROUP]], rows[channel, entry[Q_BANK], R_READY])
    return int(max(max(now, channels[channel, H_BUSY]) + change, ready))


@jit
def _best_hit(
    channel: int, now: int, queue: Table, waits: Table, channels: Table, rows: Table, groups: Table, k: Table
) -> int:
    """Where among the ages the hit stands that can begin first, of equals the oldest; -1 where there is none."""
    best, best_start, left, place = -1, FAR, channels[channel, H_HITS], 0
    hits, ages, soonest = waits[channel, W_HIT], waits[channel, W_AGE], max(now, channels[channel, H_BUSY])
    while left > 0:
        slot = ages[place]
        if hits[slot] == 1:
            left -= 1
            start = _start(channel, queue[channel, slot], now, channels, rows, groups, k)
            if start < best_start:
                best, best_start = place, start
                left = 0 if start == soonest else left
        place += 1
    return best


@jit
def _oldest_miss(channel: int, queue: Table, waits: Table, channels: Table, rows: Table) -> int:
    """The oldest waiting request whose row is not open, if its bank has no hits waiting; else -1."""
    waiting = channels[channel, H_WAITING]
    if channels[channel, H_HITS] == waiting:
        return -1
    hits, ages, place = waits[channel, W_HIT], waits[channel, W_AGE], 0
    while hits[ages[place]] == 1:
        place += 1
    slot = ages[place]
    return -1 if rows[channel, queue[channel, slot, Q_BANK], R_HITS] > 0 else int(slot)


@jit
def _count_hits(channel: int, bank: int, waits: Table, channels: Table, rows: Table) -> None:
    """After a row was opened, in a bank without hits: which waiting requests want it."""
    keys, hits, opened, count = waits[channel, W_KEY], waits[channel, W_HIT], rows[channel, bank, R_KEY], 0
    for slot in range(keys.shape[0]):
        wants = 1 if keys[slot] == opened else 0
        hits[slot] |= wants
        count += wants
    rows[channel, bank, R_HITS] = count
    channels[channel, H_HITS] += count


@jit
def _open_rows(channel: int, now: int, queue: Table, waits: Table, channels: Table, rows: Table, k: Table) -> int:
    """Opens the rows that may be opened now; when the row unit can do the next, FAR if nothing waits for it."""
    while True:
        miss = _oldest_miss(channel, queue, waits, channels, rows)
        if miss < 0:
            return FAR
        bank = queue[channel, miss, Q_BANK]
        closed = rows[channel, bank, R_KEY] < 0
        if closed:
            channels[channel, H_OPENS] += 1
        else:
            free = max(channels[channel, H_ROW], rows[channel, bank, R_READY])
            if free > now:
                return int(free)
            channels[channel, H_SWITCHES] += 1
            channels[channel, H_ROW] = now + k[K_SWITCH]
            rows[channel, bank, R_READY] = now + k[K_SWITCH] - k[K_HBM]
        rows[channel, bank, R_KEY] = waits[channel, W_KEY, miss]
        _count_hits(channel, bank, waits, channels, rows)
        if not closed:
            return int(channels[channel, H_ROW])


@jit
def _transfer(channel: int, entry: Table, now: int, channels: Table, rows: Table, groups: Table, k: Table) -> int:
    """Transfers a hit: when that ends."""
    bank, group = entry[Q_BANK], entry[Q_GROUP]
    start = _start(channel, entry, now, channels, rows, groups, k)
    length = k[K_HBM]
    if entry[Q_WRITE] == 1 and entry[Q_BYTES] < k[K_WINDOW]:
        length = k[K_PARTIAL]
        channels[channel, H_PARTIAL] += 1
    rows[channel, bank, R_HITS] -= 1
    channels[channel, H_HITS] -= 1
    rows[channel, bank, R_READY] = start + length
    groups[channel, group] = start + k[K_GROUP]
    channels[channel, H_SLICE] = entry[Q_SLICE]
    channels[channel, H_BUSY] = start + length
    channels[channel, H_REQUESTS] += 1
    channels[channel, H_WORK] += length
    return int(start + length)


@jit
def _complete(
    command: int, packet: int, write: int, size: int, end: int,
    commands: Table, packets: Table, fifo: Table, k: Table, links: int,
) -> None:  # fmt: skip
    """Books a served request: the packet it is of, the link it crosses, the end of its command."""
    if write == 1:
        commands[command, C_PENDING] -= size
        commands[command, C_END] = max(commands[command, C_END], end)
        return
    slot = commands[command, C_FIRST] + packet
    state = packets[slot]
    left, ready = (state & LEFT) - size, max(state >> LEFT_BITS, end)
    link = commands[command, C_LINK]
    if left == 0 and link >= 0:
        sender, receiver = fifo[links + link], fifo[links + commands[command, C_INTO]]
        work = commands[command, C_SIZE] * k[K_PCIE]
        ready = max(max(sender[F_FREE], receiver[F_FREE]), ready) + work
        sender[F_FREE] = ready
        receiver[F_FREE] = ready
        sender[F_REQUESTS] += 1
        sender[F_WORK] += work
    packets[slot] = ready << LEFT_BITS | left


@jit
def _slice_row(side: int, address: int, sides: Table, k: Table) -> int:
    return int(sides[side, S_PLACE] * k[K_SLICES] + ((address >> k[K_SLICE_SHIFT]) & (k[K_SLICES] - 1)))


@jit
def _server(side: int, where: int, sides: Table, k: Table, spms: int) -> int:
    """Which FIFO server a DM or SPM request goes to: the DMN of its slice, or the SPM of its cluster."""
    if sides[side, S_TIER] != DM:
        return int(spms + sides[side, S_PLACE])
    return where >> int(k[K_DMN_SHIFT])


@jit
def _port_row(side: int, channel: int, sides: Table, k: Table) -> int:
    """The port between a cluster and the stack of a channel; below 0 where the model has none."""
    if k[K_PORT] == 0 or sides[side, S_PORT] < 0:
        return -1
    return int(sides[side, S_PORT] + 2 * (channel % k[K_CHANNELS]) // k[K_CHANNELS])


@jit
def _fifo_time(side: int, where: int, sides: Table, slices: Table, now: int) -> int:
    """When a DM or SPM request may be issued: a slice holds two."""
    if sides[side, S_TIER] != DM:
        return now
    return int(max(now, min(slices[where, 0], slices[where, 1])))


@jit
def _fifo_serve(
    side: int, where: int, server: Table, sides: Table, slices: Table, k: Table, now: int, whole: bool
) -> int:
    """Serves a DM or SPM request in its turn: when it ends. `whole`: it writes no part of a word of 8 bytes."""
    if sides[side, S_TIER] == HOST:
        return now
    work = k[K_SPM]
    if sides[side, S_TIER] == DM:
        work = k[K_DM] if whole else k[K_UNALIGNED]
    server[F_FREE] = max(server[F_FREE], now) + work
    server[F_REQUESTS] += 1
    server[F_WORK] += work
    if sides[side, S_TIER] == DM:
        slices[where, 1 if slices[where, 1] < slices[where, 0] else 0] = server[F_FREE]
    return int(server[F_FREE])
