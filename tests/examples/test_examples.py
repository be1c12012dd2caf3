"""The examples say what they say, README shows what they print, and no single number of them can be broken unseen.

`python tests/examples/test_examples.py` writes the console blocks of README and the table of printed examples anew.
"""

import contextlib
import io
import json
import random
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from unittest import mock

import pytest
from lab.draws import rest

import dmaverify as dv
from dmaverify.cli import app as cli
from dmaverify.errors import Span
from dmaverify.language.meaning import Index, cell
from dmaverify.plan.plan import select
from dmaverify.plan.read import read_plan_text
from dmaverify.program.command import Sequencer
from dmaverify.verdict import Finding, Status, Verdict

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
README = ROOT / "README.md"
PAGE = ROOT / "docs" / "printed-examples.md"

# Every worked example of the two documents, in their order, with the transfer or access that holds it as printed.
PRINTED = {
    "dma-engine/layout-transformation": ["layout-transformation"],
    "dma-engine/basic": ["basic", "basic-pseudocode"],
    "dma-engine/packet-size": [
        "packet-4095-hbm",
        "packet-4095-dm",
        "packet-4099-whole",
        "packet-4099-bytes",
        "packet-4099-split",
    ],
    "dma-engine/heterogeneous-mapping": ["heterogeneous-mapping"],
    "dma-engine/tensor-memory-mapping": ["tensor-memory-mapping"],
    "dma-engine/sequencer-internals": ["sequencer-execution", "sequencer-descriptor", "sequencer-derived"],
    "dma-engine/example-1": ["example-1"],
    "dma-engine/example-2": ["example-2"],
    "dma-engine/example-3": ["example-3"],
    "dma-engine/example-4": ["example-4"],
    "dma-engine/example-5": ["example-5"],
    "dma-engine/example-6": ["example-6"],
    "sequencer/strided": ["strided-read", "strided-write"],
    "sequencer/axis-reordering": ["axis-reordering-read", "axis-reordering-write"],
    "sequencer/tiling": ["tiling-read", "tiling-write"],
    "sequencer/broadcasting": ["broadcasting-read", "broadcasting-write"],
    "sequencer/rearranging-axes": ["rearranging-axes"],
    "sequencer/splitting-axes": ["splitting-axes"],
    "sequencer/slicing-axes": ["slicing-axes"],
    "sequencer/broadcasting-axes": ["broadcasting-axes"],
    "sequencer/merging-entries": ["merging-initial", "merging-merged"],
    "sequencer/insufficient-input": ["insufficient-input"],
    "sequencer/incompatible-shapes": ["incompatible-shapes"],
}
# Whole programs of the documents and of the vendor's library: what is judged in the table of printed examples.
PROGRAMS = {
    "programs/aggregates": [
        "p-example-4-printed",
        "p-example-4",
        "p-example-5",
        "p-example-6-printed",
        "p-example-6",
        "p-example-6-unsegmented",
        "p-heterogeneous",
    ],
    "programs/odd-tiles": ["odd-tiles"],
    "programs/cumulative": [
        "sum-51",
        "sum-56",
        "sum-66",
        "sum-63",
        "sum-64",
        "serialised",
        "single-62",
        "single-63",
        "four-63",
        "four-64",
        "other-banks",
        "rotating",
    ],
    "programs/views": ["pipeline", "pipeline-by-tiles", "pipeline-shifted", "pipeline-of-two-engines"],
    "programs/gather": [
        "embedding",
        "embedding-by-elements",
        "promised",
        "printed",
        "twice",
        "scatter-then-read",
        "scatter-waited-for",
    ],
    "programs/routes": ["hop", "direct-route", "used-twice", "needed-hop"],
}
TUTORIALS = [
    "first",
    "broken",
    "toy",
    "equal",
    *(f"dma-engine/{name}" for name in ("statements", "limits", "slow", "left-out")),
]
# Printed, refuted, and right as soon as it is split or given its bases: their twins have names of their own.
OTHER_TWINS = {"basic-pseudocode": "basic-corrected", "packet-4099-whole": "packet-4099-split"}


def text_of(file: str) -> str:
    return (EXAMPLES / f"{file}.toml").read_text(encoding="utf-8")


