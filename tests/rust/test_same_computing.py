"""Two kernels that compute are the same where the same operations make the same of the same; else nothing is said."""

# ruff: noqa: E501  (kernel text reads best on one line)

from __future__ import annotations

from pathlib import Path

import pytest

import dmaverify as dv
from dmaverify.jobs.load import load
from dmaverify.jobs.same_rust import ALIKE, same_rust, same_rust_and_plan
from dmaverify.prove.sameness import Sameness

HEAD = """use furiosa_opt_std::prelude::*;
axes![B = 4, L = 12, F = 8, K = 32];
type T = HbmTensor<i8, m![1], m![B, L, F]>;
type D = DmTensor<i8, m![1], m![1 # 2], m![B # 256], m![L, F]>;
type W = TrfTensor<i8, m![1], m![1 # 2], m![1 # 256], m![F], m![K]>;
"""
GIVEN, HELD = "x: &T, y: &T", "x: &HbmTensor<i8, m![1], m![F, K]>, y: &HbmTensor<i8, m![1], m![F, K]>"
LOAD, STORE = "let d: D = x.to_dm(&mut ctx.tdma);", "e.to_hbm(&mut ctx.tdma)"
STREAM = "ctx.main.begin(d.view()).fetch::<m![L], m![F]>().collect::<m![L], m![F # 32]>()"
MOVED = f"{LOAD} let e: D = {STREAM}.commit_trim::<m![F]>().commit(); {STORE}"
ADDED = f"{LOAD} let e: D = {STREAM}.vector_init().vector_fxp(FxpBinaryOp::AddFxp, 100).vector_final().commit_trim::<m![F]>().commit(); {STORE}"
HALVES = f"""{LOAD} let mut e: D = D::new();
    for i in 0..2 {{
        ctx.main.begin(d.view().tile::<m![L / 6], 1, m![1 # 2, L % 6, F]>(i)).fetch::<m![L % 6], m![F]>().collect::<m![L % 6], m![F # 32]>()
            .commit_trim::<m![F]>().commit_view(e.view_mut().tile::<m![L / 6], 1, m![1 #{{!}} 2, L % 6, F]>(AT));
    }}
    {STORE}"""
CONTRACTED = """let d = x.to_dm::<m![1 # 2], m![1 # 256], m![F, K]>(&mut ctx.tdma);
    let w = y.to_dm::<m![1 # 2], m![1 # 256], m![F, K]>(&mut ctx.tdma);
    let held: TrfTensor<i8, m![1], m![1 # 2], m![1 # 256], m![F], m![K]> = ctx.sub.begin(w.view()).fetch::<m![F], m![K]>().collect::<m![F], m![K]>().to_trf();
    let e: DmTensor<i32, m![1], m![1 # 2], m![1 # 256], m![F]> = ctx.main.begin(d.view()).fetch::<m![F], m![K]>().collect::<m![F], m![K]>()
        .contract_outer::<m![F], m![K], _, _, _>(&held).contract_packet::<m![1]>()
        .contract_time::<m![1]>().contract_lane::<m![1], m![F]>(LaneMode::Interleaved).commit_trim::<m![F]>().commit();
    e.to_hbm(&mut ctx.tdma)"""
SUMS = "HbmTensor<i32, m![1], m![F]>"


def compared(
    folder: Path, first: str, second: str, *, given: str = GIVEN, result: str = "T", more: tuple[str, str] = ("", "")
) -> Sameness:
    for name, body, head in zip("ab", (first, second), more, strict=True):
        kernel = f"#[device(chip = 1)]\npub fn k(ctx: &mut Context, {given}) -> {result} {{\n{body}\n}}\n"
        (folder / f"{name}.rs").write_text(f"{HEAD}{head}\n{kernel}")
    return same_rust([f"{folder / name}.rs::k" for name in "ab"], rlimit=2_000_000)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (f"let e: D = x.to_dm(&mut ctx.tdma); {STORE}", "proved"),
        (HALVES.replace("AT", "i"), "proved"),
        (HALVES.replace("AT", "1 - i"), "refuted"),
        (ADDED, "unknown"),
    ],
    ids=["none", "halves", "swapped", "added"],
)
def test_a_pipeline_that_changes_no_element_is_a_move(body: str, status: str, tmp_path: Path) -> None:
    found = compared(tmp_path, MOVED, body)
    assert (found.status, found.conditions) == (status, ()), found.why


