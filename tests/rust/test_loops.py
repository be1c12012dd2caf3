"""Loops, branches, closures, lists and constants: which tiles they write is counted, not assumed.

Each body copies 16 of 64 columns at a time; the sound ones write every column once.
"""

# ruff: noqa: E501  (kernels)

import pytest
from kernels import plan, verdicts

from dmaverify.machines.rngd.rust.values import Numbers

HBM = "HbmTensor<i8, Chip, m![A, B]>"


def copy(start: str, to: str = "", source: str = "x", into: str = "out", width: str = "16") -> str:
    number = width if width.isdigit() else f"{{ {width} }}"
    return (
        f"{source}.view().tile::<m![B], {width}, m![A, B = {number} # 64]>({start})"
        f".to_hbm_view(&mut ctx.tdma, {into}.view_mut().tile::<m![B], {width}, m![A, B = {number} #{{!}} 64]>({to or start}));"
    )


def kernel(lines: str, before: str = "") -> str:
    made = HBM.replace("HbmTensor<", "HbmTensor::<")
    return (
        f"{before}\n#[device(chip = 1)]\nfn f(ctx: &mut Context, x: &{HBM}) -> {HBM} {{\n"
        f"    let mut out = {made}::new();\n    {lines}\n    out\n}}\n"
    )


EACH, S = copy("16 * i"), copy("s")
REST = copy("16") + copy("32") + copy("48")
SLICES = copy("0") + REST
ALL = "x.view().to_hbm_view(&mut ctx.tdma, out.view_mut());"
HELPER = f"fn part(ctx: &mut Context, x: &{HBM}, out: &mut {HBM}, o: usize) {{ {copy('o')} }}"
DEEP = f"mod deep {{ use super::*; pub mod inner {{ use super::super::*; pub fn go(ctx: &mut Context, x: &{HBM}, out: &mut {HBM}, o: usize) {{ {copy('o')} }} }} }}\nuse deep::inner::go as step;"
GENERIC = (
    f"fn part<const W: usize>(ctx: &mut Context, x: &{HBM}, out: &mut {HBM}, o: usize) {{ {copy('o', width='W')} }}"
)
MACRO = f"macro_rules! parts {{ ($ctx:ident, $x:ident, $out:ident, $($o:expr),*) => {{ $( {copy('$o', source='$x', into='$out').replace('ctx.tdma', '$ctx.tdma')} )* }} }}"
OWN = "fn own(ctx: &mut Context, at: usize) { let mut i = 0; i = at + 1; } fn back(ctx: &mut Context, at: usize) { let mut i = 0; i = at - 1; }"
BACK = "let back = |at: usize| { let i; i = at - 1; i };"
BRANCHES = f"{{ for i in 0..4 {{ {EACH} }} }} else {{ for i in 0..3 {{ {EACH} }} }}"

