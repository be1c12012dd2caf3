"""Options of a search are honoured or refused; bounds of machines with rates alone; exit codes of every door."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.cli.app import invoke
from dmaverify.errors import InputError
from dmaverify.targets.target import load_target

HEAD = 'schema = 1\ntarget = "{}"\n[axes]\nR = 5\nC = 32\n[transfer.x]\ndtype = "i8"\n'
RATES = '\n[cost.simple]\nstartup = 100\nbeat_bytes = { gm = 32, ub = 32 }\nsource = "s"\nbasis = "inferred"\n'
PLAIN = HEAD.format("plain") + 'source = {{ tier = "gm", element = "{}" }}\ndest = {{ tier = "ub", element = "{}" }}\n'
IDMA = (
    HEAD.format("idma")
    + 'source = { tier = "mem", element = "R, C" }\ndest = { tier = "mem", base = 4096, element = "R, C" }\n'
)
NOWHERE = HEAD.format("rngd") + (
    'source = { tier = "hbm", element = "R, C" }\ndest = { tier = "dm", base = 1, element = "R, C" }\n'
)
GOOD = NOWHERE.replace("base = 1, ", "")


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A folder with a machine that states rates alone."""
    shutil.copytree(load_target("toy").folder, tmp_path / "plain")
    file = tmp_path / "plain" / "target.toml"
    file.write_text(file.read_text(encoding="utf-8") + RATES, encoding="utf-8")
    return tmp_path


def plan(folder: Path, text: str) -> str:
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return str(folder / "plan.toml")


@pytest.mark.parametrize(
    ("source", "dest", "cycles", "bound"),
    [("R # 8 % 4, R # 8 / 4, C", "R # 8, C", 108, 105), ("R, C", "R, C", 105, 105), ("R # 8, C", "R # 8, C", 105, 105)],
)
def test_the_bound_of_a_machine_with_rates_counts_live_bytes_alone(
    plain: Path, source: str, dest: str, cycles: float, bound: float
) -> None:
    """ "No plan can beat 108.0" counted three rows of padding; the five rows that are live take 105."""
    found = api.synthesize(plan(plain, PLAIN.format(source, dest)))
    assert (found.cycles, found.bound, found.optimal) == (cycles, bound, cycles == bound), found.evidence


ASKED = {
    "packet": 32, "engines": 2, "entries": 2, "commands": 3, "prefix": ("R",), "budget": 9.0, "evaluations": 7,
    "profile": "nonsense",
}  # fmt: skip


@pytest.mark.parametrize("setting", ASKED)
def test_a_setting_that_a_machine_with_rates_has_not_is_refused(plain: Path, setting: str) -> None:
    path = plan(plain, PLAIN.format("R, C", "R, C"))
    with pytest.raises(InputError, match=f"`{setting}` means nothing"):
        api.synthesize(path, **{setting: ASKED[setting]})
    assert api.synthesize(path, profile="simple").found


@pytest.mark.parametrize("setting", [name for name in ASKED if name != "commands"])
def test_a_setting_that_descriptors_have_not_is_refused(tmp_path: Path, setting: str) -> None:
    path = plan(tmp_path, IDMA)
    with pytest.raises(InputError, match=f"`{setting}` means nothing"):
        api.synthesize(path, **{setting: ASKED[setting]})
    assert api.synthesize(path, commands=3).found


@pytest.mark.parametrize("given", [{"profile": "nonsense"}, {"reading": {"pto/lanes": "x"}}])
def test_a_profile_or_reading_is_refused_for_copies(given: dict[str, object], tmp_path: Path) -> None:
    text = HEAD.format("pto") + 'source = { tier = "gm", element = "R, C" }\ndest = { tier = "ub", element = "R, C" }\n'
    with pytest.raises(InputError, match="means nothing for copies"):
        api.synthesize(plan(tmp_path, text), **given)
    assert api.synthesize(plan(tmp_path, text), profile="book").found


def test_a_form_is_refused_for_copies(tmp_path: Path, capsys) -> None:
    text = HEAD.format("pto") + 'source = { tier = "gm", element = "R, C" }\ndest = { tier = "ub", element = "R, C" }\n'
    assert invoke(["synth", plan(tmp_path, text), "--emit", "auto"]) == 2
    assert "copies have no form `auto`" in capsys.readouterr().err


def test_layouts_refuse_what_they_do_not_look_at(tmp_path: Path, capsys) -> None:
    path = plan(tmp_path, GOOD)
    for words in (["--packet", "32"], ["--prefix", "R"], ["--emit", "auto"], ["--certificate", str(tmp_path / "c")],
                  ["--engines", "1"], ["--budget", "9"]):  # fmt: skip
        assert invoke(["synth", path, "--layouts", *words]) == 2
        assert words[0].strip("-") in capsys.readouterr().err
    assert not (tmp_path / "c").exists()
    assert invoke(["synth", path, "--layouts", "--evaluations", "5"]) == 0


