"""The fewest copies of a move: against every exact cover, at the edges of fields, proved as printed."""

from __future__ import annotations

import functools
import itertools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.copies import answer_for, synthesize_copies
from lab.draws import counted, rest
from lab.meaning import live_index

from dmaverify import api
from dmaverify.errors import InputError, Source
from dmaverify.jobs.certify import check_certificate
from dmaverify.jobs.certify_synth import write_synthesis
from dmaverify.jobs.same_kernels import same_functions
from dmaverify.jobs.sealed import hash_of, seal_of
from dmaverify.language.meaning import BOTTOM, INDEX, TOP
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.named import named_in
from dmaverify.machines.pto.surfaces import in_surface
from dmaverify.plan.read import read_plan_text
from dmaverify.program.command import Loop
from dmaverify.report.synth import synth_text
from dmaverify.synth.copies import Fewest, fewest
from dmaverify.synth.copy_covers import is_right
from dmaverify.synth.copy_fields import CopyLimits, copy_limits, cut, reach_of
from dmaverify.synth.nests import RowNest, covers
from dmaverify.synth.result import Synthesis
from dmaverify.targets.target import load_target
from dmaverify.verdict import Status

UNIT = 32


@functools.cache
def limits_of(kind: str) -> CopyLimits:
    return copy_limits(kind, load_target("pto").limits)


ENUMERATED = (24, 24, 16)
"""Most points whose covers are enumerated, by the levels of an instruction."""
COUNTS = {
    1: ((1_680, 1_392, 1_139), (1_680, 936, 716), (1_680, 324, 84)),
    7: ((240, 202, 165), (240, 134, 103), (240, 48, 12)),
}
"""Shapes, those that need several instructions, those whose covers are enumerated, by levels; of each so-many-th."""
Points = list[tuple[int, int]]


# ---------------------------------------------------------------- every cover, enumerated


def boxes(points: Points, levels: int) -> list[int]:
    """Every set of points that one instruction can move, as bits: a run of both sides, times `levels` levels."""
    index = {p: i for i, p in enumerate(points)}
    steps = sorted({(b[0] - a[0], b[1] - a[1]) for a in points for b in points if b > a})
    found: set[int] = set()

    def grown(starts: list[tuple[int, int]], left: int) -> None:
        found.add(sum(1 << index[p] for p in starts))
        if not left:
            return
        for step in steps:
            made = list(starts)
            count = 1
            while True:
                further = [(w + count * step[0], r + count * step[1]) for w, r in starts]
                if not all(p in index for p in further) or set(further) & set(made):
                    break
                made = made + further
                count += 1
                grown(made, left - 1)

    for start in points:
        run = [start]
        while True:
            grown(run, levels)
            nxt = (run[-1][0] + UNIT, run[-1][1] + UNIT)
            if nxt not in index:
                break
            run = [*run, nxt]
    return sorted(found, key=lambda b: -b.bit_count())


def coverable(sets: list[int], whole: int, most: int) -> bool:
    """Whether so many of the sets cover all points exactly."""
    largest = sets[0].bit_count()
    by_point: dict[int, list[int]] = {}
    for one in sets:
        rest = one
        while rest:
            low = rest & -rest
            by_point.setdefault(low, []).append(one)
            rest ^= low

    def search(left: int, budget: int) -> bool:
        if not left:
            return True
        if left.bit_count() > budget * largest:
            return False
        low = left & -left
        return any(search(left ^ one, budget - 1) for one in by_point[low] if one & left == one)

    return search(whole, most)


def shapes() -> Iterator[tuple[tuple[int, ...], tuple[int, ...], int, int]]:
    """Extents, order of the axes in the source, padding of the innermost axis of either side."""
    for rank in (1, 2, 3):
        for extents in itertools.product(range(1, 5), repeat=rank):
            for order in itertools.permutations(range(rank)):
                for pads in ((0, 0), (1, 0), (0, 2), (1, 1)):
                    yield extents, order, *pads


