"""`#[cfg(feature = ..)]`: names mean what the build has, by default features and those asked for."""

import pytest

import dmaverify as dv
from dmaverify.machines.rngd.rust.cfg import configured, features_of
from dmaverify.verdict import Status

KERNEL = """use furiosa_opt_std::prelude::*;
type Chip = m![1];
type Cluster = m![1 # 2];
#[cfg(feature = "small")]
axes![A = 256, B = 60];
#[cfg(not(feature = "small"))]
axes![A = 256, B = 64];
fn f(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) {
    let y: DmTensor<i8, Chip, Cluster, m![A], m![B]> = x.to_dm(&mut ctx.tdma);
}
#[cfg(feature = "small")]
fn g(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) {
    let y: DmTensor<i8, Chip, Cluster, m![A], m![B]> = x.to_dm(&mut ctx.tdma);
}
#[cfg(not(feature = "small"))]
fn g(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) {
    let y: DmTensor<i8, Chip, Cluster, m![A], m![B = 32]> = x.to_dm(&mut ctx.tdma);
}
"""


@pytest.mark.parametrize(
    ("defaults", "asked", "statuses"),
    [
        ("", "", ["proved", "unknown", "refuted"]),
        ('"small"', "", ["refuted", "refuted", "unknown"]),
        ('"more"', "", ["refuted", "refuted", "unknown"]),
        ("", "small", ["refuted", "refuted", "unknown"]),
        ("", "other", ["proved", "unknown", "refuted"]),
    ],
)
def test_names_mean_what_the_build_has(tmp_path, monkeypatch, defaults, asked, statuses) -> None:
    monkeypatch.setenv("DMAVERIFY_FEATURES", asked)
    (tmp_path / "src").mkdir()
    manifest = f'[package]\nname = "k"\n[features]\ndefault = [{defaults}]\nmore = ["small"]\nsmall = []\nother = []\n'
    (tmp_path / "Cargo.toml").write_text(manifest, encoding="utf-8")
    (tmp_path / "src" / "lib.rs").write_text(KERNEL, encoding="utf-8")
    verdicts = dv.check(tmp_path / "src" / "lib.rs")
    assert [v.status for v in verdicts] == [Status(one) for one in statuses]
    told = [f.message for v in verdicts if v.status is Status.UNKNOWN for f in v.findings]
    assert len(told) == 1
    assert "leaves `g` out of this build" in told[0]


@pytest.mark.parametrize(
    ("attribute", "there"),
    [
        ('#[cfg(feature = "a")]', True), ('#[cfg(feature = "b")]', False), ('#[cfg(not(feature = "a"))]', False),
        ('#[cfg(not(feature = "b"))]', True), ('#[cfg(all(feature = "a", feature = "b"))]', False),
        ('#[cfg(any(feature = "a", feature = "b"))]', True), ('#[cfg(all(test, feature = "a"))]', True),
        ('#[cfg(all(test, feature = "b"))]', False), ('#[cfg(any(test, feature = "b"))]', True), ("#[cfg(test)]", True),
        ('#[cfg(not(any(feature = "a", test)))]', False), ("#[device(chip = 1)]", True), ('#[cfg(feature = )]', True),
    ],
)  # fmt: skip
def test_a_condition_leaves_out_only_what_features_decide(attribute: str, there: bool) -> None:
    assert configured(attribute, frozenset({"a"})) is there


def test_features_come_with_what_they_bring_along(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("DMAVERIFY_FEATURES", "x, y")
    manifest = '[features]\ndefault = ["a"]\na = ["b"]\nb = ["a"]\nx = ["z"]\n'
    (tmp_path / "Cargo.toml").write_text(manifest, encoding="utf-8")
    assert features_of(tmp_path) == {"a", "b", "x", "y", "z"}
    assert features_of(None) == {"x", "y"}
    (tmp_path / "Cargo.toml").write_text("features = 7\n[", encoding="utf-8")
    assert features_of(tmp_path) == {"x", "y"}
