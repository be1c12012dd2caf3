"""What `synth` and `cost` do between arguments and text: plans read, moves searched, results as data, certificates
written.

Knows: requests of `--stdin`, the files of a certificate, pictures and traces of priced programs.
Does not know: the terminal, exit codes of other commands, how moves are searched (`jobs.synthesis`).
Law: results come in the order of the file, whatever the number of processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmaverify.cli.rust import with_references
from dmaverify.errors import InputError
from dmaverify.jobs.synthesis import SynthSettings, answer_of, settings_of
from dmaverify.language.files import must_spare, write_text
from dmaverify.values import fields

if TYPE_CHECKING:
    from dmaverify.cost.constants import CostData
    from dmaverify.cost.model import Cost
    from dmaverify.jobs.many_moves import Told
    from dmaverify.plan.plan import Plan, PlanTransfer
    from dmaverify.program.command import Command
    from dmaverify.program.move import Transfer
    from dmaverify.synth.result import Synthesis


def plan_of_request(request: Mapping[str, Any]) -> Plan:
    """The plan of `{"plan": text}` or `{"path": ...}` with an optional name."""
    from dmaverify import api
    from dmaverify.jobs.requests import only_texts
    from dmaverify.plan.plan import select
    from dmaverify.plan.read import read_plan_text

    only_texts(request)
    text, path = request.get("plan"), request.get("path")
    if (text is None) == (path is None):
        raise InputError("give either `plan` (the text of a plan file) or `path`")
    if text is not None:
        return select(read_plan_text(text, target=request.get("target")), request.get("name"))
    return api.load(str(path), request.get("name"), target=request.get("target"))


def synth_request(request: dict[str, Any], base: SynthSettings) -> Any:
    """One line of `synth --stdin`: an object, or a list where the plan has several transfers."""
    from dmaverify.jobs.requests import only_known

    only_known(request, {"plan", "path", "name", "target", "layouts", *(f.name for f in fields(SynthSettings))})
    if request.get("layouts"):
        if "path" not in request:
            raise InputError("`layouts` is asked of a file: give `path`")
        from dmaverify.jobs.layouts import layouts_of

        file, name = str(request["path"]), request.get("name")
        return layouts_of(f"{file}::{name}" if name else file, settings_of(request, base)).as_data()
    plan, chosen = plan_of_request(request), settings_of(request, base)
    found = [answer_of(plan, name, chosen).as_data() for name in plan.move_names]
    return found[0] if len(found) == 1 else found


def code_of_reply(reply: Any) -> int:
    """The exit code of a line of `synth --stdin`: 1 where a move has no plan."""
    answers = reply if isinstance(reply, list) else [reply]
    return max((int("plan" in one and one["plan"] is None) for one in answers), default=0)


def synth_shown(answers: Sequence[Told], as_json: bool, form: str | None = None) -> str:
    """Answers as text, as JSON, or only their commands in a form of the machine's own."""
    from dmaverify.report.data import dumps

    if form is not None and all(one.whole is not None and one.code == 0 for one in answers):
        from dmaverify.cli.idma import emitted

        return "\n".join(emitted(one.whole, form) for one in answers)
    return dumps([one.data for one in answers]) if as_json else "\n\n".join(one.text for one in answers)


def synth_answers(
    paths: Sequence[str], settings: SynthSettings, workers: int, *, timings: bool, whole: bool
) -> tuple[list[Told], str]:
    """The answers for all moves of the paths, and what ended the work before its end; `whole`: each with what it was
    made of, in this process.
    """
    from dmaverify.jobs.many_moves import move_jobs, told_jobs

    return told_jobs(move_jobs(paths, settings, timings=timings), workers, whole=whole)


def layouts_shown(
    paths: Sequence[str], settings: SynthSettings, workers: int, as_json: bool, output: str | None
) -> tuple[str, int]:
    """Layouts for the tensors of files, as text or JSON, and the exit code: 2 where a file could not be read or priced.
    `output` receives the first proposal: the changed plan file, or for a kernel the diff; without one, exit code 1.
    """
    from dmaverify.jobs.layouts import layout_answers
    from dmaverify.report.data import dumps
    from dmaverify.report.layouts import layouts_text

    found = layout_answers(paths, settings, workers)
    proposals = [(one["path"], made) for one in found for made in one.get("proposals", ())]
    if output is not None and len(found) != 1:
        raise InputError(f"{len(found)} files, but one proposal to write", None, "name one: PATH")
    if output is not None and proposals:
        path, made = proposals[0]
        write_text(output, made["diff" if path.partition("::")[0].endswith(".rs") else "text"])
    text = dumps(found) if as_json else "\n\n".join(map(layouts_text, found))
    unwritten = output is not None and not proposals
    return text, 2 if any("error" in one for one in found) else 1 if unwritten else 0


