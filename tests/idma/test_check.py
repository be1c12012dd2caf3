"""Plans, burst lists and files judged by the rules of the engine; each side of each edge."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.cli import app as cli
from dmaverify.errors import InputError
from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.machines.idma.engine import (
    AXI,
    TILELINK,
    Backend,
    Request,
    variant_named,
)  # fmt: skip
from dmaverify.machines.idma.judge import burst_facts, starts_of
from dmaverify.machines.idma.legalizer import legalize
from dmaverify.machines.idma.setup import presets, setup_of
from dmaverify.prove.flow.listed import ListedItem, judge_listed
from dmaverify.targets.modules import Derived
from dmaverify.targets.target import load_target
from dmaverify.verdict import Severity, Status, Verdict

ROOT = Path(__file__).resolve().parents[2]
IDMA = load_target("idma")
BACKEND = Backend(variant_named("rw_axi"), 64)


def test_the_systems_of_the_paper_are_presets() -> None:
    assert set(presets(IDMA)) == {"pulp-open", "controlpulp", "cheshire", "mempool", "manticore", "io-dma"}
    manticore = setup_of(IDMA, {"preset": "manticore"})
    assert (manticore.backend.data_width, manticore.backend.address_width, manticore.backend.ax_in_flight) == (
        512,
        48,
        32,
    )
    assert setup_of(IDMA, {"preset": "io-dma"}).request.src_protocol == 1
    assert setup_of(IDMA, {"preset": "cheshire", "data_width": 128}).backend.word == 16


@pytest.mark.parametrize("path", ["tiles", "forms"])
def test_the_examples_are_as_they_say(path: str) -> None:
    for verdict in api.check(ROOT / f"examples/idma/{path}.toml"):
        assert verdict.as_expected, (verdict.name, verdict.status, [f.rule for f in verdict.errors])


# ---------------------------------------------------------------- burst lists


def judged(
    request: Request, read: list[tuple[int, int]], write: list[tuple[int, int]], backend: Backend = BACKEND
) -> set[str]:
    item = ListedItem("x", None, tuple(burst_facts(backend, request, read, write)))
    verdict = judge_listed([item], IDMA, name="x", path="", unit="transfers")
    assert (verdict.status is Status.PROVED) == (not verdict.errors)
    return {f.rule.removeprefix("idma/") for f in verdict.errors}


LONG = Request(4088, 8192, 24, decouple_rw=True)
GOOD_READ, GOOD_WRITE = [(4088, 8), (4096, 16)], [(8192, 24)]


def test_a_legal_list_from_elsewhere_passes_even_where_the_engine_cuts_otherwise() -> None:
    assert judged(LONG, GOOD_READ, GOOD_WRITE) == set()
    assert judged(LONG, [(4088, 8), (4096, 8), (4104, 8)], GOOD_WRITE) == set()


@pytest.mark.parametrize(
    ("read", "rules"),
    [
        ([(4088, 24)], {"page-4k"}),
        ([(4088, 8), (4104, 16)], {"burst-order"}),
        ([(4096, 16), (4088, 8)], {"burst-order", "burst-complete"} - {"burst-complete"}),
        ([(4088, 8), (4096, 8)], {"burst-complete"}),
        ([(4088, 8), (4096, 24)], {"burst-complete"}),
        ([(4088, 8), (4096, 0), (4096, 16)], {"burst-advance"}),
        ([(4088, 8), (4096, 16), (4096, 16)], {"burst-complete", "burst-order"}),
        ([], {"burst-advance", "burst-complete"}),
    ],
)
def test_what_is_wrong_with_a_list_is_named(read: list[tuple[int, int]], rules: set[str]) -> None:
    assert judged(LONG, read, GOOD_WRITE) == rules


def test_coupled_bursts_must_pair() -> None:
    coupled = replace(LONG, decouple_rw=False)
    assert judged(coupled, GOOD_READ, [(8192, 8), (8200, 16)]) == set()
    assert "burst-pairs" in judged(coupled, GOOD_READ, GOOD_WRITE)


def test_limits_of_the_protocol_and_of_the_request() -> None:
    wide = Request(0, 0x10000, 2056, decouple_rw=True)
    assert judged(wide, [(0, 2048), (2048, 8)], [(0x10000, 2048), (0x10800, 8)]) == set()
    assert judged(wide, [(0, 2056)], [(0x10000, 2048), (0x10800, 8)]) == {"axi-beats"}
    short = replace(wide, length=16, src_reduce_len=True)
    assert judged(short, [(0, 8), (8, 8)], [(0x10000, 16)]) == set()
    assert judged(short, [(0, 16)], [(0x10000, 16)]) == {"burst-limit"}
    obi = Request(4, 0x10000, 8, 1, 0)
    mixed = replace(BACKEND, variant=variant_named("r_obi_w_axi"))
    assert judged(obi, [(4, 4), (8, 4)], [(0x10000, 8)], mixed) == set()
    assert judged(obi, [(4, 8)], [(0x10000, 8)], mixed) == {"word-access"}
    assert judged(Request(0xFFFFFFF0, 0, 32, decouple_rw=True), [(0xFFFFFFF0, 32)], [(0, 32)]) == {
        "burst-wrap",
        "page-4k",
    }


def test_tilelink_accesses_are_powers_of_two_aligned_within_a_page() -> None:
    tl = replace(BACKEND, variant=variant_named("rw_tilelink"))
    request = Request(4, 0, 12, TILELINK, TILELINK)
    assert judged(request, [(4, 4), (8, 8)], [(0, 8), (8, 4)], tl) == set()
    assert judged(request, [(4, 8), (12, 4)], [(0, 8), (8, 4)], tl) == {"tilelink-aligned"}
    assert judged(request, [(4, 12)], [(0, 8), (8, 4)], tl) == {"tilelink-size", "tilelink-aligned"}
    page = Request(2044, 0, 8, TILELINK, TILELINK)
    assert judged(page, [(2044, 8)], [(0, 8)], tl) == {"tilelink-page", "tilelink-aligned"}
    big = Request(0, 0, 512, TILELINK, TILELINK)
    assert judged(big, [(0, 512)], [(0, 512)], tl) == {"tilelink-beats"}
    assert judged(big, [(0, 512)], [(0, 256), (256, 256)], tl) == set()


def test_every_list_of_the_rtl_but_tilelink_and_zero_length_is_legal(burst_rows: list[dict[str, str]]) -> None:
    verdict = verdict_of_file(str(ROOT / "tests/data/idma_rtl_bursts_sample.csv"))
    assert verdict is not None
    assert verdict.status is Status.REFUTED
    assert {f.rule for f in verdict.errors} == {
        "idma/burst-advance", "idma/burst-wrap", "idma/burst-length-field", "idma/tilelink-aligned",
        "idma/tilelink-page",
    }  # fmt: skip
    wrong = {f.span.line - 2 for f in verdict.errors if f.span is not None}
    for number in wrong:
        row = burst_rows[number]
        wraps = max(int(row["src_addr"]), int(row["dst_addr"])) + int(row["length"]) > 1 << 32
        assert "3" in (row["src_protocol"], row["dst_protocol"]) or row["length"] == "0" or wraps


def test_the_legalizers_own_lists_are_legal_wherever_no_tilelink_is() -> None:
    for src in (0, 1, 4090, 0xFFFFF000):
        for llen in range(8):
            request = Request(src, 77, 3000, decouple_rw=llen % 2 == 0, src_reduce_len=True, src_max_llen=llen)
            found = legalize(BACKEND, request)
            assert judged(request, found.pairs("read"), found.pairs("write")) == set()


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("fewer", [1, 0])
def test_a_baseline_of_more_findings_than_are_told_knows_how_many_there_were(
    fewer: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = "4088,8192,24,1,ff8:24,2000:24\n"  # a burst across a page
    table, known = tmp_path / "trace.csv", tmp_path / "known.json"
    head = "src_addr,dst_addr,length,decouple_rw,r_bursts,w_bursts\n"
    table.write_text(head + row * 299 + (row if not fewer else ""))
    assert cli.invoke(["check", str(table), "--write-baseline", str(known)]) == 0
    table.write_text(head + row * 300)
    assert cli.invoke(["check", str(table), "--baseline", str(known)]) == fewer
    assert cli.invoke(["check", str(table), "--format", "statistics"]) in (1, 2)
    capsys.readouterr()
    assert cli.invoke(["check", str(table)]) == 1
    assert "idma/* 300" in capsys.readouterr().out


@pytest.mark.parametrize(("pattern", "code"), [("jobs/error*.txt", 0), ("jobs/*.txt", 1), ("none/*", 1)])
def test_settings_say_what_is_expected_of_job_files(pattern: str, code: int, tmp_path: Path) -> None:
    job = "64\n0x1000\n0x20000\n1\n1\n256\n256\n0\n0\n"  # over OBI, which has no error handler
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "error_simple.txt").write_text(job + "1\nrc0x1008\n")
    (tmp_path / "jobs" / "simple.txt").write_text(job + "0\n")
    settings = tmp_path / "dmaverify.toml"
    settings.write_text(f'per-path-expect = {{ "{pattern}" = ["idma/error-handled"] }}\n')
    asked = ["check", str(tmp_path / "jobs"), "--engine", "rw_obi", "--dims", "0", "--config", str(settings)]
    assert cli.invoke(asked) == code


@pytest.mark.parametrize("engine", ["nonsense", "data_width=64", "rw_axi"])
def test_an_engine_beside_plans_alone_is_refused(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["check", str(ROOT / "examples/idma/tiles.toml"), "--engine", engine]) == 2
    assert "plans and kernels name their own" in capsys.readouterr().err


def test_a_burst_table_and_json_lines_are_judged_by_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "trace.csv"
    table.write_text("src_addr,dst_addr,length,decouple_rw,r_bursts,w_bursts\n4088,8192,24,1,ff8:8 1000:16,2000:24\n")
    assert cli.invoke(["check", str(table)]) == 0
    assert "the one transfer" in capsys.readouterr().out
    table.write_text(table.read_text() + "4088,8192,24,1,ff8:24,2000:24\n4088,8192,24,1,zz,2000:24\n")
    assert cli.invoke(["check", str(table), "--format", "concise"]) == 2
    said = capsys.readouterr().out
    assert "trace.csv:3:16: error[idma/page-4k]" in said
    assert "`zz` in r_bursts is no burst" in said
    lines = tmp_path / "trace.jsonl"
    row = {"src_addr": 4088, "dst_addr": 8192, "length": 8, "read": [[4088, 8]], "write": [[8192, 8]]}
    lines.write_text(json.dumps(row) + "\n")
    assert cli.invoke(["check", str(lines)]) == 0
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    assert cli.invoke(["check", str(tmp_path / "other.csv")]) == 2


def test_check_stdin_judges_one_list(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"src_addr": 4088, "dst_addr": 8192, "length": 16, "read": [[4088, 16]], "write": [[8192, 16]]}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps({"bursts": row}) + "\n" + json.dumps({"bursts": {"a": 1}})))
    assert cli.invoke(["check", "--stdin"]) == 2, "the second line is none"
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert [f["rule"] for f in first[0]["findings"]] == ["idma/page-4k"]
    assert "error" in second


def test_a_job_file_is_judged_and_legalized(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = tmp_path / "some.job"
    job.write_text("\n".join(["5000", "0xff8", "0x20000", "0", "0", "256", "256", "0", "0", "0"]))
    assert cli.invoke(["check", str(job)]) == 0
    assert "no move is given" in capsys.readouterr().out
    assert cli.invoke(["bursts", str(job), "--engine", "data_width=64", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert [n for _, n in one["read"]] == [8, 2040, 8, 2040, 8, 896]
    job.write_text("\n".join(["0", "0xff8", "0x20000", "0", "0", "256", "256", "0", "0", "0"]))
    assert cli.invoke(["check", str(job), "--format", "concise"]) == 0
    assert "warning[idma/zero-length]" in capsys.readouterr().out


def test_bursts_of_a_plan_are_shown_and_cut_off(capsys: pytest.CaptureFixture[str]) -> None:
    path = f"{ROOT}/examples/idma/forms.toml::registers"
    assert cli.invoke(["bursts", path, "--limit", "2", "--wire"]) == 0
    said = capsys.readouterr().out
    assert "... 2 more transfers" in said
    assert "beats" in said
    assert cli.invoke(["bursts", f"{ROOT}/examples/first.toml"]) == 2
    assert cli.invoke(["bursts"]) == 2
    assert cli.invoke(["bursts", path, "--engine", "preset=none"]) == 2


# ---------------------------------------------------------------- plans

PLAN = """
schema = 1
target = "idma"
[axes]
A = 4
B = 64
C = 2
[transfer.t]
dtype = "i8"
source = {{ tier = "{tier}", base = {src}, element = "{source}" }}
dest = {{ tier = "mem", base = {dst}, element = "A, C, B" }}
read = "[{read}]:{packet} {medium}@{src}"
write = "[{write}]:{packet} MEM@{dst}"
options = {{ {options} }}
"""


def plan(**change: object) -> Verdict:
    values: dict[str, object] = {
        "tier": "mem", "medium": "MEM", "src": 4096, "dst": 65536, "source": "C, A, B",
        "read": "A=4:64, C=2:256, B=64:1", "write": "A=4:128, C=2:64, B=64:1", "packet": 64, "options": "",
    }  # fmt: skip
    (verdict,) = api.check(PLAN.format(**{**values, **change}))
    return verdict


def rules_of(verdict: Verdict, severity: Severity = Severity.ERROR) -> set[str]:
    return {f.rule.removeprefix("idma/") for f in verdict.findings if f.severity is severity}


def test_a_descriptor_that_keeps_its_promise_and_the_rules_is_proved() -> None:
    verdict = plan()
    assert verdict.status is Status.PROVED
    assert not verdict.findings


def test_one_wrong_stride_is_refuted_as_on_any_machine() -> None:
    assert rules_of(plan(write="A=4:64, C=2:64, B=64:1")) >= {"core/covers", "core/writes-once", "core/same-element"}


@pytest.mark.parametrize(
    ("change", "errors", "others"),
    [
        ({"options": "dims = 3"}, set(), set()),
        ({"options": "dims = 2"}, {"dims-max"}, set()),
        ({"options": 'variant = "r_axi_w_obi", dst_protocol = "obi"'}, set(), set()),
        ({"options": 'variant = "r_axi_w_obi", dst_protocol = "axi"'}, {"protocol"}, set()),
        ({"options": 'variant = "rw_axi_rw_init", src_protocol = "init"'}, {"pattern"}, set()),
        ({"options": "src_burst = 0"}, {"burst-incr"}, set()),
        ({"options": "src_burst = 1"}, set(), set()),
        ({"options": 'on_error = "replay"'}, {"error-action"}, {"error-replay"}),
        ({"options": 'on_error = "abort"'}, set(), {"error-abort"}),
        ({"options": 'on_error = "continue"'}, set(), {"error-continue"}),
        ({"options": 'on_error = "continue", variant = "rw_obi"'}, {"error-handled"}, {"error-continue"}),
        ({"options": "length_width = 12"}, set(), set()),
        ({"options": "decouple_rw = 1, buffer_depth = 16"}, set(), set()),
        ({"options": "decouple_rw = 1, buffer_depth = 15"}, set(), {"decoupled"}),
        ({"options": "src_max_llen = 2"}, set(), {"llen-inert"}),
        ({"options": "src_reduce_len = 1, src_max_llen = 2"}, set(), set()),
        ({"options": "address_width = 17"}, set(), set()),
        ({"options": "address_width = 16, length_width = 16"}, {"address-wrap"}, set()),
        ({"src": 4097}, set(), {"over-fetch"}),
        ({"tier": "io", "medium": "IO"}, set(), set()),
        ({"tier": "io", "medium": "IO", "src": 4097}, {"over-fetch-device"}, set()),
        ({"packet": 1}, set(), set()),
        ({"options": 'variant = "rw_tilelink"'}, set(), set()),
        ({"src": 4104, "options": 'variant = "rw_tilelink"'}, {"tilelink-aligned"}, {"known-defect"}),
        ({"src": 4104, "options": 'variant = "rw_tilelink", version = "spec"'}, set(), set()),
    ],
)
def test_each_rule_has_two_sides(change: dict[str, object], errors: set[str], others: set[str]) -> None:
    verdict = plan(**change)
    if change == {"packet": 1}:  # the runs are longer than what is moved at once: one more loop
        assert rules_of(verdict) == set()
        return
    assert rules_of(verdict) == errors
    assert rules_of(verdict, Severity.WARNING) | rules_of(verdict, Severity.ADVICE) == others


def test_the_paper_s_reading_lets_replay_pass() -> None:
    from dmaverify.prove.move.check import Options

    text = PLAN.format(
        tier="mem", medium="MEM", src=4096, dst=65536, source="C, A, B", read="A=4:64, C=2:256, B=64:1",
        write="A=4:128, C=2:64, B=64:1", packet=64, options='on_error = "replay"',
    )  # fmt: skip
    (verdict,) = api.check(text, options=Options(readings={"idma/error-action": "paper"}))
    assert verdict.status is Status.PROVED
    assert any("another reading" in said for said in verdict.assumptions)


def test_a_packet_that_is_not_contiguous_is_no_transfer() -> None:
    assert "contiguous" in rules_of(plan(packet=128, read="A=4:64, C=2:256, B=64:1", source="C, A, B"))


def test_overlap_of_source_and_destination_is_told() -> None:
    assert "core/overlap" in rules_of(plan(dst=4096 + 256))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("word = 8", "unknown option"), ('preset = "none"', "no preset"), ("data_width = 48", "data_width"),
        ('variant = "x"', "variant"), ("decouple_rw = 2", "decouple_rw"), ('on_error = "x"', "on_error"),
        ("dims = 0", "dims"), ('src_protocol = "ahb"', "no protocol"),
    ],
)  # fmt: skip
def test_options_that_mean_nothing_are_input_errors(options: str, says: str) -> None:
    verdict = plan(options=options)
    assert verdict.status is Status.ERROR
    assert {f.rule for f in verdict.findings} == {"core/input"}
    assert all(f.span is not None for f in verdict.findings)
    assert any(re.search(says, f.message) for f in verdict.findings)


def test_an_option_of_a_wrong_type_is_no_plan() -> None:
    with pytest.raises(InputError, match="decouple_rw"):
        plan(options="decouple_rw = true")


def test_a_machine_without_a_module_takes_no_options() -> None:
    text = (
        (ROOT / "examples/first.toml")
        .read_text(encoding="utf-8")
        .replace('dtype  = "i8"', 'dtype  = "i8"\noptions = { a = 1 }')
    )
    (verdict,) = api.check(text)
    assert verdict.status is Status.ERROR
    assert any("reads no options" in f.message for f in verdict.findings)


def test_starts_repeat_with_the_page() -> None:
    assert starts_of(5, [(3, 10)], 4096) == {5, 15, 25}
    assert starts_of(0, [(100, 2048)], 4096) == {0, 2048}
    assert starts_of(4090, [(2, 10), (2, -1)], 4096) == {4090, 4, 4089, 3}


def test_nothing_to_judge_is_no_pass() -> None:
    assert judge_listed([], IDMA, name="x", path="", unit="transfers").status is Status.ERROR
    lacking = ListedItem("x", None, (Derived("burst", {"protocol": AXI}, "burst"),))
    assert judge_listed([lacking], IDMA, name="x", path="", unit="transfers").status is Status.REFUTED


def test_of_a_long_file_the_bursts_of_the_first_descriptors_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "jobs.txt"
    file.write_text("64\n0x1000\n0x20000\n0\n0\n256\n256\n0\n0\n0\n" * 70)
    assert cli.invoke(["bursts", str(file), "--dims", "0"]) == 0
    out = capsys.readouterr().out
    assert out.endswith("... 6 more descriptors of 6 transfers\n")
    assert out.count("to 0x20000") == 64


FORMS = {
    "desc64": "fetch = 64\nhead = 0x8000\n"
    "0x8000: 00000040 0000000b ffffffff ffffffff 00001000 00000000 00020000 00000000",
    "nd": "src = 0x1000\ndst = 0x20000\nlength = 64",
}


@pytest.mark.parametrize(
    ("engine", "form", "told"),
    [
        ("cheshire", "desc64", False),
        ("rw_axi", "desc64", False),
        ("manticore", "desc64", True),
        ("cheshire", "nd", False),
    ],
)
def test_a_text_for_another_front_end_is_told(tmp_path: Path, engine: str, form: str, told: bool) -> None:
    (tmp_path / "image.txt").write_text(f"{form}\n{FORMS[form]}\n")
    plan = f'''
schema = 1
target = "idma"
[axes]
A = 64
[transfer.p]
dtype = "i8"
source = {{ tier = "mem", base = 4096, element = "A" }}
dest = {{ tier = "mem", base = 131072, element = "A" }}
options = {{ {"variant" if engine == "rw_axi" else "preset"} = "{engine}", data_width = 64 }}
commands = """
{form}
{FORMS[form]}
"""
'''
    (tmp_path / "p.toml").write_text(plan)
    of_file = verdict_of_file(str(tmp_path / "image.txt"), engine=[engine])
    (of_plan,) = api.check(str(tmp_path / "p.toml"))
    for verdict in (of_file, of_plan):
        assert verdict is not None
        assert any(finding.rule == "idma/other-front-end" for finding in verdict.findings) is told


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ({"path": "up.job"}, "refuted"), ({"path": "down.job", "engine": ["rw_axi"], "dims": 0}, "proved"),
        ({"path": "down.job", "engine": "rw_obi"}, "refuted"), ({"path": "none.job"}, "error"),
        ({"path": "down.job", "dims": 9}, "error"), ({"plan": "schema = 1", "engine": "rw_axi"}, "error"),
    ],
)  # fmt: skip
def test_a_line_of_check_names_a_job_file_and_its_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: dict[str, object],
    status: str,
) -> None:  # fmt: skip
    for name, dst in (("up", "0x1100"), ("down", "0x0f00")):
        (tmp_path / f"{name}.job").write_text("\n".join(["4096", "0x1000", dst, *"00", "256", "256", *"000"]) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(line)))
    code = cli.invoke(["check", "--stdin"])
    answer = json.loads(capsys.readouterr().out)
    assert [verdict["status"] for verdict in answer] == [status]
    assert code == {"refuted": 1, "proved": 0, "error": 2}[status]


def test_a_finding_on_a_burst_list_underlines_the_burst(tmp_path: Path) -> None:
    file = tmp_path / "l.csv"
    rows = ["src_addr,dst_addr,length,r_bursts,w_bursts", "0xff8,0x20000,16,ff8:8:ff8:1 1000:8:1004:1,20000:16:20000:2"]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    verdict = verdict_of_file(str(file))
    assert verdict is not None
    shown = {(f.rule, rows[1][f.span.column - 1 :].split(",")[0].split()[0]) for f in verdict.errors if f.span}
    assert shown >= {("idma/burst-bus-address", "1000:8:1004:1"), ("idma/burst-length-field", "20000:16:20000:2")}


@pytest.mark.parametrize(
    ("first", "second", "rule"),
    [
        ("src_reduce_len = 1\nsrc_max_llen = 2", "dst_reduce_len = 1\nsrc_max_llen = 2", "idma/llen-inert"),
        ("decouple_aw = 1", "length = 6400\ndecouple_rw = 1", "idma/decoupled"),
    ],
)
def test_each_request_is_judged_with_its_own_options(tmp_path: Path, first: str, second: str, rule: str) -> None:
    def found(*requests: str) -> list[str]:
        lines = []
        for number, more in enumerate(requests):
            own = more if "length" in more else f"{more}\nlength = 64"
            lines.append(f"src = 0x{number + 1}000\ndst = 0x{number + 2}0000\n{own}\nlaunch")
        (tmp_path / "d.idma").write_text("\n".join(["nd", *lines]))
        verdict = verdict_of_file(str(tmp_path / "d.idma"))
        assert verdict is not None
        return [one.rule for one in verdict.findings if one.rule == rule]

    assert found(second)
    assert not found(first)
    assert found(first, second) == found(second)


IMAGE = "reg32_3d\n0x00 = {conf:#x}\n0xD0 = 0x20000\n0xD4 = 0x1000\n0xD8 = 64\nread 0x44\n"
DRIVER = """#include <stdint.h>
#define REG(o) (*(volatile uint32_t *)(0x41000000u + (o)))
int main(void) {{ REG(0) = {conf:#x}; REG(0xD0) = 0x20000; REG(0xD4) = 0x1000; REG(0xD8) = 64; REG(0x44); }}
"""


@pytest.mark.parametrize(("name", "text"), [("a.txt", IMAGE), ("a.c", DRIVER)])
def test_ports_that_nothing_names_are_a_condition(tmp_path: Path, name: str, text: str) -> None:
    """Bits 15:13 of conf ask for OBI reads, which an engine has or not."""

    def judged(conf: int, *more: str) -> tuple[Status, tuple[str, ...]]:
        (tmp_path / name).write_text(text.format(conf=conf))
        found = verdict_of_file(str(tmp_path / name), engine=["front_end=reg32_3d", *more])
        return found.status, found.conditions

    assert judged(1 << 13) == (Status.PROVED, ("the engine reads with obi and writes with axi",))
    assert judged(0) == judged(1 << 13, "r_obi_w_axi") == (Status.PROVED, ())
    assert judged(1 << 13, "rw_axi")[0] is Status.REFUTED


def test_a_descriptor_of_no_bytes_is_told_to_move_some() -> None:
    head = 'schema = 1\ntarget = "idma"\n[axes]\nC = 64\n[transfer.t]\ndtype = "i8"\n'
    sides = (
        f'{side} = {{ tier = "mem", base = {base}, element = "C" }}\n' for side, base in (("source", 0), ("dest", 64))
    )
    text = head + "".join(sides) + 'commands = """\nnd\nsrc = 0\ndst = 64\nlength = 0\n"""\n'
    (found,) = api.check(text)
    assert [one.hint for one in found.errors] == ["say how many bytes move, or leave it out"]
