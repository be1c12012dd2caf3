"""Every limit stands once, in the data: changed there, every command follows."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.copies import synthesize_copies

from dmaverify import api
from dmaverify.errors import InputError, Source
from dmaverify.jobs.judge import check_job
from dmaverify.machines.idma.engine import Backend, Request, bus_limits, variant_named
from dmaverify.machines.idma.judge import burst_facts
from dmaverify.machines.idma.legalizer import legalize
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.limits import shipped as pto_shipped
from dmaverify.machines.pto.named import named_in
from dmaverify.machines.pto.surfaces import in_surface
from dmaverify.plan.read import read_plan_text
from dmaverify.prove.flow.listed import ListedItem, judge_listed
from dmaverify.prove.options import Options
from dmaverify.targets import table
from dmaverify.targets import target as targets
from dmaverify.targets.target import load_target
from dmaverify.values import replace
from dmaverify.verdict import Status

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "pto" / "corpus"
SHIM = ROOT / "examples" / "machines" / "shim"
Changed = Callable[[str, str, int], None]


@pytest.fixture
def changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Changed]:
    """Writes another value of a limit into a copy of the machines' data, which is all that is read from then on."""
    shutil.copytree(ROOT / "encodings", tmp_path / "encodings")
    shutil.copytree(SHIM, tmp_path / "encodings" / "shim")
    monkeypatch.setattr(targets, "_roots", lambda: (tmp_path / "encodings",))
    said: dict[str, dict[str, Any]] = {}  # what a text says, where it is known without reading all of it again
    parsed = table.shipped_toml
    monkeypatch.setattr(table, "shipped_toml", lambda file, text: said[text] if text in said else parsed(file, text))

    def change(machine: str, limit: str, value: int) -> None:
        file = tmp_path / "encodings" / machine / "target.toml"
        before = file.read_text()
        text, count = re.subn(rf"(\[limit\.{limit}\]\nvalue = )[\d_]+", rf"\g<1>{value}", before)
        assert count == 1, limit
        file.write_text(text)
        data = table.shipped_toml(file, before)
        one = {**data["limit"][limit], "value": value}
        said.setdefault(text, {**data, "limit": {**data["limit"], limit: one}})
        forget()

    forget()
    yield change
    monkeypatch.undo()
    forget()


def forget() -> None:
    for kept in (pto_shipped, bus_limits):
        kept.cache_clear()


def tight(limit: str, value: int) -> int:
    """A value at which what keeps the limit now breaks it."""
    upward = re.search(r"align|multiple|granule|line_bytes|least|bits|flags|desc_bytes", limit)
    return value * 64 if upward else 1


# ---------------------------------------------------------------- check


def plans_of(machine: str) -> list[tuple[str, str, str | None]]:
    """Names and texts with which every limit of a machine can be broken, and the entry that is looked at."""
    examples = ROOT / "examples"
    if machine == "rngd":
        named = [
            ("start/gather.toml", "embedding"), ("programs/cumulative.toml", "four-63"),
            ("dma-engine/statements.toml", "dm-to-hbm"), ("dma-engine/limits.toml", "iterations-65536"),
            ("dma-engine/limits.toml", "spm-to-other-chip"), ("dma-engine/example-4.toml", "example-4-corrected"),
            ("start/rust.rs", "turn-rows"),
        ]  # fmt: skip
        found = [(Path(name).name, (examples / name).read_text(), entry) for name, entry in named]
        return [*found, ("spm.toml", SPM, None)]
    if machine == "toy":
        return [("toy.toml", (examples / "toy.toml").read_text().replace("../encodings/toy", "toy"), None)]
    if machine == "shim":
        text = re.sub(r"(?m)^target = .*", 'target = "shim"', (examples / "machines" / "shim.toml").read_text())
        return [("shim.toml", text, None), ("wide.toml", WIDE.format("i32", "N, C # 2097152", "N, C"), None)]
    if machine == "idma":
        forms = (examples / "idma" / "forms.toml").read_text()
        return [("forms.toml", forms, "chain"), ("error.toml", ABORTED, None), ("bursts.csv", BURSTS, None)]
    kernels = [(f"{name}.mlir", (CORPUS / f"{name}.mlir").read_text()) for name in ("real-even-shares", "gather_rows")]
    own = [("words.mlir", WORDS), ("local.mlir", LOCAL_COPY), ("cores.mlir", CORES), ("units.mlir", UNITS)]
    return [(name, text, None) for name, text in (*kernels, *own)]