# ---------------------------------------------------------------- certificates


def write_certificate(folder: Path, found: Synthesis, settings: SynthSettings | None = None) -> list[str]:
    """Plan and proof, bound with its counts and questions, scripts that ask and count again, sealed. Names of files."""
    if (many := found.transfer.iterations) > 1:
        said = f"a certificate is of one move, and this one is made {many:,} times"
        raise InputError(said, None, "write its first iteration, --output PLAN, then synth PLAN --certificate DIR")
    if found.route is not None:
        hops = " and ".join(f"`{hop.transfer.name}`" for hop in found.route.hops)
        raise InputError(f"a route has a certificate for each hop, {hops}", None, "--output PLAN, then synth PLAN::HOP")
    from dmaverify.jobs.certify_synth import write_synthesis

    return write_synthesis(folder, found, settings)


# ---------------------------------------------------------------- cost


def cost_of(
    plan: Plan, name: str, of: CostData, simulated: bool, explained: bool = False
) -> tuple[Cost, dict[str, Any]]:
    """The cost of a transfer's own program, and its JSON (with the simulation and the explanation where asked for)."""
    from dmaverify import api
    from dmaverify.cost.prices import has_profiles, price_of
    from dmaverify.cost.simulate import simulate

    commands = api.program_of(plan, name)
    transfer = next(item for item in plan.transfers if item.name == name).transfer
    target = plan.targets[transfer.target]
    price = price_of(transfer, target, commands, of)
    data: dict[str, Any] = {"name": name, **price.as_data()}
    if not has_profiles(target):
        return price, data
    data |= _prediction(price, commands, of)
    if simulated:
        data["simulation"] = simulate(commands, of).statistics()
    if explained:
        from dmaverify.cost.explain import explain

        data["explanation"] = explain(commands, of).as_data()
    return price, data


def _prediction(price: Cost, commands: Sequence[Command], data: CostData) -> dict[str, Any]:
    """What the number stands for and how far it may be off; no number where no data supports one."""
    from dmaverify.cost.bands import band_of

    band = band_of(commands, price.sides, data)
    told: dict[str, Any] = {"predicts": data.predicts, "band": band and band.as_data(price.cycles)}
    return told if band is None or band.modelled else {"cycles": None, **told}


UNBANDED = " (queues and rows of the documents; the band is the closed form's)"


def cost_text(
    name: str, price: Cost, data: Mapping[str, Any], commands: Sequence[Command], of: CostData, *,
    explain: bool, formula: bool,
) -> str:  # fmt: skip
    """Cycles, what binds, and the terms; with their reasons, the facts of both sides, or as a formula in symbols."""
    from dmaverify.report.cost import band_lines, unsupported

    if data["cycles"] is None:
        return unsupported(name, data)
    kind = "exact" if price.exact else "a lower bound" + (" of the simulator's" if price.sides else "")
    lines = [f"{name}   {price.cycles:,.1f} cycles ({kind}), profile {price.profile}, bound by {price.binding}"]
    lines += band_lines(price.cycles, data)
    wide = max((len(t.name) for t in price.terms), default=0)
    for term in price.terms:
        lines.append(f"  {term.name:{wide}}  {term.cycles:14,.1f}  {term.resource}")
        if explain:
            lines += [f"  {'':{wide}}  {term.why}", f"  {'':{wide}}  {term.source}"]
    if price.sides and explain:
        from dmaverify.cost.explain import explain as explained
        from dmaverify.report.cost import explanation_lines

        lines += explanation_lines(explained(commands, of))
    if price.sides and formula:
        from dmaverify.report.cost import formula_lines

        rest = ", ".join(dict.fromkeys(t.name for t in price.terms[1:]))
        lines.append(f"  cycles = start-up + max({rest}); commands of one engine add, engines overlap")
        lines += formula_lines(commands, of)
    simulation = data.get("simulation")
    if simulation:
        lines.append(
            f"  simulated {simulation['cycles']:,.1f} cycles, {simulation['requests']:,} requests, "
            f"{simulation['row_switches']:,} row switches{UNBANDED if of.bands else ''}"
        )
    return "\n".join(lines)


def first_of_many(transfers: Sequence[Transfer]) -> str:
    """What to say where transfers stand in loops and one iteration of each is shown."""
    counts = [one.views.count for one in transfers if one.views is not None and one.views.count > 1]
    return f" (the first of {' and of '.join(f'{count:,}' for count in counts)} iterations)" if counts else ""


