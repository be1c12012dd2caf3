"""Bytes that nothing wrote, through the vector unit: what is computed of them is garbage, what no lane takes is not."""

from __future__ import annotations

import contextlib

import pytest
from lab.draws import rest

from dmaverify.errors import InputError, Source
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.limits import shipped
from dmaverify.machines.pto.read import read_kernels
from dmaverify.machines.pto.signatures import signatures
from dmaverify.prove.flow.initialization import definite
from dmaverify.prove.options import Options
from dmaverify.targets.target import load_target
from dmaverify.verdict import Status, Verdict

F32, B32 = "!pto.vreg<64xf32>", "!pto.mask<b32>"
UB, GM = "!pto.ptr<f32, ub>", "!pto.ptr<f32, gm>"
COPY = f"{UB}, {GM}, i64, i64, i64, i64"
TEXT = f"""// dmaverify: gm %in = 1024xf32
// dmaverify: gm %out = 1024xf32
func.func @k(%in: {GM}, %out: {GM}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %short = arith.constant LOADED : i64
  %size = arith.constant STORED : i64
  %ob = arith.constant 4096 : i64
  %b = pto.castptr %z : i64 -> {UB}
  %o = pto.castptr %ob : i64 -> {UB}
  pto.mte_gm_ub %in, %b, %z, %short nburst(%one, %short, %short) : {GM}, {UB}, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.vecscope {{
    %all = pto.pset_b32 "PAT_ALL" : {B32}
    %half = pto.pset_b32 "PAT_VL32" : {B32}
BODY
  }}
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.mte_ub_gm %o, %out, %size nburst(%one, %size, %size) : {COPY}
  return
}}
"""
LOAD = f"%v = pto.vlds %b[%c0] : {UB} -> {F32}"
ABS = f"%w = pto.vabs %v, %all : {F32}, {B32} -> {F32}"
HALF = ABS.replace("%all", "%half")
KEEP = f"pto.vsts %w, %o[%c0], %all : {F32}, {UB}, {B32}"
ADD = f"%w = pto.vadd %v, %x, %all : {F32}, {F32}, {B32} -> {F32}"
ONE = f'pto.vsts %w, %o[%c0], %all {{dist = "1PT_B32"}} : {F32}, {UB}, {B32}'
SUM = f"%w = pto.vcadd %v, %all : {F32}, {B32} -> {F32}"
DUP = f'%d = pto.vdup %w, %all {{position = "LOWEST"}} : {F32}, {B32} -> {F32}'
MAGIC = f"%w = pto.vmagic %v : {F32} -> {F32}"
OUT_OF_NOTHING = f"%w = pto.vmagic : {F32}"
CMP = f'%m = pto.vcmp %v, %v, %all, "lt" : {F32}, {F32}, {B32} -> {B32}'
MADE = f"%x = pto.vdups %one : i64 -> {F32}"
SELECT = f"%w = pto.vsel %x, %x, %m : {F32}, {F32}, {B32} -> {F32}"
PROVED, REFUTED, UNKNOWN = Status.PROVED, Status.REFUTED, Status.UNKNOWN


def text_of(loaded: int, stored: int, *body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body)
    return TEXT.replace("LOADED", str(loaded)).replace("STORED", str(stored)).replace("BODY", lines)


def check(loaded: int, stored: int, *body: str) -> Verdict:
    (found,) = check_text(Source("k.mlir", text_of(loaded, stored, *body)))
    return found


def loop(*body: str, trips: int = 2) -> list[str]:
    return [f"scf.for %i = %c0 to %c{trips} step %c1 {{", "%at = arith.muli %i, %c64 : index", *body, "}"]


ROWS = [line.replace("[%c0]", "[%at]") for line in (LOAD, ABS, KEEP)]
CARRIED = [
    f"%first = pto.vlds %b[%c0] : {UB} -> {F32}",
    f"%w = scf.for %i = %c0 to %c2 step %c1 iter_args(%acc = %first) -> ({F32}) {{",
    "%at = arith.muli %i, %c64 : index",
    LOAD.replace("[%c0]", "[%at]"),
    f"%sum = pto.vadd %acc, %v, %all : {F32}, {F32}, {B32} -> {F32}",
    f"scf.yield %sum : {F32}",
    "}",
    KEEP,
]


