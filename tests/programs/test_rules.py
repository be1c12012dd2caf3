"""What a program may not do, each rule on both sides of its edge, through plan files as users write them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.prove.move.check import Options
from dmaverify.verdict import Finding, Status, Verdict

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "programs"

HEAD = """\
schema = 1
target = "rngd"
[axes]
A = 64
B = 64
M = 30
X = 33
Y = 32
S = 20
W = 8
"""


def load(name: str = "load", base: int = 0, engine: int | None = None, source: int = 0) -> str:
    where = "" if engine is None else f"engine = {{ dmn = {engine} }}\n"
    text = f"[A=64:64, B=64:1]:64 HBM/D@{source}", f"[A=64:slice_stride, B=64:1]:64 DM/D@(0, 0, 0, {base})"
    return f"""
[transfer.{name}]
dtype = "i8"
source = {{ tier = "hbm", base = {source}, element = "A, B" }}
dest = {{ tier = "dm", base = {base}, slice = "A", element = "B" }}
read = "{text[0]}"
write = "{text[1]}"
{where}"""


def store(name: str = "store", base: int = 0, to: int = 8192) -> str:
    return f"""
[transfer.{name}]
dtype = "i8"
source = {{ tier = "dm", base = {base}, slice = "A", element = "B" }}
dest = {{ tier = "hbm", base = {to}, element = "A, B" }}
stream = {{ time = "A", packet = "B" }}
"""


def access(name: str, engine: str, base: int, context: str = "main", rows: str = "") -> str:
    element, time, packet = (f"{rows}, W # 128", rows, "W") if rows else ("B", "B / 8", "B % 8")
    return f"""
