"""The command line of costs: one JSON object a line, explanations as data, traces as files.

Knows: the fields that docs/design.md fixes. Does not know: how a cost is found.
Law: a bad line answers an error with its place and the rest go on.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from click.testing import CliRunner

from dmaverify.cli.app import cli

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FIFTH = str(EXAMPLES / "dma-engine" / "example-5.toml")


def answers(*lines: object) -> list[dict[str, object]]:
    text = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    result = CliRunner().invoke(cli, ["cost", "--stdin"], input=text)
    return [json.loads(line) for line in result.output.splitlines()]


def test_a_line_is_answered_with_the_fields_of_the_surface() -> None:
    (found,) = answers({"path": FIFTH, "name": "example-5"})
    assert found["cycles"] == 1861
    assert found["profile"] == "book"
    assert found["exact"] is False
    assert isinstance(found["terms"], list)
    assert all(set(term) == {"name", "cycles", "resource", "why", "source"} for term in found["terms"])


def test_the_options_of_the_command_are_keys_of_the_line() -> None:
    first, second = answers(
        {"path": FIFTH, "name": "example-5", "profile": "measured"},
        {"path": FIFTH, "name": "example-5", "explain": True, "simulate": True},
    )
    assert first["profile"] == "measured"
    assert "explanation" not in first
    assert second["explanation"]["sides"][0]["never"] == [[8, "stack"]]  # type: ignore[index]
    assert second["simulation"]["requests"] == 8192  # type: ignore[index]


def test_a_plan_may_be_the_text_itself() -> None:
    (found,) = answers({"plan": (EXAMPLES / "first.toml").read_text()})
    assert found["cycles"] == 1012


def test_a_bad_line_is_told_and_the_rest_go_on() -> None:
    found = answers(
        {"path": "nowhere.toml"}, "no json\n", {"path": FIFTH, "profile": "guess"}, {"path": FIFTH, "pofile": 1}
    )
    assert all(one["error"] for one in found)
    assert [str(one["where"]).partition(",")[0] for one in found] == ["line 1", "line 2", "line 3", "line 4"]


def test_explain_as_json_holds_what_the_text_says() -> None:
    result = CliRunner().invoke(cli, ["cost", f"{FIFTH}::example-5", "--explain", "--json"])
    (found,) = json.loads(result.output)
    assert "bit 8" in found["explanation"]["advice"][0]
    text = CliRunner().invoke(cli, ["cost", f"{FIFTH}::example-5", "--explain"]).output
    assert found["explanation"]["advice"][0] in text
    assert "8 (stack): no loop and no engine changes them" in text


def test_a_trace_may_be_a_database(tmp_path: Path) -> None:
    file = tmp_path / "t.sqlite"
    CliRunner().invoke(cli, ["trace", str(EXAMPLES / "first.toml"), "--output", str(file)])
    with sqlite3.connect(file) as database:
        assert database.execute("select count(*) from request").fetchone() == (1024,)


def test_a_switch_of_a_line_is_true_or_false() -> None:
    for value in ("no", 1, None, []):
        (said,) = answers({"path": FIFTH, "simulate": value})
        assert "`simulate` is true or false" in str(said["error"])
    (found,) = answers({"path": FIFTH, "name": "example-5", "simulate": False, "explain": False})
    assert "simulation" not in found
    assert "explanation" not in found