def addresses(extents: tuple[int, ...], order: tuple[int, ...], dest_pad: int, source_pad: int) -> Points:
    axes = range(len(extents))
    write, read = {}, {}
    size = 1
    for number, axis in enumerate(reversed(axes)):
        write[axis] = size
        size *= extents[axis] + (dest_pad if number == 0 else 0)
    size = 1
    for number, axis in enumerate(reversed(order)):
        read[axis] = size
        size *= extents[axis] + (source_pad if number == 0 else 0)
    places = itertools.product(*(range(e) for e in extents))
    return sorted(
        (UNIT * sum(c * write[a] for a, c in enumerate(at)), UNIT * sum(c * read[a] for a, c in enumerate(at)))
        for at in places
    )


def searched(points: Points, levels: int) -> Fewest:
    found = covers(np.array([p[0] for p in points]), np.array([p[1] for p in points]), UNIT)
    assert len(found[0]) == 1
    made = [fewest(n, "load", [None] * len(n), UNIT, replace(limits_of("load"), levels=levels)) for n in found]
    assert made[0].optimal
    return min(made, key=lambda f: f.issues)


@pytest.mark.parametrize("levels", [0, 1, 2])
@pytest.mark.parametrize("step", counted(7, 1))
def test_no_exact_cover_of_any_small_shape_needs_fewer(levels: int, step: int) -> None:
    count = several = compared = 0
    for shape in itertools.islice(shapes(), 0, None, step):
        points = addresses(*shape)
        issues, whole = searched(points, levels).issues, (1 << len(points)) - 1
        count += 1
        if issues > 1:
            several += 1
            if len(points) <= ENUMERATED[levels]:
                compared += 1
                assert not coverable(boxes(points, levels), whole, issues - 1), shape
    assert (count, several, compared) == COUNTS[step][levels]


@pytest.mark.parametrize("step", counted(7, 1))
def test_what_a_nest_moves_is_what_was_asked(step: int) -> None:
    for shape in itertools.islice(shapes(), 0, None, step):
        points = addresses(*shape)
        for plan in searched(points, 1).plans:
            made: list[tuple[int, int]] = []
            for one in plan:
                starts = [(one.write, one.read)]
                for level in (*one.hardware, *one.software):
                    starts = [(w + level.write * i, r + level.read * i) for w, r in starts for i in range(level.count)]
                made += [(w + at, r + at) for w, r in starts for at in range(0, one.row, UNIT)]
            assert sorted(made) == points


# ---------------------------------------------------------------- edges


def single(level: Loop, kind: str = "load", row: int = 64) -> list[int]:
    """Instructions and hardware counts of one level."""
    found = fewest([RowNest(0, 0, row, (level,))], kind, [None], 1, limits_of(kind))
    return [found.issues, *(v.count for v in found.plans[0][0].hardware)]


def test_counts_and_strides_at_the_edges_of_their_fields() -> None:
    most = limits_of("load").count
    assert single(Loop(most, 64, 64)) == [1, most]
    assert single(Loop(most + 1, 64, 64)) == [2, 1 << 20]
    assert single(Loop(4, (1 << 40) - 1, 64)) == [1, 4]
    assert single(Loop(4, 1 << 40, 64)) == [4, 1]
    assert single(Loop(4, -64, 64)) == [4, 1]
    assert single(Loop(4, 0, (1 << 21) - 32)) == [1, 4]
    assert single(Loop(4, 0, 1 << 21)) == [4, 1]
    assert single(Loop(4, 64, 128), "local") == [1, 4]
    assert single(Loop(4, 32, 128), "local") == [4, 1]


def rows_plan(rows: int, limits: str = "") -> str:
    """A load of rows of 32 bytes that lie 128 bytes apart in gm, 64 apart in ub."""
    return (
        f'schema = 1\ntarget = "pto"\n[axes]\nR = {rows}\nC = 16\n[transfer.x]\ndtype = "f16"\n{limits}'
        'source = { tier = "gm", element = "R, C # 64" }\ndest = { tier = "ub", element = "R, C # 32" }\n'
    )


