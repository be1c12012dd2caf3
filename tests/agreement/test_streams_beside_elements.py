"""Streams that walk elements which the destination does not hold: padding that may hold anything takes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmaverify import check
from dmaverify.verdict import Verdict

HEAD = 'schema = 1\ntarget = "{target}"\n[axes]\nB = 2\nC = 32\nK = 4\n'
MOVE = """[transfer.t]
dtype = "i8"
source = {{ tier = "gm", base = 0, element = "{source}" }}
dest = {{ tier = "gm", base = 6400, element = "{dest}" }}
stream = {{ {stream} }}
"""
COMMIT = """[access.t]
engine = "commit"
dtype = "i8"
memory = {{ tier = "dm", slice = "1 # 64", element = "{dest}" }}
stream = {{ time = "B", packet = "C" }}
"""
GATHER = """[gather.t]
dtype = "i8"
source = {{ tier = "hbm", element = "K, C" }}
dest = {{ tier = "dm", slice = "B # 64", element = "{dest}" }}
index = {{ tier = "hbm", base = 65536, element = "B", values = [0, 64] }}
stream = {{ time = "B", packet = "C" }}
"""
STREAMS = ['time = "B", packet = "C"', 'time = "C", packet = "B"', 'packet = "B, C"']


def judged(folder: Path, target: str, text: str) -> Verdict:
    plan = folder / "p.toml"
    plan.write_text((HEAD if "[axes]" not in text else HEAD[: HEAD.index("[axes]")]).format(target=target) + text)
    (verdict,) = check(plan)
    return verdict


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(
    ("source", "dest", "rules"),
    [
        ("B, C", "B, C = 31 # 32", set()),
        ("B, C", "C = 31 # 32, B", set()),
        ("B, C", "B, C = 31 # 33", set()),
        ("B, C = 31 # 32", "B, C = 31 # 32", set()),
        ("B, C", "B, C = 31 #{0} 32", {"core/padding"}),
        ("B, C", "B, C = 31 #{!} 32", {"core/padding"}),
        ("B, C", "B, C = 31", {"core/well-formed"}),
        ("B, C", "B # 4, C = 31", {"core/well-formed"}),
        ("B, C", "B, C = 30 # 31", {"core/well-formed"}),
    ],
)
def test_padding_of_a_destination_takes_elements_that_it_does_not_hold(
    source: str, dest: str, rules: set[str], stream: str, tmp_path: Path
) -> None:
    found = judged(tmp_path, "toy", MOVE.format(source=source, dest=dest, stream=stream))
    assert {finding.rule for finding in found.errors} == rules


@pytest.mark.parametrize(
    ("entry", "dest", "proved"),
    [
        (COMMIT, "B, C = 31 # 32", True), (COMMIT, "B, C = 31 #{0} 32", False), (COMMIT, "B, C = 24", False),
        (GATHER, "C = 31 # 32", True), (GATHER, "C = 31 #{0} 32", False), (GATHER, "C = 24", False),
    ],
)  # fmt: skip
def test_commits_and_gathers_write_them_into_padding_too(entry: str, dest: str, proved: bool, tmp_path: Path) -> None:
    found = judged(tmp_path, "rngd", entry.format(dest=dest))
    assert found.status.value == ("proved" if proved else "refuted"), found.errors
    assert "core/disagreement" not in {finding.rule for finding in found.errors}


def test_which_of_several_places_of_an_element_a_stream_reads_is_not_followed(tmp_path: Path) -> None:
    """By the commands that follow from the stream it is the outer digit; a run takes no side."""
    text = MOVE.format(source="B, B, C # 40", dest="B, C # 100", stream=STREAMS[0])
    for base, status in (("42", "proved"), ("60", "refuted"), ("6400", "proved")):
        assert judged(tmp_path, "toy", text.replace("6400", base)).status.value == status
    once = MOVE.format(source="B, C # 40", dest="B, C # 100", stream=STREAMS[0]).replace("6400", "42")
    assert {finding.rule for finding in judged(tmp_path, "toy", once).errors} == {"core/overlap"}


@pytest.mark.parametrize(("time", "rules"), [("4", set()), ("K", {"core/covers", "core/writes-once"})])
def test_an_axis_that_the_destination_lacks_takes_none_of_the_places_of_an_element(
    time: str, rules: set[str], tmp_path: Path
) -> None:
    """It has stride 0 there; a broadcast of the stream walks the places."""
    text = MOVE.format(source="C", dest="4, C", stream=f'time = "{time}", packet = "C"')
    assert {finding.rule for finding in judged(tmp_path, "toy", text).errors} == rules


@pytest.mark.parametrize(("slices", "status"), [("A # 64", "refuted"), ("A / 4 # 64", "refuted"), ("1 # 64", "proved")])
def test_a_tile_of_one_of_two_terms_leaves_what_the_other_still_names(slices: str, status: str, tmp_path: Path) -> None:
    text = f"""[transfer.t]
dtype = "i32"
loop = {{ t = 2 }}
source = {{ tier = "hbm", base = 64, element = "A, C" }}
dest = {{ tier = "dm", slice = "{slices}", element = "A, C", view = {{ tile = "A", length = 1, start = "0" }} }}
stream = {{ time = "A = 1", packet = "C" }}
"""
    found = judged(tmp_path, "rngd", text.replace("[transfer", "[axes]\nA = 8\nC = 16\n[transfer", 1))
    assert found.status.value == status, found.findings
