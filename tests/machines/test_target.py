"""Machines as data: every rule at its own edges, against z3, and every way in which a target is refused."""

from __future__ import annotations

import marshal
import os
import random
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import z3
from lab.draws import counted

from dmaverify import api
from dmaverify.cli.app import invoke
from dmaverify.errors import InputError, Source
from dmaverify.targets import table as table_module
from dmaverify.targets.facts import Fact
from dmaverify.targets.lint import lint_target
from dmaverify.targets.rule import Rule
from dmaverify.targets.target import (
    Target,
    available_targets,
    core_scopes,
    load_obligations,
    load_target,
    read_obligations,
    read_target,
)
from dmaverify.verdict import Severity

ENCODINGS = Path(__file__).resolve().parents[2] / "encodings"
TARGETS = [load_target(name) for name in available_targets()]
RULES = [rule for target in TARGETS for rule in target.rules.values()]
RNGD = load_target("rngd")
ERROR, WARNING, ADVICE = Severity.ERROR, Severity.WARNING, Severity.ADVICE


def own_ports(rule: Rule) -> Mapping[str, Fact]:
    """The ports of a scope that the rule's target declares itself."""
    return next(target.scopes[rule.scope].ports for target in TARGETS if rule.id in target.rules)


def rule_id(rule: Rule) -> str:
    return rule.id


# ------------------------------------------------------------------------------------------ every rule of every machine


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_every_rule_holds_at_its_last_good_and_breaks_at_its_first_bad_value(rule: Rule) -> None:
    for edge in rule.edges:
        assert rule.holds(edge.last_ok)
        assert not rule.holds(edge.first_bad)
        assert any(edge.last_ok[port] != edge.first_bad[port] for port in rule.ports)


@pytest.mark.parametrize("count", counted(8, 40))
@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_python_and_z3_agree_on_every_rule(rule: Rule, count: int) -> None:
    context = z3.Context()
    parameters = " ".join(f"(declare-const {port} Int)" for port in rule.ports)
    query = f"{rule.function.text}\n{parameters}\n(assert ({rule.id} {' '.join(rule.ports)}))"
    (claim,) = z3.parse_smt2_string(query, ctx=context)
    variables = {port: z3.Int(port, ctx=context) for port in rule.ports}
    rng = random.Random(rule.id)
    at_edges = {value for edge in rule.edges for side in (edge.last_ok, edge.first_bad) for value in side.values()}
    interesting = sorted({0, 1, -1} | {value + by for value in at_edges for by in (-1, 0, 1)})
    points = [{port: rng.choice(interesting) for port in rule.ports} for _ in range(count)]
    points += [dict(side) for edge in rule.edges for side in (edge.last_ok, edge.first_bad)]
    limits = [name for name in rule.ports if any(name in target.limits for target in TARGETS)]
    for point in points:
        point |= {name: max(1, point[name]) for name in limits}  # a limit is at least 1 by the loader's law
        ports = core_scopes()[rule.scope].ports if rule.scope in core_scopes() else {}
        point |= {name: 1 for name in point if name in ports and ports[name].least == 1 > point[name]}
        values = [(variables[port], z3.IntVal(value, ctx=context)) for port, value in point.items()]
        assert rule.holds(point) == z3.is_true(z3.simplify(z3.substitute(claim, *values))), point


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_every_message_shows_the_bad_value(rule: Rule) -> None:
    for edge in rule.edges:
        message = rule.message({**edge.first_bad, "source_tier": "gm", "dest_tier": "ub", "dtype": "i9"})
        assert "{" not in message
        core = core_scopes()
        facts = core[rule.scope].ports if rule.scope in core else own_ports(rule)
        if any(port in facts and facts[port].unit == "0 or 1" for port in rule.ports):
            words = "dtype" in rule.id or "tier" in rule.says or "cross" in message or rule.scope == "indirect"
            assert words or rule.scope not in core  # a yes or no shows as words
            continue
        bad = [edge.first_bad[port] for port in rule.ports if edge.first_bad[port] != edge.last_ok[port]]
        assert any(f"{value:,}" in message or str(value) in message for value in bad)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_what_ships_has_no_complaint(target: Target) -> None:
    assert lint_target(target) == []


def test_encodings_hold_no_python() -> None:
    assert list(ENCODINGS.rglob("*.py")) == []


def test_rngd_and_toy_ship_and_the_core_is_no_target() -> None:
    assert {"rngd", "toy"} <= set(available_targets())
    assert "core" not in available_targets()