@pytest.mark.parametrize(
    ("rows", "most", "issues", "bound"),
    [(1000, 1000, 1, 1), (1009, 1000, 2, 2), (2 * 997, 1000, 1, 1), (3000, 1000, 1, 1), (3001, 1000, 2, 2)],
)
def test_rows_beyond_a_field_are_cut_where_it_ends_and_the_bound_counts_what_a_copy_can_hold(
    rows: int, most: int, issues: int, bound: int
) -> None:
    """A prime number of rows above the field was 1,009 instructions, "needed, and enough"."""
    found = synthesize_copies(read_plan_text(rows_plan(rows, f"limits = {{ count_max = {most} }}\n")), "x")
    assert (found["issues"], found["bound"], found["optimal"]) == (issues, bound, issues == bound), found["evidence"]


@pytest.mark.parametrize("count", range(1, 60))
def test_a_level_takes_as_many_iterations_as_the_best_product_of_fields(count: int) -> None:
    fields = range(1, 8)
    for loops in (1, 2, 3):
        made = [prod(one) for one in itertools.product(fields, repeat=loops)]
        assert reach_of(count, 7, loops) == max(n for n in made if n <= count)


def test_the_parts_of_a_cut_nest_are_its_rows_each_once() -> None:
    nest = RowNest(64, 32, 32, (Loop(23, 64, 32), Loop(3, 4096, 1024), Loop(11, 1 << 16, 1 << 14)))
    parts = cut(nest, replace(limits_of("load"), count=10))
    assert [part.rows for part in parts] == [20 * 3 * 10, 20 * 3, 3 * 3 * 10, 3 * 3]
    assert sorted(row for part in parts for row in rows_of_nest(part)) == sorted(rows_of_nest(nest))


def rows_of_nest(nest: RowNest) -> list[tuple[int, int]]:
    out = [(nest.read, nest.write)]
    for level in nest.levels:
        out = [(r + n * level.read, w + n * level.write) for r, w in out for n in range(level.count)]
    return out


@pytest.mark.parametrize("most", [128, 299, 300])
def test_limits_that_a_move_states_are_kept_by_its_copies(most: int) -> None:
    """One instruction of 300 rows where the move allows 128 was OPTIMAL."""
    found = synthesize_copies(read_plan_text(rows_plan(300, f"limits = {{ count_max = {most} }}\n")), "x")
    assert f"count_max = {most}" in found["request"]
    counts = [int(n) for n in re.findall(r"nburst\(%c(\d+)_i64", found["kernel"])]
    assert max(counts) <= most


def test_limits_that_no_field_of_a_copy_has_are_refused() -> None:
    with pytest.raises(InputError, match="does not count `ub_bytes`"):
        synthesize_copies(read_plan_text(rows_plan(8, "limits = { ub_bytes = 4096 }\n")), "x")


def test_packed_rows_stay_the_innermost_level() -> None:
    found = fewest([RowNest(0, 0, 40, (Loop(4, 64, 40), Loop(3, 512, 160)))], "load", [None], 4, limits_of("load"))
    assert found.issues == 1
    assert all(plan[0].hardware[0].write == 40 for plan in found.plans)
    with pytest.raises(InputError, match="no choice of levels"):
        fewest([RowNest(0, 0, 40, (Loop(4, -64, 40),))], "load", [None], 4, limits_of("load"))


# ---------------------------------------------------------------- moves


