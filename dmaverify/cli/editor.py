"""What an editor shows of one open file: verdicts with places, hovers, lenses, completions, fixes; the server sends it.

Knows: which files are judged, how an unsaved text is, what stands under a place. Does not know: the protocol.
Law: everything shown comes from the verdicts that `check --no-execute` gives of the same text; what was not judged anew
is shown only where neither its own text nor anything that it depends on changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dmaverify.cli.opened import Opened, asked_of
from dmaverify.errors import InputError, Source, Span
from dmaverify.language.asked import asking
from dmaverify.language.files import asked_again, unsaved
from dmaverify.report.order import told
from dmaverify.values import replace
from dmaverify.verdict import Edit, Finding, Status, Verdict

if TYPE_CHECKING:
    from dmaverify.language.expr import Expr
    from dmaverify.plan.plan import Plan

SUFFIXES = (".toml", ".rs", ".pto", ".mlir", ".job", ".jobs", ".idma", ".csv", ".jsonl", ".c", ".h")
_TABLE = re.compile(r"^[ \t]*\[+[ \t]*([A-Za-z_-]+)[ \t]*(?:\.[ \t]*[\"']?([\w-]+))?", re.MULTILINE)
_BLACK = re.compile(r"\S")
_ENTRIES = {"transfer", "access", "gather", "scatter"}
MOST_CELLS = 8


def judged(path: str, text: str, before: Opened | None = None, others: Mapping[str, str] | None = None) -> Opened:
    """The verdicts on a text as it stands in an editor; no verdicts for a file that `check` would leave."""
    around = dict(others or {})
    if not _is_ours(path, text):
        return Opened(path, text, ())
    from dmaverify.jobs.judge import check_job
    from dmaverify.prove.boundary import unreadable

    own = os.path.abspath(path)
    with asking() as heard, unsaved({**around, own: text}):
        try:
            target, asked = asked_of(path)
        except InputError as error:
            where = Verdict(Path(path).stem, "", Status.ERROR, path=path, line=1)
            return Opened(path, text, (unreadable([error], path, where),), around, asked=heard)
        alike = before is not None and target is None and before.stands(around, own)
        found = _changed_only(path, text, before) if before is not None and alike else None
        if found is None:
            found = check_job((path, None, target, dict(asked)))[0]
        elif before is not None:
            heard |= {question: answer for question, answer in before.asked.items() if question not in heard}
            heard |= {one: asked_again(one) for one in heard if os.path.abspath(one[1]) == own}  # of the whole text
    return Opened(path, text, tuple(found), around, asked, target, heard)


def _is_ours(path: str, text: str) -> bool:
    name = Path(path).name
    if not name.endswith(SUFFIXES):
        return False
    from dmaverify.jobs.walk import looks

    return looks(Path(path), text.encode("utf-8", "replace")).taken


# ---------------------------------------------------------------- judging what changed


def blocks(text: str) -> dict[str, tuple[int, str]] | None:
    """The tables of each entry by its name, with where they begin; under the empty name all the rest. None where
    entries depend on each other, or where comments suppress.
    """
    heads = list(_TABLE.finditer(text))
    kinds = {head[1] for head in heads}
    if "dmaverify:" in text or kinds & {"program", "kernel", "region"} or "schema" not in text:
        return None
    out: dict[str, tuple[int, str]] = {"": (0, text[: heads[0].start()] if heads else text)}
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        part = text[head.start() : end]
        name = head[2] if head[1] in _ENTRIES and head[2] else ""
        if name in out:
            start, known = out[name]
            if name and text[start : head.start()] != known:
                return None  # its tables stand apart
            out[name] = (start, known + part)
        else:
            out[name] = (head.start(), part)
    return out


def _changed_only(path: str, text: str, before: Opened) -> list[Verdict] | None:
    """The verdicts where few entries of a plan changed: theirs anew, the others' moved to where they stand now."""
    if not path.endswith(".toml") or any(verdict.status is Status.ERROR for verdict in before.verdicts):
        return None
    old, new = blocks(before.text), blocks(text)
    if old is None or new is None or old.pop("")[1] != new.pop("")[1]:
        return None
    same = {name for name, (_, part) in new.items() if name in old and old[name][1] == part}
    known = {verdict.name: verdict for verdict in before.verdicts}
    if not same or sorted(verdict.name for verdict in before.verdicts) != sorted(old):
        return None  # an entry that stands in no block of its own: `["transfer".x]`
    from dmaverify.jobs.verdicts import verdicts_of
    from dmaverify.plan.read import read_plan
    from dmaverify.prove.options import Options

    few = text
    for name in same:
        start, part = new[name]
        few = few[:start] + _BLACK.sub(" ", part) + few[start + len(part) :]
    try:
        with unsaved({**before.others, os.path.abspath(path): few}):
            plan = read_plan(path)
    except InputError:
        return None
    if plan.templates or plan.programs or plan.kernels:
        return None
    source, old_source = Source(path, text), before.source
    fresh = verdicts_of(plan, Options(**before.settings))
    found = {verdict.name: _moved(verdict, plan.source, source, 0) for verdict in fresh}
    if set(found) | same != set(new) or set(found) & same:
        return None
    for name in same:
        found[name] = _moved(known[name], old_source, source, new[name][0] - old[name][0])
    return sorted(found.values(), key=lambda verdict: verdict.line)


