"""Two kernels in Rust are the same where they leave the same in the tensors that others see, whatever way it takes."""

# ruff: noqa: E501  (kernel text reads best on one line)

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from fuzz.kernel_pairs import answer, wrong
from lab.branched_kernels import branched_kernels
from lab.draws import rest
from lab.kernel_pairs import drawn_kernels

from dmaverify.cli.app import invoke
from dmaverify.errors import InputError
from dmaverify.jobs.load import load
from dmaverify.jobs.same_rust import same_rust, same_rust_and_plan
from dmaverify.machines.rngd.rust.followed import followed_kernel
from dmaverify.machines.rngd.rust.lowered import lowered_kernel
from dmaverify.prove.flow.equality.same import side_of
from dmaverify.prove.sameness import Sameness
from dmaverify.targets.target import load_target

HEAD = """use furiosa_opt_std::prelude::*;
axes![B = 32, L = 96, F = 8];
type T = HbmTensor<i8, m![1], m![B, L, F]>;
type D = DmTensor<i8, m![1], m![1 # 2], m![B # 256], m![L, F]>;
"""
KERNEL = "#[device(chip = 1)]\npub fn {name}(ctx: &mut Context, {given}) -> {result} {{\n{body}\n}}\n"
GIVEN = "x: &T, y: &T, out: &mut T"
THROUGH = "let d: D = x.to_dm(&mut ctx.tdma); d.to_hbm(&mut ctx.tdma)"
BY_TILES = """let mut r = T::new();
    for i in 0..6 {
        x.view().tile::<m![L / 16], 1, m![B, 1 # 6, L % 16, F]>(i)
            .to_hbm_view(&mut ctx.tdma, r.view_mut().tile::<m![L / 16], 1, m![B, 1 #{!} 6, L % 16, F]>(AT));
    }
    r"""


def compared(
    folder: Path, first: str, second: str, *, given: tuple[str, str] = (GIVEN, GIVEN),
    result: tuple[str, str] = ("T", "T"), more: str = "",
) -> Sameness:  # fmt: skip
    """The answer on two bodies of kernels."""
    path = folder / "k.rs"
    kernels = [KERNEL.format(name=name, body=body, given=own, result=gives)
               for name, body, own, gives in zip("kj", (first, second), given, result, strict=True)]  # fmt: skip
    path.write_text("\n".join([HEAD, more, *kernels]))
    return same_rust([f"{path}::k", f"{path}::j"], rlimit=2_000_000)


@pytest.mark.parametrize(
    "body",
    [
        THROUGH,
        THROUGH.replace("let d: D = x.to_dm(&mut", "let d = x.to_dm::<m![1 # 2], m![B # 256], m![L, F]>(&mut"),
        BY_TILES.replace("AT", "i"),
        "let s: T = x.to_hbm(&mut ctx.tdma); let d: D = s.to_dm(&mut ctx.tdma); d.to_hbm(&mut ctx.tdma)",
        "let d = staged(ctx, x); d.to_hbm(&mut ctx.tdma)",
        "let e: D = y.to_dm(&mut ctx.tdma); let d: D = x.to_dm(&mut ctx.tdma); d.to_hbm(&mut ctx.tdma)",
    ],
    ids=["same", "named", "tiles", "twice", "helper", "beside"],
)
def test_the_way_that_a_tensor_takes_is_no_difference(body: str, tmp_path: Path) -> None:
    helper = "fn staged(ctx: &mut Context, x: &T) -> D { x.to_dm(&mut ctx.tdma) }"
    found = compared(tmp_path, THROUGH, body, more=helper)
    assert (found.status, found.why) == ("proved", "both leave the same in the tensors that they are given and give")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (THROUGH.replace("x.to", "y.to"), "byte 73728 the first leaves what lay at hbm, byte 0 "),
        (BY_TILES.replace("AT", "5 - i"), "the second what lay at hbm, byte 640 "),
        (
            THROUGH.replace("let", "x.view().to_hbm_view(&mut ctx.tdma, out.view_mut()); let", 1),
            "the first leaves what lay there",
        ),
    ],
)
def test_other_bytes_in_a_tensor_that_others_see_are_a_difference(body: str, said: str, tmp_path: Path) -> None:
    found = compared(tmp_path, THROUGH, body)
    assert (found.status, said in found.why, "traced back through both" in found.by) == ("refuted", True, True), (
        found.why
    )
    assert "its result begins at hbm, byte 73728, here" in found.notes


TURNED = "trait Turn { fn rev(self) -> Self; } impl Turn for [usize; 6] { fn rev(self) -> Self { self } }"


