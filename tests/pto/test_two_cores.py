"""Handovers between a kernel and another core: released too early, waited for by the wrong pipe, stated or not."""

from __future__ import annotations

import pytest

from dmaverify.errors import InputError, Source
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.program.instructions import Shared
from dmaverify.prove.options import Options
from dmaverify.verdict import Status, Verdict

HEAD = """func.func @k(%a: !pto.ptr<f32, gm>, %b: !pto.ptr<f32, gm>, %n: index) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c8 = arith.constant 8 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i5 = arith.constant 5 : index
  %far = arith.constant 4096 : i64
  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  %v = pto.castptr %far : i64 -> !pto.ptr<f32, ub>
"""
LOAD = "  pto.mte_gm_ub %a, %u, %c0, %c128 nburst(%c8, %c128, %c128) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64\n"
STORE = "  pto.mte_ub_gm %u, %b, %c128 nburst(%c8, %c128, %c128) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64\n"
ACROSS = "".join(f'  pto.{a}_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]\n' for a in ("set", "wait"))
FENCE = '  pto.pipe_barrier "PIPE_ALL"\n'
WRITES = "// dmaverify: other core writes ub 0..1023 before 3 after 4\n"
READS = "// dmaverify: other core reads ub 0..1023 after 4 before 3\n"
FED = (Shared("w", "ub", "", 0, 1024, 3, 4),)
TAKEN = (Shared("r", "ub", "", 0, 1024, 3, 4),)


def let(pipe: str, flag: int = 4) -> str:
    return f"  pto.sync.set <PIPE_{pipe}>, {flag}\n"


def wait(pipe: str, flag: int = 3) -> str:
    return f"  pto.sync.wait <PIPE_{pipe}>, {flag}\n"


def check(body: str, notes: str = "", **readings: str) -> Verdict:
    chosen = Options(readings={k.replace("_", "-"): v for k, v in readings.items()})
    (found,) = check_text(Source("k.mlir", f"{notes}{HEAD}{body}  return\n}}\n"), options=chosen)
    return found


def errors(verdict: Verdict) -> set[str]:
    return {f.rule for f in verdict.errors}


def ran(body: str, others: tuple[Shared, ...]) -> set[str]:
    _, (function,) = read_kernels(Source("k.mlir", f"{HEAD}{body}  return\n}}\n"))
    return run_kernel(function, {"a": 4096, "b": 4096}, others=others).found


# ---------------------------------------------------------------- the other core fills a buffer


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (wait("MTE3") + STORE + let("MTE3"), set()),
        (wait("MTE3") + STORE + let("V"), {"war"}),  # another pipe's set does not wait for the store
        (wait("MTE3") + let("MTE3") + STORE, {"raw"}),  # the store begins behind the release
        (wait("MTE3") + STORE + FENCE + let("V"), set()),
        (wait("MTE3") + STORE + let("ALL"), set()),
        (wait("V") + STORE + let("MTE3"), {"raw"}),
        (wait("MTE3") + STORE + let("MTE3") + wait("MTE3") + STORE + FENCE + let("S"), set()),
        (wait("MTE3") + STORE + wait("MTE3") + FENCE, {"war"}),  # filled again without a release
        (STORE + wait("MTE3"), {"war", "definite"}),
        (wait("MTE3") + STORE + let("MTE3") + LOAD, {"war", "waw"}),
        (wait("MTE3") + STORE + let("MTE3", 5), set()),  # another flag releases nothing of this buffer
    ],
)
def test_a_buffer_is_released_behind_the_last_access_of_it(body: str, found: set[str]) -> None:
    verdict = check(body, WRITES)
    ours = {rule.rpartition("-")[2].rpartition("/")[2] for rule in errors(verdict)}
    assert ran(body, FED) == found
    assert ours == found
    assert (verdict.status is Status.PROVED) == (not found)


@pytest.mark.parametrize(
    ("body", "notes", "stuck"),
    [
        (wait("MTE3") + STORE + let("MTE3"), WRITES, False),
        (wait("MTE3") + STORE + let("MTE3", 5), WRITES, True),
        (wait("MTE3") + STORE + let("MTE3", 5), WRITES.replace(" after 4", ""), False),
        (wait("MTE3") + STORE + let("MTE3", 20), WRITES, False),  # 16 flags
    ],
)
def test_a_flag_that_the_other_core_waits_for_is_set_or_a_condition(body: str, notes: str, stuck: bool) -> None:
    found = check(body + FENCE, notes)
    assert found.status is Status.PROVED
    assert ("the other core goes on although nothing here sets flag 4" in found.conditions) is stuck