SPM = """schema = 1
target = "rngd"
[axes]
N = 2
C = 64
[transfer.spread]
dtype = "i8"
source = { tier = "hbm", element = "N, C" }
dest = { tier = "spm", slice = "N", element = "C" }
stream = { time = "N", packet = "C" }
"""
WIDE = """schema = 1
target = "shim"
[axes]
N = 65
C = 4
[transfer.wide]
dtype = "{}"
source = {{ tier = "ddr", element = "{}" }}
dest = {{ tier = "array", element = "{}" }}
stream = {{ time = "N", packet = "C" }}
"""
ABORTED = """schema = 1
target = "idma"
[axes]
N = 64
[transfer.aborted]
dtype = "i8"
source = { tier = "mem", element = "N" }
dest = { tier = "mem", base = 4096, element = "N" }
options = { on_error = "abort" }
stream = { time = "1", packet = "N" }
"""
BURSTS = """variant,data_width,src_addr,dst_addr,length,src_protocol,dst_protocol,decouple_rw,r_bursts,w_bursts
rw_axi,64,0,8192,2048,0,0,1,0:2048,2000:2048
rw_tilelink,64,0,8192,256,3,3,1,0:256,2000:256
"""
# Numbers of an instruction that few kernels write: a stream, cache control, a buffer, an event.
WORDS = """func.func @words(%a: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : i64
  %c2 = arith.constant 2 : i64
  %c128 = arith.constant 128 : i64
  %off = arith.constant false
  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  pto.get_buf "PIPE_MTE2", 2, 0
  pto.copy_gm_to_ubuf %a, %u, %c2, %c2, %c128, %c0, %c2, %off, %c2, %c128, %c128
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64
  pto.rls_buf "PIPE_MTE2", 2, 0
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID2"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID2"]
  return
}
"""
LOCAL_COPY = """func.func @local() {
  %c0 = arith.constant 0 : i64
  %c2 = arith.constant 2 : i64
  %c4096 = arith.constant 4096 : i64
  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  %v = pto.castptr %c4096 : i64 -> !pto.ptr<f32, ub>
  pto.mte_ub_ub %u, %v, %c2 nburst(%c2, %c2, %c2) : !pto.ptr<f32, ub>, !pto.ptr<f32, ub>, i64, i64, i64, i64
  return
}
"""
CORES = """func.func @cores(%a: !pto.ptr<f32, gm>) {
  pto.section.cube {
    pto.sync.set <PIPE_FIX>, 19
  }
  pto.section.vector {
    pto.sync.wait <PIPE_V>, 3
    %c0 = arith.constant 0 : i64
    %c128 = arith.constant 128 : i64
    %c1 = arith.constant 1 : i64
    %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
    pto.mte_gm_ub %a, %u, %c0, %c128 nburst(%c1, %c128, %c128) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64
  }
  return
}
"""
# A product, tile by tile, and a masked register.
_TILES = {
    loc: f"!pto.tile_buf<loc={loc}, dtype=f32, rows=16, cols=16, v_row=16, v_col=16, blayout="
    for loc in ("mat", "left", "acc")
}
_TILES = {loc: f"{kind}col_major, slayout=row_major>" for loc, kind in _TILES.items()}
_TILES["right"] = _TILES["left"].replace("left", "right").replace("col_major, slayout=row", "row_major, slayout=col")
UNITS = f"""func.func @units(%out: !pto.ptr<f32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %f = arith.constant 0.0 : f32
  %v = pto.make_tensor_view %out, shape = [%c16, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x?xf32>
  %p = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c16, %c16]
    : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<16x16xf32>
  %m = pto.alloc_tile : {_TILES["mat"]}
  %l = pto.alloc_tile : {_TILES["left"]}
  %r = pto.alloc_tile : {_TILES["right"]}
  %o = pto.alloc_tile : {_TILES["acc"]}
  pto.texpands ins(%f : f32) outs(%m : {_TILES["mat"]})
  pto.tmov ins(%m : {_TILES["mat"]}) outs(%l : {_TILES["left"]})
  pto.tmov ins(%m : {_TILES["mat"]}) outs(%r : {_TILES["right"]})
  pto.tmatmul ins(%l, %r : {_TILES["left"]}, {_TILES["right"]}) outs(%o : {_TILES["acc"]})
  pto.tstore ins(%o : {_TILES["acc"]}) outs(%p : !pto.partition_tensor_view<16x16xf32>)
  %all = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
  %x = pto.vbr %f : f32 -> !pto.vreg<64xf32>
  %y = pto.vabs %x, %all : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
  return
}}
"""


