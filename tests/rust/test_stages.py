"""Each stage of the Tensor Unit that moves has its law; beside what keeps it stands what the library refuses.

Elements and bytes: a flit has 32 bytes, so 32 elements of `i8`, 16 of `bf16`, 8 of `f32`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kernels import HBM, HEAD, plan, verdicts

from dmaverify.jobs.same_rust import same_rust
from dmaverify.language.parse import parse
from dmaverify.machines.rngd.rust import stage_laws
from dmaverify.machines.rngd.rust.library import Library
from dmaverify.machines.rngd.rust.plans import read_kernel_plan, read_kernel_plan_text
from dmaverify.machines.rngd.rust.stage_laws import StageStream, StageWords
from dmaverify.machines.rngd.rust.stages import behind
from dmaverify.targets.target import load_target
from dmaverify.values import replace

AXES = {"A": 4, "B": 6, "C": 8, "S": 256, "X": 4, "Y": 4, "D": 16}


def flows(
    name: str, before: str, said: str, *, came: str, bits: int = 8, config: str = "", ordered: bool = True
) -> StageStream:
    """What flows behind a stage; mappings are told apart by `|`: slices, time and packet, then what the stage says."""
    slices, time, packet = (parse(one, AXES) for one in before.split(" | "))
    given = tuple(parse(one, AXES) for one in said.split(" | ")) if said else ()
    names = ("ring_size",) if config[:1] == "C" else ("slice1", "slice0", "time0")
    told = tuple(zip(names, map(int, config.split()[1:]), strict=False))
    element = given[0] if name == "commit" else None
    words = StageWords(name, () if element is not None else given, element, 8, config.split(" ")[0], told)
    return behind(StageStream(came, bits, slices, time, packet), words, ordered=ordered)


LAWS = [  # stage, what it follows, what comes in, what it says where that is right, and where it is refused
    ("fetch", "begin", "S | 1 | A, C", "A | C", "A = 2 | C"),
    ("fetch", "begin", "S | 1 | A, C", "C, X | A", "C, X | A = 2"),
    ("fetch", "begin", "S | 1 | A, C # 16", "A | C", "A | C = 4"),
    ("collect", "fetch", "S | A | C", "A | C # 32", "A | C # 16"),
    ("collect", "fetch", "S | A | C", "A | C # 32", "A | X # 32"),
    ("collect", "fetch", "S | A | B, C", "A, [B, C] # 64 / 32 | [B, C] # 64 % 32", "A | C # 32"),
    ("collect", "switch", "S | A | D, X", "A, D / 8 | D % 8, X", "D / 8, A | D % 8, X"),
    ("commit_trim", "collect", "S | A | C # 32", "C", "C = 4"),
    ("commit_trim", "collect", "S | A | C # 32", "C # 16", "X # 16"),
    ("commit", "commit_trim", "S | A, B | C", "B, A, C", "B, C"),
    ("commit", "commit_trim", "S | A, 1 # 2 | C", "A, C", "A, B, C"),
    ("commit", "commit_trim", "S | A | C", "A # 8, C", "2, A, C"),
    ("cast", "collect", "S | A | C", "C # 32", "C # 16"),
    ("vector_narrow_split", "vector_init", "S | A | C", "A, C / 4 | C % 4", "C / 4, A | C % 4"),
    ("vector_narrow_trim", "vector_init", "S | A | X # 8", "X # 4", "Y"),
    ("vector_narrow_trim", "vector_init", "S | A | X # 8", "X", "X = 2"),
    ("vector_widen_concat", "vector_fxp", "S | A, B / 3 | X", "A | B / 3, X", "B / 3 | A, X"),
    ("vector_widen_pad", "vector_fxp", "S | A | X", "X # 8", "X = 2 # 8"),
]
WIDE = ("cast", "vector_narrow_split", "vector_narrow_trim", "vector_widen_concat", "vector_widen_pad")  # of 32 bits
ROUTES = [  # a switch of its own: ring, slices and time that come in, then go out, and whether the library takes it
    ("16", "S | C", "S / 16, S % 4, S / 4 % 4 | C", True), ("8", "S | C", "S / 16, S % 4, S / 4 % 4 | C", False),
    ("12", "S | C", "S / 16, S % 4, S / 4 % 4 | C", False), ("32", "S | C", "S / 16, S % 4, S / 4 % 4 | C", None),
    ("4", "S | C", "S / 4, X | C, S % 4", True), ("4", "S | C", "S / 4, X | S % 4, C", False),
    ("4", "S | C", "S / 4, X | C, S % 2, S / 2 % 2", False), ("4", "S | C", "S / 4, X | C, S % 4 = 3", False),
    ("4", "S | C", "S / 4, X | C", False), ("16", "S | C", "S / 16, X, S % 4 | C, S / 4 % 4", True),
    ("4", "S | C", "S / 4, 4 | C, S % 4", None), ("8", "S | C", "S / 8, X # 8 | C, S % 8", None),
    ("4", "B # 64, X | A, D", "B # 64, Y | A, D, X", True), ("4", "S / 4, B = 3 # 4 | C", "S / 4, X | C, B = 3", True),
]  # fmt: skip
SWITCHES = [  # slices and time that come in, the configuration, slices and time that go out
    ("S | A", "Broadcast1 4 8", "S / 32, X, S % 8 | A, S / 8 % 4", "S / 32, X, S % 8 | S / 8 % 4, A"),
    ("S | A", "Broadcast01 2 2 2", "S / 4, X | A / 2, S / 2 % 2, A % 2, S % 2", "S / 4, X | A, S % 4"),
    ("S | A", "Transpose 32 2", "S / 64, S % 2, S / 2 % 32 | A", "S / 64, S / 2 % 32, S % 2 | A"),
    ("S | C", "InterTranspose 2 16 2", "S / 32, C / 2 % 2, S % 16 | C / 4, C % 2, S / 16 % 2", "S | C"),
    ("S | A", "TransposedBroadcast1 8 4", "S / 32, X, S / 4 % 8 | A, S % 4", "S / 32, S / 4 % 8, X | A, S % 4"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "came", "before", "right", "wrong"), LAWS)
def test_a_stage_is_refused_where_it_says_another_stream_than_comes(
    name: str, came: str, before: str, right: str, wrong: str
) -> None:
    bits = 32 if name in WIDE else 8
    assert flows(name, before, right, came=came, bits=bits).known
    assert flows(name, before, wrong, came=came, bits=bits).refused.startswith(f"`.{name}()`: ")


@pytest.mark.parametrize(("ring", "before", "said", "taken"), ROUTES)
def test_a_switch_of_its_own_keeps_time_and_order_and_reaches_as_far_as_its_ring(
    ring: str, before: str, said: str, taken: bool | None
) -> None:
    found = flows("switch", f"{before} | D", said, came="fetch", config=f"CustomBroadcast {ring}")
    assert (found.known, bool(found.refused)) == (taken is True, taken is False), found


@pytest.mark.parametrize(("before", "config", "right", "wrong"), SWITCHES)
def test_a_switch_says_what_its_configuration_makes(before: str, config: str, right: str, wrong: str) -> None:
    made = [flows("switch", f"{before} | C", said, came="fetch", config=config) for said in (right, wrong)]
    assert (made[0].known, bool(made[1].refused)) == (True, True), made
    three = config.replace(config.split()[1], "3", 1)
    assert "power of two" in flows("switch", f"{before} | C", right, came="fetch", config=three).refused


@pytest.mark.parametrize(("bits", "before", "right", "wrong"), [
    (8, "1 | A | C # 32", "C | A # 32", "C | B # 32"), (16, "1 | B, A | C # 16", "B, C | A # 16", "B, A | C # 16"),
    (32, "1 | B / 2, B % 2 | C", "B / 2, C | B % 2 # 8", "C, B / 2 | B % 2 # 8"),
])  # fmt: skip
def test_a_transpose_is_followed_where_rows_and_columns_are_known(
    bits: int, before: str, right: str, wrong: str
) -> None:
    assert flows("transpose", before, right, came="collect", bits=bits).known
    made = flows("transpose", before, wrong, came="collect", bits=bits)
    assert (made.known, made.refused) == (False, "")


@pytest.mark.parametrize(("figure", "name", "said"), [
    ("flit_bytes", "collect", "A | C # 64"), ("commit_multiple", "commit_trim", "C = 4"),
])  # fmt: skip
def test_the_sizes_of_stages_are_data_of_the_machine(
    figure: str, name: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    came = {"collect": "fetch", "commit_trim": "collect"}[name]
    machine, other = load_target("rngd"), {"flit_bytes": 64, "commit_multiple": 4}[figure]
    assert flows(name, "S | A | C", said, came=came).refused
    both = {part: {**getattr(machine, part)} for part in ("figures", "limit_figures")}
    held = next(own for own in both.values() if figure in own)
    held[figure] = replace(held[figure], value=other)
    monkeypatch.setattr(stage_laws, "load_target", lambda _: replace(machine, **both))
    assert flows(name, "S | A | C", said, came=came).known


def test_a_stage_follows_those_alone_that_the_library_names() -> None:
    said = {"fetch": "A | C", "collect": "A | C # 32", "commit_trim": "C", "commit": "A, C"}
    order = ["begin", "fetch", "collect", "commit_trim", "commit"]
    for at, name in enumerate(order[1:]):
        for came in order[:4]:
            found = flows(name, "1 | A | C", said[name], came=came)
            assert ("it follows" in found.refused) == (came != order[at]), (name, came)


def test_of_an_older_library_no_stage_is_refused() -> None:
    for name, came, before, _, wrong in LAWS[:4]:
        assert flows(name, before, wrong, came=came).refused
        found = flows(name, before, wrong, came=came, ordered=False)
        assert (found.refused, bool(found.open), found.typed) == ("", True, True)


def test_a_compound_that_is_cut_inside_its_parts_is_never_refused() -> None:
    found = flows("collect", "1 | [A, B] # 32 / 8 | [A, B] # 32 % 8", "A | C # 32", came="fetch")
    assert (found.refused, bool(found.open)) == ("", True)


def test_a_stream_that_a_function_is_given_is_followed() -> None:
    """What the function makes of it was taken for written, under a condition."""
    for kept, status in (("B % 32", "proved"), ("B % 32 = 8", "unknown")):
        line = f"ctx.main.begin(d.view()){IN_ORDER.partition('.commit_trim')[0]}"
        text = (
            f"fn end(line: CollectTensor<i8>) -> {D} {{ line.commit_trim::<m![{kept}]>().commit() }}\n"
            f"#[device(chip = 1)]\nfn k(ctx: &mut Context, x: &{HBM}) -> {HBM} {{\n"
            f"let d: {D} = x.to_dm(&mut ctx.tdma); let e: {D} = end({line}); e.to_hbm(&mut ctx.tdma) }}\n"
        )
        made = verdicts(plan(text, HEAD.replace("A = 256", "A = 64, X = 4")))
        assert [(one.status.value, one.conditions) for one in made] == [("proved", ()), (status, ())]


D = "DmTensor<i8, m![1], m![1 # 2], m![A # 256], m![B]>"
SWITCH = ".switch::<m![X, A # 64], m![B / 32]>(SwitchConfig::Broadcast1 { slice1: 4, slice0: 64 })"
CUSTOM = SWITCH.replace("Broadcast1 { slice1: 4, slice0: 64 }", "CustomBroadcast { ring_size: 4 }")
OPEN = CUSTOM.replace("4 }", "foreign() }"), SWITCH.replace("slice1: 4, ", "")
ADDS = ".vector_init().vector_fxp(FxpBinaryOp::AddFxp, 1).vector_final()"
ZIPS = (
    ".vector_init().vector_intra_slice_unzip::<X, m![1 # 2, B / 32], m![B / 32]>()"
    ".vector_clip_zip(ClipBinaryOpI32::AddFxp).vector_final()"
)
HALF = ".commit_trim::<m![B % 32 = 8]>"
IN_ORDER = ".fetch::<m![B / 32], m![B % 32]>().collect::<m![B / 32], m![B % 32]>().commit_trim::<m![B % 32]>().commit()"
LANE = (
    ".fetch::<m![B / 32], m![B % 32]>().collect::<_, _>().contract_outer::<_, _, _, _, _>(&w)"
    ".contract_packet::<m![1]>().contract_time::<m![1]>().contract_lane::<m![B / 8], m![B % 8]>(LaneMode::Interleaved)"
    ".commit_trim::<m![B % 8]>().commit()"
)


@pytest.mark.parametrize(("old", "new", "refused"), [
    ("B % 32]>().commit()", "B % 32 = 8]>().commit()", "`.commit()`: elements of the destination"),
    ("fetch::<m![B / 32]", "fetch::<m![B / 32 = 1]", "`.fetch()`: it does not read all elements"),
    (".commit_trim::<m![B % 32]>()", "", "`.commit()` behind `.collect()`"),
    (".collect", f"{SWITCH}.collect", "`.switch()`: "),
    ("fetch::<m![B / 32], m![B % 32]>", "fetch::<_, _>", ""),
    (".collect", f"{CUSTOM}.collect", "`.switch()`: a ring of 4 slices does not reach"),
    (".collect", f"{OPEN[0]}.collect", ""), (".collect", f"{OPEN[1]}.collect", ""),
    (".commit_trim::<m![B % 32]>", f"{ADDS}{HALF}", "`.commit()`: "),
    (".commit_trim::<m![B % 32]>", f".foreign(){HALF}", ""), (IN_ORDER, LANE, ""),
    (IN_ORDER, LANE.replace("B / 8]", "B / 16]"), "`.commit()`: "),
    (IN_ORDER, LANE.replace(".contract_time::<m![1]>()", ""), "`.contract_lane()` behind `.contract_packet()`"),
    (".commit_trim::<m![B % 32]>()", ADDS, "`.commit()` behind `.vector_final()`"),
    ("collect::<m![B / 32], m![B % 32]>()", "collect::<m![B / 32], m![B % 32]>().vector_init().vector_final()", ""),
    (".commit_trim::<m![B % 32]>", f"{ZIPS}.commit_trim::<m![B % 32]>", ""),
    (".commit_trim::<m![B % 32]>", f"{ZIPS.replace(' m![B / 32]', 'm![B / 64]')}{HALF}", "`.commit()`: "),
])  # fmt: skip
@pytest.mark.parametrize("helper", [False, True])
def test_a_kernel_with_a_stage_that_the_library_refuses_is_not_proved(
    old: str, new: str, refused: str, helper: bool
) -> None:
    """What a commit makes was taken for written, whatever its pipeline holds (PROVED)."""
    for line, why in ((IN_ORDER, ""), (IN_ORDER.replace(old, new), refused)):
        piped = f"let e: {D} = ctx.main.begin(d.view())\n{line}; e.to_hbm(&mut ctx.tdma)"
        lines = "piped(ctx, d)" if helper else piped
        text = (
            f"fn piped(ctx: &mut Context, d: {D}) -> {HBM} {{ {piped} }}\n#[device(chip = 1)]\n"
            f"fn k(ctx: &mut Context, x: &{HBM}) -> {HBM} {{ let d: {D} = x.to_dm(&mut ctx.tdma);\n{lines} }}\n"
        )
        text = HEAD.replace("A = 256", "A = 64, X = 4") + text
        older = verdicts(read_kernel_plan_text(text, library=Library((0, 5))))  # whose stages are not known
        warned = {f.rule for one in older for f in one.findings if "v0.6.0 of the library refuses" in f.message}
        assert all(older)
        followed = not re.search("contract|unzip", line)  # behind these the first place is not known
        assert warned == ({"core/definite"} if why and " behind " not in why and followed else set())
        made = read_kernel_plan_text(text)
        told = [own.why for one in verdicts(made) for own in one.obligations if own.status == "unknown"]
        assert [all(verdicts(made)), bool(told)] == [not why, bool(why)], told
        assert all("the library refuses " + why in one for one in told)


TURNED = "SwitchConfig::Transpose { slice1: 32, slice0: 2 }"
CONFIGURED = [  # before the switch, its argument, and whether its numbers are known there
    ("", "TURNED", True), ("let c = TURNED;", "c", True), ("let (c, _): (SwitchConfig, u8) = (TURNED, 1);", "c", True),
    ("", "CONST", True), ("", "give()", True),
    ("let slice1 = 32;", "SwitchConfig::Transpose { slice1, slice0: 2 }", True),
    ("let mut c = TURNED;", "c", False), ("let mut c = OTHER; if n > 1 { c = TURNED; }", "c", False),
    ("let mut c = OTHER; for _ in 0..n { c = TURNED; }", "c", False),
    ("let c = if n > 1 { TURNED } else { OTHER };", "c", False),
    ("let c = if n > 1 { OTHER } else { TURNED };", "c", False),
    ("let mut c = TURNED; set(&mut c);", "c", False),
]  # fmt: skip


@pytest.mark.parametrize(("before", "given", "known"), CONFIGURED)
def test_a_configuration_of_a_switch_is_followed_as_a_value(
    before: str, given: str, known: bool, tmp_path: Path
) -> None:
    for slices, right in (("S / 64, S % 2, S / 2 % 32", True), ("S / 64, S / 2 % 32, S % 2", False)):
        kept, left = (f"DmTensor<i8, m![1], m![1 # 2], m![{own}], m![B]>" for own in ("S", slices))
        piped = f".fetch::<m![1], m![B]>().switch::<m![{slices}], m![1]>({given}).collect::<m![1], m![B]>()"
        head = f"""use furiosa_opt_std::prelude::*;
axes![S = 256, B = 32];
type T = HbmTensor<i8, m![1], m![S, B]>;
const CONST: SwitchConfig = TURNED;
fn give() -> SwitchConfig {{ TURNED }}
#[device(chip = 1)]
pub fn k(ctx: &mut Context, x: &T, n: usize) -> T {{ let d: {kept} = x.to_dm(&mut ctx.tdma); """
        made = f"{before} let e: {left} = ctx.main.begin(d.view()){piped}.commit_trim::<m![B]>().commit(); e"
        for name, body in (("a.rs", made), ("b.rs", "d")):
            text = f"{head} {body}.to_hbm(&mut ctx.tdma) }}\n".replace("TURNED", TURNED)
            (tmp_path / name).write_text(text.replace("OTHER", TURNED.replace("32", "2").replace(": 2 }", ": 32 }")))
        told = [own.status for one in verdicts(read_kernel_plan(tmp_path / "a.rs")) for own in one.obligations]
        assert ("unknown" in told) == (known and not right)
        if right and (before == "let c = TURNED;" or given == "give()"):
            both = [f"{tmp_path / one}::k" for one in ("a.rs", "b.rs")]
            assert same_rust(both, rlimit=2_000_000).status == "proved"