def test_a_release_that_comes_too_early_names_both_lines() -> None:
    (finding,) = check(wait("MTE3") + STORE + let("V"), WRITES).errors
    assert finding.message == (
        "the other core overwrites bytes of UB that MTE3 reads, and no release comes behind that: "
        "it is let go before MTE3 is done"
    )
    assert [label.text for label in finding.labels] == ["MTE3 reads them here"]
    assert "set its flag by MTE3" in finding.hint


LOOP = "  scf.for %i = %i0 to {0} step %i1 {{\n{1}  }}\n"


@pytest.mark.parametrize("trips", ["%i5", "%n"])
def test_releases_in_loops_are_followed_over_all_iterations(trips: str) -> None:
    good = LOOP.format(trips, wait("MTE3") + STORE + let("MTE3"))
    assert check(good + FENCE, WRITES).errors == tuple(
        f for f in check(good + FENCE, WRITES).errors if f.rule == "core/hazard-waw"
    )
    bad = LOOP.format(trips, wait("MTE3") + STORE + let("V"))
    assert "core/hazard-war" in errors(check(bad + FENCE, WRITES))
    none = LOOP.format("%i5", wait("MTE3") + STORE)
    assert "core/hazard-war" in errors(check(none + FENCE, WRITES))


# ---------------------------------------------------------------- the other core takes a buffer


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (LOAD + let("MTE2") + wait("MTE2") + '  pto.pipe_barrier "PIPE_MTE2"\n' + LOAD, set()),
        (LOAD + let("MTE2") + wait("MTE2") + LOAD, set()),  # the round trip is a barrier
        (LOAD + let("MTE2") + wait("V") + LOAD, {"war", "waw"}),
        (LOAD + let("V"), {"raw"}),  # released before the load is done
        (let("MTE2") + LOAD, {"definite", "war"}),  # released before it was issued
        (LOAD + let("MTE2") + FENCE + LOAD, {"war"}),  # overwritten while the other core still reads it
        (LOAD + let("MTE2") + wait("V") + FENCE + LOAD, set()),
        (LOAD + ACROSS + let("MTE3"), set()),  # the set's pipe knows of the load by a flag
    ],
)
def test_a_buffer_is_handed_over_behind_the_last_write(body: str, found: set[str]) -> None:
    verdict = check(body, READS)
    ours = {rule.rpartition("-")[2].rpartition("/")[2] for rule in errors(verdict)}
    assert ran(body, TAKEN) == found
    assert ours == found
    assert (verdict.status is Status.PROVED) == (not found)


def test_memory_behind_an_argument_is_shared_too() -> None:
    body = LOAD + ACROSS + STORE
    assert check(body + let("MTE3"), "// dmaverify: other core reads %b after 4\n").status is Status.PROVED
    assert errors(check(body + let("V"), "// dmaverify: other core reads %b after 4\n")) == {"core/hazard-raw"}
    assert check(body + let("V"), "// dmaverify: other core reads %b 1024..2047 after 4\n").status is Status.PROVED
    early = check(let("V") + body, "// dmaverify: other core writes %a\n")
    assert errors(early) == {"core/hazard-raw"}


# ---------------------------------------------------------------- nothing is stated


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (LOAD + ACROSS + STORE + FENCE + let("V"), Status.PROVED),  # all is done, and nothing follows
        (LOAD + ACROSS + STORE + let("ALL"), Status.PROVED),
        (LOAD + ACROSS + STORE + let("MTE2"), Status.UNKNOWN),
        (LOAD + ACROSS + let("MTE3") + STORE, Status.UNKNOWN),
        (wait("MTE2") + LOAD + ACROSS + STORE, Status.PROVED),
        (wait("V") + LOAD + ACROSS + STORE, Status.UNKNOWN),
        (LOAD + ACROSS + wait("MTE3") + STORE, Status.UNKNOWN),
    ],
)
def test_without_a_statement_only_what_holds_whatever_the_other_core_does_is_proved(body: str, status: Status) -> None:
    verdict = check(body)
    assert verdict.status is status
    if status is Status.UNKNOWN:
        (why,) = [o.why for o in verdict.obligations if o.id == "core/other-core"]
        assert "nothing states what that core touches" in why
        assert check(body, "// dmaverify: other core touches nothing\n").status is Status.PROVED


