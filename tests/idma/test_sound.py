"""No false green: moves in place, words, reserved bits, bus fields, chains in their own data; and no false red beside
them.
"""

import json
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from fuzz.idma import run_looped
from lab.draws import counted
from lab.idma import FORMS, moved, mutants, random_plan

from dmaverify import api
from dmaverify.cli import app as cli
from dmaverify.errors import InputError
from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.machines.idma.engine import Backend, Request, variant_named
from dmaverify.machines.idma.forms import read_image, write_image
from dmaverify.machines.idma.jobs import request_options
from dmaverify.machines.idma.legalizer import burst_count, legalize
from dmaverify.machines.idma.nd import Descriptor, Dim, starts
from dmaverify.machines.idma.search import synthesize
from dmaverify.machines.idma.setup import Setup, setup_of
from dmaverify.machines.idma.text import ToldDescriptor
from dmaverify.plan.read import InputErrors, read_plan_text
from dmaverify.targets.target import load_target
from dmaverify.verdict import Severity, Status, Verdict

PLAN = """
schema = 1
target = "idma"
[axes]
R = {rows}
C = {columns}
[transfer.t]
dtype = "i8"
source = {{ tier = "mem", base = {src}, element = "R, C{pad}" }}
dest = {{ tier = "mem", base = {dst}, element = "R, C{pad}" }}
options = {{ {options} }}
commands = \"\"\"
{text}
\"\"\"
"""


def judged(
    text: str, *, src: int, dst: int, rows: int = 1, columns: int = 64, pad: str = "", options: str = ""
) -> Verdict:
    plan = PLAN.format(rows=rows, columns=columns, pad=pad, src=src, dst=dst, text=text, options=options)
    return api.check(plan)[0]


def errors(verdict: Verdict) -> set[str]:
    return {f.rule for f in verdict.findings if f.severity is Severity.ERROR}


# ---------------------------------------------------------------- moves in place


def streamed(src: int, dst: int, length: int, word: int) -> bool:
    """Whether a copy is right where words are read in order, whole, and each is written as soon as it can be."""
    memory = {a: a for a in range(min(src, dst) - 8, max(src, dst) + length + 8)}
    held: list[int] = []
    for at in range(dst, dst + length):
        if at != dst and at % word:
            continue
        end = min(dst + length, at - at % word + word)
        while len(held) < end - dst:
            first = src + len(held)
            held += [memory[a] for a in range(first, min(src + length, first - first % word + word))]
        memory |= {a: held[a - dst] for a in range(at, end)}
    return all(memory[dst + n] == src + n for n in range(length))


@pytest.mark.parametrize("word", [4, 8])
def test_one_transfer_onto_itself_is_judged_as_words_stream(word: int) -> None:
    seen = set()
    for distance in (-64, -5, -1, 0, 1, word - 1, word, 2 * word - 2, 2 * word - 1, 2 * word, 31, 63, 64):
        for src in (4096, 4099):
            verdict = judged(
                f"nd\nsrc = {src}\ndst = {src + distance}\nlength = 64", src=src, dst=src + distance,
                options=f"data_width = {8 * word}",
            )  # fmt: skip
            seen.add(verdict.status)
            right = streamed(src, src + distance, 64, word)
            assert verdict.status is (Status.PROVED if right else Status.REFUTED), (src, distance)
            assert right == (distance < word or distance >= 64)
    assert seen == {Status.PROVED, Status.REFUTED}