def test_layouts_of_a_folder_say_with_2_that_a_file_could_not_be_read(tmp_path: Path, capsys) -> None:
    plan(tmp_path, GOOD)
    assert invoke(["synth", str(tmp_path), "--layouts", "--evaluations", "5"]) == 0
    (tmp_path / "bad.toml").write_text("schema = 1\n[", encoding="utf-8")
    assert invoke(["synth", str(tmp_path), "--layouts", "--evaluations", "5"]) == 2


@pytest.mark.parametrize(("texts", "code"), [([GOOD], 0), ([NOWHERE], 1), ([GOOD, NOWHERE, GOOD], 1), (["["], 2)])
def test_a_line_says_by_the_exit_code_that_a_move_has_no_plan(
    texts: list[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [json.dumps({"plan": text, "simulate": False, "routes": False}) for text in texts]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines) + "\n"))
    assert invoke(["synth", "--stdin"]) == code


# ---------------------------------------------------------------- sweeps

FAST = ("--no-simulate", "--no-routes")


def test_a_sweep_that_goes_on_searches_anew_what_was_changed(tmp_path: Path) -> None:
    path, out = plan(tmp_path, GOOD), tmp_path / "all.jsonl"
    words = ["sweep", path, "--synth", *FAST, "--out", str(out)]
    assert invoke(words) == 0
    first = out.read_text(encoding="utf-8")
    left = "\n".join(first.splitlines()[:-1]) + "\n"
    (tmp_path / ".all.jsonl.part").write_text(left.replace("cycles", "sealed"), encoding="utf-8")
    assert invoke(words) == 0
    assert out.read_text(encoding="utf-8") == first.replace("cycles", "sealed")  # the same text: taken as it is
    plan(tmp_path, GOOD.replace("R = 5", "R = 128"))
    (tmp_path / ".all.jsonl.part").write_text(left.replace("cycles", "sealed"), encoding="utf-8")
    assert invoke(words) == 0
    assert "sealed" not in out.read_text(encoding="utf-8")


@pytest.mark.parametrize("beside", ["plan.toml", "mine/target.toml"])
def test_shards_of_other_texts_are_of_another_sweep(tmp_path: Path, capsys, beside: str) -> None:
    shutil.copytree(load_target("rngd").folder, tmp_path / "mine")
    plan(tmp_path, GOOD.replace('"rngd"', '"mine"'))
    files = [str(tmp_path / f"{number}.jsonl") for number in (1, 2)]
    for number, file in enumerate(files, 1):
        assert invoke(["sweep", str(tmp_path / "plan.toml"), "--shard", f"{number}/2", "--out", file]) == 0
        with (tmp_path / beside).open("a", encoding="utf-8") as changed:
            changed.write("\n# changed\n")
    assert invoke(["merge", *files]) == 2
    assert "a shard of another sweep" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [["--target", "rngd"], ["--rlimit", "5"], ["--timeout", "5s"], ["--memory", "1GiB"], ["--prove", "full"],
     ["--no-execute"]],
)  # fmt: skip
def test_a_sweep_of_searches_refuses_what_only_checks_look_at(tmp_path: Path, capsys, words: list[str]) -> None:
    path, out = plan(tmp_path, GOOD), tmp_path / "all.jsonl"
    assert invoke(["sweep", path, "--synth", *FAST, *words, "--out", str(out)]) == 2
    assert f"`{words[0]}` is of checks" in capsys.readouterr().err
    assert invoke(["sweep", path, *words, "--out", str(out)]) == 0


@pytest.mark.parametrize("words", [["--profile", "schedule"], ["--no-simulate"], ["--no-routes"]])
def test_a_sweep_of_checks_refuses_what_only_searches_look_at(tmp_path: Path, capsys, words: list[str]) -> None:
    path, out = plan(tmp_path, GOOD), tmp_path / "all.jsonl"
    assert invoke(["sweep", path, *words, "--out", str(out)]) == 2
    assert f"`{words[0]}` is of searches" in capsys.readouterr().err


def test_answers_of_searches_are_merged_as_text_or_json_and_in_no_other_form(tmp_path: Path, capsys) -> None:
    path, out = plan(tmp_path, GOOD), str(tmp_path / "all.jsonl")
    assert invoke(["sweep", path, "--synth", *FAST, "--out", out]) == 0
    capsys.readouterr()
    for words in (["--json"], ["--format", "json"]):
        assert invoke(["merge", out, *words]) == 0
        assert json.loads(capsys.readouterr().out)[0]["name"] == "x"
    report = tmp_path / "r.sarif"
    for words in (
        ["--format", "sarif"],
        ["--output", f"sarif={report}"],
        ["--strict"],
        ["--statistics"],
        ["--exit-zero"],
    ):
        assert invoke(["merge", out, *words]) == 2
        assert f"`{words[0]}` is of checks" in capsys.readouterr().err
    assert not report.exists()


