"""Stores that accumulate, tokens of both modes, bytes that another core writes; both sides of each edge."""

from __future__ import annotations

import pytest

from dmaverify.api import check as check_plan
from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status, Verdict

HEAD = """func.func @k(%a: !pto.ptr<f32, gm>, %b: !pto.ptr<f32, gm>, %f: i1) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c4 = arith.constant 4 : i64
  %c8 = arith.constant 8 : i64
  %c100 = arith.constant 100 : i64
  %c126 = arith.constant 126 : i64
  %c128 = arith.constant 128 : i64
  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
"""
LOAD = "  pto.mte_gm_ub %a, %u, %c0, %c128 nburst(%c8, %c128, %c128) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64\n"
STORE = "  pto.mte_ub_gm %u, %b, %c128 nburst(%c8, %c128, {0}) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64\n"
BOTH = STORE.format("%c128")
SYNC = "".join(f'  pto.{a}_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]\n' for a in ("set", "wait"))
ADD, NONE = "  pto.set_atomic_add\n", "  pto.set_atomic_none\n"


def check(body: str) -> Verdict:
    (found,) = check_text(Source("k.mlir", f"{HEAD}{body}  return\n}}\n"))
    return found


def ran(body: str) -> set[str]:
    _, (function,) = read_kernels(Source("k.mlir", f"{HEAD}{body}  return\n}}\n"))
    return run_kernel(function, {"a": 4096, "b": 4096}).found


def errors(verdict: Verdict) -> set[str]:
    return {f.rule for f in verdict.errors}


# ---------------------------------------------------------------- atomic stores


def test_stores_of_one_atomic_mode_need_no_order_between_them() -> None:
    body = LOAD + SYNC + ADD + BOTH + BOTH + NONE
    verdict = check(body)
    assert verdict.status is Status.PROVED
    assert any("one atomic mode may come in any order" in said for said in verdict.assumptions)
    assert ran(body) == set()
    plain = LOAD + SYNC + BOTH + BOTH
    assert errors(check(plain)) == {"core/hazard-waw"}
    assert not any("atomic" in said for said in check(LOAD + SYNC + BOTH).assumptions)


@pytest.mark.parametrize(
    "body",
    [
        ADD + BOTH + NONE + BOTH,  # an atomic store, then a plain one
        BOTH + ADD + BOTH + NONE,  # the sum is that of what was there: it must have been written
        ADD + BOTH + "  pto.set_atomic_max\n" + BOTH + NONE,  # two modes do not commute
        "  pto.set_atomic_f32\n" + ADD + BOTH + "  pto.set_atomic_f16\n" + BOTH + NONE,  # nor do two types
    ],
)
def test_atomic_and_other_stores_of_the_same_bytes_need_an_order(body: str) -> None:
    assert errors(check(LOAD + SYNC + body)) == {"core/hazard-waw"}
    assert ran(LOAD + SYNC + body) == {"waw"}
    fenced = body.replace(BOTH, BOTH + '  pto.pipe_barrier "PIPE_MTE3"\n')
    assert check(LOAD + SYNC + fenced).status is Status.PROVED


def test_a_load_of_what_is_added_to_needs_an_order() -> None:
    again = LOAD.replace("%a", "%b").replace("%u", "%v")
    other = "  %c4096 = arith.constant 4096 : i64\n  %v = pto.castptr %c4096 : i64 -> !pto.ptr<f32, ub>\n"
    body = other + LOAD + SYNC + ADD + BOTH + NONE + again
    assert errors(check(body)) == {"core/hazard-raw"}


def test_the_type_and_the_operation_are_set_in_either_order() -> None:
    kinds = ["  pto.set_atomic_f32\n" + ADD, ADD + "  pto.set_atomic_f32\n"]
    for kind in kinds:
        assert check(LOAD + SYNC + kind + BOTH + BOTH + NONE).status is Status.PROVED
    assert check(LOAD + SYNC + kinds[0] + BOTH + kinds[1] + BOTH + NONE).status is Status.PROVED


def test_a_mode_that_depends_on_the_path_commutes_with_nothing() -> None:
    first = "  scf.if %f {\n" + ADD + "  }\n"
    assert check(LOAD + SYNC + first + BOTH + NONE).status is Status.PROVED
    assert errors(check(LOAD + SYNC + first + BOTH + BOTH + NONE)) == {"core/hazard-waw"}
    left = check(LOAD + SYNC + BOTH + first)
    assert [f.message for f in left.findings] == ["the store mode is left on, on one path"]