@pytest.mark.parametrize(("lines", "status", "said"), [
    ("let mut i = 6; while i > 0 { i -= 1; @i@ }", "proved", ""), ("let mut i = 6; while i > 0 { i -= 1; @5 - i@ }", "refuted", "byte 640"),
    ("let mut i = 0; loop { if i == 6 { break; } @i@ i += 1; }", "proved", ""), ("for i in 0..9 { if i > 5 { continue; } @i@ }", "proved", ""),
    ("let k = [1, 0, 2, 3, 5, 4]; for j in 0..6 { let i = k[j]; @i@ }", "proved", ""), ("let k = [1, 0, 2, 3, 5, 4]; for i in 0..6 { @k[i]@ }", "refuted", "byte 128"),
    ("(0..6).step_by(1).for_each(|i| { @i@ });", "proved", ""), ("let mut k = 4; k += 2; for i in 0..6 { @(i + k) % 6@ }", "unknown", "compound assignment"),
    ("let mut k = [4, 6]; k.swap(0, 1); for i in 0..6 { @(i + k[0]) % 6@ }", "unknown", "`.swap()`"), ("for i in [0, 1, 2, 3, 4, 5].rev() { @i@ }", "unknown", "`.rev()`"),
])  # fmt: skip
def test_loops_and_tables_are_followed_as_far_as_their_numbers_are(
    lines: str, status: str, said: str, tmp_path: Path
) -> None:
    copy = BY_TILES[BY_TILES.index("x.view") : BY_TILES.index("    }\n")]
    first, at, last = lines.split("@")
    found = compared(tmp_path, THROUGH, f"let mut r = T::new(); {first}{copy.replace('AT', at)}{last} r", more=TURNED)
    assert (found.status, said in found.why) == (status, True), found.why


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("let d: D = [x, y][0].to_dm(C); STORE", "array expression"),
        ("let d: D = if ready() { LOAD } else { LOAD }; STORE", "`ready` is a call"),
        ("let d: D = if D::READY { LOAD } else { LOAD }; STORE", "a branch that is not decided"),
        ("let mut d: D = LOAD; d = y.to_dm(&mut ctx.tdma); STORE", "assignment"),
        ("let d: D = LOAD; return STORE;", "return expression"),
        (
            "let e: D = LOAD; let d: D = ctx.main.begin(e.view()).fetch(mystery()).commit(); STORE",
            "`mystery` is a call",
        ),
        ("let mut d: D = LOAD; std::mem::swap(&mut d, &mut e); STORE", "mem::swap"),
        ("let d: D = LOAD; mystery(&d); STORE", "`mystery` is a call"),
        ("let mut d: D = LOAD; d.memset(0); STORE", "`.memset()` of a tensor"),
        ("let d: D = LOAD; log!(d); STORE", "the macro `log!`"),
        ("let d: D = D::new(); STORE", "is not proved"),
        ("let d: D = LOAD; for i in 0..99 { let e: D = LOAD; } STORE", "a loop of many turns"),
        ('#[cfg(feature = "fast")] let e: D = LOAD; x.to_hbm(&mut ctx.tdma)', "build has"),
        ("let d: D = LOAD; let s: T = out.to_hbm(&mut ctx.tdma); d.view().to_hbm_view(INTO); s", "core/hazard-war"),
    ],
)
def test_what_is_not_followed_or_not_proved_leaves_the_answer_open(body: str, said: str, tmp_path: Path) -> None:
    for word, text in (("LOAD", "x.to_dm(C)"), ("STORE", "d.to_hbm(C)"), ("INTO", "C, out.view_mut()")):
        body = body.replace(word, text)
    body = body.replace("(C", "(&mut ctx.tdma")
    found = compared(tmp_path, body, body)
    assert (found.status, said in found.why) == ("unknown", True), found.why


@pytest.mark.parametrize(
    ("given", "result", "said"),
    [
        ("x: &T, y: &T", "T", "their arguments differ: 3 against 2"),
        (GIVEN.replace("y: &T", "y: &HbmTensor<i8, m![1], m![B, F, L]>"), "T", "m![B, L, F]"),
        ("x: HbmTensorView<i8, m![1], m![B, L, F]>, y: &T, out: &mut T", "T", "their arguments differ"),
        (f"{GIVEN}, n: usize", "T", "their arguments differ: 3 against 4"),
        (f"{GIVEN}, n: f32", "T", "`n` is neither a whole tensor nor a context"),
        ("x: &T, (_, y): (&T, &T), out: &mut T", "T", "their arguments differ: 3 against 4"),
    ],
)
def test_kernels_of_other_types_are_no_two_kernels_for_one_caller(
    given: str, result: str, said: str, tmp_path: Path
) -> None:
    found = compared(tmp_path, THROUGH, THROUGH, given=(GIVEN, given), result=("T", result))
    assert (found.status, said in found.why) == ("unknown", True), found.why


