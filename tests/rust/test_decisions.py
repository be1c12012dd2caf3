"""Which conditions and arms are one decision: those that ask the same of the same values, and no others.

Each pair of kernels is both sides of an edge: where two decisions are one, together they write all; where they are not,
some values pass by both, and a proof would be wrong.
"""

# ruff: noqa: E501  (kernels)

from pathlib import Path

import pytest
from kernels import NEW, plan, tile, verdicts
from lab.draws import seeds
from lab.rust_decisions import drawn_decisions, in_files
from test_every_way import ALL, EACH, HBM, kernel

import dmaverify as dv
from dmaverify.verdict import Status

BOOL, SIZE = "c: bool", "n: usize"
MODES = "enum M { P, Q, R }"
STRUCT = "struct K { n: usize }"


def fn(name: str, body: str, more: str) -> str:
    return f"fn {name}(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}, {more}) {{ {body} }}\n"


def judged(lines: str, more: str, before: str = "") -> str:
    made = verdicts(plan(kernel(lines, more, before)))
    found = {v.status.value for v in made}
    return next((one for one in ("error", "refuted", "unknown") if one in found), "proved" if all(made) else "given")


def two_arms(of: str, first: str, second: str) -> str:
    """A match with one arm that writes, and one of the same value that does not write there."""
    return f"match {of} {{ {first} => {{ {ALL} }} _ => {{}} }} match {of} {{ {second} => {{}} _ => {{ {ALL} }} }}"


@pytest.mark.parametrize(("of", "more", "first", "same", "other", "before"), [
    ("n", SIZE, "0", "0", "1", ""), ("n", SIZE, "0 | 1", "1 | 0", "0 | 2", ""), ("n", SIZE, "0..=3", "0..4", "0..=4", ""),
    ("n", SIZE, "K", "2", "3", "const K: usize = 2;"), ("c", BOOL, "true", "true", "false", ""),
    ("n", SIZE, "_ if n > 3", "_ if n >= 4", "_ if n > 2", ""), ("s", "s: &str", '"a"', '"a"', '"b"', ""),
    ("m", "m: M", "M::P", "M::P", "M::Q", MODES), ("m", "m: M", "M::P | M::Q", "M::Q | M::P", "M::P | M::R", MODES),
    ("o", "o: Option<usize>", "Some(_)", "Some(k)", "None", ""), ("n", SIZE, "k if k < 2", "0 | 1", "0 | 2", ""),
    ("n", "n: usize, m: usize", "K if m < K", "2 if m < 2", "2 if m < 3", "const K: usize = 2;"),
])  # fmt: skip
def test_two_arms_are_one_choice_where_their_patterns_take_the_same_of_one_value(
    of: str, more: str, first: str, same: str, other: str, before: str
) -> None:
    assert judged(two_arms(of, first, same), more, before) == "proved"
    assert judged(two_arms(of, first, other), more, before) in ("refuted", "unknown")


@pytest.mark.parametrize(("before", "told"), [("const K: usize = 16;", "proved"), ("", "unknown")])
def test_a_name_of_a_constant_in_a_pattern_is_the_constant_and_any_other_name_the_value(before: str, told: str) -> None:
    rest = "".join(map(tile, ("16", "32", "48")))
    assert judged(f"match n {{ K => {{ {tile('K - 16')} }} _ => {{ {tile('0')} }} }} {rest}", SIZE, before) == told


def test_arms_in_another_order_are_the_same_arms() -> None:
    turned = f"match c {{ true => {{ {ALL} }} false => {{}} }} match c {{ false => {{ %s }} true => {{ %s }} }}"
    assert judged(turned % (ALL, ""), BOOL) == "proved"
    assert judged(turned % ("", ALL), BOOL) == "refuted"
    three = f"match m {{ M::P => {{ {ALL} }} M::Q => {{}} M::R => {{}} }} match m {{ M::R => {{ {ALL} }} M::Q => {{ %s }} M::P => {{}} }}"
    assert judged(three % ALL, "m: M", MODES) == "proved"
    assert judged(three % "", "m: M", MODES) == "unknown"