def test_overlapping_rows_of_an_atomic_store_add_up_and_are_said() -> None:
    rows = STORE.format("%c0")
    plain = check(LOAD + SYNC + rows)
    assert errors(plain) == {"pto/row-overlap"}
    verdict = check(LOAD + SYNC + ADD + rows + NONE)
    assert verdict.status is Status.PROVED
    line = (HEAD + LOAD + SYNC + ADD).count("\n") + 1
    assert any(f"rows of the atomic store at line {line} may overlap" in said for said in verdict.assumptions)
    halves = STORE.format("%c126")  # elements that share only half of their bytes
    assert errors(check(LOAD + SYNC + ADD + halves + NONE)) == {"pto/row-overlap"}
    assert ran(LOAD + SYNC + ADD + halves + NONE) == {"rows"}


def test_an_atomic_store_is_no_move_that_can_be_claimed() -> None:
    plan = """schema = 1
target = "pto"
[axes]
R = 8
C = 32
[kernel.k]
text = '''
{0}  return
}}
'''
[[kernel.k.move]]
copies = [2]
dtype = "f32"
source = {{ tier = "ub", base = 0, element = "R, C" }}
dest = {{ tier = "gm", root = "%b", base = 0, element = "R, C" }}
"""
    plan = plan.replace(', root = "%b"', "")
    (plain,) = check_plan(plan.format(HEAD + LOAD + SYNC + BOTH))
    assert plain.status is Status.PROVED
    (verdict,) = check_plan(plan.format(HEAD + LOAD + SYNC + ADD + BOTH + NONE))
    assert verdict.status is Status.UNKNOWN
    assert any("it accumulates, which is no move" in f.message for f in verdict.findings)


# ---------------------------------------------------------------- tokens


def tokens(mode: str, *, get: str = "0") -> str:
    body = f'  pto.get_buf "PIPE_MTE2", 0, {mode}\n' + LOAD + f'  pto.rls_buf "PIPE_MTE2", 0, {mode}\n'
    return body + f'  pto.get_buf "PIPE_MTE3", 0, {get}\n' + BOTH + f'  pto.rls_buf "PIPE_MTE3", 0, {get}\n'


def test_a_get_of_mode_one_orders_nothing_and_its_release_does() -> None:
    assert check(tokens("0")).status is Status.PROVED
    verdict = check(tokens("1"))
    assert verdict.status is Status.PROVED
    assert any("buffers of mode 1" in said and "inferred" in said for said in verdict.assumptions)
    assert errors(check(tokens("0", get="1"))) == {"core/hazard-raw"}
    assert ran(tokens("0", get="1")) == {"raw"}
    assert ran(tokens("1")) == set()


def test_a_release_of_mode_one_speaks_for_all_that_hold_the_buffer() -> None:
    body = '  pto.get_buf "PIPE_MTE2", 0, 0\n' + LOAD + '  pto.get_buf "PIPE_V", 0, 1\n'
    body += '  pto.rls_buf "PIPE_V", 0, {0}\n  pto.get_buf "PIPE_MTE3", 0, 0\n' + BOTH
    body += '  pto.rls_buf "PIPE_MTE3", 0, 0\n  pto.rls_buf "PIPE_MTE2", 0, 0\n'
    assert check(body.replace("{0}", "1")).status is Status.PROVED
    assert ran(body.replace("{0}", "1")) == set()
    assert errors(check(body.replace("{0}", "0"))) == {"core/hazard-raw"}
    assert ran(body.replace("{0}", "0")) == {"raw"}


def test_other_modes_are_not_guessed() -> None:
    verdict = check(tokens("2"))
    assert verdict.status is Status.UNKNOWN
    assert any("mode 2: only 0 and 1 have a meaning" in o.why for o in verdict.obligations)


# ---------------------------------------------------------------- another core, other arguments


