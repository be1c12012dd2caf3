"""Plans as the text of a plan file.

Knows: the plan file format, which keys can be left out. Does not know: how a plan was made, whether it is right.
Law: reading the text gives the same axes and the same transfer back.

Source: the plan file format, `schema = 1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dmaverify.language.expr import ONE, Expr
from dmaverify.plan.config_text import format_sequencer
from dmaverify.plan.texts import units
from dmaverify.program.command import Sequencer
from dmaverify.program.move import Transfer
from dmaverify.synth.result import tensor_table
from dmaverify.targets.target import Target
from dmaverify.values import replace


def plan_lines(axes: Mapping[str, int], transfer: Transfer, target: Target) -> Iterator[str]:
    """The lines of a plan of one transfer."""
    yield "schema = 1"
    yield f'target = "{transfer.target}"'
    yield "[axes]"
    yield from (f"{name} = {size}" for name, size in axes.items())
    yield f"[transfer.{transfer.name}]"
    yield f'dtype = "{transfer.dtype}"'
    unit = "elements" if target.dtypes[transfer.dtype] == 4 else "bytes"
    yield f'unit = "{unit}"'
    yield f"source = {tensor_table(transfer.source)}"
    yield f"dest = {tensor_table(transfer.dest)}"
    if transfer.stream is not None:
        keys = ("time", "packet", "chip", "cluster", "slice")
        yield f"stream = {_table((key, getattr(transfer.stream, key)) for key in keys)}"
    for one in transfer.given:
        yield f"[[transfer.{transfer.name}.command]]"
        if one.engine is not None:
            yield f"engine = {{ chip = {one.engine.chip}, cluster = {one.engine.cluster}, dmn = {one.engine.dmn} }}"
        yield f'read = "{_sequencer_text(one.read, target, transfer.dtype, unit)}"'
        yield f'write = "{_sequencer_text(one.write, target, transfer.dtype, unit)}"'


def _sequencer_text(text: Sequencer, target: Target, dtype: str, unit: str) -> str:
    counted = units(target, dtype, unit)
    bare = replace(text, entries=tuple(replace(e, label="") for e in text.entries))
    return format_sequencer(
        bare,
        element_units=counted["element_units"],
        byte_units=counted["byte_units"],
        unit=unit,
        media=counted["media"],
    )


def _table(fields: object) -> str:
    pairs: list[tuple[str, Expr]] = list(fields)  # type: ignore[call-overload]
    needed = [(name, expr) for name, expr in pairs if expr != ONE or name in ("time", "packet", "element")]
    return "{ " + ", ".join(f'{name} = "{expr}"' for name, expr in needed) + " }"