def test_an_arm_with_a_guard_leaves_its_pattern_to_later_arms() -> None:
    arms = f"match n {{ 0 if c => {{ {ALL} }} 0 => {{ %s }} _ => {{ {ALL} }} }}"
    assert judged(arms % ALL, "n: usize, c: bool") == "proved"
    assert judged(arms % "", "n: usize, c: bool") == "refuted"


def test_patterns_in_a_loop_over_tiles_are_compared_as_those_outside() -> None:
    loop = f"for i in 0..4 {{ match n {{ 0 => {{ {EACH} }} _ => {{}} }} match n {{ %s => {{}} _ => {{ {EACH} }} }} }}"
    assert judged(loop % "0", SIZE) == "proved"
    assert judged(loop % "1", SIZE) == "refuted"


NOT = ["!c", "(!c)", "{ !c }", "(!c, 0).0", "c == false", "!(!(!c))", "unsafe { !c }", "not(c)"]


@pytest.mark.parametrize("negated", NOT)
def test_what_is_negated_is_another_value_by_whatever_name(negated: str) -> None:
    before = "fn not(c: bool) -> bool { !c }" + fn("help", f"if !c {{ {ALL} }}", BOOL)
    assert judged(f"if c {{ {ALL} }} let c = {negated}; if !c {{ {ALL} }}", BOOL, before) in ("refuted", "unknown")
    assert judged(f"if c {{ {ALL} }} help(ctx, x, &mut y, {negated});", BOOL, before) in ("refuted", "unknown")
    assert judged(f"assert!(c); let c = {negated}; if c {{ {ALL} }}", BOOL, before) != "proved"


@pytest.mark.parametrize("negated", ["!c", "(!c)", "c == false", "!(!(!c))"])
def test_a_name_for_a_negation_is_the_negation(negated: str) -> None:
    before = fn("help", f"if c {{ {ALL} }}", BOOL)
    assert judged(f"if c {{ {ALL} }} let d = {negated}; if d {{ {ALL} }}", BOOL) == "proved"
    assert judged(f"if c {{ {ALL} }} help(ctx, x, &mut y, {negated});", BOOL, before) == "proved"
    assert judged(f"let g = |d: bool| {{ if d {{ {ALL} }} }}; g(c); g({negated});", BOOL) == "proved"


@pytest.mark.parametrize(("lines", "more", "before"), [
    (f"let n = !n; if n >= 3 {{ {ALL} }}", SIZE, ""), (f"let n = -n; if n >= 3 {{ {ALL} }}", "n: i32", ""),
    (f"let n = n / 2; if n >= 3 {{ {ALL} }}", SIZE, ""), (f"let n = Some(n).unwrap_or(3); if n >= 3 {{ {ALL} }}", SIZE, ""),
    (f"let n = if c {{ n }} else {{ m }}; if n >= 3 {{ {ALL} }}", "n: usize, m: usize, c: bool", ""),
    (f"{{ const n: usize = 1; if n >= 3 {{ {ALL} }} }}", SIZE, ""),
])  # fmt: skip
def test_a_number_that_was_changed_is_another_number(lines: str, more: str, before: str) -> None:
    assert judged(f"if n < 3 {{ {ALL} }} {lines}", more, before) in ("refuted", "unknown")
    assert judged(f"if n < 3 {{ {ALL} }} let n = (n); if n >= 3 {{ {ALL} }}", more, before) == "proved"


LO, HI = f"if n < %s {{ {ALL} }}", f"if n >= %s {{ {ALL} }}"
TWO = f"mod a {{ use super::*; %s pub {fn('lo', LO, SIZE)} }} mod b {{ use super::*; %s pub {fn('hi', HI, SIZE)} }}"
OF_TRAIT = "trait Z { const K: usize; } struct P; struct Q; impl Z for P { const K: usize = 3; } impl Z for Q { const K: usize = 5; }"
BOTH = "lo%s(ctx, x, &mut y, n); hi%s(ctx, x, &mut y, n);"


