"""What calls of the crate give: helpers behind aliases, structs, generics; what comes from code that is not followed.

Each pair of kernels is both sides of an edge: a tensor that was written comes back, or one that nobody wrote.
"""

# ruff: noqa: E501  (kernels)

from pathlib import Path

import pytest
from kernels import HBM, plan, verdicts
from test_every_way import ALL

from dmaverify.jobs.verdicts import verdicts_of
from dmaverify.machines.rngd.rust import buffers_told
from dmaverify.machines.rngd.rust.plans import read_kernel_plan
from dmaverify.prove.move.check import Options

TYPES = f"type T = {HBM}; struct P {{ a: T, b: T }}\n"
HALF = "x.view().tile::<m![B], 32, m![A, B = 32 # 64]>(0).to_hbm_view(&mut ctx.tdma, %s.view_mut().tile::<m![B], 32, m![A, B = 32 #{!} 64]>(0));"


def put(name: str) -> str:
    return ALL.replace("y.view", f"{name}.view")


def judged(helpers: str, lines: str, result: str = "y", more: str = "") -> str:
    head = (
        f"{TYPES}{helpers}\n#[device(chip = 1)]\nfn f(ctx: &mut Context, x: &T, {more}) -> T {{ let mut y = T::new();"
    )
    made = verdicts(plan(f"{head}\n{lines}\n{result} }}\n"))
    found = {v.status.value for v in made}
    told = next((one for one in ("error", "refuted", "unknown") if one in found), "proved")
    return "given" if told == "proved" and not all(made) else told


TWO = f"let mut z = T::new(); {put('z')}"  # `z` is written, `y` is not


@pytest.mark.parametrize(("helpers", "written", "unwritten"), [
    ("fn one(a: T) -> T { a }", "one(z)", "one(y)"),
    ("fn sel(a: T, b: T) -> T { b }", "sel(y, z)", "sel(z, y)"),
    ("fn two(a: T, b: T) -> (T, T) { (b, a) }", "two(z, y).1", "two(z, y).0"),
    ("fn two(a: T, b: T) -> (T, T) { let t = (b, a); t }", "two(y, z).0", "two(y, z).1"),
    ("fn two((a, b): (T, T)) -> (T, T) { (b, a) }", "two((y, z)).0", "two((y, z)).1"),
    ("fn one(a: T) -> T { a } fn two(a: T, b: T) -> (T, T) { (one(b), one(a)) }", "two(y, z).0", "two(y, z).1"),
    ("fn wrap(a: T) -> Option<T> { Some(a) }", "wrap(z).unwrap()", "wrap(y).unwrap()"),
    ("impl P { fn flip(self) -> P { P { a: self.b, b: self.a } } }", "P { a: y, b: z }.flip().a", "P { a: y, b: z }.flip().b"),
    ("fn flip(s: P) -> P { P { a: s.b, b: s.a } }", "flip(P { a: y, b: z }).a", "flip(P { a: y, b: z }).b"),
    ("impl P { fn end(self) -> T { self.a } }", "P { a: z, b: y }.end()", "P { a: y, b: z }.end()"),
    ("fn pick(a: T, b: T, first: bool) -> T { if first { return a; } b }", "pick(z, x.clone(), true)", "pick(y, z, true)"),
])  # fmt: skip
def test_a_helper_behind_an_alias_gives_the_tensor_that_it_was_given(
    helpers: str, written: str, unwritten: str
) -> None:
    assert judged(helpers, TWO, written) == "proved"
    assert judged(helpers, TWO, unwritten) in ("refuted", "unknown")


@pytest.mark.parametrize(("helpers", "made"), [
    ("fn mk() -> T { T::new() }", "mk()"), ("fn mk() -> T { let t = T::new(); t }", "mk()"),
    ("fn mk() -> (T, T) { (T::new(), T::new()) }", "mk().1"),
    ("impl P { fn new() -> P { P { a: T::new(), b: T::new() } } }", "P::new().b"),
])  # fmt: skip
def test_a_helper_behind_an_alias_makes_a_tensor_that_nobody_wrote(helpers: str, made: str) -> None:
    assert judged(helpers, f"let mut z = {made}; {put('z')}", "z") == "proved"
    assert judged(helpers, f"let mut z = {made}; {HALF % 'z'}", "z") == "refuted"
    assert judged(helpers, f"let z = {made}; {put('y')}", "z") == "refuted"


