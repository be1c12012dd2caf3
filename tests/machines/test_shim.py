"""A fourth machine ships as data alone, and every command works on it; its rules name the dimension that they bind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import dmaverify.machines
from dmaverify import api
from dmaverify.cli.app import invoke
from dmaverify.program.command import Command
from dmaverify.synth import plain
from dmaverify.synth.regions import AtomNest
from dmaverify.targets.lint import lint_target
from dmaverify.targets.modules import part_of
from dmaverify.targets.target import load_target

ROOT = Path(__file__).resolve().parents[2]
PLAN = ROOT / "examples" / "machines" / "shim.toml"
FOLDER = PLAN.parent / "shim"


def test_the_data_is_sound_and_holds_no_program_text() -> None:
    assert lint_target(load_target(str(FOLDER))) == []
    assert sorted(p.name for p in FOLDER.iterdir()) == ["rules.smt2", "target.toml"]


def test_every_command_works_on_it(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = f"{PLAN}::blocks"
    assert invoke(["check", str(PLAN), "--no-cache"]) == 0
    assert invoke(["run", f"{PLAN}::tile"]) == 0
    assert invoke(["derive", blocks]) == 0
    capsys.readouterr()
    assert invoke(["cost", blocks, "--json"]) == 0
    (cost,) = json.loads(capsys.readouterr().out)
    assert cost["cycles"] == 100 + 256 * 512
    assert invoke(["synth", blocks, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["cycles"], found["optimal"]) == (cost["cycles"], True)


def test_what_no_descriptor_can_do_has_no_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["synth", f"{PLAN}::narrow"]) == 1
    assert "shim/words" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ("BC=2048:80", {"shim/size-1"}),
        ("B=4:40960, C=512:80", {"shim/dims-max"}),  # merged, dimension 1 would count to 2,048
        ("C=512:80", set()),
    ],
)
def test_dimensions_are_counted_as_their_sizes_are_as_written(rows: str, found: set[str]) -> None:
    times = [int(part.split("=")[1].split(":")[0]) for part in rows.split(", ")]
    inner = ", ".join(f"{one.split(':')[0]}:{int(one.split(':')[1]) * 64 // 80}" for one in rows.split(", "))
    many = 2048 if len(times) > 1 else times[0]
    text = (
        f'schema = 1\ntarget = "{FOLDER}"\n[axes]\nZ = 2\nA = 3\nC = {many}\nE = 16\n[transfer.x]\ndtype = "i32"\n'
        f'source = {{ tier = "ddr", element = "Z, A # 4, C # 2050, E # 20" }}\n'
        f'dest = {{ tier = "array", element = "Z, A, C, E" }}\n'
        f'read = "[Z=2:656000, A=3:164000, {rows}, E=64:1]:64"\n'
        f'write = "[Z=2:{3 * many * 64}, A=3:{many * 64}, {inner}, E=64:1]:64"\n'
    )
    (verdict,) = api.check(text)
    assert {f.rule for f in verdict.findings if f.severity.value == "error"} == found


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ("N = 1023", set()),  # dimension 1 at its limit
        ("N = 1024", {"shim/size-1"}),
    ],
)
def test_a_rule_binds_one_dimension(rows: str, found: set[str]) -> None:
    text = (
        f'schema = 1\ntarget = "{FOLDER}"\n[axes]\n{rows}\nC = 16\n[transfer.x]\ndtype = "i32"\n'
        'source = { tier = "ddr", element = "N, C # 32" }\ndest = { tier = "array", element = "N, C" }\n'
        'stream = { time = "N", packet = "C" }\n'
    )
    (verdict,) = api.check(text)
    assert {f.rule for f in verdict.findings if f.severity.value == "error"} == found


def test_a_limit_changed_in_the_data_changes_check_and_synthesis(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "shim")
    data = (tmp_path / "shim" / "target.toml").read_text(encoding="utf-8")
    fewer = data.replace("[limit.entries_max]\nvalue = 4", "[limit.entries_max]\nvalue = 3")
    fewer = fewer.replace("first_bad = { entries = 5 }", "first_bad = { entries = 4 }")
    fewer = fewer.replace("last_ok = { entries = 4 }\nf", "last_ok = { entries = 3 }\nf")
    (tmp_path / "shim" / "target.toml").write_text(fewer, encoding="utf-8")
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.read_text(encoding="utf-8"), encoding="utf-8")
    (verdict,) = api.check(f"{plan}::blocks")
    assert {f.rule for f in verdict.errors} == {"shim/dims-max"}
    assert len(api.synthesize(f"{plan}::blocks").commands) == 8  # one loop became commands


@pytest.mark.parametrize(
    ("axes", "source", "dest", "commands", "cycles"),
    [
        (
            "A=2 T=4099",
            "A, T # 4100",
            "A, T",
            1,
            8298,
        ),  # rows longer than dimension 0 counts, word by word in dimension 2
        ("A=65 T=4099", "A, T # 4100", "A, T", 2, 266635),  # and more of them than the iteration counts
        (
            "A=2 M=257",
            "M",
            "A, M",
            1,
            614,
        ),  # only the iteration may step by 0: what is inside of it is beside loops of 1
        ("A=5 M=1", "M", "A, M", 1, 105),  # beside two of them
        ("A=2 B=2 M=1031", "B # 3, M # 1032", "A, B, M", 2, 4324),  # which are no more than a descriptor has room for
        ("A=2 M=256", "M", "A, M", 1, 612),  # and is reached where the rows are loops in loops
        ("A=3 M=2048", "M, A", "A, M", 1, 6244),  # a loop longer than dimension 1 counts
        ("A=2 M=65536", "M, A", "A, M", 1, 131172),  # seven lengths divide it that are too long as well
        ("A=2 M=256", "A, M # 260", "A, M", 1, 612),
    ],
)
def test_a_loop_that_no_descriptor_has_room_for_becomes_commands(
    axes: str, source: str, dest: str, commands: int, cycles: float
) -> None:
    sides = [f'source = {{ tier = "ddr", element = "{source}" }}', f'dest = {{ tier = "array", element = "{dest}" }}']
    head = ["schema = 1", f'target = "{FOLDER}"', "[axes]", *axes.split(), "[transfer.t]", 'dtype = "i32"', *sides]
    found = api.synthesize(api.load("\n".join(head)))
    assert (len(found.commands), found.cycles) == (commands, cycles)
    assert found.verdict is not None
    assert found.bound <= found.cycles


@pytest.mark.parametrize(("turns", "commands"), [(64, 1), (65, 2), (129, 3)])
def test_a_loop_that_counts_too_far_is_cut_in_as_few_blocks_as_are_legal(turns: int, commands: int) -> None:
    """The iteration counts to 64. Turn by turn 65 would be more commands than are made, and there would be no plan."""
    text = f'''schema = 1
target = "{FOLDER}"
axes = {{ A = {turns}, B = 2, C = 2, D = 4 }}
[transfer.t]
dtype = "i32"
source = {{ tier = "ddr", element = "A # {turns + 1}, B # 3, C # 4, D # 6" }}
dest = {{ tier = "array", element = "A, B, C, D" }}
'''
    found = api.synthesize(text)
    assert (len(found.commands), found.cycles) == (commands, 100 * commands + 16 * turns)


@pytest.mark.parametrize("turns", [2048, 65536])  # seven lengths divide the second that are too long as well
def test_a_loop_is_split_where_no_dimension_further_out_counts_so_far(turns: int, tmp_path: Path) -> None:
    """As the shim DMA, but dimension 2 counts no further than dimension 1."""
    shutil.copytree(FOLDER, tmp_path / "shim")
    rules = tmp_path / "shim" / "rules.smt2"
    told = rules.read_text(encoding="utf-8")
    rules.write_text(told.replace("(distinct dimension 1)", "(= dimension 0) (= dimension 3)"), encoding="utf-8")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"""schema = 1