def overwritten(setup: Setup, requests: list[Request]) -> bool:
    """Whether a byte arrives wrong where each word is written as soon as what it takes was read, burst by burst."""
    word, memory, have = setup.backend.word, dict[int, int](), dict[int, int]()
    beats: dict[str, list[tuple[int, int, int]]] = {"read": [], "write": []}
    wanted: list[int] = []
    for request in requests:
        bursts = legalize(setup.backend, request)
        for side, base in (("read", request.src), ("write", request.dst)):
            for address, count in bursts.pairs(side):
                edges = [address, *range(address - address % word + word, address + count, word), address + count]
                beats[side] += [(low, high, len(wanted) - base) for low, high in pairwise(edges)]
        wanted += range(request.src, request.src + request.length)
    writes = iter(beats["write"])
    one = next(writes, None)
    for low, high, shift in [*beats["read"], (0, 0, 0)]:
        while one is not None and all(at + one[2] in have for at in range(one[0], one[1])):
            memory |= {at: have[at + one[2]] for at in range(one[0], one[1])}
            one = next(writes, None)
        have |= {at + shift: memory.get(at, at) for at in range(low, high)}
    return [have[n] for n in range(len(wanted))] != wanted


@pytest.mark.parametrize(
    ("src", "gap", "options", "status"),
    [
        (0x1000, 3, {}, "proved"), (0x1000, 4, {}, "refuted"), (0x13E0, 3, {}, "refuted"),
        (0x13E0, 3, {"decouple_rw": 1}, "proved"), (0x13E0, 4, {"decouple_rw": 1}, "refuted"),
        (0x13A0, 3, {}, "proved"), (0x13BE, 3, {}, "refuted"), (0x13BD, 3, {}, "proved"),
        (0x1000, 3, {"src_reduce_len": 1, "dst_reduce_len": 1}, "refuted"),
        (0x13E0, 3, {"variant": "rw_obi"}, "proved"),
        (0x1000, 3, {"variant": "rw_tilelink", "version": "spec"}, "unknown"),
        (0x1000, 7, {"variant": "rw_tilelink", "version": "spec"}, "refuted"),
        (0x1000, -3, {}, "proved"), (0x13E0, -3, {}, "proved"),
    ],
)  # fmt: skip
def test_a_move_onto_its_own_rest_hangs_on_words_and_on_where_bursts_are_cut(
    src: int, gap: int, options: dict[str, int | str], status: str
) -> None:
    shown = ", ".join(f"{name} = {json.dumps(one)}" for name, one in options.items())
    own = {name: one for name, one in options.items() if name not in ("variant", "version")}
    text = f"nd\nsrc = {src}\ndst = {src + gap}\nlength = 64\n" + "".join(f"{n} = {v}\n" for n, v in own.items())
    protocols = {"rw_obi": "obi", "rw_tilelink": "tilelink"}.get(str(options.get("variant")), "axi")
    text += f"src_protocol = {protocols}\ndst_protocol = {protocols}\n"
    found = judged(text, src=src, dst=src + gap, options=shown)
    assert found.status.value == status
    setup = setup_of(load_target("idma"), options)
    if status != "unknown":
        assert overwritten(setup, [setup.at(src, src + gap, 64)]) == (status == "refuted")


@pytest.mark.slow
def test_drawn_moves_in_place_are_judged_as_every_word_goes() -> None:
    draw, seen = random.Random(5), set()
    for _ in range(60):
        options: dict[str, int | str] = {"data_width": draw.choice([16, 32, 64]), "decouple_rw": draw.randrange(2)}
        if draw.random() < 0.3:
            options |= {"src_reduce_len": 1, "dst_reduce_len": 1, "dst_max_llen": draw.choice([0, 2])}
        setup = setup_of(load_target("idma"), options)
        gap = draw.choice([1, setup.backend.word - 1, setup.backend.word, draw.randint(1, 16), -draw.randint(1, 16)])
        src, length = 0x1400 - draw.randrange(90), draw.choice([3, 8, 33, 64])
        shown = ", ".join(f"{name} = {one}" for name, one in options.items())
        text = f"nd\nsrc = {src}\ndst = {src + gap}\nlength = {length}\n" + "".join(
            f"{name} = {one}\n" for name, one in options.items() if name != "data_width")  # fmt: skip
        found = judged(text, src=src, dst=src + gap, options=f"data_width = {options['data_width']}", columns=length)
        wrong = overwritten(setup, [setup.at(src, src + gap, length)])
        assert found.status is (Status.REFUTED if wrong else Status.PROVED), (shown, src, gap, length)
        seen.add(wrong)
    assert seen == {True, False}


