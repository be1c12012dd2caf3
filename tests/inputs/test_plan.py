"""Plan files: every key of the format, exact spans, all errors at once, and nothing but `InputErrors` for garbage."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmaverify.errors import InputError, Span
from dmaverify.language.expr import Expr, Padding, Symbol, walk
from dmaverify.plan.plan import Plan, PlanTransfer, select
from dmaverify.plan.read import InputErrors, read_plan, read_plan_text
from dmaverify.plan.schema import json_schema
from dmaverify.program.access import Access
from dmaverify.program.command import Engine

PLAN = """\
schema = 1
target = "rngd"
name = "the example"

[axes]
A = 256
B = 256
C = 256
Z = 8

[let]
"A'" = "A # 512"
"A''" = "A' / 4"

[transfer.relayout]
dtype  = "i8"
source = { tier = "hbm", base = 4096, element = "B, A, C" }
dest   = { tier = "dm", base = 64, chip = "1", cluster = "1", slice = "A / 4", element = "A % 4, B, C" }
stream = { time = "B, A % 4, A / 4 % 32, A / 128", packet = "C" }
unit   = "bytes"
read   = "[B=256:65536, A%4=4:256, A/4%32=32:1024, A/128=2:32768, C=256:1]:256 HBM/D@0"
write  = "[B=256:256, A%4=4:65536, A/4%32=32:slice_stride, A/128=2:DMN_stride, C=256:1]:256 DM/D@0"
engine = { chip = 0, cluster = 1, dmn = 3 }
limits = { entries = 8 }
expect = "proved"

[transfer.several]
dtype = "bf16"
source = { tier = "hbm", base = { chip = 1, element = 64 }, chip = "Z", element = "A''" }
dest = { tier = "spm", base = { chip = 1, cluster = 1 }, element = "A''" }
unit = "elements"
expect = ["core/same-element", "core/padding", "core/same-element"]
[[transfer.several.command]]
engine = { dmn = 2 }
read = "[C=16:1]:16"
write = "[C=16:2]:1"
[[transfer.several.command]]
sequencer = "[C=16:(1, 2)]:16"
unit = "bytes"

[transfer.plain]
dtype = "i4"
source = { tier = "hbm", element = "A" }
dest = { tier = "hbm", base = 128, element = "A" }

[access.rearranging]
engine  = "fetch"
context = "sub"
dtype   = "i8"
memory  = { tier = "dm", base = 0, element = "A, B, C # 512" }
stream  = { time = "B, A", packet = "C # 16", slice = "Z" }
unit    = "elements"
config  = "[B=8:32, A=8:256, C#16=16:1]:16"
limits  = { entries = 6 }
expect  = "proved"

[access.derived]
engine = "commit"
dtype  = "bf16"
memory = { tier = "dm", element = "A" }
stream = { packet = "A" }
"""

SMALL = """\
schema = 1
target = "rngd"
[axes]
A = 8
[transfer.t]
dtype = "i8"
source = { tier = "hbm", base = 0, element = "A" }
dest = { tier = "dm", base = 0, element = "A" }
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return read_plan_text(PLAN, "plan.toml")


def transfer(plan: Plan, name: str) -> PlanTransfer:
    return {found.name: found for found in plan.transfers}[name]


def errors_of(text: str) -> tuple[InputError, ...]:
    with pytest.raises(InputErrors) as caught:
        read_plan_text(text, "plan.toml")
    return caught.value.errors


def text_of(span: Span | None) -> str | None:
    return None if span is None else span.text


# --- what is read


def test_the_head_of_the_file_is_read(plan: Plan) -> None:
    assert (plan.path, plan.name) == ("plan.toml", "the example")
    assert plan.axes == {"A": 256, "B": 256, "C": 256, "Z": 8}
    assert {name: str(expr) for name, expr in plan.lets.items()} == {"A'": "A # 512", "A''": "A # 512 / 4"}
    assert plan.names == ("relayout", "several", "plain", "rearranging", "derived")
    assert (tuple(plan.targets), plan.targets["rngd"].name, plan.problems) == (("rngd",), "rngd", ())


def test_a_transfer_has_all_its_parts(plan: Plan) -> None:
    move = transfer(plan, "relayout").transfer
    assert (move.name, move.target, move.dtype) == ("relayout", "rngd", "i8")
    assert (move.source.tier, move.source.base, str(move.source.element)) == ("hbm", 4096, "B, A, C")
    assert (move.dest.tier, move.dest.base, str(move.dest.slice)) == ("dm", 64, "A / 4")
    assert str(move.dest.element) == "A % 4, B, C"
    assert move.stream is not None
    assert (str(move.stream.time), str(move.stream.packet)) == ("B, A % 4, A / 4 % 32, A / 128", "C")
    assert (str(move.stream.chip), str(move.stream.slice)) == ("1", "1")
    assert (move.limits, move.expect) == ((("entries", 8),), ())
    (given_command,) = move.given
    assert given_command.engine == Engine(0, 1, 3)
    assert [entry.stride for entry in given_command.write.entries] == [256, 65536, 4 << 20, 128 << 20, 1]
    assert (given_command.read.tier, given_command.read.base, given_command.read.packet) == ("hbm", 0, 256)