# ------------------------------------------------------------------------------------------ rngd in numbers


def test_rngd_has_the_geometry_of_the_documents() -> None:
    assert RNGD.constants == {
        "slice_stride": 4 * 2**20, "DMN_stride": 32 * 4 * 2**20, "SPM_stride": 2**40,
    }  # fmt: skip
    dm, hbm = RNGD.tiers["dm"], RNGD.tiers["hbm"]
    assert (dm.places, dict(dm.sizes)) == (("chip", "cluster", "slice"), {"chip": 4, "cluster": 2, "slice": 256})
    assert (dm.capacity_bytes, dm.slice_stride_bytes, dm.part_strides["dmn"]) == (512 * 1024, 4 * 2**20, 64 * 4 * 2**20)
    assert (hbm.places, hbm.capacity_bytes, hbm.slice_stride_bytes) == (("chip",), 48 * 2**30, 0)
    engines = RNGD.engines
    assert engines.chips * engines.clusters * engines.per_cluster == 4 * RNGD.geometry["dma_engines_per_chip"]
    assert engines.slices * engines.per_cluster == dm.sizes["slice"] == 8 * RNGD.geometry["slices_per_dmn"]
    per_slice = RNGD.geometry["banks_per_slice"] * RNGD.geometry["rows_per_bank"] * RNGD.geometry["bank_width_bytes"]
    assert per_slice == dm.capacity_bytes
    assert RNGD.limits["packet_max"] == 256 * RNGD.geometry["axi_beat_bytes"]


def test_rngd_types_say_bits_and_whether_they_are_in_memory_and_current() -> None:
    assert set(RNGD.dtypes.values()) == {4, 8, 16, 32}
    assert RNGD.dtype_facts("bf16") == {"dtype_bits": 16, "dtype_known": 1, "dtype_current": 1}
    assert RNGD.dtype_facts("fp16") == {"dtype_bits": 16, "dtype_known": 1, "dtype_current": 0}
    assert RNGD.dtype_facts("i9") == {"dtype_known": 0, "dtype_current": 1}


def test_rngd_has_nine_routes_between_its_memories_and_two_to_the_host() -> None:
    inner = {(a, b) for a in ("hbm", "dm", "spm") for b in ("hbm", "dm", "spm")}
    assert set(RNGD.routes) == inner | {("host", "hbm"), ("hbm", "host")}


@pytest.mark.parametrize(
    ("rule", "severity"),
    [
        ("dm-write-align", ERROR), ("dm-packet-multiple", ERROR), ("hbm-dm-align", ERROR), ("dm-hbm-align", ADVICE),
        ("packet-max", ERROR), ("packet-contiguous", ERROR), ("packet-divides", ERROR), ("entries-max", WARNING),
        ("iterations-max", WARNING), ("access-entries-max", ERROR), ("access-iterations-max", ERROR),
        ("slice-capacity", ERROR), ("hbm-capacity", ERROR), ("place-max", ERROR), ("spatial-sizes", WARNING),
        ("route", ERROR), ("host-route", ERROR), ("spm-same-chip", ERROR), ("dtype-packing", ERROR),
        ("dtype-removed", WARNING), ("engine-index", ERROR), ("store-broadcast", ERROR), ("hbm-broadcast", WARNING),
        ("fetch-packet", WARNING), ("access-bytes", ERROR), ("commit-packet", ERROR), ("commit-stride", ERROR),
        ("commit-base", WARNING), ("cross-cluster-sync", ADVICE), ("pcie", ADVICE), ("std-tail", None),
        ("std-stride", None), ("innermost-entry", ERROR), ("access-tier", ERROR), ("sequencer-packet-bytes", None),
    ],
)  # fmt: skip
def test_rngd_severities_by_default(rule: str, severity: Severity | None) -> None:
    assert RNGD.rules[f"rngd/{rule}"].severity is severity