def test_kernels_of_other_devices_are_no_two_for_one_caller(tmp_path: Path) -> None:
    kernels = [KERNEL.format(name=name, body=THROUGH, given=GIVEN, result="T") for name in "kj"]
    (tmp_path / "k.rs").write_text("\n".join([HEAD, kernels[0], kernels[1].replace("chip = 1", "chip = 1, pe = 4")]))
    found = same_rust([f"{tmp_path / 'k.rs'}::{name}" for name in "kj"], rlimit=2_000_000)
    assert (found.status, "their devices differ" in found.why) == ("unknown", True), found.why


def test_arguments_are_matched_by_their_place_and_not_by_their_names(tmp_path: Path) -> None:
    turned = THROUGH.replace("x.to", "y.to")
    assert compared(tmp_path, THROUGH, turned, given=(GIVEN, "y: &T, x: &T, out: &mut T")).status == "proved"
    assert compared(tmp_path, THROUGH, THROUGH, given=(GIVEN, "y: &T, x: &T, out: &mut T")).status == "refuted"


TILES = """let mut d = D::new(); let mut r = T::new();
    for i in 0..6 {
        x.view().tile::<m![L / 16], 1, m![B, 1 # 6, L % 16, F]>(i)
            .to_dm_view(&mut ctx.tdma, d.view_mut().tile::<m![L / 16], 1, m![1 #{!} 6, L % 16, F]>(i));
    }
    for i in 0..6 {
        d.view().tile::<m![L / 16], 1, m![1 # 6, L % 16, F]>(i)
            .to_hbm_view(&mut ctx.tdma, r.view_mut().tile::<m![L / 16], 1, m![B, 1 #{!} 6, L % 16, F]>(i));
    }
    r"""


@pytest.mark.parametrize(
    ("body", "edges"), [(BY_TILES.replace("AT", "i"), 0), (THROUGH, 1), (TILES, 6)], ids=["none", "one", "tiles"]
)
def test_a_step_waits_for_those_whose_cells_it_reads_and_for_no_others(body: str, edges: int, tmp_path: Path) -> None:
    path = tmp_path / "k.rs"
    path.write_text(HEAD + KERNEL.format(name="k", body=body, given=GIVEN, result="T"))
    text = lowered_kernel(followed_kernel(str(path), "k"), load_target("rngd")).text
    assert (text.count("after = ["), text.count('"line-', text.index("after") if edges else len(text))) == (
        edges,
        2 * edges - 1 if edges > 1 else edges,
    )


PLAN = """schema = 1
target = "rngd"
axes = { B = 32, L = 96, F = 8 }
[transfer.in]
dtype = "i8"
source = { tier = "hbm", base = 4096, element = "B, L, F" }
dest = { tier = "dm", base = 0, cluster = "1 # 2", slice = "B # 256", element = "L, F" }
[transfer.out]
dtype = "i8"
source = { tier = "dm", base = 0, cluster = "1 # 2", slice = "B # 256", element = "L, F" }
dest = { tier = "hbm", base = 1048576, element = "B, L, F" }
[transfer.more]
dtype = "i8"
source = { tier = "dm", base = 0, cluster = "1 # 2", slice = "B # 256", element = "L, F" }
dest = { tier = "hbm", base = 16777216, element = "B, L, F" }
[program.p]
step = [{ transfer = "in" }, { transfer = "out", after = ["in"] }MORE]
"""


