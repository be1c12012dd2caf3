"""A synthesis of copies as text for people.

Knows: the keys of such a synthesis. Does not know: how it was found.
Law: whatever the synthesis does not cover is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmaverify.synth.result import of_plans_with


def synthesis_text(found: Mapping[str, Any]) -> str:
    """A synthesis for people."""
    needs = [f"{reading}: {_said(said)}" for reading, said in found["readings"].items() if said != "proved"]
    count, others = found["issues"], len(found["readings"])
    word = "OPTIMAL" if found["optimal"] else f"GAP {found['gap']:,} (best bound {found['bound']:,})"
    legal = "proved under every reading" if not needs else (
        f"proved under the default readings and {others - len(needs)} of {others} others"
    )  # fmt: skip
    word += of_plans_with(found["restricted"])
    copies = f"{found['copies']:,} cop{'ies' if found['copies'] != 1 else 'y'} in the text"
    lines = [
        f"{found['name']}   {count:,} instruction{'s' if count != 1 else ''} issued by {copies}",
        *(
            [f"  of the first of {found['iterations']:,} iterations, and proved of that one alone"]
            if "iterations" in found
            else []
        ),
        f"certificate   {word}, instructions issued",
        *(f"  {line}" for line in found["evidence"]),
        f"readings      {legal}",
        *(f"  not under {need}" for need in needs),
        *(f"  note: {warning}" for warning in found["warnings"]),
        f"cost          {found['cycles']:,.0f} cycles by the model's A2/A3 parameters (not A5 figures)",
        "not covered   " + "; ".join(found["not_covered"]),
        "",
        found["kernel"].rstrip(),
    ]
    return "\n".join(lines)


def _said(said: Any) -> str:
    return said if isinstance(said, str) else ", ".join(said)
