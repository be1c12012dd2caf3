"""Programs and regions of a plan file, and the streams that an aggregate has by engine.

Knows: steps by name or written in place, regions, cases over engines with i, j and k.
Does not know: TOML, how a transfer or an access is read (the plan reader does), whether a program is right.
Law: names that nothing in the plan has are errors at their place; a step without a name has that of what it does.

Source: the plan file format, `schema = 1`; "DMA Engine" (Heterogeneous Aggregate Operation, Example 6).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dmaverify.errors import InputError, did_you_mean
from dmaverify.language.toml_spans import Path
from dmaverify.program.access import Access, PlanProblem
from dmaverify.program.indirect import Indirect
from dmaverify.program.move import Transfer
from dmaverify.program.regions import Box, Region
from dmaverify.program.schedule import Program, Step, bodies_of
from dmaverify.program.views import Views
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace

if TYPE_CHECKING:
    from dmaverify.plan import schema
    from dmaverify.plan.entries import EntryReader
    from dmaverify.plan.plan import PlanTransfer
    from dmaverify.plan.tables import TableReader

T = TypeVar("T")


# ---------------------------------------------------------------- regions


def read_region(reader: TableReader, name: str, table: schema.RegionTable) -> Region:
    path = ("region", name)
    _, target = reader.target_of(path, table.target)
    if table.tier not in target.tiers:
        hint = did_you_mean(table.tier, target.tiers) or f"known: {', '.join(target.tiers)}"
        raise InputError(f"{target.name} has no tier `{table.tier}`", reader.doc.span((*path, "tier")), hint)
    first = (table.place.chip, table.place.cluster, table.place.slice)
    last = (first[0] + table.extent.chip, first[1] + table.extent.cluster, first[2] + table.extent.slice)
    for key in ("place", "extent"):
        for place in reader.given((*path, key)) - set(target.tiers[table.tier].places):
            hint = f"{table.tier} has {', '.join((*target.tiers[table.tier].places, 'element'))}"
            raise InputError(f"{table.tier} has no {place}", reader.doc.key_span((*path, key, place)), hint)
    return Region(
        name,
        Box(table.tier, first, last, table.base, table.base + table.size),
        None if table.lifetime is None else (table.lifetime[0], table.lifetime[1]),
        reader.doc.key_span(path),
        reader.doc.span((*path, "lifetime")) if table.lifetime is not None else None,
    )


# ---------------------------------------------------------------- programs


@dataclass(frozen=True, slots=True)
class Parts:
    """What the plan has that a program may name, as far as it could be read."""

    transfers: Mapping[str, PlanTransfer]
    accesses: Mapping[str, Access]
    regions: Mapping[str, Region]
    indirects: Mapping[str, Indirect]


def read_program(reader: EntryReader, name: str, table: schema.ProgramTable, parts: Parts) -> Program:
    path = ("program", name)
    key, target = reader.target_of(path, table.target)
    steps: list[Step] = []
    for index, step in enumerate(table.step):
        made = reader.collect(partial(_step, reader, path, index, step, parts))
        if made is not None:
            steps.append(made)
    if len(steps) == len(table.step):
        _check_steps(reader, path, table, steps)
        _check_regions(reader, path, table.regions, steps, parts.regions, key)
    for index, made in enumerate(steps):
        _same_machine(reader, (*path, "step", index), made, key)
    _contexts_apart(reader, path, steps)
    known = (*table.regions, *target.tiers)
    for said, names in (("holds", table.holds), ("empty", table.empty)):
        for at, one in enumerate(names):
            if one not in known:
                _unknown(reader, (*path, said, at), "region of this program or memory", one, known)
            elif said == "empty" and one in table.holds:
                message = f"`{one}` cannot hold what is read of it and be empty"
                reader.errors.append(InputError(message, reader.doc.span((*path, said, at)), "say one of the two"))
    used = tuple(parts.regions[one] for one in dict.fromkeys(table.regions) if one in parts.regions)
    return Program(
        name,
        key,
        tuple(steps),
        used,
        tuple(dict.fromkeys(table.holds)),
        table.order,
        reader.expectation(table.expect),
        tuple(_foreign_regions(used, target)),
        reader.doc.key_span(path).line,
        reader.doc.key_span(path),
        tuple(dict.fromkeys(table.empty)),
    )


def _step(reader: EntryReader, path: Path, index: int, table: schema.StepTable, parts: Parts) -> Step:
    here: Path = (*path, "step", index)
    span = reader.doc.key_span(here)
    said = [kind for kind in ("transfer", "access", "gather", "scatter") if getattr(table, kind) is not None]
    if len(said) != 1:
        raise InputError(
            "a step is either a transfer or an access", span,
            'write `transfer = "NAME"` or `access = "NAME"` (or `gather`, `scatter`)',
        )  # fmt: skip
    common: dict[str, Any] = {
        "context": table.context,
        "after": tuple(table.after),
        "earlier": tuple(table.earlier.items()),
        "reads": table.reads,
        "writes": table.writes,
        "span": span,
    }
    if said[0] in ("gather", "scatter"):
        one = _named(reader, (*here, said[0]), getattr(table, said[0]), said[0], parts.indirects)
        loops = tuple(reader.loops(here, table.loop).items())
        return Step(table.name or one.name, _in_loops(one.whole, loops), indirect=one, loops=loops, **common)
    if table.transfer is not None:
        inline = not isinstance(table.transfer, str)
        if isinstance(table.transfer, str):
            known = _named(reader, (*here, "transfer"), table.transfer, "transfer", parts.transfers)
        else:
            known = reader.transfer(table.name or f"step-{index}", table.transfer, (*here, "transfer"))
        name = table.name or known.name
        loops = _loops(reader, here, table, (known.transfer,))
        moved = _in_loops(known.transfer, loops)
        common["around"] = not inline and moved is not known.transfer
        return Step(name, moved, inline=inline, problems=known.problems, loops=loops, **common)
    if isinstance(table.access, str | list):
        names = [table.access] if isinstance(table.access, str) else table.access
        places = [
            (*here, "access", at) if isinstance(table.access, list) else (*here, "access") for at in range(len(names))
        ]
        found = tuple(_named(reader, p, n, "access", parts.accesses) for p, n in zip(places, names, strict=True))
        loops = _loops(reader, here, table, found)
        inside = tuple(_in_loops(one, loops) for one in found)
        common["around"] = inside != found
        return Step(table.name or "+".join(names), None, inside, loops=loops, **common)
    assert table.access is not None
    own = reader.access(table.name or f"step-{index}", table.access, (*here, "access"))
    loops = _loops(reader, here, table, (own,))
    inside = (_in_loops(own, loops),)
    return Step(table.name or own.name, None, inside, inline=True, loops=loops, **common)


def _loops(
    reader: TableReader, path: Path, table: schema.StepTable, works: Sequence[Transfer | Access]
) -> tuple[tuple[str, int], ...]:
    """The loops around a step: its own, or those of what it does; both must agree."""
    own = tuple(reader.loops(path, table.loop).items())
    for work in works:
        theirs = work.views.loops if work.views is not None else ()
        if theirs and own and theirs != own:
            shown = ", ".join(f"{name} = {count}" for name, count in theirs)
            raise InputError(
                f"`{work.name}` has loop {{ {shown} }}, the step another", reader.doc.span((*path, "loop")),
                "write it once, or alike",
            )  # fmt: skip
        own = own or theirs
    return own


W = TypeVar("W", Transfer, Access)


def _in_loops(work: W, loops: tuple[tuple[str, int], ...]) -> W:
    """What a step does, in the loops of the step: those are its own, as if it were written with them."""
    if not loops or (work.views is not None and work.views.loops):
        return work
    return replace(work, views=(work.views or Views()).around(loops))


def _named(reader: TableReader, path: Path, name: str, kind: str, known: Mapping[str, T]) -> T:
    if name in known:
        return known[name]
    declared = reader.doc.data.get(kind, {})
    hint = did_you_mean(name, declared) or (f"known: {', '.join(declared)}" if declared else f"write [{kind}.{name}]")
    if name in declared:
        hint = f"[{kind}.{name}] cannot be read"
    raise InputError(f"no {kind} `{name}`", reader.doc.span(path), hint)


def _check_steps(reader: TableReader, path: Path, table: schema.ProgramTable, steps: Sequence[Step]) -> None:
    """Every step that another names is there, and every region is one of the program's."""
    names, bodies = [step.name for step in steps], bodies_of(steps)
    for index, step in enumerate(steps):
        here: Path = (*path, "step", index)
        if names.index(step.name) != index:
            hint = "give one of them a `name` of its own"
            reader.errors.append(InputError(f"two steps are called `{step.name}`", reader.doc.key_span(here), hint))
        for at, other in enumerate(step.after):
            if other not in names:
                _unknown(reader, (*here, "after", at), "step", other, names)
        for other, _ in step.earlier:
            if other not in names:
                _unknown(reader, (*here, "earlier", other), "step", other, names)
            elif bodies[index] < 0 or bodies[names.index(other)] != bodies[index]:
                message = f"`{step.name}` and `{other}` are not in one loop: there is no iteration before"
                hint = "steps that stand in a row with the same `loop` are one; elsewhere write `after`"
                reader.errors.append(InputError(message, reader.doc.key_span((*here, "earlier", other)), hint))
        for key in ("reads", "writes"):
            region = getattr(step, key)
            if region is not None and region not in table.regions:
                _unknown(reader, (*here, key), "region of this program", region, table.regions)


