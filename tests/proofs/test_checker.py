"""The independent checker: one short file of the standard library that accepts nothing that a run refutes."""

from __future__ import annotations

import ast
import random
import re
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from lab.draws import counted, rest, seeds

from dmaverify import api
from dmaverify.execute.address import TooLarge
from dmaverify.execute.interpret import execute
from dmaverify.jobs.certify import independent_checker
from dmaverify.jobs.sealed import facts_of
from dmaverify.program.tensor import PLACES
from dmaverify.targets.target import load_target
from dmaverify.testing.drawn_plan import DrawnPlan
from dmaverify.testing.random_plans import seeded_plan

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "proofs" / "checker.py"
LAB = load_target(str(ROOT / "tests" / "fuzz" / "lab"))
README = (ROOT / "proofs" / "README.md").read_text()
OUTSIDE = {  # what is proved and not in the checker's domain, by the reason that it gives
    "packed-corrected": "the target",
    "padded": "a view, or a base that is no address",
    "padded-tile": "",
    "in-last": "a view, or a base that is no address",
    "out-last": "a view, or a base that is no address",
    "load-last": "a view, or a base that is no address",
    "store-last": "a view, or a base that is no address",
    "four-slices": "a view, or a base that is no address",
    "without-padding": "a view, or a base that is no address",
    "hash-map": "the key commands",
    "once-for-all": "the number",
    "offsets": "which begins with no entries",
    "backwards": "which begins with no entries",
    "permuted": "without printed commands",
    "no-stream": "without printed commands",
    **dict.fromkeys(
        ("table-in", "first-in", "first-out", "second-in", "second-out", "row"), "without printed commands"
    ),
    "blocks": "without printed commands",
    "full-slice": "without printed commands",
    "tensor-memory-mapping": "without printed commands",
}
MOVES = sorted(
    path for path in (ROOT / "examples").rglob("*.toml") if re.search(r"^\[transfer", path.read_text(), re.MULTILINE)
)


@pytest.fixture(scope="module")
def checker() -> ModuleType:
    found: ModuleType = independent_checker()
    return found


FORM = "plans: the form, which keys with what in them"


def test_it_is_one_short_file_of_the_standard_library() -> None:
    tree = ast.parse(FILE.read_text())
    names = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= set(sys.stdlib_module_names)
    text = FILE.read_text()
    parts = [text.split(f" {name}\n")[1].split("# ------")[0] for name in ("sizes that are symbols", FORM)]
    lines, own, form = ([line for line in part.splitlines() if line.strip()] for part in (text, *parts))
    assert len(own) <= 195
    assert len(form) <= 62
    assert len(lines) - len(own) - len(form) <= 664


def test_a_file_that_it_cannot_read_is_no_refusal(
    checker: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "half.toml").write_text("[transfer.t\n")
    for given in ([], [str(tmp_path / "none.toml")], [str(tmp_path)], [str(tmp_path / "half.toml")]):
        assert checker.main(given) == 2
        assert capsys.readouterr().out.startswith("python checker.py PLAN.toml [NAME ...]: ")


@pytest.mark.parametrize(
    "path",
    [*MOVES[::5], *rest([p for n, p in enumerate(MOVES) if n % 5])],
    ids=lambda p: p.relative_to(ROOT / "examples").as_posix(),
)
def test_it_accepts_the_examples_that_are_proved_and_names_what_it_cannot_read(path: Path, checker: ModuleType) -> None:
    text = path.read_text()
    beside = re.search(r"^\[program\b", text, re.MULTILINE)  # of which it knows nothing
    names = re.findall(r"^\[transfer\.([\w-]+)\]", text, re.MULTILINE) if beside else [None]
    found = [facts_of((str(path), name, None, {"prove": "fast", "repair": False}))[0] for name in names]
    for verdict, commands in ((verdict, facts["commands"]) for facts in found for verdict in facts["verdicts"]):
        answer, why = checker.check_text(text, verdict["name"], commands.get(verdict["name"]))
        rules = [r for r, severity, _ in verdict["findings"] if severity == "error" and not r.startswith("core/")]
        if verdict["status"] == "proved":
            assert answer == "accept" or why, verdict["name"]
            assert answer != "refuse", why
            named = OUTSIDE.get(verdict["name"])
            other = ("the key", "no transfer of this name", "KeyError: 'read'", "the target ./")
            listed = f"`{path.stem}::{verdict['name']}`" in README
            assert answer == "accept" or listed or "no transfer of this name" in why, (verdict["name"], why)
            assert not (answer == "accept" and listed), verdict["name"]
            assert answer == "accept" or (named is not None and named in why) or any(o in why for o in other), why
        elif answer == "accept":  # the machine's rules are not its task
            assert rules, verdict["name"]


