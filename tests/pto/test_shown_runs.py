"""`run`, `viz` and `trace` of kernels: where bytes come from, what is drawn, pipes over time."""

from __future__ import annotations

import contextlib
import io
import json
import random
import sys
from pathlib import Path

import pytest
from lab.kernels import kernel_of

from dmaverify.cli.app import main
from dmaverify.jobs.kernel_prices import kernel_cost
from dmaverify.jobs.kernel_runs import origins_of, ran_kernel, slots_of_run
from dmaverify.machines.pto.execute import run_kernel

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE_6 = str(ROOT / "examples/pto/example-6.mlir")


def run_cli(*words: str) -> tuple[int, str]:
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        patch.setattr(sys, "argv", ["dmaverify", *words])
        with pytest.raises(SystemExit) as end:
            main()
    return int(end.value.code or 0), out.getvalue()


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    rng, out = random.Random(6), []
    for number in range(12):
        out.append(str(tmp_path_factory.mktemp("kernels") / f"{number}.mlir"))
        Path(out[-1]).write_text(kernel_of(rng).text(), encoding="utf-8")
    return out


def test_bytes_are_those_of_where_they_are_said_to_come_from(kernels: list[str]) -> None:
    sources = 0
    for path in kernels:
        done = ran_kernel(path)
        memory = run_kernel(done.named.function, done.tensors, done.values, others=done.named.notes.core).memory
        for name, parts in origins_of(done).items():
            for first, last, said in parts:
                source, _, at = said.partition(" ")
                if source in done.tensors:
                    low = int(at.split("..")[0].replace(",", ""))
                    there = memory[source].held[low : low + last - first + 1]
                    assert (memory[name].held[first : last + 1] == there).all()
                    sources += 1
    assert sources > 8


def test_bytes_lay_somewhere_before_or_are_computed_or_padded_or_nobody_wrote_them(tmp_path: Path) -> None:
    gm, ub, types = "!pto.ptr<f32, gm>", "!pto.ptr<f32, ub>", "i64, i64, i64, i64"
    (tmp_path / "k.mlir").write_text(f"""// dmaverify: gm %a = 512 bytes
// dmaverify: gm %b = 1536 bytes
func.func @k(%a: {gm}, %b: {gm}) {{
  %x0 = arith.constant 0 : index
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c24 = arith.constant 24 : i64
  %c256 = arith.constant 256 : i64
  %c512 = arith.constant 512 : i64
  %f = arith.constant 0.0 : f32
  %u = pto.castptr %c0 : i64 -> {ub}
  %v = pto.castptr %c512 : i64 -> {ub}
  pto.mte_gm_ub %a, %u, %c0, %c256 nburst(%c1, %c256, %c256) : {gm}, {ub}, i64, {types}
  pto.barrier <PIPE_ALL>
  pto.vecscope {{
    %all = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
    %r = pto.vlds %u[%x0] : {ub} -> !pto.vreg<64xf32>
    %w = pto.vabs %r, %all : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
    pto.vsts %w, %v[%x0], %all : !pto.vreg<64xf32>, {ub}, !pto.mask<b32>
  }}
  pto.barrier <PIPE_ALL>
  pto.mte_ub_gm %v, %b, %c256 nburst(%c1, %c256, %c256) : {ub}, {gm}, {types}
  pto.mte_gm_ub %a, %u, %c0, %c24 nburst(%c1, %c24, %c256) pad(%f, %c0, %c2)
    : {gm}, {ub}, i64, {types}, pad f32, i64, i64
  pto.barrier <PIPE_ALL>
  %o = pto.addptr %b, %c256 : {gm} -> {gm}
  pto.mte_ub_gm %u, %o, %c512 nburst(%c1, %c512, %c512) : {ub}, {gm}, {types}
  return
}}
""")
    done = ran_kernel(str(tmp_path / "k.mlir"))
    assert origins_of(done) == {
        "b": [
            (0, 255, "computed"),
            (1024, 1047, "a 0..23"),
            (1048, 1055, "padding, or not known"),
            (1056, 1279, "a 32..255"),
            (1280, 1535, "nothing wrote it"),
        ]
    }


