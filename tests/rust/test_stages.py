"""Each stage of the Tensor Unit that moves has its law; beside what keeps it stands what the library refuses.

Elements and bytes: a flit has 32 bytes, so 32 elements of `i8`, 16 of `bf16`, 8 of `f32`.
"""

from __future__ import annotations

import pytest

from dmaverify.language.parse import parse
from dmaverify.machines.rngd.rust.stages import StageStream, StageWords, behind

AXES = {"A": 4, "B": 6, "C": 8, "S": 256, "X": 4, "D": 16}


def flows(name: str, before: str, said: str, *, came: str, bits: int = 8, config: str = "") -> StageStream:
    """What flows behind a stage; mappings are told apart by `|`: slices, time and packet, then what the stage says."""
    slices, time, packet = (parse(one, AXES) for one in before.split(" | "))
    given = tuple(parse(one, AXES) for one in said.split(" | ")) if said else ()
    told = dict(zip(("slice1", "slice0", "time0"), map(int, config.split()[1:]), strict=False))
    element = given[0] if name == "commit" else None
    words = StageWords(name, () if element is not None else given, element, 0, config.split(" ")[0], told)
    return behind(StageStream(came, bits, slices, time, packet), words, ordered=True)


LAWS = [  # stage, what it follows, what comes in, what it says where that is right, and where it is refused
    ("fetch", "begin", "S | 1 | A, C", "A | C", "A = 2 | C"),
    ("fetch", "begin", "S | 1 | A, C", "C, X | A", "C, X | A = 2"),
    ("fetch", "begin", "S | 1 | A, C # 16", "A | C", "A | C = 4"),
    ("collect", "fetch", "S | A | C", "A | C # 32", "A | C # 16"),
    ("collect", "fetch", "S | A | C", "A | C # 32", "A | X # 32"),
    ("collect", "fetch", "S | A | B, C", "A, [B, C] # 64 / 32 | [B, C] # 64 % 32", "A | C # 32"),
    ("collect", "switch", "S | A | D, X", "A, D / 8 | D % 8, X", "D / 8, A | D % 8, X"),
    ("commit_trim", "collect", "S | A | C # 32", "C", "C = 4"),
    ("commit_trim", "collect", "S | A | C # 32", "C # 16", "X # 16"),
    ("commit", "commit_trim", "S | A, B | C", "B, A, C", "B, C"),
    ("commit", "commit_trim", "S | A, 1 # 2 | C", "A, C", "A, B, C"),
    ("commit", "commit_trim", "S | A | C", "A # 8, C", "2, A, C"),
]
SWITCHES = [  # slices and time that come in, the configuration, slices and time that go out
    ("S | A", "Broadcast1 4 8", "S / 32, X, S % 8 | A, S / 8 % 4", "S / 32, X, S % 8 | S / 8 % 4, A"),
    ("S | A", "Broadcast01 2 2 2", "S / 4, X | A / 2, S / 2 % 2, A % 2, S % 2", "S / 4, X | A, S % 4"),
    ("S | A", "Transpose 32 2", "S / 64, S % 2, S / 2 % 32 | A", "S / 64, S / 2 % 32, S % 2 | A"),
    ("S | C", "InterTranspose 2 16 2", "S / 32, C / 2 % 2, S % 16 | C / 4, C % 2, S / 16 % 2", "S | C"),
    ("S | A", "TransposedBroadcast1 8 4", "S / 32, X, S / 4 % 8 | A, S % 4", "S / 32, S / 4 % 8, X | A, S % 4"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "came", "before", "right", "wrong"), LAWS)
def test_a_stage_is_refused_where_it_says_another_stream_than_comes(
    name: str, came: str, before: str, right: str, wrong: str
) -> None:
    assert flows(name, before, right, came=came).known
    assert flows(name, before, wrong, came=came).refused.startswith(f"`.{name}()`: ")


@pytest.mark.parametrize(("before", "config", "right", "wrong"), SWITCHES)
def test_a_switch_says_what_its_configuration_makes(before: str, config: str, right: str, wrong: str) -> None:
    made = [flows("switch", f"{before} | C", said, came="fetch", config=config) for said in (right, wrong)]
    assert (made[0].known, bool(made[1].refused)) == (True, True), made
    three = config.replace(config.split()[1], "3", 1)
    assert "power of two" in flows("switch", f"{before} | C", right, came="fetch", config=three).refused


@pytest.mark.parametrize(("bits", "before", "right", "wrong"), [
    (8, "1 | A | C # 32", "C | A # 32", "C | B # 32"), (16, "1 | B, A | C # 16", "B, C | A # 16", "B, A | C # 16"),
    (32, "1 | B / 2, B % 2 | C", "B / 2, C | B % 2 # 8", "C, B / 2 | B % 2 # 8"),
])  # fmt: skip
def test_a_transpose_is_followed_where_rows_and_columns_are_known(
    bits: int, before: str, right: str, wrong: str
) -> None:
    assert flows("transpose", before, right, came="collect", bits=bits).known
    made = flows("transpose", before, wrong, came="collect", bits=bits)
    assert (made.known, made.refused) == (False, "")


def test_a_stage_follows_those_alone_that_the_library_names() -> None:
    said = {"fetch": "A | C", "collect": "A | C # 32", "commit_trim": "C", "commit": "A, C"}
    order = ["begin", "fetch", "collect", "commit_trim", "commit"]
    for at, name in enumerate(order[1:]):
        for came in order[:4]:
            found = flows(name, "1 | A | C", said[name], came=came)
            assert ("it follows" in found.refused) == (came != order[at]), (name, came)


def test_a_compound_that_is_cut_inside_its_parts_is_never_refused() -> None:
    found = flows("collect", "1 | [A, B] # 32 / 8 | [A, B] # 32 % 8", "A | C # 32", came="fetch")
    assert (found.refused, bool(found.open)) == ("", True)
