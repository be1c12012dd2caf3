"""Verdicts of many files as lines, to be compared between two versions of the package.

    python tests/bench/verdicts.py draw FOLDER --count 2000        plans and kernels of every generator, as files
    python tests/bench/verdicts.py judge PATH... > before.txt      one line a verdict: file, name, status, findings
    diff before.txt after.txt

`judge` is run once with each version (`PYTHONPATH=OTHER_CHECKOUT`); what differs between the two is a change of
behaviour and wants a reason. Times are not written.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

SUFFIXES = {".toml", ".rs", ".pto", ".mlir"}


def draw(folder: Path, count: int) -> None:
    """Files of every generator, numbered by seed."""
    from dmaverify.targets.target import load_target
    from dmaverify.testing import seeded_plan

    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from lab.flat_programs import draw_program
    from lab.kernels import kernel_of, mutant_of
    from lab.written import KINDS, seeded

    folder.mkdir(parents=True, exist_ok=True)
    rngd = load_target("rngd")
    for number in range(count):
        kind = list(KINDS)[number % len(KINDS)]
        (folder / f"written-{number}-{kind}.toml").write_text(seeded(f"{kind}-{number}", kind).text)
        if number % 2 == 0:
            (folder / f"plan-{number}.toml").write_text(seeded_plan(number, rngd).text(rngd))
        if number % 4 == 0:
            rng = random.Random(number)
            kernel = kernel_of(rng)
            (folder / f"kernel-{number}.pto").write_text(kernel.text())
            (folder / f"kernel-{number}-mutant.pto").write_text(mutant_of(rng, kernel).text())
            program = draw_program(rng)
            if (text := getattr(program, "text", None)) is not None:
                (folder / f"program-{number}.toml").write_text(text() if callable(text) else text)


def lines_of(path: Path) -> list[str]:
    """The verdicts of one file; what cannot be read is a line too."""
    from dmaverify.errors import InputError, InputErrors
    from dmaverify.jobs.judge import check_job

    try:
        verdicts, _ = check_job((str(path), None, None, {}))
    except (InputError, InputErrors) as error:
        return [f"{path.name}\tinput error\t{error}"]
    out = []
    for verdict in verdicts:
        found = sorted(f"{f.rule}[{f.severity.value}]" for f in verdict.findings)
        owed = sorted(f"{o.id}={o.status}" for o in verdict.obligations)
        out.append("\t".join([path.name, verdict.name, verdict.status.value, " ".join(found), " ".join(owed)]))
    return out


def files_of(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES) if path.is_dir() else [path]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_subparsers(dest="what", required=True)
    drawing = what.add_parser("draw")
    drawing.add_argument("folder", type=Path)
    drawing.add_argument("--count", type=int, default=2000)
    judging = what.add_parser("judge")
    judging.add_argument("paths", type=Path, nargs="+")
    judging.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.what == "draw":
        draw(options.folder, options.count)
        return 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for lines in pool.map(lines_of, files_of(options.paths), chunksize=8):
            sys.stdout.writelines(line + "\n" for line in lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
