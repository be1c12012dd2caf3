"""Transfers whose descriptors ask for bursts of their own: judged, priced, shown and written each with its own."""

import csv
import json
from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.cli import app as cli
from dmaverify.machines.idma.engine import Request
from dmaverify.machines.idma.nd import Descriptor
from dmaverify.machines.idma.order import command_of
from dmaverify.machines.idma.price import price_on
from dmaverify.machines.idma.setup import setup_of
from dmaverify.targets.target import load_target
from dmaverify.values import replace

with (Path(__file__).resolve().parents[1] / "data/idma_rtl_mixed_sample.csv").open(encoding="utf-8") as sample:
    ROWS = list(csv.DictReader(sample))
PLAN = """schema = 1
target = "idma"
[axes]
A = 512
[transfer.t]
dtype = "i8"
options = {{ front_end = "desc64", data_width = 64, address_width = 64{options} }}
source = {{ tier = "mem", base = 0x1000, element = "A" }}
dest = {{ tier = "mem", base = 0x20000, element = "A" }}
commands = \"\"\"
desc64
fetch = 256
head = 0x8000
0x8000: 00020000 0 00001000 0 00008020 0 00000100 {first}
0x8020: 00020100 0 00001100 0 ffffffff ffffffff 00000100 {second}
\"\"\"
"""


@pytest.mark.parametrize(
    ("first", "second", "options", "wrong"),
    [
        ("0000000a", "0000002a", "", set()),
        ("0000008a", "0000004a", "", set()),
        ("0000000a", "00000012", "", {"idma/burst-incr", "idma/desc-burst"}),
        ("0000000a", "0000002a", ", decouple_rw = 0", {"core/well-formed"}),
        ("0000002a", "0000002a", ", decouple_rw = 1", set()),
    ],
)
def test_each_descriptor_is_judged_with_its_own_flags(
    tmp_path: Path, first: str, second: str, options: str, wrong: set[str]
) -> None:
    file = tmp_path / "p.toml"
    file.write_text(PLAN.format(first=first, second=second, options=options), encoding="utf-8")
    (verdict,) = api.check(str(file))
    assert ({one.rule for one in verdict.errors} <= wrong, verdict.status.value) == (
        True,
        "refuted" if wrong else "proved",
    )
    advice = [one.place for one in verdict.findings if one.rule == "idma/decoupled"]
    assert bool(advice) == (second == "0000002a" and not wrong)


def test_bursts_and_texts_keep_what_each_descriptor_asks_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.toml"
    file.write_text(PLAN.format(first="0000002a", second="0000008a", options=""), encoding="utf-8")
    assert cli.invoke(["bursts", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["coupled"], len(one["read"])) for one in found] == [(False, 1), (True, 32)]
    assert cli.invoke(["bursts", str(file)]) == 0
    assert "0x1100 to 0x20100   coupled" in capsys.readouterr().out
    for form, says in (("desc64", "0000008b"), ("nd", "decouple_rw = 1"), ("job", "256")):
        assert cli.invoke(["emit", f"{file}::t", "--as", form]) == 0
        assert says in capsys.readouterr().out
    assert cli.invoke(["emit", f"{file}::t", "--as", "inst64"]) == 2


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["cycles"])
def test_a_list_of_mixed_transfers_takes_the_cycles_of_its_price(row: dict[str, str]) -> None:
    setup = setup_of(
        load_target("idma"),
        {
            "variant": row["variant"], "data_width": int(row["data_width"]), "front_end": "nd",
            "ax_in_flight": int(row["num_ax_in_flight"]), "buffer_depth": int(row["buffer_depth"]),
            "memory_latency": int(row["mem_latency"]), "memory_outstanding": int(row["mem_outstanding"]),
        },
    )  # fmt: skip
    requests = []
    for text in row["transfers"].split():
        ends, length, flags = text.split(":")
        src, _, dst = ends.partition(">")
        one = bool(int(flags[1]))
        requests.append(Request(int(src, 16), int(dst, 16), int(length), decouple_rw=flags[0] == "1",
                                src_reduce_len=one, dst_reduce_len=one))  # fmt: skip
    commands = [command_of(Descriptor(request), 32) for request in requests]
    found = price_on(replace(setup, each=tuple(requests)), commands)
    assert (found.cycles, found.exact) == (int(row["cycles"]), True)
    bound = price_on(replace(setup, each=tuple(requests)), commands, most=0)
    assert 0.4 * int(row["cycles"]) <= bound.cycles <= int(row["cycles"])
