"""Speed of `check` on PTO kernels, and how it grows with their lines: `make bench`, or

    python tests/bench/pto_kernel.py [--repeat 9] [--lines 250 500 1000 2000] [--write DIR]

Writes kernels of a given length in five forms, checks each as a command (`dmaverify check FILE --no-cache`, process
start included) and inside one process, and prints both beside `python -c pass` and `dmaverify --version`, measured in
the same run. No test asserts a time.

 - *tiles*: tiles one behind the other, each loaded, computed in a vector scope and stored, two buffers each way
 - *packed*: the same with unaligned rows, padded, for a row count that is an argument with a range
 - *registers*: the same through loop registers and copies of the older surface, each with registers set before
 - *pingpong*: loops over any number of tiles, two buffers each way by the parity of the counter
 - *through*: loads and stores of one buffer fenced by barriers, without flags
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GM, UB = "!pto.ptr<f32, gm>", "!pto.ptr<f32, ub>"
LOADS, STORES = f"{GM}, {UB}, i64, i64, i64, i64, i64", f"{UB}, {GM}, i64, i64, i64, i64"
REG = "!pto.vreg<64xf32>"
NAMES = ("tiles", "packed", "registers", "pingpong", "through")


class Writer:
    """Lines of one kernel; constants are written where they are first used."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.numbers: dict[tuple[int, str], None] = {}
        self.count = 0

    def c(self, value: int, kind: str = "i64") -> str:
        self.numbers[value, kind] = None
        return f"%c{value}_{kind}"

    def flag(self, action: str, source: str, dest: str, event: int | str, pad: str = "  ") -> None:
        dyn, shown = ("_dyn", event) if isinstance(event, str) else ("", f'"EVENT_ID{event}"')
        self.lines.append(f'{pad}pto.{action}_flag{dyn}["PIPE_{source}", "PIPE_{dest}", {shown}]')

    def pointers(self, at: str, gm: tuple[str, str], ub: tuple[int, str], pad: str = "  ") -> tuple[str, str]:
        """A GM pointer so many elements behind an argument and a UB pointer at a byte address, moved by elements."""
        self.count += 1
        n = self.count
        self.lines.append(f"{pad}%g{n} = pto.addptr {gm[0]}, {gm[1]} : {GM} -> {GM}")
        self.lines.append(f"{pad}%u{n} = pto.castptr {self.c(ub[0])} : i64 -> {UB}")
        if ub[1]:
            self.lines.append(f"{pad}%{at}{n} = pto.addptr %u{n}, {ub[1]} : {UB} -> {UB}")
            return f"%g{n}", f"%{at}{n}"
        return f"%g{n}", f"%u{n}"

    def load(
        self, gm: str, ub: str, rows: str, length: int, pitch: int, pad: str = "  ", fill: int | None = None
    ) -> None:
        groups = f"nburst({rows}, {self.c(length)}, {self.c(pitch)})"
        tail = LOADS
        if fill is not None:
            groups += f" pad(%zero, {self.c(0)}, {self.c(fill)})"
            tail += ", pad f32, i64, i64"
        self.lines.append(f"{pad}pto.mte_gm_ub {gm}, {ub}, {self.c(0)}, {self.c(length)} {groups}")
        self.lines.append(f"{pad}    : {tail}")

    def store(self, ub: str, gm: str, rows: str, length: int, pitch: int, pad: str = "  ") -> None:
        groups = f"nburst({rows}, {self.c(pitch)}, {self.c(length)})"
        self.lines.append(f"{pad}pto.mte_ub_gm {ub}, {gm}, {self.c(length)} {groups}")
        self.lines.append(f"{pad}    : {STORES}")

    def old_load(self, gm: str, ub: str, rows: str, length: int, pitch: int) -> None:
        self.lines.append(f"  pto.set_loop_size_outtoub {self.c(1)}, {self.c(1)} : i64, i64")
        rest = f"{self.c(0)}, {rows}, {self.c(length)}, {self.c(0)}, {self.c(0)}, %off, {self.c(0)}"
        self.lines.append(f"  pto.copy_gm_to_ubuf {gm}, {ub}, {rest},")
        self.lines.append(f"    {self.c(length)}, {self.c(pitch)}")
        self.lines.append(f"    : {GM}, {UB}, i64, i64, i64, i64, i64, i1, i64, i64, i64")

    def old_store(self, ub: str, gm: str, rows: str, length: int, pitch: int) -> None:
        self.lines.append(f"  pto.set_loop_size_ubtoout {self.c(1)}, {self.c(1)} : i64, i64")
        rest = f"{self.c(0)}, {rows}, {self.c(length)}, {self.c(0)}, {self.c(length)}, {self.c(pitch)}"
        self.lines.append(f"  pto.copy_ubuf_to_gm {ub}, {gm}, {rest}")
        self.lines.append(f"    : {UB}, {GM}, i64, i64, i64, i64, i64, i64")

    def compute(self, source: str, dest: str, elements: int, pad: str = "  ") -> None:
        self.count += 1
        n = self.count
        lo, hi, step = self.c(0, "index"), self.c(elements, "index"), self.c(64, "index")
        self.lines += [
            f"{pad}pto.vecscope {{",
            f"{pad}  scf.for %j{n} = {lo} to {hi} step {step} {{",
            f"{pad}    %v{n} = pto.vlds {source}[%j{n}] : {UB} -> {REG}",
            f"{pad}    %w{n} = pto.vabs %v{n} : {REG} -> {REG}",
            f"{pad}    pto.vsts %w{n}, {dest}[%j{n}] : {REG}, {UB}",
            f"{pad}  }}",
            f"{pad}}}",
        ]

    def text(self, gm_bytes: int) -> str:
        head = [f"// dmaverify: gm %{name} = {gm_bytes} bytes" for name in ("in", "out")]
        head += ["// dmaverify: assume %n in 1..64", "// dmaverify: assume %tiles in 1..64"]
        head += [f"func.func @kernel(%in: {GM}, %out: {GM}, %n: i64, %tiles: index) {{"]
        head += [f"  %c{v}_{k} = arith.constant {v} : {k}" for v, k in sorted(self.numbers)]
        head += ["  %off = arith.constant false", "  %zero = arith.constant 0.0 : f32"]
        return "\n".join([*head, *self.lines, "  return", "}", ""])

    def __len__(self) -> int:
        return len(self.lines) + len(self.numbers) + 9


