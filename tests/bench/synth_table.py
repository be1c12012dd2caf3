"""The README's table: cycles of synthesized plans against the destination's own order, in both profiles.

    python tests/bench/synth_table.py [PART OF A NAME...]

The naive stream walks the destination outer to inner on one engine, its packets the innermost run that both sides share
(the longest whole divisor of at most 4,096 bytes). Cycles are those of the closed form; `~` marks a gap that was left.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "synth"))

from shapes import shapes

from dmaverify.cost.constants import cost_data
from dmaverify.cost.model import cost
from dmaverify.machines.target import load_target
from dmaverify.synth.legal import Law
from dmaverify.synth.packets import chain_of, packets_of
from dmaverify.synth.shares import home, lanes_of
from dmaverify.synth.space import Work, command, nested
from dmaverify.synth.synthesize import covers_of, machine_of, synthesize
from dmaverify.transfer.command import Engine

PROFILES = ("book", "measured")


def naive(moved, target, profile: str) -> float:
    """Cycles of the destination's order on one engine per place, with the largest legal packet."""
    machine = machine_of(moved, target, 1)
    law = Law(moved, target, target.limits_with(()), {}, lenient=True)
    width = machine.dtype_bits // machine.unit_bits
    program = []
    for lane in lanes_of(covers_of(moved, machine)[0], ()):
        run, _ = chain_of(lane)
        for packet in sorted(packets_of(run, machine.unit_bits, machine.packet_max, width), reverse=True):
            item = nested(Work(Engine(*home(lane)), lane), packet)
            if item is not None and law.allows([one := command(item, item.loops, machine)]):
                program.append(one)
                break
    return cost(program, cost_data(profile)).cycles


def row(name, axes, moved, target) -> str:
    cells = [name]
    for profile in PROFILES:
        started = time.perf_counter()
        found = synthesize(moved, target, axes=axes, profile=profile, advise=False)
        seconds = time.perf_counter() - started
        plain = naive(moved, target, profile)
        mark = "" if found.optimal else f" ~{100 * found.gap:.0f} %"
        cells += [f"{plain:,.0f}", f"{found.cycles:,.0f}{mark}", f"{plain / found.cycles:.1f}x", f"{seconds:.1f} s"]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    target = load_target("rngd")
    heads = ["move", *(h for p in PROFILES for h in (f"naive, {p}", f"synth, {p}", "faster", "time"))]
    sys.stdout.write("| " + " | ".join(heads) + " |\n|---" + "|---:" * (len(heads) - 1) + "|\n")
    for name, axes, moved in shapes():
        if all(word in name for word in sys.argv[1:]):
            sys.stdout.write(row(name, axes, moved, target) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