def test_a_rule_is_said_to_break_every_plan_only_where_every_plan_was_tried() -> None:
    text = HEAD.format("rngd").replace("R = 5", "R = 4").replace("C = 32", "C = 16") + (
        'source = { tier = "hbm", base = 1, element = "R, C" }\ndest = { tier = "dm", slice = "C", element = "R" }\n'
    )
    said = [api.synthesize(text, simulate=False, routes=False, evaluations=n).refused[0][1] for n in (1, None)]
    assert said[0].startswith("every plan that was tried (the budget ended) breaks it")
    assert said[1].startswith("every plan breaks it")


# ---------------------------------------------------------------- what a claim is of


MANY = GOOD.replace("R = 5\nC = 32", "R = 8\nC = 512")


@pytest.mark.parametrize(
    ("fixed", "words"),
    [
        ({}, []),
        ({"simulate": False, "evaluations": 50, "profile": "book"}, []),
        ({"routes": False}, ["no route through another memory"]),
        ({"engines": 1}, ["at most 1 engines of a chip"]),
        ({"packet": 64}, ["packets of 64 bytes", "no route through another memory"]),
        ({"entries": 2, "commands": 9}, ["at most 2 loop entries a side", "at most 9 commands",
                                         "no route through another memory"]),
        ({"prefix": ("R",), "packet": 512}, ["packets of 512 bytes", "R outermost", "no route through another memory"]),
        ({"reading": {"rngd/packet-max": "unenforced"}}, ["the reading rngd/packet-max=unenforced"]),
    ],
)  # fmt: skip
def test_a_claim_says_what_was_fixed_of_the_plans_that_it_is_of(fixed: dict[str, object], words: list[str]) -> None:
    from dmaverify.report.synth import synth_text

    found = api.synthesize(api.load(MANY), **{"simulate": False, **fixed})
    said = f", of plans with {' and '.join(words)}" if words else ""
    assert list(found.restricted) == found.as_data()["restricted"] == words
    (line,) = (one for one in synth_text(found).split("\n") if one.startswith(("certificate", "NO PLAN")))
    assert ("of plans with" in line) is bool(words)
    assert said in line
    assert not found.found or found.claim.endswith(said)


def test_an_outermost_loop_that_no_plan_has_is_told_with_those_that_there_are() -> None:
    found = api.synthesize(api.load(MANY), prefix=("Z",), simulate=False)
    (rule, message, hint) = found.refused[0]
    assert (rule, message) == ("core/well-formed", "no plan that was tried has a loop `Z`")
    assert "`R`" in hint
    assert "#" not in hint
    assert api.synthesize(api.load(MANY), prefix=("R",), simulate=False).found


def test_a_claim_says_which_limits_the_move_has_of_its_own() -> None:
    for limits in ("", "limits = { packet_max = 128 }\n"):
        found = api.synthesize(api.load(MANY + limits), simulate=False)
        assert ("of plans with the move's own limit packet_max = 128" in found.claim) is bool(limits)


def test_a_machine_that_has_no_routes_has_none_to_leave_out() -> None:
    assert api.synthesize(api.load(IDMA), routes=False).restricted == ()
    assert api.synthesize(api.load(IDMA), commands=3).restricted == ("at most 3 commands",)


def test_a_bound_that_is_not_met_and_no_plan_are_of_the_plans_that_were_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    invoke(["synth", plan(tmp_path, NOWHERE), "--engines", "1"])
    assert "NO PLAN, of plans with at most 1 engines of a chip" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"prefix": [1]}, "`prefix` is labels"), ({"prefix": {"a": 1}}, "`prefix` is labels"),
        ({"simulate": "no"}, "`simulate` is true or false"), ({"routes": 0}, "`routes` is true or false"),
        ({"budget": float("nan")}, "`budget`"), ({"budget": True}, "`budget`"), ({"budget": -1}, "`budget`"),
        ({"entries": 10**19}, "`entries`"), ({"reading": "x"}, "is not RULE=NAME"), ({"reading": [1]}, "no list of"),
        ({"reading": {"a": 1}}, "`reading` maps rules to names"), ({"profile": 3}, "`profile` is a text"),
        ({"reading": None}, ""), ({"reading": ["core/same-element=broadcast-missing"]}, ""),
        ({"entries": 10**18}, ""), ({"prefix": ""}, ""), ({"prefix": ["", " R"]}, ""), ({"budget": 60}, ""),
    ],
)  # fmt: skip
def test_settings_are_of_their_kind_on_a_line_and_in_python(given: dict, said: str, tmp_path: Path, capsys) -> None:
    path = plan(tmp_path, GOOD)
    if not said:
        assert api.synthesize(path, simulate=given.get("simulate", False), **given).found
        return
    with pytest.raises(InputError, match=said):
        api.synthesize(path, **given)
    for name, value in given.items():
        if name in ("budget", "entries") and value is not True:
            assert invoke(["synth", path, f"--{name}", str(value)]) == 2
            assert said in "".join(capsys.readouterr())
