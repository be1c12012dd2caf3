"""Utilization of the bus, drawn and as a table.

Knows: points of a sweep, matplotlib (imported when called). Does not know: how a point was found.
Law: every point given is drawn and none besides; the file's name decides between SVG and PNG.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dmaverify.errors import InputError
from dmaverify.machines.idma.engine import Backend
from dmaverify.machines.idma.sweep import SweepPoint

SHADES = ("#c6dbef", "#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#084594")


def sweep_table(points: Sequence[SweepPoint]) -> str:
    """One block a memory system: rows of outstanding requests, columns of fragment sizes, shares in percent."""
    sizes = sorted({p.fragment for p in points})
    lines: list[str] = []
    for memory in dict.fromkeys(p.memory for p in points):
        lines.append(f"{memory:<10} {'fragment, B':>6}" + "".join(f"{size:>7}" for size in sizes))
        for count in sorted({p.outstanding for p in points}):
            row = {p.fragment: p.share for p in points if p.memory == memory and p.outstanding == count}
            lines.append(f"  {count:>4} outstanding    " + "".join(f"{100 * row[size]:7.1f}" for size in sizes))
    return "\n".join(lines)


def save_sweep(points: Sequence[SweepPoint], backend: Backend, path: Path) -> None:
    """One panel a memory system, one line a number of outstanding requests. Raises InputError."""
    if path.suffix not in (".svg", ".png"):
        raise InputError(f"{path} is no picture", None, "write to .svg or .png")
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("pictures need matplotlib", None, "pip install 'dmaverify[plot]'") from None
    matplotlib.rcParams["svg.hashsalt"] = "dmaverify"
    memories = list(dict.fromkeys(p.memory for p in points))
    figure = Figure(figsize=(4.2 * len(memories), 3.4), layout="constrained")
    axes = figure.subplots(1, len(memories), sharey=True, squeeze=False)[0]
    counts = sorted({p.outstanding for p in points})
    for panel, memory in zip(axes, memories, strict=True):
        for number, count in enumerate(counts):
            own = [p for p in points if p.memory == memory and p.outstanding == count]
            shade = SHADES[number * (len(SHADES) - 1) // max(1, len(counts) - 1)]
            panel.plot(
                [p.fragment for p in own],
                [p.share for p in own],
                color=shade,
                marker="o",
                markersize=3,
                label=str(count),
            )
        sizes = sorted({p.fragment for p in points})
        panel.plot(
            sizes, [min(1.0, size / backend.word) for size in sizes], color="#999999", linestyle=":", label="limit"
        )
        panel.set(xscale="log", xlabel="fragment, bytes", title=memory, ylim=(0, 1.05))
        panel.set_xscale("log", base=2)
    axes[0].set_ylabel(f"bus utilization, {backend.data_width} bit")
    axes[-1].legend(title="outstanding", fontsize=8)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
