"""What stops a run in code that is not read, and in lists of what may be nothing, is a condition; what cannot stop one is
none. Each pair was run by rustc: the first of both stops every run, the second none.
"""

# ruff: noqa: E501  (kernels)

import pytest
from test_decisions import BOOL, HBM, judged
from test_every_way import ALL

OF_TRAIT = "trait K {{ fn go(&self) -> u8 {{ {} }} }} impl K for u8 {{}} struct Q(u8);"
UNREAD = {  # items, statements; what stands for {} in them: a stop, and what is none
    ("fn g<T>(v: Option<T>) -> T {{ v.unwrap() }}", "let z: u8 = g({});"): ("None", "Some(1)"),
    ("fn g<T>(v: Option<T>) -> T {{ h(v) }} fn h<T>(v: Option<T>) -> T {{ v.expect(\"\") }}", "let z: u8 = g({});"): ("None", "Some(1)"),
    ("fn g<T: Copy, const N: usize>(v: [T; N], i: usize) -> T {{ v[i] }}", "let z = g([1u8, 2], {});"): ("2", "1"),
    ("fn g<T>(v: T) -> T {{ {} v }}", "let z = g(Default::default()); let a: u8 = z;"): ("unreachable!();", ""),
    (OF_TRAIT, "let z = 3u8.go();"): ("panic!()", "3"), (OF_TRAIT, "let z = K::go(&3u8);"): ("[1, 2][std::hint::black_box(2)]", "3"),
    (OF_TRAIT + " fn g<T: K>(t: T) -> u8 {{ t.go() }}", "let z = g(3u8);"): ("3 / std::hint::black_box(0)", "3"),
    ("fn p() -> u8 {{ {} }}", "let f = p; let z = f();"): ("panic!()", "3"), ("fn p() -> u8 {{ {} }}", "let f = [p]; let z = f[0]();"): ("todo!()", "3"),
    ("fn q() -> u8 {{ p() }} fn p() -> u8 {{ {} }} fn g(f: fn() -> u8) -> u8 {{ f() }}", "let z = g(q);"): ("None.unwrap()", "3"),
    ("fn p() -> u8 {{ {} }} const F: fn() -> u8 = p;", "let z = F();"): ("panic!()", "3"), ("const F: fn() -> u8 = || {};", "let z = F();"): ("panic!()", "3"),
    ("fn again() {{ {} }}", "again();"): ("again();", ""),
    ("struct Q; impl Drop for Q {{ fn drop(&mut self) {{ {} }} }}", "let d = Q;"): ("panic!();", ""),
    ("struct Q(u8); impl std::ops::Add for Q {{ type Output = u8; fn add(self, o: Q) -> u8 {{ {} }} }}", "let d = Q(1) + Q(2);"): ("panic!()", "3"),
    ("#[derive(Default)] struct E {{ d: Q }} struct Q; impl Default for Q {{ fn default() -> Q {{ {} Q }} }}", "let e = E::default();"): ("panic!();", ""),
    ("static L: std::sync::LazyLock<u8> = std::sync::LazyLock::new(|| {});", "let z = *L;"): ("panic!()", "3"),
    ("const T: [Option<u8>; 2] = [Some(3), {}];", "let z = T[1].unwrap();"): ("None", None), ("const T: [Option<u8>; 2] = [{}; 2];", "let z = T[1].unwrap();"): ("None", None),
    ("const T: &[Option<u8>] = &[Some(2), {}];", "for t in T {{ t.unwrap(); }}"): ("None", None),
    ("struct P {{ o: Option<u8> }} impl P {{ const T: P = P {{ o: {} }}; }}", "let z = P::T.o.expect(\"\");"): ("None", None),
    ("fn g(v: Option<u8>) -> u8 {{ v.unwrap() }} const T: (Option<u8>, u8) = ({}, 1);", "let v = T.0; let z = g(v);"): ("None", None),
    ("enum E {{ A(Option<u8>), B }} const T: E = E::A({});", "match T {{ E::A(o) => {{ o.unwrap(); }} E::B => {{}} }}"): ("None", None),
    ("", "let t = [Some(3), {}]; for z in t {{ z.unwrap(); }}"): ("None", "Some(4)"), ("", "let t = [Some(3u8), {}]; let z = t[1].unwrap();"): ("None", "Some(4)"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "holes"), UNREAD.items())
def test_what_may_stop_in_code_that_is_not_read_is_a_condition(
    text: tuple[str, str], holes: tuple[str, str | None]
) -> None:
    before, lines = text
    for hole, told in zip(holes, (("given", "unknown"), ("proved",)), strict=True):
        if hole is not None:
            assert judged(f"{lines.format(hole)} {ALL}", BOOL, before.format(hole)) in told, hole


def test_a_trait_stops_only_kernels_that_name_its_type() -> None:
    before = f"struct Q; impl Drop for Q {{ fn drop(&mut self) {{ panic!(); }} }} struct E(Q); fn e(d: Option<E>) {{}} fn k(x: &{HBM}) {{}}"
    assert judged(f"k(x); {ALL}", BOOL, before) == "proved"
    assert judged(f"e(None); {ALL}", BOOL, before) == "given"


def test_a_list_that_is_read_says_of_each_element_whether_it_is_something() -> None:
    assert judged(f"let t = (Some(3u8), None::<u8>); t.0.unwrap(); {ALL}", BOOL) == "proved"
    assert judged(f"let t = [Some(3u8), None]; t[0].unwrap(); {ALL}", BOOL) == "proved"


BROKEN = "let u = 'b: { if true { break 'b %d; } 1 };"


@pytest.mark.parametrize(
    "at",
    [
        "let k = [1, 2, 3][u];",
        "let z = vec![1, 2]; let k = z[u];",
        "let mut z = [1, 2]; z[u] = 3;",
        "let k = T[u];",
        "let z = [[1]; 9]; let k = z[0][u];",
    ],
)
def test_that_a_list_has_an_element_at_a_place_that_is_not_followed_is_a_condition(at: str) -> None:
    assert judged(f"{BROKEN % 7} {at} {ALL}", BOOL, "const T: [u8; 2] = [1, 2];") == "given"


@pytest.mark.parametrize(("lines", "told"), [
    ("let v = v.len(); let z = 76 % v;", "given"), ("let k: f64 = 3.0; let k = v.len(); let z = 76 / k;", "given"), ("let z = 76 / (v.len() as Idx);", "given"),
    ("let k = v.len() as f64; let z = 76.0 / k;", "proved"), ("let k: usize = 3; let k = v.len() as f32; let z = 7.0 / k;", "proved"),
])  # fmt: skip
def test_a_divisor_may_be_zero_whatever_else_has_had_its_name(lines: str, told: str) -> None:
    v = "let v: Vec<u32> = (4u32..4).collect();"
    assert judged(f"{v} {lines} {ALL}", BOOL, "type Idx = usize;") == told