def test_several_commands_keep_their_order_engine_and_unit(plan: Plan) -> None:
    first, second = transfer(plan, "several").given
    assert (first.engine, second.engine) == (Engine(0, 0, 2), None)
    assert [(e.count, e.stride) for e in first.read.entries] == [(32, 1)]
    assert [(e.count, e.stride) for e in first.write.entries] == [(16, 4), (2, 1)]
    assert [(e.count, e.stride) for e in second.read.entries] == [(16, 1)]
    assert [(e.count, e.stride) for e in second.write.entries] == [(16, 2)]
    assert second.read.packet == 16


def test_a_base_record_fills_the_offsets(plan: Plan) -> None:
    move = transfer(plan, "several").transfer
    assert (move.source.at_chip, move.source.base) == (1, 64)
    assert (move.dest.at_chip, move.dest.at_cluster, move.dest.at_slice, move.dest.base) == (1, 1, 0, 0)


def test_expect_is_proved_or_a_set_of_ids_or_nothing(plan: Plan) -> None:
    expected = [found.transfer.expect for found in plan.transfers]
    assert expected == [(), ("core/same-element", "core/padding"), None]


def test_missing_parts_have_their_defaults(plan: Plan) -> None:
    move = transfer(plan, "plain").transfer
    assert (move.source.base, move.stream, move.given, move.limits) == (0, None, (), ())
    assert str(move.source.mapping) == "1, 1, 1, A"


def test_accesses_are_read(plan: Plan) -> None:
    first, second = plan.accesses
    assert (first.name, first.target, first.engine, first.context) == ("rearranging", "rngd", "fetch", "sub")
    assert (first.dtype, str(first.memory.element), str(first.stream.packet)) == ("i8", "A, B, C # 512", "C # 16")
    assert (str(first.stream.slice), first.limits, first.expect) == ("Z", (("entries", 6),), ())
    assert first.config is not None
    assert [(e.count, e.stride) for e in first.config.entries] == [(8, 32), (8, 256), (16, 1)]
    assert (second.engine, second.context, second.config, second.expect) == ("commit", "main", None, None)
    assert str(second.stream.time) == "1"


@pytest.mark.parametrize(("dtype", "unit", "count"), [("i4", "bytes", 16), ("i4", "elements", 8), ("f32", "bytes", 8),
                                                      ("f32", "elements", 32), ("bf16", "elements", 16)])  # fmt: skip
def test_numbers_become_units_of_the_dtype(dtype: str, unit: str, count: int) -> None:
    text = SMALL.replace('"i8"', f'"{dtype}"') + f'unit = "{unit}"\nsequencer = "[A=8:(1, 1)]:8"\n'
    (command,) = read_plan_text(text).transfers[0].given
    assert (command.read.entries[0].count, command.write.packet) == (count, count)


def test_slice_stride_is_bytes_also_where_units_are_half_bytes() -> None:
    text = SMALL.replace('"i8"', '"i4"') + 'sequencer = "[A=8:(slice_stride, 1)]:1"\n'
    (command,) = read_plan_text(text).transfers[0].given
    assert command.read.entries[0].stride == 2 * (4 << 20)


def test_targets_may_differ_by_transfer_and_be_overridden(tmp_path: Path) -> None:
    second = SMALL[SMALL.index("[transfer.t]") :].replace(".t]", '.u]\ntarget = "toy"')
    second = second.replace('"hbm"', '"gm"').replace('"dm"', '"ub"')
    plan = read_plan_text(SMALL + second)
    assert [found.transfer.target for found in plan.transfers] == ["rngd", "toy"]
    assert list(plan.targets) == ["rngd", "toy"]
    path = tmp_path / "plan.toml"
    path.write_text(SMALL.replace('"rngd"', '"nowhere"'), encoding="utf-8")
    assert [found.transfer.target for found in read_plan(path, target="rngd").transfers] == ["rngd"]


def test_a_target_folder_is_found_beside_the_plan(tmp_path: Path, plan: Plan) -> None:
    folder = plan.targets["rngd"].folder
    (tmp_path / "mine").mkdir()
    for name in ("target.toml", "rules.smt2"):
        (tmp_path / "mine" / name).write_bytes((folder / name).read_bytes())
    path = tmp_path / "plan.toml"
    path.write_text(SMALL.replace('"rngd"', '"./mine"'), encoding="utf-8")
    found = read_plan(str(path))
    key = found.transfers[0].transfer.target
    assert (key, found.targets[key].folder) == (str(tmp_path / "mine"), tmp_path / "mine")


def test_select_keeps_one_or_all(plan: Plan) -> None:
    assert select(plan, None) is plan
    assert select(plan, "several").names == ("several",)
    assert select(plan, "derived").names == ("derived",)
    with pytest.raises(InputError) as caught:
        select(plan, "relayuot")
    assert caught.value.hint == "did you mean `relayout`?"
    with pytest.raises(InputError, match="has no transfer") as caught:
        select(plan, "zzz")
    assert "relayout, several" in (caught.value.hint or "")


# --- spans