target = "./shim"
axes = {{ A = 2, M = {turns} }}
[transfer.t]
dtype = "i32"
source = {{ tier = "ddr", element = "M, A" }}
dest = {{ tier = "array", element = "A, M" }}
""",
        encoding="utf-8",
    )
    assert len(api.synthesize(str(plan)).commands) == 1


def test_split_loops_are_found_in_the_order_of_either_memory(tmp_path: Path) -> None:
    """Six loops whose order the source's stream fixes, of 720 orders."""
    shutil.copytree(FOLDER, tmp_path / "shim")
    file = tmp_path / "shim" / "target.toml"
    data = file.read_text(encoding="utf-8").replace("[limit.entries_max]\nvalue = 4", "[limit.entries_max]\nvalue = 8")
    file.write_text(
        data.replace("dimensions = 4 }", "dimensions = 8 }").replace("dimensions = 5 }", "dimensions = 9 }")
    )
    plan = tmp_path / "plan.toml"
    for source, dest in (("array", "ddr"), ("ddr", "array")):
        text = f"""schema = 1
target = "./shim"
axes = {{ A = 3, B = 5, C = 7, D = 3, M = 2048 }}
[transfer.t]
dtype = "i32"
source = {{ tier = "{source}", element = "A, D, B, C, M" }}
dest = {{ tier = "{dest}", element = "C, A, M, B, D" }}
"""
        plan.write_text(text, encoding="utf-8")
        assert len(api.synthesize(str(plan)).commands) == 1


