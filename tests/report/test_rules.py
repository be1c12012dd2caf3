"""What `explain`, `rules` and `targets` show, as text and as data."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dmaverify.errors import InputError
from dmaverify.report.rules import (
    WIDTH,
    explain_id,
    explain_id_json,
    rules_json,
    rules_table,
    targets_json,
    targets_table,
)
from dmaverify.targets.rule import Rule
from dmaverify.targets.target import available_targets, load_obligations, load_target

TARGETS = [load_target(name) for name in available_targets()]
RULES = [rule for target in TARGETS for rule in target.rules.values()]


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_explanation_of_a_rule_tells_all_of_its_data(rule: Rule) -> None:
    text = flat(explain_id(rule.id))
    parts = (rule.id, rule.title, rule.why, rule.source, f"basis: {rule.basis}", rule.wrong, rule.right, rule.hint)
    for part in (*parts, rule.formula):
        assert part
        assert flat(part) in text
    for name, reading in rule.readings.items():
        assert flat(f"{name}: {reading.says}") in text
    assert text.count("edge good:") == len(rule.edges)


@pytest.mark.parametrize("name", list(load_obligations()))
def test_the_explanation_of_an_obligation_tells_what_why_and_how_it_is_proved(name: str) -> None:
    obligation, text = load_obligations()[name], flat(explain_id(name))
    for part in (obligation.title, obligation.why, obligation.proof, obligation.wrong, obligation.right):
        assert flat(part) in text
    assert flat(obligation.source) in text


def test_lines_fit_the_width() -> None:
    texts = [explain_id(rule.id) for rule in RULES]
    long = [line for text in texts for line in text.splitlines() if len(line) > WIDTH]
    assert long == []


def test_an_unknown_rule_is_refused_with_the_nearest_id() -> None:
    with pytest.raises(InputError, match="no rule 'rngd/packet-maxi'") as refusal:
        explain_id("rngd/packet-maxi")
    assert refusal.value.hint == "did you mean `rngd/packet-max`?"
    with pytest.raises(InputError) as refusal:
        explain_id("dm-write-align")
    assert refusal.value.hint == "did you mean `rngd/dm-write-align`?"


def test_a_rule_is_looked_up_in_the_given_target_only() -> None:
    with pytest.raises(InputError):
        explain_id("rngd/packet-max", load_target("toy"))


def test_the_table_of_rules_has_a_line_for_every_rule_and_obligation() -> None:
    target = load_target("rngd")
    lines = rules_table(target).splitlines()
    assert lines[0].split() == ["rule", "severity", "basis", "what"]
    assert [line.split()[0] for line in lines[1:]] == [*load_obligations(), *target.rules]
    (row,) = [line for line in lines if line.startswith("rngd/entries-max")]
    assert row.split()[1:3] == ["warning", "contested"]
    (row,) = [line for line in lines if line.startswith("rngd/std-tail")]
    assert row.split()[1] == "off"


def test_rules_as_data_survive_json_and_quote_the_predicate() -> None:
    rows = json.loads(json.dumps(rules_json(load_target("rngd"))))
    by_id = {row["id"]: row for row in rows}
    row = by_id["rngd/hbm-dm-align"]
    assert row["smt"].startswith("(define-fun rngd/hbm-dm-align")
    assert row["readings"]["dest-only"]["limits"] == {"hbm_dm_read_align": 1}
    assert row["when"] == {"engines": ["dma"], "source": ["hbm"], "dest": ["dm"]}
    assert row["edges"][0]["first_bad"]["read_gcd"] == 4
    assert row == explain_id_json("rngd/hbm-dm-align")
    assert by_id["core/consumes"] == explain_id_json("core/consumes", load_target("rngd"))
    assert by_id["rngd/commit-base"]["when"]["side"] == "write"


def test_targets_show_tiers_types_readings_and_the_number_of_rules() -> None:
    text = targets_table(TARGETS)
    assert "dm: data memory; 4 chips x 2 clusters x 256 slices, 512 KiB in each" in text
    assert "alignment = hw (default) | std" in text
    rngd = load_target("rngd")
    assert f"{len(rngd.rules)} (dmaverify rules --target rngd)" in text
    (data,) = json.loads(json.dumps(targets_json([rngd])))
    assert data["limits"]["packet_max"]["value"] == 4096
    assert ["hbm", "dm"] in data["routes"]
    assert data["rules"] == list(rngd.rules)


def test_an_obligation_shows_where_each_machine_states_it_or_where_the_chosen_one_does(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    shutil.copytree(Path(__file__).resolve().parents[2] / "encodings" / "toy", folder)
    with (folder / "target.toml").open("a", encoding="utf-8") as file:
        file.write('\n[machine.cites]\n"core/covers" = "own manual, 3"\n')
    own = load_target(str(folder))
    assert explain_id_json("core/covers", own)["cites"] == {"toy": "own manual, 3"}
    assert "on toy    own manual, 3" in explain_id("core/covers", own)
    assert set(explain_id_json("core/covers")["cites"]) == {"idma", "rngd"}
