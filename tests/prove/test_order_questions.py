"""The order of a kernel's pipes, and what it reads, asked from definitions: confirmed where it holds, nowhere else."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from lab.blind import DEFINITE, ORDER, blind, confirmed
from lab.draws import counted, rest
from lab.kernels import kernel_of, mutant_of

from dmaverify import api
from dmaverify.prove.flow.order.pipe_clock import PipeClock
from dmaverify.prove.options import Options
from dmaverify.verdict import Verdict

PING_PONG = (Path(__file__).resolve().parents[2] / "examples" / "pto" / "ping-pong.mlir").read_text(encoding="utf-8")
FULL, FAST = (Options(prove=prove, cross_check=0, repair=False) for prove in ("full", "fast"))
SYNC = [line for line in PING_PONG.splitlines() if re.search(r"(set|wait)_flag", line)]


def judged(folder: Path, text: str, options: Options = FULL) -> Verdict:
    (folder / "kernel.mlir").write_text(text, encoding="utf-8")
    (verdict,) = api.check(str(folder / "kernel.mlir"), options=options)
    return verdict


def buffers(count: int) -> str:
    """The double buffer with another number of buffers."""
    text = PING_PONG.replace("%c2 = arith.constant 2 ", f"%c2 = arith.constant {count} ")
    text = text.replace("constant 16384 :", "constant 65536 :")
    for line in SYNC:
        if "EVENT_ID1" in line:
            more = [line.replace("EVENT_ID1", f"EVENT_ID{number}") for number in range(1, count)]
            text = text.replace(line, "\n".join(more))
    return text


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_buffers_in_turns_are_confirmed_over_any_number_of_iterations(count: int, tmp_path: Path) -> None:
    verdict = judged(tmp_path, buffers(count))
    assert verdict.status.value == "proved"
    assert confirmed(verdict) == {*ORDER, DEFINITE}
    assert not any("hazard" in said for said in verdict.assumptions if "not asked" in said)


def test_an_order_over_more_iterations_than_are_looked_at_stays_open(tmp_path: Path) -> None:
    verdict = judged(tmp_path, buffers(6))
    assert verdict.status.value == "proved"
    assert "core/hazard-war" not in confirmed(verdict)
    assert any("core/hazard-war" in said for said in verdict.assumptions if "not asked" in said)


def test_a_clock_that_no_time_fits_confirms_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = PipeClock._waits_for

    def contradicted(clock: PipeClock, index: int) -> None:
        waits(clock, index)
        clock.lines.append(f"(assert (< d{index} i{index}))")

    monkeypatch.setattr(PipeClock, "_waits_for", contradicted)
    assert not confirmed(judged(tmp_path, PING_PONG)) & {"core/hazard-raw", "core/hazard-war", "core/hazard-waw"}


ONE_BUFFER = [line for line in SYNC if "EVENT_ID1" not in line]


@pytest.mark.parametrize("line", [*ONE_BUFFER, *rest(line for line in SYNC if line not in ONE_BUFFER)])
def test_without_a_set_or_a_wait_nothing_is_confirmed_whatever_was_followed(line: str, tmp_path: Path) -> None:
    text = PING_PONG.replace(line + "\n", "", 1)
    assert judged(tmp_path, text, FAST).status.value == "refuted"
    with blind():
        assert "core/flags" not in confirmed(judged(tmp_path, text))


UNORDERED: dict[str, Callable[[str], str]] = {
    "a set before the work it stands for": lambda text: swapped(text, "pto.mte_gm_ub", 'set_flag_dyn["PIPE_MTE2"'),
    "a wait behind the work that needs it": lambda text: swapped(
        text, 'wait_flag_dyn["PIPE_V", "PIPE_MTE2"', "pto.mte_gm_ub"
    ),
    "buffers that are one": lambda text: text.replace("%off = arith.muli %par, %c1024", "%off = arith.muli %par, %c64"),
    "buffers that share their last block": lambda text: text.replace("muli %par, %c1024", "muli %par, %c1016").replace(
        "%c64 = ", "%c1016 = arith.constant 1016 : index\n  %c64 = "
    ),
    "the vector waits for another pipe alone": lambda text: swapped(
        text, 'wait_flag_dyn["PIPE_MTE2", "PIPE_V"', 'set_flag_dyn["PIPE_V", "PIPE_MTE2"'
    ),
    "a load again behind a flag that holds another pipe": lambda text: re.sub(
        r'(    pto.mte_gm_ub .*\n)(.*\n)(    pto.wait_flag_dyn."PIPE_MTE2".*\n)', r"\1\2\3\1", text
    ),
    "two loads of one buffer": lambda text: re.sub(r"(    pto.mte_gm_ub .*\n)", r"\1\1", text),
    "the store waits for nothing": lambda text: text.replace(
        'pto.wait_flag_dyn["PIPE_V", "PIPE_MTE3", %par]\n', ""
    ).replace('pto.set_flag_dyn["PIPE_V", "PIPE_MTE3", %par]\n', ""),
}


def swapped(text: str, first: str, second: str) -> str:
    """Two lines of the loop, each the first that holds these words, in each other's place."""
    lines = text.splitlines()
    a, b = (next(i for i, line in enumerate(lines) if words in line) for words in (first, second))
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", UNORDERED)
def test_what_nothing_orders_is_not_confirmed_whatever_was_followed(name: str, tmp_path: Path) -> None:
    text = UNORDERED[name](PING_PONG)
    assert text != PING_PONG
    broken = {o.id for o in judged(tmp_path, text, FAST).obligations if o.status == "refuted" and o.id in ORDER}
    assert broken
    with blind():
        assert not broken & confirmed(judged(tmp_path, text))