def _check_regions(
    reader: TableReader,
    path: Path,
    listed: Sequence[str],
    steps: Sequence[Step],
    regions: Mapping[str, Region],
    machine: str,
) -> None:
    """Every region that a program lists is there, of its machine, and lives from a step to a step of it."""
    names = [step.name for step in steps]
    for at, name in enumerate(listed):
        if name in regions and reader.target_of(("region", name), reader.table.region[name].target)[0] != machine:
            message = f"region `{name}` is of another machine than the program, which is for {machine}"
            reader.errors.append(InputError(message, reader.doc.span((*path, "regions", at)), "name one of its own"))
        if name not in reader.table.region:
            _unknown(reader, (*path, "regions", at), "region", name, list(reader.table.region))
        elif name in regions:
            for end in regions[name].lifetime or ():
                if end not in names:
                    _unknown(reader, ("region", name, "lifetime"), f"step of {path[1]}", end, names)


def _unknown(reader: TableReader, path: Path, kind: str, name: str, known: Iterable[str]) -> None:
    known = list(known)
    hint = did_you_mean(name, known) or (f"known: {', '.join(known)}" if known else "the plan declares none")
    reader.errors.append(InputError(f"no {kind} `{name}`", reader.doc.span(path), hint))


def _same_machine(reader: TableReader, path: Path, step: Step, key: str) -> None:
    for work in (step.transfer, *step.accesses):
        if work is not None and work.target != key:
            message = f"`{work.name}` is for {work.target}, the program for {key}"
            reader.errors.append(InputError(message, reader.doc.key_span(path), "a program runs on one machine"))


