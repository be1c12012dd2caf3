"""Views, loops and programs with symbols: both sides of every edge, and what the interpreter says at small sizes."""

import random
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from lab.draws import rest

import dmaverify.api as api
from dmaverify.plan.read import InputErrors, read_plan_text
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.attempt import attempt
from dmaverify.prove.sizes.check import verdict_at

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))
from looped import looped
from sizes import compared, run_at

PLAN = """schema = 1
target = "rngd"
[axes]
A = { min = 4, max = 64, multiple_of = 4 }
C = { min = 16, max = 64, multiple_of = 8 }
[transfer.load]
dtype = "i8"
loop = { t = "A / 4" }
source = { tier = "hbm", element = "A, C", view = { tile = "A", length = 4, start = "4 * t" } }
dest = { tier = "dm", slice = "1 # 64", element = "A = 4, C" }
stream = { time = "A = 4", packet = "C" }
[transfer.store]
dtype = "i8"
loop = { t = "A / 4" }
source = { tier = "dm", base = 4096, slice = "1 # 64", element = "A = 4, C" }
dest = { tier = "hbm", base = "2^24", element = "A, C", view = { tile = "A", length = 4, start = "4 * t" } }
stream = { time = "A = 4", packet = "C" }
[access.use]
engine = "fetch"
dtype = "i8"
loop = { t = "A / 4" }
memory = { tier = "dm", slice = "1 # 64", element = "A = 4, C" }
stream = { time = "A = 4, C / 8", packet = "C % 8" }
[access.make]
engine = "commit"
dtype = "i8"
loop = { t = "A / 4" }
memory = { tier = "dm", base = 4096, slice = "1 # 64", element = "A = 4, C" }
stream = { time = "A = 4, C / 8", packet = "C % 8" }
[program.p]
step = [
  { transfer = "load" }, { access = ["use", "make"], after = ["load"] }, { transfer = "store", after = ["use+make"] },
]
"""
STORED = 'base = "2^24", element = "A, C", view = { tile = "A", length = 4, start = "4 * t" }'


def changed(*pairs: tuple[str, str]) -> str:
    text = PLAN
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("pairs", "name", "status", "rules"),
    [
        ((), "p", "proved", set()),
        (((STORED, STORED.replace('"4 * t"', '"A - 4 - 4 * t"')),), "p", "proved", set()),
        (((STORED, STORED.replace('"4 * t"', '"4 * t + 1"')),), "store", "refuted", {"core/in-bounds"}),
        (((STORED, STORED.replace('"4 * t"', '"t"')),), "p", "refuted", {"core/tiles-once", "core/tiles-cover"}),
        (((STORED, STORED.replace('"4 * t"', '"0"')),), "p", "refuted", {"core/tiles-cover"}),
        (((STORED, STORED.replace("length = 4", "length = 4, partial = true")),), "p", "proved", set()),
        ((('t = "A / 4"', 't = "A / 4 + 1"'),), "load", "refuted", {"core/in-bounds"}),
        ((('t = "A / 4"', 't = "A / 8"'),), "load", "refuted", {"core/well-formed"}),
        ((('t = "A / 4"', 't = "(A + 4) // 8"'),), "p", "refuted", {"core/tiles-cover"}),
        ((("base = 4096", "base = 256"),), "p", "proved", set()),
        ((("base = 4096", "base = 248"),), "p", "refuted", {"core/hazard-war"}),
        (((', after = ["load"]', ""),), "p", "refuted", {"core/hazard-raw"}),
        (((', after = ["use+make"]', ""),), "p", "refuted", {"core/hazard-raw"}),
        ((('{ transfer = "load" }', '{ transfer = "load", context = "x" }'),), "p", "refuted", {"core/hazard-war"}),
        ((("[program.p]\n", '[program.p]\norder = "written"\n'),), "p", "proved", set()),
        ((('"A = 4", packet', '"A = 2", packet'),), "load", "refuted", {"core/covers"}),
        ((('t = "A / 4"', 't = "A / 4 + A // 32"'),), "load", "refuted", {"core/in-bounds"}),
    ],
)
def test_loops_and_programs_are_judged_for_all_sizes(pairs: tuple, name: str, status: str, rules: set[str]) -> None:
    (verdict,) = api.check(changed(*pairs), name)
    assert verdict.status.value == status, verdict
    assert {f.rule for f in verdict.errors} >= rules
    assert (verdict.smallest is not None) == (status == "refuted")