@pytest.mark.parametrize(("lines", "before", "right"), [
    (BOTH % ("::<5>", "::<5>"), fn("lo<const W: usize>", LO % "W", SIZE) + fn("hi<const W: usize>", HI % "W", SIZE), True),
    (BOTH % ("::<3>", "::<5>"), fn("lo<const W: usize>", LO % "W", SIZE) + fn("hi<const W: usize>", HI % "W", SIZE), False),
    ("a::lo(ctx, x, &mut y, n); b::hi(ctx, x, &mut y, n);", TWO % ("const K: usize = 5;", "K", "const K: usize = 5;", "K"), True),
    ("a::lo(ctx, x, &mut y, n); b::hi(ctx, x, &mut y, n);", TWO % ("const K: usize = 3;", "K", "const K: usize = 5;", "K"), False),
    ("a::lo(ctx, x, &mut y, n); b::hi(ctx, x, &mut y, n);", TWO % ("axes![Q = 3];", "Q::SIZE", "axes![Q = 5];", "Q::SIZE"), False),
    (BOTH % ("::<P>", "::<P>"), OF_TRAIT + fn("lo<T: Z>", LO % "T::K", SIZE) + fn("hi<T: Z>", HI % "T::K", SIZE), True),
    (BOTH % ("::<P>", "::<Q>"), OF_TRAIT + fn("lo<T: Z>", LO % "T::K", SIZE) + fn("hi<T: Z>", HI % "T::K", SIZE), False),
    (f"P::{BOTH % ('', 'X')}".replace("hiX", "Q::hi"), f"struct P; struct Q; impl P {{ const K: usize = 3; {fn('lo', LO % 'Self::K', SIZE)} }} impl Q {{ const K: usize = 5; {fn('hi', HI % 'Self::K', SIZE)} }}", False),
    (f"{LO % 'K'} {HI % 'K'}", "const K: usize = other();", True), (f"{LO % 'K'} {{ const K: usize = 5; {HI % 'K'} }}", "const K: usize = 3;", False),
])  # fmt: skip
def test_a_constant_is_its_value_and_not_its_name(lines: str, before: str, right: bool) -> None:
    assert judged(lines, SIZE, before) in (("proved",) if right else ("refuted", "unknown"))


@pytest.mark.parametrize(("declared", "change", "right"), [
    ("static FLAG: usize = 1;", "", True), ("static mut FLAG: usize = 1;", "flip();", False),
    ("static FLAG: Cell<usize> = Cell::new(1);", "flip();", False),
])  # fmt: skip
def test_a_static_that_may_be_written_is_asked_anew(declared: str, change: str, right: bool) -> None:
    lines = f"unsafe {{ if FLAG == n {{ {ALL} }} {change} if FLAG != n {{ {ALL} }} }}"
    assert judged(lines, SIZE, declared + "fn flip() {}") == ("proved" if right else "unknown")


def test_a_macro_that_hides_a_call_is_asked_anew() -> None:
    lines = f"if r!() {{ {ALL} }} if !r!() {{ {ALL} }}"
    assert judged(lines, BOOL, "macro_rules! r { () => { rand::random::<bool>() } }") == "unknown"
    assert judged(lines.replace("r!()", "cfg!(debug_assertions)"), BOOL) == "proved"


IMPL = f"{STRUCT} impl K {{ fn put(%s, ctx: &mut Context, x: &{HBM}, y: &mut {HBM}) {{ if self.n < 3 {{ {ALL} }} %s if self.n >= 3 {{ {ALL} }} }} }}"