BODIES = [
    (256, 256, [LOAD, ABS, KEEP], PROVED),
    (128, 256, [LOAD, ABS, KEEP], REFUTED),
    (128, 128, [LOAD, ABS, KEEP], PROVED),  # what is behind the data is never stored to GM
    (128, 132, [LOAD, ABS, KEEP], REFUTED),
    (128, 256, [LOAD, HALF, KEEP], PROVED),  # lanes that the mask leaves out are zero
    (124, 256, [LOAD, HALF, KEEP], REFUTED),
    (128, 256, [LOAD, HALF.replace("%w", "%x"), ADD, KEEP], REFUTED),
    (256, 4, [LOAD, SUM, ONE], PROVED),
    (128, 4, [LOAD, SUM, ONE], REFUTED),
    (128, 4, [LOAD, SUM.replace("%all", "%half"), ONE], PROVED),
    (128, 256, [LOAD, SUM.replace("%all", "%half"), DUP, KEEP.replace("%w", "%d")], PROVED),
    (128, 256, [LOAD, SUM, DUP, KEEP.replace("%w", "%d")], UNKNOWN),
    (256, 256, [LOAD, MAGIC, KEEP], PROVED),
    (128, 256, [LOAD, MAGIC, KEEP], UNKNOWN),
    (256, 256, [OUT_OF_NOTHING, KEEP], UNKNOWN),
    (256, 256, [MADE, LOAD, CMP, SELECT, KEEP], PROVED),
    (128, 256, [MADE, LOAD, CMP, SELECT, KEEP], UNKNOWN),
    (512, 512, loop(*ROWS), PROVED),
    (384, 512, loop(*ROWS), REFUTED),
    (384, 384, loop(*ROWS), PROVED),
    (512, 256, CARRIED, PROVED),
    (384, 256, CARRIED, UNKNOWN),
]


@pytest.mark.parametrize(("loaded", "stored", "body", "status"), BODIES)
def test_what_is_computed_from_bytes_that_nothing_wrote(
    loaded: int, stored: int, body: list[str], status: Status
) -> None:
    found = check(loaded, stored, *body)
    assert found.status is status, [(f.rule, f.message) for f in found.findings]
    assert {f.rule for f in found.errors} <= {"core/definite"}
    if not {MAGIC, OUT_OF_NOTHING, CMP} & set(body):
        _, (function,) = read_kernels(Source("k.mlir", text_of(loaded, stored, *body)))
        assert ("definite" in run_kernel(function, {"in": 4096, "out": 4096}).found) is (status is not PROVED)


@pytest.mark.parametrize(
    ("loaded", "stored", "body"),
    [(loaded, stored, body) for loaded, stored, body, said in BODIES if said is not PROVED],
)
@pytest.mark.parametrize("kept", ["", " : ", " -> "])
def test_an_operation_whose_types_are_left_out_makes_no_garbage_good(
    loaded: int, stored: int, body: list[str], kept: str
) -> None:
    for number, line in enumerate(body):
        if "pto.v" in line and " : " in line:
            bare, types = line.split(" : ")
            left = {"": "", " : ": f" : {types.split(' -> ')[0]}", " -> ": f" -> {types.split(' -> ')[-1]}"}[kept]
            with contextlib.suppress(InputError):
                assert check(loaded, stored, *body[:number], bare + left, *body[number + 1 :]).status is not PROVED


def test_a_store_that_names_no_register_stores_what_nobody_knows() -> None:
    assert check(256, 256, LOAD, ABS, KEEP.replace("%w, ", "").replace(f"{F32}, ", "")).status is UNKNOWN


def test_an_operand_that_nobody_types_may_be_a_register_of_anything() -> None:
    add = ADD.replace(f" : {F32}, {F32}, {B32}", f" : {F32}, {F32}")
    assert check(256, 256, LOAD, "%x = pto.vmagic", add, KEEP).status is UNKNOWN
    assert check(256, 256, LOAD, LOAD.replace("%v", "%x"), add, KEEP).status is PROVED


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (" : ", " ", "a `:` is missing before the type `!pto.vreg`"),
        (" : ", ", : ", "`:` stands behind `,`"),
        ("%v, ", "", "3 types for 2 operands"),
        ("%v, ", ", ", "`,` stands before every operand"),
        ("%v, ", "%v,, ", "`,` stands behind `,`"),
        ("%v, ", "%v %v, ", "a `,` is missing before `%v`"),
        ("%v, ", "!pto.vreg, ", "a `:` is missing before the type `!pto.vreg`"),
        ("->", "-", "`-` stands between operands"),
        (f"-> {F32}", "->", "`pto.vsts` stands among the operands of another operation"),
        (f"-> {F32}", "-> !pto.vreg", "a register's type tells its lanes"),
        (f"-> {F32}", "-> !pto.vreg<64xf32", "`<` and `>` do not pair"),
        (f", {B32} ->", f" {B32} ->", "a `,` is missing before the type `!pto.mask`"),
        (f"-> {F32}", f"-> {F32}, ", "stands among the operands of another operation"),
    ],
)
def test_what_is_missing_or_too_many_in_an_operation_is_refused_at_its_place(old: str, new: str, says: str) -> None:
    line = f"%w = pto.vadd %v, %v, %all : {F32}, {F32}, {B32} -> {F32}"
    assert line.count(old) >= 1
    said = ""
    try:
        found = check(256, 256, LOAD, line.replace(old, new, 1), KEEP)
        said = found.findings[0].message if found.status is UNKNOWN else str(found.status)
    except InputError as refused:
        said = refused.message
    assert says in said


