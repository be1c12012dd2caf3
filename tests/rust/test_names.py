"""What a name, a condition and an `impl` mean: as the compiler has them, or not known; never one of several.

Each body copies four columns of `x` into `y`; with three of them, or where their number is not known, it is not proved.
"""

# ruff: noqa: E501  (kernels)

import pytest
from kernels import HBM, plan, status, tile, verdicts, whole

ALL = whole("x")
OS, NO_OS = '#[cfg(target_os = "none")]', '#[cfg(not(target_os = "none"))]'
ON, OFF = '#[cfg(feature = "q")]', '#[cfg(not(feature = "q"))]'


def columns(count: str) -> str:
    return f"for i in 0..{count} {{ {tile('16 * i')} }}"


PUT = f"fn put(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}, c: bool) {{ if c {{ {ALL} }} }}"
CONDITIONS = [
    ('if !cfg!(feature = "a") && (n > 4) { ALL }', "", "unknown"), ('if !cfg!(feature = "a") { ALL }', "", "proved"),
    ('if cfg!(feature = "a") || (n > 4) {} else { ALL }', "", "unknown"), ('if (!(cfg!(feature = "a"))) { ALL }', "", "proved"),
    ('if !cfg!(feature = "a") { ALL } else if (n > 4) {}', "", "proved"), ('if !!cfg!(feature = "a") { ALL }', "", "refuted"),
    ("if size_of::<i32>() < F { ALL }", "const F: usize = 5;", "proved"), ("if F < size_of::<i32>() { ALL }", "const F: usize = 5;", "refuted"),
    ("if std::mem::size_of::<i32>() == 4 { ALL }", "mod std { pub mod mem { pub fn size_of<T>() -> usize { 3 } } }", "unknown"),
    ("if std::mem::size_of::<i32>() == 4 { ALL }", "mod other {}", "proved"), ("if size_of::<i32>() == 4 { ALL }", "use std::mem::size_of;", "proved"),
    ("if size_of::<i32>() == 4 { ALL }", "fn size_of<T>() -> usize { 3 }", "unknown"),
    ("if !F < 3 { ALL }", "const F: usize = 5;", "refuted"), ("if !(F < 3) { ALL }", "const F: usize = 5;", "proved"),
    ("if !(F > 3) { ALL }", "const F: usize = 5;", "refuted"), ("match !F { 0 => { ALL } _ => {} }", "const F: usize = 5;", "refuted"),
    ("match !F { 5 => { ALL } _ => {} }", "const F: usize = 5;", "refuted"), ("match F { 5 => { ALL } _ => {} }", "const F: usize = 5;", "proved"),
    ("let k = !F; match k { 5 => { ALL } _ => {} }", "const F: usize = 5;", "refuted"), ("put(ctx, x, &mut y, !false);", PUT, "proved"),
    ("put(ctx, x, &mut y, !true);", PUT, "refuted"),
    ("match !(F < 3) { true => { ALL } false => {} }", "const F: usize = 5;", "proved"),
    (f"match 0 {{ {OS} 0 => {{ ALL }} _ => {{}} }}", "", "unknown"), (f"match 0 {{ {OS} 1 => {{}} 0 => {{ ALL }} _ => {{}} }}", "", "proved"),
    (f"match 0 {{ {OS} 0 => {{ ALL }} _ => {{ ALL }} }}", "", "proved"), (f"match n {{ {OS} 0 => {{}} _ => {{ ALL }} }}", "", "unknown"),
    (f"match 0 {{ {OFF} 0 => {{ ALL }} _ => {{}} }}", "", "proved"),
    (f"{'{' * 110} ALL {'}' * 110}", "", "unknown"), (f"{'{' * 20} ALL {'}' * 20}", "", "proved"),
]  # fmt: skip

