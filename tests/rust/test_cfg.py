"""`#[cfg(feature = ..)]`: names mean what the build has, by default features and those asked for."""

import pytest

import dmaverify as dv
from dmaverify.errors import Source
from dmaverify.jobs.verdicts import verdicts_of
from dmaverify.machines.rngd.rust.cfg import configured, features_of
from dmaverify.machines.rngd.rust.code import first_error
from dmaverify.machines.rngd.rust.plans import read_kernel_plan_text
from dmaverify.prove.move.check import Options
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
        ("", "", ["proved", "refuted", "refuted"]),
        ('"small"', "", ["refuted", "refuted", "refuted"]),
        ('"more"', "", ["refuted", "refuted", "refuted"]),
        ("", "small", ["refuted", "refuted", "refuted"]),
        ("", "other", ["proved", "refuted", "refuted"]),
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
    told = [v.assumptions[0] for v in verdicts if v.assumptions and v.assumptions[0].startswith("read with")]
    assert len(told) == 1
    build = "read with the feature `small`" if statuses[0] == "proved" else "read without the feature `small`"
    assert told[0].startswith(build)


@pytest.mark.parametrize(
    ("attribute", "there"),
    [
        ('#[cfg(feature = "a")]', True), ('#[cfg(feature = "b")]', False), ('#[cfg(not(feature = "a"))]', False),
        ('#[cfg(not(feature = "b"))]', True), ('#[cfg(all(feature = "a", feature = "b"))]', False),
        ('#[cfg(any(feature = "a", feature = "b"))]', True), ('#[cfg(all(test, feature = "a"))]', True),
        ('#[cfg(all(test, feature = "b"))]', False), ('#[cfg(any(test, feature = "b"))]', True), ("#[cfg(test)]", True),
        ('#[cfg(not(any(feature = "a", test)))]', False), ("#[device(chip = 1)]", True), ('#[cfg(feature = )]', True),
        ('#[cfg_attr(feature = "a", cfg(feature = "b"))]', False),
        ('#[cfg_attr(feature = "a", cfg(feature = "a"))]', True),
        ('#[cfg_attr(feature = "b", cfg(feature = "b"))]', True),
        ('#[cfg_attr(feature = "a", inline, cfg(feature = "b"))]', True),
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


HEAD = """use furiosa_opt_std::prelude::*;
type Chip = m![1];
type Cluster = m![1 # 2];
axes![A = 256, B = 64];
"""
GOOD, BAD = "m![B]", "m![B = 32]"


def twins(text: str) -> list[tuple[str, str]]:
    """(status, build) of every call."""
    made = verdicts_of(read_kernel_plan_text(HEAD + text, "kernel.rs"), Options())
    return [(v.status.value, next((a.split(":")[0] for a in v.assumptions if a.startswith("read ")), "")) for v in made]


STATEMENTS = """fn f(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) {
    #[cfg(feature = "half")]
    let y: DmTensor<i8, Chip, Cluster, m![A], FIRST> = x.to_dm(&mut ctx.tdma);
    // the other
    #[cfg(not(feature = "half"))]
    let y: DmTensor<i8, Chip, Cluster, m![A], SECOND> = x.to_dm(&mut ctx.tdma);
}"""
QUESTION = """fn f(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) {
    let y = if cfg!(feature = "half") {
        let y: DmTensor<i8, Chip, Cluster, m![A], FIRST> = x.to_dm(&mut ctx.tdma);
    } else {
        let y: DmTensor<i8, Chip, Cluster, m![A], SECOND> = x.to_dm(&mut ctx.tdma);
    };
}"""
METHODS = """struct S;
impl S {
    #[cfg(feature = "half")]
    fn f(&self, ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) {
        let y: DmTensor<i8, Chip, Cluster, m![A], FIRST> = x.to_dm(&mut ctx.tdma);
    }
    #[cfg(not(feature = "half"))]
    fn f(&self, ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) {
        let y: DmTensor<i8, Chip, Cluster, m![A], SECOND> = x.to_dm(&mut ctx.tdma);
    }
}"""
CONSTANTS = """#[cfg(feature = "half")]
const N: usize = 32;
#[cfg(not(feature = "half"))]
const N: usize = 64;
fn f(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) {
    let y: DmTensor<i8, Chip, Cluster, m![A], m![B = { N }]> = x.to_dm(&mut ctx.tdma);
}"""
ARMS = """fn f(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>, n: u8) {
    match n {
        #[cfg(feature = "half")]
        0 => { let y: DmTensor<i8, Chip, Cluster, m![A], FIRST> = x.to_dm(&mut ctx.tdma); }
        _ => { let y: DmTensor<i8, Chip, Cluster, m![A], SECOND> = x.to_dm(&mut ctx.tdma); }
    }
}"""


@pytest.mark.parametrize("text", [STATEMENTS, QUESTION, METHODS, ARMS])
@pytest.mark.parametrize(("first", "second"), [(GOOD, GOOD), (GOOD, BAD), (BAD, GOOD)])
def test_both_twins_are_judged_each_in_its_build(text: str, first: str, second: str) -> None:
    found = twins(text.replace("FIRST", first).replace("SECOND", second))
    expected = ["proved" if one == GOOD else "refuted" for one in (first, second)]
    assert found == [(expected[0], "read with the feature `half`"), (expected[1], "")]


@pytest.mark.parametrize(("features", "status"), [("", "proved"), ("half", "refuted")])
def test_a_constant_is_the_one_of_the_build(tmp_path, monkeypatch, features: str, status: str) -> None:
    monkeypatch.setenv("DMAVERIFY_FEATURES", features)
    (tmp_path / "src").mkdir()
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "k"\n[features]\nhalf = []\n', encoding="utf-8")
    (tmp_path / "src" / "lib.rs").write_text(HEAD + CONSTANTS, encoding="utf-8")
    assert [v.status.value for v in dv.check(tmp_path / "src" / "lib.rs")] == [status]


@pytest.mark.parametrize(
    ("above", "build"), [("const N: usize = 3;", ""), ("fn g() {}", ""), ("", "read with the feature `half`")]
)
def test_an_attribute_belongs_to_the_item_below_it(above: str, build: str) -> None:
    text = METHODS.split("    #[cfg(not")[0].replace("FIRST", GOOD) + "}"
    assert twins(text.replace('"half")]', f'"half")]\n    {above}')) == [("proved", build)]


def test_conditions_that_no_feature_decides_leave_nothing_out() -> None:
    text = STATEMENTS.replace('feature = "half"', 'backend = "npu"').replace("FIRST", GOOD).replace("SECOND", BAD)
    assert [status for status, _ in twins(text)] == ["proved", "refuted"]


LISTED = """fn k(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) -> HbmTensor<i8, Chip, m![A, B]> {
    let mut out = HbmTensor::<i8, Chip, m![A, B]>::new();
    BODY
    out
}
fn copy(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>, out: &mut HbmTensor<i8, Chip, m![A, B]>, GIVEN) {
    let part = x.view().tile::<m![B / 32], 1, m![A, 1 # 2, B % 32]>(c);
    part.to_hbm_view(&mut ctx.tdma, out.view_mut().tile::<m![B / 32], 1, m![A, 1 #{!} 2, B % 32]>(c));
}"""
EACH = "for c in LIST { copy(ctx, x, &mut out, c); }"
TWO = "copy(ctx, x, &mut out, 0); copy(ctx, x, &mut out, LIST);"


@pytest.mark.parametrize(
    "body",
    [
        EACH.replace("LIST", "[0usize, ATTRIBUTE 1]"),
        EACH.replace("LIST", "vec![0usize, ATTRIBUTE 1]"),
        EACH.replace("LIST", "[0usize, ATTRIBUTE /* the last */ 1, ]"),
        TWO.replace("LIST", "(ATTRIBUTE 1, 0).0"),
    ],
)
@pytest.mark.parametrize(
    ("attribute", "wanted"), [("", True), ('#[cfg(feature = "off")]', False), ("#[cfg(test)]", False),
                              ('#[cfg(not(feature = "off"))]', True), ('#[cfg(target_os = "linux")]', False)]
)  # fmt: skip
def test_lists_have_the_parts_that_the_build_has(body: str, attribute: str, wanted: bool) -> None:
    text = LISTED.replace("BODY", body).replace("GIVEN", "c: usize").replace("ATTRIBUTE", attribute)
    assert (twins(text)[-1][0] == "proved") is wanted


@pytest.mark.parametrize("attribute", ["", '#[cfg(feature = "off")]', "#[cfg(test)]", '#[cfg(not(feature = "off"))]'])
@pytest.mark.parametrize(("last", "status"), [("1", "proved"), ("0", "refuted")])
def test_arguments_and_parameters_are_those_of_the_build(attribute: str, last: str, status: str) -> None:
    body = f"copy(ctx, x, &mut out, ATTRIBUTE 7, 0); copy(ctx, x, &mut out, ATTRIBUTE 7, {last});"
    text = LISTED.replace("BODY", body).replace("GIVEN", "ATTRIBUTE more: usize, c: usize")
    assert twins(text.replace("ATTRIBUTE", attribute))[-1][0] == status


def lines(text: str) -> list[tuple[str, list[str]]]:
    """(status, what is said of the build) of every call."""
    made = verdicts_of(read_kernel_plan_text(HEAD + text, "kernel.rs"), Options())
    return [(v.status.value, [a.split(":")[0] for a in v.assumptions if "of the build" in a]) for v in made]


HALF = "this is said of the build without the feature `half`"
BOTH = "this is said of the build without the feature `a` and without the feature `b`"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CONSTANTS, [HALF]),
        (CONSTANTS.replace("= 32;", "= 64;"), []),
        (CONSTANTS.replace("{ N }", "64"), []),
        (CONSTANTS.replace('feature = "half"', 'all(feature = "a", feature = "b")'), [BOTH]),
        (CONSTANTS.replace("half", "a").replace("fn f", 'const M: bool = cfg!(feature = "b");\nfn f'),
         ["this is said of the build without the feature `a`"]),
        (CONSTANTS.replace('feature = "half"', "test"), []),
        (f"mod own {{ {CONSTANTS.split('fn f')[0].replace('const', 'pub const')} }}\nfn f"
         + CONSTANTS.split("fn f")[1].replace("{ N }", "{ own::N }"), [HALF]),
    ],
)  # fmt: skip
def test_a_proof_says_which_features_it_hangs_on(text: str, said: list[str]) -> None:
    assert lines(text) == [("proved", said)]


