"""`make fuzz-inputs`: mutated inputs of every kind; none may end in a traceback, in an error of our own, or take much.

    python tests/fuzz/inputs.py --seconds 600          until then, kind after kind
    python tests/fuzz/inputs.py --count 20000 --seed 3
    python tests/fuzz/inputs.py --count 20000 --seed sweep1    one number in the place of another, all places in turn
    python tests/fuzz/inputs.py --only plan-3-1234     one input again, with its text
    python tests/fuzz/inputs.py --replay               what is kept in tests/fuzz/corpus
    python tests/fuzz/inputs.py --batch 1000           50 hostile plans among 1,000: the other 950 have their verdicts

With atheris installed, `--engine atheris --kinds plan` lets coverage choose what is mutated further. A failure is made
smaller and written to tests/fuzz/corpus, where the tests find it. Exit code 1 after any failure.
"""

import argparse
import contextlib
import faulthandler
import inspect
import io
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

from dmaverify.cli.app import invoke
from dmaverify.jobs.judge import check_job
from dmaverify.jobs.sealed import write_certificate
from dmaverify.prove.limits import used_bytes
from dmaverify.verdict import OURS

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(__file__).parent / "corpus"
MOST_SECONDS = 10.0
MOST_BYTES = 1 << 30
NUMBERS = (
    "0", "1", "-1", "2", "3", "7", "8", "255", "256", "257", "4095", "4097", "65536", "65537", "16777216", "2147483647",
    "2147483648", "4294967296", "274877906944", "1125899906842624", "1152921504606846976", "4611686018427387904",
    "9223372036854775807", "9223372036854775808", "18446744073709551616", "1000000000000000000000000000000", "1e9",
    "0x10", "1.5", "007", "1_0", "9" * 5000, "true", "-1",
)  # fmt: skip
WORDS = (
    "", "A", "Z", "'", '"', "#", "%", "/", "=", "@", "$(A:2, B:3)", "A # 16", "A / 0", "A % 0", "[", "]", "[[", "{",
    "}", "(", ")", ",", ":", "::", "\n", "\t", "\\", "\u202e", "\x1b[31m", "\x00", "é", "A" * 300, "../../etc/passwd",
    "hbm", "dm", "spm", "host", "gm", "ub", "mem", "HBM/D@0", "DM/D@(1, 3, 0)", "slice_stride", "DMN_stride", "true",
    "nan", "inf", "[" * 100, "2^60", "10^30", "(1 * 2^62)", "element", "slice", "chip", "cluster",
)  # fmt: skip
TOKEN = re.compile(r"[A-Za-z_][\w.-]*|\d+|\s+|[^\w\s]")


