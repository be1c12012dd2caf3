"""Tile starts that constants, functions, closures and methods give: as rustc runs them, each with a neighbour that is
wrong.
"""

# ruff: noqa: E501  (kernels)

import pytest
from kernels import status, tile

K = "const K: [usize; 4] = [48, 16, 0, 32];"


def loop(start: str, turns: str = "0..4", before: str = "") -> str:
    return f"{before} for i in {turns} {{ {tile(start)} }}"


ALL = loop("16 * i")
TABLES = [
    (loop("K[3 - i]", "0..4"), K, "proved"), (loop("K[3 - i]", "0..5"), K, "unknown"), (loop("K[P[i]]", "0..5"), K + "const P: [usize; 4] = [3, 1, 0, 2];", "refuted"),
    (f"let v = [5u8]; match !v[0] {{ 250 => {{ {ALL} }} _ => {{}} }}", "", "proved"), (f"let v = [5u8]; match !v[0] {{ 5 => {{ {ALL} }} _ => {{}} }}", "", "refuted"),
    (f"let v = [5i32]; match -v[0] {{ -5 => {{ {ALL} }} _ => {{}} }}", "", "proved"), (f"let v = [5]; match !v[0] {{ 5 => {{ {ALL} }} _ => {{}} }}", "", "not proved"),
    (loop("i * W[1]"), "const W: [usize; 2] = [8, 16];", "proved"), (loop("i * W[0]"), "const W: [usize; 2] = [8, 16];", "refuted"),
    (loop("i * W[1]"), "static W: [usize; 2] = [8, 16];", "proved"), (loop("i * unsafe { W[1] }"), "static mut W: [usize; 2] = [8, 16];", "not proved"),
    (loop("K[i] + K[2]"), K, "proved"), (loop("K[i] + K[1]"), K, "refuted"), (loop("K[P[i]]"), K + "const P: [usize; 4] = [3, 1, 0, 2];", "proved"),
    (loop("K[P[i]]"), K + "const P: [usize; 4] = [3, 1, 0, 1];", "refuted"), (loop("W[i / 2][i % 2]"), "const W: [[usize; 2]; 2] = [[48, 16], [0, 32]];", "proved"),
    (loop("W.0[i] * W.1"), "const W: ([usize; 4], usize) = ([3, 1, 0, 2], 16);", "proved"), (loop("W.0[i] * W.1"), "const W: ([usize; 4], usize) = ([3, 1, 0, 2], 8);", "refuted"),
    (loop("i * G.wide"), "struct Grid { wide: usize } const G: Grid = Grid { wide: 16 };", "proved"), (loop("i * G.wide"), "struct Grid { wide: usize } const G: Grid = Grid { wide: 17 };", "refuted"),
    (loop("k[i]", before="let k = &K[1..];"), "const K: [usize; 5] = [7, 48, 16, 0, 32];", "proved"), (loop("k[i]", before="let k = &K[..4];"), "const K: [usize; 5] = [7, 48, 16, 0, 32];", "refuted"),
    (loop("K[i]", "0..K.len()"), K, "proved"), (loop("K[i]", "1..K.len()"), K, "refuted"), (loop("16 * i", "0..v.len()", "let mut v = vec![0, 1, 2]; v.push(3);"), "", "not proved"),
    (loop("i * w", before="let w: usize = K.iter().sum();"), "const K: [usize; 2] = [9, 7];", "proved"), (loop("i * w", before="let w = *K.iter().max().unwrap();"), "const K: [usize; 2] = [16, 7];", "proved"),
    (loop("i * w", before="let w: usize = K.iter().skip(1).sum();"), "const K: [usize; 2] = [9, 7];", "refuted"), (loop("i * w as usize", before="let w: u8 = K.iter().sum();"), "const K: [u8; 2] = [200, 72];", "not proved"),
]  # fmt: skip
FUNCTIONS = [
    (loop("at(i)"), "const fn at(i: usize) -> usize { i * 16 }", "proved"), (loop("at(i)"), "const fn at(i: usize) -> usize { i * 8 }", "refuted"),
    (loop("at(i)"), "fn at(i: usize) -> usize { if i > 2 { return 48; } i * 16 }", "proved"), (loop("at(i)"), "fn at(i: usize) -> usize { if i > 1 { return 48; } i * 16 }", "refuted"),
    (loop("at(i)"), "fn at(i: usize) -> usize { match i { 0 => 0, 1 => 16, _ => i * 16 } }", "proved"), (loop("at(i)"), "fn at(mut i: usize) -> usize { i += 1; i * 16 - 16 }", "proved"),
    (loop("at(i)"), "fn at(i: usize) -> usize { let mut s = 0; let mut k = i; while k > 0 { s += 16; k -= 1; } s }", "proved"),
    (loop("at(i)"), "fn at(i: usize) -> usize { let mut s = 0; let mut k = i; while k > 1 { s += 16; k -= 1; } s }", "refuted"),
    (loop("at::<4>(i) * 4"), "fn at<const R: usize>(i: usize) -> usize { i * R }", "proved"), (loop("at::<3>(i) * 4"), "fn at<const R: usize>(i: usize) -> usize { i * R }", "refuted"),
    (loop("at(i) as usize"), "fn at(i: usize) -> u8 { (i * 16) as u8 }", "proved"), (loop("at(i as u8 * 80) as usize"), "fn at(i: u8) -> u8 { i % 64 }", "proved"),
    (loop("at(i as u8 * 90) as usize"), "fn at(i: u8) -> u8 { i % 64 }", "not proved"), (f"fn at(i: usize) -> usize {{ i * 16 }} {loop('at(i)')}", "fn at(i: usize) -> usize { i * 8 }", "proved"),
    (loop("S::at(i)"), "struct S; impl S { fn at(i: usize) -> usize { i * 16 } }", "proved"), (loop("s.at(i)", before="let s = S { w: 16 };"), "struct S { w: usize } impl S { fn at(&self, i: usize) -> usize { i * self.w } }", "proved"),
    (loop("s.at(i)", before="let s = S::new();"), "struct S { w: usize } impl S { fn new() -> Self { Self { w: 16 } } fn at(&self, i: usize) -> usize { i * self.w } }", "proved"),
    (loop("s.at(i)", before="let s = S::new();"), "struct S { w: usize } impl S { fn new() -> Self { Self { w: 8 } } fn at(&self, i: usize) -> usize { i * self.w } }", "refuted"),
    (loop("s.at(i)", before="let mut s = S { w: 16 }; s.halve();"), "struct S { w: usize } impl S { fn halve(&mut self) { self.w /= 2; } fn at(&self, i: usize) -> usize { i * self.w } }", "not proved"),
    (loop("i * w", before="let mut w = 16; halve(&mut w);"), "fn halve(w: &mut usize) -> usize { *w /= 2; *w }", "not proved"), (loop("(|v: usize| v * 16)(i)"), "", "proved"),
    (loop("(|v: usize| v * 8)(i)"), "", "refuted"), (loop("at(i).0 + at(i).1"), "fn at(i: usize) -> (usize, usize) { (i / 2 * 32, i % 2 * 16) }", "proved"),
    (f"for i in 0..4usize {{ let s = match i {{ 0 => 0, k => k * 16 }}; {tile('s')} }}", "fn k() {}", "proved"),
    (f"for i in 0..4usize {{ let s = match i {{ 0 => 16, k => k * 16 }}; {tile('s')} }}", "fn k() {}", "refuted"),
    (loop("at(i)"), "unsafe fn at(i: usize) -> usize { static mut N: usize = 16; N += 16; N - 32 + 0 * i }", "not proved"),
]  # fmt: skip
METHODS = [
    (loop("(i * 3) % 4 * 16"), "proved"), (loop("(3 * i + 2) % 4 * 16"), "proved"), (loop("(i * 2) % 4 * 16"), "refuted"), (loop("(4 - i) % 4 * 16"), "proved"),
    (loop("(i * 16).min(48)"), "proved"), (loop("(i * 16).min(32)"), "refuted"), (loop("(i * 16).max(16) - 16", "1..5"), "proved"), (loop("(i * 16).max(16)", "0..4"), "refuted"),
    (loop("(i * 16).clamp(0, 48)"), "proved"), (loop("(i * 16).clamp(16, 48)"), "refuted"), (loop("std::cmp::min(i * 16, 48)"), "proved"), (loop("i.abs_diff(3) * 16"), "proved"),
    (loop("(i + 1).rem_euclid(4) * 16"), "proved"), (loop("(i + 1).rem_euclid(3) * 16"), "refuted"), (loop("i.saturating_sub(1) * 16", "1..5"), "proved"), (loop("i.saturating_sub(1) * 16", "0..4"), "refuted"),
    (loop("i.checked_mul(16).unwrap()"), "proved"), (loop("i << 16usize.ilog2()"), "proved"), (loop("i << 8u8.trailing_zeros()"), "refuted"), (loop("i * 256usize.isqrt()"), "proved"),
    (loop("i * 16u8.count_ones() as usize * 16"), "proved"), (loop("i << (u32::BITS - 27u32.leading_zeros() - 1)"), "proved"), (loop("i << (u32::BITS - 7u32.leading_zeros())"), "refuted"),
    (f"for i in 0..2 {{ for j in 0..2 {{ let s = match (i, j) {{ (0, 0) => 0, (0, 1) => 16, (1, 0) => 32, _ => 48 }}; {tile('s')} }} }}", "proved"),
    (f"for i in 0..2 {{ for j in 0..2 {{ let s = match (i, j) {{ (0, _) => 0, (_, 1) => 16, (1, 0) => 32, _ => 48 }}; {tile('s')} }} }}", "refuted"),
    (f"const a: usize = 2; for i in 0..4usize {{ let s = match i {{ a => 32, k => k * 16 }}; {tile('s')} }}", "proved"),
    (f"const a: usize = 2; for i in 0..4usize {{ let s = match i {{ a => 0, k => k * 16 }}; {tile('s')} }}", "refuted"),
]  # fmt: skip

