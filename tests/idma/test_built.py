"""Engines as a project's own generator is told them: what is built is what is checked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dmaverify.cli import app as cli
from dmaverify.errors import InputError
from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.machines.idma.setup import engine_options, setup_of
from dmaverify.targets.target import load_target
from dmaverify.verdict import Severity, Status

PARAMS = {"DataWidth": 64, "AddrWidth": 40, "TFLenWidth": 24, "NumAxInFlight": 4, "UserWidth": 1}
ENTRIES = {
    "mine": {"proc_id": "rw_axi", "params": PARAMS, "jobs": {"a": "one/a.txt"}},
    "slow": {"proc_id": "rw_axi", "params": {**PARAMS, "NumAxInFlight": 9}, "jobs": {"a": "one/a.txt"}},
    "rows": {"proc_id": "rw_axi", "params": {"AddrWidth": 32, "NumDim": 2}, "jobs": {"b": "two/b.txt"}},
    "word": {"proc_id": "rw_obi", "params": {"HardwareLegalizer": 0}, "jobs": {"c": "three/c.txt"}},
    "wide": {"proc_id": "rw_axi", "params": {"AddrWidth": 32}, "jobs": {"c": "three/c.txt"}},
    "none": {"proc_id": "none", "params": {}, "jobs": {"d": "one/d.txt"}},
    "odd": {"proc_id": "rw_axi", "params": {"Turbo": 1}},
}
JOB = "{length}\n0x{src:x}\n0x20000\n{p}\n{p}\n256\n256\n0\n0\n{dims}0\n"
MAKE = """# BASE_IDS := commented
IDMA_BASE_IDS := \\
    rw_axi \\
    r_obi_w_axi
