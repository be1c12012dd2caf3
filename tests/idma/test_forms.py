"""What front-ends are told: registers, chains, instructions, jobs, read and written."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from dmaverify.errors import InputError
from dmaverify.machines.idma import desc64, inst64, registers
from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.machines.idma.engine import AXI, OBI, Request
from dmaverify.machines.idma.forms import given_of, one_d, padded, read_image, write_image
from dmaverify.machines.idma.front_ends import form_of
from dmaverify.machines.idma.jobs import Job, llen_of, read_jobs, request_options, write_jobs
from dmaverify.machines.idma.nd import Descriptor, Dim, starts
from dmaverify.machines.idma.text import PlantedError, ToldDescriptor

REQUEST = Request(0x1000, 0x20000, 64, AXI, OBI, True, False, True, 3, False, 0)
THREE_D = Descriptor(REQUEST, (Dim(8, 64, 128), Dim(4, 1000, -8)))


def told(descriptor: Descriptor) -> ToldDescriptor:
    return ToldDescriptor(descriptor, request_options(descriptor.request))


def addresses(descriptors: Sequence[Descriptor], width: int = 64) -> list[list[int]]:
    return [[*pair, d.request.length] for d in descriptors for pair in starts(d, width).tolist()]


@pytest.mark.parametrize("form", ["reg32_3d", "job", "nd", "reg_32_3d"])
def test_a_descriptor_survives_being_written_and_read(form: str) -> None:
    other = Descriptor(replace(REQUEST, src=0x3000, length=1), (Dim(2, -64, 0), Dim(3, 4, 4)))
    written = write_image(form, [told(THREE_D), told(other)])
    assert form_of(written) == form.replace("reg_32_3d", "reg32_3d")
    image = read_image(written)
    assert [one.descriptor for one in image.told] == [THREE_D, other]
    assert image.told[0].options["dst_protocol"] == "obi"
    assert image.told[0].options["src_max_llen"] == 3


@pytest.mark.parametrize(
    "form", ["reg32_1d", "reg32_2d", "reg32_3d", "reg64_1d", "reg64_2d", "inst64", "desc64", "job", "nd"]
)
def test_every_form_keeps_the_transfers_of_what_it_can_say(form: str) -> None:
    rng = random.Random(form)
    most = {"reg32_2d": 1, "reg32_3d": 2, "reg64_2d": 1, "inst64": 1, "desc64": 1, "job": 3, "nd": 3}.get(form, 0)
    wide = 1 << (40 if "64" in form else 32)
    for _ in range(20):
        some = []
        for _ in range(rng.randrange(1, 4)):
            dims = tuple(
                Dim(rng.randrange(1, 5), rng.randrange(-500, 500), rng.randrange(-500, 500))
                for _ in range(rng.randrange(most + 1))
            )
            some.append(
                Descriptor(
                    Request(rng.randrange(4000, wide // 2), rng.randrange(4000, wide // 2), rng.randrange(1, 999)), dims
                )
            )
        image = read_image(write_image(form, [told(d) for d in some]))
        assert addresses([t.descriptor for t in image.told]) == addresses(some)


def test_the_conf_register_differs_between_the_maps() -> None:
    request = Request(0, 0, 1, OBI, 4, True, True, True, 5, True, 6)
    low = 1 | 2 | 4 | 8 | 5 << 4 | 6 << 7
    assert registers.conf_of(registers.MAPS["reg32_3d"], request, 2) == low | 2 << 10 | 1 << 13 | 4 << 16
    assert registers.conf_of(registers.MAPS["reg64_2d"], request, 1) == low | 1 << 10 | 1 << 12 | 4 << 15
    assert registers.MAPS["reg32_3d"].dim(1) == (0xEC, 0xF0, 0xF4)
    assert registers.MAPS["reg64_2d"].dim(0) == (0x100, 0x108, 0x110)


def test_registers_keep_their_values_and_only_the_read_of_next_id_launches() -> None:
    text = "reg32_3d\n0xD0 = 0x100\n0xD4 = 0\n0xD8 = 16\nread 0x84\nread 0x44\n0xD0 = 0x200\nread 0x48\n"
    image = read_image(text)
    assert addresses([t.descriptor for t in image.told]) == [[0, 0x100, 16], [0, 0x200, 16]]
    for bad in (
        "reg32_3d\n0xD0 = 1\n",
        "reg32_3d\nread 0x10\n",
        "reg32_2d\n0xF8 = 1\nread 0x44",
        "reg32_3d\n0xD0 = x\n",
    ):
        with pytest.raises(InputError):
            read_image(bad)


def test_repetitions_count_once_where_dimensions_are_not_enabled() -> None:
    text = "reg32_3d\n0x00 = 0x{conf:x}\n0xD8 = 16\n0xE4 = 64\n0xF0 = 4096\nread 0x44\n"
    one = read_image(text.format(conf=1 << 10)).told[0].descriptor
    assert (one.empty, one.transfers) == (False, 1)
    two = read_image(text.format(conf=2 << 10)).told[0].descriptor
    assert (two.empty, two.transfers) == (True, 0)
    assert read_image(text.format(conf=0)).told[0].descriptor.dims == ()


# ---------------------------------------------------------------- descriptors in memory


@pytest.mark.parametrize(
    ("fetch", "first", "last"), [(64, "length", "dest"), (128, "next", "src"), (256, "dest", "flags")]
)
def test_memory_order_depends_on_the_fetch_bus(fetch: int, first: str, last: str) -> None:
    order = sorted(desc64.LAYOUTS[fetch], key=lambda name: desc64.LAYOUTS[fetch][name])
    assert (order[0], order[-1]) == (first, last)
    word = desc64.DescriptorWords(0x40, 7, 0x0A, 0x60, 0x1111, 0x2222)
    assert desc64.unpacked(0x40, desc64.packed(word, fetch), fetch) == word
    with pytest.raises(InputError, match="32 bits"):
        desc64.packed(word, 32)


def facts(text: str) -> list[dict[str, int]]:
    return [dict(fact.values) for fact in read_image(text).facts if fact.scope == "chain"]


CHAIN = "desc64\nfetch = 256\nhead = 0x8000\n"
WORDS = "0x{at:x}: {dest:08x} 00000000 00001000 00000000 {next:08x} {top:08x} 00000040 {flags:08x}\n"


def link(at: int, next_: int | None, dest: int = 0x20000, flags: int = 0x0A) -> str:
    end = next_ is None
    return WORDS.format(at=at, dest=dest, next=0xFFFFFFFF if end else next_, top=0xFFFFFFFF if end else 0, flags=flags)


def test_what_is_wrong_with_a_chain_is_a_fact_of_its_descriptors() -> None:
    good = facts(CHAIN + link(0x8000, 0x8040) + link(0x8040, None))
    fine = {"again": 0, "crowded": 0, "clobbered": 0, "sourced": 0, "src_burst": 1, "dst_burst": 1}
    fine |= {"length": 64, "ends": 1}
    assert good == [{"place": at, **fine} for at in (0x8000, 0x8040)]
    assert [f["again"] for f in facts(CHAIN + link(0x8000, 0x8040) + link(0x8040, 0x8000))] == [1, 0]
    assert [f["ends"] for f in facts(CHAIN + link(0x8000, 0x9000))] == [0]
    assert [f["clobbered"] for f in facts(CHAIN + link(0x8000, None, dest=0x7FF0))] == [32]
    assert [f["clobbered"] for f in facts(CHAIN + link(0x8000, None, dest=0x7FC0))] == [0]
    assert [f["src_burst"] for f in facts(CHAIN + link(0x8000, None, flags=0))] == [0]
    with pytest.raises(InputError, match="no descriptor at the head"):
        facts(CHAIN + link(0x8100, None))


def test_a_written_chain_ends_and_raises_its_interrupt_at_the_end() -> None:
    many = one_d(told(Descriptor(Request(0, 0x1000, 8), (Dim(3, 16, 8),))))
    image = desc64.write(many, head=0x4000, fetch=64)
    assert [f["ends"] for f in facts(image)] == [1, 1, 1]
    assert [line.split()[2] for line in image.splitlines()[3:]] == ["0000000a", "0000000a", "0000000b"]
    with pytest.raises(InputError, match="AXI"):
        desc64.write([told(THREE_D.__class__(REQUEST))])


# ---------------------------------------------------------------- instructions


def test_instructions_stick_until_they_are_said_again() -> None:
    begun = "inst64\ndmsrc 0x1000, 0\ndmdst 0x2000, 0\ndmstr 16, 8\ndmrep 2\n"
    text = begun + "dmcpyi 8, 2\ndmdst 0x3000, 0\ndmcpyi 8, 2\ndmcpyi 8, 0\n"
    assert addresses([t.descriptor for t in read_image(text).told]) == [
        [0x1000, 0x2000, 8], [0x1010, 0x2008, 8], [0x1000, 0x3000, 8], [0x1010, 0x3008, 8], [0x1000, 0x3000, 8],
    ]  # fmt: skip
    fresh = read_image("inst64\ndmsrc 0, 0\ndmdst 64, 0\ndmcpyi 8, 2\n").told[0].descriptor
    assert fresh.empty


def test_a_launch_takes_three_instructions_and_at_most_six_in_2d() -> None:
    one = inst64.write([told(Descriptor(Request(0x1000, 0x2000, 8)))])
    two = inst64.write([told(Descriptor(Request(0x1000, 0x2000, 8), (Dim(2, 8, 8),)))])
    assert (len(one.splitlines()) - 1, len(two.splitlines()) - 1) == (3, 5)
    with pytest.raises(InputError, match="inst_64 has 1"):
        inst64.write([told(Descriptor(Request(0, 0, 8), (Dim(2, 8, 8), Dim(2, 8, 8))))])


# ---------------------------------------------------------------- jobs

JOB = ["64", "0x1000", "0x20000", "0", "0", "8", "256", "1", "0"]


def test_dimension_lines_stand_before_the_errors() -> None:
    lines = [*JOB, "4", "0x40", "0xfffffff8", "1", "rc0x1008"]
    (job,) = read_jobs("\n".join(lines), 1)
    request = job.descriptor.request
    assert job.descriptor.dims == (Dim(4, 64, -8),)
    assert (request.src_reduce_len, request.src_max_llen, request.dst_reduce_len) == (True, 3, False)
    assert (request.decouple_aw, request.decouple_rw) == (True, False)
    assert job.errors == (PlantedError("read", "continue", 0x1008),)
    assert read_jobs(write_jobs([job]), 1) == [job]
    with pytest.raises(InputError):
        read_jobs("\n".join(lines), 0)


def test_jobs_follow_each_other_and_their_dimensions_are_found_where_they_are_clear() -> None:
    text = "\n".join([*JOB, "0"] * 3)
    assert len(read_jobs(text, 0)) == 3
    assert read_jobs(text, 0) == read_jobs(write_jobs(read_jobs(text, 0)), 0)
    with pytest.raises(InputError, match="holds no job"):
        read_jobs("# nothing\n")
    with pytest.raises(InputError, match="ends before"):
        read_jobs("\n".join(JOB), 0)


@pytest.mark.parametrize(
    ("beats", "llen"), [(1, (True, 0)), (2, (True, 1)), (5, (True, 3)), (128, (True, 7)), (256, (False, 0))]
)
def test_beats_become_a_limit_rounded_up(beats: int, llen: tuple[bool, int]) -> None:
    assert llen_of(beats) == llen


@pytest.mark.parametrize(
    ("line", "value", "says"),
    [
        (3, "6", "src_protocol"), (5, "200", "max_src_beats"), (7, "2", "aw_decoupled"), (1, "x", "not a number"),
        (0, "-1", "length"),
    ],
)  # fmt: skip
def test_a_wrong_line_of_a_job_is_named(line: int, value: str, says: str) -> None:
    lines = [*JOB, "0"]
    lines[line] = value
    with pytest.raises(InputError, match=says) as error:
        read_jobs("\n".join(lines), 0)
    assert error.value.span is not None
    assert error.value.span.line == line + 1


def test_a_job_file_of_random_jobs_survives() -> None:
    rng = random.Random(5)
    jobs = []
    for _ in range(40):
        request = Request(
            rng.randrange(1 << 32), rng.randrange(1 << 32), rng.randrange(40_000), rng.randrange(6), rng.randrange(6),
            rng.random() < 0.3, rng.random() < 0.3, True, rng.randrange(8), False, 0,
        )  # fmt: skip
        dims = tuple(Dim(rng.randrange(9), rng.randrange(-99, 99), rng.randrange(-99, 99)) for _ in range(3))
        errors = tuple(PlantedError("write", "abort", rng.randrange(1 << 32)) for _ in range(rng.randrange(2)))
        jobs.append(Job(Descriptor(request, dims), errors))
    assert read_jobs(write_jobs(jobs), 3) == jobs


@pytest.mark.parametrize("dims", [0, 2])
def test_bare_jobs_are_read_as_the_slow_way_reads_them(dims: int) -> None:
    rng = random.Random(dims)
    shape = "".join("3\n0x40\n0xffffffc0\n" for _ in range(dims))
    text = f"64\n0x1000\n0x2000\n0\n1\n16\n256\n0\n1\n{shape}1\nrc0x1000\n" * 3
    assert read_jobs(text, dims) == read_jobs(text.replace("\n", " \n"), dims)
    changed = 0
    for _ in range(300):
        at, new = rng.randrange(len(text)), rng.choice("0123456789abcdefx-_ rwcz\n#")
        damaged = text[:at] + new + text[at + rng.randrange(2) :]
        found = [_read_or_told(one, dims) for one in (damaged, damaged.replace("\n", " \n"))]
        assert found[0] == found[1], damaged
        changed += not isinstance(found[0], str)
    assert changed > 30


def _read_or_told(text: str, dims: int) -> object:
    try:
        return read_jobs(text, dims)
    except InputError as error:
        return error.message


# ---------------------------------------------------------------- as commands


def test_a_descriptor_as_sequencers_has_strides_per_index() -> None:
    given = given_of(told(THREE_D), 32)
    assert [(e.count, e.stride) for e in given.read.entries] == [(4, 1000 + 7 * 64), (8, 64), (64, 1)]
    assert [(e.count, e.stride) for e in given.write.entries] == [(4, -8 + 7 * 128), (8, 128), (64, 1)]
    assert (given.read.base, given.write.base, given.read.packet) == (0x1000, 0x20000, 64)
    assert padded(THREE_D, 4).dims[2:] == (Dim(1, 0, 0), Dim(1, 0, 0))


@pytest.mark.parametrize(
    "text",
    ["", "   \n", "registers\n", "reg32_3d", "nd\nsrc = 1\n", "desc64\n", "inst64\nfoo 1\n", "inst64\ndmsrc 1\n"],
)
def test_what_is_in_no_form_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_image(text)


def chain_line(place: int, src: int, dst: int, then: int = desc64.END) -> str:
    data = desc64.packed(desc64.DescriptorWords(place, 64, 10, then, src, dst), 256)
    return f"0x{place:x}: " + " ".join(f"{int.from_bytes(data[i : i + 4], 'little'):08x}" for i in range(0, 32, 4))


@pytest.mark.parametrize(
    ("launches", "found"),
    [
        ("head = 0x8000\nhead = 0x9000", {"idma/desc-sourced"}),
        ("head = 0x8000\nwait\nhead = 0x9000", set()),
        ("head = 0x9000\nwait\nhead = 0x8000", set()),
        ("head = 0x9000\nhead = 0x8000", {"idma/desc-sourced"}),
    ],
)
def test_what_is_read_of_a_descriptor_behind_its_wait_is_its_mark(
    tmp_path: Path, launches: str, found: set[str]
) -> None:  # fmt: skip
    lines = [chain_line(0x8000, 0x10000, 0x20000), chain_line(0x9000, 0x8000, 0x30000)]
    path = tmp_path / "c.idma"
    path.write_text("\n".join(["desc64", "fetch = 256", launches, *lines]))
    verdict = verdict_of_file(str(path))
    assert verdict is not None
    assert {f.rule for f in verdict.errors} == found


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("dmsrc 0x1000, 0\ndminit 64, 1\ndmcpyi 64, 0", [0xFF, 0xFF]),
        ("dmsrc 0x1000, 0\ndminit 64, 0\ndmcpyi 64, 0", [0, 0]),
        ("dmsrc 0x12, 0\ndminit 64, 2\ndmcpyi 64, 0", [0x12, 0x12]),
        ("dminit 64, 1\ndminit 64, 2", [0xFF, 0xFF]),
        ("dminit 64, 1\ndmsrc 0x1000, 1\ndmcpyi 64, 0", [0xFF, 0x100001000]),
        ("dmcpyi 64, 0", [0]),
    ],
)
def test_what_a_dminit_writes_stays_behind_as_the_source(text: str, want: list[int]) -> None:
    image = read_image(f"inst64\ndmdst 0x20000, 0\n{text}\n")
    assert [one.descriptor.request.src for one in image.told] == want


@pytest.mark.parametrize(
    ("launches", "dst", "found"),
    [
        ("head = 0x8000\nhead = 0x9000", 0x30000, {"idma/wait"}),
        ("head = 0x8000\nwait\nhead = 0x9000", 0x30000, set()),
        ("head = 0x8000\npoll = 0x8020\nhead = 0x9000", 0x30000, set()),
        ("head = 0x8000\npoll = 0x8000\nhead = 0x9000", 0x30000, None),
        ("head = 0x8000\npoll = 0x9000\nhead = 0x9000", 0x30000, None),
        ("head = 0x8000\nwait\nhead = 0x8020", 0x30000, None),
        ("head = 0x9000\nhead = 0x8000", 0x30000, set()),
        ("head = 0x9000\nwait\nhead = 0x8000", 0x8000, {"idma/desc-clobbered"}),
        ("head = 0x9000\nhead = 0x8000", 0x8000, {"idma/desc-clobbered"}),
        ("head = 0x8000\nhead = 0x9000", 0x8000, {"idma/desc-clobbered", "idma/wait"}),
        ("head = 0x8000\nwait\nhead = 0x9000", 0x8000, set()),  # what lies there is complete
        ("head = 0x8000\npoll = 0x8020\nhead = 0x9000", 0x8020, set()),
        ("head = 0x8000\nwait\nhead = 0x9000", 0x9000, {"idma/desc-clobbered"}),
    ],
)
def test_chains_that_software_launches_one_after_the_other(
    tmp_path: Path, launches: str, dst: int, found: set[str] | None
) -> None:
    lines = [chain_line(0x8000, 0x10000, 0x20000, 0x8020), chain_line(0x8020, 0x11000, 0x21000)]
    lines += [chain_line(0x9000, 0x20000, dst)]
    path = tmp_path / "c.idma"
    path.write_text("\n".join(["desc64", "fetch = 256", launches, *lines]))
    if found is None:
        with pytest.raises(InputError, match=r"launched again|last one"):
            verdict_of_file(str(path))
        return
    verdict = verdict_of_file(str(path))
    assert verdict is not None
    assert {f.rule for f in verdict.errors} == found