SOUND = [
    (f"for i in 0..4 {{ {EACH} }}", ""), (f"for i in (0..4).rev() {{ {EACH} }}", ""), (f"for i in 0..=3 {{ {EACH} }}", ""),
    (f"for s in (0..64).step_by(16) {{ {S} }}", ""), (f"for s in [0, 16, 32, 48] {{ {S} }}", ""),
    (f"for &s in [48, 0, 32, 16].iter() {{ {S} }}", ""), (f"for (i, j) in (0..4).zip((0..64).step_by(16)) {{ {copy('16 * i', 'j')} }}", ""),
    (f"for (i, s) in (0..64).step_by(16).enumerate() {{ {copy('s', '16 * i')} }}", ""),
    (f"let all = [0, 16, 32, 48]; for c in all.chunks(2) {{ for &s in c {{ {S} }} }}", ""),
    (f"for i in (0..8).skip(4) {{ let i = i - 4; {EACH} }}", ""), (f"for i in (0..9).take(4) {{ {EACH} }}", ""),
    (f"for i in 0..2 {{ for j in 0..2 {{ {copy('32 * i + 16 * j')} }} }}", ""),
    (f"for i in 0..2 {{ {copy('32 * i')} {copy('32 * i + 16')} }}", ""), (f"for i in 0..3 {{ {EACH} }} {copy('48')}", ""),
    (f"for i in 0..4 {{ if i % 2 == 0 {{ {EACH} }} else {{ {EACH} }} }}", ""), (f"for i in 0..9 {{ if i < 4 {{ {EACH} }} }}", ""),
    (f"let mut i = 0; while i < 4 {{ {EACH} i += 1; }}", ""), (f"let mut s = 0; while s <= 48 {{ {S} s += 16; }}", ""),
    (f"if M {BRANCHES}", "const M: bool = true;"), (f"if !M {BRANCHES}", "const M: bool = false;"),
    (f"if M >= 4 && M != 5 {BRANCHES}", "const M: usize = 8;"),
    (f"match M {{ 0 | 2 => {{ for i in 0..3 {{ {EACH} }} }} _ => {{ for i in 0..4 {{ {EACH} }} }} }}", "const M: usize = 1;"),
    (f"const N: usize = 4; for i in 0..N {{ {EACH} }}", "const N: usize = 3;"), (f"let n = 2; let n = n * 2; for i in 0..n {{ {EACH} }}", ""),
    (f"for i in 0..S::N {{ {EACH} }}", "struct S; impl S { const N: usize = 4; }"),
    (f"for i in 0..<S as T>::N {{ {EACH} }}", "struct S; trait T { const N: usize; } impl T for S { const N: usize = 4; }"),
    (f"for i in 0..n(64) {{ {EACH} }}", "const fn n(k: usize) -> usize { k / 16 }"), (f"for i in 0..B::SIZE / 16 {{ {EACH} }}", ""),
    ("for i in 0..4 { part(ctx, x, &mut out, 16 * i); }", HELPER),
    ("part(ctx, x, &mut out, 0); part(ctx, x, &mut out, 16); for i in 2..4 { part(ctx, x, &mut out, 16 * i); }", HELPER),
    ("for i in 0..4 { step(ctx, x, &mut out, 16 * i); }", DEEP), ("for i in 0..2 { part::<32>(ctx, x, &mut out, 32 * i); }", GENERIC),
    ("parts!(ctx, x, out, 0, 16, 32, 48);", MACRO), (f"let mut go = |o: usize| {{ {copy('o')} }}; for i in 0..4 {{ go(16 * i); }}", ""),
    (f"(0..4).for_each(|i| {{ {EACH} }});", ""), (f"let pair = (x, 4); for i in 0..pair.1 {{ {copy('16 * i', source='pair.0')} }}", ""),
    (f"let j = J {{ t: x, n: 4 }}; for i in 0..j.n {{ {copy('16 * i', source='j.t')} }}", f"struct J<'a> {{ t: &'a {HBM}, n: usize }}"),
    (f"if B::SIZE == 0 {{ return out; }} for i in 0..4 {{ {EACH} }}", ""),
    (f"let mut i = 0; while i < 4 {{ {EACH} i += 1; own(ctx, i); }}", OWN), (f"{BACK} let mut i = 0; for _ in 0..4 {{ {EACH} i += 1; let k = back(i); }}", ""),
    (f"if B::SIZE > 0 {{ {SLICES} }} else {{ let mut i = 4; while i > 0 {{ i -= 1; {EACH} }} }}", ""),
]  # fmt: skip
STEPS = [  # what a variable is between statements of its block: right ones and wrong ones
    (f"let mut s = 0; {S} s += 16; {S} s = s + 16; {S} s = 48; {S}", f"let mut s = 0; {S} s += 16; {S} s = s + 16; {S} s = 32; {S}"),
    (f"let mut n = 5; n -= 1; for i in 0..n {{ {EACH} }}", f"let mut n = 5; n -= 2; for i in 0..n {{ {EACH} }}"),
    (f"for j in 0..2 {{ let mut s = 16 * j; {S} s += 32; {S} }}", f"for j in 0..2 {{ let mut s = 16 * j; {S} s += 16; {S} }}"),
    (f"let mut a = 3; let get = move || a; a = 9; for i in 0..=get() {{ {EACH} }}", f"let mut a = 2; let get = move || a; a = 3; for i in 0..=get() {{ {EACH} }}"),
    (f"let mut n = 5; n -= 1; println!(\"{{}} {{n}}\", n); assert!(n > 1, \"{{}}\", vec![n; 2][0]); assert!(matches!(n, 1 | 4)); for i in 0..n {{ {EACH} }}", f"let mut n = 5; n -= 2; println!(\"{{}}\", n); for i in 0..n {{ {EACH} }}"),
    (f"let mut a: usize = 1; a = a.wrapping_add(3); for i in 0..a {{ {EACH} }}", f"let mut a: usize = 1; a = a.wrapping_add(2); for i in 0..a {{ {EACH} }}"),
]  # fmt: skip
SHADOWS = [  # in a loop, a variable of the name of one that stands around it
    (f"let mut s = 0; for i in 0..4 {{ let s = s + 16 * i; {S} }}", "proved"), (f"let mut s = 0; for _ in 0..4 {{ let mut s = s; {S} s += 16; }}", "unknown"),
    (f"let mut s = 0; for _ in 0..4 {{ let s; s = 16; {S} }}", "unknown"), (f"let mut s = 0; for _ in 0..4 {{ {S} s += 16; let s = 9; }}", "proved"),
]  # fmt: skip
FOLDS = [  # right and wrong: what a closure made of the element before
    (f"(0..4).fold(0, |s, _| {{ {S} s + 16 }});", f"(0..4).fold(0, |s, _| {{ {S} s + 32 }});"),
    (f"[0, 16, 32, 48].iter().fold(9, |a, s| {{ if a == 9 {{ {S} }} 9 }});", f"[0, 16, 32, 48].iter().fold(9, |a, s| {{ if a < 9 {{ {S} }} 9 }});"),
    (f"let n = [1, 3].iter().fold(0, |a, b| a + b); for i in 0..n {{ {EACH} }}", f"let n = [1, 3].iter().fold(0, |a, b| b - a); for i in 0..n {{ {EACH} }}"),
]  # fmt: skip
LENGTHS = [  # right, wrong, and of a list that may have changed
    (f"let v = [1.5, 2.5, 3.5, 4.5]; for i in 0..v.len() {{ {EACH} }}", "proved", ""), (f"let v = vec![9; 3]; for i in 0..v.len() {{ {EACH} }}", "refuted", ""),
    (f"for i in 0..K.len() {{ {EACH} }}", "proved", "const K: [(f32, f32); 4] = [(1.0, 2.0); 4];"), (f"for i in 0..K.len() {{ {EACH} }}", "refuted", "const K: [f32; 3] = [1.0; 3];"),
    (f"let mut v = vec![9; 4]; v.push(9); for i in 0..v.len() {{ {EACH} }}", "unknown", ""),
]  # fmt: skip
HIDDEN = [
    "if x.n() { n += 1; }",
    "{ n += 1; }",
    "let r = &mut n; *r += 1;",
    "(n, _) = (4, 0);",
    "let mut up = || n += 1; up();",
    "loop { n += 1; break; }",
    "match n { ref mut r => *r += 1 }",
    "if let ref mut r = n { *r += 1; }",
    "n.get();",
    'println!("{}", { n += 1; n });',
    "let v = vec![{ n += 1; 1 }; 2];",
    "assert!(matches!({ n += 1; n }, 1..));",
    "debug_assert!(n.get() == ());",
    "let m = matches!(n, ref mut r if { *r += 1; true });",
]


