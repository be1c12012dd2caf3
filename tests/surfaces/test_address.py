"""`address`: where a byte lies, and back, under both readings of the channel bits."""

from __future__ import annotations

import json
import random

import pytest

from dmaverify.cli.address import address_of, place_of
from dmaverify.cli.app import invoke


@pytest.mark.parametrize("memory", ["hbm", "dm"])
@pytest.mark.parametrize("reading", [None, "prose"])
def test_the_address_of_a_place_is_the_address_that_was_asked_for(memory: str, reading: str | None) -> None:
    if memory == "dm" and reading:
        return
    draw = random.Random(7)
    for _ in range(300):
        slice_, byte = draw.randrange(256), draw.randrange(1 << 19)
        number = draw.randrange(48 << 30) if memory == "hbm" else slice_ << 22 | byte
        found = place_of(number, memory, reading)
        names = [n for n in found if n not in ("memory", "address", "reading", "other_readings")]
        assert address_of(memory, ", ".join(f"{n} = {found[n]}" for n in names), reading) == number


def test_bits_of_the_documents_select_what_they_name() -> None:
    assert place_of(1 << 8, "hbm")["stack"] == 1
    assert place_of(1 << 9, "hbm")["channel"] == 1
    assert place_of(1 << 21, "hbm")["row"] == 1
    assert place_of(3 << 3, "dm")["bank"] == 3
    assert place_of(32 << 22, "dm")["dmn"] == 1


def test_a_bit_that_the_sources_contest_shows_the_other_reading(capsys: pytest.CaptureFixture[str]) -> None:
    assert place_of(1 << 17, "hbm")["other_readings"] == {"prose": 0}
    assert invoke(["address", "2^17", "--memory", "hbm"]) == 0
    assert "channel 0 under the reading prose" in capsys.readouterr().out


def test_text_and_json_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["address", "0x2b00", "--memory", "hbm", "--json"]) == 0
    (data,) = json.loads(capsys.readouterr().out)
    assert (data["stack"], data["channel"], data["bank_group"]) == (1, 4, 1)
    assert invoke(["address", "--memory", "hbm", "--place", "stack=1, channel=4, bank group=1"]) == 0
    assert capsys.readouterr().out.startswith("hbm 0x2b00   stack 1, channel 4,")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["524288", "--memory", "dm"], "does not exist"),
        (["48 * 2^30", "--memory", "hbm"], "outside of HBM"),
        (["abc", "--memory", "hbm"], "abc"),
        (["--memory", "hbm"], "give addresses, or a place"),
        (["1", "--memory", "hbm", "--place", "row=1"], "give addresses, or a place"),
        (["--memory", "hbm", "--place", "rows=1"], "names no part"),
        (["--memory", "hbm", "--place", "channel=33"], "no channel 33"),
        (["8", "--memory", "dm", "--reading", "prose"], "no contested address bits"),
        (["8", "--memory", "hbm", "--reading", "x"], "no reading `x`"),
    ],
)
def test_what_does_not_exist_is_refused_with_exit_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["address", *arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err + captured.out