@pytest.mark.parametrize(
    ("rule", "place", "binds"),
    [
        ("dm-write-align", ("dma", "hbm", "dm"), True),
        ("dm-write-align", ("dma", "dm", "dm"), True),
        ("dm-write-align", ("dma", "dm", "hbm"), False),
        ("dm-write-align", ("fetch", "", "dm"), False),
        ("hbm-dm-align", ("dma", "hbm", "dm"), True),
        ("hbm-dm-align", ("dma", "dm", "dm"), False),
        ("dm-hbm-align", ("dma", "dm", "hbm"), True),
        ("dm-hbm-align", ("dma", "hbm", "dm"), False),
        ("route", ("dma", "gm", "ub"), True),
        ("route", ("dma", "host", "dm"), False),
        ("host-route", ("dma", "host", "dm"), True),
        ("spm-same-chip", ("dma", "dm", "spm"), True),
        ("spm-same-chip", ("dma", "dm", "hbm"), False),
        ("slice-capacity", ("dma", "hbm", "dm", "write", "dm"), True),
        ("slice-capacity", ("dma", "hbm", "dm", "read", "hbm"), False),
        ("commit-base", ("commit", "", "", "write", "dm"), True),
        ("commit-base", ("fetch", "", "", "read", "dm"), False),
        ("entries-max", ("dma", "hbm", "dm", "read", "hbm"), True),
        ("entries-max", ("fetch", "", "", "read", "dm"), False),
        ("access-entries-max", ("fetch", "", "", "read", "dm"), True),
    ],
)  # fmt: skip
def test_rngd_rules_bind_whom_they_are_about(rule: str, place: tuple[str, ...], binds: bool) -> None:
    assert RNGD.rules[f"rngd/{rule}"].applies(*place) is binds


# ------------------------------------------------------------------------------------------ readings


def values_of(rule: Rule, **ports: int) -> dict[str, int]:
    return {**RNGD.limits, **ports}


def test_the_source_of_a_load_is_constrained_unless_the_reading_says_otherwise() -> None:
    rule = RNGD.rules["rngd/hbm-dm-align"]
    values = values_of(rule, read_gcd=20, write_gcd=24, packet_bytes=8)
    assert rule.outcomes(values, {}) == {"both-sides": ERROR, "dest-only": None}
    assert rule.broken(values, {}) is ERROR
    assert rule.broken(values, {rule.id: "dest-only"}) is None
    assert rule.broken({**values, "write_gcd": 20}, {rule.id: "dest-only"}) is ERROR


def test_a_reading_can_replace_a_limit_change_a_severity_or_switch_off() -> None:
    rule = RNGD.rules["rngd/iterations-max"]
    assert rule.outcomes(values_of(rule, iterations=65536), {}) == {
        "table": None, "strict": None, "field": WARNING, "unbounded": None,
    }  # fmt: skip
    assert rule.outcomes(values_of(rule, iterations=65537), {}) == {
        "table": WARNING, "strict": ERROR, "field": WARNING, "unbounded": None,
    }  # fmt: skip
    store = RNGD.rules["rngd/store-broadcast"]
    assert store.outcomes({"broadcast_axes": 1}, {}) == {"one-copy": ERROR, "replicate": None}


def test_the_alignment_reading_exchanges_the_hardware_rules_for_the_library_assertions() -> None:
    hardware = {"rngd/dm-write-align", "rngd/dm-packet-multiple", "rngd/hbm-dm-align", "rngd/dm-hbm-align"}
    library = {"rngd/std-tail", "rngd/std-stride", "rngd/std-places"}
    for name in hardware | library:
        rule = RNGD.rules[name]
        assert (rule.severity_under({"alignment": "hw"}) is not None) is (name in hardware)
        assert (rule.severity_under({"alignment": "std"}) is not None) is (name in library)
    assert {rule.id for rule in RNGD.rules.values() if rule.level != "any"} == hardware | library
    assert RNGD.rules["rngd/packet-max"].severity_under({"alignment": "std"}) is ERROR


def test_every_contested_rule_has_readings_and_a_reason_for_its_default() -> None:
    contested = [rule for rule in RULES if rule.basis == "contested"]
    assert len(contested) >= 8
    for rule in contested:
        assert len(rule.readings) >= 2
        assert rule.reading in rule.readings
        assert rule.reading_why


def test_readings_are_checked_by_name() -> None:
    RNGD.check_readings({"alignment": "std", "rngd/entries-max": "strict", "core/consumes": "strict"})
    with pytest.raises(InputError, match="has no reading 'stricter'"):
        RNGD.check_readings({"rngd/entries-max": "stricter"})
    with pytest.raises(InputError, match="has no readings") as refusal:
        RNGD.check_readings({"rngd/entry-max": "strict"})
    assert refusal.value.hint == "did you mean `rngd/entries-max`?"


