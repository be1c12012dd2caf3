"""Routes: two hops through another memory, where the direct plan is dear or does not exist."""

# ruff: noqa: E501  (tables)

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dmaverify import api
from dmaverify.cli.app import invoke
from dmaverify.cost.constants import cost_data
from dmaverify.jobs.synthesis import SynthSettings, answer_of
from dmaverify.plan.plan import Plan
from dmaverify.synth.routes import best_route
from dmaverify.synth.synthesize import known_covers
from dmaverify.targets.target import load_target
from dmaverify.values import replace

HEAD = 'schema = 1\ntarget = "rngd"\n'
HEAD_SPLIT = (
    HEAD
    + """[axes]
T = 512
N = 32
D = 128
[transfer.split]
dtype = "f8e4m3"
source = { tier = "hbm", base = 0, element = "T, N, D" }
dest = { tier = "hbm", base = 1073741824, element = "N, T, D" }
"""
)
TRANSPOSE = (
    HEAD
    + """[axes]
K = 64
N = 64
[transfer.turn]
dtype = "bf16"
source = { tier = "hbm", base = 0, element = "K, N" }
dest = { tier = "dm", base = 0, slice = "N", element = "K" }
"""
)
COPY = (
    HEAD
    + """[axes]
A = 64
[transfer.copy]
dtype = "i8"
source = { tier = "hbm", base = 0, element = "A" }
dest = { tier = "hbm", base = 1048576, element = "A" }
"""
)
QUICK = SynthSettings(simulate=False)


def synthesized(plan: Plan, settings: SynthSettings) -> Any:
    return answer_of(plan, plan.transfers[0].name, settings)


def test_a_head_split_goes_through_dm_unasked_and_both_hops_are_proved_as_one_program() -> None:
    found = synthesized(api.load(HEAD_SPLIT), QUICK)
    assert found.route is not None
    assert found.route.middle.tier == "dm"
    assert found.cycles <= 7142 < found.route.direct / 10
    assert found.cycles == sum(hop.cycles for hop in found.route.hops)
    assert not found.optimal
    assert found.bound <= found.cycles
    assert found.band is None
    band = replace(found, profile="schedule").band
    assert band is not None  # of its hops, the widest: one profile has rows of both
    assert band.name.startswith(("loads", "stores"))
    verdicts = api.check(found.plan)
    assert [(v.name, v.status.value) for v in verdicts] == [
        ("split-in", "proved"),
        ("split-out", "proved"),
        ("split", "proved"),
    ]


def test_a_transpose_of_two_byte_elements_into_dm_has_no_direct_plan_and_a_route() -> None:
    found = synthesized(api.load(TRANSPOSE), QUICK)
    assert found.route is not None
    assert found.route.direct is None
    assert {v.status.value for v in api.check(found.plan)} == {"proved"}
    direct = synthesized(api.load(TRANSPOSE), SynthSettings(simulate=False, routes=False))
    assert not direct.found


@pytest.mark.parametrize(
    ("axes", "source", "dest"),
    [
        ("A = 8\nB = 5\nC = 2\nD = 5\nE = 16", 'slice = "A", element = "B, C, D, E"', "C, D, B, A, E"),
        ("X = 160\nW = 40", 'slice = "W % 8", element = "W / 8, X"', "X / 16, W, X % 16"),
    ],
)
def test_digits_of_one_axis_are_cut_for_a_route_as_those_of_several(axes: str, source: str, dest: str) -> None:
    move = f'{HEAD}[axes]\n{axes}\n[transfer.move]\ndtype = "bf16"\nsource = {{ tier = "dm", {source} }}\n'
    found = synthesized(api.load(f'{move}dest = {{ tier = "hbm", base = 1048576, element = "{dest}" }}\n'), QUICK)
    assert (found.route.middle.tier, found.cycles) == ("spm", 1848)


def test_the_bound_of_a_route_holds_for_direct_plans_too_where_none_was_found() -> None:
    """8,192 bytes in whole windows: one start-up, and 32 requests of one engine at most."""
    found = synthesized(api.load(TRANSPOSE), QUICK)
    assert found.route is not None
    assert 500 <= found.bound <= 500 + 8192 / 256