@pytest.mark.parametrize(("most", "status"), [(64, PROVED), (65, REFUTED)])
def test_garbage_is_found_where_a_length_is_an_argument(most: int, status: Status) -> None:
    text = text_of(256, 0, LOAD, ABS, KEEP).replace("%out: !pto.ptr<f32, gm>)", "%out: !pto.ptr<f32, gm>, %n: i64)")
    four = "%four = arith.constant 4 : i64\n  %size = arith.muli %n, %four : i64"
    text = text.replace("%size = arith.constant 0 : i64", four)
    (found,) = check_text(Source("k.mlir", f"// dmaverify: assume %n in 1..{most}\n{text}"))
    assert found.status is status


def lengths(notes: str, *copies: str) -> Status:
    """A kernel of copies in order, each behind a barrier: `load N at A` or `store N at A`, in bytes, named numbers."""
    made, body = [], []
    for number, (way, size, _, at) in enumerate(copy.split() for copy in copies):
        made += [f"%p{number} = pto.castptr %{at} : i64 -> {UB}"]
        start = f"%in, %p{number}, %z" if way == "load" else f"%p{number}, %out"
        kind, types = ("gm_ub", f"{GM}, {UB}, i64, ") if way == "load" else ("ub_gm", f"{UB}, {GM}, ")
        body += [f"pto.mte_{kind} {start}, %{size} nburst(%one, %{size}, %{size}) : {types}i64, i64, i64, i64"]
    lines = "\n".join([*made, "\npto.barrier #pto.pipe<PIPE_ALL>\n".join(body)])
    (found,) = check_text(
        Source(
            "k.mlir",
            f"""// dmaverify: gm %in = 4096 bytes
// dmaverify: gm %out = 4096 bytes
{notes}
func.func @k(%in: {GM}, %out: {GM}, %n: i64, %k: i64) {{
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %c20 = arith.constant 20 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %size = arith.muli %n, %four : i64
  %next = arith.muli %k, %c32 : i64
{lines}
  return
}}
""",
        )
    )
    return found.status


LONG = "// dmaverify: assume %n in 17..24"
SHORT = "// dmaverify: assume %n in 1..16\n// dmaverify: assume %k in 1..2\n// dmaverify: assume %n <= 8 * %k"


def test_a_row_that_is_written_again_is_written_though_its_tail_is_not() -> None:
    once = ("load size at z", "store size at z")
    assert lengths(LONG, *once) is PROVED
    assert lengths(LONG, *once, *once) is PROVED
    assert lengths(LONG, *once, "store size at c32") is REFUTED


@pytest.mark.parametrize("size", ["size", "c20"])
def test_a_row_that_ends_before_another_begins_stays_written_whatever_its_tail(size: str) -> None:
    assert lengths(SHORT, "load size at z", f"load {size} at next", "store size at z") is PROVED
    assert lengths(SHORT, "load size at z", f"load {size} at next", "store c32 at z") is REFUTED


def test_a_tail_that_falls_on_a_row_does_not_unwrite_what_is_before_it() -> None:
    assert lengths(LONG, "load size at z", "load c20 at c64", "store c64 at z") is not REFUTED
    assert lengths(LONG, "load size at z", "load c20 at c64", "store size at z") is REFUTED


TURNS = f"""// dmaverify: gm %in = 4096 bytes
// dmaverify: gm %out = 4096 bytes
// dmaverify: assume %n in RANGE
func.func @k(%in: {GM}, %out: {GM}, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %c36 = arith.constant 36 : i64
  %k64 = arith.constant 64 : i64
  %k128 = arith.constant 128 : i64
  %all = pto.castptr %z : i64 -> {UB}
  pto.mte_gm_ub %in, %all, %z, %k128 nburst(%one, %z, %z) : {GM}, {UB}, i64, i64, i64, i64, i64
  pto.barrier #pto.pipe<PIPE_ALL>
  %odd = arith.remui %n, %c2 : index
  %even = arith.cmpi eq, %odd, %c0 : index
  scf.for %i = %c0 to %n step %c1 {{
    %t = arith.remui %i, %c2 : index
    %at = arith.muli %t, %c64 : index
    %w = arith.index_cast %at : index to i64
    %p = pto.castptr %w : i64 -> {UB}
    LOOP
    pto.barrier #pto.pipe<PIPE_ALL>
  }}
  %x = arith.muli %odd, %c64 : index
  %y = arith.subi %c64, %x : index
  %first = arith.cmpi eq, %n, %c0 : index
  %wx = arith.index_cast %x : index to i64
  %wy = arith.index_cast %y : index to i64
  %next = pto.castptr %wx : i64 -> {UB}
  %last = pto.castptr %wy : i64 -> {UB}
  AFTER
  return
}}
"""
PART = f"pto.mte_gm_ub %in, %p, %z, %c36 nburst(%one, %z, %z) : {GM}, {UB}, i64, i64, i64, i64, i64"
WHOLE = PART.replace("%c36", "%k64")
STORE = f"pto.mte_ub_gm NAME, %out, %k64 nburst(%one, %k64, %k64) : {COPY}"
MEND = f"""  pto.barrier #pto.pipe<PIPE_ALL>
    %u = arith.subi %c64, %at : index
    %v = arith.index_cast %u : index to i64
    %q = pto.castptr %v : i64 -> {UB}
    {WHOLE.replace("%p", "%q")}"""
