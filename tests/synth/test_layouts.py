"""Layouts of the tensors of a plan or kernel: what is proposed holds, and what is not in view is left alone."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from lab.draws import rest

from dmaverify import api
from dmaverify.cli.app import invoke
from dmaverify.jobs import layouts as jobs
from dmaverify.jobs.layouts import ground_of, layouts_of
from dmaverify.jobs.synthesis import SynthSettings
from dmaverify.language.expr import axes_of
from dmaverify.language.meaning import Index, cell
from dmaverify.synth.layouts import layouts
from dmaverify.targets.target import load_target
from dmaverify.verdict import Status

ROOT = Path(__file__).resolve().parents[2]
HEAD = 'schema = 1\ntarget = "rngd"\n'
STAGED = (
    HEAD
    + """[axes]
T = 64
N = 8
D = 64
# kept: what the next move is for
[transfer.load]
dtype = "bf16"
source = { tier = "hbm", base = 0, element = "T, N, D" }
dest = { tier = "dm", base = 0, slice = "T / 2", element = "T % 2, N, D" }
[transfer.store]
dtype = "bf16"
source = { tier = "dm", base = 0, slice = "T / 2", element = "T % 2, N, D" }
dest = { tier = "hbm", base = 1048576, element = "N, T, D" }
[program.both]
step = [{ transfer = "load" }, { transfer = "store", after = ["load"] }]
"""
)
TURN = (
    HEAD
    + """[axes]