def test_a_copy_near_its_bound_keeps_its_direct_plan() -> None:
    found = synthesized(api.load(COPY), QUICK)
    assert found.route is None
    assert found.optimal


def test_the_command_tells_the_route_and_its_json_has_the_hops(tmp_path: Path, capsys) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(TRANSPOSE, encoding="utf-8")
    assert invoke(["synth", str(file), "--no-simulate", "--json"]) == 0
    (data,) = json.loads(capsys.readouterr().out)
    assert [hop["name"] for hop in data["route"]["hops"]] == ["turn-in", "turn-out"]
    assert data["route"]["direct_cycles"] is None
    assert data["proved"]
    assert data["optimal"] is False
    assert invoke(["synth", str(file), "--no-simulate", "--no-routes"]) == 1
    assert "NO PLAN" in capsys.readouterr().out


SPELLED = [
    ("A = 3, B = 3, C = 384", "hbm | A, C, B", "dm B | A, C", 3), ("R = 3, X = 1152", "hbm | R, X % 384, X / 384", "dm X / 384 | R, X % 384", 3),
    ("A = 3, B = 4, C = 16, D = 32", "dm B | A, C, D", "hbm | A, C, B, D", 8), ("R = 128, W = 48", "dm R / 32 | W, R % 32", "hbm | W, R / 32, R % 32", 8),
]  # fmt: skip


@pytest.mark.parametrize(("axes", "source", "dest", "slices"), SPELLED)
def test_layouts_in_between_hold_every_element_however_it_is_spelled(
    axes: str, source: str, dest: str, slices: int
) -> None:
    sides = []
    for word, told in (("source", source), ("dest", dest)):
        place, _, element = told.partition(" | ")
        tier, _, at = place.partition(" ")
        sides.append(f'{word} = {{ tier = "{tier}", {f"""slice = "{at}", """ if at else ""}element = "{element}" }}')
    text = "\n".join([
        "schema = 1", 'target = "rngd"', "[axes]", *axes.split(", "), "[transfer.t]", 'dtype = "i8"', *sides
    ])  # fmt: skip
    item, target, tried = api.load(text).transfers[0], load_target("rngd"), []
    cover, nothing = known_covers(item.transfer, target), SimpleNamespace(found=False)
    best_route(item.transfer, target, cover, nothing, cost_data("book"), lambda hop: tried.append(hop.dest), None)
    assert len(tried) > 4
    whole = item.transfer.dest.mapping.size
    assert all(one.cluster.size * one.slice.size * one.element.size >= whole for one in tried)
    assert slices in {one.slice.size for one in tried}


KERNEL = """use furiosa_opt_std::prelude::*;
axes![I = {0}, J = {0}];
type Chip = m![1];
#[device(chip = 1)]
pub fn turn(ctx: &mut Context, input: &HbmTensor<bf16, Chip, m![I, J]>, mut out: HbmTensor<bf16, Chip, m![I, J]>) {{
    let tiles: DmTensor<bf16, Chip, m![1 # 2], m![I / 8, J / 8], m![I % 8, J % 8]> = input.to_dm(&mut ctx.tdma);
    tiles.view().to_hbm_view(&mut ctx.tdma, out.view_mut());
}}
"""
INTO = "tiles.to_dm::<m![I / 8, I % 8, J / 64], m![J / 8 % 8, J % 8]>(&mut ctx.tdma).view().to_hbm_view("


def test_a_route_of_a_kernel_is_two_calls_that_were_read_again_and_proved(tmp_path: Path, monkeypatch) -> None:
    from dmaverify.jobs import route_kernels

    (kernel := tmp_path / "turn.rs").write_text(KERNEL.format(128))
    found = api.synthesize(f"{kernel}::turn-to_hbm_view", simulate=False)
    data = found.as_data()["route"]["as_rust"]
    assert data["through"] == "dm"
    assert data["cycles"] < 0.3 * found.route.direct
    assert INTO in data["diff"]
    assert kernel.read_text() == KERNEL.format(128)  # the kernel is not written
    kernel.write_text(KERNEL.format(128).replace("tiles.view().to_hbm_view(", INTO))
    assert {v.status.value for v in api.check(kernel)} == {"proved"}
    kernel.write_text(KERNEL.format(64))  # 64 slices to 256: the library refuses the first hop
    monkeypatch.setattr(route_kernels, "is_writable", lambda hop: "spm" not in (hop.source.tier, hop.dest.tier))
    refused = api.synthesize(f"{kernel}::turn-to_hbm_view", simulate=False)
    assert "not both hops are proved" in refused.as_data()["route"]["as_rust"]["why"]