PLAN = """schema = 1
target = "pto"
[axes]
A = 2
B = 3
C = 4
D = 5
E = 16
F = 7
[transfer.move]
dtype = "f32"
source = {{ tier = "{0}", element = "{1}" }}
dest = {{ tier = "{2}", base = {4}, element = "{3}" }}
"""
MOVES = [
    ("gm", "A, B, C, D, E", "ub", "A, B, C, D, E", 1, 1),
    ("gm", "A, B, C, D, E # 24", "ub", "D, C, B, A, E", 2, 1),
    ("gm", "A, B, C, D, E # 24", "ub", "A, B, C, D, E # 32", 1, 1),
    ("ub", "D, C, B, A, E", "gm", "A, B, C, D, E", 2, 1),
    ("ub", "A, C, E", "ub", "C, A, E", 2, 1),
    ("ub", "C, D, E", "ub", "C, D, E # 24", 1, 1),
    ("gm", "E, F", "ub", "F, E", 1, 1),
    ("gm", "B, F", "ub", "B, F #{0} 8", 1, 1),
    ("gm", "B, F", "ub", "B, F #{0} 72", 1, 1),
    ("gm", "A, F, E", "ub", "(A, F) / 2, (A, F) % 2, E", 2, 2),
    ("gm", "B, E", "ub", "E, B # 8", 1, 1),
    ("ub", "B, E, D", "gm", "E, B, D # 8", 1, 1),
]


@functools.cache
def found_for(source: str, first: str, dest: str, second: str) -> Synthesis:
    base = 65536 if source == dest else 0
    return answer_for(read_plan_text(PLAN.format(source, first, dest, second, base)), "move")


def issues_of(source: str, first: str, dest: str, second: str) -> dict[str, Any]:
    return found_for(source, first, dest, second).as_data()


@pytest.mark.parametrize("move", MOVES, ids=lambda m: f"{m[0]} {m[1]} to {m[2]} {m[3]}")
def test_moves_are_made_by_the_fewest_and_proved_as_printed(move: tuple[str, str, str, str, int, int]) -> None:
    found = issues_of(*move[:4])
    assert (found["issues"], found["copies"]) == move[4:]
    assert found["optimal"]
    (verdict,) = api.check(str(found["plan"]))
    assert verdict.status is Status.PROVED
    assert "OPTIMAL" in synth_text(found_for(*move[:4]))


@pytest.mark.parametrize(
    "move", [*MOVES[::2], *rest((m,) for m in MOVES[1::2])], ids=lambda m: f"{m[0]} {m[1]} to {m[2]} {m[3]}"
)
def test_a_run_of_either_surface_puts_every_element_where_the_mapping_says(
    move: tuple[str, str, str, str, int, int],
) -> None:
    plan = read_plan_text(PLAN.format(*move[:4], 65536 if move[0] == move[2] else 0))
    transfer = plan.transfers[0].transfer
    places = []
    for side in (transfer.source, transfer.dest):
        live = {at: live_index(side.element, at, plan.axes) for at in range(side.element.size)}
        places.append({tuple(sorted(x.items())): side.base + 4 * at for at, x in live.items() if x is not None})
    wanted = {write: places[0][index] for index, write in places[1].items()}
    (one,) = named_in(Source("k.mlir", issues_of(*move[:4])["kernel"]))
    (other,) = named_in(Source("o.mlir", in_surface([one], "registers")))
    assert same_functions(one, other).status == "proved"
    for kernel in (one, other):
        run = run_kernel(kernel.function, {"tensor": 4 * max(transfer.source.element.size, transfer.dest.element.size)})
        made = {int(w): int(r) for copy in run.copies for w, r in zip(copy.data, copy.reads, strict=True)}
        assert run.found <= {"definite"}
        assert {w: r for w, r in made.items() if w % 4 == 0} == wanted


def test_a_reading_that_a_plan_needs_is_said() -> None:
    found = issues_of("gm", "B, F", "ub", "B, F # 16")
    said = synth_text(found_for("gm", "B, F", "ub", "B, F # 16"))
    assert ("proved under every reading" in said) == all(v == "proved" for v in found["readings"].values())


