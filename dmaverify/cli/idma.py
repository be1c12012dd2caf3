"""What `bursts` does between arguments and text.

Knows: the forms in which a request may come, engines by `NAME=VALUE`, one line in and one line out.
Does not know: the terminal, exit codes.
Law: an answer is a pure function of its line, or of the file and the options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError, typed
from dmaverify.machines.idma.columns import copy_of_row, descriptor_of_row, request_of
from dmaverify.machines.idma.engine import Backend, Request, refusal
from dmaverify.machines.idma.legalizer import MOST_LISTED, burst_count, legalize
from dmaverify.machines.idma.nd import starts
from dmaverify.machines.idma.path import piece_count, pieces
from dmaverify.machines.idma.setup import Setup, engine_options
from dmaverify.report.idma import Shown, bursts_data, bursts_json, bursts_text
from dmaverify.values import replace

if TYPE_CHECKING:
    from dmaverify.machines.idma.text import Image, ToldDescriptor
    from dmaverify.plan.plan import PlanTransfer
    from dmaverify.synth.result import Synthesis
    from dmaverify.targets.target import Target

Named = tuple[str, Setup, int, Iterator[Request]]
"""Name, engine, how many 1D transfers, and these."""


MOST_PIECES = 1 << 12  # of one 1D transfer through mp_split and mp_dist, all of which are shown
MOST_DESCRIPTORS = 64  # of a file whose bursts are shown; the others are counted


def bursts_request(row: Mapping[str, Any]) -> str:
    """One line of `bursts --stdin`, as the JSON text of its answer. Raises InputError.

    A row with `dim0` is an ND request (the columns of an ND table): its answer lists `transfers`, source and
    destination of each.
    """
    if "dim0" in row:
        descriptor, width = descriptor_of_row(row)
        return f'{{"transfers": {starts(descriptor, width).tolist()}}}'
    backend, request = request_of(row)
    if request.length > MOST_LISTED and max(burst_count(backend, request)) > MOST_LISTED:
        many = burst_count(backend, request)
        raise InputError(f"{many[0]:,} read and {many[1]:,} write bursts", None, f"up to {MOST_LISTED:,} are listed")
    return bursts_json(legalize(backend, request))


def copy_cost(row: Mapping[str, Any]) -> dict[str, Any]:
    """One line of `cost --stdin` with `frag`: the cycles of a copy in fragments (the columns of a cycle table). Raises
    InputError.
    """
    from dmaverify.machines.idma.decoupled import copied
    from dmaverify.machines.idma.law import Depth, Totals, bounds, fragments, utilization

    backend, memory, src, dst, total, size = copy_of_row(row)
    runs, depth = fragments(backend, src, dst, total, size), Depth.of(backend, memory)
    cycles = copied(backend, memory, (src, dst, total), size)
    terms = bounds(Totals.of(runs), depth)
    return {
        "cycles": cycles,
        "profile": "rtl-0.7.0",
        "terms": [{n: getattr(t, n) for n in ("name", "cycles", "resource", "why", "source")} for t in terms],
        "exact": True,
        "utilization": utilization(total, backend.word, cycles),
    }


def bursts_shown(
    path: str, engine: Sequence[str], dims: int | None, limit: int, wire: bool, as_json: bool
) -> str | list[dict[str, Any]]:
    """The bursts of a file as text or data. Raises InputError, InputErrors."""
    shown: list[Shown] = []
    held = left = cut = 0
    for name, setup, count, requests in _requests(path, engine_options(engine), dims):
        held += 1
        if held > MOST_DESCRIPTORS and not as_json:
            left += count
            continue
        for number, request in enumerate(islice(requests, limit)):
            refused = refusal(setup.backend, request)
            if refused is not None:
                raise InputError(f"{name}: {refused.message}", None, refused.hint)
            many = piece_count(setup, request)
            if many > MOST_PIECES and setup.region is not None:
                cut += many - limit
                request = replace(request, length=limit * setup.region.width)
            for owner, piece in pieces(setup, request):
                one = _shown(name, number, count, setup.backend, piece)
                shown.append(one if setup.region is None else replace(one, owner=owner))
    if not held:
        raise InputError(f"{path} has no transfer", None, "bursts are those of transfers of an engine: `transfer.NAME`")
    if as_json:
        return [bursts_data(one, wire) for one in shown] + ([{"more_pieces": cut}] if cut else [])
    text = bursts_text(shown, wire)
    if cut:
        text += f"\n\n... {cut:,} more pieces of back-ends"
    if held > MOST_DESCRIPTORS:
        text += f"\n\n... {held - MOST_DESCRIPTORS:,} more descriptors of {left:,} transfers"
    return text


def _shown(name: str, number: int, count: int, backend: Backend, request: Request) -> Shown:
    many = burst_count(backend, request) if request.length else (0, 0)
    if max(many) > MOST_LISTED:
        return Shown(name, number, count, backend, request, None, many)
    return Shown(name, number, count, backend, request, legalize(backend, request))


def _requests(path: str, options: Mapping[str, int | str], dims: int | None) -> Iterator[Named]:
    file, _, name = path.partition("::")
    if file.endswith(".toml"):
        if dims is not None:
            raise InputError(f"--dims is for job files: {file} is a plan", None, "leave it out")
        return _of_plan(path, options)
    if name:
        raise InputError(
            f"`::{name}` names nothing: {file} is shown as a whole", None, f"dmaverify bursts {typed(file)}"
        )
    if file.endswith((".rs", ".mlir", ".pto", ".c", ".h", ".csv", ".jsonl")):
        hint = "bursts are shown of plans, job files and images; `dmaverify check` judges what this is"
        raise InputError(f"{file} is no job file and no image", None, hint)
    return _of_image(file, options, dims)


def image_at(
    file: str, options: Mapping[str, int | str], dims: int | None
) -> tuple[Image, Iterator[tuple[ToldDescriptor, Setup]]]:
    """The descriptors of a job file or an image, and each with its engine. Raises InputError."""
    from dmaverify.language.toml_spans import read_source
    from dmaverify.machines.idma.check import image_of_file
    from dmaverify.machines.idma.items import setup_for
    from dmaverify.machines.idma.setup import setup_of
    from dmaverify.targets.target import load_target

    target = load_target("idma")
    image = image_of_file(read_source(file), dims, setup_of(target, options) if options else None)
    return image, ((told, setup_for(told, target, options)) for told in image.told)


def _of_image(file: str, options: Mapping[str, int | str], dims: int | None) -> Iterator[Named]:
    from dmaverify.machines.idma.nd import requests

    for number, (told, setup) in enumerate(image_at(file, options, dims)[1]):
        width = setup.backend.address_width
        yield f"descriptor {number}", setup, told.descriptor.transfers, requests(told.descriptor, width)


def bus_of(item: PlanTransfer, target: Target, options: Mapping[str, int | str]) -> Setup:
    """The engine of a transfer. Raises InputError for a machine whose moves no bus sees."""
    from dmaverify.machines.idma.setup import setup_of_commands
    from dmaverify.targets.modules import module_name

    if module_name(target) != "idma":
        said = f"`{item.name}` is a move of {target.name}, which has no bursts"
        raise InputError(said, item.transfer.span, 'those of iDMA have: target = "idma"')
    return setup_of_commands(target, item.transfer, options)


def _of_plan(path: str, options: Mapping[str, int | str]) -> Iterator[Named]:
    from dmaverify import api
    from dmaverify.machines.idma.price import Requests

    plan = api.load(path)
    for item in plan.transfers:
        transfer = item.transfer
        target = plan.targets[transfer.target]
        setup = bus_of(item, target, options)
        commands = api.program_of(plan, item.name)
        found = Requests(setup, commands)
        yield item.name, setup, found.count, (replace(r, last=False) for r in found.requests())


def utilization_shown(
    engine: Sequence[str], total: int, output: str | None, as_json: bool
) -> str | list[dict[str, Any]]:
    """The sweep as a table or data; drawn as well where a file is named. Raises InputError."""
    from dataclasses import asdict

    from dmaverify.machines.idma.area import gates
    from dmaverify.machines.idma.decoupled import is_measured
    from dmaverify.machines.idma.law import protocol_of
    from dmaverify.machines.idma.price import memory_of
    from dmaverify.machines.idma.setup import setup_of
    from dmaverify.machines.idma.sweep import SYSTEMS, sweep
    from dmaverify.report.idma_picture import save_sweep, sweep_table
    from dmaverify.targets.target import load_target

    given = engine_options(engine)
    setup = setup_of(load_target("idma"), given)
    own = any(name.startswith("memory") for name in given)
    memories = [memory_of(setup)] if own else SYSTEMS
    points = sweep(setup.backend, total=total, memories=memories, decoupled=setup.request.decouple_rw)
    if output is not None:
        save_sweep(points, setup.backend, Path(output))
    area = {n: gates(replace(setup.backend, ax_in_flight=n)) for n in dict.fromkeys(p.outstanding for p in points)}
    if as_json:
        return [{**asdict(point), "gates": round(area[point.outstanding])} for point in points]
    sizes = ", ".join(f"{n}: {found / 1000:.1f}" for n, found in area.items())
    enough: dict[str, str] = {}
    for point in points:
        if point.fragment == 4 * setup.backend.word and point.share >= 0.98:
            enough.setdefault(point.memory, f"{point.outstanding} ({area[point.outstanding] / 1000:.1f} kGE)")
    reached = ", ".join(f"{name} {enough.get(name, 'not reached')}" for name in dict.fromkeys(p.memory for p in points))
    said = f"back-end in kGE by requests in flight (iDMA paper, Table 4, within 9 %): {sizes}"
    ports = setup.backend.variant
    if not is_measured(protocol_of(ports.reads), protocol_of(ports.writes)):
        said = f"the law is measured on RTL for AXI and OBI alone: here it is a reading\n{said}"
    said += f"\nrequests in flight for 98 % in fragments of four bus words: {reached}"
    return f"{sweep_table(points)}\n{said}" + (f"\nwrote {output}" if output is not None else "")


def emitted(result: Synthesis, form: str) -> str:
    """The descriptors of a synthesis in a form, read back and proved. Raises InputError."""
    from dmaverify.machines.idma.emit import emitted as written
    from dmaverify.targets.modules import module_name

    if result.copies is not None:
        hint = "--output PLAN writes the kernel, `dmaverify emit` its other forms: inline, registers, words"
        raise InputError(f"copies have no form `{form}` of a search", None, hint)
    if module_name(result.target) != "idma":
        raise InputError(f"{result.target.name} has no forms to emit", None, "leave --emit out")
    return written(result.transfer, result.target, result.axes, result.commands, form)


def emitted_plan(path: str, form: str) -> str:
    """The commands of a plan's transfers in a form, read back and proved. Raises InputError, InputErrors."""
    from dmaverify import api
    from dmaverify.jobs.load import run_of
    from dmaverify.jobs.plan_copies import emitted_copies, goes_by_copies
    from dmaverify.machines.idma.emit import emitted as written
    from dmaverify.targets.modules import module_name

    plan = api.load(path)
    out = []
    for item in plan.transfers:
        transfer, target = item.transfer, plan.targets[item.transfer.target]
        if goes_by_copies(transfer, target):
            out.append(emitted_copies(plan, item.name, form))
        elif module_name(target) == "idma":
            out.append(written(transfer, target, plan.axes, run_of(plan, item.name), form))
        else:
            hint = f"`dmaverify derive {typed(path)}` shows its commands"
            raise InputError(f"{target.name} has no forms to emit", transfer.span, hint)
    if not out:
        kernels = [str(one.source.name) for one in plan.kernels]
        hint = f"emit {kernels[0]}" if kernels else "forms are those of transfers: [transfer.NAME]"
        raise InputError(f"{path} holds no transfer", None, hint)
    return "\n".join(out)
