"""Speed, as ratios measured in one run: `make bench` (or `python tests/bench/run.py [--quick]`).

Each line is a median over several runs on this machine, beside what it is compared with. No test asserts a time.

 - *proof*: every core obligation of an example, by Z3, from tensors and commands (no file reading, no rules)
 - *check*: the whole verdict, rules and both programs included
 - *isl*: islpy's bare equality of two maps from counters to addresses (what the commands do, what the mappings ask)
 - *numpy*: the obvious enumeration: the element of every byte read and written, and each destination byte once
 - *executor*: `dmaverify run`, which moves real bytes and skips what repeats
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dmaverify.execute.interpret import execute
from dmaverify.language.expr import Expr, Modulo, Pair, Stride, Symbol
from dmaverify.lower.programs import derived_program, space_of
from dmaverify.plan.read import read_plan_text
from dmaverify.program.command import Port
from dmaverify.program.space import Space
from dmaverify.program.tensor import Tensor
from dmaverify.prove.move.check import Options, check_transfer
from dmaverify.prove.move.core import judge_core
from dmaverify.prove.smt import Session

ROOT = Path(__file__).resolve().parents[2]

# fmt: off
# The six examples of "DMA Engine" in self-consistent form, and two tables of "Sequencer" as moves of one slice.
PLANS = {
    "example 1": ("A = 8\nB = 8\nC = 256", 'tier = "hbm", element = "A, B, C"',
                  'tier = "hbm", base = 16384, element = "B, A, C"', 'time = "A, B", packet = "C"'),
    "example 2": ("A = 256\nB = 256\nC = 256", 'tier = "hbm", element = "B, A, C"',
                  'tier = "dm", slice = "A / 4", element = "A % 4, B, C"',
                  'time = "B, A % 4, A / 4 % 32, A / 128", packet = "C"'),
    "example 3": ("A = 256\nB = 256\nC = 256", 'tier = "dm", slice = "A / 4", element = "A % 4, B, C"',
                  'tier = "dm", base = 262144, slice = "A / 4", element = "B, A % 4, C"',
                  'time = "B, A % 4, A / 4 % 32, A / 128", packet = "C"'),
    "example 4": ("A = 64\nB = 2048\nC = 1024", 'tier = "hbm", element = "A, B, C"',
                  'tier = "dm", cluster = "B / 1024", slice = "B / 256 % 4, A", element = "B % 256, C"',
                  ('cluster = "B / 1024", slice = "B / 256 % 4", '
                   'time = "B % 256, C / 256, A % 32, A / 32", packet = "C % 256"')),
    "example 5": ("A = 8\nB = 64\nC = 8\nD = 512", 'tier = "hbm", element = "A, B, C, D"',
                  'tier = "dm", cluster = "A / 4", slice = "A % 4, B", element = "C, D % 256"',
                  'cluster = "A / 4", slice = "A % 4", time = "C, B % 32, B / 32", packet = "D % 256"'),
    "rearranging": ("N = 4\nC = 3\nH = 8\nW = 8", 'tier = "hbm", element = "N, C, H, W"',
                    'tier = "hbm", base = 1024, element = "W, H, C, N"', 'time = "W, H, C, N", packet = "1"'),
    "merging": ("N = 8\nC = 8\nH = 8\nW = 32", 'tier = "hbm", element = "N, C, H, W"',
                'tier = "hbm", base = 65536, element = "W / 16, H % 2, H / 2, C, N, W % 16"',
                'time = "W / 16, H % 2, H / 2, C / 2, C % 2, N / 2, N % 2, W / 8 % 2", packet = "W % 8"'),
}
# fmt: on


def plan_text(axes: str, source: str, dest: str, stream: str) -> str:
    return (
        f'schema = 1\ntarget = "rngd"\n[axes]\n{axes}\n[transfer.t]\ndtype = "i8"\n'
        f"source = {{ {source} }}\ndest = {{ {dest} }}\nstream = {{ {stream} }}\n"
    )


def median_ms(call: Callable[[], object], runs: int) -> float:
    call()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


class Case:
    """One move with its commands, ready to be proved, checked, executed or asked of isl."""

    def __init__(self, parts: tuple[str, str, str, str]) -> None:
        self.plan = read_plan_text(plan_text(*parts))
        self.transfer = self.plan.transfers[0].transfer
        self.target = self.plan.targets["rngd"]
        self.bits = self.target.dtypes[self.transfer.dtype]
        self.spaces = (space_of(self.target, self.transfer.source.tier), space_of(self.target, self.transfer.dest.tier))
        found = derived_program(self.transfer.source, self.transfer.dest, self.transfer.stream, self.bits, self.target)
        assert isinstance(found, tuple), found
        self.commands = found

    def prove(self) -> None:
        result = judge_core(
            self.transfer.source, self.transfer.dest, self.spaces, self.bits, self.commands, {}, Session()
        )
        assert all(v in ("proved", "refuted") for v in result.status.values())
        assert {k for k, v in result.status.items() if v != "proved"} <= {"core/consumes"}

    def check(self) -> None:
        check_transfer(self.transfer, axes=self.plan.axes, target=self.target, options=Options())

    def run(self) -> None:
        assert not execute(self.transfer.source, self.transfer.dest, *self.spaces, self.bits, self.commands).broken - {
            "core/consumes"
        }

    def enumerate_plainly(self) -> None:
        """Every byte of every command as its own row: what one writes in numpy without thinking of digits."""
        import numpy as np

        size = self.transfer.dest.mapping.size
        written = np.zeros(size, dtype=np.int64)
        for command in self.commands:
            flat = np.arange(command.amount)
            rest, inside = np.divmod(flat, command.burst)
            read, write = command.read.base + inside, command.write.base + inside
            for loop in reversed(command.loops):
                rest, counter = np.divmod(rest, loop.count)
                read, write = read + counter * loop.read, write + counter * loop.write
            positions = [_position(self.transfer.source, self.spaces[0], command.read, read)]
            positions.append(_position(self.transfer.dest, self.spaces[1], command.write, write))
            tensors = (self.transfer.source, self.transfer.dest)
            asked = [_coordinates(t.mapping, p) for t, p in zip(tensors, positions, strict=True)]
            assert all((asked[0][axis] == asked[1][axis]).all() for axis in asked[0])
            written += np.bincount(positions[1], minlength=size)
        assert (written == 1).all()

    def isl(self) -> Callable[[], bool]:
        """Equality of two maps counters -> (read, write): the loops of the commands, and the mappings' digits they
        drive.
        """
        import islpy

        from dmaverify.layout.refine import drive
        from dmaverify.program.space import layout_of
        from dmaverify.prove.move.fold import fold

        sides = [
            layout_of(t, s, self.bits)[0]
            for t, s in zip((self.transfer.source, self.transfer.dest), self.spaces, strict=True)
        ]
        joint = drive(sides[0], sides[1], [family.nest for family in fold(self.commands)])
        done, asked = [], []
        for nest in joint.nests:
            pieces = nest.nest.pieces
            names = ", ".join(f"c{i}" for i in range(len(pieces)))
            bounds = " and ".join(f"0 <= c{i} < {p.count}" for i, p in enumerate(pieces))
            read = " + ".join([str(nest.nest.read_base), *(f"{p.read} c{i}" for i, p in enumerate(pieces))])
            write = " + ".join([str(nest.nest.write_base), *(f"{p.write} c{i}" for i, p in enumerate(pieces))])
            done.append(f"[{names}] -> [r, w] : {bounds} and r = {read} and w = {write}")
            totals = []
            for layout, drive_ in ((joint.source, nest.read), (joint.dest, nest.write)):
                parts = [str(layout.origin)]
                for digit, constant, terms in zip(layout.digits, drive_.constants, drive_.terms, strict=True):
                    parts += [f"{digit.step * constant}"] * bool(constant)
                    parts += [f"{digit.step * k} c{i}" for i, k in terms]
                totals.append(" + ".join(parts))
            asked.append(f"[{names}] -> [r, w] : {bounds} and r = {totals[0]} and w = {totals[1]}")
        texts = [f"{{ {'; '.join(side)} }}" for side in (done, asked)]

        def compare() -> bool:
            return bool(islpy.Map(texts[0]).is_equal(islpy.Map(texts[1])))

        return compare


def _coordinates(expr: Expr, position: Any) -> dict[str, Any]:
    """The coordinate of every axis at an array of positions; cuts and pairs are all that the examples use."""
    if isinstance(expr, Pair):
        left, right = divmod(position, expr.right.size)
        found = _coordinates(expr.left, left)
        for axis, value in _coordinates(expr.right, right).items():
            found[axis] = found.get(axis, 0) + value
        return found
    if isinstance(expr, Stride):
        return _coordinates(expr.inner, position * expr.by)
    if isinstance(expr, Modulo):
        return _coordinates(expr.inner, position)
    return {expr.name: position} if isinstance(expr, Symbol) else {}


def _position(tensor: Tensor, space: Space, port: Port, address: Any) -> Any:
    """Addresses as positions of the whole mapping: place by place, then the byte within the place."""
    element = tensor.element.size
    place = 0
    for name in space.places[:-1]:
        if name in ("chip", "cluster"):
            value = getattr(port, name) - getattr(tensor, f"at_{name}")
        else:
            value, address = divmod(address, dict(space.stride_bytes)[name])
        place = place * tensor.field(name).size + value
    return place * element + address - tensor.base


def digits_case(count: int, radix: int) -> Case:
    """`count` digits of `radix`, source and destination in opposite orders, one axis each pair of digits."""
    names = [f"A{i}" for i in range(count)]
    axes = "\n".join(f"{n} = {radix}" for n in names)
    source, dest = ", ".join(names), ", ".join([*names[-2::-1], names[-1]])
    size = radix**count
    stream = f'time = "{", ".join(names[:-1])}", packet = "{names[-1]}"'
    return Case(
        (axes, f'tier = "hbm", element = "{source}"', f'tier = "hbm", base = {size}, element = "{dest}"', stream)
    )


def cold_ms(arguments: list[str], runs: int) -> float:
    command = [sys.executable, "-c", "from dmaverify.cli.app import main; main()", *arguments]

    def call() -> None:
        subprocess.run(command, cwd=ROOT, capture_output=True, check=True)

    return median_ms(call, runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    quick = parser.parse_args().quick
    runs = 15 if quick else 61
    write = sys.stdout.write
    write(f"{'':14}{'proof ms':>10}{'check ms':>10}{'isl ms':>10}{'proof/isl':>11}\n")
    cases = {name: Case(parts) for name, parts in PLANS.items()}
    ratios = []
    for name, case in cases.items():
        proof, whole = median_ms(case.prove, runs), median_ms(case.check, runs)
        compare = case.isl()
        same = compare()
        isl = median_ms(compare, max(5, runs // 3))
        ratios.append(proof / isl)
        assert same
        write(f"{name:14}{proof:10.2f}{whole:10.2f}{isl:10.2f}{proof / isl:11.2f}\n")
    write(f"{'median':14}{'':30}{statistics.median(ratios):11.2f}\n\n")

    write("growth with elements, 6 digits (proof ms, ratio to the first)\n")
    first = None
    for power in (12, 24, 42):
        ms = median_ms(digits_case(6, 2 ** (power // 6)).prove, runs)
        first = first or ms
        write(f"  2^{power:<4}{ms:8.2f}{ms / first:8.2f}\n")
    write("growth with digits, radix 2 (proof ms)\n")
    for count in (4, 8, 12, 16, 20, 24):
        write(f"  {count:<6}{median_ms(digits_case(count, 2).prove, max(5, runs // 4)):8.2f}\n")

    write("\nnumpy against proof, 16 MiB (ms, times the proof)\n")
    for name in ("example 2", "example 3"):
        case, few = cases[name], 1 if quick else 3
        plain, moved, fast = (
            median_ms(case.enumerate_plainly, few),
            median_ms(case.run, few),
            median_ms(case.prove, runs),
        )
        write(f"  {name}: enumeration {plain:.0f}, {plain / fast:.0f} times; executor {moved:.0f}, ")
        write(f"{moved / fast:.0f} times; proof {fast:.2f}\n")

    write("\nwhole processes, cold (ms)\n")
    example = ROOT / "examples" / "first.toml"
    nothing = median_ms(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), 7)
    write(f"  python -c pass       {nothing:8.0f}\n")
    write(f"  dmaverify --version  {cold_ms(['--version'], 7):8.0f}\n")
    write(f"  dmaverify check      {cold_ms(['check', str(example)], 7):8.0f}\n")


if __name__ == "__main__":
    main()