WITHIN = [  # of 4: what holds, and what does not
    ("matches!(K, 4)", "matches!(K, 0..4)"), ("matches!(K, 0..=2 | 4)", "matches!(K, J | 5..)"), ("(0..=K).contains(&4)", "(0..K).contains(&4)"),
    ("(K..).contains(&4) && matches!(f(3, 1), 4)", "(..K).contains(&4)"), ("!(1..K - 1).contains(&3)", "matches!(-1i32, 0..=3)"),
]  # fmt: skip
GUARDS = [  # arms that write for 4, and arms that do not
    ("q if q > 3 => { ALL } _ => {}", "q if q > 4 => { ALL } _ => {}"), ("1..=4 if k == 3 => {} _ => { ALL }", "1..=4 if k == 4 => {} _ => { ALL }"),
    ("q @ 1..=4 if q == 4 => { ALL } _ => {}", "3 if k == 4 => { ALL } q if q < 4 => { ALL } _ => {}"),
]  # fmt: skip


@pytest.mark.parametrize(("yes", "no"), WITHIN)
def test_a_number_is_or_is_not_within_what_a_condition_names(yes: str, no: str) -> None:
    before = "const K: usize = 4; const J: usize = 3; const fn f(a: usize, b: usize) -> usize { a + b }"
    assert [status(f"if {one} {{ {ALL} }}", before=before) for one in (yes, no)] == ["proved", "refuted"]
    hidden = "macro_rules! matches { ($a:expr, $b:pat) => { true } }"
    assert status(f"if matches!(4, 5) {{ {ALL} }}", before=hidden) == "unknown"


@pytest.mark.parametrize(("yes", "no"), GUARDS)
def test_an_arm_with_a_guard_is_taken_where_the_guard_holds_of_the_number(yes: str, no: str) -> None:
    texts = [f"let k: usize = 4; match k {{ {one.replace('ALL', ALL)} }}" for one in (yes, no)]
    assert [status(one) for one in texts] == ["proved", "refuted"]


def test_a_guard_that_asks_of_a_part_of_what_is_matched_is_not_decided_by_another_variable() -> None:
    assert status(f"let a = 9; let t = (2, 3); match t {{ (a, 3) if a < 5 => {{ {ALL} }} _ => {{}} }}") == "unknown"
    assert status(f"let a = 9; let t = (2, 3); match t {{ (a, 3) if a > 5 => {{ {ALL} }} _ => {{}} }}") != "proved"


@pytest.mark.parametrize(("text", "before", "told"), CONDITIONS)
def test_a_condition_is_read_as_it_binds_and_whole(text: str, before: str, told: str) -> None:
    assert status(text.replace("ALL", ALL), before=before) == told


