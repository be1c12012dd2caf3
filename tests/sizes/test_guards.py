"""Guards run: in Python, and compiled from C and Rust where a compiler is at hand, at the edges of their ranges."""

import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from dmaverify.errors import InputError
from dmaverify.language.numbers import Poly
from dmaverify.prove.sizes.conditions import Condition
from dmaverify.prove.sizes.facts import SizeFact, SizeSymbol, Template
from dmaverify.report.guards import guard, guards_text
from dmaverify.values import replace

A, K = Poly.symbol("A"), Poly.symbol("K")
FAR = 1 << 80
VALUES = [0, 1, 2, 3, 4, 6, 8, 12, 4095, 4096, 4097]


def condition() -> Condition:
    """`K | A` where K may be 0, a clause with a number of more than 64 bits, and `A K <= 4096`."""
    symbols = (SizeSymbol("A", 0, 4096), SizeSymbol("K", 0, 8))
    template = Template("transfer", "t", "", 1, "toy", None, symbols, (SizeFact("div", A, K),), (), lambda v: None)  # type: ignore[arg-type,return-value]
    ends = (K.scaled(FAR) - A, Poly.of(FAR + 3) - A, Poly.of(4096) - A * K)
    facts = tuple(SizeFact("ge", end) for end in ends)
    return Condition("t", "p", 1, "exact", (facts,), template=template)


def test_two_guards_of_one_name_are_refused() -> None:
    """The second would take the place of the first, and let through what the first stops."""
    one = replace(condition(), name="a-b")
    with pytest.raises(InputError, match="the guards of `a-b` and `a_b` would both be `check_sizes_of_a_b`"):
        guards_text([one, replace(one, name="a_b")], "c")
    assert guards_text([one, replace(one, name="ab")], "c").count("static void") == 2


def test_names_that_differ_in_capitals_alone_are_one_function_of_rust() -> None:
    pair = [replace(condition(), name=name) for name in ("Load", "load")]
    with pytest.raises(InputError, match="the guards of `Load` and `load` would both be `check_sizes_of_load`"):
        guards_text(pair, "rust")
    assert guards_text(pair, "c").count("static void") == 2


@pytest.mark.parametrize("name", ["True", "False", "Match", "Self"])
def test_a_size_whose_name_is_a_word_of_rust_in_small_letters_has_another_name_there(name: str) -> None:
    template = Template("transfer", "t", "", 1, "toy", None, (SizeSymbol(name, 1, 8),), (), (), lambda v: None)  # type: ignore[arg-type,return-value]
    text = guard(Condition("t", "p", 1, "exact", ((),), template=template), "rust")
    assert f"let {name.lower()}_0 = i128::from({name.lower()}_0);" in text


@pytest.mark.parametrize("path", ['x"""\nimport none #', "a*/ int b; /*", "C:\\new\\N{x}\\"])
@pytest.mark.parametrize("language", ["python", "c", "rust", "mlir"])
def test_the_path_of_a_plan_ends_no_comment_and_no_string_of_a_guard(path: str, language: str) -> None:
    text = guard(replace(condition(), path=path), language)
    assert len(text.splitlines()) == len(guard(condition(), language).splitlines())
    assert [text.count(end) for end in ('"""', "*/", "\\")] == [
        guard(condition(), language).count(end) for end in ('"""', "*/", "\\")
    ]


def wanted(a: int, k: int) -> bool:
    return a <= 4096 and 0 < k <= 8 and a % k == 0 and a * k <= 4096


def test_a_python_guard_stops_at_a_divisor_that_is_0() -> None:
    space: dict = {}
    exec(guard(condition(), "python"), space)
    for a, k in product(VALUES, VALUES):
        try:
            space["check_sizes_of_t"](a, k)
            passed = True
        except AssertionError:
            passed = False
        assert passed == wanted(a, k), (a, k)


def test_an_mlir_guard_asks_that_a_divisor_is_not_0_before_it_divides() -> None:
    text = guard(condition(), "mlir")
    assert text.index('"K != 0"') < text.index("arith.remsi")


C_MAIN = """
#include <stdlib.h>
int main(int count, char **words) { check_sizes_of_t(strtoull(words[1], 0, 10), strtoull(words[2], 0, 10)); return 0; }
"""
RUST_MAIN = """
fn main() {
    let n: Vec<u64> = std::env::args().skip(1).map(|w| w.parse().unwrap()).collect();
    check_sizes_of_t(n[0], n[1]);
}
"""


@pytest.mark.parametrize(
    ("language", "compiler", "main", "flags"),
    [("c", "gcc", C_MAIN, ["-Werror", "-Wall", "-Wno-unused-parameter"]), ("rust", "rustc", RUST_MAIN, ["-O"])],
)
def test_a_compiled_guard_stops_where_the_python_one_does(
    language: str, compiler: str, main: str, flags: list[str], tmp_path: Path
) -> None:
    if shutil.which(compiler) is None:
        return  # the Python guard above is of the same text
    source, program = tmp_path / f"guard.{'rs' if language == 'rust' else language}", tmp_path / "guard"
    source.write_text(guard(condition(), language) + main)
    subprocess.run([compiler, *flags, str(source), "-o", str(program)], check=True, capture_output=True)
    for a, k in [(0, 0), (8, 0), (8, 2), (8, 3), (4096, 1), (4096, 2), (4097, 1), (12, 12), (0, 1)]:
        done = subprocess.run([str(program), str(a), str(k)], check=False, capture_output=True)
        assert (done.returncode == 0) == wanted(a, k), (a, k, done.stderr)