@pytest.mark.parametrize(("old", "new"), [
    ("fetch::<m![L]", "fetch::<m![L = 6]"), ("collect::<m![L], m![F # 32]>", "collect::<m![L % 6, L / 6], m![F # 32]>"),
    ("collect::<m![L], m![F # 32]>()", "collect::<m![L], m![F # 16]>()"), (".commit_trim::<m![F]>()", ""),
    ("commit_trim::<m![F]>", "commit_trim::<m![B]>"), (".commit()", ".commit_cast::<i8>().commit_trim::<m![F]>().commit()"),
])  # fmt: skip
def test_a_stage_that_the_library_refuses_makes_no_kernel_the_same(old: str, new: str, tmp_path: Path) -> None:
    """Whatever stood between `begin` and `commit` was taken for a move of all elements (PROVED)."""
    other = MOVED.replace(old, new)
    for first in (f"let e: D = x.to_dm(&mut ctx.tdma); {STORE}", other):
        found = compared(tmp_path, first, other)
        assert (found.status, "k: the library refuses" in found.why) == ("unknown", True), found.why


def test_a_pipeline_that_changes_no_element_is_held_against_a_plan(tmp_path: Path) -> None:
    compared(tmp_path, MOVED, MOVED)
    text = """schema = 1
target = "rngd"
axes = { B = 4, L = 12, F = 8 }
[transfer.in]
dtype = "i8"
source = { tier = "hbm", base = 4096, element = "B, L, F" }
dest = { tier = "hbm", base = 1048576, element = "B, L, F" }
"""
    assert same_rust_and_plan(load(text, "in"), f"{tmp_path / 'a.rs'}::k", rlimit=2_000_000).status == "proved"


@pytest.mark.parametrize(
    "body",
    [
        ADDED,
        ADDED.replace("d.view", "loaded.view").replace("let d:", "let loaded:"),
        ADDED.replace("let d", "let f: D = y.to_dm(&mut ctx.tdma); let d"),
        ADDED.replace("100", "50 + 50"),
        ADDED.replace("x.to_dm(&mut ctx.tdma)", "load(ctx, x)"),
    ],
    ids=["same", "renamed", "beside", "number", "helper"],
)
def test_the_same_operations_of_the_same_contents_leave_the_same(body: str, tmp_path: Path) -> None:
    found = compared(
        tmp_path, ADDED, body, more=("", "fn load(ctx: &mut Context, x: &T) -> D { x.to_dm(&mut ctx.tdma) }")
    )
    assert (found.status, ALIKE in found.conditions) == ("proved", True), found.why


NUMBERS = "const N: i8 = 99; fn more(k: i32) -> i32 { if k > 98 { return k + 1; } k }"