Answer = tuple[str, tuple[str, ...]]


def answers(folder: Path, name: str, text: str, entry: str | None) -> dict[str, Answer]:
    """Status and findings of every entry of one plan."""
    (folder / name).write_text(text)
    verdicts, _ = check_job((str(folder / name), entry, None, {"repair": False}))
    assert entry is None or [one.name for one in verdicts] == [entry]
    return {one.name: (one.status.value, tuple(sorted({f.rule for f in one.findings}))) for one in verdicts}


@pytest.mark.parametrize("machine", ["rngd", "pto", "idma", "toy", "shim"])
def test_a_limit_changed_in_the_data_changes_what_check_says(machine: str, changed: Changed, tmp_path: Path) -> None:
    """Of some plan: the plans are judged again, the cheapest first, until one of them answers otherwise."""
    before, took = {}, {}
    for plan in plans_of(machine):
        start = time.process_time()
        before[plan] = answers(tmp_path, *plan)
        took[plan] = time.process_time() - start
        assert all(said != ("error", ("core/input",)) for said in before[plan].values())
    silent = []
    for limit, value in load_target(machine).limits.items():
        changed(machine, limit, tight(limit, value))
        noticed = any(answers(tmp_path, *plan) != before[plan] for plan in sorted(before, key=took.__getitem__))
        silent += [] if noticed else [limit]
        changed(machine, limit, value)
    assert silent == []
    assert {plan: answers(tmp_path, *plan) for plan in before} == before


# ---------------------------------------------------------------- synth, derive


RELAYOUT = """schema = 1
target = "rngd"
[axes]
A = 64
B = 4
C = 512
[transfer.x]
dtype = "i8"
source = { tier = "hbm", element = "B, A, C" }
dest = { tier = "dm", slice = "A", element = "B, C" }
"""


BROKEN = {
    "packet_max": "rngd/packet-max",
    "entries_max": "rngd/entries-max",
    "iterations_max": "rngd/iterations-max",
    "cluster_engines_max": "rngd/engine-index",
}


@pytest.mark.parametrize(
    ("limit", "value"), [("packet_max", 256), ("entries_max", 3), ("iterations_max", 64), ("cluster_engines_max", 2)]
)
def test_a_synthesized_plan_keeps_the_limits_of_the_data(limit: str, value: int, changed: Changed) -> None:
    usual = api.synthesize(RELAYOUT, simulate=False, routes=False)
    changed("rngd", limit, value)
    found = api.synthesize(RELAYOUT, simulate=False, routes=False)
    assert [one.status for one in api.check(found.plan)] == [Status.PROVED]
    changed("rngd", limit, 1)
    assert {f.rule for f in api.check(usual.plan)[0].findings} >= {BROKEN[limit]}


@pytest.mark.parametrize(("limit", "value"), [("entries_max", 2), ("d1_max", 8), ("granule_bytes", 8)])
def test_synthesis_on_a_machine_of_data_alone_keeps_its_limits(limit: str, value: int, changed: Changed) -> None:
    text = WIDE.format("i32", "N, C # 8", "N, C").replace('stream = { time = "N", packet = "C" }\n', "")
    changed("shim", limit, value)
    found = api.synthesize(text)
    assert [one.status for one in api.check(found.plan)] == [Status.PROVED]