@pytest.mark.parametrize(("right", "wrong"), STEPS)
def test_a_variable_is_a_number_between_statements_of_its_block_that_change_it(right: str, wrong: str) -> None:
    told = [{v.status.value for v in verdicts(plan(kernel(one)))} for one in (right, wrong)]
    assert ("proved" in told[0] and len(told[0]) == 1, "refuted" in told[1]) == (True, True)


@pytest.mark.parametrize(("lines", "told"), SHADOWS)
def test_a_variable_in_a_loop_is_not_that_of_its_name_around_it(lines: str, told: str) -> None:
    assert {v.status.value for v in verdicts(plan(kernel(lines)))} == {told}


@pytest.mark.parametrize(("lines", "told", "before"), LENGTHS)
def test_a_list_that_nothing_changes_has_the_length_that_it_was_made_with(lines: str, told: str, before: str) -> None:
    assert told in {v.status.value for v in verdicts(plan(kernel(lines, before)))}


@pytest.mark.parametrize(("right", "wrong"), FOLDS)
def test_a_fold_gives_each_element_what_it_made_of_those_before(right: str, wrong: str) -> None:
    told = [{v.status.value for v in verdicts(plan(kernel(one)))} for one in (right, wrong)]
    assert ("proved" in told[0] and len(told[0]) == 1, "refuted" in told[1]) == (True, True)


