"""What the page of a run shows beside each verdict: source lines, commands, cost.

Knows: plan files, which lines belong to a transfer, the cost model.
Does not know: HTML, how anything is judged.
Law: what cannot be read again or has no cost is left out of the page, never made up; the verdict itself always stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dmaverify.errors import InputError
from dmaverify.language.files import text_of
from dmaverify.report.order import in_order, place_of
from dmaverify.report.page import Exhibit, report_page
from dmaverify.verdict import Status, Verdict

MOST_PICTURES = 300
MOST_GRIDS = 40  # pictures of memory: each is some tens of kilobytes
AROUND = 3  # lines of context where nothing says what belongs together
MOST_LINES = 80


def run_page(verdicts: Iterable[Verdict], version: str, code: int | None) -> str:
    """The HTML page of a run."""
    seen = in_order(verdicts)
    plans: dict[str, Any] = {}
    texts: dict[str, list[str]] = {}
    found = []
    grids = 0
    for number, verdict in enumerate(seen):
        commands: tuple[Any, ...] = ()
        price = picture = None
        figure = ""
        if number < MOST_PICTURES and verdict.path.endswith((".toml", ".rs")):
            commands, price = _program(verdict, plans)
        if grids < MOST_GRIDS and (commands or verdict.path in plans):
            picture, figure = _drawn(verdict, plans.get(verdict.path), commands)
            grids += bool(picture or figure)
        found.append(Exhibit(verdict, _lines(verdict, texts), commands, price, picture, figure))
    note = f"Costs and pictures are shown for the first {MOST_PICTURES:,}. " if len(seen) > MOST_PICTURES else ""
    if any(verdict.path.endswith(".rs") for verdict in seen):
        note += "A kernel's transfer is priced by the cheapest proved plan; the compiler may choose another."
    return report_page(found, version, code, note)


def _drawn(verdict: Verdict, plan: Any, commands: tuple[Any, ...]) -> tuple[Any, str]:
    """The picture of a transfer, or the lifetimes of a program as a drawing; nothing for what has neither."""
    from dmaverify.jobs.pictures import lifetimes_of, picture_of
    from dmaverify.report.lifetimes import lifetimes_svg

    if plan is None:
        return None, ""
    item = next((one.transfer for one in plan.transfers if one.name == verdict.name), None)
    try:
        if item is not None and commands:
            return picture_of(plan, item, commands, verdict), ""
        program = next((one for one in plan.programs if one.name == verdict.name), None)
        return None, lifetimes_svg(*lifetimes_of(plan, program)) if program is not None else ""
    except (InputError, ValueError, KeyError):
        return None, ""


def _program(verdict: Verdict, plans: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
    """The commands of a transfer, and their cost as data, as far as there are any."""
    from dmaverify.cost.prices import price_of
    from dmaverify.jobs import load as plans_by_name

    try:
        if verdict.path not in plans:
            plans[verdict.path] = None
            plans[verdict.path] = plans_by_name.load(verdict.path, target=verdict.target or None)
        plan = plans[verdict.path]
        if plan is None or verdict.name not in {item.name for item in plan.transfers}:
            return (), None
        if plan.is_kernel:
            return _reference(plan, verdict)
        commands = plans_by_name.program_of(plan, verdict.name)
        transfer = next(item.transfer for item in plan.transfers if item.name == verdict.name)
        target = plan.targets[transfer.target]
        try:
            return commands, price_of(transfer, target, commands).as_data()
        except InputError:
            return commands, None
    except (InputError, ArithmeticError, KeyError, ValueError):
        return (), None


def _reference(plan: Any, verdict: Verdict) -> tuple[tuple[Any, ...], Any]:
    """The cheapest proved commands of a kernel's move, which names none, and their cost."""
    from dmaverify.cost.model import cost
    from dmaverify.jobs.references import synthesized
    from dmaverify.lower.programs import streamed_program

    found = synthesized(plan, verdict.name, "book", {}) if verdict.status is Status.PROVED else None
    if found is None or not found.found:
        return (), None
    machine = plan.targets[found.transfer.target]
    commands = streamed_program(found.transfer, machine.dtypes[found.transfer.dtype], machine)
    return (commands, cost(commands).as_data()) if isinstance(commands, tuple) else ((), None)


def _lines(verdict: Verdict, texts: dict[str, list[str]]) -> tuple[tuple[int, str], ...]:
    """The table of a transfer in its file; elsewhere a few lines around it and around each finding."""
    if verdict.path not in texts:
        try:
            texts[verdict.path] = text_of(verdict.path).removeprefix("\ufeff").splitlines()
        except (OSError, ValueError):
            texts[verdict.path] = []
    lines = texts[verdict.path]
    if not lines or not verdict.line:
        return ()
    if verdict.path.endswith(".toml"):
        return tuple((number, lines[number - 1]) for number in _table(verdict, lines))
    near = {verdict.line, *(place_of(f, verdict).line for f in verdict.findings if place_of(f).path == verdict.path)}
    shown = sorted({n for line in near for n in range(line - AROUND, line + AROUND + 1) if 1 <= n <= len(lines)})
    return tuple((number, lines[number - 1]) for number in shown[:MOST_LINES])


def _table(verdict: Verdict, lines: Sequence[str]) -> range:
    """From the header to the line before the next one that is another's, without blank lines at the end."""
    last = verdict.line
    for number in range(verdict.line + 1, min(len(lines), verdict.line + MOST_LINES) + 1):
        text = lines[number - 1].strip()
        if text.startswith("[") and not text.startswith("[[") and f".{verdict.name}." not in text:
            break
        if text.startswith("[[") and f".{verdict.name}." not in text:
            break
        last = number if text and not text.startswith("#") else last
    return range(verdict.line, last + 1)