def test_what_a_wait_holds_is_a_reading() -> None:
    body = wait("V") + STORE + let("MTE3")
    verdict = check(body, WRITES)
    assert errors(verdict) == {"core/hazard-raw"}
    assert any("core-wait=core" in said and "then proved" in said for said in verdict.assumptions)
    assert check(body, WRITES, core_wait="core").status is Status.PROVED


@pytest.mark.parametrize(
    "note",
    [
        "other core writes ub",
        "other core writes ub 9..0",
        "other core writes ub 0..9 before 3 before 4",
        "other core eats ub 0..9",
        "other core writes nothing",
    ],
)
def test_statements_that_say_nothing_are_refused(note: str) -> None:
    with pytest.raises(InputError):
        check(LOAD, f"// dmaverify: {note}\n")


# ---------------------------------------------------------------- both cores in one text

CUBE = """  %x = pto.castptr %c0 : i64 -> !pto.ptr<f16, l1>
  %y = pto.castptr %c0 : i64 -> !pto.ptr<f16, l0a>
  %z = pto.castptr %c0 : i64 -> !pto.ptr<f16, l0b>
  %r = pto.castptr %c0 : i64 -> !pto.ptr<f32, l0c>
  pto.section.cube {
    pto.mte_gm_l1 %a, %x, %c0, %c128 nburst(%c8, %c128, %c128) : !pto.ptr<f32, gm>, !pto.ptr<f16, l1>, i64
    pto.set_flag["PIPE_MTE2", "PIPE_MTE1", "EVENT_ID0"]
    pto.wait_flag["PIPE_MTE2", "PIPE_MTE1", "EVENT_ID0"]
    pto.mte_l1_l0a %x, %y, %c8, %c8 : !pto.ptr<f16, l1>, !pto.ptr<f16, l0a>, i64, i64
    pto.mte_l1_l0b %x, %z, %c8, %c8 : !pto.ptr<f16, l1>, !pto.ptr<f16, l0b>, i64, i64
    pto.set_flag["PIPE_MTE1", "PIPE_M", "EVENT_ID0"]
    pto.wait_flag["PIPE_MTE1", "PIPE_M", "EVENT_ID0"]
    pto.mad %y, %z, %r, %c8, %c8, %c8 : !pto.ptr<f16, l0a>, !pto.ptr<f16, l0b>, !pto.ptr<f32, l0c>, i64, i64, i64
    pto.set_flag["PIPE_M", "PIPE_FIX", "EVENT_ID1"]
    pto.wait_flag["PIPE_M", "PIPE_FIX", "EVENT_ID1"]
    pto.mte_l0c_ub %r, %u, %c8, %c64, %c8, %c64, dst_mode(%c0), nz2nd : !pto.ptr<f32, l0c>, !pto.ptr<f32, ub>, i64
    pto.sync.set <PIPE_FIX>, 1
  }
"""
TAKE = """  pto.section.vector {
    pto.sync.wait <PIPE_MTE3>, 1
    pto.mte_ub_gm %u, %b, %c128 nburst(%c8, %c128, %c128) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64
  }
"""


