"""Moves with neither stream nor commands: refuted by a rule of the machine exactly where no stream meets it."""

# ruff: noqa: E501  (plan text reads best on one line)

import random
import shutil
from collections import Counter
from itertools import permutations, product
from pathlib import Path

import pytest
from lab.draws import counted, rest
from lab.moves_alone import draw_alone

import dmaverify.api as api
from dmaverify.program.space import unit_bits_of
from dmaverify.prove.move.alone import packets_of
from dmaverify.prove.move.feasible import ContiguousRun
from dmaverify.prove.options import Options
from dmaverify.verdict import Status

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("X, C", "X, C # 20", "X, C # 24", "C, X", "Y, X, C", "X % 2, X / 2, C", "4, C")
DESTS = {  # with the terms that a stream walks
    "C": ("C",), "X = 1, C": ("C",), "X / 2, C": ("X / 2", "C"), "X, C": ("X", "C"), "X, C # 24": ("X", "C"),
    "1 # 4, C": ("C",), "1 # 4, C # 24": ("C",), "X % 2, C": ("X % 2", "C"), "X, 1 #{!} 8": ("X",), "2, C": ("2", "C"),
    "X / 2, X % 2, C": ("X / 2", "X % 2", "C"), "X / 2 #{!} 4, C": ("X / 2", "C"), "C, X": ("C", "X"),
    "1 # 4, C #{!} 20": ("C",), "1 # 4, C # 20": ("C",), "C # 18": ("C",), "X / 2, C # 18": ("X / 2", "C"),
}  # fmt: skip
PLAN = """schema = 1
target = "rngd"
[axes]
X = 4
Y = 2
C = 16
[transfer.t]
dtype = "i8"
source = {{ tier = "{tiers[0]}", element = "{source}" }}
dest = {{ tier = "{tiers[1]}", base = 65536, element = "{dest}" }}
"""


def status(text: str) -> str:
    (verdict,) = api.check(text, options=Options(repair=False))
    return verdict.status.value


@pytest.mark.parametrize("tiers", [("hbm", "dm"), *rest([(("dm", "hbm"),), (("spm", "dm"),)])])
@pytest.mark.parametrize("source", SOURCES)
def test_a_move_alone_is_proved_exactly_where_a_stream_is(source: str, tiers: tuple[str, str]) -> None:
    told = set()
    for dest, terms in DESTS.items():
        plan = PLAN.format(tiers=tiers, source=source, dest=dest)
        alone = status(plan)
        streams = [(", ".join(terms), "1")]
        for order in permutations(terms):
            streams += [(", ".join(order[:inner]) or "1", ", ".join(order[inner:])) for inner in range(len(order))]
        lines = (f'stream = {{ time = "{time}", packet = "{packet}" }}\n' for time, packet in reversed(streams))
        carried = any(status(plan + line) == "proved" for line in lines)
        assert (alone == "proved") is carried, (dest, alone)
        told.add(alone)
    assert "proved" in told


@pytest.mark.parametrize(("source", "dest", "proved"), [
    ("C", "C = 3 # 11", True), ("C", "C = 3 # 7", False), ("C = 4 # 8", "X # 2, C = 4", True), ("C = 4 # 8", "X #{!} 2, C = 4", False),
])  # fmt: skip
def test_a_packet_takes_as_much_of_the_padding_behind_it_as_it_needs(source: str, dest: str, proved: bool) -> None:
    plan = PLAN.format(tiers=("hbm", "dm"), source=source, dest=dest).replace("X = 4", "X = 1")
    assert (status(plan) == "proved") is proved


@pytest.mark.parametrize(("dest", "stream", "proved"), [
    ("X % 2, X / 2 # 6", 'time = "X % 2", packet = "X / 2"', True),  # one step of X never adds up to one of X / 2
    ("X, 1 # 2", 'time = "X", packet = "1 # 2"', False),  # three do
])  # fmt: skip
def test_a_digit_stands_under_steps_that_never_add_up_to_one_of_its_own(dest: str, stream: str, proved: bool) -> None:
    plan = PLAN.format(tiers=("hbm", "dm"), source="X % 2, X / 2", dest=dest).replace("i8", "i32")
    told = {status(plan), status(f"{plan}stream = {{ {stream} }}\n")}
    assert told == {"proved" if proved else "refuted"}


@pytest.mark.parametrize("count", counted(10, 3000))
def test_no_drawn_move_is_refuted_that_some_stream_carries_out(count: int) -> None:
    found: Counter[tuple[str, bool]] = Counter()
    for seed in range(count):
        plan, streams = draw_alone(random.Random(seed))
        alone = status(plan)
        right = (
            next((stream for stream in streams if status(plan + stream) == "proved"), "") if alone != "unknown" else ""
        )
        assert not (right and alone == "refuted"), plan + right
        found[alone, bool(right)] += 1
    assert min(found["proved", True], found["refuted", False]) >= count // 20