def _contexts_apart(reader: EntryReader, path: Path, steps: Sequence[Step]) -> None:
    """A context of the unit that fetches and commits is none of DMA: nothing would run beside it. Its accesses run in
    the one that they declare, by whose rules they are judged, and a step of several in one.
    """
    for index, step in enumerate(steps):
        declared = [access.context for access in step.accesses]
        other = next((one for one in declared if one != (step.context or declared[0])), None)
        if other is not None:
            own: Path = (*path, "step", index)
            if step.context:
                message = f"`{step.name}` is an access of the context `{other}`, and no step gives it another one"
                found = InputError(message, reader.doc.span((*own, "context")), "write the context at the access")
            else:
                message = f"the accesses of `{step.name}` are of several contexts, which nothing makes run together"
                found = InputError(message, reader.doc.key_span(own), "write a step for each context")
            reader.errors.append(found)
    units = {access.context: step.name for step in steps for access in step.accesses}
    for index, step in enumerate(steps):
        if step.transfer is not None and step.context in units:
            message = f"`{step.context}` is a context of `{units[step.context]}`, and DMA has contexts of its own"
            hint = "name another one; `after` lets the transfer wait for the access"
            span = reader.doc.span((*path, "step", index, "context"))
            reader.errors.append(InputError(message, span, hint))


def _foreign_regions(regions: Iterable[Region], target: Target) -> Iterator[PlanProblem]:
    for region in regions:
        tier = target.tiers.get(region.box.tier)
        if tier is None and region.span is not None:
            yield PlanProblem(
                f"{target.name} has no tier `{region.box.tier}`", region.span, "name a tier of the program's target"
            )