WHERE_EVEN = f"scf.if %even {{ {STORE.replace('NAME', '%next')} }}"


@pytest.mark.parametrize("range_", ["1..8", "1..40"])
@pytest.mark.parametrize(
    ("loop", "after", "status"),
    [
        (f"{PART}\n{MEND}", STORE.replace("NAME", "%next"), PROVED),
        (f"{PART}\n{MEND}", STORE.replace("NAME", "%last"), REFUTED),
        (f"scf.if %even {{ {WHOLE} }} else {{ {PART} }}", WHERE_EVEN, PROVED),
        (f"scf.if %even {{ {PART} }} else {{ {WHOLE} }}", WHERE_EVEN, REFUTED),
        (PART, f"scf.if %first {{ {STORE.replace('NAME', '%all')} }}", PROVED),
    ],
)
def test_what_a_loop_leaves_follows_from_how_often_it_ran(loop: str, after: str, status: Status, range_: str) -> None:
    text = TURNS.replace("LOOP", loop).replace("AFTER", after)
    least = "0" if "%first {" in after else "1"
    (found,) = check_text(Source("k.mlir", text.replace("RANGE", least + range_[1:])))
    assert found.status is status


EACH_ROUND = f"""// dmaverify: gm %in = 1024xf32
// dmaverify: gm %out = 1024xf32
// dmaverify: gm %t = 64xi64
func.func @k(%in: {GM}, %out: {GM}, %t: !pto.ptr<i64, gm>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 8 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 256 : i64
  %b = pto.castptr %z : i64 -> {UB}
  scf.for %i = %c0 to %n step %c1 {{
    %v = pto.load_scalar %t[%i] : !pto.ptr<i64, gm> -> i64
    %on = arith.cmpi eq, %v, %z : i64
    %later = arith.cmpi sgt, %i, %c0 : index
    %both = arith.andi %on, %later : i1
    scf.if %both {{
      pto.mte_ub_gm %b, %out, %size nburst(%one, %size, %size) : {COPY}
    }}
    pto.barrier #pto.pipe<PIPE_ALL>
    scf.if WRITTEN {{
      pto.mte_gm_ub %in, %b, %z, %size nburst(%one, %size, %size) : {GM}, {UB}, i64, i64, i64, i64, i64
    }}
    pto.barrier #pto.pipe<PIPE_ALL>
  }}
  return
}}
"""


@pytest.mark.parametrize(("written", "status"), [("%on", Status.REFUTED), ("%always", Status.PROVED)])
def test_what_was_decided_of_a_value_holds_for_its_own_round_alone(written: str, status: Status) -> None:
    """The row that one round leaves unwritten, since its value said so, is read in the next, whose value says so."""
    always = "    %always = arith.cmpi sge, %i, %c0 : index\n    scf.if"
    text = EACH_ROUND.replace("    scf.if WRITTEN", always + " " + written)
    (verdict,) = check_text(Source("k.mlir", text))
    assert verdict.status is status, verdict
    assert {finding.rule for finding in verdict.errors} == ({"core/definite"} if status is Status.REFUTED else set())