@pytest.mark.parametrize(("number", "same"), [
    ("100i32", True), ("{ 100 }", True), ("more(50) * 2", True), ("N as i32 + 1", True), ("(356u16 as u8 as i32)", True),
    ("more(98)", False), ("100u8", False), ("100.0", False),
])  # fmt: skip
def test_an_operand_is_the_number_that_it_comes_to(number: str, same: bool, tmp_path: Path) -> None:
    """Only sums of bare literals were; `(100)`, `100i32` and a constant were other operands (UNKNOWN)."""
    found = compared(tmp_path, ADDED, ADDED.replace("100", number), more=("", NUMBERS))
    assert (found.status == "proved") == same, found.why


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("100", "101"),
        ("AddFxp", "SubFxp"),
        ("x.to", "y.to"),
        ("ctx.main", "ctx.sub"),
        ("fetch::<m![L]", "fetch::<m![1, L]"),
        ("let e", "let k = Mode::of(7); let e"),
        ("let d: D = x", "let d: D = y.to_dm(&mut ctx.tdma); let d: D = d"),
    ],
)
def test_other_operations_say_nothing(old: str, new: str, tmp_path: Path) -> None:
    found = compared(tmp_path, ADDED, ADDED.replace(old, new))
    assert (found.status, "not the same operations" in found.why) == ("unknown", True), found.why


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (CONTRACTED, "proved"),
        (CONTRACTED.replace("TrfTensor<i8, m![1], m![1 # 2], m![1 # 256], m![F], m![K]>", "W"), "proved"),
        (CONTRACTED.replace("m![F], m![K]> =", "m![F # 16], m![K]> ="), "unknown"),
        (CONTRACTED.replace("Interleaved", "Sequential"), "unknown"),
        (CONTRACTED.replace("&held", "&other").replace("let held", "let other"), "proved"),
        (CONTRACTED.replace("begin(w", "begin(d"), "unknown"),
    ],
    ids=["same", "alias", "lanes", "mode", "renamed", "operand"],
)
def test_registers_are_operands_with_the_type_that_is_written(body: str, status: str, tmp_path: Path) -> None:
    found = compared(tmp_path, CONTRACTED, body, given=HELD, result=SUMS)
    assert found.status == status, found.why


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (CONTRACTED.replace(": TrfTensor<i8, m![1], m![1 # 2], m![1 # 256], m![F], m![K]>", ""), "annotate it"),
        (CONTRACTED.replace("LaneMode::Interleaved", "Mine::A"), "an operand"),
        (CONTRACTED.replace("LaneMode::Interleaved", "mode()"), "`mode` is a call"),
        (CONTRACTED.replace("m![1], m![F]>(", "m![1], m![{ n::F }]>("), "the name of two axes"),
        (CONTRACTED.replace(".contract_packet::<m![1]>()", ".mine()"), "not followed"),
    ],
)
def test_what_may_decide_and_is_not_known_leaves_the_answer_open(body: str, said: str, tmp_path: Path) -> None:
    own = "enum Mine { A } mod n { axes![F = 8]; } trait More { fn mine(self) -> Self; }"
    found = compared(tmp_path, body, body, given=HELD, result=SUMS, more=(own, own))
    assert (found.status, said in found.why) == ("unknown", True), found.why


def test_a_macro_may_make_methods_but_none_in_place_of_a_stage(tmp_path: Path) -> None:
    own = "macro_rules! made { ($n:ident) => { fn $n() {} } } "
    for name, status in (("fetch", "proved"), ("mine", "unknown")):
        body = ADDED if name == "fetch" else ADDED.replace(".vector_init()", ".mine().vector_init()")
        assert compared(tmp_path, body, body, more=(f"{own} made!({name});",) * 2).status == status


@pytest.mark.parametrize(
    ("one", "other", "status"),
    [
        ("use furiosa_opt_std::prelude::LaneMode as Z;", "use furiosa_opt_std::prelude::LaneMode as Z;", "proved"),
        ("use furiosa_opt_std::prelude::LaneMode as Z;", "use furiosa_opt_std::prelude::OtherMode as Z;", "unknown"),
        (
            "use n::*; mod n { pub use furiosa_opt_std::A as Z; }",
            "use n::*; mod n { pub use furiosa_opt_std::B as Z; }",
            "unknown",
        ),
        ("use furiosa_opt_std::a::*;", "use furiosa_opt_std::b::*;", "unknown"),
        ("use a::prelude::*;", "use b::prelude::*;", "unknown"),
        ("use furiosa_opt_std::a as r; use r::Z;", "use furiosa_opt_std::b as r; use r::Z;", "unknown"),
        (
            "use n::Z; mod n { pub use furiosa_opt_std::A as Z; }",
            "use n::Z; mod n { pub use furiosa_opt_std::B as Z; }",
            "unknown",
        ),
    ],
)
def test_a_name_of_the_library_is_what_its_file_imports(one: str, other: str, status: str, tmp_path: Path) -> None:
    body = CONTRACTED.replace("LaneMode", "Z")
    assert compared(tmp_path, body, body, given=HELD, result=SUMS, more=(one, other)).status == status