def test_every_value_is_known_by_its_dotted_key(plan: Plan) -> None:
    spans = transfer(plan, "relayout").key_spans
    expected = {
        "dtype": "i8",
        "source.tier": "hbm",
        "source.base": "4096",
        "dest.slice": "A / 4",
        "stream.packet": "C",
        "engine.dmn": "3",
        "limits.entries": "8",
        "expect": "proved",
    }
    assert {key: spans[key].text for key in expected} == expected
    assert transfer(plan, "several").key_spans["command.1.sequencer"].text == "[C=16:(1, 2)]:16"
    assert plan.accesses[0].key_spans["memory.element"].text == "A, B, C # 512"


def test_tables_know_their_line_and_name(plan: Plan) -> None:
    lines = [found.line for found in (*plan.transfers, *plan.accesses)]
    assert [PLAN.splitlines()[line - 1] for line in lines] == [
        "[transfer.relayout]", "[transfer.several]", "[transfer.plain]", "[access.rearranging]", "[access.derived]",
    ]  # fmt: skip
    assert [text_of(found.transfer.span) for found in plan.transfers] == ["relayout", "several", "plain"]
    assert text_of(plan.accesses[0].span) == "rearranging"


def test_spans_of_parts_lie_in_the_file(plan: Plan) -> None:
    move = transfer(plan, "relayout").transfer
    assert text_of(move.source.span) == '{ tier = "hbm", base = 4096, element = "B, A, C" }'
    assert text_of(move.source.base_span) == "4096"
    assert text_of(move.dest.slice.span) == "A / 4"
    entry = move.given[0].write.entries[2]
    assert [text_of(s) for s in (entry.span, entry.stride_span)] == ["A/4%32=32:slice_stride", "slice_stride"]
    assert str(entry.stride_span) == "plan.toml:22:46"
    assert entry.stride_span is not None
    assert entry.stride_span.source is plan.source


def spans_of(expr: Expr) -> list[str | None]:
    return [text_of(node.span) for node in walk(expr)]


def test_spans_are_exact_behind_escapes_and_in_names() -> None:
    text = (
        SMALL.replace('element = "A" }\ndest', 'element = "\\u0041 / 2, \\u0042 # 4" }\ndest') + '[let]\nB = "A # 16"\n'
    )
    element = read_plan_text(text).transfers[0].transfer.source.element
    assert str(element) == "A / 2, A # 16 # 4"
    spans = spans_of(element)
    assert spans[:3] == ["\\u0041 / 2, \\u0042 # 4", "\\u0041 / 2", "\\u0041"]
    assert "\\u0042 # 4" in spans
    text = SMALL + 'sequencer = "[\\u0041=8:(1, \\u0032)]:8"\n'
    (command,) = read_plan_text(text).transfers[0].given
    assert text_of(command.write.entries[0].stride_span) == "\\u0032"


def test_a_name_stands_for_its_mapping(plan: Plan) -> None:
    element = transfer(plan, "several").transfer.source.element
    nodes = list(walk(element))
    assert isinstance(nodes[1], Padding)
    assert nodes[2] == Symbol("A", 256)


@pytest.mark.parametrize(
    ("old", "new", "at"),
    [
        ('element = "A" }\ndest', 'element = "A /" }\ndest', ""),
        ('element = "A" }\ndest', 'element = "\\u0041 / / 2" }\ndest', "/"),
        ('element = "A" }\ndest', "element = '''\nA, ,'''}\ndest", ","),
        ("[transfer.t]", '[let]\nB = "A, ?"\n[transfer.t]', "?"),
    ],
)
def test_an_error_inside_a_mapping_is_at_its_characters(old: str, new: str, at: str) -> None:
    assert old in SMALL
    (error,) = errors_of(SMALL.replace(old, new))
    assert text_of(error.span) == at


# --- readable, but no sense


def problems_of(text: str) -> list[tuple[str, str, str]]:
    found = read_plan_text(text).transfers[0].problems
    return [(problem.message, problem.span.text, problem.hint) for problem in found]


@pytest.mark.parametrize(
    ("old", "new", "message", "at"),
    [
        ('"hbm", base = 0', '"hbm", base = 0, slice = "A"', "hbm has no slice", "slice"),
        ('"hbm", base = 0', '"hbm", base = { cluster = 1 }', "hbm has no cluster", "cluster"),
        ('"dm", base = 0', '"hbm", base = { slice = 0 }', "hbm has no slice", "slice"),
        ('"dm", base = 0', '"host", base = 0, chip = "1"', "host has no chip", "chip"),
    ],
)
def test_a_key_that_its_tier_does_not_have_is_a_problem_and_stays(old: str, new: str, message: str, at: str) -> None:
    ((found, where, hint),) = problems_of(SMALL.replace(old, new))
    assert (found, where) == (message, at)
    assert "element" in hint


def test_a_slice_of_hbm_stays_in_the_tensor() -> None:
    text = SMALL.replace('"hbm", base = 0', '"hbm", base = 0, slice = "A"')
    assert str(read_plan_text(text).transfers[0].transfer.source.slice) == "A"