def branches(many: int, last: str) -> str:
    """A row that is loaded where `%b` is 0 and stored where `last` says; conditions in between load another one, which
    begins in it.
    """
    row = f"nburst(%one, %size, %size) : {GM}, {UB}, i64, i64, i64, i64, i64"
    load = f"pto.mte_gm_ub %in, %y, %z, %size {row}"
    decided = "".join(
        f"  %c{i} = arith.cmpi eq, %a{i}, %z : i64\n  scf.if %c{i} {{\n    {load}\n  }} else {{\n    {load}\n  }}\n"
        "  pto.barrier #pto.pipe<PIPE_ALL>\n"
        for i in range(many)
    )
    stated = "".join(f"// dmaverify: assume %{name} in 0..1\n" for name in ["b", *(f"a{i}" for i in range(many))])
    return f"""// dmaverify: gm %in = 1024xf32
// dmaverify: gm %out = 1024xf32
{stated}func.func @k(%in: {GM}, %out: {GM}, %b: i64, {", ".join(f"%a{i}: i64" for i in range(many))}) {{
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 256 : i64
  %x = pto.castptr %z : i64 -> {UB}
  %near = arith.constant 64 : i64
  %y = pto.castptr %near : i64 -> {UB}
  %loaded = arith.cmpi eq, %b, %z : i64
  %other = arith.cmpi ne, %b, %z : i64
  scf.if %loaded {{
    pto.mte_gm_ub %in, %x, %z, %size {row}
  }}
  pto.barrier #pto.pipe<PIPE_ALL>
{decided}  scf.if {last} {{
    pto.mte_ub_gm %x, %out, %size nburst(%one, %size, %size) : {COPY}
  }}
  return
}}
"""


@pytest.mark.parametrize("many", [2, 4])
@pytest.mark.parametrize(("last", "status"), [("%loaded", PROVED), ("%other", REFUTED)])
def test_branches_that_leave_the_same_bytes_do_not_hide_what_another_one_wrote(
    many: int, last: str, status: Status
) -> None:
    (verdict,) = check_text(Source("k.mlir", branches(many, last)))
    assert verdict.status is status, verdict


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize(("row", "status"), [(PART, REFUTED), (WHOLE, PROVED)])
def test_rows_of_a_loop_that_goes_down_are_where_they_are(row: str, status: Status, down: bool) -> None:
    """36 bytes of each 64 are loaded again, the rest of their block is unknown."""
    text = TURNS.replace("%k128 = arith.constant 128", "%k128 = arith.constant 4096")
    at = "%up = arith.muli %i, %c64 : index\n%far = arith.constant 4032 : index\n%at = arith.subi %far, %up : index"
    text = text.replace("%at = arith.muli %t, %c64 : index", at if down else "%at = arith.muli %i, %c64 : index")
    text = text.replace("LOOP", row).replace("AFTER", STORE.replace("NAME", "%all").replace("%k64", "%k128"))
    (found,) = check_text(Source("k.mlir", text.replace("RANGE", "20..64")))
    assert found.status is status, [(f.rule, f.message) for f in found.findings]


@pytest.mark.parametrize("step", [64, -64])
def test_what_every_round_of_a_loop_may_be_the_first_to_write_is_written(step: int) -> None:
    """Blocks of 64 bytes are loaded one beside the other, up or down; the second of them is stored."""
    first = 0 if step > 0 else 8128
    rows = [
        f"%first = arith.constant {first} : i64",
        f"%step = arith.constant {step} : i64",
        "scf.for %i = %c0 to %n step %c1 {",
        "%w = arith.index_cast %i : index to i64",
        "%o = arith.muli %w, %step : i64",
        "%s = arith.addi %first, %o : i64",
        f"%p = pto.castptr %s : i64 -> {UB}",
        f"pto.mte_gm_ub %in, %p, %z, %k64 nburst(%one, %k64, %k64) : {GM}, {UB}, i64, i64, i64, i64, i64",
        "}",
        "pto.barrier #pto.pipe<PIPE_ALL>",
        "%second = arith.addi %first, %step : i64",
        f"%q = pto.castptr %second : i64 -> {UB}",
        f"pto.mte_ub_gm %q, %out, %k64 nburst(%one, %k64, %k64) : {UB}, {GM}, i64, i64, i64, i64",
        "return",
        "}",
    ]
    head = TURNS[: TURNS.index("  %all = ")].replace("RANGE", "20..64")
    (found,) = check_text(Source("k.mlir", head + "\n".join(rows) + "\n"))
    assert found.status is PROVED, [(f.rule, f.message) for f in found.findings]


@pytest.mark.parametrize(("most", "status"), [(16, PROVED), (64, REFUTED)])
def test_a_round_whose_mask_grows_stands_for_no_other(most: int, status: Status) -> None:
    """64 bytes are loaded; in round i lanes 0..i-1 are taken, so that lane 16 is first taken in round 17."""
    rounds = [
        "scf.for %i = %c0 to %n step %c1 {",
        "%k = arith.index_cast %i : index to i32",
        f"%m, %left = pto.plt_b32 %k : i32 -> {B32}, i32",
        LOAD,
        ABS.replace("%all", "%m"),
        KEEP,
        ABS.replace("%w", "%x"),  # a use of all of it, which nothing stores to GM
        KEEP.replace("%w", "%x").replace("[%c0]", "[%c64]"),
        "}",
    ]
    text = text_of(64, 256, *rounds).replace(f"%out: {GM})", f"%out: {GM}, %n: index)")
    (found,) = check_text(Source("k.mlir", f"// dmaverify: assume %n in 1..{most}\n{text}"))
    assert found.status is status, [(f.rule, f.message) for f in found.findings]