TRAITS = "struct S; trait A { const N: usize; } trait B { const N: usize; } impl A for S { const N: usize = 4; } impl B for S { const N: usize = 3; }"
SIZES = "struct Big; struct Small; struct Cfg<T>(T); impl Cfg<Big> { const N: usize = 4; } impl Cfg<Small> { const N: usize = 3; }"
TWO = "mod big {{ pub const N: usize = 4; pub const M: usize = 4; }} mod small {{ pub const N: usize = 3; }} {} use big::{}; {} use small::{};"
MAX = "const fn max(a: usize, b: usize) -> usize { a - b }"
OUTSIDE = "const M: usize = 4; struct Cfg<const M: usize>;"
DEFAULT = "struct S<const Q: usize>; trait Tr { const N: usize = 4; fn n() -> usize { 4 } } impl Tr for S<3> { const N: usize = 3; fn n() -> usize { 3 } }"
DEFAULT += " impl Tr for S<2> {} type Y = S<2>; type Z = S<3>;"
BESIDE = "struct S; trait Tr { const N: usize = 3; } trait Up { const N: usize; } impl Tr for S {} impl Up for S { const N: usize = 4; }"
NAMES = [
    ("(<S<2> as Tr>::N)", DEFAULT, "proved"), ("(<S<3> as Tr>::N)", DEFAULT, "refuted"), ("Y::N", DEFAULT, "proved"), ("Z::N", DEFAULT, "refuted"),
    ("S::<2>::N", DEFAULT, "proved"), ("S::<3>::N", DEFAULT, "refuted"), ("<S as Tr>::N", BESIDE, "refuted"), ("<S as Up>::N", BESIDE, "proved"),
    ("Y::N", "struct S<const Q: usize>; impl<const Q: usize> S<Q> { const N: usize = Q; } type Y = S<4>;", "proved"),
    ("<S as Tr>::N", "struct S; trait Tr { const N: usize; const M: usize = 2; } impl Tr for S { const N: usize = Self::M * 2; }", "proved"),
    ("N", "type Index = u8; const N: usize = 260usize as Index as usize;", "proved"), ("N", "type Index = u8; const N: usize = 259usize as Index as usize;", "refuted"),
    ("N", "type Index = u8; const N: usize = 260usize as Other as usize;", "unknown"),
    ("<S as A>::N", TRAITS, "proved"), ("<S as B>::N", TRAITS, "refuted"), ("S::N", TRAITS, "unknown"),
    ("S::N", TRAITS + " impl S { const N: usize = 4; }", "proved"), ("S::N", TRAITS + " impl S { const N: usize = 3; }", "refuted"),
    ("Cfg::<Small>::N", SIZES, "unknown"), ("Cfg::<Big>::N", SIZES.split(" impl Cfg<Small>")[0], "proved"),
    ("S::N", f"struct S; impl S {{ {ON} const N: usize = 3; {OFF} const N: usize = 4; }}", "proved"),
    ("S::N", f"struct S; impl S {{ {ON} const N: usize = 4; {OFF} const N: usize = 3; }}", "refuted"),
    ("S::N", f"struct S; {OS} impl S {{ const N: usize = 4; }} {NO_OS} impl S {{ const N: usize = 3; }}", "unknown"),
    ("S::N", f"struct S; {ON} impl S {{ const N: usize = 3; }} {OFF} impl S {{ const N: usize = 4; }}", "proved"),
    ("N", TWO.format(OS, "N", NO_OS, "N"), "unknown"), ("N", TWO.format(OFF, "N", ON, "N"), "proved"), ("N", TWO.format(ON, "N", OFF, "N"), "refuted"),
    ("N", TWO.format(OS, "*", NO_OS, "*"), "unknown"), ("M", TWO.format(OS, "*", NO_OS, "*"), "proved"), ("N", TWO.format(OS, "N", NO_OS, "N as K"), "proved"),
    ("N", f"mod big {{ pub const N: usize = 4; }} {OS} use big::N; {NO_OS} const N: usize = 3;", "unknown"),
    ("k::N", f"{OFF} mod k {{ pub const N: usize = 4; }} {ON} mod k {{ pub const N: usize = 3; }}", "proved"),
    ("k::N", f"{OS} mod k {{ pub const N: usize = 4; }} {NO_OS} mod k {{ pub const N: usize = 3; }}", "unknown"),
    ("E::SIZE", f"{OS} axes![E = 4]; {NO_OS} axes![E = 3];", "unknown"), ("E::SIZE", "axes![E = 4];", "proved"),
    ("N", "static N: usize = 4;", "proved"), ("N", "static mut N: usize = 4; fn set() { unsafe { N = 3; } }", "unknown"),
    ("max(8, 4)", MAX, "proved"), ("max(4, 1)", MAX, "refuted"), ("max(4, 1)", "use std::cmp::max;", "proved"), ("max(4, 1)", "use core::cmp::*;", "proved"),
    ("max(4, 1)", "use elsewhere::max;", "unknown"), ("elsewhere::max(4, 1)", "", "unknown"), ("std::cmp::max(4, 1)", "", "proved"), ("usize::max(4, 1)", "", "proved"),
    ("f()", "const fn f() -> usize { let mut r = 1; { r = 4; let r = 9; } r }", "proved"), ("f()", "const fn f() -> usize { let mut r = 1; { let r = 4; } r }", "refuted"),
    ("f()", "const fn f() -> usize { let mut r = 1; { r = 3; let r = 4; } r }", "refuted"),
    ("f(3)", "const fn f(a: i32) -> usize { if a.saturating_sub(5) < 0 { 4 } else { 0 } }", "proved"), ("f(3)", "const fn f(a: usize) -> usize { a.saturating_sub(5) + 4 }", "proved"),
    ("Cfg::<3>::N", OUTSIDE + " impl<const M: usize> Cfg<M> { const N: usize = M; }", "refuted"), ("Cfg::<3>::N", OUTSIDE + " impl<const Q: usize> Cfg<Q> { const N: usize = M; }", "proved"),
    ("<S as A>::N", "struct S; trait A { const N: usize; } const K: usize = 3; impl A for S { const N: usize = K + 1; }", "proved"),
    ("S::N", "struct S; impl S { const M: usize = 2; const N: usize = Self::M * 2; }", "proved"), ("S::N", "struct S; impl S { const M: usize = 2; const N: usize = Self::M + 1; }", "refuted"),
    ("S::N", "struct R; impl R { const M: usize = 4; } struct S; impl S { const M: usize = 3; const N: usize = Self::M; }", "refuted"), ("S::N", "struct S; impl S { const N: usize = Self::N; }", "unknown"),
    ("N", "const M: usize = 64; const N: usize = if M > 63 { M / 16 } else { 1 };", "proved"), ("N", "const N: usize = if 4 > 3 { 3 } else { 4 };", "refuted"),
    ("N", "const N: usize = { let a = 1; let a = a + 3; a };", "proved"), ("N", "const N: usize = { let mut a = 4; { let a = 7; } a -= 1; a };", "refuted"),
    ("min(4, 1)", "use std::cmp::max as min;", "unknown"), ("min(4, 9)", "use std::cmp::{max, min};", "proved"),
    ("size_of::<u32>()", "", "proved"), ("size_of::<u32>()", "fn size_of<T>() -> usize { 3 }", "refuted"), ("k::size_of::<u32>()", "mod k { pub fn size_of<T>() -> usize { 3 } }", "refuted"),
    ("N", "#[cfg_attr(all(), cfg(any()))] const N: usize = 4; #[cfg_attr(all(), cfg(all()))] const N: usize = 3;", "refuted"), ("N", "#[cfg_attr(all(), allow(unused))] const N: usize = 4;", "proved"),
    ("k::n!()", "mod k { macro_rules! n { () => { 4 } } pub(crate) use n; } macro_rules! n { () => { 3 } }", "proved"), ("n!()", "mod k { macro_rules! n { () => { 3 } } } macro_rules! n { () => { 4 } }", "proved"),
    ("n!()", "macro_rules! n { () => { 4 } } #[macro_use] mod k { macro_rules! n { () => { 3 } } }", "unknown"), ("n!()", "macro_rules! n { () => { 4 } } mod k { macro_rules! n { () => { 3 } } }", "proved"),
    ("((7 as f32 / 2 as f32 * 2 as f32) as usize - 3)", "", "unknown"), ("((7 as u32 / 2 as u32 * 2 as u32) as usize - 2)", "", "proved"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("use", "told"), [("cmp::max", "proved"), ("cmp::*", "proved"), ("cmp::min", "refuted"), ("cmp", "refuted")]
)
def test_what_a_block_imports_goes_before_what_stands_around_it(use: str, told: str) -> None:
    assert status(f"use std::{use}; {columns('max(4, 3)')}", before=MAX) == told


def test_an_item_that_a_macro_hands_on_hides_that_around_the_block() -> None:
    before = "const N: usize = 4; macro_rules! as_is { ($($t:tt)*) => { $($t)* } }"
    assert status(f"as_is! {{ const N: usize = 3; }} {columns('N')}", before=before) == "unknown"
    assert status(f"as_is! {{ const M: usize = 3; }} {columns('N')}", before=before) == "proved"


@pytest.mark.parametrize(("name", "before", "told"), NAMES)
def test_a_name_is_what_the_compiler_makes_of_it_or_not_known(name: str, before: str, told: str) -> None:
    assert status(columns(name), before=before) == told


@pytest.mark.parametrize(("of", "asked", "before", "told"), [
    ("S<2>", "P::N", DEFAULT, "proved"), ("S<3>", "P::N", DEFAULT, "refuted"), ("S<2>", "P::n()", DEFAULT, "proved"),
    ("S<3>", "P::n()", DEFAULT, "refuted"), ("Z", "P::N", DEFAULT, "refuted"), ("S", "P::N", BESIDE, "unknown"),
    ("S", "P::N", "struct S; impl S { const N: usize = 4; } trait Tr { const N: usize; } impl Tr for S { const N: usize = 3; }", "refuted"),
    ("S", "P::N", BESIDE.replace("trait Tr { const N: usize = 3; }", "use elsewhere::Tr;"), "unknown"),
    ("S", "P::N", "struct S; trait Tr { const N: usize; } mod k { impl super::Tr for super::S { const N: usize = 4; } }", "proved"),
])  # fmt: skip
def test_a_parameter_has_what_its_impl_or_the_default_of_its_trait_gives(
    of: str, asked: str, before: str, told: str
) -> None:
    put = f"fn put<P: Tr>(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}) {{ {columns(asked)} }}"
    assert status(f"put::<{of}>(ctx, x, &mut y);", before=before + put) == told


RUN = f"fn run({{}} ctx: &mut Context, x: &{HBM}, y: &mut {HBM}) {{{{ {columns('{}').replace('{', '{{').replace('}', '}}').replace('{{}}', '{}')} }}}}"


@pytest.mark.parametrize(("made", "own", "parameter", "count", "told"), [
    ("Cfg::<4>::run(", "", "M", "M", "proved"), ("Cfg::<3>::run(", "", "M", "M", "refuted"), ("Cfg::<3>::run(", "", "Q", "M", "proved"),
    ("Cfg::<3>::run(", "", "Q", "Q", "refuted"), ("let k: Cfg<3> = Cfg; k.run(", "&self,", "M", "M", "unknown"),
])  # fmt: skip
def test_in_an_impl_its_own_parameters_go_before_constants_outside(
    made: str, own: str, parameter: str, count: str, told: str
) -> None:
    body = f"impl<const {parameter}: usize> Cfg<{parameter}> {{ {RUN.format(own, count)} }}"
    found = status(f"{made}ctx, x, &mut y);", before=f"{OUTSIDE} {body}")
    assert found == told


@pytest.mark.parametrize(("head", "count", "told"), [
    ("impl<const M: usize> Cfg<M>", "M", "unknown"), ("impl<const Q: usize> Cfg<Q>", "M", "proved"), ("impl Cfg<3>", "M", "proved"),
    ("trait Fill<const M: usize>", "M", "unknown"), ("impl<K: AxisName> Of<K>", "K::SIZE", "unknown"), ("impl<J: AxisName> Of<J>", "K::SIZE", "proved"),
])  # fmt: skip
def test_a_function_of_an_impl_that_nobody_calls_has_no_number_for_its_parameters(
    head: str, count: str, told: str
) -> None:
    lines = f"let mut y = {HBM.replace('Tensor<', 'Tensor::<')}::new(); {columns(count)} y"
    kernel = f"#[device(chip = 1)] fn f(ctx: &mut Context, x: &{HBM}) -> {HBM} {{ {lines} }}"
    found = {v.status.value for v in verdicts(plan(f"{OUTSIDE} struct Of<K>(K); axes![K = 4]; {head} {{ {kernel} }}"))}
    assert ("unknown" if "unknown" in found else found.pop()) == told


FIELDS = "struct P {{ {} a: HbmTensor<i8, Chip, m![A, B]>, {} a: HbmTensor<i8, Chip, m![B, A]> }}"
ONE = "struct P {{ {} a: HbmTensor<i8, Chip, m![A, B]> }}"
PLACED = "struct P({} HbmTensor<i8, Chip, m![A, B]>, {} HbmTensor<i8, Chip, m![B, A]>);"


@pytest.mark.parametrize(
    ("before", "field", "told"),
    [
        (FIELDS.format(OFF, ON), "a", "proved"), (FIELDS.format(ON, OFF), "a", "refuted"), (FIELDS.format(OS, NO_OS), "a", "unknown"),
        (ONE.format(""), "a", "proved"), (ONE.format(OS), "a", "proved"), (PLACED.format(OFF, ON), "0", "proved"),
        (PLACED.format(ON, OFF), "0", "refuted"), (PLACED.format(OS, NO_OS), "0", "unknown"),
    ],
)  # fmt: skip
def test_a_field_has_the_type_that_the_build_gives_it(before: str, field: str, told: str) -> None:
    move = f"let d: DmTensor<i8, Chip, Cluster, m![A], m![B]> = p.{field}.to_dm(&mut ctx.tdma);"
    made = verdicts(plan(f"{before}\n#[device(chip = 1)]\nfn f(ctx: &mut Context, p: &P) {{ {move} }}"))
    assert [v.status.value for v in made] == [told]


VIEW = "x.view().tile::<m![B], 16, m![A, B = 16 # 64]>(0)"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (f"if n > 4 {{ {VIEW} }} else {{ elsewhere::pick(x) }}", "unknown"), (f"if n > 4 {{ {VIEW} }} else {{ return; }}", "proved"),
        (f"if n > 4 {{ {VIEW} }} else {{ {VIEW} }}", "proved"), (f"match n {{ 0 => {VIEW}, _ => unreachable!() }}", "proved"),
        (f"match n {{ 0 => {VIEW}, 1 => elsewhere::pick(x), _ => unreachable!() }}", "unknown"), (f"match n {{ 0 => return, _ => {VIEW} }}", "proved"),
        (f"match n {{ 0 => std::process::exit(1), _ => {VIEW} }}", "proved"), (f"match n {{ 0 => elsewhere::exit(1), _ => {VIEW} }}", "unknown"),
        (f"(if n > 4 {{ Some({VIEW}) }} else {{ None }}).unwrap()", "proved"), (f"(if n > 4 {{ Ok({VIEW}) }} else {{ Err(3) }}).unwrap()", "proved"),
        (f"elsewhere::Odd::from({VIEW})", "unknown"), (f"Odd::new({VIEW})", "unknown"), (f"elsewhere::Some({VIEW})", "unknown"), (f"Box::new({VIEW})", "proved"),
        (f"std::sync::Arc::new({VIEW})", "proved"), (f"Some({VIEW}).unwrap()", "proved"), (f"Option::Some({VIEW}).unwrap()", "proved"),
    ],
)  # fmt: skip
def test_a_value_that_is_not_followed_is_no_tensor_that_stands_beside_it(value: str, told: str) -> None:
    body = f"let v = {value}; let d: DmTensor<i8, Chip, Cluster, m![A], m![B = 16]> = v.to_dm(&mut ctx.tdma);"
    made = verdicts(plan(f"#[device(chip = 1)]\nfn f(ctx: &mut Context, x: &{HBM}, n: usize) {{ {body} }}"))
    assert [v.status.value for v in made] == [told]


