"""Gathers, scatters and kernels in plans with symbols: the verdict for all sizes is that at each of them."""

from __future__ import annotations

import pytest

from dmaverify import api
from dmaverify.errors import InputErrors
from dmaverify.prove.options import Options
from dmaverify.prove.sizes import check
from dmaverify.verdict import Status, Verdict

OPTIONS = Options(repair=False)
PLAN = """schema = 1
target = "rngd"
{assume}
[axes]
N = {{ min = 1, max = 4096 }}
R = {r}
K = {k}
C = 8
[transfer.list]
dtype = "i32"
source = {{ tier = "hbm", base = 4194304, element = "K" }}
dest = {{ tier = "hbm", base = 2097152, element = "K" }}
stream = {{ time = "1", packet = "K" }}
[transfer.other]
dtype = "i8"
source = {{ tier = "hbm", element = "N, C" }}
dest = {{ tier = "hbm", base = 8388608, element = "N, C" }}
[gather.g]
dtype = "i8"
source = {{ tier = "hbm", element = "R, C" }}
dest = {{ tier = "dm", slice = "1 # 64", element = "K, C" }}
index = {{ tier = "hbm", base = 2097152, element = "K", rows = [0, 3] }}
axis = "R"
key = "K"
stream = {{ time = "K", packet = "C" }}
[scatter.s]
dtype = "i8"
source = {{ tier = "dm", slice = "1 # 64", element = "K, C" }}
dest = {{ tier = "hbm", base = 1048576, element = "R, C" }}
index = {{ tier = "hbm", base = 2097152, element = "K", rows = [0, 3], distinct = true }}
axis = "R"
key = "K"
stream = {{ time = "K", packet = "C" }}
[program.after]
step = [{{ transfer = "list" }}, {{ gather = "g", after = ["list"] }}]
[program.beside]
step = [{{ transfer = "list" }}, {{ gather = "g", context = "other" }}]
"""


def judged(name: str, r: str, k: str, assume: str = "") -> Verdict:
    (found,) = api.check(PLAN.format(r=r, k=k, assume=assume), name, options=OPTIONS)
    return found


@pytest.mark.parametrize(
    ("name", "least", "most", "wanted"),
    [
        ("g", 4, 5, "proved"), ("g", 3, 4, "refuted"), ("s", 4, 5, "refuted"), ("after", 4, 5, "proved"),
        ("beside", 4, 5, "refuted"), ("g", 4, 17, "unknown"),
    ],
)  # fmt: skip
def test_rows_hold_for_all_sizes_where_they_do_at_each(
    name: str, least: int, most: int, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "MOST_SINGLE", 2)
    keys = 2 if name != "s" else 5
    found = judged(name, f"{{ min = {least}, max = {most} }}", str(keys))
    assert (found.status.value, set(found.sizes or ())) == (wanted, {"R"})
    if wanted == "unknown":
        return
    each = {r: judged(name, str(r), str(keys)).status for r in range(least, most + 1)}
    assert (Status.REFUTED in each.values()) is (wanted == "refuted")
    assert wanted == "refuted" or all(f"{len(each)} sizes" in one.by for one in found.obligations)
    if found.smallest is not None:
        assert each[found.smallest["R"]] is Status.REFUTED
        assert all(each[at] is Status.PROVED for at in range(least, found.smallest["R"]))


@pytest.mark.parametrize("name", ["C", "C'"])
@pytest.mark.parametrize(("step", "wanted"), [(8, "proved"), (4, "refuted")])
def test_a_size_that_only_ends_texts_is_one_that_the_entry_speaks_of(name: str, step: int, wanted: str) -> None:
    sized = f'[axes]\n"{name}" = {{ min = 8, max = 16, multiple_of = {step} }}'
    plan = PLAN.format(r=8, k=2, assume="").replace("C = 8\n", "").replace('C"', f'{name}"').replace("[axes]", sized)
    (found,) = api.check(plan, "g", options=OPTIONS)
    assert (found.status.value, set(found.sizes or ())) == (wanted, {name})


@pytest.mark.parametrize(("step", "wanted"), [(8, "proved"), (4, "refuted")])
def test_a_size_that_stands_in_a_name_for_mappings_is_one_that_the_entry_speaks_of(step: int, wanted: str) -> None:
    sized = f'[let]\n"L" = "C"\n[axes]\nC = {{ min = 8, max = 16, multiple_of = {step} }}'
    plan = PLAN.format(r=8, k=2, assume="").replace("C = 8\n", "").replace('C"', 'L"').replace("[axes]", sized)
    (found,) = api.check(plan.replace('"N, L"', '"N, C"'), "g", options=OPTIONS)
    assert (found.status.value, set(found.sizes or ())) == (wanted, {"C"})


def test_what_an_index_promises_at_a_size_is_promised_at_all() -> None:
    for name, said in (("g", "the index names rows 0..3"), ("after", "`g`: the index names rows 0..3")):
        assert any(one.startswith(said) for one in judged(name, "{ min = 4, max = 5 }", "2").assumptions)


def test_sizes_of_others_are_told_apart_by_relations_alone() -> None:
    found = judged("g", "{ min = 1, max = 5 }", "2", 'assume = ["N + R >= 4101"]')
    assert (found.status, set(found.sizes or ())) == (Status.PROVED, {"N", "R"})
    assert judged("g", "{ min = 1, max = 4 }", "2", 'assume = ["R >= 4"]').status is Status.PROVED
    assert judged("other", "8", "2").status is Status.PROVED


KERNEL = """schema = 1
target = "pto"
[axes]
N = { min = 1, max = 4 }
C = 64
[transfer.t]
dtype = "i8"
source = { tier = "gm", element = "N, C" }
dest = { tier = "ub", element = "N, C" }
[kernel.k]
text = '''
func.func @f(%a: !pto.ptr<i8, gm>, %N: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %d = pto.castptr %c0 : i64 -> !pto.ptr<i8, ub>
  pto.mte_gm_ub %a, %d, %c0, %c64 nburst(%c1, %c64, %c64)
    : !pto.ptr<i8, gm>, !pto.ptr<i8, ub>, i64, i64, i64, i64, i64
  return
}
'''
gm = { a = "64 bytes" }
[[kernel.k.move]]
copies = [1]
dtype = "i8"
source = { tier = "gm", element = "C" }
dest = { tier = "ub", element = "C" }
"""


def test_a_kernel_whose_moves_name_no_symbol_is_judged_beside_them() -> None:
    assert [(one.name, one.status) for one in api.check(KERNEL)] == [("t", Status.PROVED), ("k", Status.PROVED)]
    wrong = KERNEL.replace('dest = { tier = "ub", element = "C" }', 'dest = { tier = "ub", base = 32, element = "C" }')
    assert [(one.name, one.status) for one in api.check(wrong, "k")] == [("k", Status.REFUTED)]
    for named in (KERNEL.replace('element = "C" }', 'element = "N, C" }', 1), f'let = {{ "L" = "N" }}\n{KERNEL}'):
        with pytest.raises(InputErrors, match="depend on `N`, which is a range"):
            api.check(named)
