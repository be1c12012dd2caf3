"""Which arm of a macro an invocation takes, and which macro a name means, as rustc compiles them."""

# ruff: noqa: E501  (kernels)

import pytest
from test_helpers_by_types import TILE, judged


def counted(lines: str, right: bool, before: str = "") -> None:
    """Four turns copy all of the tensor, three leave a part of it."""
    assert judged(before, f"{lines} {{ {TILE} }}") == ("proved" if right else "refuted")


@pytest.mark.parametrize(("first", "second", "call"), [  # the second arm is taken
    ("$x:literal", "$x:expr", "t!(i)"), ("$x:literal", "$x:expr", "t!(0..3)"), ("$x:ident", "$x:expr", "t!(3)"), ("$x:ident", "$x:tt", "t!(_)"),
    ("$x:ident", "$x:tt", "t!((a))"), ("$x:lifetime", "$x:tt", "t!(a)"), ("$x:block", "$x:expr", "t!(3)"), ("$x:ty", "$x:expr", "t!(3)"),
    ("$x:path", "$x:tt", "t!((u8, u8))"), ("$($x:expr),+", "", "t!()"), ("$($x:expr),*", "$($x:expr,)*", "t!(0, 1,)"), ("$($x:tt)?", "$($x:tt)*", "t!(a b)"),
    ("$x:expr, $y:expr", "$x:expr", "t!(|a, b| a)"), ("$x:expr, $y:expr", "$x:expr", "t!(g::<1, 2>(3))"), ("$a:tt $($x:tt)+", "$a:tt", "t!(0)"),
    ("$x:literal $v:vis", "$x:expr", "t!(true)"), ("$n:ident = $x:ty", "$n:ident: $x:ty = $y:expr", "t!(a: Vec<u8> = 3)"),
])  # fmt: skip
def test_an_invocation_takes_the_first_arm_that_its_tokens_match(first: str, second: str, call: str) -> None:
    for right in (True, False):
        arms = f"({first}) => {{ {3 + (not right)} }}; ({second}) => {{ {3 + right} }}"
        counted(f"for i in 0..{call}", right, f"macro_rules! t {{ {arms} }}")


@pytest.mark.parametrize(("taken", "first", "second"), [
    ("$x:literal", "3", "$x:expr"), ("$x:literal", "$x:ident", "$x:tt"), ("$x:ident", "$x:literal", "$x:tt"),
])  # fmt: skip
def test_what_a_macro_hands_on_is_one_token_for_the_next(taken: str, first: str, second: str) -> None:
    given = "a" if "ident" in taken else "3"
    for right in (True, False):
        arms = f"({taken}) => {{ t!(@ $x) }}; (@ {first}) => {{ {3 + (not right)} }}; (@ {second}) => {{ {3 + right} }}"
        counted(f"for i in 0..t!({given})", right, f"macro_rules! t {{ {arms} }}")


@pytest.mark.parametrize("lines", [
    "macro_rules! t { () => { 4 } } let a = t!(); macro_rules! t { () => { 3 } } for i in 0..a",
    "let a = t!(); macro_rules! t { () => { 3 } } for i in 0..a",
    "macro_rules! t { () => { 3 } } macro_rules! t { () => { 4 } } for i in 0..t!()",
])  # fmt: skip
def test_a_macro_is_the_last_one_of_its_name_that_stands_before_the_call(lines: str) -> None:
    for right in (True, False):
        own = lines if right else lines.replace("4", "5").replace("3", "4").replace("5", "3")
        counted(own, right, f"macro_rules! t {{ () => {{ {3 + right} }} }}")


def test_a_macro_that_a_macro_makes_in_a_block_is_not_known() -> None:
    before = (
        "macro_rules! t { () => { 4 } } macro_rules! u { ($n:ident, $v:expr) => { macro_rules! $n { () => { $v } } } }"
    )
    assert judged(before, f"u!(t, 3); for i in 0..t!() {{ {TILE} }}") == "unknown"


@pytest.mark.parametrize(("line", "told"), [
    ("skip!(i);", "given"), ("other::skip! { i }", "given"), ("let _n = skip!(i);", "given"), ("if false { skip!(i); }", "proved"),
    ("println!(\"{i}\");", "proved"), ("dbg!(i);", "proved"), ("debug_assert!(i < 9);", "proved"),
])  # fmt: skip
def test_that_a_macro_of_another_crate_leaves_no_loop_is_a_condition(line: str, told: str) -> None:
    """It may expand to `continue`, and then a tile of the tensor is never written."""
    assert judged("", f"for i in 0..4 {{ {line} {TILE} }}") == told


@pytest.mark.parametrize(("attribute", "told"), [
    ("#[traced]", "given"), ("#[other::test]", "given"), ("#[rustfmt::skip]", "proved"), ("#[other::unroll(4)]", "given"), ("#[inline(always)]", "proved"), ("#[cfg_attr(test, inline)]", "proved"),
    ("/// Copies all.", "proved"),
])  # fmt: skip
def test_that_an_attribute_of_another_crate_leaves_a_kernel_as_it_is_is_a_condition(attribute: str, told: str) -> None:
    assert judged(f"{attribute}", f"for i in 0..4 {{ {TILE} }}") == told