PUSHED = tile("16 * i").removesuffix(";")
FUTURES = [
    f"let mut v = Vec::new(); for i in 0..4 {{ v.push({PUSHED}); }}", f"let mut v: Vec<Fut> = vec![]; for i in 0..4 {{ v.push({PUSHED}); }}",
    f"for i in 0..4 {{ x.notes({PUSHED}); }}", f"let v = vec![1, 2]; for i in 0..4 {{ v.iter().zip({PUSHED}); }}",
]  # fmt: skip


@pytest.mark.parametrize("text", FUTURES)
@pytest.mark.parametrize(("last", "told"), [("4", "proved"), ("3", "refuted")])
def test_what_stands_among_the_arguments_of_a_method_is_done_once(text: str, last: str, told: str) -> None:
    found = verdicts(plan(_kernel(text.replace("0..4", f"0..{last}"))))
    assert {v.status.value for v in found} == {told}
    assert not [f for v in found for f in v.findings if f.rule == "core/tiles-once"]


def _kernel(text: str) -> str:
    new = HBM.replace("Tensor<", "Tensor::<")
    return (
        f"#[device(chip = 1)]\nfn f(ctx: &mut Context, x: &{HBM}) -> {HBM} {{ let mut y = {new}::new();\n{text}\ny }}"
    )


