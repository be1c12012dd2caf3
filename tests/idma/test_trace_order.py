"""Traces of programs and of texts that wait: the order and the waits are those of what was launched, on each side."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from dmaverify.cli.bus_trace import traced
from dmaverify.errors import InputError, InputErrors
from dmaverify.machines.idma import desc64
from dmaverify.machines.idma.bus.beats import Beat
from dmaverify.machines.idma.bus.scoreboard import judged
from dmaverify.machines.idma.engine import AXI, OBI, Backend, Request, variant_named
from dmaverify.values import replace
from dmaverify.verdict import Status
from tests.idma.test_traces import BACKEND, simulated

HEAD = """schema = 1
target = "idma"
[axes]
A = 64
"""
MOVE = """[transfer.{name}]
dtype = "i8"
source = {{ tier = "mem", base = 0x{src:x}, element = "A" }}
dest = {{ tier = "mem", base = 0x{dst:x}, element = "A" }}
commands = '''
reg32_3d
0xD0 = 0x{dst:x}
0xD4 = 0x{src:x}
0xD8 = 64
read 0x{register:x}
'''
"""
FIRST, SECOND = Request(0x1000, 0x2000, 64), Request(0x2000, 0x3000, 64)


def move(name: str, request: Request, register: int = 0x44) -> str:
    return MOVE.format(name=name, src=request.src, dst=request.dst, register=register)


PLAN = HEAD + move("second", SECOND) + move("first", FIRST)


def table(beats: Sequence[Beat], folder: Path) -> str:
    names = ("addr", "len", "size", "burst", "strb", "last", "resp", "data")
    rows = [f"time,channel,{','.join(names)}"]
    rows += [f"{b.time},{b.channel},{','.join(str(b.fields.get(name, '')) for name in names)}" for b in beats]
    (folder / "t.csv").write_text("\n".join(rows) + "\n")
    return str(folder / "t.csv")


def early(beats: Sequence[Beat], number: int = 1) -> list[Beat]:
    """The beats with AR number so much before the last B of what is before it."""
    at = [n for n, b in enumerate(beats) if b.channel == "ar"][number]
    answer = max(n for n in range(at) if beats[n].channel == "b")
    moved = replace(beats[at], time=beats[answer].time)
    return [*beats[:answer], moved, beats[answer], *beats[answer + 1 : at], *beats[at + 1 :]]


def verdict(text: str, beats: Sequence[Beat], folder: Path, name: str = "") -> tuple[Status, str]:
    (folder / "p.toml").write_text(text)
    found = traced([f"{folder / 'p.toml'}{name}"], table(beats, folder), None, None)
    return found.status, found.errors[0].message if found.errors else ""


RIGHT = simulated([FIRST, SECOND])
LATE = "AR beat 1 does not come after B beat 0, the last answer to what it waits for"


@pytest.mark.parametrize("name", ["", "::p"])
@pytest.mark.parametrize(
    ("steps", "beats", "says"),
    [
        ('{ transfer = "first" }, { transfer = "second", after = ["first"] }', RIGHT, ""),
        ('{ transfer = "first" }, { transfer = "second", after = ["first"] }', early(RIGHT), LATE),
        ('{ transfer = "first" }, { transfer = "second" }', RIGHT, ""),
        ('{ transfer = "first" }, { transfer = "second" }', early(RIGHT), ""),
        ('{ transfer = "first" }, { transfer = "second" }', simulated([SECOND, FIRST]), "AR beat 0: addr is 0x2000"),
        ('{ transfer = "second" }, { transfer = "first" }', simulated([SECOND, FIRST]), ""),
        ('{ transfer = "second" }, { transfer = "first" }', RIGHT, "AR beat 0: addr is 0x1000, must be 0x2000"),
        # in two queues, ordered all the same
        ('{ transfer = "first", context = "x" }, { transfer = "second", context = "y", after = ["first"] }', RIGHT, ""),
        ('{ transfer = "first", context = "x" }, { transfer = "second", context = "y", after = ["first"] }',
         early(RIGHT), LATE),
    ],
)  # fmt: skip
def test_a_program_says_in_which_order_its_transfers_come_and_what_they_wait_for(
    tmp_path: Path, steps: str, beats: Sequence[Beat], says: str, name: str
) -> None:
    status, said = verdict(f"{PLAN}[program.p]\nstep = [{steps}]\n", beats, tmp_path, name)
    assert (status, said[: len(says)]) == (Status.REFUTED if says else Status.PROVED, says)


def test_steps_in_written_order_are_complete_one_after_the_other(tmp_path: Path) -> None:
    program = '[program.p]\norder = "{}"\nstep = [{{ transfer = "first" }}, {{ transfer = "second" }}]\n'
    assert verdict(PLAN + program.format("written"), RIGHT, tmp_path)[0] is Status.PROVED
    assert verdict(PLAN + program.format("written"), early(RIGHT), tmp_path)[1] == LATE
    with pytest.raises(InputError, match="nothing orders first and second"):
        verdict(PLAN + program.format("none"), RIGHT, tmp_path)


def test_what_waits_makes_what_is_launched_behind_it_wait() -> None:
    requests = [FIRST, SECOND, Request(0x4000, 0x5000, 64)]
    beats = simulated(requests)
    for waits, says in (({1: 1}, "AR beat 1"), ({2: 1}, ""), ({2: 2}, ""), ({}, "")):
        wrong = judged(BACKEND, requests, early(beats), waits).wrong
        assert (wrong.message if wrong else "")[: len("AR beat 1")] == says
    third = early(early(beats), 2)  # both begin before the answer to what is before them
    wrong = judged(BACKEND, requests, third, {2: 2}).wrong
    assert wrong is not None
    assert wrong.message.startswith("AR beat 2 does not come after B beat 1")


def test_what_is_launched_behind_a_wait_waits_on_another_port_too() -> None:
    backend = Backend(variant_named("rw_axi_rw_obi"), 32)
    requests = [Request(0x1000, 0x2000, 4), Request(0x1004, 0x2004, 4), Request(0x1008, 0x2008, 4, OBI, OBI)]
    beats = simulated(requests[:2], backend)
    answer = next(beat.time for beat in beats if beat.channel == "b")
    for ahead, says in ((answer, "A (read) beat 0 does not come after B beat 0"), (answer + 1, "")):
        own = [
            Beat(ahead, "a_read", {"addr": 0x1008, "we": 0, "strb": 15}),
            Beat(90, "r_read", {"data": 5, "resp": 0}),
            Beat(91, "a_write", {"addr": 0x2008, "we": 1, "strb": 15, "data": 5}),
            Beat(92, "r_write", {"resp": 0}),
        ]
        trace = sorted([*beats, *own], key=lambda beat: beat.time)
        assert judged(backend, requests, trace).wrong is None
        found = judged(backend, requests, trace, {1: 1}).wrong
        assert (found.message if found else "").startswith(says)
        assert bool(found) == bool(says)


@pytest.mark.parametrize("channel", ["aw", "w"])
def test_an_address_or_data_written_ahead_does_not_wait(channel: str) -> None:
    requests = [FIRST, SECOND]
    beats = simulated(requests)
    at = next(n for n, b in enumerate(beats) if b.channel == channel and b.time > beats[len(beats) // 2].time)
    answer = next(n for n, b in enumerate(beats) if b.channel == "b")
    moved = [*beats[:answer], replace(beats[at], time=beats[answer].time - 1), *beats[answer:at], *beats[at + 1 :]]
    moved.sort(key=lambda b: b.time)
    said = judged(BACKEND, requests, moved, {1: 1}).wrong
    assert said is not None
    assert said.message.startswith(
        f"{channel.upper()} beat {1 if channel == 'aw' else 16} does not come after B beat 0"
    )


def test_an_obi_response_ends_what_is_waited_for() -> None:
    backend = Backend(variant_named("r_axi_w_obi"), 32)
    requests = [Request(0x1000, 0x2000, 4, AXI, OBI), Request(0x1004, 0x2004, 4, AXI, OBI)]
    beats = []
    for number in range(2):
        for channel, fields in (
            ("ar", {"addr": 0x1000 + 4 * number, "len": 0, "size": 2, "burst": 1}),
            ("r", {"data": 7, "last": 1, "resp": 0}),
            ("a_write", {"addr": 0x2000 + 4 * number, "we": 1, "strb": 15, "data": 7}), ("r_write", {"resp": 0}),
        ):  # fmt: skip
            beats.append(Beat(len(beats), channel, fields))
    assert judged(backend, requests, beats, {1: 1}).wrong is None
    swapped = [*beats[:3], replace(beats[4], time=3), replace(beats[3], time=4), *beats[5:]]
    assert judged(backend, requests, swapped).wrong is None
    wrong = judged(backend, requests, swapped, {1: 1}).wrong
    assert wrong is not None
    assert wrong.message == "AR beat 1 does not come after R (write) beat 0, the last answer to what it waits for"


TEXTS = {
    "reg32_3d": ("0xD0 = 0x2000\n0xD4 = 0x1000\n0xD8 = 64\nread 0x44\n", "0xD0 = 0x3000\n0xD4 = 0x2000\nread 0x44\n"),
    "inst64": ("dmsrc 0x1000, 0\ndmdst 0x2000, 0\ndmcpyi 64, 0\n", "dmsrc 0x2000, 0\ndmdst 0x3000, 0\ndmcpyi 64, 0\n"),
    "nd": ("src = 0x1000\ndst = 0x2000\nlength = 64\nlaunch\n", "src = 0x2000\ndst = 0x3000\nlength = 64\nlaunch\n"),
}  # fmt: skip


@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize("where", ["amid", "behind", "none"])
def test_a_wait_of_a_text_is_one_on_the_bus(form: str, where: str, tmp_path: Path) -> None:
    first, second = TEXTS[form]
    text = f"{form}\n{first}{'wait' if where == 'amid' else ''}\n{second}{'wait' if where == 'behind' else ''}\n"
    (tmp_path / "a.txt").write_text(text)
    for beats, waits in ((RIGHT, False), (early(RIGHT), True)):
        found = traced([str(tmp_path / "a.txt")], table(beats, tmp_path), ["rw_axi"], None)
        assert found.status is (Status.REFUTED if waits and where == "amid" else Status.PROVED)
        law = "the law has no cycles of software that waits" in "".join(found.assumptions)
        assert law == (where == "amid" and not waits)  # of a right run alone


def test_a_wait_of_a_text_in_a_plan_is_one_on_the_bus(tmp_path: Path) -> None:
    def plan(ends: str, begins: str) -> str:
        return (
            HEAD + move("first", FIRST).replace("read 0x44\n", f"read 0x44\n{ends}")
            + move("second", SECOND).replace("reg32_3d\n", f"reg32_3d\n{begins}")
        )  # fmt: skip

    for ends, begins in (("wait\n", ""), ("", "wait\n"), ("wait\n", "wait\n")):
        assert verdict(plan(ends, begins), RIGHT, tmp_path)[0] is Status.PROVED
        assert verdict(plan(ends, begins), early(RIGHT), tmp_path)[1] == LATE
    assert verdict(plan("", ""), early(RIGHT), tmp_path)[0] is Status.PROVED
    assert verdict(plan("", ""), simulated([SECOND, FIRST]), tmp_path)[0] is Status.REFUTED


LOOP = """[axes]
A = 256
T = 64
[transfer.load]
dtype = "i8"
loop = { t = 4 }
source = { tier = "mem", base = 0x1000, element = "A", view = { tile = "A", length = 64, start = "64 * t" } }
dest = { tier = "mem", base = 0x8000, element = "T" }
commands = '''
nd
src = 0x1000
dst = 0x8000
length = 64
'''
[transfer.store]
dtype = "i8"
loop = { t = 4 }
source = { tier = "mem", base = 0x8000, element = "T" }
dest = { tier = "mem", base = 0x2000, element = "A", view = { tile = "A", length = 64, start = "64 * t" } }
commands = '''
nd
src = 0x8000
dst = 0x2000
length = 64
'''
"""


def test_a_loop_is_launched_iteration_by_iteration_and_waits_for_earlier_ones(tmp_path: Path) -> None:
    head = HEAD.partition("[axes]")[0]
    loads = [Request(0x1000 + 64 * t, 0x8000, 64) for t in range(4)]
    stores = [Request(0x8000, 0x2000 + 64 * t, 64) for t in range(4)]
    assert verdict(head + LOOP, simulated(loads), tmp_path, "::load")[0] is Status.PROVED
    assert verdict(head + LOOP, simulated(loads[:1]), tmp_path, "::load")[1].startswith("AR beat 1 never comes")
    both = [one for pair in zip(loads, stores, strict=True) for one in pair]
    beats = simulated(both)
    program = '[program.p]\nstep = [{{ transfer = "load"{} }}, {{ transfer = "store"{} }}]\n'
    for load, store, wrong in (("", "", ()), ("", ', after = ["load"]', (1, 3, 5, 7)),
                               (", earlier = { store = 1 }", "", (2, 4, 6))):  # fmt: skip
        text = head + LOOP + program.format(load, store)
        assert verdict(text, beats, tmp_path)[0] is Status.PROVED
        for number in range(1, 8):
            expected = Status.REFUTED if number in wrong else Status.PROVED
            assert verdict(text, early(beats, number), tmp_path)[0] is expected, number
    assert verdict(text, simulated([*loads, *stores]), tmp_path)[0] is Status.REFUTED
    two = head + LOOP + program.format(', context = "x"', ', context = "y", after = ["load"]')
    with pytest.raises(InputError, match="nothing orders load and store of `p` in two queues"):
        verdict(two, beats, tmp_path)


@pytest.mark.parametrize(
    ("steps", "name", "says"),
    [
        (['{ transfer = "first" }'], "", "`second` is in no program"),
        (['{ transfer = "first" }, { transfer = "second" }', '{ transfer = "second" }'], "", "has 2 programs"),
        (['{ transfer = "first" }, { transfer = "second", context = "x" }'], "", "nothing orders"),
        (['{ transfer = "first", context = "x" }, { transfer = "second", context = "y" }'], "::p0",
         "first and second of `p0` in two queues"),
        ([], "::q", "no transfer, access or program `q`"),
    ],
)  # fmt: skip
def test_what_the_trace_ran_is_not_guessed(tmp_path: Path, steps: list[str], name: str, says: str) -> None:
    text = "".join(f"[program.p{number}]\nstep = [{one}]\n" for number, one in enumerate(steps))
    with pytest.raises(InputError, match=says):
        verdict(PLAN + text, RIGHT, tmp_path, name)


def test_channels_and_what_comes_again_have_no_one_order_on_a_port(tmp_path: Path) -> None:
    two = HEAD + move("first", FIRST) + move("second", SECOND, 0x48)
    with pytest.raises(InputError, match="several channels or engines"):
        verdict(two, RIGHT, tmp_path)
    assert verdict(two, simulated([SECOND]), tmp_path, "::second")[0] is Status.PROVED
    ordered = '[program.p]\nstep = [{ transfer = "first" }, { transfer = "second", after = ["first"] }]\n'
    assert verdict(two + ordered, RIGHT, tmp_path)[0] is Status.PROVED
    job = tmp_path / "a.txt"
    for text, says in (
        ("reg32_3d\n0xD0 = 0x2000\n0xD4 = 0x1000\n0xD8 = 64\nread 0x44\nread 0x48\n", "launches on channels 0 and 1"),
        ("rt3d\nsrc = 0x1000\ndst = 0x2000\nlength = 64\nevent = 1000\n", "launches that come again"),
    ):
        job.write_text(text)
        with pytest.raises(InputError, match=says):
            traced([str(job)], table(RIGHT, tmp_path), ["rw_axi"], None)


def test_what_else_a_plan_holds_does_not_hinder_what_is_named(tmp_path: Path) -> None:
    program = '[program.p]\nstep = [{ transfer = "first" }, { transfer = "second" }]\n'
    broken = PLAN + program + move("bad", FIRST).replace("read 0x44", "read 0x41")
    assert verdict(broken, RIGHT, tmp_path, "::p")[0] is Status.PROVED
    assert verdict(broken, simulated([FIRST]), tmp_path, "::first")[0] is Status.PROVED
    with pytest.raises(InputErrors):
        verdict(broken, RIGHT, tmp_path)
    for name in ("driver.c", "lists.csv"):
        (tmp_path / name).write_text("\n")
        with pytest.raises(InputError, match="nothing that a trace is held against"):
            traced([str(tmp_path / name)], table(RIGHT, tmp_path), None, None)


def test_bursts_that_do_not_move_on_and_accelerators_are_refused(tmp_path: Path) -> None:
    options = 'dtype = "i8"\noptions = {{ {} }}'
    for option, says in (("dst_burst = 2", "bursts INCR alone"), ("compute = 1", "what an accelerator makes")):
        text = HEAD + move("first", FIRST).replace('dtype = "i8"', options.format(option), 1)
        with pytest.raises(InputError, match=says):
            verdict(text, simulated([FIRST]), tmp_path)


@pytest.mark.parametrize(("between", "waits"), [("", False), ("wait\n", True), ("poll = 0x8000\n", True)])
def test_a_chain_that_is_waited_for_is_complete_before_the_next(tmp_path: Path, between: str, waits: bool) -> None:
    def words(place: int, request: Request) -> str:
        data = desc64.packed(desc64.DescriptorWords(place, 64, 10, desc64.END, request.src, request.dst), 256)
        return f"0x{place:x}: " + " ".join(f"{int.from_bytes(data[i : i + 4], 'little'):08x}" for i in range(0, 32, 4))

    job = tmp_path / "a.txt"
    job.write_text(
        f"desc64\nfetch = 256\nhead = 0x8000\n{between}head = 0x9000\n{words(0x8000, FIRST)}\n{words(0x9000, SECOND)}\n"
    )
    requests = [replace(one, decouple_rw=False) for one in (FIRST, SECOND)]
    beats = simulated(requests)
    assert traced([str(job)], table(beats, tmp_path), ["rw_axi"], None).status is Status.PROVED
    found = traced([str(job)], table(early(beats), tmp_path), ["rw_axi"], None)
    assert found.status is (Status.REFUTED if waits else Status.PROVED)
