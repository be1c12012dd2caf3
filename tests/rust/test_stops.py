"""Where a run ends before its end: nothing behind it runs, and a kernel of which every run ends so is not proved.

Each stop is both sides of its edge: beside it stands what does not stop, or only some runs.
"""

# ruff: noqa: E501  (kernels)

import pytest
from kernels import plan, tile, verdicts
from test_decisions import BOOL, HBM, SIZE, judged
from test_every_way import ALL, kernel

BEFORE = f"""use std::process;
fn stop(c: bool) {{ if !c {{ unreachable!(); }} }}
fn never() -> ! {{ foreign::never() }}
fn halt() {{ panic!() }}
fn below(n: usize) {{ assert!(n < 8); }}
fn within(n: usize) {{ below(n + 1); }}
fn put(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}) -> bool {{ {ALL} true }}
"""

STOPS = {  # what stops every run, and what does not, though it looks like it
    "panic!();": "", "if c { panic!(); } else { todo!(); }": "if c { panic!(); }",
    "if c { panic!(); } stop(c);": "stop(c);", "unreachable!(\"{}\", 1);": "if 1 > 2 { unreachable!(); }",
    "std::process::exit(1);": "process::id();", "process::abort();": "let e = process::exit;",
    "assert!(1 > 2);": "assert!(2 > 1 || 3 > 4);", "assert_eq!(1 | 2, 1 & 3);": "assert_eq!(1 | 2, 3);",
    "assert_ne!(2 - 1, 1, \"a, b\");": "assert_ne!(2, 1 - 1);", "assert!(false, \"a || true\");": "assert!(true, \"{}\", false);",
    "let a = 0usize; let b = 4 / a;": "let a = 2usize; let b = 0 / a;", "let b = 4 % 0;": "let b = 0 % 4;",
    "let mut a = 3; a /= 0;": "let mut a = 3; a /= 1;", "let a = i8::MIN; let b = a / -1;": "let a = i8::MIN; let b = a / 1;",
    "let a = 7usize.div_ceil(0);": "let a = 0usize.div_ceil(7);", "let a = 0u8; let b = a.ilog2();": "let a = 1u8; let b = a.ilog2();",
    "let t = [1usize, 2]; let k = t[2];": "let t = [1usize, 2]; let k = t[1];", "let t = [0usize; 9]; let k = t[9];": "let t = [0usize; 9]; let k = t[8];",
    "let t = [1, 2, 3]; let k = &t[2..4];": "let t = [1, 2, 3]; let k = &t[2..3];", "let t = [1, 2, 3]; let k = &t[..=3];": "let t = [1, 2, 3]; let k = &t[..=2];",
    "let t = [1, 2, 3]; let k = &t[4..];": "let t = [1, 2, 3]; let k = &t[3..];", "let t = [1, 2, 3]; let k = &t[2..1];": "let t = [1, 2, 3]; let k = &t[2..=1];",
    "let t = [1, 2]; let k = t.get(2).unwrap();": "let t = [1, 2]; let k = t.get(2).unwrap_or(&3);",
    "let t = [1, 2]; for k in t.chunks(0) {}": "let t = [1, 2]; for k in t.chunks(3) {}",
    "let t = [1, 2]; for k in t.iter().step_by(0) {}": "let t = [1, 2]; for k in t.iter().step_by(3) {}",
    "let v: Option<usize> = None; let k = v.unwrap();": "let v: Option<usize> = None; let k = v.unwrap_or(1);",
    "let v: Option<u8> = if true { None } else { Some(1) }; v.unwrap();": "let v: Option<u8> = if true { Some(1) } else { None }; v.unwrap();",
    "let v: (Option<u8>, u8) = (None, 1); v.0.unwrap();": "let v: (Option<u8>, u8) = (Some(2), 1); v.0.unwrap();",
    "let s = (((None::<u8>, 2), 1), 0); let ((k, _), _) = s; k.0.unwrap();": "let s = (((Some(3), 2), 1), 0); let ((k, _), _) = s; k.0.unwrap();",
    "fn g(v: Option<u8>) -> u8 { v.unwrap() } g(None);": "fn g(v: Option<u8>) -> u8 { v.unwrap() } g(Some(1));",
    "let v = None::<usize>; v.expect(\"k\");": "let v = Some(None::<usize>); v.unwrap();",
    "Option::<usize>::None.unwrap();": "let mut v: Option<usize> = None; v = Some(1); v.unwrap();",
    "let v: Result<usize, usize> = Err(3); v.unwrap();": "let v: Result<usize, usize> = Ok(3); v.unwrap();",
    "let a: u8 = 255; let b = a.checked_add(1).unwrap();": "let a: u8 = 255; let b = a.checked_add(0).unwrap();",
    "let k = u8::try_from(256).unwrap();": "let k = u8::try_from(255).unwrap();", "let k = usize::try_from(-1).expect(\"k\");": "let k = isize::try_from(-1).expect(\"k\");",
    "loop {}": "loop { break; }", "'a: loop { loop { break; } }": "'a: loop { loop { break 'a; } }",
    "while true { let k = 1; }": "while true { if c { break; } }", "for k in 0.. { let q = k; }": "for k in 0.. { if k > 2 { break; } }",
    "loop { if c { break; } else { continue; } } stop(c); never();": "loop { if c { break; } else { continue; } }",
    "never();": "let f = never;", "halt();": "let f = halt;", "below(8);": "below(7);", "within(7);": "within(6);",
}  # fmt: skip