def test_two_conditions_of_one_text_are_told_apart() -> None:
    text = f"if n > 4 {{}} else {{ {ALL} }} let n = m; if n > 4 {{ {ALL} }}"
    made = verdicts(plan(_kernel(text).replace(f"x: &{HBM}", f"x: &{HBM}, n: usize, m: usize")))
    (found,) = [f.message for v in made for f in v.findings if f.rule == "core/definite"]
    assert "in line" in found


RENAMED = [  # what gives the name of a type of numbers to another one, and what does not
    "type u8 = u16;", "type r#u8 = u16;", "mod q { pub type u8 = u16; } use q::*;", "use std::primitive::u16 as u8;", "use i32 as u8;",
    "mod q { pub struct W; } use q::W as u8;", "macro_rules! al { ($a:ident) => { type $a = u16; } } al!(u8);", "fn h<u8>(a: u8) {}",
    "mod q { pub type u8 = u16; pub const N: usize = u8::MAX as usize; }", "fn h() { enum u8 {} }", "struct u8; trait i8 {}",
]  # fmt: skip
KEPT = [
    "use std::u8;",
    "use core::primitive::{u8, bool};",
    "mod u8 { pub const N: usize = 3; }",
    '// type u8 = u16;\nconst T: &str = "type u8 = u16";',
    "fn h<T: Into<u8>, const N: u8>(a: T) {}",
]