@pytest.mark.parametrize(
    ("dest", "proved"), [('tier = "hbm", base = "2^26"', True), ('tier = "dm", base = 131072', False)]
)
def test_an_access_may_run_beside_dma_in_another_memory(dest: str, proved: bool) -> None:
    copy = (
        '[transfer.copy]\ndtype = "i8"\nsource = { tier = "hbm", base = "2^25", element = "A, C" }\n'
        f'dest = {{ {dest}, element = "A, C" }}\nstream = {{ time = "A", packet = "C" }}\n[program.p]'
    )
    step = '{ transfer = "store", after = ["use+make"] },\n  { transfer = "copy", context = "x" },'
    text = changed(("[program.p]", copy), ('{ transfer = "store", after = ["use+make"] },', step))
    one = next(t for t in read_plan_text(text).templates if t.name == "p")
    done = attempt(one, {"A": 16, "C": 24}, Options(), generic=True)
    assert (done.status == "proved") is proved
    assert proved or done.rule == "rngd/bank-starvation"
    assert not proved or verdict_at(one, {"A": 16, "C": 24}, Options(repair=False)).status.value == "proved"


def test_what_a_proof_of_a_program_rests_on_is_said() -> None:
    said = {one.name: " ".join(one.assumptions) for one in api.check(PLAN)}
    assert "share one" in said["p"]
    assert "each iteration was judged by itself" in said["load"]


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ((("length = 4", 'length = "X"'),), "`X` is no number"),
        ((('"4 * t"', '"4 * u"'),), "no loop `u`"),
        ((('"4 * t"', '"t * t"'), ("min = 4,", "min = 8,")), "two loop indices cannot be multiplied"),
    ],
)
def test_numbers_of_loops_and_views_that_cannot_be_read_are_told(pairs: tuple, said: str) -> None:
    with pytest.raises(InputErrors) as caught:
        read_plan_text(changed(*pairs))
    assert said in str(caught.value)


def test_arithmetic_in_a_loop_of_a_plan_without_symbols_asks_for_the_number() -> None:
    plain = PLAN.replace("A = { min = 4, max = 64, multiple_of = 4 }", "A = 16")
    with pytest.raises(InputErrors, match="`t` must be an integer"):
        read_plan_text(plain.replace("C = { min = 16, max = 64, multiple_of = 8 }", "C = 16").replace("2^24", "0"))