A = 16
B = 24
[transfer.turn]
dtype = "i32"
source = { tier = "hbm", base = 0, element = "A, B" }
dest = { tier = "hbm", base = 1048576, element = "B, A" }
"""
)


def searched(text: str, folder: Path, **settings: object) -> jobs.LayoutAnswer:
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return layouts_of(str(folder / "plan.toml"), SynthSettings(**settings))  # type: ignore[arg-type]


# ---------------------------------------------------------------- what a layout is


def cells_of(mapping) -> Counter:
    sizes = axes_of(mapping)
    found = (cell(mapping, position) for position in range(mapping.size))
    return Counter(
        one.coords for one in found if isinstance(one, Index)
        if all(value < sizes[axis] for axis, value in one.coords)
    )  # fmt: skip


PIECES = ("A", "B / 2", "B % 2", "C / 4", "C % 4")
AXES = {"A": 3, "B": 4, "C": 8}


@pytest.mark.parametrize("seed", [0, 1, *rest((2, 3))])
@pytest.mark.parametrize("free", [True, False])
def test_every_layout_holds_each_live_element_of_the_tensor_once(seed: int, free: bool) -> None:
    rng = random.Random(seed)
    source, dest = (rng.sample(PIECES, len(PIECES)) for _ in range(2))
    places = f'slice = "{dest[0]}", ' if seed % 3 == 0 else ""
    lines = [f"{axis} = {size}" for axis, size in AXES.items()]
    text = HEAD + "[axes]\n" + "\n".join(lines) + '\n[transfer.m]\ndtype = "i8"\n'
    text += f'source = {{ tier = "hbm", element = "{", ".join(source)}" }}\n'
    tier = "dm" if places else "hbm"
    rest = ", ".join(dest[bool(places) :])
    text += f'dest = {{ tier = "{tier}", base = 1048576, {places}element = "{rest}" }}\n'.replace("1048576, s", "0, s")
    move = api.load(text).transfers[0].transfer
    count = 0
    for tensor, other in ((move.source, move.dest), (move.dest, move.source)):
        live = cells_of(tensor.mapping)
        for one in layouts(tensor, [other], load_target("rngd"), 8, 256, free=free):
            count += 1
            if one.tensor.mapping.size > 6000:
                continue  # rows padded wide, enumerated element by element: the same rule as of the small ones
            assert cells_of(one.tensor.mapping) == live, one
    assert count > (5 if free else 0) or not free


def rank_of(mapping) -> list[tuple[str, int]]:
    """The digits of a mapping, outermost first, of the pieces that have more than one value."""
    from dmaverify.layout.digits import compile_digits

    digits = [d for d in compile_digits(mapping).digits if d.live > 1 and d.axis is not None]
    return [(d.axis, d.weight) for d in sorted(digits, key=lambda d: -d.step)]


@pytest.mark.parametrize("order", ["B, A", "B / 4, A, B % 4", "A / 4, B, A % 4", "B % 4, A, B / 4"])
def test_an_input_keeps_the_order_of_what_a_move_reorders(order: str) -> None:
    move = api.load(TURN.replace('"B, A"', f'"{order}"')).transfers[0].transfer
    for tensor, other in ((move.source, move.dest), (move.dest, move.source)):
        own = [axis for axis, _ in rank_of(tensor.mapping)]
        for one in layouts(tensor, [other], load_target("rngd"), 32, 256, free=False):
            axes = [axis for axis, _ in rank_of(one.tensor.mapping)]
            assert [a for a, b in zip(axes, [None, *axes], strict=False) if a != b] == [
                a for a, b in zip(own, [None, *own], strict=False) if a != b
            ]


def test_neither_synth_nor_its_layouts_suggest_to_remove_a_transpose(tmp_path: Path, capsys) -> None:
    (tmp_path / "plan.toml").write_text(TURN, encoding="utf-8")
    assert invoke(["synth", str(tmp_path / "plan.toml"), "--no-routes", "--no-simulate", "--json"]) == 0
    (data,) = json.loads(capsys.readouterr().out)
    assert "`B, A`" not in json.dumps(data.get("why"))
    for one in searched(TURN, tmp_path, evaluations=60).proposals:
        assert all(str(change.after.element)[:1] == str(change.before.element)[:1] for change in one.tensors)


# ---------------------------------------------------------------- plans


@pytest.fixture(scope="module")
def staged(tmp_path_factory) -> tuple[Path, jobs.LayoutAnswer]:
    folder = tmp_path_factory.mktemp("staged")
    return folder / "plan.toml", searched(STAGED, folder)


def test_a_tensor_between_two_moves_gets_the_layout_with_the_least_sum_and_the_program_still_holds(staged) -> None:
    file, answer = staged
    best = answer.proposals[0]
    assert [one.name for one in best.tensors] == ["load.dest = store.source"]
    assert best.ratio is not None
    assert best.ratio > 3
    assert best.after[1] == pytest.approx(sum(move.after.cycles for move in best.moves))
    assert "# kept: what the next move is for" in best.text
    assert "[program.both]" in best.text
    assert {(v.name, v.status) for v in api.check(best.text)} == {
        (name, Status.PROVED) for name in ("load", "store", "both")
    }
    assert file.read_text(encoding="utf-8") == STAGED
    copy = file.with_name("copy.toml")
    shutil.copy(file, copy)
    assert subprocess.run(["patch", "-s", "-p0", str(copy)], input=best.diff, text=True, check=False).returncode == 0
    assert copy.read_text(encoding="utf-8") == best.text


def test_the_front_has_no_point_that_another_beats(staged) -> None:
    points = staged[1].found.front
    assert points
    for one, other in itertools.pairwise(points):
        assert one.sum < other.sum
        assert one.dm_bytes > other.dm_bytes


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (('[access.x]\nengine = "fetch"\ndtype = "bf16"\nmemory = { tier = "dm", element = "N, D" }\n'
         'stream = { time = "N, D / 16", packet = "D % 16" }\n'), "access x touches its bytes"),
        (('[transfer.view]\ndtype = "bf16"\nsource = { tier = "dm", base = 0, slice = "T", element = "N, D" }\n'
         'dest = { tier = "hbm", base = 8388608, element = "T, N, D" }\n'), "another view of its bytes"),
    ],
    ids=["access", "view"],
)  # fmt: skip
def test_a_tensor_that_something_else_touches_is_left_alone_and_named(tmp_path: Path, more: str, why: str) -> None:
    answer = searched(STAGED + more, tmp_path, evaluations=20)
    assert any("load.dest" in name and why in said for name, said in answer.withheld)
    assert all("load.dest" not in change.name for one in answer.proposals for change in one.tensors)


def test_a_tensor_that_grows_gets_a_place_of_its_own(tmp_path: Path) -> None:
    text = STAGED.replace("N = 8", "N = 7")
    ground = ground_of_text(text, tmp_path)
    for number, held in enumerate(ground.scene.tensors):
        for one in ground.scene.layouts_of(number):
            if one.tensor.element.size > held.tensor.element.size:
                assert one.tensor.base >= ground.scene.behind[one.tensor.tier]


def test_a_tensor_that_takes_other_places_lies_behind_all_others(tmp_path: Path) -> None:
    """Both clusters instead of one, and bytes between its rows: another tensor may hold them meanwhile."""
    text = STAGED.replace('slice = "T / 2"', 'cluster = "1", slice = "T / 2"').replace(
        '"T % 2, N, D"', '"T % 2, N # 9, D"'
    )
    ground = ground_of_text(text, tmp_path)
    number = next(n for n, held in enumerate(ground.scene.tensors) if held.free)
    made = [one.tensor for one in ground.scene.layouts_of(number)]
    assert {one.cluster.size for one in made} == {1, 2}
    assert all(one.base >= ground.scene.behind["dm"] for one in made)
    (tmp_path / "in-place").mkdir()
    full = STAGED.replace('slice = "T / 2", element = "T % 2, N, D"', 'slice = "T / 2, N", element = "T % 2, D"')
    ground = ground_of_text(full, tmp_path / "in-place")
    made = [one.tensor for one in ground.scene.layouts_of(number)]
    assert any(one.base == 0 for one in made), "what its own live bytes hold stays"
    assert all(one.base > 0 for one in made if one.cluster.size == 2)


@pytest.mark.parametrize(
    ("order", "changed"), [("in0 out0 in1 out1", True), ("in1 out1 in0 out0", True), ("in0 in1 out0 out1", False)]
)
def test_tensors_in_the_same_bytes_are_changed_where_one_ends_before_the_other_begins(
    tmp_path: Path, order: str, changed: bool
) -> None:
    load, store = STAGED.partition("[program")[0].partition("# kept")[2].split("[transfer.")[1:]
    text = STAGED.partition("# kept")[0]
    for n, place in enumerate(("T / 2", "T / 2 # 64")):
        for name, table in ((f"in{n}", load), (f"out{n}", store)):
            text += f"[transfer.{name}]" + table.partition("]")[2].replace('"T / 2"', f'"{place}"')
    steps = order.split()
    after = ["", *(f', after = ["{one}"]' for one in steps)]
    made = ", ".join(f'{{ transfer = "{one}"{more} }}' for one, more in zip(steps, after, strict=False))
    ground = ground_of_text(f"{text}[program.p]\nstep = [{made}]\n", tmp_path)
    tiles = [one for one in ground.scene.tensors if one.free]
    assert len(tiles) == 2
    assert all(bool(one.withheld) is not changed for one in tiles)
    alone = ground_of_text(text, tmp_path)
    assert any("follow each other" in note for note in alone.notes)
    assert not ground.notes


def ground_of_text(text: str, folder: Path):
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return ground_of(str(folder / "plan.toml"))


def test_a_proposal_that_does_not_hold_as_written_is_dropped_and_named(tmp_path: Path, monkeypatch) -> None:
    ground = type(ground_of_text(STAGED, tmp_path))
    whole = ground.judged

    def refuting(self, text: str):
        moves, statuses = whole(self, text)
        return moves, statuses if text == self.text else {**statuses, "both": Status.REFUTED}

    monkeypatch.setattr(ground, "judged", refuting)
    answer = searched(STAGED, tmp_path, evaluations=60)
    assert not answer.proposals
    assert any("both would be worse" in said for said in answer.refused)


def test_the_budget_is_named_where_it_ends_the_search(tmp_path: Path) -> None:
    answer = searched(STAGED, tmp_path, evaluations=1)
    assert answer.found.left
    assert answer.ended.startswith("budget reached")


@pytest.mark.slow
def test_a_move_asked_for_by_name_keeps_the_tensors_of_the_others_and_is_priced_with_them(tmp_path: Path) -> None:
    other = """[transfer.other]