BESIDE = Options(cross_check=1 << 16)
MISTAKES = {"core/disagreement", "core/internal"}
LANES = load_target("pto").raw["vector"]
ROWS_OF = [("%all", "%half"), ("%half", "%all"), ("%half", "%half"), ("%all", "%all")]
HALVES = [(lengths, masks) for masks in ROWS_OF for lengths in ((128, 128), (128, 256), (124, 128), (256, 256))]
TOLD = [
    ((128, 128), ("%half", "%half")), ((128, 256), ("%half", "%all")), ((124, 128), ("%half", "%half")),
    ((128, 256), ("%all", "%half")),
]  # fmt: skip


def operation(name: str) -> str:
    """An operation of the table on the row, with a mask %in and the registers that it takes."""
    if name == "vcvt":
        return f'%w = pto.vcvt %v, %in {{part = "EVEN"}} : {F32}, {B32} -> {F32}'
    if name == "vdup":
        return DUP.replace("%d", "%w").replace("%w,", "%v,").replace("%all", "%in")
    if name in ("vbr", "vci", "vdups"):
        return f"%w = pto.{name} %one : i64 -> {F32}"
    if name in ("vcmp", "vcmps"):
        return CMP.replace("%all", "%in") + f"\n    %w = pto.vsel %v, %v, %m : {F32}, {F32}, {B32} -> {F32}"
    two = {"vadd", "vsub", "vmul", "vdiv", "vmax", "vmin", "vand", "vor", "vxor", "vshl", "vshr", "vprelu", "vexpdif"}
    two |= {"vexpdiff", "vabsdif", "vaddrelu", "vsubrelu", "vaxpy", "vsel"}
    count = 3 if name == "vmula" else 2 if name in two else 1
    scalar, kind = (
        ("%one, ", "i64, ") if any("s" in form.takes for form in signatures(shipped()).get(name, ())) else ("", "")
    )
    return f"%w = pto.{name} {'%v, ' * count}{scalar}%in : {f'{F32}, ' * count}{kind}{B32} -> {F32}"


@pytest.mark.parametrize("name", sorted(n for kind in LANES["lanes"].values() if isinstance(kind, list) for n in kind))
@pytest.mark.parametrize("halves", [TOLD, *rest([[one for one in HALVES if one not in TOLD]])], ids=["few", "others"])
def test_a_run_never_contradicts_what_is_said_of_an_operation_on_half_a_row(
    name: str, halves: list[tuple[tuple[int, int], tuple[str, str]]]
) -> None:
    for (loaded, stored), (inside, kept) in halves:
        store = KEEP.replace("%all", kept)
        text = text_of(loaded, stored, LOAD, operation(name).replace("%in", inside), store)
        (found,) = check_text(Source("k.mlir", text), options=BESIDE)
        assert not {f.rule for f in found.findings} & MISTAKES, (name, inside, kept, loaded, stored)
        if (loaded, stored, inside, kept) == (128, 128, "%half", "%half") and not name.startswith(("vc", "vsh")):
            assert found.status is PROVED, [f.message for f in found.findings]


SIZES = [(loaded, stored) for loaded in (32, 64, 124, 128, 256, 512) for stored in (4, 64, 128, 256)]
SOME = [(124, 128), (128, 128), (256, 256)]  # less of a row than is stored, half of one, half of a pair


@pytest.mark.parametrize("way", ["load", "store"])
@pytest.mark.parametrize(("loaded", "stored"), [*SOME, *rest(one for one in SIZES if one not in SOME)])
def test_a_run_never_contradicts_what_is_said_of_a_distribution_of_half_a_row(
    loaded: int, stored: int, way: str
) -> None:
    names = [n for part in LANES[way].values() for n in part["names"] if not n.startswith("PRED")]
    for name in names:
        dist = f' {{dist = "{name}"}}'
        pair = "INTLV" in name
        if way == "load":
            one = f'%v, %x = pto.vldsx2 %b[%c0], "{name}" : {UB}, index -> {F32}, {F32}'
            rows = [one if pair else f"%v = pto.vlds %b[%c0]{dist} : {UB} -> {F32}", HALF, KEEP]
        else:
            two = f'pto.vstsx2 %w, %w, %o[%c0], "{name}", %all : {F32}, {F32}, {UB}, index, {B32}'
            rows = [LOAD, HALF, two if pair else f"pto.vsts %w, %o[%c0], %half{dist} : {F32}, {UB}, {B32}"]
        (found,) = check_text(Source("k.mlir", text_of(loaded, stored, *rows)), options=BESIDE)
        assert not {f.rule for f in found.findings} & MISTAKES, name