@pytest.mark.parametrize(("helpers", "call"), [
    ("fn two(a: T, b: T) -> [T; 2] { [b, a] }", "{ let [_, o] = two(y, z); o }"),
    ("fn two<X, Y>(a: X, b: Y) -> (Y, X) { (b, a) }", "two(y, z).1"), ("fn one<X>(a: X) -> X { a }", "one(y)"),
    ("enum E { A(T) } fn mk(a: T) -> E { E::A(a) }", "{ let E::A(o) = mk(y); o }"),
    ("fn again(a: T, n: usize) -> T { if n == 0 { a } else { again(a, n - 1) } }", "again(y, n)"),
    ("fn again(a: T, n: usize) -> Vec<T> { if n == 0 { vec![a] } else { again(a, n - 1) } }", "again(y, n)[0]"),
    ("fn again(a: P, n: usize) -> P { if n == 0 { a } else { again(a, n - 1) } }", "again(P { a: y, b: z }, n).a"),
    ("fn again(a: Vec<P>, n: usize) -> Vec<P> { if n == 0 { a } else { again(a, n - 1) } }", "again(vec![P { a: y, b: z }], n)[0].a"),
    ("fn again(n: usize) -> P { again(n) }", "again(n).a"), ("fn again(n: usize) -> Vec<P> { again(n) }", "again(n)[0].a"),
    ("fn one(a: T) -> T { a }", "{ let f = one; let o: T = f(y); o }"), ("", "{ let o: T = (|a: T| a)(y); o }"),
    ("trait K { fn keep(self) -> Self; } impl K for T { fn keep(self) -> Self { self } }", "{ let o: T = y.keep(); o }"),
    ("", "{ let o: T = Some(z).unwrap_or(y); o }"), ("", "{ let o: T = std::mem::replace(&mut z, y); o }"),
    ("fn mk(n: usize) -> T { if n == 0 { T::new() } else { mk(n - 1) } }", "mk(n)"),
])  # fmt: skip
def test_what_a_call_gives_that_is_not_followed_is_never_taken_as_written(helpers: str, call: str) -> None:
    assert judged(helpers, TWO, call, "n: usize") in ("refuted", "unknown")


def test_what_a_call_gives_that_is_not_followed_counts_once_it_is_written_here() -> None:
    again = "fn mk(n: usize) -> T { mk(n) }"
    assert judged(again, f"let mut z = mk(n); {put('z')}", "z", "n: usize") == "given"  # that a run comes back
    shut = "trait K { fn mk() -> T; } impl K for u8 { fn mk() -> T { T::new() } }"
    assert judged(shut, f"let mut z = K::mk(); {put('z')}", "z", "n: usize") == "proved"
    assert judged(again, f"let mut z = mk(n); {HALF % 'z'}", "z", "n: usize") == "unknown"


@pytest.mark.parametrize(("early", "told"), [("4", "proved"), ("2", "unknown")])
def test_a_helper_may_give_what_it_returns_early(early: str, told: str) -> None:
    turns = f"fn turns(a: &T, c: bool) -> usize {{ if c {{ return {early}; }} 4 }}"
    tile = "x.view().tile::<m![B], 16, m![A, B = 16 # 64]>(i * 16).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![B], 16, m![A, B = 16 #{!} 64]>(i * 16));"
    assert judged(turns, f"let n = turns(x, c); for i in 0..n {{ {tile} }}", "y", "c: bool") == told


SCRATCH = f"fn two(ctx: &mut Context, x: &T) -> (T, T) {{ let mut a = T::new(); let b = T::new(); {put('a')} (b, a) }}"


def test_a_helper_may_give_a_tensor_that_its_caller_writes_or_drops() -> None:
    assert judged(SCRATCH, "let (_, z) = two(ctx, x);", "z") == "proved"
    assert judged(SCRATCH, f"let (mut z, _) = two(ctx, x); {put('z')}", "z") == "proved"
    assert judged(SCRATCH, "let (z, _) = two(ctx, x);", "z") == "refuted"


def test_a_function_that_nobody_calls_gives_no_tensor_that_nobody_wrote() -> None:
    assert "refuted" in {v.status.value for v in verdicts(plan(TYPES + SCRATCH))}


def test_a_use_within_a_helper_is_told_whoever_calls_it() -> None:
    reads = f"fn two(ctx: &mut Context, x: &T) -> T {{ let b = T::new(); let mut a = T::new(); {put('a').replace('x.view', 'b.view', 1)} a }}"
    assert judged(reads, f"let z = two(ctx, x); {put('y')}") == "refuted"


