"""Speed of programs: `python tests/bench/programs.py`; times are of this process's own processor, so that a busy
machine changes them little. No test asserts a time.

 - *nests*: longest run on a bank of random nests of 2^40 accesses and more, all banks (goal: below 5 ms)
 - *pairs*: random pairs of loop nests over one memory, whether they share a byte (goal: median below 10 ms)
 - *program*: 200 commands of four engines, read and judged whole (goal: below 5 s)
 - *loops*: tiles of a million iterations, judged at once
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable

from dmaverify import api
from dmaverify.program.schedule import Order, Program, Step, order_of
from dmaverify.prove.flow.accesses.touches import StepWork, Touch
from dmaverify.prove.flow.order.hazards import hazards
from dmaverify.prove.flow.starvation.bank_runs import AccessNest, Banks, bank_runs
from dmaverify.prove.meet import Walk


def cpu_ms(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return (time.process_time() - start) * 1e3


def nests(count: int) -> list[float]:
    draw, times = random.Random(1), []
    for _ in range(count):
        loops = tuple(
            (draw.choice([3, 8, 37, 1024, 65536]), draw.choice([0, 8, 24, 40, 128, 136, 1 << 22])) for _ in range(7)
        )
        nest = AccessNest(
            ((1 << 40, draw.choice([0, 8, 128])), *loops), draw.choice([8, 16, 32]), draw.choice([0, 64, None])
        )
        times.append(cpu_ms(lambda nest=nest: bank_runs(nest, Banks(16, 8))))
    return times


def pairs(count: int) -> tuple[list[float], int]:
    """Nests that interleave: intervals meet, so that columns, residues or the solver must decide."""
    draw, times, met = random.Random(2), [], 0
    program = Program("p", "rngd", (Step("a"), Step("b")))
    order = order_of(program, [["a"], ["b"]])
    assert isinstance(order, Order)
    for _ in range(count):
        touches = []
        for step, lane in ((0, "a"), (1, "b")):
            loops = tuple(
                (draw.choice([2, 3, 8, 15, 256, 1 << 20]), draw.choice([8, 24, 256, 4096, 4104, 65536, 1 << 22]))
                for _ in range(draw.randint(2, 5))
            )
            walk = Walk(draw.randrange(0, 1 << 16, 8), (*loops, (draw.choice([8, 64, 256]), 1)))
            touches.append(Touch(step, lane, step == 0, ("dm", 0, 0), walk, ("n",) * len(walk.loops), "command 0"))
        start = time.process_time()
        works = [StepWork((touch.lane,), (touch,)) for touch in touches]
        found = hazards(program, works, order, 2_000_000)
        times.append((time.process_time() - start) * 1e3)
        met += bool(found.found)
        assert not found.unknown
    return times, met


def program_of_200() -> str:
    """50 loads for each of four engines, interleaved rows in one buffer of the slices that all of them write."""
    lines = ["schema = 1", 'target = "rngd"', "[axes]", "S = 64", "A = 8", "C = 256"]
    steps = ["[program.p]"]
    for number in range(50):
        for engine in range(4):
            name = f"t{engine}-{number}"
            row = 256 * (4 * number + engine)
            lines += [
                f"[transfer.{name}]", 'dtype = "i8"',
                f'source = {{ tier = "hbm", base = {131072 * (4 * number + engine)}, element = "S, A, C" }}',
                f'dest = {{ tier = "dm", base = {row}, slice = "S", element = "A, C # 51200" }}',
                'stream = { time = "A, S", packet = "C" }', f"engine = {{ dmn = {engine} }}",
            ]  # fmt: skip
            steps += ["[[program.p.step]]", f'transfer = "{name}"']
    return "\n".join([*lines, *steps]) + "\n"


def loops(iterations: int) -> str:
    return (
        f'schema = 1\ntarget = "rngd"\n[axes]\nA = {4 * iterations}\nC = 256\n[transfer.store]\ndtype = "i8"\n'
        f'loop = {{ t = {iterations} }}\nsource = {{ tier = "dm", element = "A = 4, C" }}\n'
        'dest = { tier = "hbm", element = "A, C", view = { tile = "A", length = 4, start = "4 * t" } }\n'
        'stream = { time = "A = 4", packet = "C" }\n[program.p]\nstep = [{ transfer = "store" }]\n'
    )


def main() -> None:
    write = sys.stdout.write
    nests(3)
    times = nests(200)
    write(f"nests of 2^40 accesses and more   median {statistics.median(times):6.2f} ms   most {max(times):6.2f} ms\n")
    pairs(5)
    times, met = pairs(200)
    write(
        f"pairs of nests, {met} of 200 meet   median {statistics.median(times):6.2f} ms   most {max(times):6.2f} ms\n"
    )
    text = program_of_200()
    found: list[object] = []
    ms = cpu_ms(lambda: found.extend(api.check(text)))
    assert all(verdict.as_expected for verdict in found)  # type: ignore[attr-defined]
    write(f"200 commands of four engines      {ms / 1e3:6.2f} s\n")
    for power in (4, 20, 30):
        text = loops(1 << power)
        write(f"tiles of 2^{power:<2} iterations           {cpu_ms(lambda text=text: api.check(text)):6.1f} ms\n")


if __name__ == "__main__":
    main()