@pytest.mark.parametrize(("me", "change", "given", "status"), [
    ("&self", "", "k: &K", "proved"), ("self", "", "k: K", "proved"), ("&mut self", "self.n -= 1;", "k: &mut K", "unknown"),
    ("&mut self", "self.flip();", "k: &mut K", "unknown"), ("mut self", "self.n -= 1;", "k: K", "unknown"),
    ("self: &mut Self", "self.n -= 1;", "k: &mut K", "unknown"),
])  # fmt: skip
def test_a_field_of_what_may_be_written_is_asked_anew(me: str, change: str, given: str, status: str) -> None:
    assert judged("k.put(ctx, x, &mut y);", given, IMPL % (me, change)) == status


@pytest.mark.parametrize(("change", "given", "status"), [("", "k: &K", "proved"), ("k.n = 2;", "k: &mut K", "unknown")])
def test_methods_of_one_value_share_its_fields_where_nobody_writes_them(change: str, given: str, status: str) -> None:
    me = f"&self, ctx: &mut Context, x: &{HBM}, y: &mut {HBM}"
    before = f"{STRUCT} impl K {{ fn lo({me}) {{ if self.n < 3 {{ {ALL} }} }} fn hi({me}) {{ if self.n >= 3 {{ {ALL} }} }} }}"
    assert judged(f"k.lo(ctx, x, &mut y); {change} k.hi(ctx, x, &mut y);", given, before) == status


@pytest.mark.parametrize(("lines", "more", "before"), [
    (f"let (a, b) = p; if a {{ {ALL} }} if !b {{ {ALL} }}", "p: (F, F)", "type F = bool;"),
    (f"let a: F = c; let b: F = d; if a {{ {ALL} }} if !b {{ {ALL} }}", "c: bool, d: bool", "type F = bool;"),
    (f"let g = |d: F| {{ if d {{ {ALL} }} }}; let h = |d: F| {{ if !d {{ {ALL} }} }}; g(c); h(d);", "c: bool, d: bool", "type F = bool;"),
    (f"let (a, b) = ask(x); if a {{ {ALL} }} if !b {{ {ALL} }}", BOOL, ""),
    (f"if r.a {{ {ALL} }} if !q.a {{ {ALL} }}", "r: &R, q: &R", "struct S { a: bool } type R = S;"),
    (f"let a = o.take(); let b = o.take(); match a {{ Some(_) => {{ {ALL} }} None => {{}} }} match b {{ None => {{ {ALL} }} Some(_) => {{}} }}", "o: &mut Option<bool>", ""),
    (f"match o {{ Some(p) => match p {{ Some(_) => {{ {ALL} }} None => {{}} }} None => {{ {ALL} }} }}", "o: Option<Option<usize>>", ""),
    (f"let r = s; if r.f {{ {ALL} }} flip(r); if !r.f {{ {ALL} }}", "s: &mut S", "struct S { f: bool }"),
    ("b!();", BOOL, f"macro_rules! b {{ () => {{ let mut c = ready(); if c {{ {ALL} }} c = !c; if !c {{ {ALL} }} }} }}"),
    (f"assert_maybe!(c); if c {{ {ALL} }}", BOOL, "macro_rules! assert_maybe { ($e:expr) => { } }"),
    ("help(ctx, x, &mut y, 3, c);", BOOL, fn("help", f"if c {{ n -= 1; }} if n == 3 {{ {ALL} }}", "mut n: usize, c: bool")),
    ("K { n: 2 }.put(ctx, x, &mut y);", BOOL, f"{STRUCT} impl K {{ fn put(mut self, ctx: &mut Context, x: &{HBM}, y: &mut {HBM}) {{ self.n -= 1; if self.n == 2 {{ {ALL} }} }} }}"),
])  # fmt: skip
def test_two_values_of_one_type_are_two_values(lines: str, more: str, before: str) -> None:
    assert judged(lines, more, before) in ("refuted", "unknown")