@pytest.mark.parametrize("lines", [
    f"let mut v = vec![T::new(), T::new()]; {put('v[0]')} let y = v.pop().unwrap();",
    f"let mut v = vec![T::new(), T::new()]; {put('v[1]')} let y = v.remove(0);",
    f"let mut v = [T::new(), T::new()]; v.swap(0, 1); {put('v[0]')} v.reverse(); let [y, _] = v;",
    f"let (mut a, mut b) = (T::new(), T::new()); {put('a')} (a, b) = (b, a); let y = a;",
    f"let (mut a, mut b) = (T::new(), T::new()); {put('a')} (a, b) = (b, a); let y = b;",
    f"let mut z = T::new(); let mut r = &mut y; r = &mut z; {put('r')}",
    f"let mut z = T::new(); std::convert::identity(&mut y); {put('z')}",
    f"let mut v = [T::new(), T::new()]; {put('v[0]')} v.rotate_left(1); let [y, _] = v;",
    f"let z = (&mut y, 1); {put('z.0')}", f"let mut w = T::new(); for d in [&mut y, &mut w] {{ {put('d')} }}",
    f"let mut w = T::new(); let z = if n > 3 {{ &mut y }} else {{ &mut w }}; {put('z')}",
    f"let z = &mut y; {put('z')} *z = T::new();", f"let z = &mut y; {put('z')} std::mem::take(z);",
    f"let mut w = T::new(); let z = &mut y; {put('z')} std::mem::swap(z, &mut w);",
])  # fmt: skip
def test_code_that_cannot_write_is_no_condition(lines: str) -> None:
    assert judged("", lines) in ("unknown", "refuted")


def test_another_name_for_a_tensor_is_that_tensor() -> None:
    part = "x.view().tile::<m![B], 16, m![A, B = 16 # 64]>(0).to_hbm_view(&mut ctx.tdma, {}.view_mut().tile::<m![B], 16, m![A, B = 16 #{{!}} 64]>(0));"
    assert judged("", f"let z = &mut y; {put('z')}") == "proved"
    assert judged("", f"let z = &mut y; let w = z; {put('w')}") == "proved"
    assert judged("", f"let z = &mut y; {part.format('z')}") == "refuted"
    assert judged("", "let z = &mut y;") == "refuted"
    fill = "fn fill(ctx: &mut Context, x: &T, o: &mut T) {{ {} }}"
    assert judged(fill.format(put("o")), "let z = &mut y; fill(ctx, x, z);") == "proved"
    assert judged(fill.format(part.format("o")), "let z = &mut y; fill(ctx, x, z);") == "refuted"
    assert judged(fill.format(put("o") + " *o = T::new();"), "let z = &mut y; fill(ctx, x, z);") == "unknown"


def test_a_list_holds_what_was_put_into_it() -> None:
    many = "fn many(a: T) -> Vec<T> { let mut v = Vec::with_capacity(1); v.push(a); v }"
    assert (
        judged(many, f"{TWO} let v = many(z); let o = &v[0]; o.view().to_hbm_view(&mut ctx.tdma, y.view_mut());")
        == "given"  # that the list has an element
    )
    assert judged(
        many, f"{TWO} let v = many(y); let o = &v[0]; o.view().to_hbm_view(&mut ctx.tdma, z.view_mut());", "z"
    ) in ("refuted", "unknown")


def test_foreign_code_that_may_write_is_a_condition() -> None:
    assert judged("", "foreign::fill(ctx, &mut y); " + put("{ let z = &mut T::new(); z }")) == "given"
    assert judged("", f"let mut z = T::new(); foreign::fill((&mut *ctx, &x, &mut y)); {put('z')}") == "given"


TILE = "x.view().tile::<m![B], 16, m![A, B = 16 # 64]>(i * 16).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![B], 16, m![A, B = 16 #{!} 64]>(i * 16));"
BIND = "macro_rules! bind { ($v:ident, $e:expr) => { let $v = $e; } }\n"


