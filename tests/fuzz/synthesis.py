"""What `synth` says, on drawn moves of every machine and on all examples: `python tests/fuzz/synthesis.py --moves 400`.

Every plan that leaves, by the API and by `--json`, is read again and proved under the same readings; equal moves get
equal answers; an answer keeps a limit of processor time; no plan that is written here beats a claim of OPTIMAL.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import permutations
from math import prod
from pathlib import Path

from dmaverify import api
from dmaverify.cli import app
from dmaverify.cost.simulate import simulate
from dmaverify.errors import InputError, InputErrors

ROOT = Path(__file__).resolve().parents[2]
SHIM = ROOT / "examples" / "machines" / "shim"
MACHINES = ("rngd", "rngd", "rngd", "pto", "idma", "shim")
KINDS = ("copy", "into", "out", "up", "down")
WIDTH = {"i8": 1, "bf16": 2, "f16": 2, "i32": 4, "f32": 4}
HAIR = 1e-5  # answers are compared to five digits


@dataclass(frozen=True)
class Drawn:
    """A move as numbers: factors, their order on both sides (outermost first), what a row is padded to."""

    machine: str
    kind: str
    dtype: str
    sizes: tuple[int, ...]
    source: tuple[int, ...]
    dest: tuple[int, ...]
    pad: int = 0
    settings: dict[str, object] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return prod(self.sizes) * WIDTH[self.dtype]


def drawn(rng: random.Random) -> Drawn:
    machine = rng.choice(MACHINES)
    kind = rng.choice(KINDS[:3]) if machine == "rngd" else rng.choice(KINDS[3:]) if machine == "pto" else "copy"
    dtype = {"rngd": ("i8", "bf16", "i32"), "pto": ("f16", "f32", "i8"), "idma": ("i8",), "shim": ("i32",)}[machine]
    few, row = (2, 3, 4, 5, 8, 16), (16, 32, 64, 96, 128, 256, 384)
    sizes = (*(rng.choice(few) for _ in range(rng.randint(1, 4))), rng.choice(row))
    source, dest = (rng.sample(range(len(sizes)), len(sizes)) for _ in range(2))
    last = len(sizes) - 1
    if rng.random() < 0.8:  # rows stay rows
        source, dest = ([*(i for i in side if i != last), last] for side in (source, dest))
    settings: dict[str, object] = {}
    if machine == "rngd":
        settings = {"profile": rng.choice(("book", "schedule")), "simulate": rng.random() < 0.25}
        settings["routes"] = rng.random() < 0.25
    pad = sizes[last] + rng.choice((32, 64)) if dest[-1] == last and rng.random() < 0.2 else 0
    return Drawn(machine, kind, rng.choice(dtype), sizes, tuple(source), tuple(dest), pad, settings)


def written(move: Drawn, rng: random.Random | None = None) -> str:
    """The plan file of a move; with a generator, spelled in another way: axes joined, renamed, in another order, with
    sizes of 1.
    """
    count = len(move.sizes)
    groups, names = [[i] for i in range(count)], [chr(65 + i) for i in range(count)]
    if rng is not None:
        mixed, cut = rng.sample(range(count), count), rng.randint(0, count)
        groups = [group for group in (mixed[:cut], mixed[cut:]) if group]
        names = rng.sample(["X", "Row", "N1", "K", "Q", "W"], len(groups))
    axes, texts = {}, {}
    for name, group in zip(names, groups, strict=True):
        below = axes[name] = prod(move.sizes[i] for i in group)
        for index in group:
            below //= move.sizes[index]
            high = f" / {below}" if below > 1 else ""
            low = f" % {move.sizes[index]}" if below * move.sizes[index] < axes[name] else ""
            texts[index] = f"{name}{high}{low}"
    source, dest = [texts[i] for i in move.source], [texts[i] for i in move.dest]
    if move.pad:
        inner = texts[move.dest[-1]]
        dest[-1] = f"({inner}) # {move.pad}" if "/" in inner or "%" in inner else f"{inner} # {move.pad}"
    if rng is not None:
        axes["One"] = 1
        source.insert(rng.randint(0, count - 1), "One")
        axes = dict(rng.sample(list(axes.items()), len(axes)))
    sides = [_side(move, move.kind, source, False), _side(move, move.kind, dest, True)]
    lines = ["schema = 1", f'target = "{SHIM if move.machine == "shim" else move.machine}"', "[axes]"]
    lines += [f"{name} = {size}" for name, size in axes.items()]
    body = [f'dtype = "{move.dtype}"', f"source = {{ {sides[0]} }}", f"dest = {{ {sides[1]} }}"]
    body = body if rng is None else rng.sample(body, 3)
    return "\n".join([*lines, "[transfer.move]", *body]) + "\n"


def _side(move: Drawn, kind: str, parts: list[str], there: bool) -> str:
    element = ", ".join(parts)
    if move.machine == "shim":
        return f'tier = "{"array" if there else "ddr"}", element = "{element}"'
    if move.machine == "pto":
        return f'tier = "{"ub" if there == (kind == "up") else "gm"}", element = "{element}"'
    if move.machine == "idma":
        return f'tier = "mem", base = {0x10000000 if there else 0x1C000000}, element = "{element}"'
    if kind == "copy" or there == (kind == "out"):
        far = 1 << max(20, (4 * move.bytes).bit_length())
        return f'tier = "hbm", base = {far if there else 0}, element = "{element}"'
    if len(move.sizes) > 2:  # the outermost factor over slices
        inside = ", ".join(parts[1:]) if parts[0] != "One" else ", ".join(parts[2:])
        return f'tier = "dm", slice = "{parts[0] if parts[0] != "One" else parts[1]}", element = "{inside}"'
    return f'tier = "dm", element = "{element}"'


# ---------------------------------------------------------------- answers


@dataclass(frozen=True)
class Answer:
    """What a door said: the words that equal moves share, the plan, seconds of processor time."""

    words: tuple[object, ...]
    plan: str | None
    seconds: float
    wrong: str = ""


def by_api(text: str, settings: dict[str, object]) -> Answer:
    began = time.process_time()
    try:
        found = api.synthesize(text, **settings)
    except (InputError, InputErrors):
        return Answer(("input",), None, time.process_time() - began)
    words = (found.found, round(found.cycles, 5) if found.found else None, found.optimal, tuple(found.restricted))
    return Answer(words, found.plan if found.found else None, time.process_time() - began)


def by_json(text: str, settings: dict[str, object]) -> Answer:
    with tempfile.TemporaryDirectory() as folder:
        if str(SHIM) in text:  # a file may name targets below its own folder only
            shutil.copytree(SHIM, Path(folder) / "shim")
        (Path(folder) / "plan.toml").write_text(text.replace(str(SHIM), "./shim"))
        arguments = ["synth", str(Path(folder) / "plan.toml"), "--json"]
        if "profile" in settings:
            arguments += ["--profile", str(settings["profile"])]
        arguments += [f"--{'' if settings[n] else 'no-'}{n}" for n in ("simulate", "routes") if n in settings]
        began, out, told = time.process_time(), io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
            code = app.invoke(arguments)
        seconds = time.process_time() - began
    if code == 2:
        return Answer(("input",), None, seconds)
    if code not in (0, 1):
        return Answer(("exit", code), None, seconds, f"exit {code}: {told.getvalue()[-400:]}")
    (data,) = json.loads(out.getvalue())
    plan = re.sub(r'target = ".*shim"', f'target = "{SHIM}"', data.get("plan") or "") or None
    cycles = round(data["cycles"], 5) if plan and data.get("cycles") is not None else None
    return Answer((plan is not None, cycles, data.get("optimal"), tuple(data.get("restricted", ()))), plan, seconds)


def proved(plan: str) -> bool:
    return all(v.status.value == "proved" for v in api.check(plan))


def judged(move: Drawn, seed: int, limit: float, brute: bool) -> tuple[Counter[str], list[str], float, str]:
    """One move by both doors, in two spellings; counts, what is wrong, the slowest answer."""
    told, wrong = Counter({"moves": 1, f"moves {move.machine}": 1}), []
    texts, answers = (written(move), written(move, random.Random(seed))), []
    for door, text in zip((by_api, by_json), texts, strict=True):
        try:
            answer = door(text, move.settings)
        except Exception:
            wrong.append(f"crash: {traceback.format_exc()[-600:]}\n{text}")
            continue
        answers.append(answer)
        told[str(answer.words[0]) if answer.words[0] in ("input", "exit") else "answers"] += 1
        if answer.wrong:
            wrong.append(f"{answer.wrong}\n{text}")
        if answer.plan is not None:
            told["plans"] += 1
            if not proved(answer.plan):
                wrong.append(f"not proved: {door.__name__} {move.settings}\n{text}\n{answer.plan}")
        if answer.seconds > limit:
            wrong.append(f"slow: {answer.seconds:.1f} s {move.settings}\n{text}")
    told["pairs"] += len(answers) == 2
    if len(answers) == 2 and answers[0].words != answers[1].words:
        wrong.append(f"unequal: {answers[0].words} {answers[1].words} {move.settings}\n{texts[0]}\n{texts[1]}")
    if brute and answers and answers[0].plan and answers[0].words[2] and move.machine == "rngd":
        told["claims of OPTIMAL"] += 1
        claim, space = float(answers[0].words[1]), answers[0].words[3]  # type: ignore[arg-type]
        told["rivals"] += (beaten := rivals(move, claim, own="engines that serve their own cluster" in space))[0]  # type: ignore[operator]
        wrong += [f"beaten: {answers[0].words} by {beaten[1]}\n{beaten[2]}"] if beaten[2] else []
    slow = max((a.seconds for a in answers), default=0.0)
    return told, wrong, slow, f"{move.settings}\n{texts[0]}"


# ---------------------------------------------------------------- brute force


def rivals(move: Drawn, claim: float, most: int = 400, *, own: bool) -> tuple[int, float, str]:
    """How many plans were written and priced; the price and text of one that is proved and cheaper, in the closed form
    and in the simulator. `own`: only of those whose engines serve their own cluster, as the claim says.
    """
    profile, count = str(move.settings["profile"]), 0
    for text in written_plans(move):
        if own and "cluster = 1" in text:
            continue
        count += 1
        price = api.price(text, profile=profile).cycles
        if price < claim - HAIR and proved(text):
            played = simulate(api.program_of(api.load(text), "move"), profile).cycles
            if played < claim - HAIR:
                return count, max(price, played), text
        if count >= most:
            break
    return count, 0.0, ""


def written_plans(move: Drawn) -> Iterator[str]:
    """Every order of loops, packet, and share of one factor or two among engines, of moves of at most four factors."""
    if len(move.sizes) > 4:
        return
    steps = [_steps(move, side, there) for there, side in ((False, move.source), (True, move.dest))]
    width, last = WIDTH[move.dtype], move.source[-1]
    together = move.dest[-1] == last and all(step[last] == width for step in steps)
    run = move.sizes[last] * width if together else width
    rest = [i for i in range(len(move.sizes)) if not (together and i == last)]
    packets = [p for p in range(width, min(run, 4096) + 1, width) if run % p == 0 and p * 8 >= min(run, 2048)]
    head = written(move)
    for packet in packets:
        loops = {i: (move.sizes[i], steps[0][i], steps[1][i]) for i in rest}
        if run > packet:
            loops[last] = (run // packet, packet, packet)
        for shares in _shares(loops):
            for order in permutations(loops):
                yield head + _commands(move, loops, order, shares, packet)


def _steps(move: Drawn, side: tuple[int, ...], there: bool) -> dict[int, int]:
    """Bytes from one value of a factor to the next."""
    out, step = {}, WIDTH[move.dtype]
    for place, index in reversed(list(enumerate(side))):
        out[index] = step
        step *= move.pad if there and move.pad and place == len(side) - 1 else move.sizes[index]
    if len(side) > 2 and (move.kind == "into") == there and move.kind != "copy":
        out[side[0]] = 4 << 20
    return out


def _shares(loops: dict[int, tuple[int, int, int]]) -> Iterator[tuple[tuple[int, int, bool], ...]]:
    """(factor, parts, by turns) of one factor, or of two in blocks; at most 8 parts in all."""
    yield ()
    ways = [(i, parts) for i, (size, _, _) in loops.items() for parts in (2, 3, 4, 5, 8) if size % parts == 0]
    for i, parts in ways:
        yield ((i, parts, False),)
        if loops[i][0] > parts:
            yield ((i, parts, True),)
    for i, parts in ways:
        for j, more in ways:
            if i < j and parts * more <= 8:
                yield ((i, parts, False), (j, more, False))


def _commands(
    move: Drawn,
    loops: dict[int, tuple[int, int, int]],
    order: tuple[int, ...],
    shares: tuple[tuple[int, int, bool], ...],
    packet: int,
) -> str:
    """The commands of a plan, one an engine; clusters in turn."""
    parts: list[tuple[int, int]] = [(0, 0)]
    own = dict(loops)
    for index, many, turns in shares:
        size, read, write = loops[index]
        jump = 1 if turns else size // many
        own[index] = (size // many, read * (many if turns else 1), write * (many if turns else 1))
        parts = [(r + n * jump * read, w + n * jump * write) for r, w in parts for n in range(many)]
    base = 1 << max(20, (4 * move.bytes).bit_length())
    bases = {"copy": (0, base), "into": (0, 0), "out": (0, base)}[move.kind]
    texts = []
    for number, starts in enumerate(parts):
        lines = []
        for side in (0, 1):
            entries = [f"{own[i][0]}:{own[i][1 + side]}" for i in order if own[i][0] > 1] + [f"{packet}:1"]
            dm = move.kind == ("into" if side else "out")
            at = f"(0, 0, 0, {starts[side]})" if dm else f"(0, {bases[side] + starts[side]})"
            lines.append(f'"[{", ".join(entries)}]:{packet} {"DM" if dm else "HBM"}/D@{at}"')
        cluster, dmn = number % 2, number // 2
        if len(parts) <= 4:
            cluster, dmn = 0, number
        engine = f"engine = {{ chip = 0, cluster = {cluster}, dmn = {dmn} }}"
        texts.append(f"[[transfer.move.command]]\n{engine}\nread = {lines[0]}\nwrite = {lines[1]}\n")
    return 'unit = "bytes"\n' + "".join(texts)


# ---------------------------------------------------------------- all of it


def examples(limit: float) -> tuple[Counter[str], list[str], float, str]:
    """Every transfer of every example, by both doors."""
    told, wrong, slow = Counter[str](), [], (0.0, "")
    for path in sorted((ROOT / "examples").rglob("*.toml")):
        try:
            names = [item.name for item in api.load(path).transfers]
        except (InputError, InputErrors):
            continue
        for name in names:
            began, out = time.process_time(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                code = app.invoke(["synth", f"{path}::{name}", "--json"])
            seconds = time.process_time() - began
            told["examples"] += 1
            told[f"examples, exit {code}"] += 1
            if code not in (0, 1, 2):
                wrong.append(f"exit {code}: {path}::{name}")
            if seconds > limit:
                wrong.append(f"slow: {seconds:.1f} s {path}::{name}")
            slow = max(slow, (seconds, f"{path}::{name}"))
            for data in json.loads(out.getvalue()) if code in (0, 1) else []:
                if not data.get("plan"):
                    continue
                told["plans of examples"] += 1
                here = data["plan"].replace('target = "./shim"', f'target = "{SHIM}"')
                if not proved(here):
                    wrong.append(f"not proved: {path}::{name}\n{here}")
    return told, wrong, *slow


def one(job: tuple[int, float, bool]) -> tuple[Counter[str], list[str], float, str]:
    seed, limit, brute = job
    try:
        return judged(drawn(random.Random(seed)), seed, limit, brute) if seed >= 0 else examples(limit)
    except Exception:
        return Counter(), [f"the fuzz itself fell, seed {seed}: {traceback.format_exc()}"], 0.0, ""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="the first of the seeds, one a move")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds of processor time an answer may take")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="draw no more after this")
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("--brute", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--examples", action=argparse.BooleanOptionalAction, default=True)
    asked = parser.parse_args(argv)
    began, told, slowest, faults = time.time(), Counter[str](), (0.0, ""), 0
    seeds = iter([*([-1] if asked.examples else []), *range(asked.seed, asked.seed + asked.moves)])
    run: Callable[[int], tuple[int, float, bool]] = lambda seed: (seed, asked.limit, asked.brute)  # noqa: E731
    with ProcessPoolExecutor(asked.j) as pool:
        waiting = {pool.submit(one, run(seed)): seed for _, seed in zip(range(asked.j), seeds, strict=False)}
        while waiting:
            done = next((f for f in waiting if f.done()), None)
            if done is None:
                time.sleep(0.02)
                continue
            seed = waiting.pop(done)
            counts, wrong, slow, what = done.result()
            told += counts
            slowest = max(slowest, (slow, f"seed {seed}: {what}"))
            faults += len(wrong)
            for text in wrong:
                print(f"seed {seed}: {text}", flush=True)
            following = next(seeds, None) if time.time() - began < asked.seconds else None
            if following is not None:
                waiting[pool.submit(one, run(following))] = following
    print(", ".join(f"{n:,} {what}" for what, n in sorted(told.items())))
    print(f"{faults} wrong, {time.time() - began:.0f} s; slowest answer {slowest[0]:.1f} s, {slowest[1]}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