@pytest.mark.parametrize(("word", "proved"), [(4, True), (16, True), (64, True), (512, True), (1024, False)])
def test_a_machine_of_ones_own_may_have_words_of_any_size(word: int, proved: bool, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples/machines/shim", tmp_path / "wide")
    target = tmp_path / "wide/target.toml"
    text = target.read_text(encoding="utf-8")
    target.write_text(text.replace("[limit.granule_bytes]\nvalue = 4", f"[limit.granule_bytes]\nvalue = {word}"))
    (tmp_path / "p.toml").write_text(
        'schema = 1\ntarget = "./wide"\n[axes]\nA = 8\nC = 64\n[transfer.t]\ndtype = "i8"\n'
        'source = { tier = "ddr", element = "A, C" }\ndest = { tier = "array", element = "A, C" }\n'
    )
    (verdict,) = api.check(str(tmp_path / "p.toml"))
    assert {f.rule for f in verdict.errors} == (set() if proved else {"shim/words"})


@pytest.mark.parametrize(
    ("base", "found"), [(64, set()), (65538, {"pto/ub-align"}), (65568, set()), (8, {"pto/ub-align"})]
)
@pytest.mark.parametrize("sides", list(product(("gm", "ub"), ("gm", "ub")))[1:])
def test_copies_begin_where_the_first_element_lies(base: int, found: set[str], sides: tuple[str, str]) -> None:
    moved = 0 if sides[0] == "ub" else 1
    bases = [f"base = {base if number == moved else 131072}" for number in range(2)]
    for symbols in ("A = 12", "A = { min = 1, max = 64 }"):
        (verdict,) = api.check(
            f'schema = 1\ntarget = "pto"\n[axes]\n{symbols}\nC = 64\n[transfer.t]\ndtype = "i8"\n'
            f'source = {{ tier = "{sides[0]}", {bases[0]}, element = "A, C" }}\n'
            f'dest = {{ tier = "{sides[1]}", {bases[1]}, element = "A, C" }}\n'
        )
        assert {f.rule for f in verdict.errors} == found


@pytest.mark.parametrize(("step", "found"), [(32, set()), (4, {"pto/ub-align"})])
@pytest.mark.parametrize("count", ["2", '"A"'])
def test_copies_of_a_later_iteration_begin_where_its_first_element_lies(step: int, found: set[str], count: str) -> None:
    view = f'view = {{ tile = "C", length = 32, start = "{step} * t", partial = true }}'
    (verdict,) = api.check(
        'schema = 1\ntarget = "pto"\n[axes]\nC = 1024\n[free]\nA = { min = 2, max = 31 }\n[transfer.t]\ndtype = "i8"\n'
        f"loop = {{ t = {count} }}\n"
        f'source = {{ tier = "gm", element = "C", {view.replace(", partial = true", "")} }}\n'
        f'dest = {{ tier = "ub", element = "C", {view} }}\n'
    )
    assert {f.rule for f in verdict.errors} == found


@pytest.mark.parametrize(("multiple", "found"), [(1, {"pto/ub-align"}), (2, set())])
def test_copies_of_every_size_begin_where_the_first_element_lies(multiple: int, found: set[str]) -> None:
    (verdict,) = api.check(
        f'schema = 1\ntarget = "pto"\n[axes]\nC = 64\n[free]\nA = {{ min = 2, max = 200, multiple_of = {multiple} }}\n'
        '[transfer.t]\ndtype = "i8"\nsource = { tier = "gm", element = "C" }\n'
        'dest = { tier = "ub", base = "16 * A", element = "C" }\n'
    )
    assert {f.rule for f in verdict.errors} == found


@pytest.mark.parametrize(("source", "dest", "status"), [
    ("X, C", "X, C", "refuted"), ("X % 2, X / 2, C", "X, C", "refuted"), ("X, C", "X = 3, C", "unknown"),
    ("X % 2, X / 2, C", "X = 3, C", "unknown"),
    ("Y, X, C", "X, C", "refuted"), ("X, Y, C", "X, C", "unknown"),
])  # fmt: skip
def test_a_move_alone_reads_for_sure_what_its_destination_asks_for(source: str, dest: str, status: str) -> None:
    plan = PLAN.format(tiers=("hbm", "hbm"), source=source, dest=dest)
    other = (
        '[transfer.other]\ndtype = "i8"\nsource = { tier = "hbm", base = 131072, element = "C" }\n'
        'dest = { tier = "hbm", base = 48, element = "C" }\nstream = { packet = "C" }\n'
        '[program.p]\nstep = [{ transfer = "t", context = "a" }, { transfer = "other", context = "b" }]\n'
    )
    (verdict,) = api.check(plan + other, "p")
    assert verdict.status.value == status
    assert {f.rule for f in verdict.errors} <= {"core/hazard-war"}


CHIPS = (
    'schema = 1\ntarget = "rngd"\n[axes]\nX = 4\nC = 16\n[transfer.t]\ndtype = "i8"\n'
    'source = {{ tier = "spm", {0}element = "{1}" }}\ndest = {{ tier = "hbm", {2}element = "{3}" }}\n'
)


@pytest.mark.parametrize(("source", "held", "dest", "asked", "proved"), [
    ("X", "C", "X", "C", True), ("X", "C", "X / 2, X % 2", "C", True), ("X", "C", "X = 2", "C", True), ("", "C", "1 # 4", "C", True),
    ("X", "C", "X % 2, X / 2", "C", False), ("X", "C", "", "X, C", False), ("", "X, C", "X", "C", False), ("", "C", "4", "C", False),
    ("X", "C", "", "C", True), ("X", "C", "X # 8", "C", True), ("X = 2", "C", "X / 2", "C", False),
])  # fmt: skip
def test_a_move_alone_crosses_chips_where_some_element_does(
    source: str, held: str, dest: str, asked: str, proved: bool
) -> None:
    chips = [f'chip = "{chip}", ' if chip else "" for chip in (source, dest)]
    (verdict,) = api.check(CHIPS.format(chips[0], held, chips[1], asked))
    assert ("rngd/spm-same-chip" not in {f.rule for f in verdict.errors}) is proved


@pytest.mark.parametrize(("source", "dest", "stays"), [
    *(("X, C", dest, True) for dest in ("X, C", "X / 2, X % 2, C", "X = 3, C", "[X, C] = 40", "X # 7, C", "C")),
    *(("X, C", dest, False) for dest in ("X % 2, X / 2, C", "X, C # 32", "X @ 1 = 3, C")),
    *(("X, C", dest, True) for dest in ("2, C", "X = 1 # 2, 2, C = 8")),  # onto what it does not ask for
    ("2, C", "2, C", True), ("X / 2, X, C", "X, C", True), ("X / 2, X, C", "X, C # 32", False),
])  # fmt: skip
def test_a_move_alone_onto_its_own_source_is_safe_where_each_element_stays(source: str, dest: str, stays: bool) -> None:
    text = PLAN.format(tiers=("hbm", "hbm"), source=source, dest=dest).replace("base = 65536, ", "")
    (verdict,) = api.check(text)
    assert ("core/overlap" in {f.rule for f in verdict.errors}) is not stays


@pytest.mark.parametrize(("base", "stays"), [("0", True), ("{ chip = 1 }", False)])
@pytest.mark.parametrize("stream", ["", 'stream = { time = "X", packet = "C" }\n'])
@pytest.mark.parametrize(("tier", "rule"), [("spm", "rngd/spm-same-chip"), ("dm", "rngd/cross-cluster-sync")])
def test_a_move_crosses_chips_and_clusters_where_its_destination_begins_on_another_chip(
    base: str, stays: bool, stream: str, tier: str, rule: str
) -> None:
    text = (
        CHIPS.format('chip = "X", ', "C", f'base = {base}, chip = "X", ', "C").replace("hbm", "dm").replace("spm", tier)
    )
    (verdict,) = api.check(text + stream)
    assert (rule in {f.rule for f in verdict.findings}) is not stays


@pytest.mark.parametrize(
    ("source", "dest", "proved"), [("C, X", "X, C", False), ("X, C", "X, C", True), ("C, X", "C, X", True)]
)
def test_half_bytes_that_nothing_keeps_together_are_moved_by_no_packet(source: str, dest: str, proved: bool) -> None:
    text = PLAN.format(tiers=("hbm", "hbm"), source=source, dest=dest).replace('"i8"', '"i4"')
    (verdict,) = api.check(text)
    assert {f.rule for f in verdict.errors} == (set() if proved else {"rngd/command-whole-bytes"})


@pytest.mark.parametrize(("rows", "base", "found"), [
    *((rows, base, found) for rows in ("[A, B] = 10", "R") for base, found in ((261_824, set()), (262_112, {"pto/ub-capacity"}), (524_288, {"pto/ub-capacity"}))),
    ("[A, B] = 8 # 12", 261_888, set()), ("[A, B] = 8 # 12", 262_112, {"pto/ub-capacity"}),
])  # fmt: skip
def test_copies_of_rows_that_two_axes_end_together_fit_their_memory(rows: str, base: int, found: set[str]) -> None:
    (verdict,) = api.check(
        'schema = 1\ntarget = "pto"\n[axes]\nA = 4\nB = 3\nC = 32\nR = 10\n[transfer.t]\ndtype = "i8"\n'
        f'source = {{ tier = "gm", element = "{rows}, C" }}\ndest = {{ tier = "ub", base = {base}, element = "{rows}, C" }}\n'
    )
    assert {f.rule for f in verdict.errors} == found


@pytest.mark.parametrize(("dest", "said"), [("C", True), ("C # 64", False), ("D", False)])
@pytest.mark.parametrize("stream", ["", 'stream = { packet = "AXIS" }\n'])
@pytest.mark.parametrize("more", ["", "E = { min = 1, max = 40 }\n"])
def test_the_last_row_of_copies_fills_its_block(dest: str, said: bool, stream: str, more: str) -> None:
    (verdict,) = api.check(
        f'schema = 1\ntarget = "pto"\n[axes]\nC = 40\nD = 32\n{more}[transfer.t]\ndtype = "i8"\n'
        f'source = {{ tier = "gm", element = "{dest[0]}" }}\ndest = {{ tier = "ub", element = "{dest}" }}\n'
        f"{stream.replace('AXIS', dest[0])}"
    )
    assert verdict.status.value == "proved"
    assert any("behind a row" in one for one in verdict.conditions) is said


@pytest.mark.parametrize(
    ("tiers", "status"),
    [
        (("hbm", "dm"), "unknown"),
        (("hbm", "hbm"), "proved"),
        (("hbm", "spm"), "proved"),
        (("gm", "ub"), "unknown"),
    ],
)
def test_a_mapping_without_digits_leaves_open_what_a_packet_of_one_byte_breaks(
    tiers: tuple[str, str], status: str
) -> None:
    ragged, target = "(X, C # 24) @ 6 / 10", "pto" if "gm" in tiers else "rngd"
    (verdict,) = api.check(PLAN.format(tiers=tiers, source=ragged, dest=ragged).replace('"rngd"', f'"{target}"'))
    assert (verdict.status.value, verdict.errors) == (status, ())


def test_every_packet_that_divides_a_run_is_tried() -> None:
    for units, bits in product(range(1, 200), (4, 8, 16)):
        tried = {facts["packet_bits"] for facts in packets_of(ContiguousRun(units, 0, 0), bits)}
        assert {unit_bits_of(bits) * n for n in range(1, units + 1) if units % n == 0} <= tried
    assert {64, 1 << 15, 8 << 30} <= {f["packet_bits"] for f in packets_of(ContiguousRun(1 << 30, 0, 0), 8)}


ZEROS = {  # source, destination, a stream that carries it out or not, whether zeros are missing
    "none in the source": ("X", "X #{0} 8", "X", True),
    "in the source": ("X #{0} 8", "X #{0} 8", "X #{0} 8", False),
    "none asked for": ("X", "X # 8", "X", False),
    "under other padding": ("X", "X #{!} 8", "X", False),
    "in front of other padding": ("X", "X #{0} 6 #{!} 8", "X", True),
    "behind the elements of two digits": ("X % 2, X / 2", "[X % 2, X / 2] #{0} 6", "X % 2, X / 2", True),
}


@pytest.mark.parametrize("name", ZEROS)
def test_zeros_that_the_source_has_not_are_told_without_commands(name: str) -> None:
    source, dest, time, missing = ZEROS[name]
    plan = PLAN.format(tiers=("hbm", "hbm"), source=source, dest=dest)
    move = api.check(plan)[0]
    carried = api.check(f'{plan}stream = {{ time = "{time}" }}\n')[0]
    program = api.check(f'{plan}[program.p]\nstep = [{{ transfer = "t" }}]\n', "p")[0]
    assert {f.rule for f in move.errors} == {f.rule for f in carried.errors} == set(["core/padding"] * missing)
    assert [f.rule for f in program.errors] == ["core/steps"] * missing
    places = {f.witness["address"] for v in (move, carried) for f in v.errors if f.witness}
    assert len(places) == missing
    assert ("a run" in move.confirmed) is missing


@pytest.mark.parametrize(("dest", "dropped"), [("X", False), ("X = 3", True), ("1", True)])
def test_elements_that_go_nowhere_are_told_without_commands_as_with_them(dest: str, dropped: bool) -> None:
    plan = PLAN.format(tiers=("hbm", "hbm"), source="X", dest=dest)
    for text in (plan, f'{plan}stream = {{ time = "{dest}" }}\n'):
        (found,) = api.check(text)
        assert found.status is Status.PROVED
        assert [f.rule for f in found.findings] == ["core/consumes"] * dropped
        (strict,) = api.check(text, options=Options(readings={"core/consumes": "strict"}))
        assert [f.rule for f in strict.errors] == ["core/consumes"] * dropped
