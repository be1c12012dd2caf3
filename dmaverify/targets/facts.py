"""What rules may speak of: scopes, and in each scope the ports, with their meaning and unit.

Knows: the closed list of facts that the core computes of a command, a sequencer, a tensor, a transfer or an access.
Does not know: machines, rules, and how a fact is computed.
Law: a rule may use the ports of its scope and the named limits of its target, nothing else; no port speaks of one
machine. A new port is a change here and in the code that computes it. All ports are integers; a yes or no is 1 or 0.

Where data packed below a byte does not fill bytes, numbers of bytes are rounded down and divisors in bytes are 1; the
ports in bits are exact (4-bit types).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from dmaverify.values import dataclass

SUM, DIVISOR, ELSE = "sum", "divisor", "else"


@dataclass(frozen=True, slots=True)
class Fact:
    """One port: `least` is the smallest value the core ever gives, or None where it may be negative. `moves`: how it
    follows the addresses of an iteration, where it does: it is a SUM, a DIVISOR of sums, or something ELSE of them.
    """

    name: str
    unit: str
    says: str
    least: int | None = 0
    moves: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """What is looked at, once per what, and the ports that are known then. `sums`: each port that a moved address has
    a part in is a base plus strides, or divides such sums, so that first steps and ends of loops tell of all of it.
    """

    name: str
    says: str
    ports: Mapping[str, Fact]
    sums: bool = True


def _scope(name: str, says: str, facts: Iterable[Fact]) -> Scope:
    return Scope(name, says, MappingProxyType({fact.name: fact for fact in facts}))


_COMMAND = (
    Fact("packet_bytes", "bytes", "bytes moved at once"),
    Fact("packet_bits", "bits", "bits moved at once"),
    Fact("burst_bytes", "bytes", "longest run, starting at every packet, that is contiguous on both sides"),
    Fact(
        "read_gcd",
        "bytes",
        "greatest number that divides every address where a packet is read; 0 if all are 0",
        moves=DIVISOR,
    ),
    Fact(
        "write_gcd",
        "bytes",
        "greatest number that divides every address where a packet is written; 0 if all are 0",
        moves=DIVISOR,
    ),
    Fact("read_gcd_bits", "bits", "read_gcd in bits", moves=DIVISOR),
    Fact("write_gcd_bits", "bits", "write_gcd in bits", moves=DIVISOR),
    Fact("amount_bytes", "bytes", "bytes that the command moves in all"),
    Fact("chip_read", "chip", "chip of the memory that is read"),
    Fact("chip_write", "chip", "chip of the memory that is written"),
    Fact("cluster_read", "cluster", "cluster of the memory that is read; 0 where the memory has none"),
    Fact("cluster_write", "cluster", "cluster of the memory that is written; 0 where the memory has none"),
    Fact("engine_chip", "chip", "chip of the engine; where none is named, that of the memory read", None),
    Fact("engine_cluster", "cluster", "cluster of the engine; where none is named, that of the memory read", None),
    Fact("engine_dmn", "engine", "the engine among those of its cluster; 0 where none is named", None),
    Fact("commands", "commands", "commands of this move that the same engine runs", 1),
)

_SEQUENCER = (
    Fact(
        "entries",
        "entries",
        "loop entries: as written where that fits, else after merging neighbours; "
        "`dimensions` of scope `dimension` counts them as written",
        1,
    ),
    Fact("iterations", "iterations", "largest count of an entry after merging", 1),
    Fact("inner_count", "units", "count of the innermost entry, as written", 1),
    Fact("inner_stride", "units", "stride of the innermost entry, as written", None),
    Fact("packet_units", "units", "size of the packet, in the units of the configuration"),
    Fact("packet_bytes", "bytes", "bytes of the packet"),
    Fact("packet_run_bytes", "bytes", "bytes of the innermost entry if its stride is 1 or 0, else of one unit"),
    Fact("stride_gcd", "bytes", "greatest number that divides every stride between packets; 0 if there is none"),
    Fact("stride_low", "bytes", "smallest stride of an entry", None),
    Fact("stride_high", "bytes", "largest stride of an entry", None),
)

_DIMENSION = (
    Fact("dimension", "number", "which one: 0 is the innermost"),
    Fact("dimensions", "dimensions", "how many the sequencer has", 1),
    Fact("count", "iterations", "its count; of an innermost contiguous one, bytes", 1),
    Fact("stride_bytes", "bytes", "distance between two neighbours", None),
    Fact("inside_bytes", "bytes", "what one iteration of it moves", 0),
)

_TENSOR = (
    Fact("chips", "chips", "size of the chip mapping", 1),
    Fact("clusters", "clusters", "size of the cluster mapping", 1),
    Fact("slices", "slices", "size of the slice mapping", 1),
    Fact("chip_end", "chips", "first chip after the tensor: where it starts plus its chips", 1),
    Fact("cluster_end", "clusters", "first cluster after the tensor", 1),
    Fact("slice_end", "slices", "first slice after the tensor", 1),
    Fact("base_bytes", "bytes", "address where the tensor starts, in each of its places", None),
    Fact("extent_bytes", "bytes", "bytes that it takes in each of its places, padding included"),
    Fact("end_bytes", "bytes", "base_bytes + extent_bytes", None),
    Fact("element_count", "elements", "size of the element mapping: positions in each place, padding included", 1),
    Fact("element_bits", "bits", "bits of one element", 1),
    Fact("total_bits", "bits", "element_count * element_bits"),
    Fact("padded_splits", "axes", "axes of the element mapping split so that an inner digit has padding of its own"),
)

_TRANSFER = (
    Fact("dtype_bits", "bits", "bits of one element", 1),
    Fact("dtype_known", "0 or 1", "1 if the target knows the type and tensors in memory can have it"),
    Fact("dtype_current", "0 or 1", "1 unless the target lists the type as removed"),
    Fact("route", "0 or 1", "1 if the target lists the pair of tiers as a route"),
    Fact("same_chip", "0 or 1", "1 if no byte leaves its chip"),
    Fact("same_cluster", "0 or 1", "1 if no byte leaves its cluster (1 where a side has no clusters)"),
    Fact("same_dmn", "0 or 1", "0 if some byte is seen to leave the slices behind one port of an engine", moves=ELSE),
    Fact("source_chips", "chips", "size of the source's chip mapping", 1),
    Fact("dest_chips", "chips", "size of the destination's chip mapping", 1),
    Fact("source_clusters", "clusters", "size of the source's cluster mapping", 1),
    Fact("dest_clusters", "clusters", "size of the destination's cluster mapping", 1),
    Fact("source_slices", "slices", "size of the source's slice mapping", 1),
    Fact("dest_slices", "slices", "size of the destination's slice mapping", 1),
    Fact("broadcast_axes", "axes", "axes that only the destination names, and copies that plain numbers above 1 make"),
    Fact("tail_bits", "bits", "innermost run that both element mappings read alike, grown through the destination's "
         "own trailing Top padding where the destination has slices"),
    Fact("tail_stride_bits", "bits", "greatest number dividing every destination stride of at least tail_bits, or 0"),
)  # fmt: skip

_ACCESS = (
    Fact("base_bytes", "bytes", "address of the first packet, slices counted in", None, SUM),
    Fact("access_bytes", "bytes", "bytes of one memory access", 0),
    Fact("packet_bytes", "bytes", "bytes of one packet of the stream"),
    Fact("stride_gcd", "bytes", "greatest number that divides every memory stride between packets; 0 if there is none"),
    Fact("entries", "entries", "loop entries of time and packet together, neighbours merged within each", 1),
    Fact("iterations", "iterations", "largest count of an entry after merging", 1),
    Fact("time_size", "packets", "packets of the stream", 1),
    Fact("runs_per_packet", "runs", "contiguous runs of memory that one packet lies in", 1),
    Fact("sub_context", "0 or 1", "1 in the sub context, 0 in the main one"),
    Fact("sliced", "0 or 1", "1 if the tier of the memory has slices"),
)

_COPY = (
    Fact("rows", "rows", "rows that the innermost loop moves", None),
    Fact("row_bytes", "bytes", "bytes of one row", None),
    Fact("row_units", "units", "length of a row as written, where it counts blocks", None),
    Fact("read_gap", "units", "units between the end of a source row and the start of the next", None),
    Fact("write_gap", "units", "units between the end of a destination row and the start of the next", None),
    Fact("inner_count", "iterations", "count of the first loop around the rows", None),
    Fact("outer_count", "iterations", "count of the second loop around the rows", None),
    Fact("padded", "bit", "the bit with which the instruction asks for padding"),
    Fact("left_count", "units", "padding asked for before the data", None),
    Fact("right_count", "units", "padding asked for behind the data", None),
    Fact("pad_bytes", "bytes", "width of the padding value; that of the elements where there is none"),
    Fact("pad_zero", "bit", "1 if the padding value is zero"),
    Fact("cache_ctl", "number", "cache control", None),
    Fact("stream_id", "number", "stream id", None),
    Fact("read_item_bytes", "bytes", "bytes of an element of the source pointer", 1),
    Fact("write_item_bytes", "bytes", "bytes of an element of the destination pointer", 1),
)

_STEP = (
    Fact("count", "iterations", "iterations of the level that takes the step", None),
    Fact("stride_bytes", "bytes", "distance between the starts of two neighbours", None),
    Fact("row_bytes", "bytes", "bytes of one row", None),
    Fact("padded", "bit", "the bit with which the instruction asks for padding"),
)

_REACH = (
    Fact("base_bytes", "bytes", "address of the first row", None, SUM),
    Fact("low_bytes", "bytes", "lowest byte touched", None, SUM),
    Fact("end_bytes", "bytes", "first byte behind all that is touched, rounded tails and padding included", None, SUM),
)

_INDIRECT = (
    Fact("index_bits", "bits", "bits of one number of the index"),
    Fact("index_integer", "0 or 1", "1 if the numbers of the index are integers"),
    Fact("index_entries", "numbers", "numbers of the index: one for each key", 1),
    Fact("index_list_bytes", "bytes", "bytes of the whole index"),
    Fact("index_remainder", "bytes", "of a scaled index, by how much some number misses the start of a row"),
    Fact("index_most", "(a number)", "largest number of the index: as given, as promised, else the last row's"),
    Fact("index_with_table", "0 or 1", "1 if the index lies in the tier of the table"),
    Fact("index_with_payload", "0 or 1", "1 if the index lies in the tier of the side with the key"),
    Fact("row_bytes", "bytes", "bytes from one row of the table to the next"),
    Fact("scaled", "0 or 1", "1 if numbers are byte offsets, 0 if they are row numbers"),
    Fact("table_sliced", "0 or 1", "1 if the table's tier has slices"),
    Fact("payload_sliced", "0 or 1", "1 if the tier of the side with the key has slices"),
    Fact("key_outside", "digits", "digits of the key in chip or cluster"),
    Fact("replicated_axes", "axes", "axes of chip, cluster and slice that neither the key nor the table has"),
)

_OPERATION = (
    Fact("operands", "operands", "operands of one kind that the text gives"),
    Fact("operands_least", "operands", "fewest of that kind that the operation takes"),
    Fact("operands_most", "operands", "most of that kind that the operation takes"),
    Fact("types", "types", "types among the operands and results that are of one type"),
    Fact("item_bits", "bits", "bits of an element"),
    Fact("mask_bits", "bits", "bits of the elements that the mask is made for"),
    Fact("left_rows", "rows", "rows of the left factor of a product"),
    Fact("left_columns", "columns", "columns of the left factor of a product"),
    Fact("right_rows", "rows", "rows of the right factor of a product"),
    Fact("right_columns", "columns", "columns of the right factor of a product"),
    Fact("result_rows", "rows", "rows of a product"),
    Fact("result_columns", "columns", "columns of a product"),
    Fact("live_bytes", "bytes", "bytes of buffers that surely hold at one point what is read later"),
    Fact("room_bytes", "bytes", "bytes of their memory"),
)

_PRICE = (
    Fact("cycles", "cycles", "what the commands cost by the documents' model, whole cycles", 0),
    Fact("packet_bytes", "bytes", "bytes moved at once, of the smallest packet", 1),
    Fact("best_packet_bytes", "bytes", "largest legal packet that is contiguous on both sides of every command", 1),
    Fact("packet_cycles", "cycles", "what the same commands would cost with that packet", 0),
    Fact("crossing_windows", "windows", "windows of the access unit that reads touch beyond the fewest that they need"),
    Fact("partial_windows", "windows", "windows of the access unit that writes fill in part"),
    Fact("aligned_cycles", "cycles", "what the commands would cost with base and rows on whole access units", 0),
    Fact("channels_used", "channels", "channels that a side uses, where its memory has some; all of them elsewhere"),
    Fact("channels_all", "channels", "channels of that memory"),
    Fact("spread_cycles", "cycles", "what the commands would cost with their requests spread over all channels", 0),
    Fact("port_groups", "DMNs", "fewest ports of an engine (DMNs) that one side of a command uses; 2 where none"),
    Fact("alternating_cycles", "cycles", "what the commands would cost with their requests spread over two ports", 0),
    Fact("engines_away", "commands", "commands whose named engine has none of the ports that its own memory side uses"),
    Fact("switch_size", "slices", "least power of two of neighbouring slices that no byte leaves; 0 where none are"),
    Fact("link_senders", "chips", "most chips that send into one chip"),
    Fact("link_cycles", "cycles", "what the busiest link between chips needs", 0),
)

SCOPES: Mapping[str, Scope] = MappingProxyType(
    {
        scope.name: scope
        for scope in (
            _scope("command", "each command of a transfer", _COMMAND),
            _scope("sequencer", "the two sides of each command, and the memory side of an access", _SEQUENCER),
            _scope("dimension", "each loop of each side of a command, by its place from inside", _DIMENSION),
            _scope("tensor", "source (side read) and destination (side write), and the memory of an access", _TENSOR),
            _scope("transfer", "each transfer as a whole", _TRANSFER),
            _scope("access", "each Fetch or Commit access", _ACCESS),
            _scope("copy", "each copy instruction of a kernel", _COPY),
            _scope("step", "each level of a copy instruction, on each side", _STEP),
            _scope("reach", "what a copy instruction touches, on each side", _REACH),
            _scope("flag", "each set or wait of a flag", (Fact("event_id", "number", "id of the event", None),)),
            _scope("buffer", "each acquire or release of a buffer", (Fact("buffer_id", "number", "id", None),)),
            _scope("operation", "each operation of a kernel whose operands the machine's data names", _OPERATION),
            _scope("price", "the commands of a proved transfer, all together, as the cost model sees them", _PRICE),
            _scope("indirect", "each gather or scatter", _INDIRECT),
        )
    }
)

SIDES = ("read", "write")

WORDS: Mapping[str, str] = MappingProxyType(
    {
        "source_tier": "the source's tier",
        "dest_tier": "the destination's tier",
        "tier": "the tier of this side",
        "side": "read or write",
        "engine": "dma, fetch, commit, gather, scatter",
        "dtype": "the element type",
        "place": "the spot, in words",
    }
)
"""Texts that a message may show beside the ports; a predicate cannot use them."""

EVERY_PORT: frozenset[str] = frozenset(name for scope in SCOPES.values() for name in scope.ports)
