"""Two kernels that leave the same in global memory, however they get there; and those that do not."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from lab.kernels import kernel_of, mutant_of

from dmaverify.cli.app import invoke
from dmaverify.errors import Disagreement, Source
from dmaverify.execute.outcome import Beyond
from dmaverify.jobs import same_kernels, same_runs
from dmaverify.jobs.same_kernels import left_by_runs, same_functions, same_left
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.execute_contents import ContentRun
from dmaverify.machines.pto.execute_terms import Terms
from dmaverify.machines.pto.named import NamedFunction, named_in
from dmaverify.prove.sameness import Sameness

F32, MASK, SELF = "!pto.vreg<64xf32>", "!pto.mask<b32>", "!pto.ptr<f32, ub>"
NUMBERS = "".join(f"  %c{n} = arith.constant {n} : index\n" for n in (0, 1, 2, 3, 4, 16, 48, 64, 128, 256))
NUMBERS += "".join(f"  %l{n} = arith.constant {n} : i64\n" for n in (0, 1, 2, 32, 64, 128, 256, 512, 1024, 2048, 4096))
NUMBERS += "  %half = arith.constant 0.5 : f32\n  %third = arith.constant 0.25 : f32\n"
ALL = f'%all = pto.pset_b32 "PAT_ALL" : {MASK}'
BAR = "pto.barrier #pto.pipe<PIPE_ALL>"
ARGS = "%a: !pto.ptr<f32, gm>, %b: !pto.ptr<f32, gm>, %o: !pto.ptr<f32, gm>, %n: index, %f: f32"
NOTES = "// dmaverify: gm %a = 4096 bytes\n// dmaverify: gm %b = 4096 bytes\n// dmaverify: gm %o = 4096 bytes\n"


def kernel(*body: str, notes: str = "// dmaverify: assume %n in 1..3\n", args: str = ARGS) -> NamedFunction:
    lines = "".join(f"  {line}\n" for line in (ALL, *body))
    (one,) = named_in(Source("k.mlir", f"{NOTES}{notes}func.func @k({args}) {{\n{NUMBERS}{lines}  return\n}}\n"))
    return one


def ub(name: str, at: int) -> str:
    return f"%{name}_at = arith.constant {at} : i64\n  %{name} = pto.castptr %{name}_at : i64 -> {SELF}"


def load(source: str, dest: str, length: str = "%l1024") -> str:
    kinds = f"!pto.ptr<f32, gm>, {SELF}, i64, i64, i64, i64, i64"
    return f"pto.mte_gm_ub {source}, {dest}, %l0, {length} nburst(%l1, {length}, {length}) : {kinds}"


def store(source: str, dest: str, length: str = "%l1024") -> str:
    kinds = f"{SELF}, !pto.ptr<f32, gm>, i64, i64, i64, i64"
    return f"pto.mte_ub_gm {source}, {dest}, {length} nburst(%l1, {length}, {length}) : {kinds}"


def on(name: str, base: str, elements: str, space: str = "gm") -> str:
    return f"%{name} = pto.addptr {base}, {elements} : !pto.ptr<f32, {space}> -> !pto.ptr<f32, {space}>"


def rows(count: int, *inside: str, first: int = 0) -> tuple[str, ...]:
    """A loop over registers of 64 elements."""
    head = f"%rows{count} = arith.constant {64 * count} : index\n  %from{count} = arith.constant {64 * first} : index"
    loop = f"scf.for %j = %from{count} to %rows{count} step %c64 {{"
    return (head, "pto.vecscope {", loop, *inside, "}", "}")


def take(name: str, buffer: str, at: str = "%j", dist: str = "") -> str:
    return f"%{name} = pto.vlds %{buffer}[{at}]{dist} : {SELF} -> {F32}"


def two(op: str, result: str, one: str, other: str, mask: str = "%all") -> str:
    return f"%{result} = pto.{op} %{one}, %{other}, {mask} : {F32}, {F32}, {MASK} -> {F32}"


def give(name: str, buffer: str, at: str = "%j", mask: str = "%all") -> str:
    return f"pto.vsts %{name}, %{buffer}[{at}], {mask} : {F32}, {SELF}, {MASK}"


def found(one: NamedFunction, other: NamedFunction) -> Sameness:
    return same_left(one, other)


COPIED = (ub("u", 0), load("%a", "%u"), BAR, store("%u", "%o"))
IN_HALVES = (
    ub("u", 0), ub("w", 4096), on("a2", "%a", "%c128"), on("o2", "%o", "%c128"),
    load("%a2", "%w", "%l512"), BAR, store("%w", "%o2", "%l512"),
    load("%a", "%u", "%l512"), BAR, store("%u", "%o", "%l512"),
)  # fmt: skip
BY_SCOPE = (
    ub("u", 0),
    ub("w", 4096),
    load("%a", "%u"),
    BAR,
    *rows(4, take("v", "u"), give("v", "w")),
    BAR,
    store("%w", "%o"),
)


def computed(*inside: str, count: int = 4, stored: str = "") -> NamedFunction:
    """Both inputs, something made of each register of them, the output."""
    moves = (ub("x", 0), ub("y", 2048), ub("z", 4096), load("%a", "%x"), load("%b", "%y"), BAR)
    return kernel(*moves, *rows(count, *inside), BAR, store("%z", "%o", stored or f"%l{256 * count}"))


SUM = (take("v", "x"), take("w", "y"), two("vadd", "s", "v", "w"), give("s", "z"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(kernel(*COPIED), kernel(*COPIED), id="the same text"),
        pytest.param(kernel(*COPIED), kernel(*IN_HALVES), id="halves in another order, through other buffers"),
        pytest.param(kernel(*COPIED), kernel(*BY_SCOPE), id="registers that are moved as they are"),
        pytest.param(
            kernel(*COPIED), kernel(ub("u", 0), load("%b", "%u"), BAR, store("%u", "%o"), BAR, *COPIED[1:]),
            id="what is written over was no difference",
        ),
        pytest.param(
            computed(*SUM), computed(take("q", "y"), take("p", "x"), two("vadd", "r", "p", "q"), give("r", "z")),
            id="other names, loads in another order",
        ),
        pytest.param(
            computed(*SUM),
            computed(
                "%t = arith.addi %j, %c16 : index\n  %plt = arith.constant 48 : i32",
                f"%few, %rest = pto.plt_b32 %plt : i32 -> {MASK}, i32",
                f'%first = pto.pset_b32 "PAT_VL16" : {MASK}',
                take("v", "x", "%t"), take("w", "y", "%t"), two("vadd", "s", "v", "w", "%few"),
                give("s", "z", "%t", "%few"), take("v2", "x"), take("w2", "y"),
                two("vadd", "s2", "v2", "w2", "%first"), give("s2", "z", "%j", "%first"),
            ),
            id="the same lanes, cut into registers elsewhere",
        ),
    ],
)  # fmt: skip
def test_kernels_that_leave_the_same_by_other_ways_are_equal(one: NamedFunction, other: NamedFunction) -> None:
    same = left_by_runs(one, other)
    assert (same.status, same.copies) == ("proved", 1024)
    assert left_by_runs(other, one) == same, "the order of two kernels decides nothing"
    assert same.why == "", "no number of their arguments is used"
    assert found(one, other).status == "proved"


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (
            (ub("u", 0), load("%b", "%u"), BAR, store("%u", "%o")),
            "at %o, byte 0 the first leaves what lay at %a, byte 0, the second what lay at %b, byte 0",
        ),
        (
            (ub("u", 0), on("p", "%a", "%c1"), load("%p", "%u"), BAR, store("%u", "%o")),
            "at %o, byte 0 the first leaves what lay at %a, byte 0, the second what lay at %a, byte 4",
        ),
        (
            (ub("u", 0), load("%a", "%u"), BAR, store("%u", "%o", "%l512")),
            "at %o, byte 512 the first leaves what lay at %a, byte 512, the second what lay at %o, byte 512",
        ),
        (
            (*COPIED, BAR, store("%u", "%b", "%l64")),
            "at %b, byte 0 the first leaves what lay at %b, byte 0, the second what lay at %a, byte 0",
        ),
    ],
)
def test_a_byte_from_elsewhere_is_a_difference_with_both_its_origins(other: Sequence[str], said: str) -> None:
    different = found(kernel(*COPIED), kernel(*other))
    assert (different.status, different.why) == ("refuted", said)
    assert found(kernel(*other), kernel(*COPIED)).status == "refuted"


def test_a_difference_at_one_value_is_found_there() -> None:
    base = (ub("u", 0), load("%a", "%u"), BAR)
    odd = "%is = arith.cmpi eq, %n, %c3 : index\n  %off = arith.select %is, %c64, %c0 : index"
    parted = found(kernel(*base, store("%u", "%o")), kernel(*base, odd, on("p", "%o", "%off"), store("%u", "%p")))
    assert (parted.status, parted.witness) == ("refuted", {"n": 3})


def test_what_is_computed_is_no_byte_that_it_is_not_made_of() -> None:
    apart = found(computed(*SUM), kernel(ub("u", 0), load("%o", "%u"), BAR, store("%u", "%o")))
    assert apart.status == "refuted"
    assert found(computed(*SUM), kernel(*COPIED)).status == "unknown", "a sum with zero is what it was made of"


def test_what_is_computed_of_a_byte_by_several_steps_may_be_that_byte() -> None:
    twice = (take("v", "x"), take("w", "y"), two("vadd", "r", "v", "w"), two("vsub", "s", "r", "w"), give("s", "z"))
    assert found(computed(*twice), kernel(*COPIED)).status == "unknown", "a + b - b"
    other = kernel(ub("u", 0), load("%o", "%u"), BAR, store("%u", "%o"))
    assert found(computed(*twice), other).status == "refuted"


SCALED = f"%s = pto.vmuls %v, {{}}, %all : {F32}, f32, {MASK} -> {F32}"


@pytest.mark.parametrize(
    "inside",
    [
        (take("v", "x"), take("w", "y"), two("vsub", "s", "v", "w"), give("s", "z")),
        (take("v", "x"), take("w", "y"), two("vadd", "s", "w", "v"), give("s", "z")),
        (take("v", "x"), take("w", "y"), two("vadd", "s", "v", "v"), give("s", "z")),
        (take("v", "x"), SCALED.format("%half"), give("s", "z")),
        (take("v", "x"), SCALED.format("%f"), give("s", "z")),
        (f'%few = pto.pset_b32 "PAT_VL16" : {MASK}', take("v", "x"), take("w", "y"),
         two("vadd", "s", "v", "w", "%few"), give("s", "z")),
    ],
)  # fmt: skip
def test_other_work_is_open_and_no_difference(inside: Sequence[str]) -> None:
    assert found(computed(*SUM), computed(*inside)).status == "unknown"
    assert found(computed(*inside), computed(*inside)).status == "proved"


def test_numbers_and_attributes_of_an_operation_count() -> None:
    by = [computed(take("v", "x"), SCALED.format(n), give("s", "z")) for n in ("%half", "%third", "%f")]
    for one in by:
        assert [found(one, other).status for other in by].count("proved") == 1
    text = f'%s = pto.vcvt %v, %all {{part = "PART"}} : {F32}, {MASK} -> {F32}'
    parts = [computed(take("v", "x"), text.replace("PART", part), give("s", "z")) for part in ("EVEN", "ODD")]
    assert found(parts[0], parts[1]).status == "unknown"
    assert found(parts[0], parts[0]).status == "proved"


def test_registers_keep_what_they_hold_through_loops_and_other_names() -> None:
    """Two registers that change their names each round: after three rounds the second is stored."""
    swap = (
        "%v0 = pto.vlds %x[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>",
        "%w0 = pto.vlds %y[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>",
        f"%r:2 = scf.for %i = %c0 to TIMES step %c1 iter_args(%p = %v0, %q = %w0) -> ({F32}, {F32}) {{",
        f"scf.yield %q, %p : {F32}, {F32}",
        "}",
        give("r#0", "z"),
    )
    times = [computed(*(line.replace("TIMES", n) for line in swap), count=1) for n in ("%c1", "%c2", "%c3")]
    assert found(times[0], times[2]).status == "proved"
    assert same_left(times[0], times[1]).why.startswith("at %o, byte 0 the first leaves what lay at %b, byte 0")


ADDED = ("pto.set_atomic_add", "pto.set_atomic_f32")


def adding(*stores: str) -> NamedFunction:
    loads = (ub("x", 0), ub("y", 2048), load("%a", "%x"), load("%b", "%y"), BAR)
    return kernel(*loads, *ADDED, *stores, "pto.set_atomic_none")


def test_what_is_added_is_a_collection_whose_order_counts_not() -> None:
    one, other = store("%x", "%o"), store("%y", "%o")
    turned = found(adding(one, other), adding(other, one))
    assert (turned.status, turned.conditions) == ("proved", (same_runs.ROUNDED,))
    assert found(adding(one, other), adding(one, other)).conditions == ()
    assert found(adding(one, other), adding(one)).status == "unknown"
    assert found(adding(one, one), adding(one)).status == "unknown"
    assert found(adding(one, one), adding(one, other)).status == "unknown"


PADDED = (
    "pto.mte_gm_ub %a, %u, %l0, %l1024 nburst(%l1, %l1024, %l1024) pad({}, %l0, %l16) : "
    f"!pto.ptr<f32, gm>, {SELF}, i64, i64, i64, i64, i64, pad f32, i64, i64"
)


def padded(value: str) -> NamedFunction:
    wide = "%l16 = arith.constant 16 : i64\n  %l1088 = arith.constant 1088 : i64"
    return kernel(ub("u", 0), wide, PADDED.format(value), BAR, store("%u", "%o", "%l1088"))


def test_padding_is_told_by_its_value() -> None:
    half, third = padded("%half"), padded("%third")
    assert left_by_runs(half, padded("%half")).copies == 1088
    assert same_left(half, third).why == "at %o, byte 1,026 the first leaves 0x00, the second 0x80"
    assert found(half, padded("%f")).status == "unknown", "any value"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ((ub("u", 0), load("%a", "%u"), store("%u", "%o")), "k is not proved"),
        ((ub("u", 0), load("%a", "%u", "%l512"), BAR, store("%u", "%o")), "k is not proved"),
        ((*COPIED, "pto.print_state"), "k: what pto.print_state does is not followed"),
        (
            (*COPIED[:2], BAR, f"%k = pto.load_scalar %u[%c0] : {SELF} -> i64", store("%u", "%o", "%k")),
            "k is not proved",
        ),
    ],
)
def test_what_is_not_proved_or_not_followed_is_open(body: Sequence[str], said: str) -> None:
    open_ = found(kernel(*body), kernel(*body))
    assert open_.status == "unknown"
    assert open_.why.startswith(said), open_.why


FLAG = '["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]'


def test_what_waits_for_what_is_no_difference_of_what_is_left() -> None:
    """For every value of %n, which nobody states: the runs of a few say less."""
    least = "%w = arith.minui %n, %c64 : index"
    barred = (ub("u", 0), load("%a", "%u"), BAR, least, on("p", "%o", "%w"), store("%u", "%p"))
    flagged = [f"pto.set_flag{FLAG}\n  pto.wait_flag{FLAG}" if line == BAR else line for line in barred]
    one, other, racing = (kernel(*body, notes="") for body in (barred, flagged, [b for b in barred if b != BAR]))
    assert same_functions(one, other).status == "refuted"
    assert (found(one, other).status, found(one, other).by) == ("proved", same_kernels.BY_EVENTS)
    assert found(one, racing).status == "unknown", "its order decides what it leaves"
    moved = kernel(*(line.replace("%c64", "%c48") for line in flagged), notes="")
    assert found(one, moved).status != "proved"


def test_runs_that_part_contradict_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    half = kernel(ub("u", 0), load("%a", "%u"), BAR, store("%u", "%o", "%l512"))
    monkeypatch.setattr(same_kernels, "_by_events", lambda *_, **__: Sameness("proved"))
    for compared in (same_functions, same_left):
        with pytest.raises(Disagreement, match="runs of both part"):
            compared(kernel(*COPIED), half)


def test_the_same_work_is_the_same_though_no_run_follows_it() -> None:
    odd = kernel(*COPIED[:3], *rows(1, take("v", "u"), f"pto.vset %v, %all : {F32}, {MASK}"), *COPIED[2:])
    assert left_by_runs(odd, odd).why.startswith("k: what vset does is not followed")
    assert (found(odd, odd).status, found(odd, odd).by) == ("proved", same_kernels.BY_EVENTS)


def test_values_that_nobody_states_or_too_many_are_open_unless_they_part() -> None:
    least = "%w = arith.minui %n, %c64 : index"
    used = (*COPIED[:3], least, on("p", "%o", "%w"), store("%u", "%p"))
    through = (ub("u", 8192), *used[1:])
    for notes in ("", "// dmaverify: assume %n in 0..100\n"):
        open_ = found(kernel(*used, notes=notes), kernel(*through, notes=notes))
        assert open_.status == "unknown"
        assert "values of n are too many to be run, or nobody states them" in open_.why
        assert found(kernel(*used, notes=notes), kernel(*used, notes=notes)).status == "proved", "event by event"
        assert found(kernel(*used, notes=notes), kernel(*COPIED, notes=notes)).status == "refuted"
    few = "// dmaverify: assume %n in 0..9\n"
    assert found(kernel(*used, notes=few), kernel(*used, notes=few)).status == "proved"
    other = "// dmaverify: assume %n in 6..90\n"
    for second, runs in ((used, ""), (through, "4")):
        both = same_left(kernel(*used, notes=few), kernel(*second, notes=other))
        assert (both.why, both.conditions) == (runs, ("values are those that both texts state: n in 6..9",))
    never = "// dmaverify: assume %n in 70..90\n"
    assert "no values meet" in found(kernel(*used, notes=few), kernel(*used, notes=never)).why


def test_a_number_that_only_operations_take_is_any_value() -> None:
    args = ARGS.replace("%n: index", "%s1: i32, %s2: i32")
    scaled = f"%s = pto.vadds %v, {{}}, %all : {F32}, i32, {MASK} -> {F32}"

    def by(name: str, *more: str) -> NamedFunction:
        moves = (ub("x", 0), ub("z", 4096), load("%a", "%x"), BAR)
        inside = (take("v", "x"), scaled.format(name), give("s", "z"))
        return kernel(*moves, *more, *rows(4, *inside), BAR, store("%z", "%o"), args=args, notes="")

    one, other = by("%s1"), by("%s2")
    assert (left_by_runs(one, by("%s1")).status, left_by_runs(one, one).why) == ("proved", "")
    assert found(one, other).status == "unknown"
    summed = by("%t", "%t = arith.addi %s1, %s1 : i32")
    assert "values of s1 are too many" in left_by_runs(summed, summed).why, "a sum is no value of its own"


def test_masks_that_are_stored_are_what_they_were_made_of() -> None:
    kept = f'pto.psts %m, %z[%c0], "NORM" : {MASK}, {SELF}, index'

    def by(order: str) -> NamedFunction:
        compared = f'%m = pto.vcmp %v, %w, %all, "{order}" : {F32}, {F32}, {MASK} -> {MASK}'
        return computed(take("v", "x"), take("w", "y"), compared, kept, count=1, stored="%l32")

    assert [found(by("lt"), by(order)).status for order in ("lt", "gt")] == ["proved", "unknown"]


def test_lanes_that_a_computed_mask_leaves_out_keep_what_was_there() -> None:
    compared = f'%m = pto.vcmp %v, %w, %all, "lt" : {F32}, {F32}, {MASK} -> {MASK}'

    def over(before: str) -> NamedFunction:
        moves = (ub("x", 0), ub("y", 2048), ub("z", 4096), load("%a", "%x"), load("%b", "%y"), load(before, "%z"), BAR)
        work = rows(4, take("v", "x"), take("w", "y"), compared, give("v", "z", "%j", "%m"))
        return kernel(*moves, *work, BAR, store("%z", "%o"))

    assert found(over("%a"), over("%a")).status == "proved"
    assert found(over("%a"), over("%b")).status == "unknown"


def test_what_the_machine_tells_is_one_number_in_both() -> None:
    args = ARGS.replace(", %n: index", "")
    texts = []
    for name, step in (("me", "%c64"), ("core", "%c64"), ("core", "%c48")):
        lines = (
            f"%{name} = pto.get_block_idx : index", f"%off = arith.muli %{name}, {step} : index", *COPIED[:1],
            on("p", "%a", "%off"), on("q", "%o", "%off"), load("%p", "%u", "%l128"), BAR, store("%u", "%q", "%l128"),
        )  # fmt: skip
        texts.append(kernel(*lines, args=args, notes=f"// dmaverify: assume %{name} in 0..3\n"))
    same = left_by_runs(texts[0], texts[1])
    assert (same.status, same.why) == ("proved", "4")
    assert found(texts[0], texts[2]).witness == {"me": 1}


def test_no_block_has_a_number_beyond_how_many_there_are() -> None:
    def by(far: str) -> NamedFunction:
        lines = (
            "%me = pto.get_block_idx : index", "%of = pto.get_block_num : index", *COPIED[:3],
            "%beyond = arith.cmpi sge, %me, %of : index", f"%off = arith.select %beyond, {far}, %c0 : index",
            on("p", "%o", "%off"), store("%u", "%p", "%l512"),
        )  # fmt: skip
        notes = "// dmaverify: assume %me in 0..3\n// dmaverify: assume %of in 1..4\n"
        return kernel(*lines, args=ARGS.replace(", %n: index", ""), notes=notes)

    same = found(by("%c64"), by("%c128"))
    assert (same.status, same.why) == ("proved", "10")


def test_runs_that_take_too_long_end_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(same_runs, "MOST_FOLLOWED", 3)
    assert "state smaller ranges" in found(kernel(*COPIED), kernel(*IN_HALVES)).why


def test_other_arguments_are_other_kernels() -> None:
    fewer = ARGS.replace(", %f: f32", "")
    narrow = ARGS.replace("%n: index", "%n: i1")
    for args in (fewer, narrow):
        assert found(kernel(*COPIED), kernel(*COPIED, notes="", args=args)).why == "their arguments differ"


# ------------------------------------------------------------------------------------------ tiles

VIEW = "!pto.tensor_view<?x?xf32>"


def tiled(*body: str) -> NamedFunction:
    views = (
        f"%{name}v = pto.make_tensor_view %{name}, shape = [%c16, %c64], strides = [%c64, %c1] : {VIEW}"
        for name in "abo"
    )
    return kernel(*views, *body)


def of_tiles(rows: int, at: int, *work: str, kind: str = "", suffix: str = "") -> tuple[str, ...]:
    """Rows of both inputs as tiles %x and %y, work that makes %z of them, the rows stored."""
    cut = f"!pto.partition_tensor_view<{rows}x64xf32>"
    tile = f"!pto.tile_buf<vec, {rows}x64xf32{kind}>"
    out = [f"%r{suffix} = arith.constant {at} : index", f"%h{suffix} = arith.constant {rows} : index"]
    for name in "abo":
        where = f"offsets = [%r{suffix}, %c0], sizes = [%h{suffix}, %c64]"
        out.append(f"%{name}p{suffix} = pto.partition_view %{name}v, {where} : {VIEW} -> {cut}")
    out += [f"%{name}{suffix} = pto.alloc_tile : {tile}" for name in ("x", "y", "z", "s")]
    out += [f"pto.tload ins(%{p}p{suffix} : {cut}) outs(%{t}{suffix} : {tile})" for p, t in (("a", "x"), ("b", "y"))]
    out += [re.sub(r"(%[xyzs])\b", rf"\g<1>{suffix}", line).replace("TILE", tile) for line in work]
    return (*out, f"pto.tstore ins(%z{suffix} : {tile}) outs(%op{suffix} : {cut})")


def work(op: str, one: str = "%x", other: str = "%y") -> str:
    return f"pto.{op} ins({one}, {other} : TILE, TILE) outs(%z : TILE)"


def test_tiles_cut_otherwise_make_the_same_element_by_element() -> None:
    whole = tiled(*of_tiles(16, 0, work("tadd")))
    halves = tiled(*of_tiles(8, 8, work("tadd"), suffix="1"), *of_tiles(8, 0, work("tadd"), suffix="2"))
    assert (found(whole, halves).status, found(whole, halves).copies) == ("proved", 4096)
    for other in (work("tsub"), work("tadd", "%y", "%x"), work("tadd", "%x", "%x")):
        assert found(whole, tiled(*of_tiles(16, 0, other))).status == "unknown"
    moved = tiled(*of_tiles(8, 8, work("tadd"), suffix="1"))
    assert found(whole, moved).status == "refuted", "rows 0 to 7 stay as they were"


def test_operations_on_whole_tiles_are_the_same_of_the_same_tiles_alone() -> None:
    sums = "pto.trowprod ins(%x, %s : TILE, TILE) outs(%y : TILE)", "pto.trowexpand ins(%y : TILE) outs(%z : TILE)"
    sums = tuple(line.replace("(%y : TILE)", "(%y : FIRST)") for line in sums)
    whole = tiled(*narrow(16, 0, *sums))
    assert found(whole, tiled(*narrow(16, 0, *sums))).status == "proved"
    most = tuple(line.replace("trowprod", "trowmax") for line in sums)
    assert found(whole, tiled(*narrow(16, 0, *most))).status == "unknown"
    halves = tiled(*narrow(8, 8, *sums, suffix="1"), *narrow(8, 0, *sums, suffix="2"))
    assert found(whole, halves).status == "unknown", "what an operation makes of part of its tile is not told"


def narrow(rows: int, at: int, *work: str, suffix: str = "") -> tuple[str, ...]:
    """As `of_tiles`, with %y the first column of a tile, or its first row."""
    column = f"!pto.tile_buf<loc=vec, dtype=f32, rows={rows}, cols=64, v_row={rows}, v_col=1>"
    line = f"!pto.tile_buf<loc=vec, dtype=f32, rows={rows}, cols=64, v_row=1, v_col=64>"
    lines = [f"%y{suffix} = pto.alloc_tile : {line if 'pto.tcol' in work[0] else column}"]
    for one in of_tiles(rows, at, *work, suffix=suffix):
        if (f"outs(%y{suffix} :" in one and "tload" in one) or one.startswith(f"%y{suffix} = "):
            continue
        lines.append(one.replace("FIRST", lines[0].partition(" : ")[2]))
    return tuple(lines)


@pytest.mark.parametrize(("name", "rounds"), [("max", False), ("min", False), ("sum", True)])
def test_a_row_is_reduced_by_itself(name: str, rounds: bool) -> None:
    work = (
        f"pto.trow{name} ins(%x, %s : TILE, TILE) outs(%y : FIRST)",
        "pto.trowexpandsub ins(%x, %y : TILE, FIRST) outs(%z : TILE)",
    )
    whole = tiled(*narrow(16, 0, *work))
    halves = tiled(*narrow(8, 8, *work, suffix="1"), *narrow(8, 0, *work, suffix="2"))
    same = found(whole, halves)
    assert (same.status, same.conditions) == ("proved", (same_runs.ROUNDED,) if rounds else ()), same.why
    assert found(whole, tiled(*narrow(16, 0, *work))).conditions == ()
    other = (work[0], work[1].replace("sub", "add"))
    assert found(whole, tiled(*narrow(8, 8, *other, suffix="1"), *narrow(8, 0, *work, suffix="2"))).status == "unknown"
    turned = (work[0].replace("trow", "tcol"), work[1].replace("trow", "tcol"))
    columns = tiled(*narrow(16, 0, *turned))
    assert found(columns, tiled(*narrow(16, 0, *turned))).status == "proved"
    cut = tiled(*narrow(8, 8, *turned, suffix="1"), *narrow(8, 0, *turned, suffix="2"))
    assert found(columns, cut).status == "unknown", "a column of eight rows is another"
    assert found(columns, whole).status == "unknown"


def test_a_column_is_reduced_by_itself() -> None:
    """The right half of the columns, alone: its extremes are those of the whole."""
    work = ("pto.tcolmax ins(%x, %s : TILE, TILE) outs(%y : FIRST)", "pto.tcolexpand ins(%y : FIRST) outs(%z : TILE)")
    whole = tiled(*narrow(16, 0, *work))
    text = whole.source.text.replace("16x64", "16x32").replace("cols=64", "cols=32").replace("v_col=64", "v_col=32")
    cut = re.sub(r"offsets = \[%r, %c0\], sizes = \[%h, %c64\]", "offsets = [%r, %AT], sizes = [%h, %c32]", text)
    cut = cut.replace("  %c64 = ", "  %c32 = arith.constant 32 : index\n  %c64 = ", 1)
    body = cut[cut.index("  %y = ") : cut.index("  return")]
    second = re.sub(r"%(r|h|ap|bp|op|x|y|z|s)\b", r"%\g<1>2", body).replace("%AT", "%c32")
    (halves,) = named_in(Source("k.mlir", cut.replace(body, body.replace("%AT", "%c0") + second)))
    assert found(whole, halves).status == "proved", found(whole, halves).why


def test_spread_and_cut_elements_are_what_they_were() -> None:
    spread = ("pto.tmov ins(%x : TILE) outs(%s : TILE)", "pto.trowexpand ins(%s : TILE) outs(%z : TILE)")
    cut = ("pto.textract ins(%x, %c0, %c0 : TILE, index, index) outs(%s : TILE)", spread[1])
    of_columns = (spread[0], spread[1].replace("trow", "tcol"))
    kernels = [tiled(*of_tiles(16, 0, *work)) for work in (spread, cut, of_columns)]
    assert [found(kernels[0], one).status for one in kernels] == ["proved", "proved", "refuted"]


def test_a_tile_that_is_moved_is_what_it_was() -> None:
    move = "pto.tmov ins(%x : TILE) outs(%z : TILE)"
    copy = kernel(ub("u", 0), load("%a", "%u", "%l4096"), BAR, store("%u", "%o", "%l4096"))
    assert found(tiled(*of_tiles(16, 0, move)), copy).status == "proved"
    scaled = "pto.tmuls ins(%x, {} : TILE, f32) outs(%z : TILE)"
    kernels = [tiled(*of_tiles(16, 0, scaled.format(n))) for n in ("%half", "%third", "%f")]
    assert [found(kernels[0], other).status for other in kernels] == ["proved", "unknown", "unknown"]


def test_a_number_that_an_operation_on_tiles_takes_has_a_type() -> None:
    """The bits of 0.5 are another number where they are an integer."""
    bits = "%bits = arith.constant 1056964608 : i32"
    by = [("%half", "f32"), ("%hex", "f32"), ("%bits", "i32")]
    scaled = "pto.tmuls ins(%x, {} : TILE, {}) outs(%z : TILE)"
    hexadecimal = "%hex = arith.constant 0x3F000000 : f32"
    kernels = [tiled(bits, hexadecimal, *of_tiles(16, 0, scaled.format(*one))) for one in by]
    assert [found(kernels[0], other).status for other in kernels] == ["proved", "proved", "unknown"]


def product(stored: str, kind: str) -> NamedFunction:
    """A product of 16 x 16 matrices, stored in elements of another type."""

    def tile(loc: str, of: str = "f16") -> str:
        return f"!pto.tile_buf<loc={loc}, dtype={of}, rows=16, cols=16, v_row=16, v_col=16>"

    def view(name: str, of: str) -> str:
        return (
            f"%{name}v = pto.make_tensor_view %{name}, shape = [%c16, %c16], strides = [%c16, %c1] : {VIEW[:-4]}{of}>"
        )

    def part(name: str, of: str) -> str:
        where = "offsets = [%c0, %c0], sizes = [%c16, %c16]"
        cut = f"!pto.partition_tensor_view<16x16x{of}>"
        return f"%{name}p = pto.partition_view %{name}v, {where} : {VIEW[:-4]}{of}> -> {cut}"

    lines = [view(n, of) for n, of in (("a", "f16"), ("b", "f16"), ("o", stored))]
    lines += [part(n, of) for n, of in (("a", "f16"), ("b", "f16"), ("o", stored))]
    tiles = {"m": tile("mat"), "w": tile("mat"), "l": tile("left"), "r": tile("right"), "c": tile("acc", kind)}
    lines += [f"%{n} = pto.alloc_tile : {of}" for n, of in tiles.items()]
    cut = "!pto.partition_tensor_view<16x16x{}>"
    for name, at, into in (("a", "m", "l"), ("b", "w", "r")):
        lines.append(f"pto.tload ins(%{name}p : {cut.format('f16')}) outs(%{at} : {tiles[at]})")
        lines.append(f"pto.tmov ins(%{at} : {tiles[at]}) outs(%{into} : {tiles[into]})")
    lines.append(f"pto.tmatmul ins(%l, %r : {tiles['l']}, {tiles['r']}) outs(%c : {tiles['c']})")
    return kernel(*lines, f"pto.tstore ins(%c : {tiles['c']}) outs(%op : {cut.format(stored)})")


@pytest.mark.parametrize(("one", "other"), [("f16", "bf16"), ("f32", "i32")])
def test_what_an_accumulator_is_stored_as_counts(one: str, other: str) -> None:
    kernels = [product(stored, "f32") for stored in (one, other)]
    assert [found(kernels[0], each).status for each in (product(one, "f32"), kernels[1])] == ["proved", "unknown"]


def test_attributes_of_an_operation_on_tiles_count() -> None:
    turned = "pto.tcvt ins(%x : TILE) outs(%z : TILE) {{rmode = #pto<round_mode {}>}}"
    kernels = [tiled(*of_tiles(16, 0, turned.format(mode))) for mode in ("RINT", "FLOOR")]
    assert [found(kernels[0], other).status for other in kernels] == ["proved", "unknown"]


# ------------------------------------------------------------------------------------------ drawn


def _left(
    named: NamedFunction, terms: Terms, size: int = 1 << 16
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]] | None:
    tensors = [n.lstrip("%") for n, kind, _ in named.function.args if kind.kind == "pointer"]
    values = {name: low for name, (low, _) in named.notes.ranges.items()}
    try:
        machine = ContentRun(named.function, dict.fromkeys(tensors, size), values, {}, 0, ())
        run, held = machine.follow(terms, tensors)
        drawn = run_kernel(named.function, dict.fromkeys(tensors, size), values)
    except Beyond:
        return None
    return ({n: drawn.memory[n].held for n in tensors}, held) if not run.found else None


@pytest.mark.slow
def test_drawn_kernels_hold_the_same_bytes_exactly_where_their_origins_are_the_same() -> None:
    """The bytes of a run are drawn: where one number stands at two places, the bytes there are one."""
    equal = parted = 0
    for seed in range(40):
        rng = random.Random(seed)
        one = kernel_of(rng)
        terms, sides = Terms(), []
        for drawn in (one, mutant_of(rng, one)):
            sides += [_left(named, terms) for named in named_in(Source("k.mlir", drawn.text()))[:1]]
        if None in sides or len(sides) < 2:
            continue
        (bytes_, ids), (others, theirs) = (side for side in sides if side is not None)
        for name in bytes_:
            same = ids[name] == theirs[name]
            assert (bytes_[name][same] == others[name][same]).all(), f"seed {seed}"
            told = (ids[name] > 0) & (theirs[name] > 0) & ~same
            parted += int((bytes_[name][told] != others[name][told]).sum())
            equal += int(same.sum())
            assert (bytes_[name][told] != others[name][told]).sum() >= told.sum() // 2, f"seed {seed}"
    assert equal > 10_000
    assert parted > 300


def test_elements_of_one_result_are_not_one() -> None:
    left = _left(tiled(*of_tiles(16, 0, work("tpartadd"))), Terms())
    assert left is not None
    assert len(np.unique(left[1]["o"][:4096])) == 4096


# ------------------------------------------------------------------------------------------ the command


def test_the_command_compares_what_is_left_where_a_memory_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = []
    for name, one in (("one", kernel(*COPIED)), ("two", kernel(*IN_HALVES))):
        (tmp_path / f"{name}.mlir").write_text(one.source.text)
        paths.append(str(tmp_path / f"{name}.mlir"))
    assert invoke(["equiv", *paths, "--tier", "gm"]) == 0
    assert "both leave the same in gm (1,024 bytes that either changes)" in capsys.readouterr().out
    assert invoke(["equiv", *paths, "--tier", "gm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "proved"
    for wrong, said in (("ub", "a kernel leaves nothing in `ub`"), ("hbm", "a kernel leaves nothing in `hbm`")):
        assert invoke(["equiv", *paths, "--tier", wrong]) == 2
        assert said in capsys.readouterr().err