LEFT = [
    (f"let mut s = 0; for i in 0..4 {{ {tile('s')} if i == 1 {{ continue; }} s += 16; }}", "refuted"),
    (f"let mut s = 0; for i in 0..5 {{ if i == 0 {{ continue; }} {tile('s')} s += 16; }}", "proved"),
    (f"let mut s = 0; let mut i = 0; while i < 4 {{ {tile('s')} i += 1; if i == 2 {{ continue; }} s += 16; }}", "refuted"),
    (f"let mut s = 0; let mut i = 0; while i < 5 {{ i += 1; if i == 2 {{ continue; }} {tile('s')} s += 16; }}", "proved"),
    (f"let mut s = 0; 'turn: for i in 0..4 {{ {tile('s')} for j in 0..1 {{ if i == 1 {{ continue 'turn; }} }} s += 16; }}", "refuted"),
    (f"let mut s = 0; for i in 0..4 {{ {tile('s')} if n > 3 {{ continue; }} s += 16; }}", "not proved"),
]  # fmt: skip


def agrees(found: str, told: str) -> bool:
    return found == told or (told == "not proved" and found in ("refuted", "unknown", "given"))


@pytest.mark.parametrize(("lines", "before", "told"), TABLES)
def test_a_number_of_a_constant_table_is_the_one_that_stands_there(lines: str, before: str, told: str) -> None:
    assert agrees(status(lines, before=before), told)


@pytest.mark.parametrize(("lines", "before", "told"), FUNCTIONS)
def test_a_function_of_numbers_gives_what_it_gives_when_it_is_run(lines: str, before: str, told: str) -> None:
    assert agrees(status(lines, before=before), told)


@pytest.mark.parametrize(("lines", "told"), METHODS)
def test_a_method_of_an_integer_and_an_arm_of_a_tuple_are_those_of_each_turn(lines: str, told: str) -> None:
    assert agrees(status(lines), told)


@pytest.mark.parametrize(("lines", "told"), LEFT)
def test_a_number_stays_in_a_turn_that_is_left_before_it_changes(lines: str, told: str) -> None:
    assert agrees(status(lines), told)