@pytest.mark.parametrize(
    ("more", "change", "status", "said"),
    [
        ("", ("", ""), "proved", ""),
        (
            ', { transfer = "more", after = ["in"] }',
            ("", ""),
            "refuted",
            "the plan changes 49,152 bytes of hbm, the kernel 24,576",
        ),
        (
            "",
            ('base = 1048576, element = "B, L, F"', 'base = 1048576, element = "L, B, F"'),
            "refuted",
            "no places of its tensors",
        ),
        ("", ("base = 1048576", "base = 8192"), "unknown", "tensors would share bytes"),
        ("", (', after = ["in"]', ', context = "other"'), "unknown", "core/hazard-raw"),
    ],
)
def test_a_kernel_is_held_against_a_plan_where_its_tensors_lie_there(
    more: str, change: tuple[str, str], status: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "k.rs"
    path.write_text(HEAD + KERNEL.format(name="k", body=THROUGH, given=GIVEN, result="T"))
    plan = load(PLAN.replace("MORE", more).replace(*change) if change[0] else PLAN.replace("MORE", more), "p")
    for first in (True, False)[: 1 if status == "refuted" else 2]:  # runs take their time
        found = same_rust_and_plan(plan, f"{path}::k", rlimit=2_000_000, plan_first=first)
        assert (found.status, said in found.why) == (status, True), found.why
        lying = ("x lies at hbm, byte 4,096", "its result lies at hbm, byte 1,048,576")
        assert status != "proved" or {*lying} <= {*found.conditions}


def test_any_number_of_tensors_is_laid_where_a_plan_leaves_the_same(tmp_path: Path) -> None:
    """Seven results; the plan writes them in another order, with one row more or less between them."""
    order, count = (3, 0, 6, 1, 5, 2, 4), 7
    kinds = [f"HbmTensor<i8, m![1], m![F{at}, L]>" for at in range(count)]
    axes = ", ".join(f"F{at} = {at + 2}" for at in range(count))
    given = ", ".join(f"x{at}: &{kind}" for at, kind in enumerate(kinds))
    body = ", ".join(f"x{at}.to_hbm(&mut ctx.tdma)" for at in range(count))
    path = tmp_path / "k.rs"
    path.write_text(
        f"use furiosa_opt_std::prelude::*;\naxes![L = 96, {axes}];\n"
        + KERNEL.format(name="k", body=f"({body})", given=given, result=f"({', '.join(kinds)})")
    )
    for turned, status in ((False, "unknown"), (True, "refuted")):
        tables, steps = [], []
        for place, at in enumerate(order):
            dest = f"L, F{at}" if turned and at == 5 else f"F{at}, L"
            sides = (
                f'base = {8192 * at + 4096}, element = "F{at}, L"',
                f'base = {262144 + 8192 * place}, element = "{dest}"',
            )
            source, to = (f'{{ tier = "hbm", {side} }}' for side in sides)
            tables.append(f'[transfer.t{at}]\ndtype = "i8"\nsource = {source}\ndest = {to}\n')
            steps.append(f'{{ transfer = "t{at}" }}')
        text = f'schema = 1\ntarget = "rngd"\naxes = {{ L = 96, {axes} }}\n{"".join(tables)}[program.p]\nstep = [{", ".join(steps)}]\n'
        assert same_rust_and_plan(load(text, "p"), f"{path}::k", rlimit=2_000_000).status == status


def test_a_tensor_that_nobody_sees_is_no_difference_from_a_plan(tmp_path: Path) -> None:
    path, twice = tmp_path / "k.rs", f"let s: T = x.to_hbm(&mut ctx.tdma); {THROUGH.replace('x.to_dm', 's.to_dm')}"
    path.write_text(HEAD + KERNEL.format(name="k", body=twice, given=GIVEN, result="T"))
    found = same_rust_and_plan(load(PLAN.replace("MORE", ""), "p"), f"{path}::k", rlimit=2_000_000)
    assert found.status == "unknown"


def test_padding_that_holds_anything_is_no_place_for_cells() -> None:
    """Slices 32 to 63 of the first tensor are padding, where the second one lies."""
    head = 'schema = 1\ntarget = "rngd"\naxes = { B = 32, L = 96 }\n'
    source = 'dtype = "i8"\nsource = { tier = "hbm", base = 0, element = "B, L" }'
    dest = 'dest = {{ tier = "dm", base = {base}, slice = "{slices}", element = "L" }}'
    moves = "".join(
        f"[transfer.{name}]\n{source}\n{dest.format(base=base, slices=slices)}\n"
        for name, base, slices in (("one", 0, "B # 64"), ("two", "{ slice = 32, element = AT }", "B"))
    )
    steps = '[program.p]\nstep = [{ transfer = "one" }, { transfer = "two" }]\n'
    for at, refused in ((96, False), (95, True)):
        plan = load(head + moves.replace("AT", str(at)) + steps, "p")
        program = plan.programs[0]
        if refused:
            with pytest.raises(InputError, match="may leave anything in padding"):
                side_of(program, plan.axes, plan.targets["rngd"], live=True)
            continue
        works = side_of(program, plan.axes, plan.targets["rngd"], live=True).works
        assert [sum(touch.writes for touch in work.touches) for work in works] == [1, 1]


def test_kernels_are_named_and_what_names_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compared(tmp_path, THROUGH, BY_TILES.replace("AT", "i"))
    path = str(tmp_path / "k.rs")
    assert invoke(["equiv", f"{path}::k", f"{path}::j"]) == 0
    assert invoke(["equiv", f"{path}::k", f"{path}::j", "--json"]) == 0
    capsys.readouterr()
    for words, said in (
        ([f"{path}::kk", f"{path}::j"], "did you mean `k`?"), ([path, f"{path}::j"], "has several functions"),
        ([f"{path}::k", f"{path}::j", "--tier", "hbm"], "leave --tier out"),
        ([f"{path}::k", f"{path}::j", "--define", "n=1"], "for drivers in C"),
        ([f"{path}::k", str(tmp_path / "no.rs::k")], "does not exist"),
    ):  # fmt: skip
        assert invoke(["equiv", *words]) == 2
        assert said in capsys.readouterr().err
    assert invoke(["equiv", "examples/idma/waits.toml::waited", f"{path}::k"]) == 2
    assert "`waited` is no plan of rngd" in capsys.readouterr().err


BACK, OTHER = "x.to_hbm(&mut ctx.tdma)", "y.to_hbm(&mut ctx.tdma)"
NUMBERS = f"{GIVEN}, c: bool, n: usize, m: i32"
EITHER = f"if n < 5 {{ {BACK} }} else {{ {OTHER} }}"
WAYS = [  # two kernels, the answer, and the numbers at which a difference shows
    (f"if c {{ {BACK} }} else {{ {OTHER} }}", f"match c {{ false => {{ {OTHER} }} true => {{ {THROUGH} }} }}", "proved", ""),
    (f"if c {{ {BACK} }} else {{ {OTHER} }}", f"if !c {{ {BACK} }} else {{ {OTHER} }}", "refuted", "c = 0, n = 0, m = "),
    (EITHER, f"if n >= 5 {{ {OTHER} }} else {{ {THROUGH} }}", "proved", ""), (EITHER, EITHER.replace("<", "<="), "refuted", "n = 5"),
    (EITHER, f"match n {{ 0..=4 => {{ {BACK} }} _ => {{ {OTHER} }} }}", "proved", ""), (EITHER, f"match n {{ 0..=3 => {{ {BACK} }} _ => {{ {OTHER} }} }}", "refuted", "n = 4"),
    (f"if n < 5 {{ if m < 0 {{ {BACK} }} else {{ {OTHER} }} }} else {{ {OTHER} }}", f"if n < 5 && m < 0 {{ {BACK} }} else {{ {OTHER} }}", "proved", ""),
    (f"if n % 2 == 0 {{ {BACK} }} else {{ {OTHER} }}", f"if n & 1 == 1 {{ {OTHER} }} else {{ {BACK} }}", "proved", ""),
    (f"if n < 5 {{ {BACK} }} else if n < 3 {{ {OTHER} }} else {{ {BACK} }}", THROUGH, "proved", ""), (THROUGH, BACK, "proved", ""),
    (BY_TILES.replace("AT", "i"), f"if n < 3 {{ {BACK} }} else {{ {BY_TILES.replace('AT', '5 - i')} }}", "refuted", "n = 3"),
    (f"let k = 7 / n; {BACK}", BACK, "unknown", ""), (f"if c && ready() {{ {BACK} }} else {{ {BACK} }}", BACK, "unknown", ""),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "status", "where"), WAYS)
def test_kernels_that_are_given_numbers_are_compared_on_every_way(
    first: str, second: str, status: str, where: str, tmp_path: Path
) -> None:
    found = compared(tmp_path, first, second, given=(NUMBERS, NUMBERS))
    assert found.status == status, found.why
    assert where in (found.witness or {"where": ""})["where"]


@pytest.mark.slow
def test_drawn_branches_are_the_same_where_every_number_leaves_the_same(tmp_path: Path) -> None:
    told = set()
    for seed in range(4):
        pair = branched_kernels(seed)
        found = answer(pair, tmp_path)
        assert wrong(pair, found) == "", (found.text(*pair.texts), pair.texts)
        told.add(found.status)
    assert told >= {"proved", "refuted"}


@pytest.mark.parametrize("drawn", [(2, 4, 8, 10), *rest([(range(20),)])])
def test_drawn_kernels_are_the_same_where_they_leave_the_same(tmp_path: Path, drawn: Sequence[int]) -> None:
    found = []
    for seed in drawn:
        pair = drawn_kernels(seed)
        found.append(answer(pair, tmp_path))
        assert wrong(pair, found[-1]) == "", found[-1].text(*pair.texts)
    told = [one.status for one in found]
    assert {*told} >= {"proved", "refuted"}
