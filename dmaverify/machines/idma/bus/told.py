"""The verdict on a bus trace: the first wrong beat in time, and the element of the tensor that it carries.

Knows: transfers by number, tensors by their addresses. Does not know: how a trace is read or judged.
Law: the verdict is PROVED of what the trace shows alone; its line names what it does not show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dmaverify.language.meaning import cell, vendor_text
from dmaverify.machines.idma.bus.scoreboard import JudgedTrace, Wrong
from dmaverify.program.move import Transfer
from dmaverify.program.tensor import Tensor
from dmaverify.verdict import Finding, Obligation, Severity, Verdict, settled

RULE = "core/trace"
NEEDED = frozenset({
    "ar_addr", "ar_len", "aw_addr", "aw_len", "w_strb", "a_read_addr", "a_write_addr", "a_write_strb", "a_write_we",
})  # fmt: skip
"""Fields without which a trace says nothing of the bytes that were moved."""
UNASKED = "ids, attributes, user fields and resets"
"""What no trace is held to."""
SOURCE = "AMBA AXI, issue H.c, A3.2 to A3.4; iDMA v0.7.0, idma_legalizer"


def verdict_of_trace(
    trace: str, found: JudgedTrace, names: Sequence[tuple[str, int]], tensors: Mapping[str, tuple[Transfer, int]],
    cycles: int = 0, law: str = "", clock: str = "", order: str = "", aside: str = "",
) -> Verdict:  # fmt: skip
    """What a scoreboard found, told; `names` are the transfers of the file with their numbers of 1D transfers. `cycles`
    are those of the trace, `law` what is expected of them, in words; `clock` is that of a dump, empty of a table;
    `order` is in which order the transfers were looked for, `aside` are ports of the engine that were not looked at.
    """
    wrong = found.wrong
    findings = () if wrong is None else (_finding(trace, wrong, names, tensors),)
    blind = NEEDED & set(found.missing)
    status = settled(findings, ["unknown"] if blind else [])
    by = f"{found.beats:,} beats looked at, {found.bytes:,} bytes asked for"
    assumed = ["what holds of this one run: nothing is said of others"]
    table = "beats are those of the table; since when valid is up, and whether it stays until ready answers it, "
    table += "is not shown and not judged"
    assumed += [order] if order else []
    assumed += [f"not looked at: ports of the engine that no transfer uses ({aside})"] if aside else []
    assumed.append(f"beats are those at rising edges of {clock}, by the values before each" if clock else table)
    assumed.append(f"not judged: {UNASKED}, when OBI may ask and answer, what memory answers")
    if wrong is None and cycles:
        assumed.append(f"{cycles:,} cycles from the first address to the last answer{'; ' if law else ''}{law}")
    unseen = f"; {', '.join(found.missing)} not shown and not judged" if found.missing else ""
    if blind:
        by = f"the trace does not show {', '.join(sorted(blind))}"
    obligations = (Obligation(RULE, status.value, by),)
    path = trace.partition("::")[0]
    return Verdict(
        Path(path).stem, "idma", status, findings, obligations, tuple(assumed), {}, 0.0, "", path, 1, None,
        f"all {found.beats:,} beats of this {'run' if clock else 'table'}{unseen}, without {UNASKED}",
    )  # fmt: skip


def _finding(
    trace: str, wrong: Wrong, names: Sequence[tuple[str, int]], tensors: Mapping[str, tuple[Transfer, int]]
) -> Finding:
    notes = [f"at time {wrong.time}"]
    wanted = wrong.wanted
    values: dict[str, int] = {"time": wrong.time}
    if wanted is not None:
        name, number = _where(wanted.transfer, names)
        values |= {"transfer": number, "byte": wanted.byte, "address": wanted.address}
        notes.append(f"`{name}`, 1D transfer {number}, byte {wanted.byte}, address 0x{wanted.address:x}")
        if name in tensors:
            transfer, bits = tensors[name]
            for side, tensor in (("source", transfer.source), ("destination", transfer.dest)):
                held = _element(tensor, wanted.address, bits)
                if held and (side == "source") == (wrong.message.startswith(("AR", "R ", "A (read", "R (read"))):
                    notes.append(f"{side} {held}")
    span = wrong.beat.span if wrong.beat is not None else None
    hint = "compare with `dmaverify bursts --wire`"
    return Finding(RULE, Severity.ERROR, wrong.message, trace, span, values, values, SOURCE, hint=hint,
                   notes=tuple(notes))  # fmt: skip


def _where(number: int, names: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """The transfer of the file that a 1D transfer belongs to, and its number there."""
    for name, count in names:
        if number < count:
            return name, number
        number -= count
    return names[-1][0], number


def _element(tensor: Tensor, address: int, bits: int) -> str:
    """What lies at an address of a tensor, by its mapping; empty where it is not in the tensor."""
    position = (address - tensor.base) * 8 // bits
    if not 0 <= position < tensor.element.size:
        return ""
    return f"element {position}: {vendor_text(cell(tensor.element, position))}"