def tables(file: str) -> dict[str, dict[str, object]]:
    plan = tomllib.loads(text_of(file))
    kinds = ("transfer", "access", "gather", "scatter", "program")
    return {name: table for kind in kinds for name, table in plan.get(kind, {}).items()}


# ---------------------------------------------------------------- the files


def test_every_file_of_the_two_documents_and_of_the_tour_is_known() -> None:
    paths = [path for folder in (".", "dma-engine", "sequencer") for path in (EXAMPLES / folder).glob("*.toml")]
    assert {path.relative_to(EXAMPLES).with_suffix("").as_posix() for path in paths} == {*PRINTED, *TUTORIALS}


@pytest.mark.parametrize("file", [*PRINTED, *TUTORIALS])
def test_an_example_is_exactly_as_it_says(file: str) -> None:
    verdicts = dv.check(EXAMPLES / f"{file}.toml")
    assert {v.name for v in verdicts} == set(tables(file))
    for verdict in verdicts:
        assert verdict.expect is not None, f"{verdict.name} expects nothing"
        assert verdict.as_expected, (verdict.name, verdict.status, sorted({f.rule for f in verdict.errors}))


@pytest.mark.parametrize(("file", "name"), [(file, name) for file, names in PRINTED.items() for name in names])
def test_a_printed_example_is_there_and_where_it_fails_a_proved_twin_is_beside_it(file: str, name: str) -> None:
    moves = tables(file)
    if moves[name]["expect"] != "proved":
        assert moves[OTHER_TWINS.get(name, f"{name}-corrected")]["expect"] == "proved"


def test_examples_cite_document_and_section() -> None:
    for file in PRINTED:
        document = {"dma-engine": '# "DMA Engine", ', "sequencer": '# "Sequencer", '}[file.split("/")[0]]
        assert text_of(file).startswith(document), file