def _moved(verdict: Verdict, before: Source, source: Source, by: int) -> Verdict:
    """A verdict of the same text at another place of the file."""
    here = verdict.path

    def span(one: Span) -> Span:
        return Span(source, one.start + by, one.end + by) if one.source.name == here else one

    def edits(some: tuple[Edit, ...]) -> tuple[Edit, ...]:
        return tuple(replace(edit, span=span(edit.span)) for edit in some)

    findings = tuple(
        replace(
            one,
            span=None if one.span is None else span(one.span),
            labels=tuple(replace(label, span=span(label.span)) for label in one.labels),
            edits=edits(one.edits),
            fix=edits(one.fix),
        )
        for one in verdict.findings
    )
    line = source.line_of(before.line_starts[verdict.line - 1] + by) if by and verdict.line else verdict.line
    return replace(verdict, findings=findings, line=line)


# ---------------------------------------------------------------- what is shown


def at_line(opened: Opened, line: int) -> Verdict | None:
    """The verdict of the entry whose first line this is."""
    return next((verdict for verdict in opened.verdicts if verdict.line == line), None)


def lens(opened: Opened, verdict: Verdict) -> str:
    """`PROVED, all 131,072 bytes, 1,012 cycles`."""
    said = [verdict.status.value.upper() + (" as expected" if _expected(verdict) else "")]
    said += [verdict.bounds] if verdict.bounds else []
    if verdict.status is Status.PROVED:
        said += [verdict.claim] if verdict.claim else []
        price = cost_text(opened, verdict.name)
        said += [price] if price else []
    else:
        said += sorted({finding.rule for finding in told(verdict) if finding.rule})[:3]
    return ", ".join(said)


def _expected(verdict: Verdict) -> bool:
    return verdict.status is Status.REFUTED and verdict.as_expected


def cost_text(opened: Opened, name: str) -> str:
    """`1,012 cycles` of a transfer that has commands and a machine with prices; else nothing."""
    plan = opened.plan
    if plan is None or plan.is_kernel or all(one.name != name for one in plan.transfers):
        return ""
    from dmaverify.cli.entries import Chosen
    from dmaverify.cli.synth import cost_of

    try:
        machine = next(item for item in plan.transfers if item.name == name).transfer.target
        price = cost_of(plan, name, Chosen().of(plan.targets[machine]), False)[0]
    except InputError:
        return ""
    return f"{price.cycles:,.0f} cycles" + ("" if price.exact else " at least")


def hover(opened: Opened, offset: int) -> str | None:
    """Markdown for a place: of the stride or mapping there, or of the entry that begins on its line."""
    from dmaverify.cli.strides import stride_at

    found = [text for text in (stride_at(opened, offset), _mapping_at(opened, offset)) if text is not None]
    if found:
        return "\n\n".join(found)
    verdict = at_line(opened, opened.source.line_of(offset))
    return None if verdict is None else _about(opened, verdict)


