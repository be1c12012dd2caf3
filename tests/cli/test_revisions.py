"""`diff REV..REV` and `check --since REV`: a reviewer sees the transfers that changed, and only those."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from lab.draws import rest
from lab.relayout import PLAN

from dmaverify.cli.app import main

KERNEL = """use furiosa_opt_std::prelude::*;
axes![A = 256, B = 64];
type Chip = m![1];
type Cluster = m![1 # 2];
fn same(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) {
    let y: DmTensor<i8, Chip, Cluster, m![A], m![B]> = x.to_dm(&mut ctx.tdma);
}
fn other(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) {
    let y: DmTensor<i8, Chip, Cluster, m![A], m![B]> = x.to_dm(&mut ctx.tdma);
}
"""


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


@pytest.fixture(scope="module")
def two_revisions(tmp_path_factory):
    """Two revisions of a kernel: `first`, and `second`, where `other` drops half of its rows."""
    folder = tmp_path_factory.mktemp("revisions")
    git(folder, "init", "-q", "--template=")
    head, _, tail = KERNEL.partition("fn other")
    second = f"{head}// a comment\nfn other{tail.replace('m![B]> = x', 'm![B = 32]> = x')}"
    for tag, text in (("first", KERNEL), ("second", second)):
        (folder / "k.rs").write_text(text, encoding="utf-8")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", tag)
        git(folder, "tag", tag)
    return folder


@pytest.fixture
def repository(two_revisions, tmp_path, monkeypatch):
    """A copy of the two revisions that is the working directory."""
    shutil.copytree(two_revisions, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0), "".join(capsys.readouterr())


def test_diff_tells_what_became_of_each_transfer_that_changed(repository, capsys):
    code, out = run(capsys, "diff", "first..second", "--no-cost")
    assert code == 1
    assert "now refuted" in out
    assert "k.rs::other-y" in out
    assert "same-y" not in out
    assert run(capsys, "diff", "first..first") == (0, "no transfer changed\n")
    assert run(capsys, "diff", "second..first", "--no-cost")[0] == 0


def test_diff_speaks_to_pull_requests(repository, capsys):
    assert "::error file=k.rs,line=10" in run(capsys, "diff", "first..second", "--format", "github")[1]
    assert (
        "| now refuted | `k.rs::other-y` | proved | refuted |"
        in run(capsys, "diff", "first..second", "--format", "summary")[1]
    )
    data = json.loads(run(capsys, "diff", "first..second", "--format", "json")[1])
    assert [(one["name"], one["kind"], one["fails"]) for one in data] == [("other-y", "now refuted", True)]
    assert all("=(" not in one[side]["move"] for one in data for side in ("before", "after"))  # as plans print it


def test_a_move_that_changed_is_priced_on_both_sides(repository, capsys):
    Path("k.rs").write_text(KERNEL.replace("A = 256, B = 64", "A = 256, B = 4096"), encoding="utf-8")
    code, out = run(capsys, "diff", "first")
    assert code == 0
    assert out.count("dearer") == 3  # two lines and the count
    assert "cycles" in out


def test_a_move_of_a_machine_with_a_search_of_its_own_is_priced_on_both_sides(repository, capsys):
    text = """schema = 1
target = "idma"
[axes]
A = 4
B = 64
[transfer.t]
dtype = "i8"
source = { tier = "mem", base = 0, element = "A, B" }
dest = { tier = "mem", base = 65536, element = "A, B # 5000" }
stream = { time = "A", packet = "B" }
"""
    Path("p.toml").write_text(text, encoding="utf-8")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "plan")
    Path("p.toml").write_text(text.replace("B = 64", "B = 4096"), encoding="utf-8")
    code, out = run(capsys, "diff", "HEAD")
    assert code == 0
    assert out.count("dearer") == 2  # the line and the count


def test_check_since_judges_what_changed_alone(repository, capsys):
    code, out = run(capsys, "check", "k.rs", "--since", "first", "--format", "json", "--no-cache")
    assert code == 1
    assert [one["name"] for one in json.loads(out.partition("\nexit")[0])] == ["other-y"]
    assert run(capsys, "check", "k.rs", "--since", "second", "--no-cache")[0] == 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", "no transfer changed"),
        ("schema", "# a comment\n\nschema", "no transfer changed"),
        ("t = 3", "t = 2", "1 moves otherwise"),
        ('start = "t"', 'start = "2 * t"', "1 moves otherwise"),
    ],
)
def test_a_plan_in_a_loop_is_compared_in_all_that_it_says(tmp_path, monkeypatch, capsys, old, new, said):
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q", "--template=")
    view = 'element = "N, C", view = { tile = "N", length = 1, start = "t" } }'
    plan = (
        'schema = 1\ntarget = "rngd"\naxes = { N = 8, C = 64 }\n[transfer.a]\ndtype = "i8"\nloop = { t = 3 }\n'
        f'source = {{ tier = "hbm", {view}\ndest = {{ tier = "hbm", base = 65536, {view}\n'
        'stream = { time = "1", packet = "C" }\n'
    )
    Path("plan.toml").write_text(plan, encoding="utf-8")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "plan")
    Path("plan.toml").write_text(plan.replace(old, new) if old else plan, encoding="utf-8")
    assert said in run(capsys, "diff", "HEAD", "plan.toml", "--no-cost")[1]


SYMBOLS = """schema = 1
target = "rngd"
axes = { C = 64 }
symbols = { N = { least = 2, most = 64, multiple = 2 } }
[transfer.a]
dtype = "i8"
source = { tier = "hbm", element = "A, C" }
dest = { tier = "hbm", base = 65536, element = "A, C" }
stream = { time = "A", packet = "C" }
""".replace("C = 64 }", 'C = 64, A = "N" }')
COPY = (Path(__file__).parents[2] / "examples" / "pto" / "example-1.mlir").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("plan.toml", SYMBOLS, SYMBOLS.replace("65536", "131072")),
        (
            "half.toml",
            SYMBOLS.replace("[transfer.a]", '[transfer.bad]\ndtype = "i7"\n[transfer.a]'),
            SYMBOLS.replace("[transfer.a]", '[transfer.bad]\ndtype = "i7"\n[transfer.a]').replace("65536", "131072"),
        ),
        ("k.pto", COPY, COPY.replace("128", "64")),
    ],
)
def test_what_has_no_mapping_is_compared_by_its_text(tmp_path, monkeypatch, capsys, name, old, new):

    def unchanged() -> bool:
        code, out = run(capsys, "diff", "HEAD", name, "--no-cost")
        return (code, out.partition(";")[0].strip()) == (0, "no transfer changed")

    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q", "--template=")
    Path(name).write_text(old, encoding="utf-8")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "first")
    assert unchanged()
    Path(name).write_text(f"// a comment\n{old}" if name == "k.pto" else f"# a comment\n{old}", encoding="utf-8")
    assert unchanged()
    Path(name).write_text(new, encoding="utf-8")
    assert "1 other text" in run(capsys, "diff", "HEAD", name, "--no-cost")[1]


def test_a_machine_named_by_its_path_is_found_in_a_revision_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q", "--template=")
    root = Path(__file__).parents[2]
    shutil.copytree(root / "encodings" / "toy", "machines/toy")
    Path("plans").mkdir()
    toy = (root / "examples" / "toy.toml").read_text(encoding="utf-8")
    Path("plans/toy.toml").write_text(toy.replace("../encodings/toy", "../machines/toy"), encoding="utf-8")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "first")
    assert run(capsys, "diff", "HEAD", "plans") == (0, "no transfer changed\n")


def test_drivers_of_a_folder_are_compared_with_an_engine_and_without(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q", "--template=")
    driver = "# define N 64\nvoid f(void) { snrt_dma_start_1d((void *)0x1000, (void *)0x20000, N); }\n"
    Path("d").mkdir()
    Path("d/a.c").write_text(driver, encoding="utf-8")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "first")
    assert run(capsys, "diff", "HEAD", "d", "--engine", "manticore") == (0, "no transfer changed\n")
    assert run(capsys, "diff", "HEAD", "d") == (0, "no transfer changed\n")
    Path("d/a.c").write_text(driver.replace("64", "32"), encoding="utf-8")
    assert "1 other text" in run(capsys, "diff", "HEAD", "d", "--engine", "manticore")[1]
    assert "1 other text" in run(capsys, "diff", "HEAD", "d")[1]
    Path("e").mkdir()
    Path("e/a.job").write_text("", encoding="utf-8")
    code, out = run(capsys, "diff", "HEAD", "e")
    assert code == 2
    assert "jobs and lists of folders need --engine" in out
    Path("d/a.c").write_text(driver.replace("64", "0"), encoding="utf-8")
    assert run(capsys, "diff", "HEAD", "d", "--engine", "manticore")[0] == 1
    assert run(capsys, "check", "d", "--engine", "manticore", "--since", "HEAD", "--no-cache")[0] == 1


def test_check_since_judges_all_where_the_settings_changed(repository, capsys):
    Path("dmaverify.toml").write_text('ignore = ["core/covers"]\n', encoding="utf-8")
    assert "same-y" in run(capsys, "check", "k.rs", "--since", "second", "--format", "json", "--no-cache")[1]


def test_plans_with_commands_and_aggregates_are_compared_too(repository, capsys):
    plan = (Path(__file__).parents[2] / "examples" / "first.toml").read_text(encoding="utf-8")
    Path("plan.toml").write_text(plan, encoding="utf-8")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "plan")
    assert run(capsys, "diff", "HEAD", "--no-cost") == (0, "no transfer changed\n")
    Path("plan.toml").write_text(plan.replace("A=64:2048", "A=64:2056"), encoding="utf-8")
    code, out = run(capsys, "diff", "HEAD", "--no-cost")
    assert code == 1
    assert "plan.toml::relayout" in out


@pytest.mark.parametrize(("manifest", "code"), [
    ('shapes = { path = "../shapes" }', 1), ("shapes = { workspace = true }", 1),
    ('shapes = { path = "../shapes", features = ["wide"] }', 3), ('shapes = "0.1"', 3),
])  # fmt: skip
def test_a_change_in_another_package_of_the_workspace_counts_where_it_is_named(
    tmp_path, monkeypatch, capsys, manifest, code
):
    """A package that is asked for other features than its own is not read: its names stay unresolved."""
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q", "--template=")
    vendor = 'furiosa-opt-std = { path = "../furiosa-opt-std" }'  # its types are known without it
    kernel = KERNEL.replace("axes![A = 256, B = 64];", "use shapes::*;").partition("fn other")[0]
    kernel = kernel.replace("x.to_dm", "x.view().tile::<m![B], 32, m![A, B = 32 # 64]>(START).to_dm")
    files = {
        "Cargo.toml": '[workspace]\n[workspace.dependencies]\nshapes = { path = "shapes" }\n',
        "shapes/Cargo.toml": '[package]\nname = "shapes"\n',
        "kernels/Cargo.toml": f'[package]\nname = "kernels"\n[dependencies]\n{manifest}\n{vendor}\n',
        "furiosa-opt-std/Cargo.toml": '[package]\nname = "furiosa-opt-std"\n',
        "furiosa-opt-std/src/lib.rs": "pub mod prelude { pub struct HbmTensor<D, C, E>(D, C, E); }\n",
        "kernels/src/lib.rs": kernel.replace("m![B]> = x", "m![B = 32]> = x"),
    }
    for tag, start in (("first", 0), ("second", 4)):
        shapes = f"axes![A = 256, B = 64];\npub const START: usize = {start};\n"
        for name, text in {**files, "shapes/src/lib.rs": shapes}.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text, encoding="utf-8")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", tag)
        git(tmp_path, "tag", tag)
        assert run(capsys, "check", "kernels")[0] == (code if start or code == 3 else 0)
    found, out = run(capsys, "diff", "first..second", "--no-cost")
    assert found == (1 if code == 1 else 0)
    assert ("--> kernels/src/lib.rs" in out) is (code == 1)


@pytest.mark.parametrize("words", [("--define", "n=3"), ("--dims", "2"), ("--engine", "rw_axi")])
def test_an_option_of_files_that_neither_revision_has_is_refused(repository, capsys, words):
    code, out = run(capsys, "diff", "first..second", "--no-cost", *words)
    assert code == 2
    assert words[0] in out


def test_what_a_plan_no_longer_expects_or_excuses_is_a_change(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q", "--template=")
    plan = PLAN.replace("B=4:256", "B=4:248")
    said = {"expect": plan + 'expect = ["core/same-element"]\n'}
    said["allow"] = plan.replace("[transfer", "# dmaverify: allow(core/same-element) known\n[transfer")
    for name, text in said.items():
        Path(f"{name}.toml").write_text(text, encoding="utf-8")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "first")
    assert run(capsys, "diff", "HEAD", "--no-cost") == (0, "no transfer changed\n")
    for name in said:
        Path(f"{name}.toml").write_text(plan, encoding="utf-8")
        code, out = run(capsys, "diff", "HEAD", f"{name}.toml", "--no-cost")
        assert (code, "no longer as expected" in out) == (1, True), out
        assert run(capsys, "check", f"{name}.toml", "--since", "HEAD")[0] == 1
    Path("expect.toml").write_text(said["expect"].replace("B=4:248", "B=4:256"), encoding="utf-8")
    assert run(capsys, "diff", "HEAD", "expect.toml", "--no-cost")[0] == 1


def test_files_that_an_archive_leaves_out_and_engines_in_json_are_of_the_revision(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q", "--template=")
    Path("plans").mkdir()
    Path(".gitattributes").write_text("plans export-ignore\n", encoding="utf-8")
    engine = {"mine": {"jobs": {}, "proc_id": "rw_axi", "params": {"AddrWidth": 40, "DataWidth": 64}}}
    move = """schema = 1
target = "idma"
[axes]
A = 64
[transfer.t]
dtype = "i8"
options = { engine = "jobs.json::mine" }
source = { tier = "mem", base = 0x1000000000, element = "A" }
dest = { tier = "mem", base = 0x1000, element = "A" }
stream = { packet = "A" }
"""
    for number, width in enumerate((40, 32)):
        engine["mine"]["params"]["AddrWidth"] = width
        Path("jobs.json").write_text(json.dumps(engine), encoding="utf-8")
        Path("e.toml").write_text(move, encoding="utf-8")
        Path("plans/p.toml").write_text(PLAN.replace("B=4:256", f"B=4:{256 - number}"), encoding="utf-8")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", str(number))
    assert run(capsys, "check", "e.toml", "--no-cache")[0] == 1
    code, out = run(capsys, "diff", "HEAD~1..HEAD", "--no-cost")
    assert code == 1
    assert "e.toml::t" in out
    assert "plans/p.toml::t" in out


def test_three_dots_compare_with_where_two_branches_parted(repository, capsys):
    git(repository, "checkout", "-q", "-b", "side", "first")
    Path("k.rs").write_text(KERNEL + "// more\n", encoding="utf-8")
    git(repository, "commit", "-q", "-am", "side")
    assert run(capsys, "diff", "second...side", "--no-cost") == (0, "no transfer changed\n")
    assert run(capsys, "diff", "second..side", "--no-cost")[1] != "no transfer changed\n"


def test_a_check_of_nothing_that_changed_writes_its_reports(repository, capsys):
    assert run(capsys, "check", ".", "--since", "second", "--output", "json=out.json")[0] == 0
    assert json.loads(Path("out.json").read_text(encoding="utf-8")) == []
    _, out = run(capsys, "check", ".", "--since", "second", "--json")
    assert json.loads(out[: out.rindex("]") + 1]) == []
    assert run(capsys, "check", ".", "--since", "second", "--certify", "c")[0] == 2
    Path("Cargo.toml").write_text('[package]\nname = "k"\n[package.metadata.dmaverify]\n', encoding="utf-8")
    assert "same-y" in run(capsys, "check", ".", "--since", "second", "--verbose")[1]


NAMED = """use furiosa_opt_std::prelude::*;
{mod}
axes![A = 256, B = 64];
type Chip = m![1];
type Cluster = m![1 # 2];
fn one(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) {{
    let y: DmTensor<i8, Chip, Cluster, m![A], shp::Elem> = x.to_dm(&mut ctx.tdma);
}}
"""
WHOLE, HALF = (f"use crate::*;\npub type Elem = m![{elem}];\n" for elem in ("B", "B = 32"))
PLACES = {
    "mod shp;": "k/src/shp.rs",
    '#[path = "x.inc"] mod shp;': "k/src/x.inc",
    '#[path = ".made/x"] mod shp;': "k/src/.made/x",
    '#[path = "../../common/x.txt"] mod shp;': "common/x.txt",
    '#[path = "link/x.inc"] mod shp;': "common/x.inc",
}


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """Commits a workspace with these files; None takes one away."""
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q", "--template=")
    package = '[package]\nname = "k"\nversion = "0.1.0"\n'
    base = {"Cargo.toml": '[workspace]\nmembers = ["k"]\n', "k/Cargo.toml": package}

    def committed(tag: str, files: dict[str, str | None]) -> None:
        for name, text in {**base, **files}.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                Path(name).unlink()
            else:
                Path(name).write_text(text, encoding="utf-8")
        git(tmp_path, "add", "-A", "-f")
        git(tmp_path, "commit", "-q", "-m", tag, "--allow-empty")
        git(tmp_path, "tag", tag)

    return committed


@pytest.mark.parametrize("mod", PLACES)
def test_a_revision_is_judged_with_every_file_that_a_kernel_names(mod, workspace, tmp_path, capsys):
    Path("k/src").mkdir(parents=True)
    Path("k/src/link").symlink_to("../../common")
    workspace("good", {"k/src/lib.rs": NAMED.format(mod=mod), PLACES[mod]: WHOLE})
    workspace("bad", {PLACES[mod]: HALF})
    code, out = run(capsys, "diff", "good..bad", "--no-cost")
    assert (code, "now refuted      k/src/lib.rs::one-y" in out) == (1, True), out
    assert run(capsys, "diff", "bad..good", "--no-cost")[0] == 0
    assert run(capsys, "diff", "good..good") == (0, "no transfer changed\n")
    assert run(capsys, "check", "k", "--since", "good", "--no-execute")[0] == 1


def test_what_is_open_in_both_revisions_is_said_and_changed_where_anything_read_for_it_did(workspace, capsys):
    """A file that nobody reads, and a comment, are none of that."""
    text = NAMED.format(mod="mod shp;\nmod other;")
    lost = text.replace("shp::Elem", "nowhere::Elem")
    workspace("one", {"k/src/lib.rs": lost, "k/src/shp.rs": WHOLE, "k/src/other.rs": "", "k/README": ""})
    workspace("aside", {"k/README": "changed", "k/src/lib.rs": "// a comment\n" + lost})
    workspace("two", {"k/src/lib.rs": lost + "pub fn two() {}\n"})
    open_ = "no transfer changed; 1 not decided in both, of the same text\n"
    assert run(capsys, "diff", "one..one") == (0, open_)
    assert run(capsys, "diff", "one..aside") == (0, open_)
    code, out = run(capsys, "diff", "aside..two", "--no-cost")
    assert (code, "other text       k/src/lib.rs::one-y" in out) == (3, True), out
    workspace("whole", {"k/src/lib.rs": text})
    assert run(capsys, "diff", "two..whole", "--no-cost")[0] == 0


def test_a_module_that_changed_for_what_is_open_in_both_revisions_is_a_change(workspace, capsys):
    text = NAMED.format(mod="mod shp;")
    workspace("one", {"k/src/lib.rs": text, "k/src/shp.rs": "// nothing\n"})
    workspace("two", {"k/src/shp.rs": "// nothing yet\n"})
    workspace("three", {"k/src/shp.rs": None})
    workspace("four", {"k/src/shp/mod.rs": ""})
    for revisions in ("one..two", "two..three", "three..four"):
        code, out = run(capsys, "diff", revisions, "--no-cost")
        assert (code, "still unknown" in out) == (3, True), out
    markdown = run(capsys, "diff", "one..one", "--format", "summary")
    assert markdown[0] == 0
    assert "1 not decided in both" in markdown[1]


def test_functions_of_one_name_in_two_modules_are_compared_each_with_its_own(workspace, capsys):
    loads = [
        "func.func @k(%a: !pto.ptr<f32, gm>) {\n  %c0 = arith.constant 0 : i64\n  %c1 = arith.constant 1 : i64\n"
        f"  %l = arith.constant {length} : i64\n  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>\n"
        "  pto.mte_gm_ub %a, %u, %c0, %l nburst(%c1, %l, %l)\n"
        "    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64\n  return\n}\n"
        for length in (64, 1 << 20)  # more than UB holds
    ]
    both = "module @m {{\n{}}}\nmodule @n {{\n{}}}\n".format
    workspace("both", {"k.mlir": both(loads[0], loads[0])})
    Path("k.mlir").write_text(both(loads[1], loads[0]), encoding="utf-8")
    code, out = run(capsys, "diff", "both", "--no-cost")
    assert (code, "now refuted      k.mlir::k " in out) == (1, True), out
    Path("k.mlir").write_text(both(loads[0], loads[1]), encoding="utf-8")
    code, out = run(capsys, "diff", "both", "--no-cost")
    assert (code, "now refuted      k.mlir::k-2" in out) == (1, True), out


def test_links_of_a_revision_lead_nowhere_out_of_it(workspace, tmp_path, capsys):
    """Alone, or by way of another link that is made later."""
    from dmaverify.jobs.checkout import checked_out

    Path("a/b").mkdir(parents=True)
    Path("q").mkdir()
    targets = {"a/b/x": "../../q", "a/b/y": "x/../..", "far": "/", "root": ".", "plain": "q/f", "gone": "none"}
    for name, target in targets.items():
        Path(name).symlink_to(target)
    workspace("one", {"q/f": "text", "big": "x" * 10_000_001, "most": "x" * 10_000_000})
    with checked_out(tmp_path, "one") as folder:
        assert {name for name in targets if (folder / name).is_symlink()} == {"a/b/x", "root", "plain", "gone"}
        assert (folder / "plain").read_text(encoding="utf-8") == "text"
        assert (folder / "most").is_file()
        assert (folder / "big").stat().st_size == 10_000_001


def test_more_files_than_git_is_asked_for_at_once_are_all_of_the_revision(workspace, tmp_path, monkeypatch):
    from dmaverify.jobs import checkout

    workspace("one", {f"f{number}": str(number) for number in range(7)})
    for most in (1, 3, 7, 9, 10):
        monkeypatch.setattr(checkout, "MOST_AT_ONCE", most)
        with checkout.checked_out(tmp_path, "one") as folder:
            assert [(folder / f"f{number}").read_text(encoding="utf-8") for number in range(7)] == list("0123456")


def test_a_folder_that_is_empty_in_a_revision_hides_no_other(workspace, capsys):
    text = NAMED.format(mod="mod shp;")
    workspace("good", {"k/src/lib.rs": text, "k/src/shp.rs": WHOLE, "a/a.toml": PLAN, "a/README": ""})
    workspace("bad", {"k/src/shp.rs": HALF, "a/a.toml": None})
    code, out = run(capsys, "diff", "good..bad", "a", "k", "--no-cost")
    assert (code, "now refuted      k/src/lib.rs::one-y" in out, "removed          a/a.toml" in out) == (
        1,
        True,
        True,
    ), out


def test_a_plan_that_became_too_large_to_be_read_is_an_error_of_its_revision(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q", "--template=")
    for more in ("", f"# {'x' * 10_000_000}\n"):
        Path("a.toml").write_text(PLAN + more, encoding="utf-8")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", "a")
    code, out = run(capsys, "diff", "HEAD~1..HEAD", ".")
    assert (code, "larger than 10,000,000 bytes" in out) == (1, True)
    assert run(capsys, "diff", "HEAD~1..HEAD", "a.toml")[0] == 1
    assert run(capsys, "diff", "HEAD..HEAD~1", ".")[0] == 0
    assert "1 not decided in both" in run(capsys, "diff", "HEAD..HEAD", ".")[1]


TWO = PLAN + PLAN[PLAN.index("[transfer.") :].replace("[transfer.t]", "[transfer.u]")
U_WRONG = TWO[: TWO.index("[transfer.u]")] + TWO[TWO.index("[transfer.u]") :].replace("B=4:256", "B=4:255")


@pytest.fixture
def two_moves(workspace, tmp_path):
    """`t` and `u`, of which `u` is wrong in the working tree."""
    workspace("both", {"p.toml": TWO, "k.rs": KERNEL})
    Path("p.toml").write_text(U_WRONG, encoding="utf-8")


@pytest.mark.parametrize("words", [("diff", "both"), ("check", "--since", "both", "--no-execute")])
@pytest.mark.parametrize(
    ("paths", "code", "said"),
    [
        (["p.toml::u"], 1, "p.toml"),
        (["p.toml::t"], 0, "no transfer changed"),
        (["p.toml:8"], 0, "no transfer changed"),
        (["k.rs::other"], 0, "no transfer changed"),
        (["p.toml::t", "p.toml::v"], 2, "in p.toml::v"),
        (["k.rs::nobody"], 2, "in k.rs::nobody"),
        (["gone.toml", "p.toml::t"], 2, "in gone.toml"),
        *rest(
            [
                (["p.toml::t", "p.toml::u"], 1, "p.toml"),
                (["p.toml::v"], 2, "in p.toml::v"),
                (["gone.toml"], 2, "in gone.toml"),
            ]
        ),
    ],
)
def test_what_is_named_is_compared_and_a_name_of_nothing_is_refused(words, paths, code, said, two_moves, capsys):
    found, out = run(capsys, *words, *paths)
    assert (found, said in out) == (code, True), out


def test_what_one_revision_alone_has_is_compared_by_its_name(two_moves, capsys):
    Path("p.toml").write_text(PLAN, encoding="utf-8")
    code, out = run(capsys, "diff", "both", "p.toml::u", "--no-cost")
    assert (code, "removed          p.toml::u" in out) == (0, True), out
    assert run(capsys, "check", "--since", "both", "p.toml::u")[0] == 2


@pytest.mark.parametrize(
    "words", [("check", ".", "--since", "nowhere"), ("diff", "HEAD..nowhere", "."), ("diff", "HEAD...nowhere", ".")]
)
def test_a_revision_that_git_does_not_know_is_told_by_its_name(repository, capsys, words):
    code, said = run(capsys, *words)
    assert code == 2
    assert "git knows no revision `nowhere` here" in said
    assert "--unshallow" in said


def test_revisions_outside_of_a_repository_are_told_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(PLAN, encoding="utf-8")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for words in (("check", "plan.toml", "--since", "HEAD"), ("diff", "HEAD", "plan.toml")):
        assert run(capsys, *words) == (
            2,
            "error: plan.toml lies in no git repository\n  = help: revisions are compared within one\n",
        )


@pytest.fixture
def own_machine(tmp_path, monkeypatch):
    """A committed plan of a machine, and an engine, that lie beside it; what is written below is not committed."""
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q", "--template=")
    shim = Path(__file__).parents[2] / "examples" / "machines"
    shutil.copytree(shim / "shim", "mach")
    plan = (shim / "shim.toml").read_text(encoding="utf-8")
    Path("plans").mkdir()
    Path("plans/p.toml").write_text(plan.replace('"./shim"', '"toy"'), encoding="utf-8")
    Path("d.c").write_text("void f(void) { snrt_dma_start_1d(0x1000, 0x20000, 64); }\n", encoding="utf-8")
    Path("jobs.json").write_text(json.dumps(ENGINE), encoding="utf-8")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


ENGINE = {"mine": {"jobs": {}, "proc_id": "rw_axi", "params": {"AddrWidth": 32, "DataWidth": 64}}}


@pytest.mark.parametrize("words", [("--target", "mach"), ("--target", "./plans/../mach"), ()])
def test_a_machine_of_an_option_is_that_of_the_revision(words, own_machine, capsys):
    if not words:
        Path("dmaverify.toml").write_text('target = "mach"\n', encoding="utf-8")
        git(own_machine, "add", "-A")
        git(own_machine, "commit", "-q", "-m", "settings")
    assert run(capsys, "diff", "HEAD", "plans", *words) == (0, "no transfer changed\n")
    assert run(capsys, "check", "plans", "--since", "HEAD", *words) == (0, "no transfer changed since HEAD\n")
    machine = Path("mach/target.toml").read_text(encoding="utf-8")
    head, mark, tail = machine.partition("[limit.d1_max]")
    Path("mach/target.toml").write_text(head + mark + tail.replace("1023", "32", 1), encoding="utf-8")
    code, out = run(capsys, "diff", "HEAD", "plans", *words)
    assert (code, "now refuted      plans/p.toml::transpose" in out or "no longer" in out) == (1, True), out
    assert "p.toml::blocks" not in out
    code, out = run(capsys, "check", "plans", "--since", "HEAD", "--format", "concise", *words)
    assert (code, "shim/size-1" in out) == (1, True), out


def test_an_engine_of_an_option_is_that_of_the_revision(own_machine, capsys):
    words = ("d.c", "--engine", "jobs.json::mine")
    assert run(capsys, "diff", "HEAD", *words) == (0, "no transfer changed\n")
    changed = {"mine": {**ENGINE["mine"], "params": {"AddrWidth": 16, "DataWidth": 64}}}
    Path("jobs.json").write_text(json.dumps(changed), encoding="utf-8")
    assert run(capsys, "check", *words, "--no-cache")[0] == 1
    assert run(capsys, "diff", "HEAD", *words)[0] == 1
    assert run(capsys, "check", *words, "--since", "HEAD")[0] == 1


@pytest.mark.parametrize("words", [("--config", "ci/strict.toml"), ("--baseline", "ci/known.json")])
def test_check_since_judges_all_where_a_file_that_decides_changed(words, own_machine, capsys):
    check = ("check", "plans", "--target", "mach", "--format", "concise", *words)
    Path("ci").mkdir()
    Path("ci/strict.toml").write_text("", encoding="utf-8")
    Path("ci/known.json").write_text('{"baseline": 1, "findings": []}', encoding="utf-8")
    git(own_machine, "add", "-A")
    git(own_machine, "commit", "-q", "-m", "decides")
    assert run(capsys, *check, "--since", "HEAD") == (0, "no transfer changed since HEAD\n")
    Path("ci/strict.toml").write_text('[reading]\n"core/consumes" = "strict"\n', encoding="utf-8")
    Path("ci/known.json").write_text('{"baseline": 1, "findings":  []}', encoding="utf-8")
    assert run(capsys, *check, "--since", "HEAD") == run(capsys, *check)


@pytest.mark.parametrize("given", [".git", "{}/.git"])
def test_the_repository_is_that_of_the_path_in_a_hook_of_git_too(given, own_machine, monkeypatch, capsys):
    monkeypatch.setenv("GIT_DIR", given.format(own_machine))
    assert run(capsys, "check", "plans/p.toml", "--target", "mach", "--since", "HEAD")[1].startswith("no transfer")


def test_a_file_that_git_has_lost_is_told_by_its_name(own_machine, capsys):
    blob = subprocess.run(["git", "rev-parse", "HEAD:d.c"], check=True, capture_output=True, text=True).stdout.strip()
    Path(f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    code, out = run(capsys, "check", "plans", "--target", "mach", "--since", "HEAD")
    assert (code, "git has lost d.c of HEAD" in out) == (2, True), out


def test_a_submodule_is_that_of_the_revision(own_machine, tmp_path_factory, capsys):
    """With its files, a file of its own that changed is told alone; of a commit that is not there all is new."""
    inner = tmp_path_factory.mktemp("inner")
    git(inner, "init", "-q", "--template=")
    (inner / "s.toml").write_text(PLAN, encoding="utf-8")
    git(inner, "add", "-A")
    git(inner, "commit", "-q", "-m", "inner")
    git(own_machine, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "mod")
    git(own_machine, "commit", "-q", "-m", "outer")
    check = ("check", ".", "--since", "HEAD", "--format", "concise", "--no-cache")
    assert run(capsys, *check) == (0, "no transfer changed since HEAD\n")
    Path("mod/s.toml").write_text(PLAN.replace("B=4:256", "B=4:255"), encoding="utf-8")
    code, out = run(capsys, *check)
    assert (code, "mod/s.toml" in out, "plans/p.toml" in out) == (1, True, False), out
    git(own_machine / "mod", "commit", "-q", "-a", "-m", "ahead")
    git(own_machine, "add", "mod")
    git(own_machine, "commit", "-q", "-m", "outer, too")
    assert run(capsys, *check) == (0, "no transfer changed since HEAD\n")
    assert run(capsys, *check[:3], "HEAD~1", *check[4:])[0] == 1
    Path("mod/.git").unlink()
    assert run(capsys, *check)[0] == 1
