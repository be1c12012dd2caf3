"""The cost of a kernel in its symbols: the same as that of its numbers, and as what a run counts."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.draws import counted
from lab.kernel_text import DrawnKernel
from lab.kernels import kernel_of

from dmaverify.cost.amounts import Add, AmountsAt, Of, Scaled, added, grows
from dmaverify.errors import InputError, Source
from dmaverify.jobs.kernel_prices import cost_text, kernel_cost, priced, values_of
from dmaverify.language.affine import Lin, World
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.named import NamedFunction, named_in
from dmaverify.machines.pto.surfaces import in_surface

PING_PONG = Path(__file__).resolve().parents[2] / "examples" / "pto" / "ping-pong.mlir"
GU = "!pto.ptr<f32, gm>, !pto.ptr<f32, ub>"
HEAD = "".join(f"  %c{n} = arith.constant {n} : i64\n" for n in (0, 1, 2, 4, 32, 36, 64, 96, 128, 256, 512, 2048))
HEAD += "  %x0 = arith.constant 0 : index\n  %x1 = arith.constant 1 : index\n  %x8 = arith.constant 8 : index\n"
HEAD += "  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>\n"
LOAD = f"  pto.mte_gm_ub {{2}}, %u, %c0, {{0}} nburst({{1}})\n    : {GU}, i64, i64, i64, i64, i64\n"


def load(length: str, rows: str, source: str = "%a") -> str:
    return LOAD.format(length, rows, source)


def named(body: str, notes: str = "") -> NamedFunction:
    args = "%a: !pto.ptr<f32, gm>, %n: i64, %m: i64, %i: index"
    (one,) = named_in(Source("k.mlir", f"{notes}func.func @k({args}) {{\n{HEAD}{body}  return\n}}\n"))
    return one


def cost(body: str, notes: str = "", **given: int) -> dict[str, Any]:
    return kernel_cost(named(body, notes), given, explain=True)


def counts(data: dict[str, Any], name: str) -> float:
    return sum(t["count"] for t in data["terms"] if t["name"].endswith(name))


# ---------------------------------------------------------------- the same as numbers


def with_arguments(rng: random.Random, kernel: DrawnKernel) -> tuple[str, dict[str, int]]:
    """The text with some of its constants as arguments, and their values."""
    text = kernel.text()
    values: dict[str, int] = {}
    for line in re.findall(r"^  %[kt]\d+ = arith.constant \d+ : \w+\n", text, re.MULTILINE):
        name, number, kind = re.match(r"  %(\w+) = arith.constant (\d+) : (\w+)", line).groups()  # type: ignore[union-attr]
        if int(number) > 1 and rng.random() < 0.4:
            text = text.replace(line, "").replace("@kernel(", f"@kernel(%{name}: {kind}, ")
            values[name] = int(number)
    return text, values


@pytest.mark.parametrize("seed", range(3))
def test_a_formula_at_values_is_the_cost_of_the_kernel_with_these_numbers(seed: int) -> None:
    rng = random.Random(seed)
    exact = 0
    for _ in range(25):
        kernel = kernel_of(rng)
        text, values = with_arguments(rng, kernel)
        (constant,), (symbolic,) = (named_in(Source("k.mlir", t)) for t in (kernel.text(), text))
        whole, at = kernel_cost(constant, {}), kernel_cost(symbolic, values)
        for one, other in zip(whole["terms"], at["terms"], strict=True):
            assert one["bound"] == "exact" or kernel.bits < 64
            if other["bound"] == one["bound"] == "exact":
                assert other["cycles"] == pytest.approx(one["cycles"]), (one["name"], values)
                exact += 1
            else:
                assert other["cycles"] >= one["cycles"]
                assert "at most" in other["why"]
    assert exact > 100


def test_both_surfaces_cost_the_same() -> None:
    rng = random.Random(4)
    for _ in range(20):
        kernel = kernel_of(rng)
        (one,) = named_in(Source("k.mlir", kernel.text()))
        (other,) = named_in(Source("o.mlir", in_surface([one], "registers" if kernel.inline else "inline")))
        assert kernel_cost(one, {})["pipes"] == kernel_cost(other, {})["pipes"]


@pytest.mark.parametrize("count", counted(20, 60))
def test_issues_blocks_and_lines_are_those_of_a_run(count: int) -> None:
    rng = random.Random(9)
    for _ in range(count):
        kernel = kernel_of(rng)
        (one,) = named_in(Source("k.mlir", kernel.text()))
        data = kernel_cost(one, {})
        run = run_kernel(one.function, kernel.tensors)
        tiles = dict(enumerate((p for p in (*kernel.before, *kernel.body) if hasattr(p, "length")), 1))
        lines = blocks = 0
        for number, source, reads, writes in ((c.number, c.ends[0][0], c.reads, c.data) for c in run.copies):
            tile: Any = tiles[number]
            rows = (reads if source != "ub" else writes).reshape(-1, tile.length)
            lines += sum(len(np.unique(row // 512)) for row in rows)
            pad = sum(tile.pad) * kernel.item if tile.pad else 0
            packed = tile.kind == "load" and tile.pad is None and tile.ub_pitch == tile.length and tile.length % 32
            assert not packed or tile.rows == 1
            blocks += len(rows) * -(-(tile.length + pad) // 32) * 32
        assert (counts(data, "issue"), counts(data, "lines")) == (len(run.copies), lines)
        assert counts(data, "buffer") == blocks


# ---------------------------------------------------------------- forms


@pytest.mark.parametrize(
    ("rows", "lengths", "formula"),
    [
        ("%n, %c512, %c512", "%c512", "%n"),
        ("%n, %c2048, %c512", "%c512", "%n"),
        ("%n, %c64, %c64", "%c64", "%n"),
        ("%n, %c256, %c512", "%c512", "floor((%n + 1) / 2) + 2 * floor(%n / 2)"),
        ("%c4, %c2048, %n", "%m", "4 * floor((%m + 511) / 512)"),
    ],
)
def test_lines_are_exact_where_rows_repeat_their_start(rows: str, lengths: str, formula: str) -> None:
    data = cost(load(lengths, rows))
    (term,) = [t for t in data["terms"] if t["name"].endswith("lines")]
    assert term["bound"] == "exact"
    assert term["formula"] == f"512 * {f'({formula})' if ' + 2' in formula else formula} / 58.56"


@pytest.mark.parametrize("rows", ["%n, %c36, %c64", "%n, %m, %c64"])
def test_lines_of_rows_at_open_places_are_bounded_and_say_so(rows: str) -> None:
    data = cost(load("%c32", rows))
    (term,) = [t for t in data["terms"] if t["name"].endswith("lines")]
    assert term["bound"] == "at most"
    assert term["why"].startswith("at most")
    for n in (1, 2, 15, 40):
        for m in (32, 36, 500):
            stride = 36 if "c36" in rows else m
            true = sum((r * stride + 31) // 512 - r * stride // 512 + 1 for r in range(n))
            found = cost(load("%c32", rows), n=n, m=m) if "%m" in rows else cost(load("%c32", rows), n=n)
            assert counts(found, "lines") >= true


NEST = """  scf.for %j = %x0 to %i step %x1 {{
    scf.for %k = {0} to {1} step %x1 {{
  {2}    }}
  }}