@pytest.mark.parametrize("several", [True, False])
def test_more_builds_than_are_tried_are_named_all(several: bool) -> None:
    more = "".join(f'#[cfg(feature = "f{one}")]\nconst F{one}: usize = 1;\n' for one in range(20 if several else 3))
    ((status, said),) = lines(more + CONSTANTS.replace("= 32;", "= 64;"))
    assert status == "proved"
    assert ("`half`" in " ".join(said)) is several


@pytest.mark.parametrize("kernel", ["#[device(chip = 1)]\n", ""])
@pytest.mark.parametrize(
    ("body", "found"),
    [
        ('#[cfg(feature = "x")] { ALL }', {"proved", "refuted"}),
        ('if cfg!(feature = "x") { ALL }', {"proved", "refuted"}),
        ('ALL #[cfg(feature = "x")] { ALL }', {"proved"}),
        ('#[cfg(feature = "x")] { ALL } #[cfg(not(feature = "x"))] { ALL }', {"proved"}),
        ('#[cfg(feature = "x")] { ALL } #[cfg(not(feature = "x"))] { WHOLE }', {"proved"}),
    ],
)  # fmt: skip
def test_the_build_that_is_asked_for_is_judged_without_what_it_lacks(kernel: str, body: str, found: set[str]) -> None:
    whole = "x.view().to_hbm_view(&mut ctx.tdma, out.view_mut());"
    body = body.replace("WHOLE", whole)
    every = body.replace("ALL", "copy(ctx, x, &mut out, 0); copy(ctx, x, &mut out, 1);")
    inline = body.replace("ALL", whole)
    text = LISTED.replace("GIVEN", "c: usize")
    assert {status for status, _ in lines(kernel + text.replace("BODY", inline).split("fn copy")[0])} == found
    judged = {status for status, _ in lines("#[device(chip = 1)]\n" + text.replace("BODY", every))}
    assert ("refuted" in judged) is ("refuted" in found)


