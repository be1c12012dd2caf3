"""Two plans with symbols do the same where they do at every size that they admit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from dmaverify.cli.app import invoke
from dmaverify.errors import InputError
from dmaverify.jobs import same_sizes
from dmaverify.jobs.load import load
from dmaverify.prove.sameness import Sameness
from dmaverify.testing.plugin import PlanFailed, assert_same
from dmaverify.values import replace

HEAD = """schema = 1
target = "rngd"
[axes]
A = { min = 1, max = 512 }
B = { min = 2, max = 64, multiple_of = 2 }
C = { min = 8, max = 512, multiple_of = 8 }
"""
FEW = HEAD.replace("512", "9").replace("64", "4").replace("max = 9, multiple", "max = 16, multiple")
OUT = 1 << 30


def transfer(*how: str, source: str = "A, B, C", dest: str = "B, A, C", more: str = "") -> str:
    """A transfer between two HBM tensors."""
    sides = [f'source = {{ tier = "hbm", element = "{source}" }}',
             f'dest = {{ tier = "hbm", base = {OUT}, element = "{dest}"{more} }}']  # fmt: skip
    return "\n".join(['[transfer.x]\ndtype = "i8"', *sides, *how, ""])


def stream(time: str, packet: str = "C") -> str:
    return f'stream = {{ time = "{time}", packet = "{packet}" }}'


def commands(write: str = "[A=A:C, B=B:A*C, C=C:1]", packet: str = "8") -> str:
    return f'read = "[A=A:B*C, B=B:C, C=C:1]:{packet} HBM/D@0"\nwrite = "{write}:{packet} HBM/D@{OUT}"'


def same(one: str, other: str, head: str = HEAD, tiers: Sequence[str] = ()) -> Sameness:
    name = "p" if "program.p" in one else "x"
    sides = [("plan", load(head + text, name, symbols=True)) for text in (one, other)]
    return same_sizes.same_at_all_sizes(sides[0], sides[1], rlimit=2_000_000, tiers=tiers)


BY_ROWS = transfer(stream("A, B"))


@pytest.mark.parametrize("other", [stream("B, A"), commands(), stream("A, B / 2, B % 2"), ""])
def test_two_ways_of_one_move_are_the_same_for_all_sizes(other: str) -> None:
    answer = same(BY_ROWS, transfer(other))
    assert answer.status == "proved", answer.why
    assert answer.why == "for all A in 1..512, B in 2..64 in steps of 2, C in 8..512 in steps of 8"
    assert answer.by == "both proved for all sizes to be one move, of elements that lie at one place each"


def test_a_difference_is_told_at_the_sizes_at_which_it_is_seen() -> None:
    answer = same(BY_ROWS, transfer(commands("[A=A:C, B=B:A*(C + C // 9), C=C:1]")))
    assert (answer.status, answer.why.startswith("at A = 2, B = 6, C = 40 ")) == ("refuted", True), answer.why
    assert answer.witness is not None
    assert answer.witness["sizes"] == {"A": 2, "B": 6, "C": 40}


PADDED = "B, A, C # (C + 8)"
ROWS = "[A=A:(C+8), B=B:A*(C+8), C=C:1]"


def wider(outer: str, more: int) -> str:
    """Commands that copy some of the padding behind each row, too."""
    loops = ["B=B:A*(C+8)", "A=A:(C+8)"]
    nest = f"[{', '.join(sorted(loops, reverse=outer == 'B'))}, C=C+{more}:1]:C+{more}"
    return f'read = "{nest} HBM/D@0"\nwrite = "{nest} HBM/D@{OUT}"'


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (transfer(stream("A, B"), source="A, B, C # 512"), transfer(stream("B, A"), source="A, B, C # 512"), ""),
        (transfer(stream("A, B"), source="A, B / 2, B % 2, C"), transfer(stream("B, A"), source="A,B/2,B%2,C"), ""),
        (transfer(stream("A, B"), dest=PADDED), transfer(stream("B, A"), dest=PADDED), ""),
        (transfer(commands(ROWS), dest=PADDED), transfer(stream("B, A"), dest=PADDED), ""),
        (transfer(commands(ROWS), dest=PADDED), transfer(dest=PADDED), "anything (by `x`, which nothing says how"),
        *((*(transfer(wider(outer, more), source=PADDED, dest=PADDED) for outer in "AB"),
           "nothing is written but elements" if more else "") for more in (0, 8)),
        (transfer(stream("A, B"), source="A, 2, B, C"), transfer(stream("B, A"), source="A, 2, B, C"),
         "each element lies at one place"),
        (transfer(stream("A, B"), source="A, B, B % 2, C"), transfer(stream("B, A"), source="A, B, B % 2, C"),
         "each element lies at one place"),
        (transfer(stream("A, B")), transfer(stream("A, B"), dest="(B, A), C"), ""),
        (transfer(stream("A, B"), dest=PADDED), transfer(stream("B, A"), dest="[B, A], C # (8 + 2 * C - C)"), ""),
        (transfer(stream("A, B"), dest="W"), transfer(stream("B, A"), dest="B / 2, A, B % 2, C"), ""),
        (transfer(stream("A, B")), transfer(stream("B, A"), dest="B, A, 1, C"), "`dest` of the two differs"),
        (transfer(stream("A, B")), transfer(stream("B, A")).replace(f"base = {OUT}", f'base = "{OUT} + A // 500"'),
         "`dest` of the two differs"),
        (transfer(stream("A, B"), dest=PADDED), transfer(stream("B, A"), dest="B, A, C # (C + 8 + A // 500)"),
         "`dest` of the two differs"),
    ],
)  # fmt: skip
def test_what_proofs_of_one_move_leave_open_is_open(one: str, other: str, said: str) -> None:
    let = '[let]\nW = "B / 2, A, B % 2, C"\n'
    answer = same(one + let, other)
    assert (answer.status, said in answer.why) == ("unknown" if said else "proved", True), answer.why


def test_a_move_that_is_not_proved_for_all_sizes_is_open() -> None:
    answer = same(BY_ROWS, transfer(stream("B, A")), WIDE)
    assert (answer.status, "the first is not proved for all of them" in answer.why) == ("unknown", True), answer.why


WIDE = HEAD.replace("max = 512, multiple_of = 8", "max = 8192, multiple_of = 8")


@pytest.mark.parametrize("head", [HEAD, WIDE])
def test_one_text_does_the_same_at_sizes_that_its_machine_refuses(head: str) -> None:
    answer = same(BY_ROWS, "# the same\n" + BY_ROWS, head)
    assert (answer.status, answer.conditions) == ("proved", ()), answer.why
    assert answer.by == "one text, which says the same at each size"
    assert same(BY_ROWS, BY_ROWS + '[let]\nW = "A"\n', head).by != answer.by


def test_one_text_is_open_where_two_writers_meet_at_sizes_that_were_not_compared() -> None:
    """Two transfers of two contexts write rows from 1 MiB apart on: they meet from A = 4,097 on."""
    head = HEAD.replace("max = 512 }", "max = 8192 }", 1).replace(
        "C = { min = 8, max = 512, multiple_of = 8 }", "C = 256"
    )
    moves = [f"""[transfer.{name}]\ndtype = "i8"\nsource = {{ tier = "hbm", base = {at}, element = "A, C" }}
