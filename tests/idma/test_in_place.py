"""A 1D transfer that lands on its own source, at another place, is a finding; whether it is wrong is `core/overlap`."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import dmaverify as dv
from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.machines.idma.nd import Dim
from dmaverify.machines.idma.order import moved_within
from dmaverify.verdict import Severity, Status, Verdict

PLAN = """
schema = 1
target = "idma"
[axes]
R = 4
A = 256
[transfer.t]
dtype = "i8"
source = {{ tier = "mem", base = {src}, element = "R, A # {pitch}" }}
dest = {{ tier = "mem", base = {dst}, element = "R, A" }}
read = "[R=4:{pitch}, A=256:1]:256 MEM@{src}"
write = "[R=4:256, A=256:1]:256 MEM@{dst}"
"""
JOB = "256\n{src:#x}\n{dst:#x}\n0\n0\n256\n256\n0\n0\n0\n"
CALL = "void f(void) {{ snrt_dma_start_1d((void *){dst}, (void *){src}, 256); snrt_dma_wait_all(); }}"


def _told(verdict: Verdict) -> bool:
    found = [f for f in verdict.findings if f.rule == "idma/in-place"]
    assert all(f.severity is Severity.WARNING for f in found)
    return bool(found)


def test_the_bytes_shared_are_those_of_the_nearest_1d_transfer_that_is_not_onto_itself() -> None:
    rng = random.Random(6)
    seen = set()
    for _ in range(300):
        length, src, dst = rng.randint(1, 12), rng.randint(0, 40), rng.randint(0, 40)
        dims = [Dim(rng.randint(1, 4), *rng.choices(range(-16, 17), k=2)) for _ in range(rng.randint(0, 3))]
        apart = {dst - src}
        for dim in dims:
            apart = {d + i * (dim.dst_stride - dim.src_stride) for d in apart for i in range(dim.reps)}
        shared = max((length - abs(d) for d in apart if 0 < abs(d) < length), default=0)
        assert moved_within(src, dst, length, dims) == shared
        seen.add(shared)
    assert len(seen) > 6


@pytest.mark.parametrize(
    ("src", "dst", "pitch", "told"),
    [
        (8192, 8192, 256, False),  # onto itself
        (8192, 8191, 256, True),
        (8192, 8192 - 255, 256, True),
        (8192, 8192 - 256, 256, False),  # a row lands on another one
        (8192, 8192, 300, True),  # the first row onto itself, the second 44 below
        (8192, 8192, 512, False),
    ],
)
def test_a_move_down_onto_its_own_rest_is_proved_with_a_warning(src: int, dst: int, pitch: int, told: bool) -> None:
    (verdict,) = dv.check(PLAN.format(src=src, dst=dst, pitch=pitch))
    assert verdict.status is Status.PROVED
    assert _told(verdict) == told


def test_a_pattern_or_stream_has_no_place_to_land_on() -> None:
    text = (
        PLAN.format(src=8192, dst=8191, pitch=256) + 'options = { variant = "rw_axi_rw_axis", src_protocol = "axis" }\n'
    )
    (verdict,) = dv.check(text)
    assert not _told(verdict)


@pytest.mark.parametrize(("name", "text"), [("a.job", JOB), ("a.c", CALL)])
@pytest.mark.parametrize(("dst", "told"), [(8192, False), (8191, True), (7937, True), (7936, False)])
def test_jobs_and_drivers_are_told_the_same(tmp_path: Path, name: str, text: str, dst: int, told: bool) -> None:
    file = tmp_path / name
    file.write_text(text.format(src=8192, dst=dst), encoding="utf-8")
    engine = ["manticore"] if name == "a.c" else ["rw_axi"]
    verdict = verdict_of_file(str(file), engine=engine, dims=None if name == "a.c" else 0)
    assert verdict is not None
    assert verdict.status is Status.PROVED
    assert _told(verdict) == told


@pytest.mark.parametrize(("dst", "told"), [(9216 + 64, True), (9216 + 256, False), (9216 - 64, False), (9216, False)])
def test_a_legal_burst_list_that_lands_on_its_own_rest_is_told(tmp_path: Path, dst: int, told: bool) -> None:
    names = "variant,data_width,src_addr,dst_addr,length,r_bursts,w_bursts"
    file = tmp_path / "a.csv"
    file.write_text(f"{names}\nrw_axi,64,9216,{dst},256,2400:256,{dst:x}:256\n", encoding="utf-8")
    verdict = verdict_of_file(str(file))
    assert verdict is not None
    assert verdict.status is Status.PROVED  # its bursts are legal, and no move is given
    assert [(f.rule, f.severity) for f in verdict.findings] == [("idma/overlap", Severity.WARNING)] * told
