"""Commands as the documents print them: once for all engines, with a DmnIndex, without a packet or a stream."""

from __future__ import annotations

import pytest

from dmaverify.api import load, program_of
from dmaverify.cli.app import invoke
from dmaverify.errors import InputError
from dmaverify.jobs.verdicts import verdicts_of
from dmaverify.program.command import Engine

FIVE = """schema = 1
target = "rngd"
[axes]
A = 8
B = 64
C = 8
D = 512
[transfer.t]
dtype  = "i8"
source = { tier = "hbm", element = "A, B, C, D" }
dest   = { tier = "dm", cluster = "A / 4", slice = "A % 4, B", element = "C, D % 256" }
read  = "[C=8:512, B%32=32:4096, B/32=2:131072, D%256=256:1]:256 HBM/D@(i * 2^20 + j * 2^18)"
write = "[C=8:256, B%32=32:slice_stride, B/32=2:DMN_stride, D%256=256:1]:256 DM/D@(cluster_i, dmn_j, 0)"
"""
MOVE = """schema = 1
target = "rngd"
[axes]
A = 16
B = 32
C = 256
[transfer.t]
dtype  = "i8"
source = { tier = "hbm", element = "A, B, C" }
dest   = { tier = "hbm", base = 16777216, element = "B, A, C" }
"""


def broken(text: str) -> set[str]:
    (verdict,) = verdicts_of(load(text))
    return {finding.rule for finding in verdict.errors}


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("", "", set()),
        ("j * 2^18", "j * 2^17", {"core/same-element"}),
        ("(cluster_i, dmn_j, 0)", "(cluster_j, dmn_i, 0)", {"core/same-element"}),
        ("]:256", "]", set()),
        ("cluster_i, dmn_j", "chip_0, cluster_i, dmn_j", set()),
        ("cluster_i, dmn_j", "cluster_i, dmn_3", {"core/covers", "core/same-element", "core/writes-once"}),
    ],
)
def test_a_command_written_once_is_one_of_each_engine(old: str, new: str, wrong: set[str]):
    text = FIVE.replace(old, new) if old else FIVE
    found = broken(text)
    assert found >= wrong
    assert bool(found) == bool(wrong)
    if not wrong:
        engines = [command.engine for command in program_of(load(text), "t")]
        assert engines == [Engine(0, cluster, dmn) for cluster in (0, 1) for dmn in range(4)]


SEQUENCER = 'sequencer = "[A=16:(8192, 256), B=32:(256, 4096), C=256:(1, 1)], base=(0, 16777216){}"\n'
SIDES = 'read = "[A=16:8192, B=32:256, C=256:1]{0}, base=0"\nwrite = "[A=16:256, B=32:4096, C=256:1]{0}, base=2^24"\n'


@pytest.mark.parametrize(
    ("text", "packet", "engine"),
    [
        (SEQUENCER.format(", stride0 = 256"), 256, None),
        (SEQUENCER.format(", stride0 = 1"), 1, None),
        (SEQUENCER.format(""), 256, None),
        (SEQUENCER.format(", media_source = HBM, media_dest = HBM, DmnIndex = (0, 1, 3)"), 256, Engine(0, 1, 3)),
        (SIDES.format(":128"), 128, None),
        (SIDES.format(""), 256, None),
        ('stream = { time = "A, B, C" }\n', 256, None),
        ('stream = { time = "A, B", packet = "C" }\n', 256, None),
        ('stream = { time = "A, C, B" }\n', 1, None),
    ],
)
def test_a_packet_that_is_left_out_is_the_run_of_both_sides(text: str, packet: int, engine: Engine | None):
    assert broken(MOVE + text) == set()
    (command,) = program_of(load(MOVE + text), "t")
    assert (command.packet, command.engine) == (packet, engine)


@pytest.mark.parametrize(("size", "packet"), [(4096, 4096), (8448, 2816), (8200, 1640), (8198, 2), (4099, 1)])
@pytest.mark.parametrize(
    "text", ['stream = { time = "L" }', 'sequencer = "[L=%d:(1, 1)], base=(0, 16777216)"'], ids=["stream", "sequencer"]
)
def test_a_run_longer_than_a_packet_is_cut_where_it_divides(text: str, size: int, packet: int):
    """ "DMA Engine", Performance: 4,099 is prime, so that one command moves a byte at a time."""
    tensor = '{ tier = "hbm", base = %d, element = "L" }'
    text = text % size if "%" in text else text
    head = f'schema = 1\ntarget = "rngd"\n[axes]\nL = {size}\n[transfer.t]\ndtype = "i8"\n'
    whole = f"{head}source = {tensor % 0}\ndest = {tensor % 2**24}\n{text}\n"
    assert broken(whole) == set()
    assert program_of(load(whole), "t")[0].packet == packet


@pytest.mark.parametrize(
    "text",
    [
        MOVE + '[[transfer.t.stream]]\ntime = "A, B, C"\n',
        MOVE.split("[transfer")[0] + '[access.t]\nengine = "fetch"\ndtype = "i8"\n'
        'memory = { tier = "dm", element = "A, B, C" }\nstream = { time = "A, B, C" }\n',
    ],
)
def test_a_stream_of_a_case_or_an_access_names_its_packet(text: str):
    with pytest.raises(InputError, match="has no packet"):
        load(text)


@pytest.mark.parametrize(
    ("offsets", "said"),
    [
        ("[0, 32768, 65536, 98304]", ""),
        ("[0, 8192, 16384, 24576]", "core/same-element"),
        ("[0, 0, 0, 0]", "core/same-element"),
        ("[0, 65536, 32768, 98304]", "core/same-element"),
        ("[8, 32776, 65544, 98312]", "core/in-bounds"),
        ("[98304, 65536, 32768, 0]", "core/same-element"),
        ("[8, 32776, 65544, 98304]", "no loops with strides"),
        ("[0, 32768, 65536]", "3 offsets for 4 iterations"),
    ],
)
def test_offsets_that_loops_walk_are_entries_and_others_belong_to_a_gather(offsets: str, said: str):
    text = f"""{MOVE}read  = "[A/4=4:{offsets}, A%4=4:8192, B=32:256, C=256:1]:256 HBM/D@0"
write = "[A/4=4:1024, A%4=4:256, B=32:4096, C=256:1]:256 HBM/D@16777216"
"""
    if said and not said.startswith("core/"):
        with pytest.raises(InputError, match=said):
            load(text)
    else:
        assert said in broken(text) if said else not broken(text)


def test_derive_gives_the_stream_that_follows_from_source_and_destination(tmp_path, capsys):
    (tmp_path / "plan.toml").write_text(MOVE, encoding="utf-8")
    assert invoke(["derive", str(tmp_path / "plan.toml")]) == 0
    shown = capsys.readouterr().out
    assert shown.count("  read ") == shown.count("  write ") >= 1