def test_the_printed_relation_of_tensor_memory_mapping_is_what_the_mapping_means() -> None:
    sizes = {"A": 256, "B": 256, "C": 256}
    expr = dv.mapping("B * A * C", sizes)
    some = random.Random(7).sample(range(256**3), 500)
    for i in (0, 1, 255, 256, 65535, 65536, 256**3 - 1, *some):
        found = cell(expr, i)
        assert isinstance(found, Index)
        wanted = {"A": (i % 65536) // 256, "B": i // 65536, "C": i % 256}
        assert {axis: value for axis, value in found.coords if value} == {a: v for a, v in wanted.items() if v}


@pytest.mark.parametrize("file", PROGRAMS)
def test_a_program_is_exactly_as_it_says(file: str) -> None:
    verdicts = dv.check(EXAMPLES / f"{file}.toml")
    assert {v.name for v in verdicts} == set(tables(file))
    assert {v.name for v in verdicts} >= set(PROGRAMS[file])
    for verdict in verdicts:
        assert verdict.as_expected, (verdict.name, verdict.status, sorted({f.rule for f in verdict.errors}))


OTHERS = sorted(
    path.relative_to(EXAMPLES).as_posix()
    for folder in ("found", "idma", "machines", "pto", "reference", "start")  # tests/sizes asks those with symbols
    for path in (EXAMPLES / folder).glob("*.toml")
)


@pytest.mark.parametrize("file", OTHERS)
def test_no_example_of_another_machine_is_left_without_an_answer(file: str) -> None:
    for verdict in dv.check(EXAMPLES / file):
        told = verdict.name, verdict.status, sorted({f.rule for f in verdict.errors})
        assert verdict.as_expected, told
        assert verdict.expect is None or verdict.status.value != "unknown", told


def test_every_program_of_the_examples_is_in_the_table() -> None:
    assert {f"programs/{path.stem}" for path in (EXAMPLES / "programs").glob("*.toml")} == set(PROGRAMS)
    for file, shown in PROGRAMS.items():
        assert set(reasons(file)) == set(shown)


# ---------------------------------------------------------------- README


def reasons(file: str) -> dict[str, str]:
    """The `#:` line above each table."""
    kinds = "transfer|access|gather|scatter|program"
    found = re.findall(rf"^#: (.+)\n\[(?:{kinds})\.([\w-]+)\]$", text_of(file), re.MULTILINE)
    return {name: why for why, name in found}


def table() -> str:
    """What dmaverify says of each printed example; that it does say so is what `as it says` tests."""
    lines = ["| document | example | dmaverify says | why |", "|---|---|---|---|"]
    for file, names in {**PRINTED, **PROGRAMS}.items():
        document, title = tomllib.loads(text_of(file))["name"].split(": ", 1)
        why, moves = reasons(file), tables(file)
        for name in names:
            expect = moves[name]["expect"]
            said = "proved" if expect == "proved" else f"refuted: {', '.join(f'`{rule}`' for rule in expect)}"
            link = f"{title} (`examples/{file}.toml`) `{name}`"
            lines.append(f"| {document} | {link} | {said} | {why[name]} |")
    return "\n".join(lines)


TABLE = re.compile(r"(<!-- table: .* -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def printed_by(line: str) -> str:
    """What a command line of README prints, run in this process; `echo 'TEXT' | dmaverify ...` has a standard input."""
    before, pipe, after = line.removeprefix("$ ").partition(" | ")
    words = shlex.split(after if pipe else before)
    assert words[0] == "dmaverify", line
    given = " ".join(shlex.split(before)[1:]) + "\n" if pipe else ""
    out, err = io.StringIO(), io.StringIO()
    quiet = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with mock.patch.object(sys, "stdin", io.StringIO(given)), quiet[0], quiet[1], contextlib.chdir(ROOT):
        code = cli.invoke(words[1:])
    assert code in (0, 1), err.getvalue()
    assert err.getvalue() == ""
    return re.sub(r'"seconds": [\d.e-]+', '"seconds": 0', out.getvalue())


def executed(block: str) -> str:
    commands = [line for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"{line}\n{printed_by(line)}" for line in commands)


def test_the_table_of_printed_examples_is_what_the_examples_say() -> None:
    found = TABLE.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    assert found[2] == table() + "\n"


@pytest.mark.parametrize("number", range(len(BLOCK.findall(README.read_text(encoding="utf-8")))))
def test_a_console_block_of_readme_is_what_the_commands_print(number: int) -> None:
    block = BLOCK.findall(README.read_text(encoding="utf-8"))[number]
    assert block == executed(block)


def test_the_python_of_readme_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(ROOT)
    exec(compile(code, "README.md", "exec"), {})


def test_the_plan_shown_in_readme_is_the_first_example() -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert tomllib.loads(shown)["axes"] == tomllib.loads(text_of("first"))["axes"]
    wanted = {key: value for key, value in tables("first")["relayout"].items() if key != "expect"}
    assert tomllib.loads(shown)["transfer"]["relayout"] == wanted


def test_links_of_readme_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8")):
        assert (ROOT / link).exists(), link


# ---------------------------------------------------------------- break one number


@dataclass(frozen=True)
class Number:
    """A number of a printed configuration: its place, its value, and the entry that it belongs to."""

    what: str
    span: Span
    value: int
    entry: Span


def numbers_of(text: str, name: str) -> Iterator[Number]:
    plan = select(read_plan_text(text), name)
    for item in plan.transfers:
        for command in item.given:
            yield from _of_sequencer("read", command.read)
            yield from _of_sequencer("write", command.write)
    for access in plan.accesses:
        if access.config is not None:
            yield from _of_sequencer("config", access.config)


def _of_sequencer(side: str, seq: Sequencer) -> Iterator[Number]:
    for entry in seq.entries:
        assert entry.count_span is not None
        assert entry.stride_span is not None
        assert entry.span is not None
        yield Number(f"{side} count of {entry.label}", entry.count_span, entry.count, entry.span)
        yield Number(f"{side} stride of {entry.label}", entry.stride_span, entry.stride, entry.span)
    if seq.base_span is not None:
        yield Number(f"{side} base", seq.base_span, seq.base or 0, seq.base_span)
    if seq.packet_span is not None:
        yield Number(f"{side} packet", seq.packet_span, seq.packet, seq.packet_span)


def broken(text: str, number: Number, change: str) -> tuple[str, int]:
    """The text with the number changed, in place, and how much longer it became."""
    old = text[number.span.start : number.span.end]
    if old.startswith("(") and "," in old:  # a base with its place: only the address is a number here
        place, _, address = old[1:-1].rpartition(",")
        new = f"({place}, ({address}) {change})"
    else:
        new = f"(({old}) {change})"
    return text[: number.span.start] + new + text[number.span.end :], len(new) - len(old)


def names(finding: Finding, number: Number, grown: int, value: int) -> bool:
    """Whether a finding points at the number (nowhere wider than its entry) or says its old or its new value."""
    low, high = number.entry.start, number.entry.end + grown
    for span in (finding.span, *(label.span for label in finding.labels)):
        inside = span is not None and low <= span.start and span.end <= high
        if inside and span.start < number.span.end + grown and span.end > number.span.start:
            return True
    words = " ".join([finding.message, finding.hint, *finding.notes, str(dict(finding.values))]).replace(",", "")
    return bool({str(number.value), str(value)} & set(re.findall(r"\d+", words)))


CHANGES = {"+ 1": lambda value: value + 1, "* 2": lambda value: value * 2}
# Numbers that may change without harm: a loop that runs once takes no step, and any divisor of a run is a legal packet.
HARMLESS = {
    "example-6-corrected": "read stride of A'/2",
    "sequencer-execution": "packet",
}
SMALL = 1 << 16  # elements of a move, up to which `make slow` breaks every number in every way


def how_many(name: str, text: str, every: bool) -> int:
    """Numbers of one move that are broken: one that a seed draws, else a sample, and of a small one `every` number."""
    plan = tomllib.loads(text)
    commands = len(plan.get("transfer", {}).get(name, {}).get("command", [None]))
    small = prod(plan["axes"].values()) <= SMALL * (256 if "access" in plan else 1)
    return 1 if not every else 3 if commands > 8 else 10 if commands > 2 or not small else 1000


def forms() -> Iterator[tuple[str, str, str]]:
    """Every proved configuration; that of a transfer with a stream also alone: then only the move contradicts it."""
    for file in (*PRINTED, "first"):
        for name, move in tables(file).items():
            if move["expect"] != "proved" or not move.keys() & {"read", "sequencer", "config", "command"}:
                continue
            yield file, name, "as it is"
            if "source" in move and "stream" in move:
                yield file, name, "alone"


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("file", "name", "form"), [*list(forms())[::2], *rest(list(forms())[1::2])])
def test_a_broken_number_is_refuted_by_name_or_harmless(file: str, name: str, form: str, every: bool) -> None:
    text = text_of(file)
    if form == "alone":
        text = re.sub(r"^stream = .*\n", "", text, flags=re.MULTILINE)
    cases = [(n, change) for n in numbers_of(text, name) for change in CHANGES if n.value or change != "* 2"]
    assert cases
    most = how_many(name, text, every)
    if len(cases) > most:
        cases = random.Random(f"{name} {form}").sample(cases, most)
    for number, change in cases:
        changed, grown = broken(text, number, change)
        (verdict,) = dv.check(select(read_plan_text(changed), name))
        judge_broken(verdict, number, change, grown)


def judge_broken(verdict: Verdict, number: Number, change: str, grown: int) -> None:
    said = f"{verdict.name}, {number.what} {number.value} {change}"
    if verdict.status is Status.PROVED:
        assert HARMLESS.get(verdict.name, "nothing") in number.what, f"{said}: proved"
        return
    assert verdict.status is Status.REFUTED, f"{said}: {verdict.status}"
    value = CHANGES[change](number.value)
    assert any(names(f, number, grown, value) for f in verdict.errors), (
        f"{said}: named by none of {[(f.rule, f.message, str(f.span)) for f in verdict.errors]}"
    )


# ---------------------------------------------------------------- writing README anew


def update() -> None:
    text = README.read_text(encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(TABLE.sub(lambda found: found[1] + table() + "\n" + found[3], page), encoding="utf-8")
    text = BLOCK.sub(lambda found: f"```console\n{executed(found[1])}```", text)
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    update()
    sys.stdout.write(json.dumps({"written": str(README)}) + "\n")
