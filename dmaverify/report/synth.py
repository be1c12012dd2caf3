"""A synthesis as text: before and after, the bound, why nothing is better; in a few lines beside a move of a kernel.

Knows: the words OPTIMAL, GAP and NO PLAN, the order in which a result is told.
Does not know: how it was found, files, terminals.
Law: OPTIMAL is printed exactly where the result says `optimal`; the same result gives the same text.
"""

from __future__ import annotations

from collections.abc import Iterator

from dmaverify.cost.bands import Band
from dmaverify.synth.result import CopyKernel, Played, Synthesis

NOT_COVERED = (
    "the model's distance from silicon: contention with Fetch and Commit, refresh, clocks, arbitration between engines",
    (
        "plans outside of the space: other refinements than those of the layouts, shares of engines that cut or order "
        "one part otherwise than another, layouts in between that no route tried"
    ),
    "the closed form is what no order avoids; the simulator may need more (its figure stands beside it)",
)
"""What no result claims."""


def synth_text(result: Synthesis, *, timings: bool = False) -> str:
    """The report of one move."""
    lines = _lines(result, timings) if result.copies is None else _copies(result, result.copies)
    return "\n".join(lines)


def _copies(result: Synthesis, kernel: CopyKernel) -> Iterator[str]:
    """What is told of a kernel of copies, and the kernel."""
    needs = {reading: said for reading, said in kernel.readings.items() if said != "proved"}
    count, many, others = kernel.issues, kernel.copies, len(kernel.readings)
    legal = f"proved under the default readings and {others - len(needs)} of {others} others"
    word = "OPTIMAL" if result.optimal else f"GAP {result.gap:,} (best bound {result.bound:,})"
    issued = f"{count:,} instruction{'s' if count != 1 else ''} issued by {many:,} cop{'ies' if many != 1 else 'y'}"
    yield f"{result.transfer.name}   {issued} in the text"
    if result.transfer.iterations > 1:
        yield f"  of the first of {result.transfer.iterations:,} iterations, and proved of that one alone"
    yield f"certificate   {word}{result.restriction}, instructions issued"
    yield from (f"  {line}" for line in result.evidence)
    yield f"readings      {legal if needs else 'proved under every reading'}"
    for reading, said in needs.items():
        yield f"  not under {reading}: {said if isinstance(said, str) else ', '.join(said)}"
    yield from (f"  note: {warning}" for warning in kernel.warnings)
    yield f"cost          {result.cycles:,.0f} cycles by the model's A2/A3 parameters (not A5 figures)"
    yield f"not covered   {'; '.join(result.not_covered)}\n"
    yield kernel.text.rstrip()


def _written(result: Synthesis) -> Iterator[str]:
    """The route as a change of the kernel, or why there is none."""
    if (one := result.written) is not None and one.diff:
        known = "both calls were read in a copy of the crate, and proved"
        yield f"as Rust       through {one.through}, {one.cycles:,.1f} cycles ({known})"
        yield from one.diff.rstrip("\n").split("\n")
    elif one is not None:
        yield f"as Rust       no diff: {one.why}"


def _lines(result: Synthesis, timings: bool) -> Iterator[str]:
    move = result.transfer
    yield f"{move.name}   {tensor_text(move.source)} -> {tensor_text(move.dest)}     {move.dtype}"
    if not result.found:
        searched = all(rule != "synth/not-searched" for rule, _, _ in result.refused)
        yield f"NO PLAN{result.restriction}" if searched else "NOT SEARCHED"
        for rule, message, hint in result.refused:
            yield f"  {rule}: {message}"
            if hint:
                yield f"    help: {hint}"
        return
    if move.iterations > 1:
        yield f"  of the first of {move.iterations:,} iterations; its commands, moved on, are proved for all of them"
    if result.route is not None:
        yield f"  route     through {tensor_text(result.route.middle)}"
    yield from _table(result)
    if (band := result.band) is not None:
        yield f"  {_band(band, result)}"
    word = (
        result.claim
        if result.optimal
        else f"GAP {100 * result.gap:.1f} % (best bound {result.bound:,.1f}){result.restriction}"
        if result.bound
        else "NO BOUND, the answer is none of the space that was searched"
    )
    yield f"certificate   {word}, profile {result.profile}"
    for line in result.evidence:
        yield f"  {line}"
    if result.why is not None:
        yield f"why           {result.why.resource}: {result.why.sentence}"
        change = result.why.change
        if change is not None:
            cost = f"{change.extra_bytes:,} more bytes" if change.extra_bytes else "no more memory"
            share = 100 * (1 - change.cycles / result.cycles)
            known = "a plan of it was found and proved"
            yield f"  help: {change.what}: {change.cycles:,.0f} cycles, -{share:.0f} %, {cost} ({known})"
    for split, cycles, played in result.runners_up[:3]:
        word = "as cheap" if f"{cycles:.1f}" == f"{result.cycles:.1f}" else "dearer"
        yield f"{word:<13} {cycles:,.1f}, {split}{_simulated(played)}"
    yield from _written(result)
    yield "not covered   " + "; ".join(result.not_covered or NOT_COVERED)
    if timings:
        yield f"{result.seconds:.2f} s"