def test_every_key_of_data_memory_is_its_own() -> None:
    text = SMALL.replace(
        '"dm", base = 0', '"dm", base = { chip = 1, cluster = 1, slice = 2, element = 8 }, cluster = "1"'
    )
    assert problems_of(text) == []
    dest = read_plan_text(text).transfers[0].transfer.dest
    assert (dest.at_chip, dest.at_cluster, dest.at_slice, dest.base) == (1, 1, 2, 8)


def test_a_medium_that_is_not_the_tensors_is_a_problem() -> None:
    text = SMALL + 'read = "[A=8:1]:8 DM/D@0"\nwrite = "[A=8:1]:8 DM/D@0"\n'
    assert problems_of(text) == [("the read side names dm, but the source lies in hbm", "DM/D@0", "name HBM")]


def test_a_base_with_more_parts_than_the_tier_is_a_problem() -> None:
    text = SMALL + 'read = "[A=8:1]:8 @(1, 2, 0)"\nwrite = "[A=8:1]:8 @(1, 2, 0)"\n'
    assert problems_of(text) == [("the base has 3 parts, hbm has 2", "@(1, 2, 0)", "write (chip, offset)")]


def test_an_access_is_looked_at_like_a_transfer() -> None:
    text = PLAN.replace('C#16=16:1]:16"', 'C#16=16:1]:16 HBM/D@0"').replace('"dm", element = "A"', '"dm", base = {}')
    first, second = read_plan_text(text).accesses
    assert [problem.message for problem in first.problems] == ["the config side names hbm, but the memory lies in dm"]
    assert second.problems == ()


def test_an_axis_of_size_zero_and_an_undeclared_axis_are_readable() -> None:
    plan = read_plan_text(
        SMALL.replace("A = 8", "A = 8\nB = 0").replace('element = "A" }\ndest', 'element = "Y" }\ndest')
    )
    assert [(p.message, p.span.text) for p in plan.problems] == [("the axis `B` has size 0", "0")]
    assert plan.transfers[0].transfer.source.element == Symbol("Y", 0)


# --- what cannot be read


def edited(old: str, new: str) -> str:
    assert old in SMALL
    return SMALL.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new", "message", "at", "hint"),
    [
        ("schema = 1", "", "`schema` is missing", None, "schema = 1"),
        ("schema = 1", "schema = 2", "`schema` must be 1, not 2", "2", "schema = 1"),
        ("schema = 1", "schema = true", "`schema` must be 1, not true", "true", "schema = 1"),
        ("schema = 1", "schema = 1.0", "`schema` must be 1, not 1.0", "1.0", "schema = 1"),
        ("schema = 1", 'schema = "1"', '`schema` must be 1, not "1"', "1", "schema = 1"),
        ('target = "rngd"', "", "the target is missing", None, "rngd"),
        ('target = "rngd"', 'target = "rgnd"', "no target 'rgnd'", "rgnd", "rngd"),
        ('target = "rngd"', "target = 5", "`target` must be text in quotes, not 5", "5", "rngd"),
        ('target = "rngd"', 'targt = "rngd"', "unknown key `targt`", "targt", "did you mean `target`?"),
        ("[axes]\nA = 8\n", "", "`axes` is missing", None, "[axes]"),
        ("[axes]\nA = 8", "axes = 3", "`axes` must be a table, not 3", "3", "[axes]"),
        ("A = 8", "A = -8", "`A` cannot be negative: -8", "-8", "from 0"),
        ("A = 8", "A = true", "`A` must be an integer, not true", "true", "digits"),
        ("A = 8", "A = 8.0", "`A` must be an integer, not 8.0", "8.0", "digits"),
        ("A = 8", 'A = "8"', '`A` must be an integer, not "8"', "8", "digits"),
        ("A = 8", "A = inf", "`A` must be an integer, not inf", "inf", "digits"),
        ("A = 8", "A = 2020-01-01", "`A` must be an integer, not 2020-01-01", "2020-01-01", "digits"),
        ("A = 8", "A.B = 8", "unknown key `B`", "B", "multiple_of"),
        ("A = 8", "A = 1000000000000000001", "`A` is too large", "1000000000000000001", "10^18"),
        ("A = 8", "A = " + "9" * 400, "`A` is too large: a number of 1329 bits", "9" * 400, "10^18"),
        ("A = 8", "A = " + "9" * 5000, "more than 4,300 digits", "9" * 5000, "2^62"),
        ("A = 8", "a = 8", "`a` cannot be the name of an axis", "a", "capital"),
        ("A = 8", '"Ä" = 8', "`Ä` cannot be the name of an axis", '"Ä"', "capital"),
        ("A = 8", '"" = 8', "`` cannot be the name of an axis", '""', "capital"),
        ("A = 8", '"A B" = 8', "`A B` cannot be the name of an axis", '"A B"', "capital"),
        ("A = 8", 'A = 8\ndtype = "i8"', "`dtype` cannot be the name of an axis", "dtype", "in [transfer.NAME]"),
        ("A = 8", "A' = 8", "not TOML", "'", '"A\'" = 16'),
        ("A = 8", "A = 8\nA = 9", "`A` is defined twice", "A", "once"),
        ("[transfer.t]", "[transfr.t]", "unknown key `transfr`", "transfr", "did you mean `transfer`?"),
        ("[transfer.t]", "[transfer]", "the transfer has no name", "transfer", "[transfer.NAME]"),
        ("[transfer.t]", "[[transfer.t]]", "`t` must be a table, not a list", "[[transfer.t]]", "[table]"),
        ("[transfer.t]", '[transfer."t t"]', "`t t` cannot be the name of a transfer", '"t t"', "letters"),
        ("[transfer.t]", '[transfer."ü"]', "`ü` cannot be the name of a transfer", '"ü"', "letters"),
        ('dtype = "i8"', "", "`dtype` is missing", "t", 'dtype = "i8"'),
        ('dtype = "i8"', 'dtype = "int8"', "rngd has no type `int8`", "int8", "did you mean `i"),
        ('dtype = "i8"', 'dtype = "zz"', "rngd has no type `zz`", "zz", "known: i4"),
        ('dtype = "i8"', 'dtype = "i5"', "no tensor in memory is `i5`", "i5", "engines only"),
        ('dtype = "i8"', "dtype = 8", "`dtype` must be text in quotes, not 8", "8", "i8"),
        ('tier = "hbm", ', "", "`tier` is missing", "source", "hbm"),
        ('"hbm"', '"hmb"', "rngd has no tier `hmb`", "hmb", "did you mean `hbm`?"),
        ('"hbm"', '"gm"', "rngd has no tier `gm`", "gm", "known: hbm"),
        ("base = 0", "base = -1", "`base` cannot be negative: -1", "-1", "from 0"),
        ("base = 0", 'base = "none"', '`base` must be an integer, not "none"', "none", "a number, or its text"),
        ("base = 0", "base = false", "`base` must be an integer, not false", "false", "byte address"),
        ("base = 0", "base = [0]", "`base` must be an integer, not a list", "[0]", "byte address"),
        ("base = 0", "base = { chp = 1 }", "unknown key `chp`", "chp", "did you mean `chip`?"),
        ("base = 0", "base = { chip = 1.5 }", "`chip` must be an integer, not 1.5", "1.5", "digits"),
        ("base = 0", "base = { chip = -1 }", "`chip` cannot be negative: -1", "-1", "from 0"),
        ('element = "A"', "element = 3", "`element` must be text in quotes, not 3", "3", "quotes"),
        ('element = "A"', 'element = ""', "empty", "", "`1`"),
        ('element = "A"', 'elemnt = "A"', "unknown key `elemnt`", "elemnt", "did you mean `element`?"),
        (
            'source = { tier = "hbm", base = 0, element = "A" }',
            "source = 3",
            "`source` must be a table, not 3",
            "3",
            "tier",
        ),
        ('source = { tier = "hbm", base = 0, element = "A" }', "", "`source` is missing", "t", "tier"),
        ("source =", "src =", "unknown key `src`", "src", "source"),
    ],
)
def test_a_fault_in_a_plan_is_told_at_its_place(old: str, new: str, message: str, at: str | None, hint: str) -> None:
    error = errors_of(edited(old, new))[0]
    assert message in error.message
    assert error.span is not None
    assert at is None or error.span.text == at
    assert hint in (error.hint or "")