def test_a_packet_of_one_word_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    own = plain._commands

    def counted(box: AtomNest, rank: int, *rest: object) -> object:
        asked.append(rank)
        return own(box, rank, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(plain, "_commands", counted)
    api.synthesize(f"{PLAN}::transpose")
    assert set(asked) == {0}


def test_what_is_in_loops_that_are_commands_is_tried_in_few_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight loops of which a descriptor takes three: 72 pairs of others, each with 720 orders."""
    asked = 0
    own = plain.command

    def counted(*given: object) -> Command:
        nonlocal asked
        asked += 1
        return own(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(plain, "command", counted)
    monkeypatch.setattr(plain, "ORDERS", 721)
    sizes = dict(zip("ABCDEFGH", (3, 2, 3, 2, 3, 2, 3, 2), strict=True))
    head = ["schema = 1", f'target = "{FOLDER}"', "[axes]", *(f"{axis} = {size}" for axis, size in sizes.items())]
    sides = ['source = { tier = "ddr", element = "A, B, C, D, E, F, G, H" }',
             'dest = { tier = "array", element = "D, A, G, B, E, H, C, F" }']  # fmt: skip
    assert not api.synthesize(api.load("\n".join([*head, "[transfer.t]", 'dtype = "i32"', *sides]))).found
    assert asked < 20_000


DERIVE = """
def check_options(target, options):
    pass

def derived(transfer, target, commands):
    return ()
"""


@pytest.fixture
def with_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The plan of a machine that computes something itself: a folder of `machines` with a `derive.py` alone."""
    package = tmp_path / "code" / "fourth"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "derive.py").write_text(DERIVE)
    monkeypatch.setattr(dmaverify.machines, "__path__", [*dmaverify.machines.__path__, str(package.parent)])
    shutil.copytree(FOLDER, tmp_path / "shim")
    with (tmp_path / "shim" / "target.toml").open("a") as data:
        data.write('\n[machine]\nmodule = "fourth"\n')
    return str(shutil.copy(PLAN, tmp_path))


def test_a_machine_computes_itself_only_what_its_folder_has(with_module: str) -> None:
    """What it has no module for is that of its data: prices, the search, the configuration texts."""
    assert part_of(load_target(str(Path(with_module).parent / "shim")), "derive") is not None
    blocks = f"{with_module}::tile"
    assert [invoke([command, blocks]) for command in ("check", "run", "derive", "cost", "synth")] == [0] * 5


def test_a_machine_that_names_no_folder_of_ours_is_never_judged_without_it(with_module: str) -> None:
    data = Path(with_module).parent / "shim" / "target.toml"
    data.write_text(data.read_text().replace('"fourth"', '"fifth"'))
    assert invoke(["check", f"{with_module}::tile"]) == 2