def test_a_plan_overrides_limits_by_their_short_or_full_name() -> None:
    assert RNGD.limits_with([("entries", 4)])["entries_max"] == 4
    assert RNGD.limits_with([("dm_align", 16)])["dm_align"] == 16
    assert RNGD.limits["entries_max"] == 8
    with pytest.raises(InputError, match="no limit 'entires'"):
        RNGD.limits_with([("entires", 4)])
    with pytest.raises(InputError, match="at least 1"):
        RNGD.limits_with([("dm_align", 0)])


def test_a_rule_names_the_ports_it_lacks() -> None:
    rule = RNGD.rules["rngd/packet-max"]
    assert rule.missing({"packet_max": 1}) == ("packet_bytes",)
    assert rule.missing({"packet_max": 1, "packet_bytes": 1}) == ()
    with pytest.raises(KeyError):
        rule.holds({"packet_max": 1})


# ------------------------------------------------------------------------------------------ where targets lie


def test_a_copy_of_the_toy_works_by_path_and_by_path_relative_to_a_plan(tmp_path: Path) -> None:
    shutil.copytree(ENCODINGS / "toy", tmp_path / "my-machine")
    toy, mine = load_target("toy"), load_target(str(tmp_path / "my-machine"))
    assert {name: rule.function for name, rule in mine.rules.items()} == {n: r.function for n, r in toy.rules.items()}
    assert mine.folder == (tmp_path / "my-machine").resolve()
    assert load_target("./my-machine", relative_to=tmp_path) is mine
    rule = mine.rules["toy/align"]
    values = {**mine.limits, "write_gcd": 48}
    assert rule.broken(values, {}) is ERROR
    assert rule.broken(values, {"toy/align": "half-line"}) is None


def test_a_target_is_read_again_when_its_files_change(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    shutil.copytree(ENCODINGS / "toy", folder)
    before = load_target(str(folder))
    text = (folder / "target.toml").read_text(encoding="utf-8").replace("value = 128", "value = 256")
    (folder / "target.toml").write_text(text, encoding="utf-8")
    stat = (folder / "target.toml").stat()
    os.utime(folder / "target.toml", ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**9))
    assert (before.limits["packet_max"], load_target(str(folder)).limits["packet_max"]) == (128, 256)


def test_what_the_data_of_ones_own_machine_lack_is_refused_where_it_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ENCODINGS / "pto", tmp_path / "mine")
    file = tmp_path / "mine" / "target.toml"
    file.write_text(file.read_text().replace("[vector.barrier]", "[vector.barriers]"))
    data = load_target(str(tmp_path / "mine")).raw
    assert data["vector"].get("barrier") is None
    with pytest.raises(InputError, match=r"lack `vector\.barrier`"):
        data["vector"]["barrier"]
    plan = str(ENCODINGS.parent / "examples" / "pto" / "example-3.toml")
    assert invoke(["check", plan, "--no-cache", "--target", str(tmp_path / "mine")]) == 2
    assert "the machine's data lack `vector.barrier`" in capsys.readouterr().out


def test_an_unknown_target_is_refused_with_a_suggestion() -> None:
    with pytest.raises(InputError, match="no target 'rgnd'") as refusal:
        load_target("rgnd")
    assert refusal.value.hint == "did you mean `rngd`?"


# ------------------------------------------------------------------------------------------ refusals

SLICED = 'places = ["slice"]\nsizes = { slice = "packet_max" }\nstrides = { slice = 512 }'
TOML = (ENCODINGS / "toy" / "target.toml").read_text(encoding="utf-8")
SMT = (ENCODINGS / "toy" / "rules.smt2").read_text(encoding="utf-8")
ALIGN = '[rule."toy/align"]'
PORTS = 'ports = ["write_gcd", "line_bytes"]'
WINDOW = '[tier.NAME]\ntitle = "x"\nmemory = "{}"\nplaces = []\nsource = "x"\nbasis = "inferred"\n'
WINDOWS = WINDOW.replace("NAME", "x") + WINDOW.replace("NAME", "y") + "[tier.ub]"
IDLE = "[limit.idle]\nvalue = 1\nunit = 'x'\nsays = 'x'\nsource = 'x'\nbasis = 'inferred'\n[limit.line_bytes]"


def refuse(toml: str = TOML, smt: str = SMT) -> InputError:
    with pytest.raises(InputError) as refusal:
        read_target(Source("target.toml", toml), Source("rules.smt2", smt))
    assert "\n" not in refusal.value.message
    return refusal.value


