"""Filled memory and channels: a text asks of the engine what the plan says, and so does what is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dmaverify as dv
from dmaverify.jobs.load import load, program_of
from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.machines.idma.emit import emitted

PLAN = """
schema = 1
target = "idma"
[axes]
R = 4
A = 64
"""
FILL = 'src_protocol = "init", pattern = "constant", value = {value}'
CORE = 'preset = "manticore"'
REGS = 'variant = "r_axi_rw_init_w_axi", dims = 3, front_end = "reg32_3d"'
END = 0x10000000


def _move(name: str, options: str, more: str, source: str = "init", pitch: int = 64) -> str:
    rows = "R, A" if pitch == 64 else f"R, A # {pitch}"
    return f"""
[transfer.{name}]
dtype = "i8"
source = {{ tier = "{source}", base = {END}, element = "{rows}" }}
dest = {{ tier = "mem", base = {END if source == "init" else 4096}, element = "{rows}" }}
options = {{ {options} }}
{more}
"""


def _commands(text: str) -> str:
    return f'commands = """\n{text}"""\n'


def _status(text: str) -> dict[str, str]:
    return {verdict.name: verdict.status.value for verdict in dv.check(PLAN + text)}


def _emitted(tmp_path: Path, text: str, form: str) -> str:
    file = tmp_path / "plan.toml"
    file.write_text(PLAN + text, encoding="utf-8")
    plan = load(str(file))
    return emitted(plan.transfers[0].transfer, plan.targets["idma"], {"R": 4, "A": 64}, program_of(plan, "t"), form)


@pytest.mark.parametrize(
    ("launch", "status"),
    [
        ("dminit 256, 0", "proved"),
        ("dmcpyi 256, 0", "refuted"),
        ("dmcpy 256, 0", "refuted"),
        ("dminit 256, 1", "refuted"),
    ],
)
def test_an_instruction_that_copies_fills_nothing_whatever_the_options_say(launch: str, status: str) -> None:
    text = f"inst64\ndmsrc 0x{END:x}, 0\ndmdst 0x{END:x}, 0\n{launch}\n"
    assert _status(_move("t", f"{CORE}, {FILL.format(value=0)}", _commands(text))) == {"t": status}


@pytest.mark.parametrize(
    ("protocol", "status"), [("axi", "proved"), ("obi", "proved"), ("axil", "refuted"), ("tilelink", "refuted")]
)
def test_instructions_read_by_what_the_address_map_has(protocol: str, status: str) -> None:
    variant = "rw_axi" if protocol == "axi" else f"rw_axi_rw_{protocol}"
    options = f'variant = "{variant}", dims = 2, front_end = "inst64", src_protocol = "{protocol}"'
    text = f"inst64\ndmsrc 0x{END:x}, 0\ndmdst 4096, 0\ndmcpyi 256, 0\n"
    assert _status(_move("t", options, _commands(text), "mem")) == {"t": status}


@pytest.mark.parametrize(("stride", "status"), [(0, "proved"), (256, "proved"), (1, "refuted"), (64, "refuted")])
def test_rows_fill_alike_where_their_sources_have_one_low_byte(stride: int, status: str) -> None:
    nd = f"nd\nsrc = 0xFF\ndst = {END}\nlength = 64\nsrc_protocol = init\ndim = 4, {stride}, 64\n"
    regs = (
        f"reg32_3d\n0 = 0x8400\n0xD0 = {END}\n0xD4 = 0xFF\n0xD8 = 64\n0xE0 = 64\n0xE4 = {stride}\n0xE8 = 4\nread 0x44\n"
    )
    moves = _move("nd", f"{REGS}, {FILL.format(value=255)}", _commands(nd))
    moves += _move("regs", f"{REGS}, {FILL.format(value=255)}", _commands(regs))
    assert _status(moves) == {"nd": status, "regs": status}


@pytest.mark.parametrize("value", [0, 18, 255])
@pytest.mark.parametrize("form", ["nd", "reg32_3d", "job", "inst64"])
@pytest.mark.parametrize("pitch", [64, 80])
def test_what_is_written_for_a_memset_has_its_value_in_every_row(
    tmp_path: Path, form: str, value: int, pitch: int
) -> None:
    options = f"{CORE if form == 'inst64' else REGS}, {FILL.format(value=value)}"
    loops = f"[R=4:{pitch}, A=64:1]:64 MEM@{END}"
    text = _emitted(tmp_path, _move("t", options, f'read = "{loops}"\nwrite = "{loops}"', pitch=pitch), form)
    if form == "inst64":
        launches = re.findall(r"(\w+) 0x40, (\d+)", text)
        assert launches == [("dminit", str({0: 0, 255: 1}.get(value, 2)))] * 4
        assert ("dmsrc 0x12, 0x0" in text) == (value == 18)
    else:
        starts = {"nd": r"src = 0x(\w+)", "reg32_3d": r"0xD4 = 0x(\w+)", "job": r"job \d+\n\d+\n0x(\w+)"}
        assert int(re.search(starts[form], text)[1], 16) == value  # type: ignore[index]


def test_nothing_is_written_for_instructions_that_they_cannot_ask_for(tmp_path: Path) -> None:
    options = 'variant = "rw_axi_rw_axil", dims = 2, front_end = "inst64", src_protocol = "axil"'
    loops = "[R=4:64, A=64:1]:64 MEM@"
    with pytest.raises(dv.InputError, match="asks for no axil"):
        _emitted(tmp_path, _move("t", options, f'read = "{loops}{END}"\nwrite = "{loops}4096"', "mem"), "inst64")


# ---------------------------------------------------------------- channels

CHANNEL = 'front_end = "reg32_3d", dims = 3, channels = 4, channel = {channel}'


@pytest.mark.parametrize("channel", [0, 3])
def test_registers_are_written_for_the_channel_of_the_plan(tmp_path: Path, channel: int) -> None:
    loops = "[R=4:64, A=64:1]:64 MEM@"
    move = _move("t", CHANNEL.format(channel=channel), f'read = "{loops}{END}"\nwrite = "{loops}4096"', "mem")
    assert _emitted(tmp_path, move, "reg32_3d").endswith(f"read 0x{0x44 + 4 * channel:02X}\n")


@pytest.mark.parametrize(
    ("channel", "launch", "status"), [(0, 0, "proved"), (3, 3, "proved"), (3, 0, "refuted"), (0, 3, "refuted")]
)
@pytest.mark.parametrize("form", ["reg32_3d", "inst64"])
def test_a_launch_is_one_of_the_channel_that_the_plan_names(form: str, channel: int, launch: int, status: str) -> None:
    text = f"inst64\ndmsrc 0x{END:x}, 0\ndmdst 4096, 0\ndmcpyi 256, {4 * launch}\n"
    if form == "reg32_3d":
        text = f"reg32_3d\n0xD0 = 4096\n0xD4 = {END}\n0xD8 = 256\nread 0x{0x44 + 4 * launch:X}\n"
    options = CHANNEL.format(channel=channel).replace("reg32_3d", form).replace("dims = 3", "dims = 2")
    assert _status(_move("t", options, _commands(text), "mem")) == {"t": status}


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ('src_protocol = "AXI4", dst_protocol = 0', "proved"), ('dst_protocol = "tl"', "refuted"),
        ("dst_protocol = 3", "refuted"), ("decouple_aw = 0", "proved"), ("decouple_aw = 1", "refuted"),
    ],
)  # fmt: skip
def test_an_option_of_a_plan_is_that_of_its_text_by_whatever_name(options: str, status: str) -> None:
    text = f"reg32_3d\n0xD0 = 4096\n0xD4 = {END}\n0xD8 = 256\nread 0x44\n"
    own = f'variant = "rw_axi_rw_tilelink", dims = 3, front_end = "reg32_3d", {options}'
    assert _status(_move("t", own, _commands(text), "mem")) == {"t": status}


@pytest.mark.parametrize(
    ("engine", "status"),
    [
        ("dst_protocol=axi", "error"), ("dst_protocol=tilelink", "refuted"), ("dst_protocol=3", "refuted"),
        ("decouple_rw=1", "error"), ("decouple_rw=0", "refuted"), ("data_width=64", "refuted"),
    ],
)  # fmt: skip
def test_an_engine_on_the_command_line_is_no_other_request_than_that_of_the_text(
    tmp_path: Path, engine: str, status: str
) -> None:
    file = tmp_path / "a.job"
    file.write_text("64\n0x1004\n0x2004\n0\n3\n256\n256\n0\n0\n0\n", encoding="utf-8")
    verdict = verdict_of_file(str(file), engine=["rw_axi_rw_tilelink", engine], dims=0)
    assert verdict is not None
    assert verdict.status.value == status