@pytest.mark.parametrize(
    ("move", "said"),
    [
        (("gm", "B, E", "ub", "B, E #{0} 104"), "63 at most, which fill 64"),
        (("gm", "B, F", "ub", "B, F # 9"), "no multiple of 32"),
        (("ub", "B, F", "ub", "F, B"), "multiple of 32|blocks of 32"),
        (("ub", "B, E, D # 6", "gm", "E, B, D"), "no multiple of 32"),
        (("ub", "B, E", "ub", "B, E #{0} 24"), "pads nothing"),
        (("gm", "B, E", "gm", "E, B"), "no copy goes from gm to gm"),
    ],
)
def test_what_no_copy_may_do_is_refused_with_its_reason(move: tuple[str, str, str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        issues_of(*move)


@pytest.mark.parametrize("move", [MOVES[1], MOVES[4], MOVES[9]], ids=lambda m: f"{m[1]} to {m[3]}")
def test_a_certificate_counts_again_without_the_tool(move: tuple[str, str, str, str, int, int], tmp_path: Path) -> None:
    write_synthesis(tmp_path, found_for(*move[:4]))
    named = {"request.toml", "plan.toml", "bound.json", "recount.py", "README.txt"}
    assert {p.name for p in tmp_path.iterdir()} >= {*named, "MANIFEST.json"}
    again = subprocess.run([sys.executable, "-I", str(tmp_path / "recount.py")], capture_output=True, text=True)
    assert again.stdout == f"{move[4]} instructions, {move[4]} claimed\n"
    bound = tmp_path / "bound.json"
    bound.write_text(bound.read_text().replace(f'"issues": {move[4]}', '"issues": 99'))
    assert subprocess.run([sys.executable, "-I", str(tmp_path / "recount.py")], capture_output=True).returncode == 1


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copies")
    write_synthesis(folder / "cert", found_for(*MOVES[4][:4]))
    return folder / "cert"


FORGERIES: dict[str, tuple[str, str, str]] = {
    "the number of instructions": ("bound.json", '"issues": ', '"issues": 1'),
    "the bound": ("bound.json", '"bound": ', '"bound": 1'),
    "a level of the space": ("bound.json", '"count": ', '"count": 1'),
    "a reading": ("bound.json", '"readings": {', '"readings": {"x": "proved", '),
    "a claim twice": ("bound.json", '"bound": ', '"bound": 1, "bound": '),
    "the script that counts": ("recount.py", "raise SystemExit(total", "raise SystemExit(0 * total"),
    "what a reader is told": ("README.txt", "certificate   ", "certificate   FEWEST OF ALL, "),
    "the move that was asked for": ("request.toml", "base = ", "base = 1"),
    "the plan": ("plan.toml", "%c0_i64 = arith.constant 0 ", "%c0_i64 = arith.constant 32 "),
    "nothing of what it binds, but the kind": ("MANIFEST.json", '"kind": "copies"', '"kind": "synth"'),
    "a key besides": ("MANIFEST.json", '"kind": ', '"also": 1, "kind": '),
    "settings of a search": ("MANIFEST.json", '"search": null', '"search": {}'),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_certificate_of_copies_is_refused_though_it_is_sealed_anew(
    name: str, sealed: Path, tmp_path: Path
) -> None:
    shutil.copytree(sealed, tmp_path / "cert")
    file, old, new = FORGERIES[name]
    for path in [p for p in (tmp_path / "cert").rglob(file) if p.is_file()]:
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))
    manifest = json.loads((tmp_path / "cert" / "MANIFEST.json").read_text())
    for plan in manifest["plans"]:
        plan["sha256"] = hash_of((tmp_path / "cert" / "plans" / plan["file"]).read_bytes())
    manifest["files"] = {n: hash_of((tmp_path / "cert" / n).read_bytes()) for n in manifest["files"]}
    manifest["seal"] = seal_of(manifest)
    (tmp_path / "cert" / "MANIFEST.json").write_text(json.dumps(manifest))
    assert check_certificate(tmp_path / "cert", solver=False).code == 1


def test_a_certificate_of_copies_is_played_again_and_says_what_is_not_covered(sealed: Path) -> None:
    found = check_certificate(sealed)
    assert found.refused == []
    assert found.code == 3
    assert any("not covered" in said for said in found.open)
    assert any(said.startswith("the search was played again") for said in found.said)


def stated(axes: str, source: str, dest: str, kind: str = "i8") -> Synthesis:
    """The fewest copies of a move from gm to ub with axes of its own."""
    sides = [f'{word} = {{ tier = "{tier}", element = "{text}" }}'
             for word, tier, text in (("source", "gm", source), ("dest", "ub", dest))]  # fmt: skip
    text = ["schema = 1", 'target = "pto"', "[axes]", *axes.split(), "[transfer.t]", f'dtype = "{kind}"', *sides]
    return answer_for(read_plan_text("\n".join(text)), "t")


@pytest.mark.parametrize(
    ("source", "dest", "issues", "bound"),
    [
        ("X / 32, X % 64", "X", 1, 1),  # where the first place of each element gives three rows: 2 instructions
        ("X / 64, X % 64", "X", 1, 1),
        ("B, A, D, E, C", "E, D, A, B, C", 2, 2),  # every element at one place
        ("2, B, A, D, E, C", "E, D, A, B, C", 2, 1),
    ],
)
def test_elements_that_stand_at_several_places_are_copied_from_where_the_fewest_instructions_reach_them(
    source: str, dest: str, issues: int, bound: int
) -> None:
    found = stated("X=128 A=3 B=2 D=2 E=2 C=32", source, dest).as_data()
    assert (found["issues"], found["bound"], found["optimal"]) == (issues, bound, issues == bound)
    assert (bound == issues) == ("a plan may mix them: 1 at least" not in " ".join(found["evidence"]))


PADDED = ("A=3 B=2 D=2 E=2 C=32", "A, B # 4, D, E, C")


@pytest.mark.parametrize(
    ("dest", "issues", "bound"),
    [
        ("E, D, A, B # 4, C", 1, 1),  # A and the padded B are one level of 12
        ("E, D, A, B, C", 2, 2),  # no padding in the destination: A and B are two
        ("E, D, A, B # 5, C", 2, 2),  # other padding than in the source
    ],
)
def test_padding_alike_on_both_sides_is_walked_where_that_saves_an_instruction(
    dest: str, issues: int, bound: int, tmp_path: Path
) -> None:
    found = stated(*PADDED, dest)
    assert (found.as_data()["issues"], found.bound) == (issues, bound)
    write_synthesis(tmp_path, found)
    said = subprocess.run([sys.executable, tmp_path / "recount.py"], capture_output=True, text=True, check=False)
    assert said.stdout == f"{issues} instructions, {issues} claimed\n"


# a tile of four: elements 0 and 1, padding that may hold anything, padding that must stay; the source has 0, 1, 0 and
# padding
CELLS = (
    np.array([INDEX, INDEX, TOP, BOTTOM]), np.array([0, 1, -1, -1]), np.array([INDEX, INDEX, INDEX, TOP]),
    np.array([0, 1, 0, -1]),
)  # fmt: skip


@pytest.mark.parametrize(
    ("nests", "right"),
    [
        ([RowNest(0, 0, 2)], True),
        ([RowNest(2, 0, 1), RowNest(1, 1, 1)], True),  # element 0 from its other place
        ([RowNest(0, 0, 3)], True),  # Top padding from whatever is there
        ([RowNest(0, 0, 4)], False),  # Bottom padding too
        ([RowNest(0, 0, 1)], False),  # element 1 is missing
        ([RowNest(0, 0, 2), RowNest(1, 1, 1)], False),  # element 1 twice
        ([RowNest(1, 0, 2)], False),  # element 0 from where 1 is
        ([RowNest(3, 0, 1), RowNest(1, 1, 1)], False),  # element 0 from padding
        ([RowNest(0, 0, 1, (Loop(2, 4, 1),))], False),  # beyond the source
        ([RowNest(0, 0, 1, (Loop(2, 1, 4),))], False),  # beyond the tile
    ],
)
def test_a_cover_is_right_only_where_every_cell_is(nests: list[RowNest], right: bool) -> None:
    assert is_right(nests, CELLS, 1) is right
