"""Relations between arguments and extents that depend on them: stated, met in every counterexample, asked for."""

import pytest
from lab.draws import rest

from dmaverify.errors import InputError, Source
from dmaverify.machines.pto.check import check_text
from dmaverify.verdict import Status, Verdict

HEAD = "func.func @k(%a: !pto.ptr<f32, gm>, %n: i64, %p: i64) {\n"
BODY = """  %c0 = arith.constant 0 : i64
  %c4 = arith.constant 4 : i64
  %row = arith.muli %p, %c4 : i64
  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %a, %u, %c0, %row nburst(%n, %row, %row) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64
  return
}
"""
EXTENTS = ("gm %a = %n x %p x f32",)
RANGES = ("assume %n in 1..4096", "assume %p in 8..4096")


def check(*notes: str) -> Verdict:
    text = "".join(f"// dmaverify: {note}\n" for note in notes) + HEAD + BODY
    return check_text(Source("k.mlir", text))[0]


@pytest.mark.parametrize(
    ("notes", "status", "rule"),
    [
        ((*EXTENTS, *RANGES, "assume 8 | %p", "assume %n * %p <= 65536"), Status.PROVED, ""),
        *rest([(("gm %a = 4 * %n * %p bytes", *RANGES, "assume %p % 8 == 0 and 2 * %n * %p <= 131072"),
                Status.PROVED, "")]),
        ((*EXTENTS, *RANGES, "assume %n + %p <= 8192"), Status.REFUTED, "pto/ub-capacity"),
        (("gm %a = 4 * %n * %p - 4 bytes", *RANGES, "assume 8 | %p and %n * %p <= 65536"), Status.REFUTED,
         "core/in-bounds"),
        (("gm %a = %n x %n x f32", *RANGES, "assume 8 | %p", "assume %n * %p <= 65536 and %p <= %n"),
         Status.PROVED, ""),
        (("gm %a = %n x %n x f32", "assume %n in 8..16", "assume %p in 8..17", "assume %p <= %n + 1"),
         Status.REFUTED, "core/in-bounds"),
    ],
)  # fmt: skip
def test_what_is_stated_of_several_arguments_is_relied_on_and_no_more(
    notes: tuple[str, ...], status: Status, rule: str
) -> None:
    found = check(*notes)
    assert found.status is status, found.findings
    assert not found.conditions
    told = {f.rule: f for f in found.findings if f.severity.value == "error"}
    assert not rule or rule in told
    for finding in told.values():  # a counterexample is one that every note admits
        values = dict((finding.witness or {}).get("values", {}))
        n, p = values.get("%n"), values.get("%p")
        if n is not None and p is not None:
            assert n * p <= 131072 or n + p <= 8192
            assert 1 <= n <= 4096


def test_the_conditions_of_arguments_without_ranges_are_short_and_can_be_pasted() -> None:
    notes: list[str] = []
    for _ in range(2):
        found = check(*notes)
        said = [a.removeprefix("to state them, write: ") for a in found.assumptions if a.startswith("to state")]
        notes += [note.removeprefix("// dmaverify: ") for text in said for note in text.split("; ")]
    assert "assume 4 * %n * %p <= 262144" in notes
    assert "gm %a = 4 * %n * %p bytes" in notes
    assert found.status is Status.PROVED
    assert found.conditions in ((), ("sums and products of 64 bits do not wrap, of values without a stated range",))


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ("assume %q * 2 <= 4", "%q is no number that this kernel is given"),
        ("assume %n * %p <= 4 and %n >= 5 and %p >= 1", "no values meet what is stated"),
        ("assume %n // 2 <= 4", "sums, products and remainders alone"),
        ("assume %p | %n", "what divides an argument is a number"),
        ("assume %n <= ", "missing"),
        ("gm %a = %n x %p", "is no extent"),
        ("gm %a = %n x i4", "no whole number of bytes"),
        ("gm %a = %q x f32", "%q is no number that this kernel is given"),
        ("gm %a = 4096", "is no extent"),
        ("gm %a = hello", "is no extent"),
    ],
)
def test_a_note_that_says_nothing_of_this_kernel_is_refused(note: str, said: str) -> None:
    try:
        message = check(note).findings[0].message
    except InputError as error:
        message = error.message
    assert said in message
