"""The simulator: every request of every engine through queues, channels, banks and DMN ports.

Knows: how commands, as cost.requests reads them, become the tables of cost.kernel; what the filled tables mean.
Does not know: the closed form, except that it may not exceed what comes out here. It shares the address maps and the
constants with it, and no function.
Law: deterministic; every byte that a command reads and writes is served exactly once, checked by its count and by the
sum and the sum of squares of the addresses, which the command's loops give in closed form. A mismatch is an
AssertionError.

Source: "Memory Performance" (HBM, Data Memory), "DMA Engine" (Performance, Examples); the rules of play are in
cost.kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dmaverify.cost.constants import OPTIONAL, TICKS, CostData, stated
from dmaverify.cost.requests import MoveRequests, RequestWalk, links_of, readings_of
from dmaverify.errors import InputError
from dmaverify.program.command import Command, Engine
from dmaverify.targets.address_maps import parity
from dmaverify.values import dataclass, field

if TYPE_CHECKING:
    from dmaverify.cost.compiled import Table

MOST_PACKETS = 40_000_000
"""Packets of one simulation; beyond it the tables would not fit."""
MOST_BYTES = 1 << 17
"""Bytes of a packet, exclusive: what the tables can count."""
MOST_STEP = 1 << 48
"""Bytes of a stride: what the tables can hold."""
TURNS = 64
"""Times that a request takes no constant more often than."""


@dataclass(frozen=True)
class SimResult:
    """What came out. `cycles` is the end of the last command; the rest are plain numbers and tables."""

    cycles: float
    requests: int
    channels: tuple[dict[str, float], ...]
    dmns: tuple[dict[str, float], ...]
    commands: tuple[dict[str, Any], ...]
    profile: str
    trace: tuple[dict[str, Any], ...] = field(default=(), repr=False)

    def statistics(self) -> dict[str, Any]:
        """Plain data for JSON: totals, then a row per command, channel and DMN in use."""
        hits = sum(row["hits"] for row in self.channels)
        switches = sum(row["row_switches"] for row in self.channels)
        return {
            "cycles": self.cycles,
            "profile": self.profile,
            "requests": self.requests,
            "row_hits": hits,
            "row_switches": switches,
            "channels_in_use": len(self.channels),
            "dmns_in_use": len(self.dmns),
            "commands": list(self.commands),
            "channels": list(self.channels),
            "dmns": list(self.dmns),
        }


def simulate(commands: Sequence[Command], profile: CostData | str = "book", record: int = 0) -> SimResult:
    """Plays the commands. `record` keeps that many served requests for a trace.

    Raises InputError for more than `MOST_PACKETS` packets, and for packets of `MOST_BYTES`.
    """
    from dmaverify.cost import clockwork, kernel

    data = stated(profile)
    tables = Tables.of(commands, data, record)
    loop = clockwork.event_loop(clockwork.source_stamp())
    last = loop(tables.arguments(), tables.data["spms"], tables.data["links"])
    if last < 0:
        raise AssertionError("the simulation stopped before every request was served")
    _check_served(tables)
    return _result(int(last), tables, data, kernel)


def _engine_order(commands: Sequence[Command]) -> list[list[int]]:
    found: dict[Engine, list[int]] = {}
    for index, command in enumerate(commands):
        found.setdefault(command.engine or Engine(), []).append(index)
    return [found[engine] for engine in sorted(found, key=lambda e: (e.chip, e.cluster, e.dmn))]


@dataclass(frozen=True, eq=False)
class Tables:
    """The integer tables of one simulation; `program` is the commands in the order of their rows."""

    program: tuple[Command, ...]
    readings: tuple[MoveRequests, ...]
    data: dict[str, Any]

    def arguments(self) -> tuple[Any, ...]:
        """The tables in the order in which the event loop takes them."""
        names = (
            "queue waits channels wakes rows groups woken maps commands counts strides sides cursors counters "
            "engines packets fifo slices sums trace traced k"
        )
        return tuple(self.data[name] for name in names.split())

    @staticmethod
    def of(commands: Sequence[Command], data: CostData, record: int) -> Tables:
        """Tables before the first tick."""
        import numpy as np

        from dmaverify.cost import kernel as q

        order = _engine_order(commands)
        program = tuple(commands[index] for engine in order for index in engine)
        readings = tuple(readings_of(program, data))
        packets = [one.read.packets for one in readings]
        if sum(packets) > MOST_PACKETS:
            most = f"a simulation takes {MOST_PACKETS:,} packets, and these are {sum(packets):,}"
            raise InputError(most, hint="the closed form has no such limit: leave --simulate away")
        if any(one.read.size >= MOST_BYTES for one in readings):
            largest = max(one.read.size for one in readings)
            raise InputError(f"a simulation takes packets below {MOST_BYTES:,} bytes, and one has {largest:,}")
        loops = [loop for one in readings for side in (one.read, one.write) for loop in side.loops]
        if any(max(count, abs(step)) > MOST_STEP for count, step in loops):
            raise InputError(f"a simulation takes strides up to {MOST_STEP:,} bytes; no memory is that large")
        _held(readings, data)
        depth = max((len(one.read.loops) for one in readings), default=0)
        chips = 1 + max(max(c.read.chip, c.write.chip) for c in program)
        clusters = 2 * chips

        def zeros(*shape: int) -> Table:
            return np.zeros(shape, dtype=np.int64)

        channels = chips * data.hbm_channels
        groups = 3 << len(data.hbm.bank_group)
        fields = tuple(data.hbm.channel_masks), tuple(data.hbm.bank), tuple(data.hbm.bank_group)
        table: dict[str, Any] = {
            "queue": zeros(channels, data.hbm_queue, q.Q_COLUMNS),
            "waits": zeros(channels, q.W_COLUMNS, data.hbm_queue),
            "channels": zeros(channels, q.H_COLUMNS),
            "wakes": np.full(channels, q.FAR, dtype=np.int64),
            "rows": zeros(channels, groups << len(data.hbm.bank), q.R_COLUMNS),
            "groups": zeros(channels, groups),
            "woken": zeros(channels + 2),
            "maps": np.array(_channel_bytes(*fields), dtype=np.int64),
            "commands": zeros(len(program), q.C_COLUMNS),
            "counts": zeros(len(program), max(1, depth)),
            "strides": zeros(2 * len(program), max(1, depth)),
            "sides": zeros(2 * len(program), q.S_COLUMNS),
            "cursors": zeros(2 * len(order), q.U_COLUMNS),
            "counters": zeros(2 * len(order), max(1, depth)),
            "engines": zeros(len(order), q.E_COLUMNS),
            "packets": zeros(sum(packets)),
            "fifo": zeros(clusters * 16 + 2 * chips + 2 * clusters, q.F_COLUMNS),
            "slices": zeros(clusters * data.dm.slices, 2),
            "sums": zeros(2 * len(program), 3),
            "trace": zeros(record, q.T_COLUMNS),
            "traced": zeros(1),
            "k": _constants(data),
            "spms": clusters * 8,
            "links": clusters * 16,
            "ports": clusters * 16 + 2 * chips,
            "chips": chips,
            "spm_stride": data.spm_stride,
        }
        table["channels"][:, q.H_SLICE] = -1
        table["rows"][:, :, q.R_KEY] = -1
        table["waits"][:, q.W_KEY] = -1
        table["waits"][:, q.W_AGE] = np.arange(data.hbm_queue)
        tables = Tables(program, readings, table)
        tables._fill(order)
        return tables

    def _fill(self, order: Sequence[Sequence[int]]) -> None:
        from dmaverify.cost import kernel as q

        t, row, slot = self.data, 0, 0
        for engine, own in enumerate(order):
            t["engines"][engine, q.E_COMMAND], t["engines"][engine, q.E_LAST] = row, row + len(own)
            for _ in own:
                one = self.readings[row]
                read, write = one.read, one.write
                for i, side in enumerate((read, write)):
                    _side_row(t["sides"][2 * row + i], side, t["spm_stride"])
                    other = (write, read)[i].port
                    port = t["ports"] + 2 * (2 * other.chip + other.cluster)
                    t["sides"][2 * row + i, q.S_PORT] = port if other.tier == "dm" else -1
                    for index, (count, step) in enumerate(side.loops):
                        t["counts"][row, index], t["strides"][2 * row + i, index] = count, step
                link, into = links_of(one, t["chips"])
                shape = (engine, read.packets, read.size, len(read.loops), one.one_memory, link, into, one.lead)
                prices = (one.issue, one.partial, one.ragged, one.startup)
                amount = read.packets * read.size
                t["commands"][row, : q.C_COLUMNS] = (*shape, 0, 0, slot, amount, *prices)
                t["packets"][slot : slot + read.packets] = read.size
                slot += read.packets
                row += 1


def _held(readings: Sequence[MoveRequests], data: CostData) -> None:
    """Raises InputError where requests one after the other might end at a time that the tables cannot hold."""
    from dmaverify.cost import kernel as q

    constants = {name: data.ticks(name) for name in (*data.constants, *OPTIONAL)}
    longest = max(*constants.values(), constants["pcie_byte"] * data.hbm.window)
    requests = sum(s.packets * (s.size // data.hbm.window + 2) for one in readings for s in (one.read, one.write))
    if sum(one.startup for one in readings) + TURNS * longest * requests >= q.FAR:
        said = f"{requests:,} requests by constants of up to {longest / TICKS:,.0f} cycles"
        hint = "the closed form has no such limit: leave --simulate away"
        raise InputError(f"a simulation counts to {q.FAR // TICKS:,} cycles, and these are {said}", hint=hint)


def _side_row(row: Table, side: RequestWalk, spm_stride: int) -> None:
    """Fills the row of a side; `spm_stride` bytes lie between two scratchpads of a cluster."""
    from dmaverify.cost import kernel as q

    tier = {"hbm": q.HBM, "dm": q.DM, "spm": q.SPM, "host": q.HOST}[side.port.tier]
    row[q.S_TIER], row[q.S_BASE], row[q.S_SPLIT] = tier, side.first, tier == q.HBM
    row[q.S_PLACE] = side.port.chip if tier == q.HBM else 2 * side.port.chip + side.port.cluster
    if tier == q.SPM:
        row[q.S_PLACE] = 8 * row[q.S_PLACE] + side.first // spm_stride


@lru_cache(maxsize=8)
def _channel_bytes(masks: tuple[int, ...], bank: tuple[int, ...], group: tuple[int, ...]) -> list[list[int]]:
    """What each byte of an address (lowest first), by its value, contributes to the number of the channel, and above
    it to bank group and bank in one number.
    """
    from dmaverify.cost.kernel import CHANNEL_BITS

    fields = [*enumerate(masks), *((CHANNEL_BITS + i, 1 << bit) for i, bit in enumerate((*bank, *group)))]
    many = -(-max(mask.bit_length() for _, mask in fields) // 8)

    def added(value: int) -> int:
        return sum(parity(value & mask) << bit for bit, mask in fields)

    return [[added(value << 8 * index) for value in range(256)] for index in range(many)]


def _constants(data: CostData) -> Table:
    import numpy as np

    names = (
        "hbm_request hbm_row_switch hbm_bank_group hbm_slice_change hbm_partial dm_request dm_unaligned "
        "spm_request pcie_byte"
    )
    where = data.hbm
    shape = [
        data.hbm_queue, data.hbm_channels, where.window, where.top_slice, where.top_high, where.top_row,
        data.dm.slice_stride.bit_length() - 1, data.dm.slices, data.dm.dmn_slices.bit_length() - 1, where.row[0],
         len(where.row), data.ticks("cluster_stack"), len(where.bank_group), len(where.bank),
    ]  # fmt: skip
    return np.array([*(data.ticks(name) for name in names.split()), *shape], dtype=np.int64)


# ---------------------------------------------------------------- served once


def _check_served(tables: Tables) -> None:
    from dmaverify.cost import kernel

    for row, one in enumerate(tables.readings):
        for role, walk in enumerate((one.read, one.write)):
            size, total, squares = walk.sums()
            got = [int(value) % (1 << 64) for value in tables.data["sums"][2 * row + role]]
            if got != [size, total % (1 << 64), squares % (1 << 64)]:
                raise AssertionError(f"command {row}: bytes were lost or served twice ({got[0]} of {size})")
    if (tables.data["packets"] & kernel.LEFT).any() or tables.data["commands"][:, kernel.C_PENDING].any():
        raise AssertionError("a packet was not served whole")


# ---------------------------------------------------------------- what came out


def _result(last: int, tables: Tables, data: CostData, q: Any) -> SimResult:
    t = tables.data
    channels = []
    for index, row in enumerate(t["channels"].tolist()):
        if row[q.H_REQUESTS]:
            channels.append({
                "chip": index // data.hbm_channels, "channel": index % data.hbm_channels, "requests": row[q.H_REQUESTS],
                "hits": row[q.H_REQUESTS] - row[q.H_OPENS] - row[q.H_SWITCHES], "opens": row[q.H_OPENS],
                "row_switches": row[q.H_SWITCHES], "partial_writes": row[q.H_PARTIAL],
                "busy_cycles": row[q.H_WORK] / TICKS, "most_waiting": row[q.H_PEAK],
            })  # fmt: skip
    dmns = []
    for index, row in enumerate(t["fifo"][: t["spms"]].tolist()):
        if row[q.F_REQUESTS]:
            dmns.append({
                "chip": index // 16, "cluster": index // 8 % 2, "dmn": index % 8, "requests": row[q.F_REQUESTS],
                "busy_cycles": row[q.F_WORK] / TICKS,
            })  # fmt: skip
    commands = []
    for command, row in zip(tables.program, t["commands"].tolist(), strict=True):
        commands.append({
            "engine": str(command.engine or Engine()), "start": row[q.C_START] / TICKS, "end": row[q.C_END] / TICKS,
            "bytes": row[q.C_PACKETS] * row[q.C_SIZE],
        })  # fmt: skip
    requests = int(t["channels"][:, q.H_REQUESTS].sum() + t["fifo"][: t["links"], q.F_REQUESTS].sum())
    trace = tuple(_event(row, tables, data) for row in t["trace"][: int(t["traced"][0])].tolist())
    return SimResult(last / TICKS, requests, tuple(channels), tuple(dmns), tuple(commands), data.profile, trace)


def _event(row: Sequence[int], tables: Tables, data: CostData) -> dict[str, Any]:
    kind, which, start, end, engine, write, address = row
    place = f"channel {which}" if kind == 0 else (f"DMN {which}" if kind == 1 else f"SPM {which - tables.data['spms']}")
    return {
        "resource": place, "start": start / TICKS, "cycles": (end - start) / TICKS, "engine": engine,
        "kind": "write" if write else "read", "address": address,
    }  # fmt: skip