def _about(opened: Opened, verdict: Verdict) -> str:
    lines = [f"**{verdict.status.value.upper()}** `{verdict.name}` on {verdict.target or 'no machine'}"]
    lines += [f"- {verdict.claim}"] if verdict.claim else []
    by: dict[str, list[str]] = {}
    for one in verdict.obligations:
        by.setdefault(f"{one.status} by {one.by}" if one.by else one.status, []).append(one.id)
    lines += [f"- {how}: {', '.join(dict.fromkeys(ids))}" for how, ids in by.items()]
    lines += [f"- **{f.rule}**: {f.message}" for f in told(verdict)]
    lines += [f"- rests on: {one}" for one in verdict.assumptions]
    price = cost_text(opened, verdict.name)
    lines += [f"- cost (profile `book`): {price}"] if price else []
    return "\n".join(lines)


_QUOTED = re.compile(r"\"([^\"\n]*)\"|m!\[([^\]]*)\]")


def _mapping_at(opened: Opened, offset: int) -> str | None:
    """Size, cells and digits of the mapping in quotes or in `m![...]` at a place."""
    plan, line = opened.plan, opened.source.line_of(offset)
    if plan is None:
        return None
    start = opened.source.line_starts[line - 1]
    for found in _QUOTED.finditer(opened.source.line_text(line)):
        if found.start() <= offset - start < found.end():
            text = found[1] if found[1] is not None else found[2]
            sizes = {name: size for name, size in plan.axes.items() if isinstance(size, int)}
            try:
                return mapping_text(text, _plain(sizes), plan)
            except InputError:
                return None
    return None


def _plain(axes: Mapping[str, int]) -> dict[str, int]:
    """Axes by their last name: those of a kernel carry where they were declared."""
    return {re.split(r"[.:@]", name)[-1]: size for name, size in axes.items()}


def mapping_text(text: str, axes: dict[str, int], plan: Plan | None = None) -> str:
    """A mapping in words: size, digits, the first cells. Raises InputError for what is no mapping of these axes."""
    from dmaverify.jobs.requests import cell_text, cells_json
    from dmaverify.language.parse import parse

    if plan is not None and plan.lets:
        for name, expr in plan.lets.items():
            text = re.sub(rf"(?<![\w']){re.escape(name)}(?![\w'])", f"({expr})", text)
    expr = parse(text, axes)
    shown, _ = cells_json(text, axes, False, 0, min(MOST_CELLS, expr.size))
    cells = "\n".join(f"{at:>6}  {cell_text(cell)}" for at, cell in enumerate(shown["cells"]))
    more = f"\n   ...  {expr.size:,} positions" if expr.size > MOST_CELLS else ""
    digits = _digits(expr)
    head = f"`{text}`: {expr.size:,} positions" + (f"\n\ndigits, outer to inner: {digits}" if digits else "")
    return f"{head}\n\n```text\n{cells}{more}\n```"


def _digits(expr: Expr) -> str:
    """`A / 4 x 16, padding to 8`: what each digit counts, outer to inner; nothing where there are none."""
    from dmaverify.layout.digits import NotDigits, digits_of

    try:
        form = digits_of(expr)
    except NotDigits:
        return ""
    said = []
    for one in form.digits:
        axis = "broadcast" if one.axis is None else one.axis if one.weight == 1 else f"{one.axis} / {one.weight}"
        held = f" ({one.live} hold elements)" if one.live != one.slots else ""
        said.append(f"`{axis}` x {one.slots}{held}, {one.step} apart")
    return "; ".join(said)


# ---------------------------------------------------------------- completion


_KEYS_OF = {
    "transfer": "TransferTable", "access": "AccessTable", "gather": "IndirectTable", "scatter": "IndirectTable",
    "program": "ProgramTable", "kernel": "KernelTable", "region": "RegionTable",
}  # fmt: skip
_VALUE = re.compile(r"([\w-]+)[ \t]*=[ \t]*(?:\[[^\]]*)?\"([^\"]*)$")
_ALLOW = re.compile(r"dmaverify:\s*(?:allow|expect)\(?[^)]*$")


def completions(opened: Opened, offset: int) -> list[tuple[str, str]]:
    """(word, what it is) for a place: rules in suppressions and `expect`, tiers, machines, types, axes, keys."""
    line = opened.source.line_of(offset)
    before = opened.text[opened.source.line_starts[line - 1] : offset]
    if _ALLOW.search(before):
        return _named("rule")
    if not opened.path.endswith(".toml"):
        return []
    if found := _VALUE.search(before):
        return _values(opened, found[1])
    if before.lstrip().startswith("["):
        return [(f"{kind}.", "table") for kind in _KEYS_OF] + [("axes", "table"), ("let", "table")]
    return [(key, "key") for key in _keys_at(opened, offset, before)]


