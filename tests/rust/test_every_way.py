"""Written on every way: outputs and tensors of data memory behind branches, loops that may not run, early returns.

Each kernel stands for a class; what is not written on some way is refuted where a run can take that way, unknown where
that is not certain, and never proved.
"""

# ruff: noqa: E501  (kernels)

import pytest
from kernels import plan, verdicts

HBM = "HbmTensor<i8, Chip, m![A, B]>"
DM = "DmTensor<i8, Chip, Cluster, m![A], m![B]>"
WIDE = "axes![W = 8192, V = 4096];\n"


def copy(start: str, to: str = "", into: str = "y") -> str:
    return (
        f"x.view().tile::<m![B], 16, m![A, B = 16 # 64]>({start})"
        f".to_hbm_view(&mut ctx.tdma, {into}.view_mut().tile::<m![B], 16, m![A, B = 16 #{{!}} 64]>({to or start}));"
    )


def kernel(lines: str, more: str = "", before: str = "", result: str = "y") -> str:
    made = HBM.replace("HbmTensor<", "HbmTensor::<")
    return (
        f"{before}\n#[device(chip = 1)]\nfn f(ctx: &mut Context, x: &{HBM}, {more}) -> {HBM} {{\n"
        f"    let mut y = {made}::new();\n    {lines}\n    {result}\n}}\n"
    )


ALL = "x.view().to_hbm_view(&mut ctx.tdma, y.view_mut());"
EACH = copy("16 * i")
LOAD = "x.view().to_dm_view(&mut ctx.tdma, d.view_mut());"
STORE = "d.view().to_hbm_view(&mut ctx.tdma, y.view_mut());"
NEW = f"let mut d = {DM.replace('DmTensor<', 'DmTensor::<')}::new();"
HELP = f"fn help(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}, c: bool) {{ if c {{ {ALL} }} }}"
HELP_LATE = f"fn help(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}, c: bool) {{ if c {{ return; }} {ALL} }}"
GUARD = f"fn part<const O: usize>(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}) {{ if O + 16 <= 64 {{ {copy('O')} }} }}"