@pytest.mark.parametrize("made", [MAGIC, ABS.replace("%all", "%m")])
@pytest.mark.parametrize(("loaded", "whole"), [(256, True), (128, False)])
def test_garbage_behind_an_operation_or_a_mask_without_a_rule_is_a_doubt(made: str, loaded: int, whole: bool) -> None:
    _, (function,) = read_kernels(
        Source("k.mlir", text_of(loaded, 256, LOAD, MADE, CMP.replace("%v", "%x"), made, KEEP))
    )
    run = run_kernel(function, {"in": 4096, "out": 4096})
    assert "definite" not in run.found
    assert run.whole is whole


BRANCH = ["%true = arith.constant true", f"%w = scf.if %true -> ({F32}) {{", LOAD, f"scf.yield %v : {F32}", "} else {"]
BRANCH += [MADE, f"scf.yield %x : {F32}", "}", KEEP]
BLOCKS = [f"%w = scf.execute_region -> {F32} {{", LOAD, f"cf.br ^next(%v : {F32})", f"^next(%x : {F32}):"]
BLOCKS += [f"scf.yield %x : {F32}", "}", KEEP]


@pytest.mark.parametrize("rows", [BRANCH, BLOCKS])
@pytest.mark.parametrize(("loaded", "found"), [(128, {"definite"}), (256, set())])
def test_a_register_that_a_region_gives_is_followed(rows: list[str], loaded: int, found: set[str]) -> None:
    _, (function,) = read_kernels(Source("k.mlir", text_of(loaded, 256, *rows)))
    assert run_kernel(function, {"in": 4096, "out": 4096}).found == found


def handed_on(depth: int, range_: str, *, garbage: bool) -> str:
    """Buffers that each round moves on by one: behind garbage, of which every round stores the last; or behind what
    was loaded, and the last one is stored behind the loop.
    """
    tops = [256 * number for number in range(depth)]
    lines = [f"%c{n} = arith.constant {n} : index" for n in (0, 1)]
    lines += [f"%k{n} = arith.constant {n} : i64" for n in sorted({*tops, 0, 1, 256, 65536})]
    lines += [f"%b{n} = pto.castptr %k{top} : i64 -> {UB}" for n, top in enumerate((*tops, 65536))]
    whole = "pto.barrier #pto.pipe<PIPE_ALL>"
    load = "pto.mte_gm_ub %in, %b{0}, %k0, %k256 nburst(%k1, %k256, %k256) : " + f"{GM}, {UB}, i64, i64, i64, i64, i64"
    store = f"pto.mte_ub_gm %b{depth - 1}, %out, %k256 nburst(%k1, %k256, %k256) : {COPY}"
    lines += [*(load.format(n) for n in (range(depth) if garbage else [0])), whole]
    lines += ["scf.for %i = %c0 to %n step %c1 {", *([store, whole] if garbage else [])]
    pairs = [(n - 1, n) for n in range(depth - 1, 0, -1)] + ([(depth, 0)] if garbage else [])
    for one, two in pairs:
        moved = (LOAD.replace("%b[", f"%b{one}["), ABS, KEEP.replace("%o[", f"%b{two}["))
        lines += ["pto.vecscope {", f'%all = pto.pset_b32 "PAT_ALL" : {B32}', *moved, "}", whole]
    lines += ["}", *([] if garbage else [store]), "return", "}"]
    notes = [f"gm %{name} = 64xf32" for name in ("in", "out")] + [f"assume %n in {range_}"]
    head = [*(f"// dmaverify: {note}" for note in notes), f"func.func @k(%in: {GM}, %out: {GM}, %n: index) {{"]
    return "\n".join([*head, *lines, ""])


@pytest.mark.parametrize("depth", [2, 5])
@pytest.mark.parametrize("garbage", [True, False])
def test_what_rounds_hand_on_is_followed_until_it_stays(depth: int, garbage: bool) -> None:
    """Garbage gets to the last of so many buffers in as many rounds; what was loaded, in one less."""
    right, wrong = (f"0..{depth}", f"0..{depth + 1}") if garbage else (f"{depth - 1}..50", f"{depth - 2}..50")
    for range_, status in ((right, PROVED), (wrong, REFUTED), (f"{depth + 1}..50", REFUTED if garbage else PROVED)):
        (found,) = check_text(Source("k.mlir", handed_on(depth, range_, garbage=garbage)))
        assert found.status is status, range_