@pytest.mark.parametrize(("macro", "call", "right"), [
    (BIND, "let n = 2; bind!(n, 4);", True), (BIND, "let n = 4; bind!(n, 2);", False),
    ("macro_rules! bind { ($v:ident) => { let $v = 4; } }", "let n = 2; bind!(n);", True),
    ("macro_rules! bind { ($v:ident) => { let n = 2; let $v = 4; } }", "let n = 4; let k = 1; bind!(k);", True),
    ("macro_rules! bind { ($e:expr) => { let (n, _m) = ($e, 2); } }", "let n = 4; bind!(2);", True),
    ("macro_rules! bind { ($e:expr) => { let (n, _m) = (2, $e); } }", "let n = 4; bind!(n);", True),
    ("macro_rules! bind { ($p:pat, $e:expr) => { let $p = $e; } }", "let n = 2; bind!((n, _), (4, 2));", True),
    ("macro_rules! bind { ($p:pat, $e:expr) => { let $p = $e; } }", "let n = 4; bind!((_, n), (4, 2));", False),
    (BIND + "macro_rules! outer { ($v:ident) => { bind!($v, 4); } }", "let n = 2; outer!(n);", True),
    (BIND + "macro_rules! outer { ($v:ident) => { bind!($v, 2); } }", "let n = 4; outer!(n);", False),
    (BIND + "macro_rules! outer { () => { bind!(n, 2); } }", "let n = 4; outer!();", True),
    (BIND + "macro_rules! outer { ($v:ident) => { { bind!($v, 2); } } }", "let n = 4; outer!(n);", True),
    ("macro_rules! bind { ($($v:ident),*) => { $(let $v = 4;)* } }", "let n = 2; bind!(k, n);", True),
    ("macro_rules! bind { ($($v:ident),*) => { $(let $v = 2;)* } }", "let n = 4; bind!(k, n);", False),
    ("macro_rules! bind { ($t:tt) => { let $t = 4; } }", "let n = 2; bind!(n);", True),
])  # fmt: skip
def test_a_let_of_a_macro_holds_behind_it_for_names_of_the_caller_alone(macro: str, call: str, right: bool) -> None:
    assert judged(macro, f"{call} for i in 0..n {{ {TILE} }}") == ("proved" if right else "refuted")


@pytest.mark.parametrize(("lines", "status"), [
    ("let n = 4; AT; for k in 0..4 { COPY }", "proved"), ("let n = 2; AT; for k in 0..4 { COPY }", "refuted"),
    ("let n = 2; AT; let n = 4; for k in 0..4 { COPY }", "unknown"), ("let k = 4; let n = k; AT; for k in 0..4 { COPY }", "proved"),
    ("let n = 2; AT; for n in [4, 4, 4, 4] { let k = n; COPY }", "unknown"), ("let n = 2; AT; if let n = 4 { for k in 0..4 { COPY } }", "unknown"),
    ("let n = 2; AT; match 4 { n => { for k in 0..4 { COPY } } }", "unknown"), ("let n = 2; AT; let f = |n| n; for k in 0..4 { COPY }", "unknown"),
    ("let n = 2; AT; set!(n); for k in 0..4 { COPY }", "unknown"), ("let n = 4; AT; set!(o); for k in 0..4 { COPY }", "proved"),
    ("let n = 2; AT; let n = 4; AT; for k in 0..4 { COPY }", "unknown"), ("let n = 2; AT; assert!(n == 2); for k in 0..4 { COPY }", "refuted"),
    ("let n = 2; AT; i!(n); for k in 0..4 { COPY }", "unknown"),
])  # fmt: skip
def test_a_variable_that_a_macro_names_itself_is_the_one_of_its_definition(lines: str, status: str) -> None:
    at = "macro_rules! at { ($i:expr) => { if n == 4 { $i * 16 } else { 0 } } }"
    tile = "x.view().tile::<m![B], 16, m![A, B = 16 # 64]>(at!(k)).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![B], 16, m![A, B = 16 #{!} 64]>(at!(k)));"
    before = "macro_rules! set { ($v:ident) => { let $v = 4; } } macro_rules! i { ($v:ident) => { let $v = 4; } }"
    assert judged(before, lines.replace("AT;", at).replace("COPY", tile)) == status


def test_a_tensor_that_a_macro_names_itself_is_the_one_of_its_definition() -> None:
    macro = "macro_rules! all { () => { x.view().to_hbm_view(&mut ctx.tdma, y.view_mut()); } }"
    assert judged("", f"{macro} all!();") == "proved"
    assert judged("", f"{macro} {{ let mut y = T::new(); all!(); }}") != "refuted"


def test_a_macro_outside_of_functions_sees_no_variable_of_its_caller() -> None:
    helper = f"fn all(ctx: &mut Context, x: &T, y: &mut T) {{ {ALL} }} macro_rules! go {{ ($c:expr, $x:expr, $y:expr) => {{ all($c, $x, $y) }} }}"
    assert judged(helper, "go!(ctx, x, &mut y);") == "proved"
    assert judged(helper, "let all = |_, _, _| {}; go!(ctx, x, &mut y);") == "proved"
    assert judged(helper, "let all = |_, _, _| {}; all(ctx, x, &mut y);") in ("refuted", "unknown")