ONE, TWO = "LaneMode::Interleaved", "LaneMode::Sequential"


@pytest.mark.parametrize(
    ("called", "own"),
    [
        ("A", "use Mine::*; enum Mine { A }"), ("A", "use self::Mine::A; enum Mine { A }"),
        ("n::Z::A", "mod n { pub use furiosa_opt_std::ONE as Z; }"),
        ("LaneMode::X", "trait Q { const X: LaneMode; } impl Q for LaneMode { const X: LaneMode = ONE; }"),
        ("q::A", "extern crate furiosa as q;"),
        ("LaneMode::x()", "trait Q { fn x() -> LaneMode; } impl Q for LaneMode { fn x() -> LaneMode { ONE } }"),
    ],
)  # fmt: skip
def test_what_the_crate_may_declare_is_no_name_of_the_library(called: str, own: str, tmp_path: Path) -> None:
    body = CONTRACTED.replace(ONE, called)
    more = tuple(own.replace("ONE", one).replace("TWO", two) for one, two in ((ONE, TWO), (TWO, ONE)))
    found = compared(tmp_path, body, body, given=HELD, result=SUMS, more=(more[0], more[1]))
    assert (found.status, "not followed" in found.why) == ("unknown", True), found.why


@pytest.mark.parametrize(("name", "status"), [("vector_final", "proved"), ("vector_final_mine", "unknown")])
def test_a_method_of_the_crate_is_no_stage_however_it_is_called(name: str, status: str, tmp_path: Path) -> None:
    body = ADDED.replace(".vector_final()", f".{name}().vector_final()")
    own = [f"trait More {{ fn {name}(self) -> Self {{ other({one}); self }} }}" for one in (1, 2)]
    assert compared(tmp_path, body, body, more=(own[0], own[1])).status == status


@pytest.mark.parametrize(
    "written", ["let m: MODE = Mode::get();", "const m: MODE = Mode::get();", "fn g() -> MODE { Mode::get() } let m = g();"]
)  # fmt: skip
def test_the_type_beside_a_value_may_decide_what_it_is(written: str, tmp_path: Path) -> None:
    body = ADDED.replace("let e", f"{written} let e").replace("100", "m")
    for other, status in (("One", "proved"), ("Two", "unknown")):
        kernels = [body.replace("MODE", mode) for mode in ("One", other)]
        assert compared(tmp_path, kernels[0], kernels[1]).status == status


def test_a_value_that_its_methods_may_change_decides_nothing(tmp_path: Path) -> None:
    body = ADDED.replace("100", "m")
    early, late = body.replace("let e", "m.set(3); let e"), body.replace(STORE, f"m.set(3); {STORE}")
    for mutable, given in (("mut m: Mode", "Mode::of(1)"), ("(mut m, n): (Mode, Mode)", "(Mode::of(1), Mode::of(2))")):
        own = [f"fn h(ctx: &mut Context, x: &T, {mutable}) -> T {{ {one} }}" for one in (early, late)]
        call = f"h(ctx, x, {given})"
        assert compared(tmp_path, call, call, more=(own[0], own[1])).status == "unknown"


ONTO = "ctx.main.begin(d.view()).fetch::<m![L], m![F]>().collect::<m![L], m![F # 32]>().vector_init().vector_final().commit_trim::<m![F]>().commit_view(e.view_mut());"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (f"{LOAD} let mut e = D::new(); {ONTO} {STORE}", ""),
        (f"{LOAD} let mut e = D::new(); {ONTO} {ONTO} {STORE}", "nothing orders what lines 11 and 12 do to one tensor"),
        (
            f"{LOAD} let mut e: D = y.to_dm(&mut ctx.tdma); let s: T = e.to_hbm(&mut ctx.tdma); {ONTO} s",
            "nothing orders",
        ),
        (f"{LOAD} let mut e = D::new(); {ONTO} let s: T = {STORE}; {ONTO} s", "nothing orders"),
    ],
    ids=["once", "twice", "read before", "written behind"],
)
def test_operations_that_nothing_orders_and_that_meet_say_nothing(body: str, said: str, tmp_path: Path) -> None:
    body = body.replace("; ", ";\n")
    found = compared(tmp_path, body, body)
    assert (found.status, said in found.why) == ("unknown" if said else "proved", True), found.why