@pytest.mark.parametrize(
    ("extra", "message", "at", "hint"),
    [
        ('read = "[A=8:1]:8"', "`read` without `write`", "read", "add `write`"),
        ('write = "[A=8:1]:8"', "`write` without `read`", "write", "add `read`"),
        ('sequencer = "[A=8:(1,1)]:8"\nread = "[]:1"', "`read` beside `sequencer`", "read", "one form"),
        ('sequencer = "[A=8:1]:8"', "two strides", "1", "read stride"),
        ('read = "[A=8:1]:8"\nwrite = "[A=8:1]"', "the packet is missing", "", "]:packet"),
        ("read = 3", "`read` must be text in quotes, not 3", "3", "quotes"),
        ('unit = "byte"', '`unit` must be bytes or elements, not "byte"', "byte", "did you mean `bytes`?"),
        ("engine = 3", "`engine` must be a table, not 3", "3", "dmn = 3"),
        ("engine = { dm = 1 }", "unknown key `dm`", "dm", "did you mean `dmn`?"),
        ("engine = { dmn = -1 }", "`dmn` cannot be negative: -1", "-1", "from 0"),
        ("limits = { entrees = 8 }", "rngd has no limit 'entrees'", "entrees", "entries"),
        ("limits = { entries = 0 }", "at least 1", "entries", ""),
        ("limits = { entries = true }", "`entries` must be an integer, not true", "true", "digits"),
        ("limits = 3", "`limits` must be a table, not 3", "3", "entries = 8"),
        ('expect = "proven"', '`expect` must be proved, not "proven"', "proven", "did you mean `proved`?"),
        ("expect = 3", "`expect` must be proved, not 3", "3", "proved"),
        ('expect = ["core"]', '"core" is no check id', "core", "core/same-element"),
        ("expect = [3]", "`expect` must be text in quotes, not 3", "3", "proved"),
        ('stream = { packet = "A", tim = "1" }', "unknown key `tim`", "tim", "did you mean `time`?"),
        ('stream = "A"', '`stream` must be a table, not "A"', "A", "packet"),
        ('target = "nowhere"', "no target 'nowhere'", "nowhere", "rngd"),
        ('target = "./missing"', "no target './missing'", "./missing", "rngd"),
        ("command = []", "`command` is empty", "[]", "at least one"),
        ("command = {}", "`command` must be a list, not a table", "{}", "[[transfer.NAME.command]]"),
        ("[[transfer.t.command]]", "the command says nothing", "command", "add `read` and `write`"),
        ('[[transfer.t.command]]\nread = "[]:1"', "`read` without `write`", "read", "add `write`"),
        (
            'engine = {}\n[[transfer.t.command]]\nread = "[]:1"\nwrite = "[]:1"',
            "`engine` beside [[transfer.t.command]]", "engine", "each command",
        ),
        ('tier = "dm"', "unknown key `tier`", "tier", "belongs in source or dest"),
        ('name = "x"', "unknown key `name`", "name", "belongs at the top"),
        ("foo = 1", "unknown key `foo`", "foo", "known here: dtype, source"),
        ("[foo]", "unknown key `foo`", "foo", "known here: schema, target"),
        ('[let]\nA = "A"', "`A` is an axis already", "A", "another name"),
        ('[let]\nB = "B # 9"', "`B` is defined by itself", "B", "above"),
        ('[let]\nB = "C"\nC = "D"\nD = "B"', "`B` is defined by itself", "C", "above"),
        ('[let]\nB = "C"\nC = "A"', "`C` is defined below", "C", "move `C` above `B`"),
        ('[let]\nBatch = "A"\nB = "Btch"', "`Btch` is no axis and no name", "Btch", "did you mean `Batch`?"),
        ('[let]\nB = "Y"', "`Y` is no axis and no name", "Y", "known: A"),
        ("[let]\nB = 3", "`B` must be text in quotes, not 3", "3", "quotes"),
        ('[let]\nb = "A"', "`b` cannot be the name of a mapping", "b", "capital"),
        ('[access.u]\nengine = "fech"', "`engine` must be commit or fetch", "fech", "did you mean `fetch`?"),
    ],
)  # fmt: skip
def test_a_fault_that_is_added_is_told_at_its_place(extra: str, message: str, at: str, hint: str) -> None:
    found = [error for error in errors_of(SMALL + extra + "\n") if message in error.message]
    assert found, errors_of(SMALL + extra + "\n")
    assert text_of(found[0].span) == at
    assert hint in (found[0].hint or "")


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ('context = "side"', "`context` must be main or sub"),
        ('config = "[A=8:(1,1)]:8"', "one stride"),
        ('memry = "x"', "unknown key `memry`"),
        ('target = "toy"', "toy has no type `bf16`"),
        ("limits = { foo = 1 }", "no limit 'foo'"),
        ('dtype = "i9"', "`dtype` is defined twice"),
    ],
)
def test_a_fault_in_an_access_is_told(extra: str, message: str) -> None:
    (error,) = errors_of(PLAN + extra + "\n")
    assert message in error.message