"""


@pytest.mark.parametrize(
    ("low", "high", "count"),
    [
        ("%x0", "%x8", lambda i: 8 * i),
        ("%x0", "%i", lambda i: i * i),
        ("%x0", "%j", lambda i: i * (i - 1) // 2),
        ("%j", "%i", lambda i: i * (i + 1) // 2),
    ],
)
def test_nested_loops_multiply_and_those_that_depend_on_each_other_are_summed(low: str, high: str, count: Any) -> None:
    body = NEST.format(low, high, load("%c32", "%c1, %c0, %c0"))
    notes = "// dmaverify: assume %i in 0..50\n"
    assert all("sum(" not in t["formula"] for t in cost(body, notes)["terms"])
    for i in (1, 5):
        assert counts(cost(body, notes, i=i), "issue") == count(i)


def test_a_sum_without_closed_form_is_written_as_a_sum_and_counted_one_by_one() -> None:
    rows = "    %q = arith.index_cast %j : index to i64\n    %s = arith.remui %q, %c4 : i64\n"
    rows += "    %r = arith.addi %s, %c1 : i64\n"
    body = "  scf.for %j = %x0 to %i step %x1 {\n" + rows + load("%c32", "%r, %c512, %c32") + "  }\n"
    data = cost(body)
    (buffer,) = [t for t in data["terms"] if t["name"].endswith("buffer")]
    assert buffer["formula"].startswith("sum(")
    assert counts(cost(body, i=6), "buffer") == 32 * (1 + 2 + 3 + 4 + 1 + 2)


BRANCH = "  %w = arith.cmpi slt, %n, %m : i64\n  scf.if %w {{\n{0}  }} else {{\n{1}  }}\n"


def test_a_branch_counts_its_larger_arm_and_names_both() -> None:
    body = BRANCH.format(load("%c512", "%c4, %c512, %c512"), load("%c512", "%c1, %c512, %c512"))
    data = cost(body)
    assert data["formula"]["MTE2"].startswith("max(")
    assert [t.get("arm") for t in data["terms"]][::3] == ["if %n < %m", "unless %n < %m"]
    few, many = cost(body, n=2, m=1)["cycles"], cost(body, n=1, m=2)["cycles"]
    assert many - few == pytest.approx(3 * 512 / 256 + 3 * 512 / 58.56)


def test_a_condition_on_the_counter_is_counted_iteration_by_iteration() -> None:
    inner = "    %w = arith.cmpi slt, %j, %x1 : index\n    scf.if %w {\n" + load("%c32", "%c1, %c0, %c0") + "    }\n"
    body = "  scf.for %j = %x0 to %i step %x1 {\n" + inner + "  }\n"
    assert counts(cost(body, i=7), "issue") == 1


# ---------------------------------------------------------------- values and ranges


ROWS_IN_ROWS = (
    "  scf.for %j = %x0 to %i step %x1 {{\n    scf.for %l = %x0 to {0} step %x1 {{\n"
    "      %q = arith.muli %l, %l : index\n      %r = arith.remui %q, %x8 : index\n"
    "      %w = arith.cmpi ult, %r, %x1 : index\n      scf.if %w {{\n" + load("%c32", "%c1, %c0, %c0")
    + "      }}\n    }}\n  }}\n"
)  # fmt: skip


@pytest.mark.parametrize(("count", "said"), [(60, ""), (70, "iterations are not computed")])
def test_sums_in_sums_are_taken_over_so_many_iterations_in_all(
    count: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dmaverify.cost.amounts.MOST_ITERATIONS", 4500)
    body = ROWS_IN_ROWS.format("%j")
    if said:
        with pytest.raises(InputError, match=said):
            cost(body, i=count)
    else:
        assert counts(cost(body, i=count), "issue") == sum(-(-n // 4) for n in range(count))
    inside = f"// dmaverify: assume %i in 1..{count}\n"
    data = cost(body, inside)
    assert data["cycles"] is None
    assert ("range" in data) is not bool(said), "the formula is told without its ends"
    assert "(1 if (%l * %l mod 8) < 1 else 0)" in data["formula"]["MTE2"]


def test_a_stated_range_gives_both_ends_and_whether_it_grows() -> None:
    (data,) = [kernel_cost(one, {}) for one in named_in(Source("k.mlir", PING_PONG.read_text(encoding="utf-8")))]
    assert data["cycles"] is None
    assert data["range"]["monotone"]
    ends = [data["range"][side] for side in ("low", "high")]
    assert [end["at"] for end in ends] == [{"%n": 1}, {"%n": 64}]
    assert ends[1]["cycles"] == pytest.approx(64 * ends[0]["cycles"])
    assert "it grows with" in cost_text(data, formula=True, explain=False)
    at = priced(str(PING_PONG), as_json=True, values=("n=64",))
    assert at["cycles"] == pytest.approx(ends[1]["cycles"])


def test_a_product_grows_with_a_symbol_only_where_the_other_factor_is_not_negative() -> None:
    world = World()
    n, m = world.free("n", 0, 9), world.free("m", None, None)
    for other, rises in ((m, True), (m - 5, False), (m * -1, False), (world.times(m, m - 5), False)):
        assert grows(Of(world.times(n, other)), world, "n") is rises


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (("n",), "gives no value"),
        (("n=--5",), "gives no value"),
        (("=5",), "gives no value"),
        (("q=3",), "no argument `q`"),
        (("n=65",), "outside of the range 1..64"),
    ],
)
def test_values_that_mean_nothing_are_refused(values: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        priced(str(PING_PONG), as_json=False, values=values)
    assert values_of(("n=1,m=2",)) == {"n": 1, "m": 2}


def test_sympy_reads_every_formula() -> None:
    import sympy

    rows = BRANCH.format(load("%m", "%n, %c256, %c512"), load("%c32", "%c4, %c36, %c64"))
    for n, m in ((3, 40), (9, 4), (16, 1024)):
        data = cost(rows, n=n, m=m)
        for pipe, text in data["sympy"].items():
            found = sympy.sympify(text).subs({"n": n, "m": m})
            assert float(found) == pytest.approx(data["pipes"][pipe])


# ---------------------------------------------------------------- advice


def told(body: str, notes: str = "") -> list[tuple[bool, str]]:
    return [(a["proved"], a["text"]) for a in cost(body, notes)["advice"]]


def test_rows_that_follow_each_other_are_one_row_and_that_is_proved() -> None:
    ((proved, text),) = told(load("%c64", "%c4, %c64, %c64"))
    assert proved
    assert "rows of 256 bytes" in text
    assert "3 lines less" in text
    assert told(load("%c512", "%c4, %c2048, %c512")) == []


def test_a_loop_around_a_copy_is_a_loop_of_the_copy_and_that_is_proved() -> None:
    inner = "    %q = arith.index_cast %j : index to i64\n    %o = arith.muli %q, %c512 : i64\n"
    inner += "    %p = pto.addptr %a, %o : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>\n"
    inner += "    %t = pto.addptr %u, %o : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>\n"
    copy = load("%c512", "%c2, %c512, %c512", "%p").replace("%u", "%t")
    body = "  scf.for %j = %x0 to %x8 step %x1 {\n" + inner + copy + "  }\n"
    found = told(body)
    assert any(p and "7 issues less" in t for p, t in found)
    many = told(body.replace("%x8", "%i"), "// dmaverify: assume %i in 1..8\n")
    assert any(p and "1 instead of %i issues (" in t for p, t in many)


@pytest.mark.parametrize(("least", "most", "proved"), [(1, 8, True), (0, 8, False), (1, 1, None), (0, 1, None)])
def test_a_loop_that_may_not_run_is_no_count_of_a_copy(least: int, most: int, proved: bool | None) -> None:
    """A count of 0 is not defined; and a loop that runs once at most has nothing to save."""
    inner = "    %q = arith.index_cast %j : index to i64\n    %o = arith.muli %q, %c512 : i64\n"
    inner += "    %p = pto.addptr %a, %o : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>\n"
    inner += "    %t = pto.addptr %u, %o : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>\n"
    copy = load("%c512", "%c2, %c512, %c512", "%p").replace("%u", "%t")
    body = "  scf.for %j = %x0 to %i step %x1 {\n" + inner + copy + "  }\n"
    found = told(body, f"// dmaverify: assume %i in {least}..{most}\n")
    levels = [sure for sure, text in found if "instead of" in text]
    assert levels == ([] if proved is None else [proved])


def test_what_only_a_larger_field_could_hold_is_a_question() -> None:
    found = told(load("%c64", "%n, %c64, %c64"))
    assert found
    assert not any(proved for proved, _ in found)


def test_blocks_and_lines_that_are_not_whole_are_questions() -> None:
    found = told(load("%c36", "%c4, %c512, %c64"))
    assert [proved for proved, _ in found] == [False, False]
    assert "28 bytes of each" in found[0][1]
    assert "longer runs" in found[1][1]


BLOCKS = Path(__file__).resolve().parents[2] / "examples" / "pto" / "blocks.registers.mlir"


@pytest.mark.parametrize("rows", [1, 15, 16, 17, 32, 1000, 4096])
def test_blocks_of_which_the_last_is_shorter_are_all_the_rows(rows: int) -> None:
    text = BLOCKS.read_text()
    (one,) = named_in(Source("k.mlir", text))
    data = kernel_cost(one, {})
    formulas = {t["name"]: (t["formula"], t["bound"]) for t in data["terms"]}
    assert formulas["line 22 buffer"] == ("256 * %rows / 256", "exact")
    assert formulas["line 22 lines"] == ("512 * %rows / 58.56", "exact")  # rows of 256 bytes begin on lines of 512
    number = f"  %rows = arith.constant {rows} : i64\n"
    fixed = text.replace(", %rows: i64)", ")").replace("  %c0 = ", f"{number}  %c0 = ", 1)
    (other,) = named_in(Source("k.mlir", fixed.replace("// dmaverify: assume %rows in 1..4096\n", "")))
    by_name = kernel_cost(one, {"rows": rows})["pipes"], kernel_cost(other, {})["pipes"]
    assert by_name[0] == pytest.approx(by_name[1])


def test_as_many_parts_alike_are_one_so_many_times() -> None:
    """A kernel of 1,000 equal copies in a loop of 1,000 rounds asks for 1,000 values, not for a million."""
    world = World()
    one, other = Of(world.free("n", 0, 9)), Of(Lin(3))
    many = added([one] * 100 + [other])
    assert isinstance(many, Add)
    assert many.parts == (Scaled(one, 100), other)
    at = AmountsAt(world, {"n": Lin(2)})
    assert at.value(many) == at.value(Add((one,) * 100 + (other,))) == 203


@pytest.mark.parametrize(("notes", "supposed"), [("", True), ("// dmaverify: assume %n in 0..64\n", False)])
def test_a_price_in_symbols_says_what_they_were_supposed_to_be(notes: str, supposed: bool) -> None:
    """A quotient is cut off towards zero: below it the price would be another one."""
    half = "  %h = arith.divsi %n, %c2 : i64\n  %p = arith.maxsi %h, %c1 : i64\n"
    data = cost(half + load("%c512", "%p, %c512, %c512"), notes)
    said = "`%h` divides a value that is not negative"
    assert (said in data.get("supposes", ())) == supposed
    assert (f"supposed: {said}" in cost_text(data, formula=False, explain=False)) == supposed