CALLS = [
    ("a.to_hbm(&mut ctx.tdma)", "a.FIRST(&mut ctx.tdma).to_hbm(&mut ctx.tdma)"),
    ("a.to_hbm::<m![B, A]>(&mut ctx.tdma,).await?", "a.FIRST(&mut ctx.tdma).await?.to_hbm::<m![B, A]>(&mut ctx.tdma,).await?"),
    ("a\n    .to_hbm(&mut ctx.tdma, 0x40)", "a\n    .FIRST(&mut ctx.tdma, 0x400).to_hbm(&mut ctx.tdma, 0x40)"),
    ("a.view().to_hbm_view(c, b.view_mut())", "a.FIRST(c).view().to_hbm_view(c, b.view_mut())"),
    ("a.to_hbm(context(), 0)", None), ("a.tile(2).to_hbm_view(c, b)", None), ("HbmTensor::to_hbm(a, c)", None), ("a.to_host(c)", None),
]  # fmt: skip


@pytest.mark.parametrize(("call", "expected"), CALLS)
def test_the_first_hop_is_written_before_the_call_in_any_of_its_forms(call: str, expected: str | None) -> None:
    from dmaverify.jobs.route_kernels import changed
    from dmaverify.language.parse import parse
    from dmaverify.program.tensor import Tensor

    method = next(m for m in ("to_hbm_view", "to_hbm", "to_host") if m in call)
    span = SimpleNamespace(start=call.index(method), end=call.index(method) + len(method))
    middle = Tensor("dm", parse("A", {"A": 8}), slice=parse("B", {"B": 256}), base=0x400)
    route = SimpleNamespace(middle=middle, hops=[SimpleNamespace(transfer=SimpleNamespace(source=middle))])
    made = changed(call, SimpleNamespace(method=method, span=span), route)
    assert made == (expected and expected.replace("FIRST", "to_dm::<m![B], m![A]>"))


GATHERED = (
    HEAD
    + """[axes]
A = 4
B = 16
[transfer.small]
dtype = "f32"
source = { tier = "dm", base = 4096, slice = "(B / 4, B % 4) # 256", element = "A" }
dest = { tier = "hbm", base = 0, element = "B, A" }
"""
)


def test_a_few_bytes_of_many_slices_are_gathered_in_one_before_they_are_stored() -> None:
    """Stored from 16 slices, or from what they become over eight, each run is a part of a window."""
    found = synthesized(api.load(GATHERED), QUICK)
    assert found.route is not None
    assert found.route.middle.slice.size == load_target("rngd").tiers[found.route.middle.tier].sizes["slice"]
    assert str(found.route.middle.element) == "B, A"
    assert found.cycles == 1032
    assert {v.status.value for v in api.check(found.plan)} == {"proved"}


UNEVEN = (
    HEAD
    + """[axes]
A = 8
B = 4
C = 12
[transfer.uneven]
dtype = "f32"
source = { tier = "dm", base = 0, slice = "(C % 4) # 256", element = "C / 4, B, A" }
dest = { tier = "hbm", base = 768, element = "C / 6, A, B, C % 6" }
"""
)


def test_digits_that_have_no_cuts_in_common_have_routes_in_the_order_of_either_side() -> None:
    """C is cut at 4 and at 6: three boxes, each stored as parts of windows, or rows of the destination from SPM."""
    direct = synthesized(api.load(UNEVEN), SynthSettings(simulate=False, routes=False))
    found = synthesized(api.load(UNEVEN), QUICK)
    assert found.route is not None
    assert found.cycles < direct.cycles / 5
    assert found.bound <= found.cycles
    assert not found.optimal
    assert {v.status.value for v in api.check(found.plan)} == {"proved"}