@pytest.mark.parametrize(("lines", "innocent"), STOPS.items())
def test_a_kernel_of_which_every_run_stops_is_not_proved(lines: str, innocent: str) -> None:
    assert judged(f"{lines} {ALL}", BOOL, BEFORE) == judged(f"{ALL} {lines}", BOOL, BEFORE) == "unknown"
    assert judged(f"if b {{ {lines} }} {ALL}", f"{BOOL}, b: bool", BEFORE) == "proved"
    assert judged(f"{innocent} {ALL}", BOOL, BEFORE) == "proved"


@pytest.mark.parametrize(("lines", "innocent"), STOPS.items())
def test_nothing_behind_a_stop_runs(lines: str, innocent: str) -> None:
    assert judged(f"if b {{ {ALL} }} else {{ {lines} }}", f"{BOOL}, b: bool", BEFORE) == "proved"
    assert judged(f"if b {{ {ALL} }} else {{ {innocent} }}", f"{BOOL}, b: bool", BEFORE) == "refuted"


OVERFLOWS = {  # what stops every run of a build that checks numbers, and what none
    "let a: u8 = 255; let b = a + 1;": "let a: u8 = 254; let b = a + 1;", "let a: usize = 3; let b = a - 4;": "let a: isize = 3; let b = a - 4;",
    "let a: u8 = 16; let b = a * 16;": "let a: u8 = 15; let b = a * 17;", "let a: u8 = 1; let b = a << 8;": "let a: u8 = 255; let b = a << 7;",
    "let mut a: u8 = 255; a += 1;": "let mut a: u8 = 254; a += 1;", "let a = i8::MIN; let b = -a;": "let a = i8::MAX; let b = -a;",
    "let a: u8 = 4; let b = a.pow(4);": "let a: u8 = 4; let b = a.pow(3);", "let a = i8::MIN; let b = a.abs();": "let a = i8::MIN; let b = a.wrapping_abs();",
    "let a: u8 = 129; let b = a.next_power_of_two();": "let a: u8 = 128; let b = a.next_power_of_two();",
    "for k in 250u8..255 { let b = k + 6; }": "for k in 250u8..255 { let b = k + 1; }",
    "let a = if c { 255u8 } else { 254 }; let b = a + 2;": "let a = if c { 255u8 } else { 254 }; let b = a + 1;",
    "let a = 255; let b = a + 1; let d: u8 = a;": "let a = 255; let b = a + 1; let d: u16 = a;",
}  # fmt: skip