@pytest.mark.parametrize(
    "asked",
    ["u8::MAX as usize == 255", "(300usize as u8) as usize == 44", "std::mem::size_of::<u8>() == 1", "<u8>::BITS == 8"],
)
def test_a_number_of_a_type_that_the_crate_names_anew_is_not_known(asked: str) -> None:
    text = f"if {asked} {{ {ALL} }}"
    assert {status(text, "", before) for before in RENAMED} == {status(f"type u8 = u16; {text}")} == {"unknown"}
    assert {status(text, "", before) for before in KEPT} == {"proved"}


@pytest.mark.parametrize(("lines", "told"), [
    ("let m = 4; let r#m = 3; EACH", "refuted"), ("let m = 3; let r#m = 4; EACH", "proved"), ("let m = 4; { let r#m = 3; } EACH", "proved"),
    ("let mut m = 4; r#m = 3; EACH", "refuted"), ("macro_rules! q { ($a:ident) => { let $a = 3; } } let m = 4; q!(r#m); EACH", "refuted"),
    ("let r#type = 4; let m = r#type; EACH", "proved"), ("let m = 4; let s = r#\"let m = 3;\"#; EACH", "proved"),
])  # fmt: skip
def test_a_raw_name_is_the_name(lines: str, told: str) -> None:
    assert status(lines.replace("EACH", columns("m"))) == told


