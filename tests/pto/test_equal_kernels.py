"""`equiv` and `emit` on kernels: what is the same in another form, what is not, and at which values it shows."""

from __future__ import annotations

import importlib.util
import random
import re
import sys
from pathlib import Path

import pytest
from lab.draws import rest
from lab.kernels import kernel_of, mutant_of

from dmaverify.api import check
from dmaverify.errors import InputError, Source
from dmaverify.jobs.kernels import same_kernels
from dmaverify.jobs.same_kernels import same_functions
from dmaverify.machines.pto.check import check_file
from dmaverify.machines.pto.named import NamedFunction, named_in
from dmaverify.machines.pto.surfaces import in_surface
from dmaverify.prove.flow.equality.same_events import compare_events
from dmaverify.prove.sameness import Sameness

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples" / "pto").glob("*.mlir"))
NUMBERS = (0, 1, 2, 3, 4, 6, 7, 16, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048)
HEAD = "".join(f"  %c{n} = arith.constant {n} : i64\n" for n in NUMBERS) + "".join(
    f"  %x{n} = arith.constant {n} : index\n" for n in (0, 1, 2, 4)
)
HEAD += "  %off = arith.constant false\n  %on = arith.constant true\n  %z = arith.constant 0.0 : f32\n"
HEAD += "  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>\n"
GU, UG = "!pto.ptr<f32, gm>, !pto.ptr<f32, ub>", "!pto.ptr<f32, ub>, !pto.ptr<f32, gm>"
ARGS = "%a: !pto.ptr<f32, gm>, %b: !pto.ptr<f32, gm>, %n: i64, %m: i64"


def named(body: str, args: str = ARGS, notes: str = "") -> NamedFunction:
    (one,) = named_in(Source("k.mlir", f"{notes}func.func @k({args}) {{\n{HEAD}{body}  return\n}}\n"))
    return one


def load(length: str, *groups: str, source: str = "%a", dest: str = "%u") -> str:
    loops = " ".join(f"{'loop' if i else 'nburst'}({g})" for i, g in enumerate(groups))
    return f"  pto.mte_gm_ub {source}, {dest}, %c0, {length} {loops}\n    : {GU}, i64, i64, i64, i64, i64\n"


def compare(one: str, other: str, notes: str = "") -> Sameness:
    return same_functions(named(one, notes=notes), named(other, notes=notes))


LOOP = """  scf.for %i = %x0 to {count} step %x1 {{
    %k = arith.index_cast %i : index to i64
    %o = arith.muli %k, {step} : i64
    %p = pto.addptr %a, %o : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    %q = pto.addptr %u, %o : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
  {body}  }}
"""


def looped(body: str, count: str = "%x4", step: str = "%c64") -> str:
    return LOOP.format(count=count, step=step, body=body.replace("\n", "\n  ").rstrip(" "))


