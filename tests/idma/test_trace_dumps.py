"""What a dump shows and how its ports are named: undefined handshakes, times, resets, prefixes."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from dmaverify.cli.bus_trace import traced
from dmaverify.errors import InputError
from dmaverify.machines.idma.bus.beats import Beat, read_trace
from dmaverify.machines.idma.bus.ports import CHANNELS
from dmaverify.machines.idma.bus.scoreboard import channels_of, judged
from dmaverify.machines.idma.engine import Request
from tests.idma.test_traces import ASKS, BACKEND, HAS, RIGHT, TAKEN, WIDTHS, WORD, Cycle, waved, wrong
from tests.idma.test_traces_obi import dumped, engine, moves, simulated

DATA = RIGHT[3]["w"]


@pytest.mark.parametrize("level", ["x", "z", "u", "-"])
def test_valid_that_is_undefined_while_it_waits_is_no_handshake_that_stays(tmp_path: Path, level: str) -> None:
    stalled: Cycle = {"w": {**DATA, "ready": 0}}
    gone: Cycle = {"w": {**DATA, "ready": 0, "valid": level}}
    found = wrong(waved(tmp_path / "t.vcd", (*RIGHT[:3], stalled, gone, *RIGHT[3:])))
    assert found == "W beat 0: valid is undefined before ready has answered it"
    assert not wrong(waved(tmp_path / "t.vcd", (*RIGHT[:3], gone, stalled, *RIGHT[3:])))  # nothing waits


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_channel_of_a_table_has_one_beat_at_a_time(tmp_path: Path, channel: str) -> None:
    file = tmp_path / "t.csv"
    other = next(one for one in CHANNELS if one != channel)
    file.write_text(f"time,channel\n1,{channel}\n2,{other}\n2,{channel}\n3,{channel}\n")
    assert len(read_trace(str(file)).beats) == 4
    for rows in (f"2,{channel}\n2,{channel}\n", f"2,{channel}\n2,{other}\n2,{channel.upper()}\n"):
        file.write_text(f"time,channel\n1,{channel}\n{rows}")
        with pytest.raises(InputError, match=f"two beats of {channel} at time 2"):
            read_trace(str(file))
    file.write_text(f"time,channel\n2,{channel}\n1,{channel}\n")
    with pytest.raises(InputError, match="do not fall"):
        read_trace(str(file))


def test_a_dump_whose_times_go_back_is_refused(tmp_path: Path) -> None:
    file = Path(waved(tmp_path / "t.vcd"))
    text = file.read_text()
    file.write_text(text.replace("#30\n", "#30\n#30\n"))
    assert not wrong(str(file))
    file.write_text(text.replace("#30\n", "  #24\n"))
    with pytest.raises(InputError, match="from time 25 back to 24"):
        read_trace(str(file))
    for time in ("-5", "1.5", "9" * 21, ""):
        file.write_text(text.replace("#30\n", f"#{time}\n"))
        with pytest.raises(InputError, match="no number of steps"):
            read_trace(str(file))
    names = text.replace(" clk_i $end", " clk_i $end\n$var wire 1 Q q [0] $end\n$comment\n#99\n$end", 1)
    file.write_text(names)  # what stands before the values is no time
    assert not wrong(str(file))


@pytest.mark.parametrize(
    ("lines", "hidden"),
    [
        ("1tb.dut.clk_i\n0tb.dut.clk_i", True),
        ("0tb.dut.clk_i\n0tb.dut.clk_i", False),
    ],
)
def test_an_edge_of_the_clock_that_takes_no_time_is_refused(tmp_path: Path, lines: str, hidden: bool) -> None:
    file = waved(tmp_path / "t.vcd", also={3: "0tb.dut.clk_i"})
    text = Path(file).read_text()
    Path(file).write_text(text.replace("#35\n", f"#33\n{lines}\n#38\n", 1))
    if hidden:
        with pytest.raises(InputError, match="rises and falls at time 33"):
            read_trace(file)
        return
    assert not wrong(file)


@pytest.mark.parametrize(("name", "level"), [("rst_ni", 0), ("arst", 1)])
@pytest.mark.parametrize(
    ("lines", "refused"),
    [
        ({0: "on", 1: "off"}, False), ({0: "off"}, False), ({0: "off", 6: "on"}, False),  # before and behind all
        ({0: "off", 3: "on", 4: "off"}, True), ({0: "on", 3: "off"}, True), ({0: "x", 1: "off"}, False),
        ({0: "x"}, False),
    ],
)  # fmt: skip
def test_a_reset_amid_the_beats_is_refused(
    tmp_path: Path, name: str, level: int, lines: dict[int, str], refused: bool
) -> None:
    also = {at: f"{ {'on': level, 'off': 1 - level}.get(said, said) }R" for at, said in lines.items()}
    file = waved(tmp_path / "t.vcd", more=[f"$var wire 1 R {name} $end"], also=also)
    if refused:
        with pytest.raises(InputError, match=rf"the reset tb\.dut\.{name} is {level} at time"):
            read_trace(file)
        return
    assert not wrong(file)


def test_a_reset_between_two_edges_is_one(tmp_path: Path) -> None:
    file = waved(tmp_path / "t.vcd", more=["$var wire 1 R rst_ni $end"], also={0: "1R", 3: "0R\n#32\n1R"})
    with pytest.raises(InputError, match="is 0 at time 30"):
        read_trace(file)


ASKED: Cycle = {"aw": {**ASKS, "valid": 1, "addr": 0x2000}}


def test_an_answer_is_shown_behind_what_it_answers_however_late_it_is_taken(tmp_path: Path) -> None:
    shown: Cycle = {"b": {"valid": 1}}
    for amid, says in ((3, "B beat 0 does not come after the write that it answers"), (4, "")):
        cycles = [dict(one) for one in (*RIGHT[:4], {}, RIGHT[4])]
        for at in range(amid, 5):
            cycles[at] = {**cycles[at], **shown}
        assert wrong(waved(tmp_path / "t.vcd", cycles)) == says


def test_what_waits_is_not_shown_before_the_last_answer(tmp_path: Path) -> None:
    requests = [*WORD, Request(0x1100, 0x2100, 4)]
    second = tuple({c: {**own, **({"addr": own["addr"] + 0x100} if "addr" in own else {})} for c, own in one.items()}
                   for one in RIGHT)  # fmt: skip
    for first, says in ((4, "AR beat 1 does not come after B beat 0"), (5, "")):
        cycles: list[Cycle] = [*RIGHT, {}, {}, *second]
        for at in range(first, 7):
            cycles[at] = {**cycles[at], "ar": {**second[0]["ar"], "ready": 0}}
        beats = read_trace(waved(tmp_path / "t.vcd", cycles)).beats
        assert judged(BACKEND, requests, beats).wrong is None
        found = judged(BACKEND, requests, beats, {1: 1}).wrong
        assert (found.message if found else "")[: len("AR beat 1 does not come after B beat 0")] == says


def test_a_beat_is_shown_since_valid_is_up_and_the_beat_before_was_taken(tmp_path: Path) -> None:
    waits: Cycle = {"ar": {**RIGHT[0]["ar"], "ready": 0}}
    beats = read_trace(waved(tmp_path / "t.vcd", (RIGHT[0], RIGHT[0], waits, waits, RIGHT[0], {}, RIGHT[0]))).beats
    assert [(beat.time, beat.since) for beat in beats] == [(15, 15), (25, 25), (55, 35), (75, 75)]


def test_one_beat_without_data_leaves_the_others_judged() -> None:
    requests = [Request(0x1000, 0x2000, 8)]
    beats = [
        Beat(0, "ar", {"addr": 0x1000, "len": 1, "size": 2, "burst": 1}),
        Beat(1, "r", {"data": 1, "last": 0, "resp": 0}), Beat(2, "r", {"data": 2, "last": 1, "resp": 0}),
        Beat(3, "aw", {"addr": 0x2000, "len": 1, "size": 2, "burst": 1}), Beat(4, "w", {"strb": 15, "last": 0}),
        Beat(5, "w", {"data": 2, "strb": 15, "last": 1}), Beat(6, "b", {"resp": 0}),
    ]  # fmt: skip
    found = judged(BACKEND, requests, beats)
    assert (found.wrong, found.missing) == (None, ("data",))
    beats[5] = Beat(5, "w", {"data": 3, "strb": 15, "last": 1})
    late = judged(BACKEND, requests, beats).wrong
    assert late is not None
    assert late.message == "W beat 1: byte 0 is 0x03, read as 0x02"


# ---------------------------------------------------------------- names of ports


def second_port(prefix: str, channels: Sequence[str] = tuple(HAS)) -> list[str]:
    """The variables of one more port, which nothing ever drives."""
    return [f"$var wire {WIDTHS.get(w, 1)} {prefix}{c}{w} {prefix}{c}_{w} $end"
            for c in channels for w in (*TAKEN, *HAS[c])]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("tb.dut.axi_", ""), ("tb.dut.axi", ""), ("tb.dut.axi_@tb.dut.clk_i", ""),
        ("tb.dut.axi_mem_", "AR beat 0 never comes"), ("tb.dut.axi_mem", "AR beat 0 never comes"),
        ("", "has 2 AXI ports"), ("tb.dut", "has 2 AXI ports"), ("tb", "has 2 AXI ports"), ("tb.", "has 2 AXI ports"),
        ("tb.dut.axi_,tb.dut.axi_mem_", "has 2 AXI ports"),
        ("tb.dut.ax", "has no port, and no scope with one, tb.dut.ax"), ("tb.du", "has no port"),
        ("axi_", "has no port"),
        ("tb.dut.axi_,tb.other", "has no port, and no scope with one, tb.other"),
        ("tb.dut.part_", "has 2 AXI ports"), ("tb.dut.axi_,tb.dut.part_", "is no port that these"),
        ("tb.dut.axi_@clk_i", "has no signal clk_i"),
    ],
)  # fmt: skip
def test_a_port_is_named_by_its_whole_prefix_and_a_scope_up_to_a_dot(tmp_path: Path, name: str, says: str) -> None:
    more = [*second_port("axi_mem_"), *second_port("part_", ("ar", "r"))]
    file = waved(tmp_path / "t.vcd", more=more) + ("::" + name if name else "")
    if says and not says.startswith("AR"):
        with pytest.raises(InputError, match=says):
            read_trace(file)
        return
    assert wrong(file)[: len(says) or None] == says


def test_a_name_that_has_no_part_in_the_choice_is_refused(tmp_path: Path) -> None:
    file = waved(tmp_path / "t.vcd", more=second_port("part_", ("ar", "r")))
    assert not wrong(file)
    with pytest.raises(InputError, match="part_ is no port that these transfers use"):
        read_trace(f"{file}::tb.dut.part_")  # which leaves one port, that is another


def test_a_name_of_one_protocol_leaves_the_port_of_the_other(tmp_path: Path) -> None:
    requests = moves("r_axi_w_obi")
    path = dumped(simulated("r_axi_w_obi"), tmp_path / "t.vcd", "plain")
    obi = [f"$var wire 1 o{w} mem_write_{w} $end" for w in ("req", "gnt", "rvalid")]
    text = path.read_text().replace(
        "$upscope $end", "\n".join([*second_port("axi_mem_", ("ar", "r")), *obi, "$upscope $end"]), 1
    )
    path.write_text(text)
    for name, says in (
        ("tb.dut.axi_,tb.dut.obi_write_", ""), ("tb.dut.axi_", "2 OBI ports"), ("tb.dut.obi_write_", "2 AXI ports"),
        ("tb.dut.axi_,tb.dut.obi_read_", "no port, and no scope with one, tb.dut.obi_read_"), ("tb.dut", "2 AXI ports"),
    ):  # fmt: skip
        if says:
            with pytest.raises(InputError, match=says):
                read_trace(f"{path}::{name}", channels_of(requests))
            continue
        found = read_trace(f"{path}::{name}", channels_of(requests)).beats
        assert judged(engine("r_axi_w_obi"), requests, found).wrong is None


def test_ready_that_is_undefined_beside_a_valid_is_told_of_the_first_beat_too(tmp_path: Path) -> None:
    for reset, says in (([], ""), (["$var wire 1 R rst_ni $end"], "AR beat 0: ready is undefined while valid is 1")):
        stalled: Cycle = {"ar": {**RIGHT[0]["ar"], "ready": "x"}}
        also = {0: "bx ar_ready\n1R" if reset else "bx ar_ready"}
        file = waved(tmp_path / "t.vcd", (stalled, *RIGHT), more=reset, also=also)
        assert wrong(file) == says  # without a reset, what is before the first beat may be one


def test_ports_of_the_engine_that_no_transfer_uses_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("4\n0x1000\n0x2000\n0\n0\n256\n256\n0\n0\n0\n")
    file = waved(tmp_path / "t.vcd")
    for variant, says in (("rw_axi", []), ("rw_axi_rw_obi", ["(obi read, obi write)"])):
        found = traced([str(tmp_path / "a.txt")], file, [variant], 0)
        assert [one[-len("(obi read, obi write)") :] for one in found.assumptions if "not looked at" in one] == says


@pytest.mark.parametrize("channel", HAS)
def test_what_a_channel_still_shows_at_the_end_is_more_than_was_asked_for(tmp_path: Path, channel: str) -> None:
    def seen(**last: int) -> str:
        file = Path(waved(tmp_path / "t.vcd", (*RIGHT, {channel: last})))
        file.write_text(file.read_text().rpartition("#70\n")[0])  # the last cycle has no edge behind it
        return wrong(str(file))

    said = f"{channel.upper()} beat 1: valid is up at the end, and ready has not answered it"
    assert seen(valid=1) == said
    assert seen(ready=1) == ""


@pytest.mark.parametrize(("side", "channel"), [("a_write", "A (write)"), ("a_read", "A (read)")])
def test_a_request_on_obi_that_nobody_grants_is_more_than_was_asked_for(
    tmp_path: Path, side: str, channel: str
) -> None:
    beats = simulated("rw_obi")
    file = dumped(beats, tmp_path / "t.vcd", "plain")
    text = file.read_text()
    code = {name: own for own, name in re.findall(r"\$var wire 1 (\S+) (\S+) \$end", text)}
    request, clock = code[f"obi_{side.partition('_')[2]}_req_o"], code["clk_i"]
    file.write_text(f"{text}\n#99990\n0{clock}\n1{request}\n#99995\n1{clock}\n")
    found = judged(engine("rw_obi"), moves("rw_obi"), read_trace(str(file), channels_of(moves("rw_obi"))).beats).wrong
    assert found is not None
    number = sum(beat.channel == side for beat in beats)
    assert found.message == f"{channel} beat {number}: valid is up at the end, and ready has not answered it"
