"""Every limit of the proofs set to a small number in turn: a verdict may become open, and nothing else.

    python tests/fuzz/limits.py [WORD...] [--count 12] [--start 0] [--value 1] [--examples]

Files of the generators, and with `--examples` those of the repository, are judged as they are and again with one limit
changed, in a process of its own. Told is an obligation that was proved and is refuted, or the other way round; a file
of which everything is proved and was not; and an entry that ends in an error of the tool. `WORD`: only limits with
that in their names. Exit code 1 where there is one.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import pickle
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab.kernels import kernel_of, mutant_of
from lab.looped_drivers import looped_driver
from lab.rust_tiles import drawn as drawn_tiles
from lab.written import KINDS, seeded

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("prove", "layout", "lower", "machines")
LIMIT = re.compile(r"_?(MOST|MORE|FEW|SMALL|ENUMERATE|HARD|TRIED|REACH|ROUNDS|MAX)(_|$)")
NO_LIMITS = {"MOST_ADDRESS", "MOST_BITS", "MOST_LLEN", "MAX_VALUE", "MOST_CLOCK"}  # numbers that mean something

SUFFIXES = (".toml", ".rs", ".mlir", ".c")

Entry = dict[str, Any]
Limit = tuple[str, str]


def limits() -> dict[Limit, list[Limit]]:
    """Each limit (module, name), and every module that has it under some name."""
    found: list[Limit] = []
    taken: dict[Limit, list[Limit]] = {}
    for path in sorted((ROOT / "dmaverify").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for one in node.names:
                    taken.setdefault((node.module, one.name), []).append((module, one.asname or one.name))
        names = [t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)]
        if module.split(".")[1] in ROOMS:
            found += [(module, n) for n in names if LIMIT.match(n) and n not in NO_LIMITS]
    return {one: [one, *taken.get(one, [])] for one in found}


def said_of(path: Path) -> dict[str, Entry]:
    """What is said of each entry of a file."""
    from dmaverify.errors import InputError, InputErrors
    from dmaverify.jobs.judge import check_job

    try:
        verdicts, _ = check_job((str(path), None, None, {}))
    except (InputError, InputErrors):
        return {}
    except Exception as error:
        return {"": {"error of the tool": f"{type(error).__name__}: {error}"}}
    return {
        f"{n} {v.name}": {"": v.status.value} | {o.id: o.status for o in v.obligations} for n, v in enumerate(verdicts)
    }


def apart(work: Callable[[], Any]) -> Any:
    """The result of work in a process of its own: nothing that it keeps is known to the next."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(write, "wb") as out:
            pickle.dump(work(), out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as back:
        data = back.read()
    os.waitpid(child, 0)
    return pickle.loads(data)


def judged(places: Sequence[Limit], value: int, files: Sequence[Path]) -> list[dict[str, Entry]]:
    """What is said of files with a limit changed wherever it is known."""
    for module, name in places:
        if type(getattr(importlib.import_module(module), name, None)) is int:
            setattr(importlib.import_module(module), name, value)
    return [said_of(path) for path in files]


def differences(before: dict[str, Entry], after: dict[str, Entry]) -> Iterator[str]:
    for name in before.keys() & after.keys():
        was, now = before[name], after[name]
        flipped = [o for o in was.keys() & now.keys() if o and {was[o], now[o]} == {"proved", "refuted"}]
        yield from (f"{name}: {o} was {was[o]} and is {now[o]}" for o in flipped)
    passed = [all(entry.get("") == "proved" for entry in entries.values()) for entries in (before, after)]
    if passed == [False, True]:  # what stays open may be told at another entry
        yield "everything is proved, and was not"
    yield from (entry["error of the tool"] for entry in after.values() if "error of the tool" in entry)


def drawn(folder: Path, count: int, start: int) -> Iterator[Path]:
    for number in range(start, start + count):
        kind, rng = list(KINDS)[number % len(KINDS)], random.Random(number)
        kernel = kernel_of(rng)
        texts = {"toml": seeded(f"{kind}-{number}", kind).text, "pto": kernel.text()}
        texts |= {
            "broken.pto": mutant_of(rng, kernel).text(),
            "c": looped_driver(rng).text,
            "rs": drawn_tiles(number).text,
        }
        for suffix, text in texts.items():
            path = folder / f"{number}.{suffix}"
            path.write_text(text, encoding="utf-8")
            yield path


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("words", nargs="*")
    options.add_argument("--count", type=int, default=12)
    options.add_argument("--start", type=int, default=0)
    options.add_argument("--value", type=int, default=1)
    options.add_argument("--examples", action="store_true")
    given = options.parse_args()
    chosen = {
        one: places
        for one, places in limits().items()
        if not given.words or any(w in ".".join(one) for w in given.words)
    }
    wrong, changed = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        files = [*drawn(Path(folder), given.count, given.start)]
        if given.examples:
            files += [p for p in sorted((ROOT / "examples").rglob("*")) if p.suffix in SUFFIXES]
        for module, _ in chosen:
            importlib.import_module(module)
        before = apart(lambda: judged((), 0, files))
        for one, places in chosen.items():
            after = apart(lambda places=places: judged(places, given.value, files))
            for path, was, now in zip(files, before, after, strict=True):
                changed += was != now
                for line in differences(was, now):
                    wrong += 1
                    print(f"{'.'.join(one)} = {given.value}: {path.name}: {line}")
                    sys.stdout.flush()
    print(f"{len(chosen)} limits, {len(files)} files, {changed} with other answers, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
