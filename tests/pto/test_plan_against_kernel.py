"""A plan and a PTO kernel of the same moves: what both leave, by their copies and by runs of both texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.cli.app import invoke
from dmaverify.errors import Disagreement, InputError, Source
from dmaverify.jobs import same_across as across
from dmaverify.jobs import same_runs
from dmaverify.jobs.plan_copies import emitted_copies
from dmaverify.machines.pto.named import NamedFunction, named_in
from dmaverify.prove.sameness import Sameness

TILES = Path(__file__).resolve().parents[2] / "examples" / "pto" / "tiles.toml"
HEAD = 'schema = 1\ntarget = "pto"\naxes = { A = 4, C = 64 }\n'


def transfer(name: str, source: str, dest: str, packet: str = "C") -> str:
    stream = f'stream = {{ time = "A", packet = "{packet}" }}'
    return f'[transfer.{name}]\ndtype = "f32"\nsource = {{ {source} }}\ndest = {{ {dest} }}\n{stream}\n'


GM, UB = 'tier = "gm", base = {}, element = "A, C"', 'tier = "ub", base = {}, element = "A, C"'
THERE = (
    HEAD
    + transfer("in", GM.format(4096), UB.format(0))
    + transfer("out", UB.format(0), GM.format(16384))
    + '[program.p]\nstep = [{ transfer = "in" }, { transfer = "out", after = ["in"] }]\n'
)
KERNEL = """// dmaverify: gm %a = 1024 bytes
// dmaverify: gm %o = 1024 bytes
func.func @k(%a: !pto.ptr<f32, gm>, %o: !pto.ptr<f32, gm>ARGS) {
  %c0 = arith.constant 0 : i64
  %row = arith.constant 256 : i64
  %n = arith.constant 4 : i64
  %few = arith.constant 2 : i64
  %at = arith.constant 0 : i64
  %u = pto.castptr %at : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %a, %u, %c0, %row nburst(%n, %row, %row)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.barrier #pto.pipe<PIPE_ALL>
  pto.mte_ub_gm %u, %o, %row nburst(%n, %row, %row)
      : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  return
}
"""
LIE = ("%a lies at gm, byte 4,096", "%o lies at gm, byte 16,384")


def kernel(*changes: tuple[str, str], args: str = "") -> NamedFunction:
    text = KERNEL.replace("ARGS", args)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (one,) = named_in(Source("k.mlir", text))
    return one


def compared(plan: str, side: NamedFunction) -> Sameness:
    return across.same_across(api.load(plan, "p"), side, rlimit=2_000_000)


def test_the_copies_of_a_program_and_of_a_kernel_are_the_same_where_its_tensors_lie_there() -> None:
    for side in (
        kernel(),
        kernel(("%n = arith.constant 4", "%n = arith.constant 1"), ("constant 256", "constant 1024")),
    ):
        answer = compared(THERE, side)
        assert (answer.status, answer.conditions[-2:]) == ("proved", LIE), answer.why
        assert answer.by.endswith("and runs of both texts")


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        (("%at = arith.constant 0", "%at = arith.constant 4096"), "refuted", "byte 0 is changed by the plan alone"),
        (("%n = arith.constant 4", "%n = arith.constant 3"), "refuted", "byte 768 is changed by the plan alone"),
        (("%o, %row nburst(%n", "%o, %row nburst(%few"), "refuted", "1,024 bytes of gm, the kernel 512"),
        (("%u, %o, %row nburst(%n, %row", "%u, %o, %row nburst(%n, %c0"), "unknown",
         "at gm, byte 16,640 the plan leaves what lay at gm, byte 4,352, the kernel what lay at gm, byte 4,096"),
        (("pto.barrier #pto.pipe<PIPE_ALL>", ""), "unknown", "k is not proved"),
    ],
)  # fmt: skip
def test_what_moves_other_bytes_leaves_something_else(change: tuple[str, str], status: str, said: str) -> None:
    answer = compared(THERE, kernel(change))
    assert (answer.status, said in answer.why) == (status, True), answer.why
    assert answer.by == (same_runs.BY_RUNS if status == "refuted" else "")


def test_places_that_were_only_taken_to_be_so_refute_nothing() -> None:
    """Loaded from the last row on: the first copies are the same where the argument lies three rows further."""
    float_ptr = "!pto.ptr<f32, gm>"
    last = f"""  %three = arith.constant 192 : i64
  %l = pto.addptr %a, %three : {float_ptr} -> {float_ptr}
  %at3 = arith.constant 768 : i64
  %u3 = pto.castptr %at3 : i64 -> !pto.ptr<f32, ub>
  %n3 = arith.constant 3 : i64
  %n1 = arith.constant 1 : i64
  pto.mte_gm_ub %l, %u3, %c0, %row nburst(%n1, %row, %row)
      : {float_ptr}, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
"""
    whole = "  pto.mte_gm_ub %a, %u, %c0, %row nburst(%n{},"
    turned = kernel((whole.format(""), last + whole.format("3")))
    answer = compared(THERE, turned)
    assert answer.status == "unknown"
    assert "where %a lies at gm, byte 3,328" in answer.notes


def test_tensors_that_would_share_bytes_are_no_two_tensors() -> None:
    near = THERE.replace("base = 16384", "base = 4608")
    assert "arguments would share bytes" in compared(near, kernel()).why


def test_an_order_that_decides_leaves_a_plan_open() -> None:
    race = THERE.replace('"in" }, { transfer = "out", after = ["in"]', '"in" }, { transfer = "out"')
    assert "what the plan leaves is not known" in compared(race, kernel()).why


def test_a_plan_of_another_machine_is_refused() -> None:
    other = 'schema = 1\ntarget = "rngd"\naxes = { A = 4, C = 64 }\n[transfer.p]\ndtype = "i8"\n'
    other += 'source = { tier = "hbm", element = "A, C" }\ndest = { tier = "hbm", base = 4096, element = "A, C" }\n'
    with pytest.raises(InputError, match="no plan of pto"):
        compared(other, kernel())


def test_runs_that_part_contradict_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(across.home, "same", lambda *_: Sameness("proved"))
    with pytest.raises(Disagreement, match=r"runs of both part.*: ub, byte 768"):
        compared(THERE, kernel(("%n = arith.constant 4", "%n = arith.constant 3")))


@pytest.mark.parametrize("name", ["bring", "send", "bring-table", "send-table", "halo", "store"])
def test_the_kernel_that_is_emitted_for_a_move_is_that_move(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "k.mlir"
    file.write_text(emitted_copies(api.load(f"{TILES}::{name}"), name, "inline"))
    for sides in ((f"{TILES}::{name}", str(file)), (str(file), f"{TILES}::{name}")):
        assert invoke(["equiv", *sides, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["status"] == "proved"
    assert invoke(["equiv", str(file), f"{TILES}::{name}", "--tier", "gm"]) == 2
