"""The table of the page on cost: cycles of synthesized plans against the destination's own order, in both profiles.

    python tests/bench/synth_table.py [--write] [PART OF A NAME...]

The naive stream walks the destination outer to inner on one engine, its packets the innermost run that both sides share
(the longest whole divisor of at most 4,096 bytes). Cycles are those of the closed form; where a gap to the bound was
left it stands beside them. CPU seconds go to the error stream; `--write` puts the table into docs/howto/cost.md.

    python tests/bench/synth_table.py --digits [2,4,8,14]

CPU seconds of `synth` as users ask it (simulated, with routes) against the number of digits, each of 2, in shuffled
order, of single bytes and of rows of 256: the median of five orders, beside the slowest.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "synth"))

from moves import move
from shapes import AWAY, shapes

from dmaverify import api
from dmaverify.cost.constants import cost_data
from dmaverify.cost.model import cost
from dmaverify.program.command import Engine
from dmaverify.synth.legal import Law
from dmaverify.synth.shares import home, lanes_of
from dmaverify.synth.space import Work, command, nested
from dmaverify.synth.synthesize import covers_of, machine_of, synthesize
from dmaverify.targets.target import load_target

PROFILES = ("book", "measured")


def naive(moved, target, profile: str) -> float:
    """Cycles of the destination's order on one engine per place, with the largest legal packet."""
    machine = machine_of(moved, target, 1)
    law = Law(moved, target, target.limits_with(()), {}, lenient=True)
    program = []
    for lane in lanes_of(covers_of(moved, target, machine).each[0], ()):
        run, _ = lane.chain
        for packet in sorted(machine.packets(run), reverse=True):
            item = nested(Work(Engine(*home(lane)), lane), packet)
            if item is not None and law.allows([one := command(item, item.loops, machine)]):
                program.append(one)
                break
    return cost(program, cost_data(profile)).cycles


def row(name, axes, moved, target) -> tuple[str, str]:
    """The line of the table, and how long each profile took."""
    cells, spent = [name], [name]
    for profile in PROFILES:
        started = time.process_time()
        found = synthesize(moved, target, axes=axes, profile=profile, advise=False)
        spent.append(f"{time.process_time() - started:.2f} s")
        plain = naive(moved, target, profile)
        mark = "" if found.optimal else f" (within {100 * found.gap:.1f} %)"
        cells += [f"{plain:,.0f}", f"{found.cycles:,.0f}{mark}", f"{plain / found.cycles:.1f}x"]
    return "| " + " | ".join(cells) + " |", "  ".join(spent)


def table(words: Sequence[str] = (), *, timings: bool = False) -> str:
    """The whole table, or the shapes whose names have all the words; with timings, each on the error stream."""
    target = load_target("rngd")
    heads = ["move", *(h for p in PROFILES for h in (f"naive, {p}", f"synth, {p}", "faster"))]
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    for name, axes, moved in shapes():
        if all(word in name for word in words):
            line, spent = row(name, axes, moved, target)
            lines.append(line)
            if timings:
                sys.stderr.write(spent + "\n")
    return "\n".join(lines)


START, END = "<!-- shapes: python tests/bench/synth_table.py --write -->\n", "\n<!-- end of shapes -->"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "cost.md"


def in_page() -> str:
    """The table as the page has it."""
    text = PAGE.read_text(encoding="utf-8")
    return text[text.index(START) + len(START) : text.index(END)]


def digits(counts: Sequence[int]) -> str:
    """CPU seconds against the number of digits, in both profiles."""
    cells = [f"{inner}, {profile}" for inner in ("bytes", "rows") for profile in ("book", "schedule")]
    lines = ["| digits | " + " | ".join(cells) + " |", "|---:" * (len(cells) + 1) + "|"]
    for count in counts:
        found = [str(count)]
        for row, profile in product((1, 256), ("book", "schedule")):
            spent = []
            for seed in range(5):
                axes = [f"A{index}" for index in range(count)]
                order = random.Random(seed).sample(axes, count)
                sizes = {**dict.fromkeys(axes, 2), "R": row}
                source = {"tier": "hbm", "element": ", ".join([*axes, "R"])}
                dest = {"tier": "hbm", "base": AWAY, "element": ", ".join([*order, "R"])}
                started = time.process_time()
                api.synthesize(move(sizes, source, dest), axes=sizes, profile=profile)
                spent.append(time.process_time() - started)
            found.append(f"{median(spent):.2f} s (to {max(spent):.2f})")
        lines.append("| " + " | ".join(found) + " |")
    return "\n".join(lines)


def main() -> None:
    if "--digits" in sys.argv:
        asked = sys.argv[sys.argv.index("--digits") + 1 :] or ["2,4,6,8,10,12,14"]
        sys.stdout.write(digits([int(one) for one in asked[0].split(",")]) + "\n")
        return
    words = [word for word in sys.argv[1:] if word != "--write"]
    found = table(words, timings=True)
    if "--write" in sys.argv:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(text.replace(START + in_page(), START + found), encoding="utf-8")
    else:
        sys.stdout.write(found + "\n")


if __name__ == "__main__":
    main()
