"""Moves as the text of a plan file.

Knows: the tables of a plan file, which keys can be left out, how texts and names are quoted.
Does not know: how a move or its commands came about, whether they are right.
Law: reading the text gives the same axes and the same transfers back (tests/synth/test_plan_text.py).

Source: the plan file format, `schema = 1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dmaverify.language.expr import ONE, axes_of
from dmaverify.lower.text import sequencer_text
from dmaverify.program.command import Command, Entry, GivenCommand, Sequencer
from dmaverify.program.move import Stream, Transfer
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.targets.target import Target
from dmaverify.values import replace


def plan_head(moves: Sequence[Transfer], axes: Mapping[str, int]) -> list[str]:
    """The lines above the tables of some moves: the schema, the machine, the axes that are given and those named."""
    named = dict(axes)
    for move in moves:
        own = [move.source.mapping, move.dest.mapping, *([move.stream.mapping] if move.stream is not None else [])]
        for mapping in own:
            named.update(axes_of(mapping))
    lines = ["schema = 1", f"target = {_text(moves[0].target)}", "", "[axes]"]
    return lines + [f"{toml_key(name)} = {size}" for name, size in named.items()]


def given_command(command: Command, target: Target) -> GivenCommand:
    """A command as plan files print it: its own words, with the whole place in its bases."""
    sides = []
    for reads, text, port in ((True, command.read_text, command.read), (False, command.write_text, command.write)):
        if text is None:
            loops = tuple(Entry(x.count, x.read if reads else x.write, x.label) for x in command.loops)
            text = Sequencer((*loops, Entry(command.burst, 1)), 1)
        parts = {"chip": port.chip, "cluster": port.cluster}
        place = tuple(parts.get(part, 0) for part in target.tiers[port.tier].base_parts)
        sides.append(replace(text, tier=port.tier, base=port.base, place=place))
    return GivenCommand(command.engine, sides[0], sides[1])


def transfer_lines(
    move: Transfer, commands: Sequence[GivenCommand], constants: Mapping[str, int], unit_bits: int, unit: str = ""
) -> list[str]:
    """The tables of one move and its printed commands, which count in units of `unit_bits`; `unit` is the key of that
    name.
    """
    lines = ["", f"[transfer.{move.name}]", f"dtype  = {_text(move.dtype)}"]
    lines += [f"unit   = {_text(unit)}"] if unit else []
    lines += [f"source = {tensor_table(move.source)}", f"dest   = {tensor_table(move.dest)}"]
    if move.stream is not None:
        lines.append(f"stream = {_stream(move.stream)}")
    if move.options:
        said = (f"{name} = {_text(v) if isinstance(v, str) else v}" for name, v in move.options)
        lines.append("options = { " + ", ".join(said) + " }")
    if move.limits:
        lines.append("limits = { " + ", ".join(f"{name} = {value}" for name, value in move.limits) + " }")
    for one in commands:
        lines += ["", f"[[transfer.{move.name}.command]]"] if len(commands) > 1 else []
        lines += _command(one, constants, unit_bits)
    return lines


def tensor_table(tensor: Tensor) -> str:
    """The inline table of a tensor."""
    starts = {"chip": tensor.at_chip, "cluster": tensor.at_cluster, "slice": tensor.at_slice}
    base = str(tensor.base)
    if any(starts.values()):
        parts = [*((name, start) for name, start in starts.items() if start), ("element", tensor.base)]
        base = f"{{ {', '.join(f'{name} = {start}' for name, start in parts)} }}"
    fields = [(place, tensor.field(place)) for place in PLACES]
    texts = [f"{place} = {_text(str(expr))}" for place, expr in fields if expr != ONE or place == "element"]
    return "{ " + ", ".join([f"tier = {_text(tensor.tier)}", f"base = {base}", *texts]) + " }"


def _stream(stream: Stream) -> str:
    fields = [(n, getattr(stream, n)) for n in ("chip", "cluster", "slice", "time", "packet")]
    return "{ " + ", ".join(f"{n} = {_text(str(e))}" for n, e in fields if e != ONE or n in ("time", "packet")) + " }"


def _command(one: GivenCommand, constants: Mapping[str, int], unit_bits: int) -> Iterator[str]:
    if one.engine is not None:
        yield f"engine = {{ chip = {one.engine.chip}, cluster = {one.engine.cluster}, dmn = {one.engine.dmn} }}"
    for side, text in (("read", one.read), ("write", one.write)):
        yield f"{side:6} = {_text(sequencer_text(text, constants, unit_bits, text.place))}"


def _text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def toml_key(name: str) -> str:
    """A name as a key of TOML: with quotes where it has other signs than letters, digits, `_` and `-`."""
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else _text(name)