@pytest.mark.parametrize("change", HIDDEN)
def test_a_variable_that_changes_anywhere_else_has_no_number_that_is_known(change: str) -> None:
    before = "trait Get { fn get(&mut self); } impl Get for usize { fn get(&mut self) { *self += 1; } }"
    made = verdicts(plan(kernel(f"let mut n = 3; {change} for i in 0..n {{ {EACH} }}", before)))
    assert {v.status.value for v in made} == {"unknown"}


FAULTY = [
    (f"for i in 0..3 {{ {EACH} }}", ""), (f"for i in 1..4 {{ {EACH} }}", ""), (f"for i in 0..=2 {{ {EACH} }}", ""),
    (f"for s in (0..64).step_by(32) {{ {S} }}", ""), (f"for s in [0, 16, 48] {{ {S} }}", ""), (f"for s in [0, 16, 32, 32] {{ {S} }}", ""),
    (f"for (i, j) in (0..3).zip(0..4) {{ {copy('16 * i', '16 * j')} }}", ""), (f"for (i, s) in (0..48).step_by(16).enumerate() {{ {copy('s', '16 * i')} }}", ""),
    (f"let all = [0, 16, 32]; for c in all.chunks(2) {{ for &s in c {{ {S} }} }}", ""), (f"let all = [0, 16, 32, 48]; for c in all.chunks_exact(3) {{ for &s in c {{ {S} }} }}", ""),
    (f"for i in (0..4).skip(1) {{ {EACH} }}", ""), (f"for i in (0..9).take(3) {{ {EACH} }}", ""),
    (f"for i in 0..2 {{ for j in 0..2 {{ {copy('16 * i + 16 * j')} }} }}", ""), (f"for i in 0..2 {{ {copy('32 * i')} {copy('16 * i + 16')} }}", ""),
    (f"for i in 0..3 {{ {EACH} }} {copy('32')}", ""), (f"for i in 0..4 {{ if i % 2 == 0 {{ {EACH} }} }}", ""), (f"for i in 0..9 {{ if i < 3 {{ {EACH} }} }}", ""),
    (f"let mut i = 0; while i < 3 {{ {EACH} i += 1; }}", ""), (f"if M {BRANCHES}", "const M: bool = false;"), (f"if M >= 4 && M != 8 {BRANCHES}", "const M: usize = 8;"),
    (f"match M {{ 0 | 1 => {{ for i in 0..3 {{ {EACH} }} }} _ => {{ for i in 0..4 {{ {EACH} }} }} }}", "const M: usize = 1;"),
    (f"const N: usize = 3; for i in 0..N {{ {EACH} }}", "const N: usize = 4;"), (f"for i in 0..S::N {{ {EACH} }}", "struct S; impl S { const N: usize = 3; }"),
    (f"for i in 0..<S as T>::N {{ {EACH} }}", "struct S; trait T { const N: usize; } impl T for S { const N: usize = 3; }"),
    (f"for i in 0..n(64) {{ {EACH} }}", "const fn n(k: usize) -> usize { k / 16 - 1 }"), ("for i in 0..3 { part(ctx, x, &mut out, 16 * i); }", HELPER),
    ("part(ctx, x, &mut out, 0); part(ctx, x, &mut out, 0); for i in 2..4 { part(ctx, x, &mut out, 16 * i); }", HELPER),
    ("for i in 0..3 { step(ctx, x, &mut out, 16 * i); }", DEEP), ("for i in 0..2 { part::<16>(ctx, x, &mut out, 32 * i); }", GENERIC),
    ("parts!(ctx, x, out, 0, 16, 48);", MACRO), (f"let mut go = |o: usize| {{ {copy('o')} }}; for i in 0..3 {{ go(16 * i); }}", ""),
    (f"(0..3).for_each(|i| {{ {EACH} }});", ""), (f"let pair = (x, 3); for i in 0..pair.1 {{ {copy('16 * i', source='pair.0')} }}", ""),
    (f"let j = J {{ t: x, n: 3 }}; for i in 0..j.n {{ {copy('16 * i', source='j.t')} }}", f"struct J<'a> {{ t: &'a {HBM}, n: usize }}"),
    (f"let mut i = 0; while i < 4 {{ {EACH} i += 2; back(ctx, i); }}", OWN), (f"{BACK} let mut i = 0; while i < 4 {{ {EACH} i += 2; let k = back(i); }}", ""),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "before"), SOUND)