ABS = (
    '  pto.vecscope {\n    %k = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>\n'
    "    %v = pto.vlds %u[%x0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>\n"
    "    %w = pto.vabs %v, %k : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>\n"
    "    pto.vsts %w, %u[%x0], %k : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>\n  }\n"
)
INDEX_N = "  %in = arith.index_cast %n : i64 to index\n"
SAME = {
    "rows that follow each other are one row": (load("%c64", "%n, %c64, %c64"), load("%l", "%c1, %c0, %c0")),
    "loops that continue each other are one": (
        load("%c32", "%c4, %c64, %c64", "%n, %c256, %c256"),
        load("%c32", "%r, %c64, %c64"),
    ),
    "a loop of one iteration is none": (
        load("%c32", "%n, %c64, %c64", "%c1, %c7, %c3"),
        load("%c32", "%n, %c64, %c64"),
    ),
    "the order of loops whose rows are apart": (
        load("%c32", "%c4, %c128, %c32", "%c3, %c512, %c128"),
        load("%c32", "%c3, %c512, %c128", "%c4, %c128, %c32"),
    ),
    "the order of loops with a count that is open": (
        load("%c32", "%c4, %c128, %c32", "%n, %c512, %c128"),
        load("%c32", "%n, %c512, %c128", "%c4, %c128, %c32"),
    ),
    "a loop of software around a copy is a level of it": (
        looped(load("%c64", "%n, %c2048, %c1024", source="%p", dest="%q")),
        load("%c64", "%n, %c2048, %c1024", "%c4, %c256, %c256"),
    ),
    "so is one whose count is open": (
        INDEX_N + looped(load("%c64", "%c2, %c128, %c128", source="%p", dest="%q"), "%in"),
        load("%c64", "%c2, %c128, %c128", "%n, %c256, %c256"),
    ),
    "a loop and its iterations": (
        looped(load("%c64", "%n, %c2048, %c1024", source="%p", dest="%q"), "%x2"),
        load("%c64", "%n, %c2048, %c1024")
        + "  %p = pto.addptr %a, %c64 : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>\n"
        + "  %q = pto.castptr %c256 : i64 -> !pto.ptr<f32, ub>\n"
        + load("%c64", "%n, %c2048, %c1024", source="%p", dest="%q"),
    ),
    "two copies that are one": (
        load("%c64", "%c2, %c64, %c64"),
        load("%c64", "%c1, %c0, %c0")
        + "  %p = pto.addptr %a, %c16 : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>\n"
        + "  %q = pto.castptr %c64 : i64 -> !pto.ptr<f32, ub>\n"
        + load("%c64", "%c1, %c0, %c0", source="%p", dest="%q"),
    ),
    "products and shifts": (
        "  %s = arith.muli %n, %c4 : i64\n" + load("%c32", "%s, %c64, %c64"),
        "  %s = arith.shli %n, %c2 : i64\n" + load("%c32", "%s, %c64, %c64"),
    ),
    "the smaller of two, compared or asked for": (
        "  %s = arith.minsi %n, %c64 : i64\n" + load("%c32", "%s, %c64, %c64"),
        "  %w = arith.cmpi slt, %c64, %n : i64\n  %s = arith.select %w, %c64, %n : i64\n"
        + load("%c32", "%s, %c64, %c64"),
    ),
    "what is left of rows in a block": (
        "  %h = arith.subi %m, %n : i64\n  %s = arith.minsi %h, %c64 : i64\n" + load("%c32", "%s, %c64, %c64"),
        "  %e = arith.addi %n, %c64 : i64\n  %w = arith.cmpi sgt, %e, %m : i64\n  %h = arith.subi %m, %n : i64\n"
        "  %s = arith.select %w, %h, %c64 : i64\n" + load("%c32", "%s, %c64, %c64"),
    ),
    "pointers by two steps or one": (
        "  %p = pto.addptr %a, %n : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>\n"
        "  %p2 = pto.addptr %p, %n : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>\n"
        + load("%c32", "%c2, %c64, %c64", source="%p2"),
        "  %t = arith.muli %n, %c2 : i64\n  %p = pto.addptr %a, %t : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>\n"
        + load("%c32", "%c2, %c64, %c64", source="%p"),
    ),
    "registers that change nothing": (
        load("%c32", "%n, %c64, %c64"),
        ("  pto.set_mov_pad_val %z : f32\n  pto.set_loop_size_outtoub %c4, %c3 : i64, i64\n"
        "  pto.set_loop2_stride_outtoub %c64, %c64 : i64, i64\n  pto.set_loop_size_outtoub %c1, %c1 : i64, i64\n"
        "  pto.copy_gm_to_ubuf %a, %u, %c0, %n, %c32, %c0, %c0, %off, %c0, %c64, %c64\n"
        f"    : {GU}, i64, i64, i64, i64, i64, i1, i64, i64, i64\n"
        "  pto.set_loop_size_outtoub %c1, %c1 : i64, i64\n"),
    ),
    "a condition and its contrary": (
        "  %w = arith.cmpi slt, %n, %m : i64\n  scf.if %w {\n" + load("%c32", "%n, %c64, %c64") + "  } else {\n"
        + load("%c64", "%m, %c64, %c64") + "  }\n",
        "  %w = arith.cmpi sge, %n, %m : i64\n  scf.if %w {\n" + load("%c64", "%m, %c64, %c64") + "  } else {\n"
        + load("%c32", "%n, %c64, %c64") + "  }\n",
    ),
    "the block index, asked for twice": (
        "  %i = pto.get_block_idx\n  %p = pto.addptr %a, %i : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>\n"
        + load("%c32", "%n, %c64, %c64", source="%p"),
        "  %other = pto.get_block_idx\n  %this = pto.get_block_idx\n"
        "  %p = pto.addptr %a, %this : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>\n"
        + load("%c32", "%n, %c64, %c64", source="%p"),
    ),
}  # fmt: skip
NEEDS = "  %l = arith.muli %n, %c64 : i64\n  %r = arith.muli %n, %c4 : i64\n"