def test_a_transfer_and_an_access_cannot_share_a_name() -> None:
    (error,) = errors_of(PLAN.replace("[access.derived]", "[access.plain]"))
    assert (error.message, text_of(error.span)) == ("`plain` is a transfer and an access", "plain")


@pytest.mark.parametrize(
    "text", [SMALL[: SMALL.index("[transfer")], SMALL[: SMALL.index("[transfer")] + "[transfer]\n"]
)
def test_a_file_without_transfer_or_access_has_nothing_to_check(text: str) -> None:
    (error,) = errors_of(text)
    assert "nothing to check" in error.message


def test_all_faults_are_told_at_once_in_the_order_of_the_file() -> None:
    text = PLAN.replace('dtype = "bf16"\nsource', 'dtyp = "bf16"\nsource')
    text = text.replace('"B, A, C" }', '"B, A," , foo = 3 }').replace(
        'element = "A" }\ndest', 'element = "A /" }\ndest'
    )
    text = text.replace("A=8:256, C#16", "A=8, C#16").replace('"B, A", packet', '"B A", packet')
    messages = [(error.span.line if error.span else 0, error.message) for error in errors_of(text)]
    assert [line for line, _ in messages] == sorted(line for line, _ in messages)
    for part in ("unknown key `foo`", "unknown key `dtyp`", "after `/`", "no `:`", "`B A`"):
        wanted = part if part != "`B A`" else "A"
        assert any(wanted in message for _, message in messages), (part, messages)


def test_a_bad_target_is_told_once_however_many_transfers_use_it() -> None:
    assert [error.message for error in errors_of(PLAN.replace('"rngd"', '"rgnd"'))] == ["no target 'rgnd'"]
    assert [error.message for error in errors_of(PLAN.replace('target = "rngd"', ""))] == ["the target is missing"]


def test_errors_say_their_place_as_text() -> None:
    with pytest.raises(InputErrors, match=r"plan.toml:4:5: `A` must be an integer"):
        read_plan_text(SMALL.replace("A = 8", "A = true"), "plan.toml")


# --- garbage