ARM = ONTO.replace("vector_init()", "vector_init().vector_fxp(FxpBinaryOp::OP, 1)")
ADD, SUB = ARM.replace("OP", "AddFxp"), ARM.replace("OP", "SubFxp")


@pytest.mark.parametrize(
    ("first", "second", "status"),
    [
        (f"if n < 5 {{ {ADD} }} else {{ {SUB} }}", f"if n >= 5 {{ {SUB} }} else {{ {ADD} }}", "proved"),
        (f"if n < 5 {{ {ADD} }} else {{ {SUB} }}", f"if n > 5 {{ {SUB} }} else {{ {ADD} }}", "unknown"),
        (f"if 1 < 5 {{ {ADD} }} else {{ {SUB} }}", ADD, "proved"),
        (f"if 5 < 1 {{ {SUB} }} {ADD}", ADD, "proved"),
        (f"{ADD} if 5 < 1 {{ {SUB} }}", f"{ADD} {SUB}", "unknown"),
        (ADD.replace(", 1)", ", n)"), ADD.replace(", 1)", ", n)"), "proved"),
        (ADD.replace(", 1)", ", n)"), ADD.replace(", 1)", ", m)"), "unknown"),
    ],
)
def test_operations_count_on_the_ways_that_run_them(first: str, second: str, status: str, tmp_path: Path) -> None:
    bodies = [f"{LOAD} let mut e = D::new(); {one} {STORE}" for one in (first, second)]
    assert compared(tmp_path, *bodies, given=f"{GIVEN}, n: usize, m: usize").status == status


PARTS = """{LOAD} let mut e = D::new(); for i in 0..2 {{ let j = {at}; ctx.main.begin(d.view().tile::<m![L / 6], 1, m![1 # 2, L % 6, F]>(j)).fetch::<m![L % 6], m![F]>()
    .collect::<m![L % 6], m![F # 32]>().vector_init().vector_fxp(FxpBinaryOp::AddFxp, 7).vector_final().commit_trim::<m![F]>()
    .commit_view(e.view_mut().tile::<m![L / 6], 1, m![1 #{{!}} 2, L % 6, F]>({to})); }} {STORE}"""


@pytest.mark.parametrize(("at", "to", "status"), [("1 - i", "j", "proved"), ("i", "1 - j", "unknown"), ("1 - i", "1 - j", "unknown")])  # fmt: skip
def test_parts_that_share_no_cell_are_written_in_whatever_order(at: str, to: str, status: str, tmp_path: Path) -> None:
    """UNKNOWN, before: what was written last stood outermost."""
    first, second = (PARTS.format(LOAD=LOAD, STORE=STORE, at=a, to=b) for a, b in (("i", "j"), (at, to)))
    found = compared(tmp_path, first, second)
    assert found.status == status, found.why


I32 = "HbmTensor<i32, m![1], m![B, L, F]>"
E = "type E = DmTensor<i32, m![1], m![1 # 2], m![B # 256], m![L, F]>;"
OF_I32 = ADDED.replace("let d: D", "let d: E").replace("let e: D", "let e: E").replace("F # 32", "F # 8")


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("100", "101", "103 104"), ("AddFxp", "SubFxp", "103 -97"), ("AddFxp", "MulInt", "103 300"), ("x.to", "y.to", "103 105"),
        (".vector_fxp(FxpBinaryOp::AddFxp, 100)", "", "103 3"), (".vector_fxp(FxpBinaryOp::AddFxp, 100)", ".vector_logic(LogicBinaryOpI32::BitOr, 4)", "103 7"),
        ("AddFxp, 100)", "AddFxp, 60).vector_clip(ClipBinaryOpI32::AddFxp, 40)", ""), ("AddFxp, 100)", "AddFxp, 100).vector_clip(ClipBinaryOpI32::Max, 7)", ""),
        ("FxpBinaryOp::AddFxp", "FxpBinaryOp::MulFxp", ""), ("FxpBinaryOp::AddFxp", "FpBinaryOp::MulF", ""), ("AddFxp, 100", "MulInt, 2_000_000", ""),
        ("vector_init()", "vector_init().vector_reinterpret::<f32>()", ""), ("FxpBinaryOp::AddFxp", "FxpBinaryOp::SubFxp.negated()", ""),
    ],
)  # fmt: skip
def test_numbers_that_are_one_everywhere_show_a_difference(old: str, new: str, shown: str, tmp_path: Path) -> None:
    given = f"x: &{I32}, y: &{I32}"
    found = compared(tmp_path, OF_I32, OF_I32.replace(old, new), given=given, result=I32, more=(E, E))
    told = [str(found.witness[word]) for word in ("first", "second")] if found.witness else []
    assert (found.status, " ".join(told)) == ("refuted" if shown else "unknown", shown), found.why