@pytest.mark.parametrize(("macro", "call", "status"), [
    ("const $n: usize = 4;", "def!(N);", "unknown"), ("const $n: usize = 4;", "def!(M);", "proved"), ("const N: usize = 4;", "def!(M);", "unknown"),
    ("use inner::$n;", "def!(N);", "unknown"), ("fn $n() {}", "{ def!(N); }", "proved"), ("deep!($n);", "def!(N);", "unknown"),
])  # fmt: skip
def test_an_item_that_a_macro_makes_in_a_block_hides_what_has_its_name_outside(
    macro: str, call: str, status: str
) -> None:
    before = f"const N: usize = 4; mod inner {{ pub const N: usize = 4; }} macro_rules! deep {{ ($n:ident) => {{ static $n: usize = 4; }} }} macro_rules! def {{ ($n:ident) => {{ {macro} }} }}"
    assert judged(before, f"{call} for i in 0..N {{ {TILE} }}") == status


def test_a_tensor_that_a_macro_makes_under_a_name_of_the_caller_is_another() -> None:
    fresh = "macro_rules! fresh { ($o:ident) => { let mut $o = T::new(); } }"
    assert judged(fresh, f"{put('y')} fresh!(y);") == "refuted"
    assert judged(fresh, f"fresh!(y); {put('y')}") == "proved"


@pytest.mark.parametrize(("arms", "told"), [
    ("k @ 0..=3 => { %s } _ => {}", "proved"), ("k @ 0..=2 => { %s } _ => {}", "refuted"),
    ("k @ (0 | 1 | 2 | 3) => { %s } _ => {}", "unknown"), ("k @ 1..=1 => { %s } _ => {}", "refuted"),
])  # fmt: skip
def test_a_name_before_a_pattern_takes_what_the_pattern_takes(arms: str, told: str) -> None:
    tile = "x.view().tile::<m![B], 16, m![A, B = 16 # 64]>(k * 16).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![B], 16, m![A, B = 16 #{!} 64]>(k * 16));"
    assert judged("", f"for i in 0..4usize {{ match i {{ {arms % tile} }} }}") == told


@pytest.mark.parametrize(("first", "second", "told"), [
    ("k @ 0..=3", "0 | 1 | 2 | 3", "proved"), ("k @ (0 | 1)", "0..2", "unknown"), ("k @ 0..=3", "0..3", "proved"),
    ("k @ 0..=3", "0..=4", "refuted"),
])  # fmt: skip
def test_a_name_before_a_pattern_is_no_part_of_the_choice(first: str, second: str, told: str) -> None:
    lines = f"match n {{ {first} => {{ {ALL} }} _ => {{}} }} match n {{ {second} => {{}} _ => {{ {ALL} }} }}"
    assert judged("", lines, "y", "n: usize") == told


def test_arms_that_cannot_be_compared_are_told_by_their_patterns() -> None:
    assert (
        judged("", f"let v = [n, 2, 3]; match v {{ [a, ..] if a == 1 => {{ {ALL} }} _ => {{}} }}", "y", "n: usize")
        == "unknown"
    )
    assert judged("", f"match ctx as *const _ as usize % 3 {{ k @ 1..=1 => {{ {ALL} }} _ => {{}} }}") == "unknown"


def test_a_file_whose_reading_failed_is_read_anew_and_spoils_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = "use furiosa_opt_std::prelude::*;\naxes![A = 256, B = 64];\ntype Chip = m![1];\n" + TYPES
    text = head + "#[device(chip = 1)]\nfn f(ctx: &mut Context, x: &T) -> T { let mut y = T::new(); %s y }\n"
    bad, good = tmp_path / "bad.rs", tmp_path / "good.rs"
    bad.write_text(text % (HALF % "y"))
    good.write_text(text % ALL)
    judge = buffers_told.BufferJudge.judge
    with monkeypatch.context() as patch:
        patch.setattr(buffers_told.BufferJudge, "judge", lambda own: 1 / 0 if own.buffer.tiled else judge(own))
        with pytest.raises(ZeroDivisionError):
            read_kernel_plan(str(bad))
        assert {v.status.value for v in verdicts_of(read_kernel_plan(str(good)), Options())} == {"proved"}
    assert "refuted" in {v.status.value for v in verdicts_of(read_kernel_plan(str(bad)), Options())}
