"""What `import dmaverify as dv` promises: one error to catch, verdicts that are true only when proved, notebooks."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import dmaverify as dv
from dmaverify.verdict import Status, Verdict

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FIRST, BROKEN = str(EXAMPLES / "first.toml"), str(EXAMPLES / "broken.toml")
any_dv: Any = dv


class Unprintable:
    def __str__(self) -> str:
        raise ValueError("no text")


WRONG: list[Callable[[], Any]] = [
    lambda: any_dv.mapping(5, {}),
    lambda: any_dv.mapping(None, {}),
    lambda: any_dv.mapping("A", {"A": "x"}),
    lambda: any_dv.mapping("A", {"A": 1.5}),
    lambda: any_dv.mapping("A", {"A": True}),
    lambda: any_dv.mapping("A", [1]),
    lambda: any_dv.mapping("A", {1: 2}),
    lambda: any_dv.mapping("A", {"A": -1}),
    lambda: any_dv.mapping("A / 3", {"A": 8}),
    lambda: any_dv.check(None),
    lambda: any_dv.check(5),
    lambda: any_dv.check(b"x"),
    lambda: any_dv.check("none.toml"),
    lambda: any_dv.check("a\0b.toml"),
    lambda: any_dv.check(str(EXAMPLES)),
    lambda: any_dv.check(FIRST, 5),
    lambda: any_dv.check(FIRST, target=5),
    lambda: any_dv.check(FIRST + "::none"),
    lambda: any_dv.check(FIRST, options=dv.Options(readings={"x": "y"})),
    lambda: any_dv.load(5),
    lambda: any_dv.load("none.rs"),
    lambda: any_dv.load_target(5),
    lambda: any_dv.load_target("none"),
    lambda: any_dv.run(None),
    lambda: any_dv.run(FIRST, limit_units=1),
    lambda: any_dv.run(FIRST, limit_units=1j),
    lambda: any_dv.load_target("x" * 5000),
    lambda: any_dv.load_target("~nobody-at-all/x"),
    lambda: any_dv.load_target("rngd", 7),
    lambda: any_dv.price(FIRST, profile={}),
    lambda: any_dv.check(FIRST, options="fast"),
    lambda: any_dv.check(FIRST, keep=3),
    lambda: any_dv.Options(rlimit="1"),
    lambda: any_dv.Options(rlimit=True),
    lambda: any_dv.Options(readings=None),
    lambda: any_dv.Options(timeout="60s"),
    lambda: any_dv.Options(timeout=float("nan")),
    lambda: any_dv.Options(timeout=-1),
    lambda: any_dv.Options(memory=1 << 70),
    lambda: any_dv.Options(rlimit=0),
    lambda: any_dv.Options(prove="FULL"),
    lambda: any_dv.Options(readings={1: "strict"}),
    lambda: any_dv.Options(allow=(1,)),
    lambda: any_dv.check(dv.load(FIRST), target="toy"),
    lambda: any_dv.synthesize(dv.load(FIRST), "toy"),
    lambda: any_dv.synthesize(FIRST, dv.load_target("toy")),
    lambda: any_dv.synthesize(FIRST, "y" * 5000),
    lambda: any_dv.load(Unprintable()),
    lambda: any_dv.run(str(EXAMPLES / "start" / "program.toml")),
    lambda: any_dv.synthesize(FIRST, none=1),
    lambda: any_dv.synthesize(FIRST, packet="x"),
    lambda: any_dv.price(FIRST, profile="none"),
    lambda: any_dv.price(f"{EXAMPLES / 'pto' / 'tiles.toml'}::bring"),
]


@pytest.mark.parametrize("wrong", range(len(WRONG)))
def test_one_error_covers_all_that_cannot_be_read(wrong: int) -> None:
    with pytest.raises(dv.InputError) as told:
        WRONG[wrong]()
    assert str(told.value)


def test_a_plan_that_was_loaded_is_judged_as_its_own_machine_has_it() -> None:
    """Another machine that a caller names beside it is refused, not passed over."""
    plan = dv.load(FIRST)
    assert dv.check(plan, target="rngd")[0].status is Status.PROVED
    with pytest.raises(dv.InputError, match="is judged as the machine rngd has it, not toy"):
        dv.check(plan, target="toy")


def test_a_verdict_is_true_only_when_it_is_proved_as_a_whole() -> None:
    (good,), (bad,) = dv.check(FIRST), dv.check(BROKEN)
    assert good
    assert not bad
    assert bad.as_expected
    assert not Verdict("t", "rngd", Status.UNKNOWN)
    assert not Verdict("t", "rngd", Status.PROVED, scope="of core/covers only")


def test_a_move_without_commands_says_so_in_its_claim() -> None:
    text = Path(FIRST).read_text(encoding="utf-8")
    texts = ("read ", "write ", "stream", "sequencer")
    bare = "\n".join(line for line in text.split("\n") if not line.startswith(texts))
    (verdict,) = dv.check(bare)
    assert verdict.claim == "the move alone; no command was checked"


class Balanced(HTMLParser):
    """The tags that are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize(
    ("make", "holds"),
    [
        (lambda: dv.mapping("A # 6, B", {"A": 4, "B": 2}), ("12 positions", "A = 3", "top padding")),
        (lambda: dv.check(FIRST)[0], ("PROVED relayout", "131,072 bytes")),
        (lambda: dv.check(BROKEN)[0], ("REFUTED relayout", "error[core/same-element]", "--&gt;")),
        (lambda: dv.load(FIRST), ("A = 64", "relayout", "<code>")),
    ],
)
def test_notebooks_draw_mappings_verdicts_and_plans(make: Callable[[], Any], holds: tuple[str, ...]) -> None:
    text = make()._repr_html_()
    assert all(word in text for word in holds)
    reader = Balanced()
    reader.feed(text)
    assert reader.open == []


def test_a_cost_is_that_of_the_command_line() -> None:
    assert dv.price(FIRST).cycles == dv.cost(FIRST).cycles == 1012.0
    assert dv.price(str(EXAMPLES / "start" / "idma.toml")).profile == "rtl-0.7.0"


@pytest.mark.parametrize("path", ["", " ", "::relayout"])
@pytest.mark.parametrize("command", [dv.check, dv.load, dv.run, dv.price, dv.synthesize])
def test_a_name_that_is_empty_names_no_file(command: Any, path: str) -> None:
    with pytest.raises(dv.InputError, match="names no file"):
        command(path)