def test_a_move_in_segments_is_accepted_by_its_commands(checker: ModuleType) -> None:
    path = ROOT / "examples/programs/aggregates.toml"
    (facts, *_) = facts_of((str(path), "example-6", None, {"prove": "fast", "repair": False}))
    text, commands = path.read_text(), facts["commands"]["example-6"]
    assert checker.check_text(text, "example-6", commands) == ("accept", "")
    garbled = text.replace("(N / 2) @ i = 1", "(N / 2 @ i = 1")
    assert checker.check_text(garbled, "example-6", commands)[0] != "accept"


def lab_text(plan: DrawnPlan) -> str:
    return re.sub(r"^target = .*$", 'target = "lab"', plan.text(LAB), flags=re.MULTILINE)


def broken_by_running(plan: DrawnPlan) -> frozenset[str] | None:
    commands = plan.commands(LAB)
    if commands is None:
        return frozenset({"no commands"})
    if any(getattr(t, place).size < 1 for t in (plan.transfer.source, plan.transfer.dest) for place in PLACES):
        return frozenset({"core/well-formed"})
    bits = LAB.dtypes[plan.transfer.dtype]
    try:
        done = execute(plan.transfer.source, plan.transfer.dest, *plan.spaces(LAB), bits, commands, readings={})
    except TooLarge:
        return None
    named = {(one.read.tier, one.write.tier) for one in plan.transfer.given}
    elsewhere = named - {tuple(tensor.tier for tensor in (plan.transfer.source, plan.transfer.dest))}
    return (done.broken - {"core/consumes"}) | ({"core/well-formed"} if elsewhere else frozenset())


