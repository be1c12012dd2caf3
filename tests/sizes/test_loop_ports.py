"""Ports that change with the spelling of a nest of loops are on the list that makes a broken rule ask for its loops."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dmaverify import api
from dmaverify.prove.move.ports import command_facts, sequencer_facts, transfer_facts
from dmaverify.prove.sizes.rules import LOOP_PORTS
from dmaverify.targets.target import load_target

HEAD = """schema = 1
target = "rngd"
[axes]
A = 4
B = 8
C = 64
[transfer.x]
dtype = "i8"
source = { tier = "hbm", element = "A, B, C" }
dest = { tier = "hbm", base = 1048576, element = "A, B, C" }
"""


def ports(read: str, write: str) -> Mapping[str, int]:
    """All ports of the one command of a plan with these sides."""
    target = load_target("rngd")
    plan = api.load(f'{HEAD}read = "{read}"\nwrite = "{write}"\n')
    move = plan.transfers[0].transfer
    (command,) = commands = api.program_of(plan, "x")
    given = move.given[0]
    found = dict(command_facts(command, sum(one.engine == command.engine for one in commands)))
    for side, text in (("read", given.read), ("write", given.write)):
        for limits in ({}, {"entries_max": 1}):
            facts = sequencer_facts(text, command, limits, 8)
            found |= {f"{side} {len(limits)} {port}": value for port, value in facts.items()}
    return found | transfer_facts(move.source, move.dest, move.dtype, target, commands)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[A=4:512, B=8:64, C=64:1]:64", "[A=4:512, B=8:64, A/4=1:7, C=64:1]:64"),  # a loop that runs once
        ("[A=4:512, B=8:64, C=64:1]:64", "[A=32:64, C=64:1]:64"),  # two that step as one
        ("[B=8:64, C=64:1]:64", "[C=512:1]:64"),
        ("[A=4:512, C=64:1]:64", "[A=4:512, B=1:64, C=64:1]:64"),
        ("[A=4:512, C=64:1]:64", "[A=2:1024, A=2:512, C=64:1]:64"),
    ],
)
def test_ports_of_two_spellings_of_a_nest_differ_in_ports_of_loops_alone(one: str, other: str) -> None:
    first, second = (ports(f"{text} HBM/D@0", f"{text} HBM/D@1048576") for text in (one, other))
    differ = {name.split()[-1] for name in first if first[name] != second[name]}
    assert differ
    assert differ <= LOOP_PORTS