GIVES_LAST = [
    "fn g<X: Copy>(a: X, b: X) -> X { b }", "fn g<X: Copy>(a: X, b: X) -> X { h(a, b) } fn h<X, Y>(a: Y, b: X) -> X { b }",
    "struct P<X> { a: X, b: X } impl<X: Copy> P<X> { fn l(&self) -> X { self.b } } fn g<X: Copy>(a: X, b: X) -> X { P { a, b }.l() }",
]  # fmt: skip


@pytest.mark.parametrize("given", GIVES_LAST)
def test_a_type_that_an_argument_tells_is_none_of_the_others_values(given: str) -> None:
    for call, told in (
        ("g(4, u)", "unknown"),
        ("g(4usize, u)", "unknown"),
        ("g(3usize, 4)", "proved"),
        ("g(4, 3)", "refuted"),
    ):
        lines = f"let u = 'b: {{ if true {{ break 'b 3usize; }} 4 }}; let m: usize = {call}; {columns('m')}"
        assert status(lines, "", given) == told, call


OF_BYTES = "type R = Option<u16>; type P = u16; struct S<X>(X); impl<X> S<X> { const N: usize = size_of::<X>(); fn m(&self) -> usize { size_of::<X>() } } use std::mem::size_of;"


@pytest.mark.parametrize("bytes_of", [
    "size_of::<Option<u16>>()", "size_of::<&u16>()", "size_of::<Box<u16>>()", "size_of::<*const u16>()", "size_of::<R>()", "S::<R>::N", "S(Some(3u16)).m()", "S(&3u16).m()",
])  # fmt: skip
def test_what_holds_a_number_has_another_size_than_the_number(bytes_of: str) -> None:
    for size in (2, 4, 8):
        assert status(f"if {bytes_of} == {size} {{ {ALL} }}", "", OF_BYTES) == "unknown"
    assert status(f"if size_of::<P>() == 2 && S::<P>::N == 2 {{ {ALL} }}", "", OF_BYTES) == "proved"
    assert status(f"if size_of::<u16>() == 4 {{ {ALL} }}", "", OF_BYTES) == "refuted"
