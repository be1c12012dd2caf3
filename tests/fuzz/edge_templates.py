"""Random plans with symbols at the edges of arithmetic: numbers that are 0 at some sizes, loops that may not run,
strides that fall, quotients and remainders of symbols, products near 2^63.

Knows: the text of plans as `random_templates` and `wide_templates` write it. Does not know: whether one is right.
Law: the same generator state gives the same plan; an edit that keeps a plan right is made on both of its sides.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from itertools import pairwise

from lab.random_templates import Drawn, random_template
from lab.wide_templates import wide_template

_SIDE = re.compile(
    r'^(?P<word>read|write|config) = "\[(?P<entries>[^\]]*)\]:(?P<packet>[^"@]*?)(?P<at> @\((?P<base>.*)\))?"$'
)
_BASE = re.compile(r'base = "(?P<base>[^"]*)"')
_DECLARED = re.compile(r"^(?P<name>\w+) = \{ (?P<range>.*) \}$")


@dataclass
class _Edited:
    """The lines of a plan, the symbols it may use, the relations that were added."""

    rng: random.Random
    lines: list[str]
    axes: list[str]
    free: list[str]
    assume: list[str]

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def zero(self) -> str:
        """A number that is 0 at some sizes, and below at few."""
        rng = self.rng
        a, b, x = rng.choice(self.axes), rng.choice(self.axes), rng.choice(self.free)
        y = rng.choice(self.free)
        forms = [
            x, x, f"{x}*{y}", f"{x}%2", f"{a}%2", f"{a} - 1", f"{a} - {b}", f"{a}//4", f"({a} - {x})//2", f"{x}//{a}",
            f"{a}%{b}", f"{x}%{a}", f"({a} - 1)*{x}", f"{a}//{x}", f"{a}%{x}", f"({a} - {b})*{x}", f"{x} - {y}",
            f"({x} - {y})//{a}", f"({x} + {a})//({y} + 1)", f"{x}/{a}", f"({a} - 1)//{b}", f"{a}//{b} - 1",
        ]  # fmt: skip
        return rng.choice(forms)

    def relation(self) -> str:
        rng = self.rng
        a, b, x = rng.choice(self.axes), rng.choice(self.axes), rng.choice(self.free)
        y = rng.choice(self.free)
        forms = [
            f"{x} | {a}", f"{a} | {x}", f"{x} | {y}", f"{x} <= {a}", f"{x} < {a}", f"{a} <= {b}", f"{x} * {y} <= 12",
            f"{a} | {x} - {rng.choice((1, 3))}", f"{x} % 2 == 0", f"{a} % 4 == 0", f"{a} - {x} >= 1", f"{x} >= {y}",
            f"2 * {x} <= {a} + {b}", f"{x} <= 0", f"{a} <= 1", f"{a} == {b}", f"{a} == {x} + 1", f"{x} + {y} >= 1",
            f"{a} | {b}", f"{a} | {b} + {x}", f"{x} * {a} <= {b}", f"({x} - {y})//2 >= 1", f"({a} - {x})//2 <= {y}",
            f"{a} * ({x} - {y}) <= 4", f"{x}//{a} <= 1",
        ]  # fmt: skip
        return rng.choice(forms)


def edge_template(rng: random.Random) -> Drawn:
    """A plan with one entry `t`: one of the other generators, edited one to three times."""
    drawn = (wide_template if rng.random() < 0.7 else random_template)(rng)
    edited = _opened(rng, drawn)
    told = [drawn.changed] if drawn.changed else []
    told += [_edit(edited) for _ in range(rng.choice((1, 1, 2, 3)))]
    edited.assume += [edited.relation() for _ in range(rng.choice((0, 1, 1, 2)))]
    if edited.chance(0.1):
        told.append(_enlarged(edited))
    return Drawn(_written(edited), (*edited.axes, *edited.free), "; ".join(told))


def _opened(rng: random.Random, drawn: Drawn) -> _Edited:
    """The plan in lines; its relations and its free symbols apart, two more of them that may be 0."""
    lines: list[str] = []
    axes: list[str] = []
    free: list[str] = []
    assume: list[str] = []
    room = ""
    ranges: dict[str, str] = {}
    for line in drawn.text.splitlines():
        if line.startswith("["):
            room = line
        found = _DECLARED.match(line)
        if line.startswith("assume"):
            assume = re.findall(r'"([^"]*)"', line)
        elif found and room in ("[axes]", "[free]"):
            (axes if room == "[axes]" else free).append(found["name"])
            ranges[found["name"]] = found["range"]
        else:
            lines.append(line)
    for name in ("X", "Y"):
        if name not in ranges:
            multiple = rng.choice(("", "", ", multiple_of = 2", ", multiple_of = 8"))
            free.append(name)
            ranges[name] = f"min = 0, max = {rng.choice((1, 4, 16, 64))}{multiple}"
        elif rng.random() < 0.5:
            ranges[name] = re.sub(r"min = \d+", "min = 0", ranges[name])
    if "K" in ranges and rng.random() < 0.4:
        ranges["K"] = ranges["K"].replace("min = 1", "min = 0")
    one = _Edited(rng, lines, axes, free, assume)
    one.lines = _with_declarations(lines, axes, free, ranges)
    return one


def _with_declarations(lines: list[str], axes: list[str], free: list[str], ranges: dict[str, str]) -> list[str]:
    out = []
    for line in lines:
        if line == "[free]":
            continue
        out.append(line)
        if line == "[axes]":
            out += [f"{name} = {{ {ranges[name]} }}" for name in axes]
            out += ["[free]", *(f"{name} = {{ {ranges[name]} }}" for name in free)]
    return out


def _written(edited: _Edited) -> str:
    head = [line for line in edited.lines if not line.startswith("assume")]
    if edited.assume:
        head.insert(2, f"assume = [{', '.join(f'{chr(34)}{one}{chr(34)}' for one in edited.assume)}]")
    return "\n".join(head) + "\n"


# ---------------------------------------------------------------- edits


def _edit(edited: _Edited) -> str:
    rng = edited.rng
    sides = [(at, found) for at, line in enumerate(edited.lines) if (found := _SIDE.match(line))]
    pairs = [(one, other) for one, other in pairwise(sides) if one[1]["word"] == "read"]
    if pairs and rng.random() < 0.55:
        return _keep(edited, *rng.choice(pairs))
    if sides and rng.random() < 0.8:
        return _harm(edited, *rng.choice(sides))
    return _moved(edited)


def _keep(edited: _Edited, read: tuple[int, re.Match[str]], write: tuple[int, re.Match[str]]) -> str:
    """One that leaves a right plan right, at the sizes at which its number may stand there."""
    rng = edited.rng
    kind = rng.randrange(4)
    sides = [_parts(found) for _, found in (read, write)]
    told = ""
    if kind == 0:  # a loop backwards on both sides
        at = rng.randrange(len(sides[0][0]))
        for entries, base in sides:
            if at >= len(entries) or not base:
                return "nothing"
            count, stride = entries[at]
            entries[at][1] = f"-({stride})"
            base[0] = f"{base[0]} + (({count}) - 1)*({stride})"
        told = f"loop {at} backwards"
    elif kind == 1:  # a loop that runs once, with any strides
        where = rng.randrange(len(sides[0][0]) + 1)
        for entries, _ in sides:
            entries.insert(min(where, len(entries) - 1), ["1", edited.zero()])
        told = "a loop of one turn"
    elif kind == 2:  # a loop that writes the same again, unless it runs once
        more = edited.zero()
        count = rng.choice((more, f"({more}) + 1", f"({more})"))
        for entries, _ in sides:
            entries.insert(0, [count, "0"])
        told = f"a loop of {count} turns"
    else:  # one loop cut in two
        at = rng.randrange(max(1, len(sides[0][0]) - 1))
        cut = rng.choice((*edited.axes, *edited.free, "2"))
        for entries, _ in sides:
            if at >= len(entries):
                return "nothing"
            count, stride = entries[at]
            entries[at : at + 1] = [[f"({count})/{cut}", f"({stride})*{cut}"], [cut, stride]]
        told = f"loop {at} cut by {cut}"
    for (line, found), (entries, base) in zip((read, write), sides, strict=True):
        edited.lines[line] = _side_text(found, entries, base)
    return told


def _harm(edited: _Edited, line: int, found: re.Match[str]) -> str:
    """A number of one side with another that is the same at some sizes."""
    rng = edited.rng
    entries, base = _parts(found)
    more = edited.zero()
    kind = rng.randrange(6)
    entry = rng.choice(entries)
    if kind == 0 and base:
        base[0] = f"{base[0]} + {more}"
    elif kind == 1:
        entry[0] = f"({entry[0]}) + ({more})"
    elif kind == 2:
        entry[0] = f"({entry[0]})*(({more}) + 1)"
    elif kind == 3:
        entry[1] = f"({entry[1]}) + ({more})"
    elif kind == 4:
        entry[1] = f"({entry[1]})*(({more}) + 1)"
    else:
        entry[1] = f"-({entry[1]})"
    edited.lines[line] = _side_text(found, entries, base)
    return f"{found['word']} with {more}"


def _moved(edited: _Edited) -> str:
    """The whole of one side elsewhere: its region, and the base of each of its commands."""
    rng = edited.rng
    word, role = rng.choice((("read", "source = "), ("write", "dest = ")))
    more = edited.zero()
    lines = edited.lines
    for at, line in enumerate(lines):
        if line.startswith(role) and (found := _BASE.search(line)):
            lines[at] = f'{line[: found.start()]}base = "{found["base"]} + 8*({more})"{line[found.end() :]}'
        side = _SIDE.match(line)
        if side and side["word"] == word and side["at"]:
            entries, base = _parts(side)
            lines[at] = _side_text(side, entries, [f"{base[0]} + 8*({more})"])
    return f"{role}moved by {more}"


def _enlarged(edited: _Edited) -> str:
    """Ranges that reach far, so that products come near 2^63."""
    most = edited.rng.choice((1 << 20, 1 << 31, 1 << 40, 1 << 58))
    name = edited.rng.choice((*edited.axes, *edited.free))
    at = next(at for at, line in enumerate(edited.lines) if line.startswith(f"{name} = {{"))
    edited.lines[at] = re.sub(r"max = \d+", f"max = {most}", edited.lines[at])
    return f"{name} up to {most}"


def _parts(found: re.Match[str]) -> tuple[list[list[str]], list[str]]:
    entries = [one.split(":") for one in found["entries"].split(", ")]
    return [[count, stride] for count, stride in entries], [found["base"]] if found["at"] else []


def _side_text(found: re.Match[str], entries: list[list[str]], base: list[str]) -> str:
    texts = ", ".join(f"{count}:{stride}" for count, stride in entries)
    at = f" @({base[0]})" if base else ""
    return f'{found["word"]} = "[{texts}]:{found["packet"]}{at}"'