def test_what_more_rounds_hand_on_than_are_followed_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definite, "MOST_STEPS", 4)
    (found,) = check_text(Source("k.mlir", handed_on(9, "20..50", garbage=False)))
    assert found.status is UNKNOWN
    assert any("what its iterations hand on is not followed to the end" in o.why for o in found.obligations)


def handed_on_by_some(rounds: str) -> str:
    """A round hands garbage on by one buffer of four where m is 1; to two of them in any round where it is 2 or 4, to
    three where it is 3 or 5: behind the third round, values are where others were behind the second.
    """
    tops = [256 * number for number in range(6)]
    lines = [f"%c{n} = arith.constant {n} : index" for n in range(6)]
    lines += [f"%k{n} = arith.constant {n} : i64" for n in (*tops, 1)]
    lines += [f"%b{n} = pto.castptr %k{top} : i64 -> {UB}" for n, top in enumerate(tops)]
    whole = "pto.barrier #pto.pipe<PIPE_ALL>"
    load = "pto.mte_gm_ub %in, %b{0}, %k0, %k256 nburst(%k1, %k256, %k256) : " + f"{GM}, {UB}, i64, i64, i64, i64, i64"
    taken = [f"%v{n} = pto.vlds %b{n}[%c0] : {UB} -> {F32}" for n in (0, 1, 2, 3)]
    made = [f"%w{n} = pto.vabs %v{n}, %all : {F32}, {B32} -> {F32}" for n in (0, 1, 2, 3)]

    def kept(*pairs: tuple[int, int]) -> list[str]:
        return [f"pto.vsts %w{a}, %b{b}[%c0], %all : {F32}, {UB}, {B32}" for a, b in pairs]

    lines += [*(load.format(n) for n in (1, 2, 3, 4)), whole]
    lines += [f"%e{n} = arith.cmpi eq, %m, %c{n} : index" for n in (1, 2, 4, 5)] + ["%q = arith.ori %e2, %e4 : i1"]
    lines += ["scf.for %i = %c0 to %n step %c1 {"]
    lines += ["scf.if %e4 {", load.format(2), "}", "scf.if %e5 {", load.format(3), "}", whole]
    lines += ["pto.vecscope {", f'%all = pto.pset_b32 "PAT_ALL" : {B32}', *taken, *made]
    lines += ["scf.if %q {", *kept((0, 1), (0, 2)), "} else {", "scf.if %e1 {", *kept((3, 4), (2, 3), (1, 2), (0, 1))]
    lines += ["} else {", *kept((0, 1), (0, 2), (0, 3)), "}", "}", "}", whole, "}"]
    lines += ["scf.if %e1 {", f"pto.mte_ub_gm %b4, %out, %k256 nburst(%k1, %k256, %k256) : {COPY}", "}", "return", "}"]
    notes = ["gm %in = 64xf32", "gm %out = 64xf32", f"assume %n in {rounds}", "assume %m in 1..5"]
    head = [*(f"// dmaverify: {note}" for note in notes)]
    return "\n".join([*head, f"func.func @k(%in: {GM}, %out: {GM}, %n: index, %m: index) {{", *lines, ""])


@pytest.mark.parametrize(("rounds", "status"), [("0..3", PROVED), ("4..4", REFUTED), ("0..50", REFUTED)])
def test_rounds_are_alike_only_where_each_path_stays_as_it_was(rounds: str, status: Status) -> None:
    """PROVED, of four rounds, too: the states of all paths together were those of the round before."""
    text = handed_on_by_some(rounds)
    (found,) = check_text(Source("k.mlir", text))
    assert found.status is status
    _, (function,) = read_kernels(Source("k.mlir", text))
    run = run_kernel(function, {"in": 4096, "out": 4096}, {"n": int(rounds.split(".")[-1]), "m": 1})
    assert bool(run.found) == (status is REFUTED)


@pytest.mark.parametrize("period", [2, 3, 5])
@pytest.mark.parametrize(("word", "status"), [("eq", PROVED), ("ne", REFUTED)])
def test_what_every_third_round_loads_is_there_in_the_others(period: int, word: str, status: Status) -> None:
    some = f"  %far = arith.constant 32768 : i64\n  %some = pto.castptr %far : i64 -> {UB}\n"
    some += f"  %per = arith.constant {period} : index\n"
    body = f"%e = arith.remui %i, %per : index\n%q = arith.cmpi {word}, %e, %c0 : index\n"
    body += f"scf.if %q {{ {WHOLE.replace('%p', '%some')} }}\npto.barrier #pto.pipe<PIPE_ALL>\n"
    body += STORE.replace("NAME", "%some")
    text = TURNS.replace("AFTER", "").replace("RANGE", "1..1000").replace("  scf.for", f"{some}  scf.for")
    (found,) = check_text(Source("k.mlir", text.replace("LOOP", body)))
    assert found.status is status
