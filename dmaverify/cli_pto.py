"""Commands of the command line that speak of kernels: another surface, configuration words, whether two are equal.

Knows: how texts are rewritten copy by copy, the JSON of words.
Does not know: how copies are judged.
Law: what is not a copy stays as it was written; what cannot be written in the wanted form is refused at its line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError, Source
from dmaverify.inputs.pto_meaning import meaning_of
from dmaverify.inputs.pto_read import read_kernels
from dmaverify.inputs.pto_values import Kernel, Setting
from dmaverify.machines import pto_ops as ops
from dmaverify.machines.pto_emit import SURFACES, fields_of, words_of_copy
from dmaverify.machines.pto_words import GM_WORDS, LOCAL_WORDS, unpack
from dmaverify.prove.ask import term_text
from dmaverify.prove.same_kernel import Sameness, compare_kernels
from dmaverify.transfer.affine import Lin
from dmaverify.transfer.instructions import Copy

if TYPE_CHECKING:
    from dmaverify.inputs.plan import Plan
    from dmaverify.synth.copies import CopyPlan
    from dmaverify.transfer.move import Transfer


def _function(path: str) -> tuple[Source, ops.Function]:
    file, _, name = path.partition("::")
    try:
        source = Source(file, Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read") from error
    _, functions = read_kernels(source)
    wanted = [f for f in functions if (f.name == name if name else not f.called)]
    if len(wanted) != 1:
        raise InputError(
            f"{path} names {len(wanted)} functions",
            None,
            f"write {file}::NAME with one of {', '.join(f.name for f in functions)}",
        )
    return source, wanted[0]


def kernel_at(
    path: str, readings: Mapping[str, str] | None = None, *, canonical: bool = False
) -> tuple[Source, ops.Function, Kernel]:
    """The one function that a path means. Raises InputError."""
    source, function = _function(path)
    kernel = meaning_of(function, Setting(readings=readings or {}, canonical=canonical))
    lost = [r for r in kernel.remarks if r.kind == "unresolved" and r.always]
    if lost:
        raise InputError(lost[0].message, lost[0].span, lost[0].hint)
    return source, function, kernel


def emitted(path: str, surface: str) -> str:
    """The function's text with every copy in another surface."""
    source, function, kernel = kernel_at(path)
    statements = [s for s in _deep(function.body) if isinstance(s, ops.Copy)]
    called = next((s for s in _deep(function.body) if isinstance(s, ops.Block) and s.what.startswith("@")), None)
    if called is not None:
        raise InputError(f"{called.what} is called: copies of several functions are not written again", called.span)
    copies = {copy.span.start: copy for copy in kernel.copies}
    text, edits = source.text, []
    names = _Names(next(p for p in ("dv", *(f"dv{n}" for n in range(2, 1000))) if f"%{p}_" not in text))
    for stmt in statements:
        copy = copies.get(stmt.name_span.start)
        if copy is None:
            raise InputError("this copy is never reached, so it has no operands", stmt.name_span)
        column = stmt.span.start - (text.rfind("\n", 0, stmt.span.start) + 1)
        sides = [stmt.roles[r].name for r in ("src", "dst")]
        value = stmt.pad.value.name if stmt.pad is not None else names.pad(copy)
        lines = SURFACES[surface](copy, *sides, names.of(kernel), value, names.prefix)
        edits.append((stmt.span.start, stmt.span.end, ("\n" + " " * column).join(lines)))
    if surface == "inline":
        edits += [(s.span.start, s.span.end, "") for s in _deep(function.body) if isinstance(s, ops.SetLoop)]
    for start, end, new in sorted(edits, reverse=True):
        if not new:  # a register that is no longer needed goes with its line
            start = (
                text.rfind("\n", 0, start) + 1 if not text[text.rfind("\n", 0, start) + 1 : start].strip() else start
            )
            line = text.find("\n", end)
            end = line + 1 if line >= 0 and not text[end:line].split("//")[0].strip() else end
        text = text[:start] + new + text[end:]
    opened = text.index("{\n", function.span.start) + 2
    while text[:opened].rstrip().endswith("attributes {"):
        opened = text.index("{\n", opened) + 2
    return text[:opened] + "".join(f"  {line}\n" for line in names.lines()) + text[opened:]