def kernel_text(name: str, lines: int) -> str:
    """A correct kernel of that form with about so many lines."""
    writer = Writer()
    if name == "pingpong":
        _pingpong(writer, lines)
    elif name == "through":
        _through(writer, lines)
    else:
        _tiles(writer, lines, name)
    return writer.text(1 << 24)


def _tiles(w: Writer, lines: int, name: str) -> None:
    packed, old = name == "packed", name == "registers"
    length, pitch, rows = (200, 256, "%n") if packed else (256, 256, w.c(16))
    for event in (0, 1):
        w.flag("set", "V", "MTE2", event)
        w.flag("set", "MTE3", "V", event)
    tile = 0
    while len(w) < lines - 24:
        event = tile % 2
        offset = w.c(tile * 16 * 64)
        gm, ub = w.pointers("b", ("%in", offset), (event * 16384, ""))
        out, uo = w.pointers("b", ("%out", offset), (65536 + event * 16384, ""))
        w.flag("wait", "V", "MTE2", event)
        if old:
            w.old_load(gm, ub, rows, length, pitch)
        else:
            w.load(gm, ub, rows, length, pitch, fill=14 if packed else None)
        w.flag("set", "MTE2", "V", event)
        w.flag("wait", "MTE2", "V", event)
        w.flag("wait", "MTE3", "V", event)
        w.compute(ub, uo, 64 if packed else 1024)
        w.flag("set", "V", "MTE2", event)
        w.flag("set", "V", "MTE3", event)
        w.flag("wait", "V", "MTE3", event)
        done = w.c(1) if packed else rows
        if old:
            w.old_store(uo, out, done, length, pitch)
        else:
            w.store(uo, out, done, length, pitch)
        w.flag("set", "MTE3", "V", event)
        tile += 1
    for event in (0, 1):
        w.flag("wait", "V", "MTE2", event)
        w.flag("wait", "MTE3", "V", event)