[access.{name}]
engine = "{engine}"
context = "{context}"
dtype = "i8"
memory = {{ tier = "dm", base = {base}, slice = "64", element = "{element}" }}
stream = {{ time = "{time}", packet = "{packet}" }}
"""


def steps(*lines: str, more: str = "") -> str:
    return f"\n[program.p]\n{more}\n" + "\n".join(f"[[program.p.step]]\n{line}" for line in lines) + "\n"


def judged(*parts: str, **options: Mapping[str, str]) -> Verdict:
    return next(v for v in api.check(HEAD + "".join(parts), options=Options(**options)) if v.name == "p")  # type: ignore[arg-type]


def errors(verdict: Verdict) -> set[str]:
    return {finding.rule for finding in verdict.errors}


def only(verdict: Verdict, rule: str) -> Finding:
    (found,) = [finding for finding in verdict.findings if finding.rule == rule]
    return found


# ---------------------------------------------------------------- hazards


def test_a_fetch_that_does_not_wait_for_its_load_is_a_hazard() -> None:
    verdict = judged(load(), access("use", "fetch", 0), steps('transfer = "load"', 'access = "use"'))
    assert errors(verdict) == {"core/hazard-raw"}
    witness = only(verdict, "core/hazard-raw").witness
    assert witness is not None
    assert witness["byte"] == "dm, slice 0, byte 0"
    assert set(witness["first_at"]["counters"].values()) == {0}
    assert witness["second_at"]["does"] == "reads"


def test_a_fetch_that_waits_is_fine() -> None:
    verdict = judged(load(), access("use", "fetch", 0), steps('transfer = "load"', 'access = "use"\nafter = ["load"]'))
    assert verdict.status is Status.PROVED


@pytest.mark.parametrize(("base", "wanted"), [(63, {"core/hazard-raw"}), (64, set())])
def test_the_last_byte_of_the_load_decides(base: int, wanted: set[str]) -> None:
    verdict = judged(load(), access("use", "fetch", base), steps('transfer = "load"', 'access = "use"'))
    assert errors(verdict) == wanted


def test_a_load_over_bytes_that_a_store_still_reads() -> None:
    parts = (store(), load("next", engine=1))
    assert errors(judged(*parts, steps('transfer = "store"', 'transfer = "next"'))) == {"core/hazard-war"}
    assert errors(judged(*parts, steps('transfer = "store"', 'transfer = "next"\nafter = ["store"]'))) == set()


def test_two_loads_into_the_same_bytes_on_two_engines() -> None:
    parts = (load("one", engine=0), load("two", engine=1, source=8192))
    both = steps('transfer = "one"', 'transfer = "two"')
    assert errors(judged(*parts, both)) == {"core/hazard-waw"}
    same = (load("one", engine=0), load("two", engine=0, source=8192))
    assert errors(judged(*same, both)) == set()


def test_the_same_bytes_of_another_place_are_no_hazard() -> None:
    other = load("two", engine=1).replace('tier = "dm", base = 0', 'tier = "dm", base = { cluster = 1 }')
    other = other.replace("DM/D@(0, 0, 0, 0)", "DM/D@(0, 1, 0, 0)")
    assert errors(judged(load("one", engine=0), other, steps('transfer = "one"', 'transfer = "two"'))) == set()


def test_columns_that_interleave_are_apart_and_a_shared_column_is_found() -> None:
    left = load("one", engine=0)
    apart, shared = load("two", base=64, engine=1), load("two", base=56, engine=1)
    both = steps('transfer = "one"', 'transfer = "two"')
    assert errors(judged(left, apart, both)) == set()
    found = only(judged(left, shared, both), "core/hazard-waw")
    assert found.witness is not None
    assert found.witness["byte"] == "dm, slice 0, byte 56"


def test_accesses_of_one_operation_run_together() -> None:
    parts = (access("f", "fetch", 0), access("c", "commit", 32))
    assert errors(judged(*parts, steps('access = ["f", "c"]'))) == {"core/hazard-war"}
    assert errors(judged(parts[0], access("c", "commit", 64), steps('access = ["f", "c"]'))) == set()


def test_steps_that_wait_for_each_other_never_end() -> None:
    verdict = judged(load(), store(), steps('transfer = "load"\nafter = ["store"]', 'transfer = "store"'))
    assert errors(verdict) == {"core/well-formed"}
    assert any("nothing else was judged" in said for said in verdict.assumptions)


def test_a_step_that_is_wrong_by_itself_refutes_the_program() -> None:
    wrong = load().replace("A=64:slice_stride", "A=64:2 * slice_stride")
    assert "core/steps" in errors(judged(wrong, steps('transfer = "load"')))
    assert errors(judged(load(), steps('transfer = "load"'))) == set()


# ---------------------------------------------------------------- regions


def region(name: str, base: int, size: int, more: str = "") -> str:
    return f'\n[region.{name}]\ntier = "dm"\nextent = {{ slice = 64 }}\nbase = {base}\nsize = {size}\n{more}\n'


@pytest.mark.parametrize(("base", "wanted"), [(64, set()), (63, {"core/regions"})])
def test_regions_may_touch_but_not_share_a_byte(base: int, wanted: set[str]) -> None:
    parts = (region("x", 0, 64), region("y", base, 64), load(base=4096))
    assert errors(judged(*parts, steps('transfer = "load"', more='regions = ["x", "y"]'))) == wanted


@pytest.mark.parametrize(("size", "wanted"), [(524288, set()), (524289, {"core/region-capacity"})])
def test_a_slice_holds_512_kib(size: int, wanted: set[str]) -> None:
    assert errors(judged(region("x", 0, size), load(), steps('transfer = "load"', more='regions = ["x"]'))) == wanted


@pytest.mark.parametrize(("slices", "wanted"), [(256, set()), (257, {"core/region-capacity"})])
def test_a_cluster_has_256_slices(slices: int, wanted: set[str]) -> None:
    wide = region("x", 0, 64).replace("slice = 64", f"slice = {slices}")
    assert errors(judged(wide, load(), steps('transfer = "load"', more='regions = ["x"]'))) == wanted


@pytest.mark.parametrize(("size", "wanted"), [(64, set()), (63, {"core/regions"})])
def test_a_region_holds_what_is_written_to_it(size: int, wanted: set[str]) -> None:
    text = steps('transfer = "load"\nwrites = "x"', more='regions = ["x"]')
    assert errors(judged(region("x", 0, size), load(), text)) == wanted


@pytest.mark.parametrize(("base", "wanted"), [(8, set()), (12, {"core/regions"})])
def test_what_reaches_across_a_region_is_the_tensor_that_does(base: int, wanted: set[str]) -> None:
    """Rows on both sides of a region reach across none of it, whatever else their step reads there."""
    tensors = {"rows": (0, "M, W # 64"), "inside": (base, "W")}
    parts = [
        f'[access.{name}]\nengine = "fetch"\ndtype = "i8"\n'
        f'memory = {{ tier = "dm", base = {at}, slice = "64", element = "{element}" }}\nstream = {{ packet = "W" }}\n'
        for name, (at, element) in tensors.items()
    ]
    parts[0] = parts[0].replace("{ packet", '{ time = "M", packet')
    step = steps('name = "both"\naccess = ["rows", "inside"]', more='regions = ["x"]')
    assert errors(judged(region("x", 8, 8), *parts, step)) == wanted


def test_regions_share_bytes_one_after_the_other() -> None:
    lives = region("x", 0, 64, 'lifetime = ["load", "store"]'), region("y", 0, 64, 'lifetime = ["again", "again"]')
    parts = (*lives, load(), store(), load("again", source=16384))
    head = 'regions = ["x", "y"]'
    one = steps('transfer = "load"', 'transfer = "store"', 'transfer = "again"', more=head)
    assert errors(judged(*parts, one)) == set()
    free = one.replace('transfer = "again"', 'transfer = "again"\ncontext = "elsewhere"')
    assert {"core/regions", "core/hazard-war", "core/hazard-waw"} <= errors(judged(*parts, free))


def test_a_step_outside_of_the_lifetime_is_found() -> None:
    parts = (region("x", 0, 64, 'lifetime = ["load", "load"]'), load(), store())
    inside = steps('transfer = "load"\nwrites = "x"', more='regions = ["x"]')
    assert errors(judged(*parts, inside)) == set()
    late = steps('transfer = "load"', 'transfer = "store"\nreads = "x"', more='regions = ["x"]')
    assert errors(judged(*parts, late)) == {"core/lifetime"}


# ---------------------------------------------------------------- bank starvation


def beside(rows: str, context_rows: str = "M") -> str:
    return "".join(
        (
            load(base=262144), access("f", "fetch", 0, "main", rows), access("s", "fetch", 16384, "sub", context_rows),
            steps('transfer = "load"', 'access = "f"', 'access = "s"'),
        )
    )  # fmt: skip


def test_63_accesses_beside_dma_are_answered_64_are_not() -> None:
    assert errors(judged(beside("Y"))) == set()  # 32 + 30 + 1
    found = only(judged(beside("X")), "rngd/bank-starvation")  # 33 + 30 + 1
    assert found.values["total"] == 64
    assert found.values["outcome"] == "serialise"
    assert found.witness is not None
    assert found.witness["runs"] == {"f": 33, "s": 30}


def test_readings_move_the_edge_by_one() -> None:
    for reading in ({"starvation/threshold": "more-than-64"}, {"starvation/dma-request": "not-counted"}):
        assert errors(judged(beside("X"), readings=reading)) == set()
    assert any("differs under threshold=more-than-64" in said for said in judged(beside("X")).assumptions)


def test_the_layout_that_is_proposed_ends_the_starvation() -> None:
    found = only(judged(beside("X")), "rngd/bank-starvation")
    assert "with rows `W # 136`" in found.hint
    padded = beside("X").replace('element = "X, W # 128"', 'element = "X, W # 136"')
    assert errors(judged(padded)) == set()


def test_what_is_ordered_after_dma_does_not_starve_it() -> None:
    text = beside("X").replace('access = "f"', 'access = "f"\nafter = ["load"]')
    assert errors(judged(text)) == set()


def test_dma_in_other_slices_is_not_starved() -> None:
    there = 'dest = { tier = "dm", base = { cluster = 1, element = 262144 }'
    text = beside("X").replace('dest = { tier = "dm", base = 262144', there)
    text = text.replace("DM/D@(0, 0, 0, 262144)", "DM/D@(0, 1, 0, 262144)")
    assert errors(judged(text)) == set()


# ---------------------------------------------------------------- routes and moves in place


def hop(through: str) -> str:
    return f"""
