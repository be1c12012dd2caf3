"""Values of drivers that the text alone decides: masks are followed, and floating point is no number of a caller."""

from pathlib import Path

import pytest

from dmaverify.machines.idma.c.numbers import UINT, Value, binary
from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.prove.sizes.divisors import traced
from dmaverify.prove.sizes.shadow import number_of, value_of
from dmaverify.verdict import Verdict

LOADED = "snrt_dma_start_1d((void *)0x1000, (void *)0x8000, {});"
READ = "snrt_dma_start_1d((void *)0x9000, (void *)(0x1000 + {}), 16);"


def verdict(tmp_path: Path, body: str, arguments: str = "void") -> Verdict:
    (tmp_path / "d.c").write_text(f"void f({arguments}) {{ {body} snrt_dma_wait_all(); }}\n")
    found = verdict_of_file(str(tmp_path / "d.c"), engine=["manticore"])
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("rounded", "conditions"),
    [
        ("(n + 63) & ~63u", ["f(): n >= 1 and n <= 2^32 - 4096"]),
        ("~63u & (n + 63)", ["f(): n >= 1 and n <= 2^32 - 4096"]),
        ("n & ~63u", ["f(): n % 64 == 0 and n >= 1"]),
    ],
)
def test_alignment_by_a_mask_is_a_condition_on_the_argument(
    tmp_path: Path, rounded: str, conditions: list[str]
) -> None:
    """What is read begins where rounded lengths end (conditions on a local `r` before: any number, it seemed)."""
    found = verdict(tmp_path, f"uint32_t r = {rounded}; {LOADED.format('n')} {READ.format('r')}", "uint32_t n")
    assert found.status.value == "proved"
    assert all(" r " not in f" {one} " for one in found.conditions)
    assert [one.partition(" and n <= ")[0] for one in found.conditions] == [
        one.partition(" and n <= ")[0] for one in conditions
    ]


@pytest.mark.parametrize(
    ("rounded", "condition"),
    [
        ("n & ~63u", "n <= 28735"),  # of 64 bits the upper half is taken away, too
        ("n & ~(uint64_t)63", "n <= 28735"),
        ("n & -64", "n <= 28735"),
        ("n ^ n", ""),
        ("n | 128", "n <= 127; or"),
        ("(n << 8) | (n >> 60)", "n <= 112"),
    ],
)
def test_bits_of_an_argument_are_followed(tmp_path: Path, rounded: str, condition: str) -> None:
    body = f"uint64_t r = ({rounded}) + {64 * ('^' in rounded)}; snrt_dma_start_1d((void *)0x1000, (void *)0x8000, r);"
    found = verdict(tmp_path, body, "uint64_t n")
    assert found.status.value == "proved"
    assert condition in " ".join(found.conditions)
    assert not any(word in one.split() for one in found.conditions for word in ("r", "r>="))


def test_a_mask_is_as_wide_as_its_type(tmp_path: Path) -> None:
    """Of 64 bits `~(uint64_t)63` leaves the upper half, `~63u` takes it away."""
    for mask, most in (("~63u", True), ("~(uint64_t)63", False)):
        body = f"snrt_dma_start_1d((void *)0x1000, (void *)0x8000, ((n & {mask}) >> 20) + 1);"
        found = verdict(tmp_path, body, "uint64_t n")
        assert (found.status.value, any("n" in one.split() for one in found.conditions)) == ("proved", not most)


@pytest.mark.parametrize(("m", "both"), [(3, 19), (15, 31), (16, None)])
def test_numbers_with_common_bits_are_not_followed(m: int, both: int | None) -> None:
    trace = traced({"n": 1, "m": m}, (), generic=False, ends={"n": (0, 99), "m": (0, 99)})
    n, other = (number_of(trace, name) for name in "nm")
    found = binary("|", Value(n * 16, UINT), Value(other, UINT)).number
    assert (None if found is None else value_of(found)) == both


@pytest.mark.parametrize(("mask", "followed"), [("0x55", True), ("0x155", False)])
def test_a_mask_of_many_runs_of_bits_is_not_followed(tmp_path: Path, mask: str, followed: bool) -> None:
    body = f"uint64_t r = (n & {mask}) + 1; snrt_dma_start_1d((void *)0x1000, (void *)0x8000, r);"
    found = verdict(tmp_path, body, "uint64_t n")
    assert any("r" in one.split() for one in found.conditions) != followed


@pytest.mark.parametrize(
    "body",
    [
        "int k = (int)63.9;",
        "double d = 63.9; int k = d;",
        "int k; k = 128 / 2.0;",
        "float s = 0.5f; int k = (int)(n * s);",
    ],
)
def test_floating_point_is_not_read_and_no_number_that_somebody_chooses(tmp_path: Path, body: str) -> None:
    """`PROVED if k >= 64`, of a `k` that is 63 in every run, before."""
    found = verdict(tmp_path, f"{body} {LOADED.format(64)} {READ.format('k')}", "int n")
    assert (found.status.value, found.conditions) == ("unknown", ())


def test_a_loop_without_a_condition_is_told_as_one(tmp_path: Path) -> None:
    found = verdict(tmp_path, f"{LOADED.format(64)} for (;;) if (*p) break; {READ.format(0)}", "int *p")
    assert any("the loop without a condition" in one.why for one in found.obligations), found.obligations