dest = {{ tier = "hbm", base = {OUT + at // 4}, element = "A, C" }}\n{stream("A")}\n"""
             for name, at in (("x", 0), ("y", 1 << 22))]  # fmt: skip
    program = '[program.p]\nstep = [{ transfer = "x", context = "a" }, { transfer = "y", context = "b" }]\n'
    answer = same("".join(moves) + program, "".join(moves) + program, head)
    assert (answer.status, "is not proved for all of them" in answer.why) == ("unknown", True), answer


def test_files_of_one_text_that_name_other_files_are_two() -> None:
    (one,) = load(WIDE + BY_ROWS, "x", symbols=True).templates
    beside = replace(one, text={**one.text, "kernel": {"k": {"file": "k.mlir"}}})
    for here, alike in ((one, True), (beside, False)):
        assert same_sizes._is_one_text(here, here)
        assert same_sizes._is_one_text(here, replace(here, path="other/plan.toml")) is alike


def test_one_text_whose_order_decides_what_it_leaves_is_open() -> None:
    racing = PROGRAM.replace(', after = ["x"]', ', context = "b"').replace('"x" }, {', '"x", context = "a" }, {')
    assert racing.count("context") == 2
    answer = same(racing, racing)
    assert (answer.status, "what the first leaves is not known" in answer.why) == ("unknown", True), answer.why


def test_a_difference_of_a_move_that_nothing_says_how_to_do_is_told_at_sizes() -> None:
    answer = same(transfer(), transfer(stream("B, A"), dest="A, B, C"))
    assert (answer.status, "traced back through both" in answer.by) == ("refuted", True), answer.why


def test_few_sizes_are_compared_one_by_one() -> None:
    answer = same(BY_ROWS, transfer(commands()), FEW)
    assert (answer.status, answer.by) == ("proved", "comparison at each of 36 sizes")
    answer = same(BY_ROWS, transfer(commands("[A=A:C, B=B:(A - A // 9 * 8)*C, C=C:1]")), FEW)
    assert (answer.status, answer.why.startswith("at A = 9, B = 2, C = 8 ")) == ("refuted", True), answer.why


TILES = """schema = 1
target = "rngd"
[axes]
A = { min = 4, max = 512, multiple_of = 4 }
B = { min = 2, max = 8, multiple_of = 2 }
C = { min = 8, max = 64, multiple_of = 8 }
"""
VIEW = ', view = { tile = "A", length = 4, start = "4 * t" }'


def tiles(how: str, name: str = "x", source: str = "hbm", dest: str = "dm") -> str:
    """A transfer of four rows in each iteration."""
    base = f", base = {OUT}" if dest == "hbm" else ""
    sides = [f'source = {{ tier = "{source}", element = "A, B, C"{VIEW} }}',
             f'dest = {{ tier = "{dest}", element = "B, A, C"{base}{VIEW} }}']  # fmt: skip
    return "\n".join([f'[transfer.{name}]\ndtype = "i8"\nloop = {{ t = "A / 4" }}', *sides, how, ""])


ORDERS = stream("A = 4, B"), stream("B, A = 4")
GIVEN = commands("[A=4:C, B=B:A*C, C=C:1]").replace("A=A", "A=4").replace(f"HBM/D@{OUT}", "DM/D@0")
WIDER = '"B, A, C"', '"B, A, C # (C + 8)"'
BACK = VIEW.replace("4 * t", "A - 4 - 4 * t")


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (tiles(ORDERS[0]), tiles(ORDERS[1]), ""),
        (tiles(ORDERS[0]), tiles(GIVEN), ""),
        (tiles(ORDERS[0]), tiles(ORDERS[1]).replace(VIEW, BACK), "`source` of the two differs"),
        (tiles(ORDERS[0]), tiles(ORDERS[1]).replace(VIEW, BACK, 1), "at A = 8"),
        (tiles(ORDERS[0], dest="hbm"), tiles(ORDERS[1], dest="hbm"), ""),
        (tiles(""), tiles(ORDERS[1]), ""),
        (tiles("").replace(*WIDER), tiles(ORDERS[1]).replace(*WIDER), "anything (by `x`"),
        (tiles(ORDERS[0]), tiles(ORDERS[1]).replace('"A / 4"', '"A / 4 - A // 512"'), "their loops and views differ"),
    ],
)
def test_iterations_of_one_move_are_the_same_for_all_sizes(one: str, other: str, said: str) -> None:
    answer = same(one, other, TILES)
    status = "refuted" if said == "at A = 8" else "unknown" if said else "proved"
    assert (answer.status, said in answer.why) == (status, True), answer.why