def test_what_the_cube_side_writes_into_ub_is_written() -> None:
    verdict = check(CUBE + TAKE)
    assert verdict.status is Status.PROVED
    assert "of the cube side flags and order alone" in verdict.claim
    more = TAKE.replace("nburst(%c8, ", "nburst(%c64, ")  # 8 KiB, of which the cube side writes two
    assert errors(check(CUBE + more)) == {"core/definite"}


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('    pto.wait_flag["PIPE_MTE2", "PIPE_MTE1", "EVENT_ID0"]\n', "", "core/hazard-raw"),
        ('    pto.set_flag["PIPE_MTE1", "PIPE_M", "EVENT_ID0"]\n', "", "core/flags"),
        ('    pto.wait_flag["PIPE_M", "PIPE_FIX", "EVENT_ID1"]\n', "", "core/hazard-raw"),
        ("pto.sync.set <PIPE_FIX>", "pto.sync.set <PIPE_M>", "core/hazard-raw"),  # set before FIX has written
        ("pto.sync.wait <PIPE_MTE3>", "pto.sync.wait <PIPE_V>", "core/hazard-raw"),
        ("pto.sync.wait <PIPE_MTE3>, 1", "pto.sync.wait <PIPE_MTE3>, 2", "core/flags"),
        ('"PIPE_MTE1", "PIPE_M", "EVENT_ID0"', '"PIPE_M", "PIPE_MTE1", "EVENT_ID0"', "core/hazard-raw"),
    ],
)
def test_flags_and_pipes_of_the_cube_side_are_judged(old: str, new: str, rule: str) -> None:
    assert old in CUBE + TAKE
    assert rule in errors(check((CUBE + TAKE).replace(old, new)))


def test_results_in_another_layout_are_not_guessed() -> None:
    verdict = check((CUBE + TAKE).replace(", nz2nd", ""))
    assert verdict.status is Status.UNKNOWN
    stated = check((CUBE + TAKE).replace(", nz2nd", ""), "// dmaverify: other core writes ub 0..2047 before 1\n")
    assert stated.status is Status.PROVED


@pytest.mark.parametrize("to", ["PIPE_MTE2", "PIPE_V"])
def test_what_orders_the_cube_side_and_cannot_be_read_is_open(to: str) -> None:
    unread = f'    pto.set_flag["PIPE_MTE2", "{to}"]\n'
    at = "    pto.mte_l1_l0a"
    assert check((CUBE + TAKE).replace(at, unread + at)).status is Status.UNKNOWN


@pytest.mark.parametrize(("address", "status"), [("%c0", Status.PROVED), ("%odd", Status.UNKNOWN)])
def test_a_copy_of_the_cube_side_whose_pointer_cannot_be_followed_is_open(address: str, status: Status) -> None:
    odd = "  %m = arith.index_cast %n : index to i64\n  %odd = arith.ori %m, %m : i64\n"
    made = f"{odd}  %w = pto.castptr {address} : i64 -> !pto.ptr<f32, ub>\n"
    assert check(made + CUBE.replace("mte_l0c_ub %r, %u", "mte_l0c_ub %r, %w") + TAKE).status is status
    alone = "\n".join(line for line in CUBE.splitlines() if "pto.sync" not in line) + "\n"
    alone = alone.replace(
        "mte_l0c_ub %r, %u", "mte_l0c_ub %r, %far" if status is Status.PROVED else "mte_l0c_ub %r, %w"
    )
    there = "  %c64k = arith.constant 65536 : i64\n  %far = pto.castptr %c64k : i64 -> !pto.ptr<f32, ub>\n"
    assert check(made + there + alone + BESIDE).status is status  # nothing of it is waited for


BESIDE = """  pto.section.vector {
    pto.mte_gm_ub %a, %u, %c0, %c128 nburst(%c8, %c128, %c128) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64
    pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
    pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
    pto.mte_ub_gm %u, %b, %c128 nburst(%c8, %c128, %c128) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64
  }
"""
FILL = CUBE.split("\n")[-4] + "\n"
SIGNAL = "    pto.sync.set <PIPE_FIX>, 1\n"
AWAIT = "    pto.sync.wait <PIPE_MTE3>, 1\n"


@pytest.mark.parametrize("far", [False, True])
def test_without_a_handover_the_cube_part_works_at_any_time(far: bool) -> None:
    """The cube part fills the first 2,048 bytes of UB while the vector part moves bytes through there, or elsewhere."""
    cube = CUBE.replace(SIGNAL, "")
    moved = LOAD + ACROSS + STORE
    verdict = check(cube + (moved.replace("%u", "%v") if far else moved))
    assert errors(verdict) == (set() if far else {"core/hazard-raw", "core/hazard-waw"})
    assert verdict.status is (Status.PROVED if far else Status.REFUTED)