def without_profile(profile: str) -> None:
    """Raises InputError for a profile that was named for a kernel in PTO text."""
    if profile != "book":
        raise InputError("--profile is for moves of plans, not for kernels in PTO text", None, "leave it out")


def constants_of(plan: Plan, item: PlanTransfer, profile: str) -> CostData:
    """The constants of the machine of a transfer. Raises InputError where it has no profile of that name."""
    from dmaverify.cost.prices import data_of

    return data_of(plan.targets[item.transfer.target], profile)


def _not_one(path: str, transfers: int, done: str, hint: str) -> InputError:
    """That a plan has none or too many transfers."""
    if transfers:
        return InputError(f"{transfers} transfers to {done}", None, hint)
    return InputError(f"{path} has no transfer to {done}", None, "name a plan file with a [transfer.NAME]")


def draw_plans(paths: Sequence[str], output: str, profile: str) -> str:
    """A picture of one or two transfers (before, after), or of a program, as .svg, .html (both without any library) or
    .png. The text that says so. Raises InputError.
    """
    from dmaverify import api
    from dmaverify.jobs.walk import is_copy_text

    must_spare([output], paths)
    kind = Path(output).suffix
    if kind not in (".html", ".svg", ".png"):
        raise InputError(f"{output} is no picture", None, "write to .svg, .png or .html")
    from dmaverify.cli.drawn import kernels_drawn, run_drawn
    from dmaverify.jobs.kernel_runs import run_in

    if any(is_copy_text(path) for path in paths):
        without_profile(profile)
        write_text(output, kernels_drawn(paths, kind))
        return f"wrote {output}"
    plans = [(path, with_references(api.load(path), profile)) for path in paths]
    items = [(plan, item) for _, plan in plans for item in plan.transfers]
    kernels = [kernel for _, plan in plans for kernel in plan.kernels]
    for plan, item in items:
        constants_of(plan, item, profile)  # raises where there are none of that name
    if len(kernels) == 1 and not items:
        without_profile(profile)
        write_text(output, run_drawn(run_in(plans[0][1]), kind))
        return f"wrote {output}"
    alone = [(plan, program) for _, plan in plans for program in plan.programs] if kind != ".png" else []
    if not (1 <= len(items) <= 2 or len(alone) == 1):
        raise _not_one(" and ".join(paths), len(items), "draw", "name one, or two to compare: PATH::NAME")
    said = f"wrote {output}{first_of_many([item.transfer for _, item in items])}"
    if kind == ".png":
        from dmaverify.cost.sides import SERVICES

        for plan, item in items:
            if {item.transfer.source.tier, item.transfer.dest.tier} - set(SERVICES):
                name = plan.targets[item.transfer.target].name
                said = f"a .png shows channels, banks and DMNs, which memories of {name} do not have"
                raise InputError(said, item.transfer.span, "write a .svg or .html")
        programs = [
            (item.name, api.program_of(plan, item.name), constants_of(plan, item, profile)) for plan, item in items
        ]
        try:
            from dmaverify.report.picture import draw, save

            save(draw(programs), Path(output))
        except ImportError:
            hint = "write .svg or .html, or pip install 'dmaverify[plot]'"
            raise InputError("a .png needs matplotlib", None, hint) from None
        return said
    from dmaverify.cli.drawn import drawn_page, drawn_svg

    text = (drawn_page if kind == ".html" else drawn_svg)(items[:2], alone[:1], profile)
    write_text(output, text)
    return said


def write_traces(path: str, output: str, profile: str) -> str:
    """Plays one transfer and writes its requests for a trace viewer (Chrome, Perfetto), or with its statistics as an
    SQLite database (`.sqlite`, `.db`). The text that says so.
    """
    from dmaverify import api
    from dmaverify.cost.simulate import simulate
    from dmaverify.report.trace import write_sqlite, write_trace

    plan = with_references(api.load(path), profile)
    if len(plan.transfers) != 1:
        raise _not_one(path, len(plan.transfers), "trace", "name one: PATH::NAME")
    (item,) = plan.transfers
    result = simulate(api.program_of(plan, item.name), constants_of(plan, item, profile), record=1 << 20)
    (write_sqlite if Path(output).suffix in (".sqlite", ".db") else write_trace)(result, Path(output))
    many = first_of_many([plan.transfers[0].transfer])
    return f"wrote {output}: {int(result.statistics()['requests']):,} requests{many}"
