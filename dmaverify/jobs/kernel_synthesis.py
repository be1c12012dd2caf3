"""Copies that are found for a move, at the command line.

Knows: arguments of `synth`. Does not know: how copies are found, what a certificate holds.
Law: one plan is written for one move; several moves and one file are an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dmaverify.errors import InputError
from dmaverify.language.files import write_text


def synthesized(
    paths: tuple[str, ...], output: str | None, as_json: bool, certificate: str | None = None
) -> str | list[dict[str, Any]] | None:
    """What `synth` says of plans for this machine; None for all others. `output` receives the plan of the one move,
    `certificate` a folder with the plan, the space and the bound.
    """
    from dmaverify.jobs.certify_copies import write_copies
    from dmaverify.jobs.fewest_copies import synthesize_copies
    from dmaverify.jobs.load import load
    from dmaverify.report.copies import synthesis_text

    found = []
    for path in paths:
        plan = load(path)
        if not plan.transfers or any(plan.targets[t.transfer.target].name != "pto" for t in plan.transfers):
            return None
        found += [synthesize_copies(plan, transfer.name) for transfer in plan.transfers]
    if (output or certificate) and len(found) != 1:
        raise InputError(f"{len(found)} transfers, but one plan to write", None, "name one: PATH::NAME")
    if output is not None:
        write_text(output, found[0]["plan"])
    if certificate is not None:
        write_copies(Path(certificate), found[0])
    return found if as_json else "\n\n".join(map(synthesis_text, found))