def test_files_that_are_no_plan_are_input_errors(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(bytes(range(256)) * 10)
    (tmp_path / "empty.toml").write_bytes(b"")
    (tmp_path / "latin.toml").write_bytes(SMALL.replace("schema", "# ö\nschema").encode("latin-1"))
    for path in (tmp_path, tmp_path / "no.toml", *sorted(tmp_path.glob("*.toml"))):
        with pytest.raises(InputErrors) as caught:
            read_plan(path)
        assert len(caught.value.errors) == 1


def test_text_that_is_no_unicode_is_an_input_error() -> None:
    (error,) = errors_of(SMALL + "# \ud800")
    assert "Unicode" in error.message


def test_windows_files_are_read() -> None:
    windows = read_plan_text("\ufeff" + PLAN.replace("\n", "\r\n"))
    plain = read_plan_text(PLAN)
    assert [found.transfer for found in windows.transfers] == [found.transfer for found in plain.transfers]
    assert [found.line for found in windows.transfers] == [found.line for found in plain.transfers]


def outcome(text: str) -> Plan | InputErrors:
    try:
        return read_plan_text(text, "plan.toml")
    except InputErrors as errors:
        return errors


def check_outcome(text: str) -> None:
    found = outcome(text)
    if isinstance(found, InputErrors):
        assert found.errors
        for error in found.errors:
            span = error.span
            assert span is None or 0 <= span.start <= span.end <= len(span.source.text)


def test_every_truncation_is_read_or_refused() -> None:
    for length in range(0, len(PLAN), 7):
        check_outcome(PLAN[:length])


PIECES = [
    "true",
    "-1",
    "1e9",
    "9" * 30,
    '""',
    "[]",
    "{}",
    "\0",
    "\\u0041",
    "nan",
    "é",
    "'",
    '"',
    "#",
    "]",
    "}",
    "=",
    "\n",
]


def test_a_plan_with_random_damage_is_read_or_refused() -> None:
    chance = random.Random(20)
    for _ in range(300):
        text = PLAN
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(text))
            piece = chance.choice([*PIECES, text[at : at + 20]])
            text = text[:at] + piece + text[at + chance.randint(0, 9) :]
        check_outcome(text)


values = st.recursive(
    st.integers()
    | st.booleans()
    | st.floats()
    | st.sampled_from(['"A"', '"i8"', '"[A=8:1]:8"', '"proved"', "2020-01-01"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["tier", "base", "chip", "x"]), inner),
    max_leaves=4,
)


def toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + "}"
    return str(value)


@given(st.sampled_from(["schema", "target", "axes", "let", "transfer", "access", "name"]), values)
def test_any_type_at_the_top_is_read_or_refused(key: str, value: object) -> None:
    lines = [line for line in ("schema = 1", 'target = "rngd"', "axes = { A = 8 }") if not line.startswith(key)]
    check_outcome("\n".join([*lines, f"{key} = {toml(value)}"]))


KEYS = [
    "dtype",
    "source",
    "dest",
    "stream",
    "unit",
    "read",
    "write",
    "sequencer",
    "engine",
    "command",
    "limits",
    "expect",
]


@given(st.sampled_from([*KEYS, "target"]), values)
def test_any_type_in_a_transfer_is_read_or_refused(key: str, value: object) -> None:
    lines = [line for line in SMALL.splitlines() if not line.startswith(f"{key} =") or line == 'target = "rngd"']
    check_outcome("\n".join([*lines, f"{key} = {toml(value)}"]))


# --- the schema, and what reading loads


def test_the_json_schema_names_every_key_of_the_format() -> None:
    schema = json_schema()
    assert schema["required"] == ["schema", "axes"]
    assert schema["properties"]["schema"]["const"] == 1
    assert schema["additionalProperties"] is False
    definitions = schema["$defs"]
    assert set(definitions["TransferTable"]["properties"]) == {*KEYS, "target", "commands", "loop", "options"}
    assert definitions["TransferTable"]["required"] == ["dtype", "source", "dest"]
    assert definitions["TransferTable"]["dependentRequired"]["read"] == ["write"]
    assert set(definitions["CommandTable"]["properties"]) == {"engine", "read", "write", "sequencer", "unit"}
    assert definitions["AccessTable"]["required"] == ["engine", "dtype", "memory", "stream"]
    assert all(table["additionalProperties"] is False for table in definitions.values())


def test_the_parts_of_a_plan_are_compared_without_spans() -> None:
    moved = read_plan_text("# a comment\n" + PLAN)
    assert [found.transfer for found in moved.transfers] == [found.transfer for found in read_plan_text(PLAN).transfers]
    assert all(isinstance(access, Access) for access in moved.accesses)