def changed(old: str, new: str, text: str = TOML) -> str:
    assert old in text
    return text.replace(old, new, 1)


def test_the_unchanged_texts_are_accepted() -> None:
    target = read_target(Source("t", TOML), Source("r", SMT))
    assert list(target.rules) == ["toy/packet-max", "toy/align", "toy/small-capacity"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("schema = 1", "schema = 2", "schema is 2"),
        ("schema = 1", "schema = true", "must be an integer"),
        ('title = "a toy machine', 'titel = "a toy machine', "missing `title`"),
        ('[tier.gm]', '[teir.gm]', "not declared"),
        ("value = 32", 'value = "32"', "limit line_bytes: `value` must be an integer"),
        ("value = 32", "value = 0", "must be at least 1"),
        ("[limit.line_bytes]", "[limit.packet_bytes]", "has the name of a port"),
        ('capacity = "small_bytes_max"', 'capacity = "small_bytes"', "which is no limit"),
        ('dest_tiers = ["gm", "ub"]', 'dest_tiers = ["gm", "ubs"]', "tier 'ubs' is not declared"),
        ('scope = "tensor"', 'scope = "tensors"', "it must be one of command"),
        (PORTS, 'ports = ["write_gdc", "line_bytes"]', "nobody produces the port 'write_gdc'"),
        (PORTS, 'ports = ["line_bytes", "write_gcd"]', "the predicate takes"),
        (PORTS, 'ports = "write_gcd"', "must be a list of texts"),
        ('when = { dest = ["ub"] }', 'when = { dest = ["dm"] }', "tier 'dm' is not declared"),
        ('when = { dest = ["ub"] }', 'when = { engines = ["mte"] }', "engine 'mte' is not among"),
        ('when = { dest = ["ub"] }', 'when = { destination = ["ub"] }', "unknown key `destination`"),
        ('says = "writes start', 'said = "writes start', "rule toy/align: missing `says`"),
        ("{write_gcd} B, not", "{write_gdc} B, not", "`says` shows 'write_gdc'"),
        ("{write_gcd} B, not", "{write_gcd!r} B, not", "in a way that is not"),
        ("{write_gcd} B, not", "{write_gcd:byte/bytes}, not", "in a way that is not"),
        ("{write_gcd} B, not", "{write_gcd B, not", "is no message"),
        ('hint = "pad the rows', 'hint = "pad {line_bytes}', "`hint` is shown as it stands"),
        ('source = "toy manual, 1.1; toy forum, thread 7"\n', "", "rule toy/align: missing `source`"),
        ('source = "toy manual, 1.1; toy forum, thread 7"\n', 'source = " "\n', "`source` is empty"),
        ('basis = "contested"', "", "rule toy/align: missing `basis`"),
        ('basis = "contested"', 'basis = "rumoured"', "it must be one of documented"),
        ('severity = "error"', 'severity = "fatal"', "it must be one of error"),
        ('severity_why = "a torn line loses data"\n', "", "`severity` without `severity_why`"),
        ('reading_default = "line"', 'reading_default = "lines"', "is no reading"),
        ('reading_why = "the manual is newer than the forum"\n', "", "come together"),
        ("limits = { line_bytes = 16 }", "limits = { packet_max = 16 }", "no limit that the rule uses"),
        ("limits = { line_bytes = 16 }", "limits = { line_bytes = 0 }", "must be at least 1"),
        ("last_ok = { write_gcd = 32 }", "last_ok = { write_gdc = 32 }", "`last_ok` must give write_gcd, line_bytes"),
        ("last_ok = { write_gcd = 32 }", "last_ok = { write_gcd = 32.0 }", "must be an integer"),
        ("first_bad = { write_gcd = 48 }", "", "missing `first_bad`"),
        ("last_ok = { write_gcd = 32", "last_ok = { line_bytes = 32, write_gcd = 33", "does not hold at `last_ok`"),
        ("first_bad = { write_gcd = 48", "first_bad = { line_bytes = 32, write_gcd = 64", "holds at `first_bad`"),
        ("last_ok = { write_gcd = 32 }", "last_ok = { write_gcd = -32 }", "write_gcd is at least 0, never -32"),
        ("last_ok = { write_gcd = 32 }", "last_ok = { write_gcd = 0, line_bytes = 0 }", "line_bytes is at least 1"),
        ("per_cluster = 1", "per_cluster = 0", "`per_cluster` is 0; it must be at least 1"),
        ('kinds = ["dma"]', "kinds = []", "`kinds` is empty"),
        ("places = []", 'places = ["bank"]\nsizes = { bank = "packet_max" }', "no tensor has a place 'bank'"),
        ("places = []", SLICED.split("\nstrides")[0], "`strides` has no slice"),
        ("places = []", SLICED.replace("512", "0"), "`strides.slice` must be at least 1"),
        ("places = []", SLICED.replace("{ slice = 512", "{ slcie = 512"), "`strides` gives one of 'slcie'"),
        ("places = []", 'places = ["slice"]', "`sizes` has no slice"),
        ('[rule."toy/align".edge]', '[rule."toy/align".egde]', "missing `edge`"),
        ('[rule."toy/align".reading.line]', '[rule."toy/align".reading.lines]', "is no reading"),
        ('title = "writes into', 'level = "std"\ntitle = "writes into', "`level` needs a [reading.alignment]"),
        ('title = "writes into', 'color = 1\ntitle = "writes into', "unknown key `color`"),
        ("[dtypes]", "[dtypes", "not TOML"),
    ],
)  # fmt: skip
def test_a_target_that_is_not_whole_is_refused_in_one_line(old: str, new: str, says: str) -> None:
    error = refuse(changed(old, new))
    assert says in error.message
    assert error.span is not None