@pytest.mark.parametrize(("seed", "proved", "refuted"), [(6, 15, 10), *rest([(2, 50, 0), (24, 30, 3)])])
def test_the_interpreter_judges_all_sizes_of_a_region_alike(
    seed: int, proved: int, refuted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: Counter[str] = Counter()
    monkeypatch.setattr("sizes.MOST_SIZES", 12)
    drawn = looped(random.Random(seed))
    for one in read_plan_text(drawn.text).templates:
        judge = partial(run_at, drawn, counts=counts)
        assert compared(seed, one, judge, counts, searches=False, kind="loops") == []
    assert counts["run proved"] >= proved
    assert counts["size refuted"] >= refuted


COLUMNS = """schema = 1
target = "rngd"
[axes]
A = { min = 4, max = 64 }
C = { min = 16, max = 128, multiple_of = 8 }
[transfer.t]
dtype = "i8"
loop = { t = "(C - 16) / STEP + 1" }
source = { tier = "hbm", element = "A, C", view = { tile = "C", length = 16, start = "STEP * t" } }
dest = { tier = "dm", slice = "1 # 64", element = "DEST" }
stream = { time = "TIME", packet = "C = 16" }
"""


@pytest.mark.parametrize(
    ("step", "dest", "time", "rule"),
    [
        ("8", "A, C = 16", "A", ""),
        ("4", "A, C = 16", "A", "rngd/"),
        ("8", "A, C = 16 # 24", "A", ""),
    ],
)
def test_rules_are_asked_of_iterations_behind_the_first(step: str, dest: str, time: str, rule: str) -> None:
    (verdict,) = api.check(COLUMNS.replace("STEP", step).replace("DEST", dest).replace("TIME", time))
    assert verdict.status.value == ("refuted" if rule else "proved")
    assert all(finding.rule.startswith(rule) for finding in verdict.errors)
    assert verdict.smallest == ({"A": 4, "C": 24} if rule else None)


@pytest.mark.parametrize(("base", "smallest"), [(2**32 - 64 * 64, None), (2**32 - 32 * 64, 33)])
def test_bounds_of_addresses_hold_in_the_last_iteration_of_every_size(base: int, smallest: int | None) -> None:
    view = 'view = { tile = "N", length = 1, start = "t" }'
    text = (
        'schema = 1\ntarget = "idma"\n[axes]\nN = { min = 8, max = 64 }\nC = 64\n[transfer.t]\ndtype = "i8"\n'
        f'loop = {{ t = "N" }}\nsource = {{ tier = "mem", base = {base}, element = "N, C", {view} }}\n'
        f'dest = {{ tier = "mem", base = 65536, element = "N, C", {view} }}\n'
        'stream = { time = "N = 1", packet = "C" }\n'
    )
    (verdict,) = api.check(text)
    assert {f.rule for f in verdict.errors} == (set() if smallest is None else {"idma/address-wrap"})
    assert verdict.smallest == (None if smallest is None else {"N": smallest})


def test_a_run_that_reads_the_holes_of_a_moving_tile_proves_nothing() -> None:
    text = changed(
        ('dest = { tier = "dm", slice = "1 # 64", element = "A = 4, C" }\nstream = { time = "A = 4",',
         'dest = { tier = "dm", slice = "1 # 64", element = "A = 4 # 8, C" }\nstream = { time = "A = 4 # 8",'),
    )  # fmt: skip
    one = next(t for t in read_plan_text(text).templates if t.name == "load")
    done = attempt(one, {"A": 16, "C": 24}, Options(), generic=True)
    assert (done.status, done.rule) == ("open", "core/reads-live")
    assert verdict_at(one, {"A": 16, "C": 24}, Options(repair=False)).status.value == "refuted"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", ""),
        ('{ transfer = "load" }, { access = ["use", "make"], after = ["load"] }, ', '{ transfer = "load" }, ',
         "`load` may write dm A = 4, C again before all that `load` wrote is read"),
        ('source = { tier = "dm", base = 4096', 'source = { tier = "dm", base = 4104',
         "`store` reads as dm slice `1 # 64`, element `A = 4, C` at 4,104 what `use+make` writes as"),
    ],
    ids=("right", "loop", "declared"),
)  # fmt: skip
def test_a_tensor_that_is_written_again_unread_is_a_condition_at_all_sizes(old: str, new: str, said: str) -> None:
    text = PLAN.replace(', after = ["use+make"]', "") if said[:3] == "`lo" else PLAN
    (verdict,) = api.check(text.replace(old, new), "p")
    told = [one for one in verdict.conditions if "share one" not in one]
    assert verdict.status.value == "proved", verdict
    assert bool(told) == bool(said)
    assert said in {one[: len(said)] for one in (*told, "")}


