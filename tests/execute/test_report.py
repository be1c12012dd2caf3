"""What a run says of itself."""

import json
from textwrap import dedent

from dmaverify.execute.interpret import execute
from dmaverify.execute.report import kept, place_text, report_json, report_text
from dmaverify.execute.result import Execution
from dmaverify.language.parse import parse
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.space import Space
from dmaverify.program.tensor import Tensor

SLICE = 4 << 20
HBM = Space("hbm", ("chip", "element"))
DM = Space("dm", ("chip", "cluster", "slice", "element"), (("slice", SLICE),))
AXES = {"A": 4, "B": 3}


def relayout(bits: int, write: int, source: str = "B, A") -> Execution:
    """HBM to slices `A / 2`, elements `A % 2, B # 4`; the slice loop steps `write` units."""
    width = max(1, bits // 8)
    sides = Tensor("hbm", parse(source, AXES)), Tensor("dm", parse("A % 2, B # 4", AXES), slice=parse("A / 2", AXES))
    loops = (Loop(2, 2 * width, write), Loop(2, width, 4 * width), Loop(3, 4 * width, width))
    return execute(*sides, HBM, DM, bits, [Command(Port("hbm", 0), Port("dm", 0), loops, width, width)])


def test_a_kept_promise_says_what_ran_and_what_was_compared() -> None:
    text = report_text(relayout(8, SLICE), rows=4)
    assert text == dedent(
        """\
        hbm to dm
          ran       1 command, 12 packets, 12 bytes
          compared  12 bytes live in the destination, each with the element that its mapping names
          arrived   12 bytes of 12 equal

        The destination holds the same tensor as the source.

          destination        should hold  was given  before  after  expected
          dm slice 0 byte 0  A=0 B=0      A=0 B=0    35      ca     ca
          dm slice 0 byte 1  A=0 B=1      A=0 B=1    93      6c     6c
          dm slice 0 byte 2  A=0 B=2      A=0 B=2    15      ea     ea
          dm slice 0 byte 3  top          untouched  68      68     any
        """
    )


def test_a_broken_promise_names_the_first_copy_and_both_cells() -> None:
    done = relayout(16, SLICE + 2)
    text = report_text(done, rows=2)
    assert text.startswith("hbm to dm\n  ran       1 command, 12 packets, 24 bytes\n")
    told = dedent(
        """\
        The move does not keep its promise: core/covers, core/same-element.
          core/covers: 4 bytes: live in the destination, written by nobody
              write   dm slice 1 byte 0: A=2 B=0, byte 0 of the element
          core/same-element: 8 bytes: a live cell gets another element
              first   command 0, counters (1, 0, 0, 0)
              read    hbm byte 4: A=2 B=0, byte 0 of the element
              write   dm slice 1 byte 2: A=2 B=1, byte 0 of the element
        """
    )
    assert told in text
    rows = text.splitlines()[-2:]
    assert rows[0].split()[:7] == ["dm", "slice", "1", "byte", "0", "A=2", "B=0"]
    assert "untouched" in rows[0]
    assert not kept(done)


def test_what_is_only_reported_leaves_the_promise_kept() -> None:
    done = relayout(8, SLICE, "B, A, 1 # 1")
    assert kept(done)
    source, dest = Tensor("hbm", parse("A", AXES)), Tensor("hbm", parse("A / 2", AXES), base=8)
    part = execute(source, dest, HBM, HBM, 8, [Command(Port("hbm", 0), Port("hbm", 8), (Loop(2, 2, 1),), 1, 1)])
    assert part.broken == {"core/consumes"}
    assert kept(part)
    text = report_text(part)
    assert "The destination holds the same tensor as the source, with a remark." in text
    assert "  core/consumes: 2 bytes: live in the source, read by nobody\n      read    hbm byte 1: A=1\n" in text


def test_a_double_write_shows_both_copies() -> None:
    again = Command(Port("hbm", 0), Port("dm", 0), (), 1, 1)
    sides = Tensor("hbm", parse("1", AXES)), Tensor("dm", parse("1", AXES))
    text = report_text(execute(*sides, HBM, DM, 8, [again, again]))
    assert "core/writes-once: 1 byte: written again" in text
    assert "first   command 1, counters (0)" in text
    assert "before  command 0, counters (0)" in text
    assert "dm slice 0 byte 0: the only element" in text


def test_nothing_moved_is_no_success() -> None:
    sides = Tensor("hbm", parse("A", AXES)), Tensor("hbm", parse("A", AXES), base=8)
    text = report_text(execute(*sides, HBM, HBM, 8, []))
    assert "core/not-vacuous: nothing is moved, or the destination has no live cell" in text
    assert "arrived   0 bytes of 4 equal" in text


def test_half_bytes_are_counted_as_such() -> None:
    sides = Tensor("hbm", parse("A", AXES)), Tensor("hbm", parse("A", AXES), base=8)
    done = execute(*sides, HBM, HBM, 4, [Command(Port("hbm", 0), Port("hbm", 16), (), 4, 4, unit_bits=4)])
    text = report_text(done)
    assert "1 command, 1 packet, 4 half bytes" in text
    assert "hbm half byte 16  A=0" in text


def test_places_are_shown_as_people_count_them() -> None:
    assert place_text(DM, (1 << 56) + (1 << 52) + 3 * SLICE + 7, 8) == "dm chip 1 cluster 1 slice 3 byte 7"
    assert place_text(DM, 7, 8) == "dm slice 0 byte 7"
    assert place_text(HBM, 7, 8) == "hbm byte 7"
    assert place_text(DM, 2 * SLICE + 3, 4) == "dm slice 1 half byte 3"


def test_the_data_says_the_same_as_the_text() -> None:
    data = json.loads(json.dumps(report_json(relayout(16, SLICE + 2), "x", rows=1)))
    assert (data["name"], data["tiers"], data["unit_bits"]) == ("x", ["hbm", "dm"], 8)
    assert (data["units"], data["bytes"], data["packets"]) == (24, 24, 12)
    assert (data["kept"], data["live_units"]) == (False, 24)
    assert data["broken"] == ["core/covers", "core/same-element"]
    found = {v["obligation"]: v for v in data["violations"]}
    same = found["core/same-element"]
    assert (same["command"], same["counters"]) == (0, [1, 0, 0, 0])
    assert same["write"] == {
        "address": SLICE + 2, "place": "dm slice 1 byte 2", "kind": "live", "coordinates": {"A": 2, "B": 1}, "unit": 0,
    }  # fmt: skip
    assert found["core/covers"]["read"] is None
    assert data["rows"][0]["was_given"] == "untouched"
    good = report_json(relayout(8, SLICE))
    assert (good["kept"], good["violations"], good["equal_units"]) == (True, [], 12)