def test_a_call_that_may_stop_every_run_lets_none_show_a_difference(tmp_path: Path) -> None:
    body = OF_I32.replace("let e", "let q = Mode::of(1); let e")
    found = compared(tmp_path, body, body.replace("100", "101"), given=f"x: &{I32}, y: &{I32}", result=I32, more=(E, E))
    assert found.status == "unknown", found.why


def test_a_tensor_that_is_given_shows_a_difference_too(tmp_path: Path) -> None:
    given = f"x: &{I32}, y: &{I32}, out: &mut {I32}"
    body = OF_I32.replace(STORE, "e.view().to_hbm_view(&mut ctx.tdma, out.view_mut());")
    found = compared(tmp_path, body, body.replace("100", "9"), given=given, result="()", more=(E, E))
    assert (found.status, found.why) == ("refuted", "what `out` holds in the end differs")


GATHER = "let d: DmTensor<i8, m![1], m![1 # 2], m![B # 256], m![L, F]> = x.dma_gather_scaled::<_, _, _>(&mut ctx.tdma, rows); d.to_hbm(&mut ctx.tdma)"


def test_a_gather_is_an_operation_of_its_table_and_its_index(tmp_path: Path) -> None:
    given = "x: &HbmTensor<i8, m![1], m![K, L, F]>, rows: &HbmTensor<i32, m![1], m![B]>, more: &HbmTensor<i32, m![1], m![B]>"
    for index, status in (("rows", "proved"), ("more", "unknown")):
        found = compared(tmp_path, GATHER, GATHER.replace("rows", index), given=given)
        assert found.status == status, found.why


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("let d:", "let main = &mut ctx.sub; let d:", "unknown"),
        ("ctx.main", "ctx.main", "proved"),
    ],
)
def test_a_context_is_named_where_a_pipeline_begins(old: str, new: str, status: str, tmp_path: Path) -> None:
    """`main`, a name of whatever the text says, was `ctx.main` (PROVED)."""
    other = ADDED.replace(old, new)
    other = other.replace("ctx.main.begin", "main.begin") if status == "unknown" else other
    found = compared(tmp_path, ADDED, other)
    assert found.status == status, found.why


@pytest.mark.parametrize("macro", ["m", "axes"])
def test_a_macro_of_the_crate_is_not_the_vendors(macro: str, tmp_path: Path) -> None:
    """What `m![...]` of the crate's own stands for is not known (PROVED, as the vendor's)."""
    own = f"macro_rules! {macro} {{ ($($t:tt)*) => {{ }}; }}"
    text = HEAD.replace("axes!", f"{own}\naxes!")
    kernel = f"#[device(chip = 1)]\npub fn k(ctx: &mut Context, {GIVEN}) -> T {{ let e: D = x.to_dm(&mut ctx.tdma); {STORE} }}\n"
    for name, body, status in (("own.rs", text, "unknown"), ("vendor.rs", HEAD, "proved")):
        (tmp_path / name).write_text(f"{body}{kernel}")
        assert {one.status.value for one in dv.check(str(tmp_path / name))} == {status}