@pytest.mark.parametrize(("lines", "innocent"), OVERFLOWS.items())
def test_a_number_that_leaves_its_type_ends_the_runs_of_a_build_that_checks(lines: str, innocent: str) -> None:
    assert judged(f"{lines} {ALL}", BOOL) == "unknown"
    assert judged(f"if b {{ {lines} }} {ALL}", f"{BOOL}, b: bool") == "proved"
    assert judged(f"if b {{ {ALL} }} else {{ {lines} }}", f"{BOOL}, b: bool") == "unknown"
    assert judged(f"if b {{ {ALL} }} else {{ {innocent} }}", f"{BOOL}, b: bool") == "refuted"
    assert judged(f"{innocent} {ALL}", BOOL) == "proved"


def test_a_debug_assertion_that_never_holds_ends_every_run_of_a_debug_build() -> None:
    assert judged(f"debug_assert!(1 > 2); {ALL}", BOOL) == "unknown"
    assert judged(f"debug_assert!(2 > 1); {ALL}", BOOL) == "proved"


TURNS = {  # what stops every run in some turn of a loop, and what none
    "for k in 0..3 { let b = 4 / k; }": "for k in 1..3 { let b = 4 / k; }", "let t = [7; 4]; for k in 0..5 { let b = t[k]; }": "let t = [7; 4]; for k in 0..4 { let b = t[k]; }",
    "for k in 250u8..=253 { let b = k + 3; }": "for k in 250u8..253 { let b = k + 3; }", "for k in 0..3usize { let b = 1 - k; }": "for k in 0..3usize { let b = 2 - k; }",
    "for k in 0..9 { let b = 1u8 << k; }": "for k in 0..8 { let b = 1u8 << k; }",
}  # fmt: skip


@pytest.mark.parametrize(("lines", "innocent"), TURNS.items())
def test_a_turn_that_fails_ends_every_run_that_comes_to_it(lines: str, innocent: str) -> None:
    assert judged(f"{lines} {ALL}", BOOL) == "unknown"
    assert judged(f"if b {{ {lines} }} {ALL}", f"{BOOL}, b: bool") == "proved"
    assert judged(f"{innocent} {ALL}", BOOL) == "proved"


def test_a_run_may_end_before_it_stops() -> None:
    for lines in STOPS:
        assert judged(f"if b {{ {ALL} return y; }} {lines}", f"{BOOL}, b: bool", BEFORE) == "proved"


ASSERTED = [  # a condition, and assertions that are that, however they are written
    ("c && b", ["assert!(c && b)", "assert_eq!(c && b, true)", "assert_eq!(true, c && b, \"{}, (\", n)", "assert_ne!(false, c && b)", "assert!(/* c, ( */ c && b, \"a, b\",)"]),
    ("!(c && b)", ["assert_eq!(c && b, false)", "assert_ne!(true, c && b)"]),
    ("!(c || b)", ["assert_eq!(c || b, false)", "assert_ne!(true, c || b)"]),
    ("c == b", ["assert!(c == b)", "assert_eq!(c, b)", "std::assert_eq!(b, c)", "assert!(!(c != b))"]),
    ("c != b", ["assert_ne!(c, b)", "assert!(!(c == b))"]),
    ("n & 3 == 1", ["assert_eq!(n & 3, 1)", "assert_eq!(1, n & 3)", "assert!(n & 3 == 1)"]),
    ("n == 1 | 2", ["assert_eq!(n, 1 | 2)", "assert_eq!(1 | 2, n)", "assert!(n == 1 | 2)"]),
    ("n < 3", ["assert_eq!(n < 3, true)", "assert!(3 > n)", "assert_ne!(n < 3, false)", "assert_eq!(n >= 3, false)"]),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "asserted"), [(asked, one) for asked, every in ASSERTED for one in every])
def test_an_assertion_asks_what_its_arguments_say(asked: str, asserted: str) -> None:
    more = f"{BOOL}, b: bool, {SIZE}"
    assert judged(f"if {asked} {{ {ALL} }} {asserted};", more) == "proved"
    assert judged(f"if !({asked}) {{ {ALL} }} {asserted};", more) != "proved"