def test_windows_of_one_memory_name_it() -> None:
    target = read_target(Source("t", changed("[tier.ub]", WINDOWS.format("gm", "gm"))), Source("r", SMT))
    assert [target.memory_of(name) for name in ("gm", "x", "y", "ub")] == ["gm", "gm", "gm", "ub"]


def test_a_window_of_a_window_is_refused() -> None:
    """Both would be memories of their own, and a move between them one between two memories."""
    for first, second in (("gm", "x"), ("y", "x")):
        error = refuse(changed("[tier.ub]", WINDOWS.format(first, second)))
        assert f"whose own is '{'gm' if first == 'gm' else 'x'}'" in error.message


def test_windows_of_one_memory_count_places_alike() -> None:
    sliced = WINDOWS.format("gm", "gm").replace("places = []", SLICED, 1)
    assert "shares the addresses of 'gm' and has other places" in refuse(changed("[tier.ub]", sliced)).message


def test_a_rule_without_an_edge_is_refused() -> None:
    text = changed('[rule."toy/align".edge]\nlast_ok = { write_gcd = 32 }\nfirst_bad = { write_gcd = 48 }\n', "")
    assert refuse(text).message == "rule toy/align: missing `edge`"


def test_an_id_on_one_side_only_is_refused_from_both_sides() -> None:
    only_data = refuse(smt=changed("define-fun toy/align", "define-fun toy/aligned", SMT))
    assert only_data.message == "rule toy/align: no (define-fun toy/align ...) in rules.smt2"
    assert only_data.span is not None
    assert only_data.span.text.startswith(ALIGN)
    only_text = refuse(smt=SMT + "(define-fun toy/more ((amount_bytes Int)) Bool (> amount_bytes 0))")
    assert "toy/more has a predicate and no" in only_text.message


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("(= 0 (mod line_bytes write_gcd))", "the divisor write_gcd could be zero"),
        ("(= 0 (mod write_gcd 32))", "does not look at line_bytes"),
        ("(= 0 (mod write_gcd line_byte))", "neither a parameter"),
    ],
)
def test_a_predicate_that_does_not_fit_is_refused(body: str, says: str) -> None:
    assert says in refuse(smt=changed("(= 0 (mod write_gcd line_bytes))", body, SMT)).message


def test_a_rule_id_has_an_owner() -> None:
    error = refuse(TOML.replace("toy/align", "toyalign"), SMT.replace("toy/align", "toyalign"))
    assert "<owner>/<what>" in error.message


def test_sections_of_other_rooms_are_kept_and_unknown_ones_refused() -> None:
    later = "\n[cost.book]\nstarts = 500\n[memory.map]\n[profile]\n[starvation]\n"
    target = read_target(Source("t", TOML + later), Source("r", SMT))
    assert target.raw["cost"] == {"book": {"starts": 500}}
    assert "unknown key `colour`" in refuse(TOML + "\n[colour]\n").message