WHOLE = """schema = 1
target = "rngd"
[axes]
A = { min = 4, max = 64, multiple_of = 4 }
C = { min = 16, max = 64, multiple_of = 8 }
"""
WHOLE_MOVE = (
    '[transfer.{}]\ndtype = "i8"\nloop = {{ t = 3 }}\nsource = {{ tier = "hbm", base = "{}", element = "A, C" }}\n'
    'dest = {{ tier = "{}", base = "{}"{}, element = "A, C" }}\nstream = {{ time = "A", packet = "C" }}\n'
)


@pytest.mark.parametrize(
    ("steps", "said"), [("a use b", True), ("a use b use2", False), ("a b use", True), ("use a use2 b", False)]
)
def test_two_writes_of_a_loop_are_both_read_at_all_sizes(steps: str, said: bool) -> None:
    """What the second wrote is read before the first comes around."""
    moves = [WHOLE_MOVE.format(n, at, "hbm", "2^22", "") for n, at in (("a", "2^23"), ("b", "2^24"))]
    moves += [WHOLE_MOVE.format(n, "2^22", "dm", at, ', slice = "1 # 64"') for n, at in (("use", 0), ("use2", 8192))]
    order = ", ".join(f'{{ transfer = "{name}" }}' for name in steps.split())
    (verdict,) = api.check(f'{WHOLE}{"".join(moves)}[program.p]\norder = "written"\nstep = [{order}]\n', "p")
    assert verdict.status.value == "proved", verdict
    assert any("may write hbm A, C again" in one for one in verdict.conditions) == said, verdict.conditions


AGAIN = """schema = 1
target = "rngd"
[axes]
A = { min = 4, max = 64, multiple_of = 4 }
C = { min = 16, max = 64, multiple_of = 8 }
[free]
U = { min = 1, max = MOST }
"""
AGAIN_MOVE = (
    '[transfer.{}]\ndtype = "{}"\nloop = {{ LOOPS }}\nsource = {{ {} }}\ndest = {{ {} }}\n'
    'stream = {{ time = "A = 4", packet = "C" }}\n'
)


@pytest.mark.parametrize("loops", ['t = "A / 4", u = "U"', *rest(['u = "U", t = "A / 4"'])])
@pytest.mark.parametrize(
    ("read", "most", "status"),
    [
        (None, 3, "refuted"),
        (None, 1, "proved"),
        (("4 * t", "i8", "same"), 3, "proved"),
        (("A - 4 - 4 * t", "i8", "same"), 3, "unknown"),
        (("4 * t", "i16", "same"), 3, "unknown"),
        (("4 * t", "i8", "after"), 3, "refuted"),
    ],
    ids=("unread", "once", "read", "of another tile", "of another type", "behind the loop"),
)
def test_a_loop_that_does_not_move_a_tile_writes_it_again_unread_at_all_sizes(
    loops: str, read: tuple[str, str, str] | None, most: int, status: str
) -> None:
    near = 'tier = "dm", base = {}, slice = "1 # 64", element = "A = 4, C"'
    far = 'tier = "hbm", base = "2^24", element = "A, C", view = {{ tile = "A", length = 4, start = "{}" }}'
    text = AGAIN.replace("MOST", str(most)) + AGAIN_MOVE.format("store", "i8", near.format(0), far.format("4 * t"))
    steps = ['{ transfer = "store" }']
    if read is not None:
        start, dtype, where = read
        one = AGAIN_MOVE.format("read", dtype, far.format(start), near.format(32768))
        text += one if where == "same" else one.replace("LOOPS", 't = "A / 4"')
        steps.append('{ transfer = "read", after = ["store"] }')
    text = text.replace("LOOPS", loops) + f"[program.p]\nstep = [{', '.join(steps)}]\n"
    (verdict,) = api.check(text, "p")
    assert verdict.status.value == status, verdict
    assert (verdict.smallest or {}).get("U") == (2 if status == "refuted" else None)