@pytest.mark.parametrize("wait", ["pto.sync.wait <PIPE_MTE3>, 3", "pto.wait_flag_dev 3", "%x = pto.tpop %f : i1 -> i1"])
def test_bytes_that_nothing_wrote_here_are_those_of_the_other_core_where_it_is_waited_for(wait: str) -> None:
    assert errors(check(BOTH)) == {"core/definite"}
    unsaid = check(f"  {wait}\n" + BOTH)
    assert unsaid.status is Status.UNKNOWN
    (why,) = [o.why for o in unsaid.obligations if o.status == "unknown" and o.id == "core/definite"]
    assert "line 11 waits for the other core: state what that wrote (`// dmaverify: other core writes ub 0" in why
    said = "  // dmaverify: other core writes ub 0..1023\n"
    verdict = check(f"{said}  {wait}\n" + BOTH)
    assert verdict.status is Status.PROVED
    assert "bytes 0 to 1,023 of UB are written by the other core before line 12 goes on" in verdict.assumptions
    assert errors(check(said.replace("1023", "1022") + f"  {wait}\n" + BOTH)) == {"core/definite"}
    assert "core/definite" in errors(check(said + BOTH + f"  {wait}\n"))  # a wait behind the read excuses nothing


HELD = "  // dmaverify: other core writes ub 0..1023\n  pto.sync.wait {0}, 3\n"
ON = "".join(f'  pto.{a}_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]\n' for a in ("set", "wait"))


@pytest.mark.parametrize("pipe", ["<PIPE_V>", '"PIPE_V"', "#pto.pipe<PIPE_V>"])
def test_a_wait_of_one_pipe_holds_that_pipe_alone(pipe: str) -> None:
    """Bytes of the other core are there for the pipe that waited, and for those that it tells."""
    alone = HELD.format(pipe) + BOTH
    verdict = check(alone)
    assert errors(verdict) == {"core/hazard-raw"}
    assert verdict.errors[0].message == "MTE3 reads bytes of UB that the other core writes, and only V waits for it"
    assert check(HELD.format(pipe) + ON + BOTH).status is Status.PROVED
    assert check(HELD.format(pipe).replace("_V", "_MTE3") + BOTH).status is Status.PROVED
    assert check(HELD.format(pipe).replace("_V", "_S") + BOTH).status is Status.PROVED  # nothing behind it is issued
    assert errors(check(HELD.format(pipe) + LOAD + SYNC + BOTH)) >= {"core/hazard-waw"}  # arrived bytes may come later


def test_what_came_before_a_wait_needs_a_release_in_order() -> None:
    """The other core may fill the buffer at any time before the wait, unless it is let go behind the work on it."""
    before, behind = LOAD + SYNC + BOTH, HELD.format("<PIPE_V>") + ON + BOTH.replace("%b", "%a")
    assert "core/hazard-war" in errors(check(before + behind))
    assert check(before + "  pto.sync.set <PIPE_MTE3>, 4\n" + behind).status is Status.PROVED
    assert "core/hazard-war" in errors(check(before + "  pto.sync.set <PIPE_MTE2>, 4\n" + behind))


CORES = """  pto.section.cube {{
    pto.sync.set <PIPE_FIX>, {0}
  }}
  pto.section.vector {{
    pto.sync.wait <PIPE_V>, {1}
  }}
"""


@pytest.mark.parametrize(("ids", "said"), [((3, 3), ""), ((19, 3), ""), ((3, 4), "never"), ((3, 5), "never")])
def test_a_flag_of_the_other_core_that_nobody_sets_is_found(ids: tuple[int, int], said: str) -> None:
    verdict = check(CORES.format(*ids) + LOAD)
    assert errors(verdict) == ({"core/flags"} if said else set())
    assert len(verdict.errors) == (2 if said else 0)
    alone = check("  pto.sync.wait <PIPE_MTE2>, 4\n" + LOAD)  # its other side stands elsewhere
    assert alone.status is Status.PROVED
    other = check("  pto.sync.wait <PIPE_V>, 4\n" + LOAD)  # the load may come while that core still writes
    assert other.status is Status.UNKNOWN


def test_the_unknown_rest_of_a_block_is_no_gift_of_another_core() -> None:
    tail = LOAD.replace("%c128 nburst", "%c100 nburst")
    assert errors(check("  pto.wait_flag_dev 3\n" + tail + SYNC + BOTH)) == {"core/definite"}


def test_arguments_are_taken_as_separate_tensors_and_it_is_said() -> None:
    said = "GM tensors behind different arguments do not overlap"
    assert said in check(LOAD + SYNC + BOTH).assumptions
    assert said not in check(LOAD).assumptions
    assert said not in check(LOAD + SYNC + BOTH.replace("%b", "%a")).assumptions
