"""The reference of a move: the cheapest proved plan, in a few lines beside the place of the move in its kernel.

Knows: which parts of a synthesis a kernel writer needs: stream, cycles, what binds, runs and windows.
Does not know: how a plan was found, where text goes.
Law: "optimal" is said only where the bound is met; a move without a legal plan says which rule refuses it.
"""

from __future__ import annotations

from dmaverify.synth.result import Synthesis


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