@pytest.mark.parametrize("count", counted(120, 2000))
def test_it_never_accepts_what_a_run_refutes_and_never_refuses_what_holds(
    count: int, checker: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty thousand of them: `python tests/fuzz/checker.py`."""
    monkeypatch.setattr(checker, "ENCODINGS", [ROOT / "tests" / "fuzz"])
    checker.machine.cache_clear()
    accepted, good = 0, 0
    for number in range(count):
        plan = seeded_plan(f"checker-{number}", LAB)
        broken = broken_by_running(plan)
        answer, why = checker.check_text(lab_text(plan), "move")
        if broken is not None:
            assert not (answer == "accept" and broken), (number, broken)
            assert not (answer == "refuse" and not broken), (number, why)
            good += not broken
            accepted += answer == "accept"
    assert accepted > 0.9 * good > count // 8


def test_a_paired_text_is_read_as_its_two_sides_are(checker: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "ENCODINGS", [ROOT / "tests" / "fuzz"])
    checker.machine.cache_clear()
    accepted = 0
    for number in range(80):
        plan = seeded_plan(f"paired-{number}", LAB)
        apart = lab_text(plan)
        texts = re.findall(r'read   = "\[(.*)\]:(\S+) (\w+)/D@(.*)"\nwrite  = "\[(.*)\]:(\S+) (\w+)/D@(.*)"', apart)
        joined = apart
        for r, packet, tier, base, w, other, to, there in texts:
            lines = [(a.split(":"), b.split(":")) for a, b in zip(r.split(", "), w.split(", "), strict=False)]
            if packet != other or r.count(", ") != w.count(", ") or any(a[0] != b[0] for a, b in lines):
                continue
            two = ", ".join(f"{a[0]}:({a[1]}, {b[1]})" for a, b in lines)
            size = f":{packet}" if number % 2 else f", stride0 = {packet}"
            joined = joined.replace(
                f'read   = "[{r}]:{packet} {tier}/D@{base}"\nwrite  = "[{w}]:{other} {to}/D@{there}"',
                f'sequencer = "[{two}]{size}, base=({base}, {there}), media_source = {tier}, media_dest = {to}"',
            )
        if 'read   = "' not in joined and "sequencer" in joined:
            answer = checker.check_text(joined, "move")
            assert answer == checker.check_text(apart, "move"), joined
            accepted += answer[0] == "accept"
    assert accepted > 10


@pytest.mark.parametrize(
    "text",
    [
        "[A=4:(8, 8), 8:(1, 1)], base=(0, 1024)",
        "[A=4:(8, 8), 8:(1, 1)]:8, stride0 = 8, base=(0, 1024)",
        "[A=4:8, 8:1]:8, base=(0, 1024)",
        "[A=4:(8, 8), 8:(1, 1)]:8, base=1024",
        "[A=4:(8, 8), 8:(1, 1)]:8, stride1 = 8",
        "[A=4:(8, 8), 8:(1, 1)]:8, base=(0, 1024), base=(0, 1024)",
        "",
    ],
)
def test_a_paired_text_that_it_cannot_read_is_outside(text: str, checker: ModuleType) -> None:
    plan = """schema = 1
target = "rngd"
axes = { A = 4, B = 8 }
[transfer.move]
dtype = "i8"
source = { tier = "hbm", element = "A, B" }
dest = { tier = "hbm", base = 1024, element = "A, B" }
sequencer = "%s"
"""
    good = "[A=4:(8, 8), 8:(1, 1)]:8, base=(0, 1024)"
    assert checker.check_text(plan % good, "move") == ("accept", "")
    assert checker.check_text(plan % text, "move")[0] == "outside"


def test_a_plan_takes_it_less_than_five_milliseconds(checker: ModuleType) -> None:
    text = (ROOT / "examples" / "dma-engine" / "example-2.toml").read_text()
    assert checker.check_text(text, "example-2") == ("accept", "")
    started = time.process_time()
    for _ in range(20):
        checker.check_text(text, "example-2")
    assert (time.process_time() - started) / 20 < 0.005


def numbers_changed(text: str) -> list[str]:
    """The plan with one number of its commands, bases or mappings changed, one after the other."""
    out = []
    for found in re.finditer(r"(?<![\w.'])\d+", text):
        if (
            text[: found.start()].count("[transfer")
            and "dtype" not in text[text.rfind("\n", 0, found.start()) : found.end()]
        ):
            news = (int(found.group()) * 2 + 1, max(0, int(found.group()) - 1))
            out += [text[: found.start()] + str(new) + text[found.end() :] for new in news]
    return out


@pytest.mark.parametrize("name", ["example-1", "example-2"])
def test_a_changed_number_is_accepted_only_where_the_plan_still_holds(name: str, checker: ModuleType) -> None:
    text = (ROOT / "examples" / "dma-engine" / f"{name}.toml").read_text()
    changed = numbers_changed(text)
    assert len(changed) > 40
    refused = 0
    for other in changed:
        answer, _ = checker.check_text(other, name)
        refused += answer != "accept"
        if answer == "accept":
            verdicts = api.check(other)
            core = [
                f for v in verdicts for f in v.errors if f.rule.startswith("core/") and f.rule != "core/same-program"
            ]
            assert core == [], other
    assert refused > 0.6 * len(changed)


SMALL = """schema = {schema}
target = "rngd"
{before}
[axes]
A = {size}
B = 8
[transfer.t]
dtype = "i8"
source = {{ tier = "hbm", base = {base}, element = "A, B" }}
dest = {{ tier = "hbm", base = 4096, {key}element = "B, A" }}
read = "{begins}4:8, 8:1]:{packet}{medium}"
write = "[4:1, 8:4]:{packet} HBM/D@4096"
{more}
"""


@pytest.mark.parametrize(("changed", "answer"), [
    ({}, "accept"), ({"before": 'assume = ["A > 5"]'}, "refuse"), ({"before": 'assume = ["A > 3"]'}, "accept"),
    ({"before": 'assume = ["3 | A"]'}, "refuse"), ({"key": 'slice = "1", '}, "outside"),
    ({"key": 'chip = "1", '}, "accept"), ({"base": "false"}, "outside"), ({"size": "true"}, "outside"),
    ({"schema": "2"}, "outside"), ({"schema": "true"}, "outside"), ({"packet": "0"}, "refuse"),
    ({"base": "8", "at": "8"}, "accept"), ({"base": "-8", "at": "-8"}, "outside"),
    ({"before": 'name = "x"'}, "accept"), ({"before": "name = 1"}, "outside"), ({"before": "names = 1"}, "outside"),
    ({"before": 'let = { K = "A" }'}, "accept"), ({"before": 'let = { K = "a" }'}, "outside"),
    ({"before": "region = {}"}, "accept"), ({"before": "region = 1"}, "outside"), ({"size": "1.0"}, "outside"),
    ({"more": "limits = { entries = 8 }"}, "accept"), ({"more": "limits = { entry = 8 }"}, "outside"),
    ({"more": "limits = { entries = 0 }"}, "outside"), ({"more": 'expect = "PROVED"'}, "outside"),
    ({"more": 'expect = ["core/covers"]'}, "accept"), ({"more": 'stream = { packet = "A", x = "B" }'}, "outside"),
    ({"more": 'stream = { time = "A", packet = "B", chip = "x" }'}, "outside"), ({"at": "0 / 1"}, "outside"),
    ({"more": "engine = { chip = 0 }"}, "accept"), ({"more": 'engine = { chip = "0" }'}, "outside"),
    ({"more": "engine = { chip = true }"}, "outside"), ({"more": "engine = { chip = 0, DMN = 0 }"}, "outside"),
    ({"medium": " HBM/D@0"}, "accept"), ({"medium": " HBM/D"}, "outside"), ({"medium": "HBM@0"}, "outside"),
    ({"medium": "@0"}, "accept"), ({"medium": "@(0, 0)"}, "accept"), ({"medium": "@(0, 0,)"}, "outside"),
    ({"key": 'chip = "A % 1, A % 1,", '}, "accept"), ({"key": 'chip = "A % 1, A % 1 *", '}, "outside"),
    ({"key": 'chip = "A % (1)", '}, "outside"), ({"base": "{ chip = 0 }"}, "accept"),
    ({"base": "{ slice = 0 }"}, "outside"), ({"begins": ""}, "outside"), ({"begins": "]["}, "outside"),
    ({"more": '[transfer.u]\ndtype = "i8"'}, "outside"), ({"base": '"0 + 0"'}, "outside"),
])  # fmt: skip
def test_a_plan_that_is_no_plan_is_not_accepted(changed: dict[str, str], answer: str, checker: ModuleType) -> None:
    text = SMALL.format(
        **{"schema": "1", "before": "", "size": "4", "base": "0", "key": "", "packet": "1", "at": "0", "begins": "[",
           "medium": " HBM/D@{at}", "more": "", **changed}
    ).replace("{at}", changed.get("at", "0"))  # fmt: skip
    assert checker.check_text(text, "t")[0] == answer


@pytest.mark.parametrize(
    "text",
    ["", "x", "[transfer.move]", "axes = 3\n[transfer.move]\ndtype = 1", "[axes]\nA = 0\n[transfer.move]\ndtype='i8'"],
)
def test_garbage_is_outside_and_never_accepted(text: str, checker: ModuleType) -> None:
    assert checker.check_text(text, "move")[0] == "outside"


# ---------------------------------------------------------------- sizes that are symbols


PADDED = {"C # P": "C # (C + K - 1)", "[N=N:P": "[N=N:(C + K - 1)"}


@pytest.mark.parametrize(
    ("change", "answer", "why"),
    [
        ({}, "accept", ""),
        ({"[N=N:4, C/4=C/4:4*N": "[N=N:4, C/4=C/4:4*P"}, "refuse", "is written, the tensor has"),
        ({"@0": "@4"}, "refuse", "N = 1, C = 4, P = 4: element 4 to 7 is read"),
        ({'"C <= P"': '"C <= P + 4"'}, "outside", "a comparison that depends on the sizes"),
        ({"N * P <= 4096": "N * P <= 3"}, "outside", "no sizes were found that are admitted"),
        ({"N * P <= 4096": "N * P != 3"}, "outside", "N * P != 3"),
        ({'"N * P <= 4096"': '"N % 4 == 0"'}, "accept", ""),
        ({"N = { min = 1": "N = { min = 0"}, "outside", "the range of N"),
        ({"P = { min = 4": "P = { min = 4, most = 8"}, "outside", "a key `most`"),
        ({**PADDED, "[free]": "[free]\nK = { min = 1, max = 8 }"}, "accept", ""),
        ({**PADDED, "[free]": "[free]\nK = { max = 8 }"}, "outside", ""),  # of what is no axis, 0
        ({'"mem", element = "N': '"mem", base = "0", element = "N'}, "accept", ""),
        ({'"mem", element = "N': '"mem", base = "0 - 4", element = "N', "@0": "@(0 - 4)"}, "outside", "no address"),
        ({'"N * P <= 4096"': '"K | N"', "[free]": "[free]\nK = { min = 1, max = 8 }"}, "accept", ""),
    ],
)
def test_sizes_that_are_symbols_are_judged_for_all_of_them(
    change: dict[str, str], answer: str, why: str, checker: ModuleType
) -> None:
    text = SYMBOLS
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new)
    found = checker.check_text(text, "t")
    assert found[0] == answer, found
    assert why in found[1]


SYMBOLS = """schema = 1
target = "idma"
assume = ["C <= P", "N * P <= 4096"]
[axes]
N = { min = 1, max = 64 }
C = { min = 4, max = 64, multiple_of = 4 }
[free]
P = { min = 4, max = 512, multiple_of = 4 }
[transfer.t]
dtype = "i8"
source = { tier = "mem", element = "N, C # P" }
dest = { tier = "mem", base = "2^20", element = "C / 4, N, C % 4" }
read = "[N=N:P, C/4=C/4:4, C%4=4:1]:4 @0"
write = "[N=N:4, C/4=C/4:4*N, C%4=4:1]:4 @(2^20)"
"""


@pytest.mark.parametrize("seed", seeds(20, 60))
def test_what_it_accepts_with_symbols_is_proved_at_small_sizes(seed: int, checker: ModuleType) -> None:
    """Thousands of them: `python tests/fuzz/checker.py --sizes 3000`."""
    from lab.wide_templates import wide_template

    from dmaverify.plan.read import InputErrors, read_plan_text
    from dmaverify.prove.options import Options
    from dmaverify.prove.sizes.check import verdict_at
    from dmaverify.prove.sizes.samples import samples

    text = wide_template(random.Random(seed)).text
    answer, _ = checker.check_text(text, "t")
    try:
        templates = read_plan_text(text).templates
    except InputErrors:
        templates = ()
    for template in templates if answer == "accept" else ():
        for values in list(samples(template))[:6]:
            verdict = verdict_at(template, values, Options(repair=False))
            assert not [o.id for o in verdict.obligations if o.status == "refuted" and o.id.startswith("core/")], values