def test_what_an_assertion_is_given_runs_where_the_assertion_does() -> None:
    assert judged("assert!(put(ctx, x, &mut y));", BOOL, BEFORE) == "given"
    assert judged("debug_assert!(put(ctx, x, &mut y));", BOOL, BEFORE) == "unknown"
    assert judged("assert!(c && put(ctx, x, &mut y));", BOOL, BEFORE) == "unknown"


def test_what_stands_behind_a_break_does_not_run_in_an_arm_that_others_leave_over() -> None:
    """Such an arm is taken where no other one was, which is not said of the `break` in it alone."""
    lines = "match n {{ 0 => {{}} k if k == 9 => {{}} _ => {{ for k in 0..5 {{ if k == {} {{ break; }} {} }} }} }} {}"
    assert judged(lines.format(4, tile("16 * k"), ALL), SIZE) == "proved"
    assert judged(lines.format(5, tile("16 * k"), ALL), SIZE) == "refuted"


@pytest.mark.parametrize(("asked", "waits"), [
    ("c", "loop { if c { break; } }"), ("c", "while true { if !c { continue; } break; }"), ("c", "'a: loop { loop { if c { break 'a; } } }"),
    ("n == 3", "loop { if n == 3 { break; } }"), ("c || n == 3", "loop { if c { break; } if n == 3 { break; } }"),
])  # fmt: skip
def test_behind_a_loop_that_waits_for_a_condition_the_condition_holds(asked: str, waits: str) -> None:
    more = f"{BOOL}, b: bool, {SIZE}"
    assert judged(f"{waits} if b {{ {ALL} }}", more) == "refuted"
    written = "".join(f"if {one} {{ {ALL} }} " for one in asked.split(" || "))
    assert judged(f"{waits} {written}", more) == "proved"
    assert judged(f"{waits} if b {{ {written} }}", more) != "proved"


def test_of_a_loop_that_changes_what_it_asks_an_end_is_taken_for_granted() -> None:
    some, more = f"if c {{ {ALL} }}", f"{BOOL}, {SIZE}"
    assert judged(f"{some} let mut k = 0; loop {{ if k > n {{ break; }} k += 1; }}", more) == "refuted"
    assert judged(f"{some} loop {{ if ask() {{ break; }} }}", more) == "unknown"


