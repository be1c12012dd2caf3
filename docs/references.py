"""The reference of the languages: mappings with their cells, configuration texts, PTO and iDMA forms, examples of keys.

Knows: which texts show what; where the examples lie. Does not know: Sphinx, how anything is read.
Law: every cell, number and operand is what the tool's own readers say of the text beside it; every example of a key
stands in a plan that ships and is checked.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
SHOWN = 12  # cells of a drawing

OPERATORS: tuple[tuple[str, str, str, dict[str, int], str], ...] = (
    ("Symbol", "an axis", "A", {"A": 4}, "every index of the axis, in order"),
    ("Pair", "`A, B`", "A, B", {"A": 2, "B": 3}, "outer to inner: the last term runs fastest"),
    ("Stride", "`A / k`", "A / 2", {"A": 8}, "every k-th index: which block of k; k divides the size"),
    ("Modulo", "`A % k`", "A % 4", {"A": 8}, "the first k indices: where within a block of k; k divides the size"),
    ("Padding", "`A # n`", "A # 6", {"A": 4}, "up to n positions, the rest padding that holds anything (Top)"),
    ("Padding", "`A #{0} n`", "A #{0} 6", {"A": 4}, "padding that must be zero (Zero)"),
    ("Padding", "`A #{!} n`", "A #{!} 6", {"A": 4}, "padding that nobody may touch (Bottom)"),
    ("Padding", "`A + k#`", "A + 1#", {"A": 3}, "k positions of padding behind, as the documents write it"),
    ("Resize", "`A = n`", "A = 3", {"A": 4}, "exactly n positions: cuts, or adds positions without a cell"),
    ("Drop", "`A @ k`", "A @ 2", {"A": 4}, "without the first k positions"),
    ("Broadcast", "a number", "A, 3", {"A": 2}, "as many positions with the same cell"),
    ("Broadcast", "`A * k`", "A * 2", {"A": 3}, "each position k times, as the documents write it"),
    ("Window", "`$(A:n, B:m)`", "$(A:2, B:1)", {"A": 2, "B": 2}, "parts with the distance of one step of each"),
    ("let", "`let A' = ... in ...`", "let A' = A # 4 in A' / 2", {"A": 3}, "a name for a mapping"),
    ("group", "brackets", "(A, B) % 3", {"A": 2, "B": 3}, "operators bind the whole bracket; they read left to right"),
    ("group", "chains", "A # 8 / 4", {"A": 6}, "left to right: pad first, then cut"),
)
"""Constructor, how it is written, an example with its axes, what it says."""

CONFIGURATIONS = (
    ("[B=8:256, A=64:2048, C=256:1]:256 HBM/D@0", "labels end at the last `=`; count, stride; behind `:` the packet"),
    ("[8:256, 64:slice_stride, 256:1]:256 DM/D@0", "labels may be left out; `slice_stride` is 4 MiB: the next slice"),
    ("[A=4:0, C=256:1]:256 HBM/D@(1 * 2^20 + 3 * 2^18)", "stride 0 stays: a broadcast; numbers may be computed"),
    ("[A=4:-256, C=256:1]:256 HBM/D@768", "strides may be negative"),
    ("[A->4:256, C->256:1]:256 SPM/D@64", "`->` as some pages of the documents print it"),
)
"""Texts of one side, each read by the tool's own reader."""


def mapping_page() -> str:
    """The mapping language: every operator with its cells drawn."""
    from dmaverify.jobs.requests import cell_text, cells_json

    parts = [
        "# The mapping language\n",
        "A mapping says which element of a tensor each position of a memory, or of a stream, holds. It is the text",
        "within `m![...]`, and of `element`, `slice`, `time`, `packet` in plans. `dmaverify cells EXPR --axes A=8`",
        "draws it. In the drawings `~` is padding that may hold anything, `0` padding that must be zero, `!` padding",
        "that nobody may touch.\n",
    ]
    for _, written, text, axes, says in OPERATORS:
        drawn, _ = cells_json(text, axes, False, 0, SHOWN)
        words = [_short(cell_text(cell)) for cell in drawn["cells"]]
        sizes = ", ".join(f"{axis} = {size}" for axis, size in axes.items())
        parts.append(f"## {written}\n\n{says}.\n\n```text\n{text}    ({sizes}; {drawn['size']} positions)\n")
        parts.append(_boxes(words) + "\n```\n")
    parts.append("An index beyond the size of its axis is padding.\n")
    return "\n".join(parts)


def _short(said: str) -> str:
    words = {"top padding": "~", "zero padding": "0", "bottom padding": "!", "(live, no coordinate)": "live"}
    return words.get(said, said.replace(" = ", "").replace(", ", " "))


def _boxes(words: list[str]) -> str:
    wide = max(len(word) for word in words)
    line = "+" + "+".join("-" * (wide + 2) for _ in words) + "+"
    numbers = " ".join(f"{number:^{wide + 2}}" for number in range(len(words)))
    return f" {numbers}\n{line}\n|" + "|".join(f" {word:^{wide}} " for word in words) + f"|\n{line}"