class _Names:
    """SSA names for numbers, and the constants that define them."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.numbers: dict[int, None] = {}
        self.pads: dict[tuple[int, str], None] = {}

    def of(self, kernel: Kernel):  # type: ignore[no-untyped-def]
        def name(term: Lin) -> str:
            if term.is_const:
                self.numbers[term.const] = None
                return self.constant(term.const)
            if len(term.terms) == 1 and term.const == 0 and term.terms[0][1] == 1:
                shown = kernel.world.symbols[term.terms[0][0]].shown
                if shown.startswith("%"):
                    return shown
            raise InputError(
                f"the operand {term_text(term, kernel.world)} is no number and no argument",
                None,
                "only those are written again",
            )

        return name

    def constant(self, number: int) -> str:
        return f"%{self.prefix}_{number}" if number >= 0 else f"%{self.prefix}_m{-number}"

    def pad(self, copy: Copy) -> str:
        if copy.fill is None:
            return ""
        if copy.fill.value is None:
            raise InputError("the padding value of this copy is not known", copy.span)
        kind = copy.write.dtype or "i8"
        self.pads[copy.fill.value, kind] = None
        return f"%{self.prefix}_pad_{copy.fill.value}_{kind}"

    def lines(self) -> Iterator[str]:
        for number in sorted(self.numbers):
            yield f"{self.constant(number)} = arith.constant {number} : i64"
        for value, kind in self.pads:
            yield f"%{self.prefix}_pad_{value}_{kind} = arith.constant {value:#x} : {kind}"
        yield f"%{self.prefix}_on = arith.constant true"
        yield f"%{self.prefix}_off = arith.constant false"


def _deep(body: tuple[ops.Stmt, ...]) -> Iterator[ops.Stmt]:
    for stmt in body:
        yield stmt
        for part in ("body", "then", "other"):
            yield from _deep(getattr(stmt, part, ()))


def slices_of(path: str) -> list[str]:
    """What every copy of a kernel moves, inferred from its operands."""
    from dmaverify.inputs.pto_check import slice_of

    _, _, kernel = kernel_at(path)
    return [slice_of(copy, kernel.world) for copy in kernel.copies]


# ------------------------------------------------------------------------------------------ words


def words_json(path: str) -> list[dict[str, Any]]:
    """The words of every copy, with what they move between: the JSON that `equiv` reads again."""
    _, _, kernel = kernel_at(path, canonical=True)
    out = []
    for copy in kernel.copies:
        words = {word: f"{value:#018x}" for word, value in words_of_copy(copy).items()}
        ends = {side: _place(place) for side, place in (("src", copy.read), ("dst", copy.write))}
        pad = None if copy.fill is None else {"value": copy.fill.value}
        out.append({"kind": copy.kind, "line": copy.span.line, **ends, "words": words, **({"pad": pad} if pad else {})})
    return out


def _place(place: Any) -> dict[str, Any]:
    if not place.address.is_const:
        raise InputError("the address of a copy is no number, so it has no words", None)
    return {"memory": place.root or place.space, "address": place.address.const}


def words_text(path: str) -> str:
    """The words with their fields, for people."""
    lines = []
    for one in words_json(path):
        lines.append(f"line {one['line']}  {one['kind']}  {_end(one['src'])} -> {_end(one['dst'])}")
        layout = LOCAL_WORDS if one["kind"] == "local" else GM_WORDS
        fields = unpack(one["kind"], {word: int(value, 16) for word, value in one["words"].items()})
        for word, value in one["words"].items():
            parts = ", ".join(f"{name} {fields[name]:,}" for name, _, _ in layout[word] if fields[name])
            lines.append(f"  {word:<10}{value}   {parts or '0'}")
    return "\n".join(lines)


def _end(place: Mapping[str, Any]) -> str:
    return f"{place['memory']}+{place['address']:,}"


# ------------------------------------------------------------------------------------------ equal


def same_kernels(a: str, b: str) -> tuple[Sameness, str]:
    """Whether two kernels do the same, or a kernel and the words in a JSON file; with the answer in words."""
    if b.endswith(".json"):
        return _same_words(a, b)
    _, _, one = kernel_at(a, canonical=True)
    _, _, two = kernel_at(b, canonical=True)
    found = compare_kernels(one.events, one.world, two.events, two.world)
    where = "".join(f"\n  at {span}" for span in found.places)
    if found.status == "same":
        return found, f"EQUAL   {a} and {b}: {found.copies} copies, every byte, same order and synchronisation"
    word = "DIFFERENT" if found.status == "different" else "UNKNOWN"
    return found, f"{word}   {a} and {b}: {found.why}{where}"


def _same_words(a: str, b: str) -> tuple[Sameness, str]:
    """Unpacks every word and compares its fields with what the copy says: both halves, counts and strides."""
    _, _, kernel = kernel_at(a, canonical=True)
    try:
        given = json.loads(Path(b).read_text(encoding="utf-8"))
        entries = [(g["kind"], {w: int(v, 16) for w, v in g["words"].items()}, g["src"], g["dst"]) for g in given]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{b} holds no words: {error}", None, "dmaverify emit PATH --as words --json") from error
    if len(entries) != len(kernel.copies):
        why = f"{len(kernel.copies)} copies against {len(entries)} entries"
        return Sameness("different", 0, why), f"DIFFERENT   {a} and {b}: {why}"
    for number, (copy, (kind, words, src, dst)) in enumerate(zip(kernel.copies, entries, strict=True), 1):
        wanted = fields_of(copy)
        found = unpack(kind, words) if kind == copy.kind else {}
        idle = _idle(wanted, found)
        wrong = [
            f"{n} is {found.get(n)}, must be {v}" for n, v in wanted.items() if found.get(n) != v and n not in idle
        ]
        wrong += [f"{n} is {v}, must be 0" for n, v in found.items() if n not in wanted and v and n not in idle]
        wrong += [
            f"{word}: {_end(have)}, must be {_end(_place(place))}"
            for word, have, place in (("source", src, copy.read), ("destination", dst, copy.write))
            if have != _place(place)
        ]
        if wrong:
            why = f"copy {number}: {'; '.join(wrong)}"
            return Sameness(
                "different", number - 1, why, (copy.span,)
            ), f"DIFFERENT   {a} and {b}: {why}\n  at {copy.span}"
    return Sameness("same", len(entries)), f"EQUAL   {a} and {b}: {len(entries)} copies, every field of every word"


def _idle(wanted: Mapping[str, int], found: Mapping[str, int]) -> set[str]:
    """Strides of loops that run once on both sides: they move nothing."""
    strides = {
        "n_burst": ("gm_stride", "ub_stride"),
        "loop1": ("loop1_gm", "loop1_ub"),
        "loop2": ("loop2_gm", "loop2_ub"),
    }
    return {s for count, pair in strides.items() if wanted.get(count) == found.get(count) == 1 for s in pair}


def compared(a: str, b: str, *, as_json: bool) -> tuple[str, int]:
    """What `equiv` says of two kernels, and its exit code."""
    same, said = same_kernels(a, b)
    text = json.dumps(same_json(same), indent=2) if as_json else said
    return text, {"same": 0, "different": 1, "unknown": 3}[same.status]


def written(path: str, form: str, *, as_json: bool) -> Any:
    """What `emit` says: a text, or with `as_json` the words as data."""
    if form == "words":
        return words_json(path) if as_json else words_text(path)
    return "\n".join(slices_of(path)) if form == "slices" else emitted(path, form)


def priced(path: str, *, as_json: bool) -> Any:
    """What `cost` says of a kernel."""
    return kernel_cost(path) if as_json else kernel_cost_text(path)


def same_json(found: Sameness) -> dict[str, Any]:
    return {"status": found.status, "copies": found.copies, "why": found.why, "places": [str(s) for s in found.places]}


# ------------------------------------------------------------------------------------------ cost


def kernel_cost(path: str) -> dict[str, Any]:
    """The cost of a kernel as data. Raises InputError where a number is missing."""
    from dmaverify.cost.copies import as_data, price
    from dmaverify.machines.target import load_target
    from dmaverify.prove.claims import placed_copies

    _, _, kernel = kernel_at(path)
    target = load_target("pto")
    return as_data(price(list(placed_copies(kernel.events, ())), target.raw["cost"]))


def kernel_cost_text(path: str) -> str:
    data = kernel_cost(path)
    lines = [f"{path}   {data['cycles']:,.0f} cycles on the busiest pipe   model: A2/A3 parameters, not A5 figures"]
    lines += [f"  {pipe:<6}{cycles:>12,.0f}" for pipe, cycles in data["pipes"].items()]
    for term in data["terms"]:
        lines.append(f"  {term['name']:<18}{term['cycles']:>12,.1f}  {term['resource']:<5} {term['why']}")
    lines.append(f"  constants: {data['terms'][-1]['source'] if data['terms'] else ''}")
    return "\n".join(lines)


# ------------------------------------------------------------------------------------------ synthesis


def synthesize_copies(plan: Plan, name: str) -> dict[str, Any]:
    """The fewest copies of a transfer between gm and ub, proved under every reading of the contested points.

    Keys: kernel (text), plan (a plan file that claims the move), issues, bound, optimal, cycles, readings (each other
    reading with `proved` or the errors), evidence. Raises InputError where no copy can make the move.
    """
    from dmaverify import api
    from dmaverify.machines.pto_moves import KNOBS
    from dmaverify.prove.options import Options
    from dmaverify.synth.copies import plan_copies

    transfer = next(t.transfer for t in plan.transfers if t.name == name)
    target = plan.targets[transfer.target]
    copies = plan_copies(transfer, target.dtypes[transfer.dtype])
    text = _copy_text(transfer, copies)
    claim = _claim_text(plan, transfer, text)
    (verdict,) = api.check(claim)
    if verdict.errors or verdict.status.value == "unknown":
        first = next(iter(verdict.errors or verdict.findings), None)
        said = first.message if first else "it could not be proved"
        raise InputError(
            f"the copy of `{name}` would not be right: {said}", transfer.span, first.hint if first else None
        )
    readings = {}
    for knob, names in KNOBS.items():
        for other in names[1:]:
            (again,) = api.check(claim, options=Options(readings={knob: other}))
            readings[f"{knob}={other}"] = sorted({f.rule for f in again.errors}) or "proved"
    cost = _priced(text)
    evidence = (
        "one instruction: there is nothing below"
        if copies.issues == 1
        else "the largest counts are in the hardware's loops"
    )
    return {
        "name": name,
        "kernel": text,
        "plan": claim,
        "issues": copies.issues,
        "bound": 1,
        "optimal": copies.issues == 1,
        "gap": copies.issues - 1,
        "cycles": cost["cycles"],
        "readings": readings,
        "evidence": evidence,
        "warnings": [f"{f.rule}: {f.message}" for f in verdict.findings],
    }


def synthesized(paths: tuple[str, ...], output: str | None, as_json: bool) -> str | list[dict[str, Any]] | None:
    """What `synth` says of plans for this machine; None for all others. `output` receives the plan of the one move."""
    from dmaverify import api

    found = []
    for path in paths:
        plan = api.load(path)
        if not plan.transfers or any(plan.targets[t.transfer.target].name != "pto" for t in plan.transfers):
            return None
        found += [synthesize_copies(plan, transfer.name) for transfer in plan.transfers]
    if output is not None:
        if len(found) != 1:
            raise InputError(f"{len(found)} transfers, but one plan to write", None, "name one: PATH::NAME")
        Path(output).write_text(found[0]["plan"], encoding="utf-8")
    return found if as_json else "\n\n".join(map(synthesis_text, found))


def _priced(text: str) -> dict[str, Any]:
    from dmaverify.cost.copies import as_data, price
    from dmaverify.machines.target import load_target
    from dmaverify.prove.claims import placed_copies

    _, (function,) = read_kernels(Source("synthesized", text))
    kernel = meaning_of(function, Setting())
    return as_data(price(list(placed_copies(kernel.events, ())), load_target("pto").raw["cost"]))


def synthesis_text(found: Mapping[str, Any]) -> str:
    """A synthesis for people."""
    needs = [f"{reading}: {', '.join(said)}" for reading, said in found["readings"].items() if said != "proved"]
    count, others = found["issues"], len(found["readings"])
    lines = [
        f"{found['name']}   {count:,} instruction{'s' if count != 1 else ''} issued, bound 1: {found['evidence']}",
        f"  proved under the default readings and {others - len(needs)} of {others} others",
        *(f"  not under {need}" for need in needs),
        *(f"  note: {warning}" for warning in found["warnings"]),
        f"  cost      {found['cycles']:,.0f} cycles by the model's A2/A3 parameters (not A5 figures)",
        "",
        found["kernel"].rstrip(),
    ]
    return "\n".join(lines)


def _copy_text(transfer: Transfer, copies: CopyPlan) -> str:
    """The kernel that makes the move, with inline loops."""
    kind, load = transfer.dtype, transfer.source.tier == "gm"
    if transfer.source.tier == transfer.dest.tier:
        raise InputError("a copy inside one memory is not synthesized", transfer.span, "gm to ub, or ub to gm")
    numbers: dict[int, None] = {}

    def c(value: int) -> str:
        numbers[value] = None
        return f"%c{value}_i64"

    gm, ub = f"!pto.ptr<{kind}, gm>", f"!pto.ptr<{kind}, ub>"
    item, lines, pad, names = copies.item, [], "  ", ["%src", "%dst"]
    at_gm, at_ub = (copies.read, copies.write) if load else (copies.write, copies.read)
    lines.append(f"  %g = pto.addptr %tensor, {c(at_gm // item)} : {gm} -> {gm}")
    lines.append(f"  %u = pto.castptr {c(at_ub)} : i64 -> {ub}")
    names = ["%g", "%u"]
    for number, level in enumerate(copies.software):
        steps = (level.read, level.write) if load else (level.write, level.read)
        lines.append(f"{pad}scf.for %i{number} = %lo to %n{number} step %one {{")
        pad += "  "
        lines.append(f"{pad}%k{number} = arith.index_cast %i{number} : index to i64")
        for side, (step, mark) in enumerate(zip(steps, (gm, ub), strict=True)):
            lines.append(f"{pad}%o{number}{side} = arith.muli %k{number}, {c(step // item)} : i64")
            lines.append(f"{pad}%p{number}{side} = pto.addptr {names[side]}, %o{number}{side} : {mark} -> {mark}")
            names[side] = f"%p{number}{side}"
    groups = " ".join(
        f"{'nburst' if i == 0 else 'loop'}({c(level.count)}, {c(level.read)}, {c(level.write)})"
        for i, level in enumerate(copies.hardware)
    )
    extra = ", loop i64, i64, i64" * (len(copies.hardware) - 1)
    if load:
        if copies.right is not None:
            groups += f" pad(%zero, {c(0)}, {c(copies.right)})"
            extra += f", pad {kind}, i64, i64"
        lines.append(f"{pad}pto.mte_gm_ub {names[0]}, {names[1]}, {c(0)}, {c(copies.row)} {groups}")
        lines.append(f"{pad}    : {gm}, {ub}, i64, i64, i64, i64, i64{extra}")
    else:
        lines.append(f"{pad}pto.mte_ub_gm {names[1]}, {names[0]}, {c(copies.row)} {groups}")
        lines.append(f"{pad}    : {ub}, {gm}, i64, i64, i64, i64{extra}")
    for _ in copies.software:
        pad = pad[:-2]
        lines.append(f"{pad}}}")
    head = [f"  {c(n)} = arith.constant {n} : i64" for n in sorted(numbers)]
    head += ["  %lo = arith.constant 0 : index", "  %one = arith.constant 1 : index"] if copies.software else []
    head += [f"  %n{i} = arith.constant {level.count} : index" for i, level in enumerate(copies.software)]
    if copies.right is not None:
        head.append(f"  %zero = arith.constant {'0.0' if kind.startswith(('f', 'b')) else '0'} : {kind}")
    name = transfer.name.replace("-", "_")
    notes = [] if load else ["// dmaverify: allow(core/definite) the tile is written elsewhere"]
    return "\n".join([*notes, f"func.func @{name}(%tensor: {gm}) {{", *head, *lines, "  return", "}", ""])


def _claim_text(plan: Plan, transfer: Transfer, text: str) -> str:
    """A plan file that claims the move of the kernel."""
    axes = "\n".join(f"{json.dumps(axis)} = {size}" for axis, size in plan.axes.items())
    sides = []
    for key, tensor in (("source", transfer.source), ("dest", transfer.dest)):
        sides.append(
            f'{key} = {{ tier = "{tensor.tier}", base = {tensor.base}, element = {json.dumps(str(tensor.element))} }}'
        )
    gm = transfer.source if transfer.source.tier == "gm" else transfer.dest
    extent = gm.base + gm.element.size * plan.targets[transfer.target].dtypes[transfer.dtype] // 8
    lines = ["schema = 1", 'target = "pto"', "", "[axes]", axes, "", f"[kernel.{transfer.name}]"]
    lines += [f'gm = {{ tensor = "{extent} bytes" }}', 'expect = "proved"', f"text = '''\n{text}'''", ""]
    lines += [f"[[kernel.{transfer.name}.move]]", "copies = [1]", f'dtype = "{transfer.dtype}"', *sides, ""]
    return "\n".join(lines)


__all__ = ["compared", "emitted", "priced", "same_kernels", "synthesize_copies", "synthesized", "words_json", "written"]