NUMBERS = "b: bool, c: bool, n: usize, m: usize, i: i32, t: [usize; 4]"
TYPED = "fn g(k: u8) {} fn give() -> u8 { %s } struct P { k: u8, j: usize }"
ASKED = {  # what no number that a run is given lets pass, and what one does
    "let z = n % 1; let k = 7 / z;": "let k = 7 % (n % 4);", "let k = 7 / (n - n);": "let k = 7 / n; let j = 7 % m;", "let k = 7 % (n % 4 & 4);": "let k = 7 % (n % 8 & 4);",
    "let k = t[n % 4 + 4];": "let k = t[n % 4]; let j = t[m];", "let k = 1u32 << (n % 4 + 32);": "let k = 1u32 << (n % 4 + 29);", "let k = [1, 2, 3][n | 8];": "let k = [1, 2, 3][n | 2];",
    "assert!(n == 0); let k = 4 / n;": "assert!(n == 1); let k = 4 / n;", "assert!(n > 3); let k = t[n];": "assert!(n > 2); let k = t[n];", "assert!(n > 5); assert!(n < 6);": "assert!(n > 5); assert!(n < 7);",
    "let k = 7 / (n % 2); let j = 7 / (1 - n % 2);": "let k = 7 / (n % 2); let j = 7 / (1 - m % 2);", "let k = (n % 4).checked_sub(4).unwrap();": "let k = (n % 4).checked_sub(3).unwrap();",
    "let k = u8::try_from(n % 4 + 256).unwrap();": "let k = u8::try_from(n % 4 + 255).unwrap();", "let k = t.get(n % 4 + 4).unwrap();": "let k = t.get(n % 4 + 3).unwrap();",
    "let k = 7usize.div_ceil(n - n);": "let k = 7usize.div_ceil(n); let j = 0usize.div_ceil(7);", "let mut a = 3; a /= n % 1;": "let mut a = 3; a /= n % 2;",
    "let k = t[n.min(3) + 4];": "let k = t[n.min(3)];", "let k = 7 / (i % 1);": "let k = 7 / (i % 2);",
    "let k = vec![0; n % 3][3];": "let k = vec![0; n % 3 + 2][3];", "let v = vec![0; n]; let k = v[n];": "let v = vec![0; n]; let k = v[3];", "let k = vec![1, 2][2];": "let k = vec![1, 2][1];",
    "let s = &t[..2]; let k = s[2];": "let s = &t[..2]; let k = s[1];", "let s = &t[n % 2 + 2..]; let k = s[2];": "let s = &t[n % 2 + 2..]; let k = s[1];",
    "let p = P { k: 1, j: n % 1 }; let k = 7 / p.j;": "let p = P { k: 1, j: n }; let k = 7 / p.j;", "let p = (1, n % 4 + 4); let k = t[p.1];": "let p = (1, n % 4 + 3); let k = t[p.1];",
    "let k = n.clamp(3, 2);": "let k = n.clamp(3, 3);", "let k = n.clamp(m % 4 + 4, 3);": "let k = n.clamp(m % 4, 3);", "let k = n.ilog(n % 2);": "let k = n.ilog(n % 3);",
    "let k = (n - n).ilog(2);": "let k = n.ilog(2);", "let k = 8usize.ilog(1);": "let k = 8usize.ilog(2);", "let k = 8.clamp(3, 2);": "let k = 8.clamp(2, 3);",
    "let k = &t[n % 4 + 4..3];": "let k = &t[n % 4..3];", "for k in t.chunks(n % 1) {}": "for k in t.chunks(n % 2) {}", "let k = t[9];": "let k = t[3];",
    "assert!(c); let k = 7 / (!c as usize);": "assert!(!c); let k = 7 / (!c as usize);", "let k = t[(n < m || !c) as usize + 4];": "let k = t[(n < m || !c) as usize + 3];",
}  # fmt: skip


@pytest.mark.parametrize(("lines", "innocent"), ASKED.items())
def test_an_operation_that_stops_whatever_numbers_a_run_is_given_ends_every_run(lines: str, innocent: str) -> None:
    before = TYPED % 3
    assert judged(f"{lines} {ALL}", NUMBERS, before) == "unknown"
    assert judged(f"if b {{ {ALL} }} else {{ {lines} }}", NUMBERS, before) == "proved"
    assert judged(f"{innocent} {ALL}", NUMBERS, before) == "proved"
    assert judged(f"if b {{ {ALL} }} else {{ {innocent} }}", NUMBERS, before) == "refuted"


UNKNOWN_ENDS = {  # what stops every run, which nobody sees, and the same of lists and numbers that are known
    "let v: Vec<usize> = (0..n % 3).collect(); let k = v[3];": "let v: Vec<usize> = (0..4).collect(); let k = v[3];",
    "let s = foreign::some(); let k = s - s - 1usize;": "let s = 4usize; let k = s - 1;",
}


@pytest.mark.parametrize(("lines", "innocent"), UNKNOWN_ENDS.items())
def test_nothing_is_refuted_behind_what_may_stop_and_is_not_followed(lines: str, innocent: str) -> None:
    assert judged(f"if b {{ {ALL} }} else {{ {lines} }}", NUMBERS) == "unknown"
    assert judged(f"if b {{ {ALL} }} else {{ {innocent} }}", NUMBERS) == "refuted"
    assert judged(f"if b {{ {ALL} }} else {{ let k = v[3]; }}", f"{NUMBERS}, v: &[usize]") == "refuted"