def test_a_loop_that_writes_every_column_once_is_proved(lines: str, before: str) -> None:
    found = verdicts(plan(kernel(lines, before)))
    assert {v.status.value for v in found} == {"proved"}
    assert not [f.message for v in found for f in v.findings]


@pytest.mark.parametrize(("lines", "before"), FAULTY)
def test_a_column_that_is_left_out_or_written_twice_is_found(lines: str, before: str) -> None:
    found = verdicts(plan(kernel(lines, before)))
    rules = {f.rule for v in found for f in v.findings if v.status.value == "refuted"}
    assert rules & {"core/tiles-cover", "core/tiles-once"}


@pytest.mark.parametrize(
    ("low", "outer", "right"),
    [(2, 16, True), (2, 26, True), (2, 27, False)],
)
def test_the_ends_of_two_loops_are_starts_though_not_all_between_are(low: int, outer: int, right: bool) -> None:
    """Starts `outer * i + 5 * j + low - 2` for i and j in 0..3: sums that are no progression."""
    tile = copy(f"{outer} * i + 5 * j + {low} - 2", "0", width="2")
    (one,) = [
        v for v in verdicts(plan(kernel(f"for i in 0..3 {{ for j in 0..3 {{ {tile} }} }}"))) if "to_hbm" in v.name
    ]
    assert not one.conditions
    assert ("beyond the 64 positions" not in str([f.message for f in one.findings])) is right


def test_a_start_below_zero_is_no_start_that_is_known() -> None:
    """At i = j = 0 a debug build stops, a release build wraps."""
    tile = copy("16 * i + 5 * j - 1", "0", width="2")
    (one,) = [
        v for v in verdicts(plan(kernel(f"for i in 0..3 {{ for j in 0..3 {{ {tile} }} }}"))) if "to_hbm" in v.name
    ]
    assert "`16 * i + 5 * j - 1` may leave `usize`" in one.conditions[0]