def test_rows_that_interleave_share_what_they_share() -> None:
    text = "nd\nsrc = 4096\ndst = {dst}\nlength = 16\ndim = 4, 64, 64"
    apart = judged(text.format(dst=4112), src=4096, dst=4112, rows=4, columns=16, pad=" # 64")
    assert apart.status is Status.PROVED
    shared = judged(text.format(dst=4103), src=4096, dst=4103, rows=4, columns=16, pad=" # 64")
    assert errors(shared) == {"core/overlap"}


# ---------------------------------------------------------------- words


REGISTERS = "reg32_3d\n0x00 = 0x{conf:x}\n0xD0 = 0x{dst:x}\n0xD4 = 0x1000\n0xD8 = 64\nread 0x44"


@pytest.mark.parametrize("bit", [19, 25, 31])
def test_reserved_bits_of_conf_are_found_at_the_word(bit: int) -> None:
    good = judged(REGISTERS.format(conf=1 << 0, dst=0x20000), src=0x1000, dst=0x20000)
    assert good.status is Status.PROVED
    bad = judged(REGISTERS.format(conf=1 << bit, dst=0x20000), src=0x1000, dst=0x20000)
    (finding,) = [f for f in bad.findings if f.rule == "idma/reserved-bits"]
    assert finding.span is not None
    assert finding.span.text == f"0x{1 << bit:x}"


CHAIN = """desc64
fetch = 256
head = 0x{head:x}
0x{head:x}: {dst:08x} 0 00001000 0 ffffffff ffffffff 00000040 {flags:08x}{more}"""


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        ({}, set()),
        ({"flags": 0x0100000A}, {"idma/reserved-bits"}),
        ({"flags": 0x00FFFF0B}, set()),
        ({"flags": 0}, {"idma/desc-burst"}),
        ({"head": 0x1000}, {"idma/desc-sourced"}),
        ({"head": 0x1020}, {"idma/desc-sourced"}),
        ({"head": 0x1040}, set()),
        ({"head": 0x20020}, {"idma/desc-clobbered"}),
        ({"more": " 00000000"}, {"core/well-formed"}),
    ],
)
def test_descriptors_in_memory_are_judged_where_they_lie(change: dict[str, object], rules: set[str]) -> None:
    text = CHAIN.format(**{"head": 0x8000, "dst": 0x20000, "flags": 0x0A, "more": "", **change})
    assert errors(judged(text, src=0x1000, dst=0x20000)) == rules


@pytest.mark.parametrize(
    "text",
    [
        "inst64\ndmsrc 0x1000, 0\ndmdst 0x20000, 0\ndmstr 0x100000000, 8\ndmcpyi 64, 0",
        "inst64\ndmsrc 0x1000, 0\ndmdst 0x20000, 0\ndmcpyi 64, 0, 1",
        "reg32_3d extra\n0xD8 = 64\nread 0x44",
        "reg32_3d\n0xD8 = 64\nread 0x44 1",
        "nd\nsrc = 1\nsrc = 2\ndst = 4\nlength = 1",
        "nd\nsrc = 1\ndst = 4\nlength = 1 2",
        "nd\nsrc = 1\ndst = 4\nlength = 1\ndim = 2, 0x1ffffffff, 1",
        "desc64\nhead = 0x8000\n0x8000: 0 0 0 0 0 0 0 a\n0x8000: 0 0 0 0 0 0 0 a",
        "desc64\nhead = 0x8000\n0x8000: 0 0 0 0 0 0 0 -1",
        "desc64\nhead = 0x8000\nhead = 0x8000\n0x8000: 0 0 0 0 0 0 0 a",
        "job 1\n64\n0x0\n0x1000\n0\n0\n256\n256\n0\n0\n2\n0x1ffffffff\n0x0\n0",
    ],
)
def test_words_that_the_hardware_would_cut_or_never_see_are_refused(text: str) -> None:
    with pytest.raises(InputError) as error:
        read_image(text)
    assert error.value.span is not None