KERNEL = """axes![A = 256, B = 64, T = 4096, N = 64];
#[device(chip = 1, pe = %s)]
fn f(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>, t: &HbmTensor<i8, m![1], m![T, B]>, i: &DmTensor<i32, m![1], m![1 # 2], m![1 # 256], m![N]>) {
    let y: DmTensor<i8, m![1], %s, m![B]> = x.to_dm(&mut ctx.tdma);
    let g: DmTensor<i8, m![1], m![1 # 2], m![N # 256], m![B]> = t.dma_gather_unscaled(&mut ctx.tdma, i);
}
"""  # noqa: E501
PLACES = "m![1 # 2], m![A]"


@pytest.mark.parametrize(
    ("pe", "places", "limit", "value", "rules"),
    [
        (8, PLACES, "slices_max", 128, {"rngd/spatial-sizes"}),
        (8, PLACES, "slices_least", 192, {"rngd/spatial-sizes"}),
        (8, PLACES, "clusters_max", 1, {"rngd/spatial-sizes"}),
        (8, PLACES, "index_list_bytes_max", 255, {"rngd/index-list"}),
        (8, PLACES, "index_number_bits", 16, {"rngd/index-dtype"}),
        (8, PLACES, "slice_bytes_max", 63, {"rngd/slice-capacity"}),
    ],
)
def test_a_kernel_is_judged_by_the_limits_of_the_data(
    pe: int, places: str, limit: str, value: int, rules: set[str], changed: Changed, tmp_path: Path
) -> None:
    text = KERNEL % (pe, places)
    before = {rule for _, found in answers(tmp_path, "kernel.rs", text, None).values() for rule in found}
    changed("rngd", limit, value)
    after = {rule for _, found in answers(tmp_path, "kernel.rs", text, None).values() for rule in found}
    assert rules & (after - before)


@pytest.mark.parametrize(
    ("engines", "places", "fine"),
    [
        ("per_cluster = 4", "m![1 # 2], m![A]", False), ("per_cluster = 4", "m![1], m![A]", True),
        ("per_cluster = 2", "m![1 # 2], m![A / 2 # 128]", True), ("per_cluster = 2", "m![1], m![A]", False),
    ],
)  # fmt: skip
def test_the_places_of_a_device_follow_the_engines_of_the_data(
    engines: str, places: str, fine: bool, changed: Changed, tmp_path: Path
) -> None:
    file = tmp_path / "encodings" / "rngd" / "target.toml"
    file.write_text(file.read_text().replace("per_cluster = 4", engines))
    inner = "A % 2, B" if "A / 2" in places else "B"
    text = (KERNEL % (4, places)).replace("m![B]> = x", f"m![{inner}]> = x").split("    let g")[0] + "}\n"
    found = {rule for _, own in answers(tmp_path, "kernel.rs", text, None).values() for rule in own}
    assert ("rngd/spatial-sizes" not in found) is fine


COPIES = """schema = 1
target = "pto"
[axes]
B = 4
R = 16
C = 56
[transfer.x]
dtype = "f32"
source = { tier = "gm", element = "B, R, C # 64" }
dest = { tier = "ub", element = "B, R, C #{0} 64" }
"""
LOCAL = (
    COPIES.replace('"gm", element', '"ub", base = 131072, element')
    .replace("C #{0} 64", "C # 64")
    .replace("C # 64", "C")
)


@pytest.mark.parametrize(
    ("text", "limit", "value"),
    [
        (COPIES, "count_max", 255),
        (COPIES, "gm_stride_max", 4096),
        (COPIES, "ub_stride_max", 4096),
        (COPIES, "pad_count_max", 8),
        (COPIES, "ub_line_bytes", 64),
        (LOCAL, "local_max", 500),
    ],
)
def test_the_fewest_copies_keep_the_limits_of_the_data(text: str, limit: str, value: int, changed: Changed) -> None:
    usual = synthesize_copies(read_plan_text(text), "x")["kernel"]
    changed("pto", limit, value)
    found = synthesize_copies(read_plan_text(text), "x")
    for kernel in (found["kernel"], in_surface(named_in(Source("k.mlir", found["kernel"])), "registers")):
        (verdict,) = check_text(Source("k.mlir", kernel))
        assert verdict.status is Status.PROVED
    changed("pto", limit, 1 if limit != "ub_line_bytes" else 8192)
    (verdict,) = check_text(Source("k.mlir", usual))
    assert verdict.status is not Status.PROVED


