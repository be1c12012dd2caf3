"""Gathers and scatters: a row by proof, the index number by number, against running every row in numpy."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from lab.draws import counted, rest

from dmaverify import api
from dmaverify.plan.read import InputErrors, read_plan_text
from dmaverify.prove.move.check import Options
from dmaverify.verdict import Status, Verdict

HEAD = 'schema = 1\ntarget = "rngd"\n[axes]\nR = 80\nK = 64\nC = 128\nQ = 2\n'
ROWS = [(7 * k) % 64 for k in range(64)]
BYTES = 256  # of a row of 128 bf16
DISTINCT = "rows = [0, 79], distinct = true"


def gather(
    index: str, *, kind: str = "gather", tier: str = "hbm", table: str = "R, C",
    side: str = 'slice = "K", element = "C"', more: str = 'stream = { time = "K", packet = "C" }', dtype: str = "bf16",
) -> str:  # fmt: skip
    sides = [f'{{ tier = "hbm", element = "{table}" }}', f'{{ tier = "dm", {side} }}']
    if kind == "scatter":
        sides.reverse()
    return (
        f'[{kind}.g]\ndtype = "{dtype}"\nsource = {sides[0]}\ndest = {sides[1]}\n'
        f'index = {{ tier = "{tier}", base = 131072, element = "K", {index} }}\n{more}\n'
    )


def judged(text: str, name: str = "g", units: int = 0) -> Verdict:
    (verdict,) = api.check(HEAD + text, name, options=Options(cross_check=units))
    return verdict


def errors(text: str) -> set[str]:
    return {f.rule for f in judged(text).errors}


def values(rows: list[int], scale: int = BYTES, more: str = "") -> str:
    return f"values = {[row * scale for row in rows]}{more}"


# ---------------------------------------------------------------- the index


@pytest.mark.parametrize(("row", "status"), [(0, "refuted"), (1, "unknown")])
def test_without_commands_a_list_in_a_row_that_it_does_not_name_is_not_overwritten(row: int, status: str) -> None:
    text = gather(f"values = [{8 * row}]", kind="scatter", side='slice = "K # 64", element = "C"', more="", dtype="i8")
    one = HEAD.replace("R = 80", "R = 2").replace("K = 64", "K = 1").replace("C = 128", "C = 8") + text
    (found,) = api.check(
        one.replace("base = 131072", "base = 0").replace("index =", 'axis = "R"\nkey = "K"\nindex ='), "g"
    )
    assert [one.status for one in found.obligations if one.id == "core/overlap"] == [status], found.findings


@pytest.mark.parametrize(("number", "wrong"), [(0, set()), (1, {"core/in-bounds"})])
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("kind", ["gather", "scatter"])
def test_the_row_of_a_table_of_one_row_is_number_0(kind: str, scaled: bool, number: int, wrong: set[str]) -> None:
    tier = "dm" if kind == "gather" and not scaled else "hbm"
    if kind == "scatter" and not scaled:
        return  # there is none
    more = f"values = [{number}]{'' if scaled else ', scaled = false'}"
    text = gather(more, kind=kind, tier=tier, more='axis = "R"\nkey = "K"\nstream = { time = "K", packet = "C" }')
    one = HEAD.replace("R = 80", "R = 1").replace("K = 64", "K = 1") + text.replace('slice = "K"', 'slice = "K # 64"')
    full = "full" if kind == "scatter" else "fast"
    (found,) = api.check(one, "g", options=Options(cross_check=1 << 16, prove=full))
    assert {f.rule for f in found.errors} == wrong, found.findings
    assert found.status is (Status.REFUTED if wrong else Status.PROVED), found.obligations


def test_an_index_of_one_key_is_one_number() -> None:
    more = 'axis = "R"\nkey = "N"\nstream = { time = "N", packet = "C" }'
    many = HEAD.replace("Q = 2", "N = 1") + gather("rows = [0, 79]", more=more, side='element = "N, C"')
    (found,) = api.check(many.replace('element = "K",', 'element = "N",'), "g")
    assert found.status is Status.PROVED
    (found,) = api.check(many, "g")
    assert {f.rule for f in found.errors} == {"core/indirect"}


@pytest.mark.parametrize(
    ("kind", "index"),
    [("gather", values(ROWS)), ("scatter", DISTINCT), *rest([("gather", DISTINCT), ("scatter", values(ROWS))])],
)
@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ('element = "K"', ""),
        ('element = "K # 80"', ""),
        ('element = "K % 8, K / 8"', ""),
        ('slice = "K / 2", element = "K % 2"', ""),
        ('slice = "2", element = "K"', ""),
        ('slice = "K, 2", element = "1"', ""),
        ('element = "K % 32"', "K = 32 has no number"),
        ('element = "K = 63 # 64"', "K = 63 has no number"),
        ('element = "K / 2"', "K = 1 has no number"),
        ('element = "1"', "K = 1 has no number"),
        ('element = "K, 2"', "K = 0 has several numbers"),
        ('slice = "K", element = "2"', "K = 0 has several numbers"),
        ('slice = "K", element = "K % 2"', "K = 1 has several numbers"),
        ('element = "Q, K"', "Q = 1 has a number in the index, and is no key"),
        ('element = "R"', "R = 1 has a number in the index, and is no key"),
    ],
)
def test_an_index_has_one_number_for_each_key(kind: str, index: str, mapping: str, said: str) -> None:
    place = "dm" if "slice" in mapping else "hbm"
    text = gather(index, kind=kind, more='key = "K"\nstream = { time = "K", packet = "C" }', tier=place)
    text = text.replace('element = "K",', f"{mapping},")
    found = judged(text, units=1 << 16)
    own = [f for f in found.errors if f.rule != "rngd/index-tier"]
    assert [(f.rule, f.message.startswith(said)) for f in own] == ([("core/indirect", True)] if said else [])
    assert not said or ("a run of the text" if "values" in index else "its witness") in found.confirmed


@pytest.mark.parametrize(
    ("rows", "wanted"), [("[0, 63]", set()), ("[1, 63]", {"core/not-vacuous"}), ("[16, 79]", set())]
)
def test_more_different_rows_than_there_are_promise_nothing(rows: str, wanted: set[str]) -> None:
    """64 keys."""
    assert errors(gather(f"rows = {rows}, distinct = true", kind="scatter")) == wanted


def test_a_gather_of_known_rows_is_proved_and_run() -> None:
    found = judged(gather(values(ROWS)), units=1 << 16)
    assert found.status is Status.PROVED
    assert found.confirmed == "a run: numpy agrees on every row"


@pytest.mark.parametrize(
    ("index", "rule", "said"),
    [
        (
            values(ROWS, 128),
            "rngd/index-scale",
            "they count elements (128 to a row) where bytes are meant: multiply by 2",
        ),
        (values(ROWS, 1), "rngd/index-scale", "they are row numbers: multiply by 256"),
        (values([*ROWS[:-1], 80]), "core/in-bounds", "20480 at K = 63, byte 20480 of 20480"),
        (values([-1, *ROWS[1:]]), "core/in-bounds", "-256 at K = 0"),
    ],
)
def test_a_wrong_number_is_named_with_the_mistake_behind_it(index: str, rule: str, said: str) -> None:
    found = judged(gather(index))
    assert {f.rule for f in found.errors} == {rule}
    assert any(said in f"{f.message} {f.hint}" for f in found.errors)
    assert all(f.span is not None for f in found.errors)


def test_the_last_row_of_the_table_is_the_last_number() -> None:
    assert errors(gather(values([*ROWS[:-1], 79]))) == set()


def test_an_unscaled_index_holds_row_numbers_and_lies_in_data_memory() -> None:
    assert errors(gather(values(ROWS, 1, ", scaled = false"), tier="dm")) == set()
    assert errors(gather(values(ROWS, 1, ", scaled = false"))) == {"rngd/index-tier"}
    assert errors(gather(values(ROWS), tier="dm")) == {"rngd/index-tier"}
    found = judged(gather(values(ROWS, BYTES, ", scaled = false"), tier="dm"))
    assert {f.rule for f in found.errors} == {"core/in-bounds"}
    assert "they count bytes (256 to a row) where row numbers are meant" in found.errors[0].hint


def test_the_list_of_row_numbers_fits_the_scratchpad_of_a_pe_or_not() -> None:
    for count, found in ((1024, set()), (1280, {"rngd/index-list"})):
        head = HEAD.replace("K = 64", f"K = {count}")
        text = gather(
            "scaled = false, rows = [0, 79]",
            tier="dm",
            side=f'slice = "K / {count // 64}", element = "K % {count // 64}, C"',
        )
        (verdict,) = api.check(head + text, "g")
        assert {f.rule for f in verdict.errors} == found
        (scaled,) = api.check(
            head + text.replace("scaled = false, ", "").replace('index = { tier = "dm"', 'index = { tier = "hbm"'), "g"
        )
        assert not scaled.errors


def test_what_is_known_at_run_time_only_is_promised_or_unknown() -> None:
    assert judged(gather('dtype = "i32"')).status is Status.UNKNOWN
    found = judged(gather("rows = [0, 79]"))
    assert found.status is Status.PROVED
    assert any("names rows 0..79, as multiples of 256 bytes, at run time" in said for said in found.assumptions)
    assert errors(gather("rows = [0, 80]")) == {"core/in-bounds"}
    scatter = judged(gather("rows = [0, 79]", kind="scatter"))
    assert scatter.status is Status.UNKNOWN
    assert judged(gather(DISTINCT, kind="scatter")).status is Status.PROVED


def test_an_index_of_i32_reaches_two_gigabytes() -> None:
    for rows, found in ((8388608, set()), (8388609, {"rngd/index-fits"})):
        text = gather(f"rows = [0, {rows - 1}]").replace("131072", "4294967296")
        (verdict,) = api.check(HEAD.replace("R = 80", f"R = {rows}") + text, "g")
        assert {f.rule for f in verdict.errors} == found
    assert errors(gather(values(ROWS)).replace('element = "K", values', 'element = "K", dtype = "i16", values')) == {
        "rngd/index-dtype"
    }


def test_the_numbers_of_an_index_are_integers() -> None:
    text = gather(values(ROWS)).replace('element = "K", values', 'element = "K", dtype = "f32", values')
    assert errors(text) == {"rngd/index-integer"}


PROMISED = """
schema = 1
target = "rngd"
axes = {{ R = 128, K = 8, C = 128, N = 256 }}
[gather.g]
dtype = "bf16"
source = {{ tier = "hbm", element = "R, C" }}
dest = {{ tier = "dm", slice = "K # 64", element = "C" }}
index = {{ tier = "hbm", base = 65536, element = "K"{rows} }}
stream = {{ time = "K", packet = "C" }}
[transfer.t]
dtype = "i8"
source = {{ tier = "dm", base = 8192, slice = "1 # 64", element = "N" }}
dest = {{ tier = "hbm", base = {base}, element = "N" }}
[program.p]
step = [{{ gather = "g", context = "a" }}, {{ transfer = "t", context = "b" }}]
"""


@pytest.mark.parametrize(
    ("rows", "base", "wanted"),
    [
        (", rows = [0, 7]", 2048, "proved"),  # row 8, which no promised list names
        (", rows = [0, 7]", 1792, "refuted"),
        (", rows = [8, 20]", 1792, "proved"),
        (", rows = [8, 20]", 20 * 256, "refuted"),
        (", rows = [0, 127]", 2048, "refuted"),
    ],
)
def test_a_step_beside_rows_that_are_promised_meets_these_alone(rows: str, base: int, wanted: str) -> None:
    (program,) = api.check(PROMISED.format(rows=rows, base=base), "p")
    assert program.status.value == wanted


# ---------------------------------------------------------------- scatter


@pytest.mark.parametrize(
    ("index", "kind"),
    [(DISTINCT, "gather"), (values(ROWS), "scatter"), *rest([(DISTINCT, "scatter"), (values(ROWS), "gather")])],
)
@pytest.mark.parametrize(
    ("time", "wanted"),
    [
        ("K", set()),
        ("K % 8, K / 8", set()),
        ("K / 8, C / 64, K % 8", set()),
        ("1", {"core/covers"}),
        ("K / 8", {"core/covers"}),
        ("K = 32", {"core/covers"}),
        ("K @ 1", {"core/covers"}),
        ("K / 2, K", {"core/writes-once"}),
    ],
)
def test_a_stream_walks_every_key_once(kind: str, index: str, time: str, wanted: set[str]) -> None:
    packet = "C % 64" if "C" in time else "C"
    text = gather(index, kind=kind, more=f'stream = {{ time = "{time}", packet = "{packet}" }}')
    assert errors(text) == wanted
    ran = judged(text, units=1 << 16)
    assert {f.rule for f in ran.errors} == wanted
    assert ran.status is (Status.REFUTED if wanted else Status.PROVED)


def test_a_stream_without_time_moves_one_key() -> None:
    verdict = judged(gather(values(ROWS), more='stream = { packet = "C" }'), units=1 << 16)
    assert [(f.rule, f.witness) for f in verdict.errors] == [("core/covers", {"K": 1})]


def test_a_scatter_writes_each_row_once_and_says_what_it_leaves() -> None:
    found = judged(gather(values(ROWS), kind="scatter"))
    assert found.status is Status.PROVED
    assert "16 of 80 rows of the table keep what they held" in found.assumptions
    twice = judged(gather(values([*ROWS[:-1], ROWS[0]]), kind="scatter"))
    assert {f.rule for f in twice.errors} == {"core/writes-once"}
    assert "by K = 0 and again by K = 63" in twice.errors[0].message
    assert errors(gather(values(ROWS, 1, ", scaled = false"), kind="scatter", tier="dm")) == {"rngd/scatter-scaled"}


def test_the_key_of_a_scatter_lies_in_slice_and_element() -> None:
    assert errors(gather(values(ROWS), kind="scatter", side='slice = "K / 4 # 64", element = "K % 4, C"')) == set()
    outside = gather(
        values(ROWS), kind="scatter", side='chip = "K / 32", slice = "K % 32 # 64", element = "C"', more=""
    )
    assert "rngd/scatter-key" in errors(outside)


def test_a_gather_does_not_replicate_over_places() -> None:
    assert errors(gather(values(ROWS), side='cluster = "1 # 2", slice = "K", element = "C"', more="")) == set()
    assert errors(gather(values(ROWS), side='cluster = "2", slice = "K", element = "C"', more="")) == {
        "rngd/gather-replicates"
    }
    assert errors(gather(values(ROWS), side='cluster = "4 / 2", slice = "K", element = "C"', more="")) == {
        "rngd/gather-replicates"
    }
    assert errors(gather(values(ROWS), side='cluster = "Q", slice = "K", element = "C"', more="")) == {
        "rngd/gather-replicates"
    }
    chips = gather(values(ROWS), side='chip = "2", slice = "K", element = "C"', more="")
    assert "rngd/gather-replicates" in errors(chips)
    alike = chips.replace('{ tier = "hbm", element = "R', '{ tier = "hbm", chip = "2", element = "R')
    assert "rngd/gather-replicates" not in errors(alike)


def test_the_way_goes_from_hbm_to_data_memory_and_back() -> None:
    text = gather(values(ROWS)).replace('source = { tier = "hbm"', 'source = { tier = "dm"')
    assert "rngd/indirect-route" in errors(text)


# ---------------------------------------------------------------- shapes of rows


@pytest.mark.parametrize("count", counted(16, 40))
def test_random_gathers_are_judged_as_running_them_says(count: int) -> None:
    """A run of the text raises where the two disagree; both verdicts occur."""
    draw = random.Random(4)
    seen: set[bool] = set()
    for _ in range(count):
        kind = draw.choice(["gather", "scatter"])
        table, row = draw.choice([("R, C", 16), ("R, C # 24", 24), ("C / 8, R, C % 8", 8)])
        side = draw.choice(
            ['slice = "K", element = "C"', 'slice = "K / 2 # 64", element = "K % 2, C"',
             'slice = "K % 4 # 64", element = "K / 4, C"', 'slice = "1 # 64", element = "C / 8, K, C % 8"']
        )  # fmt: skip
        packet = "C % 8" if "C % 8" in table or "C % 8" in side else "C"
        time = {"C % 8": "K, C / 8", "C": "K"}[packet]
        scale = draw.choice([row, row, row, 1, 2 * row])
        rows = draw.sample(range(12), 8) if draw.random() < 0.7 else [draw.randrange(13) for _ in range(8)]
        text = gather(
            values(rows, scale), kind=kind, table=table, side=side, dtype="i8",
            more=f'stream = {{ time = "{time}", packet = "{packet}" }}',
        )  # fmt: skip
        head = HEAD.replace("R = 80", "R = 12").replace("K = 64", "K = 8").replace("C = 128", "C = 16")
        (verdict,) = api.check(head + text, "g", options=Options(cross_check=1 << 16))
        core = {f.rule for f in verdict.errors} - {"rngd/index-scale"}
        ran = verdict.confirmed.startswith("a run")
        assert ran or (verdict.errors and not core), text
        assert all(rule.startswith("core/") for rule in core), (text, core)
        inside = scale == row and max(rows) < 12 and (kind == "gather" or len(set(rows)) == 8)
        if scale in (row, 2 * row):
            fits = max(r * scale // row for r in rows) < 12 and (kind == "gather" or len(set(rows)) == 8)
            assert bool(verdict.errors) != fits
        seen.add(inside)
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("place", "rules"),
    [
        ("base = 524032", set()), ("base = 524033", {"rngd/slice-capacity"}), ('base = 0, chip = "4"', set()),
        ('base = 0, chip = "5"', {"rngd/place-max"}), ('base = 0, chip = "4294967296"', {"rngd/place-max"}),
    ],
)  # fmt: skip
def test_the_list_of_rows_lies_inside_its_memory(place: str, rules: set[str]) -> None:
    text = gather(values([1, 2, 3] * 21 + [4], 1, ", scaled = false"), tier="dm")
    listed = text.replace("base = 131072,", f'{place}, slice = "1 # 64", dtype = "i32",')
    dest = listed.replace('{ tier = "dm", slice', '{ tier = "dm", base = 65536, slice')
    assert {one for one in errors(dest) if not one.startswith("core/")} == rules


def test_a_row_that_is_moved_wrongly_is_refuted_for_all_rows() -> None:
    found = judged(
        gather(values(ROWS), side='slice = "K", element = "C"', more='stream = { time = "K", packet = "C % 64" }')
    )
    assert "core/covers" in {f.rule for f in found.errors}
    assert all("of every row alike" in f.notes for f in found.errors)


@pytest.mark.parametrize("table", ["R / 8, R % 8, C", "(R, C) # 32768", "R, C", "(R, C # 512) # 65536"])
@pytest.mark.parametrize("kind", ["gather", "scatter"])
def test_rows_are_alike_however_their_axis_is_written(table: str, kind: str) -> None:
    step = 4 * BYTES if "512" in table else BYTES
    found = judged(gather(values(ROWS, step), kind=kind, table=table, more=""), units=1 << 16)
    assert found.status is Status.PROVED
    assert errors(gather(values([80, *ROWS[1:]], step), kind=kind, table=table, more="")) == {"core/in-bounds"}


@pytest.mark.parametrize("kind", ["gather", "scatter"])
@pytest.mark.parametrize(
    ("side", "swapped"),
    [
        ('slice = "(K, Q) # 64", element = "C"', 'slice = "(Q, K) # 64", element = "C"'),
        ('slice = "1 # 64", element = "(K, Q) # 9, C"', 'slice = "1 # 64", element = "(Q, K) # 9, C"'),
    ],
)
def test_padding_behind_keys_and_other_axes_moves_none_of_them(side: str, swapped: str, kind: str) -> None:
    strides = ("slice_stride", "2 * slice_stride") if "slice =" in side and '"C"' in side else ("16", "32")
    text = "[K=4:index, Q=2:16, C=16:1]:16 HBM@0", f"[K=4:{strides[1]}, Q=2:{strides[0]}, C=16:1]:16 DM@0"
    read, write = text if kind == "gather" else text[::-1]
    more = f'read = "{read}"\nwrite = "{write}"'
    for place, right in ((side, True), (swapped, False)):
        made = gather("values = [96, 0, 32, 64]", kind=kind, side=place, table="R, Q, C", dtype="i8", more=more)
        (found,) = api.check(TINY + made, "g", options=Options(cross_check=1 << 16))
        assert (found.status is Status.PROVED) is right, found.errors
        assert right or "core/same-element" in {f.rule for f in found.errors}


def test_rows_that_are_padded_with_other_axes_are_not_alike() -> None:
    assert errors(gather(values(ROWS), table="(R, C) = 10200", more="")) == {"core/well-formed"}


@pytest.mark.parametrize(("element", "step", "rules"), [("R, C", 64, set()), ("R, C # 129", 64, {"core/well-formed"})])
@pytest.mark.parametrize("kind", ["gather", "scatter"])
def test_no_number_names_rows_that_begin_inside_a_byte(kind: str, element: str, step: int, rules: set[str]) -> None:
    """129 half bytes are 64.5 bytes: 16 rows are 1032 bytes, not 16 * 64."""
    text = gather(values([16, 0, 32, 64] * 16, step), kind=kind, table=element, dtype="i4")
    assert {r for r in errors(text) if r != "core/writes-once"} == rules


TINY = HEAD.replace("K = 64", "K = 4").replace("C = 128", "C = 16")
FEW = "values = [48, 0, 16, 80]"


@pytest.mark.parametrize(
    ("time", "side", "rules"),
    [
        ("K", 'element = "K, C"', set()),
        ("K", 'element = "K # 6, C"', set()),
        ("K # 6", 'element = "K, C"', {"core/in-bounds"}),
        ("K # 6", 'element = "K # 6, C"', {"core/in-bounds"}),
    ],
)
def test_a_stream_walks_no_key_without_a_number(time: str, side: str, rules: set[str]) -> None:
    text = gather(
        FEW, side=f'slice = "1 # 64", {side}', more=f'stream = {{ time = "{time}", packet = "C" }}', dtype="i8"
    )
    (found,) = api.check(TINY + text, "g", options=Options(cross_check=1 << 16))
    assert {f.rule for f in found.errors} == rules
    assert "a run" in found.confirmed


@pytest.mark.parametrize(
    ("kind", "index", "time", "packet", "rules"),
    [
        ("gather", "values = [48, 0, 16, 64]", "K, Q", "C # 24", set()),
        ("gather", "values = [48, 0, 16, 64]", "K, Q # 3", "C", {"core/padding"}),
        ("scatter", "values = [48, 0, 48, 48]", "K % 2, Q", "C", {"core/covers", "core/writes-once"}),
    ],
)
def test_a_padded_or_short_stream_is_no_disagreement(
    kind: str, index: str, time: str, packet: str, rules: set[str]
) -> None:
    """The run moves no padding of a stream, and says of what it may touch that it does not follow it."""
    index = re.sub("[0-9]+", lambda one: str(3 * int(one[0])), index)
    more = f'stream = {{ time = "{time}", packet = "{packet}" }}'
    side = 'slice = "1 # 64", element = "K, Q, C # 24"'
    text = TINY + gather(index, kind=kind, table="R, Q, C # 24", side=side, dtype="i8", more=more)
    (found,) = api.check(text, "g", options=Options(cross_check=1 << 16))
    assert {f.rule for f in found.errors} == rules


@pytest.mark.parametrize(
    ("write", "rules", "status"),
    [
        ("[K=4:16, C=1:96, C=16:1]:16", set(), Status.PROVED),
        ("[K=4:16, C=2:96, C=16:1]:16", set(), Status.UNKNOWN),
        ("[K=4:16, C=2:16, C=16:1]:16", {"core/padding"}, Status.REFUTED),
    ],
)
def test_rows_that_write_beside_themselves_are_wrong_in_other_rows_and_open_in_padding(
    write: str, rules: set[str], status: Status
) -> None:
    more = f'read = "[K=4:index, C={write[11]}:16, C=16:1]:16 HBM@0"\nwrite = "{write} DM@0"'
    text = TINY + gather(
        FEW, side='slice = "1 # 64", element = "(Q, K) # 12, C"', table="R, Q, C", dtype="i8", more=more
    )
    text = text.replace("Q = 2", "Q = 1").replace("[48, 0, 16, 80]", "[48, 0, 16, 32]")
    (found,) = api.check(text, "g", options=Options(cross_check=1 << 16))
    assert {f.rule for f in found.errors} == rules
    assert found.status is status


@pytest.mark.parametrize(
    ("side", "kind", "rules"),
    [
        ('slice = "1 # 64", element = "K # 6, C"', "gather", set()),
        ('slice = "1 # 64", element = "K #{0} 6, C"', "gather", {"core/padding"}),
        ('slice = "K #{0} 64", element = "C"', "gather", {"core/padding"}),
        ('slice = "1 # 64", element = "K, C # 24"', "gather", set()),
        ('slice = "1 # 64", element = "K, C #{0} 24"', "gather", {"core/padding"}),
        ('slice = "1 # 64", element = "K #{0} 6, C"', "scatter", set()),
    ],
)
def test_a_gather_makes_no_zeros_where_its_destination_claims_them(side: str, kind: str, rules: set[str]) -> None:
    text = gather(FEW, kind=kind, side=side, dtype="i8")
    (found,) = api.check(TINY + text, "g", options=Options(cross_check=1 << 16))
    assert {f.rule for f in found.errors} == rules
    assert "a run" in found.confirmed
    (alone,) = api.check(TINY + gather(FEW, kind=kind, side=side, more="", dtype="i8"), "g")
    by_row = "C #{0}" in side and bool(rules)  # which no table without zeros brings; what else, as for a transfer
    assert alone.status is (Status.REFUTED if by_row else Status.PROVED)


def test_an_axis_without_rows_of_its_own_is_no_table() -> None:
    assert errors(gather(values(ROWS), table="R / 8, C, R % 8", more="")) == {"core/well-formed"}
    assert errors(gather(values(ROWS), side='slice = "K / 2 % 32 # 64", element = "C"', more="")) == {
        "core/well-formed"
    }
    assert errors(gather(values(ROWS[:-1]))) == {"core/well-formed"}


# ---------------------------------------------------------------- printed configurations

SMALL = HEAD.replace("R = 80", "R = 4").replace("K = 64", "K = 4")


def printed(read: str, write: str, time: str = "") -> Verdict:
    stream = f'\nstream = {{ time = "{time}", packet = "C" }}' if time else ""
    text = gather(
        values([0, 2, 1, 3]), side='slice = "K # 64", element = "C"', more=f'read = "{read}"\nwrite = "{write}"{stream}'
    )
    (verdict,) = api.check(SMALL + text, "g", options=Options(cross_check=1 << 16))
    return verdict


WRITE = "[K=4:slice_stride, C=256:1]:256 DM/D@0"


@pytest.mark.parametrize(("time", "rules"), [("K", set()), ("R, K", {"core/same-program", "core/writes-once"})])
def test_a_stream_beside_printed_configurations_is_run_too(time: str, rules: set[str]) -> None:
    found = printed("[K=4:[0, 512, 256, 768], C=256:1]:256 HBM/D@0", WRITE, time)
    assert {f.rule for f in found.errors} == rules
    assert found.confirmed.startswith("a run") if not rules else "a run of the text" in found.confirmed


@pytest.mark.parametrize(
    ("read", "write", "found"),
    [
        ("[K=4:[0, 512, 256, 768], C=256:1]:256 HBM/D@0", WRITE, set()),
        ("[K=4:index, C=256:1]:256 HBM/D@0", WRITE, set()),
        ("[K=4:[0, 256, 128, 384], C=256:1]:256 HBM/D@0", WRITE, {"core/same-element"}),
        ("[K=4:[0, 512, 256, 512], C=256:1]:256 HBM/D@0", WRITE, {"core/same-element"}),
        ("[K=4:index, C=256:1]:256 HBM/D@0", "[K=4:256, C=256:1]:256 DM/D@0", {"core/same-element"}),
        ("[K=4:index, C=256:1]:256 HBM/D@256", WRITE, {"core/reads-live"}),
        ("[K=4:index, C=2:128, C=128:1]:128 HBM/D@0", "[K=4:slice_stride, C=2:128, C=128:1]:128 DM/D@0", set()),
    ],
)
def test_a_printed_indirect_loop_is_held_against_the_index(read: str, write: str, found: set[str]) -> None:
    verdict = printed(read, write)
    assert {f.rule for f in verdict.errors} >= found if found else not verdict.errors
    assert bool(verdict.errors) == bool(found)


@pytest.mark.parametrize(
    ("rows", "offsets", "status", "table"),
    [
        ("[0, 3]", "[0, 512, 256, 768]", Status.UNKNOWN, "R, C"),
        ("[0, 3]", "index", Status.PROVED, "R, C"),
        ("[2, 2]", "[512, 512, 512, 512]", Status.PROVED, "R, C"),
        ("[2, 2]", "[512, 512, 256, 512]", Status.REFUTED, "R, C"),
        ("[0, 2]", "[0, 512, 256, 768]", Status.REFUTED, "R, C"),
        ("[0, 3]", "[0, 512, 1000000, 7]", Status.REFUTED, "R, C"),
        ("[0, 3]", "[0, 256, 512, 768]", Status.UNKNOWN, "R, K, C"),
        ("[0, 0]", "[0, 256, 512, 768]", Status.PROVED, "R, K, C"),
    ],
)
def test_printed_offsets_of_an_index_known_at_run_time_name_no_row_for_sure(
    rows: str, offsets: str, status: Status, table: str
) -> None:
    more = f'read = "[K=4:{offsets}, C=256:1]:256 HBM/D@0"\nwrite = "{WRITE}"'
    text = gather(f"rows = {rows}", side='slice = "K # 64", element = "C"', more=more, table=table)
    (found,) = api.check(SMALL + text, "g", options=Options(cross_check=1 << 16))
    assert found.status is status, found
    assert {f.rule for f in found.errors} <= {"core/same-element", "rngd/hbm-dm-align"}
    if status is Status.UNKNOWN:
        assert any("known at run time" in one.why for one in found.obligations if one.id == "core/same-element")


@pytest.mark.parametrize(("row", "table", "rules"), [("4", "C / 2", {"rngd/hbm-dm-align"}), ("8", "C", set())])
def test_the_part_of_a_key_in_its_row_counts_for_rules_of_addresses(row: str, table: str, rules: set[str]) -> None:
    step = 64 * int(row)
    listed = [step * (k % 4) for k in range(64)]
    offsets = [at + int(row) * k for k, at in enumerate(listed)]
    padded = " # 8" if row == "4" else ""
    text = gather(
        f"values = {listed}", table=f"R, K, {table}", side=f'slice = "K", element = "{table + padded}"',
        more=f'read = "[K=64:{offsets}, C=8:1]:8 HBM/D@0"\nwrite = "[K=64:slice_stride, C=8:1]:8 DM/D@0"', dtype="i8",
    )  # fmt: skip
    assert {f.rule for f in judged_small(text).errors} == rules


def judged_small(text: str) -> Verdict:
    (found,) = api.check(HEAD.replace("C = 128", "C = 8") + text, "g", options=Options(cross_check=1 << 16))
    return found


@pytest.mark.parametrize(
    ("machine", "tiers", "bases", "found"),
    [
        ("plain", ("spm", "spm", "host"), (0, 1024, 0), set()),
        ("plain", ("spm", "spm", "host"), (0, 1023, 0), {"core/overlap"}),
        ("plain", ("spm", "hbm", "hbm"), (0, 16, 0), set()),
        ("plain", ("spm", "hbm", "hbm"), (0, 15, 0), {"core/overlap"}),
        ("rngd", ("hbm", "dm", "dm"), (0, 0, 0), {"core/overlap"}),
        ("rngd", ("hbm", "dm", "dm"), (0, 0, 128), set()),
    ],
)
def test_without_commands_the_regions_of_a_gather_lie_apart(
    machine: str, tiers: tuple[str, str, str], bases: tuple[int, int, int], found: set[str]
) -> None:
    source, dest, index = (f'tier = "{tier}", base = {base}' for tier, base in zip(tiers, bases, strict=True))
    on = "rngd" if machine == "rngd" else str(Path(__file__).resolve().parents[1] / "fuzz" / "plain")
    slices = ', slice = "1 # 64"' if tiers[2] == "dm" else ""
    keys, place = (64, 'slice = "K", element = "C"') if machine == "rngd" else (4, 'element = "K, C"')
    text = (
        f'schema = 1\ntarget = "{on}"\n[axes]\nR = 8\nK = {keys}\nC = 128\n[gather.g]\ndtype = "i8"\n'
        f'source = {{ {source}, element = "R, C" }}\ndest = {{ {dest}, {place} }}\n'
        f'index = {{ {index}{slices}, element = "K", dtype = "i32", '
        "scaled = false, rows = [0, 7] }\n"
    )
    for stream in ("", 'stream = { time = "K", packet = "C" }\n'):
        (verdict,) = api.check(text + stream, "g", options=Options(cross_check=1 << 16))
        assert {f.rule for f in verdict.errors} == found
        assert [one.status for one in verdict.obligations if one.id == "core/overlap"] in (
            [["refuted"]] if found else [["proved"], []]
        )
        if not stream:
            assert (verdict.claim == "the move alone; no command was checked") == (not found) or found
            assert sum("no command was checked" in said for said in verdict.assumptions) == 1


LOOPS = HEAD.replace("R = 80", "R = 4").replace("K = 64", "K = 4").replace("C = 128", "C = 16")


@pytest.mark.parametrize(
    ("read", "write", "said"),
    [
        ("[C=16:16, K=4:LIST, Q=16:1]:16 HBM@0", "[X=4:256, Y=4:16, K=4:64, Q=16:1]:16 DM@0", ""),
        ("[C=16:16, K=4:LIST, Q=16:1]:16 HBM\\u00400", "[X=4:256, Y=4:16, K=4:64, Q=16:1]:16 DM@0", ""),
        ("[(C, D)=16:16, K=4:LIST, Q=16:1]:16 HBM@0", "[X=4:256, Y=4:16, K=4:64, Q=16:1]:16 DM@0", ""),
        ("[C=16:16, K=4:LIST, Q=16:1]:16 HBM@0", "[X=4:256, Y=4:64, K=4:16, Q=16:1]:16 DM@0", "wrong"),
        ("[C=16:16, K=4:LIST, Q=16:1]:16 HBM@0", "[X=8:128, Y=4:64, K=2:16, Q=16:1]:16 DM@0", "no loop like"),
        ("[C=16:16, Q=16:1, K=4:LIST]:1 HBM@0", "[X=4:256, Y=4:16, Q=16:1, K=4:64]:1 DM@0", "aligned"),
        ("[C=16:16, Q=16:1, K=4:LIST]:4 HBM@0", "[X=4:256, Y=4:16, Q=16:1, K=4:64]:4 DM@0", "innermost"),
    ],
)
def test_the_indirect_loop_is_the_one_with_as_many_iterations_around_it(read: str, write: str, said: str) -> None:
    text = gather(
        "values = [0, 512, 256, 768]", table="R, C, S", side='slice = "1 # 64", element = "C / 4, K, C % 4, S"',
        dtype="i8", more=f'read = "{read.replace("LIST", "[0, 512, 256, 768]")}"\nwrite = "{write}"',
    )  # fmt: skip
    head = LOOPS + "S = 16\n"
    if said in ("no loop like", "innermost"):
        with pytest.raises(InputErrors, match=said):
            read_plan_text(head + text)
        return
    (found,) = api.check(head + text, "g", options=Options(cross_check=1 << 16))
    rules = {f.rule for f in found.errors}
    assert ("core/same-element" in rules) == (said == "wrong")
    assert bool(rules) == bool(said)


@pytest.mark.parametrize(
    ("index", "rules"),
    [
        ("values = [0, 512, 0, 256]", set()),
        ("values = [0, 512, 0, 768]", {"core/in-bounds"}),
        ("rows = [0, 2]", set()),
        ("rows = [0, 3]", {"core/in-bounds"}),
    ],
)
def test_a_row_that_is_read_beyond_its_cells_is_within_the_table_for_every_key(index: str, rules: set[str]) -> None:
    """17 columns of 16 are read: of the last row, the last one lies behind the table."""
    more = 'read = "[K=4:index, C=17:16, S=16:1]:16 HBM@0"\nwrite = "[K=4:512, C=17:16, S=16:1]:16 DM@0"'
    text = gather(index, table="R, C, S", side='slice = "1 # 64", element = "K, C # 32, S"', dtype="i8", more=more)
    (found,) = api.check(LOOPS + "S = 16\n" + text, "g", options=Options(cross_check=1 << 16))
    assert {f.rule for f in found.errors} == rules
    assert found.status is (Status.REFUTED if rules else Status.PROVED)


def test_a_list_in_another_order_than_the_index_is_none_of_it() -> None:
    """From the last key down: every row ends at its place, and the machine reads the index upwards."""
    found = printed("[K=4:[768, 256, 512, 0], C=256:1]:256 HBM/D@0", "[K=4:-4194304, C=256:1]:256 DM/D@12582912")
    assert "core/same-element" in {f.rule for f in found.errors}
    assert "a run of the text" in found.confirmed


def test_offsets_in_elements_are_named() -> None:
    verdict = printed("[K=4:[0, 256, 128, 384], C=256:1]:256 HBM/D@0", WRITE)
    assert "the offsets count elements: multiply them by 2" in verdict.errors[0].hint


def test_packets_in_another_order_than_rows_are_refuted() -> None:
    """The gather that puts packet after packet of all rows: every value right, none at its place."""
    verdict = printed("[K=4:index, C=2:128, C=128:1]:128 HBM/D@0", "[K=4:slice_stride, C=2:256, C=128:1]:128 DM/D@0")
    assert {"core/same-element", "core/in-bounds"} & {f.rule for f in verdict.errors}


# ---------------------------------------------------------------- input, programs


def loops(read: str, write: str) -> str:
    return gather(values(ROWS), more=f'read = "{read}"\nwrite = "{write}"')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (gather(values(ROWS) + ", rows = [0, 1]"), "`rows` beside `values`"),
        (gather("rows = [3, 1]"), "goes from the first to the last row"),
        (loops("[K=64:0, C=256:1]:256", "[K=64:0, C=256:1]:256"), "no indirect loop"),
        (loops("[K=2:[0, 1, 2], C=256:1]:256", "[K=2:0, C=256:1]:256"), "has 3 offsets"),
        (loops("[K=2:[0, x], C=256:1]:256", "[K=2:0, C=256:1]:256"), "`x` is no offset"),
        (loops("[K=2:index, C=256:1]:256", "[C=256:1]:256"), "no loop like the indirect"),
        (gather(values(ROWS), more='read = "[K=2:index, C=256:1]:256"'), "`read` without `write`"),
        (gather(values(ROWS), more='axis = "Z"'), "`Z` is no axis"),
        (gather(values(ROWS), table="K, R, C"), "picks K, the first axis of the table that a row lacks"),
        (gather(values(ROWS), table="K, C", kind="scatter"), "K is the key as well"),
        (gather(values(ROWS), more="foo = 1"), "unknown key `foo`"),
        (gather("values = []"), "`values` is empty"),
        (gather("values = [0.5]"), "must be an integer"),
        (gather("values = [0]").replace('"R, C"', '"R, C", view = { pad = 99 }', 1), "takes no view"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_at_its_place(text: str, said: str) -> None:
    with pytest.raises(InputErrors) as found:
        read_plan_text(HEAD + text)
    assert any(said in error.message and error.span is not None for error in found.value.errors), found.value


def test_another_axis_than_the_library_picks_is_a_finding() -> None:
    text = gather(values(ROWS), table="Q, R, C", more='axis = "R"')
    found = judged(text)
    assert any("the library picks Q" in f.message for f in found.errors)


def test_what_a_row_has_of_the_keys_axis_does_not_hide_the_axis_of_the_table() -> None:
    text = gather(values(ROWS), table="K, R, C", more='axis = "R"')
    assert any("the library picks K" in f.message for f in judged(text).errors)


def test_a_read_after_a_scatter_is_a_hazard_without_an_order() -> None:
    read = (
        '[transfer.read]\ndtype = "bf16"\nsource = { tier = "hbm", element = "R, C" }\n'
        'dest = { tier = "dm", base = 65536, slice = "64", element = "R, C" }\n'
    )
    steps = (
        '[program.p]\n[[program.p.step]]\nscatter = "g"\n[[program.p.step]]\ntransfer = "read"\ncontext = "other"\n%s'
    )
    text = gather(values(ROWS), kind="scatter") + read
    for after, found in (("", {"core/hazard-raw"}), ('after = ["g"]\n', set())):
        (program,) = api.check(HEAD + text + steps % after, "p", options=Options(repair=False))
        assert {f.rule for f in program.errors} == found
    promised = gather(DISTINCT, kind="scatter") + read
    (program,) = api.check(HEAD + promised + steps % 'after = ["g"]\n', "p")
    assert program.status is Status.PROVED
    assert sum(said.endswith("at run time") for said in program.assumptions) == 2
    refuted = gather(values([ROWS[0], *ROWS[:-1]]), kind="scatter") + read
    (program,) = api.check(HEAD + refuted + steps % 'after = ["g"]\n', "p")
    assert {f.rule for f in program.errors} == {"core/steps"}


# ---------------------------------------------------------------- running


def run_of(text: str, capsys: pytest.CaptureFixture[str], path: Path) -> tuple[int, str]:
    from dmaverify.cli.app import invoke

    path.write_text(HEAD + text)
    code = invoke(["run", f"{path}::g"])
    said = capsys.readouterr()
    return code, said.out + said.err


def test_a_gather_is_run_row_by_row(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, said = run_of(gather(values(ROWS)), capsys, tmp_path / "g.toml")
    assert (code, "arrived   16,384 bytes of 16,384" in said) == (0, True)
    code, said = run_of(gather(values([*ROWS[:-1], 80])), capsys, tmp_path / "g.toml")
    assert code == 1
    assert "core/in-bounds" in said
    code, said = run_of(gather("rows = [0, 79]"), capsys, tmp_path / "g.toml")
    assert (code, "The gather keeps its promise." in said) == (0, True)


def test_a_gather_does_not_read_all_of_its_table() -> None:
    write = 'source = { tier = "hbm", base = "2^21", element = "R, C" }\ndest = { tier = "hbm", element = "R, C" }\n'
    stream = 'stream = { time = "R", packet = "C" }\n'
    moves = "".join(f'[transfer.{name}]\ndtype = "bf16"\n{write}{stream}' for name in "ab")
    whole = f'[transfer.w]\ndtype = "bf16"\nsource = {{ tier = "hbm", element = "R, C" }}\n{write.splitlines()[1]}\n'
    whole = whole.replace('dest = { tier = "hbm"', 'dest = { tier = "hbm", base = "2^22"') + stream
    text = (moves + whole).replace('"2^21"', "2097152").replace('"2^22"', "4194304")
    for read, told in (('gather = "g"', True), ('transfer = "w"', False)):
        steps = ", ".join(f"{{ {step} }}" for step in ('transfer = "a"', read, 'transfer = "b"'))
        found = judged(f'{text}{gather(f"values = {[BYTES * row for row in ROWS]}")}[program.p]\norder = "written"\n'
                       f"step = [{steps}]\n", "p")  # fmt: skip
        assert found.status is Status.PROVED
        assert ("`b` may write hbm R, C again before all that `a` wrote is read" in found.conditions) == told


LISTED = (
    'schema = 1\ntarget = "rngd"\n[axes]\nC = 256\nR = 128\nK = 4\nS = 64\n{moves}[program.p]\nholds = ["dm"]\n'
    "{regions}step = [{steps}]\n"
)
LISTED_MOVE = (
    '[gather.{name}]\ndtype = "i8"\nsource = {{ tier = "hbm", element = "R, C" }}\n'
    'dest = {{ tier = "dm", base = {base}, slice = "K # 64", element = "C" }}\n'
    'index = {{ tier = "dm", base = {at}, element = "K", scaled = {scaled}, {states} }}\n'
    'stream = {{ time = "K", packet = "C" }}\n'
)
MAKE_LIST = (
    '[transfer.list]\ndtype = "{dtype}"\nsource = {{ tier = "hbm", base = 1048576, element = "{element}" }}\n'
    'dest = {{ tier = "dm", base = 65536, element = "{element}" }}\nstream = {{ time = "1", packet = "{element}" }}\n'
)


@pytest.mark.parametrize(
    ("one", "other", "holds"),
    [
        ("values = [0, 1, 2, 3]", "values = [0, 1, 2, 3]", True),
        ("values = [0, 1, 2, 3]", "values = [0, 1, 2, 4]", False),
        ("values = [0, 1, 2, 3]", "rows = [0, 3]", True),
        ("values = [0, 1, 2, 3]", "rows = [1, 23]", False),
        ("rows = [0, 9]", "rows = [9, 20]", True),
        ("rows = [0, 9]", "rows = [10, 20]", False),
        ("rows = [0, 9], distinct = true", "rows = [6, 20]", True),
        ("rows = [0, 9], distinct = true", "rows = [7, 20]", False),
        ("values = [1, 1, 2, 3]", "rows = [0, 9], distinct = true", False),
    ],
)
@pytest.mark.parametrize("turned", [False, *rest([True])])
def test_two_lists_in_the_same_bytes_are_one_list(one: str, other: str, holds: bool, turned: bool) -> None:
    def judged(at: int, steps: str, extra: str = "") -> tuple[set[str], tuple[str, ...]]:
        ways = (other, one) if turned else (one, other)
        moves = LISTED_MOVE.format(name="a", base=0, at=65536, scaled="false", states=ways[0])
        moves += LISTED_MOVE.format(name="b", base=1024, at=at, scaled="false", states=ways[1])
        few = LISTED.replace("C = 256\nR = 128", "C = 16\nR = 24")
        (verdict,) = api.check(few.format(moves=moves + extra, steps=steps, regions=""), "p")
        return {f.rule for f in verdict.errors}, verdict.conditions

    both = '{ gather = "a" }, %s{ gather = "b", after = ["a"] }'
    assert judged(65536, both % "") == ((set() if holds else {"core/not-vacuous"}), ())
    assert judged(65552, both % "") == (set(), ())
    made = '{ transfer = "list", after = ["a"], context = "x" }, '
    again = both.replace('after = ["a"]', 'after = ["list"]')
    assert judged(65536, again % made, MAKE_LIST.format(dtype="i32", element="K")) == (set(), ())
    before = '{ transfer = "list", context = "x" }, { gather = "a", after = ["list"] }, { gather = "b", after = ["a"] }'
    found = judged(65536, before, MAKE_LIST.format(dtype="i32", element="K"))
    assert found == ((set() if holds else {"core/not-vacuous"}), ())
    rules, conditions = judged(65544, both % "")
    assert not rules
    assert conditions == ("the lists of `a` and `b`, which share bytes, are what both state",)


@pytest.mark.parametrize(
    ("made", "wanted"), [("last", {"core/not-vacuous"}), ("between", set()), ("first", {"core/not-vacuous"})]
)
def test_a_loop_that_writes_its_list_has_one_list_in_each_iteration(made: str, wanted: set[str]) -> None:
    moves = LISTED_MOVE.format(name="a", base=0, at=65536, scaled="false", states="values = [0, 1, 2, 3]")
    moves += LISTED_MOVE.format(name="b", base=1024, at=65536, scaled="false", states="values = [0, 1, 2, 4]")
    steps = ['gather = "a"', 'gather = "b"']
    steps.insert({"first": 0, "between": 1, "last": 2}[made], 'transfer = "list"')
    body = ", ".join(f"{{ {step}, loop = {{ t = 2 }} }}" for step in steps)
    text = LISTED.format(
        moves=moves + MAKE_LIST.format(dtype="i32", element="K"), steps=body, regions='order = "written"\n'
    )
    (verdict,) = api.check(text, "p")
    assert {f.rule for f in verdict.errors} == wanted


@pytest.mark.parametrize(("first", "holds"), [(256, True), (128, False)])
def test_bytes_that_two_tables_of_other_rows_promise_are_multiples_of_both(first: int, holds: bool) -> None:
    """Rows of 256 bytes of one table, of 128 of the other."""
    moves = LISTED_MOVE.format(name="a", base=0, at=65536, scaled="true", states="rows = [0, 127]")
    half = LISTED_MOVE.replace('"R, C"', '"R, H"').replace('element = "C" }}', 'element = "H" }}')
    values = f"values = {[first, 512, 768, 1024]}"
    moves += half.replace('= "C"', '= "H"').format(name="b", base=1024, at=65536, scaled="true", states=values)
    text = LISTED.format(moves=moves, steps='{ gather = "a" }, { gather = "b", after = ["a"] }', regions="")
    (verdict,) = api.check(text.replace("C = 256\n", "C = 256\nH = 128\n"), "p")
    assert ("core/not-vacuous" in {f.rule for f in verdict.errors}) is not holds


@pytest.mark.parametrize(("first", "last"), [(3, True), (4, False)])
def test_promises_of_bytes_and_of_rows_are_compared_as_numbers(first: int, last: bool) -> None:
    """Rows of 256 bytes: 3 of them are 768."""
    moves = LISTED_MOVE.format(name="a", base=0, at=65536, scaled="true", states=f"rows = [{first}, 9]")
    moves += LISTED_MOVE.format(name="b", base=1024, at=65536, scaled="true", states="values = [768, 1024, 1280, 1536]")
    steps = '{ gather = "a" }, { gather = "b", after = ["a"] }'
    (verdict,) = api.check(LISTED.format(moves=moves, steps=steps, regions=""), "p")
    assert ("core/not-vacuous" in {f.rule for f in verdict.errors}) is not last


@pytest.mark.parametrize(
    ("dtype", "element", "said"),
    [
        ("i32", "K", ()),
        ("i8", "S", ("`g` reads as dm element `K` at 65,536 what `list` writes as dm element `S` at 65,536",)),
    ],
)
def test_a_list_that_a_step_makes_is_read_as_the_index_declares_it(
    dtype: str, element: str, said: tuple[str, ...]
) -> None:
    moves = MAKE_LIST.format(dtype=dtype, element=element)
    moves += LISTED_MOVE.format(name="g", base=0, at=65536, scaled="false", states="rows = [0, 127]")
    steps = '{ transfer = "list" }, { gather = "g", after = ["list"] }'
    (verdict,) = api.check(LISTED.format(moves=moves, steps=steps, regions=""), "p")
    assert (verdict.status.value, verdict.conditions) == ("proved", said)


@pytest.mark.parametrize(("size", "found"), [(32768, set()), (32767, {"core/regions"})])
def test_the_region_that_a_gather_reads_holds_its_table(size: int, found: set[str]) -> None:
    moves = LISTED_MOVE.format(name="g", base=0, at=65536, scaled="false", states="rows = [0, 127]")
    moves += (
        f'[region.table]\ntier = "hbm"\nbase = 0\nsize = {size}\n[region.list]\ntier = "dm"\nbase = 65536\nsize = 16\n'
    )
    text = LISTED.format(
        moves=moves, steps='{ gather = "g", reads = "table" }', regions='regions = ["table", "list"]\n'
    )
    (verdict,) = api.check(text, "p")
    assert {f.rule for f in verdict.errors} == found