@pytest.mark.parametrize(
    ("note", "fills", "takes", "status"),
    [
        ("", "  scf.if %on {\n" + FILL + "  }\n", "", Status.UNKNOWN),  # nothing is filled where %on is 0
        ("", "  scf.if %on {\n" + FILL + SIGNAL + "  }\n", "  scf.if %on {\n", Status.PROVED),
        ("assume %n in 0..4", LOOP.format("%n", FILL + "pto.pipe_barrier <PIPE_FIX>\n"), "", Status.UNKNOWN),
        ("assume %n in 1..4", LOOP.format("%n", FILL + "pto.pipe_barrier <PIPE_FIX>\n"), "", Status.PROVED),
    ],
)
def test_what_the_cube_part_fills_under_a_condition_is_written_where_that_holds(
    note: str, fills: str, takes: str, status: Status
) -> None:
    on = "  %i3 = arith.constant 3 : index\n  %on = arith.cmpi slt, %n, %i3 : index\n"
    take = TAKE.replace(AWAIT, takes + AWAIT) + ("  }\n" if takes else "")
    cube = CUBE.replace(SIGNAL, "") if SIGNAL in fills else CUBE
    verdict = check(on + cube.replace(FILL, fills) + take, f"// dmaverify: {note}\n" if note else "")
    assert verdict.status is status, [(f.rule, f.message) for f in verdict.findings]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (AWAIT, AWAIT + AWAIT, {"core/flags"}),
        (SIGNAL, SIGNAL + SIGNAL, {"core/flags"}),
        (SIGNAL, "    scf.if %on {\n" + SIGNAL + "    }\n", {"core/flags"}),
        (SIGNAL, LOOP.format("%i5", SIGNAL), {"core/flags"}),
        (AWAIT, "", {"core/flags", "core/hazard-raw", "core/definite"}),
    ],
)
def test_a_flag_between_the_cores_is_set_as_often_as_it_is_waited_for(old: str, new: str, found: set[str]) -> None:
    on = "  %i3 = arith.constant 3 : index\n  %on = arith.cmpi slt, %n, %i3 : index\n"
    text = on + CUBE + TAKE
    assert check(text).status is Status.PROVED
    assert errors(check(text.replace(old, new), "// dmaverify: assume %n in 0..9\n")) == found


def test_a_wait_meets_the_first_set_of_its_flag_not_the_one_behind_a_later_access() -> None:
    """The second half is filled behind the first set; both halves are read behind the first wait."""
    far = "  %half = arith.constant 2048 : i64\n  %h = pto.castptr %half : i64 -> !pto.ptr<f32, ub>\n"
    far += "  %c32 = arith.constant 32 : i64\n"
    cube = CUBE.replace(SIGNAL, SIGNAL + FILL.replace("%u", "%h") + SIGNAL)
    store = TAKE.split("\n")[2].replace("nburst(%c8, ", "nburst(%c32, ") + "\n"
    take = "  pto.section.vector {\n{}  }\n"
    assert check(far + cube + take.replace("{}", AWAIT + store + AWAIT)).status is Status.UNKNOWN


@pytest.mark.parametrize(
    "said", ["set_atomic_add", "set_mov_pad_val %c0 : i64", "set_loop_size_outtoub %c8, %c8 : i64, i64"]
)
def test_registers_of_the_cube_core_are_not_those_of_the_vector_core(said: str) -> None:
    copies = LOAD + ACROSS + STORE + STORE
    cube = f"  pto.section.cube {{\n    pto.{said}\n  }}\n"
    assert errors(check(copies)) == {"core/hazard-waw"}
    assert [f.message for f in check(cube + copies).findings] == [f.message for f in check(copies).findings]


@pytest.mark.parametrize(
    ("number", "sets", "status"), [("1", 1, Status.PROVED), ("1", 2, Status.REFUTED), ("%k", 1, Status.UNKNOWN)]
)
def test_flags_whose_number_is_not_known_are_not_counted(number: str, sets: int, status: Status) -> None:
    """The other core signals and touches nothing."""
    there = f"  pto.section.cube {{\n{sets * f'    pto.sync.set <PIPE_FIX>, {number}'}\n  }}\n"
    there = there.replace("    pto.sync", "\n    pto.sync")
    here = f"  pto.section.vector {{\n    pto.sync.wait <PIPE_MTE3>, {number}\n  }}\n"
    known = "  %k = arith.index_cast %n : index to i64\n// dmaverify: other core touches nothing\n"
    assert check(known + there + here + BESIDE).status is status