@pytest.mark.parametrize("name", SAME)
def test_the_same_in_another_form_is_equal(name: str) -> None:
    one, other = (NEEDS + text for text in SAME[name])
    for a, b in ((one, other), (other, one)):
        found = compare(a, b)
        assert found.status == "proved", found


DIFFERENT = {
    "one row more": (
        load("%c32", "%n, %c64, %c64"),
        "  %s = arith.addi %n, %c1 : i64\n" + load("%c32", "%s, %c64, %c64"),
    ),
    "another stride": (load("%c32", "%n, %c64, %c64"), load("%c32", "%n, %c96, %c64")),
    "rows that do not follow each other": (load("%c64", "%n, %c64, %c96"), load("%l", "%c1, %c0, %c0")),
    "the smaller and the larger of two": (
        "  %s = arith.minsi %n, %c64 : i64\n" + load("%c32", "%s, %c64, %c64"),
        "  %s = arith.maxsi %n, %c64 : i64\n" + load("%c32", "%s, %c64, %c64"),
    ),
    "a limit that only large values meet": (
        "  %s = arith.minsi %n, %c64 : i64\n" + load("%c32", "%s, %c64, %c64"),
        load("%c32", "%n, %c64, %c64"),
    ),
    "two arguments": (load("%c32", "%n, %c64, %c64"), load("%c32", "%m, %c64, %c64")),
    "the tail of a row": (load("%c48", "%c1, %c64, %c64"), load("%c64", "%c1, %c64, %c64")),
    "a loop that begins one later": (
        looped(load("%c64", "%c1, %c0, %c0", source="%p", dest="%q")),
        looped(load("%c64", "%c1, %c0, %c0", source="%p", dest="%q")).replace("= %x0 to", "= %x1 to"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_moves_other_bytes_is_different_and_says_which_byte(name: str) -> None:
    one, other = (NEEDS + text for text in DIFFERENT[name])
    found = compare(one, other)
    assert found.status == "refuted", found
    assert "byte " in found.why
    assert len(found.places) == 2
    assert bool(found.witness) == ("%n" in DIFFERENT[name][0] + DIFFERENT[name][1])


def test_values_at_which_kernels_part_are_small_and_within_their_range() -> None:
    one, other = DIFFERENT["a limit that only large values meet"]
    found = compare(one, other)
    assert (found.witness or {})["arg2"] > 64
    assert compare(one, other, "// dmaverify: assume %n in 1..64\n").status == "proved"
    assert compare(one, other, "// dmaverify: assume %n in 1..65\n").status == "refuted"


def test_ranges_without_a_common_value_prove_nothing() -> None:
    body = load("%c32", "%n, %c64, %c64")
    one, other = (named(body, notes=f"// dmaverify: assume %n in {r}\n") for r in ("1..4", "5..9"))
    assert same_functions(one, other).status == "unknown"


def test_rows_that_collide_are_only_equal_in_their_own_order() -> None:
    collide = load("%c32", "%c4, %c128, %c32", "%n, %c512, %c32")
    assert compare(collide, collide).status == "proved"
    turned = load("%c32", "%n, %c512, %c32", "%c4, %c128, %c32")
    assert compare(collide, turned).status != "proved"


def test_a_value_that_nothing_defines_is_never_taken_for_another() -> None:
    body = "  %w = foo.bar : i1\n  scf.if %w {\n" + load("%c32", "%n, %c64, %c64") + "  }\n"
    found = compare(body, body.replace("foo.bar", "foo.other"))
    assert found.status == "unknown"
    assert "nothing here defines" in found.why


VECTOR = """  pto.vecscope {{
    %v = pto.vlds %u[{0}] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
    %w = {1} %v : !pto.vreg<64xf32>
    pto.vsts %w, %u[%x0] : !pto.vreg<64xf32>, !pto.ptr<f32, ub>
  }}
"""


def test_names_that_a_fragment_leaves_open_mean_the_same_in_another() -> None:
    text = "pto.mte_gm_ub %gm, %ub, %c0_i64, %c64_i64 nburst(%n, %c64_i64, %c64_i64)\n"
    text += f"  : {GU}, i64, i64, i64, i64, i64\n"
    (one,), (other,) = (named_in(Source("f.mlir", t)) for t in (text, text.replace("%n", "%m")))
    assert same_functions(one, one).status == "proved"
    assert same_functions(one, other).status == "refuted"
    for surface in ("inline", "registers"):
        assert same_functions(one, back(one, surface)[1]).status == "proved"


def test_what_cannot_be_resolved_is_unknown_at_its_line() -> None:
    body = "  %q = arith.shli %n, %m : i64\n" + load("%c32", "%q, %c64, %c64")
    found = compare(body, body)
    assert (found.status, found.places[0].line) == ("unknown", 29)


def test_vector_accesses_and_operations_are_compared() -> None:
    one = VECTOR.format("%x0", "pto.vabs")
    assert compare(one, one).status == "proved"
    assert (
        compare(one, VECTOR.format("%x4", "pto.vabs")).status == "unknown"
    )  # it reads another place: no byte shows it
    other = compare(one, VECTOR.format("%x0", "pto.vexp"))
    assert other.status == "unknown"
    assert "pto.vabs and pto.vexp are not the same work" in other.why
    two = "    %v = pto.vlds %u[%x0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>\n" * 2
    two = "  pto.vecscope {{\n" + two.replace("%v", "%y", 1) + "    %w = pto.vsub {0}, %v : !pto.vreg<64xf32>\n  }}\n"
    assert compare(two.format("%y"), two.format("%y").replace("%y", "%other")).status == "proved"
    assert compare(two.format("%y"), two.format("%v")).status == "unknown"
    scaled = one.replace("pto.vabs %v", "pto.vmuls %v, %f")
    both = [f"  %f = arith.constant {number} : f32\n{scaled}" for number in ("2.0", "3.0")]
    assert compare(both[0], both[0]).status == "proved"
    assert compare(both[0], both[1]).status == "unknown"


def test_work_in_another_order_is_no_difference_and_a_byte_that_one_alone_writes_is() -> None:
    loads = [f"    %v{x} = pto.vlds %u[%x{x}] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>\n" for x in (0, 4)]
    scope = "  pto.vecscope {{\n{}  }}\n"
    ordered, turned = (scope.format("".join(lines)) for lines in (loads, loads[::-1]))
    assert compare(ordered, turned).status == "unknown"
    assert compare(ordered, scope.format(loads[0])).status == "unknown"
    one = VECTOR.format("%x0", "pto.vabs")
    stores = [f"    pto.vsts %w, %u[%x{x}] : !pto.vreg<64xf32>, !pto.ptr<f32, ub>\n" for x in (0, 4)]
    twice = [one.replace(stores[0], "".join(lines)) for lines in (stores, stores[::-1])]
    assert compare(*twice).status == "unknown"
    found = compare(one, one.replace("%w, %u[%x0]", "%w, %u[%x4]"))
    assert found.status == "refuted"
    assert "byte 0 of ub is written in the first, never in the second" in found.why


ALL_LANES = '%a = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>\n'
CHOSEN = '    %m = pto.vcmp %v, %v, %a, "lt" : {0}, {0}, {1} -> {1}'.format("!pto.vreg<64xf32>", "!pto.mask<b32>")


@pytest.mark.parametrize(("mask", "status"), [(ALL_LANES, "refuted"), (ALL_LANES + CHOSEN, "unknown")])
def test_a_byte_that_one_kernel_only_may_write_is_no_difference(mask: str, status: str) -> None:
    one = VECTOR.format("%x0", "pto.vabs")
    line = "    pto.vsts %w, %u[%x{0}], {1} : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>\n"
    texts = [
        one.replace("  }\n", f"    {mask}\n{line.format(x, '%m' if CHOSEN in mask else '%a')}  }}\n") for x in (0, 4)
    ]
    assert compare(texts[1], texts[0]).status == status


def test_work_that_only_one_kernel_does_is_told() -> None:
    one = VECTOR.format("%x0", "pto.vabs")
    found = compare(one, one.replace("    pto.vsts", "    %t = pto.vexp %w : !pto.vreg<64xf32>\n    pto.vsts"))
    assert (found.status, len(found.places)) == ("unknown", 2)


def test_flags_are_compared_in_their_order() -> None:
    flags = [f'  pto.{a}_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID{i}"]\n' for a in ("set", "wait") for i in (0, 1)]
    one, body = "".join(flags), load("%c32", "%n, %c64, %c64")
    assert compare(body + one, body + one).status == "proved"
    for other in (flags[1] + flags[0] + "".join(flags[2:]), one.replace("PIPE_V", "PIPE_MTE3"), "".join(flags[:3])):
        assert compare(body + one, body + other).status == "refuted"
    assert compare(body + one, one + body).status == "refuted"


# ---------------------------------------------------------------- both surfaces


@pytest.mark.parametrize(
    ("one", "other"),
    [("pto.wait_flag_dev 3", "pto.wait_flag_dev 5"), ("pto.sync.set <PIPE_MTE3>, 4", "pto.sync.set <PIPE_MTE3>, 5")],
)
def test_flags_of_another_core_are_compared_by_their_numbers(one: str, other: str) -> None:
    assert compare(f"  {one}\n", f"  {one}\n").status == "proved"
    assert compare(f"  {one}\n", f"  {other}\n").status == "refuted"


def back(one: NamedFunction, surface: str) -> tuple[str, NamedFunction]:
    text = in_surface([one], surface)
    (other,) = named_in(Source("other.mlir", text))
    return text, other


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
@pytest.mark.parametrize("surface", ["inline", "registers"])
def test_every_example_is_the_same_in_both_surfaces(path: Path, surface: str) -> None:
    source = Source(str(path), path.read_text(encoding="utf-8"))
    for one in named_in(source):
        text, _ = back(one, surface)
        (other,) = [n for n in named_in(Source("other.mlir", text)) if n.name == one.name]
        found = same_functions(one, other)
        assert found.status == "proved", found
        assert text.count("//") >= source.text.count("//")


@pytest.mark.parametrize("surface", ["inline", "registers"])
@pytest.mark.parametrize("name", [*list(SAME)[::2], *rest(list(SAME)[1::2])])
def test_symbolic_operands_are_written_in_both_surfaces(name: str, surface: str) -> None:
    for body in SAME[name]:
        one = named(NEEDS + body)
        text, other = back(one, surface)
        assert ("mte_" in text) == (surface == "inline")
        assert same_functions(one, other).status == "proved"
        _, again = back(other, "inline" if surface == "registers" else "registers")
        assert same_functions(one, again).status == "proved"


def test_loops_beyond_the_registers_become_loops_of_software() -> None:
    one = named(load("%c32", "%c2, %c64, %c32", "%c3, %c128, %c64", "%c2, %c512, %c192", "%n, %c1024, %c1024",
                     "%c2, %m, %c512"))  # fmt: skip
    text, other = back(one, "registers")
    assert text.count("scf.for") == 2
    assert "arith.muli" in text
    assert same_functions(one, other).status == "proved"


def test_registers_that_were_set_elsewhere_are_written_where_they_can_be_named() -> None:
    copy = (
        "  pto.copy_gm_to_ubuf %a, %u, %c0, %n, %c32, %c0, %c0, %off, %c0, %c64, %c64\n"
        f"    : {GU}, i64, i64, i64, i64, i64, i1, i64, i64, i64\n"
    )
    inside = "  %t = arith.addi %n, %c1 : i64\n  pto.set_loop_size_outtoub %c2, %c1 : i64, i64 // two of them\n"
    inside += "  pto.set_loop1_stride_outtoub %t, %c512 : i64, i64\n"
    one = named("  scf.for %i = %x0 to %x2 step %x1 {\n" + inside + "  }\n" + copy)
    text, other = back(one, "inline")
    assert "// two of them" in text
    assert "arith.addi %n, %dv_1 : i64" in text
    assert same_functions(one, other).status == "proved"


def test_comments_between_operands_are_kept() -> None:
    body = load("%c32", "%n, %c64, %c64").replace("nburst(", "// the rows\n    nburst(")
    for surface in ("inline", "registers"):
        text, other = back(named(body), surface)
        assert "// the rows\n" in text
        assert same_functions(named(body), other).status == "proved"


def test_several_functions_of_a_file_are_written_and_compared(tmp_path: Path) -> None:
    texts = [named(load("%c32", f"{n}, %c64, %c64")).source.text.replace("@k", f"@k{n[1:]}") for n in ("%n", "%m")]
    first, second = tmp_path / "a.mlir", tmp_path / "b.mlir"
    first.write_text("".join(texts), encoding="utf-8")
    second.write_text("".join(reversed(texts)), encoding="utf-8")
    found, said = same_kernels(str(first), str(second))
    assert (found.status, found.copies) == ("proved", 2)
    assert [line.split()[:2] for line in said.split("\n")] == [["PROVED", f"`{first}::k{n}`"] for n in "nm"]
    second.write_text(texts[0], encoding="utf-8")
    with pytest.raises(InputError, match="names 2 functions"):
        same_kernels(str(first), str(second))


def modules(*functions: str) -> str:
    return "".join(f"module @m{n} {{\n{text}}}\n" for n, text in enumerate(functions))


@pytest.mark.parametrize("other", [load("%c64", "%n, %c64, %c64"), ABS.replace("vabs", "vneg")])
@pytest.mark.parametrize("which", [0, 1])
def test_functions_of_one_name_in_two_modules_are_each_compared_with_its_own(
    other: str, which: int, tmp_path: Path
) -> None:
    own = ABS if "vneg" in other else load("%c32", "%n, %c64, %c64")
    (tmp_path / "a.mlir").write_text(modules(*[named(own).source.text] * 2), encoding="utf-8")
    bodies = [own, own]
    bodies[which] = other
    (tmp_path / "b.mlir").write_text(modules(*(named(body).source.text for body in bodies)), encoding="utf-8")
    files = [str(tmp_path / name) for name in ("a.mlir", "b.mlir")]
    assert same_kernels(files[0], files[0])[0].status == "proved"
    assert same_kernels(*files)[0].status == ("unknown" if "vneg" in other else "refuted")
    assert (same_kernels(*(f"{file}::k-2" for file in files))[0].status == "proved") is (which == 0)


def test_a_name_that_two_modules_have_means_both_functions_and_each_verdict_has_its_own(tmp_path: Path) -> None:
    file = tmp_path / "a.mlir"
    texts = [named(load(length, "%c2, %c64, %c64")).source.text for length in ("%c32", "%c64")]
    file.write_text(modules(texts[0], texts[1], texts[0].replace("@k", "@l")), encoding="utf-8")
    assert [verdict.name for verdict in check_file(str(file))] == ["k", "k-2", "l"]
    assert [verdict.name for verdict in check_file(str(file), "k")] == ["k", "k-2"]
    assert [verdict.name for verdict in check_file(str(file), "k-2")] == ["k-2"]
    with pytest.raises(InputError, match="no function `k-3`"):
        check_file(str(file), "k-3")


def test_a_plan_names_one_of_two_functions_of_one_name(tmp_path: Path) -> None:
    wide = named(load("%c2048", "%c256, %c2048, %c2048")).source.text  # more than UB holds
    (tmp_path / "a.mlir").write_text(modules(named(load("%c32", "%c2, %c64, %c64")).source.text, wide))
    entries = "".join(f'[kernel.{name}]\nfile = "a.mlir"\nfunction = "{name}"\n' for name in ("k", "k-2", "k-3"))
    (tmp_path / "p.toml").write_text(f'schema = 1\ntarget = "pto"\n[axes]\n{entries}')
    verdicts = [verdict for name in ("k", "k-2") for verdict in check(f"{tmp_path}/p.toml::{name}")]
    assert [verdict.status.value for verdict in verdicts] == ["proved", "refuted"]
    (none,) = check(f"{tmp_path}/p.toml::k-3")
    assert "has no function `k-3`" in none.findings[0].message


def test_a_name_of_the_second_function_is_no_other_functions_name() -> None:
    text = modules(*(f"func.func @{name}() {{\n  return\n}}\n" for name in ("k", "k", '"k-2"', "k")))
    assert [one.name for one in named_in(Source("m.mlir", text))] == ["k", "k-3", "k-2", "k-4"]


# ---------------------------------------------------------------- campaign

SPEC = importlib.util.spec_from_file_location("pto_campaign", Path(__file__).with_name("campaign.py"))
assert SPEC is not None
assert SPEC.loader is not None
campaign = importlib.util.module_from_spec(SPEC)
sys.modules["pto_campaign"] = campaign
SPEC.loader.exec_module(campaign)


def test_constants_that_become_arguments_leave_both_surfaces_equal() -> None:
    rng = random.Random(21)
    for _ in range(7):
        kernel = kernel_of(rng)
        text = kernel.text()
        for name in re.findall(r"^  %(k\d\d+) = arith.constant \d+ : i64\n", text, re.MULTILINE):
            if rng.random() < 0.4:
                text = re.sub(rf"^  %{name} = .*\n", "", text, flags=re.MULTILINE)
                text = text.replace("@kernel(", f"@kernel(%{name}: i64, ")
        (one,) = named_in(Source("k.mlir", text))
        assert same_functions(one, back(one, "registers" if kernel.inline else "inline")[1]).status == "proved"


@pytest.mark.slow
def test_no_mutant_with_other_bytes_is_equal_and_every_other_surface_is() -> None:
    rng = random.Random(11)
    found = [campaign.equality(k, mutant_of(rng, k)) for k in (kernel_of(rng) for _ in range(20))]
    assert [f.note for f in found if not f.right] == []
    assert sum(f.changed for f in found) > 3
    unknown = [f.note for f in found if f.changed and f.mutant == "unknown"]
    assert [n for n in unknown if "rows=0" not in n and "length=0" not in n] == []


TABLE = "  %t = pto.castptr %c0 : i64 -> !pto.ptr<i64, ub>\n"
ROW = """  %v{0} = pto.load_scalar %t[{1}] : !pto.ptr<i64, ub> -> i64
  %p{0} = pto.addptr %a, %v{2} : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
"""


@pytest.mark.parametrize(("used", "never"), [(1, "refuted"), (0, "proved")])
def test_what_each_iteration_reads_is_a_value_of_its_own(used: int, never: str) -> None:
    rows = [
        ROW.format(n, f"%x{n}", number) + load("%c64", "%c1, %c0, %c0", source=f"%p{n}")
        for n, number in ((0, 0), (1, used))
    ]
    body = ROW.format("", "%i", "") + load("%c64", "%c1, %c0, %c0", source="%p")
    once = "  scf.for %i = %x0 to %x2 step %x1 {\n" + body + "  }\n"
    assert compare(TABLE + once, TABLE + once).status == "proved"
    assert compare(TABLE + once, TABLE + "".join(rows)).status != never
    assert compare(TABLE + "".join(rows), TABLE + "".join(rows)).status == "proved"


BAR = "  pto.barrier #pto.pipe<PIPE_ALL>\n"
PAIR = """  scf.for %i = %x0 to %x2 step %x1 {{
    %two = arith.muli %i, %x2 : index
    %one = arith.addi %two, %x1 : index
{}{}  }}
"""


@pytest.mark.parametrize(("step", "status"), [("%c128", "proved"), ("%c64", "refuted")])
def test_iterations_are_held_against_one_that_does_as_much(step: str, status: str) -> None:
    copy = load("%c64", "%n, %c2048, %c1024", source="%p", dest="%q")
    more = "".join(
        f"  %{to} = pto.addptr %{of}, %c64 : !pto.ptr<f32, {space}> -> !pto.ptr<f32, {space}>\n"
        for to, of, space in (("r", "p", "gm"), ("s", "q", "ub"))
    )
    once = looped(copy + BAR, "%x4")
    both = looped(copy + BAR + more + copy.replace("%p", "%r").replace("%q", "%s") + BAR, "%x2", step)
    assert compare(once, both).status == compare(both, once).status == status


def test_iterations_that_read_values_of_their_own_are_not_taken_together() -> None:
    copy = load("%c64", "%c1, %c0, %c0", source="%p{}")
    once = "  scf.for %i = %x0 to %x4 step %x1 {\n" + ROW.format("", "%i", "") + copy.format("") + "  }\n"
    rows = [ROW.format(n, at, 0) + copy.format(n) for n, at in ((0, "%two"), (1, "%one"))]
    one, other = (named(TABLE + body).kernel(canonical=True) for body in (once, PAIR.format(*rows)))
    assert compare_events(one.events, one.world, other.events, other.world).status == "unknown"


def test_a_value_of_a_loop_is_no_constant_of_its_name_in_another_branch() -> None:
    """Where %f is 0 the padding is what the loop yields: 4 rounds of one more, or none."""
    padded = """  scf.if %f {
    %p = arith.constant 0 : i32
    pto.set_mov_pad_val %p : i32
  } else {
    %p = scf.for %i = %x0 to ROUNDS step %x1 iter_args(%a = %none) -> (i32) {
      %more = arith.addi %a, %up : i32
      scf.yield %more : i32
    }
    pto.set_mov_pad_val %p : i32
  }
  pto.copy_gm_to_ubuf %a, %u, %c0, %c1, %c48, %c0, %c4, %on, %c0, %c48, %c64
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64
"""
    text = "  %none = arith.constant 0 : i32\n  %up = arith.constant 1 : i32\n" + padded
    args = ARGS.replace("%m: i64", "%f: i1")
    found = same_functions(named(text.replace("ROUNDS", "%x4"), args), named(text.replace("ROUNDS", "%x0"), args))
    assert found.status != "proved"


def test_a_value_to_pad_with_may_be_computed_from_constants_in_both_surfaces() -> None:
    three = "  %one = arith.constant 1 : i32\n  %p = arith.addi %one, {} : i32\n"
    three = "  %two = arith.constant {} : i32\n" + three.format("%two")
    inline = "  pto.mte_gm_ub %a, %u, %c0, %c48 nburst(%c1, %c48, %c64) pad(%p, %c0, %c4)\n"
    inline += f"    : {GU}, i64, i64, i64, i64, i64, pad i32, i64, i64\n"
    registers = """  pto.set_mov_pad_val %p : i32
  pto.copy_gm_to_ubuf %a, %u, %c0, %c1, %c48, %c0, %c4, %on, %c0, %c48, %c64
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64
"""
    for number, status in ((2, "proved"), (3, "refuted")):
        assert compare(three.format(number) + inline, three.format(2) + registers).status == status


def test_what_a_kernel_supposes_is_a_condition_of_being_equal(tmp_path: Path) -> None:
    padded = """  pto.copy_gm_to_ubuf %a, %u, %c0, %c1, %c48, %c0, %c4, %on, %c0, %c48, %c64
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64
"""
    zero = "  pto.set_mov_pad_val %z : f32\n"
    supposed = ("MOV_PAD_VAL is 0 until it is set",)
    for one, other, conditions in ((zero, zero, ()), (zero, "", supposed), ("", zero, supposed)):
        found = compare(one + padded, other + padded)
        assert (found.status, found.conditions) == ("proved", conditions)
        for name, body in (("a", one), ("b", other)):
            (tmp_path / f"{name}.mlir").write_text(f"func.func @k({ARGS}) {{\n{HEAD}{body}{padded}  return\n}}\n")
        _, said = same_kernels(str(tmp_path / "a.mlir"), str(tmp_path / "b.mlir"))
        assert said.split("\n")[1:] == [f"  only if   {one}" for one in conditions]


def test_notes_above_a_helper_are_those_of_its_caller() -> None:
    body = f"{HEAD}{load('%c64', '%c1, %c0, %c0', source='%p')}"
    helper = f"func.func private @h(%p: !pto.ptr<f32, gm>) {{\n{body}  return\n}}\n"
    caller = "func.func @k(%in: !pto.ptr<f32, gm>) {\n  func.call @h(%in) : (!pto.ptr<f32, gm>) -> ()\n  return\n}\n"
    found = {one.name: one for one in named_in(Source("k.mlir", f"// dmaverify: gm %in = 64 bytes\n{helper}{caller}"))}
    assert dict(found["k"].notes.extents) == {"in": 64}


def test_bytes_that_a_later_copy_writes_are_said_to_be_missing_only_up_to_what_orders() -> None:
    copy = load("%c64", "%c1, %c64, %c64")
    later = load("%c64", "%c1, %c64, %c64", dest="%v")
    place = "  %v = pto.addptr %u, %c64 : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>\n"
    flags = '  pto.{}_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]\n'
    between = flags.format("set") + flags.format("wait")
    found = compare(place + copy + later, place + copy + between + later)
    assert found.status == "refuted"
    lines = HEAD.count("\n") + 5  # of the copy, two each; the flag is behind them
    assert found.why.startswith(f"up to line {lines} of the second byte 256 of ub gets"), found.why
    whole = compare(place + copy + later, place + copy)
    assert whole.why.startswith("byte 256 of ub gets byte 0 of gm (arg0) in the first, nothing in the second"), (
        whole.why
    )
