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
