"""Small plans and large ones of one structure: the whole of a drawn plan, many times over.

Knows: the texts that plans are drawn as. Does not know: what a judge says.
Law: `grown(text, n)` is the plan with one more axis of `n` values, outermost in every tensor and in every walk. What is
true of `n = 2` is true of every larger `n`, so that a run of the small one speaks for one that nobody can run.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from dmaverify.language.parse import parse

AXIS = "Z"
SMALL, LARGE = 2, 1 << 28  # bases of 2^21 stay below 2^50
_UNLIKE = ("slice =", "[access.", "cluster =", "chip =")  # slices have an end, banks count what is repeated
_ENTRY = re.compile(r"^(?P<side>read|write) = \"\[(?P<loops>.*)\]:(?P<rest>\d+ \w+/D)@(?P<base>.*)\"$")


def grown(text: str, times: int) -> str | None:
    """The plan `times` over, None where another axis would change what is true (slices, banks, moves in place)."""
    if any(word in text for word in _UNLIKE):
        return None
    plan = tomllib.loads(text)
    if any(_meets_itself(table, plan["axes"]) for table in plan.get("transfer", {}).values()):
        return None
    lines, sizes = [], _Sizes(plan)
    for line in text.splitlines():
        sizes.enter(line)
        if line == "[axes]":
            line += f"\n{AXIS} = {times}"
        elif line.startswith("index ="):
            line = _bases(line, times)
        elif found := _ENTRY.match(line):
            changed = sizes.printed(found, times)
            if changed is None:
                return None
            line = changed
        elif not line.startswith("["):
            line = re.sub(r'((?:element|time) = ")', rf"\g<1>{AXIS}, ", _bases(line, times))
        lines.append(line)
    return "\n".join(lines) + "\n"


def _bases(line: str, times: int) -> str:
    return re.sub(r"\bbase = (\d+)", lambda found: f"base = {int(found[1]) * times}", line)


def _bits(table: Mapping[str, Any]) -> int:
    """Of an element: the first number in the name of its type."""
    found = re.search(r"\d+", str(table["dtype"]))
    return int(found[0]) if found else 8


def _region(table: Mapping[str, Any], bits: int, axes: Mapping[str, int]) -> tuple[int, int]:
    """First byte, and bytes."""
    return int(table["base"]), -(-parse(str(table["element"]), dict(axes)).size * bits // 8)


def _meets_itself(table: Mapping[str, Any], axes: Mapping[str, int]) -> bool:
    """Whether source and destination share a byte: order then matters, and another axis changes the order."""
    sides = [table["source"], table["dest"]]
    if sides[0]["tier"] != sides[1]["tier"]:
        return False
    if any(not isinstance(side.get("base", 0), int) for side in sides):
        return True
    (a, n), (b, m) = (_region({"base": 0, **side}, _bits(table), axes) for side in sides)
    return a < b + m and b < a + n


class _Sizes:
    """The regions of the transfer whose table a line stands in."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self.plan, self.name = plan, ""

    def enter(self, line: str) -> None:
        found = re.match(r"\[+transfer\.(\w+)", line)
        if found:
            self.name = found[1]

    def printed(self, found: re.Match[str], times: int) -> str | None:
        """A printed side with the axis outermost, moved with its tensor; None for bases with parts."""
        table = self.plan["transfer"][self.name]
        if not found["base"].isdigit() or table.get("unit", "bytes") != "bytes":
            return None
        side = table["source" if found["side"] == "read" else "dest"]
        base, size = _region({"base": 0, **side}, _bits(table), self.plan["axes"])
        at = int(found["base"]) - base + base * times
        return f'{found["side"]} = "[{AXIS}={times}:{size}, {found["loops"]}]:{found["rest"]}@{at}"'