def test_a_trace_takes_what_cost_says_of_each_pipe_and_no_access_begins_before_what_it_waits_for(
    kernels: list[str],
) -> None:
    for path in kernels:
        done = ran_kernel(path)
        slots = [slot for slot in slots_of_run(done) if "share" not in slot.about]
        priced = kernel_cost(done.named, {})["pipes"]
        for pipe, cycles in priced.items():
            assert sum(s.end - s.start for s in slots if s.lane == pipe) == pytest.approx(cycles)
        ends = {slot.step: slot.end for slot in slots}
        assert all(slot.start == (ends[slot.waits_for] if slot.waits_for else 0) for slot in slots)


def test_example_6_is_told_and_traced_step_by_step(tmp_path: Path) -> None:
    told = run_cli("run", EXAMPLE_6)
    steps = [f"loop1 iter {i}: src + {i * 2048:,} -> ub + {i * 2048:,}, 8 rows x 256 B" for i in range(4)]
    assert told[0] == 0
    assert all(step in told[1] for step in steps)
    assert run_cli("trace", EXAMPLE_6, "--output", str(tmp_path / "t.json"))[0] == 0
    events = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))["traceEvents"]
    assert [e["name"] for e in events if e["ph"] == "X"][1:] == steps


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (
            "example-6",
            ["loop1: 4 times, src +2,048, ub +2,048", "len_burst 256, stride 256", "... 4 more rows", "Row 7:"],
        ),
        ("example-3-corrected", ["padded or not known", 'class="pad"', 'class="data"']),
        ("example-5", ["ub to dst", "len_burst 256, stride 1,024"]),
    ],
)
def test_copies_are_drawn_as_rows_of_both_sides(kernel: str, words: list[str], tmp_path: Path) -> None:
    for kind in ("svg", "html"):
        out = tmp_path / f"k.{kind}"
        assert run_cli("viz", str(ROOT / f"examples/pto/{kernel}.mlir"), "--output", str(out))[0] == 0
        assert [word for word in words if word not in out.read_text(encoding="utf-8")] == []


HEAD = "func.func @k(%a: !pto.ptr<f32, gm>, %n: i64) {\n %c0 = arith.constant 0 : i64\n %l = arith.constant 64 : i64\n"
BODY = """ %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
 pto.mte_gm_ub %a, %u, %c0, %l nburst(%n, %l, %l) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
 return
}
"""


@pytest.mark.parametrize(
    ("notes", "options", "code", "said"),
    [
        ("// dmaverify: gm %a = 64 * %n bytes\n", [], 0, "(drawn)"),
        ("// dmaverify: gm %a = 256 bytes\n", ["--set", "n=4"], 0, "n = 4, a of 256 bytes"),
        ("// dmaverify: gm %a = 256 bytes\n", ["--set", "n=5"], 1, "broken    core/in-bounds: line "),
        ("// dmaverify: gm %a = 256 bytes\n// dmaverify: expect core/in-bounds\n", ["--set", "n=5"], 0, "broken"),
        ("// dmaverify: assume %n in 3..9\n// dmaverify: assume 8 | %n\n", [], 0, "n = 8 (drawn)"),
        ("// dmaverify: assume %n in 3..9\n", ["--set", "n=10"], 2, "no values of n were found"),
        ("", ["--set", "m=10"], 2, "no argument `m`"),
        ("", ["--set", "n=ten"], 2, "--set n=64"),
        ("// dmaverify: gm %a = 9000000000 bytes\n", [], 3, "not run   its tensors hold 9,000,000,000 bytes"),
    ],
)
def test_arguments_are_given_or_drawn_from_what_the_text_states(
    notes: str, options: list[str], code: int, said: str, tmp_path: Path
) -> None:
    (tmp_path / "k.mlir").write_text(notes + HEAD + BODY, encoding="utf-8")
    ended, told = run_cli("run", str(tmp_path / "k.mlir"), *options)
    assert (ended, said in told) == (code, True), told
    if code < 2:
        assert json.loads(run_cli("run", "--json", str(tmp_path / "k.mlir"), *options)[1])[0]["kind"] == "kernel"