def tensor_text(tensor: object) -> str:
    """`dm cluster m![A / 4], element m![B]`."""
    fields = [(n, str(getattr(tensor, n))) for n in ("chip", "cluster", "slice", "element")]
    return f"{getattr(tensor, 'tier', '')} " + ", ".join(
        f"{n} m![{e}]" for n, e in fields if e != "1" or n == "element"
    )


def _band(band: Band, result: Synthesis) -> str:
    """How far the figure may be off; that it predicts nothing, where no data stand behind it."""
    rows = f"{band.rows} row{'s' if band.rows != 1 else ''}"
    if not band.modelled:
        return f"predicts  nothing: profile {result.profile} has {rows} of {band.name}; it ranks plans"
    ends = band.as_data(result.cycles)
    return f"within    {ends['low']:,.0f} to {ends['high']:,.0f}, {band.name}, {rows} predicted from others"


def _table(result: Synthesis) -> Iterator[str]:
    after = {
        "packet": f"{max(c.packet * c.unit_bits // 8 for c in result.commands):,} B",
        "engines": f"{len({c.engine for c in result.commands})} ({result.split})",
        "commands": f"{len(result.commands)}",
        "loops": f"{max(len(c.loops) for c in result.commands)}",
        "cycles": f"{result.cycles:,.1f}{_simulated(result.played)}",
    }
    before = result.before
    if before is None:
        for name, value in after.items():
            yield f"  {name:10}{value}"
        return
    old = {
        "packet": f"{before.packet_bytes:,} B",
        "engines": str(len(before.cost.engines)),
        "commands": str(before.commands),
        "loops": "",
        "cycles": f"{before.cycles:,.1f}{_simulated(before.played)}",
    }
    wide = max(map(len, [*old.values(), "before"])) + 3
    yield f"  {'':10}{'before':{wide}}after"
    for name, value in after.items():
        change = ""
        if name == "cycles" and before.cycles > 0:
            change = f"     {100 * (result.cycles / before.cycles - 1):+.1f} %"
        yield f"  {name:10}{old[name]:{wide}}{value}{change}"


def _simulated(played: Played | None) -> str:
    if played is None:
        return ""
    part = "" if played.share >= 1 else f" for the first {100 * played.share:.1f} %"
    return f" (simulated {played.cycles:,.0f}{part})"


# ---------------------------------------------------------------- beside a move of a kernel


def reference_text(found: Synthesis, where: str) -> str:
    """A few lines: cycles and bound, the stream, the cost's terms, what a writer works out by hand."""
    from dmaverify.cost.explain import explain
    from dmaverify.report.cost import explanation_lines

    head = f"reference  {found.transfer.name}  {where}"
    if not found.found or found.cost is None:
        why = "; ".join(f"{rule}: {message}" for rule, message, _ in found.refused) or "no plan was found"
        return f"{head}   none: {why}"
    said = "optimal for the model" if found.optimal else f"gap {100 * found.gap:.1f} % (bound {found.bound:,.1f})"
    engines = len({command.engine for command in found.commands})
    packet = max(command.packet * command.unit_bits // 8 for command in found.commands)
    lines = [f"{head}   {found.cycles:,.1f} cycles (profile {found.profile}), {said}"]
    stream = found.transfer.stream
    if stream is not None:
        parts = [
            f"{name} = {expr}"
            for name in ("chip", "cluster", "slice", "time", "packet")
            if str(expr := getattr(stream, name)) != "1" or name in ("time", "packet")
        ]
        lines.append("  stream   " + ";  ".join(parts))
    lines.append(f"  engines  {engines}, {len(found.commands)} commands, packets of {packet:,} B")
    lines += [f"  cost     {t.name}: {t.cycles:,.1f} cycles ({t.resource}): {t.why}" for t in found.cost.terms]
    lines += explanation_lines(explain(found.commands, found.prices))
    return "\n".join(lines)
