"""Whole kernels: order of pipes, registers, symbolic counts, definite values; both sides of each edge."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_file, check_text
from dmaverify.prove.options import Options
from dmaverify.verdict import Status, Verdict

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "pto"
PING_PONG = (EXAMPLES / "ping-pong.mlir").read_text(encoding="utf-8")
HEAD = """func.func @k(%a: !pto.ptr<f32, gm>, %b: !pto.ptr<f32, gm>, %n: i64, %f: i1) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c4 = arith.constant 4 : i64
  %c8 = arith.constant 8 : i64
  %c64 = arith.constant 64 : i64
  %c100 = arith.constant 100 : i64
  %c128 = arith.constant 128 : i64
  %c1024 = arith.constant 1024 : i64
  %off = arith.constant false
  %on = arith.constant true
  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
"""
LOAD = "  pto.mte_gm_ub %a, %u, %c0, {len} nburst({n}, %c128, %c128) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64\n"
STORE = "  pto.mte_ub_gm %u, %b, {len} nburst({n}, %c128, %c128) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64\n"
SYNC = "".join(f'  pto.{a}_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]\n' for a in ("set", "wait"))


def check(body: str, notes: str = "", **readings: str) -> Verdict:
    chosen = Options(readings={k.replace("_", "-"): v for k, v in readings.items()})
    (found,) = check_text(Source("k.mlir", f"{notes}{HEAD}{body}  return\n}}\n"), None, chosen)
    return found


def load(length: str = "%c128", rows: str = "%c8") -> str:
    return LOAD.format(len=length, n=rows)


def store(length: str = "%c128", rows: str = "%c8") -> str:
    return STORE.format(len=length, n=rows)


def errors(verdict: Verdict) -> set[str]:
    return {f.rule for f in verdict.errors}


# ---------------------------------------------------------------- pipes


def test_double_buffering_is_proved_for_every_number_of_tiles() -> None:
    (verdict,) = check_text(Source("k.mlir", PING_PONG))
    assert verdict.status is Status.PROVED
    assert {o.id: o.status for o in verdict.obligations}["core/hazard-war"] == "proved"
    unbounded = PING_PONG.replace("// dmaverify: assume %n in 1..64\n", "").replace("// dmaverify: gm", "// gm")
    (verdict,) = check_text(Source("k.mlir", unbounded))
    assert verdict.status is Status.PROVED


@pytest.mark.parametrize(
    ("left_out", "found"),
    [
        ('pto.wait_flag_dyn["PIPE_V", "PIPE_MTE2", %par]', {"core/flags", "core/hazard-war", "core/hazard-waw"}),
        ('pto.wait_flag_dyn["PIPE_MTE2", "PIPE_V", %par]', {"core/flags", "core/hazard-raw", "core/hazard-waw"}),
        ('pto.wait_flag_dyn["PIPE_MTE3", "PIPE_V", %par]', {"core/flags", "core/hazard-war"}),
        ('pto.wait_flag_dyn["PIPE_V", "PIPE_MTE3", %par]', {"core/flags", "core/hazard-raw", "core/hazard-war"}),
        ('pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID1"]', {"core/flags"}),
        ('pto.wait_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]', {"core/flags"}),
    ],
)
def test_each_flag_of_double_buffering_is_needed(left_out: str, found: set[str]) -> None:
    lines = [line for line in PING_PONG.splitlines(True) if left_out not in line]
    assert len(lines) == len(PING_PONG.splitlines()) - 1
    (verdict,) = check_text(Source("k.mlir", "".join(lines)))
    assert "core/flags" in errors(verdict)
    assert errors(verdict) <= found | {"core/hazard-raw", "core/hazard-war", "core/hazard-waw"}
    assert errors(verdict) >= found & {"core/flags", "core/hazard-raw", "core/hazard-war"} - (
        {"core/hazard-war"} if "MTE3" in left_out and "V" in left_out and "wait_flag_dyn" in left_out else set()
    )


def test_one_buffer_too_few_is_found_in_later_iterations_only() -> None:
    one = PING_PONG.replace("%off = arith.muli %par, %c1024 : index", "%off = arith.muli %c0, %c1024 : index")
    (verdict,) = check_text(Source("k.mlir", one))
    assert errors(verdict) >= {"core/hazard-war"}
    assert any("earlier iteration" in f.message for f in verdict.errors)


def test_a_flag_of_the_wrong_direction_never_comes() -> None:
    swapped = load() + SYNC.replace('set_flag["PIPE_MTE2", "PIPE_MTE3"', 'set_flag["PIPE_MTE3", "PIPE_MTE2"') + store()
    verdict = check(swapped)
    assert errors(verdict) >= {"core/flags", "core/hazard-raw"}
    assert any("the first pipe of a flag is the one that sets it" in f.hint for f in verdict.errors)
    assert check(load() + SYNC + store()).status is Status.PROVED


def test_two_stores_to_one_place_need_a_barrier_of_their_pipe() -> None:
    twice = load() + SYNC + store() + store()
    assert errors(check(twice)) == {"core/hazard-waw"}
    fenced = load() + SYNC + store() + '  pto.pipe_barrier "PIPE_MTE3"\n' + store()
    assert check(fenced).status is Status.PROVED
    assert errors(check(fenced.replace('MTE3"\n', 'MTE2"\n'))) == {"core/hazard-waw"}


def test_tokens_order_pipes_as_flags_do() -> None:
    body = '  pto.get_buf "PIPE_MTE2", 0, 0\n' + load() + '  pto.rls_buf "PIPE_MTE2", 0, 0\n'
    body += '  pto.get_buf "PIPE_MTE3", {0}, 0\n' + store() + '  pto.rls_buf "PIPE_MTE3", {0}, 0\n'
    assert check(body.replace("{0}", "0")).status is Status.PROVED
    assert errors(check(body.replace("{0}", "1"))) == {"core/hazard-raw"}
    assert "pto/buffer-id" in errors(check(body.replace("{0}", "32")))


@pytest.mark.parametrize(("gone", "said"), [
    ('get_buf "PIPE_MTE2"', "given back, and was not taken"), ('rls_buf "PIPE_MTE3"', "never given back"),
])  # fmt: skip
def test_tokens_are_taken_and_given_back_in_turns(gone: str, said: str) -> None:
    body = '  pto.get_buf "PIPE_MTE2", 0, 0\n' + load() + '  pto.rls_buf "PIPE_MTE2", 0, 0\n'
    body += '  pto.get_buf "PIPE_MTE3", 0, 0\n' + store() + '  pto.rls_buf "PIPE_MTE3", 0, 0\n'
    verdict = check(body.replace(f"  pto.{gone}, 0, 0\n", ""))
    assert verdict.status is Status.UNKNOWN
    assert said in " ".join(one.why for one in verdict.obligations)


def test_tokens_name_kinds_of_operations_as_events_do() -> None:
    body = "  pto.get_buf[#pto.pipe_event_type<TLOAD>, 0]\n" + load() + "  pto.rls_buf[<TLOAD>, 0]\n"
    body += "  pto.get_buf[<TSTORE_VEC>, {0}]\n" + store() + "  pto.rls_buf[<TSTORE_VEC>, {0}]\n"
    assert check(body.replace("{0}", "0")).status is Status.PROVED
    assert errors(check(body.replace("{0}", "1"))) == {"core/hazard-raw"}
    assert check(body.replace("{0}", "0").replace("TSTORE_VEC", "TWHAT")).status is Status.UNKNOWN


def test_event_ids_end_at_seven() -> None:
    body = load() + SYNC + store()
    assert check(body.replace("EVENT_ID0", "EVENT_ID7")).status is Status.PROVED
    assert errors(check(body.replace("EVENT_ID0", "EVENT_ID8"))) == {"pto/event-id"}


def test_copies_inside_ub_are_ordered_by_a_barrier_of_all_pipes_alone() -> None:
    inner = "  %v = pto.castptr %c1024 : i64 -> !pto.ptr<f32, ub>\n"
    move = (
        "  pto.mte_ub_ub %u, %v, %c4 nburst(%c8, %c0, %c0) : !pto.ptr<f32, ub>, !pto.ptr<f32, ub>, i64, i64, i64, i64\n"
    )
    fence = "  pto.barrier #pto.pipe<PIPE_ALL>\n"
    assert check(inner + load() + fence + move).status is Status.PROVED
    assert errors(check(inner + load() + SYNC + move)) == {"core/hazard-raw"}


@pytest.mark.parametrize(
    ("dest", "status", "found"),
    [
        ("%other", Status.PROVED, set()),  # the two buffers in turn: which one is read differs, and so does the other
        ("%turn", Status.REFUTED, {"core/overlap"}),
        ("%u", Status.REFUTED, {"core/overlap"}),  # in every second iteration
    ],
)
def test_copies_inside_ub_between_buffers_in_turn_are_apart_in_each_iteration(
    dest: str, status: Status, found: set[str]
) -> None:
    turn = "  %par = arith.remui %i, %c2 : i64\n  %at = arith.muli %par, %c1024 : i64\n"
    turn += "  %left = arith.subi %c1024, %at : i64\n"
    turn += "".join(
        f"  {p} = pto.castptr {n} : i64 -> !pto.ptr<f32, ub>\n" for p, n in (("%turn", "%at"), ("%other", "%left"))
    )
    kinds = "!pto.ptr<f32, ub>, !pto.ptr<f32, ub>, i64, i64, i64, i64"
    move = f"  pto.mte_ub_ub %turn, {dest}, %c4 nburst(%c8, %c0, %c0) : {kinds}\n"
    fence = "  pto.barrier #pto.pipe<PIPE_ALL>\n"
    body = load() + fence + f"  scf.for %i = %c0 to %n step %c1 : i64 {{\n{turn}{move}{fence}  }}\n"
    verdict = check(body, "// dmaverify: assume %n in 1..9\n")
    assert (verdict.status, errors(verdict)) == (status, found)
    assert verdict.status is Status.PROVED or verdict.errors[0].witness is not None


def test_rows_between_each_other_share_no_byte_whatever_the_buffer() -> None:
    """Rows of 128 bytes at 256, and the other side 128 bytes on: their ranges meet, and they do not."""
    turn = "  %par = arith.remui %i, %c2 : i64\n  %at = arith.muli %par, %c1024 : i64\n"
    turn += "  %on = arith.addi %at, %c128 : i64\n"
    turn += "".join(f"  {p} = pto.castptr {n} : i64 -> !pto.ptr<f32, ub>\n" for p, n in (("%p", "%at"), ("%q", "%on")))
    kinds = "!pto.ptr<f32, ub>, !pto.ptr<f32, ub>, i64, i64, i64, i64"
    move = f"  pto.mte_ub_ub %p, %q, %c4 nburst(%c2, %c4, %c4) : {kinds}\n"
    verdict = check(
        f"  scf.for %i = %c0 to %n step %c1 : i64 {{\n{turn}{move}  }}\n", "// dmaverify: assume %n in 1..9\n"
    )
    assert "core/overlap" not in errors(verdict)


# ---------------------------------------------------------------- registers


COPY = (
    "  pto.copy_gm_to_ubuf %a, %u, %c0, %c8, %c128, %c0, %c0, {bit}, %c0, %c128, %c128\n"
    "    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64\n"
)


def test_strides_that_were_never_set_matter_only_where_a_loop_runs() -> None:
    sizes = "  pto.set_loop_size_outtoub {0}, %c1 : i64, i64\n"
    assert check(sizes.format("%c1") + COPY.format(bit="%off")).status is Status.PROVED
    verdict = check(sizes.format("%c2") + COPY.format(bit="%off"))
    assert errors(verdict) == {"core/registers"}
    assert "never set" in verdict.errors[0].message


def test_a_register_set_in_one_branch_is_known_to_neither() -> None:
    body = "  scf.if %f {\n  pto.set_loop_size_outtoub %c1, %c2 : i64, i64\n  }\n" + COPY.format(bit="%off")
    assert errors(check(body)) == {"core/registers"}
    assert check(body.replace("%c1, %c2", "%c1, %c1")).status is Status.PROVED


@pytest.mark.parametrize(("often", "found"), [("%n", set()), ("%c2", {"core/registers"})])
def test_what_loops_leave_on_each_path_is_no_error_in_a_loop_that_one_path_never_enters(
    often: str, found: set[str]
) -> None:
    """Where the last loop runs, so did the inner one, if both run as often: then every path has one value."""
    sizes = "  pto.set_loop_size_outtoub %c2, %c1 : i64, i64\n"
    far, near = (f"  pto.set_loop1_stride_outtoub {n}, {n} : i64, i64\n" for n in ("%c1024", "%c128"))
    inner = f"  scf.for %j = %c0 to %n step %c1 : i64 {{\n{far}  }}\n"
    outer = f"  scf.for %i = %c0 to %c2 step %c1 : i64 {{\n{inner}  }}\n"
    last = f"  scf.for %k = %c0 to {often} step %c1 : i64 {{\n{COPY.format(bit='%off')}  }}\n"
    verdict = check(sizes + near + outer + last, "// dmaverify: assume %n in 0..3\n")
    assert errors(verdict) == found
    assert verdict.status is (Status.REFUTED if found else Status.UNKNOWN)


def test_loops_that_each_side_of_a_branch_sets_are_those_of_its_condition() -> None:
    """The first row of the second side lies on the last of the first loop."""
    far, near = (f"  pto.set_loop1_stride_outtoub {n}, {n} : i64, i64\n" for n in ("%c1024", "%c128"))
    sizes = "  pto.set_loop_size_outtoub {0}, %c1 : i64, i64\n".format
    sides = f"  scf.if %f {{{{\n{{0}}  }}}} else {{{{\n{{1}}  }}}}\n{COPY.format(bit='%off')}"
    assert check(sides.format(far + sizes("%c2"), far + sizes("%c4"))).findings == ()
    assert (
        check(sides.format(far + sizes("%c2"), sizes("%c1"))).findings == ()
    )  # where it does not loop, none is needed
    assert errors(check(sides.format(far + sizes("%c2"), near + sizes("%c4")))) == {"core/writes-once"}
    assert errors(check(sides.format(far + sizes("%c2"), sizes("%c4")))) == {"core/registers"}


def test_loops_that_no_copy_runs_are_told_of_either_side_of_a_branch() -> None:
    sizes = "  pto.set_loop_size_outtoub {0}, %c1 : i64, i64\n".format
    strides = "  pto.set_loop1_stride_outtoub %c1024, %c1024 : i64, i64\n"
    sides = strides + f"  scf.if %f {{\n{sizes('%c2')}  }} else {{\n{sizes('%c4')}  }}\n"
    assert check(sides + COPY.format(bit="%off")).findings == ()
    told = [f.message for f in check(load() + sides).findings]
    assert len(told) == 1
    assert "no copy runs them" in told[0]


def test_what_a_branch_tells_apart_in_a_loop_is_no_error_where_the_branch_before_it_told_the_same() -> None:
    """Where %f holds, the loop sets the size that the other path comes with."""
    sizes = "  pto.set_loop_size_outtoub {0}, %c1 : i64, i64\n".format
    stride = "  pto.set_loop1_stride_outtoub %c1024, %c1024 : i64, i64\n"
    before = f"  scf.if %f {{\n{sizes('%c4')}  }} else {{\n{sizes('%c2')}  }}\n"
    inside = f"  scf.if %f {{\n{sizes('%c2')}  }}\n" + COPY.format(bit="%off")
    verdict = check(stride + before + f"  scf.for %i = %c0 to %c2 step %c1 : i64 {{\n{inside}  }}\n")
    assert (verdict.status, errors(verdict)) == (Status.UNKNOWN, set())


def test_sizes_left_from_another_copy_are_said() -> None:
    strides = "  pto.set_loop1_stride_outtoub %c1024, %c1024 : i64, i64\n"
    body = "  pto.set_loop_size_outtoub %c2, %c1 : i64, i64\n" + strides + COPY.format(bit="%off")
    again = '  pto.pipe_barrier "PIPE_MTE2"\n' + COPY.format(bit="%off")
    warned = [f.rule for f in check(body + again).findings]
    assert warned == ["core/registers"]
    fresh = "  pto.set_loop_size_outtoub %c1, %c1 : i64, i64\n"
    assert check(body + fresh + again).findings == ()


def test_a_padding_value_of_another_type_is_found() -> None:
    value = "  %z = arith.constant 1.0 : {0}\n  pto.set_mov_pad_val %z : {0}\n"
    assert check(value.format("f32") + COPY.format(bit="%on")).status is Status.PROVED
    assert errors(check(value.format("f16") + COPY.format(bit="%on"))) == {"pto/pad-value"}


@pytest.mark.parametrize(
    ("item", "value", "found"),
    [
        ("f32", "i32", set()),
        ("f32", "ui32", {"pto/pad-type"}),  # integers have no sign in their type
        ("i8", "ui8", {"pto/pad-type"}),
        ("ui8", "i8", set()),
        ("i64", "i64", {"pto/pad-type"}),
        ("i64", "i32", {"pto/pad-value"}),  # of 64 bits 0 alone is meant
    ],
)
def test_a_padding_value_has_one_of_the_types_that_the_instruction_takes(
    item: str, value: str, found: set[str]
) -> None:
    body = f"  %z = arith.constant 1 : {value}\n  %p = pto.castptr %a : !pto.ptr<f32, gm> -> !pto.ptr<{item}, gm>\n"
    body += f"  %q = pto.castptr %c0 : i64 -> !pto.ptr<{item}, ub>\n"
    inline = f"  pto.mte_gm_ub %p, %q, %c0, %c100 nburst(%c1, %c128, %c128) pad(%z) : !pto.ptr<{item}, gm>, "
    inline += f"!pto.ptr<{item}, ub>, i64, i64, i64, i64, i64, pad {value}\n"
    set_first = f"  pto.set_mov_pad_val %z : {value}\n" + COPY.format(bit="%on").replace("%a, %u", "%p, %q")
    for copy in (inline, set_first.replace("ptr<f32", f"ptr<{item}")):
        assert errors(check(body + copy)) == found


# ---------------------------------------------------------------- values that are read


def test_the_unknown_rest_of_a_block_may_not_be_stored() -> None:
    assert check(load("%c100") + SYNC + store("%c100")).status is Status.PROVED
    verdict = check(load("%c100") + SYNC + store("%c128"))
    assert errors(verdict) == {"core/definite"}
    assert "unknown rest of a block" in verdict.errors[0].message
    assert check(load("%c64") + SYNC + store("%c64")).findings == ()
    assert errors(check(load("%c64") + SYNC + store("%c128"))) == {"core/definite"}


def test_nothing_stored_before_it_was_loaded() -> None:
    assert errors(check(store())) == {"core/definite"}


# ---------------------------------------------------------------- symbolic counts


@pytest.mark.parametrize(("most", "status"), [(128, Status.PROVED), (160, Status.REFUTED)])
def test_an_argument_of_one_value_is_that_number(most: int, status: Status) -> None:
    pitched = load("%c100").replace("%c128, %c128)", "%c128, %n)")
    body = pitched + SYNC + store("%c100")
    assert check(body, f"// dmaverify: assume %n in {most}..{most}\n").status is status


def test_a_row_count_from_an_argument_is_proved_for_its_whole_range() -> None:
    body = load(rows="%n") + SYNC + store(rows="%n")
    good = check(body, "// dmaverify: assume %n in 1..2048\n")
    assert good.status is Status.PROVED
    bad = check(body, "// dmaverify: assume %n in 1..2049\n")
    assert errors(bad) == {"pto/ub-capacity"}
    assert bad.errors[0].witness == {"values": {"%n": 2049}}


def test_a_range_that_holds_zero_is_refuted_at_zero() -> None:
    verdict = check(load(rows="%n"), "// dmaverify: assume %n in 0..8\n")
    assert errors(verdict) == {"pto/n-burst"}
    assert verdict.errors[0].witness == {"values": {"%n": 0}}


def test_what_is_needed_of_a_value_without_a_range_is_assumed_and_said() -> None:
    verdict = check(load(rows="%n"))
    assert verdict.status is Status.PROVED
    assert any("%n <= 2,048" in a or "128 * %n <= 262,144" in a for a in verdict.assumptions), verdict.assumptions


def test_bounds_of_a_declared_tensor_hold_for_all_iterations_or_name_one() -> None:
    loop = (
        "  %i0 = arith.constant 0 : index\n  %i1 = arith.constant 1 : index\n  %in = arith.constant {0} : index\n"
        "  scf.for %i = %i0 to %in step %i1 {{\n    %k = arith.index_cast %i : index to i64\n"
        "    %o = arith.muli %k, %c1024 : i64\n    %p = pto.addptr %a, %o : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>\n"
        + LOAD.replace("%a", "%p").format(len="%c128", n="%c8")
        + '    pto.pipe_barrier "PIPE_MTE2"\n  }}\n'
    )
    note = "// dmaverify: gm %a = 404480 bytes\n"  # 98 * 4096 + 3072: 1,024 bytes into the last step but one
    assert check(loop.format(99), note).status is Status.PROVED
    verdict = check(loop.format(100), note)
    assert errors(verdict) == {"core/in-bounds"}
    assert verdict.errors[0].witness == {"values": {"%i": 99}}


def test_every_example_says_what_it_expects() -> None:
    for file in sorted(EXAMPLES.glob("*.mlir")):
        for verdict in check_file(str(file)):
            assert verdict.as_expected, (file.name, verdict.name, [f.message for f in verdict.errors])


@pytest.mark.parametrize(
    ("rounds", "least", "status"),
    [("%c4", 1, Status.PROVED), ("%c1", 1, Status.REFUTED), ("%n", 2, Status.PROVED), ("%n", 1, Status.REFUTED)],
)
def test_behind_a_loop_a_register_holds_what_the_last_round_set(rounds: str, least: int, status: Status) -> None:
    """The number of the last round, which is 0 after one round."""
    size = "  pto.set_loop_size_outtoub %i, %c1 : i64, i64\n"
    body = f"  scf.for %i = %c0 to {rounds} step %c1 : i64 {{\n{size}  }}\n"
    strides = "  pto.set_loop1_stride_outtoub %c1024, %c1024 : i64, i64\n"
    verdict = check(strides + body + COPY.format(bit="%off"), f"// dmaverify: assume %n in {least}..4\n")
    assert verdict.status is status, [f.message for f in verdict.findings]
    assert errors(verdict) == ({"pto/loop-size"} if status is Status.REFUTED else set())


def test_behind_a_loop_that_may_not_run_a_register_is_that_of_no_path() -> None:
    body = "  scf.for %i = %c0 to %n step %c1 : i64 {\n  pto.set_loop_size_outtoub %i, %c1 : i64, i64\n  }\n"
    verdict = check(body + COPY.format(bit="%off"), "// dmaverify: assume %n in 0..4\n")
    assert verdict.status is not Status.PROVED


def test_what_another_reading_touches_is_told_with_the_names_of_the_text() -> None:
    """Of a row whose bytes an argument says, no name of a term that is the tool's own."""
    text = """// dmaverify: gm %a = 4096 bytes
// dmaverify: assume %n in 32..128
func.func @k(%a: !pto.ptr<f32, gm>, %n: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %a, %u, %c0, %n nburst(%c1, %n, %n) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64
  return
}
"""
    (verdict,) = check_text(Source("k.mlir", text))
    told = [one for one in verdict.assumptions if one.startswith("under --reading")]
    assert told
    assert not any("$" in one for one in told)
    assert any("div(%n + 31, 32)" in one for one in told)