PLACED = {  # literals whose place gives them a type that what is computed of them leaves, and one that it fits
    "let k: u8 = 200 + 100;": "let k: u8 = 200 + 55;", "g(200 + 100);": "g(200 + 55);", "let p = P { k: 200 + 100, j: 0 };": "let p = P { k: 155 + 100, j: 200 + 100 };",
    "let k: u8 = if c { 200 + 100 } else { 16 * 16 };": "let k: u8 = if c { 200 + 55 } else { 15 * 17 };", "let k: i8 = -100 - 100;": "let k: i8 = -100 - 28;",
    "let k: usize = 3 - 4;": "let k: isize = 3 - 4;", "let k: (u8, usize) = (200 + 100, 1);": "let k: (usize, u8) = (200 + 100, 1);", "let k: [u8; 2] = [1, 200 + 100];": "let k: [u16; 2] = [1, 200 + 100];",
    "let mut k: u8 = 0; k = 200 + 100;": "let mut k: u16 = 0; k = 200 + 100;", "let f = |k: u8| k; f(200 + 100);": "let f = |k: u8| k; f(200 + 55);", "let k = n % 4 - 4;": "let k = n % 4 - 3;",
}  # fmt: skip


@pytest.mark.parametrize(("lines", "innocent"), PLACED.items())
def test_literals_leave_the_type_that_their_place_gives_them(lines: str, innocent: str) -> None:
    before = TYPED % 3
    assert judged(f"{lines} {ALL}", NUMBERS, before) == "unknown"
    assert judged(f"if b {{ {ALL} }} else {{ {lines} }}", NUMBERS, before) == "unknown"
    assert judged(f"{innocent} {ALL}", NUMBERS, before) == "proved"


def test_what_a_function_gives_back_has_the_type_that_it_declares() -> None:
    assert judged(f"let k = give(); {ALL}", NUMBERS, TYPED % "200 + 100") == "unknown"
    assert judged(f"let k = give(); {ALL}", NUMBERS, TYPED % "200 + 55") == "proved"


@pytest.mark.parametrize("lines", [
    "let k = 7 / foreign(n);", "let k = t[foreign(n)];", "let k = 1u32 << foreign(n);", "let k = 7 / (foreign(n) % 4);", "assert!(foreign(n));",
    "for i in 0..4 { let k = 7 / foreign(i); }",
])  # fmt: skip
def test_that_a_run_passes_a_value_that_is_not_followed_is_a_condition(lines: str) -> None:
    made = verdicts(plan(kernel(f"{lines} {ALL}", NUMBERS)))
    assert [one.startswith("a run of `f` ends: ") for v in made for one in v.conditions] == [True]
    assert judged(f"if b {{ {lines} }} {ALL}", NUMBERS) == "proved"
    assert judged(f"if b {{ {ALL} }} else {{ {lines} }}", NUMBERS) == "unknown"


UNFOLLOWED = {  # calls that stop for some of the numbers that they are given, and what lets them come back
    "n.wrapping_rem_euclid(m)": "m > 0",
    "n.overflowing_div(m)": "m > 0", "[1, 2, 3].rchunks(n)": "n > 0", "[1, 2, 3].iter().nth(n).unwrap()": "n < 3",
    "usize::div_ceil(7, n)": "n > 0", "(0..n).last().unwrap()": "n > 0", "(n > 2).then_some(1).unwrap()": "n > 2",
    "foreign(n)": "n > 0", "foreign!(n)": "n > 0", "g(n)": "n > 0", "(h.g)(n)": "n > 0", "n.own()": "n > 0",
}  # fmt: skip
OWN = "struct H { g: fn(usize) -> usize }\ntrait Own { fn own(self) -> usize; }\nimpl Own for usize { fn own(self) -> usize { 7 / self } }\n"
GIVEN = "n: usize, m: usize, g: fn(usize) -> usize, h: H"