PARTS = "let part = x.view().tile::<m![B / 32], 1, m![A, 1 # 2, B % 32]>(C);"
PARTS += "part.to_hbm_view(&mut ctx.tdma, out.view_mut().tile::<m![B / 32], 1, m![A, 1 #{!} 2, B % 32]>(C));"


@pytest.mark.parametrize(
    ("attribute", "given", "status"),
    [
        ("", "2, 1", "refuted"), ("", "1, 2", "proved"), ('#[cfg(feature = "off")]', "2", "proved"),
        ('#[cfg(feature = "off")]', "1", "refuted"), ('#[cfg(not(feature = "off"))]', "2, 1", "refuted"),
        ('#[cfg(not(feature = "off"))]', "1, 2", "proved"), ('#[cfg(target_os = "linux")]', "2, 2", "unknown"),
        ("#[cfg(test)]", "2", "proved"),
    ],
)  # fmt: skip
def test_generic_parameters_are_those_of_the_build(attribute: str, given: str, status: str) -> None:
    every = "ATTRIBUTE const M: usize, const N: usize"
    tensor = "HbmTensor<i8, Chip, m![A, B]>"
    helper = f"fn each<{every}>(ctx: &mut Context, x: &{tensor}, out: &mut {tensor}) {{ for c in 0..N {{ {PARTS} }} }}"
    text = LISTED.replace("BODY", f"each::<{given}>(ctx, x, &mut out);").split("fn copy")[0] + helper
    made = twins("#[device(chip = 1)]\n" + text.replace("ATTRIBUTE", attribute).replace("(C)", "(c)"))
    assert {told for told, _ in made} - {"proved"} == {status} - {"proved"}


