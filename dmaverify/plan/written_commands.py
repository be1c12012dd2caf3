"""Commands as the document of a machine writes them: descriptors, or streams by engine.

Knows: which forms a text may have. Does not know: TOML, whether the commands are right.
Law: what a text says that is not the transfer's own is a problem of the plan, never dropped.

Source: the plan file format, `commands`; "DMA Engine" (Homogeneous Aggregate Operation).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dmaverify.errors import InputError
from dmaverify.language.toml_spans import Path
from dmaverify.lower.programs import space_of
from dmaverify.lower.shapes import stream_of_shape
from dmaverify.plan.commands import Homogeneous
from dmaverify.plan.machine_forms import merged_options
from dmaverify.plan.tables import TableReader
from dmaverify.program.access import PlanProblem
from dmaverify.program.command import GivenCommand
from dmaverify.program.form import Form
from dmaverify.program.move import EngineStream
from dmaverify.program.space import unit_bits_of
from dmaverify.program.tensor import Tensor
from dmaverify.targets.modules import Derived
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field

if TYPE_CHECKING:
    from dmaverify.plan import schema

MOST_PACKET = 4096  # bytes, where the target states no limit


@dataclass(frozen=True, slots=True)
class CommandsText:
    """What a text of commands says: descriptors, or streams by engine; and what in it is not the transfer's own."""

    given: tuple[GivenCommand, ...] = ()
    streams: tuple[EngineStream, ...] = ()
    problems: tuple[PlanProblem, ...] = ()
    options: Mapping[str, int | str] = field(default_factory=dict)
    facts: tuple[Derived, ...] = ()
    form: Form | None = None


def written_commands(
    reader: TableReader,
    path: Path,
    table: schema.TransferTable,
    options: Mapping[str, int | str],
    tensors: tuple[Tensor, Tensor],
    target: Target,
) -> CommandsText:
    """The commands that the text of `commands` writes, for a transfer from the first tensor to the second; `options`
    are those of its table, with the engine that they name.
    """
    text = str(table.commands)
    said = [key for key in ("read", "write", "sequencer", "engine", "command", "stream", "unit")
            if getattr(table, key) is not None and (*path, key) in reader.doc.keys]  # fmt: skip
    if said:
        raise InputError(f"`{said[0]}` beside `commands`", reader.doc.key_span((*path, said[0])), "keep one of them")
    place = (*path, "commands")
    bits = target.dtypes[table.dtype]
    formed = reader.texts.formed(place, text, target, unit_bits_of(bits), options)
    if formed is not None:
        span = reader.doc.span(place)
        merged, differ = merged_options(options, formed.options, span)
        problems = [PlanProblem(what, at or span, hint, False) for what, at, hint in formed.problems]
        problems += [PlanProblem(what, at or span, hint, False, cut_short=True) for what, at, hint in formed.failures]
        return CommandsText(formed.given, (), (*problems, *differ), merged, formed.facts, formed.form)
    found = reader.texts.commands(place, text, unit_bits_of(bits))
    if not isinstance(found, Homogeneous):
        return CommandsText(given=found)
    span = reader.doc.span(place)
    source, dest = tensors
    problems = [
        PlanProblem(
            f"the {role} of the command is not that of the transfer", written.span or span, "one move, one mapping"
        )
        for role, written, own in (("source", found.source, source), ("dest", found.dest, dest))
        if written != own
    ]
    if found.dtype != table.dtype:
        problems.append(PlanProblem(f"the command moves {found.dtype}, the transfer {table.dtype}", span, "one dtype"))
    spaces = (space_of(target, source.tier), space_of(target, dest.tier))
    most = target.limits.get("packet_max", MOST_PACKET)
    streams = tuple(
        EngineStream(engine, stream_of_shape(shape, source, dest, spaces, bits, most)) for engine, shape in found.shapes
    )
    return CommandsText(streams=streams, problems=tuple(problems))