@pytest.mark.parametrize(("call", "back"), UNFOLLOWED.items())
def test_a_call_that_is_not_followed_may_stop_for_any_number_that_a_run_is_given(call: str, back: str) -> None:
    """That it comes back for some was taken for granted (PROVED, without a condition)."""
    assert judged(f"let k = {call}; if {back} {{ {ALL} }}", GIVEN, OWN) == "unknown"
    assert judged(f"let k = {call}; {ALL}", GIVEN, OWN) == "given"
    told = "given" if "!" in call else "proved"  # a macro may leave the function
    assert judged(f"if c {{ let k = {call}; }} {ALL}", f"{GIVEN}, c: bool", OWN) == told
    assert judged(f"if {back} {{ {ALL} }} let k = {call};", GIVEN, OWN) == "unknown"


@pytest.mark.parametrize("call", [
    "n.min(m)", "n.wrapping_sub(m)", "n.count_ones()", "n.checked_ilog(m)", "(0..n).sum::<usize>()", "(0..n).last()", "Some(n)", "foreign(3)", "7 / (n % 4 + 1)",
])  # fmt: skip
def test_a_call_that_comes_back_whatever_it_is_given_stops_no_run(call: str) -> None:
    assert judged(f"let k = {call}; if n > 0 {{ {ALL} }}", GIVEN, OWN) == "refuted"


CONSTANT = {  # what stops every run or none, whatever numbers it is given, which nobody follows, and what surely comes back
    'let k: usize = "x".parse().unwrap();': 'let k: Result<usize, _> = "x".parse();', 'let k = char::from_digit(1, 37);': "let k = char::from('a');",
    "let k = [1, 2].split_at(3).0;": "let k = [1, 2].iter().rev();", "let mut v = vec![1]; v.remove(1);": "let mut v = vec![1]; v.clear();",
    "let mut v = vec![1, 2]; v.drain(1..3);": "let mut v = vec![1, 2]; v.drain(..);", "let k = (1..=0).last().unwrap();": "let k = (0..=1).last().unwrap();",
    "let k = [1, 2].iter().position(|&e| e == 3).unwrap();": "let k = [1, 2].iter().position(|&e| e == 3).is_some();", "let k = Ok::<u8, u8>(3).unwrap_err();": "let k = Ok::<u8, u8>(3).unwrap();",
    "let k = &\"abc\"[5..];": "let k = &[1, 2, 3][1..];", "let k: Vec<u64> = Vec::with_capacity(usize::MAX);": "let k: Vec<u64> = Vec::with_capacity(8);",
    "let k = vec![0u64; usize::MAX];": "let k = vec![0u64; 8];", "let mut v = vec![1]; v.reserve(usize::MAX);": "let mut v = vec![1]; v.reserve(8);",
    "let c = std::cell::RefCell::new(3); let k = (c.borrow(), c.borrow_mut());": "let c = std::cell::Cell::new(3); let k = c.get();",
    "let mut v = Some(3); v.take(); let k = v.unwrap();": "let v = Some(3); let k = v.unwrap();", "let k = std::collections::HashMap::<u8, u8>::new()[&3];": "let k = [3, 4][1];",
    "let k = [1, 2].iter().nth(2).unwrap();": "let k = [1, 2].iter().nth(1).unwrap();", "let k = Some(3).filter(|e| *e > 3).unwrap();": "let k = [3, 4].iter().rev().max().unwrap();",
    'let mut s = String::from("a"); s.insert_str(9, "b");': 'let mut s = String::from("a"); s.push_str("b");', "let k = Ord::clamp(5, 9, 1);": "let k = Ord::max(5, 9);",
    'let mut s = String::from("a"); s.replace_range(5.., "b");': 'let mut s = String::from("a"); s.clear();', "let k = 5u8.overflowing_div(0);": "let k = 5u8.overflowing_sub(9);",
    'let j = "abc".len(); let k = j.checked_sub(9).unwrap();': 'let j = "abc".len(); let k = j.checked_sub(9);', "let k = 5u8.strict_add(255);": "let k = 5u8.wrapping_add(255);",
    "let k = std::array::from_fn::<usize, 3, _>(|q| 1 - q);": "let k = std::array::from_fn::<f32, 3, _>(|_| 1.5);",
    "let mut v = [1usize, 2]; v.sort_by_key(|q| *q - 2);": "let mut v = [1usize, 2]; v.sort_by_key(|q| *q);",
    "let k = std::iter::repeat(9u8).take(99).sum::<u8>();": "let k: f32 = std::iter::repeat(1.5).take(99).sum();",
}  # fmt: skip