def test_a_32_bit_map_on_an_engine_with_longer_addresses_is_refused() -> None:
    text = REGISTERS.format(conf=0, dst=0x20000)
    assert "core/well-formed" in errors(judged(text, src=0x1000, dst=0x20000, options="address_width = 48"))


@pytest.mark.parametrize(("dst", "right"), [((1 << 59) - 64, True), ((1 << 59) - 63, False)])
def test_high_addresses_end_where_the_address_space_ends(dst: int, right: bool) -> None:
    text = f"nd\nsrc = 0x1000\ndst = {dst}\nlength = 64"
    found = judged(text, src=0x1000, dst=dst, options="address_width = 59")
    assert errors(found) == (set() if right else {"idma/address-wrap"})
    assert found.status is (Status.PROVED if right else Status.REFUTED)


# ---------------------------------------------------------------- lists and files


def listed(tmp_path: Path, read: str, write: str, header: str = "") -> set[str]:
    file = tmp_path / "x.csv"
    file.write_text(f"src_addr,dst_addr,length,decouple_rw{header},r_bursts,w_bursts\n4090,8192,16,1,{read},{write}\n")
    found = verdict_of_file(str(file))
    assert found is not None
    return errors(found)


def test_bus_addresses_and_length_fields_are_judged_like_the_rest(tmp_path: Path) -> None:
    write = "2000:16:2000:3"
    assert listed(tmp_path, "ffa:6:ff8:1 1000:10:1000:2", write) == set()
    assert listed(tmp_path, "ffa:6:ffa:1 1000:10:1000:2", write) == {"idma/burst-bus-address"}
    assert listed(tmp_path, "ffa:6:ff8:1 1000:10:1000:3", write) == {"idma/burst-length-field"}
    assert listed(tmp_path, "ffa:6:ff8 1000:10", write) == {"core/input"}


def test_reads_wait_for_what_earlier_launches_write(tmp_path: Path) -> None:
    one = "src = 0x1000\ndst = 0x2000\nlength = 64\nlaunch\n"
    two = "src = {src}\ndst = 0x3000\nlength = 64\nlaunch\n"
    file = tmp_path / "x.idma"
    for text, rules in (
        (one + two.format(src="0x2000"), {"idma/wait"}),
        (one + "wait\n" + two.format(src="0x2000"), set()),
        (one + two.format(src="0x2040"), set()),
        (one + two.format(src="0x203f"), {"idma/wait"}),
    ):
        file.write_text("nd\n" + text)
        found = verdict_of_file(str(file))
        assert found is not None
        assert errors(found) == rules


JOB = "64\n0x{src:x}\n0x20000\n{p}\n{q}\n256\n256\n0\n0\n0\n"


def test_jobs_of_patterns_and_streams_pass_and_folders_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text(JOB.format(src=0xFFFFFFF0, p=4, q=1) + JOB.format(src=0x1000, p=1, q=4))
    (tmp_path / "b.txt").write_text(JOB.format(src=0x1000, p=1, q=1))
    engine = ["--engine", "rw_axi_rw_init_rw_obi", "--dims", "0"]
    assert cli.invoke(["check", "--no-cache", *engine, str(tmp_path)]) == 0
    (tmp_path / "b.txt").write_text(JOB.format(src=0xFFFFFFF0, p=1, q=1))
    assert cli.invoke(["check", "--no-cache", *engine, str(tmp_path), "--format", "concise"]) == 1
    assert "idma/address-wrap" in capsys.readouterr().out


@pytest.mark.parametrize(("error", "code"), [("0\n", 0), ("1\nrc0x1000\n", 1)])
def test_jobs_of_one_file_are_judged_each_by_its_own_values(tmp_path: Path, error: str, code: int) -> None:
    job = JOB.format(src=0x1000, p=0, q=1)
    (tmp_path / "a.txt").write_text(job + job.removesuffix("0\n") + error)
    engine = ["--engine", "r_axi_w_obi", "--dims", "0"]  # no error handler
    assert cli.invoke(["check", "--no-cache", *engine, str(tmp_path)]) == code