@pytest.mark.parametrize("kind", ["i32", "usize", "f32", "T9"])
def test_at_least_is_the_opposite_of_below_among_integers_alone(kind: str) -> None:
    lines = f"if k < m {{ {ALL} }} if k >= m {{ {ALL} }}"
    told = ("proved", "refuted") if kind in ("i32", "usize") else ("unknown", "unknown")
    assert judged(lines, f"k: {kind}, m: {kind}", "type T9 = f32;") == told[0]
    assert judged(lines.replace(">=", "=="), f"k: {kind}, m: {kind}", "type T9 = f32;") == told[1]
    assert judged(f"if k == m {{ {ALL} }} if k != m {{ {ALL} }}", f"k: {kind}, m: {kind}", "type T9 = f32;") == "proved"


def test_a_literal_of_a_float_makes_no_order() -> None:
    assert judged(f"if k < 0.0 {{ {ALL} }} if k >= 0.0 {{ {ALL} }}", "k: f32") == "unknown"
    assert judged(f"if k < 0.0 {{ {ALL} }} else {{ {ALL} }}", "k: f32") == "proved"


@pytest.mark.parametrize(("bound", "status"), [("n <= 254", "refuted"), ("n <= 255", "proved")])
def test_a_condition_that_every_value_of_a_type_meets_holds_in_every_run(bound: str, status: str) -> None:
    assert judged(f"if {bound} {{ {ALL} }}", "n: u8") == status


def test_a_debug_assertion_holds_in_builds_with_debug_assertions() -> None:
    assert judged(f"debug_assert!(c); if c {{ {ALL} }}", BOOL) == "unknown"
    assert judged(f"debug_assert!(c); if c {{ {ALL} }} #[cfg(not(debug_assertions))] {ALL}", BOOL) == "proved"
    assert judged(f"assert!(c); if c {{ {ALL} }}", BOOL) == "proved"


def test_what_a_reference_of_the_text_itself_writes_is_open_and_no_condition() -> None:
    new = f"let mut z = {HBM.replace('HbmTensor<', 'HbmTensor::<')}::new();"
    one = f"{new} {{ let p = if c {{ &mut y }} else {{ &mut z }}; {ALL.replace('y.view', 'p.view')} }}"
    assert judged(one, BOOL) == judged(f"{one} {ALL}", BOOL) == "unknown"
    whole = ALL.replace("y.view", "p.view")
    assert judged(f"let p = &mut y; {whole}", BOOL) == "proved"
    assert judged(f"let p = &mut y; if c {{ {whole} }}", BOOL) == "refuted"


@pytest.mark.parametrize("seed", seeds(20, 60))
def test_drawn_decisions_are_judged_as_they_run_for_every_value(seed: int) -> None:
    """Thousands of them: `python tests/fuzz/rust_tiles.py --decisions --count 3000`."""
    one = drawn_decisions(seed)
    made = verdicts(plan(one.text, ""))
    said = {found.status.value for found in made}
    assert one.right or not all(made), one.text
    assert not one.right or "refuted" not in said, one.text
    assert "error" not in said


@pytest.mark.parametrize("seed", seeds(24, 400))
def test_drawn_decisions_are_judged_as_they_run_where_their_functions_stand_in_other_files(
    tmp_path: Path, seed: int
) -> None:
    one, made = drawn_decisions(seed), []
    for name, text in in_files(seed).items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for name in ("aid", "kernel"):
        made += dv.check(str(tmp_path / f"src/{name}.rs"))
    assert one.right or not all(made), one.text
    assert not one.right or not any(found.status is Status.REFUTED for found in made), one.text


def checked(result: str, nothing: str, body: str = ALL) -> str:
    """A function that gives nothing, or an error, before it writes where `c` does not hold."""
    head = f"fn put(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}, c: bool) -> {result}"
    return f"{head} {{ if !c {{ return {nothing}; }} {body} {'Ok' if 'Err' in nothing else 'Some'}(1) }}\n"


