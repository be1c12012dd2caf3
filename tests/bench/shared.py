"""How much of `prove/` is one engine: statements that run in `check` over the examples, by machine.

    python tests/bench/shared.py            the share that runs for all three machines, by room

A statement counts for a machine when judging its examples runs it; what runs for no machine is left out.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROVE = str(ROOT / "dmaverify" / "prove")
MACHINES = ("rngd", "pto", "idma")
KERNELS = {".rs": "rngd", ".pto": "pto", ".mlir": "pto", ".c": "idma", ".job": "idma", ".csv": "idma"}


def files_of(machine: str) -> list[Path]:
    """The examples of a machine: plan files that name it, kernels, drivers and jobs in its language."""
    every = sorted(p for p in (ROOT / "examples").rglob("*") if p.suffix in {".toml", *KERNELS})
    return [p for p in every if KERNELS.get(p.suffix) == machine or f'target = "{machine}"' in p.read_text("utf-8")]


def lines_run(files: list[Path]) -> dict[str, set[int]]:
    """Lines of `prove/` that judging these files runs."""
    from dmaverify.jobs.judge import check_job

    run: dict[str, set[int]] = defaultdict(set)

    def local(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            run[frame.f_code.co_filename].add(frame.f_lineno)
        return local

    def calls(frame: FrameType, event: str, _: Any) -> Any:
        return local(frame, "line", None) if frame.f_code.co_filename.startswith(PROVE) else None

    sys.settrace(calls)
    for file in files:
        check_job((str(file), None, None, {"repair": False}))
    sys.settrace(None)
    return run


def statements(path: Path) -> set[int]:
    """First lines of the statements within functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bodies = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = (n for body in bodies for part in body.body for n in ast.walk(part) if isinstance(n, ast.stmt))
    return {node.lineno for node in inside}


def main() -> int:
    run = {machine: lines_run(files_of(machine)) for machine in MACHINES}
    rooms: dict[str, Counter[int]] = defaultdict(Counter)
    for path in sorted(Path(PROVE).rglob("*.py")):
        room = path.relative_to(PROVE).parts[0].removesuffix(".py")
        for line in statements(path):
            used = sum(line in found.get(str(path), ()) for found in run.values())
            if used:
                rooms[room][used] += 1
                rooms["all"][used] += 1
    sys.stdout.write(f"{'room':12} {'for 1':>7} {'for 2':>7} {'for 3':>7} {'share of 3':>11}\n")
    for room, counts in sorted(rooms.items()):
        share = counts[3] / sum(counts.values())
        sys.stdout.write(f"{room:12} {counts[1]:7,} {counts[2]:7,} {counts[3]:7,} {share:11.0%}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