@pytest.mark.parametrize("line", range(0, 30, 7))
def test_a_damaged_file_of_1d_jobs_is_refused_at_a_line(tmp_path: Path, line: int) -> None:
    lines = (JOB.format(src=0x1000, p=0, q=0) * 7).splitlines()
    file = tmp_path / "x.txt"
    file.write_text("\n".join(lines))
    assert verdict_of_file(str(file)) is not None
    file.write_text("\n".join(lines[:line] + lines[line + 1 :]))
    with pytest.raises(InputError) as error:
        verdict_of_file(str(file))
    assert error.value.span is not None


# ---------------------------------------------------------------- mutants and round trips


def status_of(plan: str) -> Status:
    try:
        return api.check(plan)[0].status
    except (InputErrors, InputError):
        return Status.ERROR


def test_no_mutant_of_any_form_is_proved() -> None:
    rng = random.Random(3)
    judged_ = 0
    for form in FORMS:
        told = next(plan for _ in range(99) if (plan := random_plan(rng, form)) is not None)
        before, made = moved(told.text), mutants(rng, told)
        for _ in range(5):
            mutant = next(made)
            after = moved(mutant.text)
            if after == before:
                continue
            judged_ += 1
            if status_of(mutant.plan) is Status.PROVED:  # then it differs in padding alone
                assert after is not None
                assert not after[1]
                assert not set(api.run(mutant.plan).broken) - {"core/consumes"}, mutant
    assert judged_ > 30


def addresses(told: Sequence[ToldDescriptor]) -> list[list[int]]:
    return [[*pair, t.descriptor.request.length] for t in told for pair in starts(t.descriptor, 64).tolist()]


def test_wide_strides_are_refused_by_forms_that_cannot_hold_them() -> None:
    far = ToldDescriptor(Descriptor(Request(0, 1 << 40, 8), (Dim(2, 1 << 33, 8),)), request_options(Request(0, 0, 1)))
    assert addresses(read_image(write_image("reg64_2d", [far])).told) == addresses([far])
    for form in ("inst64", "job", "reg32_2d"):
        with pytest.raises(InputError, match="do not hold"):
            write_image(form, [far])


CASE = """reg32_3d
0x00 = 0x00000800
0xD0 = 0x20000
0xD4 = 0x1000
0xD8 = 16
0xE0 = 16
0xE4 = {e4}
0xE8 = 4
0xEC = 16
0xF0 = {f0}
0xF4 = 3
read 0x44"""
MOVE = """
schema = 1
target = "idma"
[axes]
A = 3
B = 4
C = 16
[transfer.t]
dtype = "i8"
source = {{ tier = "mem", base = 4096, element = "A # 5, B # 6, C # 24" }}
dest = {{ tier = "mem", base = 131072, element = "A, B, C" }}
commands = \"\"\"
{text}
\"\"\"
"""


@pytest.mark.parametrize(
    ("e4", "f0", "says", "at"),
    [
        (24, 48, "write 72 into 0xF0, instead of 48", ["48"]),
        (24, 144, "write 72 into 0xF0, instead of 144", ["144"]),
        (20, 72, "write 24 into 0xE4, instead of 20", ["20"]),
        (20, 84, "write 24 into 0xE4 and 72 into 0xF0, instead of 20 and 84", ["20", "84"]),
    ],
)
def test_a_help_names_the_words_that_the_registers_must_hold(e4: int, f0: int, says: str, at: list[str]) -> None:
    (verdict,) = api.check(MOVE.format(text=CASE.format(e4=e4, f0=f0)))
    finding = next(f for f in verdict.findings if f.rule == "core/same-element")
    assert finding.hint.startswith(says)
    assert [label.span.text for label in finding.labels][: len(at)] == at
    assert "iDMA" in finding.source
    (mended,) = api.check(MOVE.format(text=CASE.format(e4=24, f0=72)))
    assert mended.status is Status.PROVED