PROVED = [
    (f"if c {{ {ALL} }} else {{ {ALL} }}", "c: bool", ""),
    (f"if c {{ {ALL} }} if !c {{ {ALL} }}", "c: bool", ""),
    (f"if n < 5 {{ {ALL} }} if n >= 5 {{ {ALL} }}", "n: usize", ""),
    (f"match n {{ 0 => {{ {ALL} }} 1 => {{ {ALL} }} _ => {{ {ALL} }} }}", "n: usize", ""),
    (f"match c {{ true => {{ {ALL} }} false => {{ {ALL} }} }}", "c: bool", ""),
    (f"match n {{ 0 => {{ {ALL} }} _ => panic!(\"no\"), }}", "n: usize", ""),
    (f"if c {{ panic!(\"no\"); }} {ALL}", "c: bool", ""),
    (f"{ALL} if c {{ return y; }} {ALL}", "c: bool", ""),
    (f"if c {{ {ALL} return y; }} {ALL}", "c: bool", ""),
    (f"{ALL} for i in 0..n {{ {ALL} }}", "n: usize", ""),
    (f"if c {{ {copy('0')} {copy('16')} }} else {{ {copy('16')} {copy('0')} }} {copy('32')} {copy('48')}", "c: bool", ""),
    (f"for i in 0..4 {{ if c {{ {EACH} }} else {{ {EACH} }} }}", "c: bool", ""),
    (f"for i in 0..4 {{ if n < i {{ {EACH} }} else {{ {EACH} }} }}", "n: usize", ""),
    (f"for i in 0..9 {{ if i == 4 {{ break; }} {EACH} }}", "", ""),
    (f"for i in 0..8 {{ if i >= 4 {{ continue; }} {EACH} }}", "", ""),
    (f"let mut i = 0; while i < 4 {{ if c {{ {EACH} }} else {{ {EACH} }} i += 1; }}", "c: bool", ""),
    (f"loop {{ {ALL} if c {{ break; }} }}", "c: bool", ""),
    (f"{NEW} if c {{ {LOAD} }} else {{ {LOAD} }} {STORE}", "c: bool", ""),
    (f"{NEW} {LOAD} if c {{ {STORE} }} else {{ {ALL} }}", "c: bool", ""),
    (f"{NEW} if c {{ {LOAD} {STORE} }} else {{ {ALL} }}", "c: bool", ""),
    (f"{NEW} if c {{ {LOAD} }} {ALL} if c {{ {STORE} }}", "c: bool", ""),
    ("help(ctx, x, &mut y, c); help(ctx, x, &mut y, !c); " + ALL, "c: bool", HELP),
    (f"for i in 0..4 {{ {copy('8 * i + 8 * i')} }}", "", ""), (f"for i in 0..2 {{ for j in 0..2 {{ {copy('32 * i + 16 * j')} }} }}", "", ""),
    (f"for i in 0..4 {{ {copy('48 - 16 * i')} }}", "", ""),
    ("help(ctx, x, &mut y, true);", "", HELP), ("help(ctx, x, &mut y, false);", "", HELP_LATE),
    ("part::<0>(ctx, x, &mut y); part::<16>(ctx, x, &mut y); part::<32>(ctx, x, &mut y); part::<48>(ctx, x, &mut y); part::<64>(ctx, x, &mut y);", "", GUARD),
    (f"for i in 0..0 {{ {EACH} }} {ALL}", "", ""),
]  # fmt: skip
REFUTED = [
    (f"if c {{ {ALL} }}", "c: bool", "", "`c` does not hold"),
    (f"if !c {{ {ALL} }}", "c: bool", "", "`c` holds"),
    (f"if n == 3 {{ {ALL} }}", "n: usize", "", "`n == 3` does not hold"),
    (f"if n > 3 {{ {ALL} }}", "n: usize", "", "`n <= 3` holds"),
    (f"if c {{ if b {{ {ALL} }} else {{ {ALL} }} }}", "c: bool, b: bool", "", "`c` does not hold"),
    (f"if c {{ {ALL} }} else if b {{ {ALL} }}", "c: bool, b: bool", "", "does not hold"),
    (f"match n {{ 0 => {{ {ALL} }} 1 => {{ {ALL} }} _ => {{}} }}", "n: usize", "", "`n` is none of the others"),
    (f"match c {{ true => {{ {ALL} }} false => {{}} }}", "c: bool", "", "`c` is `false`"),
    (f"for i in 0..n {{ {ALL} }}", "n: usize", "", "takes no turn"),
    (f"let mut i = 0; while i < n {{ {ALL} i += 1; }}", "n: usize", "", "takes no turn"),
    (f"if c {{ return y; }} {ALL}", "c: bool", "", "`c` holds"),
    (f"if c {{ {copy('0')} }} {copy('16')} {copy('32')} {copy('48')}", "c: bool", "", "`c` does not hold"),
    (f"for i in 0..4 {{ if c {{ {EACH} }} }}", "c: bool", "", "`c` does not hold"),
    (f"for i in 0..4 {{ if c {{ break; }} {EACH} }}", "c: bool", "", "`c` holds"),
    (f"for i in 0..4 {{ if c {{ continue; }} {EACH} }}", "c: bool", "", "`c` holds"),
    (f"for i in 0..9 {{ if i == 3 {{ break; }} {EACH} }}", "", "", "never written"),
    (f"for i in 0..4 {{ if i == 1 {{ continue; }} {EACH} }}", "", "", "never written"),
    (f"{NEW} if c {{ {LOAD} }} {STORE}", "c: bool", "", "`c` does not hold"),
    (f"{NEW} for i in 0..n {{ {LOAD} }} {STORE}", "n: usize", "", "takes no turn"),
    (f"{NEW} {STORE} {LOAD}", "", "", "read here"),
    ("help(ctx, x, &mut y, c);", "c: bool", HELP, "`c` does not hold"),
    ("help(ctx, x, &mut y, false);", "", HELP, "nothing"),
    ("help(ctx, x, &mut y, c);", "c: bool", HELP_LATE, "`c` holds"),
    ("part::<0>(ctx, x, &mut y); part::<16>(ctx, x, &mut y); part::<32>(ctx, x, &mut y); part::<64>(ctx, x, &mut y);", "", GUARD, "never written"),
    (f"for i in 0..4 {{ {copy('8 * i')} }}", "", "", ""), (f"for i in 0..2 {{ {copy('16 * i + 16 * i')} }}", "", "", "never written"),
    (f"for i in 0..n {{ {EACH} }}", "n: usize", "", "takes no turn"),
]  # fmt: skip
UNKNOWN = [
    (f"if ready(x) {{ {ALL} }}", "", ""), (f"if let Some(k) = o {{ {ALL} }}", "o: Option<usize>", ""),
    (f"if n < 3 {{ {ALL} }} if n > 7 {{ {ALL} }}", "n: usize", ""),
    (f"let mut i = 0; while i < 4 {{ {EACH} i = next(i); }}", "", ""),
    (f"let mut i = 0; loop {{ if i >= 4 {{ break; }} {EACH} i += 1; }}", "", ""),
    (f"{copy('n')} {copy('16')} {copy('32')} {copy('48')}", "n: usize", ""),
    (f"let mut c = c; if c {{ {ALL} }} c = !c; if !c {{ {ALL} }}", "c: bool", ""),
]  # fmt: skip


def found(lines: str, more: str, before: str) -> tuple[set[str], list[str]]:
    made = verdicts(plan(kernel(lines, more, before)))
    return {v.status.value for v in made}, [f.message for v in made for f in v.findings]


@pytest.mark.parametrize(("lines", "more", "before"), PROVED)
def test_what_is_written_on_every_way_is_proved(lines: str, more: str, before: str) -> None:
    status, messages = found(lines, more, before)
    assert "refuted" not in status
    assert "proved" in status
    assert not [one for one in messages if "written" in one or "writes" in one]


@pytest.mark.parametrize(("lines", "more", "before", "way"), REFUTED)
def test_what_is_not_written_on_a_way_that_a_run_can_take_is_refuted(lines: str, more: str, before: str, way: str) -> None:
    status, messages = found(lines, more, before)
    assert "refuted" in status
    assert any(way in one for one in messages)


@pytest.mark.parametrize(("lines", "more", "before"), UNKNOWN)
def test_a_way_that_is_not_certain_is_neither_proved_nor_refuted(lines: str, more: str, before: str) -> None:
    status, _ = found(lines, more, before)
    assert "unknown" in status
    assert "refuted" not in status
