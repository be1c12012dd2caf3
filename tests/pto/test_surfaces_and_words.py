"""Both surfaces and the words: written out, read again, compared; and every field proved to come back."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import z3
from lab.copies import synthesize_copies
from lab.kernels import kernel_of

from dmaverify.errors import InputError, Source
from dmaverify.jobs.kernels import same_kernels, words_json, written
from dmaverify.machines.pto.emit import canonical, fields_of
from dmaverify.machines.pto.meaning import meaning_of
from dmaverify.machines.pto.read import read_kernels
from dmaverify.machines.pto.stated import Setting
from dmaverify.machines.pto.surfaces import emitted
from dmaverify.machines.pto.words import GM_WORDS, LOCAL_WORDS, WORD_BITS, misfits, pack, unpack
from dmaverify.plan.read import read_plan_text

LAYOUTS = {**GM_WORDS, **{f"local {name}": layout for name, layout in LOCAL_WORDS.items()}}


def round_trip(layout: tuple[tuple[str, int, int], ...]) -> str:
    """SMT-LIB 2 with bit-vectors: is there a word whose fields, packed and unpacked, differ? `unsat` is the proof."""
    lines = ["(set-logic QF_BV)"]
    parts, differ = [], []
    for name, low, bits in layout:
        lines.append(f"(declare-const {name} (_ BitVec {bits}))")
        wide = f"((_ zero_extend {WORD_BITS - bits}) {name})"
        parts.append(f"(bvshl {wide} (_ bv{low} {WORD_BITS}))")
        differ.append(f"(distinct ((_ extract {low + bits - 1} {low}) word) {name})")
    whole = parts[0]
    for part in parts[1:]:
        whole = f"(bvor {whole} {part})"
    lines.append(f"(define-fun word () (_ BitVec {WORD_BITS}) {whole})")
    lines.append(f"(assert (or {' '.join(differ)}))" if len(differ) > 1 else f"(assert {differ[0]})")
    return "\n".join(lines)


@pytest.mark.parametrize("name", LAYOUTS)
def test_unpacking_gives_back_every_field_proved_with_bit_vectors(name: str) -> None:
    solver = z3.Solver(ctx=z3.Context())
    solver.from_string(round_trip(LAYOUTS[name]))
    assert str(solver.check()) == "unsat"


def test_a_layout_with_fields_that_overlap_would_be_refuted() -> None:
    solver = z3.Solver(ctx=z3.Context())
    solver.from_string(round_trip((("a", 0, 8), ("b", 7, 8))))
    assert str(solver.check()) == "sat"


def test_the_words_of_the_sixth_example_bit_by_bit() -> None:
    fields = {
        "n_burst": 8,
        "len_burst": 256,
        "gm_stride": 256,
        "ub_stride": 256,
        "loop1": 4,
        "loop2": 1,
        "loop1_gm": 2048,
        "loop1_ub": 2048,
    }
    words = pack("load", fields)
    assert words == {
        "c0": 8 << 4 | 256 << 25,
        "c1": 256 | 256 << 40,
        "LOOP_SIZE": 4 | 1 << 21,
        "LOOP1": 2048 | 2048 << 40,
        "LOOP2": 0,
    }
    assert {k: v for k, v in unpack("load", words).items() if v} == fields


@pytest.mark.parametrize(
    ("field", "value", "neighbour"),
    [("left", 64, ("right", 0, 1)), ("len_burst", 1 << 21, ("left", 0, 1)), ("right", 64, ("select", 0, 1))],
)
def test_what_does_not_fit_its_field_says_which_neighbour_it_changes(
    field: str, value: int, neighbour: tuple[str, int, int]
) -> None:
    assert misfits("load", {field: value - 1}) == []
    (found,) = misfits("load", {field: value})
    assert (found.field, found.changes) == (field, (neighbour,))


@pytest.mark.parametrize("seed", range(8))
def test_a_kernel_is_the_same_in_both_surfaces_and_as_words(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    kernel = kernel_of(rng, inline=bool(seed % 2))
    first, second, words = tmp_path / "a.mlir", tmp_path / "b.mlir", tmp_path / "w.json"
    first.write_text(kernel.text(), encoding="utf-8")
    second.write_text(emitted(str(first), "registers" if seed % 2 else "inline"), encoding="utf-8")
    assert ("mte_" in second.read_text(encoding="utf-8")) == (not seed % 2)
    found, said = same_kernels(str(first), str(second))
    assert found.status == "proved", said
    assert found.copies > 0
    if not kernel.body:
        words.write_text(json.dumps(words_json(str(first))), encoding="utf-8")
        found, said = same_kernels(str(second), str(words))
        assert found.status == "proved", said


def test_one_number_makes_two_kernels_different_and_says_which_byte(tmp_path: Path) -> None:
    example = Path(__file__).resolve().parents[2] / "examples" / "pto" / "example-6.mlir"
    other = tmp_path / "b.mlir"
    text = example.read_text(encoding="utf-8")
    other.write_text(
        text.replace("loop1_stride_outtoub %c2048_i64, %c2048_i64", "loop1_stride_outtoub %c256_i64, %c2048_i64")
    )
    found, said = same_kernels(str(example), str(other))
    assert found.status == "refuted"
    assert "byte 2,048 of ub gets byte 2,048 of gm (arg0) in the first, byte 256 of gm (arg0) in the second" in said


def test_a_word_with_one_bit_changed_is_not_the_copy(tmp_path: Path) -> None:
    example = str(Path(__file__).resolve().parents[2] / "examples" / "pto" / "example-6.mlir")
    words = words_json(example)
    words[0]["words"]["c0"] = f"{int(words[0]['words']['c0'], 16) ^ (1 << 46):#x}"
    file = tmp_path / "w.json"
    file.write_text(json.dumps(words), encoding="utf-8")
    found, said = same_kernels(example, str(file))
    assert found.status == "refuted"
    assert "left is 1, must be 0" in said


def test_more_loops_than_registers_have_no_words_and_are_refused_at_their_line(tmp_path: Path) -> None:
    text = """func.func @k(%a: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : i64
  %c2 = arith.constant 2 : i64
  %c32 = arith.constant 32 : i64
  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %a, %u, %c0, %c32 nburst(%c2, %c32, %c32)
    loop(%c2, %c32, %c32) loop(%c2, %c32, %c32) loop(%c2, %c32, %c32)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64
  return
}
"""
    file = tmp_path / "k.mlir"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="no registers for them") as caught:
        words_json(str(file))
    assert caught.value.span is not None
    assert caught.value.span.line == 6


ONE = """
func.func @k(%x: !pto.ptr<f32, gm>) {{
  %c0 = arith.constant 0 : i64
  %rows = arith.constant {rows} : i64
  %length = arith.constant {length} : i64
  %gm = arith.constant {gm} : i64
  %ub = arith.constant 512 : i64
  %right = arith.constant {right} : i64
  %v = arith.constant {value} : f32
  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %x, %u, %c0, %length nburst(%rows, %gm, %ub) pad(%v, %c0, %right)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, pad f32, i64, i64
  return
}}
"""
FITS = {"rows": 4, "length": 72, "gm": 72, "right": 4, "value": 1.0}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"length": (1 << 21) - 1}, ""),
        ({"length": 1 << 21}, "len_burst is 2097152, .* left is 1 instead of 0"),
        ({"right": 63}, ""),
        ({"right": 64}, "right is 64"),
        ({"gm": -72}, "gm_stride is -72, .* ub_stride is 2097151 instead of 512"),
        ({"gm": -72, "rows": 1}, ""),  # nothing looks at it
    ],
)
def test_a_copy_that_does_not_fit_its_words_has_none(tmp_path: Path, changed: dict[str, int], said: str) -> None:
    file = tmp_path / "k.mlir"
    file.write_text(ONE.format(**{**FITS, **changed}), encoding="utf-8")
    for as_json in (True, False):
        if said:
            with pytest.raises(InputError, match=said) as caught:
                written(str(file), "words", as_json=as_json)
            assert caught.value.span is not None
            assert caught.value.span.line == 11
        else:
            assert written(str(file), "words", as_json=as_json)


def test_words_that_are_shown_have_the_value_of_the_padding(tmp_path: Path) -> None:
    file = tmp_path / "k.mlir"
    file.write_text(ONE.format(**FITS), encoding="utf-8")
    assert written(str(file), "words", as_json=False).endswith("\n  MOV_PAD_VAL 0x000000003f800000")
    file.write_text(ONE.format(**FITS).replace(" pad(%v, %c0, %right)", "").replace(", pad f32, i64, i64", ""))
    assert "PAD" not in written(str(file), "words", as_json=False)


PLAN = """schema = 1
target = "pto"
[axes]
A = 2
B = 3
C = 4
D = 5
E = 16
[transfer.move]
dtype = "f32"
source = {{ tier = "{0}", element = "{1}" }}
dest = {{ tier = "{2}", element = "{3}" }}
"""


@pytest.mark.parametrize(
    ("tiers", "source", "dest", "issues", "text"),
    [
        (("gm", "ub"), "A, B, C, D, E", "A, B, C, D, E", 1, "nburst(%c1_i64"),
        (("gm", "ub"), "A, B, C, D, E", "D, C, B, A, E", 2, "scf.for"),
        (("gm", "ub"), "B, C # 8, E", "C, B, E", 1, "loop("),
        (("gm", "ub"), "B, D # 8, E # 32", "B, D, E #{0} 24", 1, "pad("),
        (("ub", "gm"), "B, D, E", "D, B, E # 24", 1, "mte_ub_gm"),
    ],
)
def test_a_move_becomes_the_fewest_copies_and_is_proved(
    tiers: tuple[str, str], source: str, dest: str, issues: int, text: str
) -> None:
    plan = read_plan_text(PLAN.format(tiers[0], source, tiers[1], dest))
    found = synthesize_copies(plan, "move")
    assert found["issues"] == issues
    assert text in found["kernel"]
    assert found["optimal"]
    assert found["bound"] == issues
    assert set(found["readings"]) >= {"pad-extent=gap", "tail=untouched"}


@pytest.mark.parametrize(
    ("dest", "said"),
    [
        ("B, D # 9", "no multiple of 32"),
        ("B, E #{0} 96", "63 at most"),
        ("B, E, A % 2 # 3", "source does not have|no multiple"),
    ],
)
def test_a_tile_that_no_copy_can_fill_is_refused_with_its_reason(dest: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        synthesize_copies(read_plan_text(PLAN.format("gm", "B, E" if "E" in dest else "B, D", "ub", dest)), "move")


def test_words_are_what_the_text_sets_and_equal_to_those_of_the_first_registers() -> None:
    text = """func.func @k(%a: !pto.ptr<f32, gm>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %three = arith.constant 3 : i64
  %l = arith.constant 96 : i64
  %s = arith.constant 192 : i64
  %off = arith.constant false
  %b = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  pto.set_loop_size_outtoub FIRST, SECOND : i64, i64
  pto.set_loopNUMBER_stride_outtoub %s, %l : i64, i64
  pto.copy_gm_to_ubuf %a, %b, %z, %one, %l, %z, %z, %off, %z, %l, %l : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64
  pto.set_loop_size_outtoub %one, %one : i64, i64
  return
}
"""  # noqa: E501
    made = []
    for number, first, second in ((1, "%three", "%one"), (2, "%one", "%three")):
        filled = text.replace("FIRST", first).replace("SECOND", second).replace("NUMBER", str(number))
        _, (function,) = read_kernels(Source("k.mlir", filled))
        (copy,) = meaning_of(function, Setting()).copies
        made.append(fields_of(copy))
        assert (made[-1]["loop1"], made[-1]["loop2"]) == ((3, 1) if number == 1 else (1, 3))
        assert (made[-1][f"loop{number}_gm"], made[-1][f"loop{number}_ub"]) == (192, 96)
        assert made[-1][f"loop{3 - number}_gm"] == 0
    assert made[0] != made[1]
    assert canonical(made[0]) == canonical(made[1])