def test_importing_the_reader_loads_no_solver_and_no_validator() -> None:
    code = (
        "import sys, dmaverify.plan.read\n"
        "heavy = {'msgspec', 'tree_sitter', 'z3', 'numpy', 'sympy', 'islpy', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --- entries that cannot be read beside others that can

HALF = """
schema = 1
target = "rngd"
[axes]
A = 16
C = 256
[transfer.bad]
dtype = "i8"
source = { tier = "hbm", element = "A, C" }
dest = { tier = "hbm", base = 1048576, element = "A, C" }
read = "[A=16:256, C=256:1]:256 HBM/D@0"
write = "[A=16:256, C=256:x]:256 HBM/D@1048576"
[transfer.good]
dtype = "i8"
source = { tier = "hbm", element = "A, C" }
dest = { tier = "hbm", base = 1048576, element = "A, C" }
stream = { time = "A", packet = "C" }
[access.worse]
engine = "fetch"
dtype = "i8"
memory = { tier = "dm", element = "A, C" }
stream = { time = "A", packet = "C # " }
"""


def test_what_cannot_be_read_costs_its_own_entry_alone_where_that_is_asked_for() -> None:
    plan = read_plan_text(HALF, "plan.toml", partly=True)
    assert [one.name for one in plan.transfers] == ["good"]
    assert [(one.name, one.line, len(one.errors)) for one in plan.unread] == [("bad", 7, 1), ("worse", 18, 1)]
    assert [len(select(plan, name).unread) for name in ("good", "bad")] == [0, 1]
    assert len(errors_of(HALF)) == 2


@pytest.mark.parametrize("wrong", ["[let]\nB = 'A /'", "[transfer.third]\ndtype = 3", "[kernel"])
def test_a_file_that_is_wrong_elsewhere_is_not_read_in_part(wrong: str) -> None:
    with pytest.raises(InputErrors):
        read_plan_text(f"{HALF}\n{wrong}\n", "plan.toml", partly=True)


def test_an_entry_that_cannot_be_read_is_an_error_and_the_others_are_judged() -> None:
    from dmaverify.jobs.load import check, load

    found = {verdict.name: verdict.status.value for verdict in check(HALF)}
    assert found == {"bad": "error", "good": "proved", "worse": "error"}
    assert [verdict.status.value for verdict in check(HALF, "good")] == ["proved"]
    with pytest.raises(InputErrors):
        load(HALF)
    assert load(HALF, "good").names == ("good",)


@pytest.mark.parametrize(
    ("read", "said"),
    [
        ("[8:slice_stride, 256:1]:256 DM/D@(0, 0, 0, 33554432)", {"move": "proved", "p": "proved", "q": "proved"}),
        ("[8:slice_stride, 256:1:256 DM/D@(0, 0, 0, 33554432)", {"move": "error", "p": "error", "q": "proved"}),
    ],
)
def test_a_move_is_not_judged_by_those_of_its_commands_that_can_be_read(read: str, said: dict[str, str]) -> None:
    from dmaverify.jobs.load import check

    text = (
        'schema = 1\ntarget = "rngd"\n[axes]\nA = 16\nC = 256\n[transfer.load]\ndtype = "i8"\n'
        'source = { tier = "hbm", element = "A, C" }\ndest = { tier = "dm", slice = "A", element = "C" }\n'
        'stream = { time = "A", packet = "C" }\n[transfer.move]\ndtype = "i8"\n'
        'source = { tier = "dm", slice = "A", element = "C" }\n'
        'dest = { tier = "hbm", base = 65536, element = "A, C" }\n'
        '[[transfer.move.command]]\nread = "[8:slice_stride, 256:1]:256 DM/D@0"\n'
        'write = "[8:256, 256:1]:256 HBM/D@65536"\n'
        f'[[transfer.move.command]]\nread = "{read}"\nwrite = "[8:256, 256:1]:256 HBM/D@67584"\n'
        '[program.p]\nstep = [{ transfer = "load" }, { transfer = "move", after = ["load"] }]\n'
        '[program.q]\nstep = [{ transfer = "load" }]\n'
    )
    found = [(verdict.name, verdict.status.value) for verdict in check(text)]
    assert found == [("load", "proved"), *said.items()]
    if said["p"] == "error":
        assert [one.message for one in errors_of(text)] == ["`[` is not closed"]


def test_a_program_is_not_read_whose_step_is_not() -> None:
    from dmaverify.jobs.load import check

    half = (
        '[transfer.half]\ndtype = "i8"\nsource = { tier = "hbm", element = "C" }\n'
        'dest = { tier = "hbm", base = 4096, element = "C" }\n'
        '[[transfer.half.command]]\nread = "[C=256:1]:256 HBM/D@0"\nwrite = "[C=256:1"\n'
    )
    text = HALF + half + '[program.p]\nstep = [{ transfer = "half" }, { transfer = "good" }, { access = ["worse"] }]\n'
    found = {v.name: [f.message for f in v.findings if f.severity.value == "error"] for v in check(text)}
    assert found["p"] == ["a step does `half`, which cannot be read"]
    assert not found["good"]


def test_the_data_of_a_machine_is_told_as_such_and_no_plan_is() -> None:
    machine = 'schema = 1\nname = "m"\n[tier.gm]\ntitle = "memory"\n[engines]\nkinds = ["dma"]\n'
    with pytest.raises(InputErrors) as one:
        read_plan_text(machine)
    assert [error.message for error in one.value.errors] == ["this is the data of a machine, no plan"]
    with pytest.raises(InputErrors) as many:
        read_plan_text(machine + "[axes]\nA = 4\n")
    assert "unknown key `engines`" in {error.message for error in many.value.errors}