def configuration_page() -> str:
    """Configuration texts of sequencers, PTO copies and iDMA forms."""
    parts = ["# Configuration texts\n", "What a plan prints for the hardware, in bytes unless `unit` says otherwise.\n"]
    parts.append("## Sequencers (RNGD): `read`, `write`, `config`\n")
    parts.append("```text\n[ LABEL=COUNT:STRIDE, ... ]:PACKET MEDIUM@BASE\n```\n")
    for text, says in CONFIGURATIONS:
        parts.append(f"{says}:\n\n```text\n{text}\n{_entries(text)}\n```\n")
    parts += ["A `sequencer` holds both sides in one text, `COUNT:(READ, WRITE)`. Both sides move the same amount.\n"]
    parts += ["## Copies (PTO)\n", "Operands in order; loops are in registers (`copy_*`) or in the text (`mte_*`).\n"]
    parts += list(_copies())
    parts += ["## Commands (iDMA): `commands`\n", "The first line names the form; each is in a plan that ships.\n"]
    parts += list(_forms())
    return "\n".join(parts)


def _entries(text: str) -> str:
    from dmaverify.errors import Source
    from dmaverify.plan.config import parse_config
    from dmaverify.targets.target import load_target

    read = parse_config(text, source=Source("<reference>", text), constants=load_target("rngd").constants)
    rows = [f"  {entry.label or '-':<4}{entry.count:>6,} times, {entry.stride:>10,} apart" for entry in read.entries]
    return "\n".join([*rows, f"  packets of {read.packet:,}, {read.tier} from {read.base:,} on"])


def _copies() -> Iterator[str]:
    from dmaverify.machines.pto.roles import COPY_ROLES, INLINE_ROLES

    yield "| operation | what | operands |\n|---|---|---|"
    for name, (kind, operands) in {**COPY_ROLES, **INLINE_ROLES}.items():
        yield f"| `{name}` | {kind} | {', '.join(f'`{one}`' for one in operands)} |"
    yield ""
    for name in ("blocks.registers.mlir", "blocks.inline.mlir"):
        text = (EXAMPLES / "pto" / name).read_text(encoding="utf-8").rstrip()
        yield f"`examples/pto/{name}`:\n\n```text\n{text}\n```\n"


def forms_shown() -> dict[str, str]:
    """For each iDMA form the commands of a plan that ships."""
    found: dict[str, str] = {}
    for file in sorted(EXAMPLES.rglob("*.toml")):
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        for table in data.get("transfer", {}).values() if isinstance(data.get("transfer"), dict) else ():
            text = table.get("commands", "") if isinstance(table, dict) else ""
            if text.strip():
                found.setdefault(text.split()[0], text.strip())
    return found


def _forms() -> Iterator[str]:
    for name, text in sorted(forms_shown().items()):
        yield f"### {name}\n\n```text\n{text}\n```\n"


# ---------------------------------------------------------------- keys of plans


def key_examples() -> dict[tuple[str, str], tuple[str, str]]:
    """For each key of each table of the schema, a line of a plan that ships and the name of that plan."""
    from msgspec import inspect as kinds

    from dmaverify.plan.schema import PlanTable

    found: dict[tuple[str, str], tuple[str, str]] = {}
    whole = kinds.type_info(PlanTable)
    for file in sorted(EXAMPLES.rglob("*.toml"), key=lambda path: (len(path.parts), path.as_posix())):
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        if data.get("schema") == 1:
            _walk(data, whole, file.relative_to(ROOT).as_posix(), found)
    return found


def _walk(value: Any, kind: Any, file: str, found: dict[tuple[str, str], tuple[str, str]]) -> None:
    from msgspec import inspect as kinds

    while isinstance(kind, kinds.Metadata):
        kind = kind.type
    if isinstance(kind, kinds.UnionType):
        for one in kind.types:
            _walk(value, one, file, found)
    elif isinstance(kind, kinds.StructType) and isinstance(value, dict):
        for field in kind.fields:
            if field.encode_name in value:
                inside = value[field.encode_name]
                name = kind.cls.__name__.removesuffix("Table").lower()
                found.setdefault((name, field.encode_name), (_line(field.encode_name, inside), file))
                _walk(inside, field.type, file, found)
    elif isinstance(kind, kinds.DictType) and isinstance(value, dict):
        for inside in value.values():
            _walk(inside, kind.value_type, file, found)
    elif isinstance(kind, kinds.ListType) and isinstance(value, list):
        for inside in value:
            _walk(inside, kind.item_type, file, found)


def _line(key: str, value: Any) -> str:
    text = _toml(value).replace("\n", "\\n")
    return f"{key} = {text}" if len(text) <= 60 else f"{key} = {text[:57]}..."


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def whole_examples() -> str:
    """Gathers, programs and tables in full."""
    parts = ["## Whole plans\n", "Each is checked by the tests as it stands.\n"]
    for name in ("start/gather.toml", "start/program.toml", "programs/views.toml", "start/idma.toml", "start/pto.toml"):
        text = (EXAMPLES / name).read_text(encoding="utf-8").rstrip()
        parts.append(f"### examples/{name}\n\n```toml\n{text}\n```\n")
    return "\n".join(parts)
