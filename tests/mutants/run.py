"""`make mutants`: one-line faults put into a copy of the package, one at a time; the tests must notice each.

    python tests/mutants/run.py                         all of tests/mutants/mutants.toml
    python tests/mutants/run.py fuse-padding covers     those whose name holds one of the words
    python tests/mutants/run.py --search banks          which test of its suite notices a fault
    python tests/mutants/run.py --share 3/30            every thirtieth, from the third on
    python tests/mutants/run.py --jobs 2 --list

A fault is a file, an old text and a new one. The file is a hint: where it has moved, the text is looked for in the
whole package; a text that is nowhere, or not unique, is an error and ends the run with exit code 2. Each fault names
the test that notices it (`by`): that test alone is run, and must fail; all of them pass first without any fault.
`--search` runs the suite of a fault instead, up to the first failure. Prints the table of survivors; exit code 1 where
there is one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("mutants.toml")
LIMIT_SECONDS = 400


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    old: str
    new: str
    says: str
    by: tuple[str, ...]
    suite: tuple[str, ...]


class Lost(Exception):
    """A text of the table that the package does not have, or has more than once."""


def mutants() -> list[Mutant]:
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    suites = {name: tuple(tests) for name, tests in table["suite"].items()}
    out = []
    for one in table["mutant"]:
        by = (one["by"],) if "by" in one else ()
        out.append(Mutant(one["name"], one["file"], one["old"], one["new"], one["says"], by, suites[one["suite"]]))
    names = [one.name for one in out]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Lost(f"two mutants are called {', '.join(twice)}")
    return out


def place_of(mutant: Mutant, package: Path) -> Path:
    """The file that holds the old text, once. Raises Lost."""
    hint = package / mutant.file
    holds = [hint] if hint.is_file() and mutant.old in hint.read_text(encoding="utf-8") else []
    holds = holds or [p for p in sorted(package.rglob("*.py")) if mutant.old in p.read_text(encoding="utf-8")]
    if len(holds) != 1 or holds[0].read_text(encoding="utf-8").count(mutant.old) != 1:
        raise Lost(f"{mutant.name}: {len(holds)} files hold `{mutant.old.strip()}`, or one holds it more than once")
    return holds[0]


def all_places(chosen: list[Mutant]) -> list[Path]:
    """Where each is. Raises Lost with all that are nowhere."""
    places, lost = [], []
    for mutant in chosen:
        try:
            places.append(place_of(mutant, ROOT / "dmaverify"))
        except Lost as error:
            lost.append(str(error))
    if lost:
        raise Lost("\n".join(lost))
    return places


def copied(folder: Path) -> None:
    """The repository as tests need it: tests that read a folder of it find it inside of the project."""
    kept = shutil.ignore_patterns(".*", "_build", "build", "dist")
    for path in ROOT.iterdir():
        if path.name == "dmaverify":
            shutil.copytree(path, folder / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.is_dir() and not kept(str(ROOT), [path.name]):
            shutil.copytree(path, folder / path.name, ignore=kept)
        elif path.is_file() and not path.name.startswith("."):
            shutil.copy2(path, folder / path.name)


def failing(folder: Path, tests: Sequence[str]) -> str:
    """The first of the tests that fails, "" where all pass. Raises Lost where they do not run, TimeoutExpired."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--no-header"]
    environment = {**os.environ, "PYTHONPATH": str(folder), "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / ".hypothesis")}
    done = subprocess.run(
        [*command, *tests], cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS,
        check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if done.returncode != 1:
        raise Lost(f"the tests did not run: {(done.stdout + done.stderr).strip()[-400:]}")
    return (failed or ["FAILED a test"])[0].partition(" - ")[0].partition(" ")[2]


def killed(mutant: Mutant, search: bool) -> tuple[str, float]:
    """The test that failed, "" where all passed; seconds. A suite that does not end has no name of a test."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        folder = Path(name)
        copied(folder)
        path = place_of(mutant, folder / "dmaverify")
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        try:
            by = failing(folder, mutant.suite if search else mutant.by)
        except subprocess.TimeoutExpired:
            by = ""
        except Lost as error:
            raise Lost(f"{mutant.name}: {error}") from None
    return by, time.monotonic() - began


def all_pass(chosen: Sequence[Mutant]) -> None:
    """Every named test, in a copy without any fault. Raises Lost."""
    tests = sorted({test for mutant in chosen for test in mutant.by})
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        copied(Path(name))
        if tests and (failed := failing(Path(name), tests)):
            raise Lost(f"{failed} fails without any fault")


def share(text: str) -> tuple[int, int]:
    """`3/30` as two numbers, the first from 1 to the second."""
    first, _, step = text.partition("/")
    if not (first.isdecimal() and step.isdecimal() and 1 <= int(first) <= int(step)):
        raise argparse.ArgumentTypeError(f"`{text}` is no share; write 3/30 for every thirtieth, from the third on")
    return int(first), int(step)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="parts of names")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at once")
    parser.add_argument("--search", action="store_true", help="run the suites, not the named tests")
    parser.add_argument("--list", action="store_true", help="say where each is, and run nothing")
    parser.add_argument("--share", type=share, default=(1, 1), metavar="K/N", help="every N-th, from the K-th on")
    options = parser.parse_args()
    first, step = options.share
    try:
        chosen = [m for m in mutants() if not options.words or any(word in m.name for word in options.words)]
        chosen = chosen[first - 1 :: step]
        places = all_places(chosen)
        if options.list:
            for mutant, place in zip(chosen, places, strict=True):
                sys.stdout.write(f"{mutant.name}: {place.relative_to(ROOT)}: {mutant.says}\n")
            return 0
        nameless = [] if options.search else [m.name for m in chosen if not m.by]
        if nameless:
            raise Lost(f"no test is named for {', '.join(nameless)}")
        if not options.search:
            all_pass(chosen)
        survivors = []
        with ThreadPoolExecutor(options.jobs) as pool:
            results = pool.map(partial(killed, search=options.search), chosen)
            for mutant, (by, took) in zip(chosen, results, strict=True):
                sys.stdout.write(f"{mutant.name}: {'killed by ' + by if by else 'SURVIVES'} ({took:.0f} s)\n")
                sys.stdout.flush()
                survivors += [] if by else [mutant]
    except Lost as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{len(chosen)} mutants, {len(survivors)} survivors\n")
    for mutant in survivors:
        sys.stdout.write(f"  {mutant.name}: {mutant.says} ({mutant.file})\n")
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main())