@pytest.mark.parametrize(("target", "source", "dest"), [("idma", "mem", "mem"), ("pto", "gm", "ub")])
def test_iterations_that_may_overtake_each_other_are_compared_in_programs_alone(
    target: str, source: str, dest: str
) -> None:
    behind = '"mem", element = "B', f'"mem", base = {OUT}, element = "B'
    one, other = (tiles(how, source=source, dest=dest).replace(*behind) for how in ORDERS)
    answer = same(one, other, TILES.replace("rngd", target))
    assert (answer.status, "may overtake each other" in answer.why) == ("unknown", True), answer.why


def test_elements_of_several_bytes_are_as_many_units() -> None:
    rows = [f'unit = "elements"\n{commands(ROWS)}'.replace(f"@{OUT}", f"@{OUT // 2}"), stream("B, A")]
    one, other = (transfer(how, dest=PADDED).replace('"i8"', '"bf16"') for how in rows)
    answer = same(one, other)
    assert answer.status == "proved", answer.why


PROGRAM = (
    transfer(stream("A, B")) + transfer(stream("B, A"), source="B, A, C", dest="A, B, C").replace("x]", "y]").replace(
        "base = ", "base = 1").replace('"hbm", element', f'"hbm", base = {OUT}, element')
    + '[program.p]\nstep = [{ transfer = "x" }, { transfer = "y", after = ["x"] }]\n'
)  # fmt: skip
TILE = "A = 4, B, C"
PIPELINE = (
    tiles(ORDERS[0], "l").replace(f'"B, A, C"{VIEW}', f'"{TILE}"')
    + tiles(ORDERS[0], "s", "dm", "hbm").replace(f'"A, B, C"{VIEW}', f'"{TILE}"')
    + '[program.p]\nstep = [{ transfer = "l", context = "c" }, { transfer = "s", context = "c", after = ["l"] }]\n'
)
STORE = ', { transfer = "s", context = "c", after = ["l"] }'
AGAIN = PIPELINE[PIPELINE.index("[transfer.l]") : PIPELINE.index("[transfer.s]")].replace(".l]", ".again]")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (ORDERS[0], ORDERS[1], ""),
        (STORE, ', { transfer = "s", context = "c" }', ""),
        (f'base = {OUT}', f'base = "{OUT} + A // 512"', "of `s` and `s`, `dest` of the two differs"),
        (STORE, f'{STORE}, {{ transfer = "again", context = "c" }}', "programs of other steps"),
        (STORE, f'{STORE[:-2]}, earlier = {{ l = 1 }} }}', ""),
    ],
)  # fmt: skip
def test_programs_are_the_same_for_all_sizes_where_each_step_is_one_move(old: str, new: str, said: str) -> None:
    assert old in PIPELINE
    answer = same(PIPELINE, AGAIN + PIPELINE.replace(old, new), TILES)
    assert (answer.status, said in answer.why) == ("unknown" if said else "proved", True), answer.why