[transfer.one]
dtype = "i8"
source = {{ tier = "hbm", element = "A, B" }}
dest = {{ tier = "{through}", element = "A, B" }}
stream = {{ time = "A", packet = "B" }}
[transfer.two]
dtype = "i8"
source = {{ tier = "{through}", element = "A, B" }}
dest = {{ tier = "dm", slice = "A", element = "B" }}
stream = {{ time = "A", packet = "B" }}
"""


def test_a_hop_that_nobody_needs_is_advice_with_the_direct_route() -> None:
    verdict = judged(hop("spm"), steps('transfer = "one"', 'transfer = "two"'))
    assert verdict.status is Status.PROVED
    assert 'dest = { tier = "dm", base = 0, slice = "A", element = "B" }' in only(verdict, "core/needless-hop").hint


def test_a_tensor_that_somebody_else_reads_is_no_needless_hop() -> None:
    third = """
[transfer.three]
dtype = "i8"
source = { tier = "spm", element = "A, B" }
dest = { tier = "hbm", base = 8192, element = "A, B" }
stream = { time = "A", packet = "B" }
"""
    both = ('transfer = "one"', 'transfer = "two"')
    head, second = hop("spm").split("[transfer.two]")
    for verdict in (
        judged(hop("spm"), third, steps(*both, 'transfer = "three"')),
        judged(f"{head}[transfer.two]{second.replace('i8', 'f8e4m3')}", steps(*both)),  # of another type
    ):
        assert not any(finding.rule == "core/needless-hop" for finding in verdict.findings)


def in_place(dest: int, time: str = "A", source: int = 64) -> Verdict:
    text = f"""
[transfer.p]
dtype = "i8"
source = {{ tier = "hbm", base = {source}, element = "A, B" }}
dest = {{ tier = "hbm", base = {dest}, element = "A, B" }}
stream = {{ time = "{time}", packet = "B" }}
"""
    return judged(text)


def test_a_move_down_in_memory_is_safe_in_order_and_a_move_up_is_not() -> None:
    assert errors(in_place(0)) == set()
    found = only(in_place(64, source=0), "core/overlap")
    assert found.witness is not None
    assert found.witness["written_by"]["counters"]["A"] < found.witness["read_later_by"]["counters"]["A"]
    assert errors(in_place(64 * 64, source=0)) == set()


# ---------------------------------------------------------------- words


def test_the_rule_on_starvation_is_explained_with_both_edges() -> None:
    from dmaverify.report.rules import explain_id, explain_id_json

    text = explain_id("rngd/bank-starvation")
    assert "total = 63 is fine, 64 is not" in " ".join(text.split())
    assert "starvation/threshold" in text
    assert explain_id_json("rngd/bank-starvation")["edge"]["first_bad"] == {"total": 64}
    assert "core/hazard-raw" in explain_id("core/hazard-raw")