STORE = """schema = 1
target = "rngd"
[axes]
A = 4
B = 2
C = 512
[transfer.x]
dtype = "i8"
source = { tier = "dm", slice = "A # 64", element = "B, C" }
dest = { tier = "hbm", element = "A, B, C" }
"""
UNPLANNED = {
    "rngd": [STORE, SPM.replace('stream = { time = "N", packet = "C" }\n', "")],
    "shim": [WIDE.format("i32", "N, C # 8", "N, C").replace('stream = { time = "N", packet = "C" }\n', "")],
    "idma": [ABORTED.replace('options = { on_error = "abort" }\nstream = { time = "1", packet = "N" }\n', "")],
    "pto": [COPIES],
}  # fmt: skip


@pytest.mark.parametrize("near", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("machine", UNPLANNED)
def test_what_synth_offers_breaks_no_limit_whatever_its_value(machine: str, near: bool, changed: Changed) -> None:
    offered = refused = 0
    few = {"simulate": False, "routes": False}  # a run only chooses among what is legal
    settings = few if machine == "rngd" and not near else {}
    for limit, value in load_target(machine).limits.items():
        close = tight(limit, value)
        changed(machine, limit, (value * 2 if close > value else max(1, value // 16)) if near else close)
        for text in UNPLANNED[machine]:
            try:
                found = api.synthesize(text, **settings).plan
            except InputError:
                found = None
            if not found:
                refused += 1
                continue
            verdicts = api.check(found, options=Options(cross_check=0, repair=False))
            assert [one.status for one in verdicts] == [Status.PROVED], limit
            offered += 1
        changed(machine, limit, value)
    assert offered > 0
    assert refused > 0 or near


# ---------------------------------------------------------------- runs


@pytest.mark.parametrize(
    "limit", ["ub_line_bytes", "ub_bytes_max", "count_max", "gm_stride_max", "ub_stride_max", "pad_count_max"]
)
def test_a_run_of_a_kernel_finds_what_breaks_a_limit_of_the_data(limit: str, changed: Changed) -> None:
    (kernel,) = named_in(Source("k.mlir", synthesize_copies(read_plan_text(COPIES), "x")["kernel"]))
    tensors = {"tensor": 4 * 4 * 16 * 64}
    assert run_kernel(kernel.function, tensors).found == set()
    changed("pto", limit, tight(limit, 128))
    other = replace(kernel.function, target=pto_shipped())
    assert run_kernel(other, tensors).found & {"field", "align", "capacity", "bounds"}


# ---------------------------------------------------------------- bursts


@pytest.mark.parametrize(
    ("limit", "value", "variant", "cut"),
    [
        ("page_bytes", 1024, "rw_axi", True),
        ("axi_beats_max", 16, "rw_axi", False),  # the engine's own limit is a parameter of it
        ("tilelink_page_bytes", 1024, "rw_tilelink", True),
        ("tilelink_write_beats", 16, "rw_tilelink", True),
    ],
)
def test_bursts_and_their_rules_read_the_same_data(
    limit: str, value: int, variant: str, cut: bool, changed: Changed
) -> None:
    engine, request = Backend(variant_named(variant), 64), Request(0, 8192, 4096, 3 * (not cut), 3 * (not cut))
    request = Request(0, 8192, 4096, *((3, 3) if variant == "rw_tilelink" else (0, 0)))

    def lists() -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        made = legalize(engine, request)
        return made.pairs("read"), made.pairs("write")

    def broken(read: list[tuple[int, int]], write: list[tuple[int, int]]) -> set[str]:
        item = ListedItem("x", None, tuple(burst_facts(engine, request, read, write)))
        return {f.rule for f in judge_listed([item], load_target("idma"), name="x", path="", unit="").errors}

    usual = lists()
    assert broken(*usual) == set()
    changed("idma", limit, value)
    assert (lists() != usual) is cut
    assert broken(*usual) != set()
    assert not cut or broken(*lists()) == set()