IDMA_ADD_FE_IDS ?= reg64_4d
"""
RDL = "addrmap idma_reg #(longint unsigned SysAddrWidth = {width}, longint unsigned NumDims = {dims}) {{ }};"
AXI = 'prefix: "axi"\nbursts: "split_at_page_boundary"\npage_size: {page}   # bytes\nmax_beats_per_burst: {beats}\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {
        "jobs.json": json.dumps(ENTRIES), "idma.mk": MAKE, "reg.rdl": RDL.format(width=64, dims=3),
        "axi.yml": AXI.format(page=1024, beats=16), "large.yml": AXI.format(page=8192, beats=256),
        "one/a.txt": JOB.format(length=64, src=1 << 39, p=0, dims=""),
        "one/beside.txt": JOB.format(length=64, src=1 << 39, p=0, dims=""),
        "two/b.txt": JOB.format(length=64, src=0, p=0, dims="4\n0x40\n0x40\n"),
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("word", "of", "want"),
    [
        ("jobs.json", "one/a.txt", {"data_width": 64, "address_width": 40, "length_width": 24}),
        ("jobs.json::slow", "", {"ax_in_flight": 9, "address_width": 40}),
        ("jobs.json::word", "", {"variant": "rw_obi", "legalizer": 0}),
        ("jobs.json", "two/b.txt", {"dims": 2}),
        ("idma.mk::r_obi_w_axi", "", {"variant": "r_obi_w_axi"}),
        ("idma.mk::reg64_4d", "", {"front_end": "reg64_4d"}),
        ("reg.rdl", "", {"front_end": "reg64_3d"}),
        ("axi.yml", "", {"page_bytes": 1024, "burst_len_param": 4}),
    ],
)
def test_files_of_the_generator_say_the_engine(project: Path, word: str, of: str, want: dict[str, object]) -> None:
    found = engine_options([f"{project}/{word}"], f"{project}/{of}" if of else "")
    assert want.items() <= found.items()
    setup_of(load_target("idma"), found)


@pytest.mark.parametrize(
    ("word", "of", "says"),
    [
        ("jobs.json", "three/c.txt", "word, wide list"),
        ("jobs.json", "four/x.txt", "no entry lists"),
        ("jobs.json", "", "which entry"),
        ("jobs.json::none", "", "no entry 'none'"),
        ("jobs.json::odd", "", "`Turbo = 1`, which is not modelled"),
        ("idma.mk::commented", "", "does not build"),
        ("idma.mk", "", "builds 3 things"),
        ("axi.yml::x.yml", "", None),
        ("missing.yml", "", "does not exist"),
    ],
)
def test_what_is_not_built_or_not_modelled_is_refused(project: Path, word: str, of: str, says: str | None) -> None:
    if says is None:
        engine_options([f"{project}/{word}"])
        return
    with pytest.raises(InputError, match=says):
        engine_options([f"{project}/{word}"], f"{project}/{of}" if of else "")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (AXI.format(page=4000, beats=256), "`page_size` is 4000"),
        (AXI.format(page="4096.0", beats=256), "`page_size` is 4096.0"),
        (AXI.format(page=4096, beats=0), "`max_beats_per_burst` is 0"),
        (AXI.format(page=4096, beats=256) + 'legalizer_force_decouple: "true"\n', "`legalizer_force_decouple` is not"),
        ('{"a": {"proc_id": "rw_axi", "jobs": ["x.txt"]}}', "`jobs` of a is .*x.txt"),
        ('{"a": {"proc_id": "rw_axi", "params": null}}', "`params` of a is null"),
        (AXI.replace("split_at_page_boundary", "only_pow2").format(page=4096, beats=256), "not modelled"),
        ('prefix: "tilelink"\nbursts: "only_pow2"\ntltoaxi4_compatibility_mode: "false"\n', "not modelled"),
        ("hello: world\n", "no prefix"),
        (RDL.format(width=64, dims=3).replace("NumDims", "Dims"), "no idma_reg"),
        ("{", "no JSON"),
        ("[]", "no entries"),
    ],
)
def test_damaged_files_of_the_generator_are_told(tmp_path: Path, text: str, says: str) -> None:
    kind = "rdl" if "addrmap" in text else "json" if text[0] in "{[" else "yml"
    (tmp_path / f"x.{kind}").write_text(text)
    with pytest.raises(InputError, match=says):
        engine_options([str(tmp_path / f"x.{kind}") + ("::a" if "params" in text else "")])


def test_a_folder_is_checked_on_the_engines_of_its_project(project: Path) -> None:
    assert cli.invoke(["check", "--no-cache", str(project / "one"), "--engine", str(project / "jobs.json")]) == 0
    assert cli.invoke(["check", "--no-cache", str(project / "two"), "--engine", str(project / "jobs.json")]) == 0
    unsaid = verdict_of_file(str(project / "one/a.txt"), engine=["rw_axi"], dims=0)
    said = verdict_of_file(str(project / "one/a.txt"), engine=["rw_axi", "address_width=32"], dims=0)
    assert unsaid is not None
    assert said is not None
    assert (unsaid.conditions, said.status) == (("addresses have 64 bits",), Status.REFUTED)


@pytest.mark.parametrize(
    ("protocol", "length", "rules"),
    [("axi.yml", 8192, set()), ("large.yml", 8192, {"idma/page-4k"}), ("large.yml", 4096, set())],
)
def test_a_page_that_is_built_too_large_is_found(project: Path, protocol: str, length: int, rules: set[str]) -> None:
    job = project / "job.txt"
    job.write_text(JOB.format(length=length, src=0x10000, p=0, dims=""))
    found = verdict_of_file(str(job), engine=[str(project / protocol), "data_width=512"], dims=0)
    assert found is not None
    assert {f.rule for f in found.findings if f.severity is Severity.ERROR} == rules
    assert (found.status is Status.PROVED) == (not rules)


@pytest.mark.parametrize("name", ["reg32_4d", "reg64_3d", "reg64_4d"])
def test_maps_of_any_dimensions_are_those_that_are_generated(name: str) -> None:
    from dmaverify.machines.idma.registers import MAPS

    map_ = MAPS[name]
    assert max(map_.parts) == map_.compute == map_.dim(map_.dims - 1)[2] + 4 * map_.words
    assert map_.conf_mask == (1 << 10 + map_.nd_bits + 6) - 1


@pytest.mark.parametrize("page", ["0x1000", "'4096'", "4096"])
def test_numbers_of_a_protocol_are_read_as_they_may_be_written(page: str, tmp_path: Path) -> None:
    (tmp_path / "x.yml").write_text(AXI.format(page=page, beats=256))
    assert engine_options([str(tmp_path / "x.yml")])["page_bytes"] == 4096


@pytest.mark.parametrize(("handler", "code"), [(1, 0), (0, 1)])
def test_an_engine_that_was_built_without_error_handler_takes_no_error_action(
    handler: int, code: int, tmp_path: Path
) -> None:
    entry = {"proc_id": "rw_axi", "params": {**PARAMS, "ErrorHandling": handler}}
    (tmp_path / "jobs.json").write_text(json.dumps({"a": entry}))
    job = JOB.format(length=64, src=0x1000, p=0, dims="")
    (tmp_path / "a.txt").write_text(job.removesuffix("0\n") + "1\nrc0x1008\n")
    asked = ["check", str(tmp_path / "a.txt"), "--dims", "0", "--engine", f"{tmp_path}/jobs.json::a"]
    assert cli.invoke(asked) == code


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["region_width=1024", "region_start=0", "region_end=0x10000"], "for an engine with mp_split or mp_dist"),
        (
            ["mempool", "region_width=1024", "region_start=0", "region_end=0x10000", "backends=3"],
            "a power of two|3 back-",
        ),
        (["ax_in_flight=1"], "ax_in_flight"),
        (["buffer_depth=1"], "buffer_depth"),
    ],
)
def test_options_that_no_engine_has_are_refused(options: list[str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        setup_of(load_target("idma"), engine_options(options))


def test_numbers_of_options_may_be_hexadecimal() -> None:
    given = engine_options(["mempool", "region_width=0x400", "region_start=0", "region_end=0X10000"])
    setup = setup_of(load_target("idma"), given)
    assert setup.region is not None
    assert (setup.region.width, setup.region.end) == (1024, 65536)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["slow.json::one"], "--engine slow.json::one: data_width is 7"),
        (["axi.yml"], "--engine axi.yml: page_bytes is 1"),
        (["cheshire", "front_end=reg64-2d"], "--engine cheshire front_end=reg64-2d: no front-end `reg64-2d`"),
    ],
)
def test_an_engine_that_there_is_not_is_told_by_the_words_that_mean_it(
    words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one = {"one": {"proc_id": "rw_axi", "jobs": {}, "params": {"DataWidth": 7}}}
    Path("slow.json").write_text(json.dumps(one), encoding="utf-8")
    Path("axi.yml").write_text(AXI.format(page=1, beats=16), encoding="utf-8")
    for name, text in (("a.txt", JOB.format(length=64, src=0, p=0, dims="")), ("a.c", "void f(void) {}\n")):
        Path(name).write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=re.escape(says)):
            verdict_of_file(name, engine=words, dims=0 if name == "a.txt" else None)


LAUNCH = """#include <stdint.h>
#define R(o) (*(volatile uint32_t *)(0x30000000 + (o)))
void f(void) {
  R(0xd0) = 0x2000; R(0xd4) = 0x1000; R(0xd8) = 0; R(0x00) = 0; (void)R(0x44);
  snrt_dma_start_1d((void *)0x3000, (void *)0x4000, 64);
}
"""


@pytest.mark.parametrize("name", ["reg32_3d", "reg_32_3d", "reg32_rt_3d"])
def test_a_front_end_by_any_of_its_names_launches(name: str, tmp_path: Path) -> None:
    (tmp_path / "d.c").write_text(LAUNCH, encoding="utf-8")
    found = verdict_of_file(str(tmp_path / "d.c"), engine=[f"front_end={name}"])
    assert found is not None
    assert [one.rule for one in found.findings] == ["idma/zero-length"]


@pytest.mark.parametrize("name", ["reg32-3d", "reg32_5d", "job", "none"])
def test_a_front_end_that_there_is_not_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "d.c").write_text(LAUNCH, encoding="utf-8")
    with pytest.raises(InputError, match=f"no front-end `{name}`"):
        verdict_of_file(str(tmp_path / "d.c"), engine=[f"front_end={name}"])