@pytest.mark.parametrize(("turns", "status"), [(8, "proved"), (9, "refuted")])
def test_a_turn_beyond_the_end_is_told_though_its_window_is_that_of_another(turns: int, status: str) -> None:
    """The loop is read turn by turn; a start beyond the 64 columns has no position, and was taken for the first turn."""
    tile = copy("8 * i", "8 * (i % 8)", width="8")
    found = verdicts(plan(kernel(f"for i in 0..{turns} {{ {tile} }}")))
    assert {v.status.value for v in found} == {status}
    assert any("beyond the 64" in f.message for v in found for f in v.findings) is (status == "refuted")


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (f"for i in 0..2 {{ for j in 0..3 {{ {copy('16 * (i + j)')} }} }}", "refuted"),
        (f"for i in 0..2 {{ for j in 0..2 {{ {copy('16 * (2 * i + j)')} }} }}", "proved"),
        (f"for i in 0..8 {{ {copy('16 * (i / 2)')} }}", "refuted"),
        (f"for i in 0..8 {{ {copy('16 * (i % 4)')} }}", "refuted"),
        (f"for i in 0..5 {{ if i == 0 {{ continue; }} {copy('16 * (i - 1)')} }}", "proved"),
        (f"for i in 0..5 {{ if i == 4 {{ break; }} {EACH} }}", "proved"),
        (f"let k = 16; let at = |i: usize| k * i; let k = 8; let _ = k; for i in 0..4 {{ {copy('at(i)')} }}", "proved"),
        (
            f"let k = 8; let at = |i: usize| k * i; let k = 16; let _ = k; for i in 0..4 {{ {copy('at(i)')} }}",
            "refuted",
        ),
        (f"for i in (0..5).rev().skip(1) {{ {EACH} }}", "proved"),
        (f"for i in (0..5).rev().take(4) {{ {copy('16 * i - 16')} }}", "proved"),
        (f"for i in (0..4).rev().skip(1) {{ {EACH} }} {copy('48')}", "proved"),
        (f"for (i, j) in (0..5).rev().skip(1).zip(0..4) {{ {copy('16 * j', '16 * i')} }}", "proved"),
        (f"let k = 'x: {{ if true {{ break 'x 8; }} 16 }}; for i in 0..4 {{ {copy('k * i')} }}", "unknown"),
        (f"let k = 'x: {{ if true {{ break 'x (8, 3).0; }} 16 }}; for i in 0..4 {{ {copy('k * i')} }}", "unknown"),
        (
            f"let k: isize = 'x: {{ if true {{ break 'x -8; }} 16 }}; for i in 0..4 {{ {copy('k as usize * i')} }}",
            "unknown",
        ),
        (
            f"macro_rules! less {{ ($x:expr) => {{ if $x > 3 {{ 20 }} else {{ 2 }} - 4 }} }} let k: usize = less!(5); for i in 0..4 {{ {copy('k * i')} }}",
            "proved",
        ),
        (
            f"macro_rules! less {{ ($x:expr) => {{ {{ let q = 4; $x - q }} }} }} let k: usize = less!(if true {{ 20 }} else {{ 2 }}); for i in 0..4 {{ {copy('k * i')} }}",
            "proved",
        ),
        (f"match 4 {{ k @ 9 => {{ {copy('16 * k')} }} _ => {{ {copy('0')} }} }} {REST}", "proved"),
        (f"let t = [0, 16, 32, 48, u64::MAX]; for i in 0..4 {{ {copy('t[i] as usize')} }}", "proved"),
        (f"let k = (20 + -2i64.pow(2)) as usize; for i in 0..4 {{ {copy('k * i')} }}", "proved"),
        (f"let k = (-1i32 as u8) as usize - 239; for i in 0..4 {{ {copy('k * i')} }}", "proved"),
        (f"let k = (-1i32 as u8) as usize - 247; for i in 0..4 {{ {copy('k * i')} }}", "refuted"),
    ],
)
def test_turns_are_counted_and_names_and_operators_bind_as_in_rust(lines: str, status: str) -> None:
    found = {v.status.value for v in verdicts(plan(kernel(lines)))}
    assert found == {status}


def test_a_function_within_one_that_it_calls_is_read_once() -> None:
    """Each reading of the outer body made the inner function anew, and that asked for the outer one again."""
    inner = f"fn inner(ctx: &mut Context, x: &{HBM}, out: &mut {HBM}) {{ part::<16>(ctx, x, out, 0); }}"
    outer = (
        f"fn part<const W: usize>(ctx: &mut Context, x: &{HBM}, out: &mut {HBM}, o: usize) {{"
        f" {inner} if o > 64 {{ inner(ctx, x, out); }} {copy('o', width='W')} }}"
    )
    assert verdicts(plan(kernel("for i in 0..4 { part::<16>(ctx, x, &mut out, 16 * i); }", outer)))


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (f"for i in 0..4 {{ for _ in 0..2 {{ {EACH} }} }}", "refuted"),
        (f"for i in 0..4 {{ for _ in 0..1 {{ {EACH} }} }}", "proved"),
        (f"for i in 0..4 {{ for _ in [0, 1].iter() {{ {EACH} }} }}", "refuted"),
        (f"for i in 0..4 {{ while ready() {{ {EACH} }} }}", "unknown"),
        (f"while ready() {{ for i in 0..4 {{ {EACH} }} }}", "unknown"),
        (f"for i in 0..2 {{ for j in 0..2 {{ {copy('32 * i + 16 * j')} }} }}", "proved"),
        (f"for i in 0..4 {{ for j in 0..2 {{ {copy('16 * i + 0 * j')} }} }}", "refuted"),
    ],
)
def test_a_loop_that_does_not_move_a_tile_writes_it_again(lines: str, status: str) -> None:
    (found,) = [v for v in verdicts(plan(kernel(lines))) if "to_hbm" in v.name]
    assert found.status.value == status