def test_steps_are_paired_in_an_order_that_both_programs_allow() -> None:
    steps = '{ transfer = "x" }, { transfer = "y", after = ["x"] }'
    turned = PROGRAM.replace(
        steps, '{ transfer = "y", context = "b", after = ["x"] }, { transfer = "x", context = "a" }'
    )
    answer = same(turned, turned + '[let]\nW = "A"\n')
    assert (answer.status, "`y` waits for a step behind it" in answer.why) == ("unknown", True), answer.why


def test_programs_are_compared_step_by_step_or_at_single_sizes() -> None:
    other = PROGRAM.replace(stream("A, B"), stream("B, A"))
    assert same(PROGRAM, other, FEW, ["hbm"]).by.startswith("comparison at each of 36 sizes")
    assert same(PROGRAM, other).by.startswith("both proved for all sizes to be one move in each step")
    wrong = PROGRAM.replace('"A, B, C" }\nstream', '"A, B, C # 16" }\nstream')
    assert same(PROGRAM, wrong).status == "refuted"


def test_plans_that_admit_other_sizes_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="tiers are for two programs"):
        same(BY_ROWS, BY_ROWS, tiers=["hbm"])
    texts = {"one": HEAD + BY_ROWS, "other": HEAD + transfer(stream("B, A")), "wider": HEAD.replace("512 }", "513 }")
             + BY_ROWS, "fixed": HEAD.split("A =")[0] + "A = 4\nB = 4\nC = 8\n" + BY_ROWS}  # fmt: skip
    for name, text in texts.items():
        (tmp_path / f"{name}.toml").write_text(text)
    one = f"{tmp_path / 'one.toml'}::x"
    assert invoke(["equiv", one, f"{tmp_path / 'other.toml'}::x"]) == 0
    assert invoke(["equiv", one, f"{tmp_path / 'wider.toml'}::x"]) == 2
    assert "the two admit other sizes" in capsys.readouterr().err
    assert invoke(["equiv", f"{tmp_path / 'fixed.toml'}::x", one]) == 2
    assert "has no symbols, and the other has" in capsys.readouterr().err


def test_an_assertion_in_python_speaks_of_all_sizes() -> None:
    assert assert_same(HEAD + BY_ROWS, HEAD + transfer(stream("B, A"))).why.startswith("for all A in 1..512")
    with pytest.raises(PlanFailed, match="at A = 2, B = 6, C = 40"):
        assert_same(HEAD + BY_ROWS, HEAD + transfer(commands("[A=A:C, B=B:A*(C + C // 9), C=C:1]")))