dtype = "bf16"
source = { tier = "hbm", base = 8388608, element = "T, N, D" }
dest = { tier = "hbm", base = 16777216, element = "T, N, D" }
"""
    searched(STAGED + other, tmp_path, evaluations=1)
    answer = layouts_of(f"{tmp_path / 'plan.toml'}::other", SynthSettings(evaluations=30))
    assert answer.moves == 3
    assert ("load.dest = store.source", "its moves were not asked for") in answer.withheld
    assert all("other" in change.name for one in answer.proposals for change in one.tensors)


@pytest.mark.slow
def test_text_json_and_stdin_say_the_same(tmp_path: Path, capsys, monkeypatch) -> None:
    import io

    file, few = str(tmp_path / "plan.toml"), ("--evaluations", "12")
    (tmp_path / "plan.toml").write_text(STAGED, encoding="utf-8")
    assert invoke(["synth", "--layouts", file, *few, "--json", "--output", str(tmp_path / "new.toml")]) == 0
    (data,) = json.loads(capsys.readouterr().out)
    assert (tmp_path / "new.toml").read_text(encoding="utf-8") == data["proposals"][0]["text"]
    assert invoke(["synth", "--layouts", file, *few]) == 0
    text = capsys.readouterr().out
    assert f"{data['proposals'][0]['cycles']['after']:,.1f} cycles in all" in text
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps({"path": file, "layouts": True, "evaluations": 12}) + "\n"))
    assert invoke(["synth", "--stdin"]) == 0
    assert json.loads(capsys.readouterr().out) == data


@pytest.mark.parametrize("path", ["examples/idma/tiles.toml", "examples/toy.toml", "examples/start/pto.toml"])
def test_a_machine_or_file_without_such_moves_is_an_error_that_says_so(path: str, capsys) -> None:
    assert invoke(["synth", "--layouts", str(ROOT / path)]) == 2
    assert capsys.readouterr().err.startswith("error: ")


# ---------------------------------------------------------------- kernels

KERNEL = """use furiosa_opt_std::prelude::*;
axes![Row = 512, Col = 32];
type Chip = m![1];
type In = HbmTensor<bf16, Chip, m![Row, Col]>;
type Out = HbmTensor<bf16, Chip, m![Col / 4, Row, Col % 4]>;
#[device(chip = 1)]
pub fn turn(ctx: &mut Context, input: &In) -> Out {
    let rows = input.to_dm::<m![Row / 256], m![Row % 256], m![Col]>(&mut ctx.tdma);
    rows.to_hbm(&mut ctx.tdma)
}
"""


def test_a_kernel_gets_a_type_as_a_diff_that_was_read_and_proved_and_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "turn.rs"
    file.write_text(KERNEL, encoding="utf-8")
    best = layouts_of(str(file), SynthSettings(evaluations=50)).proposals[0]
    assert file.read_text(encoding="utf-8") == KERNEL
    assert best.ratio is not None
    assert best.ratio > 3
    changed = [line for line in best.diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert len(changed) == 2
    assert "m![Row % 256], m![Col]" in changed[0]
    shutil.copy(file, tmp_path / "copy.rs")
    (tmp_path / "copy.rs").write_text(best.text, encoding="utf-8")
    assert {v.status for v in api.check(tmp_path / "copy.rs")} == {Status.PROVED}


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("    rows.to_hbm(", "    compute(&rows);\n    rows.to_hbm(", "something that is no transfer"),
        ("#[device(chip = 1)]\npub fn turn", "pub fn turn", "which others call"),
        ("pub fn turn(ctx: &mut Context, input: &In)", "pub fn turn<E: M>(ctx: &mut Context, input: &In)", ""),
    ],
    ids=["computed-with", "helper", "generic"],
)
def test_what_is_not_in_view_of_a_kernel_is_left_alone(tmp_path: Path, before: str, after: str, why: str) -> None:
    file = tmp_path / "turn.rs"
    text = KERNEL.replace(before, after)
    assert text != KERNEL
    file.write_text(text, encoding="utf-8")
    answer = layouts_of(str(file), SynthSettings(evaluations=12))
    assert not why or any(why in said for _, said in answer.withheld)
    names = {change.name for one in answer.proposals for change in one.tensors}
    assert "dm turn.rows" not in names or "compute" not in after