def test_no_loop_moves_a_number_of_which_nothing_is_taken() -> None:
    turns = Numbers(0, 3, 1, loops=frozenset((1,)))
    assert turns.times(0).loops == frozenset()
    assert turns.times(2).loops == turns.loops


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (f"{SLICES} if ready() {{ {copy('0')} }}", "unknown"),
        (f"if ready() {{ {copy('0')} }} else {{ {copy('0')} }} {REST}", "proved"),
        (f"if ready() {{ {copy('0')} }} if other() {{ {copy('0')} }} {REST}", "unknown"),
        (f"if M {{ {copy('0')} }} if !M {{ {copy('0')} }} {REST}", "proved"),
        (f"for i in 0..2 {{ {copy('0')} if other() {{ break; }} }} {REST}", "unknown"),
        (f"for i in 0..99 {{ if i < 5 {{ {copy('16 * (i % 4)')} }} }} {SLICES}", "unknown"),
        (f"for i in 0..99 {{ if i % 2 == 0 {{ {copy('0')} }} else {{ {copy('0')} }} }} {SLICES}", "unknown"),
        (f"for i in 0..9 {{ {copy('i * 48 % 64')} }} {SLICES}", "refuted"),
        (f"{copy('read() % 4 * 16')} {SLICES}", "unknown"),
        (f"if ready() {{ {copy('read() % 4 * 16')} panic!(); }} {SLICES}", "proved"),
        (f"{ALL} {copy('read() % 4 * 16')} {SLICES}", "proved"),
    ],
)
def test_writes_behind_conditions_that_may_meet_are_no_pass(lines: str, status: str) -> None:
    found = [v for v in verdicts(plan(kernel(lines, "const M: bool = true;"))) if "to_hbm" in v.name]
    assert {v.status.value for v in found} - {"proved"} == {status} - {"proved"}


SIZES = "struct S; trait K { const N: usize; } impl K for S { const N: usize = 4; } const D: usize = 2; const L: [usize; 4] = [7; 4];"
FOUR = [  # ranges of four turns, and of another number, that differ in one sign
    ("0..<S as K>::N", "0..<S as K>::N - 1"), ("0 /* 1..2 */ ..4", "0 /* 1..4 */ ..2"), ("0..(0..4).len()", "0..(1..4).len()"), ("0..5 & 6", "0..5 & 3"),
    ("D - 2..D << 1", "D - 1..D << 1"), ("0..L[..].len()", "0..L[1..].len()"), ("0..=D + 1", "0..D + 1"), ("0..match 3 { 0..=2 => 5, 3.. => 4 }", "0..match 3 { 0..=3 => 5, 4.. => 4 }"),
    ("{ let n = &4; 0..*n }", "{ let n = &4; 0..*n - 1 }"), ("{ let r = 0..4; r }", "{ let r = 0..=4; r }"), ("(0..=3).rev()", "(0..3).rev()"), ("0..8 / *&D", "0..6 / *&D"),
]  # fmt: skip


@pytest.mark.parametrize(("four", "other"), FOUR)
def test_a_range_has_the_ends_that_its_tree_has(four: str, other: str) -> None:
    def told(text: str) -> set[str]:
        before, _, after = (
            text.removeprefix("{ ").removesuffix(" }").rpartition("; ") if text[0] == "{" else ("", "", text)
        )
        lines = f"{before}{';' * bool(before)} for i in {after} {{ {EACH} }}"
        return {one.status.value for one in verdicts(plan(kernel(lines, SIZES)))}

    assert told(four) == {"proved"}
    assert told(other) == {"refuted"}


def test_a_negative_end_is_an_end() -> None:
    for end, told in (("-n", "proved"), ("-n - 1", "refuted")):
        lines = f"let n: isize = -4; for i in 0..{end} {{ {copy('16 * i as usize')} }}"
        assert {one.status.value for one in verdicts(plan(kernel(lines)))} == {told}
