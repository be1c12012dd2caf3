"""Bytes that another declaration writes over before a step read all that lay there: a condition, never silence."""

import pytest

import dmaverify.api as api

SIZES = {"numbers": "A = 8\nC = 64\nE = 64\n", "all": "A = { min = 4, max = 64, multiple_of = 4 }\nC = 64\nE = 64\n"}
TILE = ', view = { tile = "A", length = 2, start = "2 * t" }'
PART = ', view = { tile = "A", length = 2, start = 0 }'


def move(name: str, source: tuple[str, str], dest: tuple[str, str], *, loop: str = "", view: str = "") -> str:
    """A transfer of rows between (memory and base, element); `view` cuts what lies in HBM."""
    sides = [
        f'{{ {where}, element = "{element}"{view if "hbm" in where else ""} }}' for where, element in (source, dest)
    ]
    return f'[transfer.{name}]\ndtype = "i8"\n{loop}source = {sides[0]}\ndest = {sides[1]}\n'


def hbm(base: int | str) -> str:
    return f'tier = "hbm", base = {base if isinstance(base, int) else repr(base)}'


def conditions(text: str, steps: str, sizes: str = "numbers", order: str = "written") -> list[str]:
    """What the program rests on of bytes that are written over; it is proved."""
    named = ", ".join(f'{{ transfer = "{name}" }}' for name in steps.split())
    head = f'schema = 1\ntarget = "rngd"\n[axes]\n{SIZES[sizes]}'
    (verdict,) = api.check(f'{head}{text}[program.p]\norder = "{order}"\nstep = [{named}]\n', "p")
    assert verdict.status.value == "proved", verdict.errors
    return [one for one in verdict.conditions if " over what " in one]


def store(name: str, base: int | str, element: str, *, loop: str = "", view: str = "") -> str:
    rows = element.replace("A", "A = 2") if view else element
    return move(name, ('tier = "dm", base = 0', rows), (hbm(base), element), loop=loop, view=view)


@pytest.mark.parametrize(
    ("base", "sizes", "said"),
    [
        (65536 + 448, "numbers", True),
        (65536 + 512, "numbers", False),
        ("65536 + 64 * A - 64", "all", True),
        ("65536 + 64 * A", "all", False),
    ],
)
def test_an_output_that_another_one_reaches_into_is_a_condition(base: int | str, sizes: str, said: bool) -> None:
    text = store("one", 65536, "A, C") + store("two", base, "A, E")
    found = conditions(text, "one two", sizes)
    assert bool(found) is said
    assert all("`two` writes as hbm" in one and "what `one` wrote" in one for one in found)


@pytest.mark.parametrize(("first", "second"), [(TILE, TILE), (TILE, ""), ("", TILE)])
def test_tiles_are_written_over_as_whole_tensors_are(first: str, second: str) -> None:
    loops = ["loop = { t = 4 }\n" if view else "" for view in (first, second)]
    text = store("one", 65536, "A, C", loop=loops[0], view=first) + store(
        "two", 65792, "A, E", loop=loops[1], view=second
    )
    assert conditions(text, "one two")


def test_one_tensor_in_two_spellings_is_written_over() -> None:
    text = store("one", 65536, "A, C") + store("two", 65536, "A / 4, A % 4, C")
    assert len(conditions(text, "one two")) == 1


LOAD = move("load", (hbm(0), "A, C"), ('tier = "dm", base = 0', "A, C"))
USE = move("use", ('tier = "dm", base = 0', "A, C"), (hbm(65536), "A, C"))
AGAIN = move("again", (hbm(8192), "E, A"), ('tier = "dm", base = 64', "E, A"))


@pytest.mark.parametrize(
    ("use", "steps", "said"),
    [
        (USE, "load use again", False),
        (USE, "load again", True),
        (USE.replace('65536, element = "A, C"', '65536, element = "A = 2, C"'), "load use again", True),
    ],
    ids=("read", "unread", "part"),
)
def test_memory_that_was_read_to_its_end_may_be_used_again(use: str, steps: str, said: bool) -> None:
    names = steps.split()
    text = "".join(one for name, one in (("load", LOAD), ("use", use), ("again", AGAIN)) if name in names)
    assert bool(conditions(text, steps)) is said


def test_a_loop_reads_what_it_writes_over_in_its_first_iteration_alone() -> None:
    """What lay there before the loop is read whole, or by tiles of which some come too late."""
    loop, whole, tiles = "loop = { t = 4 }\n", 'base = 0, element = "A, C"', f'base = 0, element = "A, C"{TILE}'
    load, use, again = (one.replace('"i8"\n', f'"i8"\n{loop}') for one in (LOAD, USE, AGAIN))
    cut = [
        one.replace(whole, tiles).replace('65536, element = "A, C"', f'65536, element = "A, C"{TILE}')
        for one in (load, use)
    ]
    apart = move("apart", (hbm(1 << 20), "C"), (hbm(1 << 21), "C"))
    for text, lost in ((LOAD + use, 0), (cut[0] + use, 0), (cut[0] + cut[1], 1)):
        found = conditions(text + again + apart, "load apart use again")
        assert len([one for one in found if "what `load` wrote" in one]) == lost


def test_what_comes_around_a_loop_is_written_over_unless_it_was_read_there() -> None:
    loop = "loop = { t = 4 }\n"
    load, use, again = (one.replace('"i8"\n', f'"i8"\n{loop}') for one in (LOAD, USE, AGAIN))
    other = move("other", ('tier = "dm", base = 64', "E, A"), (hbm(131072), "E, A"), loop=loop)
    assert conditions(load + use + again + other, "load use again other") == []
    (found,) = conditions(load + use + again, "load use again")
    assert found.startswith("`load` writes")
    assert "what `again` wrote" in found