UNWRITTEN: dict[str, Callable[[str], str]] = {
    "the load is a block short": lambda text: text.replace("%src, %b, %z, %len", "%src, %b, %z, %short").replace(
        "  %ub = ", "  %short = arith.constant 4064 : i64\n  %ub = "
    ),
    "the vector reads the other buffer": lambda text: text.replace("%v = pto.vlds %b[%j]", "%v = pto.vlds %uo[%j]"),
    "the vector leaves its last row": lambda text: text.replace("%j = %c0 to %c1024", "%j = %c0 to %most").replace(
        "  %ub = ", "  %most = arith.constant 960 : index\n  %ub = "
    ),
    "what an earlier turn of the loop reads": lambda text: (
        text.replace(
            "      }\n    }\n",
            "        %n = arith.subi %most, %j : index\n"
            "        %x = pto.vlds %o[%n] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>\n"
            "        pto.vsts %x, %b[%j] : !pto.vreg<64xf32>, !pto.ptr<f32, ub>\n      }\n    }\n",
        )
        .replace("mte_ub_gm %o", "mte_ub_gm %b")
        .replace("  %ub = ", "  %most = arith.constant 960 : index\n  %ub = ")
    ),
    "a short row leaves the rest of its block unknown": lambda text: re.sub(
        r"(    pto.mte_gm_ub %src, %b, %z, )%len( nburst.%one, )%len(.*\n)",
        r'\g<0>    pto.pipe_barrier "PIPE_MTE2"\n\1%few\2%few\3',
        text,
    ).replace("  %ub = ", "  %few = arith.constant 40 : i64\n  %ub = "),
    "what is read is written later in the same turn": lambda text: text.replace(
        "%v = pto.vlds %b[%j]", "%v = pto.vlds %o[%j]"
    ),
    "rows are written with gaps": lambda text: text.replace("%c64 = arith.constant 64 ", "%c64 = arith.constant 128 "),
}


@pytest.mark.parametrize("name", UNWRITTEN)
def test_what_nothing_wrote_is_not_confirmed_whatever_was_followed(name: str, tmp_path: Path) -> None:
    text = UNWRITTEN[name](PING_PONG)
    assert text != PING_PONG
    assert {o.id: o.status for o in judged(tmp_path, text, FAST).obligations}[DEFINITE] == "refuted"
    with blind():
        verdict = judged(tmp_path, text)
    assert verdict.status.value == "proved"
    assert DEFINITE not in confirmed(verdict)


@pytest.mark.parametrize(
    ("where", "asked"),
    [("  return", True), ("    pto.vecscope", False), ('    pto.set_flag_dyn["PIPE_MTE3"', False)],
    ids=["behind the loop", "before the read", "behind the read of the same turn"],
)
def test_what_is_left_unknown_behind_the_last_read_is_read_by_nobody(where: str, asked: bool, tmp_path: Path) -> None:
    """A short row leaves the rest of its block unknown; in a loop the next turn may read it."""
    (line,) = re.findall(r" *pto.mte_gm_ub .*\n", PING_PONG)
    short = re.sub(r"%len( nburst.%one, )%len", r"%few\1%few", line.replace("%src, %b,", "%in, %ub,"))
    barrier = '  pto.pipe_barrier "PIPE_ALL"\n'
    text = PING_PONG.replace("  %ub = ", "  %few = arith.constant 40 : i64\n  %ub = ")
    text = text.replace(where, f"{barrier}{short}{barrier}{where}", 1)
    with blind():
        verdict = judged(tmp_path, text)
    assert verdict.status.value == "proved"
    assert (DEFINITE in confirmed(verdict)) is asked


@pytest.mark.parametrize("count", counted(10, 1000))
def test_drawn_kernels_are_confirmed_where_they_hold_and_nowhere_else(count: int, tmp_path: Path) -> None:
    held = wrong = 0
    for seed in range(count):
        rng = random.Random(seed)
        kernel = kernel_of(rng)
        for _ in range(rng.choice([0, 1, 2])):
            kernel = mutant_of(rng, kernel)
        before = {o.id: o.status for o in judged(tmp_path, kernel.text(), FAST).obligations}
        with blind():
            verdict = judged(tmp_path, kernel.text())
        found = confirmed(verdict)
        assert all(before.get(name) == "proved" for name in found), (seed, found)
        held += len(found)
        wrong += sum(before.get(name) == "refuted" for name in (*ORDER, DEFINITE))
    assert held > 5 * count // 3
    assert wrong > 5 * count // 12