def _pingpong(w: Writer, lines: int) -> None:
    number = 0
    while len(w) < lines - 40:
        number += 1
        for event in (0, 1):
            w.flag("set", "V", "MTE2", event)
            w.flag("set", "MTE3", "V", event)
        zero, one, two = w.c(0, "index"), w.c(1, "index"), w.c(2, "index")
        w.lines += [
            f"  scf.for %i{number} = {zero} to %tiles step {one} {{",
            f"    %par{number} = arith.remui %i{number}, {two} : index",
            f"    %mine{number} = arith.muli %par{number}, {w.c(1024, 'index')} : index",
            f"    %far{number} = arith.muli %i{number}, {w.c(1024, 'index')} : index",
        ]
        par, pad = f"%par{number}", "    "
        gm, ub = w.pointers("b", ("%in", f"%far{number}"), (0, f"%mine{number}"), pad)
        out, uo = w.pointers("b", ("%out", f"%far{number}"), (65536, f"%mine{number}"), pad)
        w.flag("wait", "V", "MTE2", par, pad)
        w.load(gm, ub, w.c(16), 256, 256, pad)
        w.flag("set", "MTE2", "V", par, pad)
        w.flag("wait", "MTE2", "V", par, pad)
        w.flag("wait", "MTE3", "V", par, pad)
        w.compute(ub, uo, 1024, pad)
        w.flag("set", "V", "MTE2", par, pad)
        w.flag("set", "V", "MTE3", par, pad)
        w.flag("wait", "V", "MTE3", par, pad)
        w.store(uo, out, w.c(16), 256, 256, pad)
        w.flag("set", "MTE3", "V", par, pad)
        w.lines.append("  }")
        for event in (0, 1):
            w.flag("wait", "V", "MTE2", event)
            w.flag("wait", "MTE3", "V", event)
        w.lines.append('  pto.pipe_barrier "PIPE_MTE3"')


def _through(w: Writer, lines: int) -> None:
    tile = 0
    while len(w) < lines - 8:
        offset = w.c(tile * 1024)
        gm, ub = w.pointers("b", ("%in", offset), (tile % 8 * 4096, ""))
        out, _ = w.pointers("b", ("%out", offset), (tile % 8 * 4096, ""))
        w.load(gm, ub, w.c(16), 256, 256)
        w.lines.append("  pto.barrier #pto.pipe<PIPE_ALL>")
        w.store(ub, out, w.c(16), 256, 256)
        if tile % 8 == 7:
            w.lines.append("  pto.barrier #pto.pipe<PIPE_ALL>")
        tile += 1


def seconds(command: list[str], repeat: int) -> tuple[float, float]:
    """Least and median of so many runs behind a first one, which leaves its bytecode in a folder of its own."""
    kept = {"PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "dmaverify-bench-bytecode")}
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | kept
    times = []
    for _ in range(repeat + 1):
        started = time.perf_counter()
        subprocess.run(command, cwd=ROOT, capture_output=True, check=False, env=env)
        times.append(time.perf_counter() - started)
    return min(times[1:]), statistics.median(times[1:])


def inside(path: Path, repeat: int) -> float:
    from dmaverify.machines.pto.check import check_file

    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        verdicts = check_file(str(path))
        times.append(time.perf_counter() - started)
        assert [v.status.value for v in verdicts] == ["proved"], (
            path.name,
            [f.message for f in verdicts[0].errors][:4],
        )
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--lines", type=int, nargs="*", default=[250, 500, 1000, 2000])
    parser.add_argument("--names", nargs="*", default=list(NAMES))
    parser.add_argument("--write", type=Path, help="keep the texts in this folder")
    options = parser.parse_args()
    program = [sys.executable, "-c", "from dmaverify.cli.app import main; main()"]
    start = seconds([sys.executable, "-c", "pass"], options.repeat)
    version = seconds([*program, "--version"], options.repeat)
    print(
        f"python -c pass {start[0]:.3f} s ({start[1]:.3f}), dmaverify --version {version[0]:.3f} s ({version[1]:.3f})"
    )
    print("least of the runs, medians in brackets; bytecode is kept, as where the package is installed\n")
    print("kernel      lines     command           / pass  / version   inside one process   a line")
    with tempfile.TemporaryDirectory() as folder:
        where = options.write or Path(folder)
        for name in options.names:
            for lines in options.lines:
                text = kernel_text(name, lines)
                path = where / f"{name}-{lines}.mlir"
                path.write_text(text, encoding="utf-8")
                alone = inside(path, max(2, options.repeat // 2))
                whole = seconds([*program, "check", str(path), "--no-cache"], options.repeat)
                count = text.count("\n")
                print(
                    f"{name:<11} {count:5,}   {whole[0]:.3f} s ({whole[1]:.3f})   {whole[0] / start[0]:6.1f}  "
                    f"{whole[0] / version[0]:9.1f}   {alone * 1000:11.0f} ms   {alone / count * 1e6:10.0f} us"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