@pytest.mark.parametrize(("lines", "innocent"), CONSTANT.items())
def test_that_a_call_of_constants_comes_back_is_a_condition(lines: str, innocent: str) -> None:
    """All numbers that a run is given make it stop, or none (PROVED)."""
    assert judged(f"{lines} {ALL}", BOOL) in ("given", "unknown")
    assert judged(f"if b {{ {ALL} }} else {{ {lines} }}", NUMBERS) in ("proved", "unknown")
    assert judged(f"if b {{ {lines} }} {ALL}", NUMBERS) == judged(f"{innocent} {ALL}", BOOL) == "proved"


def test_what_a_call_gave_is_asked_for_where_it_is_unwrapped() -> None:
    given = "let q = (0..n).last();"
    assert judged(f"{given} let k = q.unwrap(); if n > 0 {{ {ALL} }}", GIVEN, OWN) == "unknown"
    assert judged(f"{given} if n > 0 {{ {ALL} }}", GIVEN, OWN) == "refuted"


def test_a_value_that_is_not_followed_is_bounded_by_what_is_made_of_it() -> None:
    for lines in (
        "let k = t[foreign(3) % 4];",
        "let k = 7 / (foreign(3) % 4 as usize + 1);",
        "let k = foreign(3) as f32 / 2.0;",
    ):
        assert judged(f"{lines} {ALL}", NUMBERS) == "proved"


def test_a_turn_that_fails_lets_nothing_behind_its_loop_run() -> None:
    lines = "for i in 0..8 {{ let k = 7 % (i % 4 + {}); }}"
    assert judged(f"if b {{ {ALL} }} else {{ {lines.format(0)} }}", NUMBERS) == "proved"
    assert judged(f"if b {{ {ALL} }} else {{ {lines.format(1)} }}", NUMBERS) == "refuted"


def test_a_divisor_that_may_be_zero_stops_no_run_for_sure() -> None:
    assert judged(f"let b = 4 / n; {ALL}", SIZE) == "proved"


def test_a_list_that_may_grow_has_whatever_element_is_asked_for() -> None:
    assert judged(f"let mut t = vec![x, x]; t.push(x); let k = t[2]; {ALL}", BOOL) == "proved"
    assert judged(f"let t = vec![x, x]; let k = t[2]; {ALL}", BOOL) == "unknown"
    assert judged(f"let t = vec![1, 2]; let k = t[2]; {ALL}", BOOL) == "unknown"


def test_a_macro_of_the_crate_stops_nothing_by_its_name() -> None:
    assert judged("todo!();", BOOL, "macro_rules! todo { () => {} }") == "refuted"


def test_a_variant_of_the_crate_is_nothing_by_its_name_alone() -> None:
    own = "mod own { pub enum O { None, Some(usize) } impl O { pub fn unwrap(self) {} } }\nuse own::O::*;\n"
    assert judged("None.unwrap();", BOOL, own) == "refuted"
    assert judged("None::<usize>.unwrap();", BOOL) == "unknown"


@pytest.mark.parametrize("value", ["K", "S::K", "loop { break None; }", "'a: { break 'a None; }", "{ struct T; None }"])
def test_that_what_is_not_followed_is_something_is_a_condition(value: str) -> None:
    before = "const K: Option<u8> = None; struct S; impl S { const K: Option<u8> = None; }"
    assert judged(f"let v: Option<u8> = {value}; v.unwrap(); {ALL}", BOOL, before) != "proved"


def test_what_is_nothing_in_a_struct_is_nothing_by_every_name() -> None:
    for value, told in (("None", "unknown"), ("Some(1)", "proved")):
        assert judged(f"let s = P({value}); s.0.unwrap(); {ALL}", BOOL, "struct P(Option<u8>);") == told
