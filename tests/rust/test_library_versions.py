"""Older packages are judged as their version of the library means them; the newest is read where none is named."""

from pathlib import Path

import pytest
from kernels import HEAD, broken

from dmaverify.machines.rngd.rust.library import Library, library_of
from dmaverify.machines.rngd.rust.plans import read_kernel_plan_text

OLD, NEW, FIRST = Library((0, 5)), Library((0, 6)), Library((0, 3))

COMPOUND = """axes![P = 9, Q = 7];
fn f(ctx: &mut Context, x: &HbmTensor<i32, Chip, m![[P, Q] # 1024]>) {
    let t: HbmTensor<i32, Chip, m![[P, Q] # 1024 % 8, [P, Q] # 1024 / 8]> = x.to_hbm::<_, _>(&mut ctx.tdma);
}"""
DROPPED = COMPOUND.replace("# 1024 % 8, ", "# 1024 % 4, ")
BESIDE = COMPOUND.replace("m![[P, Q] # 1024]>", "m![P # 1024, Q]>")
WRITTEN = """fn f(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>, y: &mut HbmTensor<i8, Chip, m![A, B]>) {
    x.view().to_hbm_view(&mut ctx.tdma, y.view_mut());
    let from = x.view().tile::<m![B], 16, m![A, B = 16 # 64]>(0);
    from.to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![B], 16, m![A, B = 16 # 64]>(16));
}"""
SMALL = """fn f(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A]>) {
    let y: DmTensor<i8, Chip, Cluster, m![A / 64], m![A % 64]> = x.to_dm(&mut ctx.tdma);
}"""


@pytest.mark.parametrize(
    ("text", "library", "fine"),
    [
        (COMPOUND, OLD, True),
        (COMPOUND, NEW, False),
        (DROPPED, OLD, False),
        (BESIDE, OLD, False),
        (WRITTEN, OLD, True),
        (WRITTEN, NEW, False),
        (WRITTEN.replace("m![B], 16, m![A, B = 16 # 64]>(16)", "m![B], 16, m![A, B = 32 # 64]>(16)"), OLD, False),
        (SMALL, FIRST, True),
        (SMALL, OLD, False),
    ],
)
def test_each_version_is_judged_by_its_own_rules(text: str, library: Library, fine: bool) -> None:
    found = broken(read_kernel_plan_text(HEAD + text, "kernel.rs", library=library))
    assert all(not rules for rules in found) is fine


@pytest.mark.parametrize(
    ("manifest", "version"),
    [
        ('[dependencies]\nfuriosa-opt-std = "0.5.1"', (0, 5)),
        ('[dependencies]\nfuriosa-opt-std = { path = "../std", version = "0.3" }', (0, 3)),
        ('[dependencies]\nfuriosa-visa-std = { path = "../std" }', (0, 1)),
        ("[dependencies]\nfuriosa-opt-std = { workspace = true }", (0, 4)),
        ('[dependencies]\nfuriosa-opt-std = { git = "x", tag = "v0.6.0" }', (0, 6)),
        ('[dependencies]\nfuriosa-opt-std = { path = "../nowhere" }', (0, 6)),
        ('[package]\nname = "furiosa-opt-examples"\nversion = "0.2.0"', (0, 2)),
        ("not a manifest", (0, 6)),
        ("", (0, 6)),
    ],
)
def test_the_version_is_what_the_manifest_says(tmp_path: Path, manifest: str, version: tuple[int, int]) -> None:
    for folder in ("own", "std"):
        (tmp_path / folder).mkdir()
    (tmp_path / "Cargo.toml").write_text(
        '[workspace]\nmembers = ["own"]\n[workspace.dependencies]\nfuriosa-opt-std = "0.4"'
    )
    (tmp_path / "std" / "Cargo.toml").write_text('[package]\nname = "furiosa-visa-std"\nversion = "0.1.0"')
    (tmp_path / "own" / "Cargo.toml").write_text(manifest)
    assert library_of(tmp_path / "own").version == version


def test_a_folder_without_a_manifest_is_read_by_the_newest() -> None:
    assert library_of(None) == NEW