@pytest.mark.parametrize("name", ["machinery", "tiles", "memory_map.hbm", "starvations", "cost-book"])
def test_a_section_that_only_begins_like_one_of_another_room_is_refused(name: str) -> None:
    refused = refuse(f"{TOML}\n[{name}]\n")
    assert f"unknown key `{name.partition('.')[0]}`" in refused.message


def test_a_pair_of_memories_has_one_route() -> None:
    first = TOML[TOML.index("[[route]]") : TOML.index("[dtypes]")]
    again = first.replace("says = ", "levels = 2\nsays = ")
    assert "a second route from gm to gm" in refuse(TOML.replace(first, first + again)).message
    one = 'source_tiers = ["gm", "ub"]\ndest_tiers = ["gm", "ub"]'
    assert one in first
    apart = [first.replace(one, f'source_tiers = ["{a}"]\ndest_tiers = ["gm", "ub"]') for a in ("gm", "ub")]
    assert len(read_target(Source("t", TOML.replace(first, "".join(apart))), Source("r", SMT)).routes) == 4


def test_a_rule_for_gathers_that_nothing_asks_is_refused() -> None:
    toml = changed('kinds = ["dma"]', 'kinds = ["dma", "gather", "scatter"]')
    for engine in ("gather", "scatter"):
        wrong = changed('when = { dest = ["ub"] }', f'when = {{ engines = ["dma", "{engine}"] }}', toml)
        assert f"are never asked of '{engine}'" in refuse(wrong).message
    right = changed('when = { dest = ["ub"] }', 'when = { engines = ["dma"] }', toml)
    assert read_target(Source("t", right), Source("r", SMT)).rules["toy/align"].when.engines == ("dma",)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("last_ok = { write_gcd = 32 }", "last_ok = { write_gcd = 33 }", "does not hold at `last_ok`"),
        ("first_bad = { write_gcd = 48 }", "first_bad = { write_gcd = 64 }", "holds at `first_bad`"),
        ("limits = { line_bytes = 16 }", "", "reading half-line changes nothing"),
        ('hint = "pad the rows', 'hint = ""\n# ', "`hint` is empty"),
        ("[limit.line_bytes]", IDLE, "limit idle: no rule and no tier uses it"),
        ("[limit.line_bytes]", '[machine.cites]\n"core/hazard" = "a page"\n\n[limit.line_bytes]',
         "cites core/hazard: no such obligation"),
    ],
)  # fmt: skip
def test_the_lint_finds_what_loading_cannot(old: str, new: str, says: str) -> None:
    complaints = lint_target(read_target(Source("t", changed(old, new)), Source("r", SMT)))
    assert len(complaints) == 1
    assert says in complaints[0]


@pytest.mark.parametrize(("value", "said"), [(1, "multiples of 1 byte, not"), (48, "multiples of 48 bytes, not")])
def test_a_message_agrees_with_its_number(value: int, said: str) -> None:
    target = read_target(Source("t", changed("{write_gcd} B, not", "{write_gcd:byte|bytes}, not")), Source("r", SMT))
    assert said in target.rules["toy/align"].message({"write_gcd": value, "line_bytes": 32})


VENDORS = re.compile("DMA Engine|Sequencer,|Memory Performance|furiosa|PTO|iDMA paper")


@pytest.mark.parametrize("rule", [name for name in load_obligations() if name != "core/trace"])
def test_what_every_machine_is_asked_rests_on_the_documents_of_no_other_machine(rule: str) -> None:
    """The core's own words have no vendor, and a machine names its documents."""
    assert not VENDORS.search(load_obligations()[rule].source)
    for name in available_targets():
        target = load_target(name)
        assert target.source_of(rule) == target.cites.get(rule, load_obligations()[rule].source)


TWICE = """
schema = 1
target = "{target}"
[axes]
R = 64
C = 256
[transfer.out]
dtype  = "i8"
loop   = {{ t = 4 }}
source = {{ tier = "{tiers[0]}", element = "R = 16, C" }}
dest.tier    = "{tiers[1]}"
dest.base    = 65536
dest.element = "R, C"
dest.view    = {{ tile = "R", length = 16, start = "12 * t" }}
[program.p]
holds = ["{tiers[0]}"]
step = [{{ transfer = "out" }}]
"""