@pytest.mark.parametrize("form", ["auto", "reg32_3d", "desc64", "job", "nd"])
def test_commands_of_a_plan_are_emitted_in_forms_that_were_read_back(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.toml"
    file.write_text(MOVE.format(text=CASE.format(e4=24, f0=72)))
    assert cli.invoke(["emit", f"{file}::t", "--as", form]) == 0
    text = capsys.readouterr().out
    (again,) = api.check(MOVE.format(text=text))
    assert again.status is Status.PROVED
    file.write_text(MOVE.format(text=CASE.format(e4=24, f0=48)))
    assert cli.invoke(["emit", f"{file}::t", "--as", form]) == 2
    assert "not proved" in capsys.readouterr().err


def test_back_ends_share_a_transfer_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.idma"
    file.write_text("nd\nsrc = 0x80000100\ndst = 0x200\nlength = 4096\n")
    engine = ["mempool", "region_end=1048576", "region_width=1024", "backends=4"]
    flags = [word for one in engine for word in ("--engine", one)]
    assert cli.invoke(["bursts", str(file), "--json", *flags]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {one["backend"] for one in shown} == {0, 1, 2, 3}
    got = sorted((one["dst"], one["length"], one["src"] - one["dst"]) for one in shown)
    assert sum(length for _, length, _ in got) == 4096
    assert all(a + n == b for (a, n, _), (b, _, _) in pairwise(got))
    assert all(dst // 1024 % 4 == one["backend"] for one in shown for dst in (one["dst"],))
    assert cli.invoke(["check", str(file), "--format", "concise", *flags]) == 0
    assert "idma/mid-end-released" in capsys.readouterr().out


def test_bursts_are_counted_as_they_are_listed() -> None:
    rng = random.Random(1)
    for _ in range(500):
        backend = Backend(variant_named("rw_axi_rw_obi"), rng.choice((16, 32, 64, 512)))
        request = Request(
            rng.randrange(1 << 14), rng.randrange(1 << 14), rng.randrange(1, 20000), rng.choice((0, 0, 1)),
            rng.choice((0, 0, 1)), rng.random() < 0.2, False, rng.random() < 0.5, rng.randrange(8), rng.random() < 0.5,
            rng.randrange(8),
        )  # fmt: skip
        made = legalize(backend, request)
        assert burst_count(backend, request) == (made.read.bursts, made.write.bursts)


def test_huge_transfers_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.idma"
    rows = "dim = 4000000000, 0x100000000, 0x100000000"
    file.write_text(f"nd\nsrc = 0\ndst = 0x1000000000\nlength = 0xffffffff\n{rows}\n")
    assert cli.invoke(["bursts", str(file), "--limit", "1", "--engine", "address_width=64"]) == 0
    said = capsys.readouterr().out
    assert "4,194,304 bursts, counted and not listed" in said
    assert "3,999,999,999 more transfers" in said


def test_bursts_that_a_job_says_will_fail_promise_nothing() -> None:
    text = "job 0\n64\n0x1000\n0x20000\n0\n0\n256\n256\n0\n0\n{errors}"
    assert judged(text.format(errors="0"), src=0x1000, dst=0x20000).status is Status.PROVED
    bad = judged(text.format(errors="1\nra0x1010"), src=0x1000, dst=0x20000)
    assert "core/well-formed" in errors(bad)


TRIM = """
schema = 1
target = "idma"
[axes]
A = 4
B = 4
[transfer.t]
dtype = "i8"
source = { tier = "mem", base = 4096, element = "B, A # 7" }
dest = { tier = "mem", base = 262146, element = "B # 5, A # 7" }
options = { dims = 3 }
"""


def test_padding_behind_the_last_live_byte_is_not_moved() -> None:
    plan = read_plan_text(TRIM)
    transfer = plan.transfers[0].transfer
    found = synthesize(transfer, plan.targets[transfer.target], axes=plan.axes)
    assert [c.burst for c in found.commands] == [25]
    assert (found.cycles, found.bound, found.optimal) == (15, 15, True)


FAR = """
schema = 1
target = "idma"
[axes]
R = {rows}
C = {columns}
[transfer.t]
dtype = "i8"
source = {{ tier = "mem", base = {src}, element = "R # {more}, C # {wide}" }}
dest = {{ tier = "mem", base = {dst}, element = "R, C" }}
options = {{ address_width = 64 }}
[[transfer.t.command]]
read = "[R={rows}:{read}, C={columns}:1]:{columns} MEM@{src}"
write = "[R={rows}:{write}, C={columns}:1]:{columns} MEM@{dst}"
"""


@pytest.mark.parametrize("shift", [1 << 52, 10**18 - 10**18 % 4096, 1 << 62, (1 << 64) - (1 << 22)])
@pytest.mark.parametrize("count", counted(6, 12))
def test_a_move_is_judged_alike_wherever_its_addresses_lie(shift: int, count: int) -> None:
    """64-bit engines have one place: no address is too far for a proof."""
    seen = set()
    for number in range(count):
        rng = random.Random(number)
        rows, columns, wide = rng.randrange(2, 6), rng.choice((8, 12, 64)), rng.randrange(64, 90)
        read, write = wide + (rng.random() < 0.3), columns - (rng.random() < 0.3)
        src, dst = rng.randrange(1 << 12), rng.choice((1 << 20, rng.randrange(1 << 12)))
        said = []
        for more in (0, shift):
            text = FAR.format(
                rows=rows, more=rows + 1, columns=columns, wide=wide, read=read, write=write, src=src + more,
                dst=dst + more,
            )  # fmt: skip
            (verdict,) = api.check(text)
            said.append((verdict.status, {f.rule for f in verdict.errors}))
            seen.add(verdict.status)
        assert said[0] == said[1], text
    assert {Status.PROVED, Status.REFUTED} <= seen


def test_a_side_that_wraps_at_the_end_of_64_bits_is_refuted() -> None:
    for below, status in ((320, Status.PROVED), (256, Status.REFUTED)):
        text = FAR.format(rows=4, more=5, columns=64, wide=80, read=80, write=64, src=(1 << 64) - below, dst=4096)
        assert api.check(text)[0].status is status


IN_PLACE = """
schema = 1
target = "idma"
[axes]
R = {rows}
C = {length}
[transfer.t]
dtype = "i8"
source = {{ tier = "mem", base = 4096, element = "R, C # 64" }}
dest = {{ tier = "mem", base = {dest}, element = "R, C # 64" }}
options = {{ data_width = {width} }}
read = "[R={rows}:64, C={length}:1]:{length} @4096"
write = "[R={rows}:64, C={length}:1]:{length} @{dest}"
"""


@pytest.mark.parametrize(
    ("rows", "length", "shift", "width", "code", "status"),
    [
        (1, 64, 16, 32, 1, "refuted"), (1, 64, -16, 32, 0, "proved"), (1, 16, 2, 128, 0, "proved"),
        (3, 32, 64, 32, 1, "refuted"), (3, 32, 32, 32, 0, "proved"), (1, 64, 4, 32, 1, "refuted"),
        (1, 64, 3, 32, 0, "proved"),
    ],
)  # fmt: skip
def test_runs_in_place_stream_words(
    tmp_path: Path, rows: int, length: int, shift: int, width: int, code: int, status: str
) -> None:
    file = tmp_path / "p.toml"
    file.write_text(IN_PLACE.format(rows=rows, length=length, dest=4096 + shift, width=width), encoding="utf-8")
    (verdict,) = api.check(str(file))
    assert verdict.status.value == status
    assert cli.invoke(["run", str(file)]) == code


@pytest.mark.slow
def test_drivers_of_loops_of_any_count_are_right_where_they_are_said_to_be() -> None:
    """Hundreds of them: `python tests/fuzz/idma.py looped 500`."""
    told, wrong = run_looped(3, seed=2, points=60)
    assert not wrong, wrong[0]
    assert told["runs of which it is said to hold"] > 20
