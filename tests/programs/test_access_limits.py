"""What Fetch and Commit sequencers may do: input, broadcasts, packets, padding, entries; each on both sides."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dmaverify import api
from dmaverify.verdict import Verdict


def access(engine: str, element: str, time: str, packet: str, axes: Mapping[str, int]) -> Verdict:
    lines = ["schema = 1", 'target = "rngd"', "[axes]", *(f"{name} = {size}" for name, size in axes.items())]
    lines += ["[access.a]", f'engine = "{engine}"', 'dtype = "i8"']
    lines += [f'memory = {{ tier = "dm", slice = "64", element = "{element}" }}']
    lines += [f'stream = {{ time = "{time}", packet = "{packet}" }}', ""]
    return api.check("\n".join(lines))[0]


CASES = [
    ("fetch", "B", "A", "B", {"A": 4, "B": 32}, set()),  # a broadcasting read
    ("commit", "B", "A", "B", {"A": 4, "B": 32}, {"core/same-element", "core/writes-once"}),  # a broadcasting write
    ("fetch", "N, B", "N / 512, N % 512", "B", {"N": 1024, "B": 8}, set()),
    ("fetch", "N % 512, B", "N / 512, N % 512", "B", {"N": 1024, "B": 8}, {"core/same-element"}),  # insufficient input
    ("commit", "A, B", "A", "B", {"A": 4, "B": 32}, set()),
    ("commit", "A, B", "A", "B", {"A": 4, "B": 40}, {"rngd/commit-packet"}),
    ("commit", "A, B", "A", "B", {"A": 4, "B": 8}, set()),
    ("commit", "A, B # 8", "A", "B", {"A": 4, "B": 4}, {"rngd/commit-packet"}),
    ("commit", "A, B # 32", "A", "B # 32", {"A": 4, "B": 20}, set()),  # Top padding may be written
    ("commit", "A, B #{!} 32", "A", "B", {"A": 4, "B": 24}, set()),
    ("commit", "A, B #{!} 32", "A", "B # 32", {"A": 4, "B": 24}, {"core/padding"}),  # Bottom may not
    ("commit", "A, B #{0} 32", "A", "B", {"A": 4, "B": 24}, {"core/padding"}),  # Zero must end as zero
    ("fetch", "A, B # 32", "A", "B # 32", {"A": 4, "B": 24}, set()),
    ("fetch", "A, B", "A", "B # 32", {"A": 4, "B": 24}, {"core/in-bounds"}),  # a read beyond the buffer
]


@pytest.mark.parametrize(("engine", "element", "time", "packet", "axes", "wanted"), CASES)
def test_an_access_is_judged_by_its_engine(
    engine: str, element: str, time: str, packet: str, axes: dict[str, int], wanted: set[str]
) -> None:
    assert {finding.rule for finding in access(engine, element, time, packet, axes).errors} == wanted


@pytest.mark.parametrize(("axes", "wanted"), [(7, set()), (8, {"rngd/access-entries-max"})])
def test_time_and_packet_have_eight_entries_together(axes: int, wanted: set[str]) -> None:
    names = [chr(ord("A") + number) for number in range(axes)]
    element = ", ".join([*reversed(names), "Z"])  # reversed: no two neighbours merge
    verdict = access("fetch", element, ", ".join(names), "Z", {**dict.fromkeys(names, 2), "Z": 8})
    assert {finding.rule for finding in verdict.errors} == wanted


@pytest.mark.parametrize(("size", "wanted"), [(65536, set()), (65537, {"rngd/access-iterations-max"})])
def test_an_entry_counts_to_65536(size: int, wanted: set[str]) -> None:
    verdict = access("fetch", "B", "A", "B", {"A": size, "B": 8})
    assert {finding.rule for finding in verdict.errors} == wanted


# ---------------------------------------------------------------- packets over several runs, sizes of accesses


def facts(
    engine: str, element: str, time: str, packet: str, axes: Mapping[str, int], context: str = "main"
) -> dict[str, int]:
    from dmaverify.lower.adapters import access_facts, bank_bytes
    from dmaverify.plan.read import read_plan_text
    from dmaverify.program.command import Command
    from dmaverify.prove.flow.accesses.touches import access_command

    lines = ["schema = 1", 'target = "rngd"', "[axes]", *(f"{name} = {size}" for name, size in axes.items())]
    lines += ["[access.a]", f'engine = "{engine}"', f'context = "{context}"', 'dtype = "i8"']
    lines += [f'memory = {{ tier = "dm", slice = "64", element = "{element}" }}']
    plan = read_plan_text("\n".join([*lines, f'stream = {{ time = "{time}", packet = "{packet}" }}', ""]))
    command = access_command(plan.accesses[0], 8, plan.targets["rngd"])
    assert isinstance(command, Command)
    return {**access_facts(command, plan.accesses[0], 8), "bank_bytes": bank_bytes(command, plan.accesses[0], 8)}


@pytest.mark.parametrize(
    ("element", "packet", "axes", "runs", "access"),
    [
        ("A, B", "A, B", {"A": 4, "B": 8}, 1, 32),  # rows that follow each other are one run
        ("A, B # 64", "A, B", {"A": 4, "B": 8}, 4, 8),  # rows apart: max_access_size = gcd(32, 8)
        ("A, B # 64", "A, B", {"A": 4, "B": 24}, 4, 8),  # gcd(96, 24) = 24, its largest access is 8
        ("B, A", "A, B", {"A": 4, "B": 8}, 32, 1),  # no two bytes of a packet are neighbours
        ("A, B", "A, B", {"A": 3, "B": 32}, 1, 32),  # 96 bytes in three accesses
        ("B, A # 8", "A", {"A": 2, "B": 8}, 1, 2),
    ],
)
def test_a_packet_over_several_runs_takes_accesses_that_its_runs_allow(
    element: str, packet: str, axes: dict[str, int], runs: int, access: int
) -> None:
    time = "1" if "B" in packet else "B"
    found = facts("fetch", element, time, packet, axes)
    assert (found["runs_per_packet"], found["access_bytes"]) == (runs, access)


def test_the_sub_context_moves_eight_bytes_at_once_or_nothing() -> None:
    assert facts("fetch", "A, B", "A", "B", {"A": 4, "B": 32}, "sub")["access_bytes"] == 8
    assert facts("fetch", "A, B # 8", "A", "B", {"A": 4, "B": 4}, "sub")["access_bytes"] == 0


def test_a_commit_of_the_main_context_writes_a_packet_at_once_also_one_of_24_bytes() -> None:
    assert facts("commit", "A, B # 128", "A", "B", {"A": 4, "B": 24})["bank_bytes"] == 24
    assert facts("commit", "A, B # 128", "A", "B", {"A": 4, "B": 24}, "sub")["bank_bytes"] == 8
    assert facts("fetch", "A, B # 128", "A", "B", {"A": 4, "B": 24})["bank_bytes"] == 8


@pytest.mark.parametrize(("rows", "told"), [(1, False), (2, True)])
def test_a_main_commit_of_a_packet_in_several_runs_is_told(rows: int, told: bool) -> None:
    verdict = access("commit", "A, B # 64", "1", "A, B", {"A": rows, "B": 8})
    assert ("rngd/commit-one-write" in {finding.rule for finding in verdict.findings}) == told
    assert {finding.rule for finding in verdict.errors} == ({"rngd/innermost-entry"} if told else set())