def _named(kind: str) -> list[tuple[str, str]]:
    from dmaverify.report.rules import names_of

    return [(name, kind) for name in names_of(kind)]


def _values(opened: Opened, key: str) -> list[tuple[str, str]]:
    from dmaverify.targets.target import load_target

    if key == "expect":
        return [("proved", "rule"), *_named("rule")]
    if key == "target":
        return _named("target")
    if key in ("tier", "dtype"):
        named = re.search(r"^target[ \t]*=[ \t]*\"([^\"]+)\"", opened.text, re.MULTILINE)
        try:
            machine = load_target(named[1] if named else "rngd", Path(opened.path).parent)
        except InputError:
            return []
        return [(name, key) for name in (machine.tiers if key == "tier" else machine.dtypes)]
    if key in ("element", "slice", "cluster", "chip", "time", "packet", "tile"):
        return [(name, "axis") for name in _axes(opened.text)]
    return []


def _axes(text: str) -> Iterator[str]:
    """The names of [axes] and [let], also where the rest of the text cannot be read."""
    for table in re.finditer(r"^\[(?:axes|let)\][^\n]*\n((?:(?!\[)[^\n]*(?:\n|\Z))*?)(?=\[|\Z)", text, re.MULTILINE):
        yield from re.findall(r"^[ \t]*\"?([A-Z][\w']*)\"?[ \t]*=", table[1], re.MULTILINE)


def _keys_at(opened: Opened, offset: int, before: str) -> list[str]:
    from dmaverify.plan import schema
    from dmaverify.plan.complaints import keys_of

    if "{" in before and before.rfind("{") > before.rfind("}"):
        outer = re.search(r"([\w-]+)[ \t]*=[ \t]*\{[^{}]*$", before)
        name = outer[1] if outer else ""
        inner = {"stream": "StreamTable", "index": "IndexTable", "engine": "EngineTable", "base": "Base"}
        own = inner.get(name, "TensorTable" if name in ("source", "dest", "memory") else "")
        return keys_of(getattr(schema, own)) if own else []
    heads = [head for head in _TABLE.finditer(opened.text) if head.start() < offset]
    if not heads:
        return keys_of(schema.PlanTable)
    return keys_of(getattr(schema, _KEYS_OF[heads[-1][1]])) if heads[-1][1] in _KEYS_OF else []


# ---------------------------------------------------------------- code actions, definitions


def fixes(opened: Opened) -> list[tuple[Finding, Verdict]]:
    """The findings with fixes that were proved on the whole text."""
    from dmaverify.jobs.fix import with_fixes

    with unsaved({**opened.others, os.path.abspath(opened.path): opened.text}):
        mended = with_fixes(opened.verdicts, dict(opened.settings), opened.target)
    return [(f, v) for v in mended for f in v.findings if f.fix and all(opened.own(edit.span) for edit in f.fix)]


def suppression(opened: Opened, finding: Finding, verdict: Verdict) -> tuple[int, str] | None:
    """Line (from 1) above which the comment goes, and the comment; its reason is left to be written."""
    if verdict.status is Status.ERROR or not finding.rule:
        return None
    if opened.path.endswith(".toml"):
        at, mark = verdict.line, "#"
    elif opened.path.endswith((".rs", ".pto", ".mlir")) and finding.span is not None and opened.own(finding.span):
        at, mark = finding.span.line, "//"
    else:
        return None
    text = opened.source.line_text(at)
    indent = text[: len(text) - len(text.lstrip())]
    return at, f"{indent}{mark} dmaverify: allow({finding.rule}) "


def definition(opened: Opened, offset: int) -> Span | None:
    """Where the axis, alias, region or entry under a place is declared in a plan."""
    if not opened.path.endswith(".toml"):
        return None
    word = next((m for m in re.finditer(r"[\w'-]+", opened.text) if m.start() <= offset <= m.end()), None)
    if word is None:
        return None
    from dmaverify.language.toml_spans import parse_toml

    try:
        doc = parse_toml(opened.source)
    except InputError:
        return None
    for kind in ("axes", "let", "region", "transfer", "access", "gather", "scatter"):
        table = doc.data.get(kind)
        if isinstance(table, dict) and word[0] in table:
            return doc.key_span((kind, word[0]))
    return None