@pytest.mark.parametrize(
    ("pattern", "status"),
    [("", "proved"), ("let Held { n, .. } = held;", "refuted"),
     ('let Held { #[cfg(feature = "off")] n, .. } = held;', "unknown"),
     ('let Held { #[cfg(not(feature = "off"))] n, .. } = held;', "unknown")],
)  # fmt: skip
def test_behind_what_the_grammar_does_not_know_nothing_is_proved(pattern: str, status: str) -> None:
    body = f"let n = 2; let held = Held {{ n: 1, m: 2 }}; {{ {pattern} for c in 0..n {{ {PARTS} }} }}"
    text = "struct Held { n: usize, m: usize }\n" + LISTED.replace("BODY", body).split("fn copy")[0]
    assert twins(text.replace("(C)", "(c)"))[-1][0] == status
    assert not first_error(Source("kernel.rs", HEAD + text)) or status == "unknown"


def test_a_helper_that_the_grammar_does_not_read_leaves_its_caller_open() -> None:
    text = LISTED.replace("BODY", "copy(ctx, x, &mut out, 0); copy(ctx, x, &mut out, 1);").replace("GIVEN", "c: usize")
    wrong = text.replace("{\n    let part", '{\n    let Held { #[cfg(feature = "off")] c, .. } = held();\n    let part')
    assert twins(text)[-1][0] == "proved"
    assert {status for status, _ in twins(wrong)} == {"unknown"}
