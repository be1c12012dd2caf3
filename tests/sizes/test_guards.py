"""Guards run: in Python, and compiled from C and Rust where a compiler is at hand, at the edges of their ranges."""

import re
import shutil
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from dmaverify.errors import InputError
from dmaverify.language.numbers import Poly
from dmaverify.plan.read import read_plan_text
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.conditions import Condition, conditions
from dmaverify.prove.sizes.facts import FloorQuotient, SizeFact, SizeRegion, SizeSymbol, Template
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


def rounded() -> Condition:
    """`(A - 5) // K >= -1`: what is rounded down may be negative."""
    quotient = FloorQuotient("((A - 5) // K)", A - Poly.of(5), K)
    template = replace(condition().template, symbols=(SizeSymbol("A", 0, 4096), SizeSymbol("K", 1, 8)), assume=())
    fact = SizeFact("ge", Poly.symbol(quotient.name) + Poly.of(1))
    return replace(condition(), any=((fact,),), floors=(quotient,), template=template)


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


def allowed(a: int, k: int) -> bool:
    return a <= 4096 and 0 < k <= 8 and (a - 5) // k >= -1


BOTH = [(condition, wanted), (rounded, allowed)]


@pytest.mark.parametrize(("made", "wanted"), BOTH)
def test_a_python_guard_stops_at_a_divisor_that_is_0_and_rounds_down(made: Any, wanted: Any) -> None:
    space: dict = {}
    exec(guard(made(), "python"), space)
    for a, k in product(VALUES, VALUES):
        try:
            space["check_sizes_of_t"](a, k)
            passed = True
        except AssertionError:
            passed = False
        assert passed == wanted(a, k), (a, k)


def test_quotients_have_a_guard_as_far_as_they_are_known_to_fit() -> None:
    top = FloorQuotient("((A - 5) // K)", A.scaled(FAR) - Poly.of(5), K)
    for floors, symbols, says in (
        ((top,), (SizeSymbol("A", 0, 1 << 60), SizeSymbol("K", 1, 8)), "`((A - 5) // K)` may leave 128 bits"),
        (rounded().floors, (SizeSymbol("A", 0, 8), SizeSymbol("K", 0, 8)), "a quotient by a number that may be 0"),
    ):
        with pytest.raises(InputError, match=re.escape(says)):
            guard(replace(rounded(), floors=floors, template=replace(rounded().template, symbols=symbols)), "c")
    assert "arith.floordivsi" in guard(rounded(), "mlir")


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


C = ("c", "gcc", C_MAIN, ["-Werror", "-Wall", "-Wno-unused-parameter"])
RUST = ("rust", "rustc", RUST_MAIN, ["-O"])


@pytest.mark.parametrize(
    ("language", "compiler", "main", "flags", "made", "wanted"),
    [(*C, *BOTH[0]), (*C, *BOTH[1]), (*RUST, *BOTH[0]), pytest.param(*RUST, *BOTH[1], marks=pytest.mark.slow)],
)
def test_a_compiled_guard_stops_where_the_python_one_does(
    language: str, compiler: str, main: str, flags: list[str], made: Any, wanted: Any, tmp_path: Path
) -> None:
    if shutil.which(compiler) is None:
        return  # the Python guard above is of the same text
    source, program = tmp_path / f"guard.{'rs' if language == 'rust' else language}", tmp_path / "guard"
    source.write_text(guard(made(), language) + main)
    subprocess.run([compiler, *flags, str(source), "-o", str(program)], check=True, capture_output=True)
    for a, k in [(0, 0), (8, 0), (8, 2), (8, 3), (4096, 1), (4096, 2), (4097, 1), (12, 12), (0, 1), (0, 4), (1, 4)]:
        done = subprocess.run([str(program), str(a), str(k)], check=False, capture_output=True)
        assert (done.returncode == 0) == wanted(a, k), (a, k, done.stderr)


def test_what_is_open_lies_in_no_region_that_is_told() -> None:
    """The last size that is looked at may have given a region, once the limit is reached."""
    text = """schema = 1
target = "rngd"
[axes]
A = 8
K = { min = 1, max = 24 }
C = { min = 8, max = 256, multiple_of = 8 }
[transfer.t]
dtype = "i8"
source = { tier = "hbm", element = "A, C" }
dest = { tier = "hbm", base = "2^30", element = "A, C" }
read = "[A=A:C, C=C:1]:(C / K) HBM/D@0"
write = "[A=A:C, C=C:1]:(C / K) HBM/D@(2^30)"
"""
    found = conditions(read_plan_text(text).templates[0], Options(repair=False))
    assert found.status == "sufficient"
    assert found.any
    for said in found.left:
        sizes = {name: int(value) for name, value in re.findall(r"(\w) = (\d+)", said)}
        assert not sizes or not any(SizeRegion(facts, found.floors).holds(sizes) for facts in found.any), said
