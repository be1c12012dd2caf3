"""Texts in a form that the engine reads otherwise than they are written, in plans and as files of their own, and marks
of descriptors in what is moved.
"""

from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.errors import InputError
from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.machines.idma.forms import read_image
from dmaverify.verdict import Status, Verdict

PLAN = """schema = 1
target = "idma"
[axes]
A = 48
[transfer.t]
dtype = "i8"
source = {{ tier = "mem", base = 0x3F90, element = "A" }}
dest = {{ tier = "mem", base = 0x6680, element = "A" }}
options = {{ {options} }}
commands = '''
{text}'''
"""
CHAINS = {
    64: "00000030 0000000a ffffffff ffffffff 00003f90 00000000 00006680 00000000",
    128: "ffffffff ffffffff 00000030 0000000a 00006680 00000000 00003f90 00000000",
    256: "00006680 00000000 00003f90 00000000 ffffffff ffffffff 00000030 0000000a",
}
REGISTERS = "reg32_3d\n0xD4 = 0x3F90\n0xD0 = 0x6680\n0xD8 = 48\nread 0x44\n"


def chain(words: int, said: int = 0) -> str:
    fetch = f"fetch = {said}\n" if said else ""
    return f"desc64\n{fetch}head = 0x8000\n0x8000: {CHAINS[words]}\n"


def in_plan(text: str, options: str) -> Verdict:
    (verdict,) = api.check(PLAN.format(text=text, options=options))
    return verdict


def of_file(text: str, folder: Path, *engine: str) -> Verdict:
    (folder / "t.txt").write_text(text)
    return verdict_of_file(str(folder / "t.txt"), engine=list(engine))


@pytest.mark.parametrize("words", CHAINS)
@pytest.mark.parametrize("engine", CHAINS)
def test_a_chain_for_another_fetch_bus_than_the_engine_has_is_no_proof(words: int, engine: int, tmp_path: Path) -> None:
    text = chain(words, words)
    planned = in_plan(text, f'preset = "cheshire", fetch_width = {engine}')
    assert (planned.status is Status.PROVED) == (words == engine)
    listed = of_file(text, tmp_path, "cheshire", f"fetch_width={engine}")
    assert (listed.status is Status.PROVED) == (words == engine)
    assert of_file(text, tmp_path).status is Status.PROVED  # the engine is that of the text


@pytest.mark.parametrize("words", CHAINS)
def test_a_chain_that_says_no_fetch_width_is_read_by_that_of_the_engine(words: int, tmp_path: Path) -> None:
    text = chain(words)
    for engine in CHAINS:
        planned = in_plan(text, f'preset = "cheshire", fetch_width = {engine}')
        assert (planned.status is Status.PROVED) == (words == engine)
        listed = of_file(text, tmp_path, "cheshire", f"fetch_width={engine}")
        assert (listed.status is Status.PROVED) == (words == engine)


@pytest.mark.parametrize("words", CHAINS)
def test_a_chain_of_which_nobody_says_the_fetch_width_is_not_read(words: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the width of the fetch bus is missing") as caught:
        read_image(chain(words))
    assert caught.value.span is not None
    assert caught.value.span.line == 2
    assert in_plan(chain(words), "data_width = 64").status is Status.ERROR
    with pytest.raises(InputError, match="the width of the fetch bus is missing"):
        of_file(chain(words), tmp_path)


@pytest.mark.parametrize(("width", "proved"), [(32, True), (33, False), (48, False), (64, False)])
def test_registers_without_high_bits_are_for_short_addresses(width: int, proved: bool, tmp_path: Path) -> None:
    assert (in_plan(REGISTERS, f"address_width = {width}").status is Status.PROVED) == proved
    assert (of_file(REGISTERS, tmp_path, f"address_width={width}").status is Status.PROVED) == proved
    assert of_file(REGISTERS, tmp_path).status is Status.PROVED


def test_instructions_ask_for_no_protocol_that_no_address_has(tmp_path: Path) -> None:
    text = "inst64\ndmsrc 0x3F90, 0\ndmdst 0x6680, 0\ndmcpyi 48, 0\n"
    for name, proved in (("axi", True), ("tilelink", False)):
        options = f'variant = "rw_{name}", src_protocol = "{name}", dst_protocol = "{name}", address_width = 48'
        assert (in_plan(text, options).status is Status.PROVED) == proved
        words = (f"rw_{name}", f"src_protocol={name}", f"dst_protocol={name}", "address_width=48")
        assert (of_file(text, tmp_path, *words).status is Status.PROVED) == proved


IN_SOURCE = """schema = 1
target = "idma"
[axes]
A = 128
[transfer.t]
dtype = "i8"
source = {{ tier = "mem", base = 0x8000, element = "A" }}
dest = {{ tier = "mem", base = 0x20000, element = "A" }}
options = {{ preset = "cheshire" }}
commands = '''
desc64
fetch = 64
head = {first}
wait
head = {second}
0x8000: 00000040 0000000a ffffffff ffffffff 000080{low} 00000000 000200{low} 00000000
{other}: 00000040 0000000a ffffffff ffffffff 000080{high} 00000000 000200{high} 00000000
'''
"""


def test_a_source_that_holds_a_descriptor_is_read_before_that_is_complete() -> None:
    def judged(**words: str) -> set[str]:
        (verdict,) = api.check(IN_SOURCE.format(**words))
        assert (verdict.status is Status.PROVED) == (not verdict.errors)
        return {finding.rule for finding in verdict.errors}

    # the descriptor at 0x8000 is read by the other one: behind its mark, or before it is launched
    behind = {"first": "0x8000", "second": "0x9000", "other": "0x9000", "low": "40", "high": "00"}
    assert judged(**behind) == {"idma/desc-sourced"}
    assert judged(**behind | {"first": "0x9000", "second": "0x8000"}) == set()
    # and by itself
    assert judged(**behind | {"low": "00", "high": "40"}) == {"idma/desc-sourced"}