def test_a_finding_names_the_documents_of_its_machine() -> None:
    """Else a user of one machine is sent to the pages of another one."""
    found = {}
    for target, *tiers in (("rngd", "dm", "hbm"), ("idma", "mem", "mem"), ("toy", "ub", "gm")):
        verdict = api.check(TWICE.format(target=target, tiers=tiers))[-1]
        found[target] = {one.source.partition(",")[0] for one in verdict.errors if one.rule == "core/tiles-once"}
    assert found == {"rngd": {"furiosa-opt v0.6.0"}, "idma": {"dmaverify"}, "toy": {"dmaverify"}}


@pytest.mark.parametrize("stated", [True, False])
def test_a_rule_that_contradicts_its_edge_is_refused_where_the_edge_states_its_limits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stated: bool
) -> None:
    """Else the limit may be another one than before: `rules` alone tells of it."""
    at = "{ line_bytes = 32, " if stated else "{ "
    (tmp_path / "target.toml").write_text(TOML.replace("{ write_gcd", f"{at}write_gcd"), encoding="utf-8")
    plan = (ENCODINGS.parent / "examples" / "toy.toml").read_text(encoding="utf-8")
    (tmp_path / "plan.toml").write_text(plan.replace("../encodings/toy", "."), encoding="utf-8")
    for predicate, said in (
        ("(= 0 (mod write_gcd line_bytes))", ""),
        ("(or (= 0 (mod write_gcd line_bytes)) (< line_bytes write_gcd))", "holds at `first_bad`: write_gcd = 48"),
        ("(= 1 (mod write_gcd line_bytes))", "does not hold at `last_ok`: write_gcd = 32"),
    ):
        rules = SMT.replace("(= 0 (mod write_gcd line_bytes))", predicate)
        (tmp_path / "rules.smt2").write_text(rules, encoding="utf-8")
        assert invoke(["rules", "--target", str(tmp_path)]) == (0 if not said else 2 if stated else 1)
        told = capsys.readouterr()
        assert said in told.out + told.err
        code = invoke(["check", str(tmp_path / "plan.toml"), "--no-cache"])
        told = capsys.readouterr()
        assert (code == 2) == bool(said and stated)
        assert said in told.out + told.err or not stated
        assert "plan.toml:13" not in told.out  # where the machine's data has the edge


# ------------------------------------------------------------------------------------------ obligations


def test_the_core_has_its_obligations_in_order_those_of_a_move_first() -> None:
    assert list(load_obligations()) == [
        "core/well-formed", "core/in-bounds", "core/same-element", "core/covers", "core/writes-once", "core/reads-live",
        "core/padding", "core/overlap", "core/consumes", "core/same-program", "core/not-vacuous", "core/steps",
        "core/hazard-raw", "core/hazard-war", "core/hazard-waw", "core/tiles-once", "core/tiles-cover",
        "core/regions", "core/region-capacity", "core/lifetime", "core/needless-hop",
        "core/unused-suppression", "core/unresolved-transfer", "core/indirect", "core/unresolved-copy",
        "core/machine", "core/registers", "core/flags", "core/other-core", "core/cores-apart", "core/no-wrap",
        "core/definite", "core/input", "core/trace", "core/limit", "core/internal", "core/disagreement",
    ]  # fmt: skip
    assert "broadcast-missing" in load_obligations()["core/same-element"].readings
    assert "strict" in load_obligations()["core/consumes"].readings
    assert {ob.id for ob in load_obligations().values() if ob.severity is not ERROR} == {
        "core/consumes", "core/needless-hop", "core/unused-suppression", "core/unresolved-transfer",
    }  # fmt: skip


def test_an_obligation_that_is_not_whole_is_refused() -> None:
    with pytest.raises(InputError, match="missing `why`"):
        read_obligations(Source("o", '[obligation."core/x"]\ntitle = "t"\n'))


def test_what_is_kept_of_a_shipped_file_counts_for_the_same_text_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module.__spec__, "cached", str(tmp_path / "table.pyc"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    read = table_module.shipped_toml.__wrapped__
    file = Path("machines", "target.toml")
    assert read(file, "a = 1") == {"a": 1}
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(marshal.dumps(("a = 1", {"a": 2})))
    assert read(file, "a = 1") == {"a": 2}, "what was kept is not parsed again"
    assert read(file, "a = 3") == {"a": 3}
    for damaged in (b"", b"\x00", b"not marshal", marshal.dumps(7), marshal.dumps(("a = 3",))):
        kept.write_bytes(damaged)
        assert read(file, "a = 3") == {"a": 3}
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    kept.unlink()
    assert read(file, "a = 3") == {"a": 3}
    assert not list(tmp_path.iterdir())
