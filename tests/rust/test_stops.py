"""Where a run ends before its end: nothing behind it runs, and a kernel of which every run ends so is not proved.

Each stop is both sides of its edge: beside it stands what does not stop, or only some runs.
"""

# ruff: noqa: E501  (kernels)

import pytest
from kernels import tile
from test_decisions import BOOL, HBM, SIZE, judged
from test_every_way import ALL

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
    assert judged("assert!(put(ctx, x, &mut y));", BOOL, BEFORE) == "proved"
    assert judged("debug_assert!(put(ctx, x, &mut y));", BOOL, BEFORE) == "unknown"
    assert judged("assert!(c && put(ctx, x, &mut y));", BOOL, BEFORE) == "unknown"


def test_what_stands_behind_a_break_does_not_run_in_an_arm_that_others_leave_over() -> None:
    """Such an arm is taken where no other one was, which is not said of the `break` in it alone."""
    lines = "match n {{ 0 => {{}} k if k == 9 => {{}} _ => {{ for k in 0..5 {{ if k == {} {{ break; }} {} }} }} }} {}"
    assert judged(lines.format(4, tile("16 * k"), ALL), SIZE) == "proved"
    assert judged(lines.format(5, tile("16 * k"), ALL), SIZE) == "unknown"


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