def mutated(text: str, others: list[str], rng: random.Random) -> str:
    """The text after one to four changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        text = rng.choice(CHANGES)(text, others, rng)
    return text[:200_000]


def _number(text: str, others: list[str], rng: random.Random) -> str:
    found = list(re.finditer(r"\d+", text))
    if not found:
        return text
    at = rng.choice(found)
    near = str(max(0, int(at[0][:18]) + rng.choice((-1, 1, 2, 7))))
    return text[: at.start()] + rng.choice((*NUMBERS, near, at[0] * 2)) + text[at.end() :]


def _token(text: str, others: list[str], rng: random.Random) -> str:
    found = list(TOKEN.finditer(text))
    if not found:
        return rng.choice(WORDS)
    at, other = rng.choice(found), rng.choice(found)
    kind = rng.randrange(4)
    new = (other[0], "", at[0] * 2, rng.choice(WORDS))[kind]
    return text[: at.start()] + new + text[at.end() :]


def _line(text: str, others: list[str], rng: random.Random) -> str:
    lines = text.split("\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(other, lines[at])
    elif kind == 2:
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines[at] = rng.choice(rng.choice(others).split("\n"))
    return "\n".join(lines)


def _bytes(text: str, others: list[str], rng: random.Random) -> str:
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(rng.randrange(1, 4)):
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data).decode("utf-8", "surrogateescape")


def _cut(text: str, others: list[str], rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] if rng.random() < 0.5 else text[:at] + rng.choice(others)[-rng.randrange(1, 400) :]


def _many(text: str, others: list[str], rng: random.Random) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    times = rng.choice((2, 3) if text.startswith("{") else (10, 100, 1000))
    return "\n".join([*lines[:at], *[lines[at]] * times, *lines[at:]])


CHANGES: tuple[Callable[[str, list[str], random.Random], str], ...] = (
    _number, _number, _number, _token, _token, _token, _token, _line, _line, _bytes, _cut, _many,
)  # fmt: skip


# ---------------------------------------------------------------- kinds


def _texts(patterns: Iterable[str], most: int = 40_000) -> list[str]:
    found = [path for pattern in patterns for path in sorted(ROOT.glob(pattern)) if path.stat().st_size < most]
    return [path.read_text(encoding="utf-8") for path in found]


def _file(suffix: str) -> Callable[[str, Path], list[str]]:
    """Judges a file as `check` does; what is wrong with the answer."""

    def run(text: str, folder: Path) -> list[str]:
        path = folder / f"input{suffix}"
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        verdicts, _ = check_job((str(path), None, None, {"cross_check": 1 << 16}))
        return [f"{f.rule}: {f.message}" for v in verdicts for f in v.findings if f.rule in OURS]

    return run


def _called(*words: str, name: str = "", rest: dict[str, str] | None = None) -> Callable[[str, Path], list[str]]:
    """Runs a command with the text in a file of that name, or as its standard input."""

    def run(text: str, folder: Path) -> list[str]:
        data = text.encode("utf-8", "surrogateescape")
        for other, content in (rest or {}).items():
            (folder / other).parent.mkdir(parents=True, exist_ok=True)
            (folder / other).write_text(content, encoding="utf-8")
        if name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        out, err, stdin = io.StringIO(), io.StringIO(), sys.stdin
        here = Path.cwd()
        os.chdir(folder)
        try:
            sys.stdout, sys.stderr = out, err
            sys.stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="surrogateescape")
            code = invoke(words)
        finally:
            sys.stdout, sys.stderr, sys.stdin = sys.__stdout__, sys.__stderr__, stdin
            os.chdir(here)
        told = out.getvalue() + err.getvalue()
        return [f"exit {code}: {told[-300:]}"] if code == 4 or "Traceback" in told else []

    return run


PLAN = (ROOT / "examples/first.toml").read_text(encoding="utf-8")
TOY = (
    'schema = 1\ntarget = "machine"\n'
    + "\n".join(
        line
        for line in (ROOT / "examples/toy.toml").read_text(encoding="utf-8").splitlines()
        if "=" in line or "[" in line
    ).split("\n", 2)[2]
)
SETTINGS = """target = "rngd"
select = ["core/*"]
ignore = ["rngd/packet-max"]
per-path-ignore = { "old/*" = ["rngd/packet-max"] }
reading = { alignment = "std" }
paths = ["."]
exclude = ["generated/*"]
format = "concise"
output = ["sarif=out/x.sarif"]
jobs = 1
rlimit = 1000000
timeout = "5s"
memory = "1GiB"
execute = true
cache = false
"""


WRONG = """schema = 1
target = "toy"
axes = { A = 8, B = 4, C = 32 }
[transfer.swap]
dtype = "i8"
source = { tier = "gm", element = "B, A, C" }
dest = { tier = "ub", element = "A, B, C" }
read = "[A=8:32, B=4:256, C=32:1]:32"
write = "[A=8:64, B=4:32, C=32:1]:32"
"""


def _cached(text: str, folder: Path) -> list[str]:
    """A broken plan beside a cache in the checkout, of that content: it must stay broken."""
    (folder / "plan.toml").write_text(WRONG, encoding="utf-8")
    (folder / "dmaverify.toml").write_text('cache-dir = "kept"\n', encoding="utf-8")
    (folder / "kept").mkdir()
    (folder / "kept/proofs.sqlite").write_bytes(text.encode("utf-8", "surrogateescape"))
    before = os.environ.pop("DMAVERIFY_NO_CACHE", None), os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(folder / "user")
    try:
        out = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = invoke(("check", "plan.toml"))
    finally:
        for name, value in zip(("DMAVERIFY_NO_CACHE", "XDG_CACHE_HOME"), before, strict=True):
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
    return [] if code == 1 and "Traceback" not in out.getvalue() else [f"exit {code}: {out.getvalue()[-300:]}"]


def _cache_text() -> str:
    """A cache with one entry that nobody signed, as text."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "proofs.sqlite"
        with contextlib.closing(sqlite3.connect(file)) as database, database:
            database.execute("pragma page_size = 512")
            database.execute("create table proof (key text primary key, digest text, body blob, used int)")
            database.execute("insert into proof values ('a', 'b', x'789c', 1)")
        return file.read_bytes().decode("utf-8", "surrogateescape")