NONE, ERR = checked("Option<usize>", "None"), checked("Result<usize, u8>", "Err(3)")
ON = f"fn on(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}, c: bool) -> Option<usize> {{ put(ctx, x, y, c)?; Some(2) }}\n"
TAIL = (
    checked("Option<usize>", "None")
    .replace("if !c { return None; }", "if c {")
    .replace("Some(1) }", "Some(1) } else { None } }")
)
CLOSURE = f"fn put(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}, c: bool) -> Option<usize> {{ let p = || {{ return None; }}; p(); Some(1) }}\n"
READ = f"fn whole(ctx: &mut Context, y: &{HBM}) {{ let mut z = {NEW}; y.view().to_hbm_view(&mut ctx.tdma, z.view_mut()); }}\n"
OWN = "mod own { pub enum Option<T> { None, Some(T) } impl<T> Option<T> { pub fn unwrap(self) {} } }\nuse own::Option::{self, None, Some};\n"


@pytest.mark.parametrize(("lines", "before", "told"), [
    ("put(ctx, x, &mut y, c).unwrap();", NONE, "proved"), ("put(ctx, x, &mut y, c).unwrap();", ERR, "proved"),
    ('put(ctx, x, &mut y, c).expect("on");', NONE, "proved"), ("on(ctx, x, &mut y, c).unwrap();", NONE + ON, "proved"),
    ("let r = put(ctx, x, &mut y, c); r.unwrap();", NONE, "proved"), ("let r = put(ctx, x, &mut y, c); let k = r.expect(\"on\");", ERR, "proved"),
    ("put(ctx, x, &mut y, c).unwrap();", TAIL, "proved"), ("let r = on(ctx, x, &mut y, c); r.unwrap();", NONE + ON, "proved"),
    ("let r = put(ctx, x, &mut y, c); if b { r.unwrap(); }", NONE, "refuted"), ("let r = put(ctx, x, &mut y, c); whole(ctx, &y); r.unwrap();", NONE + READ, "refuted"),
    ("put(ctx, x, &mut y, c).map(|k| k + 1).unwrap();", NONE, "unknown"), ("let mut r = put(ctx, x, &mut y, c); r = Some(3); r.unwrap();", NONE, "unknown"),
    ("let mut r = put(ctx, x, &mut y, c); r.insert(3); r.unwrap();", NONE, "unknown"), ("put(ctx, x, &mut y, c).unwrap();", CLOSURE, "refuted"),
    ("(if b { put(ctx, x, &mut y, c) } else { put(ctx, x, &mut y, !c) }).unwrap();", NONE, "unknown"),
    ("let r = put(ctx, x, &mut y, c).or(Some(3)); r.unwrap();", NONE, "unknown"),
    ("put(ctx, x, &mut y, c);", NONE, "refuted"), ("put(ctx, x, &mut y, c).is_some();", NONE, "refuted"),
    ("put(ctx, x, &mut y, c).unwrap_or(3);", NONE, "refuted"), ("on(ctx, x, &mut y, c);", NONE + ON, "refuted"),
    ("put(ctx, x, &mut y, c).unwrap();", checked("Option<usize>", "Some(0)"), "refuted"),
    ("put(ctx, x, &mut y, c).unwrap();", OWN + NONE, "unknown"),  # of this crate: it may stop
    (f"let p = |ctx: &mut Context, y: &mut {HBM}| {{ put(ctx, x, y, c)?; Some(1) }}; p(ctx, &mut y);", NONE, "refuted"),
    ("put(ctx, x, &mut y, c).unwrap();", checked("Option<usize>", "Some(0)", f"let p = || {{ return None; }}; p(); {ALL}"), "refuted"),
])  # fmt: skip
def test_where_unwrap_is_asked_of_it_a_function_that_gives_nothing_ends_the_kernel(
    lines: str, before: str, told: str
) -> None:
    assert judged(lines, f"{BOOL}, b: bool", before) == told