def _certificate() -> dict[str, str]:
    """The files of a certificate of a plan, by path."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "plan.toml").write_text((ROOT / "examples/first.toml").read_text(encoding="utf-8"), encoding="utf-8")
        write_certificate(folder / "c", [(str(folder / "plan.toml"), None, None, {"prove": "full"})])
        files = [file for file in sorted((folder / "c").rglob("*")) if file.is_file()]
        return {file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8") for file in files}


def _sealed(files: dict[str, str]) -> Callable[[str, Path], list[str]]:
    """Checks a certificate in which one file, named in the first line, has that content."""

    def run(text: str, folder: Path) -> list[str]:
        name, _, content = text.partition("\n")
        name = name if name in files else "c/MANIFEST.json"
        rest = {other: said for other, said in files.items() if other != name}
        return _called("certificate", "check", "c", "--no-cvc5", name=name, rest=rest)(content, folder)

    return run


TRACED = """schema = 1
target = "idma"
axes = { A = 64 }
[transfer.t]
dtype = "i8"
source = { tier = "mem", base = 4096, element = "A" }
dest = { tier = "mem", base = 8192, element = "A" }
read = "[A=64:1]:64 @4096"
write = "[A=64:1]:64 @8192"
"""
BEATS = """time,channel,addr,len,size,burst,strb,last,data,resp
10,AR,0x1000,15,2,1,,,,
12,AW,0x2000,15,2,1,,,,
14,R,,,,,,0,0x11,0
16,W,,,,,0xf,1,0x11,
22,B,,,,,,,,0
"""
JOB = "64\n0x1000\n0x2000\n0\n0\n256\n256\n0\n0\n0\n"
ENGINES = """{"mine": {"proc_id": "rw_axi", "params": {"DataWidth": 64, "AddrWidth": 40, "TFLenWidth": 24},
 "jobs": {"a": "a.txt"}}}"""


def _beside(kind: str, text: str, name: str, *, suffix: str) -> Callable[[str, Path], list[str]]:
    """Checks a plan or job beside which a file of that name lies."""
    word = f"--{kind}", name + ("::mine" if suffix == ".txt" else "")
    return _called("check", f"a{suffix}", "--no-cache", *word, name=name, rest={f"a{suffix}": text})


def _lines_of(kind: str, texts: list[str]) -> list[str]:
    return [json.dumps({kind: text}) for text in texts if len(text) < 6000]


def kinds() -> dict[str, tuple[Callable[[str, Path], list[str]], list[str]]]:
    """By name: how an input is tried, and the texts to begin with."""
    plans = _texts(["examples/**/*.toml", "tests/pto/**/*.toml", "tests/fuzz/corpus/plan-*"])
    plans = [text for text in plans if "schema" in text]
    mlir = _texts(["examples/pto/*.mlir", "tests/pto/**/*.mlir", "tests/fuzz/corpus/mlir-*"])
    rust = _texts(["examples/rust/*.rs", "examples/start/*.rs", "tests/fuzz/corpus/rust-*"])
    cells = [json.dumps({"axes": {"A": 8, "B": 6}, "expr": e}) for e in ("A / 2, B % 3", "A # 16 = 9", "$(A:2, B:3)")]
    tables = ["\n".join(text.split("\n")[:6]) for text in _texts(["tests/data/idma_rtl_bursts_sample.csv"], most=10**8)]
    jobs = [
        "8 0x1000 0x2000 0 0 256 256 0 0 0 0\n",
        "form = \"desc64\"\n0x0000000000000010\n0xffffffffffffffff\n0x0\n0x0\n",
    ]  # fmt: skip
    sealed = _certificate()
    return {
        "cache": (_cached, [_cache_text()]),
        "certificate": (_sealed(sealed), [f"{name}\n{text}" for name, text in sealed.items() if len(text) < 40_000]),
        "plan": (_file(".toml"), plans),
        "mlir": (_file(".mlir"), mlir),
        "rust": (_file(".rs"), rust),
        "list": (_file(".csv"), tables),
        "job": (_file(".job"), jobs),
        "lines": (_called("check", "--stdin"), [*_lines_of("plan", plans[:20]), *_lines_of("kernel", mlir[:10])]),
        "cells": (_called("cells", "--stdin"), cells),
        "settings": (
            _called("check", "--no-cache", name="dmaverify.toml", rest={"plan.toml": PLAN}), [SETTINGS]
        ),
        "target": (
            _called("check", "--no-cache", "plan.toml", name="machine/target.toml", rest={
                "plan.toml": TOY,
                "machine/rules.smt2": (ROOT / "encodings/toy/rules.smt2").read_text(encoding="utf-8"),
            }),
            [(ROOT / "encodings/toy/target.toml").read_text(encoding="utf-8")],
        ),
        "baseline": (
            _called("check", "--no-cache", "--baseline", "b.json", ".", name="b.json", rest={"plan.toml": PLAN}),
            ['{"dmaverify": 1, "findings": [{"fingerprint": "a", "rule": "core/covers", "count": 1}]}'],
        ),
        "shard": (
            _called("merge", "part.jsonl", name="part.jsonl"),
            ['{"sweep": 1, "id": "a", "shard": [1, 1], "jobs": 0}\n{"end": 0}'],
        ),
        "driver": (_file(".c"), _texts(["tests/fuzz/corpus/driver-*"])),
        "dump": (_beside("trace", TRACED, "t.vcd", suffix=".toml"), _texts(["tests/data/idma_copy_fault0.vcd"])),
        "beats": (_beside("trace", TRACED, "t.csv", suffix=".toml"), [BEATS]),
        "engine": (_beside("engine", JOB, "jobs.json", suffix=".txt"), [ENGINES]),
        "rules": (
            _called("check", "--no-cache", "plan.toml", name="machine/rules.smt2", rest={
                "plan.toml": TOY,
                "machine/target.toml": (ROOT / "encodings/toy/target.toml").read_text(encoding="utf-8"),
            }),
            [(ROOT / "encodings/toy/rules.smt2").read_text(encoding="utf-8")],
        ),
        "emit": (_called("emit", "plan.toml", name="plan.toml"), plans),
        "emitted": (_called("emit", "k.mlir", name="k.mlir"), mlir),
        "extract": (_called("extract", "k.rs", name="k.rs"), rust),
        "extracted": (_called("extract", "k.mlir", name="k.mlir"), mlir),
        "traced": (_called("trace", "k.mlir", "--output", "o.json", name="k.mlir"), mlir),
        "priced": (_called("cost", "k.mlir", name="k.mlir"), mlir),
        "bursts": (_called("bursts", "--stdin"), ['{"src": 4096, "dst": "0x2000", "length": 100, "data_width": 64}']),
        "cost": (_called("cost", "plan.toml", name="plan.toml"), plans[:25]),
        "derive": (_called("derive", "plan.toml", name="plan.toml"), plans[:25]),
        "run": (_called("run", "plan.toml", "--limit", "100000", name="plan.toml"), plans[:25]),
    }  # fmt: skip


# ---------------------------------------------------------------- running


def tried(run: Callable[[str, Path], list[str]], text: str) -> list[str]:
    """What is wrong with one input."""
    folder = Path(tempfile.mkdtemp(prefix="dmaverify-fuzz-"))
    before, started = used_bytes(), time.process_time()
    faulthandler.dump_traceback_later(60 * MOST_SECONDS, exit=True)  # of the wall: other work may hold the core
    try:
        wrong = run(text, folder)
    except Exception as error:
        import traceback

        frame = traceback.extract_tb(error.__traceback__)[-1]
        wrong = [f"{type(error).__name__}: {error} at {Path(frame.filename).name}:{frame.lineno}"]
    finally:
        faulthandler.cancel_dump_traceback_later()
        shutil.rmtree(folder, ignore_errors=True)
    seconds, grown = time.process_time() - started, used_bytes() - before  # of a core: other work does not count
    if seconds > MOST_SECONDS:
        wrong = [*wrong, f"took {seconds:.1f} s"]
    if grown > MOST_BYTES:
        wrong = [*wrong, f"took {grown >> 20} MiB"]
    return wrong


def reduced(run: Callable[[str, Path], list[str]], text: str, wrong: str, seconds: float = 30.0) -> str:
    """The text without the lines that the same failure does not need."""
    key, until = re.sub(r"\d+(\.\d+)?", "", wrong)[:60], time.monotonic() + seconds
    size = max(1, len(text.split("\n")) // 2)
    while size and time.monotonic() < until:
        lines, at, smaller = text.split("\n"), 0, False
        while at < len(lines) and time.monotonic() < until:
            rest = lines[:at] + lines[at + size :]
            if rest and any(re.sub(r"\d+(\.\d+)?", "", w)[:60] == key for w in tried(run, "\n".join(rest))):
                lines, smaller = rest, True
            else:
                at += size
        text = "\n".join(lines)
        size = size if smaller and size > 1 else size // 2
    return text


def one(kind: str, seed: str, number: int, table: dict[str, tuple[Callable[[str, Path], list[str]], list[str]]]) -> str:
    rng = random.Random(f"{kind}-{seed}-{number}")
    texts = table[kind][1]
    if not seed.startswith("sweep"):
        return mutated(rng.choice(texts), texts, rng)
    places = _numbers_of(tuple(texts), seed)
    if not places:
        return texts[0]
    text, start, end = places[number // len(table) % len(places)]
    return text[:start] + rng.choice(NUMBERS) + text[end:]


@lru_cache(maxsize=64)
def _numbers_of(texts: tuple[str, ...], seed: str) -> list[tuple[str, int, int]]:
    """Every number of some texts, in an order of the seed."""
    places = [(text, found.start(), found.end()) for text in texts for found in re.finditer(r"\d+", text)]
    random.Random(seed).shuffle(places)
    return places


def replayed(table: dict[str, tuple[Callable[[str, Path], list[str]], list[str]]]) -> dict[str, list[str]]:
    """What is wrong with the inputs of the corpus, by name."""
    found = {}
    for path in sorted(CORPUS.iterdir()):
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        if wrong := tried(table[path.name.split("-")[0]][0], text):
            found[path.name] = wrong
    return found


def with_atheris(run: Callable[[str, Path], list[str]], texts: list[str], seconds: float) -> None:
    """Coverage-guided: atheris chooses, `mutated` changes. Ends the process with its findings."""
    import atheris

    folder = Path(tempfile.mkdtemp(prefix="dmaverify-corpus-"))
    for index, text in enumerate(texts):
        (folder / str(index)).write_bytes(text.encode("utf-8", "surrogateescape"))

    def change(data: bytes, most: int, seed: int) -> bytes:
        text = mutated(data.decode("utf-8", "surrogateescape"), texts, random.Random(seed))
        return text.encode("utf-8", "surrogateescape")[:most]

    def target(data: bytes) -> None:
        if wrong := tried(run, data.decode("utf-8", "surrogateescape")):
            raise RuntimeError("; ".join(wrong))

    for text in texts[:20]:
        tried(run, text)  # loads what this kind of input needs
    rooms = [vars(room) for name, room in sys.modules.items() if name.startswith("dmaverify.")]
    kept = [value for room in rooms for value in room.values()]
    kept += [value for kind in kept if inspect.isclass(kind) for value in vars(kind).values()]
    for own in {value for value in kept if inspect.isfunction(value)}:
        if own.__module__.startswith("dmaverify."):
            atheris.instrument_func(own)
    words = [sys.argv[0], f"-max_total_time={int(seconds)}", "-timeout=30", "-max_len=50000", str(folder)]
    atheris.Setup(words, target, custom_mutator=change)
    atheris.Fuzz()


def batch(count: int, seed: str, table: dict[str, tuple[Callable[[str, Path], list[str]], list[str]]]) -> list[str]:
    """`count` plans, one in twenty hostile, in one run of two processes: what is wrong with the other verdicts."""
    hostile = {number for number in range(count) if number % 20 == 7}
    corpus = [path.read_bytes() for path in sorted(CORPUS.glob("plan-*"))]
    with tempfile.TemporaryDirectory(prefix="dmaverify-batch-") as name:
        folder = Path(name)
        right = {}
        for number in range(count):
            file = folder / f"p{number}.toml"
            if number in hostile:
                own = one("plan", seed, number, table).encode("utf-8", "surrogateescape")
                file.write_bytes(b"schema = 1\n" + (corpus[number // 20 % len(corpus)] if number % 40 == 7 else own))
                continue
            text = PLAN.replace("C = 256", f"C = {64 * (1 + number % 4)}").split("read   =")[0]
            broken = number % 3 == 0
            file.write_text(text.replace('packet = "C"', 'packet = "C % 32"') if broken else text, encoding="utf-8")
            right[file.name] = "refuted" if broken else "proved"
        words = [sys.executable, "-m", "dmaverify", "check", ".", "-j", "2", "--json", "--no-cache"]
        began = time.monotonic()
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        told = {Path(v["path"]).name: v["status"] for v in json.loads(done.stdout)}
        print(f"{count} plans, {len(hostile)} hostile: {time.monotonic() - began:.1f} s, exit {done.returncode}")
        return [f"{file}: {told.get(file)}, not {want}" for file, want in right.items() if told.get(file) != want]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--count", type=int, default=0, help="inputs in all, instead of a time")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--kinds", default="", help="only these, separated by commas")
    parser.add_argument("--only", help="KIND-SEED-NUMBER")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("--batch", type=int, default=0, metavar="PLANS", help="so many in one run, 1 in 20 hostile")
    parser.add_argument("--keep", action="store_true", help="write failures to the corpus")
    parser.add_argument("--engine", choices=("random", "atheris"), default="random")
    given = parser.parse_args()
    table = kinds()
    chosen = [kind for kind in given.kinds.split(",") if kind] or list(table)
    if given.only:
        kind, seed, number = given.only.rsplit("-", 2)
        text = one(kind, seed, int(number), table)
        print(text)
        print(tried(table[kind][0], text))
        return 0
    if given.batch:
        wrong = batch(given.batch, given.seed, table)
        print("\n".join(wrong) or "every other verdict is right")
        return 1 if wrong else 0
    if given.engine == "atheris":
        with_atheris(*table[chosen[0]], given.seconds)
    if given.replay:
        failures = replayed(table)
        print(json.dumps(failures, indent=1))
        return 1 if failures else 0
    until, number = time.monotonic() + given.seconds, 0
    seen: Counter[str] = Counter()
    count: Counter[str] = Counter()
    slowest: dict[str, float] = dict.fromkeys(chosen, 0.0)
    while number < given.count if given.count else time.monotonic() < until:
        kind = chosen[number % len(chosen)]
        text = one(kind, given.seed, number, table)
        started = time.process_time()
        wrong = tried(table[kind][0], text)
        slowest[kind] = max(slowest[kind], time.process_time() - started)
        count[kind] += 1
        if wrong and given.verbose:
            print(f"{kind}-{given.seed}-{number}: {wrong}", flush=True)
        for said in wrong:
            key = f"{kind} {re.sub(r'[0-9]+', '', said)[:120]}"
            seen[key] += 1
            if seen[key] == 1:
                print(f"{kind}-{given.seed}-{number}: {said[:400]}", flush=True)
                if given.keep:
                    CORPUS.mkdir(exist_ok=True)
                    small = reduced(table[kind][0], text, said)
                    path = CORPUS / f"{kind}-{given.seed}-{number}"
                    path.write_bytes(small.encode("utf-8", "surrogateescape"))
        number += 1
    print(f"{sum(count.values())} inputs: {dict(count)}; slowest { ({k: round(v, 1) for k, v in slowest.items()}) }")
    for key, times in seen.most_common():
        print(f"{times:5} {key}")
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
